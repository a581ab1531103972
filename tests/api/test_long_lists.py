"""Lists that are sent piece by piece, while they are read."""

import json
import re
import signal
import socket
import struct
import zlib

import pytest

import crowd
from firn_client import Api, enc, eventually, levels_of, ns_path
from firn_server import Server
from wire import GET, Wire

pytestmark = pytest.mark.long

BATCH = 2000      # names that are read at once
ROOM = 16 * 1024  # of a client that does not read
LONG = ["x" * 255] * 7


def path_of(kind, ns):
    if kind == "namespaces":
        return "/v1/namespaces?parent=" + "%1F".join(enc(level) for level in levels_of(ns))
    return f"{ns_path(ns)}/{kind}"


def filled(server, kind, ns, n):
    """The answer that lists them."""
    if kind == "namespaces":
        return {"namespaces": [[*levels_of(ns), name] for name in crowd.namespaces(server, ns, n)]}
    names = crowd.objects(server, ns, n, crowd.TABLE if kind == "tables" else crowd.VIEW)
    return {"identifiers": [{"namespace": levels_of(ns), "name": name} for name in names]}


def whole(api, path, **headers):
    """Not compared with the description, which takes long."""
    return api.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()}, check=False).ok()


def pages_of(api, path):
    token, found = "", []
    while token is not None:
        page = whole(api, f"{path}{'&' if '?' in path else '?'}pageToken={token}&pageSize=1500").json
        token = page.pop("next-page-token", None)
        found += page.popitem()[1]
    return found


def ask(path, head="", version="1.1"):
    return f"GET {path} HTTP/{version}\r\nHost: h\r\n{head}\r\n"


@pytest.fixture(scope="module")
def long(server):
    """A namespace of many levels, which are written with each name: 7 MB, more than lie between a server and a
    client that does not read. Its list, and the text of it."""
    api = Api(server)
    ns = [api.new_name(), *LONG]
    api.create_namespace(ns).ok()
    wanted = filled(server, "tables", ns, 4_000)
    api.close()
    return path_of("tables", ns), wanted, json.dumps(wanted, separators=(",", ":")).encode()


@pytest.mark.parametrize("kind", ["tables", "views", "namespaces"])
def test_whole_as_the_pages_are(server, api, kind):
    """The same names whether they fit in one piece or not; what is long comes in chunks, the rest as always."""
    for n in (1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 2 * BATCH + 1):
        ns = api.new_namespace()
        wanted = filled(server, kind, ns, n)
        path = path_of(kind, ns)
        for headers in ({}, {"Accept_Encoding": "gzip"}):
            answer = whole(api, path, **headers)
            assert answer.json == wanted, f"{n} {headers}"
            assert (answer.header("Transfer-Encoding") == "chunked") == (n >= BATCH)
            assert (answer.header("Content-Length") is None) == (n >= BATCH)
            assert (answer.header("Content-Encoding") == "gzip") == (bool(headers) and n > 1)
            assert answer.header("Vary") == ("Accept-Encoding" if n > 1 else None)
            assert answer.header("Cache-Control") == "no-store"
        assert pages_of(api, path) == [*wanted.values()][0]


def test_long_namespaces(server, api, long):
    """A piece is as long in bytes, not in names; it packs well."""
    path, wanted, text = long
    plain, packed = whole(api, path), whole(api, path, Accept_Encoding="gzip")
    assert plain.body == packed.body == text
    assert len(packed.raw) < len(text) / 50
    assert pages_of(api, path) == wanted["identifiers"]


@pytest.mark.parametrize("packed", [False, True])
def test_clients_that_know_no_chunks(server, long, packed):
    """HTTP/1.0: the end of the connection is the end of the list."""
    path, _, text = long
    with Wire(server, timeout=60) as wire:
        wire.send(ask(path, "Accept-Encoding: gzip\r\n" if packed else "", "1.0"))
        head, _, body = wire.all().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.0 200") or head.startswith(b"HTTP/1.1 200")
        assert b"chunked" not in head
        assert (zlib.decompress(body, 31) if packed else body) == text


def test_what_follows_on_the_connection(server, long):
    """The next request, sent with the first, is answered after it."""
    path, _, text = long
    with Wire(server, timeout=60) as wire:
        wire.send(ask(path) + GET + ask(path))
        assert wire.answer()[2] == text
        status, headers, _ = wire.answer()
        assert status == 200 and "content-length" in headers
        assert wire.answer()[2] == text


