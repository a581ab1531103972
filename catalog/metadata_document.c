#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "arena.h"
#include "base.h"
#include "lane.h"
#include "log.h"
#include "metadata_priv.h"

enum {
    WORTH_IT = 4096,          /* smaller documents are not compressed */
    LARGE = 1024 * 1024,      /* compressed with less effort */
    FAST_LANE_MAX = 4 * LARGE /* more takes too long in a worker */
};

void metadata__lazy_free(struct lazy *lazy)
{
    xfree(atomic_load(&lazy->refs));
    for (int v = 0; v < METADATA_VARIANTS; v++)
        xfree(atomic_load(&lazy->packed[v]));
    for (int k = 0; k < PARTS_COUNT; k++)
        xfree(atomic_load(&lazy->sorted[k]));
    weak__unref(&lazy->weak);
    pthread_mutex_destroy(&lazy->lock);
    pthread_mutex_destroy(&lazy->packing);
    xfree(lazy);
}

/* -- The document without snapshots that no ref names ------------------------------------------ */

struct ids {
    int64_t *v;
    size_t n;
};

static int id_order(const void *va, const void *vb)
{
    int64_t a = *(const int64_t *)va, b = *(const int64_t *)vb;
    return a < b ? -1 : a > b;
}

static struct ids named_by_refs(const struct metadata *m)
{
    struct ids ids = {xmalloc(json_object_size(m->head.refs) * sizeof(int64_t)), 0};
    const char *name;
    json_t *ref;
    json_object_foreach(m->head.refs, name, ref)
    {
        const json_t *id = json_object_get(ref, "snapshot-id");
        if (json_is_integer(id))
            ids.v[ids.n++] = json_integer_value(id);
    }
    qsort(ids.v, ids.n, sizeof(*ids.v), id_order);
    return ids;
}

static bool is_named(const struct ids *ids, int64_t id)
{
    return ids->n && bsearch(&id, ids->v, ids->n, sizeof(id), id_order);
}

/* Pieces in the making: text up to `at` was dealt with. */
struct cutter {
    struct pieces *out;
    size_t cap;
    const char *at;
};

static void add_piece(struct cutter *c, struct str piece)
{
    struct str *last = c->out->n ? &c->out->v[c->out->n - 1] : NULL;
    if (!piece.n)
        return;
    if (last && last->p + last->n == piece.p) {
        last->n += piece.n;
        return;
    }
    if (c->out->n == c->cap) {
        c->cap *= 2;
        c->out = xrealloc(c->out, sizeof(*c->out) + c->cap * sizeof(struct str));
    }
    c->out->v[c->out->n++] = piece;
}

/* Elements that stay and are neighbours stay one piece, with what stands between them. */
static void cut_array(struct cutter *c, const struct parts *parts, const struct ids *ids)
{
    if (!parts->n)
        return;
    size_t runs = 0;
    const char *end = parts->v[parts->n - 1].p + parts->v[parts->n - 1].n;
    add_piece(c, str_range(c->at, parts->v[0].p));
    for (size_t i = 0; i < parts->n; i++) {
        if (!is_named(ids, parts->v[i].id))
            continue;
        size_t last = i;
        while (last + 1 < parts->n && is_named(ids, parts->v[last + 1].id))
            last++;
        if (runs++)
            add_piece(c, STR(","));
        add_piece(c, str_range(parts->v[i].p, parts->v[last].p + parts->v[last].n));
        i = last;
    }
    c->at = end;
}

static int by_place(const void *va, const void *vb)
{
    const struct parts *a = *(const struct parts *const *)va, *b = *(const struct parts *const *)vb;
    const char *pa = a->n ? a->v[0].p : NULL, *pb = b->n ? b->v[0].p : NULL;
    return pa < pb ? -1 : pa > pb;
}

