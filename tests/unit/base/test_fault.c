#include "fault.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>

START_TEST(test_fault_hit__not_armed)
{
    for (int f = 0; f < FAULT_COUNT; f++)
        ck_assert(!fault_hit((enum fault)f));
}
END_TEST

START_TEST(test_fault_arm__its_turn_comes_once)
{
    ck_assert(fault_arm("SQL_SWAP_AFTER", 3));
    ck_assert(!FAULT(SQL_SWAP_AFTER));
    ck_assert(!FAULT(SQL_SWAP_AFTER));
    ck_assert(!FAULT(SQL_SWAP_BEFORE));
    ck_assert(FAULT(SQL_SWAP_AFTER));
    ck_assert(!FAULT(SQL_SWAP_AFTER));
    ck_assert(!fault_arm("NO_SUCH_POINT", 1));
}
END_TEST

START_TEST(test_fault_hit__armed_by_the_environment)
{
    setenv("FIRN_FAULT", "STORE_GET_STALL:2, EXEC_QUEUE_FULL,", 1);
    ck_assert(FAULT(EXEC_QUEUE_FULL));
    ck_assert(!FAULT(EXEC_QUEUE_FULL));
    ck_assert(!FAULT(STORE_GET_STALL));
    ck_assert(FAULT(STORE_GET_STALL));
}
END_TEST

START_TEST(test_fault_hit__a_misspelt_environment_ends_the_process)
{
    setenv("FIRN_FAULT", "STORE_GET_STAL", 1);
    fault_hit(FAULT_STORE_GET_STALL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/fault");
    TCase *cases = tcase_create("base/fault");
    tcase_add_test(cases, test_fault_hit__not_armed);
    tcase_add_test(cases, test_fault_arm__its_turn_comes_once);
    tcase_add_test(cases, test_fault_hit__armed_by_the_environment);
    tcase_add_test_raise_signal(
        cases, test_fault_hit__a_misspelt_environment_ends_the_process, SIGABRT);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
