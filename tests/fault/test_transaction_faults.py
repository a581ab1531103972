"""Transactions over several tables at the worst moments: all of it or nothing, and never a wrong word."""

import pytest

from firn_client import Api, Table, add_snapshot, assert_ref, create_updates, set_ref
from test_faults import armed, dies, disarmed, firn, metadata_files, place, pointers  # noqa: F401 (firn: a fixture)


def body(api, ns, staged=None):
    """t gets its second snapshot, u its first; the staged table comes into being."""
    def part(name, number, parent):
        return {"identifier": {"namespace": [ns], "name": name}, "requirements": [assert_ref(parent)],
                "updates": [add_snapshot(number, number, parent, place(api, ns, name)), set_ref("main", number)]}
    changes = [part("t", 2, 1), part("u", 1, None)]
    if staged:
        changes.append({"identifier": {"namespace": [ns], "name": "new"}, "requirements": [{"type": "assert-create"}],
                        "updates": create_updates(staged)})
    return {"table-changes": changes}


def prepared(server):
    api = Api(server)
    api.table(server.ns, "u", location=place(api, server.ns, "u"))
    staged = api.create(server.ns, "new", stage_create=True).ok().json["metadata"]
    api.close()
    return staged


def state(api, ns):
    return [Table(api, ns, n).metadata.get("current-snapshot-id") if api.exists(ns, n) else "none"
            for n in ("t", "u", "new")]


BEFORE, AFTER = [1, -1, "none"], [2, 1, -1]


@pytest.mark.parametrize("fault,applied", [
    ("STORE_PUT_AFTER_WRITE", False), ("STORE_PUT_AFTER_WRITE:2", False), ("SQL_SWAP_BEFORE", False),
    ("SQL_SWAP_AFTER", True)])
def test_death_in_a_transaction(firn, fault, applied):  # noqa: F811
    """Between files, before and after the swap of all pointers: all tables or none; sent again it is
    applied once in all."""
    request = body(Api(firn), firn.ns, prepared(firn))
    api, _ = armed(firn, fault)
    dies(firn, lambda: api.post("/v1/transactions/commit", request))
    api.close()
    api, _ = disarmed(firn)
    assert state(api, firn.ns) == (AFTER if applied else BEFORE)
    pointers(firn)
    api.post("/v1/transactions/commit", request).expect(204)
    assert state(api, firn.ns) == AFTER
    assert len(Table(api, firn.ns, "t").metadata["metadata-log"]) == 2
    pointers(firn)
    api.close()


def test_lost_reply_of_a_transaction_is_settled(firn):  # noqa: F811
    """The connection breaks after COMMIT was sent: the repetition finds its token."""
    request = body(Api(firn), firn.ns, prepared(firn))
    api, _ = armed(firn, "SQL_SWAP_REPLY_LOST")
    api.post("/v1/transactions/commit", request).expect(204)
    assert state(api, firn.ns) == AFTER
    assert len(Table(api, firn.ns, "t").metadata["metadata-log"]) == 2
    pointers(firn)
    api.close()


def test_a_file_that_cannot_be_written_undoes_the_others(firn):  # noqa: F811
    """Certainly not applied: 4xx, and the files that were written for the other tables are gone."""
    request = body(Api(firn), firn.ns, prepared(firn))
    api, _ = armed(firn, "STORE_PUT_FAILS:2")
    files = metadata_files(firn)
    assert api.post("/v1/transactions/commit", request).status in (429, 400, 403)
    assert metadata_files(firn) == files and state(api, firn.ns) == BEFORE
    api.post("/v1/transactions/commit", request).expect(204)
    assert state(api, firn.ns) == AFTER
    api.close()
