/* Sealed secrets as rows; a warehouse by its name. */
#include "fixture.h"
#include "sql_secret.h"
#include "sql_warehouse.h"

#include <stdlib.h>

static void put(struct fixture *f, int64_t warehouse, const char *name, const char *sealed)
{
    ck_ok(f, sql_secret_put(f->s, warehouse, str_from(name), str_from(sealed), &f->err));
}

static struct str get(struct fixture *f, int64_t warehouse, const char *name)
{
    struct str sealed = STR("?");
    ck_ok(f, sql_secret_get(f->a, f->s, warehouse, str_from(name), &sealed, &f->err));
    return sealed;
}

START_TEST(test_secret_put__replaces)
{
    struct fixture f;

    fixture_open(&f, _i);
    ck_assert_ptr_null(get(&f, f.warehouse, "a").p);
    put(&f, f.warehouse, "a", "one");
    put(&f, f.warehouse, "b", "other");
    put(&f, f.warehouse, "a", "two");
    ck_str(get(&f, f.warehouse, "a"), "two");
    ck_str(get(&f, f.warehouse, "b"), "other");
    ck_assert_ptr_null(get(&f, f.warehouse + 1, "a").p);
    fixture_close(&f);
}
END_TEST

START_TEST(test_secret_swap__only_what_was_read)
{
    struct fixture f;
    bool swapped = false;

    fixture_open(&f, _i);
    put(&f, f.warehouse, "a", "one");
    struct sql_secret was = {.warehouse = f.warehouse, .name = STR("a"), .sealed = STR("one")};
    ck_ok(&f, sql_secret_swap(f.s, &was, STR("two"), &swapped, &f.err));
    ck_assert(swapped);
    ck_ok(&f, sql_secret_swap(f.s, &was, STR("three"), &swapped, &f.err));
    ck_assert(!swapped);
    ck_str(get(&f, f.warehouse, "a"), "two");
    was.name = STR("none");
    ck_ok(&f, sql_secret_swap(f.s, &was, STR("three"), &swapped, &f.err));
    ck_assert(!swapped);
    ck_assert_ptr_null(get(&f, f.warehouse, "none").p);
    fixture_close(&f);
}
END_TEST

START_TEST(test_secret_delete__once)
{
    struct fixture f;
    bool deleted = false;

    fixture_open(&f, _i);
    put(&f, f.warehouse, "a", "one");
    ck_ok(&f, sql_secret_delete(f.s, f.warehouse, STR("a"), &deleted, &f.err));
    ck_assert(deleted);
    ck_ok(&f, sql_secret_delete(f.s, f.warehouse, STR("a"), &deleted, &f.err));
    ck_assert(!deleted);
    fixture_close(&f);
}
END_TEST

START_TEST(test_secret_page__all_warehouses_in_order)
{
    struct fixture f;
    struct sql_secret *page = NULL;
    size_t n = 0;

    fixture_open(&f, _i);
    put(&f, f.warehouse, "b", "1");
    put(&f, f.warehouse, "a", "2");
    put(&f, f.warehouse, "B", "3");
    put(&f, INT64_MAX, "a", "4");
    put(&f, -5, "z", "5");
    ck_ok(&f, sql_secret_page(f.a, f.s, NULL, 2, &page, &n, &f.err));
    ck_assert_uint_eq(n, 2);
    ck_str(page[0].sealed, "5");
    ck_str(page[0].warehouse_name, "");
    ck_str(page[1].name, "B"); /* byte order */
    ck_assert_int_eq(page[1].warehouse, f.warehouse);
    ck_assert_uint_gt(page[1].warehouse_name.n, 0);
    ck_ok(&f, sql_secret_page(f.a, f.s, &page[1], 10, &page, &n, &f.err));
    ck_assert_uint_eq(n, 3);
    ck_str(page[0].name, "a");
    ck_str(page[1].name, "b");
    ck_str(page[2].sealed, "4");
    ck_ok(&f, sql_secret_page(f.a, f.s, &page[2], 10, &page, &n, &f.err));
    ck_assert_uint_eq(n, 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_get__by_name)
{
    struct fixture f;
    struct sql_warehouse *w = NULL, made;

    fixture_open(&f, _i);
    ck_ok(
        &f, sql_warehouse_ensure(f.a, f.s, STR("second"), STR("s3://b/two"), NULL, &made, &f.err));
    ck_ok(&f, sql_warehouse_get(f.a, f.s, STR("second"), &w, &f.err));
    ck_assert(w && w->id == made.id && str_eq(w->uuid, made.uuid));
    ck_str(w->base, "s3://b/two");
    const struct str others[] = {STR("SECOND"), made.uuid, made.base};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        ck_ok(&f, sql_warehouse_get(f.a, f.s, others[i], &w, &f.err));
        ck_assert_ptr_null(w);
    }
    fixture_close(&f);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("secret");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_secret_put__replaces, 0, engines());
    tcase_add_loop_test(tc, test_secret_swap__only_what_was_read, 0, engines());
    tcase_add_loop_test(tc, test_secret_delete__once, 0, engines());
    tcase_add_loop_test(tc, test_secret_page__all_warehouses_in_order, 0, engines());
    tcase_add_loop_test(tc, test_warehouse_get__by_name, 0, engines());
    Suite *s = suite_create("secret");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
