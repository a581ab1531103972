#include "op.h"

#include <check.h>
#include <jansson.h>

struct sample {
    enum op_id op;
    const char *json; /* ' stands for " */
    const char *msg;  /* NULL: accepted */
};

static bool run(enum op_id id, const char *text, struct err *err)
{
    char quoted[4096];
    size_t n = strlen(text);

    ck_assert_uint_lt(n, sizeof(quoted));
    for (size_t i = 0; i <= n; i++)
        quoted[i] = text[i] == '\'' ? '"' : text[i];
    json_t *json = json_loads(quoted, JSON_DECODE_ANY, NULL);
    ck_assert_msg(json != NULL, "no JSON: %s", quoted);
    *err = (struct err){0};
    bool ok = op_check_body(op_rows[id].body, json, err);
    json_decref(json);
    return ok;
}

static void check_sample(const struct sample *s)
{
    struct err err;
    bool ok = run(s->op, s->json, &err);

    ck_assert_msg(ok == (s->msg == NULL), "%s: %s", s->json, ok ? "accepted" : err.msg);
    if (ok)
        return;
    /* Words that stand in for ours have the kind of those they are taken from. */
    ck_assert_int_eq(err.kind, str_starts(str_from(s->msg), STR("Invalid table changes"))
                                   ? ERR_INVALID_ARGUMENT
                                   : ERR_BAD_REQUEST);
    ck_assert_str_eq(err.msg, s->msg);
}

static const struct sample simple[] = {
    {OP_CREATE_NAMESPACE,   "{'namespace':['a','b']}",                                                     NULL                                                                      },
    {OP_CREATE_NAMESPACE,   "{'namespace':[]}",                                                            NULL                                                                      },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a'],'properties':null,'new':{'x':[1.5]}}",                     NULL                                                                      },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a'],'properties':{'k':'v'}}",                                  NULL                                                                      },
    {OP_CREATE_NAMESPACE,   "[]",                                                                          "request body: expected an object, found an array"                        },
    {OP_CREATE_NAMESPACE,   "'x'",                                                                         "request body: expected an object, found a string"                        },
    {OP_CREATE_NAMESPACE,   "null",                                                                        "request body: expected an object, found null"                            },
    {OP_CREATE_NAMESPACE,   "{}",                                                                          "/namespace: required member is missing"                                  },
    {OP_CREATE_NAMESPACE,   "{'namespace':null}",                                                          "/namespace: expected an array, found null"                               },
    {OP_CREATE_NAMESPACE,   "{'namespace':'a'}",                                                           "/namespace: expected an array, found a string"                           },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a',1]}",
     "/namespace/1: expected a string, found an integer"                                                                                                                             },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a',null]}",
     "/namespace/1: expected a string, found null"                                                                                                                                   },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a'],'properties':{'a/b~c':1}}",
     "/properties/a~1b~0c: expected a string, found an integer"                                                                                                                      },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a'],'properties':{'a':null}}",
     "/properties/a: expected a string, found null"                                                                                                                                  },
    {OP_CREATE_NAMESPACE,   "{'namespace':['a'],'properties':['a']}",
     "/properties: expected an object, found an array"                                                                                                                               },
    {OP_UPDATE_PROPERTIES,  "{}",                                                                          NULL                                                                      },
    {OP_UPDATE_PROPERTIES,  "{'removals':null,'updates':null}",                                            NULL                                                                      },
    {OP_UPDATE_PROPERTIES,  "{'removals':['a'],'updates':{'b':'c'}}",                                      NULL                                                                      },
    {OP_UPDATE_PROPERTIES,  "{'removals':{'a':'b'}}",
     "/removals: expected an array, found an object"                                                                                                                                 },
    {OP_UPDATE_PROPERTIES,  "{'updates':{'b':true}}",                                                      "/updates/b: expected a string, found true"                               },
    {OP_CREATE_TABLE,       "{'name':'t','schema':{}}",                                                    NULL                                                                      },
    {OP_CREATE_TABLE,
     "{'name':'t','schema':{'fields':7},'location':null,'partition-spec':null,"
        "'write-order':null,'stage-create':null,'properties':null}",                                       NULL                                                                      },
    {OP_CREATE_TABLE,
     "{'name':'t','schema':{},'stage-create':false,"
        "'partition-spec':{'fields':[{'source-id':1,'transform':'identity','name':'x'}]},"
        "'write-order':{'fields':[{'source-id':1,'transform':'identity','direction':'ASC',"
        "'null-order':'nulls-first'}]}}",                                                                  NULL                                                                      },
    {OP_CREATE_TABLE,       "{'schema':{}}",                                                               "/name: required member is missing"                                       },
    {OP_CREATE_TABLE,       "{'name':1,'schema':{}}",                                                      "/name: expected a string, found an integer"                              },
    {OP_CREATE_TABLE,       "{'name':'t'}",                                                                "/schema: required member is missing"                                     },
    {OP_CREATE_TABLE,       "{'name':'t','schema':[]}",                                                    "/schema: expected an object, found an array"                             },
    {OP_CREATE_TABLE,       "{'name':'t','schema':{},'stage-create':'true'}",
     "/stage-create: expected true or false, found a string"                                                                                                                         },
    {OP_CREATE_TABLE,       "{'name':'t','schema':{},'partition-spec':{}}",
     "/partition-spec/fields: required member is missing"                                                                                                                            },
    {OP_CREATE_TABLE,       "{'name':'t','schema':{},'partition-spec':{'fields':[{'source-id':'1'}]}}",
     "/partition-spec/fields/0/source-id: expected an integer, found a string"                                                                                                       },
    {OP_CREATE_TABLE,
     "{'name':'t','schema':{},'write-order':{'fields':[{'source-id':1,'transform':'void',"
        "'direction':'up','null-order':'nulls-first'}]}}",                                                 "/write-order/fields/0/direction: expected one of asc, desc, found \"up\""},
    {OP_REGISTER_TABLE,     "{'name':'t','metadata-location':'s3://x'}",                                   NULL                                                                      },
    {OP_REGISTER_TABLE,     "{'name':'t'}",                                                                "/metadata-location: required member is missing"                          },
    {OP_REGISTER_TABLE,     "{'name':'t','metadata-location':'x','overwrite':0}",
     "/overwrite: expected true or false, found an integer"                                                                                                                          },
    {OP_RENAME_TABLE,       "{'source':{'namespace':['a'],'name':'t'},'destination':{'namespace':['a']}}",
     "/destination/name: required member is missing"                                                                                                                                 },
    {OP_REPORT_METRICS,     "{'report-type':'later-report'}",                                              NULL                                                                      },
    {OP_REPORT_METRICS,     "{}",                                                                          "/report-type: required member is missing"                                },
    {OP_REPORT_METRICS,     "{'report-type':'x','filter':1}",
     "/filter: expected an object or true or false, found an integer"                                                                                                                },
    {OP_PLAN_TABLE_SCAN,    "{'filter':{'type':'eq','term':'a','value':5},'select':['a']}",                NULL                                                                      },
    {OP_COMMIT_TRANSACTION, "{'table-changes':[{'updates':[]}]}",
     "Invalid table changes: table identifier is required"                                                                                                                           },
};

