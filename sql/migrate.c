#include "sql_priv.h"

#include "clock.h"
#include "lane.h"

#include <assert.h>
#include <inttypes.h>

enum { MIGRATE_US = 60000000 };

static bool run(
    struct db *db, enum stmt stmt, const struct param *p, struct rows *out, struct err *err)
{
    struct request r = {.stmt = stmt, .params = p, .deadline_us = clock_mono_us() + MIGRATE_US};

    return sql__exec(db->scratch, db, &r, out, err);
}

/* 0: there is no schema. */
static bool version_of(struct db *db, int64_t *out, struct err *err)
{
    struct rows rows;

    TRY(run(db, STMT_SCHEMA_PRESENT, NULL, &rows, err));
    *out = 0;
    if (rows_i64(&rows, 0, SCHEMA_PRESENT_PRESENT) == 0)
        return true;
    TRY(run(db, STMT_SCHEMA_GET, NULL, &rows, err));
    *out = rows_i64(&rows, 0, SCHEMA_GET_VERSION);
    return true;
}

static int64_t newest(void)
{
    return schema_files[schema_files_n - 1].version;
}

static bool apply(struct db *db, const struct schema_file *f, struct err *err)
{
    const struct param p[] = {number_param(f->version), number_param(clock_ms())};
    struct rows rows;

    for (size_t i = 0; f->statements[i]; i++)
        if (!db->driver->run(db, f->statements[i], clock_mono_us() + MIGRATE_US, err))
            return err_wrap(err, "Migration %s, statement %zu", f->name, i + 1);
    return run(db, STMT_SCHEMA_ADD, p, &rows, err);
}

static bool refuse_newer(int64_t have, struct err *err)
{
    if (have <= newest())
        return true;
    return err_set(err, ERR_INTERNAL,
        "The database has schema %" PRId64 " and this firn knows schemas up to %" PRId64
        ": the database was migrated by a newer firn, start that one",
        have, newest());
}

/* In a transaction that others who migrate wait for. */
static bool bring_up(struct db *db, struct err *err)
{
    struct rows rows;
    int64_t have;

    TRY(run(db, STMT_MIGRATE_LOCK, NULL, &rows, err));
    TRY(version_of(db, &have, err));
    TRY(refuse_newer(have, err));
    if (have == 0) {
        TRY(run(db, STMT_SCHEMA_CREATE, NULL, &rows, err));
    }
    for (size_t i = 0; i < schema_files_n; i++)
        if (schema_files[i].version > have)
            TRY(apply(db, &schema_files[i], err));
    return run(db, STMT_COMMIT, NULL, &rows, err);
}

static bool migrate_once(struct sql *s, struct err *err)
{
    struct err ignored = {0};
    struct rows rows;
    struct db *db;
    int64_t have;

    if (!sql__take(s, DB_WRITE, &db, err))
        return err_as(err, ERR_UNAVAILABLE);
    bool ok = version_of(db, &have, err) && refuse_newer(have, err);
    if (ok && have < newest()) {
        ok = run(db, STMT_BEGIN, NULL, &rows, err) && bring_up(db, err);
        if (!ok && db->state == DB_GOOD && !run(db, STMT_ROLLBACK, NULL, &rows, &ignored))
            db->state = DB_SPENT;
    }
    sql__give(s, &db);
    return ok;
}

/* Migrating twice does no harm, so whatever a broken connection left behind, it is done again. */
bool sql_migrate(struct sql *s, struct err *err)
{
    assert(lane_may_block());
    struct pace pace = {.until_us = clock_mono_us() + MIGRATE_US};

    while (!migrate_once(s, err)) {
        if (err->kind != ERR_UNAVAILABLE && err->kind != ERR_DB_RETRY)
            return false;
        if (!sql__pause(&pace))
            return err_as(err, ERR_UNAVAILABLE);
        err_clear(err);
    }
    return true;
}

bool sql_schema_version(struct sql *s, int64_t *have, int64_t *want, struct err *err)
{
    assert(lane_may_block());
    struct db *db;

    if (!sql__take(s, DB_READ, &db, err))
        return err_as(err, ERR_UNAVAILABLE);
    bool ok = version_of(db, have, err);

    sql__give(s, &db);
    *want = newest();
    return ok;
}
