#include "lookup.h"

#include <assert.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "log.h"
#include "metric.h"
#include "worker.h"

enum {
    BATCH_MAX = 256,
    SAME_AMONG = 32,  /* so many keys of a batch are looked at for one like a call's */
    PENDING_MS = 500, /* the driver has a deadline of its own, and must be asked */
    WAIT_MS = 5, /* a timer before the next tick of the kernel costs more than the wait saves */
    BACK_OFF_MIN_MS = 50,
    BACK_OFF_MAX_MS = 1000,
};

struct call_list {
    struct call *first, **end;
};

struct lookup {
    struct worker *worker;
    const struct server *server;
    int epoll;
    void *tag;
    void (*done)(struct call *c);

    struct sql_lookup *sql; /* NULL: not connected */
    bool wants_write, readable;
    int64_t ask_at_us; /* even if nothing came to read */
    struct call_list added, sent;
    struct sql_key keys[BATCH_MAX];
    size_t n_keys;
    struct arena *arena; /* of one answer */

    /* The connection is opened again in the slow lane, and handed over by a note. */
    struct exec_task reopen;
    struct worker_note reopened;
    struct sql_lookup *fresh;
    struct err reopen_err;
    bool reopening;
    int64_t back_off_ms, reopen_at_us;
};

/* --- keys and rows -----------------------------------------------------------------------------
 */

static const struct op_arg *arg_of(const struct call *c, const char *name)
{
    for (unsigned i = 0; i < c->route.n_args; i++)
        if (strcmp(c->route.args[i].name, name) == 0)
            return &c->route.args[i];
    return NULL;
}

static struct sql_key key_of(const struct call *c)
{
    struct sql_key key = {
        .warehouse = catalog_warehouse(c->catalog)->id, .kind = SQL_KEY_NAMESPACE};
    const struct op_arg *ns = arg_of(c, "namespace");
    const struct op_arg *name = arg_of(c, "table");

    if (!name)
        name = arg_of(c, "view");
    if (ns) {
        key.ns[0] = ns->value;
        key.ns[1] = ns->plus;
    }
    if (name) {
        key.kind = SQL_KEY_OBJECT;
        key.name[0] = name->value;
        key.name[1] = name->plus;
    }
    if (c->op->lookup == LOOKUP_ROOM && c->json) {
        const json_t *given = json_object_get(c->json, "name");
        key.kind = SQL_KEY_ROOM;
        key.name[0] = (struct str){json_string_value(given), json_string_length(given)};
    }
    return key;
}

static bool same_key(const struct sql_key *a, const struct sql_key *b)
{
    return a->warehouse == b->warehouse && a->kind == b->kind && str_eq(a->name[0], b->name[0]) &&
           str_eq(a->ns[0], b->ns[0]) && str_eq(a->name[1], b->name[1]) &&
           str_eq(a->ns[1], b->ns[1]);
}

/* Readers of one table who ask at the same time share a key. */
static void add_key(struct lookup *l, struct call *c)
{
    const struct sql_key key = key_of(c);
    size_t i = l->n_keys;

    for (size_t last = i > SAME_AMONG ? i - SAME_AMONG : 0; i-- > last;) {
        if (same_key(&l->keys[i], &key)) {
            c->lookup_key = (unsigned)i;
            return;
        }
    }
    c->lookup_key = (unsigned)l->n_keys;
    l->keys[l->n_keys++] = key;
}

/* The rows of a batch live in one arena; each call gets its own. */
static void keep(struct call *c, const struct sql_found *found)
{
    struct sql_found *f = &c->found;

    *f = *found;
    f->ns.path = arena_dup(c->arena, f->ns.path);
    f->ns.properties = arena_dup(c->arena, f->ns.properties);
    f->object.uuid = arena_dup(c->arena, f->object.uuid);
    f->object.location = arena_dup(c->arena, f->object.location);
    f->object.metadata_location = arena_dup(c->arena, f->object.metadata_location);
    c->looked_up = true;
}

/* --- lists -------------------------------------------------------------------------------------
 */

