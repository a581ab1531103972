/* Tokens by what a file says of an identity: the key of a service account, or where the token of
 * another identity provider lies. */
#include "google_priv.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "digest.h"
#include "rsa.h"
#include "secret.h"
#include "source_priv.h"

enum { LIFE_S = 3600, CLAIMS_MAX = 8 * 1024 };

#define IMPERSONATION "https://iamcredentials.googleapis.com/"

static bool is_type(const json_t *json, const char *type)
{
    return str_eq(answer_text(json, "type"), str_from(type));
}

/* --- the key of a service account --------------------------------------------------------------
 */

struct account {
    struct str email, key, key_id, uri;
};

static bool read_account(const json_t *json, struct account *out, struct err *err)
{
    *out = (struct account){answer_text(json, "client_email"), answer_text(json, "private_key"),
        answer_text(json, "private_key_id"), answer_text(json, "token_uri")};
    if (!is_type(json, "service_account") || out->email.n == 0 || out->key.n == 0)
        return err_set(err, ERR_INTERNAL,
            "expected the JSON of a service account's key, with \"type\": \"service_account\", "
            "client_email and private_key");
    if (out->uri.n == 0 || str_eq(out->uri, STR("https://accounts.google.com/o/oauth2/token")))
        out->uri = STR(GOOGLE_TOKEN_URI); /* keys of earlier years */
    return true;
}

/* Whoever brings the key must not choose where the server goes with it. */
static bool token_url(struct arena *a, const struct google_service *service,
    const struct account *who, struct str *out, struct err *err)
{
    TRY(google__url(a, service, GOOGLE_TOKEN_URI, out, err));
    return str_eq(who->uri, STR(GOOGLE_TOKEN_URI)) || str_eq(who->uri, *out) ||
           err_set(err, ERR_INTERNAL, "the key's token_uri: expected %.*s, found %.*s",
               STR_ARG(*out), STR_ARG(str_utf8_cut(who->uri, 200)));
}

static void put(struct buf *b, const char *before, struct str value)
{
    buf_puts(b, before);
    buf_json_str(b, value);
}

/* "HEAD.CLAIMS", each of them base64url of JSON. */
static bool unsigned_token(struct arena *a, const struct google_service *service,
    const struct account *who, struct str *out, struct err *err)
{
    AUTO(buf_fini) struct buf head = {0};
    AUTO(buf_fini) struct buf claims = {0};
    int64_t now_s = clock_ms() / 1000;
    buf_init(&head, CLAIMS_MAX);
    buf_puts(&head, "{\"alg\":\"RS256\",\"typ\":\"JWT\"");
    if (who->key_id.n > 0)
        put(&head, ",\"kid\":", who->key_id);
    buf_putc(&head, '}');
    buf_init(&claims, CLAIMS_MAX);
    put(&claims, "{\"iss\":", who->email);
    put(&claims, ",\"scope\":", google__scope(service));
    put(&claims, ",\"aud\":", who->uri);
    buf_putf(&claims, ",\"iat\":%lld,\"exp\":%lld}", (long long)now_s, (long long)now_s + LIFE_S);
    if (head.over || claims.over)
        return err_set(
            err, ERR_INTERNAL, "the key's names have more than %d bytes", (int)CLAIMS_MAX);
    struct str h = b64url_encode(a, buf_view(&head)), c = b64url_encode(a, buf_view(&claims));
    *out = arena_printf(a, "%.*s.%.*s", STR_ARG(h), STR_ARG(c));
    return true;
}

static bool by_key(struct arena *a, const struct google_service *service, const json_t *json,
    struct credentials **out, struct err *err)
{
    AUTO(buf_fini) struct buf form = {0};
    struct google_ask ask = {.project = answer_text(json, "project_id"),
        .deadline_us = service->deadline_us,
        .reach = service->reach};
    struct account who = {0};
    struct str text, signature;
    TRY(read_account(json, &who, err));
    TRY(token_url(a, service, &who, &ask.url, err));
    TRY(unsigned_token(a, service, &who, &text, err));
    if (!rsa_sign(a, who.key, text, &signature, err))
        return err_wrap(err, "the private_key of %.*s", STR_ARG(str_utf8_cut(who.email, 200)));
    signature = b64url_encode(a, signature);
    google__form(&form);
    buf_field(&form, a, "grant_type", STR("urn:ietf:params:oauth:grant-type:jwt-bearer"));
    buf_field(
        &form, a, "assertion", arena_printf(a, "%.*s.%.*s", STR_ARG(text), STR_ARG(signature)));
    TRY(google__form_end(&form, a, &ask.body, err));
    return google__ask(a, &ask, out, err);
}

