/* The life of a view: create, load, replace, drop, rename, register, list (protocol 4.8). Tables
 * and views share one name space; errors are those of table.h, with ERR_NO_SUCH_VIEW. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "catalog.h"
#include "ident.h"
#include "object.h"

/* loadView, from the row that was looked up. */
MUST bool view_load(struct arena *a, struct catalog *c, const struct ident *id,
    const struct sql_object *row, struct loaded *out, struct err *err);
/* `room` as for table_create. */
MUST bool view_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const struct sql_ns *room, const json_t *body, struct loaded *out, struct err *err);
/* replaceView: requirements and updates of the body; `row` and `digest` as for table_commit. */
MUST bool view_replace(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, const struct sql_object *row, const json_t *body, struct str digest,
    struct loaded *out, struct err *err);
MUST bool view_register(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err);
/* The metadata file goes too, unless the view's gc.enabled is false; a file that cannot be read or
 * deleted does not keep the view. */
MUST bool view_drop(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, struct err *err);
MUST bool view_rename(struct arena *a, struct catalog *c, const struct caller *by,
    const json_t *body, struct err *err);
MUST bool view_list(struct arena *a, struct catalog *c, struct str ns, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err);
