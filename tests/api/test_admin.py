"""The admin address: liveness, readiness, metrics."""

import json
import re
import urllib.error
import urllib.request

import pytest

from firn_client import operations, set_properties
from wire import Wire


def ask(server, path, method="GET"):
    request = urllib.request.Request(server.admin_url + path, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_health(server, path):
    """200 with a word, as JSON; HEAD has no body."""
    status, headers, body = ask(server, path)
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert json.loads(body)["status"] in ("live", "ready")
    assert ask(server, path, "HEAD")[0::2] == (200, b"")


def test_other_paths_and_methods(server):
    """Nothing else is served here, least of all the catalog."""
    for path in ("/", "/v1/config", "/v1/namespaces", "/health", "/metrics/x"):
        status, _, body = ask(server, path)
        assert status == 404 and json.loads(body)["error"]["code"] == 404
    for method in ("POST", "DELETE", "PUT"):
        status, headers, body = ask(server, "/metrics", method)
        assert status == 405 and headers["Allow"] == "GET, HEAD" and json.loads(body)["error"]["code"] == 405


def test_catalog_address_has_no_admin_paths(api):
    """Health and metrics are not for everybody."""
    for path in ("/health/ready", "/health/live", "/metrics"):
        api.get(path).fails(404)


SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(\{[a-z_]+="[^"\\\n]*"(?:,[a-z_]+="[^"\\\n]*")*\})? ([-+0-9.eE]+|\+Inf|NaN)')


