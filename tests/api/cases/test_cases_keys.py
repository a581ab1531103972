"""Reported cases B169 and B170: Idempotency-Key."""

import uuid

import pytest
from test_idempotency import forget, kept, replays, send

from firn_client import (Api, add_snapshot, assert_ref, assert_uuid, in_parallel, ns_path, set_properties, set_ref, simple,
                         table_path)


def new_key():
    return str(uuid.uuid4())


def test_b169_a_key_of_another_request(api, ns):
    """422, whatever the other request is: it was certainly not done."""
    key, one, two = new_key(), api.table(ns), api.table(ns)
    body = {"updates": [set_properties(a="b")]}
    send(api, "POST", one.path, body, key).ok()
    for method, path, other in (("POST", two.path, body), ("POST", one.path, {"updates": [set_properties(a="c")]}),
                                ("POST", "/v1/namespaces", {"namespace": [ns, "x"]}), ("DELETE", two.path, None)):
        send(api, method, path, other, key).fails(422, "UnprocessableEntityException", contains=key)
    assert "a" not in two.metadata["properties"] and one.metadata["properties"]["a"] == "b"
    api.head(ns_path([ns, "x"])).expect(404)


def test_b169_racing_copies_of_one_request(server, api, ns):
    """Sent while the first is at work: all hear what the one that was carried out heard."""
    key, table = new_key(), api.table(ns)
    body = {"requirements": [assert_uuid(table.uuid), assert_ref(None)],
            "updates": [add_snapshot(1, 1, location=table.location), set_ref("main", 1)]}

    def one(_):
        client = Api(server)
        answer = send(client, "POST", table.path, body, key)
        client.close()
        return answer
    answers = in_parallel(12, one)
    assert {a.status for a in answers} == {200} and len({a.body for a in answers}) == 1
    assert len(table.metadata["metadata-log"]) == 1 and kept(server, key) == [200]


def test_b169_a_conflict_is_answered_again(server, api, ns):
    """Also when the same request would succeed by now; a new key asks anew."""
    key, body = new_key(), {"name": "t", "schema": simple()}
    api.table(ns, "t")
    first = send(api, "POST", f"{ns_path(ns)}/tables", body, key).fails(409, "AlreadyExistsException")
    api.drop(ns, "t").expect(204)
    before = replays(server)
    assert send(api, "POST", f"{ns_path(ns)}/tables", body, key).fails(409) == first
    assert replays(server) == before + 1 and not api.exists(ns, "t")
    send(api, "POST", f"{ns_path(ns)}/tables", body, new_key()).ok()


@pytest.mark.parametrize("key", ["abc", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "0191e5a2-7c1d-7b7e-9a3e-1234567890ab",
                                 "x" * 256])
def test_b170_keys_of_any_form(server, api, ns, key):
    """A UUID of version 7 or 4, or another text: each does what a key does."""
    key = key[:-6] + ns[-6:] if len(key) > 6 else f"{key}-{ns}"
    request = ("POST", f"{ns_path(ns)}/tables", {"name": "t", "schema": simple()})
    first = send(api, *request, key).ok()
    assert send(api, *request, key).ok().body == first.body and kept(server, key) == [200]
    send(api, *request, "y" * 257).fails(400, "BadRequestException", contains="Idempotency-Key")
    send(api, *request, "").fails(400, "BadRequestException", contains="Idempotency-Key")


def test_b170_after_its_time_a_key_is_new(server, api, ns):
    """The requirements of the commit protect then."""
    key, table = new_key(), api.table(ns)
    body = {"requirements": [assert_ref(None)], "updates": [set_properties(a="b")]}
    send(api, "POST", table.path, body, key).ok()
    table.append(1, 1)
    send(api, "POST", table.path, body, key).ok()
    forget(server, key)
    send(api, "POST", table.path, body, key).fails(409, "CommitFailedException")
    api.load(ns, table.name).ok()
    send(api, "DELETE", table_path(ns, "none"), None, key).fails(422)
