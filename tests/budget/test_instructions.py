"""How many instructions one request costs, counted by callgrind: a figure that other work on the machine does not
change. A change that costs a tenth more fails; one that saves a tenth asks for the new figure in the table.

The figures are those of the release build by Debian 12's gcc, libraries included: another compiler needs others."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from firn_client import Api, Table, now_ms, set_properties, simple  # noqa: E402
from firn_server import Server, temporary_folder  # noqa: E402

WITHIN = 0.10
TIMES, TRIES = 20, 3

# thousands of instructions of the server for one request, sent one after the other
BUDGETS = {
    "sqlite": {"config": 58, "load 10 KB": 100, "load 1 MB": 91, "load 1 MB, gzip": 101, "refs of 10 KB": 93,
               "refs of 1 MB": 94, "304 of 10 KB": 94, "304 of 1 MB": 94, "exists": 76, "commit on 10 KB": 377,
               "commit on 1 MB": 1173},
    "postgresql": {"config": 58, "load 10 KB": 100, "load 1 MB": 91, "load 1 MB, gzip": 101, "refs of 10 KB": 93,
                   "refs of 1 MB": 94, "304 of 10 KB": 93, "304 of 1 MB": 93, "exists": 75, "commit on 10 KB": 246,
                   "commit on 1 MB": 1033},
}


def history(api, ns, name, snapshots):
    """A registered table whose metadata keeps its size from commit to commit."""
    place = f"{api.store.base}/{ns}/{name}"
    base = now_ms() - 10_000_000
    document = {
        "format-version": 2, "table-uuid": "%08x-0000-4000-8000-%012x" % (snapshots, len(name)), "location": place,
        "last-sequence-number": snapshots, "last-updated-ms": base + snapshots, "last-column-id": 2,
        "schemas": [simple()], "current-schema-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0, "last-partition-id": 999, "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0, "current-snapshot-id": snapshots,
        "properties": {"write.metadata.previous-versions-max": "1", "i": "0000"},
        "refs": {"main": {"snapshot-id": snapshots, "type": "branch"}},
        "snapshots": [{"snapshot-id": i, "sequence-number": i, "timestamp-ms": base + i,
                       "summary": {"operation": "append", "added-records": "1000", "total-records": str(i * 1000)},
                       "manifest-list": f"{place}/metadata/snap-{i}.avro", "schema-id": 0}
                      | ({"parent-snapshot-id": i - 1} if i > 1 else {}) for i in range(1, snapshots + 1)],
        "snapshot-log": [{"snapshot-id": i, "timestamp-ms": base + i} for i in range(1, snapshots + 1)]}
    uri = f"{place}/metadata/v1.metadata.json"
    api.store.write(uri, json.dumps(document, separators=(",", ":")).encode())
    api.register(ns, name, uri).ok()
    return Table(api, ns, name)


class Counter:
    """A server under callgrind."""

    def __init__(self, firn, out):
        self.firn = firn
        self.out = out
        self.seen = {}

    def tell(self, word):
        subprocess.run(["vgdb", f"--pid={self.firn.pid}", word], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)

    def instructions(self, name, work):
        """Thousands for one call of work(i): the least of some tries, since now and then a thread is woken once more."""
        if name not in self.seen:
            for i in range(5):
                work(i)
            self.seen[name] = min(self.one_try(work) for _ in range(TRIES)) / 1000
            print(f"{name}: {self.seen[name]:.0f} thousand instructions")
        return self.seen[name]

    def one_try(self, work):
        self.tell("zero")
        for i in range(TIMES):
            work(i)
        before = set(self.out.parent.glob(self.out.name + "*"))
        self.tell("dump")
        [new] = set(self.out.parent.glob(self.out.name + "*")) - before
        total = re.search(r"^(?:summary|totals): (\d+)", new.read_text(), re.M)
        new.unlink()
        return int(total[1]) / TIMES


@pytest.fixture(scope="module")
def counter():
    folder = temporary_folder()
    out = folder / "callgrind.out"
    os.environ["FIRN_TEST_WRAPPER"] = f"valgrind -q --tool=callgrind --callgrind-out-file={out}"
    try:
        # nothing in the background, a log like that of one in use, one loop: no request finds another worker
        with Server(env={"FIRN_PURGE_RATE": "0", "FIRN_LOG_LEVEL": None, "FIRN_WORKERS": "1"}) as firn:
            yield Counter(firn, out)
    finally:
        del os.environ["FIRN_TEST_WRAPPER"]


@pytest.fixture(scope="module")
def work(counter):
    """What is counted, by name."""
    api = Api(counter.firn)
    ns = api.new_namespace()
    small, large = history(api, ns, "small", 30), history(api, ns, "large", 4000)
    changed = history(api, ns, "small-changed", 30), history(api, ns, "large-changed", 4000)

    def get(path, status=200, **headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        return lambda i: api.request("GET", path, headers=headers, check=False).expect(status)

    def commit(table):
        return lambda i: api.request("POST", table.path, {"updates": [set_properties(i="%04d" % i)]}, check=False).expect(200)

    tags = {table: table.load().etag for table in (small, large)}
    yield {
        "config": get("/v1/config"),
        "load 10 KB": get(small.path), "load 1 MB": get(large.path),
        "load 1 MB, gzip": get(large.path, Accept_Encoding="gzip"),
        "refs of 10 KB": get(small.path + "?snapshots=refs"), "refs of 1 MB": get(large.path + "?snapshots=refs"),
        "304 of 10 KB": get(small.path, 304, If_None_Match=tags[small]),
        "304 of 1 MB": get(large.path, 304, If_None_Match=tags[large]),
        "exists": lambda i: api.request("HEAD", large.path).expect(204),
        "commit on 10 KB": commit(changed[0]), "commit on 1 MB": commit(changed[1]),
    }
    api.close()


NAMES = ("config", "load 10 KB", "load 1 MB", "load 1 MB, gzip", "refs of 10 KB", "refs of 1 MB", "304 of 10 KB",
         "304 of 1 MB", "exists", "commit on 10 KB", "commit on 1 MB")


@pytest.mark.parametrize("name", NAMES)
def test_instructions(counter, work, name):
    found, budget = counter.instructions(name, work[name]), BUDGETS[counter.firn.db.kind][name]
    assert found <= budget * (1 + WITHIN), f"{name}: {found:.0f} thousand instructions, the budget is {budget}"
    assert found >= budget * (1 - WITHIN), f"{name}: {found:.0f} thousand instructions: lower the budget of {budget}"


def test_history_costs_no_instructions(counter, work):
    """A load, a 304 and the choice of snapshots cost for 1 MB what they cost for 10 KB, but for what is copied."""
    for what, more in (("load {}", 1.1), ("304 of {}", 1.1), ("refs of {}", 1.3)):
        few, many = (counter.instructions(what.format(size), work[what.format(size)]) for size in ("10 KB", "1 MB"))
        assert many <= more * few, f"{what}: {many:.0f} for 1 MB, {few:.0f} for 10 KB"
