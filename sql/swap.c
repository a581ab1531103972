/* Pointers move: one in one statement, several in one transaction, and those that several callers
 * want to move at the same time together (batch.c). */
#include "sql_priv.h"

#include "clock.h"
#include "fault.h"
#include "lane.h"

#include <assert.h>
#include <unistd.h>

/* Rows of changes tell where a file is by what follows the object's location. */
bool swap_leave_location(
    struct unit *u, int64_t object, struct str from, struct str to, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), number_param(object), text_param(from)};
    struct rows rows;

    return str_eq(from, to) || unit_exec(u, STMT_CHANGE_DETACH, p, &rows, err);
}

/* --- one, in a transaction --- */

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
bool swap_one(struct unit *u, const struct sql_swap *sw, enum sql_swap_result *out, struct err *err)
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
    TRY(swap_leave_location(u, sw->object, was, location, err));
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

/* --- several, in a transaction --- */

/* Holds the rows of all. *lost: the first whose pointer is not where it was; n: none. */
static bool hold(
    struct unit *u, const struct sql_swap *const *swaps, size_t n, size_t *lost, struct err *err)
{
    struct array ids;
    struct rows rows;
    size_t row = 0;

    array_begin(&ids);
    for (size_t i = 0; i < n; i++)
        array_number(&ids, swaps[i]->object);
    const struct param p[] = {number_param(u->warehouse), array_end(&ids, u->a)};
    TRY(unit_exec(u, STMT_OBJECT_HOLD, p, &rows, err));
    for (*lost = 0; *lost < n; (*lost)++, row++) {
        if (row == rows.n || rows_i64(&rows, row, OBJECT_HOLD_ID) != swaps[*lost]->object ||
            !str_eq(rows_str(&rows, row, OBJECT_HOLD_METADATA_LOCATION),
                swaps[*lost]->old_metadata_location))
            break;
    }
    return true;
}

bool swap_moves_in_place(const struct sql_swap *sw)
{
    return sw->metadata_location.p && !sw->location.p;
}

static bool move(struct unit *u, const struct sql_swap *const *swaps, size_t n, struct err *err)
{
    struct param p[STMT_PARAMS_MAX];
    struct rows rows;

    swap_many_params(u->a, swaps, n, SWAP_WITHOUT_KEYS, p);
    TRY(unit_exec(u, STMT_OBJECT_SWAP_MANY, p, &rows, err));
    if (rows.n != n) /* an object is in it twice: it was renamed while the names were looked up */
        return err_set(err, ERR_DB_RETRY, "Of %zu pointers that were held %zu moved", n, rows.n);
    return true;
}

bool swap_several_in_place(struct unit *u, const struct sql_swap *const *swaps, size_t n,
    size_t *lost, enum sql_swap_result *out, struct err *err)
{
    const struct sql_swap **moved = ARENA_ARRAY(u->a, const struct sql_swap *, n + 1);
    size_t n_moved = 0;

    TRY(hold(u, swaps, n, lost, err));
    if (*lost < n)
        return swap_lost(u, out, err);
    for (size_t i = 0; i < n; i++)
        if (swap_moves_in_place(swaps[i]))
            moved[n_moved++] = swaps[i];
    if (n_moved == 0)
        return true;
    TRY(move(u, moved, n_moved, err));
    struct claim claim = {.by = &moved[0]->by,
        .object = moved[0]->object,
        .metadata_location = moved[0]->metadata_location};
    return unit_claimed(u, &claim, err);
}

/* --- many, in one statement --- */

void swap_many_params(struct arena *a, const struct sql_swap *const *swaps, size_t n,
    enum swap_keys keys, struct param *out)
{
    static const struct sql_idem none = {0};
    struct array l[12]; /* as many as the statement has */

