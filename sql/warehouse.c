#include "sql_priv.h"

#include "clock.h"
#include "sql_warehouse.h"
#include "uuid.h"

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

bool sql_warehouse_find(
    struct arena *a, struct sql *s, struct str named, struct sql_warehouse **out, struct err *err)
{
    /* Uuids are kept in lower case. */
    const struct param p[] = {text_param(named), text_param(str_lower(a, named))};
    struct rows rows;

    *out = NULL;
    TRY(sql__read(a, s, STMT_WAREHOUSE_FIND, p, &rows, err));
    if (rows.n == 0)
        return true;
    *out = ARENA_NEW(a, struct sql_warehouse);
    **out = row_of(&rows, 0);
    return true;
}

bool sql_warehouse_get(
    struct arena *a, struct sql *s, struct str name, struct sql_warehouse **out, struct err *err)
{
    TRY(sql_warehouse_find(a, s, name, out, err));
    if (*out && !str_eq((*out)->name, name))
        *out = NULL;
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

/* --- rows whose base is new --- */

enum { PAGE = 100 };

struct placing {
    const struct sql_warehouse *w;
    sql_beside_fn *beside; /* NULL: the base is not looked at */
    enum stmt stmt;
    const struct param *params;
    size_t written;     /* rows */
    struct err refused; /* why the row cannot be so */
};

/* The reason stands whatever becomes of the rollback: the lock was held when it was found. */
static bool refuse(struct unit *u, struct placing *p, struct err *err)
{
    p->refused = *err;
    err_clear(err);
    u->end = UNIT_ABANDON;
    return true;
}

static bool page_fits(
    struct unit *u, struct placing *p, struct str *after, size_t *n, struct err *err)
{
    const struct param params[] = {text_param(*after), number_param(PAGE)};
    struct rows rows;

    TRY(unit_exec(u, STMT_WAREHOUSE_PAGE, params, &rows, err));
    *n = rows.n;
    for (size_t i = 0; i < rows.n && u->end == UNIT_COMMIT; i++) {
        struct sql_warehouse other = row_of(&rows, i);
        *after = other.name;
        if (other.id != p->w->id && !p->beside(p->w, &other, err))
            TRY(refuse(u, p, err));
    }
    return true;
}

static bool place_in(struct unit *u, void *work, struct err *err)
{
    struct placing *p = work;
    struct str after = STR("");
    struct rows rows;
    size_t n = PAGE;

    p->refused = (struct err){.kind = ERR_NONE};
    TRY(unit_exec(u, STMT_WAREHOUSE_LOCK, NULL, &rows, err));
    while (p->beside && n == PAGE && u->end == UNIT_COMMIT)
        TRY(page_fits(u, p, &after, &n, err));
    if (u->end != UNIT_COMMIT)
        return true;
    if (!unit_exec(u, p->stmt, p->params, &rows, err))
        return err->kind == ERR_DB_UNIQUE && refuse(u, p, err);
    p->written = rows.n;
    return true;
}

/* The statement may be carried out twice: the commit of an attempt may have been lost. */
static bool place_row(struct sql *s, struct placing *p, struct err *err)
{
    const struct sql_change by = {.deadline_us = 0};
    struct unit u = {.s = s, .by = &by, .effect = EFFECT_WRITE};

    TRY(sql__unit(&u, place_in, p, err));
    if (p->refused.kind == ERR_NONE)
        return true;
    *err = p->refused;
    return false;
}

/* Another process may have made it meanwhile, with a profile. */
static bool ensured(
    const struct sql_warehouse *w, struct str name, struct sql_warehouse *out, struct err *err)
{
    if (!w || w->profile.n > 0)
        return err_set(err, ERR_BAD_REQUEST,
            "The default warehouse cannot be called %.*s: another warehouse has this name",
            STR_ARG(name));
    *out = *w;
    return true;
}

bool sql_warehouse_ensure(struct arena *a, struct sql *s, struct str name, struct str base,
    sql_beside_fn *beside, struct sql_warehouse *out, struct err *err)
{
    struct sql_warehouse *w;
    char uuid[UUID_TEXT + 1];

    TRY(sql_warehouse_get(a, s, name, &w, err));
    if (w && (w->profile.n > 0 || str_eq(w->base, base)))
        return ensured(w, name, out, err);
    uuid_v4(uuid);
    const struct sql_warehouse fresh = {.id = w ? w->id : uuid_row_id(),
        .name = name,
        .uuid = str_from(uuid),
        .base = base,
        .profile = STR("")};
    const struct param p[] = {number_param(fresh.id), text_param(fresh.name),
        text_param(fresh.uuid), text_param(fresh.base)};
    struct placing placing = {
        .w = &fresh, .beside = beside, .stmt = STMT_WAREHOUSE_ENSURE, .params = p};
    TRY(place_row(s, &placing, err));
    TRY(sql_warehouse_get(a, s, name, &w, err));
    return ensured(w, name, out, err);
}

bool sql_warehouse_insert(
    struct sql *s, const struct sql_warehouse *w, sql_beside_fn *beside, struct err *err)
{
    const struct param p[] = {number_param(w->id), text_param(w->name), text_param(w->uuid),
        text_param(w->base), text_param(w->profile), number_param(w->active),
        number_param(w->version)};
    struct placing placing = {.w = w, .beside = beside, .stmt = STMT_WAREHOUSE_INSERT, .params = p};

    return place_row(s, &placing, err);
}

int64_t sql_warehouse_version(void)
{
    return uuid_row_id() >> 10;
}

bool sql_warehouse_set(
    struct sql *s, struct sql_warehouse *w, sql_beside_fn *beside, bool *swapped, struct err *err)
{
    int64_t version = sql_warehouse_version();
    const struct param p[] = {number_param(w->id), number_param(w->version), number_param(version),
        text_param(w->name), text_param(w->base), text_param(w->profile), number_param(w->active)};
    struct placing placing = {.w = w, .beside = beside, .stmt = STMT_WAREHOUSE_SET, .params = p};

    TRY(place_row(s, &placing, err));
    *swapped = placing.written == 1;
    if (*swapped)
        w->version = version;
    return true;
}

/* What lies under a warehouse that is gone is nobody's: a crash in between only leaves rows. */
static bool forget(struct sql *s, int64_t id, struct err *err)
{
    static const enum stmt all[] = {STMT_WAREHOUSE_FORGET_CHANGES, STMT_WAREHOUSE_FORGET_KEYS,
        STMT_WAREHOUSE_FORGET_LEASES, STMT_WAREHOUSE_FORGET_JOBS, STMT_WAREHOUSE_FORGET_SECRETS};
    const struct param p[] = {number_param(id)};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        TRY(sql__change(s, all[i], p, NULL, err));
    return true;
}

bool sql_warehouse_delete(struct sql *s, int64_t id, bool *deleted,
    struct sql_warehouse_content *content, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {number_param(id)};
    struct rows rows;
    size_t n;

    *content = (struct sql_warehouse_content){0, 0};
    *deleted = sql__change(s, STMT_WAREHOUSE_DELETE, p, &n, err) && n == 1;
    if (*deleted)
        return forget(s, id, err);
    if (err->kind && err->kind != ERR_DB_REFERENCE)
        return false;
    err_clear(err);
    TRY(sql__read(a, s, STMT_WAREHOUSE_OBJECTS, p, &rows, err));
    content->namespaces = rows_i64(&rows, 0, WAREHOUSE_OBJECTS_NAMESPACES);
    content->marks = rows_i64(&rows, 0, WAREHOUSE_OBJECTS_MARKS);
    return true;
}
