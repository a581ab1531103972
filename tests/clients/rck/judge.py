"""Apache's compatibility kit against a new server with a new database and warehouse folder."""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
from firn_server import Server  # noqa: E402

# the kit's own places for tables with a requested location
LEFT_BEHIND = [pathlib.Path("/tmp/ns"), pathlib.Path("/tmp/newdb")]


def main():
    # the kit compares locations with Java's spelling, asks for file:/tmp/…, and names its warehouse
    with Server(spelling="file:", allowed="file:/tmp", warehouse_name="rck_warehouse") as firn:
        kit = pathlib.Path(__file__).with_name("run.sh")
        left = [path for path in LEFT_BEHIND if not path.exists()]
        try:
            return subprocess.run([kit, firn.url + "/", *sys.argv[1:]]).returncode
        finally:
            for path in left:
                shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
