/* Marks of purges, and who else lies where they lay. */
#include "fixture.h"
#include "sql_purge.h"

#include <stdlib.h>

static void drop_three(struct fixture *f)
{
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sql_new_object o = new_object(f, "n", names[i]);
        ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
        ck_assert(drop(f, "n", names[i], SQL_PURGE_FILES));
    }
}

static size_t marks(
    struct fixture *f, const struct sql_mark *after, size_t limit, struct sql_mark **out)
{
    size_t n = 0;
    ck_ok(f, sql_mark_page(f->a, f->s, f->warehouse, after, limit, out, &n, &f->err));
    return n;
}

START_TEST(test_mark_page__in_the_order_of_time)
{
    struct fixture f;
    struct sql_mark *all, *page;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object live = new_object(&f, "n", "live"), gone = new_object(&f, "n", "gone");
    ck_assert_int_eq(insert(&f, &live), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &gone), SQL_INSERTED);
    ck_assert(drop(&f, "n", "gone", SQL_KEEP_FILES));
    ck_assert_uint_eq(marks(&f, NULL, 10, &all), 0);
    drop_three(&f);
    ck_assert_uint_eq(marks(&f, NULL, 10, &all), 3);
    for (size_t i = 1; i < 3; i++)
        ck_assert(all[i - 1].at_ms < all[i].at_ms ||
                  (all[i - 1].at_ms == all[i].at_ms && all[i - 1].id < all[i].id));
    ck_assert_int_gt(all[0].at_ms, 0);
    ck_assert(str_starts(all[0].metadata_location, all[0].location));
    ck_assert_uint_eq(marks(&f, NULL, 2, &page), 2);
    ck_assert_int_eq(page[1].id, all[1].id);
    ck_assert_uint_eq(marks(&f, &page[1], 2, &page), 1);
    ck_assert_int_eq(page[0].id, all[2].id);
    ck_assert_uint_eq(marks(&f, &all[2], 2, &page), 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_mark_delete__once_and_no_live_object)
{
    struct fixture f;
    struct sql_mark *all;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    drop_three(&f);
    ck_assert_uint_eq(marks(&f, NULL, 10, &all), 3);
    for (int i = 0; i < 2; i++)
        ck_ok(&f, sql_mark_delete(f.s, f.warehouse, all[1].id, &f.err));
    ck_assert_uint_eq(marks(&f, NULL, 10, &all), 2);
    struct sql_new_object o = new_object(&f, "n", "t");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    ck_ok(&f, sql_mark_delete(f.s, f.warehouse, object(&f, "n", "t")->id, &f.err));
    ck_assert(object(&f, "n", "t"));
    fixture_close(&f);
}
END_TEST

static bool live(struct fixture *f, const char *authority, const char *path)
{
    const struct sql_place place = {.authority = str_from(authority), .path = str_from(path)};
    struct str found;
    ck_ok(f, sql_place_live(f->a, f->s, &place, &found, &f->err));
    return found.p != NULL;
}

START_TEST(test_place_live__above_at_or_below)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object o = new_object_at(&f, "n", "t", "/w/n/t");
    const char *bucket = arena_cstr(f.a, o.place.authority);
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    ck_assert(live(&f, bucket, "/w/n/t"));
    ck_assert(live(&f, bucket, "/w/n/t/data"));
    ck_assert(live(&f, bucket, "/w/n/t/a/b/c"));
    ck_assert(live(&f, bucket, "/w/n"));
    ck_assert(live(&f, bucket, "/w"));
    ck_assert(live(&f, bucket, "/"));
    ck_assert(!live(&f, bucket, "/w/n/t1"));
    ck_assert(!live(&f, bucket, "/w/n/t-x"));
    ck_assert(!live(&f, bucket, "/w/n/s"));
    ck_assert(!live(&f, bucket, "/x"));
    ck_assert(!live(&f, "s3://another", "/w/n/t"));
    ck_assert(drop(&f, "n", "t", SQL_PURGE_FILES));
    ck_assert(!live(&f, bucket, "/w/n/t"));
    ck_assert(!live(&f, bucket, "/"));
    fixture_close(&f);
}
END_TEST

/* In pages of so many. */
static size_t under(struct fixture *f, const char *path, size_t limit)
{
    struct sql_rival last, *found = NULL;
    size_t all = 0, n = limit;
    while (n == limit) {
        ck_ok(f, sql_object_beneath(
                     f->a, f->s, str_from(path), found ? &last : NULL, limit, &found, &n, &f->err));
        for (size_t i = 0; i < n; i++) {
            ck_assert(all + i == 0 || found[i].id > last.id);
            ck_assert_int_eq(found[i].warehouse, f->warehouse);
            last = found[i];
        }
        all += n;
    }
    return all;
}

START_TEST(test_object_beneath__in_any_spelling)
{
    static const char *const files[] = {"file:/w/a_b/metadata/1.json",
        "file:///w//a_b/metadata/2.json", "s3a://w/a_b/x/3.json", "s3://b/w/acb/metadata/4.json"};
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct sql_new_object o = new_object(&f, "n", arena_printf(f.a, "t%zu", i).p);
        o.metadata_location = str_from(files[i]);
        ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    }
    ck_assert_uint_eq(under(&f, "/w/a_b", 10), 3);
    for (size_t limit = 1; limit <= 4; limit++)
        ck_assert_uint_eq(under(&f, "/w/a_b", limit), 3);
    ck_assert_uint_eq(under(&f, "/w/a", 10), 0);
    ck_assert_uint_eq(under(&f, "/w/m", 10), 0);
    ck_assert_uint_eq(under(&f, "/a_b/metadata", 10), 2);
    ck_assert_uint_eq(under(&f, "/w/a_b/nothing", 10), 0);
    ck_assert_uint_eq(under(&f, "/w/a%b", 10), 0);
    ck_assert_uint_eq(under(&f, "/w/a\\b", 10), 0);
    ck_assert(drop(&f, "n", "t0", SQL_PURGE_FILES));
    ck_assert_uint_eq(under(&f, "/w/a_b", 10), 2);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_mark_page__in_the_order_of_time, 0, n);
    tcase_add_loop_test(tc, test_mark_delete__once_and_no_live_object, 0, n);
    tcase_add_loop_test(tc, test_place_live__above_at_or_below, 0, n);
    tcase_add_loop_test(tc, test_object_beneath__in_any_spelling, 0, n);
}

int main(void)
{
    return run("purge", add);
}
