/* SQLite: one file, one process, one writer. The only user of sqlite3. */
#include "driver.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fault.h"
#include "sql.h"

#include <sqlite3.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct lite {
    struct db db;
    sqlite3 *file;
    sqlite3_stmt *prepared[STMT_COUNT];
};

struct home {
    int lock;
};

static struct lite *lite_of(struct db *db)
{
    return (struct lite *)(void *)db;
}

static const char *path_of(const struct sql_conf *conf)
{
    return conf->database + (sizeof("sqlite:") - 1);
}

/* --- the process's side --- */

static bool make_parents(const char *path, struct err *err)
{
    char *copy = xstrdup(path);
    bool ok = true;

    for (char *p = copy + 1; ok && *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST)
            ok = err_set(err, ERR_INTERNAL, "The folder %s of the database cannot be made: %s",
                copy, strerror(errno));
        *p = '/';
    }
    xfree(copy);
    return ok;
}

static bool is_there(const char *path, struct err *err)
{
    if (access(path, F_OK) == 0)
        return true;
    if (errno == ENOENT)
        return err_set(err, ERR_INTERNAL,
            "There is no database %s: firn serve makes it, or run firn migrate", path);
    return err_set(
        err, ERR_INTERNAL, "The database %s cannot be opened: %s", path, strerror(errno));
}

static bool take_lock(const char *path, int *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str name = arena_printf(a, "%s.lock", path);
    int fd = open(name.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "The lock file %s of the database cannot be opened: %s",
            name.p, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *out = fd;
        return true;
    }
    err_set(err, ERR_INTERNAL,
        "Another process serves the database %s (it holds %s). A SQLite database serves one "
        "process; for several servers use PostgreSQL",
        path, name.p);
    close(fd);
    return false;
}

static bool lite_open(const struct sql_conf *conf, void **home, struct err *err)
{
    const char *path = path_of(conf);
    int lock = -1;

    if (*path == '\0')
        return err_set(err, ERR_INTERNAL, "The database is given as \"sqlite:\" without a path");
    TRY(conf->existing ? is_there(path, err) : make_parents(path, err));
    TRY(take_lock(path, &lock, err));
    struct home *h = xcalloc(1, sizeof(*h));
    h->lock = lock;
    *home = h;
    return true;
}

static void lite_close(void **home)
{
    struct home *h = *home;

    if (!h)
        return;
    close(h->lock);
    xfree(h);
    *home = NULL;
}

static struct str lite_name(struct arena *a, const struct sql_conf *conf)
{
    return arena_dup(a, str_from(conf->database));
}

/* --- connections --- */

static int collate_bytes(void *unused, int an, const void *a, int bn, const void *b)
{
    int c = memcmp(a, b, (size_t)(an < bn ? an : bn));

    (void)unused;
    return c ? c : an - bn;
}

/* now_ms() of the statements: this process is the database. */
static void now_ms(sqlite3_context *call, int n, sqlite3_value **values)
{
    (void)n;
    (void)values;
    sqlite3_result_int64(call, clock_ms());
}

static void lite_disconnect(struct db **dbp)
{
    if (!*dbp)
        return;
    struct lite *l = lite_of(*dbp);

    for (size_t i = 0; i < STMT_COUNT; i++)
        sqlite3_finalize(l->prepared[i]);
    sqlite3_close(l->file);
    arena_free(&l->db.scratch);
    xfree(l);
    *dbp = NULL;
}

/* What failed decides whether it helps to come again. */
static enum err_kind kind_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
        /* A RESTRICT is carried out by a trigger of SQLite's own. */
        if (code == SQLITE_CONSTRAINT_FOREIGNKEY || code == SQLITE_CONSTRAINT_TRIGGER)
            return ERR_DB_REFERENCE;
        if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY)
            return ERR_DB_UNIQUE;
        return ERR_INTERNAL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
        return ERR_UNAVAILABLE;
    default:
        return ERR_INTERNAL;
    }
}

static bool fail(struct lite *l, const char *what, struct err *err)
{
    int code = sqlite3_extended_errcode(l->file);

    return err_set(
        err, kind_of(code), "SQLite: %s: %s (code %d)", what, sqlite3_errmsg(l->file), code);
}

static bool lite_run(struct db *db, const char *text, int64_t deadline_us, struct err *err)
{
    struct lite *l = lite_of(db);

    (void)deadline_us;
    if (sqlite3_exec(l->file, text, NULL, NULL, NULL) != SQLITE_OK)
        return fail(l, "running a statement of the schema", err);
    return true;
}

/* WAL: readers never wait for the writer. FULL: a commit that was answered survives a power cut. */
static bool set_up(struct lite *l, struct err *err)
{
    const char *const pragmas[] = {
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
    };

    sqlite3_extended_result_codes(l->file, 1);
    sqlite3_busy_timeout(l->file, 5000);
    if (sqlite3_create_collation(l->file, "C", SQLITE_UTF8, NULL, collate_bytes) != SQLITE_OK)
        return fail(l, "registering a collation", err);
    if (sqlite3_create_function(l->file, "now_ms", 0, SQLITE_UTF8, NULL, now_ms, NULL, NULL) !=
        SQLITE_OK)
        return fail(l, "registering a function", err);
    for (size_t i = 0; i < ARRAY_LEN(pragmas); i++)
        if (sqlite3_exec(l->file, pragmas[i], NULL, NULL, NULL) != SQLITE_OK)
            return fail(l, pragmas[i], err);
    return true;
}

