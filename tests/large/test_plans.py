"""What the database reads for each statement, with tables as large as they get: a few pages, whether PostgreSQL
has counted the rows or not, and also with plans that were made when there were none or few. No statement is left
out."""

import contextlib
import json
import os
import pathlib
import re
import sqlite3

import pytest

from firn_client import Api, simple
from firn_server import Server

FILE = (pathlib.Path(__file__).resolve().parents[2] / "sql/statements.sql").read_text()
SESSION = (pathlib.Path(__file__).resolve().parents[2] / "sql/pg.c").read_text()
N, FEW_ROWS = 50_000, 100
FEW_PAGES, PAGE = 80, 101  # what a statement about one row may touch in its indexes; rows of a page

# about no rows, or the schema itself
NO_ROWS = {"ping", "begin", "commit", "rollback", "migrate_lock", "schema_present", "schema_create", "schema_get",
           "schema_add", "warehouse_lock"}
# read a whole table, or all that belongs to a warehouse, and why they may
SCANS = {
    "warehouse_find": "a warehouse is asked for by its base too; there are few, and an open one is kept",
    "warehouse_objects": "counts what is left of a warehouse, asked when one is deleted",
    "warehouse_forget_changes": "deletes all of a warehouse", "warehouse_forget_keys": "deletes all of a warehouse",
    "warehouse_forget_leases": "deletes all of a warehouse", "warehouse_forget_jobs": "deletes all of a warehouse",
    "warehouse_forget_secrets": "deletes all of a warehouse",
    "ns_content": "says how many tables and views are in the way of a drop",
    "object_beneath": "asked by purges only", "object_tails": "asked by the deletion of files only",
    "survey_page": "asked by purges only, passes over what was surveyed",
    "foreign_near": "asked by purges only; tables that name files elsewhere are few",
    "change_detach": "rewrites the changes of one table that moves",
    "lease_prune": "leases are few: those of files that were deleted lately",
}
# sort the few rows that agree in what the index leads with, or the folders above a path
SORTS = {"change_by_digest", "mark_page", "location_above"}


def statements(engine):
    """name: text, as gen.py reads them."""
    found = {}
    for name, only, text in re.findall(r"^-- name: (\w+)(?:\.(\w+))? \(.*\n((?:(?!-- ).*\n)+)", FILE, re.M):
        if only in ("", engine):
            found[name] = text.strip()
    return found


def now(text):
    """The database's time, as gen.py writes it for PostgreSQL."""
    return text.replace("now_ms()", "CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT)")


# --- rows -----------------------------------------------------------------------------


@contextlib.contextmanager
def opened():
    """A server of its own, its first table, and a database that counts nothing by itself."""
    with Server(env={"FIRN_LOG_LEVEL": "info"}) as firn, contextlib.closing(Api(firn)) as api:
        ns = api.new_namespace()
        api.create(ns, "seed", simple()).ok()
        if firn.db.kind == "postgresql":
            for (name,) in firn.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
                firn.sql(f"ALTER TABLE {name} SET (autovacuum_enabled = false)")
        [(w, space, path)] = firn.sql("SELECT warehouse_id, id, path FROM namespace WHERE path = %s", ns)
        yield {"server": firn, "warehouse": w, "space": space, "path": path}


@contextlib.contextmanager
def prepared(found):
    """A session that makes its plans now, where plans are kept."""
    if found["server"].db.kind != "postgresql":
        yield None
        return
    with session(found["server"]) as db:
        prepare_all(db, found)
        yield db


@pytest.fixture(scope="module")
def full():
    """Rows by the thousand in every table, made by the database, and a session from before."""
    with opened() as found, prepared(found) as early:
        fill_all(found)
        yield found | {"early": early}


@pytest.fixture(scope="module")
def grown():
    """The same, with a session from when there were a few rows, and they were counted."""
    with opened() as found:
        fill_all(found, last=FEW_ROWS)
        found["server"].sql("ANALYZE")
        with prepared(found) as early:
            fill_all(found, first=FEW_ROWS + 1)
            yield found | {"early": early}


