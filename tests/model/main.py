"""Random sequences of operations against a model of a catalog, every answer and what is there
afterwards compared. A sequence that shows a difference is made as short as possible and printed."""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import prepare  # noqa: E402
from catalog import Mismatch  # noqa: E402
from drive import Run  # noqa: E402
from firn_server import Server  # noqa: E402
from generate import Generator  # noqa: E402
from prepare import CACHE, ROOT, say  # noqa: E402
from race import race  # noqa: E402
from services import Postgres  # noqa: E402

WORKERS = 2
LENGTHS = (100, 400, 400, 400, 1500)
REPLICAS = 2
RACE = 1200  # commits of several clients at once


# --- one sequence -------------------------------------------------------------------------


def generated(servers, root, seed, index, most):
    """Carries a random sequence out; (operations, None) or (operations, what was wrong)."""
    rng = random.Random(f"{seed}/{index}")
    run, ops = Run(servers, root), []
    generator = Generator(rng, run)
    try:
        start = {"op": "create_namespace", "body": {"namespace": ["@root"]}, "n": 0}
        for n in range(min(most, rng.choice(LENGTHS))):
            ops.append(generator.next(n) if n else start)
            run.step(ops[-1])
        run.look_everywhere()
    except Exception as error:
        return ops, what(error)
    finally:
        run.close()
    return ops, None


def replayed(servers, root, ops):
    """Carries given operations out in an empty catalog: what was wrong, or None. Operations that
    shrinking has spoiled are no finding."""
    run = Run(servers, root)
    try:
        for op in ops:
            run.step(op)
        run.look_everywhere()
    except (Mismatch, OSError) as error:
        return what(error)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    finally:
        run.close()
    return None


def what(error):
    """A difference in words; anything else is a fault of this program or of the connection."""
    return str(error) if isinstance(error, Mismatch) else "".join(traceback.format_exception(error)[-4:])


def kind_of(wrong):
    """By which a difference is known again in a shorter sequence."""
    return wrong[:10] if wrong.startswith("afterwards") else wrong[:24]


# --- shrinking ----------------------------------------------------------------------------


def shrunk(ops, fails):
    """A shorter sequence that still fails: chunks are left out, then parts of single operations."""
    size = len(ops) // 2
    while size:
        at = 0
        while at < len(ops):
            fewer = ops[:at] + ops[at + size:]
            if fewer and fails(fewer):
                ops = fewer
            else:
                at += size
        size //= 2
    for at in range(len(ops)):
        ops = simpler(ops, at, fails)
    return ops


def simpler(ops, at, fails):
    again = True
    while again:
        again = False
        for smaller in without_a_part(ops[at]):
            fewer = [*ops[:at], smaller, *ops[at + 1:]]
            if fails(fewer):
                ops, again = fewer, True
                break
    return ops


def without_a_part(value):
    """The same operation with one thing less somewhere."""
    if isinstance(value, dict):
        for key in value:
            if key not in ("op", "n", "ns", "name", "action", "type", "again", "identifier", "namespace"):
                yield {k: v for k, v in value.items() if k != key}
        for key, inner in value.items():
            for smaller in without_a_part(inner):
                yield value | {key: smaller}
    elif isinstance(value, list) and not all(isinstance(v, str) for v in value):
        for i, inner in enumerate(value):
            yield value[:i] + value[i + 1:]
            for smaller in without_a_part(inner):
                yield [*value[:i], smaller, *value[i + 1:]]


# --- all of them --------------------------------------------------------------------------


def worker(number, servers, seed, share, results, stop):
    done = index = 0
    while done < share and not stop.is_set():
        ops, wrong = generated(servers, f"w{number}-{index}", seed, f"{number}.{index}", share - done)
        done += len(ops)
        results.put((number, index, len(ops), wrong and (ops, wrong)))
        if wrong:
            return
        index += 1
    results.put((number, None, 0, None))


