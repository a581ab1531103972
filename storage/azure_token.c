#include "azure_token.h"

#include "adls_priv.h"
#include "answer.h"
#include "arena.h"
#include "base.h"
#include "buf.h"
#include "clock.h"
#include "endpoint.h"
#include "retry.h"
#include "secret.h"
#include "source_priv.h"

enum {
    ANSWER_MAX = 64 * 1024,
    FORM_MAX = 64 * 1024,
    APP_US = 10000000,
    MACHINE_US = 2000000, /* of one try: where there is no such service, nobody answers */
    MACHINE_TRIES = 2,
};

/* --- the answer --------------------------------------------------------------------------------
 */

/* Some write their numbers as texts. */
static int64_t number(const json_t *json, const char *name)
{
    const json_t *v = json_object_get(json, name);
    int64_t n = 0;
    if (json_is_integer(v))
        return json_integer_value(v);
    (void)str_to_i64(answer_text(json, name), &n);
    return n;
}

static bool read_token(const struct fetch_response *rs, int64_t asked_ms, const char *who,
    struct credentials **out, struct err *err)
{
    AUTO(answer_free) json_t *json = answer_json(rs);
    struct str token = answer_text(json, "access_token");
    int64_t in_s = number(json, "expires_in"), at_s = number(json, "expires_on");
    int64_t expires_ms = in_s > 0 ? asked_ms + in_s * 1000 : at_s * 1000;
    if (token.n == 0 || expires_ms == 0)
        return err_set(err, ERR_INTERNAL, "the answer of %s has no %s", who,
            !json          ? "JSON"
            : token.n == 0 ? "access_token"
                           : "expires_in");
    *out = credentials_new(STR(ADLS_BEARER), token, (struct str){NULL, 0}, expires_ms);
    return true;
}

static bool refused(
    struct arena *a, const struct fetch_response *rs, const char *who, struct err *err)
{
    AUTO(answer_free) json_t *json = answer_json(rs);
    struct str why = answer_words(a, json, "error_description");
    struct str code = answer_code(answer_words(a, json, "error"));
    err_set(err, retry_is_trouble(rs->status) ? ERR_UNAVAILABLE : ERR_INTERNAL,
        "%s answered %d%s%.*s", who, rs->status, code.p ? " " : "", STR_ARG(code));
    return err_quote(err, str_sub(why, 0, str_find(why, '\r')));
}

/* --- of an application -------------------------------------------------------------------------
 */

static struct str form_of(struct arena *a, const struct azure_app *app)
{
    struct buf form;
    buf_init(&form, FORM_MAX);
    buf_reserve(&form, FORM_MAX); /* so that no copy is left behind */
    buf_field(&form, a, "grant_type", STR("client_credentials"));
    buf_field(&form, a, "scope", STR("https://storage.azure.com/.default"));
    buf_field(&form, a, "client_id", app->client);
    if (app->secret.p) {
        buf_field(&form, a, "client_secret", app->secret);
    } else {
        buf_field(&form, a, "client_assertion_type",
            STR("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
        buf_field(&form, a, "client_assertion", app->assertion);
    }
    return buf_take(&form, a);
}

static bool authority(struct arena *a, struct str *out, struct err *err)
{
    struct endpoint at;
    struct str named = source__env("AZURE_AUTHORITY_HOST");
    if (!named.p)
        named = STR("https://login.microsoftonline.com");
    TRY(endpoint_parse(named, "AZURE_AUTHORITY_HOST", &at, err));
    *out = arena_printf(a, "%s://%.*s", endpoint_word(at.scheme), STR_ARG(at.host));
    return true;
}

bool azure_token_of_app(
    struct arena *a, const struct azure_app *app, struct credentials **out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    const struct fetch_header type = {
        STR("Content-Type"), STR("application/x-www-form-urlencoded")};
    struct str at = STR(""), form = form_of(a, app);
    TRY(authority(a, &at, err));
    if (!form.p)
        return err_set(err, ERR_INTERNAL, "the application's secret is longer than any of Azure's");
    struct str tenant = str_pct_encode(a, app->tenant, "");
    const struct fetch_request rq = {
        .method = "POST",
        .url = arena_printf(a, "%.*s/%.*s/oauth2/v2.0/token", STR_ARG(at), STR_ARG(tenant)),
        .headers = &type,
        .n_headers = 1,
        .pieces = &form,
        .n_pieces = 1,
        .max_body = ANSWER_MAX,
        .deadline_us = clock_mono_us() + APP_US,
    };
    int64_t asked = clock_ms();
    TRY(fetch_do(a, &rq, &rs, err));
    const char *who = arena_cstr(a, at);
    return rs.status == 200 ? read_token(&rs, asked, who, out, err) : refused(a, &rs, who, err);
}

/* --- of the machine ----------------------------------------------------------------------------
 */

#define RESOURCE "https%%3A%%2F%%2Fstorage.azure.com%%2F" /* in a format */

/* Where to ask, and the header that shows that the request is no redirected one. */
static bool machine(struct arena *a, struct str client, struct str *url,
    struct fetch_header *header, struct err *err)
{
    struct str service = source__env("IDENTITY_ENDPOINT"), word = source__env("IDENTITY_HEADER");
    struct str which =
        client.n > 0 ? arena_printf(a, "&client_id=%.*s", STR_ARG(str_pct_encode(a, client, "")))
                     : STR("");
    if (service.p && word.p) {
        *header = (struct fetch_header){STR("X-IDENTITY-HEADER"), word};
        *url = arena_printf(a, "%.*s?api-version=2019-08-01&resource=" RESOURCE "%.*s",
            STR_ARG(service), STR_ARG(which));
        return true;
    }
    struct endpoint at;
    struct str named = source__env("AZURE_POD_IDENTITY_AUTHORITY_HOST");
    TRY(endpoint_parse(named.p ? named : STR("http://169.254.169.254"),
        "AZURE_POD_IDENTITY_AUTHORITY_HOST", &at, err));
    *header = (struct fetch_header){STR("Metadata"), STR("true")};
    *url = arena_printf(a,
        "%s://%.*s/metadata/identity/oauth2/token?api-version=2018-02-01&resource=" RESOURCE "%.*s",
        endpoint_word(at.scheme), STR_ARG(at.host), STR_ARG(which));
    return true;
}

bool azure_token_of_machine(
    struct arena *a, struct str client, struct credentials **out, struct err *err)
{
    static const char who[] = "the machine's identity endpoint";
    AUTO(answer_fini) struct fetch_response rs = {0};
    struct fetch_header header = {0};
    struct fetch_request rq = {
        .method = "GET",
        .headers = &header,
        .n_headers = 1,
        .max_body = ANSWER_MAX,
        .reach = FETCH_ANYWHERE,
    };
    TRY(machine(a, client, &rq.url, &header, err));
    for (int tries = 1;; tries++) {
        int64_t asked = clock_ms();
        rq.deadline_us = clock_mono_us() + MACHINE_US;
        bool answered = fetch_do(a, &rq, &rs, err);
        if (answered && rs.status == 200)
            return read_token(&rs, asked, who, out, err);
        if (answered)
            (void)refused(a, &rs, who, err);
        if (err->kind != ERR_UNAVAILABLE || tries == MACHINE_TRIES)
            return err_wrap(err, "asking the machine who it is");
        answer_fini(&rs);
    }
}
