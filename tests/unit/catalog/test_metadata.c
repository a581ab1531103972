#include "metadata.h"

#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "metric.h"

#define V2                                                                                         \
    "{\"format-version\":2,\"table-uuid\":\"11111111-1111-4111-8111-111111111111\","               \
    "\"location\":\"s3://b/w/a/t\",\"last-sequence-number\":3,"                                    \
    "\"last-updated-ms\":1700000000000,\"last-column-id\":1,\"schemas\":[{\"type\":\"struct\","    \
    "\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,"                    \
    "\"type\":\"long\"}]}],\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,"           \
    "\"fields\":[]}],\"default-spec-id\":0,\"last-partition-id\":999,\"sort-orders\":"             \
    "[{\"order-id\":0,\"fields\":[]}],\"default-sort-order-id\":0"
#define SNAP(id, seq)                                                                              \
    "{\"sequence-number\":" #seq ",\"snapshot-id\":" #id ",\"timestamp-ms\":1699999999000,"        \
    "\"summary\":{\"operation\":\"append\"},\"manifest-list\":\"s3://b/" #id ".avro\"}"
#define V1                                                                                         \
    "{\"format-version\":1,\"location\":\"s3://b/t\",\"last-updated-ms\":1,\"last-column-id\":1,"  \
    "\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,"    \
    "\"type\":\"long\"}]}"
#define PLACE "s3://b/w/a/t/metadata/00000-x.metadata.json"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new();
}

static void teardown(void)
{
    arena_free(&arena);
}

/* Held by the arena. The text lies in memory of its own, so that nothing may borrow it. */
static const struct metadata *read_ok(struct str text)
{
    struct err err = {0};
    struct metadata *m = NULL;
    char *copy = xmalloc(text.n);
    memcpy(copy, text.p, text.n);
    bool ok = metadata_from_file((struct str){copy, text.n}, STR(PLACE), &m, &err);
    memset(copy, 'x', text.n);
    xfree(copy);
    ck_assert_msg(ok, "%s", err.msg);
    return metadata_hold(arena, m);
}

static struct str replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

#define ck_refused(text, expected_kind, part)                                                      \
    do {                                                                                           \
        struct err err_ = {0};                                                                     \
        struct metadata *m_ = NULL;                                                                \
        struct str text_ = (text);                                                                 \
        ck_assert_msg(                                                                             \
            !metadata_from_file(text_, STR(PLACE), &m_, &err_), "accepted: %.*s", STR_ARG(text_)); \
        ck_assert_msg(strstr(err_.msg, (part)), "for %.*s: %s", STR_ARG(text_), err_.msg);         \
        ck_assert_msg(err_.kind == (expected_kind), "%s: %s", err_name(err_.kind), err_.msg);      \
    } while (0)

static struct str joined(const struct metadata *m, enum variant v)
{
    struct str *pieces;
    struct buf b;
    buf_init(&b, 1u << 30);
    size_t n = metadata_document(arena, m, v, &pieces);
    for (size_t i = 0; i < n; i++)
        buf_str(&b, pieces[i]);
    return buf_take(&b, arena);
}

/* -- Reading -------------------------------------------------------------------------------------
 */

START_TEST(test_metadata_from_file__smallest_v2)
{
    struct str text = STR(V2 ",\"x\" :  1.50,\"y\":[1e2 , {\"z\":\"\\u00e4\"}]}\n");
    const struct metadata *m = read_ok(text);
    const struct head *head = metadata_head(m);
    ck_assert_int_eq(head->format_version, 2);
    ck_assert(str_eq(head->uuid, STR("11111111-1111-4111-8111-111111111111")));
    ck_assert(str_eq(head->location, STR("s3://b/w/a/t")));
    ck_assert_int_eq(head->last_sequence_number, 3);
    ck_assert_int_eq(head->last_updated_ms, 1700000000000);
    ck_assert_int_eq(head->last_column_id, 1);
    ck_assert_int_eq(head->last_partition_id, 999);
    ck_assert_int_eq(head->current_snapshot_id, PART_NONE);
    ck_assert_uint_eq(json_object_size(head->properties), 0);
    ck_assert_uint_eq(json_object_size(head->refs), 0);
    ck_assert(str_eq(metadata_location(m), STR(PLACE)));
    ck_assert_uint_eq(metadata_parts(m, PARTS_SCHEMAS)->n, 1);
    ck_assert_uint_eq(metadata_parts(m, PARTS_SNAPSHOTS)->n, 0);
    /* Unknown members and the spelling of numbers survive, byte for byte. */
    ck_assert(str_eq(joined(m, VARIANT_ALL), text));
    ck_assert(str_eq(joined(m, VARIANT_REFS), text));
    ck_assert(str_eq(metadata_member(m, "x"), STR("1.50")));
    ck_assert(str_eq(metadata_member(m, "y"), STR("[1e2 , {\"z\":\"\\u00e4\"}]")));
    ck_assert_ptr_null(metadata_member(m, "z").p);
}
END_TEST

START_TEST(test_metadata_from_file__parts_have_their_scalars_and_slices)
{
    const struct metadata *m = read_ok(STR(V2 ",\"snapshots\":[" SNAP(4598765432109876543,
        1) " , "
           "{\"snapshot-id\":-5,\"parent-snapshot-id\":4598765432109876543,\"timestamp-ms\":7,"
           "\"manifests\":[\"m\"]},{\"snapshot-id\":6,\"parent-snapshot-id\":null,\"timestamp-ms\":"
           "8,"
           "\"sequence-number\":3,\"manifest-list\":\"l\"}],\"snapshot-log\":[{\"timestamp-ms\":7,"
           "\"snapshot-id\":-5}],\"metadata-log\":[{\"timestamp-ms\":9,\"metadata-file\":\"f\"}],"
           "\"statistics\":[{\"snapshot-id\":6,\"statistics-path\":\"p\"}],"
           "\"encryption-keys\":[{\"key-id\":\"k\"}]}"));
    const struct parts *snaps = metadata_parts(m, PARTS_SNAPSHOTS);
    ck_assert_uint_eq(snaps->n, 3);
    ck_assert_int_eq(snaps->v[0].id, 4598765432109876543);
    ck_assert_int_eq(snaps->v[0].seq, 1);
    ck_assert_int_eq(snaps->v[0].ms, 1699999999000);
    ck_assert_int_eq(snaps->v[0].parent, PART_NONE);
    ck_assert(
        str_eq((struct str){snaps->v[0].p, snaps->v[0].n}, STR(SNAP(4598765432109876543, 1))));
    ck_assert_int_eq(snaps->v[1].id, -5);
    ck_assert_int_eq(snaps->v[1].seq, 0);
    ck_assert_int_eq(snaps->v[1].parent, 4598765432109876543);
    ck_assert_int_eq(snaps->v[2].parent, PART_NONE);
    ck_assert_int_eq(metadata_parts(m, PARTS_SNAPSHOT_LOG)->v[0].id, -5);
    ck_assert_int_eq(metadata_parts(m, PARTS_SNAPSHOT_LOG)->v[0].ms, 7);
    ck_assert_int_eq(metadata_parts(m, PARTS_METADATA_LOG)->v[0].ms, 9);
    ck_assert_int_eq(metadata_parts(m, PARTS_STATISTICS)->v[0].id, 6);
    ck_assert_uint_eq(metadata_parts(m, PARTS_KEYS)->n, 1);
    ck_assert_ptr_eq(metadata_find(m, PARTS_SNAPSHOTS, 6), &snaps->v[2]);
    ck_assert_ptr_null(metadata_find(m, PARTS_SNAPSHOTS, 7));
}
END_TEST

