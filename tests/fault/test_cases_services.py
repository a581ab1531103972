"""Reported cases that need time, or a service that stops, refuses or comes late: B115, B163, B172, B173."""

import http.client
import json
import time

import psycopg
import pytest
from test_db_restart import firn as on_own_database  # noqa: F401
from test_store_away import firn as behind_a_store  # noqa: F401
from test_store_away import seaweed  # noqa: F401

from conftest import on_postgres, on_sqlite
from firn_client import SLOWNESS, Api, in_parallel, ns_path, set_properties, table_path
from firn_server import StartError

DENIED = ("answer", 403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")


def test_b115_a_store_that_denies(behind_a_store):  # noqa: F811
    """Register passes the refusal on and leaves the name free; HEAD asks no store."""
    server = behind_a_store
    api, ns = Api(server), server.ns
    location = api.load(ns, "t").ok().json["metadata-location"]
    api.drop(ns, "t").expect(204)
    server.restart()
    server.between.rule = lambda method, path: DENIED
    api.register(ns, "r", location).fails(403, "ForbiddenException", contains=location)
    api.head(table_path(ns, "r")).expect(404)
    api.head(table_path(ns, "cold")).expect(204)
    answer = api.load(ns, "cold")
    answer.fails(500, "UnreadableMetadataException", contains="cold")
    server.between.rule = lambda method, path: None
    api.register(ns, "r", location).ok()
    api.close()


def test_b115_head_while_the_database_is_away(on_own_database, own_postgres):  # noqa: F811
    """Not knowing is no 404."""
    api = Api(on_own_database)
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    own_postgres.control("kill")
    for path in (table_path(ns, "t"), table_path(ns, "none"), ns_path(ns)):
        api.head(path).expect(503)
    api.close()


def test_b163_a_connection_that_rests_for_a_minute():
    """A change on a connection that was idle for 60 seconds, as pools of clients keep them."""
    server = on_sqlite()
    with server:
        wire = http.client.HTTPConnection(*server.host_port, timeout=10 * SLOWNESS)
        wire.request("GET", "/v1/config")
        wire.getresponse().read()
        first = wire.sock.getsockname()
        time.sleep(60)
        wire.request("POST", "/v1/namespaces", json.dumps({"namespace": ["later"]}), {"Content-Type": "application/json"})
        assert wire.getresponse().status == 200 and wire.sock.getsockname() == first
        wire.close()


def cut_all(postgres):
    with psycopg.connect(postgres.uri, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                   "AND backend_type = 'client backend'")
    time.sleep(0.2)


def test_b172_all_sessions_are_cut(on_own_database, own_postgres):  # noqa: F811
    """The next reads do not notice; a change is done or certainly not, and then done by its retry."""
    firn = on_own_database
    api = Api(firn)
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    for i in range(2):
        cut_all(own_postgres)
        api.load(ns, "t").ok()
        api.head(ns_path(ns)).expect(204)
        cut_all(own_postgres)
        answer = api.commit(ns, "t", [set_properties(i=str(i))]).expect(200, 429)
        if answer.status == 429:
            api.commit(ns, "t", [set_properties(i=str(i))]).ok()
        assert api.load(ns, "t").ok().json["metadata"]["properties"]["i"] == str(i)
    assert firn.health("live") == 200 and firn.health("ready") == 200
    api.close()


def test_b173_no_start_without_the_database(own_postgres):
    """It ends with an error that names the database, and keeps nothing anywhere else; alive but not ready
    until then."""
    server = on_postgres(own_postgres.uri, env={"FIRN_START_TIMEOUT": "3", "XDG_DATA_HOME": None})
    own_postgres.control("stop")
    files = {p.name for p in server.folder.iterdir()}
    server.start(wait=False)
    deadline = time.monotonic() + 2
    while not server._read_ports() and server.running() and time.monotonic() < deadline:
        time.sleep(0.05)
    if server.admin_address:
        assert server.health("live") == 200 and server.health("ready") == 503
    with pytest.raises(StartError, match="(?i)database|postgres"):
        server.wait_ready()
    assert not list(server.folder.rglob("*.db"))
    assert {p.name for p in server.folder.iterdir()} - files <= {server.log_path.name, server._port_file.name}
    server.store.clear()


def test_b173_racing_starts_on_an_empty_database(cluster):
    """Three at once, each serves, on one warehouse; stopped and started again everything is there."""
    first = on_postgres(cluster)
    servers = [first, first.replica(), first.replica()]
    try:
        in_parallel(3, lambda i: servers[i].start())
        apis = [Api(s) for s in servers]
        ns = apis[0].new_namespace()
        apis[1].create(ns, "t").ok()
        before = apis[2].load(ns, "t").ok().json
        assert len(first.sql("SELECT uuid FROM warehouse")) == 1
        for server in servers:
            assert server.stop() == 0
        in_parallel(3, lambda i: servers[i].start())
        for api in apis:
            assert api.load(ns, "t").ok().json == before
            api.close()
    finally:
        for server in reversed(servers):
            server.close()
