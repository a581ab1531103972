/* Warehouses as rows that are made and changed while servers run. Kinds of error as in sql.h; slow
 * lane. */
#pragma once

#include "sql.h"

/* A new version: positive, and exact for readers that keep numbers as floating point. */
int64_t sql_warehouse_version(void);
/* By name, uuid or base, in this order. */
MUST bool sql_warehouse_find(
    struct arena *a, struct sql *s, struct str named, struct sql_warehouse **out, struct err *err);
/* In byte order of the name, after `after` (absent: from the first), at most limit. */
MUST bool sql_warehouse_page(struct arena *a, struct sql *s, struct str after, size_t limit,
    struct sql_warehouse **out, size_t *n, struct err *err);
/* ERR_DB_UNIQUE: the name is taken. */
MUST bool sql_warehouse_insert(struct sql *s, const struct sql_warehouse *w, struct err *err);
/* Everything but id and uuid, under a new version, if the row still has the version given;
 * *swapped tells. ERR_DB_UNIQUE: the name is taken. */
MUST bool sql_warehouse_set(struct sql *s, struct sql_warehouse *w, bool *swapped, struct err *err);
/* An empty one; *deleted false: it is not empty (what is left: namespaces, files to be purged), or
 * gone. */
struct sql_warehouse_content {
    int64_t namespaces, marks;
};
MUST bool sql_warehouse_delete(struct sql *s, int64_t id, bool *deleted,
    struct sql_warehouse_content *content, struct err *err);

/* By name; NULL: there is none. */
MUST bool sql_warehouse_get(
    struct arena *a, struct sql *s, struct str name, struct sql_warehouse **out, struct err *err);
