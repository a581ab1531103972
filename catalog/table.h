/* The life of a table: create, load, commit, drop, rename, register, list (protocol 3, 4). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "catalog.h"
#include "ident.h"
#include "object.h"

/* Kinds of error beside the obvious: ERR_BUSY (certainly not applied, try again),
 * ERR_COMMIT_UNKNOWN (may have been applied), ERR_UNAVAILABLE (a read that cannot be answered now),
 * ERR_NOT_FOUND (the metadata file is gone), ERR_WOULD_BLOCK (fast lane, metadata not in the
 * cache). */

/* loadTable, from the row that was looked up. */
MUST bool table_load(struct arena *a, struct catalog *c, const struct ident *id,
    const struct sql_object *row, struct loaded *out, struct err *err);
/* Where the table of that name lies, into t->location; absent when it is another than t shows.
 * ERR_UNAVAILABLE. */
MUST bool table_locate(
    struct arena *a, struct catalog *c, const struct ident *id, struct loaded *t, struct err *err);
/* Where a table that was created staged under that name, with that uuid, in a place of the
 * warehouse's choice, lies until its first commit. ERR_NO_SUCH_TABLE: a table lies or lay there;
 * ERR_NO_SUCH_NAMESPACE, ERR_UNAVAILABLE, and those of a list in the store. Slow lane. */
MUST bool table_staged(struct arena *a, struct catalog *c, const struct ident *id, struct str uuid,
    struct str *location, struct err *err);
/* createTable, staged or not, from its body. `room`: the namespace as it was looked up for this
 * request, with nothing of the name in it, or NULL. */
MUST bool table_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const struct sql_ns *room, const json_t *body, struct loaded *out, struct err *err);
/* updateTable: requirements and updates of the body, on an existing table or, with assert-create, a
 * new one. `row`: as it was looked up for this request, or NULL. `digest` identifies the request
 * (operation, object, principal, body). */
MUST bool table_commit(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, const struct sql_object *row, const json_t *body, struct str digest,
    struct loaded *out, struct err *err);
/* registerTable; with "overwrite" it takes the place of the table of that name. */
MUST bool table_register(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err);
MUST bool table_drop(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, enum sql_purge purge, struct err *err);
/* unregisterTable: drops the table, keeps its files, and says what its last state was. */
MUST bool table_unregister(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, struct loaded *out, struct err *err);
MUST bool table_rename(struct arena *a, struct catalog *c, const struct caller *by,
    const json_t *body, struct err *err);
MUST bool table_list(struct arena *a, struct catalog *c, struct str ns, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err);
