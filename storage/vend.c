#include "vend.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "digest.h"
#include "lane.h"
#include "log.h"
#include "metric.h"
#include "vend_priv.h"

#include <assert.h>
#include <string.h>

enum {
    BYTES_MAX = 8 * 1024 * 1024, /* of one store: some 4,000 folders with keys of 2 KB */
    REST_US = 5000000,
};

/* One who asks for keys, and those who wait for them. The last of them frees it. */
struct vend_ask {
    unsigned users;
    bool done, ok;
    struct credentials *keys; /* a reference, when ok */
    int64_t fresh_ms;
    struct err err;
};

struct vend_entry {
    struct vend_entry *next;          /* in its bucket */
    struct vend_entry *newer, *older; /* by use, once there are keys */
    struct vend_ask *ask;             /* NULL once there are */
    struct credentials *keys;         /* a reference */
    int64_t fresh_ms;
    size_t cost;
    size_t n;
    char key[];
};

bool vend__ask(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err)
{
    TRY(v->kind->ask(a, v, p, access, out, err));
    if ((*out)->expires_ms > clock_ms())
        return true;
    credentials_unref(out);
    return err_set(err, ERR_UNAVAILABLE, "the keys that the token service gave have expired");
}

/* --- what is kept; under the lock --------------------------------------------------------------
 */

static struct vend_entry **bucket_of(struct vend *v, struct str key)
{
    return &v->buckets[digest_hash64(key) % VEND_BUCKETS];
}

static struct vend_entry *find(struct vend *v, struct str key)
{
    for (struct vend_entry *e = *bucket_of(v, key); e; e = e->next)
        if (str_eq((struct str){e->key, e->n}, key))
            return e;
    return NULL;
}

static void push(struct vend *v, struct vend_entry *e)
{
    e->newer = NULL;
    e->older = v->newest;
    *(v->newest ? &v->newest->newer : &v->oldest) = e;
    v->newest = e;
}

static void cut(struct vend *v, struct vend_entry *e)
{
    *(e->newer ? &e->newer->older : &v->newest) = e->older;
    *(e->older ? &e->older->newer : &v->oldest) = e->newer;
}

static void charge(struct vend *v, struct vend_entry *e, size_t cost)
{
    metric_change(METRIC_vend_bytes, (int64_t)cost - (int64_t)e->cost);
    v->bytes += cost - e->cost;
    e->cost = cost;
}

static void entry_free(struct vend *v, struct vend_entry *e)
{
    struct vend_entry **at = bucket_of(v, (struct str){e->key, e->n});
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    v->n--;
    if (e->keys)
        cut(v, e);
    charge(v, e, 0);
    credentials_unref(&e->keys);
    xfree(e);
}

static struct vend_entry *add(struct vend *v, struct str key)
{
    struct vend_entry *e = xcalloc(1, sizeof(*e) + key.n);
    struct vend_entry **bucket = bucket_of(v, key);
    e->next = *bucket;
    e->n = key.n;
    memcpy(e->key, key.p, key.n);
    *bucket = e;
    v->n++;
    return e;
}

