#include "adls_priv.h"

#include "answer.h"
#include "arena.h"
#include "azure_sign.h"
#include "base.h"
#include "clock.h"
#include "httpdate.h"
#include "retry.h"
#include "xml.h"

#include <stdio.h>

#define VERSION "2021-12-02"

enum {
    SKEW_MS = 10 * 60 * 1000, /* Azure allows 15 minutes */
    OWN_HEADERS = 3,
    ID_MAX = 64,
};

/* Corrections are made once per call. */
enum correction { CORRECTED_CLOCK = 1, CORRECTED_KEYS = 2 };

void adls__header(struct adls_call *call, const char *name, struct str value)
{
    call->headers[call->n_headers++] = (struct fetch_header){str_from(name), value};
}

struct adls_place adls__place(struct str authority)
{
    size_t skip = STR("abfss://").n;
    struct adls_place p = {.host = str_sub(authority, skip, authority.n)};
    p.container = str_cut(&p.host, '@');
    struct str rest = p.host;
    p.account = str_cut(&rest, '.');
    return p;
}

/* The host of the Blob interface beside the other one's. */
static struct str blob_host(struct arena *a, struct str host)
{
    static const char other[] = ".dfs.";
    const char *at = memmem(host.p, host.n, other, sizeof(other) - 1);
    if (!at)
        return host;
    struct str head = str_range(host.p, at);
    struct str tail = str_range(at + sizeof(other) - 1, host.p + host.n);
    return arena_printf(a, "%.*s.blob.%.*s", STR_ARG(head), STR_ARG(tail));
}

static struct str host_of(struct arena *a, const struct adls *s)
{
    return s->endpoint ? str_from(s->endpoint) : blob_host(a, adls__place(s->authority).host);
}

/* What follows the host and the port: an emulator has the account's name in front. */
static struct str path_of(struct arena *a, struct str host, const struct adls_call *call)
{
    struct str front = str_sub(host, str_find(host, '/'), host.n);
    return arena_printf(a, "%.*s/%.*s%s%.*s", STR_ARG(front), STR_ARG(call->container),
        call->key.p ? "/" : "", STR_ARG(str_pct_encode(a, call->key, "/")));
}

static size_t body_length(const struct adls_call *call)
{
    size_t n = 0;
    for (size_t i = 0; i < call->n_pieces; i++)
        n += call->pieces[i].n;
    return n;
}

/* What lets the request in: a header, or for a SAS more of the query. */
struct pass {
    struct fetch_header header;
    struct str query;
};

static bool make_pass(struct arena *a, const struct adls *s, const struct credentials *keys,
    const struct azure_request *rq, struct pass *out, struct err *err)
{
    struct str kind = str_from(keys->id), secret = str_from(keys->secret);
    *out = (struct pass){.query = rq->query};
    if (str_eq(kind, STR(ADLS_SAS))) {
        out->query = arena_printf(
            a, "%.*s%s%.*s", STR_ARG(rq->query), rq->query.n > 0 ? "&" : "", STR_ARG(secret));
        return true;
    }
    out->header.name = STR("authorization");
    if (str_eq(kind, STR(ADLS_SHARED_KEY)))
        return azure_sign(a, rq, secret, &out->header.value, err) ||
               err_wrap(
                   err, "the key of the account %.*s", STR_ARG(adls__place(s->authority).account));
    out->header.value = arena_printf(a, "Bearer %.*s", STR_ARG(secret));
    return true;
}

