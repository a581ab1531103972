#include "source.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fetch.h"
#include "folder.h"
#include "store.h"
#include "stub.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "HOME",
    "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_SESSION_NAME", "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"};

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static void begin(void)
{
    fetch_global_init();
    (void)folder_make();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]);
    set("AWS_EC2_METADATA_DISABLED", "true"); /* no test asks the machine it runs on */
}

static void end(void)
{
    stub_stop();
    folder_remove();
    fetch_global_fini();
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(folder_path(name), "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static bool load(const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct source *source;
    return source_find(conf, &source, err) && source_fetch(source, conf, out, err);
}

static void check_keys(
    const struct store_conf *conf, const char *id, const char *secret, const char *token)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    struct err err = {0};
    ck_assert_msg(load(conf, &c, &err), "%s", err.msg);
    ck_assert_str_eq(c->id, id);
    ck_assert_str_eq(c->secret, secret);
    ck_assert_pstr_eq(c->token, token);
}

static void fails(const struct store_conf *conf, enum err_kind kind, const char *words)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    struct err err = {0};
    ck_assert(!load(conf, &c, &err));
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
    char all[sizeof(err.msg) + sizeof(err.said)];
    (void)snprintf(all, sizeof(all), "%s%s", ERR_ALL(&err));
    ck_assert_msg(strstr(all, words) != NULL, "%s", all);
    ck_assert_msg(!strstr(all, "hidden"), "%s", all);
}

static void check_none(const struct store_conf *conf, const char *words)
{
    fails(conf, ERR_INTERNAL, words);
}

START_TEST(test_source__settings_come_first)
{
    set("AWS_ACCESS_KEY_ID", "env");
    set("AWS_SECRET_ACCESS_KEY", "env-secret");
    struct store_conf conf = {.s3_access_key_id = "id", .s3_secret_access_key = "secret"};
    check_keys(&conf, "id", "secret", NULL);
    conf.s3_session_token = "token";
    check_keys(&conf, "id", "secret", "token");
}
END_TEST

START_TEST(test_source__half_a_setting_is_an_error)
{
    struct store_conf conf = {.s3_access_key_id = "id"};
    check_none(&conf, "without its secret key");
    conf = (struct store_conf){.s3_secret_access_key = "hidden"};
    check_none(&conf, "without its access key");
}
END_TEST

START_TEST(test_source__environment_before_file)
{
    write_file("credentials", "[default]\naws_access_key_id=f\naws_secret_access_key=fs\n");
    set("AWS_SHARED_CREDENTIALS_FILE", folder_path("credentials"));
    set("AWS_ACCESS_KEY_ID", "env");
    check_keys(&(struct store_conf){0}, "f", "fs", NULL); /* half an environment does not count */
    set("AWS_SECRET_ACCESS_KEY", "env-secret");
    set("AWS_SESSION_TOKEN", "t");
    check_keys(&(struct store_conf){0}, "env", "env-secret", "t");
}
END_TEST

START_TEST(test_source__profiles_of_the_file)
{
    write_file("credentials",
        "# a comment\r\n[ other ]\naws_access_key_id = o\naws_secret_access_key = os=/+\n"
        "AWS_SESSION_TOKEN\t=\tot\n\n; another\n[default]\n  aws_access_key_id=d\r\n"
        "aws_secret_access_key=ds\r\nregion = eu-central-1\n[empty]\n");
    set("AWS_SHARED_CREDENTIALS_FILE", folder_path("credentials"));
    check_keys(&(struct store_conf){0}, "d", "ds", NULL);
    set("AWS_PROFILE", "other");
    check_keys(&(struct store_conf){0}, "o", "os=/+", "ot");
    set("AWS_PROFILE", "empty");
    check_none(&(struct store_conf){0}, "the profile empty has no keys");
    write_file("config", "[profile empty]\naws_access_key_id=c\naws_secret_access_key=cs\n");
    set("AWS_CONFIG_FILE", folder_path("config"));
    check_keys(&(struct store_conf){0}, "c", "cs", NULL);
}
END_TEST

