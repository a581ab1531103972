"""Warehouses without keys of their own: the server's credentials serve the places and the roles that the operator has
named, and nobody who may make warehouses reaches more with them."""

import base64
import secrets

import pytest

from firn_client import Api, simple
from firn_server import FileStore, Server, seal

ROOT = "/management/v1/warehouses"
SETTING = "FIRN_WAREHOUSE_IDENTITY"


@pytest.fixture
def firn(store, identity):
    """Not started; its default warehouse lies in a folder, and it has keys of the container."""
    server = Server(env={"FIRN_SECRET_KEYS": seal(),
                         "FIRN_WAREHOUSE_ENDPOINTS": f"{store.url} {identity.url}"})
    if server.store.kind != "file":
        server.store = FileStore(server.folder)  # which brings no keys
    server.extra |= identity.container(server.folder)
    yield server
    server.close()


@pytest.fixture
def begun(firn):
    """Starts the server with the setting."""
    apis = []

    def begin(allowed="", **env):
        firn.restart(env={SETTING: allowed} | env)
        apis.append(Api(firn))
        return apis[-1]

    yield begin
    for api in apis:
        api.close()


def described(store, base="s3://bucket/lake", kind=None, storage=None, **more):
    body = {"name": f"w{secrets.token_hex(4)}", "base-location": base,
            "storage": {"type": "s3", "endpoint": store.url, "region": "us-east-1", "path-style": True} | (storage or {})}
    return body | ({"credentials": {"type": kind}} if kind else {}) | more


def own_keys(keys):
    pair = keys.draw(token=False)
    return {"credentials": {"type": "static", "access-key-id": pair["id"], "secret-access-key": pair["secret"]}}


def use(api, house):
    path = f"/v1/{house['id']}/namespaces"
    api.post(path, {"namespace": ["a"]}).ok()
    api.post(f"{path}/a/tables", {"name": "t", "schema": simple()}).ok()
    return f"{path}/a/tables/t"


def places(kind):
    return {"s3": "s3://bucket/lake", "gcs": "gs://bucket/lake",
            "adls": "abfss://tables@account.dfs.core.windows.net/lake"}[kind]


@pytest.mark.parametrize("kind", ["s3", "gcs", "adls"])
@pytest.mark.parametrize("credentials", [None, "server", "web-identity", "managed-identity"])
def test_nothing_unless_the_operator_says_so(begun, store, identity, kind, credentials):
    """Any bucket that the server may reach could be named: refused with what to set, before anybody is asked."""
    body = {"name": "lake", "base-location": places(kind), "storage": {"type": kind}}
    if kind == "s3":
        body["storage"] |= {"endpoint": store.url, "region": "us-east-1"}
    if credentials:
        body["credentials"] = {"type": credentials}
    for allowed in ("", places(kind) + "/deeper", places(kind) + "x", "s3://other-bucket", "arn:aws:iam::1:role/*"):
        api = begun(allowed)
        error = api.post(ROOT, body).fails(400, "IllegalArgumentException", contains=SETTING)
        assert error["message"].startswith("/base-location:")
        api.post(ROOT, body | {"active": False}).fails(400, contains=SETTING)
        assert [w["name"] for w in api.get(ROOT).ok().json["warehouses"]] == ["main"]
    assert store.objects == {} and store.refused == [] and identity.requests == []


@pytest.mark.parametrize("allowed", ["s3://bucket/lake", "s3a://BUCKET/", "s3://bucket", "gs://x, s3://bucket/lake/", "*"])
def test_a_place_that_is_named(begun, store, allowed):
    """By its bucket or a prefix, in any of its spellings; the warehouse is made and used."""
    api = begun(allowed)
    use(api, api.post(ROOT, described(store)).ok().json)
    assert store.refused == []


