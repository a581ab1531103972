#!/usr/bin/env python3
"""botocore judges our signer: it builds and signs requests, ours signs the same, all must agree.

usage: botocore_judge.py [PATH_OF_sigv4_print]   (with a Python that has botocore)
Without a path the program of the build folder FIRN_TEST_BUILD is taken.

Two kinds of requests: those of a real botocore client (so its encoding of odd keys is compared with
ours as well), and hand-made ones with odd queries and headers.
"""

import datetime
import os
import random
import subprocess
import sys

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.session
import botocore.utils

TIME = datetime.datetime(2013, 5, 24, 0, 0, 0)
ID, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
ADDED_BY_SIGNER = {"host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"}
KEYS = [
    "a", "a/b/c.json", "a b", "a+b", "a%20b", "a%2Fb", "%", "%%", "%zz", "é=1", "ü/ö", "日本/語", "😀",
    "!*'()", "~-._", "a&b=c", "a;b,c", "a:b@c", "$x", "a?b", "a#b", "[x]{y}|z", "^`\"<>\\", "a//b",
    "a/./b", "a/../b", "/a", "a/", "..", "a\tb", "x" * 900, "\u00a0", "a\u2028b",
]
QUERIES = [
    [], [("delete", "")], [("lifecycle", "")], [("b", "2"), ("a", "1")],
    [("select-type", "2"), ("select", "")], [("a", "2"), ("a", "1"), ("a", "")],
    [("prefix", "a/b c+d%e=é&f~"), ("list-type", "2"), ("max-keys", "1000"), ("encoding-type", "url")],
    [("continuation-token", "1+/=="), ("prefix", ""), ("Prefix", "A"), ("a-b", "1"), ("a.b", "2"), ("a_b", "3")],
    [("é", "ü"), ("~", "!"), ("*", "'()")],
]
HEADERS = [
    {}, {"Content-Type": "application/json", "If-None-Match": "*", "Content-MD5": "XUFAKrxLKna5cZ2REBfFkg=="},
    {"Range": "bytes=0-9"}, {"X-Amz-Meta-A": "  two   blanks  ", "x-amz-acl": "private"},
]


def freeze():
    """botocore asks for the time in one function, or in older versions through datetime."""
    if hasattr(botocore.auth, "get_current_datetime"):
        botocore.auth.get_current_datetime = lambda *args, **kwargs: TIME
        return

    class Frozen(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return TIME

    botocore.auth.datetime.datetime = Frozen


def case_text(method, host, path_line, query, headers, payload_hash, token=None):
    lines = [
        f"id: {ID}", f"secret: {SECRET}", "region: eu-central-1", "service: s3", "time-ms: 1369353600000",
        f"method: {method}", f"host: {host}", path_line, f"query: {query}", f"payload-hash: {payload_hash}",
    ]
    lines += [f"token: {token}"] if token else []
    lines += [f"header: {name}:{value}" for name, value in headers]
    return "\n".join(lines) + "\n"


class Judge:
    def __init__(self):
        self.cases, self.expected = [], []

    def add(self, what, text, **expected):
        self.cases.append(text)
        self.expected.append((what, expected))

    def run(self, program):
        out = subprocess.run([program], input="\n".join(self.cases).encode(), stdout=subprocess.PIPE, check=True).stdout
        blocks = [block for block in out.decode().split("\n\n") if block.strip()]
        if len(blocks) != len(self.cases):
            sys.exit(f"{len(self.cases)} requests, {len(blocks)} answers")
        failed = 0  # requests
        for block, (what, expected) in zip(blocks, self.expected):
            ours = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in block.splitlines())
            wrong = {name: value for name, value in expected.items() if ours.get(name) != value}
            failed += 1 if wrong else 0
            for name, value in wrong.items():
                print(f"FAILED {what}: {name}\n  botocore: {value}\n  ours:     {ours.get(name)}")
                print(f"  canonical: {ours.get('canonical')}")
        print(f"{len(self.cases) - failed} passed, {failed} failed, 0 skipped")
        return failed


def client_requests(style, token):
    """Every operation of ours on every odd key, as botocore's client would send it."""
    session = botocore.session.Session()
    session.set_credentials(ID, SECRET, token)
    client = session.create_client(
        "s3", region_name="eu-central-1", endpoint_url="http://store.example:8333",
        config=botocore.config.Config(s3={"addressing_style": style}, request_checksum_calculation="when_required",
                                      response_checksum_validation="when_required"))
    caught = []

    def catch(request, **_):
        caught.append(request)
        return botocore.awsrequest.AWSResponse(request.url, 404, {}, None)

    client.meta.events.register("before-send.s3", catch)
    for key in KEYS:
        for name, more in [("get_object", {}), ("head_object", {}), ("delete_object", {}),
                           ("put_object", {"Body": b"hello", "IfNoneMatch": "*", "ContentType": "application/json"})]:
            caught.clear()
            try:
                getattr(client, name)(Bucket="examplebucket", Key=key, **more)
            except Exception as e:  # the answer is ours and makes no sense to it
                if not caught:
                    raise e
            yield f"{name} {key!r} {style}", key, caught[0]


def text_of(value):
    return value.decode() if isinstance(value, bytes) else value


def add_client_requests(judge):
    for style, prefix in [("path", "examplebucket/"), ("virtual", "")]:
        for token in [None, "session/token+=="]:
            for what, key, request in client_requests(style, token):
                rest = request.url.split("://", 1)[1]
                host, path = rest.split("/", 1)
                path, _, query = path.partition("?")
                sent = {name.lower(): text_of(value) for name, value in request.headers.items()}
                signed = sent["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
                headers = [(name, sent[name]) for name in signed if name not in ADDED_BY_SIGNER]
                raw = (prefix + key).encode().hex()
                judge.add(what, case_text(request.method, host, f"key-hex: {raw}", query, headers,
                                          sent["x-amz-content-sha256"], token),
                          path="/" + path, authorization=sent["authorization"])


def quote(text):
    return botocore.utils.percent_encode(text, safe="-_.~")


def add_made_requests(judge):
    keys = botocore.credentials.Credentials(ID, SECRET)
    randomness = random.Random(1)
    for query in QUERIES + [sorted_randomly(randomness) for _ in range(200)]:
        for headers in HEADERS:
            encoded = "&".join(f"{quote(name)}={quote(value)}" for name, value in query)
            url = "https://examplebucket.s3.eu-central-1.amazonaws.com/x" + ("?" + encoded if encoded else "")
            request = botocore.awsrequest.AWSRequest(method="PUT", url=url, data=b"hello", headers=dict(headers))
            botocore.auth.S3SigV4Auth(keys, "s3", "eu-central-1").add_auth(request)
            judge.add(f"query {encoded!r}",
                      case_text("PUT", "examplebucket.s3.eu-central-1.amazonaws.com", "path: /x", encoded,
                                headers.items(), request.headers["X-Amz-Content-SHA256"]),
                      authorization=request.headers["Authorization"])


def sorted_randomly(randomness):
    letters = "ab-_.~/+= %&é*"
    word = lambda: "".join(randomness.choice(letters) for _ in range(randomness.randint(0, 4)))
    return [(word() or "x", word()) for _ in range(randomness.randint(1, 6))]


def main():
    freeze()
    judge = Judge()
    add_client_requests(judge)
    add_made_requests(judge)
    program = sys.argv[1] if len(sys.argv) > 1 else os.environ["FIRN_TEST_BUILD"] + "/tests/unit/storage/sigv4_print"
    return 1 if judge.run(program) else 0


if __name__ == "__main__":
    sys.exit(main())
