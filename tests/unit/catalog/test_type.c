#include "type.h"

#include <check.h>

#include "arena.h"
#include "base.h"
#include "json_tool.h"

static struct arena *arena;

static void begin(void)
{
    arena = arena_new();
}

static void end(void)
{
    arena_free(&arena);
}

static json_t *json(const char *text)
{
    return quoted(arena, text);
}

static const struct {
    const char *text, *canonical;
} spellings[] = {
    {"boolean",                            "boolean"                        },
    {"int",                                "int"                            },
    {"LONG",                               "long"                           },
    {"Float",                              "float"                          },
    {"double",                             "double"                         },
    {"date",                               "date"                           },
    {"time",                               "time"                           },
    {" timestamp ",                        "timestamp"                      },
    {"timestamptz",                        "timestamptz"                    },
    {"timestamp_ns",                       "timestamp_ns"                   },
    {"timestamptz_NS",                     "timestamptz_ns"                 },
    {"string",                             "string"                         },
    {"uuid",                               "uuid"                           },
    {"binary",                             "binary"                         },
    {"unknown",                            "unknown"                        },
    {"variant",                            "variant"                        },
    {"fixed[0]",                           "fixed[0]"                       },
    {"Fixed [ 16 ]",                       "fixed[16]"                      },
    {"fixed[2147483647]",                  "fixed[2147483647]"              },
    {"decimal(9,2)",                       "decimal(9, 2)"                  },
    {"DECIMAL ( 38 ,  38 )",               "decimal(38, 38)"                },
    {"decimal(1,0)",                       "decimal(1, 0)"                  },
    {"geometry",                           "geometry"                       },
    {"Geometry( EPSG:4326 )",              "geometry(EPSG:4326)"            },
    {"geography",                          "geography"                      },
    {"geography(OGC:CRS84)",               "geography(OGC:CRS84)"           },
    {"geography( OGC:CRS84 ,  Spherical)", "geography(OGC:CRS84, spherical)"},
};

START_TEST(test_type_parse__every_type_in_any_spelling)
{
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        struct type t;
        ck_assert_msg(type_parse(str_from(spellings[i].text), &t), "%s", spellings[i].text);
        struct str text = type_text(arena, &t);
        ck_assert_msg(str_eq(text, str_from(spellings[i].canonical)), "%s: %.*s", spellings[i].text,
            STR_ARG(text));
        struct type again;
        ck_assert(type_parse(text, &again));
        ck_assert(type_equal(&t, &again));
    }
}
END_TEST

START_TEST(test_type_parse__what_is_no_type)
{
    static const char *const bad[] = {"", " ", "integer", "varchar(10)", "int[4]", "long(3)",
        "fixed", "fixed[]", "fixed[-1]", "fixed[+1]", "fixed[2147483648]",
        "fixed[99999999999999999999]", "fixed[1", "fixed1]", "fixed[1]x", "fixed(16)", "decimal",
        "decimal()", "decimal(9)", "decimal(9,)", "decimal(,2)", "decimal(0,0)", "decimal(39,2)",
        "decimal(9,10)", "decimal(9,-1)", "decimal(9,2,1)", "decimal[9,2]", "geometry()",
        "geometry( )", "geography()", "geography(,spherical)", "geography(OGC:CRS84,)",
        "geography(OGC:CRS84, flat)", "struct", "list", "map", "(", ")", "[", "]", "()", "[]",
        "list<int>"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct type t;
        ck_assert_msg(!type_parse(str_from(bad[i]), &t), "%s", bad[i]);
    }
    struct type t;
    ck_assert(!type_parse((struct str){NULL, 0}, &t));
}
END_TEST

static bool equal(const char *a, const char *b)
{
    struct type x, y;
    ck_assert_msg(type_parse(str_from(a), &x), "%s", a);
    ck_assert_msg(type_parse(str_from(b), &y), "%s", b);
    return type_equal(&x, &y);
}

