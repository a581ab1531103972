"""The sections of README that show a server with settings of its own, and requests to it: each `firn serve` is started,
on a real S3 store or on stubs of Google's and Azure's that judge tokens, and each curl command is sent to it."""

import base64
import json
import os
import re
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import boto3

from shown import CATALOG, FIRST, ROOT, STORE, blocks, brief, check, commands, execute, here, results, send
from azure_stub import ACCOUNT, CONTAINER, Azure  # noqa: E402
from google_stub import Google  # noqa: E402

FIRN = ROOT / "build/server/firn"
ROLE, STS = os.environ["FIRN_TEST_ROLE_ARN"], os.environ["FIRN_TEST_STS_ENDPOINT"]
# what an answer must hold, by what its line holds
TOLD = {"/credentials": "s3.session-token", "Delegation: vended-credentials": "s3.session-token",
        "Delegation: remote-signing": "signer.endpoint", "/events/sign": "authorization", '"name": "bay"': "external-id"}
ran = []


def post(path, body):
    request = urllib.request.Request(CATALOG + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class Serving:
    """A line that ends in `firn serve`, on a new database."""

    def __init__(self, folder, line, words, env):
        self.log = folder / f"serve-{len(results)}.log"
        env = {k: v for k, v in os.environ.items() if not k.startswith(("FIRN_", "AWS_"))} | env | {
            "PATH": f"{FIRN.parent}:{os.environ['PATH']}", "HOME": str(folder), "AWS_EC2_METADATA_DISABLED": "true",
            "NO_GCE_CHECK": "true", "FIRN_WAREHOUSE_IDENTITY": "*", "FIRN_LISTEN": f"127.0.0.1:{FIRST}",
            "FIRN_ADMIN_LISTEN": f"127.0.0.1:{FIRST + 1}", "FIRN_DATABASE": f"sqlite:{folder}/serve-{len(results)}.db",
            "FIRN_SECRET_KEYS": "k1:" + base64.b64encode(secrets.token_bytes(32)).decode()}
        self.line = line
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(["sh", "-c", "exec env " + here(line, words)], env=env, cwd=folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        deadline = time.monotonic() + 60
        while not self.ready() and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self

    @staticmethod
    def ready():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{FIRST + 1}/health/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "no end within 60 s"
        check(brief(self.line), code == 0, f"{code}\n{self.log.read_text()}")


def run(folder, block, words, env):
    """The commands of a block: what serves is started first, wherever it stands; then come the requests. Handed out are a
    table that is there, then each command with its answer; the server runs until all are taken."""
    lines = commands(block)
    serve = next(line for line in lines if line.endswith("firn serve"))
    ran.extend(lines)
    with Serving(folder, serve, words, env):
        post("/v1/namespaces", {"namespace": ["db"]})
        table = post("/v1/namespaces/db/tables", {"name": "events", "schema": {"type": "struct", "fields": [
            {"id": 1, "name": "id", "type": "long", "required": True}]}})
        yield table
        for line in lines:
            if line != serve:
                answer = send(line, words)
                told = [word for part, word in TOLD.items() if part in line]
                if told:
                    check(f"its answer holds {told}", all(word in answer for word in told), answer)
                yield line, answer


def on_s3(folder, heading):
    """A section on the S3 store: the table's location, and what was answered to the last line."""
    place, storage = f"s3://{STORE['BUCKET']}/readme-{secrets.token_hex(4)}", {
        "type": "s3", "endpoint": STORE["ENDPOINT"], "region": STORE["REGION"], "path-style": True, "sts-endpoint": STS}
    words = {'"type": "s3", "region": "eu-central-1"': json.dumps(storage)[1:-1], '"eu-central-1"': f'"{STORE["REGION"]}"',
             **{f"arn:aws:iam::123456789012:role/{role}": ROLE for role in ("tables", "bay")},
             **{f"s3://{bucket}/": f"{place}-{bucket}/" for bucket in ("sea", "sound", "bay")}}
    env = {"FIRN_WAREHOUSE": place, "FIRN_S3_ENDPOINT": STORE["ENDPOINT"], "FIRN_S3_REGION": STORE["REGION"],
           "FIRN_S3_ACCESS_KEY_ID": STORE["ACCESS_KEY"], "FIRN_S3_SECRET_ACCESS_KEY": STORE["SECRET_KEY"],
           "FIRN_STS_ENDPOINT": STS, "FIRN_WAREHOUSE_ENDPOINTS": " ".join(
               {urllib.parse.urlsplit(url).netloc for url in (STORE["ENDPOINT"], STS)})}
    steps = run(folder, next(b for b in blocks("sh", heading) if "s3://" in b and "firn serve" in b), words, env)
    location = next(steps)["metadata"]["location"]
    file = f"{STORE['ENDPOINT']}/{location.removeprefix('s3://')}/data/a.parquet"
    words["https://s3.eu-central-1.amazonaws.com/sound/tables/db/events/data/a.parquet"] = file
    return location, list(steps)[-1]


def signed_request(location, last):
    """What README's last request is answered reads the object."""
    line, answer = last
    check("the last one is to be signed", "/events/sign" in line, line)
    bucket, _, key = location.removeprefix("s3://").partition("/")
    boto3.client("s3", endpoint_url=STORE["ENDPOINT"], region_name=STORE["REGION"], aws_access_key_id=STORE["ACCESS_KEY"],
                 aws_secret_access_key=STORE["SECRET_KEY"]).put_object(Bucket=bucket, Key=key + "/data/a.parquet", Body=b"a")
    signed = json.loads(answer)
    request = urllib.request.Request(signed["uri"], headers={k: v[0] for k, v in signed["headers"].items()})
    try:
        with urllib.request.urlopen(request, timeout=30) as got:
            check("the signed request is good at the store", got.read() == b"a")
    except urllib.error.HTTPError as error:
        check("the signed request is good at the store", False, str(error))


def on_google(folder):
    with Google(bucket="fjord") as google:
        key = google.account.json(f"{google.url}/token")
        (folder / "key").write_text(key)
        block = next(b for b in blocks("sh", "## Credentials for clients") if "gs://" in b)
        shown = re.search(r'"service-account-key": (\{.*?\})', block, re.S).group(1)
        check("the key that README shows has the members of one", set(json.loads(shown)) <= set(json.loads(key)), key)
        words = {shown: json.dumps(json.loads(key)), "/etc/firn/key.json": str(folder / "key"),
                 '"type": "gcs"': f'"type":"gcs","endpoint":"{google.url}","sts-endpoint":"{google.url}"',
                 # no warehouse lies in another's base
                 '"gs://fjord/tables"': '"gs://fjord/others"'}
        env = {"FIRN_GCS_ENDPOINT": google.url, "FIRN_STS_ENDPOINT": google.url,
               "FIRN_WAREHOUSE_ENDPOINTS": urllib.parse.urlsplit(google.url).netloc}
        told(run(folder, block, words, env), "gcs.oauth2.token")


def on_azure(folder):
    with Azure() as azure:
        words = {"tables@account.": f"{CONTAINER}@{ACCOUNT}.", "TENANT": azure.tenant, "CLIENT": azure.client,
                 '"SECRET"': f'"{azure.secret}"', '"type": "adls"': f'"type":"adls","endpoint":"{azure.url}/{ACCOUNT}"',
                 '.dfs.core.windows.net/lake"': '.dfs.core.windows.net/others"'}
        env = azure.application() | {"FIRN_AZURE_ENDPOINT": f"{azure.url}/{ACCOUNT}",
                                     "FIRN_WAREHOUSE_ENDPOINTS": urllib.parse.urlsplit(azure.url).netloc}
        block = next(b for b in blocks("sh", "## Credentials for clients") if "abfss://" in b)
        told(run(folder, block, words, env), "adls.sas-token")


def told(steps, word):
    """What is made gives credentials, and so does the server's own warehouse."""
    next(steps)
    made = json.loads(next(steps)[1])
    request = urllib.request.Request(CATALOG + "/v1/namespaces/db/tables/events",
                                     headers={"X-Iceberg-Access-Delegation": "vended-credentials"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        check(f"clients are given {word}", word in answer.read().decode())
    check("the warehouse gives them too", made["delegation"] == ["vended-credentials"], str(made))
    list(steps)


def settings_file(folder):
    """The file that README shows, and the commands that use it."""
    place = f"file://{folder}/configured"
    words = {"/etc/firn/firn.conf": f"{folder}/firn.conf", "s3://lake/tables": place}
    (folder / "firn.conf").write_text(here(blocks("ini", "## Configure")[0], words))
    *before, serve = commands(next(b for b in blocks("sh", "## Configure") if "firn serve" in b))
    database = {"FIRN_DATABASE": f"sqlite:{folder}/configured.db"}
    for line in before:
        done = execute(["sh", "-c", here(line, words)],
                       env={k: v for k, v in os.environ.items() if not k.startswith("FIRN_")} | database
                       | {"PATH": f"{FIRN.parent}:{os.environ['PATH']}"})
        check(line, done.returncode == 0 and "FAILED" not in done.stdout, done.stdout)
    with Serving(folder, serve, words, database):
        post("/v1/namespaces", {"namespace": ["db"]})


def sections(folder):
    headings = "## Credentials for clients", "## Signed requests"
    on_s3(folder, headings[0])
    signed_request(*on_s3(folder, headings[1]))
    on_s3(folder, "## Warehouses")
    on_google(folder)
    on_azure(folder)
    settings_file(folder)
    lines = [line for heading in headings for block in blocks("sh", heading) for line in commands(block)]
    lines += [line for block in blocks("sh", "## Warehouses") if "firn serve" in block for line in commands(block)]
    check("every line of these sections is run", len(lines) >= 15 and set(lines) == set(ran), str(set(lines) ^ set(ran)))
