/* What becomes of a change whose answer was lost, and of a database that goes away. */
#include "fixture.h"
#include "proxy.h"

#include "fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { UNBOUNDED_US = 8000000 }; /* a statement that goes by its own time alone takes longer */

/* The catalog speaks through the proxy; `direct` does not. */
struct scene {
    struct fixture f;
    struct sql *direct;
    struct proxy *proxy;
};

static void start(struct scene *sc)
{
    char database[512];

    fixture_open(&sc->f, 1);
    sc->direct = sc->f.s;
    sc->proxy = proxy_new();
    snprintf(database, sizeof(database),
        "postgresql://firn@/postgres?host=%s&options=-c%%20search_path%%3D%s", proxy_dir(sc->proxy),
        sc->f.schema);
    sc->f.s = fixture_sql(&sc->f, database);
    ns_make(&sc->f, "n");
    struct sql_new_object o = new_object(&sc->f, "n", "t");
    ck_assert_int_eq(insert(&sc->f, &o), SQL_INSERTED);
}

static void end(struct scene *sc)
{
    sql_close(&sc->direct);
    sql_close(&sc->f.s);
    proxy_free(&sc->proxy);
    fixture_close(&sc->f);
}

static int64_t changes(struct scene *sc, struct str token)
{
    char text[256];

    snprintf(
        text, sizeof(text), "SELECT count(*) FROM change WHERE token = '%.*s'", STR_ARG(token));
    return pg_count(&sc->f, text);
}

/* --- one swap, one statement --- */

static const enum proxy_trick losses[] = {PROXY_LOSE_REPLY, PROXY_LOSE_REQUEST, PROXY_HOLD};

START_TEST(test_settle_swap__answer_lost_is_applied_once)
{
    struct scene sc;

    start(&sc);
    struct sql_swap sw = swap_to(&sc.f, object(&sc.f, "n", "t"), "1.json");
    proxy_arm(sc.proxy, losses[_i], "object_swap_one", 1, NULL, NULL);
    ck_assert_int_eq(swap(&sc.f, &sw, 1), SQL_SWAPPED);
    ck_assert_int_eq(proxy_hits(sc.proxy), 1);
    proxy_release(sc.proxy, PROXY_DELIVER); /* late: it must find its place taken */
    ck_assert_int_eq(changes(&sc, sw.by.token), 1);
    ck_str(object(&sc.f, "n", "t")->metadata_location, "s3://b/w/n/t/metadata/1.json");
    end(&sc);
}
END_TEST

START_TEST(test_settle_swap__answer_lost_three_times)
{
    struct scene sc;

    start(&sc);
    struct sql_swap sw = swap_to(&sc.f, object(&sc.f, "n", "t"), "1.json");
    proxy_arm(sc.proxy, losses[_i], "object_swap_one", 3, NULL, NULL);
    ck_assert_int_eq(swap(&sc.f, &sw, 1), SQL_SWAPPED);
    ck_assert_int_eq(proxy_hits(sc.proxy), 3);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(changes(&sc, sw.by.token), 1);
    end(&sc);
}
END_TEST

static void swap_directly(void *arg)
{
    struct scene *sc = arg;
    struct fixture f = sc->f;

    f.s = sc->direct;
    f.a = arena_new();
    struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), "theirs.json");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    arena_free(&f.a);
}

START_TEST(test_settle_swap__somebody_else_came_first_is_lost)
{
    struct scene sc;

    start(&sc);
    struct sql_swap sw = swap_to(&sc.f, object(&sc.f, "n", "t"), "1.json");
    proxy_arm(
        sc.proxy, _i ? PROXY_HOLD : PROXY_LOSE_REQUEST, "object_swap_one", 1, swap_directly, &sc);
    ck_assert_int_eq(swap(&sc.f, &sw, 1), SQL_SWAP_LOST);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(changes(&sc, sw.by.token), 0);
    ck_str(object(&sc.f, "n", "t")->metadata_location, "s3://b/w/n/t/metadata/theirs.json");
    end(&sc);
}
END_TEST

