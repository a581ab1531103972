#include "sigv4.h"

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "digest.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

enum { TIME_TEXT = sizeof("20130524T000000Z"), USUAL = 1024 };

#define ALGORITHM "AWS4-HMAC-SHA256"

/* What is signed: everything after the request line, in canonical form. */
struct signing {
    const struct sigv4_key *key;
    const struct sigv4_request *rq;
    struct str time;  /* 20130524T000000Z */
    struct str scope; /* 20130524/region/service/aws4_request */
    struct str query;
    struct fetch_header *headers; /* lower case, sorted, names unique */
    size_t n_headers;
    struct str names; /* host;x-amz-date */
};

static struct str time_text(struct arena *a, int64_t now_ms)
{
    time_t t = (time_t)(now_ms / 1000);
    struct tm tm;
    char text[TIME_TEXT];
    (void)gmtime_r(&t, &tm);
    size_t n = strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
    return arena_dup(a, (struct str){text, n});
}

static struct str scope_text(struct arena *a, const struct sigv4_key *key, struct str time)
{
    return arena_printf(
        a, "%.*s/%.*s/%.*s/aws4_request", 8, time.p, STR_ARG(key->region), STR_ARG(key->service));
}

/* Trimmed, and every run of blanks inside becomes one. */
static struct str squeeze(struct arena *a, struct str s)
{
    s = str_trim(s);
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i] == '\t' ? ' ' : s.p[i];
        if (c != ' ' || p[n - 1] != ' ')
            p[n++] = c;
    }
    p[n] = '\0';
    return (struct str){p, n};
}

/* Puts a header where it belongs; a name that is there already gets the value behind a comma. */
static void add_header(struct arena *a, struct signing *s, struct str name, struct str value)
{
    name = str_lower(a, name);
    value = squeeze(a, value);
    size_t i = s->n_headers;
    while (i > 0 && str_cmp(s->headers[i - 1].name, name) > 0)
        i--;
    if (i > 0 && str_eq(s->headers[i - 1].name, name)) {
        struct str *v = &s->headers[i - 1].value;
        *v = arena_printf(a, "%.*s,%.*s", STR_ARG(*v), STR_ARG(value));
        return;
    }
    memmove(&s->headers[i + 1], &s->headers[i], (s->n_headers - i) * sizeof(*s->headers));
    s->headers[i] = (struct fetch_header){name, value};
    s->n_headers++;
}

static struct str join_names(struct arena *a, const struct signing *s)
{
    struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_reserve(&b, USUAL / 4);
    for (size_t i = 0; i < s->n_headers; i++) {
        if (i > 0)
            buf_putc(&b, ';');
        buf_str(&b, s->headers[i].name);
    }
    return buf_take(&b, a);
}

/* What a store reads from a piece of the query, encoded the one canonical way. Unlike
 * str_pct_decode it takes any bytes, and a '%' that begins nothing stands for itself. */
static struct str requote(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? str_hex(s.p[i + 1]) : -1;
        int low = high >= 0 ? str_hex(s.p[i + 2]) : -1;
        if (low >= 0) {
            p[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            p[n++] = s.p[i] == '+' ? ' ' : s.p[i];
        }
    }
    return str_pct_encode(a, (struct str){p, n}, "");
}

static int pair_cmp(const void *x, const void *y)
{
    const struct fetch_header *l = x, *r = y;
    int by_name = str_cmp(l->name, r->name);
    return by_name ? by_name : str_cmp(l->value, r->value);
}

/* Sorted by name, then by value: not by "name=value", in which '=' would take part. */
static struct str canonical_query(struct arena *a, struct str query)
{
    assert(query.n < UINT32_MAX);
    if (query.n == 0)
        return STR("");
    uint32_t n = 0, max = 1;
    for (size_t i = 0; i < query.n; i++)
        max += query.p[i] == '&';
    struct fetch_header *pairs = ARENA_ARRAY(a, struct fetch_header, max);
    struct str rest = query.n > 0 ? query : (struct str){NULL, 0};
    while (rest.p) {
        struct str value = str_cut(&rest, '&');
        if (value.n == 0)
            continue;
        struct str name = str_cut(&value, '=');
        pairs[n++] = (struct fetch_header){requote(a, name), requote(a, value)};
    }
    qsort(pairs, n, sizeof(*pairs), pair_cmp);
    struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_reserve(&b, query.n * 3 + 16);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(&b, '&');
        buf_str(&b, pairs[i].name);
        buf_putc(&b, '=');
        buf_str(&b, pairs[i].value);
    }
    return buf_take(&b, a);
}

static bool is_s3(const struct sigv4_key *key)
{
    return str_eq(key->service, STR("s3"));
}

