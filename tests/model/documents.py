"""What a table's and a view's document are, and what updates make of them: plain dicts, no text, no
index, no cache. Written from the protocol, not from the server.

A document here holds what the server's answers hold, without what only a clock knows: no
last-updated-ms, logs without times, and every member there in every format version."""

import copy

PRIMITIVE = {"boolean", "int", "long", "float", "double", "date", "string", "timestamp", "timestamp_ns", "variant"}
SINCE_3 = {"timestamp_ns", "variant"}
TAKES = {
    "bucket": {"int", "long", "date", "string", "timestamp", "timestamp_ns"},
    "truncate": {"int", "long", "string"},
    "year": {"date", "timestamp", "timestamp_ns"},
    "day": {"date", "timestamp", "timestamp_ns"},
    "hour": {"timestamp", "timestamp_ns"},
    "identity": PRIMITIVE - {"variant"},
}
RESERVED = {"format-version", "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
            "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order"}


class Refused(Exception):
    """An answer that is no success: its status and the types that are right for it."""

    def __init__(self, status, *types):
        super().__init__(status, *types)
        self.status, self.types = status, types


ARGUMENT, VALIDATION = "IllegalArgumentException", "ValidationException"


def need(condition, *types):
    if not condition:
        raise Refused(400, *types)


def requires(condition):
    if not condition:
        raise Refused(409, "CommitFailedException")


# --- schemas, specs, orders -------------------------------------------------------------


def nested(kind):
    """The fields inside a type that have ids: (member of the id, type)."""
    if isinstance(kind, str):
        return []
    if kind["type"] == "list":
        return [(kind, "element-id", kind["element"])]
    if kind["type"] == "struct":
        return [(f, "id", f["type"]) for f in kind["fields"]]
    raise ValueError(kind)


def all_ids(schema):
    found, todo = [], [schema]
    while todo:
        for owner, member, kind in nested(todo.pop()):
            found.append(owner[member])
            todo.append(kind)
    return found


def has_type(schema, kinds):
    todo = [schema]
    while todo:
        for _, _, kind in nested(todo.pop()):
            if kind in kinds if isinstance(kind, str) else False:
                return True
            todo.append(kind)
    return False


def fresh(schema):
    """With ids counted from 1, level by level; also old id -> new id."""
    schema = copy.deepcopy(schema)
    schema["schema-id"] = 0
    ids = {}

    def visit(kind):
        inside = nested(kind)
        for owner, member, _ in inside:
            ids[owner[member]] = owner[member] = len(ids) + 1
        for _, _, inner in inside:
            visit(inner)

    visit(schema)
    if schema.get("identifier-field-ids"):
        schema["identifier-field-ids"] = [ids[i] for i in schema["identifier-field-ids"]]
    return stored_schema(schema, 0), ids


def stored_schema(schema, number):
    out = {k: v for k, v in schema.items() if k != "identifier-field-ids" or v}
    return copy.deepcopy(out) | {"schema-id": number}


def same_schema(a, b):
    return a["fields"] == b["fields"] and \
        set(a.get("identifier-field-ids") or ()) == set(b.get("identifier-field-ids") or ())


def check_versions(schema, version):
    need(version >= 3 or not has_type(schema, SINCE_3), ARGUMENT, VALIDATION)


def bound(field, columns):
    """Does a partition or sort field fit the columns?"""
    kind = columns.get(field["source-id"])
    word = field["transform"].split("[")[0]
    return isinstance(kind, str) and kind in TAKES[word]


def columns_of(schema):
    return {f["id"]: f["type"] for f in schema["fields"]}


def check_columns(spec, schema):
    """No field has the name of a column that is not its source, unless the source is gone."""
    by_name, ids = {f["name"]: f["id"] for f in schema["fields"]}, all_ids(schema)
    for f in spec["fields"]:
        need(f["source-id"] not in ids or by_name.get(f["name"], f["source-id"]) == f["source-id"], ARGUMENT)


