#include "ident.h"

#include <check.h>

#include "arena.h"
#include "base.h"
#include "json_tool.h"

static struct arena *arena;

static void begin(void)
{
    arena = arena_new();
}

static void end(void)
{
    arena_free(&arena);
}

static struct str times(const char *text, size_t n)
{
    size_t each = strlen(text);
    char *p = arena_alloc(arena, n * each + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(p + i * each, text, each);
    p[n * each] = '\0';
    return (struct str){p, n * each};
}

static void check_error(bool ok, const struct err *err, const char *message)
{
    ck_assert_msg(!ok, "accepted: %s", message);
    ck_assert_str_eq(err->msg, message);
    ck_assert_int_eq(err->kind, ERR_BAD_REQUEST);
}

START_TEST(test_ident_name_check__everything_utf8_can_carry)
{
    static const char *const good[] = {"t", " ", "a b", "a.b", "...", ".a", "a/b", "a%2Fb", "a+b",
        "a\"b'c\\", "?#&=", "\xc3\xa4\xc3\xb6", "\xf0\x9f\x98\x80", "\xc2\xa0", "\xe2\x80\x8b",
        "SELECT", "null", "~"};
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        ck_assert_msg(ident_name_check(str_from(good[i]), "table name", &err), "%s", err.msg);
    ck_assert(ident_name_check(times("x", 255), "table name", &err));
    ck_assert(ident_name_check(times("\xc3\xa4", 127), "table name", &err));
}
END_TEST

START_TEST(test_ident_name_check__names_nobody_can_have)
{
    static const char control[] = "Invalid table name: the name contains a control character";
    static const struct {
        struct str name;
        const char *message;
    } bad[] = {
        {STR_INIT(""),             "Invalid table name: the name is empty"          },
        {{NULL, 0},                "Invalid table name: the name is empty"          },
        {STR_INIT("."),            "Invalid table name: '.' is reserved"            },
        {STR_INIT(".."),           "Invalid table name: '..' is reserved"           },
        {STR_INIT("a\x1f"
                  "b"),
         control                                                                    },
        {STR_INIT("a\0b"),         control                                          },
        {STR_INIT("a\n"),          control                                          },
        {STR_INIT("\t"),           control                                          },
        {STR_INIT("\x7f"),         control                                          },
        {STR_INIT("a\xc2\x9b"
                  "31m"),
         control                                                                    },
        {STR_INIT("\xc2\x80"),     control                                          },
        {STR_INIT("\xff"),         "Invalid table name: the name is not valid UTF-8"},
        {STR_INIT("a\xc3"),        "Invalid table name: the name is not valid UTF-8"},
        {STR_INIT("\xed\xa0\x80"), "Invalid table name: the name is not valid UTF-8"},
        {STR_INIT("\xc0\xaf"),     "Invalid table name: the name is not valid UTF-8"},
    };
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_error(ident_name_check(bad[i].name, "table name", &err), &err, bad[i].message);
    check_error(ident_name_check(times("\xc3\xa4", 128), "view", &err), &err,
        "Invalid view: the name has 256 bytes, at most 255 are allowed");
}
END_TEST

START_TEST(test_ident_ns_check__levels)
{
    struct err err;
    ck_assert(ident_ns_check(STR("a"), &err));
    ck_assert(ident_ns_check(STR("a\x1f"
                                 "b.c\x1f d"),
        &err));
    check_error(ident_ns_check(STR(""), &err), &err, "Invalid namespace: it has no levels");
    check_error(
        ident_ns_check((struct str){NULL, 0}, &err), &err, "Invalid namespace: it has no levels");
    static const char *const empty[] = {"\x1f", "a\x1f",
        "\x1f"
        "a",
        "a\x1f\x1f"
        "b"};
    for (size_t i = 0; i < ARRAY_LEN(empty); i++)
        check_error(ident_ns_check(str_from(empty[i]), &err), &err,
            "Invalid namespace level: the name is empty");
    check_error(
        ident_ns_check(STR("a\x1f.."), &err), &err, "Invalid namespace level: '..' is reserved");
    check_error(ident_ns_check(STR("a\nb"), &err), &err,
        "Invalid namespace level: the name contains a control character");
}
END_TEST

START_TEST(test_ident_ns_check__two_thousand_bytes_in_all)
{
    struct err err;
    struct str most = times("1234567\x1f", 256);
    ck_assert(ident_ns_check(str_sub(most, 0, 2047), &err));
    ck_assert(ident_ns_check(arena_printf(arena, "%.*s8", 2047, most.p), &err));
    check_error(ident_ns_check(arena_printf(arena, "%.*s89", 2047, most.p), &err), &err,
        "Invalid namespace: its levels have 2049 bytes together, at most 2048 are allowed");
    check_error(ident_ns_check(times("x", 256), &err), &err,
        "Invalid namespace level: the name has 256 bytes, at most 255 are allowed");
}
END_TEST

START_TEST(test_ident_ns_from_json__levels_joined)
{
    struct str ns;
    struct err err;
    ck_assert(ident_ns_from_json(arena, quoted(arena, "['a','b.c','\xc3\xa4']"), "", &ns, &err));
    ck_assert(str_eq(ns, STR("a\x1f"
                             "b.c\x1f\xc3\xa4")));
    ck_assert(ident_ns_from_json(arena, quoted(arena, "['a']"), "", &ns, &err));
    ck_assert(str_eq(ns, STR("a")));
    ck_assert_int_eq(ns.p[ns.n], 0);
}
END_TEST

START_TEST(test_ident_ns_from_json__malformed)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"null",          "Invalid namespace: it must be a list of levels"                },
        {"'a'",           "Invalid namespace: it must be a list of levels"                },
        {"{}",            "Invalid namespace: it must be a list of levels"                },
        {"[]",            "Invalid namespace: it has no levels (/x/namespace)"            },
        {"[1]",           "Invalid namespace: level 0 is not a string"                    },
        {"['a',null]",    "Invalid namespace: level 1 is not a string"                    },
        {"['a',['b']]",   "Invalid namespace: level 1 is not a string"                    },
        {"['']",          "Invalid namespace level: the name is empty (/x/namespace/0)"   },
        {"['a\\u001fb']",
         "Invalid namespace level: the name contains a control character (/x/namespace/0)"},
        {"['..']",        "Invalid namespace level: '..' is reserved (/x/namespace/0)"    },
    };
    struct str ns;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_error(ident_ns_from_json(arena, quoted(arena, bad[i].json), "/x", &ns, &err), &err,
            bad[i].message);
    check_error(ident_ns_from_json(arena, NULL, "", &ns, &err), &err,
        "Invalid namespace: it must be a list of levels");
    json_t *many = held(arena, json_array());
    for (int i = 0; i < 1025; i++)
        json_array_append_new(many, json_string("x"));
    check_error(ident_ns_from_json(arena, many, "", &ns, &err), &err,
        "Invalid namespace: its levels have 2049 bytes together, at most 2048 are allowed "
        "(/namespace)");
    json_array_remove(many, 0);
    ck_assert(ident_ns_from_json(arena, many, "", &ns, &err));
}
END_TEST

