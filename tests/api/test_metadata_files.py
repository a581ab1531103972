"""Metadata files: names, codec, folder, bytes, and which of them stay."""

import gzip
import json
import re
import time
import uuid

import pytest

from firn_client import Table, add_snapshot, eventually, in_parallel, set_properties, set_ref, strict_json, struct

NAME = re.compile(r"(\d{5,})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\.gz)?\.metadata\.json")


def files_of(api, table):
    return [f for f in api.store.list(table.location) if ".metadata.json" in f]


def test_names_count_up(api, table):
    """Five digits, a uuid of their own, one more for each commit."""
    seen = []
    for i in range(12):
        location = table.metadata_location
        folder, _, name = location.rpartition("/")
        assert folder == table.location + "/metadata"
        match = NAME.fullmatch(name)
        assert match and int(match[1]) == i and not match[3]
        seen.append(match[2])
        table.apply(set_properties(i=str(i)))
    assert len(set(seen)) == 12 and table.uuid not in seen
    assert len(files_of(api, table)) == 13


def test_file_and_answer_are_one_document(api, table):
    """Create, commit and load answer with the bytes that lie in the store."""
    for i in range(3):
        answer = table.commit(set_properties(i=str(i))).ok()
        data = api.store.read(answer.json["metadata-location"])
        assert data in answer.body and data in table.load().body
        assert strict_json(data) == answer.json["metadata"]
        assert b"\n" not in data and b": " not in data


@pytest.mark.parametrize("codec", ["gzip", "GZIP", "Gzip"])
def test_gzip_files(api, ns, codec):
    """Written when the property asks, under the name Java expects; read back by content."""
    table = api.table(ns, properties={"write.metadata.compression-codec": codec})
    for i in range(3):
        location = table.metadata_location
        assert re.search(rf"/0000{i}-[0-9a-f-]{{36}}\.gz\.metadata\.json$", location)
        data = api.store.read(location)
        assert data[:2] == b"\x1f\x8b"
        assert json.loads(gzip.decompress(data)) == table.metadata
        table.append(i + 1, i + 1, i or None)
    api.drop(ns, table.name).expect(204)
    assert api.register(ns, "again", location).ok().json["metadata-location"] == location


def test_codec_changes_with_the_commit_that_sets_it(api, table):
    """Taken from the metadata after the commit."""
    table.apply({"action": "set-properties", "updates": {"write.metadata.compression-codec": "gzip"}})
    assert table.metadata_location.endswith(".gz.metadata.json")
    table.apply({"action": "set-properties", "updates": {"write.metadata.compression-codec": "none"}})
    assert re.search(r"/00002-[0-9a-f-]{36}\.metadata\.json$", table.metadata_location)
    table.apply({"action": "remove-properties", "removals": ["write.metadata.compression-codec"]})
    assert api.store.read(table.metadata_location)[:1] == b"{"


def test_metadata_folder(api, table):
    """`write.metadata.path` moves metadata files at once, a slash at its end does not matter."""
    place = table.location + "/elsewhere"
    table.apply({"action": "set-properties", "updates": {"write.metadata.path": place + "/"}})
    assert re.fullmatch(re.escape(place) + r"/00001-[0-9a-f-]{36}\.metadata\.json", table.metadata_location)
    table.load().ok()
    table.apply({"action": "remove-properties", "removals": ["write.metadata.path"]})
    assert table.metadata_location.startswith(table.location + "/metadata/00002-")


def test_metadata_folder_outside(api, ns, table):
    """Nowhere that the server may not write: 400, on create and on commit."""
    files = api.store.list()
    for place in ("s3://elsewhere/m", "file:///etc", "/etc", "relative", api.store.base + "/../m", ""):
        updates = {"action": "set-properties", "updates": {"write.metadata.path": place}}
        answer = table.commit(updates).expect(400, 200)
        if answer.status == 200:  # an empty path is as good as none
            assert place == "" and table.metadata_location.startswith(table.location)
            table.apply({"action": "remove-properties", "removals": ["write.metadata.path"]})
            files = api.store.list()
        else:
            api.create(ns, "new", properties={"write.metadata.path": place}).fails(400)
    assert api.store.list() == files


def test_files_of_refused_commits_do_not_stay(api, ns, table):
    """Whatever is refused leaves no file behind."""
    table.append(1, 1)
    files = api.store.list()
    table.commit(set_properties(a="b"), requirements=[{"type": "assert-create"}]).fails(409)
    table.commit(add_snapshot(1, 9)).fails(400)
    table.commit(add_snapshot(2, 1, 1)).fails(409)
    api.create(ns, table.name).fails(409)
    api.create("non-existing", "t").fails(404)
    assert api.store.list() == files


