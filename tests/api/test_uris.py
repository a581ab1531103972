"""Every place of a file that arrives, on every way in, and what may not stand there: refused with 400 that names the
member, before anything is written."""

import gzip
import json

import pytest

from firn_client import (Api, Table, add_snapshot, assert_uuid, create_updates, ns_path, replace_version,
                         representation, set_properties, simple, struct, view_path)
from firn_server import Server, local_path
from test_drop_rename_register import document, put

NEW = {"type": "assert-create"}
FOLDERS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path",
           "write.some-day.path")
FILES = ("manifest-list", "manifests", "statistics", "partition-statistics")
FIELDS = (*FILES, *FOLDERS)
LOCATION = "location"


def wrong(api, ns):
    """What is no place, and what is one elsewhere."""
    base = api.store.base
    inside = f"{base}/{ns}/x"
    scheme, _, rest = base.partition(":")
    return {
        "another scheme": f"gs:{rest}/{ns}/x", "no scheme": f"{ns}/x", "http": "http://127.0.0.1/x",
        "local": "/etc/x" if api.store.kind == "s3" else "s3://bucket/x",
        "outside": "file:///etc/x" if api.store.kind == "file" else "s3://another-bucket/x",
        "begins alike": f"{base}x/{ns}/x", "above": base.rpartition("/")[0] + "/x",
        "dots": f"{base}/{ns}/../../../x", "dots inside": f"{base}/{ns}/a/../x", "one dot": f"{base}/{ns}/./x",
        "query": inside + "?versionId=1", "fragment": inside + "#a", "twice": f"{base}/{ns}/s3://b/x",
        "backslash": f"{base}/{ns}\\x", "control": inside + "\n", "delete": inside + "\x7f", "c1": inside + "\x85",
        "invisible": f"{base}/{ns}/\u200bx", "right to left": f"{base}/{ns}/\u202ex", "tag": f"{base}/{ns}/\U000e0041x",
        "blank": inside + " ", "leading blank": " " + inside, "user": f"{scheme}://user:hidden@{rest.lstrip('/')}/x",
        "long": inside + "x" * 1024,
    }


@pytest.fixture(scope="module")
def server():
    firn = Server(env={"FIRN_S3_HADOOP_SCHEMES": "true"})
    firn.allowed = firn.store.base + "-more"
    if firn.store.kind == "file":
        local_path(firn.allowed).mkdir()
    with firn:
        yield firn


@pytest.fixture
def bad(api, ns):
    return wrong(api, ns)


def update(field, uri, base=""):
    """The update that brings the place in, and the pointer to it. One with manifests needs their list too."""
    if field == "manifest-list":
        return add_snapshot(7, 3, 1, **{"manifest-list": uri}), "/snapshot/manifest-list"
    if field == "manifests":
        return add_snapshot(7, parent=1, **{"manifest-list": f"{base}/m", "manifests": [f"{base}/n", uri]}), "/snapshot/manifests"
    if field == "statistics":
        return {"action": "set-statistics", "statistics": {
            "snapshot-id": 1, "statistics-path": uri, "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1,
            "blob-metadata": []}}, "/statistics/statistics-path"
    if field == "partition-statistics":
        return {"action": "set-partition-statistics", "partition-statistics": {
            "snapshot-id": 1, "statistics-path": uri, "file-size-in-bytes": 1}}, "/partition-statistics/statistics-path"
    if field == LOCATION:
        return {"action": "set-location", "location": uri}, "/location"
    return {"action": "set-properties", "updates": {field: uri}}, f"/updates/{field}"


def refused(answer, *pointers):
    """In words of ours, which show no password."""
    error = answer.fails(400) or answer.error
    assert "hidden" not in answer.error["message"]
    assert error["type"] in ("IllegalArgumentException", "BadRequestException"), str(answer)
    for pointer in pointers:
        assert pointer in error["message"], f"expected {pointer}: {answer}"


def v1(field):
    return {"format-version": "1"} if field == "manifests" else {}


