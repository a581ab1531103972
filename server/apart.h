/* Where warehouses may lie beside one another. */
#pragma once

#include "profile.h"

/* A sql_beside_fn: no base is, contains or lies in another's. ERR_CONFLICT for a warehouse with a
 * profile; ERR_BAD_REQUEST for the default one, which does not mind what lay by settings before. */
MUST bool apart(const struct sql_warehouse *w, const struct sql_warehouse *other, struct err *err);
