/* Many at once: what must be decided once is decided once, on both engines. */
#include "fixture.h"
#include "sql_priv.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 12 };

struct racer {
    struct fixture *f; /* shared; own copy of the error below */
    struct fixture own;
    int round, i;
    void (*go)(struct racer *r);
    bool won;
    pthread_barrier_t *gate;
};

static void *race_thread(void *arg)
{
    struct racer *r = arg;

    pthread_barrier_wait(r->gate);
    r->go(r);
    return NULL;
}

/* All threads run `go` at the same moment; how many of them set `won`. */
static int race(struct fixture *f, int round, void (*go)(struct racer *r))
{
    struct racer r[THREADS];
    pthread_t t[THREADS];
    pthread_barrier_t gate;
    int won = 0;

    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct racer){.f = f, .own = *f, .round = round, .i = i, .go = go, .gate = &gate};
        r[i].own.a = arena_new();
        pthread_create(&t[i], NULL, race_thread, &r[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        arena_free(&r[i].own.a);
        won += r[i].won;
    }
    pthread_barrier_destroy(&gate);
    return won;
}

static struct str text(struct racer *r, const char *fmt, int n)
{
    return arena_printf(r->own.a, "%s%d", fmt, n);
}

static void create_same_name(struct racer *r)
{
    struct str path = arena_printf(r->own.a, "w/n/%d-%d", r->round, r->i);
    struct sql_new_object o = new_object_at(&r->own, "n", text(r, "t", r->round).p, path.p);
    enum sql_insert_result result = insert(&r->own, &o);

    ck_assert(result == SQL_INSERTED || result == SQL_NAME_TAKEN);
    r->won = result == SQL_INSERTED;
}

START_TEST(test_race__creates_of_one_name_have_one_winner)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (int i = 0; i < ROUNDS; i++)
        ck_assert_int_eq(race(&f, i, create_same_name), 1);
    fixture_close(&f);
}
END_TEST

static void create_same_ns(struct racer *r)
{
    struct str path = arena_printf(r->own.a,
        "p%d\x1f"
        "c",
        r->round);
    struct sql_change change = by(&r->own);

    ck_ok(&r->own,
        sql_ns_create(r->own.s, r->own.warehouse, path, STR("{}"), &change, &r->won, &r->own.err));
}

START_TEST(test_race__creates_of_one_namespace_have_one_winner)
{
    struct fixture f;

    fixture_open(&f, _i);
    for (int i = 0; i < ROUNDS; i++)
        ck_assert_int_eq(race(&f, i, create_same_ns), 1);
    fixture_close(&f);
}
END_TEST

/* w/r/a, w/r/a/b, w/r/a/b/c ...: each lies in the one before. */
static void create_overlapping(struct racer *r)
{
    struct str path = arena_printf(r->own.a, "w/%d", r->round);

    for (int i = 0; i <= r->i; i++)
        path = arena_printf(r->own.a, "%.*s/d%d", STR_ARG(path), i);
    struct str name = arena_printf(r->own.a, "t%d-%d", r->round, r->i);
    struct sql_new_object o = new_object_at(&r->own, "n", name.p, path.p);
    enum sql_insert_result result = insert(&r->own, &o);

    ck_assert(result == SQL_INSERTED || result == SQL_LOCATION_TAKEN);
    r->won = result == SQL_INSERTED;
}

START_TEST(test_race__overlapping_locations_have_one_winner)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (int i = 0; i < ROUNDS; i++)
        ck_assert_int_eq(race(&f, i, create_overlapping), 1);
    fixture_close(&f);
}
END_TEST

/* Half of them take and give up w/r/a/b/X, the other half want w/r/a: never both. */
static void come_and_go(struct racer *r)
{
    bool deep = r->i % 2 == 0;
    struct str path = deep ? arena_printf(r->own.a, "w/%d/a/b/%d", r->round, r->i)
                           : arena_printf(r->own.a, "w/%d/a", r->round);

    for (int k = 0; k < 8; k++) {
        struct str name = arena_printf(r->own.a, "t%d-%d", r->round, r->i);
        struct sql_new_object o = new_object_at(&r->own, "n", name.p, path.p);
        enum sql_insert_result result = insert(&r->own, &o);
        ck_assert(result == SQL_INSERTED || result == SQL_LOCATION_TAKEN);
        if (result == SQL_INSERTED) {
            r->won = true;
            ck_assert(drop(&r->own, "n", name.p, SQL_KEEP_FILES));
        }
    }
}

