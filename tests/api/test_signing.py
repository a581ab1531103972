"""Requests that the catalog signs: what a real store makes of them, what botocore thinks of the signature, and every
way to another table that a thief could try."""

import base64
import hashlib
import json
import os
import secrets
import urllib.error
import urllib.parse
import urllib.request
import zlib

import boto3
import pytest
from botocore import UNSIGNED
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from firn_client import Api, create_updates, in_parallel, ns_path, set_properties, simple, table_path
from firn_server import S3Store, Server, seal, vending

ASKS = {"X_Iceberg_Access_Delegation": "remote-signing"}
ROOT = "/management/v1/warehouses"
# Ceph RGW takes headers that were not signed, so that only keys of a role may sign there, and clients need an address
# without a token service.
CLIENT_ENDPOINT = os.environ.get("FIRN_TEST_S3_CLIENT_ENDPOINT", "")
VHOST_ENDPOINT = os.environ.get("FIRN_TEST_S3_VHOST_ENDPOINT", "")


def hosts(store):
    """Where warehouses may have their stores; one that no client of ours can reach."""
    port = urllib.parse.urlsplit(store.endpoint).port
    named = (os.environ["FIRN_TEST_STS_ENDPOINT"], CLIENT_ENDPOINT, VHOST_ENDPOINT, f"http://localhost:{port}",
             "http://store.example", store.endpoint)
    return " ".join({urllib.parse.urlsplit(url).netloc for url in named if url})


def settings(store):
    return (vending() if CLIENT_ENDPOINT else {}) | {
            "FIRN_S3_REMOTE_SIGNING": "only" if CLIENT_ENDPOINT else "true", "FIRN_WAREHOUSE_ENDPOINTS": hosts(store),
            "FIRN_SECRET_KEYS": seal(),
            "FIRN_ALLOWED_LOCATIONS": store.base + "-more"}


@pytest.fixture(scope="module")
def server():
    firn = Server(store=S3Store())
    firn.extra |= settings(firn.store)
    with firn:
        yield firn
        assert firn.store.secret_key not in firn.log_text()


@pytest.fixture
def api(server):
    client = Api(server)
    yield client
    client.close()
    assert server.running()


def split(uri):
    bucket, _, key = uri.split("://", 1)[1].partition("/")
    return bucket, key


class Signer:
    """A client of one table that has no keys, and asks the catalog to sign what it wants to do."""

    def __init__(self, api, table, path=None, config=None):
        self.api, self.path = api, path or table.path + "/sign"
        self.config = config or table.load(**ASKS).ok().json["config"]
        self.bucket, self.key = split(table.location if table else config["location"])
        self.endpoint = self.config["s3.endpoint"]

    def uri(self, key, query=""):
        return f"{self.endpoint}/{self.bucket}" + (f"/{urllib.parse.quote(key)}" if key else "") + query

    def inside(self, name, query=""):
        return self.uri(f"{self.key}/{name}", query)

    def listing(self, prefix, more=""):
        return self.uri("", f"?list-type=2&prefix={urllib.parse.quote(prefix, safe='')}{more}")

    def ask(self, method, uri, headers=None, body=None, **more):
        asked = {"method": method, "uri": uri, "region": self.config["client.region"],
                 "headers": {k: [v] for k, v in (headers or {}).items()}, "provider": "s3"} | more
        if body is not None:
            asked["body"] = body
        return self.api.post(self.path, asked)

    def refused(self, method, uri, status=403, **more):
        kind = {403: "ForbiddenException", 400: "BadRequestException", 404: "NoSuchTableException"}[status]
        answer = self.ask(method, uri, **more)
        answer.fails(status, kind)
        return answer

    def send(self, method, uri, headers=None, body=None, data=None, **more):
        """Signs and sends: status and body of the store's answer."""
        signed = self.ask(method, uri, headers, body, **more).ok().json
        return deliver(method, signed["uri"], {k: ",".join(v) for k, v in signed["headers"].items()},
                       body.encode() if body is not None else data)


