"""Wide tables, long maps, many refs, deep and long names. Whatever a request may make, the next
process can read; whatever it may not is refused."""

import pytest

from firn_client import (Api, add_snapshot, assert_uuid, field, in_parallel, ns_path, order, set_properties, set_ref,
                         simple, spec, struct, table_path)
from firn_server import Server

COLUMNS = 10_000
PROPERTIES = 100_000
REFS = 1_000
CODEC = {"write.parquet.compression-codec": "zstd"}  # what every created table gets


def columns(n):
    return struct(*(field(i, f"column_{i}", "string", doc="what it holds") for i in range(1, n + 1)))


def evolve(n):
    return [{"action": "add-schema", "schema": columns(n)}, {"action": "set-current-schema", "schema-id": -1}]


def long_map(word="value"):
    return {f"a.property.of.some.length.{i}": f"{word} {i}" for i in range(PROPERTIES)}


def test_columns(api, memory):
    """10,000 columns: made, evolved, appended to, loaded."""
    ns = api.new_namespace()
    table = api.table(ns, schema=columns(COLUMNS))
    assert table.metadata["schemas"] == [columns(COLUMNS)]
    for n in range(COLUMNS + 1, COLUMNS + 4):
        found = table.apply(*evolve(n))
        assert found["last-column-id"] == n and len(found["schemas"]) == n - COLUMNS + 1
    assert table.apply(*evolve(COLUMNS + 1))["current-schema-id"] == 1  # known already
    table.append(1, 1)
    assert memory.peak() < 200


def test_partition_fields(api):
    """A field for each column, twice over: ids are kept, and nobody compares all with all."""
    ns = api.new_namespace()
    table = api.table(ns, schema=columns(COLUMNS))
    ids = {}
    for word in ("p", "q"):
        fields = [(f"{word}{i}", "bucket[16]", i, None) for i in range(1, COLUMNS + 1)]
        found = table.apply({"action": "add-spec", "spec": spec(*fields)},
                            {"action": "set-default-spec", "spec-id": -1})
        ids[word] = [f["field-id"] for f in found["partition-specs"][-1]["fields"]]
    assert ids["p"] == ids["q"] == [*range(1000, 1000 + COLUMNS)]
    found = table.apply({"action": "add-sort-order", "sort-order": order(
        *(("identity", i, "asc", "nulls-first") for i in range(1, COLUMNS + 1)))})
    assert len(found["sort-orders"][-1]["fields"]) == COLUMNS


def post(api, path, body):
    """Without a look at each of very many members by a schema."""
    return api.request("POST", path, body, check=False)


def test_properties_of_a_table(api, memory):
    """100,000 of them, in a create and in a commit; all replaced, all removed."""
    ns, first, second = api.new_namespace(), long_map(), long_map("other")
    made = post(api, f"{ns_path(ns)}/tables", {"name": "made", "schema": simple(), "properties": first}).ok().json
    assert made["metadata"]["properties"] == first | CODEC
    table = api.table(ns)

    def apply(action, **members):
        return post(api, table.path, {"updates": [{"action": action} | members]}).ok().json["metadata"]["properties"]

    for values in (first, second):
        assert apply("set-properties", updates=values) == values | CODEC
    assert apply("set-properties", updates={"one": "more"}) == second | CODEC | {"one": "more"}
    assert apply("remove-properties", removals=list(second)) == CODEC | {"one": "more"}
    assert memory.peak() < 200


def test_properties_of_a_namespace(api, memory):
    """The same for a namespace, and a table in it."""
    ns, first, second = api.new_name(), long_map(), long_map("other")
    made = post(api, "/v1/namespaces", {"namespace": [ns], "properties": first}).ok().json
    assert made["properties"] == first
    change = f"{ns_path(ns)}/properties"
    assert post(api, change, {"updates": second}).ok().json["updated"] == list(second)
    assert api.request("GET", ns_path(ns), check=False).ok().json["properties"] == second
    api.table(ns)
    assert post(api, change, {"removals": list(first)}).ok().json["removed"] == list(first)
    assert api.get(ns_path(ns)).ok().json["properties"] == {}
    assert memory.peak() < 200


def test_properties_of_a_namespace_that_all_change(api, memory):
    """Sixteen requests at once get in each other's way: each holds one try, however many it made."""
    ns = api.new_namespace({f"k{i}": "x" * 1_000_000 for i in range(2)})
    answers = in_parallel(16, lambda i: api.post(f"{ns_path(ns)}/properties", {"updates": {f"n{i}": ""}}))
    assert {a.status for a in answers} <= {200, 429}
    assert memory.peak() < 220


def test_refs(api):
    """1,000 branches, each at a snapshot of its own; moved, shown alone, removed."""
    ns = api.new_namespace()
    table = api.table(ns)
    numbers = range(1, REFS + 1)
    found = table.apply(*(u for i in numbers for u in (
        add_snapshot(i, i, location=table.location), set_ref(f"branch-{i}", i))))
    assert {n: r["snapshot-id"] for n, r in found["refs"].items()} == {f"branch-{i}": i for i in numbers}
    found = table.apply(*(set_ref(f"branch-{i}", REFS + 1 - i) for i in numbers))
    assert found["refs"][f"branch-{REFS}"]["snapshot-id"] == 1
    table.apply(*({"action": "remove-snapshot-ref", "ref-name": f"branch-{i}"} for i in range(2, REFS)))
    shown = table.load("?snapshots=refs").ok().json["metadata"]["snapshots"]
    assert [s["snapshot-id"] for s in shown] == [1, REFS]


