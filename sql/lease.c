/* Who may do a background job until when. */
#include "sql_priv.h"

#include "clock.h"

bool sql_lease_take(struct sql *s, int64_t warehouse, struct str name, struct str holder,
    int64_t for_ms, bool *taken, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {
        number_param(warehouse), text_param(name), text_param(holder), number_param(for_ms)};
    const struct request r = {
        .stmt = STMT_LEASE_TAKE, .params = p, .deadline_us = clock_mono_us() + SQL_WRITE_US};
    struct rows rows;

    TRY(sql__once(a, s, DB_WRITE, &r, &rows, err));
    *taken = rows.n == 1;
    return true;
}

bool sql_lease_give(
    struct sql *s, int64_t warehouse, struct str name, struct str holder, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {number_param(warehouse), text_param(name), text_param(holder)};
    const struct request r = {
        .stmt = STMT_LEASE_GIVE, .params = p, .deadline_us = clock_mono_us() + SQL_WRITE_US};
    struct rows rows;

    return sql__once(a, s, DB_WRITE, &r, &rows, err);
}
