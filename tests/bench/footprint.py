"""Start, memory, and what only one request at a time shows."""

import concurrent.futures
import contextlib
import dataclasses
import pathlib
import socket
import statistics
import threading
import time
import urllib.error

import data
from firn_server import Server
from measure import Load, memory_mb, wrk
from prepare import say
from stages import PLAIN, surroundings
from workloads import KEYS, NO_KEYS, TABLE, create, get, mixed


GROWS = 0.05  # of the memory under a mixed load: what one more thread has taken for itself, never more with time


def time_to_ready(firn):
    """From the start of the process to 200 from /health/ready, with a database that is up to date."""
    host, _, port = firn.admin_address.rpartition(":")
    ask = b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    begin = time.perf_counter()
    firn.start(wait=False)
    while time.perf_counter() - begin < 20:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1) as s:
            s.sendall(ask)
            if s.recv(100).startswith(b"HTTP/1.1 200"):
                return (time.perf_counter() - begin) * 1000
        time.sleep(0.0005)
    raise SystemExit(f"not ready:\n{firn.log_tail()}")


def start_and_memory(firn, starts):
    """A started server is stopped, then started again several times on the same addresses."""
    firn.extra |= {"FIRN_LISTEN": firn.address, "FIRN_ADMIN_LISTEN": firn.admin_address}
    times = []
    for _ in range(starts):
        firn.stop()
        times.append(time_to_ready(firn))
        firn.wait_ready()
    time.sleep(1)
    idle = memory_mb(firn.pid)
    connections = []
    for _ in range(400):
        s = socket.create_connection(firn.host_port)
        s.sendall(b"GET /v1/config HTTP/1.1\r\nHost: x\r\n\r\n")
        assert s.recv(20).startswith(b"HTTP/1.1 200")
        connections.append(s)
    each = (memory_mb(firn.pid) - idle) * 1024 / len(connections)
    for s in connections:
        s.close()
    return {"ready_ms": statistics.median(times), "ready_ms_best": min(times), "idle_mb": idle,
            "connection_kb": each}


def after_the_runs(side):
    """With default settings: what is left after loads of 10 KB and 1 MB and commits to both."""
    from workloads import commit
    for request in (get(TABLE + "small-{n}"), get(TABLE + "large-{n}"), commit(TABLE + "small-{n}"),
                    commit(TABLE + "large-{n}")):
        wrk(Load((request,), 32, data.TABLES), side, 2)
    side.settle()
    time.sleep(6)  # what is free is given back every five seconds
    return memory_mb(side.pids[0])


def readers_at_once(side, n=256):
    """So many ask for one table that nobody has asked for: how often its file is read."""
    files = side.server.metric("firn_store_requests_total")
    gate = threading.Barrier(n)

    def one(_):
        gate.wait()
        return len(side.call("GET", TABLE + "large-9")[0])

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        sizes = set(pool.map(one, range(n)))
    assert len(sizes) == 1, sizes
    return side.server.metric("firn_store_requests_total") - files


def racers(side, n=32):
    """So many create one name at the same time: who was told what."""
    gate = threading.Barrier(n)
    body = {"name": "wanted", "schema": data.SCHEMA}

    def one(_):
        gate.wait()
        try:
            side.call("POST", "{base}/namespaces/bench/tables", body)
            return 200
        except urllib.error.HTTPError as error:
            return error.code

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        told = list(pool.map(one, range(n)))
    return {status: told.count(status) for status in set(told)}


