"""DROP with purge: the answer comes at once, the files go in the background, and only those that are
the table's own."""

import json
import re
import time

import pyarrow as pa
import pytest
from firn_client import Api, ns_path, set_properties
from firn_server import Server, local_path, slow_build
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()))
BY_KIND = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))


def connect(server):
    names = {"FIRN_S3_ENDPOINT": "s3.endpoint", "FIRN_S3_REGION": "s3.region",
             "FIRN_S3_ACCESS_KEY_ID": "s3.access-key-id", "FIRN_S3_SECRET_ACCESS_KEY": "s3.secret-access-key"}
    store = {names[k]: v for k, v in server.store.settings.items() if k in names}
    return load_catalog("firn", **{"type": "rest", "uri": server.url, **store, **getattr(server.store, "reach", {})})


def rows(first, n=4, kinds=("a b/ü%", "c")):
    return pa.table({"id": pa.array(range(first, first + n), pa.int64()),
                     "kind": pa.array([kinds[i % len(kinds)] for i in range(n)])})


def fill(server, ns, name="t", appends=3, spec=BY_KIND, **more):
    """A table that PyIceberg wrote: appends, and a delete that rewrote files."""
    table = connect(server).create_table((ns, name), SCHEMA, partition_spec=spec, **more)
    for i in range(appends):
        table.append(rows(10 * i))
    if appends > 1:
        table.delete(EqualTo("id", 1))
    return table


def marks(server):
    return server.sql("SELECT count(*) FROM object WHERE purge_ms IS NOT NULL")[0][0]


def wait_until(what, seconds=90):
    deadline = time.monotonic() + seconds * slow_build()
    while not what():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def wait_purged(server):
    wait_until(lambda: marks(server) == 0)


def purge(api, ns, name="t"):
    api.drop(ns, name, "?purgeRequested=true").expect(204)


@pytest.fixture
def lazy():
    """A server that deletes nothing until it is told to."""
    with Server(env={"FIRN_PURGE_RATE": "0"}) as server:
        yield server


def go(server, rate=10000):
    server.restart({"FIRN_PURGE_RATE": str(rate)})


# --- what goes -------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("version", [1, 2])
def test_all_that_the_table_leads_to(server, api, ns, version):
    """Data, manifests of every snapshot, lists, statistics, old metadata: gone. What nobody names stays,
    and so does a table whose location begins with the same letters."""
    location = f"{server.store.base}/{ns}/t"
    table = fill(server, ns, location=location, properties={"format-version": str(version)})
    neighbour = fill(server, ns, "t2", location=location + "2")
    inside = fill(server, ns, "t3", location=location + "-x/t")
    puffin = f"{location}/metadata/1.stats"
    with table.update_statistics() as update:
        update.set_statistics(StatisticsFile(
            snapshot_id=table.current_snapshot().snapshot_id, statistics_path=puffin, file_size_in_bytes=4,
            file_footer_size_in_bytes=4, blob_metadata=[BlobMetadata(
                type="apache-datasketches-theta-v1", snapshot_id=table.current_snapshot().snapshot_id,
                sequence_number=0, fields=[1], properties={})]))
    api.store.write(puffin, b"PFA1")
    stray = f"{location}/data/nobody-names-it.parquet"
    api.store.write(stray, b"x")
    others = api.store.list(neighbour.location()) + api.store.list(inside.location())
    before = len(api.store.list(location))
    assert before > 15
    deleted = server.metric("firn_purge_files_total")
    purge(api, ns)
    assert "t" not in api.names(ns)
    wait_purged(server)
    assert api.store.list(location) == [stray]
    assert api.store.list(neighbour.location()) + api.store.list(inside.location()) == others
    assert len(neighbour.scan().to_arrow()) == len(inside.scan().to_arrow()) == 11
    assert server.metric("firn_purge_files_total") - deleted == before - 1


def test_a_table_without_snapshots(server, api, ns, table):
    """Its metadata files."""
    table.apply(set_properties(a="b"))
    place = table.location
    assert len(api.store.list(place)) == 2
    purge(api, ns, table.name)
    wait_purged(server)
    assert api.store.list(place) == []


def test_a_drop_without_purge(server, api, ns):
    """Not one file goes, now or later."""
    table = fill(server, ns)
    before = api.store.list(table.location())
    api.drop(ns, "t").expect(204)
    place = api.table(ns, "other").location
    purge(api, ns, "other")
    wait_until(lambda: api.store.list(place) == [])
    assert api.store.list(table.location()) == before


