#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "log.h"

enum { ALIGN = 16, FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 256 * 1024 };

struct hold {
    struct hold *older;
    void *obj;
    void (*release)(void *obj);
};

struct arena {
    struct hold *newest;
    size_t used, count;
    enum arena_end { ARENA_FORGET, ARENA_WIPE } end_of_memory;
#ifdef FIRN_SANITIZE
    struct piece *pieces;
    size_t n_pieces, room;
#else
    char *at, *end;       /* what is free in the block in use */
    struct block *blocks; /* all but the first, which holds this struct */
    size_t next_size;
#endif
};

static size_t rounded(size_t size)
{
    if (size > SIZE_MAX / 2)
        log_fatal("an arena was asked for %zu bytes", size);
    return size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
}

#ifdef FIRN_SANITIZE

/* Every piece is its own malloc, so that the sanitizer sees overruns and uses after a reset. */
struct piece {
    void *p;
    size_t size;
};

static void arena_start(struct arena *a, enum arena_end end)
{
    *a = (struct arena){.end_of_memory = end};
}

static void *arena_piece(struct arena *a, size_t size, size_t n)
{
    (void)n;
    if (a->n_pieces == a->room) {
        a->room = a->room ? 2 * a->room : 64;
        a->pieces = realloc(a->pieces, a->room * sizeof(*a->pieces));
    }
    void *p = malloc(size ? size : 1);
    if (!p || !a->pieces)
        log_fatal("out of memory: an arena was asked for %zu bytes", size);
    a->pieces[a->n_pieces++] = (struct piece){p, size};
    return p;
}

static void arena_release(struct arena *a)
{
    for (size_t i = 0; i < a->n_pieces; i++) {
        if (a->end_of_memory == ARENA_WIPE)
            explicit_bzero(a->pieces[i].p, a->pieces[i].size);
        free(a->pieces[i].p);
    }
    free(a->pieces);
}

#else

struct block {
    _Alignas(ALIGN) struct block *next;
    size_t size;
};

static void arena_start(struct arena *a, enum arena_end end)
{
    *a = (struct arena){
        .end_of_memory = end,
        .at = (char *)a + rounded(sizeof(*a)),
        .end = (char *)a + FIRST_BLOCK,
        .next_size = 2 * (size_t)FIRST_BLOCK,
    };
}

static char *block_add(struct arena *a, size_t size)
{
    struct block *b = xmalloc(size);
    *b = (struct block){a->blocks, size};
    a->blocks = b;
    return (char *)b + sizeof(*b);
}

static void *arena_piece(struct arena *a, size_t size, size_t n)
{
    (void)size;
    if (n > (size_t)(a->end - a->at)) {
        /* A big piece gets a block of its own, and the block in use stays in use. */
        if (n > a->next_size / 4)
            return block_add(a, sizeof(struct block) + n);
        a->at = block_add(a, a->next_size);
        a->end = a->at - sizeof(struct block) + a->next_size;
        if (a->next_size < LARGEST_BLOCK)
            a->next_size *= 2;
    }
    void *p = a->at;
    a->at += n;
    return p;
}

static void arena_release(struct arena *a)
{
    while (a->blocks) {
        struct block *b = a->blocks;
        a->blocks = b->next;
        if (a->end_of_memory == ARENA_WIPE)
            explicit_bzero(b, b->size);
        xfree(b);
    }
    char *first = (char *)a + rounded(sizeof(*a));
    if (a->end_of_memory == ARENA_WIPE)
        explicit_bzero(first, (size_t)((char *)a + FIRST_BLOCK - first));
}

#endif

struct arena *arena_new(void)
{
    struct arena *a = xmalloc(FIRST_BLOCK);
    arena_start(a, ARENA_FORGET);
    return a;
}

struct arena *arena_new_secret(void)
{
    struct arena *a = xmalloc(FIRST_BLOCK);
    arena_start(a, ARENA_WIPE);
    return a;
}

/* A release may still look at the arena's memory, even allocate; so they all run first. */
static void arena_run_holds(struct arena *a)
{
    while (a->newest) {
        struct hold *h = a->newest;
        a->newest = h->older;
        h->release(h->obj);
    }
}

void arena_reset(struct arena *a)
{
    arena_run_holds(a);
    arena_release(a);
    arena_start(a, a->end_of_memory);
}

void arena_free(struct arena **a)
{
    if (!*a)
        return;
    arena_run_holds(*a);
    arena_release(*a);
    xfree(TAKE(*a));
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t n = rounded(size);
    a->used += n;
    a->count++;
    return arena_piece(a, size, n);
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

struct str arena_dup(struct arena *a, struct str s)
{
    if (!s.p)
        return s;
    return (struct str){arena_cstr(a, s), s.n};
}

char *arena_cstr(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    char small[512];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    if (n < 0)
        log_fatal("cannot format \"%s\"", fmt);
    char *p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof(small))
        memcpy(p, small, (size_t)n + 1);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return (struct str){p, (size_t)n};
}

void *arena_hold(struct arena *a, void *obj, void (*release)(void *obj))
{
    if (!obj)
        return NULL;
    struct hold *h = arena_alloc(a, sizeof(*h));
    *h = (struct hold){a->newest, obj, release};
    a->newest = h;
    return obj;
}

static void free_within(void *obj)
{
    struct arena *a = obj;
    arena_free(&a);
}

struct arena *arena_within(struct arena *a)
{
    return arena_hold(a, arena_new(), free_within);
}

size_t arena_used(const struct arena *a)
{
    return a->used;
}

size_t arena_count(const struct arena *a)
{
    return a->count;
}
