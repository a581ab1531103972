"""The image and the compose file, built and run by a real engine: Dockerfile unchanged, on a local
debian:12-slim; local images under the names of the public ones that compose.yaml asks for."""

import itertools
import json
import os
import pathlib
import secrets
import shlex
import shutil
import threading
import time
import urllib.error
import urllib.request

import prepare
from held import hold
from prepare import ENGINE, PYTHON, ROOT
from services import Service, free_ports

IMAGES = ROOT / "tests/services/images"
LIMIT = 40 * 1000 * 1000


class Engine(Service):
    script = "engine.sh"
    ports = 0

    def settings(self):
        return {"ENGINE_DATA": str(ENGINE / "data")}


def http(url, body=None, timeout=15):
    """(status, headers, document); 0 when nobody answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.headers, _document(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.headers, _document(error.read())
    except OSError:
        return 0, {}, None


def _document(data):
    try:
        return json.loads(data)
    except ValueError:
        return data


def wait_for(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.1)


class Judge:
    def __init__(self, run, engine):
        self.run = run
        self.env = {"DOCKER_HOST": engine["DOCKER_HOST"], "DOCKER_BUILDKIT": "0",
                    "COMPOSE_DOCKER_CLI_BUILD": "0", "DOCKER_CONFIG": str(run.folder / "docker")}
        self.project = f"firn{secrets.token_hex(4)}"

    def docker(self, *args, what=None, timeout=600):
        return self.run.must(["docker", *args], what or f"docker {args[0]}", env=self.env, timeout=timeout)

    def check(self, name, test):
        """One test: a function that raises AssertionError or ends normally."""
        try:
            test()
        except AssertionError as error:
            self.run.result.add(failed=1)
            self.run.notes.append(f"{name}: {error}")
            self.run.log.write(f"FAILED {name}: {error}\n".encode())
        else:
            self.run.result.add(passed=1)

    def inspect(self, form, name):
        return self.docker("inspect", "-f", form, name).strip()

    # -- images --

    def build_images(self, engine):
        engine.control("base", ENGINE)
        self.docker("build", "--network", "host", "-t", "firn", "-f", ROOT / "docker/Dockerfile", ROOT,
                    what="building docker/Dockerfile", timeout=900)
        weed = self.run.folder / "seaweedfs"
        weed.mkdir()
        os.link(_weed(), weed / "weed") if _same_disk(_weed(), weed) else shutil.copy(_weed(), weed / "weed")
        for tag, file, context in (("postgres:15", "postgres", IMAGES), ("haproxy:2.6", "haproxy", IMAGES),
                                   ("chrislusf/seaweedfs:4.48", "seaweedfs", weed)):
            self.docker("build", "--network", "host", "-t", tag, "-f", IMAGES / f"{file}.Dockerfile", context,
                        what=f"a stand-in for {tag}")

    def image_is_small(self):
        size = int(self.inspect("{{.Size}}", "firn"))
        self.run.log.write(f"image size {size}\n".encode())
        assert size <= LIMIT, f"the image has {size} bytes, at most {LIMIT}"

    def image_is_declared(self):
        config = json.loads(self.inspect("{{json .Config}}", "firn"))
        assert config["User"] not in ("", "0", "root", "0:0"), "the image runs as root"
        assert config["Healthcheck"]["Test"] == ["CMD", "/firn", "health"], config["Healthcheck"]

    def image_tells_its_version(self):
        text = self.docker("run", "--rm", "--network", "none", "firn", "--version")
        assert "firn" in text.lower(), text

    def image_refuses_to_be_open(self):
        """Only FIRN_AUTH=none lets it listen beyond loopback."""
        code, text = self.run.command(["docker", "run", "--rm", "--network", "host", "-e", "FIRN_LISTEN=0.0.0.0:0",
                                       "firn"], env=self.env, timeout=60)
        assert code not in (0, 124, 125, 127) and "FIRN_AUTH" in text, f"ended with {code}: {text[-300:]}"

    def image_lives_alone(self):
        """Read-only root, no capability, SQLite on a volume: healthy, ends with 0 on SIGTERM as
        process 1, and finds everything again."""
        port = free_ports(2)
        name = f"{self.project}-alone"
        self.docker("volume", "create", name)
        admin = f"http://127.0.0.1:{port + 1}/health/ready"
        self.docker("run", "-d", "--name", name, "--network", "host", "--read-only", "--tmpfs", "/tmp",
                    "--cap-drop", "ALL", "--memory", "256m", "-v", f"{name}:/data",
                    "-e", f"FIRN_LISTEN=127.0.0.1:{port}", "-e", f"FIRN_ADMIN_LISTEN=127.0.0.1:{port + 1}",
                    "--health-interval", "1s", "firn")
        try:
            wait_for("ready", lambda: http(admin)[0] == 200)
            url = f"http://127.0.0.1:{port}/v1/namespaces"
            status, _, answer = http(url, {"namespace": ["kept"]})
            assert status == 200, f"create namespace: {status} {answer}"
            wait_for("HEALTHCHECK says healthy",
                     lambda: self.inspect("{{.State.Health.Status}}", name) == "healthy")
            self.docker("stop", "-t", "40", name)
            code = self.inspect("{{.State.ExitCode}}", name)
            assert code == "0", f"exit code {code} after SIGTERM"
            self.docker("start", name)
            wait_for("ready again", lambda: http(admin)[0] == 200)
            assert http(f"{url}/kept")[0] == 200, "the namespace is gone after a restart"
        finally:
            self.run.command(["docker", "logs", name], env=self.env)
            self.run.command(["docker", "rm", "-f", "-v", name], env=self.env)
            self.run.command(["docker", "volume", "rm", name], env=self.env)

    # -- compose --

    def settings(self):
        ports = free_ports(14)
        names = ("TEST_PORT", "TEST_PG_PORT", "TEST_FIRN_1_PORT", "TEST_FIRN_1_ADMIN_PORT",
                 "TEST_FIRN_2_PORT", "TEST_FIRN_2_ADMIN_PORT", "TEST_S3_PORT",
                 *(f"TEST_S3_PORT_{n}" for n in range(1, 8)))
        self.ports = {name: ports + n for n, name in enumerate(names)}
        self.env |= {name: str(port) for name, port in self.ports.items()}
        self.env |= {"FIRN_DB_PASSWORD": secrets.token_hex(12), "FIRN_S3_ACCESS_KEY_ID": "compose",
                     "FIRN_S3_SECRET_ACCESS_KEY": secrets.token_hex(16)}
        hold(self.env["FIRN_DB_PASSWORD"], self.env["FIRN_S3_SECRET_ACCESS_KEY"])
        self.url = f"http://127.0.0.1:{ports}"

    def compose_command(self, *args):
        return ["docker-compose", "-p", self.project, "--project-directory", ROOT / "docker",
                "-f", self.without_ports, "-f", ROOT / "docker/compose.test.yaml", *args]

    def compose(self, *args, timeout=300):
        return self.run.must(self.compose_command(*args), f"compose {args[0]}", env=self.env, timeout=timeout)

    def compose_file_is_valid(self):
        self.run.must(["docker-compose", "-f", ROOT / "docker/compose.yaml", "config", "-q"],
                      "compose config", env=self.env)

    def admin(self, number, path="/health/ready"):
        return http(f"http://127.0.0.1:{self.ports[f'TEST_FIRN_{number}_ADMIN_PORT']}{path}")

    def comes_up(self):
        self.compose("up", "-d", "--no-build")
        for number in (1, 2):
            wait_for(f"firn{number} ready", lambda n=number: self.admin(n)[0] == 200, 90)
        wait_for("HAProxy finds them", lambda: http(f"{self.url}/v1/config")[0] == 200)

    def pyiceberg_story(self):
        ports = self.ports
        self.run.counted("PyIceberg behind HAProxy", [PYTHON, ROOT / "tests/clients/pyiceberg/story.py"],
                         timeout=900, env={
            "FIRN_TEST_URL": self.url, "FIRN_TEST_WAREHOUSE": "s3://warehouse/main",
            "FIRN_TEST_RESTART": shlex.join(map(str, self.compose_command("restart", "-t", "40", "firn1"))),
            **self.env,
            "FIRN_TEST_S3_ENDPOINT": f"http://127.0.0.1:{ports['TEST_S3_PORT']}",
            "FIRN_TEST_S3_REGION": "us-east-1", "FIRN_TEST_S3_BUCKET": "warehouse",
            "FIRN_TEST_S3_ACCESS_KEY": self.env["FIRN_S3_ACCESS_KEY_ID"],
            "FIRN_TEST_S3_SECRET_KEY": self.env["FIRN_S3_SECRET_ACCESS_KEY"]})

    def served(self, number):
        status, _, text = self.admin(number, "/metrics")
        assert status == 200, f"firn{number} metrics: {status}"
        return sum(float(line.rpartition(" ")[2]) for line in text.decode().splitlines()
                   if line.startswith("firn_requests_total"))

    def both_take_part(self):
        """Requests reach both replicas, and what one wrote the other reads."""
        before = [self.served(number) for number in (1, 2)]

        def reached():
            assert http(f"{self.url}/v1/namespaces/turn")[0] == 200
            return all(self.served(number) > was for number, was in zip((1, 2), before))

        wait_for("both replicas serve", reached, 20)

    def ends_in_turn(self):
        """One replica is replaced under load; nobody notices."""
        bad, stop = [], threading.Event()

        name = self.url + "/v1/namespaces/turn"
        assert http(self.url + "/v1/namespaces", {"namespace": ["turn"]})[0] == 200

        def load():
            for number in itertools.count():
                if stop.is_set():
                    return
                read = http(name)
                change = http(name + "/properties", {"updates": {"n": str(number)}})
                bad.extend(answer for answer in (read, change) if answer[0] != 200)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(1)
            self.compose("stop", "-t", "40", "firn1")
            time.sleep(1)
            self.compose("start", "firn1")
            wait_for("firn1 ready again", lambda: self.admin(1)[0] == 200)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not bad, f"answers other than 200 while a replica was replaced: {[a[::2] for a in bad[:5]]}"

    def nobody_left(self):
        """Without servers HAProxy's own answers are the error document, and say what is safe."""
        self.compose("stop", "-t", "40", "firn1", "firn2")
        wait_for("HAProxy notices", lambda: http(f"{self.url}/v1/config")[0] == 503)
        for body, wanted in ((None, 503), ({"namespace": ["never"]}, 429)):
            status, headers, document = http(f"{self.url}/v1/namespaces", body)
            assert status == wanted, f"{status} instead of {wanted}"
            assert headers.get("Retry-After"), f"{status} without Retry-After"
            assert document["error"]["code"] == wanted, document

    def all(self, engine):
        self.build_images(engine)
        self.run.result.add(passed=1)
        self.check("size", self.image_is_small)
        self.check("declaration", self.image_is_declared)
        self.check("version", self.image_tells_its_version)
        self.check("open address", self.image_refuses_to_be_open)
        self.check("alone", self.image_lives_alone)
        self.settings()
        self.check("compose file", self.compose_file_is_valid)
        self.without_ports = self.run.folder / "compose.yaml"
        text = (ROOT / "docker/compose.yaml").read_text().splitlines(keepends=True)
        self.without_ports.write_text("".join(line for line in text if not line.startswith("    ports:")))
        try:
            self.comes_up()
            self.run.result.add(passed=1)
            self.pyiceberg_story()
            self.check("replacement", self.ends_in_turn)
            self.check("both replicas", self.both_take_part)
            self.check("no server", self.nobody_left)
        finally:
            self.run.command(self.compose_command("logs", "--no-color", "--tail", "40"), env=self.env)
            self.compose("down", "-v", "-t", "40")


def _weed():
    """The program inside the package; what lies on the PATH may be a script."""
    found = sorted(pathlib.Path(prepare.VENV).rglob("weed"), key=lambda p: p.stat().st_size)
    return found[-1].resolve()


def _same_disk(a, b):
    return a.stat().st_dev == b.stat().st_dev


def judge(run):
    with Engine(run.folder / "engine") as engine:
        Judge(run, engine).all(engine)