def fill_all(found, first=1, last=N):
    """The rows from the first to the last."""
    server, w, space, path = (found[name] for name in ("server", "warehouse", "space", "path"))
    os.environ["PGOPTIONS"] = "-c session_replication_role=replica"  # foreign keys are not checked: it takes long

    def fill(into, select, n=N):
        server.sql(f"WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {min(n, last)}) "
                   f"INSERT INTO {into} {select} FROM n")

    fill("warehouse (id, name, uuid, base)", "SELECT -i, 'w' || i, 'u' || i, 's3://b' || i", 500)
    fill("namespace (warehouse_id, id, parent_id, name, path, version, properties)",
         f"SELECT {w}, -i, {space}, 'n' || i, '{path}' || '.' || i, 1, '{{}}'")
    fill("namespace (warehouse_id, id, parent_id, name, path, version, properties)",
         f"SELECT {w}, -100000 - i, NULL, 'r' || i, 'r' || i, 1, '{{}}'", 1000)
    fill("object (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location)",
         f"SELECT {w}, -i, {space}, 'table_' || (1000000 + i), 1, 'uuid-' || i, 'file:///w/t' || i, 'file:///w/t/m' || i")
    fill("object (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location, purge_ms)",
         f"SELECT {w}, -100000 - i, NULL, 'gone_' || i, 1, 'gone-' || i, 'file:///w/g' || i, 'file:///w/g/m' || i, i", 5000)
    if first == 1:
        server.sql("INSERT INTO location (authority, path, warehouse_id) VALUES ('file:', '/plans', 0)")
    fill("location (authority, path, parent_path, warehouse_id, object_id)",
         f"SELECT 'file:', '/plans/t' || i, '/plans', {w}, -i")
    fill("survey (warehouse_id, object_id, replaced, location, metadata_location, sequence_number, snapshots)",
         f"SELECT {w}, -i, 0, 'file:///w/t' || i, 'file:///w/t/m' || i, 1, ''")
    fill("foreign_folder (warehouse_id, object_id, authority, path)", f"SELECT {w}, -i, 's3://b', '/far/t' || i")
    fill("change (warehouse_id, token, object_id, kind, metadata_location, digest, at_ms)",
         f"SELECT {w}, 'token-' || i, -1 - (i - i / 1000 * 1000), 'swap', '/m' || i, 'digest-' || i, i")
    fill("idempotency (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)",
         f"SELECT {w}, '', 'key-' || i, 'd', -i, 200, 'm', CASE WHEN i - i / 2 * 2 = 0 THEN i ELSE 9000000000000 END")
    for table, more, values in (("lease", "holder, until_ms", "'h', 1"), ("job", "due_ms, position", "1, NULL"),
                                ("secret", "sealed", "'s'")):
        fill(f"{table} (warehouse_id, name, {more})", f"SELECT -i, 'x', {values}", 5000)
    del os.environ["PGOPTIONS"]


