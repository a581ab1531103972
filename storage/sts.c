#include "sts.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "buf.h"
#include "clock.h"
#include "digest.h"
#include "endpoint.h"
#include "fetch.h"
#include "secret.h"
#include "sigv4.h"
#include "xml.h"

#include <assert.h>

enum { ANSWER_MAX = 64 * 1024, FORM_MAX = 64 * 1024, SIGNED_HEADERS_MAX = 4 };

static struct str region_of(const struct sts_service *service)
{
    return service->region.n > 0 ? service->region : STR("us-east-1");
}

static bool find_endpoint(
    struct arena *a, const struct sts_service *service, struct endpoint *out, struct err *err)
{
    struct str region = region_of(service), uri = service->endpoint;
    if (uri.n == 0)
        uri = arena_printf(a, "https://sts.%.*s.amazonaws.com%s", STR_ARG(region),
            str_starts(region, STR("cn-")) ? ".cn" : "");
    return endpoint_parse(uri, "the endpoint of the token service", out, err);
}

/* --- the question ------------------------------------------------------------------------------
 */

/* Ceph's RGW does not read '+' as a blank: everything is percent-encoded. */
static void add(struct buf *form, struct arena *a, const char *name, struct str value)
{
    if (value.n > 0)
        buf_field(form, a, name, value);
}

static void begin_form(struct buf *form, const char *action)
{
    buf_init(form, FORM_MAX);
    buf_reserve(form, FORM_MAX); /* so that no copy is left behind */
    buf_putf(form, "Action=%s&Version=2011-06-15", action);
}

static bool end_form(struct buf *form, struct arena *a, const struct sts_role *role,
    struct str *out, struct err *err)
{
    add(form, a, "RoleArn", role->arn);
    add(form, a, "RoleSessionName", role->session);
    add(form, a, "ExternalId", role->external_id);
    add(form, a, "Policy", role->policy);
    if (role->duration_s > 0)
        buf_putf(form, "&DurationSeconds=%d", role->duration_s);
    if (form->over)
        return err_set(err, ERR_INTERNAL,
            "asking for the role %.*s takes more than %d bytes: the token or the policy is too "
            "long",
            STR_ARG(role->arn), FORM_MAX);
    *out = buf_take(form, a);
    secret_wipe_with(a, out->p, out->n);
    return true;
}

/* --- the answer --------------------------------------------------------------------------------
 */

static bool refused(struct arena *a, const struct sts_role *role, const struct endpoint *at,
    const struct fetch_response *rs, struct err *err)
{
    struct str code = xml_code(a, buf_view(&rs->body));
    struct str message = xml_words(a, buf_view(&rs->body), "Message");
    bool later = rs->status == 429 || rs->status >= 500 || str_eq(code, STR("Throttling")) ||
                 str_eq(code, STR("IDPCommunicationError"));
    enum err_kind kind = later               ? ERR_UNAVAILABLE
                         : rs->status >= 400 ? ERR_KEYS_REFUSED
                                             : ERR_INTERNAL;
    err_set(err, kind, "the token service %.*s answered %d%s%.*s when asked for the role %.*s",
        STR_ARG(at->host), rs->status, code.p ? " " : "", STR_ARG(code), STR_ARG(role->arn));
    return err_quote(err, message);
}

static bool read_answer(struct arena *a, const struct endpoint *at, struct str doc,
    struct credentials **out, struct err *err)
{
    struct str id = xml_find(a, doc, "AccessKeyId");
    struct str secret = xml_find(a, doc, "SecretAccessKey");
    struct str token = xml_find(a, doc, "SessionToken");
    int64_t expires = clock_parse(xml_find(a, doc, "Expiration"));
    if (id.n == 0 || secret.n == 0 || token.n == 0 || expires == 0)
        return err_set(err, ERR_INTERNAL, "the answer of the token service %.*s has no %s",
            STR_ARG(at->host),
            id.n == 0       ? "AccessKeyId"
            : secret.n == 0 ? "SecretAccessKey"
            : token.n == 0  ? "SessionToken"
                            : "Expiration");
    *out = credentials_new(id, secret, token, expires);
    return true;
}

/* --- both -------------------------------------------------------------------------------------
 */

/* keys NULL: unsigned. */
static bool ask(struct arena *a, const struct sts_service *service, const struct credentials *keys,
    const struct sts_role *role, struct str form, struct credentials **out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    struct endpoint at;
    TRY(find_endpoint(a, service, &at, err));
    struct fetch_header headers[SIGNED_HEADERS_MAX + 1] = {
        {STR("content-type"), STR("application/x-www-form-urlencoded; charset=utf-8")}
    };
    size_t n = 0;
    if (keys) {
        struct sigv4_key key = {str_from(keys->id), str_from(keys->secret), str_from(keys->token),
            region_of(service), STR("sts")};
        struct sigv4_request sign = {.method = STR("POST"),
            .host = at.host,
            .path = STR("/"),
            .headers = headers,
            .n_headers = 1,
            .payload_hash = digest_sha256_text(a, &form, 1),
            .now_ms = clock_ms()};
        TRY(sigv4_sign(a, &key, &sign, headers + 1, &n, err));
    }
    struct fetch_request rq = {.method = "POST",
        .url = arena_printf(a, "%s://%.*s/", endpoint_word(at.scheme), STR_ARG(at.host)),
        .headers = headers,
        .n_headers = n + 1,
        .pieces = &form,
        .n_pieces = 1,
        .max_body = ANSWER_MAX,
        .deadline_us = service->deadline_us,
        .reach = service->reach};
    TRY(fetch_do(a, &rq, &rs, err));
    if (service->answered)
        *service->answered = true;
    if (rs.status != 200)
        return refused(a, role, &at, &rs, err);
    return read_answer(a, &at, buf_view(&rs.body), out, err);
}

bool sts_assume_role(const struct sts_service *service, const struct credentials *keys,
    const struct sts_role *role, struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(buf_fini) struct buf form;
    struct str body;
    begin_form(&form, "AssumeRole");
    TRY(end_form(&form, a, role, &body, err));
    return ask(a, service, keys, role, body, out, err);
}

bool sts_assume_role_by_token(const struct sts_service *service, struct str token,
    const struct sts_role *role, struct credentials **out, struct err *err)
{
    assert(role->external_id.n == 0);
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(buf_fini) struct buf form;
    struct str body;
    begin_form(&form, "AssumeRoleWithWebIdentity");
    add(&form, a, "WebIdentityToken", token);
    TRY(end_form(&form, a, role, &body, err));
    return ask(a, service, NULL, role, body, out, err);
}
