#include "sweep.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "arena.h"
#include "base.h"
#include "cache.h"
#include "clock.h"
#include "log.h"
#include "metric.h"
#include "object_priv.h"
#include "sql_keep.h"
#include "sql_sweep.h"
#include "token.h"

enum {
    PAGE = 100,
    POLL_MS = 30000,
    AWAY_MS = 20000,
    LEASE_MS = 10000,
    NOTE_US = 3000000,   /* how often the lease is taken again and the position noted */
    LIST_MAX = 200000,   /* files or folders of one folder */
    AWAY_AFTER = 3,      /* failures of the store, one after the other */
    TOLD = 10,           /* failures that get a line in the log each */
    POSITION_MAX = 2112, /* a word and a namespace */
};

/* A round looks at the tables first, then at the folders that failed creates left behind. */
#define AT_TABLES     "tables "
#define AT_NAMESPACES "namespaces "

struct sweep {
    struct catalog *catalog;
    int64_t grace_ms, rate;
    atomic_bool stopped;
    char holder[UUID_TEXT + 1];
    bool away; /* the database was, when last asked */
};

enum round_end { ROUND_GOING, ROUND_AWAY, ROUND_LOST, ROUND_STOPPED };

struct round {
    struct sweep *sweep;
    struct catalog *c;
    struct arena *scratch;       /* of one table or folder */
    char position[POSITION_MAX]; /* done up to here */
    int64_t now_ms;              /* the database's clock at the start of this run */
    int64_t note_us, next_us;    /* before the second no request is sent to the store */
    enum round_end end;
    unsigned away;
    size_t forgone, deleted, failed;
};

/* The table or view whose folder is looked at; NULL: none has it. */
struct owner {
    const struct sql_object *row;
    const struct metadata *metadata; /* NULL: not read yet, or it cannot be */
    enum { OWNER_UNREAD, OWNER_READ, OWNER_UNREADABLE } state;
};

struct candidate {
    struct str uri;
    int64_t modified_ms;
};

struct batch {
    struct owner *owner;
    struct candidate files[SQL_BATCH];
    struct sql_token tokens[SQL_BATCH];
    bool pointed[SQL_BATCH];
    size_t n;
};

struct sweep *sweep_new(const struct sweep_conf *conf)
{
    struct sweep *s = xcalloc(1, sizeof(*s));
    s->catalog = conf->catalog;
    s->grace_ms = conf->grace_ms;
    s->rate = conf->rate;
    atomic_init(&s->stopped, false);
    uuid_v4(s->holder);
    return s;
}

void sweep_free(struct sweep **s)
{
    xfree(*s);
    *s = NULL;
}

void sweep_stop(struct sweep *s)
{
    atomic_store(&s->stopped, true);
}

/* -- Going on -----------------------------------------------------------------------------------
 */

static bool end_as(struct round *r, enum round_end end)
{
    r->end = end;
    return false;
}

static int64_t warehouse(const struct round *r)
{
    return r->c->warehouse.id;
}

/* Takes or keeps the lease, and says how far the round is. */
static bool note(struct round *r)
{
    struct err err = {0};
    bool taken;
    if (!sql_lease_take(r->c->sql, warehouse(r), STR("sweep"), str_from(r->sweep->holder), LEASE_MS,
            &taken, &err))
        return end_as(r, ROUND_AWAY);
    if (!taken)
        return end_as(r, ROUND_LOST);
    r->note_us = clock_mono_us() + NOTE_US;
    return !r->position[0] ||
           sql_job_note(r->c->sql, warehouse(r), STR("sweep"), str_from(r->position), &err) ||
           end_as(r, ROUND_AWAY);
}

/* Before a request to the store. */
static bool go_on(struct round *r)
{
    clock_wait(r->next_us, &r->sweep->stopped);
    int64_t now = clock_mono_us();
    r->next_us = now + 1000000 / r->sweep->rate;
    if (atomic_load(&r->sweep->stopped))
        return end_as(r, ROUND_STOPPED);
    return now < r->note_us || note(r);
}

/* What could not be done now is done in the next round. */
static bool failed(struct round *r, const char *what, struct str uri, const struct err *err)
{
    metric_add(METRIC_sweep_errors_total, 1);
    if (r->failed++ < TOLD)
        log_write(LOG_WARN, "sweep", "%s %.*s: %s%s", what, STR_ARG(uri), ERR_ALL(err));
    r->away = err->kind == ERR_UNAVAILABLE ? r->away + 1 : 0;
    return r->away < AWAY_AFTER || end_as(r, ROUND_AWAY);
}

