"""Idempotency-Key: a request is carried out once, and answered as often as it is sent."""

import json
import uuid

import pytest

from firn_client import (Api, Table, add_snapshot, assert_ref, assert_uuid, create_updates, eventually, in_parallel,
                         levels_of, ns_path, replace_version, representation, set_properties, set_ref, simple,
                         table_path, view_path, view_version)
from firn_server import Server

NEW = {"type": "assert-create"}


def key():
    return str(uuid.uuid4())


def send(api, method, path, body=None, key=None, **options):
    return api.request(method, path, body, {"Idempotency-Key": key} if key is not None else {}, **options)


def forget(server, key, what="expires_ms = 0"):
    """The time of a key is over."""
    assert server.sql(f"UPDATE idempotency SET {what} WHERE request_key = %s RETURNING 1", key)


def kept(server, key):
    return [row[0] for row in server.sql("SELECT status FROM idempotency WHERE request_key = %s", key)]


def replays(server):
    return server.metric("firn_idempotency_replays_total")


# --- what is announced -----------------------------------------------------------------


def test_config_announces_the_lifetime(api):
    """An ISO-8601 duration; without it Java sends no keys."""
    assert api.get("/v1/config").ok().json["idempotency-key-lifetime"] == "PT30M"


@pytest.mark.parametrize("seconds,duration", [("90", "PT1M30S"), ("7200", "PT2H"), ("3661", "PT1H1M1S"),
                                              ("0.5", "PT0.500000S"), ("86400", "PT24H")])
def test_config_of_other_lifetimes(seconds, duration):
    with Server(env={"FIRN_IDEMPOTENCY_LIFETIME": seconds}) as firn:
        api = Api(firn)
        assert api.get("/v1/config").ok().json["idempotency-key-lifetime"] == duration


def test_lifetime_zero_ignores_keys():
    """Nothing is announced, nothing is kept."""
    with Server(env={"FIRN_IDEMPOTENCY_LIFETIME": "0"}) as firn:
        api, k = Api(firn), key()
        assert "idempotency-key-lifetime" not in api.get("/v1/config").ok().json
        send(api, "POST", "/v1/namespaces", {"namespace": ["a"]}, k).ok()
        send(api, "POST", "/v1/namespaces", {"namespace": ["a"]}, k).fails(409, "AlreadyExistsException")
        assert kept(firn, k) == []


# --- every operation, twice -------------------------------------------------------------


def create_namespace(api, ns):
    name = [ns, "new"]
    return ("POST", "/v1/namespaces", {"namespace": name, "properties": {"a": "b"}}), lambda: api.get(ns_path(name))


def drop_namespace(api, ns):
    api.create_namespace([ns, "old"]).ok()
    return ("DELETE", ns_path([ns, "old"]), None), lambda: api.get(ns_path(ns))


def update_properties(api, ns):
    body = {"updates": {"a": "b"}, "removals": ["c"]}
    return ("POST", f"{ns_path(ns)}/properties", body), lambda: api.get(ns_path(ns))


def create_table(api, ns):
    return ("POST", f"{ns_path(ns)}/tables", {"name": "t", "schema": simple()}), lambda: api.load(ns, "t")


def register_table(api, ns):
    table = api.table(ns, "old")
    where = api.post(table.path + "/unregister").ok().json["metadata-location"]
    return ("POST", f"{ns_path(ns)}/register", {"name": "t", "metadata-location": where}), lambda: api.load(ns, "t")


def unregister_table(api, ns):
    table = api.table(ns, "t")
    table.append(1, 1)
    return ("POST", table.path + "/unregister", None), lambda: api.get(f"{ns_path(ns)}/tables")


def append_body(table, number=1, parent=None):
    return {"requirements": [assert_uuid(table.uuid), assert_ref(parent)],
            "updates": [add_snapshot(number, number, parent, table.location), set_ref("main", number)]}


def update_table(api, ns):
    table = api.table(ns, "t")
    return ("POST", table.path, append_body(table)), table.load


def update_table_without_requirements(api, ns):
    """What no requirement protects is not done twice either."""
    table = api.table(ns, "t")
    return ("POST", table.path, {"requirements": [], "updates": [set_properties(a="b")]}), table.load


