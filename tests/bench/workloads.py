"""The table of workloads. A row is what is asked for, by how many, and which floors stand beside it."""

import dataclasses
import json

from data import COMPACT, HUGE, LARGE, SMALL, TABLES
from measure import Load, Request

GZIP = (("Accept-Encoding", "gzip"),)
CLOSE = (("Connection", "close"),)
KEYS = (("X-Iceberg-Access-Delegation", "vended-credentials"),)
NO_KEYS = (("X-Iceberg-Access-Delegation", "client-managed"),)
TABLE = "{base}/namespaces/bench/tables/"
CROWD = 100_000


@dataclasses.dataclass(frozen=True)
class Row:
    work: str               # W1 to W14
    name: str
    load: Load
    floors: tuple = ()      # answer, epoll, lookup, read, copy, commit, swap, names NAMESPACE
    stage: str = "main"     # which server it runs against, see stages.py
    size: int = 0           # of the metadata
    peers: bool = False     # other catalogs can do it too
    status: int = 200
    tidy: bool = False      # it leaves metadata files behind
    crowd: int = 0          # so many tables are there (growth)
    long: bool = False      # not in short runs
    seconds: int = 1        # at least; large answers take their time


def get(path, **more):
    return Request("GET", path, **more)


def commit(path, **more):
    """Sets one property to a new value."""
    body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"touched-by": "{i}"}}]}
    return Request("POST", path, json.dumps(body, **COMPACT), **more)


