/* The gs scheme against scripted answers: what a store does on bad days. */
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fetch.h"
#include "store.h"
#include "stub.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "ya29.the-token-that-nobody-sees"
#define ANSWER(status, headers, body)                                                              \
    "HTTP/1.1 " status "\r\n" headers "Connection: close\r\n\r\n" body
#define FAILS(status, reason)                                                                      \
    ANSWER(status, "",                                                                             \
        "{\"error\":{\"code\":1,\"message\":\"words of the "                                       \
        "store\",\"errors\":[{\"reason\":\"" reason "\"}]}}")
#define WRITTEN ANSWER("200 OK", "", "{\"name\":\"wh/t\",\"size\":\"5\"}")
#define HELLO   ANSWER("200 OK", "Content-Length: 5\r\n", "hello")
#define TAKEN   FAILS("412 Precondition Failed", "conditionNotMet")
#define BUSY    FAILS("503 Service Unavailable", "backendError")
#define GONE    "HTTP/1.1 204 No Content\r\n\r\n"
#define OBJECT  "gs://bucket/wh/t 1/m.json"

/* No answer at all. */
#define SILENT                                                                                     \
    {                                                                                              \
        .end = STUB_CLOSE                                                                          \
    }

static struct arena *a;
static struct store *s;
static struct err err;
static struct store_conf conf;

static void begin(void)
{
    a = arena_new();
    conf = (struct store_conf){.base = "gs://bucket/wh", .gcs_token = TOKEN};
    fetch_global_init();
}

static void end(void)
{
    ck_assert_ptr_null(strstr(err.msg, TOKEN));
    store_close(&s);
    stub_stop();
    arena_free(&a);
    fetch_global_fini();
}

static void play(const struct stub_step *steps, size_t n)
{
    conf.gcs_endpoint = stub_start(steps, n);
    ck_assert_msg(store_open(&conf, &s, &err), "%s", err.msg);
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

static void put_fails(enum err_kind kind, const char *words)
{
    ck_assert(!put("hello"));
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
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

START_TEST(test_gcs_put__request_on_the_wire)
{
    PLAY({.answer = WRITTEN});
    put_works();
    ck_assert_uint_eq(stub_count(), 1);
    ck_assert(stub_saw(0, "POST /upload/storage/v1/b/bucket/o?uploadType=media&ifGenerationMatch=0"
                          "&name=wh%2Ft%201%2Fm.json HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nAuthorization: Bearer " TOKEN "\r\n"));
    ck_assert(stub_saw(0, "\r\nContent-Type: application/json\r\n"));
    ck_assert(stub_saw(0, "\r\nContent-Length: 5\r\n"));
    ck_assert(stub_saw(0, "\r\n\r\nhello"));
    ck_assert(!stub_saw(0, "\r\nExpect"));
}
END_TEST

START_TEST(test_gcs_put__taken)
{
    PLAY({.answer = TAKEN});
    put_fails(ERR_STORE_EXISTS, "exists already");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_gcs_put__busy_and_limited)
{
    PLAY({.answer = BUSY}, {.answer = FAILS("403 Forbidden", "rateLimitExceeded")},
        {.answer = FAILS("408 Request Timeout", "x")}, {.answer = WRITTEN});
    put_works();
    ck_assert_uint_eq(stub_count(), 4);
}
END_TEST

START_TEST(test_gcs_put__given_up_after_five)
{
    PLAY({.answer = BUSY}, {.answer = BUSY}, {.answer = BUSY}, {.answer = BUSY}, {.answer = BUSY},
        {.answer = WRITTEN});
    put_fails(ERR_UNAVAILABLE, "5 tries");
    ck_assert_uint_eq(stub_count(), 5);
    ck_assert_ptr_nonnull(strstr(err.msg, "503 backendError"));
    ck_assert_ptr_null(strstr(err.msg, "words of the store"));
    ck_assert_str_eq(err.said, ": words of the store");
    ck_assert_ptr_nonnull(strstr(err.msg, OBJECT));
}
END_TEST

START_TEST(test_gcs_put__retry_after_beyond_the_deadline)
{
    PLAY({.answer = ANSWER("503 Service Unavailable", "Retry-After: 60\r\n", "")});
    put_fails(ERR_UNAVAILABLE, "1 try");
}
END_TEST

START_TEST(test_gcs_put__answer_lost_then_taken_by_ourselves)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = HELLO});
    put_works();
    ck_assert_uint_eq(stub_count(), 3);
    ck_assert(stub_saw(2, "GET /storage/v1/b/bucket/o/wh%2Ft%201%2Fm.json?alt=media "));
}
END_TEST

