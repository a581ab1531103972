"""Several clients on a few tables at once, through all servers. Afterwards the tables' histories
tell whether there was one order of all that happened: each acknowledged commit is in it exactly
once, each refused one never, and nobody saw a state go back."""

import heapq
import itertools
import json
import random
import threading
import time

from catalog import Mismatch, agree
from drive import Connection

CLIENTS, TABLES = 6, 3


class Event:
    """A commit or a load: when it was under way, and the file that it led to or found."""

    def __init__(self, begun, ended, file, wrote):
        self.begun, self.ended, self.file, self.wrote = begun, ended, file, wrote


class Client:
    def __init__(self, servers, paths, rng, rounds, events, refused):
        self.connections = [Connection(s["address"]) for s in servers]
        self.paths, self.rng, self.rounds, self.events, self.refused = paths, rng, rounds, events, refused
        self.error = None
        self.thread = threading.Thread(target=self.work)

    def work(self):
        try:
            for _ in range(self.rounds):
                self.one(self.rng.choice(self.paths))
        except Exception as error:
            self.error = error
        finally:
            for connection in self.connections:
                connection.close()

    def ask(self, method, path, body=None):
        text = json.dumps(body) if body else ""
        status, _, raw = self.rng.choice(self.connections).request(method, path, text, "")
        return status, json.loads(raw) if raw else None

    def one(self, path):
        begun = time.monotonic()
        status, found = self.ask("GET", path)
        agree(status == 200, f"a load was answered {status} {found}")
        self.note(path, begun, found, False)
        body, number = self.commit(found["metadata"])
        begun = time.monotonic()
        status, answer = self.ask("POST", path, body)
        if status == 200:
            self.note(path, begun, answer, True)
        else:
            agree(status in (409, 429), f"a commit was answered {status} {answer}")
            self.refused.append(number)

    def commit(self, metadata):
        """Mostly an append that asserts what it has seen, at times a change that asserts nothing."""
        number, parent = self.rng.randint(1, 1 << 62), metadata["current-snapshot-id"]
        parent = parent if parent > 0 else None
        snapshot = {"snapshot-id": number, "sequence-number": metadata["last-sequence-number"] + 1, "timestamp-ms": 1,
                    "summary": {"operation": "append"}, "manifest-list": f"{metadata['location']}/m.avro"}
        snapshot |= {"parent-snapshot-id": parent} if parent else {}
        requirements = [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": parent}]
        updates = [{"action": "add-snapshot", "snapshot": snapshot},
                   {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}]
        if self.rng.randrange(3) == 0:
            requirements, updates = [], [{"action": "set-properties", "updates": {f"p{number}": "1"}},
                                         {"action": "remove-properties", "removals": [f"p{number}"]}]
        return {"requirements": requirements, "updates": updates}, number

    def note(self, path, begun, answer, wrote):
        self.events[path].append(Event(begun, time.monotonic(), answer["metadata-location"], wrote))


def one_order(path, events, chain):
    """Each commit once, in an order that agrees with what was over before something else began."""
    place = {file: i for i, file in enumerate(chain)}
    agree(len(place) == len(chain), f"{path}: a file is twice in the history")
    written = [e.file for e in events if e.wrote]
    agree(len(set(written)) == len(written), f"{path}: two commits were told the same file")
    agree(sorted(written) == sorted(chain[1:]), f"{path}: {len(written)} commits were acknowledged, "
          f"{len(chain) - 1} are in the history")
    over, latest, numbers = [], -1, itertools.count()
    for event in sorted(events, key=lambda e: e.begun):
        agree(event.file in place, f"{path}: a load found {event.file}, which is not in the history")
        while over and over[0][0] < event.begun:
            latest = max(latest, heapq.heappop(over)[2])
        now = place[event.file]
        agree(now > latest if event.wrote else now >= latest, f"{path}: state {now} was seen after state {latest}")
        heapq.heappush(over, (event.ended, next(numbers), now))


def race(servers, seed, commits):
    """None, or what was wrong."""
    rng = random.Random(f"{seed}/race")
    first, root = Connection(servers[0]["address"]), f"race{rng.randrange(10**9)}"
    first.request("POST", "/v1/namespaces", json.dumps({"namespace": [root]}), "")
    paths = [f"/v1/namespaces/{root}/tables/t{i}" for i in range(TABLES)]
    events, refused, starts = {p: [] for p in paths}, [], {}
    for i, path in enumerate(paths):
        _, _, raw = first.request("POST", f"/v1/namespaces/{root}/tables", json.dumps({
            "name": f"t{i}", "schema": {"type": "struct", "schema-id": 0, "fields": []},
            "properties": {"write.metadata.previous-versions-max": "1000000"}}), "")
        starts[path] = json.loads(raw)["metadata-location"]
    clients = [Client(servers, paths, random.Random(f"{seed}/race/{i}"), commits // CLIENTS, events, refused)
               for i in range(CLIENTS)]
    for client in clients:
        client.thread.start()
    for client in clients:
        client.thread.join()
    try:
        for client in clients:
            if client.error:
                raise client.error
        for path in paths:
            found = json.loads(first.request("GET", path, "", "")[2])
            chain = [e["metadata-file"] for e in found["metadata"]["metadata-log"]] + [found["metadata-location"]]
            agree(chain[0] == starts[path], f"{path}: the history does not begin with the first file")
            there = {s["snapshot-id"] for s in found["metadata"]["snapshots"]}
            agree(not there & set(refused), f"{path}: a snapshot is there whose commit was refused")
            one_order(path, events[path], chain)
    except (Mismatch, OSError) as error:
        return str(error)
    finally:
        first.close()
    done = sum(e.wrote for found in events.values() for e in found)
    agree(refused and done > len(refused) // 10, f"no race: {done} commits, {len(refused)} refused")
    return None
