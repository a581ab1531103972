#include "err.h"

#include <check.h>
#include <string.h>

START_TEST(test_err_set__yields_false_and_notes_the_place)
{
    struct err err = {0};
    int line = __LINE__ + 1;
    ck_assert(!err_set(&err, ERR_NO_SUCH_TABLE, "Table does not exist: %s", "a.b"));
    ck_assert_int_eq(err.kind, ERR_NO_SUCH_TABLE);
    ck_assert_str_eq(err.msg, "Table does not exist: a.b");
    ck_assert_int_eq(err.line, line);
    ck_assert_str_eq(err.file, __FILE__);
    err_clear(&err);
    ck_assert_int_eq(err.kind, ERR_NONE);
    ck_assert_str_eq(err.msg, "");
}
END_TEST

START_TEST(test_err_set__its_own_message_may_be_an_argument)
{
    struct err err = {0};
    err_set(&err, ERR_INTERNAL, "inner");
    err_set(&err, ERR_UNAVAILABLE, "outer: %s", err.msg);
    ck_assert_str_eq(err.msg, "outer: inner");
}
END_TEST

START_TEST(test_err_set__a_long_message_is_cut_between_characters)
{
    static const char *const ends[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t e = 0; e < ARRAY_LEN(ends); e++) {
        for (int n = 1015; n < 1030; n++) {
            struct err err = {0};
            err_set(&err, ERR_INTERNAL, "%0*d%s%s", n, 0, ends[e], ends[e]);
            size_t got = strlen(err.msg), width = strlen(ends[e]);
            ck_assert(str_is_utf8(str_from(err.msg)));
            ck_assert_uint_lt(got, sizeof(err.msg));
            size_t whole = (size_t)n + 2 * width;
            ck_assert_uint_ge(got, whole < 1023 ? whole : 1023 - (width - 1));
        }
    }
}
END_TEST

START_TEST(test_err_wrap__context_stands_in_front)
{
    struct err err = {0};
    err_set(&err, ERR_STORE_DENIED, "403 from the store");
    int line = err.line;
    ck_assert(!err_wrap(&err, "reading manifest %s", "s3://b/m.avro"));
    ck_assert_str_eq(err.msg, "reading manifest s3://b/m.avro: 403 from the store");
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert_int_eq(err.line, line);
}
END_TEST

START_TEST(test_err_wrap__long_context_and_message)
{
    struct err err = {0};
    err_set(&err, ERR_INTERNAL, "%0*d", 1000, 0);
    err_wrap(&err, "%0*d", 20, 1);
    ck_assert_uint_eq(strlen(err.msg), 1022);
    err_wrap(&err, "%0*d", 5000, 1);
    ck_assert_uint_eq(strlen(err.msg), 1023);
}
END_TEST

START_TEST(test_err_where__place_stands_behind)
{
    struct err err = {0};
    err_set(&err, ERR_BAD_REQUEST, "expected a name");
    ck_assert(!err_where(&err, "/updates/%d/name", 7));
    ck_assert_str_eq(err.msg, "expected a name (/updates/7/name)");
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
}
END_TEST

START_TEST(test_err_where__long_message_makes_room)
{
    struct err err = {0};
    err_set(&err, ERR_BAD_REQUEST, "%0*d", 2000, 0);
    err_where(&err, "/a/b");
    ck_assert_uint_eq(strlen(err.msg), 1023);
    ck_assert_str_eq(err.msg + 1016, " (/a/b)");
    err_where(&err, "%0*d", 5000, 1);
    ck_assert_uint_eq(strlen(err.msg), 1023);
}
END_TEST

START_TEST(test_err_quote__stands_apart_from_the_message)
{
    struct err e = {0};
    err_set(&e, ERR_STORE_DENIED, "the store answered 403");
    ck_assert(!err_quote(&e, STR(" no\nway ")));
    err_wrap(&e, "reading it");
    ck_assert_str_eq(e.msg, "reading it: the store answered 403");
    ck_assert_str_eq(e.said, ": no way");
    err_set(&e, ERR_INTERNAL, "something else");
    ck_assert_str_eq(e.said, "");
    err_quote(&e, STR(""));
    ck_assert_str_eq(e.said, "");
}
END_TEST

START_TEST(test_err_quote__what_may_be_a_secret_is_left_out)
{
    struct err e = {0};
    err_set(&e, ERR_STORE_DENIED, "no");
    err_quote(&e, STR("the key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY of AKIAIOSFODNN7EXAMPLE "
                      "for arn:aws:iam::1:role/x"));
    ck_assert_str_eq(e.said, ": the key *** of AKIAIOSFODNN7EXAMPLE for arn:aws:iam::1:role/x");
    char two[600], umlauts[1001];
    memset(two, 'a', sizeof(two));
    two[299] = ' ';
    err_quote(&e, (struct str){two, sizeof(two)});
    ck_assert_str_eq(e.said, ": *** ***");
    for (size_t i = 0; i < sizeof(umlauts) - 1; i += 2)
        memcpy(umlauts + i, "ü", 2);
    umlauts[sizeof(umlauts) - 1] = '\0';
    err_quote(&e, str_from(umlauts));
    ck_assert(str_is_utf8(str_from(e.said)) && strlen(e.said) >= sizeof(e.said) - 2);
}
END_TEST

START_TEST(test_err_as__same_message_other_kind)
{
    struct err err = {0};
    err_set(&err, ERR_CAS_LOST, "someone was faster");
    ck_assert(!err_as(&err, ERR_COMMIT_FAILED));
    ck_assert_int_eq(err.kind, ERR_COMMIT_FAILED);
    ck_assert_str_eq(err.msg, "someone was faster");
}
END_TEST

START_TEST(test_err_kinds__the_table_as_clients_see_it)
{
    ck_assert_int_eq(err_status(ERR_COMMIT_FAILED), 409);
    ck_assert_str_eq(err_type(ERR_COMMIT_FAILED), "CommitFailedException");
    ck_assert_str_eq(err_name(ERR_COMMIT_FAILED), "COMMIT_FAILED");
    ck_assert_int_eq(err_level(ERR_COMMIT_FAILED), LOG_INFO);
    ck_assert_int_eq(err_status(ERR_COMMIT_UNKNOWN), 500);
    ck_assert_str_eq(err_type(ERR_COMMIT_UNKNOWN), "CommitStateUnknownException");
    ck_assert_int_eq(err_status(ERR_WOULD_BLOCK), 0);
    ck_assert_str_eq(err_name(ERR_STORE_BAD_URI), "STORE_BAD_URI");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/err");
    TCase *cases = tcase_create("base/err");
    tcase_add_test(cases, test_err_set__yields_false_and_notes_the_place);
    tcase_add_test(cases, test_err_set__its_own_message_may_be_an_argument);
    tcase_add_test(cases, test_err_set__a_long_message_is_cut_between_characters);
    tcase_add_test(cases, test_err_wrap__context_stands_in_front);
    tcase_add_test(cases, test_err_wrap__long_context_and_message);
    tcase_add_test(cases, test_err_where__place_stands_behind);
    tcase_add_test(cases, test_err_where__long_message_makes_room);
    tcase_add_test(cases, test_err_quote__stands_apart_from_the_message);
    tcase_add_test(cases, test_err_quote__what_may_be_a_secret_is_left_out);
    tcase_add_test(cases, test_err_as__same_message_other_kind);
    tcase_add_test(cases, test_err_kinds__the_table_as_clients_see_it);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
