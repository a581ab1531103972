"""No table lies in another one's place: across warehouses that share storage, in whatever way they spell it, and when
several ask at once."""

import secrets
import threading
import urllib.parse

import pytest

from firn_client import Table, in_parallel, simple
from firn_server import Server, local_path, seal

ROOT = "/management/v1/warehouses"


@pytest.fixture(scope="module")
def server():
    firn = Server()
    firn.extra["FIRN_SECRET_KEYS"] = seal()
    firn.extra["FIRN_WAREHOUSE_FOLDERS"] = f"file://{firn.folder}/houses"
    if firn.store.kind == "s3":
        port = urllib.parse.urlsplit(firn.store.endpoint).port
        firn.extra["FIRN_WAREHOUSE_ENDPOINTS"] = f"127.0.0.1:{port} localhost:{port}"
        firn.extra["FIRN_S3_HADOOP_SCHEMES"] = "true"
    with firn:
        yield firn


def described(api, base, **more):
    """A warehouse there; on S3 with keys of its own."""
    store = api.store
    body = {"name": f"w{secrets.token_hex(6)}", "base-location": base, "storage": {"type": store.kind}}
    if store.kind == "s3":
        body["storage"] |= {"endpoint": store.endpoint, "region": store.region, "path-style": True, "hadoop-schemes": True}
        body["credentials"] = {"type": "static", "access-key-id": store.access_key, "secret-access-key": store.secret_key}
    return body | more


@pytest.fixture
def top(api):
    """A folder for the warehouses of one test."""
    return (f"file://{api.server.folder}/houses" if api.store.kind == "file" else api.store.base) + "-" * (
        api.store.kind == "s3") + f"/{secrets.token_hex(4)}"


def house(api, base, **more):
    return api.post(ROOT, described(api, base, **more)).ok().json


class House:
    """Tables of one warehouse, by its id."""

    def __init__(self, api, row):
        self.api, self.path = api, f"/v1/{row['id']}/namespaces"
        api.post(self.path, {"namespace": ["a"]}).ok()

    def create(self, location, name=None):
        name = name or f"t{secrets.token_hex(4)}"
        return name, self.api.post(f"{self.path}/a/tables", {"name": name, "schema": simple(), "location": location})

    def drop(self, name):
        self.api.delete(f"{self.path}/a/tables/{name}").expect(204)

    def move(self, name, location):
        return self.api.post(f"{self.path}/a/tables/{name}", {"requirements": [], "updates": [
            {"action": "set-location", "location": location}]})


def spellings(api, uri):
    """The same place in other words."""
    rest = uri.partition(":")[2].lstrip("/")
    if api.store.kind == "s3":
        bucket, _, key = rest.partition("/")
        return [f"s3a://{rest}", f"s3n://{rest}", uri + "/", uri + "///", f"s3://{bucket.upper()}/{key}"]
    folder = local_path(uri)
    folder.mkdir(parents=True, exist_ok=True)
    link = folder.parent / f"link-{secrets.token_hex(4)}"
    link.symlink_to(folder)
    return [f"file:/{rest}", f"file:///{rest}/", f"file:////{rest}", f"file://localhost/{rest}",
            f"file:///{rest.replace('/', '//')}", f"file://{link}"]


def test_one_base_in_other_words(api, top):
    """The second warehouse is refused, also right above and below the first, and with another name of the endpoint."""
    row = house(api, f"{top}/one")
    for base in spellings(api, row["base-location"]):
        for there in (base, base.rstrip("/") + "/deeper"):
            api.post(ROOT, described(api, there)).fails(409, contains="overlaps")
    if api.store.kind == "s3":
        port = urllib.parse.urlsplit(api.store.endpoint).port
        body = described(api, row["base-location"])
        body["storage"]["endpoint"] = f"http://localhost:{port}"
        api.post(ROOT, body).fails(409, contains="overlaps")
    house(api, f"{top}/one-more")


