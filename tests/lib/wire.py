"""HTTP byte by byte: a connection, and the requests that must be refused whoever stands before the server."""

import json
import socket

from firn_client import SLOWNESS, check_schema


class Wire:
    """A connection of raw bytes. `room`: so many of them may wait here to be read, about."""

    def __init__(self, server, timeout=10, room=0):
        self.socket = socket.socket()
        self.socket.settimeout(timeout * SLOWNESS)
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.connect(server.host_port)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece if isinstance(piece, bytes) else piece.encode("latin-1"))

    def more(self):
        data = self.socket.recv(65536)
        self.rest += data
        return data

    def line(self):
        while b"\r\n" not in self.rest:
            if not self.more():
                raise EOFError(self.rest)
        line, _, self.rest = self.rest.partition(b"\r\n")
        return line.decode("latin-1")

    def answer(self, head=False):
        """(status, headers, body) of the next answer; EOFError when the connection ended instead."""
        status, headers = self.head()
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, b"".join(self.chunks())
        length = 0 if head or status in (204, 304) or status < 200 else int(headers["content-length"])
        return status, headers, self.take(length)

    def head(self):
        status = int(self.line().split()[1])
        headers = {}
        while line := self.line():
            name, _, value = line.partition(":")
            assert name.lower() not in headers, f"header {name} twice"
            headers[name.lower()] = value.strip()
        return status, headers

    def take(self, length):
        while len(self.rest) < length:
            if not self.more():
                raise EOFError(self.rest)
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def chunks(self):
        while length := int(self.line(), 16):
            yield self.take(length)
            assert self.take(2) == b"\r\n"
        assert self.line() == ""

    def all(self):
        """Everything up to the end of the connection."""
        while self.more():
            pass
        return self.rest

    def closed(self):
        """Nothing more comes, the server ends the connection."""
        try:
            while self.more():
                pass
        except ConnectionResetError:
            pass
        return self.rest == b""


def error(got, status, kind="BadRequestException"):
    code, headers, body = got
    assert code == status, got
    assert headers["content-type"] == "application/json", got
    document = json.loads(body)
    check_schema("#/components/schemas/IcebergErrorResponse", document)
    assert document["error"]["code"] == status
    assert kind is None or document["error"]["type"] == kind, got
    return document["error"]


GET = "GET /v1/config HTTP/1.1\r\nHost: h\r\n\r\n"


BODY = '{"namespace":["smuggled"]}'


def post(head, body=BODY):
    return f"POST /v1/namespaces HTTP/1.1\r\nHost: h\r\n{head}\r\n\r\n{body}"


def get(line, head="Host: h"):
    return f"{line}\r\n{head}\r\n\r\n"


# Answered 4xx with an error document, and the connection ends.
REFUSED = (
    *(post(head) for head in (
        # two ways to say where the body ends
        "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Content-Length: 26\r\nContent-Length: 5", "Content-Length: 26\r\nContent-Length: 26",
        "Content-Length: 26, 26", "Content-Length: +26", "Content-Length: -1", "Content-Length: 0x1A",
        "Content-Length: 26 ", "Content-Length: 2 6", "Content-Length: ", "Content-Length: 99999999999999999999",
        "Transfer-Encoding: xchunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: \x0bchunked", "Transfer-Encoding:\tchunked\r\nContent-Length: 5",
        "Transfer-Encoding : chunked", "Content-Length : 26",
        # two hosts
        "Host: other\r\nContent-Length: 26", "Content-Length: 26\r\nHost: h",
        # lines that two parsers see differently
        "X-A: b\r\n folded\r\nContent-Length: 26", "X-A: b\r\n\tfolded\r\nContent-Length: 26",
        "X-A: b\nContent-Length: 26", " X-A: b\r\nContent-Length: 26", "X A: b\r\nContent-Length: 26",
        ": b\r\nContent-Length: 26", "X-A: b\r\n: b\r\nContent-Length: 26", "Content-Length: 26\r\n:",
        "X-A\x01: b\r\nContent-Length: 26", "X-A: b\x00c\r\nContent-Length: 26",
        "X-A: b\x01\r\nContent-Length: 26", "X-(A): b\r\nContent-Length: 26")),
    # lines that end in LF alone: all of them, and each
    "GET /v1/config HTTP/1.1\nHost: h\n\n", "GET /v1/config HTTP/1.1\nHost: h\r\n\r\n",
    "GET /v1/config HTTP/1.1\r\nHost: h\n\r\n", "GET /v1/config HTTP/1.1\r\nHost: h\r\n\n",
    # hosts of requests without a body
    *(get("GET /v1/config HTTP/1.1", head) for head in (
        "Host: h\r\nHost: h", "Host: h\r\nHost: other", "X: y")),
    *(get(line) for line in (
        "GET /v1/config  HTTP/1.1", "GET /v1/con fig HTTP/1.1", "GET v1/config HTTP/1.1",
        "GET http://elsewhere/v1/config HTTP/1.1", "GET ftp://h/v1/config HTTP/1.1", "GET http:///v1/config HTTP/1.1",
        "GET /v1/config\x01 HTTP/1.1", "GET /v1/config\t HTTP/1.1")),
    # too large
    get("GET /v1/config HTTP/1.1", "Host: h\r\nX: " + "x" * 19_000),
    get("GET /v1/config HTTP/1.1", "Host: h\r\n" + "\r\n".join(f"X-{i}: {'x' * 900}" for i in range(21))),
    get(f"GET /v1/namespaces/{'x' * 17_000} HTTP/1.1"))

