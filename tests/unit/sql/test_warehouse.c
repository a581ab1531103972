#include "fixture.h"

#include "sql_warehouse.h"

static struct sql_warehouse *find(struct fixture *f, const char *named)
{
    struct sql_warehouse *w;

    ck_ok(f, sql_warehouse_find(f->a, f->s, str_from(named), &w, &f->err));
    return w;
}

static struct sql_warehouse named(struct fixture *f, const char *name)
{
    char uuid[UUID_TEXT + 1];

    uuid_v4(uuid);
    return (struct sql_warehouse){
        .id = uuid_row_id(),
        .name = str_from(name),
        .uuid = arena_dup(f->a, str_from(uuid)),
        .base = arena_printf(f->a, "s3://b/%s", name),
        .profile = STR("{\"storage\":{\"type\":\"s3\"}}"),
        .active = true,
        .version = sql_warehouse_version(),
    };
}

static struct sql_warehouse make(struct fixture *f, const char *name)
{
    struct sql_warehouse w = named(f, name);

    ck_ok(f, sql_warehouse_insert(f->s, &w, NULL, &f->err));
    return w;
}

START_TEST(test_warehouse_find__by_name_uuid_and_base)
{
    struct fixture f;

    fixture_open(&f, _i);
    struct sql_warehouse w = make(&f, "second");
    const char *uuid = arena_cstr(f.a, w.uuid);
    ck_assert_int_eq(find(&f, "second")->id, w.id);
    ck_assert_int_eq(find(&f, uuid)->id, w.id);
    ck_assert_int_eq(find(&f, "s3://b/second")->id, w.id);
    ck_assert(find(&f, "second")->active && find(&f, "second")->version == w.version);
    ck_str(find(&f, "second")->profile, "{\"storage\":{\"type\":\"s3\"}}");
    ck_assert_ptr_null(find(&f, "Second"));
    ck_assert_ptr_null(find(&f, "s3://b/second/"));
    ck_assert_ptr_null(find(&f, ""));
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_find__a_name_comes_before_a_base)
{
    struct fixture f;

    fixture_open(&f, _i);
    struct sql_warehouse w = make(&f, "s3://b/x"), other = named(&f, "x");
    ck_ok(&f, sql_warehouse_insert(f.s, &other, NULL, &f.err));
    ck_assert_int_eq(find(&f, "s3://b/x")->id, w.id);
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_insert__sent_twice_makes_one)
{
    struct fixture f;
    struct sql_warehouse *page;
    size_t n;

    fixture_open(&f, _i);
    struct sql_warehouse w = make(&f, "a"), same = named(&f, "a");
    ck_ok(&f, sql_warehouse_insert(f.s, &w, NULL, &f.err));
    ck_assert(!sql_warehouse_insert(f.s, &same, NULL, &f.err));
    ck_assert_int_eq(f.err.kind, ERR_DB_UNIQUE);
    ck_ok(&f, sql_warehouse_page(f.a, f.s, STR(""), 10, &page, &n, &f.err));
    ck_assert_uint_eq(n, 2); /* and that of the fixture */
    ck_str(page[0].name, "a");
    ck_ok(&f, sql_warehouse_page(f.a, f.s, page[0].name, 10, &page, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_set__only_over_the_version_that_was_read)
{
    struct fixture f;
    bool swapped;

    fixture_open(&f, _i);
    struct sql_warehouse first = make(&f, "a"), second = first;
    make(&f, "taken");
    first.name = STR("b");
    first.active = false;
    ck_ok(&f, sql_warehouse_set(f.s, &first, NULL, &swapped, &f.err));
    ck_assert(swapped && first.version != second.version);
    ck_assert(find(&f, "b") && !find(&f, "b")->active && !find(&f, "a"));
    ck_ok(&f, sql_warehouse_set(f.s, &second, NULL, &swapped, &f.err));
    ck_assert(!swapped);
    first.name = STR("taken");
    ck_assert(!sql_warehouse_set(f.s, &first, NULL, &swapped, &f.err));
    ck_assert_int_eq(f.err.kind, ERR_DB_UNIQUE);
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_delete__an_empty_one_with_all_it_left)
{
    struct sql_warehouse_content content;
    struct fixture f;
    bool deleted, dropped;
    struct sql_ns_content in;

    fixture_open(&f, _i);
    struct sql_warehouse w = make(&f, "a");
    struct sql_change change = by(&f);
    bool created;
    ck_ok(&f, sql_ns_create(f.s, w.id, STR("n"), STR("{}"), &change, &created, &f.err));
    ck_ok(&f, sql_warehouse_delete(f.s, w.id, &deleted, &content, &f.err));
    ck_assert(!deleted && content.namespaces == 1 && content.marks == 0);
    change = by(&f);
    ck_ok(&f, sql_ns_drop(f.s, w.id, STR("n"), &change, &dropped, &in, &f.err));
    ck_ok(&f, sql_warehouse_delete(f.s, w.id, &deleted, &content, &f.err));
    ck_assert(deleted);
    ck_assert_ptr_null(find(&f, "a"));
    ck_ok(&f, sql_warehouse_delete(f.s, w.id, &deleted, &content, &f.err));
    ck_assert(!deleted && content.namespaces == 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_ensure__leaves_one_with_a_profile_alone)
{
    struct sql_warehouse out;
    struct fixture f;

    fixture_open(&f, _i);
    make(&f, "a");
    ck_assert(!sql_warehouse_ensure(f.a, f.s, STR("a"), STR("s3://other"), NULL, &out, &f.err));
    ck_assert_int_eq(f.err.kind, ERR_BAD_REQUEST);
    ck_str(find(&f, "a")->base, "s3://b/a");
    fixture_close(&f);
}
END_TEST

/* Stands for the rule of places: only one warehouse may have a base that begins so. */
static bool not_two_in_c(
    const struct sql_warehouse *w, const struct sql_warehouse *other, struct err *err)
{
    return !str_starts(w->base, STR("s3://c/")) || !str_starts(other->base, STR("s3://c/")) ||
           err_set(err, ERR_CONFLICT, "beside %.*s", STR_ARG(other->name));
}

static void ck_beside(struct fixture *f, bool ok, const char *name)
{
    ck_assert(!ok);
    ck_assert_int_eq(f->err.kind, ERR_CONFLICT);
    ck_assert(strstr(f->err.msg, name));
    err_clear(&f->err);
}

START_TEST(test_warehouse_beside__asked_of_all_others_and_of_no_other_row)
{
    struct sql_warehouse out, last;
    struct fixture f;
    bool swapped;

    fixture_open(&f, _i);
    for (int i = 0; i < 205; i++) /* more than two pages */
        last = make(&f, arena_printf(f.a, "w%03d", i).p);
    last.base = STR("s3://c/last");
    ck_ok(&f, sql_warehouse_set(f.s, &last, not_two_in_c, &swapped, &f.err));
    ck_assert(swapped);
    last.base = STR("s3://c/moved"); /* it is not in its own way */
    ck_ok(&f, sql_warehouse_set(f.s, &last, not_two_in_c, &swapped, &f.err));
    struct sql_warehouse second = named(&f, "x"), free = named(&f, "y");
    second.base = STR("s3://c/second");
    ck_beside(&f, sql_warehouse_insert(f.s, &second, not_two_in_c, &f.err), "w204");
    ck_assert_ptr_null(find(&f, "x"));
    ck_ok(&f, sql_warehouse_insert(f.s, &free, not_two_in_c, &f.err));
    free.base = STR("s3://c/free");
    ck_beside(&f, sql_warehouse_set(f.s, &free, not_two_in_c, &swapped, &f.err), "w204");
    ck_str(find(&f, "y")->base, "s3://b/y");
    const struct str home = STR("s3://c/home");
    ck_beside(
        &f, sql_warehouse_ensure(f.a, f.s, STR("z"), home, not_two_in_c, &out, &f.err), "w204");
    ck_assert_ptr_null(find(&f, "z"));
    /* where it lay before it stays */
    ck_ok(&f, sql_warehouse_ensure(f.a, f.s, STR("z"), home, NULL, &out, &f.err));
    ck_ok(&f, sql_warehouse_ensure(f.a, f.s, STR("z"), home, not_two_in_c, &out, &f.err));
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, test_warehouse_find__by_name_uuid_and_base, 0, engines());
    tcase_add_loop_test(tc, test_warehouse_find__a_name_comes_before_a_base, 0, engines());
    tcase_add_loop_test(tc, test_warehouse_insert__sent_twice_makes_one, 0, engines());
    tcase_add_loop_test(tc, test_warehouse_set__only_over_the_version_that_was_read, 0, engines());
    tcase_add_loop_test(tc, test_warehouse_delete__an_empty_one_with_all_it_left, 0, engines());
    tcase_add_loop_test(tc, test_warehouse_ensure__leaves_one_with_a_profile_alone, 0, engines());
    tcase_add_loop_test(
        tc, test_warehouse_beside__asked_of_all_others_and_of_no_other_row, 0, engines());
}

int main(void)
{
    return run("sql/warehouse", add);
}
