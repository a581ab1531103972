/* Answers kept for requests that carry a key, and what the catalog's upkeep deletes
 * (protocol 2.10). The caller of a change carries the key (struct caller); whatever changes
 * something keeps the answer in the same transaction, and fails with ERR_REPEATED when another has
 * used the key. */
#pragma once

#include <stdbool.h>

#include "catalog.h"
#include "object.h"
#include "sql_keep.h"

/* What was kept under the caller's key; NULL: nothing. ERR_UNAVAILABLE. */
MUST bool keep_find(struct arena *a, struct catalog *c, const struct caller *by,
    struct sql_answer **out, struct err *err);
/* Keeps by->idem's status and answer for a request that changed nothing. by->idem->kept stays false
 * when there is an answer already. ERR_UNAVAILABLE. */
MUST bool keep_answer(struct catalog *c, const struct caller *by, struct err *err);
/* The table or view that a kept answer showed: as it was then, or as it is now when that file is
 * gone. ERR_UNAVAILABLE; ERR_NOT_FOUND when there is neither. */
MUST bool keep_object(struct arena *a, struct catalog *c, const struct sql_answer *kept,
    struct loaded *out, struct err *err);

/* Deletes answers whose time is over and changes older than change_ms, in small steps, while
 * holding a lease; nothing when another holder is at it. */
MUST bool keep_prune(struct catalog *c, struct str holder, int64_t change_ms, struct err *err);
