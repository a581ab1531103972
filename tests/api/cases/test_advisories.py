"""The table of advisories is true: its tests exist, and what has none says why."""

import pathlib
import re

import pytest
from test_table import ROOT, functions


def rows():
    """The rows of the table: id, what, tests, reason. The last one is absent where there are tests."""
    text = pathlib.Path(__file__).with_name("advisories.tsv").read_text()
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    assert all(3 <= len(line) <= 4 for line in lines), "three or four columns"
    return [(line + [""])[:4] for line in lines[1:]]


def named(path):
    """The tests of a file, which is Python or C."""
    if path.endswith(".py"):
        return functions(path)
    return set(re.findall(r"START_TEST\((\w+)\)", (ROOT / path).read_text()))


def test_ids_are_unique():
    ids = [row[0] for row in rows()]
    assert len(ids) > 80 and len(ids) == len(set(ids))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].replace(" ", "-"))
def test_row(row):
    """A few words, and tests that exist or the reason why there is none."""
    _, what, tests, reason = row
    assert what.strip() == what and 0 < len(what) <= 100
    if tests == "-":
        assert reason.strip(" -")
        return
    assert not reason
    for test in tests.split(" "):
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), path
        assert name in named(path), test
