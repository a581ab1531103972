/* S3: keys of a role, limited to a folder by a session policy; or the store's own. */
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "metric.h"
#include "policy.h"
#include "s3_priv.h"
#include "source_priv.h"
#include "sts.h"
#include "vend_priv.h"

#include <assert.h>
#include <string.h>

enum {
    ASK_US = 10000000, /* for all tries together */
    TRIES = 2,
    SESSION_MAX = 64,
};

static struct s3 *s3_of(const struct vend *v)
{
    return v->store->s3;
}

/* The token service, as the server reaches it. */
static struct sts_service service_of(const struct vend *v, struct str region)
{
    struct sts_service s = {.endpoint = str_from(v->conf.sts_endpoint),
        .region = region,
        .deadline_us = clock_mono_us() + ASK_US,
        .reach = fetch_reach_of(v->conf.sts_reach)};
    if (s.endpoint.n > 0)
        return s;
    s.endpoint = source__env("AWS_ENDPOINT_URL_STS");
    s.reach = FETCH_PRIVATE;
    if (s.endpoint.n > 0)
        return s;
    s.endpoint = str_from(v->conf.s3_endpoint); /* where stores other than AWS have theirs */
    s.reach = fetch_reach_of(v->conf.endpoint_reach);
    return s;
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

static bool assume(const struct vend *v, const struct sts_service *service,
    const struct sts_role *role, struct credentials **out, struct err *err)
{
    for (int tries = 1;; tries++) {
        AUTO(credentials_unref) struct credentials *own = NULL;
        TRY(keeper_get(s3_of(v)->keeper, service->deadline_us, &own, err));
        metric_add(METRIC_vend_requests_total, 1);
        if (sts_assume_role(service, own, role, out, err))
            return true;
        metric_add(METRIC_vend_failures_total, 1);
        if (err->kind != ERR_UNAVAILABLE || tries == TRIES ||
            clock_mono_us() >= service->deadline_us)
            return false;
    }
}

static bool ask(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err)
{
    struct str region = s3__region(s3_of(v), a, p->root->bucket);
    struct str policy;
    TRY(policy_of(a, p, region, access, &policy, err));
    const struct sts_service service = service_of(v, region);
    const struct sts_role role = {.arn = str_from(v->conf.vend_role_arn),
        .session = session_name(a, str_from(p->rel)),
        .external_id = str_from(v->conf.s3_external_id),
        .policy = policy,
        .duration_s = v->conf.vend_duration_s};
    return assume(v, &service, &role, out, err);
}

static bool check(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct err *err)
{
    struct str ignored;
    (void)v;
    return policy_of(a, p, STR(""), access, &ignored, err);
}

static bool own(const struct vend *v, struct credentials **out, struct err *err)
{
    return keeper_get(s3_of(v)->keeper, clock_mono_us(), out, err);
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

static bool tell(struct arena *a, const struct vend *v, const struct place *p, struct vended *out,
    struct err *err)
{
    struct str region = s3__region(s3_of(v), a, p->root->bucket);
    if (!region.p)
        return err_set(err, ERR_WOULD_BLOCK, "the region has to be asked for");
    out->kind = VENDED_S3;
    out->endpoint = endpoint_for(a, v, region);
    out->region = region;
    out->style = s3__in_path(s3_of(v), p->root->bucket) ? VEND_BUCKET_IN_PATH : VEND_BUCKET_IN_HOST;
    return true;
}

static bool way(const struct store_conf *conf, enum vend_way *out, struct err *err)
{
    struct endpoint ignored;
    bool fixed = (conf->s3_access_key_id || conf->sealed) && !conf->s3_role_arn;
    *out = conf->vend_role_arn                     ? VEND_BY_FOLDER
           : conf->vend_static == STORE_SHARE_KEYS ? VEND_OWN
                                                   : VEND_NONE;
    if (*out != VEND_NONE && conf->client_endpoint)
        TRY(endpoint_parse(
            str_from(conf->client_endpoint), "the S3 endpoint for clients", &ignored, err));
    return *out != VEND_OWN || fixed ||
           err_set(err, ERR_INTERNAL,
               "Static keys are to be handed out, and the warehouse has none of its own or uses "
               "those of a role");
}

/* --- for the probe -----------------------------------------------------------------------------
 */

static void lend(
    struct arena *a, const struct vend *v, const struct credentials *keys, struct store_conf *conf)
{
    conf->s3_region = s3__region(s3_of(v), a, v->store->roots[0].bucket).p;
    conf->s3_access_key_id = keys->id;
    conf->s3_secret_access_key = keys->secret;
    conf->s3_session_token = keys->token;
    conf->sealed = NULL;
    conf->s3_role_arn = NULL;
}

/* ERR_UNAVAILABLE: nobody answered there, or it could not be asked. */
static bool cannot_assume(struct arena *a, const struct vend *v, const struct credentials *keys,
    struct str endpoint, struct err *err)
{
    bool answered = false;
    AUTO(credentials_unref) struct credentials *more = NULL;
    struct str region = s3__region(s3_of(v), a, v->store->roots[0].bucket);
    struct sts_service service = service_of(v, region);
    const struct sts_role role = {.arn = str_from(v->conf.vend_role_arn),
        .session = STR("firn-probe"),
        .external_id = str_from(v->conf.s3_external_id)};
    service.answered = &answered;
    if (endpoint.n > 0) {
        service.endpoint = endpoint;
        service.reach = fetch_reach_of(v->conf.client_reach);
    }
    if (sts_assume_role(&service, keys, &role, &more, err))
        return store__found(v->store, FINDING_VENDED_ROLE_ASSUMED, err);
    if (!answered || err->kind == ERR_UNAVAILABLE)
        return false;
    err_clear(err);
    return true;
}

/* Clients that have an address of their own know no other; it may not lead anywhere from here. */
static bool cannot_grow(
    struct arena *a, const struct vend *v, const struct credentials *keys, struct err *err)
{
    struct str theirs = str_from(v->conf.client_endpoint);
    if (theirs.n > 0) {
        if (cannot_assume(a, v, keys, theirs, err))
            return true;
        if (err->kind != ERR_UNAVAILABLE)
            return false;
        err_clear(err);
    }
    return cannot_assume(a, v, keys, STR(""), err) ||
           err_wrap(err, "vended credentials were tried at the token service");
}

const struct vend_kind vend__s3 = {
    .name = "S3",
    .way = way,
    .check = check,
    .ask = ask,
    .own = own,
    .tell = tell,
    .lend = lend,
    .cannot_grow = cannot_grow,
};
