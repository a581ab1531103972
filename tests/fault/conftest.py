"""Places to run on: SQLite with local files, and PostgreSQL with the store of the environment. A test
that stops the database has one of its own."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import services  # noqa: E402
from firn_server import FileStore, PostgresDatabase, S3Store, Server, SqliteDatabase, temporary_folder  # noqa: E402


@pytest.fixture(scope="session")
def cluster():
    """The suite's PostgreSQL, or one for this run."""
    given = os.environ.get("FIRN_TEST_DB", "sqlite")
    if given != "sqlite":
        yield given
        return
    with services.Postgres(temporary_folder()) as postgres:
        yield postgres.uri


def any_store(folder):
    return S3Store() if os.environ.get("FIRN_TEST_STORE") == "s3" else FileStore(folder)


def on_sqlite(**options):
    folder = temporary_folder()
    return Server(folder=folder, db=SqliteDatabase(folder), store=FileStore(folder), **options)


def on_postgres(uri, **options):
    folder = temporary_folder()
    return Server(folder=folder, db=PostgresDatabase(uri), store=any_store(folder), **options)


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request):
    """Makes a server, not started, on one of the two; removes it afterwards."""
    made = []

    def one(**options):
        server = (on_sqlite(**options) if request.param == "sqlite"
                  else on_postgres(request.getfixturevalue("cluster"), **options))
        made.append(server)
        return server

    yield one
    for server in made:
        server.kill()
        server.check_log()
        server.store.clear()
        server.db.drop()


@pytest.fixture
def own_postgres():
    """A durable PostgreSQL that the test may kill."""
    with services.Postgres(temporary_folder(), fsync=True) as postgres:
        yield postgres
