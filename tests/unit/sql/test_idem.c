/* Answers kept with what they answer, upkeep, leases. */
#include "fixture.h"
#include "proxy.h"
#include "sql_keep.h"

#include <pthread.h>
#include <stdio.h>

enum { LONG_MS = 600000, GONE_MS = 0 };

/* A change of a request with a key. */
static struct sql_change keyed(
    struct fixture *f, struct sql_idem *k, const char *key, int64_t lifetime_ms)
{
    struct sql_change change = by(f);

    *k = (struct sql_idem){
        .key = str_from(key), .digest = STR("d"), .lifetime_ms = lifetime_ms, .status = 200};
    change.digest = STR("d");
    change.idem = k;
    return change;
}

static struct sql_answer *get(struct fixture *f, const char *key)
{
    struct sql_answer *got;

    ck_ok(f, sql_idem_get(f->a, f->s, f->warehouse, STR("tester"), str_from(key), &got, &f->err));
    return got;
}

static void start(struct fixture *f, int engine)
{
    fixture_open(f, engine);
    ns_make(f, "n");
    struct sql_new_object o = new_object(f, "n", "t");
    ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
    o = new_object(f, "n", "u");
    ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
}

/* --- each verb; the metadata location that is kept, or absent --- */

static bool go_insert(struct fixture *f, struct sql_change *change)
{
    struct sql_new_object o = new_object(f, "n", "new");
    enum sql_insert_result result;
    enum sql_kind taken_by;

    return sql_object_insert(f->s, &o, change, &result, &taken_by, &f->err);
}

static bool go_replace(struct fixture *f, struct sql_change *change)
{
    struct sql_new_object o = new_object_at(f, "n", "t", "w/else");
    enum sql_insert_result result;
    enum sql_kind taken_by;

    return sql_object_replace(f->s, &o, change, &result, &taken_by, &f->err);
}

static bool go_swap(struct fixture *f, struct sql_change *change)
{
    struct sql_swap sw = swap_to(f, object(f, "n", "t"), "1.json");
    enum sql_swap_result result;

    sw.by = *change;
    return sql_object_swap(f->s, &sw, 1, &result, &f->err);
}

static bool go_swap_two(struct fixture *f, struct sql_change *change)
{
    struct sql_swap sw[] = {
        swap_to(f, object(f, "n", "t"), "1.json"), swap_to(f, object(f, "n", "u"), "1.json")};
    enum sql_swap_result result;

    sw[0].by = *change;
    sw[1].by.idem = change->idem;
    return sql_object_swap(f->s, sw, 2, &result, &f->err);
}

static bool go_rename(struct fixture *f, struct sql_change *change)
{
    enum sql_rename_result result;
    enum sql_kind taken_by;

    return sql_object_rename(f->s, f->warehouse, SQL_TABLE, STR("n"), STR("t"), STR("n"),
        STR("renamed"), change, &result, &taken_by, &f->err);
}

static bool go_drop(struct fixture *f, struct sql_change *change)
{
    struct sql_object *was;
    bool dropped;

    return sql_object_drop(f->a, f->s, f->warehouse, SQL_TABLE, STR("n"), STR("t"), SQL_KEEP_FILES,
        change, &dropped, &was, &f->err);
}

static bool go_unregister(struct fixture *f, struct sql_change *change)
{
    enum sql_unregister_result result;

    return sql_object_unregister(f->s, f->warehouse, SQL_TABLE, STR("n"), STR("t"),
        object(f, "n", "t")->metadata_location, change, &result, &f->err);
}

static bool go_ns_create(struct fixture *f, struct sql_change *change)
{
    bool created;

    return sql_ns_create(f->s, f->warehouse, STR("m"), STR("{}"), change, &created, &f->err);
}

static bool go_ns_set(struct fixture *f, struct sql_change *change)
{
    struct sql_ns *ns;
    bool swapped;

    ck_ok(f, sql_ns_get(f->a, f->s, f->warehouse, STR("n"), &ns, &f->err));
    change->idem->answer = STR("{\"updated\":[]}");
    return sql_ns_set_properties(
        f->s, f->warehouse, ns->id, ns->version, STR("{\"a\":\"b\"}"), change, &swapped, &f->err);
}

