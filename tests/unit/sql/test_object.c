#include "fixture.h"
#include "sql_purge.h"

static struct str page(struct fixture *f, enum sql_kind kind, const char *after, size_t limit)
{
    struct str *names, out = STR("");
    size_t n;
    bool found;

    ck_ok(f, sql_object_page(f->a, f->s, f->warehouse, STR("n"), kind, str_from(after), limit,
                 &names, &n, &found, &f->err));
    ck_assert(found);
    for (size_t i = 0; i < n; i++)
        out = arena_printf(f->a, "%.*s%s%.*s", STR_ARG(out), i ? "," : "", STR_ARG(names[i]));
    return out;
}

static enum sql_rename_result rename_to(struct fixture *f, enum sql_kind kind, const char *name,
    const char *to_ns, const char *to_name, enum sql_kind *taken_by)
{
    struct sql_change change = by(f);
    enum sql_rename_result result;

    ck_ok(f, sql_object_rename(f->s, f->warehouse, kind, STR("n"), str_from(name), str_from(to_ns),
                 str_from(to_name), &change, &result, taken_by, &f->err));
    return result;
}

static void start(struct fixture *f, int engine)
{
    fixture_open(f, engine);
    ns_make(f, "n");
    struct sql_new_object o = new_object(f, "n", "t");
    ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
}

START_TEST(test_insert__row_can_be_read)
{
    struct fixture f;
    struct sql_object *none;
    bool ns_found;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object o = new_object(&f, "n", "it's \"t\\\" \xc3\xa4");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    struct sql_object *got = object(&f, "n", "it's \"t\\\" \xc3\xa4");
    ck_assert(got && got->kind == SQL_TABLE && got->id > 0);
    ck_assert(str_eq(got->uuid, o.uuid) && str_eq(got->location, o.location));
    ck_assert(str_eq(got->metadata_location, o.metadata_location));
    ck_ok(&f, sql_object_get(f.a, f.s, f.warehouse, STR("n"), STR("u"), &ns_found, &none, &f.err));
    ck_assert(ns_found && !none);
    ck_ok(&f, sql_object_get(f.a, f.s, f.warehouse, STR("m"), STR("t"), &ns_found, &none, &f.err));
    ck_assert(!ns_found && !none);
    fixture_close(&f);
}
END_TEST

START_TEST(test_insert__says_what_is_in_the_way)
{
    struct fixture f;
    enum sql_insert_result result;
    enum sql_kind taken_by = 0;

    start(&f, _i);
    struct sql_new_object o = new_object_at(&f, "m", "x", "w/m/x");
    ck_assert_int_eq(insert(&f, &o), SQL_NO_NAMESPACE);

    struct sql_new_object v = new_object_at(&f, "n", "v", "w/n/v");
    v.kind = SQL_VIEW;
    ck_assert_int_eq(insert(&f, &v), SQL_INSERTED);
    o = new_object_at(&f, "n", "v", "w/n/elsewhere");
    struct sql_change change = by(&f);
    ck_ok(&f, sql_object_insert(f.s, &o, &change, &result, &taken_by, &f.err));
    ck_assert_int_eq(result, SQL_NAME_TAKEN);
    ck_assert_int_eq(taken_by, SQL_VIEW);

    o = new_object_at(&f, "n", "other", "w/n/elsewhere");
    o.uuid = v.uuid;
    ck_assert_int_eq(insert(&f, &o), SQL_UUID_TAKEN);

    o = new_object_at(&f, "n", "other", "w/n/t");
    ck_assert_int_eq(insert(&f, &o), SQL_LOCATION_TAKEN);
    ck_assert(!object(&f, "n", "other"));
    fixture_close(&f);
}
END_TEST

START_TEST(test_insert__text_with_nul_is_refused_not_cut)
{
    struct fixture f;
    enum sql_insert_result result;
    enum sql_kind taken_by;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object o = new_object(&f, "n", "t");
    o.name = STR("a\0b");
    struct sql_change change = by(&f);
    ck_assert(!sql_object_insert(f.s, &o, &change, &result, &taken_by, &f.err));
    ck_assert_int_eq(f.err.kind, ERR_INTERNAL);
    ck_assert(!object(&f, "n", "a"));
    fixture_close(&f);
}
END_TEST

