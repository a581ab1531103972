/* PostgreSQL. The only user of libpq. Statements are sent and received without blocking inside
 * libpq, which knows no deadline for reads; a server that does not answer in time is given up. */
#include "driver.h"

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "clock.h"
#include "fault.h"
#include "sql.h"

#include <libpq-fe.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

enum { SET_UP_US = 5000000 }; /* for what a new connection is told */

struct pg {
    struct db db;
    PGconn *conn;
    PGresult *result;    /* of the statement under way, as far as it came */
    int64_t deadline_us; /* its */
    bool flushing;       /* not all of it is in the socket yet */
    bool named;          /* named prepared statements are used */
    bool prepared[STMT_COUNT];
};

static struct pg *pg_of(struct db *db)
{
    return (struct pg *)(void *)db;
}

static const struct pg *pg_const(const struct db *db)
{
    return (const struct pg *)(const void *)db;
}

/* --- settings of a connection --- */

static void conninfo_free(PQconninfoOption **o)
{
    PQconninfoFree(*o);
}

static struct str option(const PQconninfoOption *o, const char *keyword)
{
    for (; o->keyword; o++)
        if (strcmp(o->keyword, keyword) == 0)
            return str_from(o->val);
    return (struct str){NULL, 0};
}

/* The message of the parser is not passed on: it may quote the password. */
static bool pg_open(const struct sql_conf *conf, void **home, struct err *err)
{
    AUTO(conninfo_free) PQconninfoOption *o = PQconninfoParse(conf->database, NULL);

    (void)home;
    if (o)
        return true;
    return err_set(err, ERR_INTERNAL,
        "The address of the database is no PostgreSQL URI. Expected "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE; special characters are written as %%XX");
}

static void pg_close(void **home)
{
    (void)home;
}

static struct str pg_name(struct arena *a, const struct sql_conf *conf)
{
    AUTO(conninfo_free) PQconninfoOption *o = PQconninfoParse(conf->database, NULL);
    struct buf b;

    if (!o)
        return STR("postgresql://");
    struct str hosts = option(o, "host"), ports = option(o, "port"), name = option(o, "dbname");

    if (!hosts.n)
        hosts = option(o, "hostaddr");
    buf_init(&b, 4096);
    buf_puts(&b, "postgresql://");
    while (hosts.p) {
        struct str host = str_cut(&hosts, ',');
        struct str port = ports.p ? str_cut(&ports, ',') : (struct str){NULL, 0};
        buf_str(&b, host);
        if (port.n)
            buf_putf(&b, ":%.*s", STR_ARG(port));
        if (hosts.p)
            buf_putc(&b, ',');
    }
    buf_putf(&b, "/%.*s", STR_ARG(name));
    return buf_take(&b, a);
}

/* Session settings travel in the start-up packet: a SET would stay on a pooler's connection. The
 * generic plan: statements are written for it, and planning each time doubles a lookup's price.
 * Plain walks of an index, which all statements are written for: a plan that was made while a table
 * was small, or by a planner that does not know how large it is, would else go through all of it.
 * Lookups that nobody waits for any more end by themselves; a change is never cut off. */
#define OPTIONS                                                                                    \
    "-c plan_cache_mode=force_generic_plan -c jit=off -c lock_timeout=5000 "                       \
    "-c idle_in_transaction_session_timeout=10000 "                                                \
    "-c enable_seqscan=off -c enable_bitmapscan=off"
#define READ_OPTIONS " -c statement_timeout=6000"

static PGconn *start(struct arena *a, const struct sql_conf *conf, enum db_role role)
{
    AUTO(conninfo_free) PQconninfoOption *given = PQconninfoParse(conf->database, NULL);
    int64_t seconds = (conf->connect_ms + 999) / 1000; /* for each host; libpq takes 2 for 1 */
    struct str timeout = arena_printf(a, "%" PRId64, seconds < 2 ? 2 : seconds);
    struct str own = given ? option(given, "options") : (struct str){NULL, 0};
    struct str options =
        arena_printf(a, OPTIONS "%s %.*s", role == DB_READ ? READ_OPTIONS : "", STR_ARG(own));
    /* What stands before dbname can be overridden by the URI, what stands after it cannot. */
    const char *const keys[] = {"application_name", "connect_timeout", "target_session_attrs",
        "tcp_user_timeout", "dbname", "client_encoding", conf->prepared ? "options" : NULL, NULL};
    const char *const values[] = {
        "firn", timeout.p, "read-write", "10000", conf->database, "UTF8", options.p, NULL};

    return PQconnectdbParams(keys, values, 1);
}

static void pg_disconnect(struct db **dbp)
{
    if (!*dbp)
        return;
    struct pg *c = pg_of(*dbp);

    PQclear(c->result);
    PQfinish(c->conn);
    arena_free(&c->db.scratch);
    xfree(c);
    *dbp = NULL;
}

static void ignore_notice(void *unused, const char *message)
{
    (void)unused;
    (void)message;
}

static struct str message(const char *text)
{
    struct str s = str_from(text ? text : "");

    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == ' '))
        s.n--;
    return s;
}

