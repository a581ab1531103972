"""A purge never deletes a file that another table's metadata names, whatever kind of file it is and wherever that
table lies; all else goes. What tables name is read once."""

import copy
import json
import secrets
import urllib.parse
import uuid

import pyarrow as pa
import pytest
from firn_client import Api, add_snapshot, set_ref
from firn_server import Server, local_path, seal
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.manifest import ManifestEntryStatus, write_manifest, write_manifest_list
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from test_purge import connect, go, lazy, marks, purge, wait_purged, wait_until  # noqa: F401

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
ROOT = "/management/v1/warehouses"


@pytest.fixture(scope="module")
def server():
    firn = Server(env={"FIRN_SECRET_KEYS": seal()})
    firn.extra["FIRN_WAREHOUSE_FOLDERS"] = f"file://{firn.folder}/houses"
    if firn.store.kind == "s3":
        firn.extra["FIRN_WAREHOUSE_ENDPOINTS"] = urllib.parse.urlsplit(firn.store.endpoint).netloc
    with firn:
        yield firn


def rows(first, n=4):
    return pa.table({"id": pa.array(range(first, first + n), pa.int64())})


def make(server, ns, name, appends=0, **more):
    table = connect(server).create_table((ns, name), SCHEMA, **more)
    for i in range(appends):
        table.append(rows(10 * i))
    return table


def data_files(table):
    return sorted(task.file.file_path for task in table.scan().plan_files())


def ids(server, ns, name):
    return sorted(connect(server).load_table((ns, name)).scan().to_arrow()["id"].to_pylist())


def reads(server):
    return server.metric("firn_purge_reads_total")


# --- what stays, and that all else goes -----------------------------------------------------


def test_a_data_file_that_was_taken_over(server, api, ns):
    """add_files: B reads every row after A was purged. Purged in turn, B leaves what is not its own."""
    a, b = make(server, ns, "a", appends=3), make(server, ns, "b", appends=1)
    taken = data_files(a)[0]
    b.add_files([taken])
    before = ids(server, ns, "b")
    assert len(before) == 8
    spared = len(api.store.list(a.location()))
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == [taken] and spared > 10
    assert ids(server, ns, "b") == before
    purge(api, ns, "b")
    wait_purged(server)
    assert api.store.list(b.location()) == [] and api.store.exists(taken)


def rewritten(api, ns, name, **changes):
    """The table registered anew with these members: what no commit may name can come that way."""
    at = api.load(ns, name).ok().json["metadata-location"]
    uri = f"{at.rpartition('/')[0]}/00099-{uuid.uuid4()}.metadata.json"
    api.store.write(uri, json.dumps(json.loads(api.store.read(at)) | changes).encode())
    api.register(ns, name, uri, overwrite=True).ok()


@pytest.mark.parametrize("member", ["statistics", "partition-statistics"])
def test_a_statistics_file(server, api, ns, member):
    a, b = make(server, ns, "a", appends=1), make(server, ns, "b", appends=1)
    path = f"{a.location()}/metadata/of-both.stats"
    sizes = {"statistics-path": path, "file-size-in-bytes": 4}
    more = {} if member != "statistics" else {"file-footer-size-in-bytes": 4, "blob-metadata": []}
    of_a, of_b = (sizes | more | {"snapshot-id": table.current_snapshot().snapshot_id} for table in (a, b))
    api.commit(ns, "a", [{"action": f"set-{member}", member: of_a}]).ok()
    rewritten(api, ns, "b", **{member: [of_b]})
    api.store.write(path, b"PFA1")
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == [path]


