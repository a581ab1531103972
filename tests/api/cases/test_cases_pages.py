"""Reported cases B130 to B139: the metadata log, pages of lists, entity tags."""

import pytest
from test_drop_rename_register import document, put

from firn_client import eventually, in_parallel, ns_path, set_properties, set_ref, simple

LIMIT = "write.metadata.previous-versions-max"
DELETE = "write.metadata.delete-after-commit.enabled"


def files_of(api, table):
    return [f for f in api.store.list(table.location) if f.endswith(".metadata.json")]


def wait_for_files(api, table, wanted):
    eventually(lambda: sorted(files_of(api, table)) == sorted(wanted))


# --- the metadata log -------------------------------------------------------------------


def test_b130_files_that_left_the_log_are_deleted(api, table):
    """By the server, after each commit. One that a client has deleted already is no error."""
    table.apply({"action": "set-properties", "updates": {DELETE: "true", LIMIT: "2"}})
    locations = [table.metadata_location]
    for i in range(5):
        if i == 3:
            api.store.delete(locations[1])  # the next to leave the log
        locations.append(table.commit(set_properties(i=str(i))).ok().json["metadata-location"])
    assert [e["metadata-file"] for e in table.metadata["metadata-log"]] == locations[-3:-1]
    wait_for_files(api, table, locations[-3:])
    table.load().ok()


def test_b130_without_the_property_they_stay(api, table):
    """The log alone is bounded."""
    table.apply({"action": "set-properties", "updates": {LIMIT: "2"}})
    for i in range(5):
        table.apply(set_properties(i=str(i)))
    assert len(files_of(api, table)) == 7 and len(table.metadata["metadata-log"]) == 2


def test_b131_the_log_holds_a_hundred_files(api, ns, table):
    """105 commits: the last hundred files, oldest first; one at least; a registered table goes on with its own."""
    locations, times = [table.metadata_location], [table.metadata["last-updated-ms"]]
    for i in range(105):
        answer = api.request("POST", table.path, {"updates": [set_properties(i=str(i))]}, check=False).ok().json
        locations.append(answer["metadata-location"])
        times.append(answer["metadata"]["last-updated-ms"])
    wanted = [{"metadata-file": f, "timestamp-ms": ms} for f, ms in zip(locations, times, strict=True)]
    assert table.metadata["metadata-log"] == wanted[-101:-1]
    got = table.apply({"action": "set-properties", "updates": {LIMIT: "0"}})
    assert got["metadata-log"] == wanted[-1:]
    api.drop(ns, table.name).expect(204)
    assert api.register(ns, "back", locations[50]).ok().json["metadata"]["metadata-log"] == wanted[:50]
    got = api.commit(ns, "back", [set_properties(a="b")]).ok().json["metadata"]
    assert got["metadata-log"] == wanted[:51]


def test_b131_a_rollback_is_logged_like_every_commit(table):
    """The log tells of files, not of snapshots."""
    table.append(1, 1)
    table.append(2, 2, 1)
    location = table.metadata_location
    log = table.apply(set_ref("main", 1))["metadata-log"]
    assert len(log) == 3 and log[-1]["metadata-file"] == location


# --- pages --------------------------------------------------------------------------------


def tables(api, ns, query):
    got = api.get(f"{ns_path(ns)}/tables{query}").ok().json
    return [i["name"] for i in got["identifiers"]], got.get("next-page-token")


def made(api, ns, names):
    for name in names:
        api.create(ns, name).ok()
    return ns


def test_b133_pages_come_to_an_end(api, ns):
    """Five tables by twos: three pages, three tokens, none twice; what comes and goes meanwhile hides nobody."""
    made(api, ns, "bdfhj")
    pages, tokens = [], [""]
    while tokens[-1] is not None:
        names, token = tables(api, ns, f"?pageToken={tokens[-1]}&pageSize=2")
        pages.append("".join(names))
        assert token != "" and token not in tokens
        tokens.append(token)
    assert pages == ["bd", "fh", "j"]

    first, token = tables(api, ns, "?pageToken=&pageSize=2")
    api.drop(ns, "d").expect(204)  # the last of the page that was read
    made(api, ns, "ag")
    second, token = tables(api, ns, f"?pageToken={token}&pageSize=2")
    assert first + second == ["b", "d", "f", "g"]
    for name in "hj":
        api.drop(ns, name).expect(204)
    assert tables(api, ns, f"?pageToken={token}&pageSize=2") == ([], None)


