#include "cache.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "lane.h"
#include "metadata.h"
#include "metric.h"
#include "store.h"

enum { FILE_MAX = 1 << 20 };

/* The cache as a warehouse sees it. */
#define VIEW_OF(c, n) (&(struct cache_view){(c), (n), store})
#define VIEW(c)       VIEW_OF(c, 1)

static struct arena *arena;
static struct store *store;
static char dir[64];

static void setup(void)
{
    struct err err = {0};
    snprintf(dir, sizeof(dir), "/tmp/firn-test-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    arena = arena_new();
    struct store_conf conf = {.base = arena_printf(arena, "file://%s", dir).p};
    ck_assert_msg(store_open(&conf, &store, &err), "%s", err.msg);
}

static void teardown(void)
{
    struct err err = {0};
    struct store_entry *entries;
    size_t n = 0;
    ck_assert(store_list(arena, store, store_base(store), 1000, &entries, &n, &err));
    for (size_t i = 0; i < n; i++)
        ck_assert(store_delete(store, entries[i].uri, &err));
    rmdir(dir);
    store_close(&store);
    arena_free(&arena);
}

static struct str place(int i)
{
    return arena_printf(arena, "file://%s/%d.metadata.json", dir, i);
}

/* A valid document of about `size` bytes. */
static struct str document(size_t size)
{
    struct buf b;
    buf_init(&b, 1u << 30);
    buf_puts(&b,
        "{\"format-version\":2,\"table-uuid\":\"11111111-1111-4111-8111-111111111111\","
        "\"location\":\"s3://b/w/a/t\",\"last-sequence-number\":3,"
        "\"last-updated-ms\":1700000000000,\"last-column-id\":1,\"schemas\":[{\"type\":\"struct\","
        "\"schema-id\":0,\"fields\":[]}],\"current-schema-id\":0,\"partition-specs\":"
        "[{\"spec-id\":0,\"fields\":[]}],\"default-spec-id\":0,\"last-partition-id\":999,"
        "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"default-sort-order-id\":0,\"x\":[");
    for (int i = 0; b.n < size; i++)
        buf_putf(&b, "%s\"element %d\"", i ? "," : "", i);
    buf_puts(&b, "]}");
    return buf_take(&b, arena);
}

static void put_file(int i, struct str text)
{
    struct err err = {0};
    ck_assert_msg(
        store_put_new(store, place(i), &text, 1, "application/json", &err), "%s", err.msg);
}

static struct metadata *get(struct cache *c, int i)
{
    struct err err = {0};
    struct metadata *m = NULL;
    ck_assert_msg(cache_get(VIEW(c), place(i), &m, &err), "%s", err.msg);
    ck_assert(str_eq(metadata_location(m), place(i)));
    return m;
}

static enum err_kind refusal(struct cache *c, int i)
{
    struct err err = {0};
    struct metadata *m = NULL;
    ck_assert(!cache_get(VIEW(c), place(i), &m, &err));
    ck_assert_ptr_null(m);
    return err.kind;
}

static long long metric(const char *name)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    metric_render(&b);
    struct str text = buf_take(&b, arena);
    struct str start = arena_printf(arena, "firn_%s ", name);
    while (text.p) {
        struct str line = str_cut(&text, '\n');
        int64_t v = 0;
        if (str_starts(line, start) && str_to_i64(str_sub(line, start.n, line.n), &v))
            return v;
    }
    return 0;
}

/* Is it found without a look at the store? In the fast lane nothing else can be. */
static bool is_cached(struct cache *c, int i)
{
    struct err err = {0};
    struct metadata *m = NULL;
    lane_enter(LANE_FAST);
    bool found = cache_get(VIEW(c), place(i), &m, &err);
    lane_enter(LANE_SLOW);
    ck_assert(found || err.kind == ERR_WOULD_BLOCK);
    metadata_unref(&m);
    return found;
}

START_TEST(test_cache_get__reads_once)
{
    struct cache *c = cache_new(1 << 20, FILE_MAX);
    put_file(1, document(1000));
    long long misses = metric("cache_misses_total"), scans = metric("json_scans_total");
    long long hits = metric("cache_hits_total");
    struct metadata *a = get(c, 1), *b = get(c, 1);
    ck_assert_ptr_eq(a, b);
    ck_assert_int_eq(metric("cache_misses_total") - misses, 1);
    ck_assert_int_eq(metric("json_scans_total") - scans, 1);
    ck_assert_int_eq(metric("cache_hits_total") - hits, 1);
    ck_assert_int_ge(metric("cache_bytes"), 1000);
    /* Metadata outlives the cache. */
    cache_free(&c);
    ck_assert_int_eq(metric("cache_bytes"), 0);
    ck_assert_int_eq(metadata_head(a)->format_version, 2);
    metadata_unref(&a);
    metadata_unref(&b);
}
END_TEST