START_TEST(test_metadata_from_file__required_members_of_each_version)
{
    static const char *const v2[] = {"format-version", "table-uuid", "location",
        "last-sequence-number", "last-updated-ms", "last-column-id", "schemas", "current-schema-id",
        "partition-specs", "default-spec-id", "last-partition-id", "sort-orders",
        "default-sort-order-id"};
    static const char *const v1[] = {"location", "last-updated-ms", "last-column-id"};
    for (size_t i = 0; i < ARRAY_LEN(v2); i++) {
        const char *key = arena_printf(arena, "\"%s\"", v2[i]).p;
        const char *missing = arena_printf(arena, "member %s is missing", key).p;
        ck_refused(replaced(V2 "}", key, "\"other\""), ERR_BAD_REQUEST, missing);
    }
    for (size_t i = 0; i < ARRAY_LEN(v1); i++) {
        const char *key = arena_printf(arena, "\"%s\"", v1[i]).p;
        const char *missing = arena_printf(arena, "member %s is missing", key).p;
        ck_refused(replaced(V1 "}", key, "\"other\""), ERR_BAD_REQUEST, missing);
    }
    ck_refused(replaced(V1 "}", "\"schema\"", "\"other\""), ERR_BAD_REQUEST,
        "neither \"schemas\" nor \"schema\"");
    struct str v3 = replaced(V2 "}", "version\":2", "version\":3");
    ck_refused(v3, ERR_BAD_REQUEST, "member \"next-row-id\" is missing");
    v3 = replaced(V2 ",\"next-row-id\":17}", "version\":2", "version\":3");
    ck_assert_int_eq(metadata_head(read_ok(v3))->next_row_id, 17);
    ck_refused(STR("{}"), ERR_BAD_REQUEST, "\"format-version\" is missing");
    ck_refused(STR("{\"format-version\":5,\"schemas\":7}"), ERR_INVALID_ARGUMENT,
        "Cannot read unsupported version 5");
    ck_refused(STR("{\"format-version\":0}"), ERR_INVALID_ARGUMENT, "unsupported version 0");
}
END_TEST

START_TEST(test_metadata_from_file__types)
{
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"version\":2",      "version\":2.0",          "format-version: Invalid JSON"                   },
        {"column-id\":1",    "column-id\":1.0",        "last-column-id: Invalid JSON"                   },
        {"column-id\":1",    "column-id\":\"1\"",      "expected an integer, found '\"'"                },
        {"column-id\":1",    "column-id\":2147483648", "does not fit the 32 bits"                       },
        {"number\":3",       "number\":1e2",           "expected an integer, found 1e2"                 },
        {"\"s3://b/w/a/t\"", "7",                      "location: Invalid JSON"                         },
        {"\"s3://b/w/a/t\"", "\"\"",                   "location is empty"                              },
        {"11111111-1111",    "1",                      "table-uuid is no UUID"                          },
        {"[{\"order-id\":0", "[{\"order\":0",          "sort-orders: element 0: the member \"order-id\""},
        {"\"spec-id\":0,",   "",                       "the member \"spec-id\" is missing"              },
        {"\"fields\":[]",    "\"fields\":{}",          "fields: expected an array"                      },
        {"\"schemas\":[",    "\"schemas\":[1,",        "schemas: element 0: Invalid JSON"               },
        {"number\":3",       "number\":-3",            "last-sequence-number is negative"               },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct metadata *m = NULL;
        struct str text = replaced(V2 "}", cases[i].from, cases[i].to);
        ck_assert_msg(!metadata_from_file(text, STR(PLACE), &m, &err), "%s", cases[i].to);
        ck_assert_msg(strstr(err.msg, cases[i].message), "%s: %s", cases[i].to, err.msg);
        ck_assert_ptr_nonnull(strstr(err.msg, PLACE));
    }
}
END_TEST

START_TEST(test_metadata_from_file__maps_of_strings)
{
    ck_refused(
        STR(V2 ",\"properties\":{\"a\":1}}"), ERR_BAD_REQUEST, "properties: a: Invalid JSON");
    ck_refused(STR(V2 ",\"properties\":{\"a\":null}}"), ERR_BAD_REQUEST, "expected a string");
    ck_refused(STR(V2 ",\"properties\":[]}"), ERR_BAD_REQUEST, "expected an object");
    ck_refused(STR(V2 ",\"snapshots\":[{\"snapshot-id\":1,\"summary\":{\"added\":3}}]}"),
        ERR_BAD_REQUEST, "snapshots: element 0: summary: added: Invalid JSON");
    ck_refused(STR(V2 ",\"snapshots\":[{\"snapshot-id\":1,\"timestamp-ms\":1,\"manifests\":0}]}"),
        ERR_BAD_REQUEST, "the member \"manifest-list\" is missing");
    read_ok(STR(V2 ",\"snapshots\":[{\"snapshot-id\":1,\"timestamp-ms\":1,\"manifests\":0,"
                   "\"manifest-list\":\"l\"}]}"));
    const struct metadata *m = read_ok(STR(V2 ",\"properties\":{\"k\":\"\\u00e4\\\"\"}}"));
    ck_assert_str_eq(
        json_string_value(json_object_get(metadata_head(m)->properties, "k")), "\xc3\xa4\"");
}
END_TEST

