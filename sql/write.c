/* Objects come into being and pointers move: one, or several in one transaction. */
#include "sql_priv.h"

#include "lane.h"
#include "sql_survey.h"
#include "uuid.h"

#include <assert.h>
#include <stdlib.h>

/* --- insert --- */

struct insertion {
    const struct sql_new_object *o;
    enum sql_insert_result result;
    enum sql_kind taken_by;
};

static bool refuse(struct unit *u, struct insertion *w, enum sql_insert_result why)
{
    w->result = why;
    u->end = UNIT_ABANDON;
    return true;
}

/* The insert made no row: names come first, then uuids. Neither: what was in the way is gone. */
static bool explain(struct unit *u, struct insertion *w, struct err *err)
{
    const struct sql_new_object *o = w->o;
    const struct param p[] = {
        number_param(u->warehouse), text_param(o->ns), text_param(o->name), text_param(o->uuid)};
    struct rows rows;

    TRY(unit_exec(u, STMT_OBJECT_WHY, p, &rows, err));
    if (!rows_str(&rows, 0, OBJECT_WHY_NAMESPACE).p)
        return refuse(u, w, SQL_NO_NAMESPACE);
    if (rows_str(&rows, 0, OBJECT_WHY_KIND).p) {
        w->taken_by = (enum sql_kind)rows_i64(&rows, 0, OBJECT_WHY_KIND);
        return refuse(u, w, SQL_NAME_TAKEN);
    }
    if (rows_str(&rows, 0, OBJECT_WHY_TWIN).p)
        return refuse(u, w, SQL_UUID_TAKEN);
    return err_set(err, ERR_DB_RETRY, "What was in the way of the insert vanished");
}

static bool note_folders(
    struct unit *u, const struct sql_new_object *o, int64_t id, struct err *err)
{
    const struct sql_registered *r = o->registered;
    struct rows rows;

    for (size_t i = 0; r && i < r->n; i++) {
        const struct param p[] = {number_param(u->warehouse), number_param(id),
            text_param(r->folders[i].authority), text_param(r->folders[i].path)};
        TRY(unit_exec(u, STMT_FOREIGN_ADD, p, &rows, err));
    }
    return true;
}

/* Who wants to take the lease waits for the end of the transaction; this one is over at once. */
static bool need_lease(struct unit *u, struct insertion *w, struct err *err)
{
    bool taken;

    if (!w->o->lease.p)
        return true;
    TRY(unit_lease(u, w->o->lease, STR("insert"), 0, &taken, err));
    return taken || refuse(u, w, SQL_LEASE_HELD);
}

static bool occupy(struct unit *u, struct insertion *w, int64_t id, struct err *err)
{
    bool taken;

    TRY(place_occupy(u, &w->o->place, id, &taken, err));
    if (taken)
        return refuse(u, w, SQL_LOCATION_TAKEN);
    TRY(note_folders(u, w->o, id, err));
    w->result = SQL_INSERTED;
    return need_lease(u, w, err);
}

static bool insert_one(
    struct unit *u, struct insertion *w, const struct sql_change *by, struct err *err)
{
    const struct sql_new_object *o = w->o;
    int64_t id = uuid_row_id();
    const struct param p[] = {number_param(u->warehouse), number_param(id), text_param(o->ns),
        text_param(o->name), number_param(o->kind), text_param(o->uuid), text_param(o->location),
        text_param(o->metadata_location), number_param(o->registered != NULL)};
    struct claim claim = {.by = by,
        .object = id,
        .kind = "create",
        .location = o->location,
        .metadata_location = o->metadata_location};
    struct rows rows;

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(unit_exec(u, STMT_OBJECT_INSERT, p, &rows, err));
    if (rows.n == 0)
        return explain(u, w, err);
    return occupy(u, w, id, err);
}

static bool insert(struct unit *u, void *work, struct err *err)
{
    return insert_one(u, work, u->by, err);
}

bool sql_object_insert(struct sql *s, const struct sql_new_object *o, const struct sql_change *by,
    enum sql_insert_result *out, enum sql_kind *taken_by, struct err *err)
{
    struct insertion w = {.o = o};
    bool made, unclear;

