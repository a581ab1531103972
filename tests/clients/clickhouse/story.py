"""ClickHouse's story, by chDB, which is ClickHouse in this process: local files, nested names, rows
inserted, updated and deleted, schemas changed and changed back, tables made and dropped."""

import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

from chdb.session import Session  # noqa: E402
from firn_client import Api, ns_path, simple, table_path  # noqa: E402
from firn_server import Server  # noqa: E402
from steps import raises, step, tell  # noqa: E402

# the engine's writes are experimental, and without full paths its files name no scheme
SETTINGS = ("allow_database_iceberg", "allow_insert_into_iceberg", "write_full_path_in_iceberg_metadata",
            "show_data_lake_catalogs_in_system_tables")
INNER = ["outer", "inner"]


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.api = Api(firn)
        os.chdir(firn.folder)  # the engine reads no files outside of where it runs
        self.session = Session(str(firn.folder / "clickhouse"))
        for name in SETTINGS:
            self.run(f"SET {name} = 1")
        # for local files the two arguments are format and structure
        self.run(f"CREATE DATABASE c ENGINE = DataLakeCatalog('{firn.url}/v1', 'Parquet', 'auto') "
                 "SETTINGS catalog_type = 'rest', warehouse = 'main'")

    def run(self, text):
        return str(self.session.query(text, "JSONCompact"))

    def rows(self, text):
        return [tuple(row) for row in json.loads(self.run(text))["data"]]

    def tables(self):
        return sorted(name for name, in self.rows("SHOW TABLES FROM c"))

    def metadata(self, ns, table):
        """The table as the catalog has it."""
        return self.api.get(table_path(ns, table)).ok().json["metadata"]

    def operations(self, ns, table):
        """What its snapshots did, one after the other; main is at the last one, each follows the one before."""
        found = self.metadata(ns, table)
        snapshots = found["snapshots"]
        assert found["refs"]["main"]["snapshot-id"] == snapshots[-1]["snapshot-id"], found
        assert "parent-snapshot-id" not in snapshots[0], snapshots[0]
        assert [one["parent-snapshot-id"] for one in snapshots[1:]] == [one["snapshot-id"] for one in snapshots[:-1]]
        return [one["summary"]["operation"] for one in snapshots]

    def columns(self, ns, table):
        found = self.metadata(ns, table)
        current = next(one for one in found["schemas"] if one["schema-id"] == found["current-schema-id"])
        return [field["name"] for field in current["fields"]]


@step()
def names(s):
    """Tables are listed through all levels of namespaces."""
    s.api.create_namespace("db").ok()
    s.api.create_namespace(INNER).ok()
    assert s.tables() == []
    s.api.create("db", "t", simple()).ok()
    s.api.create(INNER, "t", simple()).ok()
    s.api.create("outer", "between", simple()).ok()
    assert s.tables() == ["db.t", "outer.between", "outer.inner.t"]
    shown = s.rows("SELECT name FROM system.tables WHERE database = 'c' ORDER BY name")
    assert shown == [("db.t",), ("outer.between",), ("outer.inner.t",)], shown


