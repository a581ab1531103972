/* What the updates of one request may cost, whatever they are and whatever the table holds. */
#include <check.h>

#include "draft_tool.h"
#include "update.h"

static struct arena *a;

static void setup(void)
{
    a = arena_new();
}

static void teardown(void)
{
    arena_free(&a);
}

static struct draft *with_parts(enum parts_kind kind, size_t n, uint64_t factor)
{
    struct draft *d = draft_begin(a, tool_base(a, "empty"));
    for (uint64_t i = 1; i <= n; i++)
        draft_append(d, kind, (struct part){.id = (int64_t)(factor * i)});
    return d;
}

/* Ids whose product with 2^64 divided by the golden ratio begins with 32 bits of zero: in a table
 * whose slots are drawn by that all would fall into one row. */
START_TEST(test_draft_find__ids_that_somebody_chose)
{
    enum { MANY = 20000 };
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - UINT64_C(0x9e3779b97f4a7c15) * inverse;
    struct draft *d = with_parts(PARTS_SNAPSHOTS, MANY, inverse);
    for (uint64_t i = 1; i <= MANY; i++) {
        const struct part *found = draft_find(d, PARTS_SNAPSHOTS, (int64_t)(inverse * i));
        ck_assert_ptr_eq(found, &d->parts[PARTS_SNAPSHOTS].v[i - 1]);
    }
    ck_assert_uint_lt(d->work, 40 * MANY);
}
END_TEST

START_TEST(test_updates__statistics_that_come_and_go_keep_no_memory)
{
    struct err err;
    struct draft *d = with_parts(PARTS_STATISTICS, 20000, 1);
    json_t *updates = tool_json(a, "[]");
    for (int i = 0; i < 500; i++) {
        json_array_append_new(
            updates, json_pack("{s:s,s:{s:i,s:s,s:i,s:i,s:[]}}", "action", "set-statistics",
                         "statistics", "snapshot-id", 100000 + i, "statistics-path", "p",
                         "file-size-in-bytes", 1, "file-footer-size-in-bytes", 1, "blob-metadata"));
        json_array_append_new(updates,
            json_pack("{s:s,s:i}", "action", "remove-statistics", "snapshot-id", 100000 + i));
    }
    ck_assert(updates_apply(d, updates, &err));
    ck_assert_uint_eq(d->parts[PARTS_STATISTICS].n, 20000);
    ck_assert_uint_lt(arena_used(a), 32 << 20);
}
END_TEST

/* Every change between two removals makes each of them go through all that is there. */
START_TEST(test_updates__going_through_a_long_table_for_ever)
{
    enum { OTHERS = 299000000 };
    struct err err;
    json_t *updates = tool_json(a, "[]");
    json_t *pair = tool_json(a, "[{'action':'remove-snapshots','snapshot-ids':[-7]},"
                                "{'action':'set-properties','updates':{'a':'b'}}]");
    for (int i = 0; i < 200; i++)
        json_array_extend(updates, pair);
    struct draft *d = with_parts(PARTS_SNAPSHOTS, 10000, 1);
    ck_assert(updates_apply(d, updates, &err));
    d = with_parts(PARTS_SNAPSHOTS, 10000, 1);
    d->work = OTHERS; /* as by some that came before them */
    ck_assert(!updates_apply(d, updates, &err));
    ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.msg, "send them in several requests"));
}
END_TEST

