"""Polars' story: tables sunk, scanned, merged with a wider frame, deleted from and overwritten. The
catalog it reaches through PyIceberg, the files by its own readers and writers."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]
os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"  # the other planner is a package of its own

import polars as pl  # noqa: E402
from firn_client import Api, field, spec, struct, table_path  # noqa: E402
from firn_server import Server  # noqa: E402
from pyiceberg.catalog import load_catalog  # noqa: E402
from steps import raises, step, tell  # noqa: E402

INNER = ("outer", "inner")


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.api = Api(firn)
        store = firn.store.settings
        names = {"FIRN_S3_ENDPOINT": "s3.endpoint", "FIRN_S3_REGION": "s3.region",
                 "FIRN_S3_ACCESS_KEY_ID": "s3.access-key-id", "FIRN_S3_SECRET_ACCESS_KEY": "s3.secret-access-key"}
        self.catalog = load_catalog("firn", type="rest", uri=firn.url, warehouse="main",
                                    **{names[key]: value for key, value in store.items() if key in names})
        # its own readers and writers know nothing of the client's settings
        self.options = {"aws_endpoint_url": store["FIRN_S3_ENDPOINT"], "aws_region": store["FIRN_S3_REGION"],
                        "aws_access_key_id": store["FIRN_S3_ACCESS_KEY_ID"],
                        "aws_secret_access_key": store["FIRN_S3_SECRET_ACCESS_KEY"], "aws_allow_http": "true",
                        "aws_virtual_hosted_style_request": "false"} if store else None

    def sink(self, frame, name, mode="append", **options):
        return frame.lazy().sink_iceberg(name, mode=mode, catalog=self.catalog, storage_options=self.options, **options)

    def scan(self, name, **options):
        return pl.scan_iceberg(name, catalog=self.catalog, storage_options=self.options, **options)

    def rows(self, name, **options):
        return sorted(self.scan(name, **options).collect().rows(), key=lambda row: (row[0], str(row)))

    def metadata(self, ns, table):
        """The table as the catalog has it."""
        return self.api.get(table_path(ns, table)).ok().json["metadata"]

    def operations(self, ns, table):
        """What its snapshots did, one after the other; main is at the last one."""
        found = self.metadata(ns, table)
        assert found["refs"]["main"]["snapshot-id"] == found["snapshots"][-1]["snapshot-id"], found
        return [one["summary"]["operation"] for one in found["snapshots"]]

    def columns(self, ns, table):
        found = self.metadata(ns, table)
        current = next(one for one in found["schemas"] if one["schema-id"] == found["current-schema-id"])
        return [(one["name"], one["type"]) for one in current["fields"]]


FIRST = pl.DataFrame({"id": [1, 2, 3], "kind": ["a", "b", "a"]})


@step()
def sink_makes_the_table(s):
    """A sink into nothing makes namespace and table, then appends."""
    raises(Exception, s.sink, FIRST, "db.events")
    s.sink(FIRST, "db.events", create_if_not_exists=True, create_namespace_if_not_exists=True)
    assert s.rows("db.events") == [(1, "a"), (2, "b"), (3, "a")]
    assert s.columns("db", "events") == [("id", "long"), ("kind", "string")]
    assert s.operations("db", "events") == ["append"]
    assert s.metadata("db", "events")["snapshots"][0]["summary"]["total-records"] == "3"


@step()
def append_and_travel(s):
    """More rows are a second snapshot; the first is read by its id, what came after it as well."""
    first = s.metadata("db", "events")["current-snapshot-id"]
    s.sink(pl.DataFrame({"id": [4], "kind": ["c"]}), "db.events", snapshot_properties={"by": "story"})
    found = s.metadata("db", "events")
    assert s.operations("db", "events") == ["append"] * 2 and found["snapshots"][1]["parent-snapshot-id"] == first
    assert found["snapshots"][1]["summary"]["by"] == "story", found["snapshots"][1]
    assert s.rows("db.events", snapshot_id=first) == [(1, "a"), (2, "b"), (3, "a")]
    assert s.rows("db.events", from_snapshot_id_exclusive=first) == [(4, "c")]
    assert s.scan("db.events").filter(pl.col("id") > 2).select("kind").collect().rows() in (
        [("a",), ("c",)], [("c",), ("a",)])


@step()
def merge_of_schemas(s):
    """A frame with a column more widens the table; older rows have nothing in it."""
    wider = pl.DataFrame({"id": [5], "kind": ["d"], "price": [1.5]})
    s.sink(wider, "db.events", schema_mode="merge")
    found = s.metadata("db", "events")
    assert found["current-schema-id"] == 1 and len(found["schemas"]) == 2 and found["last-column-id"] == 3, found
    assert s.columns("db", "events")[2] == ("price", "double")
    assert found["snapshots"][-1]["schema-id"] == 1, found["snapshots"]
    assert s.rows("db.events") == [(1, "a", None), (2, "b", None), (3, "a", None), (4, "c", None), (5, "d", 1.5)]


@step()
def delete(s):
    """Rows are deleted by a condition; a table untouched by it gets no snapshot."""
    pl.delete_iceberg(s.catalog.load_table("db.events"), pl.col("kind") == "a")
    assert [row[0] for row in s.rows("db.events")] == [2, 4, 5]
    done = s.operations("db", "events")
    assert len(done) == 4 and done[3] in ("delete", "overwrite"), done
    pl.delete_iceberg(s.catalog.load_table("db.events"), pl.col("kind") == "none")
    assert s.operations("db", "events") == done


@step()
def overwrite(s):
    """The whole is replaced; the schema is the wider one still."""
    s.sink(pl.DataFrame({"id": [9], "kind": ["z"], "price": [0.5]}), "db.events", mode="overwrite")
    assert s.rows("db.events") == [(9, "z", 0.5)]
    found = s.metadata("db", "events")
    assert found["snapshots"][-1]["summary"]["total-records"] == "1" and found["current-schema-id"] == 1, found
    assert found["snapshots"][-1]["sequence-number"] == found["last-sequence-number"] == len(found["snapshots"]), found


@step()
def nested_and_partitioned(s):
    """A table that the catalog made, two levels deep and partitioned, takes rows and gives them back."""
    s.api.create_namespace(INNER).ok()
    s.api.create(INNER, "parts", struct(field(1, "id"), field(2, "kind", "string")), partition_spec=spec(("kind", "identity", 2, 1000))).ok()
    s.sink(FIRST, "outer.inner.parts")
    assert s.rows("outer.inner.parts") == [(1, "a"), (2, "b"), (3, "a")]
    assert s.metadata(INNER, "parts")["snapshots"][0]["summary"]["changed-partition-count"] == "2"
    s.sink(pl.DataFrame({"id": [7], "kind": ["b"]}), "outer.inner.parts", mode="overwrite", partition_overwrite="dynamic")
    assert s.rows("outer.inner.parts") == [(1, "a"), (3, "a"), (7, "b")]
    FIRST.write_iceberg(s.catalog.load_table((*INNER, "parts")), mode="append")
    assert len(s.rows("outer.inner.parts")) == 6


@step()
def stale(s):
    """A writer whose table has moved on is put behind the other writer; no row is lost or doubled."""
    s.sink(FIRST, "db.race", create_if_not_exists=True)
    old = s.catalog.load_table("db.race")
    s.sink(pl.DataFrame({"id": [10], "kind": ["x"]}), "db.race")
    other = s.metadata("db", "race")["current-snapshot-id"]
    s.sink(pl.DataFrame({"id": [11], "kind": ["y"]}), old)
    assert [row[0] for row in s.rows("db.race")] == [1, 2, 3, 10, 11]
    found = s.metadata("db", "race")
    assert len(found["snapshots"]) == 3 and found["snapshots"][2]["parent-snapshot-id"] == other, found
    assert s.firn.metric("firn_requests_total", operation="updateTable", status="4xx") == 1


if __name__ == "__main__":
    with Server() as server:
        sys.exit(tell(Story(server)))
