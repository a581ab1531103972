/* Swaps, and new objects, of several callers in one statement: each has an outcome of its own.
 * PostgreSQL only. */
#include "fixture.h"
#include "proxy.h"

#include "sql_keep.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { TABLES = 6, TRIES = 2000 };

struct scene {
    struct fixture f;
    struct sql *direct;
    struct proxy *proxy;
    int n;                      /* files so far, or rounds of new tables */
    enum sql_insert_result why; /* of who is to be refused */
};

struct one {
    struct fixture f; /* own arena and error */
    struct sql_swap swap;
    struct sql_idem idem;
    enum sql_swap_result result;
    bool ok;
    atomic_bool over;
};

static void start(struct scene *sc)
{
    char database[512];

    fixture_open(&sc->f, 1);
    sc->n = 0;
    sc->direct = sc->f.s;
    sc->proxy = proxy_new();
    snprintf(database, sizeof(database),
        "postgresql://firn@/postgres?host=%s&options=-c%%20search_path%%3D%s", proxy_dir(sc->proxy),
        sc->f.schema);
    sc->f.s = fixture_sql(&sc->f, database);
    ns_make(&sc->f, "n");
    for (int i = 0; i < TABLES; i++) {
        struct sql_new_object o = new_object(&sc->f, "n", arena_printf(sc->f.a, "t%d", i).p);
        ck_assert_int_eq(insert(&sc->f, &o), SQL_INSERTED);
    }
}

static void end(struct scene *sc)
{
    sql_close(&sc->direct);
    sql_close(&sc->f.s);
    proxy_free(&sc->proxy);
    fixture_close(&sc->f);
}

static struct sql_object *table(struct scene *sc, int i)
{
    return object(&sc->f, "n", arena_printf(sc->f.a, "t%d", i).p);
}

static void *swap_one(void *arg)
{
    struct one *o = arg;

    o->ok = sql_object_swap(o->f.s, &o->swap, 1, &o->result, &o->f.err);
    arena_free(&o->f.a);
    atomic_store(&o->over, true);
    return NULL;
}

/* All tables move at the same time, each by a caller of its own. `change` may spoil one. */
static void begin_all(struct scene *sc, struct one *all,
    void (*change)(struct scene *sc, struct one *all), pthread_t *t)
{
    struct str file = arena_printf(sc->f.a, "%d.json", ++sc->n);

    for (int i = 0; i < TABLES; i++) {
        all[i] = (struct one){.f = sc->f};
        all[i].f.a = arena_new();
        all[i].swap = swap_to(&sc->f, table(sc, i), file.p);
    }
    if (change)
        change(sc, all);
    for (int i = 0; i < TABLES; i++)
        pthread_create(&t[i], NULL, swap_one, &all[i]);
}

static void all_at_once(
    struct scene *sc, struct one *all, void (*change)(struct scene *sc, struct one *all))
{
    pthread_t t[TABLES];

    begin_all(sc, all, change, t);
    for (int i = 0; i < TABLES; i++)
        pthread_join(t[i], NULL);
}

static int64_t changes(struct scene *sc, const struct one *o)
{
    return pg_count(
        &sc->f, arena_printf(sc->f.a, "SELECT count(*) FROM change WHERE token = '%.*s'",
                    STR_ARG(o->swap.by.token))
                    .p);
}

static bool moved(struct scene *sc, const struct one *o, int i)
{
    return str_eq(table(sc, i)->metadata_location, o->swap.metadata_location);
}

static void check_made(struct scene *sc, const struct one *o, int i)
{
    ck_assert_msg(o->ok, "%s", o->f.err.msg);
    ck_assert_int_eq(o->result, SQL_SWAPPED);
    ck_assert(moved(sc, o, i));
    ck_assert_int_eq(changes(sc, o), 1);
}

/* Again and again, until a trick was played on a batch. */
static void until_batched(struct scene *sc, enum proxy_trick trick,
    void (*change)(struct scene *sc, struct one *all),
    void (*check)(struct scene *sc, const struct one *all))
{
    proxy_arm(sc->proxy, trick, "object_swap_many", 1, NULL, NULL);
    for (int i = 0; i < TRIES && proxy_hits(sc->proxy) == 0; i++) {
        struct one all[TABLES];
        all_at_once(sc, all, change);
        check(sc, all);
    }
    ck_assert_int_eq(proxy_hits(sc->proxy), 1);
}

static void all_made(struct scene *sc, const struct one *all)
{
    for (int i = 0; i < TABLES; i++)
        check_made(sc, &all[i], i);
}