@pytest.mark.parametrize("field", [*FIELDS, LOCATION])
def test_commit(api, ns, bad, field):
    """In a commit, alone or behind a change that is right, and in a transaction."""
    table = api.table(ns, properties=v1(field))
    before, files = table.loaded, api.store.list()
    for uri in bad.values():
        change, pointer = update(field, uri, table.location)
        refused(table.commit(change), f"/updates/0{pointer}")
        refused(table.commit(set_properties(a="b"), change), f"/updates/1{pointer}")
        refused(api.post("/v1/transactions/commit", {"table-changes": [{
            "identifier": {"namespace": [ns], "name": table.name}, "requirements": [assert_uuid(table.uuid)],
            "updates": [change]}]}), f"/table-changes/0/updates/0{pointer}")
    assert table.loaded == before and api.store.list() == files


@pytest.mark.parametrize("field", [*FOLDERS, LOCATION])
@pytest.mark.parametrize("stage", [False, True])
def test_create(api, ns, bad, field, stage):
    """Of a table, staged or not."""
    files = api.store.list()
    for uri in bad.values():
        members = {"location": uri} if field == LOCATION else {"properties": {field: uri}}
        pointer = "/location" if field == LOCATION else f"/properties/{field}"
        refused(api.create(ns, "t", stage_create=stage, **members), pointer)
    assert api.names(ns) == [] and api.store.list() == files


@pytest.mark.parametrize("field", [*FIELDS, LOCATION])
def test_create_by_commit(api, ns, bad, field):
    """Of a staged table, by the commit and in a transaction: there what was refused before is sent for the first time."""
    staged = api.create(ns, "t", stage_create=True, properties=v1(field)).ok().json["metadata"]
    files = api.store.list()
    version = staged["format-version"]
    for uri in bad.values():
        change, pointer = update(field, uri, staged["location"])
        updates = [*create_updates(staged, version), change]
        refused(api.commit(ns, "t", updates, [NEW]), f"/updates/{len(updates) - 1}{pointer}")
        refused(api.post("/v1/transactions/commit", {"table-changes": [{
            "identifier": {"namespace": [ns], "name": "t"}, "requirements": [NEW], "updates": updates}]}), pointer)
    assert api.names(ns) == [] and api.store.list() == files


def in_file(field, place, uri):
    """A file to register that holds the place."""
    snapshot = {"snapshot-id": 1, "sequence-number": 1, "timestamp-ms": 1700000000000, "manifest-list": f"{place}/m",
                "summary": {"operation": "append"}}
    members = {"snapshots": [snapshot], "current-snapshot-id": 1, "last-sequence-number": 1}
    if field == LOCATION:
        return document(uri), ""
    if field in FOLDERS:
        return document(place, properties={field: uri}), f"/properties/{field}"
    if field == "manifest-list":
        snapshot["manifest-list"] = uri
        return document(place, **members), "/snapshots/0/manifest-list"
    if field == "manifests":
        del snapshot["manifest-list"]
        return document(place, **members | {"snapshots": [snapshot | {"manifests": [f"{place}/m", uri]}]}), \
            "/snapshots/0/manifests"
    entry = update(field, uri)[0][field]
    return document(place, **members | {field: [entry | {"statistics-path": f"{place}/s", "snapshot-id": 9}, entry]}), \
        f"/{field}/1/statistics-path"


@pytest.mark.parametrize("field", [*FIELDS, LOCATION])
@pytest.mark.parametrize("overwrite", [False, True])
def test_register(api, ns, bad, field, overwrite):
    """In the file, wherever it lies and whatever name is to take it."""
    place = f"{api.store.base}/registered/{ns}"
    table = api.table(ns) if overwrite else None
    before = table and table.loaded
    for uri in bad.values():
        data, pointer = in_file(field, place, uri)
        file = put(api, place, data)
        refused(api.register(ns, table.name if table else "r", file, **{"overwrite": True} if overwrite else {}), pointer)
    assert api.names(ns) == ([table.name] if table else []) and (not table or table.loaded == before)


