"""Files that a change left behind: deleted after its answer, or by the sweep; and nothing that is
needed is ever deleted, whoever dies when."""

import json
import random
import re
import time

import pytest

from firn_client import (SLOWNESS, Api, Table, assert_ref, assert_uuid, add_snapshot, create_updates, eventually,
                         ns_path, set_properties, set_ref)
from test_faults import dies
from test_kill9 import Writers, audit

TOKEN = re.compile(r"/\d+-([0-9a-f-]{36})(?:\.gz)?\.metadata\.json$")
FOREIGN = "11111111-1111-4111-8111-111111111111"
KEEP_TWO = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}


def metadata_files(server):
    return {f for f in server.store.list() if f.endswith(".metadata.json") or "/.firn-tmp-" in f}


def made(server):
    return {token for (token,) in server.sql("SELECT token FROM change WHERE kind <> 'forgone'")}


def orphans(server):
    """Files of which no change tells."""
    known = made(server)
    return {f for f in metadata_files(server) if not (m := TOKEN.search(f)) or m[1] not in known}


def needed(server):
    """What pointers and the logs behind them name."""
    files = {location for (location,) in server.sql("SELECT metadata_location FROM object")}
    for location in list(files):
        files |= {e["metadata-file"] for e in json.loads(server.store.read(location)).get("metadata-log", ())}
    return files


def sweeping(server, grace=1, **more):
    """Starts it with quick sweeps; waits until no orphan is left."""
    server.kill()
    server.extra.pop("FIRN_FAULT", None)
    server.extra.update({"FIRN_SWEEP_GRACE": str(grace), **more})
    server.start()


def rounds(server):
    return server.metric("firn_sweep_rounds_total")


def wait_rounds(server, n):
    goal = rounds(server) + n
    eventually(lambda: rounds(server) >= goal, 120)


@pytest.fixture
def firn(make):
    server = make(env={"FIRN_SWEEP_GRACE": "0"}).start()
    api = Api(server)
    server.ns = api.new_namespace()
    api.table(server.ns, "t").append(1, 1)
    api.close()
    time.sleep(2.2)  # older than the grace that tests use, and the second that S3 cuts off a file's time: judged
    return server


def armed(server, fault, **env):
    server.restart(env={"FIRN_FAULT": fault, **env})
    api = Api(server)
    return api, Table(api, server.ns, "t")


# --- after the answer ------------------------------------------------------------------


def log_of(table):
    return {e["metadata-file"] for e in table.metadata["metadata-log"]} | {table.metadata_location}


def files_of(table):
    return {f for f in table.api.store.list(table.location) if f.endswith(".metadata.json")}


def test_the_answer_does_not_wait_for_a_deletion(firn):
    """Each deletion takes two seconds: the answer is there at once, the file still is, and goes later."""
    api, table = armed(firn, "STORE_DELETE_STALL")
    table.apply(set_properties(**KEEP_TWO))
    table.apply(set_properties(a="1"))
    before = files_of(table)
    table.apply(set_properties(a="2"))
    assert files_of(table) > before
    eventually(lambda: files_of(table) == log_of(table))
    api.close()


def test_a_drain_finishes_deletions(firn):
    api, table = armed(firn, "STORE_DELETE_STALL")
    table.apply(set_properties(**KEEP_TWO))
    for i in range(4):
        table.apply(set_properties(a=str(i)))
    keep = log_of(table)
    api.close()
    firn.restart()
    assert {f for f in firn.store.list() if "/t-" in f} == keep


def test_a_dropped_view_goes_after_the_answer(firn):
    api, _ = armed(firn, "STORE_DELETE_STALL")
    location = api.create_view(firn.ns, "v").ok().json["metadata-location"]
    api.drop_view(firn.ns, "v").expect(204)
    assert firn.store.exists(location)
    eventually(lambda: not firn.store.exists(location))
    api.close()


@pytest.mark.parametrize("what", ["view", "log"])
def test_registered_while_it_is_deleted(firn, what):
    """It has been seen that nothing leads to the file, and the deletion takes two seconds: nothing comes to lead to
    it meanwhile."""
    api, table = armed(firn, "STORE_DELETE_STALL")
    if what == "view":
        location = api.create_view(firn.ns, "v").ok().json["metadata-location"]
        api.drop_view(firn.ns, "v").expect(204)
    else:
        location = table.apply(set_properties(**KEEP_TWO))["metadata-log"][0]["metadata-file"]
        table.apply(set_properties(a="1"))
    time.sleep(0.5)  # a registration that comes earlier yet may be made
    answer = (api.register_view(firn.ns, "v", location) if what == "view"
              else api.register(firn.ns, "t", location, overwrite=True)).expect(200, 404)
    last = api.create_view(firn.ns, "last").ok().json["metadata-location"]
    api.drop_view(firn.ns, "last").expect(204)
    eventually(lambda: not firn.store.exists(last), 10)  # files go one after the other
    assert firn.store.exists(location) == (answer.status == 200)
    if what == "view":
        api.load_view(firn.ns, "v").expect(answer.status)
    else:
        table.load().ok()
    api.close()


