#include "arena.h"
#include "base.h"
#include "buf.h"
#include "sigv4_case.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct arena *a;

static void begin(void)
{
    a = arena_new();
}

static void end(void)
{
    arena_free(&a);
}

static struct sigv4_case read_case(const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s.txt", getenv("FIRN_TEST_DATA"), name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    char *text = arena_alloc(a, 8192);
    size_t n = fread(text, 1, 8192, f);
    (void)fclose(f);
    struct str s = {text, n};
    struct sigv4_case *c = ARENA_NEW(a, struct sigv4_case);
    ck_assert(sigv4_case_read(a, &s, c));
    return *c;
}

static struct str authorization(struct sigv4_case *c)
{
    struct fetch_header out[4];
    size_t n = 0;
    struct err err;
    c->request.headers = c->headers;
    ck_assert_msg(sigv4_sign(a, &c->key, &c->request, out, &n, &err), "%s", err.msg);
    ck_assert(str_eq(out[n - 1].name, STR("authorization")));
    return out[n - 1].value;
}

static void check_case(const char *name)
{
    struct sigv4_case c = read_case(name);
    struct str expected = arena_printf(a,
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=%.*s, Signature=%.*s",
        STR_ARG(c.signed_headers), STR_ARG(c.signature));
    ck_assert_str_eq(authorization(&c).p, expected.p);
}

START_TEST(test_sigv4_sign__aws_examples)
{
    check_case("get-object");
    check_case("put-object");
    check_case("get-lifecycle");
    check_case("list-objects");
}
END_TEST

static const char *canonical_query(const char *query)
{
    struct sigv4_case c = read_case("get-object");
    c.request.query = str_from(query);
    c.request.headers = c.headers;
    struct str s = sigv4_canonical(a, &c.key, &c.request);
    (void)str_cut(&s, '\n');
    (void)str_cut(&s, '\n');
    return arena_cstr(a, str_cut(&s, '\n'));
}

START_TEST(test_sigv4_canonical__query)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"",                     ""                     },
        {"delete",               "delete="              },
        {"b=2&a=1",              "a=1&b=2"              },
        {"a=2&a=1&a",            "a=&a=1&a=2"           },
 /* names first: "select=" would sort behind "select-type=" */
        {"select-type=2&select", "select=&select-type=2"},
        {"p=a/b",                "p=a%2Fb"              },
        {"p=a%2fb",              "p=a%2Fb"              },
        {"p=a+b%20c",            "p=a%20b%20c"          },
        {"p=%2B&q=%",            "p=%2B&q=%25"          },
        {"p=a=b",                "p=a%3Db"              },
        {"p=%ff%c3%a9~",         "p=%FF%C3%A9~"         },
        {"&&a=1&",               "a=1"                  },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ck_assert_str_eq(canonical_query(rows[i].in), rows[i].out);
}
END_TEST

START_TEST(test_sigv4_canonical__headers_sorted_squeezed_and_joined)
{
    struct sigv4_case c = read_case("get-object");
    struct fetch_header h[] = {
        {STR("X-Amz-Meta-B"), STR("  two   blanks\t here ")},
        {STR("x-amz-meta-b"), STR("again")                 },
        {STR("Content-MD5"),  STR("abc==")                 },
    };
    c.request.headers = h;
    c.request.n_headers = ARRAY_LEN(h);
    struct str s = sigv4_canonical(a, &c.key, &c.request);
    ck_assert_str_eq(s.p,
        "GET\n/test.txt\n\ncontent-md5:abc==\nhost:examplebucket.s3.amazonaws.com\n"
        "x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
        "x-amz-date:20130524T000000Z\nx-amz-meta-b:two blanks here,again\n\n"
        "content-md5;host;x-amz-content-sha256;x-amz-date;x-amz-meta-b\n"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

START_TEST(test_sigv4_sign__token_is_a_signed_header)
{
    struct sigv4_case c = read_case("get-object");
    c.key.token = STR("session");
    struct str auth = authorization(&c);
    ck_assert_ptr_nonnull(strstr(auth.p, "x-amz-date;x-amz-security-token, "));
}
END_TEST

START_TEST(test_sigv4_sign__line_breaks_are_refused)
{
    struct fetch_header out[4];
    size_t n = 0;
    struct err err;
    struct sigv4_case c = read_case("get-object");
    c.request.headers = c.headers;
    c.key.token = STR("a\nb");
    ck_assert(!sigv4_sign(a, &c.key, &c.request, out, &n, &err));
    c.key.token = STR("");
    c.headers[0].value = STR("bytes=0-9\r\nx-amz-acl: public-read");
    ck_assert(!sigv4_sign(a, &c.key, &c.request, out, &n, &err));
}
END_TEST

START_TEST(test_sigv4_encode_path__once_and_bytewise)
{
    static const struct {
        const char *key, *path;
    } rows[] = {
        {"a/b.json",               "a/b.json"                                                    },
        {"a//b/./c/../d",          "a//b/./c/../d"                                               },
        {"\xc3\xa9=1",             "%C3%A9%3D1"                                                  },
        {"x%20y",                  "x%2520y"                                                     },
        {"sp ace+plus",            "sp%20ace%2Bplus"                                             },
        {"!*'()",                  "%21%2A%27%28%29"                                             },
        {"-._~",                   "-._~"                                                        },
        {"&$@=;:,?#[]\"<>\\^`{|}", "%26%24%40%3D%3B%3A%2C%3F%23%5B%5D%22%3C%3E%5C%5E%60%7B%7C%7D"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ck_assert_str_eq(sigv4_encode_path(a, str_from(rows[i].key)).p, rows[i].path);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sigv4");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_sigv4_sign__aws_examples);
    tcase_add_test(tc, test_sigv4_canonical__query);
    tcase_add_test(tc, test_sigv4_canonical__headers_sorted_squeezed_and_joined);
    tcase_add_test(tc, test_sigv4_sign__token_is_a_signed_header);
    tcase_add_test(tc, test_sigv4_sign__line_breaks_are_refused);
    tcase_add_test(tc, test_sigv4_encode_path__once_and_bytewise);
    Suite *s = suite_create("sigv4");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