def test_b134_what_asks_for_pages(api, ns):
    """A token does, also an empty one; a size alone does not. No size below one, none that is no number."""
    made(api, ns, "abcde")
    assert tables(api, ns, "?pageSize=2") == (list("abcde"), None)
    names, token = tables(api, ns, "?pageToken=")
    assert names == list("abcde") and token is None
    for query in ("?pageToken=&", "?"):
        for size in ("0", "-1", "abc", "", "1.5", "99999999999999999999"):
            api.get(f"{ns_path(ns)}/tables{query}pageSize={size}").fails(400, "BadRequestException", contains="pageSize")
        assert tables(api, ns, f"{query}pageSize=100000000") == (list("abcde"), None)


def test_b136_lists_are_whole_unless_pages_are_asked_for(api, ns):
    """Old clients read the first page only: 150 tables and 150 namespaces in one answer each."""
    names = [f"n{i:03}" for i in range(150)]

    def make(k):
        for name in names[k::4]:
            api.request("POST", f"{ns_path(ns)}/tables", {"name": name, "schema": simple()}, check=False).ok()
            api.create_namespace([ns, name]).ok()
            api.create_namespace([f"{ns}-{name}"]).ok()
    in_parallel(4, make)
    assert tables(api, ns, "") == (names, None)
    got = api.list_namespaces(f"?parent={ns}").ok().json
    assert got["namespaces"] == [[ns, name] for name in names] and got.get("next-page-token") is None
    got = api.list_namespaces().ok().json
    assert {f"{ns}-{name}" for name in names} <= {n[0] for n in got["namespaces"]}
    assert got.get("next-page-token") is None


# --- entity tags --------------------------------------------------------------------------


def test_b137_one_tag_for_one_state(api, ns):
    """Create, commit, register and load agree, so that the first conditional load is a 304."""
    created = api.create(ns, "t").ok()
    answer = api.load(ns, "t", If_None_Match=created.etag).expect(304)
    assert answer.raw == b"" and answer.etag == created.etag
    committed = api.commit(ns, "t", [set_properties(a="b")]).ok()
    assert committed.etag != created.etag
    api.load(ns, "t", If_None_Match=created.etag).ok()
    api.load(ns, "t", "?snapshots=all", If_None_Match=committed.etag).expect(304)
    place = f"{api.store.base}/cases/{ns}"
    registered = api.register(ns, "r", put(api, place, document(place))).ok()
    assert registered.etag == api.load(ns, "r").ok().etag
    api.load(ns, "r", If_None_Match=registered.etag).expect(304)


def test_b137_how_tags_are_compared(api, ns, table):
    """Weak and strong, in lists, and the star; another mode is another representation."""
    tag = table.load().etag
    bare = tag.removeprefix("W/")
    for value in (tag, bare, f'"a", {tag}', f'{bare}, W/"b"', "*"):
        assert table.load(If_None_Match=value).expect(304).etag == tag
    for value in ('"a"', 'W/"a", "b"', bare[:-2] + '"'):
        table.load(If_None_Match=value).ok()
    refs = table.load("?snapshots=refs").ok().etag
    assert refs != tag
    table.load("?snapshots=refs", If_None_Match=tag).ok()
    table.load("?snapshots=refs", If_None_Match=refs).expect(304)


@pytest.mark.parametrize("delegation", [None, "vended-credentials", "remote-signing", "vended-credentials,remote-signing"])
def test_b139_what_caches_are_told(table, delegation):
    """Only the client itself may keep an answer, must ask each time, and knows what it depends on."""
    headers = {"X_Iceberg_Access_Delegation": delegation} if delegation else {}
    first = table.load(**headers).ok()
    second = table.load(If_None_Match=first.etag, **headers).expect(304)
    for answer in (first, second):
        vary = {v.strip().lower() for v in answer.header("Vary").split(",")}
        assert {"x-iceberg-access-delegation", "authorization", "accept-encoding"} <= vary
        assert answer.header("Cache-Control") == "private, no-cache"
    table.apply(set_properties(a="b"))
    assert table.load(If_None_Match=first.etag, **headers).ok().etag != first.etag