def test_an_unclear_outcome_deletes_nothing(firn):
    """The database goes away with the swap: whether settled or not, the log stays whole."""
    api, table = armed(firn, "SQL_SWAP_REPLY_LOST")
    table.apply(set_properties(**KEEP_TWO))
    for i in range(3):
        table.apply(set_properties(a=str(i)))
    eventually(lambda: files_of(table) == log_of(table))
    api.close()


@pytest.mark.parametrize("fault", ["STORE_DELETE_BEFORE", "STORE_DELETE_FAILS"])
def test_what_was_not_deleted_stays(firn, fault):
    """A death, or a store that refuses, after the answer: the file was current once, so that the sweep
    does not touch it, whether its change is remembered or past the retention."""
    api, table = armed(firn, fault)
    table.apply(set_properties(**KEEP_TWO))
    table.apply(set_properties(a="1"))
    api.close()
    if fault == "STORE_DELETE_BEFORE":
        firn.process.wait(60 * SLOWNESS)
    for more in ({}, {"FIRN_CHANGE_RETENTION": "3", "FIRN_IDEMPOTENCY_LIFETIME": "1"}):
        sweeping(firn, **more)
        api = Api(firn)
        table = Table(api, firn.ns, "t")
        files = files_of(table)
        assert files > log_of(table)
        eventually(lambda: not more or not remembered(firn, files))
        wait_rounds(firn, 3)
        assert files_of(table) == files
        api.close()


def remembered(server, files):
    """Those whose change has a row."""
    return {f for f in files if TOKEN.search(f)[1] in made(server)}


# --- the sweep -------------------------------------------------------------------------


def leave_orphans(firn):
    """One of each kind: of a commit, a create, a transaction, and a file that was half written."""
    api, table = armed(firn, "STORE_PUT_AFTER_WRITE")
    dies(firn, lambda: table.commit(set_properties(a="b")))
    api.close()
    api, _ = armed(firn, "SQL_SWAP_BEFORE")
    dies(firn, lambda: api.create(firn.ns, "new"))
    api.close()
    api, table = armed(firn, "SQL_SWAP_BEFORE")
    m = api.create(firn.ns, "staged", stage_create=True).ok().json["metadata"]
    changes = [{"identifier": {"namespace": [firn.ns], "name": "t"}, "requirements": [],
                "updates": [set_properties(a="b")]},
               {"identifier": {"namespace": [firn.ns], "name": "staged"},
                "requirements": [{"type": "assert-create"}], "updates": create_updates(m)}]
    dies(firn, lambda: api.post("/v1/transactions/commit", {"table-changes": changes}))
    api.close()
    if firn.store.kind == "file":
        firn.store.write(f"{table_folder(firn)}/metadata/.firn-tmp-{FOREIGN}", b"{")


def table_folder(firn):
    ((location,),) = firn.sql("SELECT location FROM object WHERE name = 't'")
    return location


def test_orphans_go_and_nothing_else(firn):
    """Of a commit, creates and a transaction that died between file and swap. What another catalog
    wrote into the folder stays, and so does what is no metadata file."""
    leave_orphans(firn)
    folder = f"{table_folder(firn)}/metadata"
    others = {f"{folder}/00007-{FOREIGN}.metadata.json", f"{folder}/v3.metadata.json", f"{folder}/snap-1.avro"}
    for uri in others:
        firn.store.write(uri, b"{}")
    left = orphans(firn)
    file_store = firn.store.kind == "file"
    assert len(left - others) == 4 + file_store
    sweeping(firn)
    eventually(lambda: orphans(firn) <= others, 120)
    wait_rounds(firn, 2)
    assert all(firn.store.exists(f) for f in others | needed(firn))
    assert firn.metric("firn_sweep_files_total") == 4 + file_store
    api = Api(firn)
    table = Table(api, firn.ns, "t")
    table.append(2, 2, 1)
    api.create(firn.ns, "new").ok()
    api.close()


