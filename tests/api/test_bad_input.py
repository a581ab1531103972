"""Every member of every request body wrong in every way, and every parameter: 400 with the pointer
to the place, nothing changed, never a failure of the server. The description says what is there;
what is taken, or answered with a text of the protocol that has no pointer, is listed with why."""

import re

import pytest

from firn_client import (Api, add_snapshot, description, field, operations, order, representation, set_properties,
                         set_ref, resolve, spec, struct, view_version)
from matrix import KEY, MORE, Play, Row, partition_statistics, statistics
from wrong import Text, all_wrong, dump

UUID = "00000000-0000-4000-8000-000000000000"
SCHEMA = struct(
    field(1, "id", "long", True, doc="d"), field(2, "data", "string", **{"initial-default": "x", "write-default": "y"}),
    field(3, "l", {"type": "list", "element-id": 4, "element": "int", "element-required": False}),
    field(5, "m", {"type": "map", "key-id": 6, "key": "string", "value-id": 7, "value": "int", "value-required": True}),
    field(8, "s", {"type": "struct", "fields": [field(9, "in", "int")]}), **{"identifier-field-ids": [1]})
SNAPSHOT = add_snapshot(21, 4, 12, **{"manifest-list": "{own}", "first-row-id": 15, "added-rows": 5, "key-id": "k1"})
KEEP = {"min-snapshots-to-keep": 2, "max-snapshot-age-ms": 3, "max-ref-age-ms": 4}
VERSION = view_version(representation(), representation("SELECT 2", "trino"), representation("SELECT 3", "duckdb"),
                       number=3, **{"default-catalog": "c"})

# One right update of each action, with all its members.
TABLE_UPDATES = [
    {"action": "assign-uuid", "uuid": UUID}, {"action": "upgrade-format-version", "format-version": 3},
    {"action": "add-schema", "schema": SCHEMA, "last-column-id": 9}, {"action": "set-current-schema", "schema-id": 0},
    {"action": "add-spec", "spec": spec(("p", "bucket[8]", 1, 1001))}, {"action": "set-default-spec", "spec-id": 0},
    {"action": "add-sort-order", "sort-order": order(("bucket[3]", 2, "desc", "nulls-last"))},
    {"action": "set-default-sort-order", "sort-order-id": 0}, SNAPSHOT, set_ref("b2", 12, **KEEP),
    {"action": "remove-snapshots", "snapshot-ids": [13]}, {"action": "remove-snapshot-ref", "ref-name": "b1"},
    {"action": "set-location", "location": "file:///x"}, set_properties(a="2", c="3"),
    {"action": "remove-properties", "removals": ["a", "b"]},
    {"action": "set-statistics", "snapshot-id": 12, "statistics": statistics(12) | {
        "statistics-path": "{own}", "key-metadata": "aGVsbG8="}},
    {"action": "remove-statistics", "snapshot-id": 11},
    {"action": "set-partition-statistics", "partition-statistics": partition_statistics(12) | {
        "statistics-path": "{own}"}},
    {"action": "remove-partition-statistics", "snapshot-id": 11},
    {"action": "remove-partition-specs", "spec-ids": [0]}, {"action": "remove-schemas", "schema-ids": [0]},
    {"action": "add-encryption-key", "encryption-key": KEY | {"key-id": "k2"}},
    {"action": "remove-encryption-key", "key-id": "k1"}]
VIEW_UPDATES = [
    {"action": "assign-uuid", "uuid": UUID}, {"action": "upgrade-format-version", "format-version": 1},
    {"action": "add-schema", "schema": SCHEMA}, {"action": "set-location", "location": "file:///x"},
    set_properties(a="2", c="3"), {"action": "remove-properties", "removals": ["a", "b"]},
    {"action": "add-view-version", "view-version": VERSION},
    {"action": "set-current-view-version", "view-version-id": 1}]