def test_register_from_elsewhere(api, ns, bad):
    """The file itself: nothing is read, whether it is there or not."""
    for uri in (uri for what, uri in bad.items() if what != "blank"):
        refused(api.register(ns, "r", uri + ".metadata.json"))
        refused(api.register_view(ns, "r", uri + ".metadata.json"))


def another(api, uri):
    """The same place in the other spelling of the warehouse's kind of store."""
    return uri.replace("s3://", "s3a://") if api.store.kind == "s3" else "file:" + uri.removeprefix("file://")


@pytest.mark.parametrize("field", FOLDERS)
def test_folders_that_real_clients_name(api, ns, field):
    """Inside of the table, and elsewhere in the warehouse."""
    table, base = api.table(ns), api.store.base
    for uri in (f"{table.location}/in/x", f"{base}/{ns}-elsewhere/x", another(api, f"{base}/{ns}-elsewhere/y"),
                f"{table.location}/a%3Ab=c d/\u00e9", f"{base}-more/x"):
        table.commit(update(field, uri)[0]).ok()
        assert uri in json.dumps(table.metadata, ensure_ascii=False)


def naming(field, number, uri, location):
    """The update that brings a file in, as one of many."""
    change, pointer = update(field, uri, location)
    if "snapshot" in change:
        change["snapshot"] |= {"snapshot-id": number, "sequence-number": number}
        change["snapshot"].pop("parent-snapshot-id")
        if field == "manifests":
            del change["snapshot"]["sequence-number"]
    return change, pointer


@pytest.mark.parametrize("field", FILES)
def test_files_that_real_clients_name(api, ns, field):
    """Inside of the table, as it is and as the commit moves it, and in folders that its properties name."""
    table, base = api.table(ns, properties=v1(field)), api.store.base
    old, new, apart = table.location, f"{base}/{ns}/moved", f"{base}-more/{ns}"
    steps = [([], f"{old}/in/x"), ([], another(api, f"{old}/y")), ([], f"{old}/a%3Ab=c d/\u00e9.avro"),
             ([set_properties(**{"write.metadata.path": apart})], f"{apart}/x"), ([], another(api, f"{apart}/y")),
             ([{"action": "remove-properties", "removals": ["write.metadata.path"]},
               set_properties(**{"write.data.path": f"{base}/{ns}-d"})], f"{apart}/late"), ([], f"{base}/{ns}-d/x"),
             ([{"action": "set-location", "location": new}], f"{old}/late"), ([], f"{new}/x")]
    for number, (before, uri) in enumerate(steps, 1):
        table.commit(*before, naming(field, number, uri, uri.rpartition("/")[0])[0]).ok()
        assert uri in json.dumps(table.metadata, ensure_ascii=False)
    change, pointer = naming(field, 20, f"{old}/later", new)
    refused(table.commit(change), pointer, "write.*.path")


@pytest.mark.parametrize("field", FILES)
def test_a_commit_that_was_begun_before_the_table_moved(api, ns, field):
    """What it wrote lies where the table's metadata lay then: 409, so that it is done again where the table is now.
    What never was a place of the table's metadata is refused for good."""
    table, base = api.table(ns, properties=v1(field)), api.store.base
    apart, new = f"{base}-more/{ns}", f"{base}/{ns}/moved"
    moves = [(f"{table.location}/metadata", [set_properties(**{"write.metadata.path": apart})],
              [{"action": "set-location", "location": new}]),
             (apart, [{"action": "remove-properties", "removals": ["write.metadata.path"]}])]
    for place, *steps in moves:
        for step in steps:
            table.commit(*step).ok()
        before = api.store.list()
        change, pointer = naming(field, 1, f"{place}/x.avro", new)
        changes = {"identifier": {"namespace": [ns], "name": table.name}, "requirements": [], "updates": [change]}
        for answer in (table.commit(change), api.post("/v1/transactions/commit", {"table-changes": [changes]})):
            error = answer.fails(409, "CommitFailedException", contains="refresh and try again")
            assert new in error["message"] and pointer in error["message"]
        for elsewhere in (f"{place}/deeper", place.rpartition("/")[0], place + "x"):
            refused(table.commit(naming(field, 1, f"{elsewhere}/x.avro", new)[0]), pointer, "write.*.path")
        assert api.store.list() == before
    table.commit(naming(field, 1, f"{new}/metadata/x.avro", new)[0]).ok()


