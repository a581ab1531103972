/* Units of work. Each is one transaction with one change row (or several, one for each pointer).
 *
 * When the connection breaks while the commit is under way, nobody knows what became of it, and
 * reading the rows does not tell: the commit may still be on its way. So the unit is repeated with
 * the same token. Its change row meets the first attempt's: the database makes it wait until that
 * has ended, and then the row is either there (applied) or written anew (it was not). */
#include "sql_priv.h"

#include "clock.h"
#include "fault.h"
#include "lane.h"

#include <assert.h>
#include <unistd.h>

bool unit_exec(
    struct unit *u, enum stmt stmt, const struct param *params, struct rows *out, struct err *err)
{
    int64_t until = clock_mono_us() + SQL_WRITE_US;
    struct request r = {.stmt = stmt,
        .params = params,
        .deadline_us = until < u->deadline_us ? until : u->deadline_us,
        .effect = stmt == STMT_COMMIT ? u->effect : EFFECT_NONE};

    return sql__exec(u->a, u->db, &r, out, err);
}

struct str change_relative(struct str location, struct str metadata_location)
{
    struct str s = metadata_location;

    if (location.n == 0 || !str_starts(s, location) || s.n == location.n || s.p[location.n] != '/')
        return s;
    return str_sub(s, location.n, s.n - location.n);
}

struct str change_absolute(struct arena *a, struct str location, struct str stored)
{
    if (!stored.p || !str_starts(stored, STR("/")))
        return stored;
    return arena_printf(a, "%.*s%.*s", STR_ARG(location), STR_ARG(stored));
}

/* One row for the request, whatever the number of its changes. */
static bool claim_key(struct unit *u, const struct claim *c, struct err *err)
{
    if (!u->by->idem || u->keyed)
        return true;
    TRY(idem_keep(u, c->object, c->metadata_location, &u->keyed, err));
    return u->keyed ||
           err_set(err, ERR_REPEATED, "The key of the request was used by another meanwhile");
}

bool change_was_forgone(struct str kind)
{
    return str_eq(kind, STR("forgone"));
}

bool unit_change_made(struct unit *u, struct str token, bool *made, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), text_param(token)};
    struct rows rows;

    TRY(unit_exec(u, STMT_CHANGE_GET, p, &rows, err));
    *made = rows.n > 0 && !change_was_forgone(rows_str(&rows, 0, CHANGE_GET_KIND));
    return true;
}

/* The token has a row. It is this unit's when an earlier attempt's commit is unclear, unless a
 * sweep took the change for abandoned: then no attempt was carried out, and none will be. */
static bool token_there(struct unit *u, struct str token, struct err *err)
{
    bool made;

    TRY(unit_change_made(u, token, &made, err));
    if (made && u->unclear) {
        u->end = UNIT_APPLIED;
        return true;
    }
    u->unclear = false;
    return err_set(err, ERR_INTERNAL,
        made ? "The token %.*s of a change was used before"
             : "The change %.*s took so long that it was given up and cleared away",
        STR_ARG(token));
}

bool unit_claimed(struct unit *u, const struct claim *c, struct err *err)
{
    u->unclear = false; /* no earlier attempt can be carried out any more */
    return claim_key(u, c, err);
}

bool unit_claim(struct unit *u, const struct claim *c, struct err *err)
{
    const struct param p[] = {
        number_param(u->warehouse),
        text_param(c->by->token),
        number_param(c->object),
        text_param(str_from(c->kind)),
        text_param(change_relative(c->location, c->metadata_location)),
        text_param(c->by->digest),
        text_param(c->by->principal),
        text_param(c->by->request_id),
        number_param(c->by->at_ms),
    };
    struct rows rows;

    TRY(unit_exec(u, STMT_CHANGE_INSERT, p, &rows, err));
    return rows.n == 1 ? unit_claimed(u, c, err) : token_there(u, c->by->token, err);
}

bool unit_abandon(struct unit *u, struct err *err)
{
    bool made = false;

    if (u->unclear)
        TRY(unit_change_made(u, u->by->token, &made, err));
    u->end = made ? UNIT_APPLIED : UNIT_ABANDON;
    return true;
}

