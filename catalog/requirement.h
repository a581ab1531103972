/* The table of requirements a commit may assert about the state it was computed from
 * (protocol 3.2). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"

struct metadata;

/* Are all elements well-formed and of a type that exists? What needs no table to be refused. An
 * absent list is an empty one. ERR_BAD_REQUEST. */
MUST bool requirements_known(const json_t *requirements, struct err *err);
/* Checks them in request order against base. ERR_COMMIT_FAILED with the message of the first that
 * fails; ERR_VALIDATION for one that tables, or views, do not have. */
MUST bool requirements_check(
    const struct metadata *base, const json_t *requirements, struct err *err);
/* The same against the head of a table's draft: what earlier changes of the request made of the
 * base. */
struct head;
MUST bool requirements_check_head(
    const struct head *head, const json_t *requirements, struct err *err);
/* Does the request create a table? *create: assert-create is among them. ERR_INVALID_ARGUMENT when
 * other requirements stand beside it. */
MUST bool requirements_create(const json_t *requirements, bool *create, struct err *err);