def samples(full):
    """Arguments of each statement, for one row among many."""
    w, space, path = full["warehouse"], full["space"], full["path"]
    some, name, digest = -N // 2, f"table_{1000000 + N // 2}", f"digest-{N // 2}"
    place, uuid = f"/plans/t{N // 2}", f"uuid-{N // 2}"
    old = f"file:///w/t/m{N // 2}"
    near = ("/plans/new", "/plans/new/", "/plans/new0")
    tokens = tuple(f"token-{i}" for i in range(16))
    swap = (w, some, old, old + "x", "token-new", "d", "", "r", 1)
    return {
        "warehouse_ensure": (-7, "w7", "u7", "s3://b7"), "warehouse_find": ("w7", "u7"),
        "warehouse_page": ("w2", PAGE), "warehouse_insert": (-9999, "new", "unew", "s3://new", "{}", 1, 1),
        "warehouse_set": (-7, 1, 2, "w7", "s3://b7", "{}", 1), "warehouse_delete": (-7,), "warehouse_objects": (-7,),
        **{f"warehouse_forget_{what}": (-7,) for what in ("changes", "keys", "leases", "jobs", "secrets")},
        "ns_get": (w, path), "ns_insert": (w, -1000000, space, "new", path + ".new", "{}"), "ns_set": (w, -5, 1, "{}"),
        "ns_content": (w, space), "ns_delete": (w, -5), "ns_page": (w, path, "", PAGE), "ns_page, late": (w, path, "n9", PAGE),
        "ns_page_root": (w, "", PAGE), "ns_page_root, late": (w, "r9", PAGE),
        "object_get": (w, path, name), "object_by_id": (w, some),
        "object_insert": (w, -1000000, path, "new", 1, "new", "l", "m", 0), "object_why": (w, path, name, uuid),
        "object_room": (w, path, name),
        "object_insert_one": (w, -1000000, space, "new", 1, "new", "l", "m", "file:", "/plans/new", "/plans",
                              '{"/plans","/plans/new"}', *near[1:], "token-new", "/m", "d", "", "r", 1, "key-new", "d", 200,
                              "m", 1000),
        "object_insert_many": (*([x] for x in (w, -1000000, space, "new", 1, "new", "l", "l/m", "file:", "/plans/new", "/plans",
                                               "token-new", "d", "", "r", 1, "key-new", "d", 200, "m", 1000)),
                               ["file:", "file:"], ["/plans", "/plans/new"]),
        "object_swap_one": swap, "object_swap_keyed": (*swap, "key-new", 200, 1000),
        "object_hold": (w, [some, some + 1, some + 2]),
        "object_swap_many": tuple([x] for x in (*swap[:4], "token-new", *swap[5:], "key-new", 200, 1000)),
        "object_swap": (w, some, old, old + "x", "l"), "object_replace": (w, some, space, name, uuid, "l", "m"),
        "object_rename": (w, some, space, name, space, "new"), "object_delete": (w, some, space, name),
        "object_purge": (w, some, space, name, 1), "object_page": (w, path, 1, "", PAGE),
        "object_page, late": (w, path, 1, f"table_{1000000 + 9 * N // 10}", PAGE),
        "location_insert": ("file:", "/plans/new", "/plans", w, -1000000), "location_clash": ("file:", *near),
        "location_above": ("file:", place),
        "location_free": (w, some), "location_hold": ("file:", place), "location_prune": ("file:", "/plans"),
        "change_insert": (w, "token-new", some, "swap", "/m", "d", "", "r", 1), "change_get": (w, tokens[5]),
        "change_by_digest": (w, digest), "change_detach": (w, some, "l"), "change_prune": (w, 1, 10),
        "idem_get": (w, "", "key-7"), "idem_put": (w, "", "key-new", "d", some, 200, "m", 1000), "idem_prune": (w, 10),
        "lease_take": (-7, "x", "h", 1000), "lease_give": (-7, "x", "h"), "lease_prune": (-7, 10),
        "mark_page": (w, 0, 0, 10), "mark_page, late": (w, 4500, 0, 10), "mark_delete": (w, -100007),
        "location_live": ("file:", *near), "object_beneath": ("%/w%/none/%", 0, 0, 1),
        "secret_get": (-7, "x"), "secret_put": (-7, "x", "t"), "secret_swap": (-7, "x", "s", "t"),
        "secret_delete": (-7, "x"), "secret_page": (-2500, "x", PAGE), "object_tails": tokens,
        "change_kinds": (w, *tokens), "change_oldest": (w,), "change_forgo": (w, "token-new", some),
        "object_after": (w, some, PAGE), "object_of_uuid": (w, uuid), "ns_after": (w, path, PAGE),
        "foreign_add": (w, some, "s3://b", "/new"), "foreign_list": (w, some), "foreign_remove": (w, some, "s3://b", "/far/t7"),
        "foreign_near": ("s3://b", "/far/t7", "/far/t7/", "/far/t70", 0, 0, PAGE), "object_origin": (w, some),
        "survey_page": (w, some, PAGE), "survey_put": (w, some, 0, "l", "m", 1, ""),
        "job_get": (-7, "x"), "job_plan": (-7, "x", 1, ""), "job_note": (-7, "x", "p"),
        "lookup": ([w], [path], [name]),
    }


def test_every_statement_is_looked_at(full):
    """A new statement needs arguments here."""
    known = {name.split(",")[0] for name in samples(full)} | NO_ROWS
    assert known == set(statements("pg")) | set(statements("lite"))


