#include "s3_priv.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "digest.h"
#include "httpdate.h"
#include "lane.h"
#include "log.h"
#include "retry.h"
#include "sigv4.h"
#include "xml.h"

#include <stdio.h>
#include <stdlib.h>

enum { SKEW_MS = 10 * 60 * 1000 }; /* stores allow 15 minutes */

/* Corrections are made once per call. */
enum correction { CORRECTED_REGION = 1, CORRECTED_CLOCK = 2, CORRECTED_KEYS = 4 };

/* Can the bucket be a label of a host name, under a certificate for one label? */
static bool is_label(const char *name)
{
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-'))
            return false;
    return true;
}

bool s3__in_path(const struct s3 *s3, const struct s3_bucket *b)
{
    if (s3->style == STORE_STYLE_AUTO)
        return s3->endpoint || !is_label(b->name);
    return s3->style == STORE_STYLE_PATH;
}

static struct str host_of(
    struct arena *a, const struct s3 *s3, const struct s3_bucket *b, const char *region)
{
    struct str host = str_from(s3->endpoint);
    if (!host.p)
        host = arena_printf(a, "s3.%s.amazonaws.com%s", region,
            str_starts(str_from(region), STR("cn-")) ? ".cn" : "");
    return s3__in_path(s3, b) ? host : arena_printf(a, "%s.%.*s", b->name, STR_ARG(host));
}

static struct str path_of(struct arena *a, const struct s3 *s3, const struct s3_call *call)
{
    struct str key = sigv4_encode_path(a, call->key);
    if (!s3__in_path(s3, call->bucket))
        return arena_printf(a, "/%.*s", STR_ARG(key));
    return arena_printf(a, "/%s%s%.*s", call->bucket->name, call->key.p ? "/" : "", STR_ARG(key));
}

static void region_now(struct s3 *s3, const struct s3_bucket *b, char out[static REGION_MAX + 1])
{
    pthread_mutex_lock(&s3->lock);
    memcpy(out, b->region, sizeof(b->region));
    pthread_mutex_unlock(&s3->lock);
}

static bool attempt(struct s3 *s3, struct arena *a, struct s3_call *call, struct fetch_response *rs,
    struct err *err)
{
    credentials_unref(&call->keys);
    TRY(keeper_get(s3->keeper, call->deadline_us, &call->keys, err));
    const struct credentials *keys = call->keys;
    char region[REGION_MAX + 1];
    region_now(s3, call->bucket, region);
    struct sigv4_key key = {str_from(keys->id), str_from(keys->secret), str_from(keys->token),
        str_from(region), STR("s3")};
    struct sigv4_request sign = {
        .method = str_from(call->method),
        .host = host_of(a, s3, call->bucket, region),
        .path = path_of(a, s3, call),
        .query = call->query,
        .headers = call->headers,
        .n_headers = call->n_headers,
        .payload_hash = call->hash,
        .now_ms = clock_ms() + atomic_load(&s3->clock_offset_ms),
    };
    struct fetch_header headers[S3_CALL_HEADERS + 4];
    size_t n = 0;
    TRY(sigv4_sign(a, &key, &sign, headers, &n, err));
    memcpy(headers + n, call->headers, call->n_headers * sizeof(*headers));
    struct fetch_request rq = {
        .method = call->method,
        .url = arena_printf(a, "%s://%.*s%.*s%s%.*s", endpoint_word(s3->scheme), STR_ARG(sign.host),
            STR_ARG(sign.path), call->query.n > 0 ? "?" : "", STR_ARG(call->query)),
        .headers = headers,
        .n_headers = n + call->n_headers,
        .pieces = call->pieces,
        .n_pieces = call->n_pieces,
        .max_body = call->max_body,
        .deadline_us = call->deadline_us,
        .reach = s3->reach,
    };
    return fetch_do(a, &rq, rs, err);
}