@pytest.mark.parametrize("how", ["its metadata folder", "its old place"])
def test_files_of_one_table_in_the_folder_of_another(firn, how):
    """The owner of the folder wants old files deleted; those that the other table's log names are not its
    own, and stay when their changes are forgotten."""
    firn.stop()
    firn.extra.update({"FIRN_SWEEP_GRACE": "1", "FIRN_CHANGE_RETENTION": "3", "FIRN_IDEMPOTENCY_LIFETIME": "1"})
    firn.start()
    api = Api(firn)
    base = f"{firn.store.base}/{firn.ns}"
    if how == "its metadata folder":  # which the owner chose for its place when it was in use already
        guest = api.table(firn.ns, "guest", location=f"{base}/a", properties={"write.metadata.path": f"{base}/b/metadata"})
        owner = api.table(firn.ns, "owner", location=f"{base}/b", properties=KEEP_TWO)
    else:
        guest = api.table(firn.ns, "guest", location=f"{base}/b")
    for i in range(4):
        guest.apply(set_properties(i=str(i)))
    if how == "its old place":
        guest.apply({"action": "set-location", "location": f"{base}/a"})
        owner = api.table(firn.ns, "owner", location=f"{base}/b", properties=KEEP_TWO)
    old = {e["metadata-file"] for e in guest.metadata["metadata-log"]}
    assert len(old) >= 4 and all(f.startswith(f"{base}/b/") for f in old)
    eventually(lambda: not remembered(firn, old))
    for i in range(4):
        wait_rounds(firn, 1)
        owner.apply(set_properties(i=str(i)))
    assert old <= metadata_files(firn)
    api.close()


def test_young_files_stay(firn):
    """Within the grace time nothing is touched."""
    leave_orphans(firn)
    before = metadata_files(firn)
    firn.kill()
    firn.sql("INSERT INTO job SELECT id, 'sweep', 0, NULL FROM warehouse")
    sweeping(firn, grace=3600)
    eventually(lambda: rounds(firn) >= 1)  # it may be over already, and the next is an hour away
    assert metadata_files(firn) == before


def test_a_change_that_comes_late_is_not_made(firn):
    """A commit that waits seven seconds before its swap: its file was taken for an orphan, so the swap
    cannot be made any more, and the client is told so. No pointer leads to a file that is gone."""
    api, table = armed(firn, "SQL_SWAP_LATE", FIRN_SWEEP_GRACE="1")
    state = table.metadata
    answer = table.commit(set_properties(a="b"))
    assert answer.status in (400, 429), answer
    assert table.metadata == state
    table.apply(set_properties(a="c"))
    api.close()
    api, _ = armed(firn, "SQL_SWAP_LATE", FIRN_SWEEP_GRACE="1")
    answer = api.create(firn.ns, "late")
    assert answer.status in (400, 429), answer
    assert not api.exists(firn.ns, "late")
    api.create(firn.ns, "late").ok()
    assert needed(firn) <= metadata_files(firn)
    api.close()


def test_a_condemned_file_cannot_be_registered(firn):
    """Registered before, it stays; afterwards it is on its way out."""
    time.sleep(2)
    leave_orphans(firn)
    mine = sorted(f for f in orphans(firn) if "/00000-" in f and "/new-" in f)
    taken = sorted(f for f in orphans(firn) if "/00000-" in f and "/staged-" in f)
    firn.kill()
    firn.extra.pop("FIRN_FAULT", None)
    firn.start()
    api = Api(firn)
    api.register(firn.ns, "kept", taken[0]).ok()
    api.close()
    sweeping(firn, grace=2)
    token = TOKEN.search(mine[0])[1]
    eventually(lambda: firn.sql("SELECT 1 FROM change WHERE kind = 'forgone' AND token = %s", token))
    api = Api(firn)
    api.register(firn.ns, "late", mine[0]).fails(400, contains="never made")
    eventually(lambda: not firn.store.exists(mine[0]), 120)
    assert firn.store.exists(taken[0])
    Table(api, firn.ns, "kept").apply(set_properties(a="b"))
    api.close()


def test_a_sweep_that_is_killed_goes_on(firn):
    """Killed at each of its deletions: begun again where it was, until nothing is left."""
    for _ in range(3):
        leave_orphans(firn)
    assert len(orphans(firn)) >= 12
    for _ in range(2):
        firn.kill()
        firn.extra.update({"FIRN_FAULT": "STORE_DELETE_BEFORE:2", "FIRN_SWEEP_GRACE": "1"})
        firn.start()
        firn.process.wait(100 * SLOWNESS)
        firn.process = None
        assert needed(firn) <= metadata_files(firn)
    sweeping(firn)
    eventually(lambda: not orphans(firn), 180)
    assert needed(firn) <= metadata_files(firn)


def test_kills_under_load_and_sweeps(make):
    """A storm of commits and creates, deaths at random, sweeps all the while: at the end every file that
    is needed is there, and no other."""
    server = make(env={"FIRN_SWEEP_GRACE": "2"}).start()
    api = Api(server)
    ns = api.new_namespace()
    time.sleep(2.5)
    for name in ("shared", "appended"):
        api.create(ns, name, properties={"write.metadata.previous-versions-max": "1000"}).ok()
    api.close()
    writers = Writers(server, ns)
    for _ in range(6):
        writers.run(random.uniform(0.5, 1.5) * SLOWNESS)
        server.start()
        audit(server, writers)
        assert needed(server) <= metadata_files(server)
    eventually(lambda: not orphans(server), 120)
    wait_rounds(server, 1)
    audit(server, writers)
    server.stop()
