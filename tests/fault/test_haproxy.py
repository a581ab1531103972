"""Two servers behind HAProxy with the configuration that is shipped: nothing is smuggled, every name
still arrives, and a server that dies costs nobody an acknowledged change."""

import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import pytest

import services
from conftest import on_postgres
from firn_client import SLOWNESS, Api, enc, enc_java, in_parallel, ns_path, set_properties, table_path

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "docker/haproxy.cfg"


class Front:
    """HAProxy as the servers' clients see it: an address like that of a server."""

    process = None

    def __init__(self, first, second):
        self.servers = first, second
        self.store = first.store
        self.address = f"127.0.0.1:{services.free_ports(1)}"

    def start(self):
        env = os.environ | {"HAPROXY_LISTEN": self.address}
        for number, server in enumerate(self.servers, 1):
            host, _, port = server.admin_address.rpartition(":")
            env |= {f"FIRN_{number}": server.address, f"FIRN_{number}_HOST": host, f"FIRN_{number}_ADMIN_PORT": port}
        with open(self.servers[0].folder / "haproxy.log", "ab") as log:
            self.process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", str(CONFIG)], env=env, stdout=log, stderr=log)
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


def behind(cluster):
    first = on_postgres(cluster)
    second = first.replica()
    try:
        first.start()
        # the second one's ports stay the same, so that it is found again after a restart
        second.start()
        second.extra = dict(second.extra) | {"FIRN_LISTEN": second.address, "FIRN_ADMIN_LISTEN": second.admin_address}
        front = Front(first, second)
        try:
            yield front.start()
        finally:
            front.close()
    finally:
        second.kill()
        second.check_log()
        first.close()


@pytest.fixture(scope="module")
def front(cluster):
    yield from behind(cluster)


@pytest.fixture
def api(front):
    client = Api(front)
    yield client
    client.close()


def talk(front, data, timeout=5):
    """All that comes back until the connection ends or is silent."""
    with socket.create_connection(front.host_port, timeout=timeout) as wire:
        wire.sendall(data.encode("latin-1"))
        got = b""
        try:
            while piece := wire.recv(65536):
                got += piece
                if b"\r\n\r\n" in got and b"HTTP/1.1 4" in got:
                    wire.settimeout(0.3)
        except (TimeoutError, ConnectionError):
            pass
        return got


INNER = "DELETE /v1/namespaces/victim HTTP/1.1\r\nHost: h\r\n\r\n"


@pytest.mark.parametrize("head,body", [
    ("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n" + INNER),
    (f"Content-Length: {5 + len(INNER)}\r\nTransfer-Encoding: chunked", "0\r\n\r\n" + INNER),
    (f"Content-Length: {len(INNER)}\r\nContent-Length: 0", INNER),
    (f"Content-Length: 0\r\nContent-Length: {len(INNER)}", INNER),
    ("Content-Length: 0, 0", INNER), ("Content-Length: +0", INNER), ("Content-Length: -1", INNER),
    ("Transfer-Encoding: xchunked", "0\r\n\r\n" + INNER), ("Transfer-Encoding : chunked", "0\r\n\r\n" + INNER),
    ("Transfer-Encoding: gzip, chunked", "0\r\n\r\n" + INNER), ("Transfer-Encoding:\x0bchunked", "0\r\n\r\n" + INNER),
    ("X: a\r\n folded: b\r\nContent-Length: 0", INNER), ("X: a\nContent-Length: 0", INNER),
    ("Host: other\r\nContent-Length: 0", INNER), (": nameless\r\nContent-Length: 0", INNER),
    ("X A: b\r\nContent-Length: 0", INNER), ("X: a\x00b\r\nContent-Length: 0", INNER)])
