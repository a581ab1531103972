"""The table: every requirement and every update, valid and invalid in each way, and what must come
of it. `changes` are the members of the metadata that differ afterwards ({}: no new version at all),
`refused` is status, type and message. A value may be a function of the state before; see matrix.py.
`java` says why the Java library answers otherwise: where the two differ, this server means to."""

from firn_client import (assert_uuid, create_updates, field, order, replace_version, representation, set_properties,
                         set_ref, simple, spec, struct, view_version)
from matrix import (BY_ID, COLUMNS, GONE, ID_BUCKET, KEY, MORE, Row, by_version, old, partition_statistics, plus, snap,
                    statistics, without)

ROWS = []
OTHER_UUID = "00000000-0000-4000-8000-000000000000"
IN_OTHER_WORDS = "refuses it in other words"


def add(subject, what, **more):
    ROWS.append(Row(subject, what, **more))


def argument(message):
    return 400, "IllegalArgumentException", message


def validation(message):
    return 400, "ValidationException", message


def malformed(message):
    return 400, "BadRequestException", message


def failed(message):
    return 409, "CommitFailedException", "Requirement failed: " + message


def retry(message):
    return 409, "CommitFailedException", "Validation failed, please retry: " + message


def missing(update, *path):
    """The update without one of its members."""
    *way, last = path
    if not way:
        return {k: v for k, v in update.items() if k != last}
    return update | {way[0]: missing(update[way[0]], *path[1:])}


# --- requirements --------------------------------------------------------------------------------


def requirement(kind, what, message=None, refused=None, **more):
    """The rows of one requirement: it holds, or fails with the message."""
    members = {k.replace("_", "-"): v for k, v in more.items() if k not in ("base", "versions", "java")}
    options = {k: v for k, v in more.items() if k in ("base", "versions", "java")}
    if message or refused:
        add(kind, what, requirements=[{"type": kind} | members], updates=[set_properties(a="changed")],
            refused=refused or failed(message), **options)
    else:
        add(kind, what, requirements=[{"type": kind} | members], changes={}, **options)


requirement("assert-create", "on a table", "table already exists")
requirement("assert-table-uuid", "the same", uuid=old("table-uuid"))
requirement("assert-table-uuid", "in capitals", uuid=lambda g: g.base["table-uuid"].upper())
add("assert-table-uuid", "another", requirements=[assert_uuid(OTHER_UUID)], updates=[set_properties(a="x")],
    refused=(409, "CommitFailedException", lambda g: (
        f"Requirement failed: UUID does not match: expected {g.base['table-uuid']} != {OTHER_UUID}")))
requirement("assert-table-uuid", "no uuid", refused=malformed("/requirements/0/uuid: required member is missing"))
requirement("assert-table-uuid", "uuid a number", uuid=1,
            refused=malformed("/requirements/0/uuid: expected a string, found an integer"))

requirement("assert-ref-snapshot-id", "main is there", ref="main", snapshot_id=12)
requirement("assert-ref-snapshot-id", "tag is there", ref="t1", snapshot_id=11)
requirement("assert-ref-snapshot-id", "no such ref and null", ref="nope", snapshot_id=None)
requirement("assert-ref-snapshot-id", "no such ref and no id", ref="nope")
requirement("assert-ref-snapshot-id", "no such ref and -1", ref="nope", snapshot_id=-1,
            java="-1 is how some clients say that there is no snapshot yet")
requirement("assert-ref-snapshot-id", "no main and null", ref="main", snapshot_id=None, base="fresh")
requirement("assert-ref-snapshot-id", "main moved", "branch main has changed: expected id 11 != 12",
            ref="main", snapshot_id=11)
requirement("assert-ref-snapshot-id", "main moved and -1", "branch main has changed: expected id -1 != 12",
            ref="main", snapshot_id=-1)
requirement("assert-ref-snapshot-id", "tag moved", "tag t1 has changed: expected id 12 != 11", ref="t1", snapshot_id=12)
requirement("assert-ref-snapshot-id", "main was created", "branch main was created concurrently",
            ref="main", snapshot_id=None)
requirement("assert-ref-snapshot-id", "main was created no id", "branch main was created concurrently", ref="main")
requirement("assert-ref-snapshot-id", "tag was created", "tag t1 was created concurrently", ref="t1", snapshot_id=None)
requirement("assert-ref-snapshot-id", "ref is gone", "branch or tag nope is missing, expected 12",
            ref="nope", snapshot_id=12)
requirement("assert-ref-snapshot-id", "ref is gone and 0", "branch or tag nope is missing, expected 0",
            ref="nope", snapshot_id=0)
requirement("assert-ref-snapshot-id", "no ref", snapshot_id=12,
            refused=malformed("/requirements/0/ref: required member is missing"))
requirement("assert-ref-snapshot-id", "id a string", ref="main", snapshot_id="12",
            refused=malformed("/requirements/0/snapshot-id: expected an integer or null, found a string"))

for kind, member, value, words in (
        ("assert-last-assigned-field-id", "last-assigned-field-id", 3, "last assigned field id"),
        ("assert-current-schema-id", "current-schema-id", 1, "current schema"),
        ("assert-last-assigned-partition-id", "last-assigned-partition-id", 1000, "last assigned partition id"),
        ("assert-default-spec-id", "default-spec-id", 1, "default partition spec"),
        ("assert-default-sort-order-id", "default-sort-order-id", 1, "default sort order")):
    name = member.replace("-", "_")
    requirement(kind, "the same", **{name: value})
    for other, what in ((value - 1, "one less"), (value + 1, "one more"), (-1, "-1")):
        requirement(kind, what, f"{words} changed: expected id {other} != {value}", **{name: other})
    requirement(kind, "no id", refused=malformed(f"/requirements/0/{member}: required member is missing"))
    requirement(kind, "id a string", refused=malformed(
        f"/requirements/0/{member}: expected an integer, found a string"), **{name: str(value)})
    requirement(kind, "id of 64 bits", refused=malformed(
        f"/requirements/0/{member}: expected an integer of 32 bits, found 2147483648"), **{name: 2**31})

requirement("assert-view-uuid", "on a table", uuid=OTHER_UUID,
            refused=validation("Cannot validate AssertViewUUID against a table"))
requirement("assert-something", "unknown", refused=malformed(
    "Unrecognized update requirement. Cannot convert to json: assert-something (/requirements/0/type)"))
add("assert-", "no type", requirements=[{"uuid": OTHER_UUID}], refused=malformed(
    "Cannot parse update requirement. Missing field: type (/requirements/0)"))
add("ASSERT-CURRENT-SCHEMA-ID", "in capitals", changes={},
    requirements=[{"type": "ASSERT-CURRENT-SCHEMA-ID", "current-schema-id": 1}])
add("assert-current-schema-id", "first that fails is named", updates=[set_properties(a="x")], requirements=[
    {"type": "assert-default-spec-id", "default-spec-id": 7}, {"type": "assert-current-schema-id", "current-schema-id": 7}],
    refused=failed("default partition spec changed: expected id 7 != 1"))
add("assert-current-schema-id", "against the state before the updates",
    requirements=[{"type": "assert-current-schema-id", "current-schema-id": 1}],
    updates=[{"action": "set-current-schema", "schema-id": 0}], changes={"current-schema-id": 0})

# --- assign-uuid, upgrade-format-version ------------------------------------------------------------


def assign(uuid):
    return {"action": "assign-uuid", "uuid": uuid}


def upgrade(version):
    return {"action": "upgrade-format-version", "format-version": version}


add("assign-uuid", "the same", updates=[assign(old("table-uuid"))], changes={})
add("assign-uuid", "in capitals", updates=[assign(lambda g: g.base["table-uuid"].upper())], changes={},
    java="compares UUIDs by their letters, so it takes this for another one")
add("assign-uuid", "another", updates=[assign(OTHER_UUID)], java="allows it; the specification does not",
    refused=argument(lambda g: f"Cannot assign UUID {OTHER_UUID}: the table has the UUID {g.base['table-uuid']} already"))
add("assign-uuid", "no UUID", updates=[assign("me")], refused=argument("Invalid UUID: me (/updates/0/uuid)"),
    java="takes any text; later readers need a UUID")
add("assign-uuid", "empty", updates=[assign("")], refused=argument("Invalid UUID:  (/updates/0/uuid)"),
    java="takes any text; later readers need a UUID")
add("assign-uuid", "no uuid", updates=[missing(assign(""), "uuid")],
    refused=malformed("/updates/0/uuid: required member is missing"))

add("upgrade-format-version", "the same", updates=[lambda g: upgrade(g.version)], changes={})
add("upgrade-format-version", "1 to 2", versions=(1,), updates=[upgrade(2)], changes={
    "format-version": 2, "last-sequence-number": 0, "schema": GONE, "partition-spec": GONE})
add("upgrade-format-version", "1 to 3", versions=(1,), updates=[upgrade(3)], changes={
    "format-version": 3, "last-sequence-number": 0, "next-row-id": 0, "schema": GONE, "partition-spec": GONE})
add("upgrade-format-version", "2 to 3", versions=(2,), updates=[upgrade(3)],
    changes={"format-version": 3, "next-row-id": 0})
add("upgrade-format-version", "2 to 3 without a snapshot", versions=(2,), base="fresh", updates=[upgrade(3)],
    changes={"format-version": 3, "next-row-id": 0, "current-snapshot-id": None})
add("upgrade-format-version", "1 to 2 to 3", versions=(1,), updates=[upgrade(2), upgrade(3)], changes={
    "format-version": 3, "last-sequence-number": 0, "next-row-id": 0, "schema": GONE, "partition-spec": GONE})
add("upgrade-format-version", "one down", updates=[lambda g: upgrade(g.version - 1)],
    refused=argument(lambda g: f"Cannot downgrade v{g.version} table to v{g.version - 1}"))
add("upgrade-format-version", "negative", updates=[upgrade(-1)],
    refused=argument(lambda g: f"Cannot downgrade v{g.version} table to v-1"))
add("upgrade-format-version", "4", updates=[upgrade(4)], java="takes 4, which is no final version yet",
    refused=argument("Cannot upgrade table to unsupported format version: v4 (supported: v3)"))
