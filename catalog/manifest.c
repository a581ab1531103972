#include "manifest.h"

#include <stddef.h>

#include "base.h"

#define NUMBER(id, name, need, type, member)                                                       \
    {                                                                                              \
        id, name, AVRO_INTEGER, need, offsetof(struct type, member), NULL, 0                       \
    }
#define TEXT(id, name, need, type, member)                                                         \
    {                                                                                              \
        id, name, AVRO_TEXT, need, offsetof(struct type, member), NULL, 0                          \
    }

/* Old writers call some members otherwise: the ids decide (Manifest Lists). */
static const struct avro_want of_list[] = {
    TEXT(500, "manifest_path", AVRO_MUST, manifest_file, path),
    NUMBER(501, "manifest_length", AVRO_MAY, manifest_file, length),
    NUMBER(502, "partition_spec_id", AVRO_MAY, manifest_file, spec_id),
    NUMBER(517, "content", AVRO_MAY, manifest_file, content),
    NUMBER(515, "sequence_number", AVRO_MAY, manifest_file, sequence_number),
    NUMBER(516, "min_sequence_number", AVRO_MAY, manifest_file, min_sequence_number),
    NUMBER(503, "added_snapshot_id", AVRO_MAY, manifest_file, added_snapshot_id),
    NUMBER(504, "added_files_count", AVRO_MAY, manifest_file, added_files),
    NUMBER(505, "existing_files_count", AVRO_MAY, manifest_file, existing_files),
    NUMBER(506, "deleted_files_count", AVRO_MAY, manifest_file, deleted_files),
    NUMBER(512, "added_rows_count", AVRO_MAY, manifest_file, added_rows),
    NUMBER(513, "existing_rows_count", AVRO_MAY, manifest_file, existing_rows),
    NUMBER(514, "deleted_rows_count", AVRO_MAY, manifest_file, deleted_rows),
    NUMBER(520, "first_row_id", AVRO_MAY, manifest_file, first_row_id),
};

static const struct avro_want of_data_file[] = {
    NUMBER(134, "content", AVRO_MAY, manifest_entry, content),
    TEXT(100, "file_path", AVRO_MUST, manifest_entry, path),
    TEXT(101, "file_format", AVRO_MAY, manifest_entry, format),
    NUMBER(103, "record_count", AVRO_MAY, manifest_entry, records),
    NUMBER(104, "file_size_in_bytes", AVRO_MAY, manifest_entry, bytes),
    NUMBER(142, "first_row_id", AVRO_MAY, manifest_entry, first_row_id),
};

static const struct avro_want of_manifest[] = {
    NUMBER(0, "status", AVRO_MUST, manifest_entry, status),
    NUMBER(1, "snapshot_id", AVRO_MAY, manifest_entry, snapshot_id),
    NUMBER(3, "sequence_number", AVRO_MAY, manifest_entry, sequence_number),
    NUMBER(4, "file_sequence_number", AVRO_MAY, manifest_entry, file_sequence_number),
    {2, "data_file", AVRO_INNER, AVRO_MUST, 0, of_data_file, ARRAY_LEN(of_data_file)},
};

bool manifest_list_open(struct str bytes, struct avro **out, struct err *err)
{
    return avro_open(bytes, of_list, ARRAY_LEN(of_list), out, err);
}

bool manifest_open(struct str bytes, struct avro **out, struct err *err)
{
    return avro_open(bytes, of_manifest, ARRAY_LEN(of_manifest), out, err);
}

bool manifest_list_next(struct avro *list, struct manifest_file *out, bool *more, struct err *err)
{
    *out = (struct manifest_file){
        .length = MANIFEST_UNKNOWN,
        .added_snapshot_id = MANIFEST_UNKNOWN,
        .added_files = MANIFEST_UNKNOWN,
        .existing_files = MANIFEST_UNKNOWN,
        .deleted_files = MANIFEST_UNKNOWN,
        .added_rows = MANIFEST_UNKNOWN,
        .existing_rows = MANIFEST_UNKNOWN,
        .deleted_rows = MANIFEST_UNKNOWN,
        .first_row_id = MANIFEST_UNKNOWN,
    };
    TRY(avro_next(list, out, more, err));
    return !*more || out->path.p || err_set(err, ERR_BAD_REQUEST, "an entry without manifest_path");
}

bool manifest_next(struct avro *manifest, struct manifest_entry *out, bool *more, struct err *err)
{
    *out = (struct manifest_entry){
        .snapshot_id = MANIFEST_UNKNOWN,
        .sequence_number = MANIFEST_UNKNOWN,
        .file_sequence_number = MANIFEST_UNKNOWN,
        .records = MANIFEST_UNKNOWN,
        .bytes = MANIFEST_UNKNOWN,
        .first_row_id = MANIFEST_UNKNOWN,
    };
    TRY(avro_next(manifest, out, more, err));
    return !*more || out->path.p || err_set(err, ERR_BAD_REQUEST, "an entry without file_path");
}