def test_a_renamed_table(server, api, ns):
    """The one that took its name lies elsewhere and is not touched."""
    table = fill(server, ns)
    api.rename((ns, "t"), (ns, "old")).expect(204)
    fresh = fill(server, ns)
    purge(api, ns, "old")
    wait_purged(server)
    assert api.store.list(table.location()) == []
    assert len(fresh.scan().to_arrow()) == 11


@pytest.mark.long
def test_many_tables(server, api):
    """More than one page of marks."""
    ns = api.new_namespace()
    tables = [api.table(ns, f"t{i}") for i in range(130)]
    places = [table.location for table in tables]
    for table in tables:
        purge(api, ns, table.name)
    api.delete(ns_path(ns)).expect(204)
    wait_purged(server)
    assert not any(api.store.list(place) for place in places)


# --- what stays ------------------------------------------------------------------------


def test_garbage_collection_switched_off(server, api, ns):
    """gc.enabled=false: somebody else uses the data. Metadata goes."""
    table = fill(server, ns, properties={"gc.enabled": "false"})
    data = [f for f in api.store.list(table.location()) if "/data/" in f]
    assert data
    purge(api, ns)
    wait_purged(server)
    assert api.store.list(table.location()) == data


def test_files_that_lie_elsewhere(server, api, ns):
    """Added from another folder of the warehouse: a table's metadata cannot make the server delete them."""
    table = fill(server, ns, spec=PartitionSpec(), appends=1)
    data = next(f for f in api.store.list(table.location()) if f.endswith(".parquet"))
    places = [f"{server.store.base}/{ns}-shared/f.parquet", f"{table.location()}-x/f.parquet"]
    for place in places:
        api.store.write(place, api.store.read(data))
    table.add_files(places)
    purge(api, ns)
    wait_purged(server)
    assert api.store.list(table.location()) == []
    assert all(api.store.exists(place) for place in places)


def test_a_place_whose_name_begins_alike(server, api, ns):
    """Folders beside the table's, of another table and of nobody, keep what they hold."""
    place = f"{server.store.base}/{ns}/t1"
    fill(server, ns, "t1", appends=1, location=place)
    other = fill(server, ns, "t10", appends=1, location=place + "0")
    loose = [f"{place}{end}/data/x.parquet" for end in ("1", "-x", ".d")] + [f"{server.store.base}/{ns}/x"]
    for uri in loose:
        api.store.write(uri, b"x")
    kept = api.store.list(other.location())
    purge(api, ns, "t1")
    wait_purged(server)
    assert api.store.list(place) == [] and api.store.list(other.location()) == kept
    assert all(api.store.exists(uri) for uri in loose)
    assert len(connect(server).load_table((ns, "t10")).scan().to_arrow()) == 4


def test_a_data_folder_of_its_own(server, api, ns):
    """write.data.path and write.metadata.path lead out of the table's location: what lies there stays,
    whoever wrote it. Nobody can tell who else uses such a folder."""
    data, meta = f"{server.allowed}/{ns}/data", f"{server.store.base}/{ns}-meta"
    table = fill(server, ns, properties={"write.data.path": data, "write.metadata.path": meta})
    before = [api.store.list(data), api.store.list(meta)]
    assert len(before[0]) > 5 and len(before[1]) > 5
    inside = f"{table.location()}/metadata/1.stats"
    with table.update_statistics() as update:
        update.set_statistics(StatisticsFile(
            snapshot_id=table.current_snapshot().snapshot_id, statistics_path=inside, file_size_in_bytes=4,
            file_footer_size_in_bytes=4, blob_metadata=[]))
    api.store.write(inside, b"PFA1")
    purge(api, ns)
    wait_purged(server)
    assert api.store.list(table.location()) == []
    assert api.store.list(data) == before[0]
    assert set(before[1]) <= set(api.store.list(meta))


@pytest.mark.parametrize("path", ["write.data.path", "write.metadata.path"])
def test_only_one_of_its_folders_lies_elsewhere(server, api, ns, path):
    """What is beneath the location goes, also when that which leads to it lies elsewhere and stays."""
    elsewhere = f"{server.store.base}/{ns}-elsewhere"
    table = fill(server, ns, properties={path: elsewhere})
    before = api.store.list(elsewhere)
    assert before and len(api.store.list(table.location())) > 5
    purge(api, ns)
    wait_purged(server)
    assert api.store.list(table.location()) == []
    assert api.store.list(elsewhere) == before


