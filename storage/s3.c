#include "s3_priv.h"

#include "arena.h"
#include "base.h"
#include "bucket.h"
#include "clock.h"
#include "digest.h"
#include "source.h"
#include "vend_priv.h"
#include "xml.h"

#include <assert.h>
#include <stdlib.h>

enum { DEADLINE_MS = 20000, PAGE = 1000, PAGE_BODY_MAX = 8 * 1024 * 1024, SMALL_BODY = 64 * 1024 };

static void buckets_free(struct s3_bucket *b)
{
    while (b) {
        struct s3_bucket *next = b->next;
        xfree(b->name);
        xfree(b);
        b = next;
    }
}

void s3__free(struct s3 **s3)
{
    if (!*s3)
        return;
    keeper_free(&(*s3)->keeper);
    buckets_free((*s3)->buckets);
    pthread_mutex_destroy(&(*s3)->lock);
    xfree((*s3)->endpoint);
    xfree(*s3);
    *s3 = NULL;
}

static void s3_forget_condition(struct store *s)
{
    atomic_store(&s->s3->no_condition, true);
}

static bool s3_has_condition(const struct store *s)
{
    return !atomic_load(&s->s3->no_condition);
}

static bool read_endpoint(struct s3 *s3, const char *uri, struct err *err)
{
    struct endpoint e;
    TRY(endpoint_parse(str_from(uri), "the S3 endpoint", &e, err));
    s3->scheme = e.scheme;
    s3->endpoint = xcalloc(1, e.host.n + 1);
    memcpy(s3->endpoint, e.host.p, e.host.n);
    return true;
}

static bool is_address(const char *endpoint)
{
    return endpoint && (endpoint[0] == '[' || endpoint[strspn(endpoint, "0123456789.")] == ':' ||
                           endpoint[strspn(endpoint, "0123456789.")] == '\0');
}

static const char *region_given(const struct store_conf *conf)
{
    const char *names[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    if (conf->s3_region && *conf->s3_region)
        return conf->s3_region;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return v;
    }
    return NULL;
}

static bool s3_new(const struct store_conf *conf, struct s3 **out, struct err *err)
{
    AUTO(s3__free) struct s3 *s3 = xcalloc(1, sizeof(*s3));
    pthread_mutex_init(&s3->lock, NULL);
    purse_init(&s3->purse);
    s3->scheme = ENDPOINT_HTTPS;
    s3->style = conf->s3_style;
    int ms = conf->s3_deadline_ms > 0 ? conf->s3_deadline_ms : DEADLINE_MS;
    s3->deadline_us = (int64_t)ms * 1000;
    if (conf->s3_endpoint && *conf->s3_endpoint)
        TRY(read_endpoint(s3, conf->s3_endpoint, err));
    s3->reach = s3->endpoint ? fetch_reach_of(conf->endpoint_reach) : FETCH_PRIVATE;
    if (s3->style == STORE_STYLE_VIRTUAL && is_address(s3->endpoint))
        return err_set(err, ERR_INTERNAL,
            "the S3 endpoint %s is an address: a bucket can be part of a host name only, expected "
            "a name or path style",
            s3->endpoint);
    struct store_conf with_region = *conf;
    with_region.s3_region = region_given(conf);
    TRY(keeper_new(&sources_s3, &with_region, &s3->keeper, err));
    *out = TAKE(s3);
    return true;
}

static bool bucket_open(struct s3 *s3, const struct store_conf *conf, struct str name,
    struct s3_bucket **out, struct err *err)
{
    for (struct s3_bucket *b = s3->buckets; b; b = b->next) {
        if (str_eq(str_from(b->name), name)) {
            *out = b;
            return true;
        }
    }
    const char *region = region_given(conf);
    if (region && !store_is_region(str_from(region)))
        return err_set(err, ERR_INTERNAL,
            "the S3 region is none: expected 1 to %d letters, digits, '.', '-' or '_'", REGION_MAX);
    struct s3_bucket *b = xcalloc(1, sizeof(*b));
    b->name = xcalloc(1, name.n + 1);
    memcpy(b->name, name.p, name.n);
    /* Stores other than AWS rarely have regions: the usual word until one says otherwise. */
    b->state = region || s3->endpoint ? REGION_KNOWN : REGION_ASSUMED;
    (void)stpcpy(b->region, region ? region : "us-east-1");
    b->next = s3->buckets;
    s3->buckets = b;
    *out = b;
    return true;
}

