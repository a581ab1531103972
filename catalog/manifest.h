/* Manifest lists and manifests (Iceberg specification, Manifests): their entries one by one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "avro.h"
#include "err.h"
#include "str.h"

/* Numbers that a file does not have. */
enum { MANIFEST_UNKNOWN = -1 };

/* An entry of a manifest list. */
struct manifest_file {
    struct str path;
    int64_t length;
    int64_t spec_id;
    int64_t content; /* 0: data, 1: deletes */
    int64_t sequence_number, min_sequence_number;
    int64_t added_snapshot_id;
    int64_t added_files, existing_files, deleted_files;
    int64_t added_rows, existing_rows, deleted_rows;
    int64_t first_row_id;
};

/* An entry of a manifest. */
struct manifest_entry {
    int64_t status; /* 0: existing, 1: added, 2: deleted */
    int64_t snapshot_id;
    int64_t sequence_number, file_sequence_number;
    int64_t content; /* 0: data, 1: position deletes, 2: equality deletes */
    struct str path, format;
    int64_t records, bytes;
    int64_t first_row_id;
};

/* Readers, closed by avro_close, with the errors of avro_open. The bytes of the file must live as
 * long. */
MUST bool manifest_list_open(struct str bytes, struct avro **out, struct err *err);
MUST bool manifest_open(struct str bytes, struct avro **out, struct err *err);
/* The next entry; its texts live until the next call. *more is false behind the last one. */
MUST bool manifest_list_next(
    struct avro *list, struct manifest_file *out, bool *more, struct err *err);
MUST bool manifest_next(
    struct avro *manifest, struct manifest_entry *out, bool *more, struct err *err);
