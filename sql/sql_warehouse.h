/* Warehouses as rows that are made and changed while servers run. Kinds of error as in sql.h; slow
 * lane. */
#pragma once

#include "sql.h"

/* May a warehouse lie beside another one? False with err: no. Asked for each other row in the
 * transaction that makes one or moves its base, and no other such transaction runs meanwhile: what
 * it allows holds of all rows. Errors it sets are the caller's. */
typedef bool sql_beside_fn(
    const struct sql_warehouse *w, const struct sql_warehouse *other, struct err *err);

/* The row by that name, made if it is missing; its base is updated to the given one, where that may
 * be (beside NULL: anywhere). ERR_BAD_REQUEST: the name is that of a warehouse with a profile. */
MUST bool sql_warehouse_ensure(struct arena *a, struct sql *s, struct str name, struct str base,
    sql_beside_fn *beside, struct sql_warehouse *out, struct err *err);

/* A new version: positive, and exact for readers that keep numbers as floating point. */
int64_t sql_warehouse_version(void);
/* By name, uuid or base, in this order; NULL: there is none. */
MUST bool sql_warehouse_find(
    struct arena *a, struct sql *s, struct str named, struct sql_warehouse **out, struct err *err);
/* By name alone. */
MUST bool sql_warehouse_get(
    struct arena *a, struct sql *s, struct str name, struct sql_warehouse **out, struct err *err);
/* In byte order of the name, after `after` (absent: from the first), at most limit. */
MUST bool sql_warehouse_page(struct arena *a, struct sql *s, struct str after, size_t limit,
    struct sql_warehouse **out, size_t *n, struct err *err);
/* Where it may be (beside NULL: anywhere). ERR_DB_UNIQUE: the name is taken. */
MUST bool sql_warehouse_insert(
    struct sql *s, const struct sql_warehouse *w, sql_beside_fn *beside, struct err *err);
/* Everything but id and uuid, under a new version, if the row still has the version given;
 * *swapped tells. beside: NULL if the base is the one that it has. ERR_DB_UNIQUE: the name is
 * taken. */
MUST bool sql_warehouse_set(
    struct sql *s, struct sql_warehouse *w, sql_beside_fn *beside, bool *swapped, struct err *err);
/* An empty one; *deleted false: it is not empty (what is left: namespaces, files to be purged), or
 * gone. */
struct sql_warehouse_content {
    int64_t namespaces, marks;
};
MUST bool sql_warehouse_delete(struct sql *s, int64_t id, bool *deleted,
    struct sql_warehouse_content *content, struct err *err);