static const enum proxy_trick tricks[] = {
    PROXY_FORWARD, PROXY_LOSE_REPLY, PROXY_LOSE_REQUEST, PROXY_HOLD};

START_TEST(test_batch__each_is_made_once_whatever_is_lost)
{
    struct scene sc;

    start(&sc);
    until_batched(&sc, tricks[_i], NULL, all_made);
    proxy_release(sc.proxy, PROXY_DELIVER); /* late: it must find its places taken */
    struct str file = arena_printf(sc.f.a, "/%d.json", sc.n);
    for (int i = 0; i < TABLES; i++)
        ck_assert(str_ends(table(&sc, i)->metadata_location, file));
    end(&sc);
}
END_TEST

static void stale(struct scene *sc, struct one *all)
{
    (void)sc;
    all[2].swap.old_metadata_location = STR("s3://b/w/n/t2/metadata/other.json");
}

static void all_but_the_third(struct scene *sc, const struct one *all)
{
    for (int i = 0; i < TABLES; i++) {
        if (i != 2) {
            check_made(sc, &all[i], i);
            continue;
        }
        ck_assert(all[i].ok && all[i].result == SQL_SWAP_LOST && !moved(sc, &all[i], i));
        ck_assert_int_eq(changes(sc, &all[i]), 0);
    }
}

START_TEST(test_batch__who_lost_loses_alone)
{
    struct scene sc;

    start(&sc);
    until_batched(&sc, tricks[_i], stale, all_but_the_third);
    proxy_release(sc.proxy, PROXY_DELIVER);
    end(&sc);
}
END_TEST

static void unusable(struct scene *sc, struct one *all)
{
    (void)sc;
    all[2].swap.metadata_location = (struct str){"a\0b", 3}; /* no text of a database */
}

static void third_failed(struct scene *sc, const struct one *all)
{
    for (int i = 0; i < TABLES; i++) {
        if (i != 2)
            check_made(sc, &all[i], i);
    }
    ck_assert(!all[2].ok);
    ck_assert_int_eq(all[2].f.err.kind, ERR_INTERNAL);
}

START_TEST(test_batch__what_cannot_be_sent_fails_alone)
{
    struct scene sc;

    start(&sc);
    for (int i = 0; i < 20; i++) {
        struct one all[TABLES];
        all_at_once(&sc, all, unusable);
        third_failed(&sc, all);
    }
    end(&sc);
}
END_TEST

/* --- keys --- */

static void keyed(struct scene *sc, struct one *all)
{
    for (int i = 0; i < TABLES; i++) {
        char *key = arena_alloc(sc->f.a, UUID_TEXT + 1);
        uuid_v4(key);
        all[i].swap.by.digest = STR("digest");
        all[i].idem = (struct sql_idem){
            .key = str_from(key), .digest = STR("digest"), .status = 200, .lifetime_ms = 60000};
        all[i].swap.by.idem = &all[i].idem;
    }
}

static void all_kept(struct scene *sc, const struct one *all)
{
    all_made(sc, all);
    for (int i = 0; i < TABLES; i++)
        ck_assert(all[i].idem.kept);
}

START_TEST(test_batch__keys_are_kept_with_the_swaps)
{
    struct scene sc;

    start(&sc);
    until_batched(&sc, tricks[_i], keyed, all_kept);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM idempotency i JOIN object o ON o.id = "
                                     "i.object_id WHERE i.answer = o.metadata_location"),
        TABLES);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM idempotency"), (int64_t)TABLES * sc.n);
    end(&sc);
}
END_TEST

static void one_key(struct scene *sc, struct one *all)
{
    keyed(sc, all);
    all[2].idem.key = STR("the same each time");
}

/* The first time it is free. */
static void key_used_once(struct scene *sc, const struct one *all)
{
    for (int i = 0; i < TABLES; i++) {
        if (i != 2 || sc->n == 1) {
            check_made(sc, &all[i], i);
            continue;
        }
        ck_assert(!all[i].ok && all[i].f.err.kind == ERR_REPEATED && !all[i].idem.kept);
        ck_assert(!moved(sc, &all[i], i));
    }
}

START_TEST(test_batch__a_key_that_is_taken_stops_nobody_else)
{
    struct scene sc;
    struct one all[TABLES];

    start(&sc);
    all_at_once(&sc, all, one_key);
    key_used_once(&sc, all);
    until_batched(&sc, PROXY_FORWARD, one_key, key_used_once);
    end(&sc);
}
END_TEST

