"""HTTP on the wire, byte by byte: what is refused, what is tolerated, and that no answer is anything
but one well-formed message."""

import json
import os
import signal
import socket
import time

import pytest

from firn_client import SLOWNESS, Api, eventually, ns_path, set_properties, simple, table_path
from firn_server import Server
from wire import BODY, GET, REFUSED, REFUSED_BY_LIBRARY, SMUGGLED, Wire, error, refused, smuggling


def after(server):
    """The server still answers."""
    with Wire(server) as wire:
        wire.send(GET)
        assert wire.answer()[0] == 200


def serves(server):
    try:
        after(server)
    except (OSError, EOFError):
        return False
    return True


@pytest.fixture(autouse=True)
def still_alive(server):
    yield
    after(server)


# --- what is refused --------------------------------------------------------------


@pytest.mark.parametrize("request_", REFUSED, ids=range(len(REFUSED)))
def test_requests_with_two_readings(server, request_):
    """Refused with one error document and the connection is closed, so that no rest is taken for a next request."""
    refused(server, request_)
    api = Api(server)
    api.head("/v1/namespaces/smuggled").expect(404)
    api.close()


@pytest.mark.parametrize("status,request_", REFUSED_BY_LIBRARY, ids=range(len(REFUSED_BY_LIBRARY)))
def test_requests_that_the_library_refuses(server, status, request_):
    """In our words, once, and nothing of them stays."""
    refused(server, request_, status)
    eventually(lambda: server.metric("firn_connections") == 0)


def test_a_line_of_one_word(server):
    """Is no request: the connection ends."""
    with Wire(server) as wire:
        wire.send("GET\r\nHost: h\r\n\r\n", GET)
        assert wire.closed() and wire.rest == b""


def test_refusals_of_a_head(server, impatient):
    """Have no body, whoever refuses: the library, or the clock."""
    for status, firn, body in ((400, server, "Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
                               (408, impatient, "Content-Length: 10\r\n\r\n")):
        with Wire(firn) as wire:
            wire.send("HEAD /v1/namespaces/zz HTTP/1.1\r\nHost: h\r\n", body)
            got, headers, _ = wire.answer(head=True)
            assert got == status and int(headers["content-length"]) > 0
            assert wire.closed(), wire.rest


def test_refusals_are_logged(server):
    """As other requests are, also those of which no line could be read; a head that came in lends its id."""
    refused(server, "GET /v1/config HTTP/7.0\r\nHost: h\r\n\r\n", 505)
    server.wait_log("event=request .*status=505 .*kind=HTTP_VERSION")
    with Wire(server) as wire:
        wire.send("POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nX-Request-ID: chunk-1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        status, headers, _ = wire.answer()
        assert status == 400 and headers["x-request-id"] == "chunk-1"
    server.wait_log("event=request id=chunk-1 .*status=400")


def test_refusals_behind_answers(server):
    """What was answered before on the connection arrives; what comes behind is read away."""
    with Wire(server) as wire:
        wire.send(GET * 3, "GET /v1/config HTTP/1.1\r\nno colon\r\n\r\n")
        assert [wire.answer()[0] for _ in range(3)] == [200] * 3
        error(wire.answer(), 400)
        wire.send("x" * 1_000_000)
        assert wire.closed()


def test_nothing_is_smuggled(server):
    """A body that looks like a request, behind two lengths: never executed."""
    api = Api(server)
    api.create_namespace("victim").expect(200, 409)
    for head in SMUGGLED:
        with Wire(server) as wire:
            wire.send(smuggling(head))
            error(wire.answer(), 400)
            assert wire.closed(), head
    api.head("/v1/namespaces/victim").expect(204)
    api.close()


def test_http_1_0_needs_no_host(server):
    """And its connection ends with the answer."""
    with Wire(server) as wire:
        wire.send("GET /v1/config HTTP/1.0\r\n\r\n")
        assert wire.answer()[0] == 200
        assert wire.closed()


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "If-None-Match", "Idempotency-Key"])
def test_repeated_headers_that_decide_something(server, name):
    """Twice is ambiguous: 400 (If-None-Match may also be read as one list)."""
    with Wire(server) as wire:
        wire.send(f"GET /v1/config HTTP/1.1\r\nHost: h\r\n{name}: a\r\n{name}: b\r\n\r\n")
        status = wire.answer()[0]
        assert status == 400 or (name == "If-None-Match" and status == 200)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:8181", "https://localhost"])
