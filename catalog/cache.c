#include "cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base.h"
#include "buf.h"
#include "clock.h"
#include "digest.h"
#include "lane.h"
#include "metadata_priv.h"
#include "metric.h"
#include "scan.h"
#include "store.h"
#include "uuid.h"

enum { SHARDS = 16, FIRST_BUCKETS = 64, SHARE = 8 /* one entry at most an eighth */ };

/* One loader, and those who wait for it. The last of them frees it. */
struct load {
    pthread_cond_t done_cond;
    unsigned users;
    bool done, ok;
    bool dropped;       /* the entry is gone already */
    struct metadata *m; /* a reference, when ok */
    struct err err;
};

enum entry_kind { ENTRY_LOADING, ENTRY_KEPT, ENTRY_WEAK };

struct entry {
    struct entry *next;          /* in its bucket */
    struct entry *newer, *older; /* kept: by use; weak: in the list of weak ones */
    uint64_t hash;
    int64_t warehouse;
    enum entry_kind kind;
    union {
        struct load *load;
        struct metadata *m; /* a reference */
        struct weak *weak;  /* a reference */
    };
    size_t cost; /* as it is counted now */
    int64_t used_us;
    size_t n;
    char location[];
};

struct list {
    struct entry *newest, *oldest;
};

struct shard {
    pthread_mutex_t lock;
    struct entry **buckets;
    size_t n_buckets, n;
    struct list kept, weak;
    char apart[64]; /* no line shared with the next lock */
};

struct cache {
    size_t max, file_max;
    atomic_size_t bytes;
    struct shard shards[SHARDS];
};

/* -- A shard's table and lists; under its lock ----------------------------------------------------
 */

static struct shard *shard_of(struct cache *c, uint64_t hash)
{
    return &c->shards[hash >> 60];
}

static struct entry **bucket_of(struct shard *s, uint64_t hash)
{
    return &s->buckets[hash & (s->n_buckets - 1)];
}

/* What an entry is found by. */
struct key {
    uint64_t hash;
    int64_t warehouse;
    struct str location;
};

static struct key key_of(const struct cache_view *v, struct str location)
{
    return (struct key){digest_hash64(location) ^ (uint64_t)v->warehouse, v->warehouse, location};
}

static struct entry *find(struct shard *s, const struct key *k)
{
    for (struct entry *e = *bucket_of(s, k->hash); e; e = e->next)
        if (e->hash == k->hash && e->warehouse == k->warehouse &&
            str_eq((struct str){e->location, e->n}, k->location))
            return e;
    return NULL;
}

static void rehash(struct shard *s)
{
    struct entry **old = s->buckets;
    size_t n = s->n_buckets;
    s->n_buckets = 2 * n;
    s->buckets = xcalloc(s->n_buckets, sizeof(struct entry *));
    for (size_t i = 0; i < n; i++)
        while (old[i]) {
            struct entry *e = old[i];
            struct entry **to = bucket_of(s, e->hash);
            old[i] = e->next;
            e->next = *to;
            *to = e;
        }
    xfree(old);
}

static struct entry *add(struct shard *s, const struct key *k)
{
    if (s->n >= s->n_buckets)
        rehash(s);
    struct entry *e = xmalloc(sizeof(*e) + k->location.n);
    struct entry **bucket = bucket_of(s, k->hash);
    *e = (struct entry){
        .next = *bucket, .hash = k->hash, .warehouse = k->warehouse, .n = k->location.n};
    if (k->location.n)
        memcpy(e->location, k->location.p, k->location.n);
    *bucket = e;
    s->n++;
    return e;
}

static void list_push(struct list *l, struct entry *e)
{
    e->newer = NULL;
    e->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = e;
    l->newest = e;
}

static void list_cut(struct list *l, struct entry *e)
{
    *(e->newer ? &e->newer->older : &l->newest) = e->older;
    *(e->older ? &e->older->newer : &l->oldest) = e->newer;
}

/* Out of the table; what it referred to was taken over by the caller. */
static void entry_free(struct shard *s, struct entry *e)
{
    struct entry **at = bucket_of(s, e->hash);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    s->n--;
    xfree(e);
}

static void charge(struct cache *c, struct entry *e, size_t cost)
{
    if (cost == e->cost)
        return;
    metric_change(METRIC_cache_bytes, (int64_t)cost - (int64_t)e->cost);
    atomic_fetch_add_explicit(&c->bytes, cost - e->cost, memory_order_relaxed);
    e->cost = cost;
}

/* No longer kept; the reference goes to the caller, who drops it without the lock. */
static struct metadata *stop_keeping(struct cache *c, struct shard *s, struct entry *e)
{
    struct metadata *m = e->m;
    charge(c, e, 0);
    list_cut(&s->kept, e);
    return m;
}

