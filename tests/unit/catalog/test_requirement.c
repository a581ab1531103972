#include "requirement.h"

#include <check.h>

#include "draft_tool.h"

#define UUID "9c12d441-03fe-4693-9a96-a0705ddf69c1"

static struct arena *a;

static void setup(void)
{
    a = arena_new();
}

static void teardown(void)
{
    arena_free(&a);
}

/* On tests/data/metadata/draft/v2.json; no message: it holds. */
/* clang-format off */
static const struct row {
    const char *base, *requirements;
    enum err_kind kind;
    const char *message;
} rows[] = {
    {"v2", "[]", ERR_NONE, NULL},
    {"v2", "null", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-create'}]", ERR_COMMIT_FAILED,
     "Requirement failed: table already exists"},
    {"v2", "[{'type':'assert-table-uuid','uuid':'" UUID "'}]", ERR_NONE, NULL},
    {"v2", "[{'type':'ASSERT-Table-UUID','uuid':'9C12D441-03FE-4693-9A96-A0705DDF69C1'}]", ERR_NONE,
     NULL},
    {"v2", "[{'type':'assert-table-uuid','uuid':'2df82b80-0a72-495d-9b8e-12a1ff5b1111'}]",
     ERR_COMMIT_FAILED,
     "Requirement failed: UUID does not match: expected " UUID
     " != 2df82b80-0a72-495d-9b8e-12a1ff5b1111"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':20}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'new','snapshot-id':null}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'new'}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'new','snapshot-id':-1}]", ERR_NONE, NULL},
    {"empty", "[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':-1}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':null}]",
     ERR_COMMIT_FAILED, "Requirement failed: branch main was created concurrently"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'v1'}]", ERR_COMMIT_FAILED,
     "Requirement failed: tag v1 was created concurrently"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':-1}]", ERR_COMMIT_FAILED,
     "Requirement failed: branch main has changed: expected id -1 != 20"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'dev','snapshot-id':20}]", ERR_COMMIT_FAILED,
     "Requirement failed: branch dev has changed: expected id 20 != 30"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'v1','snapshot-id':0}]", ERR_COMMIT_FAILED,
     "Requirement failed: tag v1 has changed: expected id 0 != 10"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'b2','snapshot-id':10}]", ERR_COMMIT_FAILED,
     "Requirement failed: branch or tag b2 is missing, expected 10"},
    {"v2", "[{'type':'assert-last-assigned-field-id','last-assigned-field-id':6}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-last-assigned-field-id','last-assigned-field-id':5}]",
     ERR_COMMIT_FAILED, "Requirement failed: last assigned field id changed: expected id 5 != 6"},
    {"v2", "[{'type':'assert-current-schema-id','current-schema-id':1}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-current-schema-id','current-schema-id':0}]", ERR_COMMIT_FAILED,
     "Requirement failed: current schema changed: expected id 0 != 1"},
    {"v2", "[{'type':'assert-last-assigned-partition-id','last-assigned-partition-id':1000}]",
     ERR_NONE, NULL},
    {"v2", "[{'type':'assert-last-assigned-partition-id','last-assigned-partition-id':999}]",
     ERR_COMMIT_FAILED,
     "Requirement failed: last assigned partition id changed: expected id 999 != 1000"},
    {"v2", "[{'type':'assert-default-spec-id','default-spec-id':0}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-default-spec-id','default-spec-id':1}]", ERR_COMMIT_FAILED,
     "Requirement failed: default partition spec changed: expected id 1 != 0"},
    {"v2", "[{'type':'assert-default-sort-order-id','default-sort-order-id':0}]", ERR_NONE, NULL},
    {"v2", "[{'type':'assert-default-sort-order-id','default-sort-order-id':1}]",
     ERR_COMMIT_FAILED, "Requirement failed: default sort order changed: expected id 1 != 0"},
    {"v2", "[{'type':'assert-view-uuid','uuid':'" UUID "'}]", ERR_VALIDATION,
     "Cannot validate AssertViewUUID against a table"},
    {"v2", "[{'type':'assert-next-row-id','next-row-id':0}]", ERR_BAD_REQUEST,
     "Unrecognized update requirement. Cannot convert to json: assert-next-row-id"},
    {"v2", "[{'ref':'main'}]", ERR_BAD_REQUEST,
     "Cannot parse update requirement. Missing field: type"},
    {"v2", "[{'type':null}]", ERR_BAD_REQUEST,
     "Cannot parse update requirement. Missing field: type"},
    {"v2", "[7]", ERR_BAD_REQUEST,
     "Cannot parse update requirement: expected an object (/requirements/0)"},
    {"v2", "{}", ERR_BAD_REQUEST, "Expected an array of requirements (/requirements)"},
    {"v2", "[{'type':'assert-table-uuid'}]", ERR_BAD_REQUEST,
     "Missing field: uuid (/requirements/0)"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':'20'}]", ERR_BAD_REQUEST,
     "Expected an integer, found a string (/requirements/0/snapshot-id)"},
    {"v2", "[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':20.0}]", ERR_BAD_REQUEST,
     "Expected an integer, found a number with a fraction (/requirements/0/snapshot-id)"},
    {"v2", "[{'type':'assert-default-spec-id','default-spec-id':null}]", ERR_BAD_REQUEST,
     "Missing field: default-spec-id (/requirements/0)"},
    /* The first that fails speaks, in the order of the request. */
    {"v2",
     "[{'type':'assert-current-schema-id','current-schema-id':9},"
     "{'type':'assert-last-assigned-field-id','last-assigned-field-id':9}]",
     ERR_COMMIT_FAILED, "Requirement failed: current schema changed: expected id 9 != 1"},
    /* What cannot be understood is refused before anything is compared. */
    {"v2",
     "[{'type':'assert-current-schema-id','current-schema-id':9},{'type':'assert-luck'}]",
     ERR_BAD_REQUEST, "Unrecognized update requirement. Cannot convert to json: assert-luck"},
};
/* clang-format on */