def test_no_place_beside_it(begun, store):
    """Neither as the base nor as an allowed location, at making and at changing."""
    api = begun("s3://bucket/lake")
    for base in ("s3://bucket", "s3://bucket/lakes", "s3://bucket/other", "s3://bucke/lake"):
        api.post(ROOT, described(store, base)).fails(400, contains=SETTING)
        error = api.post(ROOT, described(store, **{"allowed-locations": ["s3://bucket/lake/x", base]})).fails(400)
        assert error["message"].startswith("/allowed-locations/1:") and SETTING in error["message"]
    house = api.post(ROOT, described(store)).ok().json
    for change in ({"base-location": "s3://bucket/other"}, {"allowed-locations": ["s3://bucket/other"]}):
        api.post(f"{ROOT}/{house['name']}", change).fails(400, contains=SETTING)
    assert api.get(f"{ROOT}/{house['name']}").ok().json == house


def test_keys_of_its_own_need_no_leave(begun, store, keys):
    """Until they are taken away."""
    api = begun()
    house = api.post(ROOT, described(store) | own_keys(keys)).ok().json
    use(api, house)
    api.post(f"{ROOT}/{house['name']}", {"credentials": {"type": "server"}}).fails(400, contains=SETTING)
    assert api.get(f"{ROOT}/{house['name']}").ok().json == house


def test_what_is_taken_out_of_the_setting(begun, store, keys, firn):
    """Nothing is reached any more; the warehouse can be renamed, put to sleep, given keys of its own."""
    api = begun("s3://bucket/lake")
    house = api.post(ROOT, described(store)).ok().json
    path = use(api, house)
    api = begun()
    error = api.get(path).fails(403, "ForbiddenException", contains=SETTING)
    assert house["name"] in error["message"]
    found = api.post(f"{ROOT}/{house['name']}/check").ok().json
    assert found["ok"] is False and SETTING in found["message"]
    api.post(f"{ROOT}/{house['name']}", {"name": "pond", "active": False}).ok()
    api.post(f"{ROOT}/pond", {"active": True}).fails(400, contains=SETTING)
    api.post(f"{ROOT}/pond", {"active": True} | own_keys(keys)).ok()
    api.get(path).ok()


def test_made_asleep(begun, store, identity):
    """active: false is made without a trial, and serves nothing; it is tried when it awakes."""
    api = begun("*")
    body = described(store, "s3://bucket/lake", active=False)
    house = api.post(ROOT, body).ok().json
    assert house["active"] is False and store.objects == {} and identity.requests == []
    api.get(f"/v1/{house['id']}/namespaces").fails(403, contains="deactivated")
    identity.mode = "refuses"
    api.post(f"{ROOT}/{house['name']}", {"active": True}).fails(400, contains="does not work")
    assert api.get(f"{ROOT}/{house['name']}").ok().json == house
    identity.mode = "good"
    api = begun("*")  # whose keeper asks at once
    use(api, api.post(f"{ROOT}/{house['name']}", {"active": True}).ok().json)


# --- which of the server's credentials ------------------------------------------------------


def test_the_web_identity_alone(begun, store, identity, keys, firn):
    """Though keys of the environment come first otherwise."""
    pair = keys.draw(token=False)
    api = begun("*", **identity.web(firn.folder), AWS_ACCESS_KEY_ID=pair["id"], AWS_SECRET_ACCESS_KEY=pair["secret"])
    use(api, api.post(ROOT, described(store, "s3://bucket/a")).ok().json)
    assert identity.requests == []
    use(api, api.post(ROOT, described(store, "s3://bucket/b", "web-identity")).ok().json)
    assert identity.forms and {form["Action"] for form in identity.forms} == {"AssumeRoleWithWebIdentity"}
    assert set(identity.requests) == {"POST /"}


def test_the_machine_alone(begun, store, identity, keys, firn):
    """Of the container here; the web identity is not shown to anybody."""
    api = begun("*", **identity.web(firn.folder))
    house = api.post(ROOT, described(store, kind="managed-identity")).ok().json
    use(api, house)
    assert house["credentials"] == {"type": "managed-identity"}
    assert identity.forms == [] and set(identity.requests) == {"GET /container/keys"}


