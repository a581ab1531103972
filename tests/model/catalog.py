"""A catalog as the protocol describes it, in dicts. It says what an answer has to be; what only the
server can choose (uuids, default locations, names of files, entity tags) it takes from the answer,
and holds the server to it from then on."""

import dataclasses
import itertools
import re

from documents import (ARGUMENT, VALIDATION, Draft, Refused, ViewDraft, check_requirements,
                       check_view_requirements, empty_table, need, new_table, new_view, only_refs)

FILE = re.compile(r"/(\d{5})-[0-9a-f]{8}-[0-9a-f-]{27}(\.gz)?\.metadata\.json$")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
PAGE = 1000


class Mismatch(Exception):
    """The server and the model do not agree."""


def agree(condition, text):
    if not condition:
        raise Mismatch(text)


@dataclasses.dataclass
class Expected:
    status: int
    types: tuple = ()
    json: object = None      # the whole body
    document: object = None  # of the member metadata
    file: str = None         # of the member metadata-location
    mode: str = None         # of the entity tag
    unknown: bool = False    # the state it led to is gone


@dataclasses.dataclass
class Object:
    kind: str
    number: int  # for its life, under whatever name
    file: str
    document: dict

    @property
    def uuid(self):
        return self.document["table-uuid" if self.kind == "table" else "view-uuid"]

    @property
    def location(self):
        return self.document["location"]


def no_such(kind):
    return Refused(404, "NoSuchTableException" if kind == "table" else "NoSuchViewException")


NO_NAMESPACE = Refused(404, "NoSuchNamespaceException")
EXISTS = Refused(409, "AlreadyExistsException")
FAILED = Refused(409, "CommitFailedException")


def overlap(a, b):
    return (a + "/").startswith(b + "/") or (b + "/").startswith(a + "/")


def first_version(updates):
    return next((u["format-version"] for u in updates if u["action"] == "upgrade-format-version"), 2)


def is_create(requirements):
    """Requirements of a commit that makes a table."""
    create = any(r["type"] == "assert-create" for r in requirements or ())
    need(not create or len({r["type"] for r in requirements}) == 1, ARGUMENT)
    return create