static bool s3_open(struct store *s, const struct store_conf *conf, struct root *r, struct err *err)
{
    if (!s->s3)
        TRY(s3_new(conf, &s->s3, err));
    assert(s->s3);
    size_t skip = STR("s3://").n;
    return bucket_open(
        s->s3, conf, str_sub(r->at.authority, skip, r->at.authority.n), &r->bucket, err);
}

static void s3_close(struct root *r)
{
    r->bucket = NULL;
}

static struct s3_call call_for(struct s3 *s3, const struct place *p, const char *method)
{
    return (struct s3_call){
        .deadline_us = clock_mono_us() + s3->deadline_us,
        .method = method,
        .bucket = p->root->bucket,
        .key = str_from(p->rel),
        .max_body = SMALL_BODY,
    };
}

static void add_header(struct s3_call *call, const char *name, struct str value)
{
    call->headers[call->n_headers++] = (struct fetch_header){str_from(name), value};
}

static bool get(struct s3 *s3, struct s3_call *call, struct buf *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    TRY(s3__send(s3, a, call, &rs, err));
    if (rs.status != 200)
        return s3__fail(call, &rs, err);
    return fetch_take_body(&rs, out) ||
           err_set(err, ERR_UNAVAILABLE,
               "GET s3://%s/%.*s: the store's answer has no length, so it cannot be told complete",
               call->bucket->name, STR_ARG(call->key));
}

static bool s3_get(
    struct store *s, const struct place *p, size_t max, struct buf *out, struct err *err)
{
    TRY(bucket_object(p, "a bucket", err));
    struct s3_call call = call_for(s->s3, p, "GET");
    call.max_body = max;
    return get(s->s3, &call, out, err);
}

static bool head(
    struct s3 *s3, const struct place *p, int64_t deadline_us, bool *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct s3_call call = call_for(s3, p, "HEAD");
    call.deadline_us = deadline_us;
    TRY(s3__send(s3, a, &call, &rs, err));
    if (rs.status != 200 && rs.status != 404)
        return s3__fail(&call, &rs, err);
    *out = rs.status == 200;
    return true;
}

static bool s3_remove(struct store *s, const struct place *p, struct err *err)
{
    TRY(bucket_object(p, "a bucket", err));
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct s3_call call = call_for(s->s3, p, "DELETE");
    TRY(s3__send(s->s3, a, &call, &rs, err));
    if (rs.status == 200 || rs.status == 204)
        return true;
    (void)s3__fail(&call, &rs, err);
    return err->kind == ERR_STORE_NOT_FOUND;
}

/* One object to be written: its bytes in one piece, which the digests need. */
struct upload {
    const struct place *p;
    struct str body;
    char *joined; /* owned; NULL when there was one piece */
    const char *content_type;
    int64_t deadline_us; /* of all requests together */
    bool uncertain;      /* a copy of ours may be there already */
};

static void upload_fini(struct upload *u)
{
    xfree(u->joined);
}

static void upload_init(struct upload *u, const struct str *pieces, size_t n)
{
    if (n == 1) {
        u->body = pieces[0];
        return;
    }
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += pieces[i].n;
    char *end = u->joined = xmalloc(total + 1);
    for (size_t i = 0; i < n; i++)
        if (pieces[i].n > 0)
            end = mempcpy(end, pieces[i].p, pieces[i].n);
    u->body = (struct str){u->joined, total};
}

static bool check_taken(struct s3 *s3, const struct upload *u, struct err *err)
{
    struct err why = {0};
    AUTO(buf_fini) struct buf there = {0};
    if (!u->uncertain)
        return bucket_taken(u->p, err);
    struct s3_call call = call_for(s3, u->p, "GET");
    call.max_body = u->body.n + 1;
    call.deadline_us = u->deadline_us;
    bool read = get(s3, &call, &there, &why);
    return bucket_wrote(u->p, &u->body, 1, read ? &there : NULL, &why, err);
}