def commit_of_a_create(api, ns):
    staged = api.create(ns, "t", stage_create=True).ok().json["metadata"]
    body = {"requirements": [NEW], "updates": create_updates(staged)}
    return ("POST", table_path(ns, "t"), body), lambda: api.load(ns, "t")


def drop_table(api, ns):
    return ("DELETE", api.table(ns, "t").path, None), lambda: api.get(f"{ns_path(ns)}/tables")


def purge_table(api, ns):
    return ("DELETE", api.table(ns, "t").path + "?purgeRequested=true", None), lambda: api.get(f"{ns_path(ns)}/tables")


def rename_table(api, ns):
    api.table(ns, "t")
    both = [{"namespace": levels_of(ns), "name": n} for n in ("t", "u")]
    return ("POST", "/v1/tables/rename", {"source": both[0], "destination": both[1]}), lambda: api.load(ns, "u")


def commit_transaction(api, ns):
    tables = [api.table(ns, n) for n in ("t", "u")]
    changes = [append_body(t) | {"identifier": {"namespace": [ns], "name": t.name}} for t in tables]
    return ("POST", "/v1/transactions/commit", {"table-changes": changes}), tables[1].load


def transaction_of_one(api, ns):
    table = api.table(ns, "t")
    change = {"identifier": {"namespace": [ns], "name": "t"}, "updates": [set_properties(a="b")]}
    return ("POST", "/v1/transactions/commit", {"table-changes": [change]}), table.load


def create_view(api, ns):
    body = {"name": "v", "schema": simple(), "view-version": view_version()}
    return ("POST", f"{ns_path(ns)}/views", body), lambda: api.load_view(ns, "v")


def replace_view(api, ns):
    api.create_view(ns, "v").ok()
    body = {"requirements": [], "updates": replace_version(representation("SELECT 2"), ms=1700000000001)}
    return ("POST", view_path(ns, "v"), body), lambda: api.load_view(ns, "v")


def drop_view(api, ns):
    api.create_view(ns, "v").ok()
    return ("DELETE", view_path(ns, "v"), None), lambda: api.get(f"{ns_path(ns)}/views")


def rename_view(api, ns):
    api.create_view(ns, "v").ok()
    both = [{"namespace": levels_of(ns), "name": n} for n in ("v", "w")]
    return ("POST", "/v1/views/rename", {"source": both[0], "destination": both[1]}), lambda: api.load_view(ns, "w")


def register_view(api, ns):
    where = api.create_view(ns, "old", properties={"gc.enabled": "false"}).ok().json["metadata-location"]
    api.drop_view(ns, "old").expect(204)
    body = {"name": "v", "metadata-location": where}
    return ("POST", f"{ns_path(ns)}/register-view", body), lambda: api.load_view(ns, "v")


OPERATIONS = [create_namespace, drop_namespace, update_properties, create_table, register_table, unregister_table,
              update_table, update_table_without_requirements, commit_of_a_create, drop_table, purge_table,
              rename_table, commit_transaction, transaction_of_one, create_view, replace_view, drop_view, rename_view,
              register_view]


@pytest.mark.parametrize("prepare", OPERATIONS, ids=lambda f: f.__name__)
def test_sent_twice_done_once(server, api, ns, prepare):
    """The second answer is that of the first: status, body and tag; the catalog has not moved between."""
    request, look = prepare(api, ns)
    k = key()
    first = send(api, *request, k).expect(200, 204)
    state, before = look(), replays(server)
    for _ in range(2):
        again = send(api, *request, k).expect(first.status)
        assert again.body == first.body and again.etag == first.etag
        assert again.header("Content-Type") == first.header("Content-Type")
    after = look()
    assert (after.status, after.body) == (state.status, state.body)
    assert replays(server) == before + 2 and kept(server, k) == [first.status]


@pytest.mark.parametrize("prepare", OPERATIONS, ids=lambda f: f.__name__)
def test_without_a_key_nothing_is_kept(server, api, ns, prepare):
    request, _ = prepare(api, ns)
    live = "SELECT count(*) FROM idempotency WHERE expires_ms > 0"  # upkeep may take the others at any time
    before = server.sql(live)
    send(api, *request).expect(200, 204)
    assert server.sql(live) == before