START_TEST(test_settle_swap__applied_and_then_overtaken_is_applied)
{
    struct scene sc;

    start(&sc);
    struct sql_swap sw = swap_to(&sc.f, object(&sc.f, "n", "t"), "1.json");
    proxy_arm(sc.proxy, PROXY_LOSE_REPLY, "object_swap_one", 1, swap_directly, &sc);
    ck_assert_int_eq(swap(&sc.f, &sw, 1), SQL_SWAPPED);
    ck_assert_int_eq(changes(&sc, sw.by.token), 1);
    ck_str(object(&sc.f, "n", "t")->metadata_location, "s3://b/w/n/t/metadata/theirs.json");
    end(&sc);
}
END_TEST

START_TEST(test_settle_swap__deadline_passed_is_unknown)
{
    struct scene sc;
    enum sql_swap_result result;

    start(&sc);
    struct sql_swap sw = swap_to(&sc.f, object(&sc.f, "n", "t"), "1.json");
    proxy_arm(sc.proxy, _i ? PROXY_STALL : PROXY_LOSE_REQUEST, "object_swap_one", 1000, NULL, NULL);
    int64_t since = clock_mono_us();
    sw.by.deadline_us = since + 2000000; /* it has to be sent before */
    ck_assert(!sql_object_swap(sc.f.s, &sw, 1, &result, &sc.f.err));
    ck_assert_int_eq(sc.f.err.kind, ERR_OUTCOME_UNKNOWN);
    ck_assert_int_lt(clock_mono_us() - since, UNBOUNDED_US);
    end(&sc);
}
END_TEST

/* --- one insert, one statement --- */

static enum sql_insert_result create(struct scene *sc, const struct sql_change *change)
{
    struct fixture *f = &sc->f;
    struct sql_new_object o = new_object(f, "n", "new");
    enum sql_insert_result result;
    enum sql_kind taken_by;

    ck_ok(f, sql_object_insert(f->s, &o, change, &result, &taken_by, &f->err));
    return result;
}

START_TEST(test_settle_insert__answer_lost_is_applied_once)
{
    struct scene sc;

    start(&sc);
    struct sql_change change = by(&sc.f);
    proxy_arm(sc.proxy, losses[_i], "object_insert_one", 2, NULL, NULL);
    ck_assert_int_eq(create(&sc, &change), SQL_INSERTED);
    ck_assert_int_ge(proxy_hits(sc.proxy), 1);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(changes(&sc, change.token), 1);
    ck_assert(object(&sc.f, "n", "new"));
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM object"), 2);
    end(&sc);
}
END_TEST

static void create_directly(void *arg)
{
    struct scene *sc = arg;
    struct fixture f = sc->f;

    f.s = sc->direct;
    f.a = arena_new();
    struct sql_new_object o = new_object_at(&f, "n", "new", "w/n/theirs");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    arena_free(&f.a);
}

/* What was refused does not happen later, when nothing is in its way any more. */
START_TEST(test_settle_insert__refused_and_then_delivered_is_not_made)
{
    struct scene sc;

    start(&sc);
    struct sql_change change = by(&sc.f);
    proxy_arm(sc.proxy, _i ? PROXY_HOLD : PROXY_LOSE_REQUEST, "object_insert_one", 1,
        create_directly, &sc);
    ck_assert_int_eq(create(&sc, &change), SQL_NAME_TAKEN);
    ck_assert(drop(&sc.f, "n", "new", SQL_KEEP_FILES));
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert(!object(&sc.f, "n", "new"));
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM change WHERE kind = 'forgone'"), 1);
    ck_assert_int_eq(changes(&sc, change.token), 1);
    end(&sc);
}
END_TEST

START_TEST(test_settle_insert__deadline_passed_is_unknown)
{
    struct scene sc;
    struct sql_new_object o;
    enum sql_insert_result result;
    enum sql_kind taken_by;

    start(&sc);
    o = new_object(&sc.f, "n", "new");
    struct sql_change change = by(&sc.f);
    change.deadline_us = clock_mono_us() + 7000000;
    proxy_arm(sc.proxy, PROXY_STALL, "object_insert_one", 1000, NULL, NULL);
    ck_assert(!sql_object_insert(sc.f.s, &o, &change, &result, &taken_by, &sc.f.err));
    ck_assert_int_eq(sc.f.err.kind, ERR_OUTCOME_UNKNOWN);
    end(&sc);
}
END_TEST