START_TEST(test_source__file_in_home)
{
    check_none(&(struct store_conf){0}, "~/.aws/credentials");
    set("HOME", folder_path(""));
    check_none(&(struct store_conf){0}, "FIRN_S3_ACCESS_KEY_ID");
    ck_assert_int_eq(mkdir(folder_path(".aws"), 0700), 0);
    write_file(".aws/credentials", "[default]\naws_access_key_id=h\naws_secret_access_key=hs");
    check_keys(&(struct store_conf){0}, "h", "hs", NULL);
}
END_TEST

START_TEST(test_source__config_file_in_home)
{
    set("HOME", folder_path(""));
    ck_assert_int_eq(mkdir(folder_path(".aws"), 0700), 0);
    write_file(".aws/config", "[default]\naws_access_key_id=c\naws_secret_access_key=cs");
    check_keys(&(struct store_conf){0}, "c", "cs", NULL);
}
END_TEST

/* --- sealed ones --- */

static bool sealed(void *ctx, struct arena *a, struct str *out, struct err *err)
{
    (void)a;
    const char *text = ctx;
    *out = str_from(text);
    return text || err_set(err, ERR_UNAVAILABLE, "the database is away");
}

START_TEST(test_source__sealed_before_environment)
{
    char text[] = "id\r\nse=cr et\ntoken\n", two[] = "id\nsecret", one[] = "hidden";
    set("AWS_ACCESS_KEY_ID", "env");
    set("AWS_SECRET_ACCESS_KEY", "env-secret");
    struct store_conf conf = {.sealed = sealed, .sealed_ctx = text};
    check_keys(&conf, "id", "se=cr et", "token");
    conf.sealed_ctx = two;
    check_keys(&conf, "id", "secret", NULL);
    conf.sealed_ctx = one;
    check_none(&conf, "one a line");
    conf.sealed_ctx = NULL;
    fails(&conf, ERR_UNAVAILABLE, "the database is away");
}
END_TEST

/* --- those that are asked for --- */

#define PLAY(...)                                                                                  \
    static const struct stub_step steps[] = {__VA_ARGS__};                                         \
    const char *url = stub_start(steps, ARRAY_LEN(steps))

/* The stub closes after each answer, so that no length is needed. */
#define CLOSED(status, body) "HTTP/1.1 " status "\r\n\r\n" body

#define STS_KEYS                                                                                   \
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"      \
    "<AssumeRoleWithWebIdentityResult><AssumedRoleUser><AssumedRoleId>R:x</AssumedRoleId>"         \
    "</AssumedRoleUser><Credentials><AccessKeyId>ASIA1</AccessKeyId>"                              \
    "<SecretAccessKey>s&amp;1</SecretAccessKey><SessionToken>t+1=</SessionToken>"                  \
    "<Expiration>2100-01-02T03:04:05.123456789Z</Expiration></Credentials>"                        \
    "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
#define JSON_KEYS                                                                                  \
    "{\"AccessKeyId\":\"ASIA2\",\"SecretAccessKey\":\"s2\",\"Token\":\"t2\","                      \
    "\"Expiration\":\"2100-01-02T03:04:05Z\",\"RoleArn\":\"arn\"}"

static void set_token(const char *text)
{
    write_file("token", text);
    set("AWS_WEB_IDENTITY_TOKEN_FILE", folder_path("token"));
    set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r x");
}

START_TEST(test_source__web_identity)
{
    PLAY({.answer = CLOSED("200 OK", STS_KEYS)}, {.answer = CLOSED("200 OK", STS_KEYS)});
    set_token("first.token\n");
    const struct store_conf conf = {.identity_endpoint = url};
    check_keys(&conf, "ASIA1", "s&1", "t+1=");
    ck_assert(stub_saw(0, "POST / HTTP/1.1\r\n"));
    ck_assert(
        stub_saw(0, "\r\ncontent-type: application/x-www-form-urlencoded; charset=utf-8\r\n"));
    ck_assert(stub_saw(0, "\r\n\r\nAction=AssumeRoleWithWebIdentity&Version=2011-06-15"
                          "&WebIdentityToken=first.token&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"
                          "%20x&RoleSessionName=firn"));
    ck_assert(!stub_saw(0, "authorization"));
    write_file("token", "second.token");
    set("AWS_ROLE_SESSION_NAME", "pod-7");
    check_keys(&conf, "ASIA1", "s&1", "t+1=");
    ck_assert(stub_saw(1, "WebIdentityToken=second.token&"));
    ck_assert(stub_saw(1, "&RoleSessionName=pod-7"));
}
END_TEST

