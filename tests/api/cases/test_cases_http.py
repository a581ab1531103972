"""Reported cases B158 to B167: HTTP, bodies, and the form of errors."""

import gzip
import json
import subprocess

import pytest
from test_http import GET, Wire

from firn_client import Api, check_schema, ns_path, set_properties, simple, table_path
from firn_server import Server

MB = 1024 * 1024


def test_b158_an_offered_upgrade_is_declined(server):
    """Java offers TLS on plain connections: answered as if it had not."""
    with Wire(server) as wire:
        for method in ("GET", "HEAD", "OPTIONS"):
            wire.send(f"{method} /v1/config HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n")
            status, headers, _ = wire.answer(head=method == "HEAD")
            assert status == (405 if method == "OPTIONS" else 200)
            assert "upgrade" not in headers and "upgrade" not in headers.get("connection", "").lower()
        wire.send(GET)
        assert wire.answer()[0] == 200


ERRORS = [
    (400, "POST", "/v1/namespaces", b"{"), (400, "GET", "/v1/namespaces?pageToken=&pageSize=0", None),
    (400, "GET", "/v1/namespaces/%ZZ", None), (404, "GET", "/v1/nothing", None), (404, "GET", "/", None),
    (404, "GET", "/v1/config?warehouse=nope", None), (404, "GET", "/v1/nope/namespaces", None),
    (404, "GET", "/v1/namespaces/none", None), (404, "DELETE", "/v1/namespaces/none/tables/t", None),
    (404, "GET", "/v1/namespaces/none/views/v", None), (404, "GET", "/v1/namespaces/none/functions/f", None),
    (404, "POST", "/v1/tables/rename", {"source": {"namespace": ["none"], "name": "a"},
                                        "destination": {"namespace": ["none"], "name": "b"}}),
    (405, "PUT", "/v1/namespaces", b"{}"), (405, "DELETE", "/v1/config", None),
    (406, "POST", "/v1/namespaces/none/tables/t/plan", {}), (409, "POST", "/v1/namespaces", {"namespace": ["there"]}),
    (413, "POST", "/v1/namespaces", b" " * 5000), (414, "GET", "/v1/namespaces/" + "x" * 20000, None),
    (415, "POST", "/v1/namespaces", gzip.compress(b"{}")),
    (422, "POST", "/v1/namespaces/there/properties", {"updates": {"a": "b"}, "removals": ["a"]})]


@pytest.fixture(scope="module")
def strict():
    with Server(env={"FIRN_BODY_LIMIT": "4k"}) as firn:
        client = Api(firn)
        client.create_namespace("there").ok()
        yield client
        client.close()


@pytest.mark.parametrize("status,method,path,body", ERRORS, ids=[f"{e[0]}-{e[1]} {e[2][:40]}" for e in ERRORS])
def test_b160_every_error_has_one_form(strict, status, method, path, body):
    """Message, type and the status as an integer, as JSON."""
    headers = {"Content-Encoding": "gzip"} if status == 415 else {}
    answer = strict.request(method, path, body, headers, check=False)
    assert answer.status == status, answer
    assert answer.header("Content-Type") == "application/json"
    check_schema("#/components/schemas/IcebergErrorResponse", answer.json)
    assert set(answer.json) == {"error"} and set(answer.error) == {"message", "type", "code"}
    assert answer.error["code"] == answer.status and isinstance(answer.error["code"], int)
    assert answer.error["type"].isalpha() and answer.error["message"]


BODIES = [b"", b"{", b"[]", b'"x"', b"[" * 10000, b'{"name":"a","name":"b"}', b'{"name":"a"}x', b'{"name":"a"}\0',
          b'{"name":"a\\u0000"}', b'{"name":"a","schema":{"type":"struct","type":"list"}}']


@pytest.mark.parametrize("body", BODIES, ids=lambda b: ascii(b[:24])[2:-1])
def test_b161_bodies_that_cannot_be_read(api, ns, table, body):
    """400 in words about the body, never a parser's own, on every operation that takes one."""
    for path in ("/v1/namespaces", f"{ns_path(ns)}/tables", table.path, f"{ns_path(ns)}/register", "/v1/tables/rename",
                 f"{ns_path(ns)}/properties", f"{ns_path(ns)}/views", "/v1/transactions/commit"):
        message = api.post(path, body).fails(400, "BadRequestException")["message"]
        assert not any(word in message.lower() for word in ("jansson", ".c:", "exception", "at 0x")), message
    assert api.names(ns) == [table.name] and api.view_names(ns) == []


def test_b161_the_place_is_named(api, ns):
    """A member of the wrong kind is told by its path; of two equal members none wins."""
    for path in (f"{ns_path(ns)}/tables", f"{ns_path(ns)}/register", f"{ns_path(ns)}/views"):
        api.post(path, {"name": 1}).fails(400, "BadRequestException", contains="/name")
    api.post(f"{ns_path(ns)}/tables", {"name": "t", "schema": {"type": "struct", "fields": [{"id": "x"}]}}).fails(
        400, contains="field 0 of 'schema'")
    for first, second in (("a", "b"), ("b", "a")):
        api.post("/v1/namespaces", f'{{"namespace":["{ns}{first}"],"namespace":["{ns}{second}"]}}'.encode()).fails(400)
        api.head(ns_path(ns + first)).expect(404)