static void forget_weak(struct shard *s, struct entry *e)
{
    list_cut(&s->weak, e);
    weak__unref(&e->weak);
    entry_free(s, e);
}

/* Each new weak entry pays for those whose metadata is gone. */
static void make_weak(struct shard *s, struct entry *e, struct metadata *m)
{
    struct entry *older = NULL;
    for (struct entry *w = s->weak.newest; w; w = older) {
        older = w->older;
        if (weak__is_dead(w->weak))
            forget_weak(s, w);
    }
    e->kind = ENTRY_WEAK;
    e->weak = metadata__weak(m);
    list_push(&s->weak, e);
}

/* -- Keeping and evicting -------------------------------------------------------------------------
 */

static size_t entry_cost(const struct entry *e, const struct metadata *m)
{
    return metadata_cost(m) + sizeof(*e) + e->n;
}

/* A bare entry gets m, as kept or, when it is too large, as weak. */
static void fill(struct cache *c, struct shard *s, struct entry *e, struct metadata *m)
{
    size_t cost = entry_cost(e, m);
    if (cost > c->max / SHARE) {
        make_weak(s, e, m);
        return;
    }
    e->kind = ENTRY_KEPT;
    e->m = metadata_ref(m);
    e->used_us = clock_mono_us();
    charge(c, e, cost);
    list_push(&s->kept, e);
}

/* The shard whose oldest entry is the oldest of all, or NULL when nothing is kept. */
static struct shard *oldest_shard(struct cache *c)
{
    struct shard *found = NULL;
    int64_t when = INT64_MAX;
    for (int i = 0; i < SHARDS; i++) {
        struct shard *s = &c->shards[i];
        pthread_mutex_lock(&s->lock);
        const struct entry *e = s->kept.oldest;
        if (e && (!found || e->used_us < when)) {
            found = s;
            when = e->used_us;
        }
        pthread_mutex_unlock(&s->lock);
    }
    return found;
}

/* Called without a lock. What is evicted while it is in use can still be found by others. */
static void shrink(struct cache *c)
{
    while (atomic_load_explicit(&c->bytes, memory_order_relaxed) > c->max) {
        struct shard *s = oldest_shard(c);
        if (!s)
            return;
        pthread_mutex_lock(&s->lock);
        struct entry *e = s->kept.oldest;
        struct metadata *m = NULL;
        if (e) {
            m = stop_keeping(c, s, e);
            make_weak(s, e, m);
            metric_add(METRIC_cache_evictions_total, 1);
        }
        pthread_mutex_unlock(&s->lock);
        metadata_unref(&m);
    }
}

/* -- Looking up and loading
 * ------------------------------------------------------------------------ */

/* The metadata of a filled entry, a reference; NULL for one that is loading or gone. A dead entry
 * is removed. */
static struct metadata *take_hit(struct cache *c, struct shard *s, struct entry **e)
{
    if (!*e || (*e)->kind == ENTRY_LOADING)
        return NULL;
    if ((*e)->kind == ENTRY_KEPT) {
        list_cut(&s->kept, *e);
        list_push(&s->kept, *e);
        (*e)->used_us = clock_mono_us();
        charge(c, *e, entry_cost(*e, (*e)->m)); /* variants are made after it came here */
        return metadata_ref((*e)->m);
    }
    struct metadata *m = weak__metadata((*e)->weak);
    if (!m) {
        forget_weak(s, TAKE(*e));
        return NULL;
    }
    /* Evicted, yet still asked for. */
    list_cut(&s->weak, *e);
    weak__unref(&(*e)->weak);
    fill(c, s, *e, m);
    return m;
}

static struct load *load_new(void)
{
    struct load *l = xcalloc(1, sizeof(*l));
    pthread_cond_init(&l->done_cond, NULL);
    l->users = 1;
    return l;
}

/* Under the lock, which it gives back. */
static bool load_leave(struct shard *s, struct load *l, struct metadata **out, struct err *err)
{
    bool ok = l->ok;
    if (ok)
        *out = metadata_ref(l->m);
    else
        *err = l->err;
    bool last = --l->users == 0;
    pthread_mutex_unlock(&s->lock);
    if (last) {
        metadata_unref(&l->m);
        pthread_cond_destroy(&l->done_cond);
        xfree(l);
    }
    return ok;
}

static bool wait_for(struct shard *s, struct load *l, struct metadata **out, struct err *err)
{
    l->users++;
    while (!l->done)
        pthread_cond_wait(&l->done_cond, &s->lock);
    if (l->ok)
        metric_add(METRIC_cache_hits_total, 1);
    return load_leave(s, l, out, err);
}