    *out = SQL_INSERTED;
    TRY(object_insert_quick(s, o, by, &made, &unclear, err));
    if (made)
        return true;
    struct unit u = {
        .s = s, .by = by, .warehouse = o->warehouse, .effect = EFFECT_SWAP, .unclear = unclear};
    bool ok = sql__unit(&u, insert, &w, err);
    bool refused = ok ? w.result != SQL_INSERTED : err->kind != ERR_OUTCOME_UNKNOWN;
    if (unclear && refused)
        TRY(object_insert_settle(s, o, by, err));
    if (!ok)
        return false;
    *out = w.result;
    if (w.result == SQL_NAME_TAKEN)
        *taken_by = w.taken_by;
    return true;
}

/* --- replace --- */

/* Is the uuid that of another live object? */
static bool twin(
    struct unit *u, const struct sql_new_object *o, int64_t id, bool *out, struct err *err)
{
    const struct param p[] = {
        number_param(u->warehouse), text_param(o->ns), text_param(o->name), text_param(o->uuid)};
    struct rows rows;

    TRY(unit_exec(u, STMT_OBJECT_WHY, p, &rows, err));
    int64_t holder = rows_i64(&rows, 0, OBJECT_WHY_TWIN);
    *out = holder != 0 && holder != id;
    return true;
}

static bool replace_row(struct unit *u, struct insertion *w, const struct sql_object *there,
    int64_t ns, struct err *err)
{
    const struct sql_new_object *o = w->o;
    int64_t id = there->id;
    struct claim claim = {.by = u->by,
        .object = id,
        .kind = "replace",
        .location = o->location,
        .metadata_location = o->metadata_location};
    const struct param p[] = {number_param(u->warehouse), number_param(id), number_param(ns),
        text_param(o->name), text_param(o->uuid), text_param(o->location),
        text_param(o->metadata_location)};
    struct rows rows;

    TRY(swap_leave_location(u, id, there->location, o->location, err));
    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(unit_exec(u, STMT_OBJECT_REPLACE, p, &rows, err));
    if (rows.n == 0)
        return err_set(err, ERR_DB_RETRY, "The object was moved meanwhile");
    TRY(place_free(u, id, err));
    return occupy(u, w, id, err);
}

/* An earlier attempt may have been carried out, and what it found in its way was itself. */
static bool replace_refused(
    struct unit *u, struct insertion *w, enum sql_insert_result why, struct err *err)
{
    TRY(unit_abandon(u, err));
    w->result = u->end == UNIT_APPLIED ? SQL_INSERTED : why;
    return true;
}

static bool replace_nothing(struct unit *u, struct insertion *w, struct err *err)
{
    TRY(insert_one(u, w, u->by, err));
    if (u->end == UNIT_ABANDON && w->result == SQL_NAME_TAKEN)
        return err_set(err, ERR_DB_RETRY, "An object of the name appeared meanwhile");
    return true;
}

static bool replace(struct unit *u, void *work, struct err *err)
{
    struct insertion *w = work;
    const struct sql_new_object *o = w->o;
    struct sql_object *there;
    bool other;
    int64_t ns;

    TRY(object_find(u, o->ns, o->name, &ns, &there, err));
    if (!there)
        return replace_nothing(u, w, err);
    w->taken_by = there->kind;
    if (there->kind != o->kind)
        return replace_refused(u, w, SQL_NAME_TAKEN, err);
    TRY(twin(u, o, there->id, &other, err));
    if (other)
        return replace_refused(u, w, SQL_UUID_TAKEN, err);
    return replace_row(u, w, there, ns, err);
}

bool sql_object_replace(struct sql *s, const struct sql_new_object *o, const struct sql_change *by,
    enum sql_insert_result *out, enum sql_kind *taken_by, struct err *err)
{
    struct insertion w = {.o = o};
    struct unit u = {.s = s, .by = by, .warehouse = o->warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, replace, &w, err));
    *out = w.result;
    if (w.result == SQL_NAME_TAKEN)
        *taken_by = w.taken_by;
    return true;
}

/* --- several --- */

struct writing {
    const struct sql_write *writes; /* the caller's, in his order */
    const struct sql_write **sorted;
    size_t n, n_swaps;
    bool one_by_one; /* a token is taken already: of all at once it is not known which */
    struct sql_written result;
};

