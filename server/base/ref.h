/* Atomic reference count of shared immutable objects. */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

struct ref {
    atomic_int n;
};

static inline void ref_init(struct ref *r)
{
    atomic_init(&r->n, 1);
}

static inline void ref_get(struct ref *r)
{
    int before = atomic_fetch_add_explicit(&r->n, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

/* True when the last reference went: the caller frees. */
static inline bool ref_put(struct ref *r)
{
    int before = atomic_fetch_sub_explicit(&r->n, 1, memory_order_acq_rel);
    assert(before > 0);
    return before == 1;
}
