"""Spark's story: what a tutorial shows and what a warehouse does daily. --short leaves out what
takes long or repeats the same calls. With --vended Spark knows nothing of the store but what the
catalog tells. With --signed it has no keys either: the catalog signs the requests of a few steps."""

import concurrent.futures
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "lib"), str(HERE.parent)]

from firn_server import Server, delegating, tells_of_store  # noqa: E402
from pyspark.errors import PySparkException  # noqa: E402
from spark_session import start_spark  # noqa: E402
from steps import raises, step, tell  # noqa: E402


def start(firn):
    settings, s3 = {}, firn.store.kind == "s3"
    if s3 and not tells_of_store(firn):
        settings = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.endpoint": firn.store.endpoint,
                    "s3.path-style-access": "true", "s3.access-key-id": firn.store.access_key,
                    "s3.secret-access-key": firn.store.secret_key, "client.region": firn.store.region}
    return start_spark(firn.url, "main", s3, settings)


def plain(uris):
    """Java writes file:/x where the warehouse says file:///x."""
    return {uri.replace("file:///", "file:/") for uri in uris}


class Story:
    def __init__(self, firn, spark):
        self.firn = firn
        self.store = firn.store
        self.spark = spark
        self.number = 0

    def rows(self, text):
        return [tuple(row) for row in self.spark.sql(text).collect()]

    def one(self, text):
        return self.rows(text)[0][0]

    run = rows

    def table(self, options="", rows=3, columns="id BIGINT, kind STRING, at TIMESTAMP"):
        """A new table of simple events; its ids count from 0."""
        self.number += 1
        name = f"db.t{self.number}"
        self.run("CREATE NAMESPACE IF NOT EXISTS db")
        self.run(f"CREATE TABLE {name} ({columns}) USING iceberg {options}")
        if rows:
            self.insert(name, 0, rows)
        return name

    def insert(self, name, first, count):
        values = ", ".join(f"({i}, 'k{i % 2}', TIMESTAMP '2024-05-0{1 + i % 3} 10:00:00')"
                           for i in range(first, first + count))
        self.run(f"INSERT INTO {name} VALUES {values}")

    def ids(self, name, where=""):
        return [row[0] for row in self.rows(f"SELECT id FROM {name} {where} ORDER BY id")]

    def snapshots(self, name):
        return [row[0] for row in self.rows(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at")]

    def location(self, name):
        """The current metadata file."""
        return self.rows(f"SELECT file FROM {name}.metadata_log_entries ORDER BY timestamp, file")[-1][0]

    def file(self, name):
        return json.loads(self.store.read(self.location(name)))

    def fails(self, text, *words):
        error = str(raises((PySparkException, Exception), self.run, text))
        assert any(word in error for word in words), error[:2000]


# --- the tutorial -------------------------------------------------------------------


@step("short")
def databases(s):
    """databases: create, describe, properties, nested, drop"""
    s.run("CREATE DATABASE shop COMMENT 'things we sell' WITH DBPROPERTIES ('owner-team' = 'ada')")
    assert ("shop",) in s.rows("SHOW DATABASES")
    s.fails("CREATE DATABASE shop", "SCHEMA_ALREADY_EXISTS", "already exists")
    described = dict(s.rows("DESCRIBE NAMESPACE EXTENDED shop"))
    assert described["Comment"] == "things we sell" and "owner-team" in described["Properties"]
    s.run("ALTER NAMESPACE shop SET PROPERTIES ('tier' = '1')")
    assert "tier" in dict(s.rows("DESCRIBE NAMESPACE EXTENDED shop"))["Properties"]
    s.run("CREATE NAMESPACE shop.eu")
    s.run("CREATE NAMESPACE shop.eu.north")
    assert s.rows("SHOW NAMESPACES IN shop") == [("shop.eu",)]
    s.run("CREATE TABLE shop.eu.north.t (id INT) USING iceberg")
    assert [row[1] for row in s.rows("SHOW TABLES IN shop.eu.north")] == ["t"]
    s.fails("DROP NAMESPACE shop.eu", "not empty", "NotEmpty", "SCHEMA_NOT_EMPTY")
    s.run("DROP TABLE shop.eu.north.t")
    for name in ("shop.eu.north", "shop.eu", "shop"):
        s.run(f"DROP NAMESPACE {name}")
    assert ("shop",) not in s.rows("SHOW DATABASES")
    s.fails("SHOW TABLES IN shop", "NOT_FOUND", "does not exist", "cannot be found")


@step("short")
def tables(s):
    """a table: create, describe, names that are taken, drop"""
    name = s.table("PARTITIONED BY (days(at), bucket(4, id)) COMMENT 'events' TBLPROPERTIES ('made-by' = 'story')",
                   rows=0)
    assert (name.split(".")[1],) in [row[1:2] for row in s.rows("SHOW TABLES IN db")]
    described = {row[0]: row[1] for row in s.rows(f"DESCRIBE TABLE EXTENDED {name}")}
    assert described["Part 0"] == "days(at)" and described["Part 1"] == "bucket(4, id)"
    assert described["Provider"] == "iceberg" and described["Location"].startswith(s.store.base)
    assert dict(s.rows(f"SHOW TBLPROPERTIES {name}"))["made-by"] == "story"
    s.fails(f"CREATE TABLE {name} (id INT) USING iceberg", "ALREADY_EXISTS", "already exists")
    s.run(f"CREATE TABLE IF NOT EXISTS {name} (id INT) USING iceberg")
    s.fails("SELECT * FROM db.absent", "NOT_FOUND", "cannot be found")
    s.run(f"DROP TABLE {name}")
    s.run(f"DROP TABLE IF EXISTS {name}")
    s.fails(f"DROP TABLE {name}", "NOT_FOUND", "cannot be found")


@step("short", "signed")
def files(s):
    """insert, then look at the files and the metadata JSON"""
    name = s.table("PARTITIONED BY (kind)", rows=4)
    s.insert(name, 4, 2)
    assert s.ids(name) == [0, 1, 2, 3, 4, 5] and s.ids(name, "WHERE kind = 'k0'") == [0, 2, 4]
    m, location = s.file(name), s.location(name)
    listed = plain(s.store.list(m["location"]))
    data = plain(row[0] for row in s.rows(f"SELECT file_path FROM {name}.files"))
    assert len(data) == 4 and data <= listed and all("/data/kind=k" in file for file in data)
    assert plain([location]) <= listed and sum(file.endswith(".metadata.json") for file in listed) == 3
    assert m["format-version"] == 2 and m["last-sequence-number"] == 2 and len(m["snapshots"]) == 2
    assert [field["name"] for field in m["schemas"][0]["fields"]] == ["id", "kind", "at"]
    assert len(m["metadata-log"]) == 2 and plain(e["metadata-file"] for e in m["metadata-log"]) <= listed
    for snapshot in m["snapshots"]:
        assert plain([snapshot["manifest-list"]]) <= listed and snapshot["summary"]["operation"] == "append"
    assert m["snapshots"][-1]["summary"]["total-records"] == "6"


@step("short")
def metadata_tables(s):
    """snapshots, history and the other metadata tables"""
    name = s.table(rows=2)
    s.insert(name, 2, 1)
    m = s.file(name)
    first, second = (snapshot["snapshot-id"] for snapshot in m["snapshots"])
    assert s.rows(f"SELECT snapshot_id, parent_id, operation FROM {name}.snapshots ORDER BY committed_at") == [
        (first, None, "append"), (second, first, "append")]
    assert s.rows(f"SELECT snapshot_id, is_current_ancestor FROM {name}.history ORDER BY made_current_at") == [
        (first, True), (second, True)]
    assert s.rows(f"SELECT name, type, snapshot_id FROM {name}.refs") == [("main", "BRANCH", second)]
    assert s.rows(f"SELECT latest_snapshot_id FROM {name}.metadata_log_entries ORDER BY timestamp, file") == [
        (None,), (first,), (second,)]
    for other in ("manifests", "entries", "partitions", "all_data_files", "all_manifests", "all_entries",
                  "data_files"):
        assert s.one(f"SELECT count(*) FROM {name}.{other}") >= 1, other
    assert s.one(f"SELECT count(*) FROM {name}.delete_files") == 0


@step("short")
def time_travel(s):
    """time travel by id and by time"""
    name = s.table(rows=2)
    time.sleep(0.05)
    s.insert(name, 2, 1)
    time.sleep(0.05)
    s.run(f"DELETE FROM {name} WHERE id = 0")
    m = s.file(name)
    one, two, three = m["snapshots"]
    assert s.ids(name) == [1, 2]
    assert s.ids(name, f"VERSION AS OF {one['snapshot-id']}") == [0, 1]
    assert s.ids(name, f"VERSION AS OF {two['snapshot-id']}") == [0, 1, 2]
    assert s.ids(name, f"TIMESTAMP AS OF timestamp_millis({two['timestamp-ms']})") == [0, 1, 2]
    assert s.ids(name, f"TIMESTAMP AS OF timestamp_millis({two['timestamp-ms'] - 1})") == [0, 1]
    assert s.ids(name, f"VERSION AS OF {three['snapshot-id']}") == [1, 2]
    s.fails(f"SELECT * FROM {name} VERSION AS OF 42", "42")
    read = s.spark.read.option("versionAsOf", one["snapshot-id"]).table(name)
    assert sorted(row.id for row in read.collect()) == [0, 1]
    added = s.spark.read.option("start-snapshot-id", one["snapshot-id"]).option(
        "end-snapshot-id", two["snapshot-id"]).table(name)
    assert [row.id for row in added.collect()] == [2]


@step("short")
def schema_evolution(s):
    """schema evolution: add, rename, widen, reorder, nested, drop"""
    name = s.table(rows=2, columns="id INT, kind STRING, at TIMESTAMP")
    old = s.snapshots(name)[0]
    s.run(f"ALTER TABLE {name} ADD COLUMNS (place STRUCT<lat: DOUBLE>, note STRING COMMENT 'free text')")
    s.run(f"ALTER TABLE {name} ADD COLUMN place.lon DOUBLE")
    s.run(f"ALTER TABLE {name} RENAME COLUMN kind TO sort")
    s.run(f"ALTER TABLE {name} ALTER COLUMN id TYPE BIGINT")
    s.run(f"ALTER TABLE {name} ALTER COLUMN note FIRST")
    s.run(f"ALTER TABLE {name} DROP COLUMN at")
    assert s.spark.table(name).columns == ["note", "id", "sort", "place"]
    s.run(f"INSERT INTO {name} VALUES ('hi', {2**40}, 's', named_struct('lat', 1.0D, 'lon', 2.0D))")
    assert s.rows(f"SELECT note, id, sort, place.lon FROM {name} ORDER BY id") == [
        (None, 0, "k0", None), (None, 1, "k1", None), ("hi", 2**40, "s", 2.0)]
    assert s.spark.sql(f"SELECT * FROM {name} VERSION AS OF {old}").columns == ["id", "kind", "at"]
    m = s.file(name)
    assert m["last-column-id"] == 7 and m["current-schema-id"] == len(m["schemas"]) - 1
    s.fails(f"ALTER TABLE {name} ALTER COLUMN id TYPE STRING", "NOT_SUPPORTED", "Cannot", "CANNOT")
    s.run(f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = '1', 'b' = '2')")
    s.run(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('a')")
    properties = dict(s.rows(f"SHOW TBLPROPERTIES {name}"))
    assert properties["b"] == "2" and "a" not in properties


@step("short")
def partition_evolution(s):
    """partition evolution and sort order"""
    name = s.table(rows=3)
    s.run(f"ALTER TABLE {name} ADD PARTITION FIELD days(at)")
    s.insert(name, 3, 3)
    s.run(f"ALTER TABLE {name} REPLACE PARTITION FIELD days(at) WITH hours(at) AS the_hour")
    s.run(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id) AS shard")
    s.insert(name, 6, 3)
    s.run(f"ALTER TABLE {name} DROP PARTITION FIELD shard")
    s.run(f"ALTER TABLE {name} WRITE ORDERED BY kind, id DESC NULLS LAST")
    s.insert(name, 9, 3)
    assert s.ids(name) == list(range(12)) and len(s.ids(name, "WHERE at < TIMESTAMP '2024-05-02'")) == 4
    m = s.file(name)
    assert len({row[0] for row in s.rows(f"SELECT spec_id FROM {name}.files")}) == 4
    assert m["last-partition-id"] == 1002 and m["default-sort-order-id"] == 1
    default = next(x for x in m["partition-specs"] if x["spec-id"] == m["default-spec-id"])
    assert [field["name"] for field in default["fields"]] == ["the_hour"]
    s.run(f"ALTER TABLE {name} WRITE UNORDERED")
    assert s.file(name)["default-sort-order-id"] == 0


@step("short", "signed")
def changes(s):
    """MERGE, UPDATE, DELETE, INSERT OVERWRITE: copy on write and merge on read"""
    for mode in ("copy-on-write", "merge-on-read"):
        name = s.table(f"PARTITIONED BY (kind) TBLPROPERTIES ('write.delete.mode'='{mode}', "
                       f"'write.update.mode'='{mode}', 'write.merge.mode'='{mode}')", rows=8)
        s.run(f"UPDATE {name} SET at = TIMESTAMP '2030-01-01 00:00:00' WHERE id = 5")
        s.run(f"DELETE FROM {name} WHERE id IN (0, 3)")
        s.run(f"""MERGE INTO {name} t USING (SELECT * FROM VALUES (1L, 'gone'), (2L, 'new'), (100L, 'new')
                  AS u(id, what)) u ON t.id = u.id
                  WHEN MATCHED AND u.what = 'gone' THEN DELETE
                  WHEN MATCHED THEN UPDATE SET kind = u.what
                  WHEN NOT MATCHED THEN INSERT (id, kind, at) VALUES (u.id, u.what, NULL)""")
        assert s.rows(f"SELECT id, kind, year(at) FROM {name} ORDER BY id") == [
            (2, "new", 2024), (4, "k0", 2024), (5, "k1", 2030), (6, "k0", 2024), (7, "k1", 2024), (100, "new", None)]
        deletes = s.one(f"SELECT count(*) FROM {name}.all_delete_files")
        assert (deletes > 0) == (mode == "merge-on-read"), (mode, deletes)
    s.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    s.run(f"INSERT OVERWRITE {name} VALUES (50, 'new', NULL)")
    s.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert s.ids(name) == [4, 5, 6, 7, 50]
    s.run(f"TRUNCATE TABLE {name}")
    assert s.ids(name) == []


@step("short")
def rollback(s):
    """rollback by id and by time, set_current_snapshot, cherrypick"""
    name = s.table(rows=1)
    for i in (1, 2):
        time.sleep(0.05)
        s.insert(name, i, 1)
    one, two, three = s.snapshots(name)
    s.run(f"CALL c.system.rollback_to_snapshot('{name}', {two})")
    assert s.ids(name) == [0, 1]
    s.run(f"CALL c.system.set_current_snapshot('{name}', {three})")
    assert s.ids(name) == [0, 1, 2]
    when = s.file(name)["snapshots"][0]["timestamp-ms"]
    s.run(f"CALL c.system.rollback_to_timestamp('{name}', timestamp_millis({when + 1}))")
    assert s.ids(name) == [0] and len(s.snapshots(name)) == 3
    s.run(f"CALL c.system.cherrypick_snapshot('{name}', {three})")
    assert s.ids(name) == [0, 2]
    history = s.rows(f"SELECT snapshot_id, is_current_ancestor FROM {name}.history ORDER BY made_current_at")
    assert [row[0] for row in history[:6]] == [one, two, three, two, three, one] and len(history) == 7


@step("short")
def branches(s):
    """branches and tags: create, write, read, fast-forward, drop"""
    name = s.table(rows=2)
    s.run(f"ALTER TABLE {name} CREATE TAG release RETAIN 7 DAYS")
    s.run(f"ALTER TABLE {name} CREATE BRANCH audit RETAIN 30 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS")
    s.run(f"INSERT INTO {name}.branch_audit VALUES (10, 'audit', NULL)")
    assert s.ids(name) == [0, 1] and s.ids(f"{name}.branch_audit") == [0, 1, 10]
    assert s.ids(name, "VERSION AS OF 'release'") == [0, 1]
    refs = s.file(name)["refs"]
    assert refs["release"]["max-ref-age-ms"] == 7 * 86400000 and refs["release"]["type"] == "tag"
    assert refs["audit"]["min-snapshots-to-keep"] == 2 and refs["audit"]["max-ref-age-ms"] == 30 * 86400000
    s.run(f"CALL c.system.fast_forward('{name}', 'main', 'audit')")
    assert s.ids(name) == [0, 1, 10]
    s.run(f"ALTER TABLE {name} REPLACE TAG release AS OF VERSION {s.snapshots(name)[-1]}")
    assert s.ids(name, "VERSION AS OF 'release'") == [0, 1, 10]
    s.fails(f"INSERT INTO {name}.branch_absent VALUES (1, 'x', NULL)", "absent")
    s.run(f"ALTER TABLE {name} DROP BRANCH audit")
    s.run(f"ALTER TABLE {name} DROP TAG release")
    assert [row[0] for row in s.rows(f"SELECT name FROM {name}.refs")] == ["main"]


@step("short")
def register(s):
    """drop keeps the files, register_table brings the table back"""
    name = s.table(rows=2)
    s.insert(name, 2, 1)
    location, snapshots = s.location(name), s.snapshots(name)
    s.run(f"DROP TABLE {name}")
    assert s.store.exists(location)
    s.run(f"CALL c.system.register_table('{name}', '{location}')")
    assert s.ids(name) == [0, 1, 2] and s.snapshots(name) == snapshots and s.location(name) == location
    s.insert(name, 3, 1)
    assert s.ids(name) == [0, 1, 2, 3]
    s.fails(f"CALL c.system.register_table('{name}', '{location}')", "already exists")
    s.fails(f"CALL c.system.register_table('db.lost', '{location}.absent')", "absent")


@step("short", "signed")
def expire(s):
    """expire_snapshots removes snapshots and their files"""
    name = s.table(rows=1)
    s.run(f"INSERT OVERWRITE {name} VALUES (7, 'x', NULL)")
    s.insert(name, 8, 1)
    m = s.file(name)
    gone = [row[0] for row in s.rows(
        f"SELECT file_path FROM {name}.all_data_files MINUS SELECT file_path FROM {name}.files")]
    assert len(gone) == 1 and s.store.exists(gone[0])
    done = s.rows(f"CALL c.system.expire_snapshots(table => '{name}', older_than => "
                  "TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)")[0]
    assert done[0] == 1, done
    assert s.snapshots(name) == [m["current-snapshot-id"]] and s.ids(name) == [7, 8]
    assert not s.store.exists(gone[0])
    assert not any(s.store.exists(x["manifest-list"]) for x in m["snapshots"][:-1])


@step("short")
def rewrite(s):
    """rewrite_data_files: small files become one, rows stay"""
    name = s.table(rows=0)
    for i in range(5):
        s.insert(name, i, 1)
    before = s.one(f"SELECT count(*) FROM {name}.files")
    done = s.rows(f"CALL c.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")[0]
    assert done[0] == before == 5 and done[1] < before
    assert s.ids(name) == [0, 1, 2, 3, 4] and s.one(f"SELECT count(*) FROM {name}.files") == done[1]
    assert s.file(name)["snapshots"][-1]["summary"]["operation"] == "replace"


@step("short", "signed")
def staged(s):
    """CTAS, CREATE OR REPLACE, REPLACE: staged creates"""
    source = s.table(rows=4)
    s.run(f"CREATE TABLE db.copy USING iceberg PARTITIONED BY (kind) TBLPROPERTIES ('p'='1') AS SELECT * FROM {source}")
    m = s.file("db.copy")
    assert s.ids("db.copy") == [0, 1, 2, 3] and len(m["snapshots"]) == 1 and m["metadata-log"] == []
    assert m["properties"]["p"] == "1" and len(m["partition-specs"][-1]["fields"]) == 1
    s.run(f"CREATE OR REPLACE TABLE db.copy USING iceberg AS SELECT id, 'new' AS word FROM {source} WHERE id < 2")
    now = s.file("db.copy")
    assert s.ids("db.copy") == [0, 1] and s.spark.table("db.copy").columns == ["id", "word"]
    assert now["table-uuid"] == m["table-uuid"] and len(now["snapshots"]) == 2 and now["properties"]["p"] == "1"
    assert s.ids("db.copy", f"VERSION AS OF {m['current-snapshot-id']}") == [0, 1, 2, 3]
    s.run("REPLACE TABLE db.copy (id BIGINT, only STRING) USING iceberg")
    assert s.ids("db.copy") == [] and s.spark.table("db.copy").columns == ["id", "only"]
    assert "main" not in s.file("db.copy").get("refs", {})
    s.run(f"CREATE OR REPLACE TABLE db.fresh USING iceberg AS SELECT * FROM {source}")
    assert s.ids("db.fresh") == [0, 1, 2, 3]
    s.fails("REPLACE TABLE db.absent (id INT) USING iceberg", "NOT_FOUND", "cannot be found", "does not exist")
    s.fails(f"CREATE TABLE db.broken USING iceberg AS "
            f"SELECT id, CAST(raise_error('on purpose') AS INT) AS x FROM {source}", "on purpose")
    assert "broken" not in [row[1] for row in s.rows("SHOW TABLES IN db")]
    for name in ("copy", "fresh"):
        s.run(f"DROP TABLE db.{name}")


@step("short")
def version3(s):
    """format version 3: deletion vectors, row lineage, VARIANT"""
    name = s.table("TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', "
                   "'write.update.mode'='merge-on-read')", rows=0)
    s.run(f"INSERT INTO {name} SELECT id, 'k', NULL FROM range(0, 10, 1, 1)")
    s.run(f"DELETE FROM {name} WHERE id = 3")
    s.run(f"UPDATE {name} SET kind = 'changed' WHERE id = 4")
    s.insert(name, 20, 1)
    m = s.file(name)
    assert m["format-version"] == 3 and m["next-row-id"] >= 11
    assert [x["first-row-id"] for x in m["snapshots"]] == sorted(x["first-row-id"] for x in m["snapshots"])
    formats = {row[0] for row in s.rows(f"SELECT file_format FROM {name}.all_delete_files")}
    assert formats == {"PUFFIN"}, formats
    lineage = s.rows(f"SELECT id, _row_id, _last_updated_sequence_number FROM {name} ORDER BY id")
    assert [row[0] for row in lineage] == [0, 1, 2, 4, 5, 6, 7, 8, 9, 20]
    assert len({row[1] for row in lineage}) == 10 and lineage[3][1:] == (4, 3) and lineage[0][1:] == (0, 1)
    other = s.table("TBLPROPERTIES ('format-version'='3')", rows=0, columns="id BIGINT, v VARIANT")
    s.run(f"""INSERT INTO {other} SELECT 1, parse_json('{{"a": [1, 2]}}')""")
    assert s.rows(f"SELECT variant_get(v, '$.a[1]', 'int') FROM {other}") == [(2,)]


# --- more of the same, in the long story ----------------------------------------------


@step()
def upgrades(s):
    """format versions: 1 to 2 to 3 with rows at each"""
    name = s.table("TBLPROPERTIES ('format-version'='1')", rows=2)
    assert s.file(name)["format-version"] == 1
    for version in (2, 3):
        s.run(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version'='{version}')")
        s.insert(name, version * 10, 1)
        s.run(f"DELETE FROM {name} WHERE id = {version - 2}")
        assert s.file(name)["format-version"] == version
    assert s.ids(name) == [20, 30]
    s.fails(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version'='2')", "downgrade")


@step()
def rename(s):
    """rename, drop, purge"""
    name = s.table(rows=2)
    s.run("CREATE NAMESPACE IF NOT EXISTS other")
    s.run(f"ALTER TABLE {name} RENAME TO other.moved")
    assert s.ids("other.moved") == [0, 1]
    s.fails(f"SELECT * FROM {name}", "NOT_FOUND", "cannot be found")
    s.run(f"CREATE TABLE {name} (id BIGINT, kind STRING, at TIMESTAMP) USING iceberg")
    s.insert(name, 9, 1)
    s.fails(f"ALTER TABLE other.moved RENAME TO {name}", "ALREADY_EXISTS", "already exists")
    assert s.ids(name) == [9] and s.ids("other.moved") == [0, 1]
    s.run("DROP TABLE other.moved PURGE")
    assert s.ids(name) == [9], "purging the renamed table spares the one that took its name"
    s.run("DROP NAMESPACE other")


@step()
def names(s):
    """names of every kind"""
    for word in ("with.dot", "two words", "sl/ash", "100%", "a+b", "é€😀", "q?x=1#y"):
        s.run(f"CREATE NAMESPACE `{word}`")
        s.run(f"CREATE TABLE `{word}`.`{word}` (id INT, `{word}` STRING) USING iceberg")
        s.run(f"INSERT INTO `{word}`.`{word}` VALUES (1, 'x')")
        assert s.rows(f"SELECT id, `{word}` FROM `{word}`.`{word}`") == [(1, "x")], word
        assert [row[1] for row in s.rows(f"SHOW TABLES IN `{word}`")] == [word]
        s.run(f"DROP TABLE `{word}`.`{word}`")
        s.run(f"DROP NAMESPACE `{word}`")


@step()
def data_frames(s):
    """the DataFrame API: create, append, overwrite partitions, replace"""
    frame = s.spark.range(6).selectExpr("id", "concat('k', id % 2) AS kind")
    frame.writeTo("db.frame").using("iceberg").partitionedBy(frame.kind).create()
    frame.selectExpr("id + 10 AS id", "kind").writeTo("db.frame").append()
    assert s.ids("db.frame") == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15]
    frame.where("kind = 'k1'").writeTo("db.frame").overwritePartitions()
    assert s.ids("db.frame") == [0, 1, 2, 3, 4, 5, 10, 12, 14]
    frame.limit(1).writeTo("db.frame").createOrReplace()
    assert s.one("SELECT count(*) FROM db.frame") == 1
    s.run("DROP TABLE db.frame")


@step()
def write_audit_publish(s):
    """write, audit, publish by a branch"""
    name = s.table("TBLPROPERTIES ('write.wap.enabled'='true')", rows=1)
    s.spark.conf.set("spark.wap.branch", "review")
    s.insert(name, 1, 1)
    s.spark.conf.unset("spark.wap.branch")
    assert s.ids(name) == [0] and s.ids(f"{name}.branch_review") == [0, 1]
    s.run(f"CALL c.system.fast_forward('{name}', 'main', 'review')")
    assert s.ids(name) == [0, 1]


@step()
def maintenance(s):
    """rewrite_manifests, position deletes, statistics, orphans, ancestors, change view"""
    name = s.table("TBLPROPERTIES ('write.delete.mode'='merge-on-read')", rows=0)
    s.run(f"INSERT INTO {name} SELECT id, 'k', NULL FROM range(0, 20, 1, 1)")
    for i in range(3):
        s.insert(name, 100 + i, 1)
    s.run(f"DELETE FROM {name} WHERE id < 5")
    rows = [*range(5, 20), 100, 101, 102]
    s.run(f"CALL c.system.rewrite_manifests('{name}')")
    s.run(f"CALL c.system.rewrite_position_delete_files(table => '{name}', options => map('rewrite-all','true'))")
    assert s.ids(name) == rows
    s.run(f"CALL c.system.compute_table_stats('{name}')")
    stats = s.file(name)["statistics"]
    assert len(stats) == 1 and s.store.exists(stats[0]["statistics-path"])
    parts = s.table("PARTITIONED BY (kind)")
    s.run(f"CALL c.system.compute_partition_stats('{parts}')")
    stats = s.file(parts)["partition-statistics"]
    assert len(stats) == 1 and s.store.exists(stats[0]["statistics-path"])
    listing = ", prefix_listing => true" if s.store.kind == "s3" else ""
    assert s.rows(f"CALL c.system.remove_orphan_files(table => '{name}'{listing})") == []
    assert len(s.rows(f"CALL c.system.ancestors_of('{name}')")) == len(s.snapshots(name))
    assert s.ids(name) == rows
    plain = s.table(rows=2)
    s.run(f"DELETE FROM {plain} WHERE id = 1")
    s.run(f"CALL c.system.create_changelog_view(table => '{plain}', changelog_view => 'changed')")
    assert s.rows("SELECT id, _change_type FROM changed ORDER BY _change_ordinal, id") == [
        (0, "INSERT"), (1, "INSERT"), (1, "DELETE")]


@step("short")
def views(s):
    """views: create, replace, alter, list, drop; a name that is a table's"""
    name = s.table(rows=4)
    s.run(f"CREATE VIEW db.evens (n COMMENT 'the id') COMMENT 'half of them' TBLPROPERTIES ('k' = 'v') "
          f"AS SELECT id FROM {name} WHERE id % 2 = 0")
    assert s.rows("SELECT n FROM db.evens ORDER BY n") == [(0,), (2,)]
    s.run("CREATE VIEW IF NOT EXISTS db.evens AS SELECT 1 AS n")
    s.fails("CREATE VIEW db.evens AS SELECT 1 AS n", "already exists", "ALREADY_EXISTS")
    s.fails(f"CREATE VIEW {name} AS SELECT 1 AS n", "already exists", "ALREADY_EXISTS")
    s.fails("CREATE TABLE db.evens (id INT) USING iceberg", "already exists", "ALREADY_EXISTS")
    s.run(f"CREATE OR REPLACE VIEW db.evens AS SELECT id AS n, kind FROM {name} WHERE id % 2 = 0")
    assert s.rows("SELECT n, kind FROM db.evens ORDER BY n") == [(0, "k0"), (2, "k0")]
    s.run("ALTER VIEW db.evens SET TBLPROPERTIES ('a' = 'b')")
    s.run("ALTER VIEW db.evens UNSET TBLPROPERTIES ('a')")
    assert "'k' = 'v'" in s.one("SHOW CREATE TABLE db.evens") or ("k", "v") in s.rows("SHOW TBLPROPERTIES db.evens")
    assert "evens" in [row[1] for row in s.rows("SHOW VIEWS IN db")]
    s.insert(name, 4, 1)
    assert s.one("SELECT count(*) FROM db.evens") == 3
    s.run("ALTER VIEW db.evens RENAME TO db.halves")
    assert s.one("SELECT max(n) FROM db.halves") == 4
    s.fails("SELECT * FROM db.evens", "cannot be found", "NOT_FOUND")
    s.run("DROP VIEW db.halves")
    assert "halves" not in [row[1] for row in s.rows("SHOW VIEWS IN db")]
    s.run("DROP VIEW IF EXISTS db.halves")


@step()
def at_once(s):
    """inserts at once: the client retries, every row is there once"""
    name = s.table("TBLPROPERTIES ('commit.retry.num-retries'='50', 'commit.retry.min-wait-ms'='10', "
                   "'commit.retry.max-wait-ms'='200')", rows=0)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: s.insert(name, i * 10, 2), range(12)))
    assert s.ids(name) == sorted(i * 10 + j for i in range(12) for j in (0, 1))
    assert [row[0] for row in s.rows(f"SELECT count(*) FROM {name}.snapshots")] == [12]


@step()
def many_commits(s):
    """old metadata files are deleted when the table asks for it"""
    name = s.table("TBLPROPERTIES ('write.metadata.previous-versions-max'='3', "
                   "'write.metadata.delete-after-commit.enabled'='true')", rows=0)
    for i in range(6):
        s.insert(name, i, 1)
    m = s.file(name)
    assert len(m["metadata-log"]) == 3 and s.ids(name) == [0, 1, 2, 3, 4, 5]


@step()
def restart(s):
    """a restart of the server in the middle of the session"""
    name = s.table(rows=1)
    s.firn.stop()
    s.firn.extra["FIRN_LISTEN"] = s.firn.address
    s.firn.start()
    s.insert(name, 1, 1)
    assert s.ids(name) == [0, 1]


def main():
    with Server(env=delegating(sys.argv)) as firn:
        spark = start(firn)
        try:
            return tell(Story(firn, spark), only=next((m for m in ("signed", "short") if f"--{m}" in sys.argv), None))
        finally:
            spark.stop()


if __name__ == "__main__":
    sys.exit(main())
