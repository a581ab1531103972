/* What the calls of one turn of a worker's loop need from the database, in one statement. */
#include "sql_priv.h"

#include "clock.h"
#include "lane.h"
#include "metric.h"

#include <assert.h>

/* One reading of one key. */
struct probe {
    size_t key;
    unsigned reading;
    struct str ns, name; /* name absent: of the namespace */
};

struct sql_lookup {
    struct sql *s;
    struct db *db;
    struct arena *a; /* of the batch under way */
    const struct sql_key *keys;
    size_t keys_n;
    struct probe *probes;
    size_t probes_n;
    int64_t since_us;
    bool busy;
};

bool sql_lookup_open(struct sql *s, struct sql_lookup **out, struct err *err)
{
    assert(lane_may_block());
    AUTO(sql_lookup_close) struct sql_lookup *l = xcalloc(1, sizeof(*l));

    l->s = s;
    l->a = arena_new();
    TRY(sql__connect(s, DB_READ, &l->db, err));
    if (s->driver->prepare)
        TRY(s->driver->prepare(l->db, STMT_LOOKUP, clock_mono_us() + SQL_READ_US, err));
    *out = TAKE(l);
    return true;
}

void sql_lookup_close(struct sql_lookup **lp)
{
    struct sql_lookup *l = *lp;

    if (!l)
        return;
    sql__disconnect(l->s, &l->db);
    arena_free(&l->a);
    xfree(l);
    *lp = NULL;
}

/* --- sending --- */

/* A text with a NUL names nothing, and the database would refuse the batch for it. */
static bool storable(struct str s)
{
    return !s.p || !memchr(s.p, '\0', s.n);
}

static void add_probe(struct sql_lookup *l, size_t key, unsigned reading)
{
    const struct sql_key *k = &l->keys[key];
    struct probe p = {.key = key, .reading = reading};

    p.ns = k->ns[reading].p ? k->ns[reading] : k->ns[0];
    if (k->kind != SQL_KEY_NAMESPACE)
        p.name = k->name[reading].p ? k->name[reading] : k->name[0];
    bool same = reading > 0 && str_eq(p.ns, k->ns[0]) &&
                (k->kind == SQL_KEY_NAMESPACE || str_eq(p.name, k->name[0]));
    if (!same && p.ns.p && storable(p.ns) && storable(p.name))
        l->probes[l->probes_n++] = p;
}

