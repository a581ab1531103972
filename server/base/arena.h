/* Memory of one request or one job: allocated piece by piece, released at once. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "str.h"

struct arena;

/* Never fail: a process out of memory ends with a log line. */
struct arena *arena_new(void);
/* One whose memory is wiped before it is given back: for secrets and what is made of them. */
struct arena *arena_new_secret(void);
void arena_free(struct arena **a);
/* Runs the releases of arena_hold, newest first, and gives all memory back but the first block. */
void arena_reset(struct arena *a);

/* Aligned for any object; contents undefined. */
void *arena_alloc(struct arena *a, size_t size)
    __attribute__((returns_nonnull, malloc, alloc_size(2)));
void *arena_zalloc(struct arena *a, size_t size)
    __attribute__((returns_nonnull, malloc, alloc_size(2)));
#define ARENA_NEW(a, type)      ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), arena_times(sizeof(type), (n))))
/* size * n, or a size that no arena grants. */
static inline size_t arena_times(size_t size, size_t n)
{
    size_t all = 0;
    return __builtin_mul_overflow(size, n, &all) ? (size_t)-1 : all;
}

/* Copies end in a NUL that n does not count. The copy of an absent string is absent. */
struct str arena_dup(struct arena *a, struct str s);
char *arena_cstr(struct arena *a, struct str s) __attribute__((returns_nonnull));
struct str arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* `release(obj)` runs when the arena is reset or freed. Returns obj, now borrowed.
 * NULL is returned as it is, and never released. */
void *arena_hold(struct arena *a, void *obj, void (*release)(void *obj));
/* An arena of its own, for what is reset more often; freed when a is reset or freed. */
struct arena *arena_within(struct arena *a);

/* Bytes handed out since the last reset, and the number of allocations (for budgets). */
size_t arena_used(const struct arena *a);
size_t arena_count(const struct arena *a);