def check_spec(spec, schema):
    names, ids = [f["name"] for f in spec["fields"]], [f["field-id"] for f in spec["fields"] if "field-id" in f]
    check_columns(spec, schema)
    need(len(set(names)) == len(names) and len(set(ids)) == len(ids), ARGUMENT)
    for f in spec["fields"]:
        need(f["transform"] == "void" or bound(f, columns_of(schema)), VALIDATION)


def check_order(order, schema):
    for f in order["fields"]:
        need(bound(f, columns_of(schema)), VALIDATION)


def what_a_spec_says(spec):
    return [(f["source-id"], f["transform"], f["name"]) for f in spec["fields"]]


def highest_field(spec):
    return max([999] + [f["field-id"] for f in spec["fields"]])


# --- tables ----------------------------------------------------------------------------


def empty_table(version):
    return {
        "format-version": version, "table-uuid": None, "location": None, "last-sequence-number": 0,
        "last-column-id": 0, "current-schema-id": 0, "schemas": [], "default-spec-id": 0,
        "partition-specs": [], "last-partition-id": 0, "default-sort-order-id": 0, "sort-orders": [],
        "properties": {}, "current-snapshot-id": None, "next-row-id": 0, "encryption-keys": [], "refs": {},
        "snapshots": [], "statistics": [], "partition-statistics": [], "snapshot-log": [], "metadata-log": [],
    }


def by_id(parts, member, number):
    return next((p for p in parts if p[member] == number), None)


def stripped(request):
    return request["location"].rstrip("/") if request.get("location") else None


def new_table(request):
    """What createTable makes; uuid and location are the server's to choose."""
    properties = request.get("properties") or {}
    table = empty_table(int(properties.get("format-version", "2")))
    schema = request["schema"]
    check_versions(schema, table["format-version"])
    stored, ids = fresh(schema)
    spec = copy.deepcopy(request.get("partition-spec") or {"fields": []})
    for i, f in enumerate(spec["fields"]):
        f["field-id"] = 1000 + i
    check_spec(spec, schema)
    order = copy.deepcopy(request.get("write-order") or {"fields": []})
    check_order(order, schema)
    for f in spec["fields"] + order["fields"]:
        f["source-id"] = ids.get(f["source-id"], f["source-id"])
    number = 1 if order["fields"] else 0
    table |= {
        "schemas": [stored], "last-column-id": len(ids), "location": stripped(request),
        "partition-specs": [{"spec-id": 0, "fields": spec["fields"]}], "last-partition-id": highest_field(spec),
        "sort-orders": [{"order-id": number, "fields": order["fields"]}], "default-sort-order-id": number,
        "properties": {"write.parquet.compression-codec": "zstd"} | {
            k: v for k, v in properties.items() if k not in RESERVED},
    }
    return table


def copy_of(document):
    """A document whose members may be changed; what they hold is replaced, never changed."""
    return {k: list(v) if isinstance(v, list) else dict(v) if isinstance(v, dict) else v
            for k, v in document.items()}


