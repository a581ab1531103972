"""An S3 in memory that misbehaves as a test tells it, for what real stores do on bad days.

    with S3Stub() as store, Server(store=store, env={"FIRN_CACHE": "0"}) as firn:
        store.play(SLOW_DOWN, SLOW_DOWN, on="PUT")     two requests, the next ones are as always
        store.always(SLOW_DOWN, on="GET", key=".metadata.json")
        store.heal()

Every request that arrives is judged by botocore: its signature, its time, its region, the digest of its
body. A fault is a function of a request; those in capitals here are the known ones, and the functions in
small letters make more.
"""

import base64
import datetime
import email.utils
import hashlib
import http.server
import secrets
import socket
import struct
import threading
import time
import urllib.parse
import xml.sax.saxutils

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from held import hold

SKEW = 15 * 60


def error(status, code, message="words of the store", headers=None, more=""):
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>'
    return status, {"Content-Type": "application/xml"} | (headers or {}), body.encode()


# --- faults: what becomes of a request --------------------------------------------------------------


def answers(status, code, headers=None, more=""):
    """Nothing is done, and the store says why."""
    return lambda request: request.reply(*error(status, code, headers=headers, more=more))


def says(status, body, headers=None):
    """Nothing is done, and something else answers."""
    return lambda request: request.reply(status, {"Content-Type": "text/html"} | (headers or {}), body)


def redirect(where):
    """A bucket that is said to live elsewhere: the address in all the places that are known."""
    host = urllib.parse.urlsplit(where).netloc
    return answers(307, "TemporaryRedirect", {"Location": where}, f"<Endpoint>{host}</Endpoint>")


def moved(region, where):
    host = urllib.parse.urlsplit(where).netloc
    return answers(301, "PermanentRedirect", {"Location": where, "x-amz-bucket-region": region},
                   f"<Endpoint>{host}</Endpoint>")


def but_first(fault):
    """The request is carried out, then the fault is all that is heard of it."""
    def both(request):
        request.carry_out()
        fault(request)
    return both


def cut(request):
    """The connection is torn down."""
    request.close_connection = True
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.connection.close()


