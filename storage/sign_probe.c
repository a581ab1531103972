/* Does a signature reach one folder only? Tried as a thief would: what the signer refuses, and what
 * the store must refuse when a signed request is changed. */
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "digest.h"
#include "finding.h"
#include "lane.h"
#include "s3_priv.h"
#include "sign_priv.h"
#include "sigv4.h"
#include "uuid.h"
#include "vend_priv.h"

#include <assert.h>

enum { TIME_US = 20000000, HEADERS = 16, LIST_MAX = 64 * 1024 };

#define OTHERS "another table's"

struct trial {
    struct arena *a;
    struct store *own;
    struct sign *sign; /* for the address at which the server itself finds the store */
    struct sign_place place;
    struct str folder; /* holds t1, which is signed for, and t10 */
    struct str bucket; /* URI of the folder's bucket */
    struct str key;    /* path of the folder in it, behind a slash */
    const char *name;  /* of the bucket */
    struct err *err;
};

/* A signed request, and what a thief makes of it. */
struct request {
    const char *method;
    struct str uri, body;
    struct sign_answer signd;
    struct fetch_header extra; /* absent name: none */
    struct str read;           /* the answer's body */
    int status;                /* and what it says */
};

static struct str at(const struct trial *t, const char *name)
{
    return arena_printf(t->a, "%.*s/%s", STR_ARG(t->folder), name);
}

static struct str uri_of(const struct trial *t, const char *name)
{
    return arena_printf(t->a, "%.*s%.*s/%s", STR_ARG(t->bucket), STR_ARG(t->key), name);
}

static struct str list_of(const struct trial *t, const char *name)
{
    return arena_printf(t->a, "%.*s?list-type=2&prefix=%.*s%%2F%s%%2F", STR_ARG(t->bucket),
        STR_ARG(str_pct_encode(t->a, str_sub(t->key, 1, t->key.n), "")), name);
}

static struct str deletes(const struct trial *t, const char *name)
{
    return arena_printf(t->a, "<Delete><Object><Key>%.*s/%s</Key></Object></Delete>",
        STR_ARG(str_sub(t->key, 1, t->key.n)), name);
}

static bool sign_with(const struct trial *t, enum sign_keys keys, struct request *rq)
{
    const struct sign_asker who = {t->own, t->sign, at(t, "t1"), VEND_WRITE, keys};
    const struct sign_request asked = {.method = str_from(rq->method),
        .uri = rq->uri,
        .region = t->place.region,
        .body = rq->body};
    return sign__request(t->a, &who, &asked, &rq->signd, t->err);
}

static bool sign(const struct trial *t, struct request *rq)
{
    return sign_with(t, SIGN_KEYS_BY_RULE, rq);
}

/* False when nothing can be said of it. */
static bool send(const struct trial *t, struct request *rq, bool *worked)
{
    struct fetch_header headers[HEADERS];
    size_t n = 0;
    for (; n < rq->signd.n_headers && n + 2 < HEADERS; n++)
        headers[n] = rq->signd.headers[n];
    if (rq->extra.name.p)
        headers[n++] = rq->extra;
    if (strcmp(rq->method, "POST") == 0) {
        uint8_t md5[DIGEST_MD5];
        digest_md5(rq->body, md5);
        headers[n++] = (struct fetch_header){
            STR("content-md5"), b64_encode(t->a, (struct str){(const char *)md5, sizeof(md5)})};
    }
    const struct fetch_request sent = {.method = rq->method,
        .url = rq->signd.uri,
        .headers = headers,
        .n_headers = n,
        .pieces = &rq->body,
        .n_pieces = rq->body.p ? 1 : 0,
        .max_body = LIST_MAX,
        .deadline_us = clock_mono_us() + TIME_US,
        .reach = t->sign->s3->reach};
    struct fetch_response rs = {0};
    TRY(fetch_do(t->a, &sent, &rs, t->err));
    rq->read = buf_take(&rs.body, t->a);
    rq->status = rs.status;
    *worked = rs.status / 100 == 2 && !memmem(rq->read.p, rq->read.n, "<Error>", 7);
    return rs.status < 500 || rs.status == 501 ||
           err_set(t->err, ERR_UNAVAILABLE, "the store answered %d", rs.status);
}

static bool works(const struct trial *t, struct request rq)
{
    bool worked = false;
    TRY(sign(t, &rq));
    if (!send(t, &rq, &worked))
        return err_wrap(t->err, "a signed request could not be tried");
    return worked ||
           err_set(t->err, ERR_INTERNAL,
               "signed requests do not work in their own folder: %s was refused", rq.method);
}

