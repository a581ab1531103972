"""The same request once more, without a key, because its answer was lost: a commit is recognised,
whatever has happened to the table since. To take it for a failure would make clients delete files."""

import pytest

from firn_client import (add_snapshot, assert_ref, assert_uuid, create_updates, replace_version, representation,
                         set_properties, set_ref, simple, view_path)


def test_snapshot_without_a_branch(table):
    """What write-audit-publish sends: nothing is asserted that the first copy has changed."""
    updates, requirements = [add_snapshot(1, 1, location=table.location)], [assert_uuid(table.uuid)]
    first = table.commit(*updates, requirements=requirements).ok()
    second = table.commit(*updates, requirements=requirements).ok()
    assert second.json == first.json and second.etag == first.etag
    table.apply(set_properties(a="b"))
    assert table.commit(*updates, requirements=requirements).ok().json == first.json
    assert len(table.metadata["snapshots"]) == 1


def test_other_client_has_upgraded_since(table):
    """The updates would be refused before the snapshot is looked at."""
    updates = [{"action": "upgrade-format-version", "format-version": 2}, add_snapshot(1, 1, location=table.location)]
    first = table.commit(*updates).ok()
    table.apply({"action": "upgrade-format-version", "format-version": 3})
    assert table.commit(*updates).ok().json == first.json
    assert table.metadata["format-version"] == 3


def test_in_a_transaction(api, ns):
    """All its tables as they were made, once."""
    tables = [api.table(ns) for _ in range(2)]
    body = {"table-changes": [{
        "identifier": {"namespace": [ns], "name": t.name}, "requirements": [assert_uuid(t.uuid)],
        "updates": [add_snapshot(5, 1, location=t.location)]} for t in tables]}
    for _ in range(2):
        api.post("/v1/transactions/commit", body).expect(204)
    assert [len(t.metadata["snapshots"]) for t in tables] == [1, 1]


@pytest.mark.parametrize("how", ["set-location", "register"])
def test_table_lies_elsewhere_now(api, ns, table, how):
    """The answer shows the state that the commit made, where it lies."""
    requirements = [assert_uuid(table.uuid), assert_ref(None)]
    updates = [add_snapshot(1, 1, location=table.location), set_ref("main", 1)]
    first = table.commit(*updates, requirements=requirements).ok()
    if how == "set-location":
        table.apply({"action": "set-location", "location": table.location + "-moved"})
        table.apply(set_properties(a="b"))
    else:
        api.create(ns, "other", simple()).ok()
        other = api.post(f"/v1/namespaces/{ns}/tables/other/unregister").ok().json["metadata-location"]
        api.register(ns, table.name, other, overwrite=True).ok()
    assert table.commit(*updates, requirements=requirements).ok().json == first.json


@pytest.mark.parametrize("how", ["commit", "transaction"])
def test_table_has_another_name_now(api, ns, table, how):
    """Renamed in between, and even another table under the old name: the answer is of the one that was changed. One
    that was dropped is gone."""
    body = {"requirements": [assert_uuid(table.uuid)], "updates": [add_snapshot(1, 1, location=table.location)]}
    if how == "transaction":
        path, body = "/v1/transactions/commit", {"table-changes": [
            {"identifier": {"namespace": [ns], "name": table.name}} | body]}
    else:
        path = f"/v1/namespaces/{ns}/tables/{table.name}"
    first = api.post(path, body).expect(200, 204)
    api.rename((ns, table.name), (ns, "renamed")).expect(204)
    for _ in range(2):
        again = api.post(path, body).expect(first.status)
        assert again.body == first.body
        api.create(ns, table.name).expect(200, 409)
    assert not api.load(ns, table.name).ok().json["metadata"].get("snapshots")
    assert len(api.load(ns, "renamed").ok().json["metadata"]["snapshots"]) == 1
    api.drop(ns, table.name).expect(204)
    api.drop(ns, "renamed").expect(204)
    api.post(path, body).fails(404)


@pytest.mark.parametrize("how", ["commit", "transaction"])
def test_created_table_has_another_name_now(api, ns, how):
    """So with the commit that made it: under the old name is nothing, a view or another table. Who creates a table of
    his own there is refused."""
    def creation(snapshot):
        m = api.create(ns, "new", stage_create=True).ok().json["metadata"]
        return {"requirements": [{"type": "assert-create"}],
                "updates": [*create_updates(m), add_snapshot(snapshot, 1, location=m["location"])]}

    def post(body):
        if how == "commit":
            return api.post(f"/v1/namespaces/{ns}/tables/new", body)
        return api.post("/v1/transactions/commit", {"table-changes": [
            {"identifier": {"namespace": [ns], "name": "new"}} | body]})

    body, other = creation(1), creation(2)
    first = post(body).expect(200, 204)
    api.rename((ns, "new"), (ns, "renamed")).expect(204)
    files = api.store.list()
    assert post(body).expect(first.status).body == first.body
    assert api.store.list() == files
    api.create_view(ns, "new").ok()
    assert post(body).expect(first.status).body == first.body
    post(other).fails(409, "AlreadyExistsException")
    api.drop_view(ns, "new").expect(204)
    api.create(ns, "new").ok()
    assert post(body).expect(first.status).body == first.body
    post(other).fails(409, "CommitFailedException")
    assert sorted(api.names(ns)) == ["new", "renamed"]


def test_a_refusal_stays_one(table):
    """Who sends what was never applied hears the same twice."""
    table.append(1, 1)
    updates = [add_snapshot(1, 2, location=table.location)]
    for _ in range(2):
        table.commit(*updates).fails(400, "ValidationException", contains="already exists")


def test_view_lies_elsewhere_now(api, ns):
    """A view's version, after its location was changed."""
    api.create_view(ns, "v").ok()
    path, updates = view_path(ns, "v"), replace_version(representation("SELECT 2"), ms=1700000000777)
    first = api.post(path, {"updates": updates}).ok()
    location = first.json["metadata"]["location"]
    api.post(path, {"updates": [{"action": "set-location", "location": location + "-moved"}]}).ok()
    assert api.post(path, {"updates": updates}).ok().json == first.json


def test_register_looks_at_the_file(api, ns, table):
    """Another server may have deleted it while it is still in this one's memory."""
    file = table.load().ok().json["metadata-location"]
    api.post(f"{table.path}/unregister").ok()
    api.store.delete(file)
    api.register(ns, "again", file).fails(404, "NotFoundException", contains=file)
    assert api.names(ns) == []
