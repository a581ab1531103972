"""PyIceberg's story: everything that this client does through the catalog, on real tables. With --vended it knows
nothing of the store but what the catalog tells. With --signed it has no keys either: the catalog signs the requests
of some steps, which one thread must send (PYICEBERG_MAX_WORKERS=1), because PyIceberg changes the signer that all
threads and tables share whenever a thread opens a table."""

import concurrent.futures
import datetime
import json
import logging
import multiprocessing
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

import pyarrow as pa  # noqa: E402
from firn_server import Server, delegating, tells_of_store  # noqa: E402
from pyiceberg.catalog import load_catalog  # noqa: E402
from pyiceberg.exceptions import (  # noqa: E402
    CommitFailedException, NamespaceAlreadyExistsError, NamespaceNotEmptyError, NoSuchNamespaceError,
    NoSuchTableError, RESTError, TableAlreadyExistsError)
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual  # noqa: E402
from pyiceberg.partitioning import PartitionField, PartitionSpec  # noqa: E402
from pyiceberg.schema import Schema  # noqa: E402
from pyiceberg.table.snapshots import Operation  # noqa: E402
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder  # noqa: E402
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile  # noqa: E402
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform  # noqa: E402
from pyiceberg.types import (  # noqa: E402
    DecimalType, DoubleType, IntegerType, ListType, LongType, MapType, NestedField, StringType,
    StructType, TimestampType)
from steps import raises, step, tell  # noqa: E402

WRITERS, APPENDS = 4, 6


def connect(url, settings):
    """A catalog of its own; the client is told of the store unless the server hands out credentials."""
    names = {"FIRN_S3_ENDPOINT": "s3.endpoint", "FIRN_S3_REGION": "s3.region",
             "FIRN_S3_ACCESS_KEY_ID": "s3.access-key-id", "FIRN_S3_SECRET_ACCESS_KEY": "s3.secret-access-key"}
    store = {names[name]: value for name, value in settings.items() if name in names}
    return load_catalog("firn", **{"type": "rest", "uri": url, "warehouse": "main", **store})


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.store = firn.store
        self.told = {} if tells_of_store(firn) else firn.store.settings
        self.catalog = connect(firn.url, self.told)
        self.number = 0

    def ns(self):
        self.number += 1
        name = f"ns{self.number}"
        self.catalog.create_namespace(name)
        return name

    def events(self, rows=4, **options):
        """A table of simple events in a namespace of its own."""
        table = self.catalog.create_table((self.ns(), "events"), EVENTS, **options)
        if rows:
            table.append(events(0, rows))
        return table

    def file(self, table):
        """The metadata file of a table, read from the store."""
        return json.loads(self.store.read(table.metadata_location))

    def again(self, table):
        return self.catalog.load_table(table.name())


EVENTS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "kind", StringType()),
    NestedField(3, "at", TimestampType()),
    NestedField(4, "n", IntegerType()))
ARROW = pa.schema([pa.field("id", pa.int64(), nullable=False), ("kind", pa.string()),
                   ("at", pa.timestamp("us")), ("n", pa.int32())])
DAY = datetime.datetime(2024, 5, 1)


def events(first, count, kind=None):
    numbers = range(first, first + count)
    return pa.table({"id": list(numbers), "kind": [kind or f"k{i % 2}" for i in numbers],
                     "at": [DAY + datetime.timedelta(hours=13 * i) for i in numbers],
                     "n": [i * 10 for i in numbers]}, schema=ARROW)


