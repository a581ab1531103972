/* Who may do a background job, or delete a file, until when. */
#include "sql_priv.h"

bool sql_lease_take(struct sql *s, int64_t warehouse, struct str name, struct str holder,
    int64_t for_ms, bool *taken, struct err *err)
{
    const struct param p[] = {
        number_param(warehouse), text_param(name), text_param(holder), number_param(for_ms)};
    size_t n;

    TRY(sql__change(s, STMT_LEASE_TAKE, p, &n, err));
    *taken = n == 1;
    return true;
}

bool sql_lease_give(
    struct sql *s, int64_t warehouse, struct str name, struct str holder, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name), text_param(holder)};

    return sql__change(s, STMT_LEASE_GIVE, p, NULL, err);
}

struct taking {
    const struct str *names;
    size_t n;
    struct str holder;
    int64_t for_ms;
};

bool unit_lease(struct unit *u, struct str name, struct str holder, int64_t for_ms, bool *taken,
    struct err *err)
{
    const struct param p[] = {
        number_param(u->warehouse), text_param(name), text_param(holder), number_param(for_ms)};
    struct rows rows;

    TRY(unit_exec(u, STMT_LEASE_TAKE, p, &rows, err));
    *taken = rows.n == 1;
    return true;
}

static bool take_all(struct unit *u, void *work, struct err *err)
{
    const struct taking *w = work;
    bool taken;

    for (size_t i = 0; i < w->n; i++) {
        TRY(unit_lease(u, w->names[i], w->holder, w->for_ms, &taken, err));
        if (!taken)
            return err_set(err, ERR_DB_RETRY, "Somebody else has a lease");
    }
    return true;
}

bool sql_lease_take_all(struct sql *s, int64_t warehouse, const struct str *names, size_t n,
    struct str holder, int64_t for_ms, struct err *err)
{
    struct taking w = {names, n, holder, for_ms};
    const struct sql_change by = {.deadline_us = 0};
    struct unit u = {.s = s, .by = &by, .warehouse = warehouse};

    return sql__unit(&u, take_all, &w, err);
}

bool sql_lease_prune(struct sql *s, int64_t warehouse, size_t limit, size_t *n, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param((int64_t)limit)};

    return sql__change(s, STMT_LEASE_PRUNE, p, n, err);
}
