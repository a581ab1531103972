"""The database fails while a long list is being sent: the client must not take what it has for all of it."""

import re

import pytest

import crowd
from conftest import on_postgres, on_sqlite
from firn_client import Api, ns_path
from test_db_restart import answering
from wire import Wire

LEVELS = ["x" * 255] * 7  # written with each name: the list has 18 MB, of which a client that does not read gets some


def long_list(firn):
    api = Api(firn)
    ns = [api.new_name(), *LEVELS]
    api.create_namespace(ns).ok()
    crowd.objects(firn, ns, 10_000)
    return api, f"{ns_path(ns)}/tables"


def cut_off(firn, path, version, fail):
    """Asks, fails the database, reads on: the connection ends in a way that no client takes for the end of the list,
    also where no chunks tell it."""
    with Wire(firn, timeout=60, room=16 * 1024) as wire:
        wire.send(f"GET {path} HTTP/{version}\r\nHost: h\r\nX-Request-ID: cut-{version}\r\n\r\n")
        assert wire.head()[0] == 200
        fail()
        with pytest.raises((EOFError, ConnectionResetError) if version == "1.1" else ConnectionResetError):
            if version == "1.1":
                b"".join(wire.chunks())
            wire.all()
    line = firn.wait_log(rf"^.*cut-{version}\b.*$", timeout=30).group(0)
    assert " broken_off=true" in line
    return re.search(r"\bstatus=(\d+)", line).group(1)


def test_postgresql_is_killed(own_postgres):
    firn = on_postgres(own_postgres.uri, env={"FIRN_PG_CONNECT_TIMEOUT": "1", "FIRN_PURGE_RATE": "0"}).start()
    api, path = long_list(firn)
    for version in ("1.1", "1.0"):
        assert cut_off(firn, path, version, lambda: own_postgres.control("kill")) == "503"
        own_postgres.control("restart")
        answering(own_postgres.uri)
        whole = api.request("GET", path, check=False)
        assert len(whole.expect(200).json["identifiers"]) == 10_000
    assert firn.metric("firn_requests_total", operation="listTables", status="5xx") == 2
    api.close()
    assert firn.stop() == 0
    firn.store.clear()


def test_sqlite_fails():
    firn = on_sqlite(env={"FIRN_PURGE_RATE": "0"}).start()
    api, path = long_list(firn)
    for version in ("1.1", "1.0"):
        assert cut_off(firn, path, version, lambda: firn.sql("ALTER TABLE object RENAME TO lost")) == "500"
        firn.sql("ALTER TABLE lost RENAME TO object")
        assert len(api.request("GET", path, check=False).expect(200).json["identifiers"]) == 10_000
    api.close()
    assert firn.stop() == 0
    firn.store.clear()
