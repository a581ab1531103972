"""Reported cases B121 to B128: rename, drop and purge."""

import pytest
from test_purge import fill, marks, purge, wait_purged

from firn_client import Api, in_parallel, ns_path, set_properties
from firn_server import Server


def test_b121_rename_to_a_name_that_is_taken(api, ns):
    """409, also when the other one was dropped and made anew; 404 only for what is missing."""
    api.table(ns, "t1"), api.table(ns, "t2")
    api.rename((ns, "t1"), (ns, "t2")).fails(409, "AlreadyExistsException", f"Table already exists: {ns}.t2")
    api.rename((ns, "t0"), (ns, "t2")).fails(404, "NoSuchTableException")
    api.rename((ns, "t1"), ("non-existing", "t")).fails(404, "NoSuchNamespaceException")
    assert api.names(ns) == ["t1", "t2"]
    api.drop(ns, "t2", "?purgeRequested=true").expect(204)
    api.rename((ns, "t1"), (ns, "t2")).expect(204)
    assert api.names(ns) == ["t2"]


def test_b121_racing_for_the_new_name(server, api, ns):
    """A create and renames that want one name at once: one gets it, the others hear 409."""
    for i in range(4):
        api.table(ns, f"s{i}")

    def one(i):
        client = Api(server)
        answer = client.create(ns, "t2") if i == 4 else client.rename((ns, f"s{i}"), (ns, "t2"))
        client.close()
        return answer.status
    assert sorted(200 if s == 204 else s for s in in_parallel(5, one)) == [200, 409, 409, 409, 409]


def test_b122_racing_renames_of_one_table(server, api, ns):
    """Ten new names at once: one is given, for the others the table is gone."""
    api.table(ns, "t1")

    def one(i):
        client = Api(server)
        answer = client.rename((ns, "t1"), (ns, f"new{i}"))
        client.close()
        return answer
    answers = in_parallel(10, one)
    assert sorted(a.status for a in answers) == [204] + [404] * 9
    assert all(a.status == 204 or a.error["type"] == "NoSuchTableException" for a in answers)
    (name,) = api.names(ns)
    assert answers[int(name.removeprefix("new"))].status == 204


@pytest.mark.parametrize("query,purged", [
    ("", False), ("?purgeRequested=false", False), ("?purgeRequested=False", False), ("?purgeRequested=true", True),
    ("?purgeRequested=True", True), ("?purgeRequested=1", None), ("?purgeRequested=", None), ("?purgeRequested=yes", None)])
def test_b124_files_stay_unless_a_purge_is_asked_for(server, api, ns, table, query, purged):
    """In any case of letters; what is no truth value drops nothing."""
    location = table.metadata_location
    answer = api.drop(ns, table.name, query)
    if purged is None:
        answer.fails(400, "BadRequestException", contains="purgeRequested")
        table.load().ok()
        return
    answer.expect(204)
    assert marks(server) == 0 or purged
    wait_purged(server)
    assert api.store.exists(location) == (not purged)


def test_b125_a_client_that_purges_by_itself(server, api, ns):
    """The entry first, then the files by their metadata: all are still there, and the name is a 404."""
    table = fill(server, ns)
    last = api.load(ns, "t").ok().json
    api.drop(ns, "t").expect(204)
    files = api.store.list(table.location())
    assert last["metadata-location"] in files
    assert {s["manifest-list"] for s in last["metadata"]["snapshots"]} <= set(files)
    for file in files:
        api.store.delete(file)
    api.load(ns, "t").fails(404, "NoSuchTableException")
    api.drop(ns, "t").fails(404, "NoSuchTableException")
    api.delete(ns_path(ns)).expect(204)


@pytest.mark.parametrize("policy", ["allow", "ignore", "refuse"])
def test_b127_the_operator_decides_about_purges(policy):
    """Done, carried out as a plain drop, or refused before anything happens."""
    with Server(env={"FIRN_PURGE": policy}) as firn:
        api = Api(firn)
        ns = api.new_namespace()
        table = api.table(ns, "t")
        location = table.metadata_location
        answer = api.drop(ns, "t", "?purgeRequested=true")
        if policy == "refuse":
            answer.fails(403, "ForbiddenException", contains="purge")
            table.load().ok()
            api.drop(ns, "t").expect(204)
        else:
            answer.expect(204)
        wait_purged(firn)
        assert api.names(ns) == [] and api.store.exists(location) == (policy != "allow")
        api.create(ns, "t").ok()
        if policy != "allow":
            api.register(ns, "back", location).ok()
        api.close()


def test_b128_files_that_another_table_uses(server, api, ns):
    """The same metadata is not registered twice; data that others may use stays when the table says so."""
    table = fill(server, ns, properties={"gc.enabled": "false"})
    location = api.load(ns, "t").ok().json["metadata-location"]
    api.register(ns, "copy", location).fails(409, "AlreadyExistsException")
    assert api.names(ns) == ["t"]
    data = [f for f in api.store.list(table.location()) if "/data/" in f]
    purge(api, ns)
    wait_purged(server)
    assert data and api.store.list(table.location()) == data
    api.register(ns, "copy", location).fails(404, "NotFoundException")


def test_b128_a_table_that_lies_in_another(api, ns):
    """Never made, so that no purge can reach it."""
    outer = api.table(ns, "outer")
    api.create(ns, "inner", location=outer.location + "/data/inner").fails(409, "AlreadyExistsException")
    other = api.table(ns, "other")
    other.commit({"action": "set-location", "location": outer.location + "/x"}).fails(400)
    assert api.names(ns) == ["other", "outer"]
    other.apply(set_properties(a="b"))
