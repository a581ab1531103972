/* What tables name outside their own locations, and how far that is known. */
#include "sql_survey.h"

#include "clock.h"
#include "sql_priv.h"

/* A table that goes meanwhile takes its rows along. */
static bool write_row(struct sql *s, enum stmt stmt, const struct param *params, struct err *err)
{
    if (sql__change(s, stmt, params, NULL, err))
        return true;
    if (err->kind != ERR_DB_REFERENCE)
        return false;
    err_clear(err);
    return true;
}

static struct sql_survey survey_row(const struct rows *rows, size_t i)
{
    return (struct sql_survey){
        .table =
            {
                    .warehouse = rows_i64(rows, i, SURVEY_PAGE_WAREHOUSE),
                    .warehouse_uuid = rows_str(rows, i, SURVEY_PAGE_UUID),
                    .warehouse_base = rows_str(rows, i, SURVEY_PAGE_BASE),
                    .id = rows_i64(rows, i, SURVEY_PAGE_ID),
                    .location = rows_str(rows, i, SURVEY_PAGE_LOCATION),
                    .metadata_location = rows_str(rows, i, SURVEY_PAGE_METADATA_LOCATION),
                    .replaced = rows_i64(rows, i, SURVEY_PAGE_REPLACED),
                    },
        .known = rows_str(rows, i, SURVEY_PAGE_MARK_REPLACED).p != NULL,
        .replaced = rows_i64(rows, i, SURVEY_PAGE_MARK_REPLACED),
        .location = rows_str(rows, i, SURVEY_PAGE_MARK_LOCATION),
        .sequence_number = rows_i64(rows, i, SURVEY_PAGE_SEQUENCE_NUMBER),
        .snapshots = rows_str(rows, i, SURVEY_PAGE_SNAPSHOTS),
    };
}

bool sql_survey_page(struct arena *a, struct sql *s, const struct sql_surveyed *after, size_t limit,
    struct sql_survey **out, size_t *n, struct err *err)
{
    const struct param p[] = {number_param(after ? after->warehouse : INT64_MIN),
        number_param(after ? after->id : 0), number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_SURVEY_PAGE, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_survey, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = survey_row(&rows, i);
    return true;
}

bool sql_survey_put(struct sql *s, const struct sql_surveyed *table, int64_t sequence_number,
    struct str snapshots, struct err *err)
{
    const struct param p[] = {number_param(table->warehouse), number_param(table->id),
        number_param(table->replaced), text_param(table->location),
        text_param(table->metadata_location), number_param(sequence_number), text_param(snapshots)};

    return write_row(s, STMT_SURVEY_PUT, p, err);
}

bool sql_foreign_list(struct arena *a, struct sql *s, const struct sql_surveyed *table,
    struct sql_folder **out, size_t *n, struct err *err)
{
    const struct param p[] = {number_param(table->warehouse), number_param(table->id)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_FOREIGN_LIST, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_folder, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_folder){
            .authority = rows_str(&rows, i, FOREIGN_LIST_AUTHORITY),
            .path = rows_str(&rows, i, FOREIGN_LIST_PATH),
        };
    return true;
}

bool sql_foreign_add(struct sql *s, const struct sql_surveyed *table,
    const struct sql_folder *folder, struct err *err)
{
    const struct param p[] = {number_param(table->warehouse), number_param(table->id),
        text_param(folder->authority), text_param(folder->path)};

    return write_row(s, STMT_FOREIGN_ADD, p, err);
}

bool sql_foreign_remove(struct sql *s, const struct sql_surveyed *table,
    const struct sql_folder *folder, struct err *err)
{
    const struct param p[] = {number_param(table->warehouse), number_param(table->id),
        text_param(folder->authority), text_param(folder->path)};

    return write_row(s, STMT_FOREIGN_REMOVE, p, err);
}

/* NOLINTNEXTLINE(readability-function-size): a page */
bool sql_foreign_near(struct arena *a, struct sql *s, const struct sql_place *place,
    const struct sql_surveyed *after, size_t limit, struct sql_surveyed **out, size_t *n,
    struct err *err)
{
    struct span span = place_span(a, place->path);
    const struct param p[] = {text_param(place->authority), text_param(span.at),
        text_param(span.low), text_param(span.high),
        number_param(after ? after->warehouse : INT64_MIN), number_param(after ? after->id : 0),
        number_param((int64_t)limit)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_FOREIGN_NEAR, p, &rows, err));
    *n = rows.n;
    *out = ARENA_ARRAY(a, struct sql_surveyed, rows.n);
    for (size_t i = 0; i < rows.n; i++)
        (*out)[i] = (struct sql_surveyed){
            .warehouse = rows_i64(&rows, i, FOREIGN_NEAR_WAREHOUSE),
            .warehouse_uuid = rows_str(&rows, i, FOREIGN_NEAR_UUID),
            .warehouse_base = rows_str(&rows, i, FOREIGN_NEAR_BASE),
            .id = rows_i64(&rows, i, FOREIGN_NEAR_ID),
            .location = rows_str(&rows, i, FOREIGN_NEAR_LOCATION),
            .metadata_location = rows_str(&rows, i, FOREIGN_NEAR_METADATA_LOCATION),
        };
    return true;
}
