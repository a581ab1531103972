"""Where the server goes for others: endpoints of warehouses, which addresses they may have, and what comes back from
there. A victim stands on this machine and must not be asked anything."""

import concurrent.futures
import secrets
import time
import urllib.parse

import pytest

from firn_client import Api, in_parallel, simple
from firn_server import FileStore, Server, seal
from identity_stub import Identity, Keys, Service

ROOT = "/management/v1/warehouses"


class Victim(Service):
    """A service of the inside. It answers as told and remembers who came."""

    def __init__(self):
        super().__init__()
        self.requests = []
        self.reply = 200, {"Content-Type": "text/html"}, b"<html>words of the inside</html>"

    def answer(self, request):
        self.requests.append((request.command, request.path, request.body))
        return self.reply


@pytest.fixture
def victim():
    with Victim() as one:
        yield one


def started(allowed, **env):
    return Server(env={"FIRN_SECRET_KEYS": seal(),
                       "FIRN_WAREHOUSE_ENDPOINTS": allowed} | env)


def described(keys, **storage):
    own = keys.draw(token=False)
    return {"name": "lake", "base-location": "s3://bucket/lake",
            "storage": {"type": "s3", "region": "us-east-1", "path-style": True} | storage,
            "credentials": {"type": "static", "access-key-id": own["id"], "secret-access-key": own["secret"]}}


def spellings(url):
    """This machine, in the words that it answers to."""
    port = urllib.parse.urlsplit(url).port
    hosts = ("127.0.0.1", "localhost", "LocalHost", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001",
             "127.1", "127.0.1", "0", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "[::]")
    return [f"http://{host}:{port}" for host in hosts]


IDENTITIES = ("http://169.254.169.254", "http://2852039166", "http://0xa9fea9fe", "http://[::ffff:169.254.169.254]",
              "http://[fe80::1]", "http://[fd00:ec2::254]", "http://168.63.129.16", "http://100.100.100.200")


def refused(api, body):
    """Refused, with nothing left behind: neither row nor secret."""
    answer = api.post(ROOT, body).fails(400, contains="does not work") or None
    assert [w["name"] for w in api.get(ROOT).ok().json["warehouses"]] == ["main"]
    assert api.server.db.query("SELECT count(*) FROM secret WHERE warehouse_id <> 0") == [(0,)]
    return answer["message"]


def test_a_star_is_what_is_public(victim, store, identity, keys):
    """This machine by any name, as the store or as the token service: not even connected to."""
    with started(f"* {store.url} {identity.url}") as firn:
        api = Api(firn)
        for url in spellings(victim.url):
            assert "not public" in refused(api, described(keys, endpoint=url))
        for url in spellings(victim.url)[:4]:
            body = described(keys, endpoint=store.url, **{"sts-endpoint": url, "role-arn": identity.role})
            assert "not public" in refused(api, body)
            body = described(keys, endpoint=store.url, **{"sts-endpoint": url, "vend-role-arn": identity.role})
            assert "not public" in refused(api, body | {"delegation": ["vended-credentials"]})
        assert victim.requests == []
        api.close()


def test_what_is_named_may_be_inside(store, keys):
    """By host and port; the same machine by another name is another word."""
    netloc = urllib.parse.urlsplit(store.url).netloc
    with started(f"* {netloc}") as firn:
        api = Api(firn)
        assert "not public" in refused(api, described(keys, endpoint=store.url.replace("127.0.0.1", "localhost")))
        api.post(ROOT, described(keys, endpoint=store.url)).ok()
        api.close()


def test_what_is_denied(victim, keys):
    """Whatever else allows it: 403 before anything is asked."""
    with started(f"* {urllib.parse.urlsplit(victim.url).netloc} !127.0.0.1 !*.internal") as firn:
        api = Api(firn)
        for url in (victim.url, "http://x.internal:9000"):
            for member in ("endpoint", "sts-endpoint", "client-endpoint"):
                api.post(ROOT, described(keys, **{member: url})).fails(403, contains=f"/storage/{member}")
        assert victim.requests == []
        api.close()


def test_where_a_machine_tells_its_identity(keys):
    """Link-local addresses and their like, also where the operator has named them."""
    with started(" ".join(IDENTITIES)) as firn:
        api = Api(firn)
        for url in IDENTITIES:
            assert "identity" in refused(api, described(keys, endpoint=url))
        api.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(victim, keys, status):
    """Nobody follows them, in an answer to whatever request, nor a region that is none."""
    with Victim() as guide, started(guide.url) as firn:
        api = Api(firn)
        guide.reply = status, {"Location": victim.url + "/bucket/x", "x-amz-bucket-region": "x.evil/"}, (
            f"<Error><Code>PermanentRedirect</Code><Region>@{urllib.parse.urlsplit(victim.url).netloc}/</Region>"
            f"<Endpoint>{urllib.parse.urlsplit(victim.url).netloc}</Endpoint></Error>").encode()
        refused(api, described(keys, endpoint=guide.url))
        assert guide.requests and victim.requests == []
        api.close()