def spellings(uri):
    """Names that some client takes for the same file."""
    scheme, _, path = uri.partition("://")
    folder, _, name = path.rpartition("/")
    names = [f"{scheme.upper()}://{path}", f"{scheme}://{folder}//{name}", f"{scheme}://{folder}/./{name}",
             f"{scheme}://{folder}/x/../{name}", f"{scheme}://{folder}/{name.replace('of', '%6ff')}",
             f"{scheme}://{folder}/{name.replace('of', '%256Ff')}", f"{uri}?version=1"]
    if scheme == "file":
        return [*names, path, f"file:{path}", f"file://localhost{path}", path.replace("/", "//")]
    return [*names, f"s3n://{path}", f"s3a://key:secret@{folder}//{name}"]


def write_list(table, snapshot, *names, sequence=1):
    """A manifest list of a table, whose manifest adds the files of these names."""
    folder, io = f"{table.location()}/metadata", table.io
    old = table.current_snapshot().manifests(io)[0].fetch_manifest_entry(io)[0]
    with write_manifest(2, table.spec(), table.schema(), io.new_output(f"{folder}/m-{snapshot}.avro"), snapshot,
                        "deflate") as manifest:
        for name in names:
            entry = copy.deepcopy(old)
            entry.data_file._data[1] = name
            entry._data[:4] = ManifestEntryStatus.ADDED, snapshot, None, None
            manifest.add_entry(entry)
    uri = f"{folder}/snap-{snapshot}.avro"
    with write_manifest_list(2, io.new_output(uri), snapshot, None, sequence, "deflate") as out:
        out.add_manifests([manifest.to_manifest_file()])
    return uri


def test_a_name_in_another_spelling(server, api, ns):
    """B names files of A in ways of its own, one of them as if it lay in B."""
    a, b = make(server, ns, "a", appends=1), make(server, ns, "b", appends=1, location=f"{api.store.base}/{ns}/b")
    n = len(spellings(a.location())) + 1
    files = [f"{a.location()}/data/of-{i:02}.parquet" for i in range(n)]
    for uri in files:
        api.store.write(uri, b"PAR1")
    names = [spellings(uri)[i] for i, uri in enumerate(files[:-1])]
    names.append(f"{b.location()}/../..{files[-1].removeprefix(api.store.base)}")
    for name, table, which in (("a", a, files), ("b", b, names)):
        lists = write_list(table, 7, *which)
        api.commit(ns, name, [add_snapshot(7, 1, **{"manifest-list": lists}), set_ref("main", 7)]).ok()
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == files


def test_a_place_that_is_read_like_the_own(server, api, ns):
    """Who decodes finds both tables in one place, who does not in two."""
    a, b = (make(server, ns, name, appends=n, location=f"{api.store.base}/{ns}/{place}")
            for name, n, place in (("a", 1, "ä"), ("b", 0, "%C3%A4")))
    taken = data_files(a)
    b.add_files(taken)
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == taken


@pytest.mark.parametrize("spelling", ["plain", "behind a link"])
def test_a_data_file_in_another_spelling(spelling):
    """What PyIceberg reads by a path of this machine is there after the purge."""
    firn = Server()
    if firn.store.kind == "file":
        base = local_path(firn.store.base)
        linked = base.with_name(base.name + "-linked")
        base.rename(linked)
        base.symlink_to(linked)
    with firn:
        api = Api(firn)
        if api.store.kind == "file":
            ns = api.new_namespace()
            a, b = make(firn, ns, "a", appends=2), make(firn, ns, "b")
            names = [str(local_path(f)) for f in data_files(a)]
            if spelling != "plain":
                names = ["file://" + name.replace(str(base), str(linked)) for name in names]
            b.add_files(names)
            purge(api, ns, "a")
            wait_purged(firn)
            assert len(api.store.list(a.location())) == 2
            assert ids(firn, ns, "b") == [0, 1, 2, 3, 10, 11, 12, 13]
        api.close()


