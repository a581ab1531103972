/* Pages of names: opaque tokens, and the loop that fills a page from the database. */
#include "arena.h"
#include "catalog_priv.h"
#include "digest.h"

enum { TOKEN_VERSION = 1, TOKEN_HEAD = 1 + 8 };

/* Binds a token to its list, so that it is not taken for another one by accident. It protects
 * nothing: a forged token only says where to go on in a list its owner may read anyway. */
static uint64_t list_hash(struct arena *a, const struct page_list *l)
{
    return digest_hash64(arena_printf(
        a, "%.*s/%s/%.*s", STR_ARG(l->catalog->warehouse.uuid), l->kind, STR_ARG(l->parent)));
}

struct str page__token(struct arena *a, const struct page_list *list, struct str last)
{
    uint64_t hash = list_hash(a, list);
    char *p = arena_alloc(a, TOKEN_HEAD + last.n);
    p[0] = TOKEN_VERSION;
    memcpy(p + 1, &hash, sizeof hash);
    memcpy(p + TOKEN_HEAD, last.p, last.n);
    return b64url_encode(a, (struct str){p, TOKEN_HEAD + last.n});
}

bool page__after(struct arena *a, const struct page_list *list, const struct page *page,
    struct str *after, size_t *limit, struct err *err)
{
    *after = page->after;
    *limit = page->most && page->most < PAGE_BATCH ? page->most : PAGE_BATCH;
    if (!page->token.p)
        return true;
    *after = (struct str){0};
    int64_t size = page->size > 0 ? page->size : PAGE_DEFAULT;
    *limit = size < PAGE_MAX ? (size_t)size : PAGE_MAX;
    if (page->token.n == 0)
        return true;
    struct str raw;
    struct err ignored;
    uint64_t hash = list_hash(a, list);
    bool ours = b64url_decode(a, page->token, &raw) && raw.n > TOKEN_HEAD &&
                raw.p[0] == TOKEN_VERSION && memcmp(raw.p + 1, &hash, sizeof hash) == 0;
    struct str last = ours ? str_sub(raw, TOKEN_HEAD, raw.n - TOKEN_HEAD) : (struct str){0};
    /* Bytes that are no name would only be found out by the database. */
    if (!ours || !ident_name_check(last, "pageToken", &ignored))
        return err_set(
            err, ERR_BAD_REQUEST, "Invalid pageToken: it is not one that this list has handed out");
    *after = last;
    return true;
}

static void names_add(struct arena *a, struct names *out, const struct str *v, size_t n)
{
    if (out->n + n > out->cap) {
        size_t cap = out->cap ? out->cap * 2 : n;
        while (cap < out->n + n)
            cap *= 2;
        struct str *grown = ARENA_ARRAY(a, struct str, cap);
        if (out->n)
            memcpy(grown, out->v, out->n * sizeof *grown);
        out->v = grown;
        out->cap = cap;
    }
    if (n)
        memcpy(out->v + out->n, v, n * sizeof *v);
    out->n += n;
}

/* The end is where less comes than was asked for. */
static bool read_piece(struct arena *a, const struct page_list *list, struct str after, size_t most,
    struct names *out, struct err *err)
{
    TRY(list->read(
        a, list->catalog, list->parent, after, most, &out->v, &out->n, &out->found, err));
    if (out->found && out->n == most)
        out->next = out->v[most - 1];
    return true;
}

bool page__read(struct arena *a, const struct page_list *list, const struct page *page,
    struct names *out, struct err *err)
{
    struct str after;
    size_t limit;
    TRY(page__after(a, list, page, &after, &limit, err));
    *out = (struct names){0};
    if (!page->token.p)
        return read_piece(a, list, after, limit, out, err);
    for (;;) {
        /* One more than the page holds tells whether another page follows. */
        size_t want = limit - out->n < PAGE_BATCH ? limit - out->n + 1 : PAGE_BATCH;
        struct str *v;
        size_t n;
        TRY(list->read(a, list->catalog, list->parent, after, want, &v, &n, &out->found, err));
        if (!out->found)
            return true;
        names_add(a, out, v, n);
        if (out->n > limit) {
            out->n = limit;
            out->next = page__token(a, list, out->v[limit - 1]);
            return true;
        }
        if (n < want)
            return true;
        after = out->v[out->n - 1];
    }
}
