/* Which endpoints warehouses may have: FIRN_WAREHOUSE_ENDPOINTS. */
#pragma once

#include "config.h"
#include "store.h"

/* May the setting have this pattern, or could it never match an endpoint? */
bool reach_is_pattern(struct arena *a, struct str pattern);
/* Which addresses the host of an endpoint may have: private ones too when a pattern names it or its
 * domain, public ones when "*" alone allows it, none when nothing does or a pattern with '!' names
 * it. */
enum store_reach reach_of(const struct config *conf, const char *endpoint);
/* ERR_FORBIDDEN when it has none, ERR_INVALID_ARGUMENT when it is no endpoint; both name the
 * member. NULL is allowed. */
MUST bool reach_check(
    const struct config *conf, const char *member, const char *endpoint, struct err *err);
