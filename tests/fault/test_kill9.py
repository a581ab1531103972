"""kill -9 under commits, again and again: what was acknowledged is there, and no pointer names a file
that is missing."""

import http.client
import random
import threading
import time

from firn_client import SLOWNESS, Api, Table, add_snapshot, assert_ref, assert_uuid, ns_path, set_properties, set_ref

ROUNDS = 8


class Writers:
    """Threads that write until their server is gone, and what was acknowledged to them."""

    def __init__(self, server, ns):
        self.server, self.ns = server, ns
        self.properties, self.snapshots = set(), set()   # of the shared table and of the appended one
        self.made, self.dropped, self.maybe = set(), set(), set()
        self.wrong = []
        self.number = 0
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            self.number += 1
            return self.number

    def run(self, seconds):
        works = [self.properties_of, self.properties_of, self.append, self.append, self.make]
        threads = [threading.Thread(target=self.until_gone, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.server.kill()
        for thread in threads:
            thread.join()

    def until_gone(self, work):
        client = Api(self.server)
        try:
            while True:
                work(client)
        except (OSError, http.client.HTTPException, AttributeError):
            pass  # the server is gone
        except AssertionError as error:
            self.wrong.append(str(error))
        finally:
            client.close()

    def properties_of(self, client):
        key = f"k{self.next()}"
        answer = client.commit(self.ns, "shared", [set_properties(**{key: "v"})])
        if answer.expect(200, 409, 429).status == 200:
            self.properties.add(key)

    def append(self, client):
        m = client.load(self.ns, "appended").ok().json["metadata"]
        number, current = self.next(), m["refs"].get("main", {}).get("snapshot-id")
        answer = client.commit(self.ns, "appended", [
            add_snapshot(number, m["last-sequence-number"] + 1, current, m["location"]), set_ref("main", number)],
            [assert_uuid(m["table-uuid"]), assert_ref(current)])
        if answer.expect(200, 409, 429).status == 200:
            self.snapshots.add(number)

    def make(self, client):
        name = f"t{self.next()}"
        self.maybe.add(name)
        client.create(self.ns, name).ok()
        self.made.add(name)
        self.maybe.discard(name)
        if random.random() < 0.5:
            self.made.discard(name)
            self.maybe.add(name)
            client.drop(self.ns, name).expect(204)
            self.maybe.discard(name)
            self.dropped.add(name)


def audit(server, writers):
    """Everything acknowledged is there, everything there can be loaded."""
    api = Api(server)
    ns = writers.ns
    assert not writers.wrong, writers.wrong
    m = Table(api, ns, "shared").metadata
    assert not writers.properties - set(m["properties"]), "acknowledged changes are lost"
    m = Table(api, ns, "appended").metadata
    numbers = [s["snapshot-id"] for s in m["snapshots"]]
    assert not writers.snapshots - set(numbers), "acknowledged snapshots are lost"
    assert [s.get("parent-snapshot-id") for s in m["snapshots"]] == [None, *numbers[:-1]], "history has a gap"
    assert m.get("current-snapshot-id") == (numbers[-1] if numbers else m.get("current-snapshot-id"))
    names = set(api.names(ns))
    assert not writers.made - names and not writers.dropped & names
    assert names <= writers.made | writers.maybe | {"shared", "appended"}
    for name in names:
        loaded = api.load(ns, name).ok().json
        assert server.store.exists(loaded["metadata-location"])
        for entry in loaded["metadata"]["metadata-log"]:
            assert server.store.exists(entry["metadata-file"])
    for (location,) in server.sql("SELECT metadata_location FROM object"):
        assert server.store.exists(location), "a pointer names a missing file"
    api.close()


def test_kill_9_under_commits(make):
    """Eight times or more; each start is quick and repairs nothing by hand."""
    server = make().start()
    api = Api(server)
    ns = api.new_namespace()
    for name in ("shared", "appended"):
        api.create(ns, name, properties={"write.metadata.previous-versions-max": "1000"}).ok()
    api.close()
    writers = Writers(server, ns)
    rounds = 0
    while rounds < ROUNDS or min(len(writers.properties), len(writers.snapshots)) <= ROUNDS:
        writers.run(random.uniform(0.2, 0.7) * SLOWNESS)
        begin = time.monotonic()
        server.start()
        assert time.monotonic() - begin < 20 * SLOWNESS
        audit(server, writers)
        rounds += 1
        assert rounds < 10 * ROUNDS, "hardly a change is made"
    api.delete(ns_path(ns)).fails(409, "NamespaceNotEmptyException")
    server.stop()


def test_kill_9_while_starting(make):
    """Also in the middle of a start, on an empty database: the next start succeeds."""
    server = make()
    for delay in (0, 0.005, 0.01, 0.02, 0.03, 0.05):
        server.start(wait=False)
        time.sleep(delay)
        server.kill()
    server.start()
    api = Api(server)
    assert api.new_namespace()
    api.close()
    server.stop()
