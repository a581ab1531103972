"""Web pages of allowed origins, preflights, and HEAD where only GET is specified."""

import http.client

import pytest

from firn_client import Api
from firn_server import Server

PAGE = "https://ui.example:8443"


@pytest.fixture(scope="module")
def open_server():
    with Server(env={"FIRN_CORS_ORIGINS": f"http://a.example, {PAGE}"}) as server:
        yield server


def ask(server, method, path, headers):
    connection = http.client.HTTPConnection(server.address, timeout=20)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_a_page_of_an_allowed_origin_may_read_the_answer(open_server):
    """The origin is named exactly, never with a star; what differs by origin says so."""
    answer, _ = ask(open_server, "GET", "/v1/config", {"Origin": PAGE})
    assert answer.status == 200
    assert answer.getheader("Access-Control-Allow-Origin") == PAGE
    assert "Origin" in answer.getheader("Vary")
    assert "ETag" in answer.getheader("Access-Control-Expose-Headers")
    missing, _ = ask(open_server, "GET", "/v1/namespaces/none", {"Origin": PAGE})
    assert missing.status == 404 and missing.getheader("Access-Control-Allow-Origin") == PAGE


@pytest.mark.parametrize("path,method", [("/v1/namespaces", "POST"), ("/v1/namespaces/a/tables/t", "DELETE"),
                                         ("/v1/config", "GET")])
def test_a_preflight_is_answered(open_server, path, method):
    """204, with the methods of the path and the headers that clients send."""
    answer, body = ask(open_server, "OPTIONS", path, {"Origin": PAGE, "Access-Control-Request-Method": method})
    assert answer.status == 204 and body == b""
    assert answer.getheader("Access-Control-Allow-Origin") == PAGE
    assert method in answer.getheader("Access-Control-Allow-Methods").split(", ")
    allowed = answer.getheader("Access-Control-Allow-Headers")
    for name in ("Authorization", "Content-Type", "If-None-Match", "Idempotency-Key", "X-Iceberg-Access-Delegation"):
        assert name in allowed
    assert answer.getheader("Access-Control-Max-Age") == "600"


def test_other_origins_stay_out(open_server):
    """An origin that is not listed is refused, its preflight too, and gets no header that lets a page read."""
    for method in ("GET", "OPTIONS"):
        for origin in ("https://evil.example", "https://ui.example", PAGE + "0", "null", PAGE.upper()):
            answer, _ = ask(open_server, method, "/v1/config", {"Origin": origin})
            assert answer.status == 403
            assert answer.getheader("Access-Control-Allow-Origin") is None


def test_without_an_origin_options_is_no_method(open_server):
    answer, _ = ask(open_server, "OPTIONS", "/v1/config", {})
    assert answer.status == 405 and "GET" in answer.getheader("Allow")
    answer, _ = ask(open_server, "OPTIONS", "/nothing", {"Origin": PAGE})
    assert answer.status == 404


@pytest.mark.parametrize("path", ["/v1/config", "/v1/namespaces", "/openapi/catalog.yaml"])
def test_head_is_get_without_its_body(server, path):
    """The same status and headers, length included, and no body."""
    got, body = ask(server, "GET", path, {})
    head, nothing = ask(server, "HEAD", path, {})
    assert head.status == got.status == 200 and nothing == b""
    assert head.getheader("Content-Length") == str(len(body))
    assert head.getheader("Content-Type") == got.getheader("Content-Type")


def test_head_of_what_is_missing(server):
    head, nothing = ask(server, "HEAD", "/v1/namespaces/none/tables", {})
    assert head.status == 404 and nothing == b""
    head, _ = ask(server, "HEAD", "/v1/tables/rename", {})
    assert head.status == 405