add("upgrade-format-version", "5", updates=[upgrade(5)], java="the number of its highest version is 4",
    refused=argument("Cannot upgrade table to unsupported format version: v5 (supported: v3)"))
add("upgrade-format-version", "no number", updates=[missing(upgrade(1), "format-version")],
    refused=malformed("/updates/0/format-version: required member is missing"))

# --- schemas --------------------------------------------------------------------------------------------


def add_schema(schema, **more):
    return {"action": "add-schema", "schema": schema} | more


def set_schema(number):
    return {"action": "set-current-schema", "schema-id": number}


def schema_of(*fields, schema_id=2, **more):
    return struct(*fields, schema_id=schema_id, **more)


ID, DATA, THIRD = MORE["fields"]
FOURTH = schema_of(ID, DATA, THIRD, field(4, "fourth", "int"))

add("add-schema", "a column more", updates=[add_schema(FOURTH)],
    changes={"schemas": plus("schemas", FOURTH), "last-column-id": 4})
add("add-schema", "another schema-id", updates=[add_schema(FOURTH | {"schema-id": 77})],
    changes={"schemas": plus("schemas", FOURTH), "last-column-id": 4})
add("add-schema", "no schema-id", updates=[add_schema(missing(FOURTH, "schema-id"))],
    changes={"schemas": plus("schemas", FOURTH), "last-column-id": 4})
add("add-schema", "last-column-id is not believed", updates=[add_schema(FOURTH, **{"last-column-id": 99})],
    changes={"schemas": plus("schemas", FOURTH), "last-column-id": 4})
add("add-schema", "a column less", updates=[add_schema(schema_of(ID))],
    changes={"schemas": plus("schemas", schema_of(ID))})
add("add-schema", "no column", updates=[add_schema(schema_of())], changes={"schemas": plus("schemas", schema_of())})
add("add-schema", "the current one", updates=[add_schema(MORE)], changes={})
add("add-schema", "an older one", updates=[add_schema(simple())], changes={})
add("add-schema", "an older one with other spelling", changes={}, updates=[add_schema(
    {"fields": [{"type": "LONG", "required": False, "name": "id", "id": 1}, field(2, "data", "String")],
     "type": "struct"})])
add("add-schema", "columns in another order", updates=[add_schema(schema_of(DATA, ID))],
    changes={"schemas": plus("schemas", schema_of(DATA, ID))})
add("add-schema", "a doc", updates=[add_schema(schema_of(ID | {"doc": "x"}))],
    changes={"schemas": plus("schemas", schema_of(ID | {"doc": "x"}))})
add("add-schema", "another type", updates=[add_schema(schema_of(ID, DATA, field(3, "more", "long")))],
    changes={"schemas": plus("schemas", schema_of(ID, DATA, field(3, "more", "long")))})
add("add-schema", "ids that skip", updates=[add_schema(schema_of(ID, field(90, "x"), field(40, "y")))],
    changes={"schemas": plus("schemas", schema_of(ID, field(90, "x"), field(40, "y"))), "last-column-id": 90})
DEEP = schema_of(ID, field(7, "l", {
    "type": "list", "element-id": 9, "element-required": False, "element": {
        "type": "map", "key-id": 12, "key": "string", "value-id": 11, "value-required": True, "value": {
            "type": "struct", "fields": [field(31, "deep", "int", True, doc="d")]}}}))
add("add-schema", "nested types", updates=[add_schema(DEEP)],
    changes={"schemas": plus("schemas", DEEP), "last-column-id": 31})
KEYED = schema_of(field(1, "id", "long", True), field(2, "data", "string", True), **{"identifier-field-ids": [1, 2]})
add("add-schema", "identifier fields", updates=[add_schema(KEYED)], changes={"schemas": plus("schemas", KEYED)})
WRITE = schema_of(ID, field(2, "data", "string", **{"write-default": "x"}))
add("add-schema", "write-default", updates=[add_schema(WRITE)], changes={"schemas": plus("schemas", WRITE)})
INITIAL = schema_of(ID, field(2, "data", "string", **{"initial-default": "x", "write-default": "y"}))
add("add-schema", "initial-default", versions=(3,), updates=[add_schema(INITIAL)],
    changes={"schemas": plus("schemas", INITIAL)})
for kind, value, kept in (
        ("double", 1, 1.0), ("float", -3, -3.0), ("date", "2024-02-29", None), ("time", "10:15:00", None),
        ("timestamp", "2024-02-29T10:15:30", None), ("timestamptz", "2024-02-29T10:15:30+00:00", None),
        ("timestamp_ns", "2024-02-29T10:15:30.123456789", None)):
    def defaults(value, kind=kind):
        return schema_of(ID, DATA, field(4, "x", kind, **{"initial-default": value, "write-default": value}))
    add("add-schema", f"default {value} of a {kind}", versions=(3,), updates=[add_schema(defaults(value))],
        changes={"schemas": plus("schemas", defaults(value if kept is None else kept)), "last-column-id": 4},
        java="does not read integers for such numbers, only what is stored" if kept is not None else "",
        pyiceberg="reads no default of that type" if kind == "timestamp_ns" else "")
for kind, value in (("date", "2024-02-30"), ("time", "24:00:00"), ("timestamp", "2024-02-29 10:15:30"),
                    ("timestamptz", "2024-02-29T10:15:30+01:00"), ("timestamp_ns", "1500-01-01T00:00:00")):
    add("add-schema", f"default {value} of a {kind}", versions=(3,), java=IN_OTHER_WORDS,
        updates=[add_schema(schema_of(ID, DATA, field(4, "x", kind, **{"write-default": value})))],
        refused=argument(f"Invalid schema: the write-default of x must be a value of type {kind}, found \"{value}\""
                         " (/updates/0/schema/fields/2/write-default)"))
add("add-schema", "initial-default too early", versions=(1, 2), updates=[add_schema(INITIAL)], refused=argument(
    lambda g: f"Invalid schema for v{g.version}:\n- Invalid initial default for data: "
              "non-null default (\"x\") is not supported until v3"),
    java="shows the default without quotes and throws an IllegalStateException")
for name in ("boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz", "string", "uuid",
             "binary", "fixed[16]", "fixed[0]", "decimal(38, 38)", "decimal(9, 2)", "decimal(1, 0)"):
    add("add-schema", f"type {name}", updates=[add_schema(schema_of(ID, field(4, "x", name)))],
        changes={"schemas": plus("schemas", schema_of(ID, field(4, "x", name))), "last-column-id": 4})
for name, unread in (
        ("timestamp_ns", {}), ("timestamptz_ns", {}), ("unknown", {}),
        ("variant", {"pyiceberg": "does not know the type yet"}),
        ("geometry", {"java": "writes the coordinates that are meant", "unread_java": "the same"}),
        ("geometry(OGC:CRS84)", {"pyiceberg": "wants quotes"}), ("geometry(EPSG:3857)", {"pyiceberg": "wants quotes"}),
        ("geography", {"java": "writes the coordinates that are meant", "unread_java": "the same"}),
        ("geography(OGC:CRS84)", {"java": "writes the algorithm that is meant", "unread_java": "the same",
                                  "pyiceberg": "wants quotes"}),
        ("geography(OGC:CRS84, karney)", {"pyiceberg": "wants quotes"})):
    add("add-schema", f"type {name}", versions=(3,), updates=[add_schema(schema_of(ID, field(4, "x", name)))],
        changes={"schemas": plus("schemas", schema_of(ID, field(4, "x", name))), "last-column-id": 4}, **unread)
    add("add-schema", f"type {name} too early", versions=(1, 2), java="throws an IllegalStateException",
        updates=[add_schema(schema_of(ID, field(4, "x", name)))], refused=argument(
            lambda g, name=name: f"Invalid schema for v{g.version}:\n- Invalid type for x: {name} is not "
                                 "supported until v3"))
for name, java in (("decimal(39, 2)", IN_OTHER_WORDS), ("decimal(4, 5)", "takes a scale above the precision"),
                   ("decimal(0, 0)", "takes a precision of 0"), ("decimal(9)", ""), ("fixed", ""), ("fixed[-1]", ""),
                   ("text", ""), ("", ""), ("struct", ""), ("list", "")):
    add("add-schema", f"type {name} is none", updates=[add_schema(schema_of(ID, field(4, "x", name)))], java=java,
        refused=argument(f"Cannot parse type string to primitive: {name} (/updates/0/schema/fields/1/type)"))
FIELDS = "/updates/0/schema/fields"
IDENTIFIER = " (/updates/0/schema/identifier-field-ids/0)"
for what, schema, refused, java in (
        ("two columns with an id", schema_of(ID, field(1, "x")),
         argument(f"Invalid schema: multiple fields have the id 1: id and x ({FIELDS}/1/id)"), IN_OTHER_WORDS),
        ("two columns with a name", schema_of(ID, field(4, "id")),
         validation(f"Invalid schema: multiple fields for name id: 1 and 4 ({FIELDS}/1/name)"), ""),
        ("nested column with an id", schema_of(ID, field(4, "s", {"type": "struct", "fields": [field(1, "b")]})),
         argument(f"Invalid schema: multiple fields have the id 1: id and s.b ({FIELDS}/1/type/fields/0/id)"),
         IN_OTHER_WORDS),
        ("unknown must be optional", schema_of(ID, field(4, "x", "unknown", True)),
         argument(f"Cannot create required field with unknown type: x ({FIELDS}/1/required)"), ""),
        ("identifier that is no field", schema_of(ID, **{"identifier-field-ids": [9]}),
         argument("Cannot add fieldId 9 as an identifier field: field does not exist" + IDENTIFIER), ""),
        ("identifier that is optional", schema_of(ID, **{"identifier-field-ids": [1]}),
         argument("Cannot add field id as an identifier field: not a required field" + IDENTIFIER), ""),
        ("identifier that is a double", schema_of(field(1, "id", "double", True), **{"identifier-field-ids": [1]}),
         argument("Cannot add field id as an identifier field: must not be float or double field" + IDENTIFIER), ""),
        ("identifier in a list", schema_of(field(1, "l", {
            "type": "list", "element-id": 5, "element": "int", "element-required": True}, True),
            **{"identifier-field-ids": [5]}),
         argument("Cannot add field l.element as an identifier field: all its parents must be required structs"
                  + IDENTIFIER), IN_OTHER_WORDS),
        ("identifier that is a struct", schema_of(field(1, "s", {"type": "struct", "fields": []}, True),
                                                  **{"identifier-field-ids": [1]}),
         argument("Cannot add field s as an identifier field: not a primitive type field" + IDENTIFIER), "")):
    add("add-schema", what, updates=[add_schema(schema)], refused=refused, java=java)
