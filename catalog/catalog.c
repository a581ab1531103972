#include "catalog.h"

#include "arena.h"
#include "cache.h"
#include "catalog_priv.h"
#include "clock.h"
#include "scan.h"
#include "uuid.h"

static bool roots_parse(struct catalog *c, const struct catalog_conf *conf, struct err *err)
{
    size_t n = 1;
    for (const char *const *p = conf->allowed; p && *p; p++)
        n++;
    c->roots = ARENA_ARRAY(c->arena, struct location, n);
    TRY(location_parse(c->arena, store_base(conf->store), &c->roots[0], err));
    for (size_t i = 1; i < n; i++)
        TRY(location_parse(c->arena, str_from(conf->allowed[i - 1]), &c->roots[i], err));
    c->n_roots = n;
    return true;
}

bool catalog_new(const struct catalog_conf *conf, struct catalog **out, struct err *err)
{
    AUTO(catalog_free) struct catalog *c = xcalloc(1, sizeof *c);
    c->arena = arena_new();
    c->sql = conf->sql;
    c->store = conf->store;
    c->transaction_tables = conf->transaction_tables;
    c->metadata_max = conf->metadata_max < scan_metadata_limits.bytes ? conf->metadata_max
                                                                      : scan_metadata_limits.bytes;
    c->cache = cache_new(conf->cache_bytes, conf->store, c->metadata_max);
    TRY(roots_parse(c, conf, err));
    TRY(sql_warehouse_ensure(c->arena, c->sql, str_from(conf->warehouse_name),
        store_base(conf->store), &c->warehouse, err));
    *out = TAKE(c);
    return true;
}

void catalog_free(struct catalog **c)
{
    if (!*c)
        return;
    cache_free(&(*c)->cache);
    arena_free(&(*c)->arena);
    xfree(*c);
    *c = NULL;
}

struct sql *catalog_sql(const struct catalog *c)
{
    return c->sql;
}

struct store *catalog_store(const struct catalog *c)
{
    return c->store;
}

struct cache *catalog_cache(const struct catalog *c)
{
    return c->cache;
}

const struct sql_warehouse *catalog_warehouse(const struct catalog *c)
{
    return &c->warehouse;
}

bool catalog_is_warehouse(const struct catalog *c, struct str named)
{
    while (named.n > 0 && named.p[named.n - 1] == '/')
        named.n--;
    return named.n == 0 || str_eq(named, c->warehouse.name) ||
           str_eq_nocase(named, c->warehouse.uuid) || str_eq(named, store_base(c->store));
}

bool catalog__read_failed(struct err *err)
{
    if (err->kind == ERR_OUTCOME_UNKNOWN || err->kind == ERR_DB_RETRY)
        return err_as(err, ERR_UNAVAILABLE);
    return false;
}

bool catalog__change_failed(struct err *err)
{
    switch ((int)err->kind) {
    case ERR_UNAVAILABLE:
    case ERR_DB_RETRY:
        return err_as(err, ERR_BUSY);
    case ERR_OUTCOME_UNKNOWN:
        return err_as(err, ERR_COMMIT_UNKNOWN);
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