static bool not_signed(const struct trial *t, struct request rq, const char *what)
{
    if (sign(t, &rq))
        return err_set(t->err, ERR_INTERNAL, "requests are signed that %s", what);
    if (t->err->kind != ERR_STORE_DENIED && t->err->kind != ERR_STORE_BAD_URI)
        return false;
    err_clear(t->err);
    return true;
}

/* Signed as the first, sent as the second. */
static bool not_taken(
    const struct trial *t, struct request rq, struct request changed, enum finding f)
{
    bool worked = false;
    if (!sign(t, &rq))
        return err_wrap(t->err, "a signed request could not be tried");
    changed.signd = rq.signd;
    changed.signd.uri = changed.uri;
    if (!send(t, &changed, &worked))
        return err_wrap(t->err, "a changed request could not be tried");
    return !worked || store__found(t->own, f, t->err);
}

static bool inside_works(const struct trial *t)
{
    struct str text = STR("firn");
    TRY(works(t, (struct request){.method = "PUT", .uri = uri_of(t, "t1/a"), .body = text}));
    TRY(works(t, (struct request){.method = "GET", .uri = uri_of(t, "t1/a")}));
    TRY(works(t, (struct request){.method = "GET", .uri = list_of(t, "t1")}));
    return works(t, (struct request){.method = "DELETE", .uri = uri_of(t, "t1/c")});
}

static bool outside_is_not_signed(const struct trial *t)
{
    struct str list = arena_printf(t->a, "%.*s?delete", STR_ARG(t->bucket));
    TRY(not_signed(t, (struct request){.method = "GET", .uri = uri_of(t, "t10/a")},
        "read a folder whose name begins alike"));
    TRY(not_signed(t, (struct request){.method = "PUT", .uri = uri_of(t, "t1/../t10/a")},
        "write outside of their folder"));
    TRY(not_signed(t, (struct request){.method = "GET", .uri = list_of(t, "t10")},
        "list a folder whose name begins alike"));
    return not_signed(t,
        (struct request){.method = "POST", .uri = list, .body = deletes(t, "t10/a")},
        "delete in a folder whose name begins alike");
}

static struct request many(const struct trial *t, const char *name)
{
    return (struct request){.method = "POST",
        .uri = arena_printf(t->a, "%.*s?delete=", STR_ARG(t->bucket)),
        .body = deletes(t, name)};
}

/* None may be signed at all. The next trial needs t10/a. */
static bool lists_are_not_taken(const struct trial *t)
{
    struct request rq = many(t, "t1/c");
    if (sign(t, &rq))
        return not_taken(t, rq, many(t, "t10/b"), FINDING_SIGNED_LIST_CHANGED);
    if (t->err->kind != ERR_STORE_DENIED)
        return false;
    store__warn(t->own, t->err->msg);
    err_clear(t->err);
    return true;
}

static bool changes_are_not_taken(const struct trial *t)
{
    struct request get = {.method = "GET", .uri = uri_of(t, "t1/a")}, other = get;
    other.uri = uri_of(t, "t10/a");
    TRY(not_taken(t, get, other, FINDING_SIGNED_PATH_CHANGED));
    get.uri = list_of(t, "t1");
    other.uri = list_of(t, "t10");
    TRY(not_taken(t, get, other, FINDING_SIGNED_PATH_CHANGED));
    return lists_are_not_taken(t);
}

static struct fetch_header copy_of(const struct trial *t, const char *name)
{
    return (struct fetch_header){STR("x-amz-copy-source"),
        arena_printf(t->a, "/%s%.*s/%s", t->name, STR_ARG(sigv4_encode_path(t->a, t->key)), name)};
}

/* Not every store asks that the signature covers this header; one that takes it may still have
 * written what was sent. */
static bool copies_nothing(const struct trial *t)
{
    bool worked = false;
    struct request rq = {.method = "PUT", .uri = uri_of(t, "t1/b"), .body = STR("")};
    struct request back = {.method = "GET", .uri = uri_of(t, "t1/b")};
    rq.extra = copy_of(t, "t10/a");
    TRY(sign(t, &rq) && send(t, &rq, &worked));
    TRY(sign(t, &back) && send(t, &back, &worked));
    return !worked || !str_eq(back.read, STR(OTHERS)) ||
           store__found(t->own, FINDING_SIGNED_HEADER_ADDED, t->err);
}

