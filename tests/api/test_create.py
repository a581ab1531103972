"""createTable: ids, specs, orders, properties, locations, versions, and what is refused."""

import re

import pytest

from firn_client import field, now_ms, ns_path, order, simple, spec, struct
from firn_server import local_path

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def made(api, ns, schema=None, name="t", **members):
    return api.create(ns, name, schema, **members).ok().json["metadata"]


def test_first_metadata(api, ns):
    """Version 2, a random uuid, nothing but one schema, one spec and one order; a location of its own."""
    before = now_ms()
    answer = api.create(ns, "t").ok()
    m = answer.json["metadata"]
    assert m["format-version"] == 2
    assert UUID4.fullmatch(m["table-uuid"])
    assert m["location"] == f"{api.store.base}/{ns}/t-{m['table-uuid']}"
    assert m["last-sequence-number"] == 0
    assert before <= m["last-updated-ms"] <= now_ms()
    assert m["last-column-id"] == 2
    assert m["schemas"] == [simple()] and m["current-schema-id"] == 0
    assert m["partition-specs"] == [{"spec-id": 0, "fields": []}] and m["default-spec-id"] == 0
    assert m["last-partition-id"] == 999
    assert m["sort-orders"] == [{"order-id": 0, "fields": []}] and m["default-sort-order-id"] == 0
    assert m["properties"] == {"write.parquet.compression-codec": "zstd"}
    assert m.get("current-snapshot-id", -1) == -1
    assert m["refs"] == {}
    for member in ("snapshots", "statistics", "partition-statistics", "snapshot-log", "metadata-log"):
        assert m[member] == []
    assert "next-row-id" not in m and "encryption-keys" not in m and "schema" not in m
    assert answer.json["config"] == {}
    assert "storage-credentials" not in answer.json
    assert answer.etag


def test_created_table_is_loaded_and_listed(api, ns):
    """What create answers is what load answers."""
    created = api.create(ns, "t").ok()
    assert api.load(ns, "t").ok().json == created.json
    assert api.names(ns) == ["t"]
    assert api.exists(ns, "t")


def test_the_file_is_the_document_of_the_answer(api, ns):
    """The metadata file holds exactly the bytes of the answer's `metadata`; its number is 00000."""
    answer = api.create(ns, "t").ok()
    location = answer.json["metadata-location"]
    assert re.fullmatch(re.escape(answer.json["metadata"]["location"])
                        + r"/metadata/00000-[0-9a-f-]{36}\.metadata\.json", location)
    assert api.store.read(location) in answer.body


def test_unpartitioned_null_members(api, ns):
    """Optional members may be there with null; unknown members are ignored."""
    m = made(api, ns, location=None, partition_spec=None, write_order=None, stage_create=None, properties=None,
             new_member={"x": [1, 2]})
    assert m["partition-specs"] == [{"spec-id": 0, "fields": []}]


def test_field_ids_are_assigned_level_by_level(api, ns):
    """All direct fields first, then into each: element of the list, key and value, fields of the struct."""
    schema = struct(
        field(1, "id"), field(2, "data", "string"),
        field(3, "list", {"type": "list", "element-id": 30, "element": "string", "element-required": True}),
        field(4, "map", {"type": "map", "key-id": 40, "key": "string", "value-id": 41, "value": "int",
                         "value-required": False}),
        field(5, "struct", {"type": "struct", "fields": [field(50, "v", "string")]}))
    m = made(api, ns, schema)
    fields = m["schemas"][0]["fields"]
    assert [f["id"] for f in fields] == [1, 2, 3, 4, 5]
    assert fields[2]["type"]["element-id"] == 6
    assert (fields[3]["type"]["key-id"], fields[3]["type"]["value-id"]) == (7, 8)
    assert fields[4]["type"]["fields"][0]["id"] == 9
    assert m["last-column-id"] == 9


def test_requested_field_ids_are_discarded(api, ns):
    """Ids 3 and 4 in the request become 1 and 2; documentation, also beyond the basic plane, survives."""
    schema = struct(field(4, "id", "int", True, doc="unique ID \U0001f92a"), field(3, "data", "string"), schema_id=7)
    m = made(api, ns, schema)
    assert m["schemas"] == [struct(field(1, "id", "int", True, doc="unique ID \U0001f92a"),
                                   field(2, "data", "string"))]


