#include "named.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "digest.h"
#include "hashes.h"
#include "log.h"
#include "manifest.h"
#include "metadata.h"
#include "metric.h"
#include "part_text.h"
#include "store.h"

enum {
    MANIFEST_MAX = 256 << 20, /* bytes of one file */
    SEEN_MAX = 1 << 20,       /* manifests; what comes after is read again */
    TOLD = 3,                 /* files of a table that get a line in the log each */
};

/* -- What was read before -----------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct named_mark mark_of(
    struct arena *a, int64_t sequence_number, const int64_t *ids, size_t n)
{
    struct named_mark mark = {.sequence_number = sequence_number,
        .snapshots = ids,
        .n = n < NAMED_IDS_MAX ? n : NAMED_IDS_MAX};
    mark.snapshots += n - mark.n;
    mark.sorted = ARENA_ARRAY(a, int64_t, mark.n + 1);
    for (size_t i = 0; i < mark.n; i++)
        mark.sorted[i] = mark.snapshots[i];
    qsort(mark.sorted, mark.n, sizeof(int64_t), by_number);
    return mark;
}

static struct named_ids read_ids(struct arena *a, struct str text)
{
    struct named_ids ids = {ARENA_ARRAY(a, int64_t, NAMED_IDS_MAX), 0};
    while (text.p && ids.n < NAMED_IDS_MAX)
        ids.n += str_to_i64(str_cut(&text, ' '), &ids.v[ids.n]);
    return ids;
}

/* "snapshots|adders" */
struct named_mark named_mark_read(struct arena *a, int64_t sequence_number, struct str snapshots)
{
    struct str rest = snapshots;
    struct named_ids ids = read_ids(a, str_cut(&rest, '|')), adders = read_ids(a, rest);
    struct named_mark mark = mark_of(a, sequence_number, ids.v, ids.n);
    mark.adders = adders.v;
    mark.n_adders = adders.n;
    return mark;
}

struct str named_mark_text(struct arena *a, const struct named_mark *mark)
{
    struct buf b;
    buf_init(&b, SIZE_MAX);
    for (size_t i = 0; i < mark->n; i++)
        buf_putf(&b, "%s%" PRId64, i ? " " : "", mark->snapshots[i]);
    for (size_t i = 0; i < mark->n_adders; i++)
        buf_putf(&b, "%c%" PRId64, i ? ' ' : '|', mark->adders[i]);
    return buf_take(&b, a);
}

static bool has_adder(const struct named_mark *mark, int64_t id)
{
    return mark->n_adders > 0 &&
           bsearch(&id, mark->adders, mark->n_adders, sizeof(int64_t), by_number) != NULL;
}

static void add_adders(struct arena *a, const struct named_mark *mark, const struct named_ids *more,
    struct named_mark *next)
{
    int64_t *all = ARENA_ARRAY(a, int64_t, mark->n_adders + more->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < mark->n_adders; i++)
        all[n++] = mark->adders[i];
    for (size_t i = 0; i < more->n; i++)
        if (!has_adder(mark, more->v[i]))
            all[n++] = more->v[i];
    next->adders = all;
    next->n_adders = n < NAMED_IDS_MAX ? n : NAMED_IDS_MAX;
    qsort(all, next->n_adders, sizeof(int64_t), by_number);
}

static bool has_id(const struct named_mark *mark, int64_t id)
{
    return mark->n > 0 && bsearch(&id, mark->sorted, mark->n, sizeof(int64_t), by_number) != NULL;
}

/* Its number does not say when it came. */
static bool is_loose(const struct part *snapshot)
{
    return snapshot->parent == PART_NONE || snapshot->seq <= 0;
}

