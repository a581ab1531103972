#include "repeat.h"

#include <assert.h>

#include "call.h"
#include "config.h"
#include "keep.h"
#include "metric.h"
#include "table.h"
#include "vending.h"

static bool replay_loaded(struct call *c, const struct sql_answer *kept)
{
    struct loaded t;
    TRY(keep_object(c->arena, c->catalog, kept, &t, &c->err));
    return reply_loaded(c, &t, VARIANT_ALL);
}

/* Keys for the table as they are now. */
static bool replay_table(struct call *c, const struct sql_answer *kept)
{
    const struct ident id = call_new_ident(c);
    struct loaded t;
    TRY(keep_object(c->arena, c->catalog, kept, &t, &c->err));
    if (vending_gives(c))
        TRY(table_locate(c->arena, c->catalog, &id, &t, &c->err));
    return vending_reply(c, &id, &t, VARIANT_ALL);
}

static bool replay_commit(struct call *c, const struct sql_answer *kept)
{
    struct loaded t;
    TRY(keep_object(c->arena, c->catalog, kept, &t, &c->err));
    return reply_commit(c, &t);
}

/* What answers 200; everything else answers 204. */
static const struct {
    unsigned op;
    replay_fn *replay;
} replays[] = {
    {OP_CREATE_NAMESPACE,  replay_create_namespace },
    {OP_UPDATE_PROPERTIES, replay_update_properties},
    {OP_CREATE_TABLE,      replay_table            },
    {OP_REGISTER_TABLE,    replay_table            },
    {OP_UPDATE_TABLE,      replay_commit           },
    {OP_UNREGISTER_TABLE,  replay_commit           },
    {OP_CREATE_VIEW,       replay_loaded           },
    {OP_REPLACE_VIEW,      replay_loaded           },
    {OP_REGISTER_VIEW,     replay_loaded           },
};

/* A staged create leaves nothing behind: done twice it does no harm. */
static bool is_staged(const struct call *c)
{
    return c->op->id == OP_CREATE_TABLE && json_is_true(json_object_get(c->json, "stage-create"));
}

/* Changes of warehouses take no key: what they answer is not kept. */
bool repeat_keyed(const struct call *c)
{
    return c->op && c->op->mutates && c->op->api == API_CATALOG &&
           call_header(c, HEADER_IDEMPOTENCY_KEY).p && c->server->conf->idempotency_lifetime > 0 &&
           !is_staged(c);
}

bool repeat_refusable(const struct call *c)
{
    return c->op && c->op->mutates && !repeat_keyed(c);
}

static bool replay_success(struct call *c, const struct sql_answer *kept)
{
    for (size_t i = 0; i < ARRAY_LEN(replays); i++)
        if (replays[i].op == c->op->id)
            return replays[i].replay(c, kept);
    return reply_empty(c);
}

static bool replay(struct call *c, const struct sql_answer *kept)
{
    if (!str_eq(kept->digest, c->idem.digest))
        return err_set(&c->err, ERR_UNPROCESSABLE,
            "The Idempotency-Key %.*s was used for another request", STR_ARG(c->idem.key));
    err_clear(&c->err);
    c->replayed = true;
    metric_add(METRIC_idempotency_replays_total, 1);
    if (kept->status >= 400)
        return reply_document(c, kept->status, kept->answer);
    return replay_success(c, kept);
}

/* Refusals that a repetition would meet again. Not those of who asks, nor those that ask to come
 * again. */
static bool is_final(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 &&
           status != 419 && status != 429;
}

/* Nothing was done, says c->err; but an earlier copy of the request may have done it. What cannot
 * be looked up now is no refusal: the client would take it for one. */
static bool look_again(struct call *c, const struct caller *by)
{
    struct sql_answer *kept;
    struct err err = {0};
    if (!keep_find(c->arena, c->catalog, by, &kept, &err)) {
        c->err = err;
        return err_as(&c->err, ERR_UNAVAILABLE);
    }
    if (kept)
        return replay(c, kept);
    if (c->err.kind == ERR_REPEATED)
        return err_as(&c->err, ERR_UNAVAILABLE);
    return false;
}

static bool keep_refusal(struct call *c, const struct caller *by)
{
    struct err err = {0};
    reply_error(c);
    assert(c->reply.n_pieces == 1);
    c->idem.status = c->reply.status;
    c->idem.answer = c->reply.pieces[0];
    if (!keep_answer(c->catalog, by, &err)) {
        c->err = err;
        return err_as(&c->err, ERR_UNAVAILABLE);
    }
    return !c->idem.kept && look_again(c, by);
}

/* It changed nothing, and would have to be true once more next time. If it cannot be kept, the next
 * time decides. */
static void keep_success(struct call *c, const struct caller *by)
{
    struct err ignored;
    if (!c->idem.kept && !keep_answer(c->catalog, by, &ignored))
        err_clear(&ignored);
}

bool repeat_run(struct call *c)
{
    struct sql_answer *kept;
    c->idem = (struct sql_idem){
        .key = call_header(c, HEADER_IDEMPOTENCY_KEY),
        .digest = call_digest(c),
        .lifetime_ms = c->server->conf->idempotency_lifetime / 1000,
        .status = c->op->success,
    };
    struct caller by = call_caller(c);
    TRY(keep_find(c->arena, c->catalog, &by, &kept, &c->err));
    if (kept)
        return replay(c, kept);
    if (op_handlers[c->op->id](c)) {
        keep_success(c, &by);
        return true;
    }
    if (is_final(err_status(c->err.kind)))
        return keep_refusal(c, &by);
    if (c->err.kind == ERR_REPEATED || err_status(c->err.kind) < 500)
        return look_again(c, &by);
    return false;
}
