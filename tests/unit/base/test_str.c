#include "str.h"

#include <check.h>

#include "arena.h"
#include "base.h"

#define ck_assert_text(s, lit) ck_assert(str_eq((s), STR(lit)))

START_TEST(test_str_eq__length_content_and_absent)
{
    ck_assert(str_eq(STR("ab"), STR("ab")));
    ck_assert(!str_eq(STR("ab"), STR("abc")));
    ck_assert(!str_eq(STR("ab"), STR("aB")));
    ck_assert(str_eq((struct str){NULL, 0}, STR("")));
    ck_assert(str_eq(str_from(NULL), (struct str){NULL, 0}));
    ck_assert(str_eq_nocase(STR("Content-Type"), STR("content-TYPE")));
    ck_assert(!str_eq_nocase(STR("["), STR("{")));
    ck_assert(!str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4")));
}
END_TEST

START_TEST(test_str_starts_ends__also_with_empty_ones)
{
    ck_assert(str_starts(STR("s3://b"), STR("s3:")));
    ck_assert(!str_starts(STR("s3"), STR("s3:")));
    ck_assert(str_starts(STR(""), STR("")));
    ck_assert(str_starts((struct str){NULL, 0}, STR("")));
    ck_assert(str_ends(STR("a.avro"), STR(".avro")));
    ck_assert(!str_ends(STR("avro"), STR(".avro")));
    ck_assert(str_ends((struct str){NULL, 0}, STR("")));
}
END_TEST

START_TEST(test_str_fits__names_beginnings_ends_and_middles)
{
    ck_assert(str_fits(STR("token"), STR("Token")) && !str_fits(STR("tokens"), STR("token")));
    ck_assert(str_fits(STR("auth.x"), STR("auth.*")) && str_fits(STR("auth."), STR("AUTH.*")));
    ck_assert(!str_fits(STR("auth"), STR("auth.*")) && !str_fits(STR("an-auth.x"), STR("auth.*")));
    ck_assert(str_fits(STR("io-impl"), STR("*-impl")) && !str_fits(STR("-impls"), STR("*-impl")));
    ck_assert(str_fits(STR("my.Secret.key"), STR("*secret*")) &&
              str_fits(STR("secret"), STR("*secret*")));
    ck_assert(!str_fits(STR("secre"), STR("*secret*")) && !str_fits(STR(""), STR("*secret*")));
    ck_assert(str_fits(STR("any"), STR("*")) && str_fits(STR(""), STR("*")) &&
              str_fits(STR("a"), STR("**")));
    ck_assert(!str_fits(STR("a"), STR("")) && str_fits(STR(""), STR("")));
    ck_assert(str_is_pattern(STR("")) && str_is_pattern(STR("a")) && str_is_pattern(STR("*")));
    ck_assert(str_is_pattern(STR("a*")) && str_is_pattern(STR("*a")) && str_is_pattern(STR("*a*")));
    ck_assert(!str_is_pattern(STR("a*b")) && !str_is_pattern(STR("*a*b*")));
}
END_TEST

START_TEST(test_str_cmp__byte_order_shorter_first)
{
    ck_assert_int_lt(str_cmp(STR("a"), STR("ab")), 0);
    ck_assert_int_gt(str_cmp(STR("b"), STR("ab")), 0);
    ck_assert_int_eq(str_cmp(STR("ab"), STR("ab")), 0);
    ck_assert_int_lt(str_cmp(STR("Z"), STR("a")), 0);
    ck_assert_int_lt(str_cmp(STR("z"), STR("\xc3\xa4")), 0);
    ck_assert_int_lt(str_cmp((struct str){NULL, 0}, STR("a")), 0);
}
END_TEST

START_TEST(test_str_cut__every_field_then_absent)
{
    struct str rest = STR("a,,b,");
    ck_assert_text(str_cut(&rest, ','), "a");
    ck_assert_text(str_cut(&rest, ','), "");
    ck_assert_text(str_cut(&rest, ','), "b");
    ck_assert_ptr_nonnull(rest.p);
    ck_assert_text(str_cut(&rest, ','), "");
    ck_assert_ptr_null(rest.p);
    ck_assert_ptr_null(str_cut(&rest, ',').p);
}
END_TEST

START_TEST(test_str_find_trim_sub__borders)
{
    ck_assert_uint_eq(str_find(STR("abc"), 'c'), 2);
    ck_assert_uint_eq(str_find(STR("abc"), 'x'), 3);
    ck_assert_uint_eq(str_find((struct str){NULL, 0}, 'x'), 0);
    ck_assert_text(str_trim(STR(" \t a b\t ")), "a b");
    ck_assert_text(str_trim(STR(" \t ")), "");
    ck_assert_text(str_sub(STR("abcdef"), 2, 3), "cde");
    ck_assert_text(str_sub(STR("abc"), 2, 100), "c");
    ck_assert_text(str_sub(STR("abc"), 7, (size_t)-1), "");
    ck_assert_ptr_null(str_sub((struct str){NULL, 0}, 1, 1).p);
    ck_assert_text(str_behind(STR("a/b/c"), '/'), "c");
    ck_assert_text(str_behind(STR("a/"), '/'), "");
    ck_assert_text(str_behind(STR("abc"), '/'), "abc");
    ck_assert_ptr_null(str_behind((struct str){NULL, 0}, '/').p);
}
END_TEST

START_TEST(test_str_lower_hex__ascii_alone)
{
    AUTO(arena_free) struct arena *a = arena_new();
    ck_assert_text(str_lower(a, STR("aBZ[@`{\xc3\x84")), "abz[@`{\xc3\x84");
    for (int c = -128; c < 128; c++) {
        const char *digits = "0123456789abcdef";
        const char *at = c > 0 ? strchr(digits, c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) : NULL;
        ck_assert_int_eq(str_hex((char)c), at ? (int)(at - digits) : -1);
    }
}
END_TEST

START_TEST(test_str_to_i64__whole_range)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0",                    0        },
        {"-0",                   0        },
        {"+7",                   7        },
        {"007",                  7        },
        {"-42",                  -42      },
        {"9223372036854775807",  INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        int64_t v = 1;
        ck_assert_msg(str_to_i64(str_from(good[i].text), &v), "%s", good[i].text);
        ck_assert_int_eq(v, good[i].value);
    }
}
END_TEST

