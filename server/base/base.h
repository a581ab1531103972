/* The idioms of the house: cleanup, transfer of ownership, early return, aborting allocation. */
#pragma once

#include <stddef.h>

/* Frees the variable's object at the end of its scope: AUTO(arena_free) struct arena *a = NULL; */
#define AUTO(free_fn) __attribute__((cleanup(free_fn)))

/* Yields p and nulls the variable: ownership leaves here. */
#define TAKE(p)                                                                                    \
    __extension__({                                                                                \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

/* Returns false from the calling function if expr is false: the error is set already. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        if (!(expr))                                                                               \
            return false;                                                                          \
    } while (0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A fallible function: the result must be looked at. */
#define MUST __attribute__((warn_unused_result))

/* malloc, calloc, realloc that end the process with a log line instead of returning NULL. The only
 * allocators of the house outside arenas. Counted: xmalloc_count() is what a budget compares. */
void *xmalloc(size_t size) __attribute__((returns_nonnull, malloc, alloc_size(1)));
void *xcalloc(size_t n, size_t size) __attribute__((returns_nonnull, malloc, alloc_size(1, 2)));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull, alloc_size(2)));
char *xstrdup(const char *s) __attribute__((returns_nonnull, malloc));
void xfree(void *p);
/* Gives memory that is free back to the system, from any thread. */
void xtrim(void);
unsigned long xmalloc_count(void);
/* xmalloc under the type of json_set_alloc_funcs, counted apart. */
void *xmalloc_json(size_t size) __attribute__((returns_nonnull, malloc));
unsigned long xmalloc_json_count(void);