START_TEST(test_type_equal__spelling_and_defaults_do_not_matter)
{
    ck_assert(equal("decimal(9,2)", "decimal( 9 , 2)"));
    ck_assert(equal("decimal(9,2)", "DECIMAL(09, 02)"));
    ck_assert(!equal("decimal(9,2)", "decimal(9,3)"));
    ck_assert(!equal("decimal(9,2)", "decimal(10,2)"));
    ck_assert(equal("fixed[16]", "fixed[ 16]"));
    ck_assert(!equal("fixed[16]", "fixed[17]"));
    ck_assert(!equal("fixed[16]", "binary"));
    ck_assert(equal("geometry", "geometry(ogc:crs84)"));
    ck_assert(!equal("geometry", "geometry(EPSG:4326)"));
    ck_assert(!equal("geometry(EPSG:4326)", "geometry(epsg:4326)"));
    ck_assert(equal("geography", "geography(OGC:CRS84, SPHERICAL)"));
    ck_assert(!equal("geography", "geography(OGC:CRS84, karney)"));
    ck_assert(!equal("geometry", "geography"));
}
END_TEST

START_TEST(test_type_since__format_versions)
{
    for (int k = 0; k < TYPE_COUNT; k++) {
        bool third = k == TYPE_TIMESTAMP_NS || k == TYPE_TIMESTAMPTZ_NS || k == TYPE_UNKNOWN ||
                     k == TYPE_VARIANT || k == TYPE_GEOMETRY || k == TYPE_GEOGRAPHY;
        ck_assert_int_eq(type_since((enum type_kind)k), third ? 3 : 1);
    }
}
END_TEST

static void check_json_text(const char *type, const char *expected)
{
    struct str text = type_json_text(arena, json(type));
    ck_assert_msg(str_eq(text, str_from(expected)), "%s: %.*s", type, STR_ARG(text));
}

START_TEST(test_type_json_text__nested)
{
    check_json_text("'decimal(9,2)'", "decimal(9, 2)");
    check_json_text("'no such type'", "no such type");
    check_json_text(
        "{'type':'list','element-id':2,'element':'INT','element-required':true}", "list<int>");
    check_json_text("{'type':'map','key-id':2,'key':'string','value-id':3,'value':"
                    "{'type':'list','element':'long'}}",
        "map<string, list<long>>");
    check_json_text("{'type':'struct','fields':[{'id':1,'name':'a','required':true,'type':'int'},"
                    "{'id':2,'name':'b','type':'date'}]}",
        "struct<1: a: required int, 2: b: optional date>");
    check_json_text("{'type':'struct','fields':[]}", "struct<>");
}
END_TEST

START_TEST(test_type_json_text__shapes_that_are_no_type)
{
    check_json_text("null", "struct<>");
    check_json_text("17", "struct<>");
    check_json_text("[1]", "struct<>");
    check_json_text("{'type':5}", "struct<>");
    check_json_text("{'type':'list'}", "list<struct<>>");
    check_json_text("{'type':'map','key':null}", "map<struct<>, struct<>>");
    check_json_text("{'type':'struct','fields':[3,{'name':7}]}",
        "struct<0: : optional struct<>, 0: : optional struct<>>");
    struct str text = type_json_text(arena, NULL);
    ck_assert(str_eq(text, STR("struct<>")));
}
END_TEST

START_TEST(test_type_json_text__stays_short_and_quick)
{
    json_t *fields = json_array();
    for (int i = 0; i < 50000; i++)
        json_array_append_new(fields,
            json_pack("{s:i,s:s,s:s}", "id", i, "name", "a_column_of_some_length", "type", "int"));
    json_t *type = held(arena, json_pack("{s:s,s:o}", "type", "struct", "fields", fields));
    size_t before = arena_used(arena);
    struct str text = type_json_text(arena, type);
    ck_assert_uint_lt(text.n, 4096);
    ck_assert(str_starts(text, STR("struct<0: a_column_of_some_length: optional int, ")));
    ck_assert(str_ends(text, STR("...")));
    ck_assert_uint_lt(arena_used(arena) - before, 16384);
}
END_TEST