START_TEST(test_cache_get__fast_lane_never_reads)
{
    struct cache *c = cache_new(1 << 20, FILE_MAX);
    put_file(1, document(1000));
    ck_assert(!is_cached(c, 1));
    struct metadata *m = get(c, 1);
    metadata_unref(&m);
    ck_assert(is_cached(c, 1));
    cache_free(&c);
}
END_TEST

START_TEST(test_cache_get__failures_are_told_and_forgotten)
{
    struct cache *c = cache_new(1 << 20, 5000);
    ck_assert_int_eq(refusal(c, 1), ERR_STORE_NOT_FOUND);
    put_file(1, document(1000));
    struct metadata *m = get(c, 1);
    metadata_unref(&m);
    put_file(2, STR("{"));
    ck_assert_int_eq(refusal(c, 2), ERR_BAD_REQUEST);
    put_file(3, STR("{\"format-version\":9}"));
    ck_assert_int_eq(refusal(c, 3), ERR_INVALID_ARGUMENT);
    put_file(4, document(6000));
    ck_assert_int_eq(refusal(c, 4), ERR_TOO_LARGE);
    cache_free(&c);
}
END_TEST

START_TEST(test_cache_put__is_found_without_a_file)
{
    struct err err = {0};
    struct cache *c = cache_new(1 << 20, FILE_MAX);
    struct metadata *m = NULL;
    ck_assert(metadata_from_file(document(500), place(9), &m, &err));
    cache_put(VIEW(c), m);
    cache_put(VIEW(c), m);
    struct metadata *found = get(c, 9);
    ck_assert_ptr_eq(found, m);
    metadata_unref(&found);
    cache_drop(VIEW(c), place(9));
    cache_drop(VIEW(c), place(9));
    ck_assert_int_eq(metric("cache_bytes"), 0);
    ck_assert_int_eq(refusal(c, 9), ERR_STORE_NOT_FOUND);
    metadata_unref(&m);
    cache_free(&c);
}
END_TEST

START_TEST(test_cache__each_warehouse_has_its_own_bytes)
{
    struct err err = {0};
    struct cache *c = cache_new(1 << 20, FILE_MAX);
    struct metadata *one = NULL, *two = NULL, *found = NULL;
    ck_assert(metadata_from_file(document(500), place(9), &one, &err));
    ck_assert(metadata_from_file(document(900), place(9), &two, &err));
    cache_put(VIEW_OF(c, 1), one);
    cache_put(VIEW_OF(c, 2), two);
    ck_assert(cache_get(VIEW_OF(c, 1), place(9), &found, &err));
    ck_assert_ptr_eq(found, one);
    metadata_unref(&found);
    cache_drop(VIEW_OF(c, 1), place(9));
    ck_assert(cache_get(VIEW_OF(c, 2), place(9), &found, &err));
    ck_assert_ptr_eq(found, two);
    metadata_unref(&found);
    metadata_unref(&one);
    metadata_unref(&two);
    cache_free(&c);
}
END_TEST

START_TEST(test_cache__bounded_and_the_longest_unused_goes_first)
{
    enum { N = 40, MAX = 100000 };
    struct cache *c = cache_new(MAX, FILE_MAX);
    long long evictions = metric("cache_evictions_total");
    struct str text = document(6000);
    for (int i = 0; i < N; i++) {
        put_file(i, text);
        struct metadata *m = get(c, i);
        metadata_unref(&m);
        usleep(10);
        ck_assert(is_cached(c, 0)); /* used all the time */
        usleep(10);
        ck_assert_int_le(metric("cache_bytes"), MAX);
    }
    ck_assert(is_cached(c, N - 1));
    ck_assert(is_cached(c, N - 5));
    ck_assert(!is_cached(c, 1));
    ck_assert(!is_cached(c, N / 2));
    ck_assert_int_gt(metric("cache_evictions_total") - evictions, N / 2);
    cache_free(&c);
}
END_TEST

