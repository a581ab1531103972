#include "leftover.h"

#include <jansson.h>
#include <string.h>

#include "arena.h"
#include "cache.h"
#include "clock.h"
#include "digest.h"
#include "folders.h"
#include "json.h"
#include "log.h"
#include "metric.h"
#include "object_priv.h"
#include "sql_keep.h"
#include "sql_survey.h"
#include "sql_sweep.h"
#include "token.h"
#include "update_priv.h"

/* A lease outlives the deletion by more than any request lasts: one that read the file before still
 * finds it. */
enum { NEAR_MAX = 20, LEASE_MS = 15 * 60000, DELETE_US = 60000000 };

static void leave(const struct act *act, const struct leftover *file)
{
    struct leftovers *left = act->by->left;
    if (!left)
        return;
    struct leftover *one = ARENA_NEW(act->a, struct leftover);
    *one = *file;
    one->uri = arena_dup(act->a, file->uri);
    one->next = left->first;
    left->first = one;
    left->n++;
}

void object__leave(const struct act *act, struct str uri)
{
    leave(act, &(struct leftover){.uri = uri});
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
    struct str folder = draft__strip_slashes(json_text_at(properties, "write.metadata.path"));
    const char *slash = memrchr(uri.p, '/', uri.n);
    struct err ignored;
    return folder.n > 0 && slash && str_eq(folder, str_range(uri.p, slash)) &&
           token_of_file(act->c->warehouse.uuid, uri).p &&
           store_check(act->a, act->c->store, uri, &ignored);
}

/* A registered file's log may name anything. */
static void leave_entry(const struct act *act, const struct current *base,
    const struct metadata *now, const struct part *entry)
{
    const struct head *head = metadata_head(base->metadata);
    const json_t *tree = json_hold(act->a, json_loadb(entry->p, entry->n, 0, NULL));
    struct leftover one = {.uri = json_text_at(tree, "metadata-file"), .object = base->row->id};
    if (one.uri.n <= 1 || still_named(now, metadata_location(base->metadata), one.uri))
        return;
    one.place = lies_within(act, one.uri, head->location) ? LEFT_WITHIN : LEFT_OUTSIDE;
    if (one.place == LEFT_WITHIN || was_put_into(act, one.uri, head->properties))
        leave(act, &one);
}

void object__leave_old_files(
    const struct act *act, const struct current *base, const struct metadata *now)
{
    if (!act->by->left || !wants_old_files_deleted(now))
        return;
    const struct parts *before = metadata_parts(base->metadata, PARTS_METADATA_LOG);
    size_t kept = metadata_parts(now, PARTS_METADATA_LOG)->n; /* one of them is the base */
    for (size_t i = 0; i + kept < before->n + 1; i++)
        leave_entry(act, base, now, &before->v[i]);
}

/* -- Who else names them ------------------------------------------------------------------------
 */

/* Files to delete, as far as is known. Nothing goes that cannot be judged. */
struct batch {
    struct catalog *c;
    struct arena *a;
    const struct leftover *files;
    size_t n;
    bool named[SQL_BATCH];
    struct err *err;
};

/* Another table's metadata, which cannot be read: it might. */
static void ask_table(struct batch *b, int64_t table, struct str metadata_location)
{
    AUTO(metadata_unref) struct metadata *m = NULL;
    struct err ignored = {0};
    bool read = cache_get(&b->c->cached, metadata_location, &m, &ignored);
    for (size_t i = 0; i < b->n; i++)
        if (b->files[i].object != table)
            b->named[i] =
                b->named[i] || !read || metadata_holds(m, str_behind(b->files[i].uri, '/'));
}

static void spare(struct batch *b, struct sql_folder folder)
{
    struct location at;
    struct err ignored;
    for (size_t i = 0; i < b->n; i++)
        if (location_parse(b->a, b->files[i].uri, &at, &ignored) &&
            folder_hash(folder_of_file(&at)) == folder_hash(folder))
            b->named[i] = true;
}

/* Tables whose registered log, or anything, leads into the folder. */
static bool ask_near(struct batch *b, struct sql_folder folder)
{
    const struct sql_place place = {.authority = folder.authority, .path = folder.path};
    struct sql_surveyed *near;
    size_t n;
    TRY(sql_foreign_near(b->a, b->c->sql, &place, NULL, NEAR_MAX, &near, &n, b->err));
    if (n == NEAR_MAX)
        spare(b, folder);
    for (size_t i = 0; i < n && n < NEAR_MAX; i++) {
        if (near[i].warehouse == b->c->warehouse.id)
            ask_table(b, near[i].id, near[i].metadata_location);
        else
            spare(b, folder);
    }
    return true;
}

