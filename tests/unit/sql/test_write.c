/* Changes of several objects in one transaction, replacements, and conditional drops. */
#include "fixture.h"

#include "sql_keep.h"

#include <pthread.h>

static void start(struct fixture *f, int engine)
{
    fixture_open(f, engine);
    ns_make(f, "n");
    for (int i = 0; i < 3; i++) {
        struct sql_new_object o = new_object(f, "n", (const char *const[]){"t", "u", "v"}[i]);
        o.kind = i < 2 ? SQL_TABLE : SQL_VIEW;
        ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
    }
}

static struct str at(struct fixture *f, const char *name)
{
    struct sql_object *o = object(f, "n", name);

    return o ? o->metadata_location : STR("none");
}

static struct sql_written write_both(
    struct fixture *f, const struct sql_swap *swap, const struct sql_new_object *insert)
{
    const struct sql_write writes[] = {
        {.insert = insert, .by = by(f)},
        {.swap = swap               }
    };
    struct sql_written out;

    ck_ok(f, sql_object_write(f->s, writes, 2, &out, &f->err));
    return out;
}

START_TEST(test_write__swap_and_insert)
{
    struct fixture f;

    start(&f, _i);
    struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), "1.json");
    struct sql_new_object o = new_object(&f, "n", "new");
    ck_assert(write_both(&f, &sw, &o).done);
    ck_str(at(&f, "t"), "s3://b/w/n/t/metadata/1.json");
    ck_str(at(&f, "new"), "s3://b/w/n/new/metadata/0.json");
    fixture_close(&f);
}
END_TEST

START_TEST(test_write__one_that_fails_undoes_all)
{
    struct fixture f;

    start(&f, _i);
    struct sql_object *t = object(&f, "n", "t");
    struct sql_swap sw = swap_to(&f, t, "1.json");
    struct sql_new_object o = new_object(&f, "n", "v");
    struct sql_written r = write_both(&f, &sw, &o);
    ck_assert(!r.done && r.at == 0 && r.insert == SQL_NAME_TAKEN && r.taken_by == SQL_VIEW);

    o = new_object(&f, "no", "new");
    r = write_both(&f, &sw, &o);
    ck_assert(!r.done && r.at == 0 && r.insert == SQL_NO_NAMESPACE);

    o = new_object_at(&f, "n", "new", "w/n/u/inside");
    r = write_both(&f, &sw, &o);
    ck_assert(!r.done && r.at == 0 && r.insert == SQL_LOCATION_TAKEN);
    ck_str(at(&f, "t"), "s3://b/w/n/t/metadata/0.json");

    struct sql_swap first = swap_to(&f, t, "first.json");
    ck_assert_int_eq(swap(&f, &first, 1), SQL_SWAPPED);
    o = new_object(&f, "n", "new");
    r = write_both(&f, &sw, &o);
    ck_assert(!r.done && r.at == 1 && r.swap == SQL_SWAP_LOST);
    ck_str(at(&f, "new"), "none");
    fixture_close(&f);
}
END_TEST

START_TEST(test_write__what_is_only_looked_at_must_not_have_moved)
{
    struct fixture f;

    start(&f, _i);
    struct sql_object *u = object(&f, "n", "u");
    struct sql_swap look = swap_to(&f, u, "1.json");
    look.metadata_location = (struct str){NULL, 0};
    struct sql_new_object o = new_object(&f, "n", "new");
    ck_assert(write_both(&f, &look, &o).done);
    ck_str(at(&f, "u"), "s3://b/w/n/u/metadata/0.json");

    struct sql_swap first = swap_to(&f, u, "first.json");
    ck_assert_int_eq(swap(&f, &first, 1), SQL_SWAPPED);
    o = new_object(&f, "n", "newer");
    struct sql_written r = write_both(&f, &look, &o);
    ck_assert(!r.done && r.at == 1 && r.swap == SQL_SWAP_LOST);
    ck_str(at(&f, "newer"), "none");
    fixture_close(&f);
}
END_TEST

/* One moves with its folder, one moves, one is looked at. */
static struct sql_written write_three(struct fixture *f, const char *file)
{
    const struct sql_place place = {.authority = STR("b"), .path = STR("w/moved")};
    struct sql_swap sw[3];
    static const char *const names[] = {"t", "u", "v"};
    struct sql_write w[3] = {0};
    struct sql_written out;

    for (int i = 0; i < 3; i++) {
        sw[i] = swap_to(f, object(f, "n", names[i]), file);
        w[i].swap = &sw[i];
    }
    sw[0].location = STR("s3://b/w/moved");
    sw[0].place = &place;
    sw[2].metadata_location = (struct str){NULL, 0};
    ck_ok(f, sql_object_write(f->s, w, 3, &out, &f->err));
    return out;
}

