"""A store and the services that give keys to it, for tests of keys that come, go and are wrong.

    keys = Keys()                      which keys exist, and until when
    with Store(keys) as store, Identity(keys, life=4) as identity:
        Server(store=store, env=identity.container())

The store is a small S3 in memory that judges every signature by itself. The services are the
container's endpoint, the instance metadata service and a security token service, all at one
address; each answer draws new keys that live `life` seconds.
"""

import datetime
import hashlib
import hmac
import http.server
import itertools
import json
import secrets
import threading
import time
import urllib.parse
import xml.sax.saxutils

from held import hold


class Keys:
    """Every pair that was given, with its token, and when the store stops taking it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.known = {}
        self._numbers = itertools.count(1)

    def draw(self, life=None, token=True):
        pair = {"id": f"ASIA{next(self._numbers):016}", "secret": secrets.token_hex(20),
                "token": "t-" + secrets.token_hex(40) if token else None,
                "until": time.time() + life if life else None}
        with self.lock:
            self.known[pair["id"]] = pair
        hold(pair["secret"], pair["token"])
        return pair

    def revoke_all(self):
        with self.lock:
            for pair in self.known.values():
                pair["until"] = 0

    def secrets(self):
        with self.lock:
            return [s for pair in self.known.values() for s in (pair["secret"], pair["token"]) if s]

    def judge(self, request, service):
        """None, or the code of what is wrong with the request's signature."""
        given = request.headers.get("Authorization", "")
        if not given.startswith("AWS4-HMAC-SHA256 "):
            return "AccessDenied"
        parts = dict(p.strip().split("=", 1) for p in given.split(" ", 1)[1].split(","))
        key_id, scope = parts["Credential"].split("/", 1)
        with self.lock:
            pair = self.known.get(key_id)
        if pair is None:
            return "InvalidAccessKeyId"
        if request.headers.get("x-amz-security-token") != pair["token"]:
            return "InvalidToken"
        if pair["until"] is not None and time.time() >= pair["until"]:
            return "ExpiredToken"
        if scope.split("/")[2] != service:
            return "SignatureDoesNotMatch"
        right = sign(request, pair["secret"], scope, parts["SignedHeaders"].split(";"))
        return None if hmac.compare_digest(right, parts["Signature"]) else "SignatureDoesNotMatch"