static bool finish(struct unit *u, struct err *err)
{
    struct rows rows;

    if (u->end != UNIT_COMMIT)
        return unit_exec(u, STMT_ROLLBACK, NULL, &rows, err);
    if (u->effect == EFFECT_SWAP && FAULT(SQL_SWAP_BEFORE))
        _exit(137);
    if (!unit_exec(u, STMT_COMMIT, NULL, &rows, err)) {
        u->unclear = u->db->state == DB_LOST;
        return false;
    }
    if (u->effect == EFFECT_SWAP && FAULT(SQL_SWAP_AFTER))
        _exit(137);
    return true;
}

/* A connection that cannot even roll back is closed, which does. */
static void roll_back(struct unit *u)
{
    struct err ignored = {0};
    struct rows rows;

    if (u->db->state == DB_GOOD && !unit_exec(u, STMT_ROLLBACK, NULL, &rows, &ignored))
        u->db->state = DB_SPENT;
}

static bool attempt_alone(struct unit *u, unit_fn fn, void *work, struct err *err)
{
    bool ok = fn(u, work, err);

    if (!ok && u->db->state == DB_LOST)
        u->unclear = true;
    sql__give(u->s, &u->db);
    return ok;
}

static bool attempt(struct unit *u, unit_fn fn, void *work, struct err *err)
{
    struct rows rows;
    bool ok;

    if (u->effect == EFFECT_SWAP && FAULT(SQL_SWAP_LATE))
        (void)sleep(7);
    u->end = UNIT_COMMIT;
    u->keyed = false;
    TRY(sql__take(u->s, DB_WRITE, &u->db, err));
    u->a = u->db->scratch;
    if (u->alone)
        return attempt_alone(u, fn, work, err);
    ok = unit_exec(u, STMT_BEGIN, NULL, &rows, err);
    if (ok && !(ok = fn(u, work, err)))
        roll_back(u);
    /* A definite "nothing to do" stands even if the rollback cannot be said any more. */
    if (ok && !finish(u, err)) {
        if (u->end == UNIT_COMMIT) {
            ok = false;
            roll_back(u);
        } else {
            u->db->state = DB_SPENT;
        }
    }
    sql__give(u->s, &u->db);
    return ok;
}

static void note_kept(struct unit *u)
{
    if (u->by->idem && ((u->end == UNIT_COMMIT && u->keyed) || u->end == UNIT_APPLIED))
        u->by->idem->kept = true;
}

/* A database that is away is not waited for as long as another change that is under way. */
static int64_t patience(const struct unit *u, int64_t begun, enum err_kind kind)
{
    int64_t away = begun + SQL_AWAY_US;

    if (u->unclear || kind == ERR_DB_RETRY || u->deadline_us < away)
        return u->deadline_us;
    return away;
}

static bool may_go_again(enum err_kind kind)
{
    return kind == ERR_UNAVAILABLE || kind == ERR_DB_RETRY || kind == ERR_DB_UNIQUE ||
           kind == ERR_DB_REFERENCE;
}

static bool give_up(const struct unit *u, struct err *err)
{
    if (u->unclear) {
        err_wrap(err, "A change was sent to the database and its answer was lost");
        return err_as(err, ERR_OUTCOME_UNKNOWN);
    }
    if (err->kind == ERR_BUSY)
        return err_as(err, ERR_UNAVAILABLE);
    if (err->kind == ERR_DB_RETRY || err->kind == ERR_DB_UNIQUE || err->kind == ERR_DB_REFERENCE) {
        err_wrap(err, "Other changes to the same rows got in the way every time");
        return err_as(err, ERR_UNAVAILABLE);
    }
    return false;
}

bool sql__unit(struct unit *u, unit_fn fn, void *work, struct err *err)
{
    assert(lane_may_block());
    int64_t now = clock_mono_us();
    struct pace pace = {0};

    u->deadline_us = u->by->deadline_us > 0 ? u->by->deadline_us : now + SQL_WRITE_US;
    for (;;) {
        if (attempt(u, fn, work, err)) {
            note_kept(u);
            return true;
        }
        pace.until_us = patience(u, now, err->kind);
        if (!u->unclear && !may_go_again(err->kind))
            return give_up(u, err);
        if (!sql__pause(&pace))
            return give_up(u, err);
        err_clear(err);
    }
}