enum put_mode { PUT_IF_ABSENT, PUT_PLAIN };

/* *status: 2xx, 412, or 501 to PUT_IF_ABSENT. */
static bool put(struct s3 *s3, struct upload *u, enum put_mode mode, int *status, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    uint8_t md5[DIGEST_MD5];
    digest_md5(u->body, md5);
    struct s3_call call = call_for(s3, u->p, "PUT");
    call.deadline_us = u->deadline_us;
    call.pieces = &u->body;
    call.n_pieces = 1;
    call.uncertain = u->uncertain;
    add_header(&call, "content-type",
        str_from(u->content_type ? u->content_type : "application/octet-stream"));
    add_header(&call, "content-md5", b64_encode(a, (struct str){(const char *)md5, sizeof(md5)}));
    if (mode == PUT_IF_ABSENT)
        add_header(&call, "if-none-match", STR("*"));
    bool sent = s3__send(s3, a, &call, &rs, err);
    u->uncertain = call.uncertain;
    TRY(sent);
    *status = rs.status;
    bool unknown_condition = rs.status == 501 && mode == PUT_IF_ABSENT;
    if (rs.status / 100 == 2 || rs.status == 412 || unknown_condition)
        return true;
    return s3__fail(&call, &rs, err);
}

/* For a store that knows no condition. Names are unique by a uuid; the look is for mistakes. */
static bool put_unconditionally(struct s3 *s3, struct upload *u, struct err *err)
{
    bool taken = false;
    int status = 0;
    TRY(head(s3, u->p, u->deadline_us, &taken, err));
    if (taken)
        return check_taken(s3, u, err);
    return put(s3, u, PUT_PLAIN, &status, err);
}

static bool s3_put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    struct s3 *s3 = s->s3;
    TRY(bucket_object(p, "a bucket", err));
    AUTO(upload_fini)
    struct upload u = {
        .p = p, .content_type = content_type, .deadline_us = clock_mono_us() + s3->deadline_us};
    upload_init(&u, pieces, n);
    if (!atomic_load(&s3->no_condition)) {
        int status = 0;
        TRY(put(s3, &u, PUT_IF_ABSENT, &status, err));
        if (status / 100 == 2)
            return true;
        if (status == 412)
            return check_taken(s3, &u, err);
        atomic_store(&s3->no_condition, true);
    }
    return put_unconditionally(s3, &u, err);
}

/* One object of a page. */
struct object {
    struct str key;
    int64_t size, modified_ms;
};

struct page {
    struct str next; /* token; absent on the last page */
    bool truncated, encoded;
    struct object *objects; /* or folders, which have a key only, ending in a slash */
    size_t n;
};

static void take_element(const struct xml *x, struct page *page)
{
    struct object *o = &page->objects[page->n];
    struct str parent = x->depth > 0 ? x->names[x->depth - 1] : STR("");
    bool inside = str_eq(parent, STR("Contents"));
    bool folder = str_eq(parent, STR("CommonPrefixes"));
    if ((inside && str_eq(x->name, STR("Key"))) || (folder && str_eq(x->name, STR("Prefix"))))
        o->key = x->text;
    else if (inside && str_eq(x->name, STR("Size")))
        (void)str_to_i64(x->text, &o->size);
    else if (inside && str_eq(x->name, STR("LastModified")))
        o->modified_ms = clock_parse(x->text);
    else if ((str_eq(x->name, STR("Contents")) || str_eq(x->name, STR("CommonPrefixes"))) &&
             page->n < PAGE)
        page->n++;
    else if (x->depth == 1 && str_eq(x->name, STR("NextContinuationToken")))
        page->next = x->text;
    else if (x->depth == 1 && str_eq(x->name, STR("IsTruncated")))
        (void)str_to_bool(str_trim(x->text), &page->truncated);
    else if (x->depth == 1 && str_eq(x->name, STR("EncodingType")))
        page->encoded = str_eq(x->text, STR("url"));
}