# --- what is read -----------------------------------------------------------------------


def session(server):
    """The settings of the server's own connections."""
    import psycopg
    found = " ".join(re.findall(r"-c [a-z_]+=[a-z_0-9]+", SESSION))
    assert "plan_cache_mode" in found
    return psycopg.connect(server.db.uri, options=found)


def prepare_all(db, full):
    """Each statement once, so that its plan is made and kept; what it did is taken back."""
    import psycopg
    from psycopg import sql
    texts = statements("pg")
    for name in {name.split(",")[0] for name in samples(full)} & set(texts):
        db.execute(sql.SQL(f"PREPARE {name} AS ") + sql.SQL(now(texts[name])))
    db.commit()
    for name, values in samples(full).items():
        if name in texts:
            with contextlib.suppress(psycopg.errors.ForeignKeyViolation):  # the folder above is not there yet
                db.execute(execute(name, values))
            db.rollback()


def execute(name, values):
    from psycopg import sql
    return sql.SQL(f"EXECUTE {name.split(',')[0]} ({{}})").format(sql.SQL(", ").join(map(sql.Literal, values)))


def explained(db, name, values, mode):
    """Carries a prepared statement out and takes it back: the plan."""
    from psycopg import sql
    db.execute(f"SET LOCAL plan_cache_mode = force_{mode}_plan")
    explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ") + execute(name, values)
    for _ in range(2):  # the first time a session reads the catalogs too
        db.execute("SAVEPOINT s")
        row = db.execute(explain).fetchone()
        db.execute("ROLLBACK TO s")
    db.rollback()
    return row[0][0]["Plan"]


def problems_of(db, full, known):
    texts, problems = statements("pg"), []
    for name, values in samples(full).items():
        base = name.split(",")[0]
        if base not in texts or base in SCANS:
            continue
        for mode in ("generic", "custom"):
            plan = explained(db, name, values, mode)
            pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            most = FEW_PAGES + (2 * PAGE if PAGE in values else 0)  # a look at each row, before a vacuum
            if pages > most or '"Seq Scan"' in json.dumps(plan):
                problems.append(f"{name}, {mode} plan, {known}: {pages} pages: {json.dumps(plan)[:1500]}")
    return problems


def check_postgres(full, known):
    if known.startswith("planned"):
        problems = problems_of(full["early"], full, known)
    else:
        with session(full["server"]) as db:
            prepare_all(db, full)
            problems = problems_of(db, full, known)
    assert not problems, "\n".join(problems)


def forget_counts(server):
    """As in a database that nobody has ever analysed."""
    server.sql("DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)")
    server.sql("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")


def check_sqlite(full, known):
    problems = []
    db = sqlite3.connect(full["server"].db.path)
    db.create_collation("C", lambda a, b: (a > b) - (a < b))
    db.create_function("now_ms", 0, lambda: 0)
    for name, values in samples(full).items():
        text = statements("lite").get(name.split(",")[0])
        if not text or name.split(",")[0] in {*SCANS, *SORTS}:
            continue
        rows = db.execute("EXPLAIN QUERY PLAN " + text, {str(i): v for i, v in enumerate(values, 1)}).fetchall()
        plan = "; ".join(row[3] for row in rows)
        # a scan along an index in its order stops at the limit
        if re.search(r"SCAN (?!up\b|CONSTANT|oldest\b|\(?subquery)\w+(?! USING)|TEMP B-TREE", plan):
            problems.append(f"{name}, {known}: {plan}")
    db.close()
    assert not problems, "\n".join(problems)


def check(full, known):
    (check_sqlite if full["server"].db.kind == "sqlite" else check_postgres)(full, known)


@pytest.mark.parametrize("known", ["planned when empty", "never counted", "counted"])
def test_what_the_database_reads(full, known):
    if known == "never counted" and full["server"].db.kind == "postgresql":
        forget_counts(full["server"])
    if known == "counted":
        full["server"].sql("ANALYZE")
    check(full, known)


def test_what_the_database_reads__planned_and_counted_when_small(grown):
    """Where an index of all rows was as good as that of the one row, and is no more."""
    check(grown, "planned when small")