START_TEST(test_metadata_from_file__ids_are_unique_and_chosen_ones_exist)
{
    ck_refused(STR(V2 ",\"snapshots\":[" SNAP(1, 1) "," SNAP(2, 2) "," SNAP(1, 3) "]}"),
        ERR_INVALID_ARGUMENT, "snapshots: the id 1 twice");
    ck_refused(STR(V2 ",\"snapshots\":[" SNAP(-1, 1) "]}"), ERR_INVALID_ARGUMENT,
        "the id -1 means no snapshot");
    ck_refused(STR(V2 ",\"snapshots\":[" SNAP(1, 4) "]}"), ERR_INVALID_ARGUMENT,
        "1 has the sequence number 4, above last-sequence-number 3");
    ck_refused(replaced(V2 "}", "\"schemas\":[", "\"schemas\":[{\"schema-id\":0,\"fields\":[]},"),
        ERR_INVALID_ARGUMENT, "schemas: the id 0 twice");
    ck_refused(replaced(V2 "}", "-specs\":[", "-specs\":[{\"spec-id\":0,\"fields\":[]},"),
        ERR_INVALID_ARGUMENT, "partition-specs: the id 0 twice");
    ck_refused(replaced(V2 "}", "current-schema-id\":0", "current-schema-id\":1"),
        ERR_INVALID_ARGUMENT, "current-schema-id is 1, which is not in schemas");
    ck_refused(replaced(V2 "}", "default-spec-id\":0", "default-spec-id\":2"), ERR_INVALID_ARGUMENT,
        "default-spec-id is 2, which is not in partition-specs");
    ck_refused(replaced(V2 "}", "default-sort-order-id\":0", "default-sort-order-id\":2"),
        ERR_INVALID_ARGUMENT, "default-sort-order-id is 2, which is not in sort-orders");
}
END_TEST

#define MAIN(id) "\"refs\":{\"main\":{\"snapshot-id\":" #id ",\"type\":\"branch\"}}"

START_TEST(test_metadata_from_file__refs_and_current_snapshot)
{
    ck_refused(STR(V2 "," MAIN(7) ",\"current-snapshot-id\":7}"), ERR_INVALID_ARGUMENT,
        "refs: main names the snapshot 7, which is not in snapshots");
    ck_refused(STR(V2 "," MAIN(1) ",\"snapshots\":[" SNAP(1, 1) "]}"), ERR_INVALID_ARGUMENT,
        "Current snapshot is not set, but main branch exists: 1");
    ck_refused(STR(V2 "," MAIN(1) ",\"current-snapshot-id\":2,\"snapshots\":[" SNAP(1, 1) "," SNAP(
                   2, 2) "]}"),
        ERR_INVALID_ARGUMENT, "does not match main branch (2 != 1)");
    ck_refused(STR(V2 ",\"current-snapshot-id\":2,\"snapshots\":[" SNAP(1, 1) "]}"),
        ERR_INVALID_ARGUMENT, "main names the snapshot 2, which is not in snapshots");
    ck_refused(STR(V2 ",\"refs\":{\"x\":{\"snapshot-id\":1,\"type\":\"twig\"}}}"), ERR_BAD_REQUEST,
        "refs: x: type: expected \"branch\" or \"tag\", found \"twig\"");
    ck_refused(STR(V2 ",\"refs\":{\"x\":{\"type\":\"tag\"}}}"), ERR_BAD_REQUEST,
        "refs: x: the member \"snapshot-id\" is missing");
    ck_refused(STR(V2 ",\"refs\":{\"x\":{\"snapshot-id\":1,\"type\":\"tag\","
                      "\"max-ref-age-ms\":1.5}}}"),
        ERR_BAD_REQUEST, "refs: x: max-ref-age-ms");
    const struct metadata *m = read_ok(STR(V2
        "," MAIN(2) ",\"current-snapshot-id\":2,\"snapshots\":[" SNAP(1, 1) "," SNAP(2, 2) "]}"));
    ck_assert_int_eq(metadata_head(m)->current_snapshot_id, 2);
    ck_assert_uint_eq(json_object_size(metadata_head(m)->refs), 1);
}
END_TEST

START_TEST(test_metadata_from_file__no_current_snapshot_in_three_spellings)
{
    ck_assert_int_eq(
        metadata_head(read_ok(STR(V2 ",\"current-snapshot-id\":-1}")))->current_snapshot_id,
        PART_NONE);
    struct str text = STR(V2 ",\"current-snapshot-id\":null}");
    const struct metadata *m = read_ok(text);
    ck_assert_int_eq(metadata_head(m)->current_snapshot_id, PART_NONE);
    ck_assert(str_eq(joined(m, VARIANT_ALL), text));
    ck_assert_int_eq(metadata_head(read_ok(STR(V2 "}")))->current_snapshot_id, PART_NONE);
}
END_TEST

START_TEST(test_metadata_from_file__logs_ascend_within_a_minute)
{
#define LOG(ms) "{\"timestamp-ms\":" #ms ",\"snapshot-id\":1}"
    read_ok(STR(V2 ",\"snapshot-log\":[" LOG(1700000000000) "," LOG(1699999940000) "]}"));
    ck_refused(STR(V2 ",\"snapshot-log\":[" LOG(1700000000000) "," LOG(1699999939999) "]}"),
        ERR_INVALID_ARGUMENT, "snapshot-log: entry 1 is older than the one before it");
    read_ok(STR(V2 ",\"snapshot-log\":[" LOG(1700000060000) "]}"));
    ck_refused(STR(V2 ",\"snapshot-log\":[" LOG(1700000060001) "]}"), ERR_INVALID_ARGUMENT,
        "Invalid update timestamp 1700000000000: before last snapshot log entry at 1700000060001");
    ck_refused(
        STR(V2 ",\"metadata-log\":[{\"timestamp-ms\":1800000000000,\"metadata-file\":\"f\"}]}"),
        ERR_INVALID_ARGUMENT, "before the latest metadata log entry timestamp 1800000000000");
    ck_refused(
        STR(V2 ",\"snapshot-log\":[" LOG(9223372036854775807) "," LOG(-9223372036854775808) "]}"),
        ERR_INVALID_ARGUMENT, "entry 1 is older");
}
END_TEST