def truncated(request):
    """More bytes are promised than come."""
    status, headers, body = request.carry_out()
    request.head(status, headers | {"Content-Length": str(len(body) + 1000)})
    request.wfile.write(body[:len(body) // 2])
    request.close_connection = True


def cut_in_the_body(request):
    status, headers, body = request.carry_out()
    request.head(status, headers | {"Content-Length": str(max(len(body), 2))})
    request.wfile.write(body[:len(body) // 2])
    request.wfile.flush()
    cut(request)


def dripping(request):
    """A few bytes a second, for as long as anybody listens."""
    status, headers, body = request.carry_out()
    request.head(status, headers | {"Content-Length": str(max(len(body), 2000))})
    while not request.server.owner.healed.wait(0.2):
        request.wfile.write(b" ")
        request.wfile.flush()
    request.close_connection = True


def huge(request):
    """A body without an end."""
    request.head(200, {"Transfer-Encoding": "chunked"})
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while not request.server.owner.healed.is_set():
        request.wfile.write(piece)


def large_headers(request):
    status, headers, body = request.carry_out()
    request.reply(status, headers | {f"x-amz-meta-{i}": "v" * 4000 for i in range(60)}, body)


def endless_header(request):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nx-amz-meta-a: ")
    while not request.server.owner.healed.is_set():
        request.wfile.write(b"v" * 0x10000)


def another_range(request):
    """Part of what was asked for, as if it had been asked for."""
    _, headers, body = request.carry_out()
    half = body[:len(body) // 2]
    request.reply(206, headers | {"Content-Range": f"bytes 0-{len(half) - 1}/{len(body)}"}, half)


SLOW_DOWN = answers(503, "SlowDown")
INTERNAL_ERROR = answers(500, "InternalError")
REQUEST_TIMEOUT = answers(400, "RequestTimeout")
CONFLICT = answers(409, "ConditionalRequestConflict")
NOT_IMPLEMENTED = answers(501, "NotImplemented")
DENIED = answers(403, "AccessDenied")
ERROR_IN_200 = answers(200, "InternalError")
PAGE = says(200, b"<!DOCTYPE html><html>please log in</html>")
BAD_GATEWAY = says(502, b"<html>bad gateway</html>")
ANSWER_LOST = but_first(cut)
ERROR_AFTERWARDS = but_first(INTERNAL_ERROR)
GATEWAY_AFTERWARDS = but_first(BAD_GATEWAY)


# --- the store --------------------------------------------------------------------------------------


class _Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Quiet."""

    def any_method(self):
        store = self.server.owner
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.key = urllib.parse.unquote(self.path.partition("?")[0]).removeprefix(f"/{store.bucket}").removeprefix("/")
        self.query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
        self.wrong = store.judge(self)
        fault = store.next_fault(self)
        if fault:
            fault(self)
        else:
            self.reply(*self.carry_out())

    def carry_out(self):
        return self.wrong or self.server.owner.answer(self)

    def head(self, status, headers):
        self.send_response_only(status)
        for name, value in ({"Date": self.server.owner.date(), "x-amz-request-id": secrets.token_hex(8)} | headers).items():
            self.send_header(name, value)
        self.end_headers()

    def reply(self, status, headers, body):
        self.head(status, {"Content-Length": str(len(body))} | headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = any_method


class _Http(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        """Whoever is dripped on hangs up."""


class Canary:
    """An address that nobody must connect to; what came nevertheless is in `heard`."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.heard = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def _listen(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.heard.append(connection.recv(4096))
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class S3Stub:
    """What firn_server calls a store."""

    kind = "s3"

    def __init__(self, region="eu-test-1"):
        self.region = region  # the one that signatures must name
        self.bucket = "bucket"
        self.base = f"s3://{self.bucket}/warehouse"
        self.access_key, self.secret_key = "AKIA" + secrets.token_hex(8).upper(), secrets.token_hex(20)
        hold(self.secret_key)
        self.clock_ahead = 0  # seconds
        self.objects = {}
        self.lock = threading.RLock()
        self.log = []      # (method, key, code of what was wrong) of every request
        self.rules = []
        self.healed = threading.Event()
        self.http = _Http(("127.0.0.1", 0), _Request)
        self.http.owner = self
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}"

    @property
    def settings(self):
        return {"FIRN_S3_ENDPOINT": self.url, "FIRN_S3_REGION": self.region, "FIRN_S3_ACCESS_KEY_ID": self.access_key,
                "FIRN_S3_SECRET_ACCESS_KEY": self.secret_key}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.heal()
        self.http.shutdown()
        self.http.server_close()

    # -- what a test says and asks --

    def play(self, *faults, on=None, key=""):
        """What becomes of the next requests of this method whose key ends so, one after the other."""
        with self.lock:
            self.healed.clear()
            self.rules.append([on, key, list(faults), False])

    def always(self, fault, on=None, key=""):
        with self.lock:
            self.healed.clear()
            self.rules.append([on, key, [fault], True])

    def heal(self):
        """From now on all is well, and what hangs is let go of."""
        with self.lock:
            self.rules.clear()
        self.healed.set()

    def count(self, method=None, key="", since=0):
        with self.lock:
            return sum(1 for m, k, _ in self.log[since:] if method in (None, m) and k.endswith(key))

    def refused(self, since=0):
        """The codes of requests that were signed wrongly."""
        with self.lock:
            return [code for _, _, code in self.log[since:] if code]

    def read(self, uri):
        return self.objects[self._key(uri)]

    def write(self, uri, data):
        self.objects[self._key(uri)] = data

    def delete(self, uri):
        del self.objects[self._key(uri)]

    def exists(self, uri):
        return self._key(uri) in self.objects

    def list(self, uri=None):
        prefix = self._key(uri or self.base).rstrip("/") + "/"
        with self.lock:
            return sorted(f"s3://{self.bucket}/{key}" for key in self.objects if key.startswith(prefix))

    def clear(self):
        with self.lock:
            self.objects.clear()

    def _key(self, uri):
        return uri.removeprefix(f"s3://{self.bucket}/")

    # -- how it answers --

    def next_fault(self, request):
        with self.lock:
            code = request.wrong and request.wrong[2].decode().split("<Code>")[1].split("<")[0]
            self.log.append((request.command, request.key, code))
            for rule in self.rules:
                on, key, faults, forever = rule
                if on in (None, request.command) and request.key.endswith(key) and faults:
                    return faults[0] if forever else faults.pop(0)
        return None

    def now(self):
        return time.time() + self.clock_ahead

    def date(self):
        return email.utils.formatdate(self.now(), usegmt=True)

    def judge(self, request):
        """None, or the answer to a request that is not signed as it must be."""
        given = request.headers.get("Authorization", "")
        if not given.startswith("AWS4-HMAC-SHA256 "):
            return error(403, "AccessDenied")
        parts = dict(p.strip().split("=", 1) for p in given.split(" ", 1)[1].split(","))
        key_id, day, region, service, end = parts["Credential"].split("/")
        if key_id != self.access_key:
            return error(403, "InvalidAccessKeyId")
        if region != self.region:
            return error(400, "AuthorizationHeaderMalformed", f"the region '{region}' is wrong; expecting '{self.region}'",
                         more=f"<Region>{self.region}</Region>")
        stamp = request.headers["x-amz-date"]
        when = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()
        if abs(when - self.now()) > SKEW:
            return error(403, "RequestTimeTooSkewed")
        if (service, end, day) != ("s3", "aws4_request", stamp[:8]) or request.headers["Host"] != self.url[7:]:
            return error(403, "SignatureDoesNotMatch")
        if self._signature(request, parts, region) != parts["Signature"]:
            return error(403, "SignatureDoesNotMatch")
        if request.headers["x-amz-content-sha256"] != hashlib.sha256(request.body).hexdigest():
            return error(400, "XAmzContentSHA256Mismatch")
        md5 = request.headers.get("Content-MD5")
        if md5 and md5 != base64.b64encode(hashlib.md5(request.body).digest()).decode():
            return error(400, "BadDigest")
        return None

    def _signature(self, request, parts, region):
        """As botocore makes it of what arrived."""
        names = parts["SignedHeaders"].split(";")
        asked = AWSRequest(method=request.command, url=f"{self.url}{request.path}", data=request.body,
                           headers={name: request.headers[name] or "" for name in names})
        asked.context["timestamp"] = request.headers["x-amz-date"]
        auth = S3SigV4Auth(Credentials(self.access_key, self.secret_key), "s3", region)
        return auth.signature(auth.string_to_sign(asked, auth.canonical_request(asked)), asked)

    def answer(self, request):
        with self.lock:
            return self._list(request.query) if not request.key else self._object(request)

    def _object(self, request):
        found = self.objects.get(request.key)
        if request.command == "PUT":
            if found is not None and request.headers.get("If-None-Match") == "*":
                return error(412, "PreconditionFailed")
            self.objects[request.key] = request.body
            return 200, {"ETag": _tag(request.body)}, b""
        if request.command == "DELETE":
            self.objects.pop(request.key, None)
            return 204, {}, b""
        if found is None:
            return error(404, "NoSuchKey")
        return 200, {"ETag": _tag(found), "Content-Type": "application/json"}, found

    def _list(self, query):
        prefix, folders, items = query.get("prefix", ""), set(), ""
        for key, value in sorted(self.objects.items()):
            if not key.startswith(prefix):
                continue
            head, slash, _ = key[len(prefix):].partition(query.get("delimiter") or "\0")
            if slash:
                folders.add(prefix + head + slash)
            else:
                items += f"<Contents><Key>{_xml(key)}</Key><Size>{len(value)}</Size></Contents>"
        items += "".join(f"<CommonPrefixes><Prefix>{_xml(f)}</Prefix></CommonPrefixes>" for f in sorted(folders))
        body = (f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{items}"
                "</ListBucketResult>")
        return 200, {"Content-Type": "application/xml"}, body.encode()


def _xml(key):
    return xml.sax.saxutils.escape(urllib.parse.quote(key))


def _tag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'
