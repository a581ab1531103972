"""What the figures of one run must be to each other. A target whose rows did not run is left out."""

import dataclasses
import typing

from explained import AMONG


@dataclasses.dataclass(frozen=True)
class Target:
    words: str
    limit: float
    of: typing.Callable  # result -> figure
    most: bool = True    # the limit is the most it may be; else the least


def total(result, name):
    return row(result, name)["total"]


def row(result, name):
    return next(r for r in result["rows"] if r["name"] == name)


def to_floor(name):
    return lambda result: total(result, name) / row(result, name)["floor"]


def to_answer(name):
    """To a static answer of the same bytes."""
    return lambda result: total(result, name) / min(row(result, name)["floors"][k] for k in ("answer", "epoll")
                                                    if k in row(result, name)["floors"])


def ratio(a, b, key="total"):
    return lambda result: row(result, a)[key] / row(result, b)[key]


def without_lookup(result):
    """A load beside the same server without the lookup: config, and the bare answers' difference in bytes."""
    answer = row(result, "load-10k")["floors"]["answer"] - row(result, "config")["floors"]["answer"]
    return total(result, "load-10k") / (total(result, "config") + answer)


def fairness(result):
    each = row(result, "hot-32")["each"]
    return max(each) / max(min(each), 1)


def best_peer(name):
    """How many times less than the best peer; another build of this server is none."""
    return lambda result: min(p["total"] for peer, p in row(result, name)["peers"].items()
                              if peer != "against") / total(result, name)


def server_errors(name):
    return lambda result: sum(n for status, n in row(result, name)["statuses"].items() if int(status) >= 500)


def spread(*names):
    return lambda result: max(total(result, n) for n in names) / min(total(result, n) for n in names)


def footprint(*path):
    def of(result):
        value = result["footprint"]
        for name in path:
            value = value[name]
        return value
    return of


def racers(result):
    told = {int(k): v for k, v in result["footprint"]["racers"].items()}
    return told.get(200, 0) if told == {200: 1, 409: 31} else 0


KEYS_MB = 8  # what a store may keep of keys, by the bytes in them; the allocator's share comes on top

TARGETS = (
    Target("config: to its floor", 1.5, to_floor("config")),
    Target("load 10 KB: µs of CPU", 40, lambda r: total(r, "load-10k")),
    Target("load 10 KB: to the same server without the lookup", 2.0, without_lookup),
    Target("load 1 MB: to a static answer", 1.15, to_answer("load-1m")),
    Target("load 1 MB, gzip: to a static answer of the packed size", 1.3, to_answer("load-1m-gzip")),
    Target("load 50 MB: to a static answer", 1.15, to_answer("load-50m")),
    Target("readers of one cold table: reads of its file", 1, footprint("readers", "reads")),
    Target("304 to a load of 10 KB", 0.65, ratio("304-10k", "load-10k")),
    Target("304 of 50 MB to 304 of 10 KB", 1.05, ratio("304-50m", "304-10k")),
    Target("refs of 9,000 snapshots: µs of CPU", 2300, lambda r: total(r, "refs-9000")),
    Target("refs of 9,000 snapshots: to a static answer", 1.3, to_answer("refs-9000")),
    Target("list of 100,000: to COPY and a static answer", 1.5, to_floor("list-100k")),
    Target("list of 100,000: ms to the first byte", 5, footprint("list", "first_ms")),
    Target("list of 100,000: MB of memory", 1, footprint("list", "mb")),
    Target("page at 90 % depth to the first", 1.2, ratio("page-1000-deep", "page-1000")),
    Target("create among 100,000 to one among 100", 1.1, ratio("create-crowd", "create-few")),
    Target("32 creates of one name: 1 wins, 31 hear 409", 1, racers, most=False),
    Target("commit, store that keeps nothing: µs of CPU", 100, lambda r: total(r, "null-10k")),
    Target("commit, store that keeps nothing: to its floor", 1.7, to_floor("null-10k")),
    Target("commit on 1 MB: to jansson's reading and writing", 0.1,
           lambda r: row(r, "commit-1m-1")["own"] / row(r, "commit-1m-1")["jansson"]),
    Target("commit on 1 MB, store that keeps nothing: to jansson's", 0.1,
           lambda r: row(r, "null-1m-1")["own"] / row(r, "commit-1m-1")["jansson"]),
    Target("1 ms flush: commits/s of 64 clients to one", 10, ratio("flush-1ms-64", "flush-1ms-1", "rate"), most=False),
    Target("one table, 1 ms flush: commits/s of 32 writers to one", 0.95, ratio("flush-1ms-hot", "flush-1ms-1", "rate"),
           most=False),
    Target("one table: commits/s of 32 writers to one", 0.95, ratio("hot-32", "hot-1", "rate"), most=False),
    Target("one table: PostgreSQL's CPU, 32 writers to one", 1.3, ratio("hot-32", "hot-1", "pg")),
    Target("one table: fastest to slowest writer", 3, fairness),
    Target("one table, three servers: answers 5xx", 0, server_errors("hot-three-servers")),
    Target("transaction of 32 tables to 32 commits", 0.25,
           lambda r: total(r, "transaction-32") / (32 * total(r, "commit-10k-1"))),
    Target("transactions in opposite order: answers 5xx", 0, server_errors("transaction-crossed")),
    Target("load with keys to one without", 1.15, ratio("vended", "vended-not-asked")),
    Target("signed request: µs of the server's CPU", 60, lambda r: row(r, "sign")["own"]),
    Target("10,000 tables with keys: MB kept", KEYS_MB, lambda r: r["keys"]["kept_mb"]),
    Target("10,000 tables with keys: MB of memory", KEYS_MB * 1.5, lambda r: r["keys"]["grown_mb"]),
    *(Target(AMONG.format(name, count), most, ratio(f"{name}@{word}", f"{name}@100"))
      for name in ("load", "refs", "304", "exists", "list", "page", "create", "commit", "transaction")
      for word, count, most in (("10k", "10,000", 1.1), ("1m", "1,000,000", 1.15))),
    Target("idle memory, MB", 20, footprint("postgresql", "idle_mb")),
    Target("memory after the runs with default settings, MB", 64, footprint("rss_after_mb")),
    Target("an idle connection, KB", 24, footprint("postgresql", "connection_kb")),
    Target("ms from start to ready", 50, footprint("postgresql", "ready_ms")),
    *(Target(f"{name}: times less than the best peer", least, best_peer(name), most=False) for name, least in (
        ("config", 1), ("load-10k", 7), ("load-10k-1", 3), ("304-10k", 10), ("load-1m", 25), ("refs-1m", 40),
        ("commit-10k-1", 6), ("commit-1m-1", 10), ("create-few", 5), ("list-1000", 2))),
)


def judge(result):
    """(target, figure, met) of those that can be told from this run."""
    for target in TARGETS:
        try:
            figure = target.of(result)
        except (KeyError, StopIteration, ValueError):
            continue
        yield target, figure, figure <= target.limit if target.most else figure >= target.limit