class Draft:
    """A document while a commit's updates are applied to it."""

    def __init__(self, document):
        self.t = copy_of(document)
        self.changed = False
        self.last = {"schema": None, "spec": None, "order": None, "version": None}
        self.guess = {}
        self.added = set()
        self.on_main = []
        self.removed = False
        self.named = []  # files that the updates bring in
        self.line = None

    def apply(self, updates):
        for update in updates or ():
            getattr(self, update["action"].replace("-", "_"))(update)

    def meant(self, kind, given, parts, member):
        """The id that -1, or an id that the client expected, stands for."""
        if given == -1:
            need(self.last[kind] is not None, VALIDATION)
            return self.last[kind]
        if by_id(parts, member, given) is None:
            return self.guess.get((kind, given), given)
        return given

    def name(self, kind, said, number):
        self.last[kind] = number
        if said is not None and said != number:
            self.guess[kind, said] = number

    # -- small members --

    def assign_uuid(self, u):
        if (self.t["table-uuid"] or "").lower() == u["uuid"].lower():
            return
        need(self.t["table-uuid"] is None, ARGUMENT)
        self.t["table-uuid"] = u["uuid"]
        self.changed = True

    def upgrade_format_version(self, u):
        now, version = self.t["format-version"], u["format-version"]
        need(now <= version <= 3, ARGUMENT)
        if version == 3 and now < 3:
            self.t["next-row-id"] = 0
        self.set("format-version", version)

    def set(self, member, value):
        if self.t[member] != value:
            self.t[member] = value
            self.changed = True

    def set_location(self, u):
        self.set("location", u["location"].rstrip("/"))

    def set_properties(self, u):
        new = {k: v for k, v in u["updates"].items() if k not in RESERVED or "view-uuid" in self.t}
        self.t["properties"].update(new)
        self.changed |= bool(new)

    def remove_properties(self, u):
        for key in u["removals"]:
            self.t["properties"].pop(key, None)
        self.changed |= bool(u["removals"])

    def add_encryption_key(self, u):
        key = u["encryption-key"]
        if by_id(self.t["encryption-keys"], "key-id", key["key-id"]) is None:
            self.t["encryption-keys"].append(key)
            self.changed = True

    def remove_encryption_key(self, u):
        self.without("encryption-keys", "key-id", {u["key-id"]})

    def without(self, member, key, ids):
        kept = [p for p in self.t[member] if p[key] not in ids]
        self.set(member, kept)

    # -- schemas, specs, orders --

    def add_schema(self, u):
        schema = u["schema"]
        check_versions(schema, self.t["format-version"])
        self.put_schema(schema)
        last = max([self.t["last-column-id"], *all_ids(schema)])
        self.set("last-column-id", last)

    def put_schema(self, schema):
        all_ = self.t["schemas"]
        found = next((s for s in all_ if same_schema(s, schema)), None)
        number = found["schema-id"] if found else max(
            [self.t.get("current-schema-id", 0)] + [s["schema-id"] + 1 for s in all_])
        if not found:
            all_.append(stored_schema(schema, number))
            self.changed = True
        self.name("schema", schema.get("schema-id"), number)
        return not found

    def set_current_schema(self, u):
        number = self.meant("schema", u["schema-id"], self.t["schemas"], "schema-id")
        if number != self.t["current-schema-id"]:
            need(by_id(self.t["schemas"], "schema-id", number) is not None, ARGUMENT)
            self.set("current-schema-id", number)

    def current_schema(self):
        return by_id(self.t["schemas"], "schema-id", self.t["current-schema-id"])

    def add_spec(self, u):
        spec = copy.deepcopy(u["spec"])
        fields = spec["fields"]
        missing = [f for f in fields if "field-id" not in f]
        need(len(missing) in (0, len(fields)), ARGUMENT)
        if missing:
            self.give_field_ids(fields)
        if fields:
            check_spec(spec, self.current_schema())
        same = next((s for s in self.t["partition-specs"] if what_a_spec_says(s) == what_a_spec_says(spec)), None)
        if same:
            number = same["spec-id"]
        else:
            if self.t["format-version"] == 1:
                need([f["field-id"] for f in fields] == [1000 + i for i in range(len(fields))], VALIDATION)
            number = max([0] + [s["spec-id"] + 1 for s in self.t["partition-specs"]])
            self.t["partition-specs"].append({"spec-id": number, "fields": fields})
            self.t["last-partition-id"] = max(self.t["last-partition-id"], highest_field(spec))
            self.changed = True
        self.name("spec", u["spec"].get("spec-id"), number)

    def give_field_ids(self, fields):
        """A field keeps its id over all specs; in v1 they are counted."""
        known = {}
        for spec in self.t["partition-specs"]:
            for f in reversed(spec["fields"]):
                known[f["source-id"], f["transform"]] = f["field-id"]
        following = max(self.t["last-partition-id"], 999)
        taken = set()
        for i, f in enumerate(fields):
            number = 1000 + i if self.t["format-version"] == 1 else known.get((f["source-id"], f["transform"]))
            if number is None or number in taken:
                following += 1
                number = following
            taken.add(number)
            f["field-id"] = number

    def set_default_spec(self, u):
        number = self.meant("spec", u["spec-id"], self.t["partition-specs"], "spec-id")
        if number != self.t["default-spec-id"]:
            need(by_id(self.t["partition-specs"], "spec-id", number) is not None, ARGUMENT)
            self.set("default-spec-id", number)

    def add_sort_order(self, u):
        order = u["sort-order"]
        need((order["order-id"] == 0) == (not order["fields"]), ARGUMENT)
        if order["fields"]:
            check_order(order, self.current_schema())
        same = next((o for o in self.t["sort-orders"] if o["fields"] == order["fields"]), None)
        if same:
            number = same["order-id"]
        else:
            number = max([1] + [o["order-id"] + 1 for o in self.t["sort-orders"]]) if order["fields"] else 0
            self.t["sort-orders"].append({"order-id": number, "fields": order["fields"]})
            self.changed = True
        self.name("order", order["order-id"], number)

    def set_default_sort_order(self, u):
        number = self.meant("order", u["sort-order-id"], self.t["sort-orders"], "order-id")
        if number != self.t["default-sort-order-id"]:
            need(by_id(self.t["sort-orders"], "order-id", number) is not None, ARGUMENT)
            self.set("default-sort-order-id", number)

    def remove_partition_specs(self, u):
        need(self.t["default-spec-id"] not in u["spec-ids"], ARGUMENT)
        self.without("partition-specs", "spec-id", u["spec-ids"])
        self.changed |= bool(u["spec-ids"])

    def remove_schemas(self, u):
        need(self.t["current-schema-id"] not in u["schema-ids"], ARGUMENT)
        self.without("schemas", "schema-id", u["schema-ids"])
        self.changed |= bool(u["schema-ids"])

    # -- snapshots --

    def add_snapshot(self, u):
        s, t = u["snapshot"], self.t
        need(by_id(t["snapshots"], "snapshot-id", s["snapshot-id"]) is None, VALIDATION)
        number, first = s.get("sequence-number", 0), s.get("first-row-id")
        if t["format-version"] == 1:
            need(number == 0, VALIDATION)
        elif "parent-snapshot-id" in s:
            requires(number > t["last-sequence-number"])
        if t["format-version"] == 3:
            need(first is not None, VALIDATION)
            requires(first >= t["next-row-id"])
            t["next-row-id"] = first + s["added-rows"]
        self.named.append(s["manifest-list"])
        t["last-sequence-number"] = max(t["last-sequence-number"], number)
        t["snapshots"].append({k: v for k, v in s.items() if k != "sequence-number" or v})
        self.added.add(s["snapshot-id"])
        self.changed = True

    def set_snapshot_ref(self, u):
        name = u["ref-name"]
        ref = {k: v for k, v in u.items() if k not in ("action", "ref-name")}
        tag, number = ref["type"] == "tag", ref["snapshot-id"]
        need(not tag or not {"min-snapshots-to-keep", "max-snapshot-age-ms"} & set(ref), ARGUMENT)
        need(all(v > 0 for k, v in ref.items() if k.startswith(("min-", "max-"))), ARGUMENT)
        if self.t["refs"].get(name) == ref:
            return
        need(by_id(self.t["snapshots"], "snapshot-id", number) is not None, VALIDATION)
        if name == "main":
            need(not tag, VALIDATION)
            self.t["current-snapshot-id"] = number
            self.t["snapshot-log"].append(number)
            self.on_main.append(number)
        self.t["refs"][name] = ref
        self.changed = True

    def remove_snapshot_ref(self, u):
        self.drop_refs([u["ref-name"]])

    def drop_refs(self, names):
        for name in names:
            if self.t["refs"].pop(name, None):
                self.changed = True
                if name == "main":
                    self.t["current-snapshot-id"] = None

    def remove_snapshots(self, u):
        gone = {s["snapshot-id"] for s in self.t["snapshots"]} & set(u["snapshot-ids"])
        if gone:
            for member in ("snapshots", "statistics", "partition-statistics"):
                self.without(member, "snapshot-id", gone)
            self.drop_refs([n for n, r in self.t["refs"].items() if r["snapshot-id"] in gone])
            self.removed = True

    def check_named(self, *locations):
        """Each lies in the table's location, as it was or as it will be."""
        need(all(any(uri.startswith(f"{place}/") for place in locations) for uri in self.named), ARGUMENT)

    def put_statistics(self, member, entry):
        self.named.append(entry["statistics-path"])
        for i, old in enumerate(self.t[member]):
            if old["snapshot-id"] == entry["snapshot-id"]:
                self.t[member][i] = entry
                break
        else:
            self.t[member].append(entry)
        self.changed = True

    def set_statistics(self, u):
        self.put_statistics("statistics", u["statistics"])

    def set_partition_statistics(self, u):
        self.put_statistics("partition-statistics", u["partition-statistics"])

    def remove_statistics(self, u):
        self.without("statistics", "snapshot-id", {u["snapshot-id"]})

    def remove_partition_statistics(self, u):
        self.without("partition-statistics", "snapshot-id", {u["snapshot-id"]})

    # -- the end --

    def check_bindings(self):
        schema = self.current_schema()
        check_spec(by_id(self.t["partition-specs"], "spec-id", self.t["default-spec-id"]), schema)
        for spec in self.t["partition-specs"]:
            check_columns(spec, schema)
        check_order(by_id(self.t["sort-orders"], "order-id", self.t["default-sort-order-id"]), schema)

    def correct_log(self):
        """Snapshots that were current only in between leave no trace; history has no gap."""
        t = self.t
        between = {s for s in self.on_main if s in self.added and s != t["current-snapshot-id"]}
        if not (between or self.removed) or not t["snapshot-log"]:
            return
        exist, log = {s["snapshot-id"] for s in t["snapshots"]}, []
        for number in t["snapshot-log"]:
            if number not in exist:
                log = [] if self.removed else log
            elif number not in between:
                log.append(number)
        t["snapshot-log"] = log
        need(t["current-snapshot-id"] is None or log[-1:] == [t["current-snapshot-id"]], VALIDATION)

    def finish(self):
        self.check_bindings()
        self.correct_log()

    def log_base(self, file):
        """The file that is replaced joins the log; the oldest leave."""
        keep = max(1, int(self.t["properties"].get("write.metadata.previous-versions-max", "100")))
        self.t["metadata-log"] = [*self.t["metadata-log"], file][-keep:]

    def complete(self):
        t = self.t
        need(t["schemas"] and t["partition-specs"] and t["sort-orders"] and t["location"], ARGUMENT)
        need(self.current_schema() is not None, ARGUMENT)
        need(by_id(t["partition-specs"], "spec-id", t["default-spec-id"]) is not None, ARGUMENT)
        need(by_id(t["sort-orders"], "order-id", t["default-sort-order-id"]) is not None, ARGUMENT)


