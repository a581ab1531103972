/* Namespaces and their properties. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "catalog.h"

/* All: ERR_BAD_REQUEST, ERR_NO_SUCH_NAMESPACE, ERR_ALREADY_EXISTS, ERR_NAMESPACE_NOT_EMPTY,
 * ERR_UNPROCESSABLE, and for what the database does: ERR_UNAVAILABLE, ERR_BUSY (a change that
 * certainly did not happen), ERR_COMMIT_UNKNOWN. */

/* createNamespace: body {"namespace": [...], "properties": {...}}; missing parents are made too. */
MUST bool ns_from_body(struct arena *a, const json_t *body, struct sql_ns *out,
    struct err *err); /* what it asks for */
MUST bool ns_create(struct arena *a, struct catalog *c, const struct caller *by, const json_t *body,
    struct sql_ns *out, struct err *err);
MUST bool ns_drop(
    struct arena *a, struct catalog *c, const struct caller *by, struct str ns, struct err *err);

struct ns_changes {
    json_t *updated, *removed, *missing; /* arrays of keys; held by the arena */
};
MUST bool ns_update(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct ns_changes *out, struct err *err);

/* Names below *parent (empty: the root), each the last level only, and the next page's token.
 * *parent becomes the reading of it that was found: some clients encode it twice. */
MUST bool ns_list(struct arena *a, struct catalog *c, struct str *parent, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err);