/* --- transactions --- */

struct verb {
    const char *name, *writes; /* the statement that writes the change row */
    void (*go)(struct scene *sc, struct sql_change *change);
};

static void go_create(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    struct sql_new_object o = new_object(f, "n", "new");
    enum sql_insert_result result;
    enum sql_kind taken_by;

    o.ns_id = 0; /* not in one statement */
    ck_ok(f, sql_object_insert(f->s, &o, change, &result, &taken_by, &f->err));
    ck_assert_int_eq(result, SQL_INSERTED);
    ck_assert(object(f, "n", "new"));
}

static void go_drop(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    struct sql_object *was;
    bool dropped;

    ck_ok(f, sql_object_drop(f->a, f->s, f->warehouse, SQL_TABLE, STR("n"), STR("t"),
                 SQL_KEEP_FILES, change, &dropped, &was, &f->err));
    ck_assert(dropped && was);
    ck_str(was->location, "s3://b/w/n/t");
    ck_assert(!object(f, "n", "t"));
}

static void go_rename(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    enum sql_rename_result result;
    enum sql_kind taken_by;

    ck_ok(f, sql_object_rename(f->s, f->warehouse, SQL_TABLE, STR("n"), STR("t"), STR("n"),
                 STR("u"), change, &result, &taken_by, &f->err));
    ck_assert_int_eq(result, SQL_RENAMED);
    ck_assert(object(f, "n", "u") && !object(f, "n", "t"));
}

static void go_swap_two(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    struct sql_new_object o = new_object(f, "n", "second");

    struct fixture beside = sc->f;
    beside.s = sc->direct;
    ck_assert_int_eq(insert(&beside, &o), SQL_INSERTED);
    struct sql_swap sw[] = {swap_to(f, object(&beside, "n", "t"), "1.json"),
        swap_to(f, object(&beside, "n", "second"), "1.json")};
    sw[0].by = *change;
    ck_assert_int_eq(swap(f, sw, 2), SQL_SWAPPED);
    ck_assert_int_eq(changes(sc, sw[1].by.token), 1);
}

static void go_ns_create(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    bool created;

    ck_ok(
        f, sql_ns_create(f->s, f->warehouse, STR("p\x1fq"), STR("{}"), change, &created, &f->err));
    ck_assert(created);
}

static void go_ns_drop(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    struct sql_ns_content content;
    bool dropped;

    struct fixture beside = sc->f;
    beside.s = sc->direct;
    ns_make(&beside, "gone");
    ck_ok(f, sql_ns_drop(f->s, f->warehouse, STR("gone"), change, &dropped, &content, &f->err));
    ck_assert(dropped);
}

static void go_ns_set(struct scene *sc, struct sql_change *change)
{
    struct fixture *f = &sc->f;
    struct sql_ns *ns;
    bool swapped;

    ck_ok(f, sql_ns_get(f->a, sc->direct, f->warehouse, STR("n"), &ns, &f->err));
    ck_ok(f, sql_ns_set_properties(f->s, f->warehouse, ns->id, ns->version, STR("{\"a\":\"b\"}"),
                 change, &swapped, &f->err));
    ck_assert(swapped);
}

static const struct verb verbs[] = {
    {"create",               "change_insert",    go_create   },
    {"drop",                 "change_insert",    go_drop     },
    {"rename",               "change_insert",    go_rename   },
    {"swap of two",          "object_swap_many", go_swap_two },
    {"namespace create",     "change_insert",    go_ns_create},
    {"namespace drop",       "change_insert",    go_ns_drop  },
    {"namespace properties", "change_insert",    go_ns_set   },
};

enum { VERBS = ARRAY_LEN(verbs) };