static bool code_is(const struct s3_call *call, const char *const *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(call->code, str_from(codes[i])))
            return true;
    return false;
}
#define CODE_IS(call, ...)                                                                         \
    code_is((call), (const char *const[]){__VA_ARGS__},                                            \
        ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void read_error(struct arena *a, struct s3_call *call, const struct fetch_response *rs)
{
    call->code = call->message = (struct str){NULL, 0};
    if (rs->status < 300 && !call->spurious)
        return;
    call->code = xml_code(a, buf_view(&rs->body));
    call->message = xml_words(a, buf_view(&rs->body), "Message");
}

static struct str root_of(struct arena *a, struct str doc)
{
    struct xml x;
    enum xml_event e;
    struct err ignored;
    xml_init(&x, a, doc);
    return xml_next(&x, &e, &ignored) && e == XML_OPEN ? x.name : (struct str){NULL, 0};
}

/* Stores that begin to answer before they know send errors under a 200, and so do proxies with
 * pages of their own: believed, they would make a table of a file that was never written. An
 * object is given with its tag, whatever it holds, and what is put or deleted has no body. Nor is
 * a page under a 404 the store's word that an object is gone. */
static bool is_spurious(
    struct arena *a, const struct s3_call *call, const struct fetch_response *rs)
{
    struct str body = str_trim(buf_view(&rs->body));
    if (rs->status == 404)
        return body.n > 0 && !str_eq(root_of(a, body), STR("Error"));
    if (rs->status / 100 != 2 || body.n == 0)
        return false;
    bool marked_up = body.p[0] == '<', tagged = fetch_header(rs, "ETag").p;
    if (strcmp(call->method, "GET") != 0)
        return marked_up || !tagged;
    return call->key.p ? marked_up && !tagged : !str_eq(root_of(a, body), STR("ListBucketResult"));
}

static bool is_region(struct str s)
{
    if (!s.p || s.n == 0 || s.n > REGION_MAX)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') ||
                s.p[i] == '-'))
            return false;
    return true;
}

/* The region that the store asks for: in a header, in the error, or in its words. */
static struct str region_named(
    struct arena *a, const struct s3_call *call, const struct fetch_response *rs)
{
    struct str named = fetch_header(rs, "x-amz-bucket-region");
    if (!is_region(named))
        named = xml_find(a, buf_view(&rs->body), "Region");
    if (is_region(named) || call->message.n == 0)
        return named;
    static const char words[] = "expecting '";
    const char *at = memmem(call->message.p, call->message.n, words, sizeof(words) - 1);
    if (!at)
        return named;
    at += sizeof(words) - 1;
    struct str rest = str_range(at, call->message.p + call->message.n);
    return str_sub(rest, 0, str_find(rest, '\''));
}

/* True when it is news. */
static bool learn_region(struct s3 *s3, struct s3_bucket *b, struct str region)
{
    if (!is_region(region))
        return false;
    pthread_mutex_lock(&s3->lock);
    bool news = !str_eq(str_from(b->region), region);
    (void)snprintf(b->region, sizeof(b->region), "%.*s", STR_ARG(region));
    b->state = REGION_KNOWN;
    pthread_mutex_unlock(&s3->lock);
    return news;
}

static bool learn_clock(struct s3 *s3, const struct fetch_response *rs)
{
    int64_t theirs = httpdate_parse(fetch_header(rs, "Date"));
    int64_t ours = clock_ms();
    int64_t off = theirs - ours - atomic_load(&s3->clock_offset_ms);
    if (theirs == 0 || (off < SKEW_MS && off > -SKEW_MS))
        return false;
    atomic_store(&s3->clock_offset_ms, theirs - ours);
    log_write(LOG_WARN, "clock", "the clock of %s is %lld s %s ours: it is gone by for signatures",
        s3->endpoint ? s3->endpoint : "S3", (long long)llabs(theirs - ours) / 1000,
        theirs > ours ? "ahead of" : "behind");
    return true;
}

