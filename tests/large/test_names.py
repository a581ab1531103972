"""100,000 tables in one namespace: every operation costs what it costs in an empty one."""

import statistics
import time

import pytest

from firn_client import Table, ns_path, set_properties, simple, table_path

N = 100_000


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
    assert memory.peak() < 8


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
