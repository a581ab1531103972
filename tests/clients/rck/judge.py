"""Apache's compatibility kit against a new server with a new database and warehouse folder."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
from firn_server import Server  # noqa: E402


def main():
    # the kit compares locations with Java's spelling, asks for file:/tmp/…, and names its warehouse
    with Server(spelling="file:", allowed="file:/tmp", warehouse_name="rck_warehouse") as firn:
        kit = pathlib.Path(__file__).with_name("run.sh")
        return subprocess.run([kit, firn.url + "/", *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
