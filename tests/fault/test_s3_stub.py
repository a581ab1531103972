"""Bad days of an object store, one by one, and what clients of the catalog hear of them. What the store refuses or
loses has certainly not happened: 4xx with a time to come back for changes, 503 for loads. No day is bad enough that
something acknowledged is lost, that two win, or that the store is asked without end."""

import random
import re
import threading
import time

import pytest

import s3_stub
from firn_client import SLOWNESS, Api, Table, eventually, in_parallel, set_properties
from firn_server import Server, SqliteDatabase, temporary_folder
from s3_stub import Canary, S3Stub, answers, but_first, moved, redirect, says

FILE = ".metadata.json"
TRIES = 5


@pytest.fixture
def store():
    with S3Stub() as one:
        yield one


@pytest.fixture
def firn(store):
    """One that keeps no metadata in memory, so that each load reads."""
    folder = temporary_folder()
    server = Server(folder=folder, db=SqliteDatabase(folder), store=store, env={"FIRN_CACHE": "0", "FIRN_METADATA_LIMIT": "4m"})
    with server:
        yield server
        store.heal()
    assert store.secret_key not in server.log_text()


@pytest.fixture
def api(firn):
    client = Api(firn)
    yield client
    client.close()


@pytest.fixture
def table(api):
    return api.table(api.new_namespace())


def files(table):
    return [f for f in table.api.store.list(table.location) if f.endswith(FILE)]


def is_as(table, before):
    """Nothing of what was refused is there."""
    assert table.loaded == before


# --- what passes ------------------------------------------------------------------------------------

PASSES = {
    "slow down": [s3_stub.SLOW_DOWN] * 3,
    "internal error": [s3_stub.INTERNAL_ERROR] * 2,
    "request timeout": [s3_stub.REQUEST_TIMEOUT],
    "gateway": [s3_stub.BAD_GATEWAY] * 2,
    "cut": [s3_stub.cut] * 2,
    "error in a 200": [s3_stub.ERROR_IN_200] * 2,
    "page in a 200": [s3_stub.PAGE],
    "a bucket that moves": [redirect("http://127.0.0.1:1/")] * 2,
}
BODY_PASSES = {
    "truncated": [s3_stub.truncated] * 2,
    "cut in the body": [s3_stub.cut_in_the_body] * 2,
}
PUT_PASSES = {
    "answer lost": [s3_stub.ANSWER_LOST] * 2,
    "error afterwards": [s3_stub.ERROR_AFTERWARDS],
    "gateway error afterwards": [s3_stub.GATEWAY_AFTERWARDS] * 2,
    "conflict": [s3_stub.CONFLICT] * 2,
    "truncated answer": [s3_stub.truncated],
    "lost, then slow down, then 412": [s3_stub.ANSWER_LOST, s3_stub.SLOW_DOWN],
    "page afterwards": [but_first(s3_stub.PAGE)],
    "lost, and the look fails once": [s3_stub.ANSWER_LOST],
}


@pytest.mark.parametrize("what", PASSES | BODY_PASSES)
def test_a_load_goes_on(store, table, what):
    before = table.loaded
    faults = (PASSES | BODY_PASSES)[what]
    store.play(*faults, on="GET")
    since = len(store.log)
    assert table.loaded == before
    assert store.count("GET", FILE, since) == len(faults) + 1


@pytest.mark.parametrize("what", PASSES | PUT_PASSES)
def test_a_commit_goes_on(store, table, what):
    """Once, in one file."""
    faults = (PASSES | PUT_PASSES)[what]
    store.play(*faults, on="PUT")
    if "look fails" in what:
        store.play(s3_stub.SLOW_DOWN, s3_stub.cut, on="GET", key=files(table)[0][-4:])
    since = len(store.log)
    assert table.apply(set_properties(a="b"))["properties"]["a"] == "b"
    store.heal()
    assert table.metadata["properties"]["a"] == "b" and len(files(table)) == 2
    assert store.count("PUT", FILE, since) <= len(faults) + 1


@pytest.mark.parametrize("what", PASSES | PUT_PASSES)
def test_a_create_goes_on(store, api, table, what):
    store.play(*(PASSES | PUT_PASSES)[what], on="PUT")
    made = api.table(table.ns)
    store.heal()
    assert len(files(made)) == 1 and api.names(table.ns) == sorted([table.name, made.name])


