/* Who names a file, tokens that are forgone, and rounds. */
#include "fixture.h"
#include "sql_sweep.h"

#include <stdlib.h>

static bool pointed(struct fixture *f, const char *uri)
{
    struct str uris[] = {STR("s3://b/nobody"), str_from(uri)};
    bool named[2] = {true, false};
    ck_ok(f, sql_pointed_at(f->s, uris, 2, named, &f->err));
    ck_assert(!named[0]);
    return named[1];
}

START_TEST(test_pointed_at__in_any_spelling)
{
    static const char *const files[] = {"s3://b/w/t/metadata/00001-x.json", "file:/short",
        "file:///w/t/metadata/00000-11111111-1111-4111-8111-111111111111.metadata.json"};
    struct fixture f;
    fixture_open(&f, _i);
    ns_make(&f, "n");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct sql_new_object o = new_object(&f, "n", arena_printf(f.a, "t%zu", i).p);
        o.metadata_location = str_from(files[i]);
        ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
        ck_assert(pointed(&f, files[i]));
    }
    ck_assert(pointed(
        &f, "file:/w//t/metadata/00000-11111111-1111-4111-8111-111111111111.metadata.json"));
    ck_assert(!pointed(
        &f, "file:/w//t/metadata/00000-11111111-1111-4111-8111-111111111112.metadata.json"));
    ck_assert(pointed(&f, "s3://b/w/t/metadata/0000\u00e9-x.json")); /* who can tell */
    ck_assert(drop(&f, "n", "t0", SQL_PURGE_FILES));
    ck_assert(pointed(&f, files[0])); /* the purge begins there */
    ck_assert(drop(&f, "n", "t1", SQL_KEEP_FILES));
    ck_assert(!pointed(&f, files[1]));
    fixture_close(&f);
}
END_TEST

static enum sql_fate fate(struct fixture *f, struct str token)
{
    struct sql_token tokens[] = {{.token = STR("none")}, {.token = token}};
    ck_ok(f, sql_tokens_find(f->s, f->warehouse, tokens, 2, &f->err));
    ck_assert_int_eq(tokens[0].fate, SQL_FATE_UNKNOWN);
    return tokens[1].fate;
}

static bool forgo(struct fixture *f, struct str token)
{
    bool forgone;
    ck_ok(f, sql_change_forgo(f->s, f->warehouse, token, 0, &forgone, &f->err));
    return forgone;
}

START_TEST(test_forgo__what_was_made_stays_made)
{
    struct fixture f;
    int64_t oldest, later;
    fixture_open(&f, _i);
    ck_ok(&f, sql_change_oldest(f.s, f.warehouse, &oldest, &f.err));
    ck_assert_int_eq(oldest, INT64_MAX);
    ns_make(&f, "n");
    ck_ok(&f, sql_change_oldest(f.s, f.warehouse, &oldest, &f.err));
    struct sql_new_object o = new_object(&f, "n", "t");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    struct sql_swap s = swap_to(&f, object(&f, "n", "t"), "1");
    ck_assert_int_eq(fate(&f, s.by.token), SQL_FATE_UNKNOWN);
    ck_assert_int_eq(swap(&f, &s, 1), SQL_SWAPPED);
    ck_assert_int_eq(fate(&f, s.by.token), SQL_FATE_MADE);
    ck_assert(!forgo(&f, s.by.token));
    ck_assert_int_eq(fate(&f, s.by.token), SQL_FATE_MADE);
    ck_ok(&f, sql_change_oldest(f.s, f.warehouse, &later, &f.err));
    ck_assert_int_eq(oldest, later);
    fixture_close(&f);
}
END_TEST

/* As a client of sql sees it: certainly not done. */
static void check_refused(struct fixture *f, const struct sql_swap *s, size_t n)
{
    enum sql_swap_result result;
    struct str before = object(f, "n", "t")->metadata_location;
    ck_assert(!sql_object_swap(f->s, s, n, &result, &f->err));
    ck_assert_int_eq(f->err.kind, ERR_INTERNAL);
    err_clear(&f->err);
    ck_assert(str_eq(object(f, "n", "t")->metadata_location, before));
}