static bool read_page(struct arena *a, struct str doc, struct page *page, struct err *err)
{
    struct xml x;
    enum xml_event e;
    *page = (struct page){.objects = ARENA_ARRAY(a, struct object, PAGE + 1)};
    xml_init(&x, a, doc);
    do {
        TRY(xml_next(&x, &e, err));
        if (e == XML_CLOSE)
            take_element(&x, page);
    } while (e != XML_DONE);
    return str_eq(x.name, STR("ListBucketResult")) ||
           err_set(err, ERR_INTERNAL, "expected ListBucketResult, found %.*s", STR_ARG(x.name));
}

static void keep_objects(struct arena *a, const struct page *page, struct str folder,
    struct str prefix, struct entries *out)
{
    for (size_t i = 0; i < page->n && out->n < out->limit; i++) {
        const struct object *o = &page->objects[i];
        struct str key = o->key;
        if (page->encoded && !str_pct_decode(a, o->key, STR_PLUS_SPACE, &key))
            continue; /* no UTF-8: nothing that we or an engine named */
        if (!str_starts(key, prefix) || key.n == prefix.n)
            continue;
        bool is_folder = str_ends(key, STR("/"));
        if (is_folder ? out->what != LIST_FOLDERS : !entries__wanted(out, key))
            continue;
        struct str rest = str_sub(key, prefix.n, key.n - prefix.n - (is_folder ? 1 : 0));
        struct str uri = arena_printf(out->a, "%.*s/%.*s", STR_ARG(folder), STR_ARG(rest));
        entries__add(out, uri, o->size, o->modified_ms);
    }
}

/* The page behind page->next; the first one when that is absent. */
static bool fetch_page(struct s3 *s3, struct arena *a, const struct place *p,
    const struct entries *e, struct str prefix, struct page *page, struct err *err)
{
    struct str token = page->next;
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct s3_call call = call_for(s3, p, "GET");
    call.key = (struct str){NULL, 0};
    call.max_body = PAGE_BODY_MAX;
    call.query = arena_printf(a, "%s%.*s%s%sencoding-type=url&list-type=2&max-keys=%d&prefix=%.*s",
        token.p ? "continuation-token=" : "", STR_ARG(str_pct_encode(a, token, "")),
        token.p ? "&" : "", e->what == LIST_FOLDERS ? "delimiter=%2F&" : "", PAGE,
        STR_ARG(str_pct_encode(a, prefix, "")));
    TRY(s3__send(s3, a, &call, &rs, err));
    if (rs.status != 200)
        return s3__fail(&call, &rs, err);
    /* The page's strings outlive the body. */
    return read_page(a, buf_take(&rs.body, a), page, err) ||
           err_wrap(err, "listing %.*s", STR_ARG(p->uri));
}

static bool s3_list(struct store *s, const struct place *p, struct entries *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new(); /* tokens */
    struct str prefix = *p->rel ? arena_printf(a, "%s/", p->rel) : STR("");
    struct str folder = p->uri, token = {NULL, 0};
    while (str_ends(folder, STR("/")))
        folder.n--;
    for (;;) {
        AUTO(arena_free) struct arena *one = arena_new();
        struct page page = {.next = token};
        TRY(fetch_page(s->s3, one, p, out, prefix, &page, err));
        keep_objects(one, &page, folder, prefix, out);
        if (!page.truncated || out->n >= out->limit)
            return true;
        if (page.next.n == 0 || str_eq(page.next, token))
            return err_set(err, ERR_INTERNAL, "listing %.*s: the store does not say how to go on",
                STR_ARG(p->uri));
        token = arena_dup(a, page.next);
    }
}

const struct store_ops store__s3_ops = {
    .open = s3_open,
    .close = s3_close,
    .get = s3_get,
    .put_new = s3_put_new,
    .remove = s3_remove,
    .make_dir = NULL, /* a bucket has no folders */
    .list = s3_list,
    .forget_condition = s3_forget_condition,
    .has_condition = s3_has_condition,
    .vend = &vend__s3,
};
