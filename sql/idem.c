/* Answers to requests that carried a key. */
#include "sql_priv.h"

#include "clock.h"

static struct str scope(struct str principal)
{
    return principal.p ? principal : STR("");
}

bool sql_idem_get(struct arena *a, struct sql *s, int64_t warehouse, struct str principal,
    struct str key, struct sql_answer **out, struct err *err)
{
    const struct param p[] = {
        number_param(warehouse), text_param(scope(principal)), text_param(key)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_IDEM_GET, p, &rows, err));
    *out = NULL;
    if (rows.n == 0)
        return true;
    *out = ARENA_NEW(a, struct sql_answer);
    (*out)->digest = rows_str(&rows, 0, IDEM_GET_DIGEST);
    (*out)->object = rows_i64(&rows, 0, IDEM_GET_OBJECT);
    (*out)->status = (int)rows_i64(&rows, 0, IDEM_GET_STATUS);
    (*out)->answer = rows_str(&rows, 0, IDEM_GET_ANSWER);
    return true;
}

struct str idem_answer(const struct sql_idem *k, struct str metadata_location)
{
    const struct str none = {NULL, 0};

    return k->answer.p ? k->answer : k->status == 200 ? metadata_location : none;
}

struct put {
    struct param p[8];
};

static struct put put_of(
    int64_t warehouse, const struct sql_change *by, int64_t object, struct str metadata_location)
{
    const struct sql_idem *k = by->idem;
    const struct str none = {NULL, 0};

    return (struct put){
        {number_param(warehouse), text_param(scope(by->principal)), text_param(k->key),
         text_param(k->digest), object ? number_param(object) : text_param(none),
         number_param(k->status), text_param(idem_answer(k, metadata_location)),
         number_param(k->lifetime_ms)}
    };
}

bool idem_keep(
    struct unit *u, int64_t object, struct str metadata_location, bool *kept, struct err *err)
{
    const struct put put = put_of(u->warehouse, u->by, object, metadata_location);
    struct rows rows;

    TRY(unit_exec(u, STMT_IDEM_PUT, put.p, &rows, err));
    *kept = rows.n == 1;
    return true;
}

bool sql_idem_put(
    struct sql *s, int64_t warehouse, int64_t object, const struct sql_change *by, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct put put = put_of(warehouse, by, object, (struct str){NULL, 0});
    int64_t until = clock_mono_us() + SQL_WRITE_US;
    const struct request r = {.stmt = STMT_IDEM_PUT,
        .params = put.p,
        .deadline_us = by->deadline_us > 0 && by->deadline_us < until ? by->deadline_us : until};
    struct rows rows;

    /* Sent twice it finds its own row, which is as good as another's. */
    TRY(sql__once(a, s, DB_WRITE, &r, &rows, err));
    by->idem->kept = rows.n == 1;
    return true;
}

/* --- upkeep --- */

bool sql_idem_prune(struct sql *s, int64_t warehouse, size_t limit, size_t *n, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param((int64_t)limit)};

    return sql__change(s, STMT_IDEM_PRUNE, p, n, err);
}

bool sql_change_prune(
    struct sql *s, int64_t warehouse, int64_t keep_ms, size_t limit, size_t *n, struct err *err)
{
    const struct param p[] = {
        number_param(warehouse), number_param(keep_ms), number_param((int64_t)limit)};

    return sql__change(s, STMT_CHANGE_PRUNE, p, n, err);
}
