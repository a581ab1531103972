"""Reported cases B106 to B110, and B140: views."""

import gzip
import json

import pytest

from firn_client import ns_path, replace_version, representation, set_properties, simple, view_path, view_version


def test_b106_views_are_probed_before_a_table_is_made(api, ns):
    """A missing view says so, in a 404 that is no missing table; a list is empty, never an error."""
    api.load_view(ns, "x").fails(404, "NoSuchViewException", f"View does not exist: {ns}.x")
    api.head(view_path(ns, "x")).expect(404)
    for query in ("", "?pageToken="):
        assert api.get(f"{ns_path(ns)}/views{query}").ok().json == {"identifiers": []}
    api.create(ns, "x").ok()
    api.load_view(ns, "x").fails(404, "NoSuchViewException")
    assert api.view_names(ns) == []


def test_b107_a_view_is_kept_as_it_was_sent(api, ns):
    """Two texts for one dialect are refused; without the second every member comes back."""
    texts = [representation("select 1"), representation("select 2")]
    version = {"version-id": 1, "timestamp-ms": 1700000000000, "schema-id": 0, "summary": {}, "default-catalog": "c",
               "default-namespace": ["a"], "representations": texts}
    body = {"name": "v", "schema": simple(), "view-version": version, "properties": {}}
    api.post(f"{ns_path(ns)}/views", body).fails(400, contains="multiple queries for dialect spark")
    assert api.view_names(ns) == []
    version["representations"] = texts[:1]
    created = api.post(f"{ns_path(ns)}/views", body).ok().json
    loaded = api.load_view(ns, "v").ok().json
    assert loaded["metadata"] == created["metadata"] and loaded["metadata-location"] == created["metadata-location"]
    m = loaded["metadata"]
    assert m["versions"] == [version] and m["current-version-id"] == 1
    assert [s for s in m["schemas"] if s["schema-id"] == m["versions"][0]["schema-id"]] == [simple()]
    assert m["location"].startswith(f"{api.store.base}/") and m["version-log"] == [
        {"version-id": 1, "timestamp-ms": 1700000000000}]
    other = view_version(number=2, schema=0, **{"default-catalog": "d"})
    m = api.replace_view(ns, "v", [{"action": "add-view-version", "view-version": other},
                                   {"action": "set-current-view-version", "view-version-id": -1}]).ok().json["metadata"]
    assert [v.get("default-catalog") for v in m["versions"]] == ["c", "d"]


def test_b109_a_dialect_is_not_lost_by_accident(api, ns):
    """A replace that drops one engine's text needs a property that allows it."""
    api.create_view(ns, "v", view_version(representation("select 1", "spark"), representation("SELECT 1", "trino"))).ok()
    lossy = replace_version(representation("select 2", "spark"))
    before = api.load_view(ns, "v").ok().json
    api.replace_view(ns, "v", lossy).fails(400, contains="loss of view dialects")
    assert api.load_view(ns, "v").ok().json == before
    api.replace_view(ns, "v", replace_version(representation("select 2", "spark"), representation("SELECT 2", "trino"))).ok()
    allowed = {"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "true"}}
    m = api.replace_view(ns, "v", [allowed, *lossy]).ok().json["metadata"]
    current = next(v for v in m["versions"] if v["version-id"] == m["current-version-id"])
    assert current["representations"] == [representation("select 2", "spark")]


def test_b109_representations_of_unknown_types_are_kept(api, ns):
    """In files that are registered, and through later changes; a client cannot add one."""
    place = f"{api.store.base}/cases/{ns}"
    plan = {"type": "plan", "sql": "", "dialect": "x", "steps": [1, {"a": 1.50}]}
    version = {"version-id": 3, "timestamp-ms": 1700000000000, "schema-id": 0, "summary": {}, "default-namespace": [],
               "representations": [plan, representation("select 1")]}
    document = {"view-uuid": "33333333-3333-4333-8333-333333333333", "format-version": 1, "location": place,
                "schemas": [simple()], "current-version-id": 3, "versions": [version],
                "version-log": [{"version-id": 3, "timestamp-ms": 1700000000000}], "properties": {}}
    uri = f"{place}/metadata/v1.metadata.json"
    api.store.write(uri, json.dumps(document).encode())
    api.register_view(ns, "v", uri).ok()
    location = api.replace_view(ns, "v", [set_properties(a="b")]).ok().json["metadata-location"]
    assert api.load_view(ns, "v").ok().json["metadata"]["versions"] == [version]
    assert json.dumps(plan).encode() in gzip.decompress(api.store.read(location))
    api.create_view(ns, "w", view_version(plan)).fails(400, contains="plan")
    assert api.view_names(ns) == ["v"]


def test_b110_tables_and_views_share_their_names(api, ns):
    """Each way to take the other's name is a 409; each is missing where the other kind is asked for."""
    table, view = api.table(ns, "x"), api.create_view(ns, "v").ok()
    for answer in (api.create_view(ns, "x"), api.create(ns, "v"), api.rename((ns, "x"), (ns, "v")),
                   api.rename_view((ns, "v"), (ns, "x"))):
        answer.fails(409, "AlreadyExistsException", contains="already exists")
    api.load(ns, "v").fails(404, "NoSuchTableException")
    api.load_view(ns, "x").fails(404, "NoSuchViewException")
    assert table.metadata["table-uuid"] == table.uuid
    assert api.load_view(ns, "v").ok().json["metadata"] == view.json["metadata"]
    assert api.names(ns) == ["x"] and api.view_names(ns) == ["v"]


@pytest.mark.parametrize("form", ["{}", "W/{}", '"x", {}', "*"])
def test_b140_conditional_loads_of_views(api, ns, form):
    """A tag that matches is answered 304, any other one the whole view."""
    tag = api.create_view(ns, "v").ok().etag
    bare = tag.removeprefix("W/")
    assert api.load_view(ns, "v", If_None_Match=form.format(bare)).expect(304).etag == tag
    assert api.load_view(ns, "v", If_None_Match='"other"').ok().etag == tag
    api.replace_view(ns, "v", [set_properties(a="b")]).ok()
    api.load_view(ns, "v", If_None_Match=tag).ok()
