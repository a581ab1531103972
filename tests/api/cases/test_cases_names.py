"""Cases of public reports: configuration, prefixes, namespaces, names. The ids are those of table.tsv."""

import json
import socket
import urllib.parse

import pytest

from firn_client import Answer, Api, check_schema, enc_java, in_parallel, levels_of, ns_path, set_properties, simple
from firn_server import Server


def names_below(api, parent=""):
    return api.list_namespaces(parent and f"?parent={parent}").ok().json["namespaces"]


# --- configuration, prefix, warehouse -----------------------------------------------------


def test_b001_unknown_warehouse_is_told_at_once(api):
    """404 from config itself; absent, empty and the name mean the default."""
    api.get("/v1/config?warehouse=nope").fails(
        404, "NoSuchWarehouseException", "Warehouse does not exist: nope")
    for query in ("", "?warehouse=", "?warehouse=main"):
        assert api.get("/v1/config" + query).ok().json == api.get("/v1/config").ok().json


def test_b002_config_has_no_prefix(api):
    """Neither an unknown prefix nor a known one answers with somebody's settings."""
    for prefix in ("wh2", "main"):
        error = api.get(f"/v1/{prefix}/config").fails(404, "BadRequestException")
        assert f"/v1/{prefix}/config" in error["message"]


def test_b004_warehouse_given_as_a_location(api):
    """A URI is a warehouse's base, slashes at its end aside, or nothing; it is never taken apart."""
    api.get("/v1/config?warehouse=s3%3A%2F%2Fbucket%2Fpath%2F").fails(
        404, "NoSuchWarehouseException", contains="s3://bucket/path/")
    base = urllib.parse.quote(api.store.base, safe="")
    for tail in ("", "%2F", "%2F%2F"):
        api.get(f"/v1/config?warehouse={base}{tail}").ok()
    for other in (f"{base}%2Fmain", f"{base}2", "main%2Fx", "x%2Fmain"):
        api.get(f"/v1/config?warehouse={other}").fails(404, "NoSuchWarehouseException")


def test_b145_config_hands_out_no_address(api):
    """Clients stay with the address whose name they trust, whatever name they called the server by."""
    for query in ("", "?warehouse=main"):
        for headers in ({}, {"Host": "other.example:444", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "front.example"}):
            config = api.request("GET", "/v1/config" + query, None, headers).ok().json
            settings = config["defaults"] | config["overrides"]
            assert not {"uri", "oauth2-server-uri"} & settings.keys()
            assert not [value for value in settings.values() if "://" in value or value.startswith("//")]


def test_b005_reserved_characters_in_a_prefix():
    """None is handed out; a prefix that has one is found under both spellings, decoded as one segment."""
    with Server(warehouse_name="main|wh") as firn:
        api = Api(firn)
        config = api.get("/v1/config?warehouse=main%7Cwh").ok().json
        assert "prefix" not in config["defaults"] | config["overrides"]
        ns = api.new_namespace()
        for prefix in ("main%7Cwh", "main|wh", "%6Dain%7cwh"):
            assert api.get(f"/v1/{prefix}/namespaces").ok().json["namespaces"] == [[ns]]
            api.post(f"/v1/{prefix}/namespaces/{ns}/properties", {"updates": {"a": "b"}}).ok()
        api.get("/v1/a%2Fb/namespaces").fails(404, "NoSuchWarehouseException", contains="a/b")
        api.close()


def test_b007_slashes_of_a_base_address(api, ns):
    """Slashes in a row count as one; those in place of a name are errors."""
    api.create(ns, "a/b").ok()
    for path in ("//v1/config", "/v1//namespaces", "//v1//namespaces", "//v1//config"):
        assert api.get(path).ok().json == api.get(path.replace("//", "/")).ok().json
    got = api.get(f"//v1//namespaces/{ns}/tables/a%2Fb").ok().json
    assert got == api.load(ns, "a/b").ok().json
    api.post(f"//v1//namespaces/{ns}/tables/a%2Fb", {"updates": [set_properties(a="1")]}).ok()
    assert api.get(f"/v1/namespaces//{ns}//tables///a%2Fb").ok().json == api.load(ns, "a/b").ok().json
    for path in ("/v1/namespaces//tables", f"/v1/namespaces/{ns}/tables//plan", f"/v1/namespaces/{ns}/tables/"):
        api.get(path).fails(404, "BadRequestException")