@pytest.mark.parametrize("status", [200, 403, 404, 500])
def test_words_of_the_inside(victim, keys, status):
    """What a service answers that is no store is shown to nobody."""
    victim.reply = status, {"x-secret": "hidden-header"}, b"<html>hidden <b>words</b></html>"
    with started(victim.url) as firn:
        api = Api(firn)
        message = refused(api, described(keys, endpoint=victim.url))
        assert "hidden" not in message and "words" not in message
        assert victim.requests
        api.close()


def kept(firn):
    """How many secrets of warehouses there are."""
    return firn.db.query("SELECT count(*) FROM secret WHERE warehouse_id <> 0")[0][0]


def test_secrets_of_warehouses_that_were_not_made(store, victim, keys):
    """At whatever step a create or a change fails, and when two want one name: no secret stays behind."""
    with started(f"{store.url} {victim.url}") as firn:
        api = Api(firn)
        good = described(keys, endpoint=store.url)
        for wrong in ({"name": "a/b"}, {"base-location": "s3://bucket/../x"}, {"allowed-locations": ["gs://x/y"]},
                      {"storage": good["storage"] | {"endpoint": victim.url}}, {"delegation": ["vended-credentials"]},
                      {"storage": good["storage"] | {"endpoint": "http://elsewhere"}},
                      {"credentials": good["credentials"] | {"secret-access-key": "wrong"}}, {"name": "main"}):
            answer = api.post(ROOT, good | wrong)
            assert answer.status in (400, 403, 409), str(answer)
            assert kept(firn) == 0
        got = in_parallel(6, lambda i: api.post(ROOT, good | {"base-location": f"s3://bucket/lake{i}"}))
        assert sorted(a.status for a in got) == [200] + [409] * 5
        assert kept(firn) == 1
        api.post(f"{ROOT}/lake", {"credentials": good["credentials"] | {"secret-access-key": "wrong"}}).fails(400)
        assert kept(firn) == 1 and api.post(f"{ROOT}/lake/check").ok().json["ok"] is True
        api.delete(f"{ROOT}/lake").expect(204)
        assert kept(firn) == 0
        api.close()


def test_members_that_nobody_knows(store, keys):
    """A secret in a member of another name would be kept as it is and shown: such members are refused."""
    with started(store.url) as firn:
        api = Api(firn)
        good = described(keys, endpoint=store.url)
        for place in ("storage", "credentials", None):
            for name in ("jdbc-url", "secretAccessKey", "Secret-Access-Key", "s3.secret-access-key", ""):
                body = good | {place: good[place] | {name: "hidden"}} if place else good | {name: "hidden"}
                answer = api.post(ROOT, body)
                answer.fails(400, contains=f"/{place}/{name}" if place else f"/{name}")
                assert "hidden" not in answer.raw.decode()
        api.post(ROOT, good).ok()
        answer = api.post(f"{ROOT}/lake", {"credentials": good["credentials"] | {"secret": "hidden"}})
        answer.fails(400, contains="/credentials/secret: there is no such member, expected one of type, access-key-id")
        assert "hidden" not in api.get(ROOT).ok().raw.decode()
        api.close()


def test_regions(api, keys):
    """A region becomes a part of the name of a host: letters, digits and a few signs."""
    for region in ("x.evil.example/", "evil.example#", "us east", "a@b", "eu-west-1?", "é", "a" * 49, "a:80", "%2f", ""):
        answer = api.post(ROOT, described(keys, region=region))
        answer.fails(400, contains="region" if region else None)


def test_an_endpoint_that_is_no_longer_allowed(store, keys):
    """The operator takes it back: the warehouse is shown, and its store is not asked any more."""
    with started(store.url) as firn:
        api = Api(firn)
        row = api.post(ROOT, described(keys, endpoint=store.url)).ok().json
        path = f"/v1/{row['id']}/namespaces"
        api.post(path, {"namespace": ["a"]}).ok()
        api.post(f"{path}/a/tables", {"name": "t", "schema": simple()}).ok()
        objects = dict(store.objects)
        for allowed in ("", f"{store.url} !127.0.0.1", "*"):
            firn.restart({"FIRN_WAREHOUSE_ENDPOINTS": allowed, "FIRN_CACHE": "0"})
            store.refused.clear()
            assert api.get(f"{path}/a/tables/t").status >= 400
            assert api.post(f"{path}/a/tables", {"name": "u", "schema": simple()}).status >= 400
            assert store.objects == objects and store.refused == []
            assert api.post(f"{ROOT}/lake/check").ok().json["ok"] is False
            assert "lake" in [w["name"] for w in api.get(ROOT).ok().json["warehouses"]]
        firn.restart({"FIRN_WAREHOUSE_ENDPOINTS": store.url})
        api.get(f"{path}/a/tables/t").ok()
        api.close()