    for (size_t i = 0; i < ARRAY_LEN(l); i++)
        array_begin(&l[i]);
    for (size_t i = 0; i < n; i++) {
        const struct sql_swap *sw = swaps[i];
        const struct sql_change *by = &sw->by;
        const struct sql_idem *k = keys == SWAP_WITH_KEYS && by->idem ? by->idem : &none;
        const struct str texts[] = {sw->old_metadata_location, sw->metadata_location, by->token,
            by->digest, by->principal, by->request_id};
        array_number(&l[0], sw->warehouse);
        array_number(&l[1], sw->object);
        for (size_t j = 0; j < ARRAY_LEN(texts); j++)
            array_str(&l[2 + j], texts[j]);
        array_number(&l[8], by->at_ms);
        array_str(&l[9], k->key);
        array_number(&l[10], k->status);
        array_number(&l[11], k->lifetime_ms);
    }
    for (size_t i = 0; i < ARRAY_LEN(l); i++)
        out[i] = array_end(&l[i], a);
}

/* --- one swap, one statement --- */

struct quick {
    const struct sql_swap *swap;
    enum sql_swap_result result;
    bool leave; /* this is for the transaction to do */
};

void swap_faults_before(void)
{
    if (FAULT(SQL_SWAP_LATE))
        (void)sleep(7);
    if (FAULT(SQL_SWAP_BEFORE))
        _exit(137);
}

void swap_faults_after(void)
{
    if (FAULT(SQL_SWAP_AFTER))
        _exit(137);
}

bool sql__outlasts_lock(int64_t deadline_us)
{
    return deadline_us - clock_mono_us() >= SQL_LOCK_US + SQL_LOCK_US / 4;
}

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

    swap_faults_before();
    /* It may wait for the key as long as for any lock. Given up before that, nobody would know what
     * became of it; of a transaction that did not come to its end one knows. */
    w->leave = sw->by.idem && !sql__outlasts_lock(u->deadline_us);
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
    if (made)
        swap_faults_after();
    return true;
}

/* The statement keeps the digest of the change, and the new metadata location, with the key. */
static bool fits_statement(const struct sql *s, const struct sql_swap *sw)
{
    const struct sql_idem *k = sw->by.idem;

    if (sw->location.p || !sql__has(s, STMT_OBJECT_SWAP_ONE))
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
    TRY(sql__write(s, writes, n, unclear, &written, err));
    *out = written.done ? SQL_SWAPPED : written.swap;
    return true;
}

static bool swap_alone(struct sql *s, const struct sql_swap *sw, bool unclear,
    enum sql_swap_result *out, struct err *err)
{
    struct quick w = {.swap = sw};
    struct unit u = {
        .s = s, .by = &sw->by, .warehouse = sw->warehouse, .alone = true, .unclear = unclear};

    TRY(sql__unit(&u, swap_in_statement, &w, err));
    *out = w.result;
    if (!w.leave)
        return true;
    err_clear(err);
    return swap_several(s, sw, 1, u.unclear, out, err);
}

/* Together with others, as far as that goes. */
static bool swap_in_turn(
    struct sql *s, const struct sql_swap *sw, enum sql_swap_result *out, struct err *err)
{
    const struct sql_write w = {.swap = sw};

    if (!batch_takes(s, &w))
        return swap_alone(s, sw, false, out, err);
    enum batch_end end = batch_make(s, &w);
    *out = SQL_SWAPPED;
    bool ok = end == BATCH_MADE || swap_alone(s, sw, end == BATCH_UNCLEAR, out, err);
    if (end == BATCH_ALONE)
        batch_leave(s, &w);
    return ok;
}

bool sql_object_swap(struct sql *s, const struct sql_swap *swaps, size_t n,
    enum sql_swap_result *out, struct err *err)
{
    assert(lane_may_block() && n > 0);
    if (n > 1 || !fits_statement(s, &swaps[0]))
        return swap_several(s, swaps, n, false, out, err);
    return swap_in_turn(s, &swaps[0], out, err);
}
