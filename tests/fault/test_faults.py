"""The points of failure that are compiled in: each at its worst moment, with the promise checked
afterwards: no acknowledged commit is lost, no applied one was refused, no pointer dangles."""

import http.client
import time

import pytest

from firn_client import (SLOWNESS, Api, Table, add_snapshot, assert_ref, assert_uuid, create_updates, eventually,
                         in_parallel, ns_path, set_properties, set_ref)
from firn_server import StartError


def place(api, ns, name):
    """Where these tables lie, so that nothing has to be asked while a point is armed."""
    return f"{api.store.base}/{ns}/{name}"


@pytest.fixture
def firn(make):
    """A server with a table of one snapshot; `armed` starts it again with a point that will fail."""
    server = make().start()
    api = Api(server)
    server.ns = api.new_namespace()
    table = api.table(server.ns, "t", location=place(api, server.ns, "t"))
    table.append(1, 1)
    api.close()
    return server


def armed(server, fault):
    server.restart(env={"FIRN_FAULT": fault})
    api = Api(server)
    return api, Table(api, server.ns, "t")


def disarmed(server):
    """Starts it again without faults; it may have ended by itself."""
    if server.process is not None:
        server.kill()
    server.extra.pop("FIRN_FAULT", None)
    server.start()
    api = Api(server)
    return api, Table(api, server.ns, "t")


def append(table, number=2, parent=1):
    return table.commit(add_snapshot(number, number, parent, place(table.api, table.ns, "t")), set_ref("main", number),
                        requirements=[assert_ref(parent)])


def metadata_files(server):
    return {f for f in server.store.list() if ".metadata.json" in f}


def pointers(server):
    found = {location for (location,) in server.sql("SELECT metadata_location FROM object")}
    assert all(server.store.exists(f) for f in found), "a pointer names a missing file"
    return found


def test_lost_reply_of_a_swap_is_settled(firn):
    """The connection breaks after the swap was sent: asked again with the same token, it was applied."""
    api, table = armed(firn, "SQL_SWAP_REPLY_LOST")
    answer = append(table).ok()
    assert answer.json["metadata"]["current-snapshot-id"] == 2
    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [1, 2]
    append(table, 3, 2).ok()
    assert len(table.metadata["metadata-log"]) == 3
    pointers(firn)
    api.close()


def test_lost_reply_of_a_create_is_settled(firn):
    """The same for a new table, direct and staged."""
    api, _ = armed(firn, "SQL_SWAP_REPLY_LOST")
    api.create(firn.ns, "new").ok()
    assert api.exists(firn.ns, "new")
    m = api.create(firn.ns, "staged", stage_create=True).ok().json["metadata"]
    api.close()
    api, _ = armed(firn, "SQL_SWAP_REPLY_LOST")
    api.commit(firn.ns, "staged", create_updates(m), [{"type": "assert-create"}]).ok()
    assert api.load(firn.ns, "staged").ok().json["metadata"]["table-uuid"] == m["table-uuid"]
    pointers(firn)
    api.close()


def test_lost_reply_of_creates_at_once_is_settled(firn):
    """Whichever of them went in one statement: each is made once, and the one whose name is taken is refused."""
    armed(firn, "SQL_SWAP_REPLY_LOST:3")[0].close()
    names = [*(f"new{i}" for i in range(10)), "t"]
    answers = in_parallel(len(names), lambda i: Api(firn).create(firn.ns, names[i]))
    for answer in answers[:-1]:
        answer.ok()
    answers[-1].fails(409, "AlreadyExistsException")
    assert sorted(Api(firn).names(firn.ns)) == sorted(names)
    assert len(pointers(firn)) == len(names)


def test_lost_reply_of_a_rename_and_a_drop_is_settled(firn):
    """The same for names: a client is not told 404 for what it has done itself."""
    api, _ = armed(firn, "SQL_SWAP_REPLY_LOST")
    api.rename((firn.ns, "t"), (firn.ns, "u")).expect(204)
    assert api.names(firn.ns) == ["u"]
    api.close()
    api, _ = armed(firn, "SQL_SWAP_REPLY_LOST")
    api.drop(firn.ns, "u").expect(204)
    assert api.names(firn.ns) == []
    api.close()


def test_failing_write_changes_nothing(firn):
    """The metadata file cannot be written: certainly not applied, so 4xx, worth another try; then it works."""
    api, table = armed(firn, "STORE_PUT_FAILS")
    files = metadata_files(firn)
    answer = append(table)
    assert answer.status in (429, 400, 403), answer
    assert metadata_files(firn) == files and table.metadata["current-snapshot-id"] == 1
    append(table).ok()
    api.close()


def test_full_store_is_worth_another_try(firn):
    """429 with Retry-After, and the reason, which a client that tries for long enough can see removed."""
    api, table = armed(firn, "STORE_PUT_FULL")
    files = metadata_files(firn)
    append(table).fails(429, "SlowDownException", contains="the disk is full")
    assert metadata_files(firn) == files and table.metadata["current-snapshot-id"] == 1
    append(table).ok()
    api.close()


def test_failing_write_of_a_create(firn):
    """The name stays free."""
    api, _ = armed(firn, "STORE_PUT_FAILS")
    assert api.create(firn.ns, "new").status in (429, 400, 403)
    assert not api.exists(firn.ns, "new")
    api.create(firn.ns, "new").ok()
    pointers(firn)
    api.close()


