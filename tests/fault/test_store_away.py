"""The object store is slow, refuses, or loses answers: what is in memory is served on, changes are
certainly not applied, and everything works again as soon as the store does."""

import http.client
import http.server
import os
import socket
import socketserver
import threading
import time
import urllib.parse

import pytest

import services
from firn_client import SLOWNESS, Api, Table, in_parallel, set_properties
from firn_server import S3Store, Server, SqliteDatabase, temporary_folder
from load import BACK


@pytest.fixture(scope="module")
def seaweed():
    """The suite's store, or one for this run."""
    if os.environ.get("FIRN_TEST_STORE") == "s3":
        yield S3Store
        return
    with services.Seaweed(temporary_folder()) as weed:
        os.environ.update({k: v for k, v in weed.environment().items() if k != "FIRN_TEST_STORE"})
        yield S3Store


class Between(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Stands between the server and its store and hands requests on byte for byte, unless `rule` says what
    else to do: ("refuse",), ("cut before",), ("cut after",), ("answer", status, body), ("stall", seconds)."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, target):
        super().__init__(("127.0.0.1", 0), Handler)
        parts = urllib.parse.urlsplit(target)
        self.target = parts.hostname, parts.port
        self.rule = lambda method, path: None
        self.seen = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Connections are cut on purpose."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Quiet."""

    def cut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path))
        what = self.server.rule(self.command, self.path) or ("pass",)
        if what[0] == "cut before":
            self.cut()
            return
        if what[0] == "stall":
            time.sleep(what[1])
        if what[0] == "answer":
            self.reply(what[1], [("Content-Type", "application/xml")], what[2])
            return
        upstream = http.client.HTTPConnection(*self.server.target, timeout=60)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders(body or None)
        got = upstream.getresponse()
        data = got.read()
        headers = [(n, v) for n, v in got.getheaders() if n.lower() not in ("transfer-encoding", "content-length", "connection")]
        length = got.getheader("Content-Length")
        upstream.close()
        if what[0] == "cut after":
            self.cut()
            return
        self.reply(got.status, headers, data, length)

    def reply(self, status, headers, data, length=None):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = hand_on


@pytest.fixture
def firn(seaweed):
    store = seaweed()
    between = Between(store.endpoint)
    store.settings = dict(store.settings) | {"FIRN_S3_ENDPOINT": between.url}
    folder = temporary_folder()
    server = Server(folder=folder, db=SqliteDatabase(folder), store=store)
    server.between = between
    server.start()
    api = Api(server)
    server.ns = api.new_namespace()
    api.create(server.ns, "t").ok()
    api.create(server.ns, "cold").ok()
    api.close()
    server.restart()
    api = Api(server)
    api.load(server.ns, "t").ok()
    api.close()
    yield server
    server.kill()
    server.check_log()
    between.shutdown()
    between.server_close()
    store.clear()


@pytest.fixture
def api(firn):
    client = Api(firn)
    yield client
    client.close()


def metadata_files(firn):
    return [f for f in firn.store.list() if ".metadata.json" in f]