/* -- One batch of files -------------------------------------------------------------------------
 */

static bool erase(struct round *r, struct str uri)
{
    struct err err = {0};
    TRY(go_on(r));
    cache_drop(&r->c->cached, uri);
    if (!store_delete(r->c->store, uri, &err))
        return failed(r, "cannot delete", uri, &err);
    r->away = 0;
    r->deleted++;
    metric_add(METRIC_sweep_files_total, 1);
    return true;
}

/* Read once for each table that has something to judge. */
static const struct metadata *owner_metadata(struct round *r, struct owner *o)
{
    struct metadata *m;
    struct err ignored;
    if (o->state == OWNER_UNREAD) {
        o->state = OWNER_UNREADABLE;
        if (cache_get(&r->c->cached, o->row->metadata_location, &m, &ignored)) {
            o->metadata = metadata_hold(r->scratch, m);
            o->state = OWNER_READ;
        }
    }
    return o->metadata;
}

/* Does the table's metadata speak of the file, in its log or anywhere? What cannot be read might.
 */
static bool owner_names(struct round *r, struct owner *o, struct str uri)
{
    if (!o)
        return false;
    const struct metadata *m = owner_metadata(r, o);
    return !m || metadata_holds(m, str_behind(uri, '/'));
}

static bool named(struct round *r, const struct batch *b, size_t i)
{
    return b->pointed[i] || owner_names(r, b->owner, b->files[i].uri);
}

/* No change came to name the file. Is that certain: would it still have its row? A file that was
 * current once may be in the log of any table, whoever has the folder today. */
static bool was_never_made(const struct round *r, const struct candidate *f, int64_t oldest_ms)
{
    return oldest_ms < f->modified_ms - r->sweep->grace_ms;
}

static bool forgo(struct round *r, const struct batch *b, size_t i)
{
    struct err err = {0};
    bool forgone;
    int64_t object = b->owner ? b->owner->row->id : 0;
    if (!sql_change_forgo(r->c->sql, warehouse(r), b->tokens[i].token, object, &forgone, &err))
        return end_as(r, ROUND_AWAY);
    r->forgone += forgone;
    return true;
}

static bool judge(struct round *r, const struct batch *b, size_t i, int64_t oldest_ms)
{
    const struct candidate *f = &b->files[i];
    switch (b->tokens[i].fate) {
    case SQL_FATE_MADE:
        return true;
    case SQL_FATE_FORGONE:
        return b->tokens[i].age_ms < r->sweep->grace_ms / 2 || named(r, b, i) || erase(r, f->uri);
    case SQL_FATE_UNKNOWN:
    default:
        return !was_never_made(r, f, oldest_ms) || named(r, b, i) || forgo(r, b, i);
    }
}

static bool all_made(const struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->tokens[i].fate != SQL_FATE_MADE)
            return false;
    return true;
}

/* The oldest change is asked for after the tokens: a row that was pruned before is older. */
static bool judge_batch(struct round *r, struct batch *b)
{
    struct sql *sql = r->c->sql;
    struct str uris[SQL_BATCH];
    struct err err = {0};
    int64_t oldest_ms;
    size_t n = b->n;
    if (n == 0)
        return true;
    if (!sql_tokens_find(sql, warehouse(r), b->tokens, n, &err))
        return end_as(r, ROUND_AWAY);
    if (!all_made(b)) {
        for (size_t i = 0; i < n; i++)
            uris[i] = b->files[i].uri;
        if (!sql_change_oldest(sql, warehouse(r), &oldest_ms, &err) ||
            !sql_pointed_at(sql, uris, n, b->pointed, &err))
            return end_as(r, ROUND_AWAY);
        for (size_t i = 0; i < n; i++)
            TRY(judge(r, b, i, oldest_ms));
    }
    b->n = 0;
    return true;
}

/* -- Folders ------------------------------------------------------------------------------------
 */

static bool consider(struct round *r, struct batch *b, const struct store_entry *e)
{
    if (e->modified_ms > r->now_ms - r->sweep->grace_ms)
        return true;
    if (store_is_scrap(e->uri))
        return erase(r, e->uri);
    struct str token = token_of_file(r->c->warehouse.uuid, e->uri);
    if (!token.p)
        return true;
    b->files[b->n] = (struct candidate){e->uri, e->modified_ms};
    b->tokens[b->n++] = (struct sql_token){.token = token};
    return b->n < SQL_BATCH || judge_batch(r, b);
}