@pytest.mark.parametrize("kind,storage,words", [
    ("web-identity", "s3", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    ("web-identity", "gcs", "GOOGLE_APPLICATION_CREDENTIALS"),
    ("web-identity", "adls", "AZURE_FEDERATED_TOKEN_FILE"),
    ("managed-identity", "s3", "AWS_EC2_METADATA_DISABLED"),
    ("managed-identity", "gcs", "NO_GCE_CHECK"),
])
def test_what_the_server_does_not_have(begun, store, firn, kind, storage, words):
    """It says what would give it; keys of the settings do not step in."""
    env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "FIRN_S3_ACCESS_KEY_ID": "a", "FIRN_S3_SECRET_ACCESS_KEY": "b",
           "NO_GCE_CHECK": "true", "FIRN_AZURE_ACCOUNT_KEY": base64.b64encode(b"k").decode(), "FIRN_GCS_KEY": "{}"}
    api = begun("*", **env)
    body = {"name": "lake", "base-location": places(storage), "storage": {"type": storage}, "credentials": {"type": kind}}
    if storage == "s3":
        body["storage"]["endpoint"] = store.url
    api.post(ROOT, body).fails(400, contains=words)


@pytest.mark.parametrize("change,words", [
    ({"storage": {"type": "gcs"}, "base-location": "gs://bucket/lake", "credentials": {"type": "assume-role"}}, "no assume-role"),
    ({"storage": {"type": "file"}, "base-location": "file:///srv", "credentials": {"type": "managed-identity"}}, ""),
    ({"credentials": {"type": "assume-role"}}, "/storage/role-arn"),
    ({"credentials": {"type": "instance"}}, "/credentials/type"),
])
def test_kinds_that_do_not_fit(begun, store, change, words):
    api = begun("*")
    answer = api.post(ROOT, described(store) | change)
    assert answer.status in (400, 403) and words in answer.error["message"], str(answer)


# --- roles ----------------------------------------------------------------------------------


def by_role(store, identity, base="s3://bucket/lake", kind="assume-role", **storage):
    return described(store, base, kind, {"role-arn": identity.role, "sts-endpoint": identity.url} | storage)


@pytest.mark.parametrize("allowed,served", [
    ("arn:aws:iam::1:role/firn", True), ("arn:aws:iam::1:role/*", True), ("*", True), ("s3://other, arn:aws:iam::1:*", True),
    ("", False), ("s3://bucket", False), ("arn:aws:iam::1:role/fir", False), ("arn:aws:iam::2:role/*", False)])
@pytest.mark.parametrize("kind", [None, "server", "assume-role"])
def test_roles_that_are_named(begun, store, identity, allowed, served, kind):
    """The role says what is reached; the place need not be named."""
    api = begun(allowed)
    identity.external_id = identity.ANY
    body = by_role(store, identity, kind=kind)
    if served:
        use(api, api.post(ROOT, body).ok().json)
        return
    error = api.post(ROOT, body).fails(400, contains=SETTING)
    assert error["message"].startswith("/storage/role-arn:") and identity.forms == []


def test_the_external_id(begun, store, identity):
    """Made by the server, shown to whoever makes the warehouse, asked for by the trust policy from then on; it stays."""
    api = begun("*")
    body = by_role(store, identity)
    house = api.post(ROOT, body | {"active": False}).ok().json
    at = f"{ROOT}/{house['name']}"
    made = house["storage"]["external-id"]
    assert len(made) == 36 and identity.forms == []
    identity.external_id = made
    use(api, api.post(at, {"active": True}).ok().json)
    assert {form["ExternalId"] for form in identity.forms} == {made}
    # whether what is shown is sent back, or left out
    for storage in (house["storage"], {k: v for k, v in house["storage"].items() if k != "external-id"}):
        assert api.post(at, {"storage": storage}).ok().json["storage"]["external-id"] == made
    error = api.post(at, {"storage": house["storage"] | {"external-id": "mine"}}).fails(400, contains="/storage/external-id")
    assert made in error["message"]


