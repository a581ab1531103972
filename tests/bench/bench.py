"""CPU time, latency and memory of the server under load, each beside its floor in the same run."""

import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import prepare  # noqa: E402
from prepare import CACHE, ROOT, say  # noqa: E402

prepare.PACKAGES["bench"] = "wrk"


def arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__)
    parser.add_argument("--short", action="store_true", help="one round of a second for each row, no long rows")
    parser.add_argument("--rows", default="*", help="only rows that match one of these patterns: names, W1 to W14, keys, footprint; commas between")
    parser.add_argument("--seconds", type=int, help="of a measurement (short: 1, else 4)")
    parser.add_argument("--rounds", type=int, help="how often server, floors and peers take turns (short: 1, else 3)")
    parser.add_argument("--peers", default="", help="reference, seaweedfs, or both with a comma: started here")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=URI,PID[,PID...]",
                        help="a catalog that runs already; may be given several times")
    parser.add_argument("--against", type=pathlib.Path, metavar="BINARY", help="another build of the server as a peer")
    parser.add_argument("--soak", type=int, metavar="SECONDS", help="only the mixed load, so long, and the memory meanwhile")
    parser.add_argument("--out", type=pathlib.Path, default=CACHE / "bench/result.json",
                        help="where the JSON goes; the charts go beside it")
    parser.add_argument("--publish", action="store_true", help="put table and charts into README.md and the one beside this file")
    parser.add_argument("--from", type=pathlib.Path, dest="source", metavar="JSON", help="measure nothing, take these numbers")
    options = parser.parse_args()
    options.seconds = options.seconds or (1 if options.short else 4)
    options.rounds = options.rounds or (1 if options.short else 3)
    options.warm = 5 if options.short else 15  # the most that a peer is warmed up
    options.brief = 0.5 if options.short else 3  # the most that a floor without requests is measured
    return options


