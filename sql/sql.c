#include "sql_priv.h"

#include "clock.h"
#include "lane.h"
#include "metric.h"
#include "thread.h"
#include "uuid.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

static const struct driver *driver_of(struct str database)
{
    if (str_starts(database, STR("sqlite:")))
        return &driver_lite;
    if (str_starts(database, STR("postgresql://")) || str_starts(database, STR("postgres://")))
        return &driver_pg;
    return NULL;
}

static void pool_init(struct pool *p, unsigned max)
{
    p->max = max;
    p->idle = xcalloc(max, sizeof(void *));
    thread_cond_init(&p->freed);
}

static struct sql *sql_new(const struct sql_conf *conf, const struct driver *driver)
{
    struct sql *s = xcalloc(1, sizeof(*s));
    unsigned pool = conf->pool ? conf->pool : 1;

    s->driver = driver;
    s->conf = *conf;
    s->database = xstrdup(conf->database);
    s->conf.database = s->database;
    s->arena = arena_new();
    pthread_mutex_init(&s->mutex, NULL);
    batch_init(&s->swaps);
    batch_init(&s->inserts);
    pool_init(&s->pools[DB_READ], pool);
    pool_init(&s->pools[DB_WRITE], driver->engine == ENGINE_LITE ? 1 : pool);
    return s;
}

bool sql_open(const struct sql_conf *conf, struct sql **out, struct err *err)
{
    assert(lane_may_block());
    const struct driver *driver = driver_of(str_from(conf->database));
    if (!driver)
        return err_set(err, ERR_INTERNAL,
            "The database is given as \"sqlite:PATH\" or as \"postgresql://HOST/DATABASE\"");

    AUTO(sql_close) struct sql *s = sql_new(conf, driver);
    struct db *db = NULL;

    TRY(driver->open(&s->conf, &s->home, err));
    s->name = driver->name(s->arena, &s->conf);
    TRY(sql__take(s, DB_WRITE, &db, err));
    sql__give(s, &db);
    *out = TAKE(s);
    return true;
}

static void close_idle(struct sql *s, struct pool *p)
{
    while (p->idle_n > 0) {
        s->driver->disconnect(&p->idle[--p->idle_n]);
        p->open_n--;
    }
}

void sql_close(struct sql **sp)
{
    struct sql *s = *sp;

    if (!s)
        return;
    for (size_t i = 0; i < DB_ROLES; i++) {
        close_idle(s, &s->pools[i]);
        assert(s->pools[i].open_n == 0);
        xfree(s->pools[i].idle);
        pthread_cond_destroy(&s->pools[i].freed);
    }
    s->driver->close(&s->home);
    batch_fini(&s->swaps);
    batch_fini(&s->inserts);
    pthread_mutex_destroy(&s->mutex);
    arena_free(&s->arena);
    xfree(s->database);
    xfree(s);
    *sp = NULL;
}

struct str sql_name(const struct sql *s)
{
    return s->name;
}

/* --- time --- */

bool sql__pause(struct pace *p)
{
    enum { FIRST_US = 10000, MOST_US = 500000 };
    int64_t left = p->until_us - clock_mono_us();
    int64_t pause = p->n < 6 ? (int64_t)FIRST_US << p->n : MOST_US;
    uint32_t random;

    if (left <= 0)
        return false;
    uuid_random(&random, sizeof(random));
    pause = pause / 2 + (int64_t)(random % (uint64_t)pause); /* 0.5 to 1.5 of it */
    p->n++;
    clock_sleep(pause < left ? pause : left);
    return true;
}

/* --- connections --- */

/* PostgreSQL has one pool for both roles, whose connections may write. */
static enum db_role pooled_role(const struct sql *s, enum db_role role)
{
    return s->driver->engine == ENGINE_LITE ? role : DB_WRITE;
}

static struct pool *pool_for(struct sql *s, enum db_role role)
{
    return &s->pools[pooled_role(s, role)];
}

/* With the mutex held. An idle connection, or NULL and the right to open one. */
static bool wait_for_turn(struct sql *s, struct pool *p, struct db **out)
{
    int64_t until = clock_mono_us() + SQL_WAIT_US;
    struct timespec t = thread_until(until);

    while (p->idle_n == 0 && p->open_n == p->max)
        if (pthread_cond_timedwait(&p->freed, &s->mutex, &t) == ETIMEDOUT)
            break;
    if (p->idle_n > 0) {
        *out = p->idle[--p->idle_n];
        return true;
    }
    if (p->open_n == p->max)
        return false;
    p->open_n++;
    *out = NULL;
    return true;
}

static void forget(struct sql *s, struct pool *p)
{
    pthread_mutex_lock(&s->mutex);
    p->open_n--;
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&s->mutex);
}

bool sql__connect(struct sql *s, enum db_role role, struct db **out, struct err *err)
{
    bool again;

    TRY(s->driver->connect(&s->conf, role, out, err));
    pthread_mutex_lock(&s->mutex);
    again = s->lost_n > 0;
    s->lost_n -= again;
    pthread_mutex_unlock(&s->mutex);
    if (again)
        metric_add(METRIC_sql_reconnects_total, 1);
    return true;
}

