"""The HTTP client of our own tests. It sends paths, headers and bodies as they are given, and
checks every answer: against openapi/catalog.yaml, against the form of error documents, and against
what clients cannot read (201, a null for an absent member, a number with a fraction)."""

import functools
import gzip
import http.client
import itertools
import json
import os
import pathlib
import re
import secrets
import threading
import time
import urllib.parse

import jsonschema
import jsonschema_rs
import yaml

import held

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOWNESS = float(os.environ.get("FIRN_TEST_SLOWNESS", "1"))
_BIG = 200_000  # bytes; longer documents are checked with their long arrays shortened
_numbers = itertools.count(1)


# --- the description ------------------------------------------------------------


@functools.cache
def description():
    """Both descriptions as one; references from one to the other stay within it."""
    whole = {"paths": {}, "components": {}}
    for name in ("catalog.yaml", "management.yaml"):
        text = (ROOT / "openapi" / name).read_text().replace("catalog.yaml#/", "#/")
        tree = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        whole["paths"] |= tree["paths"]
        for kind, members in tree["components"].items():
            whole["components"].setdefault(kind, {}).update(members)
    return whole


class Operation:
    def __init__(self, method, path, row):
        self.method, self.path, self.row = method, path, row
        self.name = row["operationId"]
        self.api = "management" if "management" in path else "catalog"
        self.served = row["x-served"]
        self.listed = row.get("x-listed", True)
        self.segments = path.strip("/").split("/")
        self.endpoint = f"{method} {path}"

    def matches(self, segments):
        return len(segments) == len(self.segments) and all(
            want.startswith("{") and have or want == have
            for want, have in zip(self.segments, segments, strict=True))

    def without_prefix(self):
        return [s for s in self.segments if s != "{prefix}"]


@functools.cache
def operations():
    found = []
    for path, item in description()["paths"].items():
        for method in ("get", "head", "post", "delete"):
            if method in item:
                found.append(Operation(method.upper(), path, item[method]))
    return found


def operation_of(method, path):
    """The operation that a raw path means, or None."""
    segments = re.sub("//+", "/", path.split("?")[0]).strip("/").split("/")
    while "" in segments[:2]:
        segments.remove("")
    for op in operations():
        if op.method == method and len(op.without_prefix()) == len(segments) and all(
                want.startswith("{") and have or want == have
                for want, have in zip(op.without_prefix(), segments, strict=True)):
            return op
    for op in operations():
        if op.method == method and op.matches(segments):
            return op
    return None


def _is_integer(_, value):
    return isinstance(value, int) and not isinstance(value, bool)


def _is_uuid(text):
    return bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text, re.I))


@functools.cache
def _validator_class():
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=checker)


@functools.cache
def _formats():
    formats = jsonschema.FormatChecker(formats=())
    formats.checks("int32")(lambda v: not _is_integer(None, v) or -2**31 <= v < 2**31)
    formats.checks("int64")(lambda v: not _is_integer(None, v) or -2**63 <= v < 2**63)
    formats.checks("uuid")(lambda v: not isinstance(v, str) or _is_uuid(v))
    return formats


@functools.cache
def validator(reference):
    root = {"$ref": reference, "components": description()["components"]}
    return _validator_class()(root, format_checker=_formats())


