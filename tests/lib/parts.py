"""The table of the suite's parts. A part is a row: what it needs, and a function that runs
commands and counts. `tests/run list` prints it."""

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import typing

import container
import prepare
import services
from prepare import CACHE, PYTHON, ROOT

BUILDS = CACHE / "build"

# name: compiler, options
BUILD_OPTIONS = {
    "release": ("gcc", ["--buildtype=release", "-Dwerror=true"]),
    "clang": ("clang", ["--buildtype=debugoptimized", "-Dwerror=true"]),
    "asan": ("gcc", ["-Db_sanitize=address,undefined"]),
    "tsan": ("gcc", ["-Db_sanitize=thread"]),
    "faults": ("gcc", ["-Dfaults=true"]),
    "fuzz": ("clang", ["-Dfuzz=true", "-Db_sanitize=address,undefined", "-Db_lundef=false"]),
}
SLOWNESS = {"asan": "4", "tsan": "10"}
ASAN = "detect_leaks=1:allocator_may_return_null=1"
TSAN = f"halt_on_error=0:second_deadlock_stack=1:suppressions={ROOT / 'tests/lib/tsan.txt'}"


def build(run, name):
    """The folder of a build, brought up to date; one thread builds it, the others wait."""
    suite = run.suite
    folder = BUILDS / name
    with suite.once(f"build {name}"):
        if name in suite.built:
            if not suite.built[name]:
                run.must(["false"], f"the {name} build (see the part that built it)")
            return folder
        suite.built[name] = False
        compiler, options = BUILD_OPTIONS[name]
        stamp, want = folder / ".options", f"{compiler} {options}"
        if not (folder / "build.ninja").exists() or not stamp.exists() or stamp.read_text() != want:
            shutil.rmtree(folder, ignore_errors=True)
            run.must(["meson", "setup", *options, folder, ROOT], f"setup of the {name} build",
                     env={"CC": compiler})
            stamp.write_text(want)
        run.must(["ninja", "-C", folder], f"the {name} build")
        suite.built[name] = True
    return folder


def binary(run, name="release"):
    return build(run, name) / "server/firn"


# --- own tests ----------------------------------------------------------------------


def lint(run):
    lints = ROOT / "tests/lint"
    for name in ("arrows.py", "banned.py", "size.py", "words.py", "settings.py"):
        run.test(name, [sys.executable, lints / name])
    run.test("regen.sh", [lints / "regen.sh"])
    run.test("format.sh", [lints / "format.sh"])


def tidy(run):
    run.test("tidy.sh", [ROOT / "tests/lint/tidy.sh", BUILDS / "tidy"])


def compilers(run, names=("release", "clang")):
    for name in names:
        build(run, name)
        run.result.add(passed=1)


def compiler(run):
    compilers(run, ("release",))


@contextlib.contextmanager
def in_memory():
    """Settings for tests whose files need not reach a disk, where there is room in memory."""
    base = pathlib.Path("/dev/shm")
    if not base.is_dir() or shutil.disk_usage(base).free < 2 << 30:
        yield {}
        return
    with tempfile.TemporaryDirectory(dir=base) as folder:
        os.chmod(folder, 0o755)  # PostgreSQL runs as somebody else
        yield {"FIRN_TEST_TMP": folder}


def meson_tests(run, build_name, *options, env=None, suites=()):
    """Unit tests; libcheck says how many cases an executable holds. Four at a time, since the longest ones wait for
    a clock; that they end in time is meant for a machine on which nothing else runs."""
    folder = build(run, build_name)
    picked = [word for suite in suites for word in ("--suite", suite)]
    name = f"{run.part.name}-log"
    with in_memory() as memory:
        code, _ = run.command(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--num-processes", "4",
                               "--timeout-multiplier", "4", "--logbase", name, *picked, *options], env=memory | (env or {}))
    log = folder / "meson-logs" / f"{name}.json"
    tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for test in tests:
        counts = re.findall(r"Checks: (\d+), Failures: (\d+), Errors: (\d+)", test.get("stdout") or "")
        checks = sum(int(c[0]) for c in counts)
        bad = sum(int(c[1]) + int(c[2]) for c in counts)
        if test["result"] == "SKIP":
            run.result.add(skipped=1)
        elif test["result"] == "OK":
            run.result.add(passed=max(checks, 1))
        else:
            run.result.add(passed=max(checks - bad, 0), failed=max(bad, 1))
            run.notes.append(f"{test['name']}: {test['result']}")
    if not tests or (code and not run.result.failed):
        run.result.add(failed=1)
        run.notes.append(f"meson test ended with {code} after {len(tests)} executables")
    log.unlink(missing_ok=True)