class Catalog:
    def __init__(self):
        self.namespaces = {}
        self.objects = {}
        self.files = {}
        self.changes = {}
        self.keys = {}
        self.tags = {}
        self.tagged = {}
        self.purged = set()  # uuids and files that a purge is about to take, now or later
        self.numbers = itertools.count(1)

    # -- one request --

    def perform(self, request, seen):
        """What the answer has to be; the catalog is then as it should be after it."""
        key, digest = request.get("key"), request["digest"]
        if request["op"] == "create_table" and request["body"].get("stage-create"):
            key = None  # leaves nothing behind
        if key in self.keys:
            first, expected = self.keys[key]
            if first != digest:
                return Expected(422, ("UnprocessableEntityException",))
            return dataclasses.replace(
                expected, unknown=expected.file is not None and expected.file not in self.files)
        try:
            expected = getattr(self, request["op"])(request, seen)
        except Refused as refused:
            expected = Expected(refused.status, refused.types)
        if key:
            self.keys[key] = digest, expected
        return expected

    # -- namespaces --

    def create_namespace(self, request, _):
        path = tuple(request["body"]["namespace"])
        if path in self.namespaces:
            raise EXISTS
        for n in range(1, len(path)):
            self.namespaces.setdefault(path[:n], {})
        self.namespaces[path] = dict(request["body"].get("properties") or {})
        return self.shown(path)

    def shown(self, path):
        return Expected(200, json={"namespace": list(path), "properties": dict(self.namespaces[path])})

    def namespace(self, request):
        path = tuple(request["ns"])
        if path not in self.namespaces:
            raise NO_NAMESPACE
        return path

    def load_namespace(self, request, _):
        return self.shown(self.namespace(request))

    def namespace_exists(self, request, _):
        self.namespace(request)
        return Expected(204)

    def children(self, path):
        return [p[-1] for p in self.namespaces if p[:-1] == path]

    def drop_namespace(self, request, _):
        path = self.namespace(request)
        if self.children(path) or any(ns == path for ns, _ in self.objects):
            raise Refused(409, "NamespaceNotEmptyException")
        del self.namespaces[path]
        return Expected(204)

    def update_properties(self, request, _):
        updates, removals = request["body"].get("updates") or {}, request["body"].get("removals") or []
        if set(updates) & set(removals):
            raise Refused(422, "UnprocessableEntityException")
        properties = self.namespaces[self.namespace(request)]
        there = [k for k in removals if properties.pop(k, None) is not None]
        properties.update(updates)
        return Expected(200, json={"updated": list(updates), "removed": there,
                                   "missing": [k for k in removals if k not in there]})

    # -- lists --

    def list_namespaces(self, request, seen):
        path = tuple(request["ns"])
        return self.listed(request, seen, "namespaces", path, self.children(path), lambda n: [*path, n])

    def list_tables(self, request, seen):
        return self.listed_objects(request, seen, "table")

    def list_views(self, request, seen):
        return self.listed_objects(request, seen, "view")

    def listed_objects(self, request, seen, kind):
        path = tuple(request["ns"])
        names = [n for (ns, n), o in self.objects.items() if ns == path and o.kind == kind]
        return self.listed(request, seen, "identifiers", path, names,
                           lambda n: {"namespace": list(path), "name": n})

    def listed(self, request, seen, member, path, names, shown):
        """A token stands for the last name of its page, whatever has changed since."""
        token, size, of = request.get("token"), request.get("size"), request.get("token-of")
        if token:
            need(of[:2] == (request["op"], path), "BadRequestException")
        if path not in self.namespaces:
            raise NO_NAMESPACE
        names = sorted((n for n in names if not token or n.encode() > of[2].encode()), key=str.encode)
        page = names[:size or PAGE] if token is not None else names
        more = len(page) < len(names)
        expected = Expected(200, json={member: [shown(n) for n in page]})
        following = seen.json.get("next-page-token") if seen.status == 200 else None
        if more:
            agree(following, "a token for the next page is missing")
            seen.token = following, (request["op"], path, page[-1])
            expected.json["next-page-token"] = following
        elif seen.status == 200 and "next-page-token" in seen.json:
            expected.json["next-page-token"] = None
        return expected

    # -- what is there --

    def ident(self, request):
        return tuple(request["ns"]), request["name"]

    def find(self, ident, kind):
        found = self.objects.get(ident)
        if not found or found.kind != kind:
            raise no_such(kind)
        return found

    def loaded(self, found, request):
        mode = request.get("snapshots") or "all"
        if request.get("inm") and self.tagged.get(request["inm"]) == (found.file, mode):
            return Expected(304, file=found.file, mode=mode)
        document = only_refs(found.document) if mode == "refs" else found.document
        return Expected(200, document=document, file=found.file, mode=mode)

    def load_table(self, request, _):
        return self.loaded(self.find(self.ident(request), "table"), request)

    def load_view(self, request, _):
        return self.loaded(self.find(self.ident(request), "view"), request)

    def table_exists(self, request, _):
        self.find(self.ident(request), "table")
        return Expected(204)

    def view_exists(self, request, _):
        self.find(self.ident(request), "view")
        return Expected(204)

    # -- new ones --

    def check_name(self, ident, kind, clash=EXISTS):
        if ident[0] not in self.namespaces:
            raise NO_NAMESPACE
        there = self.objects.get(ident)
        if there:
            raise clash if there.kind == kind else EXISTS

    def check_unique(self, document, but=None):
        """Neither the uuid nor the place of another object."""
        for other in self.objects.values():
            if other is not but and (document.get("table-uuid", document.get("view-uuid")) == other.uuid
                                     or document["location"] and overlap(document["location"], other.location)):
                raise EXISTS

    def choose(self, document, seen, number, kind="table"):
        """Uuid, location and file that the server chose, if they are sound."""
        agree(seen.status == 200, f"expected success, found {seen}")
        found, file = seen.json["metadata"], seen.json["metadata-location"]
        uuid = "table-uuid" if kind == "table" else "view-uuid"
        if document[uuid] is None:
            agree(UUID.match(found[uuid]), f"no random uuid: {found[uuid]}")
            document[uuid] = found[uuid]
        if document["location"] is None:
            document["location"] = found["location"]
        self.new_file(document, file, number)
        return file

    def new_file(self, document, file, number, kind="table"):
        name = FILE.search(file)
        gzip = document["properties"].get("write.metadata.compression-codec", "none" if kind == "table" else "gzip")
        agree(name and int(name[1]) == number and file == f"{document['location']}/metadata{name[0]}"
              and bool(name[2]) == (gzip == "gzip"), f"a strange name of a metadata file: {file}")
        agree(file not in self.files, f"a file twice: {file}")

    def keep(self, ident, kind, document, file):
        self.files[file] = kind, document
        self.objects[ident] = Object(kind, next(self.numbers), file, document)
        return self.objects[ident]

    def create_table(self, request, seen):
        body = request["body"]
        ident, staged = (tuple(request["ns"]), body["name"]), body.get("stage-create")
        there = self.objects.get(ident)
        if not (staged and there and there.kind == "view"):
            self.check_name(ident, "table")
        document = new_table(body)
        if staged:
            self.check_unique(document)
            agree(seen.status == 200, f"expected success, found {seen}")
            for member in ("table-uuid", "location"):
                document[member] = document[member] or seen.json["metadata"][member]
            return Expected(200, document=document)
        self.check_unique(document)
        file = self.choose(document, seen, 0)
        self.check_unique(document)
        self.keep(ident, "table", document, file)
        return Expected(200, document=document, file=file, mode="all")

    def create_view(self, request, seen):
        ident = tuple(request["ns"]), request["body"]["name"]
        self.check_name(ident, "view")
        document = new_view(request["body"])
        self.check_unique(document)
        agree(seen.status == 200, f"expected success, found {seen}")
        for member in ("view-uuid", "location"):
            document[member] = document[member] or seen.json["metadata"][member]
        file = seen.json["metadata-location"]
        self.new_file(document, file, 0, "view")
        self.keep(ident, "view", document, file)
        return Expected(200, document=document, file=file, mode="all")

    def register(self, request, _, kind="table"):
        body = request["body"]
        ident, file, overwrite = (tuple(request["ns"]), body["name"]), body["metadata-location"], body.get("overwrite")
        there = self.objects.get(ident)
        if not (overwrite and there and there.kind == kind):
            self.check_name(ident, kind)
        if file not in self.files:
            raise Refused(404, "NotFoundException")
        found, document = self.files[file]
        need(found == kind, ARGUMENT)
        self.check_unique(document, but=there)
        made = self.keep(ident, kind, document, file)
        if there:
            made.number = there.number
        return Expected(200, document=document, file=file, mode="all")

    def register_view(self, request, seen):
        return self.register(request, seen, "view")

    # -- commits --

    def update_table(self, request, seen):
        body, ident = request["body"], self.ident(request)
        create = is_create(body.get("requirements"))
        return self.recognised(request, [(ident, body)], lambda: self.commit(ident, body, create, request, seen))

    def commit(self, ident, body, create, request, seen):
        draft, base = self.begin(ident, body, create)
        if not base:
            draft.check_named(draft.t["location"])
            draft.finish()
            self.check_unique(draft.t)
            file = self.choose(draft.t, seen, 0)
            self.check_unique(draft.t)
            made = self.keep(ident, "table", draft.t, file)
        elif not draft.changed:
            return Expected(200, document=base.document, file=base.file, mode="all")
        else:
            self.end(draft, base)
            agree(seen.status == 200, f"expected success, found {seen}")
            file, made = seen.json["metadata-location"], base
            self.move(base, draft, file)
        self.made_by(request, made, file)
        return Expected(200, document=made.document, file=file, mode="all")

    def begin(self, ident, body, create):
        """The draft with the updates applied, and the object that it is of."""
        updates, base = body.get("updates") or (), None
        if create:
            self.check_name(ident, "table", FAILED)
            draft = Draft(empty_table(first_version(updates)))
        else:
            base = self.find(ident, "table")
            check_requirements(base.document, body.get("requirements"))
            draft = Draft(base.document)
        draft.apply(updates)
        if create:
            draft.complete()
        return draft, base

    def end(self, draft, base):
        if base.kind == "table":
            draft.check_named(base.location, draft.t["location"])
        draft.finish() if base.kind == "table" else draft.finish(base.document)
        if draft.t["location"] != base.location:
            for other in self.objects.values():
                need(other is base or not overlap(draft.t["location"], other.location), ARGUMENT)
        if base.kind == "table":
            draft.log_base(base.file)

    def move(self, found, draft, file):
        """The pointer; files that left the log are deleted where the table says so."""
        before = found.document
        self.new_file(draft.t, file, int(FILE.search(found.file)[1]) + 1, found.kind)
        if draft.t["properties"].get("write.metadata.delete-after-commit.enabled") == "true" and found.kind == "table":
            for old in set(before["metadata-log"]) - set(draft.t["metadata-log"]):
                if old.startswith(before["location"] + "/"):
                    self.files.pop(old, None)
        self.files[file] = found.kind, draft.t
        found.file, found.document = file, draft.t

    def made_by(self, request, made, file):
        """The request brought the object to this file."""
        of = self.changes.setdefault(request["digest"], {})
        of.pop(made.number, None)
        of[made.number] = file

    def recognised(self, request, changes, work, adds="add-snapshot"):
        """The same request once more: an answer may have been lost on the way. By then the object may have another
        name."""
        try:
            return work()
        except Refused as refused:
            if not set(refused.types) & {"CommitFailedException", "AlreadyExistsException", VALIDATION, ARGUMENT,
                                         "NoSuchTableException", "NoSuchViewException", "NoSuchNamespaceException"}:
                raise
            unique = any(u["action"] == adds for _, body in changes for u in body.get("updates") or ())
            live = {o.number for o in self.objects.values()}
            files = [f for number, f in self.changes.get(request["digest"], {}).items() if number in live]
            if unique and files:
                if files[-1] not in self.files:
                    return Expected(200, unknown=True)
                return Expected(200, document=self.files[files[-1]][1], file=files[-1], mode="all")
            raise

    def replace_view(self, request, seen):
        ident, body = self.ident(request), request["body"]

        def work():
            base = self.find(ident, "view")
            check_view_requirements(base.document, body.get("requirements"))
            draft = ViewDraft(base.document)
            draft.apply(body.get("updates"))
            if draft.changed:
                self.end(draft, base)
                agree(seen.status == 200, f"expected success, found {seen}")
                self.move(base, draft, seen.json["metadata-location"])
                self.made_by(request, base, base.file)
            return Expected(200, document=base.document, file=base.file, mode="all")

        return self.recognised(request, [(ident, body)], work, "add-view-version")

    def commit_transaction(self, request, seen):
        changes = [((tuple(c["identifier"]["namespace"]), c["identifier"]["name"]), c)
                   for c in request["body"]["table-changes"]]
        creates = [is_create(c.get("requirements")) for _, c in changes]

        def work():
            drafts = {}
            for (ident, body), create in zip(changes, creates, strict=True):
                if ident not in drafts:
                    drafts[ident] = self.begin(ident, body, create)
                    continue
                before, base = drafts[ident]
                before.finish()
                check_requirements(before.t, body.get("requirements"))
                draft = Draft(before.t)
                draft.apply(body.get("updates"))
                draft.changed |= before.changed
                draft.named = [*before.named, *draft.named]
                drafts[ident] = draft, base
            self.write(request, drafts, seen)
            return Expected(204)

        out = self.recognised(request, changes, work)
        return Expected(204) if out.status == 200 else out

    def write(self, request, drafts, seen):
        written = {i: d for i, d in drafts.items() if not d[1] or d[0].changed}
        for draft, base in written.values():
            if base:
                self.end(draft, base)
            else:
                draft.check_named(draft.t["location"])
                draft.finish()
        fresh = [d for d, base in written.values() if not base]
        for n, draft in enumerate(fresh):
            self.check_unique(draft.t)
            if any(draft.t["table-uuid"] == d.t["table-uuid"] or overlap(draft.t["location"], d.t["location"])
                   for d in fresh[:n]):
                raise EXISTS
        agree(seen.status == 204, f"expected success, found {seen}")
        for ident, (draft, base) in written.items():
            file = seen.file_of(ident)
            if base:
                self.move(base, draft, file)
                made = base
            else:
                self.choose(draft.t, seen.run.loaded[ident], 0)
                made = self.keep(ident, "table", draft.t, file)
            self.made_by(request, made, file)

    # -- names --

    def drop(self, request, kind):
        ident = self.ident(request)
        found = self.find(ident, kind)
        del self.objects[ident]
        if kind == "view" and found.document["properties"].get("gc.enabled", "true") == "true":
            self.files.pop(found.file)
        if request.get("purge"):
            gone = [f for f, (_, d) in self.files.items() if d.get("table-uuid") == found.uuid]
            self.purged |= {found.uuid, *gone}
            for file in gone:
                del self.files[file]
        return Expected(204)

    def drop_table(self, request, _):
        return self.drop(request, "table")

    def drop_view(self, request, _):
        return self.drop(request, "view")

    def unregister_table(self, request, _):
        found = self.find(self.ident(request), "table")
        del self.objects[self.ident(request)]
        return Expected(200, document=found.document, file=found.file)

    def rename(self, request, kind):
        source, to = ((tuple(request["body"][e]["namespace"]), request["body"][e]["name"])
                      for e in ("source", "destination"))
        if source == to:
            return Expected(204)
        there = self.objects.get(source)
        missing = not there or there.kind != kind
        if kind == "table" and missing:
            raise no_such(kind)
        if to[0] not in self.namespaces:
            raise NO_NAMESPACE
        if missing:
            raise no_such(kind)
        if to in self.objects:
            raise EXISTS
        self.objects[to] = self.objects.pop(source)
        return Expected(204)

    def rename_table(self, request, _):
        return self.rename(request, "table")

    def rename_view(self, request, _):
        return self.rename(request, "view")

    # -- entity tags --

    def check_tag(self, expected, tag):
        """One tag for a file and a mode, another for every other."""
        which = expected.file, expected.mode
        agree(tag, "an answer without an entity tag")
        agree(self.tags.setdefault(which, tag) == tag, f"another tag for the same state: {tag}")
        agree(self.tagged.setdefault(tag, which) == which, f"the same tag for another state: {tag}")