/* --- locks --- */

START_TEST(test_batch__a_row_that_is_held_holds_up_nobody_else)
{
    struct scene sc;
    struct one all[TABLES];
    pthread_t t[TABLES];

    start(&sc);
    PGconn *holder = PQconnectdb(sc.f.database);
    PQclear(PQexec(holder, "BEGIN; UPDATE object SET kind = kind WHERE name = 't2'"));
    ck_assert_int_eq(PQtransactionStatus(holder), PQTRANS_INTRANS);
    begin_all(&sc, all, NULL, t);
    for (int i = 0; i < TABLES; i++)
        if (i != 2)
            pthread_join(t[i], NULL);
    ck_assert(!atomic_load(&all[2].over));
    PQclear(PQexec(holder, "COMMIT"));
    PQfinish(holder);
    pthread_join(t[2], NULL);
    all_made(&sc, all);
    end(&sc);
}
END_TEST

/* --- new objects --- */

struct maker {
    struct fixture f; /* own arena and error */
    struct sql_new_object o;
    struct sql_change by;
    struct sql_idem idem;
    enum sql_insert_result result;
    enum sql_kind taken_by;
    bool ok;
};

static void *make_one(void *arg)
{
    struct maker *m = arg;

    m->ok = sql_object_insert(m->f.s, &m->o, &m->by, &m->result, &m->taken_by, &m->f.err);
    arena_free(&m->f.a);
    return NULL;
}

/* New tables come into being at the same time, each by a caller of its own. */
static void make_all(
    struct scene *sc, struct maker *all, void (*change)(struct scene *sc, struct maker *all))
{
    pthread_t t[TABLES];

    sc->n++;
    for (int i = 0; i < TABLES; i++) {
        struct str name = arena_printf(sc->f.a, "new-%d-%d", sc->n, i);
        all[i] = (struct maker){.f = sc->f, .o = new_object(&sc->f, "n", name.p), .by = by(&sc->f)};
        all[i].f.a = arena_new();
    }
    if (change)
        change(sc, all);
    for (int i = 0; i < TABLES; i++)
        pthread_create(&t[i], NULL, make_one, &all[i]);
    for (int i = 0; i < TABLES; i++)
        pthread_join(t[i], NULL);
}

static int64_t created(struct scene *sc, const struct maker *m)
{
    return pg_count(&sc->f, arena_printf(sc->f.a,
                                "SELECT count(*) FROM change c JOIN object o ON o.id = c.object_id "
                                "JOIN location l ON l.object_id = o.id WHERE c.kind = 'create' AND "
                                "c.token = '%.*s' AND o.uuid = '%.*s' AND l.path = '%.*s' AND "
                                "c.metadata_location = '/metadata/0.json'",
                                STR_ARG(m->by.token), STR_ARG(m->o.uuid), STR_ARG(m->o.place.path))
                                .p);
}

static void check_created(struct scene *sc, const struct maker *m)
{
    ck_assert_msg(m->ok, "%s", m->f.err.msg);
    ck_assert_int_eq(m->result, SQL_INSERTED);
    ck_assert_int_eq(created(sc, m), 1);
}

static void check_refused(struct scene *sc, const struct maker *m, enum sql_insert_result why)
{
    ck_assert_msg(m->ok, "%s", m->f.err.msg);
    ck_assert_int_eq(m->result, why);
    ck_assert_int_eq(created(sc, m), 0);
}

static void until_made(struct scene *sc, enum proxy_trick trick,
    void (*change)(struct scene *sc, struct maker *all),
    void (*check)(struct scene *sc, const struct maker *all))
{
    proxy_arm(sc->proxy, trick, "object_insert_many", 1, NULL, NULL);
    for (int i = 0; i < TRIES && proxy_hits(sc->proxy) == 0; i++) {
        struct maker all[TABLES];
        make_all(sc, all, change);
        check(sc, all);
    }
    ck_assert_int_eq(proxy_hits(sc->proxy), 1);
}

static void all_created(struct scene *sc, const struct maker *all)
{
    for (int i = 0; i < TABLES; i++)
        check_created(sc, &all[i]);
}

START_TEST(test_batch_insert__each_is_made_once_whatever_is_lost)
{
    struct scene sc;
    int64_t n;

    start(&sc);
    until_made(&sc, tricks[_i], NULL, all_created);
    proxy_release(sc.proxy, PROXY_DELIVER); /* late: it must find its places taken */
    n = (int64_t)TABLES * (sc.n + 1);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM object"), n);
    ck_assert_int_eq(
        pg_count(&sc.f, "SELECT count(*) FROM location WHERE object_id IS NOT NULL"), n);
    end(&sc);
}
END_TEST

