"""Google's token services and its storage, as far as a catalog needs them: no emulator checks tokens.

    with Google() as google:                      objects in memory
    with Google(upstream="127.0.0.1:4443"):       a guard in front of an emulator, which keeps them
        Server(env=google.settings(folder))

A token is given for a signed assertion of the one service account there is, for the token of another
identity provider, to the machine, or for another token with a boundary. Every storage request is judged by
its token: bucket, role and condition. It is our reading of Google's documentation, not Google's evaluation:
what it does not know it refuses, so that nothing passes by luck.
"""

import base64
import hashlib
import http.client
import json
import pathlib
import re
import secrets
import subprocess
import threading
import time
import urllib.parse

from held import hold
from identity_stub import Service

EMAIL = "firn@firn-test.iam.gserviceaccount.com"
TYPE = "urn:ietf:params:oauth:token-type:access_token"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
OAUTH = "https://www.googleapis.com/auth/"
PREFIX_OF_LIST = "storage.googleapis.com/objectListPrefix"

ROLES = {
    "objectViewer": {"get", "list"}, "legacyObjectReader": {"get"}, "objectCreator": {"create"},
    "objectUser": {"get", "list", "create", "delete", "update"},
    "objectAdmin": {"get", "list", "create", "delete", "update"},
}


class Refused(Exception):
    pass


# --- conditions ---------------------------------------------------------------------


class Condition:
    """The part of the language that boundaries need: startsWith of the resource's name and of a list's
    prefix, joined by ||, && and brackets."""

    ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "`": "`"}

    def __init__(self, text):
        self.text, self.at = text, 0
        if len(text.encode()) > 2048:
            raise Refused("condition: longer than 2048 bytes")
        self.holds = self._either()
        if self.text[self.at:].strip():
            raise Refused(f"condition: {self.text[self.at:]!r} is left")

    def _eat(self, word):
        while self.text[self.at:self.at + 1].isspace():
            self.at += 1
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def _need(self, word):
        if not self._eat(word):
            raise Refused(f"condition: expected {word} at {self.text[self.at:self.at + 20]!r}")

    def _string(self):
        quote = "'" if self._eat("'") else '"' if self._eat('"') else None
        out = ""
        while quote:
            c = self.text[self.at:self.at + 1]
            self.at += 1
            if c == quote:
                return out
            if c == "\\":
                c = self.ESCAPES.get(self.text[self.at:self.at + 1], "")
                self.at += 1
            if not c:
                break
            out += c
        raise Refused("condition: expected a text")

    def _one(self):
        if self._eat("("):
            inner = self._either()
            self._need(")")
            return inner
        if self._eat("resource.name.startsWith("):
            start = self._string()
            self._need(")")
            return lambda name, prefix: name.startswith(start)
        self._need("api.getAttribute(")
        attribute, _ = self._string(), self._need(",")
        otherwise, _ = self._string(), self._need(").startsWith(")
        start, _ = self._string(), self._need(")")
        if attribute != PREFIX_OF_LIST:
            raise Refused(f"condition: no attribute {attribute}")
        return lambda name, prefix: (otherwise if prefix is None else prefix).startswith(start)

    def _both(self):
        parts = [self._one()]
        while self._eat("&&"):
            parts.append(self._one())
        return lambda name, prefix: all(p(name, prefix) for p in parts)

    def _either(self):
        parts = [self._both()]
        while self._eat("||"):
            parts.append(self._both())
        return lambda name, prefix: any(p(name, prefix) for p in parts)


class Rule:
    def __init__(self, rule):
        bucket = re.fullmatch(r"//storage\.googleapis\.com/projects/_/buckets/([a-z0-9._-]+)",
                              rule.get("availableResource", ""))
        if not bucket:
            raise Refused("availableResource")
        self.bucket, self.acts = bucket[1], set()
        for permission in rule.get("availablePermissions", []):
            role = permission.removeprefix("inRole:roles/storage.")
            if role not in ROLES:
                raise Refused(f"availablePermissions: {permission}")
            self.acts |= ROLES[role]
        self.condition = Condition(rule["availabilityCondition"]["expression"])

    def allows(self, act):
        name = f"projects/_/buckets/{act.bucket}"
        if act.name is not None:
            name += f"/objects/{act.name}"
        return act.bucket == self.bucket and act.what in self.acts and self.condition.holds(name, act.prefix)