static void clean(const struct trial *t)
{
    static const char *const names[] = {"t1/a", "t1/b", "t1/c", "t10/a", "t10/b"};
    struct err ignored = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)!store_delete(t->own, at(t, names[i]), &ignored);
}

static bool prepare(struct trial *t)
{
    struct place p;
    TRY(store__place(t->own, t->folder, &p, t->err));
    TRY(sign__where(t->a, t->own, t->sign, at(t, "t1"), &t->place, t->err));
    size_t skip = str_find(t->place.endpoint, ':') + 3;
    const char *bucket = t->name = p.root->bucket->name;
    if (t->place.style == VEND_BUCKET_IN_PATH)
        t->bucket = arena_printf(t->a, "%.*s/%s", STR_ARG(t->place.endpoint), bucket);
    else
        t->bucket = arena_printf(t->a, "%.*s%s.%.*s", (int)skip, t->place.endpoint.p, bucket,
            STR_ARG(str_sub(t->place.endpoint, skip, t->place.endpoint.n)));
    t->key = arena_printf(t->a, "/%s", p.rel);
    return true;
}

static bool open_trial(struct trial *t, const struct sign_asker *who, struct sign *sign)
{
    t->own = who->store;
    *sign = (struct sign){.s3 = who->sign->s3, .conf = who->sign->conf};
    sign->conf.client_endpoint = NULL;
    t->sign = sign;
    return prepare(t);
}

/* Signed, and sent with a header that makes it a copy of something that is not there: who honours
 * it says so, or writes an empty object. */
static bool try_headers(struct trial *t, enum sign_looks *out)
{
    bool worked = false;
    struct request rq = {.method = "PUT", .uri = uri_of(t, "t1/c"), .body = STR("")};
    rq.extra = copy_of(t, "t1/d");
    TRY(sign_with(t, SIGN_KEYS_OWN, &rq) && send(t, &rq, &worked));
    *out = rq.status == 403 || rq.status == 400 ? SIGN_LOOKS_CLOSELY : SIGN_LOOKS_AWAY;
    return !worked || store_delete(t->own, at(t, "t1/c"), t->err);
}

/* A list that was signed, and one that was not; neither names something that is there. */
static bool try_bodies(struct trial *t, enum sign_looks *out)
{
    bool worked = false, changed = false;
    struct request first = many(t, "t1/c"), other = many(t, "t1/d");
    TRY(sign_with(t, SIGN_KEYS_OWN, &first) && send(t, &first, &worked));
    other.signd = first.signd;
    TRY(send(t, &other, &changed));
    *out = worked && !changed ? SIGN_LOOKS_CLOSELY : SIGN_LOOKS_AWAY;
    return true;
}

bool sign__looks(struct arena *a, const struct sign_asker *who, enum sign_look look,
    enum sign_looks *out, struct err *err)
{
    struct sign sign;
    struct trial t = {.a = a, .err = err, .folder = who->folder};
    *out = (enum sign_looks)atomic_load(&who->sign->looks[look]);
    if (*out != SIGN_LOOKS_UNKNOWN)
        return true;
    if (!lane_may_block())
        return err_set(err, ERR_WOULD_BLOCK, "the store has to be tried");
    if (!open_trial(&t, who, &sign) ||
        !(look == SIGN_LOOK_HEADERS ? try_headers : try_bodies)(&t, out))
        return err_wrap(err, "it could not be tried whether the store checks what was signed");
    atomic_store(&who->sign->looks[look], (int)*out);
    return true;
}

bool sign_probe(struct store *s, struct err *err)
{
    if (!s->sign)
        return true;
    assert(lane_may_block());
    AUTO(arena_free) struct arena *a = arena_new_secret();
    struct sign sign;
    struct str text = STR(OTHERS);
    char id[UUID_TEXT + 1];
    uuid_v4(id);
    struct trial t = {.a = a, .err = err};
    t.folder = arena_printf(a, "%.*s/.firn-probe-%s", STR_ARG(store_base(s)), id);
    const struct sign_asker who = {s, s->sign, t.folder, VEND_WRITE, SIGN_KEYS_BY_RULE};
    bool good = open_trial(&t, &who, &sign) &&
                store_put_new(s, at(&t, "t10/a"), &text, 1, "text/plain", err) &&
                store_put_new(s, at(&t, "t10/b"), &text, 1, "text/plain", err) &&
                inside_works(&t) && outside_is_not_signed(&t) && changes_are_not_taken(&t) &&
                copies_nothing(&t);
    clean(&t);
    return good;
}