def test_nested_ids_interleave_by_level(api, ns):
    """A struct inside a list inside a struct gets its ids when it is visited."""
    inner = {"type": "struct", "fields": [field(9, "x", "int"), field(8, "y", "int")]}
    schema = struct(
        field(7, "a", {"type": "struct", "fields": [
            field(6, "b", {"type": "list", "element-id": 5, "element": inner, "element-required": False}),
            field(4, "c", "int")]}),
        field(3, "d", "int"))
    m = made(api, ns, schema)
    a, d = m["schemas"][0]["fields"]
    b, c = a["type"]["fields"]
    assert [a["id"], d["id"], b["id"], c["id"], b["type"]["element-id"]] == [1, 2, 3, 4, 5]
    assert [f["id"] for f in b["type"]["element"]["fields"]] == [6, 7]
    assert m["last-column-id"] == 7


def test_identifier_fields_follow_their_columns(api, ns):
    """They are remapped by name, nested ones too."""
    schema = struct(
        field(10, "id", "int", True),
        field(11, "s", {"type": "struct", "fields": [field(12, "k", "string", True)]}, True),
        **{"identifier-field-ids": [12, 10]})
    m = made(api, ns, schema)
    assert sorted(m["schemas"][0]["identifier-field-ids"]) == [1, 3]


@pytest.mark.parametrize("numbers", [(None, None), (1000, 1001), (0, 0), (7, 5), (1001, 1000), (1000, None)])
def test_partition_field_ids_are_assigned(api, ns, numbers):
    """From 1000 on in order, whatever was sent; source ids are those of the request's schema."""
    schema = struct(field(3, "id"), field(4, "ts", "timestamp"))
    m = made(api, ns, schema, partition_spec=spec(
        ("id_bucket", "bucket[16]", 3, numbers[0]), ("ts_day", "day", 4, numbers[1]), spec_id=9))
    assert m["partition-specs"] == [spec(("id_bucket", "bucket[16]", 1, 1000), ("ts_day", "day", 2, 1001))]
    assert m["default-spec-id"] == 0 and m["last-partition-id"] == 1001


def test_partition_field_id_null(api, ns):
    """iceberg-rust writes `"field-id": null`."""
    m = made(api, ns, partition_spec={"spec-id": 0, "fields": [
        {"name": "id_b", "transform": "bucket[4]", "source-id": 1, "field-id": None}]})
    assert m["partition-specs"][0]["fields"][0]["field-id"] == 1000


def test_partition_spec_without_an_id(api, ns):
    """`spec-id` is assigned anyway."""
    made(api, ns, partition_spec={"fields": [{"name": "id", "transform": "identity", "source-id": 1}]})


def test_sort_order(api, ns):
    """A sorted table has order 1 and only that; its sources are remapped."""
    schema = struct(field(3, "id"), field(4, "data", "string"))
    m = made(api, ns, schema, write_order=order(("bucket[16]", 3, "desc", "nulls-last"),
                                                ("identity", 4, "asc", "nulls-first"), order_id=12))
    assert m["sort-orders"] == [order(("bucket[16]", 1, "desc", "nulls-last"), ("identity", 2, "asc", "nulls-first"))]
    assert m["default-sort-order-id"] == 1


def test_unsorted(api, ns):
    """No fields: order 0, whatever its id was."""
    m = made(api, ns, write_order={"order-id": 0, "fields": []})
    assert m["sort-orders"] == [{"order-id": 0, "fields": []}] and m["default-sort-order-id"] == 0


def test_sort_order_without_an_id(api, ns):
    """The id is assigned: stored metadata always has one."""
    m = made(api, ns, write_order={"fields": [
        {"transform": "identity", "source-id": 1, "direction": "ASC", "null-order": "NULLS-LAST"}]})
    assert m["sort-orders"] == [order(("identity", 1, "asc", "nulls-last"))]


def test_reserved_properties_are_consumed(api, ns):
    """`format-version` sets the version and is not stored, like the other reserved keys."""
    m = made(api, ns, properties={"format-version": "1", "uuid": "x", "snapshot-count": "1", "current-schema": "x",
                                  "default-partition-spec": "x", "default-sort-order": "x",
                                  "current-snapshot-id": "1", "current-snapshot-summary": "x",
                                  "current-snapshot-timestamp-ms": "1", "mine": "stays",
                                  "write.parquet.compression-codec": "gzip"})
    assert m["format-version"] == 1
    assert m["properties"] == {"mine": "stays", "write.parquet.compression-codec": "gzip"}


