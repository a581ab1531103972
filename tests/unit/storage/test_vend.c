#include "vend.h"

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "clock.h"
#include "fetch.h"
#include "lane.h"
#include "metric.h"
#include "store.h"
#include "stub.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ANSWER = 8192, STEPS = 4000, TOKEN = 4000, BUDGET = 8 * 1024 * 1024, THREADS = 8 };

static struct arena *a;
static struct store *store;
static struct err err;
static char answer[ANSWER];
static struct stub_step steps[STEPS];

/* Every request gets the same keys, with a token of that size, good for an hour. */
static const char *play(size_t n, size_t token, int delay_ms)
{
    char when[32], text[TOKEN + 1];
    time_t t = (time_t)(clock_ms() / 1000) + 3600;
    struct tm tm;
    ck_assert(n <= STEPS && token <= TOKEN);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    memset(text, 't', token);
    text[token] = '\0';
    (void)snprintf(answer, sizeof(answer),
        "HTTP/1.1 200 "
        "OK\r\n\r\n<r><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        "<SessionToken>%s</SessionToken><Expiration>%s</Expiration></r>",
        text, when);
    for (size_t i = 0; i < n; i++)
        steps[i] = (struct stub_step){.answer = answer, .delay_ms = delay_ms};
    return stub_start(steps, n);
}

static struct store_conf conf_of(const char *url)
{
    return (struct store_conf){.base = "s3://b/w",
        .s3_endpoint = url,
        .s3_region = "r-1",
        .s3_access_key_id = "AKIA",
        .s3_secret_access_key = "hidden",
        .vend_role_arn = "arn:r"};
}

static void open_store(const struct store_conf *conf)
{
    ck_assert_msg(store_open(conf, &store, &err), "%s", err.msg);
}

static void begin(void)
{
    a = arena_new();
    fetch_global_init();
    (void)unsetenv("AWS_ENDPOINT_URL_STS");
    (void)setenv("AWS_ACCESS_KEY_ID", "AKENV", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "env", 1);
    err = (struct err){0};
}

static void end(void)
{
    lane_enter(LANE_SLOW);
    store_close(&store);
    stub_stop();
    fetch_global_fini();
    arena_free(&a);
}

static struct vended given(const char *uri)
{
    struct vended v = {0};
    ck_assert_msg(vend_get(a, store, str_from(uri), VEND_WRITE, &v, &err), "%s", err.msg);
    return v;
}

static void refused(const char *uri, enum err_kind kind)
{
    struct vended v = {0};
    ck_assert_msg(!vend_get(a, store, str_from(uri), VEND_WRITE, &v, &err), "%s", uri);
    ck_assert_msg(err.kind == kind, "%s: %s: %s", uri, err_name(err.kind), err.msg);
}

START_TEST(test_vend__what_clients_get)
{
    struct store_conf conf = conf_of(play(1, 3, 0));
    conf.client_endpoint = "https://store.example:9000/";
    conf.vend_duration_s = 900;
    conf.s3_external_id = "e1";
    open_store(&conf);
    int64_t now = clock_ms();
    struct vended v = given("s3://b/w/ns/t 1/");
    ck_assert(
        str_eq(v.id, STR("ASIA")) && str_eq(v.secret, STR("s")) && str_eq(v.token, STR("ttt")));
    ck_assert(v.fresh_ms > now + 1700000 && v.fresh_ms <= now + 1801000);
    ck_assert(str_eq(v.endpoint, STR("https://store.example:9000")));
    ck_assert(str_eq(v.region, STR("r-1")) && v.style == VEND_BUCKET_IN_PATH);
    ck_assert(stub_saw(0, "&RoleArn=arn%3Ar&RoleSessionName=firn-t_1&ExternalId=e1&Policy=%7B"));
    ck_assert(stub_saw(0, "&DurationSeconds=900"));
    ck_assert(stub_saw(0, "%2Fw%2Fns%2Ft%201%2F%2A%22"));
    ck_assert(stub_saw(0, "Credential=AKIA/"));
}
END_TEST