struct named_mark named_mark_next(struct arena *a, const struct named_mark *mark,
    const struct metadata *m, const struct named_ids *adders)
{
    const struct parts *parts = metadata_parts(m, PARTS_SNAPSHOTS);
    int64_t *ids = ARENA_ARRAY(a, int64_t, mark->n + parts->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < mark->n; i++) {
        const struct part *s = metadata_find(m, PARTS_SNAPSHOTS, mark->snapshots[i]);
        if (!s || !is_loose(s))
            ids[n++] = mark->snapshots[i];
    }
    for (size_t i = 0; i < parts->n; i++)
        if (!is_loose(&parts->v[i]) && !has_id(mark, parts->v[i].id))
            ids[n++] = parts->v[i].id;
    for (size_t i = 0; i < parts->n; i++) /* last: nothing else tells of them */
        if (is_loose(&parts->v[i]))
            ids[n++] = parts->v[i].id;
    struct named_mark next = mark_of(a, metadata_head(m)->last_sequence_number, ids, n);
    add_adders(a, mark, adders, &next);
    return next;
}

static bool snapshot_was_read(const struct named_mark *mark, const struct part *snapshot)
{
    return has_id(mark, snapshot->id) ||
           (!is_loose(snapshot) && snapshot->seq <= mark->sequence_number);
}

/* -- Reading ------------------------------------------------------------------------------------
 */

struct walk {
    const struct named_by *by;
    const struct metadata *metadata;
    struct hashes *seen; /* manifests of this walk */
    enum named_end end;
    unsigned told;
    bool sealed;
    const struct part *snapshot; /* the one at hand */
    bool linked;                 /* it comes from one that was read */
    struct hashes linked_ids;    /* of those */
    struct err *err;
};

/* Does it come, over snapshots that are there, from one that was read? Then what it has taken over
 * was read there, or is in one of these. The parent comes first, or it does not count. */
static bool comes_from_read(struct walk *w, const struct metadata *m, const struct part *snapshot)
{
    const struct named_mark *mark = w->by->mark;
    if (mark->sequence_number == 0 || is_loose(snapshot))
        return false;
    const struct part *parent = metadata_find(m, PARTS_SNAPSHOTS, snapshot->parent);
    if (!has_id(mark, snapshot->parent) &&
        !hashes_has(&w->linked_ids, (uint64_t)snapshot->parent) &&
        !(parent && snapshot_was_read(mark, parent)))
        return false;
    if (snapshot->id > 1) /* which are one to a set */
        (void)hashes_add(&w->linked_ids, (uint64_t)snapshot->id, SEEN_MAX);
    return true;
}

/* A manifest keeps the number, and the snapshot, that it was added with. Numbers alone prove
 * nothing: a snapshot without a parent may have brought manifests of any, and be gone again; one
 * with a parent may take over another table's. Of more adders than there is room for all count. */
static bool manifest_was_read(const struct walk *w, const struct manifest_file *f)
{
    const struct named_mark *mark = w->by->mark;
    if (f->added_snapshot_id == MANIFEST_UNKNOWN || f->added_snapshot_id == w->snapshot->id)
        return false;
    return has_id(mark, f->added_snapshot_id) ||
           (w->linked && f->sequence_number <= mark->sequence_number &&
               (mark->n_adders == NAMED_IDS_MAX || has_adder(mark, f->added_snapshot_id)));
}

static void note_adder(struct walk *w, int64_t id)
{
    struct named_ids *ids = w->by->adders;
    if (!ids || id == MANIFEST_UNKNOWN || metadata_find(w->metadata, PARTS_SNAPSHOTS, id))
        return;
    if (ids->n < NAMED_IDS_MAX && (ids->n == 0 || ids->v[ids->n - 1] != id))
        ids->v[ids->n++] = id;
}

static bool end_as(struct walk *w, enum named_end end)
{
    w->end = end;
    return false;
}

static bool take(struct walk *w, struct str uri)
{
    return w->by->take(w->by->arg, uri) || end_as(w, NAMED_STOPPED);
}

