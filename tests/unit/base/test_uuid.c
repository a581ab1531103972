#include "uuid.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "clock.h"

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, UUID_TEXT);
}

START_TEST(test_uuid_v4__form_version_and_variant)
{
    for (int i = 0; i < 1000; i++) {
        char text[UUID_TEXT + 1];
        uuid_v4(text);
        ck_assert_uint_eq(strlen(text), UUID_TEXT);
        ck_assert(uuid_is(str_from(text)));
        ck_assert_int_eq(text[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", text[19]));
    }
}
END_TEST

START_TEST(test_uuid_v4__no_two_are_alike)
{
    enum { N = 10000 };
    char(*all)[UUID_TEXT + 1] = xmalloc(N * sizeof(*all));
    for (int i = 0; i < N; i++)
        uuid_v4(all[i]);
    qsort(all, N, sizeof(*all), compare);
    for (int i = 1; i < N; i++)
        ck_assert_str_ne(all[i - 1], all[i]);
    xfree(all);
}
END_TEST

START_TEST(test_uuid_v4__a_forked_child_does_not_repeat_its_parent)
{
    char ours[UUID_TEXT + 1], theirs[UUID_TEXT + 1] = "";
    uuid_v4(ours);
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        uuid_v4(theirs);
        ssize_t n = write(pipes[1], theirs, sizeof(theirs));
        _exit(n != sizeof(theirs));
    }
    uuid_v4(ours);
    ck_assert_int_eq(read(pipes[0], theirs, sizeof(theirs)), sizeof(theirs));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_str_ne(ours, theirs);
}
END_TEST

/* RFC 9562, appendix A.6: its time, the other bits are ours. */
START_TEST(test_uuid_v7__begins_with_the_milliseconds)
{
    char text[UUID_TEXT + 1];
    clock_freeze(0x017f22e279b0);
    uuid_v7(text);
    ck_assert(uuid_is(str_from(text)));
    ck_assert_int_eq(memcmp(text, "017f22e2-79b0-7", 15), 0);
    ck_assert_ptr_nonnull(strchr("89ab", text[19]));
}
END_TEST

START_TEST(test_uuid_is__only_the_long_form)
{
    ck_assert(uuid_is(STR("017F22E2-79B0-7cc3-98c4-dc0c0c07398f")));
    ck_assert(uuid_is(STR("00000000-0000-0000-0000-000000000000")));
    static const char *const bad[] = {"", "017f22e279b07cc398c4dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398ff",
        "g17f22e2-79b0-7cc3-98c4-dc0c0c07398f", "017f22e2079b0-7cc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07-98f", "{17f22e2-79b0-7cc3-98c4-dc0c0c07398}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!uuid_is(str_from(bad[i])), "%s", bad[i]);
}
END_TEST

START_TEST(test_uuid_row_id__positive_and_growing_with_time)
{
    static const int64_t times[] = {1577836800001, 1577836800002, 1700000000000, 1900000000000,
        1577836800000 + (1LL << 41) - 1};
    int64_t last = 0;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        clock_freeze(times[i]);
        int64_t id = uuid_row_id();
        ck_assert_int_gt(id, last);
        last = id;
    }
    clock_freeze(1);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_gt(uuid_row_id(), 0);
}
END_TEST

START_TEST(test_uuid_random__fills_any_length)
{
    unsigned char bytes[2000];
    for (size_t n = 0; n < 600; n += 7) {
        memset(bytes, 0, sizeof(bytes));
        uuid_random(bytes, n);
        size_t zeros = 0;
        for (size_t i = 0; i < n; i++)
            zeros += bytes[i] == 0;
        ck_assert_uint_le(zeros, 4 + n / 32);
        for (size_t i = n; i < sizeof(bytes); i++)
            ck_assert_uint_eq(bytes[i], 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/uuid");
    TCase *cases = tcase_create("base/uuid");
    tcase_add_test(cases, test_uuid_v4__form_version_and_variant);
    tcase_add_test(cases, test_uuid_v4__no_two_are_alike);
    tcase_add_test(cases, test_uuid_v4__a_forked_child_does_not_repeat_its_parent);
    tcase_add_test(cases, test_uuid_v7__begins_with_the_milliseconds);
    tcase_add_test(cases, test_uuid_is__only_the_long_form);
    tcase_add_test(cases, test_uuid_row_id__positive_and_growing_with_time);
    tcase_add_test(cases, test_uuid_random__fills_any_length);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