static bool ask_folders(struct batch *b)
{
    struct hashes asked = {0};
    struct location at;
    struct err ignored;
    bool ok = true;
    for (size_t i = 0; i < b->n && ok; i++) {
        if (!location_parse(b->a, b->files[i].uri, &at, &ignored))
            continue;
        struct sql_folder folder = folder_of_file(&at);
        ok = hashes_add(&asked, folder_hash(folder), SIZE_MAX) || ask_near(b, folder);
    }
    hashes_fini(&asked);
    return ok;
}

/* The table that made the file may still have it in its log. Whose it was nobody knows any more
 * when the change is forgotten: then the log of a table that was registered proves nothing. */
static bool ask_maker(struct batch *b, size_t i, const struct sql_token *made)
{
    const struct leftover *file = &b->files[i];
    bool known = made->fate == SQL_FATE_MADE, registered;
    int64_t object = known ? made->object : file->object;
    struct str pointer;
    if (b->named[i] || file->object == 0 || (known && object == file->object) ||
        (!known && file->place == LEFT_WITHIN))
        return true;
    TRY(sql_object_origin(
        b->a, b->c->sql, b->c->warehouse.id, object, &pointer, &registered, b->err));
    if (known && pointer.p)
        ask_table(b, object, pointer);
    else if (!known)
        b->named[i] = registered;
    return true;
}

static bool ask_makers(struct batch *b)
{
    struct sql_token tokens[SQL_BATCH];
    for (size_t i = 0; i < b->n; i++) {
        struct str token = token_of_file(b->c->warehouse.uuid, b->files[i].uri);
        tokens[i] = (struct sql_token){.token = token.p ? token : STR("")};
    }
    TRY(sql_tokens_find(b->c->sql, b->c->warehouse.id, tokens, b->n, b->err));
    for (size_t i = 0; i < b->n; i++)
        TRY(ask_maker(b, i, &tokens[i]));
    return true;
}

/* -- Deleting -----------------------------------------------------------------------------------
 */

struct str leftover_lease(struct arena *a, struct str uri)
{
    struct location at;
    struct err ignored;
    if (!location_identity(a, uri, &at, &ignored))
        at = (struct location){STR(""), uri};
    const struct str parts[] = {at.authority, at.path};
    return digest_sha256_text(a, parts, ARRAY_LEN(parts));
}

static bool delete_one(struct catalog *c, struct str uri, int64_t until_us)
{
    struct err err = {0};
    cache_drop(&c->cached, uri);
    if (clock_mono_us() > until_us)
        (void)err_set(&err, ERR_UNAVAILABLE, "it took too long");
    else if (store_delete(c->store, uri, &err)) {
        metric_add(METRIC_leftover_files_total, 1);
        return true;
    }
    log_write(LOG_WARN, "leftover", "cannot delete %.*s: %s%s", STR_ARG(uri), ERR_ALL(&err));
    return false;
}

static size_t all_stay(const struct batch *b)
{
    log_write(LOG_WARN, "leftover", "%zu files stay: %s%s", b->n, ERR_ALL(b->err));
    return 0;
}

/* Somebody may register one of them. Who did so before the leases were taken is seen, and who comes
 * later is refused. */
static size_t delete_unnamed(struct batch *b, const struct str *uris, size_t n)
{
    struct catalog *c = b->c;
    int64_t until_us = clock_mono_us() + DELETE_US;
    const struct str holder = STR("leftover");
    struct str leases[SQL_BATCH];
    bool pointed[SQL_BATCH];
    size_t deleted = 0;
    for (size_t i = 0; i < n; i++)
        leases[i] = leftover_lease(b->a, uris[i]);
    if (!sql_lease_take_all(c->sql, c->warehouse.id, leases, n, holder, LEASE_MS, b->err) ||
        !sql_pointed_at(c->sql, uris, n, pointed, b->err))
        return all_stay(b);
    for (size_t i = 0; i < n; i++) {
        struct err ignored;
        if (!pointed[i])
            deleted += delete_one(c, uris[i], until_us) ? 1 : 0;
        else
            (void)!sql_lease_give(c->sql, c->warehouse.id, leases[i], holder, &ignored);
    }
    return deleted;
}

static size_t delete_batch(struct catalog *c, const struct leftover *files, size_t n)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str uris[SQL_BATCH];
    struct err err = {0};
    struct batch b = {.c = c, .a = a, .files = files, .n = n, .err = &err};
    size_t left = 0;
    if (!ask_folders(&b) || !ask_makers(&b))
        return all_stay(&b);
    for (size_t i = 0; i < n; i++)
        if (!b.named[i])
            uris[left++] = files[i].uri;
    return left > 0 ? delete_unnamed(&b, uris, left) : 0;
}

void leftovers_delete(struct catalog *c, const struct leftover *files, size_t n, size_t *deleted)
{
    *deleted = 0;
    for (size_t i = 0; i < n; i += SQL_BATCH)
        *deleted += delete_batch(c, files + i, n - i < SQL_BATCH ? n - i : SQL_BATCH);
}