START_TEST(test_str_to_i64__what_is_no_number)
{
    static const char *const bad[] = {"", "-", "+", "--1", "1 ", " 1", "1.0", "0x1", "1e3",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999"};
    int64_t v = 5;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!str_to_i64(str_from(bad[i]), &v), "%s", bad[i]);
    ck_assert(!str_to_i64((struct str){NULL, 0}, &v));
    ck_assert(!str_to_i64(STR("1\0002"), &v));
    ck_assert_int_eq(v, 5);
}
END_TEST

START_TEST(test_str_to_bool__any_case_and_nothing_else)
{
    bool v = false;
    ck_assert(str_to_bool(STR("TRUE"), &v) && v);
    ck_assert(str_to_bool(STR("False"), &v) && !v);
    ck_assert(!str_to_bool(STR("1"), &v));
    ck_assert(!str_to_bool(STR(""), &v));
    ck_assert(!str_to_bool(STR("true "), &v));
}
END_TEST

START_TEST(test_str_pct_decode__good)
{
    static const struct {
        struct str in;
        enum str_plus plus;
        struct str out;
    } rows[] = {
        {STR_INIT("plain"),          STR_PLUS_LITERAL, STR_INIT("plain")           },
        {STR_INIT(""),               STR_PLUS_LITERAL, STR_INIT("")                },
        {STR_INIT("a%1Fb"),          STR_PLUS_LITERAL,
         STR_INIT("a\x1f"
                     "b")                                                          },
        {STR_INIT("a%1fb"),          STR_PLUS_LITERAL,
         STR_INIT("a\x1f"
                     "b")                                                          },
        {STR_INIT("a+b"),            STR_PLUS_LITERAL, STR_INIT("a+b")             },
        {STR_INIT("a+b%2B"),         STR_PLUS_SPACE,   STR_INIT("a b+")            },
        {STR_INIT("%2541"),          STR_PLUS_LITERAL, STR_INIT("%41")             },
        {STR_INIT("%C3%A4\xc3\xa4"), STR_PLUS_LITERAL, STR_INIT("\xc3\xa4\xc3\xa4")},
        {STR_INIT("%F0%9F%98%80"),   STR_PLUS_LITERAL, STR_INIT("\xf0\x9f\x98\x80")},
        {STR_INIT("%2F%2e%5C"),      STR_PLUS_LITERAL, STR_INIT("/.\\")            },
    };
    AUTO(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str out = {NULL, 0};
        ck_assert(str_pct_decode(a, rows[i].in, rows[i].plus, &out));
        ck_assert_msg(str_eq(out, rows[i].out), "%s gave %s", rows[i].in.p, out.p);
        ck_assert_int_eq(out.p[out.n], '\0');
    }
}
END_TEST

