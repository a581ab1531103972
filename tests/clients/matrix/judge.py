"""Plays the rows of tests/lib/matrix_rows.py and lets two other implementations judge: the Java
library applies the same commits to the same states and must come to the same metadata, or refuse
with the same words; Java and PyIceberg read back what the server wrote."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
from firn_client import Api  # noqa: E402
from firn_server import Server  # noqa: E402
from matrix import VIEW_BASES, Play, cases, name_of  # noqa: E402
from matrix_rows import ROWS  # noqa: E402

HERE = pathlib.Path(__file__).parent
PYICEBERG_DROPS = ("encryption-keys",)


def compact(value):
    """Without what some write and some leave out: empty lists and maps, null, the number 0 of v1."""
    if isinstance(value, list):
        return [compact(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: compact(v) for k, v in value.items()
            if v not in ([], {}, None) and (k, v) != ("sequence-number", 0)}


def plain(metadata, base=None):
    """What counts of a document: not when it was made, nor the order of its lists."""
    found = compact(metadata)
    found.pop("last-updated-ms", None)
    if found.get("current-snapshot-id") == -1:
        del found["current-snapshot-id"]
    own = {s["snapshot-id"]: s["timestamp-ms"] for s in found.get("snapshots", [])}
    own |= {v["version-id"]: v["timestamp-ms"] for v in found.get("versions", [])}
    for log in ("snapshot-log", "version-log"):
        for entry in found.get(log, []):
            known = entry in (base or {}).get(log, []) or entry["timestamp-ms"] == own.get(
                entry.get("snapshot-id", entry.get("version-id")))
            if base is not None and not known:
                entry["timestamp-ms"] = "the commit's"
    for member in ("schemas", "partition-specs", "sort-orders", "snapshots", "statistics", "versions"):
        found[member] = sorted(found.get(member, []), key=lambda e: [
            e[k] for k in ("schema-id", "spec-id", "order-id", "snapshot-id", "version-id") if k in e][-1:])
    return found


def differences(want, got, at=""):
    if type(want) is not type(got) or not isinstance(want, (dict, list)):
        return [] if want == got else [f"{at}: {json.dumps(want)[:300]} here, {json.dumps(got)[:300]} there"]
    if isinstance(want, dict):
        keys = sorted({*want, *got})
        pairs = [(f"{at}/{k}", want.get(k), got.get(k)) for k in keys]
    elif len(want) != len(got):
        return [f"{at}: {len(want)} here, {len(got)} there"]
    else:
        pairs = [(f"{at}/{i}", w, g) for i, (w, g) in enumerate(zip(want, got, strict=True))]
    return [d for a, w, g in pairs for d in differences(w, g, a)]


def commit_line(done):
    changed = done.row.changes and done.answer.status == 200
    return {"name": name_of((done.row, done.version)), "view": done.row.base in VIEW_BASES, "version": done.version,
            "base": None if done.row.base == "absent" else done.given.base, "location": done.given.location,
            "requirements": done.body["requirements"], "updates": done.body["updates"],
            "result": done.given.got if changed else None,
            "result-location": done.answer.json["metadata-location"] if changed else None}


def java(plays):
    with tempfile.TemporaryDirectory(prefix="firn-matrix-") as folder:
        commits, verdicts = pathlib.Path(folder, "commits"), pathlib.Path(folder, "verdicts")
        commits.write_text("".join(json.dumps(commit_line(done)) + "\n" for done in plays))
        path = subprocess.run([HERE.parent / "rck/run.sh", "--class-path"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()
        subprocess.run(["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path,
                        HERE / "Judge.java", commits, verdicts], check=True, timeout=300)
        return [json.loads(line) for line in verdicts.read_text().splitlines()]


def without_pointer(message):
    return re.sub(r" \(/[^ ]*\)$", "", message)


def as_java_says(done, verdict):
    """Why the Java library does not agree, in lines; none when it does."""
    if done.answer.status != 200:
        error = done.answer.error
        if "thrown" not in verdict:
            return [f"refused here ({error['message']}), taken there"]
        if error["type"] == "BadRequestException":
            return []  # the form, which it refuses in its own words
        there = [verdict["thrown"], verdict["message"]]
        if there[0] == "RetryableValidationException":  # as its catalog handlers pass it on
            there = ["CommitFailedException", "Validation failed, please retry: " + there[1]]
        if [error["type"], without_pointer(error["message"])] != there:
            return [f"{error['type']} {error['message']!r} here, {there[0]} {there[1]!r} there"]
        return []
    if "thrown" in verdict:
        return [f"taken here, {verdict['thrown']} {verdict['message']!r} there"]
    if not done.row.changes:
        return [] if verdict.get("unchanged") else ["unchanged here, a new version there"]
    if verdict.get("unchanged"):
        return ["a new version here, unchanged there"]
    base = done.given.base or {}
    return differences(plain(done.given.got, base), plain(verdict["metadata"], base))


def read_by_java(done, verdict):
    if "unreadable" in verdict:
        return [verdict["unreadable"]]
    return differences(plain(done.given.got), plain(verdict["read"]))


def read_by_pyiceberg(done):
    text = json.dumps(done.given.got)
    try:
        if done.row.base in VIEW_BASES:
            from pyiceberg.view.metadata import ViewMetadata
            read = ViewMetadata.model_validate_json(text)
        else:
            from pyiceberg.table.metadata import TableMetadataUtil
            read = TableMetadataUtil.parse_raw(text)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    again = read.model_dump(mode="json", by_alias=True, exclude_none=True)
    here = {k: v for k, v in done.given.got.items() if k not in PYICEBERG_DROPS}
    return differences(plain(here), plain(again))


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def judge(self, who, name, problems, excuse=""):
        if bool(problems) == bool(excuse):
            self.passed += 1
            return
        self.failed += 1
        for line in problems or [f"no difference, but the table says: {excuse}"]:
            print(f"{name}: {who}: {line}")


def main():
    with Server() as firn:
        api = Api(firn)
        play = Play(api)
        plays = [play.run(row, version) for row, version in cases(ROWS)]
        api.close()
    count = Count()
    for done, verdict in zip(plays, java(plays), strict=True):
        name = name_of((done.row, done.version))
        assert verdict["name"] == name
        count.judge("Java", name, as_java_says(done, verdict), done.row.java)
        if done.row.changes and done.answer.status == 200:
            count.judge("read by Java", name, read_by_java(done, verdict), done.row.unread_java)
            count.judge("read by PyIceberg", name, read_by_pyiceberg(done), done.row.pyiceberg)
    print(f"{count.passed} passed, {count.failed} failed, 0 skipped")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
