#include "fixture.h"

#include "sql_warehouse.h"

#define SEP "\x1f"

static struct sql_ns *get(struct fixture *f, const char *path)
{
    struct sql_ns *ns;

    ck_ok(f, sql_ns_get(f->a, f->s, f->warehouse, str_from(path), &ns, &f->err));
    return ns;
}

static bool drop_ns(struct fixture *f, const char *path, struct sql_ns_content *content)
{
    struct sql_change change = by(f);
    bool dropped;

    ck_ok(f, sql_ns_drop(f->s, f->warehouse, str_from(path), &change, &dropped, content, &f->err));
    return dropped;
}

/* The names joined by commas; "-" when the parent is missing. */
static struct str page(struct fixture *f, const char *parent, const char *after, size_t limit)
{
    struct str *names, out = STR("");
    size_t n;
    bool found;

    ck_ok(f, sql_ns_page(f->a, f->s, f->warehouse, str_from(parent), str_from(after), limit, &names,
                 &n, &found, &f->err));
    if (!found)
        return STR("-");
    for (size_t i = 0; i < n; i++)
        out = arena_printf(f->a, "%.*s%s%.*s", STR_ARG(out), i ? "," : "", STR_ARG(names[i]));
    return out;
}

START_TEST(test_ns_create__missing_parents_are_made)
{
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "a" SEP "b" SEP "c");
    ck_assert(get(&f, "a") && get(&f, "a" SEP "b") && get(&f, "a" SEP "b" SEP "c"));
    ck_assert(!get(&f, "b"));
    ck_str(get(&f, "a")->properties, "{}");
    ns_make(&f, "a" SEP "d");
    ck_str(page(&f, "", NULL, 10), "a");
    ck_str(page(&f, "a", NULL, 10), "b,d");
    fixture_close(&f);
}
END_TEST

START_TEST(test_ns_create__existing_is_left_alone)
{
    struct fixture f;
    bool created = true;

    fixture_open(&f, _i);
    ns_make(&f, "a");
    struct sql_change change = by(&f);
    ck_ok(&f,
        sql_ns_create(f.s, f.warehouse, STR("a"), STR("{\"x\":\"y\"}"), &change, &created, &f.err));
    ck_assert(!created);
    ck_str(get(&f, "a")->properties, "{}");
    fixture_close(&f);
}
END_TEST

START_TEST(test_ns_set_properties__only_at_the_version_that_was_read)
{
    struct fixture f;
    bool swapped;

    fixture_open(&f, _i);
    ns_make(&f, "a");
    struct sql_ns *ns = get(&f, "a");
    struct sql_change first = by(&f), second = by(&f);
    ck_ok(&f, sql_ns_set_properties(f.s, f.warehouse, ns->id, ns->version, STR("{\"k\":\"1\"}"),
                  &first, &swapped, &f.err));
    ck_assert(swapped);
    ck_ok(&f, sql_ns_set_properties(f.s, f.warehouse, ns->id, ns->version, STR("{\"k\":\"2\"}"),
                  &second, &swapped, &f.err));
    ck_assert(!swapped);
    ck_str(get(&f, "a")->properties, "{\"k\":\"1\"}");
    ck_assert_int_eq(get(&f, "a")->version, ns->version + 1);
    fixture_close(&f);
}
END_TEST

START_TEST(test_ns_drop__counts_what_is_in_the_way)
{
    struct fixture f;
    struct sql_ns_content c;

    fixture_open(&f, _i);
    ns_make(&f, "a" SEP "b");
    struct sql_new_object t = new_object_at(&f, "a", "t", "w/a/t");
    struct sql_new_object v = new_object_at(&f, "a", "v", "w/a/v");
    v.kind = SQL_VIEW;
    ck_assert_int_eq(insert(&f, &t), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &v), SQL_INSERTED);
    ck_assert(!drop_ns(&f, "a", &c));
    ck_assert(c.tables == 1 && c.views == 1 && c.namespaces == 1);
    ck_assert(drop_ns(&f, "a" SEP "b", &c));
    ck_assert(!get(&f, "a" SEP "b"));
    ck_assert(!drop_ns(&f, "a" SEP "b", &c));
    ck_assert(c.tables == 0 && c.views == 0 && c.namespaces == 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_ns_drop__purge_marks_are_no_content)
{
    struct fixture f;
    struct sql_ns_content c;

    fixture_open(&f, _i);
    ns_make(&f, "a");
    struct sql_new_object t = new_object(&f, "a", "t");
    ck_assert_int_eq(insert(&f, &t), SQL_INSERTED);
    ck_assert(drop(&f, "a", "t", SQL_PURGE_FILES));
    ck_assert(drop_ns(&f, "a", &c));
    fixture_close(&f);
}
END_TEST

START_TEST(test_ns_page__byte_order_limit_and_after)
{
    static const char *const names[] = {"b", "a", "B", "\xc3\xa4", "_", "a.b", "a b", "10", "9"};
    struct fixture f;

    fixture_open(&f, _i);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        ns_make(&f, names[i]);
    ck_str(page(&f, "", NULL, 100), "10,9,B,_,a,a b,a.b,b,\xc3\xa4");
    ck_str(page(&f, "", NULL, 3), "10,9,B");
    ck_str(page(&f, "", "B", 3), "_,a,a b");
    ck_str(page(&f, "", "a!", 2), "a.b,b");
    ck_str(page(&f, "", "\xc3\xa4", 2), "");
    ck_str(page(&f, "a", NULL, 2), "");
    ck_str(page(&f, "nowhere", NULL, 2), "-");
    fixture_close(&f);
}
END_TEST

START_TEST(test_ns__warehouses_do_not_see_each_other)
{
    struct fixture f;
    struct sql_warehouse w;

    fixture_open(&f, _i);
    ns_make(&f, "a");
    int64_t first = f.warehouse;
    ck_ok(&f, sql_warehouse_ensure(f.a, f.s, STR("other"), STR("s3://c/w"), NULL, &w, &f.err));
    f.warehouse = w.id;
    ck_assert(!get(&f, "a"));
    ns_make(&f, "a");
    f.warehouse = first;
    ck_assert(get(&f, "a"));
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_ns_create__missing_parents_are_made, 0, n);
    tcase_add_loop_test(tc, test_ns_create__existing_is_left_alone, 0, n);
    tcase_add_loop_test(tc, test_ns_set_properties__only_at_the_version_that_was_read, 0, n);
    tcase_add_loop_test(tc, test_ns_drop__counts_what_is_in_the_way, 0, n);
    tcase_add_loop_test(tc, test_ns_drop__purge_marks_are_no_content, 0, n);
    tcase_add_loop_test(tc, test_ns_page__byte_order_limit_and_after, 0, n);
    tcase_add_loop_test(tc, test_ns__warehouses_do_not_see_each_other, 0, n);
}

int main(void)
{
    return run("sql/ns", add);
}