def test_the_servers_identity_is_its_own(store, identity, keys):
    """A token that proves who the server is goes to its own token service, never to that of a warehouse."""
    thief = Identity(keys)
    thief.external_id = thief.ANY
    with thief:
        firn = started(f"{store.url} {thief.url}")
        firn.store = FileStore(firn.folder) if firn.store.kind != "file" else firn.store  # which brings no keys
        firn.extra |= identity.web(firn.folder) | {"FIRN_WAREHOUSE_IDENTITY": thief.role}
        with firn:
            api = Api(firn)
            body = described(keys, endpoint=store.url, **{"sts-endpoint": thief.url, "role-arn": thief.role})
            del body["credentials"]
            api.post(ROOT, body).ok()
            assert [form["Action"] for form in identity.forms] == ["AssumeRoleWithWebIdentity"] * len(identity.forms)
            assert thief.forms and all(form["Action"] == "AssumeRole" for form in thief.forms)
            assert identity.token not in str(thief.forms)
            api.close()


def test_the_servers_token_goes_to_named_hosts():
    """Google's storage is shown the token itself: the server's own one only by hosts that the operator has named."""
    body = {"name": "lake", "base-location": "gs://bucket/lake", "storage": {"type": "gcs"}}
    with started("*") as firn:
        api = Api(firn)
        for member in ("endpoint", "sts-endpoint", "client-endpoint"):
            answer = api.post(ROOT, body | {"storage": {"type": "gcs", member: "https://storage.example"}})
            answer.fails(403, contains=f"/storage/{member}")
            assert "the server's own token" in answer.error["message"]
        api.close()


def test_a_token_service_that_stalls_holds_up_nobody_else(store, identity, keys):
    """While a warehouse whose keys come from there is closed, as all are when one is changed, the others are served."""
    identity.life, identity.external_id = 4, identity.ANY
    with started(f"{store.url} {identity.url}") as firn, concurrent.futures.ThreadPoolExecutor(1) as pool:
        api = Api(firn)
        slow = described(keys, endpoint=store.url, **{"sts-endpoint": identity.url, "role-arn": identity.role})
        slow = api.post(ROOT, slow).ok().json
        other = api.post(ROOT, described(keys, endpoint=store.url) | {"name": "other", "base-location": "s3://bucket/b"})
        api.post(f"/v1/{slow['id']}/namespaces", {"namespace": ["a"]}).ok()
        identity.mode, asked = "stalls", len(identity.requests)
        while len(identity.requests) == asked:  # it asks for new keys long before the old ones expire
            time.sleep(0.05)
        begun, longest = time.monotonic(), 0
        change = pool.submit(lambda: Api(firn).post(f"{ROOT}/other", {"defaults": {"a": "b"}}).ok())
        while not change.done():
            if time.monotonic() > begun + 4:
                identity.mode = "good"
            at = time.monotonic()
            api.get(f"/v1/{other.ok().json['id']}/namespaces").ok()
            longest = max(longest, time.monotonic() - at)
        assert longest < max(time.monotonic() - begun, 1) / 2
        api.close()


def test_words_of_a_store_are_for_the_log(victim):
    """It may be anything inside that was made to answer, or tell of what is not the caller's to know."""
    secret = secrets.token_hex(20)
    words = f"internal-host-7 says that user root of arn:aws:iam::123:user/ops may not; key {secret}"
    bodies = {
        "AccessDenied": f"<Error><Code>AccessDenied</Code><Message>{words}</Message></Error>",
        "": f"<Error><Code>{words}</Code><Message>{words}</Message></Error>"}
    with started(urllib.parse.urlsplit(victim.url).netloc) as firn:
        api = Api(firn)
        for code, body in bodies.items():
            victim.reply = 403, {"Content-Type": "application/xml", "x-amz-request-id": words}, body.encode()
            body = described(Keys(), endpoint=victim.url)
            message = api.post(ROOT, body).fails(400, contains=f"403 {code}".strip())["message"]
            made = api.post(ROOT, body | {"active": False}).ok().json
            found = api.post(f"{ROOT}/{made['name']}/check").ok().json
            assert found["ok"] is False
            for text in (message, found["message"]):
                assert "internal-host" not in text and "arn:aws" not in text and secret not in text
            api.delete(f"{ROOT}/{made['name']}").expect(204)
        assert firn.log_text().count("internal-host-7 says that user root of arn:aws:iam::123:user/ops may not; key ***") >= 4
        assert secret not in firn.log_text()
        api.close()


def test_words_of_a_store_in_a_load(store, keys):
    """Whoever loads a table whose file the store denies learns the code, the operator why."""
    firn = started(urllib.parse.urlsplit(store.url).netloc, FIRN_CACHE="0")
    with firn:
        api = Api(firn)
        house = api.post(ROOT, described(keys, endpoint=store.url)).ok().json
        path = f"/v1/{house['id']}/namespaces"
        api.post(path, {"namespace": ["a"]}).ok()
        api.post(f"{path}/a/tables", {"name": "t", "schema": simple()}).ok()
        keys.revoke_all()
        answer = api.get(f"{path}/a/tables/t").expect(500)
        assert "ExpiredToken" in answer.error["message"] and "words of the store" not in answer.body.decode()
        firn.wait_log("ExpiredToken.*words of the store")
        api.close()
