"""iceberg-go's story: rows, shapes of a table, views, a transaction over two tables, writers at the
same time. The client's calls are in main.go; what they mean is asserted here."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

from firn_client import Api, eventually, table_path, view_path  # noqa: E402
from firn_server import Server  # noqa: E402
from steps import step, tell  # noqa: E402

INNER = ["outer", "inner"]


class Story:
    def __init__(self, firn):
        self.firn = firn
        self.api = Api(firn)
        names = {"FIRN_S3_ENDPOINT": "s3.endpoint", "FIRN_S3_REGION": "s3.region",
                 "FIRN_S3_ACCESS_KEY_ID": "s3.access-key-id", "FIRN_S3_SECRET_ACCESS_KEY": "s3.secret-access-key"}
        store = {names[key]: value for key, value in firn.store.settings.items() if key in names}
        self.store = json.dumps(store | ({"s3.force-virtual-addressing": "false"} if store else {}))

    def go(self, name):
        done = subprocess.run([os.environ["FIRN_TEST_ICEBERG_GO"], self.firn.url, name],
                              env=os.environ | {"STORE": self.store}, text=True, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    def metadata(self, ns, table):
        """The table as the catalog has it."""
        return self.api.get(table_path(ns, table)).ok().json["metadata"]

    def operations(self, ns, table):
        """What its snapshots did, one after the other; main is at the last one, each follows the one before."""
        found = self.metadata(ns, table)
        snapshots = found["snapshots"]
        assert found["refs"]["main"]["snapshot-id"] == snapshots[-1]["snapshot-id"], found
        assert [one["parent-snapshot-id"] for one in snapshots[1:]] == [one["snapshot-id"] for one in snapshots[:-1]]
        return [one["summary"]["operation"] for one in snapshots]

    def served(self, operation, status="2xx"):
        return self.firn.metric("firn_requests_total", operation=operation, status=status)


@step()
def namespaces(s):
    """Made, nested, changed and listed; what is not empty stays."""
    got = s.go("namespaces")
    assert got["again"] and got["not empty"] and got["there"] and not got["not there"], got
    assert got["changed"] == [["new"], ["old"], ["none"]], got["changed"]
    assert got["properties"] == {"owner": "story", "new": "2"} and got["top"] == [["db"], ["outer"]], got
    assert got["below"] == [INNER], got["below"]
    assert s.api.get("/v1/namespaces/db").ok().json["properties"] == {"owner": "story", "new": "2"}


@step()
def rows(s):
    """Appended, deleted, overwritten, filtered, and read as they were."""
    got = s.go("rows")
    assert got["again"] and got["all"] == [1, 3, 5, 40], got
    assert got["first"] == [1, 2, 3] and got["filter"] == [5, 40], got
    done = s.operations(INNER, "events")
    assert done[:2] == ["append"] * 2 and len(done) == 4 and set(done[2:]) <= {"delete", "overwrite"}, done
    assert s.metadata(INNER, "events")["properties"]["owner"] == "story"


@step()
def shape(s):
    """A column comes and goes, the partitioning changes, and the format's version rises."""
    got = s.go("shape")
    assert got["all"] == [1, 2, 3] and got["version"] == 3, got
    found = s.metadata("db", "shape")
    assert found["format-version"] == 3 and found["current-schema-id"] == 0 and len(found["schemas"]) == 2, found
    assert found["last-column-id"] == 3 and "a" not in found["properties"], found
    assert found["default-spec-id"] == 1 and found["partition-specs"][1]["fields"][0]["transform"] == "bucket[4]", found
    assert found["snapshots"][-1]["first-row-id"] == 0 and found["next-row-id"] >= 2, found["snapshots"]
    assert len(found["metadata-log"]) == 6, found["metadata-log"]


@step()
def two_tables(s):
    """A transaction over two tables is one call; when one has moved on, neither changes."""
    before = s.served("commitTransaction"), s.served("commitTransaction", "4xx"), s.served("updateTable")
    got = s.go("two tables")
    assert got["a"] == [1] and got["b"] == [1, 2], got
    assert got["conflict"] and "branch main" in got["text"], got
    after = s.served("commitTransaction"), s.served("commitTransaction", "4xx"), s.served("updateTable")
    assert after == (before[0] + 1, before[1] + 1, before[2] + 1), (before, after)
    assert s.operations("db", "debit") == ["append"] and s.operations(INNER, "credit") == ["append"] * 2
    assert len(s.metadata("db", "debit")["metadata-log"]) == 1


@step()
def writers(s):
    """Four writers of one table: every row once, every snapshot after another."""
    assert s.go("writers")["all"] == [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]
    assert s.operations("db", "race") == ["append"] * 12
    numbers = [one["sequence-number"] for one in s.metadata("db", "race")["snapshots"]]
    assert numbers == list(range(1, 13)), numbers


@step()
def moves(s):
    """Renamed into another namespace, dropped, registered again, purged."""
    got = s.go("moves")
    assert got["all"] == [1, 2] and got["same"] and not got["still old"], got
    assert [*INNER, "a b+c"] in got["listed"] and [*INNER, "events"] in got["listed"], got["listed"]
    for ns, name in (("db", "old name"), (INNER, "a b+c"), ("db", "back")):
        s.api.get(table_path(ns, name)).fails(404, "NoSuchTableException")
    eventually(lambda: not s.firn.store.list(got["location"]), 90)


@step()
def views(s):
    """Made in two dialects, replaced, renamed, dropped and registered again; names are the tables' too."""
    got = s.go("views")
    assert all(got[name] for name in ("again", "taken", "table", "gone", "same")) and not got["old"], got
    assert got["made"] == ["spark: SELECT 1", "trino: SELECT 2"], got
    assert got["next"] == got["back"] == ["spark: SELECT 3", "trino: SELECT 4"] and got["versions"] == 2, got
    assert got["listed"] == [[*INNER, "seen"]], got["listed"]
    assert got["properties"]["comment"] == "second", got["properties"]
    s.api.get(view_path(INNER, "seen")).fails(404, "NoSuchViewException")
    s.api.get(view_path("db", "moved")).fails(404, "NoSuchViewException")
    found = s.api.get(view_path("db", "back")).ok().json["metadata"]
    assert found["current-version-id"] == 2 and [one["version-id"] for one in found["version-log"]] == [1, 2], found
    now = next(one for one in found["versions"] if one["version-id"] == 2)
    assert now["default-namespace"] == INNER and len(now["representations"]) == 2, now
    assert [(one["name"], one["type"]) for one in found["schemas"][0]["fields"]] == [("id", "long"), ("data", "string")]


if __name__ == "__main__":
    with Server() as server:
        sys.exit(tell(Story(server)))