START_TEST(test_write__swaps_of_all_kinds)
{
    struct fixture f;

    start(&f, _i);
    struct sql_object *t = object(&f, "n", "t");
    ck_assert(write_three(&f, "1.json").done);
    ck_str(object(&f, "n", "t")->location, "s3://b/w/moved");
    ck_str(at(&f, "t"), "s3://b/w/n/t/metadata/1.json");
    ck_str(at(&f, "u"), "s3://b/w/n/u/metadata/1.json");
    ck_str(at(&f, "v"), "s3://b/w/n/v/metadata/0.json");
    ck_assert(object(&f, "n", "t")->id == t->id);
    struct sql_new_object o = new_object_at(&f, "n", "old", "w/n/t");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED); /* its place is free */
    o = new_object_at(&f, "n", "older", "w/moved/x");
    ck_assert_int_eq(insert(&f, &o), SQL_LOCATION_TAKEN);
    fixture_close(&f);
}
END_TEST

START_TEST(test_write__a_key_is_kept_once_for_all)
{
    struct fixture f;
    struct sql_idem k = {.key = STR("k"), .digest = STR("d"), .status = 204, .lifetime_ms = 60000};

    start(&f, _i);
    for (int round = 0; round < 2; round++) {
        struct sql_swap sw[] = {swap_to(&f, object(&f, "n", "t"), round ? "2.json" : "1.json"),
            swap_to(&f, object(&f, "n", "u"), round ? "2.json" : "1.json")};
        const struct sql_write w[] = {{.swap = &sw[0]}, {.swap = &sw[1]}};
        struct sql_written out;
        sw[0].by.idem = sw[1].by.idem = &k;
        k.kept = false;
        bool ok = sql_object_write(f.s, w, 2, &out, &f.err);
        ck_assert(ok == (round == 0) && k.kept == ok);
        ck_assert(ok || f.err.kind == ERR_REPEATED);
        ck_str(at(&f, "t"), "s3://b/w/n/t/metadata/1.json");
        ck_str(at(&f, "u"), "s3://b/w/n/u/metadata/1.json");
    }
    fixture_close(&f);
}
END_TEST

/* --- nobody hears of a deadlock --- */

struct pair {
    struct fixture f; /* own copy */
    bool turned;
};

enum { PAIRS = 4, TURNS = 15 };

/* Both tables move, and two more come into being under names that all threads want. */
static void *write_pairs(void *arg)
{
    struct pair *p = arg;
    struct fixture *f = &p->f;

    f->a = arena_new();
    for (int i = 0; i < TURNS; i++) {
        struct str file = arena_printf(f->a, "%d-%d.json", p->turned, i);
        struct sql_swap sw[] = {
            swap_to(f, object(f, "n", "t"), file.p), swap_to(f, object(f, "n", "u"), file.p)};
        struct sql_new_object o[] = {new_object(f, "n", arena_printf(f->a, "a%d", i).p),
            new_object(f, "n", arena_printf(f->a, "b%d", i).p)};
        struct sql_write w[] = {
            {.swap = &sw[p->turned]},
            {                       .swap = &sw[!p->turned]                     },
            { .insert = &o[p->turned],                      .by = by(f)},
            {                     .insert = &o[!p->turned],                      .by = by(f)}
        };
        struct sql_written out;
        ck_ok(f, sql_object_write(f->s, w, i % 2 ? 4 : 2, &out, &f->err));
        w[2].by = by(f);
        w[3].by = by(f);
        ck_ok(f, sql_object_write(f->s, w + 2, 2, &out, &f->err));
        ck_assert(out.done || out.insert == SQL_NAME_TAKEN || out.insert == SQL_UUID_TAKEN);
    }
    arena_free(&f->a);
    return NULL;
}

START_TEST(test_write__opposite_orders_are_no_deadlock)
{
    struct fixture f;
    struct pair p[PAIRS];
    pthread_t t[PAIRS];

    start(&f, _i);
    for (int i = 0; i < PAIRS; i++) {
        p[i] = (struct pair){.f = f, .turned = i % 2};
        pthread_create(&t[i], NULL, write_pairs, &p[i]);
    }
    for (int i = 0; i < PAIRS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < TURNS; i++)
        ck_assert(object(&f, "n", arena_printf(f.a, "b%d", i).p));
    fixture_close(&f);
}
END_TEST

/* --- replace --- */