static bool sweep_folder(struct round *r, struct owner *owner, struct str folder)
{
    struct batch b = {.owner = owner};
    struct store_entry *files;
    struct err err = {0};
    size_t n;
    TRY(go_on(r));
    if (!store_list_ending(
            r->scratch, r->c->store, folder, STR(".metadata.json"), LIST_MAX, &files, &n, &err))
        return failed(r, "cannot list", folder, &err);
    for (size_t i = 0; i < n; i++)
        TRY(consider(r, &b, &files[i]));
    return judge_batch(r, &b);
}

static struct str metadata_folder(struct round *r, struct str location)
{
    return arena_printf(r->scratch, "%.*s/metadata", STR_ARG(location));
}

/* The folder of the current file, where that is another one beneath the table's location. */
static bool current_folder(struct round *r, const struct sql_object *row, struct str *out)
{
    const char *slash = memrchr(row->metadata_location.p, '/', row->metadata_location.n);
    struct location at, within;
    struct err ignored;
    if (!slash)
        return false;
    *out = str_range(row->metadata_location.p, slash);
    return !str_eq(*out, metadata_folder(r, row->location)) &&
           location_parse(r->scratch, *out, &at, &ignored) &&
           location_parse(r->scratch, row->location, &within, &ignored) &&
           location_within(&at, &within);
}

static bool sweep_object(struct round *r, const struct sql_object *row)
{
    struct owner owner = {.row = row};
    struct str folder;
    arena_reset(r->scratch);
    TRY(sweep_folder(r, &owner, metadata_folder(r, row->location)));
    return !current_folder(r, row, &folder) || sweep_folder(r, &owner, folder);
}

/* The uuid at the end of a folder's name, as place__default makes them. */
static struct str uuid_of(struct str folder)
{
    struct str name = str_behind(folder, '/');
    struct str uuid = str_sub(name, name.n < UUID_TEXT ? 0 : name.n - UUID_TEXT, UUID_TEXT);
    return uuid_is(uuid) ? uuid : (struct str){0};
}

/* Folders of tables that are none: dropped ones, whose files have their changes, and some that
 * failed creates left. */
static bool sweep_strays(struct round *r, struct str folder)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct store_entry *folders;
    struct err err = {0};
    size_t n;
    bool taken;
    TRY(go_on(r));
    if (!store_list_folders(a, r->c->store, folder, LIST_MAX, &folders, &n, &err))
        return failed(r, "cannot list", folder, &err);
    for (size_t i = 0; i < n; i++) {
        struct str uuid = uuid_of(folders[i].uri);
        if (!uuid.p)
            continue;
        if (!sql_uuid_taken(r->c->sql, warehouse(r), uuid, &taken, &err))
            return end_as(r, ROUND_AWAY);
        arena_reset(r->scratch);
        if (!taken)
            TRY(sweep_folder(r, NULL, metadata_folder(r, folders[i].uri)));
    }
    return true;
}

/* -- The round ----------------------------------------------------------------------------------
 */

static void set_position(struct round *r, const char *phase, struct str at)
{
    *(char *)mempcpy(mempcpy(r->position, phase, strlen(phase)), at.p, at.n) = '\0';
}

static bool at_phase(const struct round *r, const char *phase, struct str *at)
{
    struct str position = str_from(r->position);
    if (!str_starts(position, str_from(phase)))
        return false;
    *at = str_sub(position, strlen(phase), position.n);
    return true;
}

static bool tables(struct round *r, struct str at)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_object *rows;
    struct err err = {0};
    size_t n = PAGE;
    int64_t after = 0;
    (void)str_to_i64(at, &after);
    while (n == PAGE) {
        arena_reset(a);
        if (!sql_object_after(a, r->c->sql, warehouse(r), after, PAGE, &rows, &n, &err))
            return end_as(r, ROUND_AWAY);
        for (size_t i = 0; i < n; i++) {
            TRY(sweep_object(r, &rows[i]));
            after = rows[i].id;
            set_position(r, AT_TABLES, arena_printf(a, "%" PRId64, after));
        }
    }
    set_position(r, AT_NAMESPACES, STR(""));
    return true;
}

static bool namespaces(struct round *r, struct str at)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(arena_free) struct arena *kept = arena_new();
    struct sql_ns *rows;
    struct err err = {0};
    size_t n = PAGE;
    struct str after = arena_dup(kept, at);
    if (after.n == 0)
        TRY(sweep_strays(r, store_base(r->c->store)));
    while (n == PAGE) {
        arena_reset(a);
        if (!sql_ns_after(a, r->c->sql, warehouse(r), after, PAGE, &rows, &n, &err))
            return end_as(r, ROUND_AWAY);
        for (size_t i = 0; i < n; i++) {
            TRY(sweep_strays(r, place__folder(a, r->c, &rows[i])));
            set_position(r, AT_NAMESPACES, rows[i].path);
        }
        if (n > 0)
            after = arena_dup(kept, rows[n - 1].path);
    }
    return true;
}