START_TEST(test_op_check_body__members_types_and_null)
{
    check_sample(&simple[_i]);
}
END_TEST

#define SCAN(metric)                                                                               \
    "{'report-type':'scan-report','table-name':'t','snapshot-id':1,'filter':true,'schema-id':0,"   \
    "'projected-field-ids':[],'projected-field-names':[],'metrics':{'x':" metric "}}"

static void check_report(const char *json, const char *message)
{
    const struct sample s = {OP_REPORT_METRICS, json, message};
    check_sample(&s);
}

START_TEST(test_op_check_body__reports)
{
    check_report(SCAN("{'unit':'count','value':1,'new':null}"), NULL);
    check_report(SCAN("{'time-unit':'s','count':1,'total-duration':1,'unit':1}"), NULL);
    check_report(SCAN("3"), "/metrics/x: expected an object, found an integer");
    check_report(SCAN("{}"), "/metrics/x/unit: required member is missing");
    check_report(SCAN("{'value':1}"), "/metrics/x/unit: required member is missing");
    check_report(SCAN("{'count':1}"), "/metrics/x/time-unit: required member is missing");
    check_report("{'report-type':'SCAN-report','table-name':'t'}",
        "/snapshot-id: required member is missing");
    check_report("{'report-type':'commit-report','table-name':'t','snapshot-id':1}",
        "/sequence-number: required member is missing");
    check_report("{'report-type':'later-report','metrics':{'x':3}}", NULL);
}
END_TEST