def ids(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


# --- namespaces -------------------------------------------------------------------


@step()
def namespaces(s):
    """namespaces: create, properties, list, exists, drop"""
    c = s.catalog
    c.create_namespace("sales", {"owner": "ada", "note": "ünï"})
    assert ("sales",) in c.list_namespaces()
    assert c.namespace_exists("sales") and not c.namespace_exists("absent")
    raises(NamespaceAlreadyExistsError, c.create_namespace, "sales")
    done = c.update_namespace_properties("sales", removals={"owner", "never"}, updates={"tier": "1"})
    assert (done.removed, done.updated, done.missing) == (["owner"], ["tier"], ["never"])
    properties = c.load_namespace_properties("sales")
    assert properties.get("note") == "ünï" and properties.get("tier") == "1" and "owner" not in properties
    raises(NoSuchNamespaceError, c.load_namespace_properties, "absent")
    c.drop_namespace("sales")
    raises(NoSuchNamespaceError, c.drop_namespace, "sales")
    assert ("sales",) not in c.list_namespaces()


@step()
def nested_namespaces(s):
    """nested namespaces: list by parent, tables inside, not empty"""
    c = s.catalog
    c.create_namespace("a")
    c.create_namespace(("a", "b"))
    c.create_namespace(("a", "b", "c"), {"depth": "3"})
    assert c.list_namespaces().count(("a",)) == 1 and ("a", "b") not in c.list_namespaces()
    assert c.list_namespaces("a") == [("a", "b")]
    assert c.list_namespaces(("a", "b")) == [("a", "b", "c")]
    c.create_table(("a", "b", "c", "deep"), EVENTS).append(events(0, 2))
    assert c.list_tables(("a", "b", "c")) == [("a", "b", "c", "deep")] and c.list_tables("a") == []
    assert ids(c.load_table(("a", "b", "c", "deep")).scan()) == [0, 1]
    for name in ("a", ("a", "b"), ("a", "b", "c")):
        raises(NamespaceNotEmptyError, c.drop_namespace, name)
    c.drop_table(("a", "b", "c", "deep"))
    for name in (("a", "b", "c"), ("a", "b"), "a"):
        c.drop_namespace(name)
    assert not c.namespace_exists("a")


@step("signed")
def names(s):
    """names of every kind: dots, blanks, slashes, percent, emoji"""
    c = s.catalog
    for name in ("with.dot", "two words", "sl/ash", "100%", "a+b", "é€😀", "q?x=1#y", "Case", "case"):
        c.create_namespace((name,))
        assert (name,) in c.list_namespaces(), name
        table = c.create_table((name, name), EVENTS)
        table.append(events(0, 3))
        assert c.list_tables((name,)) == [(name, name)]
        assert ids(c.load_table((name, name)).scan()) == [0, 1, 2], name
        c.rename_table((name, name), (name, name + " 2"))
        assert c.table_exists((name, name + " 2")) and not c.table_exists((name, name))
        c.drop_table((name, name + " 2"))
        c.drop_namespace((name,))


# --- create, write, read ------------------------------------------------------------


@step("signed")
def create(s):
    """create with partition, sort order, nested types and properties; the file says the same"""
    ns = s.ns()
    schema = Schema(
        NestedField(1, "id", LongType(), required=True, doc="key 😀"),
        NestedField(2, "at", TimestampType(), required=True),
        NestedField(3, "tags", ListType(4, StringType(), element_required=True)),
        NestedField(5, "attrs", MapType(6, StringType(), 7, DoubleType())),
        NestedField(8, "place", StructType(NestedField(9, "lat", DoubleType()),
                                           NestedField(10, "lon", DoubleType(), required=True))),
        NestedField(11, "price", DecimalType(12, 2)), identifier_field_ids=[1])
    spec = PartitionSpec(PartitionField(2, 1000, DayTransform(), "day"),
                         PartitionField(1, 1001, BucketTransform(4), "id_bucket"))
    order = SortOrder(SortField(2, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST))
    t = s.catalog.create_table((ns, "full"), schema, partition_spec=spec, sort_order=order,
                               properties={"made-by": "story"})
    m = s.file(t)
    assert m["table-uuid"] == str(t.metadata.table_uuid) and m["format-version"] == 2
    assert m["location"] == t.location() and t.location().startswith(s.store.base)
    assert m["last-column-id"] == 11 and m["last-partition-id"] == 1001
    assert [(f["name"], f["transform"]) for f in m["partition-specs"][0]["fields"]] == [
        ("day", "day"), ("id_bucket", "bucket[4]")]
    assert m["sort-orders"][-1]["fields"] == [
        {"source-id": 2, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}]
    assert m["properties"]["made-by"] == "story" and m["snapshots"] == []
    assert t.schema().column_names == schema.column_names and t.schema().identifier_field_names() == {"id"}
    assert t.schema().find_field("id").doc == "key 😀" and t.schema().find_field("place.lon").required
    t.append(pa.Table.from_pylist([
        {"id": i, "at": DAY + datetime.timedelta(days=i % 3), "tags": ["x", str(i)], "attrs": {"a": i / 2},
         "place": {"lat": None, "lon": float(i)}, "price": None} for i in range(20)], schema=t.schema().as_arrow()))
    assert ids(t.scan(row_filter="at >= '2024-05-02T00:00:00'")) == [i for i in range(20) if i % 3]
    assert {f.file.partition[0] for f in t.scan().plan_files()} == {19844, 19845, 19846}
    raises(TableAlreadyExistsError, s.catalog.create_table, (ns, "full"), schema)
    assert s.catalog.create_table_if_not_exists((ns, "full"), schema).metadata.table_uuid == t.metadata.table_uuid
    raises(NoSuchNamespaceError, s.catalog.create_table, ("absent", "full"), schema)
    raises(NoSuchTableError, s.catalog.load_table, (ns, "absent"))


@step()
def format_versions(s):
    """format versions 1, 2 and 3; a table is raised from 1 to 2"""
    ns = s.ns()
    for version in "123":
        t = s.catalog.create_table((ns, f"v{version}"), EVENTS, properties={"format-version": version})
        assert t.format_version == int(version) == s.file(t)["format-version"]
        assert "format-version" not in t.properties
    t = s.catalog.load_table((ns, "v1"))
    t.append(events(0, 2))
    assert "schema" in s.file(t) and t.current_snapshot().sequence_number in (None, 0)
    with t.transaction() as change:
        change.upgrade_table_version(2)
    t.append(events(2, 2))
    assert s.file(t)["format-version"] == 2 and t.last_sequence_number == 1 and "schema" not in s.file(t)
    assert ids(s.again(t).scan()) == [0, 1, 2, 3]


@step("signed")
def append(s):
    """append: rows, snapshots, summary, metadata log"""
    t = s.events(rows=0)
    files = [t.metadata_location]
    for i in range(3):
        t.append(events(i * 5, 5), snapshot_properties={"batch": str(i)})
        files.append(t.metadata_location)
    t = s.again(t)
    m = s.file(t)
    assert ids(t.scan()) == list(range(15)) and t.scan().count() == 15
    assert [x.summary["batch"] for x in t.snapshots()] == ["0", "1", "2"]
    assert [x.parent_snapshot_id for x in t.snapshots()][1:] == [x.snapshot_id for x in t.snapshots()][:-1]
    assert t.current_snapshot().summary["total-records"] == "15" and m["last-sequence-number"] == 3
    assert [entry["metadata-file"] for entry in m["metadata-log"]] == files[:-1]
    assert len(set(files)) == 4 and all(s.store.exists(file) for file in files)
    assert [e["snapshot-id"] for e in m["snapshot-log"]] == [x.snapshot_id for x in t.snapshots()]
    assert m["refs"]["main"]["snapshot-id"] == m["current-snapshot-id"] == t.current_snapshot().snapshot_id


@step("signed")
def rewrite(s):
    """overwrite, overwrite by filter, delete, dynamic overwrite, upsert"""
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))
    t = s.events(10, partition_spec=spec)
    t.delete(EqualTo("id", 3))
    assert ids(t.scan()) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    t.delete("kind = 'k1'")
    assert ids(t.scan()) == [0, 2, 4, 6, 8] and t.current_snapshot().summary.operation == Operation.DELETE
    t.overwrite(events(100, 2, "k0"), overwrite_filter=GreaterThanOrEqual("id", 6))
    assert ids(t.scan()) == [0, 2, 4, 100, 101]
    t.append(events(50, 1, "other"))
    t.dynamic_partition_overwrite(events(200, 2, "k0"))
    assert ids(t.scan()) == [50, 200, 201]
    done = t.upsert(events(201, 2, "k0").set_column(3, ARROW.field("n"), pa.array([-1, -2], pa.int32())),
                    join_cols=["id"])
    assert (done.rows_updated, done.rows_inserted) == (1, 1)
    rows = {r["id"]: r["n"] for r in s.again(t).scan().to_arrow().to_pylist()}
    assert rows == {50: 500, 200: 2000, 201: -1, 202: -2}
    t.overwrite(events(0, 1))
    assert ids(s.again(t).scan()) == [0]