/* What one statement can do for all of them. */
static bool write_at_once(
    struct unit *u, struct writing *w, struct sql_written *now, struct err *err)
{
    const struct sql_swap **swaps = ARENA_ARRAY(u->a, const struct sql_swap *, w->n_swaps);
    size_t lost;

    for (size_t i = 0; i < w->n_swaps; i++)
        swaps[i] = w->sorted[i]->swap;
    if (!swap_several_in_place(u, swaps, w->n_swaps, &lost, &now->swap, err)) {
        w->one_by_one = err->kind == ERR_DB_UNIQUE;
        return false;
    }
    if (lost < w->n_swaps)
        now->at = (size_t)(w->sorted[lost] - w->writes);
    return true;
}

static bool write_one(
    struct unit *u, const struct sql_write *one, struct sql_written *r, struct err *err)
{
    struct insertion w = {.o = one->insert, .result = SQL_INSERTED};

    if (one->swap)
        return swap_one(u, one->swap, &r->swap, err);
    TRY(insert_one(u, &w, &one->by, err));
    r->insert = w.result;
    r->taken_by = w.taken_by;
    return true;
}

static bool write_all(struct unit *u, void *work, struct err *err)
{
    struct writing *w = work;
    struct sql_written now = {0};
    bool at_once = w->n_swaps > 1 && !w->one_by_one && sql__has(u->s, STMT_OBJECT_SWAP_MANY);

    if (at_once)
        TRY(write_at_once(u, w, &now, err));
    for (size_t i = 0; i < w->n && u->end == UNIT_COMMIT; i++) {
        if (at_once && w->sorted[i]->swap && !w->sorted[i]->swap->location.p)
            continue;
        now.at = (size_t)(w->sorted[i] - w->writes);
        TRY(write_one(u, w->sorted[i], &now, err));
    }
    now.done = u->end != UNIT_ABANDON;
    w->result = now;
    return true;
}

/* Rows are locked in one order by everybody. */
static int in_order(const void *a, const void *b)
{
    const struct sql_write *x = *(const struct sql_write *const *)a;
    const struct sql_write *y = *(const struct sql_write *const *)b;

    if (!x->swap != !y->swap)
        return x->swap ? -1 : 1;
    if (x->swap)
        return (x->swap->object > y->swap->object) - (x->swap->object < y->swap->object);
    return insert_order(x->insert, y->insert);
}

/* All or none, so one token speaks for all; a mere look has none. */
static const struct sql_change *speaker(const struct writing *w)
{
    const struct sql_change *by = NULL;

    for (size_t i = 0; i < w->n && !by; i++) {
        const struct sql_write *one = w->sorted[i];
        if (!one->swap)
            by = &one->by;
        else if (one->swap->metadata_location.p)
            by = &one->swap->by;
    }
    assert(by); /* something is written */
    return by;
}

bool sql__write(struct sql *s, const struct sql_write *writes, size_t n, bool unclear,
    struct sql_written *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct writing w = {
        .writes = writes, .sorted = ARENA_ARRAY(a, const struct sql_write *, n), .n = n};

    for (size_t i = 0; i < n; i++) {
        w.sorted[i] = &writes[i];
        w.n_swaps += writes[i].swap != NULL;
    }
    qsort(w.sorted, n, sizeof(const struct sql_write *), in_order);
    struct unit u = {.s = s,
        .by = speaker(&w),
        .warehouse = writes[0].swap ? writes[0].swap->warehouse : writes[0].insert->warehouse,
        .effect = EFFECT_SWAP,
        .unclear = unclear};
    TRY(sql__unit(&u, write_all, &w, err));
    *out = w.result;
    return true;
}

bool sql_object_write(struct sql *s, const struct sql_write *writes, size_t n,
    struct sql_written *out, struct err *err)
{
    assert(lane_may_block() && n > 0);
    if (n > 1 || !writes[0].swap)
        return sql__write(s, writes, n, false, out, err);
    *out = (struct sql_written){0};
    TRY(sql_object_swap(s, writes[0].swap, 1, &out->swap, err));
    out->done = out->swap == SQL_SWAPPED;
    return true;
}
