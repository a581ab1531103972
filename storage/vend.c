#include "vend.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "digest.h"
#include "lane.h"
#include "log.h"
#include "metric.h"
#include "secret.h"
#include "source_priv.h"
#include "vend_priv.h"

#include <assert.h>
#include <string.h>

enum {
    BYTES_MAX = 8 * 1024 * 1024, /* of one store: some 4,000 folders with keys of 2 KB */
    DURATION_S = 3600,
    ASK_US = 10000000, /* for all tries together */
    TRIES = 2,
    SESSION_MAX = 64,
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

/* --- asking ------------------------------------------------------------------------------------
 */

struct sts_service vend__service(const struct vend *v, struct str region)
{
    struct str named = str_from(v->conf.sts_endpoint);
    if (named.n == 0)
        named = source__env("AWS_ENDPOINT_URL_STS");
    if (named.n == 0) /* stores other than AWS have theirs at the same address */
        named = str_from(v->conf.s3_endpoint);
    return (struct sts_service){named, region, clock_mono_us() + ASK_US};
}

/* In the records of the token service the session bears the folder's name. */
static struct str session_name(struct arena *a, struct str key)
{
    char text[SESSION_MAX + 1] = "firn-";
    size_t n = strlen(text), from = key.n;
    while (from > 0 && key.p[from - 1] != '/')
        from--;
    for (; from < key.n && n < SESSION_MAX; from++) {
        char c = key.p[from];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("=,.@-_", c));
        text[n++] = plain ? c : '_';
    }
    return arena_dup(a, (struct str){text, n});
}

static enum policy_access policy_access(enum vend_access access)
{
    return access == VEND_WRITE ? POLICY_WRITE : POLICY_READ;
}

static bool policy_of(struct arena *a, const struct place *p, struct str region,
    enum vend_access access, struct str *out, struct err *err)
{
    const struct policy_folder folder = {
        .bucket = str_from(p->root->bucket->name), .key = str_from(p->rel), .region = region};
    TRY(policy_for_folder(a, &folder, policy_access(access), out, err));
    assert(out->n > 0); /* without a policy it would be the whole role */
    return true;
}

static bool assume(struct arena *a, const struct vend *v, const struct sts_service *service,
    const struct sts_role *role, struct credentials **out, struct err *err)
{
    (void)a;
    for (int tries = 1;; tries++) {
        AUTO(credentials_unref) struct credentials *own = NULL;
        TRY(keeper_get(v->s3->keeper, service->deadline_us, &own, err));
        metric_add(METRIC_vend_requests_total, 1);
        if (sts_assume_role(service, own, role, out, err))
            return true;
        metric_add(METRIC_vend_failures_total, 1);
        if (err->kind != ERR_UNAVAILABLE || tries == TRIES ||
            clock_mono_us() >= service->deadline_us)
            return false;
    }
}

