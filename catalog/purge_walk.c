/* The purge of one object: snapshots, manifest lists, manifests, files. What leads to a file goes
 * after it, so that a purge that is begun again finds what is left, and passes over what is gone.
 * Nothing is remembered but a filter of what was done, and the files of one step. */
#include <jansson.h>

#include "arena.h"
#include "buf.h"
#include "cache.h"
#include "catalog_priv.h"
#include "clock.h"
#include "digest.h"
#include "log.h"
#include "manifest.h"
#include "metadata.h"
#include "metric.h"
#include "named.h"
#include "part_text.h"
#include "purge_priv.h"

enum {
    MANIFEST_MAX = 256 << 20, /* bytes of one file */
    SEEN = 1 << 19,           /* of the filter; two names in one place are both done again */
    PAGE = 1000,              /* of objects that may be rivals */
    SURVEY_TRIES = 100,
    SURVEY_PAUSE_US = 50000,
    AWAY_AFTER = 3, /* requests to the store that found it away, one after the other */
    TOLD = 10,      /* failures that get a line in the log each */
};

struct walk {
    struct purge *purge;
    const struct sql_mark *mark;
    enum purge_mode mode;
    enum { DATA_GOES, DATA_STAYS } data;
    struct purge_count *count;
    enum purge_end end;
    bool sealed;           /* what looks damaged may be encrypted */
    struct arena *arena;   /* of the whole walk */
    struct arena *scratch; /* of one file */
    struct location root;  /* the object's registered place */
    struct spare spare;    /* what others name there */
    enum { MINDS_NOBODY, MINDS_NOW, MINDS_OTHERS } minds;
    bool begun; /* others were minded once */
    uint64_t *seen;
    unsigned away;    /* requests in a row */
    int64_t renew_us; /* when to take the lease again */
    int64_t next_us;  /* before that no file is deleted */
};

static bool end_as(struct walk *w, enum purge_end end)
{
    w->end = end;
    return false;
}

/* -- Where it may delete ------------------------------------------------------------------------
 */

static bool beneath(struct walk *w, struct str uri)
{
    struct location at;
    struct err ignored;
    return location_parse(w->scratch, uri, &at, &ignored) && location_within(&at, &w->root) &&
           at.path.n > w->root.path.n;
}

static bool has_metadata_there(struct walk *w, bool *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_rival last = {0}, *page = NULL;
    size_t n = PAGE;
    for (bool first = true; n == PAGE && !*out; first = false) {
        arena_reset(a);
        TRY(sql_object_beneath(
            a, w->purge->catalog->sql, w->root.path, first ? NULL : &last, PAGE, &page, &n, err));
        for (size_t i = 0; i < n && !*out; i++) {
            arena_reset(w->scratch);
            *out = beneath(w, page[i].metadata_location);
            last = page[i];
        }
    }
    return true;
}

/* Another object whose location overlaps ours, or whose metadata file lies in it: its files cannot
 * be told from ours. */
static bool has_rival(struct walk *w, bool *out, struct err *err)
{
    struct location real;
    TRY(location_identity(w->scratch, w->mark->location, &real, err));
    const struct sql_place place = {.authority = real.authority, .path = real.path};
    struct str path;
    TRY(sql_place_live(w->scratch, w->purge->catalog->sql, &place, &path, err));
    *out = path.p != NULL;
    return *out || has_metadata_there(w, out, err);
}

static bool check_place(struct walk *w)
{
    struct err err = {.kind = ERR_NONE};
    bool rival;
    arena_reset(w->scratch);
    if (!has_rival(w, &rival, &err))
        return end_as(w, PURGE_AWAY);
    return !rival || end_as(w, PURGE_SPARED);
}

/* Folders that write.data.path and write.metadata.path name are no place of ours: tables may share
 * them, and none of them is registered for its files. */
static bool inside(struct walk *w, struct str uri)
{
    bool is = beneath(w, uri);
    w->count->outside += !is;
    return is;
}

/* Another table names it, though it lies elsewhere. */
static bool is_spared(struct walk *w, struct str uri)
{
    bool is = spare_has(&w->spare, w->scratch, uri);
    w->count->spared += is;
    return is;
}

