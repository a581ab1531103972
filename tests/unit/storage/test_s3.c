/* The s3 scheme against scripted answers: what real stores do on bad days. */
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

#define SECRET "wJalrXUtnFEMI-SECRET"
#define OK     "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n"
#define ANSWER(status, headers, body)                                                              \
    "HTTP/1.1 " status "\r\n" headers "Connection: close\r\n\r\n" body
#define S3_ERROR(code)                                                                             \
    "<?xml version=\"1.0\"?>\n<Error><Code>" code "</Code><Message>words of the store</Message>"   \
    "</Error>"
/* The stub closes the connection behind it; the length of an error does not matter. */
#define FAILS(status, code) ANSWER(status, "", S3_ERROR(code))
#define GONE                "HTTP/1.1 204 No Content\r\n\r\n"
#define TAKEN               FAILS("412 Precondition Failed", "PreconditionFailed")
#define SLOW_DOWN           FAILS("503 Slow Down", "SlowDown")
#define OBJECT              "s3://bucket/wh/t/1.json"

/* No answer at all: the connection is closed, or torn down. */
#define SILENT                                                                                     \
    {                                                                                              \
        .end = STUB_CLOSE                                                                          \
    }
#define BREAKS                                                                                     \
    {                                                                                              \
        .end = STUB_RESET                                                                          \
    }

static struct arena *a;
static struct store *s;
static struct err err;
static struct store_conf conf;

static void begin(void)
{
    static const char *const names[] = {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SHARED_CREDENTIALS_FILE"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]);
    a = arena_new();
    (void)folder_make();
    conf = (struct store_conf){
        .base = "s3://bucket/wh",
        .s3_access_key_id = "AKIDEXAMPLE",
        .s3_secret_access_key = SECRET,
        .s3_deadline_ms = 5000,
    };
    fetch_global_init();
}

static void end(void)
{
    /* Whatever was said, it was not the secret. */
    ck_assert_ptr_null(strstr(err.msg, SECRET));
    ck_assert_ptr_null(strstr(err.msg, "Signature="));
    store_close(&s);
    stub_stop();
    arena_free(&a);
    folder_remove();
    fetch_global_fini();
}

static void open_store(void)
{
    ck_assert_msg(store_open(&conf, &s, &err), "%s", err.msg);
}

static void play(const struct stub_step *steps, size_t n)
{
    conf.s3_endpoint = stub_start(steps, n);
    open_store();
}
#define PLAY(...)                                                                                  \
    static const struct stub_step steps_[] = {__VA_ARGS__};                                        \
    play(steps_, ARRAY_LEN(steps_))

static bool put(const char *text)
{
    struct str half[] = {str_sub(str_from(text), 0, 1), str_sub(str_from(text), 1, SIZE_MAX)};
    return store_put_new(s, STR(OBJECT), half, 2, "application/json", &err);
}

static void put_works(void)
{
    ck_assert_msg(put("hello"), "%s", err.msg);
}

static void put_fails(enum err_kind kind)
{
    ck_assert(!put("hello"));
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
}

static bool get(size_t max)
{
    AUTO(buf_fini) struct buf b = {0};
    bool ok = store_get(s, STR(OBJECT), max, &b, &err);
    ck_assert(!ok || str_eq(buf_view(&b), STR("hello")));
    return ok;
}

static void get_fails(enum err_kind kind, const char *words)
{
    ck_assert(!get(100));
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
}

#define HELLO ANSWER("200 OK", "Content-Length: 5\r\n", "hello")

START_TEST(test_s3_put__request_on_the_wire)
{
    PLAY({.answer = OK});
    put_works();
    ck_assert_uint_eq(stub_count(), 1);
    ck_assert(stub_saw(0, "PUT /bucket/wh/t/1.json HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nif-none-match: *\r\n"));
    ck_assert(stub_saw(0, "\r\ncontent-type: application/json\r\n"));
    ck_assert(stub_saw(0, "\r\ncontent-length: 5\r\n"));
    ck_assert(stub_saw(0, "\r\ncontent-md5: XUFAKrxLKna5cZ2REBfFkg==\r\n"));
    ck_assert(stub_saw(0, "\r\nx-amz-content-sha256: "
                          "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n"));
    ck_assert(stub_saw(0, "/us-east-1/s3/aws4_request, SignedHeaders=content-md5;content-type;host;"
                          "if-none-match;x-amz-content-sha256;x-amz-date, Signature="));
    ck_assert(stub_saw(0, "\r\n\r\nhello"));
    ck_assert(!stub_saw(0, "\r\nExpect"));
    ck_assert(!stub_saw(0, "\r\nTransfer-Encoding"));
    ck_assert(!stub_saw(0, SECRET));
}
END_TEST

START_TEST(test_s3_put__token_of_a_session)
{
    conf.s3_session_token = "the-token";
    PLAY({.answer = OK});
    put_works();
    ck_assert(stub_saw(0, "\r\nx-amz-security-token: the-token\r\n"));
    ck_assert(stub_saw(0, ";x-amz-security-token, Signature="));
}
END_TEST

START_TEST(test_s3_put__taken)
{
    PLAY({.answer = TAKEN});
    put_fails(ERR_STORE_EXISTS);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_s3_put__slow_down_twice)
{
    PLAY({.answer = SLOW_DOWN}, {.answer = SLOW_DOWN}, {.answer = OK});
    put_works();
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

START_TEST(test_s3_put__given_up_after_five)
{
    PLAY({.answer = SLOW_DOWN}, {.answer = SLOW_DOWN}, {.answer = SLOW_DOWN}, {.answer = SLOW_DOWN},
        {.answer = SLOW_DOWN}, {.answer = OK});
    put_fails(ERR_UNAVAILABLE);
    ck_assert_uint_eq(stub_count(), 5);
    ck_assert_ptr_nonnull(strstr(err.msg, "5 tries"));
    ck_assert_ptr_nonnull(strstr(err.msg, "503 SlowDown"));
    ck_assert_ptr_null(strstr(err.msg, "words of the store"));
    ck_assert_str_eq(err.said, ": words of the store");
    ck_assert_ptr_nonnull(strstr(err.msg, "s3://bucket/wh/t/1.json"));
}
END_TEST

START_TEST(test_s3_put__retry_after_beyond_the_deadline)
{
    PLAY({.answer = ANSWER("503 Slow Down", "Retry-After: 60\r\n", "")});
    put_fails(ERR_UNAVAILABLE);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_s3_put__retry_after_is_waited_for)
{
    PLAY({.answer = ANSWER("429 Too Many Requests", "Retry-After: 1\r\n", "")}, {.answer = OK});
    int64_t start = clock_mono_us();
    put_works();
    ck_assert_int_ge(clock_mono_us() - start, 1000000);
}
END_TEST

START_TEST(test_s3_put__conflict_is_tried_again)
{
    PLAY({.answer = FAILS("409 Conflict", "ConditionalRequestConflict")}, {.answer = OK});
    put_works();
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_s3_put__answer_lost_then_taken_by_ourselves)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = HELLO});
    put_works();
    ck_assert_uint_eq(stub_count(), 3);
    ck_assert(stub_saw(2, "GET /bucket/wh/t/1.json "));
}
END_TEST

