"""Credentials for clients end, on a store whose sessions live seconds: what was given is worth nothing afterwards, and
whoever asks again in time never holds dead ones."""

import time

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import services
from firn_client import Api
from firn_server import S3Store, Server, SqliteDatabase, temporary_folder

LIFE = 8
ASKS = {"X_Iceberg_Access_Delegation": "vended-credentials"}


@pytest.fixture
def firn(monkeypatch):
    with services.Seaweed(temporary_folder(), session=f"{LIFE}s") as weed:
        for name, value in weed.environment().items():
            monkeypatch.setenv(name, value)
        folder = temporary_folder()
        server = Server(folder=folder, db=SqliteDatabase(folder), store=S3Store(), env={
            "FIRN_S3_VEND_ROLE_ARN": weed["ROLE_ARN"], "FIRN_STS_ENDPOINT": weed["STS_ENDPOINT"]})
        with server:
            yield server


def reads(config, uri):
    """Can the object be read with these credentials?"""
    client = boto3.client(
        "s3", endpoint_url=config["s3.endpoint"], region_name=config["client.region"],
        aws_access_key_id=config["s3.access-key-id"], aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"], config=Config(retries={"max_attempts": 1}))
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    try:
        return bool(client.get_object(Bucket=bucket, Key=key)["Body"].read())
    except ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 403), error
        return False


def test_credentials_end(firn):
    """The first ones until their time and not after it; a client that loads with its tag always holds living ones."""
    api = Api(firn)
    table = api.table(api.new_namespace())
    first = held = table.load(**ASKS).ok()
    uri = first.json["metadata-location"]
    config = first.json["config"]
    ends = int(config["s3.session-token-expires-at-ms"]) / 1000
    assert reads(config, uri) and ends - time.time() <= LIFE + 1
    while time.time() < ends + 1.5:
        answer = table.load(If_None_Match=held.etag, **ASKS).expect(200, 304)
        held = answer if answer.status == 200 else held
        assert reads(held.json["config"], uri)
        time.sleep(0.2)
    assert not reads(config, uri)
    assert firn.metric("firn_vend_requests_total") >= 2
    api.close()