def test_a_folder_that_two_tables_share(server, api, ns):
    """PyIceberg's add_files: a table names files that another one wrote, in the folder that is the
    write.data.path of both. The other one keeps them, whichever is purged."""
    shared = {"write.data.path": f"{server.store.base}/{ns}-shared"}
    owner = fill(server, ns, "owner", spec=PartitionSpec(), properties=shared)
    files = [task.file.file_path for task in owner.scan().plan_files()]
    for name in ("first", "second"):
        guest = connect(server).create_table((ns, name), SCHEMA, properties=shared)
        guest.add_files(files)
        assert len(guest.scan().to_arrow()) == 11
    before = api.store.list(shared["write.data.path"])
    for name, other in (("first", "owner"), ("owner", "second")):
        purge(api, ns, name)
        wait_purged(server)
        assert api.store.list(shared["write.data.path"]) == before
        assert len(connect(server).load_table((ns, other)).scan().to_arrow()) == 11
    assert api.store.list(owner.location()) == []


def test_a_data_folder_in_which_a_table_lies(server, api, ns):
    """It keeps its files, and the table that named the folder does not keep the rest of its own."""
    shared = f"{server.store.base}/{ns}-shared"
    table = fill(server, ns, properties={"write.data.path": shared})
    other = fill(server, ns, "other", location=f"{shared}/other")
    before = api.store.list(shared)
    purge(api, ns)
    wait_purged(server)
    assert api.store.list(table.location()) == []
    assert api.store.list(shared) == before
    assert len(other.scan().to_arrow()) == 11


# --- others at the same place ----------------------------------------------------------------


def copied(api, table, uri, **changes):
    """The table's metadata under another name."""
    text = json.loads(api.store.read(table.metadata_location))
    api.store.write(uri, json.dumps(text | {k.replace("_", "-"): v for k, v in changes.items()}).encode())
    return uri


def test_what_is_being_purged_cannot_be_registered(lazy):
    """Its files are about to go: 409 until they are gone, then 404."""
    api = Api(lazy)
    ns = api.new_namespace()
    table = fill(lazy, ns)
    purge(api, ns)
    api.register(ns, "back", table.metadata_location).fails(409, "AlreadyExistsException", contains="purged")
    go(lazy)
    wait_purged(lazy)
    api.register(ns, "back", table.metadata_location).fails(404, "NotFoundException")
    assert api.store.list(table.location()) == []
    api.close()


def test_a_twin_at_the_same_place(lazy):
    """A copy of the metadata, registered under its own uuid before the purge began: nothing is deleted."""
    api = Api(lazy)
    ns = api.new_namespace()
    table = fill(lazy, ns)
    purge(api, ns)
    uri = copied(api, table, f"{table.location()}/metadata/twin.metadata.json",
                 table_uuid="0f0e0d0c-0b0a-4908-8706-050403020100")
    api.register(ns, "twin", uri).ok()
    before = api.store.list(table.location())
    go(lazy)
    wait_purged(lazy)
    lazy.wait_log("purge .*another table lies there")
    assert api.store.list(table.location()) == before
    assert len(connect(lazy).load_table((ns, "twin")).scan().to_arrow()) == 11
    api.close()


def test_a_twin_whose_metadata_lies_there(lazy):
    """It says that it lies elsewhere; its metadata file is in the folder of the dropped one."""
    api = Api(lazy)
    ns = api.new_namespace()
    table = fill(lazy, ns)
    uri = copied(api, table, f"{table.location()}/metadata/twin.metadata.json",
                 table_uuid="0f0e0d0c-0b0a-4908-8706-050403020101", location=f"{lazy.store.base}/{ns}-twin")
    if lazy.store.kind == "file":
        uri = uri.replace("file://", "file:").replace("/metadata/", "//metadata/")  # the same file
    api.register(ns, "twin", uri).ok()
    purge(api, ns)
    before = api.store.list(table.location())
    go(lazy)
    wait_purged(lazy)
    assert api.store.list(table.location()) == before
    assert len(connect(lazy).load_table((ns, "twin")).scan().to_arrow()) == 11
    api.close()


def test_a_new_table_at_the_same_place(lazy):
    """The place is free at once. What the old one left there stays then."""
    api = Api(lazy)
    ns = api.new_namespace()
    table = fill(lazy, ns)
    purge(api, ns)
    fresh = fill(lazy, ns, location=table.location())
    before = api.store.list(table.location())
    go(lazy)
    wait_purged(lazy)
    assert api.store.list(table.location()) == before
    assert len(fresh.scan().to_arrow()) == 11
    api.close()


# --- what goes wrong --------------------------------------------------------------------------


