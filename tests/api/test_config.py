"""GET /v1/config, the list of endpoints, prefixes, and the description itself."""

import re
import urllib.parse

import pytest

from firn_client import ROOT, Api, operations
from firn_server import Server

FILLED = {"{namespace}": "no_such_ns", "{table}": "t", "{view}": "v", "{function}": "f",
          "{plan-id}": "p", "{prefix}/": ""}
BODIES = {"createTable": {"name": "t", "schema": {"type": "struct", "fields": []}},
          "createNamespace": {"namespace": []},
          "updateProperties": {}, "updateTable": {}, "reportMetrics": {"report-type": "future-report"},
          "registerTable": {"name": "t", "metadata-location": "s3://b/x.metadata.json"},
          "renameTable": {"source": {"namespace": ["no_such_ns"], "name": "a"},
                          "destination": {"namespace": ["no_such_ns"], "name": "b"}},
          "commitTransaction": {"table-changes": []}}


def path_of(op):
    path = op.path
    for placeholder, value in FILLED.items():
        path = path.replace(placeholder, value)
    return path


def test_config_has_defaults_and_overrides_as_objects_of_strings(api):
    """Clients call both maps without looking whether they are there; values are strings."""
    config = api.get("/v1/config").ok().json
    for part in ("defaults", "overrides"):
        assert isinstance(config[part], dict)
        assert all(isinstance(v, str) for v in config[part].values())


def test_config_announces_the_unit_separator(api):
    """The separator is %1F, in its URL-encoded form; DuckDB sends the raw byte unless told."""
    config = api.get("/v1/config").ok().json
    assert (config["defaults"] | config["overrides"])["namespace-separator"] == "%1F"


def test_config_lists_every_served_operation_and_nothing_else(api):
    """`endpoints`: method, one space, the template of the specification with {prefix}."""
    endpoints = api.get("/v1/config").ok().json["endpoints"]
    assert sorted(endpoints) == sorted(op.endpoint for op in operations() if op.served and op.listed)
    assert all(re.fullmatch(r"(GET|HEAD|POST|DELETE) /v1/\{prefix\}/\S+", e) for e in endpoints)


def test_default_warehouse_has_no_prefix(api):
    """Clients of the default warehouse use paths without a prefix, and the address they know."""
    config = api.get("/v1/config").ok().json
    settings = config["defaults"] | config["overrides"]
    assert "prefix" not in settings and "uri" not in settings


@pytest.mark.parametrize("op", operations(), ids=lambda op: op.name)
def test_operation_is_routed_or_answers_406(api, op):
    """What is listed works; what is not served says UnsupportedOperationException."""
    answer = api.request(op.method, path_of(op), BODIES.get(op.name, {}) if op.method == "POST" else None)
    if op.served:
        assert answer.status not in (405, 406, 500, 501), answer
        assert answer.method == "HEAD" or answer.status < 400 or "No route" not in answer.error["message"], answer
    else:
        answer.fails(406, "UnsupportedOperationException")


@pytest.mark.parametrize("query", ["", "?warehouse=", "?warehouse=main", "?other=1&warehouse=main"])
def test_empty_or_default_warehouse(api, query):
    """The parameter absent, empty, or the name of the default warehouse finds the default."""
    api.get("/v1/config" + query).ok()


def test_warehouse_by_its_base_location(api):
    """A warehouse may be named by its base location, a slash at its end makes no difference."""
    base = urllib.parse.quote(api.store.base, safe="")
    api.get(f"/v1/config?warehouse={base}").ok()
    api.get(f"/v1/config?warehouse={base}%2F").ok()
    api.get(f"/v1/config?warehouse={base}%2Fdeeper").fails(404, "NoSuchWarehouseException")


@pytest.mark.parametrize("name", ["nope", "MAIN", "main2", "s3%3A%2F%2Fbucket%2Fpath%2F", "+main", "%FF"])
def test_other_warehouses_do_not_exist(api, name):
    """An unknown warehouse is a 404 with a type, which Java turns into NoSuchWarehouseException."""
    answer = api.get(f"/v1/config?warehouse={name}")
    if name == "%FF":
        answer.expect(400, 404)
    else:
        answer.fails(404, "NoSuchWarehouseException", contains="warehouse")


def test_warehouse_by_its_id_and_as_a_prefix(api):
    """Every route exists with a prefix too; the id of the default warehouse is one."""
    (uuid,), = api.server.sql("SELECT uuid FROM warehouse")
    api.get(f"/v1/config?warehouse={uuid}").ok()
    ns = api.new_namespace()
    assert api.get(f"/v1/{uuid}/namespaces/{ns}").ok().json["namespace"] == [ns]


@pytest.mark.parametrize("path", ["/v1/wh2/namespaces", "/v1/wh2/namespaces/a/tables/t"])
def test_unknown_prefix(api, path):
    """A prefix nobody was given names no warehouse."""
    api.get(path).fails(404, "NoSuchWarehouseException")


def test_config_has_no_prefixed_form(api):
    """/v1/{prefix}/config is no operation; it never answers with the default's settings."""
    api.get("/v1/main/config").fails(404)
    api.get("/v1/wh2/config").fails(404)


@pytest.mark.parametrize("path", ["//v1/config", "/v1//config", "///v1///config?warehouse=main"])
def test_base_address_with_a_slash_at_its_end(api, path):
    """Empty segments around v1 are dropped, and never answered with a redirect."""
    api.get(path).ok()


@pytest.mark.parametrize("method,path", [
    ("GET", "/"), ("GET", "/v1"), ("GET", "/v1/"), ("GET", "/v2/config"), ("GET", "/v1/nothing"),
    ("GET", "/favicon.ico"), ("POST", "/v1/config/extra"), ("GET", "/v1/namespaces/a/tables/t/x/y"),
    ("GET", "/v1/namespaces/a/nothing"), ("GET", "/v1/v1/config"), ("GET", "/V1/config"), ("GET", "/v1/Config")])
def test_unknown_routes_are_error_documents(api, method, path):
    """A type that is none of the NoSuch... names: no client takes it for a missing table."""
    error = api.request(method, path).fails(404)
    assert not error["type"].startswith("NoSuchTable") and not error["type"].startswith("NoSuchNamespace")
    api.request("POST", path, {}).fails(404)


def test_served_description_is_the_one_in_the_sources(api):
    """What a user reads is what routes."""
    for name in ("catalog.yaml", "management.yaml"):
        assert api.get(f"/openapi/{name}").ok().body == (ROOT / "openapi" / name).read_bytes()


def test_warehouse_name_setting():
    """FIRN_WAREHOUSE_NAME names the default warehouse; the usual name is then unknown."""
    with Server(warehouse_name="prod-1") as firn:
        api = Api(firn)
        api.get("/v1/config").ok()
        api.get("/v1/config?warehouse=prod-1").ok()
        api.get("/v1/config?warehouse=main").fails(404, "NoSuchWarehouseException")


def test_authorization_is_ignored_while_nobody_is_asked_for_it(api):
    """PyIceberg without credentials sends `Authorization: Bearer None`."""
    api.request("GET", "/v1/config", headers={"Authorization": "Bearer None"}).ok()
    api.request("GET", "/v1/namespaces", headers={"Authorization": "Basic eDp5"}).ok()
