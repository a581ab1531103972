/* The files at a place that live tables name, whoever wrote them: those stay when what lay there is
 * purged. Which tables may name some the survey knows; these are read from end to end. */
#include <inttypes.h>

#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "digest.h"
#include "folders.h"
#include "log.h"
#include "metadata.h"
#include "named.h"
#include "purge_priv.h"
#include "store.h"

enum { PAGE = 20, NAMES_MAX = 1 << 20 };

struct gathering {
    struct purge *purge;
    const struct purge_asker *asker;
    struct location roots[SPELLED_MAX]; /* the place, as spellings are compared */
    size_t n_roots;
    struct location homes[SPELLED_MAX]; /* of the table at hand */
    size_t n_homes;
    struct spare *spare;
    struct arena *scratch; /* of one name */
    struct house house;
    enum purge_end end;
};

static bool end_as(struct gathering *g, enum purge_end end)
{
    g->end = end;
    return false;
}

/* -- The set ------------------------------------------------------------------------------------
 */

static void spare_add(struct spare *s, const struct location *file)
{
    if (s->grain == SPARE_FILES)
        (void)hashes_add(
            &s->files, folder_hash((struct sql_folder){file->authority, file->path}), NAMES_MAX);
    (void)hashes_add(&s->folders, folder_hash(folder_of_file(file)), NAMES_MAX);
    if (s->files.n == NAMES_MAX)
        s->grain = SPARE_FOLDERS;
    if (s->folders.n == NAMES_MAX)
        s->grain = SPARE_ALL;
}

static bool has_place(const struct spare *s, const struct location *file)
{
    switch (s->grain) {
    case SPARE_FILES:
        return hashes_has(&s->files, folder_hash((struct sql_folder){file->authority, file->path}));
    case SPARE_FOLDERS:
        return hashes_has(&s->folders, folder_hash(folder_of_file(file)));
    case SPARE_ALL:
    default:
        return true;
    }
}

bool spare_has(const struct spare *s, struct arena *scratch, struct str uri)
{
    struct location at[SPELLED_MAX];
    if (s->grain == SPARE_FILES && s->files.n == 0)
        return false;
    for (size_t n = location_spelled(scratch, uri, NULL, at); n > 0; n--)
        if (has_place(s, &at[n - 1]))
            return true;
    return s->grain == SPARE_ALL;
}

void spare_fini(struct spare *s)
{
    hashes_fini(&s->files);
    hashes_fini(&s->folders);
    hashes_fini(&s->tables);
    hashes_fini(&s->seen);
}

/* -- Tables -------------------------------------------------------------------------------------
 */

static bool lies_there(const struct gathering *g, const struct location *at)
{
    for (size_t i = 0; i < g->n_roots; i++)
        if (location_within(at, &g->roots[i]))
            return true;
    return false;
}

static bool take(void *arg, struct str uri)
{
    struct gathering *g = arg;
    struct location at[SPELLED_MAX];
    arena_reset(g->scratch);
    for (size_t n = location_spelled(g->scratch, uri, g->n_homes > 0 ? g->homes : NULL, at); n > 0;
         n--)
        if (lies_there(g, &at[n - 1]))
            spare_add(g->spare, &at[n - 1]);
    return true;
}

static bool go_on(void *arg)
{
    struct gathering *g = arg;
    return g->asker->go_on(g->asker->arg) || end_as(g, PURGE_STOPPED);
}

static bool not_known(struct gathering *g, const struct sql_surveyed *table, const struct err *err)
{
    if (g->end != PURGE_GOING)
        return false;
    log_write(LOG_WARN, "purge", "what the table at %.*s names cannot be known: %s%s",
        STR_ARG(table->location), ERR_ALL(err));
    return end_as(g, PURGE_UNSURE);
}

static bool table_names(struct gathering *g, struct arena *a, struct sql_surveyed *table)
{
    AUTO(metadata_unref) struct metadata *m = NULL;
    const struct named_mark none = {0};
    struct err err = {.kind = ERR_NONE};
    struct str as_it_is = arena_printf(a, "%" PRId64 " %" PRId64 " %.*s", table->warehouse,
        table->id, STR_ARG(table->metadata_location));
    if (hashes_add(&g->spare->tables, digest_hash64(as_it_is), SIZE_MAX))
        return true;
    g->n_homes = location_spelled(a, table->location, NULL, g->homes);
    if (!house_enter(&g->house, g->purge, table, &err))
        return not_known(g, table, &err);
    const struct named_by by = {
        g->house.catalog, g->purge->catalog, &none, NULL, &g->spare->seen, go_on, take, g};
    if (!house_read(a, &by, table, &m, &err))
        return not_known(g, table, &err);
    return !m || named_files(&by, m, &err) == NAMED_ALL || not_known(g, table, &err);
}

static bool tables_near(struct gathering *g, const struct location *root)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct sql_place place = {.authority = root->authority, .path = root->path};
    struct sql *sql = g->purge->catalog->sql;
    struct sql_surveyed last = {0}, *page = NULL;
    struct err err = {.kind = ERR_NONE};
    size_t n = PAGE;
    for (bool first = true; n == PAGE; first = false) {
        arena_reset(a);
        if (!sql_foreign_near(a, sql, &place, first ? NULL : &last, PAGE, &page, &n, &err))
            return end_as(g, PURGE_AWAY);
        for (size_t i = 0; i < n; i++)
            TRY(table_names(g, a, &page[i]));
        if (n > 0)
            last = page[n - 1];
    }
    return true;
}

enum purge_end purge__spare(
    struct purge *p, const struct purge_asker *asker, struct str location, struct spare *out)
{
    AUTO(arena_free) struct arena *scratch = arena_new();
    struct gathering g = {
        .purge = p, .asker = asker, .spare = out, .scratch = scratch, .end = PURGE_GOING};
    AUTO(arena_free) struct arena *a = arena_new();
    bool ok = true;
    g.n_roots = location_spelled(a, location, NULL, g.roots);
    for (size_t i = 0; i < g.n_roots && ok; i++)
        ok = tables_near(&g, &g.roots[i]);
    house_fini(&g.house);
    return ok ? PURGE_GOING : g.end;
}
