/* Is what clients get limited to its folder? Tried as a thief would. */
#include "arena.h"
#include "base.h"
#include "lane.h"
#include "uuid.h"
#include "vend_priv.h"

#include <assert.h>

/* Two folders of which one's name begins as the other's, and a file beside them. */
struct trial {
    struct arena *a;
    struct store *own;  /* with the server's keys */
    struct store *lent; /* with vended ones */
    struct str folder;
    struct err *err;
};

static struct str at(const struct trial *t, const char *name)
{
    return arena_printf(t->a, "%.*s/%s", STR_ARG(t->folder), name);
}

static bool put(const struct trial *t, struct store *s, const char *name)
{
    struct str text = STR("firn");
    return store_put_new(s, at(t, name), &text, 1, "text/plain", t->err);
}

static bool get(const struct trial *t, struct store *s, const char *name)
{
    AUTO(buf_fini) struct buf b = {0};
    return store_get(s, at(t, name), 1024, &b, t->err);
}

static bool list(const struct trial *t, struct store *s, const char *name)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    return store_list(t->a, s, *name ? at(t, name) : t->folder, 10, &e, &n, t->err);
}

static bool works(const struct trial *t, bool ok)
{
    const char *hint = t->own->vend->kind->hint;
    return ok || err_wrap(t->err, "vended credentials do not work in their own folder%s%s%s",
                     hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
}

static bool is_refusal(const struct err *err)
{
    return err->kind == ERR_STORE_DENIED || err->kind == ERR_STORE_NOT_FOUND;
}

/* Engines that plan by the metadata need no lists. */
static bool lists(const struct trial *t)
{
    bool ok = t->own->vend->kind->lists == VEND_LISTS_NOTHING || list(t, t->lent, "t1");
    if (ok || !is_refusal(t->err))
        return works(t, ok);
    return store__found(t->own, FINDING_VENDED_LIST_DENIED, t->err);
}

/* What does not exist tells a thief nothing: it is as good as refused. */
static bool refused(const struct trial *t, bool ok, enum finding f)
{
    if (ok)
        return store__found(t->own, f, t->err);
    if (is_refusal(t->err)) {
        err_clear(t->err);
        return true;
    }
    return err_wrap(t->err, "it could not be tried whether %s", finding_text(f));
}

/* A store as a client with these keys would open it. */
static bool open_with(struct trial *t, const struct credentials *keys, struct err *err)
{
    struct store_conf conf = t->own->vend->conf;
    conf.allowed = conf.allow = NULL;
    t->own->vend->kind->lend(t->a, t->own->vend, keys, &conf);
    conf.vend_role_arn = conf.client_endpoint = NULL;
    conf.vend_static = STORE_SHARE_NONE;
    conf.sign = STORE_SIGN_NOTHING;
    store_close(&t->lent);
    return store_open(&conf, &t->lent, err);
}

static bool lend(struct trial *t, enum vend_access access, struct credentials **out)
{
    struct place p;
    TRY(store__place(t->own, at(t, "t1"), &p, t->err));
    TRY(vend__ask(t->a, t->own->vend, &p, access, out, t->err));
    return open_with(t, *out, t->err);
}

static bool outside_is_shut(const struct trial *t)
{
    TRY(refused(t, get(t, t->lent, "t10/a"), FINDING_VENDED_SIBLING_READ));
    TRY(refused(t, put(t, t->lent, "t10/b"), FINDING_VENDED_SIBLING_WRITE));
    TRY(refused(t, store_delete(t->lent, at(t, "t10/a"), t->err), FINDING_VENDED_SIBLING_DELETE));
    TRY(refused(t, list(t, t->lent, "t10"), FINDING_VENDED_SIBLING_LIST));
    TRY(refused(t, put(t, t->lent, "b"), FINDING_VENDED_OUTSIDE_WRITE));
    return refused(t, list(t, t->lent, ""), FINDING_VENDED_OUTSIDE_LIST);
}

static bool role_is_shut(const struct trial *t, const struct credentials *keys)
{
    const struct vend *v = t->own->vend;
    return !v->kind->cannot_grow || v->kind->cannot_grow(t->a, v, keys, t->err);
}

static bool reaches_more(const struct trial *t)
{
    const struct vend *v = t->own->vend;
    return v->kind->reaches_more && v->kind->reaches_more(v);
}

static bool try_write(struct trial *t)
{
    AUTO(credentials_unref) struct credentials *keys = NULL;
    TRY(lend(t, VEND_WRITE, &keys));
    TRY(works(t, put(t, t->lent, "t1/a") && get(t, t->lent, "t1/a")));
    TRY(lists(t));
    TRY(works(t, put(t, t->lent, "t1/c") && store_delete(t->lent, at(t, "t1/c"), t->err)));
    return reaches_more(t) || (outside_is_shut(t) && role_is_shut(t, keys));
}

static bool try_read(struct trial *t)
{
    AUTO(credentials_unref) struct credentials *keys = NULL;
    TRY(lend(t, VEND_READ, &keys));
    TRY(works(t, get(t, t->lent, "t1/a")));
    TRY(refused(t, put(t, t->lent, "t1/b"), FINDING_VENDED_READER_WRITES));
    return reaches_more(t) || refused(t, get(t, t->lent, "t10/a"), FINDING_VENDED_SIBLING_READ);
}

static void clean(const struct trial *t)
{
    static const char *const names[] = {"t1/a", "t1/b", "t1/c", "t10/a", "t10/b", "b"};
    struct err ignored = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)!store_delete(t->own, at(t, names[i]), &ignored);
}

bool vend_probe(struct store *s, struct err *err)
{
    if (!s->vend || s->vend->way != VEND_BY_FOLDER || !vend_offered(s))
        return true;
    assert(lane_may_block());
    AUTO(arena_free) struct arena *a = arena_new_secret();
    char id[UUID_TEXT + 1];
    uuid_v4(id);
    struct trial t = {.a = a, .own = s, .err = err};
    t.folder = arena_printf(a, "%.*s/.firn-probe-%s", STR_ARG(store_base(s)), id);
    bool good = put(&t, s, "t10/a") && try_write(&t) && try_read(&t);
    clean(&t);
    store_close(&t.lent);
    return good;
}