def test_a_manifest_in_another_spelling(lazy):  # noqa: F811
    """This server does not read what lies there: A waits until it can know what it names."""
    api = Api(lazy)
    ns = api.new_namespace()
    a, b = make(lazy, ns, "a", appends=1), make(lazy, ns, "b")
    b.add_files(data_files(a))
    manifests = b.current_snapshot().manifests(b.io)
    for manifest in manifests:
        manifest._data[0] = manifest.manifest_path.replace("/metadata/", "/metadata/./")
    c = make(lazy, ns, "c", location=f"{api.store.base}/{ns}-c")
    uri = f"{c.location()}/metadata/snap-7.avro"
    with write_manifest_list(2, c.io.new_output(uri), 7, None, 1, "deflate") as out:
        out.add_manifests(manifests)
    api.commit(ns, "c", [add_snapshot(7, 1, **{"manifest-list": uri}), set_ref("main", 7)]).ok()
    api.drop(ns, "b").expect(204)
    purge(api, ns, "a")
    before = api.store.list(a.location())
    go(lazy)
    lazy.wait_log(r"what the table at .*-c names cannot be known: reading .*/metadata/\./")
    lazy.wait_log("what other tables name is not known")
    assert marks(lazy) == 1 and api.store.list(a.location()) == before
    api.close()


def test_a_manifest_list(server, api, ns):
    """It stays with all that it leads to: manifests, and their data. What came later goes."""
    a = make(server, ns, "a", appends=2)
    kept = [a.current_snapshot().manifest_list]
    for manifest in a.current_snapshot().manifests(a.io):
        kept += [manifest.manifest_path, *(e.data_file.file_path for e in manifest.fetch_manifest_entry(a.io))]
    make(server, ns, "b")
    taken = add_snapshot(7, 1, **{"manifest-list": kept[0]})["snapshot"]
    rewritten(api, ns, "b", **{"snapshots": [taken], "current-snapshot-id": 7, "last-sequence-number": 1,
                               "refs": {"main": {"snapshot-id": 7, "type": "branch"}}})
    a.append(rows(50))
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == sorted(kept) and len(kept) == 5
    assert ids(server, ns, "b") == [0, 1, 2, 3, 10, 11, 12, 13]


def registered(api, ns, name, source, **changes):
    """The table's metadata with changes, registered as another table that lies elsewhere."""
    base = f"{api.store.base}/{ns}-{name}"
    text = json.loads(api.store.read(source.metadata_location))
    text |= {"table-uuid": str(uuid.uuid4()), "location": base} | changes
    uri = f"{base}/metadata/00000-{uuid.uuid4()}.metadata.json"
    api.store.write(uri, json.dumps(text).encode())
    api.register(ns, name, uri).ok()


def test_a_registered_copy(server, api, ns):
    """Every file that it had when it was copied."""
    a = make(server, ns, "a", appends=2)
    a.delete(EqualTo("id", 1))
    registered(api, ns, "b", a)
    current = a.metadata_location
    before = api.store.list(a.location())
    a.append(rows(50))
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == [f for f in before if f != current]
    assert ids(server, ns, "b") == [0, 2, 3, 10, 11, 12, 13]


def test_an_entry_of_a_metadata_log(server, api, ns):
    a = make(server, ns, "a", appends=2)
    old = a.metadata.metadata_log[0].metadata_file
    registered(api, ns, "b", a, snapshots=[], refs={}, **{
        "current-snapshot-id": None, "snapshot-log": [], "metadata-log": [{"metadata-file": old, "timestamp-ms": 5}]})
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == [old]


def test_a_file_of_a_place_that_was_left(server, api, ns):
    """B moved away from L, and its files did not. A lies there now, and names one of them."""
    place = f"{server.store.base}/{ns}-place"
    b = make(server, ns, "b", appends=2, location=place)
    taken = data_files(b)
    a, other = make(server, ns, "a", appends=1), make(server, ns, "other")
    purge(api, ns, "other")  # all of them are known where they lie
    wait_purged(server)
    assert not api.store.list(other.location())
    api.commit(ns, "b", [{"action": "set-location", "location": place + "-new"}]).ok()
    purge(api, ns, "a")
    a = make(server, ns, "a", location=place)
    a.append(rows(70))
    own = data_files(a)
    a.add_files(taken)
    purge(api, ns, "a")
    wait_purged(server)
    assert set(taken) <= set(api.store.list(place)) and not set(own) & set(api.store.list(place))
    assert ids(server, ns, "b") == [0, 1, 2, 3, 10, 11, 12, 13]


