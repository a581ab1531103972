#include "fixture.h"

static enum sql_insert_result put(struct fixture *f, const char *name, const char *path)
{
    struct sql_new_object o = new_object_at(f, "n", name, path);

    return insert(f, &o);
}

static void start(struct fixture *f, int engine)
{
    fixture_open(f, engine);
    ns_make(f, "n");
}

START_TEST(test_place__neither_the_same_nor_in_nor_around)
{
    struct fixture f;

    start(&f, _i);
    ck_assert_int_eq(put(&f, "t", "w/a/b/t"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "1", "w/a/b/t"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "2", "w/a/b/t/x"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "3", "w/a/b/t/x/y/z"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "4", "w/a/b"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "5", "w/a"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "6", "w"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "7", ""), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "8", "w/a/b/t2"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "9", "w/a/b/T"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "10", "w/a/b/t0"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "11", "w/a/b/t.x"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "12", "w/a/bb"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "13", "other"), SQL_INSERTED);
    fixture_close(&f);
}
END_TEST

START_TEST(test_place__absolute_paths)
{
    struct fixture f;

    start(&f, _i);
    ck_assert_int_eq(put(&f, "1", "/data/w/n/t"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "2", "/data/w/n"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "3", "/data/w/n/t/u"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "4", "/"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "5", "/data/w/n/u"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "6", "/data/x"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "7", "/data/x/y"), SQL_LOCATION_TAKEN);
    fixture_close(&f);
}
END_TEST

START_TEST(test_place__a_table_at_the_top_takes_the_whole_bucket)
{
    struct fixture f;

    start(&f, _i);
    ck_assert_int_eq(put(&f, "1", ""), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "2", "w/t"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "3", "/"), SQL_LOCATION_TAKEN);
    fixture_close(&f);
}
END_TEST

START_TEST(test_place__whatever_lies_between)
{
    struct fixture f;

    start(&f, _i);
    ck_assert_int_eq(put(&f, "1", "w/x/t"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "2", "w/x"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "3", "w/y"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "4", "w/y/t"), SQL_LOCATION_TAKEN);
    ck_assert_int_eq(put(&f, "5", "w/y/a/t"), SQL_LOCATION_TAKEN);
    fixture_close(&f);
}
END_TEST

START_TEST(test_place__other_authorities_are_other_places)
{
    struct fixture f;

    start(&f, _i);
    ck_assert_int_eq(put(&f, "1", "w/t"), SQL_INSERTED);
    struct sql_new_object o = new_object_at(&f, "n", "2", "w/t");
    o.place.authority = STR("c");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    fixture_close(&f);
}
END_TEST

START_TEST(test_place__a_drop_frees_the_folders_too)
{
    struct fixture f;

    start(&f, _i);
    ck_assert_int_eq(put(&f, "t", "w/a/b/t"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "u", "w/a/u"), SQL_INSERTED);
    ck_assert(drop(&f, "n", "t", SQL_KEEP_FILES));
    ck_assert_int_eq(put(&f, "b", "w/a/b"), SQL_INSERTED);
    ck_assert_int_eq(put(&f, "a", "w/a"), SQL_LOCATION_TAKEN);
    ck_assert(drop(&f, "n", "u", SQL_KEEP_FILES));
    ck_assert(drop(&f, "n", "b", SQL_KEEP_FILES));
    ck_assert_int_eq(put(&f, "a", "w/a"), SQL_INSERTED);
    if (f.engine == ENGINE_PG)
        ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM location"), 2);
    fixture_close(&f);
}
END_TEST

/* Segments by segments: the one way to tell that needs no index. */
static bool overlap(const char *one, const char *other)
{
    while (*one && *one == *other) {
        one++;
        other++;
    }
    bool end = !*one && !*other;
    return end || (!*one && *other == '/') || (!*other && *one == '/');
}

/* A table for each path in some order, as long as none overlaps it: as brute force says. */
START_TEST(test_place__as_brute_force_says)
{
    static const char *const paths[] = {"w", "w/a", "w/a/b", "w/a/b/c", "w/ab", "w/ab/c", "w/a.",
        "w/a./b", "w/a0", "w/a0/b", "w/A", "w/A/b", "v", "v/a/b/c/d", "v/a/b", "w/a/b.c",
        "w/a/b/c/d", "w/b"};
    struct fixture f;
    const char *lie[ARRAY_LEN(paths)];
    size_t n = 0;

    start(&f, _i);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *path = paths[(i * 7 + 5) % ARRAY_LEN(paths)];
        bool free = true;
        for (size_t k = 0; k < n; k++)
            free = free && !overlap(lie[k], path);
        struct str name = arena_printf(f.a, "t%zu", i);
        ck_assert_msg((put(&f, name.p, path) == SQL_INSERTED) == free, "%s", path);
        if (free)
            lie[n++] = path;
        if (i % 4 == 3) { /* one goes, and what it held is free again */
            struct str gone = arena_printf(f.a, "t%zu", i);
            struct sql_object *there = object(&f, "n", gone.p);
            if (there && drop(&f, "n", gone.p, SQL_KEEP_FILES))
                n--;
        }
    }
    ck_assert_uint_gt(n, 3);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_place__neither_the_same_nor_in_nor_around, 0, n);
    tcase_add_loop_test(tc, test_place__absolute_paths, 0, n);
    tcase_add_loop_test(tc, test_place__a_table_at_the_top_takes_the_whole_bucket, 0, n);
    tcase_add_loop_test(tc, test_place__whatever_lies_between, 0, n);
    tcase_add_loop_test(tc, test_place__other_authorities_are_other_places, 0, n);
    tcase_add_loop_test(tc, test_place__a_drop_frees_the_folders_too, 0, n);
    tcase_add_loop_test(tc, test_place__as_brute_force_says, 0, n);
}

int main(void)
{
    return run("sql/place", add);
}