static const struct sample commits[] = {
    {OP_UPDATE_TABLE, "{}",                                                                          NULL                                                                      },
    {OP_UPDATE_TABLE, "{'requirements':null,'updates':null,'identifier':null}",                      NULL                                                                      },
    {OP_UPDATE_TABLE, "{'identifier':{'namespace':['a'],'name':'t'},'requirements':[]}",             NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':{}}",                                                              "/updates: expected an array, found an object"                            },
    {OP_UPDATE_TABLE, "{'updates':['x']}",                                                           "/updates/0: expected an object, found a string"                          },
    {OP_UPDATE_TABLE, "{'updates':[{}]}",
     "Cannot parse metadata update. Missing field: action (/updates/0)"                                                                                                        },
    {OP_UPDATE_TABLE, "{'updates':[{'action':null}]}",
     "Cannot parse metadata update. Missing field: action (/updates/0)"                                                                                                        },
    {OP_UPDATE_TABLE, "{'updates':[{'action':5}]}",
     "/updates/0/action: expected a string, found an integer"                                                                                                                  },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-location','location':'x'},{'action':'x'}]}",
     "Cannot convert metadata update action to json: x (/updates/1/action)"                                                                                                    },
    {OP_UPDATE_TABLE, "{'requirements':[{'type':'x'}]}",
     "Unrecognized update requirement. Cannot convert to json: x (/requirements/0/type)"                                                                                       },
    {OP_UPDATE_TABLE, "{'requirements':[{'uuid':'x'}]}",
     "Cannot parse update requirement. Missing field: type (/requirements/0)"                                                                                                  },
    {OP_UPDATE_TABLE,
     "{'requirements':[{'type':'ASSERT-Create'},{'type':'assert-view-uuid',"
        "'uuid':'x'}]}",                                                                             NULL                                                                      },
    {OP_UPDATE_TABLE,
     "{'requirements':[{'type':'assert-ref-snapshot-id','ref':'main'},"
        "{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':null},"
        "{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':-1}]}",                         NULL                                                                      },
    {OP_UPDATE_TABLE,
     "{'requirements':[{'type':'assert-ref-snapshot-id','ref':'main','snapshot-id':'5'}]}",          "/requirements/0/snapshot-id: expected an integer or null, found a string"},
    {OP_UPDATE_TABLE, "{'requirements':[{'type':'assert-table-uuid'}]}",
     "/requirements/0/uuid: required member is missing"                                                                                                                        },
    {OP_UPDATE_TABLE, "{'requirements':[{'type':'assert-default-spec-id','default-spec-id':true}]}",
     "/requirements/0/default-spec-id: expected an integer, found true"                                                                                                        },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-current-schema','schema-id':-1}]}",                NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-current-schema','schema-id':1.0}]}",
     "/updates/0/schema-id: expected an integer, found a number with a fraction"                                                                                               },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-current-schema','schema-id':'1'}]}",
     "/updates/0/schema-id: expected an integer, found a string"                                                                                                               },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-current-schema','schema-id':2147483648}]}",
     "/updates/0/schema-id: expected an integer of 32 bits, found 2147483648"                                                                                                  },
    {OP_UPDATE_TABLE,
     "{'updates':[{'action':'remove-snapshots','snapshot-ids':[-9223372036854775808,"
        "9223372036854775807]}]}",                                                                   NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'remove-snapshots','snapshot-ids':[1,null]}]}",
     "/updates/0/snapshot-ids/1: expected an integer, found null"                                                                                                              },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'ADD-SCHEMA','schema':{},'last-column-id':null}]}",
     NULL                                                                                                                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'add-spec','spec':{'fields':[]}}]}",                    NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'add-spec','spec':{'spec-id':'0','fields':[]}}]}",
     "/updates/0/spec/spec-id: expected an integer, found a string"                                                                                                            },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'add-sort-order','sort-order':{'fields':[]}}]}",        NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties','updates':{'a':'b'}}]}",               NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties','updated':{'a':'b'}}]}",               NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties','updates':null,'updated':{}}]}",
     NULL                                                                                                                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties','updates':{},'updated':7}]}",          NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties'}]}",
     "/updates/0/updates: required member is missing"                                                                                                                          },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties','updated':{'a':1}}]}",
     "/updates/0/updated/a: expected a string, found an integer"                                                                                                               },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-properties','updates':{'a':null}}]}",
     "/updates/0/updates/a: expected a string, found null"                                                                                                                     },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'remove-properties','removals':['a']}]}",               NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'remove-properties','removed':['a']}]}",                NULL                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'remove-properties','removed':'a'}]}",
     "/updates/0/removed: expected an array, found a string"                                                                                                                   },
    {OP_UPDATE_TABLE,
     "{'updates':[{'action':'set-snapshot-ref','ref-name':'main','type':'BRANCH',"
        "'snapshot-id':1,'max-ref-age-ms':null}]}",                                                  NULL                                                                      },
    {OP_UPDATE_TABLE,
     "{'updates':[{'action':'set-snapshot-ref','ref-name':'m','type':'twig','snapshot-id':1}]}",     "/updates/0/type: expected one of branch, tag, found \"twig\""            },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'set-snapshot-ref','ref-name':'m','type':'tag'}]}",
     "/updates/0/snapshot-id: required member is missing"                                                                                                                      },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'add-view-version','view-version':{}}]}",
     "/updates/0/view-version/version-id: required member is missing"                                                                                                          },
};

START_TEST(test_op_check_body__commits)
{
    check_sample(&commits[_i]);
}
END_TEST

#define SNAPSHOT(more)                                                                             \
    "{'updates':[{'action':'add-snapshot','snapshot':{'snapshot-id':4598765432109876543,"          \
    "'timestamp-ms':1" more "}}]}"

