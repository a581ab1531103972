"""Namespaces: create, load, exists, list, properties, drop."""

import pytest

from firn_client import SLOWNESS, enc, in_parallel, ns_path, struct


def listed(api, query=""):
    return [tuple(n) for n in api.list_namespaces(query).ok().json["namespaces"]]


def test_create_answers_what_is_stored(api):
    """200 with the namespace and its properties."""
    name = api.new_name()
    answer = api.create_namespace(name, {"owner": "me", "\u00fc": "\u00df", "empty": ""}).ok()
    assert answer.json == {"namespace": [name], "properties": {"owner": "me", "\u00fc": "\u00df", "empty": ""}}
    assert api.get(ns_path(name)).ok().json == answer.json


def test_create_without_properties(api):
    """`properties` may be absent or null; the answer has an object."""
    name = api.new_name()
    assert api.create_namespace(name).ok().json["properties"] == {}
    other = api.new_name()
    answer = api.post("/v1/namespaces", {"namespace": [other], "properties": None, "unknown": [1, {"x": None}]})
    assert answer.ok().json["properties"] == {}


def test_create_existing(api, ns):
    """409 AlreadyExistsException, whose text names the namespace."""
    api.create_namespace(ns).fails(409, "AlreadyExistsException", f"Namespace already exists: {ns}")


def test_create_with_missing_parents_makes_them_too(api):
    """`a.b.c` without `a`: the parents become real namespaces; a tree never has holes."""
    a = api.new_name()
    api.create_namespace([a, "b", "c"], {"x": "1"}).ok()
    assert api.get(ns_path([a])).ok().json == {"namespace": [a], "properties": {}}
    assert api.get(ns_path([a, "b"])).ok().json == {"namespace": [a, "b"], "properties": {}}
    assert (a,) in listed(api)
    assert listed(api, f"?parent={a}") == [(a, "b")]
    assert listed(api, f"?parent={a}%1Fb") == [(a, "b", "c")]
    api.create_namespace([a, "b"]).fails(409, "AlreadyExistsException", f"Namespace already exists: {a}.b")


@pytest.mark.parametrize("body", [
    {}, {"namespace": None}, {"namespace": []}, {"namespace": "a"}, {"namespace": [1]}, {"namespace": [None]},
    {"namespace": [["a"]]}, {"namespace": {"a": "b"}}, {"namespace": [""]}, {"namespace": ["a", ""]},
    {"namespace": ["x"], "properties": []}, {"namespace": ["x"], "properties": {"a": 1}},
    {"namespace": ["x"], "properties": {"a": None}}, {"namespace": ["x"], "properties": {"a": {}}},
    {"namespace": ["x"], "properties": "a=b"}])
def test_create_with_a_wrong_body(api, body):
    """400 BadRequestException; nothing is created."""
    before = listed(api)
    api.post("/v1/namespaces", body).fails(400, "BadRequestException")
    assert listed(api) == before


def test_error_names_the_place_in_the_body(api):
    """The text says what was expected where."""
    error = api.post("/v1/namespaces", {"namespace": ["x"], "properties": {"a": 1}}).fails(400)
    assert "properties" in error["message"], error


def test_load_and_exists_of_a_missing_namespace(api):
    """404 NoSuchNamespaceException; HEAD has no body."""
    api.get("/v1/namespaces/non-existing").fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")
    api.get(ns_path(["a", "b.c"])).fails(404, "NoSuchNamespaceException", "Namespace does not exist: a.b.c")
    api.head("/v1/namespaces/non-existing").expect(404)


def test_exists(api, ns):
    """HEAD answers 204."""
    api.head(ns_path(ns)).expect(204)


def test_list_of_a_missing_parent(api):
    """404, not an empty list."""
    api.list_namespaces("?parent=non-existing").fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_list_shows_direct_children_as_full_paths(api):
    """Children of `a.b` are returned as [a, b, c]; nothing deeper, nothing above."""
    a = api.new_name()
    for levels in ([a], [a, "b"], [a, "b", "c"], [a, "b", "d"], [a + "x"]):
        api.create_namespace(levels).ok()
    top = listed(api)
    assert (a,) in top and (a + "x",) in top and all(len(n) == 1 for n in top)
    assert listed(api, f"?parent={a}%1Fb") == [(a, "b", "c"), (a, "b", "d")]
    assert listed(api, f"?parent={a}%1Fb%1Fc") == []


