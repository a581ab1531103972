"""Starts the real server for a test: fresh database, fresh warehouse, free ports.

    with Server() as firn:
        requests.get(firn.url + "/v1/config")

What it runs on comes from the environment, so that one test runs on every pair:

    FIRN_BIN              the server binary
    FIRN_TEST_DB          "sqlite", or the postgresql:// URI of a superuser in a private cluster
    FIRN_TEST_PG_PREPARED FIRN_PG_PREPARED of every server: "false" where the cluster is behind an old pooler
    FIRN_TEST_STORE       "file", "s3", "gcs" or "adls"
    FIRN_TEST_S3_ENDPOINT, _ACCESS_KEY, _SECRET_KEY, _BUCKET, _REGION
    FIRN_TEST_GCS_ENDPOINT, _BARE_ENDPOINT, _KEY_FILE, _BUCKET
    FIRN_TEST_AZURE_ENDPOINT, _ACCOUNT, _KEY, _CONTAINER
    FIRN_TEST_STS_ENDPOINT, _ROLE_ARN, _S3_CLIENT_ENDPOINT: for servers that hand out credentials
    FIRN_TEST_TMP         folder for databases, warehouses and logs

With FIRN_TEST_URL nothing is started: Server() then stands for an installation that runs there, its
warehouse is FIRN_TEST_WAREHOUSE, and FIRN_TEST_RESTART is the command that restarts it.
"""

import base64
import itertools
import json
import os
import pathlib
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import held
from azure_blob import Blobs

ROOT = pathlib.Path(__file__).resolve().parents[2]

_numbers = itertools.count(1)
_REPORT = re.compile(
    r"ERROR: (?:Address|Leak|UndefinedBehavior)Sanitizer|WARNING: ThreadSanitizer|: runtime error: "
    r"|Assertion .* failed")
_INHERITED = ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD", "TSAN_OPTIONS",
              "LLVM_PROFILE_FILE", "FAKETIME")


class StartError(Exception):
    """The server ended or was not ready in time; the text holds the end of its log."""


def temporary_folder():
    base = os.environ.get("FIRN_TEST_TMP")
    if base:
        os.makedirs(base, exist_ok=True)
    return pathlib.Path(tempfile.mkdtemp(prefix="server-", dir=base or None))


def slow_build():
    """How much longer than a release build this binary may take (sanitizers)."""
    return float(os.environ.get("FIRN_TEST_SLOWNESS", "1"))


# --- databases ----------------------------------------------------------------


class SqliteDatabase:
    kind = "sqlite"

    def __init__(self, folder):
        self.path = folder / "firn.db"
        self.uri = f"sqlite:{self.path}"

    def query(self, text, *values):
        import sqlite3
        with sqlite3.connect(self.path, timeout=60) as db:
            db.create_collation("C", lambda a, b: (a.encode() > b.encode()) - (a.encode() < b.encode()))
            rows = db.execute(text.replace("%s", "?"), values).fetchall()
        db.close()
        return rows

    def drop(self):
        for suffix in ("", "-wal"):
            path = pathlib.Path(str(self.path) + suffix)
            assert not path.exists() or not held.found_in(path.read_bytes()), f"{path} holds a secret"
        for suffix in ("", "-wal", "-shm", ".lock", "-lock"):
            pathlib.Path(str(self.path) + suffix).unlink(missing_ok=True)