bool vend__ask(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err)
{
    struct str region = s3__region(v->s3, a, p->root->bucket);
    struct str policy;
    TRY(policy_of(a, p, region, access, &policy, err));
    const struct sts_service service = vend__service(v, region);
    const struct sts_role role = {.arn = str_from(v->conf.vend_role_arn),
        .session = session_name(a, str_from(p->rel)),
        .external_id = str_from(v->conf.s3_external_id),
        .policy = policy,
        .duration_s = v->conf.vend_duration_s};
    TRY(assume(a, v, &service, &role, out, err));
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
        log_write(
            LOG_WARN, "vend", "no credentials for %.*s: %s", STR_ARG(w->place->uri), ask->err.msg);
    pthread_mutex_lock(&v->lock);
    if (ask->ok)
        fill(v, e, ask);
    else
        entry_free(v, e);
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

static bool by_role(struct arena *a, struct vend *v, const struct place *p, enum vend_access access,
    struct grant *out, struct err *err)
{
    struct str ignored;
    const struct wish w = {p, access,
        arena_printf(
            a, "%c%s/%s", access == VEND_WRITE ? 'w' : 'r', p->root->bucket->name, p->rel)};
    if (at_hand(v, &w, out))
        return true;
    /* What can never be is told at once, in any lane. */
    TRY(policy_of(a, p, STR(""), access, &ignored, err));
    if (!lane_may_block())
        return err_set(err, ERR_WOULD_BLOCK, "credentials have to be asked for");
    return ask_or_wait(a, v, &w, out, err);
}

static bool own_keys(struct vend *v, struct grant *out, struct err *err)
{
    TRY(keeper_get(v->s3->keeper, clock_mono_us(), &out->keys, err));
    int64_t half_s = (v->conf.vend_duration_s ? v->conf.vend_duration_s : DURATION_S) / 2;
    out->fresh_ms = clock_ms() + half_s * 1000;
    return true;
}

/* --- for others --------------------------------------------------------------------------------
 */

/* A folder of the warehouse as it is now, and not one that holds a root of it. */
static bool check_place(const struct store *s, struct str uri, struct place *p, struct err *err)
{
    TRY(store__place(s, uri, p, err));
    if (!p->root->bucket)
        return err_set(err, ERR_STORE_DENIED,
            "No credentials can be given for %.*s: it lies in no object store", STR_ARG(uri));
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

static struct str endpoint_for(struct arena *a, const struct vend *v, struct str region)
{
    struct str named = str_from(v->conf.client_endpoint);
    if (named.n == 0)
        named = str_from(v->conf.s3_endpoint);
    while (str_ends(named, STR("/")))
        named.n--;
    if (named.n > 0)
        return named;
    return arena_printf(a, "https://s3.%.*s.amazonaws.com%s", STR_ARG(region),
        str_starts(region, STR("cn-")) ? ".cn" : "");
}

bool vend_offered(const struct store *s)
{
    return s->vend != NULL;
}

bool vend_get(struct arena *a, struct store *s, struct str uri, enum vend_access access,
    struct vended *out, struct err *err)
{
    struct vend *v = s->vend;
    struct place p;
    struct grant g = {0};
    assert(v);
    TRY(check_place(s, uri, &p, err));
    struct str region = s3__region(v->s3, a, p.root->bucket);
    if (!region.p)
        return err_set(err, ERR_WOULD_BLOCK, "the region has to be asked for");
    TRY(v->conf.vend_role_arn ? by_role(a, v, &p, access, &g, err) : own_keys(v, &g, err));
    const struct credentials *c = arena_hold(a, g.keys, unref);
    *out = (struct vended){
        .id = str_from(c->id),
        .secret = str_from(c->secret),
        .token = str_from(c->token),
        .expires_ms = c->expires_ms,
        .fresh_ms = g.fresh_ms,
        .endpoint = endpoint_for(a, v, region),
        .region = region,
        .style = s3__in_path(v->s3, p.root->bucket) ? VEND_BUCKET_IN_PATH : VEND_BUCKET_IN_HOST,
    };
    metric_add(METRIC_vended_total, 1);
    return true;
}

static bool check_conf(struct s3 *s3, const struct store_conf *conf, struct err *err)
{
    struct endpoint ignored;
    if (!s3)
        return err_set(
            err, ERR_INTERNAL, "Credentials are handed out for S3 only, and the warehouse is none");
    if (conf->client_endpoint)
        TRY(endpoint_parse(
            str_from(conf->client_endpoint), "the S3 endpoint for clients", &ignored, err));
    bool fixed = (conf->s3_access_key_id || conf->s3_sealed) && !conf->s3_role_arn;
    return conf->vend_role_arn || fixed ||
           err_set(err, ERR_INTERNAL,
               "Static keys are to be handed out, and the warehouse has none of its own or uses "
               "those of a role");
}

bool vend__new(struct s3 *s3, const struct store_conf *conf, struct vend **out, struct err *err)
{
    *out = NULL;
    if (!conf->vend_role_arn && conf->vend_static == STORE_SHARE_NONE)
        return true;
    TRY(check_conf(s3, conf, err));
    struct vend *v = xcalloc(1, sizeof(*v));
    v->s3 = s3;
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