@pytest.mark.parametrize("prepare", OPERATIONS, ids=lambda f: f.__name__)
def test_expired_keys_are_new(server, api, ns, prepare):
    """After its time a key is as if never seen: the request is carried out, or refused, anew."""
    request, _ = prepare(api, ns)
    k = key()
    first = send(api, *request, k).expect(200, 204)
    forget(server, k)
    before = replays(server)
    again = send(api, *request, k)
    repeatable = ("update_properties", "update_table_without_requirements", "transaction_of_one")
    recognised = ("update_table", "commit_transaction", "replace_view")  # by the snapshot or version they carry
    if prepare.__name__ in repeatable + recognised:
        again.expect(first.status)
    else:
        again.expect(404, 409)
    assert replays(server) == before and kept(server, k) == [again.status]


@pytest.mark.parametrize("prepare", OPERATIONS, ids=lambda f: f.__name__)
def test_another_request_with_the_same_key(server, api, ns, prepare):
    """422, and nothing happens."""
    request, look = prepare(api, ns)
    k = key()
    send(api, "POST", "/v1/namespaces", {"namespace": [ns, "x"]}, k).ok()
    before = look()
    send(api, *request, k).fails(422, "UnprocessableEntityException", contains=k)
    after = look()
    assert (after.status, after.body) == (before.status, before.body)
    send(api, *request, key()).expect(200, 204)


def test_what_makes_a_request_another(api, ns):
    """Operation, path, query and body count; headers do not."""
    table, k = api.table(ns, "t"), key()
    body = {"updates": [set_properties(a="b")]}
    send(api, "POST", table.path, body, k).ok()
    send(api, "POST", table.path, {"updates": [set_properties(a="c")]}, k).fails(422)
    send(api, "POST", api.table(ns, "u").path, body, k).fails(422)
    send(api, "DELETE", table.path, None, k).fails(422)
    k = key()
    send(api, "DELETE", table.path + "?purgeRequested=false", None, k).expect(204)
    send(api, "DELETE", table.path + "?purgeRequested=true", None, k).fails(422)
    api.request("DELETE", table.path + "?purgeRequested=false", headers={
        "Idempotency-Key": k, "User-Agent": "other", "X-Request-ID": "x"}).expect(204)


# --- refusals ---------------------------------------------------------------------------


REFUSALS = [
    ("namespace exists", 409, lambda api, ns: ("POST", "/v1/namespaces", {"namespace": [ns]}),
     lambda api, ns: api.delete(ns_path(ns)).expect(204)),
    ("no namespace", 404, lambda api, ns: ("POST", f"{ns_path([ns, 'x'])}/tables", {"name": "t", "schema": simple()}),
     lambda api, ns: api.create_namespace([ns, "x"]).ok()),
    ("no table to drop", 404, lambda api, ns: ("DELETE", table_path(ns, "t"), None),
     lambda api, ns: api.create(ns, "t").ok()),
    ("no table to commit to", 404, lambda api, ns: ("POST", table_path(ns, "t"), {"updates": [set_properties(a="b")]}),
     lambda api, ns: api.create(ns, "t").ok()),
    ("bad updates", 422, lambda api, ns: ("POST", f"{ns_path(ns)}/properties", {"updates": {"a": "b"}, "removals": ["a"]}),
     lambda api, ns: None),
    ("bad name", 400, lambda api, ns: ("POST", f"{ns_path(ns)}/tables", {"name": "..", "schema": simple()}),
     lambda api, ns: None),
    ("no table in a transaction", 404, lambda api, ns: (
        "POST", "/v1/transactions/commit", {"table-changes": [{"identifier": {"namespace": [ns], "name": "t"}}]}),
     lambda api, ns: api.create(ns, "t").ok()),
]


@pytest.mark.parametrize("status,request_of,repair", [r[1:] for r in REFUSALS], ids=[r[0] for r in REFUSALS])
def test_refusals_are_kept(server, api, ns, status, request_of, repair):
    """A deterministic 4xx is the answer to every copy of the request, also when it would succeed now."""
    request, k = request_of(api, ns), key()
    first = send(api, *request, k).expect(status)
    repair(api, ns)
    again = send(api, *request, k).expect(status)
    assert again.json == first.json and kept(server, k) == [status]


