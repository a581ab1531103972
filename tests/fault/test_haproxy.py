"""Two servers behind HAProxy with the configuration that is shipped: what the servers refuse is refused
in their words, every name arrives, and a server that dies costs nobody an acknowledged change."""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import threading
import time

import pytest

import services
from conftest import on_postgres
from firn_client import SLOWNESS, Api, enc, enc_java, eventually, in_parallel, ns_path, set_properties, table_path
from wire import GET, INNER, REFUSED, REFUSED_BY_LIBRARY, SMUGGLED, Wire, error, refused, smuggling

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "docker/haproxy.cfg"
REWRITING = pathlib.Path(__file__).with_name("haproxy-http.cfg")
# how long the servers wait for a head and for a body
PATIENCE = {"FIRN_HEAD_TIMEOUT": "4", "FIRN_BODY_TIMEOUT": "6"}


def free_address():
    """For who has to be found again after a restart."""
    return f"127.0.0.1:{services.free_ports(1)}"


class Front:
    """HAProxy as the servers' clients see it: an address like that of a server."""

    process = None

    def __init__(self, first, second, config=CONFIG):
        self.servers = first, second
        self.config = config
        self.store = first.store
        self.address = free_address()

    def start(self):
        env = os.environ | {"HAPROXY_LISTEN": self.address}
        for number, server in enumerate(self.servers, 1):
            host, _, port = server.admin_address.rpartition(":")
            env |= {f"FIRN_{number}": server.address, f"FIRN_{number}_HOST": host, f"FIRN_{number}_ADMIN_PORT": port}
        with open(self.servers[0].folder / "haproxy.log", "ab") as log:
            self.process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", str(self.config)], env=env, stdout=log, stderr=log)
        deadline = time.monotonic() + 20 * SLOWNESS
        client = Api(self)
        while True:
            try:
                if client.request("GET", "/v1/config", check=False).status == 200:
                    client.close()
                    return self
            except OSError:
                pass
            assert time.monotonic() < deadline and self.process.poll() is None, "HAProxy does not find the servers"
            time.sleep(0.05)

    @property
    def host_port(self):
        host, _, port = self.address.rpartition(":")
        return host, int(port)

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)


def two_servers(cluster, env):
    first = on_postgres(cluster, env=env)
    second = first.replica()
    try:
        for server in (first, second):
            server.extra = env | {"FIRN_LISTEN": free_address(), "FIRN_ADMIN_LISTEN": free_address()}
            server.start()
        yield first, second
    finally:
        second.kill()
        second.check_log()
        first.close()


@pytest.fixture(scope="module")
def servers(cluster):
    yield from two_servers(cluster, PATIENCE)


def running(servers, config=CONFIG):
    front = Front(*servers, config)
    try:
        yield front.start()
    finally:
        front.close()


@pytest.fixture(scope="module")
def front(servers):
    yield from running(servers)


@pytest.fixture(scope="module")
def rewriting(servers):
    yield from running(servers, REWRITING)


@pytest.fixture
def api(front):
    client = Api(front)
    yield client
    client.close()


# --- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize("request_", REFUSED, ids=range(len(REFUSED)))
def test_requests_with_two_readings(front, api, request_):
    """The servers' own words, as without HAProxy."""
    refused(front, request_)
    api.head("/v1/namespaces/smuggled").expect(404)


@pytest.mark.parametrize("status,request_", REFUSED_BY_LIBRARY, ids=range(len(REFUSED_BY_LIBRARY)))
def test_requests_that_the_library_refuses(front, api, status, request_):
    """As without HAProxy."""
    refused(front, request_, status)
    api.head("/v1/namespaces/smuggled").expect(404)


def test_nothing_is_smuggled(front, api):
    """A second request hidden in the first."""
    api.create_namespace("victim").expect(200, 409)
    for head in SMUGGLED:
        with Wire(front) as wire:
            wire.send(smuggling(head))
            error(wire.answer(), 400)
            assert wire.closed(), head
    api.head("/v1/namespaces/victim").expect(204)