bool named_is_sealed(const struct metadata *m)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct parts *snapshots = metadata_parts(m, PARTS_SNAPSHOTS);
    struct str id;
    if (metadata_parts(m, PARTS_KEYS)->n > 0 ||
        json_object_get(metadata_head(m)->properties, "encryption.key-id"))
        return true;
    for (size_t i = 0; i < snapshots->n; i++)
        if (part_text(a, &snapshots->v[i], "key-id", &id))
            return true;
    return false;
}

/* Nobody can read it today or ever, whoever he is; what another program could read is not meant. */
static bool is_for_nobody(const struct err *err)
{
    return err->kind == ERR_STORE_NOT_FOUND || err->kind == ERR_BAD_REQUEST ||
           err->kind == ERR_INVALID_ARGUMENT;
}

bool named_is_lost(struct store *store, struct str uri, struct err *err)
{
    const char *slash = memrchr(uri.p, '/', uri.n);
    if (err->kind != ERR_STORE_NOT_FOUND || !store_is_file(uri) || !slash ||
        store_file_present(store, str_range(uri.p, slash)))
        return false;
    return !err_wrap(err, "not even its folder is there, as when a volume is not mounted");
}

static void pass_over(struct walk *w, const char *what, struct str uri)
{
    if (w->told++ < TOLD)
        log_write(LOG_WARN, "purge", "nobody can tell what %s %.*s names: %s%s", what, STR_ARG(uri),
            ERR_ALL(w->err));
    err_clear(w->err);
}

/* A file of the table could not be read. */
static bool unreadable(struct walk *w, const char *what, struct str uri)
{
    if (!is_for_nobody(w->err) || (w->sealed && w->err->kind != ERR_STORE_NOT_FOUND)) {
        err_wrap(w->err, "reading %.*s", STR_ARG(uri));
        return end_as(w, NAMED_UNKNOWN);
    }
    pass_over(w, what, uri);
    return true;
}

/* Does a client find it in the warehouse, though this server does not? */
static bool is_in_disguise(const struct catalog *c, struct arena *a, struct str uri)
{
    struct location at[SPELLED_MAX], root[SPELLED_MAX];
    size_t n = location_spelled(a, uri, NULL, at);
    for (size_t i = 0; i < c->n_roots && n > 0; i++) {
        struct str text =
            arena_printf(a, "%.*s%.*s", STR_ARG(c->roots[i].authority), STR_ARG(c->roots[i].path));
        size_t m = location_spelled(a, text, NULL, root);
        for (size_t k = 0; k < n * m; k++)
            if (location_within(&at[k / m], &root[k % m]))
                return true;
    }
    return false;
}

static struct store *reader(
    const struct catalog *c, struct arena *a, struct str uri, struct err *err)
{
    err_clear(err);
    return store_check(a, c->store, uri, err) ? c->store : NULL;
}

/* What lies where this server does not come is not read. *there false: it is that, or nobody can.
 */
static bool fetch(struct walk *w, const char *what, struct str uri, struct buf *out, bool *there)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct catalog *own = w->by->catalog, *other = w->by->other;
    struct store *store = reader(own, a, uri, w->err);
    if (!store && other)
        store = reader(other, a, uri, w->err);
    *there = false;
    if (!store && !is_in_disguise(own, a, uri) && !(other && is_in_disguise(other, a, uri))) {
        pass_over(w, what, uri);
        return true;
    }
    if (!store) {
        err_wrap(w->err, "reading %.*s", STR_ARG(uri));
        return end_as(w, NAMED_UNKNOWN);
    }
    if (!w->by->go_on(w->by->arg))
        return end_as(w, NAMED_STOPPED);
    metric_add(METRIC_purge_reads_total, 1);
    *there = store_get(store, uri, MANIFEST_MAX, out, w->err);
    if (!*there && named_is_lost(store, uri, w->err))
        return end_as(w, NAMED_UNKNOWN);
    return *there || unreadable(w, what, uri);
}

static bool manifest_entries(struct walk *w, struct avro *f)
{
    struct manifest_entry entry;
    for (bool more;;) {
        TRY(manifest_next(f, &entry, &more, w->err));
        if (!more)
            return true;
        TRY(take(w, entry.path));
    }
}

