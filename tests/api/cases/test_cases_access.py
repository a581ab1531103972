"""Reported cases B146 and B155: what a warehouse that hands out neither credentials nor signatures says."""

import pytest

ASKED = [None, "vended-credentials", "remote-signing", "vended-credentials,remote-signing",
         "remote-signing, vended-credentials"]


def answers(api, ns, delegation):
    """Of every operation that may carry settings for the store."""
    headers = {"X-Iceberg-Access-Delegation": delegation} if delegation else {}
    name = api.new_name("t")
    path = f"/v1/namespaces/{ns}/tables"
    body = {"name": name, "schema": {"type": "struct", "fields": []}}
    yield api.request("POST", path, body | {"stage-create": True}, headers)
    created = api.request("POST", path, body, headers)
    yield created
    for query in ("", "?snapshots=all", "?snapshots=refs"):
        yield api.request("GET", f"{path}/{name}{query}", None, headers)
    api.drop(ns, name).expect(204)
    yield api.request("POST", f"/v1/namespaces/{ns}/register", {
        "name": name, "metadata-location": created.json["metadata-location"]}, headers)


@pytest.mark.parametrize("delegation", ASKED)
def test_b146_no_empty_credentials(api, ns, delegation):
    """An entry without keys would shadow the user's own; half a key pair is no better."""
    for answer in answers(api, ns, delegation):
        got = answer.ok().json
        assert not got.get("storage-credentials")
        assert isinstance(got["config"], dict)
        assert not [k for k in got["config"] if "access-key" in k or "secret" in k or "token" in k]


@pytest.mark.parametrize("delegation", ASKED)
def test_b155_no_signing_that_is_not_offered(api, ns, delegation):
    """Settings of a signer are sent only by who has one, and never by config."""
    for answer in answers(api, ns, delegation):
        assert not [k for k in answer.ok().json["config"] if "sign" in k]
    config = api.get("/v1/config").ok().json
    assert not [k for k in config["defaults"] | config["overrides"] if "sign" in k]
