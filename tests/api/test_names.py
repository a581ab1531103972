"""Names: whatever JSON can carry is reachable by every client's way of writing it, and what nobody
should have is refused."""

import urllib.parse

import pytest

from firn_client import enc, enc_java, levels_of, ns_path, simple, table_path

ODD = [
    "a b", " a", "a ", "a  b", "a+b", "+", "a b+c", "%", "a%b", "%20", "a%2Fb", "%1F", "%00", "%zz", "100%",
    "a/b", "/", "//", "a\\b", "a.b", "a..b", "...", ".a", "a.", "a:b", "a;b", "a;b=c", "a?b", "?", "a#b", "#",
    "a&b=c", "=", "a,b", "a@b", "!$'()*", "~", "*", "a|b", "{table}", "[x]", "<a href>", "a\"b", "'", "`x`", "^",
    "$(reboot)", "'; DROP TABLE object; --", "NULL", "null", "None", "0", "-1", "true", "_", "-", "--",
    "\u00e9", "e\u0301", "\u00e4 \u00f6 \u00fc", "\u00df", "\u0130", "\u65e5\u672c\u8a9e", "\ud55c\uad6d",
    "\u043f\u0440\u0438\u0432\u0435\u0442", "\U0001f3d4", "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\u05e2\u05d1", "\u0627 \u0628", "a\u200bb", "\ufeffbom", "a\u00a0b", "\uffff", "\U0001038f",
    "namespaces", "tables", "config", "v1", "register", "rename", "UPPER", "x" * 255, "\u00e9" * 127,
    "\U0001f3d4" * 63,
]


def ids(name):
    return ascii(name)[:40]


def enc_minimal(name):
    """Only what the grammar of a URL does not allow is encoded: sub-delims stay as they are."""
    return urllib.parse.quote(name, safe="!$&'()*,;=:@~")


def enc_lower(name):
    """Lower-case hex digits."""
    encoded = enc(name)
    parts = encoded.split("%")
    return parts[0] + "".join("%" + p[:2].lower() + p[2:] for p in parts[1:])


def enc_every_byte(name):
    """A client may encode anything."""
    return "".join(f"%{b:02X}" for b in name.encode())


WAYS = [enc, enc_java, enc_minimal, enc_lower, enc_every_byte]


@pytest.mark.parametrize("name", ODD, ids=ids)
def test_table_name_in_every_spelling(api, ns, name):
    """Create in JSON, find under each spelling of the path, list byte-exact, rename, drop."""
    api.create(ns, name).ok()
    assert api.names(ns) == [name]
    for way in WAYS:
        path = table_path(ns, name, way)
        assert api.get(path).ok().json["metadata"]["current-schema-id"] == 0, way.__name__
        api.head(path).expect(204)
    api.post(table_path(ns, name, enc_java), {"updates": [{"action": "set-properties", "updates": {"a": "b"}}]}).ok()
    api.rename((ns, name), (ns, "plain")).expect(204)
    api.get(table_path(ns, name)).fails(404, "NoSuchTableException", f"Table does not exist: {ns}.{name}")
    api.rename((ns, "plain"), (ns, name)).expect(204)
    api.delete(table_path(ns, name, enc_java)).expect(204)
    assert api.names(ns) == []


@pytest.mark.parametrize("name", ODD, ids=ids)
def test_namespace_level_in_every_spelling(api, ns, name):
    """The same for levels of namespaces, in the path and as a parent."""
    levels = [ns, name]
    api.create_namespace(levels, {"is": "me"}).ok()
    api.create_namespace(levels).fails(409, "AlreadyExistsException")
    for way in WAYS:
        for separator in ("%1F", "%1f"):
            path = ns_path(levels, way, separator)
            assert api.get(path).ok().json == {"namespace": levels, "properties": {"is": "me"}}, way.__name__
            api.head(path).expect(204)
            api.get(f"{path}/tables").ok()
    assert api.list_namespaces(f"?parent={ns}").ok().json["namespaces"] == [levels]
    api.create_namespace([*levels, "below"]).ok()
    for parent in (f"{ns}\x1f{name}",):
        for quote in (urllib.parse.quote_plus, urllib.parse.quote):
            query = f"?parent={quote(parent, safe='')}"
            assert api.list_namespaces(query).ok().json["namespaces"] == [[*levels, "below"]]
    api.delete(ns_path([*levels, "below"], enc_java)).expect(204)
    api.delete(ns_path(levels, enc_java)).expect(204)


def test_the_same_odd_names_side_by_side(api, ns):
    """Names that decode, fold or normalise to the same text stay different tables."""
    names = ["a b", "a+b", "a%20b", "a%2Bb", "A b", "a/b", "a%2Fb", "a%252Fb", "\u00e9", "e\u0301", "ss",
             "\u00df", "K", "\u212a", "a.b", "a", "b", "\uff41"]
    for name in names:
        api.create(ns, name).ok()
    assert sorted(api.names(ns)) == sorted(names)
    found = {api.load(ns, name).ok().json["metadata"]["table-uuid"] for name in names}
    assert len(found) == len(names)