def test_many_updates(api):
    """10,000 updates of one kind in a request look things up, they do not search."""
    ns, n = api.new_namespace(), 10_000
    table = api.table(ns)
    table.apply(*(add_snapshot(i, i, location=table.location) for i in range(1, n + 1)))
    table.apply(*(set_ref(f"b{i}", i) for i in range(1, n + 1)))
    table.apply(*({"action": "set-partition-statistics", "partition-statistics": {
        "snapshot-id": i, "statistics-path": f"{table.location}/s{i}", "file-size-in-bytes": 1}}
        for i in range(1, n + 1)))
    found = table.apply(*({"action": "remove-snapshots", "snapshot-ids": [i]} for i in range(2, n + 1)))
    assert len(found["snapshots"]) == len(found["refs"]) == len(found["partition-statistics"]) == 1


def test_files_in_many_folders(api, memory):
    """Thousands of files in a table that has as many folders for files as one may: each folder is read once."""
    ns, n, files = api.new_namespace(), 100, 20_000
    folder = f"{api.store.base}/{ns}-folders/of some length to be compared with others".replace(" ", "-")
    table = api.table(ns, properties={f"write.of-{i}.path": f"{folder}/{i:04}" for i in range(n)})
    memory.begin()
    table.apply(*({"action": "set-partition-statistics", "partition-statistics": {
        "snapshot-id": i, "statistics-path": f"{folder}/{n - 1:04}/{i}", "file-size-in-bytes": 1}} for i in range(files)))
    assert memory.peak() < 100


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [["a"] * 1024, ["é" * 127] * 8, ["n" * 255] * 8], ids=["deep", "two bytes", "long"])
def test_names_at_the_limits(api, levels):
    """2,048 bytes of levels, 255 of a name, in every operation."""
    name, other = "é" * 127, "x" * 255
    api.create_namespace(levels).ok()
    assert api.get(ns_path(levels)).ok().json["namespace"] == levels
    api.table(levels, name).apply(set_properties(a="b"))
    assert api.names(levels) == [name]
    api.rename((levels, name), (levels, other)).expect(204)
    api.load(levels, other).ok()
    api.create_namespace([*levels, "b" * 255]).fails(400, "BadRequestException")
    api.create(levels, "x" * 256).fails(400, "BadRequestException")
    api.drop(levels, other).expect(204)
    while levels:
        api.delete(ns_path(levels)).expect(204)
        levels = levels[:-1] if len(levels) <= 8 else None  # one by one where there are few


def test_many_namespaces(api):
    """2,000 below one, listed whole and by pages."""
    parent, n = api.new_namespace(), 2_000
    names = [f"n{i:04}" for i in range(n)]
    for name in names:
        api.create_namespace([parent, name]).ok()
    listed = api.list_namespaces(f"?parent={parent}").ok().json["namespaces"]
    assert listed == [[parent, name] for name in names]
    found, token = [], ""
    while token is not None:
        page = api.list_namespaces(f"?parent={parent}&pageToken={token}&pageSize=300").ok().json
        assert len(page["namespaces"]) <= 300
        found, token = found + page["namespaces"], page.get("next-page-token")
    assert found == listed
    api.delete(ns_path(parent)).fails(409, "NamespaceNotEmptyException", contains=f"{n} namespace(s)")


# --- nothing is written that cannot be read ------------------------------------------------


def test_more_properties_than_can_be_read():
    """Three requests bring 300,000: the third is refused, and the table can be read from its file."""
    with Server() as firn:
        api = Api(firn)
        table = api.table(api.new_namespace())
        for word in ("a", "b", "c"):
            values = {f"{word}{i}": "" for i in range(99_999)}
            answer = post(api, table.path, {"updates": [{"action": "set-properties", "updates": values}]})
        answer.fails(400, "IllegalArgumentException", contains="200000")
        firn.restart()
        found = api.request("GET", table.path, check=False).ok().json["metadata"]["properties"]
        assert len(found) == 2 * 99_999 + 1
        post(api, table.path, {"updates": [add_snapshot(1, 1, location=table.location), set_ref("main", 1)]}).ok()


def test_larger_metadata_than_can_be_read():
    """FIRN_METADATA_LIMIT holds for what is written too."""
    with Server(env={"FIRN_METADATA_LIMIT": "1m"}) as firn:
        api = Api(firn)
        table = api.table(api.new_namespace())
        uuid = table.uuid
        for i in range(4):
            answer = table.commit(set_properties(**{f"p{i}": "x" * 300_000}), requirements=[assert_uuid(uuid)])
        answer.fails(400, "IllegalArgumentException", contains="FIRN_METADATA_LIMIT")
        firn.restart()
        assert [k for k in table.metadata["properties"] if len(k) == 2] == ["p0", "p1", "p2"]
        table.append(1, 1)
        ns = table.ns
        api.create(ns, "large", simple(), properties={f"p{i}": "x" * 300_000 for i in range(4)}).fails(400)
        assert api.names(ns) == [table.name]


def test_larger_limits_hold():
    """Beyond the defaults, for bodies and for files."""
    with Server(env={"FIRN_BODY_LIMIT": "100m", "FIRN_METADATA_LIMIT": "400m"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        values = {f"p{i}": "x" * 1_000_000 for i in range(40)}
        path = table_path(ns, "t")
        api.create(ns, "t", simple()).ok()
        post(api, path, {"updates": [{"action": "set-properties", "updates": values}]}).ok()
        firn.restart()
        assert values.items() <= api.request("GET", path, check=False).ok().json["metadata"]["properties"].items()