def unit(run):
    """Tests of SQL start a PostgreSQL of their own."""
    meson_tests(run, "release", "--no-suite", "s3", "--no-suite", "fuzz")


def unit_asan(run):
    meson_tests(run, "asan", "--no-suite", "s3", "--no-suite", "fuzz",
                env={"ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"})


def pytest(run, where, build_name, *options, env=None, limit=180):
    """A test that fails is tried once more, since others keep the machine busy; the run says so."""
    slowness = SLOWNESS.get(build_name, "1")
    run.counted("pytest", [
        PYTHON, "-m", "pytest", where, "-q", "-raR", "-p", "no:cacheprovider", "--durations=5",
        "--reruns=1", "--reruns-delay=2",
        f"--timeout={limit * int(slowness)}", f"--rootdir={ROOT / 'tests'}", *options],
        env={"FIRN_BIN": str(binary(run, build_name)), "FIRN_TEST_DB": "sqlite",
             "FIRN_TEST_STORE": "file", "FIRN_TEST_SLOWNESS": slowness,
             "ASAN_OPTIONS": ASAN, "TSAN_OPTIONS": TSAN,
             } | (env or {}))


def api(run, build_name, *options, env=None, at_once=3):
    """Several at a time, because many of these tests wait; each process has servers of its own."""
    pytest(run, "tests/api", build_name, "-n", str(at_once), "--dist", "worksteal", *options, env=env)


# Tests by the thousand that are generated from tables. After an edit the rest is enough, but for
# those that take seconds and are marked as long.
GENERATED = ("test_matrix.py", "test_bad_input.py")


def api_sqlite(run):
    api(run, "release")


def api_quick(run):
    with in_memory() as env:
        api(run, "release", "-m", "not long", *(f"--ignore=tests/api/{name}" for name in GENERATED), env=env, at_once=4)


def api_pg(run):
    api(run, "release", env=run.postgres().environment() | run.seaweed().environment())


def api_pgbouncer(run):
    """Statements without names, sessions shared between transactions."""
    with services.PgBouncer(run.folder / "pgbouncer", run.postgres().uri) as bouncer:
        api(run, "release", env=bouncer.environment())


def api_gcs(run):
    """What touches files, and tokens for clients."""
    some = "test_gcs or test_load or test_staged or test_drop or leads_to or (metadata_files and not more_old)"
    api(run, "release", "-k", some, *(f"--ignore=tests/api/{name}" for name in GENERATED),
        env=run.gcs().environment())


def api_azurite(run):
    """What touches files, and signatures for clients."""
    some = ("test_azure or test_load or test_staged or test_drop or leads_to"
            " or (metadata_files and not more_old)")
    api(run, "release", "-k", some, *(f"--ignore=tests/api/{name}" for name in GENERATED),
        env=run.azurite().environment())


def api_asan(run):
    api(run, "asan")


def api_tsan(run):
    """The tests that race requests; PostgreSQL, because only there several things run at once."""
    api(run, "tsan", "-k", "concurrent or race or racing or replica or parallel",
        env=run.postgres().environment())


def fault(run):
    """These stop and freeze services, so the suite's shared ones are only a place for databases. Much of their time
    goes by in waiting."""
    pytest(run, "tests/fault", "faults", "--ignore=tests/fault/test_s3_stub.py", "-n", "2", "--dist", "worksteal", limit=300,
           env=run.postgres().environment() | run.seaweed().environment())


def bad_store(run):
    """Most of the time of these goes by in waiting."""
    pytest(run, "tests/fault/test_s3_stub.py", "release", "-n", "6", "--dist", "worksteal")


def model(run):
    command = [PYTHON, ROOT / "tests/model/main.py", "--ops", "20000"]
    for env in ({"FIRN_TEST_DB": "sqlite"}, run.postgres().environment()):
        run.counted("model", command, env={"FIRN_BIN": str(binary(run))} | env)


