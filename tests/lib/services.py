"""The real services that tests use, each on free loopback ports, started by a script in
tests/services and stopped by it. Shared ones belong to the suite; a test that stops, kills or
freezes a service starts one of its own:

    with Postgres(folder) as database:
        database.control("kill")
"""

import os
import pathlib
import random
import socket
import subprocess
import sys
import urllib.parse

from held import hold, lines_of_key

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "services"

# Below the range that the kernel gives to outgoing connections, so that nobody takes a port
# between the choice and the start.
_LOWEST, _HIGHEST = 12000, 31000


class ServiceError(Exception):
    pass


_ours = []  # sockets without a file whose names say which ports this process has chosen


def _choose(port, taken):
    """OSError: somebody listens there, or another of our processes will, now or after a restart."""
    mark = socket.socket(socket.AF_UNIX)
    taken.append(mark)
    mark.bind(f"\0firn-test-port-{port}")
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", port))


def free_ports(count):
    """The first of `count` ports in a row that nobody listens on; they are this process's from now on."""
    for _ in range(200):
        first, taken = random.randrange(_LOWEST, _HIGHEST), []
        try:
            for port in range(first, first + count):
                _choose(port, taken)
            _ours.extend(taken)
            return first
        except OSError:
            for one in taken:
                one.close()
    raise ServiceError(f"no {count} free ports in a row")


