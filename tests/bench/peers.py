"""Other catalogs in the same run: by their address and process ids, or started here."""

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import data
from measure import Side
from prepare import CACHE, attempt, say
from services import free_ports

HERE = pathlib.Path(__file__).resolve().parent


class Peer(Side):
    def __init__(self, name, root, pids, leader=None, warehouse="", version="", warm=3):
        super().__init__(name, root, pids, leader)
        self.version = version
        self.warm = warm  # seconds before the first measurement of a row: compilers at run time need them
        self.warmed = set()
        self.idle_mb = self.rss_mb = self.memory()
        query = f"?warehouse={urllib.parse.quote(warehouse)}" if warehouse else ""
        config = json.loads(self.call("GET", "{root}/v1/config" + query)[0])
        prefix = (config.get("defaults", {}) | config.get("overrides", {})).get("prefix", "")
        self.base += f"/{prefix}" if prefix else ""

    def about(self):
        return {"version": self.version, "idle_mb": round(self.idle_mb), "rss_mb": round(self.rss_mb)}

    def ready(self, rows, warm):
        say(f"  tables of {self.name}")
        self.fill(rows)
        self.warm = min(self.warm, warm)

    def fill(self, rows):
        """The tables that the rows ask for, made as any client would."""
        data.new_namespace(self, "bench")
        for name, size in (("small-0", data.SMALL), ("small-1", data.SMALL), ("large-0", data.LARGE),
                           ("large-1", data.LARGE)):
            data.grow(self, name, data.snapshots_of(f"file:/w/bench/{name}", size))
        if any("{n}" in row.load.requests[0].path or row.work in ("W9", "W10") for row in rows):
            for i in range(2, data.TABLES):
                data.grow(self, f"small-{i}", data.snapshots_of("file:/w/bench/x", data.SMALL))
        for namespace, n in (("few", 100), ("thousand", 1000)):
            if any(namespace in row.load.requests[0].path for row in rows):
                data.new_namespace(self, namespace)
                for i in range(n):
                    self.call("POST", f"{{base}}/namespaces/{namespace}/tables",
                              {"name": f"table_{i}", "schema": data.SCHEMA})

    def try_measure(self, load, seconds):
        """None: it cannot do this. Of changes some may be refused, those that met on a table; the others count."""
        warm = 1 if load in self.warmed else self.warm
        self.warmed.add(load)
        if all(request.body for request in load.requests):
            load = dataclasses.replace(load, refusals=True, statuses=True)
        try:
            seen = self.measure(load, seconds, warm)
            if seen["refused"] > seen["rate"] * seconds:
                raise SystemExit(f"it refused most: {seen['statuses']}")
            self.rss_mb = seen["rss_mb"]
            if seen["refused"]:
                say(f"  {self.name}: {seen['statuses']}")
            return seen
        except (SystemExit, OSError) as error:
            say(f"  {self.name}: {error}")
            return None


class Started:
    """A peer that runs here. One that ends by itself is started anew, with new tables, and misses that round."""

    def __init__(self, name, folder, database, *rows_and_warm):
        self.name = name
        self.place = folder, database
        self.wanted = rows_and_warm
        self.stack = contextlib.ExitStack()
        self.starts = self.rss_mb = 0

    def open(self):
        self.stack.close()
        self.starts += 1
        folder, database = self.place
        own = folder / f"{self.name}-{self.starts}"
        own.mkdir()
        self.peer, self.process = self.stack.enter_context(STARTED[self.name](own, database))
        self.peer.ready(*self.wanted)

    def try_measure(self, load, seconds):
        seen = self.peer.try_measure(load, seconds)
        self.rss_mb = max(self.rss_mb, self.peer.rss_mb)
        if not seen and self.process.poll() is not None:
            say(f"  {self.name} has ended by itself and is started anew")
            self.open()
        return seen

    def about(self):
        return self.peer.about() | {"rss_mb": round(self.rss_mb), "starts": self.starts}


def given(text):
    """NAME=URI,PID[,PID...]; the URI may end in ?warehouse=NAME."""
    name, _, rest = text.partition("=")
    uri, *pids = rest.split(",")
    if not name or not pids or not all(pid.isdigit() for pid in pids):
        raise SystemExit(f"--peer {text}: expected NAME=URI,PID[,PID...]")
    parts = urllib.parse.urlsplit(uri)
    warehouse = dict(urllib.parse.parse_qsl(parts.query)).get("warehouse", "")
    return Peer(name, urllib.parse.urlunsplit(parts._replace(query="")), map(int, pids), warehouse=warehouse)


@contextlib.contextmanager
def open_all(options, folder, database, rows):
    rows = [row for row in rows if row.peers]
    with contextlib.ExitStack() as stack:
        found = [given(text) for text in options.peer]
        if options.against:
            found.append(stack.enter_context(another_build(options.against, database)))
        for peer in found:
            peer.ready(rows, options.warm)
        for name in filter(None, options.peers.split(",")):
            found.append(Started(name, folder, database, rows, options.warm))
            stack.callback(found[-1].stack.close)
            found[-1].open()
        yield found