class PostgresDatabase:
    kind = "postgresql"

    def __init__(self, cluster):
        self.cluster = cluster
        self.name = f"firn_{secrets.token_hex(6)}"
        parts = urllib.parse.urlsplit(cluster)
        self.uri = urllib.parse.urlunsplit(parts._replace(path="/" + self.name))
        self._admin(f'CREATE DATABASE "{self.name}" TEMPLATE template0 ENCODING \'UTF8\'')

    def _admin(self, text):
        import psycopg
        with psycopg.connect(self.cluster, autocommit=True, connect_timeout=20) as db:
            db.execute(text)

    def query(self, text, *values):
        import psycopg
        with psycopg.connect(self.uri, autocommit=True, connect_timeout=20) as db:
            cursor = db.execute(text, values)
            return cursor.fetchall() if cursor.description else []

    def drop(self):
        self._admin(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')


# --- stores -------------------------------------------------------------------


def local_path(uri):
    """Both spellings of file: locations, file:/x and file:///x."""
    path = uri.removeprefix("file:")
    return pathlib.Path(path[2:] if path.startswith("//") else path)


class FileStore:
    kind = "file"

    def __init__(self, folder, spelling="file://"):
        self.folder = folder / "warehouse"
        self.folder.mkdir()
        self.base = f"{spelling}{self.folder}"
        self.settings = {}

    def read(self, uri):
        return local_path(uri).read_bytes()

    def write(self, uri, data):
        path = local_path(uri)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def delete(self, uri):
        local_path(uri).unlink()

    def exists(self, uri):
        return local_path(uri).is_file()

    def list(self, uri=None):
        uri = uri or self.base
        root = local_path(uri)
        if not root.is_dir():
            return []
        stem = uri.rstrip("/")
        return sorted(f"{stem}/{p.relative_to(root)}" for p in root.rglob("*") if p.is_file())

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class S3Store:
    kind = "s3"

    def __init__(self):
        env = os.environ
        self.endpoint = env["FIRN_TEST_S3_ENDPOINT"]
        self.access_key = env["FIRN_TEST_S3_ACCESS_KEY"]
        self.secret_key = env["FIRN_TEST_S3_SECRET_KEY"]
        self.bucket = env["FIRN_TEST_S3_BUCKET"]
        self.region = env.get("FIRN_TEST_S3_REGION", "us-east-1")
        self.prefix = f"w-{secrets.token_hex(6)}"
        self.base = f"s3://{self.bucket}/{self.prefix}"
        self.settings = {
            "FIRN_S3_ENDPOINT": self.endpoint,
            "FIRN_S3_REGION": self.region,
            "FIRN_S3_ACCESS_KEY_ID": self.access_key,
            "FIRN_S3_SECRET_ACCESS_KEY": self.secret_key,
            "FIRN_S3_PATH_STYLE": "true",
        }
        self._client = None

    @property
    def client(self):
        if self._client is None:
            import boto3
            from botocore.config import Config
            self._client = boto3.client(
                "s3", endpoint_url=self.endpoint, region_name=self.region,
                aws_access_key_id=self.access_key, aws_secret_access_key=self.secret_key,
                config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 5}))
        return self._client

    @staticmethod
    def _split(uri):
        bucket, _, key = uri.split("://", 1)[1].partition("/")
        return bucket, key

    def read(self, uri):
        bucket, key = self._split(uri)
        return self.client.get_object(Bucket=bucket, Key=key)["Body"].read()

    def write(self, uri, data):
        bucket, key = self._split(uri)
        self.client.put_object(Bucket=bucket, Key=key, Body=data)

    def delete(self, uri):
        bucket, key = self._split(uri)
        self.client.delete_object(Bucket=bucket, Key=key)

    def exists(self, uri):
        from botocore.exceptions import ClientError
        bucket, key = self._split(uri)
        try:
            self.client.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                return False
            raise
        return True

    def list(self, uri=None):
        bucket, prefix = self._split(uri or self.base)
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix.rstrip("/") + "/")
        return sorted(f"s3://{bucket}/{item['Key']}"
                      for page in pages for item in page.get("Contents", []))

    def clear(self):
        for uri in self.list():
            self.delete(uri)


class GcsStore:
    """Looked at past the guard, by the bare emulator."""

    kind = "gcs"

    def __init__(self):
        env = os.environ
        self.endpoint = env["FIRN_TEST_GCS_ENDPOINT"]
        self.bare = env["FIRN_TEST_GCS_BARE_ENDPOINT"]
        self.key = pathlib.Path(env["FIRN_TEST_GCS_KEY_FILE"]).read_text()
        self.bucket = env["FIRN_TEST_GCS_BUCKET"]
        self.base = f"gs://{self.bucket}/w-{secrets.token_hex(6)}"
        self.settings = {"FIRN_GCS_ENDPOINT": self.endpoint, "FIRN_STS_ENDPOINT": self.endpoint,
                         "FIRN_GCS_KEY": self.key}

    @property
    def reach(self):
        """Properties of a client that reaches everything."""
        return {"gcs.service.host": self.bare, "gcs.oauth2.token": "any", "gcs.oauth2.token-expires-at": "4102444800000"}

    def _ask(self, method, path, data=None):
        request = urllib.request.Request(self.bare + path, data, method=method)
        request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    @staticmethod
    def _object(uri):
        bucket, _, name = uri.split("://", 1)[1].partition("/")
        return f"/storage/v1/b/{bucket}/o/{urllib.parse.quote(name, safe='')}"

    def read(self, uri):
        return self._ask("GET", self._object(uri) + "?alt=media")

    def write(self, uri, data):
        bucket, _, name = uri.split("://", 1)[1].partition("/")
        self._ask("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={urllib.parse.quote(name, safe='')}",
                  data)

    def delete(self, uri):
        self._ask("DELETE", self._object(uri))

    def exists(self, uri):
        try:
            self._ask("GET", self._object(uri))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True

    def list(self, uri=None):
        bucket, _, prefix = (uri or self.base).split("://", 1)[1].partition("/")
        prefix = urllib.parse.quote(prefix.rstrip("/") + "/", safe="")
        names, token = [], ""
        while True:
            page = json.loads(self._ask("GET", f"/storage/v1/b/{bucket}/o?prefix={prefix}&pageToken={token}"))
            names += [f"gs://{bucket}/{item['name']}" for item in page.get("items", [])]
            token = page.get("nextPageToken", "")
            if not token:
                return sorted(names)

    def clear(self):
        for uri in self.list():
            self.delete(uri)