def changes(s, ns):
    name = f"c.`{'.'.join(ns)}.t`"
    s.run(f"INSERT INTO {name} (id, data) VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    s.run(f"INSERT INTO {name} (id, data) VALUES (4, 'd')")
    assert s.rows(f"SELECT id, data FROM {name} ORDER BY id") == [(1, "a"), (2, "b"), (3, None), (4, "d")]
    assert s.operations(ns, "t") == ["append"] * 2
    s.run(f"ALTER TABLE {name} UPDATE data = 'changed' WHERE id = 2")
    assert s.rows(f"SELECT data FROM {name} WHERE id = 2") == [("changed",)]
    assert s.operations(ns, "t") == ["append", "append", "overwrite"]
    s.run(f"ALTER TABLE {name} DELETE WHERE id = 1")
    assert s.rows(f"SELECT id, data FROM {name} ORDER BY id") == [(2, "changed"), (3, None), (4, "d")]
    assert s.operations(ns, "t") == ["append", "append", "overwrite", "overwrite"]
    history = s.rows(f"SELECT snapshot_id FROM system.iceberg_history WHERE database = 'c' AND table = '{'.'.join(ns)}.t'")
    assert {number for number, in history} == {one["snapshot-id"] for one in s.metadata(ns, "t")["snapshots"]}, history
    first = s.metadata(ns, "t")["snapshots"][0]["snapshot-id"]
    assert s.rows(f"SELECT count() FROM {name} SETTINGS iceberg_snapshot_id = {first}") == [(3,)]


@step()
def rows(s):
    """INSERT, UPDATE and DELETE, each a snapshot that follows the one before; an older one is read by its id."""
    changes(s, ["db"])


@step()
def rows_in_nested_namespace(s):
    """The same two levels deep."""
    changes(s, INNER)


@step()
def schema_and_back(s):
    """A column is added and dropped: the catalog finds the earlier schema again, and the engine goes on."""
    for ns in (["db"], INNER):
        name = f"c.`{'.'.join(ns)}.t`"
        s.run(f"ALTER TABLE {name} ADD COLUMN note Nullable(String)")
        assert s.metadata(ns, "t")["current-schema-id"] == 1 and s.columns(ns, "t") == ["id", "data", "note"]
        s.run(f"INSERT INTO {name} (id, data, note) VALUES (5, 'e', 'noted')")
        assert s.rows(f"SELECT id, note FROM {name} ORDER BY id") == [(2, None), (3, None), (4, None), (5, "noted")]
        s.run(f"ALTER TABLE {name} DROP COLUMN note")
        found = s.metadata(ns, "t")
        assert found["current-schema-id"] == 0 and len(found["schemas"]) == 2 and found["last-column-id"] == 3, found
        s.run(f"INSERT INTO {name} (id, data) VALUES (6, 'f')")
        assert s.rows(f"SELECT * FROM {name} WHERE id > 4 ORDER BY id") == [(5, "e"), (6, "f")]
        assert s.metadata(ns, "t")["snapshots"][-1]["schema-id"] == 0


@step()
def another_session(s):
    """Another client reads what the engine wrote."""
    from pyiceberg.catalog import load_catalog
    table = load_catalog("firn", type="rest", uri=s.firn.url, warehouse="main").load_table((*INNER, "t"))
    want = [{"id": 2, "data": "changed"}, {"id": 3, "data": None}, {"id": 4, "data": "d"}, {"id": 5, "data": "e"}, {"id": 6, "data": "f"}]
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == want


def make(s, name, folder):
    s.run(f"CREATE TABLE c.`{name}` (id Int64, v Nullable(String)) ENGINE = IcebergLocal('{s.firn.store.folder}/{folder}/') "
          "PARTITION BY (icebergTruncate(10, id))")
    s.run(f"INSERT INTO c.`{name}` VALUES (1, 'x'), (11, 'y')")
    assert s.rows(f"SELECT id, v FROM c.`{name}` ORDER BY id") == [(1, "x"), (11, "y")]


@step()
def create(s):
    """CREATE TABLE at a place of the user's, partitioned, also nested and where the namespace is not there yet."""
    for ns, table in (("db", "made"), (INNER, "made"), (["new"], "made"), (["deep", "er", "still"], "made")):
        name = ".".join([*([ns] if isinstance(ns, str) else ns), table])
        make(s, name, "made/" + name)
        found = s.metadata(ns, table)
        assert found["partition-specs"][0]["fields"][0]["transform"] == "truncate[10]", found["partition-specs"]
        assert found["location"].rstrip("/") == f"{s.firn.store.base}/made/{name}", found["location"]
        assert s.operations(ns, table) == ["append"]
        assert name in s.tables()
    assert s.api.get("/v1/namespaces").ok().json["namespaces"] == [["db"], ["deep"], ["new"], ["outer"]]
    error = raises(Exception, s.run, "CREATE TABLE c.`db.made` (id Int64) ENGINE = IcebergLocal"
                   f"('{s.firn.store.folder}/made/again/')")
    assert "already exists" in str(error), error


@step()
def drop(s):
    """DROP TABLE reports no error, nested or not, and takes this table alone."""
    # names of one level that look like the nested ones; while one is there, the engine cannot list
    s.api.create_namespace("deep.er.still").ok()
    s.api.create("deep.er.still", "made").ok()
    for ns, table in (("db", "t"), ("db", "made"), (INNER, "t"), (INNER, "made"), (["new"], "made"),
                      (["deep", "er", "still"], "made"), ("outer", "between")):
        name = ".".join([*([ns] if isinstance(ns, str) else ns), table])
        s.run(f"DROP TABLE c.`{name}`")
        s.api.get(table_path(ns, table)).fails(404, "NoSuchTableException")
        raises(Exception, s.run, f"SELECT * FROM c.`{name}`")
    s.api.head(table_path("deep.er.still", "made")).expect(204)
    s.api.delete(table_path("deep.er.still", "made")).expect(204)
    s.api.delete(ns_path("deep.er.still")).expect(204)
    assert s.tables() == []


if __name__ == "__main__":
    with Server() as server:
        story = Story(server)
        code = tell(story)
        story.session.close()  # at the end of the process it would ask for the catalog again
    sys.exit(code)