def test_b161_the_same_in_a_stored_file_is_ours():
    """What a client did not send is no 400 of its request."""
    with Server(env={"FIRN_CACHE": "0"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        table = api.table(ns, "t")
        location = table.metadata_location
        good = api.store.read(location)
        for bad in (good[:-1], good + b"x", good[:1] + b'"format-version":2,' + good[1:], b"[" * 10000, good[:-1] + b"\0}"):
            api.store.write(location, bad)
            table.load().fails(500, "UnreadableMetadataException", contains=location)
        api.store.write(location, good)
        table.load().ok()
        api.close()


def chunks(data, size=65536):
    for at in range(0, len(data), size):
        piece = data[at:at + size]
        yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    yield b"0\r\n\r\n"


def big(size):
    texts = {f"k{i}": "x" * MB for i in range(size // MB)}
    return json.dumps({"updates": [{"action": "set-properties", "updates": texts}]}).encode()


def test_b164_chunked_bodies(server, table):
    """A large body without a length; one beyond the limit is refused while it comes; both ways to say
    the length at once are refused and the connection ends."""
    head = f"POST {table.path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
    with Wire(server) as wire:
        wire.send(head + "\r\n", *chunks(big(3 * MB)))
        assert wire.answer()[0] == 200
        wire.send(GET)
        assert wire.answer()[0] == 200
    assert len(table.metadata["properties"]["k2"]) == MB
    with Wire(server) as wire:
        try:
            wire.send(head + "\r\n", *chunks(b" " * 33 * MB, MB))
        except ConnectionError:
            pass
        assert wire.answer()[0] == 413
    with Wire(server) as wire:
        wire.send(head + "Content-Length: 5\r\n\r\n0\r\n\r\n")
        assert wire.answer()[0] == 400 and wire.closed()
    table.apply({"action": "remove-properties", "removals": ["k0", "k1", "k2"]})


def test_b164_curl_with_its_defaults(server, table, tmp_path):
    """It asks for leave before a large body, and calls everything a form."""
    file = tmp_path / "body"
    file.write_bytes(big(2 * MB))
    for more in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Content-Type: application/json"]):
        done = subprocess.run(["curl", "-s", "-o", tmp_path / "out", "-w", "%{http_code}", *more, "-d", f"@{file}",
                               server.url + table.path], capture_output=True, text=True, timeout=60)
        assert done.stdout == "200", (tmp_path / "out").read_text()[:300]
    with Wire(server) as wire:
        wire.send(f"POST {table.path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {64 * MB}\r\n\r\n")
        assert wire.answer()[0] == 413
    table.apply({"action": "remove-properties", "removals": ["k0", "k1"]})


def test_b166_compressed_answers(api, ns, table):
    """Only when asked for, as another coding of the same weakly tagged document."""
    table.apply(set_properties(text="some words " * 1000))
    plain = table.load().ok()
    assert plain.header("Content-Encoding") is None
    packed = [table.load(Accept_Encoding="gzip").ok() for _ in range(3)][-1]
    assert packed.header("Content-Encoding") == "gzip" and packed.json == plain.json
    for answer in (plain, packed):
        assert "accept-encoding" in answer.header("Vary").lower() and answer.etag.startswith('W/"')
    table.load(Accept_Encoding="gzip", If_None_Match=plain.etag).expect(304)
    for _ in range(2):
        assert table.load(Accept_Encoding="gzip;q=0").ok().header("Content-Encoding") is None


def test_b166_compressed_requests(api, ns):
    """415, and nothing is made of them."""
    body = gzip.compress(json.dumps({"name": "t", "schema": simple()}).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    api.request("POST", f"{ns_path(ns)}/tables", body, headers).fails(415, "BadRequestException", contains="Content-Encoding")
    assert api.names(ns) == []


def test_b167_content_types(api, ns):
    """Nobody minds one: clients send all kinds, with a body and without."""
    headers = {"Content-Type": "application/json", "Accept": "*/*"}
    for path in ("/v1/config", "/v1/namespaces", ns_path(ns)):
        for kind in headers["Content-Type"], "application/json; charset=UTF-8", "text/plain":
            api.request("GET", path, None, headers | {"Content-Type": kind}).ok()
    for i, kind in enumerate((None, "application/json", "application/json; charset=UTF-8", "text/plain")):
        named = json.dumps({"name": f"t{i}", "schema": simple()}).encode()
        api.request("POST", f"{ns_path(ns)}/tables", named, {"Content-Type": kind} if kind else {}).ok()
        api.request("DELETE", table_path(ns, f"t{i}"), None, {"Content-Type": "application/json"}).expect(204)