ALWAYS = {
    "cut before": ("cut before",),
    "500": ("answer", 500, b"<Error><Code>InternalError</Code><Message>x</Message></Error>"),
    "503": ("answer", 503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"),
    "502 html": ("answer", 502, b"<html>bad gateway</html>"),
}


@pytest.mark.parametrize("how", ALWAYS)
def test_store_is_away(firn, api, how):
    """Loads from memory go on; cold ones are 503, changes 429, with Retry-After; drops and names need no
    store; afterwards all is as before, within seconds."""
    table = Table(api, firn.ns, "t")
    before = table.loaded
    firn.between.rule = lambda method, path: ALWAYS[how]

    def one(i):
        client = Api(firn)
        begin = time.monotonic()
        (lambda: client.load(firn.ns, "cold").fails(503, "SlowDownException"),
         lambda: client.commit(firn.ns, "t", [set_properties(a="b")]).fails(429, "SlowDownException"),
         lambda: client.create(firn.ns, "new").fails(429, "SlowDownException"))[i]()
        assert time.monotonic() - begin < 40 * SLOWNESS
        client.close()

    in_parallel(3, one)
    assert table.loaded == before
    api.rename((firn.ns, "cold"), (firn.ns, "warm")).expect(204)
    api.rename((firn.ns, "warm"), (firn.ns, "cold")).expect(204)
    assert api.names(firn.ns) == ["cold", "t"]
    assert firn.health("ready") == 200
    firn.between.rule = lambda method, path: None
    begin = time.monotonic()
    for request in (lambda: api.load(firn.ns, "cold"), lambda: table.commit(set_properties(a="b")),
                    lambda: api.create(firn.ns, "new")):
        while request().status != 200:
            assert time.monotonic() - begin < BACK
            time.sleep(0.05)
    assert len(metadata_files(firn)) == 4


def few(times, what, match=lambda method, path: method == "PUT"):
    """The rule that breaks the first requests of a kind."""
    left = [times]

    def rule(method, path):
        if match(method, path) and left[0] > 0:
            left[0] -= 1
            return what
        return None

    return rule


@pytest.mark.parametrize("what", [("cut before",), ("cut after",), ALWAYS["503"], ALWAYS["500"], ALWAYS["502 html"]],
                         ids=lambda w: " ".join(map(str, w[:2])))
def test_a_single_failure_is_not_noticed(firn, api, what):
    """Tried again: also when the file was written and only the answer was lost. One file for one version."""
    table = Table(api, firn.ns, "t")
    firn.between.rule = few(1, what)
    table.apply(set_properties(a="b"))
    assert table.metadata["properties"]["a"] == "b"
    assert len([f for f in metadata_files(firn) if f.startswith(table.location)]) == 2
    firn.between.rule = few(1, what)
    api.create(firn.ns, "new").ok()
    firn.between.rule = few(1, what, lambda method, path: method == "GET")
    api.load(firn.ns, "cold").ok()


def test_store_denies(firn, api):
    """403: trying again will not help; the reason is passed on, nothing was applied."""
    table = Table(api, firn.ns, "t")
    firn.between.rule = lambda method, path: ("answer", 403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
    for answer in (table.commit(set_properties(a="b")), api.create(firn.ns, "new")):
        assert answer.status in (400, 403), answer
    api.load(firn.ns, "cold").expect(403, 500, 503)
    firn.between.rule = lambda method, path: None
    assert "a" not in table.metadata["properties"]
    table.apply(set_properties(a="b"))


def test_bucket_is_missing(firn, api):
    """A sentence for the operator, not "table does not exist"."""
    table = Table(api, firn.ns, "t")
    firn.between.rule = lambda method, path: ("answer", 404, b"<Error><Code>NoSuchBucket</Code><Message>x</Message></Error>")
    answer = table.commit(set_properties(a="b"))
    assert answer.status in (400, 403, 429), answer
    answer = api.load(firn.ns, "cold")
    assert answer.status >= 400 and answer.error["type"] != "NoSuchTableException", answer


def test_missing_file(firn, api):
    """404 NoSuchKey for a cold table: NotFoundException with the location."""
    firn.between.rule = lambda method, path: ("answer", 404, b"<Error><Code>NoSuchKey</Code><Message>x</Message></Error>") \
        if method == "GET" else None
    api.load(firn.ns, "cold").fails(404, "NotFoundException", contains="Failed to open input stream for file: s3://")


def test_stalled_store(firn, api):
    """Requests that never end: bounded, and nobody else waits."""
    firn.between.rule = lambda method, path: ("stall", 600)
    done = {}

    def one(i):
        client = Api(firn)
        begin = time.monotonic()
        if i == 0:
            client.commit(firn.ns, "t", [set_properties(a="b")]).expect(429)
        elif i == 1:
            client.load(firn.ns, "cold").expect(503)
        else:
            while time.monotonic() - begin < 3:
                asked = time.monotonic()
                client.load(firn.ns, "t").ok()
                client.list_namespaces().ok()
                assert time.monotonic() - asked < 10 * SLOWNESS  # others wait longer than that
        done[i] = time.monotonic() - begin
        client.close()

    in_parallel(3, one)
    assert max(done.values()) < 60 * SLOWNESS, done
    firn.between.rule = lambda method, path: None
    assert "a" not in Table(api, firn.ns, "t").metadata["properties"]
    api.load(firn.ns, "cold").ok()


def test_answers_that_are_no_store(firn, api):
    """A captive portal, garbage, an answer cut short: an error, never metadata made of it."""
    for body in (b"<html>please log in</html>", b"", b"{", b"\x1f\x8b\x08garbage", b"null"):
        firn.between.rule = lambda method, path, body=body: ("answer", 200, body) if method == "GET" else None
        answer = api.load(firn.ns, "cold")
        assert answer.status in (500, 503), answer
    firn.between.rule = lambda method, path: None
    api.load(firn.ns, "cold").ok()


def test_redirects_are_not_followed(firn, api):
    """Location is never followed to another host."""
    elsewhere = Between(firn.store.endpoint)
    try:
        firn.between.rule = lambda method, path: ("answer", 307, b"<Error><Code>TemporaryRedirect</Code><Endpoint>"
                                                  + elsewhere.url.removeprefix("http://").encode() + b"</Endpoint></Error>")
        assert api.load(firn.ns, "cold").status >= 400
        assert elsewhere.seen == []
    finally:
        elsewhere.shutdown()
        elsewhere.server_close()


def test_stop_while_the_store_hangs(firn, api):
    """A drain ends, with the code of a clean stop."""
    firn.between.rule = lambda method, path: ("stall", 600)
    thread = threading.Thread(target=lambda: _quietly(firn))
    thread.start()
    time.sleep(0.5)
    begin = time.monotonic()
    assert firn.stop(timeout=60) == 0
    assert time.monotonic() - begin < 45 * SLOWNESS
    thread.join()


def _quietly(firn):
    client = Api(firn)
    try:
        client.request("POST", f"/v1/namespaces/{firn.ns}/tables/t", {"updates": [set_properties(a="b")]}, check=False)
    except (OSError, http.client.HTTPException):
        pass
    client.close()
