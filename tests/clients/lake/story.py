"""A lake, from an empty bucket on. curl makes a warehouse there; Spark, PyIceberg and DuckDB are told the address of the
catalog and the warehouse's name, nothing else, and work on one another's tables: first with credentials that the
catalog hands out, then with requests that it signs, which DuckDB cannot do. A thief who has got hold of what these
clients were given reaches nothing but the one table that it was for."""

import base64
import json
import os
import pathlib
import secrets
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

import boto3  # noqa: E402
import pyarrow as pa  # noqa: E402
from botocore.config import Config  # noqa: E402
from botocore.exceptions import ClientError  # noqa: E402
from duckdb_connection import open_duckdb  # noqa: E402
from firn_server import FileStore, S3Store, Server, temporary_folder  # noqa: E402
from held import hold  # noqa: E402
from pyiceberg.catalog import load_catalog  # noqa: E402
from spark_session import start_spark  # noqa: E402
from steps import step, tell  # noqa: E402

ROLE, STS = os.environ["FIRN_TEST_ROLE_ARN"], os.environ["FIRN_TEST_STS_ENDPOINT"]
# Ceph RGW lets whoever has a session of a role assume it again; clients get an address without a token service there.
CLIENT_ENDPOINT = os.environ.get("FIRN_TEST_S3_CLIENT_ENDPOINT", "")


def curl(url, body=None):
    """What a user with a shell does."""
    words = ["curl", "-sS", "--fail-with-body", url] + (["-d", json.dumps(body)] if body else [])
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


class Lake:
    def __init__(self, firn, store):
        self.firn, self.store, self.spark = firn, store, None
        self.bucket = f"lake-{secrets.token_hex(6)}"
        store.client.create_bucket(Bucket=self.bucket)
        self.secret = "private/secret"
        store.client.put_object(Bucket=self.bucket, Key=self.secret, Body=b"secret")

    def pyiceberg(self):
        return load_catalog("lake", uri=self.firn.url, warehouse="lake")

    def sql(self, text):
        return [tuple(row) for row in self.spark.sql(text).collect()]

    def table(self, name):
        """What the catalog tells of a table, without anything for clients."""
        prefix = curl(f"{self.firn.url}/v1/config?warehouse=lake")["overrides"]["prefix"]
        return curl(f"{self.firn.url}/v1/{prefix}/namespaces/db/tables/{name}"), f"/v1/{prefix}/namespaces/db/tables/{name}"

    def key(self, name):
        """The folder of a table in the bucket."""
        return self.table(name)[0]["metadata"]["location"].removeprefix(f"s3://{self.bucket}/")

    def victims(self, mine):
        """Objects that are not the table's: of other tables, of one whose folder's name begins alike, of nobody."""
        client, alike = self.store.client, f"{self.key(mine)}0/data/a"
        client.put_object(Bucket=self.bucket, Key=alike, Body=b"secret")
        others = [self.table(name)[0]["metadata-location"] for name in ("spark", "py", "duck") if name != mine]
        return [uri.removeprefix(f"s3://{self.bucket}/") for uri in others] + [alike, self.secret]

    def contents(self):
        """Every object of the bucket, as it is."""
        pages = self.store.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return {item["Key"]: item["ETag"] for page in pages for item in page["Contents"]}


def rows(first):
    return pa.table({"id": pa.array([first, first + 1], pa.int64()), "who": ["py", "py"]})


@step()
def curl_makes_it(s):
    """curl makes a warehouse on the empty bucket, and is not told the keys again"""
    client = {"client-endpoint": CLIENT_ENDPOINT} if CLIENT_ENDPOINT else {}
    house = curl(f"{s.firn.url}/management/v1/warehouses", {
        "name": "lake", "base-location": f"s3://{s.bucket}/tables", "delegation": ["vended-credentials"],
        "storage": {"type": "s3", "endpoint": s.store.endpoint, "region": s.store.region, "path-style": True,
                    "sts-endpoint": STS, "vend-role-arn": ROLE} | client,
        "credentials": {"type": "static", "access-key-id": s.store.access_key, "secret-access-key": s.store.secret_key}})
    assert house["name"] == "lake" and s.store.secret_key not in json.dumps(house)
    assert s.contents() == {s.secret: s.contents()[s.secret]}, "the trial cleans up"


@step()
def spark_works(s):
    """Spark: a namespace, a table, rows"""
    s.spark = start_spark(s.firn.url, "lake", True, {})
    s.sql("CREATE NAMESPACE db")
    s.sql("CREATE TABLE db.spark (id BIGINT, who STRING) USING iceberg PARTITIONED BY (who)")
    s.sql("INSERT INTO db.spark VALUES (1, 'spark')")
    assert s.sql("SELECT * FROM db.spark") == [(1, "spark")]


@step()
def pyiceberg_works(s):
    """PyIceberg: reads and writes Spark's table, makes one of its own"""
    catalog = s.pyiceberg()
    table = catalog.load_table("db.spark")
    table.append(rows(10))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 10, 11]
    catalog.create_table("db.py", rows(0).schema).append(rows(20))


@step()
def duckdb_works(s):
    """DuckDB: reads both, writes to one, makes one of its own"""
    con = open_duckdb()
    con.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{s.firn.url}', AUTHORIZATION_TYPE 'none')")
    con.execute("INSERT INTO lake.db.py VALUES (30, 'duck')")
    con.execute("CREATE TABLE lake.db.duck AS SELECT id, who FROM lake.db.spark UNION ALL SELECT id, who FROM lake.db.py")
    assert con.execute("SELECT count(*), sum(id) FROM lake.db.duck").fetchall() == [(6, 93)]