@step("signed")
def time_travel(s):
    """time travel by snapshot, by time, incremental"""
    t = s.events(2)
    first = t.current_snapshot()
    time.sleep(0.01)
    t.append(events(2, 2))
    second = t.current_snapshot()
    time.sleep(0.01)
    t.delete("id = 0")
    t = s.again(t)
    assert ids(t.scan()) == [1, 2, 3]
    assert ids(t.scan(snapshot_id=first.snapshot_id)) == [0, 1]
    assert ids(t.scan(snapshot_id=second.snapshot_id)) == [0, 1, 2, 3]
    assert t.snapshot_as_of_timestamp(second.timestamp_ms).snapshot_id == second.snapshot_id
    assert t.snapshot_as_of_timestamp(second.timestamp_ms, inclusive=False).snapshot_id == first.snapshot_id
    assert t.snapshot_as_of_timestamp(first.timestamp_ms - 1) is None
    assert [entry.snapshot_id for entry in t.history()][:2] == [first.snapshot_id, second.snapshot_id]
    added = t.incremental_append_scan(from_snapshot_id_exclusive=first.snapshot_id,
                                      to_snapshot_id_inclusive=second.snapshot_id)
    assert ids(added) == [2, 3]


@step()
def metadata_tables(s):
    """metadata tables"""
    t = s.events(4)
    t.append(events(4, 4))
    t = s.again(t)
    look = t.inspect
    assert look.snapshots().num_rows == 2 and look.history().num_rows == 2 and look.refs().num_rows == 1
    assert look.files().num_rows == 2 and look.manifests().num_rows == 2 and look.entries().num_rows == 2
    log = look.metadata_log_entries().to_pylist()
    assert len(log) == 3 and log[-1]["file"] == t.metadata_location
    assert log[-1]["latest_snapshot_id"] == t.current_snapshot().snapshot_id


