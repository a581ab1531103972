/* The s3 scheme against a real store, named by FIRN_TEST_S3_ENDPOINT, _ACCESS_KEY, _SECRET_KEY and
 * _BUCKET; _VHOST_ENDPOINT adds bucket names in host names. Run by the suite, which starts one. */
#include "arena.h"
#include "base.h"
#include "digest.h"
#include "fetch.h"
#include "store.h"
#include "uuid.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct arena *a;
static struct store *s;
static struct err err;
static struct str base;

static const char *setting(const char *name)
{
    const char *v = getenv(name);
    ck_assert_msg(v && *v, "%s is not set", name);
    return v;
}

static struct store_conf settings(void)
{
    char id[UUID_TEXT + 1];
    uuid_v4(id);
    base = arena_printf(a, "s3://%s/firn-test-%s", setting("FIRN_TEST_S3_BUCKET"), id);
    return (struct store_conf){
        .base = base.p,
        .s3_endpoint = setting("FIRN_TEST_S3_ENDPOINT"),
        .s3_access_key_id = setting("FIRN_TEST_S3_ACCESS_KEY"),
        .s3_secret_access_key = setting("FIRN_TEST_S3_SECRET_KEY"),
    };
}

static void open_store(const struct store_conf *conf)
{
    ck_assert_msg(store_open(conf, &s, &err), "%s", err.msg);
}

static void begin(void)
{
    a = arena_new();
    fetch_global_init();
    struct store_conf conf = settings();
    open_store(&conf);
}

static void end(void)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    if (store_list(a, s, base, 10000, &e, &n, &err))
        for (size_t i = 0; i < n; i++)
            (void)!store_delete(s, e[i].uri, &err);
    store_close(&s);
    arena_free(&a);
    fetch_global_fini();
}

static struct str at(const char *name)
{
    return arena_printf(a, "%.*s/%s", STR_ARG(base), name);
}

static void put(struct str uri, struct str text)
{
    ck_assert_msg(store_put_new(s, uri, &text, 1, "application/json", &err), "%s", err.msg);
}

static void check_text(struct str uri, struct str text)
{
    AUTO(buf_fini) struct buf b = {0};
    ck_assert_msg(store_get(s, uri, text.n, &b, &err), "%s", err.msg);
    ck_assert(str_eq(buf_view(&b), text));
}

START_TEST(test_s3_live__probe)
{
    ck_assert_msg(store_probe(s, &err), "%s", err.msg);
    ck_assert_msg(!store_warning(s).p, "%s", store_warning(s).p);
}
END_TEST

START_TEST(test_s3_live__write_read_delete)
{
    struct str uri = at("t/metadata/1.json"), text = STR("{\"a\":1}");
    put(uri, text);
    check_text(uri, text);
    ck_assert(store_delete(s, uri, &err));
    ck_assert(store_delete(s, uri, &err));
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(!store_get(s, uri, 100, &b, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_NOT_FOUND);
}
END_TEST

START_TEST(test_s3_live__never_replaces)
{
    struct str uri = at("t/1.json"), other = STR("second");
    put(uri, STR("first"));
    ck_assert(!store_put_new(s, uri, &other, 1, "application/json", &err));
    ck_assert_int_eq(err.kind, ERR_STORE_EXISTS);
    check_text(uri, STR("first"));
}
END_TEST

START_TEST(test_s3_live__odd_keys)
{
    static const char *const names[] = {
        "plain",
        "sp ace",
        "pl+us",
        "per%cent",
        "x%20y",
        "%2F",
        "\xc3\xa9=1",
        "q!*'()",
        "a&b;c,d:e@f$g=h",
        "~tilde-_.",
        "{brace}|^`\"<>[]",
        "\xf0\x9f\x98\x80",
        "dots...",
        ".hidden/..x",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str uri = at(names[i]);
        put(uri, uri);
        check_text(uri, uri);
    }
    struct store_entry *e = NULL;
    size_t n = 0;
    ck_assert_msg(store_list(a, s, base, 100, &e, &n, &err), "%s", err.msg);
    ck_assert_uint_eq(n, ARRAY_LEN(names));
    for (size_t i = 0; i < n; i++)
        check_text(e[i].uri, e[i].uri);
}
END_TEST

START_TEST(test_s3_live__large_object_in_pieces)
{
    enum { PIECES = 300, PIECE = 20011 };
    static char bytes[PIECES * PIECE];
    struct str pieces[PIECES];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 31 + i / 251);
    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = (struct str){bytes + i * PIECE, PIECE};
    struct str uri = at("big");
    ck_assert_msg(store_put_new(s, uri, pieces, PIECES, "x/y", &err), "%s", err.msg);
    check_text(uri, (struct str){bytes, sizeof(bytes)});
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(!store_get(s, uri, sizeof(bytes) - 1, &b, &err));
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
}
END_TEST

