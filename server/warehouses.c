#include "warehouses.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "apart.h"
#include "arena.h"
#include "base.h"
#include "cache.h"
#include "clock.h"
#include "config.h"
#include "digest.h"
#include "lane.h"
#include "log.h"
#include "profile.h"
#include "sql_warehouse.h"
#include "store.h"
#include "uuid.h"

enum { BUCKETS = 256, FRESH_US = 2000000, PAGE = 100 };

/* A warehouse under one of the words it is asked for by. */
struct known {
    struct known *next;
    struct catalog *catalog; /* a reference */
    _Atomic(int64_t) checked_us;
    size_t n;
    char named[];
};

struct warehouses {
    const struct config *conf;
    struct sql *sql;
    struct secrets *secrets;
    struct cache *cache;
    struct catalog *home; /* the default one; a reference */
    pthread_rwlock_t lock;
    struct known *buckets[BUCKETS];
    struct known *gone; /* replaced; their catalogs may be in use */
};

/* --- opening -----------------------------------------------------------------------------------
 */

/* Takes arena and store over. The row and what the store was told live in the arena. */
static bool make_catalog(struct warehouses *w, struct arena *a, const struct sql_warehouse *row,
    const char *const *allowed, struct store *store, struct catalog **out, struct err *err)
{
    const struct catalog_conf conf = {
        .sql = w->sql,
        .cache = w->cache,
        .warehouse = *row,
        .allowed = allowed,
        .allowed_properties = w->conf->allowed_properties,
        .transaction_tables = (size_t)w->conf->transaction_tables,
    };

    return catalog_new(&conf, a, store, out, err);
}

static bool open_home(struct warehouses *w, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(store_close) struct store *store = NULL;
    struct store_conf conf;
    struct sql_warehouse row;

    profile_of_settings(a, w->conf, w->secrets, &conf);
    TRY(store_open(&conf, &store, err));
    TRY(sql_warehouse_ensure(
        a, w->sql, str_from(w->conf->warehouse_name), store_base(store), apart, &row, err));
    return make_catalog(w, TAKE(a), &row, conf.allowed, TAKE(store), &w->home, err);
}

static bool open_store(struct warehouses *w, struct arena **ap, const struct sql_warehouse *row,
    const struct store_conf *conf, struct catalog **out, struct err *err)
{
    AUTO(store_close) struct store *store = NULL;

    if (!store_open(conf, &store, err)) {
        err_wrap(err, "Opening the storage of the warehouse %.*s", STR_ARG(row->name));
        return err_as(err, ERR_INTERNAL);
    }
    return make_catalog(w, TAKE(*ap), row, conf->allowed, TAKE(store), out, err);
}

static bool open_row(struct warehouses *w, struct arena **ap, const struct sql_warehouse *row,
    struct catalog **out, struct err *err)
{
    struct store_conf conf;

    if (!row->active)
        return err_set(err, ERR_FORBIDDEN, "Warehouse is deactivated: %.*s", STR_ARG(row->name));
    TRY(profile_of_row(*ap, w->conf, w->secrets, row, &conf, err));
    return open_store(w, ap, row, &conf, out, err);
}

bool warehouses_open(const struct config *conf, struct sql *sql, struct secrets *secrets,
    struct warehouses **out, struct err *err)
{
    AUTO(warehouses_close) struct warehouses *w = xcalloc(1, sizeof(*w));

    w->conf = conf;
    w->sql = sql;
    w->secrets = secrets;
    w->cache = cache_new((size_t)conf->cache, (size_t)conf->metadata_limit);
    pthread_rwlock_init(&w->lock, NULL);
    TRY(open_home(w, err));
    *out = TAKE(w);
    return true;
}

/* Without the lock, in the slow lane. */
static void free_all(struct known *list)
{
    while (list) {
        struct known *k = list;
        list = k->next;
        catalog_unref(&k->catalog);
        xfree(k);
    }
}

void warehouses_close(struct warehouses **wp)
{
    struct warehouses *w = TAKE(*wp);

    if (!w)
        return;
    warehouses_forget(w);
    free_all(w->gone);
    catalog_unref(&w->home);
    cache_free(&w->cache);
    pthread_rwlock_destroy(&w->lock);
    xfree(w);
}

