"""Credentials for clients over time: asked for once, kept, renewed, and what happens while nobody gives any. The token
service and the store are ours, so that keys live seconds; the store limits nothing."""

import contextlib
import json
import re
import time

import pytest

from firn_client import SLOWNESS, Api, in_parallel, ns_path, simple
from firn_server import ROOT, Server, seal

ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}


@contextlib.contextmanager
def vending(store, identity, keys, **more):
    own = keys.draw(token=False)
    firn = Server(store=store, env=more | {
        "FIRN_S3_ACCESS_KEY_ID": own["id"], "FIRN_S3_SECRET_ACCESS_KEY": own["secret"],
        "FIRN_STS_ENDPOINT": identity.url, "FIRN_S3_VEND_ROLE_ARN": identity.role,
        "FIRN_WAREHOUSE_ENDPOINTS": f"{store.url} {identity.url}",
        "FIRN_SECRET_KEYS": seal()})
    with firn:
        yield firn
        identity.mode = "good"
    log = firn.log_text()
    for secret in keys.secrets():
        assert secret not in log


@pytest.fixture
def firn(store, identity, keys):
    """Who does not ask gets nothing, so that it is the test that says when the token service is asked."""
    with vending(store, identity, keys, FIRN_VEND_UNASKED="false") as firn:
        yield firn


@pytest.fixture
def api(firn):
    client = Api(firn)
    yield client
    client.close()


@pytest.fixture
def table(api):
    table = api.table(api.new_namespace())
    table.load().ok()
    return table


def key_of(answer):
    config = answer.ok().json["storage-credentials"][0]["config"]
    return config["s3.access-key-id"]


