/* Tables and views: rows of one kind, in one name space. */
#include "sql_priv.h"

#include "clock.h"
#include "fault.h"
#include "lane.h"
#include "uuid.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

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

/* The same inside a unit of work. *ns: the namespace's id, 0 when there is none. */
static bool find(struct unit *u, struct str ns, struct str name, int64_t *ns_id,
    struct sql_object **out, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), text_param(ns), text_param(name)};
    struct rows rows;

    TRY(unit_exec(u, STMT_OBJECT_GET, p, &rows, err));
    *ns_id = rows.n > 0 ? rows_i64(&rows, 0, OBJECT_GET_NAMESPACE) : 0;
    *out = object_of(u->a, &rows);
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
    rows_names(a, &rows, names, n);
    *found = true;
    if (rows.n > 0)
        return true;
    TRY(sql_ns_get(a, s, warehouse, ns, &there, err));
    *found = there != NULL;
    return true;
}

bool sql_change_by_digest(struct arena *a, struct sql *s, int64_t warehouse, int64_t object,
    struct str digest, struct str *metadata_location, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param(object), text_param(digest)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_CHANGE_BY_DIGEST, p, &rows, err));
    *metadata_location = (struct str){NULL, 0};
    if (rows.n > 0)
        *metadata_location = change_absolute(a, rows_str(&rows, 0, CHANGE_BY_DIGEST_LOCATION),
            rows_str(&rows, 0, CHANGE_BY_DIGEST_METADATA_LOCATION));
    return true;
}

/* --- insert --- */

struct insertion {
    const struct sql_new_object *o;
    enum sql_insert_result result;
    enum sql_kind taken_by;
};

/* The insert made no row: names come first, then uuids. Neither: what was in the way is gone. */
static bool explain(struct unit *u, struct insertion *w, struct err *err)
{
    const struct sql_new_object *o = w->o;
    const struct param p[] = {
        number_param(u->warehouse), text_param(o->ns), text_param(o->name), text_param(o->uuid)};
    struct rows rows;

    TRY(unit_exec(u, STMT_OBJECT_WHY, p, &rows, err));
    if (!rows_str(&rows, 0, OBJECT_WHY_NAMESPACE).p) {
        w->result = SQL_NO_NAMESPACE;
    } else if (rows_str(&rows, 0, OBJECT_WHY_KIND).p) {
        w->result = SQL_NAME_TAKEN;
        w->taken_by = (enum sql_kind)rows_i64(&rows, 0, OBJECT_WHY_KIND);
    } else if (rows_str(&rows, 0, OBJECT_WHY_TWIN).p) {
        w->result = SQL_UUID_TAKEN;
    } else {
        return err_set(err, ERR_DB_RETRY, "What was in the way of the insert vanished");
    }
    u->end = UNIT_ABANDON;
    return true;
}

static bool insert(struct unit *u, void *work, struct err *err)
{
    struct insertion *w = work;
    const struct sql_new_object *o = w->o;
    int64_t id = uuid_row_id();
    const struct param p[] = {number_param(u->warehouse), number_param(id), text_param(o->ns),
        text_param(o->name), number_param(o->kind), text_param(o->uuid), text_param(o->location),
        text_param(o->metadata_location)};
    struct claim claim = {.by = u->by,
        .object = id,
        .kind = "create",
        .location = o->location,
        .metadata_location = o->metadata_location};
    struct rows rows;
    bool taken;

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(unit_exec(u, STMT_OBJECT_INSERT, p, &rows, err));
    if (rows.n == 0)
        return explain(u, w, err);
    TRY(place_occupy(u, &o->place, id, &taken, err));
    w->result = taken ? SQL_LOCATION_TAKEN : SQL_INSERTED;
    u->end = taken ? UNIT_ABANDON : UNIT_COMMIT;
    return true;
}

bool sql_object_insert(struct sql *s, const struct sql_new_object *o, const struct sql_change *by,
    enum sql_insert_result *out, enum sql_kind *taken_by, struct err *err)
{
    struct insertion w = {.o = o};
    struct unit u = {.s = s, .by = by, .warehouse = o->warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, insert, &w, err));
    *out = w.result;
    if (w.result == SQL_NAME_TAKEN)
        *taken_by = w.taken_by;
    return true;
}

/* --- swap --- */

struct swapping {
    struct sql_swap *swaps;
    size_t n;
    enum sql_swap_result result;
};

static bool swap_lost(struct unit *u, struct swapping *w, struct err *err)
{
    TRY(unit_abandon(u, err));
    if (u->end == UNIT_ABANDON)
        w->result = SQL_SWAP_LOST;
    return true;
}

static bool move_place(struct unit *u, const struct sql_swap *sw, bool *taken, struct err *err)
{
    *taken = false;
    if (!sw->place)
        return true;
    TRY(place_free(u, sw->object, err));
    return place_occupy(u, sw->place, sw->object, taken, err);
}

