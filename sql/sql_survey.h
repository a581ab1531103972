/* What live tables name outside their own locations, and how far that is known (see
 * schema/0006_survey.sql). Of all warehouses. Kinds of error as in sql.h; slow lane. */
#pragma once

#include "sql.h"

/* A live table, and the warehouse that it is in. */
struct sql_surveyed {
    int64_t warehouse;
    struct str warehouse_uuid, warehouse_base;
    int64_t id;
    struct str location, metadata_location;
    int64_t replaced;
};
/* What was read of it before. */
struct sql_survey {
    struct sql_surveyed table;
    bool known; /* it was: what follows is set */
    int64_t replaced;
    struct str location;
    int64_t sequence_number;
    struct str snapshots;
};

/* Tables that have changed since they were read, in the order of warehouses and ids, after that one
 * (NULL: from the first), at most limit. */
MUST bool sql_survey_page(struct arena *a, struct sql *s, const struct sql_surveyed *after,
    size_t limit, struct sql_survey **out, size_t *n, struct err *err);
/* The table was read as `table` says; nothing happens when it is gone. */
MUST bool sql_survey_put(struct sql *s, const struct sql_surveyed *table, int64_t sequence_number,
    struct str snapshots, struct err *err);

/* A folder in which a table names files: authority and path as in places; authority empty:
 * anywhere. */
struct sql_folder {
    struct str authority, path;
};
/* What a registered table names outside its location from the beginning. */
struct sql_registered {
    const struct sql_folder *folders;
    size_t n;
};
MUST bool sql_foreign_list(struct arena *a, struct sql *s, const struct sql_surveyed *table,
    struct sql_folder **out, size_t *n, struct err *err);
/* Sent twice they do nothing more; nor when the table is gone. */
MUST bool sql_foreign_add(struct sql *s, const struct sql_surveyed *table,
    const struct sql_folder *folder, struct err *err);
MUST bool sql_foreign_remove(struct sql *s, const struct sql_surveyed *table,
    const struct sql_folder *folder, struct err *err);
/* Tables that name files in a folder that is, contains or lies in this place: all that do, and
 * perhaps others. Order, after and limit as above. */
MUST bool sql_foreign_near(struct arena *a, struct sql *s, const struct sql_place *place,
    const struct sql_surveyed *after, size_t limit, struct sql_surveyed **out, size_t *n,
    struct err *err);