START_TEST(test_race__places_taken_and_given_up_all_the_time)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (int i = 0; i < 3; i++)
        ck_assert_int_ge(race(&f, i, come_and_go), 1);
    if (f.engine == ENGINE_PG)
        ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM location"), 0);
    struct sql_new_object o = new_object_at(&f, "n", "all", "w");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    fixture_close(&f);
}
END_TEST

static void swap_same(struct racer *r)
{
    struct sql_object *o = object(&r->own, "n", "t");
    struct sql_swap sw = swap_to(&r->own, o, text(r, "file-", r->round * THREADS + r->i).p);

    r->won = swap(&r->own, &sw, 1) == SQL_SWAPPED;
}

START_TEST(test_race__swaps_are_never_overwritten)
{
    struct fixture f;
    int won = 0;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object o = new_object(&f, "n", "t");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    for (int i = 0; i < ROUNDS; i++) {
        int n = race(&f, i, swap_same);
        ck_assert_int_ge(n, 1);
        won += n;
    }
    if (f.engine == ENGINE_PG)
        ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM change WHERE kind = 'swap'"), won);
    fixture_close(&f);
}
END_TEST

/* The same two objects, named in both orders. */
static void swap_two(struct racer *r)
{
    const char *first = r->i % 2 ? "t" : "u", *second = r->i % 2 ? "u" : "t";
    struct str file = text(r, "file-", r->round * THREADS + r->i);
    struct sql_swap sw[] = {swap_to(&r->own, object(&r->own, "n", first), file.p),
        swap_to(&r->own, object(&r->own, "n", second), file.p)};

    r->won = swap(&r->own, sw, 2) == SQL_SWAPPED;
}

START_TEST(test_race__swaps_of_two_objects_do_not_deadlock)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object t = new_object(&f, "n", "t"), u = new_object(&f, "n", "u");
    ck_assert_int_eq(insert(&f, &t), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &u), SQL_INSERTED);
    int64_t since = clock_mono_us();
    for (int i = 0; i < ROUNDS; i++) {
        ck_assert_int_ge(race(&f, i, swap_two), 1);
        struct str a = object(&f, "n", "t")->metadata_location;
        struct str b = object(&f, "n", "u")->metadata_location;
        ck_assert(str_eq(str_sub(a, a.n - 6, 6), str_sub(b, b.n - 6, 6)));
    }
    ck_assert_int_lt(clock_mono_us() - since, 20000000);
    fixture_close(&f);
}
END_TEST

static void create_or_drop_ns(struct racer *r)
{
    struct str ns = text(r, "n", r->round);

    if (r->i == 0) {
        struct sql_change change = by(&r->own);
        struct sql_ns_content content;
        ck_ok(&r->own,
            sql_ns_drop(r->own.s, r->own.warehouse, ns, &change, &r->won, &content, &r->own.err));
        return;
    }
    struct str name = text(r, "t", r->i);
    struct sql_new_object o = new_object(&r->own, ns.p, name.p);
    enum sql_insert_result result = insert(&r->own, &o);
    ck_assert(result == SQL_INSERTED || result == SQL_NO_NAMESPACE);
    r->won = result == SQL_INSERTED;
}

START_TEST(test_race__a_namespace_is_dropped_or_filled)
{
    struct fixture f;

    fixture_open(&f, _i);
    for (int i = 0; i < ROUNDS; i++) {
        struct str ns = arena_printf(f.a, "n%d", i);
        struct sql_ns *there;
        ns_make(&f, ns.p);
        int won = race(&f, i, create_or_drop_ns);
        ck_ok(&f, sql_ns_get(f.a, f.s, f.warehouse, ns, &there, &f.err));
        ck_assert_int_eq(won, there ? THREADS - 1 : 1);
    }
    fixture_close(&f);
}
END_TEST