def test_a_table_that_became_another(server, api, ns):
    """Overwritten by an older state of itself, B counts its snapshots from there: numbers that were known say
    nothing about what has them now."""
    a, b, other = make(server, ns, "a", appends=1), make(server, ns, "b", appends=1), make(server, ns, "other")
    first = b.metadata_location
    for i in range(3):
        b.append(rows(100 + 10 * i))
    purge(api, ns, "other")
    wait_purged(server)
    assert not api.store.list(other.location())
    api.register(ns, "b", first, overwrite=True).ok()
    taken = data_files(a)
    connect(server).load_table((ns, "b")).add_files(taken)
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == taken
    assert ids(server, ns, "b") == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_snapshot_that_begins_anew(server, api, ns):
    """Without a parent it may have any number, also a low one."""
    a, b, other = make(server, ns, "a", appends=1), make(server, ns, "b", appends=3), make(server, ns, "other")
    purge(api, ns, "other")
    wait_purged(server)
    assert not api.store.list(other.location())
    manifests = a.current_snapshot().manifests(a.io)
    kept = [*data_files(a), *(m.manifest_path for m in manifests)]
    lists = f"{b.location()}/metadata/snap-7.avro"
    with write_manifest_list(2, b.io.new_output(lists), 7, None, 1, "deflate") as out:
        out.add_manifests(manifests)
    api.commit(ns, "b", [add_snapshot(7, 1, **{"manifest-list": lists}), set_ref("main", 7)]).ok()
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == sorted(kept)
    assert b.location() != a.location()


@pytest.mark.parametrize("gone", [True, False])
def test_a_snapshot_that_follows_one_that_began_anew(server, api, ns, gone):
    """What it has taken over is not old, though its number is: nobody has read it."""
    a, b, other = make(server, ns, "a", appends=1), make(server, ns, "b", appends=3), make(server, ns, "other")
    purge(api, ns, "other")
    wait_purged(server)
    assert not api.store.list(other.location())
    taken = data_files(a)
    lists = write_list(b, 7, *taken, sequence=2)
    steps = [add_snapshot(7, 2, **{"manifest-list": lists}),
             add_snapshot(8, 4, **{"manifest-list": lists, "parent-snapshot-id": 7})]
    for step in steps:
        api.commit(ns, "b", [step, set_ref("main", step["snapshot"]["snapshot-id"])]).ok()
    if gone:
        api.commit(ns, "b", [{"action": "remove-snapshots", "snapshot-ids": [7]}]).ok()
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == taken
    assert ids(server, ns, "b") == [0, 1, 2, 3]


def test_a_manifest_with_an_old_number(server, api, ns):
    """Taken over from A as it is, by a snapshot with a parent: older than what was read, though nobody has read it."""
    a, b, other = make(server, ns, "a", appends=1), make(server, ns, "b", appends=3), make(server, ns, "other")
    purge(api, ns, "other")
    wait_purged(server)
    last, taken = b.current_snapshot(), a.current_snapshot().manifests(a.io)
    uri = f"{b.location()}/metadata/snap-7.avro"
    with write_manifest_list(2, b.io.new_output(uri), 7, last.snapshot_id, 4, "deflate") as out:
        out.add_manifests(last.manifests(b.io) + taken)
    kept = data_files(a) + [m.manifest_path for m in taken]
    new = add_snapshot(7, 4, **{"manifest-list": uri, "parent-snapshot-id": last.snapshot_id})
    api.commit(ns, "b", [new, set_ref("main", 7)]).ok()
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == sorted(kept)