@pytest.mark.parametrize("what", PASSES)
def test_a_purge_goes_on(store, api, table, what):
    table.apply(set_properties(a="b"))
    uris = files(table)
    store.play(*PASSES[what], on="DELETE")
    store.play(*PASSES[what], on="GET")
    api.drop(table.ns, table.name, "?purgeRequested=true").expect(204)
    eventually(lambda: not any(store.exists(uri) for uri in uris))


# --- what does not ----------------------------------------------------------------------------------

FOR_NOW = {
    "slow down": s3_stub.SLOW_DOWN,
    "internal error": s3_stub.INTERNAL_ERROR,
    "gateway": s3_stub.BAD_GATEWAY,
    "cut": s3_stub.cut,
    "error in a 200": s3_stub.ERROR_IN_200,
    "page in a 200": s3_stub.PAGE,
    "answer lost": s3_stub.ANSWER_LOST,
    "a bucket that moves": redirect("http://127.0.0.1:1/"),
    "page in a 404": says(404, b"<html>nothing here</html>"),
}


@pytest.mark.parametrize("what", FOR_NOW)
def test_while_it_lasts(store, api, table, what):
    """Certainly nothing happened, and that is said; afterwards all is as before, and works."""
    before = table.loaded
    store.always(FOR_NOW[what])
    since = len(store.log)
    answer = table.commit(set_properties(a="b")).expect(429)
    assert int(answer.header("Retry-After")) >= 1
    api.create(table.ns, "new").fails(429, "SlowDownException")
    table.load().fails(503, "SlowDownException")
    assert len(store.log) - since <= 5 * TRIES + 5  # a load, a commit, a create, and what they leave behind
    api.rename((table.ns, table.name), (table.ns, "other")).expect(204)
    api.rename((table.ns, "other"), (table.ns, table.name)).expect(204)
    store.heal()
    is_as(table, before)
    assert api.names(table.ns) == [table.name]
    table.apply(set_properties(a="b"))
    api.create(table.ns, "new").ok()


def test_an_outage_is_not_made_worse(store, api, table):
    """The first to come try again, the rest ask once; when the store answers again, so do they."""
    tables = [api.table(table.ns) for _ in range(8)]
    store.always(s3_stub.SLOW_DOWN)
    since = len(store.log)

    def one(i):
        client = Api(api.server)
        for _ in range(10):
            client.load(table.ns, tables[i].name).expect(503)
        client.close()

    in_parallel(8, one)
    assert 80 < store.count(since=since) <= 80 + 100
    store.heal()
    for _ in range(TRIES):
        table.load().ok()
    store.play(s3_stub.SLOW_DOWN, on="GET")
    table.load().ok()


NOT_FOR_NOW = {
    "denied": s3_stub.DENIED,
    "no bucket": answers(404, "NoSuchBucket"),
    "moved to where nobody knows": answers(301, "PermanentRedirect"),
    "not allowed": answers(405, "MethodNotAllowed"),
}


@pytest.mark.parametrize("what", NOT_FOR_NOW)
def test_what_time_does_not_heal(store, api, table, what):
    """4xx with the reason, after one try; never "there is no such table"."""
    before = table.loaded
    store.always(NOT_FOR_NOW[what])
    since = len(store.log)
    for answer in (table.commit(set_properties(a="b")), api.create(table.ns, "new")):
        answer.expect(400, 403)
        assert "s3://bucket/" in answer.error["message"]
    answer = table.load()
    assert answer.status >= 400 and answer.error["type"] != "NoSuchTableException", answer
    assert len(store.log) - since <= 6
    store.heal()
    is_as(table, before)
    assert api.names(table.ns) == [table.name]


def test_a_full_store(store, api, table):
    """Somebody may make room: 429 with Retry-After and the reason, nothing written, nothing changed."""
    before = table.loaded
    store.always(answers(507, "InsufficientStorage"), on="PUT")
    for answer in (table.commit(set_properties(a="b")), api.create(table.ns, "new")):
        answer.expect(429)
        assert int(answer.header("Retry-After")) >= 1 and "no room" in answer.error["message"]
    store.heal()
    is_as(table, before)
    assert api.names(table.ns) == [table.name]