def on_the_wire(server, request):
    """Sends bytes, reads one answer."""
    with socket.create_connection(server.host_port, timeout=20) as wire:
        wire.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < length:
            data += wire.recv(65536)
            head, _, body = data.partition(b"\r\n\r\n")
            lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            length = int(dict(line for line in lines if len(line) == 2).get("Content-Length", 0))
    return Answer("POST", "/", int(lines[0][0].split()[1]), [tuple(line) for line in lines[1:]], body)


@pytest.mark.parametrize("method,path,status,allow", [
    ("GET", "/v1/nothing", 404, None), ("DELETE", "/v1/config", 405, "GET, HEAD"),
    ("PUT", "/v1/namespaces", 405, "GET, HEAD, POST")])
def test_b008_routes_and_methods_that_do_not_exist(api, method, path, status, allow):
    """An error document with what was asked for, and with what is allowed there."""
    answer = api.request(method, path)
    assert path in answer.fails(status, "BadRequestException")["message"]
    assert answer.header("Allow") == allow


@pytest.mark.parametrize("head,status,word", [
    ("GET /v1/namespaces?pageToken=" + "x" * 20000 + " HTTP/1.1\r\nHost: h", 414, "target"),
    ("GET /v1/namespaces HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + "x" * 19000, 431, "headers"),
    ("GET /v1/namespaces HTTP/1.1\r\nHost: h\r\n" + "\r\n".join(f"X-{i}: {'y' * 900}" for i in range(21)), 431, "headers"),
    ("POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999", 413, "33554432"),
    ("POST /v1/namespaces HTTP/1.1\r\nHost: h", 400, "body")], ids=["414", "431", "431-many", "413", "no-length"])
def test_b008_requests_of_too_much_or_nothing(server, head, status, word):
    """Error documents too, for what is refused before it is understood. A body nobody announced is none."""
    answer = on_the_wire(server, head.encode() + b"\r\n\r\n")
    assert answer.header("Content-Type") == "application/json", answer
    check_schema("#/components/schemas/IcebergErrorResponse", answer.json)
    error = answer.fails(status, "BadRequestException", contains=word)
    assert error["code"] == status


# --- namespaces --------------------------------------------------------------------------------


def test_b010_levels_are_split_before_they_are_decoded(api):
    """`a%1Fb` is two levels, whatever else the path encodes."""
    test, bare = api.new_name("test"), api.new_name("ns")
    api.create_namespace(test).ok()
    assert api.post("/v1/namespaces", {"namespace": [test, bare]}).ok().json["namespace"] == [test, bare]
    for separator in ("%1F", "%1f"):
        assert api.get(f"/v1/namespaces/{test}{separator}{bare}").ok().json["namespace"] == [test, bare]
    api.get(f"/v1/namespaces/{test}{bare}").fails(404, "NoSuchNamespaceException")
    api.create_namespace([test, "x/y%1Fz"]).ok()
    assert api.get(f"/v1/namespaces/{test}%1Fx%2Fy%251Fz").ok().json["namespace"] == [test, "x/y%1Fz"]


def test_b011_the_separator_is_the_one_that_all_clients_know(api):
    """%1F is announced and nothing else: a dot stays part of a name, in paths and in `parent`."""
    config = api.get("/v1/config").ok().json
    assert (config["defaults"] | config["overrides"])["namespace-separator"] == "%1F"
    a = api.new_name()
    api.create_namespace([a, "b", "c"]).ok()
    api.create_namespace(f"{a}.b").ok()
    assert api.get(f"/v1/namespaces/{a}%1Fb").ok().json["namespace"] == [a, "b"]
    assert api.get(f"/v1/namespaces/{a}.b").ok().json["namespace"] == [f"{a}.b"]
    assert names_below(api, f"{a}%1Fb") == [[a, "b", "c"]] and names_below(api, f"{a}.b") == []


def test_b013_missing_parents_are_made(api):
    """Parents that nobody made become namespaces like any other: no holes, and one by one works too."""
    a = api.new_name()
    assert api.post("/v1/namespaces", {"namespace": [a, "n2", "n3"]}).ok().json["namespace"] == [a, "n2", "n3"]
    for levels in ([a], [a, "n2"], [a, "n2", "n3"]):
        assert api.get(ns_path(levels)).ok().json == {"namespace": levels, "properties": {}}
        api.create_namespace(levels).fails(409, "AlreadyExistsException", contains=".".join(levels))
    api.delete(ns_path([a])).fails(409, "NamespaceNotEmptyException")


def test_b014_listing_below_a_missing_parent(api, ns):
    """404 that names it, not an empty list; an empty parent is the root."""
    api.get("/v1/namespaces?parent=nope").fails(404, "NoSuchNamespaceException", "Namespace does not exist: nope")
    assert names_below(api, ns) == []
    assert api.get("/v1/namespaces?parent=").ok().json == api.get("/v1/namespaces").ok().json


def test_b016_a_namespace_with_a_table_is_not_empty(api, ns, table):
    """409 under its own type; nothing is gone."""
    error = api.delete(ns_path(ns)).fails(409, "NamespaceNotEmptyException", contains="is not empty")
    assert ns in error["message"]
    assert api.names(ns) == [table.name]


def test_b017_race_for_one_namespace(server, api):
    """One is told yes, all others 409 with the same words, and none waits for long."""
    name = api.new_name()

    def create(_):
        client = Api(server)
        answer = client.post("/v1/namespaces", {"namespace": [name]})
        client.close()
        return answer

    answers = in_parallel(20, create)
    assert sorted(a.status for a in answers) == [200] + [409] * 19
    for answer in answers:
        if answer.status == 409:
            answer.fails(409, "AlreadyExistsException", f"Namespace already exists: {name}")


def test_b019_lists_are_of_direct_children_as_full_paths(api):
    """Level by level, each name whole."""
    a = api.new_name()
    for levels in ([a], [a, "b"], [a, "b", "c"]):
        api.create_namespace(levels).ok()
    top = names_below(api)
    assert [a] in top and all(len(levels) == 1 for levels in top)
    assert names_below(api, a) == [[a, "b"]]
    assert names_below(api, f"{a}%1Fb") == [[a, "b", "c"]]


def test_b020_a_connection_is_never_rooted_at_a_namespace(api):
    """Engines with one level only see the top one: no prefix, no warehouse is made of a namespace."""
    a = api.new_name()
    api.create_namespace([a, "main"]).ok()
    for name in (a, f"{a}.main", f"{a}%1Fmain"):
        api.get(f"/v1/config?warehouse={name}").fails(404, "NoSuchWarehouseException")
        api.get(f"/v1/{name}/namespaces").fails(404, "NoSuchWarehouseException")
    assert [a] in names_below(api) and [a, "main"] not in names_below(api)


def test_b022_names_are_not_folded(api, ns):
    """Another case is another name; who makes both sees both in the list."""
    api.create(ns, "Orders").ok()
    api.load(ns, "orders").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.orders")
    api.create(ns, "orders").ok()
    assert sorted(api.names(ns)) == ["Orders", "orders"]


def test_b023_places_of_namespaces_are_no_conflict(api):
    """A child below a parent with a place of its own, a sibling whose place begins alike: fine. What exists
    is a 409, whatever its place."""
    p = api.new_name()
    place = f"{api.store.base}/{p}"
    api.create_namespace(p, {"location": place}).ok()
    api.create_namespace([p, "c"]).ok()
    api.create_namespace([p, "d"], {"location": f"{place}/d.db/"}).ok()
    api.create_namespace(p + "2", {"location": place + "2"}).ok()
    for levels in ([p], [p, "c"], [p, "d"], [p + "2"]):
        answer = api.create_namespace(levels, {"location": place})
        answer.fails(409, "AlreadyExistsException", f"Namespace already exists: {'.'.join(levels)}")
        assert api.table(levels).location.startswith(api.store.base)
    api.table([p, "c"], location=f"{place}/x")
    api.table([p, "c"], location=f"{place}/x2")
    api.create([p, "c"], "y", location=f"{place}/x/y").fails(409, "AlreadyExistsException", contains="location")


def test_b025_the_root_is_no_namespace(api):
    """It cannot be made, looked up, dropped or hold tables; a path without a name is no namespace's."""
    before = names_below(api)
    api.post("/v1/namespaces", {"namespace": []}).fails(400, "BadRequestException", contains="namespace")
    api.head("/v1/namespaces/").expect(404, 405)
    api.delete("/v1/namespaces/").fails(404, "BadRequestException")
    api.post("/v1/namespaces//tables", {"name": "t", "schema": simple()}).fails(404, "BadRequestException")
    assert names_below(api) == before


# --- names ---------------------------------------------------------------------------------------


def test_b026_plus_in_a_path(api, ns):
    """Java's spelling of a space, and a plus that a client left as it is. Where both tables exist the plus is
    a space: who means a plus writes %2B."""
    tables = ns_path(ns) + "/tables/"
    space = api.create(ns, "a b").ok().json["metadata"]["table-uuid"]

    def uuid(name):
        return api.get(tables + name).ok().json["metadata"]["table-uuid"]

    assert uuid("a+b") == uuid("a%20b") == uuid(enc_java("a b")) == space
    api.get(tables + "a%2Bb").fails(404, "NoSuchTableException")
    plus = api.create(ns, "a+b").ok().json["metadata"]["table-uuid"]
    assert uuid("a%2Bb") == plus and uuid("a+b") == uuid("a%20b") == space
    api.drop(ns, "a b").expect(204)
    assert uuid("a+b") == plus


def test_b028_names_are_decoded_once(api, ns):
    """In a body never, in a path exactly once."""
    api.create(ns, "foo%2Fbar").ok()
    assert api.names(ns) == ["foo%2Fbar"]
    api.get(f"{ns_path(ns)}/tables/foo%252Fbar").ok()
    api.get(f"{ns_path(ns)}/tables/foo%2Fbar").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.foo/bar")


def test_b029_letters_beyond_ascii(api):
    """UTF-8 goes through to the byte, composed or not; other bytes are refused in words; Latin-1 that says
    so is understood."""
    word = api.new_name("\u65e5\u672c")
    for name in (word, word + "e\u0301", word + "\u00e9"):
        assert api.post("/v1/namespaces", json.dumps({"namespace": [name]}, ensure_ascii=False).encode()).ok()
        assert api.get(ns_path(name)).ok().json["namespace"] == [name]
        assert name.encode() in api.get("/v1/namespaces").ok().body
    a = api.new_name()
    body = f'{{"namespace":["{a}caf\xe9"],"properties":{{"a":"\xff\xa0~"}}}}'.encode("latin-1")
    for kind in ("application/json", "application/json; charset=utf-8"):
        api.request("POST", "/v1/namespaces", body, {"Content-Type": kind}).fails(
            400, "BadRequestException", contains="UTF-8")
    assert not [n for n in names_below(api) if n[0].startswith(a)]
    for i, kind in enumerate(("application/json; charset=ISO-8859-1", 'text/plain;a=b ; Charset="iso-8859-1"')):
        sent = body.replace(b"caf", b"caf%d" % i)
        got = api.request("POST", "/v1/namespaces", sent, {"Content-Type": kind}).ok().json
        assert got == {"namespace": [f"{a}caf{i}\xe9"], "properties": {"a": "\xff\xa0~"}}
        assert api.get(ns_path(f"{a}caf{i}\xe9")).ok().json == got


def test_b031_parent_encoded_twice(api, ns):
    """As PyIceberg sends it; names in bodies stay what they are, percent signs and all."""
    api.create_namespace([ns, "b", "c"]).ok()
    assert names_below(api, f"{ns}%251Fb") == [[ns, "b", "c"]]
    api.list_namespaces(f"?parent={ns}%251Fx").fails(404, "NoSuchNamespaceException")
    api.create_view(ns, "my%20view").ok()
    assert api.view_names(ns) == ["my%20view"]
    api.load_view(ns, "my view").fails(404, "NoSuchViewException")


def test_b032_clickhouse_joins_levels_with_dots(api, ns):
    """A dotted element is one level; DROP on the path without a prefix, with its capital letter."""
    api.create_namespace([ns, "b"]).ok()
    dotted = api.post("/v1/namespaces", {"namespace": [f"{ns}.b"]}).ok().json
    assert dotted["namespace"] == levels_of(f"{ns}.b") and names_below(api, ns) == [[ns, "b"]]
    table = api.table(ns)
    api.delete(f"/v1/namespaces/{ns}/tables/{table.name}?purgeRequested=False").expect(204)
    api.delete(f"/v1/nope/namespaces/{ns}/tables/{table.name}?purgeRequested=False").fails(404, "NoSuchWarehouseException")
    assert api.names(ns) == []