static bool go_ns_drop(struct fixture *f, struct sql_change *change)
{
    struct sql_ns_content content;
    bool dropped;

    return sql_ns_drop(f->s, f->warehouse, STR("empty"), change, &dropped, &content, &f->err);
}

static const struct verb {
    const char *name;
    bool (*go)(struct fixture *f, struct sql_change *change);
    const char *answer; /* its end */
} verbs[] = {
    {"insert",               go_insert,     "s3://b/w/n/new/metadata/0.json"},
    {"replace",              go_replace,    "s3://b/w/else/metadata/0.json" },
    {"swap",                 go_swap,       "s3://b/w/n/t/metadata/1.json"  },
    {"swap of two",          go_swap_two,   "/metadata/1.json"              }, /* the smaller id's */
    {"rename",               go_rename,     "s3://b/w/n/t/metadata/0.json"  },
    {"drop",                 go_drop,       "s3://b/w/n/t/metadata/0.json"  },
    {"unregister",           go_unregister, "s3://b/w/n/t/metadata/0.json"  },
    {"namespace create",     go_ns_create,  NULL                            },
    {"namespace properties", go_ns_set,     "{\"updated\":[]}"              },
    {"namespace drop",       go_ns_drop,    NULL                            },
};

enum { VERBS = ARRAY_LEN(verbs), SETTLED = 4 }; /* the first few differ in how they are sent */

static void check_verb(const struct verb *verb, int engine)
{
    struct fixture f;
    struct sql_idem k;

    start(&f, engine);
    ns_make(&f, "empty");
    struct sql_change change = keyed(&f, &k, "k", LONG_MS);
    ck_ok(&f, verb->go(&f, &change));
    ck_assert_msg(k.kept, "%s", verb->name);
    struct sql_answer *got = get(&f, "k");
    ck_assert_msg(got && got->status == 200 && got->object != 0, "%s", verb->name);
    ck_str(got->digest, "d");
    bool right = verb->answer ? str_ends(got->answer, str_from(verb->answer)) : got->answer.n == 0;
    ck_assert_msg(right, "%s: %.*s", verb->name, STR_ARG(got->answer));
    fixture_close(&f);
}

START_TEST(test_keep__with_each_change)
{
    for (int i = 0; i < engines(); i++)
        check_verb(&verbs[_i], i);
}
END_TEST

static void check_repeated(const struct verb *verb, int engine)
{
    struct fixture f;
    struct sql_idem k, first;

    start(&f, engine);
    ns_make(&f, "empty");
    struct sql_change change = keyed(&f, &first, "k", LONG_MS);
    ck_ok(&f, sql_idem_put(f.s, f.warehouse, 0, &change, &f.err));
    ck_assert(first.kept);
    change = keyed(&f, &k, "k", LONG_MS);
    ck_assert_msg(!verb->go(&f, &change), "%s", verb->name);
    ck_assert_msg(f.err.kind == ERR_REPEATED, "%s: %s", verb->name, f.err.msg);
    ck_assert(!k.kept);

    err_clear(&f.err);
    change = keyed(&f, &k, "other", LONG_MS); /* nothing was changed: it still can be */
    ck_ok(&f, verb->go(&f, &change));
    ck_assert_msg(k.kept, "%s", verb->name);
    fixture_close(&f);
}

START_TEST(test_keep__a_key_that_was_used_stops_each_change)
{
    for (int i = 0; i < engines(); i++)
        check_repeated(&verbs[_i], i);
}
END_TEST

static void check_expired(const struct verb *verb, int engine)
{
    struct fixture f;
    struct sql_idem k, first;

    start(&f, engine);
    ns_make(&f, "empty");
    struct sql_change change = keyed(&f, &first, "k", GONE_MS);
    ck_ok(&f, sql_idem_put(f.s, f.warehouse, 0, &change, &f.err));
    ck_assert(first.kept && !get(&f, "k"));
    change = keyed(&f, &k, "k", LONG_MS);
    ck_ok(&f, verb->go(&f, &change));
    ck_assert_msg(k.kept && get(&f, "k")->object != 0, "%s", verb->name);
    fixture_close(&f);
}

START_TEST(test_keep__an_expired_key_is_as_new)
{
    for (int i = 0; i < engines(); i++)
        check_expired(&verbs[_i], i);
}
END_TEST

