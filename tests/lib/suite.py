"""What tests/run runs: picks parts from the table in parts.py, prepares what they need, starts
the services that they share, runs two parts at a time and adds their results up."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import prepare
import services
from parts import PARTS, QUICK
from prepare import CACHE, ROOT, say

SIDE_BY_SIDE = 2
KEPT = CACHE / "logs"


class Failed(Exception):
    """Ends a part: what it did not reach counts as one failure."""


class Result:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed=0, failed=0, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Stopped(BaseException):
    pass


class Suite:
    """What the parts share: builds, services, the folder of the run."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="firn-tests-"))
        self.folder.chmod(0o755)
        self.held = self.folder / "held"  # the secrets of the run
        self.lock = threading.Lock()
        self.locks = {}
        self.started = {}
        self.built = {}
        self.children = set()
        self.stopping = False

    def once(self, name):
        with self.lock:
            return self.locks.setdefault(name, threading.Lock())

    def service(self, name, kind):
        """A shared service; the first part that asks starts it."""
        with self.once(name):
            if name not in self.started:
                if self.stopping:
                    raise Failed("the run is stopping")
                one = kind(self.folder / name).start()
                self.started[name] = one
            return self.started[name]

    def spawn(self, command, log, env, cwd, timeout):
        """Exit code of a command in a process group of its own, which ends with it."""
        with self.lock:
            if self.stopping:
                raise Failed("the run is stopping")
            child = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, env=env, cwd=cwd, start_new_session=True)
            self.children.add(child)
        try:
            return child.wait(timeout)
        except subprocess.TimeoutExpired:
            log.write(f"\nended after {timeout} s\n".encode())
            return 124
        finally:
            self.end(child)

    def end(self, child):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM if child.poll() is None else signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        with self.lock:
            self.children.discard(child)

    def stop(self):
        with self.lock:
            self.stopping = True
            children = list(self.children)
        for child in children:
            self.end(child)
        for name in reversed(list(self.started)):
            self.started.pop(name).stop()


class Run:
    """One part at work: its log, its folder, its count."""

    def __init__(self, suite, part):
        self.suite = suite
        self.part = part
        self.result = Result()
        # no name in it: tests look for words like sqlite in what the server says
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="part-", dir=suite.folder))
        self.folder.chmod(0o755)
        self.log_path = KEPT / f"{part.name}.log"
        self.log = open(self.log_path, "wb", buffering=0)
        self.notes = []

    def command(self, command, env=None, cwd=ROOT, timeout=1500):
        """Runs a command into the log; returns its exit code and what it printed."""
        full = os.environ | {"FIRN_TEST_TMP": str(self.folder), "PYTHONPYCACHEPREFIX": str(CACHE / "pyc"),
                             "PYTHONPATH": str(ROOT / "tests/lib")} | (env or {})
        self.log.write(f"$ {' '.join(map(str, command))}\n".encode())
        before = self.log_path.stat().st_size
        code = self.suite.spawn(command, self.log, full, cwd, timeout)
        with open(self.log_path, "rb") as log:
            log.seek(before)
            return code, log.read().decode(errors="replace")

    def must(self, command, what, **options):
        code, output = self.command(command, **options)
        if code:
            raise Failed(f"{what} failed with {code}")
        return output

    def test(self, name, command, **options):
        """A command that is one test."""
        code, output = self.command(command, **options)
        if code:
            self.notes.append(f"{name} failed with {code}")
        self.result.add(passed=not code, failed=bool(code))
        return output

    def counted(self, name, command, **options):
        """A command that closes with counts, as pytest and our own scripts do."""
        code, output = self.command(command, **options)
        found = [line for line in output.splitlines()
                 if re.search(r"\b\d+ (passed|failed|skipped|errors?)\b", line)]
        count = dict.fromkeys(("passed", "failed", "skipped", "error", "xfailed", "xpassed"), 0)
        if found:
            for number, word in re.findall(r"(\d+) (passed|failed|skipped|error|xfailed|xpassed)", found[-1]):
                count[word] += int(number)
        for number in re.findall(r"(\d+) rerun", found[-1] if found else ""):
            self.notes.append(f"{name}: {number} tried twice, see the log for which")
        bad = count["failed"] + count["error"] + count["xpassed"]
        if code and not bad:
            bad = 1
            self.notes.append(f"{name} ended with {code}")
        if not code and not count["passed"]:
            bad += 1
            self.notes.append(f"{name} ran no test")
        self.result.add(count["passed"], bad, count["skipped"] + count["xfailed"])
        return output

    # -- what parts ask for --

    def build(self, name):
        from parts import build
        return build(self, name)

    def postgres(self):
        return self.suite.service("postgres", services.Postgres)

    def seaweed(self):
        return self.suite.service("seaweed", services.Seaweed)

    def gcs(self):
        os.environ["FIRN_TEST_FAKEGCS"] = str(prepare.fake_gcs())
        return self.suite.service("gcs", services.Gcs)

    def azurite(self):
        os.environ |= {"FIRN_TEST_AZURITE": str(prepare.AZURITE), "FIRN_TEST_NODE": str(prepare.node())}
        return self.suite.service("azurite", services.Azurite)

    def rgw(self):
        return self.suite.service("rgw", services.Rgw)

    def versitygw(self):
        return self.suite.service("versitygw", services.Versitygw)

    def keep(self):
        """Logs, reports and what a fuzzer found outlive the folder of the run."""
        for path in self.folder.rglob("*"):
            wanted = path.suffix in (".log", ".xml") or path.name.startswith(("crash-", "leak-", "oom-", "timeout-"))
            if wanted and path.is_file():
                place = KEPT / self.part.name / path.relative_to(self.folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)

    def tail(self, lines=60):
        text = self.log_path.read_text(errors="replace").splitlines()
        return "\n".join("    " + line[:400] for line in text[-lines:])