static void list_init(struct call_list *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static void list_add(struct call_list *l, struct call *c)
{
    c->next = NULL;
    *l->end = c;
    l->end = &c->next;
}

static struct call *list_take(struct call_list *l)
{
    struct call *c = l->first;

    if (!c)
        return NULL;
    l->first = c->next;
    if (!l->first)
        l->end = &l->first;
    return c;
}

static void give_all(struct lookup *l, struct call_list *list)
{
    struct call *c;

    while ((c = list_take(list)))
        l->done(c);
}

/* --- the connection ----------------------------------------------------------------------------
 */

static void watch(struct lookup *l, int how)
{
    struct epoll_event ev = {
        .events = EPOLLIN | (l->wants_write ? EPOLLOUT : 0), .data.ptr = l->tag};
    int fd = sql_lookup_fd(l->sql);

    if (fd >= 0 && epoll_ctl(l->epoll, how, fd, &ev))
        log_fatal("epoll_ctl on the database's socket failed");
}

static void connected(struct lookup *l, struct sql_lookup *sql)
{
    l->sql = sql;
    l->wants_write = false;
    l->back_off_ms = BACK_OFF_MIN_MS;
    watch(l, EPOLL_CTL_ADD);
}

static void disconnect(struct lookup *l)
{
    if (!l->sql)
        return;
    watch(l, EPOLL_CTL_DEL);
    sql_lookup_close(&l->sql);
}

static void on_reopened(void *arg)
{
    struct lookup *l = arg;

    l->reopening = false;
    if (l->fresh) {
        metric_add(METRIC_sql_reconnects_total, 1);
        log_write(LOG_INFO, "database", "lookups are connected again");
        connected(l, TAKE(l->fresh));
        return;
    }
    log_write(LOG_WARN, "database", "%s", l->reopen_err.msg);
    l->reopen_at_us = clock_mono_us() + l->back_off_ms * 1000;
    l->back_off_ms *= 2;
    if (l->back_off_ms > BACK_OFF_MAX_MS)
        l->back_off_ms = BACK_OFF_MAX_MS;
}

static struct lookup *of_task(struct exec_task *t)
{
    return (struct lookup *)(void *)((char *)t - offsetof(struct lookup, reopen));
}

static void reopen_run(struct exec_task *t)
{
    struct lookup *l = of_task(t);

    err_clear(&l->reopen_err);
    if (!sql_lookup_open(l->server->sql, &l->fresh, &l->reopen_err))
        l->fresh = NULL;
    worker_note(l->worker, &l->reopened);
}

static void reopen_refuse(struct exec_task *t)
{
    worker_note(of_task(t)->worker, &of_task(t)->reopened);
}

static void reopen(struct lookup *l)
{
    if (l->sql || l->reopening || clock_mono_us() < l->reopen_at_us)
        return;
    l->reopening = exec_submit_upkeep(l->server->exec, &l->reopen) == EXEC_TAKEN;
    if (!l->reopening)
        l->reopen_at_us = clock_mono_us() + BACK_OFF_MAX_MS * INT64_C(1000);
}

static void lost(struct lookup *l, const struct err *err)
{
    log_write(LOG_WARN, "database", "lookups lost their connection: %s", err->msg);
    disconnect(l);
    l->reopen_at_us = 0;
    /* Looking has no effect, so it can be done again, over there. */
    give_all(l, &l->sent);
}

/* --- turns -------------------------------------------------------------------------------------
 */

static void take_in(struct lookup *l)
{
    struct sql_found *rows;
    struct call *c;
    struct err err = {0};

    enum sql_lookup_state state = sql_lookup_recv(l->arena, l->sql, &rows, &err);
    if (state == SQL_LOOKUP_PENDING)
        return;
    if (state == SQL_LOOKUP_FAILED) {
        lost(l, &err);
        return;
    }
    while ((c = list_take(&l->sent))) {
        keep(c, &rows[c->lookup_key]);
        l->done(c);
    }
    l->n_keys = 0;
    arena_reset(l->arena);
}

static void send_added(struct lookup *l)
{
    struct err err = {0};
    struct call *c;

    l->n_keys = 0;
    while (l->n_keys < BATCH_MAX && (c = list_take(&l->added))) {
        add_key(l, c);
        list_add(&l->sent, c);
    }
    l->ask_at_us = clock_mono_us() + PENDING_MS * INT64_C(1000);
    if (!sql_lookup_send(l->sql, l->keys, l->n_keys, &err))
        lost(l, &err);
}

/* Something to read, something left to send, or the time to see whether the deadline has passed. */
static bool may_have_come(struct lookup *l)
{
    if (l->readable || l->wants_write)
        return true;
    int64_t now = clock_mono_us();
    if (now < l->ask_at_us)
        return false;
    l->ask_at_us = now + PENDING_MS * INT64_C(1000);
    return true;
}

static void update_watch(struct lookup *l)
{
    bool wants = l->sql && sql_lookup_wants_write(l->sql);

    if (!l->sql || wants == l->wants_write)
        return;
    l->wants_write = wants;
    watch(l, EPOLL_CTL_MOD);
}

void lookup_readable(struct lookup *l)
{
    l->readable = true;
}

void lookup_turn(struct lookup *l)
{
    const struct err ended = {.msg = "the server ended it"};

    if (l->sql && l->sent.first && may_have_come(l))
        take_in(l);
    else if (l->sql && !l->sent.first && l->readable)
        lost(l, &ended); /* nothing was asked */
    l->readable = false;
    while (l->sql && !l->sent.first && l->added.first) {
        send_added(l);
        /* SQLite has the answer at once; a list longer than a batch takes several. */
        if (l->sql && sql_lookup_fd(l->sql) < 0)
            take_in(l);
    }
    if (!l->sql)
        give_all(l, &l->added);
    reopen(l);
    update_watch(l);
}

void lookup_add(struct lookup *l, struct call *c)
{
    list_add(&l->added, c);
}

void lookup_wait(const struct lookup *l)
{
    if (!l->sql || !l->sent.first)
        return;
    struct pollfd p = {.fd = sql_lookup_fd(l->sql), .events = POLLIN};
    (void)poll(&p, 1, WAIT_MS);
}

int lookup_timeout_ms(const struct lookup *l)
{
    if (l->sql)
        return l->sent.first ? PENDING_MS : -1;
    if (l->reopening)
        return -1;
    int64_t left = (l->reopen_at_us - clock_mono_us() + 999) / 1000;
    return left < 0 ? 0 : (int)left;
}

/* --- life --------------------------------------------------------------------------------------
 */

struct lookup *lookup_new(struct worker *w, const struct server *server, int epoll, void *tag,
    void (*done)(struct call *c))
{
    struct lookup *l = xcalloc(1, sizeof(*l));

    l->worker = w;
    l->server = server;
    l->epoll = epoll;
    l->tag = tag;
    l->done = done;
    l->arena = arena_new();
    l->back_off_ms = BACK_OFF_MIN_MS;
    l->reopen = (struct exec_task){.run = reopen_run, .refuse = reopen_refuse};
    l->reopened = (struct worker_note){.fn = on_reopened, .arg = l};
    list_init(&l->added);
    list_init(&l->sent);
    return l;
}

bool lookup_open(struct lookup *l, struct err *err)
{
    struct sql_lookup *sql;

    TRY(sql_lookup_open(l->server->sql, &sql, err));
    connected(l, sql);
    return true;
}

void lookup_free(struct lookup **pl)
{
    struct lookup *l = *pl;

    if (!l)
        return;
    assert(!l->added.first && !l->sent.first && !l->reopening);
    disconnect(l);
    arena_free(&l->arena);
    xfree(l);
    *pl = NULL;
}

/* --- in the slow lane --------------------------------------------------------------------------
 */

static bool ask(struct call *c, const struct sql_key *key, unsigned reading, struct sql_found *f)
{
    struct sql *sql = c->server->sql;
    struct sql_object *object = NULL;
    struct sql_ns *ns = NULL;

    memset(f, 0, sizeof(*f));
    f->reading = reading;
    if (key->kind == SQL_KEY_OBJECT) {
        TRY(sql_object_get(c->arena, sql, key->warehouse, key->ns[reading], key->name[reading],
            &f->ns_found, &object, &c->err));
        if (object)
            f->object = *object;
        return true;
    }
    TRY(sql_ns_get(c->arena, sql, key->warehouse, key->ns[reading], &ns, &c->err));
    f->ns_found = ns != NULL;
    if (ns)
        f->ns = *ns;
    return true;
}

static bool is_there(const struct sql_key *key, const struct sql_found *f)
{
    return key->kind == SQL_KEY_OBJECT ? f->object.id != 0 : f->ns_found;
}

bool lookup_now(struct call *c)
{
    struct sql_key key = key_of(c);
    struct sql_found second;

    TRY(ask(c, &key, 0, &c->found));
    bool two = !str_eq(key.ns[0], key.ns[1]) || !str_eq(key.name[0], key.name[1]);
    if (!is_there(&key, &c->found) && two) {
        TRY(ask(c, &key, 1, &second));
        if (is_there(&key, &second) || (second.ns_found && !c->found.ns_found))
            c->found = second;
    }
    c->looked_up = true;
    return true;
}