def test_v1_table(api, ns):
    """`schema` and `partition-spec` are written beside the lists; no sequence number."""
    m = made(api, ns, properties={"format-version": "1"}, partition_spec=spec(("id", "identity", 1, 1000)))
    assert m["schema"]["fields"] == simple()["fields"]
    assert m["partition-spec"] == spec(("id", "identity", 1, 1000))["fields"]
    assert m["schemas"] == [simple()] and m["partition-specs"] == [spec(("id", "identity", 1, 1000))]
    assert m.get("last-sequence-number", 0) == 0
    assert m.get("current-snapshot-id", -1) == -1


def test_v3_table(api, ns):
    """Rows are numbered from 0; no current snapshot is null or absent."""
    m = made(api, ns, properties={"format-version": "3"})
    assert m["format-version"] == 3 and m["next-row-id"] == 0
    assert m.get("current-snapshot-id") is None


@pytest.mark.parametrize("version", ["4", "0", "-1", "x", "", "2.0", "99999999999999999999"])
def test_unsupported_versions(api, ns, version):
    """Above the maximum or no number: 400, nothing made."""
    api.create(ns, "t", properties={"format-version": version}).fails(400)
    assert api.names(ns) == []


V1_TYPES = ["boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz", "string", "uuid",
            "binary", "fixed[16]", "fixed[1]", "decimal(9, 2)", "decimal(38, 38)", "decimal(1, 0)"]
V3_TYPES = ["timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geometry(OGC:CRS84)",
            "geometry(srid:3857)", "geography", "geography(OGC:CRS84, spherical)", "geography(EPSG:4326, karney)"]


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_all_primitive_types(api, ns, version):
    """Every type of the version, at the top and nested, comes back as it was written."""
    types = V1_TYPES + (V3_TYPES if version == "3" else [])
    fields = [field(i, f"c{i}", kind) for i, kind in enumerate(types, 1)]
    nested = field(900, "n", {"type": "map", "key-id": 901, "key": "string", "value-id": 902, "value": {
        "type": "list", "element-id": 903, "element-required": False,
        "element": {"type": "struct", "fields": [field(910 + i, f"d{i}", k) for i, k in enumerate(types)]}},
        "value-required": False})
    m = made(api, ns, struct(*fields, nested), properties={"format-version": version})
    got = m["schemas"][0]["fields"]
    assert [f["type"] for f in got[:-1]] == types
    inner = got[-1]["type"]["value"]["element"]["fields"]
    assert [f["type"] for f in inner] == types


@pytest.mark.parametrize("kind", V3_TYPES)
def test_types_of_version_3_in_a_version_2_table(api, ns, kind):
    """400, and the text names column, type and version."""
    word = kind.partition("(")[0]
    error = api.create(ns, "t", struct(field(1, "id"), field(2, "data", kind))).fails(400)
    assert error["message"].startswith("Invalid schema for v2:\n"), error
    assert f"- Invalid type for data: {word}" in error["message"], error
    assert "is not supported until v3" in error["message"]
    assert api.names(ns) == []


def test_all_problems_of_a_schema_are_listed(api, ns):
    """One answer for all columns that the version does not know."""
    error = api.create(ns, "t", struct(field(1, "a", "variant"), field(2, "b", "timestamp_ns"),
                                       field(3, "c", "int", **{"initial-default": 3}))).fails(400)
    for text in ("Invalid type for a: variant is not supported until v3",
                 "Invalid type for b: timestamp_ns is not supported until v3",
                 "Invalid initial default for c: non-null default (3) is not supported until v3"):
        assert text in error["message"], error


@pytest.mark.parametrize("kind", ["decimal(9,2)", "decimal( 9 , 2 )", "DECIMAL(9, 2)", "Long", "fixed[ 16 ]"])
def test_types_are_read_in_any_case_and_spacing(api, ns, kind):
    """Type words are compared without case, blanks inside do not matter."""
    assert made(api, ns, struct(field(1, "a", kind)))["last-column-id"] == 1


@pytest.mark.parametrize("kind", [
    "number", "", "decimal", "decimal(39, 2)", "decimal(0, 0)", "decimal(5, 6)", "decimal(9)", "fixed", "fixed[-1]",
    "fixed[x]", "varchar(10)", "list<int>", None, 1, [], {}, {"type": "struct"}, {"type": "list"},
    {"type": "list", "element-id": "2", "element": "int", "element-required": True},
    {"type": "map", "key-id": 2, "key": "int", "value-id": 3, "value-required": True},
    {"type": "set", "element": "int"}, {"type": "struct", "fields": {}}])
def test_wrong_types(api, ns, kind):
    """400 with the place; never 500."""
    error = api.create(ns, "t", struct(field(1, "col", kind))).fails(400)
    assert not error["message"].startswith("jansson"), error
    assert api.names(ns) == []