START_TEST(test_vend__places_that_get_none)
{
    const char *const allowed[] = {"s3://b/w/deep/root", "s3://other/x", NULL};
    struct store_conf conf = conf_of(play(1, 3, 0));
    conf.allowed = allowed;
    open_store(&conf);
    static const char *const elsewhere[] = {"s3://b/w", "s3://b/w/", "s3://b/w/deep",
        "s3://b/w/deep/root", "s3://other/x", "s3://other/xy", "s3://other/y/t", "s3://b/t",
        "s3://b/w2/t", "s3://b", "file:///w/t"};
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++)
        refused(elsewhere[i], ERR_STORE_DENIED);
    static const char *const unspeakable[] = {"s3://b/w/a*", "s3://b/w/a$b",
        "s3://b/w/${aws:username}", "s3://b/w/../t", "s3://b/w//t", "s3://b/w/a\"b", "nonsense"};
    for (size_t i = 0; i < ARRAY_LEN(unspeakable); i++)
        refused(unspeakable[i], ERR_STORE_BAD_URI);
    ck_assert_uint_eq(stub_count(), 0);
}
END_TEST

START_TEST(test_vend__fast_lane_never_asks)
{
    struct store_conf conf = conf_of(play(2, 3, 0));
    open_store(&conf);
    lane_enter(LANE_FAST);
    refused("s3://b/w/t", ERR_WOULD_BLOCK);
    refused("s3://b/w/t*", ERR_STORE_BAD_URI);
    ck_assert_uint_eq(stub_count(), 0);
    lane_enter(LANE_SLOW);
    (void)given("s3://b/w/t");
    lane_enter(LANE_FAST);
    (void)given("s3://b/w/t");
    refused("s3://b/w/t1", ERR_WOULD_BLOCK);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_vend__at_hand_is_what_would_be_given)
{
    struct store_conf conf = conf_of(play(2, 3, 0));
    struct vended v = {0};
    open_store(&conf);
    ck_assert(!vend_at_hand(a, store, STR("s3://b/w/t"), VEND_WRITE, &v));
    ck_assert_uint_eq(stub_count(), 0);
    struct vended was = given("s3://b/w/t");
    ck_assert(vend_at_hand(a, store, STR("s3://b/w/t"), VEND_WRITE, &v));
    ck_assert(str_eq(v.id, was.id) && str_eq(v.token, was.token) && str_eq(v.region, was.region));
    ck_assert(str_eq(v.endpoint, was.endpoint) && v.expires_ms == was.expires_ms);
    ck_assert(!vend_at_hand(a, store, STR("s3://b/w/t"), VEND_READ, &v));
    ck_assert(!vend_at_hand(a, store, STR("s3://b/w/t1"), VEND_WRITE, &v));
    ck_assert(!vend_at_hand(a, store, STR("s3://elsewhere/w/t"), VEND_WRITE, &v));
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_vend__unasked_unless_the_warehouse_says_no)
{
    struct store_conf conf = conf_of(play(1, 3, 0));
    open_store(&conf);
    ck_assert(vend_unasked(store));
    store_close(&store);
    conf.unasked = STORE_UNASKED_NOTHING;
    open_store(&conf);
    ck_assert(vend_offered(store) && !vend_unasked(store));
    store_close(&store);
    conf.unasked = STORE_UNASKED_KEYS;
    conf.sign = STORE_SIGN_ONLY;
    open_store(&conf);
    ck_assert(!vend_unasked(store));
}
END_TEST

START_TEST(test_vend__reading_is_not_writing)
{
    struct store_conf conf = conf_of(play(2, 3, 0));
    struct vended v = {0};
    open_store(&conf);
    (void)given("s3://b/w/t");
    ck_assert_msg(vend_get(a, store, STR("s3://b/w/t"), VEND_READ, &v, &err), "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 2);
    ck_assert(stub_saw(0, "PutObject") && !stub_saw(1, "PutObject"));
}
END_TEST

static void *ask(void *arg)
{
    struct arena *mine = arena_new();
    struct vended v = {0};
    struct err why = {0};
    (void)arg;
    bool ok = vend_get(mine, store, STR("s3://b/w/t"), VEND_WRITE, &v, &why);
    arena_free(&mine);
    return ok ? arg : NULL;
}

START_TEST(test_vend__one_asks_for_all)
{
    pthread_t threads[THREADS];
    struct store_conf conf = conf_of(play(1, 3, 300));
    open_store(&conf);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, store), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *ok = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &ok), 0);
        ck_assert_ptr_nonnull(ok);
    }
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_vend__failures_are_not_kept)
{
    static const struct stub_step bad[] = {
        {.answer = "HTTP/1.1 403 No\r\n\r\n<Error><Code>AccessDenied</Code></Error>"},
        {.answer = "HTTP/1.1 500 Oops\r\n\r\n"}, {.answer = "HTTP/1.1 500 Oops\r\n\r\n"},
        {.answer = answer}};
    (void)play(1, 3, 0);
    stub_stop();
    struct store_conf conf = conf_of(stub_start(bad, ARRAY_LEN(bad)));
    open_store(&conf);
    refused("s3://b/w/t", ERR_KEYS_REFUSED);
    ck_assert(!vend_resting(store));        /* it may be about this folder alone */
    refused("s3://b/w/t", ERR_UNAVAILABLE); /* tried twice */
    ck_assert(vend_resting(store));
    (void)given("s3://b/w/t");
    ck_assert(!vend_resting(store));
    ck_assert_uint_eq(stub_count(), 4);
}
END_TEST