START_TEST(test_str_pct_decode__bad)
{
    static const struct str bad[] = {STR_INIT("%"), STR_INIT("a%2"), STR_INIT("%zz"),
        STR_INIT("%4g"), STR_INIT("%00"), STR_INIT("a\0b"), STR_INIT("%FF"), STR_INIT("%C3"),
        STR_INIT("%C3%"), STR_INIT("%C0%AF"), STR_INIT("%ED%A0%80"), STR_INIT("\xff"),
        STR_INIT("%%41"), STR_INIT("%-1"), STR_INIT("% 1")};
    AUTO(arena_free) struct arena *a = arena_new();
    struct str out = STR("kept");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!str_pct_decode(a, bad[i], STR_PLUS_SPACE, &out), "%s", bad[i].p);
    ck_assert_text(out, "kept");
}
END_TEST

START_TEST(test_str_pct_encode__unreserved_and_kept_bytes_stay)
{
    AUTO(arena_free) struct arena *a = arena_new();
    ck_assert_text(str_pct_encode(a, STR("aZ09-._~"), NULL), "aZ09-._~");
    ck_assert_text(str_pct_encode(a, STR("a b/c+\xc3\xa4%"), NULL), "a%20b%2Fc%2B%C3%A4%25");
    ck_assert_text(str_pct_encode(a, STR("/a=1 "), "/="), "/a=1%20");
    ck_assert_text(str_pct_encode(a, STR(""), ""), "");
    char all[255];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    struct str text = {all, 127}, back;
    ck_assert(str_pct_decode(a, str_pct_encode(a, text, ""), STR_PLUS_SPACE, &back));
    ck_assert(str_eq(back, text));
    ck_assert_uint_eq(str_pct_encode(a, (struct str){all, 255}, "").n, 66 + 3 * (255 - 66));
}
END_TEST

/* The definition of UTF-8 by value: encode all code points, compare with what is accepted. */
START_TEST(test_str_from_latin1__every_byte_is_the_character_of_its_number)
{
    AUTO(arena_free) struct arena *a = arena_new();
    char all[256];

    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    struct str s = str_from_latin1(a, (struct str){all, sizeof(all)});
    ck_assert_uint_eq(s.n, 128 + 2 * 128);
    ck_assert(str_is_utf8(s) && memcmp(s.p, all, 128) == 0);
    ck_assert(str_ends(s, STR("\xC3\xBE\xC3\xBF")));
    ck_assert(str_eq(str_sub(s, 128, 4), STR("\xC2\x80\xC2\x81")));
    ck_assert_uint_eq(str_from_latin1(a, STR("")).n, 0);
}
END_TEST