def test_what_is_asked_for(api, table, identity):
    """The role, for the time that is set, never without a policy; the policy names the table's folder and no other."""
    table.load(**ASKS).ok()
    [form] = identity.forms
    assert form["RoleArn"] == identity.role and form["DurationSeconds"] == "3600"
    assert form["RoleSessionName"] == "firn-" + table.location.rpartition("/")[2].replace(" ", "_")[:59]
    policy = json.loads(form["Policy"])
    folder = table.location.removeprefix("s3://")
    objects, listing, _ = policy["Statement"]
    assert objects["Resource"] == f"arn:aws:s3:::{folder}/*"
    assert {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"} <= set(objects["Action"])
    key = folder.partition("/")[2]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": [key + "/", key + "/*"]}}
    assert len(form["Policy"]) < 1000 and " " not in form["Policy"]


@pytest.mark.long
def test_renewed_at_half_their_life(api, table, identity):
    """The same until then, others afterwards; a tag ends with the credentials that came with it."""
    identity.life = 6 * SLOWNESS
    first = table.load(**ASKS)
    assert key_of(table.load(**ASKS)) == key_of(first)
    table.load(If_None_Match=first.etag, **ASKS).expect(304)
    deadline = time.monotonic() + identity.life / 2
    while time.monotonic() < deadline:
        time.sleep(0.1)
    second = table.load(If_None_Match=first.etag, **ASKS)
    assert key_of(second) != key_of(first) and second.etag != first.etag
    assert key_of(api.get(table.path + "/credentials")) == key_of(second)
    assert len(identity.forms) == 2


def test_a_tag_ends_with_the_server(api, firn, table):
    """A server that has been started has no keys to compare with: it asks for others."""
    first = table.load(**ASKS)
    table.load(If_None_Match=first.etag, **ASKS).expect(304)
    firn.stop()
    firn.start()
    second = table.load(If_None_Match=first.etag, **ASKS)
    assert key_of(second) != key_of(first) and second.etag != first.etag
    table.load(If_None_Match=second.etag, **ASKS).expect(304)


def test_one_asks_for_all(api, firn, table, identity):
    """Loads of one table at once lead to one request; meanwhile loads that want nothing wait for nobody."""
    identity.mode = "stalls"

    def load(i):
        if i:
            return key_of(table.load(**ASKS))
        begun = time.monotonic()
        while not identity.requests:
            time.sleep(0.01)
        for _ in range(20):
            table.load().ok()
        took = time.monotonic() - begun
        identity.mode = "good"
        return took

    took, *given = in_parallel(13, load)
    assert took < 30 * SLOWNESS and len(set(given)) == 1
    assert len(identity.forms) == firn.metric("firn_vend_requests_total") == 1
    assert firn.metric("firn_vended_total") == 12


def test_while_there_are_none(api, firn, table, identity):
    """What was given is given until half its life; then a load that wants some asks to come again."""
    other = api.table(table.ns)
    first = key_of(table.load(**ASKS))
    identity.mode = "broken"
    assert key_of(table.load(**ASKS)) == first
    for answer in (other.load(**ASKS), api.get(other.path + "/credentials")):
        answer.fails(503)
        assert answer.header("Retry-After") == "1" and "token service" not in str(answer)
    other.load().ok()
    made = api.request("POST", f"{ns_path(table.ns)}/tables", {"name": "late", "schema": simple()},
                       {"X-Iceberg-Access-Delegation": "vended-credentials"}).ok()
    assert made.json["config"] == {} and api.exists(table.ns, "late")
    assert firn.metric("firn_vend_failures_total") > 0
    firn.wait_log("event=vend .*no credentials for ")
    identity.mode = "good"
    assert key_of(other.load(**ASKS)) != first


def test_a_service_that_refuses(api, firn, table, identity):
    """403, whose reason is in the log and not in the answer; a change that was made is answered without credentials."""
    identity.mode = "refuses"
    for answer in (table.load(**ASKS), api.get(table.path + "/credentials")):
        answer.fails(403, "ForbiddenException", contains="token service refuses credentials for this table")
        assert "AccessDenied" not in str(answer) and "not one of ours" not in str(answer)
    firn.wait_log("no credentials for .*AccessDenied")
    table.load().ok()
    made = api.request("POST", f"{ns_path(table.ns)}/tables", {"name": "late", "schema": simple()},
                       {"X-Iceberg-Access-Delegation": "vended-credentials"}).ok()
    assert made.json["config"] == {}
    identity.mode = "good"
    assert key_of(table.load(**ASKS))


def open_house(firn, store, identity):
    """A warehouse on the store that limits nothing."""
    pair = firn.extra
    return {"name": "open", "base-location": "s3://bucket/open", "delegation": ["vended-credentials"],
            "storage": {"type": "s3", "endpoint": store.url, "region": "us-east-1", "sts-endpoint": identity.url,
                        "vend-role-arn": identity.role},
            "credentials": {"type": "static", "access-key-id": pair["FIRN_S3_ACCESS_KEY_ID"],
                            "secret-access-key": pair["FIRN_S3_SECRET_ACCESS_KEY"]}}


def test_a_store_that_limits_nothing(api, firn, store, identity):
    """Neither `firn check` nor the administration lets it pass, and nothing of the trial stays."""
    done = firn.run("check")
    assert done.returncode == 1 and "(vended-sibling-read, " in done.stdout + done.stderr
    body = open_house(firn, store, identity)
    api.post("/management/v1/warehouses", body).fails(400, contains="(vended-sibling-read, ")
    assert not [key for key in store.objects if ".firn-probe" in key]
    identity.mode = "broken"
    api.post("/management/v1/warehouses", body).fails(400)
    identity.mode = "good"
    api.post("/management/v1/warehouses", body | {"delegation": []}).ok()


def findings():
    """All that a trial can find, in its order."""
    return re.findall(r'X\(\w+, "([\w-]+)"', (ROOT / "storage/finding.h").read_text())


def test_findings_are_allowed_one_by_one(api, firn, store, identity):
    """Each by its own name and only by it; what is let pass is told in the answer, by a check and in the log."""
    body = open_house(firn, store, identity)
    allow = []
    while (answer := api.post("/management/v1/warehouses", body | {"allow": allow})).status != 200:
        found = re.search(r"\(([\w-]+), which a warehouse has to allow", answer.fails(400)["message"]).group(1)
        assert found not in allow
        allow.append(found)
    assert allow == [f for f in findings() if f.startswith("vended-") and f not in ("vended-list-denied", "vended-token-widened")]
    house = answer.json
    assert house["allow"] == allow
    told = [house["warning"], api.post("/management/v1/warehouses/open/check").ok().json["warning"]]
    for name in allow:
        firn.wait_log(f"level=warn event=finding .*s3://bucket/open: {name} is allowed")
    assert "warning" not in api.get("/management/v1/warehouses/open").ok().json
    assert not [key for key in store.objects if ".firn-probe" in key]
    api.post("/management/v1/warehouses/open", {"allow": allow[1:]}).fails(400, contains=f"({allow[0]}, ")
    assert api.get("/management/v1/warehouses/open").ok().json["allow"] == allow
    firn.stop()  # who has the database of SQLite
    told.append(firn.run("warehouse", "check", "open").stdout)
    told.append(firn.run("check", env={"FIRN_WAREHOUSE_ALLOW": ",".join(allow)}).stdout)
    assert "FAILED" not in told[-1]
    for text in told:
        assert [name for name in allow if f"{name}, which is allowed: " not in text] == [], text


def changed_house(api, firn, store, identity):
    """A warehouse that may be changed, the path of a table at a place that is allowed besides, and how it is loaded."""
    allow = [f for f in findings() if f.startswith("vended-")]
    body = open_house(firn, store, identity) | {"allow": allow, "allowed-locations": ["s3://bucket/further"]}
    house = f"/v1/{api.post('/management/v1/warehouses', body).ok().json['id']}/namespaces"
    api.post(house, {"namespace": ["n"]}).ok()
    made = api.post(f"{house}/n/tables", {"name": "t", "schema": simple(), "location": "s3://bucket/further/t"}, **ASKS).ok()
    return body, made, lambda **more: api.get(f"{house}/n/tables/t", **ASKS, **more)


@pytest.mark.parametrize("change", ["client-endpoint", "credentials", "allowed-locations", "delegation", "other"])
def test_a_tag_ends_with_what_the_warehouse_says(api, firn, store, identity, keys, change):
    """Where clients find the store, the warehouse's own keys, its places, its ways: each is told at once."""
    body, made, load = changed_house(api, firn, store, identity)
    load(If_None_Match=made.etag).expect(304)
    own = keys.draw(token=False)
    api.post("/management/v1/warehouses/open", {
        "client-endpoint": {"storage": body["storage"] | {"client-endpoint": identity.url}},
        "credentials": {"credentials": {"type": "static", "access-key-id": own["id"], "secret-access-key": own["secret"]}},
        "allowed-locations": {"allowed-locations": []}, "delegation": {"delegation": []},
        "other": {"defaults": {"a": "b"}}}[change]).ok()
    answer = load(If_None_Match=made.etag)
    if change == "other":
        assert answer.status == 304 or key_of(answer) != key_of(made)
    elif change in ("allowed-locations", "delegation"):
        assert answer.ok().json["config"] == {} and not answer.json.get("storage-credentials")
        assert answer.etag != made.etag
    else:
        assert key_of(answer) != key_of(made) and answer.etag != made.etag
        assert answer.json["config"]["s3.endpoint"] == (identity.url if change == "client-endpoint" else store.url)
    if answer.status == 200:
        load(If_None_Match=answer.etag).expect(200 if change == "allowed-locations" else 304)


def test_findings_that_are_none(api, firn, store, identity):
    """A name that is not known is refused, with those that are; so is one in the settings."""
    body = open_house(firn, store, identity) | {"allow": ["list-denied", "everything"]}
    api.post("/management/v1/warehouses", body).fails(400, contains="no finding everything, expected one of list-denied, ")
    api.post("/management/v1/warehouses", body | {"allow": [""]}).fails(400)
    api.post("/management/v1/warehouses", body | {"allow": "list-denied"}).fails(400)
    done = firn.run("check", env={"FIRN_WAREHOUSE_ALLOW": "everything"})
    assert done.returncode == 1 and "no finding everything" in done.stdout


def test_findings_are_in_readme():
    text = (ROOT / "README.md").read_text()
    for name in findings():
        stem, _, end = name.rpartition("-")
        assert f"`{name}`" in text or re.search(rf"`{stem}-\w+`.*`-{end}`", text), name


def test_nothing_is_asked_for_a_place_that_is_refused(api, firn, store, identity):
    """Staged creates, creates and commits that name a place elsewhere: no request to the token service, no object
    written, and the table stays what it was."""
    ns = api.new_namespace()
    table = api.table(ns)
    before, objects = table.loaded, dict(store.objects)
    other = api.table(ns, "other").location
    objects = dict(store.objects)
    for uri in ("s3://other-bucket/x", "s3://bucket/elsewhere/x", "s3://bucket/warehousex/y", "file:///etc", other):
        for body in ({"location": uri}, {"properties": {"write.data.path": uri}},
                     {"properties": {"write.metadata.path": uri + "/m"}}):
            for stage in (False, True):
                answer = api.post(f"{ns_path(ns)}/tables", {"name": "n", "schema": simple(), "stage-create": stage} | body,
                                  **ASKS)
                assert answer.status in (400, 409), str(answer)
        for update in ({"action": "set-location", "location": uri},
                       {"action": "set-properties", "updates": {"write.metadata.path": uri}}):
            answer = api.post(table.path, {"updates": [update]}, **ASKS)
            assert answer.status == 400, str(answer)
    assert identity.requests == [] and store.objects == objects and store.refused == []
    assert table.loaded == before


def test_a_place_too_long_for_a_policy(api, firn, identity):
    """The table is served; its credentials are refused with the reason, and nobody is asked for them."""
    ns = api.new_namespace()
    for length in (300, 600, 940):
        place = f"s3://bucket/warehouse/{ns}-{length}/" + "x" * (length - 40)
        table = api.table(ns, f"t{length}", location=place)
        answer = api.get(table.path + "/credentials")
        assert answer.status in (200, 400), str(answer)
        if answer.status == 400:
            assert "No credentials can be limited" in answer.error["message"] and length > 300
        else:
            assert len(identity.forms[-1]["Policy"]) <= 1600
        loaded = table.load(**ASKS).ok().json
        assert loaded["metadata"]["location"] == place
        assert len(loaded.get("storage-credentials") or []) == (answer.status == 200)
    assert answer.status == 400


@pytest.mark.parametrize("value", [
    "", ",", ",,,", " , ", "vended-credentials-x", "remote", "\t", "a" * 1000, '"vended-credentials"', ";q=1", "*"])
def test_delegation_in_a_form_that_nobody_sends(api, table, identity, value):
    """A header that asks for nothing that there is: an answer without credentials."""
    answer = table.load(X_Iceberg_Access_Delegation=value).ok().json
    assert answer["config"] == {} and not answer.get("storage-credentials") and identity.forms == []


@pytest.mark.parametrize("value", ["vended-credentials", " Vended-Credentials ", "remote-x,vended-credentials",
                                   "vended-credentials,remote-x", "x , vended-credentials , y"])
def test_delegation_in_a_list(api, table, identity, value):
    """Among others, with blanks and in any case."""
    assert table.load(X_Iceberg_Access_Delegation=value).ok().json["storage-credentials"]
    assert len(identity.forms) == 1


@pytest.mark.parametrize("value", ["\u00e9", "\u00ff\u00fe", "\u00e9,vended-credentials", "a" * 5000])
def test_delegation_that_cannot_be_read(api, table, identity, value):
    """Bytes that are no text, or too many of them: 400 that names the header."""
    table.load(X_Iceberg_Access_Delegation=value).fails(400, contains="X-Iceberg-Access-Delegation")
    assert identity.forms == []


def test_loads_while_tables_are_dropped(api, firn, identity):
    """A load with credentials meets a drop: the table or 404, nothing else, and never keys without a table."""
    ns = api.new_namespace()

    def work(i):
        odd = []
        for n in range(25):
            if i == 0:
                api.create(ns, f"t{n}").ok()
                api.drop(ns, f"t{n}").expect(204)
            else:
                for path in ("", "/credentials"):
                    answer = api.get(f"{ns_path(ns)}/tables/t{n}{path}", **ASKS)
                    if answer.status not in (200, 404):
                        odd.append(str(answer))
        return odd

    assert in_parallel(4, work) == [[], [], [], []]
