"""Bad and very large input: a clear 4xx, nothing written, memory bounded."""

import contextlib
import socket

import pytest

from firn_client import SLOWNESS, Api, in_parallel, ns_path, set_properties, simple, struct
from firn_server import Server
from wire import Wire, error

LIMIT = 32 * 1024 * 1024
POST = "POST /v1/namespaces HTTP/1.1\r\nHost: h"


def routes_with_a_body(ns, table):
    return [("/v1/namespaces", "namespace"), (f"{ns_path(ns)}/properties", "updates"), (f"{ns_path(ns)}/tables", "name"),
            (f"{ns_path(ns)}/tables/{table}", "updates"), (f"{ns_path(ns)}/register", "name"),
            ("/v1/tables/rename", "source")]


NOT_JSON = [
    b"", b" ", b"{", b"}", b"[", b"x", b"\"x\"", b"1", b"null", b"true", b"[]", b"{]", b"{\"a\"}", b"{\"a\":}",
    b"{'a':1}", b"{\"a\":1,}", b"{\"a\":1 \"b\":2}", b"{a:1}", b"{\"a\":01}", b"{\"a\":1.}", b"{\"a\":+1}",
    b"{\"a\":NaN}", b"{\"a\":1e}", b"{\"a\":\"\t\"}", b"{\"a\":\"\\x\"}", b"{\"a\":\"\\u12\"}", b"{\"a\":\"",
    b"{}{}", b"{} x", b"{}\0", b"\0{}", b"{\"a\":1,\"a\":2}", b"{\"a\":{\"b\":1,\"b\":2}}", b"\xef\xbb\xbf{}",
    b"{\"a\":\"\xff\"}", b"// c\n{}", b"{\"a\":undefined}", b"[" * 10000, b"[" * 10000 + b"]" * 10000,
    b"{\"a\":" * 10000 + b"1" + b"}" * 10000, b"{\"a\":\"\\u0000\"}", b"{\"\\u0000\":1}", b"<xml/>", b"a=b&c=d"]


@pytest.mark.parametrize("body", NOT_JSON, ids=lambda b: ascii(b[:24]))
def test_bodies_that_are_not_json_objects(api, ns, table, body):
    """400 BadRequestException on every operation that has a body; texts name no parser of ours."""
    for path, _ in routes_with_a_body(ns, table.name):
        error = api.post(path, body).fails(400, "BadRequestException")
        assert "jansson" not in error["message"].lower() and ".c:" not in error["message"], error


def test_duplicate_members(api, ns):
    """Readers differ on which of two counts: refused, at any depth."""
    api.post("/v1/namespaces", b'{"namespace":["a1"],"namespace":["b1"]}').fails(400, "BadRequestException")
    api.post(f"{ns_path(ns)}/tables",
             b'{"name":"t","schema":{"type":"struct","type":"struct","schema-id":0,"fields":[]}}').fails(400)
    assert api.names(ns) == []


def test_whitespace_and_order_do_not_matter(api):
    """Ordinary JSON of any layout."""
    name = api.new_name()
    api.post("/v1/namespaces", f' \r\n\t{{ "properties" : {{ }} ,\n"namespace":[ "{name}" ] }} \n'.encode()).ok()


@pytest.mark.parametrize("depth,fine", [(40, True), (63, None), (65, False), (2000, False), (5_000_000, False)])
def test_nesting(api, ns, depth, fine):
    """64 levels, no more; also where a body is otherwise ignored."""
    body = b'{"namespace":["' + ns.encode() + b'"],"x":' + b"[" * depth + b"]" * depth + b"}"
    answer = api.post("/v1/namespaces", body).expect(400, 409)
    assert fine is None or (answer.status == 409) == fine, answer
    schema = b'{"type":"list","element-id":1,"element-required":true,"element":' * min(depth, 100000) + b'"int"' + \
        b"}" * min(depth, 100000)
    body = b'{"name":"t","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":false,' \
           b'"type":' + schema + b"}]}}"
    api.post(f"{ns_path(ns)}/tables", body).expect(*([400, 200] if depth < 64 else [400]))


def test_deep_schema(api, ns):
    """15 levels of structs are a table."""
    kind = "int"
    for i in range(15, 0, -1):
        kind = {"type": "struct", "fields": [{"id": i, "name": "f", "required": False, "type": kind}]}
    assert api.create(ns, "t", struct({"id": 99, "name": "a", "required": False, "type": kind})).ok().json[
        "metadata"]["last-column-id"] == 16


