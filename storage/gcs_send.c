#include "gcs_priv.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "retry.h"

#include <string.h>

enum { WORDS_MAX = 200, ID_MAX = 64 };

static bool attempt(struct gcs *gcs, struct arena *a, struct gcs_call *call,
    struct fetch_response *rs, struct err *err)
{
    credentials_unref(&call->keys);
    TRY(keeper_get(gcs->keeper, call->deadline_us, &call->keys, err));
    struct fetch_header headers[2] = {
        {STR("Authorization"), arena_printf(a, "Bearer %s", call->keys->token)}
    };
    size_t n = 1;
    if (call->content_type)
        headers[n++] = (struct fetch_header){STR("Content-Type"), str_from(call->content_type)};
    const struct fetch_request rq = {
        .method = call->method,
        .url = arena_printf(
            a, "%s://%s%.*s", endpoint_word(gcs->scheme), gcs->host, STR_ARG(call->path)),
        .headers = headers,
        .n_headers = n,
        .pieces = call->pieces,
        .n_pieces = call->n_pieces,
        .max_body = call->max_body,
        .deadline_us = call->deadline_us,
        .reach = gcs->reach,
    };
    return fetch_do(a, &rq, rs, err);
}

/* {"error": {"message": "words", "errors": [{"reason": "word"}]}}, or words alone where the bytes
 * of an object were asked for. */
static void read_error(struct arena *a, struct gcs_call *call, const struct fetch_response *rs)
{
    call->reason = call->message = (struct str){NULL, 0};
    if (rs->status < 300)
        return;
    AUTO(answer_free) json_t *json = answer_json(rs);
    const json_t *error = json_object_get(json, "error");
    const json_t *first = json_array_get(json_object_get(error, "errors"), 0);
    call->reason = answer_code(answer_words(a, first, "reason"));
    call->message = answer_words(a, error, "message");
    struct str body = buf_view(&rs->body);
    if (!json && body.n > 0 && str_is_utf8(body))
        call->message =
            arena_dup(a, str_utf8_cut(str_sub(body, 0, str_find(body, '\n')), WORDS_MAX));
}

/* The interface calls some limits of its rate forbidden. */
static bool is_trouble(const struct gcs_call *call, int status)
{
    return retry_is_trouble(status) || status == 408 ||
           (status == 403 && (str_eq(call->reason, STR("rateLimitExceeded")) ||
                                 str_eq(call->reason, STR("userRateLimitExceeded"))));
}

static enum retry_verdict judge(struct gcs *gcs, struct arena *a, struct gcs_call *call,
    const struct fetch_response *rs, bool *renewed)
{
    call->uncertain = call->uncertain || rs->may_have_arrived;
    read_error(a, call, rs);
    if (rs->status == 401 && !*renewed) {
        *renewed = true;
        return keeper_renew(gcs->keeper, call->keys, call->deadline_us) ? RETRY_NOW
                                                                        : RETRY_ANSWERED;
    }
    if (!is_trouble(call, rs->status))
        return RETRY_ANSWERED;
    /* A gateway's error says nothing of what happened behind it. */
    call->uncertain = call->uncertain || rs->status >= 500;
    return RETRY_LATER;
}

/* Where bytes are asked for only words tell which of them it is. */
static bool is_bucket_missing(const struct gcs_call *call, int status)
{
    static const char words[] = "bucket does not exist";
    struct str m = call->message;
    return status == 404 &&
           (call->missing == GCS_NO_BUCKET || (m.p && memmem(m.p, m.n, words, sizeof(words) - 1)));
}

static enum err_kind kind_of(const struct gcs_call *call, int status)
{
    if (is_trouble(call, status))
        return ERR_UNAVAILABLE;
    switch (status) {
    case 401:
    case 403:
        return ERR_STORE_DENIED;
    case 404:
        return is_bucket_missing(call, status) ? ERR_INTERNAL : ERR_STORE_NOT_FOUND;
    case 412:
        return ERR_STORE_EXISTS;
    case 413:
        return ERR_TOO_LARGE;
    default:
        return ERR_INTERNAL;
    }
}

bool gcs__fail(const struct gcs_call *call, const struct fetch_response *rs, struct err *err)
{
    struct str id = str_sub(fetch_header(rs, "x-guploader-uploadid"), 0, ID_MAX);
    id = answer_code(id);
    err_set(err, kind_of(call, rs->status), "%s %.*s: %sthe store answered %d%s%.*s%s%.*s%s",
        call->method, STR_ARG(call->uri),
        is_bucket_missing(call, rs->status) ? "the bucket does not exist: " : "", rs->status,
        call->reason.p ? " " : "", STR_ARG(call->reason), id.p ? " (upload id " : "", STR_ARG(id),
        id.p ? ")" : "");
    return err_quote(err, call->message);
}

struct sending {
    struct gcs *gcs;
    struct arena *a;
    struct gcs_call *call;
    bool renewed;
};

static bool attempt_of(void *arg, struct fetch_response *rs, struct err *err)
{
    const struct sending *s = arg;
    return attempt(s->gcs, s->a, s->call, rs, err);
}

static enum retry_verdict judge_of(void *arg, const struct fetch_response *rs)
{
    struct sending *s = arg;
    return judge(s->gcs, s->a, s->call, rs, &s->renewed);
}

static void lost(void *arg, const struct fetch_response *rs)
{
    struct gcs_call *call = ((struct sending *)arg)->call;
    call->uncertain = call->uncertain || rs->may_have_arrived;
    call->reason = call->message = (struct str){NULL, 0};
}

static bool fail_of(void *arg, const struct fetch_response *rs, struct err *err)
{
    return gcs__fail(((struct sending *)arg)->call, rs, err);
}

bool gcs__send(struct gcs *gcs, struct arena *a, struct gcs_call *call, struct fetch_response *rs,
    struct err *err)
{
    struct sending s = {.gcs = gcs, .a = a, .call = call};
    const struct retry_by by = {
        &s, attempt_of, judge_of, lost, fail_of, call->uri, &gcs->purse, call->deadline_us};
    bool sent = retry_send(&by, rs, err);
    credentials_unref(&call->keys);
    return sent;
}