static bool lite_connect(
    const struct sql_conf *conf, enum db_role role, struct db **out, struct err *err)
{
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (conf->existing ? 0 : SQLITE_OPEN_CREATE);
    const char *path = path_of(conf);

    if (FAULT(DB_CONNECT_REFUSED))
        return err_set(err, ERR_UNAVAILABLE, "SQLite: opening was refused by a fault point");

    struct lite *l = xcalloc(1, sizeof(*l));
    AUTO(lite_disconnect) struct db *db = &l->db;
    l->db = (struct db){.driver = &driver_lite, .role = role, .scratch = arena_new()};

    if (sqlite3_open_v2(path, &l->file, flags, NULL) != SQLITE_OK)
        return err_set(err, ERR_UNAVAILABLE, "SQLite: %s cannot be opened: %s", path,
            l->file ? sqlite3_errmsg(l->file) : "out of memory");
    TRY(set_up(l, err));
    *out = TAKE(db);
    return true;
}

static bool lite_alive(struct db *db)
{
    (void)db;
    return true;
}

/* --- statements --- */

static bool prepare(struct lite *l, enum stmt stmt, sqlite3_stmt **out, struct err *err)
{
    const struct stmt_info *info = &stmt_info[stmt];

    if (!l->prepared[stmt] && sqlite3_prepare_v3(l->file, info->text[ENGINE_LITE], -1,
                                  SQLITE_PREPARE_PERSISTENT, &l->prepared[stmt], NULL) != SQLITE_OK)
        return fail(l, info->name, err);
    *out = l->prepared[stmt];
    return true;
}

/* To SQLite $1 is a name, and names are numbered as they appear. */
static int index_of(sqlite3_stmt *st, unsigned i)
{
    unsigned n = i + 1;
    char tens = (char)('0' + n / 10), ones = (char)('0' + n % 10);
    char name[] = {'$', n < 10 ? ones : tens, n < 10 ? '\0' : ones, '\0'};

    assert(n < 100); /* two digits */
    return sqlite3_bind_parameter_index(st, name);
}

static bool bind(struct lite *l, sqlite3_stmt *st, const struct request *r, struct err *err)
{
    for (unsigned i = 0; i < stmt_info[r->stmt].params; i++) {
        const struct param *p = &r->params[i];
        int at = index_of(st, i);
        int rc;

        if (p->type == PARAM_NUMBER)
            rc = sqlite3_bind_int64(st, at, p->number);
        else if (!p->text.p)
            rc = sqlite3_bind_null(st, at);
        else
            rc = sqlite3_bind_text64(st, at, p->text.p, p->text.n, SQLITE_STATIC, SQLITE_UTF8);
        if (rc != SQLITE_OK)
            return fail(l, stmt_info[r->stmt].name, err);
    }
    return true;
}

static void keep_row(struct arena *a, sqlite3_stmt *st, struct rows *out, size_t *room)
{
    if (out->n == *room) {
        size_t more = *room ? 2 * *room : 4;
        struct str *cells = ARENA_ARRAY(a, struct str, more * out->columns);
        if (out->n > 0)
            memcpy(cells, out->cells, out->n * out->columns * sizeof(cells[0]));
        out->cells = cells;
        *room = more;
    }
    struct str *row = &out->cells[out->n++ * out->columns];

    for (size_t i = 0; i < out->columns; i++) {
        const char *text = (const char *)sqlite3_column_text(st, (int)i);
        size_t n = (size_t)sqlite3_column_bytes(st, (int)i);
        row[i] = text ? arena_dup(a, (struct str){text, n}) : (struct str){NULL, 0};
    }
}

/* A commit that failed in the file system may be on the disk all the same. */
static void note_failure(struct lite *l, const struct request *r, int code)
{
    if (kind_of(code) != ERR_UNAVAILABLE || r->stmt == STMT_BEGIN)
        return;
    l->db.state = r->stmt == STMT_COMMIT && (code & 0xff) == SQLITE_IOERR ? DB_LOST : DB_SPENT;
}

static bool lite_exec(
    struct arena *a, struct db *db, const struct request *r, struct rows *out, struct err *err)
{
    struct lite *l = lite_of(db);
    sqlite3_stmt *st = NULL;
    size_t room = 0;
    int rc;

    TRY(prepare(l, r->stmt, &st, err));
    *out = (struct rows){.columns = stmt_info[r->stmt].columns};
    bool ok = bind(l, st, r, err);
    if (ok) {
        while ((rc = sqlite3_step(st)) == SQLITE_ROW)
            keep_row(a, st, out, &room);
        if (rc != SQLITE_DONE) {
            ok = fail(l, stmt_info[r->stmt].name, err);
            note_failure(l, r, sqlite3_extended_errcode(l->file));
        }
    }
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    if (ok && r->effect == EFFECT_SWAP && FAULT(SQL_SWAP_REPLY_LOST)) {
        db->state = DB_LOST;
        return err_set(err, ERR_UNAVAILABLE, "SQLite: the answer was lost by a fault point");
    }
    return ok;
}

const struct driver driver_lite = {
    .engine = ENGINE_LITE,
    .open = lite_open,
    .close = lite_close,
    .name = lite_name,
    .connect = lite_connect,
    .disconnect = lite_disconnect,
    .alive = lite_alive,
    .exec = lite_exec,
    .run = lite_run,
};
