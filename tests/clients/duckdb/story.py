"""DuckDB's story: attach, create, write, read back, change, transactions over one and two tables. With --vended it
knows nothing of the store but what the catalog tells."""

import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

import duckdb  # noqa: E402
from duckdb_connection import open_duckdb  # noqa: E402
from firn_client import Api, ns_path, table_path  # noqa: E402
from firn_server import Server, delegating, tells_of_store  # noqa: E402
from steps import raises, step, tell  # noqa: E402


def connect(firn):
    con = open_duckdb()
    store = firn.store.settings
    vended = tells_of_store(firn)
    if store and not vended:
        endpoint = urllib.parse.urlsplit(store["FIRN_S3_ENDPOINT"])
        con.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{store['FIRN_S3_ACCESS_KEY_ID']}', SECRET '{store['FIRN_S3_SECRET_ACCESS_KEY']}', "
            f"ENDPOINT '{endpoint.netloc}', URL_STYLE 'path', USE_SSL {str(endpoint.scheme == 'https').lower()}, "
            f"REGION '{store['FIRN_S3_REGION']}')")
    con.execute(f"ATTACH 'main' AS c (TYPE iceberg, ENDPOINT '{firn.url}', AUTHORIZATION_TYPE 'none', "
                f"ACCESS_DELEGATION_MODE '{'vended_credentials' if vended else 'none'}', SUPPORT_NESTED_NAMESPACES true)")
    return con


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.api = Api(firn)
        self.con = connect(firn)

    def rows(self, text):
        return self.con.execute(text).fetchall()

    def metadata(self, ns, table):
        """The table as the catalog has it."""
        return self.api.get(table_path(ns, table)).ok().json["metadata"]

    def operations(self, ns, table):
        """What its snapshots did, one after the other; main is at the last one."""
        found = self.metadata(ns, table)
        assert found["refs"]["main"]["snapshot-id"] == found["snapshots"][-1]["snapshot-id"], found
        return [snapshot["summary"]["operation"] for snapshot in found["snapshots"]]

    def served(self, operation):
        return self.firn.metric("firn_requests_total", operation=operation, status="2xx")


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
    found = s.metadata("db", "events")
    assert [(f["name"], f["type"]) for f in found["schemas"][0]["fields"]] == [
        ("id", "long"), ("name", "string"), ("made", "timestamp"), ("price", "decimal(9, 2)")], found["schemas"]
    assert s.operations("db", "events") == ["append"]


@step()
def inserts_add_up(s):
    """Each INSERT is a snapshot of its own, committed as a transaction over one table."""
    before = s.served("commitTransaction"), s.served("updateTable")
    for i in range(10, 15):
        s.con.execute(f"INSERT INTO c.db.events (id, name) VALUES ({i}, 'more')")
    assert s.rows("SELECT count(*), sum(id) FROM c.db.events") == [(8, 66)]
    assert len(s.rows("SELECT * FROM iceberg_snapshots('c.db.events')")) == 6
    assert (s.served("commitTransaction"), s.served("updateTable")) == (before[0] + 5, before[1])
    assert s.operations("db", "events") == ["append"] * 6
    assert [snapshot["sequence-number"] for snapshot in s.metadata("db", "events")["snapshots"]] == [1, 2, 3, 4, 5, 6]


@step()
def update_and_delete(s):
    """Rows are changed and deleted in place."""
    s.con.execute("UPDATE c.db.events SET name = 'changed' WHERE id >= 12")
    s.con.execute("DELETE FROM c.db.events WHERE id = 11")
    assert s.rows("SELECT id FROM c.db.events WHERE name = 'changed' ORDER BY id") == [(12,), (13,), (14,)]
    assert s.rows("SELECT count(*) FROM c.db.events") == [(7,)]
    assert len(s.operations("db", "events")) == 8


@step()
def time_travel(s):
    """An older snapshot is read by its id."""
    first = s.rows("SELECT snapshot_id FROM iceberg_snapshots('c.db.events') ORDER BY sequence_number LIMIT 1")[0][0]
    assert s.rows(f"SELECT count(*) FROM c.db.events AT (VERSION => {first})") == [(3,)]


@step()
def create_as_select(s):
    """CREATE TABLE AS: a staged create and its commit, which carries the rows."""
    before = s.served("createTable"), s.served("updateTable")
    s.con.execute("CREATE TABLE c.db.copy AS SELECT id, name FROM c.db.events WHERE id < 10")
    assert s.rows("SELECT count(*) FROM c.db.copy") == [(3,)]
    assert (s.served("createTable"), s.served("updateTable")) == (before[0] + 1, before[1] + 1)
    assert s.operations("db", "copy") == ["append"]
    found = s.metadata("db", "copy")
    assert found["snapshots"][0]["manifest-list"].startswith(found["location"] + "/metadata/"), found
    assert s.firn.store.list(found["location"] + "/data"), "the rows are below the table's location"
    raises(duckdb.Error, s.con.execute, "CREATE TABLE c.db.copy AS SELECT 1 AS id")
    assert s.metadata("db", "copy") == found


@step()
def columns_are_added(s):
    """ALTER TABLE: a column more, an older row has nothing in it."""
    s.con.execute("ALTER TABLE c.db.copy ADD COLUMN note VARCHAR")
    s.con.execute("INSERT INTO c.db.copy VALUES (20, 'new', 'noted')")
    assert s.rows("SELECT id, note FROM c.db.copy ORDER BY id")[-1] == (20, "noted")
    assert s.rows("SELECT count(*) FROM c.db.copy WHERE note IS NULL") == [(3,)]
    found = s.metadata("db", "copy")
    assert found["current-schema-id"] == 1 and found["schemas"][1]["fields"][-1]["name"] == "note", found["schemas"]