START_TEST(test_gcs_put__gateway_error_then_taken_by_ourselves)
{
    PLAY({.answer = ANSWER("502 Bad Gateway", "", "<html>")}, {.answer = TAKEN}, {.answer = HELLO});
    put_works();
}
END_TEST

START_TEST(test_gcs_put__answer_lost_then_taken_by_another)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = ANSWER("200 OK", "Content-Length: 5\r\n", "hallo")},
        SILENT, {.answer = TAKEN}, {.answer = ANSWER("200 OK", "Content-Length: 4\r\n", "hell")},
        SILENT, {.answer = TAKEN},
        {.answer = ANSWER("200 OK", "Content-Length: 7\r\n", "hello!!")});
    for (int i = 0; i < 3; i++)
        put_fails(ERR_STORE_EXISTS, "exists already");
    ck_assert_uint_eq(stub_count(), 9);
}
END_TEST

START_TEST(test_gcs_put__answer_lost_and_no_way_to_tell)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = FAILS("403 Forbidden", "forbidden")});
    put_fails(ERR_UNAVAILABLE, "cannot tell who wrote");
}
END_TEST

START_TEST(test_gcs_put__store_took_less)
{
    PLAY({.answer = ANSWER("200 OK", "", "{\"size\":\"4\"}")});
    put_fails(ERR_UNAVAILABLE, "with 4 bytes instead of 5");
}
END_TEST

START_TEST(test_gcs_put__bucket_missing)
{
    PLAY({.answer = FAILS("404 Not Found", "notFound")});
    put_fails(ERR_INTERNAL, "the bucket does not exist");
}
END_TEST

START_TEST(test_gcs_get__request_on_the_wire)
{
    PLAY({.answer = HELLO});
    ck_assert(get(100));
    ck_assert(stub_saw(0, "GET /storage/v1/b/bucket/o/wh%2Ft%201%2Fm.json?alt=media HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nAuthorization: Bearer " TOKEN "\r\n"));
    ck_assert(!stub_saw(0, "\r\nAccept-Encoding"));
}
END_TEST