START_TEST(test_s3_live__empty_object)
{
    put(at("empty"), STR(""));
    check_text(at("empty"), STR(""));
}
END_TEST

START_TEST(test_s3_live__list_beneath_the_folder_only)
{
    put(at("t1/a"), STR("1"));
    put(at("t1/m/b"), STR("22"));
    put(at("t10/c"), STR("333"));
    struct store_entry *e = NULL;
    size_t n = 0;
    ck_assert_msg(store_list(a, s, at("t1"), 100, &e, &n, &err), "%s", err.msg);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_gt(e[0].modified_ms, 1600000000000);
    ck_assert_int_eq(e[0].size + e[1].size, 3);
    ck_assert(store_list(a, s, at("none"), 100, &e, &n, &err));
    ck_assert_uint_eq(n, 0);
}
END_TEST

enum { RACERS = 8, ROUNDS = 4 };

static atomic_int winners, losers;
static pthread_barrier_t line;

static void *race(void *arg)
{
    struct str text = str_from(arg);
    for (int i = 0; i < ROUNDS; i++) {
        char uri[256];
        struct err mine = {0};
        (void)snprintf(uri, sizeof(uri), "%.*s/race/%d", STR_ARG(base), i);
        (void)pthread_barrier_wait(&line);
        if (store_put_new(s, str_from(uri), &text, 1, "x/y", &mine))
            atomic_fetch_add(&winners, 1);
        else if (mine.kind == ERR_STORE_EXISTS)
            atomic_fetch_add(&losers, 1);
    }
    return NULL;
}

START_TEST(test_s3_live__one_of_many_racers_wins)
{
    static char texts[RACERS][16];
    pthread_t threads[RACERS];
    (void)pthread_barrier_init(&line, NULL, RACERS);
    for (int i = 0; i < RACERS; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "racer %d", i);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, texts[i]), 0);
    }
    for (int i = 0; i < RACERS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&winners), ROUNDS);
    ck_assert_int_eq(atomic_load(&losers), ROUNDS * (RACERS - 1));
}
END_TEST

static void reopen_with(const char *id, const char *secret)
{
    store_close(&s);
    struct store_conf conf = settings();
    conf.s3_access_key_id = id ? id : conf.s3_access_key_id;
    conf.s3_secret_access_key = secret ? secret : conf.s3_secret_access_key;
    open_store(&conf);
}

START_TEST(test_s3_live__wrong_keys_are_refused)
{
    struct str text = STR("x");
    reopen_with(NULL, "not-the-secret");
    ck_assert(!store_put_new(s, at("x"), &text, 1, "x/y", &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert_ptr_null(strstr(err.msg, "not-the-secret"));
    reopen_with("NOSUCHKEY", NULL);
    ck_assert(!store_put_new(s, at("x"), &text, 1, "x/y", &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    reopen_with(NULL, NULL);
}
END_TEST

START_TEST(test_s3_live__bucket_missing)
{
    store_close(&s);
    struct store_conf conf = settings();
    base = STR("s3://firn-no-such-bucket/wh");
    conf.base = base.p;
    open_store(&conf);
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(!store_get(s, at("x"), 10, &b, &err));
    ck_assert_msg(err.kind == ERR_INTERNAL, "%s: %s", err_name(err.kind), err.msg);
    ck_assert_ptr_nonnull(strstr(err.msg, "firn-no-such-bucket"));
}
END_TEST

START_TEST(test_s3_live__bucket_in_the_host_name)
{
    store_close(&s);
    struct store_conf conf = settings();
    conf.s3_endpoint = setting("FIRN_TEST_S3_VHOST_ENDPOINT");
    conf.s3_style = STORE_STYLE_VIRTUAL;
    open_store(&conf);
    put(at("x y/z"), STR("text"));
    check_text(at("x y/z"), STR("text"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("s3_live");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_s3_live__probe);
    tcase_add_test(tc, test_s3_live__write_read_delete);
    tcase_add_test(tc, test_s3_live__never_replaces);
    tcase_add_test(tc, test_s3_live__odd_keys);
    tcase_add_test(tc, test_s3_live__large_object_in_pieces);
    tcase_add_test(tc, test_s3_live__empty_object);
    tcase_add_test(tc, test_s3_live__list_beneath_the_folder_only);
    tcase_add_test(tc, test_s3_live__one_of_many_racers_wins);
    tcase_add_test(tc, test_s3_live__wrong_keys_are_refused);
    tcase_add_test(tc, test_s3_live__bucket_missing);
    if (getenv("FIRN_TEST_S3_VHOST_ENDPOINT"))
        tcase_add_test(tc, test_s3_live__bucket_in_the_host_name);
    Suite *suite = suite_create("s3_live");
    suite_add_tcase(suite, tc);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
