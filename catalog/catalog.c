#include "catalog.h"

#include "arena.h"
#include "catalog_priv.h"
#include "clock.h"
#include "uuid.h"

static bool roots_parse(struct catalog *c, const struct catalog_conf *conf, struct err *err)
{
    size_t n = 1;
    for (const char *const *p = conf->allowed; p && *p; p++)
        n++;
    c->roots = ARENA_ARRAY(c->arena, struct location, n);
    TRY(location_identity(c->arena, store_base(c->store), &c->roots[0], err));
    for (size_t i = 1; i < n; i++)
        TRY(location_identity(c->arena, str_from(conf->allowed[i - 1]), &c->roots[i], err));
    c->n_roots = n;
    return true;
}

bool catalog_new(const struct catalog_conf *conf, struct arena *a, struct store *store,
    struct catalog **out, struct err *err)
{
    AUTO(catalog_unref) struct catalog *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    c->arena = a;
    c->sql = conf->sql;
    c->store = store;
    c->warehouse = conf->warehouse;
    c->cached = (struct cache_view){conf->cache, c->warehouse.id, store};
    c->allowed_properties = conf->allowed_properties;
    c->transaction_tables = conf->transaction_tables;
    c->metadata_max = cache_file_max(conf->cache);
    TRY(roots_parse(c, conf, err));
    *out = TAKE(c);
    return true;
}

struct catalog *catalog_ref(struct catalog *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void catalog_unref(struct catalog **cp)
{
    struct catalog *c = TAKE(*cp);
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
        return;
    store_close(&c->store);
    arena_free(&c->arena);
    xfree(c);
}

bool catalog_is_last(const struct catalog *c)
{
    return atomic_load_explicit(&c->refs, memory_order_acquire) == 1;
}

struct store *catalog_store(const struct catalog *c)
{
    return c->store;
}

const struct sql_warehouse *catalog_warehouse(const struct catalog *c)
{
    return &c->warehouse;
}

bool catalog_read_failed(struct err *err)
{
    if (err->kind == ERR_OUTCOME_UNKNOWN || err->kind == ERR_DB_RETRY)
        return err_as(err, ERR_UNAVAILABLE);
    return false;
}

/* Room may be made while a client tries again. It is said here, as the words of a store that is
 * away are not for clients. */
static bool store_full(struct err *err)
{
    struct err was = *err;
    err_set(err, ERR_BUSY, "the store has no room for the metadata file: %s", was.msg);
    return err_quote(err, str_sub(str_from(was.said), 2, SIZE_MAX));
}

bool catalog__change_failed(struct err *err)
{
    switch ((int)err->kind) {
    case ERR_UNAVAILABLE:
    case ERR_DB_RETRY:
        return err_as(err, ERR_BUSY);
    case ERR_OUTCOME_UNKNOWN:
        return err_as(err, ERR_COMMIT_UNKNOWN);
    case ERR_STORE_FULL:
        return store_full(err);
    case ERR_STORE_DENIED:
        return err_as(err, ERR_FORBIDDEN);
    case ERR_STORE_BAD_URI:
    case ERR_STORE_EXISTS:
    case ERR_STORE_NOT_FOUND:
    case ERR_INTERNAL: /* definite, and trying again will not help: a 5xx would say "perhaps" */
        return err_as(err, ERR_BAD_REQUEST);
    default:
        return false;
    }
}

bool catalog__metadata_failed(struct str location, struct err *err)
{
    switch ((int)err->kind) {
    case ERR_STORE_NOT_FOUND:
        return err_set(
            err, ERR_NOT_FOUND, "Failed to open input stream for file: %.*s", STR_ARG(location));
    case ERR_WOULD_BLOCK:
    case ERR_UNAVAILABLE:
        return false;
    default:
        err_wrap(err, "reading metadata file %.*s", STR_ARG(location));
        return err_as(err, ERR_UNREADABLE);
    }
}

struct sql_change catalog__change(
    struct arena *a, const struct caller *by, struct str token, struct str digest)
{
    if (!token.p) {
        char *drawn = arena_alloc(a, UUID_TEXT + 1);
        uuid_v7(drawn);
        token = (struct str){drawn, UUID_TEXT};
    }
    return (struct sql_change){
        .token = token,
        .digest = digest,
        .principal = by->principal,
        .request_id = by->request_id,
        .at_ms = clock_ms(),
        .deadline_us = by->deadline_us,
        .idem = by->idem,
    };
}