def test_a_failed_requirement_is_kept(api, ns):
    table, k = api.table(ns, "t"), key()
    body = {"requirements": [assert_ref(7)], "updates": [set_properties(a="b")]}
    first = send(api, "POST", table.path, body, k).fails(409, "CommitFailedException")
    table.append(7, 1)
    assert send(api, "POST", table.path, body, k).fails(409, "CommitFailedException") == first
    send(api, "POST", table.path, body, key()).ok()


def test_malformed_bodies_are_not_kept(server, api, ns):
    """What is no request is not remembered as one."""
    k = key()
    for body in (b"{", b"[]", b'{"updates": 5}'):
        send(api, "POST", table_path(ns, "t"), body, k).fails(400)
    assert kept(server, k) == []


# --- what a replay shows ----------------------------------------------------------------


def test_a_replay_shows_what_the_request_did(api, ns):
    """Later commits do not show; a rename and a drop do not matter."""
    table, k = api.table(ns, "t"), key()
    request = ("POST", table.path, append_body(table))
    first = send(api, *request, k).ok()
    table.append(2, 2, 1)
    assert send(api, *request, k).ok().json == first.json
    api.rename((ns, "t"), (ns, "u")).expect(204)
    assert send(api, *request, k).ok().json == first.json
    api.drop(ns, "u").expect(204)
    assert send(api, *request, k).ok().json == first.json


def test_a_replay_whose_file_is_gone(server, api, ns):
    """The current state then; and when the table is gone too, a 404 that says so."""
    table, k = api.table(ns, "t"), key()
    request = ("POST", table.path, append_body(table))
    first = send(api, *request, k).ok()
    last = table.append(2, 2, 1)
    api.store.delete(first.json["metadata-location"])
    server.restart()
    answer = send(api, *request, k).ok()
    assert answer.json["metadata"] == last and answer.json["metadata-location"] == table.metadata_location
    api.drop(ns, "t").expect(204)
    server.restart()
    send(api, *request, k).fails(404, "NotFoundException", contains="carried out")


def test_a_commit_without_effect_is_kept(server, api, ns):
    """Its 200 stays its answer when its requirements would fail by now."""
    table, k = api.table(ns, "t"), key()
    body = {"requirements": [assert_ref(None)], "updates": [{"action": "assign-uuid", "uuid": table.uuid}]}
    first = send(api, "POST", table.path, body, k).ok()
    assert kept(server, k) == [200]
    table.append(1, 1)
    assert send(api, "POST", table.path, body, k).ok().json == first.json
    both = {"namespace": [ns], "name": "t"}
    k = key()
    send(api, "POST", "/v1/tables/rename", {"source": both, "destination": both}, k).expect(204)
    assert kept(server, k) == [204]


def test_staged_creates_are_not_keyed(server, api, ns):
    """Twice makes two promises; nothing is kept, also of a refusal."""
    k, body = key(), {"name": "t", "schema": simple(), "stage-create": True}
    one, two = (send(api, "POST", f"{ns_path(ns)}/tables", body, k).ok().json for _ in range(2))
    assert one["metadata"]["table-uuid"] != two["metadata"]["table-uuid"] and kept(server, k) == []
    api.create(ns, "t").ok()
    send(api, "POST", f"{ns_path(ns)}/tables", body, k).fails(409)
    assert kept(server, k) == []


def test_reads_take_no_keys(server, api, table):
    """On requests that change nothing the header is not looked at."""
    k = key()
    for _ in range(2):
        send(api, "GET", table.path, None, k).ok()
        send(api, "HEAD", table.path, None, k).expect(204)
    send(api, "POST", table.path + "/metrics", {"report-type": "future-report"}, k).expect(204)
    assert kept(server, k) == []


# --- keys -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", ["x", "abc", "key with spaces", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "'; DROP--",
                               "a" * 256, "%00%1F\"\\", "日本語", "{}"])