START_TEST(test_source__web_identity_tells_when_it_expires)
{
    PLAY({.answer = CLOSED("200 OK", STS_KEYS)});
    set_token("t");
    set("AWS_ENDPOINT_URL_STS", url);
    AUTO(credentials_unref) struct credentials *c = NULL;
    struct err err = {0};
    ck_assert_msg(load(&(struct store_conf){0}, &c, &err), "%s", err.msg);
    ck_assert_int_eq(c->expires_ms, 4102542245123);
}
END_TEST

START_TEST(test_source__web_identity_refused)
{
    PLAY({.answer = CLOSED("400 Bad Request", "<ErrorResponse><Error><Code>InvalidIdentityToken"
                                              "</Code><Message>No OpenIDConnect provider</Message>"
                                              "</Error></ErrorResponse>")},
        {.answer = CLOSED("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>")},
        {.answer = CLOSED("503 Slow", "")}, {.answer = CLOSED("200 OK", "<html>")},
        {.answer = CLOSED("200 OK", "<a><AccessKeyId>A</AccessKeyId></a>")});
    set_token("hidden");
    const struct store_conf conf = {.identity_endpoint = url};
    fails(&conf, ERR_INTERNAL,
        "answered 400 InvalidIdentityToken when asked for the role arn:aws:iam::1:role/r x"
        ": No OpenIDConnect provider");
    fails(&conf, ERR_INTERNAL, "answered 403 AccessDenied when");
    fails(&conf, ERR_UNAVAILABLE, "answered 503 when");
    fails(&conf, ERR_INTERNAL, "has no AccessKeyId");
    fails(&conf, ERR_INTERNAL, "has no SecretAccessKey");
    stub_stop();
    fails(&conf, ERR_UNAVAILABLE, "did not arrive");
    write_file("token", " \n");
    fails(&conf, ERR_INTERNAL, "is empty, expected a token");
    ck_assert_int_eq(unlink(folder_path("token")), 0);
    fails(&conf, ERR_INTERNAL, "cannot read ");
}
END_TEST

START_TEST(test_source__web_identity_wants_a_url)
{
    set_token("hidden");
    fails(&(struct store_conf){.identity_endpoint = "http://user:hidden@host"}, ERR_INTERNAL,
        "the endpoint of the token service is not understood");
}
END_TEST

/* The token goes to the server's own service; the warehouse's, here the second, sees keys at work.
 */
START_TEST(test_source__web_identity_is_not_shown_to_a_warehouse)
{
    PLAY({.answer = CLOSED("200 OK", STS_KEYS)}, {.answer = CLOSED("200 OK", STS_KEYS)});
    char theirs[200];
    (void)snprintf(theirs, sizeof(theirs), "http://localhost%s", strrchr(url, ':'));
    set_token("hidden.token");
    const struct store_conf conf = {.identity_endpoint = url,
        .sts_endpoint = theirs,
        .s3_role_arn = "arn:aws:iam::2:role/theirs"};
    check_keys(&conf, "ASIA1", "s&1", "t+1=");
    ck_assert_uint_eq(stub_count(), 2);
    ck_assert(stub_saw(0, "\r\nHost: 127.0.0.1:"));
    ck_assert(stub_saw(0, "WebIdentityToken=hidden.token"));
    ck_assert(stub_saw(1, "\r\nHost: localhost:"));
    ck_assert(!stub_saw(1, "hidden.token"));
}
END_TEST

