#include "keep.h"

#include "arena.h"
#include "cache.h"
#include "catalog_priv.h"
#include "metric.h"

enum { STEP_ROWS = 500, STEPS_MAX = 200, LEASE_MS = 60000 };

bool keep_find(struct arena *a, struct catalog *c, const struct caller *by, struct sql_answer **out,
    struct err *err)
{
    return sql_idem_get(a, c->sql, c->warehouse.id, by->principal, by->idem->key, out, err) ||
           catalog_read_failed(err);
}

bool keep_answer(struct catalog *c, const struct caller *by, struct err *err)
{
    const struct sql_change change = {
        .principal = by->principal, .deadline_us = by->deadline_us, .idem = by->idem};
    return sql_idem_put(c->sql, c->warehouse.id, 0, &change, err) || catalog_read_failed(err);
}

/* ERR_UNAVAILABLE, or *out is NULL when there is no such metadata. */
static bool metadata_at(struct arena *a, struct catalog *c, struct str location,
    const struct metadata **out, struct err *err)
{
    struct metadata *m;
    *out = NULL;
    if (!location.p)
        return true;
    if (cache_get(&c->cached, location, &m, err)) {
        *out = metadata_hold(a, m);
        return true;
    }
    return err->kind != ERR_UNAVAILABLE;
}

bool keep_object(struct arena *a, struct catalog *c, const struct sql_answer *kept,
    struct loaded *out, struct err *err)
{
    const struct metadata *m;
    struct str now;
    TRY(metadata_at(a, c, kept->answer, &m, err));
    if (!m && kept->object) {
        if (!sql_object_location(a, c->sql, c->warehouse.id, kept->object, &now, err))
            return catalog_read_failed(err);
        TRY(metadata_at(a, c, now, &m, err));
    }
    if (!m)
        return err_set(err, ERR_NOT_FOUND,
            "The request was carried out, but what it led to is gone, and so is the metadata file "
            "%.*s",
            STR_ARG(kept->answer));
    *out = (struct loaded){.metadata = m};
    return true;
}

/* -- Upkeep -------------------------------------------------------------------------------------
 */

enum kept { KEPT_ANSWERS, KEPT_CHANGES, KEPT_LEASES, KEPT_COUNT };

static bool prune_step(
    struct catalog *c, enum kept what, int64_t change_ms, size_t *n, struct err *err)
{
    int64_t warehouse = c->warehouse.id;
    switch (what) {
    case KEPT_ANSWERS:
        return sql_idem_prune(c->sql, warehouse, STEP_ROWS, n, err);
    case KEPT_CHANGES:
        return sql_change_prune(c->sql, warehouse, change_ms, STEP_ROWS, n, err);
    case KEPT_LEASES:
    default:
        return sql_lease_prune(c->sql, warehouse, STEP_ROWS, n, err);
    }
}

static bool prune(struct catalog *c, enum kept what, int64_t change_ms, struct err *err)
{
    size_t n = STEP_ROWS;
    for (unsigned i = 0; i < STEPS_MAX && n >= STEP_ROWS; i++) {
        TRY(prune_step(c, what, change_ms, &n, err));
        metric_add(METRIC_pruned_rows_total, n);
    }
    return true;
}

bool keep_prune(struct catalog *c, struct str holder, int64_t change_ms, struct err *err)
{
    bool taken;
    TRY(sql_lease_take(c->sql, c->warehouse.id, STR("prune"), holder, LEASE_MS, &taken, err));
    if (!taken)
        return true;
    for (int what = 0; what < KEPT_COUNT; what++)
        TRY(prune(c, (enum kept)what, change_ms, err));
    return sql_lease_give(c->sql, c->warehouse.id, STR("prune"), holder, err);
}