@contextlib.contextmanager
def another_build(binary, database):
    from firn_server import Server
    from stages import CACHE as SETTINGS, PLAIN, leader_of, surroundings
    with surroundings({"FIRN_BIN": str(binary.resolve()), "FIRN_TEST_DB": database.uri}), \
            Server(env=PLAIN | SETTINGS) as server:
        yield Peer("against", server.url, [server.pid], leader_of(database), version=str(binary))


# --- peers that come as packages ----------------------------------------------------------


def ready(uri, process, what, seconds=90):
    """Waits for a catalog to answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(uri + "/v1/config", timeout=10):
            return
        time.sleep(0.2)
    raise SystemExit(f"{what} does not answer; its log is {process.log}")


@contextlib.contextmanager
def running(command, log, env=None):
    with open(log, "wb") as out:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   env=os.environ | (env or {}), cwd=log.parent)
    process.log = log
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:  # one of them takes ten seconds to end in order
            process.kill()
            process.wait()


def reference_classes():
    """The class path of Apache's reference server, fetched and compiled once."""
    source = HERE / "reference"
    key = hashlib.sha256(b"".join(f.read_bytes() for f in sorted(source.iterdir()))).hexdigest()[:16]
    listed, own = CACHE / f"bench/{key}.classpath", CACHE / f"bench/{key}.classes"
    if not listed.exists() or not all(pathlib.Path(jar).exists() for jar in listed.read_text().strip().split(":")):
        say("  maven reference server")
        new = listed.with_suffix(".new")
        attempt(["mvn", "-q", "-B", "-f", str(source / "pom.xml"), f"-Dmdep.outputFile={new}",
                 "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"], "the reference server")
        new.rename(listed)
    if not own.exists():
        subprocess.run(["javac", "-proc:none", "-nowarn", "-cp", listed.read_text().strip(), "-d", own,
                        source / "Reference.java"], check=True)
    return f"{own}:{listed.read_text().strip()}"


@contextlib.contextmanager
def reference(folder, database):
    """RESTCatalogAdapter over JdbcCatalog, on the same PostgreSQL and local files; 1 GB of heap, all compilers."""
    from firn_server import PostgresDatabase
    from stages import leader_of
    path, port, own = reference_classes(), free_ports(1), PostgresDatabase(database.uri)
    uri = urllib.parse.urlsplit(own.uri)
    warehouse = folder / "warehouse"
    warehouse.mkdir()
    env = {"CATALOG_URI": f"jdbc:postgresql://{uri.hostname}:{uri.port}{uri.path}", "CATALOG_JDBC_USER": uri.username,
           "CATALOG_JDBC_PASSWORD": uri.password, "CATALOG_WAREHOUSE": f"file:{warehouse}"}
    try:
        with running(["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", path,
                      "org.apache.iceberg.rest.Reference", port], folder / "log", env) as process:
            root = f"http://127.0.0.1:{port}"
            ready(root, process, "the reference server")
            version = next(word for word in path.split("/") if word.startswith("iceberg-core-")).partition(".jar")[0]
            yield Peer("reference", root, [process.pid], leader_of(database),
                       version=f"{version}, JdbcCatalog, -Xmx1g", warm=15), process
    finally:
        own.drop()


@contextlib.contextmanager
def seaweedfs(folder, database):
    """Store and catalog in one process, which keeps both itself."""
    import boto3
    weed, port = os.environ["FIRN_TEST_WEED"], free_ports(9)
    data_folder = folder / "data"
    data_folder.mkdir()
    ports = {"s3.port": 0, "s3.port.grpc": 1, "master.port": 2, "master.port.grpc": 3, "filer.port": 4, "filer.port.grpc": 5,
             "volume.port": 6, "volume.port.grpc": 7, "s3.port.iceberg": 8}
    command = [weed, "server", f"-dir={data_folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false",
               "-master.volumeSizeLimitMB=64", "-volume.max=100", "-volume.preStopSeconds=0", "-filer", "-s3",
               "-s3.port.lance=0", *(f"-{name}={port + at}" for name, at in ports.items())]
    with running(command, folder / "log", {"AWS_EC2_METADATA_DISABLED": "true"}) as process:
        root = f"http://127.0.0.1:{port + 8}"
        ready(root, process, "SeaweedFS")
        s3 = boto3.client("s3tables", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
                          aws_access_key_id="any", aws_secret_access_key="any")
        s3.create_table_bucket(name="bench")
        version = subprocess.run([weed, "version"], capture_output=True, text=True).stdout.split("\n")[0].removeprefix("version ")
        yield Peer("seaweedfs", root, [process.pid], warehouse="bench", version=f"{version}, its own store", warm=5), process


STARTED = {"reference": reference, "seaweedfs": seaweedfs}
