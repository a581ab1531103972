"""DuckDB's story: attach, create, write, read back, change, transactions over one table."""

import glob
import importlib.util
import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

import duckdb  # noqa: E402
from firn_server import Server  # noqa: E402
from steps import raises, step, tell  # noqa: E402


def connect(firn):
    """The extensions lie in wheels of their own and are loaded by path, the order matters."""
    con = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in ("httpfs", "avro", "iceberg"):
        folder = importlib.util.find_spec("duckdb_extension_" + name).submodule_search_locations[0]
        con.execute(f"LOAD '{glob.glob(folder + f'/extensions/*/{name}.duckdb_extension')[0]}'")
    store = firn.store.settings
    if store:
        endpoint = urllib.parse.urlsplit(store["FIRN_S3_ENDPOINT"])
        con.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{store['FIRN_S3_ACCESS_KEY_ID']}', SECRET '{store['FIRN_S3_SECRET_ACCESS_KEY']}', "
            f"ENDPOINT '{endpoint.netloc}', URL_STYLE 'path', USE_SSL {str(endpoint.scheme == 'https').lower()}, "
            f"REGION '{store['FIRN_S3_REGION']}')")
    con.execute(f"ATTACH 'main' AS c (TYPE iceberg, ENDPOINT '{firn.url}', AUTHORIZATION_TYPE 'none', "
                "ACCESS_DELEGATION_MODE 'none', SUPPORT_NESTED_NAMESPACES true)")
    return con


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.con = connect(firn)

    def rows(self, text):
        return self.con.execute(text).fetchall()


@step()
def schemas(s):
    """Schemas are made, listed and dropped; a second one of the same name is refused."""
    s.con.execute("CREATE SCHEMA c.one")
    s.con.execute("CREATE SCHEMA IF NOT EXISTS c.one")
    raises(duckdb.Error, s.con.execute, "CREATE SCHEMA c.one")
    names = [r[0] for r in s.rows("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'c'")]
    assert "one" in names, names
    s.con.execute("DROP SCHEMA c.one")


@step()
def create_insert_select(s):
    """A table is made, filled and read back, also by a new connection."""
    s.con.execute("CREATE SCHEMA c.db")
    s.con.execute("CREATE TABLE c.db.events (id BIGINT, name VARCHAR, made TIMESTAMP, price DECIMAL(9, 2))")
    s.con.execute("INSERT INTO c.db.events VALUES (1, 'a', '2024-01-01 10:00:00', 1.50), (2, 'b', NULL, 2.25), (3, NULL, NULL, NULL)")
    want = [(1, "a", 1.5), (2, "b", 2.25), (3, None, None)]
    text = "SELECT id, name, price::DOUBLE FROM c.db.events ORDER BY id"
    assert s.rows(text) == want
    assert connect(s.firn).execute(text).fetchall() == want


@step()
def inserts_add_up(s):
    """Each INSERT is a snapshot of its own."""
    for i in range(10, 15):
        s.con.execute(f"INSERT INTO c.db.events (id, name) VALUES ({i}, 'more')")
    assert s.rows("SELECT count(*), sum(id) FROM c.db.events") == [(8, 66)]
    assert len(s.rows("SELECT * FROM iceberg_snapshots('c.db.events')")) >= 6


@step()
def update_and_delete(s):
    """Rows are changed and deleted in place."""
    s.con.execute("UPDATE c.db.events SET name = 'changed' WHERE id >= 12")
    s.con.execute("DELETE FROM c.db.events WHERE id = 11")
    assert s.rows("SELECT id FROM c.db.events WHERE name = 'changed' ORDER BY id") == [(12,), (13,), (14,)]
    assert s.rows("SELECT count(*) FROM c.db.events") == [(7,)]


@step()
def time_travel(s):
    """An older snapshot is read by its id."""
    first = s.rows("SELECT snapshot_id FROM iceberg_snapshots('c.db.events') ORDER BY sequence_number LIMIT 1")[0][0]
    assert s.rows(f"SELECT count(*) FROM c.db.events AT (VERSION => {first})") == [(3,)]


@step()
def create_as_select(s):
    """CREATE TABLE AS: a staged create and its commit."""
    s.con.execute("CREATE TABLE c.db.copy AS SELECT id, name FROM c.db.events WHERE id < 10")
    assert s.rows("SELECT count(*) FROM c.db.copy") == [(3,)]
    raises(duckdb.Error, s.con.execute, "CREATE TABLE c.db.copy AS SELECT 1 AS id")


@step()
def columns_are_added(s):
    """ALTER TABLE: a column more, an older row has nothing in it."""
    s.con.execute("ALTER TABLE c.db.copy ADD COLUMN note VARCHAR")
    s.con.execute("INSERT INTO c.db.copy VALUES (20, 'new', 'noted')")
    assert s.rows("SELECT id, note FROM c.db.copy ORDER BY id")[-1] == (20, "noted")
    assert s.rows("SELECT count(*) FROM c.db.copy WHERE note IS NULL") == [(3,)]


@step()
def transaction(s):
    """Several statements become visible together, or not at all."""
    other = connect(s.firn)
    s.con.execute("BEGIN")
    s.con.execute("INSERT INTO c.db.copy (id) VALUES (30)")
    s.con.execute("INSERT INTO c.db.copy (id) VALUES (31)")
    assert other.execute("SELECT count(*) FROM c.db.copy WHERE id >= 30").fetchall() == [(0,)]
    s.con.execute("COMMIT")
    assert connect(s.firn).execute("SELECT count(*) FROM c.db.copy WHERE id >= 30").fetchall() == [(2,)]
    s.con.execute("BEGIN")
    s.con.execute("INSERT INTO c.db.copy (id) VALUES (40)")
    s.con.execute("ROLLBACK")
    assert s.rows("SELECT count(*) FROM c.db.copy WHERE id = 40") == [(0,)]


@step()
def nested_schemas(s):
    """DuckDB writes the separator of levels into the path as a raw byte."""
    import json
    import urllib.request
    for levels in (["outer"], ["outer", "inner"]):
        urllib.request.urlopen(urllib.request.Request(
            s.firn.url + "/v1/namespaces", json.dumps({"namespace": levels}).encode(), method="POST")).close()
    con = connect(s.firn)
    con.execute('CREATE TABLE c."outer.inner".t (id BIGINT)')
    con.execute('INSERT INTO c."outer.inner".t VALUES (7)')
    assert con.execute('SELECT id FROM c."outer.inner".t').fetchall() == [(7,)]


@step()
def drop(s):
    """Tables and their schema go."""
    s.con.execute("DROP TABLE c.db.copy")
    raises(duckdb.Error, s.con.execute, "SELECT * FROM c.db.copy")
    raises(duckdb.Error, s.con.execute, "DROP SCHEMA c.db")
    s.con.execute("DROP TABLE c.db.events")
    s.con.execute("DROP SCHEMA c.db")


if __name__ == "__main__":
    with Server() as server:
        sys.exit(tell(Story(server)))
