"""Writes the files of this folder. They are kept; this says how they came about.

make.py fastavro     one list and one manifest of three entries in every codec (fastavro, cramjam,
                     backports.zstd)
make.py pyiceberg    what PyIceberg writes, both format versions
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PLACE = "s3://b/wh/t"


def field(number, name, kind, optional=False):
    return {"name": name, "field-id": number, "type": ["null", kind] if optional else kind,
            **({"default": None} if optional else {})}


def record(name, *fields):
    return {"type": "record", "name": name, "fields": list(fields)}


LIST = record(
    "manifest_file", field(500, "manifest_path", "string"), field(501, "manifest_length", "long"),
    field(502, "partition_spec_id", "int"), field(517, "content", "int"), field(515, "sequence_number", "long"),
    field(516, "min_sequence_number", "long"), field(503, "added_snapshot_id", "long"),
    # names of old writers: the ids decide
    field(504, "added_data_files_count", "int"), field(505, "existing_data_files_count", "int"),
    field(506, "deleted_data_files_count", "int"), field(512, "added_rows_count", "long"),
    field(513, "existing_rows_count", "long"), field(514, "deleted_rows_count", "long"),
    {"name": "partitions", "field-id": 507, "default": None, "type": ["null", {
        "type": "array", "element-id": 508, "items": record(
            "r508", field(509, "contains_null", "boolean"), field(518, "contains_nan", "boolean", True),
            field(510, "lower_bound", "bytes", True), field(511, "upper_bound", "bytes", True))}]},
    field(519, "key_metadata", "bytes", True), field(520, "first_row_id", "long", True))


def pairs(number, name, key, value, kind):
    return {"name": name, "field-id": number, "default": None, "type": ["null", {
        "type": "array", "logicalType": "map", "items": record(
            f"k{key}_v{value}", field(key, "key", "int"), field(value, "value", kind))}]}


FIXED = {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}
ENTRY = record(
    "manifest_entry", field(0, "status", "int"), field(1, "snapshot_id", "long", True),
    field(3, "sequence_number", "long", True), field(4, "file_sequence_number", "long", True),
    {"name": "data_file", "field-id": 2, "type": record(
        "r2", field(134, "content", "int"), field(100, "file_path", "string"), field(101, "file_format", "string"),
        {"name": "partition", "field-id": 102, "type": record(
            "r102", field(1000, "day", {"type": "int", "logicalType": "date"}, True), field(1001, "u", FIXED, True),
            # a name that stands for the type above
            field(1002, "v", "uuid_fixed", True), field(1003, "x", "double"), field(1004, "f", "float"),
            field(1005, "b", "boolean"))},
        field(103, "record_count", "long"), field(104, "file_size_in_bytes", "long"),
        pairs(108, "column_sizes", 117, 118, "long"), pairs(125, "lower_bounds", 126, 127, "bytes"),
        field(131, "key_metadata", "bytes", True),
        {"name": "split_offsets", "field-id": 132, "default": None, "type": [
            "null", {"type": "array", "element-id": 133, "items": "long"}]},
        field(140, "sort_order_id", "int", True), field(142, "first_row_id", "long", True))})


def list_rows():
    for i in range(3):
        yield {"manifest_path": f"{PLACE}/metadata/m{i}.avro", "manifest_length": 7000 + i, "partition_spec_id": i,
               "content": i % 2, "sequence_number": 10 + i, "min_sequence_number": i, "added_snapshot_id": 2**62 + i,
               "added_data_files_count": 1 + i, "existing_data_files_count": i, "deleted_data_files_count": 2 * i,
               "added_rows_count": 100 * i, "existing_rows_count": 2**40, "deleted_rows_count": 0,
               "partitions": [{"contains_null": True, "contains_nan": None, "lower_bound": b"a" * 20,
                               "upper_bound": None}] * i, "key_metadata": None,
               "first_row_id": None if i == 0 else i * 1000}


def entry_rows():
    for i in range(3):
        yield {"status": i, "snapshot_id": None if i == 1 else -5, "sequence_number": None if i == 1 else 3,
               "file_sequence_number": None, "data_file": {
                   "content": i, "file_path": f"{PLACE}/data/{'p' * (60 * i)}f{i}.parquet", "file_format": "PARQUET",
                   "partition": {"day": 19000 + i, "u": b"u" * 16, "v": None if i else b"v" * 16, "x": 1.5, "f": 2.5,
                                 "b": True},
                   "record_count": 10 * i, "file_size_in_bytes": 2**33 + i,
                   "column_sizes": [{"key": k, "value": 5 * k} for k in range(40)],
                   "lower_bounds": [{"key": k, "value": b"low" * k} for k in range(20)],
                   "key_metadata": None, "split_offsets": [4, 2**30], "sort_order_id": 0, "first_row_id": None}}


def with_fastavro():
    import fastavro
    for codec in ("null", "deflate", "snappy", "zstandard", "bzip2"):
        for name, schema, rows in (("list", LIST, list_rows()), ("manifest", ENTRY, entry_rows())):
            if codec == "bzip2" and name == "manifest":
                continue
            with open(HERE / f"{name}-{codec}.avro", "wb") as out:
                # small blocks: each holds a record or two
                fastavro.writer(out, schema, rows, codec=codec, sync_interval=700 if name == "manifest" else 100,
                                sync_marker=b"0123456789abcdef", metadata={"format-version": "3"})


def with_pyiceberg():
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.manifest import (DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus,
                                    write_manifest, write_manifest_list)
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.typedef import Record
    from pyiceberg.types import LongType, NestedField, StringType

    io = PyArrowFileIO()
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()))
    parted = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"), spec_id=1)
    for version, spec, codec in ((1, PartitionSpec(), "deflate"), (2, parted, "zstandard")):
        out = io.new_output(f"{HERE}/pyiceberg-v{version}-manifest.avro")
        with write_manifest(version, spec, schema, out, 77, codec) as writer:
            for i in range(2):
                writer.add_entry(ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=77,
                    data_file=DataFile.from_args(
                        content=DataFileContent.DATA, file_path=f"{PLACE}/data/{version}-{i}.parquet", file_format=FileFormat.PARQUET,
                        partition=Record(*(["k"] if version == 2 else [])), record_count=5 + i,
                        file_size_in_bytes=600 + i, column_sizes={1: 10, 2: 20}, value_counts={1: 5, 2: 5},
                        null_value_counts={1: 0, 2: 1}, nan_value_counts={},
                        lower_bounds={1: b"\1\0\0\0\0\0\0\0"},
                        upper_bounds={1: b"\5\0\0\0\0\0\0\0"}, split_offsets=[4])))
            manifest = writer.to_manifest_file()
        manifest[0] = f"{PLACE}/metadata/{version}.avro"
        out = io.new_output(f"{HERE}/pyiceberg-v{version}-list.avro")
        with write_manifest_list(version, out, 77, None, version, codec) as writer:
            writer.add_manifests([manifest])


{"fastavro": with_fastavro, "pyiceberg": with_pyiceberg}[sys.argv[1]]()
