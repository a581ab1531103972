#include "op.h"

#include <check.h>

#include "arena.h"

struct hit {
    enum op_method method;
    const char *path;
    enum op_id op;
    const char *prefix; /* NULL: absent */
    const char *args;   /* values joined by a blank */
};

static const struct hit hits[] = {
    {OP_GET,    "/openapi/catalog.yaml",                 OP_GET_DESCRIPTION,         NULL,         ""             },
    {OP_GET,    "/v1/config",                            OP_GET_CONFIG,              NULL,         ""             },
    {OP_HEAD,   "/v1/config",                            OP_GET_CONFIG,              NULL,         ""             },
    {OP_HEAD,   "/v1/wh/namespaces",                     OP_LIST_NAMESPACES,         "wh",         ""             },
    {OP_POST,   "/v1/oauth/tokens",                      OP_GET_TOKEN,               NULL,         ""             },
    {OP_GET,    "/v1/namespaces",                        OP_LIST_NAMESPACES,         NULL,         ""             },
    {OP_GET,    "/v1/wh/namespaces",                     OP_LIST_NAMESPACES,         "wh",         ""             },
    {OP_POST,   "/v1/namespaces",                        OP_CREATE_NAMESPACE,        NULL,         ""             },
    {OP_GET,    "/v1/namespaces/a",                      OP_LOAD_NAMESPACE_METADATA, NULL,         "a"            },
    {OP_HEAD,   "/v1/namespaces/a",                      OP_NAMESPACE_EXISTS,        NULL,         "a"            },
    {OP_DELETE, "/v1/wh/namespaces/a",                   OP_DROP_NAMESPACE,          "wh",         "a"            },
    {OP_POST,   "/v1/namespaces/a/properties",           OP_UPDATE_PROPERTIES,       NULL,         "a"            },
    {OP_GET,    "/v1/namespaces/a/tables",               OP_LIST_TABLES,             NULL,         "a"            },
    {OP_POST,   "/v1/namespaces/a/tables",               OP_CREATE_TABLE,            NULL,         "a"            },
    {OP_GET,    "/v1/namespaces/a/tables/t",             OP_LOAD_TABLE,              NULL,         "a t"          },
    {OP_HEAD,   "/v1/namespaces/a/tables/t",             OP_TABLE_EXISTS,            NULL,         "a t"          },
    {OP_POST,   "/v1/namespaces/a/tables/t",             OP_UPDATE_TABLE,            NULL,         "a t"          },
    {OP_DELETE, "/v1/wh/namespaces/a/tables/t",          OP_DROP_TABLE,              "wh",         "a t"          },
    {OP_POST,   "/v1/namespaces/a/register",             OP_REGISTER_TABLE,          NULL,         "a"            },
    {OP_POST,   "/v1/namespaces/a/tables/t/unregister",  OP_UNREGISTER_TABLE,        NULL,         "a t"          },
    {OP_GET,    "/v1/namespaces/a/tables/t/credentials", OP_LOAD_CREDENTIALS,        NULL,         "a t"          },
    {OP_POST,   "/v1/namespaces/a/tables/t/sign",        OP_SIGN_REQUEST,            NULL,         "a t"          },
    {OP_POST,   "/v1/namespaces/a/tables/t/metrics",     OP_REPORT_METRICS,          NULL,         "a t"          },
    {OP_POST,   "/v1/tables/rename",                     OP_RENAME_TABLE,            NULL,         ""             },
    {OP_POST,   "/v1/wh/tables/rename",                  OP_RENAME_TABLE,            "wh",         ""             },
    {OP_POST,   "/v1/transactions/commit",               OP_COMMIT_TRANSACTION,      NULL,         ""             },
    {OP_POST,   "/v1/namespaces/a/tables/t/plan",        OP_PLAN_TABLE_SCAN,         NULL,         "a t"          },
    {OP_GET,    "/v1/wh/namespaces/a/tables/t/plan/p",   OP_FETCH_PLANNING_RESULT,   "wh",         "a t p"        },
    {OP_DELETE, "/v1/namespaces/a/tables/t/plan/p",      OP_CANCEL_PLANNING,         NULL,         "a t p"        },
    {OP_POST,   "/v1/namespaces/a/tables/t/tasks",       OP_FETCH_SCAN_TASKS,        NULL,         "a t"          },
    {OP_GET,    "/v1/namespaces/a/views",                OP_LIST_VIEWS,              NULL,         "a"            },
    {OP_POST,   "/v1/namespaces/a/views",                OP_CREATE_VIEW,             NULL,         "a"            },
    {OP_GET,    "/v1/namespaces/a/views/v",              OP_LOAD_VIEW,               NULL,         "a v"          },
    {OP_HEAD,   "/v1/namespaces/a/views/v",              OP_VIEW_EXISTS,             NULL,         "a v"          },
    {OP_POST,   "/v1/namespaces/a/views/v",              OP_REPLACE_VIEW,            NULL,         "a v"          },
    {OP_DELETE, "/v1/namespaces/a/views/v",              OP_DROP_VIEW,               NULL,         "a v"          },
    {OP_POST,   "/v1/views/rename",                      OP_RENAME_VIEW,             NULL,         ""             },
    {OP_POST,   "/v1/namespaces/a/register-view",        OP_REGISTER_VIEW,           NULL,         "a"            },
    {OP_GET,    "/v1/namespaces/a/functions",            OP_LIST_FUNCTIONS,          NULL,         "a"            },
    {OP_GET,    "/v1/namespaces/a/functions/f",          OP_LOAD_FUNCTION,           NULL,         "a f"          },
 /* Names that are words of the protocol. */
    {OP_GET,    "/v1/namespaces/tables/tables/tables",   OP_LOAD_TABLE,              NULL,         "tables tables"},
    {OP_GET,    "/v1/namespaces/namespaces",             OP_LOAD_NAMESPACE_METADATA, NULL,         "namespaces"   },
    {OP_GET,    "/v1/v1/namespaces/v1",                  OP_LOAD_NAMESPACE_METADATA, "v1",         "v1"           },
    {OP_POST,   "/v1/namespaces/a/tables/rename",        OP_UPDATE_TABLE,            NULL,         "a rename"     },
    {OP_GET,    "/v1/%6Eamespaces/namespaces",           OP_LIST_NAMESPACES,         "namespaces", ""             },
 /* Base addresses that end in a slash. */
    {OP_GET,    "//v1/config",                           OP_GET_CONFIG,              NULL,         ""             },
    {OP_GET,    "/v1//config",                           OP_GET_CONFIG,              NULL,         ""             },
    {OP_GET,    "///v1///wh///namespaces/a",             OP_LOAD_NAMESPACE_METADATA, "wh",         "a"            },
    {OP_GET,    "//openapi/catalog.yaml",                OP_GET_DESCRIPTION,         NULL,         ""             },
    {OP_GET,    "//openapi//catalog.yaml",               OP_GET_DESCRIPTION,         NULL,         ""             },
 /* Slashes in a row where no name can be missing. */
    {OP_GET,    "/v1/namespaces//a",                     OP_LOAD_NAMESPACE_METADATA, NULL,         "a"            },
    {OP_GET,    "/v1/namespaces/a//tables",              OP_LIST_TABLES,             NULL,         "a"            },
    {OP_GET,    "/v1/namespaces///a//tables////t",       OP_LOAD_TABLE,              NULL,         "a t"          },
    {OP_GET,    "/v1/wh/namespaces//tables/tables/t",    OP_LOAD_TABLE,              "wh",         "tables t"     },
    {OP_POST,   "/v1/tables//rename",                    OP_RENAME_TABLE,            NULL,         ""             },
 /* Decoded once, after the split. */
    {OP_GET,    "/v1/namespaces/a%1Fb/tables/x%2Fy",     OP_LOAD_TABLE,              NULL,
     "a\x1f"
        "b x/y"                                                                                                   },
    {OP_GET,    "/v1/namespaces/a/tables/foo%252Fbar",   OP_LOAD_TABLE,              NULL,         "a foo%2Fbar"  },
    {OP_GET,    "/v1/main%7Cwh/namespaces",              OP_LIST_NAMESPACES,         "main|wh",    ""             },
    {OP_GET,    "/v1/main|wh/namespaces",                OP_LIST_NAMESPACES,         "main|wh",    ""             },
    {OP_GET,    "/v1/a+b/namespaces",                    OP_LIST_NAMESPACES,         "a+b",        ""             },
    {OP_GET,    "/v1/namespaces/%E6%97%A5",              OP_LOAD_NAMESPACE_METADATA, NULL,         "\xe6\x97\xa5" },
    {OP_GET,    "/v1/namespaces/\xe6\x97\xa5",           OP_LOAD_NAMESPACE_METADATA, NULL,         "\xe6\x97\xa5" },
    {OP_GET,    "/v1/namespaces/..",                     OP_LOAD_NAMESPACE_METADATA, NULL,         ".."           },
};