START_TEST(test_get_all__each_by_its_name)
{
    struct fixture f;
    struct sql_object *out[5];

    fixture_open(&f, _i);
    ns_make(&f, "n");
    ns_make(&f, "m\x1f{\"\\");
    struct sql_new_object o = new_object(&f, "n", "t"), p = new_object(&f, "n", "NULL"),
                          q = new_object_at(&f, "m\x1f{\"\\", "a\",{}", "w/q");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &p), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &q), SQL_INSERTED);
    const struct sql_name names[] = {
        {o.ns,      STR("none")},
        {STR("no"), o.name     },
        {q.ns,      q.name     },
        {p.ns,      p.name     },
        {o.ns,      o.name     }
    };
    const struct str where[] = {q.location, p.location, o.location};
    for (size_t n = 1; n <= ARRAY_LEN(names); n++) {
        ck_ok(&f, sql_object_get_all(f.a, f.s, f.warehouse, names, n, out, &f.err));
        ck_assert(!out[0] && (n < 2 || !out[1]));
        for (size_t i = 2; i < n; i++)
            ck_assert(str_eq(out[i]->location, where[i - 2]));
    }
    fixture_close(&f);
}
END_TEST

START_TEST(test_swap__old_location_decides)
{
    struct fixture f;

    start(&f, _i);
    struct sql_object *o = object(&f, "n", "t");
    struct sql_swap one = swap_to(&f, o, "1.json"), two = swap_to(&f, o, "2.json");
    ck_assert_int_eq(swap(&f, &one, 1), SQL_SWAPPED);
    ck_assert_int_eq(swap(&f, &two, 1), SQL_SWAP_LOST);
    ck_str(object(&f, "n", "t")->metadata_location, "s3://b/w/n/t/metadata/1.json");
    fixture_close(&f);
}
END_TEST

START_TEST(test_swap__sent_again_with_its_token_is_applied_once)
{
    struct fixture f;

    start(&f, 1);
    struct sql_swap one = swap_to(&f, object(&f, "n", "t"), "1.json");
    ck_assert_int_eq(swap(&f, &one, 1), SQL_SWAPPED);
    ck_assert_int_eq(swap(&f, &one, 1), SQL_SWAPPED);
    ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM change WHERE kind = 'swap'"), 1);
    fixture_close(&f);
}
END_TEST

START_TEST(test_swap__a_dropped_object_is_lost)
{
    struct fixture f;

    start(&f, _i);
    struct sql_object *o = object(&f, "n", "t");
    ck_assert(drop(&f, "n", "t", SQL_PURGE_FILES));
    struct sql_swap one = swap_to(&f, o, "1.json");
    ck_assert_int_eq(swap(&f, &one, 1), SQL_SWAP_LOST);
    fixture_close(&f);
}
END_TEST

START_TEST(test_swap_several__all_or_none)
{
    struct fixture f;

    start(&f, _i);
    struct sql_new_object u = new_object(&f, "n", "u");
    ck_assert_int_eq(insert(&f, &u), SQL_INSERTED);
    struct sql_object *t = object(&f, "n", "t"), *v = object(&f, "n", "u");
    struct sql_swap both[] = {swap_to(&f, v, "1.json"), swap_to(&f, t, "1.json")};
    ck_assert_int_eq(swap(&f, both, 2), SQL_SWAPPED);
    struct sql_swap half[] = {
        swap_to(&f, object(&f, "n", "t"), "2.json"), swap_to(&f, v, "2.json")};
    ck_assert_int_eq(swap(&f, half, 2), SQL_SWAP_LOST);
    ck_str(object(&f, "n", "t")->metadata_location, "s3://b/w/n/t/metadata/1.json");
    ck_str(object(&f, "n", "u")->metadata_location, "s3://b/w/n/u/metadata/1.json");
    fixture_close(&f);
}
END_TEST

static struct sql_swap move_to(struct fixture *f, struct sql_place *place, const char *path)
{
    struct sql_swap sw = swap_to(f, object(f, "n", "t"), path);

    *place = (struct sql_place){.authority = STR("b"), .path = str_from(path)};
    sw.location = arena_printf(f->a, "s3://b/%s", path);
    sw.metadata_location = arena_printf(f->a, "s3://b/%s/metadata/1.json", path);
    sw.place = place;
    return sw;
}

START_TEST(test_swap_location__old_place_is_free_new_one_taken)
{
    struct fixture f;
    struct sql_place place;

    start(&f, _i);
    struct sql_new_object u = new_object_at(&f, "n", "u", "w/n/u");
    ck_assert_int_eq(insert(&f, &u), SQL_INSERTED);

    struct sql_swap sw = move_to(&f, &place, "w/n/u/inside");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAP_LOCATION_TAKEN);
    ck_str(object(&f, "n", "t")->location, "s3://b/w/n/t");

    sw = move_to(&f, &place, "w/n/t"); /* where it is */
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);

    sw = move_to(&f, &place, "w/moved");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    ck_str(object(&f, "n", "t")->location, "s3://b/w/moved");

    struct sql_new_object x = new_object_at(&f, "n", "x", "w/moved/x");
    ck_assert_int_eq(insert(&f, &x), SQL_LOCATION_TAKEN);
    x = new_object_at(&f, "n", "x", "w/n/t");
    ck_assert_int_eq(insert(&f, &x), SQL_INSERTED);
    fixture_close(&f);
}
END_TEST