static bool pg_run(struct db *db, const char *text, int64_t deadline_us, struct err *err);

/* With "off" a commit that was answered is lost when the server's machine goes down. What waits
 * for replicas, or does not, is left as it is. A pooler in transaction mode may carry this to
 * another session than the one that commits. */
static bool no_lost_commits(struct db *db, const struct sql_conf *conf, struct err *err)
{
    static const char text[] = "SELECT set_config('synchronous_commit', 'on', false) "
                               "WHERE current_setting('synchronous_commit', true) = 'off'";

    if (db->role == DB_READ || !conf->prepared)
        return true;
    return pg_run(db, text, clock_mono_us() + SET_UP_US, err);
}

static bool pg_connect(
    const struct sql_conf *conf, enum db_role role, struct db **out, struct err *err)
{
    if (FAULT(DB_CONNECT_REFUSED))
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL: connecting was refused by a fault point");

    struct pg *c = xcalloc(1, sizeof(*c));
    AUTO(pg_disconnect) struct db *db = &c->db;
    c->db = (struct db){.driver = &driver_pg, .role = role, .scratch = arena_new()};
    c->named = conf->prepared;
    c->conn = start(c->db.scratch, conf, role);

    if (PQstatus(c->conn) != CONNECTION_OK) {
        struct str m = message(PQerrorMessage(c->conn));
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL: %.*s", STR_ARG(m));
    }
    PQsetNoticeProcessor(c->conn, ignore_notice, NULL);
    const char *encoding = PQparameterStatus(c->conn, "server_encoding");
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return err_set(err, ERR_INTERNAL,
            "The database has the encoding %s, expected UTF8: create one with ENCODING 'UTF8'",
            encoding ? encoding : "(unknown)");
    if (PQsetnonblocking(c->conn, 1) != 0)
        return err_set(err, ERR_INTERNAL, "PostgreSQL: the connection cannot be non-blocking");
    TRY(no_lost_commits(db, conf, err));
    arena_reset(c->db.scratch);
    *out = TAKE(db);
    return true;
}

/* Nothing is expected on an idle connection but its end. */
static bool pg_alive(struct db *db)
{
    struct pollfd p = {.fd = PQsocket(pg_of(db)->conn), .events = POLLIN};

    return p.fd >= 0 && poll(&p, 1, 0) == 0;
}

/* --- errors --- */

static bool lost(struct pg *c, const char *what, struct err *err)
{
    struct str m = message(PQerrorMessage(c->conn));

    c->db.state = DB_LOST;
    return err_set(err, ERR_UNAVAILABLE, "PostgreSQL: %s: %.*s", what, STR_ARG(m));
}

/* By prefix of the SQLSTATE, the first that fits. SPENT: the server said no, another may not. */
static const struct {
    const char *prefix;
    enum err_kind kind;
    enum db_state state;
} classes[] = {
    {"40001", ERR_DB_RETRY,     DB_GOOD },
    {"40P01", ERR_DB_RETRY,     DB_GOOD },
    {"40003", ERR_UNAVAILABLE,  DB_LOST },
    {"23505", ERR_DB_UNIQUE,    DB_GOOD },
    {"23503", ERR_DB_REFERENCE, DB_GOOD },
    {"25006", ERR_UNAVAILABLE,  DB_SPENT}, /* a primary that has become a replica */
    {"25P03", ERR_UNAVAILABLE,  DB_SPENT}, /* idle in a transaction for too long */
    {"55P03", ERR_DB_RETRY,     DB_GOOD }, /* lock_timeout */
    {"57014", ERR_UNAVAILABLE,  DB_GOOD }, /* cancelled, or statement_timeout */
    {"57P",   ERR_UNAVAILABLE,  DB_LOST }, /* shutting down, starting up, terminated */
    {"08",    ERR_UNAVAILABLE,  DB_LOST },
    {"53",    ERR_UNAVAILABLE,  DB_GOOD }, /* disk full, out of memory, too many connections */
    {"58",    ERR_UNAVAILABLE,  DB_SPENT}, /* input/output */
    {"26",    ERR_UNAVAILABLE,  DB_SPENT}, /* a pooler lost the prepared statement */
    {"",      ERR_INTERNAL,     DB_GOOD },
};

