"""The table of cases of public reports is true: its tests exist, and no test of a case is missing from it."""

import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def rows():
    """The rows of the table: id, what, tests, reason. The last one is absent where there are tests."""
    text = pathlib.Path(__file__).with_name("table.tsv").read_text()
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    assert all(3 <= len(line) <= 4 for line in lines), "three or four columns"
    return [(line + [""])[:4] for line in lines[1:]]


@functools.cache
def functions(path):
    return set(re.findall(r"^ *def (\w+)", (ROOT / path).read_text(), re.M))


def test_ids_are_unique_and_in_order():
    ids = [row[0] for row in rows()]
    assert len(ids) == 118 and ids == sorted(set(ids))
    assert all(re.fullmatch(r"B\d{3}", i) for i in ids)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_row(row):
    """A few words, and tests that exist or the reason why there is none."""
    _, what, tests, reason = row
    assert what.strip() == what and 0 < len(what) <= 100
    if tests == "-":
        assert reason.strip(" -")
        return
    assert reason in ("", "-")
    for test in tests.split(" "):
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), path
        assert name in functions(path), test


def test_every_test_of_a_case_is_listed():
    """Under the id that is in its name."""
    listed = {row[0]: row[2].split(" ") for row in rows()}
    missing = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name in functions(path):
            number = re.match(r"test_b(\d+)_", name)
            if number and f"{path.relative_to(ROOT)}::{name}" not in listed.get(f"B{int(number.group(1)):03}", []):
                missing.append(f"{path.relative_to(ROOT)}::{name}")
    assert not missing