static enum sql_insert_result replace(
    struct fixture *f, const struct sql_new_object *o, enum sql_kind *taken_by)
{
    struct sql_change change = by(f);
    enum sql_insert_result result;

    ck_ok(f, sql_object_replace(f->s, o, &change, &result, taken_by, &f->err));
    return result;
}

START_TEST(test_replace__pointer_uuid_and_place)
{
    struct fixture f;
    enum sql_kind by_kind;

    start(&f, _i);
    struct sql_object *was = object(&f, "n", "t");
    struct sql_new_object o = new_object_at(&f, "n", "t", "w/else");
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_INSERTED);
    struct sql_object *now = object(&f, "n", "t");
    ck_assert(now->id == was->id && str_eq(now->uuid, o.uuid));
    ck_str(now->location, "s3://b/w/else");
    ck_str(now->metadata_location, "s3://b/w/else/metadata/0.json");
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_INSERTED); /* by itself */

    struct sql_new_object old = new_object_at(&f, "n", "old", "w/n/t");
    ck_assert_int_eq(insert(&f, &old), SQL_INSERTED);
    old = new_object_at(&f, "n", "older", "w/else");
    ck_assert_int_eq(insert(&f, &old), SQL_LOCATION_TAKEN);
    fixture_close(&f);
}
END_TEST

START_TEST(test_replace__of_nothing_inserts)
{
    struct fixture f;
    enum sql_kind by_kind;

    start(&f, _i);
    struct sql_new_object o = new_object(&f, "n", "new");
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_INSERTED);
    ck_assert(object(&f, "n", "new"));
    o = new_object(&f, "no", "new");
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_NO_NAMESPACE);
    fixture_close(&f);
}
END_TEST

START_TEST(test_replace__says_what_is_in_the_way)
{
    struct fixture f;
    enum sql_kind by_kind = 0;

    start(&f, _i);
    struct sql_new_object o = new_object_at(&f, "n", "v", "w/else");
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_NAME_TAKEN);
    ck_assert_int_eq(by_kind, SQL_VIEW);
    o = new_object_at(&f, "n", "t", "w/else");
    o.uuid = object(&f, "n", "u")->uuid;
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_UUID_TAKEN);
    o = new_object_at(&f, "n", "t", "w/n/u");
    ck_assert_int_eq(replace(&f, &o, &by_kind), SQL_LOCATION_TAKEN);
    ck_str(at(&f, "t"), "s3://b/w/n/t/metadata/0.json");
    fixture_close(&f);
}
END_TEST

/* --- unregister --- */

static enum sql_unregister_result unregister(struct fixture *f, const char *name, struct str where)
{
    struct sql_change change = by(f);
    enum sql_unregister_result result;

    ck_ok(f, sql_object_unregister(f->s, f->warehouse, SQL_TABLE, STR("n"), str_from(name), where,
                 &change, &result, &f->err));
    return result;
}

START_TEST(test_unregister__only_where_the_pointer_is)
{
    struct fixture f;

    start(&f, _i);
    struct str old = at(&f, "t");
    struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), "1.json");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    ck_assert_int_eq(unregister(&f, "t", old), SQL_UNREGISTER_LOST);
    ck_assert_int_eq(unregister(&f, "v", at(&f, "v")), SQL_UNREGISTER_NONE);
    ck_assert_int_eq(unregister(&f, "t", sw.metadata_location), SQL_UNREGISTERED);
    ck_assert_int_eq(unregister(&f, "t", sw.metadata_location), SQL_UNREGISTER_NONE);
    struct sql_new_object o = new_object(&f, "n", "t");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED); /* name and place are free */
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_write__swap_and_insert, 0, n);
    tcase_add_loop_test(tc, test_write__one_that_fails_undoes_all, 0, n);
    tcase_add_loop_test(tc, test_write__what_is_only_looked_at_must_not_have_moved, 0, n);
    tcase_add_loop_test(tc, test_write__swaps_of_all_kinds, 0, n);
    tcase_add_loop_test(tc, test_write__a_key_is_kept_once_for_all, 0, n);
    tcase_add_loop_test(tc, test_write__opposite_orders_are_no_deadlock, 0, n);
    tcase_add_loop_test(tc, test_replace__pointer_uuid_and_place, 0, n);
    tcase_add_loop_test(tc, test_replace__of_nothing_inserts, 0, n);
    tcase_add_loop_test(tc, test_replace__says_what_is_in_the_way, 0, n);
    tcase_add_loop_test(tc, test_unregister__only_where_the_pointer_is, 0, n);
}

int main(void)
{
    return run("sql/write", add);
}