def test_a_link_out_of_the_folders(api, server, tmp_path):
    """FIRN_WAREHOUSE_FOLDERS says where folders are, not what leads there."""
    folder = server.folder / "houses"
    folder.mkdir(exist_ok=True)
    (folder / "out").symlink_to(tmp_path)
    body = {"name": "out", "storage": {"type": "file"}}
    for base in (f"file://{folder}/out", f"file://{folder}/out/deeper"):
        api.post(ROOT, body | {"base-location": base}).fails(403, contains="FIRN_WAREHOUSE_FOLDERS")
        api.post(ROOT, body | {"base-location": f"file://{folder}/in", "allowed-locations": [base]}).fails(403)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def pair(api, top):
    """Two warehouses; the first may also use what the second one's base lies in."""
    shared = f"{top}/shared"
    row = house(api, f"{shared}/x/y")
    return House(api, house(api, f"{top}/one", **{"allowed-locations": [shared]})), House(api, row), f"{shared}/x/y"


def test_tables_of_two_warehouses(api, pair):
    """A table of one in, at or around one of the other's, however it is spelled: 409, on set-location 400."""
    one, two, base = pair
    _, answer = two.create(f"{base}/a/t")
    answer.ok()
    mine, answer = one.create(f"{base}/a/own")
    answer.ok()
    for place in (f"{base}/a/t", f"{base}/a/t/deeper", f"{base}/a", base, base.rpartition("/")[0]):
        one.create(place)[1].fails(409, "AlreadyExistsException", contains="location")
        one.move(mine, place).fails(400, contains="location")
        for other in spellings(api, place):
            answer = one.create(other)[1]
            assert answer.status in (400, 403, 409), str(answer)  # a link inside of a warehouse is not followed
            answer = one.move(mine, other)
            assert answer.status in (400, 403), str(answer)
    two.create(f"{base}/a/own/x")[1].fails(409, "AlreadyExistsException")
    one.create(f"{base}/a/t2")[1].ok()


def test_racing_warehouses(api, pair):
    """Both at once, at every distance from each other: one of them gets the place, never both, never a 5xx."""
    one, two, base = pair
    above = base.rpartition("/")[0]
    pairs = [(f"{base}/r", f"{base}/r"), (f"{base}/r", f"{base}/r/t"), (base, f"{base}/t"), (above, f"{base}/a/b/t"),
             (f"{base}/r/deep/t", f"{base}/r"), (f"{base}/r/deep/er/t", f"{base}/r/deep")]
    for _ in range(4):
        for places in pairs:
            got = in_parallel(2, lambda i, places=places: (one, two)[i].create(places[i]))
            statuses = [answer.status for _, answer in got]
            assert sorted(statuses) == [200, 409], (places, [str(a) for _, a in got])
            winner = statuses.index(200)
            (one, two)[winner].drop(got[winner][0])


def test_racing_creates_moves_and_drops(api, pair):
    """Tables come, move and go in places that overlap; at no time do two of them lie in one another."""
    one, two, base = pair
    places = [f"{base}/a", f"{base}/a/b", f"{base}/a/b/c", f"{base}/d"]
    odd, lock = [], threading.Lock()

    def work(i):
        it = (one, two)[i % 2]
        for n in range(12):
            name, answer = it.create(places[(i + n) % 4])
            if answer.status == 200:
                moved = it.move(name, places[(i + 2 * n + 1) % 4])
                gone = api.delete(f"{it.path}/a/tables/{name}")
                answers = [(moved, (200, 400)), (gone, (204,))]
            else:
                answers = [(answer, (409,))]
            with lock:
                odd.extend(str(a) for a, statuses in answers if a.status not in statuses)

    in_parallel(4, work)
    assert not odd, odd
    assert api.server.db.query("SELECT count(*) FROM location WHERE object_id IS NOT NULL")[0][0] == len(
        api.server.db.query("SELECT id FROM object"))
    _, answer = two.create(f"{base}/a/b/c")
    answer.ok()


def test_a_case_of_its_own(api, ns):
    """In paths capitals are other letters, in buckets they are not."""
    one = api.table(ns, "one", location=f"{api.store.base}/{ns}/Case")
    assert api.table(ns, "two", location=f"{api.store.base}/{ns}/case").location != one.location


def test_a_renamed_table_takes_its_place_along(api, ns):
    """The old name is free, the old place is not."""
    place = api.table(ns, "one").location
    api.rename((ns, "one"), (ns, "two")).expect(204)
    api.create(ns, "one", location=place).fails(409, "AlreadyExistsException")
    assert Table(api, ns, "two").location == place