def test_plus_in_a_path_is_a_space_first_and_then_a_plus(api, ns):
    """Java writes a space as `+`, the Go client leaves a plus as it is; both find their table."""
    path = f"{ns_path(ns)}/tables/a+b"
    api.get(path).fails(404, "NoSuchTableException")
    api.create(ns, "a+b", properties={"is": "plus"}).ok()
    assert api.get(path).ok().json["metadata"]["properties"]["is"] == "plus"
    api.create(ns, "a b", properties={"is": "space"}).ok()
    assert api.get(path).ok().json["metadata"]["properties"]["is"] == "space"
    assert api.get(f"{ns_path(ns)}/tables/a%2Bb").ok().json["metadata"]["properties"]["is"] == "plus"
    api.head(path).expect(204)
    api.delete(path).expect(204)
    assert api.names(ns) == ["a+b"]
    api.post(path, {"updates": [{"action": "set-properties", "updates": {"is": "still plus"}}]}).ok()
    assert api.load(ns, "a+b").ok().json["metadata"]["properties"]["is"] == "still plus"
    api.delete(path).expect(204)
    assert api.names(ns) == []


def test_plus_in_a_namespace_path(api, ns):
    """The same holds for the levels of a namespace."""
    api.create_namespace([ns, "x+y"], {"is": "plus"}).ok()
    assert api.get(f"/v1/namespaces/{ns}%1Fx+y").ok().json["namespace"] == [ns, "x+y"]
    api.create([ns, "x+y"], "t").ok()
    api.get(f"/v1/namespaces/{ns}%1Fx+y/tables/t").ok()
    assert len(api.get(f"/v1/namespaces/{ns}%1Fx+y/tables").ok().json["identifiers"]) == 1
    api.post(f"/v1/namespaces/{ns}%1Fx+y/tables", {"name": "u", "schema": simple()}).ok()
    api.post(f"/v1/namespaces/{ns}%1Fx+y/properties", {"updates": {"a": "b"}}).ok()
    api.create_namespace([ns, "x y"], {"is": "space"}).ok()
    assert api.get(f"/v1/namespaces/{ns}%1Fx+y").ok().json["namespace"] == [ns, "x y"]
    api.delete(f"/v1/namespaces/{ns}%1Fx+y").expect(204)
    assert api.get(f"/v1/namespaces/{ns}%1Fx+y").ok().json["namespace"] == [ns, "x+y"]


def test_names_in_a_body_are_taken_literally(api, ns):
    """A percent sign in JSON is a percent sign; in a path it is decoded exactly once."""
    api.create(ns, "foo%2Fbar").ok()
    api.get(f"{ns_path(ns)}/tables/foo%252Fbar").ok()
    api.get(f"{ns_path(ns)}/tables/foo%2Fbar").fails(404, "NoSuchTableException")


def test_names_are_case_sensitive(api, ns):
    """There is no folding: engines that fold must say so themselves."""
    api.create(ns, "Orders").ok()
    api.load(ns, "orders").fails(404, "NoSuchTableException")
    api.create(ns, "orders").ok()


def test_utf8_survives_in_bodies_and_lists(api, ns):
    """No normalisation: composed and decomposed forms stay what they were, escaped JSON or not."""
    api.post(f"{ns_path(ns)}/tables", b'{"name": "\\u65e5\\u672c \\ud83c\\udfd4", "schema": '
             b'{"type":"struct","schema-id":0,"fields":[]}}').ok()
    assert api.names(ns) == ["\u65e5\u672c \U0001f3d4"]
    raw = api.get(f"{ns_path(ns)}/tables").ok().body
    assert "\u65e5\u672c \U0001f3d4".encode() in raw


@pytest.mark.parametrize("name", [
    "", ".", "..", "\0", "a\0b", "\x1f", "a\x1fb", "\n", "a\tb", "\x7f", "a\rb", "\x01", "\x1e",
    "x" * 256, "\u00e9" * 128, "\U0001f3d4" * 64], ids=ids)
def test_names_nobody_can_have(api, ns, name):
    """Empty, dots alone, control characters, more than 255 bytes: 400, as table and as level."""
    api.create(ns, name).fails(400, "BadRequestException")
    api.create_namespace([ns, name]).fails(400, "BadRequestException")
    api.create_namespace([name]).fails(400, "BadRequestException")
    api.table(ns, "there")
    api.rename((ns, "there"), (ns, name)).fails(400, "BadRequestException")
    api.register(ns, name, f"{api.store.base}/x.metadata.json").fails(400)
    assert api.names(ns) == ["there"]
    assert api.list_namespaces(f"?parent={ns}").ok().json["namespaces"] == []


@pytest.mark.parametrize("name", [".", "..", "%2e", "%2E%2e", "%0A", "%7F", "%01", "%1F", "x" * 256],
                         ids=ids)