def chunks(body):
    return post("Transfer-Encoding: chunked", body)


# What libmicrohttpd would answer by itself, in HTML (server/refusal.h), and what it is answered instead.
REFUSED_BY_LIBRARY = (
    *((400, get(line)) for line in ("GET /v1/config", "/v1/config HTTP/1.1", "GET /v1/config http/1.1", "GET /v1/config HTTP/1",
                                    "GET /v1/config HTTP/1.10", "GET /v1/config HTTP/x.y", "GET ", "GET /v1/config HTTP/1.1 x")),
    *((505, get(line)) for line in ("GET /v1/config HTTP/9.9", "GET /v1/config HTTP/2.0", "GET /v1/config HTTP/0.9",
                                    "POST /v1/namespaces HTTP/3.0", "PRI * HTTP/2.0")),
    *((400, get("GET /v1/config HTTP/1.1", head)) for head in ("Host: h\r\nno colon", "no colon", "no colon\r\nHost: h")),
    (431, get("GET /v1/config HTTP/1.1", "Host: h\r\nX: " + "x" * 40_000)),
    (431, get("GET /v1/config HTTP/1.1", "Host: h\r\nX: " + "x" * 200_000)),
    (431, get("GET /v1/config HTTP/1.1", "Host: h\r\n" + "\r\n".join(f"X-{i}: y" for i in range(400)))),
    (431, get("GET /v1/config HTTP/1.1", "Host: h\r\n" + "\r\n".join(f"X-{i}: y" for i in range(5_000)))),
    (431, get("GET /v1/config HTTP/1.1", "Host: h\r\nCookie: " + "; ".join(f"a{i}=b" for i in range(1_500)))),
    (431, get("GET /v1/config HTTP/1.1", "Host: h\r\nX: a\r\n" + " b" * 30_000)),
    (431, get(f"GET /v1/config?{'a&' * 3_000} HTTP/1.1")),
    (414, get(f"GET /v1/namespaces/{'x' * 40_000} HTTP/1.1")), (414, get(f"GET /v1/namespaces/{'x' * 300_000} HTTP/1.1")),
    *((400, chunks(body)) for body in (
        "zz\r\n", "5\r\nabcdefgh\r\n0\r\n\r\n", "-1\r\n", " 5\r\nabcde\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
        "5\r\nabcde\r\n0\r\nno colon\r\n\r\n", "5\r\nabcde\r\n0\r\nX: y\r\nno colon\r\n\r\n")),
    (413, chunks("fffffffffffffffff\r\n")),
    (431, chunks("5\r\nabcde\r\n0\r\nX: " + "y" * 40_000 + "\r\n\r\n")))


def refused(server, request, status=None):
    """The request and one behind it: an answer to the first, and no more."""
    with Wire(server) as wire:
        wire.send(request + (GET if len(request) < 1_000 else ""))
        got = wire.answer()
        assert got[0] == status or (status is None and 400 <= got[0] < 500), got
        error(got, got[0], None)
        assert got[1]["connection"] == "close"
        assert wire.closed(), "what followed was answered as a request"


# Heads of a request whose body is a further request, to one of two readers.
INNER = "DELETE /v1/namespaces/victim HTTP/1.1\r\nHost: h\r\n\r\n"
SMUGGLED = (
    "Content-Length: 4\r\nTransfer-Encoding: chunked", f"Content-Length: {5 + len(INNER)}\r\nTransfer-Encoding: chunked",
    f"Content-Length: {len(INNER)}\r\nContent-Length: 0", f"Content-Length: 0\r\nContent-Length: {len(INNER)}",
    "Content-Length: 0, 0", "Content-Length: +0", "Content-Length: -1",
    "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: chunked\r\nTransfer-encoding: x",
    "X: a\r\n folded: b\r\nContent-Length: 0", "X: a\nContent-Length: 0", "Host: other\r\nContent-Length: 0",
    ": nameless\r\nContent-Length: 0", "X A: b\r\nContent-Length: 0", "X: a\x00b\r\nContent-Length: 0")


def smuggling(head):
    body = "0\r\n\r\n" + INNER if "chunked" in head else INNER
    return f"POST /v1/nothing HTTP/1.1\r\nHost: h\r\n{head}\r\n\r\n{body}"