/* `mine`: an arena of the attempt, which is wiped. */
static bool attempt_in(struct arena *mine, struct adls *s, struct arena *a, struct adls_call *call,
    struct fetch_response *rs, struct err *err)
{
    struct fetch_header headers[ADLS_CALL_HEADERS + OWN_HEADERS];
    size_t n = call->n_headers;
    struct pass pass;
    memcpy(headers, call->headers, n * sizeof(*headers));
    headers[n++] = (struct fetch_header){STR("x-ms-version"), STR(VERSION)};
    headers[n++] = (struct fetch_header){
        STR("x-ms-date"), httpdate_text(mine, clock_ms() + atomic_load(&s->clock_offset_ms))};
    struct str host = host_of(mine, s);
    const struct azure_request sign = {
        .method = str_from(call->method),
        .account = adls__place(s->authority).account,
        .path = path_of(mine, host, call),
        .query = call->query,
        .length = body_length(call),
        .headers = headers,
        .n_headers = n,
    };
    TRY(make_pass(mine, s, call->keys, &sign, &pass, err));
    if (pass.header.name.p)
        headers[n++] = pass.header;
    const struct fetch_request rq = {
        .method = call->method,
        .url = arena_printf(mine, "%s://%.*s%.*s%s%.*s", endpoint_word(s->scheme),
            STR_ARG(str_sub(host, 0, str_find(host, '/'))), STR_ARG(sign.path),
            pass.query.n > 0 ? "?" : "", STR_ARG(pass.query)),
        .headers = headers,
        .n_headers = n,
        .pieces = call->pieces,
        .n_pieces = call->n_pieces,
        .max_body = call->max_body,
        .deadline_us = call->deadline_us,
        .reach = s->reach,
    };
    return fetch_do(a, &rq, rs, err);
}

static bool attempt(struct adls *s, struct arena *a, struct adls_call *call,
    struct fetch_response *rs, struct err *err)
{
    AUTO(arena_free) struct arena *mine = arena_new_secret();
    credentials_unref(&call->keys);
    TRY(keeper_get(s->keeper, call->deadline_us, &call->keys, err));
    return attempt_in(mine, s, a, call, rs, err);
}

/* --- what the answer means ---------------------------------------------------------------------
 */

static bool code_among(const struct adls_call *call, const char *const *codes)
{
    while (*codes)
        if (str_eq(call->code, str_from(*codes++)))
            return true;
    return false;
}

static void read_error(struct arena *a, struct adls_call *call, const struct fetch_response *rs)
{
    call->code = call->message = (struct str){NULL, 0};
    if (rs->status < 300)
        return;
    call->code = answer_code(fetch_header(rs, "x-ms-error-code"));
    if (!call->code.p)
        call->code = xml_code(a, buf_view(&rs->body));
    struct str words = xml_words(a, buf_view(&rs->body), "Message");
    call->message = str_sub(words, 0, str_find(words, '\n')); /* then its time and request id */
}

static bool learn_clock(struct adls *s, const struct fetch_response *rs)
{
    int64_t theirs = httpdate_parse(fetch_header(rs, "Date"));
    int64_t ours = clock_ms();
    int64_t off = theirs - ours - atomic_load(&s->clock_offset_ms);
    if (theirs == 0 || (off < SKEW_MS && off > -SKEW_MS))
        return false;
    atomic_store(&s->clock_offset_ms, theirs - ours);
    return true;
}

/* Which correction the answer asks for, and whether it could be made. */
static bool correct(
    struct adls *s, const struct adls_call *call, const struct fetch_response *rs, unsigned *done)
{
    static const char *const codes[] = {"AuthenticationFailed", "AuthorizationFailure", NULL};
    if (rs->status != 401 && !(rs->status == 403 && code_among(call, codes)))
        return false;
    if (!(*done & CORRECTED_CLOCK)) {
        *done |= CORRECTED_CLOCK;
        if (learn_clock(s, rs))
            return true;
    }
    if (*done & CORRECTED_KEYS)
        return false;
    *done |= CORRECTED_KEYS;
    return keeper_renew(s->keeper, call->keys, call->deadline_us);
}

static bool is_trouble(const struct adls_call *call, int status)
{
    static const char *const codes[] = {"ServerBusy", "InternalError", "OperationTimedOut",
        "ContainerBeingDeleted", "AccountBeingCreated", NULL};
    return code_among(call, codes) || retry_is_trouble(status);
}

static enum retry_verdict judge(struct adls *s, struct arena *a, struct adls_call *call,
    const struct fetch_response *rs, unsigned *done)
{
    call->uncertain = call->uncertain || rs->may_have_arrived;
    read_error(a, call, rs);
    if (rs->status >= 200 && rs->status < 300)
        return RETRY_ANSWERED;
    if (correct(s, call, rs, done))
        return RETRY_NOW;
    if (!is_trouble(call, rs->status))
        return RETRY_ANSWERED;
    /* A gateway's error says nothing of what happened behind it. */
    call->uncertain = call->uncertain || rs->status >= 500;
    return RETRY_LATER;
}