def test_another_wrote_first(store, table):
    """412, and what lies there is not ours: nobody's file is taken for ours, no commit is answered 200."""
    before = table.loaded

    def other(request):
        store.objects[request.key] = b"another"
        request.reply(*s3_stub.error(412, "PreconditionFailed"))

    def lost(request):
        store.objects[request.key] = b"another"
        s3_stub.cut(request)

    for fault in (other, lost):
        store.play(fault, on="PUT")
        answer = table.commit(set_properties(a="b"))
        assert 400 <= answer.status < 500, answer
        is_as(table, before)
    assert len(store.objects) == 3 and b"another" in store.objects.values()
    table.apply(set_properties(a="b"))


def test_nobody_can_tell_who_wrote(store, table):
    """The answer was lost, the name is taken, and it cannot be read whose it is: not applied, come again."""
    before = table.loaded
    store.play(s3_stub.ANSWER_LOST, on="PUT")
    store.always(s3_stub.SLOW_DOWN, on="GET")
    table.commit(set_properties(a="b")).fails(429, "SlowDownException")
    store.heal()
    is_as(table, before)
    table.apply(set_properties(a="b"))


def test_a_store_without_conditions(store, table):
    """501 to the header: asked for once, then done without."""
    def strict(request):
        refuses = request.command == "PUT" and "If-None-Match" in request.headers
        request.reply(*(s3_stub.error(501, "NotImplemented") if refuses else request.carry_out()))

    store.always(strict)
    for i in range(3):
        since = len(store.log)
        table.apply(set_properties(a=str(i)))
    assert store.count("PUT", FILE, since) == 1 and len(files(table)) == 4


# --- where and when ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nobody_else_is_asked(store, table, scheme):
    """Whatever address the store names, with whatever status: no connection goes there, and the region that it names
    is tried once."""
    with Canary() as canary:
        there = canary.url.replace("http", scheme, 1) + "/bucket/x"
        for fault in (redirect(there), moved("us-west-2", there), moved("../evil", there), says(302, b"", {"Location": there}),
                      says(200, b"<html>", {"Refresh": f"0; {there}"}), says(308, b"", {"Location": there})):
            store.always(fault)
            since = len(store.log)
            assert table.load().status in (500, 503)
            assert table.commit(set_properties(a="b")).status in (400, 429)
            assert len(store.log) - since <= 2 * TRIES
            store.heal()
        assert canary.heard == []
    store.region = "us-west-2"  # what one of them has said is put right by the next
    table.apply(set_properties(a="b"))


def test_the_region_is_learnt(store, table):
    """Once, by 301 or by 400, and kept."""
    for region, fault in (("ap-test-2", None), ("eu-test-3", moved("eu-test-3", "http://127.0.0.1:1/"))):
        store.region = region
        store.play(*([fault] if fault else []), on="GET")
        since = len(store.log)
        table.load().ok()
        assert store.count(since=since) == 2
        table.load().ok()
        table.apply(set_properties(a=region))
        assert store.count(since=since) == 5


@pytest.mark.parametrize("hours", [3, -3])
def test_the_clock_is_learnt(store, firn, table, hours):
    """The store's clock is another one: found out by one refusal, and told to the operator."""
    store.clock_ahead = hours * 3600
    since = len(store.log)
    table.load().ok()
    assert store.refused(since) == ["RequestTimeTooSkewed"]
    firn.wait_log(f"event=clock.*is 10(79|80)[0-9] s {'ahead of' if hours > 0 else 'behind'} ours")
    since = len(store.log)
    table.apply(set_properties(a="b"))
    table.load().ok()
    assert store.refused(since) == []
    store.clock_ahead = 0
    table.load().ok()


def test_a_clock_that_is_never_right(store, table):
    """The store refuses for its clock and says no time, or one that changes nothing: no loop."""
    before = table.loaded
    for date in ("", "yesterday", store.date()):
        store.always(answers(403, "RequestTimeTooSkewed", {"Date": date}))
        since = len(store.log)
        assert table.load().status >= 500
        table.commit(set_properties(a="b")).expect(400, 403)
        assert len(store.log) - since <= 4
        store.heal()
    is_as(table, before)


# --- answers that are none --------------------------------------------------------------------------

ODD = {
    "another range": s3_stub.another_range,
    "no content": says(204, b""),
    "partial content": says(206, b"{}"),
    "not modified": says(304, b""),
    "empty": says(200, b"", {"ETag": '"x"'}),
    "other JSON": says(200, b'{"a": 1}', {"ETag": '"x"', "Content-Type": "application/json"}),
    "half": says(200, b'{"format-version": 2, "table-uuid": "', {"ETag": '"x"'}),
    "a body without an end": s3_stub.huge,
    "a header without an end": s3_stub.endless_header,
    "a long body": says(200, b" " * 5_000_000, {"ETag": '"x"'}),
}


