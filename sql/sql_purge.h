/* Marks of purges to do, and who else lies where one of them lay. Kinds of error as in sql.h; slow
 * lane. */
#pragma once

#include "sql.h"

/* An object that was dropped, and whose files shall go. */
struct sql_mark {
    int64_t id;
    struct str location, metadata_location;
    int64_t at_ms; /* when it was dropped */
};
/* Marks in the order of their time, after that of `after` (NULL: from the first), at most limit. */
MUST bool sql_mark_page(struct arena *a, struct sql *s, int64_t warehouse,
    const struct sql_mark *after, size_t limit, struct sql_mark **out, size_t *n, struct err *err);
/* The purge is over; nothing happens when it was before. */
MUST bool sql_mark_delete(struct sql *s, int64_t warehouse, int64_t id, struct err *err);

/* A place of a live object of any warehouse that is, contains or lies in this one; absent: none. */
MUST bool sql_place_live(struct arena *a, struct sql *s, const struct sql_place *place,
    struct str *path, struct err *err);
/* A live object of any warehouse, and where its metadata file lies. */
struct sql_rival {
    int64_t warehouse, id;
    struct str metadata_location;
};
/* Those whose metadata file may lie beneath the path: all that do, in whatever spelling, and
 * perhaps others. In the order of warehouses and ids, after that one (NULL: from the first), at
 * most limit.
 */
MUST bool sql_object_beneath(struct arena *a, struct sql *s, struct str path,
    const struct sql_rival *after, size_t limit, struct sql_rival **out, size_t *n,
    struct err *err);