@pytest.mark.parametrize("schema", [
    None, [], "x", {}, {"type": "struct"}, {"type": "struct", "fields": None}, {"type": "struct", "fields": [1]},
    {"type": "list", "fields": []}, struct({"id": 1, "name": "a", "required": False}),
    struct({"id": 1, "type": "int", "required": True}),
    struct({"name": "a", "type": "int", "required": True}), struct(field("1", "a")), struct(field(1.5, "a")),
    struct(field(1, 1)), struct(field(1, "a", required="yes")), struct(field(2**31, "a")),
    struct(field(1, "a"), field(2, "a")), struct(field(1, "a"), field(1, "b")),
    struct(field(1, "a"), **{"identifier-field-ids": [2]}), struct(field(1, "a"), **{"identifier-field-ids": ["1"]}),
    struct(field(1, "a", "double", True), **{"identifier-field-ids": [1]}),
    struct(field(1, "a", "float", True), **{"identifier-field-ids": [1]}),
    struct(field(1, "a", "int", False), **{"identifier-field-ids": [1]}),
    struct(field(1, "l", {"type": "list", "element-id": 2, "element": "int", "element-required": True}, True),
           **{"identifier-field-ids": [2]}),
    struct(field(1, "s", {"type": "struct", "fields": [field(2, "k", "int", True)]}, False),
           **{"identifier-field-ids": [2]})])
def test_wrong_schemas(api, ns, schema):
    """Members missing or of the wrong type, names or ids twice, identifier fields that cannot be."""
    api.post(f"{ns_path(ns)}/tables", {"name": "t", "schema": schema}).fails(400)
    assert api.names(ns) == []


def test_required_left_out_is_optional(api, ns):
    """Fields, elements and values that do not say whether they are required are not; it is written out."""
    m = made(api, ns, struct({"id": 1, "name": "a", "type": "int "}, {"id": 2, "name": "l", "type": {
        "type": "list", "element-id": 3, "element": "int"}}))
    assert m["schemas"][0]["fields"] == [field(1, "a", "int"), field(2, "l", {
        "type": "list", "element-id": 3, "element": "int", "element-required": False})]


def test_empty_schema(api, ns):
    """A table may begin without columns."""
    assert made(api, ns, struct())["last-column-id"] == 0


@pytest.mark.parametrize("transform,kind", [
    ("identity", "string"), ("bucket[7]", "uuid"), ("bucket[1]", "decimal(9, 2)"), ("bucket[4]", "fixed[3]"),
    ("truncate[10]", "string"), ("truncate[3]", "decimal(9, 2)"), ("truncate[3]", "binary"), ("year", "date"),
    ("month", "timestamp"), ("day", "timestamptz"), ("hour", "timestamp"), ("void", "double"), ("identity", "double"),
    ("BUCKET[7]", "int"), ("Year", "date")])
def test_transforms(api, ns, transform, kind):
    """Transforms that go with the type of their source."""
    m = made(api, ns, struct(field(1, "c", kind)), partition_spec=spec(("p", transform, 1, None)))
    assert m["partition-specs"][0]["fields"][0]["transform"].lower() == transform.lower()


@pytest.mark.parametrize("transform,kind", [
    ("bucket[4]", "double"), ("bucket[4]", "boolean"), ("truncate[4]", "date"), ("truncate[4]", "uuid"),
    ("year", "int"), ("hour", "date"), ("hour", "string"), ("day", "time"), ("month", "long")])
def test_transforms_that_do_not_go_with_the_type(api, ns, transform, kind):
    """400 ValidationException, in partition specs and in sort orders."""
    schema = struct(field(1, "c", kind))
    error = api.create(ns, "t", schema, partition_spec=spec(("p", transform, 1, None))).fails(400)
    assert kind.partition("(")[0] in error["message"], error
    api.create(ns, "t", schema, write_order=order((transform, 1, "asc", "nulls-first"))).fails(400)
    assert api.names(ns) == []


NESTED = struct(
    field(1, "id"), field(2, "s", {"type": "struct", "fields": [field(3, "x", "int")]}),
    field(4, "l", {"type": "list", "element-id": 5, "element": "int", "element-required": True}))


SEVERAL = {
    "partition_spec": ({"fields": [{"name": "p", "transform": "bucket[4]", "source-ids": [1, 2]}]},
                       "Invalid partition field p", "/partition-spec/fields/0/source-ids"),
    "write_order": ({"order-id": 1, "fields": [{"transform": "bucket[4]", "source-ids": [1, 2], "direction": "asc",
                                                "null-order": "nulls-first"}]},
                    "Invalid sort field 0", "/write-order/fields/0/source-ids")}