START_TEST(test_requirements_check__each_row)
{
    const struct row *r = &rows[_i];
    struct err err = {0};
    bool ok = requirements_check(tool_base(a, r->base), tool_json(a, r->requirements), &err);
    ck_assert_msg(ok == (r->message == NULL), "%s: %s", r->requirements, ok ? "holds" : err.msg);
    if (ok)
        return;
    ck_assert_str_eq(err.msg, r->message);
    ck_assert_str_eq(err_name(err.kind), err_name(r->kind));
}
END_TEST

START_TEST(test_requirements_check__absent_list_is_empty)
{
    struct err err;
    ck_assert(requirements_check(tool_base(a, "v2"), NULL, &err));
    ck_assert(requirements_known(NULL, &err));
}
END_TEST

START_TEST(test_requirements_create__alone_or_not_at_all)
{
    struct err err;
    bool create = true;
    ck_assert(requirements_create(NULL, &create, &err) && !create);
    ck_assert(requirements_create(tool_json(a, "[]"), &create, &err) && !create);
    ck_assert(requirements_create(
        tool_json(a, "[{'type':'assert-table-uuid','uuid':'x'}]"), &create, &err));
    ck_assert(!create);
    ck_assert(
        requirements_create(tool_json(a, "[{'type':'Assert-Create'}]"), &create, &err) && create);
    ck_assert(!requirements_create(tool_json(a, "[{'type':'assert-table-uuid','uuid':'x'},"
                                                "{'type':'assert-create'},"
                                                "{'type':'assert-ref-snapshot-id','ref':'main'}]"),
        &create, &err));
    ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
    ck_assert_str_eq(
        err.msg, "Invalid create requirements: [assert-table-uuid, assert-ref-snapshot-id]");
    ck_assert(!requirements_create(tool_json(a, "[{'type':'assert-nothing'}]"), &create, &err));
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/requirement");
    TCase *cases = tcase_create("catalog/requirement");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_requirements_check__each_row, 0, (int)ARRAY_LEN(rows));
    tcase_add_test(cases, test_requirements_check__absent_list_is_empty);
    tcase_add_test(cases, test_requirements_create__alone_or_not_at_all);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