class Service:
    script = ""
    ports = 1

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.values = {}
        self.port = 0

    def __getitem__(self, name):
        return self.values[name]

    def settings(self):
        """Environment of the script."""
        return {}

    def control(self, command, *args, timeout=180):
        done = subprocess.run(
            [str(SCRIPTS / self.script), command, str(self.folder), *map(str, args)],
            env=os.environ | self.settings(), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        if done.returncode:
            raise ServiceError(f"{self.script} {command}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def start(self):
        for attempt in (1, 2, 3):
            self.port = free_ports(self.ports) if self.ports else 0
            try:
                output = self.control("start", *([self.port] if self.ports else []))
            except (ServiceError, subprocess.TimeoutExpired):
                self.stop()
                if attempt == 3:
                    raise
                continue
            # values may hold "=": split at the first one
            self.values = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
            # its own files may hold its secrets
            (self.folder / ".service").touch()
            hold(*self.secrets())
            return self
        return self

    def stop(self):
        try:
            self.control("stop", timeout=60)
        except (ServiceError, subprocess.TimeoutExpired) as error:
            print(f"cannot stop {self.script}: {error}")

    def __enter__(self):
        return self if self.values else self.start()

    def __exit__(self, *_):
        self.stop()

    def environment(self):
        """What a test's process is told about this service."""
        return {}

    def secrets(self):
        """What must not appear in any log."""
        passwords = [urllib.parse.urlsplit(v).password for k, v in self.values.items() if k.endswith("URI")]
        return [v for k, v in self.values.items() if "SECRET" in k or "PASSWORD" in k] + [p for p in passwords if p]


class Postgres(Service):
    script = "postgres.sh"

    def __init__(self, folder, fsync=False):
        super().__init__(folder)
        self.fsync = fsync

    def settings(self):
        return {"PG_FSYNC": "on" if self.fsync else "off"}

    @property
    def uri(self):
        return self.values["URI"]

    def environment(self):
        return {"FIRN_TEST_DB": self.uri}


class Standby(Postgres):
    """A read-only copy of a cluster; the primary acknowledges only what the copy has too."""

    def __init__(self, folder, primary):
        super().__init__(folder, fsync=primary.fsync)
        self.primary = primary

    def control(self, command, *args, **options):
        return super().control("standby" if command == "start" else command, *args, **options)

    def settings(self):
        return super().settings() | {"PG_PRIMARY": self.primary.uri}


class PgBouncer(Service):
    """Pools by transaction in front of a cluster; any of its databases can be asked for."""

    script = "pgbouncer.sh"

    def __init__(self, folder, cluster_uri):
        super().__init__(folder)
        self.cluster = urllib.parse.urlsplit(cluster_uri)

    def settings(self):
        return {"PG_HOST": self.cluster.hostname, "PG_PORT": str(self.cluster.port),
                "PG_USER": self.cluster.username, "PG_PASSWORD": self.cluster.password}

    @property
    def uri(self):
        return self.values["URI"]

    def environment(self):
        return {"FIRN_TEST_DB": self.uri, "FIRN_TEST_PG_PREPARED": "false"}


class S3(Service):
    def environment(self):
        return {
            "FIRN_TEST_STORE": "s3",
            "FIRN_TEST_S3_ENDPOINT": self["ENDPOINT"],
            "FIRN_TEST_S3_VHOST_ENDPOINT": self["VHOST_ENDPOINT"],
            "FIRN_TEST_S3_REGION": self["REGION"],
            "FIRN_TEST_S3_ACCESS_KEY": self["ACCESS_KEY"],
            "FIRN_TEST_S3_SECRET_KEY": self["SECRET_KEY"],
            "FIRN_TEST_S3_BUCKET": self["BUCKET"],
        }


class S3WithTokens(S3):
    def environment(self):
        return super().environment() | {
            "FIRN_TEST_STS_ENDPOINT": self["STS_ENDPOINT"],
            "FIRN_TEST_STS_ACCESS_KEY": self["STS_ACCESS_KEY"],
            "FIRN_TEST_STS_SECRET_KEY": self["STS_SECRET_KEY"],
            "FIRN_TEST_ROLE_ARN": self["ROLE_ARN"],
            # one that its own sessions may assume: on RGW that is any role
            "FIRN_TEST_OPEN_ROLE_ARN": self.values.get("OPEN_ROLE_ARN", self["ROLE_ARN"]),
            "FIRN_TEST_S3_CLIENT_ENDPOINT": self.values.get("CLIENT_ENDPOINT", ""),
        }


class Seaweed(S3WithTokens):
    script = "seaweedfs.sh"
    ports = 8

    def __init__(self, folder, session="12h"):
        super().__init__(folder)
        self.session = session  # the longest life of temporary keys

    def settings(self):
        return {"WEED": os.environ.get("FIRN_TEST_WEED", "weed"), "SESSION": self.session}


class Azurite(Service):
    """Azure's Blob interface; over TLS it takes tokens too."""

    script = "azurite.sh"

    def __init__(self, folder, tls=False):
        super().__init__(folder)
        self.tls = tls

    def settings(self):
        return {"AZURITE": os.environ.get("FIRN_TEST_AZURITE", "."), "AZURITE_TLS": "1" if self.tls else "0",
                "NODE": os.environ.get("FIRN_TEST_NODE", "node")}

    def environment(self):
        return {
            "FIRN_TEST_STORE": "adls",
            "FIRN_TEST_AZURE_ENDPOINT": self["BLOB_ENDPOINT"],
            "FIRN_TEST_AZURE_ACCOUNT": self["ACCOUNT"],
            "FIRN_TEST_AZURE_KEY": self["ACCOUNT_KEY"],
            "FIRN_TEST_AZURE_CONTAINER": self["CONTAINER"],
        }

    def secrets(self):
        return [self["ACCOUNT_KEY"]]


class Gcs(Service):
    """An emulator of Google's storage, behind a guard that checks tokens."""

    script = "gcs.sh"
    ports = 2

    def settings(self):
        return {"FAKEGCS": os.environ.get("FIRN_TEST_FAKEGCS", "fake-gcs-server"), "PYTHON": sys.executable}

    def environment(self):
        return {
            "FIRN_TEST_STORE": "gcs",
            "FIRN_TEST_GCS_ENDPOINT": self["ENDPOINT"],
            "FIRN_TEST_GCS_BARE_ENDPOINT": self["BARE_ENDPOINT"],
            "FIRN_TEST_GCS_KEY_FILE": self["KEY_FILE"],
            "FIRN_TEST_GCS_BUCKET": self["BUCKET"],
        }

    def secrets(self):
        return lines_of_key(pathlib.Path(self["KEY_FILE"]).read_text())


class Rgw(S3WithTokens):
    script = "rgw.sh"
    ports = 16


class Versitygw(S3):
    """Strict: checks the region that a signature names, and the digest of the body."""

    script = "versitygw.sh"

    def settings(self):
        return {"VERSITYGW": os.environ.get("FIRN_TEST_VERSITYGW", "versitygw")}


class S3Proxy(S3):
    """A clone that passes over conditions, or with mode "strict" answers 501 to them."""

    script = "s3proxy.sh"

    def __init__(self, folder, mode="ignore"):
        super().__init__(folder)
        self.mode = mode

    def settings(self):
        return {"S3PROXY": os.environ.get("FIRN_TEST_S3PROXY", "s3proxy.jar"), "S3PROXY_MODE": self.mode}
