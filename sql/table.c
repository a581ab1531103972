/* Tables and views: rows of one kind, in one name space. */
#include "sql_priv.h"

#include "clock.h"

/* --- read --- */

static struct sql_object *object_of(struct arena *a, const struct rows *r)
{
    if (r->n == 0 || !rows_str(r, 0, OBJECT_GET_ID).p)
        return NULL;
    struct sql_object *o = ARENA_NEW(a, struct sql_object);

    o->id = rows_i64(r, 0, OBJECT_GET_ID);
    o->kind = (enum sql_kind)rows_i64(r, 0, OBJECT_GET_KIND);
    o->uuid = rows_str(r, 0, OBJECT_GET_UUID);
    o->location = rows_str(r, 0, OBJECT_GET_LOCATION);
    o->metadata_location = rows_str(r, 0, OBJECT_GET_METADATA_LOCATION);
    return o;
}

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_object_get(struct arena *a, struct sql *s, int64_t warehouse, struct str ns,
    struct str name, bool *ns_found, struct sql_object **out, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(ns), text_param(name)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_OBJECT_GET, p, &rows, err));
    *ns_found = rows.n > 0;
    *out = object_of(a, &rows);
    return true;
}

static struct sql_object *found_of(struct arena *a, const struct rows *r, size_t row)
{
    struct sql_object *o = ARENA_NEW(a, struct sql_object);

    *o = (struct sql_object){.id = rows_i64(r, row, LOOKUP_ID),
        .kind = (enum sql_kind)rows_i64(r, row, LOOKUP_KIND),
        .uuid = rows_str(r, row, LOOKUP_UUID),
        .location = rows_str(r, row, LOOKUP_LOCATION),
        .metadata_location = rows_str(r, row, LOOKUP_METADATA_LOCATION)};
    return o;
}

/* The fast lane's statement, which gives no row for a namespace that is not there. */
static bool look_up(struct arena *a, struct sql *s, int64_t warehouse, const struct sql_name *names,
    size_t n, struct sql_object **out, struct err *err)
{
    struct array keys[3];
    struct param p[ARRAY_LEN(keys)];
    struct rows rows;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        array_begin(&keys[i]);
    for (size_t i = 0; i < n; i++) {
        array_number(&keys[0], warehouse);
        array_str(&keys[1], names[i].ns);
        array_str(&keys[2], names[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        p[i] = array_end(&keys[i], a);
    TRY(sql__read(a, s, STMT_LOOKUP, p, &rows, err));
    for (size_t row = 0; row < rows.n; row++)
        if (rows_str(&rows, row, LOOKUP_ID).p)
            out[rows_i64(&rows, row, LOOKUP_I) - 1] = found_of(a, &rows, row);
    return true;
}

bool sql_object_get_all(struct arena *a, struct sql *s, int64_t warehouse,
    const struct sql_name *names, size_t n, struct sql_object **out, struct err *err)
{
    bool ns_found;

    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    if (n > 1 && sql__has(s, STMT_LOOKUP))
        return look_up(a, s, warehouse, names, n, out, err);
    for (size_t i = 0; i < n; i++)
        TRY(sql_object_get(a, s, warehouse, names[i].ns, names[i].name, &ns_found, &out[i], err));
    return true;
}

bool sql_object_room(struct arena *a, struct sql *s, int64_t warehouse, struct str ns,
    struct str name, struct sql_room *out, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(ns), text_param(name)};
    struct rows rows;

    *out = (struct sql_room){0};
    TRY(sql__read(a, s, STMT_OBJECT_ROOM, p, &rows, err));
    if (rows.n == 0)
        return true;
    out->ns = ARENA_NEW(a, struct sql_ns);
    out->ns->id = rows_i64(&rows, 0, OBJECT_ROOM_ID);
    out->ns->version = rows_i64(&rows, 0, OBJECT_ROOM_VERSION);
    out->ns->path = rows_str(&rows, 0, OBJECT_ROOM_PATH);
    out->ns->properties = rows_str(&rows, 0, OBJECT_ROOM_PROPERTIES);
    out->taken = rows_str(&rows, 0, OBJECT_ROOM_KIND).p != NULL;
    out->taken_by = out->taken ? (enum sql_kind)rows_i64(&rows, 0, OBJECT_ROOM_KIND) : SQL_TABLE;
    return true;
}

bool object_find(struct unit *u, struct str ns, struct str name, int64_t *ns_id,
    struct sql_object **out, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), text_param(ns), text_param(name)};
    struct rows rows;

    TRY(unit_exec(u, STMT_OBJECT_GET, p, &rows, err));
    *ns_id = rows.n > 0 ? rows_i64(&rows, 0, OBJECT_GET_NAMESPACE) : 0;
    *out = object_of(u->a, &rows);
    return true;
}

