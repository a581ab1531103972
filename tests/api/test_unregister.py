"""POST …/tables/{table}/unregister: the table leaves the catalog, its files stay."""

import pytest

from firn_client import Api, Table, add_snapshot, in_parallel, levels_of, ns_path, set_properties, set_ref, table_path


def unregister(api, ns, name):
    return api.post(table_path(ns, name) + "/unregister")


def test_unregister_answers_the_last_state(api, ns, table):
    """200 with metadata location and metadata as they were loaded; nothing else."""
    table.append(1, 1)
    last = table.loaded
    answer = unregister(api, ns, table.name).ok()
    assert answer.json == {k: last[k] for k in ("metadata-location", "metadata")}
    api.load(ns, table.name).fails(404, "NoSuchTableException")
    assert api.names(ns) == []
    assert api.store.exists(last["metadata-location"])


def test_later_commits_fail(api, ns, table):
    """404 for every way of committing."""
    unregister(api, ns, table.name).ok()
    table.commit(set_properties(a="b")).fails(404, "NoSuchTableException")
    change = {"identifier": {"namespace": levels_of(ns), "name": table.name}, "updates": [set_properties(a="b")]}
    api.post("/v1/transactions/commit", {"table-changes": [change]}).fails(404, "NoSuchTableException")
    unregister(api, ns, table.name).fails(404, "NoSuchTableException", f"Table does not exist: {ns}.{table.name}")


def test_missing_tables(api, ns):
    """404 NoSuchTableException, also for a view of that name."""
    api.create_view(ns, "v").ok()
    unregister(api, ns, "v").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.v")
    unregister(api, ns, "no").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.no")
    unregister(api, "non-existing", "t").fails(404, "NoSuchTableException", "Table does not exist: non-existing.t")


def test_moving_a_table_to_another_place(api, ns, table):
    """What unregister tells is what register takes: same uuid, same tag, and it goes on."""
    table.append(1, 1)
    etag = table.load().etag
    told = unregister(api, ns, table.name).ok().json
    other = api.new_namespace()
    answer = api.register(other, "moved", told["metadata-location"]).ok()
    assert answer.json["metadata"] == told["metadata"] and answer.etag == etag
    Table(api, other, "moved").append(2, 2, 1)


def test_name_and_place_are_free(api, ns, table):
    location = table.location
    unregister(api, ns, table.name).ok()
    api.create(ns, table.name, location=location).ok()


def test_a_body_is_not_looked_at(api, ns, table):
    """The operation has none; clients that send one are not refused for it."""
    api.post(table_path(ns, table.name) + "/unregister", {"any": "thing"}).ok()


def test_a_file_that_is_gone(api, ns, table):
    """What cannot be told is not taken away: 404, and the table can still be dropped."""
    api.server.restart()
    api.store.delete(table.metadata_location)
    api.server.restart()
    unregister(api, ns, table.name).fails(404, "NotFoundException")
    assert api.names(ns) == [table.name]
    api.drop(ns, table.name).expect(204)


@pytest.mark.parametrize("name", ["a b", "a+b", "a%b", "äö", "a/b"])
def test_names(api, ns, name):
    api.create(ns, name).ok()
    unregister(api, ns, name).ok()
    assert api.names(ns) == []


def test_other_methods(api, ns, table):
    """Only POST has the path."""
    for method in ("GET", "DELETE"):
        api.request(method, f"{ns_path(ns)}/tables/{table.name}/unregister").fails(405)


def test_race_of_unregister_and_commits(server, api, ns):
    """The answer is the final state: every commit that succeeded is in it, every other one got 404."""
    for turn in range(8):
        table = api.table(ns, f"t{turn}")
        location = table.location
        done = []

        def writer(i, table=table, location=location, done=done):
            client = Api(server)
            mine = Table(client, table.ns, table.name)
            for n in range(6):
                number = 100 * i + n + 1
                answer = mine.commit(add_snapshot(number, location=location, sequence=n + 1 + 6 * i),
                                     set_ref(f"b{i}", number)).expect(200, 404, 409)
                if answer.status == 200:
                    done.append(number)
                if answer.status == 404:
                    break
            client.close()

        def leaver(table=table, done=done):
            client = Api(server)
            while not done:
                pass
            told = unregister(client, table.ns, table.name).ok().json
            client.close()
            return told
        told = in_parallel(4, lambda i: writer(i) if i else leaver())[0]
        assert {s["snapshot-id"] for s in told["metadata"]["snapshots"]} == set(done)
        assert not api.exists(ns, table.name)


def test_race_of_unregisters(server, api, ns, table):
    """One answers 200, the others 404."""
    def one(_):
        client = Api(server)
        answer = unregister(client, ns, table.name)
        client.close()
        return answer
    assert sorted(a.status for a in in_parallel(8, one)) == [200] + [404] * 7
