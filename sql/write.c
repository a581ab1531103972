/* Objects come into being and pointers move: one, or several in one transaction. */
#include "sql_priv.h"

#include "clock.h"
#include "fault.h"
#include "lane.h"
#include "sql_survey.h"
#include "uuid.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* Rows of changes tell where a file is by what follows the object's location. */
static bool leave_location(
    struct unit *u, int64_t object, struct str from, struct str to, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), number_param(object), text_param(from)};
    struct rows rows;

    return str_eq(from, to) || unit_exec(u, STMT_CHANGE_DETACH, p, &rows, err);
}

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

static bool occupy(struct unit *u, struct insertion *w, int64_t id, struct err *err)
{
    bool taken;

    TRY(place_occupy(u, &w->o->place, id, &taken, err));
    if (taken)
        return refuse(u, w, SQL_LOCATION_TAKEN);
    TRY(note_folders(u, w->o, id, err));
    w->result = SQL_INSERTED;
    return true;
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
    struct unit u = {.s = s, .by = by, .warehouse = o->warehouse, .effect = EFFECT_SWAP};

    TRY(sql__unit(&u, insert, &w, err));
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

    TRY(leave_location(u, id, there->location, o->location, err));
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

/* --- swap --- */

static bool swap_lost(struct unit *u, enum sql_swap_result *out, struct err *err)
{
    TRY(unit_abandon(u, err));
    if (u->end == UNIT_ABANDON)
        *out = SQL_SWAP_LOST;
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

static bool claim_swap(
    struct unit *u, const struct sql_swap *sw, struct str location, struct err *err)
{
    struct claim claim = {.by = &sw->by,
        .object = sw->object,
        .kind = "swap",
        .location = location,
        .metadata_location = sw->metadata_location};

    return unit_claim(u, &claim, err);
}

/* A swap that leads nowhere holds the row where it is until the end of the transaction. */
static bool swap_one(
    struct unit *u, const struct sql_swap *sw, enum sql_swap_result *out, struct err *err)
{
    const struct param key[] = {number_param(u->warehouse), number_param(sw->object)};
    struct rows row, moved;
    bool look = !sw->metadata_location.p, taken;

    TRY(unit_exec(u, STMT_OBJECT_BY_ID, key, &row, err));
    if (row.n == 0 ||
        !str_eq(rows_str(&row, 0, OBJECT_BY_ID_METADATA_LOCATION), sw->old_metadata_location))
        return swap_lost(u, out, err);
    struct str was = rows_str(&row, 0, OBJECT_BY_ID_LOCATION);
    struct str location = sw->location.p ? sw->location : was;
    TRY(leave_location(u, sw->object, was, location, err));
    if (!look)
        TRY(claim_swap(u, sw, location, err));
    if (u->end == UNIT_APPLIED)
        return true;

    const struct param p[] = {number_param(u->warehouse), number_param(sw->object),
        text_param(sw->old_metadata_location),
        text_param(look ? sw->old_metadata_location : sw->metadata_location), text_param(location)};
    TRY(unit_exec(u, STMT_OBJECT_SWAP, p, &moved, err));
    if (moved.n == 0)
        return swap_lost(u, out, err);
    TRY(move_place(u, sw, &taken, err));
    *out = taken ? SQL_SWAP_LOCATION_TAKEN : SQL_SWAPPED;
    if (taken)
        u->end = UNIT_ABANDON;
    return true;
}

/* --- several --- */

struct writing {
    const struct sql_write *writes; /* the caller's, in his order */
    const struct sql_write **sorted;
    size_t n;
    struct sql_written result;
};

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

    for (size_t i = 0; i < w->n && u->end == UNIT_COMMIT; i++) {
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
    int ns = str_cmp(x->insert->ns, y->insert->ns);
    return ns ? ns : str_cmp(x->insert->name, y->insert->name);
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

static bool write_in_transaction(struct sql *s, const struct sql_write *writes, size_t n,
    bool unclear, struct sql_written *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct writing w = {
        .writes = writes, .sorted = ARENA_ARRAY(a, const struct sql_write *, n), .n = n};

    for (size_t i = 0; i < n; i++)
        w.sorted[i] = &writes[i];
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
        return write_in_transaction(s, writes, n, false, out, err);
    *out = (struct sql_written){0};
    TRY(sql_object_swap(s, writes[0].swap, 1, &out->swap, err));
    out->done = out->swap == SQL_SWAPPED;
    return true;
}

/* --- one swap, one statement --- */

struct quick {
    const struct sql_swap *swap;
    enum sql_swap_result result;
    bool leave; /* this is for the transaction to do */
};

/* One statement is the whole transaction: it begins, swaps and commits in one round trip. */
static bool send_swap(struct unit *u, const struct sql_swap *sw, struct rows *out, struct err *err)
{
    const struct sql_change *by = &sw->by;
    const struct sql_idem *k = by->idem;
    const struct sql_idem none = {0};
    int64_t until = clock_mono_us() + SQL_WRITE_US;
    const struct param p[] = {number_param(sw->warehouse), number_param(sw->object),
        text_param(sw->old_metadata_location), text_param(sw->metadata_location),
        text_param(by->token), text_param(by->digest), text_param(by->principal),
        text_param(by->request_id), number_param(by->at_ms), text_param(k ? k->key : none.key),
        number_param(k ? k->status : 0), number_param(k ? k->lifetime_ms : 0)};
    const struct request r = {.stmt = k ? STMT_OBJECT_SWAP_KEYED : STMT_OBJECT_SWAP_ONE,
        .params = p,
        .deadline_us = until < u->deadline_us ? until : u->deadline_us,
        .effect = EFFECT_SWAP};

    return sql__exec(u->a, u->db, &r, out, err);
}

static bool swap_in_statement(struct unit *u, void *work, struct err *err)
{
    struct quick *w = work;
    const struct sql_swap *sw = w->swap;
    struct rows rows;
    bool made;

    if (FAULT(SQL_SWAP_LATE))
        (void)sleep(7);
    if (FAULT(SQL_SWAP_BEFORE))
        _exit(137);
    /* It may wait for the key as long as for any lock. Given up before that, nobody would know what
     * became of it; of a transaction that did not come to its end one knows. */
    w->leave = sw->by.idem && u->deadline_us - clock_mono_us() < SQL_LOCK_US + SQL_LOCK_US / 4;
    if (w->leave)
        return true;
    if (!send_swap(u, sw, &rows, err)) {
        /* The key or the token is taken, perhaps by a row that has expired: the transaction can
         * tell.
         */
        w->leave = err->kind == ERR_DB_UNIQUE;
        return w->leave;
    }
    made = rows.n > 0;
    if (!made)
        TRY(unit_change_made(u, sw->by.token, &made, err));
    w->result = made ? SQL_SWAPPED : SQL_SWAP_LOST;
    u->keyed = w->result == SQL_SWAPPED;
    if (w->result == SQL_SWAPPED && FAULT(SQL_SWAP_AFTER))
        _exit(137);
    return true;
}

/* The statement keeps the digest of the change, and the new metadata location, with the key. */
static bool fits_statement(const struct sql *s, const struct sql_swap *sw)
{
    const struct sql_idem *k = sw->by.idem;

    if (sw->location.p || !stmt_info[STMT_OBJECT_SWAP_ONE].text[s->driver->engine])
        return false;
    return !k || (str_eq(k->digest, sw->by.digest) && !k->answer.p);
}

static bool swap_several(struct sql *s, const struct sql_swap *swaps, size_t n, bool unclear,
    enum sql_swap_result *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_write *writes = ARENA_ARRAY(a, struct sql_write, n);
    struct sql_written written;

    for (size_t i = 0; i < n; i++)
        writes[i].swap = &swaps[i];
    TRY(write_in_transaction(s, writes, n, unclear, &written, err));
    *out = written.done ? SQL_SWAPPED : written.swap;
    return true;
}

bool sql_object_swap(struct sql *s, const struct sql_swap *swaps, size_t n,
    enum sql_swap_result *out, struct err *err)
{
    assert(lane_may_block() && n > 0);
    struct quick w = {.swap = &swaps[0]};
    struct unit u = {.s = s, .by = &swaps[0].by, .warehouse = swaps[0].warehouse, .alone = true};

    if (n > 1 || !fits_statement(s, &swaps[0]))
        return swap_several(s, swaps, n, false, out, err);
    TRY(sql__unit(&u, swap_in_statement, &w, err));
    *out = w.result;
    if (!w.leave)
        return true;
    err_clear(err);
    return swap_several(s, swaps, 1, u.unclear, out, err);
}
