/* What the files of avro share: the compiled schema, the cursor over bytes, the codecs. */
#pragma once

#include "avro.h"
#include "buf.h"

struct arena;

enum {
    AVRO_BLOCK_MAX = 64 << 20, /* one block, unpacked */
    AVRO_SCHEMA_MAX = 1 << 20, /* the schema's text */
    AVRO_NODES_MAX = 20000,    /* types in it */
    AVRO_DEPTH_MAX = 48,       /* types in types, named ones followed */
    AVRO_EMPTY_MAX = 8,        /* members of one record that take no byte */
};
#define AVRO_ALL_MAX ((int64_t)1 << 30) /* all blocks, unpacked */

enum avro_type {
    AVRO_T_NULL,
    AVRO_T_BOOLEAN,
    AVRO_T_INT,
    AVRO_T_LONG,
    AVRO_T_FLOAT,
    AVRO_T_DOUBLE,
    AVRO_T_BYTES,
    AVRO_T_STRING,
    AVRO_T_PRIMITIVES, /* how many there are */
    AVRO_T_FIXED,
    AVRO_T_ENUM,
    AVRO_T_ARRAY,
    AVRO_T_MAP,
    AVRO_T_UNION,
    AVRO_T_RECORD
};

struct avro_field {
    struct str name;
    int64_t id; /* AVRO_NO_ID: none */
    const struct avro_node *node;
    const struct avro_want *want; /* NULL: passed over */
};
#define AVRO_NO_ID INT64_MIN

struct avro_node {
    enum avro_type type;
    unsigned depth;
    size_t min;                /* the fewest bytes of a value */
    size_t n;                  /* of fields; of AVRO_T_FIXED: its bytes */
    struct avro_field *fields; /* members, branches, or the one type of elements */
};

/* The schema in the arena. A value of it that takes no byte holds no other values, so what is read
 * is bounded by the bytes there are. ERR_BAD_REQUEST, ERR_TOO_LARGE. */
MUST bool avro__schema(
    struct arena *a, struct str text, const struct avro_node **out, struct err *err);
/* Ties the wanted members to the fields of a record. ERR_BAD_REQUEST for one that is missing or of
 * another type. */
MUST bool avro__bind(
    const struct avro_node *record, const struct avro_want *wants, size_t n, struct err *err);

struct avro_cursor {
    const unsigned char *p, *end;
};
static inline size_t avro__left(const struct avro_cursor *c)
{
    return (size_t)(c->end - c->p);
}
MUST bool avro__take(struct avro_cursor *c, size_t n, struct str *out, struct err *err);
MUST bool avro__long(struct avro_cursor *c, int64_t *out, struct err *err);
/* How many elements the next block of an array or a map has; 0 behind the last. */
MUST bool avro__count(struct avro_cursor *c, int64_t *out, struct err *err);
/* A length and that many bytes. */
MUST bool avro__bytes(struct avro_cursor *c, struct str *out, struct err *err);
/* A record's value. */
MUST bool avro__record(
    struct avro_cursor *c, const struct avro_node *record, void *out, struct err *err);

/* NULL: not one that is read. */
struct avro_codec;
const struct avro_codec *avro__codec(struct str name);
/* A block: *out is in `room`, or in the packed bytes where they are not packed. ERR_BAD_REQUEST,
 * ERR_TOO_LARGE. */
MUST bool avro__unpack(const struct avro_codec *codec, struct str packed, struct buf *room,
    struct str *out, struct err *err);