def work(servers, seed, ops):
    """(operations carried out, sequences, failure or None)."""
    results, stop = multiprocessing.Queue(), multiprocessing.Event()
    share = -(-ops // WORKERS)
    workers = [multiprocessing.Process(target=worker, args=(i, servers, seed, share, results, stop))
               for i in range(WORKERS)]
    for one in workers:
        one.start()
    total = sequences = 0
    failure, left, begun = None, WORKERS, time.monotonic()
    shown = begun
    while left:
        number, index, count, wrong = results.get()
        if index is None or wrong:
            left -= 1
        if wrong and not failure:
            failure = (f"{number}.{index}", *wrong)
            stop.set()
        total += count
        sequences += index is not None
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            say(f"  {total} operations, {total / (shown - begun):.0f} a second")
    for one in workers:
        one.join()
    return total, sequences, failure


def report(servers, name, ops, wrong):
    say(f"sequence {name} of {len(ops)} operations: {wrong}\n\nmaking it shorter ...")
    attempts = 0

    def fails(fewer):
        nonlocal attempts
        attempts += 1
        found = attempts < 4000 and replayed(servers, f"s-{name}-{attempts}", fewer)
        return found and kind_of(found) == kind_of(wrong)

    if not fails(ops):
        say("carried out once more it succeeds; the whole of it:")
    else:
        ops = shrunk(ops, fails)
        wrong = replayed(servers, f"s-{name}-last", ops)
    say(f"{len(ops)} operations ({attempts} attempts): {wrong}\n")
    for op in ops:
        say(json.dumps(op, ensure_ascii=False))
    say("\n(save these lines in a file: tests/model/run --replay FILE)")


def go(options, servers):
    if options.replay:
        ops = [json.loads(line) for line in options.replay.read_text().splitlines() if line.startswith("{")]
        wrong = replayed(servers, "replay", ops)
        say(f"{wrong or 'as it should be'}\n{len(ops)} operations: {'0 passed, 1 failed' if wrong else '1 passed'}")
        return 1 if wrong else 0
    begun = time.monotonic()
    total, sequences, failure = work(servers, options.seed, options.ops)
    took = time.monotonic() - begun
    if failure:
        report(servers, *failure)
    wrong = race(servers, options.seed, min(options.ops, RACE))
    say(f"several clients at once: {wrong or 'one order'}")
    failed = bool(failure) + bool(wrong)
    say(f"{total} operations in {sequences} sequences, seed {options.seed}, {took:.0f} s, "
        f"{total / took:.0f} operations a second: {sequences + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


def build():
    folder = CACHE / "model-build"
    if not (folder / "build.ninja").exists():
        prepare.attempt(["meson", "setup", "--buildtype=release", folder, ROOT], "setup of the build")
    prepare.attempt(["ninja", "-C", folder, "server/firn"], "the build")
    return folder / "server/firn"


def with_servers(options, folder):
    """On PostgreSQL there are two servers, and every operation goes to one of them."""
    env = {"FIRN_LOG_LEVEL": "warn"}
    with Server(env=env) as first:
        replicas = [first.replica().start() for _ in range(REPLICAS - 1)] if first.db.kind != "sqlite" else []
        try:
            return go(options, [{"address": s.address, "base": s.store.base} for s in (first, *replicas)])
        finally:
            for one in replicas:
                one.close()


def main():
    parser = argparse.ArgumentParser(prog="tests/model/run", description=__doc__)
    parser.add_argument("--ops", type=int, default=20000, help="how many operations")
    parser.add_argument("--seed", default=None, help="of the random sequences; one is drawn and printed")
    parser.add_argument("--replay", type=pathlib.Path, help="carry out the operations of this file, one JSON a line")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default=None,
                        help="default: what FIRN_TEST_DB says, else SQLite")
    options = parser.parse_args()
    if "FIRN_BIN" not in os.environ:
        prepare.prepare(("build", "python", *(("postgres",) if options.database == "postgresql" else ())))
        os.environ["FIRN_BIN"] = str(build())
    if pathlib.Path(sys.prefix) != prepare.VENV:  # the driver of PostgreSQL lives there
        os.execv(prepare.PYTHON, [str(prepare.PYTHON), "-B", "-u", *sys.argv])
    options.seed = options.seed or str(random.SystemRandom().randrange(10**9))
    say(f"seed {options.seed}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="firn-model-", dir=os.environ.get("FIRN_TEST_TMP")))
    folder.chmod(0o755)
    os.environ |= {"FIRN_TEST_TMP": str(folder), "FIRN_TEST_STORE": "file"}
    try:
        if options.database != "postgresql" or "FIRN_TEST_DB" in os.environ:
            os.environ.setdefault("FIRN_TEST_DB", "sqlite")
            return with_servers(options, folder)
        with Postgres(folder / "postgres") as cluster:
            os.environ |= cluster.environment()
            return with_servers(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