@pytest.mark.parametrize("shape", [b'"a",', b"1,", b"[],", b"{},", b'{"a":1},'])
def test_many_tokens(api, shape):
    """A body of very many small values is refused before a tree is made of it."""
    before = api.server.rss_kb()
    body = b'{"namespace":["x"],"y":[' + shape * 2_000_000 + b"1]}"
    api.post("/v1/namespaces", body).fails(400, "BadRequestException")
    assert api.server.rss_kb() - before < 200_000


def test_large_bodies_that_are_fine(api, ns, table):
    """Megabytes are no problem, only a single text has at most one."""
    texts = {f"big{i}": str(i) * 1_000_000 for i in range(8)}
    assert texts.items() <= table.apply(set_properties(**texts))["properties"].items()
    assert texts.items() <= table.metadata["properties"].items()
    table.commit(set_properties(big="x" * 1_100_000)).fails(400, "BadRequestException", contains="string")
    table.apply({"action": "remove-properties", "removals": list(texts)})


@pytest.mark.parametrize("size", [LIMIT + 1, 64 * 1024 * 1024])
def test_bodies_beyond_the_limit(api, ns, table, size):
    """413 as an error document, after the body was read away; the connection goes on; nothing is held."""
    before = api.server.rss_kb()
    body = b'{"updates":[{"action":"set-properties","updates":{"a":"' + b"x" * size + b'"}}]}'
    error = api.post(table.path, body).fails(413, "BadRequestException")
    assert str(LIMIT) in error["message"] or "32" in error["message"]
    assert "a" not in table.metadata["properties"]
    assert api.server.rss_kb() - before < 50_000