@pytest.mark.parametrize("field", FILES)
def test_files_of_others(api, ns, field):
    """A commit names no file outside of its table: neither beside it nor in another one's place, though a folder that
    its properties name lies around that; alone, in a transaction, and where it makes the table."""
    table, other, base = api.table(ns, properties=v1(field)), api.table(ns, "other"), api.store.base
    for uri in (f"{other.location}/metadata/x", another(api, f"{other.location}/x"), f"{table.location}x/x",
                f"{base}/{ns}/x", f"{base}-more/x", table.location.rpartition("/")[0]):
        change, pointer = naming(field, 1, uri, table.location)
        refused(table.commit(change), f"/updates/0{pointer}", "write.*.path")
        refused(api.post("/v1/transactions/commit", {"table-changes": [{
            "identifier": {"namespace": [ns], "name": table.name}, "requirements": [], "updates": [change]}]}), pointer)
        staged = api.create(ns, "new", stage_create=True, properties=v1(field)).ok().json["metadata"]
        updates = [*create_updates(staged, staged["format-version"]), naming(field, 1, uri, staged["location"])[0]]
        refused(api.commit(ns, "new", updates, [NEW]), pointer, "write.*.path")
    around = set_properties(**{"write.data.path": f"{base}/{ns}"})
    change, pointer = naming(field, 1, f"{other.location}/metadata/x", table.location)
    refused(table.commit(around, change), f"/updates/1{pointer}", "another table or view")
    table.commit(around, naming(field, 1, f"{base}/{ns}/x", table.location)[0]).ok()


def test_many_files_of_few_folders(api, ns):
    """The database is asked once for a folder, and for no more than a thousand; properties name a hundred."""
    table, apart = api.table(ns, properties=v1("manifests")), f"{api.store.base}/{ns}-d"

    def files(number, *uris):
        change = naming("manifests", number, uris[0], table.location)[0]
        return change | {"snapshot": change["snapshot"] | {"manifests": uris}}

    def folders(n):
        return set_properties(**{f"write.x{i}.path": f"{apart}/x{i}" for i in range(n)})

    table.apply(folders(100))
    before = api.server.metric("firn_sql_statements_total")
    table.apply(files(1, *(f"{apart}/x{i // 1000}/{i}" for i in range(3000))))
    assert api.server.metric("firn_sql_statements_total") - before < 100
    refused(table.commit(files(2, *(f"{apart}/x1/{i}/f" for i in range(1001)))), "more than 1000 folders")
    table.apply({"action": "remove-properties", "removals": ["write.x0.path"]}, files(3, f"{apart}/x0/f", f"{apart}/x1/f"))
    table.apply(folders(101))
    refused(table.commit(files(4, f"{apart}/x1/f")), "More than 100 properties")
    table.apply(files(5, f"{table.location}/f"))


def test_a_log_tells_of_elsewhere(api, ns, bad):
    """Metadata that was written elsewhere and moved here, as Spark registers it: its log is left as it is, and
    nothing that it names is read or deleted."""
    place = f"{api.store.base}/registered/{ns}"
    log = [{"timestamp-ms": 1700000000000, "metadata-file": uri} for uri in bad.values()]
    keep = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    api.register(ns, "r", put(api, place, document(place, **{"metadata-log": log, "properties": keep}))).ok()
    table = Table(api, ns, "r")
    assert table.metadata["metadata-log"] == log
    table.apply(set_properties(a="b"))
    table.load().ok()