static const struct {
    const char *type, *value;
    bool fits;
} defaults[] = {
    {"boolean",         "true",                                   true },
    {"boolean",         "1",                                      false},
    {"boolean",         "'true'",                                 false},
    {"int",             "-2147483648",                            true },
    {"int",             "2147483648",                             false},
    {"int",             "1.0",                                    false},
    {"int",             "'1'",                                    false},
    {"long",            "9223372036854775807",                    true },
    {"float",           "1",                                      true },
    {"float",           "3.4e38",                                 true },
    {"float",           "-3.5e38",                                false},
    {"double",          "1.5e300",                                true },
    {"double",          "'1.5'",                                  false},
    {"decimal(9, 2)",   "'14.20'",                                true },
    {"decimal(9, 2)",   "'-14.20'",                               true },
    {"decimal(9, 2)",   "'.20'",                                  true },
    {"decimal(9, 2)",   "'14.2'",                                 false},
    {"decimal(9, 2)",   "'14'",                                   false},
    {"decimal(9, 2)",   "14.20",                                  false},
    {"decimal(9, 2)",   "'1.420e1'",                              true },
    {"decimal(9, 2)",   "'1,20'",                                 false},
    {"decimal(9, 2)",   "'.e-2'",                                 false},
    {"decimal(9, 2)",   "'12.20e'",                               false},
    {"decimal(20, 10)", "'0E-10'",                                true },
    {"decimal(9, 0)",   "'14'",                                   true },
    {"decimal(9, 0)",   "''",                                     false},
    {"decimal(9, 0)",   "'--1'",                                  false},
    {"decimal(9, 0)",   "'1e99999999999999999999'",               false},
    {"date",            "'2017-11-16'",                           true },
    {"date",            "'2024-02-29'",                           true },
    {"date",            "'-0044-03-15'",                          true },
    {"date",            "'+10000-01-01'",                         true },
    {"date",            "17486",                                  false},
    {"date",            "'yesterday..'",                          false},
    {"date",            "'2023-02-29'",                           false},
    {"date",            "'1900-02-29'",                           false},
    {"date",            "'2000-02-29'",                           true },
    {"date",            "'2024-13-01'",                           false},
    {"date",            "'2024-00-10'",                           false},
    {"date",            "'2024-04-31'",                           false},
    {"date",            "'2024-1-1'",                             false},
    {"date",            "'----------'",                           false},
    {"date",            "'+2024-01-01'",                          false},
    {"date",            "'10000-01-01'",                          false},
    {"date",            "'2024-01-01T00:00'",                     false},
    {"time",            "'22:31'",                                true },
    {"time",            "'22:31:08.123456'",                      true },
    {"time",            "'22:31:08.123456789'",                   true },
    {"time",            "'24:00:00'",                             false},
    {"time",            "'22:60:00'",                             false},
    {"time",            "'22:31:60'",                             false},
    {"time",            "'22:31:08.'",                            false},
    {"time",            "'22:31:08.1234567891'",                  false},
    {"time",            "'::::::'",                               false},
    {"timestamp",       "'2017-11-16T22:31:08.123456'",           true },
    {"timestamp",       "'2017-11-16T22:31'",                     true },
    {"timestamp",       "'2017-11-16 22:31:08'",                  false},
    {"timestamp",       "'2017-11-16T22:31:08Z'",                 false},
    {"timestamp",       "'2017-11-16T22:31:08+00:00'",            false},
    {"timestamp",       "'now'",                                  false},
    {"timestamp",       "'+300000-01-01T00:00'",                  false},
    {"timestamptz",     "'2017-11-16T22:31:08.123456+00:00'",     true },
    {"timestamptz",     "'2017-11-16T22:31:08Z'",                 true },
    {"timestamptz",     "'2017-11-16T22:31:08+01:00'",            false},
    {"timestamptz",     "'2017-11-16T22:31:08'",                  false},
    {"timestamp_ns",    "'2017-11-16T22:31:08.123456789'",        true },
    {"timestamp_ns",    "'1677-11-16T22:31:08'",                  false},
    {"timestamp_ns",    "'2262-11-16T22:31:08'",                  false},
    {"timestamptz_ns",  "'2017-11-16T22:31:08.123456789+00:00'",  true },
    {"timestamptz_ns",  "'2017-11-16T22:31:08.123456789'",        false},
    {"string",          "''",                                     true },
    {"string",          "7",                                      false},
    {"uuid",            "'f79c3e09-677c-4bbd-a479-3f349cb785e7'", true },
    {"uuid",            "'f79c3e09-677c-4bbd-a479-3f349cb785ez'", false},
    {"fixed[4]",        "'000102ff'",                             true },
    {"fixed[4]",        "'0001'",                                 false},
    {"fixed[4]",        "'000102fg'",                             false},
    {"binary",          "'00FF'",                                 true },
    {"binary",          "'00F'",                                  false},
    {"binary",          "5",                                      false},
    {"unknown",         "'x'",                                    false},
    {"variant",         "{}",                                     false},
    {"geometry",        "'POINT(1 2)'",                           false},
    {"geography",       "'POINT(1 2)'",                           false},
};

