#include "sql_priv.h"

#include "clock.h"
#include "sql_warehouse.h"
#include "uuid.h"

static bool write_once(struct arena *a, struct sql *s, enum stmt stmt, const struct param *p,
    struct rows *rows, struct err *err)
{
    const struct request r = {
        .stmt = stmt, .params = p, .deadline_us = clock_mono_us() + SQL_WRITE_US};

    return sql__once(a, s, DB_WRITE, &r, rows, err);
}

bool sql_warehouse_ensure(struct arena *a, struct sql *s, struct str name, struct str base,
    struct sql_warehouse *out, struct err *err)
{
    char uuid[UUID_TEXT + 1];
    struct rows rows;

    uuid_v4(uuid);
    const struct param p[] = {number_param(uuid_row_id()), text_param(name),
        text_param(str_from(uuid)), text_param(base)};

    TRY(write_once(a, s, STMT_WAREHOUSE_ENSURE, p, &rows, err));
    if (rows.n == 0)
        return err_set(err, ERR_BAD_REQUEST,
            "The default warehouse cannot be called %.*s: another warehouse has this name",
            STR_ARG(name));
    *out = (struct sql_warehouse){
        .id = rows_i64(&rows, 0, WAREHOUSE_ENSURE_ID),
        .name = rows_str(&rows, 0, WAREHOUSE_ENSURE_NAME),
        .uuid = rows_str(&rows, 0, WAREHOUSE_ENSURE_UUID),
        .base = rows_str(&rows, 0, WAREHOUSE_ENSURE_BASE),
        .profile = STR(""),
        .active = true,
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

/* Both reads have the same columns. */
static struct sql_warehouse row_of(const struct rows *rows, size_t row)
{
    return (struct sql_warehouse){
        .id = rows_i64(rows, row, WAREHOUSE_FIND_ID),
        .name = rows_str(rows, row, WAREHOUSE_FIND_NAME),
        .uuid = rows_str(rows, row, WAREHOUSE_FIND_UUID),
        .base = rows_str(rows, row, WAREHOUSE_FIND_BASE),
        .profile = rows_str(rows, row, WAREHOUSE_FIND_PROFILE),
        .active = rows_i64(rows, row, WAREHOUSE_FIND_ACTIVE) != 0,
        .version = rows_i64(rows, row, WAREHOUSE_FIND_VERSION),
    };
}

/* uuids are kept in lower case. */
static struct str lower(struct arena *a, struct str s)
{
    char *copy = arena_alloc(a, s.n + 1);

    for (size_t i = 0; i < s.n; i++)
        copy[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + ('a' - 'A') : s.p[i]);
    return (struct str){copy, s.n};
}

bool sql_warehouse_find(
    struct arena *a, struct sql *s, struct str named, struct sql_warehouse **out, struct err *err)
{
    const struct param p[] = {text_param(named), text_param(lower(a, named))};
    struct rows rows;

    *out = NULL;
    TRY(sql__read(a, s, STMT_WAREHOUSE_FIND, p, &rows, err));
    if (rows.n == 0)
        return true;
    *out = ARENA_NEW(a, struct sql_warehouse);
    **out = row_of(&rows, 0);
    return true;
}

bool sql_warehouse_page(struct arena *a, struct sql *s, struct str after, size_t limit,
    struct sql_warehouse **out, size_t *n, struct err *err)
{
    const struct param p[] = {text_param(after.p ? after : STR("")), number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_WAREHOUSE_PAGE, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_warehouse, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = row_of(&rows, i);
    return true;
}

bool sql_warehouse_insert(struct sql *s, const struct sql_warehouse *w, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {number_param(w->id), text_param(w->name), text_param(w->uuid),
        text_param(w->base), text_param(w->profile), number_param(w->version)};
    struct rows rows;

    return write_once(a, s, STMT_WAREHOUSE_INSERT, p, &rows, err);
}

int64_t sql_warehouse_version(void)
{
    return uuid_row_id() >> 10;
}

bool sql_warehouse_set(struct sql *s, struct sql_warehouse *w, bool *swapped, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    int64_t version = sql_warehouse_version();
    const struct param p[] = {number_param(w->id), number_param(w->version), number_param(version),
        text_param(w->name), text_param(w->base), text_param(w->profile), number_param(w->active)};
    struct rows rows;

    TRY(write_once(a, s, STMT_WAREHOUSE_SET, p, &rows, err));
    *swapped = rows.n == 1;
    if (*swapped)
        w->version = version;
    return true;
}

/* What lies under a warehouse that is gone is nobody's: a crash in between only leaves rows. */
static bool forget(struct arena *a, struct sql *s, int64_t id, struct err *err)
{
    static const enum stmt all[] = {STMT_WAREHOUSE_FORGET_CHANGES, STMT_WAREHOUSE_FORGET_KEYS,
        STMT_WAREHOUSE_FORGET_LEASES, STMT_WAREHOUSE_FORGET_JOBS, STMT_WAREHOUSE_FORGET_SECRETS};
    const struct param p[] = {number_param(id)};
    struct rows rows;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        TRY(write_once(a, s, all[i], p, &rows, err));
    return true;
}

bool sql_warehouse_delete(struct sql *s, int64_t id, bool *deleted,
    struct sql_warehouse_content *content, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {number_param(id)};
    struct rows rows;

    *content = (struct sql_warehouse_content){0, 0};
    *deleted = write_once(a, s, STMT_WAREHOUSE_DELETE, p, &rows, err) && rows.n == 1;
    if (*deleted)
        return forget(a, s, id, err);
    if (err->kind && err->kind != ERR_DB_REFERENCE)
        return false;
    err_clear(err);
    TRY(sql__read(a, s, STMT_WAREHOUSE_OBJECTS, p, &rows, err));
    content->namespaces = rows_i64(&rows, 0, WAREHOUSE_OBJECTS_NAMESPACES);
    content->marks = rows_i64(&rows, 0, WAREHOUSE_OBJECTS_MARKS);
    return true;
}