static bool refused(struct pg *c, const PGresult *r, const char *what, struct err *err)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);
    struct str m = message(PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY));
    size_t i = 0;

    if (!state)
        return lost(c, what, err);
    while (!str_starts(str_from(state), str_from(classes[i].prefix)))
        i++;
    c->db.state = classes[i].state;
    /* The end of the session: its last commit may have been carried out before. */
    if (severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        c->db.state = DB_LOST;
    return err_set(err, c->db.state == DB_LOST ? ERR_UNAVAILABLE : classes[i].kind,
        "PostgreSQL: %s: %.*s (SQLSTATE %s)", what, STR_ARG(m), state);
}

/* --- sending and receiving --- */

static void begin_statement(struct pg *c, int64_t deadline_us)
{
    PQclear(c->result);
    c->result = NULL;
    c->deadline_us = deadline_us;
    c->flushing = true;
}

static bool flush(struct pg *c, struct err *err)
{
    if (!c->flushing)
        return true;
    int left = PQflush(c->conn);

    if (left < 0)
        return lost(c, "sending", err);
    c->flushing = left == 1;
    return true;
}

/* Takes what has arrived. An error outlives the results that follow it. */
static bool gather(struct pg *c, bool *done, struct err *err)
{
    if (PQconsumeInput(c->conn) == 0)
        return lost(c, "receiving", err);
    *done = false;
    while (!PQisBusy(c->conn)) {
        PGresult *r = PQgetResult(c->conn);
        if (!r) {
            *done = true;
            return true;
        }
        if (!c->result || PQresultStatus(c->result) != PGRES_FATAL_ERROR) {
            PQclear(c->result);
            c->result = r;
        } else {
            PQclear(r);
        }
    }
    return true;
}

static enum db_progress progress(struct pg *c, struct err *err)
{
    bool done = false;

    if (!flush(c, err) || !gather(c, &done, err)) {
        /* The server's farewell says more than the broken connection does. */
        if (c->result && PQresultStatus(c->result) == PGRES_FATAL_ERROR) {
            refused(c, c->result, "receiving", err);
            c->db.state = DB_LOST;
        }
        return DB_FAILED;
    }
    if (done)
        return DB_READY;
    if (clock_mono_us() < c->deadline_us)
        return DB_PENDING;
    c->db.state = DB_LOST;
    err_set(err, ERR_UNAVAILABLE, "PostgreSQL: no answer in time");
    return DB_FAILED;
}

/* Until the statement has an answer, or its deadline has passed. */
static bool wait_result(struct pg *c, struct err *err)
{
    for (;;) {
        enum db_progress state = progress(c, err);
        if (state != DB_PENDING)
            return state == DB_READY;

        int64_t left = (c->deadline_us - clock_mono_us()) / 1000 + 1;
        struct pollfd p = {
            .fd = PQsocket(c->conn), .events = (short)(POLLIN | (c->flushing ? POLLOUT : 0))};
        poll(&p, 1, (int)(left < 0 ? 0 : left));
    }
}

static bool in_time(struct pg *c, int64_t deadline_us, struct err *err)
{
    if (PQstatus(c->conn) != CONNECTION_OK) {
        c->db.state = DB_SPENT;
        return err_set(err, ERR_UNAVAILABLE, "PostgreSQL: the connection is lost");
    }
    if (clock_mono_us() < deadline_us)
        return true;
    return err_set(err, ERR_UNAVAILABLE, "The time for this request is over");
}

static bool pg_prepare(struct db *db, enum stmt stmt, int64_t deadline_us, struct err *err)
{
    struct pg *c = pg_of(db);
    const struct stmt_info *info = &stmt_info[stmt];

    if (!c->named || c->prepared[stmt])
        return true;
    TRY(in_time(c, deadline_us, err));
    begin_statement(c, deadline_us);
    bool ok = PQsendPrepare(c->conn, info->name, info->text[ENGINE_PG], 0, NULL) == 1 ||
              lost(c, info->name, err);
    ok = ok && wait_result(c, err);
    if (ok && PQresultStatus(c->result) != PGRES_COMMAND_OK)
        ok = refused(c, c->result, info->name, err);
    /* Preparing changes nothing: what became of it is no question. */
    if (!ok && db->state == DB_LOST)
        db->state = DB_SPENT;
    c->prepared[stmt] = ok;
    return ok;
}

