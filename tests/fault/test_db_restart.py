"""PostgreSQL goes away and comes back, under load: honest answers meanwhile, service again within
five seconds, nothing that was acknowledged lost, nothing refused applied."""

import socket
import struct
import time

import psycopg
import pytest

from conftest import on_postgres
from firn_client import SLOWNESS, Api, in_parallel, ns_path, set_properties
from load import BACK, Load, good_again


@pytest.fixture
def firn(own_postgres):
    server = on_postgres(own_postgres.uri, env={"FIRN_REQUEST_TIMEOUT": "8", "FIRN_PG_CONNECT_TIMEOUT": "1"})
    server.start()
    yield server
    server.kill()
    server.check_log()
    server.store.clear()


def answering(uri):
    """The time since when new sessions of the database are served."""
    deadline = time.monotonic() + 60 * SLOWNESS
    while True:
        try:
            with psycopg.connect(uri, autocommit=True, connect_timeout=5) as db:
                db.execute("SELECT pg_current_xact_id()")
            return time.monotonic()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "the database does not come back"
            time.sleep(0.05)


def prepared(firn):
    api = Api(firn)
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    return api, ns


@pytest.mark.parametrize("how,away", [("kill", 0.5), ("stop", 0.5), ("kill", 5)])
def test_restart_under_load(firn, own_postgres, how, away):
    """The database is killed (or shut down) and started again: a short absence is waited out, a longer one
    is answered."""
    api, ns = prepared(firn)
    with Load(firn, ns) as load:
        for _ in range(2):
            time.sleep(0.7)
            own_postgres.control(how)
            time.sleep(away)
            own_postgres.control("restart")
            good_again(load, time.monotonic())
    load.audit()
    if away > 1:
        assert load.seen["load 503"] and load.seen["commit 429"] + len(load.unknown), load.seen
    assert load.longest < 25 * SLOWNESS, load.longest
    api.close()


def test_answered_commits_outlive_a_careless_setting(firn, own_postgres):
    """The database would write its log some seconds after the answer: it is told not to."""
    with psycopg.connect(own_postgres.uri, autocommit=True) as db:
        for setting in ("synchronous_commit = off", "wal_writer_delay = 10000"):
            db.execute(f"ALTER SYSTEM SET {setting}")
    own_postgres.control("stop")
    own_postgres.control("restart")
    answering(own_postgres.uri)
    api, ns = prepared(firn)
    for value in range(5):
        api.commit(ns, "t", [set_properties(a=str(value))]).ok()
    location = api.load(ns, "t").ok().json["metadata-location"]
    own_postgres.control("kill")
    own_postgres.control("restart")
    answering(own_postgres.uri)
    assert api.load(ns, "t").ok().json["metadata-location"] == location
    api.close()


def test_answers_while_it_is_away(firn, own_postgres):
    """Reads 503, changes 429, both with Retry-After and quickly; config and liveness as always. The server
    stays ready: its own answers are better than a balancer's."""
    api, ns = prepared(firn)
    etag = api.load(ns, "t").ok().etag
    own_postgres.control("kill")
    away = [
        lambda c: c.load(ns, "t").fails(503, "SlowDownException"),
        lambda c: c.load(ns, "t", If_None_Match=etag).fails(503),
        lambda c: c.head(f"{ns_path(ns)}/tables/t").expect(503),
        lambda c: c.head(ns_path(ns)).expect(503),
        lambda c: c.get(ns_path(ns)).fails(503),
        lambda c: c.get(f"{ns_path(ns)}/tables").fails(503),
        lambda c: c.list_namespaces().fails(503),
        lambda c: c.commit(ns, "t", [set_properties(a="b")]).fails(429, "SlowDownException"),
        lambda c: c.create(ns, "new").fails(429),
        lambda c: c.create(ns, "new", stage_create=True).expect(429, 503),
        lambda c: c.drop(ns, "t").fails(429),
        lambda c: c.rename((ns, "t"), (ns, "u")).fails(429),
        lambda c: c.create_namespace("new").fails(429),
        lambda c: c.delete(ns_path(ns)).fails(429),
        lambda c: c.post(f"{ns_path(ns)}/properties", {"updates": {"a": "b"}}).fails(429)]

    def ask(i):
        client = Api(firn)
        begin = time.monotonic()
        away[i](client)
        assert time.monotonic() - begin < 25 * SLOWNESS
        client.close()

    for _ in range(2):
        in_parallel(len(away), ask)
    api.get("/v1/config").ok()
    assert firn.health("live") == 200 and firn.health("ready") == 200
    own_postgres.control("restart")
    deadline = time.monotonic() + BACK
    while api.load(ns, "t").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "a" not in api.load(ns, "t").ok().json["metadata"]["properties"] and api.names(ns) == ["t"]
    assert api.get(ns_path(ns)).ok().json["properties"] == {}
    api.close()