COUNTED = {"last-assigned-field-id": "last-column-id", "last-assigned-partition-id": "last-partition-id"}


def check_requirements(table, requirements):
    for r in requirements or ():
        kind = r["type"]
        if kind == "assert-create":
            requires(False)
        elif kind == "assert-table-uuid":
            requires(r["uuid"].lower() == table["table-uuid"].lower())
        elif kind == "assert-ref-snapshot-id":
            ref, given = table["refs"].get(r["ref"]), r.get("snapshot-id")
            requires(given in (None, -1) if ref is None else given == ref["snapshot-id"])
        else:
            given = kind.removeprefix("assert-")
            requires(r[given] == table[COUNTED.get(given, given)])


def only_refs(table):
    """What refs mode shows."""
    kept = {r["snapshot-id"] for r in table["refs"].values()}
    return table | {m: [p for p in table[m] if p["snapshot-id"] in kept]
                    for m in ("snapshots", "statistics", "partition-statistics")}


# --- views ------------------------------------------------------------------------------


def dialects(version):
    return [r["dialect"].lower() for r in version["representations"]]


def check_dialects(version):
    need(len(set(dialects(version))) == len(dialects(version)), ARGUMENT)


def new_view(request):
    schema = stored_schema(request["schema"], 0)
    version = copy.deepcopy(request["view-version"]) | {"version-id": 1, "schema-id": 0}
    check_dialects(version)
    return {"view-uuid": None, "format-version": 1, "location": stripped(request),
            "properties": dict(request.get("properties") or {}), "schemas": [schema], "current-version-id": 1,
            "versions": [version], "version-log": [1]}


