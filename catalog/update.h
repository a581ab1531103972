/* The table of update actions and their effects on a draft (protocol 3.3, 4.8). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"
#include "metadata.h"

struct draft;

/* Are all elements of a request's "updates" objects with an action that tables, or views, know?
 * What needs neither to be refused. An absent list is an empty one. ERR_BAD_REQUEST,
 * ERR_VALIDATION. */
MUST bool updates_known(const json_t *updates, enum metadata_kind kind, struct err *err);
/* Applies the elements of a request's "updates" in order; stops at the first that cannot be
 * applied. The messages are the protocol's; the element's JSON pointer follows in parentheses where
 * the text is ours. ERR_INVALID_ARGUMENT, ERR_VALIDATION, ERR_BAD_REQUEST; ERR_COMMIT_FAILED where
 * the client should refresh and try again. */
MUST bool updates_apply(struct draft *d, const json_t *updates, struct err *err);