bool sql_object_location(struct arena *a, struct sql *s, int64_t warehouse, int64_t object,
    struct str *metadata_location, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param(object)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_OBJECT_BY_ID, p, &rows, err));
    *metadata_location = (struct str){NULL, 0};
    if (rows.n > 0)
        *metadata_location = rows_str(&rows, 0, OBJECT_BY_ID_METADATA_LOCATION);
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_object_page(struct arena *a, struct sql *s, int64_t warehouse, struct str ns,
    enum sql_kind kind, struct str after, size_t limit, struct str **names, size_t *n, bool *found,
    struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(ns), number_param(kind),
        text_param(after.p ? after : STR("")), number_param((int64_t)limit)};
    struct sql_ns *there;
    struct rows rows;

    TRY(sql__read(a, s, STMT_OBJECT_PAGE, p, &rows, err));
    rows_names(&rows, names, n);
    *found = true;
    if (rows.n > 0)
        return true;
    TRY(sql_ns_get(a, s, warehouse, ns, &there, err));
    *found = there != NULL;
    return true;
}

bool sql_change_by_digest(struct arena *a, struct sql *s, int64_t warehouse, struct str digest,
    struct sql_applied *out, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(digest)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_CHANGE_BY_DIGEST, p, &rows, err));
    *out = (struct sql_applied){0};
    if (rows.n == 0)
        return true;
    out->metadata_location = change_absolute(a, rows_str(&rows, 0, CHANGE_BY_DIGEST_LOCATION),
        rows_str(&rows, 0, CHANGE_BY_DIGEST_METADATA_LOCATION));
    out->current = rows_str(&rows, 0, CHANGE_BY_DIGEST_CURRENT);
    return true;
}

/* --- rename --- */

struct renaming {
    enum sql_kind kind;
    struct str ns, name, to_ns, to_name;
    enum sql_rename_result result;
    enum sql_kind taken_by;
};

static bool rename_refused(
    struct unit *u, struct renaming *w, enum sql_rename_result why, struct err *err)
{
    TRY(unit_abandon(u, err));
    w->result = u->end == UNIT_APPLIED ? SQL_RENAMED : why;
    return true;
}

static bool rename_object(struct unit *u, void *work, struct err *err)
{
    struct renaming *w = work;
    struct sql_object *o, *there;
    int64_t ns, to_ns;
    struct rows rows;

    TRY(object_find(u, w->ns, w->name, &ns, &o, err));
    if (!o || o->kind != w->kind)
        return rename_refused(u, w, SQL_RENAME_NO_SOURCE, err);
    TRY(object_find(u, w->to_ns, w->to_name, &to_ns, &there, err));
    if (!to_ns)
        return rename_refused(u, w, SQL_RENAME_NO_NAMESPACE, err);
    if (there) {
        w->taken_by = there->kind;
        return rename_refused(u, w, SQL_RENAME_NAME_TAKEN, err);
    }
    struct claim claim = {.by = u->by,
        .object = o->id,
        .kind = "rename",
        .location = o->location,
        .metadata_location = o->metadata_location};
    const struct param p[] = {number_param(u->warehouse), number_param(o->id), number_param(ns),
        text_param(w->name), number_param(to_ns), text_param(w->to_name)};

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(unit_exec(u, STMT_OBJECT_RENAME, p, &rows, err));
    if (rows.n == 0)
        return err_set(err, ERR_DB_RETRY, "The object was moved meanwhile");
    w->result = SQL_RENAMED;
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_object_rename(struct sql *s, int64_t warehouse, enum sql_kind kind, struct str ns,
    struct str name, struct str to_ns, struct str to_name, const struct sql_change *by,
    enum sql_rename_result *out, enum sql_kind *taken_by, struct err *err)
{
    struct renaming w = {.kind = kind, .ns = ns, .name = name, .to_ns = to_ns, .to_name = to_name};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, rename_object, &w, err));
    *out = w.result;
    if (w.result == SQL_RENAME_NAME_TAKEN)
        *taken_by = w.taken_by;
    return true;
}

