"""Things as large as they get: histories, namespaces, schemas, maps. What is asserted is counted
(bytes of memory, pages of the database, plans); a time is only compared with one of the same run."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from firn_client import Api  # noqa: E402
from firn_server import Server  # noqa: E402


class Memory:
    """What the server has resident, in MB."""

    def __init__(self, server):
        self.server = server

    def _line(self, word):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return int(status.split(word + ":")[1].split()[0]) // 1024

    def now(self):
        return self._line("VmRSS")

    def begin(self):
        """The peak is counted from now on."""
        pathlib.Path(f"/proc/{self.server.pid}/clear_refs").write_text("5")
        self.before = self.now()

    def peak(self):
        return self._line("VmHWM") - self.before

    def kept(self):
        return self.now() - self.before


@pytest.fixture(scope="session")
def server():
    with Server(env={"FIRN_LOG_LEVEL": "info"}) as firn:
        yield firn


@pytest.fixture(scope="session")
def api(server):
    client = Api(server)
    yield client
    client.close()


@pytest.fixture
def memory(server):
    found = Memory(server)
    found.begin()
    return found
