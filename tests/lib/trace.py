"""Counts the system calls of a running process with strace."""

import pathlib
import re
import signal
import subprocess
import tempfile

# How often a thread waits depends on who is faster; memory, and random bytes for ids, are asked for when they
# have run out. What is left is what a request makes a server do.
LEFT_OUT = {"getrandom", "epoll_wait", "poll", "ppoll", "futex", "rt_sigtimedwait", "restart_syscall", "clock_nanosleep",
            "sched_yield", "brk", "mmap", "munmap", "mprotect", "madvise", "mremap"}


class Trace:
    """with Trace(pid) as trace: ...; then trace.calls says how often all threads together made each call."""

    def __init__(self, pid):
        self.pid = pid
        self.calls = {}

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="trace-")
        self.strace = subprocess.Popen(["strace", "-f", "-c", "-o", self.file.name, "-p", str(self.pid)],
                                       stderr=subprocess.PIPE, text=True)
        line = self.strace.stderr.readline()
        assert "attached" in line, line
        return self

    def __exit__(self, *_):
        self.strace.send_signal(signal.SIGINT)
        self.strace.communicate(timeout=30)
        for line in pathlib.Path(self.file.name).read_text().splitlines():
            row = re.fullmatch(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)\s*", line)
            if row and row[2] not in LEFT_OUT | {"total"}:
                self.calls[row[2]] = int(row[1])
        self.file.close()