def line_of(server, ident):
    return server.wait_log(rf"^.*\b{ident}\b.*$").group(0)


def field(line, name):
    return re.search(rf"\b{name}=(\S+)", line).group(1)


def test_what_the_log_says(server, api, long):
    """Status and size of all of it, once it is sent."""
    path, _, text = long
    eventually(lambda: server.metric("firn_connections") == 0)  # so all lists before are counted
    answered = server.metric("firn_requests_total", operation="listTables")
    answer = whole(api, path, Accept_Encoding="gzip", X_Request_ID="all-of-it")
    line = line_of(server, "all-of-it")
    assert field(line, "status") == "200" and field(line, "bytes") == str(len(answer.raw))
    assert server.metric("firn_requests_total", operation="listTables") == answered + 1


@pytest.mark.parametrize("packed", [False, True])
def test_head(server, api, long, packed):
    """Nothing comes behind the head that would pass for the next answer."""
    path, _, _ = long
    head = f"X-Request-ID: head-{packed}\r\n" + ("Accept-Encoding: gzip\r\n" if packed else "")
    with socket.create_connection(server.host_port, timeout=30) as wire:
        wire.sendall(ask(path, head).replace("GET", "HEAD", 1).encode())
        told = b"".join(iter(lambda: wire.recv(1 << 16), b""))
    assert told.startswith(b"HTTP/1.1 200 ") and told.endswith(b"\r\n\r\n") and told.count(b"\r\n\r\n") == 1
    assert field(line_of(server, f"head-{packed}"), "status") == "200"
    assert [api.request("HEAD", path, check=False).status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("packed", [False, True])
def test_clients_that_go_away(server, api, long, packed):
    """In the midst of it, politely or not: nothing is left of them."""
    path, _, text = long
    for i in range(8):
        with Wire(server, room=ROOM) as wire:
            wire.send(ask(path, f"X-Request-ID: gone-{packed}-{i}\r\n" + ("Accept-Encoding: gzip\r\n" if packed else "")))
            assert wire.head()[0] == 200
            if i % 2:
                wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for i in range(8):
        line = line_of(server, f"gone-{packed}-{i}")
        if not packed:  # all of it may have been on its way
            assert field(line, "status") == "gone" and int(field(line, "bytes")) < len(text)
    assert whole(api, path).body == text


def test_a_client_that_does_not_read():
    """It is waited for as long as for any other that says nothing; meanwhile the database is not asked for it."""
    with Server(env={"FIRN_IDLE_TIMEOUT": "3", "FIRN_PURGE_RATE": "0"}) as firn:
        api = Api(firn)
        ns = [api.new_name(), *LONG]
        api.create_namespace(ns).ok()
        api.close()
        filled(firn, "tables", ns, 10_000)
        before = firn.metric("firn_sql_statements_total")
        with Wire(firn, room=ROOM) as wire:
            wire.send(ask(path_of("tables", ns), "X-Request-ID: silent\r\n"))
            assert field(line_of(firn, "silent"), "status") == "gone"
            asked = firn.metric("firn_sql_statements_total") - before
            with pytest.raises((EOFError, ConnectionError)):
                wire.answer()
        whole(api, path_of("tables", ns))
        assert asked < firn.metric("firn_sql_statements_total") - before - asked
        api.close()


@pytest.mark.parametrize("reads", [True, False])
def test_a_stop_in_the_midst(reads):
    """A list that is being sent is finished, if its client reads it within the drain."""
    firn = Server(env={"FIRN_DRAIN_TIMEOUT": "60" if reads else "1"}).start()
    api = Api(firn)
    ns = [api.new_name(), *LONG]
    api.create_namespace(ns).ok()
    wanted = filled(firn, "tables", ns, 10_000)
    api.close()
    with Wire(firn, timeout=60, room=ROOM) as wire:
        wire.send(ask(path_of("tables", ns)))
        assert wire.head()[0] == 200
        firn.signal(signal.SIGTERM)
        firn.wait_log("draining")
        if reads:
            assert json.loads(b"".join(wire.chunks())) == wanted
        assert firn.wait() == 0
        if not reads:
            with pytest.raises((EOFError, ConnectionError)):
                b"".join(wire.chunks())
    firn.check_log()
    firn.start()
    firn.close()