def test_sessions_are_cut(firn, own_postgres):
    """pg_terminate_backend on all sessions while idle: reads notice nothing, changes are honest."""
    api, ns = prepared(firn)
    for round_ in range(4):
        with psycopg.connect(own_postgres.uri, autocommit=True) as db:
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                       "AND backend_type = 'client backend'")
        time.sleep(0.2)
        api.load(ns, "t").ok()
        api.get(ns_path(ns)).ok()
        assert api.names(ns) == ["t"]
        answer = api.commit(ns, "t", [set_properties(round=str(round_))])
        if answer.status != 200:
            answer.expect(429)
            api.commit(ns, "t", [set_properties(round=str(round_))]).ok()
        assert api.load(ns, "t").ok().json["metadata"]["properties"]["round"] == str(round_)
    api.close()


def test_sessions_are_cut_under_load(firn, own_postgres):
    """The same while statements are running: no acknowledged change is lost, no refused one applied."""
    api, ns = prepared(firn)
    with Load(firn, ns) as load:
        for _ in range(15):
            time.sleep(0.15)
            with psycopg.connect(own_postgres.uri, autocommit=True) as db:
                db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                           "AND backend_type = 'client backend'")
        good_again(load, time.monotonic())
    load.audit()
    api.close()


def test_frozen_database(firn, own_postgres):
    """It neither answers nor hangs up: requests end by their own deadlines; a change that was sent is
    unknown or settled, never refused and applied."""
    api, ns = prepared(firn)
    with Load(firn, ns) as load:
        time.sleep(0.5)
        own_postgres.control("freeze")
        time.sleep(12)
        own_postgres.control("thaw")
        good_again(load, answering(own_postgres.uri))
    load.audit()
    assert load.longest < 30 * SLOWNESS, load.longest
    api.close()


def test_clients_that_leave_while_their_table_is_looked_up(firn, own_postgres):
    """Whether they hang up or cut the connection: their requests end as gone, the next ones are answered, and
    meanwhile those that need no database."""
    api, ns = prepared(firn)
    request = f"GET {ns_path(ns)}/tables/t HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    own_postgres.control("freeze")
    wires = [socket.create_connection(firn.host_port, timeout=60) for _ in range(12)]
    for wire in wires:
        wire.sendall(request)
    time.sleep(0.3)
    for i, wire in enumerate(wires[:8]):
        if i % 2:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
    for _ in range(4):
        assert api.get("/v1/config").ok()
    own_postgres.control("thaw")
    for wire in wires[8:]:
        assert wire.recv(15) == b"HTTP/1.1 200 OK"
        wire.close()
    api.load(ns, "t").ok()
    api.close()
    firn.stop()


def test_database_that_comes_later(own_postgres):
    """The server is started first, the database a second later."""
    server = on_postgres(own_postgres.uri)
    own_postgres.control("stop")
    try:
        server.start(wait=False)
        time.sleep(1.5)
        assert server.running()
        own_postgres.control("restart")
        server.wait_ready()
        api = Api(server)
        assert api.new_namespace()
        api.close()
    finally:
        server.kill()
        server.store.clear()


def test_stop_while_the_database_is_away(firn, own_postgres):
    """SIGTERM still ends it, with 0."""
    api, ns = prepared(firn)
    own_postgres.control("kill")
    api.load(ns, "t").fails(503)
    begin = time.monotonic()
    assert firn.stop() == 0
    assert time.monotonic() - begin < 20 * SLOWNESS
    api.close()
