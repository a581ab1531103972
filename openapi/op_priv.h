/* Shapes of the generated tables that only route.c and body.c walk, and a helper for messages. */
#pragma once

#include "op.h"

/* JSON types a value may have. INT32 and INT64 are integers that fit. */
enum {
    BODY_NULL = 1 << 0,
    BODY_BOOLEAN = 1 << 1,
    BODY_INT32 = 1 << 2,
    BODY_INT64 = 1 << 3,
    BODY_NUMBER = 1 << 4,
    BODY_STRING = 1 << 5,
    BODY_ARRAY = 1 << 6,
    BODY_OBJECT = 1 << 7
};

struct body_field {
    const char *name;
    const char *alias; /* read when name is absent; NULL: none */
    bool required;
    const struct body *body;
    const char *absent; /* error text when it is required and not there; NULL: ours */
};

struct body_variant {
    const char *value; /* of the tag, in any case */
    const struct body *body;
};

/* A JSON value. What does not apply is zero. */
struct body {
    unsigned types;
    const char *const *values; /* of a string, in any case; NULL-ended */
    const struct body_field *fields;
    unsigned n_fields;
    enum body_others { BODY_OTHERS_PASS, BODY_OTHERS_REFUSED } others; /* members beside these */
    const struct body *items; /* elements of an array, or all members of a map */
    const char *tag;          /* the member that chooses among variants */
    const struct body_variant *variants;
    unsigned n_variants;
    const struct body *otherwise; /* what a value of no variant must be; NULL: it is refused */
    const char *unknown;          /* error text in front of an unknown tag */
    const char *missing;          /* error text when there is no tag */
    /* One of several objects, as the required members tell that are there. NULL-ended. */
    const struct body *const *any;
};

struct op_segment {
    struct str text; /* the literal, or the name of the argument */
    bool is_arg;
};

/* A path of the specification without {prefix}. */
struct op_path {
    unsigned n;
    bool prefixed; /* exists with a prefix as well */
    struct op_segment segments[OP_SEGMENTS_MAX];
    const struct op *by_method[OP_METHOD_COUNT];
};

extern const struct op_path op_paths[];
extern const unsigned op_n_paths;

enum { OP_EXCERPT = 120 };

/* Text of a client as a message can carry it: at most 100 bytes, nothing but printable UTF-8. */
const char *op__excerpt(struct str s, char out[static OP_EXCERPT]);
