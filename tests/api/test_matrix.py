"""Every requirement and update of matrix_rows.py, in every format version: status, error and
message, or the whole metadata that comes of it."""

import pytest

from firn_client import Api
from matrix import Play, cases, expected, name_of, resolved
from matrix_rows import ROWS

CASES = cases(ROWS)


@pytest.fixture(scope="module")
def play(server):
    client = Api(server)
    yield Play(client)
    client.close()


def test_names_are_unique():
    """A row that is there twice would hide what the second says."""
    names = [name_of(case) for case in CASES]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_row(play, case):
    """A refusal changes nothing; no change makes no version; a change is exactly the row's."""
    row, version = case
    done = play.run(row, version)
    if row.changes is None:
        status, kind, message = resolved(row.refused, done.given)
        done.answer.fails(status, kind, message)
    else:
        done.answer.ok()
    if row.changes:
        assert done.answer.json["metadata"] == expected(done)
        assert done.answer.json["metadata-location"] != done.given.location
        assert done.after.ok().json["metadata"] == done.answer.json["metadata"]
    elif row.base == "absent":
        done.after.expect(404)
    else:
        assert done.after.ok().json["metadata-location"] == done.given.location
        assert done.after.json["metadata"] == done.given.base
