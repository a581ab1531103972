"""Commands, settings and their sources, safe defaults, start and stop."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import pytest

from firn_client import SLOWNESS, Api, eventually, ns_path, set_properties
from firn_server import Server, StartError
from wire import Wire


@pytest.fixture
def firn():
    """A server that is not started: its commands are run one by one."""
    server = Server()
    yield server
    server.kill()
    server.store.clear()
    server.db.drop()


def refused(firn, *args, env=None, says=()):
    """`firn serve` ends by itself, with one clear sentence."""
    done = firn.run("serve", *args, env=env, timeout=30 * SLOWNESS)
    text = done.stdout + done.stderr
    assert done.returncode not in (0, None) and done.returncode > 0, text
    for word in says:
        assert word in text, text
    assert "Sanitizer" not in text
    return text


# --- the command line -------------------------------------------------------------


def test_help_shows_every_setting(firn):
    """Flag, environment name, default and a line of help, from the same table that is parsed."""
    done = firn.run("--help")
    assert done.returncode == 0
    for name in ("LISTEN", "ADMIN_LISTEN", "DATABASE", "WAREHOUSE", "WAREHOUSE_NAME", "ALLOWED_LOCATIONS", "PG_PREPARED",
                 "S3_ENDPOINT", "S3_REGION", "S3_ROLE_ARN", "STS_ENDPOINT", "SECRET_KEYS", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY", "S3_PATH_STYLE", "LOG_LEVEL",
                 "LOG_FORMAT", "AUTH", "IDLE_TIMEOUT", "BODY_LIMIT"):
        assert f"FIRN_{name}" in done.stdout, name
        assert f"--{name.lower().replace('_', '-')}" in done.stdout, name
    assert "127.0.0.1:8181" in done.stdout and "127.0.0.1:9181" in done.stdout
    for command in ("serve", "migrate", "check", "secrets", "health"):
        assert re.search(rf"^\s+{command}\b", done.stdout, re.M), command


def test_idle_connections_outlive_those_of_balancers(firn):
    """Clients and balancers keep connections for a minute: ours live longer."""
    text = firn.run("--help").stdout
    line = text[text.index("FIRN_IDLE_TIMEOUT"):][:200]
    assert int(re.search(r"\b(\d+)\b", line)[1]) >= 65


def test_version(firn):
    """One line."""
    done = firn.run("--version")
    assert done.returncode == 0 and re.fullmatch(r"[Ff]irn \d+\.\d+\.\d+\S*\n", done.stdout)


@pytest.mark.parametrize("args", [[], ["nonsense"], ["serve", "extra"], ["--nonsense"]])
def test_unknown_commands(firn, args):
    """An exit code, and the way to the help."""
    done = firn.run(*args)
    assert done.returncode != 0 and (done.stderr or done.stdout)


@pytest.mark.parametrize("name,meant", [
    ("FIRN_LISTENN", "FIRN_LISTEN"), ("FIRN_DATABSE", "FIRN_DATABASE"), ("FIRN_S3_REGOIN", "FIRN_S3_REGION"),
    ("FIRN_LOGLEVEL", "FIRN_LOG_LEVEL")])
def test_unknown_environment_settings(firn, name, meant):
    """Refused, with the name that may have been meant."""
    refused(firn, env={name: "x"}, says=[f"'{name}'", meant])


@pytest.mark.parametrize("args,says", [
    (["--listn", "x"], ["listn", "--listen"]), (["--listen"], ["--listen"]),
    (["--no-such-thing-at-all", "1"], ["no-such-thing-at-all"]),
    (["--workers", "1", "--purge=allow", "--workers=2"], ["the command line", "FIRN_WORKERS", "two flags"]),
    (["--s3-secret-access-key", "a", "--s3_secret_access_key-file", "/dev/null"], ["FIRN_S3_SECRET_ACCESS_KEY", "two flags"]),
    (["--config", "/dev/null", "--config=/dev/null"], ["--config", "twice"])])
def test_unknown_flags(firn, args, says):
    """The same for flags; one without its value says so, and one that is given twice."""
    refused(firn, *args, says=says)


@pytest.mark.parametrize("name,value,says", [
    ("FIRN_WORKERS", "many", "FIRN_WORKERS"), ("FIRN_WORKERS", "-1", "FIRN_WORKERS"),
    ("FIRN_WORKERS", "99999999999999999999", "FIRN_WORKERS"), ("FIRN_BODY_LIMIT", "10x", "FIRN_BODY_LIMIT"),
    ("FIRN_IDLE_TIMEOUT", "0", "FIRN_IDLE_TIMEOUT"), ("FIRN_LOG_LEVEL", "loud", "FIRN_LOG_LEVEL"),
    ("FIRN_LOG_FORMAT", "xml", "FIRN_LOG_FORMAT"), ("FIRN_PG_PREPARED", "maybe", "FIRN_PG_PREPARED"),
    ("FIRN_S3_PATH_STYLE", "virtual", "FIRN_S3_PATH_STYLE"), ("FIRN_AUTH", "some", "FIRN_AUTH"),
    ("FIRN_PURGE", "never", "allow, ignore, refuse"),
    ("FIRN_WAREHOUSE_IDENTITY", "* s3:/bucket", "'s3:/bucket'"), ("FIRN_WAREHOUSE_ENDPOINTS", "minio/x", "HOST[:PORT]"),
    ("FIRN_WAREHOUSE_FOLDERS", "/srv", "file:///PATH"), ("FIRN_CORS_ORIGINS", "https://a.example/", "SCHEME://HOST[:PORT]"),
    ("FIRN_LISTEN", "nowhere", None), ("FIRN_LISTEN", "127.0.0.1:99999", None), ("FIRN_LISTEN", "127.0.0.1:x", None),
    ("FIRN_DATABASE", "mysql://x", "postgresql://"), ("FIRN_DATABASE", "firn.db", "sqlite:"),
    ("FIRN_WAREHOUSE", "hdfs://b/p", None), ("FIRN_WAREHOUSE", "relative/path", None), ("FIRN_WAREHOUSE", "s3://", None),
    ("FIRN_WAREHOUSE", "http://x/y", None)])
def test_values_that_cannot_be(firn, name, value, says):
    """What was expected and what was found, and which setting it was."""
    refused(firn, env={name: value}, says=[says] if says else [value.split(":")[0][:8]])


@pytest.mark.parametrize("address", ["0.0.0.0:0", ":0", "[::]:0"])
@pytest.mark.parametrize("setting", ["FIRN_LISTEN", "FIRN_ADMIN_LISTEN"])
def test_other_addresses_than_loopback(firn, address, setting):
    """Refused while nobody is asked who he is, unless that is said explicitly."""
    refused(firn, env={setting: address}, says=["FIRN_AUTH", "loopback"])


def test_other_addresses_with_auth_none():
    """FIRN_AUTH=none serves everybody, on every address."""
    with Server(env={"FIRN_LISTEN": "0.0.0.0:0", "FIRN_ADMIN_LISTEN": "0.0.0.0:0", "FIRN_AUTH": "none"}) as firn:
        port = firn.host_port[1]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass


def test_sources_and_their_order(firn, tmp_path):
    """File, then environment, then flags: the later one wins."""
    config = tmp_path / "firn.conf"
    config.write_text("# a comment\nwarehouse_name = from-file\nlog-level = info\n\nidle_timeout=66\n")
    for env, args, name in (({}, [], "from-file"), ({"FIRN_WAREHOUSE_NAME": "from-env"}, [], "from-env"),
                            ({"FIRN_WAREHOUSE_NAME": "from-env"}, ["--warehouse-name", "from-flag"], "from-flag"),
                            ({}, ["--warehouse-name=from-flag"], "from-flag")):
        with Server(env={"FIRN_CONFIG": str(config)} | env, args=args) as server:
            api = Api(server)
            api.get(f"/v1/config?warehouse={name}").ok()
            api.close()
    with Server(args=["--config", str(config)]) as server:
        api = Api(server)
        api.get("/v1/config?warehouse=from-file").ok()
        api.close()


@pytest.mark.parametrize("text,says", [
    ("listn = x\n", ["listn", "listen"]), ("# x\njust a line\n", ["line 2"]),
    ("workers = 1\n\nWORKERS=1\n", ["line 3", "FIRN_WORKERS", "line 1"]),
    ("s3_secret_access_key = a\ns3-secret-access-key_file = /dev/null\n", ["line 2", "line 1"]), ("workers = x\n", ["workers"])])
def test_wrong_files(firn, tmp_path, text, says):
    """The file and the line are named."""
    config = tmp_path / "firn.conf"
    config.write_text(text)
    refused(firn, env={"FIRN_CONFIG": str(config)}, says=[*says, "firn.conf"])


def test_missing_file(firn):
    """A file that is named must be there."""
    refused(firn, env={"FIRN_CONFIG": "/no/such/file"}, says=["/no/such/file"])


def test_settings_are_shown_redacted():
    """The log shows what is in effect, secrets as ***."""
    with Server(env={"FIRN_S3_SECRET_ACCESS_KEY": "canary-secret-1", "FIRN_S3_SESSION_TOKEN": "canary-secret-2",
                     "FIRN_S3_ACCESS_KEY_ID": "AKIAVISIBLE", "FIRN_LOG_LEVEL": "debug"}) as firn:
        text = firn.log_text()
        assert "canary-secret" not in text
        assert "***" in text


def test_secret_from_a_file(tmp_path):
    """FIRN_X_FILE names a file with the value."""
    secret = tmp_path / "secret"
    secret.write_text("canary-secret-3\n")
    with Server(env={"FIRN_S3_SECRET_ACCESS_KEY_FILE": str(secret), "FIRN_S3_SECRET_ACCESS_KEY": None,
                     "FIRN_S3_ACCESS_KEY_ID": "a"}) as firn:
        assert "canary-secret" not in firn.log_text()


def test_defaults_keep_everything_in_one_folder(tmp_path):
    """Without settings: SQLite and a local warehouse below $XDG_DATA_HOME/firn."""
    with Server(env={"FIRN_DATABASE": None, "FIRN_WAREHOUSE": None, "XDG_DATA_HOME": str(tmp_path)}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        location = api.create(ns, "t").ok().json["metadata-location"]
        assert location.startswith(f"file://{tmp_path}/firn/") or location.startswith(f"file:{tmp_path}/firn/")
        assert list((tmp_path / "firn").iterdir())
        api.close()


@pytest.mark.parametrize("format_", ["json", "text"])
def test_log_lines(format_):
    """One line per event, JSON or key=value; the access line names operation, status and the id."""
    with Server(env={"FIRN_LOG_FORMAT": format_, "FIRN_LOG_LEVEL": "info"}) as firn:
        api = Api(firn)
        api.request("GET", "/v1/namespaces/none\u00fc%22%0Aforged".replace("\u00fc", "%C3%BC"),
                    headers={"X-Request-ID": "line-1"}).expect(400)
        api.request("GET", "/v1/config", headers={"X-Request-ID": "line-2", "User-Agent": "x\"y\\z"}).ok()
        firn.wait_log("line-2")
        lines = firn.log_text().splitlines()
        access = [line for line in lines if "line-2" in line]
        assert len(access) == 1 and "getConfig" in access[0] and "200" in access[0]
        assert not any(line.startswith("forged") for line in lines)
        if format_ == "json":
            assert all(isinstance(json.loads(line), dict) for line in lines if line)
        api.close()


@pytest.mark.parametrize("level,shown", [("error", False), ("info", True)])
def test_log_level(level, shown):
    """Access lines are of level info."""
    with Server(env={"FIRN_LOG_LEVEL": level}) as firn:
        api = Api(firn)
        api.request("GET", "/v1/config", headers={"X-Request-ID": "line-3"}).ok()
        api.close()
        firn.stop()
        assert ("line-3" in firn.log_text()) == shown
        firn.start()


# --- check and migrate ---------------------------------------------------------------


def test_migrate_and_check(firn):
    """The schema is made once; check says one line each; both may be repeated."""
    for _ in range(2):
        done = firn.run("migrate")
        assert done.returncode == 0 and "version" in done.stdout, done.stderr
    done = firn.run("check")
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("configuration", "database", "schema", "warehouse", "storage"):
        assert re.search(rf"^{line}\s+ok$", done.stdout, re.M), done.stdout


def test_check_says_what_is_wrong(firn):
    """A database without schema, an unreachable one, a warehouse that cannot be written."""
    done = firn.run("check")
    line = "database" if firn.db.kind == "sqlite" else "schema"
    assert done.returncode != 0 and re.search(rf"^{line}\s+FAILED: .*migrate", done.stdout, re.M), done.stdout
    done = firn.run("check", env={"FIRN_DATABASE": "postgresql://nobody@127.0.0.1:1/none"})
    assert done.returncode != 0 and re.search(r"^database\s+FAILED: .*127\.0\.0\.1", done.stdout, re.M), done.stdout
    done = firn.run("check", env={"FIRN_WAREHOUSE": "file:///proc/firn"})
    assert done.returncode != 0 and "FAILED" in done.stdout, done.stdout
    done = firn.run("check", env={"FIRN_WAREHOUSE": "s3://bucket/x", "FIRN_S3_ENDPOINT": "http://127.0.0.1:1",
                                  "FIRN_S3_ACCESS_KEY_ID": "a", "FIRN_S3_SECRET_ACCESS_KEY": "canary-secret-4",
                                  "FIRN_S3_REGION": "us-east-1"}, timeout=120)
    assert done.returncode != 0 and re.search(r"^storage\s+FAILED: ", done.stdout, re.M), done.stdout
    assert "canary-secret" not in done.stdout + done.stderr
    done = firn.run("check", env={"FIRN_WAREHOUSE_IDENTITY": "arn:aws:iam::1:role/a, arn:aws:iam::*:role/a"})
    assert done.returncode != 0 and "FIRN_WAREHOUSE_IDENTITY" in done.stderr and "found 'arn:aws:iam::*:role/a'" in done.stderr


def test_no_volatile_fallback(firn):
    """A database that cannot be reached is no reason to serve from another one."""
    refused(firn, env={"FIRN_DATABASE": "postgresql://nobody@127.0.0.1:1/none", "FIRN_START_TIMEOUT": "1"},
            says=["127.0.0.1"])
    refused(firn, env={"FIRN_DATABASE": "sqlite:/proc/nowhere/firn.db", "FIRN_START_TIMEOUT": "1"}, says=["/proc/nowhere"])


def test_files_that_are_no_database(firn, tmp_path):
    """A file of something else is left alone."""
    other = tmp_path / "notes.txt"
    other.write_text("these are my notes " * 500)
    refused(firn, env={"FIRN_DATABASE": f"sqlite:{other}", "FIRN_START_TIMEOUT": "1"})
    assert other.read_text() == "these are my notes " * 500


def test_newer_schema_is_refused(firn):
    """A program older than the database does not touch it."""
    if firn.db.kind != "sqlite":
        return
    assert firn.run("migrate").returncode == 0
    with sqlite3.connect(firn.db.path) as db:
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        versions = [t for t in tables if re.search("migration|schema|version", t)]
        assert versions, tables
        columns = [r[1] for r in db.execute(f"PRAGMA table_info({versions[0]})")]
        column = next(c for c in columns if "version" in c or c == "id")
        db.execute(f"UPDATE {versions[0]} SET {column} = {column} + 1000")
    db.close()
    refused(firn, env={"FIRN_START_TIMEOUT": "1"}, says=["newer"])
    done = firn.run("check")
    assert done.returncode != 0 and re.search(r"^schema\s+FAILED: .*newer", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("command", [["check"], ["secrets", "list"], ["warehouse", "list"]])
def test_looking_makes_no_database(firn, tmp_path, command):
    """Neither its folders, nor a file, where serve and migrate would make them."""
    database = tmp_path / "a" / "b" / "firn.db"
    done = firn.run(*command, env={"FIRN_DATABASE": f"sqlite:{database}"})
    assert done.returncode != 0 and f"no database {database}" in done.stdout + done.stderr, done
    assert not list(tmp_path.iterdir())


# --- one of each -----------------------------------------------------------------------


def test_second_server_on_the_same_port(server):
    """Fails loudly and at once; the first goes on."""
    other = Server(env={"FIRN_LISTEN": server.address})
    text = refused(other, says=[server.address])
    assert "in use" in text.lower()
    assert server.ready()


def test_second_server_on_the_same_sqlite_file(server):
    """One process per file."""
    if server.db.kind != "sqlite":
        with server.replica() as other:
            assert other.ready()
        return
    text = refused(server.replica(), env={"FIRN_START_TIMEOUT": "1"})
    assert str(server.db.path) in text
    assert server.ready()
    Api(server).get("/v1/config").ok()


# --- life --------------------------------------------------------------------------------


def test_ready_quickly_and_small():
    """Ready within a tenth of a second, plus the handshakes with PostgreSQL; 20 MB when idle."""
    with Server() as firn:
        took, worked = [], []
        for _ in range(5):
            firn.stop()
            begin = time.monotonic()
            firn.start()
            took.append(time.monotonic() - begin)
            worked.append(firn.cpu_seconds())
        assert min(worked) < 0.1 * SLOWNESS, worked
        # on a machine that has other things to do the clock tells no more than that nothing is waited for
        assert min(took) < (1 if firn.db.kind == "sqlite" else 2) * SLOWNESS, took
        if SLOWNESS == 1:
            assert firn.rss_kb() <= 20 * 1024


def on_postgresql(server):
    """Settings of PostgreSQL are tried where there is one."""
    return server.db.kind == "postgresql"


def whole_life(firn):
    """A bit of everything."""
    api = Api(firn)
    ns = api.new_namespace({"a": "b"})
    table = api.table(ns, "t")
    table.append(1, 1)
    table.append(2, 2, 1)
    table.commit(requirements=[{"type": "assert-create"}]).fails(409)
    api.rename((ns, "t"), (ns, "u")).expect(204)
    assert api.names(ns) == ["u"] and api.load(ns, "u").ok().json["metadata"]["current-snapshot-id"] == 2
    assert len(api.get(f"{ns_path(ns)}/tables?pageToken=&pageSize=1").ok().json["identifiers"]) == 1
    api.delete(ns_path(ns)).fails(409)
    api.drop(ns, "u").expect(204)
    api.delete(ns_path(ns)).expect(204)
    api.close()


@pytest.mark.parametrize("env", [{"FIRN_PG_PREPARED": "false"}, {"FIRN_PG_POOL": "1"}, {"FIRN_WORKERS": "1"},
                                 {"FIRN_WORKERS": "8"}, {"FIRN_CACHE": "0"}, {"FIRN_SLOW_THREADS": "1"}],
                         ids=lambda env: "".join(f"{k}={v}" for k, v in env.items()))
def test_the_same_with_other_settings(env):
    """Without named statements (old poolers), without a cache, with other numbers of threads."""
    with Server(env=env) as firn:
        whole_life(firn)


def test_several_database_hosts(server):
    """A URI with several hosts: the one that answers and takes writes is used."""
    if not on_postgresql(server):
        return
    head, _, rest = server.db.uri.partition("@")
    host, _, name = rest.partition("/")
    with server.replica(env={"FIRN_DATABASE": f"{head}@127.0.0.1:1,{host}/{name}?target_session_attrs=read-write"}) as other:
        whole_life(other)


def test_database_of_another_encoding(server):
    """Names are UTF-8: a database that cannot hold them is refused at the start."""
    if not on_postgresql(server):
        return
    import psycopg
    with psycopg.connect(server.db.cluster, autocommit=True) as db:
        name = server.db.name + "_ascii"  # others run on this cluster too
        db.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
        try:
            uri = server.db.cluster.rpartition("/")[0] + "/" + name
            refused(server.replica(), env={"FIRN_DATABASE": uri, "FIRN_START_TIMEOUT": "1"}, says=["UTF8"])
        finally:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_ipv6():
    """Loopback has two addresses."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return
    with Server(env={"FIRN_LISTEN": "[::1]:0"}) as firn:
        assert firn.address.startswith("[::1]:")
        with socket.create_connection(("::1", firn.host_port[1]), timeout=5) as wire:
            wire.sendall(b"GET /v1/config HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert wire.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stop(number):
    """SIGTERM, SIGINT and SIGHUP: not ready, drained, exit code 0."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup, and so it would be by the server
    firn = Server().start()
    signal.signal(signal.SIGHUP, before)
    api = Api(firn)
    ns = api.new_namespace()
    firn.signal(number)
    assert firn.wait() == 0
    firn.start()
    api.head(ns_path(ns)).expect(204)
    api.close()
    firn.close()


def test_everything_survives_a_restart():
    """What was acknowledged is there after a stop and after a kill."""
    with Server() as firn:
        api = Api(firn)
        ns = api.new_namespace({"a": "b"})
        table = api.table(ns, "t")
        table.append(1, 1)
        before = table.load().ok()
        for how in ("stop", "kill"):
            firn.restart(how=how)
            after = table.load().ok()
            assert after.json == before.json and after.etag == before.etag
            table.load(If_None_Match=before.etag).expect(304)
            assert api.get(ns_path(ns)).ok().json["properties"] == {"a": "b"}
        table.apply(set_properties(x="y"))
        api.close()


def test_running_requests_are_answered_before_the_end():
    """A drain loses no commit that was begun."""
    with Server(env={"FIRN_DRAIN_TIMEOUT": "20"}) as firn:
        api = Api(firn)
        table = api.table(api.new_namespace(), "t")
        done, stop = [], threading.Event()

        def write(i):
            client = Api(firn)
            k = 0
            while not stop.is_set():
                key = f"k{i}-{k}"
                try:
                    answer = client.commit(table.ns, table.name, [set_properties(**{key: "v"})])
                except Exception:
                    break
                if answer.status == 200:
                    done.append(key)
                elif answer.status not in (409, 429, 503):
                    done.append(f"wrong {answer}")
                k += 1
            client.close()

        threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(done) > 3)
        assert firn.stop() == 0
        stop.set()
        for thread in threads:
            thread.join()
        firn.start()
        got = table.metadata["properties"]
        assert all(key in got for key in done), set(done) - set(got)
        api.close()


@pytest.mark.long
def test_bodies_on_their_way_have_the_time_of_the_drain():
    """Not only the moment that is left to those of whom no head came in."""
    body = json.dumps({"namespace": ["late"]})
    with Server(env={"FIRN_DRAIN_TIMEOUT": "60"}) as firn:
        with Wire(firn, timeout=60) as wire, Wire(firn, timeout=60) as headless:
            headless.send("GET /v1/config HTTP/1.1\r\nHost: ")
            wire.send(f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body[:5]}")
            eventually(lambda: firn.metric("firn_connections") == 2)
            firn.signal(signal.SIGTERM)
            time.sleep(4)
            wire.send(body[5:])
            status, headers, _ = wire.answer()
            assert status == 200 and headers["connection"] == "close"
            assert firn.wait() == 0
            assert headless.closed()
        firn.start()
        api = Api(firn)
        api.head("/v1/namespaces/late").expect(204)
        api.close()


def test_readiness_goes_first():
    """FIRN_DRAIN_WAIT: for that time not ready, but still serving."""
    with Server(env={"FIRN_DRAIN_WAIT": "4"}) as firn:
        api = Api(firn)
        api.get("/v1/config").ok()
        firn.signal(signal.SIGTERM)
        eventually(lambda: firn.health("ready") != 200)
        assert firn.health("ready") == 503 and firn.health("live") == 200
        api.get("/v1/config").ok()
        api.close()
        assert firn.wait() == 0
        firn.extra.clear()
        firn.start()


def test_a_drain_ends_connections_with_their_next_answer():
    """Those that are kept and new ones, of both lanes; and a second signal ends the server at once."""
    firn = Server(env={"FIRN_DRAIN_WAIT": "600"}).start()
    api = Api(firn)
    assert api.get("/v1/config").ok().header("Connection") is None
    firn.signal(signal.SIGTERM)
    eventually(lambda: firn.health("ready") != 200)
    for path in ("/v1/config", "/v1/namespaces", "/v1/namespaces/none", "/v1/none"):
        assert api.get(path).expect(200, 404).header("Connection") == "close", path
    api.close()
    firn.signal(signal.SIGTERM)
    firn.wait()
    firn.extra.clear()
    firn.start()
    firn.close()


def test_port_file_goes_with_the_server():
    """It is there while the server is ready."""
    with Server() as firn:
        path = firn._port_file
        assert len(path.read_text().split()) == 2
        firn.stop()
        assert not path.exists()
        firn.start()


def test_start_waits_for_the_database(tmp_path):
    """FIRN_START_TIMEOUT: a database that comes up later is waited for; live meanwhile, not ready."""
    firn = Server(env={"FIRN_DATABASE": "postgresql://nobody@127.0.0.1:1/none", "FIRN_START_TIMEOUT": "30",
                       "FIRN_PORT_FILE": None, "FIRN_ADMIN_LISTEN": "127.0.0.1:0"})
    process = subprocess.Popen([firn.binary, "serve"], env=firn.environment() | {"FIRN_ADMIN_LISTEN": "127.0.0.1:0"},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path)
    try:
        time.sleep(1)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10 * SLOWNESS) == 0
    finally:
        process.kill()
        process.wait()
        firn.store.clear()
        firn.db.drop()


def test_start_error_is_reported():
    """The fixture itself: a server that ends is an error with the end of its log."""
    firn = Server(env={"FIRN_WORKERS": "x"})
    with pytest.raises(StartError, match="FIRN_WORKERS"):
        firn.start()
    firn.db.drop()