START_TEST(test_source__role_by_other_keys)
{
    PLAY({.answer = CLOSED("200 OK", STS_KEYS)});
    const struct store_conf conf = {.sts_endpoint = url,
        .s3_region = "eu-central-1",
        .s3_access_key_id = "AKIA",
        .s3_secret_access_key = "hidden",
        .s3_role_arn = "arn:r",
        .s3_external_id = "e/1"};
    check_keys(&conf, "ASIA1", "s&1", "t+1=");
    ck_assert(stub_saw(0, "\r\n\r\nAction=AssumeRole&Version=2011-06-15&RoleArn=arn%3Ar"
                          "&RoleSessionName=firn&ExternalId=e%2F1"));
    ck_assert(stub_saw(0, "Credential=AKIA/"));
    ck_assert(stub_saw(0, "/eu-central-1/sts/aws4_request, SignedHeaders=content-type;host;"
                          "x-amz-date, Signature="));
    ck_assert(!stub_saw(0, "hidden"));
}
END_TEST

START_TEST(test_source__container)
{
    PLAY({.answer = CLOSED("200 OK", JSON_KEYS)}, {.answer = CLOSED("200 OK", JSON_KEYS)},
        {.answer = CLOSED("200 OK", JSON_KEYS)});
    char uri[200];
    (void)snprintf(uri, sizeof(uri), "%s/v1/keys?id=7", url);
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri);
    check_keys(&(struct store_conf){0}, "ASIA2", "s2", "t2");
    ck_assert(stub_saw(0, "GET /v1/keys?id=7 HTTP/1.1\r\n"));
    ck_assert(!stub_saw(0, "uthorization"));
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
    check_keys(&(struct store_conf){0}, "ASIA2", "s2", "t2");
    ck_assert(stub_saw(1, "\r\nAuthorization: Basic abc\r\n"));
    write_file("pod-token", "from-file\n");
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", folder_path("pod-token"));
    check_keys(&(struct store_conf){0}, "ASIA2", "s2", "t2");
    ck_assert(stub_saw(2, "\r\nAuthorization: from-file\r\n"));
}
END_TEST

START_TEST(test_source__container_refused)
{
    PLAY({.answer = CLOSED("401 Unauthorized", "{\"message\":\"bad token\"}")},
        {.answer = CLOSED("500 Oops", "hidden")}, {.answer = CLOSED("200 OK", "hidden")},
        {.answer = CLOSED("200 OK", "{\"AccessKeyId\":\"hidden\"}")},
        {.answer = CLOSED("200 OK", "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hidden\"}")},
        {.answer = CLOSED("302 Found", "")});
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden");
    fails(&(struct store_conf){0}, ERR_INTERNAL, "answered 401: bad token");
    fails(&(struct store_conf){0}, ERR_UNAVAILABLE, "answered 500");
    fails(&(struct store_conf){0}, ERR_INTERNAL, "has no JSON");
    fails(&(struct store_conf){0}, ERR_INTERNAL, "has no SecretAccessKey");
    fails(&(struct store_conf){0}, ERR_INTERNAL, "has no Expiration");
    fails(&(struct store_conf){0}, ERR_INTERNAL, "answered 302");
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden\r\nHost: x");
    fails(&(struct store_conf){0}, ERR_INTERNAL, "control characters");
}
END_TEST

/* Nothing is sent to any of them: the token would go along. */
START_TEST(test_source__container_elsewhere)
{
    static const char *const uris[] = {"http://example.com/", "https://10.0.0.1/x",
        "http://169.254.169.254/x", "http://127.0.0.1.example.com/", "http://localhost.example.com",
        "http://127.0.0.1@example.com/", "http://169.254.170.2:80@10.0.0.1/", "ftp://127.0.0.1/",
        "127.0.0.1/x", "http://", "http:///x", "http://2130706433/", "http://127.1/",
        "http://[::ffff:10.0.0.1]/", "http://example.com?http://127.0.0.1/",
        "http://example.com#@127.0.0.1/", "x"};
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden");
    for (size_t i = 0; i < ARRAY_LEN(uris); i++) {
        AUTO(credentials_unref) struct credentials *c = NULL;
        struct err err = {0};
        set("AWS_CONTAINER_CREDENTIALS_FULL_URI", uris[i]);
        ck_assert_msg(!load(&(struct store_conf){0}, &c, &err), "%s", uris[i]);
        ck_assert_int_eq(err.kind, ERR_INTERNAL);
        ck_assert_msg(strstr(err.msg, "leads to") || strstr(err.msg, "is not understood"), "%s: %s",
            uris[i], err.msg);
    }
    set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.com/");
    check_none(&(struct store_conf){0}, "expected it to begin with '/'");
}
END_TEST

