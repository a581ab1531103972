/* Google Cloud Storage: the server's own token, limited to a folder by a boundary. */
#include "arena.h"
#include "base.h"
#include "boundary.h"
#include "clock.h"
#include "gcs_priv.h"
#include "metric.h"
#include "vend_priv.h"

enum { TRIES = 2 };

static bool boundary_of(struct arena *a, const struct place *p, enum vend_access access,
    struct str *out, struct err *err)
{
    const struct boundary_folder folder = {gcs__bucket(p->root), str_from(p->rel)};
    return boundary_for_folder(
        a, &folder, access == VEND_WRITE ? BOUNDARY_WRITE : BOUNDARY_READ, out, err);
}

static bool limit(
    const struct vend *v, struct str boundary, struct credentials **out, struct err *err)
{
    const struct google_service service = gcs__service(&v->conf);
    for (int tries = 1;; tries++) {
        AUTO(credentials_unref) struct credentials *own = NULL;
        TRY(keeper_get(v->store->gcs->keeper, service.deadline_us, &own, err));
        metric_add(METRIC_vend_requests_total, 1);
        if (google_token_within(&service, own, boundary, out, err))
            return true;
        metric_add(METRIC_vend_failures_total, 1);
        if (err->kind != ERR_UNAVAILABLE || tries == TRIES ||
            clock_mono_us() >= service.deadline_us)
            return false;
    }
}

static bool ask(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err)
{
    AUTO(credentials_unref) struct credentials *limited = NULL;
    struct str project = str_from(v->conf.gcs_project), boundary;
    TRY(boundary_of(a, p, access, &boundary, err));
    TRY(limit(v, boundary, &limited, err));
    if (project.n == 0) {
        *out = TAKE(limited);
        return true;
    }
    *out = credentials_new(project, STR(""), str_from(limited->token), limited->expires_ms);
    return true;
}

static bool check(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct err *err)
{
    struct str ignored;
    (void)v;
    return boundary_of(a, p, access, &ignored, err);
}

static bool way(const struct store_conf *conf, enum vend_way *out, struct err *err)
{
    struct endpoint ignored;
    *out = conf->gcs_vend == STORE_GCS_TOKENS ? VEND_BY_FOLDER : VEND_NONE;
    return !conf->client_endpoint ||
           endpoint_parse(str_from(conf->client_endpoint),
               "the endpoint of Google's storage for clients", &ignored, err);
}

/* Clients know where Google is. */
static bool tell(struct arena *a, const struct vend *v, const struct place *p, struct vended *out,
    struct err *err)
{
    struct str named = str_from(v->conf.client_endpoint);
    (void)a;
    (void)p;
    (void)err;
    if (named.n == 0)
        named = str_from(v->conf.gcs_endpoint);
    while (str_ends(named, STR("/")))
        named.n--;
    out->kind = VENDED_GCS;
    out->endpoint = named;
    return true;
}

/* --- for the probe -----------------------------------------------------------------------------
 */

static void lend(
    struct arena *a, const struct vend *v, const struct credentials *keys, struct store_conf *conf)
{
    (void)a;
    (void)v;
    conf->gcs_token = keys->token;
    conf->gcs_key = NULL;
    conf->sealed = NULL;
    conf->gcs_vend = STORE_GCS_NOTHING;
}

/* A limited token must not be good for another one. */
static bool cannot_grow(
    struct arena *a, const struct vend *v, const struct credentials *keys, struct err *err)
{
    AUTO(credentials_unref) struct credentials *more = NULL;
    const struct google_service service = gcs__service(&v->conf);
    const struct boundary_folder elsewhere = {gcs__bucket(&v->store->roots[0]), STR("firn-probe")};
    struct str boundary;
    TRY(boundary_for_folder(a, &elsewhere, BOUNDARY_WRITE, &boundary, err));
    if (google_token_within(&service, keys, boundary, &more, err))
        return store__found(v->store, FINDING_VENDED_TOKEN_WIDENED, err);
    if (err->kind == ERR_UNAVAILABLE)
        return err_wrap(err, "a limited token was tried at the token service");
    err_clear(err);
    return true;
}

const struct vend_kind vend__gcs = {
    .name = "Google",
    .way = way,
    .check = check,
    .ask = ask,
    .own = NULL,
    .tell = tell,
    .lend = lend,
    .cannot_grow = cannot_grow,
};
