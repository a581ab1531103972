/* Answers that list names: a page where one was asked for, else everything, in one answer. */
#pragma once

#include "base.h"
#include "str.h"

struct call;

enum list_of { LIST_TABLES, LIST_VIEWS, LIST_NAMESPACES };

/* 200 with the names below `parent` (empty: the root), as the call's pageToken and pageSize want
 * them. A list that is longer than a piece is sent while it is read, so the names in it are from
 * different moments, as those of pages are: what was there all the time is there once, what came,
 * went or was renamed meanwhile may be there or not. */
MUST bool list_reply(struct call *c, enum list_of of, struct str parent);