static struct signing signing_begin(
    struct arena *a, const struct sigv4_key *key, const struct sigv4_request *rq)
{
    struct signing s = {.key = key,
        .rq = rq,
        .time = time_text(a, rq->now_ms),
        .query = canonical_query(a, rq->query)};
    s.scope = scope_text(a, key, s.time);
    s.headers = ARENA_ARRAY(a, struct fetch_header, rq->n_headers + 4);
    add_header(a, &s, STR("host"), rq->host);
    for (size_t i = 0; i < rq->n_headers; i++)
        add_header(a, &s, rq->headers[i].name, rq->headers[i].value);
    add_header(a, &s, STR("x-amz-date"), s.time);
    if (is_s3(key))
        add_header(a, &s, STR("x-amz-content-sha256"), rq->payload_hash);
    if (key->token.n > 0)
        add_header(a, &s, STR("x-amz-security-token"), key->token);
    s.names = join_names(a, &s);
    return s;
}

static struct str canonical_request(struct arena *a, const struct signing *s)
{
    struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_reserve(&b, USUAL + s->rq->path.n + s->query.n);
    buf_putf(&b, "%.*s\n%.*s\n", STR_ARG(s->rq->method), STR_ARG(s->rq->path));
    buf_str(&b, s->query);
    buf_putc(&b, '\n');
    for (size_t i = 0; i < s->n_headers; i++) {
        buf_str(&b, s->headers[i].name);
        buf_putc(&b, ':');
        buf_str(&b, s->headers[i].value);
        buf_putc(&b, '\n');
    }
    buf_putf(&b, "\n%.*s\n%.*s", STR_ARG(s->names), STR_ARG(s->rq->payload_hash));
    return buf_take(&b, a);
}

/* The key of one day, region and service. */
static void derive(struct arena *a, const struct signing *s, uint8_t out[static DIGEST_SHA256])
{
    size_t n = s->key->secret.n + 4;
    char *first = arena_alloc(a, n);
    (void)mempcpy(mempcpy(first, "AWS4", 4), s->key->secret.p, s->key->secret.n);
    digest_hmac((struct str){first, n}, str_sub(s->time, 0, 8), out);
    explicit_bzero(first, n);
    struct str steps[] = {s->key->region, s->key->service, STR("aws4_request")};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        uint8_t next[DIGEST_SHA256];
        digest_hmac((struct str){(const char *)out, DIGEST_SHA256}, steps[i], next);
        memcpy(out, next, sizeof(next));
        explicit_bzero(next, sizeof(next));
    }
}

static struct str signature(struct arena *a, const struct signing *s)
{
    uint8_t digest[DIGEST_SHA256], key[DIGEST_SHA256];
    char text[DIGEST_SHA256_HEX + 1];
    digest_sha256(canonical_request(a, s), digest);
    digest_hex(digest, sizeof(digest), text);
    struct str to_sign =
        arena_printf(a, ALGORITHM "\n%.*s\n%.*s\n%s", STR_ARG(s->time), STR_ARG(s->scope), text);
    derive(a, s, key);
    digest_hmac((struct str){(const char *)key, sizeof(key)}, to_sign, digest);
    explicit_bzero(key, sizeof(key));
    digest_hex(digest, sizeof(digest), text);
    return arena_dup(a, str_from(text));
}

static bool is_clean(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t')
            return false;
    return true;
}

/* A line break would smuggle further lines into what is signed. */
static bool check_input(
    const struct sigv4_key *key, const struct sigv4_request *rq, struct err *err)
{
    if (key->id.n == 0 || key->secret.n == 0)
        return err_set(err, ERR_INTERNAL, "cannot sign: no access key");
    struct str parts[] = {
        key->id, key->token, key->region, rq->method, rq->host, rq->path, rq->query};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!is_clean(parts[i]))
            return err_set(err, ERR_INTERNAL, "cannot sign: a control character in the request");
    for (size_t i = 0; i < rq->n_headers; i++)
        if (!is_clean(rq->headers[i].name) || !is_clean(rq->headers[i].value))
            return err_set(err, ERR_INTERNAL, "cannot sign: a control character in a header");
    return true;
}

struct str sigv4_canonical(
    struct arena *a, const struct sigv4_key *key, const struct sigv4_request *rq)
{
    struct signing s = signing_begin(a, key, rq);
    return canonical_request(a, &s);
}

bool sigv4_sign(struct arena *a, const struct sigv4_key *key, const struct sigv4_request *rq,
    struct fetch_header *out, size_t *n_out, struct err *err)
{
    TRY(check_input(key, rq, err));
    struct signing s = signing_begin(a, key, rq);
    struct str sum = signature(a, &s);
    size_t n = 0;
    out[n++] = (struct fetch_header){STR("x-amz-date"), s.time};
    if (is_s3(key))
        out[n++] = (struct fetch_header){STR("x-amz-content-sha256"), rq->payload_hash};
    if (key->token.n > 0)
        out[n++] = (struct fetch_header){STR("x-amz-security-token"), key->token};
    struct str auth =
        arena_printf(a, ALGORITHM " Credential=%.*s/%.*s, SignedHeaders=%.*s, Signature=%.*s",
            STR_ARG(key->id), STR_ARG(s.scope), STR_ARG(s.names), STR_ARG(sum));
    out[n++] = (struct fetch_header){STR("authorization"), auth};
    *n_out = n;
    return true;
}

struct str sigv4_encode_path(struct arena *a, struct str key)
{
    return str_pct_encode(a, key, "/");
}