_RANGES = {"int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1)}


def _with_ranges(node):
    """The same schema for a validator that knows formats of strings only."""
    if isinstance(node, list):
        return [_with_ranges(n) for n in node]
    if not isinstance(node, dict):
        return node
    low, high = _RANGES.get(str(node.get("format")), (None, None))
    more = {} if low is None else {"minimum": max(low, node.get("minimum", low)), "maximum": min(high, node.get("maximum", high))}
    return {k: _with_ranges(v) for k, v in node.items()} | more


@functools.cache
def _components():
    return _with_ranges(description()["components"])


@functools.cache
def fast_validator(reference):
    """A hundred times faster than the other one, which is for what this one finds fault with, and for numbers with a
    fraction: to it 1.0 is an integer."""
    root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": reference, "components": _components()}
    return jsonschema_rs.validator_for(root, validate_formats=True, formats={"uuid": _is_uuid})


def _schema_of(op, status):
    """Reference of the schema of an operation's answer, None for one without a body."""
    answers = op.row["responses"]
    answer = answers.get(str(status), answers.get("default"))
    while "$ref" in answer:
        answer = resolve(answer["$ref"])
    content = answer.get("content", {}).get("application/json")
    if content is None:
        return None
    return content["schema"]["$ref"]


def resolve(reference):
    node = description()
    for word in reference.removeprefix("#/").split("/"):
        node = node[word]
    return node


def _shortened(value):
    if isinstance(value, list):
        if len(value) > 24:
            value = value[:12] + value[-12:]
        return [_shortened(v) for v in value]
    if isinstance(value, dict):
        return {k: _shortened(v) for k, v in value.items()}
    return value


def check_schema(reference, value, size=0, fractions=True):
    if not fractions and fast_validator(reference).is_valid(value):
        return
    errors = list(itertools.islice(validator(reference).iter_errors(
        _shortened(value) if size > _BIG else value), 5))
    if errors:
        best = jsonschema.exceptions.best_match(errors)
        where = "/".join(str(p) for p in best.absolute_path)
        raise AssertionError(f"the answer does not match {reference} at /{where}: {best.message[:600]}")


def _no_duplicates(pairs):
    found = dict(pairs)
    assert len(found) == len(pairs), f"a member occurs twice: {[k for k, _ in pairs]}"
    return found


def _no_constant(text):
    raise AssertionError(f"the answer holds {text}, which is not JSON")


def strict_json(data, fractions=None):
    """The value; the numbers written with a fraction or an exponent go into a list as well."""
    def real(text):
        if fractions is not None:
            fractions.append(text)
        return float(text)
    return json.loads(data.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=real)


# --- answers ----------------------------------------------------------------------


class Answer:
    def __init__(self, method, path, status, headers, raw):
        self.method, self.path, self.status = method, path, status
        self.headers = headers  # list of (name, value), as on the wire
        self.raw = raw
        packed = self.header("Content-Encoding") == "gzip"
        self.body = gzip.decompress(raw) if packed and raw else raw
        self.fractions = []  # known once json was read

    def header(self, name):
        values = [v for n, v in self.headers if n.lower() == name.lower()]
        assert len(values) <= 1, f"header {name} is there {len(values)} times"
        return values[0] if values else None

    @functools.cached_property
    def json(self):
        return strict_json(self.body, self.fractions)

    @property
    def error(self):
        return self.json["error"]

    @property
    def etag(self):
        return self.header("ETag")

    def __str__(self):
        return f"{self.method} {self.path[:200]} -> {self.status} {self.body[:600].decode(errors='replace')}"

    def expect(self, *statuses):
        assert self.status in statuses, f"expected {statuses}: {self}"
        return self

    def ok(self):
        return self.expect(200)

    def fails(self, status, kind=None, message=None, contains=None):
        """The error document, all three members and, where given, their exact values."""
        self.expect(status)
        if self.method == "HEAD":
            return None
        error = self.error
        if kind is not None:
            assert error["type"] == kind, f"expected type {kind}: {self}"
        if message is not None:
            assert error["message"] == message, f"expected {message!r}: {self}"
        if contains is not None:
            assert contains.lower() in error["message"].lower(), f"expected a text with {contains!r}: {self}"
        return error


def check_secrets(answer):
    """No answer holds a secret, but for the credentials that it is there to give."""
    text = held.without_given(answer.body) + repr(answer.headers).encode()
    assert not held.found_in(text), f"{answer.method} {answer.path[:200]} was answered {answer.status} with a secret"


def check_answer(answer):
    """What holds for every answer of the catalog."""
    text = str(answer)
    assert 200 <= answer.status < 600 and answer.status != 201, text
    assert answer.status == 304 or not 300 <= answer.status < 400, text
    assert answer.header("X-Request-ID"), text
    assert answer.header("X-Content-Type-Options") == "nosniff", text
    assert answer.header("Server") is None, text
    for name, _ in answer.headers:
        assert name.lower() != "etag" or name == "ETag", "Java finds the tag under this spelling only"
    op = operation_of(answer.method, answer.path)
    if answer.method == "HEAD" or answer.status in (204, 304):
        assert answer.raw == b"", text
        if op and answer.method == "HEAD" and op.served:
            assert str(answer.status) in op.row["responses"] or answer.status >= 400, text
        return
    kind = answer.header("Content-Type")
    if answer.status >= 400:
        assert kind == "application/json", text
        error = answer.error
        check_schema("#/components/schemas/IcebergErrorResponse", answer.json, fractions=bool(answer.fractions))
        assert error["code"] == answer.status, text
        assert error["message"] and len(error["message"].encode()) <= 2048, text
        assert "stack" not in error, text
        if answer.status in (429, 503):
            assert int(answer.header("Retry-After")) >= 1, text
        if answer.status == 405:
            assert re.fullmatch(r"[A-Z]+(, [A-Z]+)*", answer.header("Allow") or ""), text
        return
    assert op is not None and op.served, f"no such operation is described: {text}"
    if op.name in ("getDescription", "getManagementDescription"):
        assert kind == "application/yaml", text
        return
    assert kind == "application/json", text
    reference = _schema_of(op, answer.status)
    assert reference, f"the description knows no body for this: {text}"
    document = answer.json
    check_schema(reference, document, len(answer.body), fractions=bool(answer.fractions))


# --- names in paths -----------------------------------------------------------------


def enc(name):
    """As PyIceberg, Rust and DuckDB write a name."""
    return urllib.parse.quote(name, safe="")


def enc_java(name):
    """As Java's URLEncoder writes it: a space is a plus."""
    return urllib.parse.quote_plus(name, safe="*").replace("~", "%7E")


def levels_of(ns):
    return [ns] if isinstance(ns, str) else list(ns)


def ns_path(ns, how=enc, separator="%1F"):
    return "/v1/namespaces/" + separator.join(how(level) for level in levels_of(ns))


def table_path(ns, name, how=enc):
    return f"{ns_path(ns, how)}/tables/{how(name)}"


def view_path(ns, name, how=enc):
    return f"{ns_path(ns, how)}/views/{how(name)}"


# --- bodies ---------------------------------------------------------------------------


def field(number, name, kind="long", required=False, **more):
    return {"id": number, "name": name, "required": required, "type": kind} | more


def struct(*fields, schema_id=0, **more):
    return {"type": "struct", "schema-id": schema_id, "fields": list(fields)} | more


def simple():
    return struct(field(1, "id"), field(2, "data", "string"))


def spec(*fields, spec_id=0):
    return {"spec-id": spec_id, "fields": [
        {"name": name, "transform": transform, "source-id": source} | ({"field-id": number} if number else {})
        for name, transform, source, number in fields]}


def order(*fields, order_id=1):
    return {"order-id": order_id, "fields": [
        {"transform": transform, "source-id": source, "direction": direction, "null-order": nulls}
        for transform, source, direction, nulls in fields]}


def now_ms():
    return int(time.time() * 1000)


def snapshot(number, sequence=None, parent=None, location="s3://b/t", **more):
    found = {"snapshot-id": number, "timestamp-ms": now_ms(), "summary": {"operation": "append"},
             "manifest-list": f"{location}/metadata/snap-{number}.avro", "schema-id": 0}
    if sequence is not None:
        found["sequence-number"] = sequence
    if parent is not None:
        found["parent-snapshot-id"] = parent
    found |= more
    return {k: v for k, v in found.items() if v is not ...}


def add_snapshot(*args, **more):
    return {"action": "add-snapshot", "snapshot": snapshot(*args, **more)}


def set_ref(name, number, kind="branch", **more):
    return {"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": number} | more


def set_properties(**values):
    return {"action": "set-properties", "updates": {k.replace("__", "."): v for k, v in values.items()}}


def assert_ref(number=None, ref="main"):
    return {"type": "assert-ref-snapshot-id", "ref": ref, "snapshot-id": number}


def assert_uuid(uuid):
    return {"type": "assert-table-uuid", "uuid": uuid}


def representation(text="SELECT 1", dialect="spark"):
    return {"type": "sql", "sql": text, "dialect": dialect}


def view_version(*representations, number=1, schema=0, ms=1700000000000, **more):
    return {"version-id": number, "timestamp-ms": ms, "schema-id": schema, "summary": {"engine-name": "Spark"},
            "default-namespace": ["a"], "representations": list(representations or [representation()])} | more


def replace_version(*representations, **more):
    """What a client sends for another text: a version, made the current one."""
    return [{"action": "add-view-version", "view-version": view_version(*representations, **more)},
            {"action": "set-current-view-version", "view-version-id": -1}]


def create_updates(metadata, version=2):
    """What a client commits after a staged create."""
    first = metadata["sort-orders"][0]
    return [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": version},
        {"action": "add-schema", "schema": metadata["schemas"][0], "last-column-id": metadata["last-column-id"]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": first},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
        {"action": "set-properties", "updates": metadata.get("properties", {})},
    ]


# --- the client -------------------------------------------------------------------------


class Api:
    """Requests to one server. Each thread has a connection of its own, kept open."""

    def __init__(self, server):
        self.server = server
        self._local = threading.local()

    @property
    def store(self):
        return self.server.store

    def _connection(self):
        key = (self.server.address, self.server.process and self.server.process.pid)
        if getattr(self._local, "key", None) != key:
            self.close()
            host, port = self.server.host_port
            self._local.connection = http.client.HTTPConnection(host, port, timeout=60 * SLOWNESS)
            self._local.key = key
        return self._local.connection

    def close(self):
        connection = getattr(self._local, "connection", None)
        if connection:
            connection.close()
        self._local.connection = self._local.key = None

    def request(self, method, path, body=None, headers=None, check=True):
        """`body`: bytes as they are, anything else as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self._connection()
        try:
            connection.putrequest(method, path, skip_accept_encoding=True,
                                  skip_host="Host" in headers)
            if body is not None and "Content-Length" not in headers:
                headers["Content-Length"] = str(len(body))
            elif method == "POST" and body is None:
                headers["Content-Length"] = "0"
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            got = connection.getresponse()
            raw = got.read()
        except BaseException:
            self.close()
            raise
        answer = Answer(method, path, got.status, got.getheaders(), raw)
        check_secrets(answer)
        if check:
            check_answer(answer)
        return answer

    def get(self, path, **headers):
        return self.request("GET", path, headers=_headers(headers))

    def head(self, path, **headers):
        return self.request("HEAD", path, headers=_headers(headers))

    def delete(self, path, **headers):
        return self.request("DELETE", path, headers=_headers(headers))

    def post(self, path, body=None, **headers):
        return self.request("POST", path, body, _headers(headers))

    # -- operations --

    def new_name(self, word="n"):
        return f"{word}{next(_numbers)}_{secrets.token_hex(3)}"

    def create_namespace(self, ns, properties=None):
        body = {"namespace": levels_of(ns)}
        if properties is not None:
            body["properties"] = properties
        return self.post("/v1/namespaces", body)

    def new_namespace(self, properties=None):
        ns = self.new_name()
        self.create_namespace(ns, properties).ok()
        return ns

    def list_namespaces(self, query=""):
        return self.get("/v1/namespaces" + query)

    def create(self, ns, name, schema=None, **members):
        body = {"name": name, "schema": schema or simple()} | {k.replace("_", "-"): v for k, v in members.items()}
        return self.post(f"{ns_path(ns)}/tables", body)

    def table(self, ns, name=None, schema=None, **members):
        """A new table, ready to be committed to."""
        name = name or self.new_name("t")
        self.create(ns, name, schema, **members).ok()
        return Table(self, ns, name)

    def load(self, ns, name, query="", **headers):
        return self.get(table_path(ns, name) + query, **headers)

    def commit(self, ns, name, updates, requirements=()):
        return self.post(table_path(ns, name), {"requirements": list(requirements), "updates": list(updates)})

    def drop(self, ns, name, query=""):
        return self.delete(table_path(ns, name) + query)

    def exists(self, ns, name):
        return self.head(table_path(ns, name)).expect(204, 404).status == 204

    def names(self, ns):
        listed = self.get(f"{ns_path(ns)}/tables").ok().json["identifiers"]
        assert all(i["namespace"] == levels_of(ns) for i in listed)
        return [i["name"] for i in listed]

    def rename(self, source, destination):
        both = [{"namespace": levels_of(ns), "name": name} for ns, name in (source, destination)]
        return self.post("/v1/tables/rename", {"source": both[0], "destination": both[1]})

    # -- views --

    def create_view(self, ns, name, version=None, schema=None, **members):
        body = {"name": name, "schema": schema or simple(), "view-version": version or view_version()} | members
        return self.post(f"{ns_path(ns)}/views", body)

    def load_view(self, ns, name, **headers):
        return self.get(view_path(ns, name), **headers)

    def replace_view(self, ns, name, updates, requirements=()):
        return self.post(view_path(ns, name), {"requirements": list(requirements), "updates": list(updates)})

    def drop_view(self, ns, name):
        return self.delete(view_path(ns, name))

    def view_names(self, ns):
        listed = self.get(f"{ns_path(ns)}/views").ok().json["identifiers"]
        assert all(i["namespace"] == levels_of(ns) for i in listed)
        return [i["name"] for i in listed]

    def rename_view(self, source, destination):
        both = [{"namespace": levels_of(ns), "name": name} for ns, name in (source, destination)]
        return self.post("/v1/views/rename", {"source": both[0], "destination": both[1]})

    def register_view(self, ns, name, location):
        return self.post(f"{ns_path(ns)}/register-view", {"name": name, "metadata-location": location})

    # -- tables --

    def register(self, ns, name, location, **more):
        return self.post(f"{ns_path(ns)}/register", {"name": name, "metadata-location": location} | more)


def _headers(given):
    return {name.replace("_", "-"): value for name, value in given.items()}


class Table:
    """A table by its name; every look loads it anew."""

    def __init__(self, api, ns, name):
        self.api, self.ns, self.name = api, ns, name
        self.path = table_path(ns, name)

    def load(self, query="", **headers):
        return self.api.load(self.ns, self.name, query, **headers)

    @property
    def loaded(self):
        return self.load().ok().json

    @property
    def metadata(self):
        return self.loaded["metadata"]

    @property
    def metadata_location(self):
        return self.loaded["metadata-location"]

    @functools.cached_property
    def location(self):
        return self.metadata["location"]

    @functools.cached_property
    def uuid(self):
        return self.metadata["table-uuid"]

    def commit(self, *updates, requirements=()):
        return self.api.commit(self.ns, self.name, updates, requirements)

    def apply(self, *updates, requirements=()):
        """A commit that must succeed: the new metadata."""
        return self.commit(*updates, requirements=requirements).ok().json["metadata"]

    def touch(self):
        """A commit like any other: it needs the store."""
        self.commit(set_properties(at=str(time.time()))).ok()

    def append(self, number, sequence, parent=None, **more):
        """A snapshot on main, asserted as clients do."""
        return self.apply(add_snapshot(number, sequence, parent, self.location, **more), set_ref("main", number),
                          requirements=[assert_uuid(self.uuid), assert_ref(parent)])


def begin(firn, env):
    """Starts a server with more settings; a client of it, and a table."""
    firn.extra.update(env)
    firn.start()
    api = Api(firn)
    return api, api.table(api.new_namespace())


def eventually(check, seconds=60):
    """Waits until it holds."""
    deadline = time.monotonic() + seconds * SLOWNESS
    while not check():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def _patiently(work, i):
    """A server that has waited for its database and then refuses for now, on a busy machine, is asked again, as by any
    client: nothing was done."""
    while True:
        begun = time.monotonic()
        result = work(i)
        if not (isinstance(result, Answer) and result.status in (429, 503) and time.monotonic() - begun > 1):
            return result


def in_parallel(n, work, *, start_together=True):
    """Runs work(0) … work(n-1) in threads at once; their results in order, the first failure raised."""
    results, errors = [None] * n, []
    gate = threading.Barrier(n) if start_together else None

    def one(i):
        try:
            if gate:
                gate.wait(60)
            results[i] = _patiently(work, i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
