#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admin.h"
#include "afterwards.h"
#include "background.h"
#include "call.h"
#include "catalog.h"
#include "clock.h"
#include "exec.h"
#include "http.h"
#include "jobs.h"
#include "log.h"
#include "metric.h"
#include "profile.h"
#include "reports.h"
#include "secrets.h"
#include "sql.h"
#include "store.h"
#include "upkeep.h"
#include "warehouses.h"
#include "worker.h"

enum {
    RETRY_US = 250000,
    TICK_US = 20000,
    TRIM_US = 5000000, /* between two looks for memory to give back */
    ARRIVAL_US = 2000000,
    LATE_US = 5000000, /* for calls that run beyond the drain */
    WORKERS_MAX = 256,
    MANAGEMENT_CONNECTIONS = 64,
    SLOW_PER_CORE = 8,
    SLOW_MIN = 16,
    PER_KEY = 64,
};

struct serving {
    const struct config *conf;
    struct arena *arena;
    sigset_t signals;
    struct progress progress;
    struct server server;
    int listen_fd, management_fd, admin_fd;
    const char *listen, *management_listen, *admin_listen; /* with the real ports */
    struct sql *sql;
    struct secrets *secrets;
    struct admin *admin;
    struct worker *workers[WORKERS_MAX + 1];
    unsigned n_workers;
    struct upkeep upkeep;
};

/* --- signals -----------------------------------------------------------------------------------
 */

/* SIGHUP says that the terminal is gone, unless nohup has it ignored: a blocked signal would come
 * all the same. */
static void stop_signals(sigset_t *out)
{
    struct sigaction hangup;

    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(out, SIGHUP);
}

/* Sleeps; the signal to stop that came, or 0. The first begins the drain, the second ends it. */
static int stop_asked(const sigset_t *signals, int64_t us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    int number = sigtimedwait(signals, NULL, &t);

    return number > 0 ? number : 0;
}

/* Until a signal to stop comes, with upkeep from time to time. A wait can end early: for a
 * debugger, or a process that was frozen. */
static void wait_for_stop(struct serving *s)
{
    int64_t interval = upkeep_interval_us(&s->server), now = clock_mono_us();
    int64_t upkeep = now + interval, trim = now + TRIM_US;

    while (!stop_asked(&s->signals, (upkeep < trim ? upkeep : trim) - now)) {
        now = clock_mono_us();
        if (now >= trim) {
            xtrim();
            trim = now + TRIM_US;
        }
        if (now >= upkeep) {
            upkeep_begin(&s->upkeep);
            upkeep = now + interval;
        }
    }
}

/* Sleeps until `done` or the deadline; a second signal ends the process at once. */
static bool wait_until(struct serving *s, int64_t deadline_us, bool (*done)(struct serving *s))
{
    while (!done(s)) {
        if (clock_mono_us() >= deadline_us)
            return false;
        int number = stop_asked(&s->signals, TICK_US);
        if (number && number != SIGHUP) { /* which the shell and the terminal both send */
            log_write(LOG_WARN, "stop", "second signal: ending at once");
            log_flush();
            _exit(1);
        }
    }
    return true;
}

/* --- opening -----------------------------------------------------------------------------------
 */

static bool try_open_database(
    const struct config *conf, enum serve_file file, struct sql **out, struct err *err)
{
    const struct sql_conf c = {
        .database = conf->database,
        .prepared = conf->pg_prepared,
        .pool = (unsigned)conf->pg_pool,
        .connect_ms = conf->pg_connect_timeout / 1000,
        .existing = file == SERVE_EXISTING,
    };

    return sql_open(&c, out, err);
}

/* *out is NULL when one of the signals (NULL: of none) came first. */
static bool wait_for_database(const struct config *conf, enum serve_file file,
    const sigset_t *signals, struct sql **out, struct err *err)
{
    int64_t deadline = clock_mono_us() + conf->start_timeout;

    *out = NULL;
    for (unsigned tries = 1;; tries++) {
        if (try_open_database(conf, file, out, err))
            return true;
        if (err->kind != ERR_UNAVAILABLE || clock_mono_us() >= deadline)
            return false;
        if (tries == 1)
            log_write(LOG_WARN, "database", "%s; trying again", err->msg);
        err_clear(err);
        if (!signals)
            usleep(RETRY_US);
        else if (stop_asked(signals, RETRY_US))
            return true;
    }
}

bool serve_open_database(
    const struct config *conf, enum serve_file file, struct sql **out, struct err *err)
{
    return wait_for_database(conf, file, NULL, out, err);
}