def choose(names):
    if names in ([], ["full"]):
        return [part for part in PARTS if part.full]
    if names == ["quick"]:
        return [part for part in PARTS if part.name in QUICK]
    known = {part.name: part for part in PARTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]}; known: full, quick, list, {', '.join(known)}")
    return [part for part in PARTS if part.name in names]


def run_part(suite, part, total, output):
    begin = time.monotonic()
    run = Run(suite, part)
    try:
        part.run(run)
    except (Failed, services.ServiceError, subprocess.TimeoutExpired) as error:
        run.result.add(failed=1)
        run.notes.append(str(error))
    except Exception as error:  # a fault of the suite itself must show as a failure too
        run.result.add(failed=1)
        run.notes.append(f"{type(error).__name__}: {error}")
    with output:
        total.add(run.result.passed, run.result.failed, run.result.skipped)
        say(f"{part.name:<18} {time.monotonic() - begin:6.1f} s   {run.result}")
        if (run.notes or run.result.failed or run.result.skipped) and not suite.stopping:
            if run.result.failed:
                say(run.tail())
            for note in run.notes:
                say(f"  {part.name}: {note}")
            run.keep()
    run.log.close()


def run_parts(suite, parts, total):
    """Two workers take parts in the order of the table; a part waits for those it names."""
    left, done, changed, output = list(parts), set(), threading.Condition(), threading.Lock()
    chosen = {part.name for part in parts}

    def take():
        with changed:
            while left and not suite.stopping:
                for part in left:
                    waits = chosen - done - {part.name} if part.last else set(part.after) & chosen - done
                    if not waits:
                        left.remove(part)
                        return part
                changed.wait(1)
        return None

    def work():
        while (part := take()) is not None:
            try:
                run_part(suite, part, total, output)
            finally:
                with changed:
                    done.add(part.name)
                    changed.notify_all()

    workers = [threading.Thread(target=work, daemon=True) for _ in range(SIDE_BY_SIDE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(0.5)


def stop_on_signal(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def alone():
    """One run at a time in a checkout: builds, engine and logs are shared. Held until the end."""
    CACHE.mkdir(parents=True, exist_ok=True)
    lock = open(CACHE / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting for another run in this checkout")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def main(names):
    if names == ["list"]:
        for part in PARTS:
            print(f"{part.name:<18} {part.what}")
        return 0
    if names and names[0] in ("-h", "--help", "help"):
        print("usage: tests/run [full|quick|list|PART...]")
        return 0
    parts = choose(names)
    needs = list(dict.fromkeys(need for part in parts for need in part.needs))
    lock = alone()
    begin = time.monotonic()
    say(f"preparing: {', '.join(needs)}")
    prepare.prepare(needs)
    say(f"{'prepared':<18} {time.monotonic() - begin:6.1f} s")

    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    os.environ |= {"FIRN_TEST_WEED": str(prepare.VENV / "bin/weed"), "FIRN_TEST_VERSITYGW": str(prepare.VERSITYGW),
                   "FIRN_TEST_S3PROXY": str(prepare.S3PROXY)}
    suite, total = Suite(), Result()
    os.environ["FIRN_TEST_HELD"] = str(suite.held)
    signal.signal(signal.SIGINT, stop_on_signal)
    signal.signal(signal.SIGTERM, stop_on_signal)
    stopped = False
    try:
        run_parts(suite, parts, total)
    except Stopped:
        stopped = True
        say("stopped; ending what runs")
    finally:
        suite.stop()
        shutil.rmtree(suite.folder, ignore_errors=True)
    say(f"{'all':<18} {time.monotonic() - begin:6.1f} s   logs: {KEPT}")
    if stopped:
        total.add(failed=1)
    say(str(total))
    lock.close()
    in_ci = bool(os.environ.get("CI"))
    return 1 if total.failed or not total.passed or (in_ci and total.skipped) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
