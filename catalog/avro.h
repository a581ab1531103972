/* Avro object container files, as manifests and manifest lists are: a cursor over the records of
 * one. Whoever may write to a table writes them, so every size is checked before it is used, and
 * only the members that are asked for are made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct avro;

/* A member of a record that is wanted: by its Iceberg field id, or by its name in a file that has
 * no ids. */
struct avro_want {
    int64_t id;
    const char *name;
    enum avro_kind { AVRO_TEXT, AVRO_INTEGER, AVRO_INNER } kind;
    enum avro_need { AVRO_MAY, AVRO_MUST } need;
    size_t at;                     /* in what avro_next fills: a struct str, an int64_t */
    const struct avro_want *inner; /* of AVRO_INNER, into the same struct */
    size_t n_inner;
};

/* ERR_BAD_REQUEST: no such file, damaged, or without what is wanted; ERR_UNSUPPORTED: a codec that
 * cannot be read; ERR_TOO_LARGE. The bytes and wants must live as long as the cursor. */
MUST bool avro_open(
    struct str bytes, const struct avro_want *wants, size_t n, struct avro **out, struct err *err);
/* Fills *out with what the next record has of what is wanted, and leaves the rest of it as it is.
 * Texts live until the next call. *more is false behind the last record. Errors as above. */
MUST bool avro_next(struct avro *f, void *out, bool *more, struct err *err);
void avro_close(struct avro **f);