START_TEST(test_rename__within_and_across_namespaces)
{
    struct fixture f;
    enum sql_kind taken_by = 0;

    start(&f, _i);
    ns_make(&f, "m");
    int64_t id = object(&f, "n", "t")->id;
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "t", "n", "t2", &taken_by), SQL_RENAMED);
    ck_assert(!object(&f, "n", "t"));
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "t2", "m", "t3", &taken_by), SQL_RENAMED);
    ck_assert_int_eq(object(&f, "m", "t3")->id, id);
    fixture_close(&f);
}
END_TEST

START_TEST(test_rename__says_what_is_in_the_way)
{
    struct fixture f;
    enum sql_kind taken_by = 0;

    start(&f, _i);
    struct sql_new_object v = new_object(&f, "n", "v");
    v.kind = SQL_VIEW;
    ck_assert_int_eq(insert(&f, &v), SQL_INSERTED);
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "no", "n", "t2", &taken_by), SQL_RENAME_NO_SOURCE);
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "v", "n", "t2", &taken_by), SQL_RENAME_NO_SOURCE);
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "t", "no", "t", &taken_by), SQL_RENAME_NO_NAMESPACE);
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "t", "n", "v", &taken_by), SQL_RENAME_NAME_TAKEN);
    ck_assert_int_eq(taken_by, SQL_VIEW);
    ck_assert(object(&f, "n", "t"));
    fixture_close(&f);
}
END_TEST

START_TEST(test_drop__kind_and_name_must_fit)
{
    struct fixture f;
    struct sql_object *was;
    bool dropped;

    start(&f, _i);
    ck_assert(!drop(&f, "n", "no", SQL_KEEP_FILES));
    ck_assert(!drop(&f, "no", "t", SQL_KEEP_FILES));
    struct sql_change change = by(&f);
    ck_ok(&f, sql_object_drop(f.a, f.s, f.warehouse, SQL_VIEW, STR("n"), STR("t"), SQL_KEEP_FILES,
                  &change, &dropped, &was, &f.err));
    ck_assert(!dropped && !was);
    change = by(&f);
    ck_ok(&f, sql_object_drop(f.a, f.s, f.warehouse, SQL_TABLE, STR("n"), STR("t"), SQL_KEEP_FILES,
                  &change, &dropped, &was, &f.err));
    ck_assert(dropped);
    ck_str(was->location, "s3://b/w/n/t");
    ck_str(was->metadata_location, "s3://b/w/n/t/metadata/0.json");
    ck_assert(!object(&f, "n", "t"));
    fixture_close(&f);
}
END_TEST

/* What is being purged keeps its uuid until its files are gone. */
START_TEST(test_drop__name_and_place_are_free_again)
{
    static const enum sql_purge ways[] = {SQL_KEEP_FILES, SQL_PURGE_FILES, SQL_PURGE_FILES};
    struct fixture f;
    struct sql_mark *marks;
    size_t n;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object o = new_object(&f, "n", "t");
    struct sql_new_object twin = o;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
        ck_assert(drop(&f, "n", "t", ways[i]));
        if (ways[i] == SQL_PURGE_FILES) {
            ck_assert_int_eq(insert(&f, &o), SQL_UUID_TAKEN);
            o.uuid = new_object(&f, "n", "t").uuid;
        }
    }
    if (f.engine == ENGINE_PG) {
        ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM object WHERE purge_ms > 0"), 2);
        ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM location"), 0);
    }
    ck_ok(&f, sql_mark_page(f.a, f.s, f.warehouse, NULL, 9, &marks, &n, &f.err));
    for (size_t i = 0; i < n; i++)
        ck_ok(&f, sql_mark_delete(f.s, f.warehouse, marks[i].id, &f.err));
    ck_assert_int_eq(insert(&f, &twin), SQL_INSERTED);
    fixture_close(&f);
}
END_TEST

START_TEST(test_page__of_one_kind_in_byte_order)
{
    static const char *const names[] = {"b", "Z", "a", "\xc3\xa4", "a-", "v"};
    struct fixture f;

    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct sql_new_object o = new_object(&f, "n", names[i]);
        o.kind = str_eq(o.name, STR("v")) ? SQL_VIEW : SQL_TABLE;
        ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    }
    ck_str(page(&f, SQL_TABLE, NULL, 10), "Z,a,a-,b,\xc3\xa4");
    ck_str(page(&f, SQL_TABLE, "a", 2), "a-,b");
    ck_str(page(&f, SQL_VIEW, NULL, 10), "v");
    ck_str(page(&f, SQL_VIEW, "v", 10), "");
    fixture_close(&f);
}
END_TEST