@step()
def back_to_an_earlier_schema(s):
    """A column is added, renamed and dropped: the first schema is the current one again."""
    s.con.execute("CREATE TABLE c.db.shape (id BIGINT)")
    s.con.execute("ALTER TABLE c.db.shape ADD COLUMN a VARCHAR")
    s.con.execute("ALTER TABLE c.db.shape RENAME COLUMN a TO b")
    s.con.execute("ALTER TABLE c.db.shape DROP COLUMN b")
    found = s.metadata("db", "shape")
    assert found["current-schema-id"] == 0 and len(found["schemas"]) == 3 and found["last-column-id"] == 2, found
    s.con.execute("INSERT INTO c.db.shape VALUES (1)")
    assert s.rows("SELECT * FROM c.db.shape") == [(1,)]
    s.con.execute("DROP TABLE c.db.shape")


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
def two_tables(s):
    """A transaction over two tables is one call; a reader sees both or none, a conflict leaves both."""
    s.con.execute("CREATE TABLE c.db.debit (id BIGINT, n BIGINT)")
    s.con.execute("CREATE TABLE c.db.credit (id BIGINT, n BIGINT)")
    before = s.served("commitTransaction")
    s.con.execute("BEGIN")
    s.con.execute("INSERT INTO c.db.debit VALUES (1, -5)")
    s.con.execute("INSERT INTO c.db.credit VALUES (1, 5)")
    assert not s.metadata("db", "debit").get("snapshots")
    s.con.execute("COMMIT")
    assert s.served("commitTransaction") == before + 1
    assert s.operations("db", "debit") == s.operations("db", "credit") == ["append"]
    other = connect(s.firn)
    s.con.execute("BEGIN")
    s.con.execute("DELETE FROM c.db.debit WHERE id = 1")
    s.con.execute("INSERT INTO c.db.credit VALUES (2, 7)")
    other.execute("DELETE FROM c.db.debit WHERE id = 1")
    raises(duckdb.Error, s.con.execute, "COMMIT")
    assert connect(s.firn).execute("SELECT sum(n) FROM c.db.credit").fetchall() == [(5,)]
    assert len(s.operations("db", "credit")) == 1 and len(s.operations("db", "debit")) == 2


@step()
def format_version_3(s):
    """A table of version 3 numbers its rows."""
    s.con.execute("CREATE TABLE c.db.third (id BIGINT) WITH ('format-version' = '3')")
    s.con.execute("INSERT INTO c.db.third VALUES (1), (2)")
    s.con.execute("INSERT INTO c.db.third VALUES (3)")
    s.con.execute("DELETE FROM c.db.third WHERE id = 2")
    assert s.rows("SELECT id FROM c.db.third ORDER BY id") == [(1,), (3,)]
    found = s.metadata("db", "third")
    assert found["format-version"] == 3 and found["next-row-id"] >= 3, found
    assert [snapshot["first-row-id"] for snapshot in found["snapshots"][:2]] == [0, 2], found["snapshots"]


@step()
def nested_schemas(s):
    """Schemas in schemas: made with their parents, filled, listed and dropped level by level."""
    s.con.execute('CREATE SCHEMA c."outer.middle.inner"')
    assert s.api.get("/v1/namespaces?parent=outer%1Fmiddle").ok().json["namespaces"] == [["outer", "middle", "inner"]]
    s.con.execute('CREATE TABLE c."outer.middle.inner".t (id BIGINT)')
    s.con.execute('INSERT INTO c."outer.middle.inner".t VALUES (7)')
    s.con.execute('CREATE TABLE c."outer.middle".made AS SELECT 8 AS id')
    con = connect(s.firn)
    assert con.execute('SELECT id FROM c."outer.middle.inner".t').fetchall() == [(7,)]
    assert con.execute('SELECT id FROM c."outer.middle".made').fetchall() == [(8,)]
    assert s.operations(["outer", "middle", "inner"], "t") == ["append"]
    shown = s.rows("SELECT schema, name FROM (SHOW ALL TABLES) WHERE database = 'c' AND schema LIKE 'outer%'")
    assert ("outer.middle.inner", "t") in shown and ("outer.middle", "made") in shown, shown
    raises(duckdb.Error, s.con.execute, 'DROP SCHEMA c."outer.middle.inner"')
    s.con.execute('DROP TABLE c."outer.middle.inner".t')
    s.con.execute('DROP SCHEMA c."outer.middle.inner"')
    s.api.get(ns_path(["outer", "middle", "inner"])).fails(404, "NoSuchNamespaceException")


@step()
def drop(s):
    """Tables and their schema go."""
    s.con.execute("DROP TABLE c.db.copy")
    raises(duckdb.Error, s.con.execute, "SELECT * FROM c.db.copy")
    raises(duckdb.Error, s.con.execute, "DROP SCHEMA c.db")
    for name in ("events", "debit", "credit", "third"):
        s.con.execute(f"DROP TABLE c.db.{name}")
    s.con.execute("DROP SCHEMA c.db")
    s.api.get(ns_path("db")).fails(404, "NoSuchNamespaceException")


if __name__ == "__main__":
    with Server(env=delegating(sys.argv)) as server:
        sys.exit(tell(Story(server)))