START_TEST(test_metadata_from_file__broken_files)
{
    ck_refused(STR(""), ERR_BAD_REQUEST, "the file is empty");
    ck_refused(STR("[]"), ERR_BAD_REQUEST, "expected an object, found '['");
    ck_refused(STR("<html>"), ERR_BAD_REQUEST, "expected an object, found '<'");
    ck_refused(STR(V2), ERR_BAD_REQUEST, "found the end of the text");
    ck_refused(STR(V2 "} x"), ERR_BAD_REQUEST, "expected the end of the text");
    ck_refused(
        STR(V2 ",\"format-version\":2}"), ERR_BAD_REQUEST, "the key \"format-version\" twice");
    ck_refused(STR(V2 ",\"x\":{\"a\":[tru]}}"), ERR_BAD_REQUEST, "x: Invalid JSON");
    /* Every other reader would see refs here. */
    ck_refused(
        STR(V2 ",\"re\\u0066s\":{}}"), ERR_BAD_REQUEST, "spells plain characters as escapes");
    read_ok(STR(V2 ",\"stra\\u00dfe\":{}}"));
}
END_TEST

/* -- Other forms ---------------------------------------------------------------------------------
 */

START_TEST(test_metadata_from_file__v1_gets_its_lists)
{
    const struct metadata *m = read_ok(
        STR(V1 ",\"partition-spec\":[{\"name\":\"p\",\"transform\":\"identity\",\"source-id\":1},"
               " { \"name\":\"q\"}],\"current-snapshot-id\":-1,\"keep\": [ 1.0 ] }"));
    const struct head *head = metadata_head(m);
    ck_assert_int_eq(head->format_version, 1);
    ck_assert_uint_eq(head->uuid.n, 36);
    ck_assert_int_eq(head->last_partition_id, 1001);
    ck_assert(str_eq(metadata_member(m, "keep"), STR("[ 1.0 ]")));
    ck_assert(str_starts(metadata_member(m, "schemas"), STR("[{\"schema-id\":0,\"type\":")));
    ck_assert(str_eq(metadata_member(m, "current-schema-id"), STR("0")));
    ck_assert(str_eq(metadata_member(m, "partition-specs"),
        STR("[{\"spec-id\":0,\"fields\":[{\"field-id\":1000,\"name\":\"p\",\"transform\":"
            "\"identity\",\"source-id\":1},{\"field-id\":1001, \"name\":\"q\"}]}]")));
    ck_assert(str_eq(metadata_member(m, "default-spec-id"), STR("0")));
    ck_assert(str_eq(metadata_member(m, "last-partition-id"), STR("1001")));
    ck_assert(str_eq(metadata_member(m, "sort-orders"), STR("[{\"order-id\":0,\"fields\":[]}]")));
    ck_assert_ptr_nonnull(metadata_member(m, "schema").p);
    ck_assert_ptr_nonnull(metadata_member(m, "partition-spec").p);
    /* What is served can be read again and is the same, and so is the uuid. */
    struct str text = joined(m, VARIANT_ALL);
    const struct metadata *again = read_ok(text);
    ck_assert(str_eq(joined(again, VARIANT_ALL), text));
    ck_assert(str_eq(metadata_head(again)->uuid, head->uuid));
    ck_assert(str_eq(metadata_head(read_ok(STR(V1 "}")))->uuid, head->uuid));
}
END_TEST

START_TEST(test_metadata_from_file__v1_keeps_the_ids_it_has)
{
    struct str text = STR(V1 ",\"partition-spec\":[{\"field-id\":1007,\"name\":\"p\"}],"
                             "\"current-schema-id\":9}");
    const struct metadata *m =
        read_ok(replaced(text.p, "\"schema\":{", "\"schema\":{\"schema-id\":4,"));
    ck_assert_int_eq(metadata_head(m)->current_schema_id, 4);
    ck_assert_int_eq(metadata_parts(m, PARTS_SCHEMAS)->v[0].id, 4);
    ck_assert_int_eq(metadata_head(m)->last_partition_id, 1007);
    ck_refused(STR(V1 ",\"partition-spec\":[{\"field-id\":1007},{\"name\":\"p\"}]}"),
        ERR_INVALID_ARGUMENT, "1 of 2 fields have no field-id");
    ck_refused(STR(V1 ",\"schemas\":[]}"), ERR_BAD_REQUEST,
        "\"current-schema-id\" is missing beside \"schemas\"");
    m = read_ok(STR(V1 ",\"partition-specs\":[{\"spec-id\":3,\"fields\":[{\"field-id\":1002}]}],"
                       "\"default-spec-id\":3}"));
    ck_assert_int_eq(metadata_head(m)->default_spec_id, 3);
    ck_assert_int_eq(metadata_head(m)->last_partition_id, 1002);
}
END_TEST

/* Java's library wrote lists of specs before their fields had ids, and reads them still. */
START_TEST(test_metadata_from_file__fields_of_specs_get_ids)
{
    static const char before[] =
        V1 ",\"partition-specs\":[{\"spec-id\":3,\"fields\":[{\"name\":\"p\",\"field-id\":%s},"
           " {\"name\" :\"field-id\"}], \"x\": 1.0 },{\"fields\":[ ],\"spec-id\":4},"
           "{\"spec-id\":5,\"fields\":[{\"field-id\":1007}]}],\"default-spec-id\":3}";
    static const char after[] =
        "[{\"spec-id\":3,\"fields\":[{\"field-id\":1000,\"name\":\"p\"},{\"field-id\":1001,"
        "\"name\":\"field-id\"}],\"x\":1.0},{\"fields\":[],\"spec-id\":4},"
        "{\"spec-id\":5,\"fields\":[{\"field-id\":1007}]}]";
    const struct metadata *m = read_ok(arena_printf(arena, before, "null"));
    ck_assert_msg(str_eq(metadata_member(m, "partition-specs"), str_from(after)), "%.*s",
        STR_ARG(metadata_member(m, "partition-specs")));
    ck_assert_int_eq(metadata_head(m)->last_partition_id, 1007);
    struct str text = joined(m, VARIANT_ALL);
    ck_assert(str_eq(joined(read_ok(text), VARIANT_ALL), text));
    m = read_ok(replaced(V2 "}", "\"fields\":[]}],\"default-spec-id\"",
        "\"fields\":[{\"name\":\"p\"}]}],\"default-spec-id\""));
    ck_assert(str_eq(metadata_member(m, "partition-specs"),
        STR("[{\"spec-id\":0,\"fields\":[{\"field-id\":1000,\"name\":\"p\"}]}]")));
    /* What is no list of fields, or has some ids, stays as it is. */
    read_ok(replaced(
        V2 "}", "\"fields\":[]}],\"default-spec-id\"", "\"fields\":[7]}],\"default-spec-id\""));
    read_ok(arena_printf(arena, before, "1000"));
}
END_TEST

