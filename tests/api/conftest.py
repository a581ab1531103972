"""One server per file of tests; every test works in namespaces of its own."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from firn_client import Api  # noqa: E402
from firn_server import Server, local_path  # noqa: E402
from identity_stub import Identity, Keys, Store  # noqa: E402

# need stores with a token service, and bring their own servers on them
collect_ignore = [] if os.environ.get("FIRN_TEST_OPEN_ROLE_ARN") else ["test_signing.py", "test_vending.py"]
collect_ignore += [] if os.environ.get("FIRN_TEST_GCS_ENDPOINT") else ["test_gcs.py"]
collect_ignore += [] if os.environ.get("FIRN_TEST_AZURE_ENDPOINT") else ["test_azure.py"]


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes seconds, so the quick part leaves it out")


@pytest.fixture(scope="module")
def server():
    firn = Server()
    # a second place where clients may ask for tables to lie
    firn.allowed = firn.store.base + "-more"
    if firn.store.kind == "file":
        local_path(firn.allowed).mkdir()
    with firn:
        yield firn


@pytest.fixture
def api(server):
    client = Api(server)
    yield client
    client.close()
    assert server.running(), f"the server is gone:\n{server.log_tail()}"


@pytest.fixture
def ns(api):
    return api.new_namespace()


@pytest.fixture
def table(api, ns):
    return api.table(ns)


@pytest.fixture
def keys():
    """Of a store of ours, which a service of ours gives."""
    return Keys()


@pytest.fixture
def store(keys):
    with Store(keys) as one:
        yield one


@pytest.fixture
def identity(keys):
    with Identity(keys) as one:
        yield one
