"""Credentials for clients on a real store and token service: what they reach, what they do not, and who gets them."""

import json
import os
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from firn_client import Api, ns_path, set_properties, simple, table_path
from firn_server import S3Store, Server, seal

ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}
ROOT = "/management/v1/warehouses"
CLIENT_ENDPOINT = os.environ.get("FIRN_TEST_S3_CLIENT_ENDPOINT", "")


@pytest.fixture(scope="module")
def server():
    firn = Server(store=S3Store())
    firn.extra |= {
        "FIRN_S3_VEND_ROLE_ARN": os.environ["FIRN_TEST_ROLE_ARN"],
        "FIRN_S3_VEND_DURATION": "900",
        "FIRN_VEND_UNASKED": "false",  # of warehouses it is true
        "FIRN_STS_ENDPOINT": os.environ["FIRN_TEST_STS_ENDPOINT"],
        "FIRN_S3_CLIENT_ENDPOINT": CLIENT_ENDPOINT,
        "FIRN_SECRET_KEYS": seal(),
        "FIRN_WAREHOUSE_ENDPOINTS": " ".join({urllib.parse.urlsplit(url).netloc for url in (
            firn.store.endpoint, os.environ["FIRN_TEST_STS_ENDPOINT"], CLIENT_ENDPOINT) if url}),
        "FIRN_WAREHOUSE_IDENTITY": f"s3://{firn.store.bucket}",
        "FIRN_ALLOWED_LOCATIONS": firn.store.base + "-more",
        "FIRN_CACHE": "0",
    }
    given = []
    firn.given = given
    with firn:
        yield firn
        log = firn.log_text()
        assert given and firn.store.secret_key not in log
        for config in given:
            assert config["s3.secret-access-key"] not in log
            assert config.get("s3.session-token", "-no-such-") not in log
        assert "s3.session-token" not in log


@pytest.fixture
def api(server):
    client = Api(server)
    yield client
    client.close()
    assert server.running()


def credentials(server, answer):
    """The one set of credentials that an answer holds: prefix and config."""
    body = answer.ok().json
    found = body["storage-credentials"]
    assert len(found) == 1
    server.given.append(found[0]["config"])
    if "config" in body:
        assert body["config"] == found[0]["config"]
        assert answer.header("Cache-Control") == "no-store"
    return found[0]["prefix"], found[0]["config"]


def nothing(answer):
    body = answer.ok().json
    assert body["config"] == {} and not body.get("storage-credentials")


def client(config, service="s3", endpoint=None):
    """What anybody who has the credentials can do with them."""
    return boto3.client(
        service, endpoint_url=endpoint or config["s3.endpoint"], region_name=config["client.region"],
        aws_access_key_id=config["s3.access-key-id"], aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config.get("s3.session-token"),
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}))


def split(uri):
    bucket, _, key = uri.split("://", 1)[1].partition("/")
    return bucket, key


