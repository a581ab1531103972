"""A storage account of Azure with directories, and the services that give tokens for it, as far as a catalog
needs them: no emulator checks tokens or signatures for a directory.

    with Azure() as azure:
        Server(store=azure, env=azure.application())

Objects are kept in memory. A request is judged by its token, or by its signature: whose key, which times,
which directory, which permissions. It is our reading of Azure's documentation, not Azure: what it does not
know it refuses, so that nothing passes by luck.
"""

import base64
import datetime
import email.utils
import hashlib
import hmac
import json
import secrets
import threading
import time
import urllib.parse
import xml.etree.ElementTree
import xml.sax.saxutils

from identity_stub import Service

ACCOUNT, CONTAINER = "firnacc", "tests"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Refused(Exception):
    """status, code"""


def error(status, code, message="words of the store"):
    body = f"\ufeff<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}\nRequestId:1</Message></Error>"
    return status, {"x-ms-error-code": code, "Content-Type": "application/xml"}, body.encode()


def when(text):
    return datetime.datetime.strptime(text, FORMAT).replace(tzinfo=datetime.timezone.utc).timestamp()


def stamp(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(FORMAT)


class Act:
    """What a storage request does: the permission that it needs, and the name it is about."""

    def __init__(self, request):
        url = urllib.parse.urlsplit(request.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        parts = urllib.parse.unquote(url.path).split("/", 3)
        self.account, self.container = parts[1], parts[2] if len(parts) > 2 else ""
        self.name = parts[3] if len(parts) > 3 else ""
        self.method = request.command
        self.right = {"GET": "r", "HEAD": "r", "PUT": "c", "DELETE": "d"}.get(self.method)
        if not self.name and self.query.get("comp") == "list":
            self.right, self.name = "l", self.query.get("prefix", "").rstrip("/")


class Azure(Service):
    """mode: "good", "broken" (token services answer 500), "refuses"; `life`: of the tokens, in seconds."""

    kind = "adls"
    base = f"abfss://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net/wh"
    tenant, client = "tenant-1", "client-1"

    def __init__(self, life=3600):
        super().__init__()
        self.life, self.mode = life, "good"
        self.secret = "app/" + secrets.token_urlsafe(24)
        self.assertion = "pod-" + secrets.token_hex(16)  # of another identity provider
        self.header = "app-service-" + secrets.token_hex(8)
        self.lock = threading.Lock()
        self.tokens, self.user_keys, self.objects = {}, {}, {}
        self.forms, self.refused, self.requests = [], [], []
        self.fail_next = []  # answers given in place of the next writes
        self.settings = {"FIRN_AZURE_ENDPOINT": f"{self.url}/{ACCOUNT}"}

    def clear(self):
        self.objects.clear()

    def secrets(self):
        with self.lock:
            return [*self.tokens, *self.user_keys.values(), self.secret, self.assertion, self.header]

    # -- settings of a server that uses one of the services

    def application(self, folder=None):
        return {"AZURE_AUTHORITY_HOST": self.url, "AZURE_TENANT_ID": self.tenant, "AZURE_CLIENT_ID": self.client,
                "AZURE_CLIENT_SECRET": self.secret}

    def workload(self, folder):
        (folder / "pod").write_text(self.assertion + "\n")
        return {"AZURE_AUTHORITY_HOST": self.url, "AZURE_TENANT_ID": self.tenant, "AZURE_CLIENT_ID": self.client,
                "AZURE_FEDERATED_TOKEN_FILE": str(folder / "pod")}

    def machine(self, folder=None):
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": self.url}

    def app_service(self, folder=None):
        return {"IDENTITY_ENDPOINT": f"{self.url}/msi/token", "IDENTITY_HEADER": self.header}

    # -- tokens

    def draw(self):
        token = "eyJ." + secrets.token_urlsafe(48)
        with self.lock:
            self.tokens[token] = time.time() + self.life
        return token

    def revoke_all(self):
        with self.lock:
            self.tokens = dict.fromkeys(self.tokens, 0)

    def give(self, **how):
        body = {"access_token": self.draw(), "token_type": "Bearer"} | how
        return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()

    def answer(self, request):
        self.requests.append(f"{request.command} {request.path}")
        url = urllib.parse.urlsplit(request.path)
        tokens = {f"/{self.tenant}/oauth2/v2.0/token": self.by_application, "/msi/token": self.by_app_service,
                  "/metadata/identity/oauth2/token": self.by_machine}.get(url.path)
        if not tokens:
            return self.storage(request)
        if self.mode == "broken":
            return 500, {}, b"not now"
        try:
            if self.mode == "refuses":
                raise Refused("not you")
            return tokens(request, dict(urllib.parse.parse_qsl(url.query)))
        except (Refused, KeyError) as why:
            body = {"error": "invalid_client", "error_description": f"AADSTS1: {why}\r\nTrace ID: 1"}
            return 401, {}, json.dumps(body).encode()

    def by_application(self, request, _):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        self.forms.append(form)
        if form["grant_type"] != "client_credentials" or form["scope"] != "https://storage.azure.com/.default":
            raise Refused("grant or scope")
        if form["client_id"] != self.client:
            raise Refused("client")
        if "client_secret" in form:
            right = form["client_secret"] == self.secret
        else:
            right = form["client_assertion_type"] == ASSERTION and form["client_assertion"] == self.assertion
        if not right:
            raise Refused("secret or assertion")
        return self.give(expires_in=self.life)

    def by_machine(self, request, query):
        if request.headers.get("Metadata") != "true" or query != {
                "api-version": "2018-02-01", "resource": "https://storage.azure.com/"}:
            raise Refused("machine")
        return self.give(expires_in=str(self.life), expires_on=str(int(time.time()) + self.life))

    def by_app_service(self, request, query):
        if request.headers.get("X-IDENTITY-HEADER") != self.header or query["api-version"] != "2019-08-01":
            raise Refused("app service")
        return self.give(expires_on=str(int(time.time()) + self.life))

    # -- who may do what

    def judge(self, request, act):
        if act.account != ACCOUNT:
            raise Refused(400, "InvalidUri")
        given = request.headers.get("Authorization", "")
        if given.startswith("Bearer "):
            with self.lock:
                until = self.tokens.get(given.removeprefix("Bearer "), 0)
            if time.time() >= until:
                raise Refused(401, "InvalidAuthenticationInfo")
        elif "sig" in act.query:
            self.judge_signature(act)
        else:
            raise Refused(401, "NoAuthenticationInformation")

    def judge_signature(self, act):
        q = act.query
        depth = int(q.get("sdd", 0))
        place = "/".join(act.name.split("/")[:depth])
        if q["sr"] not in "dc" or (q["sr"] == "d") != (depth > 0) or len(act.name.split("/")) < depth:
            raise Refused(403, "AuthenticationFailed")
        with self.lock:
            key = self.user_keys.get((q["skoid"], q["skt"], q["ske"]), "")
        resource = f"/blob/{act.account}/{act.container}" + (f"/{place}" if depth else "")
        text = "\n".join([q["sp"], q["st"], q["se"], resource, q["skoid"], q["sktid"], q["skt"], q["ske"], q["sks"],
                          q["skv"], "", "", "", "", q["spr"], q["sv"], q["sr"], "", "", "", "", "", "", ""])
        right = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
        now = time.time()
        if not key or q["sv"] != "2020-12-06" or not hmac.compare_digest(right, q["sig"]):
            raise Refused(403, "AuthenticationFailed")
        if not when(q["st"]) <= now < min(when(q["se"]), when(q["ske"])) or when(q["st"]) < when(q["skt"]):
            raise Refused(403, "AuthenticationFailed")
        if not act.right or act.right not in q["sp"]:
            raise Refused(403, "AuthorizationPermissionMismatch")

    # -- the account

    def storage(self, request):
        act = Act(request)
        try:
            self.judge(request, act)
        except Refused as why:
            self.refused.append(why.args[1])
            return error(*why.args)
        if act.query.get("comp") == "userdelegationkey" and act.method == "POST":
            return self.user_key(request)
        if act.container != CONTAINER:
            return error(404, "ContainerNotFound")
        if act.right == "l":
            return self.list(act.query)
        return self.one(request, act)

    def user_key(self, request):
        info = xml.etree.ElementTree.fromstring(request.body)
        start, expiry = info.findtext("Start"), info.findtext("Expiry")
        if self.mode != "good" or "sig=" in request.path:
            return error(403, "AuthorizationPermissionMismatch")
        if not 0 < when(expiry) - when(start) <= 7 * 24 * 3600:
            return error(400, "OutOfRangeInput")
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        with self.lock:
            self.user_keys[("object-1", start, expiry)] = key
        body = (f"\ufeff<UserDelegationKey><SignedOid>object-1</SignedOid><SignedTid>{self.tenant}</SignedTid>"
                f"<SignedStart>{start}</SignedStart><SignedExpiry>{expiry}</SignedExpiry><SignedService>b</SignedService>"
                f"<SignedVersion>2021-12-02</SignedVersion><Value>{key}</Value></UserDelegationKey>")
        return 200, {"Content-Type": "application/xml"}, body.encode()

    def one(self, request, act):
        found = self.objects.get(act.name)
        if request.command == "PUT":
            if self.fail_next:
                return self.fail_next.pop(0)
            if request.headers.get("x-ms-blob-type") != "BlockBlob":
                return error(400, "MissingRequiredHeader")
            if found is not None and request.headers.get("If-None-Match") == "*":
                return error(409, "BlobAlreadyExists")
            self.objects[act.name] = request.body
            return 201, {}, b""
        if found is None:
            return error(404, "BlobNotFound")
        if request.command == "DELETE":
            del self.objects[act.name]
            return 202, {}, b""
        return 200, {"Content-Length": str(len(found))}, found

    def list(self, query):
        """Directories are listed beside their files."""
        names = {name: len(data) for name, data in self.objects.items()}
        names |= {name.rpartition("/")[0]: None for name in self.objects}
        blobs = ""
        for name, size in sorted(names.items()):
            if name.startswith(query.get("prefix", "")):
                kind = "directory" if size is None else "file"
                blobs += (f"<Blob><Name>{xml.sax.saxutils.escape(name)}</Name><Properties>"
                          f"<Last-Modified>{email.utils.formatdate(usegmt=True)}</Last-Modified>"
                          f"<Content-Length>{size or 0}</Content-Length><ResourceType>{kind}</ResourceType></Properties></Blob>")
        body = f"\ufeff<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker /></EnumerationResults>"
        return 200, {"Content-Type": "application/xml"}, body.encode()
