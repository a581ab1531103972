/* Secrets as they lie in the database: sealed texts, by warehouse and name. Kinds of error as in
 * sql.h; slow lane. */
#pragma once

#include "sql.h"

struct sql_secret {
    int64_t warehouse;
    struct str warehouse_name; /* "" when there is no such warehouse any more */
    struct str name, sealed;
};

/* Absent: there is none. */
MUST bool sql_secret_get(struct arena *a, struct sql *s, int64_t warehouse, struct str name,
    struct str *sealed, struct err *err);
/* In the place of the one that was there. */
MUST bool sql_secret_put(
    struct sql *s, int64_t warehouse, struct str name, struct str sealed, struct err *err);
/* Only in the place of this very text; *swapped false: another is there, or none. */
MUST bool sql_secret_swap(
    struct sql *s, const struct sql_secret *was, struct str sealed, bool *swapped, struct err *err);
/* *deleted false: there was none. */
MUST bool sql_secret_delete(
    struct sql *s, int64_t warehouse, struct str name, bool *deleted, struct err *err);
/* Of all warehouses, after `after` (NULL: from the first), at most limit. */
MUST bool sql_secret_page(struct arena *a, struct sql *s, const struct sql_secret *after,
    size_t limit, struct sql_secret **out, size_t *n, struct err *err);