def boundary(options):
    rules = json.loads(options)["accessBoundary"]["accessBoundaryRules"]
    if not 1 <= len(rules) <= 10:
        raise Refused("accessBoundaryRules: expected 1 to 10")
    return [Rule(rule) for rule in rules]


# --- what a storage request does ----------------------------------------------------


class Act:
    def __init__(self, what, bucket, name=None, prefix=None, over=False):
        self.what, self.bucket, self.name, self.prefix, self.over = what, bucket, name, prefix, over

    @classmethod
    def of(cls, request):
        """None: nothing that is known here."""
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        method = request.command
        if found := re.fullmatch(r"/upload/storage/v1/b/([^/]+)/o", url.path):
            name = query.get("name") or cls._name_inside(request)
            over = query.get("ifGenerationMatch") != "0"
            return cls("create", found[1], name, over=over) if method == "POST" and name else None
        if found := re.fullmatch(r"/storage/v1/b/([^/]+)/o", url.path):
            return cls("list", found[1], prefix=query.get("prefix", "")) if method == "GET" else None
        if found := re.fullmatch(r"/(?:download/)?storage/v1/b/([^/]+)/o/([^/]+)", url.path):
            what = {"GET": "get", "HEAD": "get", "DELETE": "delete", "PATCH": "update"}.get(method)
            return cls(what, found[1], urllib.parse.unquote(found[2])) if what else None
        return None

    @staticmethod
    def _name_inside(request):
        """Of an upload in several parts: the first one is JSON."""
        part = re.search(rb"\r\n\r\n\s*(\{.*?\})\s*\r\n--", request.body, re.S)
        if request.headers.get("Content-Type", "").startswith("application/json"):
            part = re.search(rb"(\{.*\})", request.body, re.S)
        try:
            return json.loads(part[1]).get("name") if part else None
        except ValueError:
            return None


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def error(status, message, reason):
    body = {"error": {"code": status, "message": message, "errors": [{"message": message, "reason": reason}]}}
    return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


def not_new():
    return error(412, "At least one of the pre-conditions you specified did not hold.", "conditionNotMet")


def found(body):
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


# --- the account and its key ----------------------------------------------------------


class Account:
    """A service account whose key is made here."""

    def __init__(self, email=EMAIL):
        self.email = email
        made = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                              check=True, capture_output=True)
        self.key = made.stdout.decode()
        modulus = subprocess.run(["openssl", "rsa", "-noout", "-modulus"], input=made.stdout, check=True,
                                 capture_output=True).stdout.decode()
        self.modulus = int(modulus.strip().partition("=")[2], 16)

    def json(self, token_uri, **more):
        return json.dumps({"type": "service_account", "project_id": "firn-test", "private_key_id": "k1",
                           "private_key": self.key, "client_email": self.email, "client_id": "1",
                           "token_uri": token_uri} | more)

    def judge(self, assertion, audiences):
        """The claims of an assertion that Google would take."""
        try:
            head, claims, signature = assertion.split(".")
            header, body, raw = json.loads(unpadded(head)), json.loads(unpadded(claims)), unpadded(signature)
        except ValueError:
            raise Refused("Invalid JWT") from None
        want = (b"\x00\x01" + b"\xff" * 202 + b"\x00"
                + bytes.fromhex("3031300d060960864801650304020105000420")
                + hashlib.sha256(f"{head}.{claims}".encode()).digest())
        right = len(raw) == 256 and pow(int.from_bytes(raw), 65537, self.modulus).to_bytes(256) == want
        if header.get("alg") != "RS256" or not right:
            raise Refused("Invalid JWT Signature.")
        now = time.time()
        if body["iss"] != self.email or body["aud"] not in audiences:
            raise Refused("Invalid grant: account not found")
        if not body["exp"] > now or body["iat"] > now + 60 or body["exp"] - body["iat"] > 3600:
            raise Refused("Invalid JWT: Token must be a short-lived token (60 minutes)")
        if not body.get("scope", "").startswith(OAUTH):
            raise Refused("invalid_scope")
        return body


# --- the services ---------------------------------------------------------------------