def test_empty_parent_is_the_root(api, ns):
    """`parent=` is the same as no parent."""
    assert listed(api, "?parent=") == listed(api)
    assert listed(api, "?parent=&pageToken=&pageSize=1000") == listed(api)


def test_parent_encoded_twice(api):
    """PyIceberg encodes the levels of `parent` and its HTTP library encodes them again."""
    a = api.new_name("a b")
    api.create_namespace([a, "c/d", "e"]).ok()
    twice = a.replace(" ", "%2520")
    assert listed(api, f"?parent={twice}") == [(a, "c/d")]
    assert listed(api, f"?parent={twice}%1Fc%252Fd") == [(a, "c/d", "e")]
    assert listed(api, f"?parent={twice}%251Fc%252Fd") == [(a, "c/d", "e")]
    assert listed(api, f"?parent={a.replace(' ', '+')}%1Fc%2Fd") == [(a, "c/d", "e")]
    api.list_namespaces(f"?parent={a.replace(' ', '%252520')}").fails(404, "NoSuchNamespaceException")


def test_long_parent_encoded_twice(api):
    """Encoded once it has more bytes than a name may have, and with its levels more than a namespace."""
    levels = [api.new_name("\u00fc" * 100)] + ["\u65e5" * 85] * 6
    api.create_namespace(levels).ok()
    for n in (1, 2, 6):
        twice = enc("\x1f".join(enc(level) for level in levels[:n]))
        assert listed(api, f"?parent={twice}") == [tuple(levels[:n + 1])]
    for parent in ("a" * 256, "%25C3%25BC" * 128, "a%1F"):
        api.list_namespaces(f"?parent={parent}").fails(400, "BadRequestException", contains="parent: ")


def test_dots_are_part_of_a_name(api):
    """["a.b"] is one level and never the path a, b."""
    a = api.new_name()
    api.create_namespace([a, "b"]).ok()
    api.get(f"/v1/namespaces/{a}.b").fails(404, "NoSuchNamespaceException")
    api.create_namespace([a + ".b"], {"dotted": "yes"}).ok()
    assert api.get(f"/v1/namespaces/{a}.b").ok().json["properties"] == {"dotted": "yes"}
    assert api.get(f"/v1/namespaces/{a}%2Eb").ok().json["properties"] == {"dotted": "yes"}
    assert api.get(f"/v1/namespaces/{a}%1Fb").ok().json["properties"] == {}
    assert listed(api, f"?parent={a}.b") == []


def test_update_properties(api):
    """`updated`: all keys of updates; `removed`: removals that were there; `missing`: the others."""
    name = api.new_name()
    api.create_namespace(name, {"a": "1", "b": "2", "c": "3"}).ok()
    answer = api.post(f"{ns_path(name)}/properties", {"removals": ["a", "zz"], "updates": {"b": "2", "d": "4"}})
    changes = answer.ok().json
    assert sorted(changes["updated"]) == ["b", "d"]
    assert changes["removed"] == ["a"] and changes["missing"] == ["zz"]
    assert api.get(ns_path(name)).ok().json["properties"] == {"b": "2", "c": "3", "d": "4"}


@pytest.mark.parametrize("body", [{}, {"removals": [], "updates": {}}, {"removals": None, "updates": None}])
def test_update_nothing(api, ns, body):
    """Both members may be absent; the answer has all three lists."""
    assert api.post(f"{ns_path(ns)}/properties", body).ok().json == {"updated": [], "removed": [], "missing": []}


def test_update_and_remove_the_same_key(api, ns):
    """422 UnprocessableEntityException, also where the namespace does not exist."""
    body = {"removals": ["k", "x"], "updates": {"k": "v"}}
    text = "Invalid namespace update, cannot simultaneously set and remove keys: [k]"
    api.post(f"{ns_path(ns)}/properties", body).fails(422, "UnprocessableEntityException", text)
    api.post(f"{ns_path('non-existing')}/properties", body).fails(422, "UnprocessableEntityException", text)
    assert api.get(ns_path(ns)).ok().json["properties"] == {}