/* What lies elsewhere in the warehouse stays, but may lead to files of ours. */
static bool may_lead(struct walk *w, struct str uri)
{
    struct err ignored;
    return store_check(w->scratch, w->purge->catalog->store, uri, &ignored);
}

/* -- Going on -----------------------------------------------------------------------------------
 */

static bool go_on(struct walk *w);

static bool asked_to_go_on(void *arg)
{
    return go_on(arg);
}

/* Another server's may be under way: then a purge that has begun waits for that. */
static enum purge_end survey(struct walk *w, const struct purge_asker *asker)
{
    enum purge_end end = purge__survey(w->purge, asker);
    for (int i = 0; end == PURGE_LOST && w->begun && i < SURVEY_TRIES; i++) {
        clock_sleep(SURVEY_PAUSE_US);
        if (!go_on(w))
            return w->end;
        end = purge__survey(w->purge, asker);
    }
    return end;
}

static enum purge_end learn(struct walk *w)
{
    const struct purge_asker asker = {asked_to_go_on, w};
    enum purge_end end = survey(w, &asker);
    if (end == PURGE_GOING && purge__is_blind(w->purge, w->mark->location))
        end = PURGE_UNSURE;
    if (end == PURGE_GOING)
        end = purge__spare(w->purge, &asker, w->mark->location, &w->spare);
    if (end == PURGE_GOING && w->spare.grain == SPARE_ALL)
        end = PURGE_SPARED;
    return end;
}

/* What others name must be known before the first file goes, and again and again until the last
 * one has. */
static bool mind_others(struct walk *w)
{
    w->minds = MINDS_NOW; /* so that it is not asked for within */
    enum purge_end end = learn(w);
    w->minds = MINDS_OTHERS;
    if (w->end != PURGE_GOING)
        return false;
    w->begun = true;
    return end == PURGE_GOING || end_as(w, end);
}

/* Between any two requests to the store. */
static bool go_on(struct walk *w)
{
    struct err err = {.kind = ERR_NONE};
    bool taken;
    if (atomic_load(&w->purge->stopped))
        return end_as(w, PURGE_STOPPED);
    if (clock_mono_us() < w->renew_us)
        return true;
    if (!purge__lease(w->purge, w->mark, &taken, &err))
        return end_as(w, PURGE_AWAY);
    if (!taken)
        return end_as(w, PURGE_LOST);
    w->renew_us = clock_mono_us() + PURGE_RENEW_US;
    return check_place(w) && (w->minds != MINDS_OTHERS || mind_others(w));
}

static void wait_turn(struct walk *w)
{
    clock_wait(w->next_us, &w->purge->stopped);
    w->next_us = clock_mono_us() + 1000000 / w->purge->rate;
}

/* Was it done in this walk? From now on it was. */
static bool done_before(struct walk *w, struct str uri)
{
    uint64_t hash = digest_hash64(uri);
    uint64_t *at = &w->seen[hash % SEEN];
    if (*at == hash)
        return true;
    *at = hash;
    return false;
}

/* -- Files --------------------------------------------------------------------------------------
 */

static void complain(struct walk *w, const char *what, struct str uri, const struct err *err)
{
    metric_add(METRIC_purge_errors_total, 1);
    if (w->count->failed < TOLD)
        log_write(LOG_WARN, "purge", "%s %.*s: %s%s", what, STR_ARG(uri), ERR_ALL(err));
}

/* The file stays, for this time or for good. */
static bool failed(struct walk *w, const char *what, struct str uri, const struct err *err)
{
    complain(w, what, uri, err);
    w->count->failed++;
    w->away = err->kind == ERR_UNAVAILABLE ? w->away + 1 : 0;
    return w->away < AWAY_AFTER || end_as(w, PURGE_AWAY);
}

static bool erase(struct walk *w, struct str uri)
{
    struct err err = {.kind = ERR_NONE};
    wait_turn(w);
    TRY(go_on(w));
    arena_reset(w->scratch);
    if (is_spared(w, uri)) /* since just now */
        return true;
    if (!store_delete(w->purge->catalog->store, uri, &err))
        return failed(w, "cannot delete", uri, &err);
    w->away = 0;
    w->count->deleted++;
    metric_add(METRIC_purge_files_total, 1);
    return true;
}