def deliver(method, uri, headers, data=None):
    request = urllib.request.Request(uri, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def deletes(*keys, more=""):
    objects = "".join(f"<Object><Key>{k.replace('&', '&amp;').replace('<', '&lt;')}</Key>{more}</Object>" for k in keys)
    return f'<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{objects}</Delete>'


def md5(body):
    return {"Content-MD5": base64.b64encode(hashlib.md5(body.encode()).digest()).decode()}


# --- what clients are told --------------------------------------------------------------


def test_every_clients_keys(api, table):
    """Java of every age and PyIceberg each find theirs; no host is named, and no secret."""
    answer = table.load(**ASKS).ok()
    path = f"{table.path[1:]}/sign"
    assert answer.json["config"] == {
        "s3.remote-signing-enabled": "true", "signer.endpoint": path, "s3.signer.endpoint": path,
        "s3.signer": "S3V4RestSigner", "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
        "s3.endpoint": CLIENT_ENDPOINT or api.store.endpoint, "s3.region": api.store.region, "client.region": api.store.region,
        "s3.path-style-access": "true", "s3.force-virtual-addressing": "false"}
    assert "storage-credentials" not in answer.json


def test_only_who_asks(api, table):
    """In any place of a list and any case; nobody else."""
    assert table.load().ok().json["config"] == {}
    for words in ("", "vended-credentials", "client-managed", "remote-signin", "x,,y"):
        assert table.load(X_Iceberg_Access_Delegation=words).ok().json["config"] == {}
    for words in ("vended-credentials,remote-signing", " Remote-Signing ", "x, remote-signing"):
        assert table.load(X_Iceberg_Access_Delegation=words).ok().json["config"]["signer.endpoint"]
    assert api.get(table.path + "/credentials").ok().json == {"storage-credentials": []}


def test_config_lists_it_and_tells_clients_to_ask(api):
    config = api.get("/v1/config").ok().json
    assert config["defaults"] == {"header.X-Iceberg-Access-Delegation": "remote-signing"}
    assert "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign" in config["endpoints"]


def test_names_of_every_kind(api):
    """The path that is told leads to the signer, whatever the namespace and the table are called."""
    ns = ["a b%/+", "ü.x"]
    api.create_namespace(ns).expect(200, 409)
    table = api.table(ns, api.new_name("t/ %é+"))
    config = table.load(**ASKS).ok().json["config"]
    signer = Signer(api, table, "/" + config["signer.endpoint"], config)
    assert signer.send("PUT", signer.inside("data/a"), data=b"a")[0] == 200


def test_create_and_register(api, ns):
    name, headers = api.new_name("t"), {"X-Iceberg-Access-Delegation": "remote-signing"}
    made = api.request("POST", f"{ns_path(ns)}/tables", {"name": name, "schema": simple()}, headers).ok().json
    assert made["config"]["signer.endpoint"].endswith(f"/{name}/sign")
    api.drop(ns, name).expect(204)
    again = api.request("POST", f"{ns_path(ns)}/register", {
        "name": name, "metadata-location": made["metadata-location"]}, headers).ok().json
    assert again["config"] == made["config"]


def test_entity_tags(api, table):
    """A tag of one way is no tag of another; the same way is not modified."""
    signed, plain = table.load(**ASKS).ok(), table.load().ok()
    assert signed.etag != plain.etag
    assert table.load(If_None_Match=signed.etag, **ASKS).expect(304).etag == signed.etag
    assert table.load(If_None_Match=plain.etag, **ASKS).ok().json["config"]
    assert table.load(If_None_Match=signed.etag).ok().json["config"] == {}
    table.apply(set_properties(a="b"))
    assert table.load(If_None_Match=signed.etag, **ASKS).ok().json["config"]


# --- staged creates ---------------------------------------------------------------------


def staged(api, ns, name, **more):
    return api.request("POST", f"{ns_path(ns)}/tables", {
        "name": name, "schema": simple(), "stage-create": True} | more,
        {"X-Iceberg-Access-Delegation": "remote-signing"}).ok().json


def test_a_staged_create_is_signed_for_until_it_is_there(api, ns):
    """Spark writes the files of a CTAS before the table exists."""
    made = staged(api, ns, "t")
    location, uuid = made["metadata"]["location"], made["metadata"]["table-uuid"]
    path = "/" + made["config"]["signer.endpoint"]
    assert path.endswith(f"/sign?staged={uuid}")
    signer = Signer(api, None, path, made["config"] | {"location": location})
    assert signer.send("PUT", signer.inside("data/a"), data=b"a")[0] == 200
    assert signer.send("GET", signer.inside("data/a")) == (200, b"a")
    signer.refused("GET", signer.uri(signer.key + "x/data/a"))
    # nobody but who knows the uuid; never where something lies
    Signer(api, None, path.partition("?")[0], signer.config | {"location": location}).refused(
        "GET", signer.inside("data/a"), 404)
    neighbour = api.table(ns)
    taken = Signer(api, None, f"{table_path(ns, 'u')}/sign?staged={neighbour.metadata['table-uuid']}",
                   signer.config | {"location": neighbour.location})
    taken.refused("GET", taken.inside("data/a"), 404)
    api.request("POST", f"{ns_path(ns)}/tables", {"name": "other", "schema": simple(), "location": location}).ok()
    signer.refused("GET", signer.inside("data/a"), 404)
    api.drop(ns, "other").expect(204)
    # the table of that name, once it is there, decides
    mine = api.table(ns, "t")
    signer.refused("GET", signer.inside("data/a"))
    signer.bucket, signer.key = split(mine.location)
    assert signer.send("GET", signer.inside("data/a"))[0] == 404
    api.post(path.partition("?")[0] + "?staged=x", {}).fails(400, "BadRequestException")


def as_if_staged(api, table, name=None):
    """What a table's uuid, and the name that it was created under, get one who says that it is staged."""
    path = f"{table_path(table.ns, name or table.name)}/sign?staged={table.metadata['table-uuid']}"
    place = {"s3.endpoint": api.store.endpoint, "client.region": api.store.region}
    return Signer(api, table, path, place)


def gone(signer):
    for method in ("GET", "PUT", "DELETE"):
        signer.refused(method, signer.inside("data/a"), 404)


@pytest.mark.parametrize("properties", [{}, {"write.metadata.compression-codec": "gzip"}, {"write.metadata.path": "{}/m/x"}])
def test_a_table_that_was_dropped_is_not_staged(api, ns, properties):
    """Its files lie there still, and its uuid is known to all who have read it."""
    name = api.new_name("t")
    made = staged(api, ns, name)
    location = made["metadata"]["location"]
    updates = create_updates(made["metadata"])
    if properties:
        updates.append(set_properties(**{k: v.format(location) for k, v in properties.items()}))
    signer = Signer(api, None, "/" + made["config"]["signer.endpoint"], made["config"] | {"location": location})
    assert signer.send("PUT", signer.inside("data/a"), data=b"a")[0] == 200
    assert signer.send("PUT", signer.inside("metadata/m0.avro"), data=b"a")[0] == 200
    api.commit(ns, name, updates, [{"type": "assert-create"}]).ok()
    assert signer.send("GET", signer.inside("data/a")) == (200, b"a")
    api.drop(ns, name).expect(204)
    gone(signer)


def test_a_table_that_left_its_name_is_not_staged(api, ns):
    """Renamed, renamed and dropped, unregistered, and while its files are purged."""
    table = api.table(ns)
    signer = as_if_staged(api, table)
    api.rename((ns, table.name), (ns, "elsewhere")).expect(204)
    gone(signer)
    api.drop(ns, "elsewhere").expect(204)
    gone(signer)
    table = api.table(ns)
    signer = as_if_staged(api, table)
    api.drop(ns, table.name, "?purgeRequested=true").expect(204)
    answers = [signer.ask("GET", signer.inside("data/a")) for _ in range(5)]
    # while its metadata is there, or its row: then nothing is left that could be read
    assert all(a.status == 404 or not api.store.list(table.location) for a in answers), answers


def test_a_staged_create_in_a_named_place_is_not(api, ns):
    assert staged(api, ns, "s", location=api.store.base + "/future")["config"] == {}


# --- warehouses ------------------------------------------------------------------------


def described(api, **more):
    name = f"v{secrets.token_hex(4)}"
    store = api.store
    storage = {"type": "s3", "endpoint": store.endpoint, "region": store.region, "path-style": True}
    storage |= vends() if CLIENT_ENDPOINT else {}
    return {"name": name, "base-location": f"{store.base}-{name}", "delegation": ["remote-signing"],
            "storage": storage | more.pop("storage", {}),
            "credentials": {"type": "static", "access-key-id": store.access_key,
                            "secret-access-key": store.secret_key}} | more


def vends():
    return {"sts-endpoint": os.environ["FIRN_TEST_STS_ENDPOINT"], "vend-role-arn": os.environ["FIRN_TEST_ROLE_ARN"],
            "vend-duration": 900}


def for_clients():
    return vends() | ({"client-endpoint": CLIENT_ENDPOINT} if CLIENT_ENDPOINT else {})


def table_in(api, house):
    path = f"/v1/{house['id']}/namespaces"
    api.post(path, {"namespace": ["a"]}).expect(200, 409)
    made = api.post(f"{path}/a/tables", {"name": api.new_name("t"), "schema": simple()}).ok().json
    name = made["metadata-location"].split("/")[-3].rsplit("-", 5)[0]
    return f"{path}/a/tables/{name}", made["metadata"]["location"]


# --- inside -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def field(server):
    """A table and neighbours of every kind."""
    api = Api(server)
    ns, other = api.new_namespace(), api.new_namespace()
    place = f"{server.store.base}/field"
    t1 = api.table(ns, "t1", location=f"{place}/t1")
    t10 = api.table(ns, "t10", location=f"{place}/t10")
    far = api.table(other, "far")
    secret = f"{place}/t10/data/secret"
    server.store.write(secret, b"secret")
    signer = Signer(api, t1)
    signer.t1, signer.t10, signer.far, signer.secret = t1, t10, far, secret
    yield signer
    api.close()


@pytest.fixture(scope="module")
def lister(server):
    """A table in a warehouse that can limit keys to it."""
    api = Api(server)
    house = api.post(ROOT, described(api, storage=vends())).ok().json
    path, location = table_in(api, house)
    yield Signer(api, None, path + "/sign", api.get(path, **ASKS).ok().json["config"] | {"location": location})
    api.close()


def test_objects(field):
    """Put, get, parts of it, head, delete; names of every kind."""
    for name in ("a", "k=é %/b+c", "p=a%2Fb/x", "~-._!*'();:@&=$,[]", "%41", "a ? b#c", "日本/ü", "a..b/...c"):
        uri = field.inside("data/" + name)
        assert field.ask("GET", uri).ok().json["uri"] == uri
        assert field.send("PUT", uri, {"Content-Type": "text/plain"}, data=name.encode())[0] == 200
        assert field.api.store.read(f"s3://{field.bucket}/{field.key}/data/{name}") == name.encode()
        assert field.send("GET", uri) == (200, name.encode())
        assert field.send("GET", uri, {"Range": "bytes=0-0"}) == (206, name.encode()[:1])
        assert field.send("HEAD", uri)[0] == 200
        assert field.send("DELETE", uri)[0] == 204
        assert field.send("GET", uri)[0] == 404


def test_listing(field):
    for name in ("l/a", "l/b+c", "l/d e"):
        field.send("PUT", field.inside(name), data=b"x")
    listed = field.send("GET", field.listing(field.key + "/l/"))
    assert listed[0] == 200 and listed[1].count(b"<Key>") == 3
    assert field.send("GET", field.listing(field.key + "/l/b+"))[1].count(b"<Key>") == 1
    assert field.send("GET", field.listing(field.key + "/l/d "))[1].count(b"<Key>") == 1
    page = field.send("GET", field.listing(field.key + "/", "&max-keys=1&delimiter=%2F&encoding-type=url&fetch-owner=true"
                                           f"&start-after={urllib.parse.quote(field.key, safe='')}%2Fa"))
    assert page[0] == 200


def test_multipart(field):
    uri = field.inside("data/m")
    text = field.send("POST", uri + "?uploads")[1].decode()
    upload = text.partition("<UploadId>")[2].partition("</UploadId>")[0]
    request = field.ask("PUT", f"{uri}?partNumber=1&uploadId={upload}").ok().json
    with urllib.request.urlopen(urllib.request.Request(
            request["uri"], b"m" * 5, {k: v[0] for k, v in request["headers"].items()}, method="PUT")) as answer:
        etag = answer.headers["ETag"]
    done = f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    assert field.send("POST", f"{uri}?uploadId={upload}", data=done.encode())[0] == 200
    assert field.send("GET", uri) == (200, b"m" * 5)
    text = field.send("POST", uri + "?uploads=&x-id=CreateMultipartUpload")[1].decode()
    upload = text.partition("<UploadId>")[2].partition("</UploadId>")[0]
    assert field.send("DELETE", f"{uri}?uploadId={upload}")[0] == 204


def test_deleting_many(lister):
    keys = [f"{lister.key}/many/{i}&<é" for i in range(3)]
    for key in keys:
        lister.send("PUT", lister.uri(key), data=b"x")
    body = deletes(*keys)
    for query in ("?delete", "?delete="):
        status, answer = lister.send("POST", lister.uri("", query), md5(body), body)
        assert status == 200 and b"<Error>" not in answer
    assert lister.api.store.list(f"s3://{lister.bucket}/{lister.key}/many") == []
    # as many as there may be: more than fits into an event loop's share
    body = deletes(*(f"{lister.key}/many/{i:0200}" for i in range(1000)))
    status, answer = lister.send("POST", lister.uri("", "?delete"), md5(body), body)
    assert status == 200 and b"<Error>" not in answer


def test_checksums_behind_the_body(field):
    """What botocore sends over https: pieces, with a checksum after the last one."""
    data = b"pieces of eight"
    check = base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()
    body = f"{len(data):x}\r\n".encode() + data + f"\r\n0\r\nx-amz-checksum-crc32:{check}\r\n\r\n".encode()
    headers = {"X-Amz-Trailer": "x-amz-checksum-crc32", "Content-Encoding": "aws-chunked",
               "X-Amz-Decoded-Content-Length": str(len(data)), "x-amz-sdk-checksum-algorithm": "CRC32"}
    if not CLIENT_ENDPOINT:  # RGW 16 knows none
        assert field.send("PUT", field.inside("data/c"), headers, data=body)[0] == 200
        assert field.send("GET", field.inside("data/c")) == (200, data)
    plain = {"x-amz-checksum-crc32": check, "x-amz-sdk-checksum-algorithm": "CRC32"}
    assert field.send("PUT", field.inside("data/c"), plain, data=data)[0] == 200


def test_headers_of_clients(field):
    """Those that change between tries are not signed; all come back but the date; the answer to a read may be kept."""
    sent = {"Host": urllib.parse.urlsplit(field.endpoint).netloc, "User-Agent": "aws-sdk-java/2",
            "amz-sdk-invocation-id": "1", "amz-sdk-request": "attempt=1; max=4", "Range": "bytes=0-1",
            "x-amz-date": "20200101T000000Z", "If-Match": '"x"', "Accept-Encoding": "identity",
            "x-amz-checksum-mode": "ENABLED", "Expect": "100-continue", "x-amz-meta-a": "b  c"}
    answer = field.ask("GET", field.inside("data/a"), sent).ok()
    headers = answer.json["headers"]
    assert [v for k, v in answer.headers if k == "Cache-Control"] == ["private"]
    signed = headers["authorization"][0].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert [name for name in signed if name != "x-amz-security-token"] == [
        "host", "x-amz-checksum-mode", "x-amz-content-sha256", "x-amz-date", "x-amz-meta-a"]
    assert {k: v for k, v in sent.items() if k != "x-amz-date"}.items() <= {k: v[0] for k, v in headers.items()}.items()
    assert headers["x-amz-date"][0] > "2026" and headers["x-amz-content-sha256"] == ["UNSIGNED-PAYLOAD"]
    write = field.ask("PUT", field.inside("data/a"), {"If-None-Match": "*", "Content-Type": "a/b"}).ok()
    assert write.header("Cache-Control") == "no-cache"
    assert "content-type;host;if-none-match;" in write.json["headers"]["authorization"][0]
    # a condition that was signed cannot be taken off
    uri = field.inside("data/once")
    assert field.send("PUT", uri, {"If-None-Match": "*"}, data=b"1")[0] == 200
    again = field.ask("PUT", uri, {"If-None-Match": "*"}).ok().json["headers"]
    assert deliver("PUT", uri, {k: v[0] for k, v in again.items()}, b"2")[0] == 412
    assert deliver("PUT", uri, {k: v[0] for k, v in again.items() if k != "If-None-Match"}, b"2")[0] == 403


def test_botocore_signs_alike(server, field):
    """The independent judge of the signature, for hostile names and parameters."""
    keys = Credentials(server.store.access_key, server.store.secret_key)
    if CLIENT_ENDPOINT:  # where the warehouse hands out the keys that sign
        house = field.api.post(ROOT, described(field.api, delegation=["vended-credentials", "remote-signing"],
                                               storage=for_clients())).ok().json
        path, location = table_in(field.api, house)
        given = field.api.get(path + "/credentials").ok().json["storage-credentials"][0]["config"]
        keys = Credentials(given["s3.access-key-id"], given["s3.secret-access-key"], given["s3.session-token"])
        field = Signer(field.api, None, path + "/sign", field.api.get(path, **ASKS).ok().json["config"] | {"location": location})

    class Judge(S3SigV4Auth):
        def payload(self, request):
            return request.headers["X-Amz-Content-SHA256"]

    names = ("a", "a b+c%/é", "k=1&x/'()*!", "~tilde/%2F%41", "日本")
    for method, uri in [(m, field.inside(n, q)) for n in names for m, q in (
            ("GET", ""), ("PUT", "?partNumber=7&uploadId=a%2Fb%2Bc"), ("POST", "?uploads"))] + [
            ("GET", field.listing(field.key + "/+ é"))]:
        sent = {"x-amz-meta-x": " a   b ", "X-Amz-Storage-Class": "STANDARD"}
        signed = field.ask(method, uri, sent).ok().json
        got = {k.lower(): v[0] for k, v in signed["headers"].items()}
        mine = AWSRequest(method, signed["uri"], headers=sent | {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
        mine.context["timestamp"] = got["x-amz-date"]
        judge = Judge(keys, "s3", server.store.region)
        mine.headers["X-Amz-Date"] = got["x-amz-date"]
        if keys.token:
            mine.headers["X-Amz-Security-Token"] = keys.token
        text = judge.string_to_sign(mine, judge.canonical_request(mine))
        assert got["authorization"].endswith("Signature=" + judge.signature(text, mine)), uri


def test_boto3_with_the_signer_alone(field):
    """A whole client whose every request is signed by the catalog, as PyIceberg does it."""
    s3 = boto3.client("s3", endpoint_url=field.endpoint, region_name=field.config["client.region"],
                      config=Config(signature_version=UNSIGNED, s3={"addressing_style": "path"},
                                    retries={"max_attempts": 1}))

    def sign(request, **_):
        answer = field.ask(request.method, request.url, dict(request.headers.items())).ok().json
        for name, values in answer["headers"].items():
            request.headers.add_header(name, ", ".join(values))
        request.url = answer["uri"]

    s3.meta.events.register("before-sign.s3", sign)
    bucket, key = field.bucket, field.key
    s3.put_object(Bucket=bucket, Key=key + "/boto/é +%", Body=b"boto")
    assert s3.get_object(Bucket=bucket, Key=key + "/boto/é +%")["Body"].read() == b"boto"
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=bucket, Prefix=key + "/boto/")["Contents"]] == [key + "/boto/é +%"]
    s3.delete_object(Bucket=bucket, Key=key + "/boto/é +%")
    with pytest.raises(ClientError):
        s3.head_object(Bucket=bucket, Key=key + "/boto/é +%")


# --- a thief at the signer --------------------------------------------------------------


def ways_out(f):
    """method, URI and status for each way to something that is not the table's."""
    base, bucket, key = f"{f.endpoint}/{f.bucket}", f.bucket, urllib.parse.quote(f.key)
    host = f.endpoint.partition("://")[2]
    tail = key.rpartition("/")[0]
    other = f"{tail}/t10/data/secret"
    lists = "?list-type=2&prefix="
    whole = urllib.parse.quote(f.key + "/", safe="")
    yield from [(m, f"{base}/{other}", 403) for m in ("GET", "HEAD", "PUT", "DELETE")]
    yield from [("GET", f"{base}/{path}", 403) for path in (
        f"{key}0/data/secret", f"{key}/../t10/data/secret", f"{key}/%2e%2e/t10/data/secret", f"{key}/%2E./t10/x",
        f"{key}%2F..%2Ft10/data/secret", f"{key}/%2F../t10/x", f"{key}/%252e%252e/t10/data/secret",
        f"{key}/..%252Ft10/x", f"{key}/%25252e%25252e/t10/x", f"{key}/./a", f"{key}//a", f"{key}/a//b", f"{key}/a/",
        f"/{key}/a", f"{key}/", f"./{key}/a", f"{tail}", other.upper(), "", "/")]
    yield from [("GET", f"{base}/{path}", 400) for path in (
        f"{key}/%", f"{key}/%2", f"{key}/%zz", f"{key}/%00", f"{key}/%ff%fe", f"{key}/%c0%ae%c0%ae/x", f"{key}/a%0d%0ab",
        f"{key}/..%5ct10", f"{key}/a b", f"{key}/a#b", f"{key}/a\\b", f"{key}/ü")]
    yield "PUT", f"{base}/{key}", 403
    yield "DELETE", f"{base}/{key}", 403
    # another bucket, host, scheme or port, and one form taken for the other
    yield "GET", f"{f.endpoint}/other/{key}/a", 403
    yield "GET", f"{f.endpoint}/{bucket}%2F{key}%2F..%2F..%2Ft10", 403
    yield "GET", f"{f.endpoint}/{bucket}/../other/{key}/a", 403
    yield "GET", f"http://{bucket}.{host}/{key}/a", 403
    yield "GET", f"http://{bucket}.{host}/other/{key}/a", 403
    yield "GET", f"http://other.{host}/{bucket}/{key}/a", 403
    yield "GET", f"https://{host}/{bucket}/{key}/a", 403
    yield "GET", f"http://{host}0/{bucket}/{key}/a", 403
    yield "GET", f"http://{host}.evil.example/{bucket}/{key}/a", 403
    yield "GET", f"http://169.254.169.254/{bucket}/{key}/a", 403
    yield "GET", f"http://{host}@evil.example/{bucket}/{key}/a", 400
    yield "GET", f"ftp://{host}/{bucket}/{key}/a", 400
    yield "GET", f"//{host}/{bucket}/{key}/a", 400
    yield "GET", "", 400
    yield "GET", f"{base}/{key}/" + "a" * 9000, 400
    # lists
    yield from [("GET", base + query, 403) for query in (
        "", "?list-type=2", lists, f"{lists}{key[:1]}", lists + whole[:-3], lists + whole[:-3] + "0%2F",
        f"?list-type=1&prefix={whole}", f"?prefix={whole}", f"{lists}{whole}&prefix=", f"{lists}&prefix={whole}",
        f"?list-type=1&list-type=2&prefix={whole}", f"{lists}{whole}&policy", f"{lists}{whole}&versions",
        f"{lists}{whole}..%2Ft10%2F", f"{lists}{whole}&delimiter=x", f"{lists}{whole}&max-keys=100000",
        f"{lists}{whole}&x=1", f"{lists}{whole}&start-after=%2F", f"{lists}{whole}&&", f"{lists}{whole}&Prefix=",
        f"{lists}+{whole}")]
    yield "GET", f"{base}{lists}{whole}%ff", 400
    yield "GET", f"{base}{lists}{whole}%2", 400
    yield "GET", f"{base}/{key}/a{lists}{whole}", 403
    yield "POST", f"{base}{lists}{whole}", 403
    # what is not read, written or listed but asked for or set
    for word in ("acl policy tagging versions versioning location lifecycle cors torrent restore select object-lock "
                 "retention legal-hold website logging replication encryption attributes versionId=1 partNumber=1 "
                 "uploads uploadId=x response-content-type=a x-amz-acl Delete").split():
        if word.startswith("x-amz"):
            yield "GET", f"{base}/{key}/a?{word}", 400
            continue
        yield "GET", f"{base}/{key}/a?{word}", 403
        yield "GET", f"{base}?{word}", 403
        if word not in ("uploads", "uploadId=x"):
            yield "PUT", f"{base}/{key}/a?{word}", 403
            yield "POST", f"{base}/{key}/a?{word}", 403
    yield from [("PUT", f"{base}/{key}/a?{query}", 403) for query in (
        "partNumber=0&uploadId=x", "partNumber=10001&uploadId=x", "partNumber=1&partNumber=2&uploadId=x",
        "partNumber=1&uploadId=", "uploads", "x-id=a/b", "x-id=PutObject&x-id=x")]
    yield "POST", f"{base}/{key}/a", 403
    yield "POST", f"{base}/{key}/a?delete", 403
    yield "POST", f"{base}?delete=1", 403
    yield "POST", f"{base}?x=delete", 403
    yield "DELETE", f"{base}", 403
    yield "PUT", f"{base}", 403
    yield "PATCH", f"{base}/{key}/a", 403
    yield "OPTIONS", f"{base}/{key}/a", 403
    # signed already
    yield "GET", f"{base}/{key}/a?X-Amz-Signature=x&X-Amz-Expires=9", 400


def test_nothing_outside_is_signed(server, field):
    for method, uri, status in ways_out(field):
        field.refused(method, uri, status, body=deletes(f"{field.key}/a"))
    assert server.store.read(field.secret) == b"secret"


def test_other_regions_and_providers(field):
    field.refused("GET", field.inside("data/a"), region="eu-west-9")
    field.refused("GET", field.inside("data/a"), region="")
    field.refused("GET", field.inside("data/a"), 400, provider="gcs")


@pytest.mark.parametrize("name, value, status", [
    ("x-amz-copy-source", "SECRET", 403), ("X-Amz-Copy-Source", "SECRET", 403), ("x-amz-copy-source-range", "bytes=0-1", 403),
    ("x-amz-acl", "public-read", 403), ("x-amz-grant-read", "id=1", 403), ("x-amz-object-ownership", "x", 403),
    ("x-amz-bypass-governance-retention", "true", 403), ("x-amz-website-redirect-location", "/x", 403),
    ("x-amz-security-token", "x", 403), ("Authorization", "AWS4-HMAC-SHA256 x", 403), ("x-amz-tagging", "a=b", 403),
    ("x-amz-object-lock-mode", "GOVERNANCE", 403), ("x-amz-server-side-encryption", "aws:kms", 403),
    ("x-amz-server-side-encryption-customer-key", "x", 403), ("x-amz-unheard-of", "x", 403),
    ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", 403), ("x-amz-content-sha256", "x", 403),
    ("Host", "evil.example", 403), ("host", "", 403), ("x-amz-meta-a", "b\r\nx-amz-acl: public-read", 400),
    ("a b", "c", 400), ("x-amz-meta-a\n", "b", 400), ("", "x", 400), ("x", "y" * 17000, 400)])
def test_headers_that_are_not_signed(field, name, value, status):
    field.refused("PUT", field.inside("data/a"), status,
                  headers={name: "/" + field.secret.partition("://")[2] if value == "SECRET" else value})


PIECES = {"Content-Encoding": "aws-chunked", "X-Amz-Trailer": "x-amz-checksum-crc32", "x-amz-decoded-content-length": "5"}


@pytest.mark.parametrize("method, headers", [
    ("PUT", {"Content-Encoding": "aws-chunked"}), ("PUT", {"content-encoding": "gzip, AWS-Chunked"}),
    ("PUT", {"x-amz-decoded-content-length": "5"}), ("PUT", {"X-Amz-Trailer": "x-amz-meta-a"}),
    ("PUT", {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}), ("GET", PIECES), ("DELETE", PIECES),
    ("PUT", PIECES | {"X-Amz-Trailer": "x-amz-checksum-crc32,x-amz-trailer-signature"}),
    *(("PUT", PIECES | {"x-amz-content-sha256": hash}) for hash in (
        "UNSIGNED-PAYLOAD", "a" * 64, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"))])
def test_bodies_in_pieces(field, method, headers):
    """Only as clients of AWS write an object: pieces that nobody signs, with one checksum behind them."""
    field.refused(method, field.inside("data/a"), headers=headers)


def test_many_headers_and_repeated_ones(field):
    field.refused("GET", field.inside("a"), 400, headers={f"h{i}": "" for i in range(65)})
    for name in ("x-amz-content-sha256", "host"):
        asked = {"headers": {name: ["UNSIGNED-PAYLOAD", "a" * 64]}}
        answer = field.api.post(field.path, {"method": "GET", "uri": field.inside("a"),
                                             "region": field.config["client.region"]} | asked)
        answer.fails(403, "ForbiddenException")


def test_lists_of_objects_to_delete(server, lister, field):
    """One foreign key among a thousand, and every way to hide one from us that the store would see."""
    uri, mine, other = lister.uri("", "?delete"), f"{lister.key}/a", split(field.secret)[1]
    bomb = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    bodies = [
        (None, 403), (deletes(*([mine] * 999 + [other])), 403), (deletes(other), 403), (deletes(lister.key), 403),
        (deletes(f"{lister.key}/../t10/data/secret"), 403), (deletes(f"{lister.key}//a"), 403),
        (deletes(f"{lister.key}/%2e%2e/t10/data/secret"), 403), (deletes(f"{lister.key}0/a"), 403),
        (deletes("/" + mine), 403), (deletes(" " + mine), 403), ("", 400), ("x", 400), ("<Delete/>", 400),
        (deletes(), 400), (deletes(*[mine] * 1001), 400), (deletes(mine, more="<VersionId>1</VersionId>"), 400),
        (deletes(mine, more=f"<Key>{other}</Key>"), 403), (deletes(mine, more=f"<Key>{mine}</Key>"), 400),
        (f"<Delete><Object></Object></Delete>", 400), (f"<Delete><Key>{mine}</Key></Delete>", 400),
        (f"<Object><Key>{mine}</Key></Object>", 400), (deletes(mine) + deletes(other), 400), (bomb + deletes(mine), 400),
        (deletes(mine).replace("<Key>", "<Key><!-- x -->"), 400), (f"<Delete><Object><Key><![CDATA[{other}]]></Key></Object></Delete>", 400),
        (f'<Delete a="><Object><Key>{other}</Key></Object><b c=">{deletes(mine)[8:]}', 400),
        ('<?xml version="1.0" encoding="UTF-7"?>' + deletes(mine), 400), (f"<a>{deletes(mine)}</a>", 400),
        (deletes(mine).replace("</Key>", "<b/></Key>"), 400), (deletes(mine)[:-3], 400), (deletes(mine + "\n"), 400),
        (deletes(mine).replace("</Key>", "&#0;</Key>"), 400), (deletes(mine).replace("</Key>", "&unknown;</Key>"), 400),
        (deletes(*(f"{lister.key}/{i:01000}" for i in range(1000))) + " " * 200000, 400)]
    for body, status in bodies:
        lister.refused("POST", uri, status, body=body)
    good = '<?xml version="1.0" encoding="utf-8" ?>\n' + deletes(mine)
    lister.ask("POST", uri, body=good).ok()
    for hash in ("UNSIGNED-PAYLOAD", "a" * 64, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"):
        lister.refused("POST", uri, headers={"x-amz-content-sha256": hash}, body=good)
    lister.ask("POST", uri, {"x-amz-content-sha256": hashlib.sha256(good.encode()).hexdigest()}, good).ok()
    assert server.store.exists(field.secret)


def test_the_registered_location_decides(api, server, ns):
    """Whoever can write a table's metadata file has nothing signed for another table by what he writes there."""
    victim, thief = api.table(ns), api.table(ns)
    document = json.loads(api.store.read(thief.metadata_location))
    document["location"] = victim.location
    api.store.write(thief.metadata_location, json.dumps(document).encode())
    signer = Signer(api, thief)
    signer.key = split(victim.location)[1]
    signer.refused("GET", signer.inside("metadata/x"))
    thief.apply(set_properties(**{"a": "b"}))
    signer.refused("GET", signer.inside("metadata/x"))


def test_tables_that_are_not_there(api, field, ns):
    field_of = Signer(api, field.t1, table_path(ns, "nope") + "/sign", field.config)
    field_of.refused("GET", field.inside("a"), 404)
    api.create_view(ns, "v").ok()
    Signer(api, field.t1, table_path(ns, "v") + "/sign", field.config).refused("GET", field.inside("a"), 404)
    api.post(f"/v1/nope{field.path[3:]}", {}).expect(404, 400)
    dropped = api.table(ns)
    signer = Signer(api, dropped)
    api.drop(ns, dropped.name).expect(204)
    signer.refused("GET", signer.inside("a"), 404)


def test_no_route_for_all_tables(field):
    """What Java before 1.11 takes when it is told no other: no table is named there whose files these are."""
    asked = {"method": "GET", "uri": field.inside("data/a"), "region": field.config["client.region"], "headers": {}}
    field.api.post(field.path, asked).ok()
    for path in ("/v1/aws/s3/sign", "/v1/main/aws/s3/sign"):
        field.api.post(path, asked).fails(404)


def test_requests_that_are_none(field):
    for body in ({}, {"method": "GET"}, {"method": "GET", "uri": 1, "region": "r", "headers": {}},
                 {"method": "GET", "uri": "x", "region": "r", "headers": []},
                 {"method": "GET", "uri": "x", "region": "r", "headers": {"a": "b"}},
                 {"method": "GET", "uri": "x", "region": "r", "headers": {"a": [1]}},
                 {"method": "GET", "uri": "x", "region": "r", "headers": {}, "body": {}}):
        field.api.post(field.path, body).fails(400, "BadRequestException")


# --- a thief at the store ---------------------------------------------------------------


def test_the_store_takes_no_changed_request(server, field):
    """A signature for one thing is none for another."""
    def get(name):
        return {k: v[0] for k, v in field.ask("GET", field.inside(name)).ok().json["headers"].items()}

    field.send("PUT", field.inside("own"), data=b"own")
    headers = get("own")
    assert deliver("GET", field.inside("own"), headers) == (200, b"own")
    secret = f"{field.endpoint}/{field.secret.partition('://')[2]}"
    for method, uri, more in (
            ("GET", secret, {}), ("PUT", field.inside("own"), {}), ("DELETE", field.inside("own"), {}),
            ("GET", field.inside("own") + "?acl", {}), ("GET", field.inside("own"), {"x-amz-date": "20200101T000000Z"}),
            ("GET", field.inside("own") + "/../../t10/data/secret", {})):
        status, body = deliver(method, uri, headers | more, b"x" if method == "PUT" else None)
        assert status in (400, 403) and body != b"secret"
    put = {k: v[0] for k, v in field.ask("PUT", field.inside("copy")).ok().json["headers"].items()}
    status, _ = deliver("PUT", field.inside("copy"), put | {
        "x-amz-copy-source": "/" + field.secret.partition("://")[2]}, b"")
    assert field.send("GET", field.inside("copy"))[1] != b"secret"
    assert server.store.read(field.secret) == b"secret" and server.store.read(f"s3://{field.bucket}/{field.key}/own") == b"own"


def test_the_store_deletes_what_was_signed(server, lister, field):
    """Where the store does not look at the list, keys that reach no further sign it; without any, nobody does."""
    for signer in (field, lister):
        api, theirs = signer.api, deletes(split(field.secret)[1])
        answer = signer.ask("POST", signer.uri("", "?delete"), body=deletes(f"{signer.key}/a"))
        if signer is field and answer.status == 403:
            assert "vend-role-arn" in answer.json["error"]["message"]
            continue
        signed = answer.ok().json
        status, body = deliver("POST", signed["uri"], {k: v[0] for k, v in signed["headers"].items()} | md5(theirs),
                               theirs.encode())
        assert status in (400, 403) or (status == 200 and b"<Error>" in body)
        assert api.store.read(field.secret) == b"secret"


# --- both ways -----------------------------------------------------------------------------


def test_a_warehouse_that_signs(api):
    """Made by curl, proved by the server, used, and switched off."""
    house = api.post(ROOT, described(api)).ok().json
    assert house["delegation"] == ["remote-signing"]
    checked = api.post(f"{ROOT}/{house['name']}/check").ok().json
    assert checked["ok"] and ("warning" not in checked or "list of objects" in checked["warning"])
    path, location = table_in(api, house)
    config = api.get(path, **ASKS).ok().json["config"]
    assert config["signer.endpoint"] == path[1:] + "/sign"
    signer = Signer(api, None, path + "/sign", config | {"location": location})
    assert signer.send("PUT", signer.inside("data/x"), data=b"x")[0] == 200
    assert api.store.list(house["base-location"] + "/.firn-probe") == []
    assert api.get(f"/v1/config?warehouse={house['name']}").ok().json["defaults"] == {
        "header.X-Iceberg-Access-Delegation": "remote-signing"}
    api.post(f"{ROOT}/{house['name']}", {"delegation": []}).ok()
    assert api.get(path, **ASKS).ok().json["config"] == {}
    signer.ask("GET", signer.inside("data/x")).fails(406, "UnsupportedOperationException")
    api.post(f"{ROOT}/{house['name']}", {"delegation": ["remote-signing"], "active": False}).ok()
    signer.ask("GET", signer.inside("data/x")).fails(403, "ForbiddenException")


@pytest.mark.parametrize("first, second", [("remote-signing", "vended-credentials"),
                                           ("vended-credentials", "remote-signing")])
def test_a_warehouse_that_does_both(api, first, second):
    """Who asks for both gets what the warehouse names first; keys of the table's folder sign."""
    house = api.post(ROOT, described(api, delegation=[first, second], storage=for_clients())).ok().json
    path, location = table_in(api, house)

    def given(words):
        config = api.get(path, X_Iceberg_Access_Delegation=words).ok().json["config"]
        return "remote-signing" if "signer.endpoint" in config else "vended-credentials"

    assert api.get(f"/v1/config?warehouse={house['name']}").ok().json["defaults"] == {
        "header.X-Iceberg-Access-Delegation": f"{first},{second}"}
    assert given("remote-signing") == "remote-signing" and given("vended-credentials") == "vended-credentials"
    assert given(f"{second},{first}") == given(f"{first},{second}") == first
    # Who names no way gets keys or nothing: it may not know what to do with a signer.
    assert given("") == "vended-credentials"
    api.post(f"{ROOT}/{house['name']}", {"delegation-unasked": False}).ok()
    assert api.get(path).ok().json["config"] == {}
    config = api.get(path, **ASKS).ok().json["config"]
    signer = Signer(api, None, path + "/sign", config | {"location": location})
    signed = signer.ask("GET", signer.inside("a")).ok().json["headers"]
    assert signed["x-amz-security-token"] and api.store.access_key not in signed["authorization"][0]
    assert signer.send("PUT", signer.inside("data/x"), data=b"x")[0] == 200
    assert signer.send("GET", signer.listing(signer.key + "/data/"))[0] == 200
    body = deletes(signer.key + "/data/x")
    assert signer.send("POST", signer.uri("", "?delete"), md5(body), body)[0] == 200
    assert signer.send("GET", signer.inside("data/x"))[0] == 404


def test_what_a_store_does_not_check_is_allowed_by_its_name_only(api):
    """Ceph RGW copies by a header that was added, SeaweedFS deletes by a list that was changed."""
    body = described(api)
    body["storage"] = {k: v for k, v in body["storage"].items() if "vend" not in k}
    finding = "signed-header-added" if CLIENT_ENDPOINT else "signed-list-changed"
    if CLIENT_ENDPOINT:
        api.post(ROOT, body).fails(400, "IllegalArgumentException", contains=finding)
    house = api.post(ROOT, body | {"allow": [finding]}).ok().json
    assert finding in house["warning"]
    path, location = table_in(api, house)
    signer = Signer(api, None, path + "/sign", api.get(path, **ASKS).ok().json["config"] | {"location": location})
    assert signer.send("PUT", signer.inside("data/a"), data=b"a")[0] == 200
    gone = deletes(signer.key + "/data/a")
    status, answer = signer.send("POST", signer.uri("", "?delete"), md5(gone), gone)
    assert status == 200 and b"<Error>" not in answer


def test_a_client_endpoint_of_its_own(api):
    """Signed for the host that clients know the store by."""
    house = api.post(ROOT, described(api, storage={"client-endpoint": "https://store.example"})).ok().json
    path, location = table_in(api, house)
    config = api.get(path, **ASKS).ok().json["config"]
    assert config["s3.endpoint"] == "https://store.example"
    signer = Signer(api, None, path + "/sign", config | {"location": location})
    for port in ("", ":443"):
        uri = f"https://store.example{port}/{signer.bucket}/{signer.key}/a"
        assert signer.ask("GET", uri).ok().json["uri"] == f"https://store.example/{signer.bucket}/{signer.key}/a"
    signer.refused("GET", f"{api.store.endpoint}/{signer.bucket}/{signer.key}/a")


def test_a_bucket_in_the_hosts_name(api):
    """The other form of address; the bucket in the path is then none."""
    endpoint = VHOST_ENDPOINT or "http://store.example"
    house = api.post(ROOT, described(api, storage={"client-endpoint": endpoint, "path-style": True})).ok().json
    path, location = table_in(api, house)
    api.post(f"{ROOT}/{house['name']}", {"storage": house["storage"] | {
        "endpoint": api.store.endpoint.replace("127.0.0.1", "localhost"), "path-style": False}}).ok()
    config = api.get(path, **ASKS).ok().json["config"]
    assert config["s3.path-style-access"] == "false"
    signer = Signer(api, None, path + "/sign", config | {"location": location})
    host = endpoint.partition("://")[2]
    uri = f"http://{signer.bucket}.{host}/{signer.key}/data/v"
    signed = signer.ask("PUT", uri).ok().json
    assert signed["uri"] == uri
    signer.refused("PUT", f"{endpoint}/{signer.bucket}/{signer.key}/data/v")
    signer.refused("PUT", f"http://{signer.bucket}.{host}/{signer.bucket}/{signer.key}/data/v")
    signer.refused("PUT", f"http://other.{host}/{signer.key}/data/v")
    port = urllib.parse.urlsplit(api.store.endpoint).port
    headers = {k: v[0] for k, v in signed["headers"].items()} | {"Host": f"{signer.bucket}.{host}"}
    assert deliver("PUT", f"http://127.0.0.1:{port}/{signer.key}/data/v", headers, b"v")[0] == 200
    assert api.store.read(f"{location}/data/v") == b"v"


def test_warehouses_that_cannot(api, tmp_path):
    answer = api.post(ROOT, {"name": "f" + secrets.token_hex(3), "base-location": f"file://{tmp_path}",
                             "storage": {"type": "file"}, "delegation": ["remote-signing"]})
    answer.expect(400, 403)
    api.post(ROOT, described(api, delegation=["remote-signin"])).fails(400, "BadRequestException")


def test_many_at_once(server, field):
    """Signatures of a hundred requests at a time are each their own."""
    def one(n):
        client = Api(server)
        signer = Signer(client, field.t1, config=field.config)
        status = signer.send("PUT", signer.inside(f"many/{n}"), data=str(n).encode())[0]
        body = signer.send("GET", signer.inside(f"many/{n}"))[1]
        client.close()
        return status == 200 and body == str(n).encode()

    assert all(in_parallel(60, one))
