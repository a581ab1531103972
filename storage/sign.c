#include "sign.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "credentials.h"
#include "finding.h"
#include "lane.h"
#include "metric.h"
#include "s3_priv.h"
#include "sign_priv.h"
#include "sigv4.h"
#include "vend_priv.h"

#include <assert.h>

enum { WAIT_US = 10000000 }; /* for keys, in the slow lane */

/* --- the folder --------------------------------------------------------------------------------
 */

/* Where clients find the store: AWS's host follows from the region, and takes both forms. */
static bool address(struct arena *a, const struct sign *sg, const struct s3_bucket *bucket,
    struct sign_folder *f, struct err *err)
{
    struct endpoint e = {
        ENDPOINT_HTTPS, {NULL, 0}
    };
    struct str named = str_from(sg->conf.client_endpoint);
    if (named.n == 0)
        named = str_from(sg->conf.s3_endpoint);
    if (named.n > 0)
        TRY(endpoint_parse(named, "the S3 endpoint for clients", &e, err));
    else
        e.host = arena_printf(a, "s3.%.*s.amazonaws.com%s", STR_ARG(f->region),
            str_starts(f->region, STR("cn-")) ? ".cn" : "");
    f->scheme = e.scheme;
    f->host = e.host;
    /* A store that takes "bucket.host" for a bucket in the path would read another bucket. */
    f->forms = s3__in_path(sg->s3, bucket) ? SIGN_IN_PATH : SIGN_IN_HOST;
    if (named.n == 0)
        f->forms = SIGN_IN_PATH | SIGN_IN_HOST;
    return true;
}

/* A folder of the warehouse as it is now, and not one that holds a root of it. */
static bool place_of(const struct store *s, struct str uri, struct place *p, struct err *err)
{
    TRY(store__place(s, uri, p, err));
    if (!p->root->bucket)
        return err_set(err, ERR_STORE_DENIED,
            "No requests are signed for %.*s: it lies in no S3 store", STR_ARG(uri));
    for (size_t i = 0; i < s->n_roots; i++)
        if (location_within(&s->roots[i].at, &p->at))
            return err_set(err, ERR_STORE_DENIED,
                "No requests are signed for %.*s: it is or contains the warehouse's %s",
                STR_ARG(uri), s->roots[i].uri);
    return true;
}

static bool folder_of(struct arena *a, const struct sign *sg, const struct place *p,
    struct sign_folder *f, struct err *err)
{
    struct s3_bucket *bucket = p->root->bucket;
    *f = (struct sign_folder){.bucket = str_from(bucket->name), .key = str_from(p->rel)};
    f->region = s3__region(sg->s3, a, bucket);
    if (!f->region.p)
        return err_set(err, ERR_WOULD_BLOCK, "the region has to be asked for");
    return address(a, sg, bucket, f, err);
}

/* --- the keys ----------------------------------------------------------------------------------
 */

static void unref(void *keys)
{
    struct credentials *c = keys;
    credentials_unref(&c);
}

static bool own_keys(const struct sign *sg, struct credentials **out, struct err *err)
{
    int64_t wait_us = lane_may_block() ? WAIT_US : 0;
    if (keeper_get(sg->s3->keeper, clock_mono_us() + wait_us, out, err))
        return true;
    return !lane_may_block() && err->kind == ERR_UNAVAILABLE && err_as(err, ERR_WOULD_BLOCK);
}

/* The warehouse's own keys reach everything: they sign what nobody can make into something else. */
static bool trusted_keys(struct arena *a, const struct sign_asker *who, enum sign_kind kind,
    struct credentials **out, struct err *err)
{
    enum finding f =
        kind == SIGN_WRITES ? FINDING_SIGNED_HEADER_ADDED : FINDING_SIGNED_LIST_CHANGED;
    enum sign_looks looks = SIGN_LOOKS_CLOSELY;
    if (kind != SIGN_READS && !(who->store->allow & UINT32_C(1) << f))
        TRY(sign__looks(
            a, who, kind == SIGN_WRITES ? SIGN_LOOK_HEADERS : SIGN_LOOK_BODIES, &looks, err));
    if (looks == SIGN_LOOKS_CLOSELY)
        return own_keys(who->sign, out, err);
    return err_set(err, ERR_STORE_DENIED,
        "%s not signed, because %s (%s); the warehouse needs a role whose keys it can limit "
        "(vend-role-arn)",
        kind == SIGN_WRITES ? "Writes are" : "Lists of objects to delete are", finding_text(f),
        finding_name(f));
}

/* Keys of the role reach nothing else, but Ceph's RGW lets no session delete many; and not every
 * folder can be named to them. */
static bool find_keys(struct arena *a, const struct sign_asker *who, const struct place *p,
    enum sign_kind kind, struct credentials **out, struct err *err)
{
    struct vend *v = who->store->vend;
    bool by_role = v && v->way == VEND_BY_FOLDER && v->kind == &vend__s3;
    if (who->keys == SIGN_KEYS_OWN)
        return own_keys(who->sign, out, err);
    if (by_role && kind == SIGN_DELETES_MANY) {
        enum sign_looks looks;
        TRY(sign__looks(a, who, SIGN_LOOK_BODIES, &looks, err));
        by_role = looks != SIGN_LOOKS_CLOSELY;
    }
    if (!by_role)
        return trusted_keys(a, who, kind, out, err);
    if (vend__keys(a, v, p, who->access, out, err))
        return true;
    if (err->kind != ERR_STORE_BAD_URI)
        return false;
    err_clear(err);
    return trusted_keys(a, who, kind, out, err);
}

