"""Two processes on one PostgreSQL: exactly one winner, nothing lost, everything seen at once."""

import collections
import time

import pytest

from conftest import on_postgres
from firn_client import (SLOWNESS, Api, Table, add_snapshot, assert_ref, assert_uuid, create_updates, in_parallel, ns_path,
                         set_properties, set_ref)

RACERS = 24


@pytest.fixture(scope="module")
def pair(cluster):
    first = on_postgres(cluster)
    second = first.replica()
    try:
        first.start()
        second.start()
        yield first, second
    finally:
        second.close()
        first.close()


@pytest.fixture
def both(pair):
    clients = Api(pair[0]), Api(pair[1])
    yield clients
    for client in clients:
        client.close()


@pytest.fixture
def ns(both):
    return both[0].new_namespace()


def race(pair, n, work):
    """work(client, i): even ones through the first server, odd ones through the second."""
    def one(i):
        client = Api(pair[i % 2])
        try:
            return work(client, i)
        finally:
            client.close()
    return in_parallel(n, one)


def statuses(answers):
    return dict(collections.Counter(a.status for a in answers))


def test_what_one_did_the_other_sees(both, ns):
    """Every change is visible through the other server as soon as it was acknowledged."""
    one, two = both
    table = one.table(ns, "t")
    there = Table(two, ns, "t")
    assert there.loaded == table.loaded
    for i in range(20):
        (one, two)[i % 2].commit(ns, "t", [set_properties(i=str(i))]).ok()
        for client in both:
            assert client.load(ns, "t").ok().json["metadata"]["properties"]["i"] == str(i)
    tag = there.load().etag
    there.load(If_None_Match=tag).expect(304)
    table.apply(set_properties(x="y"))
    there.load(If_None_Match=tag).expect(200)
    one.rename((ns, "t"), (ns, "u")).expect(204)
    two.load(ns, "t").fails(404)
    two.load(ns, "u").ok()
    two.drop(ns, "u").expect(204)
    assert one.names(ns) == [] and not one.exists(ns, "u")
    two.delete(ns_path(ns)).expect(204)
    one.head(ns_path(ns)).expect(404)


def test_racing_namespace_creates(pair, both):
    """One winner."""
    name = both[0].new_name()
    assert statuses(race(pair, RACERS, lambda c, i: c.create_namespace(name))) == {200: 1, 409: RACERS - 1}


def test_racing_creates(pair, both, ns):
    """One winner, whose table both show; one file in all."""
    before = len(pair[0].store.list())
    answers = race(pair, RACERS, lambda c, i: c.create(ns, "t"))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    winner = next(a for a in answers if a.status == 200).json
    assert all(c.load(ns, "t").ok().json == winner for c in both)
    assert len(pair[0].store.list()) == before + 1


def test_racing_create_commits(pair, both, ns):
    """The same for staged creates."""
    staged = [both[i % 2].create(ns, "t", stage_create=True).ok().json["metadata"] for i in range(RACERS)]
    answers = race(pair, RACERS, lambda c, i: c.commit(ns, "t", create_updates(staged[i]), [{"type": "assert-create"}]))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}


def test_racing_locations(pair, both, ns):
    """One place is given to one table."""
    place = f"{pair[0].store.base}/{ns}/x"
    answers = race(pair, RACERS, lambda c, i: c.create(ns, f"t{i}", location=place + "/in" * (i % 3)))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}


def test_racing_appends_lose_nothing(pair, both, ns):
    """Eight writers through two servers: as many snapshots as were acknowledged, one line of history."""
    table = both[0].table(ns, "t")
    uuid, location = table.uuid, table.location
    each = 12

    def write(client, i):
        for k in range(each):
            number = i * 1000 + k + 1
            for _ in range(500):
                m = client.load(ns, "t").ok().json["metadata"]
                current = m["refs"].get("main", {}).get("snapshot-id")
                answer = client.commit(ns, "t", [add_snapshot(number, m["last-sequence-number"] + 1, current, location),
                                                 set_ref("main", number)], [assert_uuid(uuid), assert_ref(current)])
                if answer.status == 200:
                    break
                answer.expect(409, 429)
            else:
                raise AssertionError("never got through")

    race(pair, 8, write)
    m = table.metadata
    numbers = [s["snapshot-id"] for s in m["snapshots"]]
    assert sorted(numbers) == sorted(i * 1000 + k + 1 for i in range(8) for k in range(each))
    assert [s.get("parent-snapshot-id") for s in m["snapshots"]] == [None, *numbers[:-1]]
    assert len(m["metadata-log"]) == 8 * each
    files = [e["metadata-file"] for e in m["metadata-log"]] + [table.metadata_location]
    assert len(set(files)) == len(files) and all(pair[0].store.exists(f) for f in files)


def test_racing_commits_without_conflict(pair, both, ns):
    """Changes of properties through both servers are merged; none that was acknowledged is missing."""
    table = both[0].table(ns, "t")
    uuid = table.uuid

    def write(client, i):
        for k in range(8):
            for _ in range(200):
                answer = client.commit(ns, "t", [set_properties(**{f"k{i}-{k}": "v"})], [assert_uuid(uuid)])
                if answer.status == 200:
                    break
                answer.expect(409, 429)
            else:
                raise AssertionError("never got through")

    race(pair, 12, write)
    m = table.metadata
    assert sum(k.startswith("k") for k in m["properties"]) == 96 and len(m["metadata-log"]) == 96
    assert len([f for f in pair[0].store.list(table.location) if ".metadata.json" in f]) == 97


