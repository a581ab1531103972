"""Idempotency-Key when processes die, answers get lost, and copies arrive at two servers at once."""

import time
import uuid

import pytest

from conftest import on_postgres
from firn_client import (SLOWNESS, Api, Table, add_snapshot, assert_ref, in_parallel, ns_path, set_properties, set_ref,
                         simple, table_path)
from test_faults import armed, dies, disarmed, firn, pointers  # noqa: F401 (firn: a fixture)


def send(api, request, key):
    return api.request(*request, headers={"Idempotency-Key": key})


def requests_of(api, ns):
    """One of each kind, on table t with one snapshot, and what shows that it was done."""
    table = table_path(ns, "t")
    append = {"requirements": [assert_ref(1)], "updates": [add_snapshot(2, 2, 1, Table(api, ns, "t").location), set_ref("main", 2)]}
    change = {"identifier": {"namespace": [ns], "name": "t"}} | append
    other = {"identifier": {"namespace": [ns], "name": "other"}, "updates": [set_properties(a="b")]}
    if not api.exists(ns, "other"):
        api.table(ns, "other")
    return {
        "create": (("POST", f"{ns_path(ns)}/tables", {"name": "new", "schema": simple()}),
                   lambda a: a.exists(ns, "new")),
        "commit": (("POST", table, append), lambda a: Table(a, ns, "t").metadata["current-snapshot-id"] == 2),
        "blind commit": (("POST", table, {"updates": [set_properties(a="b")]}),
                         lambda a: "a" in Table(a, ns, "t").metadata["properties"]),
        "transaction": (("POST", "/v1/transactions/commit", {"table-changes": [change, other]}),
                        lambda a: Table(a, ns, "t").metadata["current-snapshot-id"] == 2),
        "drop": (("DELETE", table, None), lambda a: not a.exists(ns, "t")),
        "unregister": (("POST", table + "/unregister", None), lambda a: not a.exists(ns, "t")),
        "rename": (("POST", "/v1/tables/rename", {"source": {"namespace": [ns], "name": "t"},
                                                  "destination": {"namespace": [ns], "name": "u"}}),
                   lambda a: a.exists(ns, "u")),
    }


KINDS = ["create", "commit", "blind commit", "transaction", "drop", "unregister", "rename"]


@pytest.mark.parametrize("fault,applied", [("SQL_SWAP_BEFORE", False), ("SQL_SWAP_AFTER", True)])
@pytest.mark.parametrize("kind", KINDS)
def test_death_around_the_commit(firn, kind, fault, applied):  # noqa: F811
    """The key is written with the effect or not at all: the retry is a replay, or the first time."""
    requests_of(Api(firn), firn.ns)
    api, _ = armed(firn, fault)
    request, done = requests_of(api, firn.ns)[kind]
    key = str(uuid.uuid4())
    dies(firn, lambda: send(api, request, key))
    api.close()
    api, _ = disarmed(firn)
    assert done(api) == applied
    answer = send(api, request, key).expect(200, 204)
    assert firn.metric("firn_idempotency_replays_total") == (1 if applied else 0)
    assert send(api, request, key).body == answer.body and done(api)
    pointers(firn)
    api.close()


@pytest.mark.parametrize("kind", KINDS)
def test_lost_reply_is_settled(firn, kind):  # noqa: F811
    """The connection to the database breaks after the change was sent: one effect, one key."""
    requests_of(Api(firn), firn.ns)
    api, _ = armed(firn, "SQL_SWAP_REPLY_LOST")
    request, done = requests_of(api, firn.ns)[kind]
    key = str(uuid.uuid4())
    first = send(api, request, key).expect(200, 204)
    assert done(api) and send(api, request, key).body == first.body
    assert firn.sql("SELECT count(*) FROM idempotency") == [(1,)]
    api.close()


def test_what_was_not_done_is_not_kept(firn):  # noqa: F811
    """The file cannot be written: 503 with Retry-After, which is no refusal; the retry does it."""
    key, request = str(uuid.uuid4()), requests_of(Api(firn), firn.ns)["commit"][0]
    api, table = armed(firn, "STORE_PUT_FAILS")
    send(api, request, key).fails(503, "SlowDownException")
    assert table.metadata["current-snapshot-id"] == 1
    send(api, request, key).expect(200)
    assert table.metadata["current-snapshot-id"] == 2
    api.close()


# --- two servers ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(cluster):
    first = on_postgres(cluster)
    second = first.replica()
    try:
        first.start()
        second.start()
        yield first, second
    finally:
        second.close()
        first.close()


@pytest.fixture
def prepared(pair):
    api = Api(pair[0])
    ns = api.new_namespace()
    api.table(ns, "t").append(1, 1)
    yield api, ns
    api.close()


@pytest.mark.parametrize("kind", KINDS)
def test_replay_on_the_other_server(pair, prepared, kind):
    api, ns = prepared
    request, _ = requests_of(api, ns)[kind]
    key = str(uuid.uuid4())
    first = send(api, request, key).expect(200, 204)
    other = Api(pair[1])
    again = send(other, request, key).expect(first.status)
    assert again.body == first.body and again.etag == first.etag
    other.close()


@pytest.mark.parametrize("kind", KINDS)
def test_race_of_copies_at_two_servers(pair, prepared, kind):
    """All hear the success of the one that did it."""
    api, ns = prepared
    request, done = requests_of(api, ns)[kind]
    key = str(uuid.uuid4())

    def one(i):
        client = Api(pair[i % 2])
        answer = send(client, request, key)
        client.close()
        return answer
    answers = in_parallel(16, one)
    assert {a.status for a in answers} <= {200, 204}, [str(a) for a in answers]
    assert len({a.body for a in answers}) == 1 and done(api)
    assert pair[0].sql("SELECT count(*) FROM idempotency WHERE request_key = %s", key) == [(1,)]
    if kind == "blind commit":
        assert len(Table(api, ns, "t").metadata["metadata-log"]) == 2


def test_a_copy_waits_for_one_in_progress(pair, prepared):
    """A transaction that has used the key and not ended: wait for it; 503 with Retry-After at the
    deadline; its answer once it has ended."""
    import psycopg
    pair[0].restart({"FIRN_REQUEST_TIMEOUT": "4"})
    api, ns = prepared
    request, _ = requests_of(api, ns)["blind commit"]
    key = str(uuid.uuid4())
    send(api, request, key).ok()
    row = ("warehouse_id, principal, digest, object_id, status, answer", key)
    waiting = str(uuid.uuid4())
    copy = (f"INSERT INTO idempotency (request_key, expires_ms, {row[0]}) SELECT %s, expires_ms, {row[0]} "
            "FROM idempotency WHERE request_key = %s")
    with psycopg.connect(pair[0].db.uri) as first:
        first.execute(copy, (waiting, key))
        begin = time.monotonic()
        send(api, request, waiting).fails(503, "SlowDownException")
        assert 3 < time.monotonic() - begin < 25 * SLOWNESS
        assert len(Table(api, ns, "t").metadata["metadata-log"]) == 2

        def late():
            time.sleep(1)
            first.commit()
        answers = in_parallel(2, lambda i: late() if i else send(Api(pair[1]), request, waiting))
    assert answers[0].status == 200
    assert len(Table(api, ns, "t").metadata["metadata-log"]) == 2
    pair[0].restart({"FIRN_REQUEST_TIMEOUT": None})
