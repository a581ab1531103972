"""100,000 tables in one namespace: every operation costs what it costs in an empty one."""

import json
import pathlib
import re
import sqlite3
import statistics
import time

import pytest

from firn_client import Table, ns_path, set_properties, simple, table_path

N = 100_000
STATEMENTS = (pathlib.Path(__file__).resolve().parents[2] / "sql/statements.sql").read_text()


def name_of(i):
    return f"table_{1_000_000 + i}"


@pytest.fixture(scope="session")
def crowd(server, api):
    """Rows as createTable makes them, made by the database: beside a first table their places."""
    ns = api.new_namespace()
    api.create(ns, "seed", simple()).ok()
    numbers = f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {N}) "
    rows = "FROM object o JOIN location l ON l.object_id = o.id CROSS JOIN n WHERE o.name = 'seed' "
    server.sql(numbers + "INSERT INTO object "
               "(warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location) "
               "SELECT o.warehouse_id, n.i, o.namespace_id, 'table_' || CAST(1000000 + n.i AS TEXT), 1, "
               "CAST(10000000 + n.i AS TEXT) || '-0000-4000-8000-000000000000', "
               "o.location || '-' || CAST(n.i AS TEXT), o.metadata_location " + rows + "RETURNING id")
    server.sql(numbers + "INSERT INTO location (authority, path, parent_path, warehouse_id, object_id) "
               "SELECT l.authority, l.path || '-' || CAST(n.i AS TEXT), l.parent_path, l.warehouse_id, n.i " + rows
               + "RETURNING object_id")
    return ns


# --- lists ------------------------------------------------------------------------------


def test_the_whole_list(api, crowd, memory):
    """In one answer, in order, each name once."""
    listed = api.get(f"{ns_path(crowd)}/tables").ok()
    names = [i["name"] for i in listed.json["identifiers"]]
    assert names == ["seed", *map(name_of, range(1, N + 1))]
    assert listed.json.get("next-page-token") is None
    assert memory.peak() < 48
    assert memory.kept() < 24


def pages(api, ns, size):
    token = ""
    while token is not None:
        page = api.get(f"{ns_path(ns)}/tables?pageToken={token}&pageSize={size}").ok().json
        yield [i["name"] for i in page["identifiers"]]
        token = page.get("next-page-token")