def test_tables_that_are_being_purged_do_not_count(lazy):  # noqa: F811
    """Both were dropped: what one took over from the other goes."""
    api = Api(lazy)
    ns = api.new_namespace()
    a, b = make(lazy, ns, "a", appends=1), make(lazy, ns, "b")
    b.add_files(data_files(a))
    for name in "ab":
        purge(api, ns, name)
    go(lazy)
    wait_purged(lazy)
    assert api.store.list(a.location()) + api.store.list(b.location()) == []
    api.close()


@pytest.mark.long
def test_a_file_that_is_named_while_the_purge_goes_on(lazy):  # noqa: F811
    """It is asked again and again what others name."""
    api = Api(lazy)
    ns = api.new_namespace()
    a, b = make(lazy, ns, "a", appends=6), make(lazy, ns, "b", appends=1)
    stats = f"{a.location()}/metadata/of-both.stats"
    api.store.write(stats, b"PFA1")

    of_a, of_b = ({"snapshot-id": table.current_snapshot().snapshot_id, "statistics-path": stats, "file-size-in-bytes": 4}
                  for table in (a, b))
    api.commit(ns, "a", [{"action": "set-partition-statistics", "partition-statistics": of_a}]).ok()
    n = len(api.store.list(a.location()))
    purge(api, ns, "a")
    go(lazy, rate=1)
    wait_until(lambda: len(api.store.list(a.location())) < n)
    rewritten(api, ns, "b", **{"partition-statistics": [of_b]})
    wait_purged(lazy)
    assert api.store.list(a.location()) == [stats]
    api.close()


# --- tables of other warehouses --------------------------------------------------------------


def neighbour(server, api):
    """A warehouse beside the default one, in the same bucket, and a table of it."""
    store, name = server.store, f"w{secrets.token_hex(4)}"
    body = {"name": name, "base-location": f"file://{server.folder}/houses/{name}"}
    if store.kind == "file":
        body["storage"] = {"type": "file"}
    else:
        body["base-location"] = f"{store.base}-{name}"
        body["storage"] = {"type": "s3", "endpoint": store.endpoint, "region": store.region, "path-style": True}
        body["credentials"] = {"type": "static", "access-key-id": store.access_key,
                               "secret-access-key": store.secret_key}
    house = api.post(ROOT, body).ok().json
    api.post(f"/v1/{house['id']}/namespaces", {"namespace": ["n"]}).ok()
    connection = connect(server).properties | {"warehouse": name}
    return house, load_catalog("other", **connection).create_table("n.b", SCHEMA)


@pytest.mark.parametrize("state", ["active", "deactivated"])
def test_a_table_of_another_warehouse(server, api, ns, state):
    """Read with that one's own store, also when it is not served."""
    house, b = neighbour(server, api)
    a = make(server, ns, "a", appends=2)
    taken = data_files(a)[0]
    b.add_files([taken])
    if state == "deactivated":
        api.post(f"{ROOT}/{house['id']}", {"version": house["version"], "active": False}).ok()
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == [taken]


def test_a_manifest_of_another_warehouse(server, api, ns):
    """Named by a list that lies in the one, read in the other."""
    house, b = neighbour(server, api)
    a = make(server, ns, "a", appends=2)
    uri, manifests = f"{b.location()}/metadata/snap-7.avro", a.current_snapshot().manifests(a.io)
    with write_manifest_list(2, b.io.new_output(uri), 7, None, 1, "deflate") as out:
        out.add_manifests(manifests)
    api.post(f"/v1/{house['id']}/namespaces/n/tables/b", {"requirements": [], "updates": [
        add_snapshot(7, 1, **{"manifest-list": uri}), set_ref("main", 7)]}).ok()
    kept = data_files(a) + [m.manifest_path for m in manifests]
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == sorted(kept)