START_TEST(test_str_is_utf8__exactly_the_encodings_of_scalar_values)
{
    unsigned accepted = 0;
    for (unsigned v = 0; v < 0x1000000; v++) {
        char p[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        accepted += str_utf8_char((struct str){p, 3}) == 3;
    }
    ck_assert_uint_eq(accepted, 0x10000 - 0x800 - 0x800);
    accepted = 0;
    for (unsigned v = 0; v < 0x10000; v++) {
        char p[2] = {(char)(v >> 8), (char)v};
        accepted += str_utf8_char((struct str){p, 2}) == 2;
    }
    ck_assert_uint_eq(accepted, 0x800 - 0x80);
}
END_TEST

START_TEST(test_str_is_utf8__borders_of_every_length)
{
    static const struct str good[] = {STR_INIT(""), STR_INIT("\x7f"), STR_INIT("\xc2\x80"),
        STR_INIT("\xdf\xbf"), STR_INIT("\xe0\xa0\x80"), STR_INIT("\xed\x9f\xbf"),
        STR_INIT("\xee\x80\x80"), STR_INIT("\xef\xbf\xbf"), STR_INIT("\xf0\x90\x80\x80"),
        STR_INIT("\xf4\x8f\xbf\xbf"), STR_INIT("a\0b")};
    static const struct str bad[] = {STR_INIT("\x80"), STR_INIT("\xc1\xbf"),
        STR_INIT("\xe0\x9f\xbf"), STR_INIT("\xed\xa0\x80"), STR_INIT("\xf0\x8f\xbf\xbf"),
        STR_INIT("\xf4\x90\x80\x80"), STR_INIT("\xf5\x80\x80\x80"), STR_INIT("\xc3"),
        STR_INIT("\xe2\x82"), STR_INIT("\xf0\x9f\x98"), STR_INIT("\xff"),
        STR_INIT("\xc3"
                 "a")};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        ck_assert_msg(str_is_utf8(good[i]), "good %zu", i);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!str_is_utf8(bad[i]), "bad %zu", i);
}
END_TEST

START_TEST(test_str_is_utf8__a_bad_byte_is_seen_at_any_place)
{
    char text[40];
    for (size_t n = 1; n <= sizeof(text); n++) {
        for (size_t at = 0; at < n; at++) {
            memset(text, 'a', sizeof(text));
            ck_assert(str_is_utf8((struct str){text, n}));
            text[at] = '\xff';
            ck_assert(!str_is_utf8((struct str){text, n}));
            text[at] = '\xc3';
            if (at + 1 < n)
                text[at + 1] = '\xa4';
            ck_assert(str_is_utf8((struct str){text, n}) == (at + 1 < n));
        }
    }
}
END_TEST

START_TEST(test_str_utf8_put__first_and_last_of_each_length)
{
    char text[32], *end = text;
    static const uint32_t all[] = {1, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        end = str_utf8_put(end, all[i]);
    ck_assert_text(str_range(text, end),
        "\x01\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}
END_TEST

START_TEST(test_str_utf8_cut__no_character_is_split)
{
    struct str s = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < ARRAY_LEN(expected); max++)
        ck_assert_uint_eq(str_utf8_cut(s, max).n, expected[max]);
    ck_assert_uint_eq(str_utf8_cut(STR("\x80\x80\x80\x80\x80\x80"), 5).n, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/str");
    TCase *cases = tcase_create("base/str");
    tcase_add_test(cases, test_str_eq__length_content_and_absent);
    tcase_add_test(cases, test_str_starts_ends__also_with_empty_ones);
    tcase_add_test(cases, test_str_fits__names_beginnings_ends_and_middles);
    tcase_add_test(cases, test_str_cmp__byte_order_shorter_first);
    tcase_add_test(cases, test_str_cut__every_field_then_absent);
    tcase_add_test(cases, test_str_find_trim_sub__borders);
    tcase_add_test(cases, test_str_lower_hex__ascii_alone);
    tcase_add_test(cases, test_str_to_i64__whole_range);
    tcase_add_test(cases, test_str_to_i64__what_is_no_number);
    tcase_add_test(cases, test_str_to_bool__any_case_and_nothing_else);
    tcase_add_test(cases, test_str_pct_decode__good);
    tcase_add_test(cases, test_str_pct_decode__bad);
    tcase_add_test(cases, test_str_pct_encode__unreserved_and_kept_bytes_stay);
    tcase_add_test(cases, test_str_from_latin1__every_byte_is_the_character_of_its_number);
    tcase_add_test(cases, test_str_is_utf8__exactly_the_encodings_of_scalar_values);
    tcase_add_test(cases, test_str_is_utf8__borders_of_every_length);
    tcase_add_test(cases, test_str_is_utf8__a_bad_byte_is_seen_at_any_place);
    tcase_add_test(cases, test_str_utf8_put__first_and_last_of_each_length);
    tcase_add_test(cases, test_str_utf8_cut__no_character_is_split);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
