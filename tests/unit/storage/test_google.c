/* Google's tokens against scripted answers of its services. */
#include "google.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "digest.h"
#include "fetch.h"
#include "folder.h"
#include "keeper.h"
#include "source.h"
#include "store.h"
#include "stub.h"

#include <check.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER(status, headers, body)                                                              \
    "HTTP/1.1 " status "\r\n" headers "Connection: close\r\n\r\n" body
#define GIVEN      ANSWER("200 OK", "", "{\"access_token\":\"hidden-token\",\"expires_in\":3599}")
#define METADATA   "Metadata-Flavor: Google\r\n"
#define GOOGLE_URI "https://oauth2.googleapis.com/token"
#define NOW_MS     1764500000000
#define ACCOUNT    "firn@project.iam.gserviceaccount.com"

static struct arena *a;
static struct err err;
static struct google_service service;
static EVP_PKEY *key;
static char pem[2048]; /* of the key */

/* One for all tests: to find its primes takes longer than they do. */
static void make_key(void)
{
    BIO *bio = BIO_new(BIO_s_mem());
    key = EVP_RSA_gen(2048);
    ck_assert_int_eq(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    int n = BIO_read(bio, pem, sizeof(pem) - 1);
    ck_assert(n > 0 && BIO_pending(bio) == 0);
    BIO_free(bio);
}

static void free_key(void)
{
    EVP_PKEY_free(key);
}

static void begin(void)
{
    static const char *const names[] = {
        "GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST", "NO_GCE_CHECK"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]);
    fetch_global_init();
    (void)folder_make();
    a = arena_new();
    err_clear(&err);
    service = (struct google_service){.deadline_us = clock_mono_us() + 20000000};
    clock_freeze(NOW_MS);
}

static void end(void)
{
    ck_assert_msg(!strstr(err.msg, "hidden"), "%s", err.msg);
    clock_freeze(0);
    stub_stop();
    arena_free(&a);
    folder_remove();
    fetch_global_fini();
}

static void play(const struct stub_step *steps, size_t n)
{
    service.endpoint = str_from(stub_start(steps, n));
}
#define PLAY(...)                                                                                  \
    static const struct stub_step steps_[] = {__VA_ARGS__};                                        \
    play(steps_, ARRAY_LEN(steps_))

/* The key's JSON; uri NULL: none. */
static struct str key_json(const char *type, const char *private_key, const char *uri)
{
    json_t *json = json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", type, "project_id", "the-project",
        "private_key_id", "k1", "private_key", private_key, "client_email", ACCOUNT);
    if (uri)
        json_object_set_new(json, "token_uri", json_string(uri));
    char *text = json_dumps(json, 0);
    struct str copy = arena_dup(a, str_from(text));
    free(text);
    json_decref(json);
    return copy;
}

static void check_token(const struct credentials *c, int64_t expires_ms)
{
    ck_assert_str_eq(c->token, "hidden-token");
    ck_assert_int_eq(c->expires_ms, expires_ms);
}

static void fails(bool ok, enum err_kind kind, const char *words)
{
    ck_assert(!ok);
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
    char all[sizeof(err.msg) + sizeof(err.said)];
    (void)snprintf(all, sizeof(all), "%s%s", ERR_ALL(&err));
    ck_assert_msg(strstr(all, words) != NULL, "%s", all);
    err_clear(&err);
}

static bool by_key(struct str json)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    return google_token_of_key(&service, json, &c, &err);
}

/* The value of a field of the form that came, decoded. */
static struct str field(size_t request, const char *name)
{
    const char *body = strstr(stub_request(request), "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    for (struct str rest = str_from(body + 4); rest.p;) {
        struct str pair = str_cut(&rest, '&'), value;
        if (!str_eq(str_cut(&pair, '='), str_from(name)))
            continue;
        ck_assert(str_pct_decode(a, pair, STR_PLUS_SPACE, &value));
        return value;
    }
    return (struct str){NULL, 0};
}

static json_t *decoded(struct str part)
{
    struct str text = {NULL, 0};
    ck_assert(b64url_decode(a, part, &text));
    return json_loadb(text.p, text.n, 0, NULL);
}

