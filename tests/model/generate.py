"""Random operations, most of them ones that can succeed. An operation is JSON that can be carried
out again in another catalog: what a server chose stands in it as a symbol, @ and the number of the
operation whose answer said it (@u7 a uuid, @l7 a location, @f7 a metadata file, @e7 an entity tag,
@t7 a page token), @root is the namespace that everything lies in, @base the warehouse."""

NAMES = ["t", "u", "v w", "a/b", "ü", "T", "x.y", "p+q", "100%", "t2"]
LEVELS = ["a", "b", "x y", "ö/ö", "a.b"]
KEYS = ["k1", "k2", "owner", "gc.enabled", "comment"]
REFS = ["main", "main", "main", "b1", "t1", "b 2"]
COLUMNS = ["id", "data", "day", "num", "when"]
KINDS = ["long", "string", "date", "int", "double", "timestamp"]
PLACES = ["p", "p/q", "p/q/r", "pq", "s"]
TRANSFORMS = ["identity", "identity", "bucket[4]", "truncate[3]", "day", "year", "void"]

WEIGHTS = {
    "create_namespace": 3, "load_namespace": 1, "namespace_exists": 1, "drop_namespace": 2, "update_properties": 3,
    "list_namespaces": 2, "list_tables": 3, "list_views": 2, "create_table": 6, "create_staged": 2,
    "commit_staged": 4, "load_table": 8, "table_exists": 1, "update_table": 28, "drop_table": 2,
    "unregister_table": 2, "register": 4, "rename_table": 3, "commit_transaction": 6, "create_view": 3,
    "load_view": 2, "view_exists": 1, "replace_view": 7, "drop_view": 1, "register_view": 1, "rename_view": 1,
    "again": 5,
}
READS = {"load_namespace", "namespace_exists", "list_namespaces", "list_tables", "list_views", "load_table",
         "table_exists", "load_view", "view_exists"}


