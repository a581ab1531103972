/* Who may do a background job until when. */
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
