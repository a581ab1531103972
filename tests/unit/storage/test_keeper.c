#include "keeper.h"

#include "base.h"
#include "clock.h"
#include "fetch.h"
#include "source.h"
#include "store.h"
#include "stub.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 16, TEXT = 400, SOON_US = 3000000, PATIENCE_US = 20000000 };

static struct keeper *keeper;
static char answers[STEPS][TEXT];
static struct stub_step steps[STEPS];

static void begin(void)
{
    fetch_global_init();
    ck_assert_int_eq(setenv("AWS_EC2_METADATA_DISABLED", "true", 1), 0);
    (void)unsetenv("AWS_PROFILE");
    (void)unsetenv("HOME");
    for (size_t i = 0; i < STEPS; i++)
        steps[i] = (struct stub_step){.answer = "HTTP/1.1 500 Oops\r\n\r\n"};
}

static void end(void)
{
    keeper_free(&keeper);
    stub_stop();
    fetch_global_fini();
}

/* The i-th answer: keys of this id that live so long. */
static void give(size_t i, const char *id, int life_s)
{
    char when[32];
    time_t t = (time_t)(clock_ms() / 1000) + life_s;
    struct tm tm;
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    (void)snprintf(answers[i], TEXT,
        "HTTP/1.1 200 OK\r\n\r\n{\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"s\","
        "\"Token\":\"t\",\"Expiration\":\"%s\"}",
        id, when);
    steps[i].answer = answers[i];
}

static void open_keeper(void)
{
    struct err err = {0};
    const char *url = stub_start(steps, STEPS);
    ck_assert_int_eq(setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1), 0);
    ck_assert_msg(keeper_new(&sources_s3, &(struct store_conf){0}, &keeper, &err), "%s", err.msg);
}

static int64_t soon(void)
{
    return clock_mono_us() + SOON_US;
}

/* The id of the keys of now; "" and why in *err without any. */
static const char *id_now(struct err *err)
{
    static char id[64];
    AUTO(credentials_unref) struct credentials *c = NULL;
    *err = (struct err){0};
    bool found = keeper_get(keeper, soon(), &c, err);
    (void)snprintf(id, sizeof(id), "%s", found ? c->id : "");
    return id;
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void wait_for_id(const char *id)
{
    struct err err;
    int64_t until = clock_mono_us() + PATIENCE_US;
    while (strcmp(id_now(&err), id) != 0) {
        ck_assert_msg(clock_mono_us() < until, "no %s: %s", id, err.msg);
        nap();
    }
}

static void wait_for_requests(size_t n)
{
    int64_t until = clock_mono_us() + PATIENCE_US;
    while (stub_count() < n) {
        ck_assert_msg(clock_mono_us() < until, "%zu requests", stub_count());
        nap();
    }
}

START_TEST(test_keeper_get__waits_for_the_first_keys)
{
    struct err err;
    give(0, "A", 3600);
    steps[0].delay_ms = 300;
    open_keeper();
    ck_assert_str_eq(id_now(&err), "A");
    ck_assert_str_eq(id_now(&err), "A");
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

static void *get_one(void *arg)
{
    struct err err;
    AUTO(credentials_unref) struct credentials *c = NULL;
    *(bool *)arg = keeper_get(keeper, soon(), &c, &err) && strcmp(c->id, "A") == 0;
    return NULL;
}

START_TEST(test_keeper_get__many_wait_for_one_request)
{
    enum { N = 8 };
    pthread_t threads[N];
    bool good[N] = {false};
    give(0, "A", 3600);
    steps[0].delay_ms = 300;
    open_keeper();
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, get_one, &good[i]), 0);
    for (int i = 0; i < N; i++) {
        (void)pthread_join(threads[i], NULL);
        ck_assert(good[i]);
    }
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_keeper_get__not_beyond_the_deadline)
{
    struct err err = {0};
    AUTO(credentials_unref) struct credentials *c = NULL;
    give(0, "A", 3600);
    steps[0].delay_ms = 1800; /* of the two seconds that the source waits */
    open_keeper();
    int64_t start = clock_mono_us();
    ck_assert(!keeper_get(keeper, start + 100000, &c, &err));
    ck_assert_int_lt(clock_mono_us() - start, 1750000);
    ck_assert_int_eq(err.kind, ERR_UNAVAILABLE);
    ck_assert_msg(strstr(err.msg, "no S3 keys from the container: no answer yet"), "%s", err.msg);
    wait_for_id("A");
}
END_TEST

START_TEST(test_keeper__renewed_before_they_expire)
{
    struct err err;
    give(0, "A", 6);
    give(1, "B", 3600);
    open_keeper();
    int64_t start = clock_mono_us();
    ck_assert_str_eq(id_now(&err), "A");
    /* never without keys in between */
    while (strcmp(id_now(&err), "A") == 0) {
        ck_assert(clock_mono_us() < start + PATIENCE_US);
        nap();
    }
    ck_assert_str_eq(id_now(&err), "B");
    ck_assert_uint_eq(stub_count(), 2);
}
END_TEST

