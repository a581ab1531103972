"""Carries operations out on real servers and holds every answer, and what is there afterwards,
against the model."""

import json
import re
import shutil
import socket
import time
import urllib.parse

from catalog import Catalog, Expected, Mismatch, agree
from documents import plain
from firn_server import local_path
from generate import READS

SYMBOL = re.compile(r"@([a-z]+[0-9]*(?:\.[0-9]+)?)")

NAMESPACE, TABLE, VIEW = "/v1/namespaces/{ns}", "/v1/namespaces/{ns}/tables/{name}", "/v1/namespaces/{ns}/views/{name}"
ROUTES = {
    "create_namespace": ("POST", "/v1/namespaces"), "load_namespace": ("GET", NAMESPACE),
    "namespace_exists": ("HEAD", NAMESPACE), "drop_namespace": ("DELETE", NAMESPACE),
    "update_properties": ("POST", NAMESPACE + "/properties"), "list_namespaces": ("GET", "/v1/namespaces"),
    "list_tables": ("GET", NAMESPACE + "/tables"), "list_views": ("GET", NAMESPACE + "/views"),
    "create_table": ("POST", NAMESPACE + "/tables"), "load_table": ("GET", TABLE), "table_exists": ("HEAD", TABLE),
    "update_table": ("POST", TABLE), "drop_table": ("DELETE", TABLE),
    "unregister_table": ("POST", TABLE + "/unregister"), "register": ("POST", NAMESPACE + "/register"),
    "rename_table": ("POST", "/v1/tables/rename"), "commit_transaction": ("POST", "/v1/transactions/commit"),
    "create_view": ("POST", NAMESPACE + "/views"), "load_view": ("GET", VIEW), "view_exists": ("HEAD", VIEW),
    "replace_view": ("POST", VIEW), "drop_view": ("DELETE", VIEW),
    "register_view": ("POST", NAMESPACE + "/register-view"), "rename_view": ("POST", "/v1/views/rename"),
}


def enc(text):
    return urllib.parse.quote(text, safe="")