# --- evolution ----------------------------------------------------------------------


@step()
def schema_evolution(s):
    """schema evolution: add, rename, widen, reorder, nested, drop; old snapshots keep theirs"""
    t = s.events(2)
    old = t.current_snapshot().snapshot_id
    with t.update_schema() as change:
        change.add_column("note", StringType(), doc="free text")
        change.add_column("place", StructType(NestedField(0, "lat", DoubleType())))
        change.rename_column("kind", "sort")
        change.update_column("n", field_type=LongType())
        change.move_first("note")
        change.make_column_optional("id")
    with t.update_schema() as change:
        change.add_column(("place", "lon"), DoubleType())
        change.delete_column("at")
    t = s.again(t)
    m = s.file(t)
    assert [f.name for f in t.schema().fields] == ["note", "id", "sort", "n", "place"]
    assert len(m["schemas"]) == 3 and m["current-schema-id"] == 2 and m["last-column-id"] == 8
    assert t.schema().find_field("place.lon").field_id == 8 and t.schema().find_field("sort").field_id == 2
    assert not t.schema().find_field("id").required and t.schema().find_type("n") == LongType()
    t.append(pa.Table.from_pylist([{"note": "hi", "id": 9, "sort": "s", "n": 2**40, "place": {"lat": 1.0, "lon": 2.0}}],
                                  schema=t.schema().as_arrow()))
    rows = sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows[0] == {"note": None, "id": 0, "sort": "k0", "n": 0, "place": None}
    assert rows[2]["n"] == 2**40 and rows[2]["place"] == {"lat": 1.0, "lon": 2.0}
    assert t.scan(snapshot_id=old).to_arrow().schema.names == ["id", "kind", "at", "n"]
    with t.update_schema() as change:
        change.union_by_name(Schema(NestedField(1, "extra", StringType())))
    assert s.file(t)["current-schema-id"] == 3
    with t.update_schema() as change:
        change.delete_column("extra")
    assert s.file(t)["current-schema-id"] == 2, "a schema that was there before is found again"