START_TEST(test_gcs_get__body_cut_off)
{
    PLAY({.answer = ANSWER("200 OK", "Content-Length: 9\r\n", "hello")}, {.answer = HELLO});
    ck_assert_msg(get(100), "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_gcs_get__body_without_length)
{
    PLAY({.answer = ANSWER("200 OK", "", "hello")});
    get_fails(ERR_UNAVAILABLE, "no length");
}
END_TEST

START_TEST(test_gcs_get__too_large)
{
    PLAY({.answer = HELLO});
    ck_assert(!get(4));
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
}
END_TEST

START_TEST(test_gcs_get__kinds_of_errors)
{
    PLAY({.answer = ANSWER("404 Not Found", "", "No such object: bucket/wh")},
        {.answer = ANSWER("404 Not Found", "", "The specified bucket does not exist.")},
        {.answer = FAILS("403 Forbidden", "forbidden")},
        {.answer = FAILS("401 Unauthorized", "authError")},
        {.answer = FAILS("400 Bad Request", "invalid")},
        {.answer = ANSWER("302 Found", "Location: http://192.0.2.1/\r\n", "")},
        {.answer = ANSWER("404 Not Found", "", "\xff\xfe")});
    get_fails(ERR_STORE_NOT_FOUND, "answered 404");
    ck_assert(strstr(err.said, ": No such object: bucket/wh"));
    get_fails(ERR_INTERNAL, "the bucket does not exist");
    get_fails(ERR_STORE_DENIED, "403 forbidden");
    get_fails(ERR_STORE_DENIED, "401 authError");
    get_fails(ERR_INTERNAL, "400 invalid");
    get_fails(ERR_INTERNAL, "answered 302");
    get_fails(ERR_STORE_NOT_FOUND, "answered 404");
    ck_assert_uint_eq(stub_count(), 7);
}
END_TEST

START_TEST(test_gcs_delete__also_what_is_not_there)
{
    PLAY({.answer = GONE}, {.answer = FAILS("404 Not Found", "notFound")},
        {.answer = FAILS("403 Forbidden", "forbidden")});
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert(stub_saw(0, "DELETE /storage/v1/b/bucket/o/wh%2Ft%201%2Fm.json HTTP/1.1\r\n"));
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert(!store_delete(s, STR(OBJECT), &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
}
END_TEST

#define ITEM(name, size)                                                                           \
    "{\"name\":\"" name "\",\"size\":\"" size "\",\"updated\":\"2009-10-12T17:50:30.000Z\"}"

START_TEST(test_gcs_list__two_pages)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    PLAY({.answer = ANSWER("200 OK", "",
              "{\"items\":[" ITEM("wh/t/a b", "1") "," ITEM("wh/t/\xc3\xa9", "22") "," ITEM(
                  "wh/t/", "0") "," ITEM("wh/t10/x", "9") "],\"nextPageToken\":\"a+/=\"}")},
        {.answer = ANSWER("200 OK", "", "{\"items\":[" ITEM("wh/t/c/d", "333") "]}")});
    ck_assert_msg(store_list(a, s, STR("gs://bucket/wh/t/"), 10, &e, &n, &err), "%s", err.msg);
    ck_assert_uint_eq(n, 3);
    ck_assert(str_eq(e[0].uri, STR("gs://bucket/wh/t/a b")));
    ck_assert(str_eq(e[1].uri, STR("gs://bucket/wh/t/\xc3\xa9")));
    ck_assert(str_eq(e[2].uri, STR("gs://bucket/wh/t/c/d")));
    ck_assert_int_eq(e[1].size, 22);
    ck_assert_int_eq(e[1].modified_ms, 1255369830000);
    ck_assert(stub_saw(0, "&maxResults=1000&prefix=wh%2Ft%2F HTTP/1.1"));
    ck_assert(stub_saw(1, "&prefix=wh%2Ft%2F&pageToken=a%2B%2F%3D HTTP/1.1"));
}
END_TEST

START_TEST(test_gcs_list__endings_limits_and_folders)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    PLAY({.answer = ANSWER("200 OK", "",
              "{\"items\":[" ITEM("wh/t/a.json", "1") "," ITEM("wh/t/b.avro", "1") "]}")},
        {.answer = ANSWER("200 OK", "",
             "{\"items\":[" ITEM("wh/t/a", "1") "," ITEM(
                 "wh/t/b", "1") "],\"nextPageToken\":\"x\"}")},
        {.answer = ANSWER("200 OK", "",
             "{\"items\":[" ITEM("wh/t/a", "1") "],\"prefixes\":[\"wh/t/c/\",\"wh/t/d/\"]}")});
    ck_assert(store_list_ending(a, s, STR("gs://bucket/wh/t"), STR(".json"), 10, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(store_list(a, s, STR("gs://bucket/wh/t"), 1, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(store_list_folders(a, s, STR("gs://bucket/wh/t"), 10, &e, &n, &err));
    ck_assert(stub_saw(2, "&delimiter=%2F"));
    ck_assert_uint_eq(n, 2);
    ck_assert(str_eq(e[1].uri, STR("gs://bucket/wh/t/d")));
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

START_TEST(test_gcs_list__answers_that_make_no_sense)
{
    static const char *const words[] = {"expected a JSON object", "expected a JSON object",
        "the bucket does not exist", "how to go on"};
    struct store_entry *e = NULL;
    size_t n = 0;
    PLAY({.answer = ANSWER("200 OK", "", "<html>")}, {.answer = ANSWER("200 OK", "", "[]")},
        {.answer = FAILS("404 Not Found", "notFound")},
        {.answer = ANSWER("200 OK", "", "{\"nextPageToken\":\"x\"}")},
        {.answer = ANSWER("200 OK", "", "{\"nextPageToken\":\"x\"}")});
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        ck_assert(!store_list(a, s, STR("gs://bucket/wh/t"), 10, &e, &n, &err));
        ck_assert_int_eq(err.kind, ERR_INTERNAL);
        ck_assert_msg(strstr(err.msg, words[i]) != NULL, "%s", err.msg);
    }
}
END_TEST

START_TEST(test_gcs__spellings_of_the_scheme_are_one_place)
{
    PLAY({.answer = HELLO});
    AUTO(buf_fini) struct buf b = {0};
    ck_assert_msg(store_get(s, STR("gcs://bucket/wh/x"), 100, &b, &err), "%s", err.msg);
    ck_assert(stub_saw(0, "/b/bucket/o/wh%2Fx?"));
}
END_TEST

START_TEST(test_gcs_open__refused)
{
    conf.gcs_endpoint = "gopher://x";
    ck_assert(!store_open(&conf, &s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "the endpoint of Google's storage"));
    conf.gcs_endpoint = NULL;
    conf.gcs_token = NULL;
    ck_assert_int_eq(setenv("NO_GCE_CHECK", "true", 1), 0);
    ck_assert_int_eq(unsetenv("GOOGLE_APPLICATION_CREDENTIALS"), 0);
    ck_assert(!store_open(&conf, &s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "expected FIRN_GCS_KEY"));
}
END_TEST

START_TEST(test_gcs__bucket_itself_is_no_object)
{
    conf.base = "gs://bucket";
    PLAY(SILENT);
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(!store_get(s, STR("gs://bucket/"), 100, &b, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    ck_assert_uint_eq(stub_count(), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("gcs");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_gcs_put__request_on_the_wire);
    tcase_add_test(tc, test_gcs_put__taken);
    tcase_add_test(tc, test_gcs_put__busy_and_limited);
    tcase_add_test(tc, test_gcs_put__given_up_after_five);
    tcase_add_test(tc, test_gcs_put__retry_after_beyond_the_deadline);
    tcase_add_test(tc, test_gcs_put__answer_lost_then_taken_by_ourselves);
    tcase_add_test(tc, test_gcs_put__gateway_error_then_taken_by_ourselves);
    tcase_add_test(tc, test_gcs_put__answer_lost_then_taken_by_another);
    tcase_add_test(tc, test_gcs_put__answer_lost_and_no_way_to_tell);
    tcase_add_test(tc, test_gcs_put__store_took_less);
    tcase_add_test(tc, test_gcs_put__bucket_missing);
    tcase_add_test(tc, test_gcs_get__request_on_the_wire);
    tcase_add_test(tc, test_gcs_get__body_cut_off);
    tcase_add_test(tc, test_gcs_get__body_without_length);
    tcase_add_test(tc, test_gcs_get__too_large);
    tcase_add_test(tc, test_gcs_get__kinds_of_errors);
    tcase_add_test(tc, test_gcs_delete__also_what_is_not_there);
    tcase_add_test(tc, test_gcs_list__two_pages);
    tcase_add_test(tc, test_gcs_list__endings_limits_and_folders);
    tcase_add_test(tc, test_gcs_list__answers_that_make_no_sense);
    tcase_add_test(tc, test_gcs__spellings_of_the_scheme_are_one_place);
    tcase_add_test(tc, test_gcs_open__refused);
    tcase_add_test(tc, test_gcs__bucket_itself_is_no_object);
    Suite *suite = suite_create("gcs");
    suite_add_tcase(suite, tc);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
