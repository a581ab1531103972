/* commitTransaction: several tables change, all or none (protocol 3.9). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "catalog.h"

/* The body's table-changes, in their order: each is what updateTable takes, and one of a table that
 * an earlier one named builds on what that made of it. `digest` as for table_commit. Kinds of error
 * as those of table_commit; ERR_COMMIT_FAILED has the message of the first requirement that failed.
 */
MUST bool txn_commit(struct arena *a, struct catalog *c, const struct caller *by,
    const json_t *body, struct str digest, struct err *err);
