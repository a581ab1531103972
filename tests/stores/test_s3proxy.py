"""S3Proxy, a clone for which a condition of a write is a header like any other: the trial of a warehouse finds it, says
so, and lets it pass only by its name; nothing is lost on it either."""

import json

import pytest

import services
from firn_client import Api, in_parallel, set_properties, simple
from firn_server import S3Store, Server, seal, temporary_folder

ROOT = "/management/v1/warehouses"


@pytest.fixture(scope="module", params=["ignore", "strict"])
def firn(request):
    folder = temporary_folder()
    with services.S3Proxy(temporary_folder(), mode=request.param) as proxy, pytest.MonkeyPatch.context() as patch:
        for name, value in proxy.environment().items():
            patch.setenv(name, value)
        store = S3Store()
        with Server(folder=folder, store=store, env={
                "FIRN_SECRET_KEYS": seal(),
                "FIRN_WAREHOUSE_ENDPOINTS": store.endpoint}) as one:
            yield one
        assert not any(secret in one.log_text() for secret in proxy.secrets())


@pytest.fixture
def api(firn):
    client = Api(firn)
    yield client
    client.close()


def described(store, name):
    return {"name": name, "base-location": f"{store.base}-{name}",
            "storage": {"type": "s3", "endpoint": store.endpoint, "region": store.region, "path-style": True},
            "credentials": {"type": "static", "access-key-id": store.access_key, "secret-access-key": store.secret_key}}


def test_refused_with_the_reason(firn, api):
    """By the API and from the shell; `firn check` of the default warehouse finds the same."""
    body = described(firn.store, "refused")
    for more in ({}, {"allow": ["list-denied"]}):
        api.post(ROOT, body | more).fails(400, "IllegalArgumentException", contains="does not honour If-None-Match")
    api.get(f"{ROOT}/refused").fails(404)
    firn.stop()
    done = firn.run("warehouse", "create", text=json.dumps(body))
    assert done.returncode == 1 and "does not honour If-None-Match" in done.stderr and "(condition-ignored, " in done.stderr
    done = firn.run("check")
    assert done.returncode == 1 and "(condition-ignored, " in done.stdout
    firn.start()
    assert not [uri for uri in firn.store.list() if ".firn-probe" in uri]


def test_allowed_by_name(firn, api):
    """Made, told of, and good for tables: no commit is lost, whoever races."""
    house = api.post(ROOT, described(firn.store, "allowed") | {"allow": ["condition-ignored"]}).ok().json
    assert house["allow"] == ["condition-ignored"] and "condition-ignored, which is allowed" in house["warning"]
    assert "condition-ignored" in api.post(f"{ROOT}/allowed/check").ok().json["warning"]
    firn.wait_log("level=warn event=finding .*condition-ignored is allowed")
    prefix = f"/v1/{house['id']}/namespaces"
    api.post(prefix, {"namespace": ["a"]}).ok()
    api.post(f"{prefix}/a/tables", {"name": "t", "schema": simple()}).ok()
    firn.wait_log("level=warn event=finding .*is used even though its trial may find condition-ignored")

    def one(i):
        client, done = Api(firn), []
        for n in range(5):
            body = {"requirements": [], "updates": [set_properties(**{f"w{i}.{n}": "x"})]}
            if client.post(f"{prefix}/a/tables/t", body).expect(200, 409, 429).status == 200:
                done.append(f"w{i}.{n}")
        client.close()
        return done

    done = [name for names in in_parallel(4, one) for name in names]
    found = api.get(f"{prefix}/a/tables/t").ok().json["metadata"]
    assert done and {name for name in found["properties"] if name[0] == "w" and "." in name and name[1].isdigit()} == set(done)
    assert len(found["metadata-log"]) == len(done)
