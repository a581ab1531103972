"""The servers that rows run against. One at a time; the peers stand beside the first."""

import contextlib
import dataclasses
import json
import os
import shutil
import urllib.parse

import data
from firn_server import Server
from measure import Side
from services import Postgres, Seaweed

PLAIN = {"FIRN_LOG_LEVEL": None}
CACHE = {"FIRN_CACHE": "512m"}  # the largest row's tables at once


class SlowPostgres(Postgres):
    """Each flush takes a millisecond longer."""

    def __init__(self, folder, shim):
        super().__init__(folder, fsync=True)
        self.shim = shim

    def settings(self):
        return super().settings() | {"LD_PRELOAD": str(self.shim), "FLUSH_DELAY_US": "1000"}


def leader_of(database):
    return int((database.folder / "data/postmaster.pid").read_text().split()[0])


def side_of(server, database, name="firn", *others):
    return Side(name, server.url, [s.pid for s in (server, *others)], leader_of(database), server)


@contextlib.contextmanager
def surroundings(env):
    """What the servers of the tests are told by the environment, for a time."""
    before = dict(os.environ)
    os.environ |= env
    try:
        yield env
    finally:
        os.environ.clear()
        os.environ |= before


def small_and_large(side, larges=data.TABLES, smalls=data.TABLES):
    """Some tables of each size; the text of one of each."""
    texts = {}
    data.new_namespace(side, "bench")
    for kind, size, tables in (("small", data.SMALL, smalls), ("large", data.LARGE, larges)):
        count = data.snapshots_of(f"{side.server.store.base}/bench/{kind}-0", size)
        for i in range(tables):
            texts[kind] = data.register(side, f"{kind}-{i}", count)
    return texts


