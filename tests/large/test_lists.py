"""Lists of 100,000 names cost the memory of a piece of them, whoever reads them and how many."""

import contextlib

import pytest

import crowd
from conftest import Memory
from firn_client import Api, in_parallel, ns_path
from firn_server import Server
from wire import Wire

N = 100_000
PIECE = 1 << 18  # bytes, about
LEVELS = ["x" * 255] * 7  # written with each name: so that a list is longer than what lies between server and client


def path_of(kind, ns):
    return f"/v1/namespaces?parent={ns}" if kind == "namespaces" else f"{ns_path(ns)}/{kind}"


def ask(api, path, **headers):
    return api.request("GET", path, headers=headers, check=False).expect(200)


def pages_of(api, path):
    token, found = "", []
    while token is not None:
        page = ask(api, f"{path}{'&' if '?' in path else '?'}pageToken={token}&pageSize=10000").json
        token = page.pop("next-page-token", None)
        found += page.popitem()[1]
    return found


@pytest.mark.parametrize("kind", ["tables", "views", "namespaces"])
def test_whole_as_the_pages_are(server, api, kind, memory):
    """Plain and packed, each name once, in order."""
    ns = api.new_namespace()
    if kind == "namespaces":
        names = crowd.namespaces(server, ns, N)
        member, wanted = "namespaces", [[ns, name] for name in names]
    else:
        names = crowd.objects(server, ns, N, crowd.TABLE if kind == "tables" else crowd.VIEW)
        member, wanted = "identifiers", [{"namespace": [ns], "name": name} for name in names]
    path = path_of(kind, ns)
    ask(api, f"{path}{'&' if '?' in path else '?'}pageToken=&pageSize=2000")
    memory.begin()
    plain, packed = ask(api, path), ask(api, path, **{"Accept-Encoding": "gzip"})
    assert memory.peak() <= (4 if server.db.kind == "sqlite" else 2)  # SQLite keeps 2 MB of pages in a connection
    assert plain.json == {member: wanted}
    assert packed.body == plain.body and len(packed.raw) < len(plain.raw) / 10
    assert pages_of(api, path) == wanted


def slow_one(firn, path, stack):
    wire = stack.enter_context(Wire(firn, timeout=60, room=16 * 1024))
    wire.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.head()[0] == 200
    return wire


def test_many_who_do_not_read():
    """Each holds a piece, not a list; and each goes on where it was."""
    clients, n = 64, 10_000
    with Server(env={"FIRN_LOG_LEVEL": "info", "FIRN_PURGE_RATE": "0"}) as firn, contextlib.ExitStack() as stack:
        api, memory = Api(firn), Memory(firn)
        ns = [api.new_name(), *LEVELS]
        api.create_namespace(ns).ok()
        crowd.objects(firn, ns, n)
        path = path_of("tables", ns)
        text = ask(api, path).body
        assert len(text) > 16_000_000
        before = firn.metric("firn_sql_statements_total")
        ask(api, path)
        one = firn.metric("firn_sql_statements_total") - before
        memory.begin()
        wires = [slow_one(firn, path, stack) for _ in range(clients)]
        last, now = 0, -1
        while last != now:  # until all are stuck
            last, now = now, firn.metric("firn_sql_statements_total") - before - one
            ask(api, "/v1/config")
        assert now < clients * one
        assert memory.peak() < (2 * clients * PIECE >> 20) + 8
        for wire in wires[::8]:
            assert b"".join(wire.chunks()) == text
        api.close()


def test_a_small_lane():
    """Where requests are refused because too many wait, no list that has begun is cut short."""
    with Server(env={"FIRN_SLOW_THREADS": "1", "FIRN_SLOW_QUEUE": "1", "FIRN_LOG_LEVEL": "info"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        crowd.objects(firn, ns, 20_000)
        text = ask(api, path_of("tables", ns)).body

        def read(_):
            client, seen = Api(firn), []
            for _ in range(4):
                answer = client.request("GET", path_of("tables", ns), check=False).expect(200, 503)
                assert answer.status == 503 or answer.body == text
                seen.append(answer.status)
            client.close()
            return seen

        seen = sum(in_parallel(12, read), [])
        assert 200 in seen
        api.close()
