/* One pass over JSON text: full validation (syntax, UTF-8, duplicate keys, limits) and a cursor
 * that hands out members, elements and the slices of the text they occupy. Builds no tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;

struct scan_limits {
    size_t bytes;  /* of the whole text */
    size_t tokens; /* values and keys */
    size_t string; /* bytes of one string */
    unsigned depth;
};
extern const struct scan_limits scan_body_limits;     /* 1 GB, 500,000 tokens, 1 MiB, 64 */
extern const struct scan_limits scan_metadata_limits; /* 4 GB, no token limit, 1 MiB, 72 */

/* The whole text is one well-formed JSON value with nothing behind it. ERR_BAD_REQUEST says at
 * which byte and, for a broken limit, which one; ERR_TOO_LARGE for bytes. No NUL in strings. */
MUST bool scan_validate(struct str text, const struct scan_limits *limits, struct err *err);

/* A cursor. Everything it passes over is validated, skipped values too. Errors as above, sticky. */
struct scan {
    const char *begin, *p, *end;
    const struct scan_limits *limits;
    struct err *err;
    size_t tokens;
    unsigned depth;
    bool first;  /* no member or element of the current container was read yet */
    bool failed; /* *err is set; nothing more is read */
    struct scan_keys *keys;
};
void scan_init(struct scan *s, struct str text, const struct scan_limits *limits, struct err *err);
void scan_fini(struct scan *s);
/* After the last value: only white space may follow. */
MUST bool scan_end(struct scan *s);

enum scan_type {
    SCAN_OBJECT,
    SCAN_ARRAY,
    SCAN_STRING,
    SCAN_NUMBER,
    SCAN_TRUE,
    SCAN_FALSE,
    SCAN_NULL,
    SCAN_BAD
};
/* What comes next; does not move. */
enum scan_type scan_peek(struct scan *s);

MUST bool scan_object(struct scan *s);
/* The next member's key (between its quotes, escapes kept; keys of our interest have none); *more
 * is false behind the last one, the object is then closed. The value must be read next. */
MUST bool scan_member(struct scan *s, struct str *key, bool *more);
MUST bool scan_array(struct scan *s);
MUST bool scan_element(struct scan *s, bool *more);

/* Any value; *slice (may be NULL) is its text without surrounding white space. */
MUST bool scan_skip(struct scan *s, struct str *slice);
/* An integer that fits 64 bits; anything else is an error naming what was found. */
MUST bool scan_i64(struct scan *s, int64_t *out);
/* A string, its text between the quotes, escapes kept. */
MUST bool scan_raw_string(struct scan *s, struct str *out);
/* A string, unescaped into the arena. */
MUST bool scan_string(struct scan *s, struct arena *a, struct str *out);