add("add-schema", "schema-id a string", updates=[add_schema(FOURTH | {"schema-id": "2"})], refused=malformed(
    "Invalid schema: its schema-id must be an integer of 32 bits (/updates/0/schema/schema-id)"))
add("add-schema", "no schema", updates=[{"action": "add-schema"}],
    refused=malformed("/updates/0/schema: required member is missing"))
add("add-schema", "no fields", updates=[add_schema({"type": "struct"})],
    refused=malformed("Invalid schema: the struct 'schema' has no list of fields (/updates/0/schema/fields)"))

add("set-current-schema", "another", updates=[set_schema(0)], changes={"current-schema-id": 0})
add("set-current-schema", "the current one", updates=[set_schema(1)], changes={})
add("set-current-schema", "-1 after add-schema", updates=[add_schema(FOURTH), set_schema(-1)],
    changes={"schemas": plus("schemas", FOURTH), "last-column-id": 4, "current-schema-id": 2})
add("set-current-schema", "-1 is the latest of two", changes={
    "schemas": plus("schemas", FOURTH, schema_of(ID, schema_id=3)), "last-column-id": 4, "current-schema-id": 3},
    updates=[add_schema(FOURTH), add_schema(schema_of(ID)), set_schema(-1)])
add("set-current-schema", "-1 after one that was there", updates=[add_schema(simple()), set_schema(-1)],
    changes={"current-schema-id": 0},
    java="knows no last schema then; clients that always send -1 mean the one they named")
add("set-current-schema", "-1 with nothing added", updates=[set_schema(-1)],
    refused=validation("Cannot set last added schema: no schema has been added"))
add("set-current-schema", "unknown", updates=[set_schema(7)],
    refused=argument("Cannot set current schema to unknown schema: 7"))
add("set-current-schema", "negative", updates=[set_schema(-2)],
    refused=argument("Cannot set current schema to unknown schema: -2"))
add("set-current-schema", "spec's column gone", updates=[add_schema(schema_of(DATA)), set_schema(-1)],
    refused=validation("Cannot find source column for partition field: 1000: id_bucket: bucket[4](1)"))
add("set-current-schema", "order's column gone",
    updates=[{"action": "set-default-spec", "spec-id": 0}, add_schema(schema_of(DATA)), set_schema(-1)],
    refused=validation("Cannot find source column for sort field: identity(1) ASC NULLS FIRST"))
add("set-current-schema", "column gone with spec and order",
    updates=[add_schema(schema_of(DATA)), set_schema(-1), {"action": "set-default-spec", "spec-id": 0},
             {"action": "add-sort-order", "sort-order": order(order_id=0)},
             {"action": "set-default-sort-order", "sort-order-id": 0}],
    changes={"schemas": plus("schemas", schema_of(DATA)), "current-schema-id": 2, "default-spec-id": 0,
             "default-sort-order-id": 0})
NAMESAKE = schema_of(ID, DATA, THIRD, field(4, "id_bucket", "int"))
for what, default in (("the default spec", ()), ("another spec", ({"action": "set-default-spec", "spec-id": 0},))):
    add("set-current-schema", f"column named as a field of {what}", java=IN_OTHER_WORDS if default else "",
        updates=[*default, add_schema(NAMESAKE), set_schema(-1)],
        refused=argument("Cannot create identity partition sourced from different field in schema: id_bucket"
                         + (" (partition spec 1)" if default else "")))
BACK = schema_of(ID, THIRD, field(4, "data", "date"))
add("set-current-schema", "column back that a void field remembers",
    updates=[{"action": "add-spec", "spec": spec(("data", "void", 2, 1000))},
             {"action": "set-default-spec", "spec-id": -1}, add_schema(BACK), set_schema(-1)],
    changes={"schemas": plus("schemas", BACK), "last-column-id": 4, "current-schema-id": 2, "default-spec-id": 2,
             "partition-specs": plus("partition-specs", spec(("data", "void", 2, 1000), spec_id=2))})
add("set-current-schema", "no id", updates=[missing(set_schema(0), "schema-id")],
    refused=malformed("/updates/0/schema-id: required member is missing"))

add("remove-schemas", "an unused one", updates=[{"action": "remove-schemas", "schema-ids": [0]}],
    changes={"schemas": without("schemas", "schema-id", 0)})
add("remove-schemas", "unknown ones count", updates=[{"action": "remove-schemas", "schema-ids": [55]}],
    changes={"schemas": old("schemas")})
add("remove-schemas", "none", updates=[{"action": "remove-schemas", "schema-ids": []}], changes={})
add("remove-schemas", "the current one", updates=[{"action": "remove-schemas", "schema-ids": [0, 1]}],
    refused=argument("Cannot remove the current schema"))
add("remove-schemas", "no ids", updates=[{"action": "remove-schemas"}],
    refused=malformed("/updates/0/schema-ids: required member is missing"))
add("remove-schemas", "id a string", updates=[{"action": "remove-schemas", "schema-ids": ["0"]}],
    refused=malformed("/updates/0/schema-ids/0: expected an integer, found a string"))

# --- partition specs ------------------------------------------------------------------------------------


def add_spec(*fields, **more):
    return {"action": "add-spec", "spec": spec(*fields, **more)}


def set_spec(number):
    return {"action": "set-default-spec", "spec-id": number}


TWO = (ID_BUCKET, ("data_trunc", "truncate[4]", 2, 1001))
add("add-spec", "a field more", updates=[add_spec(*TWO)],
    changes={"partition-specs": plus("partition-specs", spec(*TWO, spec_id=2)), "last-partition-id": 1001})
add("add-spec", "another spec-id", updates=[add_spec(*TWO, spec_id=44)],
    changes={"partition-specs": plus("partition-specs", spec(*TWO, spec_id=2)), "last-partition-id": 1001})
add("add-spec", "no spec-id", updates=[missing(add_spec(*TWO), "spec", "spec-id")],
    changes={"partition-specs": plus("partition-specs", spec(*TWO, spec_id=2)), "last-partition-id": 1001},
    java="its parser wants the number that it does not use")
add("add-spec", "the default one", updates=[add_spec(ID_BUCKET)], changes={})
add("add-spec", "the default one with another field id", updates=[add_spec(("id_bucket", "bucket[4]", 1, 1007))],
    changes={})
add("add-spec", "no fields", updates=[add_spec()], changes={})
add("add-spec", "no field ids", updates=[add_spec(("id_bucket", "bucket[4]", 1, None), ("d", "truncate[4]", 2, None))],
    changes={"partition-specs": plus("partition-specs", spec(
        ("id_bucket", "bucket[4]", 1, 1000), ("d", "truncate[4]", 2, 1001), spec_id=2)), "last-partition-id": 1001})
add("add-spec", "no field ids and new fields", versions=(2, 3), updates=[add_spec(("x", "bucket[8]", 1, None))],
    changes={"partition-specs": plus("partition-specs", spec(("x", "bucket[8]", 1, 1001), spec_id=2)),
             "last-partition-id": 1001},
    java="counts from 1000 again, though an id of a partition field must not get another meaning")
add("add-spec", "some field ids", updates=[add_spec(ID_BUCKET, ("d", "truncate[4]", 2, None))],
    refused=argument("Cannot parse spec with missing field IDs: 1 missing of 2 fields."))
add("add-spec", "ids that skip", versions=(2, 3), updates=[add_spec(("x", "bucket[8]", 1, 1005))],
    changes={"partition-specs": plus("partition-specs", spec(("x", "bucket[8]", 1, 1005), spec_id=2)),
             "last-partition-id": 1005})
add("add-spec", "ids that skip in v1", versions=(1,), updates=[add_spec(("x", "bucket[8]", 1, 1005))],
    refused=validation("Spec does not use sequential IDs that are required in v1: [\n  1005: x: bucket[8](1)\n]"))
for what, fields, refused, java in (
        ("name of another column", [("data", "bucket[4]", 1, 1000)],
         argument("Cannot create identity partition sourced from different field in schema: data"), ""),
        ("empty name", [("", "bucket[8]", 1, 1000)], argument("Cannot use empty partition name: "), IN_OTHER_WORDS),
        ("one name twice", [("p", "bucket[4]", 1, 1000), ("p", "bucket[5]", 2, 1001)],
         argument("Cannot use partition name more than once: p"), ""),
        ("no such column", [("x", "identity", 9, 1000)],
         validation("Cannot find source column for partition field: 1000: x: identity(9)"), ""),
        ("hour of a string", [("x", "hour", 2, 1000)],
         validation("Invalid source type string for transform: hour"), IN_OTHER_WORDS),
        ("day of a long", [("x", "day", 1, 1000)],
         validation("Invalid source type long for transform: day"), IN_OTHER_WORDS),
        ("bucket of nothing", [("x", "bucket[0]", 1, 1000)],
         argument("Invalid partition spec: the width of bucket[0] must be an integer above 0"
                  " (/updates/0/spec/fields/0/transform)"), IN_OTHER_WORDS),
        ("one field id twice", [("x", "bucket[4]", 1, 1000), ("y", "bucket[5]", 1, 1000)],
         argument("Cannot use partition field id more than once: 1000"), "takes it, but in v1")):
    add("add-spec", what, updates=[add_spec(*fields)], refused=refused, java=java)
add("add-spec", "name of its own column", updates=[add_spec(("id", "identity", 1, 1000))],
    changes={"partition-specs": plus("partition-specs", spec(("id", "identity", 1, 1000), spec_id=2))})
add("add-spec", "void without a column", updates=[add_spec(("gone", "void", 44, 1000))],
    changes={"partition-specs": plus("partition-specs", spec(("gone", "void", 44, 1000), spec_id=2))})
add("add-spec", "unknown transform", updates=[add_spec(("x", "zorder[3]", 1, 1000))],
    changes={"partition-specs": plus("partition-specs", spec(("x", "zorder[3]", 1, 1000), spec_id=2))},
    pyiceberg="forgets what it does not know")