@pytest.mark.long
def test_a_warehouse_that_cannot_be_opened(server, api, ns):
    """Nobody can tell what its tables name: purges in its bucket wait."""
    house, b = neighbour(server, api)
    a = make(server, ns, "a", appends=2)
    taken = data_files(a)[0]
    b.add_files([taken])
    api.post(f"{ROOT}/{house['id']}", {"version": house["version"], "active": False}).ok()
    profile = server.sql("SELECT profile FROM warehouse WHERE uuid = %s", house["id"])[0][0]
    server.sql("UPDATE warehouse SET profile = %s WHERE uuid = %s", "[", house["id"])
    before = api.store.list(a.location())
    purge(api, ns, "a")
    server.wait_log(r"cannot be known.*\n(.*\n)*.*outcome=.what other tables name is not known")
    assert api.store.list(a.location()) == before
    server.sql("UPDATE warehouse SET profile = %s WHERE uuid = %s", profile, house["id"])
    wait_purged(server)
    assert api.store.list(a.location()) == [taken]


# --- what cannot be read -----------------------------------------------------------------------


def test_what_nobody_can_read(server, api, ns):
    """Missing and damaged metadata, lists and manifests of others stop no purge; what their table names besides
    is spared."""
    a = make(server, ns, "a", appends=1)
    broken = {name: make(server, ns, name, appends=2) for name in ("no-metadata", "bad-list", "no-manifest")}
    api.store.delete(broken["no-metadata"].metadata_location)
    api.store.write(broken["bad-list"].current_snapshot().manifest_list, b"Obj\x01nothing")
    manifest = broken["no-manifest"].current_snapshot().manifests(a.io)[0].manifest_path
    taken = data_files(a)
    broken["no-manifest"].add_files(taken)
    api.store.delete(manifest)
    purge(api, ns, "a")
    wait_purged(server)
    assert api.store.list(a.location()) == taken
    for what in ("nobody can tell what metadata ", "nobody can tell what manifest list ",
                 "nobody can tell what manifest .*" + manifest.rpartition("/")[2]):
        server.wait_log(what)
    for name in broken:
        api.drop(ns, name).expect(204)


@pytest.mark.long
def test_what_cannot_be_read_for_now(lazy):  # noqa: F811
    """The store fails on a file of B, C is on a volume that is not mounted, and D's manifest lists are on another one:
    A waits until it is known what they say."""
    api = Api(lazy)
    if api.store.kind == "file":
        ns = api.new_namespace()
        a, b, c = make(lazy, ns, "a", appends=3), make(lazy, ns, "b"), make(lazy, ns, "c")
        d = make(lazy, ns, "d", properties={"write.metadata.path": f"{api.store.base}/{ns}-volume"})
        taken = data_files(a)
        for table, file in zip((b, c, d), taken):
            table.add_files([file])
        api.commit(ns, "d", [{"action": "remove-properties", "removals": ["write.metadata.path"]}]).ok()
        path = local_path(b.current_snapshot().manifest_list)
        moved = path.rename(path.with_suffix(".moved"))
        path.symlink_to(moved)  # not followed: as if it were denied
        volumes = [local_path(c.location()), local_path(f"{api.store.base}/{ns}-volume")]
        away = [volume.rename(volume.with_name(volume.name + "-away")) for volume in volumes]
        purge(api, ns, "a")
        before = api.store.list(a.location())
        go(lazy)
        lazy.wait_log(rf"what the table at {b.location()} names cannot be known: reading .*{path.name}")
        for table, volume in zip((c, d), volumes):
            lazy.wait_log(rf"what the table at {table.location()} names cannot be known: .*not mounted.*{volume}")
        lazy.wait_log("what other tables name is not known")
        assert marks(lazy) == 1 and api.store.list(a.location()) == before
        path.unlink()
        for folder, at in zip((moved, *away), (path, *volumes)):
            folder.rename(at)
        wait_purged(lazy)
        assert api.store.list(a.location()) == taken
    api.close()


