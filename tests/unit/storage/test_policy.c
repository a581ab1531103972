#include "policy.h"

#include "arena.h"
#include "base.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct arena *a;
static struct err err;

static void begin(void)
{
    a = arena_new();
    err_clear(&err);
}

static void end(void)
{
    arena_free(&a);
}

static struct str policy_of(const char *key, enum policy_access access)
{
    const struct policy_folder folder = {.bucket = STR("data"), .key = str_from(key)};
    struct str text = STR("");
    ck_assert_msg(policy_for_folder(a, &folder, access, &text, &err), "%s: %s", key, err.msg);
    return text;
}

static void refused(struct str bucket, struct str key, const char *words)
{
    const struct policy_folder folder = {.bucket = bucket, .key = key};
    struct str text = {NULL, 0};
    ck_assert_msg(!policy_for_folder(a, &folder, POLICY_READ, &text, &err), "%.*s", STR_ARG(key));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
    ck_assert_ptr_null(text.p);
}

START_TEST(test_policy_for_folder__read)
{
    struct str text = policy_of("wh/t1", POLICY_READ);
    ck_assert_str_eq(text.p,
        "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":"
        "\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::data/wh/t1/*\"},{\"Effect\":\"Allow\","
        "\"Action\":\"s3:ListBucket\",\"Resource\":\"arn:aws:s3:::data\",\"Condition\":"
        "{\"StringLike\":{\"s3:prefix\":[\"wh/t1/\",\"wh/t1/*\"]}}},{\"Effect\":\"Allow\","
        "\"Action\":\"s3:GetBucketLocation\",\"Resource\":\"arn:aws:s3:::data\"}]}");
}
END_TEST

START_TEST(test_policy_for_folder__write_adds_what_writers_need)
{
    struct str text = policy_of("wh/t1", POLICY_WRITE);
    static const char *const wanted[] = {"s3:GetObject", "s3:PutObject", "s3:DeleteObject",
        "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        ck_assert_ptr_nonnull(strstr(text.p, wanted[i]));
    ck_assert_ptr_null(strstr(text.p, "s3:*"));
    ck_assert_uint_lt(text.n, 1000);
}
END_TEST

START_TEST(test_policy_for_folder__partitions)
{
    static const struct {
        const char *region, *arn;
    } cases[] = {
        {"cn-north-1",    "arn:aws-cn:s3:::data/"    },
        {"us-gov-west-1", "arn:aws-us-gov:s3:::data/"},
        {"eu-central-1",  "arn:aws:s3:::data/"       },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct policy_folder folder = {STR("data"), STR("t"), str_from(cases[i].region)};
        struct str text = STR("");
        ck_assert(policy_for_folder(a, &folder, POLICY_READ, &text, &err));
        ck_assert_ptr_nonnull(strstr(text.p, cases[i].arn));
    }
}
END_TEST

/* Odd names stay what they are: one document, one statement of objects, this folder. */
START_TEST(test_policy_for_folder__odd_keys_are_literal)
{
    static const char *const keys[] = {"a b/c", "t+1", "\xc3\xa9=1", "x%20y", "a'b",
        "(a)!~&;,@:", "{a}", "a/..b/c..", "\xf0\x9f\xa6\x94", "<a>&amp;", "a#b"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str text = policy_of(keys[i], POLICY_WRITE);
        json_t *json = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_ptr_nonnull(json);
        const json_t *statements = json_object_get(json, "Statement");
        ck_assert_uint_eq(json_array_size(statements), 3);
        const char *resource =
            json_string_value(json_object_get(json_array_get(statements, 0), "Resource"));
        ck_assert_str_eq(resource, arena_printf(a, "arn:aws:s3:::data/%s/*", keys[i]).p);
        json_decref(json);
    }
}
END_TEST

START_TEST(test_policy_for_folder__what_would_open_more_is_refused)
{
    static const char *const patterns[] = {
        "t*", "*", "wh/?", "${aws:username}", "wh/$x", "a\",\"Resource\":\"x", "a\\", "a\\u002a"};
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
        refused(STR("data"), str_from(patterns[i]), "as signs");
    static const char *const paths[] = {"/t", "t/", "a//b", ".", "..", "a/../b", "a/.", "./a", "/"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        refused(STR("data"), str_from(paths[i]), "empty, '.' or '..'");
    refused(STR("data"), STR(""), "the whole bucket");
    refused(STR("data"), (struct str){NULL, 0}, "the whole bucket");
    refused(STR("data"), STR("a\nb"), "control character");
    refused(STR("data"), STR("a\0b"), "control character");
    refused(STR("data"), STR("a\x7f"), "control character");
    refused(STR("data"), STR("a\xff"), "no UTF-8");
    refused(STR("data*"), STR("t"), "no name of a bucket");
    refused(STR("data/wh"), STR("t"), "no name of a bucket");
    refused(STR(""), STR("t"), "no name of a bucket");
}
END_TEST

START_TEST(test_policy_for_folder__too_long)
{
    char *key = arena_alloc(a, 1000);
    memset(key, 'k', 1000);
    refused(STR("data"), (struct str){key, 600}, "more than 1600 bytes");
    struct str text = STR("");
    const struct policy_folder folder = {
        .bucket = STR("data"), .key = {key, 200}
    };
    ck_assert(policy_for_folder(a, &folder, POLICY_WRITE, &text, &err));
    ck_assert_uint_le(text.n, 1600);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("policy");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_policy_for_folder__read);
    tcase_add_test(tc, test_policy_for_folder__write_adds_what_writers_need);
    tcase_add_test(tc, test_policy_for_folder__partitions);
    tcase_add_test(tc, test_policy_for_folder__odd_keys_are_literal);
    tcase_add_test(tc, test_policy_for_folder__what_would_open_more_is_refused);
    tcase_add_test(tc, test_policy_for_folder__too_long);
    Suite *s = suite_create("policy");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
