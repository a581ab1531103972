"""Does what README.md says, word for word but for ports and places: `./run`, the three clients, the curl commands,
the table of settings, servers with settings of their own, the benchmark's options. Spark's line runs only with
--spark (the jar is local)."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import served
import shown
from shown import CATALOG, FIRST, README, ROOT, STORE, blocks, check, commands, execute, results, send

WORDS = {"127.0.0.1:8333": STORE["ENDPOINT"].partition("://")[2], "s3://lake/": f"s3://{STORE['BUCKET']}/readme/",
         '"us-east-1"': f'"{STORE["REGION"]}"', '"KEY"': f'"{STORE["ACCESS_KEY"]}"',
         '"SECRET"': f'"{STORE["SECRET_KEY"]}"'}


def here(text):
    return shown.here(text, WORDS)


class Running:
    """`./run` as README starts it, with its data in a folder of the test."""

    def __init__(self, folder, line):
        self.log = folder / "run.log"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FIRN_")} | {
            "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
        self.line = line.replace("./run", f"exec {ROOT}/run", 1)

    def __enter__(self):
        listen = f" --listen=127.0.0.1:{FIRST} --admin-listen=127.0.0.1:{FIRST + 1}"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(["sh", "-c", here(self.line) + listen], env=self.env, cwd="/",
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 600
        while "DuckDB" not in self.text() and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self

    def text(self):
        return self.log.read_text()

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.code = "no end within 60 s"


def pyiceberg():
    code = here(blocks("python", "## Connect")[0])
    done = execute([sys.executable, "-c", code])
    check("PyIceberg", done.returncode == 0 and "sales" in done.stdout, done.stdout)


def duckdb():
    import duckdb as duck
    from duckdb_connection import open_duckdb
    attach, select = map(here, blocks("sql", "## Connect"))
    connection = open_duckdb()
    try:
        connection.execute(attach.replace("INSTALL iceberg; LOAD iceberg;", ""))
        rows = connection.execute(select).fetchall()
        check("DuckDB reads what PyIceberg wrote", len(rows) == 2, repr(rows))
        connection.execute("CREATE TABLE firn.sales.readme AS SELECT 42 AS answer")
        rows = connection.execute("SELECT answer FROM firn.sales.readme").fetchall()
        check("DuckDB", rows == [(42,)], repr(rows))
        connection.execute("DROP TABLE firn.sales.readme")
    except duck.Error as error:
        check("DuckDB", False, str(error))


def spark():
    line = here(next(b for b in blocks("sh", "## Connect") if "spark-sql" in b)).replace("\\\n", " ")
    package = re.search(r"--packages \S+:(\S+):(\S+)", line)
    jar = pathlib.Path(os.environ["FIRN_TEST_JARS"]) / f"{package.group(1)}-{package.group(2)}.jar"
    line = line.replace(package.group(0), f"--jars {jar} --conf spark.driver.memory=700m "
                        "--conf spark.ui.enabled=false")
    import pyspark
    home = pathlib.Path(pyspark.__file__).parent
    words = shlex.split(line)
    done = execute([str(home / "bin/spark-sql"), *words[1:], "-e", "SHOW NAMESPACES"],
                   cwd=tempfile.mkdtemp(dir=os.environ.get("FIRN_TEST_TMP")),
                   env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)})
    check("Spark", done.returncode == 0 and "sales" in done.stdout, done.stdout)


def curl(heading):
    """Blocks with a server of their own are run elsewhere."""
    lines = [line for block in blocks("sh", heading) if block.find("curl ") >= 0 and "firn serve" not in block
             for line in commands(block)]
    check("curl commands are there", len(lines) >= 8, str(len(lines)))
    for line in lines:
        send(line, WORDS)


def secrets(folder):
    """The commands of a shell beside the database, with a place of their own for the key."""
    [text] = blocks("sh", "## Secrets in the database")
    env = os.environ | {"PATH": f"{ROOT / 'build/server'}:{os.environ['PATH']}", "ACCESS_KEY": "id", "SECRET_KEY": "not shown",
                        "FIRN_DATABASE": f"sqlite:{folder}/secrets.db", "FIRN_WAREHOUSE": f"file://{folder}/secrets"}
    execute(["firn", "migrate"], env=env)
    done = execute(["sh", "-ec", text.replace("/etc/firn/keys", f"{folder}/keys")], env=env)
    listed = "name=s3-keys key=k1" in done.stdout and "not shown" not in done.stdout
    check("firn secrets", done.returncode == 0 and listed, done.stdout)


def settings():
    table = dict(re.findall(r"^\| `(FIRN_\w+)` \| `?([^`|]*?)`? *\|", README, re.M))
    text = execute([str(ROOT / "build/server/firn"), "--help"]).stdout
    named = set(re.findall(r"FIRN_[A-Z0-9_]+", text)) - {"FIRN_CONFIG"}
    check("settings: README and --help name the same", set(table) == named,
          f"only one names {sorted(set(table) ^ named)}")


def bench():
    """The benchmark takes too long to run here: its options exist. One row of it is run elsewhere in the suite."""
    [command] = blocks("sh", "## Measured")
    program, *words = shlex.split(command)
    done = execute([str(ROOT / program), "--help"])
    missing = [word for word in words if word.startswith("--") and word not in done.stdout]
    check("the benchmark's options", done.returncode == 0 and not missing, f"{missing}\n{done.stdout}")


def same_words(printed):
    """What ./run prints is what README shows."""
    squeeze = lambda text: " ".join(text.replace("\\", " ").split())  # noqa: E731
    shown = [blocks("sql", "## Connect")[0],
             next(b for b in blocks("sh", "## Connect") if "spark-sql" in b)]
    for text in shown:
        check(f"./run prints what README shows: {text[:20]!r}", squeeze(here(text)) in squeeze(printed), printed)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("FIRN_TEST_TMP")))
    with Running(folder, commands(blocks("sh", "## Run")[0])[0]) as run:
        printed = run.text()
        check("./run", CATALOG in printed, printed)
        if results[-1]:
            same_words(printed)
            pyiceberg()
            duckdb()
            curl("## Administer")
            if "--spark" in sys.argv:
                spark()
            settings()
    secrets(folder)
    served.sections(folder)
    bench()
    check("./run ends with 0 on SIGTERM", run.code == 0, f"{run.code}\n{run.text()}")
    key, line = commands(blocks("sh", "## Warehouses")[0])
    done = execute(["sh", "-c", key], cwd=ROOT, env=run.env)
    check(key, done.returncode == 0 and (folder / "firn.keys").stat().st_mode & 0o77 == 0, done.stdout)
    begin = time.monotonic()
    with Running(folder, line) as again:
        check("./run again takes seconds", time.monotonic() - begin < 30, str(time.monotonic() - begin))
        with urllib.request.urlopen(CATALOG + "/v1/namespaces", timeout=10) as answer:
            check("./run again: the namespace is still there", b"sales" in answer.read())
        curl("## Warehouses")
    check("./run again ends with 0", again.code == 0, f"{again.code}")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