START_TEST(test_page__of_a_missing_namespace)
{
    struct fixture f;
    struct str *names;
    size_t n;
    bool found;

    fixture_open(&f, _i);
    ck_ok(&f, sql_object_page(f.a, f.s, f.warehouse, STR("no"), SQL_TABLE, (struct str){0}, 5,
                  &names, &n, &found, &f.err));
    ck_assert(!found && n == 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_change_by_digest__newest_of_the_object)
{
    struct fixture f;
    struct sql_applied found;

    start(&f, _i);
    struct sql_object *o = object(&f, "n", "t");
    struct sql_swap one = swap_to(&f, o, "1.json");
    one.by.digest = STR("d1");
    ck_assert_int_eq(swap(&f, &one, 1), SQL_SWAPPED);
    ck_ok(&f, sql_change_by_digest(f.a, f.s, f.warehouse, STR("d1"), &found, &f.err));
    ck_str(found.metadata_location, "s3://b/w/n/t/metadata/1.json");
    ck_ok(&f, sql_change_by_digest(f.a, f.s, f.warehouse, STR("d2"), &found, &f.err));
    ck_assert(!found.metadata_location.p);
    ck_ok(&f, sql_change_by_digest(f.a, f.s, f.warehouse + 1, STR("d1"), &found, &f.err));
    ck_assert(!found.metadata_location.p);

    struct sql_swap away = swap_to(&f, object(&f, "n", "t"), "2.json");
    away.metadata_location = STR("s3://b/w/n/ts/else.json"); /* beside, not in it */
    away.by.digest = STR("d1");
    away.by.at_ms += 1;
    ck_assert_int_eq(swap(&f, &away, 1), SQL_SWAPPED);
    ck_ok(&f, sql_change_by_digest(f.a, f.s, f.warehouse, STR("d1"), &found, &f.err));
    ck_str(found.metadata_location, "s3://b/w/n/ts/else.json");
    fixture_close(&f);
}
END_TEST

START_TEST(test_change_pg__one_row_for_each_change)
{
    struct fixture f;
    enum sql_kind taken_by;
    char out[512];

    start(&f, 1);
    struct sql_swap one = swap_to(&f, object(&f, "n", "t"), "1.json");
    ck_assert_int_eq(swap(&f, &one, 1), SQL_SWAPPED);
    ck_assert_int_eq(rename_to(&f, SQL_TABLE, "t", "n", "u", &taken_by), SQL_RENAMED);
    ck_assert(drop(&f, "n", "u", SQL_KEEP_FILES));
    pg_admin(&f,
        "SELECT string_agg(kind || coalesce(metadata_location, ''), ' ' ORDER BY kind) FROM "
        "change WHERE principal = 'tester' AND request_id = 'r-1'",
        out, sizeof(out));
    ck_assert_str_eq(out, "create/metadata/0.json drop/metadata/1.json namespace-create "
                          "rename/metadata/1.json swap/metadata/1.json");
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_insert__row_can_be_read, 0, n);
    tcase_add_loop_test(tc, test_insert__says_what_is_in_the_way, 0, n);
    tcase_add_loop_test(tc, test_insert__text_with_nul_is_refused_not_cut, 0, n);
    tcase_add_loop_test(tc, test_get_all__each_by_its_name, 0, n);
    tcase_add_loop_test(tc, test_swap__old_location_decides, 0, n);
    tcase_add_loop_test(tc, test_swap__a_dropped_object_is_lost, 0, n);
    tcase_add_loop_test(tc, test_swap_several__all_or_none, 0, n);
    tcase_add_loop_test(tc, test_swap_location__old_place_is_free_new_one_taken, 0, n);
    tcase_add_loop_test(tc, test_rename__within_and_across_namespaces, 0, n);
    tcase_add_loop_test(tc, test_rename__says_what_is_in_the_way, 0, n);
    tcase_add_loop_test(tc, test_drop__kind_and_name_must_fit, 0, n);
    tcase_add_loop_test(tc, test_drop__name_and_place_are_free_again, 0, n);
    tcase_add_loop_test(tc, test_page__of_one_kind_in_byte_order, 0, n);
    tcase_add_loop_test(tc, test_page__of_a_missing_namespace, 0, n);
    tcase_add_loop_test(tc, test_change_by_digest__newest_of_the_object, 0, n);
    if (!have_pg())
        return;
    tcase_add_test(tc, test_swap__sent_again_with_its_token_is_applied_once);
    tcase_add_test(tc, test_change_pg__one_row_for_each_change);
}

int main(void)
{
    return run("sql/object", add);
}
