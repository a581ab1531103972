"""Clients that name no way to reach the files: they get keys as if they had asked, unless the server or the warehouse
says no, and their loads never fail for want of them."""

import time

import pytest

from firn_client import SLOWNESS, Api, eventually, in_parallel, set_properties, simple
from test_vending_time import ASKS, findings, key_of, open_house, vending

ROOT = "/management/v1/warehouses"
DECLINES = {"X_Iceberg_Access_Delegation": "client-managed"}


@pytest.fixture
def firn(store, identity, keys):
    with vending(store, identity, keys) as firn:
        yield firn


@pytest.fixture
def api(firn):
    client = Api(firn)
    yield client
    client.close()


@pytest.fixture
def table(api):
    return api.table(api.new_namespace())


def nothing(answer):
    body = answer.ok().json
    assert body["config"] == {} and not body.get("storage-credentials")
    return answer


@pytest.mark.parametrize("value", [None, "", ",", " , ", "\t"])
def test_no_word_is_as_good_as_asking(table, value):
    """The same keys, the same tag, the same 304; caches are told that the header matters."""
    headers = {} if value is None else {"X_Iceberg_Access_Delegation": value}
    asked, given = table.load(**ASKS).ok(), table.load(**headers).ok()
    assert key_of(given) == key_of(asked) and given.etag == asked.etag
    assert given.header("Cache-Control") == "no-store"
    not_modified = table.load(If_None_Match=given.etag, **headers).expect(304)
    plain = table.load(**DECLINES).etag
    assert key_of(table.load(If_None_Match=plain, **headers)) == key_of(asked)
    for answer in (given, not_modified):
        assert "X-Iceberg-Access-Delegation" in answer.header("Vary")


@pytest.mark.parametrize("value", ["client-managed", " Client-Managed ", "client-managed,x", "remote-signing", "none", "x,,y"])
def test_any_other_word_declines(table, value):
    """What is known to no one is a word all the same: nothing is told, and the tag is the plain one."""
    answer = nothing(table.load(X_Iceberg_Access_Delegation=value))
    vended = table.load().etag
    assert answer.etag != vended and answer.etag == table.load(**DECLINES).etag
    table.load(If_None_Match=answer.etag, X_Iceberg_Access_Delegation=value).expect(304)
    nothing(table.load(If_None_Match=vended, X_Iceberg_Access_Delegation=value))


def test_to_decline_and_to_ask_is_to_ask(table):
    assert key_of(table.load(X_Iceberg_Access_Delegation="client-managed,vended-credentials"))


def test_creates_and_views(api, identity):
    """A new table comes with keys, as it does for those who ask; views, commits and lists with none."""
    ns = api.new_namespace()
    made = api.create(ns, "t").ok()
    assert key_of(made) == key_of(api.load(ns, "t"))
    assert set(api.commit(ns, "t", [set_properties(a="b")]).ok().json) == {"metadata", "metadata-location"}
    assert api.create_view(ns, "v").ok().json["config"] == {}
    assert len(identity.forms) == 1


def house_of(api, firn, store, identity, **more):
    """A table in a warehouse, and how it is loaded."""
    body = open_house(firn, store, identity) | {"allow": [f for f in findings() if f.startswith("vended-")]} | more
    house = api.post(ROOT, body).ok().json
    path = f"/v1/{house['id']}/namespaces"
    api.post(path, {"namespace": ["n"]}).ok()
    made = api.post(f"{path}/n/tables", {"name": "t", "schema": simple()}).ok()
    return house, made, lambda **headers: api.get(f"{path}/n/tables/t", **headers)


def test_the_settings_say_no(firn, api, table, store, identity):
    """For the warehouse that they describe and no other."""
    assert key_of(table.load())
    firn.restart(env={"FIRN_VEND_UNASKED": "false"})
    tag = nothing(table.load()).etag
    table.load(If_None_Match=tag).expect(304)
    assert key_of(table.load(**ASKS))
    house, made, load = house_of(api, firn, store, identity)
    assert "delegation-unasked" not in house
    assert key_of(load()) == key_of(made)


def test_a_warehouse_says_no(firn, api, store, identity):
    """From the next request on; what is no truth value is refused."""
    house, made, load = house_of(api, firn, store, identity, **{"delegation-unasked": False})
    assert house["delegation-unasked"] is False
    nothing(made)
    nothing(load())
    given = load(**ASKS).ok()
    assert key_of(given)
    assert api.post(f"{ROOT}/open", {"delegation-unasked": True}).ok().json["delegation-unasked"] is True
    assert key_of(load())
    api.post(f"{ROOT}/open", {"delegation-unasked": False}).ok()
    nothing(load(If_None_Match=given.etag))
    for value in ("false", 0, [], {}):
        api.post(f"{ROOT}/open", {"delegation-unasked": value}).fails(400, contains="delegation-unasked")


@pytest.mark.parametrize("mode", [pytest.param("broken", marks=pytest.mark.long), "refuses"])
def test_a_load_that_did_not_ask_goes_without(api, firn, table, identity, mode):
    """Where one that asked fails; what is at hand is given, and keys come again when they can be had."""
    first = key_of(table.load())
    identity.mode = mode
    other = api.table(table.ns)
    plain = nothing(other.load())
    assert plain.etag == other.load(**DECLINES).etag
    nothing(other.load("?snapshots=refs"))
    other.load(**ASKS).expect(503 if mode == "broken" else 403)
    nothing(other.load(If_None_Match=plain.etag))
    nothing(api.create(table.ns, "late"))
    assert key_of(table.load()) == first
    identity.mode = "good"
    eventually(lambda: other.load(If_None_Match=plain.etag).ok().json.get("storage-credentials"), 30)


def test_nobody_waits_for_a_service_that_is_away(api, table, identity):
    """After a failure those who did not ask are answered without another try, for a while."""
    first = key_of(table.load())
    identity.mode = "broken"
    other = api.table(table.ns)

    def asks_nobody():
        other.load(**ASKS).expect(503)
        before = len(identity.requests)
        nothing(other.load())
        assert key_of(table.load()) == first
        return len(identity.requests) == before

    eventually(asks_nobody)


def test_who_declines_waits_for_nobody(api, table, identity):
    """While the token service stalls and loads that did not ask wait for it."""
    asked, identity.mode = len(identity.requests), "stalls"

    def work(i):
        if i:
            return api.create(table.ns, f"slow{i}").ok()
        eventually(lambda: len(identity.requests) > asked)
        begun = time.monotonic()
        for _ in range(20):
            nothing(table.load(**DECLINES))
        took = time.monotonic() - begun
        identity.mode = "good"
        return took

    took, *made = in_parallel(5, work)
    assert took < 30 * SLOWNESS and all(key_of(answer) for answer in made)