static void rename_to_same(struct racer *r)
{
    struct sql_change change = by(&r->own);
    enum sql_rename_result result;
    enum sql_kind taken_by;
    struct str name = arena_printf(r->own.a, "s%d-%d", r->round, r->i);
    struct sql_new_object o = new_object(&r->own, "n", name.p);

    ck_assert_int_eq(insert(&r->own, &o), SQL_INSERTED);
    ck_ok(&r->own, sql_object_rename(r->own.s, r->own.warehouse, SQL_TABLE, STR("n"), name,
                       STR("m"), text(r, "t", r->round), &change, &result, &taken_by, &r->own.err));
    ck_assert(result == SQL_RENAMED || result == SQL_RENAME_NAME_TAKEN);
    r->won = result == SQL_RENAMED;
}

START_TEST(test_race__renames_to_one_name_have_one_winner)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    ns_make(&f, "m");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(race(&f, i, rename_to_same), 1);
    fixture_close(&f);
}
END_TEST

/* --- connections --- */

enum { READERS = 8 }; /* as many as a fixture's pool has */

struct waiting {
    struct sql *s;
    enum db_role role;
    struct db *db;
    struct err err;
    pthread_t thread;
    atomic_bool over;
};

static void *wait_for_one(void *arg)
{
    struct waiting *w = arg;

    if (!sql__take(w->s, w->role, &w->db, &w->err))
        w->db = NULL;
    atomic_store(&w->over, true);
    return NULL;
}

static void begin_to_wait(struct waiting *w, struct sql *s, enum db_role role)
{
    *w = (struct waiting){.s = s, .role = role};
    pthread_create(&w->thread, NULL, wait_for_one, w);
    usleep(20000); /* the first is to wait before the second */
}

static void end_of(struct waiting *w)
{
    pthread_join(w->thread, NULL);
    sql__give(w->s, &w->db);
}

/* The only writer's connection is given back while somebody has waited longer for a reader's. */
static bool writer_is_first(struct fixture *f)
{
    struct db *readers[READERS], *writer;
    struct waiting read, write;

    for (int i = 0; i < READERS; i++)
        ck_ok(f, sql__take(f->s, DB_READ, &readers[i], &f->err));
    ck_ok(f, sql__take(f->s, DB_WRITE, &writer, &f->err));
    begin_to_wait(&read, f->s, DB_READ);
    begin_to_wait(&write, f->s, DB_WRITE);
    sql__give(f->s, &writer);
    end_of(&write);
    bool first = !atomic_load(&read.over);
    for (int i = 0; i < READERS; i++)
        sql__give(f->s, &readers[i]);
    end_of(&read);
    return first;
}

/* Else it is when who waits for the other has waited in vain. */
START_TEST(test_race__a_connection_goes_to_those_who_wait_for_it)
{
    struct fixture f;
    bool first = false;

    fixture_open(&f, 0);
    for (int i = 0; i < 5 && !first; i++)
        first = writer_is_first(&f);
    ck_assert(first);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_race__creates_of_one_name_have_one_winner, 0, n);
    tcase_add_loop_test(tc, test_race__creates_of_one_namespace_have_one_winner, 0, n);
    tcase_add_loop_test(tc, test_race__overlapping_locations_have_one_winner, 0, n);
    tcase_add_loop_test(tc, test_race__places_taken_and_given_up_all_the_time, 0, n);
    tcase_add_loop_test(tc, test_race__swaps_are_never_overwritten, 0, n);
    tcase_add_loop_test(tc, test_race__swaps_of_two_objects_do_not_deadlock, 0, n);
    tcase_add_loop_test(tc, test_race__a_namespace_is_dropped_or_filled, 0, n);
    tcase_add_loop_test(tc, test_race__renames_to_one_name_have_one_winner, 0, n);
    tcase_add_test(tc, test_race__a_connection_goes_to_those_who_wait_for_it);
}

int main(void)
{
    return run("sql/race", add);
}
