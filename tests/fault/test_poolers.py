"""PostgreSQL behind something: PgBouncer that pools by transaction and knows no prepared statements, and two
hosts of which the second takes over. Acknowledged changes stay, service returns by itself."""

import time
import urllib.parse

import pytest

import services
from conftest import on_postgres
from firn_client import Api, in_parallel, set_properties
from firn_server import temporary_folder
from load import Load, good_again


@pytest.fixture
def pooler(own_postgres):
    with services.PgBouncer(temporary_folder(), own_postgres.uri) as bouncer:
        yield bouncer


def at(uri, name):
    """A database's URI at another address."""
    return urllib.parse.urlunsplit(urllib.parse.urlsplit(uri)._replace(path="/" + name))


@pytest.fixture
def pooled(own_postgres, pooler):
    server = on_postgres(own_postgres.uri, env={"FIRN_PG_PREPARED": "false"})
    server.extra["FIRN_DATABASE"] = at(pooler.uri, server.db.name)
    server.start()
    yield server
    server.kill()
    server.check_log()
    server.store.clear()


def test_two_servers_behind_pgbouncer(pooled):
    """More connections than the pool has: statements of two servers share sessions, one winner for each change."""
    with pooled.replica() as other:
        first = Api(pooled)
        ns = first.new_namespace()
        first.create(ns, "t").ok()

        def work(i):
            client = Api((pooled, other)[i % 2])
            for k in range(20):
                while client.commit(ns, "t", [set_properties(**{f"k{i}-{k}": "v"})]).expect(200, 409, 429).status != 200:
                    pass
                while client.create(ns, f"t{k}").expect(200, 409, 429).status == 429:
                    pass
            client.close()

        in_parallel(8, work)
        there = first.load(ns, "t").ok().json["metadata"]["properties"]
        assert {f"k{i}-{k}" for i in range(8) for k in range(20)} <= there.keys()
        assert sorted(first.names(ns)) == sorted(["t", *(f"t{k}" for k in range(20))])
        first.close()


def test_restart_of_pgbouncer(pooled, pooler):
    """Killed and started again under load, as a database that is killed."""
    api = Api(pooled)
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    with Load(pooled, ns) as load:
        for _ in range(2):
            time.sleep(0.7)
            pooler.control("kill")
            time.sleep(0.5)
            pooler.control("restart")
            good_again(load, time.monotonic())
    load.audit()
    api.close()


@pytest.fixture
def pair(own_postgres):
    """A primary, its synchronous copy, and a server that knows both."""
    with services.Standby(temporary_folder(), own_postgres) as standby:
        server = on_postgres(own_postgres.uri, env={"FIRN_PG_CONNECT_TIMEOUT": "1", "FIRN_REQUEST_TIMEOUT": "8"})
        first, second = (urllib.parse.urlsplit(uri) for uri in (own_postgres.uri, standby.uri))
        hosts = f"{second.hostname}:{second.port},{first.hostname}:{first.port}"
        server.extra["FIRN_DATABASE"] = (
            f"postgresql://{first.username}:{first.password}@{hosts}/{server.db.name}")
        server.start()
        try:
            yield server, own_postgres, standby
        finally:
            server.kill()
            server.check_log()
            server.store.clear()


def test_the_read_only_host_is_passed_over(pair):
    """The copy is named first, the primary serves."""
    server, _, _ = pair
    api = Api(server)
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    api.commit(ns, "t", [set_properties(a="b")]).ok()
    api.close()


def test_the_second_host_takes_over(pair):
    """The primary is killed under load and the copy promoted: served again within five seconds, and what was
    acknowledged before is there."""
    server, primary, standby = pair
    api = Api(server)
    ns = api.new_namespace()
    api.create(ns, "t").ok()
    with Load(server, ns) as load:
        time.sleep(1)
        primary.control("kill")
        time.sleep(0.5)
        standby.control("promote")
        good_again(load, time.monotonic())
    load.audit()
    assert load.applied
    api.close()
