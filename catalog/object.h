/* What tables and views have in common outside of this folder: a loaded state, and its file. */
#pragma once

#include <stdbool.h>

#include "catalog.h"
#include "metadata.h"

struct loaded {
    const struct metadata *metadata; /* held by the arena */
    bool staged;                     /* not in the catalog yet: no metadata-location */
    /* Where it lies, as the catalog has registered or chosen it; absent: only its metadata or a
     * client says where. */
    struct str location;
};

/* May a conditional load be answered from the row alone? ERR_NOT_FOUND when the file is gone and
 * the store is one whose files must be looked at. */
MUST bool object_check_file(struct catalog *c, const struct sql_object *row, struct err *err);