@pytest.mark.parametrize("field", FOLDERS)
def test_folders_in_a_table_of_others(api, ns, field):
    """New files may lie outside of the table, but not in another one's location: create, commit, register."""
    other, view = api.table(ns, "other"), f"{api.store.base}/{ns}/view"
    api.create_view(ns, "v", location=view).ok()
    table = api.table(ns, "t")
    place = f"{api.store.base}/registered/{ns}"
    for uri in (other.location, other.location + "/", other.location + "/metadata", view + "/x/y"):
        refused(api.create(ns, "new", properties={field: uri}), f"/properties/{field}", "another table or view")
        refused(api.create(ns, "new", stage_create=True, properties={field: uri}), f"/properties/{field}")
        refused(table.commit(set_properties(**{field: uri})), f"/updates/0/updates/{field}", "another table or view")
        refused(api.register(ns, "r", put(api, place, document(place, properties={field: uri}))), f"/properties/{field}")
        refused(api.create_view(ns, "w", properties={field: uri}), f"/properties/{field}")
    # beside it, around it, and in its own
    for uri in (other.location + "x", f"{api.store.base}/{ns}", api.store.base, table.location, table.location + "/x"):
        if field != "write.metadata.path" or uri != api.store.base:
            table.apply(set_properties(**{field: uri}))


def test_moving_and_naming_in_one_commit(api, ns):
    """What is the table's own place is decided by where the commit puts it."""
    table, place = api.table(ns), f"{api.store.base}/{ns}/moved"
    table.apply({"action": "set-location", "location": place}, set_properties(**{"write.data.path": place + "/d"}))
    other = api.table(ns)
    refused(table.commit({"action": "set-location", "location": place + "2"},
                         set_properties(**{"write.data.path": other.location + "/d"})), "another table or view")


@pytest.mark.parametrize("field", ["write.metadata.path", LOCATION])
def test_views(api, ns, bad, field):
    """Create, replace and register a view."""
    api.create_view(ns, "v").ok()
    before, files = api.load_view(ns, "v").ok().json, api.store.list()
    place = f"{api.store.base}/registered/{ns}"
    file = api.store.read(before["metadata-location"])
    for uri in bad.values():
        members = {"location": uri} if field == LOCATION else {"properties": {field: uri}}
        refused(api.create_view(ns, "w", **members), f"/{field}")
        change, pointer = update(field, uri)
        version = replace_version(representation("SELECT 2"))
        refused(api.replace_view(ns, "v", [*version, change]), f"/updates/{len(version)}{pointer}")
        there = json.loads(file) if file[:1] == b"{" else json.loads(gzip.decompress(file))
        there |= {"view-uuid": "3b5c1ea3-3a3a-4b8f-9a2b-0c3d4e5f6a7b", "location": place} | members
        refused(api.register_view(ns, "w", put(api, place, there)))
    api.store.delete(f"{place}/metadata/v1.metadata.json")
    assert api.load_view(ns, "v").ok().json == before and api.view_names(ns) == ["v"] and api.store.list() == files


def test_namespaces(api, ns, bad):
    """The place of a namespace's tables: on create and on update; nothing changes."""
    before = api.get(ns_path(ns)).ok().json
    for uri in bad.values():
        refused(api.create_namespace(ns + "-new", {"location": uri}), "/properties/location")
        refused(api.post(ns_path(ns) + "/properties", {"updates": {"a": "b", "location": uri}}), "/updates/location")
    api.get(ns_path(ns + "-new")).fails(404)
    assert api.get(ns_path(ns)).ok().json == before
    api.post(ns_path(ns) + "/properties", {"updates": {"location": f"{api.store.base}/{ns}-own"}}).ok()
    assert api.table(ns).location.startswith(f"{api.store.base}/{ns}-own/")