START_TEST(test_forgo__no_change_comes_after_it)
{
    struct fixture f;
    enum sql_insert_result result;
    enum sql_kind taken_by;
    fixture_open(&f, _i);
    ns_make(&f, "n");
    struct sql_new_object o = new_object(&f, "n", "t"), p = new_object(&f, "n", "u");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    struct sql_swap s = swap_to(&f, object(&f, "n", "t"), "1");
    ck_assert(forgo(&f, s.by.token));
    ck_assert_int_eq(fate(&f, s.by.token), SQL_FATE_FORGONE);
    check_refused(&f, &s, 1);
    struct sql_idem idem = {
        .key = STR("k"), .digest = STR("d"), .lifetime_ms = 60000, .status = 200};
    s.by.idem = &idem;
    check_refused(&f, &s, 1);
    ck_assert(!idem.kept);
    s.by.idem = NULL;
    struct sql_change change = by(&f);
    ck_assert(forgo(&f, change.token));
    ck_assert(!sql_object_insert(f.s, &p, &change, &result, &taken_by, &f.err));
    ck_assert_int_eq(f.err.kind, ERR_INTERNAL);
    /* Somebody was faster: lost, not made. */
    struct sql_swap faster = swap_to(&f, object(&f, "n", "t"), "2");
    ck_assert_int_eq(swap(&f, &faster, 1), SQL_SWAPPED);
    ck_assert_int_eq(swap(&f, &s, 1), SQL_SWAP_LOST);
    fixture_close(&f);
}
END_TEST

START_TEST(test_pages__what_there_is)
{
    struct fixture f;
    struct sql_object *objects;
    struct sql_ns *spaces;
    size_t n;
    bool taken;
    fixture_open(&f, _i);
    ns_make(&f, "a");
    ns_make(&f, "b");
    struct sql_new_object o = new_object(&f, "a", "t"), p = new_object(&f, "b", "u");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    ck_assert_int_eq(insert(&f, &p), SQL_INSERTED);
    ck_ok(&f, sql_object_after(f.a, f.s, f.warehouse, 0, 1, &objects, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    ck_ok(&f, sql_object_after(f.a, f.s, f.warehouse, objects[0].id, 9, &objects, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    ck_ok(&f, sql_uuid_taken(f.s, f.warehouse, p.uuid, &taken, &f.err));
    ck_assert(taken);
    ck_assert(drop(&f, "b", "u", SQL_KEEP_FILES));
    ck_ok(&f, sql_uuid_taken(f.s, f.warehouse, p.uuid, &taken, &f.err));
    ck_assert(!taken);
    ck_ok(&f, sql_ns_after(f.a, f.s, f.warehouse, STR(""), 9, &spaces, &n, &f.err));
    ck_assert_uint_eq(n, 2);
    ck_ok(&f, sql_ns_after(f.a, f.s, f.warehouse, spaces[0].path, 9, &spaces, &n, &f.err));
    ck_assert_uint_eq(n, 1);
    ck_str(spaces[0].path, "b");
    fixture_close(&f);
}
END_TEST

START_TEST(test_job__its_rounds)
{
    const struct str name = STR("sweep"), none = {NULL, 0};
    struct fixture f;
    struct sql_job job;
    fixture_open(&f, _i);
    ck_ok(&f, sql_job_get(f.a, f.s, f.warehouse, name, &job, &f.err));
    ck_assert(!job.planned);
    ck_ok(&f, sql_job_plan(f.s, f.warehouse, name, 60000, none, &f.err));
    ck_ok(&f, sql_job_get(f.a, f.s, f.warehouse, name, &job, &f.err));
    ck_assert(job.planned && !job.position.p && job.due_ms > 50000 && job.due_ms <= 60000);
    ck_assert_int_gt(job.now_ms, 1600000000000);
    ck_ok(&f, sql_job_note(f.s, f.warehouse, name, STR("here"), &f.err));
    ck_ok(&f, sql_job_plan(f.s, f.warehouse, name, -1, STR("there"), &f.err));
    ck_ok(&f, sql_job_get(f.a, f.s, f.warehouse, name, &job, &f.err));
    ck_str(job.position, "there");
    ck_assert_int_lt(job.due_ms, 0);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_pointed_at__in_any_spelling, 0, n);
    tcase_add_loop_test(tc, test_forgo__what_was_made_stays_made, 0, n);
    tcase_add_loop_test(tc, test_forgo__no_change_comes_after_it, 0, n);
    tcase_add_loop_test(tc, test_pages__what_there_is, 0, n);
    tcase_add_loop_test(tc, test_job__its_rounds, 0, n);
}

int main(void)
{
    return run("sweep", add);
}