START_TEST(test_ident_from_json__namespace_and_name)
{
    struct ident id;
    struct err err;
    json_t *tree = quoted(arena, "{'namespace':['a','b'],'name':'t.x','more':1}");
    ck_assert(ident_from_json(arena, tree, "", &id, &err));
    ck_assert(str_eq(id.ns, STR("a\x1f"
                                "b")));
    ck_assert(str_eq(id.name, STR("t.x")));
    ck_assert(str_eq(ident_text(arena, &id), STR("a.b.t.x")));
    ck_assert(str_eq(ident_ns_text(arena, id.ns), STR("a.b")));
}
END_TEST

START_TEST(test_ident_from_json__malformed)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"null",                             "Invalid namespace: it must be a list of levels" },
        {"{'name':'t'}",                     "Invalid namespace: it must be a list of levels" },
        {"{'namespace':['a']}",              "Invalid table name: it must be a string"        },
        {"{'namespace':['a'],'name':null}",  "Invalid table name: it must be a string"        },
        {"{'namespace':['a'],'name':['t']}", "Invalid table name: it must be a string"        },
        {"{'namespace':['a'],'name':''}",    "Invalid table name: the name is empty (/x/name)"},
        {"{'namespace':['a'],'name':'.'}",   "Invalid table name: '.' is reserved (/x/name)"  },
    };
    struct ident id;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_error(ident_from_json(arena, quoted(arena, bad[i].json), "/x", &id, &err), &err,
            bad[i].message);
}
END_TEST

START_TEST(test_ident_text__of_one_level_and_of_none)
{
    struct ident id = {STR("a"), STR("t")};
    ck_assert(str_eq(ident_text(arena, &id), STR("a.t")));
    ck_assert(str_eq(ident_ns_text(arena, STR("")), STR("")));
    ck_assert(str_eq(ident_ns_text(arena, (struct str){NULL, 0}), STR("")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/ident");
    TCase *cases = tcase_create("catalog/ident");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_ident_name_check__everything_utf8_can_carry);
    tcase_add_test(cases, test_ident_name_check__names_nobody_can_have);
    tcase_add_test(cases, test_ident_ns_check__levels);
    tcase_add_test(cases, test_ident_ns_check__two_thousand_bytes_in_all);
    tcase_add_test(cases, test_ident_ns_from_json__levels_joined);
    tcase_add_test(cases, test_ident_ns_from_json__malformed);
    tcase_add_test(cases, test_ident_from_json__namespace_and_name);
    tcase_add_test(cases, test_ident_from_json__malformed);
    tcase_add_test(cases, test_ident_text__of_one_level_and_of_none);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