class Generator:
    def __init__(self, rng, run):
        self.rng, self.run = rng, run
        self.names = rng.sample(NAMES, rng.choice((3, 6)))
        self.levels = rng.sample(LEVELS, 3)
        self.words, self.weights = list(WEIGHTS), list(WEIGHTS.values())

    @property
    def catalog(self):
        return self.run.catalog

    def next(self, n):
        word = self.rng.choices(self.words, self.weights)[0]
        op = getattr(self, word)()
        op.setdefault("op", word)
        op["n"] = n
        if len(self.run.servers) > 1:
            op["server"] = self.rng.randrange(len(self.run.servers))
        if op["op"] not in READS and "again" not in op and self.one_in(5):
            # seldom the key of another request
            op["key"] = f"k{n if not self.one_in(12) else self.rng.randrange(max(1, n - 20), n + 1)}"
        return op

    # -- choices --

    def one_in(self, n):
        return self.rng.randrange(n) == 0

    def some(self, values, most):
        values = list(values)
        return self.rng.sample(values, min(len(values), self.rng.randint(0, most)))

    def symbol(self, value):
        return self.run.symbols.get(value, value)

    def path(self, new=False):
        there = list(self.catalog.namespaces)
        if there and not new and not self.one_in(12):
            found = list(self.rng.choice(there))
        else:
            found = [None] + [self.rng.choice(self.levels) for _ in range(self.rng.choice((0, 1, 1, 1, 2)))]
        return ["@root", *found[1:]]

    def ident(self, kind=None):
        there = [i for i, o in self.catalog.objects.items() if o.kind == kind]
        if there and not self.one_in(10):
            ns, name = self.rng.choice(there)
            return ["@root", *ns[1:]], name
        return self.path(), self.rng.choice(self.names)

    def object(self, ident):
        return self.catalog.objects.get(((self.run.root, *ident[0][1:]), ident[1]))

    def at(self, kind):
        ns, name = self.ident(kind)
        return {"ns": ns, "name": name}

    # -- namespaces and lists --

    def create_namespace(self):
        return {"body": {"namespace": self.path(new=True), "properties": self.properties()}}

    def load_namespace(self):
        return {"ns": self.path()}

    namespace_exists = load_namespace

    def drop_namespace(self):
        used = {ns for ns, _ in self.catalog.objects}
        free = [p for p in self.catalog.namespaces if p not in used]
        return {"ns": ["@root", *self.rng.choice(free)[1:]] if free and not self.one_in(4) else self.path()}

    def properties(self):
        return {k: self.rng.choice(("1", "2", "true")) for k in self.some(KEYS, 2)}

    def update_properties(self):
        return {"ns": self.path(), "body": {"updates": self.properties(), "removals": self.some(KEYS, 2)}}

    def listing(self):
        if self.run.tokens and self.one_in(2):
            token, (op, path, _) = self.rng.choice(list(self.run.tokens.values())[-4:])
            if not self.one_in(6):
                return {"op": op, "ns": ["@root", *path[1:]], "token": self.symbol(token),
                        "size": self.rng.randint(1, 3)}
            return {"ns": self.path(), "token": self.symbol(token)}
        op = {"ns": self.path()}
        if not self.one_in(3):
            op |= {"token": ""} | ({"size": self.rng.randint(1, 3)} if not self.one_in(4) else {})
        return op

    list_namespaces = list_tables = list_views = listing

    # -- tables --

    def field(self, number, name, version):
        kind = self.rng.choice(KINDS)
        if self.one_in(12):
            kind = {"type": "list", "element-id": number + 100, "element": "long", "element-required": False}
        elif self.one_in(12):
            kind = {"type": "struct", "fields": [
                {"id": number + 100, "name": "x", "required": False, "type": "int"}]}
        elif self.one_in(10) and (version >= 3 or self.one_in(4)):
            kind = self.rng.choice(("variant", "timestamp_ns"))
        return {"id": number, "name": name, "required": False, "type": kind}

    def schema(self, version):
        names = self.rng.sample(COLUMNS, self.rng.randint(1, 4))
        ids = self.rng.sample(range(1, 30), len(names))
        schema = {"type": "struct", "schema-id": self.rng.choice((0, 0, 5)),
                  "fields": [self.field(i, n, version) for i, n in zip(ids, names, strict=True)]}
        return self.identified(schema)

    def identified(self, schema):
        first = schema["fields"][0]
        if first["type"] in ("long", "string", "int") and self.one_in(3):
            schema["fields"][0] = first | {"required": True}
            schema["identifier-field-ids"] = [first["id"]]
        return schema

    def partition(self, schema):
        fields, names = [], set()
        for column in self.some(schema["fields"], 2):
            transform = self.rng.choice(TRANSFORMS)
            name = column["name"] if transform == "identity" else f"{column['name']}_{transform[:3]}"
            if name not in names or self.one_in(20):
                names.add(name)
                fields.append({"name": name, "transform": transform, "source-id": column["id"]})
        return {"spec-id": 0, "fields": fields}

    def order(self, schema):
        fields = [{"transform": "identity", "source-id": c["id"], "direction": self.rng.choice(("asc", "desc")),
                   "null-order": "nulls-first"} for c in self.some(schema["fields"], 1)]
        return {"order-id": 1 if fields else 0, "fields": fields}

    def place(self):
        return f"@base/@root/places/{self.rng.choice(PLACES)}" + ("/" if self.one_in(4) else "")

    def table_properties(self):
        found = self.properties()
        if self.one_in(6):
            found["write.metadata.previous-versions-max"] = self.rng.choice(("1", "2", "3", "0"))
        if self.one_in(8):
            found["write.metadata.delete-after-commit.enabled"] = "true"
        if self.one_in(10):
            found["write.metadata.compression-codec"] = self.rng.choice(("gzip", "none"))
        if self.one_in(12):
            found["snapshot-count"] = "5"
        return found

    def create_table(self):
        version = self.rng.choice((1, 2, 2, 2, 3, 3))
        schema = self.schema(version)
        body = {"name": self.rng.choice(self.names), "schema": schema, "properties": self.table_properties()}
        if version != 2 or self.one_in(2):
            body["properties"]["format-version"] = str(version)
        if self.one_in(2):
            body["partition-spec"] = self.partition(schema)
        if self.one_in(2):
            body["write-order"] = self.order(schema)
        if self.one_in(8):
            body["location"] = self.place()
        return {"ns": self.path(), "body": body}

    def create_staged(self):
        op = self.create_table() | {"op": "create_table"}
        op["body"]["stage-create"] = True
        return op

    def commit_staged(self):
        op = self.staged_change()
        if not op:
            return self.create_staged()
        return {"op": "update_table", "ns": op["identifier"]["namespace"], "name": op["identifier"]["name"], "body": op}

    def staged_change(self):
        if not self.run.staged:
            return None
        n, document = self.rng.choice(list(self.run.staged.items())[-3:])
        updates = [
            {"action": "assign-uuid", "uuid": self.symbol(document["table-uuid"])},
            {"action": "upgrade-format-version", "format-version": document["format-version"]},
            {"action": "add-schema", "schema": document["schemas"][0]},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": document["partition-specs"][0]},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": document["sort-orders"][0]},
            {"action": "set-default-sort-order", "sort-order-id": -1},
            {"action": "set-location", "location": self.symbol(document["location"])},
            {"action": "set-properties", "updates": document["properties"]},
        ]
        if self.one_in(10):
            del updates[self.rng.randrange(len(updates))]
        if self.one_in(2):
            updates += self.append(document)
        requirements = [{"type": "assert-create"}]
        if self.one_in(12):
            requirements.append({"type": "assert-current-schema-id", "current-schema-id": 0})
        ns, name = self.path(), self.rng.choice(self.names)
        return {"identifier": {"namespace": ns, "name": name}, "requirements": requirements, "updates": updates}

    def load_table(self):
        op = self.at("table")
        if self.one_in(3):
            op["snapshots"] = self.rng.choice(("all", "refs", "refs"))
        if self.one_in(3) and self.run.catalog.tagged:
            found = self.object((op["ns"], op["name"]))
            tag = found and self.catalog.tags.get((found.file, op.get("snapshots", "all")))
            other = self.rng.choice(list(self.catalog.tagged)[-6:])
            op["inm"] = self.symbol(tag if tag and not self.one_in(4) else other)
        return op

    def table_exists(self):
        return self.at("table")

    def view_exists(self):
        return self.at("view")

    unregister_table = table_exists

    def drop_table(self):
        op = self.at("table")
        found = self.object((op["ns"], op["name"]))
        if found and "/places/" not in found.location and self.one_in(4):
            op["purge"] = True
        return op

    def register(self, kind="table"):
        files = [f for f, (k, _) in self.catalog.files.items() if k == kind or self.one_in(30)]
        live = {o.uuid for o in self.catalog.objects.values()}
        free = [f for f in files if self.catalog.files[f][1].get("table-uuid") not in live]
        files = free if free and not self.one_in(5) else files
        file = self.symbol(self.rng.choice(files[-12:])) if files else "@base/@root/none.metadata.json"
        if kind == "table" and self.run.files_gone() and self.one_in(10):
            file = self.symbol(self.rng.choice(self.run.files_gone()))
        op = {"ns": self.path(), "body": {"name": self.rng.choice(self.names), "metadata-location": file}}
        if kind == "table" and self.one_in(3):
            ns, name = self.ident("table")
            op = {"ns": ns, "body": op["body"] | {"name": name, "overwrite": True}}
        return op

    def register_view(self):
        return self.register("view")

    def rename(self, kind):
        ns, name = self.ident(kind)
        to = [self.path(), self.rng.choice(self.names)] if not self.one_in(10) else [ns, name]
        return {"body": {"source": {"namespace": ns, "name": name}, "destination": {"namespace": to[0], "name": to[1]}}}

    def rename_table(self):
        return self.rename("table")

    def rename_view(self):
        return self.rename("view")

    # -- commits --

    def update_table(self):
        op = self.at("table")
        found = self.object((op["ns"], op["name"]))
        document = found.document if found and found.kind == "table" else None
        return op | {"body": {"requirements": self.requirements(document), "updates": self.updates(document)}}

    def commit_transaction(self):
        changes = []
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            if self.one_in(5) and (change := self.staged_change()):
                changes.append(change)
                continue
            op = self.update_table()
            change = {"identifier": {"namespace": op["ns"], "name": op["name"]}} | op["body"]
            # who moves first would decide
            change["updates"] = [u for u in change["updates"] if u["action"] != "set-location"]
            changes.append(change)
            if self.one_in(6):
                changes.append(change | {"requirements": [], "updates": self.more_updates(change)})
        return {"body": {"table-changes": changes}}

    def more_updates(self, change):
        """Of the same table once more, on what the first have made of it."""
        updates = [u for u in self.updates(self.run.document(change["identifier"])) if u["action"] != "set-location"]
        added = [u["snapshot"]["snapshot-id"] for u in change["updates"] if u["action"] == "add-snapshot"]
        return ([self.set_ref(self.rng.choice(added))] if added and self.one_in(2) else []) + updates

    def requirements(self, document):
        if document is None:
            return []

        def close(n):
            return n if not self.one_in(12) else n + 1

        ref = self.rng.choice(REFS)
        at = document["refs"].get(ref, {}).get("snapshot-id")
        all_ = [
            {"type": "assert-table-uuid", "uuid": self.symbol(document["table-uuid"]) if not self.one_in(20)
             else "00000000-0000-4000-8000-000000000000"},
            {"type": "assert-ref-snapshot-id", "ref": ref, "snapshot-id": at
             if not self.one_in(12) else self.rng.choice((7, None))},
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": close(document["last-column-id"])},
            {"type": "assert-current-schema-id", "current-schema-id": close(document["current-schema-id"])},
            {"type": "assert-last-assigned-partition-id",
             "last-assigned-partition-id": close(document["last-partition-id"])},
            {"type": "assert-default-spec-id", "default-spec-id": close(document["default-spec-id"])},
            {"type": "assert-default-sort-order-id", "default-sort-order-id": close(document["default-sort-order-id"])},
        ]
        return self.some(all_, 2)

    def updates(self, document):
        if document is None:
            return [{"action": "set-properties", "updates": self.properties()}]
        found = []
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            many = len(document["snapshots"]) // 3, len(document["schemas"]) // 3
            found += self.rng.choices(
                (self.append, self.evolve, self.repartition, self.resort, self.small, self.ref, self.expire,
                 self.statistics, self.shrink), (8, 3, 2, 2, 5, 4, 2 + many[0], 2, 1 + many[1]))[0](document)
        return found

    def own(self, document):
        """Mostly the place of the table, where its files lie."""
        return self.symbol(document["location"]) if not self.one_in(30) and document["location"] else "@base/@root"

    def append(self, document):
        version, current = document["format-version"], document["current-snapshot-id"]
        number = self.rng.choice((self.rng.randint(1, 1 << 62), self.rng.randint(1, 40), -self.rng.randint(2, 1 << 60)))
        s = {"snapshot-id": number, "timestamp-ms": 1700000000000 + self.rng.randrange(1000),
             "summary": {"operation": "append", "x": "1"}, "manifest-list": f"{self.own(document)}/m-{number}.avro"}
        if version > 1 and not self.one_in(40) or self.one_in(40):
            s["sequence-number"] = document["last-sequence-number"] + self.rng.choice((1, 1, 1, 1, 1, 1, 2, 0, -1))
            s["sequence-number"] = max(0, s["sequence-number"])
        if current is not None and not self.one_in(6):
            s["parent-snapshot-id"] = current
        if version == 3 and not self.one_in(20):
            s |= {"first-row-id": max(0, document["next-row-id"] + self.rng.choice((0, 0, 0, 0, 5, -1))),
                  "added-rows": self.rng.randrange(100)}
        if self.one_in(2):
            s["schema-id"] = document["current-schema-id"]
        out = [{"action": "add-snapshot", "snapshot": s}]
        if not self.one_in(5):
            out.append(self.set_ref(number))
        return out

    def set_ref(self, number):
        name = self.rng.choice(REFS)
        tag = name.startswith("t") or self.one_in(25)
        ref = {"action": "set-snapshot-ref", "ref-name": name, "type": "tag" if tag else "branch",
               "snapshot-id": number}
        if self.one_in(5):
            ref["max-ref-age-ms"] = self.rng.choice((1000, 2000, 0))
        if self.one_in(8):
            ref["min-snapshots-to-keep"] = self.rng.choice((1, 2))
        return ref

    def snapshot_ids(self, document):
        return [s["snapshot-id"] for s in document["snapshots"]] or [3]

    def ref(self, document):
        if self.one_in(3):
            return [{"action": "remove-snapshot-ref", "ref-name": self.rng.choice(REFS)}]
        return [self.set_ref(self.rng.choice(self.snapshot_ids(document)) if not self.one_in(12) else 99)]

    def expire(self, document):
        ids = self.some(self.snapshot_ids(document), max(1, len(document["snapshots"]) // 2))
        return [{"action": "remove-snapshots", "snapshot-ids": ids + ([98] if self.one_in(6) else [])}]

    def statistics(self, document):
        number = self.rng.choice(self.snapshot_ids(document))
        kind = self.rng.choice(("statistics", "partition-statistics"))
        if self.one_in(3):
            return [{"action": f"remove-{kind}", "snapshot-id": number}]
        entry = {"snapshot-id": number, "statistics-path": f"{self.own(document)}/s{self.rng.randrange(3)}",
                 "file-size-in-bytes": 5}
        if kind == "statistics":
            entry |= {"file-footer-size-in-bytes": 2, "blob-metadata": []}
        return [{"action": f"set-{kind}", kind: entry}]

    def evolve(self, document):
        current = next(s for s in document["schemas"] if s["schema-id"] == document["current-schema-id"])
        fields = list(current["fields"])
        free = [c for c in COLUMNS if c not in {f["name"] for f in fields}]
        if free and not self.one_in(3):
            fields.append(self.field(document["last-column-id"] + 1, self.rng.choice(free), document["format-version"]))
        elif len(fields) > 1:
            del fields[self.rng.randrange(len(fields))]
        ids = {f["id"] for f in fields}
        identifiers = [i for i in current.get("identifier-field-ids", ()) if i in ids]
        schema = {"type": "struct", "schema-id": self.rng.choice((0, 7)), "fields": fields}
        schema |= {"identifier-field-ids": identifiers} if identifiers else {}
        if self.one_in(8):
            schema = self.rng.choice(document["schemas"])
        out = [{"action": "add-schema", "schema": schema}]
        if not self.one_in(5):
            out.append({"action": "set-current-schema", "schema-id": self.rng.choice((-1, -1, -1, 0, 1, 7, 50))})
        return out

    def current(self, document):
        pool = [s for s in document["schemas"] if s["schema-id"] == document["current-schema-id"] or self.one_in(10)]
        return self.rng.choice(pool or document["schemas"])

    def repartition(self, document):
        spec = self.partition(self.current(document))
        if self.one_in(3):
            for i, f in enumerate(spec["fields"]):
                f["field-id"] = (1000 if document["format-version"] == 1 else document["last-partition-id"] + 1) + i
        if self.one_in(12) and len(spec["fields"]) > 1:
            spec["fields"][0]["field-id"] = 1000
        out = [{"action": "add-spec", "spec": spec}]
        if not self.one_in(4):
            out.append({"action": "set-default-spec", "spec-id": self.rng.choice((-1, -1, -1, 0, 1, 50))})
        return out

    def resort(self, document):
        out = [{"action": "add-sort-order", "sort-order": self.order(self.current(document))}]
        if not self.one_in(4):
            out.append({"action": "set-default-sort-order", "sort-order-id": self.rng.choice((-1, -1, -1, 0, 1, 50))})
        return out

    def shrink(self, document):
        if self.one_in(2):
            ids = self.some((s["schema-id"] for s in document["schemas"]
                             if s["schema-id"] != document["current-schema-id"] or self.one_in(8)), 3)
            return [{"action": "remove-schemas", "schema-ids": ids}]
        ids = self.some((s["spec-id"] for s in document["partition-specs"]
                         if s["spec-id"] != document["default-spec-id"] or self.one_in(8)), 3)
        return [{"action": "remove-partition-specs", "spec-ids": ids}]

    def small(self, document):
        return [self.rng.choice((
            lambda: {"action": "set-properties", "updates": self.table_properties()},
            lambda: {"action": "set-properties", "updates": self.table_properties()},
            lambda: {"action": "remove-properties", "removals": self.some(document["properties"], 2)},
            lambda: {"action": "set-location", "location": self.place() if self.one_in(2)
                     else self.symbol(document["location"])},
            lambda: {"action": "assign-uuid", "uuid": self.symbol(document["table-uuid"]) if not self.one_in(3)
                     else "00000000-0000-4000-8000-000000000000"},
            lambda: {"action": "upgrade-format-version", "format-version": self.rng.choice((1, 2, 3, 4))},
            lambda: {"action": "add-encryption-key", "encryption-key": {
                "key-id": f"e{self.rng.randrange(3)}", "encrypted-key-metadata": "AAAA"}},
            lambda: {"action": "remove-encryption-key", "key-id": f"e{self.rng.randrange(3)}"},
        ))()]

    # -- views --

    def version(self, **more):
        dialects = self.rng.sample(("spark", "trino", "Spark"), self.rng.choice((1, 1, 1, 2)))
        text = f"SELECT {self.rng.randrange(4)}"
        return {"version-id": self.rng.choice((1, 2, 3, 9)), "timestamp-ms": 1700000000000, "schema-id": 0,
                "summary": {"engine": "x"}, "default-namespace": ["d"],
                "representations": [{"type": "sql", "sql": text, "dialect": d} for d in dialects]} | more

    def view_properties(self):
        found = self.properties()
        if self.one_in(3):
            found["replace.drop-dialect.allowed"] = self.rng.choice(("true", "false"))
        if self.one_in(4):
            found["version.history.num-entries"] = self.rng.choice(("1", "2", "3"))
        if self.one_in(2):
            found["gc.enabled"] = "false"
        return found

    def create_view(self):
        body = {"name": self.rng.choice(self.names), "schema": self.schema(3), "view-version": self.version(),
                "properties": self.view_properties()}
        if self.one_in(8):
            body["location"] = self.place()
        return {"ns": self.path(), "body": body}

    def load_view(self):
        return self.at("view")

    drop_view = load_view

    def replace_view(self):
        op = self.at("view")
        found = self.object((op["ns"], op["name"]))
        updates, requirements = [], []
        for _ in range(self.rng.choice((1, 1, 2))):
            updates += self.rng.choices((self.new_version, self.other_version, self.view_small), (5, 1, 2))[0]()
        if found and found.kind == "view" and self.one_in(2):
            requirements.append({"type": "assert-view-uuid", "uuid": self.symbol(found.uuid) if not self.one_in(10)
                                 else "00000000-0000-4000-8000-000000000000"})
        return op | {"body": {"requirements": requirements, "updates": updates}}

    def new_version(self):
        version, out = self.version(), []
        if self.one_in(3):
            out.append({"action": "add-schema", "schema": self.schema(3)})
            version["schema-id"] = -1
        elif self.one_in(10):
            version["schema-id"] = 40
        out.append({"action": "add-view-version", "view-version": version})
        if not self.one_in(6):
            out.append({"action": "set-current-view-version", "view-version-id": -1})
        return out

    def other_version(self):
        return [{"action": "set-current-view-version", "view-version-id": self.rng.choice((1, 2, 3, 60))}]

    def view_small(self):
        return [self.rng.choice((
            lambda: {"action": "set-properties", "updates": self.view_properties()},
            lambda: {"action": "remove-properties", "removals": self.some(KEYS, 2)},
            lambda: {"action": "set-location", "location": self.place()},
            lambda: {"action": "upgrade-format-version", "format-version": self.rng.choice((1, 1, 2))},
        ))()]

    # -- the same once more --

    def again(self):
        sent = [n for n, op in self.run.sent.items() if op["op"] not in READS]
        if not sent:
            return self.create_namespace()
        return {"again": self.rng.choice(sent[-8:])}