@pytest.mark.parametrize("stage", [False, True], ids=["create", "staged"])
@pytest.mark.parametrize("part", SEVERAL)
def test_transforms_of_several_columns(api, ns, part, stage):
    """From v3 on; a list of one column is the old way in other words."""
    value, what, place = SEVERAL[part]
    for version in ("1", "2"):
        api.create(ns, "t", stage_create=stage, properties={"format-version": version}, **{part: value}).fails(
            400, "ValidationException", f"{what}: transforms of several columns need format version 3, the table has"
            f" {version} ({place})")
    one = {**value, "fields": [value["fields"][0] | {"source-ids": [1]}]}
    api.create(ns, "t1", stage_create=stage, properties={"format-version": "1"}, **{part: one}).ok()
    m = api.create(ns, "t3", stage_create=stage, properties={"format-version": "3"}, **{part: value}).ok().json["metadata"]
    kept = m["partition-specs" if part == "partition_spec" else "sort-orders"][0]
    assert kept["fields"][0]["source-ids"] == [1, 2]


@pytest.mark.parametrize("fields,text", [
    ([("id", "bucket[4]", 3, None)], "id"),  # the name of a column that is not the source
    ([("", "bucket[4]", 1, None)], "Cannot use empty partition name"),
    ([("p", "bucket[4]", 1, None), ("p", "truncate[4]", 1, None)], "Cannot use partition name more than once: p"),
    ([("p", "bucket[4]", 9, None)], "Cannot find source column for partition field"),
    ([("p", "identity", 2, None)], "Cannot partition by non-primitive source field"),
    ([("p", "identity", 5, None)], "Invalid partition field parent"),
    ([("p", "bucket[0]", 1, None)], None), ([("p", "bucket[x]", 1, None)], None),
    ([("p", "truncate[-1]", 1, None)], None)])
def test_wrong_partition_specs(api, ns, fields, text):
    """The checks of a spec against its schema, with their texts."""
    error = api.create(ns, "t", NESTED, partition_spec=spec(*fields)).fails(400)
    assert text is None or text in error["message"], error
    assert api.names(ns) == []


def test_partition_by_a_nested_field(api, ns):
    """A field of a struct may be a source."""
    m = made(api, ns, NESTED, partition_spec=spec(("x", "identity", 3, None)))
    assert m["partition-specs"][0]["fields"][0]["source-id"] == 4


def test_partition_field_may_have_the_name_of_its_own_source(api, ns):
    """With any transform, but only of its own source."""
    assert made(api, ns, partition_spec=spec(("id", "identity", 1, None)))
    assert made(api, ns, name="u", partition_spec=spec(("id", "bucket[4]", 1, None)))