bool serve_check_schema(struct sql *sql, struct err *err)
{
    int64_t have, want;

    TRY(sql_schema_version(sql, &have, &want, err));
    if (have == want)
        return true;
    return err_set(err, ERR_UNAVAILABLE, "has version %lld, this program needs %lld: %s",
        (long long)have, (long long)want,
        have < want ? "run firn migrate"
                    : "the database was migrated by a newer firn, start that one");
}

bool serve_open_store(struct arena *a, const struct config *conf, struct secrets *secrets,
    struct store **out, struct err *err)
{
    struct store_conf c;

    profile_of_settings(a, conf, secrets, &c);
    return store_open(&c, out, err);
}

static bool open_warehouses(struct serving *s, struct err *err)
{
    struct server *server = &s->server;

    TRY(sql_migrate(s->sql, err));
    TRY(secrets_open(s->conf, s->sql, &s->secrets, err));
    server->sql = s->sql;
    server->secrets = s->secrets;
    return warehouses_open(s->conf, s->sql, s->secrets, &server->warehouses, err);
}

static unsigned cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

/* A server that is to delete nothing does not look for what there is to delete either. */
static bool start_jobs(struct serving *s, struct err *err)
{
    if (s->conf->purge_rate == 0)
        return true;
    TRY(jobs_start(JOBS_PURGE, s->server.warehouses, s->conf, &s->server.purger, err));
    return s->conf->sweep_grace == 0 ||
           jobs_start(JOBS_SWEEP, s->server.warehouses, s->conf, &s->server.sweeper, err);
}

/* Where administration has an address of its own one more worker serves it. */
static bool start_management(struct serving *s, struct err *err)
{
    const struct worker_conf w = {s->management_fd, MANAGEMENT_CONNECTIONS, API_MANAGEMENT};

    TRY(http_listen(s->management_fd, err));
    TRY(worker_start(&s->server, &w, &s->workers[s->n_workers], err));
    s->n_workers++;
    return true;
}

static bool start_lanes(struct serving *s, struct err *err)
{
    unsigned n = cores(), slow = SLOW_PER_CORE * n;
    unsigned workers = s->conf->workers ? (unsigned)s->conf->workers : n;
    unsigned limit = (unsigned)s->conf->connection_limit;
    const struct exec_conf c = {
        .threads = s->conf->slow_threads ? (unsigned)s->conf->slow_threads
                   : slow < SLOW_MIN     ? SLOW_MIN
                                         : slow,
        .queue = (unsigned)s->conf->slow_queue,
        .per_key = PER_KEY,
    };

    TRY(exec_start(&c, &s->server.exec, err));
    s->server.afterwards = afterwards_new(s->server.exec);
    TRY(start_jobs(s, err));
    TRY(http_listen(s->listen_fd, err));
    struct worker_conf w = {s->listen_fd, (limit + workers - 1) / workers, API_CATALOG};
    if (s->management_fd < 0)
        w.apis |= API_MANAGEMENT;
    for (; s->n_workers < workers; s->n_workers++)
        TRY(worker_start(&s->server, &w, &s->workers[s->n_workers], err));
    return s->management_fd < 0 || start_management(s, err);
}

/* The addresses, one a line; renamed into place so that nobody reads half of it. */
static bool write_port_file(const struct serving *s, struct err *err)
{
    const char *path = s->conf->port_file;

    if (!*path)
        return true;
    struct str text = arena_printf(s->arena, "%s\n%s\n%s%s", s->listen, s->admin_listen,
        s->management_listen ? s->management_listen : "", s->management_listen ? "\n" : "");
    const char *fresh = arena_printf(s->arena, "%s.new", path).p;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (!ok || rename(fresh, path))
        return err_set(
            err, ERR_INTERNAL, "cannot write the port file %s: %s", path, strerror(errno));
    return true;
}

static const char *const *op_names(struct arena *a)
{
    const char **names = ARENA_ARRAY(a, const char *, OP_COUNT + 1);

    for (unsigned i = 0; i < OP_COUNT; i++)
        names[i] = op_rows[i].name;
    names[OP_COUNT] = "none";
    return names;
}

static bool bind_all(struct serving *s, struct err *err)
{
    TRY(http_bind(s->arena, s->conf->listen, &s->listen_fd, &s->listen, err));
    if (*s->conf->management_listen)
        TRY(http_bind(
            s->arena, s->conf->management_listen, &s->management_fd, &s->management_listen, err));
    return http_bind(s->arena, s->conf->admin_listen, &s->admin_fd, &s->admin_listen, err);
}