def denied(call, statuses=(401, 403), **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
    assert status in statuses, (arguments, caught.value)


# --- what they are ----------------------------------------------------------------------


def test_every_clients_keys(api, server, table):
    """Java, Go, Rust, PyIceberg, DuckDB and Trino each find theirs; all values are texts."""
    prefix, config = credentials(server, table.load(**ASKS))
    assert prefix == table.location + "/"
    assert all(isinstance(v, str) for v in config.values())
    for key in ("s3.access-key-id", "s3.secret-access-key", "s3.session-token"):
        assert config[key]
    assert int(config["s3.session-token-expires-at-ms"]) == int(config["expiration-time"])
    left = int(config["expiration-time"]) / 1000 - time.time()
    assert 400 < left <= 1000
    assert config["client.region"] == config["s3.region"] == api.store.region
    assert config["s3.endpoint"] == (CLIENT_ENDPOINT or api.store.endpoint)
    assert (config["s3.path-style-access"], config["s3.force-virtual-addressing"]) == ("true", "false")


def test_the_place_to_refresh(api, server):
    """A path that leads, appended to the catalog's address, to the same credentials, whatever the name is."""
    ns = ["a b%/+", "ü.x"]
    api.create_namespace(ns).expect(200, 409)
    table = api.table(ns, api.new_name("t/ %é+"))
    _, config = credentials(server, table.load(**ASKS))
    again = credentials(server, api.get("/" + config["client.refresh-credentials-endpoint"]))
    assert again == (table.location + "/", config)


def test_kept_until_half_their_life(api, server, table):
    """The token service is asked once for a table; another table gets others."""
    before = server.metric("firn_vend_requests_total")
    _, first = credentials(server, table.load(**ASKS))
    for _ in range(5):
        assert credentials(server, table.load(**ASKS))[1] == first
    assert server.metric("firn_vend_requests_total") == before + 1
    assert credentials(server, api.table(table.ns).load(**ASKS))[1]["s3.access-key-id"] != first["s3.access-key-id"]


# --- who gets them ----------------------------------------------------------------------


def test_only_who_asks(api, server, table):
    """Other ways, other words and no header: none."""
    nothing(table.load())
    for words in ("", "remote-signing", "client-managed", "vended-credentialsx", "x,,y"):
        nothing(table.load(X_Iceberg_Access_Delegation=words))
    for words in ("vended-credentials", "remote-signing, Vended-Credentials", " vended-credentials ,x"):
        credentials(server, table.load(X_Iceberg_Access_Delegation=words))


def test_create_staged_create_and_register(api, server, ns):
    """Each answers with credentials for the new table; views, commits, lists and HEAD with none."""
    name = api.new_name("t")
    made = api.request("POST", f"{ns_path(ns)}/tables", {"name": name, "schema": simple()},
                       {"X-Iceberg-Access-Delegation": "vended-credentials"})
    prefix, _ = credentials(server, made)
    assert prefix == made.json["metadata"]["location"] + "/"
    staged = api.request("POST", f"{ns_path(ns)}/tables", {"name": "s", "schema": simple(), "stage-create": True},
                         {"X-Iceberg-Access-Delegation": "vended-credentials"})
    prefix, config = credentials(server, staged)
    assert prefix == staged.json["metadata"]["location"] + "/" and staged.header("ETag") is None
    assert "client.refresh-credentials-endpoint" not in config  # Java would meet a 404 there
    bucket, key = split(prefix)
    client(config).put_object(Bucket=bucket, Key=key + "data/a", Body=b"a")
    api.drop(ns, name).expect(204)
    again = api.request("POST", f"{ns_path(ns)}/register", {
        "name": name, "metadata-location": made.json["metadata-location"]},
        {"X-Iceberg-Access-Delegation": "vended-credentials"})
    assert credentials(server, again)[0] == made.json["metadata"]["location"] + "/"
    view = api.create_view(ns, "v").ok()
    assert view.json["config"] == {}
    nothing(api.load_view(ns, "v", **ASKS))
    committed = api.request("POST", table_path(ns, name), {"requirements": [], "updates": [set_properties(a="b")]},
                            {"X-Iceberg-Access-Delegation": "vended-credentials"}).ok()
    assert set(committed.json) == {"metadata", "metadata-location"}


def test_a_create_that_is_sent_again(api, server, ns):
    """The kept answer comes with credentials of now."""
    headers = {"X-Iceberg-Access-Delegation": "vended-credentials", "Idempotency-Key": secrets.token_hex(16)}
    body = {"name": "t", "schema": simple()}
    first = credentials(server, api.request("POST", f"{ns_path(ns)}/tables", body, headers))
    assert credentials(server, api.request("POST", f"{ns_path(ns)}/tables", body, headers)) == first


def test_a_staged_create_in_a_named_place(api, server, ns):
    """Nobody has registered the place, so that it may become another's; where others lie already it is refused."""
    victim = api.table(ns)

    def staged(place):
        return api.request("POST", f"{ns_path(ns)}/tables", {
            "name": "s", "schema": simple(), "stage-create": True, "location": place},
            {"X-Iceberg-Access-Delegation": "vended-credentials"})

    nothing(staged(api.store.base + "/future"))
    for place in (victim.location, victim.location.rpartition("/")[0]):
        staged(place).fails(409, "AlreadyExistsException")


def test_the_registered_location_decides(api, server, ns):
    """Whoever can write a table's metadata file gets nothing of another table by what he writes there."""
    victim, thief = api.table(ns), api.table(ns)
    mine = thief.location
    document = json.loads(api.store.read(thief.metadata_location))
    document["location"] = victim.location
    api.store.write(thief.metadata_location, json.dumps(document).encode())
    answer = thief.load(**ASKS)
    assert answer.json["metadata"]["location"] == victim.location
    assert credentials(server, answer)[0] == mine + "/"
    prefix, config = credentials(server, api.get(thief.path + "/credentials"))
    assert prefix == mine + "/"
    bucket, key = split(victim.metadata_location)
    denied(client(config).get_object, Bucket=bucket, Key=key)


def test_credentials_alone(api, server, table):
    """GET …/credentials: what a load gives, without a header; planId and referenced-by are taken."""
    loaded = credentials(server, table.load(**ASKS))
    answer = api.get(table.path + "/credentials?planId=p&referenced-by=v")
    assert credentials(server, answer) == loaded
    assert set(answer.json) == {"storage-credentials"} and answer.header("Cache-Control") == "no-store"
    api.get(table_path(table.ns, "nope") + "/credentials").fails(404, "NoSuchTableException")
    api.create_view(table.ns, "v").ok()
    api.get(table_path(table.ns, "v") + "/credentials").fails(404, "NoSuchTableException")


def test_config_tells_clients_to_ask(api):
    """Java sends the header when /v1/config says so."""
    config = api.get("/v1/config").ok().json
    assert config["defaults"] == {"header.X-Iceberg-Access-Delegation": "vended-credentials"}
    assert "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials" in config["endpoints"]


def test_names_that_no_policy_can_say(api, server, ns):
    """Signs of the policy language in a location: the table is served, its credentials are refused with the reason."""
    for sign in "*$":
        table = api.table(ns, location=f"{api.store.base}/odd-{secrets.token_hex(3)}/a{sign}b")
        nothing(table.load(**ASKS))
        api.get(table.path + "/credentials").fails(400, "IllegalArgumentException", contains="No credentials can be")


# --- entity tags ------------------------------------------------------------------------


def test_304_never_keeps_dead_credentials(api, server, table):
    """A tag speaks for the credentials that it came with; nobody can make one up, and a tag of an answer without any
    never does."""
    vended = table.load(**ASKS).ok()
    credentials(server, vended)
    plain = table.load().ok()
    assert vended.etag != plain.etag
    assert table.load(If_None_Match=vended.etag, **ASKS).expect(304).etag == vended.etag
    assert table.load(If_None_Match=plain.etag).expect(304).etag == plain.etag
    table.load(If_None_Match=f'"x", {vended.etag.removeprefix("W/")}', **ASKS).expect(304)
    credentials(server, table.load(If_None_Match=plain.etag, **ASKS))
    nothing(table.load(If_None_Match=vended.etag))
    credentials(server, table.load(If_None_Match="*", **ASKS))
    credentials(server, table.load("?snapshots=refs", If_None_Match=vended.etag, **ASKS))
    head, _, told = vended.etag.rstrip('"').partition(".w")
    for other in ("0", "-1", "9999999999999", "0" * len(told), told[:-1], told + "0", told.upper() + "x", "", "x", "*"):
        credentials(server, table.load(If_None_Match=f'{head}.w{other}"', **ASKS))
    for kind in "rs":
        credentials(server, table.load(If_None_Match=f'{head}.{kind}{told}"', **ASKS))
    table.apply(set_properties(a="b"))
    credentials(server, table.load(If_None_Match=vended.etag, **ASKS))


# --- a thief ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loot(server):
    """Credentials of one table, with neighbours of every kind."""
    api = Api(server)
    ns, other = api.new_namespace(), api.new_namespace()
    place = f"{api.store.base}/loot"
    t1 = api.table(ns, "t1", location=f"{place}/t1")
    t10 = api.table(ns, "t10", location=f"{place}/t10")
    far = api.table(other, "far")
    prefix, config = credentials(server, t1.load(**ASKS))
    assert prefix == f"{place}/t1/"
    api.store.write(f"{place}/t1", b"an object named like the folder")
    yield {"s3": client(config), "config": config, "place": place, "t1": t1, "t10": t10, "far": far}
    api.close()


def test_inside_everything_works(loot):
    """Put, get, head, list, multipart, copy, delete, delete of many."""
    s3 = loot["s3"]
    bucket, key = split(loot["place"] + "/t1")
    s3.put_object(Bucket=bucket, Key=key + "/data/a", Body=b"a")
    s3.put_object(Bucket=bucket, Key=key + "/data/k=é %/b+c", Body=b"b")
    assert s3.get_object(Bucket=bucket, Key=key + "/data/a")["Body"].read() == b"a"
    s3.head_object(Bucket=bucket, Key=key + "/data/k=é %/b+c")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=key + "/data/")["Contents"]
    assert len(listed) == 2
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key + "/data/m")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key=key + "/data/m", UploadId=upload, PartNumber=1, Body=b"m" * 5)
    s3.complete_multipart_upload(Bucket=bucket, Key=key + "/data/m", UploadId=upload, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    s3.copy_object(Bucket=bucket, Key=key + "/data/n", CopySource={"Bucket": bucket, "Key": key + "/data/m"})
    s3.delete_object(Bucket=bucket, Key=key + "/data/n")
    both = {"Objects": [{"Key": key + "/data/a"}, {"Key": key + "/data/m"}]}
    if CLIENT_ENDPOINT:  # Ceph RGW 16 refuses this one to every session with a policy
        denied(s3.delete_objects, Bucket=bucket, Delete=both)
    else:
        assert len(s3.delete_objects(Bucket=bucket, Delete=both)["Deleted"]) == 2


@pytest.mark.parametrize("what", ["t10", "far", "root", "named-like-it"])
def test_outside_nothing_is_read_or_written(server, loot, what):
    """A sibling whose name begins alike, another table, the base, an object that bears the folder's name."""
    s3 = loot["s3"]
    victims = {"t10": loot["t10"].metadata_location, "far": loot["far"].metadata_location,
               "root": f"{server.store.base}/x", "named-like-it": loot["place"] + "/t1"}
    if what == "root":
        server.store.write(victims[what], b"x")
    bucket, key = split(victims[what])
    inside = split(loot["place"] + "/t1")[1]
    before = server.store.read(victims[what])
    denied(s3.get_object, Bucket=bucket, Key=key)
    denied(s3.head_object, Bucket=bucket, Key=key)
    denied(s3.put_object, Bucket=bucket, Key=key, Body=b"stolen")
    denied(s3.put_object, Bucket=bucket, Key=key + "-new", Body=b"stolen")
    denied(s3.delete_object, Bucket=bucket, Key=key)
    denied(s3.copy_object, Bucket=bucket, Key=inside + "/loot", CopySource={"Bucket": bucket, "Key": key})
    denied(s3.copy_object, Bucket=bucket, Key=key, CopySource={"Bucket": bucket, "Key": inside + "/data/k=é %/b+c"})
    denied(s3.create_multipart_upload, Bucket=bucket, Key=key)
    assert server.store.read(victims[what]) == before


def test_outside_nothing_is_listed(server, loot):
    """The bucket, the base, the folder above, the sibling, the folder's name without its slash."""
    bucket, key = split(loot["place"])
    for prefix in ("", split(server.store.base)[1] + "/", key + "/", key + "/t10/", key + "/t10", key + "/t",
                   split(loot["far"].location)[1] + "/"):
        denied(loot["s3"].list_objects_v2, Bucket=bucket, Prefix=prefix)
        denied(loot["s3"].list_objects, Bucket=bucket, Prefix=prefix)


def test_a_delete_of_many_takes_its_own_only(server, loot):
    """One foreign key among the table's own stays."""
    bucket, key = split(loot["t10"].metadata_location)
    try:
        done = loot["s3"].delete_objects(Bucket=bucket, Delete={"Objects": [
            {"Key": split(loot["place"])[1] + "/t1/gone"}, {"Key": key}]})
        assert [e["Key"] for e in done["Errors"]] == [key]
    except ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert server.store.exists(loot["t10"].metadata_location)


def test_a_signed_url_for_outside(loot):
    """Signing needs no permission; using it does."""
    bucket, key = split(loot["t10"].metadata_location)
    url = loot["s3"].generate_presigned_url("get_object", {"Bucket": bucket, "Key": key})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url)
    assert caught.value.code == 403