def test_files_of_lost_races_do_not_stay(api, ns):
    """Racing commits: exactly one file per version; racing creates: one file in all."""
    table = api.table(ns)
    in_parallel(8, lambda i: table.apply(set_properties(**{f"k{i}": "v"})))
    assert len(files_of(api, table)) == 9
    numbers = sorted(int(NAME.search(f)[1]) for f in files_of(api, table))
    assert numbers == list(range(9))
    other = api.new_namespace()
    before = len(api.store.list())
    answers = in_parallel(12, lambda _: api.create(other, "t"))
    assert sorted(a.status for a in answers) == [200] + [409] * 11
    assert len(api.store.list()) == before + 1


def test_old_files_are_deleted_when_asked(api, table):
    """`write.metadata.delete-after-commit.enabled`: what falls out of the log is deleted, after the swap."""
    table.apply({"action": "set-properties", "updates": {
        "write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}})
    locations = []
    for i in range(6):
        table.apply(set_properties(i=str(i)))
        locations.append(table.metadata_location)
    log = [e["metadata-file"] for e in table.metadata["metadata-log"]]
    assert log == locations[-3:-1]
    eventually(lambda: sorted(files_of(api, table)) == sorted(locations[-3:]))


@pytest.mark.parametrize("slash", ["", "/"])
def test_old_files_in_a_metadata_folder_elsewhere(api, ns, slash):
    """`write.metadata.path` outside of the table's location: those that the server wrote there go too."""
    place = f"{api.store.base}/{ns}-elsewhere"
    table = api.table(ns, properties=KEEP_ONE | {"write.metadata.path": place + slash})
    other = api.table(ns, "other", properties={"write.metadata.path": place, "write.metadata.previous-versions-max": "1"})
    kept = {other.metadata_location}
    for i in range(3):
        table.apply(set_properties(i=str(i)))
        other.apply(set_properties(i=str(i)))
        kept.add(other.metadata_location)
    eventually(lambda: set(api.store.list(place)) == kept | {*log_of(table), table.metadata_location})
    assert len(log_of(table)) == 1


def test_old_files_elsewhere_that_are_not_the_servers(api, ns):
    """A registered log names them in the folder of `write.metadata.path`: of another make, deeper than
    the server writes, current for another table, or outside of it. They stay; the server's own one goes."""
    place = f"{api.store.base}/{ns}-elsewhere"
    there = {"write.metadata.path": place}
    table, other = api.table(ns, "a", properties=there), api.table(ns, "b", properties=there)
    own = table.metadata_location
    name = own.rpartition("/")[2]
    document = strict_json(api.store.read(own))
    stay = [f"{place}/00001-{uuid.uuid4()}.metadata.json", f"{place}/v1.metadata.json", f"{place}/deeper/{name}",
            f"{place}-x/{name}", other.metadata_location]
    for uri in stay[:-1]:
        api.store.write(uri, b"{}")
    again = f"{place}/00001-odd.metadata.json"
    api.store.write(again, json.dumps(document | {"metadata-log": [
        {"timestamp-ms": document["last-updated-ms"], "metadata-file": f} for f in [*stay, own]]}).encode())
    api.drop(ns, "a").expect(204)
    api.register(ns, "again", again).ok()
    Table(api, ns, "again").apply(set_properties(**KEEP_ONE))
    eventually(lambda: not api.store.exists(own))
    time.sleep(0.3)
    assert all(api.store.exists(f) for f in [*stay, again])
    other.load().ok()


def test_old_files_stay_by_default(api, table):
    """Only the log is bounded."""
    table.apply({"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "1"}})
    for i in range(3):
        table.apply(set_properties(i=str(i)))
    assert len(files_of(api, table)) == 5


def test_members_in_the_order_of_java(table):
    """format-version first: some readers look at the beginning only."""
    assert list(table.metadata)[:3] == ["format-version", "table-uuid", "location"]


def put(api, place, text):
    uri = f"{place}/metadata/v7.metadata.json"
    api.store.write(uri, text.encode())
    return uri


def test_unknown_members_survive_byte_for_byte(api, ns):
    """At the top, in snapshots, schemas, specs and references' neighbours; after many kinds of commits."""
    place = f"{api.store.base}/kept/{ns}"
    odd = '{"z" : [1.0, 2.50, 1E+2, -0, 0.1e-7, 1234567890123456789], "u":"\\u00e9\\/", "n":null}'
    snap = ('{"snapshot-id":1,"sequence-number":1,"timestamp-ms":1700000000000,"manifest-list":"' + place + '/m",'
            '"summary":{"operation":"append"},"x-odd":' + odd + "}")
    schema = '{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":false,"type":"long","x-odd":' + odd + "}]}"
    text = ('{"format-version":2,"table-uuid":"3b5c1ea3-3a3a-4b8f-9a2b-0c3d4e5f6a7b","location":"' + place + '",'
            '"last-sequence-number":1,"last-updated-ms":1700000000000,"last-column-id":1,"schemas":[' + schema + '],'
            '"current-schema-id":0,"partition-specs":[{"spec-id":0,"fields":[],"x-odd":' + odd + '}],"default-spec-id":0,'
            '"last-partition-id":999,"sort-orders":[{"order-id":0,"fields":[]}],"default-sort-order-id":0,'
            '"snapshots":[' + snap + '],"current-snapshot-id":1,"refs":{"main":{"snapshot-id":1,"type":"branch"}},'
            '"x-top":' + odd + "}")
    api.register(ns, "t", put(api, place, text)).ok()
    table = Table(api, ns, "t")
    # numbers that no reader of ours may touch: the answer is looked at as bytes
    for updates in ([set_properties(a="b")], [add_snapshot(2, 2, 1, place), set_ref("main", 2)],
                    [{"action": "add-schema", "schema": struct({"id": 2, "name": "b", "required": False, "type": "int"})}],
                    [{"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [
                        {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-last"}]}}]):
        location = table.commit(*updates).ok().json["metadata-location"]
        data = api.store.read(location).decode()
        assert '"x-top":' + odd in data
        assert snap in data and schema in data
        assert data.count(odd) == 4


def test_numbers_are_exact(api, ns):
    """No 64-bit number of ours passes through a double."""
    table = api.table(ns)
    big = 2**63 - 1
    table.apply(add_snapshot(big, 2**60 + 1, location=table.location, **{"timestamp-ms": 1700000000001}), set_ref("main", big))
    data = api.store.read(table.metadata_location)
    for number in (big, 2**60 + 1):
        assert str(number).encode() in data
    table.apply(set_ref("b", big, **{"max-ref-age-ms": 2**62 + 1, "max-snapshot-age-ms": 2**61 + 1}))
    assert table.metadata["refs"]["b"]["max-ref-age-ms"] == 2**62 + 1


def test_files_are_standalone_metadata(api, ns):
    """PyIceberg's own parser reads every version, of every format version."""
    from pyiceberg.table.metadata import TableMetadataUtil
    for version in ("1", "2", "3"):
        table = api.table(ns, properties={"format-version": version})
        more = {"first-row-id": 0, "added-rows": 5} if version == "3" else {}
        sequence = None if version == "1" else 1
        table.apply(add_snapshot(1, sequence, location=table.location, **more), set_ref("main", 1), set_ref("t", 1, "tag"))
        parsed = TableMetadataUtil.parse_raw(api.store.read(table.metadata_location).decode())
        assert parsed.format_version == int(version) and parsed.current_snapshot_id == 1
        assert str(parsed.table_uuid) == table.uuid


def test_broken_current_file(api, ns, table):
    """A file that is no longer metadata: a load is an error of ours, a commit certainly not applied, the
    drop goes through."""
    from firn_client import Api
    from firn_server import Server
    if api.server.db.kind == "sqlite":
        with Server() as firn:
            client = Api(firn)
            name = client.new_namespace()
            location = client.table(name, "t").metadata_location
            firn.stop()
            firn.store.write(location, b"{ broken")
            firn.start()
            broken(client, name, "t")
            client.close()
        return
    location = table.metadata_location
    api.store.write(location, b"{ broken")
    with api.server.replica() as other:
        client = Api(other)
        broken(client, ns, table.name)
        client.close()


def broken(client, ns, name):
    client.load(ns, name).fails(500, "UnreadableMetadataException")
    client.commit(ns, name, [set_properties(a="b")]).expect(400, 409)
    assert client.names(ns) == [name]
    client.drop(ns, name, "?purgeRequested=true").expect(204)


def log_of(table):
    return [e["metadata-file"] for e in table.metadata["metadata-log"]]


KEEP_ONE = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}


def test_old_files_go_after_a_transaction(api, ns):
    """Of each of its tables, and of one that is replaced."""
    tables = [api.table(ns, f"t{i}", properties=KEEP_ONE) for i in range(2)]
    for i in range(3):
        changes = [{"identifier": {"namespace": [ns], "name": t.name}, "requirements": [],
                    "updates": [set_properties(i=str(i))]} for t in tables]
        api.post("/v1/transactions/commit", {"table-changes": changes}).expect(204)
    for table in tables:
        eventually(lambda: set(files_of(api, table)) == {*log_of(table), table.metadata_location})
        assert len(log_of(table)) == 1


def test_a_refused_commit_deletes_nothing(api, ns):
    table = api.table(ns, properties=KEEP_ONE)
    table.apply(set_properties(a="b"))
    files = files_of(api, table)
    table.commit(set_properties(a="c"), requirements=[{"type": "assert-create"}]).fails(409)
    table.commit().ok()  # nothing to do
    time.sleep(0.3)
    assert files_of(api, table) == files


def test_an_old_file_that_another_table_names(api, ns):
    """Its first states lay in a folder that is another table's by now; one of them was registered, and its log
    names the one before."""
    base = f"{api.store.base}/{ns}"
    table = api.table(ns, "a", location=f"{base}/first", properties={"write.metadata.path": f"{base}/second/metadata"})
    old = table.metadata_location
    table.apply(set_properties(a="b"))
    shared = table.metadata_location
    table.apply({"action": "set-location", "location": f"{base}/second"},
                {"action": "remove-properties", "removals": ["write.metadata.path"]})
    document = strict_json(api.store.read(shared)) | {"table-uuid": str(uuid.uuid4()), "properties": {}}
    api.store.write(shared, json.dumps(document).encode())
    api.register(ns, "b", shared).ok()
    moved = table.metadata_location
    table.apply(set_properties(**KEEP_ONE))
    table.apply(set_properties(a="c"))
    eventually(lambda: not api.store.exists(moved))
    assert set(files_of(api, table)) == {*log_of(table), table.metadata_location, shared, old}
    assert Table(api, ns, "b").apply(set_properties(c="d"))["location"] == f"{base}/first"


def twin_of(api, ns, table, name="twin"):
    """A copy of the table's metadata, log and all, as a table of its own that lies elsewhere."""
    base = f"{api.store.base}/{ns}-{name}"
    document = strict_json(api.store.read(table.metadata_location)) | {"table-uuid": str(uuid.uuid4()), "location": base}
    api.store.write(f"{base}/metadata/copy.metadata.json", json.dumps(document).encode())
    api.register(ns, name, f"{base}/metadata/copy.metadata.json").ok()
    return Table(api, ns, name)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_old_files_in_the_log_of_a_twin(api, ns, elsewhere):
    """What the twin's log names stays, and what came later goes. The twin writes into the same
    `write.metadata.path`, if there is one, and deletes there what it made, nothing of the table's."""
    place = f"{api.store.base}/{ns}-elsewhere"
    table = api.table(ns, "a", properties={"write.metadata.path": place} if elsewhere else {})
    table.apply(set_properties(a="1"))
    table.apply(set_properties(a="2"))
    shared = log_of(table)
    twin = twin_of(api, ns, table)
    assert len(shared) == 2 and log_of(twin) == shared
    for one, other in ((table, twin), (twin, table)):
        one.apply(set_properties(**KEEP_ONE))
        goes = one.metadata_location
        for i in range(2):
            one.apply(set_properties(b=str(i)))
        eventually(lambda goes=goes: not api.store.exists(goes))
        assert all(api.store.exists(f) for f in [*log_of(other), *log_of(one), one.metadata_location])
        if one is table:
            assert all(api.store.exists(f) for f in shared)


def test_old_files_that_two_registered_tables_share(api, ns):
    """Each inherited the same log; the first to shorten its own leaves the other's whole."""
    place = f"{api.store.base}/{ns}-elsewhere"
    table = api.table(ns, "a", properties={"write.metadata.path": place})
    table.apply(set_properties(a="1"))
    table.apply(set_properties(a="2"))
    shared = log_of(table)
    first, second = twin_of(api, ns, table, "first"), twin_of(api, ns, table, "second")
    api.drop(ns, "a").expect(204)
    for one, there in ((first, True), (second, False)):
        one.apply(set_properties(**KEEP_ONE))
        marker = one.metadata_location
        one.apply(set_properties(b="1"))
        one.apply(set_properties(b="2"))
        eventually(lambda marker=marker: not api.store.exists(marker))
        eventually(lambda there=there: all(api.store.exists(f) == there for f in shared))


def test_old_files_whose_maker_nobody_knows(api, ns, server):
    """The changes that made them are forgotten: a registered table leaves them where others may write, one that
    made all of its log does not."""
    place = f"{api.store.base}/{ns}-elsewhere"
    own, source = (api.table(ns, n, properties={"write.metadata.path": place}) for n in ("own", "source"))
    for one in (own, source):
        one.apply(set_properties(a="1"))
    twin = twin_of(api, ns, source)
    of_own, of_source = log_of(own) + [own.metadata_location], log_of(source)
    server.sql("DELETE FROM change")
    twin.apply(set_properties(**KEEP_ONE))
    twin.apply(set_properties(b="1"))
    own.apply(set_properties(**KEEP_ONE))
    own.apply(set_properties(b="1"))
    eventually(lambda: not any(api.store.exists(f) for f in of_own))
    assert all(api.store.exists(f) for f in of_source)


def test_a_log_that_names_a_file_twice(api, ns):
    """Or the state that it was registered from, as logs of other makes may: what is still named stays."""
    table = api.table(ns, properties=KEEP_ONE)
    own = table.metadata_location
    document = strict_json(api.store.read(own))
    entry = {"timestamp-ms": document["last-updated-ms"], "metadata-file": own}
    again = f"{table.location}/metadata/00001-odd.metadata.json"
    api.store.write(again, json.dumps(document | {"metadata-log": [
        {"timestamp-ms": document["last-updated-ms"], "metadata-file": again}, entry, entry]}).encode())
    api.drop(ns, table.name).expect(204)
    api.register(ns, "b", again).ok()
    other = Table(api, ns, "b")
    other.apply(set_properties(a="b"))
    eventually(lambda: not api.store.exists(own))
    assert set(files_of(api, other)) == {again, other.metadata_location}
    other.apply(set_properties(a="c"))
    eventually(lambda: not api.store.exists(again))


def test_more_old_files_than_can_wait(server, api, ns):
    """The queue is bounded; what it cannot take is counted and stays."""
    table = api.table(ns, properties={"write.metadata.previous-versions-max": "10000"})
    document = strict_json(api.store.read(table.metadata_location))
    log = [{"timestamp-ms": document["last-updated-ms"], "metadata-file": f"{table.location}/metadata/{i}.metadata.json"}
           for i in range(5000)]
    full = f"{table.location}/metadata/00001-full.metadata.json"
    api.store.write(full, json.dumps(document | {"metadata-log": log}).encode())
    api.drop(ns, table.name).expect(204)
    api.register(ns, "b", full).ok()
    done, dropped = (server.metric(f"firn_leftover_{name}_total") for name in ("files", "dropped"))
    Table(api, ns, "b").apply(set_properties(**KEEP_ONE))
    eventually(lambda: server.metric("firn_leftover_dropped_total") - dropped == 5000 - 4096)
    eventually(lambda: server.metric("firn_leftover_files_total") - done == 4096, 150)


@pytest.mark.parametrize("how", ["create", "commit", "transaction", "view"])
def test_gzip_of_what_shrinks_too_well(api, ns, how):
    """Packed metadata that would be taken for a bomb is written in another form: what was acknowledged can be read,
    also after a restart, and changed again."""
    blanks = {"a": "x" * 700_000, "b": "x" * 700_000}
    codec = {"write.metadata.compression-codec": "gzip"}
    if how == "view":
        made = api.create_view(ns, "t", properties=blanks | codec).ok().json
    elif how == "create":
        made = api.create(ns, "t", properties=blanks | codec).ok().json
    else:
        api.create(ns, "t", properties=codec).ok()
        if how == "commit":
            made = api.commit(ns, "t", [set_properties(**blanks)]).ok().json
        else:
            api.post("/v1/transactions/commit", {"table-changes": [
                {"identifier": {"namespace": [ns], "name": "t"}, "requirements": [], "updates": [set_properties(**blanks)]}]}).expect(204)
            made = api.load(ns, "t").ok().json
    assert made["metadata-location"].endswith(".gz.metadata.json")
    assert blanks.items() <= json.loads(gzip.decompress(api.store.read(made["metadata-location"])))["properties"].items()
    api.server.restart()
    load = api.load_view if how == "view" else api.load
    assert blanks.items() <= load(ns, "t").ok().json["metadata"]["properties"].items()
    if how != "view":
        api.commit(ns, "t", [set_properties(c="d")]).ok()
        assert load(ns, "t").ok().json["metadata"]["properties"]["c"] == "d"
