#include <check.h>
#include <stdlib.h>

#include "../storage/folder.h"
#include "arena.h"
#include "base.h"
#include "catalog_priv.h"

static struct arena *arena;
static struct catalog catalog;

/* The warehouse is <folder>/a/wh; <folder> itself and s3://b/x may be named too. */
static void begin(void)
{
    struct err err = {.kind = ERR_NONE};
    arena = arena_new();
    folder_make();
    const char *base = arena_cstr(arena, str_from(folder_uri("a/wh")));
    const char *outer = arena_cstr(arena, str_from(folder_uri("")));
    const char *const allowed[] = {outer, NULL};
    const struct store_conf conf = {.base = base, .allowed = allowed};
    ck_assert_msg(store_open(&conf, &catalog.store, &err), "%s", err.msg);
    catalog.n_roots = 2;
    catalog.roots = ARENA_ARRAY(arena, struct location, 2);
    ck_assert(location_parse(arena, str_from(base), &catalog.roots[0], &err));
    ck_assert(location_parse(arena, str_from(outer), &catalog.roots[1], &err));
}

static void end(void)
{
    store_close(&catalog.store);
    folder_remove();
    arena_free(&arena);
}

static const char *uri(const char *name)
{
    return arena_cstr(arena, str_from(folder_uri(name)));
}

static void good(const char *asked, const char *location, const char *path)
{
    struct err err = {.kind = ERR_NONE};
    struct str found;
    struct sql_place place;
    bool ok = place__check(arena, &catalog, str_from(asked), &found, &place, &err);
    ck_assert_msg(ok, "%s", err.msg);
    ck_assert(str_eq(found, str_from(location)));
    ck_assert(str_eq(place.authority, STR("file:")));
    ck_assert(str_eq(place.path, str_from(path)));
}

static void bad(const char *asked, const char *message)
{
    struct err err = {.kind = ERR_NONE};
    struct str found;
    struct sql_place place;
    ck_assert_msg(
        !place__check(arena, &catalog, str_from(asked), &found, &place, &err), "%s", asked);
    ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
    ck_assert_msg(strstr(err.msg, message) != NULL, "%s", err.msg);
}

START_TEST(test_place_check__beneath_a_base)
{
    const char *root = folder_path("");
    struct str top = {root, strlen(root)};
    while (str_ends(top, STR("/")))
        top.n--;
    const char *outer = arena_cstr(arena, top);
    const char *base = arena_printf(arena, "%s/a/wh", outer).p;
    const char *t = arena_printf(arena, "%s/ns/t", base).p;
    good(uri("a/wh/ns/t"), uri("a/wh/ns/t"), t);
    good(uri("a/wh/ns/t///"), uri("a/wh/ns/t"), t);
    good(arena_printf(arena, "file:%s", t).p, arena_printf(arena, "file:%s", t).p, t);
    good(uri("a/wh2"), uri("a/wh2"), arena_printf(arena, "%s/a/wh2", outer).p);
}
END_TEST

START_TEST(test_place_check__bases_stay_free)
{
    bad(uri("a/wh"), "is or contains the base of a warehouse");
    bad(uri("a/wh/"), "is or contains the base of a warehouse");
    bad(uri("a"), "is or contains the base of a warehouse");
    bad(uri(""), "is or contains the base of a warehouse");
}
END_TEST

START_TEST(test_place_check__elsewhere_and_nowhere)
{
    bad("file:///", "Invalid location");
    bad("file:///elsewhere/t", "not allowed");
    bad("s3://b/t", "not allowed");
    bad(uri("a/wh/../../b"), "Invalid location");
    bad("", "Invalid location");
    bad("///", "Invalid location");
    bad("t", "Invalid location");
    struct str deep = str_from(uri("a/wh"));
    for (int i = 0; i < 30; i++)
        deep = arena_printf(arena, "%.*s/0123456789012345678901234567890123456789", STR_ARG(deep));
    bad(deep.p, "Invalid location");
}
END_TEST

static void check_default(
    const char *path, const char *properties, const char *name, const char *expected)
{
    struct sql_ns ns = {.path = str_from(path), .properties = str_from(properties)};
    struct str uuid = STR("7d444840-9dc0-11d1-b245-5ffdce74fad2");
    struct str found = place__default(arena, &catalog, &ns, str_from(name), uuid);
    struct str full = arena_printf(arena, "%s%.*s", expected, STR_ARG(uuid));
    ck_assert_msg(str_eq(found, full), "%.*s", STR_ARG(found));
    struct str location;
    struct sql_place place;
    struct err err;
    ck_assert(place__check(arena, &catalog, found, &location, &place, &err));
    ck_assert(str_eq(location, found));
}

START_TEST(test_place_default__readable_and_never_used_twice)
{
    check_default("a\x1f"
                  "b",
        "{}", "t", uri("a/wh/a/b/t-"));
    check_default("ns", "{}", "../x y/\xc3\xa4?", uri("a/wh/ns/.._x_y____-"));
    check_default("n/s\x1f...", "{}", "T.1_2-3", uri("a/wh/n_s/.../T.1_2-3-"));
    char *longest = arena_zalloc(arena, 256);
    memset(longest, 'n', 255);
    struct str cut = arena_printf(arena, "a/wh/%.40s/%.40s-", longest, longest);
    check_default(longest, "{}", longest, uri(cut.p));
    struct str levels = STR("l");
    for (int i = 0; i < 200; i++)
        levels = arena_printf(arena, "%.*s\x1fl", STR_ARG(levels));
    check_default(levels.p, "{}", "t", uri("a/wh/"));
}
END_TEST

START_TEST(test_place_default__the_namespace_may_say_where)
{
    struct str inside = arena_printf(arena, "{\"location\":\"%s/\"}", uri("elsewhere/ns"));
    check_default("ns", inside.p, "t", uri("elsewhere/ns/t-"));
    check_default("ns", "{\"location\":\"s3://not-ours/ns\"}", "t", uri("a/wh/ns/t-"));
    check_default("ns", "{\"location\":\"\"}", "t", uri("a/wh/ns/t-"));
    check_default("ns", "{\"location\":7}", "t", uri("a/wh/ns/t-"));
    struct str deep = str_from(uri("d"));
    for (int i = 0; i < 10; i++)
        deep = arena_printf(arena, "%.*s/01234567890123456789", STR_ARG(deep));
    struct str far = arena_printf(arena, "{\"location\":\"%.*s\"}", STR_ARG(deep));
    check_default("ns", far.p, "t", arena_printf(arena, "%.*s/t-", STR_ARG(deep)).p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/place");
    TCase *cases = tcase_create("catalog/place");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_place_check__beneath_a_base);
    tcase_add_test(cases, test_place_check__bases_stay_free);
    tcase_add_test(cases, test_place_check__elsewhere_and_nowhere);
    tcase_add_test(cases, test_place_default__readable_and_never_used_twice);
    tcase_add_test(cases, test_place_default__the_namespace_may_say_where);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
