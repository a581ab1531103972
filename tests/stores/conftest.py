"""Stores that differ from those of the other tests; each test starts the one it needs."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
