#include "metric.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>

#include "base.h"
#include "buf.h"

/* The value after "name " at a line's beginning, or -1. */
static double value_of(const char *series)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    metric_render(&b);
    ck_assert(!b.over);
    struct str rest = buf_view(&b), name = str_from(series);
    double value = -1;
    while (rest.p) {
        struct str line = str_cut(&rest, '\n');
        if (!str_starts(line, name) || line.n <= name.n || line.p[name.n] != ' ')
            continue;
        char text[32];
        snprintf(text, sizeof(text), "%.*s", STR_ARG(str_sub(line, name.n + 1, line.n)));
        ck_assert_int_eq(sscanf(text, "%lf", &value), 1);
    }
    return value;
}

START_TEST(test_metric_add__counters_begin_at_zero)
{
    ck_assert_double_eq(value_of("firn_cache_hits_total"), 0);
    metric_add(METRIC_cache_hits_total, 2);
    metric_add(METRIC_cache_hits_total, 3);
    ck_assert_double_eq(value_of("firn_cache_hits_total"), 5);
    ck_assert_double_eq(value_of("firn_cache_misses_total"), 0);
}
END_TEST

START_TEST(test_metric_set__gauges)
{
    metric_set(METRIC_connections, 7);
    metric_change(METRIC_connections, -2);
    ck_assert_double_eq(value_of("firn_connections"), 5);
    metric_max(METRIC_arena_peak_bytes, 10);
    metric_max(METRIC_arena_peak_bytes, 4);
    ck_assert_double_eq(value_of("firn_arena_peak_bytes"), 10);
    metric_set(METRIC_lane_queue, -3);
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    metric_render(&b);
    ck_assert_ptr_nonnull(memmem(b.p, b.n, "\nfirn_lane_queue -3\n", 20));
}
END_TEST

START_TEST(test_metric_observe__buckets_are_cumulative_and_their_ends_belong_to_them)
{
    metric_observe(METRIC_sql_seconds, 0);
    metric_observe(METRIC_sql_seconds, 100);
    metric_observe(METRIC_sql_seconds, 101);
    metric_observe(METRIC_sql_seconds, 10000000);
    metric_observe(METRIC_sql_seconds, 10000001);
    ck_assert_double_eq(value_of("firn_sql_seconds_bucket{le=\"0.0001\"}"), 2);
    ck_assert_double_eq(value_of("firn_sql_seconds_bucket{le=\"0.00025\"}"), 3);
    ck_assert_double_eq(value_of("firn_sql_seconds_bucket{le=\"5\"}"), 3);
    ck_assert_double_eq(value_of("firn_sql_seconds_bucket{le=\"10\"}"), 4);
    ck_assert_double_eq(value_of("firn_sql_seconds_bucket{le=\"+Inf\"}"), 5);
    ck_assert_double_eq(value_of("firn_sql_seconds_count"), 5);
    ck_assert_double_eq_tol(value_of("firn_sql_seconds_sum"), 20.000202, 1e-9);
}
END_TEST

static const char *const ops[] = {"loadTable", "listTables"};

START_TEST(test_metric_op__labels_are_operation_and_status_class)
{
    metric_add(METRIC_json_parses_total, 1);
    metric_ops(ops, ARRAY_LEN(ops));
    metric_op(0, 200, 1500);
    metric_op(0, 204, 1500);
    metric_op(0, 404, 50);
    metric_op(1, 503, 50);
    ck_assert_double_eq(value_of("firn_requests_total{operation=\"loadTable\",status=\"2xx\"}"), 2);
    ck_assert_double_eq(value_of("firn_requests_total{operation=\"loadTable\",status=\"4xx\"}"), 1);
    ck_assert_double_eq(
        value_of("firn_requests_total{operation=\"listTables\",status=\"5xx\"}"), 1);
    ck_assert_double_eq(
        value_of("firn_requests_total{operation=\"listTables\",status=\"2xx\"}"), -1);
    ck_assert_double_eq(
        value_of("firn_request_seconds_bucket{operation=\"loadTable\",le=\"0.001\"}"), 1);
    ck_assert_double_eq(
        value_of("firn_request_seconds_bucket{operation=\"loadTable\",le=\"+Inf\"}"), 3);
    ck_assert_double_eq(value_of("firn_request_seconds_count{operation=\"loadTable\"}"), 3);
    ck_assert_double_eq_tol(
        value_of("firn_request_seconds_sum{operation=\"loadTable\"}"), 0.00305, 1e-9);
}
END_TEST

