/* What tables name outside their locations, and how far that is known. */
#include "fixture.h"
#include "sql_survey.h"
#include "sql_sweep.h"

#include <stdlib.h>

static struct sql_surveyed table(struct fixture *f, const char *ns, const char *name)
{
    struct sql_object *o = object(f, ns, name);
    return (struct sql_surveyed){.warehouse = f->warehouse,
        .id = o->id,
        .location = o->location,
        .metadata_location = o->metadata_location};
}

static void make(struct fixture *f, const char *name)
{
    struct sql_new_object o = new_object(f, "n", name);
    ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
}

static size_t changed(
    struct fixture *f, const struct sql_surveyed *after, size_t limit, struct sql_survey **out)
{
    size_t n = 0;
    ck_ok(f, sql_survey_page(f->a, f->s, after, limit, out, &n, &f->err));
    return n;
}

static void put(struct fixture *f, const struct sql_surveyed *t)
{
    ck_ok(f, sql_survey_put(f->s, t, 7, STR("1 -2"), &f->err));
}

START_TEST(test_survey_page__tables_that_changed_since_they_were_read)
{
    struct fixture f;
    struct sql_survey *page;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    make(&f, "a");
    make(&f, "b");
    struct sql_new_object view = new_object(&f, "n", "v");
    view.kind = SQL_VIEW;
    ck_assert_int_eq(insert(&f, &view), SQL_INSERTED);
    ck_assert_uint_eq(changed(&f, NULL, 10, &page), 2);
    ck_assert(!page[0].known && !page[1].known && page[0].table.warehouse == f.warehouse);
    ck_assert_int_eq(page[0].table.replaced, 0);
    ck_str(page[0].table.warehouse_base, "s3://b/w");
    ck_assert_uint_eq(changed(&f, &page[0].table, 10, &page), 1);
    ck_assert_uint_eq(changed(&f, NULL, 1, &page), 1);
    struct sql_surveyed a = table(&f, "n", "a"), b = table(&f, "n", "b");
    put(&f, &a);
    put(&f, &b);
    ck_assert_uint_eq(changed(&f, NULL, 10, &page), 0);
    struct sql_swap sw = swap_to(&f, object(&f, "n", "b"), "2.metadata.json");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    ck_assert_uint_eq(changed(&f, NULL, 10, &page), 1);
    ck_assert(page[0].known && page[0].table.id == b.id && page[0].sequence_number == 7);
    ck_str(page[0].snapshots, "1 -2");
    ck_assert(str_eq(page[0].location, b.location));
    put(&f, &page[0].table);
    ck_assert_uint_eq(changed(&f, NULL, 10, &page), 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_survey_page__one_that_was_replaced)
{
    struct fixture f;
    struct sql_survey *page;
    enum sql_insert_result result;
    enum sql_kind by_kind;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    make(&f, "a");
    struct sql_surveyed a = table(&f, "n", "a");
    put(&f, &a);
    struct sql_new_object again = new_object(&f, "n", "a");
    again.uuid = object(&f, "n", "a")->uuid;
    again.location = a.location;
    again.metadata_location = a.metadata_location;
    struct sql_change change = by(&f);
    ck_ok(&f, sql_object_replace(f.s, &again, &change, &result, &by_kind, &f.err));
    ck_assert_int_eq(result, SQL_INSERTED);
    ck_assert_uint_eq(changed(&f, NULL, 10, &page), 1);
    ck_assert(page[0].known && page[0].replaced == 0 && page[0].table.replaced == 1);
    fixture_close(&f);
}
END_TEST

static size_t near(struct fixture *f, const char *authority, const char *path)
{
    const struct sql_place place = {.authority = str_from(authority), .path = str_from(path)};
    struct sql_surveyed *found;
    size_t n = 0;
    ck_ok(f, sql_foreign_near(f->a, f->s, &place, NULL, 10, &found, &n, &f->err));
    return n;
}

static void add(struct fixture *f, const struct sql_surveyed *t, const char *authority,
    const char *path, size_t times)
{
    const struct sql_folder folder = {str_from(authority), str_from(path)};
    for (size_t i = 0; i < times; i++)
        ck_ok(f, sql_foreign_add(f->s, t, &folder, &f->err));
}

START_TEST(test_foreign_near__above_at_or_below)
{
    struct fixture f;
    struct sql_surveyed *page;
    struct sql_folder *folders;
    size_t n;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    make(&f, "a");
    make(&f, "b");
    struct sql_surveyed a = table(&f, "n", "a"), b = table(&f, "n", "b");
    add(&f, &a, "s3://b", "/w/x/data", 2);
    add(&f, &b, "s3://b", "/w/x/data", 1);
    add(&f, &b, "s3://b", "/w/x-y", 1);
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x"), 2);
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x/data"), 2);
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x/data/y/z"), 2);
    ck_assert_uint_eq(near(&f, "s3://b", "/"), 2);
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x-y"), 1);
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x/dat"), 0);
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x-"), 0);
    ck_assert_uint_eq(near(&f, "s3://c", "/w/x"), 0);
    const struct sql_place place = {.authority = STR("s3://b"), .path = STR("/w/x")};
    ck_ok(&f, sql_foreign_near(f.a, f.s, &place, NULL, 1, &page, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    ck_ok(&f, sql_foreign_near(f.a, f.s, &place, &page[0], 1, &page, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(page[0].id, a.id > b.id ? a.id : b.id);
    ck_ok(&f, sql_foreign_list(f.a, f.s, &b, &folders, &n, &f.err));
    ck_assert_uint_eq(n, 2);
    for (size_t i = 0; i < n; i++)
        ck_ok(&f, sql_foreign_remove(f.s, &b, &folders[i], &f.err));
    ck_assert_uint_eq(near(&f, "s3://b", "/w"), 1);
    add(&f, &b, "", "", 1); /* anywhere */
    ck_assert_uint_eq(near(&f, "s3://c", "/w/x"), 1);
    fixture_close(&f);
}
END_TEST

START_TEST(test_foreign_near__dropped_tables_are_none)
{
    struct fixture f;
    struct sql_folder *folders;
    struct sql_survey *page;
    size_t n;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    make(&f, "a");
    make(&f, "b");
    struct sql_surveyed a = table(&f, "n", "a"), b = table(&f, "n", "b");
    add(&f, &a, "s3://b", "/w/x", 1);
    add(&f, &b, "s3://b", "/w/x", 1);
    ck_assert(drop(&f, "n", "a", SQL_PURGE_FILES));
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x"), 1);
    ck_assert(drop(&f, "n", "b", SQL_KEEP_FILES));
    ck_assert_uint_eq(near(&f, "s3://b", "/w/x"), 0);
    ck_ok(&f, sql_foreign_list(f.a, f.s, &b, &folders, &n, &f.err));
    ck_assert_uint_eq(n, 0);
    add(&f, &b, "s3://b", "/w/x", 1);
    put(&f, &b);
    ck_ok(&f, sql_foreign_list(f.a, f.s, &b, &folders, &n, &f.err));
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(changed(&f, NULL, 10, &page), 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_insert__a_registered_table_and_its_folders)
{
    static const char *const names[] = {"made", "registered"};
    const struct sql_folder folders[] = {
        {STR("s3://b"), STR("/w/x")},
        {STR("s3://c"), STR("")    }
    };
    const struct sql_registered registered_with = {folders, ARRAY_LEN(folders)};
    struct fixture f;
    struct str pointer;
    bool registered;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sql_new_object o = new_object(&f, "n", names[i]);
        o.registered = i ? &registered_with : NULL;
        ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
        int64_t id = object(&f, "n", names[i])->id;
        ck_ok(&f, sql_object_origin(f.a, f.s, f.warehouse, id, &pointer, &registered, &f.err));
        ck_assert(str_eq(pointer, o.metadata_location) && registered == (i == 1));
        ck_assert_uint_eq(near(&f, "s3://b", "/w/x"), i);
        ck_assert_uint_eq(near(&f, "s3://c", "/y"), i);
    }
    ck_ok(&f, sql_object_origin(f.a, f.s, f.warehouse, 1, &pointer, &registered, &f.err));
    ck_assert(!pointer.p && !registered);
    fixture_close(&f);
}
END_TEST

static void cases(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_survey_page__tables_that_changed_since_they_were_read, 0, n);
    tcase_add_loop_test(tc, test_survey_page__one_that_was_replaced, 0, n);
    tcase_add_loop_test(tc, test_foreign_near__above_at_or_below, 0, n);
    tcase_add_loop_test(tc, test_foreign_near__dropped_tables_are_none, 0, n);
    tcase_add_loop_test(tc, test_insert__a_registered_table_and_its_folders, 0, n);
}

int main(void)
{
    return run("survey", cases);
}