def large(run):
    pytest(run, "tests/large", "release", limit=300)
    for name in ("test_lists.py", "test_names.py", "test_plans.py"):
        pytest(run, f"tests/large/{name}", "release", limit=300, env=run.postgres().environment())


READ_JSON = ("metadata", "scan", "body", "commit", "splice")


def fuzz(run):
    folder = build(run, "fuzz")
    env = {"ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    source = ROOT / "tests/fuzz"
    targets = sorted(p for p in (folder / "tests/fuzz").glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    if not targets:
        run.must(["false"], "finding fuzz targets")
    for target in targets:
        name = target.name.removeprefix("fuzz_")
        known = [p for p in (source / "corpus" / name, source / "regression" / name) if p.is_dir()]
        run.test(f"{name} corpus", [target, "-runs=0", *known], env=env, timeout=120)
        found = run.folder / name
        found.mkdir()
        words = [f"-dict={source / 'json.dict'}"] if name in READ_JSON else []
        run.test(f"{name} short run", [
            target, *words, "-max_total_time=6", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
            f"-artifact_prefix={found}/", found, *known], env=env, cwd=found, timeout=120)


def storage_s3(run, store):
    env = store.environment()
    meson_tests(run, "release", env=env, suites=("s3",))
    return env


def s3(run):
    env = storage_s3(run, run.seaweed())
    run.counted("botocore", [PYTHON, ROOT / "tests/unit/storage/botocore_judge.py",
                             build(run, "release") / "tests/unit/storage/sigv4_print"])


def rgw(run):
    # RGW 16 takes no checksums behind a body; clients on newer SDKs have to be told
    env = storage_s3(run, run.rgw()) | {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}
    env |= run.postgres().environment()
    api(run, "release", "-k", "table or commit or vending or signing", env=env)
    story(run, "pyiceberg", env, "--vended")
    story(run, "lake", env | SIGNED_FOR)


# What writes, lists, deletes and tries a store.
OF_STORES = ("test_create.py", "test_staged.py", "test_metadata_files.py", "test_purge.py", "test_warehouses.py")


def versitygw(run):
    env = run.versitygw().environment()
    meson_tests(run, "release", "storage/s3-live", env=env, suites=("s3",))
    pytest(run, "tests/stores/test_versitygw.py", "release")
    pytest(run, f"tests/api/{OF_STORES[0]}", "release", *(f"tests/api/{name}" for name in OF_STORES[1:]),
           "-n", "3", "--dist", "worksteal", env=env)


def s3proxy(run):
    pytest(run, "tests/stores/test_s3proxy.py", "release")


# --- real judges ----------------------------------------------------------------------


def kit(run, env):
    run.counted("kit", [PYTHON, ROOT / "tests/clients/rck/judge.py"], timeout=1000, env={
        "FIRN_BIN": str(binary(run)), "FIRN_TEST_DB": "sqlite", "FIRN_TEST_STORE": "file",
        "RCK_CACHE": str(CACHE / "rck"), "RCK_REPORTS": str(run.folder / "reports")} | env)


def rck_sqlite(run):
    kit(run, {})


def rck_pg(run):
    kit(run, run.postgres().environment())


def matrix(run):
    """Every requirement and update; Java applies the same, Java and PyIceberg read the results."""
    run.counted("matrix", [PYTHON, ROOT / "tests/clients/matrix/judge.py"], timeout=600, env={
        "FIRN_BIN": str(binary(run)), "FIRN_TEST_DB": "sqlite", "FIRN_TEST_STORE": "file",
        "RCK_CACHE": str(CACHE / "rck")})


def story(run, name, env, *options):
    run.counted(name, [PYTHON, ROOT / f"tests/clients/{name}/story.py", *options], timeout=1200, env={
        "FIRN_BIN": str(binary(run)), "FIRN_TEST_DB": "sqlite", "FIRN_TEST_STORE": "file",
        "FIRN_TEST_JARS": str(prepare.JARS), "SPARK_LOCAL_IP": "127.0.0.1"} | env)


def on_both(run, name, env=None):
    """On SQLite and local files, then on PostgreSQL and SeaweedFS."""
    story(run, name, env or {})
    story(run, name, (env or {}) | run.postgres().environment() | run.seaweed().environment())


def pyiceberg_sqlite(run):
    story(run, "pyiceberg", {})


def pyiceberg_pg(run):
    story(run, "pyiceberg", run.postgres().environment() | run.seaweed().environment())


def duckdb(run):
    on_both(run, "duckdb")


def clickhouse(run):
    story(run, "clickhouse", {})


def polars(run):
    on_both(run, "polars")


def iceberg_js(run):
    on_both(run, "iceberg_js", {"FIRN_TEST_NODE": str(prepare.node()), "FIRN_TEST_ICEBERG_JS": str(prepare.ICEBERG_JS)})


def iceberg_go(run):
    on_both(run, "iceberg_go", {"FIRN_TEST_ICEBERG_GO": str(prepare.ICEBERG_GO)})


def spark(run):
    story(run, "spark", run.postgres().environment() | run.seaweed().environment())


def spark_short(run):
    story(run, "spark", {}, "--short")


def vended(run):
    """Clients that are told the address of the catalog and nothing of the store."""
    env = run.postgres().environment() | run.seaweed().environment()
    story(run, "pyiceberg", env, "--vended")
    story(run, "duckdb", env, "--vended")


def spark_vended(run):
    story(run, "spark", run.postgres().environment() | run.seaweed().environment(), "--short", "--vended")


# What PyIceberg needs besides: a store for Python, and one thread.
SIGNED_FOR = {"PYTHONPATH": str(prepare.S3FS), "PYICEBERG_MAX_WORKERS": "1"}


def signed(run):
    """A client without keys: the catalog signs its requests."""
    story(run, "pyiceberg", run.postgres().environment() | run.seaweed().environment() | SIGNED_FOR, "--signed")


def spark_signed(run):
    env = run.postgres().environment() | run.seaweed().environment()
    story(run, "spark", env, "--signed")
    story(run, "lake", env | SIGNED_FOR)


def readme(run):
    run.counted("README", [PYTHON, ROOT / "tests/clients/readme/judge.py", "--spark"],
                env={"FIRN_TEST_JARS": str(prepare.JARS)} | run.seaweed().environment())


def image(run):
    container.judge(run)


def budget(run):
    """Callgrind makes everything about fifty times slower."""
    for env in ({}, run.postgres().environment()):
        pytest(run, "tests/budget", "release", limit=300, env={"FIRN_TEST_SLOWNESS": "20"} | env)


def bench(run):
    """That the benchmark runs; of its figures only what must not grow is judged here."""
    out = run.folder / "numbers.json"
    run.test("bench", [ROOT / "tests/bench/run", "--short", "--rows", "config", "--out", out], timeout=600)
    run.test("soak", [ROOT / "tests/bench/run", "--soak", "120", "--out", out], timeout=600)


def secrets(run):
    """Runs last: reads all that the other parts logged and left."""
    run.test("secrets.py", [sys.executable, ROOT / "tests/lint/secrets.py", run.suite.held, run.suite.folder, CACHE / "logs"])


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    what: str
    run: typing.Callable
    needs: tuple
    after: tuple = ()
    last: bool = False
    full: bool = True  # it belongs to a full run


BUILD = ("build", "python")
PG = (*BUILD, "postgres")

# In the order in which they are begun: long ones first.
PARTS = (
    Part("build", "gcc release and clang, warnings are errors", compilers, ("build", "clang")),
    Part("compile", "gcc release", compiler, ("build",), full=False),
    Part("unit", "unit tests, SQL on both databases", unit, PG, ("build", "compile")),
    Part("api-sqlite", "API tests on SQLite and local files", api_sqlite, BUILD, ("build",)),
    Part("api-quick", "the same but for long tests and those that are generated from tables", api_quick, BUILD,
         ("build", "compile"), full=False),
    Part("spark", "Spark, the whole story, PostgreSQL and SeaweedFS", spark, (*PG, "spark"), ("build",)),
    Part("api-pg", "API tests on PostgreSQL and SeaweedFS", api_pg, PG, ("build",)),
    Part("api-pgbouncer", "API tests on PostgreSQL behind PgBouncer", api_pgbouncer, (*PG, "pgbouncer"),
         ("build",)),
    Part("container", "image, compose file, two replicas behind HAProxy", image,
         (*PG, "engine", "haproxy"), ("build",)),
    Part("api-asan", "API tests under ASan and UBSan", api_asan, BUILD, ("build",)),
    Part("fault", "kill -9, restarts, two servers, proxies, broken stores", fault,
         (*PG, "haproxy", "pgbouncer"), ("build",)),
    Part("bad-store", "a store that refuses, breaks off, drips, lies", bad_store, BUILD, ("build",)),
    Part("spark-short", "Spark, the short story, SQLite and local files", spark_short,
         (*BUILD, "spark"), ("build", "spark")),
    Part("rck-pg", "Apache's compatibility kit on PostgreSQL", rck_pg, (*PG, "kit"), ("build",)),
    Part("rck-sqlite", "Apache's compatibility kit on SQLite", rck_sqlite, (*BUILD, "kit"),
         ("build", "rck-pg")),
    Part("matrix", "requirements and updates, judged by Java and PyIceberg", matrix, (*BUILD, "kit"),
         ("build",)),
    Part("api-tsan", "racing requests under TSan", api_tsan, PG, ("build",)),
    Part("unit-asan", "unit tests under ASan and UBSan", unit_asan, PG, ("build",)),
    Part("model", "random operations against a model, on both databases", model, PG, ("build",)),
    Part("api-azurite", "API tests and signatures for clients on an emulator of Azure's storage", api_azurite,
         (*BUILD, "azure"), ("build",)),
    Part("api-gcs", "API tests and tokens for clients on an emulator of Google's storage", api_gcs, BUILD,
         ("build",)),
    Part("large", "histories, namespaces, schemas and maps as large as they get", large, PG, ("build",)),
    Part("fuzz", "corpora and a short run of every fuzz target", fuzz, ("build", "clang"), ("build",)),
    Part("rgw", "object storage, tables, Spark, PyIceberg and DuckDB on Ceph RGW", rgw, (*PG, "rgw", "spark", "s3fs"),
         ("build",)),
    Part("bench", "the benchmark runs, one line of it; two minutes of mixed load, memory flat", bench,
         ("build", "postgres"), ("build",)),
    Part("s3", "object storage on SeaweedFS, botocore judges signatures", s3, BUILD, ("build",)),
    Part("versitygw", "object storage on versitygw, which is strict about signatures", versitygw,
         (*BUILD, "versitygw"), ("build",)),
    Part("s3proxy", "a trial finds that S3Proxy passes over conditions", s3proxy, (*BUILD, "s3proxy"), ("build",)),
    Part("pyiceberg-pg", "PyIceberg on PostgreSQL and SeaweedFS", pyiceberg_pg, PG, ("build",)),
    Part("pyiceberg-sqlite", "PyIceberg on SQLite and local files", pyiceberg_sqlite, BUILD, ("build",)),
    Part("readme", "what README shows: ./run, clients, curl, settings", readme, (*BUILD, "spark"),
         ("build", "spark")),
    Part("duckdb", "DuckDB on both pairs of database and store", duckdb, PG, ("build",)),
    Part("iceberg-go", "iceberg-go on both pairs of database and store", iceberg_go, (*PG, "go"), ("build",)),
    Part("polars", "Polars on both pairs of database and store", polars, (*PG, "engines"), ("build",)),
    Part("iceberg-js", "iceberg-js on both pairs of database and store", iceberg_js, (*PG, "node"), ("build",)),
    Part("clickhouse", "ClickHouse (chDB) on SQLite and local files", clickhouse, (*BUILD, "engines"), ("build",)),
    Part("vended", "PyIceberg and DuckDB with vended credentials only, PostgreSQL and SeaweedFS", vended, PG,
         ("build",)),
    Part("spark-vended", "Spark, the short story, with vended credentials only", spark_vended, (*PG, "spark"),
         ("build", "spark")),
    Part("signed", "PyIceberg with signed requests only, PostgreSQL and SeaweedFS", signed, (*PG, "s3fs"), ("build",)),
    Part("spark-signed", "Spark, a few steps, with signed requests only; three clients at a warehouse that curl made",
         spark_signed, (*PG, "spark", "s3fs"), ("build", "spark")),
    Part("budget", "instructions for each kind of request, on both databases", budget, (*PG, "valgrind"), ("build",)),
    Part("tidy", "clang-tidy", tidy, ("build", "clang")),
    Part("lint", "arrows, banned functions, sizes, words, format, generated files", lint,
         (*BUILD, "clang")),
    Part("secrets", "no secret that a test held in any log, report or core", secrets, (), last=True),
)
QUICK = ("compile", "unit", "api-quick")