@pytest.mark.parametrize("body", [
    {"order-id": 1, "fields": [{"transform": "identity", "source-id": 9, "direction": "asc", "null-order": "nulls-first"}]},
    {"order-id": 1, "fields": [{"transform": "identity", "source-id": 1, "direction": "up", "null-order": "nulls-first"}]},
    {"order-id": 1, "fields": [{"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "first"}]},
    {"order-id": 1, "fields": [{"transform": "identity", "source-id": "1", "direction": "asc", "null-order": "nulls-first"}]},
    {"order-id": 1, "fields": [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}]},
    {"order-id": 1, "fields": {}}, {"order-id": "1", "fields": []}, []])
def test_wrong_sort_orders(api, ns, body):
    """400; nothing is made."""
    api.create(ns, "t", NESTED, write_order=body).fails(400)
    assert api.names(ns) == []


def test_sorted_with_the_reserved_id(api, ns):
    """On create the id is assigned, so 0 with fields is either refused or becomes 1."""
    answer = api.create(ns, "t", write_order=order(("identity", 1, "asc", "nulls-first"), order_id=0)).expect(200, 400)
    assert answer.status == 400 or answer.json["metadata"]["sort-orders"][0]["order-id"] == 1


@pytest.mark.parametrize("body", [
    {}, {"name": "t"}, {"schema": simple()}, {"name": None, "schema": simple()}, {"name": 1, "schema": simple()},
    {"name": "t", "schema": simple(), "location": 1}, {"name": "t", "schema": simple(), "stage-create": "true"},
    {"name": "t", "schema": simple(), "properties": {"a": 1}}, {"name": "t", "schema": simple(), "properties": []},
    {"name": "t", "schema": simple(), "properties": {"a": None}}, {"name": "t", "schema": simple(), "partition-spec": []},
    {"name": "t", "schema": simple(), "write-order": "x"}])
def test_wrong_bodies(api, ns, body):
    """400 BadRequestException, before anything is looked up."""
    api.post(f"{ns_path(ns)}/tables", body).fails(400, "BadRequestException")
    api.post(f"{ns_path('non-existing')}/tables", body).fails(400, "BadRequestException")
    assert api.names(ns) == []


def test_missing_namespace(api):
    """404 NoSuchNamespaceException."""
    api.create("non-existing", "t").fails(404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")
    api.create(["a", "b"], "t").fails(404, "NoSuchNamespaceException", "Namespace does not exist: a.b")


def test_existing_table(api, ns):
    """409 AlreadyExistsException; no file is left behind by the loser."""
    api.table(ns, "t")
    files = api.store.list()
    api.create(ns, "t").fails(409, "AlreadyExistsException", f"Table already exists: {ns}.t")
    api.create(ns, "t", struct(field(1, "bad", "number"))).fails(409, "AlreadyExistsException")
    assert api.store.list() == files


@pytest.mark.parametrize("properties", [
    {"commit.retry.num-retries": "x"}, {"commit.retry.num-retries": "-1"}, {"commit.retry.min-wait-ms": "1.5"},
    {"commit.retry.max-wait-ms": ""}, {"commit.retry.total-timeout-ms": "1h"},
    {"write.metadata.metrics.column.nope": "full"}, {"write.metadata.compression-codec": "zip"}])
def test_properties_that_would_make_a_table_unreadable(api, ns, properties):
    """Retry settings are integers, metrics name existing columns, codecs are known ones."""
    api.create(ns, "t", properties=properties).fails(400)
    assert api.names(ns) == []


def test_properties_that_are_checked_and_right(api, ns):
    """The same keys with values that are right."""
    properties = {"commit.retry.num-retries": "0", "commit.retry.min-wait-ms": "100",
                  "write.metadata.metrics.column.id": "counts", "write.metadata.metrics.column.data": "truncate(3)",
                  "write.metadata.compression-codec": "NONE"}
    assert properties.items() <= made(api, ns, properties=properties)["properties"].items()


IN_LISTS = struct(
    field(1, "points", {"type": "list", "element-id": 2, "element-required": False, "element": {
        "type": "struct", "fields": [field(3, "x", "double"), field(4, "y.z", "double")]}}),
    field(5, "m", {"type": "map", "key-id": 6, "key": "string", "value-id": 7, "value-required": False, "value": {
        "type": "struct", "fields": [field(8, "l", {
            "type": "list", "element-id": 9, "element": "int", "element-required": False})]}}))


@pytest.mark.parametrize("column", ["points.element.x", "points.x", "points.y.z", "points", "points.element", "m.key",
                                    "m.value", "m.l", "m.l.element", "m.value.l.element"])
def test_metrics_of_nested_columns(api, ns, column):
    """By full name, or by the short one that Java's library knows for what lies in lists and maps."""
    made(api, ns, IN_LISTS, properties={f"write.metadata.metrics.column.{column}": "counts"})


@pytest.mark.parametrize("column", ["", "x", "element.x", "points.z", "points.x.y", "points.", "points.xx", "m.l.value",
                                    "m.key.l", "m.l.", "y.z", "m.element"])
def test_metrics_of_columns_that_are_not_there(api, ns, column):
    """What names no column stays refused."""
    api.create(ns, "t", IN_LISTS, properties={f"write.metadata.metrics.column.{column}": "counts"}).fails(
        400, "ValidationException", contains=f"could not find column {column} from table prop")


def test_unknown_codec_is_named(api, ns):
    """The text names the codec."""
    api.create(ns, "t", properties={"write.metadata.compression-codec": "lzo"}).fails(
        400, None, contains="Invalid codec name: lzo")


def test_default_values(api, ns):
    """v3: initial and write defaults survive, of every kind, digit for digit."""
    defaults = [
        ("boolean", True), ("int", 12), ("long", 9007199254740993), ("float", 1.5), ("double", -0.25),
        ("decimal(9, 2)", "14.20"), ("date", "2007-12-03"), ("time", "10:15:30.123456"),
        ("timestamp", "2007-12-03T10:15:30.123456"), ("timestamptz", "2007-12-03T10:15:30.123456+00:00"),
        ("timestamp_ns", "2017-11-16T22:31:08.123456789"), ("string", "it's \"x\" \U0001f92a"),
        ("uuid", "eb26bdb1-a1d8-4aa6-990e-da940875492c"), ("fixed[2]", "111F"), ("binary", "00010203")]
    fields = [field(i, f"c{i}", kind, **{"initial-default": value, "write-default": value})
              for i, (kind, value) in enumerate(defaults, 1)]
    m = made(api, ns, struct(*fields), properties={"format-version": "3"})
    assert m["schemas"][0]["fields"] == fields


def test_integers_as_defaults_of_floats(api, ns):
    """Writers that know one kind of number send 1 for 1.0; Java's library reads only the latter."""
    fields = [field(1, "a", "double", **{"initial-default": 1, "write-default": -2}),
              field(2, "b", "float", **{"initial-default": 0, "write-default": 2**53})]
    body = api.create(ns, "t", struct(*fields), properties={"format-version": "3"}).ok().body
    for text in (b'"initial-default":1.0', b'"write-default":-2.0', b'"initial-default":0.0',
                 b'"write-default":9007199254740992.0'):
        assert text in body, body


def test_write_default_in_version_2(api, ns):
    """Only the initial default needs version 3."""
    m = made(api, ns, struct(field(1, "a", "int", **{"write-default": 5})))
    assert m["schemas"][0]["fields"][0]["write-default"] == 5


def test_null_members_of_a_field_are_left_out(api, ns):
    """`"doc": null` is taken, and never written: typed readers fail on it."""
    answer = api.create(ns, "t", struct(field(1, "a", "int", doc=None, **{"initial-default": None}))).ok()
    assert answer.json["metadata"]["schemas"][0]["fields"] == [field(1, "a", "int")]
    assert b'"doc":null' not in answer.body


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"01", b"+1", b".5", b"0x10"])
def test_numbers_that_json_does_not_have(api, ns, text):
    """A bare NaN, an infinity, an overflow: 400."""
    body = (b'{"name":"t","properties":{"format-version":"3"},"schema":{"type":"struct","schema-id":0,"fields":'
            b'[{"id":1,"name":"a","type":"double","required":false,"write-default":' + text + b"}]}}")
    api.post(f"{ns_path(ns)}/tables", body).fails(400)


@pytest.mark.parametrize("members", [
    {"initial-default": "x"}, {"write-default": 1.5}, {"write-default": "NaN"}, {"write-default": True},
    {"initial-default": 2**31}, {"write-default": [1]}])
def test_defaults_of_the_wrong_kind(api, ns, members):
    """A default is a value of the column's type (int here); one that cannot be read back is refused."""
    api.create(ns, "t", struct(field(1, "a", "int", **members)), properties={"format-version": "3"}).fails(400)


@pytest.mark.parametrize("kind,value", [
    ("date", "2024-02-30"), ("date", "2024-1-1"), ("time", "25:00"), ("timestamp", "2024-01-01 10:00:00"),
    ("timestamp", "2024-01-01T10:00:00Z"), ("timestamptz", "2024-01-01T10:00:00"),
    ("timestamptz", "2024-01-01T10:00:00+02:00"), ("timestamp_ns", "0001-01-01T00:00:00"), ("float", 1e39)])
def test_defaults_that_are_no_value(api, ns, kind, value):
    """Of the right kind of JSON, but no day, time or number of the type: no reader would open the table."""
    error = api.create(ns, "t", struct(field(1, "a", kind, **{"write-default": value})),
                       properties={"format-version": "3"}).fails(400, "IllegalArgumentException")
    assert f"must be a value of type {kind}, found " in error["message"] and "write-default)" in error["message"]


def test_unknown_type_has_no_default(api, ns):
    """A column of type unknown is optional and its default is null."""
    v3 = {"format-version": "3"}
    api.create(ns, "t", struct(field(1, "a", "unknown", True)), properties=v3).fails(400)
    api.create(ns, "t", struct(field(1, "a", "unknown", **{"initial-default": 1})), properties=v3).fails(400)
    made(api, ns, struct(field(1, "a", "unknown")), properties=v3)


# --- locations ----------------------------------------------------------------


def test_requested_location_is_kept(api, ns):
    """A location inside the warehouse comes back as it was asked for."""
    place = f"{api.store.base}/own/{ns}"
    m = made(api, ns, location=place)
    assert m["location"] == place
    assert api.load(ns, "t").ok().json["metadata-location"].startswith(place + "/metadata/00000-")


@pytest.mark.parametrize("tail", ["/", "//", "///"])
def test_trailing_slashes_are_stripped(api, ns, tail):
    """Otherwise files would lie below `t//data`, where other tools do not look."""
    assert made(api, ns, location=f"{api.store.base}/{ns}/x{tail}")["location"] == f"{api.store.base}/{ns}/x"


def test_location_in_an_allowed_second_place(api, ns):
    """FIRN_ALLOWED_LOCATIONS names further places for clients."""
    place = f"{api.server.allowed}/{ns}/t"
    assert made(api, ns, location=place)["location"] == place


def test_locations_outside(api, ns):
    """Nothing outside the warehouse and the allowed places, whatever the spelling; nothing written."""
    base = api.store.base
    outside = [base + "2/t", base, base + "/", base.rpartition("/")[0] + "/t", base + "/../t", base + "/a/../../t",
               base + "/./t/..", "/tmp/t", "t", "", " ", "http://127.0.0.1/t", "gs://b/t", "s3://", "s3:///t",
               "s3://other-bucket/t", "file:///etc/t", "file:/etc/t", "file://host/etc/t", "FILE:///etc/t",
               "file:etc", base + "/t?x=1", base + "/a\0b", base + "/a\nb"]
    for place in outside:
        api.create(ns, "t", location=place).fails(400)
    assert api.names(ns) == []


def test_symbolic_links_lead_nowhere(api, ns, tmp_path):
    """On local files: a link inside the warehouse that points elsewhere is not followed, neither to write nor
    to read; nor does a file become a folder."""
    if api.store.kind != "file":
        return
    (tmp_path / "x.metadata.json").write_text("{}")
    (local_path(api.store.base) / f"link-{ns}").symlink_to(tmp_path)
    (local_path(api.store.base) / f"file-{ns}").write_text("x")
    for place in (f"link-{ns}/t", f"file-{ns}/t"):
        answer = api.create(ns, "t", location=f"{api.store.base}/{place}")
        assert answer.status in (400, 403), answer
    answer = api.register(ns, "t", f"{api.store.base}/link-{ns}/x.metadata.json")
    assert answer.status in (400, 403), answer
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.metadata.json"] and api.names(ns) == []


def test_location_of_a_live_table(api, ns):
    """Never shared, never one inside another: 409 AlreadyExistsException."""
    one = api.table(ns, "one", location=f"{api.store.base}/{ns}/a/b")
    for place in (one.location, one.location + "/", one.location + "/c", one.location + "/metadata",
                  f"{api.store.base}/{ns}/a"):
        api.create(ns, "two", location=place).fails(409, "AlreadyExistsException", contains="location")
    made(api, ns, name="three", location=one.location + "c")
    made(api, ns, name="four", location=f"{api.store.base}/{ns}/a/B")
    api.drop(ns, "one").expect(204)
    made(api, ns, name="five", location=one.location)


def test_location_is_never_used_twice(api, ns):
    """Drop and create again: another uuid and another place, so no writer mixes the two."""
    first = api.table(ns, "t")
    uuid, location = first.uuid, first.location
    api.drop(ns, "t").expect(204)
    second = api.table(ns, "t")
    assert second.uuid != uuid and second.location != location


def test_long_names_have_short_locations(api):
    """A location stays bearable for stores and engines, however deep and long the names."""
    levels = [api.new_name(), *["l" * 200] * 5]
    api.create_namespace(levels).ok()
    m = made(api, levels, name="t" * 250)
    assert len(m["location"]) <= len(api.store.base) + 220


def test_folders_for_clients_that_make_none(api, ns):
    """On local files `<location>/metadata` and `<location>/data` are made: DuckDB makes no folders."""
    if api.store.kind != "file":
        assert made(api, ns)["location"].startswith(api.store.base)
        return
    for staged in (False, True):
        m = made(api, ns, name=f"t{staged}", stage_create=staged)
        assert local_path(m["location"] + "/metadata").is_dir() and local_path(m["location"] + "/data").is_dir()


def test_wide_tables(api, ns):
    """2,000 columns, each documented."""
    fields = [field(i, f"column_{i}", "string", doc=f"the {i}th column") for i in range(1, 2001)]
    m = made(api, ns, struct(*fields))
    assert m["last-column-id"] == 2000 and m["schemas"][0]["fields"] == fields


def test_delegation_header_is_taken(api, ns):
    """Clients ask for credentials in a header; without vending there are none and no half sets."""
    answer = api.request("POST", f"{ns_path(ns)}/tables", {"name": "t", "schema": simple()},
                         {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}).ok()
    assert answer.json["config"] == {} and not answer.json.get("storage-credentials")