static struct pieces *cut_refs(const struct metadata *m)
{
    enum { ROOM = 16 };
    const struct parts *cut[] = {
        &m->parts[PARTS_SNAPSHOTS], &m->parts[PARTS_STATISTICS], &m->parts[PARTS_PARTITION_STATS]};
    struct ids ids = named_by_refs(m);
    struct cutter c = {.cap = ROOM, .at = m->bytes};
    c.out = xmalloc(sizeof(*c.out) + ROOM * sizeof(struct str));
    c.out->n = 0;
    qsort(cut, ARRAY_LEN(cut), sizeof(cut) / ARRAY_LEN(cut), by_place);
    for (size_t i = 0; i < ARRAY_LEN(cut); i++)
        cut_array(&c, cut[i], &ids);
    add_piece(&c, str_range(c.at, m->bytes + m->n));
    xfree(ids.v);
    return c.out;
}

static const struct pieces *refs_pieces(const struct metadata *m)
{
    struct lazy *lazy = m->lazy;
    struct pieces *p = atomic_load_explicit(&lazy->refs, memory_order_acquire);
    if (p)
        return p;
    pthread_mutex_lock(&lazy->lock);
    p = atomic_load_explicit(&lazy->refs, memory_order_relaxed);
    if (!p) {
        p = cut_refs(m);
        atomic_fetch_add_explicit(
            &lazy->cost, sizeof(*p) + p->n * sizeof(struct str), memory_order_relaxed);
        atomic_store_explicit(&lazy->refs, p, memory_order_release);
    }
    pthread_mutex_unlock(&lazy->lock);
    return p;
}

size_t metadata_document(
    struct arena *a, const struct metadata *m, enum variant v, struct str **pieces)
{
    struct str whole = {m->bytes, m->n};
    const struct str *from = &whole;
    size_t n = 1;
    if (v == VARIANT_REFS) {
        const struct pieces *refs = refs_pieces(m);
        from = refs->v;
        n = refs->n;
    }
    *pieces = arena_alloc(a, n * sizeof(**pieces));
    memcpy(*pieces, from, n * sizeof(**pieces));
    return n;
}

bool metadata_holds(const struct metadata *m, struct str text)
{
    return memmem(m->bytes, m->n, text.p, text.n) != NULL;
}

/* -- Compressed -------------------------------------------------------------------------------- */

static void feed(z_stream *z, struct str piece, int flush)
{
    memcpy(&z->next_in, &piece.p, sizeof(piece.p)); /* zlib does not write there */
    z->avail_in = (uInt)piece.n;                    /* documents stay below 4 GB */
    deflate(z, flush);
}

static struct packed *pack(const struct str *v, size_t n)
{
    size_t plain = 0;
    uLong crc = crc32(0, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        plain += v[i].n;
        crc = crc32_z(crc, (const Bytef *)v[i].p, v[i].n);
    }
    z_stream z = {0};
    int level = plain > LARGE ? Z_BEST_SPEED : Z_DEFAULT_COMPRESSION;
    if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t cap = deflateBound(&z, plain) + 64; /* and the flush at the end */
    struct packed *p = xmalloc(sizeof(*p) + cap);
    z.next_out = (Bytef *)p->bytes;
    z.avail_out = cap > UINT_MAX ? UINT_MAX : (uInt)cap;
    for (size_t i = 0; i < n; i++)
        feed(&z, v[i], Z_NO_FLUSH);
    feed(&z, STR(""), Z_FULL_FLUSH);
    size_t used = cap - z.avail_out;
    bool complete = z.avail_out && !z.avail_in;
    deflateEnd(&z);
    if (!complete) {
        xfree(p);
        return NULL;
    }
    p = xrealloc(p, sizeof(*p) + used);
    p->deflated = (struct deflated){
        {p->bytes, used},
        (uint32_t)crc, plain
    };
    return p;
}

static const struct packed *packed(const struct metadata *m, enum variant v)
{
    const struct pieces *refs = v == VARIANT_REFS ? refs_pieces(m) : NULL;
    struct str whole = {m->bytes, m->n};
    struct lazy *lazy = m->lazy;
    pthread_mutex_lock(&lazy->packing);
    struct packed *p = atomic_load_explicit(&lazy->packed[v], memory_order_relaxed);
    if (!p) {
        p = pack(refs ? refs->v : &whole, refs ? refs->n : 1);
        if (p)
            atomic_fetch_add_explicit(
                &lazy->cost, sizeof(*p) + p->deflated.segment.n, memory_order_relaxed);
        atomic_store_explicit(&lazy->packed[v], p, memory_order_release);
    }
    pthread_mutex_unlock(&lazy->packing);
    return p;
}

