#include "reach.h"

#include "base.h"

#include <check.h>
#include <string.h>

static enum store_reach of(const char *const *patterns, const char *endpoint)
{
    const struct config conf = {.warehouse_endpoints = patterns};
    struct err err = {.kind = ERR_NONE};
    enum store_reach reach = reach_of(&conf, endpoint);
    bool ok = reach_check(&conf, "/storage/endpoint", endpoint, &err);
    ck_assert_msg(ok == (reach != STORE_REACH_NONE), "%s", endpoint);
    ck_assert_msg(ok || strstr(err.msg, "/storage/endpoint"), "%s", err.msg);
    ck_assert(!strstr(err.msg, "hidden"));
    return reach;
}
#define OF(endpoint, ...) of((const char *const[]){__VA_ARGS__, NULL}, endpoint)
#define NAMED(...)        ck_assert_int_eq(OF(__VA_ARGS__), STORE_REACH_PRIVATE)
#define PUBLIC(...)       ck_assert_int_eq(OF(__VA_ARGS__), STORE_REACH_PUBLIC)
#define NONE(...)         ck_assert_int_eq(OF(__VA_ARGS__), STORE_REACH_NONE)

START_TEST(test_reach__named_hosts)
{
    NAMED("http://minio:9000", "other", "minio:9000");
    NAMED("http://minio:9000/", "MinIO:9000");
    NAMED("http://minio:9000", "http://minio:9000");
    NAMED("https://minio", "minio");
    NAMED("https://minio:443", "minio");
    NAMED("https://minio:443", "minio:443");
    NAMED("http://[::1]:9000", "[::1]:9000");
    NONE("http://minio:9000", "minio");
    NONE("http://minio:9000", "minio:9001");
    NONE("http://minio:9000", "https://minio:9000");
    NONE("http://minio2:9000", "minio:9000");
    NONE("http://minio:9000", NULL);
}
END_TEST

START_TEST(test_reach__domains)
{
    NAMED("https://s3.example.org", "*.example.org");
    NAMED("https://a.b.EXAMPLE.org:9000", "*.example.org");
    NONE("https://example.org", "*.example.org");
    NONE("https://evilexample.org", "*.example.org");
    NONE("https://s3.example.org.evil", "*.example.org");
    NONE("https://s3.example.org", "*.");
    NONE("https://s3.example.org", "*.org.");
}
END_TEST

/* Whatever a text ends in: what counts is where a request would go. */
START_TEST(test_reach__texts_that_are_no_endpoint)
{
    static const char *const texts[] = {"http://evil/.example.org", "http://evil#.example.org",
        "http://evil?.example.org", "http://evil\\.example.org",
        "http://user:hidden@s3.example.org", "http://s3.example.org@evil",
        "gopher://s3.example.org", "s3.example.org", "//s3.example.org",
        "http://evil%2f.example.org", "http://ev il.example.org", "http://s3.example.org.",
        "http://", "http://:80", "http://s3.example.org.:80", ""};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        NONE(texts[i], "*.example.org");
        NONE(texts[i], "*");
    }
}
END_TEST

START_TEST(test_reach__a_star_is_what_is_public)
{
    PUBLIC("https://anything.example", "*");
    PUBLIC("http://127.0.0.1:1", "*");
    NAMED("https://s3.example.org", "*", "*.example.org");
    NAMED("https://s3.example.org", "s3.example.org", "*");
}
END_TEST

START_TEST(test_reach__denied_wherever_it_stands)
{
    NONE("https://evil.example", "*", "!evil.example");
    NONE("https://evil.example", "!evil.example", "*");
    NONE("https://EVIL.example:8443", "*", "!evil.example");
    NONE("https://a.internal", "*", "!*.internal");
    NONE("https://a.internal:1", "a.internal:1", "!*.internal");
    NONE("https://a.example", "*", "!*");
    NONE("https://a.example", "!b.example");
    PUBLIC("https://a.example", "*", "!b.example");
    PUBLIC("https://a.example:8443", "*", "!a.example:9000");
}
END_TEST

/* The resolver reads all of these as one address. */
START_TEST(test_reach__numbers_however_spelled)
{
    static const char *const spelled[] = {"http://8.8.8.8:9000", "http://134744072:9000",
        "http://0x08080808", "http://0X8080808:1", "https://010.8.8.8", "http://8.8.2056",
        "http://8.526344", "http://0x8.010.2056", "http://01002004010", "http://[::ffff:8.8.8.8]",
        "http://[::ffff:808:808]:9000", "http://[0:0:0:0:0:ffff:0808:0808]",
        "http://[64:ff9b::808:808]"};
    for (size_t i = 0; i < ARRAY_LEN(spelled); i++) {
        NONE(spelled[i], "*", "!8.8.8.8");
        NONE(spelled[i], "*", "!0x08080808");
        NONE(spelled[i], "!http://134744072", "!https://[::ffff:8.8.8.8]", "*");
        PUBLIC(spelled[i], "*", "!8.8.4.4");
    }
    NONE("http://[2001:DB8:0::1]:9000", "*", "![2001:db8::1]");
    NONE("http://[2001:db8::1]", "*", "!2001:0db8::0:1");
    NAMED("http://0x7f.1:9000", "127.0.0.1:9000");
    NONE("http://0x7f.1:9000", "127.0.0.1:9001");
    PUBLIC("http://8.8.8.8.example", "*", "!8.8.8.8");
    PUBLIC("http://deadbeef", "*", "!222.173.190.239");
}
END_TEST

START_TEST(test_reach__ports_however_spelled)
{
    NONE("http://evil.example:09000", "*", "!evil.example:9000");
    NONE("http://evil.example", "*", "!evil.example:80");
    NONE("https://evil.example", "*", "!evil.example:443");
    NONE("https://evil.example:8443", "*", "!https://evil.example");
    PUBLIC("http://evil.example:8443", "*", "!https://evil.example");
    NAMED("http://minio:80", "http://minio");
    NONE("http://minio:", "*");
    NONE("http://minio:+9000", "*");
    NONE("http://minio:9000:1", "*");
    NONE("http://minio:65536", "*");
    NONE("http://[::1]9000", "*");
}
END_TEST

START_TEST(test_reach__no_endpoint_is_aws)
{
    NAMED(NULL, "!*");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("reach");
    tcase_add_test(tc, test_reach__named_hosts);
    tcase_add_test(tc, test_reach__domains);
    tcase_add_test(tc, test_reach__texts_that_are_no_endpoint);
    tcase_add_test(tc, test_reach__a_star_is_what_is_public);
    tcase_add_test(tc, test_reach__denied_wherever_it_stands);
    tcase_add_test(tc, test_reach__numbers_however_spelled);
    tcase_add_test(tc, test_reach__ports_however_spelled);
    tcase_add_test(tc, test_reach__no_endpoint_is_aws);
    Suite *suite = suite_create("reach");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