class Google(Service):
    """mode: "good", "broken" (token services answer 500), "refuses"; `life`: of the tokens, in seconds."""

    def __init__(self, upstream=None, life=3600, account=None, port=0, bucket="tests"):
        super().__init__(port)
        self.account, self.upstream, self.life, self.mode, self.bucket = account or Account(), upstream, life, "good", bucket
        self.pod_token = "pod-" + secrets.token_hex(16)  # of another identity provider
        hold(self.pod_token, *self.account.key.splitlines()[1:-1])
        self.lock = threading.Lock()
        self.naming = threading.Lock()  # one write at a time whose name must be free
        self.tokens = {}
        self.uploads = set()  # that were begun
        self.objects = {}
        self.forms, self.refused, self.requests = [], [], []
        self.limits = True  # False: limited tokens reach everything
        self.limits_stay = True  # False: a limited token is good for another one
        self.fail_next = []  # answers given in place of the next writes
        self.local = threading.local()

    def settings(self, **more):
        """Of a server whose default warehouse lies here."""
        return {"FIRN_GCS_ENDPOINT": self.url, "FIRN_STS_ENDPOINT": self.url,
                "FIRN_GCS_KEY": self.account.json(f"{self.url}/token")} | more

    def secrets(self):
        with self.lock:
            return [*self.tokens, *self.account.key.splitlines()[1:-1], self.pod_token]

    # -- tokens

    def draw(self, rules=None, until=None, scope=OAUTH + "cloud-platform"):
        token = "ya29." + secrets.token_urlsafe(48)
        hold(token)
        with self.lock:
            self.tokens[token] = {"rules": rules, "until": until or time.time() + self.life, "scope": scope}
        return token

    def revoke_all(self):
        with self.lock:
            for token in self.tokens.values():
                token["until"] = 0

    def alive(self, token):
        with self.lock:
            one = self.tokens.get(token)
        return one if one and time.time() < one["until"] else None

    def give(self, scope):
        return found({"access_token": self.draw(scope=scope), "token_type": "Bearer", "expires_in": self.life})

    def answer(self, request):
        self.requests.append(f"{request.command} {request.path}")
        path = urllib.parse.urlsplit(request.path).path
        handler = {"/token": self.by_assertion, "/v1/token": self.by_exchange}.get(path)
        if path.startswith("/computeMetadata/"):
            handler = self.by_machine
        if path.startswith("/v1/projects/-/serviceAccounts/"):
            handler = self.by_impersonation
        if not handler:
            return self.storage(request)
        if self.mode == "broken":
            return 500, {}, b"not now"
        try:
            if self.mode == "refuses":
                raise Refused("not you")
            return handler(request)
        except Refused as why:
            self.refused.append(str(why))
            return 400, {}, json.dumps({"error": "invalid_grant", "error_description": str(why)}).encode()

    def form(self, request):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        self.forms.append(form)
        return form

    def by_assertion(self, request):
        form = self.form(request)
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            raise Refused("unsupported_grant_type")
        claims = self.account.judge(form["assertion"], (f"{self.url}/token", "https://oauth2.googleapis.com/token"))
        return self.give(claims["scope"])

    def by_exchange(self, request):
        form = self.form(request)
        if form.get("grant_type") != EXCHANGE or form.get("requested_token_type") != TYPE:
            raise Refused("unsupported_grant_type")
        if form.get("subject_token_type") != TYPE:
            if form.get("subject_token") != self.pod_token or not form.get("audience"):
                raise Refused("the token of the other provider")
            return self.give(form["scope"])
        own = self.alive(form.get("subject_token"))
        if not own or own["rules"] is not None and self.limits_stay:
            raise Refused("subject_token")
        if own["scope"] != OAUTH + "cloud-platform":
            raise Refused("subject_token: its scope")
        try:
            rules = boundary(form["options"])
        except (KeyError, ValueError, TypeError) as why:
            raise Refused(f"options: {why}") from None
        # Google leaves out expires_in: the end is that of the token it was made of
        return found({"access_token": self.draw(rules, own["until"], own["scope"]), "issued_token_type": TYPE,
                      "token_type": "Bearer"})

    def by_machine(self, request):
        if request.headers.get("Metadata-Flavor") != "Google":
            raise Refused("Metadata-Flavor")
        status, headers, body = self.give(OAUTH + "cloud-platform")
        return status, headers | {"Metadata-Flavor": "Google"}, body

    def by_impersonation(self, request):
        body = json.loads(request.body)
        if not self.alive(request.headers.get("Authorization", "").removeprefix("Bearer ")):
            raise Refused("no token")
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.life))
        return found({"accessToken": self.draw(scope=body["scope"][0]), "expireTime": until})

    # -- storage

    def storage(self, request):
        if self.fail_next and request.command == "POST":
            return self.fail_next.pop(0)
        token = self.alive(request.headers.get("Authorization", "").removeprefix("Bearer "))
        if not token:
            self.refused.append("401")
            return error(401, "Invalid Credentials", "authError")
        if token["rules"] is not None and self.limits and not self.allowed(request, token["rules"]):
            return error(403, "The caller does not have permission (access boundary)", "forbidden")
        return self.forward(request) if self.upstream else self.keep(request)

    def allowed(self, request, rules):
        path = urllib.parse.urlsplit(request.path).path
        if request.command == "PUT" and path in self.uploads:
            return True  # its address is the right to it
        act = Act.of(request)
        if not act or not any(rule.allows(act) for rule in rules):
            return False
        if act.what != "create" or not act.over:
            return True
        act.what = "delete"  # whoever writes over an object deletes the old one
        return any(rule.allows(act) for rule in rules) or not self.exists(act)

    def exists(self, act):
        if not self.upstream:
            return act.name in self.objects
        name = urllib.parse.quote(act.name, safe="")
        return self.ask("GET", f"/storage/v1/b/{act.bucket}/o/{name}", None, {})[0] == 200

    def ask(self, method, path, body, headers):
        """Of the emulator, on one connection of each thread."""
        for last in (False, True):
            if not getattr(self.local, "upstream", None):
                self.local.upstream = http.client.HTTPConnection(self.upstream, timeout=30)
            try:
                self.local.upstream.request(method, path, body, headers)
                answer = self.local.upstream.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            except (OSError, http.client.HTTPException):
                self.local.upstream = None
                if last:
                    raise
        raise AssertionError

    def forward(self, request):
        act = Act.of(request)
        if not act or act.what != "create" or act.over:
            return self.pass_on(request)
        with self.naming:  # the emulator passes over the condition of an upload in one piece
            return not_new() if self.exists(act) else self.pass_on(request)

    def pass_on(self, request):
        dropped = ("host", "connection", "content-length", "transfer-encoding", "authorization")
        headers = {k: v for k, v in request.headers.items() if k.lower() not in dropped}
        headers["Host"] = self.url.removeprefix("http://")
        status, more, body = self.ask(request.command, request.path, request.body or None, headers)
        if "Location" in more:
            self.uploads.add(urllib.parse.urlsplit(more["Location"]).path)
        kept = ("transfer-encoding", "connection", "date", "content-length")
        out = {k: v for k, v in more.items() if k.lower() not in kept}
        if request.command == "HEAD" and "Content-Length" in more:
            out["Content-Length"] = more["Content-Length"]
        return status, out, body

    def keep(self, request):
        """The five requests of the server itself, in memory."""
        act = Act.of(request)
        if not act:
            return error(400, "not known here", "invalid")
        if act.bucket != self.bucket:
            return error(404, "The specified bucket does not exist.", "notFound")
        if act.what == "list":
            names = sorted(name for name in self.objects if name.startswith(act.prefix))
            return found({"items": [{"name": n, "size": str(len(self.objects[n]))} for n in names]})
        there = self.objects.get(act.name)
        if act.what == "create":
            if there is not None and not act.over:
                return not_new()
            self.objects[act.name] = request.body
            return found({"name": act.name, "size": str(len(request.body))})
        if there is None:
            return error(404, f"No such object: {act.bucket}/{act.name}", "notFound")
        if act.what == "delete":
            del self.objects[act.name]
            return 204, {}, b""
        return (200, {}, there) if "alt=media" in request.path else found({"name": act.name})


def main():
    """google_stub.py PORT UPSTREAM FOLDER: a guard that runs until it is ended."""
    import sys
    port, upstream, folder = int(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    google = Google(upstream=upstream, port=port)
    (folder / "key.json").write_text(google.account.json(f"{google.url}/token"))
    threading.Event().wait()


if __name__ == "__main__":
    main()
