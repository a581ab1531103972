#include "metadata.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "digest.h"
#include "metadata_priv.h"
#include "metric.h"
#include "scan.h"

const char *const parts_names[PARTS_COUNT] = {
    [PARTS_SCHEMAS] = "schemas",
    [PARTS_SPECS] = "partition-specs",
    [PARTS_ORDERS] = "sort-orders",
    [PARTS_SNAPSHOTS] = "snapshots",
    [PARTS_STATISTICS] = "statistics",
    [PARTS_PARTITION_STATS] = "partition-statistics",
    [PARTS_KEYS] = "encryption-keys",
    [PARTS_SNAPSHOT_LOG] = "snapshot-log",
    [PARTS_METADATA_LOG] = "metadata-log",
    [PARTS_VERSIONS] = "versions",
    [PARTS_VERSION_LOG] = "version-log",
};

enum {
    FINDS = 8,  /* searches that walk the array before an index pays for itself */
    SMALL = 32, /* below this walking is as fast */
    TREE = 6,   /* a tree takes about so many times its text */
};

/* -- Making and ending ------------------------------------------------------------------------ */

/* Releases what a half-filled one refers to. */
static void new_fini(struct metadata_new *new)
{
    xfree(TAKE(new->bytes));
    for (int k = 0; k < PARTS_COUNT; k++)
        xfree(TAKE(new->parts[k].v));
    xfree(TAKE(new->members));
    json_decref(TAKE(new->head.properties));
    json_decref(TAKE(new->head.refs));
}

static void etag_of(
    struct str location, struct str uuid, enum variant v, char out[static METADATA_ETAG + 1])
{
    const struct str parts[] = {location, uuid};
    uint8_t sum[DIGEST_SHA256];
    char hex[2 * 12 + 1];
    digest_sha256_parts(parts, ARRAY_LEN(parts), sum);
    digest_hex(sum, 12, hex);
    snprintf(out, METADATA_ETAG + 1, "W/\"%s%c\"", hex, v == VARIANT_REFS ? 'r' : 'a');
}

static struct lazy *lazy_new(void)
{
    struct lazy *lazy = xcalloc(1, sizeof(*lazy));
    pthread_mutex_init(&lazy->lock, NULL);
    pthread_mutex_init(&lazy->packing, NULL);
    return lazy;
}

static struct str keep_string(char **at, struct str s)
{
    if (!s.p)
        return s;
    char *p = *at;
    if (s.n)
        memcpy(p, s.p, s.n);
    *at += s.n;
    return (struct str){p, s.n};
}

static size_t first_cost(const struct metadata *m)
{
    size_t n = sizeof(*m) + sizeof(*m->lazy) + m->n + m->n_members * sizeof(*m->members);
    for (int k = 0; k < PARTS_COUNT; k++)
        n += m->parts[k].n * sizeof(struct part);
    n += TREE * (metadata_member(m, "properties").n + metadata_member(m, "refs").n);
    return n + m->location.n + m->head.uuid.n + m->head.location.n;
}

struct metadata *metadata_from_draft(struct metadata_new *take)
{
    struct metadata *m = xcalloc(1, sizeof(*m));
    ref_init(&m->ref);
    m->kind = take->kind;
    m->bytes = TAKE(take->bytes);
    m->n = take->n;
    m->head = take->head;
    m->strings = xmalloc(take->location.n + take->head.uuid.n + take->head.location.n);
    char *at = m->strings;
    m->location = keep_string(&at, take->location);
    m->head.uuid = keep_string(&at, take->head.uuid);
    m->head.location = keep_string(&at, take->head.location);
    if (!m->head.properties)
        m->head.properties = json_object();
    if (!m->head.refs)
        m->head.refs = json_object();
    memcpy(m->parts, take->parts, sizeof(m->parts));
    m->members = TAKE(take->members);
    m->n_members = take->n_members;
    for (int v = 0; v < METADATA_VARIANTS; v++)
        etag_of(m->location, m->head.uuid, (enum variant)v, m->etags[v]);
    m->lazy = lazy_new();
    atomic_init(&m->lazy->cost, first_cost(m));
    *take = (struct metadata_new){0};
    return m;
}

struct metadata *metadata_ref(struct metadata *m)
{
    ref_get(&m->ref);
    return m;
}

struct weak *metadata__weak(struct metadata *m)
{
    struct lazy *lazy = m->lazy;
    pthread_mutex_lock(&lazy->lock);
    if (!lazy->weak) {
        lazy->weak = xcalloc(1, sizeof(*lazy->weak));
        ref_init(&lazy->weak->ref);
        pthread_mutex_init(&lazy->weak->lock, NULL);
        atomic_init(&lazy->weak->m, m);
    }
    struct weak *w = lazy->weak;
    ref_get(&w->ref);
    pthread_mutex_unlock(&lazy->lock);
    return w;
}

