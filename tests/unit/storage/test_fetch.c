#include "fetch.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "stub.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void begin(void)
{
    fetch_global_init();
}

static void end(void)
{
    stub_stop();
    fetch_global_fini();
}

static bool get(const char *url, enum fetch_reach reach, int *status, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct fetch_response rs = {0};
    const struct fetch_request rq = {.method = "GET",
        .url = str_from(url),
        .max_body = 100,
        .deadline_us = clock_mono_us() + 5000000,
        .reach = reach};
    *err = (struct err){.kind = ERR_NONE};
    bool ok = fetch_do(a, &rq, &rs, err);
    *status = rs.status;
    ck_assert(ok || !rs.may_have_arrived);
    buf_fini(&rs.body);
    return ok;
}

static void refused(const char *url, enum fetch_reach reach, const char *why)
{
    struct err err;
    int status;
    ck_assert_msg(!get(url, reach, &status, &err), "%s", url);
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    ck_assert_msg(strstr(err.msg, why), "%s", err.msg);
}

static void answered(const char *url, enum fetch_reach reach)
{
    struct err err;
    int status = 0;
    ck_assert_msg(get(url, reach, &status, &err), "%s: %s", url, err.msg);
    ck_assert_int_eq(status, 200);
}

/* "http://HOST:PORT/" with the port of the stub. */
static const char *spelled(const char *host, const char *url)
{
    static char text[200];
    (void)snprintf(text, sizeof(text), "http://%s%s/", host, strrchr(url, ':'));
    return text;
}

/* Whatever a name leads to: the identity of the machine is not asked for by way of the store. */
START_TEST(test_fetch__where_a_machine_tells_its_identity)
{
    static const char *const urls[] = {"http://169.254.169.254/x", "http://169.254.170.2/",
        "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/",
        "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/",
        "http://169.254.43518/", "http://168.63.129.16/", "http://100.100.100.200/",
        "http://[64:ff9b::169.254.169.254]/"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        refused(urls[i], FETCH_PRIVATE, "the server's own identity");
        refused(urls[i], FETCH_PUBLIC, "not public");
    }
}
END_TEST

static const char *const spellings[] = {"127.0.0.1", "localhost", "2130706433", "0x7f000001",
    "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "0", "0.0.0.0", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::1]", "[::]", "LOCALHOST"};

/* Those that may go to public addresses only do not get as far as a connection. */
START_TEST(test_fetch__spellings_of_this_machine)
{
    const struct stub_step steps[] = {{.answer = OK}, {.answer = OK}};
    const char *url = stub_start(steps, ARRAY_LEN(steps));
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
        refused(spelled(spellings[i], url), FETCH_PUBLIC, "not public");
    ck_assert_uint_eq(stub_count(), 0);
    answered(spelled("localhost", url), FETCH_PRIVATE);
    answered(spelled("0x7f.1", url), FETCH_PRIVATE);
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

/* One that has a wider reach left the connection behind. */
START_TEST(test_fetch__a_kept_connection_is_looked_at_too)
{
    const struct stub_step steps[] = {
        {.answer = OK, .end = STUB_KEEP},
        {.answer = OK, .end = STUB_KEEP},
        {.answer = OK, .end = STUB_KEEP}
    };
    const char *url = stub_start(steps, ARRAY_LEN(steps));
    answered(url, FETCH_PRIVATE);
    answered(url, FETCH_PRIVATE);
    refused(url, FETCH_PUBLIC, "not public");
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_fetch__nowhere)
{
    const struct stub_step steps[] = {{.answer = OK}};
    refused(stub_start(steps, ARRAY_LEN(steps)), FETCH_NOWHERE, "FIRN_WAREHOUSE_ENDPOINTS");
    refused("http://8.8.8.8/", FETCH_NOWHERE, "FIRN_WAREHOUSE_ENDPOINTS");
    ck_assert_uint_eq(stub_count(), 0);
}
END_TEST

/* A redirect is an answer, whose Location nobody follows. */
START_TEST(test_fetch__no_redirects)
{
    const struct stub_step steps[] = {
        {.answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                   "Content-Length: 0\r\n\r\n"},
        {.answer = OK}};
    struct err err;
    int status;
    ck_assert(get(stub_start(steps, ARRAY_LEN(steps)), FETCH_PRIVATE, &status, &err));
    ck_assert_int_eq(status, 302);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_fetch__nothing_but_http)
{
    static const char *const urls[] = {
        "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "dict://127.0.0.1:1/"};
    struct err err;
    int status;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++)
        ck_assert_msg(!get(urls[i], FETCH_ANYWHERE, &status, &err), "%s", urls[i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("fetch");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_fetch__where_a_machine_tells_its_identity);
    tcase_add_test(tc, test_fetch__spellings_of_this_machine);
    tcase_add_test(tc, test_fetch__a_kept_connection_is_looked_at_too);
    tcase_add_test(tc, test_fetch__nowhere);
    tcase_add_test(tc, test_fetch__no_redirects);
    tcase_add_test(tc, test_fetch__nothing_but_http);
    Suite *suite = suite_create("fetch");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