static bool erase_once(struct walk *w, struct str uri)
{
    arena_reset(w->scratch);
    return !inside(w, uri) || done_before(w, uri) || is_spared(w, uri) || erase(w, uri);
}

/* What leads to other files goes when they are gone. */
static bool erase_after(struct walk *w, struct str uri, struct purge_count before)
{
    if (w->count->unread > before.unread)
        return true;
    if (w->count->failed > before.failed && w->mode == PURGE_TRY)
        return true;
    arena_reset(w->scratch);
    return !inside(w, uri) || is_spared(w, uri) || erase(w, uri);
}

/* Of what is damaged nobody can tell the files, ever, and it goes. What another program may read,
 * since it is encrypted, packed in another way or large, stays. */
static void not_read(struct walk *w, const char *what, struct str uri, const struct err *err)
{
    complain(w, what, uri, err);
    w->count->unread += w->sealed || err->kind == ERR_UNSUPPORTED || err->kind == ERR_TOO_LARGE;
}

/* *there is false when the file was deleted before, or cannot be had now. */
static bool fetch(struct walk *w, struct str uri, struct buf *out, bool *there)
{
    struct err err = {.kind = ERR_NONE};
    TRY(go_on(w));
    *there = store_get(w->purge->catalog->store, uri, MANIFEST_MAX, out, &err);
    if (*there || err.kind == ERR_STORE_NOT_FOUND) {
        w->away = 0;
        return true;
    }
    if (err.kind != ERR_TOO_LARGE)
        return failed(w, "cannot read", uri, &err);
    not_read(w, "its files stay: cannot read", uri, &err);
    return true;
}

/* -- Manifests ----------------------------------------------------------------------------------
 */

/* False: the file is damaged, or the walk ends. */
static bool entries(struct walk *w, struct avro *f, struct err *err)
{
    struct manifest_entry entry;
    for (bool more;;) {
        TRY(manifest_next(f, &entry, &more, err));
        if (!more)
            return true;
        TRY(erase_once(w, entry.path));
    }
}

static bool data_files(struct walk *w, struct str uri)
{
    AUTO(buf_fini) struct buf bytes = {0};
    AUTO(avro_close) struct avro *f = NULL;
    struct err err = {.kind = ERR_NONE};
    bool there;
    TRY(fetch(w, uri, &bytes, &there));
    if (!there || (manifest_open(buf_view(&bytes), &f, &err) && entries(w, f, &err)))
        return true;
    if (w->end != PURGE_GOING)
        return false;
    not_read(w, "its files stay: cannot read manifest", uri, &err);
    return true;
}

static bool manifest(struct walk *w, struct str uri)
{
    const struct purge_count before = *w->count;
    arena_reset(w->scratch);
    if (!may_lead(w, uri) || done_before(w, uri))
        return true;
    if (w->data == DATA_GOES)
        TRY(data_files(w, uri));
    return erase_after(w, uri, before);
}

static bool list_entries(struct walk *w, struct avro *f, struct err *err)
{
    struct manifest_file file;
    for (bool more;;) {
        TRY(manifest_list_next(f, &file, &more, err));
        if (!more)
            return true;
        TRY(manifest(w, file.path));
    }
}

static bool manifests(struct walk *w, struct str uri)
{
    AUTO(buf_fini) struct buf bytes = {0};
    AUTO(avro_close) struct avro *f = NULL;
    struct err err = {.kind = ERR_NONE};
    bool there;
    TRY(fetch(w, uri, &bytes, &there));
    if (!there || (manifest_list_open(buf_view(&bytes), &f, &err) && list_entries(w, f, &err)))
        return true;
    if (w->end != PURGE_GOING)
        return false;
    not_read(w, "its files stay: cannot read manifest list", uri, &err);
    return true;
}

static bool manifest_list(struct walk *w, struct str uri)
{
    const struct purge_count before = *w->count;
    arena_reset(w->scratch);
    if (!may_lead(w, uri) || done_before(w, uri))
        return true;
    TRY(manifests(w, uri));
    return erase_after(w, uri, before);
}

/* -- The metadata -------------------------------------------------------------------------------
 */

static bool listed_manifest(void *arg, struct str uri)
{
    return manifest(arg, uri);
}