START_TEST(test_source__instance)
{
    PLAY({.answer = CLOSED("200 OK", "session==")}, {.answer = CLOSED("200 OK", "my role\nother")},
        {.answer = CLOSED("200 OK", "{\"Code\":\"Success\",\"AccessKeyId\":\"I\","
                                    "\"SecretAccessKey\":\"is\",\"Token\":\"it\","
                                    "\"Expiration\":\"2100-01-02T03:04:05Z\"}")});
    set("AWS_EC2_METADATA_DISABLED", "false");
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", url);
    check_keys(&(struct store_conf){0}, "I", "is", "it");
    ck_assert_uint_eq(stub_count(), 3);
    ck_assert(stub_saw(0, "PUT /latest/api/token HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nX-aws-ec2-metadata-token-ttl-seconds: 21600\r\n"));
    ck_assert(stub_saw(1, "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n"));
    ck_assert(stub_saw(1, "\r\nX-aws-ec2-metadata-token: session==\r\n"));
    ck_assert(stub_saw(2, "GET /latest/meta-data/iam/security-credentials/my%20role HTTP/1.1\r\n"));
    ck_assert(stub_saw(2, "\r\nX-aws-ec2-metadata-token: session==\r\n"));
}
END_TEST

/* No way back to the first version of the protocol, which gives keys to whoever can make a server
 * of this machine send a GET. */
START_TEST(test_source__instance_without_sessions)
{
    PLAY({.answer = CLOSED("404 Not Found", "")});
    set("AWS_EC2_METADATA_DISABLED", "false");
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", url);
    check_none(&(struct store_conf){0}, "gave no session token: PUT ");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_source__instance_without_role)
{
    PLAY({.answer = CLOSED("200 OK", "s")}, {.answer = CLOSED("404 Not Found", "")},
        {.answer = CLOSED("200 OK", "s")}, {.answer = CLOSED("200 OK", "r")},
        {.answer = CLOSED("200 OK", "{\"Code\":\"AssumeRoleUnauthorizedAccess\"}")});
    set("AWS_EC2_METADATA_DISABLED", "no");
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", url);
    check_none(&(struct store_conf){0}, "(has the instance a role?)");
    check_none(&(struct store_conf){0}, "it says AssumeRoleUnauthorizedAccess");
}
END_TEST

START_TEST(test_source__instance_that_does_not_answer)
{
    PLAY({.delay_ms = 1500}, {.delay_ms = 1500});
    set("AWS_EC2_METADATA_DISABLED", "no");
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", url);
    int64_t start = clock_mono_us();
    fails(&(struct store_conf){0}, ERR_UNAVAILABLE, "hop limit must be 2");
    ck_assert_int_lt(clock_mono_us() - start, 10000000);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("source");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_source__settings_come_first);
    tcase_add_test(tc, test_source__half_a_setting_is_an_error);
    tcase_add_test(tc, test_source__environment_before_file);
    tcase_add_test(tc, test_source__profiles_of_the_file);
    tcase_add_test(tc, test_source__file_in_home);
    tcase_add_test(tc, test_source__config_file_in_home);
    tcase_add_test(tc, test_source__sealed_before_environment);
    tcase_add_test(tc, test_source__web_identity);
    tcase_add_test(tc, test_source__web_identity_tells_when_it_expires);
    tcase_add_test(tc, test_source__web_identity_refused);
    tcase_add_test(tc, test_source__web_identity_wants_a_url);
    tcase_add_test(tc, test_source__role_by_other_keys);
    tcase_add_test(tc, test_source__container);
    tcase_add_test(tc, test_source__container_refused);
    tcase_add_test(tc, test_source__container_elsewhere);
    tcase_add_test(tc, test_source__instance);
    tcase_add_test(tc, test_source__instance_without_sessions);
    tcase_add_test(tc, test_source__instance_without_role);
    tcase_add_test(tc, test_source__instance_that_does_not_answer);
    tcase_add_test(tc, test_source__web_identity_is_not_shown_to_a_warehouse);
    Suite *s = suite_create("source");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