static bool walk(struct round *r)
{
    struct str at;
    if (!at_phase(r, AT_NAMESPACES, &at)) {
        if (!at_phase(r, AT_TABLES, &at))
            at = STR("");
        TRY(tables(r, arena_dup(r->scratch, at)));
        at = STR("");
    }
    return namespaces(r, at);
}

static void tell(const struct round *r, const char *outcome)
{
    struct log_line l;
    bool news = r->forgone || r->deleted || r->failed;
    if (!log_begin(&l, r->failed ? LOG_WARN : news ? LOG_INFO : LOG_DEBUG, "sweep"))
        return;
    log_str(&l, "outcome", str_from(outcome));
    log_i64(&l, "found", (int64_t)r->forgone);
    log_i64(&l, "deleted", (int64_t)r->deleted);
    log_i64(&l, "failed", (int64_t)r->failed);
    log_end(&l);
}

/* The round came to its end, or another run goes on with it where this one noted that it was. */
static int64_t close_round(struct round *r, bool ended)
{
    static const char *const words[] = {
        [ROUND_GOING] = "done",
        [ROUND_AWAY] = "the store or the database is away, to be gone on with",
        [ROUND_LOST] = "goes on in another server",
        [ROUND_STOPPED] = "interrupted, to be gone on with",
    };
    struct sql *sql = r->c->sql;
    struct err ignored;
    tell(r, words[r->end]);
    if (ended)
        metric_add(METRIC_sweep_rounds_total, 1);
    if (r->end == ROUND_LOST)
        return LEASE_MS;
    struct str position = ended ? (struct str){0} : str_from(r->position);
    if (!sql_job_note(sql, warehouse(r), STR("sweep"), position, &ignored) ||
        !sql_lease_give(sql, warehouse(r), STR("sweep"), str_from(r->sweep->holder), &ignored))
        return AWAY_MS;
    return r->end == ROUND_AWAY ? AWAY_MS : 0;
}

/* -- When ---------------------------------------------------------------------------------------
 */

static bool plan(struct round *r, struct str position)
{
    struct err err = {0};
    return sql_job_plan(
               r->c->sql, warehouse(r), STR("sweep"), r->sweep->grace_ms, position, &err) ||
           end_as(r, ROUND_AWAY);
}

/* *due: whether there is a round to go on with, or one begins now; else *wait_ms. */
static bool begin(struct round *r, bool *due, int64_t *wait_ms)
{
    struct sql_job job;
    struct err err = {0};
    *due = false;
    *wait_ms = r->sweep->grace_ms < POLL_MS ? r->sweep->grace_ms : POLL_MS;
    TRY(note(r));
    if (!sql_job_get(r->scratch, r->c->sql, warehouse(r), STR("sweep"), &job, &err))
        return end_as(r, ROUND_AWAY);
    if (!job.planned)
        return plan(r, (struct str){0});
    r->now_ms = job.now_ms;
    if (!job.position.p && job.due_ms > 0) {
        *wait_ms = job.due_ms < POLL_MS ? job.due_ms : POLL_MS;
        return true;
    }
    *due = true;
    if (job.position.p && job.position.n < sizeof(r->position)) {
        set_position(r, "", job.position);
        return true;
    }
    set_position(r, AT_TABLES, STR("0"));
    return plan(r, str_from(r->position));
}

int64_t sweep_run(struct sweep *s)
{
    AUTO(arena_free) struct arena *scratch = arena_new();
    struct round r = {.sweep = s, .c = s->catalog, .scratch = scratch};
    struct err ignored;
    int64_t wait_ms;
    bool due;
    if (s->rate == 0 || s->grace_ms == 0 || atomic_load(&s->stopped))
        return POLL_MS;
    if (!begin(&r, &due, &wait_ms)) {
        if (r.end == ROUND_AWAY && !s->away)
            log_write(LOG_WARN, "sweep", "cannot ask whether one is due: the database is away");
        s->away = r.end == ROUND_AWAY;
        return r.end == ROUND_AWAY ? AWAY_MS : LEASE_MS;
    }
    s->away = false;
    if (due)
        return close_round(&r, walk(&r));
    if (!sql_lease_give(
            s->catalog->sql, warehouse(&r), STR("sweep"), str_from(s->holder), &ignored))
        return AWAY_MS;
    return wait_ms;
}
