#include "sql_secret.h"

#include "clock.h"
#include "sql_priv.h"

static bool change(
    struct sql *s, enum stmt stmt, const struct param *p, bool *changed, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct request r = {
        .stmt = stmt, .params = p, .deadline_us = clock_mono_us() + SQL_WRITE_US};
    struct rows rows;

    TRY(sql__once(a, s, DB_WRITE, &r, &rows, err));
    *changed = rows.n == 1;
    return true;
}

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
    bool ignored;

    return change(s, STMT_SECRET_PUT, p, &ignored, err);
}

bool sql_secret_swap(
    struct sql *s, const struct sql_secret *was, struct str sealed, bool *swapped, struct err *err)
{
    const struct param p[] = {number_param(was->warehouse), text_param(was->name),
        text_param(was->sealed), text_param(sealed)};

    return change(s, STMT_SECRET_SWAP, p, swapped, err);
}

bool sql_secret_delete(
    struct sql *s, int64_t warehouse, struct str name, bool *deleted, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name)};

    return change(s, STMT_SECRET_DELETE, p, deleted, err);
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
