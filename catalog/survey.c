/* Which live tables name files outside their own locations, and in which folders. The database
 * keeps that, and how far each table was read, so that a survey reads what is new since the last
 * one: of a table that has changed its metadata, of that the snapshots that are new, and of those
 * the manifests that are. Commits do not know of it. */
#include <string.h>

#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "clock.h"
#include "folders.h"
#include "log.h"
#include "metadata.h"
#include "named.h"
#include "purge_priv.h"
#include "sql_keep.h"
#include "store.h"

enum {
    PAGE = 100,
    /* How long one is good, for several marks or in the course of one: nine times what it took. */
    GOOD_TIMES = 9,
    GOOD_MIN_US = PURGE_RENEW_US,
    GOOD_MAX_US = 30000000,
};

enum name_kind { NAME_FILE, NAME_FOLDER };

struct survey {
    struct purge *purge;
    const struct purge_asker *asker;
    enum purge_end end;
    int64_t renew_us;
    struct arena *scratch; /* of one name */
    struct house house;
    int64_t closed; /* the warehouse whose store or database is away */
    int64_t n;      /* tables that were read */
    /* of the table at hand */
    struct sql_surveyed table;
    struct location own;                /* as it is spelled */
    struct location homes[SPELLED_MAX]; /* as other spellings of it are compared */
    size_t n_homes;
    struct folders folders;
};

static bool end_as(struct survey *s, enum purge_end end)
{
    s->end = end;
    return false;
}

/* -- Blindness ----------------------------------------------------------------------------------
 */

static bool is_dark(const struct purge_blind *b, struct str authority)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->authorities[i], authority))
            return true;
    return b->all;
}

static void go_dark(struct purge_blind *b, struct str authority)
{
    if (is_dark(b, authority))
        return;
    if (b->n < PURGE_BLIND)
        b->authorities[b->n++] = arena_dup(b->a, authority);
    else
        b->all = true;
}

static void go_blind(struct purge *p, struct arena *scratch, struct str uri)
{
    struct location at[SPELLED_MAX];
    arena_reset(scratch);
    for (size_t n = location_spelled(scratch, uri, NULL, at); n > 0; n--)
        go_dark(&p->blind, at[n - 1].authority);
}

bool purge__is_blind(const struct purge *p, struct str location)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct location at[SPELLED_MAX];
    bool is = p->blind.all;
    for (size_t n = location_spelled(a, location, NULL, at); n > 0 && !is; n--)
        is = is_dark(&p->blind, at[n - 1].authority);
    return is;
}

static void begin_seeing(struct purge *p)
{
    arena_reset(p->blind.a);
    p->blind.n = 0;
    p->blind.all = false;
}

/* Its warehouse's places are where it may name files; of one that cannot be opened the base is. */
static void not_known(struct survey *s, const struct err *err)
{
    log_write(LOG_WARN, "purge", "what the table at %.*s names cannot be known: %s%s",
        STR_ARG(s->table.location), ERR_ALL(err));
    if (err->kind == ERR_UNAVAILABLE || !s->house.catalog)
        s->closed = s->table.warehouse;
    AUTO(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; s->house.catalog && i < s->house.catalog->n_roots; i++) {
        const struct location *root = &s->house.catalog->roots[i];
        struct str uri = arena_printf(a, "%.*s%.*s", STR_ARG(root->authority), STR_ARG(root->path));
        go_blind(s->purge, s->scratch, uri);
    }
    go_blind(s->purge, s->scratch, s->table.warehouse_base);
}

/* -- Going on -----------------------------------------------------------------------------------
 */

static bool lease(struct survey *s)
{
    const struct purge *p = s->purge;
    struct err err = {.kind = ERR_NONE};
    bool taken;
    if (!sql_lease_take(
            p->catalog->sql, 0, STR("survey"), str_from(p->holder), PURGE_LEASE_MS, &taken, &err))
        return end_as(s, PURGE_AWAY);
    s->renew_us = clock_mono_us() + PURGE_RENEW_US;
    return taken || end_as(s, PURGE_LOST);
}