@step("signed")
def partition_evolution(s):
    """partition evolution: add, rename, remove; files of every spec are read"""
    t = s.events(4)
    with t.update_spec() as change:
        change.add_field("at", DayTransform(), "day")
    t.append(events(4, 4))
    with t.update_spec() as change:
        change.rename_field("day", "the_day")
        change.add_field("id", BucketTransform(2), "b")
    t.append(events(8, 4))
    with t.update_spec() as change:
        change.remove_field("the_day")
    t.append(events(12, 4))
    t = s.again(t)
    m = s.file(t)
    assert [spec["spec-id"] for spec in m["partition-specs"]] == [0, 1, 2, 3] and m["default-spec-id"] == 3
    assert m["last-partition-id"] == 1001
    assert [f["name"] for f in m["partition-specs"][2]["fields"]] == ["the_day", "b"]
    assert {task.file.spec_id for task in t.scan().plan_files()} == {0, 1, 2, 3}
    assert ids(t.scan()) == list(range(16))
    assert ids(t.scan(row_filter="at < '2024-05-03T00:00:00'")) == [0, 1, 2, 3]


@step()
def sort_order(s):
    """sort order: replaced, found again"""
    t = s.events(0)
    with t.update_sort_order() as change:
        change.asc("kind", IdentityTransform()).desc("id", IdentityTransform())
    assert t.sort_order().order_id == 1 and len(t.sort_order().fields) == 2
    t.append(events(0, 3))
    m = s.file(s.again(t))
    assert m["default-sort-order-id"] == 1 and [o["order-id"] for o in m["sort-orders"]] == [0, 1]


@step()
def properties(s):
    """table properties: set, replace, remove"""
    t = s.events(0)
    with t.transaction() as change:
        change.set_properties({"a": "1", "b": "2", "long": "x" * 5000})
    with t.transaction() as change:
        change.set_properties(a="3")
        change.remove_properties("b")
    t = s.again(t)
    assert t.properties["a"] == "3" and "b" not in t.properties and len(t.properties["long"]) == 5000


@step()
def gzip_metadata(s):
    """gzip metadata: written when the property asks, read by everybody"""
    t = s.events(2, properties={"write.metadata.compression-codec": "gzip"})
    assert t.metadata_location.endswith(".gz.metadata.json")
    assert s.store.read(t.metadata_location)[:2] == b"\x1f\x8b"
    t.append(events(2, 2))
    assert ids(s.again(t).scan()) == [0, 1, 2, 3]