def test_nothing_is_smuggled(front, api, head, body):
    """A second request hidden in the first: refused, or what came behind the first is a request of its own that
    both parsers see. Whatever is refused ends the connection, and nobody else's answers are mixed up."""
    api.create_namespace("victim").expect(200, 409)
    got = talk(front, f"POST /v1/nothing HTTP/1.1\r\nHost: h\r\n{head}\r\n\r\n{body}")
    statuses = [line.split()[1] for line in got.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    if b"204" in statuses:
        # seen by HAProxy as a request of its own, in the open
        assert len(statuses) == 2 and statuses[0] in (b"404", b"405", b"400"), got
        assert head.split("\r\n")[0].partition(":")[0] in ("X", "Host", "Content-Length") and "chunked" not in head, head
    for _ in range(4):
        assert api.get("/v1/config").ok().json["overrides"]


def refusal(data):
    """The status of the only answer; HAProxy's own words for what it cannot read are HTML."""
    assert data.count(b"HTTP/1.1 ") == 1, data
    return int(data.split()[1])


@pytest.mark.parametrize("head", [
    "GET /v1/config HTTP/1.1\r\nHost: h\r\nX: " + "x" * 40_000 + "\r\n\r\n",
    "GET /v1/config?x=" + "x" * 40_000 + " HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /v1/config HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n"])
def test_what_is_too_long_or_malformed_is_refused(front, api, head):
    """By whichever of the two, and the connection ends."""
    assert refusal(talk(front, head)) in (400, 414, 431)
    api.get("/v1/config").ok()


def test_oversized_bodies_are_refused(api):
    """By the server, after all of it was read away; the connection goes on."""
    api.request("POST", "/v1/namespaces", b" " * (33 << 20)).fails(413)
    api.get("/v1/config").ok()


def test_slow_requests_are_ended(front, api):
    """A head that never ends: told so and cut off, while others are served."""
    with socket.create_connection(front.host_port, timeout=40) as wire:
        wire.sendall(b"GET /v1/config HTTP/1.1\r\nHost: h\r\nX: ")
        begin = time.monotonic()
        wire.settimeout(0.5)
        got, ended = b"", False
        while not ended and time.monotonic() - begin < 40 * SLOWNESS:
            try:
                piece = wire.recv(65536)
                got, ended = got + piece, not piece
            except TimeoutError:
                api.get("/v1/config").ok()
            except ConnectionError:
                ended = True
        assert ended
        assert refusal(got) == 408


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


def test_request_id_of_the_proxy_reaches_the_log(front, api):
    """One id through all logs."""
    ids = {api.get("/v1/config").header("X-Request-ID") for _ in range(6)}
    assert len(ids) == 6
    deadline = time.monotonic() + 5
    while not all(any(i in s.log_text() for s in front.servers) for i in ids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_dies_and_comes_back(front, api):
    """Under load, three times: no acknowledged change is lost, no refused one is there, and there is always
    somebody who serves."""
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
            except OSError:
                unknown.add(key)
                continue
            if answer.status == 200:
                applied.add(key)
            elif answer.status in (409, 429):
                refused.add(key)
            elif answer.status in (500, 502, 504):
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
        time.sleep(0.5)
        assert len(applied) > before, "nobody serves"
        second.start()
    stop.set()
    for thread in threads:
        thread.join()
    there = set(api.load(ns, "t").ok().json["metadata"]["properties"])
    assert not wrong, wrong[:3]
    assert not applied - there and not refused & there
    assert len(applied) > 50


def test_rolling_restart_is_not_noticed(front, api):
    """A server that is told to stop with a drain: not one request fails."""
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    second = front.servers[1]
    second.restart(env={"FIRN_DRAIN_WAIT": "3"})
    time.sleep(2.5)
    stop, bad = threading.Event(), []

    def work(i):
        client = Api(front)
        while not stop.is_set():
            try:
                for answer in (client.get(f"{ns_path(ns)}/tables/t"), client.commit(ns, "t", [set_properties(**{f"k{i}": "v"})])):
                    if answer.status not in (200, 409):
                        bad.append(str(answer))
            except OSError as error:
                bad.append(repr(error))
        client.close()

    def restart():
        time.sleep(0.5)
        second.stop()
        second.start()
        time.sleep(1.5)
        stop.set()

    in_parallel(5, lambda i: restart() if i == 4 else work(i))
    assert not bad, bad[:5]