def sign(request, secret, scope, names):
    path, _, query = request.path.partition("?")
    pairs = sorted((p.partition("=")[0], p.partition("=")[2]) for p in query.split("&") if p)
    headers = "".join(f"{n}:{' '.join(request.headers[n].split())}\n" for n in names)
    body = request.headers.get("x-amz-content-sha256") or hashlib.sha256(request.body).hexdigest()
    canonical = "\n".join([request.command, path, "&".join(f"{k}={v}" for k, v in pairs), headers,
                           ";".join(names), body])
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_any(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, body = self.server.owner.answer(self)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do_PATCH = handle_any

    def log_message(self, *_):
        pass


class Service:
    def __init__(self, port=0):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self.http.daemon_threads = True
        self.http.owner = self
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def _error(status, code, message=""):
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return status, {"Content-Type": "application/xml"}, body.encode()


class Store(Service):
    """What firn_server calls a store."""

    kind = "s3"
    base = "s3://bucket/warehouse"

    def __init__(self, keys):
        super().__init__()
        self.keys = keys
        self.objects = {}
        self.refused = []
        self.settings = {"FIRN_S3_ENDPOINT": self.url, "FIRN_S3_REGION": "us-east-1"}

    def clear(self):
        self.objects.clear()

    def answer(self, request):
        wrong = self.keys.judge(request, "s3")
        if wrong:
            self.refused.append(wrong)
            return _error(400 if wrong in ("ExpiredToken", "InvalidToken") else 403, wrong, "words of the store")
        path, _, query = request.path.partition("?")
        key = urllib.parse.unquote(path).removeprefix("/bucket").removeprefix("/")
        return self.list(query) if not key else self.one(request, key)

    def one(self, request, key):
        found = self.objects.get(key)
        if request.command == "PUT":
            if found is not None and request.headers.get("If-None-Match") == "*":
                return _error(412, "PreconditionFailed")
            self.objects[key] = request.body
            return 200, {}, b""
        if request.command == "DELETE":
            self.objects.pop(key, None)
            return 204, {}, b""
        if found is None:
            return _error(404, "NoSuchKey")
        return 200, {"Content-Length": str(len(found))}, found

    def list(self, query):
        prefix = urllib.parse.parse_qs(query).get("prefix", [""])[0]
        found = "".join(
            f"<Contents><Key>{xml.sax.saxutils.escape(k)}</Key><Size>{len(v)}</Size></Contents>"
            for k, v in sorted(self.objects.items()) if k.startswith(prefix))
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        return 200, {"Content-Type": "application/xml"}, body.encode()


class Identity(Service):
    """mode: "good", "broken" (answers 500), "refuses", or "stalls" until it is something else."""

    role = "arn:aws:iam::1:role/firn"
    ANY = object()

    def __init__(self, keys, life=3600):
        super().__init__()
        self.keys, self.life, self.mode = keys, life, "good"
        self.token = "pod-" + secrets.token_hex(16)  # what callers must show
        self.session = "imds-" + secrets.token_hex(16)
        hold(self.token, self.session)
        self.external_id = None  # ANY: whichever
        self.requests = []
        self.forms = []  # of requests to the security token service

    # -- settings of a server that uses one of the services

    def container(self, folder):
        (folder / "pod-token").write_text(self.token + "\n")
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/container/keys",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "pod-token")}

    def instance(self):
        return {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url}

    def web(self, folder):
        (folder / "web-token").write_text(self.token + "\n")
        return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / "web-token"), "AWS_ROLE_ARN": self.role,
                "FIRN_STS_ENDPOINT": self.url}

    # -- answers

    def answer(self, request):
        self.requests.append(f"{request.command} {request.path}")
        while self.mode == "stalls":
            time.sleep(0.05)
        if self.mode == "broken":
            return 500, {}, b"not now"
        if request.path == "/":
            return self.answer_sts(request)
        if request.path == "/container/keys":
            return self.answer_container(request)
        return self.answer_instance(request)

    def draw(self):
        pair = self.keys.draw(self.life)
        when = datetime.datetime.fromtimestamp(pair["until"], datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return pair, when

    def json_keys(self, **more):
        pair, when = self.draw()
        return 200, {}, json.dumps(more | {"AccessKeyId": pair["id"], "SecretAccessKey": pair["secret"],
                                           "Token": pair["token"], "Expiration": when}).encode()

    def answer_container(self, request):
        if self.mode == "refuses" or request.headers.get("Authorization") != self.token:
            return 401, {}, b'{"message": "this token is not known here"}'
        return self.json_keys()

    def answer_instance(self, request):
        path = request.path.removeprefix("/latest/")
        if request.command == "PUT" and path == "api/token":
            if self.mode == "refuses" or "X-aws-ec2-metadata-token-ttl-seconds" not in request.headers:
                return 403, {}, b""
            return 200, {}, self.session.encode()
        if request.headers.get("X-aws-ec2-metadata-token") != self.session:
            return 401, {}, b""
        if path == "meta-data/iam/security-credentials/":
            return 200, {}, b"firn-role"
        if path == "meta-data/iam/security-credentials/firn-role":
            return self.json_keys(Code="Success", Type="AWS-HMAC")
        return 404, {}, b""

    def answer_sts(self, request):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        action = form["Action"]
        self.forms.append(form)
        if form["RoleArn"] != self.role or form["Version"] != "2011-06-15" or not form["RoleSessionName"]:
            return _error(403, "AccessDenied", "not this role")
        if action == "AssumeRoleWithWebIdentity":
            wrong = "InvalidIdentityToken" if form["WebIdentityToken"] != self.token else None
        else:
            wrong = self.keys.judge(request, "sts")
            if self.external_id is not self.ANY and form.get("ExternalId") != self.external_id:
                wrong = "AccessDenied"
        if self.mode == "refuses" or wrong:
            return _error(400, wrong or "AccessDenied", "the token is not one of ours")
        pair, when = self.draw()
        body = (f"<{action}Response><{action}Result><Credentials><AccessKeyId>{pair['id']}</AccessKeyId>"
                f"<SecretAccessKey>{pair['secret']}</SecretAccessKey><SessionToken>{pair['token']}</SessionToken>"
                f"<Expiration>{when}</Expiration></Credentials></{action}Result></{action}Response>")
        return 200, {"Content-Type": "text/xml"}, body.encode()
