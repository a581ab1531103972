"""Reported case B175: a right and wrong calls of every operation that the description has."""

import pytest

from firn_client import (levels_of, operations, replace_version, representation, set_properties, simple, view_version)

SERVED = [op for op in operations() if op.served and op.api == "catalog"]


def identifier(ns, name):
    return {"namespace": levels_of(ns), "name": name}


def rename(ns, source, target):
    return {"source": identifier(ns, source), "destination": identifier(ns, target)}


def left_behind(api, ns, view=False):
    """The metadata file of an object that the catalog has let go of."""
    if view:
        where = api.create_view(ns, "old", properties={"gc.enabled": "false"}).ok().json["metadata-location"]
        api.drop_view(ns, "old").expect(204)
    else:
        where = api.table(ns, "old").metadata_location
        api.drop(ns, "old").expect(204)
    return {"name": "back", "metadata-location": where}


REPORT = {"report-type": "scan-report", "table-name": "t", "snapshot-id": 1, "filter": True, "schema-id": 0,
          "projected-field-ids": [], "projected-field-names": [], "metrics": {}}

# operation: what to send in a namespace with a table t, a view v and an empty child
RIGHT = {
    "getDescription": None, "getConfig": "?warehouse=main", "listNamespaces": "?pageToken=&pageSize=1",
    "createNamespace": lambda api, ns: {"namespace": [ns, "new"], "properties": {"a": "b"}},
    "loadNamespaceMetadata": None, "namespaceExists": None, "dropNamespace": None,
    "updateProperties": lambda api, ns: {"updates": {"a": "b"}, "removals": ["c"]},
    "listTables": "?pageToken=&pageSize=1", "createTable": lambda api, ns: {"name": "new", "schema": simple()},
    "loadTable": "?snapshots=refs", "updateTable": lambda api, ns: {"requirements": [], "updates": [set_properties(a="b")]},
    "dropTable": "?purgeRequested=false", "tableExists": None, "registerTable": left_behind, "unregisterTable": None,
    "reportMetrics": lambda api, ns: REPORT, "renameTable": lambda api, ns: rename(ns, "t", "new"),
    "commitTransaction": lambda api, ns: {"table-changes": [
        {"identifier": identifier(ns, "t"), "requirements": [], "updates": [set_properties(a="b")]}]},
    "listViews": "?pageToken=&pageSize=1",
    "createView": lambda api, ns: {"name": "new", "schema": simple(), "view-version": view_version(), "properties": {}},
    "loadView": None, "replaceView": lambda api, ns: {"updates": replace_version(representation("SELECT 2"))},
    "dropView": None, "viewExists": None, "renameView": lambda api, ns: rename(ns, "v", "new"),
    "registerView": lambda api, ns: left_behind(api, ns, view=True), "listFunctions": None,
    "loadFunction": None, "loadCredentials": None,
    "signRequest": lambda api, ns: {"method": "GET", "uri": "https://s3.example/b/a", "region": "r", "headers": {}},
}
NOBODY = {"createNamespace", "getConfig", "getDescription", "listNamespaces", "renameTable", "renameView", "commitTransaction"}


def path_of(op, prefix="", **values):
    path = op.path.replace("{prefix}/", prefix)
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path
    return path


def here(op, ns):
    child = op.name == "dropNamespace"
    return {"namespace": f"{ns}%1Fchild" if child else ns, "table": "t", "view": "v", "function": "f"}


@pytest.fixture
def ns(api):
    name = api.new_namespace()
    api.table(name, "t")
    api.create_view(name, "v").ok()
    api.create_namespace([name, "child"]).ok()
    return name


def test_b175_every_operation_has_its_calls():
    """What is described is tried here; what is listed is described."""
    assert {op.name for op in SERVED} == set(RIGHT), "an operation without a call in RIGHT, or the other way round"


@pytest.mark.parametrize("prefix", ["", "main/"])
@pytest.mark.parametrize("op", SERVED, ids=lambda op: op.name)
def test_b175_right_calls(api, ns, op, prefix):
    """The success that the description names, in the form that it names; functions there are none, and this warehouse
    signs nothing."""
    row = RIGHT[op.name]
    body = row(api, ns) if callable(row) else None
    answer = api.request(op.method, path_of(op, prefix, **here(op, ns)) + (row if isinstance(row, str) else ""), body)
    described = [int(status) for status in op.row["responses"] if status.startswith("2")]
    if op.name == "loadFunction":
        answer.fails(404, "NoSuchFunctionException")
    elif op.name == "signRequest":
        answer.fails(406, "UnsupportedOperationException")
    else:
        answer.expect(*described)


MISSING = {"function": "NoSuchFunctionException", "view": "NoSuchViewException", "table": "NoSuchTableException",
           "namespace": "NoSuchNamespaceException"}


@pytest.mark.parametrize("op", [op for op in SERVED if op.name not in NOBODY], ids=lambda op: op.name)
def test_b175_calls_about_what_is_missing(api, ns, op):
    """The type says what is missing, as the description promises for this operation."""
    what = next(name for name in MISSING if f"{{{name}}}" in op.path)
    body = RIGHT[op.name](api, ns) if callable(RIGHT[op.name]) else None
    answer = api.request(op.method, path_of(op, **here(op, ns) | {what: "none"}), body)
    answer.fails(404, MISSING[what])
    assert "404" in op.row["responses"] or "default" in op.row["responses"]


@pytest.mark.parametrize("op", SERVED, ids=lambda op: op.name)
def test_b175_wrong_calls(api, ns, op):
    """Bodies and parameters of the wrong kind are told apart from everything else, and change nothing."""
    path, before = path_of(op, **here(op, ns)), api.load(ns, "t").ok().json
    if op.method == "POST" and op.row.get("requestBody"):
        for body in (b"", b"{", b"[]", b'{"namespace":1,"updates":1,"name":1,"source":1,"table-changes":1,"report-type":1}'):
            api.request("POST", path, body).fails(400, "BadRequestException")
    if "{namespace}" in op.path:
        api.request(op.method, path_of(op, **here(op, ns) | {"namespace": "%ZZ"}), None).fails(400)
        api.request(op.method, path_of(op, **here(op, ns) | {"namespace": "a%1F"}), None).fails(400)
    if "{prefix}" in op.path:
        api.request(op.method, path_of(op, "nope/", **here(op, ns)), None).fails(404, "NoSuchWarehouseException")
    query = RIGHT[op.name]
    if isinstance(query, str):
        name = query.lstrip("?").split("&")[-1].split("=")[0]
        status, kind = (404, "NoSuchWarehouseException") if name == "warehouse" else (400, "BadRequestException")
        api.request(op.method, f"{path}?{name}=wrong").fails(status, kind, contains=name)
    api.request("PUT", path, b"{}").fails(405)
    assert api.load(ns, "t").ok().json == before
    assert api.names(ns) == ["t"] and api.view_names(ns) == ["v"]


@pytest.mark.parametrize("op", [op for op in operations() if not op.served], ids=lambda op: op.name)
def test_b175_operations_that_are_not_served(api, ns, op):
    """406, whatever is asked, and no client is told that they are there."""
    values = {"namespace": ns, "table": "t", "plan-id": "p"}
    api.request(op.method, path_of(op, **values), {} if op.method == "POST" else None).fails(
        406, "UnsupportedOperationException", contains=op.name)
    assert op.endpoint not in api.get("/v1/config").ok().json["endpoints"]