@pytest.mark.parametrize("head", SMUGGLED)
def test_nothing_is_smuggled_through_a_proxy_that_rewrites(rewriting, head):
    """Refused by one of the two, or what came behind the first is a request of its own that both see. Nobody
    else's answers are mixed up."""
    api = Api(rewriting)
    api.create_namespace("victim").expect(200, 409)
    with Wire(rewriting, timeout=20) as wire:
        wire.send(smuggling(head), "GET /v1/config HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        wire.closed()
    statuses = re.findall(rb"^HTTP/1\.1 (\d+)", wire.rest, re.M)
    if b"204" in statuses:
        # seen by HAProxy as a request of its own, in the open
        assert len(statuses) == 3 and statuses[0] in (b"404", b"405", b"400"), wire.rest
        assert head.split("\r\n")[0].partition(":")[0] in ("X", "Host", "Content-Length") and "chunked" not in head, head
    for _ in range(4):
        assert api.get("/v1/config").ok().json["overrides"]
    api.close()


def test_oversized_bodies_are_refused(api):
    """After all of it was read away; the connection goes on."""
    api.request("POST", "/v1/namespaces", b" " * (33 << 20)).fails(413)
    api.get("/v1/config").ok()


@pytest.mark.parametrize("start", [
    "GET /v1/config HTTP/1.1\r\nHost: h\r\nX: ",
    "POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{"])
def test_slow_requests_are_ended(front, api, start):
    """A head and a body that never end, however steadily the bytes come: told so and cut off, while others are served."""
    with Wire(front) as wire:
        wire.send(start)
        begin = time.monotonic()
        wire.socket.settimeout(0.2)
        try:
            while time.monotonic() - begin < 60 * SLOWNESS:
                try:
                    if not wire.more():
                        break
                except TimeoutError:
                    wire.send("x")
                    api.get("/v1/config").ok()
        except ConnectionError:
            pass  # what was sent last found nobody
        error(wire.answer(), 408)
        assert wire.rest == b""


# --- what passes -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a b", "a+b", "a/b", "a%2Fb", "%", "a?b#c", "..x", "\u00fc", "\U0001f3d4", "a;b,c", "~*", "a.b"])
def test_names_arrive(api, name):
    """HAProxy hands paths on as they are."""
    ns = api.new_namespace()
    api.create_namespace([ns, name]).ok()
    api.create([ns, name], name).ok()
    for how in (enc, enc_java):
        assert api.get(ns_path([ns, name], how)).ok().json["namespace"] == [ns, name]
        api.get(table_path([ns, name], name, how)).ok()
    api.drop([ns, name], name).expect(204)


def test_large_bodies_and_answers(api):
    """Megabytes in both directions, compressed and not."""
    ns = api.new_namespace()
    table = api.table(ns, "t")
    texts = {f"k{i}": "x" * 900_000 for i in range(5)}
    table.apply(set_properties(**texts))
    assert texts.items() <= table.metadata["properties"].items()
    assert texts.items() <= table.load(Accept_Encoding="gzip").ok().json["metadata"]["properties"].items()


def test_answers_are_those_of_the_servers(front, api):
    """Request ids are found in the log of one of them, header names are written as they write them."""
    ids = {api.request("GET", "/v1/config", headers={"X-Request-ID": f"through-{i}"}).header("X-Request-ID") for i in range(6)}
    assert ids == {f"through-{i}" for i in range(6)}
    eventually(lambda: all(any(i in s.log_text() for s in front.servers) for i in ids))
    with Wire(front) as wire:
        wire.send("GET /v1/config HTTP/1.1\r\nHost: h\r\n\r\n")
        wire.more()
        assert b"\r\nX-Request-ID: " in wire.rest


def test_connections_are_spread(front):
    """Each new one goes to the server with fewer; clients keep those that they have."""
    wires = [Wire(front) for _ in range(30)]
    for wire in wires:
        wire.send(GET)
        assert wire.answer()[0] == 200
    held = [server.metric("firn_connections") for server in front.servers]
    for wire in wires:
        wire.socket.close()

    def are_gone():
        gone = [was - server.metric("firn_connections") for server, was in zip(front.servers, held, strict=True)]
        return sum(gone) >= 28 and min(gone) >= 10

    eventually(are_gone)


def test_connections_beyond_the_limit(servers, tmp_path):
    """Where no server takes one more, a read is answered 503 and a change 429, both with Retry-After."""
    config = tmp_path / "haproxy.cfg"
    config.write_text(CONFIG.read_text().replace("maxconn 1000", "maxconn 3"))
    for front in running(servers, config):
        client, wires = Api(front), []

        def one_more():
            """The place of one that has just ended may not be free yet."""
            wires.append(Wire(front))
            wires[-1].send(GET)
            if wires[-1].answer()[0] != 200:
                wires.pop().socket.close()
            return len(wires) == 6

        try:
            eventually(one_more)
            turned_away(front)
        finally:
            for wire in wires:
                wire.socket.close()
        eventually(lambda: client.request("GET", "/v1/config", check=False).status == 200)
        client.close()


def turned_away(front):
    """What a client is told when nothing was done, then the connection ends."""
    for method, body, status, key in (("GET", None, 503, {}), ("HEAD", None, 503, {}), ("POST", b"{}", 429, {}),
                                      ("DELETE", None, 429, {}), ("POST", b" " * 10_000, 429, {}),
                                      ("POST", b"{}", 503, {"Idempotency-Key": "k"})):
        connection = http.client.HTTPConnection(*front.host_port, timeout=20 * SLOWNESS)
        connection.request(method, "/v1/namespaces", body, key)
        got = connection.getresponse()
        text = got.read()
        assert got.status == status and int(got.headers["Retry-After"]) >= 1, (method, got.status)
        assert got.headers["Connection"] == "close"
        if method != "HEAD":
            error((got.status, {"content-type": got.headers["Content-Type"]}, text), status, "SlowDownException")
        connection.close()


# --- servers go and come ---------------------------------------------------------------


def test_nobody_is_there(front, api):
    """From the first moment on, and over once a server is back."""
    for server in front.servers:
        server.kill()
    turned_away(front)
    front.servers[1].start()
    eventually(lambda: api.request("GET", "/v1/config", check=False).status == 200)
    front.servers[0].start()


def test_a_server_dies_and_comes_back(front, api):
    """Under load, three times: no acknowledged change is lost, no refused one is there, and there is always
    somebody who serves. Clients of the server that died see their connections end."""
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    second = front.servers[1]
    applied, refused, unknown, stop = set(), set(), set(), threading.Event()
    wrong = []

    def write(i):
        client = Api(front)
        k = 0
        while not stop.is_set():
            k += 1
            key = f"k{i}-{k}"
            try:
                answer = client.request("POST", f"{ns_path(ns)}/tables/t", {"updates": [set_properties(**{key: "v"})]},
                                        check=False)
            except (OSError, http.client.HTTPException):
                unknown.add(key)
                continue
            if answer.status == 200:
                applied.add(key)
            elif answer.status in (409, 429):
                refused.add(key)
            elif answer.status == 500:
                unknown.add(key)
                if json.loads(answer.body)["error"]["type"] != "CommitStateUnknownException":
                    wrong.append(str(answer))
            else:
                wrong.append(str(answer))
        client.close()

    threads = [threading.Thread(target=write, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        time.sleep(0.8)
        second.kill()
        time.sleep(0.8)
        before = len(applied)
        eventually(lambda: len(applied) > before)
        second.start()
    eventually(lambda: len(applied) > 50)
    stop.set()
    for thread in threads:
        thread.join()
    api.close()  # it may be one of those that ended
    there = set(api.load(ns, "t").ok().json["metadata"]["properties"])
    assert not wrong, wrong[:3]
    assert not applied - there and not refused & there


def test_rolling_restart_is_not_noticed(front, api):
    """A server that is told to stop with a drain: not one request fails, neither of busy clients nor of those
    that ask now and then on the connection that they have."""
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    second = front.servers[1]
    second.restart(env={"FIRN_DRAIN_WAIT": "4"})
    stop, bad = threading.Event(), []
    deadline = time.monotonic() + 30 * SLOWNESS
    while second.metric("firn_connections") < 2:
        assert time.monotonic() < deadline, "HAProxy does not find the server again"
        wires = [Wire(front) for _ in range(8)]
        for wire in wires:
            wire.send(GET)
            wire.answer()
        time.sleep(0.05)
    for wire in wires:
        wire.socket.close()

    def work(i):
        client = Api(front)
        while not stop.wait(0.5 if i % 2 else 0):
            try:
                for answer in (client.get(f"{ns_path(ns)}/tables/t"), client.commit(ns, "t", [set_properties(**{f"k{i}": "v"})])):
                    if answer.status not in (200, 409):
                        bad.append(str(answer))
            except OSError as error_:
                bad.append(repr(error_))
        client.close()

    def restart():
        time.sleep(0.5)
        second.stop()
        second.start()
        time.sleep(1.5)
        stop.set()

    in_parallel(7, lambda i: restart() if i == 6 else work(i))
    assert not bad, bad[:5]