@step()
def a_thief_with_credentials(s):
    """what PyIceberg was given for one table: its own files, and nothing else in the store"""
    table = s.pyiceberg().load_table("db.py")
    given, mine = table.io.properties, table.location().removeprefix(f"s3://{s.bucket}/")
    hold(given["s3.secret-access-key"], given["s3.session-token"])
    assert given["s3.access-key-id"] != s.store.access_key
    keys = {"region_name": given["client.region"], "aws_access_key_id": given["s3.access-key-id"],
            "aws_secret_access_key": given["s3.secret-access-key"], "aws_session_token": given["s3.session-token"]}
    thief = boto3.client("s3", endpoint_url=given["s3.endpoint"], **keys,
                         config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}))
    victims, here = s.victims("py"), {"Bucket": s.bucket}
    before = s.contents()
    assert thief.get_object(Key=table.metadata_location.removeprefix(f"s3://{s.bucket}/"), **here)["Body"].read()
    for key in victims:
        refused(thief.get_object, Key=key, **here)
        refused(thief.put_object, Key=key, Body=b"stolen", **here)
        refused(thief.delete_object, Key=key, **here)
        refused(thief.copy_object, Key=mine + "/data/loot", CopySource=here | {"Key": key}, **here)
    for prefix in ("", "tables/", "private/", mine, mine + "0/", s.key("spark") + "/"):
        refused(thief.list_objects_v2, Prefix=prefix, **here)
    refused(thief.list_objects_v2, Bucket=s.store.bucket)
    refused(thief.put_object, Bucket=s.store.bucket, Key="stolen", Body=b"x")
    refused(thief.delete_bucket, **here)
    again = boto3.client("sts", endpoint_url=given["s3.endpoint"], **keys, config=Config(retries={"max_attempts": 1}))
    refused(again.assume_role, RoleArn=ROLE, RoleSessionName="again")
    assert s.contents() == before


def refused(call, **words):
    try:
        call(**words)
    except ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 403, 405), error
        return
    raise AssertionError(f"{call.__name__} {words} was let through")


@step()
def curl_changes_it(s):
    """curl changes the warehouse: no credentials any more, its requests are signed"""
    house = curl(f"{s.firn.url}/management/v1/warehouses/lake", {"delegation": ["remote-signing"]})
    assert house["delegation"] == ["remote-signing"]


@step()
def spark_is_signed_for(s):
    """Spark without keys, in a session that begins anew"""
    s.spark = s.spark.newSession()
    s.sql("INSERT INTO db.spark VALUES (40, 'signed')")
    s.sql("CREATE TABLE db.copy USING iceberg AS SELECT * FROM db.spark")
    assert s.sql("SELECT count(*), sum(id) FROM db.copy") == [(4, 62)]


@step()
def pyiceberg_is_signed_for(s):
    """PyIceberg without keys"""
    table = s.pyiceberg().load_table("db.spark")
    assert not any("secret" in name or "token" in name for name in table.io.properties)
    table.append(rows(50))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 10, 11, 40, 50, 51]
    s.sql("REFRESH TABLE db.spark")
    assert s.sql("SELECT sum(id) FROM db.spark") == [(163,)]


@step()
def a_thief_with_signatures(s):
    """one who may ask for signatures of a table, and one who has seen a signature"""
    told, path = s.table("py")
    endpoint, mine = CLIENT_ENDPOINT or s.store.endpoint, s.key("py")
    victims, before = s.victims("py"), s.contents()

    def asked(method, key, query=""):
        body = {"method": method, "uri": f"{endpoint}/{s.bucket}/{key}{query}", "region": s.store.region, "headers": {}}
        return send("POST", s.firn.url + path + "/sign", json.dumps(body).encode(), {"Content-Type": "application/json"})

    for key in victims:
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            assert asked(method, key)[0] == 403, (method, key)
        assert asked("GET", f"{mine}/../{os.path.relpath(key, os.path.dirname(mine))}")[0] == 403
    for prefix in ("", "tables/", mine, mine + "0/"):
        assert asked("GET", "", "?list-type=2&prefix=" + urllib.parse.quote(prefix, safe=""))[0] == 403
    own = told["metadata-location"].removeprefix(f"s3://{s.bucket}/")
    for method, key in (("GET", own), ("PUT", mine + "/data/own")):
        signed = json.loads(asked(method, key)[1])
        headers = {name: values[0] for name, values in signed["headers"].items()}
        hold(headers.get("x-amz-security-token"))
        data = b"own" if method == "PUT" else None
        assert send(method, signed["uri"], data, headers)[0] == 200
        for victim in victims:
            there = f"{endpoint}/{s.bucket}/{urllib.parse.quote(victim)}"
            assert send(method, there, data, headers)[0] in (400, 403)
        for other in ("GET", "PUT", "DELETE"):
            if other != method:
                assert send(other, signed["uri"], b"stolen" if other == "PUT" else None, headers)[0] in (400, 403)
    after = s.contents()
    del after[mine + "/data/own"]
    assert after == before


def send(method, url, data, headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def main():
    store, folder = S3Store(), temporary_folder()
    hosts = {urllib.parse.urlsplit(url).netloc for url in (store.endpoint, STS, CLIENT_ENDPOINT) if url}
    env = {"FIRN_WAREHOUSE_ENDPOINTS": " ".join(hosts),
           "FIRN_SECRET_KEYS": "k1:" + base64.b64encode(secrets.token_bytes(32)).decode()}
    hold(store.secret_key)
    # what the server itself has is a folder, as `./run` starts it
    with Server(env=env, store=FileStore(folder), folder=folder) as firn:
        lake = Lake(firn, store)
        try:
            return tell(lake)
        finally:
            if lake.spark:
                lake.spark.stop()


if __name__ == "__main__":
    sys.exit(main())