def test_chunked_body_beyond_the_limit(api, table):
    """The limit holds while it is read, also when no length was announced."""
    with socket.create_connection(api.server.host_port, timeout=60 * SLOWNESS) as wire:
        wire.sendall(f"POST {table.path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        try:
            for _ in range(40):
                wire.sendall(chunk)
            wire.sendall(b"0\r\n\r\n")
        except ConnectionError:
            pass
        data = wire.recv(65536)
        assert data.startswith(b"HTTP/1.1 413"), data[:200]


def test_a_body_where_none_belongs(api, ns, table):
    """GET, HEAD and DELETE with a body: it is read over; a very large one is refused."""
    for method, path in (("GET", "/v1/config"), ("HEAD", ns_path(ns)), ("GET", table.path)):
        api.request(method, path, b'{"a":1}').expect(200, 204)
    api.request("GET", "/v1/config", b"x" * 5_000_000).expect(413)
    api.request("DELETE", table.path, b"garbage").expect(204)


@pytest.mark.long
def test_many_large_bodies_at_once(server, api, ns):
    """32 clients with 16 MB each: refused or served, memory bounded, the server alive."""
    api.table(ns, "t")
    before = server.rss_kb()
    text = b'"' + b"x" * 1_000_000 + b'"'
    body = b'{"updates":[{"action":"set-properties","updates":{' + b",".join(
        b'"a%d":' % i + text for i in range(16)) + b"}}]}"

    def one(_):
        client = Api(server)
        try:
            return client.post(f"{ns_path(ns)}/tables/none", body).status
        finally:
            client.close()

    statuses = in_parallel(16, one)
    assert set(statuses) <= {404, 429}, statuses
    assert server.rss_kb() - before < 800_000
    api.load(ns, "t").ok()


def test_no_room_for_large_bodies():
    """A change is refused with 429; with a key it is 503, since an earlier copy of it may have been carried out."""
    with Server(env={"FIRN_BODY_LIMIT": "64k", "FIRN_WORKERS": "1", "FIRN_BODY_TIMEOUT": "3600"}) as firn, \
            contextlib.ExitStack() as wires:
        for _ in range(4):
            wires.enter_context(Wire(firn)).send(POST, "\r\nContent-Length: 65536\r\n\r\n", " " * 65000)

        def refused(*headers):
            """Once all of that is read. What is only announced takes no room."""
            head = "\r\n".join((POST, "Content-Length: 60000", "Expect: 100-continue", *headers, "\r\n"))
            for _ in range(1000):
                with Wire(firn) as wire:
                    wire.send(head)
                    got = wire.answer()
                    if got[0] != 100:
                        return got
            return got

        error(refused(), 429, "SlowDownException")
        keyed = refused("Idempotency-Key: k")
        error(keyed, 503, "SlowDownException")
        assert keyed[1]["retry-after"]


@pytest.mark.parametrize("name,value", [
    ("referenced-by", "x" * 17000), ("pageToken", "x" * 9000), ("warehouse", "x" * 3000), ("parent", "x" * 9000)])
def test_long_parameters(api, table, name, value):
    """Parameters have limits of their own."""
    path = {"referenced-by": table.path, "pageToken": f"{ns_path(table.ns)}/tables", "warehouse": "/v1/config",
            "parent": "/v1/namespaces"}[name]
    api.get(f"{path}?{name}={value}").fails(*[api.get(f"{path}?{name}={value}").expect(400, 404, 414, 431).status])


@pytest.mark.long
def test_wide_table_metadata(api, ns):
    """900 columns and 60 versions of the schema: loaded and committed to."""
    fields = [{"id": i, "name": f"c{i}", "required": False, "type": "string"} for i in range(1, 901)]
    table = api.table(ns, schema=struct(*fields))
    for version in range(0, 60, 20):
        table.apply(*[u for v in range(version, version + 20) for u in (
            {"action": "add-schema", "schema": struct(*fields, {"id": 901, "name": f"v{v}", "required": False,
                                                                "type": "int"})},
            {"action": "set-current-schema", "schema-id": -1})])
    got = table.metadata
    assert len(got["schemas"]) == 61 and got["last-column-id"] == 901


def test_too_many_columns_or_properties(api, ns):
    """An absurd schema is refused or made, but never breaks anything."""
    fields = [{"id": i, "name": f"c{i}", "required": False, "type": "int"} for i in range(1, 30001)]
    api.create(ns, "t", struct(*fields)).expect(200, 400)
    api.create(ns, "u", simple(), properties={f"k{i}": "v" for i in range(30000)}).expect(200, 400)
    api.new_namespace()


def test_long_names_of_columns(api, ns):
    """64 KB for a name or a documentation are taken as they are."""
    schema = struct({"id": 1, "name": "n" * 60000, "required": False, "type": "int", "doc": "d" * 60000})
    assert api.create(ns, "t", schema).ok().json["metadata"]["schemas"][0]["fields"][0]["name"] == "n" * 60000


def test_error_texts_stay_short(api, ns):
    """What a client sent is shown in part only, and as text that cannot break the document."""
    table = api.table(ns)
    for text in ("x" * 100000, "\u00fc" * 5000, "\"\\\n\t\u2028</script>", "%s%n%d", "\U0001f3d4" * 3000):
        for answer in (table.commit({"action": text}), table.commit(requirements=[{"type": text}]),
                       api.get(f"{ns_path(ns)}/tables?pageToken={'%25s%25n' * 100}"),
                       table.commit(set_properties(**{"write.metadata.compression-codec": text})),
                       api.create(ns, "new", struct({"id": 1, "name": "c", "required": False, "type": text})),
                       api.create(ns, "new", location=text)):
            error = answer.fails(400)
            assert len(error["message"]) <= 1100


def test_small_body_limit_setting():
    """FIRN_BODY_LIMIT bounds bodies."""
    with Server(env={"FIRN_BODY_LIMIT": "4k"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        api.create(ns, "t").ok()
        api.create_namespace("x", {"a": "x" * 5000}).fails(413)
        api.create_namespace("x", {"a": "x" * 3000}).ok()
        api.close()


def test_queue_full(server):
    """The slow lane is bounded: changes get 429, reads 503, both with Retry-After; none is half done."""
    with Server(env={"FIRN_SLOW_THREADS": "1", "FIRN_SLOW_QUEUE": "1"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        made = []

        def one(i):
            client = Api(firn)
            try:
                write = client.create(ns, f"t{i}")
                assert write.status in (200, 429), write
                if write.status == 200:
                    made.append(f"t{i}")
                read = client.list_namespaces()
                assert read.status in (200, 503), read
                return write.status, read.status
            finally:
                client.close()

        statuses = set()
        for round_ in range(100):
            statuses |= {s for pair in in_parallel(24, lambda i, r=round_: one(r * 100 + i)) for s in pair}
            if 200 in statuses and statuses & {429, 503}:
                break
        assert 200 in statuses
        assert statuses & {429, 503}, "the queue never filled"
        assert sorted(api.names(ns)) == sorted(made)
        api.close()


def test_memory_after_all_this(server):
    """Large requests leave nothing behind."""
    assert server.rss_kb() < 700_000 * SLOWNESS