@step()
def statistics(s):
    """statistics files: set and removed"""
    t = s.events(2)
    snapshot = t.current_snapshot().snapshot_id
    blob = BlobMetadata(type="apache-datasketches-theta-v1", snapshot_id=snapshot, sequence_number=1, fields=[1],
                        properties={"ndv": "2"})
    one = StatisticsFile(snapshot_id=snapshot, statistics_path=t.location() + "/metadata/s.puffin",
                         file_size_in_bytes=42, file_footer_size_in_bytes=20, blob_metadata=[blob])
    with t.update_statistics() as change:
        change.set_statistics(one)
    assert s.again(t).metadata.statistics == [one]
    with t.update_statistics() as change:
        change.remove_statistics(snapshot)
    assert s.again(t).metadata.statistics == []


# --- refs and snapshots -----------------------------------------------------------


@step()
def branches(s):
    """branches and tags: create, write to, read, remove"""
    t = s.events(2)
    first = t.current_snapshot().snapshot_id
    t.manage_snapshots().create_tag(first, "release", max_ref_age_ms=86400000).create_branch(first, "audit").commit()
    t.append(events(2, 2), branch="audit")
    t.append(events(10, 1))
    t = s.again(t)
    assert ids(t.scan()) == [0, 1, 10] and ids(t.scan().use_ref("audit")) == [0, 1, 2, 3]
    assert ids(t.scan().use_ref("release")) == [0, 1]
    assert s.file(t)["refs"]["release"] == {"snapshot-id": first, "type": "tag", "max-ref-age-ms": 86400000}
    t.manage_snapshots().remove_tag("release").remove_branch("audit").commit()
    assert set(s.again(t).refs()) == {"main"}


@step()
def rollback(s):
    """rollback and set_current_snapshot"""
    t = s.events(2)
    first = t.current_snapshot().snapshot_id
    t.append(events(2, 2))
    second = t.current_snapshot().snapshot_id
    t.manage_snapshots().rollback_to_snapshot(first).commit()
    t = s.again(t)
    assert ids(t.scan()) == [0, 1] and len(t.snapshots()) == 2
    t.manage_snapshots().set_current_snapshot(second).commit()
    t = s.again(t)
    assert ids(t.scan()) == [0, 1, 2, 3]
    assert [entry.snapshot_id for entry in t.history()] == [first, second, first, second]
    t.manage_snapshots().set_current_snapshot(second).commit()
    assert s.again(t).metadata_location == t.metadata_location, "nothing changed: no new file"


@step("signed")
def expire(s):
    """expire snapshots"""
    t = s.events(1)
    for i in range(1, 5):
        t.append(events(i, 1))
    every = [x.snapshot_id for x in t.snapshots()]
    t.maintenance.expire_snapshots().by_ids(every[:2]).commit()
    t = s.again(t)
    assert [x.snapshot_id for x in t.snapshots()] == every[2:] and ids(t.scan()) == [0, 1, 2, 3, 4]
    assert [e["snapshot-id"] for e in s.file(t)["snapshot-log"]] == every[2:]
    t.maintenance.expire_snapshots().older_than(datetime.datetime.now() + datetime.timedelta(days=1)).commit()
    assert [x.snapshot_id for x in s.again(t).snapshots()] == every[-1:], "the head of main stays"


@step("signed")
def transaction(s):
    """a transaction: schema, spec, properties and data in one commit"""
    t = s.events(2)
    with t.transaction() as change:
        with change.update_schema() as schema:
            schema.add_column("extra", StringType())
        change.set_properties(done="yes")
        change.append(pa.table({"id": pa.array([7], pa.int64()), "extra": ["x"]}, schema=pa.schema(
            [pa.field("id", pa.int64(), nullable=False), ("extra", pa.string())])))
        with change.update_spec() as spec:
            spec.add_identity("kind")
    t = s.again(t)
    m = s.file(t)
    assert ids(t.scan()) == [0, 1, 7] and t.properties["done"] == "yes" and m["default-spec-id"] == 1
    assert len(m["metadata-log"]) == 2, "create, append, and one commit for all"
    try:
        with t.transaction() as change:
            change.set_properties(never="seen")
            raise KeyError("changed my mind")
    except KeyError:
        pass
    assert "never" not in s.again(t).properties