def test_pages(api, crowd, memory):
    """The pages together are the list; none costs more memory than a page."""
    found = list(pages(api, crowd, 5000))
    assert [len(p) for p in found] == [5000] * (N // 5000) + [1]
    assert [n for p in found for n in p] == ["seed", *map(name_of, range(1, N + 1))]
    assert memory.peak() < 8


# --- changes ----------------------------------------------------------------------------


def time_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def test_changes_cost_what_they_cost_elsewhere(api, crowd):
    """Create, load, commit, rename and drop, by turns in the full namespace and in an empty one."""
    took = {}
    empty = api.new_namespace()
    for i in range(15):
        for ns in (crowd, empty):
            def note(what, work):
                took.setdefault((what, ns), []).append(time_of(work))

            name, other = f"table_15{i:05}", f"x{i}"  # in the midst of the others
            note("create", lambda: api.create(ns, name, simple()).ok())
            note("load", lambda: api.load(ns, name).ok())
            note("commit", lambda: Table(api, ns, name).apply(set_properties(a=str(i))))
            note("exists", lambda: api.request("HEAD", table_path(ns, name)).expect(204))
            note("rename", lambda: api.rename((ns, name), (ns, other)).expect(204))
            note("drop", lambda: api.drop(ns, other).expect(204))
    for what in ("create", "load", "commit", "exists", "rename", "drop"):
        full, few = (statistics.median(took[what, ns]) for ns in (crowd, empty))
        assert full < 5 * few + 0.02, f"{what}: {full * 1e3:.2f} ms among {N}, {few * 1e3:.2f} ms alone"
    assert len(api.names(crowd)) == N + 1


def test_a_full_namespace_is_not_dropped(api, crowd):
    """Nor searched for long to say so."""
    api.delete(ns_path(crowd)).fails(409, "NamespaceNotEmptyException", contains=f"Contains {N + 1} table(s)")


# --- plans ------------------------------------------------------------------------------


def statement(name, engine):
    found = re.search(rf"^-- name: {name}(?:\.{engine})? \(.*\n((?:(?!\n|-- ).*\n)+)", STATEMENTS, re.M)
    return found[1].strip()


def samples(server, ns):
    """Statement and arguments, as operations on one table among many send them."""
    [(warehouse, space, path)] = server.sql("SELECT warehouse_id, id, path FROM namespace WHERE path = %s", ns)
    [(authority, parent)] = server.sql(
        "SELECT l.authority, l.parent_path FROM location l JOIN object o ON o.id = l.object_id WHERE o.name = 'seed'")
    middle, new, place = name_of(N // 2), "table_1050000x", f"{parent}/new"
    uuid = "10000000-0000-4000-8000-00000000000a"
    return {
        "object_get": (warehouse, path, middle),
        "object_insert": (warehouse, -5, path, new, 1, uuid, "l", "m"),
        "object_why": (warehouse, path, middle, uuid),
        "object_rename": (warehouse, N // 2, space, middle, space, new),
        "object_swap": (warehouse, N // 2, "m", "n", "l"),
        "object_delete": (warehouse, N // 2, space, middle),
        "location_insert": (authority, place, parent, warehouse, -5),
        "location_clash": (authority, place, place + "/", place + "0"),
        "location_free": (warehouse, N // 2),
        "location_prune": (authority, parent),
        "object_page": (warehouse, path, 1, "", PAGE),
        "object_page, late": (warehouse, path, 1, name_of(9 * N // 10), PAGE),
    }


FEW_PAGES, PAGE = 60, 101  # what a statement about one row may touch in its indexes; names of a page


def check_postgres(server, name, values, mode):
    """Carries a statement out and takes it back; counts the pages that were touched."""
    import psycopg
    from psycopg import sql
    with psycopg.connect(server.db.uri) as db:
        db.execute(f"SET LOCAL plan_cache_mode = force_{mode}_plan")
        db.execute(sql.SQL("PREPARE x AS ") + sql.SQL(statement(name.split(",")[0], "pg")))
        explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE x ({})").format(
            sql.SQL(", ").join(map(sql.Literal, values)))
        for _ in range(2):  # the first time a session reads the catalogs too
            db.execute("SAVEPOINT s")
            row = db.execute(explain).fetchone()
            db.execute("ROLLBACK TO s")
        db.rollback()
    plan, touched = json.dumps(row[0]), row[0][0]["Plan"]["Shared Hit Blocks"] + row[0][0]["Plan"]["Shared Read Blocks"]
    most = FEW_PAGES + (PAGE if name.startswith("object_page") else 0)  # a look at each row, before a vacuum
    assert touched <= most, f"{name}, {mode}: {touched} pages: {plan}"
    assert '"Sort"' not in plan, f"{name}, {mode}: {plan}"


def check_sqlite(server, name, values):
    """No statement goes through a table, none sorts."""
    db = sqlite3.connect(server.db.path)
    db.create_collation("C", lambda a, b: (a > b) - (a < b))
    rows = db.execute("EXPLAIN QUERY PLAN " + statement(name.split(",")[0], "lite"),
                      {str(i): v for i, v in enumerate(values, 1)}).fetchall()
    db.close()
    plan = "; ".join(row[3] for row in rows)
    assert not re.search(r"SCAN (object|location|namespace|[lbnoc])\b|TEMP B-TREE", plan), f"{name}: {plan}"


def test_what_the_database_reads(server, crowd):
    """For one table among many a few pages, whatever PostgreSQL knows of their number."""
    if server.db.kind == "sqlite":
        for name, values in samples(server, crowd).items():
            check_sqlite(server, name, values)
        return
    for known in (False, True):
        for table in ("object", "location", "namespace") if known else ():
            server.sql(f"VACUUM ANALYZE {table}")
        for name, values in samples(server, crowd).items():
            for mode in ("generic", "custom"):
                check_postgres(server, name, values, mode)