START_TEST(test_keep__what_changed_nothing_keeps_nothing)
{
    struct fixture f;
    struct sql_idem k;

    start(&f, _i);
    struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), "1.json");
    sw.by = keyed(&f, &k, "k", LONG_MS);
    sw.old_metadata_location = STR("s3://b/w/n/t/metadata/no.json");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAP_LOST);
    ck_assert(!k.kept && !get(&f, "k"));

    struct sql_change change = keyed(&f, &k, "k", LONG_MS);
    ck_ok(&f, go_insert(&f, &change));
    ck_assert(k.kept);
    change = keyed(&f, &k, "k2", LONG_MS);
    ck_ok(&f, go_insert(&f, &change)); /* the name is taken */
    ck_assert(!k.kept && !get(&f, "k2"));
    fixture_close(&f);
}
END_TEST

START_TEST(test_put__first_answer_stands)
{
    struct fixture f;
    struct sql_idem k;

    start(&f, _i);
    struct sql_change change = keyed(&f, &k, "k", LONG_MS);
    k.status = 409;
    k.answer = STR("{\"error\":{}}");
    ck_ok(&f, sql_idem_put(f.s, f.warehouse, 0, &change, &f.err));
    ck_assert(k.kept);
    change = keyed(&f, &k, "k", LONG_MS);
    ck_ok(&f, sql_idem_put(f.s, f.warehouse, 7, &change, &f.err));
    ck_assert(!k.kept);
    struct sql_answer *got = get(&f, "k");
    ck_assert(got->status == 409 && got->object == 0);
    ck_str(got->answer, "{\"error\":{}}");
    fixture_close(&f);
}
END_TEST

START_TEST(test_put__keys_are_of_one_principal)
{
    struct fixture f;
    struct sql_idem k;
    struct sql_answer *got;

    start(&f, _i);
    struct sql_change change = keyed(&f, &k, "k", LONG_MS);
    change.principal = (struct str){NULL, 0};
    ck_ok(&f, sql_idem_put(f.s, f.warehouse, 0, &change, &f.err));
    ck_assert(!get(&f, "k"));
    ck_ok(&f, sql_idem_get(f.a, f.s, f.warehouse, (struct str){NULL, 0}, STR("k"), &got, &f.err));
    ck_assert(got != NULL);
    fixture_close(&f);
}
END_TEST

/* --- at the same time, and with answers that are lost --- */

enum { THREADS = 6, ROUNDS = 8 };

struct racer {
    struct fixture f; /* own copy */
    pthread_barrier_t *gate;
    int round;
    bool won;
};

/* One request, sent THREADS times at once: whichever loses hears that it was repeated. */
static void *send_same(void *arg)
{
    struct racer *r = arg;
    struct sql_idem k;
    struct sql_object *o;
    bool ns_found;

    r->f.a = arena_new();
    struct str key = arena_printf(r->f.a, "k%d", r->round);
    ck_ok(&r->f, sql_object_get(
                     r->f.a, r->f.s, r->f.warehouse, STR("n"), STR("t"), &ns_found, &o, &r->f.err));
    struct sql_swap sw = swap_to(&r->f, o, arena_printf(r->f.a, "%p.json", (void *)r).p);
    enum sql_swap_result result = SQL_SWAP_LOST;
    sw.by = keyed(&r->f, &k, key.p, LONG_MS);
    pthread_barrier_wait(r->gate);
    while (result == SQL_SWAP_LOST && sql_object_swap(r->f.s, &sw, 1, &result, &r->f.err)) {
        sw.old_metadata_location = object(&r->f, "n", "t")->metadata_location;
        if (result == SQL_SWAPPED)
            break;
    }
    r->won = k.kept;
    ck_assert(r->won ? result == SQL_SWAPPED : r->f.err.kind == ERR_REPEATED);
    arena_free(&r->f.a);
    return NULL;
}