def test_many_keys_that_are_both_set_and_removed(api, ns):
    """The message shows some; it takes no memory for all of them."""
    keys = [f"k{i}" for i in range(60_000)]
    before = api.server.rss_kb()
    body = {"removals": keys, "updates": dict.fromkeys(keys, "")}
    message = api.post(f"{ns_path(ns)}/properties", body).fails(422, "UnprocessableEntityException")["message"]
    assert "[k0, k1, " in message and len(message) <= 1100
    assert api.server.rss_kb() - before < 200_000 * SLOWNESS


def test_properties_do_not_grow_for_ever(api, ns):
    """A namespace is read with its properties: they have eight megabytes together, and may become fewer."""
    half, more = ({f"{word}{i}": "x" * 500_000 for i in range(10)} for word in "ab")
    change = f"{ns_path(ns)}/properties"
    api.post(change, {"updates": half}).ok()
    api.post(change, {"updates": more}).fails(400, contains="8388608")
    api.create_namespace(ns + "-new", half | more).fails(400, contains="8388608")
    api.post(change, {"removals": list(half), "updates": more}).ok()
    assert list(api.get(ns_path(ns)).ok().json["properties"]) == list(more)


@pytest.mark.parametrize("body", [
    {"updates": {"a": 1}}, {"updates": {"a": None}}, {"updates": []}, {"removals": "a"}, {"removals": [1]},
    {"removals": {"a": "b"}}])
def test_update_with_a_wrong_body(api, ns, body):
    """Values are strings."""
    api.post(f"{ns_path(ns)}/properties", body).fails(400, "BadRequestException")


def test_update_of_a_missing_namespace(api):
    """404 NoSuchNamespaceException."""
    api.post("/v1/namespaces/non-existing/properties", {"updates": {"a": "b"}}).fails(
        404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_concurrent_updates_of_properties_lose_nothing(api, ns):
    """Each request is one transaction; requests that concern other keys all take effect."""
    for answer in in_parallel(12, lambda i: api.post(f"{ns_path(ns)}/properties", {"updates": {f"k{i}": str(i)}})):
        answer.ok()
    assert api.get(ns_path(ns)).ok().json["properties"] == {f"k{i}": str(i) for i in range(12)}


def test_drop(api, ns):
    """204 without a body; afterwards the name is free."""
    api.delete(ns_path(ns)).expect(204)
    api.get(ns_path(ns)).fails(404, "NoSuchNamespaceException")
    api.delete(ns_path(ns)).fails(404, "NoSuchNamespaceException", f"Namespace does not exist: {ns}")
    api.create_namespace(ns).ok()


def test_drop_with_a_table(api, ns):
    """409 NamespaceNotEmptyException; the namespace stays."""
    api.table(ns, "t")
    api.delete(ns_path(ns)).fails(409, "NamespaceNotEmptyException", contains="is not empty")
    api.drop(ns, "t").expect(204)
    api.delete(ns_path(ns)).expect(204)


def test_drop_with_a_child(api, ns):
    """A namespace with another below it is not empty, at any depth."""
    api.create_namespace([ns, "b", "c"]).ok()
    api.delete(ns_path(ns)).fails(409, "NamespaceNotEmptyException", contains=f"Namespace {ns} is not empty")
    api.delete(ns_path([ns, "b"])).fails(409, "NamespaceNotEmptyException")
    for levels in ([ns, "b", "c"], [ns, "b"], [ns]):
        api.delete(ns_path(levels)).expect(204)


def test_namespace_location_is_where_its_tables_go(api):
    """A `location` property is the place of tables that ask for none."""
    name = api.new_name()
    place = f"{api.store.base}/elsewhere-{name}"
    api.create_namespace(name, {"location": place + "/"}).ok()
    assert api.table(name).location.startswith(place + "/")


def test_the_root_is_no_namespace(api):
    """A path without a name is the collection: it cannot be loaded, dropped or hold tables."""
    api.head("/v1/namespaces/").expect(404, 405)
    api.delete("/v1/namespaces/").fails(*[api.delete("/v1/namespaces/").expect(400, 404, 405).status])
    api.post("/v1/namespaces//tables", {"name": "t", "schema": struct()}).expect(400, 404, 405)


def test_many_properties_and_long_values(api):
    """A namespace may say a lot about itself."""
    name = api.new_name()
    properties = {f"key-{i}": "v" * 200 for i in range(300)} | {"long": "\u00fc" * 30000}
    api.create_namespace(name, properties).ok()
    assert api.get(ns_path(name)).ok().json["properties"] == properties
