/* The files at a place that live tables name, whoever wrote them: those stay when what lay there is
 * purged. Which tables may name some the survey knows; these are read from end to end. */
#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "folders.h"
#include "log.h"
#include "metadata.h"
#include "named.h"
#include "purge_priv.h"

enum { PAGE = 20, NAMES_MAX = 1 << 20 };

struct gathering {
    struct purge *purge;
    const struct purge_asker *asker;
    const struct location *root;
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

bool spare_has(const struct spare *s, const struct location *file)
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

void spare_fini(struct spare *s)
{
    hashes_fini(&s->files);
    hashes_fini(&s->folders);
}

/* -- Tables -------------------------------------------------------------------------------------
 */

static bool take(void *arg, struct str uri)
{
    struct gathering *g = arg;
    struct location at;
    struct err ignored;
    arena_reset(g->scratch);
    if (location_parse(g->scratch, uri, &at, &ignored) && location_within(&at, g->root))
        spare_add(g->spare, &at);
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
    log_write(LOG_WARN, "purge", "what the table at %.*s names cannot be known: %s",
        STR_ARG(table->location), err->msg);
    return end_as(g, PURGE_UNSURE);
}

static bool table_names(struct gathering *g, struct arena *a, struct sql_surveyed *table)
{
    AUTO(metadata_unref) struct metadata *m = NULL;
    const struct named_mark none = {0};
    struct err err = {.kind = ERR_NONE};
    if (!house_enter(&g->house, g->purge, table, &err))
        return not_known(g, table, &err);
    const struct named_by by = {g->house.catalog, &none, go_on, take, g};
    if (!house_read(a, &by, table, &m, &err))
        return not_known(g, table, &err);
    return !m || named_files(&by, m, &err) == NAMED_ALL || not_known(g, table, &err);
}

static bool all_tables(struct gathering *g)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct sql_place place = {.authority = g->root->authority, .path = g->root->path};
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

enum purge_end purge__spare(struct purge *p, const struct purge_asker *asker,
    const struct location *root, struct spare *out)
{
    AUTO(arena_free) struct arena *scratch = arena_new();
    struct gathering g = {.purge = p,
        .asker = asker,
        .root = root,
        .spare = out,
        .scratch = scratch,
        .end = PURGE_GOING};
    bool ok = all_tables(&g);
    house_fini(&g.house);
    return ok ? PURGE_GOING : g.end;
}