static bool is_signed(struct str text, struct str part)
{
    struct str signature = {NULL, 0};
    ck_assert(b64url_decode(a, part, &signature));
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ck_assert_int_eq(EVP_DigestVerifyInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL), 1);
    bool right = EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n,
                     (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(ctx);
    return right;
}

/* --- the key of a service account --------------------------------------------------------------
 */

START_TEST(test_google_key__assertion_on_the_wire)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = GIVEN});
    service.scope = STR("https://scope/x");
    ck_assert_msg(
        google_token_of_key(&service, key_json("service_account", pem, GOOGLE_URI), &c, &err), "%s",
        err.msg);
    check_token(c, NOW_MS + 3599000);
    ck_assert_str_eq(c->id, "the-project");
    ck_assert(stub_saw(0, "POST /token HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    ck_assert(str_eq(field(0, "grant_type"), STR("urn:ietf:params:oauth:grant-type:jwt-bearer")));
    struct str rest = field(0, "assertion"), whole = rest;
    struct str head = str_cut(&rest, '.'), claims = str_cut(&rest, '.');
    ck_assert(is_signed(str_range(whole.p, claims.p + claims.n), rest));
    json_t *h = decoded(head), *b = decoded(claims);
    ck_assert_str_eq(json_string_value(json_object_get(h, "alg")), "RS256");
    ck_assert_str_eq(json_string_value(json_object_get(h, "kid")), "k1");
    ck_assert_str_eq(json_string_value(json_object_get(b, "iss")), ACCOUNT);
    ck_assert_str_eq(json_string_value(json_object_get(b, "aud")), GOOGLE_URI);
    ck_assert_str_eq(json_string_value(json_object_get(b, "scope")), "https://scope/x");
    ck_assert_int_eq(json_integer_value(json_object_get(b, "iat")), NOW_MS / 1000);
    ck_assert_int_eq(json_integer_value(json_object_get(b, "exp")), NOW_MS / 1000 + 3600);
    json_decref(h);
    json_decref(b);
}
END_TEST

START_TEST(test_google_key__scope_of_storage)
{
    PLAY({.answer = GIVEN});
    ck_assert(by_key(key_json("service_account", pem, NULL)));
    struct str rest = field(0, "assertion");
    (void)str_cut(&rest, '.');
    json_t *b = decoded(str_cut(&rest, '.'));
    ck_assert_str_eq(json_string_value(json_object_get(b, "scope")),
        "https://www.googleapis.com/auth/devstorage.read_write");
    json_decref(b);
}
END_TEST

/* Whoever brings a key does not choose where the server goes. */
START_TEST(test_google_key__addresses_of_others)
{
    static const char *const uris[] = {"http://169.254.169.254/computeMetadata/v1/x",
        "https://evil.example/token", "http://oauth2.googleapis.com/token",
        "https://oauth2.googleapis.com/token?x",
        "https://oauth2.googleapis.com.evil.example/token"};
    PLAY({.answer = GIVEN}, {.answer = GIVEN}, {.answer = GIVEN});
    for (size_t i = 0; i < ARRAY_LEN(uris); i++)
        fails(
            by_key(key_json("service_account", pem, uris[i])), ERR_INTERNAL, "the key's token_uri");
    ck_assert_uint_eq(stub_count(), 0);
    struct str own = arena_printf(a, "%.*s/token", STR_ARG(service.endpoint));
    ck_assert_msg(by_key(key_json("service_account", pem, own.p)), "%s", err.msg);
    ck_assert_msg(
        by_key(key_json("service_account", pem, "https://accounts.google.com/o/oauth2/token")),
        "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_google_key__what_is_no_key)
{
    static const char *const texts[] = {"", "hidden", "[]", "{}", "{\"type\":\"service_account\"}",
        "{\"type\":\"service_account\",\"client_email\":\"x\"}",
        "{\"type\":\"service_account\",\"client_email\":\"x\",\"private_key\":1}"};
    PLAY({.answer = GIVEN});
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        fails(by_key(str_from(texts[i])), ERR_INTERNAL,
            "expected the JSON of a service account's key");
    fails(by_key(key_json("authorized_user", pem, NULL)), ERR_INTERNAL, "service_account");
    fails(by_key(key_json("service_account", "hidden", NULL)), ERR_BAD_REQUEST,
        "the private_key of " ACCOUNT);
    ck_assert_uint_eq(stub_count(), 0);
}
END_TEST

START_TEST(test_google_key__refused)
{
    PLAY({.answer = ANSWER("400 Bad Request", "",
              "{\"error\":\"invalid_grant\",\"error_description\":\"account not found\"}")},
        {.answer = ANSWER("403 Forbidden", "", "{\"error\":{\"message\":\"no permission\"}}")},
        {.answer = ANSWER("500 Internal Server Error", "", "<html>")},
        {.answer = ANSWER("429 Too Many Requests", "", "")},
        {.answer = ANSWER("200 OK", "", "<html>")},
        {.answer = ANSWER("200 OK", "", "{\"expires_in\":3600}")},
        {.answer = ANSWER("200 OK", "", "{\"access_token\":\"hidden\"}")},
        {.answer = ANSWER("200 OK", "", "{\"access_token\":\"hidden\",\"expires_in\":-1}")});
    struct str json = key_json("service_account", pem, NULL);
    fails(by_key(json), ERR_KEYS_REFUSED, "/token answered 400 invalid_grant");
    fails(by_key(json), ERR_KEYS_REFUSED, "answered 403: no permission");
    fails(by_key(json), ERR_UNAVAILABLE, "answered 500");
    fails(by_key(json), ERR_UNAVAILABLE, "answered 429");
    fails(by_key(json), ERR_INTERNAL, "has no JSON");
    fails(by_key(json), ERR_INTERNAL, "has no access_token");
    fails(by_key(json), ERR_INTERNAL, "has no expires_in");
    fails(by_key(json), ERR_INTERNAL, "has no expires_in");
}
END_TEST

/* --- files -------------------------------------------------------------------------------------
 */

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(folder_path(name), "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static bool by_file(struct credentials **c)
{
    return google_token_of_file(
        &service, str_from(folder_path("account.json")), GOOGLE_FILE_ANY, c, &err);
}

#define PROVIDER                                                                                   \
    "{\"type\":\"external_account\",\"audience\":\"//iam/"                                         \
    "pool\",\"subject_token_type\":\"urn:jwt\","                                                   \
    "\"token_url\":\"https://evil.example\",\"credential_source\":{\"file\":\"%s\"%s}%s}"

static void write_provider(const char *format, const char *more)
{
    write_file("account.json", arena_printf(a, PROVIDER, folder_path("pod"), format, more).p);
}

START_TEST(test_google_file__key)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = GIVEN});
    write_file("account.json", key_json("service_account", pem, NULL).p);
    ck_assert_msg(by_file(&c), "%s", err.msg);
    check_token(c, NOW_MS + 3599000);
}
END_TEST

START_TEST(test_google_file__token_of_another_provider)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = GIVEN}, {.answer = GIVEN});
    write_provider("", "");
    write_file("pod", "pod-token\n");
    ck_assert_msg(by_file(&c), "%s", err.msg);
    check_token(c, NOW_MS + 3599000);
    ck_assert(stub_saw(0, "POST /v1/token HTTP/1.1\r\n"));
    ck_assert(str_eq(field(0, "subject_token"), STR("pod-token")));
    ck_assert(str_eq(field(0, "subject_token_type"), STR("urn:jwt")));
    ck_assert(str_eq(field(0, "audience"), STR("//iam/pool")));
    ck_assert(
        str_eq(field(0, "grant_type"), STR("urn:ietf:params:oauth:grant-type:token-exchange")));
    ck_assert(
        str_eq(field(0, "scope"), STR("https://www.googleapis.com/auth/devstorage.read_write")));
    credentials_unref(&c);
    write_provider(",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"jwt\"}", "");
    write_file("pod", "{\"jwt\":\"rotated-token\"}");
    ck_assert_msg(by_file(&c), "%s", err.msg);
    ck_assert(str_eq(field(1, "subject_token"), STR("rotated-token")));
}
END_TEST