@pytest.mark.long
@pytest.mark.parametrize("how", ["list", "manifest", "key"])
def test_what_is_encrypted(lazy, how):  # noqa: F811
    """Of B nobody here knows what it names, so A waits. B itself keeps what it is not known to lead to, and what
    leads there: its key is in the metadata."""
    api = Api(lazy)
    ns = api.new_namespace()
    a, b = make(lazy, ns, "a", appends=1), make(lazy, ns, "b", appends=1)
    snapshot, data = b.current_snapshot(), set(data_files(b))
    hidden = [snapshot.manifest_list]
    if how == "manifest":
        hidden.append(snapshot.manifests(b.io)[0].manifest_path)
    if how == "key":
        uri = f"{b.location()}/metadata/snap-9.avro"
        hidden = [uri]
        sealed = add_snapshot(9, 2, **{"key-id": "k1", "manifest-list": uri,
                                       "parent-snapshot-id": snapshot.snapshot_id})
        api.commit(ns, "b", [sealed, set_ref("main", 9)]).ok()
    api.store.write(hidden[-1], (b"AGS1" if how != "key" else b"") + secrets.token_bytes(300))
    purge(api, ns, "a")
    before = api.store.list(a.location())
    go(lazy)
    lazy.wait_log("what other tables name is not known")
    assert marks(lazy) == 1 and api.store.list(a.location()) == before
    metadata = api.load(ns, "b").ok().json["metadata-location"]
    purge(api, ns, "b")
    lazy.wait_log("given up: some files stay.*unread=1")
    left = set(api.store.list(b.location()))
    assert left >= {*hidden, metadata}
    assert (data <= left) == (how != "key")
    wait_purged(lazy)
    assert api.store.list(a.location()) == []
    api.close()


# --- what it costs -----------------------------------------------------------------------------


def test_each_file_is_read_once(server, api, ns):
    """The second purge reads nothing of tables that did not change, and of those that did what is new: metadata,
    manifest list, manifest. A table of format version 1, and one that keeps one snapshot, are no exception."""
    plain = make(server, ns, "plain", appends=3)
    first = make(server, ns, "first", appends=2, properties={"format-version": "1"})
    short = make(server, ns, "short", appends=3)
    for i in range(5):
        make(server, ns, f"x{i}", appends=1)
    costs = []
    for i in range(5):
        begun = reads(server)
        purge(api, ns, f"x{i}")
        wait_purged(server)
        costs.append(reads(server) - begun)
        if i == 1:
            plain.append(rows(100))
        elif i == 2:
            first.append(rows(100))
        elif i == 3:
            short.append(rows(100))
            old = [s.snapshot_id for s in short.snapshots()][:-1]
            api.commit(ns, "short", [{"action": "remove-snapshots", "snapshot-ids": old}]).ok()
    # each of the first: metadata, and a list and a manifest for each append
    assert costs[0] >= 7 + 5 + 7 + 4 * 3
    assert costs[1:] == [0, 3, 3, 3]


def test_a_survey_that_was_cut_off():
    """kill -9 in the middle: the next process reads what was not read yet."""
    n = 300
    with Server(env={"FIRN_PURGE_RATE": "0"}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        place = api.table(ns, "dropped").location
        for i in range(n):
            api.table(ns, f"t{i:03}")
        a, b = make(firn, ns, "a", appends=1), make(firn, ns, "b")
        b.add_files(data_files(a))
        purge(api, ns, "a")
        purge(api, ns, "dropped")
        firn.kill()
        firn.extra["FIRN_PURGE_RATE"] = "10000"
        firn.start()

        def known():
            return firn.sql("SELECT count(*) FROM survey")[0][0]

        wait_until(lambda: known() >= 10)
        firn.kill()
        done = known()
        firn.sql("DELETE FROM lease")  # their time is over
        firn.start()
        wait_purged(firn)
        assert reads(firn) <= n + 1 - done + 10
        assert known() == n + 1
        assert api.store.list(place) == [] and api.store.list(a.location()) == data_files(b)
        api.close()