TABLE_REQUIREMENTS = [
    {"type": "assert-table-uuid", "uuid": UUID}, {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 12},
    {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3},
    {"type": "assert-current-schema-id", "current-schema-id": 1},
    {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
    {"type": "assert-default-spec-id", "default-spec-id": 1},
    {"type": "assert-default-sort-order-id", "default-sort-order-id": 1}]
VIEW_REQUIREMENTS = [{"type": "assert-view-uuid", "uuid": UUID}]
METRICS = {"files": {"unit": "count", "value": 1}, "time": {"time-unit": "nanoseconds", "count": 1, "total-duration": 5}}
SCAN_REPORT = {
    "report-type": "scan-report", "table-name": "t", "snapshot-id": 1, "filter": True, "schema-id": 0,
    "projected-field-ids": [1], "projected-field-names": ["id"], "metrics": METRICS, "metadata": {"a": "b"}}
COMMIT_REPORT = {
    "report-type": "commit-report", "table-name": "t", "snapshot-id": 1, "sequence-number": 1, "operation": "append",
    "metrics": METRICS, "metadata": {"a": "b"}}


def right_bodies():
    """(operation, name, body, where to begin) of everything that takes a body; names in braces are
    filled in."""
    identifier = {"namespace": ["{ns}"], "name": "{table}"}
    yield "createNamespace", "", {"namespace": ["{new}", "b"], "properties": {"a": "b"}}, ""
    yield "updateProperties", "", {"removals": ["x"], "updates": {"a": "b"}}, ""
    yield "createTable", "", {
        "name": "{new}", "location": "{place}", "schema": SCHEMA, "partition-spec": spec(("p", "bucket[8]", 1, 1000)),
        "write-order": order(("identity", 1, "asc", "nulls-first")), "stage-create": False,
        "properties": {"format-version": "3", "a": "b"}}, ""
    yield "registerTable", "", {"name": "{new}", "metadata-location": "{file}", "overwrite": False}, ""
    yield "renameTable", "", {"source": identifier, "destination": {"namespace": ["{ns}"], "name": "{new}"}}, ""
    yield "signRequest", "", {"method": "GET", "uri": "https://s3.example/b/t/a", "region": "r", "provider": "s3", "body": "x",
                              "headers": {"Range": ["bytes=0-1"]}, "properties": {"a": "b"}}, ""
    yield "reportMetrics", "scan-report", SCAN_REPORT, ""
    yield "reportMetrics", "commit-report", COMMIT_REPORT, ""
    yield "updateTable", "", {"identifier": identifier, "requirements": [], "updates": []}, ""
    for update in TABLE_UPDATES:
        yield "updateTable", update["action"], {"updates": [update]}, "/updates/0"
    for requirement in TABLE_REQUIREMENTS:
        yield "updateTable", requirement["type"], {
            "requirements": [requirement], "updates": [set_properties(a="x")]}, "/requirements/0"
    yield "commitTransaction", "", {"table-changes": [
        {"identifier": identifier, "requirements": [], "updates": []}]}, ""
    for update in TABLE_UPDATES:
        yield "commitTransaction", update["action"], {"table-changes": [
            {"identifier": identifier}, {"identifier": identifier, "updates": [update]}]}, "/table-changes/1/updates/0"
    for requirement in TABLE_REQUIREMENTS:
        yield "commitTransaction", requirement["type"], {"table-changes": [
            {"identifier": identifier, "requirements": [requirement], "updates": [set_properties(a="x")]}]}, (
                "/table-changes/0/requirements/0")
    yield "createView", "", {"name": "{new}", "location": "{place}", "schema": SCHEMA, "view-version": VERSION,
                             "properties": {"a": "b"}}, ""
    yield "registerView", "", {"name": "{new}", "metadata-location": "{view file}"}, ""
    yield "renameView", "", {"source": {"namespace": ["{ns}"], "name": "{view}"},
                             "destination": {"namespace": ["{ns}"], "name": "{new}"}}, ""
    yield "replaceView", "", {"identifier": identifier, "requirements": [], "updates": []}, ""
    for update in VIEW_UPDATES:
        yield "replaceView", update["action"], {"updates": [update]}, "/updates/0"
    for requirement in VIEW_REQUIREMENTS:
        yield "replaceView", requirement["type"], {
            "requirements": [requirement], "updates": [set_properties(a="x")]}, "/requirements/0"


BODIES = list(right_bodies())
RIGHT = {operation: body for operation, _, body, _ in BODIES}
OPERATIONS = {op.name: op for op in operations()}

# --- what is taken, and what is answered without a pointer ---------------------------------------------

# Operation and update, pointer, what is wrong with it, why it is no fault: any answer but a failure.
ANY = ".*"
COMMITS = "(updateTable|commitTransaction|replaceView).*"
TAKEN = [
    ("signRequest ", "/.*", "empty", "this warehouse signs nothing: 406; test_signing.py knows what is signed"),
    ("reportMetrics .*", "/report-type", "another word", "a type that is not known yet"),
    ("reportMetrics .*", "/(?!metrics/[^/]+$).+", "empty|negative|too long",
     "numbers and texts are kept as they are, and the body has a limit of its own"),
    (ANY, ".*/schema/type", "absent|null", "a schema can be of no other type"),
    (ANY, ".*/(required|element-required|value-required)", "absent|null", "clients that leave it out mean no"),
    (ANY, ".*/(name|doc)", "empty", "columns may be called anything and say nothing"),
    (ANY, ".*/type/fields", "empty", "a struct may have no fields"),
    (ANY, ".*/(schema|spec|partition-spec|write-order|sort-order|fields/0)/(schema-id|spec-id|order-id|field-id)",
     "negative", "the server gives the number"),
    (ANY, ".*/view-version/version-id", "negative", "the server gives the number"),
    ("createView ", "/view-version/schema-id", "negative", "the server gives the number"),
    (ANY, ".*/last-column-id", "negative", "the server computes it"),
    (ANY, ".*/identifier-field-ids", "empty", "no column identifies rows"),
    (ANY, ".*/(partition-spec|write-order|spec)/fields", "empty", "neither partitioned nor sorted"),
    (ANY, "(/properties|.*/updates/0/updates|.*/encryption-key/properties|.*/blob-metadata/0/properties|"
          ".*/summary)(/.*)?", "empty", "maps of properties and their values may be empty"),
    ("updateProperties ", "/(removals|updates)(/.*)?", "empty", "keys and values are any text"),
    (ANY, ".*/removals(/.*)?", "empty", "keys are any text"),
    ("(updateTable|replaceView) ", "/identifier/.*", "empty|too long", "the path decides, and not the body"),
    (COMMITS, ".*/(requirements|updates)", "empty", "a commit may ask for nothing"),
    (COMMITS, ".*/requirements/0/.*", "empty|negative", "compared with what there is: 409"),
    (ANY, ".*/snapshot/(snapshot-id|parent-snapshot-id|timestamp-ms|schema-id)", "negative",
     "writers choose ids and times"),
    (ANY, ".*/snapshot/key-id", "empty", "writers choose the names of keys"),
    (ANY, ".*/(snapshot-ids|spec-ids|schema-ids)", "empty", "nothing is removed"),
    (ANY, ".*/(snapshot-ids|spec-ids|schema-ids)/0", "negative", "there is no such thing to remove"),
    (".* remove-(partition-)?statistics", ".*/updates/0/snapshot-id", "negative", "there is no such thing to remove"),
    (".* remove-.*", ".*/updates/0/(ref-name|key-id)", "empty", "there is no such thing to remove"),
    (ANY, ".*/(statistics|partition-statistics)/snapshot-id", "negative", "writers choose the ids of snapshots"),
    (ANY, ".*/statistics/(blob-metadata|key-metadata)", "empty", "a file of statistics may hold nothing"),
    (ANY, ".*/blob-metadata/0/.*", "empty|negative", "what the blobs are is between those who write and read them"),
    (ANY, ".*/encryption-key/(encrypted-by-id|properties/a)", "empty", "writers choose the names of keys"),
    (ANY, ".*/view-version/timestamp-ms", "negative", "writers choose times"),
    (ANY, ".*/view-version/(default-namespace(/0)?|default-catalog)", "empty", "not looked up here"),
    (ANY, ".*/view-version/representations(/./(sql|dialect))?", "empty", "only engines understand the text"),
]
# Operation and update, pointer, what is wrong with it, the text: one that clients know, and that says what is meant.
FIXED = [
    ("createTable ", "/properties", "empty", "Invalid schema for v2:"),
    (ANY, ".*/schema/fields", "empty", "Cannot add fieldId 1 as an identifier field: field does not exist"),
    (ANY, ".*/format-version", "negative", "Cannot downgrade v[13] (table|view) to v-5"),
    (ANY, ".*/fields/0/name", "empty", "^(Table .*: )?Cannot use empty partition name: $"),
    (".* set-(current|default)-.*", ".*/updates/0/(schema-id|spec-id|sort-order-id|view-version-id)", "negative",
     "Cannot set (current|default) .* to unknown .*: -5$"),
    (ANY, ".*/sort-order/fields", "empty", "Unsorted order ID must be 0$"),
    (ANY, ".*/sequence-number", "negative", r"Invalid sequence number \(cannot be negative\): -5$"),
    (ANY, ".*/(first-row-id|added-rows)", "negative", r"Invalid (first-row-id|added-rows) \(cannot be negative\): -5$"),
    (".* set-snapshot-ref", ".*/updates/0/snapshot-id", "negative", "Cannot set b2 to unknown snapshot: -5$"),
    (ANY, ".*/(min-snapshots-to-keep|max-snapshot-age-ms|max-ref-age-ms)", "negative", " must be greater than 0"),
    (ANY, "/metadata-location", "empty", "^Cannot register an empty metadata file location as a (table|view)$"),
    (ANY, ".*/representations/./type", "empty|another word", "Found unsupported view representations: "),
    ("replaceView add-view-version", ".*/view-version/schema-id", "negative", "Cannot add version with unknown schema: -5$"),
    ("commitTransaction ", "/table-changes", "absent|null", "^Invalid table changes: null$"),
    ("commitTransaction ", "/table-changes", "empty", "^Invalid table changes: empty$"),
    ("commitTransaction ", "/table-changes/0", "empty", "^Invalid table changes: table identifier is required$"),
    ("commitTransaction ", "/table-changes/0/identifier", "absent|null",
     "^Invalid table changes: table identifier is required$"),
]


class Place:
    """A table and a view to be wrong about, and names that are free."""

    def __init__(self, api):
        self.api, self.play = api, Play(api)
        self.ns = self.play.ns
        self.table, loaded = self.play.make(Row("", "", base="rich"), 3)
        self.view, view = self.play.make(Row("", "", base="view"), 1)
        self.words = {"{ns}": self.ns, "{table}": self.table, "{view}": self.view, "{new}": "new",
                      "{place}": loaded["metadata"]["location"] + "-new", "{file}": loaded["metadata-location"],
                      "{view file}": view["metadata-location"], "{own}": loaded["metadata"]["location"] + "/metadata/x"}

    def path(self, op):
        return self.put(op.path)

    def put(self, path):
        path = path.replace("/{prefix}", "").replace("{function}", "f")
        for name, value in (("{namespace}", self.ns), ("{table}", self.table), ("{view}", self.view)):
            path = path.replace(name, value)
        return path

    def filled(self, value):
        if isinstance(value, str) and not isinstance(value, Text):
            return self.words.get(value, value)
        if isinstance(value, list):
            return [self.filled(v) for v in value]
        if isinstance(value, dict):
            return type(value)({k: self.filled(v) for k, v in value.items()})
        return value

    def state(self):
        """All that a wrong request might have changed."""
        return (self.api.load(self.ns, self.table).ok().json, self.api.load_view(self.ns, self.view).ok().json,
                self.api.get(f"/v1/namespaces/{self.ns}").ok().json, self.api.names(self.ns),
                self.api.view_names(self.ns), self.api.list_namespaces().ok().json, self.api.store.list())


@pytest.fixture(scope="module")
def place(server):
    client = Api(server)
    yield Place(client)
    client.close()


@pytest.fixture(scope="module")
def spare(server):
    """For requests that may well change something."""
    client = Api(server)
    yield Place(client)
    client.close()


def listed(table, subject, wrong):
    """The first rule that a wrong body falls under, or None."""
    for rule in table:
        if all(re.fullmatch(pattern, text) for pattern, text in zip(
                rule, (subject, wrong.pointer, wrong.what), strict=False)):
            return rule
    return None


def complaint(subject, wrong, answer):
    """What is wrong with the answer, or None."""
    if answer.status != 400:
        return f"{answer.status}"
    message = answer.error["message"]
    fixed = listed(FIXED, subject, wrong)
    if fixed:
        return None if re.search(fixed[3], message) else f"not /{fixed[3]}/ but {message!r}"
    deeper = "" if wrong.what == "empty" else "/"  # an empty object lacks its members
    if re.search(re.escape(wrong.pointer) + rf"(?![\w{deeper}-])", message):
        return None
    return f"no pointer in {message!r}"


def node_of(operation):
    return OPERATIONS[operation].row["requestBody"]["content"]["application/json"]["schema"]


each_body = pytest.mark.parametrize(
    "operation,name,body,below", BODIES, ids=[f"{o}-{n}".rstrip("-") for o, n, *_ in BODIES])


def test_every_body_is_here():
    """All served operations of the catalog that take one, all updates, all requirements."""
    served = {op.name for op in operations() if op.served and op.api == "catalog" and "requestBody" in op.row}
    assert {operation for operation, *_ in BODIES} == served
    schemas = description()["components"]["schemas"]
    names = {name for _, name, *_ in BODIES}
    assert names >= {*schemas["Update"]["discriminator"]["mapping"]}
    assert names >= {*schemas["Requirement"]["discriminator"]["mapping"]} - {"assert-create"}


def test_every_rule_is_needed():
    """A rule that nothing falls under would hide what comes later."""
    used = set()
    for operation, name, body, below in BODIES:
        for wrong in all_wrong(body, node_of(operation), below):
            used |= {listed(rules, f"{operation} {name}", wrong) for rules in (TAKEN, FIXED)}
    assert {*TAKEN, *FIXED} - used == set()


@each_body
def test_wrong_body(place, operation, name, body, below):
    """400 with the pointer to the place, nothing changed."""
    subject, path = f"{operation} {name}", place.path(OPERATIONS[operation])
    before = place.state()
    problems = []
    for wrong in all_wrong(place.filled(body), node_of(operation), below):
        if not listed(TAKEN, subject, wrong):
            problem = complaint(subject, wrong, place.api.request("POST", path, wrong.text()))
            problems += [f"{wrong.pointer} {wrong.what}: {problem[:200]}"] if problem else []
    assert not problems, f"{len(problems)} of them:\n" + "\n".join(problems[:40])
    assert place.state() == before


@each_body
def test_odd_body(spare, operation, name, body, below):
    """What is no fault is answered like any other request."""
    for wrong in all_wrong(body, node_of(operation), below):
        if listed(TAKEN, f"{operation} {name}", wrong):
            spare.words["{new}"] = spare.api.new_name()
            odd = spare.filled(wrong.body)
            answer = spare.api.request("POST", spare.path(OPERATIONS[operation]), dump(odd).encode())
            assert answer.status < 500, f"{wrong.pointer} {wrong.what}: {answer}"


# --- parameters -------------------------------------------------------------------------------------------

NAMES = ["%00", "%ff", "%zz", "%", ".", "..", "%2E", "a%0Ab", "a%C2%85", "x" * 256]


def wrong_values(parameter):
    """Encoded values that a parameter of the query or of a header cannot have."""
    schema = parameter["schema"]
    if schema["type"] == "integer":
        yield from ("0", "-1", "x", "1.5", "1e3", "%201", "0x10", "9223372036854775808", "")
    elif schema["type"] == "boolean":
        yield from ("1", "0", "yes", "tru", "")
    elif "enum" in schema:
        yield from ("x", "", schema["enum"][0] + "x")
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if schema.get("minLength"):
        yield ""
    if parameter.get("x-kind") == "token":
        yield from ("x", "%00", "AAAA")
    if parameter.get("x-kind") == "namespace":
        yield from (*NAMES, "a%1F%1Fb", "%1F", "a%1F..", "%1F".join(["x" * 200] * 11))
    if parameter["in"] == "query":
        yield from ("%ff", "%zz", "%")


def parameters():
    for op in operations():
        if not op.served:
            continue
        shared = description()["paths"][op.path].get("parameters", [])
        for reference in [*shared, *op.row.get("parameters", [])]:
            parameter = resolve(reference["$ref"])
            if parameter["name"] != "prefix":
                yield op, parameter


@pytest.mark.parametrize("op,parameter", list(parameters()), ids=lambda p: p["name"] if isinstance(p, dict) else p.name)
def test_wrong_parameter(place, op, parameter):
    """400 that names the parameter, nothing changed."""
    before = place.state()
    name, where = parameter["name"], parameter["in"]
    problems = []
    for value in NAMES if where == "path" else wrong_values(parameter):
        path, headers = place.path(op), {}
        if where == "path":
            path = place.put(op.path.replace("{%s}" % name, value))
        elif where == "query":
            path += f"?{name}={value}"
        else:
            headers = {name: value}
        body = dump(place.filled(RIGHT[op.name])).encode() if op.name in RIGHT else None
        answer = place.api.request(op.method, path, body, headers)
        if answer.status == 414 and len(path) > 16000:
            continue  # no target may be so long, whatever is in it
        if answer.status != 400:
            problems.append(f"{value[:40]!r}: {answer.status}")
        elif op.method != "HEAD" and name.lower() not in answer.error["message"].lower():
            problems.append(f"{value[:40]!r}: {answer.error['message'][:200]!r}")
    assert not problems, "\n".join(problems)
    assert place.state() == before