static void *count_much(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10000; i++) {
        metric_add(METRIC_sql_statements_total, 1);
        metric_observe(METRIC_store_seconds, 10);
        metric_op(1, 200, 10);
        metric_change(METRIC_lane_queue, 1);
        if (i % 2000 == 0)
            ck_assert_double_ge(value_of("firn_sql_statements_total"), 0);
    }
    return NULL;
}

START_TEST(test_metric_render__threads_that_ended_still_count)
{
    metric_ops(ops, ARRAY_LEN(ops));
    enum { THREADS = 4, ROUNDS = 3 };
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, count_much, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    const double all = 10000.0 * THREADS * ROUNDS;
    ck_assert_double_eq(value_of("firn_sql_statements_total"), all);
    ck_assert_double_eq(value_of("firn_store_seconds_count"), all);
    ck_assert_double_eq(
        value_of("firn_requests_total{operation=\"listTables\",status=\"2xx\"}"), all);
    ck_assert_double_eq(value_of("firn_lane_queue"), all);
}
END_TEST

START_TEST(test_metric_render__allocations_are_those_of_xmalloc)
{
    double before = value_of("firn_allocations_total");
    for (int i = 0; i < 1000; i++)
        xfree(xmalloc(1));
    double after = value_of("firn_allocations_total");
    ck_assert_double_ge(after, before + 1000);
    ck_assert_double_le(after, before + 1100);
}
END_TEST

/* What a Prometheus server expects: help and type before the samples of a family, one family in one
 * piece, counters and only they end in _total. */
START_TEST(test_metric_render__every_family_is_announced_once)
{
    static const struct {
        const char *name, *kind;
    } rows[] = {
#define X(name, kind, help) {"firn_" #name, #kind},
        METRICS(X)
#undef X
    };
    metric_ops(ops, ARRAY_LEN(ops));
    metric_op(0, 200, 1);
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    metric_render(&b);
    ck_assert_int_eq(b.p[b.n - 1], '\n');
    struct str rest = buf_view(&b);
    size_t family = 0;
    while (rest.p && rest.n) {
        struct str line = str_cut(&rest, '\n');
        struct str word = str_cut(&line, ' ');
        if (str_eq(word, STR("#"))) {
            ck_assert(str_eq(str_cut(&line, ' '), STR("HELP")));
            ck_assert_uint_lt(family, ARRAY_LEN(rows));
            ck_assert(str_eq(str_cut(&line, ' '), str_from(rows[family].name)));
            line = str_cut(&rest, '\n');
            ck_assert(str_starts(line, STR("# TYPE ")));
            struct str type = str_sub(line, line.n - 7, 7);
            bool total = str_ends(str_from(rows[family].name), STR("_total"));
            ck_assert(str_eq(type, STR("counter")) == total);
            family++;
        } else {
            ck_assert_uint_gt(family, 0);
            ck_assert(str_starts(word, str_from(rows[family - 1].name)));
        }
    }
    ck_assert_uint_eq(family, METRIC_COUNT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/metric");
    TCase *cases = tcase_create("base/metric");
    tcase_add_test(cases, test_metric_add__counters_begin_at_zero);
    tcase_add_test(cases, test_metric_set__gauges);
    tcase_add_test(
        cases, test_metric_observe__buckets_are_cumulative_and_their_ends_belong_to_them);
    tcase_add_test(cases, test_metric_op__labels_are_operation_and_status_class);
    tcase_add_test(cases, test_metric_render__threads_that_ended_still_count);
    tcase_add_test(cases, test_metric_render__allocations_are_those_of_xmalloc);
    tcase_add_test(cases, test_metric_render__every_family_is_announced_once);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