def build(options):
    """The release binary, the one with the store that keeps nothing, and the floor programs."""
    import floors
    folder = CACHE / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    binaries = {}
    wanted = {"release": [], "bench": ["-Dbench=true"]}
    if options.soak or not any(row.stage == "null" for row in chosen(options)):
        del wanted["bench"]
    for name, more in wanted.items():
        target = folder / name
        if not (target / "build.ninja").exists():
            subprocess.run(["meson", "setup", "--buildtype=release", *more, target, ROOT], check=True,
                           stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", target, "--quiet", "server/firn"], check=True, stdout=subprocess.DEVNULL)
        binaries[name] = target / "server/firn"
    floors.build(folder, HERE)
    return binaries, folder


# --- a row ------------------------------------------------------------------------------


class Bench:
    def __init__(self, options, stages, floors_of, peers):
        self.options = options
        self.stages = stages
        self.floors_of = floors_of
        self.peers = peers
        self.rows = []

    def floors(self, row, one, floors, seconds):
        """Microseconds of each part of the row's floor."""
        out = {}
        for part in row.floors:
            if part in ("answer", "epoll"):
                size = 0 if row.status in (204, 304) else round(one["bytes"]) - 250
                program = "floor_http" if part == "answer" else "floor_epoll"
                seen = floors.answer(program, row.load, row.status, max(size, 0), seconds)
                out[part] = seen["total"]
            elif part == "lookup":
                batch = 1 if "commit" in row.floors else max(1, min(64, round(1 / max(one["statements"], 0.01))))
                out[part] = floors.lookup(batch, min(seconds, self.options.brief))
            elif part in ("commit", "swap"):
                size = row.size if part == "commit" else 0
                out[part] = floors.commit(size, row.load.clients, min(seconds, self.options.brief))
            elif part.startswith("names "):
                out["names"] = floors.names(part.removeprefix("names "), min(seconds, self.options.brief))
            elif part == "read":
                out[part] = floors.copy(self.stages.sample(row.size), 0.2)
            elif part == "copy":
                out[part] = floors.copy(row.size, 0.2)
        return out

    def measure(self, row):
        """Server, floors and peers in turn; medians over the rounds."""
        side = self.stages.open(row.stage, row.crowd)
        load = self.stages.prepared(row.load)
        floors = self.floors_of(side)
        seconds = max(self.options.seconds, row.seconds)
        ours, parts, theirs = [], [], {}
        for _ in range(self.options.rounds):
            if self.options.short:
                side.touch(load)
            ours.append(side.measure(load, seconds, warm=0 if self.options.short else 1))
            if row.tidy:
                side.settle()
            parts.append(self.floors(row, ours[-1], floors, seconds))
            if row.tidy:
                self.stages.tidy()
            for peer in self.peers if row.peers else ():
                if seen := peer.try_measure(load, seconds):
                    theirs.setdefault(peer.name, []).append(seen)
        result = {"work": row.work, "name": row.name, "clients": row.load.clients, **medians(ours)}
        result["floors"] = medians(parts)
        result["floor"] = sum(v for k, v in result["floors"].items() if k != "epoll")
        result["peers"] = {name: medians(seen) for name, seen in theirs.items()}
        if row.name in ("commit-10k-1", "commit-1m-1"):
            result["jansson"] = floors.jansson(self.stages.sample(row.size), 1)
        self.rows.append(result)
        return result


def medians(seen):
    """Of numbers; of anything else the last one."""
    return {key: statistics.median(one[key] for one in seen) if isinstance(value, (int, float)) else value
            for key, value in seen[-1].items()}


# --- the run ------------------------------------------------------------------------------


def asked_for(options, *words):
    return any(fnmatch.fnmatch(word, pattern) for pattern in options.rows.split(",") for word in words)


def chosen(options):
    from workloads import ROWS
    return [row for row in ROWS if asked_for(options, row.name, row.work) and not (row.long and options.short)]


def run(options, folder):
    import floors
    import footprint
    import peers
    import report
    from services import Postgres
    from stages import Stages
    binaries, programs = build(options)
    rows = [] if options.soak else chosen(options)
    result = {"load": os.getloadavg()[0], "seconds": options.seconds, "rounds": options.rounds}
    with Postgres(folder / "postgres", fsync=True) as database, \
            Stages(folder, database, binaries, programs, [row.name for row in rows]) as stages:
        result["machine"] = machine(database, binaries["release"])
        if options.soak:
            return result | {"soak": footprint.soak(stages, options.soak)}
        with peers.open_all(options, folder, database, rows) as others:
            bench = Bench(options, stages, lambda side: floors.Floors(programs, folder, side), others)
            result |= {"rows": bench.rows, "peers": {}}
            report.head(others)
            for row in sorted(rows, key=lambda row: stages.ORDER.index(row.stage)):
                report.line(bench.measure(row), others)
                result["peers"] = {peer.name: peer.about() for peer in others}
                report.save(result, options.out)  # a run that ends early keeps the rows that it has
        if asked_for(options, "keys"):
            result["keys"] = footprint.keys_for_many(stages)
        stages.close()
        if asked_for(options, "footprint"):
            result["footprint"] = footprint.measure(stages, 3 if options.short else 9)
    return result


def machine(database, binary):
    """What the figures were taken on."""
    import psycopg
    processor = next(line for line in open("/proc/cpuinfo") if line.startswith("model name")).partition(":")[2].strip()
    memory = int(next(line for line in open("/proc/meminfo")).split()[1])
    with psycopg.connect(database.uri) as connection:
        version = connection.info.server_version
    firn = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {"cores": len(os.sched_getaffinity(0)), "processor": processor, "memory_gb": round(memory / 1e6),
            "kernel": platform.release(), "postgresql": f"PostgreSQL {version // 10000}.{version % 10000}", "firn": firn,
            "date": time.strftime("%Y-%m-%d", time.gmtime())}


def finish(result, options):
    import report
    report.close(result, options.out)
    if options.publish:
        import publish
        publish.publish(result)


def main():
    options = arguments()
    if options.source:
        finish(json.loads(options.source.read_text()), options)
        return
    prepare.prepare(("build", "python", "postgres", "bench", *(["kit"] if "reference" in options.peers else [])))
    if pathlib.Path(sys.prefix) != prepare.VENV:  # the driver of PostgreSQL lives there
        os.execv(prepare.PYTHON, [str(prepare.PYTHON), "-B", "-u", *sys.argv])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="firn-bench-", dir=os.environ.get("FIRN_TEST_TMP")))
    folder.chmod(0o755)
    os.environ |= {"FIRN_TEST_TMP": str(folder), "FIRN_TEST_STORE": "file",
                   "FIRN_TEST_WEED": str(prepare.VENV / "bin/weed")}
    try:
        result = run(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    finish(result, options)


if __name__ == "__main__":
    main()