START_TEST(test_cache__evicted_but_in_use_is_found)
{
    enum { N = 40 };
    struct cache *c = cache_new(100000, FILE_MAX);
    struct str text = document(6000);
    put_file(0, text);
    struct metadata *held = get(c, 0);
    for (int i = 1; i < N; i++) {
        put_file(i, text);
        struct metadata *m = get(c, i);
        metadata_unref(&m);
    }
    long long misses = metric("cache_misses_total");
    struct metadata *again = get(c, 0);
    ck_assert_ptr_eq(again, held);
    ck_assert_int_eq(metric("cache_misses_total"), misses);
    /* And it is kept again. */
    metadata_unref(&again);
    metadata_unref(&held);
    ck_assert(is_cached(c, 0));
    ck_assert_int_le(metric("cache_bytes"), 100000);
    cache_free(&c);
}
END_TEST

START_TEST(test_cache__large_ones_live_as_long_as_they_are_used)
{
    struct cache *c = cache_new(80000, FILE_MAX);
    put_file(1, document(20000));
    struct metadata *a = get(c, 1), *b = get(c, 1);
    ck_assert_ptr_eq(a, b);
    ck_assert_int_eq(metric("cache_bytes"), 0);
    metadata_unref(&a);
    ck_assert(is_cached(c, 1));
    metadata_unref(&b);
    ck_assert(!is_cached(c, 1));
    a = get(c, 1);
    cache_drop(VIEW(c), place(1));
    ck_assert(!is_cached(c, 1));
    metadata_unref(&a);
    cache_free(&c);
}
END_TEST

START_TEST(test_cache__large_ones_are_packed_for_the_first_who_asks)
{
    struct deflated d;
    struct cache *c = cache_new(80000, FILE_MAX);
    put_file(1, document(20000));
    for (int i = 0; i < 2; i++) {
        struct metadata *m = get(c, 1);
        ck_assert(metadata_deflated(m, VARIANT_ALL, &d));
        metadata_unref(&m);
    }
    cache_free(&c);
}
END_TEST

START_TEST(test_cache__what_is_made_later_counts)
{
    struct deflated d;
    struct cache *c = cache_new(1 << 20, FILE_MAX);
    put_file(1, document(20000));
    struct metadata *m = get(c, 1);
    long long before = metric("cache_bytes");
    ck_assert(!metadata_deflated(m, VARIANT_ALL, &d));
    ck_assert(metadata_deflated(m, VARIANT_ALL, &d));
    ck_assert(is_cached(c, 1));
    ck_assert_int_ge(metric("cache_bytes"), before + (long long)d.segment.n);
    metadata_unref(&m);
    cache_free(&c);
}
END_TEST

/* -- Many threads --------------------------------------------------------------------------------
 */

enum { THREADS = 8, PLACES = 12 };

struct crowd {
    struct cache *cache;
    pthread_barrier_t start;
    struct str places[PLACES];
    struct str text;
    bool ok[THREADS];
    struct metadata *found[THREADS];
    enum err_kind kinds[THREADS];
};

struct member {
    struct crowd *crowd;
    int i;
};

static void *ask_once(void *arg)
{
    const struct member *me = arg;
    struct crowd *crowd = me->crowd;
    struct err err = {0};
    pthread_barrier_wait(&crowd->start);
    crowd->ok[me->i] = cache_get(VIEW(crowd->cache), crowd->places[0], &crowd->found[me->i], &err);
    crowd->kinds[me->i] = err.kind;
    return NULL;
}