def test_racing_appends_to_one_base(pair, both, ns):
    """One is applied."""
    table = both[0].table(ns, "t")
    table.append(1, 1)
    uuid, location = table.uuid, table.location
    answers = race(pair, RACERS, lambda c, i: c.commit(
        ns, "t", [add_snapshot(100 + i, 2, 1, location), set_ref("main", 100 + i)], [assert_uuid(uuid), assert_ref(1)]))
    assert statuses(answers) == {200: 1, 409: RACERS - 1}
    assert len(table.metadata["snapshots"]) == 2


def test_the_same_append_through_both(pair, both, ns):
    """A balancer sends a request again to the other server: applied once, acknowledged by both."""
    table = both[0].table(ns, "t")
    table.append(1, 1)
    updates = [add_snapshot(2, 2, 1, table.location), set_ref("main", 2)]
    requirements = [assert_uuid(table.uuid), assert_ref(1)]
    answers = race(pair, 6, lambda c, i: c.commit(ns, "t", updates, requirements))
    assert statuses(answers) == {200: 6}
    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [1, 2]


def test_racing_renames(pair, both, ns):
    """From one name, and to one name."""
    for i in range(8):
        both[0].create(ns, f"s{i}").ok()
    answers = race(pair, RACERS, lambda c, i: c.rename((ns, "s0"), (ns, f"d{i}")))
    assert statuses(answers) == {204: 1, 404: RACERS - 1}
    answers = race(pair, 7, lambda c, i: c.rename((ns, f"s{i + 1}"), (ns, "one")))
    assert statuses(answers) == {204: 1, 409: 6}
    assert len(both[1].names(ns)) == 8


def test_racing_drops(pair, both, ns):
    """One drop is the drop."""
    both[0].create(ns, "t").ok()
    assert statuses(race(pair, RACERS, lambda c, i: c.drop(ns, "t"))) == {204: 1, 404: RACERS - 1}


def test_racing_namespace_drop_and_create(pair, both):
    """A namespace is never dropped with a table in it."""
    for _ in range(20):
        name = both[0].new_namespace()
        answers = race(pair, 2, lambda c, i, n=name: c.create(n, "t") if i else c.delete(ns_path(n)))
        assert (answers[0].status, answers[1].status) in {(204, 404), (409, 200)}, [str(a) for a in answers]


def test_racing_commits_and_drops(pair, both, ns):
    """Through different servers: applied before the drop, or 404."""
    for k in range(20):
        name = f"t{k}"
        both[k % 2].create(ns, name).ok()
        answers = race(pair, 2, lambda c, i, n=name: c.commit(ns, n, [set_properties(a="b")]) if i else c.drop(ns, n))
        assert answers[0].status == 204 and answers[1].status in (200, 404), [str(a) for a in answers]


def test_one_server_dies_the_other_goes_on(cluster):
    """Half of the clients lose their server; the other half's commits all go through, nothing is lost."""
    first = on_postgres(cluster)
    second = first.replica()
    try:
        first.start()
        second.start()
        api = Api(first)
        ns = api.new_namespace()
        api.create(ns, "t").ok()
        acknowledged, begin = [], time.monotonic()

        def write(i):
            client = Api((first, second)[i % 2])
            for k in range(60):
                key = f"k{i}-{k}"
                if i == 1 and k == 20:
                    second.kill()
                try:
                    if client.commit(ns, "t", [set_properties(**{key: "v"})]).status == 200:
                        acknowledged.append(key)
                except Exception:
                    assert i % 2, "the first server is alive"
                    break
            client.close()

        in_parallel(6, write)
        got = api.load(ns, "t").ok().json["metadata"]["properties"]
        assert not set(acknowledged) - set(got)
        assert sum(k.startswith(("k0", "k2", "k4")) for k in acknowledged) > 100
        assert time.monotonic() - begin < 60
        api.close()
    finally:
        second.kill()
        first.close()


def becomes(call, status):
    deadline = time.monotonic() + 30 * SLOWNESS
    while call().status != status:
        assert time.monotonic() < deadline, call()
        time.sleep(0.05)


def test_warehouses_of_the_other(tmp_path, cluster):
    """Made, deactivated and deleted through one server, seen by the other within seconds and without a restart; of
    two who make the same one, one does."""
    first = on_postgres(cluster, env={"FIRN_WAREHOUSE_FOLDERS": f"file://{tmp_path}"})
    second = first.replica()
    root = "/management/v1/warehouses"
    try:
        here, there = Api(first.start()), Api(second.start())
        body = {"name": "w", "base-location": f"file://{tmp_path}/w", "storage": {"type": "file"}}
        statuses = race((first, second), 8, lambda client, i: client.post(
            root, body | {"base-location": f"file://{tmp_path}/w{i}"}).status)
        assert sorted(statuses) == [200] + [409] * 7
        prefix = f"/v1/{here.get(root + '/w').ok().json['id']}/namespaces"
        there.post(prefix, {"namespace": ["a"]}).ok()
        becomes(lambda: here.get(prefix + "/a"), 200)
        here.post(root + "/w", {"active": False}).ok()
        becomes(lambda: there.get(prefix + "/a"), 403)
        here.post(root + "/w", {"active": True, "name": "x"}).ok()
        becomes(lambda: there.get(prefix + "/a"), 200)
        there.get("/v1/config?warehouse=x").ok()
        becomes(lambda: there.get("/v1/config?warehouse=w"), 404)
        there.delete(prefix + "/a").expect(204)
        here.delete(root + "/x").expect(204)
        becomes(lambda: there.get(prefix), 404)
        here.close()
        there.close()
    finally:
        second.close()
        first.close()