void sql__disconnect(struct sql *s, struct db **db)
{
    if (*db && (*db)->state != DB_GOOD) {
        pthread_mutex_lock(&s->mutex);
        s->lost_n++;
        pthread_mutex_unlock(&s->mutex);
    }
    s->driver->disconnect(db);
}

bool sql__take(struct sql *s, enum db_role role, struct db **out, struct err *err)
{
    assert(lane_may_block());
    struct pool *p = pool_for(s, role);

    for (;;) {
        int64_t since = clock_mono_us();
        struct db *db = NULL;

        pthread_mutex_lock(&s->mutex);
        bool ours = wait_for_turn(s, p, &db);
        pthread_mutex_unlock(&s->mutex);
        metric_observe(METRIC_sql_wait_seconds, clock_mono_us() - since);
        if (!ours)
            return err_set(err, ERR_BUSY,
                "No database connection was free for 2 seconds; all %u are in use", p->max);
        if (!db) {
            if (sql__connect(s, pooled_role(s, role), out, err))
                return true;
            forget(s, p);
            return false;
        }
        if (s->driver->alive(db)) {
            *out = db;
            return true;
        }
        db->state = DB_SPENT;
        sql__give(s, &db);
    }
}

/* When one connection broke, the idle ones most likely did too. */
void sql__give(struct sql *s, struct db **dbp)
{
    struct db *db = *dbp;
    if (!db)
        return;
    struct pool *p = pool_for(s, db->role);

    *dbp = NULL;
    arena_reset(db->scratch);
    pthread_mutex_lock(&s->mutex);
    if (db->state == DB_GOOD) {
        p->idle[p->idle_n++] = db;
        db = NULL;
    } else {
        s->lost_n += p->idle_n;
        close_idle(s, p);
    }
    pthread_mutex_unlock(&s->mutex);
    pthread_cond_signal(&p->freed);
    if (!db)
        return;
    sql__disconnect(s, &db);
    forget(s, p);
}

/* --- statements --- */

bool sql__has(const struct sql *s, enum stmt stmt)
{
    return stmt_info[stmt].text[s->driver->engine] != NULL;
}

bool sql__exec(
    struct arena *a, struct db *db, const struct request *r, struct rows *out, struct err *err)
{
    const struct stmt_info *info = &stmt_info[r->stmt];
    int64_t since = clock_mono_us();

    assert(info->params == 0 || r->params);
    for (unsigned i = 0; i < info->params; i++) {
        struct str t = r->params[i].text;
        if (t.n > 0 && memchr(t.p, '\0', t.n))
            return err_set(err, ERR_INTERNAL,
                "A text with a NUL byte cannot be stored (statement %s, parameter %u)", info->name,
                i + 1);
    }
    bool ok = db->driver->exec(a, db, r, out, err);

    metric_add(METRIC_sql_statements_total, 1);
    metric_observe(METRIC_sql_seconds, clock_mono_us() - since);
    return ok;
}

bool sql__once(struct arena *a, struct sql *s, enum db_role role, const struct request *r,
    struct rows *out, struct err *err)
{
    struct pace pace = {.until_us = clock_mono_us() + SQL_AWAY_US};

    for (;;) {
        struct db *db = NULL;
        bool ok = sql__take(s, role, &db, err);

        assert(!ok || db);
        ok = ok && sql__exec(a, db, r, out, err);
        sql__give(s, &db);
        if (ok)
            return true;
        if (err->kind == ERR_BUSY)
            return err_as(err, ERR_UNAVAILABLE);
        if (err->kind != ERR_UNAVAILABLE && err->kind != ERR_DB_RETRY)
            return false;
        if (!sql__pause(&pace))
            return err_as(err, ERR_UNAVAILABLE);
        err_clear(err);
    }
}

bool sql__change(
    struct sql *s, enum stmt stmt, const struct param *params, size_t *n, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct request r = {
        .stmt = stmt, .params = params, .deadline_us = clock_mono_us() + SQL_WRITE_US};
    struct rows rows;

    TRY(sql__once(a, s, DB_WRITE, &r, &rows, err));
    if (n)
        *n = rows.n;
    return true;
}

bool sql_ping(struct sql *s, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct rows rows;

    return sql__read(a, s, STMT_PING, NULL, &rows, err);
}

struct str rows_str(const struct rows *r, size_t row, size_t column)
{
    assert(row < r->n && column < r->columns);
    return r->cells[row * r->columns + column];
}

int64_t rows_i64(const struct rows *r, size_t row, size_t column)
{
    struct str s = rows_str(r, row, column);
    int64_t n = 0;

    return s.p && str_to_i64(s, &n) ? n : 0;
}

void rows_names(const struct rows *r, struct str **names, size_t *n)
{
    assert(r->columns == 1);
    *n = r->n;
    *names = r->cells;
}