static bool snapshots(struct walk *w, const struct metadata *m)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct parts *parts = metadata_parts(m, PARTS_SNAPSHOTS);
    struct str uri;
    for (size_t i = 0; i < parts->n; i++) {
        arena_reset(a);
        if (part_text(a, &parts->v[i], "manifest-list", &uri))
            TRY(manifest_list(w, uri));
        else
            TRY(part_texts(a, &parts->v[i], "manifests", listed_manifest, w)); /* version 1 */
    }
    return true;
}

static bool members(
    struct walk *w, const struct metadata *m, enum parts_kind kind, const char *name)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct parts *parts = metadata_parts(m, kind);
    struct str uri;
    for (size_t i = 0; i < parts->n; i++) {
        arena_reset(a);
        if (part_text(a, &parts->v[i], name, &uri) && !str_eq(uri, w->mark->metadata_location))
            TRY(erase_once(w, uri));
    }
    return true;
}

static bool nothing_left(struct walk *w)
{
    return w->count->failed == 0 || w->mode == PURGE_LAST_TRY || end_as(w, PURGE_LEFT);
}

static bool all_files(struct walk *w, const struct metadata *m)
{
    TRY(snapshots(w, m));
    TRY(nothing_left(w));
    TRY(members(w, m, PARTS_STATISTICS, "statistics-path"));
    TRY(members(w, m, PARTS_PARTITION_STATS, "statistics-path"));
    TRY(members(w, m, PARTS_METADATA_LOG, "metadata-file"));
    TRY(nothing_left(w));
    if (w->count->unread == 0)
        TRY(erase_once(w, w->mark->metadata_location));
    return nothing_left(w);
}

/* Java's rule: what is there and is not "true" is false. */
static bool keeps_data(const json_t *properties)
{
    const json_t *value = json_object_get(properties, "gc.enabled");
    return value && !str_eq_nocase(str_from(json_string_value(value)), STR("true"));
}

/* Metadata that is gone was deleted by this purge, or by somebody who knew what he did. What cannot
 * be read today will not be tomorrow, unless it was the store that refused. */
static bool no_metadata(struct walk *w, struct str uri, const struct err *err)
{
    switch ((int)err->kind) {
    case ERR_UNAVAILABLE:
        complain(w, "cannot read", uri, err);
        return end_as(w, PURGE_AWAY);
    case ERR_STORE_NOT_FOUND:
        return end_as(w, PURGE_DONE);
    case ERR_BAD_REQUEST:
    case ERR_INVALID_ARGUMENT:
    case ERR_TOO_LARGE:
        complain(w, "its files stay: cannot read metadata", uri, err);
        return end_as(w, PURGE_DONE);
    default:
        TRY(failed(w, "cannot read", uri, err));
        return end_as(w, w->mode == PURGE_TRY ? PURGE_LEFT : PURGE_DONE);
    }
}

static bool walk(struct walk *w)
{
    AUTO(metadata_unref) struct metadata *m = NULL;
    struct catalog *c = w->purge->catalog;
    struct str uri = w->mark->metadata_location;
    struct err err = {.kind = ERR_NONE};
    if (!location_parse(w->arena, w->mark->location, &w->root, &err))
        return end_as(w, PURGE_DONE); /* of a store that is none any more */
    TRY(go_on(w));
    if (!cache_get(&c->cached, uri, &m, &err))
        return no_metadata(w, uri, &err);
    cache_drop(&c->cached, uri);
    w->sealed = named_is_sealed(m);
    w->data = keeps_data(metadata_head(m)->properties) ? DATA_STAYS : DATA_GOES;
    return mind_others(w) && all_files(w, m);
}

enum purge_end purge__object(
    struct purge *p, const struct sql_mark *mark, enum purge_mode mode, struct purge_count *count)
{
    AUTO(arena_free) struct arena *arena = arena_new();
    AUTO(arena_free) struct arena *scratch = arena_new();
    struct walk w = {
        .purge = p,
        .mark = mark,
        .mode = mode,
        .count = count,
        .arena = arena,
        .scratch = scratch,
        .seen = xcalloc(SEEN, sizeof(uint64_t)),
    };
    bool ok = walk(&w);
    spare_fini(&w.spare);
    xfree(w.seen);
    return ok ? PURGE_DONE : w.end;
}
