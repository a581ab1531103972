/* Google Cloud Storage by its JSON interface. */
#include "gcs_priv.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "bucket.h"
#include "clock.h"
#include "digest.h"
#include "vend_priv.h"

enum { DEADLINE_MS = 20000, SMALL_BODY = 64 * 1024 };

void gcs__free(struct gcs **gcs)
{
    if (!*gcs)
        return;
    keeper_free(&(*gcs)->keeper);
    xfree((*gcs)->host);
    xfree(*gcs);
    *gcs = NULL;
}

static bool gcs_new(const struct store_conf *conf, struct gcs **out, struct err *err)
{
    AUTO(gcs__free) struct gcs *gcs = xcalloc(1, sizeof(*gcs));
    struct endpoint at = {ENDPOINT_HTTPS, STR("storage.googleapis.com")};
    struct str named = str_from(conf->gcs_endpoint);
    if (named.n > 0)
        TRY(endpoint_parse(named, "the endpoint of Google's storage", &at, err));
    gcs->scheme = at.scheme;
    gcs->reach = named.n > 0 ? fetch_reach_of(conf->endpoint_reach) : FETCH_PRIVATE;
    gcs->host = xcalloc(1, at.host.n + 1);
    memcpy(gcs->host, at.host.p, at.host.n);
    gcs->deadline_us = (int64_t)DEADLINE_MS * 1000;
    purse_init(&gcs->purse);
    TRY(keeper_new(&sources_gcs, conf, &gcs->keeper, err));
    *out = TAKE(gcs);
    return true;
}

static bool gcs_open(
    struct store *s, const struct store_conf *conf, struct root *r, struct err *err)
{
    (void)r;
    return s->gcs || gcs_new(conf, &s->gcs, err);
}

static void gcs_close(struct root *r)
{
    (void)r;
}

struct str gcs__bucket(const struct root *r)
{
    size_t skip = STR("gs://").n;
    return str_sub(r->at.authority, skip, r->at.authority.n - skip);
}

/* An object's name is one part of the path, with its slashes encoded. */
static struct str encoded(struct arena *a, const struct place *p)
{
    return str_pct_encode(a, str_from(p->rel), "");
}

static struct gcs_call call_for(const struct gcs *gcs, const struct place *p, const char *method)
{
    return (struct gcs_call){
        .method = method,
        .uri = p->uri,
        .max_body = SMALL_BODY,
        .deadline_us = clock_mono_us() + gcs->deadline_us,
    };
}

static struct str object_path(struct arena *a, const struct place *p, const char *query)
{
    struct str bucket = gcs__bucket(p->root), name = encoded(a, p);
    return arena_printf(a, "/storage/v1/b/%.*s/o/%.*s%s", STR_ARG(bucket), STR_ARG(name), query);
}

static bool get(struct gcs *gcs, const struct place *p, size_t max, int64_t deadline_us,
    struct buf *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct gcs_call call = call_for(gcs, p, "GET");
    call.path = object_path(a, p, "?alt=media");
    call.max_body = max;
    call.deadline_us = deadline_us;
    TRY(gcs__send(gcs, a, &call, &rs, err));
    if (rs.status != 200)
        return gcs__fail(&call, &rs, err);
    return fetch_take_body(&rs, out) ||
           err_set(err, ERR_UNAVAILABLE,
               "GET %.*s: the store's answer has no length, so it cannot be told complete",
               STR_ARG(p->uri));
}

static bool gcs_get(
    struct store *s, const struct place *p, size_t max, struct buf *out, struct err *err)
{
    TRY(bucket_object(p, "a bucket", err));
    return get(s->gcs, p, max, clock_mono_us() + s->gcs->deadline_us, out, err);
}

static bool gcs_remove(struct store *s, const struct place *p, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    TRY(bucket_object(p, "a bucket", err));
    struct gcs_call call = call_for(s->gcs, p, "DELETE");
    call.path = object_path(a, p, "");
    TRY(gcs__send(s->gcs, a, &call, &rs, err));
    if (rs.status == 200 || rs.status == 204)
        return true;
    (void)gcs__fail(&call, &rs, err);
    return err->kind == ERR_STORE_NOT_FOUND;
}

/* --- writing -----------------------------------------------------------------------------------
 */

/* One object to be written. */
struct upload {
    const struct place *p;
    const struct str *pieces;
    size_t n;
    const char *content_type;
    int64_t deadline_us; /* of all requests together */
    bool uncertain;      /* a copy of ours may be there already */
};

static size_t size_of(const struct upload *u)
{
    size_t size = 0;
    for (size_t i = 0; i < u->n; i++)
        size += u->pieces[i].n;
    return size;
}

static bool check_taken(struct gcs *gcs, const struct upload *u, struct err *err)
{
    struct err why = {0};
    AUTO(buf_fini) struct buf there = {0};
    if (!u->uncertain)
        return bucket_taken(u->p, err);
    bool read = get(gcs, u->p, size_of(u) + 1, u->deadline_us, &there, &why);
    return bucket_wrote(u->p, u->pieces, u->n, read ? &there : NULL, &why, err);
}

/* The store says how long what it took is: an upload that lost its end must not be named. */
static bool check_size(const struct upload *u, const struct fetch_response *rs, struct err *err)
{
    AUTO(answer_free) json_t *json = answer_json(rs);
    int64_t size = 0;
    if (!str_to_i64(answer_text(json, "size"), &size) || size == (int64_t)size_of(u))
        return true;
    return err_set(err, ERR_UNAVAILABLE, "%.*s was written with %lld bytes instead of %zu",
        STR_ARG(u->p->uri), (long long)size, size_of(u));
}

/* A generation of 0 is none: the name must be free. */
static bool put(struct gcs *gcs, struct upload *u, int *status, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct gcs_call call = call_for(gcs, u->p, "POST");
    struct str bucket = gcs__bucket(u->p->root), name = encoded(a, u->p);
    call.path = arena_printf(a,
        "/upload/storage/v1/b/%.*s/o?uploadType=media&ifGenerationMatch=0&name=%.*s",
        STR_ARG(bucket), STR_ARG(name));
    call.missing = GCS_NO_BUCKET;
    call.content_type = u->content_type ? u->content_type : "application/octet-stream";
    call.pieces = u->pieces;
    call.n_pieces = u->n;
    call.deadline_us = u->deadline_us;
    bool sent = gcs__send(gcs, a, &call, &rs, err);
    u->uncertain = call.uncertain;
    TRY(sent);
    *status = rs.status;
    if (rs.status == 412)
        return true;
    return rs.status / 100 == 2 ? check_size(u, &rs, err) : gcs__fail(&call, &rs, err);
}

static bool gcs_put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    int status = 0;
    TRY(bucket_object(p, "a bucket", err));
    struct upload u = {.p = p,
        .pieces = pieces,
        .n = n,
        .content_type = content_type,
        .deadline_us = clock_mono_us() + s->gcs->deadline_us};
    TRY(put(s->gcs, &u, &status, err));
    return status != 412 || check_taken(s->gcs, &u, err);
}

const struct store_ops store__gcs_ops = {
    .open = gcs_open,
    .close = gcs_close,
    .get = gcs_get,
    .put_new = gcs_put_new,
    .remove = gcs_remove,
    .make_dir = NULL, /* a bucket has no folders */
    .list = gcs__list,
    .vend = &vend__gcs,
};