class Stages:
    """Opens what a row asks for and closes what the one before had."""

    ORDER = ("main", "cold", "three", "null", "flush", "vended", "growth")

    def __init__(self, folder, database, binaries, programs, only):
        self.folder = folder
        self.database = database
        self.binaries = binaries  # release, bench
        self.programs = programs
        self.only = only          # names of the rows that will run
        self.now = None
        self.stack = contextlib.ExitStack()
        self.texts = {}
        self.grown = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def open(self, stage, crowd=0):
        if stage != self.now:
            self.close()
            self.now = stage
            self.side = getattr(self, stage)()
        return self.grown_to(crowd) if crowd else self.side

    def close(self):
        self.stack.close()
        self.stack = contextlib.ExitStack()
        self.now = None

    def server(self, env=None, database=None, binary="release", **options):
        with surroundings({"FIRN_TEST_DB": (database or self.database).uri, "FIRN_BIN": str(self.binaries[binary]),
                           "FIRN_TEST_STORE": options.pop("kind", "file")}):
            return self.stack.enter_context(Server(env=PLAIN | (env or {}), **options))

    # -- one method for each stage --

    def main(self):
        server = self.server(CACHE)
        side = side_of(server, self.database)
        self.texts = small_and_large(side)
        for i in range(8):
            data.register(side, f"touched-{i}", 8)
        if any(name.startswith("refs-9") for name in self.only):
            data.register(side, "long", data.LONG_SNAPSHOTS)
        if any("50" in name for name in self.only):
            data.register(side, "huge", data.HUGE_SNAPSHOTS)
        first = 0
        for namespace, n in (("few", 100), ("thousand", 1000), ("crowd", 100_000)):
            data.new_namespace(side, namespace)
            if namespace != "crowd" or any(w in name for name in self.only for w in ("crowd", "100k", "page-")):
                data.crowd(server, namespace, first, first + n - 1)
            first += n
        return side

    def defaults(self):
        """What an operator gets who sets nothing."""
        side = side_of(self.server(), self.database)
        small_and_large(side)
        return side

    def cold(self):
        side = side_of(self.server({"FIRN_CACHE": "0"}), self.database)
        self.texts = small_and_large(side, 1, 1)
        return side

    def null(self):
        """A build whose store keeps nothing: tables are created and grown, their bytes stay in the cache."""
        server = self.server(CACHE | {"FIRN_WAREHOUSE": "null:/w"}, binary="bench")
        side = side_of(server, self.database)
        data.new_namespace(side, "bench")
        for kind, size, tables in (("small", data.SMALL, data.TABLES), ("large", data.LARGE, 2)):
            for i in range(tables):
                data.grow(side, f"{kind}-{i}", data.snapshots_of("null:/w/bench/x", size))
        return side

    def flush(self):
        shim = self.folder / "slow_flush.so"
        shutil.copy(self.programs / "slow_flush.so", shim)
        slow = self.stack.enter_context(SlowPostgres(self.folder / "slow", shim))
        server = self.server(CACHE | {"LD_PRELOAD": str(shim), "FLUSH_DELAY_US": "1000"}, slow)
        side = side_of(server, slow)
        small_and_large(side, 0, 64)
        return side

    def three(self):
        """Three processes on one database, a third of the clients at each."""
        server = self.server(CACHE | {"FIRN_CONNECTION_LIMIT": "1000"})
        with surroundings({"FIRN_BIN": server.binary}):
            others = [self.stack.enter_context(server.replica()) for _ in range(2)]
        side = side_of(server, self.database, "firn", *others)
        small_and_large(side, 0, 4)
        side.twins = [Side(f"firn {i}", s.url, [s.pid], server=s) for i, s in enumerate(others, 2)]
        return side

    def vended(self):
        weed = self.stack.enter_context(Seaweed(self.folder / "weed"))
        env = self.stack.enter_context(surroundings(weed.environment()))
        server = self.server({"FIRN_S3_VEND_ROLE_ARN": env["FIRN_TEST_ROLE_ARN"],
                              "FIRN_STS_ENDPOINT": env["FIRN_TEST_STS_ENDPOINT"], "FIRN_S3_REMOTE_SIGNING": "true"},
                             kind="s3")
        side = side_of(server, self.database)
        small_and_large(side, 0, 1)
        return side

    def growth(self):
        """A server and a database for each number of tables, side by side."""
        self.grown = {}

    def grown_to(self, tables):
        if tables not in self.grown:
            side = self.grown[tables] = side_of(self.server({"FIRN_CACHE": "64m"}), self.database)
            small_and_large(side, 0)
            data.register(side, "seed", 8)
            data.new_namespace(side, "many")
            data.crowd(side.server, "many", 0, tables - 1, "seed")
            data.new_namespace(side, "thousand")
            data.crowd(side.server, "thousand", tables, tables + 999, "seed")
        self.side = self.grown[tables]
        return self.side

    def tidy(self):
        if self.side.server.store.kind == "file":
            data.tidy(self.side.server)

    def prepared(self, load):
        """Page tokens, and where the store is, are known only to a server that runs."""
        if any("{store}" in (r.body or "") for r in load.requests):
            store = self.side.server.store
            address = f"{store.endpoint}/{store.base.removeprefix('s3://')}/bench"
            load = dataclasses.replace(load, requests=tuple(
                dataclasses.replace(r, body=r.body.replace("{store}", address)) for r in load.requests))
        if not any("{token}" in r.path for r in load.requests):
            return load
        token = ""
        for _ in range(90):
            page = json.loads(self.side.call("GET", "{base}/namespaces/crowd/tables?pageSize=1000&pageToken=" + token)[0])
            token = urllib.parse.quote(page["next-page-token"], safe="")
        return dataclasses.replace(load, requests=tuple(
            dataclasses.replace(r, path=r.path.replace("{token}", token)) for r in load.requests))

    def sample(self, size):
        """A file with the metadata of a table of that size."""
        path = self.folder / f"sample-{size}.json"
        if not path.exists():
            path.write_text(self.texts["small" if size == data.SMALL else "large"])
        return path
