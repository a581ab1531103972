#include "leftover.h"

#include <jansson.h>
#include <string.h>

#include "arena.h"
#include "cache.h"
#include "log.h"
#include "metric.h"
#include "object_priv.h"
#include "sql_sweep.h"
#include "token.h"
#include "update_priv.h"

void object__leave(const struct act *act, struct str uri)
{
    struct leftovers *left = act->by->left;
    if (!left)
        return;
    struct leftover *one = ARENA_NEW(act->a, struct leftover);
    *one = (struct leftover){arena_dup(act->a, uri), left->first};
    left->first = one;
    left->n++;
}

/* -- What leaves the log ------------------------------------------------------------------------
 */

static bool wants_old_files_deleted(const struct metadata *now)
{
    const json_t *property = json_object_get(
        metadata_head(now)->properties, "write.metadata.delete-after-commit.enabled");
    return metadata_kind(now) == METADATA_TABLE && json_is_string(property) &&
           str_eq_nocase(str_from(json_string_value(property)), STR("true"));
}

/* A log can name a file twice, or the table's own one, once somebody has registered an old state.
 */
static bool still_named(const struct metadata *now, struct str base, struct str uri)
{
    const struct parts *log = metadata_parts(now, PARTS_METADATA_LOG);
    const char *slash = memrchr(uri.p, '/', uri.n);
    struct str name = slash ? str_range(slash, uri.p + uri.n) : uri;
    if (str_ends(base, name) || str_ends(metadata_location(now), name))
        return true;
    for (size_t i = 0; i < log->n; i++)
        if (memmem(log->v[i].p, log->v[i].n, name.p + 1, name.n - 1))
            return true;
    return false;
}

static bool lies_within(const struct act *act, struct str uri, struct str folder)
{
    struct location inside, within;
    struct err ignored;
    return location_parse(act->a, uri, &inside, &ignored) &&
           location_parse(act->a, folder, &within, &ignored) && location_within(&inside, &within) &&
           store_check(act->a, act->c->store, uri, &ignored);
}

/* The folder that the table has put its files into instead. Others may use it too: only a file that
 * bears a name of ours can be one of them. */
static bool was_put_into(const struct act *act, struct str uri, const json_t *properties)
{
    struct str folder =
        draft__strip_slashes(json_text(json_object_get(properties, "write.metadata.path")));
    const char *slash = memrchr(uri.p, '/', uri.n);
    struct err ignored;
    return folder.n > 0 && slash && str_eq(folder, str_range(uri.p, slash)) &&
           token_of_file(act->c->warehouse.uuid, uri).p &&
           store_check(act->a, act->c->store, uri, &ignored);
}

/* A registered file's log may name anything. */
static bool is_own(const struct act *act, const struct metadata *base, struct str uri)
{
    const struct head *head = metadata_head(base);
    return lies_within(act, uri, head->location) || was_put_into(act, uri, head->properties);
}

static void leave_entry(const struct act *act, const struct metadata *base,
    const struct metadata *now, const struct part *entry)
{
    const json_t *tree = json_hold(act->a, json_loadb(entry->p, entry->n, 0, NULL));
    const json_t *file = json_object_get(tree, "metadata-file");
    struct str uri = {json_string_value(file), json_string_length(file)};
    if (uri.n > 1 && is_own(act, base, uri) && !still_named(now, metadata_location(base), uri))
        object__leave(act, uri);
}

void object__leave_old_files(
    const struct act *act, const struct metadata *base, const struct metadata *now)
{
    if (!act->by->left || !wants_old_files_deleted(now))
        return;
    const struct parts *before = metadata_parts(base, PARTS_METADATA_LOG);
    size_t kept = metadata_parts(now, PARTS_METADATA_LOG)->n; /* one of them is the base */
    for (size_t i = 0; i + kept < before->n + 1; i++)
        leave_entry(act, base, now, &before->v[i]);
}

/* -- Deleting -----------------------------------------------------------------------------------
 */

static bool delete_one(struct catalog *c, struct str uri)
{
    struct err err = {0};
    cache_drop(&c->cached, uri);
    if (store_delete(c->store, uri, &err)) {
        metric_add(METRIC_leftover_files_total, 1);
        return true;
    }
    log_write(LOG_WARN, "leftover", "cannot delete %.*s: %s", STR_ARG(uri), err.msg);
    return false;
}

/* Somebody may have registered one of them. */
static size_t delete_batch(struct catalog *c, const struct str *uris, size_t n)
{
    bool named[SQL_BATCH];
    struct err err = {0};
    size_t deleted = 0;
    if (!sql_pointed_at(c->sql, uris, n, named, &err)) {
        log_write(LOG_WARN, "leftover", "%zu files stay: %s", n, err.msg);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        deleted += !named[i] && delete_one(c, uris[i]) ? 1 : 0;
    return deleted;
}

void leftovers_delete(struct catalog *c, const struct str *uris, size_t n, size_t *deleted)
{
    *deleted = 0;
    for (size_t i = 0; i < n; i += SQL_BATCH)
        *deleted += delete_batch(c, uris + i, n - i < SQL_BATCH ? n - i : SQL_BATCH);
}