/* Removals one after the other are carried out at once, of whatever they are. */
START_TEST(test_updates__many_removals_of_all_kinds)
{
    enum { MANY = 20000 };
    static const char *const removals[][2] = {
        {"remove-statistics",           "snapshot-id"},
        {"remove-partition-statistics", "snapshot-id"}
    };
    struct err err;
    struct draft *d = with_parts(PARTS_STATISTICS, MANY, 1);
    json_t *updates = tool_json(a, "[]");
    for (int i = 1; i <= MANY; i++) {
        draft_append(d, PARTS_PARTITION_STATS, (struct part){.id = i});
        for (size_t k = 0; k < ARRAY_LEN(removals); k++)
            json_array_append_new(
                updates, json_pack("{s:s,s:i}", "action", removals[k][0], removals[k][1], i));
        struct str key = arena_printf(a, "{\"key-id\":\"k%d\"}", i);
        draft_append(d, PARTS_KEYS, (struct part){.p = key.p, .n = (uint32_t)key.n});
        json_array_append_new(updates, json_pack("{s:s,s:o}", "action", "remove-encryption-key",
                                           "key-id", json_sprintf("k%d", i)));
    }
    ck_assert(updates_apply(d, updates, &err));
    ck_assert_uint_eq(d->parts[PARTS_STATISTICS].n + d->parts[PARTS_PARTITION_STATS].n, 0);
    ck_assert_uint_eq(d->parts[PARTS_KEYS].n, 0);
    ck_assert_uint_lt(d->work, 10 * MANY);
}
END_TEST

/* Each field of a schema has a name in full, which may be as long as those that it lies in. */
START_TEST(test_updates__schemas_with_long_names_keep_no_memory)
{
    struct err err;
    json_t *updates = tool_json(a, "[]"), *fields = json_array();
    char *name = arena_alloc(a, 20001);
    memset(name, 'n', 20000);
    name[20000] = '\0';
    for (int i = 0; i < 100; i++)
        json_array_append_new(fields, json_pack("{s:i,s:o,s:b,s:s}", "id", 2 + i, "name",
                                          json_sprintf("c%d", i), "required", 0, "type", "int"));
    json_t *add = json_pack("{s:s,s:{s:[{s:i,s:s,s:b,s:{s:s,s:o}}]}}", "action", "add-schema",
        "schema", "fields", "id", 1, "name", name, "required", 0, "type", "type", "struct",
        "fields", fields);
    for (int i = 0; i < 100; i++)
        json_array_append(updates, add);
    json_decref(add);
    ck_assert(updates_apply(draft_begin(a, tool_base(a, "empty")), updates, &err));
    ck_assert_uint_lt(arena_used(a), 16 << 20);
}
END_TEST

/* The ids that their fields get are those of equal fields of all specs that there are. */
START_TEST(test_updates__specs_beside_a_large_one_keep_no_memory)
{
    struct err err;
    json_t *updates = tool_json(a, "[]"), *fields = json_array();
    for (int i = 1; i <= 2000; i++)
        json_array_append_new(
            fields, json_pack("{s:o,s:o,s:i}", "name", json_sprintf("b%d", i), "transform",
                        json_sprintf("bucket[%d]", i), "source-id", 1));
    json_array_append_new(
        updates, json_pack("{s:s,s:{s:o}}", "action", "add-spec", "spec", "fields", fields));
    json_t *small = tool_json(a, "{'action':'add-spec','spec':{'fields':[{'name':'x','transform':"
                                 "'identity','source-id':1}]}}");
    for (int i = 0; i < 500; i++)
        json_array_append(updates, small);
    struct draft *d = draft_begin(a, tool_base(a, "v2"));
    bool ok = updates_apply(d, updates, &err);
    ck_assert_msg(ok, "%s", ok ? "" : err.msg);
    ck_assert_uint_lt(arena_used(a), 16 << 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/work");
    TCase *cases = tcase_create("catalog/work");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_draft_find__ids_that_somebody_chose);
    tcase_add_test(cases, test_updates__statistics_that_come_and_go_keep_no_memory);
    tcase_add_test(cases, test_updates__going_through_a_long_table_for_ever);
    tcase_add_test(cases, test_updates__many_removals_of_all_kinds);
    tcase_add_test(cases, test_updates__schemas_with_long_names_keep_no_memory);
    tcase_add_test(cases, test_updates__specs_beside_a_large_one_keep_no_memory);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