/* True, or the walk is at its end, or reading failed with *w->err. */
static bool settle(struct walk *w, bool ok, const char *what, struct str uri)
{
    return ok || (w->end == NAMED_ALL && unreadable(w, what, uri));
}

static bool manifest(struct walk *w, struct str uri)
{
    AUTO(buf_fini) struct buf bytes = {0};
    AUTO(avro_close) struct avro *f = NULL;
    bool there;
    if (hashes_add(w->seen, digest_hash64(uri), SEEN_MAX))
        return true;
    TRY(take(w, uri));
    TRY(fetch(w, "manifest", uri, &bytes, &there));
    if (!there)
        return true;
    bool ok = manifest_open(buf_view(&bytes), &f, w->err) && manifest_entries(w, f);
    return settle(w, ok, "manifest", uri);
}

static bool list_entries(struct walk *w, struct avro *f)
{
    struct manifest_file file;
    for (bool more;;) {
        TRY(manifest_list_next(f, &file, &more, w->err));
        if (!more)
            return true;
        if (manifest_was_read(w, &file))
            continue;
        size_t before = w->seen->n;
        TRY(manifest(w, file.path));
        if (w->seen->n > before)
            note_adder(w, file.added_snapshot_id);
    }
}

static bool manifest_list(struct walk *w, struct str uri)
{
    AUTO(buf_fini) struct buf bytes = {0};
    AUTO(avro_close) struct avro *f = NULL;
    bool there;
    if (w->by->seen && hashes_add(w->seen, digest_hash64(uri), SEEN_MAX))
        return true;
    TRY(take(w, uri));
    TRY(fetch(w, "manifest list", uri, &bytes, &there));
    if (!there)
        return true;
    bool ok = manifest_list_open(buf_view(&bytes), &f, w->err) && list_entries(w, f);
    return settle(w, ok, "manifest list", uri);
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
        const struct part *snapshot = &parts->v[i];
        if (snapshot_was_read(w->by->mark, snapshot))
            continue;
        arena_reset(a);
        w->snapshot = snapshot;
        w->linked = comes_from_read(w, m, snapshot);
        if (part_text(a, snapshot, "manifest-list", &uri))
            TRY(manifest_list(w, uri));
        else
            TRY(part_texts(a, snapshot, "manifests", listed_manifest, w));
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
        if (part_text(a, &parts->v[i], name, &uri))
            TRY(take(w, uri));
    }
    return true;
}

enum named_end named_files(const struct named_by *by, const struct metadata *m, struct err *err)
{
    struct hashes seen = {0};
    struct walk w = {.by = by,
        .metadata = m,
        .seen = by->seen ? by->seen : &seen,
        .err = err,
        .end = NAMED_ALL,
        .sealed = named_is_sealed(m)};
    bool ok = take(&w, metadata_location(m)) &&
              members(&w, m, PARTS_METADATA_LOG, "metadata-file") &&
              members(&w, m, PARTS_STATISTICS, "statistics-path") &&
              members(&w, m, PARTS_PARTITION_STATS, "statistics-path") && snapshots(&w, m);
    hashes_fini(&seen);
    hashes_fini(&w.linked_ids);
    return ok ? NAMED_ALL : w.end;
}

enum named_end named_metadata(
    const struct named_by *by, struct str uri, struct metadata **out, struct err *err)
{
    AUTO(buf_fini) struct buf bytes = {0};
    size_t max = by->catalog->metadata_max;
    *out = NULL;
    if (!by->go_on(by->arg))
        return NAMED_STOPPED;
    metric_add(METRIC_purge_reads_total, 1);
    if (store_get(by->catalog->store, uri, max, &bytes, err) &&
        metadata_from_file_max(buf_view(&bytes), uri, max, out, err))
        return NAMED_ALL;
    return is_for_nobody(err) ? NAMED_ALL : NAMED_UNKNOWN;
}