/* The lock keeps the object from being freed between the look and the reference. */
struct metadata *weak__metadata(struct weak *w)
{
    pthread_mutex_lock(&w->lock);
    struct metadata *m = atomic_load_explicit(&w->m, memory_order_relaxed);
    int n = m ? atomic_load_explicit(&m->ref.n, memory_order_relaxed) : 0;
    while (n > 0 && !atomic_compare_exchange_weak_explicit(
                        &m->ref.n, &n, n + 1, memory_order_relaxed, memory_order_relaxed))
        continue;
    pthread_mutex_unlock(&w->lock);
    return n > 0 ? m : NULL;
}

void weak__unref(struct weak **w)
{
    struct weak *gone = TAKE(*w);
    if (!gone || !ref_put(&gone->ref))
        return;
    pthread_mutex_destroy(&gone->lock);
    xfree(gone);
}

/* Nobody holds m any more; after this nobody can. */
static void weak_cut(struct weak *w)
{
    pthread_mutex_lock(&w->lock);
    atomic_store_explicit(&w->m, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&w->lock);
}

void metadata_unref(struct metadata **m)
{
    struct metadata *gone = TAKE(*m);
    if (!gone || !ref_put(&gone->ref))
        return;
    if (gone->lazy->weak)
        weak_cut(gone->lazy->weak);
    struct metadata_new rest = {.bytes = gone->bytes, .head = gone->head, .members = gone->members};
    memcpy(rest.parts, gone->parts, sizeof(rest.parts));
    new_fini(&rest);
    metadata__lazy_free(gone->lazy);
    xfree(gone->strings);
    xfree(gone);
}

static void release(void *m)
{
    struct metadata *mine = m;
    metadata_unref(&mine);
}

const struct metadata *metadata_hold(struct arena *a, struct metadata *m_take)
{
    return arena_hold(a, m_take, release);
}

/* -- Reading a file --------------------------------------------------------------------------- */

static bool unpacked(struct str bytes, size_t max, char **out, size_t *n_out, struct err *err)
{
    if (gzip__is(bytes))
        return gzip__unpack(bytes, max, out, n_out, err);
    if (bytes.n > max)
        return err_set(
            err, ERR_TOO_LARGE, "the file has %zu bytes, the limit is %zu", bytes.n, max);
    if (!bytes.n)
        return err_set(err, ERR_BAD_REQUEST, "the file is empty");
    *out = xmalloc(bytes.n);
    memcpy(*out, bytes.p, bytes.n);
    *n_out = bytes.n;
    return true;
}

static void reading_fini(struct reading *r)
{
    new_fini(&r->new);
}

static bool fix(struct reading *r, struct str location, struct err *err)
{
    char *fixed = NULL;
    size_t n = 0;
    TRY(metadata__fix(r, location, &fixed, &n, err));
    reading_fini(r);
    *r = (struct reading){
        .new = {.bytes = fixed, .n = n}
    };
    return true;
}

/* Once as the file is and, where something had to be put right, again. */
static bool read_fixed(struct arena *a, struct reading *r, struct str location, struct err *err)
{
    for (unsigned round = 0; round < FIX_ROUNDS; round++) {
        TRY(metadata__read(a, (struct str){r->new.bytes, r->new.n}, r, err));
        if (!r->fixes)
            return true;
        TRY(fix(r, location, err));
    }
    TRY(metadata__read(a, (struct str){r->new.bytes, r->new.n}, r, err));
    if (r->fixes)
        return err_set(err, ERR_INTERNAL, "the document cannot be brought to its list form");
    return true;
}

static bool read_all(struct arena *a, struct reading *r, struct str bytes, struct str location,
    size_t max, struct err *err)
{
    TRY(unpacked(bytes, max, &r->new.bytes, &r->new.n, err));
    TRY(read_fixed(a, r, location, err));
    return metadata__check(&r->new, err);
}

bool metadata_from_file_max(
    struct str bytes, struct str location, size_t max, struct metadata **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(reading_fini) struct reading r = {0};
    if (max > scan_metadata_limits.bytes)
        max = scan_metadata_limits.bytes;
    if (!read_all(a, &r, bytes, location, max, err)) {
        struct str shown = str_utf8_cut(location, 400);
        return err_wrap(err, "Cannot read the %s metadata %.*s",
            r.new.kind == METADATA_VIEW ? "view" : "table", STR_ARG(shown));
    }
    r.new.location = location;
    *out = metadata_from_draft(&r.new);
    return true;
}

