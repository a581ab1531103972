#include "arena.h"

#include <check.h>
#include <signal.h>
#include <stdint.h>

#include "base.h"

START_TEST(test_arena_alloc__all_sizes_are_aligned_and_apart)
{
    AUTO(arena_free) struct arena *a = arena_new();
    unsigned char *pieces[400];
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        pieces[i] = arena_alloc(a, i * 7);
        ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i & 255), i * 7);
    }
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        for (size_t k = 0; k < i * 7; k++)
            ck_assert_uint_eq(pieces[i][k], i & 255);
}
END_TEST

START_TEST(test_arena_alloc__big_pieces_between_small_ones)
{
    AUTO(arena_free) struct arena *a = arena_new();
    static const size_t sizes[] = {1, 16 * 1024, 3, 1 << 20, 5, 255 * 1024, 7, 60 * 1024, 9};
    char *pieces[ARRAY_LEN(sizes)];
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        pieces[i] = arena_alloc(a, sizes[i]);
        memset(pieces[i], 'a' + (int)i, sizes[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        ck_assert_int_eq(pieces[i][0], 'a' + (int)i);
        ck_assert_int_eq(pieces[i][sizes[i] - 1], 'a' + (int)i);
    }
}
END_TEST

START_TEST(test_arena_zalloc__memory_of_the_last_call_is_zeroed)
{
    AUTO(arena_free) struct arena *a = arena_new();
    memset(arena_alloc(a, 1000), 0xff, 1000);
    arena_reset(a);
    const char *p = ARENA_ARRAY(a, char, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(p[i], 0);
}
END_TEST

START_TEST(test_arena_zalloc__a_product_that_overflows_ends_the_process)
{
    AUTO(arena_free) struct arena *a = arena_new();
    volatile size_t n = SIZE_MAX / 4;
    ARENA_ARRAY(a, uint64_t, n);
}
END_TEST

START_TEST(test_arena_reset__starts_counting_again)
{
    AUTO(arena_free) struct arena *a = arena_new();
    ck_assert_uint_eq(arena_used(a), 0);
    arena_alloc(a, 100);
    arena_alloc(a, 100000);
    ck_assert_uint_eq(arena_count(a), 2);
    ck_assert_uint_ge(arena_used(a), 100100);
    ck_assert_uint_le(arena_used(a), 100200);
    arena_reset(a);
    ck_assert_uint_eq(arena_used(a), 0);
    ck_assert_uint_eq(arena_count(a), 0);
}
END_TEST

START_TEST(test_arena_reset__a_small_call_costs_no_allocation_outside)
{
    AUTO(arena_free) struct arena *a = arena_new();
    unsigned long before = xmalloc_count();
    for (int call = 0; call < 100; call++) {
        for (int i = 0; i < 100; i++)
            arena_alloc(a, 100);
        arena_reset(a);
    }
    ck_assert_uint_eq(xmalloc_count(), before);
}
END_TEST

START_TEST(test_arena_free__nothing_there)
{
    struct arena *a = NULL;
    arena_free(&a);
    a = arena_new();
    arena_free(&a);
    ck_assert_ptr_null(a);
}
END_TEST

START_TEST(test_arena_dup__copy_ends_in_nul_and_absent_stays_absent)
{
    AUTO(arena_free) struct arena *a = arena_new();
    char text[] = "warehouse";
    struct str copy = arena_dup(a, (struct str){text, 4});
    text[0] = 'x';
    ck_assert_uint_eq(copy.n, 4);
    ck_assert_str_eq(copy.p, "ware");
    ck_assert_str_eq(arena_dup(a, STR("")).p, "");
    ck_assert_ptr_null(arena_dup(a, (struct str){NULL, 0}).p);
    ck_assert_str_eq(arena_cstr(a, (struct str){NULL, 0}), "");
    ck_assert_uint_eq(arena_dup(a, STR("a\0b")).n, 3);
}
END_TEST

START_TEST(test_arena_printf__short_and_long)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str s = arena_printf(a, "%s/%05d", "data", 42);
    ck_assert_str_eq(s.p, "data/00042");
    ck_assert_uint_eq(s.n, 10);
    for (int n = 505; n < 520; n++) {
        s = arena_printf(a, "%0*d", n, 7);
        ck_assert_uint_eq(s.n, (size_t)n);
        ck_assert_uint_eq(strlen(s.p), (size_t)n);
        ck_assert_int_eq(s.p[n - 1], '7');
    }
    s = arena_printf(a, "%s", "");
    ck_assert_uint_eq(s.n, 0);
    ck_assert_ptr_nonnull(s.p);
}
END_TEST

struct note {
    char *list, mark;
};

static void release_note(void *obj)
{
    struct note *note = obj;
    note->list[strlen(note->list)] = note->mark;
}

START_TEST(test_arena_hold__releases_run_once_newest_first)
{
    char list[8] = "";
    struct note one = {list, '1'}, two = {list, '2'}, three = {list, '3'};
    struct arena *a = arena_new();
    ck_assert_ptr_eq(arena_hold(a, &one, release_note), &one);
    arena_hold(a, &two, release_note);
    ck_assert_ptr_null(arena_hold(a, NULL, release_note));
    arena_reset(a);
    ck_assert_str_eq(list, "21");
    arena_hold(a, &three, release_note);
    arena_free(&a);
    ck_assert_str_eq(list, "213");
}
END_TEST

struct chain {
    struct arena *a;
    struct note *then;
};

static void release_chain(void *obj)
{
    struct chain *chain = obj;
    memset(arena_alloc(chain->a, 100), 1, 100);
    arena_hold(chain->a, chain->then, release_note);
}

START_TEST(test_arena_hold__a_release_may_hold_more)
{
    char list[8] = "";
    AUTO(arena_free) struct arena *a = arena_new();
    struct note *note = ARENA_NEW(a, struct note);
    *note = (struct note){list, 'x'};
    struct chain *chain = ARENA_NEW(a, struct chain);
    *chain = (struct chain){a, note};
    arena_hold(a, chain, release_chain);
    arena_reset(a);
    ck_assert_str_eq(list, "x");
}
END_TEST

START_TEST(test_arena_within__goes_with_the_other)
{
    char list[8] = "";
    struct note one = {list, '1'}, two = {list, '2'};
    AUTO(arena_free) struct arena *a = arena_new();
    struct arena *within = arena_within(a);
    arena_hold(within, &one, release_note);
    arena_reset(within);
    ck_assert_str_eq(list, "1");
    arena_hold(within, &two, release_note);
    arena_reset(a);
    ck_assert_str_eq(list, "12");
}
END_TEST

START_TEST(test_take__the_variable_is_null_afterwards)
{
    char *p = xstrdup("text"), *q = TAKE(p);
    ck_assert_ptr_null(p);
    ck_assert_str_eq(q, "text");
    xfree(q);
}
END_TEST

START_TEST(test_xmalloc__counts_and_accepts_zero)
{
    unsigned long plain = xmalloc_count(), json = xmalloc_json_count();
    void *p = xmalloc(0);
    p = xrealloc(p, 100);
    xfree(p);
    xfree(xcalloc(0, 8));
    ck_assert_uint_eq(xmalloc_count(), plain + 3);
    xfree(xmalloc_json(8));
    ck_assert_uint_eq(xmalloc_json_count(), json + 1);
    ck_assert_uint_eq(xmalloc_count(), plain + 3);
}
END_TEST

#ifndef FIRN_SANITIZE /* under which memory that was given back is gone for good */
START_TEST(test_arena_new_secret__wiped_when_given_back)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    char *p = arena_alloc(a, 64), *big = arena_alloc(a, 1 << 20);
    memset(p, 'x', 64);
    memset(big, 'x', 1 << 20);
    arena_reset(a); /* keeps the first block */
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(p[i], 0);
    memset(arena_alloc(a, 64), 'y', 64);
    arena_reset(a); /* and goes on wiping */
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(p[i], 0);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("base/arena");
    TCase *cases = tcase_create("base/arena");
#ifndef FIRN_SANITIZE
    tcase_add_test(cases, test_arena_new_secret__wiped_when_given_back);
#endif
    tcase_add_test(cases, test_arena_alloc__all_sizes_are_aligned_and_apart);
    tcase_add_test(cases, test_arena_alloc__big_pieces_between_small_ones);
    tcase_add_test(cases, test_arena_zalloc__memory_of_the_last_call_is_zeroed);
    tcase_add_test_raise_signal(
        cases, test_arena_zalloc__a_product_that_overflows_ends_the_process, SIGABRT);
    tcase_add_test(cases, test_arena_reset__starts_counting_again);
    tcase_add_test(cases, test_arena_reset__a_small_call_costs_no_allocation_outside);
    tcase_add_test(cases, test_arena_free__nothing_there);
    tcase_add_test(cases, test_arena_dup__copy_ends_in_nul_and_absent_stays_absent);
    tcase_add_test(cases, test_arena_printf__short_and_long);
    tcase_add_test(cases, test_arena_hold__releases_run_once_newest_first);
    tcase_add_test(cases, test_arena_hold__a_release_may_hold_more);
    tcase_add_test(cases, test_arena_within__goes_with_the_other);
    tcase_add_test(cases, test_take__the_variable_is_null_afterwards);
    tcase_add_test(cases, test_xmalloc__counts_and_accepts_zero);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