def test_buckets_are_out_of_reach(loot):
    """Neither made nor changed nor asked about their rules."""
    bucket = split(loot["place"])[0]
    denied(loot["s3"].create_bucket, Bucket="stolen-" + secrets.token_hex(4))
    denied(loot["s3"].put_bucket_policy, Bucket=bucket, Policy="{}")
    denied(loot["s3"].delete_bucket, Bucket=bucket)


def test_no_further_credentials(loot):
    """The role cannot be assumed with what came from it."""
    endpoint = loot["config"]["s3.endpoint"]
    with pytest.raises(ClientError) as caught:
        client(loot["config"], "sts", endpoint).assume_role(
            RoleArn=os.environ["FIRN_TEST_ROLE_ARN"], RoleSessionName="again")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 403, 405)


def test_without_or_with_another_token(loot):
    """The keys alone are worth nothing, nor are they with a token that was changed."""
    bucket, key = split(loot["t1"].metadata_location)
    token = loot["config"]["s3.session-token"]
    for changed in (None, token[:-4] + "AAAA", token + "x"):
        thief = client(loot["config"] | {"s3.session-token": changed})
        denied(thief.get_object, (400, 403), Bucket=bucket, Key=key)


# --- warehouses -------------------------------------------------------------------------


def described(api, **storage):
    name = f"v{secrets.token_hex(4)}"
    store = api.store
    return {"name": name, "base-location": f"{store.base}-{name}", "delegation": ["vended-credentials"],
            "storage": {"type": "s3", "endpoint": store.endpoint, "region": store.region, "path-style": True,
                        "sts-endpoint": os.environ["FIRN_TEST_STS_ENDPOINT"],
                        "vend-role-arn": os.environ["FIRN_TEST_ROLE_ARN"], "vend-duration": 900,
                        "client-endpoint": CLIENT_ENDPOINT or store.endpoint} | storage,
            "credentials": {"type": "static", "access-key-id": store.access_key,
                            "secret-access-key": store.secret_key}}


