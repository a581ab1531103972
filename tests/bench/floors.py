"""The floor programs: what the least would cost that a workload needs, measured beside it."""

import contextlib
import dataclasses
import os
import shutil
import subprocess

from measure import CORES, Request, Side, process_cpu
from services import free_ports

PROGRAMS = {"floor_http": "libmicrohttpd", "floor_epoll": "", "floor_lookup": "libpq", "floor_commit": "libpq",
            "floor_list": "libpq", "floor_copy": "", "floor_json": "jansson"}


def build(folder, sources):
    for name, library in PROGRAMS.items():
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", library], check=True, capture_output=True,
                               text=True).stdout.split() if library else []
        compile_c(sources / f"{name}.c", folder / name, *flags, "-lpthread")
    compile_c(sources / "slow_flush.c", folder / "slow_flush.so", "-shared", "-fPIC", "-ldl")


def compile_c(source, out, *flags):
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", out, source, *flags], check=True)


class Floors:
    """Each method gives microseconds of CPU for one unit of its work."""

    def __init__(self, programs, folder, firn):
        self.programs = programs
        self.folder = folder
        self.firn = firn  # the side whose database and answers are the measure

    @contextlib.contextmanager
    def answering(self, program, status, size):
        port = free_ports(1)
        child = subprocess.Popen([self.programs / program, str(port), str(CORES), str(status), str(size)],
                                 stdout=subprocess.PIPE)
        try:
            assert child.stdout.readline() == b"ready\n"
            yield Side(program, f"http://127.0.0.1:{port}", [child.pid])
        finally:
            child.terminate()
            child.wait()
            child.stdout.close()

    def answer(self, program, load, status, size, seconds):
        """The same requests, as many clients, an answer as long."""
        requests = tuple(dataclasses.replace(r, path="{root}/x" + ("{i}" if "{i}" in r.path else ""), tagged=None)
                         for r in load.requests)
        with self.answering(program, status, size) as side:
            return side.measure(dataclasses.replace(load, requests=requests, tables=1), seconds, warm=0)

    def run(self, name, *words):
        """A program that prints how much it did and its own CPU seconds; PostgreSQL's are added."""
        leader = self.firn.leader
        before = process_cpu(leader) if leader else 0
        done = subprocess.run([self.programs / name, *map(str, words)], check=True, capture_output=True,
                              text=True).stdout.split()
        spent = (process_cpu(leader) - before if leader else 0) + float(done[1])
        return spent * 1e6 / int(done[0])

    def lookup(self, batch, seconds):
        return self.run("floor_lookup", self.firn.server.db.uri, batch, seconds, "bench", "small-0")

    def commit(self, size, clients, seconds):
        """With size 0 the compare-and-set alone."""
        folder = self.folder / "floor"
        for i in range(clients):
            (folder / f"t{i}").mkdir(parents=True)
        try:
            return self.run("floor_commit", self.firn.server.db.uri, folder, size, clients, seconds)
        finally:
            shutil.rmtree(folder)

    def names(self, namespace, seconds):
        return self.run("floor_list", self.firn.server.db.uri, seconds, namespace)

    def copy(self, what, seconds):
        """Bytes copied, or a file read."""
        return self.run("floor_copy", what, seconds)

    def jansson(self, path, seconds):
        return self.run("floor_json", path, seconds)