static void lose(int verb, enum proxy_trick trick, const char *statement)
{
    struct scene sc;

    start(&sc);
    struct sql_change change = by(&sc.f);
    proxy_arm(sc.proxy, trick, statement, 1, NULL, NULL);
    verbs[verb].go(&sc, &change);
    ck_assert_msg(proxy_hits(sc.proxy) == 1, "%s", verbs[verb].name);
    ck_assert_msg(changes(&sc, change.token) == 1, "%s", verbs[verb].name);
    end(&sc);
}

START_TEST(test_settle_unit__answer_to_commit_lost)
{
    lose(_i, PROXY_LOSE_REPLY, "commit");
}
END_TEST

START_TEST(test_settle_unit__commit_never_arrived)
{
    lose(_i, PROXY_LOSE_REQUEST, "commit");
}
END_TEST

START_TEST(test_settle_unit__broken_in_the_middle)
{
    lose(_i, PROXY_LOSE_REPLY, verbs[_i].writes);
}
END_TEST

static void *release_late(void *arg)
{
    struct scene *sc = arg;

    usleep(300000);
    proxy_release(sc->proxy, PROXY_DELIVER);
    return NULL;
}

static void *forget_late(void *arg)
{
    struct scene *sc = arg;

    usleep(300000);
    proxy_release(sc->proxy, PROXY_FORGET);
    return NULL;
}

/* The waits within are the servers' own; a machine that is busy with other things adds to them. */
static struct sql_change with_time(struct fixture *f)
{
    struct sql_change change = by(f);

    change.deadline_us += 60000000;
    return change;
}

/* The first attempt's transaction is open, and its commit on the way, while the second runs. */
static void commit_late(int verb, void *(*later)(void *))
{
    struct scene sc;
    pthread_t t;

    start(&sc);
    struct sql_change change = with_time(&sc.f);
    proxy_arm(sc.proxy, PROXY_HOLD, "commit", 1, NULL, NULL);
    pthread_create(&t, NULL, later, &sc);
    verbs[verb].go(&sc, &change);
    pthread_join(t, NULL);
    ck_assert_msg(changes(&sc, change.token) == 1, "%s", verbs[verb].name);
    end(&sc);
}

START_TEST(test_settle_unit__commit_arrives_while_it_is_repeated)
{
    commit_late(_i, release_late);
}
END_TEST

START_TEST(test_settle_unit__commit_is_lost_while_it_is_repeated)
{
    commit_late(_i, forget_late);
}
END_TEST

START_TEST(test_settle_unit__nothing_was_sent_is_unavailable)
{
    struct scene sc;
    enum sql_insert_result result;
    enum sql_kind taken_by;

    start(&sc);
    struct sql_new_object o = new_object(&sc.f, "n", "new");
    struct sql_change change = by(&sc.f);
    proxy_arm(sc.proxy, PROXY_LOSE_REQUEST, "change_insert", 1000, NULL, NULL);
    int64_t since = clock_mono_us();
    change.deadline_us = since + 500000;
    ck_assert(!sql_object_insert(sc.f.s, &o, &change, &result, &taken_by, &sc.f.err));
    ck_assert_int_eq(sc.f.err.kind, ERR_UNAVAILABLE);
    ck_assert_int_lt(clock_mono_us() - since, 2900000); /* three seconds without a deadline */
    end(&sc);
}
END_TEST

START_TEST(test_settle_unit__deadline_passed_is_unknown)
{
    struct scene sc;
    enum sql_insert_result result;
    enum sql_kind taken_by;

    start(&sc);
    struct sql_new_object o = new_object(&sc.f, "n", "new");
    struct sql_change change = by(&sc.f);
    change.deadline_us = clock_mono_us() + 2000000;
    proxy_arm(sc.proxy, PROXY_STALL, "commit", 1000, NULL, NULL);
    ck_assert(!sql_object_insert(sc.f.s, &o, &change, &result, &taken_by, &sc.f.err));
    ck_assert_int_eq(sc.f.err.kind, ERR_OUTCOME_UNKNOWN);
    end(&sc);
}
END_TEST

/* --- sessions that end, servers that restart --- */

struct storm {
    struct scene *sc;
    atomic_bool over;
    int killed;
};

static void *kill_sessions(void *arg)
{
    struct storm *st = arg;

    while (!atomic_load(&st->over)) {
        st->killed += (int)pg_count(&st->sc->f,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
            "application_name = 'firn'");
        usleep(25000);
    }
    return NULL;
}