static size_t plain_size(const struct metadata *m, enum variant v)
{
    if (v == VARIANT_ALL)
        return m->n;
    const struct pieces *refs = refs_pieces(m);
    size_t n = 0;
    for (size_t i = 0; i < refs->n; i++)
        n += refs->v[i].n;
    return n;
}

static enum variant really(const struct metadata *m, enum variant v)
{
    return v == VARIANT_REFS && refs_pieces(m)->n == 1 ? VARIANT_ALL /* nothing is left out */ : v;
}

bool metadata_pack_blocks(const struct metadata *m, enum variant v)
{
    v = really(m, v);
    return !lane_may_block() && plain_size(m, v) > FAST_LANE_MAX &&
           !atomic_load_explicit(&m->lazy->packed[v], memory_order_acquire) &&
           atomic_load_explicit(&m->lazy->asked, memory_order_relaxed);
}

bool metadata_deflated(const struct metadata *m, enum variant v, struct deflated *out)
{
    v = really(m, v);
    const struct packed *p = atomic_load_explicit(&m->lazy->packed[v], memory_order_acquire);
    size_t n = p ? p->deflated.plain : plain_size(m, v);
    if (n < WORTH_IT)
        return false;
    /* Under a stream of commits each version is asked for once, by its own commit: that one is sent
     * as it is, which costs nothing. */
    if (!p && !atomic_exchange_explicit(&m->lazy->asked, true, memory_order_relaxed))
        return false;
    if (!p && (n <= FAST_LANE_MAX || lane_may_block()))
        p = packed(m, v);
    if (!p)
        return false;
    *out = p->deflated;
    return true;
}

void metadata__asked(struct metadata *m)
{
    atomic_store_explicit(&m->lazy->asked, true, memory_order_relaxed);
}

/* The document as it is, in the frame of a gzip file. */
static struct str gzip_stored(struct arena *a, const struct metadata *m)
{
    struct str *pieces;
    size_t n = metadata_document(a, m, VARIANT_ALL, &pieces);
    z_stream z = {0};
    if (deflateInit2(&z, Z_NO_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        log_fatal("zlib does not start");
    size_t cap = deflateBound(&z, plain_size(m, VARIANT_ALL)) + 64;
    char *to = arena_alloc(a, cap);
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)cap;
    for (size_t i = 0; i < n; i++) {
        memcpy(&z.next_in, &pieces[i].p, sizeof(pieces[i].p)); /* zlib does not write there */
        z.avail_in = (uInt)pieces[i].n;
        int rc = deflate(&z, i + 1 < n ? Z_NO_FLUSH : Z_FINISH);
        assert(z.avail_in == 0 && rc == (i + 1 < n ? Z_OK : Z_STREAM_END));
        (void)rc;
    }
    struct str file = {to, cap - z.avail_out};
    deflateEnd(&z);
    return file;
}

static struct str gzip_of(struct arena *a, const struct deflated *d)
{
    static const char head[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    static const char last_block[2] = {3, 0};
    uint32_t tail[2] = {htole32(d->crc), htole32((uint32_t)d->plain)};
    char *to = arena_alloc(a, sizeof(head) + d->segment.n + sizeof(last_block) + sizeof(tail));
    char *at = to;
    at = mempcpy(at, head, sizeof(head));
    at = mempcpy(at, d->segment.p, d->segment.n);
    at = mempcpy(at, last_block, sizeof(last_block));
    at = mempcpy(at, tail, sizeof(tail));
    return str_range(to, at);
}

struct str metadata_gzip(struct arena *a, const struct metadata *m)
{
    const struct packed *p = packed(m, VARIANT_ALL);
    /* What shrinks too well would be refused when it is read. */
    if (!p || gzip__looks_like_a_bomb(p->deflated.segment.n, p->deflated.plain))
        return gzip_stored(a, m);
    return gzip_of(a, &p->deflated);
}