static bool send_batch(struct sql_lookup *l, struct err *err)
{
    struct array keys[3];
    struct param p[3];

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        array_begin(&keys[i]);
    for (size_t i = 0; i < l->probes_n; i++) {
        const struct probe *probe = &l->probes[i];
        array_number(&keys[0], l->keys[probe->key].warehouse);
        array_str(&keys[1], probe->ns);
        array_str(&keys[2], probe->name);
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        p[i] = array_end(&keys[i], l->a);
    const struct request r = {
        .stmt = STMT_LOOKUP, .params = p, .deadline_us = l->since_us + SQL_READ_US};

    arena_reset(l->db->scratch);
    metric_add(METRIC_sql_statements_total, 1);
    return l->s->driver->send(l->db, &r, err);
}

bool sql_lookup_send(struct sql_lookup *l, const struct sql_key *keys, size_t n, struct err *err)
{
    assert(!l->busy);
    arena_reset(l->a);
    l->keys = keys;
    l->keys_n = n;
    l->probes = ARENA_ARRAY(l->a, struct probe, 2 * n + 1);
    l->probes_n = 0;
    for (size_t i = 0; i < n; i++) {
        add_probe(l, i, 0);
        add_probe(l, i, 1);
    }
    l->since_us = clock_mono_us();
    if (l->s->driver->send)
        TRY(send_batch(l, err));
    l->busy = true;
    return true;
}

int sql_lookup_fd(const struct sql_lookup *l)
{
    return l->s->driver->fd ? l->s->driver->fd(l->db) : -1;
}

bool sql_lookup_wants_write(const struct sql_lookup *l)
{
    return l->busy && l->s->driver->wants_write && l->s->driver->wants_write(l->db);
}

/* --- receiving --- */

/* Probes of a key come in the order of its readings; the first that exists wins. */
static void accept_object(struct sql_found *f, const struct probe *p, struct sql_object o)
{
    if (f->object.id != 0 || (f->ns_found && o.id == 0))
        return;
    f->ns_found = true;
    f->reading = p->reading;
    f->object = o;
}

static void accept_ns(struct sql_found *f, const struct probe *p, struct sql_ns ns)
{
    if (f->ns_found)
        return;
    f->ns_found = true;
    f->reading = p->reading;
    f->ns = ns;
}

static void accept_room(
    struct sql_found *f, const struct probe *p, struct sql_ns ns, struct str taken_by)
{
    if (f->ns_found)
        return;
    f->free = !taken_by.p;
    accept_ns(f, p, ns);
}

static void accept_row(struct sql_lookup *l, struct sql_found *found, const struct probe *p,
    const struct rows *r, size_t row)
{
    const struct sql_ns ns = {.id = rows_i64(r, row, LOOKUP_NAMESPACE),
        .version = rows_i64(r, row, LOOKUP_VERSION),
        .path = rows_str(r, row, LOOKUP_PATH),
        .properties = rows_str(r, row, LOOKUP_PROPERTIES)};

    if (!p->name.p) {
        accept_ns(&found[p->key], p, ns);
        return;
    }
    if (l->keys[p->key].kind == SQL_KEY_ROOM) {
        accept_room(&found[p->key], p, ns, rows_str(r, row, LOOKUP_ID));
        return;
    }
    accept_object(&found[p->key], p,
        (struct sql_object){.id = rows_i64(r, row, LOOKUP_ID),
            .kind = (enum sql_kind)rows_i64(r, row, LOOKUP_KIND),
            .uuid = rows_str(r, row, LOOKUP_UUID),
            .location = rows_str(r, row, LOOKUP_LOCATION),
            .metadata_location = rows_str(r, row, LOOKUP_METADATA_LOCATION)});
}

static void accept_batch(struct sql_lookup *l, const struct rows *r, struct sql_found *found)
{
    size_t *row_of = ARENA_ARRAY(l->a, size_t, l->probes_n + 1); /* 0: no row */

    for (size_t row = 0; row < r->n; row++) {
        int64_t i = rows_i64(r, row, LOOKUP_I);
        assert(i >= 1 && (size_t)i <= l->probes_n);
        row_of[i - 1] = row + 1;
    }
    for (size_t i = 0; i < l->probes_n; i++)
        if (row_of[i] > 0)
            accept_row(l, found, &l->probes[i], r, row_of[i] - 1);
}

/* Engines whose statements wait for nobody: one by one. */
static bool probe_now(struct arena *a, struct sql_lookup *l, const struct probe *p,
    struct sql_found *found, struct err *err)
{
    const struct param params[] = {
        number_param(l->keys[p->key].warehouse), text_param(p->ns), text_param(p->name)};
    bool room = l->keys[p->key].kind == SQL_KEY_ROOM;
    const struct request r = {.stmt = room        ? STMT_OBJECT_ROOM
                                      : p->name.p ? STMT_OBJECT_GET
                                                  : STMT_NS_GET,
        .params = params,
        .deadline_us = l->since_us + SQL_READ_US};
    struct rows rows;

    TRY(sql__exec(a, l->db, &r, &rows, err));
    if (rows.n == 0)
        return true;
    if (room)
        accept_room(&found[p->key], p,
            (struct sql_ns){.id = rows_i64(&rows, 0, OBJECT_ROOM_ID),
                .version = rows_i64(&rows, 0, OBJECT_ROOM_VERSION),
                .path = rows_str(&rows, 0, OBJECT_ROOM_PATH),
                .properties = rows_str(&rows, 0, OBJECT_ROOM_PROPERTIES)},
            rows_str(&rows, 0, OBJECT_ROOM_KIND));
    else if (!p->name.p)
        accept_ns(&found[p->key], p,
            (struct sql_ns){.id = rows_i64(&rows, 0, NS_GET_ID),
                .version = rows_i64(&rows, 0, NS_GET_VERSION),
                .path = rows_str(&rows, 0, NS_GET_PATH),
                .properties = rows_str(&rows, 0, NS_GET_PROPERTIES)});
    else
        accept_object(&found[p->key], p,
            (struct sql_object){.id = rows_i64(&rows, 0, OBJECT_GET_ID),
                .kind = (enum sql_kind)rows_i64(&rows, 0, OBJECT_GET_KIND),
                .uuid = rows_str(&rows, 0, OBJECT_GET_UUID),
                .location = rows_str(&rows, 0, OBJECT_GET_LOCATION),
                .metadata_location = rows_str(&rows, 0, OBJECT_GET_METADATA_LOCATION)});
    return true;
}

static enum db_progress probe_all(
    struct arena *a, struct sql_lookup *l, struct sql_found *found, struct err *err)
{
    for (size_t i = 0; i < l->probes_n; i++)
        if (!probe_now(a, l, &l->probes[i], found, err))
            return DB_FAILED;
    return DB_READY;
}

enum sql_lookup_state sql_lookup_recv(
    struct arena *a, struct sql_lookup *l, struct sql_found **out, struct err *err)
{
    assert(l->busy);
    struct sql_found *found;
    enum db_progress state;
    struct rows rows;

    if (l->s->driver->poll) {
        state = l->s->driver->poll(a, l->db, &rows, err);
        if (state == DB_PENDING)
            return SQL_LOOKUP_PENDING;
        metric_observe(METRIC_sql_seconds, clock_mono_us() - l->since_us);
        found = ARENA_ARRAY(a, struct sql_found, l->keys_n + 1);
        if (state == DB_READY)
            accept_batch(l, &rows, found);
    } else {
        found = ARENA_ARRAY(a, struct sql_found, l->keys_n + 1);
        state = probe_all(a, l, found, err);
    }
    l->busy = false;
    if (state == DB_FAILED)
        return SQL_LOOKUP_FAILED;
    *out = found;
    return SQL_LOOKUP_READY;
}