START_TEST(test_type_accepts_default__single_value_form)
{
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        struct type t;
        ck_assert(type_parse(str_from(defaults[i].type), &t));
        ck_assert_msg(type_accepts_default(&t, json(defaults[i].value)) == defaults[i].fits,
            "%s %s", defaults[i].type, defaults[i].value);
    }
}
END_TEST

static const struct {
    const char *text, *canonical; /* NULL: refused */
    enum transform_kind kind;
    int64_t width;
} transforms[] = {
    {"identity",                       "identity",             TRANSFORM_IDENTITY, 0         },
    {"YEAR",                           "year",                 TRANSFORM_YEAR,     0         },
    {"month",                          "month",                TRANSFORM_MONTH,    0         },
    {"Day",                            "day",                  TRANSFORM_DAY,      0         },
    {"hour",                           "hour",                 TRANSFORM_HOUR,     0         },
    {"void",                           "void",                 TRANSFORM_VOID,     0         },
    {"bucket[16]",                     "bucket[16]",           TRANSFORM_BUCKET,   16        },
    {"Bucket [ 016 ]",                 "bucket[16]",           TRANSFORM_BUCKET,   16        },
    {"truncate[2147483647]",           "truncate[2147483647]", TRANSFORM_TRUNCATE, 2147483647},
    {"bucket[0]",                      NULL,                   TRANSFORM_UNKNOWN,  0         },
    {"bucket[-1]",                     NULL,                   TRANSFORM_UNKNOWN,  0         },
    {"bucket[]",                       NULL,                   TRANSFORM_UNKNOWN,  0         },
    {"truncate[2147483648]",           NULL,                   TRANSFORM_UNKNOWN,  0         },
    {"truncate[99999999999999999999]", NULL,                   TRANSFORM_UNKNOWN,  0         },
    {"Zorder",                         "Zorder",               TRANSFORM_UNKNOWN,  0         },
    {"geohash[5]",                     "geohash[5]",           TRANSFORM_UNKNOWN,  0         },
    {"bucket",                         "bucket",               TRANSFORM_UNKNOWN,  0         },
    {"",                               "",                     TRANSFORM_UNKNOWN,  0         },
};

START_TEST(test_transform_parse__known_unknown_and_impossible)
{
    for (size_t i = 0; i < ARRAY_LEN(transforms); i++) {
        struct transform t;
        struct str text = str_from(transforms[i].text);
        bool ok = transform_parse(text, &t);
        ck_assert_msg(ok == (transforms[i].canonical != NULL), "%s", transforms[i].text);
        if (!ok)
            continue;
        ck_assert_int_eq(t.kind, transforms[i].kind);
        ck_assert_int_eq(t.width, transforms[i].width);
        struct str canonical = transform_text(arena, text);
        ck_assert_msg(str_eq(canonical, str_from(transforms[i].canonical)), "%s: %.*s",
            transforms[i].text, STR_ARG(canonical));
    }
}
END_TEST