static void *restart_server(void *arg)
{
    struct storm *st = arg;

    pg_restart();
    usleep(200000);
    pg_restart();
    atomic_store(&st->over, true);
    return NULL;
}

/* "Unavailable" promises that nothing was done: then, and only then, a change is made again. */
static bool again(struct fixture *f, bool ok, struct sql_change *change)
{
    ck_assert_msg(
        ok || f->err.kind == ERR_UNAVAILABLE, "%s: %s", err_name(f->err.kind), f->err.msg);
    if (!ok)
        *change = with_time(f);
    return !ok;
}

static void swap_whatever_breaks(struct fixture *f, struct sql_object *o, int n)
{
    struct str file = arena_printf(f->a, "%d.json", n);
    struct sql_swap sw = swap_to(f, o, file.p);
    enum sql_swap_result result;

    sw.by = with_time(f);
    while (again(f, sql_object_swap(f->s, &sw, 1, &result, &f->err), &sw.by))
        ;
    ck_assert_int_eq(result, SQL_SWAPPED);
    o->metadata_location = sw.metadata_location;
}

static void create_and_drop_whatever_breaks(struct fixture *f)
{
    struct sql_new_object o = new_object(f, "n", "other");
    struct sql_change change = with_time(f);
    enum sql_insert_result result;
    enum sql_kind taken_by;
    struct sql_object *was;
    bool dropped;

    while (again(f, sql_object_insert(f->s, &o, &change, &result, &taken_by, &f->err), &change))
        ;
    ck_assert_int_eq(result, SQL_INSERTED);
    change = with_time(f);
    while (again(f,
        sql_object_drop(f->a, f->s, f->warehouse, SQL_TABLE, o.ns, o.name, SQL_KEEP_FILES, &change,
            &dropped, &was, &f->err),
        &change))
        ;
    ck_assert(dropped);
}

/* One writer: whatever breaks, each of its changes succeeds, and only once. */
static int change_all_the_time(struct scene *sc, struct storm *st, struct sql_object *o, int most)
{
    int n = 0;

    do {
        swap_whatever_breaks(&sc->f, o, n);
        create_and_drop_whatever_breaks(&sc->f);
    } while (++n < most && !atomic_load(&st->over));
    return n;
}

static void weather(void *(*storm)(void *), int most)
{
    struct scene sc;
    struct storm st = {.sc = &sc};
    pthread_t t;

    start(&sc);
    struct sql_object *o = object(&sc.f, "n", "t");
    pthread_create(&t, NULL, storm, &st);
    int n = change_all_the_time(&sc, &st, o, most);
    atomic_store(&st.over, true);
    pthread_join(t, NULL);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM change WHERE kind = 'swap'"), n);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM change WHERE kind = 'drop'"), n);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM location"), 3); /* w, w/n, w/n/t */
    end(&sc);
}

START_TEST(test_settle_storm__sessions_are_killed_all_the_time)
{
    weather(kill_sessions, 60);
}
END_TEST

START_TEST(test_settle_storm__the_server_restarts_twice)
{
    weather(restart_server, 100000);
}
END_TEST

START_TEST(test_read__a_connection_that_broke_while_idle_is_no_error)
{
    struct scene sc;

    start(&sc);
    for (int i = 0; i < 3; i++) {
        pg_count(&sc.f, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                        "application_name = 'firn'");
        ck_assert(object(&sc.f, "n", "t"));
    }
    end(&sc);
}
END_TEST

static void *ping_stalled(void *arg)
{
    struct sql *s = arg;
    struct err err = {0};

    return sql_ping(s, &err) ? NULL : s;
}