START_TEST(test_op_find__every_operation_and_odd_spellings)
{
    const struct hit *want = &hits[_i];
    struct arena *a = arena_new();
    struct err err = {0};
    struct route got;
    struct str allow = {0};

    ck_assert_msg(op_find(a, want->method, str_from(want->path), &got, &allow, &err), "%s: %s",
        want->path, err.msg);
    ck_assert_msg(got.op == &op_rows[want->op], "%s is %s", want->path, got.op->name);
    ck_assert_int_eq(got.prefix.p != NULL, want->prefix != NULL);
    ck_assert_msg(str_eq(got.prefix, str_from(want->prefix)), "%s", want->path);
    struct str args = str_from("");
    for (unsigned i = 0; i < got.n_args; i++) {
        args =
            arena_printf(a, "%.*s%s%.*s", STR_ARG(args), i ? " " : "", STR_ARG(got.args[i].value));
        ck_assert_str_eq(got.args[i].name, got.op->params[i].name);
        ck_assert_int_eq(got.op->params[i].in, IN_PATH);
    }
    ck_assert_msg(str_eq(args, str_from(want->args)), "%s: %s", want->path, args.p);
    arena_free(&a);
}
END_TEST

static const struct {
    enum op_method method;
    const char *path;
    enum err_kind kind;
    const char *allow;
    const char *msg;
} misses[] = {
    {OP_GET,          "",                               ERR_NO_ROUTE,    NULL,                "No route for request: GET "              },
    {OP_GET,          "/",                              ERR_NO_ROUTE,    NULL,                "No route for request: GET /"             },
    {OP_GET,          "/v1",                            ERR_NO_ROUTE,    NULL,                "No route for request: GET /v1"           },
    {OP_GET,          "/v1/",                           ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/wh",                         ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "v1/config",                      ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v2/config",                     ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/catalog/v1/config",             ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/V1/config",                     ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/Config",                     ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/nothing",                    ERR_NO_ROUTE,    NULL,                "No route for request: GET /v1/nothing"   },
    {OP_DELETE,       "/v1/a/b/c/d/e/f/g/h/i/j/k",      ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/wh/openapi/catalog.yaml",    ERR_NO_ROUTE,    NULL,                NULL                                      },
 /* Configuration and tokens have no prefix. */
    {OP_GET,          "/v1/wh2/config",                 ERR_NO_ROUTE,    NULL,                "No route for request: GET /v1/wh2/config"},
    {OP_POST,         "/v1/wh2/oauth/tokens",           ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/a/b/namespaces",             ERR_NO_ROUTE,    NULL,                NULL                                      },
 /* A name may not be empty. */
    {OP_HEAD,         "/v1/namespaces/",                ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_POST,         "/v1/namespaces//tables",         ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces//tables/t",       ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces//tables//t",      ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces//tables//tables", ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_DELETE,       "/v1//wh//namespaces//tables",    ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces//properties",     ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/a/tables//plan",  ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_DELETE,       "/v1/namespaces/a/tables//",      ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_DELETE,       "/v1/namespaces//",               ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/a/tables/",       ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/config/",                    ERR_NO_ROUTE,    NULL,                NULL                                      },
    {OP_GET,          "/v1/x\x01\xff",                  ERR_NO_ROUTE,    NULL,                "No route for request: GET /v1/x??"       },
    {OP_METHOD_COUNT, "/v1/nothing",                    ERR_NO_ROUTE,    NULL,                "No route for request: /v1/nothing"       },
    {OP_DELETE,       "/v1/config",                     ERR_METHOD,      "GET, HEAD",
     "DELETE is not allowed on /v1/config: expected GET, HEAD"                                                                          },
    {OP_HEAD,         "/v1/tables/rename",              ERR_METHOD,      "POST",              NULL                                      },
    {OP_POST,         "/v1/wh/namespaces/a",            ERR_METHOD,      "GET, HEAD, DELETE", NULL                                      },
    {OP_GET,          "/v1/tables/rename",              ERR_METHOD,      "POST",              NULL                                      },
    {OP_POST,         "/v1/namespaces/%ZZ",             ERR_METHOD,      "GET, HEAD, DELETE", NULL                                      },
    {OP_METHOD_COUNT, "/v1/namespaces",                 ERR_METHOD,      "GET, HEAD, POST",
     "This method is not allowed on /v1/namespaces: expected GET, HEAD, POST"                                                           },
    {OP_GET,          "/v1/namespaces/%",               ERR_BAD_REQUEST, NULL,
     "namespace in the path: expected percent-encoded UTF-8 without NUL, found \"%\""                                                   },
    {OP_GET,          "/v1/namespaces/a%2",             ERR_BAD_REQUEST, NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/a%zz",            ERR_BAD_REQUEST, NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/a%00",            ERR_BAD_REQUEST, NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/%FF",             ERR_BAD_REQUEST, NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/%ED%A0%80",       ERR_BAD_REQUEST, NULL,                NULL                                      },
    {OP_GET,          "/v1/namespaces/a/tables/\xff",   ERR_BAD_REQUEST, NULL,
     "table in the path: expected percent-encoded UTF-8 without NUL, found \"?\""                                                       },
    {OP_GET,          "/v1/%FF/namespaces",             ERR_BAD_REQUEST, NULL,
     "prefix in the path: expected percent-encoded UTF-8 without NUL, found \"%FF\""                                                    },
};

START_TEST(test_op_find__what_is_refused_and_how)
{
    struct arena *a = arena_new();
    struct err err = {0};
    struct route got;
    struct str allow = {0};

    ck_assert_msg(!op_find(a, misses[_i].method, str_from(misses[_i].path), &got, &allow, &err),
        "%s was found", misses[_i].path);
    ck_assert_msg(err.kind == misses[_i].kind, "%s: %s", misses[_i].path, err.msg);
    ck_assert_msg(str_eq(allow, str_from(misses[_i].allow)), "%s", misses[_i].path);
    if (misses[_i].msg)
        ck_assert_str_eq(err.msg, misses[_i].msg);
    arena_free(&a);
}
END_TEST

START_TEST(test_op_find__a_plus_is_read_both_ways)
{
    struct arena *a = arena_new();
    struct err err = {0};
    struct route got;
    struct str allow;

    ck_assert(
        op_find(a, OP_GET, str_from("/v1/namespaces/a+b/tables/c%2Bd+e"), &got, &allow, &err));
    ck_assert(str_eq(got.args[0].value, str_from("a b")));
    ck_assert(str_eq(got.args[0].plus, str_from("a+b")));
    ck_assert(str_eq(got.args[1].value, str_from("c+d e")));
    ck_assert(str_eq(got.args[1].plus, str_from("c+d+e")));
    ck_assert(op_find(a, OP_GET, str_from("/v1/namespaces/a%20b"), &got, &allow, &err));
    ck_assert(str_eq(got.args[0].value, got.args[0].plus));
    arena_free(&a);
}
END_TEST

START_TEST(test_op_find__a_path_that_is_no_string_of_c)
{
    struct arena *a = arena_new();
    struct err err = {0};
    struct route got;
    struct str allow;
    char long_path[2000];

    ck_assert(!op_find(a, OP_GET, (struct str){"/v1/config\0", 11}, &got, &allow, &err));
    ck_assert(!op_find(a, OP_GET, (struct str){NULL, 0}, &got, &allow, &err));
    ck_assert(!op_find(a, OP_GET, (struct str){"/v1/namespaces/a\0", 17}, &got, &allow, &err));
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
    memset(long_path, 'x', sizeof(long_path));
    long_path[0] = '/';
    ck_assert(!op_find(a, OP_GET, (struct str){long_path, sizeof(long_path)}, &got, &allow, &err));
    ck_assert_uint_lt(strlen(err.msg), 160);
    memset(long_path, '/', sizeof(long_path));
    ck_assert(!op_find(a, OP_GET, (struct str){long_path, sizeof(long_path)}, &got, &allow, &err));
    arena_free(&a);
}
END_TEST

START_TEST(test_op_method_parse__the_four_and_no_other)
{
    enum op_method m;

    ck_assert(op_method_parse(str_from("GET"), &m) && m == OP_GET);
    ck_assert(op_method_parse(str_from("HEAD"), &m) && m == OP_HEAD);
    ck_assert(op_method_parse(str_from("POST"), &m) && m == OP_POST);
    ck_assert(op_method_parse(str_from("DELETE"), &m) && m == OP_DELETE);
    ck_assert(!op_method_parse(str_from("get"), &m) && m == OP_METHOD_COUNT);
    ck_assert(!op_method_parse(str_from("PUT"), &m));
    ck_assert(!op_method_parse(str_from(""), &m));
}
END_TEST

START_TEST(test_op_rows__agree_with_each_other)
{
    const struct op *op = &op_rows[_i];
    bool path_ended = false;

    ck_assert_uint_eq(op->id, (unsigned)_i);
    ck_assert_uint_le(op->n_params, OP_PARAMS_MAX);
    ck_assert_int_eq(op->success, op->success == 204 ? 204 : 200);
    if (op->lane == LANE_FAST)
        ck_assert(!op->mutates);
    for (unsigned i = 0; i < op->n_params; i++) {
        ck_assert(op->params[i].in != IN_PATH || !path_ended);
        path_ended = op->params[i].in != IN_PATH;
        ck_assert_int_eq(op->params[i].kind == PARAM_ENUM, op->params[i].values != NULL);
    }
}
END_TEST

START_TEST(test_op_rows__what_is_served_and_listed)
{
    unsigned served = 0, listed = 0;

    for (unsigned i = 0; i < OP_COUNT; i++) {
        served += op_rows[i].served;
        listed += op_rows[i].served && op_rows[i].endpoint;
    }
    ck_assert_uint_eq(served, 38);
    ck_assert_uint_eq(listed, 29);
    ck_assert_str_eq(
        op_rows[OP_LOAD_TABLE].endpoint, "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}");
    ck_assert_ptr_null(op_rows[OP_GET_CONFIG].endpoint);
    ck_assert_uint_eq(op_rows[OP_REPORT_METRICS].body_limit, 1 << 20);
    ck_assert_int_eq(op_rows[OP_UPDATE_TABLE].lookup, LOOKUP_TABLE);
    ck_assert_int_eq(op_rows[OP_UPDATE_TABLE].lane, LANE_SLOW);
    ck_assert_int_eq(op_rows[OP_DROP_TABLE].success, 204);
    ck_assert(strstr(op_description_of_catalog, "operationId: loadTable"));
    ck_assert_uint_eq(op_description_of_catalog_size, strlen(op_description_of_catalog));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openapi/route");
    TCase *cases = tcase_create("openapi/route");
    tcase_add_loop_test(cases, test_op_find__every_operation_and_odd_spellings, 0, ARRAY_LEN(hits));
    tcase_add_loop_test(cases, test_op_find__what_is_refused_and_how, 0, ARRAY_LEN(misses));
    tcase_add_test(cases, test_op_find__a_plus_is_read_both_ways);
    tcase_add_test(cases, test_op_find__a_path_that_is_no_string_of_c);
    tcase_add_test(cases, test_op_method_parse__the_four_and_no_other);
    tcase_add_loop_test(cases, test_op_rows__agree_with_each_other, 0, OP_COUNT);
    tcase_add_test(cases, test_op_rows__what_is_served_and_listed);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