static const struct sample snapshots[] = {
    {OP_UPDATE_TABLE, SNAPSHOT(",'manifest-list':'x','summary':{'operation':'append'}"),        NULL},
    {OP_UPDATE_TABLE,
     SNAPSHOT(",'manifest-list':'x','summary':{'operation':'delete'},'parent-snapshot-id':null,"
                 "'key-id':null"),
     NULL                                                                                           },
    {OP_UPDATE_TABLE, SNAPSHOT(",'manifest-list':'x','summary':{}"),
     "/updates/0/snapshot/summary/operation: required member is missing"                            },
    {OP_UPDATE_TABLE, SNAPSHOT(",'manifest-list':'x','summary':{'operation':'merge'}"),
     "/updates/0/snapshot/summary/operation: expected one of append, replace, overwrite, "
        "delete, "
        "found \"merge\""                                                                           },
    {OP_UPDATE_TABLE, SNAPSHOT(",'manifest-list':'x'"),
     "/updates/0/snapshot/summary: required member is missing"                                      },
    {OP_UPDATE_TABLE, SNAPSHOT(",'summary':{'operation':'append'}"),
     "/updates/0/snapshot/manifest-list: required member is missing"                                },
    {OP_UPDATE_TABLE,
     SNAPSHOT(",'manifest-list':'x','summary':{'operation':'append','added-records':3}"),
     "/updates/0/snapshot/summary/added-records: expected a string, found an integer"               },
    {OP_UPDATE_TABLE,
     SNAPSHOT(",'manifest-list':'x','summary':{'operation':'append'},"
                 "'parent-snapshot-id':1.5"),
     "/updates/0/snapshot/parent-snapshot-id: expected an integer, found a number with a "
        "fraction"                                                                                  },
    {OP_UPDATE_TABLE, "{'updates':[{'action':'add-snapshot','snapshot':{'snapshot-id':1e3}}]}",
     "/updates/0/snapshot/snapshot-id: expected an integer, found a number with a fraction"         },
};

START_TEST(test_op_check_body__snapshots)
{
    check_sample(&snapshots[_i]);
}
END_TEST

START_TEST(test_op_check_body__no_document)
{
    struct err err = {0};

    ck_assert(!op_check_body(op_rows[OP_CREATE_TABLE].body, NULL, &err));
    ck_assert_str_eq(err.msg, "request body: expected a JSON document, found none");
}
END_TEST

START_TEST(test_op_check_body__long_texts_of_clients_are_cut)
{
    struct err err;
    char json[2000], name[1500];

    memset(name, 'x', sizeof(name));
    snprintf(json, sizeof(json), "{'updates':[{'action':'%.1400s'}]}", name);
    ck_assert(!run(OP_UPDATE_TABLE, json, &err));
    ck_assert_uint_lt(strlen(err.msg), 250);
    snprintf(json, sizeof(json), "{'updates':{'%.1400s':1}}", name);
    ck_assert(!run(OP_UPDATE_PROPERTIES, json, &err));
    ck_assert_uint_lt(strlen(err.msg), 250);
    ck_assert_ptr_nonnull(strstr(err.msg, "...: expected a string, found an integer"));
}
END_TEST

START_TEST(test_op_rows__which_bodies_are_described)
{
    for (unsigned i = 0; i < OP_COUNT; i++) {
        const struct op *op = &op_rows[i];
        ck_assert_msg(!op->body || op->method == OP_POST, "%s", op->name);
        bool bodiless = i == OP_UNREGISTER_TABLE || i == OP_CHECK_WAREHOUSE;
        ck_assert_msg(
            !op->served || op->method != OP_POST || bodiless || (op->body && op->body_required),
            "%s", op->name);
    }
    ck_assert_ptr_null(op_rows[OP_UNREGISTER_TABLE].body);
    ck_assert_ptr_null(op_rows[OP_GET_TOKEN].body);
    ck_assert(op_rows[OP_GET_TOKEN].body_required);
    ck_assert(!op_rows[OP_PLAN_TABLE_SCAN].body_required);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openapi/body");
    TCase *cases = tcase_create("openapi/body");
    tcase_add_loop_test(cases, test_op_check_body__members_types_and_null, 0, ARRAY_LEN(simple));
    tcase_add_test(cases, test_op_check_body__reports);
    tcase_add_loop_test(cases, test_op_check_body__commits, 0, ARRAY_LEN(commits));
    tcase_add_loop_test(cases, test_op_check_body__snapshots, 0, ARRAY_LEN(snapshots));
    tcase_add_test(cases, test_op_check_body__no_document);
    tcase_add_test(cases, test_op_check_body__long_texts_of_clients_are_cut);
    tcase_add_test(cases, test_op_rows__which_bodies_are_described);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
