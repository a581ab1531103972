"""The tests' own client: that it sees what it is there to see."""

import copy

import pytest

from firn_client import check_schema, fast_validator, set_properties, simple, spec, strict_json, validator

LOADED = "#/components/schemas/LoadTableResult"


def places(node, path=()):
    """The path of every value in a document, but for the whole."""
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in below:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(document, path, change):
    found = copy.deepcopy(document)
    node = found
    for key in path[:-1]:
        node = node[key]
    if change is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = change
    return found


@pytest.mark.parametrize("change", [..., None, "x", -1, 2**63, [], {}], ids=repr)
def test_two_validators(api, ns, change):
    """What the fast one lets pass, the exact one does: an answer that is changed in any place."""
    table = api.table(ns, schema=simple(), partition_spec=spec(("data", "identity", 2, None)))
    table.append(1, 1)
    document = table.loaded
    fast, exact = fast_validator(LOADED), validator(LOADED)
    assert fast.is_valid(document)
    refused = 0
    for path in places(document):
        other = changed(document, path, change)
        refused += not fast.is_valid(other)
        assert exact.is_valid(other) or not fast.is_valid(other), path
    assert refused > 10


def test_whole_numbers_with_a_fraction(api, ns):
    """A client that reads a long cannot read 1.0."""
    table = api.table(ns)
    table.apply(set_properties(a="1.5"))
    text = table.load().ok().body
    fractions = []
    strict_json(text, fractions)
    assert fractions == []
    document = strict_json(text.replace(b'"last-column-id":2', b'"last-column-id":2.0'), fractions)
    assert fractions == ["2.0"]
    with pytest.raises(AssertionError, match="last-column-id"):
        check_schema(LOADED, document)
