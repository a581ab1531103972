#include "op.h"

#include <check.h>

#include "arena.h"

static struct arena *arena;
static struct err err;
static struct str values[OP_PARAMS_MAX];

static void setup(void)
{
    arena = arena_new();
    err = (struct err){0};
    memset(values, 0, sizeof(values));
}

static void teardown(void)
{
    arena_free(&arena);
}

static struct str *value_of(enum op_id id, const char *name)
{
    for (unsigned i = 0; i < op_rows[id].n_params; i++)
        if (strcmp(op_rows[id].params[i].name, name) == 0)
            return &values[i];
    ck_abort_msg("%s has no parameter %s", op_rows[id].name, name);
}

static const struct {
    enum op_id op;
    const char *name, *value;
    const char *want; /* the value afterwards; NULL: refused */
    const char *msg;
} table[] = {
    {OP_LIST_TABLES,     "pageSize",                    "1",                                "1",                   NULL                                             },
    {OP_LIST_TABLES,     "pageSize",                    "9223372036854775807",              "9223372036854775807", NULL                                             },
    {OP_LIST_TABLES,     "pageSize",                    "0",                                NULL,
     "pageSize: expected an integer of at least 1, found \"0\""                                                                                                     },
    {OP_LIST_TABLES,     "pageSize",                    "-5",                               NULL,                  NULL                                             },
    {OP_LIST_TABLES,     "pageSize",                    "ten",                              NULL,
     "pageSize: expected an integer of at least 1, found \"ten\""                                                                                                   },
    {OP_LIST_TABLES,     "pageSize",                    "",                                 NULL,                  NULL                                             },
    {OP_LIST_TABLES,     "pageSize",                    "1.0",                              NULL,                  NULL                                             },
    {OP_LIST_TABLES,     "pageSize",                    "9223372036854775808",              NULL,                  NULL                                             },
    {OP_LIST_TABLES,     "pageToken",                   "",                                 "",                    NULL                                             },
    {OP_LIST_TABLES,     "pageToken",                   "abc",                              "abc",                 NULL                                             },
    {OP_LIST_NAMESPACES, "parent",                      "",                                 "",                    NULL                                             },
    {OP_LIST_NAMESPACES, "parent",
     "a\x1f"
        "B",                                                                                "a\x1f"
        "B",                                                                                           NULL                                             },
    {OP_LIST_NAMESPACES, "parent",                      "\xff",                             NULL,                  "parent: expected UTF-8, found \"?\""            },
    {OP_GET_CONFIG,      "warehouse",                   "s3://b/p/",                        "s3://b/p/",           NULL                                             },
    {OP_LOAD_TABLE,      "snapshots",                   "all",                              "all",                 NULL                                             },
    {OP_LOAD_TABLE,      "snapshots",                   "REFS",                             "refs",                NULL                                             },
    {OP_LOAD_TABLE,      "snapshots",                   "some",                             NULL,                  "snapshots: expected all or refs, found \"some\""},
    {OP_LOAD_TABLE,      "snapshots",                   "",                                 NULL,                  NULL                                             },
    {OP_LOAD_TABLE,      "referenced-by",               "a%1Fv,b",                          "a%1Fv,b",             NULL                                             },
    {OP_LOAD_TABLE,      "If-None-Match",               "W/\"x\", *",                       "W/\"x\", *",          NULL                                             },
    {OP_LOAD_TABLE,      "X-Iceberg-Access-Delegation", "vended-credentials,something-new",
     "vended-credentials,something-new",                                                                           NULL                                             },
    {OP_DROP_TABLE,      "purgeRequested",              "True",                             "true",                NULL                                             },
    {OP_DROP_TABLE,      "purgeRequested",              "FALSE",                            "false",               NULL                                             },
    {OP_DROP_TABLE,      "purgeRequested",              "1",                                NULL,
     "purgeRequested: expected true or false, found \"1\""                                                                                                          },
    {OP_DROP_TABLE,      "purgeRequested",              "",                                 NULL,                  NULL                                             },
    {OP_CREATE_TABLE,    "Idempotency-Key",             "not-a-uuid",                       "not-a-uuid",          NULL                                             },
    {OP_CREATE_TABLE,    "Idempotency-Key",             "",                                 NULL,
     "Idempotency-Key: expected at least 1 bytes, found 0"                                                                                                          },
};

START_TEST(test_op_check_params__by_kind)
{
    struct str *value = value_of(table[_i].op, table[_i].name);
    bool ok;

    *value = str_from(table[_i].value);
    ok = op_check_params(arena, &op_rows[table[_i].op], values, &err);
    ck_assert_msg(
        ok == (table[_i].want != NULL), "%s=%s: %s", table[_i].name, table[_i].value, err.msg);
    if (ok)
        ck_assert(str_eq(*value, str_from(table[_i].want)));
    else
        ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
    if (table[_i].msg)
        ck_assert_str_eq(err.msg, table[_i].msg);
}
END_TEST

START_TEST(test_op_check_params__absent_ones_are_fine)
{
    for (unsigned i = 0; i < OP_COUNT; i++)
        ck_assert(op_check_params(arena, &op_rows[i], values, &err));
}
END_TEST

START_TEST(test_op_check_params__lengths)
{
    char text[20000];
    struct str *key = value_of(OP_DROP_TABLE, "Idempotency-Key");

    memset(text, 'k', sizeof(text));
    *key = (struct str){text, 256};
    ck_assert(op_check_params(arena, &op_rows[OP_DROP_TABLE], values, &err));
    *key = (struct str){text, 257};
    ck_assert(!op_check_params(arena, &op_rows[OP_DROP_TABLE], values, &err));
    ck_assert_str_eq(err.msg, "Idempotency-Key: expected at most 256 bytes, found 257");
}
END_TEST

START_TEST(test_op_check_params__a_required_one_is_missing)
{
    static const struct param params[] = {
        {"namespace", IN_PATH,  PARAM_NAMESPACE, true,  0, 0, NULL},
        {"id",        IN_QUERY, PARAM_UUID,      true,  0, 0, NULL},
        {"level",     IN_QUERY, PARAM_INT,       false, 1, 3, NULL},
    };
    static const struct op op = {.params = params, .n_params = 3};

    ck_assert(!op_check_params(arena, &op, values, &err));
    ck_assert_str_eq(err.msg, "id: required parameter is missing");
    values[1] = str_from("x\n");
    ck_assert(!op_check_params(arena, &op, values, &err));
    ck_assert_str_eq(err.msg, "id: expected a UUID, found \"x?\"");
    values[1] = str_from("0195F3A0-0000-7000-8000-000000000000");
    ck_assert(op_check_params(arena, &op, values, &err));
    values[2] = str_from("4");
    ck_assert(!op_check_params(arena, &op, values, &err));
    ck_assert_str_eq(err.msg, "level: expected an integer from 1 to 3, found \"4\"");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openapi/param");
    TCase *cases = tcase_create("openapi/param");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_op_check_params__by_kind, 0, ARRAY_LEN(table));
    tcase_add_test(cases, test_op_check_params__absent_ones_are_fine);
    tcase_add_test(cases, test_op_check_params__lengths);
    tcase_add_test(cases, test_op_check_params__a_required_one_is_missing);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