/* --- what is known; under the lock -------------------------------------------------------------
 */

static struct known **bucket_of(struct warehouses *w, struct str named)
{
    return &w->buckets[digest_hash64(named) % BUCKETS];
}

static struct known *find_known(struct warehouses *w, struct str named)
{
    for (struct known *k = *bucket_of(w, named); k; k = k->next)
        if (str_eq((struct str){k->named, k->n}, named))
            return k;
    return NULL;
}

/* Until nobody else has a reference: to close a store waits for a request to a service of keys that
 * is under way, which an event loop must not, and nobody under the lock. */
static void retire(struct warehouses *w, struct known **at)
{
    struct known *k = *at;

    *at = k->next;
    k->next = w->gone;
    w->gone = k;
}

static void remove_known(struct warehouses *w, struct str named)
{
    struct known *k = find_known(w, named);
    struct known **at = bucket_of(w, named);

    if (!k)
        return;
    while (*at != k)
        at = &(*at)->next;
    retire(w, at);
}

/* Those that are in use no more. */
static struct known *take_unused(struct warehouses *w)
{
    struct known *unused = NULL;

    for (struct known **at = &w->gone; *at;) {
        struct known *k = *at;
        if (!catalog_is_last(k->catalog)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->next = unused;
        unused = k;
    }
    return unused;
}

static void free_unused(struct warehouses *w)
{
    pthread_rwlock_wrlock(&w->lock);
    struct known *unused = take_unused(w);
    pthread_rwlock_unlock(&w->lock);
    free_all(unused);
}

static void add_known(struct warehouses *w, struct str named, struct catalog *c)
{
    struct known *k = xmalloc(sizeof(*k) + named.n);
    struct known **bucket = bucket_of(w, named);

    k->next = *bucket;
    k->catalog = catalog_ref(c);
    k->n = named.n;
    memcpy(k->named, named.p, named.n);
    atomic_init(&k->checked_us, clock_mono_us());
    *bucket = k;
}

void warehouses_forget(struct warehouses *w)
{
    pthread_rwlock_wrlock(&w->lock);
    for (unsigned i = 0; i < BUCKETS; i++)
        while (w->buckets[i])
            retire(w, &w->buckets[i]);
    struct known *unused = take_unused(w);
    pthread_rwlock_unlock(&w->lock);
    free_all(unused);
}

/* --- asking ------------------------------------------------------------------------------------
 */

static bool is_home(const struct warehouses *w, struct str named)
{
    const struct sql_warehouse *row = catalog_warehouse(w->home);

    return named.n == 0 || str_eq(named, row->name) || str_eq_nocase(named, row->uuid) ||
           str_eq(named, row->base);
}

/* A known one, and whether it may be used as it is: one caller of many looks whether it still
 * holds. */
static struct catalog *take_known(struct warehouses *w, struct str named, bool *fresh)
{
    struct catalog *c = NULL;
    int64_t now = clock_mono_us();