def test_keys_of_any_text(server, api, ns, k):
    """A UUID of version 7 is usual; anything up to 256 bytes is taken."""
    header = k.encode().decode("latin-1")
    body = {"namespace": [ns, "new"]}
    first = send(api, "POST", "/v1/namespaces", body, header).ok()
    assert send(api, "POST", "/v1/namespaces", body, header).ok().json == first.json
    forget(server, k, "request_key = 'old' || expires_ms || request_key")  # the same key comes for others too


@pytest.mark.parametrize("k", ["", "a" * 257, "\xff"])
def test_keys_that_are_none(api, ns, k):
    send(api, "POST", "/v1/namespaces", {"namespace": [ns, "new"]}, k).fails(400, contains="Idempotency-Key")


def test_two_keys_in_one_request(api, ns):
    """Which one counts is not for us to guess."""
    import socket
    body = json.dumps({"namespace": [ns, "new"]})
    text = (f"POST /v1/namespaces HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}")
    with socket.create_connection(api.server.host_port, timeout=10) as connection:
        connection.sendall(text.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


# --- restarts, many at once, expiry -------------------------------------------------------


def test_replay_after_a_restart(server, api, ns):
    requests = [(key(), p(api, api.new_namespace())[0]) for p in OPERATIONS]
    first = [send(api, *request, k).expect(200, 204) for k, request in requests]
    server.restart()
    for (k, request), answer in zip(requests, first):
        again = send(api, *request, k).expect(answer.status)
        assert again.body == answer.body


@pytest.mark.parametrize("prepare", OPERATIONS, ids=lambda f: f.__name__)
def test_race_of_copies(server, api, ns, prepare):
    """All copies at once: every one hears the answer of the one that did it."""
    request, look = prepare(api, ns)
    k = key()

    def one(_):
        client = Api(server)
        answer = send(client, *request, k)
        client.close()
        return answer
    answers = in_parallel(12, one)
    assert {a.status for a in answers} <= {200, 204}, [str(a) for a in answers]
    assert len({a.body for a in answers}) == 1
    assert kept(server, k) == [answers[0].status]
    if prepare is update_table_without_requirements:
        assert len(Table(api, ns, "t").metadata["metadata-log"]) == 1


def test_racing_requests_with_one_key(server, api, ns):
    """Different ones: one is carried out, the others are refused."""
    k = key()

    def one(i):
        client = Api(server)
        answer = send(client, "POST", f"{ns_path(ns)}/tables", {"name": f"t{i}", "schema": simple()}, k)
        client.close()
        return answer
    assert sorted(a.status for a in in_parallel(12, one)) == [200] + [422] * 11
    assert len(api.names(ns)) == 1


def test_upkeep_deletes_what_has_expired():
    """Kept answers after their lifetime, changes after theirs, leases that nobody gave back; live ones stay."""
    with Server(env={"FIRN_IDEMPOTENCY_LIFETIME": "1", "FIRN_CHANGE_RETENTION": "1"}) as firn:
        api, k = Api(firn), key()
        send(api, "POST", "/v1/namespaces", {"namespace": ["a"]}, k).ok()
        api.table("a", "t").append(1, 1)
        firn.sql("INSERT INTO lease (warehouse_id, name, holder, until_ms) SELECT id, 'job', 'nobody', 1 FROM warehouse")
        left = ("SELECT (SELECT count(*) FROM idempotency), (SELECT count(*) FROM change), "
                "(SELECT count(*) FROM lease WHERE name = 'job')")
        eventually(lambda: firn.sql(left) == [(0, 0, 0)])
        eventually(lambda: firn.metric("firn_pruned_rows_total") >= 4)
        assert firn.sql("SELECT count(*) FROM lease WHERE until_ms > 9000000000000") == [(0,)]
        assert Table(api, "a", "t").metadata["current-snapshot-id"] == 1


def test_changes_are_kept_as_long_as_answers():
    """FIRN_CHANGE_RETENTION below FIRN_IDEMPOTENCY_LIFETIME is refused at the start."""
    firn = Server(env={"FIRN_CHANGE_RETENTION": "60"})
    done = firn.run("serve")
    assert done.returncode not in (0, None) and "FIRN_CHANGE_RETENTION" in done.stdout + done.stderr
    firn.close()