static void spoiled_name(struct scene *sc, struct maker *all)
{
    (void)sc;
    all[2].o.name = STR("t0");
}

static void spoiled_place(struct scene *sc, struct maker *all)
{
    (void)sc;
    all[2].o.place.path = STR("w/n/t0/data/x");
}

static void spoiled_folder(struct scene *sc, struct maker *all)
{
    (void)sc;
    all[2].o.place.path = STR("w/n");
}

static void spoiled_namespace(struct scene *sc, struct maker *all)
{
    (void)sc;
    all[2].o.ns = STR("gone");
    all[2].o.ns_id = 1;
}

static void spoiled_token(struct scene *sc, struct maker *all)
{
    (void)sc;
    all[2].by.token = STR("the same each time");
}

static const struct {
    void (*change)(struct scene *sc, struct maker *all);
    enum sql_insert_result why;
} spoilers[] = {
    {spoiled_name,      SQL_NAME_TAKEN    },
    {spoiled_place,     SQL_LOCATION_TAKEN},
    {spoiled_folder,    SQL_LOCATION_TAKEN},
    {spoiled_namespace, SQL_NO_NAMESPACE  },
};

static void third_refused(struct scene *sc, const struct maker *all)
{
    for (int i = 0; i < TABLES; i++) {
        if (i != 2)
            check_created(sc, &all[i]);
    }
    check_refused(sc, &all[2], sc->why);
}

START_TEST(test_batch_insert__who_is_refused_is_refused_alone)
{
    size_t spoiler = (size_t)_i / ARRAY_LEN(tricks), trick = (size_t)_i % ARRAY_LEN(tricks);
    struct scene sc;

    start(&sc);
    sc.why = spoilers[spoiler].why;
    until_made(&sc, tricks[trick], spoilers[spoiler].change, third_refused);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM object"), TABLES + (TABLES - 1) * sc.n);
    end(&sc);
}
END_TEST

/* The first time it is free. */
static void token_used_once(struct scene *sc, const struct maker *all)
{
    for (int i = 0; i < TABLES; i++) {
        if (i != 2 || sc->n == 1)
            check_created(sc, &all[i]);
        else
            ck_assert(!all[i].ok && all[i].f.err.kind == ERR_INTERNAL);
    }
}

START_TEST(test_batch_insert__what_makes_the_statement_fail_stops_nobody_else)
{
    struct scene sc;
    struct maker all[TABLES];

    start(&sc);
    make_all(&sc, all, spoiled_token);
    token_used_once(&sc, all);
    until_made(&sc, PROXY_FORWARD, spoiled_token, token_used_once);
    end(&sc);
}
END_TEST

static void one_name(struct scene *sc, struct maker *all)
{
    (void)sc;
    for (int i = 0; i < TABLES; i++)
        all[i].o.name = all[0].o.name;
}

static void one_place(struct scene *sc, struct maker *all)
{
    (void)sc;
    for (int i = 0; i < TABLES; i++)
        all[i].o.place = all[0].o.place;
}

static void one_wins(struct scene *sc, const struct maker *all)
{
    int won = 0;

    for (int i = 0; i < TABLES; i++) {
        ck_assert_msg(all[i].ok, "%s", all[i].f.err.msg);
        won += all[i].result == SQL_INSERTED;
        if (all[i].result == SQL_INSERTED)
            check_created(sc, &all[i]);
        else
            check_refused(sc, &all[i], sc->why);
    }
    ck_assert_int_eq(won, 1);
}

START_TEST(test_batch_insert__of_one_name_or_place_one_wins)
{
    struct scene sc;

    start(&sc);
    sc.why = _i % 2 ? SQL_LOCATION_TAKEN : SQL_NAME_TAKEN;
    until_made(&sc, tricks[_i / 2], _i % 2 ? one_place : one_name, one_wins);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(pg_count(&sc.f, "SELECT count(*) FROM object"), TABLES + sc.n);
    end(&sc);
}
END_TEST

static void with_keys(struct scene *sc, struct maker *all)
{
    for (int i = 0; i < TABLES; i++) {
        char *key = arena_alloc(sc->f.a, UUID_TEXT + 1);
        uuid_v4(key);
        all[i].idem = (struct sql_idem){
            .key = str_from(key), .digest = STR("digest"), .status = 200, .lifetime_ms = 60000};
        all[i].by.idem = &all[i].idem;
    }
}