def table_in(api, house, **body):
    path = f"/v1/{house['id']}/namespaces"
    api.post(path, {"namespace": ["a"]}).expect(200, 409)
    name = api.new_name("t")
    return f"{path}/a/tables/{name}", api.post(f"{path}/a/tables", {"name": name, "schema": simple()} | body).ok().json


def test_a_warehouse_that_vends(api, server):
    """Made by curl, proved by the server, used with nothing else."""
    house = api.post(ROOT, described(api)).ok().json
    assert house["delegation"] == ["vended-credentials"]
    assert api.post(f"{ROOT}/{house['name']}/check").ok().json == {"ok": True}
    path, made = table_in(api, house)
    prefix, config = credentials(server, api.get(path, **ASKS))
    assert prefix == made["metadata"]["location"] + "/"
    assert config["client.refresh-credentials-endpoint"] == path[1:] + "/credentials"
    bucket, key = split(prefix)
    client(config).put_object(Bucket=bucket, Key=key + "data/x", Body=b"x")
    denied(client(config).list_objects_v2, Bucket=bucket, Prefix="")
    assert api.store.list(house["base-location"] + "/.firn-probe") == []
    # to those who name no way as well, until it says no
    assert credentials(server, api.get(path)) == (prefix, config)
    nothing(api.get(path, X_Iceberg_Access_Delegation="client-managed"))
    assert api.post(f"{ROOT}/{house['name']}", {"delegation-unasked": False}).ok().json["delegation-unasked"] is False
    nothing(api.get(path))
    credentials(server, api.get(path, **ASKS))
    # nothing is handed out any more from the next request on
    api.post(f"{ROOT}/{house['name']}", {"delegation": [], "delegation-unasked": True}).ok()
    nothing(api.get(path, **ASKS))
    nothing(api.get(path))
    assert api.get(path + "/credentials").ok().json == {"storage-credentials": []}
    assert "header.X-Iceberg-Access-Delegation" not in api.get(
        f"/v1/config?warehouse={house['name']}").ok().json["defaults"]


