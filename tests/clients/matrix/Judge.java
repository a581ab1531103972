import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.MetadataUpdate;
import org.apache.iceberg.MetadataUpdateParser;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.UpdateRequirement;
import org.apache.iceberg.UpdateRequirementParser;
import org.apache.iceberg.view.ViewMetadata;
import org.apache.iceberg.view.ViewMetadataParser;

/**
 * Reads commits, one a line, and writes what the Java library makes of each: the requirements
 * against the base, then the updates in order, as its own catalog handlers do it. Reads the
 * server's result back too.
 */
public final class Judge {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Judge() {}

  public static void main(String[] files) throws Exception {
    try (BufferedReader in = Files.newBufferedReader(Path.of(files[0]));
        PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(files[1])))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        JsonNode commit = JSON.readTree(line);
        ObjectNode verdict = JSON.createObjectNode();
        verdict.set("name", commit.get("name"));
        apply(commit, verdict);
        readBack(commit, verdict);
        out.println(JSON.writeValueAsString(verdict));
      }
    }
  }

  private static void apply(JsonNode commit, ObjectNode verdict) {
    try {
      String result = isView(commit) ? ofView(commit) : ofTable(commit);
      if (result == null) {
        verdict.put("unchanged", true);
      } else {
        verdict.set("metadata", JSON.readTree(result));
      }
    } catch (Exception e) {
      verdict.put("thrown", e.getClass().getSimpleName());
      verdict.put("message", String.valueOf(e.getMessage()));
    }
  }

  private static void readBack(JsonNode commit, ObjectNode verdict) {
    if (!commit.hasNonNull("result")) {
      return;
    }
    try {
      String location = commit.get("result-location").asText();
      String text = commit.get("result").toString();
      String again =
          isView(commit)
              ? ViewMetadataParser.toJson(ViewMetadataParser.fromJson(location, text))
              : TableMetadataParser.toJson(TableMetadataParser.fromJson(location, text));
      verdict.set("read", JSON.readTree(again));
    } catch (Exception e) {
      verdict.put("unreadable", e.toString());
    }
  }

  private static boolean isView(JsonNode commit) {
    return commit.get("view").asBoolean();
  }

  private static List<MetadataUpdate> updates(JsonNode commit) {
    List<MetadataUpdate> updates = new ArrayList<>();
    commit.get("updates").forEach(u -> updates.add(MetadataUpdateParser.fromJson(u.toString())));
    return updates;
  }

  private static List<UpdateRequirement> requirements(JsonNode commit) {
    List<UpdateRequirement> requirements = new ArrayList<>();
    commit
        .get("requirements")
        .forEach(r -> requirements.add(UpdateRequirementParser.fromJson(r.toString())));
    return requirements;
  }

  private static String ofTable(JsonNode commit) {
    List<UpdateRequirement> requirements = requirements(commit);
    List<MetadataUpdate> updates = updates(commit);
    TableMetadata base = null;
    if (commit.hasNonNull("base")) {
      base =
          TableMetadataParser.fromJson(
              commit.get("location").asText(), commit.get("base").toString());
    }
    for (UpdateRequirement requirement : requirements) {
      requirement.validate(base);
    }
    TableMetadata.Builder builder =
        base == null
            ? TableMetadata.buildFromEmpty(commit.get("version").asInt())
            : TableMetadata.buildFrom(base);
    updates.forEach(update -> update.applyTo(builder));
    TableMetadata result = builder.build();
    return result.changes().isEmpty() ? null : TableMetadataParser.toJson(result);
  }

  private static String ofView(JsonNode commit) {
    List<UpdateRequirement> requirements = requirements(commit);
    List<MetadataUpdate> updates = updates(commit);
    ViewMetadata base =
        ViewMetadataParser.fromJson(commit.get("location").asText(), commit.get("base").toString());
    for (UpdateRequirement requirement : requirements) {
      requirement.validate(base);
    }
    ViewMetadata.Builder builder = ViewMetadata.buildFrom(base);
    updates.forEach(update -> update.applyTo(builder));
    ViewMetadata result = builder.build();
    return result.changes().isEmpty() ? null : ViewMetadataParser.toJson(result);
  }
}
