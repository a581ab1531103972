/* What the files about tables share. */
#pragma once

#include "catalog_priv.h"
#include "draft.h"
#include "metadata.h"
#include "table.h"

/* A metadata file that was written for a change still to be made. */
struct written {
    struct metadata *metadata; /* own reference */
    struct str location;
    struct str token;
};

/* Finishes the draft and writes its file. ERR_BUSY, ERR_FORBIDDEN, ERR_BAD_REQUEST when the store
 * refuses: nothing was changed then. */
MUST bool table__write(
    struct arena *a, struct catalog *c, struct draft *d, struct written *out, struct err *err);
/* The change it was written for certainly did not happen. */
void table__discard(struct catalog *c, struct written *w);
/* The change happened: the metadata goes to the cache and, borrowed, to the caller. */
void table__keep(struct arena *a, struct catalog *c, struct written *w, struct loaded *out);

/* Puts a new table into the catalog under its first metadata. The conflicts of createTable,
 * registerTable and of a create commit differ in words only. */
enum new_table { NEW_CREATE, NEW_COMMIT, NEW_REGISTER };
MUST bool table__insert(struct arena *a, struct catalog *c, const struct caller *by,
    const struct sql_new_object *o, struct str token, struct str digest, enum new_table as,
    struct err *err);
/* ERR_ALREADY_EXISTS, or ERR_COMMIT_FAILED for NEW_COMMIT on a table. */
bool table__taken(
    struct arena *a, const struct ident *id, enum sql_kind by, enum new_table as, struct err *err);
/* The namespace, and that nothing has the name in it. */
MUST bool table__name_free(struct arena *a, struct catalog *c, const struct ident *id,
    enum new_table as, struct sql_ns **ns, struct err *err);
bool table__no_such(struct arena *a, const struct ident *id, struct err *err);
/* metadata and data folders, on stores that have folders. Their absence harms only some clients. */
void table__make_dirs(struct arena *a, struct catalog *c, struct str location);