static bool go_on(void *arg)
{
    struct survey *s = arg;
    if (!s->asker->go_on(s->asker->arg))
        return end_as(s, PURGE_STOPPED);
    return clock_mono_us() < s->renew_us || lease(s);
}

/* -- One table ----------------------------------------------------------------------------------
 */

/* With nothing in the name that somebody may read otherwise. */
static bool is_plainly_beneath(struct str uri, struct str location)
{
    if (!str_starts(uri, location) || uri.n <= location.n || uri.p[location.n] != '/')
        return false;
    const char *rest = uri.p + location.n;
    size_t n = uri.n - location.n;
    return !memmem(rest, n, "//", 2) && !memmem(rest, n, "/.", 2) && !memchr(rest, '%', n);
}

static bool is_at_home(const struct survey *s, const struct location *at)
{
    for (size_t i = 0; i < s->n_homes; i++)
        if (location_within(at, &s->homes[i]))
            return true;
    return false;
}

static void add_folder(struct survey *s, const struct location *at, enum name_kind what)
{
    folders_add(&s->folders,
        what == NAME_FILE ? folder_of_file(at) : (struct sql_folder){at->authority, at->path});
}

/* The folder that it lies in, or it is, if that is outside: as it is spelled, since what others
 * leave behind is looked for so, and everywhere that a client may look. A place that is only read
 * like the table's own may be another's. */
static void add_name(struct survey *s, struct str uri, enum name_kind what)
{
    struct location at[SPELLED_MAX], strict;
    struct err ignored;
    arena_reset(s->scratch);
    size_t n = location_spelled(s->scratch, uri, s->n_homes > 0 ? s->homes : NULL, at);
    bool outside =
        location_parse(s->scratch, uri, &strict, &ignored) && !location_within(&strict, &s->own);
    for (size_t i = 0; i < n; i++)
        if (outside || !is_at_home(s, &at[i]))
            add_folder(s, &at[i], what);
    if (outside)
        add_folder(s, &strict, what);
}

/* What no client finds cannot be purged either. */
static bool take(void *arg, struct str uri)
{
    struct survey *s = arg;
    bool links = str_eq(s->own.authority, STR("file:")); /* there may be some on the way */
    if (links || !is_plainly_beneath(uri, s->table.location))
        add_name(s, uri, NAME_FILE);
    return true;
}

/* What it named where it lay is now outside. */
static void add_former_location(struct survey *s, const struct sql_survey *row)
{
    if (row->known)
        add_name(s, row->location, NAME_FOLDER);
}

/* The folders come first: with the mark they are all there. */
static bool store_folders(struct survey *s, const struct sql_folder *before, size_t n,
    const struct named_mark *mark, struct arena *a, struct err *err)
{
    struct sql *sql = s->purge->catalog->sql;
    struct hashes had = {0};
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        (void)hashes_add(&had, folder_hash(before[i]), SIZE_MAX);
    for (size_t i = 0; i < s->folders.n && ok; i++)
        ok = hashes_has(&had, folder_hash(s->folders.v[i])) ||
             sql_foreign_add(sql, &s->table, &s->folders.v[i], err);
    for (size_t i = 0; i < n && ok; i++)
        ok = folders_has(&s->folders, before[i]) ||
             sql_foreign_remove(sql, &s->table, &before[i], err);
    hashes_fini(&had);
    return ok &&
           sql_survey_put(sql, &s->table, mark->sequence_number, named_mark_text(a, mark), err);
}

static bool read_table(struct survey *s, struct arena *a, const struct sql_survey *row,
    const struct metadata *m, const struct named_by *by)
{
    struct sql_folder *before;
    struct err err = {.kind = ERR_NONE};
    size_t n;
    if (!sql_foreign_list(a, s->purge->catalog->sql, &s->table, &before, &n, &err))
        return end_as(s, PURGE_AWAY);
    for (size_t i = 0; i < n; i++)
        folders_add(&s->folders, before[i]);
    add_former_location(s, row);
    switch (named_files(by, m, &err)) {
    case NAMED_STOPPED:
        return false;
    case NAMED_UNKNOWN:
        not_known(s, &err);
        return true;
    case NAMED_ALL:
    default:
        break;
    }
    struct named_mark next = named_mark_next(a, by->mark, m, by->adders);
    s->n++;
    return store_folders(s, before, n, &next, a, &err) || end_as(s, PURGE_AWAY);
}

