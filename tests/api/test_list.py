"""Pages of tables and namespaces."""

import base64

import pytest

from firn_client import in_parallel, ns_path


@pytest.fixture(scope="module")
def filled(server):
    """One namespace with 25 tables and 25 child namespaces."""
    from firn_client import Api
    api = Api(server)
    ns = api.new_namespace()
    names = sorted([f"t{i:02}" for i in range(23)] + ["\u00fc", "\U0001f3d4"], key=lambda n: n.encode())
    in_parallel(5, lambda k: [api.create(ns, n).ok() for n in names[k::5]])
    for name in names:
        api.create_namespace([ns, name]).ok()
    return ns, names


def pages(api, path, member, query):
    """All pages, followed by their tokens."""
    found, token, seen = [], "", set()
    while True:
        sign = "&" if "?" in path else "?"
        answer = api.get(f"{path}{sign}pageToken={token}{query}").ok().json
        found.append(answer[member])
        token = answer.get("next-page-token")
        if token is None:
            return found
        assert token and token not in seen, "the same token twice: clients would loop"
        seen.add(token)


@pytest.mark.parametrize("size,count", [(1, 25), (10, 3), (12, 3), (24, 2), (25, 1), (26, 1), (1000, 1), (100000000, 1)])
def test_pages_of_tables(api, filled, size, count):
    """The first request has an empty token; the last page has none, never an empty one."""
    ns, names = filled
    got = pages(api, f"{ns_path(ns)}/tables", "identifiers", f"&pageSize={size}")
    assert len(got) == count
    assert [i["name"] for page in got for i in page] == names
    assert all(len(page) <= size for page in got)


@pytest.mark.parametrize("size,count", [(10, 3), (25, 1)])
def test_pages_of_namespaces(api, filled, size, count):
    """The same below a parent."""
    ns, names = filled
    got = pages(api, f"/v1/namespaces?parent={ns}", "namespaces", f"&pageSize={size}")
    assert len(got) == count and [n for page in got for n in page] == [[ns, name] for name in names]


@pytest.mark.parametrize("query", ["", "?pageSize=2", "?pageToken=", "?pageToken=&pageSize=1000"])
def test_everything_at_once(api, filled, query):
    """Never paged unasked: without a token everything, also when a size is given."""
    ns, names = filled
    answer = api.get(f"{ns_path(ns)}/tables{query}").ok().json
    assert [i["name"] for i in answer["identifiers"]] == names
    assert answer.get("next-page-token") is None


def test_names_are_in_byte_order(api, filled):
    """The same order on every database."""
    ns, names = filled
    assert api.names(ns) == sorted(names, key=lambda n: n.encode())


@pytest.mark.parametrize("size", ["0", "-1", "abc", "1.5", "", "%20", "9999999999999999999999", "0x10", "1e2"])
def test_wrong_page_sizes(api, ns, size):
    """Not a positive integer: 400."""
    api.get(f"{ns_path(ns)}/tables?pageToken=&pageSize={size}").fails(400, "BadRequestException", contains="pageSize")
    api.get(f"/v1/namespaces?pageSize={size}").fails(400, "BadRequestException", contains="pageSize")


@pytest.mark.parametrize("token", [
    "x", "AAAA", "%00", "a" * 3000, "..%2F", base64.urlsafe_b64encode(b"\x01" + b"\0" * 8 + b"t").decode().rstrip("="),
    base64.urlsafe_b64encode(b"\x02" + b"\0" * 20).decode(), "%FF"])
def test_wrong_tokens(api, filled, token):
    """A token that nobody handed out: 400."""
    ns, _ = filled
    api.get(f"{ns_path(ns)}/tables?pageToken={token}").fails(400, "BadRequestException")


def test_tokens_of_another_list(api, filled):
    """A token goes on in the list that it came from."""
    ns, _ = filled
    token = api.get(f"{ns_path(ns)}/tables?pageToken=&pageSize=2").ok().json["next-page-token"]
    other = api.new_namespace()
    api.get(f"{ns_path(other)}/tables?pageToken={token}").fails(400, "BadRequestException")
    api.get(f"/v1/namespaces?parent={ns}&pageToken={token}").fails(400, "BadRequestException")


def test_tokens_survive_changes(api, ns):
    """Objects created and dropped between pages neither loop nor hide others."""
    names = [f"t{i}" for i in range(6)]
    for name in names:
        api.create(ns, name).ok()
    first = api.get(f"{ns_path(ns)}/tables?pageToken=&pageSize=2").ok().json
    assert [i["name"] for i in first["identifiers"]] == ["t0", "t1"]
    for name in ("t0", "t1", "t2"):
        api.drop(ns, name).expect(204)
    for name in ("a", "t11", "t9"):
        api.create(ns, name).ok()
    rest = []
    token = first["next-page-token"]
    while token:
        page = api.get(f"{ns_path(ns)}/tables?pageToken={token}&pageSize=2").ok().json
        rest += [i["name"] for i in page["identifiers"]]
        token = page.get("next-page-token")
    assert rest == ["t11", "t3", "t4", "t5", "t9"]


def test_tokens_are_opaque_and_travel_in_a_url(api, ns):
    """Whatever the names are, a token needs no escaping."""
    for name in ("a&b", "a b", "\u00fc=%", "z"):
        api.create(ns, name).ok()
    got = pages(api, f"{ns_path(ns)}/tables", "identifiers", "&pageSize=1")
    assert len(got) == 4
    token = api.get(f"{ns_path(ns)}/tables?pageToken=&pageSize=1").ok().json["next-page-token"]
    assert all(c.isalnum() or c in "-_=." for c in token)


def test_list_of_a_missing_namespace(api):
    """404 NoSuchNamespaceException, paged or not."""
    for query in ("", "?pageToken=", "?pageToken=&pageSize=1"):
        api.get(f"{ns_path('non-existing')}/tables{query}").fails(
            404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")


def test_empty_lists(api, ns):
    """An empty array, never null."""
    assert api.get(f"{ns_path(ns)}/tables?pageToken=").ok().json["identifiers"] == []
    assert api.list_namespaces(f"?parent={ns}&pageToken=").ok().json["namespaces"] == []


def test_lists_hold_this_namespace_only(api, ns):
    """Neither tables of children nor of namespaces whose name begins alike."""
    api.create_namespace([ns, "child"]).ok()
    api.create_namespace(ns + "x").ok()
    api.create(ns, "mine").ok()
    api.create([ns, "child"], "below").ok()
    api.create(ns + "x", "beside").ok()
    assert api.names(ns) == ["mine"] and api.names([ns, "child"]) == ["below"]
    assert api.list_namespaces(f"?parent={ns}").ok().json["namespaces"] == [[ns, "child"]]


def test_long_list(api, ns):
    """150 namespaces without parameters: all in one answer."""
    in_parallel(4, lambda k: [api.create_namespace([ns, f"n{i:03}"]).ok() for i in range(k, 150, 4)])
    assert len(api.list_namespaces(f"?parent={ns}").ok().json["namespaces"]) == 150