def test_by_the_servers_own_keys(api, server):
    """The role is assumed by the external id that the server made, whether its trust policy asks for one or not."""
    house = api.post(ROOT, described(api) | {"credentials": {"type": "server"}}).ok().json
    assert len(house["storage"]["external-id"]) == 36
    path, made = table_in(api, house)
    assert credentials(server, api.get(path, **ASKS))[0] == made["metadata"]["location"] + "/"


def test_a_location_that_is_no_longer_the_warehouses(api, server):
    """Every vend looks at the locations that are allowed now."""
    more = f"{api.store.base}-m{secrets.token_hex(4)}"
    house = api.post(ROOT, described(api) | {"allowed-locations": [more]}).ok().json
    path, _ = table_in(api, house, location=more + "/t")
    assert credentials(server, api.get(path, **ASKS))[0] == more + "/t/"
    api.post(f"{ROOT}/{house['name']}", {"allowed-locations": [house["base-location"] + "/in"]}).ok()
    api.get(path + "/credentials").fails(400, contains="not allowed")


def refusals(api):
    good = described(api)
    yield good | {"delegation": ["something"]}
    yield good | {"delegation": "vended-credentials"}
    for storage in ({"vend-role-arn": ""}, {"vend-duration": 899}, {"vend-duration": 43201}, {"vend-duration": "900"},
                    {"client-endpoint": "nonsense"}, {"vend-role-arn": good["storage"]["vend-role-arn"] + "-none"},
                    {"vend-role-arn": "", "vend-static": True, "role-arn": "arn:aws:iam::1:role/x"}):
        yield good | {"storage": good["storage"] | storage}
    yield good | {"storage": good["storage"] | {"vend-role-arn": "", "vend-static": True},
                  "credentials": {"type": "server"}}


