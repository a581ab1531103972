#include "base.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* Counting must not make the cores share a line: each thread adds to one of a few cells. */
enum { CELLS = 16 };

struct cell {
    _Alignas(64) atomic_ulong plain;
    atomic_ulong json;
};

static struct cell cells[CELLS];
static atomic_uint next_cell;
static _Thread_local struct cell *my_cell;

static struct cell *cell_mine(void)
{
    if (!my_cell)
        my_cell = &cells[atomic_fetch_add_explicit(&next_cell, 1, memory_order_relaxed) % CELLS];
    return my_cell;
}

static void count_plain(void)
{
    atomic_fetch_add_explicit(&cell_mine()->plain, 1, memory_order_relaxed);
}

static void *checked(void *p, size_t size)
{
    if (!p)
        log_fatal("out of memory: %zu bytes were asked for", size);
    return p;
}

void *xmalloc(size_t size)
{
    count_plain();
    return checked(malloc(size ? size : 1), size);
}

void *xcalloc(size_t n, size_t size)
{
    count_plain();
    void *p = n && size ? calloc(n, size) : calloc(1, 1);
    if (!p)
        log_fatal("out of memory: %zu times %zu bytes were asked for", n, size);
    return p;
}

void *xrealloc(void *p, size_t size)
{
    count_plain();
    return checked(realloc(p, size ? size : 1), size);
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

void xfree(void *p)
{
    free(p);
}

unsigned long xmalloc_count(void)
{
    unsigned long sum = 0;
    for (size_t i = 0; i < CELLS; i++)
        sum += atomic_load_explicit(&cells[i].plain, memory_order_relaxed);
    return sum;
}

void *xmalloc_json(size_t size)
{
    atomic_fetch_add_explicit(&cell_mine()->json, 1, memory_order_relaxed);
    return checked(malloc(size ? size : 1), size);
}

unsigned long xmalloc_json_count(void)
{
    unsigned long sum = 0;
    for (size_t i = 0; i < CELLS; i++)
        sum += atomic_load_explicit(&cells[i].json, memory_order_relaxed);
    return sum;
}

/* Documents of a megabyte come and go between small things, and leave holes that the allocator
 * keeps. To map each of them by itself would cost a commit a fifth more, in page faults. */
void xtrim(void)
{
#ifdef M_ARENA_MAX
    malloc_trim(0);
#endif
}
