"""iceberg-js' story: a key on every change, which is done once although it is sent twice, and
entity tags under gzip. The steps' calls are in story.mjs; what they mean is asserted here."""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

from firn_client import Api, ns_path, table_path  # noqa: E402
from firn_server import Server  # noqa: E402
from steps import step, tell  # noqa: E402

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.api = Api(firn)

    def js(self, name):
        done = subprocess.run([os.environ["FIRN_TEST_NODE"], HERE / "story.mjs", self.firn.url, name],
                              env=os.environ | {"MODULES": os.environ["FIRN_TEST_ICEBERG_JS"]},
                              text=True, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@step()
def config(s):
    """The client is told how long keys are kept, and which operations there are."""
    got = s.js("config")
    assert got["idempotency-key-lifetime"].startswith("P"), got
    assert "POST /v1/{prefix}/namespaces/{namespace}/register" in got["endpoints"], got


@step()
def mutations(s):
    """Every change carries a key; sent twice it is done once and answered alike, refusals too."""
    got = s.js("mutations")
    seen = got["seen"]
    inner = "/v1/main/namespaces/keys%1Finner"
    assert [one["what"] for one in seen] == [
        "POST /v1/main/namespaces", f"POST {inner}/properties", f"POST {inner}/tables", f"POST {inner}/tables/t",
        f"POST {inner}/tables/t", "POST /v1/main/namespaces", "POST /v1/main/tables/rename", f"POST {inner}/tables",
        f"DELETE {inner}/tables/other", "DELETE /v1/main/namespaces/keys/tables/moved", f"POST {inner}/register",
        "POST /v1/main/namespaces", "DELETE /v1/main/namespaces/short"], [one["what"] for one in seen]
    want = [200, 200, 200, 200, 409, 409, 204, 200, 204, 204, 200, 200, 204]
    for one, status in zip(seen, want, strict=True):
        assert UUID7.fullmatch(one["key"]), one
        assert one["statuses"] == [status] * 2, one
        assert one["bodies"][0] == one["bodies"][1] and one["tags"][0] == one["tags"][1], one
    assert len({one["key"] for one in seen}) == len(seen)
    assert got["stale"]["conflict"] and got["stale"]["type"] == "CommitFailedException", got["stale"]
    assert got["twice"]["conflict"] and got["twice"]["type"] == "AlreadyExistsException", got["twice"]
    assert got["columns"] == ["a", "b", "c"]


@step()
def effects(s):
    """What the catalog holds afterwards: each change once."""
    assert s.api.get(ns_path(["keys", "inner"])).ok().json["properties"] == {"owner": "story", "a": "1"}
    tables = s.api.get(ns_path(["keys", "inner"]) + "/tables").ok().json["identifiers"]
    assert tables == [{"namespace": ["keys", "inner"], "name": "back"}], tables
    found = s.api.get(table_path(["keys", "inner"], "back")).ok().json["metadata"]
    assert found["properties"]["p"] == "1" and found["last-column-id"] == 3, found
    assert len(found["metadata-log"]) == 1 and len(found["schemas"]) == 2, found
    assert s.firn.sql("SELECT count(*) FROM idempotency")[0][0] == 13, "one row for each key"
    s.api.get(ns_path("short")).fails(404)


@step()
def other_request(s):
    """A key that stood for another request is refused with 422, and nothing is done."""
    got = s.js("otherRequest")
    assert got["refused"]["status"] == 422 and got["refused"]["type"] == "UnprocessableEntityException", got
    assert got["there"] is False
    s.api.get(ns_path("second")).fails(404, "NoSuchNamespaceException")


@step()
def conditional(s):
    """One tag from create and load, compressed or not: 304 until the table changes, and then again."""
    got = s.js("conditional")
    assert got["columns"] == 400 and got["n"] == "1"
    made, loaded, whole, changed = got["tags"]
    assert made == loaded == whole != changed, got["tags"]
    assert got["same"] == [None, None] and got["weak"] is got["plain"] is got["settled"] is None, got
    assert got["refs"] not in (None, loaded), got
    statuses = [status for status, _ in got["answers"]]
    assert statuses == [200, 304, 304, 304, 304, 200, 200, 200, 200, 304], got["answers"]
    loads = [got["answers"][i][1] for i in (0, 5, 6, 8)]
    assert loads == ["gzip", None, "gzip", "gzip"], got["answers"]
    answer = s.api.get(table_path("tags", "wide")).ok()
    assert answer.etag == changed and answer.json["metadata"]["properties"]["n"] == "1", answer


@step()
def names(s):
    """Names with all kinds of characters, in pages and by themselves."""
    got = s.js("names")
    whole = [one["name"] for one in got["whole"]]
    assert sorted(whole) == sorted(["t+t", "q?#", "日本", "per%20cent", "plain"])
    assert got["whole"][0]["namespace"] == ["a b", "ü/x%", "dot.ted"], got["whole"]
    assert [len(page) for page in got["pages"]] == [2, 2, 1] and sum(got["pages"], []) == whole, got["pages"]
    assert got["there"] == [True] * 5
    assert got["dropped"]["conflict"] and got["dropped"]["type"] == "NamespaceNotEmptyException", got["dropped"]
    assert got["missing"]["missing"] and got["missing"]["type"] == "NoSuchTableException", got["missing"]
    assert got["parent"] == [{"namespace": ["a b", "ü/x%", "dot.ted"]}], got["parent"]
    assert s.api.get(ns_path(["a b", "ü/x%", "dot.ted"]) + "/tables").ok().json["identifiers"] == []


if __name__ == "__main__":
    with Server() as server:
        sys.exit(tell(Story(server)))
