"""Runs the rows of matrix_rows.py: one requirement or update, one format version, one base state,
and what must come of it. tests/api/test_matrix.py judges by the table, tests/clients/matrix by what
Java and PyIceberg make of the same documents."""

import dataclasses
import itertools
import typing

from firn_client import (add_snapshot, field, order, set_properties, set_ref, simple, spec, struct, table_path,
                         view_path)

GONE = object()  # stands for a member that is no longer there


@dataclasses.dataclass(frozen=True)
class Row:
    subject: str  # type of the requirement, action of the update
    what: str
    updates: typing.Any = ()
    requirements: typing.Any = ()
    base: str = "rich"
    versions: tuple = (1, 2, 3)
    changes: typing.Any = None  # members of the metadata and what becomes of them; None: refused
    refused: typing.Any = None  # status, type, message
    java: str = ""  # why the Java library answers differently
    unread_java: str = ""  # why the Java library reads the result otherwise
    pyiceberg: str = ""  # why PyIceberg does


@dataclasses.dataclass
class Given:
    """What the values of a row may be computed from: they are functions of this, or plain."""

    version: int
    base: dict | None
    got: dict | None = None
    location: str = ""


def resolved(value, given):
    if callable(value):
        return resolved(value(given), given)
    if isinstance(value, dict):
        return {k: resolved(v, given) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolved(v, given) for v in value]
    return value


# --- values that depend on the state -------------------------------------------------------------


def old(member):
    return lambda g: g.base[member]


def plus(member, *more):
    """The list as it was, and these after it."""
    return lambda g: g.base.get(member, []) + list(more)


def without(member, key, *ids):
    """The list as it was, but for the elements with these ids."""
    return lambda g: [e for e in g.base[member] if e[key] not in ids]


def by_version(**cases):
    """by_version(v1=…, v2=…, v3=…)"""
    return lambda g: cases[f"v{g.version}"]


# --- base states -----------------------------------------------------------------------------------

ID_BUCKET = ("id_bucket", "bucket[4]", 1, 1000)
BY_ID = ("identity", 1, "asc", "nulls-first")
MORE = struct(*simple()["fields"], field(3, "more", "int"), schema_id=1)
KEY = {"key-id": "k1", "encrypted-key-metadata": "aGVsbG8=", "encrypted-by-id": "root", "properties": {"a": "b"}}


def within(name):
    """The place of a file of the table's."""
    return name and (lambda g: f"{g.base['location']}/metadata/{name}")


def statistics(number, name="x.puffin"):
    return {"snapshot-id": number, "statistics-path": within(name), "file-size-in-bytes": 413, "file-footer-size-in-bytes": 42,
            "blob-metadata": [{"type": "apache-datasketches-theta-v1", "snapshot-id": number, "sequence-number": 1,
                               "fields": [1], "properties": {"ndv": "3"}}]}


def partition_statistics(number, name="p.parquet"):
    return {"snapshot-id": number, "statistics-path": within(name), "file-size-in-bytes": 43}


def snap(number, sequence, parent=None, first_row=None, rows=5, **more):
    """add-snapshot with the members that the format version wants."""
    def made(g):
        members = {}
        if g.version >= 3 and first_row is not None:
            members = {"first-row-id": first_row, "added-rows": rows}
        return add_snapshot(number, sequence if g.version >= 2 else None, parent, g.base["location"], **members, **more)
    return made


# The tables of the rows. `rich`: snapshots 11 (tag t1, branch b1), 12 (main), 13 (nobody's).
FIRST_COMMIT = [
    {"action": "add-schema", "schema": MORE}, {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": spec(ID_BUCKET)}, {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": order(BY_ID)}, {"action": "set-default-sort-order", "sort-order-id": -1},
    snap(11, 1, None, 0), set_ref("main", 11), set_properties(a="1", b="2")]
SECOND_COMMIT = [
    snap(12, 2, 11, 5), set_ref("main", 12), snap(13, 3, 12, 10), set_ref("t1", 11, "tag"),
    set_ref("b1", 11, **{"min-snapshots-to-keep": 3, "max-snapshot-age-ms": 7, "max-ref-age-ms": 9}),
    {"action": "set-statistics", "statistics": statistics(11)},
    {"action": "set-partition-statistics", "partition-statistics": partition_statistics(11)},
    lambda g: {"action": "add-encryption-key", "encryption-key": KEY} if g.version == 3 else set_properties(a="1")]
# The ids are those that the server gives: a struct's own fields first.
NESTED = struct(
    field(1, "id"), field(2, "s", {"type": "struct", "fields": [field(14, "in", "int", True)]}),
    field(3, "l", {"type": "list", "element-id": 15, "element": "int", "element-required": False}),
    field(4, "m", {"type": "map", "key-id": 16, "key": "string", "value-id": 17, "value": "int",
                   "value-required": True}),
    field(5, "n", "int", True), field(6, "f", "float", True), field(7, "day", "date"), field(8, "ts", "timestamp"),
    field(9, "text", "string"), field(10, "dec", "decimal(9, 2)"), field(11, "u", "uuid"), field(12, "bin", "binary"),
    field(13, "flag", "boolean"))