START_TEST(test_s3_put__gateway_error_then_taken_by_ourselves)
{
    PLAY({.answer = ANSWER("502 Bad Gateway", "", "<html>")}, {.answer = TAKEN}, {.answer = HELLO});
    put_works();
}
END_TEST

START_TEST(test_s3_put__answer_lost_then_taken_by_another)
{
    PLAY(BREAKS, {.answer = TAKEN}, {.answer = ANSWER("200 OK", "Content-Length: 5\r\n", "hallo")});
    put_fails(ERR_STORE_EXISTS);
}
END_TEST

START_TEST(test_s3_put__answer_lost_then_taken_by_something_longer)
{
    PLAY(SILENT, {.answer = TAKEN},
        {.answer = ANSWER("200 OK", "Content-Length: 9\r\n", "hellohell")});
    put_fails(ERR_STORE_EXISTS);
}
END_TEST

START_TEST(test_s3_put__answer_lost_and_no_way_to_tell)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = FAILS("403 Forbidden", "AccessDenied")});
    put_fails(ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.msg, "cannot tell who wrote"));
}
END_TEST

/* curl itself sends again when a kept connection ends without an answer: the first copy counts. */
START_TEST(test_s3_put__kept_connection_broke_after_the_request)
{
    PLAY({.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", .end = STUB_KEEP}, SILENT,
        {.answer = TAKEN}, {.answer = HELLO});
    ck_assert(get(100));
    put_works();
    ck_assert_uint_eq(stub_count(), 4);
    ck_assert(stub_saw(2, "PUT "));
    ck_assert(stub_saw(2, "\r\n\r\nhello"));
    ck_assert(stub_saw(3, "GET "));
}
END_TEST

START_TEST(test_s3_put__connection_is_used_again)
{
    PLAY({.answer = OK, .end = STUB_KEEP}, {.answer = OK, .end = STUB_KEEP},
        {.answer = OK, .end = STUB_KEEP});
    for (int i = 0; i < 3; i++)
        put_works();
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

#define NO_CONDITION FAILS("501 Not Implemented", "NotImplemented")
#define ABSENT       "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"
#define PRESENT      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"

START_TEST(test_s3_put__store_without_conditions)
{
    PLAY({.answer = NO_CONDITION}, {.answer = FAILS("404 Not Found", "NoSuchKey")}, {.answer = OK},
        {.answer = FAILS("404 Not Found", "NoSuchKey")}, {.answer = OK}, {.answer = PRESENT});
    put_works();
    ck_assert(stub_saw(1, "HEAD /bucket/wh/t/1.json "));
    ck_assert(!stub_saw(2, "if-none-match"));
    put_works(); /* it is remembered */
    ck_assert(stub_saw(3, "HEAD "));
    put_fails(ERR_STORE_EXISTS);
    ck_assert_uint_eq(stub_count(), 6);
}
END_TEST

START_TEST(test_s3_put__bucket_missing)
{
    PLAY({.answer = FAILS("404 Not Found", "NoSuchBucket")});
    put_fails(ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "NoSuchBucket"));
}
END_TEST

START_TEST(test_s3_put__store_full)
{
    PLAY({.answer = FAILS("507 Insufficient Storage", "XMinioStorageFull")});
    put_fails(ERR_STORE_FULL);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_s3_put__key_too_long)
{
    PLAY({.answer = FAILS("400 Bad Request", "KeyTooLongError")});
    put_fails(ERR_STORE_BAD_URI);
}
END_TEST

START_TEST(test_s3__region_of_a_redirect)
{
    PLAY({.answer = ANSWER("301 Moved Permanently",
              "x-amz-bucket-region: eu-central-1\r\nLocation: http://192.0.2.1/x\r\n",
              S3_ERROR("PermanentRedirect"))},
        {.answer = OK}, {.answer = OK});
    put_works();
    ck_assert(stub_saw(0, "/us-east-1/s3/aws4_request"));
    ck_assert(stub_saw(1, "/eu-central-1/s3/aws4_request"));
    put_works(); /* it is remembered */
    ck_assert(stub_saw(2, "/eu-central-1/s3/aws4_request"));
}
END_TEST

START_TEST(test_s3__region_of_an_error)
{
    PLAY({.answer = ANSWER("400 Bad Request", "",
              "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message>"
              "<Region>eu-west-1</Region></Error>")},
        {.answer = HELLO},
        {.answer = ANSWER("400 Bad Request", "",
             "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'eu-west-1' is "
             "wrong; expecting 'eu-west-2'</Message></Error>")},
        {.answer = HELLO});
    ck_assert(get(100));
    ck_assert(stub_saw(1, "/eu-west-1/s3/aws4_request"));
    ck_assert(get(100));
    ck_assert(stub_saw(3, "/eu-west-2/s3/aws4_request"));
}
END_TEST

START_TEST(test_s3__region_asked_for_once)
{
    PLAY({.answer = ANSWER("301 Moved Permanently", "x-amz-bucket-region: eu-central-1\r\n", "")},
        {.answer = ANSWER("301 Moved Permanently", "x-amz-bucket-region: eu-west-1\r\n", "")});
    get_fails(ERR_INTERNAL, "the bucket lies in region eu-west-1");
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_s3__region_that_is_none)
{
    PLAY({.answer =
              ANSWER("301 Moved Permanently", "x-amz-bucket-region: evil.example.com/\r\n", "")});
    get_fails(ERR_INTERNAL, "301");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_s3__redirect_is_not_followed)
{
    PLAY({.answer = ANSWER("302 Found", "Location: http://127.0.0.1:1/\r\n", "")});
    get_fails(ERR_INTERNAL, "302");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

#define SKEWED                                                                                     \
    ANSWER("403 Forbidden", "Date: Fri, 24 May 2013 00:00:00 GMT\r\n",                             \
        S3_ERROR("RequestTimeTooSkewed"))

START_TEST(test_s3__clock_of_the_store)
{
    PLAY({.answer = SKEWED}, {.answer = HELLO}, {.answer = HELLO}, {.answer = SKEWED});
    ck_assert(get(100));
    ck_assert(stub_saw(1, "\r\nx-amz-date: 20130524T0000"));
    ck_assert(get(100)); /* it is remembered */
    ck_assert(stub_saw(2, "\r\nx-amz-date: 20130524T0000"));
    get_fails(ERR_STORE_DENIED, "RequestTimeTooSkewed"); /* nothing new to learn */
    ck_assert_uint_eq(stub_count(), 4);
}
END_TEST

static void write_keys(const char *id)
{
    FILE *f = fopen(folder_path("keys"), "w");
    (void)fprintf(f, "[default]\naws_access_key_id = %s\naws_secret_access_key = s\n", id);
    (void)fclose(f);
}

START_TEST(test_s3__keys_of_the_file_are_read_again)
{
    write_keys("OLDKEY");
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", folder_path("keys"), 1);
    conf.s3_access_key_id = conf.s3_secret_access_key = NULL;
    PLAY({.answer = FAILS("400 Bad Request", "ExpiredToken")}, {.answer = HELLO},
        {.answer = FAILS("403 Forbidden", "InvalidAccessKeyId")});
    write_keys("NEWKEY");
    ck_assert(get(100));
    ck_assert(stub_saw(0, "Credential=OLDKEY/"));
    ck_assert(stub_saw(1, "Credential=NEWKEY/"));
    get_fails(ERR_STORE_DENIED, "InvalidAccessKeyId");
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

START_TEST(test_s3_get__request_on_the_wire)
{
    PLAY({.answer = HELLO});
    ck_assert(get(5));
    ck_assert(stub_saw(0, "GET /bucket/wh/t/1.json HTTP/1.1\r\nHost: 127.0.0.1:"));
    ck_assert(!stub_saw(0, "accept-encoding"));
}
END_TEST

START_TEST(test_s3_get__odd_key)
{
    PLAY({.answer = HELLO});
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(store_get(s, STR("s3a://bucket/wh/\xc3\xa9=1/x%20y/a b+c!*'()~$&"), 10, &b, &err));
    ck_assert(stub_saw(
        0, "GET /bucket/wh/%C3%A9%3D1/x%2520y/a%20b%2Bc%21%2A%27%28%29~%24%26 HTTP/1.1\r\n"));
}
END_TEST

START_TEST(test_s3_get__chunked)
{
    PLAY({.answer = ANSWER(
              "200 OK", "Transfer-Encoding: chunked\r\n", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")});
    ck_assert(get(5));
}
END_TEST

START_TEST(test_s3_get__body_cut_off)
{
    PLAY({.answer = ANSWER("200 OK", "Content-Length: 5\r\n", "hel")},
        {.answer = ANSWER("200 OK", "Transfer-Encoding: chunked\r\n", "5\r\nhel")},
        {.answer = ANSWER("200 OK", "Content-Length: 5\r\n", ""), .end = STUB_RESET},
        {.answer = HELLO});
    ck_assert_msg(get(100), "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 4);
}
END_TEST

START_TEST(test_s3_get__body_without_length)
{
    PLAY({.answer = ANSWER("200 OK", "", "hello")});
    get_fails(ERR_UNAVAILABLE, "no length");
}
END_TEST

START_TEST(test_s3_get__too_large)
{
    PLAY({.answer = HELLO}, {.answer = ANSWER("200 OK", "Content-Length: 5000000000\r\n", "hello")},
        {.answer = ANSWER("200 OK", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n")});
    for (int i = 0; i < 3; i++) {
        ck_assert(!get(4));
        ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    }
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

START_TEST(test_s3_get__kinds_of_errors)
{
    PLAY({.answer = FAILS("404 Not Found", "NoSuchKey")},
        {.answer = FAILS("404 Not Found", "NoSuchKey")},
        {.answer = FAILS("404 Not Found", "NoSuchBucket")},
        {.answer = FAILS("403 Forbidden", "AccessDenied")},
        {.answer = ANSWER(
             "403 Forbidden", "x-amz-request-id: REQ1\r\n", "<html><body>denied</body></html>")},
        {.answer = FAILS("400 Bad Request", "InvalidRequest")},
        {.answer = ANSWER("403 Forbidden", "Content-Length: 5000000\r\n", "")});
    get_fails(ERR_STORE_NOT_FOUND, "404 NoSuchKey");
    get_fails(ERR_STORE_NOT_FOUND, "404");
    get_fails(ERR_INTERNAL, "NoSuchBucket");
    get_fails(ERR_STORE_DENIED, "GET s3://bucket/wh/t/1.json: the store answered 403 AccessDenied");
    get_fails(ERR_STORE_DENIED, "403 (request id REQ1)");
    get_fails(ERR_INTERNAL, "400 InvalidRequest");
    get_fails(ERR_STORE_DENIED, "403");
    ck_assert_uint_eq(stub_count(), 7);
}
END_TEST

START_TEST(test_s3_get__slower_than_the_deadline)
{
    conf.s3_deadline_ms = 1500;
    PLAY({.end = STUB_KEEP}); /* never */
    int64_t start = clock_mono_us();
    get_fails(ERR_UNAVAILABLE, "the request may have arrived");
    ck_assert_int_lt(clock_mono_us() - start, 20000000);
}
END_TEST

START_TEST(test_s3_get__nobody_listens)
{
    conf.s3_endpoint = "http://127.0.0.1:1";
    open_store();
    get_fails(ERR_UNAVAILABLE, "the request did not arrive");
}
END_TEST

START_TEST(test_s3_get__not_http)
{
    PLAY({.answer = "SSH-2.0-OpenSSH\r\n"}, {.answer = "SSH-2.0-OpenSSH\r\n"},
        {.answer = "SSH-2.0-OpenSSH\r\n"}, {.answer = "SSH-2.0-OpenSSH\r\n"},
        {.answer = "SSH-2.0-OpenSSH\r\n"});
    get_fails(ERR_UNAVAILABLE, "");
}
END_TEST

START_TEST(test_s3_get__proxies_of_the_environment_are_ignored)
{
    (void)setenv("http_proxy", "http://127.0.0.1:1", 1);
    (void)setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    PLAY({.answer = HELLO});
    ck_assert_msg(get(100), "%s", err.msg);
}
END_TEST

START_TEST(test_s3_get__netrc_is_ignored)
{
    FILE *f = fopen(folder_path(".netrc"), "w");
    (void)fputs("machine 127.0.0.1 login me password mine\n", f);
    (void)fclose(f);
    (void)setenv("HOME", folder_path(""), 1);
    PLAY({.answer = HELLO});
    ck_assert(get(100));
    ck_assert(!stub_saw(0, "Authorization: Basic"));
}
END_TEST

START_TEST(test_s3_get__bucket_in_the_host_name)
{
    static const struct stub_step steps[] = {{.answer = HELLO}};
    struct str url = str_from(stub_start(steps, 1));
    struct str port = str_sub(url, STR("http://127.0.0.1").n, SIZE_MAX);
    conf.s3_endpoint = arena_printf(a, "http://localhost%.*s/", STR_ARG(port)).p;
    conf.s3_style = STORE_STYLE_VIRTUAL;
    open_store();
    ck_assert_msg(get(100), "%s", err.msg);
    ck_assert(stub_saw(0, "GET /wh/t/1.json HTTP/1.1\r\nHost: bucket.localhost:"));
}
END_TEST

START_TEST(test_s3_delete__also_what_is_not_there)
{
    PLAY({.answer = GONE}, {.answer = FAILS("404 Not Found", "NoSuchKey")},
        {.answer = FAILS("404 Not Found", "NoSuchBucket")});
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert(stub_saw(0, "DELETE /bucket/wh/t/1.json "));
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert(!store_delete(s, STR(OBJECT), &err));
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
}
END_TEST

#define PAGE_1                                                                                     \
    "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"            \
    "<NextContinuationToken>a/b+c&amp;d</NextContinuationToken>\n"                                 \
    "<Contents><Key>wh/t/a%20b%2Bc+d</Key><LastModified>2009-10-12T17:50:30.250Z</LastModified>"   \
    "<Size>434234</Size></Contents><Contents><Key>wh/t/folder/</Key><Size>0</Size></Contents>"     \
    "<Contents><Key>wh/t2/not-ours</Key></Contents></ListBucketResult>"
#define PAGE_2                                                                                     \
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>wh/t/x+y%41&lt;</Key>"       \
    "</Contents></ListBucketResult>"
#define LISTED(page) ANSWER("200 OK", "", page)

START_TEST(test_s3_list__two_pages)
{
    PLAY({.answer = LISTED(PAGE_1)}, {.answer = LISTED(PAGE_2)});
    struct store_entry *e = NULL;
    size_t n = 0;
    ck_assert_msg(store_list(a, s, STR("s3a://bucket/wh/t/"), 100, &e, &n, &err), "%s", err.msg);
    ck_assert(stub_saw(
        0, "GET /bucket?encoding-type=url&list-type=2&max-keys=1000&prefix=wh%2Ft%2F HTTP/1.1"));
    ck_assert(stub_saw(1, "GET /bucket?continuation-token=a%2Fb%2Bc%26d&encoding-type=url&"));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(e[0].uri.p, "s3a://bucket/wh/t/a b+c d");
    ck_assert_int_eq(e[0].size, 434234);
    ck_assert_int_eq(e[0].modified_ms, 1255369830250);
    ck_assert_str_eq(e[1].uri.p, "s3a://bucket/wh/t/x+y%41<"); /* nobody said it was encoded */
}
END_TEST

START_TEST(test_s3_list__limit_ends_it)
{
    PLAY({.answer = LISTED(PAGE_1)});
    struct store_entry *e = NULL;
    size_t n = 0;
    ck_assert(store_list(a, s, STR("s3://bucket/wh/t"), 1, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_s3_list__endings_and_folders)
{
    PLAY({.answer = LISTED(PAGE_1)}, {.answer = LISTED(PAGE_2)},
        {.answer = LISTED(
             "<ListBucketResult><Contents><Key>wh/file</Key></Contents>"
             "<CommonPrefixes><Prefix>wh/t-1/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>wh/"
             "t-2/</Prefix></CommonPrefixes></ListBucketResult>")});
    struct store_entry *e = NULL;
    size_t n = 0;
    ck_assert(store_list_ending(a, s, STR("s3://bucket/wh/t"), STR("<"), 100, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(e[0].uri.p, "s3://bucket/wh/t/x+y%41<");
    ck_assert(store_list_folders(a, s, STR("s3://bucket/wh"), 100, &e, &n, &err));
    ck_assert(stub_saw(2, "GET /bucket?delimiter=%2F&encoding-type=url&list-type=2&"));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(e[0].uri.p, "s3://bucket/wh/t-1");
    ck_assert_str_eq(e[1].uri.p, "s3://bucket/wh/t-2");
}
END_TEST

START_TEST(test_s3_list__answers_that_make_no_sense)
{
    PLAY({.answer = LISTED(PAGE_1)}, {.answer = LISTED(PAGE_1)},
        {.answer = LISTED("<ListBucketResult><Contents>")},
        {.answer = LISTED("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")});
    struct store_entry *e = NULL;
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert(!store_list(a, s, STR("s3://bucket/wh/t"), 100, &e, &n, &err));
        ck_assert_int_eq(err.kind, ERR_INTERNAL);
    }
    ck_assert_uint_eq(stub_count(), 4);
}
END_TEST

START_TEST(test_s3__errors_under_a_200)
{
    PLAY({.answer = FAILS("200 OK", "InternalError")},
        {.answer = ANSWER("200 OK", "", "<html>please log in</html>")},
        {.answer = ANSWER("200 OK", "ETag: \"x\"\r\n", "<html>please log in</html>")},
        {.answer = ANSWER("200 OK", "", "{}")}, {.answer = OK},
        {.answer = FAILS("200 OK", "SlowDown")}, {.answer = HELLO},
        {.answer = FAILS("200 OK", "SlowDown")}, {.answer = LISTED(PAGE_1)},
        {.answer = FAILS("200 OK", "SlowDown")}, {.answer = GONE});
    struct store_entry *e = NULL;
    size_t n = 0;
    put_works();
    ck_assert(get(100));
    ck_assert(store_list(a, s, STR("s3://bucket/wh/t"), 1, &e, &n, &err));
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert_uint_eq(stub_count(), 11);
}
END_TEST

START_TEST(test_s3__an_object_that_looks_like_an_error)
{
    PLAY({.answer = ANSWER(
              "200 OK", "ETag: \"x\"\r\nContent-Length: 29\r\n", "<Error><Code>a</Code></Error>")});
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(store_get(s, STR(OBJECT), 100, &b, &err));
    ck_assert_uint_eq(b.n, 29);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_s3__errors_under_a_200_for_ever)
{
#define LIE {.answer = FAILS("200 OK", "AccessDenied")}
    PLAY(LIE, LIE, LIE, LIE, LIE, LIE);
    put_fails(ERR_UNAVAILABLE);
    ck_assert_uint_eq(stub_count(), 5);
}
END_TEST

START_TEST(test_s3_probe__condition_ignored)
{
    static const char *const allow[] = {"condition-ignored", "list-denied", NULL};
    conf.allow = allow;
    PLAY({.answer = OK}, {.answer = ANSWER("200 OK", "Content-Length: 4\r\n", "firn")},
        {.answer = FAILS("403 Forbidden", "AccessDenied")}, {.answer = OK}, {.answer = GONE},
        {.answer = PRESENT});
    ck_assert_msg(store_probe(s, &err), "%s", err.msg);
    ck_assert_ptr_nonnull(strstr(store_warning(s).p, "If-None-Match"));
    ck_assert_ptr_nonnull(strstr(store_warning(s).p, "list-denied"));
    put_fails(ERR_STORE_EXISTS); /* now it is asked first */
}
END_TEST

START_TEST(test_s3_probe__findings_refuse)
{
    PLAY({.answer = OK}, {.answer = ANSWER("200 OK", "Content-Length: 4\r\n", "firn")},
        {.answer = FAILS("403 Forbidden", "AccessDenied")}, {.answer = GONE});
    ck_assert(!store_probe(s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "(list-denied, "));
}
END_TEST

START_TEST(test_s3_probe__one_finding_does_not_allow_another)
{
    static const char *const allow[] = {"list-denied", NULL};
    conf.allow = allow;
    PLAY({.answer = OK}, {.answer = ANSWER("200 OK", "Content-Length: 4\r\n", "firn")},
        {.answer = FAILS("403 Forbidden", "AccessDenied")}, {.answer = OK}, {.answer = GONE});
    ck_assert(!store_probe(s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "(condition-ignored, "));
}
END_TEST

START_TEST(test_s3_probe__store_without_conditions)
{
    static const char *const allow[] = {"list-denied", NULL};
    conf.allow = allow;
    PLAY({.answer = FAILS("501 Not Implemented", "NotImplemented")},
        {.answer = FAILS("404 Not Found", "NoSuchKey")}, {.answer = OK},
        {.answer = ANSWER("200 OK", "Content-Length: 4\r\n", "firn")},
        {.answer = FAILS("403 Forbidden", "AccessDenied")}, {.answer = PRESENT}, {.answer = GONE});
    ck_assert(!store_probe(s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "(condition-ignored, "));
}
END_TEST

START_TEST(test_s3_open__findings_that_are_none)
{
    static const char *const allow[] = {"list-denied", "anything", NULL};
    conf.allow = allow;
    ck_assert(!store_open(&conf, &s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "no finding anything, expected one of list-denied, "));
}
END_TEST

START_TEST(test_s3_open__refused)
{
    static const char *const endpoints[] = {"localhost:9000", "ftp://localhost", "http://",
        "http://user:" SECRET "@localhost", "http://localhost/path", "http://localhost?x",
        "http://local host"};
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        conf.s3_endpoint = endpoints[i];
        ck_assert_msg(!store_open(&conf, &s, &err), "%s", endpoints[i]);
        ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
        ck_assert_ptr_null(strstr(err.msg, SECRET));
    }
    conf.s3_endpoint = "http://127.0.0.1:9000";
    conf.s3_style = STORE_STYLE_VIRTUAL;
    ck_assert(!store_open(&conf, &s, &err));
}
END_TEST

START_TEST(test_s3__bucket_itself_is_no_object)
{
    conf.base = "s3://bucket";
    PLAY({.answer = OK});
    struct buf b;
    ck_assert(!store_get(s, STR("s3://bucket/"), 10, &b, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    ck_assert(!store_delete(s, STR("s3://bucket"), &err));
    ck_assert(!store_get(s, STR("s3://other/x"), 10, &b, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert_uint_eq(stub_count(), 0);
}
END_TEST

static void add_put(TCase *tc)
{
    tcase_add_test(tc, test_s3_put__request_on_the_wire);
    tcase_add_test(tc, test_s3_put__token_of_a_session);
    tcase_add_test(tc, test_s3_put__taken);
    tcase_add_test(tc, test_s3_put__slow_down_twice);
    tcase_add_test(tc, test_s3_put__given_up_after_five);
    tcase_add_test(tc, test_s3_put__retry_after_beyond_the_deadline);
    tcase_add_test(tc, test_s3_put__retry_after_is_waited_for);
    tcase_add_test(tc, test_s3_put__conflict_is_tried_again);
    tcase_add_test(tc, test_s3_put__answer_lost_then_taken_by_ourselves);
    tcase_add_test(tc, test_s3_put__gateway_error_then_taken_by_ourselves);
    tcase_add_test(tc, test_s3_put__answer_lost_then_taken_by_another);
    tcase_add_test(tc, test_s3_put__answer_lost_then_taken_by_something_longer);
    tcase_add_test(tc, test_s3_put__answer_lost_and_no_way_to_tell);
    tcase_add_test(tc, test_s3_put__kept_connection_broke_after_the_request);
    tcase_add_test(tc, test_s3_put__connection_is_used_again);
    tcase_add_test(tc, test_s3_put__store_without_conditions);
    tcase_add_test(tc, test_s3_put__bucket_missing);
    tcase_add_test(tc, test_s3_put__store_full);
    tcase_add_test(tc, test_s3_put__key_too_long);
}

static void add_get(TCase *tc)
{
    tcase_add_test(tc, test_s3_get__request_on_the_wire);
    tcase_add_test(tc, test_s3_get__odd_key);
    tcase_add_test(tc, test_s3_get__chunked);
    tcase_add_test(tc, test_s3_get__body_cut_off);
    tcase_add_test(tc, test_s3_get__body_without_length);
    tcase_add_test(tc, test_s3_get__too_large);
    tcase_add_test(tc, test_s3_get__kinds_of_errors);
    tcase_add_test(tc, test_s3_get__slower_than_the_deadline);
    tcase_add_test(tc, test_s3_get__nobody_listens);
    tcase_add_test(tc, test_s3_get__not_http);
    tcase_add_test(tc, test_s3_get__proxies_of_the_environment_are_ignored);
    tcase_add_test(tc, test_s3_get__netrc_is_ignored);
    tcase_add_test(tc, test_s3_get__bucket_in_the_host_name);
}

static void add_rest(TCase *tc)
{
    tcase_add_test(tc, test_s3__region_of_a_redirect);
    tcase_add_test(tc, test_s3__region_of_an_error);
    tcase_add_test(tc, test_s3__region_asked_for_once);
    tcase_add_test(tc, test_s3__region_that_is_none);
    tcase_add_test(tc, test_s3__redirect_is_not_followed);
    tcase_add_test(tc, test_s3__clock_of_the_store);
    tcase_add_test(tc, test_s3__keys_of_the_file_are_read_again);
    tcase_add_test(tc, test_s3__bucket_itself_is_no_object);
    tcase_add_test(tc, test_s3_delete__also_what_is_not_there);
    tcase_add_test(tc, test_s3_list__two_pages);
    tcase_add_test(tc, test_s3_list__limit_ends_it);
    tcase_add_test(tc, test_s3_list__endings_and_folders);
    tcase_add_test(tc, test_s3_list__answers_that_make_no_sense);
    tcase_add_test(tc, test_s3__errors_under_a_200);
    tcase_add_test(tc, test_s3__an_object_that_looks_like_an_error);
    tcase_add_test(tc, test_s3__errors_under_a_200_for_ever);
    tcase_add_test(tc, test_s3_probe__condition_ignored);
    tcase_add_test(tc, test_s3_probe__findings_refuse);
    tcase_add_test(tc, test_s3_probe__one_finding_does_not_allow_another);
    tcase_add_test(tc, test_s3_probe__store_without_conditions);
    tcase_add_test(tc, test_s3_open__findings_that_are_none);
    tcase_add_test(tc, test_s3_open__refused);
}

int main(void)
{
    TCase *tc = tcase_create("s3");
    tcase_add_checked_fixture(tc, begin, end);
    add_put(tc);
    add_get(tc);
    add_rest(tc);
    Suite *suite = suite_create("s3");
    suite_add_tcase(suite, tc);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