def test_names_never_reach_a_place(api):
    """Signs of policies, of paths and of shells in names of namespaces and tables: the place has none of them."""
    for sign in ("*", "?", "$", "{", "}", "${aws:username}", '"', "'", "\\", "`", "a') || true", "%2e%2e", "\u202e",
                 "*.*", "a#b", " ", "~", "&", "|", ";", "<x>", "+"):
        ns = [f"{api.new_name()}{sign}", f"{sign}x"]
        api.create_namespace(ns).ok()
        location = api.create(ns, f"{sign}t", struct(*simple()["fields"])).ok().json["metadata"]["location"]
        rest = location.removeprefix(api.store.base)
        assert location.startswith(api.store.base + "/")
        assert all(c.isascii() and (c.isalnum() or c in "._-/") for c in rest), rest
        assert not {"", ".", ".."} & set(rest[1:].split("/")), rest


# what clients that merge a table's properties into their own settings would follow
SETTINGS = ("uri", "token", "credential", "oauth2-server-uri", "rest.auth.type", "header.X-Evil", "signer.uri", "s3.signer",
            "s3.signer.uri", "s3.endpoint", "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.proxy-uri",
            "client.refresh-credentials-endpoint", "gcs.oauth2.refresh-credentials-endpoint", "io-impl", "py-io-impl",
            "client.credentials-provider", "client.credentials-provider.x", "adls.connection-string.account",
            "adls.sas-token.account", "gcs.service.host", "gcs.oauth2.token",
            # those that PyIceberg with pyarrow, and iceberg-go, know besides
            "adls.blob-storage-authority", "adls.blob-storage-scheme", "adls.dfs-storage-authority",
            "adls.dfs-storage-scheme", "adls.endpoint", "adls.protocol", "adls.credential",
            "adls.auth.shared-key.account.key", "gcs.endpoint", "gcs.jsonkey", "gcs.keypath", "gcs.session-kwargs",
            "client.access-key-id", "client.secret-access-key", "client.session-token", "hf.endpoint", "hf.token")


def test_settings_of_clients(api, ns):
    """Refused as properties on every way in; taken away they may be."""
    table = api.table(ns)
    before, files = table.loaded, api.store.list()
    place = f"{api.store.base}/registered/{ns}"
    for name in SETTINGS:
        given = {"properties": {name: "http://evil.example", "a": "b"}}
        refused(api.create(ns, "n", **given), f"/properties/{name}", "FIRN_ALLOWED_PROPERTIES")
        refused(api.create(ns, "n", stage_create=True, **given), f"/properties/{name}")
        refused(table.commit(set_properties(**given["properties"])), f"/updates/0/updates/{name}")
        refused(api.create_view(ns, "n", **given), f"/properties/{name}")
        file = put(api, place, document(place, **given))
        refused(api.register(ns, "n", file), f"/properties/{name}")
        api.store.delete(file)
        table.commit({"action": "remove-properties", "removals": [name]}).ok()
    assert table.metadata["properties"] == before["metadata"]["properties"] and api.names(ns) == [table.name]
    assert set(api.store.list()) - set(files) == {f for f in api.store.list(table.location) if f not in files}
    for name in ("s3.sse.type", "s3.region", "commit.retry.num-retries", "urix", "my-token", "write.location-provider.impl"):
        table.apply(set_properties(**{name: "1"}))


def test_settings_of_clients_that_are_allowed():
    """By name, or by how they begin."""
    with Server(env={"FIRN_ALLOWED_PROPERTIES": "s3.endpoint, header.*"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        table = api.table(ns, properties={"s3.endpoint": "http://s3.example", "header.x": "1"})
        refused(table.commit(set_properties(uri="x")))
        api.close()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX", "nonsense"])
def test_bytes_whatever_the_locale(locale):
    """What a place is does not depend on how the server was started."""
    with Server(env={"LC_ALL": locale, "LANG": locale}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        place = f"{api.store.base}/\u00e9\u6f22\U0001f600/t"
        table = api.table(ns, location=place)
        assert table.location == place and all(f.startswith(place + "/") for f in api.store.list(place))
        assert api.store.list(place) == [table.metadata_location]
        api.create(ns, "u", location=place + "/x").fails(409)
        api.close()