# --- names of tables ------------------------------------------------------------------


@step()
def rename(s):
    """rename, also to another namespace; taken and missing names"""
    t = s.events(2)
    ns, other = t.name()[0], s.ns()
    c = s.catalog
    moved = c.rename_table((ns, "events"), (other, "moved"))
    assert moved.metadata.table_uuid == t.metadata.table_uuid and moved.metadata_location == t.metadata_location
    assert c.list_tables(ns) == [] and c.list_tables(other) == [(other, "moved")]
    moved.append(events(2, 1))
    assert ids(c.load_table((other, "moved")).scan()) == [0, 1, 2]
    c.create_table((ns, "events"), EVENTS).append(events(50, 1))
    raises(TableAlreadyExistsError, c.rename_table, (other, "moved"), (ns, "events"))
    raises(NoSuchTableError, c.rename_table, (ns, "absent"), (ns, "x"))
    raises(NoSuchNamespaceError, c.rename_table, (other, "moved"), ("absent", "x"))
    assert ids(c.load_table((ns, "events")).scan()) == [50], "a new table of the old name stands apart"
    assert ids(c.load_table((other, "moved")).scan()) == [0, 1, 2]


@step("signed")
def drop_and_register(s):
    """drop keeps the files; register brings the table back with its history"""
    t = s.events(2)
    t.append(events(2, 2))
    c, ns = s.catalog, t.name()[0]
    c.drop_table(t.name())
    assert not c.table_exists(t.name()) and s.store.exists(t.metadata_location)
    raises(NoSuchTableError, c.drop_table, t.name())
    back = c.register_table((ns, "back"), t.metadata_location)
    assert back.metadata == t.metadata and back.metadata_location == t.metadata_location
    raises(TableAlreadyExistsError, c.register_table, (ns, "back"), t.metadata_location)
    back.append(events(4, 1))
    assert ids(c.load_table((ns, "back")).scan()) == [0, 1, 2, 3, 4]
    error = raises(RESTError, c.register_table, (ns, "lost"), t.location() + "/metadata/absent.metadata.json")
    assert "absent.metadata.json" in str(error)
    assert not c.table_exists((ns, "lost"))


@step()
def purge(s):
    """purge: the name is free at once"""
    t = s.events(2)
    s.catalog.purge_table(t.name())
    assert not s.catalog.table_exists(t.name())
    again = s.catalog.create_table(t.name(), EVENTS)
    again.append(events(9, 1))
    assert again.metadata.table_uuid != t.metadata.table_uuid and ids(s.again(again).scan()) == [9]


@step("signed")
def staged_create(s):
    """staged create: nothing is seen before the commit, one of two wins"""
    ns = s.ns()
    c = s.catalog
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))
    with c.create_table_transaction((ns, "made"), EVENTS, partition_spec=spec, properties={"p": "1"}) as change:
        change.append(events(0, 4))
        with change.update_schema() as schema:
            schema.add_column("late", StringType())
        assert not c.table_exists((ns, "made")) and c.list_tables(ns) == []
    t = c.load_table((ns, "made"))
    assert ids(t.scan()) == [0, 1, 2, 3] and t.properties["p"] == "1" and "late" in t.schema().column_names
    assert s.file(t)["metadata-log"] == [] and len(t.snapshots()) == 1
    one = c.create_table_transaction((ns, "raced"), EVENTS)
    two = c.create_table_transaction((ns, "raced"), EVENTS)
    one.append(events(0, 1))
    two.append(events(5, 1))
    one.commit_transaction()
    raises((CommitFailedException, TableAlreadyExistsError), two.commit_transaction)
    assert ids(c.load_table((ns, "raced")).scan()) == [0]
    c.create_table_transaction((ns, "never"), EVENTS)
    assert not c.table_exists((ns, "never"))


# --- several at once ------------------------------------------------------------------