def test_paths_with_names_nobody_can_have(api, ns, name):
    """In a path they are refused or name nothing; dots are never taken as steps in the path."""
    api.get(f"{ns_path(ns)}/tables/{name}").expect(400, 404)
    api.get(f"/v1/namespaces/{ns}%1F{name}").expect(400, 404)
    api.head(f"{ns_path(ns)}/tables/{name}").expect(400, 404)
    api.delete(f"{ns_path(ns)}/tables/{name}").expect(400, 404)


@pytest.mark.parametrize("name", [
    "%00", "a%00b", "%", "a%", "%4", "%zz", "%%20", "%G0", "%+1", "%FF", "%C3", "%C0%AF", "%ED%A0%80",
    "%F4%90%80%80", "a%E2%82", "%80"], ids=ids)
def test_bad_percent_sequences_and_bad_utf8_in_a_path(api, ns, name):
    """400, before anything is looked up; also for clients that send names unescaped."""
    api.get(f"{ns_path(ns)}/tables/{name}").fails(400, "BadRequestException")
    api.get(f"/v1/namespaces/{name}").fails(400, "BadRequestException")
    api.delete(f"{ns_path(ns)}/tables/{name}").fails(400, "BadRequestException")
    api.head(f"/v1/namespaces/{name}").expect(400)


@pytest.mark.parametrize("name", ["a%00b", "%", "%zz", "%FF", "%C0%AF"], ids=ids)
def test_bad_percent_sequences_and_bad_utf8_in_a_query(api, name):
    """The same in parameters."""
    api.list_namespaces(f"?parent={name}").fails(400, "BadRequestException")


@pytest.mark.parametrize("path", ["%1Fa", "a%1F", "a%1F%1Fb", "%1F"])
def test_empty_levels_in_a_path(api, path):
    """A level has at least one byte."""
    api.get(f"/v1/namespaces/{path}").expect(400, 404)
    api.list_namespaces(f"?parent={path}").expect(400, 404)


@pytest.mark.parametrize("body", [
    b'{"namespace": ["caf\xe9"]}', b'{"namespace": ["\xc0\xaf"]}', b'{"namespace": ["\xed\xa0\x80"]}',
    b'{"namespace": ["\\ud800"]}', b'{"namespace": ["\\udc00\\ud800"]}', b'{"namespace": ["a\\u0000b"]}'])
def test_bad_utf8_in_a_body(api, body):
    """Java sends Latin-1 bytes for letters beyond ASCII: 400, never a truncated or wrong name."""
    api.post("/v1/namespaces", body).fails(400, "BadRequestException")


def test_all_levels_together_have_a_limit(api):
    """2,048 bytes for the whole path; 8 levels of 255 fit with their separators."""
    a = api.new_name()
    fits = [a, *["x" * 255] * 7, "y" * (2048 - len(a) - 7 * 256 - 1)]
    assert len("/".join(fits)) == 2048
    api.create_namespace(fits).ok()
    assert api.get(ns_path(fits)).ok().json["namespace"] == fits
    api.create(fits, "t" * 255).ok()
    api.load(fits, "t" * 255).ok()
    api.create_namespace([*fits[:-1], fits[-1] + "y"]).fails(400, "BadRequestException")


def test_levels_may_be_many(api):
    """Depth is bounded by the bytes alone."""
    levels = [api.new_name(), *"abcdefghijklmnopqrstuvwxyz" * 4]
    api.create_namespace(levels).ok()
    assert api.get(ns_path(levels)).ok().json["namespace"] == levels
    assert api.list_namespaces("?parent=" + "%1F".join(levels[:50])).ok().json["namespaces"] == [levels[:51]]


def test_metadata_table_names_fall_back_as_java_does(api, ns):
    """`ns.t.files` is asked for as table `files` in namespace ns.t first: that must be a 404 of the
    table kind although the namespace does not exist."""
    api.table(ns, "t")
    api.get(f"{ns_path([ns, 't'])}/tables/files?snapshots=all").fails(
        404, "NoSuchTableException", f"Table does not exist: {ns}.t.files")


def test_locations_hold_no_odd_characters(api, ns):
    """PyIceberg cannot read a table below a path with `?` or `#`; names do not go into locations raw."""
    for name in ("a?b", "a#b", "a%b", "a b", "\u00e9", "../x", "a\\b"):
        location = api.create(ns, name).ok().json["metadata"]["location"]
        tail = location.removeprefix(api.store.base)
        assert all(c.isascii() and (c.isalnum() or c in "/._-") for c in tail), location
        assert "/../" not in location and levels_of(ns)[0] in location


def test_double_slashes_before_the_first_word(api, ns):
    """A base address with a slash at its end gives `//v1/...`: taken as one."""
    api.get(f"//v1//namespaces/{ns}").ok()
    api.get(f"//v1/namespaces/{ns}/tables").ok()
    api.post(f"/v1//namespaces/{ns}/properties", {"updates": {"a": "b"}}).ok()