add("add-spec", "transform in capitals", updates=[add_spec(("x", "BUCKET[8]", 1, 1000))],
    changes={"partition-specs": plus("partition-specs", spec(("x", "bucket[8]", 1, 1000), spec_id=2))})
for transform, column in (
        ("identity", "text"), ("identity", "flag"), ("identity", "s.in"), ("bucket[2]", "day"), ("bucket[2]", "dec"),
        ("bucket[2]", "u"), ("truncate[2]", "text"), ("truncate[2]", "bin"), ("truncate[2]", "dec"), ("year", "day"),
        ("month", "ts"), ("day", "ts"), ("hour", "ts"), ("void", "flag"), ("void", "l.element")):
    made = ("p", transform, COLUMNS[column], 1000)
    add("add-spec", f"{transform} of {column}", base="nested", updates=[add_spec(made), set_spec(-1)],
        changes={"partition-specs": plus("partition-specs", spec(made, spec_id=1)), "default-spec-id": 1,
                 "last-partition-id": 1000})
for transform, column, message in (
        ("identity", "s", "Cannot partition by non-primitive source field: struct<14: in: required int>"),
        ("identity", "l.element", "Invalid partition field parent: list<int>"),
        ("identity", "m.value", "Invalid partition field parent: map<string, int>"),
        ("bucket[2]", "flag", "Invalid source type boolean for transform: bucket[2]"),
        ("bucket[2]", "f", "Invalid source type float for transform: bucket[2]"),
        ("truncate[2]", "day", "Invalid source type date for transform: truncate[2]"),
        ("hour", "day", "Invalid source type date for transform: hour"),
        ("year", "n", "Invalid source type int for transform: year")):
    add("add-spec", f"{transform} of {column} cannot be", base="nested",
        updates=[add_spec(("p", transform, COLUMNS[column], 1000))], refused=validation(message),
        java=IN_OTHER_WORDS if "transform" in message else "")
add("add-spec", "the schema of that moment counts",
    updates=[add_schema(FOURTH), set_schema(-1), add_spec(("f", "bucket[4]", 4, 1000))],
    changes={"schemas": plus("schemas", FOURTH), "last-column-id": 4, "current-schema-id": 2,
             "partition-specs": plus("partition-specs", spec(("f", "bucket[4]", 4, 1000), spec_id=2))})
add("add-spec", "a later schema does not count",
    updates=[add_spec(("f", "bucket[4]", 4, 1000)), add_schema(FOURTH), set_schema(-1)],
    refused=validation("Cannot find source column for partition field: 1000: f: bucket[4](4)"))
MANY = {"name": "x", "transform": "bucket[4]", "source-ids": [1, 3], "field-id": 1000}
add("add-spec", "several columns", versions=(3,), updates=[{"action": "add-spec", "spec": {"fields": [MANY]}}],
    changes={"partition-specs": plus("partition-specs", {"spec-id": 2, "fields": [MANY]})},
    java="does not read source-ids yet", unread_java="the same", pyiceberg="the same")
TOO_EARLY = "Invalid partition field x: transforms of several columns need format version 3, the table has {} ({})"
TWO_COLUMNS = {"name": "x", "transform": "bucket[4]", "source-ids": [1, 2], "field-id": 1000}
for version in (1, 2):
    add("add-spec", f"several columns in v{version}", versions=(version,),
        updates=[{"action": "add-spec", "spec": {"fields": [TWO_COLUMNS]}}],
        refused=validation(TOO_EARLY.format(version, "/updates/0/spec/fields/0/source-ids")),
        java="does not read source-ids yet")
add("add-spec", "several columns before the upgrade", versions=(2,),
    updates=[{"action": "add-spec", "spec": {"fields": [TWO_COLUMNS]}},
             {"action": "upgrade-format-version", "format-version": 3}],
    refused=validation(TOO_EARLY.format(2, "/updates/0/spec/fields/0/source-ids")), java="does not read source-ids yet")
add("add-spec", "several columns after the upgrade", versions=(2,),
    updates=[{"action": "upgrade-format-version", "format-version": 3},
             {"action": "add-spec", "spec": {"fields": [TWO_COLUMNS]}}],
    changes={"format-version": 3, "next-row-id": 0,
             "partition-specs": plus("partition-specs", {"spec-id": 2, "fields": [TWO_COLUMNS]})},
    java="does not read source-ids yet", unread_java="the same", pyiceberg="the same")
add("add-spec", "empty transform", updates=[add_spec(("x", "", 1, 1000))], java="takes it for an unknown one",
    refused=malformed("Invalid partition spec: field 0 has no transform (/updates/0/spec/fields/0/transform)"))
add("add-spec", "no spec", updates=[{"action": "add-spec"}],
    refused=malformed("/updates/0/spec: required member is missing"))
add("add-spec", "no list of fields", updates=[{"action": "add-spec", "spec": {"spec-id": 0}}],
    refused=malformed("/updates/0/spec/fields: required member is missing"))
add("add-spec", "no transform", updates=[{"action": "add-spec", "spec": {
    "spec-id": 0, "fields": [{"name": "x", "source-id": 1, "field-id": 1000}]}}],
    refused=malformed("/updates/0/spec/fields/0/transform: required member is missing"))
add("add-spec", "no source", updates=[{"action": "add-spec", "spec": {
    "spec-id": 0, "fields": [{"name": "x", "transform": "identity", "field-id": 1000}]}}],
    refused=malformed("Invalid partition spec: field 0 has no source-id (/updates/0/spec/fields/0/source-id)"))

add("set-default-spec", "another", updates=[set_spec(0)], changes={"default-spec-id": 0})
add("set-default-spec", "the default one", updates=[set_spec(1)], changes={})
add("set-default-spec", "-1 after add-spec", updates=[add_spec(*TWO), set_spec(-1)],
    changes={"partition-specs": plus("partition-specs", spec(*TWO, spec_id=2)), "last-partition-id": 1001,
             "default-spec-id": 2})
add("set-default-spec", "-1 after one that was there", updates=[add_spec(), set_spec(-1)],
    changes={"default-spec-id": 0},
    java="knows no last spec then; clients that always send -1 mean the one they named")
add("set-default-spec", "-1 with nothing added", updates=[set_spec(-1)],
    refused=validation("Cannot set last added spec: no spec has been added"))
add("set-default-spec", "unknown", updates=[set_spec(7)], java="fails with a NullPointerException",
    refused=argument("Cannot set default partition spec to unknown spec: 7"))
add("set-default-spec", "negative", updates=[set_spec(-2)], java="fails with a NullPointerException",
    refused=argument("Cannot set default partition spec to unknown spec: -2"))
add("set-default-spec", "no id", updates=[{"action": "set-default-spec"}],
    refused=malformed("/updates/0/spec-id: required member is missing"))

add("remove-partition-specs", "an unused one", updates=[{"action": "remove-partition-specs", "spec-ids": [0]}],
    changes={"partition-specs": without("partition-specs", "spec-id", 0)})
add("remove-partition-specs", "unknown ones count", updates=[{"action": "remove-partition-specs", "spec-ids": [44]}],
    changes={"partition-specs": old("partition-specs")})
add("remove-partition-specs", "none", updates=[{"action": "remove-partition-specs", "spec-ids": []}], changes={})
add("remove-partition-specs", "the default one", updates=[{"action": "remove-partition-specs", "spec-ids": [1, 0]}],
    refused=argument("Cannot remove the default partition spec"))
add("remove-partition-specs", "no ids", updates=[{"action": "remove-partition-specs"}],
    refused=malformed("/updates/0/spec-ids: required member is missing"))

# --- sort orders -----------------------------------------------------------------------------------------


def add_order(*fields, order_id=1):
    return {"action": "add-sort-order", "sort-order": order(*fields, order_id=order_id)}


def set_order(number):
    return {"action": "set-default-sort-order", "sort-order-id": number}


BY_DATA = ("bucket[3]", 2, "desc", "nulls-last")
add("add-sort-order", "another", updates=[add_order(BY_DATA)],
    changes={"sort-orders": plus("sort-orders", order(BY_DATA, order_id=2))})
add("add-sort-order", "another order-id", updates=[add_order(BY_DATA, order_id=40)],
    changes={"sort-orders": plus("sort-orders", order(BY_DATA, order_id=2))})
add("add-sort-order", "no order-id", updates=[missing(add_order(BY_DATA), "sort-order", "order-id")],
    changes={"sort-orders": plus("sort-orders", order(BY_DATA, order_id=2))},
    java="its parser wants the number that it does not use")
add("add-sort-order", "the default one", updates=[add_order(BY_ID)], changes={})
add("add-sort-order", "the default one in capitals", updates=[add_order(("IDENTITY", 1, "ASC", "Nulls-First"))],
    changes={})
add("add-sort-order", "nulls elsewhere", updates=[add_order(("identity", 1, "asc", "nulls-last"))],
    changes={"sort-orders": plus("sort-orders", order(("identity", 1, "asc", "nulls-last"), order_id=2))})
add("add-sort-order", "unsorted", updates=[add_order(order_id=0)], changes={})
add("add-sort-order", "two fields", updates=[add_order(BY_ID, BY_DATA)],
    changes={"sort-orders": plus("sort-orders", order(BY_ID, BY_DATA, order_id=2))})
add("add-sort-order", "one column twice", updates=[add_order(BY_DATA, BY_DATA)],
    changes={"sort-orders": plus("sort-orders", order(BY_DATA, BY_DATA, order_id=2))})
add("add-sort-order", "unknown transform", updates=[add_order(("zorder", 1, "asc", "nulls-first"))],
    changes={"sort-orders": plus("sort-orders", order(("zorder", 1, "asc", "nulls-first"), order_id=2))},
    pyiceberg="forgets what it does not know")
add("add-sort-order", "element of a list", base="nested", updates=[add_order(("identity", 15, "asc", "nulls-first"))],
    changes={"sort-orders": plus("sort-orders", order(("identity", 15, "asc", "nulls-first")))})
