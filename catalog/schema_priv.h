/* What schema.c, schema_form.c and spec.c share: small views of a JSON tree. */
#pragma once

#include "json.h"
#include "schema.h"

struct schema {
    const json_t *tree;
    struct arena *arena;
    struct str at;         /* where a request has it; absent: it comes from a file */
    struct entry *entries; /* in the order of a walk: parents before children */
    size_t n, cap;
    size_t name_bytes;            /* of all full names */
    struct slot *by_id, *by_name; /* sorted */
};

static inline bool tree_absent(const json_t *v)
{
    return !v || json_is_null(v);
}

/* jansson's iterators take objects that may be changed; ours are not. */
static inline json_t *tree_lend(const json_t *v)
{
    return (json_t *)(uintptr_t)v; /* NOLINT(performance-no-int-to-ptr) */
}