#define ACT_AS "/v1/projects/-/serviceAccounts/" ACCOUNT ":generateAccessToken"

START_TEST(test_google_file__acting_as_an_account)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = ANSWER("200 OK", "", "{\"access_token\":\"federated\",\"expires_in\":3600}")},
        {.answer = ANSWER("200 OK", "",
             "{\"accessToken\":\"hidden-token\",\"expireTime\":\"2009-10-12T17:50:30Z\"}")});
    write_provider("",
        ",\"service_account_impersonation_url\":\"https://iamcredentials.googleapis.com" ACT_AS
        "\"");
    write_file("pod", "pod-token");
    ck_assert_msg(by_file(&c), "%s", err.msg);
    check_token(c, 1255369830000);
    ck_assert(str_eq(field(0, "scope"), STR("https://www.googleapis.com/auth/cloud-platform")));
    ck_assert(stub_saw(1, "POST " ACT_AS " HTTP/1.1\r\n"));
    ck_assert(stub_saw(1, "\r\nAuthorization: Bearer federated\r\n"));
    ck_assert(stub_saw(1, "\r\nContent-Type: application/json\r\n"));
    ck_assert(stub_saw(1, "{\"scope\":[\"https://www.googleapis.com/auth/devstorage.read_write\"],"
                          "\"lifetime\":\"3600s\"}"));
}
END_TEST