static size_t text_size(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

static void fill(struct vend *v, struct vend_entry *e, const struct vend_ask *ask)
{
    e->ask = NULL;
    e->keys = credentials_ref(ask->keys);
    e->fresh_ms = ask->fresh_ms;
    push(v, e);
    charge(v, e,
        sizeof(*e) + e->n + sizeof(*e->keys) + text_size(e->keys->id) + text_size(e->keys->secret) +
            text_size(e->keys->token));
    while (v->bytes > BYTES_MAX)
        entry_free(v, v->oldest);
}

/* --- one asks for all --------------------------------------------------------------------------
 */

struct wish {
    const struct place *place;
    enum vend_access access;
    struct str key;
};

struct grant {
    struct credentials *keys; /* a reference */
    int64_t fresh_ms;
};

/* Under the lock, which it gives back. */
static bool leave(struct vend *v, struct vend_ask *ask, struct grant *out, struct err *err)
{
    bool ok = ask->ok;
    if (ok)
        *out = (struct grant){credentials_ref(ask->keys), ask->fresh_ms};
    else
        *err = ask->err;
    bool last = --ask->users == 0;
    pthread_mutex_unlock(&v->lock);
    if (last) {
        credentials_unref(&ask->keys);
        xfree(ask);
    }
    return ok;
}

static bool wait_for(struct vend *v, struct vend_ask *ask, struct grant *out, struct err *err)
{
    ask->users++;
    while (!ask->done)
        pthread_cond_wait(&v->news, &v->lock);
    return leave(v, ask, out, err);
}

/* A refusal is about one folder, perhaps; no answer is about all of them. */
static void rest_after(struct vend *v, const struct vend_ask *ask)
{
    if (ask->ok)
        v->rest_until_us = 0;
    else if (ask->err.kind == ERR_UNAVAILABLE)
        v->rest_until_us = clock_mono_us() + REST_US;
}

/* Called with the lock, which it gives back. */
static bool ask_for_all(struct arena *a, struct vend *v, const struct wish *w, struct vend_entry *e,
    struct grant *out, struct err *err)
{
    struct vend_ask *ask = xcalloc(1, sizeof(*ask));
    ask->users = 1;
    e->ask = ask;
    pthread_mutex_unlock(&v->lock);
    /* Nobody looks at ok, keys and err before done is set. */
    int64_t begun = clock_ms();
    ask->ok = vend__ask(a, v, w->place, w->access, &ask->keys, &ask->err);
    if (ask->ok)
        ask->fresh_ms = begun + (ask->keys->expires_ms - begun) / 2;
    else
        log_write(LOG_WARN, "vend", "no credentials for %.*s: %s%s", STR_ARG(w->place->uri),
            ERR_ALL(&ask->err));
    pthread_mutex_lock(&v->lock);
    if (ask->ok)
        fill(v, e, ask);
    else
        entry_free(v, e);
    rest_after(v, ask);
    ask->done = true;
    pthread_cond_broadcast(&v->news);
    return leave(v, ask, out, err);
}

static bool take_fresh(struct vend *v, struct vend_entry *e, struct grant *out)
{
    if (!e || !e->keys || clock_ms() >= e->fresh_ms)
        return false;
    cut(v, e);
    push(v, e);
    *out = (struct grant){credentials_ref(e->keys), e->fresh_ms};
    return true;
}

static bool at_hand(struct vend *v, const struct wish *w, struct grant *out)
{
    pthread_mutex_lock(&v->lock);
    bool found = take_fresh(v, find(v, w->key), out);
    pthread_mutex_unlock(&v->lock);
    return found;
}

static bool ask_or_wait(
    struct arena *a, struct vend *v, const struct wish *w, struct grant *out, struct err *err)
{
    pthread_mutex_lock(&v->lock);
    struct vend_entry *e = find(v, w->key);
    if (take_fresh(v, e, out)) {
        pthread_mutex_unlock(&v->lock);
        return true;
    }
    if (e && e->ask)
        return wait_for(v, e->ask, out, err);
    if (e)
        entry_free(v, e);
    return ask_for_all(a, v, w, add(v, w->key), out, err);
}

static struct wish wish_for(struct arena *a, const struct place *p, enum vend_access access)
{
    return (struct wish){p, access,
        arena_printf(a, "%c%.*s%.*s", access == VEND_WRITE ? 'w' : 'r', STR_ARG(p->at.authority),
            STR_ARG(p->at.path))};
}

static bool by_folder(struct arena *a, struct vend *v, const struct place *p,
    enum vend_access access, struct grant *out, struct err *err)
{
    const struct wish w = wish_for(a, p, access);
    if (at_hand(v, &w, out))
        return true;
    TRY(v->kind->check(a, v, p, access, err));
    if (!lane_may_block())
        return err_set(err, ERR_WOULD_BLOCK, "credentials have to be asked for");
    return ask_or_wait(a, v, &w, out, err);
}

bool vend__keys(struct arena *a, struct vend *v, const struct place *p, enum vend_access access,
    struct credentials **out, struct err *err)
{
    struct grant g = {0};
    TRY(by_folder(a, v, p, access, &g, err));
    *out = g.keys;
    return true;
}

static bool own_keys(struct vend *v, struct grant *out, struct err *err)
{
    TRY(v->kind->own(v, &out->keys, err));
    int64_t half_s = (v->conf.vend_duration_s ? v->conf.vend_duration_s : VEND_DURATION_S) / 2;
    out->fresh_ms = clock_ms() + half_s * 1000;
    return true;
}

/* --- for others --------------------------------------------------------------------------------
 */

/* A folder of the warehouse as it is now, and not one that holds a root of it. */
static bool check_place(const struct store *s, struct str uri, struct place *p, struct err *err)
{
    TRY(store__place(s, uri, p, err));
    if (p->root->ops->vend != s->vend->kind)
        return err_set(err, ERR_STORE_DENIED,
            "No credentials can be given for %.*s: it lies in no %s store", STR_ARG(uri),
            s->vend->kind->name);
    for (size_t i = 0; i < s->n_roots; i++)
        if (location_within(&s->roots[i].at, &p->at))
            return err_set(err, ERR_STORE_DENIED,
                "No credentials can be given for %.*s: it is or contains the warehouse's %s",
                STR_ARG(uri), s->roots[i].uri);
    return true;
}

static void unref(void *keys)
{
    struct credentials *c = keys;
    credentials_unref(&c);
}

bool vend_offered(const struct store *s)
{
    return s->vend && s->vend->conf.sign != STORE_SIGN_ONLY;
}

bool vend_unasked(const struct store *s)
{
    return vend_offered(s) && s->vend->conf.unasked == STORE_UNASKED_KEYS;
}

bool vend_resting(const struct store *s)
{
    struct vend *v = s->vend;
    assert(v);
    pthread_mutex_lock(&v->lock);
    bool rests = clock_mono_us() < v->rest_until_us;
    pthread_mutex_unlock(&v->lock);
    return rests;
}

/* The strings end with the arena. */
static void hand_out(struct arena *a, const struct grant *g, struct vended *out)
{
    const struct credentials *c = arena_hold(a, g->keys, unref);
    out->id = str_from(c->id);
    out->secret = str_from(c->secret);
    out->token = str_from(c->token);
    out->expires_ms = c->expires_ms;
    out->fresh_ms = g->fresh_ms;
}

bool vend_get(struct arena *a, struct store *s, struct str uri, enum vend_access access,
    struct vended *out, struct err *err)
{
    struct vend *v = s->vend;
    struct place p;
    struct grant g = {0};
    assert(v);
    TRY(check_place(s, uri, &p, err));
    *out = (struct vended){0};
    TRY(v->kind->tell(a, v, &p, out, err));
    TRY(v->way == VEND_OWN ? own_keys(v, &g, err) : by_folder(a, v, &p, access, &g, err));
    hand_out(a, &g, out);
    metric_add(METRIC_vended_total, 1);
    return true;
}

static bool grant_at_hand(struct arena *a, struct vend *v, const struct place *p,
    enum vend_access access, struct grant *out)
{
    struct err ignored;
    if (v->way == VEND_OWN)
        return own_keys(v, out, &ignored);
    const struct wish w = wish_for(a, p, access);
    return at_hand(v, &w, out);
}

bool vend_at_hand(
    struct arena *a, struct store *s, struct str uri, enum vend_access access, struct vended *out)
{
    struct vend *v = s->vend;
    struct place p;
    struct grant g = {0};
    struct err ignored;
    assert(v);
    *out = (struct vended){0};
    if (!check_place(s, uri, &p, &ignored) || !v->kind->tell(a, v, &p, out, &ignored) ||
        !grant_at_hand(a, v, &p, access, &g))
        return false;
    hand_out(a, &g, out);
    return true;
}

/* Of the base, or of the first allowed location where the base has none. */
static const struct vend_kind *kind_of(const struct store *s)
{
    for (size_t i = 0; i < s->n_roots; i++)
        if (s->roots[i].ops->vend)
            return s->roots[i].ops->vend;
    return NULL;
}

static bool asks_for_keys(const struct store_conf *conf)
{
    return conf->vend_role_arn || conf->vend_static != STORE_SHARE_NONE ||
           conf->gcs_vend != STORE_GCS_NOTHING;
}

/* Nothing is limited to a folder then, and so there is nothing that a trial could find. */
static void warn_of_own(struct store *s, const struct store_conf *conf)
{
    static const char text[] = "vend-static: whoever may load one table is given the warehouse's "
                               "own keys, and can read and change everything that they reach";
    if (conf->sign == STORE_SIGN_ONLY)
        return;
    store__warn(s, text);
    log_write(LOG_WARN, "vend", "%.*s: %s", STR_ARG(store_base(s)), text);
}

bool vend__new(struct store *s, const struct store_conf *conf, struct vend **out, struct err *err)
{
    const struct vend_kind *kind = kind_of(s);
    enum vend_way way = VEND_NONE;
    *out = NULL;
    if (!kind && asks_for_keys(conf))
        return err_set(err, ERR_INTERNAL,
            "Credentials are handed out for object stores only, and the warehouse is none");
    if (kind)
        TRY(kind->way(conf, &way, err));
    if (way == VEND_NONE)
        return true;
    if (way == VEND_OWN)
        warn_of_own(s, conf);
    struct vend *v = xcalloc(1, sizeof(*v));
    v->store = s;
    v->kind = kind;
    v->way = way;
    v->conf = *conf;
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->news, NULL);
    *out = v;
    return true;
}

void vend__free(struct vend **vp)
{
    struct vend *v = TAKE(*vp);
    if (!v)
        return;
    while (v->oldest)
        entry_free(v, v->oldest);
    assert(v->n == 0); /* nobody is asking */
    pthread_cond_destroy(&v->news);
    pthread_mutex_destroy(&v->lock);
    xfree(v);
}