    pthread_rwlock_rdlock(&w->lock);
    struct known *k = find_known(w, named);
    if (k) {
        int64_t checked = atomic_load_explicit(&k->checked_us, memory_order_relaxed);
        c = catalog_ref(k->catalog);
        *fresh =
            now - checked < FRESH_US ||
            (lane_may_block() && !atomic_compare_exchange_strong(&k->checked_us, &checked, now));
    }
    pthread_rwlock_unlock(&w->lock);
    return c;
}

static void keep(struct warehouses *w, struct str named, struct catalog *c)
{
    pthread_rwlock_wrlock(&w->lock);
    remove_known(w, named);
    if (c)
        add_known(w, named, c);
    struct known *unused = take_unused(w);
    pthread_rwlock_unlock(&w->lock);
    free_all(unused);
}

static bool no_such(struct str named, struct err *err)
{
    return err_set(err, ERR_NO_SUCH_WAREHOUSE, "Warehouse does not exist: %.*s", STR_ARG(named));
}

/* `was`: what was known until now, or NULL; it stays when its row is the same, or cannot be read.
 */
static bool ask(struct warehouses *w, struct str named, struct catalog *was, struct catalog **out,
    struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_warehouse *row;

    *out = NULL;
    if (!sql_warehouse_find(a, w->sql, named, &row, err)) {
        if (!was || err->kind != ERR_UNAVAILABLE)
            return catalog_read_failed(err);
        err_clear(err);
        *out = catalog_ref(was);
        return true;
    }
    if (row && was && row->version == catalog_warehouse(was)->version) {
        *out = catalog_ref(was);
        return true;
    }
    bool ok = row ? open_row(w, &a, row, out, err) : no_such(named, err);
    keep(w, named, *out);
    return ok;
}

/* A uuid in the one form that it is known by, whatever the case of its letters. */
static struct str in_one_form(struct str named, char uuid[static UUID_TEXT])
{
    if (!uuid_is(named))
        return named;
    for (size_t i = 0; i < UUID_TEXT; i++) {
        char c = named.p[i];
        uuid[i] = (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    }
    return (struct str){uuid, UUID_TEXT};
}

bool warehouses_find(struct warehouses *w, struct str named, struct catalog **out, struct err *err)
{
    struct str asked = named;
    char uuid[UUID_TEXT];
    bool fresh = false;

    while (named.n > 0 && named.p[named.n - 1] == '/')
        named.n--;
    if (is_home(w, named)) {
        *out = catalog_ref(w->home);
        return true;
    }
    named = in_one_form(named, uuid);
    AUTO(catalog_unref) struct catalog *known = take_known(w, named, &fresh);
    if (known && fresh) {
        *out = TAKE(known);
        return true;
    }
    if (!lane_may_block())
        return err_set(err, ERR_WOULD_BLOCK, "the warehouse has to be looked up");
    if (ask(w, named, known, out, err))
        return true;
    return err->kind == ERR_NO_SUCH_WAREHOUSE ? no_such(asked, err) : false;
}

static bool conf_of_row(struct warehouses *w, struct arena *a, const struct sql_warehouse *row,
    struct store_conf *out, struct err *err)
{
    if (row->profile.n > 0)
        return profile_of_row(a, w->conf, w->secrets, row, out, err);
    profile_of_settings(a, w->conf, w->secrets, out);
    out->base = arena_cstr(a, row->base);
    return true;
}

bool warehouses_open_any(
    struct warehouses *w, struct str uuid, struct catalog **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_warehouse *row;
    struct store_conf conf;

    if (warehouses_find(w, uuid, out, err))
        return true;
    err_clear(err);
    TRY(sql_warehouse_find(a, w->sql, uuid, &row, err));
    if (!row)
        return no_such(uuid, err);
    TRY(conf_of_row(w, a, row, &conf, err));
    return open_store(w, &a, row, &conf, out, err);
}

/* --- all of them -------------------------------------------------------------------------------
 */

static void with_row(struct warehouses *w, const struct sql_warehouse *row,
    void (*fn)(struct catalog *c, void *arg), void *arg)
{
    AUTO(catalog_unref) struct catalog *c = NULL;
    struct err err = {0};

    if (!row->active || is_home(w, row->uuid))
        return;
    if (warehouses_find(w, row->uuid, &c, &err))
        fn(c, arg);
    else
        log_write(LOG_WARN, "warehouse", "%s%s", ERR_ALL(&err));
}

void warehouses_each(struct warehouses *w, void (*fn)(struct catalog *c, void *arg), void *arg)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_warehouse *page = NULL;
    struct err err = {0};
    size_t n = 0;

    free_unused(w);
    fn(w->home, arg);
    do {
        struct str after = n > 0 ? page[n - 1].name : STR("");
        if (!sql_warehouse_page(a, w->sql, after, PAGE, &page, &n, &err)) {
            log_write(LOG_WARN, "warehouse", "%s", err.msg);
            return;
        }
        for (size_t i = 0; i < n; i++)
            with_row(w, &page[i], fn, arg);
    } while (n == PAGE);
}