@pytest.mark.parametrize("what", ODD)
def test_no_metadata_is_made_of_it(store, firn, table, what):
    before = table.loaded
    memory = firn.rss_kb()
    store.always(ODD[what], on="GET")
    begin = time.monotonic()
    answer = table.load()
    assert answer.status in (500, 503), answer
    assert table.commit(set_properties(a="b")).status in (400, 429, 500, 503)
    assert time.monotonic() - begin < 50 * SLOWNESS
    assert firn.rss_kb() - memory < 100_000 * SLOWNESS
    store.heal()
    is_as(table, before)


def test_large_headers_are_no_matter(store, table):
    store.always(s3_stub.large_headers)
    table.apply(set_properties(a="b"))
    assert table.metadata["properties"]["a"] == "b"


def test_drip(store, api, table):
    """Below any speed worth waiting for: all have an end, and nobody else waits."""
    before = table.loaded
    store.always(s3_stub.dripping)
    took = {}

    def one(i):
        client = Api(api.server)
        begin = time.monotonic()
        (lambda: client.load(table.ns, table.name).expect(503),
         lambda: client.commit(table.ns, table.name, [set_properties(a="b")]).expect(429),
         lambda: client.create(table.ns, "new").expect(429),
         lambda: client.list_namespaces().ok())[i]()
        took[i] = time.monotonic() - begin
        client.close()

    in_parallel(4, one)
    assert max(took.values()) < 45 * SLOWNESS and took[3] < 5 * SLOWNESS, took
    store.heal()
    is_as(table, before)


# --- all of it --------------------------------------------------------------------------------------


def test_a_purge_that_was_cut_off(store, firn, api, table):
    """An outage in its midst; the next start goes on with it."""
    table.apply(set_properties(a="b"))
    uris = files(table)
    store.always(s3_stub.SLOW_DOWN)
    since = len(store.log)
    api.drop(table.ns, table.name, "?purgeRequested=true").expect(204)
    eventually(lambda: store.count(since=since) >= TRIES)
    assert all(store.exists(uri) for uri in uris)
    store.heal()
    firn.restart()
    eventually(lambda: not any(store.exists(uri) for uri in uris))


SOME = (s3_stub.SLOW_DOWN, s3_stub.INTERNAL_ERROR, s3_stub.cut, s3_stub.ANSWER_LOST, s3_stub.GATEWAY_AFTERWARDS,
        s3_stub.ERROR_IN_200, s3_stub.truncated, s3_stub.cut_in_the_body, s3_stub.DENIED, s3_stub.CONFLICT,
        s3_stub.ERROR_AFTERWARDS, s3_stub.PAGE)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_and_nobody_wins_twice(store, api, table, seed):
    """Writers of one table while every second request goes wrong: what was answered 200 is there, what was refused is
    not, and each version has one writer."""
    dice, lock = random.Random(seed), threading.Lock()

    def any_fault(request):
        with lock:
            fault = dice.choice(SOME) if dice.random() < 0.5 else None
        fault(request) if fault else request.reply(*request.carry_out())

    store.always(any_fault)
    done, refused, locations = [], [], []

    def one(i):
        client = Api(api.server)
        for n in range(12):
            name = f"w{i}.{n}"
            answer = client.commit(table.ns, table.name, [set_properties(**{name: "x"})])
            if answer.status == 200:
                done.append(name)
                locations.append(answer.json["metadata-location"])
            else:
                assert answer.status in (400, 403, 409, 429, 500, 503), answer
                if answer.status < 500:
                    refused.append(name)
        client.close()

    in_parallel(4, one)
    store.heal()
    there = [name for name in table.metadata["properties"] if re.fullmatch(r"w\d+\.\d+", name)]
    assert done and refused
    assert set(done) <= set(there) and not set(refused) & set(there)
    assert len(set(locations)) == len(locations)
    assert len(table.metadata["metadata-log"]) == len(done) + len(set(there) - set(done) - set(refused))
    assert all(store.exists(entry["metadata-file"]) for entry in table.metadata["metadata-log"])
