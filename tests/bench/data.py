"""The tables that are measured: metadata of a chosen size, rows by the thousand."""

import json
import pathlib
import time
import urllib.error
import uuid

BASE_MS = 1_700_000_000_000
SMALL, LARGE, HUGE = 10_000, 1_000_000, 47_000_000
LONG_SNAPSHOTS, HUGE_SNAPSHOTS = 9_000, 50_000
TABLES = 32
COMPACT = {"separators": (",", ":")}
FIELDS = [{"id": i, "name": f"column_{i}", "type": "string", "required": False} for i in range(1, 11)]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": FIELDS}


def snapshot(location, i, base=BASE_MS, step=60_000):
    return {"sequence-number": i, "snapshot-id": 4_000_000_000_000_000 + i * 7_919,
            **({"parent-snapshot-id": 4_000_000_000_000_000 + (i - 1) * 7_919} if i > 1 else {}),
            "timestamp-ms": base + i * step,
            "summary": {"operation": "append", "added-data-files": "4", "added-records": "100000",
                        "added-files-size": "4194304", "total-records": str(i * 100_000),
                        "total-files-size": str(i * 4_194_304), "total-data-files": str(i * 4),
                        "changed-partition-count": "1", "total-delete-files": "0", "total-position-deletes": "0",
                        "total-equality-deletes": "0", "spark.app.id": f"local-{BASE_MS + i}",
                        "app-id": f"local-{BASE_MS + i}", "engine-name": "spark", "engine-version": "4.1.0",
                        "iceberg-version": "Apache Iceberg 1.12.0 (commit 0123456789abcdef0123456789abcdef01234567)"},
            "manifest-list": f"{location}/metadata/snap-{i}-1-{uuid.uuid4()}.avro", "schema-id": 0}


def snapshots_of(location, size):
    """How many fill so many bytes."""
    return max(2, (size - 1500) // (len(json.dumps(snapshot(location, 1000), **COMPACT)) + 62))


def metadata(location, count):
    """A v2 table with so many snapshots; the log of old files stays short."""
    snapshots = [snapshot(location, i) for i in range(1, count + 1)]
    last = snapshots[-1]
    return {
        "format-version": 2, "table-uuid": str(uuid.uuid4()), "location": location,
        "last-sequence-number": count, "last-updated-ms": last["timestamp-ms"], "last-column-id": 10,
        "current-schema-id": 0, "schemas": [SCHEMA],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"write.metadata.previous-versions-max": "1"},
        "current-snapshot-id": last["snapshot-id"], "snapshots": snapshots,
        "snapshot-log": [{"timestamp-ms": s["timestamp-ms"], "snapshot-id": s["snapshot-id"]} for s in snapshots],
        "metadata-log": [], "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
        "statistics": [], "partition-statistics": []}


def new_namespace(side, name):
    try:
        side.call("POST", "{base}/namespaces", {"namespace": [name], "properties": {}})
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


def register(side, name, count):
    """A table of our own server from a file that we write. Its text."""
    store = side.server.store
    location = f"{store.base}/bench/{name}"
    text = json.dumps(metadata(location, count), **COMPACT)
    file = f"{location}/metadata/00000-{uuid.uuid4()}.metadata.json"
    store.write(file, text.encode())
    side.call("POST", "{base}/namespaces/bench/register", {"name": name, "metadata-location": file})
    return text


def grow(side, name, count):
    """A table of any catalog: created, then given its history by commits of 250 snapshots."""
    answer, _ = side.call("POST", "{base}/namespaces/bench/tables", {
        "name": name, "schema": SCHEMA, "properties": {"write.metadata.previous-versions-max": "1", "format-version": "2"}})
    location, base = json.loads(answer)["metadata"]["location"], int(time.time() * 1000)
    for first in range(1, count + 1, 250):
        some = [snapshot(location, i, base, 1) for i in range(first, min(first + 250, count + 1))]
        updates = [{"action": "add-snapshot", "snapshot": s} for s in some]
        updates.append({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch",
                        "snapshot-id": some[-1]["snapshot-id"]})
        side.call("POST", f"{{base}}/namespaces/bench/tables/{name}", {"requirements": [], "updates": updates})


def crowd(server, namespace, first, last, seed="small-0"):
    """Rows as createTable makes them, made by the database: they share the seed's metadata file."""
    numbers = f"WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) "
    [(space,)] = server.sql("SELECT id FROM namespace WHERE path = %s", namespace)
    rows = f"FROM object o JOIN location l ON l.object_id = o.id CROSS JOIN n WHERE o.name = '{seed}' "
    server.sql(numbers + "INSERT INTO object "
               "(warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location) "
               f"SELECT o.warehouse_id, n.i + 1, {space}, 'table_' || CAST(n.i AS TEXT), 1, "
               "CAST(10000000 + n.i AS TEXT) || '-0000-4000-8000-000000000000', "
               "o.location || '-' || CAST(n.i AS TEXT), o.metadata_location " + rows)
    server.sql(numbers + "INSERT INTO location (authority, path, parent_path, warehouse_id, object_id) "
               "SELECT l.authority, l.path || '-' || CAST(n.i AS TEXT), l.parent_path, l.warehouse_id, n.i + 1 " + rows)
    for table in ("object", "location", "namespace"):
        server.sql(f"ANALYZE {table}")


def tidy(server):
    """Deletes the metadata files that commits have replaced, but for those of commits still under way."""
    before = time.time() - 3
    files = [file for file in (server.store.folder / "bench").rglob("*.metadata.json") if file.stat().st_mtime < before]
    current = {pathlib.Path(row[0].removeprefix("file://")) for row in
               server.sql("SELECT DISTINCT metadata_location FROM object")}
    for file in files:
        if file not in current:
            file.unlink(missing_ok=True)