/* The strings of *out are borrowed from what the arena holds. */
static bool keys_for(struct arena *a, const struct sign_asker *who, const struct place *p,
    enum sign_kind kind, struct sigv4_key *out, struct err *err)
{
    struct credentials *c = NULL;
    TRY(find_keys(a, who, p, kind, &c, err));
    (void)arena_hold(a, c, unref);
    *out = (struct sigv4_key){.id = str_from(c->id),
        .secret = str_from(c->secret),
        .token = str_from(c->token),
        .service = STR("s3")};
    return true;
}

/* --- the signature -----------------------------------------------------------------------------
 */

static bool sign_plan(struct arena *a, const struct sign *sg, const struct sigv4_key *key,
    struct str method, const struct sign_plan *plan, struct sign_answer *out, struct err *err)
{
    const struct sigv4_request rq = {
        .method = method,
        .host = plan->at.host,
        .path = plan->at.path,
        .query = plan->at.query,
        .headers = plan->signs,
        .n_headers = plan->n_signs,
        .payload_hash = plan->payload_hash,
        .now_ms = clock_ms() + atomic_load(&sg->s3->clock_offset_ms),
    };
    struct fetch_header *headers = ARENA_ARRAY(a, struct fetch_header, plan->n_sends + 4);
    size_t n = 0;
    TRY(sigv4_sign(a, key, &rq, headers, &n, err));
    if (plan->n_sends > 0)
        memcpy(headers + n, plan->sends, plan->n_sends * sizeof(*headers));
    *out = (struct sign_answer){
        plan->uri, headers, n + plan->n_sends, plan->kind == SIGN_READS ? SIGN_AGAIN : SIGN_ONCE};
    return true;
}

bool sign__request(struct arena *a, const struct sign_asker *who, const struct sign_request *rq,
    struct sign_answer *out, struct err *err)
{
    struct place p;
    struct sign_folder f;
    struct sign_plan plan;
    struct sigv4_key key;
    TRY(place_of(who->store, who->folder, &p, err));
    TRY(folder_of(a, who->sign, &p, &f, err));
    TRY(sign__check(a, &f, who->access, rq, &plan, err));
    TRY(keys_for(a, who, &p, plan.kind, &key, err));
    key.region = f.region;
    return sign_plan(a, who->sign, &key, rq->method, &plan, out, err);
}

bool sign_request(struct arena *a, struct store *s, struct str folder, enum vend_access access,
    const struct sign_request *rq, struct sign_answer *out, struct err *err)
{
    const struct sign_asker who = {s, s->sign, folder, access, SIGN_KEYS_BY_RULE};
    assert(s->sign);
    bool done = sign__request(a, &who, rq, out, err);
    if (done)
        metric_add(METRIC_signed_total, 1);
    else if (err->kind == ERR_STORE_DENIED || err->kind == ERR_STORE_BAD_URI)
        metric_add(METRIC_sign_refusals_total, 1);
    return done;
}

bool sign__where(struct arena *a, const struct store *s, const struct sign *sg, struct str folder,
    struct sign_place *out, struct err *err)
{
    struct place p;
    struct sign_folder f;
    TRY(place_of(s, folder, &p, err));
    TRY(folder_of(a, sg, &p, &f, err));
    out->endpoint = arena_printf(a, "%s://%.*s", endpoint_word(f.scheme), STR_ARG(f.host));
    out->region = f.region;
    out->style = s3__in_path(sg->s3, p.root->bucket) ? VEND_BUCKET_IN_PATH : VEND_BUCKET_IN_HOST;
    return true;
}

bool sign_where(
    struct arena *a, struct store *s, struct str folder, struct sign_place *out, struct err *err)
{
    assert(s->sign);
    return sign__where(a, s, s->sign, folder, out, err);
}

/* --- the store's -------------------------------------------------------------------------------
 */

bool sign_offered(const struct store *s)
{
    return s->sign != NULL;
}

bool sign_preferred(const struct store *s)
{
    return s->sign && (s->sign->conf.sign == STORE_SIGN_FIRST || !vend_offered(s));
}

bool sign__new(
    const struct store *s, const struct store_conf *conf, struct sign **out, struct err *err)
{
    struct endpoint ignored;
    *out = NULL;
    if (conf->sign == STORE_SIGN_NOTHING)
        return true;
    if (!s->roots[0].bucket)
        return err_set(
            err, ERR_INTERNAL, "Requests are signed for S3 only, and the warehouse is none");
    if (conf->client_endpoint)
        TRY(endpoint_parse(
            str_from(conf->client_endpoint), "the S3 endpoint for clients", &ignored, err));
    struct sign *sg = xcalloc(1, sizeof(*sg));
    *sg = (struct sign){.s3 = s->s3, .conf = *conf};
    *out = sg;
    return true;
}

void sign__free(struct sign **s)
{
    xfree(TAKE(*s));
}
