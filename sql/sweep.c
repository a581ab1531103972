/* Who names a file, what became of its change, and rounds of background work. */
#include "sql_sweep.h"

#include <assert.h>

#include "clock.h"
#include "sql_priv.h"

enum { TAIL = 48 };

/* --- pointers --- */

/* As the statement makes it. What is not ASCII is cut elsewhere there: it never fits. */
static struct str tail_of(struct arena *a, struct str uri)
{
    struct str padded = arena_printf(a, "%*s%.*s", TAIL, "", STR_ARG(uri));

    return str_sub(padded, padded.n - TAIL, padded.n);
}

static bool is_ascii(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

bool sql_pointed_at(struct sql *s, const struct str *uris, size_t n, bool *named, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str tails[SQL_BATCH];
    struct param p[SQL_BATCH];
    struct rows rows;

    assert(n <= SQL_BATCH);
    for (size_t i = 0; i < SQL_BATCH; i++) {
        tails[i] = i < n ? tail_of(a, uris[i]) : STR("");
        p[i] = text_param(tails[i]);
    }
    TRY(sql__read(a, s, STMT_OBJECT_TAILS, p, &rows, err));
    for (size_t i = 0; i < n; i++) {
        named[i] = !is_ascii(tails[i]);
        for (size_t k = 0; k < rows.n && !named[i]; k++)
            named[i] = str_eq(tails[i], rows_str(&rows, k, OBJECT_TAILS_TAIL));
    }
    return true;
}

/* --- tokens --- */

bool sql_tokens_find(
    struct sql *s, int64_t warehouse, struct sql_token *tokens, size_t n, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct param p[1 + SQL_BATCH] = {number_param(warehouse)};
    struct rows rows;

    assert(n <= SQL_BATCH);
    for (size_t i = 0; i < SQL_BATCH; i++)
        p[1 + i] = text_param(i < n ? tokens[i].token : STR(""));
    TRY(sql__read(a, s, STMT_CHANGE_KINDS, p, &rows, err));
    for (size_t i = 0; i < n; i++) {
        tokens[i].fate = SQL_FATE_UNKNOWN;
        for (size_t k = 0; k < rows.n; k++) {
            if (!str_eq(tokens[i].token, rows_str(&rows, k, CHANGE_KINDS_TOKEN)))
                continue;
            tokens[i].fate = change_was_forgone(rows_str(&rows, k, CHANGE_KINDS_KIND))
                                 ? SQL_FATE_FORGONE
                                 : SQL_FATE_MADE;
            tokens[i].age_ms = rows_i64(&rows, k, CHANGE_KINDS_AGE);
            tokens[i].object = rows_i64(&rows, k, CHANGE_KINDS_OBJECT);
        }
    }
    return true;
}

bool sql_change_oldest(struct sql *s, int64_t warehouse, int64_t *at_ms, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {number_param(warehouse)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_CHANGE_OLDEST, p, &rows, err));
    bool any = rows.n > 0 && rows_str(&rows, 0, CHANGE_OLDEST_AT).p;
    *at_ms = any ? rows_i64(&rows, 0, CHANGE_OLDEST_AT) : INT64_MAX;
    return true;
}

/* Sent twice it finds its own row, and the caller takes the change for made: it looks again in the
 * next round. */
bool sql_change_forgo(struct sql *s, int64_t warehouse, struct str token, int64_t object,
    bool *forgone, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(token), number_param(object)};
    size_t n;

    TRY(sql__change(s, STMT_CHANGE_FORGO, p, &n, err));
    *forgone = n == 1;
    return true;
}

/* --- what there is --- */

/* NOLINTNEXTLINE(readability-function-size): a page */
bool sql_object_after(struct arena *a, struct sql *s, int64_t warehouse, int64_t after,
    size_t limit, struct sql_object **out, size_t *n, struct err *err)
{
    const struct param p[] = {
        number_param(warehouse), number_param(after), number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_OBJECT_AFTER, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_object, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_object){
            .id = rows_i64(&rows, i, OBJECT_AFTER_ID),
            .location = rows_str(&rows, i, OBJECT_AFTER_LOCATION),
            .metadata_location = rows_str(&rows, i, OBJECT_AFTER_METADATA_LOCATION),
        };
    return true;
}

bool sql_object_origin(struct arena *a, struct sql *s, int64_t warehouse, int64_t object,
    struct str *metadata_location, bool *registered, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param(object)};
    struct rows rows;

    *metadata_location = (struct str){NULL, 0};
    *registered = false;
    TRY(sql__read(a, s, STMT_OBJECT_ORIGIN, p, &rows, err));
    if (rows.n > 0) {
        *metadata_location = rows_str(&rows, 0, OBJECT_ORIGIN_METADATA_LOCATION);
        *registered = rows_i64(&rows, 0, OBJECT_ORIGIN_REPLACED) > 0;
    }
    return true;
}

bool sql_uuid_taken(struct sql *s, int64_t warehouse, struct str uuid, bool *taken, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct param p[] = {number_param(warehouse), text_param(uuid)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_OBJECT_OF_UUID, p, &rows, err));
    *taken = rows.n > 0;
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a page */
bool sql_ns_after(struct arena *a, struct sql *s, int64_t warehouse, struct str after, size_t limit,
    struct sql_ns **out, size_t *n, struct err *err)
{
    const struct param p[] = {
        number_param(warehouse), text_param(after), number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_NS_AFTER, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_ns, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_ns){
            .path = rows_str(&rows, i, NS_AFTER_PATH),
            .properties = rows_str(&rows, i, NS_AFTER_PROPERTIES),
        };
    return true;
}

/* --- rounds --- */

bool sql_job_get(struct arena *a, struct sql *s, int64_t warehouse, struct str name,
    struct sql_job *out, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_JOB_GET, p, &rows, err));
    *out = (struct sql_job){.planned = rows.n > 0};
    if (rows.n > 0) {
        out->due_ms = rows_i64(&rows, 0, JOB_GET_DUE);
        out->position = rows_str(&rows, 0, JOB_GET_POSITION);
        out->now_ms = rows_i64(&rows, 0, JOB_GET_NOW);
    }
    return true;
}

bool sql_job_plan(struct sql *s, int64_t warehouse, struct str name, int64_t in_ms,
    struct str position, struct err *err)
{
    const struct param p[] = {
        number_param(warehouse), text_param(name), number_param(in_ms), text_param(position)};

    return sql__change(s, STMT_JOB_PLAN, p, NULL, err);
}

bool sql_job_note(
    struct sql *s, int64_t warehouse, struct str name, struct str position, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(name), text_param(position)};

    return sql__change(s, STMT_JOB_NOTE, p, NULL, err);
}