def dies(server, work):
    """The server ends during the request, which gets no answer."""
    with pytest.raises((OSError, http.client.HTTPException)):
        work()
    server.process.wait(60 * SLOWNESS)
    server.process = None


@pytest.mark.parametrize("fault,applied", [
    ("STORE_PUT_AFTER_WRITE", False), ("SQL_SWAP_BEFORE", False), ("SQL_SWAP_AFTER", True)])
def test_death_in_a_commit(firn, fault, applied):
    """Before the swap nothing happened, after it everything did; sent again it is applied once in all."""
    api, table = armed(firn, fault)
    uuid = table.uuid
    updates = [add_snapshot(2, 2, 1, table.location), set_ref("main", 2)]
    requirements = [assert_uuid(uuid), assert_ref(1)]
    dies(firn, lambda: table.commit(*updates, requirements=requirements))
    api.close()
    api, table = disarmed(firn)
    assert table.metadata["current-snapshot-id"] == (2 if applied else 1)
    pointers(firn)
    again = table.commit(*updates, requirements=requirements).ok()
    assert [s["snapshot-id"] for s in again.json["metadata"]["snapshots"]] == [1, 2]
    assert len(table.metadata["metadata-log"]) == 2
    table.append(3, 3, 2)
    api.close()


@pytest.mark.parametrize("fault,applied", [
    ("STORE_PUT_AFTER_WRITE", False), ("SQL_SWAP_BEFORE", False), ("SQL_SWAP_AFTER", True)])
def test_death_in_a_create(firn, fault, applied):
    """The same for a staged create with its first snapshot: the whole table or none."""
    api, _ = armed(firn, fault)
    m = api.create(firn.ns, "new", stage_create=True).ok().json["metadata"]
    updates = [*create_updates(m), add_snapshot(5, 1, location=m["location"]), set_ref("main", 5)]
    body = {"requirements": [{"type": "assert-create"}], "updates": updates}
    path = f"{ns_path(firn.ns)}/tables/new"
    dies(firn, lambda: api.post(path, body))
    api.close()
    api, _ = disarmed(firn)
    assert api.exists(firn.ns, "new") == applied
    pointers(firn)
    answer = api.post(path, body).ok()
    assert answer.json["metadata"]["table-uuid"] == m["table-uuid"]
    api.close()


def test_death_among_creates(firn):
    """Each is there whole or not at all, and all that were answered are."""
    armed(firn, "SQL_SWAP_AFTER:2")[0].close()

    def create(i):
        try:
            return Api(firn).create(firn.ns, f"new{i}").status
        except (OSError, http.client.HTTPException):
            return None

    answers = in_parallel(8, create)
    firn.process.wait(60 * SLOWNESS)
    firn.process = None
    api, _ = disarmed(firn)
    there = api.names(firn.ns)
    assert len(pointers(firn)) == len(there) >= 3
    assert all(status is None or (status == 200 and f"new{i}" in there) for i, status in enumerate(answers)), answers
    for i in range(8):
        api.create(firn.ns, f"new{i}").expect(409 if f"new{i}" in there else 200)
    pointers(firn)
    api.close()


def test_slow_read_hinders_nobody(firn):
    """A store that takes four seconds for a file: all who wait for it share one read, everybody else is served."""
    api, table = armed(firn, "STORE_GET_STALL")
    api.create(firn.ns, "other").ok()
    before = firn.metric("firn_cache_misses_total")
    begin = time.monotonic()

    def load(_):
        client = Api(firn)
        client.load(firn.ns, "t").ok()
        client.close()
        return time.monotonic() - begin

    def others(_):
        client = Api(firn)
        eventually(lambda: firn.metric("firn_cache_misses_total") > before)
        client.get("/v1/config").ok()
        client.load(firn.ns, "other").ok()
        client.head(ns_path(firn.ns)).expect(204)
        client.commit(firn.ns, "other", [set_properties(a="b")]).ok()
        client.close()
        return time.monotonic() - begin

    *loads, served = in_parallel(9, lambda i: others(i) if i == 8 else load(i))
    assert served < min(loads) and max(loads) > 1.5, (served, loads)
    assert firn.metric("firn_cache_misses_total") - before == 1
    api.close()


def test_full_queue(firn):
    """Nothing was begun: changes 429, reads 503, with Retry-After."""
    api, table = armed(firn, "EXEC_QUEUE_FULL")
    append(table).fails(429, "SlowDownException")
    append(table).ok()
    api.close()
    api, _ = armed(firn, "EXEC_QUEUE_FULL")
    api.get(f"{ns_path(firn.ns)}/tables").fails(503, "SlowDownException")
    api.get(f"{ns_path(firn.ns)}/tables").ok()
    api.close()


def test_refused_connection_at_start(firn):
    """The first connection fails: the start waits and tries again."""
    api, table = armed(firn, "DB_CONNECT_REFUSED")
    table.load().ok()
    api.close()


def test_misspelt_point(firn):
    """A point that does not exist ends the process: a test must not pass by testing nothing."""
    firn.stop()
    firn.extra["FIRN_FAULT"] = "SQL_SWAP_BEFOR"
    try:
        firn.start()
        api = Api(firn)
        with pytest.raises((OSError, http.client.HTTPException)):
            Table(api, firn.ns, "t").commit(set_properties(a="b"))
        api.close()
    except StartError:
        pass