START_TEST(test_google_file__descriptions_that_do_not_do)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = GIVEN}, {.answer = GIVEN});
    fails(by_file(&c), ERR_INTERNAL, "cannot read");
    write_provider("", "");
    fails(by_file(&c), ERR_INTERNAL, "cannot read");
    write_file("pod", "");
    fails(by_file(&c), ERR_INTERNAL, "holds no token");
    write_provider(",\"format\":{\"type\":\"json\",\"subject_token_field_name\":\"jwt\"}", "");
    write_file("pod", "{\"other\":\"hidden\"}");
    fails(by_file(&c), ERR_INTERNAL, "holds no token");
    write_file("account.json",
        "{\"type\":\"external_account\",\"credential_source\":{\"url\":\"http://x\"}}");
    fails(by_file(&c), ERR_INTERNAL, "expected a credential_source with a file");
    ck_assert_uint_eq(stub_count(), 0);
    write_provider("", ",\"service_account_impersonation_url\":\"https://evil.example/x\"");
    write_file("pod", "pod-token");
    fails(by_file(&c), ERR_INTERNAL, "service_account_impersonation_url");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

/* --- the machine -------------------------------------------------------------------------------
 */

static bool by_machine(struct credentials **c)
{
    ck_assert_int_eq(setenv("GCE_METADATA_HOST", service.endpoint.p + STR("http://").n, 1), 0);
    return google_token_of_machine(&service, c, &err);
}

START_TEST(test_google_machine)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = ANSWER(
              "200 OK", METADATA, "{\"access_token\":\"hidden-token\",\"expires_in\":100}")});
    ck_assert_msg(by_machine(&c), "%s", err.msg);
    check_token(c, NOW_MS + 100000);
    ck_assert(stub_saw(
        0, "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nMetadata-Flavor: Google\r\n"));
}
END_TEST

START_TEST(test_google_machine__somebody_else_answers)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = GIVEN});
    fails(by_machine(&c), ERR_INTERNAL, "is not Google's metadata server");
}
END_TEST

START_TEST(test_google_machine__asked_twice)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.end = STUB_CLOSE}, {.answer = ANSWER("503 Service Unavailable", METADATA, "")});
    fails(by_machine(&c), ERR_UNAVAILABLE, "the metadata server gives no token");
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_google_machine__has_no_account)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = ANSWER("404 Not Found", METADATA, "")});
    fails(by_machine(&c), ERR_KEYS_REFUSED, "answered 404");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

/* --- limits ------------------------------------------------------------------------------------
 */