static bool is_misdirected(const struct s3_call *call, const struct fetch_response *rs)
{
    if (rs->status == 301 || rs->status == 307)
        return true;
    if (rs->status != 400)
        return false;
    return CODE_IS(call, "AuthorizationHeaderMalformed", "IllegalLocationConstraintException") ||
           (!call->code.p && fetch_header(rs, "x-amz-bucket-region").p); /* HEAD has no body */
}

/* Which correction the answer asks for, and whether it could be made. */
static bool correct(struct s3 *s3, struct arena *a, const struct s3_call *call,
    const struct fetch_response *rs, unsigned *done)
{
    if (is_misdirected(call, rs) && !(*done & CORRECTED_REGION)) {
        *done |= CORRECTED_REGION;
        return learn_region(s3, call->bucket, region_named(a, call, rs));
    }
    bool skewed = CODE_IS(call, "RequestTimeTooSkewed") || (rs->status == 403 && !call->code.p);
    if (skewed && !(*done & CORRECTED_CLOCK)) {
        *done |= CORRECTED_CLOCK;
        return learn_clock(s3, rs);
    }
    bool stale = CODE_IS(call, "ExpiredToken", "ExpiredTokenException", "InvalidToken",
                     "TokenRefreshRequired", "InvalidAccessKeyId") ||
                 (rs->status == 400 && !call->code.p); /* HEAD has no body */
    if (stale && !(*done & CORRECTED_KEYS)) {
        *done |= CORRECTED_KEYS;
        return keeper_renew(s3->keeper, call->keys, call->deadline_us);
    }
    return false;
}

static bool is_trouble(const struct s3_call *call, int status)
{
    if (call->spurious)
        return true;
    if (CODE_IS(call, "RequestTimeout", "OperationAborted", "ConditionalRequestConflict",
            "SlowDown", "ServiceUnavailable", "InternalError"))
        return true;
    return retry_is_trouble(status) || status == 307; /* a bucket that is just moving */
}

static enum retry_verdict judge(struct s3 *s3, struct arena *a, struct s3_call *call,
    const struct fetch_response *rs, unsigned *done)
{
    call->uncertain = call->uncertain || rs->may_have_arrived;
    call->spurious = is_spurious(a, call, rs);
    read_error(a, call, rs);
    if (rs->status / 100 == 2 && !call->spurious)
        return RETRY_ANSWERED;
    if (correct(s3, a, call, rs, done))
        return RETRY_NOW;
    if (!is_trouble(call, rs->status))
        return RETRY_ANSWERED;
    /* A gateway's error says nothing of what happened behind it. */
    call->uncertain = call->uncertain || call->spurious || rs->status >= 500;
    return RETRY_LATER;
}

static enum err_kind kind_of(const struct s3_call *call, int status)
{
    if (is_trouble(call, status))
        return ERR_UNAVAILABLE;
    if (CODE_IS(call, "NoSuchBucket", "InvalidBucketName"))
        return ERR_INTERNAL;
    if (CODE_IS(call, "KeyTooLongError", "InvalidObjectName", "XMinioInvalidObjectName"))
        return ERR_STORE_BAD_URI;
    switch (status) {
    case 401:
    case 403:
        return ERR_STORE_DENIED;
    case 404:
        return ERR_STORE_NOT_FOUND;
    case 507:
        return ERR_STORE_FULL;
    case 412:
        return ERR_STORE_EXISTS;
    case 413:
        return ERR_TOO_LARGE;
    default:
        return ERR_INTERNAL;
    }
}