@step()
def stale_commits(s):
    """stale handles: a conflict is told, what does not conflict goes through"""
    t = s.events(1)
    one, two = s.again(t), s.again(t)
    one.append(events(1, 1))
    with two.transaction() as change:
        change.set_properties(by="two")
    assert s.again(t).properties["by"] == "two" and ids(s.again(t).scan()) == [0, 1]
    one, two = s.again(t), s.again(t)
    with one.update_schema() as change:
        change.add_column("x", StringType())
    with raises_in(CommitFailedException):
        with two.update_schema() as change:
            change.add_column("y", StringType())
    assert s.again(t).schema().column_names[-1] == "x"


class raises_in:
    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        pass

    def __exit__(self, kind, value, trace):
        assert kind and issubclass(kind, self.kind), f"{self.kind.__name__} was expected, {kind} came"
        return True


def write_some(url, settings, name, writer):
    """One appender: reloads and tries again after each conflict; returns how often it lost."""
    catalog = connect(url, settings)
    lost = 0
    for i in range(APPENDS):
        while True:
            table = catalog.load_table(name)
            try:
                table.append(events(writer * 1000 + i * 10, 10), snapshot_properties={"writer": str(writer)})
                break
            except CommitFailedException:
                lost += 1
                assert lost < 1000
    return lost


def appenders(s, pool):
    t = s.events(0, properties={"commit.retry.num-retries": "2", "commit.retry.min-wait-ms": "5",
                                "commit.retry.max-wait-ms": "50"})
    work = [pool.submit(write_some, s.firn.url, s.told, t.name(), writer) for writer in range(WRITERS)]
    lost = sum(job.result(timeout=300) for job in work)
    t = s.again(t)
    snapshots = t.snapshots()
    assert len(snapshots) == WRITERS * APPENDS, f"{len(snapshots)} snapshots, {lost} conflicts"
    assert ids(t.scan()) == sorted(w * 1000 + i for w in range(WRITERS) for i in range(APPENDS * 10))
    assert [x.parent_snapshot_id for x in snapshots[1:]] == [x.snapshot_id for x in snapshots[:-1]]
    assert [x.sequence_number for x in snapshots] == list(range(1, len(snapshots) + 1))
    for writer in range(WRITERS):
        assert sum(x.summary["writer"] == str(writer) for x in snapshots) == APPENDS
    print(f"       {len(snapshots)} appends, {lost} conflicts beyond the client's own retries")


@step()
def appending_threads(s):
    """appenders at once, as threads: every acknowledged row is there once"""
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        appenders(s, pool)


@step()
def appending_processes(s):
    """appenders at once, as processes"""
    with concurrent.futures.ProcessPoolExecutor(WRITERS, multiprocessing.get_context("spawn")) as pool:
        appenders(s, pool)


@step()
def racing_creates(s):
    """racing creates of one name: one wins, the others are told"""
    ns = s.ns()

    def make(number):
        try:
            return connect(s.firn.url, s.told).create_table((ns, "one"), EVENTS).metadata.table_uuid
        except TableAlreadyExistsError:
            return None

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        made = [uuid for uuid in pool.map(make, range(6)) if uuid]
    assert len(made) == 1 and s.catalog.load_table((ns, "one")).metadata.table_uuid == made[0]


@step("signed")
def restart(s):
    """a restart of the server: everything is still there"""
    t = s.events(3)
    s.firn.restart()
    s.catalog = connect(s.firn.url, s.told)
    assert s.again(t).metadata == t.metadata and ids(s.again(t).scan()) == [0, 1, 2]
    s.again(t).append(events(3, 1))
    assert ids(s.again(t).scan()) == [0, 1, 2, 3]


def main():
    logging.disable(logging.WARNING)  # each retry of an appender would be a line
    with Server(env=delegating(sys.argv)) as firn:
        return tell(Story(firn), only="signed" if "--signed" in sys.argv else None)


if __name__ == "__main__":
    sys.exit(main())