START_TEST(test_metadata_from_file__main_is_added_to_refs)
{
    struct str snaps = STR("\"snapshots\":[" SNAP(1, 1) "],\"current-snapshot-id\":1");
    const struct metadata *m = read_ok(arena_printf(arena, V2 ",%s}", snaps.p));
    ck_assert(str_eq(
        metadata_member(m, "refs"), STR("{\"main\":{\"snapshot-id\":1,\"type\":\"branch\"}}")));
    m = read_ok(arena_printf(arena, V2 ",%s,\"refs\":{}}", snaps.p));
    ck_assert_uint_eq(json_object_size(metadata_head(m)->refs), 1);
    m = read_ok(arena_printf(
        arena, V2 ",\"refs\":{ \"t\":{\"snapshot-id\":1,\"type\":\"tag\"}},%s}", snaps.p));
    ck_assert(
        str_eq(metadata_member(m, "refs"), STR("{\"main\":{\"snapshot-id\":1,\"type\":\"branch\"}, "
                                               "\"t\":{\"snapshot-id\":1,\"type\":\"tag\"}}")));
}
END_TEST

START_TEST(test_metadata_from_file__nulls_that_readers_refuse_are_left_out)
{
    const struct metadata *m =
        read_ok(STR(V2 ",\"refs\":null,\"snapshots\":null,\"statistics\":null,\"properties\":null,"
                       "\"x\":null,\"current-snapshot-id\":null}"));
    ck_assert(str_eq(joined(m, VARIANT_ALL), STR(V2 ",\"x\":null,\"current-snapshot-id\":null}")));
    ck_refused(
        replaced(V2 "}", "\"s3://b/w/a/t\"", "null"), ERR_BAD_REQUEST, "\"location\" is missing");
}
END_TEST

static struct str with_members(struct str snapshot, const char *in_ref, const char *in_blob)
{
    return arena_printf(arena,
        "%s,\"current-snapshot-id\":1,\"snapshots\":[%s],\"refs\":{\"main\":{\"snapshot-id\":1,"
        "\"type\":\"branch\"%s}},\"statistics\":[{\"snapshot-id\":1,\"blob-metadata\":[{\"type\":"
        "\"a \\\"x\\\":null\"%s}]}]}",
        V2, snapshot.p, in_ref, in_blob);
}

/* In lists and refs, at any depth. Members that we do not know, and null as a part of a default
 * value, are nobody's business. */
START_TEST(test_metadata_from_file__inner_nulls_are_left_out)
{
    const struct {
        const char *from, *to;
    } cases[] = {
        {"\"type\":\"long\"}", "\"type\":\"long\", \"doc\" : null, \"initial-default\":null}"},
        {"\"spec-id\":0,",     "\"schema-id\":null,\"spec-id\":0,"                           },
        {"\"order-id\":0,",    "\"order-id\":0,\"properties\":null,"                         },
    };
    struct str plain = STR(V2 ",\"z\":[{\"a\":null}, 1.0]}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        ck_assert(str_eq(
            joined(read_ok(replaced(plain.p, cases[i].from, cases[i].to)), VARIANT_ALL), plain));

    struct str snapshot = arena_printf(arena, "%s", SNAP(1, 1));
    struct str wanted = with_members(snapshot, "", "");
    snapshot = replaced(snapshot.p, "{", "{\"parent-snapshot-id\":null,\"key-id\": null ,");
    struct str given = with_members(snapshot, ",\"max-ref-age-ms\":null", ",\"properties\":null");
    ck_assert(str_eq(joined(read_ok(given), VARIANT_ALL), wanted));
    ck_assert(str_eq(joined(read_ok(wanted), VARIANT_ALL), wanted));
    ck_refused(replaced(given.p, "\"timestamp-ms\":1699999999000", "\"timestamp-ms\":null"),
        ERR_BAD_REQUEST, "timestamp-ms: Invalid JSON");

    struct str kept = replaced(plain.p, "\"type\":\"long\"}",
        "\"type\":\"long\",\"write-default\": {\"doc\":null}, \"x\" :[{ \"doc\":null}],\"y\":null "
        "}");
    ck_assert(str_eq(joined(read_ok(kept), VARIANT_ALL), kept));
}
END_TEST

START_TEST(test_metadata_from_file__inner_nulls_of_version_1)
{
    const struct metadata *plain = read_ok(STR(V1 ",\"partition-spec\":[]}"));
    const struct metadata *m = read_ok(replaced(
        V1 ",\"partition-spec\":[]}", "\"type\":\"long\"}", "\"type\":\"long\",\"doc\":null}"));
    ck_assert(str_eq(joined(m, VARIANT_ALL), joined(plain, VARIANT_ALL)));
    ck_assert_uint_eq(metadata_parts(m, PARTS_SCHEMAS)->n, 1);
}
END_TEST

/* -- gzip ----------------------------------------------------------------------------------------
 */

static struct str zipped(struct str text, int level)
{
    z_stream z = {0};
    char *to = arena_alloc(arena, text.n + 1024);
    ck_assert_int_eq(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    memcpy(&z.next_in, &text.p, sizeof(text.p));
    z.avail_in = (uInt)text.n;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)text.n + 1024;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    struct str out = {to, z.total_out};
    deflateEnd(&z);
    return out;
}

static struct str spaced(size_t n)
{
    char *to = arena_alloc(arena, n);
    memset(to, ' ', n);
    return (struct str){to, n};
}

START_TEST(test_metadata_from_file__gzip_is_known_by_its_content)
{
    struct str text = STR(V2 ",\"properties\":{\"a\":\"b\"}}");
    ck_assert(str_eq(joined(read_ok(zipped(text, 6)), VARIANT_ALL), text));
    ck_assert(str_eq(joined(read_ok(zipped(text, 0)), VARIANT_ALL), text));
}
END_TEST