static bool pg_send(struct db *db, const struct request *r, struct err *err)
{
    struct pg *c = pg_of(db);
    const struct stmt_info *info = &stmt_info[r->stmt];
    const char *values[STMT_PARAMS_MAX];
    int n = (int)info->params;

    TRY(in_time(c, r->deadline_us, err));
    for (int i = 0; i < n; i++) {
        const struct param *p = &r->params[i];
        if (p->type == PARAM_NUMBER)
            values[i] = arena_printf(db->scratch, "%" PRId64, p->number).p;
        else
            values[i] = p->text.p ? arena_cstr(db->scratch, p->text) : NULL;
    }
    begin_statement(c, r->deadline_us);
    int sent = c->named ? PQsendQueryPrepared(c->conn, info->name, n, values, NULL, NULL, 0)
                        : PQsendQueryParams(
                              c->conn, info->text[ENGINE_PG], n, NULL, values, NULL, NULL, 0);
    if (sent != 1)
        return lost(c, info->name, err);
    return flush(c, err);
}

static bool take_rows(
    struct arena *a, struct pg *c, const char *what, struct rows *out, struct err *err)
{
    ExecStatusType status = PQresultStatus(c->result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        return refused(c, c->result, what, err);
    int n = PQntuples(c->result), columns = PQnfields(c->result);

    *out = (struct rows){.n = (size_t)n, .columns = (size_t)columns};
    out->cells = ARENA_ARRAY(a, struct str, out->n * out->columns + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < columns; j++)
            if (!PQgetisnull(c->result, i, j))
                out->cells[i * columns + j] =
                    arena_dup(a, (struct str){PQgetvalue(c->result, i, j),
                                     (size_t)PQgetlength(c->result, i, j)});
    PQclear(c->result);
    c->result = NULL;
    return true;
}

/* Breaks the connection once the whole statement is on its way. */
static void lose_reply(struct pg *c)
{
    while (c->flushing && PQflush(c->conn) == 1)
        poll(&(struct pollfd){.fd = PQsocket(c->conn), .events = POLLOUT}, 1, 100);
    shutdown(PQsocket(c->conn), SHUT_RDWR);
}

static bool pg_exec(
    struct arena *a, struct db *db, const struct request *r, struct rows *out, struct err *err)
{
    struct pg *c = pg_of(db);

    TRY(pg_prepare(db, r->stmt, r->deadline_us, err));
    TRY(pg_send(db, r, err));
    if (r->effect == EFFECT_SWAP && FAULT(SQL_SWAP_REPLY_LOST))
        lose_reply(c);
    TRY(wait_result(c, err));
    return take_rows(a, c, stmt_info[r->stmt].name, out, err);
}

static bool pg_run(struct db *db, const char *text, int64_t deadline_us, struct err *err)
{
    struct pg *c = pg_of(db);
    struct rows ignored;

    TRY(in_time(c, deadline_us, err));
    begin_statement(c, deadline_us);
    if (PQsendQueryParams(c->conn, text, 0, NULL, NULL, NULL, NULL, 0) != 1)
        return lost(c, "running a statement", err);
    TRY(wait_result(c, err));
    return take_rows(db->scratch, c, "running a statement", &ignored, err);
}

/* --- the fast lane --- */

static int pg_fd(const struct db *db)
{
    return PQsocket(pg_const(db)->conn);
}

static bool pg_wants_write(const struct db *db)
{
    return pg_const(db)->flushing;
}

static enum db_progress pg_poll(struct arena *a, struct db *db, struct rows *out, struct err *err)
{
    struct pg *c = pg_of(db);
    enum db_progress state = progress(c, err);

    if (state == DB_READY && !take_rows(a, c, "looking up names", out, err))
        return DB_FAILED;
    return state;
}

const struct driver driver_pg = {
    .engine = ENGINE_PG,
    .open = pg_open,
    .close = pg_close,
    .name = pg_name,
    .connect = pg_connect,
    .disconnect = pg_disconnect,
    .alive = pg_alive,
    .exec = pg_exec,
    .run = pg_run,
    .prepare = pg_prepare,
    .send = pg_send,
    .fd = pg_fd,
    .wants_write = pg_wants_write,
    .poll = pg_poll,
};
