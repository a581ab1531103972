/* Marks of purges, and who else lies where they lay. */
#include "sql_purge.h"

#include "buf.h"
#include "clock.h"
#include "sql_priv.h"

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_mark_page(struct arena *a, struct sql *s, int64_t warehouse, const struct sql_mark *after,
    size_t limit, struct sql_mark **out, size_t *n, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param(after ? after->at_ms : -1),
        number_param(after ? after->id : 0), number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_MARK_PAGE, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_mark, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_mark){
            .id = rows_i64(&rows, i, MARK_PAGE_ID),
            .location = rows_str(&rows, i, MARK_PAGE_LOCATION),
            .metadata_location = rows_str(&rows, i, MARK_PAGE_METADATA_LOCATION),
            .at_ms = rows_i64(&rows, i, MARK_PAGE_AT),
        };
    return true;
}

bool sql_mark_delete(struct sql *s, int64_t warehouse, int64_t id, struct err *err)
{
    const struct param p[] = {number_param(warehouse), number_param(id)};

    return sql__change(s, STMT_MARK_DELETE, p, NULL, err);
}

bool sql_place_live(struct arena *a, struct sql *s, const struct sql_place *place, struct str *path,
    struct err *err)
{
    struct span span = place_span(a, place->path);
    const struct param p[] = {text_param(place->authority), text_param(span.at),
        text_param(span.low), text_param(span.high)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_LOCATION_LIVE, p, &rows, err));
    *path = rows.n > 0 ? rows_str(&rows, 0, LOCATION_LIVE_PATH) : (struct str){NULL, 0};
    return true;
}

/* The path's folders in their order, with anything before and between them, since some stores take
 * several slashes for one. */
static struct str pattern(struct arena *a, struct str path)
{
    struct buf b;
    struct str rest = path;

    buf_init(&b, SIZE_MAX);
    while (rest.p) {
        struct str folder = str_cut(&rest, '/');
        if (folder.n == 0)
            continue;
        buf_puts(&b, "%/");
        for (size_t i = 0; i < folder.n; i++) {
            if (folder.p[i] == '%' || folder.p[i] == '_' || folder.p[i] == '\\')
                buf_putc(&b, '\\');
            buf_putc(&b, folder.p[i]);
        }
    }
    buf_puts(&b, "/%");
    return buf_take(&b, a);
}

/* NOLINTNEXTLINE(readability-function-size): a page */
bool sql_object_beneath(struct arena *a, struct sql *s, struct str path,
    const struct sql_rival *after, size_t limit, struct sql_rival **out, size_t *n, struct err *err)
{
    const struct param p[] = {text_param(pattern(a, path)),
        number_param(after ? after->warehouse : INT64_MIN), number_param(after ? after->id : 0),
        number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_OBJECT_BENEATH, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_rival, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_rival){
            .warehouse = rows_i64(&rows, i, OBJECT_BENEATH_WAREHOUSE),
            .id = rows_i64(&rows, i, OBJECT_BENEATH_ID),
            .metadata_location = rows_str(&rows, i, OBJECT_BENEATH_METADATA_LOCATION),
        };
    return true;
}