START_TEST(test_transform_equal__known_ones_in_any_spelling)
{
    ck_assert(transform_equal(STR("Bucket[16]"), STR("bucket[16]")));
    ck_assert(!transform_equal(STR("bucket[16]"), STR("bucket[8]")));
    ck_assert(!transform_equal(STR("bucket[16]"), STR("truncate[16]")));
    ck_assert(transform_equal(STR("DAY"), STR("day")));
    ck_assert(!transform_equal(STR("day"), STR("zorder")));
    ck_assert(transform_equal(STR("zorder"), STR("zorder")));
    ck_assert(!transform_equal(STR("zorder"), STR("Zorder")));
    ck_assert(!transform_equal(STR("bucket[0]"), STR("bucket[00]")));
}
END_TEST

/* Sources of each transform (protocol A.3), in the order of the types. */
START_TEST(test_transform_takes__types)
{
    static const struct {
        const char *transform, *types;
    } rows[] = {
        {"identity",    "boolean int long float double date time timestamp timestamptz timestamp_ns "
                     "timestamptz_ns string uuid binary unknown fixed decimal"},
        {"bucket[4]",   "int long date time timestamp timestamptz timestamp_ns timestamptz_ns string "
                      "uuid binary fixed decimal"                            },
        {"truncate[4]", "int long string binary decimal"                                          },
        {"year",        "date timestamp timestamptz timestamp_ns timestamptz_ns"                  },
        {"month",       "date timestamp timestamptz timestamp_ns timestamptz_ns"                  },
        {"day",         "date timestamp timestamptz timestamp_ns timestamptz_ns"                  },
        {"hour",        "timestamp timestamptz timestamp_ns timestamptz_ns"                       },
    };
    static const char *const names[TYPE_COUNT] = {
#define X(kind, name, since) [TYPE_##kind] = name,
        TYPES(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct transform t;
        ck_assert(transform_parse(str_from(rows[i].transform), &t));
        for (int k = 0; k < TYPE_COUNT; k++) {
            bool listed = false;
            for (struct str rest = str_from(rows[i].types); rest.p;)
                listed = str_eq(str_cut(&rest, ' '), str_from(names[k])) || listed;
            ck_assert_msg(transform_takes(&t, (enum type_kind)k) == listed, "%s of %s",
                rows[i].transform, names[k]);
        }
    }
}
END_TEST

START_TEST(test_transform_takes__void_and_unknown_take_all)
{
    struct transform nothing, unknown;
    ck_assert(transform_parse(STR("void"), &nothing));
    ck_assert(transform_parse(STR("zorder"), &unknown));
    for (int k = 0; k < TYPE_COUNT; k++) {
        ck_assert(transform_takes(&nothing, (enum type_kind)k));
        ck_assert(transform_takes(&unknown, (enum type_kind)k));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/type");
    TCase *cases = tcase_create("catalog/type");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_type_parse__every_type_in_any_spelling);
    tcase_add_test(cases, test_type_parse__what_is_no_type);
    tcase_add_test(cases, test_type_equal__spelling_and_defaults_do_not_matter);
    tcase_add_test(cases, test_type_since__format_versions);
    tcase_add_test(cases, test_type_json_text__nested);
    tcase_add_test(cases, test_type_json_text__shapes_that_are_no_type);
    tcase_add_test(cases, test_type_json_text__stays_short_and_quick);
    tcase_add_test(cases, test_type_accepts_default__single_value_form);
    tcase_add_test(cases, test_transform_parse__known_unknown_and_impossible);
    tcase_add_test(cases, test_transform_equal__known_ones_in_any_spelling);
    tcase_add_test(cases, test_transform_takes__types);
    tcase_add_test(cases, test_transform_takes__void_and_unknown_take_all);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
