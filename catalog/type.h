/* Primitive type names: parsing, canonical spelling, what a format version and a transform allow.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "str.h"

struct arena;

/* X(kind, name, first format version) */
#define TYPES(X)                                                                                   \
    X(BOOLEAN, "boolean", 1)                                                                       \
    X(INT, "int", 1)                                                                               \
    X(LONG, "long", 1)                                                                             \
    X(FLOAT, "float", 1)                                                                           \
    X(DOUBLE, "double", 1)                                                                         \
    X(DATE, "date", 1)                                                                             \
    X(TIME, "time", 1)                                                                             \
    X(TIMESTAMP, "timestamp", 1)                                                                   \
    X(TIMESTAMPTZ, "timestamptz", 1)                                                               \
    X(TIMESTAMP_NS, "timestamp_ns", 3)                                                             \
    X(TIMESTAMPTZ_NS, "timestamptz_ns", 3)                                                         \
    X(STRING, "string", 1)                                                                         \
    X(UUID, "uuid", 1)                                                                             \
    X(BINARY, "binary", 1)                                                                         \
    X(UNKNOWN, "unknown", 3)                                                                       \
    X(VARIANT, "variant", 3)                                                                       \
    X(FIXED, "fixed", 1)         /* fixed[n] */                                                    \
    X(DECIMAL, "decimal", 1)     /* decimal(p, s) */                                               \
    X(GEOMETRY, "geometry", 3)   /* geometry, geometry(crs) */                                     \
    X(GEOGRAPHY, "geography", 3) /* geography, geography(crs, algorithm) */

enum type_kind {
#define X(kind, name, since) TYPE_##kind,
    TYPES(X)
#undef X
        TYPE_COUNT
};

struct type {
    enum type_kind kind;
    int64_t a, b;         /* fixed: length; decimal: precision, scale */
    struct str extra;     /* geometry, geography: the reference system, absent when not named */
    struct str algorithm; /* geography: how edges run, absent when not named */
};

/* Any case, flexible blanks. False: no such type, or numbers out of range. */
bool type_parse(struct str text, struct type *out);
struct str type_text(struct arena *a, const struct type *t);
/* The same type, whatever its spelling; what is not named has its default. */
bool type_equal(const struct type *a, const struct type *b);
/* Any type of a schema for a message, nested ones as "list<int>"; cut when it becomes long. */
struct str type_json_text(struct arena *a, const json_t *type);
int64_t type_since(enum type_kind kind);
/* May a JSON value be a default of this type (single-value form)? */
bool type_accepts_default(const struct type *t, const json_t *value);

enum transform_kind {
    TRANSFORM_IDENTITY,
    TRANSFORM_BUCKET,
    TRANSFORM_TRUNCATE,
    TRANSFORM_YEAR,
    TRANSFORM_MONTH,
    TRANSFORM_DAY,
    TRANSFORM_HOUR,
    TRANSFORM_VOID,
    TRANSFORM_UNKNOWN /* kept as it is: readers ignore it */
};
struct transform {
    enum transform_kind kind;
    int64_t width;
};
/* False: a known name with an impossible width. */
bool transform_parse(struct str text, struct transform *out);
/* Known transforms in their one spelling ("bucket[16]"), unknown ones as they are. */
struct str transform_text(struct arena *a, struct str text);
/* The same transform, whatever its spelling; unknown ones to the letter. */
bool transform_equal(struct str a, struct str b);
bool transform_takes(const struct transform *t, enum type_kind source);