START_TEST(test_metadata_from_file__damaged_gzip)
{
    struct str good = zipped(STR(V2 "}"), 6);
    for (size_t n = 2; n < good.n; n++)
        ck_refused(((struct str){good.p, n}), ERR_BAD_REQUEST, "the gzip file ends too early");
    char *bad = arena_cstr(arena, good);
    bad[good.n - 5] = (char)(bad[good.n - 5] ^ 1);
    ck_refused(((struct str){bad, good.n}), ERR_BAD_REQUEST, "incorrect data check");
    ck_refused(arena_printf(arena, "\x1f\x8bzzzzzzzzzz"), ERR_BAD_REQUEST, "is damaged");
    struct buf twice;
    buf_init(&twice, 1u << 20);
    buf_str(&twice, good);
    buf_str(&twice, good);
    ck_refused(buf_view(&twice), ERR_BAD_REQUEST, "bytes follow the gzip member");
    buf_fini(&twice);
}
END_TEST

START_TEST(test_metadata_from_file__gzip_bombs)
{
    struct err err = {0};
    struct metadata *m = NULL;
    struct str bomb = zipped(spaced(16u << 20), 9);
    ck_refused(bomb, ERR_BAD_REQUEST, "unpacks to more than 200 times its size");
    ck_assert(!metadata_from_file_max(bomb, STR(PLACE), 100000, &m, &err));
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.msg, "unpacks to more than 100000 bytes"));
    /* Below 1 MB the ratio does not matter. */
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_puts(&b, V2 "}");
    buf_str(&b, spaced(900000));
    read_ok(zipped(buf_view(&b), 9));
    ck_assert(!metadata_from_file_max(buf_view(&b), STR(PLACE), 900000, &m, &err));
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    buf_fini(&b);
}
END_TEST

/* -- Documents -----------------------------------------------------------------------------------
 */

/* n snapshots with ids 1…n, statistics for each, and refs to those that `named` lists. */
static struct str history(int n, const int *named, size_t n_named)
{
    struct buf b;
    buf_init(&b, 1u << 30);
    buf_puts(&b, V2 ",\"statistics\":[");
    for (int i = 1; i <= n; i++)
        buf_putf(&b, "%s{\"snapshot-id\":%d}", i > 1 ? ", " : "", i);
    buf_puts(&b, "],\"snapshots\": [ ");
    for (int i = 1; i <= n; i++)
        buf_putf(&b,
            "%s{\"snapshot-id\":%d,\"timestamp-ms\":1,\"manifest-list\":\"s3://b/snap-%d.avro\"}",
            i > 1 ? " ,\n" : "", i, i);
    buf_puts(&b, "\n],\"refs\":{");
    for (size_t i = 0; i < n_named; i++)
        buf_putf(
            &b, "%s\"tag-%zu\":{\"snapshot-id\":%d,\"type\":\"tag\"}", i ? "," : "", i, named[i]);
    buf_puts(&b, "},\"partition-statistics\":[],\"end\":true}");
    return buf_take(&b, arena);
}