static bool survey_table(struct survey *s, const struct sql_survey *row)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(metadata_unref) struct metadata *m = NULL;
    struct named_mark mark = {0};
    struct err err = {.kind = ERR_NONE};
    s->table = row->table;
    if (s->closed == s->table.warehouse)
        return true;
    if (!house_enter(&s->house, s->purge, &s->table, &err)) {
        not_known(s, &err);
        return true;
    }
    if (row->known && row->replaced == s->table.replaced)
        mark = named_mark_read(a, row->sequence_number, row->snapshots);
    struct named_ids adders = {ARENA_ARRAY(a, int64_t, NAMED_IDS_MAX), 0};
    const struct named_by by = {
        s->house.catalog, s->purge->catalog, &mark, &adders, NULL, go_on, take, s};
    if (!house_read(a, &by, &s->table, &m, &err)) {
        if (s->end == PURGE_GOING)
            not_known(s, &err);
        return s->end == PURGE_GOING;
    }
    if (!m || !location_parse(a, s->table.location, &s->own, &err))
        return true;
    s->n_homes = location_spelled(a, s->table.location, NULL, s->homes);
    folders_init(&s->folders, a);
    bool ok = read_table(s, a, row, m, &by);
    folders_fini(&s->folders);
    return ok;
}

/* -- All tables ---------------------------------------------------------------------------------
 */

static bool all_tables(struct survey *s)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_surveyed last = {0};
    struct sql_survey *page = NULL;
    struct err err = {.kind = ERR_NONE};
    size_t n = PAGE;
    for (bool first = true; n == PAGE; first = false) {
        arena_reset(a);
        if (!sql_survey_page(
                a, s->purge->catalog->sql, first ? NULL : &last, PAGE, &page, &n, &err))
            return end_as(s, PURGE_AWAY);
        for (size_t i = 0; i < n; i++)
            TRY(survey_table(s, &page[i]));
        if (n > 0)
            last = page[n - 1].table;
    }
    return true;
}

static void tell(const struct survey *s)
{
    struct log_line l;
    if (s->n == 0 || !log_begin(&l, LOG_INFO, "survey"))
        return;
    log_str(&l, "outcome", s->end == PURGE_GOING ? STR("done") : STR("to be gone on with"));
    log_i64(&l, "tables", s->n);
    log_end(&l);
}

static int64_t good_until(int64_t begun, int64_t now)
{
    int64_t us = GOOD_TIMES * (now - begun);
    us = us < GOOD_MIN_US ? GOOD_MIN_US : us;
    return now + (us > GOOD_MAX_US ? GOOD_MAX_US : us);
}

enum purge_end purge__survey(struct purge *p, const struct purge_asker *asker)
{
    AUTO(arena_free) struct arena *scratch = arena_new();
    struct survey s = {.purge = p, .asker = asker, .scratch = scratch, .end = PURGE_GOING};
    struct err ignored = {.kind = ERR_NONE};
    int64_t begun = clock_mono_us();
    if (begun < p->good_until_us)
        return PURGE_GOING;
    p->good_until_us = 0;
    if (!lease(&s))
        return s.end;
    begin_seeing(p);
    bool ok = all_tables(&s);
    house_fini(&s.house);
    tell(&s);
    if (ok)
        p->good_until_us = good_until(begun, clock_mono_us());
    if (!sql_lease_give(p->catalog->sql, 0, STR("survey"), str_from(p->holder), &ignored))
        log_write(LOG_DEBUG, "purge", "%s%s", ERR_ALL(&ignored));
    return ok ? PURGE_GOING : s.end;
}