bool s3__fail(const struct s3_call *call, const struct fetch_response *rs, struct err *err)
{
    struct str id = answer_code(fetch_header(rs, "x-amz-request-id"));
    struct str region = fetch_header(rs, "x-amz-bucket-region");
    (void)err_set(err, kind_of(call, rs->status), "%s s3://%s%s%.*s: the store answered %d%s%.*s",
        call->method, call->bucket->name, call->key.p ? "/" : "", STR_ARG(call->key), rs->status,
        call->code.p ? " " : "", STR_ARG(call->code));
    size_t n = strlen(err->msg);
    if (rs->status / 100 == 3 && is_region(region))
        n += (size_t)snprintf(err->msg + n, sizeof(err->msg) - n,
            " (the bucket lies in region %.*s)", STR_ARG(region));
    if (id.p && n < sizeof(err->msg))
        (void)snprintf(err->msg + n, sizeof(err->msg) - n, " (request id %.*s)", STR_ARG(id));
    return err_quote(err, call->message);
}

/* The region of a bucket nobody told us: AWS names it in whatever it answers to a HEAD. */
static void ask_region(struct s3 *s3, struct arena *a, struct s3_bucket *b, int64_t deadline_us)
{
    pthread_mutex_lock(&s3->lock);
    bool ask = b->state == REGION_ASSUMED;
    pthread_mutex_unlock(&s3->lock);
    if (!ask)
        return;
    struct s3_call call = {.method = "HEAD", .bucket = b, .deadline_us = deadline_us};
    call.hash = digest_sha256_text(a, call.pieces, call.n_pieces);
    struct fetch_response rs = {0};
    struct err ignored;
    if (attempt(s3, a, &call, &rs, &ignored))
        (void)learn_region(s3, b, fetch_header(&rs, "x-amz-bucket-region"));
    credentials_unref(&call.keys);
    buf_fini(&rs.body);
}

struct str s3__region(struct s3 *s3, struct arena *a, struct s3_bucket *b)
{
    char region[REGION_MAX + 1];
    pthread_mutex_lock(&s3->lock);
    bool known = b->state == REGION_KNOWN;
    pthread_mutex_unlock(&s3->lock);
    if (!known && !lane_may_block())
        return (struct str){NULL, 0};
    ask_region(s3, a, b, clock_mono_us() + s3->deadline_us);
    region_now(s3, b, region);
    return arena_dup(a, str_from(region));
}

/* --- sending -----------------------------------------------------------------------------------
 */

struct sending {
    struct s3 *s3;
    struct arena *a;
    struct s3_call *call;
    unsigned corrected;
};

static bool attempt_of(void *arg, struct fetch_response *rs, struct err *err)
{
    const struct sending *s = arg;
    return attempt(s->s3, s->a, s->call, rs, err);
}

static enum retry_verdict judge_of(void *arg, const struct fetch_response *rs)
{
    struct sending *s = arg;
    return judge(s->s3, s->a, s->call, rs, &s->corrected);
}

static void lost(void *arg, const struct fetch_response *rs)
{
    struct s3_call *call = ((struct sending *)arg)->call;
    call->uncertain = call->uncertain || rs->may_have_arrived;
    call->spurious = false;
    call->code = call->message = (struct str){NULL, 0};
}

static bool fail_of(void *arg, const struct fetch_response *rs, struct err *err)
{
    return s3__fail(((struct sending *)arg)->call, rs, err);
}

bool s3__send(struct s3 *s3, struct arena *a, struct s3_call *call, struct fetch_response *rs,
    struct err *err)
{
    struct sending s = {.s3 = s3, .a = a, .call = call};
    const struct retry_by by = {&s, attempt_of, judge_of, lost, fail_of,
        arena_printf(
            a, "s3://%s%s%.*s", call->bucket->name, call->key.p ? "/" : "", STR_ARG(call->key)),
        &s3->purse, call->deadline_us};
    call->hash = digest_sha256_text(a, call->pieces, call->n_pieces);
    ask_region(s3, a, call->bucket, call->deadline_us);
    bool sent = retry_send(&by, rs, err);
    credentials_unref(&call->keys);
    return sent;
}