static bool swap_one(struct unit *u, const struct sql_swap *sw, struct swapping *w, struct err *err)
{
    const struct param key[] = {number_param(u->warehouse), number_param(sw->object)};
    struct rows row, moved;
    bool taken;

    TRY(unit_exec(u, STMT_OBJECT_BY_ID, key, &row, err));
    if (row.n == 0 ||
        !str_eq(rows_str(&row, 0, OBJECT_BY_ID_METADATA_LOCATION), sw->old_metadata_location))
        return swap_lost(u, w, err);

    struct str location = sw->location.p ? sw->location : rows_str(&row, 0, OBJECT_BY_ID_LOCATION);
    struct claim claim = {.by = &sw->by,
        .object = sw->object,
        .kind = "swap",
        .location = location,
        .metadata_location = sw->metadata_location};
    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;

    const struct param p[] = {number_param(u->warehouse), number_param(sw->object),
        text_param(sw->old_metadata_location), text_param(sw->metadata_location),
        text_param(location)};
    TRY(unit_exec(u, STMT_OBJECT_SWAP, p, &moved, err));
    if (moved.n == 0)
        return swap_lost(u, w, err);
    TRY(move_place(u, sw, &taken, err));
    if (taken) {
        w->result = SQL_SWAP_LOCATION_TAKEN;
        u->end = UNIT_ABANDON;
    }
    return true;
}

static bool swap_all(struct unit *u, void *work, struct err *err)
{
    struct swapping *w = work;

    for (size_t i = 0; i < w->n && u->end == UNIT_COMMIT; i++)
        TRY(swap_one(u, &w->swaps[i], w, err));
    if (u->end == UNIT_COMMIT)
        w->result = SQL_SWAPPED;
    return true;
}

/* An object's rows are locked in the order of their ids by everybody. */
static int by_id(const void *a, const void *b)
{
    const struct sql_swap *x = a, *y = b;

    return (x->object > y->object) - (x->object < y->object);
}

static bool swap_in_transaction(struct sql *s, const struct sql_swap *swaps, size_t n,
    enum sql_swap_result *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct swapping w = {.swaps = ARENA_ARRAY(a, struct sql_swap, n), .n = n};

    memcpy(w.swaps, swaps, n * sizeof(swaps[0]));
    qsort(w.swaps, n, sizeof(w.swaps[0]), by_id);
    /* All or none: one token speaks for all. */
    struct unit u = {
        .s = s, .by = &w.swaps[0].by, .warehouse = swaps[0].warehouse, .effect = EFFECT_SWAP};
    TRY(sql__unit(&u, swap_all, &w, err));
    *out = u.end == UNIT_APPLIED ? SQL_SWAPPED : w.result;
    return true;
}

/* One statement is the whole transaction: it begins, swaps and commits in one round trip. */
static bool swap_in_statement(struct unit *u, void *work, struct err *err)
{
    struct swapping *w = work;
    const struct sql_swap *sw = w->swaps;
    const struct sql_change *by = &sw->by;
    int64_t until = clock_mono_us() + SQL_WRITE_US;
    const struct param p[] = {number_param(sw->warehouse), number_param(sw->object),
        text_param(sw->old_metadata_location), text_param(sw->metadata_location),
        text_param(by->token), text_param(by->digest), text_param(by->principal),
        text_param(by->request_id), number_param(by->at_ms)};
    const struct request r = {.stmt = STMT_OBJECT_SWAP_ONE,
        .params = p,
        .deadline_us = until < u->deadline_us ? until : u->deadline_us,
        .effect = EFFECT_SWAP};
    const struct param token[] = {number_param(sw->warehouse), text_param(by->token)};
    struct rows rows;

    if (FAULT(SQL_SWAP_BEFORE))
        _exit(137);
    TRY(sql__exec(u->a, u->db, &r, &rows, err));
    if (rows.n == 0)
        TRY(unit_exec(u, STMT_CHANGE_GET, token, &rows, err));
    w->result = rows.n > 0 ? SQL_SWAPPED : SQL_SWAP_LOST;
    if (w->result == SQL_SWAPPED && FAULT(SQL_SWAP_AFTER))
        _exit(137);
    return true;
}

bool sql_object_swap(struct sql *s, const struct sql_swap *swaps, size_t n,
    enum sql_swap_result *out, struct err *err)
{
    assert(lane_may_block() && n > 0);
    struct sql_swap first = swaps[0];

    if (n > 1 || first.location.p || !stmt_info[STMT_OBJECT_SWAP_ONE].text[s->driver->engine])
        return swap_in_transaction(s, swaps, n, out, err);

    struct swapping w = {.swaps = &first, .n = 1};
    struct unit u = {.s = s, .by = &first.by, .warehouse = first.warehouse, .alone = true};
    TRY(sql__unit(&u, swap_in_statement, &w, err));
    *out = w.result;
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

    TRY(find(u, w->ns, w->name, &ns, &o, err));
    if (!o || o->kind != w->kind)
        return rename_refused(u, w, SQL_RENAME_NO_SOURCE, err);
    TRY(find(u, w->to_ns, w->to_name, &to_ns, &there, err));
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
    bool dropped;
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

static bool drop(struct unit *u, void *work, struct err *err)
{
    struct removal *w = work;
    struct sql_object *o;
    struct rows rows;
    int64_t ns;

    TRY(find(u, w->ns, w->name, &ns, &o, err));
    if (!o || o->kind != w->kind) {
        TRY(unit_abandon(u, err));
        w->dropped = u->end == UNIT_APPLIED;
        return true;
    }
    struct claim claim = {.by = u->by,
        .object = o->id,
        .kind = w->purge == SQL_PURGE_FILES ? "purge" : "drop",
        .location = o->location,
        .metadata_location = o->metadata_location};

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(delete_row(u, w, o->id, ns, &rows, err));
    if (rows.n == 0)
        return err_set(err, ERR_DB_RETRY, "The object was moved meanwhile");
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
    struct removal w = {.a = a, .kind = kind, .ns = ns, .name = name, .purge = purge};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, drop, &w, err));
    *dropped = w.dropped;
    *was = w.dropped ? w.was : NULL;
    return true;
}