static void run(struct crowd *crowd, void *(*work)(void *))
{
    pthread_t threads[THREADS];
    struct member members[THREADS];
    pthread_barrier_init(&crowd->start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){crowd, i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &members[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd->start);
}

START_TEST(test_cache_get__one_reader_for_all_who_ask_at_once)
{
    struct str text = document(500000);
    for (int round = 0; round < 10; round++) {
        /* Once kept, once too large to be kept. */
        struct crowd crowd = {.cache = cache_new(round & 1 ? 1 << 20 : 1 << 24, FILE_MAX)};
        crowd.places[0] = place(round);
        put_file(round, text);
        long long misses = metric("cache_misses_total"), hits = metric("cache_hits_total");
        run(&crowd, ask_once);
        ck_assert_int_eq(metric("cache_misses_total") - misses, 1);
        ck_assert_int_eq(metric("cache_hits_total") - hits, THREADS - 1);
        for (int i = 0; i < THREADS; i++) {
            ck_assert(crowd.ok[i]);
            ck_assert_ptr_eq(crowd.found[i], crowd.found[0]);
        }
        for (int i = 0; i < THREADS; i++)
            metadata_unref(&crowd.found[i]);
        cache_free(&crowd.cache);
    }
}
END_TEST

START_TEST(test_cache_get__all_who_wait_learn_of_the_failure)
{
    struct crowd crowd = {.cache = cache_new(1 << 20, FILE_MAX)};
    crowd.places[0] = place(0);
    run(&crowd, ask_once);
    for (int i = 0; i < THREADS; i++) {
        ck_assert(!crowd.ok[i]);
        ck_assert_int_eq(crowd.kinds[i], ERR_STORE_NOT_FOUND);
    }
    cache_free(&crowd.cache);
}
END_TEST

static bool use(const struct metadata *m, unsigned dice)
{
    bool ok = true;
    struct deflated d;
    struct arena *a = arena_new();
    struct str *pieces;
    metadata_document(a, m, dice & 1 ? VARIANT_REFS : VARIANT_ALL, &pieces);
    if (dice & 2)
        ok = !metadata_deflated(m, VARIANT_ALL, &d) || d.plain >= 5000;
    arena_free(&a);
    return ok;
}

static void *work_hard(void *arg)
{
    const struct member *me = arg;
    struct crowd *crowd = me->crowd;
    unsigned seed = (unsigned)me->i + 1;
    pthread_barrier_wait(&crowd->start);
    for (int i = 0; i < 300; i++) {
        struct err err = {0};
        struct metadata *m = NULL;
        seed = seed * 1664525u + 1013904223u;
        unsigned dice = seed >> 16;
        struct str at = crowd->places[dice % PLACES];
        if (dice % 31 == 0)
            cache_drop(VIEW(crowd->cache), at);
        lane_enter(dice % 5 ? LANE_SLOW : LANE_FAST);
        if (dice % 29 == 0 && metadata_from_file(crowd->text, at, &m, &err))
            cache_put(VIEW(crowd->cache), m);
        else if (cache_get(VIEW(crowd->cache), at, &m, &err))
            crowd->ok[me->i] &= use(m, dice >> 4);
        else
            crowd->kinds[me->i] = err.kind == ERR_WOULD_BLOCK ? crowd->kinds[me->i] : err.kind;
        metadata_unref(&m);
    }
    lane_enter(LANE_SLOW);
    return NULL;
}

START_TEST(test_cache__a_crowd_with_too_little_room)
{
    struct crowd crowd = {.cache = cache_new(60000, FILE_MAX), .text = document(5000)};
    for (int i = 0; i < PLACES; i++) {
        crowd.places[i] = place(i);
        put_file(i, i % 4 ? crowd.text : document(30000));
    }
    memset(crowd.ok, true, sizeof(crowd.ok));
    run(&crowd, work_hard);
    for (int i = 0; i < THREADS; i++) {
        ck_assert(crowd.ok[i]);
        ck_assert_int_eq(crowd.kinds[i], ERR_NONE);
    }
    ck_assert_int_le(metric("cache_bytes"), 70000);
    cache_free(&crowd.cache);
    ck_assert_int_eq(metric("cache_bytes"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *cases = tcase_create("cache");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_cache_get__reads_once);
    tcase_add_test(cases, test_cache_get__fast_lane_never_reads);
    tcase_add_test(cases, test_cache_get__failures_are_told_and_forgotten);
    tcase_add_test(cases, test_cache_put__is_found_without_a_file);
    tcase_add_test(cases, test_cache__each_warehouse_has_its_own_bytes);
    tcase_add_test(cases, test_cache__bounded_and_the_longest_unused_goes_first);
    tcase_add_test(cases, test_cache__evicted_but_in_use_is_found);
    tcase_add_test(cases, test_cache__large_ones_live_as_long_as_they_are_used);
    tcase_add_test(cases, test_cache__large_ones_are_packed_for_the_first_who_asks);
    tcase_add_test(cases, test_cache__what_is_made_later_counts);
    tcase_add_test(cases, test_cache_get__one_reader_for_all_who_ask_at_once);
    tcase_add_test(cases, test_cache_get__all_who_wait_learn_of_the_failure);
    tcase_add_test(cases, test_cache__a_crowd_with_too_little_room);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
