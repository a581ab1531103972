#include "adls_priv.h"

#include "arena.h"
#include "base.h"
#include "bucket.h"
#include "clock.h"
#include "source.h"
#include "vend_priv.h"

#include <assert.h>

enum { DEADLINE_MS = 20000, SMALL_BODY = 64 * 1024 };

void adls__free(struct adls **s)
{
    if (!*s)
        return;
    keeper_free(&(*s)->keeper);
    xfree((*s)->endpoint);
    xfree(*s);
    *s = NULL;
}

/* "http://127.0.0.1:10000/account": an emulator has the account in the path. */
static bool read_endpoint(struct adls *s, struct str uri, struct err *err)
{
    struct endpoint e;
    size_t scheme = str_starts(uri, STR("https://")) ? 8 : str_starts(uri, STR("http://")) ? 7 : 0;
    size_t host = scheme + str_find(str_sub(uri, scheme, uri.n), '/');
    struct str path = str_sub(uri, host, uri.n);
    while (str_ends(path, STR("/")))
        path.n--;
    TRY(endpoint_parse(str_sub(uri, 0, host), "the Azure endpoint", &e, err));
    for (size_t i = 1; i < path.n; i++)
        if (!((path.p[i] >= 'a' && path.p[i] <= 'z') || (path.p[i] >= '0' && path.p[i] <= '9')))
            return err_set(err, ERR_STORE_BAD_URI,
                "the Azure endpoint is not understood: expected nothing behind the host but an "
                "account's name, as emulators have it");
    s->scheme = e.scheme;
    char *end = s->endpoint = xcalloc(1, e.host.n + path.n + 1);
    end = mempcpy(end, e.host.p, e.host.n);
    if (path.n > 0)
        memcpy(end, path.p, path.n);
    return true;
}

static bool adls_new(
    const struct store_conf *conf, struct str authority, struct adls **out, struct err *err)
{
    AUTO(adls__free) struct adls *s = xcalloc(1, sizeof(*s));
    s->authority = authority;
    s->scheme = ENDPOINT_HTTPS;
    int ms = conf->s3_deadline_ms > 0 ? conf->s3_deadline_ms : DEADLINE_MS;
    s->deadline_us = (int64_t)ms * 1000;
    purse_init(&s->purse);
    if (conf->azure_endpoint && *conf->azure_endpoint)
        TRY(read_endpoint(s, str_from(conf->azure_endpoint), err));
    s->reach = fetch_reach_of(conf->endpoint_reach);
    TRY(keeper_new(&sources_azure, conf, &s->keeper, err));
    *out = TAKE(s);
    return true;
}

/* What lies beneath the base is named by it, and DuckDB takes "wasb:" for S3. */
static bool check_scheme(const struct root *r, struct err *err)
{
    return str_starts(str_from(r->uri), STR("abfs")) ||
           err_set(err, ERR_STORE_BAD_URI,
               "not all clients understand \"wasb\": expected the same location with \"abfss\"");
}

static bool adls_open(
    struct store *s, const struct store_conf *conf, struct root *r, struct err *err)
{
    TRY(check_scheme(r, err));
    if (!s->adls)
        return adls_new(conf, r->at.authority, &s->adls, err);
    struct str host = adls__place(s->adls->authority).host;
    return str_eq(adls__place(r->at.authority).host, host) ||
           err_set(err, ERR_STORE_DENIED,
               "it lies in another storage account than the warehouse's base, which is in %.*s",
               STR_ARG(host));
}

static void adls_close(struct root *r)
{
    (void)r;
}

static struct adls_call call_for(struct adls *s, const struct place *p, const char *method)
{
    return (struct adls_call){
        .deadline_us = clock_mono_us() + s->deadline_us,
        .method = method,
        .container = adls__place(p->at.authority).container,
        .key = str_from(p->rel),
        .max_body = SMALL_BODY,
    };
}

static bool get(struct adls *s, struct adls_call *call, struct buf *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    TRY(adls__send(s, a, call, &rs, err));
    if (rs.status != 200)
        return adls__fail(s, call, &rs, err);
    return fetch_take_body(&rs, out) ||
           err_set(err, ERR_UNAVAILABLE,
               "GET %.*s: the store's answer has no length, so it cannot be told complete",
               STR_ARG(call->key));
}

static bool adls_get(
    struct store *s, const struct place *p, size_t max, struct buf *out, struct err *err)
{
    TRY(bucket_object(p, "a container", err));
    struct adls_call call = call_for(s->adls, p, "GET");
    call.max_body = max;
    return get(s->adls, &call, out, err);
}

static bool adls_remove(struct store *s, const struct place *p, struct err *err)
{
    TRY(bucket_object(p, "a container", err));
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct adls_call call = call_for(s->adls, p, "DELETE");
    adls__header(&call, "x-ms-delete-snapshots", STR("include")); /* else one that has some stays */
    TRY(adls__send(s->adls, a, &call, &rs, err));
    if (rs.status / 100 == 2)
        return true;
    (void)adls__fail(s->adls, &call, &rs, err);
    return err->kind == ERR_STORE_NOT_FOUND;
}

/* --- writing -----------------------------------------------------------------------------------
 */

static bool check_taken(
    struct adls *s, const struct place *p, const struct adls_call *put, struct err *err)
{
    struct err why = {0};
    AUTO(buf_fini) struct buf there = {0};
    if (!put->uncertain)
        return bucket_taken(p, err);
    struct adls_call call = call_for(s, p, "GET");
    call.deadline_us = put->deadline_us;
    call.max_body = 1;
    for (size_t i = 0; i < put->n_pieces; i++)
        call.max_body += put->pieces[i].n;
    bool read = get(s, &call, &there, &why);
    return bucket_wrote(p, put->pieces, put->n_pieces, read ? &there : NULL, &why, err);
}

static bool adls_put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    TRY(bucket_object(p, "a container", err));
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct adls_call call = call_for(s->adls, p, "PUT");
    call.pieces = pieces;
    call.n_pieces = n;
    adls__header(
        &call, "content-type", str_from(content_type ? content_type : "application/octet-stream"));
    adls__header(&call, "if-none-match", STR("*"));
    adls__header(&call, "x-ms-blob-type", STR("BlockBlob"));
    TRY(adls__send(s->adls, a, &call, &rs, err));
    if (rs.status / 100 == 2)
        return true;
    (void)adls__fail(s->adls, &call, &rs, err);
    return err->kind == ERR_STORE_EXISTS && check_taken(s->adls, p, &call, err);
}

const struct store_ops store__adls_ops = {
    .open = adls_open,
    .close = adls_close,
    .get = adls_get,
    .put_new = adls_put_new,
    .remove = adls_remove,
    .make_dir = NULL, /* those that there are come with their files */
    .list = adls__list,
    .vend = &vend__adls,
};