def first_byte(side, path):
    """Milliseconds until the first byte of an answer, and until all of it; median of seven."""
    host, port = side.server.host_port
    first, whole = [], []
    for _ in range(7):
        with socket.create_connection((host, port)) as s:
            begin = time.perf_counter()
            s.sendall(f"GET {side.path(path)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            s.recv(1)
            first.append((time.perf_counter() - begin) * 1000)
            while s.recv(1 << 20):
                pass
            whole.append((time.perf_counter() - begin) * 1000)
    return {"first_ms": statistics.median(first), "whole_ms": statistics.median(whole)}


def most_memory(side, work):
    """What `work` returns, and the MB that the server took meanwhile, at the most, on top of what it had."""
    process = pathlib.Path(f"/proc/{side.pids[0]}")
    before = memory_mb(side.pids[0])
    (process / "clear_refs").write_text("5")
    result = work()
    peak = int((process / "status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    return result | {"mb": peak - before}


def measure(stages, starts):
    result = {}
    for name, uri in (("sqlite", "sqlite"), ("postgresql", stages.database.uri)):
        with surroundings({"FIRN_TEST_DB": uri, "FIRN_BIN": str(stages.binaries["release"])}), Server(env=PLAIN) as firn:
            result[name] = start_and_memory(firn, starts)
    side = stages.open("defaults")
    side.server.extra |= {"FIRN_LISTEN": side.server.address, "FIRN_ADMIN_LISTEN": side.server.admin_address}
    side.server.restart()  # what was registered is kept in memory
    side.pids = [side.server.pid]
    result["readers"] = {"clients": 256, "reads": readers_at_once(side)}
    result["racers"] = racers(side)
    result["rss_after_mb"] = after_the_runs(side)
    data.new_namespace(side, "crowd")
    data.crowd(side.server, "crowd", 0, 99_999)
    result["list"] = most_memory(side, lambda: first_byte(side, "{base}/namespaces/crowd/tables"))
    stages.close()
    return result


def keys_for_many(stages, n=10_000):
    """So many tables of one warehouse, each loaded once with keys of its own, which the token service has to make: what
    is kept of them. Each was loaded without keys before, so that nothing else is new."""
    side = stages.open("vended")
    data.new_namespace(side, "many")
    data.crowd(side.server, "many", 0, n - 1)
    path = "{base}/namespaces/many/tables/table_"

    def load(numbers, headers):
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for _ in pool.map(lambda i: side.call("GET", f"{path}{i}", headers=headers), numbers):
                pass
        return memory_mb(side.pids[0])

    load(range(n), dict(NO_KEYS))
    before = load(range(64), dict(KEYS))
    asked = side.server.metric("firn_vend_requests_total")
    half = load(range(64, n // 2), dict(KEYS))
    after = load(range(n // 2, n), dict(KEYS))
    return {"tables": n, "asked": side.server.metric("firn_vend_requests_total") - asked + 64, "before_mb": before,
            "half_mb": half, "after_mb": after, "grown_mb": after - before,
            "kept_mb": side.server.metric("firn_vend_bytes") / (1 << 20)}


# --- soak -------------------------------------------------------------------------------


def slope(points):
    """Of a straight line through (time, value)."""
    t0, v0 = (statistics.mean(p[i] for p in points) for i in (0, 1))
    return sum((t - t0) * (v - v0) for t, v in points) / (sum((t - t0) ** 2 for t, _ in points) or 1)


def soak(stages, seconds):
    """The mixed load at 70 % of what it reaches, and the memory meanwhile, without the first fifth."""
    side = stages.open("main")
    full = Load(mixed(), 32, 8)
    peak = wrk(full, side, 5)
    rate = 0.7 * peak["requests"] / peak["seconds"]
    pause = max(1, round(1000 * full.clients / rate))
    points, ended = [], threading.Event()

    def watch():
        begin = time.monotonic()
        while not ended.wait(1):
            points.append((time.monotonic() - begin, side.memory()))
            stages.tidy()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        seen = wrk(dataclasses.replace(full, pause=pause), side, seconds)
    finally:
        ended.set()
        watcher.join()
    series = points[::max(1, len(points) // 30)]
    points = points[len(points) // 5:]
    mean = statistics.mean(mb for _, mb in points)
    grown = slope(points) * (points[-1][0] - points[0][0]) / mean
    say(f"memory, MB: {' '.join(f'{mb:.1f}' for _, mb in series)}; of the cache {side.server.metric('firn_cache_bytes') / 1e6:.1f}")
    say(f"{seconds} s of the mixed load at {seen['requests'] / seen['seconds']:.0f}/s (peak {rate / 0.7:.0f}): p50 "
        f"{seen['p50_us'] / 1000:.2f} ms, p99 {seen['p99_us'] / 1000:.2f} ms, memory {mean:.1f} MB, "
        f"{grown:+.1%} over the run, {seen['refused']} refused")
    return {"seconds": seconds, "rate": seen["requests"] / seen["seconds"], "p50": seen["p50_us"], "p99": seen["p99_us"],
            "mean_mb": mean, "grown": grown, "refused": seen["refused"], "memory_mb": [round(mb, 2) for _, mb in series],
            "held": not seen["refused"] and grown <= GROWS}
