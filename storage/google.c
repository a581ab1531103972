#include "google_priv.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "endpoint.h"
#include "secret.h"
#include "source_priv.h"

#include <assert.h>

enum {
    ANSWER_MAX = 64 * 1024,
    FORM_MAX = 128 * 1024,
    MACHINE_US = 2000000, /* of one try: elsewhere nobody answers */
    MACHINE_TRIES = 2,
};

#define SCOPE_STORAGE "https://www.googleapis.com/auth/devstorage.read_write"

struct str google__scope(const struct google_service *service)
{
    return service->scope.n > 0 ? service->scope : STR(SCOPE_STORAGE);
}

bool google__url(struct arena *a, const struct google_service *service, const char *url,
    struct str *out, struct err *err)
{
    struct endpoint at;
    *out = str_from(url);
    if (service->endpoint.n == 0)
        return true;
    TRY(endpoint_parse(service->endpoint, "the endpoint of the token service", &at, err));
    struct str path = str_sub(*out, STR("https://").n, out->n);
    path = str_sub(path, str_find(path, '/'), path.n);
    *out =
        arena_printf(a, "%s://%.*s%.*s", endpoint_word(at.scheme), STR_ARG(at.host), STR_ARG(path));
    return true;
}

/* --- forms -------------------------------------------------------------------------------------
 */

void google__form(struct buf *form)
{
    buf_init(form, FORM_MAX);
    buf_reserve(form, FORM_MAX); /* so that no copy is left behind */
}

bool google__form_end(struct buf *form, struct arena *a, struct str *out, struct err *err)
{
    if (form->over)
        return err_set(
            err, ERR_INTERNAL, "asking for a Google token takes more than %d bytes", FORM_MAX);
    *out = buf_take(form, a);
    secret_wipe_with(a, out->p, out->n);
    return true;
}

/* --- answers -----------------------------------------------------------------------------------
 */

/* OAuth says {"error": "word", "error_description": "words"}, the other services
 * {"error": {"message": "words"}}. */
static bool refused(
    struct arena *a, const struct google_ask *ask, const struct fetch_response *rs, struct err *err)
{
    AUTO(answer_free) json_t *json = answer_json(rs);
    struct str word = answer_code(answer_words(a, json, "error"));
    struct str why = answer_words(a, json, "error_description");
    if (!why.p)
        why = answer_words(a, json_object_get(json, "error"), "message");
    enum err_kind kind = rs->status == 429 || rs->status >= 500 ? ERR_UNAVAILABLE
                         : rs->status >= 400                    ? ERR_KEYS_REFUSED
                                                                : ERR_INTERNAL;
    err_set(err, kind, "%.*s answered %d%s%.*s",
        STR_ARG(str_sub(ask->url, 0, str_find(ask->url, '?'))), rs->status, word.p ? " " : "",
        STR_ARG(word));
    return err_quote(err, why);
}

static int64_t end_of(const struct google_ask *ask, const json_t *json, int64_t begun_ms)
{
    int64_t left_s = json_integer_value(json_object_get(json, "expires_in"));
    struct str when = answer_text(json, "expireTime");
    if (left_s > 0 && left_s < INT32_MAX)
        return begun_ms + left_s * 1000;
    return when.p ? clock_parse(when) : ask->fallback_ms;
}

static bool read_token(const struct google_ask *ask, const struct fetch_response *rs,
    int64_t begun_ms, struct credentials **out, struct err *err)
{
    AUTO(answer_free) json_t *json = answer_json(rs);
    struct str token = answer_text(json, "access_token");
    if (!token.p)
        token = answer_text(json, "accessToken");
    int64_t end = end_of(ask, json, begun_ms);
    if (token.n == 0 || end == 0)
        return err_set(err, ERR_INTERNAL, "the answer of %.*s has no %s", STR_ARG(ask->url),
            !json          ? "JSON"
            : token.n == 0 ? "access_token"
                           : "expires_in");
    *out = credentials_new(ask->project.p ? ask->project : STR(""), STR(""), token, end);
    return true;
}

bool google__ask(
    struct arena *a, const struct google_ask *ask, struct credentials **out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    struct fetch_header headers[2];
    size_t n = 0;
    const char *type = ask->content_type ? ask->content_type : "application/x-www-form-urlencoded";
    if (ask->header.name.p)
        headers[n++] = ask->header;
    if (ask->body.p)
        headers[n++] = (struct fetch_header){STR("Content-Type"), str_from(type)};
    const struct fetch_request rq = {
        .method = ask->body.p ? "POST" : "GET",
        .url = ask->url,
        .headers = headers,
        .n_headers = n,
        .pieces = &ask->body,
        .n_pieces = ask->body.p ? 1 : 0,
        .max_body = ANSWER_MAX,
        .deadline_us = ask->deadline_us,
        .reach = ask->reach,
    };
    int64_t begun_ms = clock_ms();
    TRY(fetch_do(a, &rq, &rs, err));
    if (rs.status != 200)
        return refused(a, ask, &rs, err);
    /* Whoever answers at that address elsewhere is not the one to be believed. */
    if (ask->reach == FETCH_ANYWHERE &&
        !str_eq(fetch_header(&rs, "Metadata-Flavor"), STR("Google")))
        return err_set(
            err, ERR_INTERNAL, "%.*s is not Google's metadata server", STR_ARG(ask->url));
    return read_token(ask, &rs, begun_ms, out, err);
}

/* --- the machine -------------------------------------------------------------------------------
 */

bool google_token_of_machine(
    const struct google_service *service, struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    struct str host = source__env("GCE_METADATA_HOST");
    if (!host.p)
        host = STR("169.254.169.254");
    struct google_ask ask = {
        .url = arena_printf(a,
            "http://%.*s/computeMetadata/v1/instance/service-accounts/default/token",
            STR_ARG(host)),
        .header = {STR("Metadata-Flavor"), STR("Google")},
        .reach = FETCH_ANYWHERE,
    };
    for (int tries = 1;; tries++) {
        int64_t until_us = clock_mono_us() + MACHINE_US;
        ask.deadline_us = until_us < service->deadline_us ? until_us : service->deadline_us;
        if (google__ask(a, &ask, out, err))
            return true;
        if (err->kind != ERR_UNAVAILABLE || tries == MACHINE_TRIES)
            return err_wrap(err, "the metadata server gives no token");
    }
}

/* --- limits ------------------------------------------------------------------------------------
 */

bool google_token_within(const struct google_service *service, const struct credentials *own,
    struct str boundary, struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(buf_fini) struct buf form = {0};
    struct google_ask ask = {
        .project = str_from(own->id),
        .fallback_ms = own->expires_ms, /* which is the end of what is made of it, too */
        .deadline_us = service->deadline_us,
        .reach = service->reach,
    };
    assert(boundary.n > 0 && own->token); /* without a boundary it would be the whole token */
    TRY(google__url(a, service, GOOGLE_STS_URI, &ask.url, err));
    google__form(&form);
    buf_field(&form, a, "grant_type", STR(GOOGLE_EXCHANGE));
    buf_field(&form, a, "subject_token_type", STR(GOOGLE_TYPE));
    buf_field(&form, a, "requested_token_type", STR(GOOGLE_TYPE));
    buf_field(&form, a, "subject_token", str_from(own->token));
    buf_field(&form, a, "options", boundary);
    TRY(google__form_end(&form, a, &ask.body, err));
    TRY(google__ask(a, &ask, out, err));
    if (own->expires_ms > 0 && (*out)->expires_ms > own->expires_ms)
        (*out)->expires_ms = own->expires_ms;
    return true;
}