def test_foreign_origins(server, origin):
    """What scripts of web pages send carries Origin: 403, on reads and changes alike, nothing done."""
    for method, path, body in (("GET", "/v1/config", ""), ("POST", "/v1/namespaces", '{"namespace":["browser"]}'),
                               ("OPTIONS", "/v1/namespaces", "")):
        with Wire(server) as wire:
            wire.send(f"{method} {path} HTTP/1.1\r\nHost: h\r\nOrigin: {origin}\r\nContent-Length: {len(body)}\r\n\r\n{body}")
            got = wire.answer()
            error(got, 403, "ForbiddenException")
            assert not any(h.startswith("access-control-") for h in got[1])
    api = Api(server)
    api.head("/v1/namespaces/browser").expect(404)
    api.close()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "Get", "PROPFIND", "X", "GETX",
                                    "DELETE"])
def test_methods_that_are_not_allowed(server, method):
    """405 with Allow, as an error document."""
    with Wire(server) as wire:
        wire.send(f"{method} /v1/config HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        got = wire.answer()
        error(got, 405)
        assert got[1]["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path,allow", [
    ("/v1/namespaces", {"GET", "HEAD", "POST"}), ("/v1/namespaces/a", {"GET", "HEAD", "DELETE"}),
    ("/v1/namespaces/a/tables", {"GET", "HEAD", "POST"}), ("/v1/namespaces/a/tables/t", {"GET", "HEAD", "POST", "DELETE"}),
    ("/v1/tables/rename", {"POST"}), ("/v1/namespaces/a/register", {"POST"}), ("/v1/namespaces/a/properties", {"POST"})])
def test_allow_lists_what_there_is(server, path, allow):
    """The methods of the path, with and without a prefix."""
    for put in (f"PUT {path}", f"PUT {path.replace('/v1/', '/v1/p/')}"):
        with Wire(server) as wire:
            wire.send(f"{put} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{{}}", GET)
            got = wire.answer()
            error(got, 405)
            assert set(got[1]["allow"].split(", ")) == allow
            assert wire.answer()[0] == 200


def test_large_heads(server):
    """18 KB with a bearer token of 16 are fine."""
    with Wire(server) as wire:
        others = "".join(f"X-Header-{i}: {'y' * 90}\r\n" for i in range(20))
        wire.send(f"GET /v1/config HTTP/1.1\r\nHost: h\r\n{others}Authorization: Bearer {'x' * 16000}\r\n\r\n")
        assert wire.answer()[0] == 200


def test_many_headers(server):
    """A hundred are fine."""
    with Wire(server) as wire:
        wire.send("GET /v1/config HTTP/1.1\r\nHost: h\r\n" + "".join(f"X-{i}: y\r\n" for i in range(100)) + "\r\n")
        assert wire.answer()[0] == 200


def test_long_targets(server):
    """A path of 8 KB is looked at."""
    with Wire(server) as wire:
        wire.send(f"GET /v1/namespaces/{'x' * 8000} HTTP/1.1\r\nHost: h\r\n\r\n")
        error(wire.answer(), 400)


def test_fragments(server):
    """Part of the path, which then is none."""
    with Wire(server) as wire:
        wire.send("GET /v1/config#x HTTP/1.1\r\nHost: h\r\n\r\n")
        error(wire.answer(), 404)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, gzip", "x"])
def test_compressed_bodies(server, coding):
    """415: request bodies come as they are."""
    with Wire(server) as wire:
        wire.send(f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Encoding: {coding}\r\nContent-Length: 26\r\n\r\n{BODY}")
        error(wire.answer(), 415)


# --- what is tolerated ----------------------------------------------------------------


def test_absolute_targets(server):
    """`GET http://host/path` is understood for the host it talks to."""
    host, port = server.host_port
    for path in ("/v1/config", "/v1/namespaces?pageToken="):
        with Wire(server) as wire:
            wire.send(f"GET http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
            assert wire.answer()[0] == 200


def test_upgrade_is_ignored(server):
    """Java's client offers `Upgrade: TLS/1.2`; h2c is offered by others."""
    for upgrade in ("TLS/1.2", "h2c", "websocket"):
        with Wire(server) as wire:
            wire.send(f"GET /v1/config HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n"
                      "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", GET)
            assert wire.answer()[0] == 200 and wire.answer()[0] == 200


def test_content_type_on_requests_without_a_body(server, api):
    """Java sends it with every GET, HEAD and DELETE."""
    ns = api.new_namespace()
    for method in ("GET", "HEAD", "DELETE"):
        api.request(method, ns_path(ns), headers={"Content-Type": "application/json", "Accept": "application/json"}).expect(
            200, 204)


@pytest.mark.parametrize("kind", [None, "application/json; charset=UTF-8", "text/plain", "application/x-www-form-urlencoded",
                                  "application/octet-stream", ""])
def test_content_types_of_bodies_are_not_policed(server, api, kind):
    """Clients send all kinds, or none."""
    name = api.new_name()
    api.request("POST", "/v1/namespaces", json.dumps({"namespace": [name]}).encode(),
                {} if kind is None else {"Content-Type": kind}).ok()


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/html", "application/xml;q=0.9", ""])
def test_any_accept(server, api, accept):
    """The answer is JSON, whatever a client would like best."""
    api.request("GET", "/v1/config", headers={} if accept is None else {"Accept": accept}).ok()


def chunked(text, size):
    data = text.encode()
    pieces = [data[i:i + size] for i in range(0, len(data), size)]
    return b"".join(f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("size", [1, 7, 100000])
def test_chunked_bodies(server, api, size):
    """ClickHouse sends no Content-Length."""
    ns, name = api.new_namespace(), "t"
    with Wire(server) as wire:
        wire.send(f"POST {ns_path(ns)}/tables HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
                  chunked(json.dumps({"name": name, "schema": simple()}), size), GET)
        assert wire.answer()[0] == 200
        assert wire.answer()[0] == 200
    assert api.names(ns) == ["t"]


def test_chunk_extensions_and_trailers(server, api):
    """They are read over."""
    with Wire(server) as wire:
        name = api.new_name()
        body = json.dumps({"namespace": [name]})
        wire.send("POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                  f"{len(body):X};a=b\r\n{body}\r\n0\r\nX-Trailer: y\r\n\r\n")
        assert wire.answer()[0] in (200, 400)


@pytest.mark.parametrize("chunks", ["x\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\n", "5\r\nabc\r\n0\r\n\r\n", "1\r\naX0\r\n\r\n"])
def test_malformed_chunks(server, chunks):
    """400, or the end of the connection where the client's comes before a fault."""
    with Wire(server) as wire:
        wire.send("POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        wire.socket.shutdown(socket.SHUT_WR)
        try:
            error(wire.answer(), 413 if chunks[0] == "f" else 400)
        except (EOFError, ConnectionError):
            assert chunks[0] not in "-f1"


def test_body_in_small_pieces(server, api):
    """A request may come byte by byte."""
    name = api.new_name()
    body = json.dumps({"namespace": [name]})
    text = f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with Wire(server) as wire:
        for byte in text.encode():
            wire.send(bytes([byte]))
        assert wire.answer()[0] == 200


def test_expect_100_continue(server, api):
    """curl waits for 100 before it sends a large body; a refusal comes before the body."""
    name = api.new_name()
    body = json.dumps({"namespace": [name], "properties": {"a": "x" * 100000}})
    with Wire(server) as wire:
        wire.send(f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n")
        assert wire.answer()[0] == 100
        wire.send(body)
        assert wire.answer()[0] == 200
    for path, length, status in (("/v1/nothing", 10, 404), ("/v1/namespaces", 200 * 1024 * 1024, 413)):
        with Wire(server) as wire:
            wire.send(f"POST {path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n")
            error(wire.answer(), status)


def test_pipelined_requests(server):
    """Sent at once, answered in order."""
    with Wire(server) as wire:
        wire.send(GET * 20 + "GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n" + "HEAD /v1/namespaces/zz HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
        for _ in range(20):
            assert wire.answer()[0] == 200
        assert wire.answer()[0] == 404
        assert wire.answer(head=True)[0] == 404
        assert wire.answer()[0] == 200


def test_connections_are_kept(server):
    """A connection serves many requests, of both lanes, errors included, until the client says close."""
    with Wire(server) as wire:
        for i in range(50):
            path = ("/v1/config", "/v1/namespaces", "/v1/nothing", "/v1/namespaces/none", "/v1/namespaces?pageSize=0")[i % 5]
            wire.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
            assert wire.answer()[0] == (200, 200, 404, 404, 400)[i % 5]
        wire.send("GET /v1/config HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        status, headers, _ = wire.answer()
        assert status == 200 and headers["connection"].lower() == "close"
        assert wire.closed()


def test_http_1_0_keep_alive(server):
    """Only when asked for."""
    with Wire(server) as wire:
        wire.send("GET /v1/config HTTP/1.0\r\nHost: h\r\n\r\n")
        assert wire.answer()[0] == 200 and wire.closed()


def test_request_ids(server, api):
    """X-Request-ID comes back when it is one, else the trace id of traceparent, else a new one."""
    assert api.request("GET", "/v1/config", headers={"X-Request-ID": "abc-123_x"}).header("X-Request-ID") == "abc-123_x"
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    got = api.request("GET", "/v1/config", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    assert trace in got.header("X-Request-ID")
    for bad in ("x" * 300, "a b", "a\tb", "\u00fc"):
        got = api.request("GET", "/v1/config", headers={"X-Request-ID": bad.encode("utf-8").decode("latin-1")})
        assert got.header("X-Request-ID") and got.header("X-Request-ID") != bad
    ids = {api.get("/v1/config").header("X-Request-ID") for _ in range(10)}
    assert len(ids) == 10
    with Wire(server) as wire:
        wire.send("GET /v1/nothing HTTP/1.1\r\nHost: h\r\nX-Request-ID: find-me-1\r\n\r\n")
        assert wire.answer()[1]["x-request-id"] == "find-me-1"
    server.wait_log("find-me-1")


def test_headers_of_answers(server):
    """Nothing sniffs, nothing is cached by others, nothing is said about our insides."""
    with Wire(server) as wire:
        wire.send(GET)
        _, headers, _ = wire.answer()
        assert headers["x-content-type-options"] == "nosniff"
        assert "no-store" in headers["cache-control"]
        assert "server" not in headers and "x-powered-by" not in headers
        assert "date" in headers


def test_unseparated_separator_byte(server, api):
    """DuckDB writes the separator as the raw byte 0x1F into the request line."""
    ns = api.new_name()
    api.create_namespace([ns, "b"]).ok()
    with Wire(server) as wire:
        wire.send(f"GET /v1/namespaces/{ns}\x1fb HTTP/1.1\r\nHost: h\r\n\r\n")
        status, _, body = wire.answer()
        assert status == 200 and json.loads(body)["namespace"] == [ns, "b"]
        wire.send(f"GET /v1/namespaces?parent={ns}\x1fb HTTP/1.1\r\nHost: h\r\n\r\n")
        assert wire.answer()[0] == 200


def test_raw_utf8_in_a_path(server, api):
    """Bytes beyond ASCII that a client did not encode are taken as the UTF-8 they are, or refused."""
    ns = api.new_name()
    api.create_namespace([ns, "\u00fc"]).ok()
    with Wire(server) as wire:
        wire.send(f"GET /v1/namespaces/{ns}%1F".encode() + "\u00fc".encode() + b" HTTP/1.1\r\nHost: h\r\n\r\n")
        assert wire.answer()[0] in (200, 400)
    with Wire(server) as wire:
        wire.send(f"GET /v1/namespaces/{ns}%1F".encode() + b"\xfc HTTP/1.1\r\nHost: h\r\n\r\n")
        assert wire.answer()[0] == 400


def test_delete_of_clickhouse(server, api):
    """ClickHouse repeats a DELETE that was answered 204 and reports the second one's 404: it gets 200."""
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    answer = api.request("DELETE", f"{ns_path(ns)}/tables/t?purgeRequested=False",
                         headers={"User-Agent": "ClickHouse/26.9.2.1"}, check=False)
    assert answer.status == 200 and answer.body == b"{}"
    api.create(ns, "t").ok()
    api.request("DELETE", f"{ns_path(ns)}/tables/t", headers={"User-Agent": "PyIceberg/0.12.0"}).expect(204)


def test_dotted_levels_of_clickhouse(api):
    """ClickHouse writes levels with dots in the path of a DROP and in the body that makes a namespace."""
    clickhouse = {"User-Agent": "ClickHouse/26.9.2.1"}
    a = api.new_name()
    made = api.request("POST", "/v1/namespaces", {"namespace": [a + ".b.c"]}, clickhouse).ok()
    assert made.json["namespace"] == [a, "b", "c"]
    api.request("POST", "/v1/namespaces", {"namespace": [a + ".b.c"]}, clickhouse).fails(409)
    api.create([a, "b", "c"], "t.t").ok()
    api.create_namespace(a + ".b.c").ok()
    api.create(a + ".b.c", "t.t").ok()
    path = f"/v1/namespaces/{a}.b.c/tables/t.t?purgeRequested=False"
    assert api.request("DELETE", path, headers=clickhouse, check=False).status == 200
    api.head(table_path([a, "b", "c"], "t.t")).expect(404)
    api.head(table_path(a + ".b.c", "t.t")).expect(204)
    api.request("DELETE", path, headers=clickhouse).fails(404, "NoSuchTableException")
    api.request("DELETE", f"/v1/namespaces/{a}..c/tables/t", headers=clickhouse).fails(400)
    for odd in ({"namespace": [a + "..c"]}, {"namespace": []}, {"namespace": [1]}, {"namespace": "x.y"}, [], 1):
        api.request("POST", "/v1/namespaces", odd, clickhouse).fails(400)
    api.delete(path).expect(204)


# --- time ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def impatient():
    with Server(env={"FIRN_HEAD_TIMEOUT": "1", "FIRN_BODY_TIMEOUT": "1", "FIRN_IDLE_TIMEOUT": "1",
                     "FIRN_CONNECTION_LIMIT": "40"}) as firn:
        yield firn


def test_slow_heads_and_bodies_are_ended(impatient):
    """A client that trickles is told so and cut off, however steadily the bytes come."""
    for start in ("GET /v1/config HTTP/1.1\r\nHost: h\r\nX: ",
                  "POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{"):
        with Wire(impatient) as wire:
            begin = time.monotonic()
            wire.send(start)
            try:
                while time.monotonic() - begin < 40 * SLOWNESS:
                    wire.send("x")
                    time.sleep(0.1)
                    wire.socket.setblocking(False)
                    try:
                        if not wire.more() or wire.rest:
                            break
                    except BlockingIOError:
                        pass
                    finally:
                        wire.socket.settimeout(10)
            except ConnectionError:
                pass
            assert 0.5 < time.monotonic() - begin < 30 * SLOWNESS
            if wire.rest:
                error(wire.answer(), 408)
                assert wire.closed()
    after(impatient)


def test_a_change_has_its_time_behind_its_last_byte():
    """A body may come in as slowly as FIRN_BODY_TIMEOUT allows: FIRN_REQUEST_TIMEOUT begins then."""
    with Server(env={"FIRN_REQUEST_TIMEOUT": str(SLOWNESS)}) as firn:
        api = Api(firn)
        table = api.table(api.new_namespace())
        body = json.dumps({"updates": [set_properties(a="b")]})

        def slowly():
            with Wire(firn) as wire:
                wire.send(f"POST {table.path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n", body[:9])
                time.sleep(1.2 * SLOWNESS)
                wire.send(body[9:])
                return wire.answer()[0]

        assert any(slowly() == 200 for _ in range(5))
        api.close()


def test_clients_that_go_away(impatient):
    """Connections cut in the head, in the body, and before the answer was read are not kept for ever."""
    body = '{"namespace":["gone"]}'
    whole = f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    for cut in (0, 1, 10, 40, len(whole) - len(body), len(whole) - 1, len(whole)):
        for _ in range(5):
            wire = Wire(impatient)
            wire.send(whole[:cut])
            wire.socket.close()
    eventually(lambda: serves(impatient))  # so all that came before were accepted
    eventually(lambda: impatient.metric("firn_connections") == 0)


@pytest.fixture(scope="module")
def patient():
    """Only what clients do ends a connection."""
    with Server(env={"FIRN_HEAD_TIMEOUT": "600", "FIRN_BODY_TIMEOUT": "600", "FIRN_IDLE_TIMEOUT": "600",
                     "FIRN_CONNECTION_LIMIT": "14", "FIRN_WORKERS": "1"}) as firn:
        yield firn


class Frozen:
    """What is sent meanwhile reaches the server at once, the end of the connection included."""

    def __init__(self, server):
        self.pid = server.pid

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


def test_ends_that_come_with_the_last_bytes(patient):
    """The limit is reached by clients that are gone before the first byte is read: those after them are served."""
    body = '{"namespace":["gone"]}'
    whole = f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    for _ in range(3):
        with Frozen(patient):
            for cut in (0, 1, 10, 40, len(whole) - len(body), len(whole) - 1, len(whole)) * 2:
                with Wire(patient) as wire:
                    wire.send(whole[:cut])
        after(patient)
        eventually(lambda: patient.metric("firn_connections") == 0)


def test_clients_that_end_their_side_are_answered(patient):
    """All that they sent before, and then the server ends its side too."""
    with Wire(patient, timeout=30) as wire:
        with Frozen(patient):
            wire.send("GET /v1/namespaces HTTP/1.1\r\nHost: h\r\n\r\n", GET)
            wire.socket.shutdown(socket.SHUT_WR)
        assert [wire.answer()[0] for _ in range(2)] == [200, 200]
        assert wire.closed()


@pytest.mark.long
def test_idle_connections_are_closed():
    """Quietly; a request within the time starts it anew."""
    with Server(env={"FIRN_IDLE_TIMEOUT": "3"}) as firn, Wire(firn, timeout=30) as wire:
        for _ in range(9):
            time.sleep(0.4)
            wire.send(GET)
            assert wire.answer()[0] == 200
        begin = time.monotonic()
        assert wire.closed() and wire.rest == b""
        assert time.monotonic() - begin > 0.5


def test_connection_limit(impatient):
    """Beyond the limit connections are not served; when others end, new ones are."""
    wires = []
    try:
        for _ in range(120):
            try:
                wires.append(Wire(impatient))
            except OSError:
                break
        assert impatient.metric("firn_connections") <= 42
        assert impatient.health("ready") == 200
    finally:
        for wire in wires:
            wire.socket.close()
    eventually(lambda: serves(impatient))