static enum err_kind kind_of(const struct adls_call *call, int status)
{
    static const char *const missing[] = {
        "ContainerNotFound", "ContainerDisabled", "AccountIsDisabled", NULL};
    static const char *const bad[] = {
        "InvalidUri", "InvalidResourceName", "OutOfRangeInput", "ResourceTypeMismatch", NULL};
    static const char *const taken[] = {
        "BlobAlreadyExists", "PathAlreadyExists", "ConditionNotMet", NULL};
    static const char *const shut[] = {"BlobImmutableDueToPolicy", "LeaseIdMissing", NULL};
    if (is_trouble(call, status))
        return ERR_UNAVAILABLE;
    if (code_among(call, missing))
        return ERR_INTERNAL;
    if (code_among(call, bad))
        return ERR_STORE_BAD_URI;
    if (code_among(call, taken) || status == 412)
        return ERR_STORE_EXISTS;
    if (code_among(call, shut) || status == 401 || status == 403)
        return ERR_STORE_DENIED;
    return status == 404 ? ERR_STORE_NOT_FOUND : status == 413 ? ERR_TOO_LARGE : ERR_INTERNAL;
}

/* "abfss://container@host/key", or what of it there is. */
static void put_name(char *text, size_t max, const struct adls *s, const struct adls_call *call)
{
    struct str host = adls__place(s->authority).host;
    (void)snprintf(text, max, "%s abfss://%.*s%s%.*s%s%.*s", call->method, STR_ARG(call->container),
        call->container.n > 0 ? "@" : "", STR_ARG(host), call->key.p ? "/" : "",
        STR_ARG(call->key));
}

bool adls__fail(const struct adls *s, const struct adls_call *call, const struct fetch_response *rs,
    struct err *err)
{
    char name[URI_MAX + ID_MAX];
    struct str id = answer_code(fetch_header(rs, "x-ms-request-id"));
    put_name(name, sizeof(name), s, call);
    err_set(err, kind_of(call, rs->status), "%s: the store answered %d%s%.*s%s%.*s%s", name,
        rs->status, call->code.p ? " " : "", STR_ARG(call->code), id.p ? " (request id " : "",
        STR_ARG(id), id.p ? ")" : "");
    return err_quote(err, call->message);
}

/* --- sending -----------------------------------------------------------------------------------
 */

struct sending {
    struct adls *s;
    struct arena *a;
    struct adls_call *call;
    unsigned corrected;
};

static bool attempt_of(void *arg, struct fetch_response *rs, struct err *err)
{
    const struct sending *s = arg;
    return attempt(s->s, s->a, s->call, rs, err);
}

static enum retry_verdict judge_of(void *arg, const struct fetch_response *rs)
{
    struct sending *s = arg;
    return judge(s->s, s->a, s->call, rs, &s->corrected);
}

static void lost(void *arg, const struct fetch_response *rs)
{
    struct adls_call *call = ((struct sending *)arg)->call;
    call->uncertain = call->uncertain || rs->may_have_arrived;
    call->code = call->message = (struct str){NULL, 0};
}

static bool fail_of(void *arg, const struct fetch_response *rs, struct err *err)
{
    const struct sending *s = arg;
    return adls__fail(s->s, s->call, rs, err);
}

bool adls__send(struct adls *s, struct arena *a, struct adls_call *call, struct fetch_response *rs,
    struct err *err)
{
    char name[URI_MAX + ID_MAX];
    struct sending sending = {.s = s, .a = a, .call = call};
    put_name(name, sizeof(name), s, call);
    const struct retry_by by = {&sending, attempt_of, judge_of, lost, fail_of, str_from(name),
        &s->purse, call->deadline_us};
    bool sent = retry_send(&by, rs, err);
    credentials_unref(&call->keys);
    return sent;
}