START_TEST(test_race__one_request_sent_many_times_is_done_once)
{
    struct fixture f;
    struct racer r[THREADS];
    pthread_t t[THREADS];
    pthread_barrier_t gate;

    start(&f, _i);
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int round = 0; round < ROUNDS; round++) {
        int won = 0;
        for (int i = 0; i < THREADS; i++) {
            r[i] = (struct racer){.f = f, .gate = &gate, .round = round};
            pthread_create(&t[i], NULL, send_same, &r[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(t[i], NULL);
            won += r[i].won;
        }
        ck_assert_int_eq(won, 1);
    }
    pthread_barrier_destroy(&gate);
    fixture_close(&f);
}
END_TEST

static void check_lost(const struct verb *verb, enum proxy_trick trick)
{
    char database[512];
    struct fixture f;
    struct sql_idem k;

    start(&f, 1);
    ns_make(&f, "empty");
    struct sql *direct = f.s;
    struct proxy *proxy = proxy_new();
    snprintf(database, sizeof(database),
        "postgresql://firn@/postgres?host=%s&options=-c%%20search_path%%3D%s", proxy_dir(proxy),
        f.schema);
    f.s = fixture_sql(&f, database);
    struct sql_change change = keyed(&f, &k, "k", LONG_MS);
    proxy_arm(proxy, trick,
        verb->go == go_swap     ? "object_swap_keyed"
        : verb->go == go_insert ? "object_insert_one"
                                : "commit",
        1, NULL, NULL);
    ck_ok(&f, verb->go(&f, &change));
    ck_assert_msg(proxy_hits(proxy) == 1 && k.kept, "%s", verb->name);
    ck_assert_msg(get(&f, "k"), "%s", verb->name);
    ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM idempotency"), 1);
    sql_close(&f.s);
    f.s = direct;
    proxy_free(&proxy);
    fixture_close(&f);
}

START_TEST(test_settle__answer_lost_is_kept_once)
{
    check_lost(&verbs[_i], PROXY_LOSE_REPLY);
}
END_TEST

START_TEST(test_settle__request_lost_is_kept_once)
{
    check_lost(&verbs[_i], PROXY_LOSE_REQUEST);
}
END_TEST

/* --- upkeep --- */

START_TEST(test_prune__answers_whose_time_is_over)
{
    struct fixture f;
    struct sql_idem k;
    size_t n;

    start(&f, _i);
    for (int i = 0; i < 9; i++) {
        struct str key = arena_printf(f.a, "k%d", i);
        struct sql_change change = keyed(&f, &k, key.p, i < 7 ? GONE_MS - 100 * i : LONG_MS);
        ck_ok(&f, sql_idem_put(f.s, f.warehouse, 0, &change, &f.err));
    }
    ck_ok(&f, sql_idem_prune(f.s, f.warehouse, 3, &n, &f.err));
    ck_assert(n >= 3 && n < 7); /* and what expired in the same moment */
    size_t all = n;
    while (n > 0) {
        ck_ok(&f, sql_idem_prune(f.s, f.warehouse, 3, &n, &f.err));
        all += n;
    }
    ck_assert_uint_eq(all, 7);
    ck_assert(get(&f, "k7") && get(&f, "k8"));
    fixture_close(&f);
}
END_TEST

START_TEST(test_prune__old_changes)
{
    struct fixture f;
    size_t n;

    start(&f, _i);
    for (int i = 0; i < 5; i++) {
        struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), arena_printf(f.a, "%d.json", i).p);
        sw.by.digest = STR("d");
        sw.by.at_ms -= 100000 * (5 - i); /* 500, 400 ... 100 seconds ago */
        ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    }
    ck_ok(&f, sql_change_prune(f.s, f.warehouse, 250000, 2, &n, &f.err));
    ck_assert_uint_eq(n, 2);
    ck_ok(&f, sql_change_prune(f.s, f.warehouse, 250000, 2, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    ck_ok(&f, sql_change_prune(f.s, f.warehouse, 250000, 2, &n, &f.err));
    ck_assert_uint_eq(n, 0);
    struct sql_applied found;
    ck_ok(&f, sql_change_by_digest(f.a, f.s, f.warehouse, STR("d"), &found, &f.err));
    ck_str(found.metadata_location, "s3://b/w/n/t/metadata/4.json");
    fixture_close(&f);
}
END_TEST

static bool take(struct fixture *f, const char *holder, int64_t for_ms)
{
    bool taken;

    ck_ok(f,
        sql_lease_take(f->s, f->warehouse, STR("job"), str_from(holder), for_ms, &taken, &f->err));
    return taken;
}

START_TEST(test_lease__one_holder_until_it_is_given_or_over)
{
    struct fixture f;

    start(&f, _i);
    ck_assert(take(&f, "a", LONG_MS));
    ck_assert(!take(&f, "b", LONG_MS));
    ck_assert(take(&f, "a", LONG_MS)); /* prolonged */
    ck_ok(&f, sql_lease_give(f.s, f.warehouse, STR("job"), STR("b"), &f.err));
    ck_assert(!take(&f, "b", LONG_MS)); /* it was not b's to give */
    ck_ok(&f, sql_lease_give(f.s, f.warehouse, STR("job"), STR("a"), &f.err));
    ck_assert(take(&f, "b", GONE_MS));
    ck_assert(take(&f, "a", LONG_MS)); /* b's time was over at once */
    fixture_close(&f);
}
END_TEST

static enum sql_insert_result insert_needing(struct fixture *f, const char *name, const char *lease)
{
    struct sql_new_object o = new_object(f, "n", name);

    o.lease = str_from(lease);
    return insert(f, &o);
}

static enum sql_insert_result replace_needing(
    struct fixture *f, const char *name, const char *lease)
{
    struct sql_new_object o = new_object(f, "n", name);
    struct sql_change change = by(f);
    enum sql_insert_result result;
    enum sql_kind taken_by;

    o.lease = str_from(lease);
    ck_ok(f, sql_object_replace(f->s, &o, &change, &result, &taken_by, &f->err));
    return result;
}

START_TEST(test_lease__an_insert_needs_it_free)
{
    const struct str names[] = {STR("job"), STR("other"), STR("other")};
    struct fixture f;
    size_t pruned;

    start(&f, _i);
    for (int i = 0; i < 2; i++)
        ck_ok(&f, sql_lease_take_all(f.s, f.warehouse, names, 3, STR("a"), LONG_MS, &f.err));
    ck_ok(&f, sql_lease_prune(f.s, f.warehouse, 10, &pruned, &f.err));
    ck_assert_uint_eq(pruned, 0); /* their time is not over */
    struct str was = object(&f, "n", "t")->metadata_location;
    ck_assert_int_eq(insert_needing(&f, "new", "job"), SQL_LEASE_HELD);
    ck_assert_int_eq(replace_needing(&f, "new", "job"), SQL_LEASE_HELD);
    ck_assert_int_eq(replace_needing(&f, "t", "other"), SQL_LEASE_HELD);
    ck_assert(!object(&f, "n", "new"));
    ck_assert(str_eq(object(&f, "n", "t")->metadata_location, was));
    ck_ok(&f, sql_lease_give(f.s, f.warehouse, STR("job"), STR("a"), &f.err));
    ck_assert_int_eq(insert_needing(&f, "new", "job"), SQL_INSERTED);
    ck_assert(take(&f, "b", GONE_MS)); /* it is free again */
    ck_assert_int_eq(insert_needing(&f, "newer", "job"), SQL_INSERTED);
    ck_assert_int_eq(replace_needing(&f, "t", "other"), SQL_LEASE_HELD);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_keep__with_each_change, 0, VERBS);
    tcase_add_loop_test(tc, test_keep__a_key_that_was_used_stops_each_change, 0, VERBS);
    tcase_add_loop_test(tc, test_keep__an_expired_key_is_as_new, 0, VERBS);
    tcase_add_loop_test(tc, test_keep__what_changed_nothing_keeps_nothing, 0, n);
    tcase_add_loop_test(tc, test_put__first_answer_stands, 0, n);
    tcase_add_loop_test(tc, test_put__keys_are_of_one_principal, 0, n);
    tcase_add_loop_test(tc, test_race__one_request_sent_many_times_is_done_once, 0, n);
    tcase_add_loop_test(tc, test_prune__answers_whose_time_is_over, 0, n);
    tcase_add_loop_test(tc, test_prune__old_changes, 0, n);
    tcase_add_loop_test(tc, test_lease__one_holder_until_it_is_given_or_over, 0, n);
    tcase_add_loop_test(tc, test_lease__an_insert_needs_it_free, 0, n);
    if (!have_pg())
        return;
    tcase_add_loop_test(tc, test_settle__answer_lost_is_kept_once, 0, SETTLED);
    tcase_add_loop_test(tc, test_settle__request_lost_is_kept_once, 0, SETTLED);
}

int main(void)
{
    return run("sql/idem", add);
}