def test_metadata_that_cannot_be_read(server, api, ns):
    """Broken: its files stay, the log says so. Missing: there is nothing to do."""
    broken, missing = fill(server, ns, "broken"), fill(server, ns, "missing")
    api.store.write(broken.metadata_location, b"{")
    api.store.delete(missing.metadata_location)
    before = api.store.list(broken.location())
    purge(api, ns, "broken")
    purge(api, ns, "missing")
    wait_purged(server)
    assert api.store.list(broken.location()) == before
    server.wait_log("cannot read metadata " + re.escape(broken.metadata_location))


def test_manifests_that_cannot_be_read(server, api, ns):
    """Damaged, missing, or of another place: the rest goes all the same."""
    table = fill(server, ns, appends=4)
    lists = [s.manifest_list for s in table.snapshots()]
    manifests = sorted({m.manifest_path for m in table.current_snapshot().manifests(table.io)})
    api.store.write(manifests[0], api.store.read(manifests[0])[:-20])
    api.store.write(lists[0], b"Obj\x01nothing")
    api.store.delete(lists[1])
    errors = server.metric("firn_purge_errors_total")
    purge(api, ns)
    wait_purged(server)
    assert all("/data/" in f for f in api.store.list(table.location()))
    assert server.metric("firn_purge_errors_total") > errors
    server.wait_log("cannot read manifest list " + re.escape(lists[0]))


def test_files_that_never_were(server, api, ns, table):
    """Snapshots whose manifest lists do not exist."""
    for i in range(1, 4):
        table.append(i, i, i - 1 or None)
    purge(api, ns, table.name)
    wait_purged(server)
    assert api.store.list(table.location) == []


@pytest.mark.long
def test_a_file_that_cannot_be_deleted(server, api, ns):
    """The others go, and what leads to it stays; later it is tried again."""
    if server.store.kind != "file":
        return
    table = fill(server, ns)
    data = next(f for f in api.store.list(table.location()) if f.endswith(".parquet"))
    local_path(data).unlink()
    local_path(data).mkdir()
    purge(api, ns)
    server.wait_log("cannot delete " + re.escape(data))
    server.wait_log("files could not be deleted")
    left = api.store.list(table.location())
    assert marks(server) == 1 and table.metadata_location in left
    assert not any(f.endswith(".parquet") for f in left)
    local_path(data).rmdir()
    wait_purged(server)
    assert api.store.list(table.location()) == []


# --- interruptions ------------------------------------------------------------------------------


def interrupted(how):
    """A purge at 20 files a second, cut off in the middle; the next process goes on."""
    with Server(env={"FIRN_PURGE_RATE": "20"}) as server:
        api = Api(server)
        ns = api.new_namespace()
        table = fill(server, ns, appends=8)
        other = fill(server, ns, "other")
        files = len(api.store.list(table.location()))
        began = time.monotonic()
        purge(api, ns)
        wait_until(lambda: len(api.store.list(table.location())) <= files - 10)
        assert time.monotonic() - began > 0.4, "faster than allowed"
        getattr(server, how)()
        left = len(api.store.list(table.location()))
        assert 0 < left < files and api.store.exists(table.metadata_location)
        server.extra["FIRN_PURGE_RATE"] = "10000"
        server.start()
        wait_purged(server)
        assert api.store.list(table.location()) == []
        assert len(other.scan().to_arrow()) == 11 if how == "stop" else connect(server).table_exists((ns, "other"))
        api.close()


@pytest.mark.long
def test_kill_9_in_the_middle():
    """The mark is durable, and what leads to a file goes after it: nothing is forgotten."""
    interrupted("kill")


def test_a_stop_in_the_middle():
    """SIGTERM does not wait for the end of a purge."""
    interrupted("stop")


@pytest.mark.long
def test_a_purge_of_another_server(lazy):
    """Whoever holds the lease is left alone until it has run out."""
    api = Api(lazy)
    ns = api.new_namespace()
    table = api.table(ns, "t")
    place = table.location
    purge(api, ns)
    mark, warehouse = lazy.sql("SELECT id, warehouse_id FROM object WHERE purge_ms IS NOT NULL")[0]
    lazy.sql("INSERT INTO lease (warehouse_id, name, holder, until_ms) VALUES (%s, %s, %s, %s)",
             warehouse, f"purge/{mark}", "another", int(time.time() * 1000) + 3600_000)
    go(lazy)
    time.sleep(2)
    assert marks(lazy) == 1 and api.store.list(place)
    lazy.sql("UPDATE lease SET until_ms = 0 WHERE holder = 'another' RETURNING 1")
    wait_purged(lazy)
    assert api.store.list(place) == []
    wait_until(lambda: lazy.sql("SELECT count(*) FROM lease WHERE name LIKE %s", "purge/%")[0][0] == 0)
    api.close()