START_TEST(test_keeper__old_keys_serve_until_they_expire)
{
    struct err err;
    give(0, "A", 6);
    steps[1].answer = steps[2].answer = "HTTP/1.1 503 Busy\r\n\r\n";
    open_keeper();
    wait_for_requests(3); /* the first, and two that failed */
    ck_assert_str_eq(id_now(&err), "A");
    int64_t until = clock_mono_us() + PATIENCE_US;
    while (strcmp(id_now(&err), "A") == 0)
        ck_assert(clock_mono_us() < until);
    ck_assert_msg(
        strstr(err.msg, "no S3 keys from the container: http://127.0.0.1:"), "%s", err.msg);
    ck_assert_msg(strstr(err.msg, "answered 50"), "%s", err.msg);
    ck_assert_int_eq(err.kind, ERR_UNAVAILABLE);
}
END_TEST

START_TEST(test_keeper__nobody_waits_after_a_failure)
{
    struct err err;
    for (size_t i = 1; i < STEPS; i++)
        steps[i].delay_ms = 0;
    give(4, "A", 3600);
    steps[0].answer = "HTTP/1.1 401 No\r\n\r\n";
    int64_t begun = clock_mono_us();
    open_keeper();
    ck_assert_str_eq(id_now(&err), "");
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    int64_t start = clock_mono_us();
    for (int i = 0; i < 100; i++)
        (void)id_now(&err);
    ck_assert_int_lt(clock_mono_us() - start, 3000000);
    /* and it comes back by itself, with pauses that grow */
    wait_for_id("A");
    ck_assert_uint_eq(stub_count(), 5);
    ck_assert_int_ge(clock_mono_us() - begun, 3000000);
}
END_TEST

START_TEST(test_keeper__what_came_expired_is_none)
{
    struct err err;
    give(0, "A", -10);
    give(1, "B", 3600);
    open_keeper();
    ck_assert_str_eq(id_now(&err), "");
    ck_assert_msg(strstr(err.msg, "have expired"), "%s", err.msg);
    wait_for_id("B");
}
END_TEST

START_TEST(test_keeper_renew__others_for_those_that_were_refused)
{
    struct err err = {0};
    AUTO(credentials_unref) struct credentials *first = NULL, *second = NULL;
    give(0, "A", 3600);
    give(1, "B", 3600);
    give(2, "B", 3600);
    int64_t start = clock_mono_us();
    open_keeper();
    ck_assert(keeper_get(keeper, soon(), &first, &err));
    /* at once after the last request nobody is asked again */
    bool asked = keeper_renew(keeper, first, soon());
    if (asked && clock_mono_us() - start > 900000)
        return; /* the machine was busy with other things, and it was not at once */
    ck_assert(!asked);
    ck_assert_uint_eq(stub_count(), 1);
    (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    ck_assert(keeper_renew(keeper, first, soon()));
    ck_assert_uint_eq(stub_count(), 2);
    ck_assert(keeper_get(keeper, soon(), &second, &err));
    ck_assert_str_eq(second->id, "B");
    /* others have renewed them meanwhile */
    ck_assert(keeper_renew(keeper, first, soon()));
    ck_assert_uint_eq(stub_count(), 2);
    /* the same ones again are no others */
    (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    ck_assert(!keeper_renew(keeper, second, soon()));
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

START_TEST(test_keeper__fixed_keys_are_read_at_once)
{
    struct err err = {0};
    AUTO(credentials_unref) struct credentials *c = NULL;
    const struct store_conf conf = {.s3_access_key_id = "K", .s3_secret_access_key = "s"};
    ck_assert(keeper_new(&sources_s3, &conf, &keeper, &err));
    ck_assert(keeper_get(keeper, 0, &c, &err));
    ck_assert_str_eq(c->id, "K");
    ck_assert(!keeper_renew(keeper, c, soon()));
}
END_TEST

START_TEST(test_keeper_free__while_a_request_is_under_way)
{
    steps[0].delay_ms = 500;
    open_keeper();
    wait_for_requests(1);
    keeper_free(&keeper);
    ck_assert_ptr_null(keeper);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("keeper");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_keeper_get__waits_for_the_first_keys);
    tcase_add_test(tc, test_keeper_get__many_wait_for_one_request);
    tcase_add_test(tc, test_keeper_get__not_beyond_the_deadline);
    tcase_add_test(tc, test_keeper__renewed_before_they_expire);
    tcase_add_test(tc, test_keeper__old_keys_serve_until_they_expire);
    tcase_add_test(tc, test_keeper__nobody_waits_after_a_failure);
    tcase_add_test(tc, test_keeper__what_came_expired_is_none);
    tcase_add_test(tc, test_keeper_renew__others_for_those_that_were_refused);
    tcase_add_test(tc, test_keeper__fixed_keys_are_read_at_once);
    tcase_add_test(tc, test_keeper_free__while_a_request_is_under_way);
    Suite *s = suite_create("keeper");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