def test_metrics_are_valid_text(server, api):
    """Prometheus' text format: HELP and TYPE before the samples of each name, no sample twice."""
    api.load(api.new_namespace(), "none").fails(404)
    status, headers, body = ask(server, "/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain")
    text = body.decode()
    assert text.endswith("\n")
    kinds, helps, seen = {}, set(), set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helps.add(line.split()[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name in helps and name not in kinds and kind in ("counter", "gauge", "histogram")
            kinds[name] = kind
        elif line:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            base = base if kinds.get(base) == "histogram" else name
            assert base in kinds, line
            assert (name, labels) not in seen, line
            seen.add((name, labels))
            assert kinds[base] != "counter" or (name.endswith("_total") and float(value) >= 0), line
            assert name.startswith("firn_"), line
    assert len(kinds) > 20


def test_histograms_are_cumulative(server):
    """Buckets grow, the last is +Inf and equals the count."""
    buckets = {}
    samples = server.metrics()
    for sample, value in samples.items():
        match = re.fullmatch(r'(\w+)_bucket\{(.*?,?)le="([^"]+)"\}', sample)
        if match:
            buckets.setdefault((match[1], match[2].rstrip(",")), []).append((float(match[3].replace("+Inf", "inf")), value))
    assert buckets
    for (name, labels), values in buckets.items():
        values.sort()
        assert [v for _, v in values] == sorted(v for _, v in values), name
        assert values[-1][0] == float("inf")
        assert samples[f"{name}_count" + (f"{{{labels}}}" if labels else "")] == values[-1][1]


def test_requests_are_counted_by_operation_and_class(server, api):
    """Labels are the operation and the class of the status, nothing that clients choose."""
    ns = api.new_namespace()
    before = server.metrics()
    for _ in range(3):
        api.load(ns, "none-such-table").fails(404)
    api.create(ns, "t").ok()
    api.get("/v1/none").fails(404)
    after = server.metrics()

    def grown(operation, status):
        return sum(v - before.get(k, 0) for k, v in after.items()
                   if k.startswith("firn_requests_total{") and f'"{operation}"' in k and status in k)

    assert grown("loadTable", "4xx") == 3 and grown("createTable", "2xx") == 1 and grown("none", "4xx") == 1
    text = ask(server, "/metrics")[2].decode()
    assert ns not in text and "none-such-table" not in text
    names = {op.name for op in operations()} | {"none"}
    assert set(re.findall(r'operation="([^"]*)"', text)) <= names


def test_an_answer_is_counted_before_it_is_read(server, api):
    """So that whoever has an answer finds it in the metrics."""
    table = api.table(api.new_namespace())
    texts = {f"k{i}": "x" * 1_000_000 for i in range(10)}  # more than lies between a server and a client
    api.request("POST", table.path, {"updates": [set_properties(**texts)]}, check=False).ok()
    before = server.metric("firn_requests_total", operation="loadTable", status="2xx")
    with Wire(server, room=16 * 1024) as wire:
        wire.send(f"GET {table.path} HTTP/1.1\r\nHost: h\r\n\r\n")
        assert wire.head()[0] == 200
        assert server.metric("firn_requests_total", operation="loadTable", status="2xx") == before + 1


def test_commit_outcomes_are_counted(server, api):
    """Applied, without effect, refused by a requirement."""
    table = api.table(api.new_namespace())
    before = server.metrics()
    table.apply({"action": "set-properties", "updates": {"a": "b"}})
    table.commit().ok()
    table.commit(requirements=[{"type": "assert-create"}]).fails(409)
    after = server.metrics()
    for name in ("applied", "noop", "requirement"):
        key = f"firn_commits_{name}_total"
        assert after[key] - before[key] == 1, name


def test_reports_are_counted(server, api):
    """reportMetrics: 204 for every type, known or not; nothing is loaded for it."""
    table = api.table(api.new_namespace())
    before = server.metrics()
    for kind in ("scan-report", "commit-report", "future-report"):
        api.post(f"{table.path}/metrics", {"report-type": kind, "table-name": "x", "snapshot-id": 1, "filter": True,
                                           "schema-id": 0, "projected-field-ids": [1], "projected-field-names": ["id"],
                                           "sequence-number": 1, "operation": "append", "metrics": {"a": {"unit": "count", "value": 1}}, "metadata": {"k": "v"},
                                           "new": [1]}).expect(204)
    after = server.metrics()
    kinds = ("scan", "commit", "unknown")
    assert [after[f"firn_{k}_reports_total"] - before[f"firn_{k}_reports_total"] for k in kinds] == [1, 1, 1]
    assert after["firn_store_requests_total"] == before["firn_store_requests_total"]
    api.post(f"/v1/namespaces/none/tables/t/metrics", {"report-type": "x"}).fails(404, "NoSuchTableException")
    for body in (b"{", b"[]"):
        api.post(f"{table.path}/metrics", body).fails(400)
    api.post(f"{table.path}/metrics", {"report-type": 5}).fails(400)


REPORTS = {
    "scan-report": {"table-name": "x", "snapshot-id": 1, "filter": True, "schema-id": 0, "projected-field-ids": [],
                    "projected-field-names": []},
    "commit-report": {"table-name": "x", "snapshot-id": 1, "sequence-number": 1, "operation": "append"}}


@pytest.mark.parametrize("kind", REPORTS)
def test_reports_that_are_none(server, api, kind):
    """A metric is a counter or a timer with all its members, whatever else it has; the place of what is
    wrong is named, and nothing is counted or kept."""
    table = api.table(api.new_namespace())
    counter = f"firn_{kind.removesuffix('-report')}_reports_total"
    timer = {"time-unit": "nanoseconds", "count": 1, "total-duration": 5}

    def send(metric, report_type=kind):
        body = {"report-type": report_type} | REPORTS[kind] | {"metrics": {"ok": timer, "result-data-files": metric}}
        return api.post(f"{table.path}/metrics", body)

    before = server.metrics()[counter]
    for metric, place in (
            (3, ": expected an object, found an integer"), (None, ": expected an object, found null"),
            ({}, "/unit: required member is missing"), ({"value": 1}, "/unit: required member is missing"),
            ({"unit": "count"}, "/value: required member is missing"),
            ({"unit": "count", "value": "1"}, "/value: expected an integer, found a string"),
            ({"unit": "count", "value": 1.5}, "/value: expected an integer, found a number with a fraction"),
            ({"unit": 1, "value": 1}, "/unit: expected a string, found an integer"),
            ({"count": 1, "total-duration": 5}, "/time-unit: required member is missing"),
            (timer | {"count": "1"}, "/count: expected an integer, found a string"),
            (timer | {"total-duration": None}, "/total-duration: expected an integer, found null")):
        send(metric).fails(400, "BadRequestException", f"/metrics/result-data-files{place}")
    for member in (*REPORTS[kind], "metrics"):
        rest = {"report-type": kind, "metrics": {}} | REPORTS[kind]
        rest.pop(member)
        api.post(f"{table.path}/metrics", rest).fails(
            400, "BadRequestException", f"/{member}: required member is missing")
    assert server.metrics()[counter] == before
    for metric in ({"unit": "count", "value": -1, "new": []}, timer | {"unit": "x"}):
        send(metric).expect(204)
        send(metric, kind.upper()).expect(204)
    assert server.metrics()[counter] == before + 4
    send(3, "future-report").expect(204)


def test_health_command(server):
    """`firn health` asks the admin address; the container's HEALTHCHECK."""
    done = server.run("health", env={"FIRN_ADMIN_LISTEN": server.admin_address})
    assert done.returncode == 0 and "ready" in done.stdout
    done = server.run("health", env={"FIRN_ADMIN_LISTEN": "127.0.0.1:1"})
    assert done.returncode != 0 and "127.0.0.1:1" in done.stderr


def test_the_last_reports_can_be_read(server, api):
    """/reports of the admin address: newest first, with the table and the report as it was sent."""
    table = api.table(api.new_namespace())
    for number in range(70):
        api.post(f"{table.path}/metrics", {"report-type": "scan-report", "table-name": "x", "snapshot-id": number,
                                           "filter": True, "schema-id": 0, "projected-field-ids": [],
                                           "projected-field-names": [], "metrics": {}}).expect(204)
    status, headers, body = ask(server, "/reports")
    reports = json.loads(body)["reports"]
    assert status == 200 and len(reports) == 64
    assert [r["report"]["snapshot-id"] for r in reports[:3]] == [69, 68, 67]
    assert reports[0]["table"] == table.name and reports[0]["received-ms"] > 0