def what_a_version_says(version):
    return [version.get(k) for k in ("summary", "representations", "default-catalog", "default-namespace", "schema-id")]


class ViewDraft(Draft):
    def assign_uuid(self, u):
        need(self.t["view-uuid"].lower() == u["uuid"].lower(), ARGUMENT)

    def upgrade_format_version(self, u):
        need(u["format-version"] == 1, ARGUMENT)

    def add_schema(self, u):
        before = self.last["schema"]
        if not self.put_schema(u["schema"]):
            self.last["schema"] = before

    def add_view_version(self, u):
        given, versions = u["view-version"], self.t["versions"]
        number = max(1, given["version-id"])
        for v in versions:
            if what_a_version_says(v) == what_a_version_says(given):
                number = v["version-id"]
                break
            number = max(number, v["version-id"] + 1)
        if by_id(versions, "version-id", number) is not None:
            self.last["version"] = number if number in self.added else None
            return
        schema = self.meant("schema", given["schema-id"], self.t["schemas"], "schema-id")
        need(by_id(self.t["schemas"], "schema-id", schema) is not None, ARGUMENT)
        check_dialects(given)
        versions.append(copy.deepcopy(given) | {"version-id": number, "schema-id": schema})
        self.added.add(number)
        self.last["version"] = number
        self.changed = True

    def set_current_view_version(self, u):
        number = self.meant("version", u["view-version-id"], self.t["versions"], "version-id")
        if number != self.t["current-version-id"]:
            need(by_id(self.t["versions"], "version-id", number) is not None, ARGUMENT)
            self.set("current-version-id", number)
            self.line = number

    def finish(self, before):
        t, properties = self.t, self.t["properties"]
        if t["current-version-id"] != before["current-version-id"] and \
                properties.get("replace.drop-dialect.allowed") != "true":
            old = by_id(before["versions"], "version-id", before["current-version-id"])
            new = by_id(t["versions"], "version-id", t["current-version-id"])
            need(set(dialects(old)) <= set(dialects(new)), ARGUMENT)
        number = int(properties.get("version.history.num-entries", "10"))
        need(number > 0, ARGUMENT)
        if self.line is not None:
            t["version-log"].append(self.line)
        self.trim(max(number, len(self.added | {t["current-version-id"]})))

    def trim(self, keep):
        t = self.t
        if len(t["versions"]) <= keep:
            return
        others = sorted({v["version-id"] for v in t["versions"]} - {t["current-version-id"]}, reverse=True)
        kept = {t["current-version-id"], *others[:keep - 1]}
        t["versions"] = [v for v in t["versions"] if v["version-id"] in kept]
        log = []
        for number in t["version-log"]:
            log = [*log, number] if number in kept else []
        t["version-log"] = log


def check_view_requirements(view, requirements):
    for r in requirements or ():
        requires(r["uuid"].lower() == view["view-uuid"].lower())


# --- the server's documents in this form ------------------------------------------------------


def plain(found):
    """A document of an answer without its times, every member there."""
    if "view-uuid" in found:
        return {"properties": {}} | found | {"version-log": [e["version-id"] for e in found["version-log"]]}
    out = empty_table(0) | found
    out["snapshot-log"] = [e["snapshot-id"] for e in out["snapshot-log"]]
    out["metadata-log"] = [e["metadata-file"] for e in out["metadata-log"]]
    if out["current-snapshot-id"] == -1:
        out["current-snapshot-id"] = None
    del out["last-updated-ms"]
    if out["format-version"] == 1:
        schema, spec = out.pop("schema"), out.pop("partition-spec")
        assert schema == by_id(out["schemas"], "schema-id", out["current-schema-id"]), "schema of v1"
        assert spec == by_id(out["partition-specs"], "spec-id", out["default-spec-id"])["fields"], "spec of v1"
    return out