class AzureStore:
    kind = "adls"

    def __init__(self):
        env = os.environ
        self.endpoint, self.account = env["FIRN_TEST_AZURE_ENDPOINT"], env["FIRN_TEST_AZURE_ACCOUNT"]
        self.key, self.container = env["FIRN_TEST_AZURE_KEY"], env["FIRN_TEST_AZURE_CONTAINER"]
        self.host = f"{self.account}.dfs.core.windows.net"
        self.base = f"abfss://{self.container}@{self.host}/w-{secrets.token_hex(6)}"
        self.settings = {"FIRN_AZURE_ENDPOINT": self.endpoint, "FIRN_AZURE_ACCOUNT_KEY": self.key}
        self.blobs = Blobs(self.endpoint, self.account, self.container, key=self.key)

    @property
    def reach(self):
        """Properties of a client that reaches everything."""
        return {"adls.connection-string": f"AccountName={self.account};AccountKey={self.key};BlobEndpoint={self.endpoint};"}

    @staticmethod
    def name(uri):
        return uri.split("://", 1)[1].partition("/")[2]

    def _ask(self, method, uri):
        status, body = self.blobs.ask(method, self.name(uri))
        assert status // 100 == 2, (method, uri, status, body)
        return body

    def read(self, uri):
        return self._ask("GET", uri)

    def write(self, uri, data):
        status, body = self.blobs.put(self.name(uri), data)
        assert status == 201, (uri, status, body)

    def delete(self, uri):
        self._ask("DELETE", uri)

    def exists(self, uri):
        status, _ = self.blobs.ask("HEAD", self.name(uri))
        assert status in (200, 404), (uri, status)
        return status == 200

    def list(self, uri=None):
        uri = (uri or self.base).rstrip("/")
        root = uri[:len(uri) - len(self.name(uri))]
        return sorted(root + name for name in self.blobs.list(self.name(uri) + "/"))

    def clear(self):
        for uri in self.list():
            self.delete(uri)


def vending():
    """Settings of a server whose clients get credentials for the store of the environment."""
    return {"FIRN_S3_VEND_ROLE_ARN": os.environ["FIRN_TEST_ROLE_ARN"],
            "FIRN_STS_ENDPOINT": os.environ["FIRN_TEST_STS_ENDPOINT"],
            "FIRN_S3_CLIENT_ENDPOINT": os.environ.get("FIRN_TEST_S3_CLIENT_ENDPOINT", "")}


def signing():
    """Settings of a server that signs its clients' requests and hands out nothing."""
    return vending() | {"FIRN_S3_REMOTE_SIGNING": "only"}


def delegating(words):
    """Settings as the command line says; then clients are told nothing of the store."""
    return vending() if "--vended" in words else signing() if "--signed" in words else None


def tells_of_store(firn):
    return "FIRN_S3_VEND_ROLE_ARN" in firn.extra


# --- the server ---------------------------------------------------------------


def seal():
    """A key for the secrets in the database, as a setting."""
    return "k1:" + base64.b64encode(secrets.token_bytes(32)).decode()


