#include "sql_secret.h"

#include "clock.h"
#include "sql_priv.h"

bool sql_secret_get(struct arena *a, struct sql *s, int64_t warehouse, struct str name,
    struct str *sealed, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_SECRET_GET, p, &rows, err));
    *sealed = rows.n > 0 ? rows_str(&rows, 0, SECRET_GET_SEALED) : (struct str){NULL, 0};
    return true;
}

bool sql_secret_put(
    struct sql *s, int64_t warehouse, struct str name, struct str sealed, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name), text_param(sealed)};

    return sql__change(s, STMT_SECRET_PUT, p, NULL, err);
}

bool sql_secret_swap(
    struct sql *s, const struct sql_secret *was, struct str sealed, bool *swapped, struct err *err)
{
    const struct param p[] = {number_param(was->warehouse), text_param(was->name),
        text_param(was->sealed), text_param(sealed)};
    size_t n;

    TRY(sql__change(s, STMT_SECRET_SWAP, p, &n, err));
    *swapped = n == 1;
    return true;
}

bool sql_secret_delete(
    struct sql *s, int64_t warehouse, struct str name, bool *deleted, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name)};
    size_t n;

    TRY(sql__change(s, STMT_SECRET_DELETE, p, &n, err));
    *deleted = n == 1;
    return true;
}

bool sql_secret_page(struct arena *a, struct sql *s, const struct sql_secret *after, size_t limit,
    struct sql_secret **out, size_t *n, struct err *err)
{
    const struct param p[] = {number_param(after ? after->warehouse : INT64_MIN),
        text_param(after ? after->name : STR("")), number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_SECRET_PAGE, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_secret, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_secret){
            .warehouse = rows_i64(&rows, i, SECRET_PAGE_WAREHOUSE),
            .warehouse_name = rows_str(&rows, i, SECRET_PAGE_WAREHOUSE_NAME),
            .name = rows_str(&rows, i, SECRET_PAGE_NAME),
            .sealed = rows_str(&rows, i, SECRET_PAGE_SEALED),
        };
    return true;
}