bool metadata_from_file(
    struct str bytes, struct str location, struct metadata **out, struct err *err)
{
    return metadata_from_file_max(bytes, location, METADATA_USUAL_MAX, out, err);
}

/* -- Looking at it ---------------------------------------------------------------------------- */

enum metadata_kind metadata_kind(const struct metadata *m)
{
    return m->kind;
}

const struct head *metadata_head(const struct metadata *m)
{
    return &m->head;
}

const struct parts *metadata_parts(const struct metadata *m, enum parts_kind kind)
{
    return &m->parts[kind];
}

struct str metadata_member(const struct metadata *m, const char *name)
{
    struct str key = str_from(name);
    for (size_t i = 0; i < m->n_members; i++)
        if (str_eq(m->members[i].key, key))
            return m->members[i].value;
    return (struct str){NULL, 0};
}

size_t metadata_members(const struct metadata *m, const struct member_slice **out)
{
    *out = m->members;
    return m->n_members;
}

struct str metadata_location(const struct metadata *m)
{
    return m->location;
}

bool metadata_serves(const struct metadata *m, int64_t object, struct str uuid)
{
    const struct lazy *l = m->lazy;
    return object < atomic_load_explicit(&l->bound, memory_order_relaxed) &&
           (str_eq(m->head.uuid, uuid) ||
               object <= atomic_load_explicit(&l->other, memory_order_relaxed));
}

static void raise_to(_Atomic(int64_t) *to, int64_t value)
{
    int64_t was = atomic_load_explicit(to, memory_order_relaxed);
    while (was < value && !atomic_compare_exchange_weak(to, &was, value))
        ;
}

void metadata_set_bound(const struct metadata *m, int64_t bound)
{
    raise_to(&m->lazy->bound, bound);
}

void metadata_set_read_for(const struct metadata *m, int64_t object, struct str uuid)
{
    raise_to(&m->lazy->bound, object + 1);
    if (!str_eq(m->head.uuid, uuid))
        raise_to(&m->lazy->other, object);
}

struct str metadata_etag(const struct metadata *m, enum variant v)
{
    return (struct str){m->etags[v], METADATA_ETAG};
}

struct str metadata_etag_of(
    struct arena *a, struct str metadata_location, struct str uuid, enum variant v)
{
    char *tag = arena_alloc(a, METADATA_ETAG + 1);
    etag_of(metadata_location, uuid, v, tag);
    return (struct str){tag, METADATA_ETAG};
}

size_t metadata_cost(const struct metadata *m)
{
    return atomic_load_explicit(&m->lazy->cost, memory_order_relaxed);
}

static int by_id(const void *va, const void *vb, void *parts)
{
    const struct part *v = parts;
    const struct part *a = &v[*(const uint32_t *)va], *b = &v[*(const uint32_t *)vb];
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a < b ? -1 : a > b; /* the first of equal ones is found, as by walking */
}

static const uint32_t *sorted(const struct metadata *m, enum parts_kind kind)
{
    struct lazy *lazy = m->lazy;
    uint32_t *v = atomic_load_explicit(&lazy->sorted[kind], memory_order_acquire);
    if (v)
        return v;
    pthread_mutex_lock(&lazy->lock);
    v = atomic_load_explicit(&lazy->sorted[kind], memory_order_relaxed);
    if (!v) {
        size_t n = m->parts[kind].n;
        v = xmalloc(n * sizeof(*v));
        for (size_t i = 0; i < n; i++)
            v[i] = (uint32_t)i;
        qsort_r(v, n, sizeof(*v), by_id, m->parts[kind].v);
        atomic_fetch_add_explicit(&lazy->cost, n * sizeof(*v), memory_order_relaxed);
        atomic_store_explicit(&lazy->sorted[kind], v, memory_order_release);
    }
    pthread_mutex_unlock(&lazy->lock);
    return v;
}

const struct part *metadata_find(const struct metadata *m, enum parts_kind kind, int64_t id)
{
    const struct parts *parts = &m->parts[kind];
    if (parts->n <= SMALL ||
        atomic_fetch_add_explicit(&m->lazy->finds[kind], 1, memory_order_relaxed) < FINDS) {
        for (size_t i = 0; i < parts->n; i++)
            if (parts->v[i].id == id)
                return &parts->v[i];
        return NULL;
    }
    const uint32_t *order = sorted(m, kind);
    size_t low = 0, high = parts->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parts->v[order[middle]].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < parts->n && parts->v[order[low]].id == id ? &parts->v[order[low]] : NULL;
}