class Server:
    """One `firn serve` process. Its database and warehouse live until close()."""

    def __new__(cls, *_, **__):
        return super().__new__(Installation if "FIRN_TEST_URL" in os.environ else cls)

    def __init__(self, *, env=None, args=(), db=None, store=None, warehouse_name=None,
                 allowed="", spelling="file://", folder=None, _owner=True):
        self.number = next(_numbers)
        self.folder = folder or temporary_folder()
        self.binary = os.environ.get("FIRN_BIN") or str(ROOT / "build/server/firn")
        self.args = list(args)
        self.extra = dict(env or {})
        self.warehouse_name = warehouse_name
        self.allowed = allowed
        self._owner = _owner
        self.process = None
        self.address = self.admin_address = None
        self.log_path = self.folder / f"firn-{self.number}.log"
        kind = os.environ.get("FIRN_TEST_DB", "sqlite")
        self.db = db or (SqliteDatabase(self.folder) if kind == "sqlite" else PostgresDatabase(kind))
        if store is None:
            kind = os.environ.get("FIRN_TEST_STORE", "file")
            store = {"s3": S3Store, "gcs": GcsStore, "adls": AzureStore}[kind]() if kind != "file" else FileStore(self.folder, spelling)
        self.store = store

    # -- life --

    def environment(self):
        env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        env.update({
            "HOME": str(self.folder),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0"),
            "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1"),
            "FIRN_LISTEN": "127.0.0.1:0",
            "FIRN_ADMIN_LISTEN": "127.0.0.1:0",
            "FIRN_PORT_FILE": str(self._port_file),
            "FIRN_DATABASE": self.db.uri,
            "FIRN_WAREHOUSE": self.store.base,
            "FIRN_LOG_LEVEL": "debug",
            "AWS_EC2_METADATA_DISABLED": "true",  # no test asks the machine that it runs on
            "NO_GCE_CHECK": "true",
        })
        env.update(self.store.settings)
        if "FIRN_TEST_PG_PREPARED" in os.environ:
            env["FIRN_PG_PREPARED"] = os.environ["FIRN_TEST_PG_PREPARED"]
        if self.warehouse_name:
            env["FIRN_WAREHOUSE_NAME"] = self.warehouse_name
        if self.allowed:
            env["FIRN_ALLOWED_LOCATIONS"] = self.allowed
        env.update({k: str(v) for k, v in self.extra.items() if v is not None})
        for name in [k for k, v in self.extra.items() if v is None]:
            env.pop(name, None)
        held.hold_settings(env)
        return env

    @property
    def _port_file(self):
        return self.folder / f"ports-{self.number}"

    def start(self, wait=True, timeout=60):
        assert self.process is None, "already started"
        self._port_file.unlink(missing_ok=True)
        wrapper = os.environ.get("FIRN_TEST_WRAPPER", "").split()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*wrapper, self.binary, "serve", *self.args], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=self.environment(), cwd=self.folder)
        if wait:
            self.wait_ready(timeout)
        return self

    def wait_ready(self, timeout=60):
        deadline = time.monotonic() + timeout * slow_build()
        while True:
            if self._read_ports() and self.ready():
                return self
            if self.process.poll() is not None:
                code = self.process.returncode
                self.process = None
                raise StartError(f"the server ended with {code} before it was ready:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise StartError(f"not ready after {timeout * slow_build():.0f} s:\n{self.log_tail()}")
            time.sleep(0.01)

    def _read_ports(self):
        try:
            lines = self._port_file.read_text().split()
        except FileNotFoundError:
            return False
        if len(lines) < 2:
            return False
        self.address, self.admin_address = lines[:2]
        self.management_address = lines[2] if len(lines) > 2 else None
        return True

    def ready(self):
        return self.health("ready") == 200

    def health(self, name="ready"):
        """The status of /health/ready or /health/live; 0 when nothing answers."""
        try:
            with urllib.request.urlopen(f"{self.admin_url}/health/{name}", timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=30):
        """The exit code, once the process has ended; afterwards start() may be called again."""
        code = self.process.wait(timeout * slow_build())
        self.process = None
        return code

    def stop(self, timeout=30):
        """SIGTERM, then the exit code. A server that does not end is killed and fails the test."""
        if self.process is None:
            return 0
        self.process.terminate()
        try:
            code = self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"SIGTERM did not end the server:\n{self.log_tail()}") from None
        self.check_log()
        return code

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def restart(self, env=None, how="stop"):
        getattr(self, how)()
        if env:
            self.extra.update(env)
        return self.start()

    def close(self):
        """Ends the server; the owner also removes database and warehouse. Logs stay."""
        try:
            code = self.stop()
            assert code == 0, f"exit code {code} after SIGTERM:\n{self.log_tail()}"
        finally:
            self.kill()
            if self._owner:
                self.store.clear()
                self.db.drop()

    def __enter__(self):
        return self if self.process else self.start()

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
            if self._owner and "FIRN_TEST_TMP" not in os.environ:
                shutil.rmtree(self.folder, ignore_errors=True)
            return
        try:
            self.close()
        except AssertionError as error:
            print(error, file=sys.stderr)

    def replica(self, **options):
        """A further process on the same database and warehouse; not started yet."""
        options.setdefault("env", self.extra)
        options.setdefault("warehouse_name", self.warehouse_name)
        options.setdefault("allowed", self.allowed)
        return Server(db=self.db, store=self.store, folder=self.folder, _owner=False, **options)

    # -- what a test looks at --

    @property
    def url(self):
        return f"http://{self.address}"

    @property
    def admin_url(self):
        return f"http://{self.admin_address}"

    @property
    def host_port(self):
        host, _, port = self.address.rpartition(":")
        return host, int(port)

    @property
    def pid(self):
        return self.process.pid

    def rss_kb(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def cpu_seconds(self):
        """What the process has used; other than the clock it does not know how busy the machine is."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log_text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def log_lines(self, event, text=""):
        return [line for line in self.log_text().splitlines() if f"event={event}" in line and text in line]

    def log_tail(self, lines=40):
        return "\n".join(self.log_text().splitlines()[-lines:])

    def check_log(self):
        """Fails when a sanitizer or an assertion has spoken."""
        text = self.log_text()
        found = _REPORT.search(text)
        if found:
            raise AssertionError(f"the server's log holds a report:\n{text[max(0, found.start() - 200):][:6000]}")

    def wait_log(self, pattern, timeout=60):
        deadline = time.monotonic() + timeout * slow_build()
        while not (found := re.search(pattern, self.log_text(), re.M)):
            assert time.monotonic() < deadline, f"no log line like {pattern!r}:\n{self.log_tail()}"
            time.sleep(0.02)
        return found

    def metrics(self):
        """All samples of /metrics: {'name{label="x"}': value}."""
        with urllib.request.urlopen(f"{self.admin_url}/metrics", timeout=10) as answer:
            text = answer.read()
        assert not held.found_in(text), "the metrics hold a secret"
        lines = text.decode().splitlines()
        samples = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    def metric(self, name, **labels):
        """The sum of a metric over its samples that carry these labels."""
        total = 0.0
        for sample, value in self.metrics().items():
            base, _, rest = sample.partition("{")
            if base == name and all(f'{k}="{v}"' in rest for k, v in labels.items()):
                total += value
        return total

    def sql(self, text, *values):
        """Rows of the server's own database; placeholders are written %s on both engines."""
        return self.db.query(text, *values)

    def run(self, *args, env=None, timeout=60, text=""):
        """Another command of the binary (check, migrate, health, --version) with the same settings
        and this text on its standard input."""
        full = self.environment() | (env or {})
        held.hold_settings(full)
        done = subprocess.run([self.binary, *args], env=full, cwd=self.folder, text=True,
                              input=text, capture_output=True, timeout=timeout)
        assert not held.found_in((done.stdout + done.stderr).encode()), f"firn {args[0]} prints a secret"
        return done


class Installation(Server):
    """What runs at FIRN_TEST_URL: a test may use it and restart it, no more."""

    def __init__(self, **_):
        self.address = os.environ["FIRN_TEST_URL"].removeprefix("http://").rstrip("/")
        self.store = S3Store()
        self.store.base = os.environ["FIRN_TEST_WAREHOUSE"]
        self.process = self.db = None
        self._owner = False
        self.extra = {}

    def start(self, wait=True, timeout=30):
        deadline = time.monotonic() + timeout
        while wait and not self.ready():
            assert time.monotonic() < deadline, f"{self.url} does not answer"
            time.sleep(0.1)
        return self

    def ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/v1/config", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def restart(self, env=None, how="stop"):
        subprocess.run(shlex.split(os.environ["FIRN_TEST_RESTART"]), check=True, timeout=120)
        return self.start()

    def running(self):
        return self.ready()

    def log_text(self):
        return ""

    def close(self):
        pass
