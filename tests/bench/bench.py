"""CPU time, latency and memory of the server under load, each beside its floor in the same run."""

import argparse
import contextlib
import fnmatch
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import prepare  # noqa: E402
from prepare import CACHE, ROOT, say  # noqa: E402

prepare.PACKAGES["bench"] = "wrk"
FLOORS = {"floor_http": "libmicrohttpd", "floor_lookup": "libpq", "floor_commit": "libpq",
          "floor_json": "jansson"}
TICK = os.sysconf("SC_CLK_TCK")
CORES = len(os.sched_getaffinity(0))
TABLES = 32


# --- building -----------------------------------------------------------------------


def build():
    """The release binary and the floor programs."""
    folder = CACHE / "bench"
    release = folder / "release"
    folder.mkdir(parents=True, exist_ok=True)
    if not (release / "build.ninja").exists():
        subprocess.run(["meson", "setup", "--buildtype=release", release, ROOT], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", release, "--quiet", "server/firn"], check=True)
    for name, library in FLOORS.items():
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", library], check=True,
                               capture_output=True, text=True).stdout.split()
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", folder / name, HERE / f"{name}.c", *flags,
                        "-lpthread"], check=True)
    return release / "server/firn", folder


# --- measuring ----------------------------------------------------------------------


def stat(pid):
    """The fields of /proc/PID/stat after the name: 11, 12 are utime, stime, 13, 14 the dead children's."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return [text.rpartition(")")[2].split()[i] for i in range(15)]


def process_cpu(pid):
    """A process with its children, those that ended included."""
    ticks = sum(int(x) for x in stat(pid)[11:15])
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                ticks += sum(int(x) for x in stat(child)[11:15])
    return ticks / TICK


def memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    kb = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Vm")}
    return int(kb["VmRSS"]) / 1024


class Bench:
    def __init__(self, options, firn, database, floors, folder):
        self.options = options
        self.firn = firn
        self.database = database
        self.floors = floors
        self.folder = folder
        self.leader = int((database.folder / "data/postmaster.pid").read_text().split()[0])
        self.rows = []

    # -- one measurement each; all times in microseconds of CPU for one request --

    def wrk(self, url, clients, seconds, method="GET", body=None, tag=None, tables=1):
        env = os.environ | {"METHOD": method, "COUNT": str(tables), "TARGET": "/" + url.split("/", 3)[3]}
        env |= {k: v for k, v in (("BODY", body), ("TAG", tag)) if v}
        output = subprocess.run(["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "20s", "-s",
                                 str(HERE / "load.lua"), url.replace("{n}", "0")], env=env, check=True,
                                capture_output=True, text=True).stdout
        line = next(x for x in output.splitlines() if x.startswith("RESULT "))
        result = json.loads(line.removeprefix("RESULT "))
        if result["errors"] or not result["requests"]:
            raise SystemExit(f"{method} {url}: {output}\n{self.firn.log_tail(5)}")
        return result

    def server(self, url, **load):
        """The real thing: what the server and PostgreSQL spend on a request."""
        self.wrk(url, **load | {"seconds": 1})
        self.settle()
        statements = self.firn.metric("firn_sql_statements_total")
        before = process_cpu(self.firn.pid), process_cpu(self.leader)
        result = self.wrk(url, **load)
        after = process_cpu(self.firn.pid), process_cpu(self.leader)
        statements = self.firn.metric("firn_sql_statements_total") - statements
        n = result["requests"]
        return {"rate": n / result["seconds"], "p50": result["p50_us"], "p99": result["p99_us"],
                "firn": (after[0] - before[0]) * 1e6 / n, "pg": (after[1] - before[1]) * 1e6 / n,
                "statements": statements / n}

    def settle(self):
        """Requests whose client has gone are still worked on."""
        while self.firn.metric("firn_lane_queue") > 0:
            time.sleep(0.05)
        time.sleep(0.2)

    def floor_http(self, clients, seconds, size, status=200, method="GET", body=None):
        from services import free_ports
        port = free_ports(1)
        child = subprocess.Popen([self.floors / "floor_http", str(port), str(CORES), str(status), str(size)],
                                 stdout=subprocess.PIPE)
        try:
            assert child.stdout.readline() == b"ready\n"
            url = f"http://127.0.0.1:{port}/x"
            self.wrk(url, clients, 1, method, body)
            before = process_cpu(child.pid)
            result = self.wrk(url, clients, seconds, method, body)
            return {"cpu": (process_cpu(child.pid) - before) * 1e6 / result["requests"],
                    "p50": result["p50_us"], "p99": result["p99_us"]}
        finally:
            child.terminate()
            child.wait()
            child.stdout.close()

    def floor_database(self, name, *words):
        """A floor program with the database: its own and PostgreSQL's time for one unit of its work."""
        before = process_cpu(self.leader)
        done = subprocess.run([self.floors / name, self.firn.db.uri, *map(str, words)], check=True,
                              capture_output=True, text=True).stdout.split()
        return (process_cpu(self.leader) - before + float(done[1])) * 1e6 / int(done[0])

    def floor_lookup(self, batch, seconds):
        return self.floor_database("floor_lookup", batch, seconds, "bench", "small-0")

    def floor_commit(self, size, clients, seconds):
        folder = self.folder / "floor"
        for i in range(clients):
            (folder / f"t{i}").mkdir(parents=True)
        try:
            return self.floor_database("floor_commit", folder, size, clients, seconds)
        finally:
            shutil.rmtree(folder)

    def floor_json(self, path, seconds):
        done = subprocess.run([self.floors / "floor_json", path, str(seconds)], check=True,
                              capture_output=True, text=True).stdout.split()
        return float(done[1]) * 1e6 / int(done[0])

    # -- a row of the table --

    def row(self, name, target, clients, size, status=200, lookup=False, commit=0, naive=None, **load):
        """Floors and server in turn, medians over the rounds."""
        if not fnmatch.fnmatch(name, self.options.rows):
            return
        seconds, rounds = self.options.seconds, []
        shape = {k: load[k] for k in ("method", "body") if k in load}
        for _ in range(self.options.rounds):
            one = self.server(self.firn.url + target, clients=clients, seconds=seconds, **load)
            http = self.floor_http(clients, seconds, size, status, **shape)
            one |= {"http": http["cpu"], "http_p50": http["p50"], "http_p99": http["p99"]}
            if lookup:
                batch = max(1, min(64, round(1 / one["statements"]))) if not commit else 1
                one["lookup"] = self.floor_lookup(batch, min(seconds, 2))
            if commit:
                self.settle()
                one["commit"] = self.floor_commit(commit, clients, seconds)
                self.tidy()
            rounds.append(one)
        row = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
        row["total"] = row["firn"] + row["pg"]
        row["floor"] = row["http"] + row.get("lookup", 0) + row.get("commit", 0)
        if naive:
            row["naive"] = self.floor_json(naive, seconds)
        self.rows.append({"name": name, "clients": clients, "bytes": size} | row)
        self.show(self.rows[-1])

    HEAD = ("workload", "clients", "req/s", "p50 ms", "p99 ms", "firn", "pg", "total", "floor", "ratio", "jansson")

    def head(self):
        say("\nCPU seconds for 1,000 requests; ratio: total to floor\n")
        say(self.line(*self.HEAD))

    @staticmethod
    def line(name, *rest):
        return f"{name:<16}" + "".join(f"{x:>9}" for x in rest)

    def show(self, r):
        ms = [f"{r[key] / 1000:.4f}" for key in ("firn", "pg", "total", "floor")]
        say(self.line(r["name"], r["clients"], f"{r['rate']:.0f}", f"{r['p50'] / 1000:.2f}", f"{r['p99'] / 1000:.2f}",
                      *ms, f"{r['total'] / r['floor']:.2f}", f"{r['naive'] / 1000:.3f}" if "naive" in r else ""))

    # -- tables --

    def create_tables(self):
        call(self.firn.url + "/v1/namespaces", {"namespace": ["bench"], "properties": {}})
        self.sizes, self.samples = {}, {}
        for kind, size in (("small", 10_000), ("large", 1_000_000)):
            for i in range(TABLES):
                location = f"{self.firn.store.base}/bench/{kind}-{i}"
                text = json.dumps(metadata(location, size), separators=(",", ":"))
                self.firn.store.write(f"{location}/metadata/00000-{uuid.uuid4()}.metadata.json", text.encode())
                file = self.firn.store.list(location)[0]
                call(self.firn.url + "/v1/namespaces/bench/register", {"name": f"{kind}-{i}", "metadata-location": file})
            sample = self.folder / f"{kind}.json"
            sample.write_text(text)
            self.samples[kind] = sample
            body, self.tag = call(f"{self.firn.url}/v1/namespaces/bench/tables/{kind}-0")
            self.sizes[kind] = len(body)

    def tidy(self):
        """Deletes the metadata files that commits have replaced."""
        current = {pathlib.Path(row[0].removeprefix("file://")) for row in
                   self.firn.sql("SELECT metadata_location FROM object")}
        for file in (self.firn.store.folder / "bench").rglob("*.metadata.json"):
            if file not in current:
                file.unlink()


