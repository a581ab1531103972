"""Commits, creates and reads in threads while something is broken on purpose, and the audit afterwards."""

import collections
import threading
import time

from firn_client import SLOWNESS, Api, ns_path, set_properties

BACK = 8 * SLOWNESS  # five on a machine that has nothing else to do


class Load:
    """Commits, creates and reads in threads, with every answer kept."""

    def __init__(self, server, ns):
        self.server, self.ns = server, ns
        self.applied, self.refused, self.unknown = set(), set(), set()
        self.seen, self.wrong = collections.Counter(), []
        self.stop = threading.Event()
        self.longest = 0
        self.last_good = {}
        self.threads = [threading.Thread(target=self.work, args=(i, kind)) for i, kind in enumerate(
            ("commit", "commit", "create", "load", "load", "list", "namespace"))]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def work(self, i, kind):
        client = Api(self.server)
        k = 0
        while not self.stop.is_set():
            k += 1
            begin = time.monotonic()
            try:
                self.one(client, kind, f"{kind}{i}-{k}")
            except Exception as error:
                self.wrong.append(f"{kind}: {type(error).__name__} {error}")
                return
            self.longest = max(self.longest, time.monotonic() - begin)
            time.sleep(0.01)
        client.close()

    def one(self, client, kind, key):
        if kind in ("commit", "create"):
            answer = (client.commit(self.ns, "t", [set_properties(**{key: "v"})]) if kind == "commit"
                      else client.create(self.ns, key))
            kinds = {200: self.applied, 429: self.refused, 409: self.refused, 500: self.unknown}
            if answer.status == 500:
                answer.fails(500, "CommitStateUnknownException")
            if answer.status == 429:
                assert answer.error["type"] == "SlowDownException", answer
            kinds[answer.expect(*kinds).status].add(key)
        else:
            path = {"load": f"{ns_path(self.ns)}/tables/t", "list": f"{ns_path(self.ns)}/tables",
                    "namespace": ns_path(self.ns)}[kind]
            answer = client.get(path).expect(200, 503)
        self.seen[f"{kind} {answer.status}"] += 1
        if answer.status == 200:
            self.last_good[kind] = time.monotonic()

    def audit(self):
        """Against what is really there now."""
        api = Api(self.server)
        there = set(api.load(self.ns, "t").ok().json["metadata"]["properties"]) | set(api.names(self.ns))
        api.close()
        assert not self.wrong, self.wrong
        assert not self.applied - there, "acknowledged changes are lost"
        assert not self.refused & there, "refused changes were applied"


def good_again(load, since):
    """Every kind of request succeeds again within the time."""
    deadline = since + BACK
    kinds = {"commit", "create", "load", "list", "namespace"}
    while time.monotonic() < deadline + 1:
        if all(load.last_good.get(k, 0) > since for k in kinds) or load.wrong:
            break
        time.sleep(0.02)
    late = {k: load.last_good.get(k, 0) - since for k in kinds if not since < load.last_good.get(k, 0) < deadline}
    assert not load.wrong, load.wrong
    assert not late, f"not served again: {late}"