static void all_created_and_kept(struct scene *sc, const struct maker *all)
{
    all_created(sc, all);
    for (int i = 0; i < TABLES; i++)
        ck_assert(all[i].idem.kept);
}

START_TEST(test_batch_insert__keys_are_kept_with_the_objects)
{
    struct scene sc;

    start(&sc);
    until_made(&sc, tricks[_i], with_keys, all_created_and_kept);
    proxy_release(sc.proxy, PROXY_DELIVER);
    ck_assert_int_eq(
        pg_count(&sc.f, "SELECT count(*) FROM idempotency i JOIN object o ON o.id = i.object_id "
                        "WHERE i.answer = o.metadata_location AND i.principal = 'tester' AND "
                        "i.digest = 'digest' AND i.status = 200"),
        (int64_t)TABLES * sc.n);
    end(&sc);
}
END_TEST

static void one_used_key(struct scene *sc, struct maker *all)
{
    with_keys(sc, all);
    all[2].idem.key = STR("the same each time");
}

static void key_of_third_used(struct scene *sc, const struct maker *all)
{
    for (int i = 0; i < TABLES; i++) {
        if (i != 2 || sc->n == 1) {
            check_created(sc, &all[i]);
            continue;
        }
        ck_assert(!all[i].ok && all[i].f.err.kind == ERR_REPEATED && !all[i].idem.kept);
        ck_assert_int_eq(created(sc, &all[i]), 0);
    }
}

START_TEST(test_batch_insert__a_key_that_is_taken_stops_nobody_else)
{
    struct scene sc;
    struct maker all[TABLES];

    start(&sc);
    make_all(&sc, all, one_used_key);
    key_of_third_used(&sc, all);
    until_made(&sc, PROXY_FORWARD, one_used_key, key_of_third_used);
    end(&sc);
}
END_TEST

static void little_time(struct scene *sc, struct maker *all)
{
    (void)sc;
    for (int i = 0; i < TABLES; i++)
        all[i].by.deadline_us = clock_mono_us() + 7000000;
}

/* Of nobody who was in it is more known than of the others. */
static void made_or_unknown(struct scene *sc, const struct maker *all)
{
    int unknown = 0;

    for (int i = 0; i < TABLES; i++) {
        if (all[i].ok)
            check_created(sc, &all[i]);
        else
            ck_assert_int_eq(all[i].f.err.kind, ERR_OUTCOME_UNKNOWN);
        unknown += !all[i].ok;
    }
    ck_assert(proxy_hits(sc->proxy) == 0 ? unknown == 0 : unknown >= 2);
}

START_TEST(test_batch_insert__no_answer_is_unknown_to_all)
{
    struct scene sc;

    start(&sc);
    until_made(&sc, PROXY_STALL, little_time, made_or_unknown);
    end(&sc);
}
END_TEST

static void add(TCase *tc)
{
    if (!have_pg())
        return;
    tcase_add_loop_test(tc, test_batch__each_is_made_once_whatever_is_lost, 0, 4);
    tcase_add_loop_test(tc, test_batch__who_lost_loses_alone, 0, 4);
    tcase_add_test(tc, test_batch__what_cannot_be_sent_fails_alone);
    tcase_add_loop_test(tc, test_batch__keys_are_kept_with_the_swaps, 0, 4);
    tcase_add_test(tc, test_batch__a_key_that_is_taken_stops_nobody_else);
    tcase_add_test(tc, test_batch__a_row_that_is_held_holds_up_nobody_else);
    tcase_add_loop_test(tc, test_batch_insert__each_is_made_once_whatever_is_lost, 0, 4);
    tcase_add_loop_test(tc, test_batch_insert__who_is_refused_is_refused_alone, 0,
        (int)(ARRAY_LEN(spoilers) * ARRAY_LEN(tricks)));
    tcase_add_test(tc, test_batch_insert__what_makes_the_statement_fail_stops_nobody_else);
    tcase_add_loop_test(tc, test_batch_insert__of_one_name_or_place_one_wins, 0, 8);
    tcase_add_loop_test(tc, test_batch_insert__keys_are_kept_with_the_objects, 0, 4);
    tcase_add_test(tc, test_batch_insert__a_key_that_is_taken_stops_nobody_else);
    tcase_add_test(tc, test_batch_insert__no_answer_is_unknown_to_all);
}

int main(void)
{
    return run("sql/batch", add);
}