static bool within(int64_t own_ends_ms, struct credentials **c)
{
    AUTO(credentials_unref)
    struct credentials *own = credentials_new(STR("p"), STR(""), STR("own-hidden"), own_ends_ms);
    return google_token_within(&service, own, STR("{\"a\": \"b&c\"}"), c, &err);
}

START_TEST(test_google_within__request_on_the_wire)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = ANSWER("200 OK", "", "{\"access_token\":\"hidden-token\"}")});
    ck_assert_msg(within(NOW_MS + 7000, &c), "%s", err.msg);
    check_token(c, NOW_MS + 7000);
    ck_assert_str_eq(c->id, "p");
    ck_assert(stub_saw(0, "POST /v1/token HTTP/1.1\r\n"));
    ck_assert(str_eq(field(0, "options"), STR("{\"a\": \"b&c\"}")));
    ck_assert(str_eq(field(0, "subject_token"), STR("own-hidden")));
    ck_assert(str_eq(
        field(0, "requested_token_type"), STR("urn:ietf:params:oauth:token-type:access_token")));
}
END_TEST

/* It lives no longer than the token it was made of, whatever is said. */
START_TEST(test_google_within__the_end_of_the_token)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    PLAY({.answer = GIVEN}, {.answer = GIVEN},
        {.answer = ANSWER("200 OK", "", "{\"access_token\":\"x\"}")});
    ck_assert(within(NOW_MS + 5000, &c));
    ck_assert_int_eq(c->expires_ms, NOW_MS + 5000);
    credentials_unref(&c);
    ck_assert(within(NOW_MS + 7200000, &c));
    ck_assert_int_eq(c->expires_ms, NOW_MS + 3599000);
    credentials_unref(&c);
    fails(within(0, &c), ERR_INTERNAL, "has no expires_in");
}
END_TEST

/* --- the sources of a store --------------------------------------------------------------------
 */

START_TEST(test_gcs_sources__in_their_order)
{
    const struct source *source;
    enum source_kind kind;
    struct store_conf conf = {0};
    ck_assert_int_eq(setenv("NO_GCE_CHECK", "true", 1), 0);
    fails(sources_gcs.find(&conf, &source, &kind, &err), ERR_INTERNAL,
        "GOOGLE_APPLICATION_CREDENTIALS");
    ck_assert_int_eq(unsetenv("NO_GCE_CHECK"), 0);
    ck_assert(sources_gcs.find(&conf, &source, &kind, &err));
    ck_assert_ptr_nonnull(strstr(source->name, "the metadata server"));
    ck_assert_int_eq(setenv("GOOGLE_APPLICATION_CREDENTIALS", "/x", 1), 0);
    ck_assert(sources_gcs.find(&conf, &source, &kind, &err));
    ck_assert_str_eq(source->name, "the file of the environment");
    conf.gcs_key = "{}";
    ck_assert(sources_gcs.find(&conf, &source, &kind, &err));
    ck_assert_str_eq(source->name, "the settings");
    ck_assert_int_eq(kind, SOURCE_RENEWED);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("google");
    tcase_add_unchecked_fixture(tc, make_key, free_key);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_google_key__assertion_on_the_wire);
    tcase_add_test(tc, test_google_key__scope_of_storage);
    tcase_add_test(tc, test_google_key__addresses_of_others);
    tcase_add_test(tc, test_google_key__what_is_no_key);
    tcase_add_test(tc, test_google_key__refused);
    tcase_add_test(tc, test_google_file__key);
    tcase_add_test(tc, test_google_file__token_of_another_provider);
    tcase_add_test(tc, test_google_file__acting_as_an_account);
    tcase_add_test(tc, test_google_file__descriptions_that_do_not_do);
    tcase_add_test(tc, test_google_machine);
    tcase_add_test(tc, test_google_machine__somebody_else_answers);
    tcase_add_test(tc, test_google_machine__asked_twice);
    tcase_add_test(tc, test_google_machine__has_no_account);
    tcase_add_test(tc, test_google_within__request_on_the_wire);
    tcase_add_test(tc, test_google_within__the_end_of_the_token);
    tcase_add_test(tc, test_gcs_sources__in_their_order);
    Suite *s = suite_create("google");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