def test_warehouses_that_cannot_vend(api):
    """A clear refusal; nothing is made."""
    for body in refusals(api):
        api.post(ROOT, body).fails(400)
        api.get(f"{ROOT}/{body['name']}").fails(404)


def test_a_role_that_anybody_may_assume(api):
    """Whoever has a session of it gets the whole role: refused with the reason, at change and check too."""
    # Ceph RGW 16 lets every session assume its role again; there only an endpoint without token service helps
    open_to_all = {"vend-role-arn": os.environ["FIRN_TEST_OPEN_ROLE_ARN"], "client-endpoint": api.store.endpoint}
    api.post(ROOT, described(api, **open_to_all)).fails(400, contains="trust policy")
    house = api.post(ROOT, described(api)).ok().json
    api.post(f"{ROOT}/{house['name']}", {"storage": house["storage"] | open_to_all}).fails(
        400, contains="trust policy")
    assert api.get(f"{ROOT}/{house['name']}").ok().json["storage"] == house["storage"]


def test_static_keys_only_when_asked_for(api, server):
    """Without the word nothing is given, even where the warehouse has static keys."""
    body = described(api, **{"vend-static": True})
    del body["storage"]["vend-role-arn"]
    house = api.post(ROOT, body).ok().json
    told = house["warning"], api.post(f"{ROOT}/{house['name']}/check").ok().json["warning"]
    assert all("vend-static" in words for words in told)
    path, _ = table_in(api, house)
    _, config = credentials(server, api.get(path, **ASKS))
    assert f"{body['base-location']}: {told[0]}" in server.log_text()
    assert config["s3.access-key-id"] == api.store.access_key
    assert config["s3.secret-access-key"] == api.store.secret_key
    assert not {"s3.session-token", "expiration-time", "client.refresh-credentials-endpoint"} & set(config)
    plain = described(api) | {"delegation": []}
    plain["storage"] |= {"vend-static": True}
    house = api.post(ROOT, plain).ok().json
    assert "warning" not in house
    path, _ = table_in(api, house)
    nothing(api.get(path, **ASKS))