def create(namespace):
    body = {"name": "made_{i}", "schema": {"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "type": "long", "required": True}]}}
    return Request("POST", f"{{base}}/namespaces/{namespace}/tables", json.dumps(body, **COMPACT))


def transaction(tables):
    changes = [{"identifier": {"namespace": ["bench"], "name": f"small-{n}"}, "requirements": [], "updates": [
        {"action": "set-properties", "updates": {"touched-by": "{i}"}}]} for n in tables]
    return Request("POST", "{base}/transactions/commit", json.dumps({"table-changes": changes}, **COMPACT))


def sign():
    """Java's request to have the read of a data file signed."""
    body = {"region": "us-east-1", "method": "GET", "uri": "{store}/small-0/data/00000-0-5b1f3c1e-00001.parquet",
            "headers": {"amz-sdk-invocation-id": ["8c2e7f9a-4b1d"], "amz-sdk-request": ["attempt=1; max=6"]},
            "properties": {}, "provider": "s3"}
    return Request("POST", TABLE + "small-0/sign", json.dumps(body, **COMPACT))


COLD = ("answer", "lookup", "read")


def reading(name, clients=32, **more):
    """A load of one table."""
    request = {k: more.pop(k) for k in ("headers", "tagged") if k in more}
    shape = {k: more.pop(k) for k in ("tables", "pick") if k in more}
    path = more.pop("path", TABLE + name)
    return {"load": Load((get(path, **request),), clients, **shape)} | {"floors": ("answer", "lookup")} | more


def mixed():
    """85 % loads, more than half of them conditional; 10 % lists and existence; 5 % commits."""
    return (get(TABLE + "small-{n}", weight=34), get(TABLE + "small-0", tagged=TABLE + "small-0", weight=51),
            get("{base}/namespaces/few/tables?pageToken=&pageSize=100", weight=4),
            Request("HEAD", TABLE + "small-{n}", weight=6), commit(TABLE + "large-{n}", weight=1),
            commit(TABLE + "touched-{n}", weight=4))


PAGES = "{base}/namespaces/crowd/tables?pageToken={token}&pageSize="

MANY = "{base}/namespaces/many/tables"


def growth(n):
    """The same requests where so many tables are."""
    word = {100: "100", 10_000: "10k", 1_000_000: "1m"}[n]
    common = {"stage": "growth", "crowd": n, "long": n > 10_000}
    one = {"tables": n, "pick": "random", **common}
    own = {"tables": TABLES, **common}
    long = common | {"long": True}
    return (
        Row("growth", f"load@{word}", **reading("", path=MANY + "/table_{n}", **one)),
        Row("growth", f"load-zipf@{word}", **reading("", path=MANY + "/table_{n}", **one | {"pick": "zipf", "long": True})),
        Row("growth", f"refs@{word}", **reading("", path=MANY + "/table_{n}?snapshots=refs", **one)),
        Row("growth", f"304@{word}", **reading("small-{n}", tagged=TABLE + "small-{n}", status=304, **own)),
        Row("growth", f"exists@{word}", Load((Request("HEAD", MANY + "/table_{n}"),), 32, n, "random"),
            ("answer", "lookup"), status=204, **common),
        Row("growth", f"list@{word}", Load((get("{base}/namespaces/thousand/tables"),), 8), **long),
        Row("growth", f"page@{word}", Load((get(MANY + "?pageToken=&pageSize=100"),), 8), **common),
        Row("growth", f"create@{word}", Load((create("many"),), 8), tidy=True, **common),
        Row("growth", f"commit@{word}", Load((commit(TABLE + "small-{n}"),), 8, TABLES), tidy=True, **common),
        Row("growth", f"transaction@{word}", Load((transaction(range(8)),), 1), tidy=True, **long),
    )


ROWS = (
    Row("W1", "config", Load((get("{root}/v1/config"),)), ("answer", "epoll"), peers=True),
    Row("W14", "config-close", Load((get("{root}/v1/config", headers=CLOSE),)), ("answer",)),

    Row("W2", "load-10k", **reading("small-0", size=SMALL, peers=True)),
    Row("W2", "load-10k-1", **reading("small-0", 1, size=SMALL, peers=True)),
    Row("W2", "load-10k-1000", **reading("small-0", 900, size=SMALL)),
    Row("W2", "load-10k-uniform", **reading("small-{n}", tables=TABLES, pick="random")),
    Row("W2", "load-10k-gzip", **reading("small-0", headers=GZIP)),
    Row("W2", "load-1m", **reading("large-0", size=LARGE, peers=True)),
    Row("W2", "load-1m-1", **reading("large-0", 1, size=LARGE, peers=True)),
    Row("W2", "load-1m-gzip", **reading("large-0", headers=GZIP)),
    Row("W2", "load-50m", **reading("huge", 2, seconds=3)),
    Row("W2", "load-50m-gzip", **reading("huge", 4, headers=GZIP, seconds=2)),

    Row("W3", "cold-10k", **reading("small-0", stage="cold", size=SMALL, floors=COLD)),
    Row("W3", "cold-1m", **reading("large-0", stage="cold", size=LARGE, floors=COLD)),

    Row("W4", "304-10k", **reading("small-0", tagged=TABLE + "small-0", status=304, peers=True)),
    Row("W4", "304-1m", **reading("large-0", tagged=TABLE + "large-0", status=304, peers=True)),
    Row("W4", "304-50m", **reading("huge", tagged=TABLE + "huge", status=304)),
    Row("W4", "304-nine-in-ten", Load((get(TABLE + "small-0", tagged=TABLE + "small-0", weight=9),
                                       get(TABLE + "small-0"))), ("answer", "lookup")),
    Row("W4", "exists", Load((Request("HEAD", TABLE + "small-0"),)), ("answer", "lookup"), status=204),
    Row("W4", "exists-50m", Load((Request("HEAD", TABLE + "huge"),)), ("answer", "lookup"), status=204, long=True),

    Row("W5", "refs-10k", **reading("small-0", path=TABLE + "small-0?snapshots=refs", long=True)),
    Row("W5", "refs-1m", **reading("large-0", path=TABLE + "large-0?snapshots=refs", peers=True)),
    Row("W5", "refs-9000", **reading("long", path=TABLE + "long?snapshots=refs")),
    Row("W5", "refs-50000", **reading("huge", path=TABLE + "huge?snapshots=refs")),

    Row("W6", "list-1000", Load((get("{base}/namespaces/thousand/tables"),), 8), ("answer", "names thousand"), peers=True),
    Row("W6", "list-100k", Load((get("{base}/namespaces/crowd/tables"),), 1), ("answer", "names crowd")),
    Row("W6", "page-100", Load((get(PAGES.replace("{token}", "") + "100"),), 8), ("answer", "names few")),
    Row("W6", "page-1000", Load((get(PAGES.replace("{token}", "") + "1000"),), 8), ("answer", "names thousand")),
    Row("W6", "page-1000-deep", Load((get(PAGES + "1000"),), 8), ("answer", "names thousand")),

    Row("W7", "create-few", Load((create("few"),), 8), ("answer", "commit"), size=1000, peers=True, tidy=True),
    Row("W7", "create-crowd", Load((create("crowd"),), 8), ("answer", "commit"), size=1000, tidy=True),

    Row("W7", "null-create", Load((create("bench"),), 8), ("answer", "swap"), stage="null", size=1000),

    Row("W8", "commit-10k-1", Load((commit(TABLE + "small-1"),), 1), ("answer", "lookup", "commit"), size=SMALL,
        peers=True, tidy=True),
    Row("W8", "commit-10k-8", Load((commit(TABLE + "small-{n}"),), 8, TABLES), ("answer", "lookup", "commit"),
        size=SMALL, tidy=True, long=True),
    Row("W8", "commit-10k", Load((commit(TABLE + "small-{n}"),), 32, TABLES), ("answer", "lookup", "commit"),
        size=SMALL, peers=True, tidy=True),
    Row("W8", "commit-10k-128", Load((commit(TABLE + "small-{n}"),), 128, TABLES), ("answer", "lookup", "commit"),
        size=SMALL, tidy=True, long=True),
    Row("W8", "commit-1m-1", Load((commit(TABLE + "large-1"),), 1), ("answer", "lookup", "commit"), size=LARGE,
        peers=True, tidy=True),
    Row("W8", "commit-1m", Load((commit(TABLE + "large-{n}"),), 32, TABLES), ("answer", "lookup", "commit"),
        size=LARGE, tidy=True),
    Row("W8", "commit-50m-1", Load((commit(TABLE + "huge"),), 1), ("answer", "lookup", "commit"), size=HUGE, tidy=True,
        long=True),

    Row("W8", "null-10k-1", Load((commit(TABLE + "small-1"),), 1), ("answer", "swap"), stage="null", size=SMALL),
    Row("W8", "null-10k", Load((commit(TABLE + "small-{n}"),), 32, TABLES), ("answer", "swap"), stage="null",
        size=SMALL),
    Row("W8", "null-1m-1", Load((commit(TABLE + "large-1"),), 1), ("answer", "swap", "copy"), stage="null", size=LARGE),
    Row("W8", "flush-1ms-1", Load((commit(TABLE + "small-1"),), 1), stage="flush"),
    Row("W8", "flush-1ms-64", Load((commit(TABLE + "small-{n}"),), 64, 64), stage="flush"),
    Row("W9", "flush-1ms-hot", Load((commit(TABLE + "small-2"),), 32), stage="flush"),

    Row("W9", "hot-1", Load((commit(TABLE + "small-2"),), 1), ("answer", "lookup", "commit"), size=SMALL, tidy=True),
    Row("W9", "hot-32", Load((commit(TABLE + "small-2"),), 32, threads=32, statuses=True),
        ("answer", "lookup", "commit"), size=SMALL, peers=True, tidy=True),
    Row("W9", "hot-three-servers", Load((commit(TABLE + "small-3"),), 30, statuses=True, refusals=True), stage="three",
        size=SMALL, tidy=True),

    Row("W10", "transaction-2", Load((transaction(range(2)),), 1), size=SMALL, tidy=True, long=True),
    Row("W10", "transaction-8", Load((transaction(range(8)),), 1), size=SMALL, peers=True, tidy=True),
    Row("W10", "transaction-32", Load((transaction(range(32)),), 1), size=SMALL, tidy=True, seconds=3),
    Row("W10", "transaction-crossed", Load((transaction(range(8)), transaction(range(7, -1, -1)),
                                            transaction(range(4, 12)), transaction(range(11, 3, -1))), 8,
                                           statuses=True, refusals=True), size=SMALL, tidy=True),

    Row("W12", "mixed", Load(mixed(), 32, 8), tidy=True),

    Row("W13", "vended", **reading("small-0", headers=KEYS, stage="vended")),
    Row("W13", "vended-not-asked", **reading("small-0", headers=NO_KEYS, stage="vended")),
    Row("W13", "sign", Load((sign(),)), ("answer", "lookup"), stage="vended"),

    *(row for kind in zip(*(growth(n) for n in (100, 10_000, 1_000_000))) for row in kind),
)