def metadata(location, size):
    """A v2 table whose snapshots fill `size` bytes; the log of old files stays short."""
    base = 1_700_000_000_000
    fields = [{"id": i, "name": f"column_{i}", "type": "string", "required": False} for i in range(1, 11)]

    def snapshot(i):
        return {"sequence-number": i, "snapshot-id": 4_000_000_000_000_000 + i * 7_919,
                **({"parent-snapshot-id": 4_000_000_000_000_000 + (i - 1) * 7_919} if i > 1 else {}),
                "timestamp-ms": base + i * 60_000,
                "summary": {"operation": "append", "added-data-files": "4", "added-records": "100000",
                            "added-files-size": "4194304", "total-records": str(i * 100_000),
                            "total-files-size": str(i * 4_194_304), "total-data-files": str(i * 4),
                            "total-delete-files": "0", "engine-name": "spark"},
                "manifest-list": f"{location}/metadata/snap-{i}-1-{uuid.uuid4()}.avro", "schema-id": 0}

    count = max(2, (size - 1500) // (len(json.dumps(snapshot(1000), separators=(",", ":"))) + 62))
    snapshots = [snapshot(i) for i in range(1, count + 1)]
    last = snapshots[-1]
    return {
        "format-version": 2, "table-uuid": str(uuid.uuid4()), "location": location,
        "last-sequence-number": count, "last-updated-ms": last["timestamp-ms"], "last-column-id": 10,
        "current-schema-id": 0, "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"write.metadata.previous-versions-max": "1"},
        "current-snapshot-id": last["snapshot-id"], "snapshots": snapshots,
        "snapshot-log": [{"timestamp-ms": s["timestamp-ms"], "snapshot-id": s["snapshot-id"]} for s in snapshots],
        "metadata-log": [], "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
        "statistics": [], "partition-statistics": []}


def call(url, body=None):
    request = urllib.request.Request(url, data=json.dumps(body).encode() if body is not None else None,
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read(), answer.headers.get("ETag")


# --- start and memory -------------------------------------------------------------------


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
    settings = {"FIRN_LISTEN": firn.address, "FIRN_ADMIN_LISTEN": firn.admin_address}
    firn.extra |= settings
    times = []
    for _ in range(starts):
        firn.stop()
        times.append(time_to_ready(firn))
        firn.wait_ready()
    time.sleep(1)
    idle = memory(firn.pid)
    host, port = firn.host_port
    connections = []
    for _ in range(400):
        s = socket.create_connection((host, port))
        s.sendall(b"GET /v1/config HTTP/1.1\r\nHost: x\r\n\r\n")
        assert s.recv(20).startswith(b"HTTP/1.1 200")
        connections.append(s)
    each = (memory(firn.pid) - idle) * 1024 / len(connections)
    for s in connections:
        s.close()
    return {"ready_ms": statistics.median(times), "ready_ms_best": min(times), "idle_mb": idle,
            "connection_kb": each}


# --- the run ------------------------------------------------------------------------------


def measure(bench):
    firn = bench.firn
    bench.create_tables()
    small, large = bench.sizes["small"], bench.sizes["large"]
    table = "/v1/namespaces/bench/tables/"
    config = len(call(firn.url + "/v1/config")[0])
    etag = call(firn.url + table + "small-0")[1]
    change = json.dumps({"requirements": [], "updates": [
        {"action": "set-properties", "updates": {"touched-by": "bench"}}]})
    commit = {"method": "POST", "body": change, "lookup": True}
    bench.head()
    bench.row("config", "/v1/config", 32, config)
    bench.row("load-10k", table + "small-0", 32, small, lookup=True)
    bench.row("load-10k-1", table + "small-0", 1, small, lookup=True)
    bench.row("load-304", table + "small-0", 32, 0, status=304, lookup=True, tag=etag)
    bench.row("load-1m", table + "large-0", 32, large, lookup=True)
    bench.row("commit-10k-1", table + "small-1", 1, small, commit=small, naive=bench.samples["small"], **commit)
    bench.row("commit-10k", table + "small-{n}", 32, small, commit=small, tables=TABLES,
              naive=bench.samples["small"], **commit)
    bench.row("commit-10k-hot", table + "small-2", 32, small, commit=small, naive=bench.samples["small"], **commit)
    bench.row("commit-1m-1", table + "large-1", 1, large, commit=large, naive=bench.samples["large"], **commit)
    bench.row("commit-1m", table + "large-{n}", 32, large, commit=large, tables=TABLES,
              naive=bench.samples["large"], **commit)


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__)
    parser.add_argument("--short", action="store_true", help="one round of 2 s for each row")
    parser.add_argument("--rows", default="*", help="only the rows that match this pattern")
    parser.add_argument("--out", type=pathlib.Path, default=CACHE / "bench/result.json", help="where the JSON goes")
    options = parser.parse_args()
    options.seconds, options.rounds = (2, 1) if options.short else (4, 3)
    prepare.prepare(("build", "python", "postgres", "bench"))
    if pathlib.Path(sys.prefix) != prepare.VENV:  # the driver of PostgreSQL lives there
        os.execv(prepare.PYTHON, [str(prepare.PYTHON), "-B", "-u", *sys.argv])
    binary, floors = build()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="firn-bench-", dir=os.environ.get("FIRN_TEST_TMP")))
    folder.chmod(0o755)
    os.environ |= {"FIRN_BIN": str(binary), "FIRN_TEST_TMP": str(folder), "FIRN_TEST_STORE": "file"}
    try:
        result = run(options, floors, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    say(f"\nnumbers: {options.out}")


def run(options, floors, folder):
    from firn_server import Server
    from services import Postgres
    plain = {"FIRN_LOG_LEVEL": None}
    starts = 5 if options.short else 15
    result = {"cores": CORES, "load": os.getloadavg()[0], "seconds": options.seconds, "rounds": options.rounds}
    os.environ["FIRN_TEST_DB"] = "sqlite"
    with Server(env=plain) as firn:
        result["sqlite"] = start_and_memory(firn, starts)
    with Postgres(folder / "postgres", fsync=True) as database:
        os.environ |= database.environment()
        with Server(env=plain) as firn:
            result["postgresql"] = start_and_memory(firn, starts)
        # all tables of the largest row at once
        with Server(env=plain | {"FIRN_CACHE": "256m"}) as firn:
            bench = Bench(options, firn, database, floors, folder)
            measure(bench)
            result["rows"] = bench.rows
            result["rss_after_mb"] = memory(firn.pid)
    say("")
    for name in ("sqlite", "postgresql"):
        r = result[name]
        say(f"{name:<11} ready in {r['ready_ms']:.0f} ms (best {r['ready_ms_best']:.0f}), idle {r['idle_mb']:.1f} MB, "
            f"{r['connection_kb']:.1f} KB for an idle connection")
    say(f"after the load: {result['rss_after_mb']:.0f} MB with a cache of 256 MB")
    return result


if __name__ == "__main__":
    main()