/* Nobody looks at ok, m and err before done is set. */
static void read_file(const struct cache_view *v, struct str location, struct load *l)
{
    size_t max = v->cache->file_max;
    struct buf file = {0};
    int64_t bound = uuid_row_id_bound(); /* of objects that are there before it is read */
    metric_add(METRIC_cache_misses_total, 1);
    l->ok = store_get(v->store, location, max, &file, &l->err) &&
            metadata_from_file_max(buf_view(&file), location, max, &l->m, &l->err);
    if (l->ok)
        metadata_set_bound(l->m, bound);
    buf_fini(&file);
}

/* Called with the lock, which it gives back. */
static bool load_for_all(const struct cache_view *v, struct shard *s, struct entry *e,
    struct str location, struct metadata **out, struct err *err)
{
    struct load *l = load_new();
    e->kind = ENTRY_LOADING;
    e->load = l;
    pthread_mutex_unlock(&s->lock);
    read_file(v, location, l);
    pthread_mutex_lock(&s->lock);
    if (l->ok && !l->dropped) {
        fill(v->cache, s, e, l->m);
        /* What is not kept is read anew by the next load: none would ever be a second one. */
        if (e->kind == ENTRY_WEAK)
            metadata__asked(l->m);
    } else if (!l->dropped) {
        entry_free(s, e);
    }
    l->done = true;
    pthread_cond_broadcast(&l->done_cond);
    return load_leave(s, l, out, err);
}

bool cache_get(
    const struct cache_view *v, struct str location, struct metadata **out, struct err *err)
{
    struct cache *c = v->cache;
    const struct key key = key_of(v, location);
    struct shard *s = shard_of(c, key.hash);
    pthread_mutex_lock(&s->lock);
    struct entry *e = find(s, &key);
    struct metadata *m = take_hit(c, s, &e);
    if (m) {
        pthread_mutex_unlock(&s->lock);
        metric_add(METRIC_cache_hits_total, 1);
        shrink(c);
        *out = m;
        return true;
    }
    if (!lane_may_block()) {
        pthread_mutex_unlock(&s->lock);
        return err_set(err, ERR_WOULD_BLOCK, "metadata is not in the cache");
    }
    if (e)
        return wait_for(s, e->load, out, err);
    TRY(load_for_all(v, s, add(s, &key), location, out, err));
    shrink(c);
    return true;
}

void cache_put(const struct cache_view *v, struct metadata *m)
{
    struct cache *c = v->cache;
    const struct key key = key_of(v, metadata_location(m));
    struct shard *s = shard_of(c, key.hash);
    pthread_mutex_lock(&s->lock);
    struct entry *e = find(s, &key);
    struct metadata *known = take_hit(c, s, &e);
    if (!e)
        fill(c, s, add(s, &key), m);
    pthread_mutex_unlock(&s->lock);
    metadata_unref(&known);
    shrink(c);
}

void cache_drop(const struct cache_view *v, struct str location)
{
    struct cache *c = v->cache;
    const struct key key = key_of(v, location);
    struct shard *s = shard_of(c, key.hash);
    struct metadata *m = NULL;
    pthread_mutex_lock(&s->lock);
    struct entry *e = find(s, &key);
    if (e && e->kind == ENTRY_WEAK) {
        forget_weak(s, e);
    } else if (e) {
        if (e->kind == ENTRY_KEPT)
            m = stop_keeping(c, s, e);
        else
            e->load->dropped = true;
        entry_free(s, e);
    }
    pthread_mutex_unlock(&s->lock);
    metadata_unref(&m);
}

/* -- Beginning and end
 * ----------------------------------------------------------------------------- */

struct cache *cache_new(size_t max, size_t file_max)
{
    struct cache *c = xcalloc(1, sizeof(*c));
    c->max = max;
    c->file_max = file_max < scan_metadata_limits.bytes ? file_max : scan_metadata_limits.bytes;
    for (int i = 0; i < SHARDS; i++) {
        struct shard *s = &c->shards[i];
        pthread_mutex_init(&s->lock, NULL);
        s->n_buckets = FIRST_BUCKETS;
        s->buckets = xcalloc(s->n_buckets, sizeof(struct entry *));
    }
    return c;
}

size_t cache_file_max(const struct cache *c)
{
    return c->file_max;
}

static void shard_fini(struct cache *c, struct shard *s)
{
    while (s->weak.newest)
        forget_weak(s, s->weak.newest);
    while (s->kept.newest) {
        struct entry *e = s->kept.newest;
        struct metadata *m = stop_keeping(c, s, e);
        entry_free(s, e);
        metadata_unref(&m);
    }
    assert(s->n == 0); /* nobody is loading */
    xfree(s->buckets);
    pthread_mutex_destroy(&s->lock);
}

void cache_free(struct cache **c)
{
    struct cache *gone = TAKE(*c);
    if (!gone)
        return;
    for (int i = 0; i < SHARDS; i++)
        shard_fini(gone, &gone->shards[i]);
    xfree(gone);
}
