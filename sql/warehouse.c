#include "sql_priv.h"

#include "clock.h"
#include "uuid.h"

bool sql_warehouse_ensure(struct arena *a, struct sql *s, struct str name, struct str base,
    struct sql_warehouse *out, struct err *err)
{
    char uuid[UUID_TEXT + 1];
    struct rows rows;

    uuid_v4(uuid);
    const struct param p[] = {number_param(uuid_row_id()), text_param(name),
        text_param(str_from(uuid)), text_param(base)};
    const struct request r = {
        .stmt = STMT_WAREHOUSE_ENSURE, .params = p, .deadline_us = clock_mono_us() + SQL_WRITE_US};

    TRY(sql__once(a, s, DB_WRITE, &r, &rows, err));
    *out = (struct sql_warehouse){
        .id = rows_i64(&rows, 0, WAREHOUSE_ENSURE_ID),
        .name = rows_str(&rows, 0, WAREHOUSE_ENSURE_NAME),
        .uuid = rows_str(&rows, 0, WAREHOUSE_ENSURE_UUID),
        .base = rows_str(&rows, 0, WAREHOUSE_ENSURE_BASE),
    };
    return true;
}

bool sql_warehouse_get(
    struct arena *a, struct sql *s, struct str name, struct sql_warehouse **out, struct err *err)
{
    const struct param p[] = {text_param(name)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_WAREHOUSE_GET, p, &rows, err));
    *out = NULL;
    if (rows.n == 0)
        return true;
    *out = ARENA_NEW(a, struct sql_warehouse);
    (*out)->id = rows_i64(&rows, 0, WAREHOUSE_GET_ID);
    (*out)->name = rows_str(&rows, 0, WAREHOUSE_GET_NAME);
    (*out)->uuid = rows_str(&rows, 0, WAREHOUSE_GET_UUID);
    (*out)->base = rows_str(&rows, 0, WAREHOUSE_GET_BASE);
    return true;
}