class Connection:
    """HTTP/1.1 by hand, kept open: the client must cost less than the server."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.socket.close()

    def request(self, method, path, body, headers):
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}"
        if method == "POST":
            body = (body or "").encode()
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self.socket.sendall(head.encode() + body)
        else:
            self.socket.sendall((head + "\r\n").encode())
        return self.answer(method)

    def answer(self, method):
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self.more()
        lines = data[:end].decode().split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        if method == "HEAD" or status in (204, 304):
            return status, headers, b""
        size, data = int(headers["content-length"]), data[end + 4:]
        while len(data) < size:
            data += self.more()
        return status, headers, data

    def more(self):
        data = self.socket.recv(1 << 16)
        agree(data, "the server closed the connection")
        return data


class Seen:
    """An answer."""

    def __init__(self, run, answer):
        self.run, (self.status, self.headers, self.raw) = run, answer
        self.json = json.loads(self.raw) if self.raw else None
        self.token = None

    def file_of(self, ident):
        """Where the metadata of a table is that a transaction has written."""
        self.run.loaded[ident] = seen = self.run.load(ident, "table")
        agree(seen.status == 200, f"the transaction's table cannot be loaded: {seen}")
        return seen.json["metadata-location"]

    def __str__(self):
        return f"{self.status} {self.raw[:2000].decode(errors='replace')}"


class Run:
    """One sequence, in a root namespace of its own."""

    def __init__(self, servers, root, rng=None):
        self.servers, self.root = servers, root
        self.connections = [Connection(s["address"]) for s in servers]
        self.base = servers[0]["base"]
        self.catalog = Catalog()
        self.values = {"root": root, "base": self.base}
        self.symbols = {}
        self.tokens, self.staged, self.sent, self.loaded, self.seen_files = {}, {}, {}, {}, {}
        self.turn = 0

    def close(self):
        for connection in self.connections:
            connection.close()
        folder = urllib.parse.urlsplit(self.base).path
        shutil.rmtree(f"{folder}/{self.root}", ignore_errors=True)

    # -- what the generator asks --

    def files_gone(self):
        return [f for f in self.seen_files if f not in self.catalog.files and f in self.symbols][-5:]

    def document(self, identifier):
        found = self.catalog.objects.get(((self.root, *identifier["namespace"][1:]), identifier["name"]))
        return found.document if found and found.kind == "table" else None

    # -- one operation --

    def resolved(self, op):
        """Symbols become what they stand for; None where an operation that was left out has to tell."""
        text = json.dumps(op, ensure_ascii=False)
        try:
            return json.loads(SYMBOL.sub(lambda m: json.dumps(self.values[m[1]])[1:-1], text))
        except KeyError:
            return None

    def step(self, op):
        """Carries an operation out; Mismatch when something is not as it should be."""
        if "again" in op:
            request = self.sent.get(op["again"])
            request = request and request | {"server": op.get("server", 0)}
        else:
            request = self.prepared(op)
        if request is None or any(p in request["text"] for p in self.catalog.purged):
            return  # what comes of it is a matter of time
        self.wait_for_deletion(request)
        seen = self.send(request)
        self.loaded = {}
        expected = self.catalog.perform(request, seen)
        self.compare(request, expected, seen)
        self.sent[op["n"]] = request
        self.learn(op["n"], request, expected, seen)
        if request["op"] not in READS:
            self.look(request)

    def wait_for_deletion(self, request):
        """A file that a change has made useless goes after the answer."""
        file = (request.get("body") or {}).get("metadata-location")
        until = time.monotonic() + 30
        while (file in self.seen_files and file not in self.catalog.files and local_path(file).exists()
               and time.monotonic() < until):
            time.sleep(0.01)

    def prepared(self, op):
        request = self.resolved(op)
        if request is None:
            return None
        method, path = ROUTES[request["op"]]
        ns = "%1F".join(map(enc, request.get("ns") or ()))
        path = path.format(ns=ns, name=enc(request.get("name") or ""))
        query = self.query(request)
        request["path"] = path + ("?" + query if query else "")
        request["method"] = method
        request["text"] = json.dumps(request["body"], ensure_ascii=False) if request.get("body") is not None else ""
        request["digest"] = f"{method} {request['path']} {request['text']}"
        return request

    def query(self, request):
        words = []
        if request["op"] == "list_namespaces":
            words.append("parent=" + "%1F".join(map(enc, request["ns"])))
        if request.get("token") is not None:
            words.append("pageToken=" + enc(request["token"]))
            request["token-of"] = self.tokens.get(request["token"], (None, None))[1]
        if request.get("size"):
            words.append(f"pageSize={request['size']}")
        if request.get("snapshots"):
            words.append("snapshots=" + request["snapshots"])
        if request.get("purge"):
            words.append("purgeRequested=true")
        return "&".join(words)

    def send(self, request):
        headers = ""
        if request.get("key"):
            headers += f"Idempotency-Key: {self.root}-{request['key']}\r\n"
        if request.get("inm"):
            headers += f"If-None-Match: {request['inm']}\r\n"
        connection = self.connections[request.get("server", 0) % len(self.connections)]
        return Seen(self, connection.request(request["method"], request["path"], request["text"], headers))

    def compare(self, request, expected, seen):
        if expected.unknown:
            agree(seen.status in (200, 204, 404), f"expected any success, found {seen}")
            return
        agree(seen.status == expected.status, f"expected {expected.status} {expected.types}, found {seen}")
        if seen.status >= 400 and request["method"] != "HEAD":
            error = seen.json["error"]
            agree(error["code"] == seen.status and error["message"], f"a strange error: {seen}")
            agree(not expected.types or error["type"] in expected.types, f"expected {expected.types}, found {seen}")
        if expected.json is not None:
            agree(seen.json == expected.json, f"expected {expected.json}, found {seen}")
        if expected.document is not None:
            file = seen.json.get("metadata-location")
            agree(file == expected.file, f"expected the file {expected.file}, found {seen}")
            self.compare_document(expected.document, seen)
        if expected.mode:
            self.catalog.check_tag(expected, seen.headers.get("etag"))

    @staticmethod
    def compare_document(document, seen):
        try:
            found = plain(seen.json["metadata"])
        except AssertionError as error:
            raise Mismatch(f"inconsistent: {error}: {seen}") from None
        if found != document:
            differ = {k: (document.get(k), found.get(k)) for k in document.keys() | found.keys()
                      if document.get(k) != found.get(k)}
            raise Mismatch(f"expected and found differ in {differ}: {seen}")

    # -- what the answer tells --

    def learn(self, n, request, expected, seen):
        if seen.token:
            self.symbolise(f"t{n}", seen.token[0])
            self.tokens[seen.token[0]] = seen.token
        if seen.status != 200 or not seen.json or "metadata" not in seen.json:
            for k, ident in enumerate(self.loaded):
                self.learn_file(f"f{n}.{k}", self.loaded[ident].json["metadata-location"])
            return
        metadata, file = seen.json["metadata"], seen.json.get("metadata-location")
        self.symbolise(f"u{n}", metadata.get("table-uuid") or metadata.get("view-uuid"))
        self.symbolise(f"l{n}", metadata["location"])
        if seen.headers.get("etag"):
            self.symbolise(f"e{n}", seen.headers["etag"])
        if file:
            self.learn_file(f"f{n}", file)
        elif request["op"] == "create_table":
            self.staged[n] = expected.document

    def learn_file(self, name, file):
        self.seen_files[file] = True
        self.symbolise(name, file)

    def symbolise(self, name, value):
        self.values[name] = value
        self.symbols.setdefault(value, "@" + name)

    # -- what is there --

    def ask(self, op, ns, name=None, **more):
        self.turn += 1  # another server than the one that changed it
        return self.send(self.prepared({"op": op, "ns": list(ns), "name": name, "server": self.turn} | more))

    def load(self, ident, kind):
        return self.ask("load_" + kind, *ident)

    def look(self, request):
        """After a change, successful or not: what it named."""
        body, touched = request.get("body") or {}, []
        if "name" in request:
            touched.append((request["ns"], request["name"]))
        elif "name" in body:
            touched.append((request["ns"], body["name"]))
        elif "source" in body:
            touched += [(body[e]["namespace"], body[e]["name"]) for e in ("source", "destination")]
        elif "table-changes" in body:
            touched += [(c["identifier"]["namespace"], c["identifier"]["name"]) for c in body["table-changes"]]
        else:
            self.look_at_namespace(tuple(request.get("ns") or body["namespace"]))
        for ns, name in touched:
            ident = tuple(ns), name
            if ident not in self.loaded:
                self.look_at(ident)
            else:
                self.look_at(ident, self.loaded[ident])

    def look_at_namespace(self, path):
        seen = self.ask("load_namespace", path)
        if path not in self.catalog.namespaces:
            agree(seen.status == 404, f"a namespace that should not be there: {path} {seen}")
        else:
            self.compare({"method": "GET"}, self.catalog.shown(path), seen)

    def look_at(self, ident, seen=None):
        found = self.catalog.objects.get(ident)
        if not found:
            for kind in ("table", "view"):
                seen = self.ask(kind + "_exists", *ident)
                agree(seen.status == 404, f"a {kind} that should not be there: {ident} {seen}")
            return
        expected = Expected(200, document=found.document, file=found.file, mode="all")
        try:
            self.compare({"method": "GET"}, expected, seen or self.load(ident, found.kind))
        except Mismatch as error:
            raise Mismatch(f"afterwards, {ident}: {error}") from None

    def look_everywhere(self):
        catalog = self.catalog
        top = (self.root,)
        todo, seen_all = [top], set()
        while todo:
            path = todo.pop()
            self.look_at_namespace(path)
            if path not in catalog.namespaces:
                continue
            seen_all.add(path)
            for op in ("list_namespaces", "list_tables", "list_views"):
                request = self.prepared({"op": op, "ns": list(path)})
                seen = self.send(request)
                self.compare(request, catalog.perform(request, seen), seen)
            todo += [(*path, child) for child in catalog.children(path)]
        agree(seen_all == set(catalog.namespaces), "namespaces outside the root")
        for ident in catalog.objects:
            self.look_at(ident)