static void check_variant(const struct metadata *m, const int *named, size_t n_named)
{
    json_error_t why;
    struct str all = joined(m, VARIANT_ALL), refs = joined(m, VARIANT_REFS);
    json_t *whole = json_loadb(all.p, all.n, JSON_REJECT_DUPLICATES, &why);
    json_t *cut = json_loadb(refs.p, refs.n, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(cut != NULL, "%s: %.*s", why.text, STR_ARG(refs));
    static const char *const filtered[] = {"snapshots", "statistics"};
    for (size_t f = 0; f < ARRAY_LEN(filtered); f++) {
        json_t *want = json_array(), *element;
        size_t i;
        json_array_foreach(json_object_get(whole, filtered[f]), i, element)
        {
            json_int_t id = json_integer_value(json_object_get(element, "snapshot-id"));
            bool keep = false;
            for (size_t k = 0; k < n_named; k++)
                keep = keep || named[k] == id;
            if (keep)
                json_array_append(want, element);
        }
        json_object_set_new(whole, filtered[f], want);
    }
    ck_assert(json_equal(whole, cut));
    json_decref(whole);
    json_decref(cut);
}

START_TEST(test_metadata_document__refs_variant)
{
    static const struct {
        int n;
        int named[4];
        size_t n_named;
    } cases[] = {
        {1,   {0},                0},
        {1,   {1},                1},
        {3,   {1, 2, 3},          3},
        {5,   {1},                1},
        {5,   {5},                1},
        {5,   {3, 3},             2},
        {5,   {2, 4},             2},
        {5,   {4, 2, 3},          3},
        {300, {1, 150, 151, 300}, 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct metadata *m = read_ok(history(cases[i].n, cases[i].named, cases[i].n_named));
        check_variant(m, cases[i].named, cases[i].n_named);
        struct str *a, *b;
        size_t n = metadata_document(arena, m, VARIANT_REFS, &a);
        ck_assert_uint_eq(n, metadata_document(arena, m, VARIANT_REFS, &b));
        ck_assert_ptr_eq(a[0].p, b[0].p); /* slices of the document, not copies */
        ck_assert_uint_le(n, 2 + 4 * (cases[i].n_named + 1));
    }
}
END_TEST

static struct str inflated(struct str segment, size_t plain)
{
    z_stream z = {0};
    char *to = arena_alloc(arena, plain + 1);
    ck_assert_int_eq(inflateInit2(&z, -15), Z_OK);
    memcpy(&z.next_in, &segment.p, sizeof(segment.p));
    z.avail_in = (uInt)segment.n;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)plain + 1;
    ck_assert_int_eq(inflate(&z, Z_SYNC_FLUSH), Z_OK);
    ck_assert_uint_eq(z.avail_in, 0);
    struct str out = {to, z.total_out};
    inflateEnd(&z);
    return out;
}

START_TEST(test_metadata_deflated__unpacks_to_the_document)
{
    const int named[] = {7, 8, 20};
    struct deflated d, again;
    const struct metadata *m = read_ok(history(300, named, 3));
    size_t before = metadata_cost(m);
    ck_assert_msg(!metadata_deflated(m, VARIANT_ALL, &d), "the first asking is not worth it");
    ck_assert(metadata_deflated(m, VARIANT_ALL, &d));
    ck_assert_uint_ge(metadata_cost(m), before + d.segment.n);
    struct str text = joined(m, VARIANT_ALL);
    ck_assert(str_eq(inflated(d.segment, d.plain), text));
    ck_assert_uint_eq(d.plain, text.n);
    ck_assert_uint_eq(d.crc, crc32(0, (const Bytef *)text.p, (uInt)text.n));
    ck_assert_uint_lt(d.segment.n, text.n / 4);
    ck_assert(metadata_deflated(m, VARIANT_ALL, &again) && again.segment.p == d.segment.p);
    /* The other variant is a text of its own; here it is too small. */
    ck_assert(!metadata_deflated(m, VARIANT_REFS, &d));
    ck_assert(!metadata_deflated(read_ok(STR(V2 "}")), VARIANT_ALL, &d));
}
END_TEST

START_TEST(test_metadata_deflated__variants_that_are_equal_share_it)
{
    int named[100];
    struct deflated all, refs;
    for (int i = 0; i < 100; i++)
        named[i] = i + 1;
    const struct metadata *m = read_ok(history(100, named, 100));
    ck_assert(!metadata_deflated(m, VARIANT_ALL, &all));
    ck_assert(metadata_deflated(m, VARIANT_ALL, &all) && metadata_deflated(m, VARIANT_REFS, &refs));
    ck_assert_ptr_eq(all.segment.p, refs.segment.p);
}
END_TEST

START_TEST(test_metadata_deflated__joins_head_and_tail_in_one_member)
{
    const int named[] = {1};
    struct deflated d;
    const struct metadata *m = read_ok(history(300, named, 1));
    ck_assert(!metadata_deflated(m, VARIANT_ALL, &d));
    ck_assert(metadata_deflated(m, VARIANT_ALL, &d));
    struct str head = STR("{\"metadata\":"), tail = STR(",\"config\":{}}");
    Bytef out[1024];
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    memcpy(&z.next_in, &head.p, sizeof(head.p));
    z.avail_in = (uInt)head.n;
    z.next_out = out;
    z.avail_out = sizeof(out);
    ck_assert_int_eq(deflate(&z, Z_FULL_FLUSH), Z_OK);
    size_t n_head = sizeof(out) - z.avail_out;
    memcpy(&z.next_in, &tail.p, sizeof(tail.p));
    z.avail_in = (uInt)tail.n;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n_all = sizeof(out) - z.avail_out;
    deflateEnd(&z);

    uLong crc = crc32(0, (const Bytef *)head.p, (uInt)head.n);
    crc = crc32_combine(crc, d.crc, (z_off_t)d.plain);
    crc = crc32_combine(crc, crc32(0, (const Bytef *)tail.p, (uInt)tail.n), (z_off_t)tail.n);
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_put(&b, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    buf_put(&b, out, n_head);
    buf_str(&b, d.segment);
    buf_put(&b, out + n_head, n_all - n_head);
    uint32_t end[2] = {(uint32_t)crc, (uint32_t)(head.n + d.plain + tail.n)};
    buf_put(&b, end, sizeof(end));

    z_stream in = {.next_in = (Bytef *)b.p, .avail_in = (uInt)b.n};
    char *to = arena_alloc(arena, end[1]);
    ck_assert_int_eq(inflateInit2(&in, 15 + 16), Z_OK);
    in.next_out = (Bytef *)to;
    in.avail_out = end[1];
    ck_assert_int_eq(inflate(&in, Z_FINISH), Z_STREAM_END);
    inflateEnd(&in);
    ck_assert_int_eq(memcmp(to, head.p, head.n), 0);
    ck_assert_int_eq(memcmp(to + end[1] - tail.n, tail.p, tail.n), 0);
    buf_fini(&b);
}
END_TEST

START_TEST(test_metadata_gzip__is_a_file_that_reads_back)
{
    const int named[] = {1};
    const struct metadata *m = read_ok(history(10, named, 1));
    struct str file = metadata_gzip(arena, m);
    ck_assert_int_eq((unsigned char)file.p[1], 0x8b);
    ck_assert(str_eq(joined(read_ok(file), VARIANT_ALL), joined(m, VARIANT_ALL)));
    /* Also below the size from which on answers are compressed. */
    m = read_ok(STR(V2 "}"));
    ck_assert(str_eq(joined(read_ok(metadata_gzip(arena, m)), VARIANT_ALL), STR(V2 "}")));
}
END_TEST

START_TEST(test_metadata_etag__differs_by_location_uuid_and_variant_only)
{
    const struct metadata *m = read_ok(STR(V2 "}"));
    struct str all = metadata_etag(m, VARIANT_ALL), refs = metadata_etag(m, VARIANT_REFS);
    struct str uuid = metadata_head(m)->uuid;
    ck_assert_uint_eq(all.n, 29);
    ck_assert(str_starts(all, STR("W/\"")) && str_ends(all, STR("a\"")));
    ck_assert(str_starts(refs, STR("W/\"")) && str_ends(refs, STR("r\"")));
    ck_assert_int_eq(memcmp(all.p, refs.p, 27), 0);
    ck_assert(str_eq(all, metadata_etag_of(arena, STR(PLACE), uuid, VARIANT_ALL)));
    ck_assert(str_eq(refs, metadata_etag_of(arena, STR(PLACE), uuid, VARIANT_REFS)));
    ck_assert(!str_eq(all, metadata_etag_of(arena, STR(PLACE "x"), uuid, VARIANT_ALL)));
    ck_assert(!str_eq(all, metadata_etag_of(arena, STR(PLACE), STR("other"), VARIANT_ALL)));
}
END_TEST

/* The name of a file can be used again by a later object, or by one of another uuid. */
START_TEST(test_metadata_serves__objects_that_were_there_when_it_was_read)
{
    const struct metadata *m = read_ok(STR(V2 "}"));
    struct str own = metadata_head(m)->uuid, other = STR("other");
    ck_assert(!metadata_serves(m, 1, own));
    metadata_set_bound(m, 100);
    ck_assert(metadata_serves(m, 99, own) && !metadata_serves(m, 100, own));
    ck_assert(!metadata_serves(m, 50, other));
    metadata_set_read_for(m, 100, own);
    ck_assert(metadata_serves(m, 100, own) && !metadata_serves(m, 101, own));
    ck_assert(!metadata_serves(m, 50, other));
    metadata_set_read_for(m, 50, other);
    ck_assert(metadata_serves(m, 50, other) && !metadata_serves(m, 51, other));
    ck_assert(metadata_serves(m, 100, own));
}
END_TEST

START_TEST(test_metadata_find__the_same_before_and_after_the_index)
{
    const struct metadata *m = read_ok(history(300, NULL, 0));
    const struct parts *snaps = metadata_parts(m, PARTS_SNAPSHOTS);
    for (int round = 0; round < 3; round++)
        for (int64_t id = 0; id <= 301; id++) {
            const struct part *found = metadata_find(m, PARTS_SNAPSHOTS, id);
            ck_assert_ptr_eq(found, id >= 1 && id <= 300 ? &snaps->v[id - 1] : NULL);
        }
}
END_TEST

START_TEST(test_metadata_from_draft__takes_all_and_scans_nothing)
{
    struct str text = STR("{\"location\":\"s3://b/t\",\"snapshots\":[{},{}]}");
    struct metadata_new new = {.bytes = xmalloc(text.n), .n = text.n, .n_members = 2};
    memcpy(new.bytes, text.p, text.n);
    char place[] = "s3://b/t/metadata/1", uuid[] = "u";
    new.location = str_from(place);
    new.head = (struct head){
        .format_version = 2, .uuid = str_from(uuid), .location = {new.bytes + 13, 8}
    };
    new.head.refs = json_pack("{s{si}}", "main", "snapshot-id", 2);
    new.parts[PARTS_SNAPSHOTS] = (struct parts){xcalloc(2, sizeof(struct part)), 2};
    for (int i = 0; i < 2; i++)
        new.parts[PARTS_SNAPSHOTS].v[i] =
            (struct part){.p = new.bytes + 36 + 3 * i, .n = 2, .id = i + 1};
    new.members = xcalloc(2, sizeof(*new.members));
    new.members[0] = (struct member_slice){
        {new.bytes + 2,  8 },
        {new.bytes + 12, 10}
    };
    new.members[1] = (struct member_slice){
        {new.bytes + 24, 9},
        {new.bytes + 35, 7}
    };
    const struct metadata *m = metadata_hold(arena, metadata_from_draft(&new));
    memset(place, 'x', sizeof(place) - 1);
    memset(uuid, 'x', sizeof(uuid) - 1);
    ck_assert_ptr_null(new.bytes);
    ck_assert_ptr_null(new.members);
    ck_assert(str_eq(metadata_location(m), STR("s3://b/t/metadata/1")));
    ck_assert(str_eq(metadata_head(m)->uuid, STR("u")));
    ck_assert(str_eq(metadata_member(m, "snapshots"), STR("[{},{}]")));
    ck_assert(
        str_eq(joined(m, VARIANT_REFS), STR("{\"location\":\"s3://b/t\",\"snapshots\":[{}]}")));
    ck_assert_ptr_nonnull(metadata_head(m)->properties);
}
END_TEST

static void *use_all(void *arg)
{
    const struct metadata *m = arg;
    struct arena *a = arena_new();
    struct deflated d;
    struct str *pieces;
    for (int i = 0; i < 20; i++) {
        metadata_document(a, m, VARIANT_REFS, &pieces);
        metadata_deflated(m, VARIANT_ALL, &d);
        metadata_deflated(m, VARIANT_REFS, &d);
        metadata_find(m, PARTS_SNAPSHOTS, i);
        metadata_cost(m);
        arena_reset(a);
    }
    arena_free(&a);
    return NULL;
}

START_TEST(test_metadata__many_threads_make_the_late_parts)
{
    const int named[] = {1, 5};
    for (int round = 0; round < 5; round++) {
        const struct metadata *m = read_ok(history(300, named, 2));
        struct metadata *shared = NULL;
        memcpy(&shared, &m, sizeof(shared));
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, use_all, shared);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        check_variant(m, named, 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metadata");
    TCase *cases = tcase_create("metadata");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_metadata_from_file__smallest_v2);
    tcase_add_test(cases, test_metadata_from_file__parts_have_their_scalars_and_slices);
    tcase_add_test(cases, test_metadata_from_file__required_members_of_each_version);
    tcase_add_test(cases, test_metadata_from_file__types);
    tcase_add_test(cases, test_metadata_from_file__maps_of_strings);
    tcase_add_test(cases, test_metadata_from_file__ids_are_unique_and_chosen_ones_exist);
    tcase_add_test(cases, test_metadata_from_file__refs_and_current_snapshot);
    tcase_add_test(cases, test_metadata_from_file__no_current_snapshot_in_three_spellings);
    tcase_add_test(cases, test_metadata_from_file__logs_ascend_within_a_minute);
    tcase_add_test(cases, test_metadata_from_file__broken_files);
    tcase_add_test(cases, test_metadata_from_file__v1_gets_its_lists);
    tcase_add_test(cases, test_metadata_from_file__v1_keeps_the_ids_it_has);
    tcase_add_test(cases, test_metadata_from_file__fields_of_specs_get_ids);
    tcase_add_test(cases, test_metadata_from_file__main_is_added_to_refs);
    tcase_add_test(cases, test_metadata_from_file__nulls_that_readers_refuse_are_left_out);
    tcase_add_test(cases, test_metadata_from_file__inner_nulls_are_left_out);
    tcase_add_test(cases, test_metadata_from_file__inner_nulls_of_version_1);
    tcase_add_test(cases, test_metadata_from_file__gzip_is_known_by_its_content);
    tcase_add_test(cases, test_metadata_from_file__damaged_gzip);
    tcase_add_test(cases, test_metadata_from_file__gzip_bombs);
    tcase_add_test(cases, test_metadata_document__refs_variant);
    tcase_add_test(cases, test_metadata_deflated__unpacks_to_the_document);
    tcase_add_test(cases, test_metadata_deflated__variants_that_are_equal_share_it);
    tcase_add_test(cases, test_metadata_deflated__joins_head_and_tail_in_one_member);
    tcase_add_test(cases, test_metadata_gzip__is_a_file_that_reads_back);
    tcase_add_test(cases, test_metadata_etag__differs_by_location_uuid_and_variant_only);
    tcase_add_test(cases, test_metadata_serves__objects_that_were_there_when_it_was_read);
    tcase_add_test(cases, test_metadata_find__the_same_before_and_after_the_index);
    tcase_add_test(cases, test_metadata_from_draft__takes_all_and_scans_nothing);
    tcase_add_test(cases, test_metadata__many_threads_make_the_late_parts);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