static long metric_now(const char *name)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    metric_render(&b);
    buf_putc(&b, '\0');
    const char *line = strstr(b.p, name);
    ck_assert_ptr_nonnull(line);
    return strtol(line + strlen(name), NULL, 10);
}

START_TEST(test_vend__memory_is_bounded)
{
    enum { TABLES = 2500 };
    struct store_conf conf = conf_of(play(TABLES + 1, TOKEN, 0));
    open_store(&conf);
    for (int i = 0; i < TABLES; i++) {
        (void)given(arena_printf(a, "s3://b/w/t%d", i).p);
        ck_assert_int_le(metric_now("\nfirn_vend_bytes "), BUDGET);
        arena_reset(a);
    }
    ck_assert_int_gt(metric_now("\nfirn_vend_bytes "), BUDGET / 2);
    (void)given(arena_printf(a, "s3://b/w/t%d", TABLES - 1).p); /* still there */
    ck_assert_uint_eq(stub_count(), TABLES);
    (void)given("s3://b/w/t0"); /* the one longest unused went */
    ck_assert_uint_eq(stub_count(), TABLES + 1);
    store_close(&store);
    ck_assert_int_eq(metric_now("\nfirn_vend_bytes "), 0);
}
END_TEST

START_TEST(test_vend__static_keys)
{
    struct store_conf conf = conf_of("http://store.example");
    conf.vend_role_arn = NULL;
    open_store(&conf);
    ck_assert(!vend_offered(store) && !store_warning(store).p);
    store_close(&store);
    conf.vend_static = STORE_SHARE_KEYS;
    open_store(&conf);
    ck_assert_ptr_nonnull(strstr(store_warning(store).p, "vend-static"));
    struct vended v = given("s3://b/w/t");
    ck_assert(str_eq(v.id, STR("AKIA")) && str_eq(v.secret, STR("hidden")) && !v.token.p);
    ck_assert(v.expires_ms == 0 && v.fresh_ms > clock_ms());
    ck_assert(str_eq(v.endpoint, STR("http://store.example")));
    ck_assert(vend_probe(store, &err));
    store_close(&store);
    /* those of the environment are nobody's to give */
    conf.s3_access_key_id = conf.s3_secret_access_key = NULL;
    ck_assert(!store_open(&conf, &store, &err) && strstr(err.msg, "none of its own"));
}
END_TEST

START_TEST(test_vend__settings_that_cannot_be)
{
    struct store_conf conf = conf_of("http://store.example");
    conf.client_endpoint = "store.example";
    ck_assert(!store_open(&conf, &store, &err) && strstr(err.msg, "the S3 endpoint for clients"));
    conf.client_endpoint = NULL;
    conf.base = "file:///tmp";
    ck_assert(!store_open(&conf, &store, &err) && strstr(err.msg, "for object stores only"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("vend");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_vend__what_clients_get);
    tcase_add_test(tc, test_vend__places_that_get_none);
    tcase_add_test(tc, test_vend__fast_lane_never_asks);
    tcase_add_test(tc, test_vend__at_hand_is_what_would_be_given);
    tcase_add_test(tc, test_vend__unasked_unless_the_warehouse_says_no);
    tcase_add_test(tc, test_vend__reading_is_not_writing);
    tcase_add_test(tc, test_vend__one_asks_for_all);
    tcase_add_test(tc, test_vend__failures_are_not_kept);
    tcase_add_test(tc, test_vend__memory_is_bounded);
    tcase_add_test(tc, test_vend__static_keys);
    tcase_add_test(tc, test_vend__settings_that_cannot_be);
    Suite *suite = suite_create("vend");
    suite_add_tcase(suite, tc);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