START_TEST(test_pool__who_finds_no_free_connection_waits_two_seconds)
{
    struct scene sc;
    pthread_t t;
    void *failed;

    start(&sc);
    struct sql *whole = sc.f.s;
    char database[512];
    snprintf(
        database, sizeof(database), "postgresql://firn@/postgres?host=%s", proxy_dir(sc.proxy));
    struct sql_conf conf = {.database = database, .prepared = true, .pool = 1};
    ck_ok(&sc.f, sql_open(&conf, &sc.f.s, &sc.f.err));
    proxy_arm(sc.proxy, PROXY_STALL, "ping", 1, NULL, NULL);
    pthread_create(&t, NULL, ping_stalled, sc.f.s);
    while (proxy_hits(sc.proxy) == 0)
        usleep(1000);
    int64_t since = clock_mono_us();
    ck_assert(!sql_ping(sc.f.s, &sc.f.err));
    int64_t took = clock_mono_us() - since;
    ck_assert_int_eq(sc.f.err.kind, ERR_UNAVAILABLE);
    ck_assert(took > 1900000 && took < UNBOUNDED_US);
    pg_count(&sc.f, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                    "application_name = 'firn'");
    pthread_join(t, &failed);
    ck_assert(!failed);
    sql_close(&sc.f.s);
    sc.f.s = whole;
    end(&sc);
}
END_TEST

#ifdef FIRN_FAULTS
START_TEST(test_settle_fault__reply_lost_by_fault_point)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object t = new_object(&f, "n", "t"), u = new_object(&f, "n", "u");
    ck_assert_int_eq(insert(&f, &t), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &u), SQL_INSERTED);
    struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), "1.json");
    ck_assert(fault_arm("SQL_SWAP_REPLY_LOST", 1));
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    struct sql_swap both[] = {
        swap_to(&f, object(&f, "n", "t"), "2.json"), swap_to(&f, object(&f, "n", "u"), "2.json")};
    ck_assert(fault_arm("SQL_SWAP_REPLY_LOST", 1));
    ck_assert_int_eq(swap(&f, both, 2), SQL_SWAPPED);
    ck_str(object(&f, "n", "t")->metadata_location, "s3://b/w/n/t/metadata/2.json");
    fixture_close(&f);
}
END_TEST
#endif

static void add(TCase *tc)
{
#ifdef FIRN_FAULTS
    tcase_add_loop_test(tc, test_settle_fault__reply_lost_by_fault_point, 0, engines());
#endif
    if (!have_pg())
        return;
    tcase_add_loop_test(tc, test_settle_swap__answer_lost_is_applied_once, 0, 3);
    tcase_add_loop_test(tc, test_settle_swap__answer_lost_three_times, 0, 3);
    tcase_add_loop_test(tc, test_settle_swap__somebody_else_came_first_is_lost, 0, 2);
    tcase_add_test(tc, test_settle_swap__applied_and_then_overtaken_is_applied);
    tcase_add_loop_test(tc, test_settle_swap__deadline_passed_is_unknown, 0, 2);
    tcase_add_loop_test(tc, test_settle_insert__answer_lost_is_applied_once, 0, 3);
    tcase_add_loop_test(tc, test_settle_insert__refused_and_then_delivered_is_not_made, 0, 2);
    tcase_add_test(tc, test_settle_insert__deadline_passed_is_unknown);
    tcase_add_loop_test(tc, test_settle_unit__answer_to_commit_lost, 0, VERBS);
    tcase_add_loop_test(tc, test_settle_unit__commit_never_arrived, 0, VERBS);
    tcase_add_loop_test(tc, test_settle_unit__broken_in_the_middle, 0, VERBS);
    tcase_add_loop_test(tc, test_settle_unit__commit_arrives_while_it_is_repeated, 0, VERBS);
    tcase_add_loop_test(tc, test_settle_unit__commit_is_lost_while_it_is_repeated, 0, VERBS);
    tcase_add_test(tc, test_settle_unit__nothing_was_sent_is_unavailable);
    tcase_add_test(tc, test_settle_unit__deadline_passed_is_unknown);
    tcase_add_test(tc, test_settle_storm__sessions_are_killed_all_the_time);
    tcase_add_test(tc, test_settle_storm__the_server_restarts_twice);
    tcase_add_test(tc, test_pool__who_finds_no_free_connection_waits_two_seconds);
    tcase_add_test(tc, test_read__a_connection_that_broke_while_idle_is_no_error);
}

int main(void)
{
    return run("sql/settle", add);
}