def test_each_warehouse_has_its_own(begun, store, identity):
    """So that the trust policy of one warehouse's role lets in no other, which is told how to come by its own."""
    api = begun("*")
    one = api.post(ROOT, by_role(store, identity) | {"active": False}).ok().json
    identity.external_id = one["storage"]["external-id"]
    two = by_role(store, identity, "s3://bucket/other")
    error = api.post(ROOT, two).fails(400, contains="does not work")
    assert '"active": false' in error["message"]
    with_theirs = two | {"storage": two["storage"] | {"external-id": identity.external_id}}
    api.post(ROOT, with_theirs).fails(400, contains="/storage/external-id")
    api.post(ROOT, with_theirs | {"active": False}).fails(400, contains="/storage/external-id")
    made = api.post(ROOT, two | {"active": False}).ok().json
    assert made["storage"]["external-id"] != identity.external_id


def test_an_external_id_does_not_come_in_by_keys(begun, store, identity, keys):
    """With keys of its own a warehouse says what it likes; when it takes the server's, that is not good any more."""
    api = begun("*")
    identity.external_id = "theirs"
    body = by_role(store, identity, kind=None, **{"external-id": "theirs"}) | own_keys(keys)
    house = api.post(ROOT, body).ok().json
    assert house["storage"]["external-id"] == "theirs"
    at = f"{ROOT}/{house['name']}"
    api.post(at, {"credentials": {"type": "server"}, "active": False}).fails(400, contains="/storage/external-id")
    storage = {k: v for k, v in house["storage"].items() if k != "external-id"}
    changed = api.post(at, {"credentials": {"type": "server"}, "active": False, "storage": storage}).ok().json
    assert changed["storage"]["external-id"] != "theirs"


# --- spellings ------------------------------------------------------------------------------


def test_words_of_hadoop(begun, store, keys):
    """s3a: and s3n: are taken from clients where the warehouse says so, or is spelled so itself; what lies there
    already is served on."""
    api = begun()
    house = api.post(ROOT, described(store) | own_keys(keys)).ok().json
    path, at = f"/v1/{house['id']}/namespaces", f"{ROOT}/{house['name']}"
    api.post(path, {"namespace": ["a"]}).ok()

    def attempts(n):
        made = api.post(f"{path}/a/tables", {"name": f"plain{n}", "schema": simple()}).ok().json["metadata"]
        for word in ("s3a", "s3n"):
            place = f"{word}://bucket/lake/{word}{n}"
            yield api.post(f"{path}/a/tables", {"name": f"{word}{n}", "schema": simple(), "location": place})
            yield api.post(f"{path}/a/tables/plain{n}", {"requirements": [], "updates": [
                {"action": "set-properties", "updates": {"write.data.path": f"{word}://bucket/lake/apart"}}]})
            yield api.post(f"{path}/a/tables/plain{n}", {"requirements": [], "updates": [
                {"action": "set-location", "location": made["location"].replace("s3:", word + ":") + "-moved"}]})
            yield api.post(f"{path}/a/properties", {"updates": {"location": f"{word}://bucket/lake/a"}})
            yield api.post(f"{path}/a/register", {"name": "r", "metadata-location": f"{word}://bucket/lake/x.metadata.json"})

    for answer in attempts(1):
        answer.fails(400, contains="hadoop-schemes")
    api.post(at, {"storage": house["storage"] | {"hadoop-schemes": True}}).ok()
    for answer in attempts(2):
        assert answer.status in (200, 404), str(answer)  # no such file to be registered
    api.post(at, {"storage": house["storage"]}).ok()
    assert api.get(f"{path}/a/tables/s3a2").ok().json["metadata"]["location"] == "s3a://bucket/lake/s3a2"
    api.post(f"{path}/a/tables/s3a2", {"requirements": [], "updates": [
        {"action": "set-properties", "updates": {"a": "b"}}]}).ok()
    api.post(f"{path}/a/tables", {"name": "x", "schema": simple(), "location": "s3a://bucket/lake/x"}).fails(400)
    spelled = api.post(ROOT, described(store, "s3a://bucket/old") | own_keys(keys)).ok().json
    api.post(f"/v1/{spelled['id']}/namespaces", {"namespace": ["a"]}).ok()
    made = api.post(f"/v1/{spelled['id']}/namespaces/a/tables", {"name": "t", "schema": simple()}).ok().json
    assert made["metadata"]["location"].startswith("s3a://bucket/old/")