COLUMNS = {f["name"]: f["id"] for f in NESTED["fields"]} | {"s.in": 14, "l.element": 15, "m.key": 16, "m.value": 17}

BASES = {
    # schema, commits
    "fresh": (simple(), []),
    "rich": (simple(), [FIRST_COMMIT, SECOND_COMMIT]),
    "nested": (NESTED, []),
}
# With and without the view's own property; version 1 says spark, version 2 spark and trino.
VIEW_BASES = {"view": {}, "free-view": {"replace.drop-dialect.allowed": "true"},
              "short-view": {"version.history.num-entries": "1"}}


class Play:
    """Rows against one server; tables that rows leave as they were are used again."""

    def __init__(self, api):
        self.api, self.ns = api, api.new_namespace()
        self.kept = {}

    def path(self, row, name):
        return view_path(self.ns, name) if row.base in VIEW_BASES else table_path(self.ns, name)

    def make(self, row, version):
        name = self.api.new_name("t")
        if row.base == "absent":
            staged = self.api.create(self.ns, name, stage_create=True, properties={"format-version": str(version)})
            return name, staged.ok().json
        if row.base in VIEW_BASES:
            return name, self.make_view(name, VIEW_BASES[row.base])
        schema, commits = BASES[row.base]
        loaded = self.api.create(self.ns, name, schema, properties={"format-version": str(version)}).ok().json
        for updates in commits:
            given = Given(version, loaded["metadata"])
            loaded = self.api.commit(self.ns, name, resolved(updates, given)).ok().json
        return name, {k: loaded[k] for k in ("metadata-location", "metadata")}

    def make_view(self, name, properties):
        import matrix_rows
        self.api.create_view(self.ns, name, matrix_rows.VERSION, properties={"a": "1"} | properties).ok()
        loaded = self.api.replace_view(self.ns, name, matrix_rows.TO_SECOND_VERSION).ok().json
        return {k: loaded[k] for k in ("metadata-location", "metadata")}

    def base(self, row, version):
        """A table for this row: its name, location and metadata."""
        if row.base == "absent" or row.changes and row.base in VIEW_BASES:
            return self.make(row, version)
        key = row.base, version
        if key not in self.kept:
            self.kept[key] = self.make(row, version)
        return self.kept[key]

    def run(self, row, version):
        name, loaded = self.base(row, version)
        given = Given(version, loaded["metadata"], location=loaded.get("metadata-location"))
        body = {"requirements": resolved(row.requirements, given), "updates": resolved(row.updates, given)}
        answer = self.api.post(self.path(row, name), body)
        done = Done(row, version, name, given, body, answer)
        if answer.status == 200:
            given.got = answer.json["metadata"]
        done.after = self.api.get(self.path(row, name))
        if row.base not in (*VIEW_BASES, "absent"):
            self.back(row, version, done)
        return done

    def back(self, row, version, done):
        """Puts a table that was changed back to what it was: cheaper than making another."""
        if done.after.status == 200 and done.after.json["metadata-location"] == done.given.location:
            return
        if self.api.register(self.ns, done.name, done.given.location, overwrite=True).status != 200:
            self.kept.pop((row.base, version))


@dataclasses.dataclass
class Done:
    row: Row
    version: int
    name: str
    given: Given
    body: dict
    answer: typing.Any
    after: typing.Any = None


def expected(done):
    """The metadata that the row promises."""
    given, row = done.given, done.row
    base = {} if row.base == "absent" else dict(given.base)
    for member, value in resolved(row.changes, given).items():
        if value is GONE:
            base.pop(member, None)
        else:
            base[member] = value
    if row.base in VIEW_BASES:
        return base
    base["last-updated-ms"] = given.got["last-updated-ms"]
    if row.base != "absent":
        base["metadata-log"] = given.base["metadata-log"] + [
            {"timestamp-ms": given.base["last-updated-ms"], "metadata-file": given.location}]
    return base | for_old_readers(base)


def for_old_readers(metadata):
    """What format version 1 says twice."""
    if metadata["format-version"] != 1:
        return {}
    schema = [s for s in metadata["schemas"] if s["schema-id"] == metadata["current-schema-id"]]
    fields = [s["fields"] for s in metadata["partition-specs"] if s["spec-id"] == metadata["default-spec-id"]]
    return {"schema": schema[0], "partition-spec": fields[0]}


def cases(rows):
    return list(itertools.chain.from_iterable(((row, v) for v in row.versions) for row in rows))


def name_of(case):
    row, version = case
    kind = "view" if row.base in VIEW_BASES else f"v{version}"
    return f"{row.subject}-{row.what}-{kind}".replace(" ", "_")
