#include "clock.h"

#include <check.h>
#include <stdlib.h>

#include "base.h"

START_TEST(test_clock_parse__with_any_fraction)
{
    ck_assert_int_eq(clock_parse(STR("1970-01-01T00:00:01Z")), 1000);
    ck_assert_int_eq(clock_parse(STR("2009-10-12T17:50:30.000Z")), 1255369830000);
    ck_assert_int_eq(clock_parse(STR("2009-10-12T17:50:30.5Z")), 1255369830500);
    ck_assert_int_eq(clock_parse(STR("2009-10-12T17:50:30.5+00:00")), 1255369830500);
    ck_assert_int_eq(clock_parse(STR("2009-10-12T17:50:30.123456789Z")), 1255369830123);
}
END_TEST

START_TEST(test_clock_parse__what_is_no_time)
{
    static const char *const texts[] = {"", "Z", "2009-10-12", "2009-10-12T17:50:30",
        "2009-10-12T17:50:30+02:00", "2009-10-12T17:50:30Zx", "2009-13-12T17:50:30Z",
        "2009-10-12T17:50:30.00000000000000000000000000000000000000Z", "yesterday"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ck_assert_msg(clock_parse(str_from(texts[i])) == 0, "%s", texts[i]);
    ck_assert_int_eq(clock_parse((struct str){NULL, 0}), 0);
}
END_TEST

START_TEST(test_clock_wait__until_then_or_stopped)
{
    atomic_bool stop = false;
    int64_t until = clock_mono_us() + 60000;
    clock_wait(until, &stop);
    ck_assert_int_ge(clock_mono_us(), until);
    atomic_store(&stop, true);
    clock_wait(INT64_MAX, &stop);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("clock");
    tcase_add_test(tc, test_clock_parse__with_any_fraction);
    tcase_add_test(tc, test_clock_parse__what_is_no_time);
    tcase_add_test(tc, test_clock_wait__until_then_or_stopped);
    Suite *s = suite_create("clock");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