/* --- the token of another provider -------------------------------------------------------------
 */

static struct str trim_member(struct arena *a, struct str text, const json_t *source)
{
    const json_t *format = json_object_get(source, "format");
    struct str name = answer_text(format, "subject_token_field_name");
    if (!is_type(format, "json") || !name.p)
        return text;
    AUTO(answer_free) json_t *json = json_loadb(text.p, text.n, 0, NULL);
    return secret_dup(a, answer_text(json, arena_cstr(a, name)));
}

/* The file is read each time: who issues the tokens puts a new one there before the old expires. */
static bool subject_token(struct arena *a, const json_t *json, struct str *out, struct err *err)
{
    const json_t *source = json_object_get(json, "credential_source");
    struct str path = answer_text(source, "file"), text = STR("");
    if (path.n == 0)
        return err_set(err, ERR_INTERNAL,
            "expected a credential_source with a file that holds the token of the other provider");
    TRY(source__file(a, path, &text, err));
    *out = trim_member(a, text, source);
    return out->n > 0 || err_set(err, ERR_INTERNAL, "%.*s holds no token", STR_ARG(path));
}

/* The federated token is taken for one of the service account that it may act as. */
static bool impersonate(struct arena *a, const struct google_service *service, struct str url,
    const struct credentials *by, struct credentials **out, struct err *err)
{
    AUTO(buf_fini) struct buf body = {0};
    struct str token = arena_printf(a, "Bearer %s", by->token);
    struct google_ask ask = {
        .header = {STR("Authorization"), token},
        .content_type = "application/json",
        .deadline_us = service->deadline_us,
        .reach = service->reach,
    };
    if (!str_starts(url, STR(IMPERSONATION)))
        return err_set(err, ERR_INTERNAL,
            "service_account_impersonation_url: expected an address that begins " IMPERSONATION
            ", found %.*s",
            STR_ARG(str_utf8_cut(url, 200)));
    secret_wipe_with(a, token.p, token.n);
    TRY(google__url(a, service, arena_cstr(a, url), &ask.url, err));
    buf_init(&body, CLAIMS_MAX);
    put(&body, "{\"scope\":[", google__scope(service));
    buf_putf(&body, "],\"lifetime\":\"%ds\"}", LIFE_S);
    ask.body = buf_view(&body);
    return google__ask(a, &ask, out, err);
}

static bool by_provider(struct arena *a, const struct google_service *service, const json_t *json,
    struct credentials **out, struct err *err)
{
    AUTO(buf_fini) struct buf form = {0};
    AUTO(credentials_unref) struct credentials *federated = NULL;
    struct google_ask ask = {.deadline_us = service->deadline_us, .reach = service->reach};
    struct str token, account = answer_text(json, "service_account_impersonation_url");
    TRY(subject_token(a, json, &token, err));
    TRY(google__url(a, service, GOOGLE_STS_URI, &ask.url, err));
    google__form(&form);
    buf_field(&form, a, "grant_type", STR(GOOGLE_EXCHANGE));
    buf_field(&form, a, "audience", answer_text(json, "audience"));
    buf_field(&form, a, "scope", account.p ? STR(GOOGLE_SCOPE_ALL) : google__scope(service));
    buf_field(&form, a, "requested_token_type", STR(GOOGLE_TYPE));
    buf_field(&form, a, "subject_token_type", answer_text(json, "subject_token_type"));
    buf_field(&form, a, "subject_token", token);
    TRY(google__form_end(&form, a, &ask.body, err));
    TRY(google__ask(a, &ask, &federated, err));
    if (account.p)
        return impersonate(a, service, account, federated, out, err);
    *out = TAKE(federated);
    return true;
}

/* --- for others --------------------------------------------------------------------------------
 */

bool google_token_of_key(const struct google_service *service, struct str json,
    struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(answer_free) json_t *tree = json_loadb(json.p ? json.p : "", json.n, 0, NULL);
    return by_key(a, service, tree, out, err);
}

bool google_token_of_file(const struct google_service *service, struct str path,
    enum google_file kind, struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    struct str text;
    TRY(source__file(a, path, &text, err));
    AUTO(answer_free) json_t *tree = json_loadb(text.p, text.n, 0, NULL);
    bool of_provider = is_type(tree, "external_account");
    bool ok = of_provider               ? by_provider(a, service, tree, out, err)
              : kind == GOOGLE_FILE_ANY ? by_key(a, service, tree, out, err)
                                        : err_set(err, ERR_INTERNAL,
                                              "expected the identity of another provider, with "
                                              "\"type\": \"external_account\"");
    return ok || err_wrap(err, "%.*s", STR_ARG(path));
}
