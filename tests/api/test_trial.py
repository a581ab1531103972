"""The trial of a warehouse on stores that fail it in one way each: refused with the reason and a name, made only where the
name is allowed, and nothing of the trial stays."""

import re
import urllib.parse

import pytest

from firn_client import Api
from firn_server import FileStore, Server, seal
from identity_stub import Identity, Keys, Store

ROOT = "/management/v1/warehouses"


class Flawed(Store):
    """Does what it is told but for one thing."""

    def __init__(self, keys, flaw):
        super().__init__(keys)
        self.flaw = flaw
        self.own = keys.draw(token=False)

    def answer(self, request):
        if self.flaw == "no signatures":
            return self.told(request)
        mine = self.own["id"] in request.headers.get("Authorization", "")
        listing = request.command == "GET" and "list-type" in request.path
        if (self.flaw, request.command) in (("no writes", "PUT"), ("no deletes", "DELETE")) or (
                listing and (self.flaw == "no lists" or self.flaw == "no lists for clients" and not mine)):
            return 403, {}, b"<Error><Code>AccessDenied</Code></Error>"
        if self.flaw == "other bytes" and request.command == "GET" and not listing:
            return 200, {}, b"froz"
        return super().answer(request)

    def told(self, request):
        """What the path, the list of a delete and the headers say, whoever sends it."""
        path, _, query = request.path.partition("?")
        key = urllib.parse.unquote(path).removeprefix("/bucket").removeprefix("/")
        if request.command == "POST":
            for name in re.findall(r"<Key>([^<]*)</Key>", request.body.decode()):
                self.objects.pop(name, None)
            return 200, {}, b"<DeleteResult></DeleteResult>"
        source = request.headers.get("x-amz-copy-source", "").removeprefix("/bucket/")
        if source:
            if source not in self.objects:
                return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
            self.objects[key] = self.objects[source]
            return 200, {}, b"<CopyObjectResult></CopyObjectResult>"
        return self.one(request, key) if key else self.list(query)


@pytest.fixture
def house(request, tmp_path):
    """The description of a warehouse on the store, and who makes it."""
    keys = Keys()
    with Flawed(keys, request.param) as store, Identity(keys) as identity:
        env = {"FIRN_SECRET_KEYS": seal(),
               "FIRN_WAREHOUSE_ENDPOINTS": f"{store.url} {identity.url}"}
        with Server(env=env, store=FileStore(tmp_path)) as firn:
            api = Api(firn)
            api.flawed, api.identity = store, identity
            yield api, {"name": "lake", "base-location": "s3://bucket/lake", "storage": {
                "type": "s3", "endpoint": store.url, "region": "us-east-1", "path-style": True,
                "sts-endpoint": identity.url}, "credentials": {
                    "type": "static", "access-key-id": store.own["id"], "secret-access-key": store.own["secret"]}}
            api.close()


@pytest.mark.parametrize("house, words", [
    ("no writes", "PUT s3://bucket/lake/.firn-probe-"), ("other bytes", "came back with other bytes than were written"),
    ("no deletes", "DELETE s3://bucket/lake/.firn-probe-")], indirect=["house"])
def test_what_must_work(house, words):
    """Nothing that is allowed by name makes a store of what cannot be written, read or cleared."""
    api, body = house
    everything = [name for name in known(api, body) if not name.startswith("vended-token")]
    for allow in ([], everything):
        api.post(ROOT, body | {"allow": allow}).fails(400, contains=words)
    api.get(f"{ROOT}/lake").fails(404)


def known(api, body):
    """The names of all findings, as a refusal lists them."""
    message = api.post(ROOT, body | {"allow": ["x"]}).fails(400)["message"]
    return re.findall(r"[a-z]+(?:-[a-z]+)+", message.partition("one of ")[2])


def findings(api, body):
    """What has to be allowed, one after the other, until the warehouse is made."""
    allow = []
    while (answer := api.post(ROOT, body | {"allow": allow})).status != 200:
        message = answer.fails(400)["message"]
        assert "which a warehouse has to allow" in message
        name = re.search(r"\(([\w-]+), which a warehouse has to allow", message).group(1)
        assert name not in allow
        allow.append(name)
    assert all(f"{name}, which is allowed" in answer.json["warning"] for name in allow)
    assert not any(".firn-probe" in key for key in api.flawed.objects)
    return allow


@pytest.mark.parametrize("house", ["no signatures"], indirect=True)
def test_a_store_that_looks_at_no_signature(house):
    """A signed request is good for another object, another list, another source. Without a role nothing is signed there."""
    api, body = house
    body["delegation"] = ["remote-signing"]
    api.post(ROOT, body).fails(400, contains="(signed-header-added); the warehouse needs a role")
    body["storage"]["vend-role-arn"] = api.identity.role
    assert findings(api, body) == ["signed-path-changed", "signed-list-changed", "signed-header-added"]


@pytest.mark.parametrize("house", ["no lists", "no lists for clients"], indirect=True)
def test_a_store_that_lists_nothing(house):
    """For nobody, or for those alone who have a session's keys."""
    api, body = house
    body["storage"]["vend-role-arn"] = api.identity.role
    found = findings(api, body | {"delegation": ["vended-credentials"]})
    assert ("list-denied" in found) == (api.flawed.flaw == "no lists")
    assert "vended-list-denied" in found and "vended-sibling-list" not in found