/* True without `progress.started`: a signal to stop came first. */
static bool start(struct serving *s, struct err *err)
{
    metric_ops(op_names(s->arena), OP_COUNT + 1);
    TRY(bind_all(s, err));
    TRY(admin_start(&s->server, s->admin_fd, &s->admin, err));
    TRY(wait_for_database(s->conf, SERVE_MAKE, &s->signals, &s->sql, err));
    if (!s->sql)
        return true;
    TRY(open_warehouses(s, err));
    TRY(start_lanes(s, err));
    upkeep_init(&s->upkeep, &s->server);
    atomic_store(&s->progress.started, true);
    TRY(write_port_file(s, err));
    struct str database = sql_name(s->sql);
    log_write(LOG_INFO, "serving",
        "Firn %s on http://%s, health and metrics on http://%s, database %.*s, warehouse %s",
        FIRN_VERSION, s->listen, s->admin_listen, STR_ARG(database), s->conf->warehouse);
    return true;
}

/* --- closing -----------------------------------------------------------------------------------
 */

static bool never(struct serving *s)
{
    (void)s;
    return false;
}

static bool no_calls(struct serving *s)
{
    for (unsigned i = 0; i < s->n_workers; i++)
        if (worker_calls(s->workers[i], WORKER_ALL))
            return false;
    return true;
}

static bool no_headed_calls(struct serving *s)
{
    for (unsigned i = 0; i < s->n_workers; i++)
        if (worker_calls(s->workers[i], WORKER_HEADED))
            return false;
    return true;
}

static bool nothing_left(struct serving *s)
{
    return afterwards_idle(s->server.afterwards);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void drain(struct serving *s)
{
    atomic_store(&s->progress.draining, true);
    log_write(LOG_INFO, "stop", "draining");
    background_stop(s->server.purger);
    background_stop(s->server.sweeper);
    wait_until(s, clock_mono_us() + s->conf->drain_wait, never);
    for (unsigned i = 0; i < s->n_workers; i++)
        worker_quiesce(s->workers[i]);
    close_fd(&s->listen_fd);
    close_fd(&s->management_fd);
    /* Heads on their way in have a short time to arrive; requests whose head is in have the
     * drain's, for the rest of them too. */
    int64_t begun = clock_mono_us(), all = s->conf->drain_timeout;
    wait_until(s, begun + (all < ARRIVAL_US ? all : ARRIVAL_US), no_calls);
    if (!wait_until(s, begun + all, no_headed_calls))
        log_write(LOG_WARN, "stop", "calls are still running after the drain");
    if (!wait_until(s, begun + all, nothing_left))
        log_write(LOG_WARN, "stop", "files are still being deleted after the drain");
}

static void give_up(const char *why)
{
    log_write(LOG_WARN, "stop", "%s", why);
    log_flush();
    _exit(0);
}

/* In reverse order of start; anything may be missing. */
static void stop(struct serving *s)
{
    background_stop(s->server.purger);
    background_stop(s->server.sweeper);
    /* Calls that run end first: they hand their answers to the workers. The lane itself outlives
     * the workers, which may still ask it and are refused. */
    if (s->server.exec) {
        exec_stop(s->server.exec);
        if (!exec_wait_idle(s->server.exec, clock_mono_us() + LATE_US))
            give_up("calls do not end: their clients get no answer");
    }
    while (s->n_workers)
        worker_stop(&s->workers[--s->n_workers]);
    (void)exec_join(&s->server.exec, INT64_MAX);
    afterwards_free(&s->server.afterwards);
    admin_stop(&s->admin);
    int64_t late = clock_mono_us() + LATE_US;
    if (!background_join(&s->server.purger, late) || !background_join(&s->server.sweeper, late))
        give_up("a request to the store does not end: another server goes on with the job");
    warehouses_close(&s->server.warehouses);
    reports_free(&s->server.reports);
    secrets_free(&s->secrets);
    sql_close(&s->sql);
    close_fd(&s->listen_fd);
    close_fd(&s->management_fd);
    close_fd(&s->admin_fd);
    if (*s->conf->port_file)
        (void)unlink(s->conf->port_file);
}

bool serve(const struct config *conf, struct err *err)
{
    AUTO(arena_free) struct arena *arena = arena_new();
    struct serving *s = ARENA_NEW(arena, struct serving);

    s->conf = conf;
    s->arena = arena;
    s->listen_fd = s->management_fd = s->admin_fd = -1;
    s->server.conf = conf;
    s->server.progress = &s->progress;
    s->server.reports = reports_new();
    stop_signals(&s->signals);
    sigprocmask(SIG_BLOCK, &s->signals, NULL); /* inherited by all threads; waited for here */
    bool ok = start(s, err);
    if (atomic_load(&s->progress.started)) {
        wait_for_stop(s);
        drain(s);
    }
    stop(s);
    if (ok)
        log_write(LOG_INFO, "stop", "done");
    return ok;
}