for what, update, refused, java in (
        ("0 with fields", add_order(BY_ID, order_id=0), argument("Sort order ID 0 is reserved for unsorted order"), ""),
        ("1 without fields", add_order(order_id=1), argument("Unsorted order ID must be 0"), ""),
        ("no such column", add_order(("identity", 9, "asc", "nulls-first")),
         validation("Cannot find source column for sort field: identity(9) ASC NULLS FIRST"), ""),
        ("hour of a string", add_order(("hour", 2, "asc", "nulls-first")),
         validation("Invalid source type string for transform: hour"), IN_OTHER_WORDS)):
    add("add-sort-order", what, updates=[update], refused=refused, java=java)
add("add-sort-order", "a struct", base="nested", updates=[add_order(("identity", 2, "asc", "nulls-first"))],
    refused=validation("Cannot sort by non-primitive source field: struct<14: in: required int>"))
add("add-sort-order", "no order", updates=[{"action": "add-sort-order"}],
    refused=malformed("/updates/0/sort-order: required member is missing"))
add("add-sort-order", "direction unknown", updates=[add_order(("identity", 1, "up", "nulls-first"))],
    refused=malformed("/updates/0/sort-order/fields/0/direction: expected one of asc, desc, found \"up\""))
BY_TWO = {"transform": "bucket[4]", "source-ids": [1, 2], "direction": "asc", "null-order": "nulls-first"}
for version in (1, 2):
    add("add-sort-order", f"several columns in v{version}", versions=(version,),
        updates=[{"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [BY_TWO]}}],
        refused=validation("Invalid sort field 0: transforms of several columns need format version 3, the table has"
                           f" {version} (/updates/0/sort-order/fields/0/source-ids)"),
        java="does not read source-ids yet")
add("add-sort-order", "several columns", versions=(3,),
    updates=[{"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [BY_TWO]}}],
    changes={"sort-orders": plus("sort-orders", {"order-id": 2, "fields": [BY_TWO]})},
    java="does not read source-ids yet", unread_java="the same", pyiceberg="the same")
add("set-default-sort-order", "another", updates=[set_order(0)], changes={"default-sort-order-id": 0})
add("set-default-sort-order", "the default one", updates=[set_order(1)], changes={})
add("set-default-sort-order", "-1 after add-sort-order", updates=[add_order(BY_DATA), set_order(-1)],
    changes={"sort-orders": plus("sort-orders", order(BY_DATA, order_id=2)), "default-sort-order-id": 2})
add("set-default-sort-order", "-1 after one that was there", updates=[add_order(order_id=0), set_order(-1)],
    changes={"default-sort-order-id": 0},
    java="knows no last order then; clients that always send -1 mean the one they named")
add("set-default-sort-order", "-1 with nothing added", updates=[set_order(-1)],
    refused=validation("Cannot set last added sort order: no sort order has been added"))
add("set-default-sort-order", "unknown", updates=[set_order(7)], java="fails with a NullPointerException",
    refused=argument("Cannot set default sort order to unknown sort order: 7"))
add("set-default-sort-order", "no id", updates=[{"action": "set-default-sort-order"}],
    refused=malformed("/updates/0/sort-order-id: required member is missing"))

# --- snapshots -----------------------------------------------------------------------------------------------


def snapshot_row(what, *updates, main=None, **more):
    """A row whose updates add snapshots; what is stored is what was sent."""
    import matrix
    adds = [u for u in updates if callable(u)]

    def sent(g):
        if not hasattr(g, "sent"):
            g.sent = [matrix.resolved(u, g) for u in adds]
        return g.sent

    def stored(g):
        return g.base.get("snapshots", []) + [
            {k: v for k, v in u["snapshot"].items() if (k, v) not in (
                ("sequence-number", 0), ("parent-snapshot-id", -1)) and v is not None} for u in sent(g)]

    def history(g):
        last = sent(g)[-1]["snapshot"]
        return g.base["snapshot-log"] + [{"timestamp-ms": last["timestamp-ms"], "snapshot-id": last["snapshot-id"]}]

    in_order = [(lambda g, i=adds.index(u): sent(g)[i]) if callable(u) else u for u in updates]
    if "refused" not in more:
        changes = {"snapshots": stored} | more.pop("changes", {})
        if main:
            changes |= {"current-snapshot-id": main, "snapshot-log": history, "refs": lambda g: g.base["refs"] | {
                "main": {"snapshot-id": main, "type": "branch"}}}
        more["changes"] = changes
    add("add-snapshot", what, updates=in_order, **more)


def for_versions(what, *updates, sequence, rows, **more):
    """Rows for each version, whose counters differ."""
    for version in more.pop("versions", (1, 2, 3)):
        counters = [{}, {"last-sequence-number": sequence}, {"last-sequence-number": sequence, "next-row-id": rows}]
        snapshot_row(what, *updates, versions=(version,), changes=dict(counters[version - 1]), **more)


for_versions("append to main", snap(21, 4, 12, 15), set_ref("main", 21), main=21, sequence=4, rows=20)
for_versions("staged", snap(21, 4, 12, 15), sequence=4, rows=20)
for_versions("first of a table", snap(21, 1, None, 0), set_ref("main", 21), base="fresh", main=21, sequence=1, rows=5)
for_versions("without a parent", snap(21, 4, None, 15), set_ref("main", 21), main=21, sequence=4, rows=20)
for_versions("without a parent and the last number", snap(21, 3, None, 15), sequence=3, rows=20)
for_versions("parent null", snap(21, 4, None, 15, **{"parent-snapshot-id": None}), sequence=4, rows=20,
             java="does not read null")
for_versions("parent -1", snap(21, 4, -1, 15), sequence=4, rows=20,
             java="keeps -1 as a parent; some clients say so where there is none")
for_versions("parent unknown", snap(21, 4, 99, 15), sequence=4, rows=20)
for_versions("number that jumps", snap(21, 40, 12, 15), sequence=40, rows=20, versions=(2, 3))
for_versions("rows after a gap", snap(21, 4, 12, 100), sequence=4, rows=105, versions=(3,),
             java="adds the rows to next-row-id, which would then give the same ids twice")
for_versions("no rows", snap(21, 4, 12, 15, rows=0), sequence=4, rows=15, versions=(3,))
for_versions("a key", snap(21, 4, 12, 15, **{"key-id": "k1"}), sequence=4, rows=20, pyiceberg="does not know it")
for_versions("highest id", snap(2**63 - 1, 4, 12, 15), sequence=4, rows=20)
for_versions("negative id", snap(-7, 4, 12, 15), sequence=4, rows=20)
for_versions("only the last on main is history", snap(21, 4, 12, 15), set_ref("main", 21), snap(22, 5, 21, 20),
             set_ref("main", 22), main=22, sequence=5, rows=25)
for_versions("without a parent and a lower number", snap(21, 2, None, 15), sequence=3, rows=20, versions=(2, 3),
             java="lowers last-sequence-number and then fails; three concurrent replaces must all succeed")
snapshot_row("older number", snap(21, 3, 12, 15), versions=(2, 3), refused=retry(
    "Cannot add snapshot with sequence number 3 older than last sequence number 3"))
snapshot_row("number in v1", lambda g: {**snap(21, None, 12)(g)} | {"snapshot": {
    **snap(21, None, 12)(g)["snapshot"], "sequence-number": 1}}, versions=(1,), refused=validation(
        "Invalid snapshot with sequence number 1 greater than last sequence number 0"),
    java="does not read the number in v1")
snapshot_row("id that is there", snap(11, 4, 12, 15), refused=validation("Snapshot already exists for id: 11"))
snapshot_row("id -1", snap(-1, 4, 12, 15), refused=argument(
    "Invalid snapshot id: -1 (it means that there is no snapshot)"), java="takes -1, which means none elsewhere")
snapshot_row("negative number", snap(21, -1, 12, 15), versions=(2, 3), refused=argument(
    "Invalid sequence number (cannot be negative): -1"), java="finds it too low first")
snapshot_row("no first-row-id", snap(21, 4, 12, None), versions=(3,), refused=validation(
    "Cannot add a snapshot: first-row-id is null"))
snapshot_row("rows that are taken", snap(21, 4, 12, 14), versions=(3,), refused=retry(
    "Cannot add a snapshot, first-row-id is behind table next-row-id: 14 < 15"))
snapshot_row("negative first-row-id", snap(21, 4, 12, -5), versions=(3,), refused=argument(
    "Invalid first-row-id (cannot be negative): -5"))
snapshot_row("negative added-rows", snap(21, 4, 12, 15, rows=-5), versions=(3,), refused=argument(
    "Invalid added-rows (cannot be negative): -5"))
snapshot_row("no added-rows", snap(21, 4, 12, None, **{"first-row-id": 15}), versions=(3,), refused=argument(
    "Invalid added-rows (required when first-row-id is set): null"))
snapshot_row("too many rows", snap(21, 4, 12, 15, rows=2**63 - 1), versions=(3,), refused=argument(
    f"Invalid added-rows: {2**63 - 1} rows from row id 15 on exceed 64 bits"), java="lets next-row-id overflow")
snapshot_row("empty manifest-list", snap(21, 4, 12, 15, **{"manifest-list": ""}), refused=malformed(
    "Expected a text, found an empty one (/updates/0/snapshot/manifest-list)"), java="takes any text")
for member in ("snapshot-id", "timestamp-ms", "manifest-list", "summary"):
    snapshot_row(f"no {member}", lambda g, m=member: missing(snap(21, 4, 12, 15)(g), "snapshot", m),
                 refused=malformed(f"/updates/0/snapshot/{member}: required member is missing"),
                 java="reads snapshots without a summary or with embedded manifests" if member == "summary" else "")
snapshot_row("no operation", snap(21, 4, 12, 15, summary={"a": "b"}), refused=malformed(
    "/updates/0/snapshot/summary/operation: required member is missing"), java="reads it as overwrite, with a warning")
snapshot_row("unknown operation", snap(21, 4, 12, 15, summary={"operation": "x"}), refused=malformed(
    "/updates/0/snapshot/summary/operation: expected one of append, replace, overwrite, delete, found \"x\""),
    java="keeps any operation")


def ref(number, kind="branch", **more):
    return {"snapshot-id": number, "type": kind} | more


def refs(**more):
    return lambda g: {k: v for k, v in (g.base["refs"] | more).items() if v is not GONE}


KEEP = {"min-snapshots-to-keep": 2, "max-snapshot-age-ms": 3, "max-ref-age-ms": 4}
add("set-snapshot-ref", "new branch", updates=[set_ref("b2", 12)], changes={"refs": refs(b2=ref(12))})
add("set-snapshot-ref", "new branch with retention", updates=[set_ref("b2", 12, **KEEP)],
    changes={"refs": refs(b2=ref(12, **KEEP))})
add("set-snapshot-ref", "new tag with an age", updates=[set_ref("t2", 12, "tag", **{"max-ref-age-ms": 4})],
    changes={"refs": refs(t2=ref(12, "tag", **{"max-ref-age-ms": 4}))})
add("set-snapshot-ref", "type in capitals", updates=[set_ref("t2", 12, "TAG")], changes={"refs": refs(t2=ref(12, "tag"))})
add("set-snapshot-ref", "branch moves and loses its retention", updates=[set_ref("b1", 12)],
    changes={"refs": refs(b1=ref(12))})
add("set-snapshot-ref", "the same", updates=[lambda g: set_ref("b1", 11, **{
    k: v for k, v in g.base["refs"]["b1"].items() if k.startswith("m")})], changes={})
add("set-snapshot-ref", "main is there", updates=[set_ref("main", 12)], changes={})
add("set-snapshot-ref", "tag becomes a branch", updates=[set_ref("t1", 11)], changes={"refs": refs(t1=ref(11))})
add("set-snapshot-ref", "branch becomes a tag", updates=[set_ref("b1", 11, "tag")],
    changes={"refs": refs(b1=ref(11, "tag"))})
add("set-snapshot-ref", "main goes back", updates=[set_ref("main", 11)], changes={
    "refs": refs(main=ref(11)), "current-snapshot-id": 11, "snapshot-log": lambda g: g.base["snapshot-log"] + [
        {"timestamp-ms": g.got["last-updated-ms"], "snapshot-id": 11}]})
add("set-snapshot-ref", "main gets retention", updates=[set_ref("main", 12, **KEEP)], changes={
    "refs": refs(main=ref(12, **KEEP)), "snapshot-log": lambda g: g.base["snapshot-log"] + [
        {"timestamp-ms": g.got["last-updated-ms"], "snapshot-id": 12}]})
for what, update, refused in (
        ("unknown snapshot", set_ref("b2", 99), validation("Cannot set b2 to unknown snapshot: 99")),
        ("main to an unknown snapshot", set_ref("main", 99), validation("Cannot set main to unknown snapshot: 99")),
        ("main a tag", set_ref("main", 11, "tag"), validation("Cannot set main to a tag, it must be a branch")),
        ("tag with a number of snapshots", set_ref("t2", 11, "tag", **{"min-snapshots-to-keep": 1}),
         argument("Tags do not support setting minSnapshotsToKeep")),
        ("tag with an age of snapshots", set_ref("t2", 11, "tag", **{"max-snapshot-age-ms": 1}),
         argument("Tags do not support setting maxSnapshotAgeMs")),
        ("no snapshots to keep", set_ref("b2", 11, **{"min-snapshots-to-keep": 0}),
         argument("Min snapshots to keep must be greater than 0")),
        ("no age of snapshots", set_ref("b2", 11, **{"max-snapshot-age-ms": 0}),
         argument("Max snapshot age must be greater than 0 ms")),
        ("no age", set_ref("b2", 11, **{"max-ref-age-ms": -1}),
         argument("Max reference age must be greater than 0"))):
    add("set-snapshot-ref", what, updates=[update], refused=refused)
add("set-snapshot-ref", "unknown type", updates=[set_ref("b2", 11, "stem")],
    refused=malformed("/updates/0/type: expected one of branch, tag, found \"stem\""))
add("set-snapshot-ref", "empty name", updates=[set_ref("", 11)], java="takes a name that nobody can ask for",
    refused=malformed("A ref needs a name (/updates/0/ref-name)"))
for member in ("ref-name", "type", "snapshot-id"):
    add("set-snapshot-ref", f"no {member}", updates=[missing(set_ref("b2", 11), member)],
        refused=malformed(f"/updates/0/{member}: required member is missing"))


def remove_snapshots(*ids):
    return {"action": "remove-snapshots", "snapshot-ids": list(ids)}


add("remove-snapshots", "nobody's", updates=[remove_snapshots(13)],
    changes={"snapshots": without("snapshots", "snapshot-id", 13)})
add("remove-snapshots", "one with refs and statistics", updates=[remove_snapshots(11)], changes={
    "snapshots": without("snapshots", "snapshot-id", 11), "refs": refs(t1=GONE, b1=GONE), "statistics": [],
    "partition-statistics": [], "snapshot-log": lambda g: g.base["snapshot-log"][1:]})
add("remove-snapshots", "the current one", updates=[remove_snapshots(12)], changes={
    "snapshots": without("snapshots", "snapshot-id", 12), "refs": refs(main=GONE), "snapshot-log": [],
    "current-snapshot-id": by_version(v1=-1, v2=-1, v3=None)})
add("remove-snapshots", "all", updates=[remove_snapshots(11, 12, 13)], changes={
    "snapshots": [], "refs": {}, "snapshot-log": [], "statistics": [], "partition-statistics": [],
    "current-snapshot-id": by_version(v1=-1, v2=-1, v3=None)})
add("remove-snapshots", "known and unknown", updates=[remove_snapshots(77, 13)],
    changes={"snapshots": without("snapshots", "snapshot-id", 13)})
add("remove-snapshots", "unknown", updates=[remove_snapshots(77, 78)], changes={})
add("remove-snapshots", "none", updates=[remove_snapshots()], changes={})
add("remove-snapshots", "no ids", updates=[{"action": "remove-snapshots"}],
    refused=malformed("/updates/0/snapshot-ids: required member is missing"))
add("remove-snapshots", "after main went back", updates=[set_ref("main", 11), remove_snapshots(12)], changes={
    "snapshots": without("snapshots", "snapshot-id", 12), "refs": refs(main=ref(11)), "current-snapshot-id": 11,
    "snapshot-log": lambda g: [{"timestamp-ms": g.got["last-updated-ms"], "snapshot-id": 11}]})

add("remove-snapshot-ref", "branch", updates=[{"action": "remove-snapshot-ref", "ref-name": "b1"}],
    changes={"refs": refs(b1=GONE)})
add("remove-snapshot-ref", "tag", updates=[{"action": "remove-snapshot-ref", "ref-name": "t1"}],
    changes={"refs": refs(t1=GONE)})
add("remove-snapshot-ref", "main keeps the history", updates=[{"action": "remove-snapshot-ref", "ref-name": "main"}],
    changes={"refs": refs(main=GONE), "current-snapshot-id": by_version(v1=-1, v2=-1, v3=None)})
add("remove-snapshot-ref", "unknown", updates=[{"action": "remove-snapshot-ref", "ref-name": "nope"}], changes={})
add("remove-snapshot-ref", "no name", updates=[{"action": "remove-snapshot-ref"}],
    refused=malformed("/updates/0/ref-name: required member is missing"))

# --- location, properties ------------------------------------------------------------------------------------


def location(place):
    return {"action": "set-location", "location": place}


add("set-location", "another", updates=[location(lambda g: g.base["location"] + "-moved")],
    changes={"location": lambda g: g.base["location"] + "-moved"})
add("set-location", "another with a slash", updates=[location(lambda g: g.base["location"] + "-moved/")],
    changes={"location": lambda g: g.base["location"] + "-moved"})
add("set-location", "the same", updates=[location(old("location"))], changes={})
add("set-location", "the same with a slash", updates=[location(lambda g: g.base["location"] + "/")], changes={},
    java="compares before it strips the slash")
add("set-location", "empty", updates=[location("")], refused=argument("Invalid table location: it is empty (/updates/0/location)"),
    java="takes any text")
add("set-location", "no location", updates=[{"action": "set-location"}],
    refused=malformed("/updates/0/location: required member is missing"))
add("set-location", "null", updates=[location(None)],
    refused=malformed("/updates/0/location: expected a string, found null"))

add("set-properties", "new and old", updates=[set_properties(b="3", c="4")],
    changes={"properties": lambda g: g.base["properties"] | {"b": "3", "c": "4"}})
add("set-properties", "the same value", updates=[set_properties(a="1")], changes={"properties": old("properties")})
add("set-properties", "none", updates=[set_properties()], changes={})
add("set-properties", "the older name", updates=[{"action": "set-properties", "updated": {"c": "4"}}],
    changes={"properties": lambda g: g.base["properties"] | {"c": "4"}})
add("set-properties", "words of the table are no properties", updates=[set_properties(uuid="x")], changes={},
    java="leaves it to its clients to drop these")
add("set-properties", "null", updates=[set_properties(c=None)],
    refused=malformed("/updates/0/updates/c: expected a string, found null"))
add("set-properties", "a number", updates=[set_properties(c=1)],
    refused=malformed("/updates/0/updates/c: expected a string, found an integer"))
add("set-properties", "no map", updates=[{"action": "set-properties"}],
    refused=malformed("/updates/0/updates: required member is missing"))
add("set-properties", "a codec that nobody knows", updates=[{
    "action": "set-properties", "updates": {"write.metadata.compression-codec": "lzo"}}],
    refused=argument("Invalid codec name: lzo"), java="fails when it writes the file")


def remove_properties(*keys):
    return {"action": "remove-properties", "removals": list(keys)}


add("remove-properties", "known and unknown", updates=[remove_properties("a", "zz")],
    changes={"properties": lambda g: {k: v for k, v in g.base["properties"].items() if k != "a"}})
add("remove-properties", "unknown ones count", updates=[remove_properties("zz")],
    changes={"properties": old("properties")})
add("remove-properties", "none", updates=[remove_properties()], changes={})
add("remove-properties", "the older name", updates=[{"action": "remove-properties", "removed": ["a"]}],
    changes={"properties": lambda g: {k: v for k, v in g.base["properties"].items() if k != "a"}})
add("remove-properties", "a number", updates=[remove_properties(1)],
    refused=malformed("/updates/0/removals/0: expected a string, found an integer"))
add("remove-properties", "no list", updates=[{"action": "remove-properties"}],
    refused=malformed("/updates/0/removals: required member is missing"))

# --- statistics, keys -----------------------------------------------------------------------------------------


def set_statistics(entry, **more):
    return {"action": "set-statistics", "statistics": entry} | more


def set_partition_statistics(entry):
    return {"action": "set-partition-statistics", "partition-statistics": entry}


add("set-statistics", "of another snapshot", updates=[set_statistics(statistics(12))],
    changes={"statistics": plus("statistics", statistics(12))})
add("set-statistics", "in place of the old", updates=[set_statistics(statistics(11, "y.puffin"))],
    changes={"statistics": [statistics(11, "y.puffin")]})
add("set-statistics", "the same counts", updates=[set_statistics(statistics(11))],
    changes={"statistics": old("statistics")})
add("set-statistics", "of no snapshot", updates=[set_statistics(statistics(99))],
    changes={"statistics": plus("statistics", statistics(99))})
add("set-statistics", "snapshot-id twice", updates=[set_statistics(statistics(12), **{"snapshot-id": 12})],
    changes={"statistics": plus("statistics", statistics(12))})
add("set-statistics", "snapshot-ids that differ", updates=[set_statistics(statistics(12), **{"snapshot-id": 11})],
    refused=argument("Invalid set-statistics: snapshot-id 11 differs from the snapshot-id 12 of the statistics"
                     " (/updates/0/snapshot-id)"),
    java="does not read the one outside")
add("set-statistics", "no statistics", updates=[{"action": "set-statistics"}],
    refused=malformed("/updates/0/statistics: required member is missing"))
for member in statistics(1):
    add("set-statistics", f"no {member}", updates=[set_statistics(missing(statistics(12), member))],
        refused=malformed(f"/updates/0/statistics/{member}: required member is missing"))
for member in ("file-size-in-bytes", "file-footer-size-in-bytes"):
    add("set-statistics", f"negative {member}", updates=[set_statistics(statistics(12) | {member: -1})], refused=malformed(
        f"Expected a size, found -1 (/updates/0/statistics/{member})"), java="takes any number")
add("set-statistics", "empty path", updates=[set_statistics(statistics(12, ""))], refused=malformed(
    "Expected a text, found an empty one (/updates/0/statistics/statistics-path)"), java="takes any text")
add("remove-statistics", "known", updates=[{"action": "remove-statistics", "snapshot-id": 11}],
    changes={"statistics": []})
add("remove-statistics", "unknown", updates=[{"action": "remove-statistics", "snapshot-id": 12}], changes={})
add("remove-statistics", "no id", updates=[{"action": "remove-statistics"}],
    refused=malformed("/updates/0/snapshot-id: required member is missing"))
add("set-partition-statistics", "of another snapshot", updates=[set_partition_statistics(partition_statistics(12))],
    changes={"partition-statistics": plus("partition-statistics", partition_statistics(12))})
add("set-partition-statistics", "in place of the old",
    updates=[set_partition_statistics(partition_statistics(11, "q.parquet"))],
    changes={"partition-statistics": [partition_statistics(11, "q.parquet")]})
add("set-partition-statistics", "the same counts", updates=[set_partition_statistics(partition_statistics(11))],
    changes={"partition-statistics": old("partition-statistics")})
for member in partition_statistics(1):
    add("set-partition-statistics", f"no {member}",
        updates=[set_partition_statistics(missing(partition_statistics(12), member))],
        refused=malformed(f"/updates/0/partition-statistics/{member}: required member is missing"))
add("set-partition-statistics", "negative size",
    updates=[set_partition_statistics(partition_statistics(12) | {"file-size-in-bytes": -1})], refused=malformed(
        "Expected a size, found -1 (/updates/0/partition-statistics/file-size-in-bytes)"), java="takes any number")
add("set-partition-statistics", "empty path", updates=[set_partition_statistics(partition_statistics(12, ""))],
    refused=malformed("Expected a text, found an empty one (/updates/0/partition-statistics/statistics-path)"),
    java=IN_OTHER_WORDS)
add("remove-partition-statistics", "known", updates=[{"action": "remove-partition-statistics", "snapshot-id": 11}],
    changes={"partition-statistics": []})
add("remove-partition-statistics", "unknown", changes={},
    updates=[{"action": "remove-partition-statistics", "snapshot-id": 12}])
add("remove-partition-statistics", "no id", updates=[{"action": "remove-partition-statistics"}],
    refused=malformed("/updates/0/snapshot-id: required member is missing"))

KEY2 = KEY | {"key-id": "k2"}
add("add-encryption-key", "another", versions=(3,), updates=[{"action": "add-encryption-key", "encryption-key": KEY2}],
    changes={"encryption-keys": plus("encryption-keys", KEY2)})
add("add-encryption-key", "one that is there", versions=(3,), changes={}, updates=[{
    "action": "add-encryption-key", "encryption-key": KEY | {"encrypted-key-metadata": "b3RoZXI="}}])
for value in ("x!", "aGVsbG8", "aGVsbG8==", "aGVsb=8=", "aGV sbG8=", "a", ""):
    good = value == "aGVsbG8"
    key = KEY2 | {"encrypted-key-metadata": value}
    add("add-encryption-key", f"base64 {value}", versions=(3,), changes={
        "encryption-keys": plus("encryption-keys", key)} if good else None,
        updates=[{"action": "add-encryption-key", "encryption-key": key}],
        java="writes what it means, with equals signs" if good else "" if value else "takes no bytes for a key",
        unread_java="writes what it means, with equals signs" if good else "",
        refused=None if good else malformed(
            "Expected base64, found another text (/updates/0/encryption-key/encrypted-key-metadata)" if value else
            "Expected a text, found an empty one (/updates/0/encryption-key/encrypted-key-metadata)"))
for member in ("key-id", "encrypted-key-metadata"):
    add("add-encryption-key", f"no {member}",
        updates=[{"action": "add-encryption-key", "encryption-key": missing(KEY2, member)}],
        refused=malformed(f"/updates/0/encryption-key/{member}: required member is missing"))
add("remove-encryption-key", "known", versions=(3,), updates=[{"action": "remove-encryption-key", "key-id": "k1"}],
    changes={"encryption-keys": GONE})
add("remove-encryption-key", "unknown", updates=[{"action": "remove-encryption-key", "key-id": "k9"}], changes={})
add("remove-encryption-key", "no id", updates=[{"action": "remove-encryption-key"}],
    refused=malformed("/updates/0/key-id: required member is missing"))

# --- what is no update of a table ------------------------------------------------------------------------------

VERSION = view_version()
add("add-view-version", "on a table", updates=[{"action": "add-view-version", "view-version": VERSION}],
    refused=validation("Cannot apply update AddViewVersion to a table"),
    java="throws an UnsupportedOperationException")
add("set-current-view-version", "on a table", updates=[{"action": "set-current-view-version", "view-version-id": 1}],
    refused=validation("Cannot apply update SetCurrentViewVersion to a table"),
    java="throws an UnsupportedOperationException")
add("frobnicate", "unknown", updates=[set_properties(a="x"), {"action": "frobnicate"}], refused=malformed(
    "Cannot convert metadata update action to json: frobnicate (/updates/1/action)"))
add("action", "missing", updates=[{"schema-id": 1}],
    refused=malformed("Cannot parse metadata update. Missing field: action (/updates/0)"))
add("SET-CURRENT-SCHEMA", "in capitals", updates=[{"action": "SET-CURRENT-SCHEMA", "schema-id": 0}],
    changes={"current-schema-id": 0})
add("updates", "none", updates=[], changes={})
add("updates", "nothing of it when the last is wrong", updates=[set_properties(a="x"), set_schema(0), set_schema(9)],
    refused=argument("Cannot set current schema to unknown schema: 9"))

# --- a table comes into being -------------------------------------------------------------------------------------


def create(g):
    return create_updates(g.base, g.version)


def created(g):
    """What the staged answer promised, but for its property."""
    return {k: v for k, v in g.base.items() if k not in ("last-updated-ms", "metadata-log")} | {"metadata-log": []}


CREATE = [{"type": "assert-create"}]
add("assert-create", "no table yet", base="absent", requirements=CREATE, updates=create, changes=created)
add("assert-create", "next to another", base="absent", requirements=[*CREATE, assert_uuid(OTHER_UUID)], updates=create,
    refused=argument("Invalid create requirements: [assert-table-uuid]"), java="checks this outside of the library")
add("assert-create", "with a snapshot", base="absent", requirements=CREATE,
    updates=lambda g: [*create(g), snap(21, 1, None, 0)(g), set_ref("main", 21)],
    changes=lambda g: created(g) | by_version(v1={}, v2={"last-sequence-number": 1}, v3={
        "last-sequence-number": 1, "next-row-id": 5})(g) | {
        "current-snapshot-id": 21, "refs": {"main": ref(21)}, "snapshots": g.got["snapshots"],
        "snapshot-log": [{"timestamp-ms": g.got["snapshots"][0]["timestamp-ms"], "snapshot-id": 21}]})
for action, what in (("add-schema", "no schema was added"), ("add-spec", "no partition spec was added"),
                     ("add-sort-order", "no sort order was added"), ("set-location", "no location was set")):
    also = {"add-schema": "set-current-schema", "add-spec": "set-default-spec",
            "add-sort-order": "set-default-sort-order"}.get(action)
    add("assert-create", what, base="absent", requirements=CREATE,
        updates=lambda g, skip=(action, also): [
            u for u in create(g) if u["action"] not in skip and (
                "add-schema" not in skip or "schema" in u["action"] or u["action"] in ("assign-uuid", "set-location"))],
        refused=argument(f"Cannot create the table, the updates are incomplete: {what}"),
        java="fails in another way, or not at all")

# --- views -----------------------------------------------------------------------------------------------------

VIEW = {"base": "view", "versions": (1,)}
FREE = {"base": "free-view", "versions": (1,)}
BOTH = [representation(), representation("SELECT 2", "trino")]
SECOND = view_version(*BOTH, number=2)
TO_SECOND_VERSION = [{"action": "add-schema", "schema": MORE}, *replace_version(*BOTH, number=2)]


def view(subject, what, **more):
    add(subject, what, **VIEW | more)


def add_version(*representations, **more):
    return {"action": "add-view-version", "view-version": view_version(*representations, **more)}


def set_version(number):
    return {"action": "set-current-view-version", "view-version-id": number}


requirement("assert-view-uuid", "the same", uuid=old("view-uuid"), **VIEW)
requirement("assert-view-uuid", "in capitals", uuid=lambda g: g.base["view-uuid"].upper(), **VIEW)
view("assert-view-uuid", "another", requirements=[{"type": "assert-view-uuid", "uuid": OTHER_UUID}],
     updates=[set_properties(a="x")], refused=(409, "CommitFailedException", lambda g: (
         f"Requirement failed: view UUID does not match: expected {g.base['view-uuid']} != {OTHER_UUID}")))
requirement("assert-view-uuid", "no uuid", refused=malformed("/requirements/0/uuid: required member is missing"), **VIEW)
for kind, members, name in (
        ("assert-create", {}, "AssertTableDoesNotExist"), ("assert-table-uuid", {"uuid": "x"}, "AssertTableUUID"),
        ("assert-ref-snapshot-id", {"ref": "main", "snapshot-id": 1}, "AssertRefSnapshotID"),
        ("assert-last-assigned-field-id", {"last-assigned-field-id": 1}, "AssertLastAssignedFieldId"),
        ("assert-current-schema-id", {"current-schema-id": 0}, "AssertCurrentSchemaID"),
        ("assert-last-assigned-partition-id", {"last-assigned-partition-id": 1}, "AssertLastAssignedPartitionId"),
        ("assert-default-spec-id", {"default-spec-id": 1}, "AssertDefaultSpecID"),
        ("assert-default-sort-order-id", {"default-sort-order-id": 1}, "AssertDefaultSortOrderID")):
    view(kind, "on a view", requirements=[{"type": kind} | members], updates=[set_properties(a="x")],
         refused=validation(f"Cannot validate {name} against a view"))

view("assign-uuid", "the same", updates=[assign(old("view-uuid"))], changes={})
view("assign-uuid", "another", updates=[assign(OTHER_UUID)], refused=argument("Cannot reassign uuid"))
view("upgrade-format-version", "the same", updates=[upgrade(1)], changes={})
view("upgrade-format-version", "2", updates=[upgrade(2)], refused=argument(
    "Cannot upgrade view to unsupported format version: v2 (supported: v1)"), java="says this only when it builds")
view("upgrade-format-version", "0", updates=[upgrade(0)], refused=argument("Cannot downgrade v1 view to v0"))
view("add-schema", "another", updates=[add_schema(FOURTH)], changes={"schemas": plus("schemas", FOURTH)})
view("add-schema", "one that is there", updates=[add_schema(MORE)], changes={})
view("add-schema", "types of version 3", updates=[add_schema(schema_of(field(1, "v", "variant")))],
     changes={"schemas": plus("schemas", schema_of(field(1, "v", "variant")))}, pyiceberg="does not know the type yet")
view("add-schema", "two columns with an id", updates=[add_schema(schema_of(ID, field(1, "x")))],
     refused=argument(f"Invalid schema: multiple fields have the id 1: id and x ({FIELDS}/1/id)"), java=IN_OTHER_WORDS)
view("set-location", "another", java="keeps the slash of views", updates=[location(lambda g: g.base["location"] + "-moved/")],
     changes={"location": lambda g: g.base["location"] + "-moved"})
view("set-location", "the same", updates=[location(old("location"))], changes={})
view("set-location", "empty", updates=[location("")], refused=argument("Invalid view location: it is empty (/updates/0/location)"),
     java="takes any text")
view("set-properties", "new and old", updates=[set_properties(a="2", b="3")],
     changes={"properties": {"a": "2", "b": "3"}})
view("set-properties", "none", updates=[set_properties()], changes={})
view("set-properties", "null", updates=[set_properties(c=None)],
     refused=malformed("/updates/0/updates/c: expected a string, found null"))
view("set-properties", "no history", updates=[{
    "action": "set-properties", "updates": {"version.history.num-entries": "0"}}],
    refused=argument("version.history.num-entries must be positive but was 0"))
view("remove-properties", "all", updates=[remove_properties("a")], changes={"properties": GONE})
view("remove-properties", "none", updates=[remove_properties()], changes={})

THIRD_VERSION = view_version(*BOTH, representation("SELECT 3", "duckdb"), number=3)


def with_version(version, number=3):
    """The view with this version, made the current one."""
    return {"versions": plus("versions", version | {"version-id": number}), "current-version-id": number,
            "version-log": plus("version-log", {"timestamp-ms": version["timestamp-ms"], "version-id": number})}


def replaced(version, last=-1):
    return [{"action": "add-view-version", "view-version": version}, set_version(last)]


view("add-view-version", "not made current", updates=replaced(THIRD_VERSION)[:1],
     changes={"versions": plus("versions", THIRD_VERSION)})
view("add-view-version", "made current", updates=replaced(THIRD_VERSION), changes=with_version(THIRD_VERSION))
view("add-view-version", "number that is taken", updates=replaced(THIRD_VERSION | {"version-id": 2}),
     changes=with_version(THIRD_VERSION))
view("add-view-version", "number that skips", updates=replaced(THIRD_VERSION | {"version-id": 9}),
     changes=with_version(THIRD_VERSION, 9))
view("add-view-version", "with a catalog", updates=replaced(THIRD_VERSION | {"default-catalog": "c"}),
     changes=with_version(THIRD_VERSION | {"default-catalog": "c"}))
view("add-view-version", "one that is there", updates=[{"action": "add-view-version", "view-version": SECOND}],
     changes={})
view("add-view-version", "one that is there under another number and time", changes={}, updates=[
    {"action": "add-view-version", "view-version": SECOND | {"version-id": 7, "timestamp-ms": 1700000000009}}])
view("add-view-version", "another schema", updates=replaced(SECOND | {"schema-id": 1}),
     changes=with_version(SECOND | {"schema-id": 1}))
view("add-view-version", "schema -1", updates=[add_schema(FOURTH), *replaced(SECOND | {"schema-id": -1})],
     changes=with_version(SECOND | {"schema-id": 2}) | {"schemas": plus("schemas", FOURTH)})
view("add-view-version", "schema -1 with nothing added", updates=replaced(SECOND | {"schema-id": -1}),
     refused=validation("Cannot set last added schema: no schema has been added"))
view("add-view-version", "unknown schema", updates=replaced(SECOND | {"schema-id": 9}),
     refused=argument("Cannot add version with unknown schema: 9"))
view("add-view-version", "one dialect twice", updates=[add_version(representation("a", "Trino"),
                                                                   representation("b", "trino"))],
     refused=argument("Invalid view version: Cannot add multiple queries for dialect trino"))
view("add-view-version", "no SQL", updates=[add_version({"type": "text", "sql": "x", "dialect": "spark"})],
     refused=argument("Found unsupported view representations: [text]"), java="checks this outside of the library")
for member in VERSION:
    view("add-view-version", f"no {member}", updates=replaced(missing(THIRD_VERSION, member)),
         refused=malformed(f"/updates/0/view-version/{member}: required member is missing"))
view("set-current-view-version", "an older one", updates=[set_version(1)], refused=argument(
    "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
    "Previous dialects: [spark, trino]\nNew dialects: [spark]"), java="throws an IllegalStateException")
add("set-current-view-version", "an older one where dialects may go", **FREE, updates=[set_version(1)], changes={
    "current-version-id": 1, "version-log": lambda g: g.base["version-log"] + [
        {"timestamp-ms": g.got["version-log"][-1]["timestamp-ms"], "version-id": 1}]})
view("set-current-view-version", "the property comes with it", changes={
    "current-version-id": 1, "properties": lambda g: g.base["properties"] | {"replace.drop-dialect.allowed": "true"},
    "version-log": lambda g: g.base["version-log"] + [
        {"timestamp-ms": g.got["version-log"][-1]["timestamp-ms"], "version-id": 1}]},
    updates=[{"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "true"}}, set_version(1)])
view("set-current-view-version", "the current one", updates=[set_version(2)], changes={})
view("set-current-view-version", "-1 with nothing added", updates=[set_version(-1)],
     refused=validation("Cannot set last version id: no current version id has been set"))
view("set-current-view-version", "unknown", updates=[set_version(9)],
     refused=argument("Cannot set current version to unknown version: 9"))
view("set-current-view-version", "no id", updates=[{"action": "set-current-view-version"}],
     refused=malformed("/updates/0/view-version-id: required member is missing"))
add("add-view-version", "history is cut", base="short-view", versions=(1,), updates=replaced(THIRD_VERSION), changes={
    "versions": [THIRD_VERSION], "current-version-id": 3,
    "version-log": [{"timestamp-ms": THIRD_VERSION["timestamp-ms"], "version-id": 3}]})
for update, name in (
        (set_schema(0), "SetCurrentSchema"), (add_spec(), "AddPartitionSpec"), (set_spec(0), "SetDefaultPartitionSpec"),
        (add_order(order_id=0), "AddSortOrder"), (set_order(0), "SetDefaultSortOrder"),
        (lambda g: {"action": "add-snapshot", "snapshot": {
            "snapshot-id": 1, "timestamp-ms": 1, "manifest-list": "x", "summary": {"operation": "append"}}},
         "AddSnapshot"),
        (set_ref("main", 1), "SetSnapshotRef"), (remove_snapshots(1), "RemoveSnapshots"),
        ({"action": "remove-snapshot-ref", "ref-name": "x"}, "RemoveSnapshotRef"),
        (set_statistics(statistics(1)), "SetStatistics"),
        ({"action": "remove-statistics", "snapshot-id": 1}, "RemoveStatistics"),
        (set_partition_statistics(partition_statistics(1)), "SetPartitionStatistics"),
        ({"action": "remove-partition-statistics", "snapshot-id": 1}, "RemovePartitionStatistics"),
        ({"action": "remove-partition-specs", "spec-ids": [1]}, "RemovePartitionSpecs"),
        ({"action": "remove-schemas", "schema-ids": [1]}, "RemoveSchemas"),
        ({"action": "add-encryption-key", "encryption-key": KEY}, "AddEncryptionKey"),
        ({"action": "remove-encryption-key", "key-id": "k"}, "RemoveEncryptionKey")):
    action = update["action"] if isinstance(update, dict) else "add-snapshot"
    view(action, "on a view", updates=[update], refused=validation(f"Cannot apply update {name} to a view"),
         java="throws an UnsupportedOperationException")
