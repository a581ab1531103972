"""What a request costs: CPU time from /proc, latency from wrk."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
RUNS = itertools.count(1)
CORES = len(os.sched_getaffinity(0))


# --- processes ----------------------------------------------------------------------


def stat(pid):
    """The fields of /proc/PID/stat after the name: 11, 12 are utime, stime, 13, 14 the dead children's."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return [text.rpartition(")")[2].split()[i] for i in range(15)]


def process_cpu(pid):
    """Seconds of a process with its children, those that ended included."""
    ticks = sum(int(x) for x in stat(pid)[11:15])
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in (task / "children").read_text().split():
                ticks += sum(int(x) for x in stat(child)[11:15])
    return ticks / TICK


def memory_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


# --- load ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Request:
    """{root} and {base} in the path: the catalog's address, and that with its prefix; {n}: the number of a
    table, {i}: a word that does not come twice."""
    method: str
    path: str
    body: str = None
    headers: tuple = ()
    tagged: str = None  # the table whose entity tag goes along; {n} as in the path
    weight: int = 1


@dataclasses.dataclass(frozen=True)
class Load:
    requests: tuple
    clients: int = 32
    tables: int = 1
    pick: str = "turn"
    threads: int = 1
    pause: int = 0
    statuses: bool = False  # counts them, and how many answers each thread had
    refusals: bool = False  # answers above 399 are no reason to stop


def lua(value):
    """A value as Lua writes it."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{lua(k)}] = {lua(v)}" for k, v in value.items()) + "}"
    return "{" + ", ".join(map(lua, value)) + "}"


def wrk(load, side, seconds):
    """Runs a load against a catalog."""
    requests = [{"weight": r.weight, "method": r.method, "path": side.path(r.path), "body": r.body,
                 "headers": dict(r.headers), "tags": side.tags(r.tagged, load.tables) if r.tagged else []}
                for r in load.requests]
    plan = {"requests": requests, "tables": load.tables, "pick": load.pick, "pause": load.pause,
            "statuses": load.statuses, "run": next(RUNS)}
    with tempfile.NamedTemporaryFile("w", suffix=".lua", prefix="load-") as file:
        file.write("return " + lua(plan) + "\n")
        file.flush()
        done = subprocess.run(
            ["wrk", f"-t{load.threads}", f"-c{load.clients}", f"-d{seconds}s", "--timeout", "30s", "-s",
             str(HERE / "load.lua"), side.root], env=os.environ | {"REQUESTS": file.name},
            capture_output=True, text=True)
    line = next((x for x in done.stdout.splitlines() if x.startswith("RESULT ")), None)
    if not line:
        raise SystemExit(f"wrk: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    result = json.loads(line.removeprefix("RESULT "))
    if not result["requests"] and seconds < 20:
        return wrk(load, side, seconds * 3)  # not one answer was whole
    if result["broken"] or not result["requests"] or (result["refused"] and not load.refusals):
        raise SystemExit(f"{side.name}: {requests[0]['method']} {requests[0]['path']}: {line}\n{side.last_words()}")
    return result


class Side:
    """A catalog under load: ours, a peer, or a program that only answers."""

    def __init__(self, name, root, pids, leader=None, server=None, base=None):
        self.name = name
        self.root = root.rstrip("/")
        self.base = base or self.root + "/v1"
        self.pids = list(pids)
        self.leader = leader  # of PostgreSQL, where that is the catalog's
        self.server = server  # ours has counters and a log
        self.twins = []       # further processes, which get their share of the clients

    def path(self, text):
        start = len(self.root)
        return text.replace("{root}", self.root).replace("{base}", self.base)[start:]

    def cpu(self):
        return sum(map(process_cpu, self.pids)), process_cpu(self.leader) if self.leader else 0.0

    def memory(self):
        return sum(map(memory_mb, self.pids))

    def last_words(self):
        return self.server.log_tail(5) if self.server else ""

    def tags(self, text, tables):
        names = [text.replace("{n}", str(n)) for n in range(min(tables, 32) if "{n}" in text else 1)]
        tags = [self.call("GET", name)[1].get("ETag") for name in names]
        if None in tags:
            raise SystemExit("it gives no entity tags")
        return tags

    def call(self, method, path, body=None, headers=None):
        """Body and headers of an answer; what was refused is raised as urllib does."""
        request = urllib.request.Request(
            self.root + self.path(path), data=json.dumps(body).encode() if body is not None else None, method=method,
            headers={"Content-Type": "application/json"} | (headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            error.msg += f", {self.name}: {method} {path}: {error.read()[:500].decode(errors='replace')}"
            raise

    def touch(self, load):
        """Each request that only reads once, for some tables: what is kept of them is kept then."""
        for request in load.requests:
            for n in range(min(load.tables, 32)) if request.method == "GET" else ():
                self.call("GET", request.path.replace("{n}", str(n)), headers=dict(request.headers))

    def settle(self):
        """Requests whose client has gone are still worked on."""
        while self.server and self.server.metric("firn_lane_queue") > 0:
            time.sleep(0.05)
        time.sleep(0.2)

    def statements(self):
        return self.server.metric("firn_sql_statements_total") if self.server else 0

    def run(self, load, seconds):
        if not self.twins:
            return wrk(load, self, seconds)
        sides = [self, *self.twins]
        share = dataclasses.replace(load, clients=load.clients // len(sides))
        with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
            results = list(pool.map(lambda side: wrk(share, side, seconds), sides))
        total = {key: sum(r[key] for r in results) for key in ("requests", "bytes", "refused")}
        statuses = collections.Counter()
        for r in results:
            statuses.update(r["statuses"])
        slowest = max(results, key=lambda r: r["p99_us"])
        return slowest | total | {"statuses": dict(statuses), "each": [n for r in results for n in r["each"]]}

    def measure(self, load, seconds, warm=1):
        """Microseconds of CPU for a request that was carried out, and what wrk saw. What was refused costs too, and
        its costs are those of the others."""
        if warm:
            wrk(load, self, warm)
        self.settle()
        statements, before = self.statements(), self.cpu()
        result = self.run(load, seconds)
        after = self.cpu()
        n = max(result["requests"] - result["refused"], 1)
        own, database = ((b - a) * 1e6 / n for a, b in zip(before, after))
        return {"rate": n / result["seconds"], "p50": result["p50_us"], "p99": result["p99_us"],
                "bytes": result["bytes"] / n, "own": own, "pg": database, "total": own + database,
                "statements": (self.statements() - statements) / n, "refused": result["refused"],
                "statuses": result["statuses"], "each": result["each"], "rss_mb": self.memory()}
