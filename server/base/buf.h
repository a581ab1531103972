/* Growing bytes with a maximum, and a writer of JSON text on top of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "str.h"

struct arena;

/* Once `max` would be passed, `over` is set for good and writes do nothing: check it at the end. */
struct buf {
    char *p;
    size_t n, cap, max;
    bool over;
};

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);
void buf_reserve(struct buf *b, size_t n); /* room for n more bytes */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_puts(struct buf *b, const char *cstr);
void buf_putc(struct buf *b, char c);
void buf_putf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NAME=VALUE of a form or a query, percent-encoded, behind an ampersand if it is not the first. */
void buf_field(struct buf *b, struct arena *a, const char *name, struct str value);
static inline struct str buf_view(const struct buf *b)
{
    return (struct str){b->p ? b->p : "", b->n};
}
/* The bytes and a NUL, owned by the arena from now on; b is empty again. Absent if `over` is set,
 * which stays so. */
struct str buf_take(struct buf *b, struct arena *a);

/* JSON text. Strings must be UTF-8. */
void buf_json_str(struct buf *b, struct str s);
void buf_json_i64(struct buf *b, int64_t v);
