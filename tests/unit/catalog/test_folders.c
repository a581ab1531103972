/* Sets of hashes and of folders, and what a mark of a table covers. */
#include <check.h>
#include <stdlib.h>

#include "arena.h"
#include "folders.h"
#include "named.h"
#include "store.h"

START_TEST(test_hashes__grow_up_to_their_limit)
{
    struct hashes h = {0};
    ck_assert(!hashes_has(&h, 0) && !hashes_has(&h, 7));
    for (uint64_t i = 2; i < 5002; i++)
        ck_assert(!hashes_add(&h, i * i, 4000));
    ck_assert_uint_eq(h.n, 4000);
    for (uint64_t i = 2; i < 5002; i++)
        ck_assert(hashes_has(&h, i * i) == (i < 4002));
    ck_assert(hashes_add(&h, 100, 4000));
    hashes_fini(&h);
}
END_TEST

static struct arena *arena;
static struct folders folders;

static void begin(void)
{
    arena = arena_new();
    folders_init(&folders, arena);
}

static void end(void)
{
    folders_fini(&folders);
    arena_free(&arena);
}

static struct sql_folder at(const char *authority, const char *path)
{
    return (struct sql_folder){str_from(authority), str_from(path)};
}

START_TEST(test_folder_of_file__the_top_too)
{
    struct location deep = {STR("s3://b"), STR("/w/t/data/f")}, top = {STR("s3://b"), STR("/f")};
    ck_assert(str_eq(folder_of_file(&deep).path, STR("/w/t/data")));
    ck_assert(str_eq(folder_of_file(&top).path, STR("")));
}
END_TEST

START_TEST(test_folders__one_above_stands_for_those_in_it)
{
    folders_add(&folders, at("s3://b", "/w/x"));
    folders_add(&folders, at("s3://b", "/w/x"));
    folders_add(&folders, at("s3://b", "/w/x/y"));
    ck_assert_uint_eq(folders.n, 1);
    folders_add(&folders, at("s3://c", "/w/x/y"));
    folders_add(&folders, at("s3://b", "/w/xy"));
    ck_assert_uint_eq(folders.n, 3);
    folders_add(&folders, at("s3://b", ""));
    folders_add(&folders, at("s3://b", "/z"));
    ck_assert_uint_eq(folders.n, 4);
    ck_assert(
        folders_has(&folders, at("s3://b", "")) && !folders_has(&folders, at("s3://b", "/z")));
}
END_TEST

START_TEST(test_folders__too_many_become_those_above)
{
    for (int i = 0; i < 5000; i++)
        folders_add(&folders, at("s3://b", arena_printf(arena, "/w/t%d/data/p%d", i / 100, i).p));
    ck_assert_uint_le(folders.n, FOLDERS_MAX);
    for (int i = 0; i < 50; i++)
        ck_assert(folders_has(&folders, at("s3://b", arena_printf(arena, "/w/t%d/data", i).p)));
    folders_add(&folders, at("s3://b", "/w/t7/data/more/and/more"));
    ck_assert_uint_eq(folders.n, 50);
}
END_TEST

START_TEST(test_folders__of_too_many_buckets_is_anywhere)
{
    for (int i = 0; i < 3000; i++)
        folders_add(&folders, at(arena_printf(arena, "s3://b%d", i).p, "/w/x"));
    ck_assert_uint_eq(folders.n, 1);
    ck_assert(folders_has(&folders, at("", "")));
}
END_TEST

START_TEST(test_named_mark__as_text_and_back)
{
    struct named_mark none = named_mark_read(arena, 0, STR(""));
    ck_assert_uint_eq(none.n, 0);
    ck_assert_uint_eq(named_mark_text(arena, &none).n, 0);
    struct named_mark some = named_mark_read(arena, 9, STR("5 -9223372036854775808 3"));
    ck_assert_uint_eq(some.n, 3);
    ck_assert_int_eq(some.sequence_number, 9);
    ck_assert(some.snapshots[0] == 5 && some.sorted[0] == INT64_MIN && some.sorted[1] == 3);
    ck_assert(str_eq(named_mark_text(arena, &some), STR("5 -9223372036854775808 3")));
    struct named_mark more = named_mark_read(arena, 9, STR("5 3|7 8"));
    ck_assert(more.n == 2 && more.n_adders == 2 && more.adders[0] == 7);
    ck_assert(str_eq(named_mark_text(arena, &more), STR("5 3|7 8")));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("folders");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_hashes__grow_up_to_their_limit);
    tcase_add_test(tc, test_folder_of_file__the_top_too);
    tcase_add_test(tc, test_folders__one_above_stands_for_those_in_it);
    tcase_add_test(tc, test_folders__too_many_become_those_above);
    tcase_add_test(tc, test_folders__of_too_many_buckets_is_anywhere);
    tcase_add_test(tc, test_named_mark__as_text_and_back);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