/* --- drop --- */

struct removal {
    struct arena *a; /* the caller's */
    enum sql_kind kind;
    struct str ns, name;
    enum sql_purge purge;
    struct str only_at; /* present: the pointer must be there */
    const char *what;   /* for the change row */
    bool dropped, moved;
    struct sql_object *was;
};

static bool delete_row(struct unit *u, const struct removal *w, int64_t id, int64_t ns,
    struct rows *out, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), number_param(id), number_param(ns),
        text_param(w->name), number_param(u->by->at_ms)};

    return unit_exec(
        u, w->purge == SQL_PURGE_FILES ? STMT_OBJECT_PURGE : STMT_OBJECT_DELETE, p, out, err);
}

static void keep_was(struct removal *w, const struct sql_object *o, const struct rows *r)
{
    w->was = ARENA_NEW(w->a, struct sql_object);
    w->was->id = o->id;
    w->was->kind = o->kind;
    w->was->uuid = arena_dup(w->a, o->uuid);
    w->was->location = arena_dup(w->a, rows_str(r, 0, OBJECT_DELETE_LOCATION));
    w->was->metadata_location = arena_dup(w->a, rows_str(r, 0, OBJECT_DELETE_METADATA_LOCATION));
}

static bool nothing_to_drop(struct unit *u, struct removal *w, bool moved, struct err *err)
{
    TRY(unit_abandon(u, err));
    w->dropped = u->end == UNIT_APPLIED;
    w->moved = moved;
    return true;
}

static bool drop(struct unit *u, void *work, struct err *err)
{
    struct removal *w = work;
    struct sql_object *o;
    struct rows rows;
    int64_t ns;

    TRY(object_find(u, w->ns, w->name, &ns, &o, err));
    if (!o || o->kind != w->kind)
        return nothing_to_drop(u, w, false, err);
    if (w->only_at.p && !str_eq(w->only_at, o->metadata_location))
        return nothing_to_drop(u, w, true, err);
    struct claim claim = {.by = u->by,
        .object = o->id,
        .kind = w->what,
        .location = o->location,
        .metadata_location = o->metadata_location};

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(delete_row(u, w, o->id, ns, &rows, err));
    if (rows.n == 0 ||
        !str_eq(rows_str(&rows, 0, OBJECT_DELETE_METADATA_LOCATION), o->metadata_location))
        return err_set(err, ERR_DB_RETRY, "The object was moved or changed meanwhile");
    TRY(place_free(u, o->id, err));
    keep_was(w, o, &rows);
    w->dropped = true;
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_object_drop(struct arena *a, struct sql *s, int64_t warehouse, enum sql_kind kind,
    struct str ns, struct str name, enum sql_purge purge, const struct sql_change *by,
    bool *dropped, struct sql_object **was, struct err *err)
{
    struct removal w = {.a = a,
        .kind = kind,
        .ns = ns,
        .name = name,
        .purge = purge,
        .what = purge == SQL_PURGE_FILES ? "purge" : "drop"};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, drop, &w, err));
    *dropped = w.dropped;
    *was = w.dropped ? w.was : NULL;
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_object_unregister(struct sql *s, int64_t warehouse, enum sql_kind kind, struct str ns,
    struct str name, struct str metadata_location, const struct sql_change *by,
    enum sql_unregister_result *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct removal w = {.a = a,
        .kind = kind,
        .ns = ns,
        .name = name,
        .only_at = metadata_location,
        .what = "unregister"};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, drop, &w, err));
    *out = w.dropped ? SQL_UNREGISTERED : w.moved ? SQL_UNREGISTER_LOST : SQL_UNREGISTER_NONE;
    return true;
}
