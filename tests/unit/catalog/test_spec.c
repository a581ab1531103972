#include <check.h>

#include "arena.h"
#include "base.h"
#include "json_tool.h"
#include "schema.h"

static struct arena *arena;
static struct schema *schema;

static void begin(void)
{
    struct err err = {.kind = ERR_NONE};
    arena = arena_new();
    json_t *tree =
        quoted(arena, "{'type':'struct','fields':["
                      "{'id':1,'name':'id','required':true,'type':'long'},"
                      "{'id':2,'name':'data','required':false,'type':'string'},"
                      "{'id':3,'name':'ts','required':false,'type':'timestamptz'},"
                      "{'id':4,'name':'s','required':true,'type':{'type':'struct','fields':["
                      "  {'id':5,'name':'day','required':false,'type':'date'}]}},"
                      "{'id':6,'name':'l','required':false,'type':{'type':'list','element-id':7,"
                      "  'element':'int','element-required':true}},"
                      "{'id':8,'name':'v','required':false,'type':'variant'},"
                      "{'id':9,'name':'d','required':false,'type':'double'}]}");
    ck_assert_msg(schema_read(arena, tree, (struct str){0}, &schema, &err), "%s", err.msg);
}

static void end(void)
{
    arena_free(&arena);
}

static json_t *spec_of(const char *fields)
{
    return quotedf(arena, "{'spec-id':3,'fields':[%s]}", fields);
}

static void check_spec(const json_t *spec, enum err_kind kind, const char *message)
{
    struct err err = {.kind = ERR_NONE};
    bool ok = spec_check(arena, schema, spec, (struct str){0}, &err);
    ck_assert_msg(ok == !message, "%s", ok ? message : err.msg);
    if (ok)
        return;
    ck_assert_str_eq(err.msg, message);
    ck_assert_str_eq(err_name(err.kind), err_name(kind));
}

#define FIELD(name, transform, source)                                                             \
    "{'name':" name ",'transform':" transform ",'source-id':" source "}"

/* The name of a column, because it is the source; a void transform whose column was dropped. */
static const char *const good_specs[] = {
    "",
    FIELD("'id'", "'identity'", "1"),
    FIELD("'id'", "'bucket[16]'", "1"),
    FIELD("'id'", "'Bucket[16]'", "1") "," FIELD("'id_2'", "'truncate[10]'", "1"),
    FIELD("'ts_hour'", "'HOUR'", "3") "," FIELD("'ts_day'", "'day'", "3"),
    FIELD("'s.day'", "'identity'", "5") "," FIELD("'y'", "'year'", "5"),
    FIELD("'gone'", "'void'", "77"),
    FIELD("'data'", "'void'", "77"),
    FIELD("'l'", "'void'", "6"),
    FIELD("'z'", "'zorder'", "2"),
    "{'name':'x','transform':'bucket[4]','source-ids':[1]}",
    "{'name':'x','transform':'bucket[4]','source-ids':[1,2],'field-id':1000}",
    "{'name':'x','transform':'zorder','source-ids':[1,2,5],'source-id':null}",
    "{'name':'x','transform':'identity','source-id':1,'source-ids':null,'field-id':null}",
    "{'name':'x','transform':'identity','source-id':1,'field-id':2147483647}",
};

START_TEST(test_spec_check__good_ones)
{
    for (size_t i = 0; i < ARRAY_LEN(good_specs); i++)
        check_spec(spec_of(good_specs[i]), ERR_NONE, NULL);
}
END_TEST

static void malformed_spec(const char *fields, const char *message)
{
    struct str full = arena_printf(arena, "Invalid partition spec: %s", message);
    check_spec(spec_of(fields), ERR_BAD_REQUEST, full.p);
}

START_TEST(test_spec_check__malformed)
{
    malformed_spec("null", "field 0 is not an object");
    malformed_spec("[]", "field 0 is not an object");
    malformed_spec("{}", "field 0 has no transform");
    malformed_spec(FIELD("'a'", "null", "1"), "field 0 has no transform");
    malformed_spec(FIELD("'a'", "['identity']", "1"), "field 0 has no transform");
    malformed_spec(FIELD("'id'", "'identity'", "1") ",{'name':'a','transform':'identity'}",
        "field 1 has no source-id");
    malformed_spec(FIELD("'a'", "'identity'", "null"), "field 0 has no source-id");
    malformed_spec(
        "{'name':'a','transform':'identity','source-ids':[]}", "field 0 has no source-id");
    malformed_spec("{'name':'a','transform':'identity','source-ids':1}",
        "source-ids of field 0 must be a list");
    malformed_spec("{'name':'a','transform':'identity','source-ids':[1,'2']}",
        "the source of field 0 must be the id of a column, an integer");
    malformed_spec(FIELD("'a'", "'identity'", "'1'"),
        "the source of field 0 must be the id of a column, an integer");
    malformed_spec(FIELD("'a'", "'identity'", "1.0"),
        "the source of field 0 must be the id of a column, an integer");
    malformed_spec(FIELD("'a'", "'identity'", "-1"),
        "the source of field 0 must be the id of a column, an integer");
    malformed_spec(FIELD("'a'", "'identity'", "4294967297"),
        "the source of field 0 must be the id of a column, an integer");
    malformed_spec(FIELD("null", "'identity'", "1"), "field 0 has no name");
    malformed_spec(FIELD("7", "'identity'", "1"), "field 0 has no name");
    malformed_spec("{'name':'a','transform':'identity','source-id':1,'field-id':'1000'}",
        "the field-id of a must be an integer from 0 to 2147483647");
    malformed_spec("{'name':'a','transform':'identity','source-id':1,'field-id':2147483648}",
        "the field-id of a must be an integer from 0 to 2147483647");
    malformed_spec("{'name':'a','transform':'identity','source-id':1,'field-id':-1000}",
        "the field-id of a must be an integer from 0 to 2147483647");
    static const char *const no_list[] = {"null", "[]", "{}", "{'fields':null}", "{'fields':{}}"};
    for (size_t i = 0; i < ARRAY_LEN(no_list); i++)
        check_spec(quoted(arena, no_list[i]), ERR_BAD_REQUEST,
            "Invalid partition spec: it has no list of fields");
}
END_TEST

static void bad_spec(const char *fields, enum err_kind kind, const char *message)
{
    check_spec(spec_of(fields), kind, message);
}

START_TEST(test_spec_check__what_the_schema_does_not_allow)
{
    bad_spec(FIELD("'data'", "'identity'", "1"), ERR_INVALID_ARGUMENT,
        "Cannot create identity partition sourced from different field in schema: data");
    bad_spec(FIELD("'data'", "'void'", "1"), ERR_INVALID_ARGUMENT,
        "Cannot create identity partition sourced from different field in schema: data");
    bad_spec(
        FIELD("''", "'identity'", "1"), ERR_INVALID_ARGUMENT, "Cannot use empty partition name: ");
    bad_spec(FIELD("'x'", "'day'", "3") "," FIELD("'id'", "'identity'", "1") "," FIELD(
                 "'x'", "'hour'", "3"),
        ERR_INVALID_ARGUMENT, "Cannot use partition name more than once: x");
    bad_spec("{'name':'x','transform':'day','source-id':3,'field-id':1001},"
             "{'name':'y','transform':'hour','source-id':3,'field-id':1001}",
        ERR_INVALID_ARGUMENT, "Cannot use partition field id more than once: 1001");
    bad_spec(FIELD("'x'", "'bucket[0]'", "1"), ERR_INVALID_ARGUMENT,
        "Invalid partition spec: the width of bucket[0] must be an integer above 0");
    bad_spec(FIELD("'x'", "'identity'", "99"), ERR_VALIDATION,
        "Cannot find source column for partition field: 1000: x: identity(99)");
    bad_spec("{'name':'x','transform':'zorder','source-ids':[1,99],'field-id':1007}",
        ERR_VALIDATION, "Cannot find source column for partition field: 1007: x: zorder(1)");
    bad_spec(FIELD("'x'", "'identity'", "4"), ERR_VALIDATION,
        "Cannot partition by non-primitive source field: struct<5: day: optional date>");
    bad_spec(FIELD("'x'", "'identity'", "6"), ERR_VALIDATION,
        "Cannot partition by non-primitive source field: list<int>");
    bad_spec(FIELD("'x'", "'identity'", "8"), ERR_VALIDATION,
        "Cannot partition by non-primitive source field: variant");
    bad_spec(FIELD("'x'", "'hour'", "2"), ERR_VALIDATION,
        "Invalid source type string for transform: hour");
    bad_spec(FIELD("'x'", "'bucket[4]'", "9"), ERR_VALIDATION,
        "Invalid source type double for transform: bucket[4]");
    bad_spec("{'name':'x','transform':'bucket[4]','source-ids':[1,9]}", ERR_VALIDATION,
        "Invalid source type double for transform: bucket[4]");
    bad_spec(FIELD("'x'", "'identity'", "7"), ERR_VALIDATION,
        "Invalid partition field parent: list<int>");
}
END_TEST

START_TEST(test_spec_check_columns__names_alone)
{
    struct err err = {.kind = ERR_NONE};
    for (size_t i = 0; i < ARRAY_LEN(good_specs); i++)
        ck_assert(spec_check_columns(schema, spec_of(good_specs[i]), &err));
    ck_assert(spec_check_columns(schema, spec_of(FIELD("'x'", "'day'", "4") ",{},7"), &err));
    ck_assert(!spec_check_columns(schema, spec_of(FIELD("'data'", "'day'", "1")), &err));
    ck_assert_str_eq(
        err.msg, "Cannot create identity partition sourced from different field in schema: data");
}
END_TEST

/* Names come before sources, whatever the order of the fields. */
START_TEST(test_spec_check__names_first)
{
    check_spec(spec_of(FIELD("'x'", "'identity'", "99") "," FIELD("''", "'identity'", "1")),
        ERR_INVALID_ARGUMENT, "Cannot use empty partition name: ");
}
END_TEST

START_TEST(test_spec_check__many_fields)
{
    json_t *fields = json_array();
    for (int i = 0; i < 20000; i++) {
        struct str name = arena_printf(arena, "part_%d", i);
        json_array_append_new(fields, json_pack("{s:s,s:s,s:i,s:i}", "name", name.p, "transform",
                                          "identity", "source-id", 1, "field-id", 1000 + i));
    }
    json_t *spec = held(arena, json_pack("{s:o}", "fields", fields));
    check_spec(spec, ERR_NONE, NULL);
    json_object_set_new(json_array_get(fields, 19999), "name", json_string("part_4"));
    check_spec(spec, ERR_INVALID_ARGUMENT, "Cannot use partition name more than once: part_4");
}
END_TEST

static void check_version(const char *fields, int64_t version, const char *message)
{
    struct err err = {.kind = ERR_NONE};
    bool ok = spec_check_version(spec_of(fields), version, STR("/at"), &err);
    ck_assert_msg(ok == !message, "%s", ok ? message : err.msg);
    ck_assert(ok || err.kind == ERR_VALIDATION);
    if (message)
        ck_assert_str_eq(err.msg, message);
}

START_TEST(test_spec_check_version__several_columns)
{
    static const char several[] =
        FIELD("'a'", "'void'", "1") ",{'name':'p','transform':'bucket[4]','source-ids':[1,2]}";
    check_version(FIELD("'p'", "'bucket[4]'", "1"), 1, NULL);
    check_version("{'name':'p','transform':'bucket[4]','source-ids':[1]}", 1, NULL);
    check_version(several, 3, NULL);
    check_version(several, 2,
        "Invalid partition field p: transforms of several columns need format version 3, the "
        "table has 2 (/at/fields/1/source-ids)");
}
END_TEST

static json_t *order_of(const char *id, const char *fields)
{
    return quotedf(arena, "{'order-id':%s,'fields':[%s]}", id, fields);
}

static void check_order(const json_t *order, enum err_kind kind, const char *message)
{
    struct err err = {.kind = ERR_NONE};
    bool ok = order_check(arena, schema, order, (struct str){0}, &err);
    ck_assert_msg(ok == !message, "%s", ok ? message : err.msg);
    if (ok)
        return;
    ck_assert_str_eq(err.msg, message);
    ck_assert_str_eq(err_name(err.kind), err_name(kind));
}

#define SORT(transform, source, direction, nulls)                                                  \
    "{'transform':" transform ",'source-id':" source ",'direction':" direction                     \
    ",'null-order':" nulls "}"

START_TEST(test_order_check__good_ones)
{
    check_order(order_of("0", ""), ERR_NONE, NULL);
    check_order(order_of("null", ""), ERR_NONE, NULL);
    check_order(quoted(arena, "{'fields':[]}"), ERR_NONE, NULL);
    check_order(order_of("1", SORT("'identity'", "1", "'asc'", "'nulls-first'")), ERR_NONE, NULL);
    check_order(order_of("7", SORT("'Bucket[4]'", "7", "'DESC'", "'Nulls-Last'")), ERR_NONE, NULL);
    check_order(order_of("1", "{'transform':'day','source-id':5}"), ERR_NONE, NULL);
    check_order(order_of("1", "{'transform':'zorder','source-ids':[1,2],'direction':'asc'}"),
        ERR_NONE, NULL);
}
END_TEST

static void malformed_order(const char *fields, const char *message)
{
    struct str full = arena_printf(arena, "Invalid sort order: %s", message);
    check_order(order_of("1", fields), ERR_BAD_REQUEST, full.p);
}

START_TEST(test_order_check__malformed)
{
    malformed_order("3", "field 0 is not an object");
    malformed_order("{'source-id':1}", "field 0 has no transform");
    malformed_order("{'transform':'identity'}", "field 0 has no source-id");
    malformed_order(
        "{'transform':'identity','source-id':'1','direction':'asc','null-order':'nulls-first'}",
        "the source of field 0 must be the id of a column, an integer");
    malformed_order(
        "{'transform':'identity','source-id':1,'direction':'up','null-order':'nulls-first'}",
        "the direction of field 0 must be asc or desc");
    malformed_order(
        "{'transform':'identity','source-id':1,'direction':1,'null-order':'nulls-first'}",
        "the direction of field 0 must be asc or desc");
    malformed_order("{'transform':'identity','source-id':1,'direction':'asc','null-order':'first'}",
        "the null-order of field 0 must be nulls-first or nulls-last");
    malformed_order("{'transform':'identity','source-id':1,'direction':'asc','null-order':{}}",
        "the null-order of field 0 must be nulls-first or nulls-last");
    check_order(quoted(arena, "{'order-id':0}"), ERR_BAD_REQUEST,
        "Invalid sort order: it has no list of fields");
    check_order(order_of("'0'", ""), ERR_BAD_REQUEST,
        "Invalid sort order: its order-id must be an integer");
}
END_TEST

START_TEST(test_order_check__order_id_zero_means_unsorted)
{
    check_order(order_of("0", SORT("'identity'", "1", "'asc'", "'nulls-first'")),
        ERR_INVALID_ARGUMENT, "Sort order ID 0 is reserved for unsorted order");
    check_order(order_of("1", ""), ERR_INVALID_ARGUMENT, "Unsorted order ID must be 0");
}
END_TEST

START_TEST(test_order_check__what_the_schema_does_not_allow)
{
    check_order(order_of("1", SORT("'identity'", "99", "'asc'", "'nulls-last'")), ERR_VALIDATION,
        "Cannot find source column for sort field: identity(99) ASC NULLS LAST");
    check_order(order_of("1", "{'transform':'day','source-id':98,'direction':'desc'}"),
        ERR_VALIDATION, "Cannot find source column for sort field: day(98) DESC NULLS LAST");
    check_order(order_of("1", SORT("'identity'", "6", "'asc'", "'nulls-last'")), ERR_VALIDATION,
        "Cannot sort by non-primitive source field: list<int>");
    check_order(order_of("1", SORT("'hour'", "2", "'asc'", "'nulls-last'")), ERR_VALIDATION,
        "Invalid source type string for transform: hour");
    check_order(order_of("1", SORT("'truncate[-2]'", "2", "'asc'", "'nulls-last'")),
        ERR_INVALID_ARGUMENT,
        "Invalid sort order: the width of truncate[-2] must be an integer above 0");
}
END_TEST

static bool same_specs(const char *a, const char *b)
{
    bool forth = spec_equal(spec_of(a), spec_of(b));
    ck_assert(spec_equal(spec_of(b), spec_of(a)) == forth);
    return forth;
}

START_TEST(test_spec_equal__source_transform_and_name_in_order)
{
    static const char one[] = FIELD("'x'", "'bucket[16]'", "1");
    ck_assert(same_specs("", ""));
    ck_assert(same_specs(one, one));
    ck_assert(
        same_specs(one, "{'field-id':1009,'name':'x','transform':'BUCKET[16]','source-id':1}"));
    ck_assert(same_specs(one, "{'name':'x','transform':'bucket[16]','source-ids':[1]}"));
    ck_assert(!same_specs(one, ""));
    ck_assert(!same_specs(one, FIELD("'y'", "'bucket[16]'", "1")));
    ck_assert(!same_specs(one, FIELD("'x'", "'bucket[8]'", "1")));
    ck_assert(!same_specs(one, FIELD("'x'", "'bucket[16]'", "2")));
    ck_assert(!same_specs(one, "{'name':'x','transform':'bucket[16]','source-ids':[1,2]}"));
    ck_assert(!same_specs("{'name':'x','transform':'z','source-ids':[2,1]}",
        "{'name':'x','transform':'z','source-ids':[1,2]}"));
    ck_assert(!same_specs(FIELD("'x'", "'day'", "3") "," FIELD("'id'", "'identity'", "1"),
        FIELD("'id'", "'identity'", "1") "," FIELD("'x'", "'day'", "3")));
    ck_assert(!same_specs(FIELD("'x'", "'zorder'", "1"), FIELD("'x'", "'ZORDER'", "1")));
}
END_TEST

START_TEST(test_spec_equal__trees_of_damaged_files)
{
    static const char *const damaged[] = {"null", "7", "{}", "{'fields':{}}", "{'fields':[null]}",
        "{'fields':[{'transform':5}]}", "{'fields':[{'source-ids':5}]}"};
    json_t *sound = spec_of(FIELD("'x'", "'day'", "3"));
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        json_t *tree = quoted(arena, damaged[i]);
        ck_assert(!spec_equal(tree, sound));
        ck_assert(!spec_equal(sound, tree));
        ck_assert(!order_equal(tree, sound));
        ck_assert(!order_equal(sound, tree));
        ck_assert_int_le(spec_highest_field_id(tree), 999);
    }
}
END_TEST

static bool same_orders(const char *a, const char *b)
{
    bool forth = order_equal(order_of("1", a), order_of("2", b));
    ck_assert(order_equal(order_of("1", b), order_of("1", a)) == forth);
    return forth;
}

START_TEST(test_order_equal__source_transform_direction_and_nulls)
{
    static const char one[] = SORT("'day'", "3", "'asc'", "'nulls-first'");
    ck_assert(same_orders(one, SORT("'DAY'", "3", "'ASC'", "'NULLS-FIRST'")));
    ck_assert(same_orders(one, "{'transform':'day','source-id':3}"));
    ck_assert(!same_orders(one, SORT("'hour'", "3", "'asc'", "'nulls-first'")));
    ck_assert(!same_orders(one, SORT("'day'", "5", "'asc'", "'nulls-first'")));
    ck_assert(!same_orders(one, SORT("'day'", "3", "'desc'", "'nulls-first'")));
    ck_assert(!same_orders(one, SORT("'day'", "3", "'asc'", "'nulls-last'")));
    ck_assert(!same_orders(one, ""));
    ck_assert(same_orders("{'transform':'day','source-id':3,'direction':'desc'}",
        SORT("'day'", "3", "'desc'", "'nulls-last'")));
}
END_TEST

static json_t *canonical_spec(const char *fields, int64_t id, int64_t first)
{
    json_t *out = NULL;
    struct err err = {.kind = ERR_NONE};
    ck_assert_msg(spec_canonical(spec_of(fields), id, first, &out, &err), "%s", err.msg);
    return held(arena, out);
}

START_TEST(test_spec_canonical__field_ids_as_sent_or_counted)
{
    check_json(arena,
        canonical_spec("{'field-id':null,'name':'x','transform':'BUCKET[016]','source-id':1,"
                       "'unknown':1}," FIELD("'y'", "'Zorder'", "2"),
            4, 1005),
        "{'spec-id':4,'fields':["
        "{'name':'x','transform':'bucket[16]','source-id':1,'field-id':1005},"
        "{'name':'y','transform':'Zorder','source-id':2,'field-id':1006}]}");
    check_json(arena,
        canonical_spec("{'field-id':1007,'name':'x','transform':'day','source-id':3}", 0, 1000),
        "{'spec-id':0,'fields':[{'name':'x','transform':'day','source-id':3,'field-id':1007}]}");
    check_json(arena, canonical_spec("", 0, 1000), "{'spec-id':0,'fields':[]}");
}
END_TEST

START_TEST(test_spec_canonical__one_source_is_source_id_several_are_source_ids)
{
    check_json(arena,
        canonical_spec("{'name':'x','transform':'bucket[4]','source-ids':[1],'field-id':1000},"
                       "{'name':'y','transform':'z','source-ids':[1,2],'field-id':1001},"
                       "{'name':'w','transform':'z','source-id':2,'source-ids':[2,1],"
                       "'field-id':1002}",
            0, 1000),
        "{'spec-id':0,'fields':["
        "{'name':'x','transform':'bucket[4]','source-id':1,'field-id':1000},"
        "{'name':'y','transform':'z','source-ids':[1,2],'field-id':1001},"
        "{'name':'w','transform':'z','source-id':2,'source-ids':[2,1],'field-id':1002}]}");
}
END_TEST

START_TEST(test_spec_canonical__all_field_ids_or_none)
{
    json_t *out = NULL;
    struct err err = {.kind = ERR_NONE};
    json_t *spec = spec_of("{'field-id':1000,'name':'x','transform':'day','source-id':3},"
                           "{'name':'y','transform':'hour','source-id':3}");
    ck_assert(!spec_canonical(spec, 0, 1000, &out, &err));
    ck_assert_str_eq(err.msg, "Cannot parse spec with missing field IDs: 1 missing of 2 fields.");
    ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(out);
}
END_TEST

START_TEST(test_order_canonical__all_members_in_one_spelling)
{
    json_t *order = order_of("5",
        "{'source-id':3,'transform':'Day','direction':'DESC','x':1},"
        "{'transform':'identity','source-ids':[1],'null-order':'NULLS-LAST','direction':null},"
        "{'transform':'z','source-ids':[1,2],'direction':'asc'}");
    check_json(arena, held(arena, order_canonical(order, 2)),
        "{'order-id':2,'fields':["
        "{'transform':'day','source-id':3,'direction':'desc','null-order':'nulls-last'},"
        "{'transform':'identity','source-id':1,'direction':'asc','null-order':'nulls-last'},"
        "{'transform':'z','source-ids':[1,2],'direction':'asc','null-order':'nulls-first'}]}");
    check_json(
        arena, held(arena, order_canonical(order_of("0", ""), 0)), "{'order-id':0,'fields':[]}");
}
END_TEST

START_TEST(test_spec_highest_field_id__unpartitioned_is_999)
{
    ck_assert_int_eq(spec_highest_field_id(spec_of("")), 999);
    ck_assert_int_eq(spec_highest_field_id(spec_of("{'field-id':1003},{'field-id':1001}")), 1003);
    ck_assert_int_eq(spec_highest_field_id(spec_of("{'field-id':5}")), 999);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/spec");
    TCase *cases = tcase_create("catalog/spec");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_spec_check__good_ones);
    tcase_add_test(cases, test_spec_check__malformed);
    tcase_add_test(cases, test_spec_check__what_the_schema_does_not_allow);
    tcase_add_test(cases, test_spec_check_columns__names_alone);
    tcase_add_test(cases, test_spec_check__names_first);
    tcase_add_test(cases, test_spec_check__many_fields);
    tcase_add_test(cases, test_spec_check_version__several_columns);
    tcase_add_test(cases, test_order_check__good_ones);
    tcase_add_test(cases, test_order_check__malformed);
    tcase_add_test(cases, test_order_check__order_id_zero_means_unsorted);
    tcase_add_test(cases, test_order_check__what_the_schema_does_not_allow);
    tcase_add_test(cases, test_spec_equal__source_transform_and_name_in_order);
    tcase_add_test(cases, test_spec_equal__trees_of_damaged_files);
    tcase_add_test(cases, test_order_equal__source_transform_direction_and_nulls);
    tcase_add_test(cases, test_spec_canonical__field_ids_as_sent_or_counted);
    tcase_add_test(cases, test_spec_canonical__one_source_is_source_id_several_are_source_ids);
    tcase_add_test(cases, test_spec_canonical__all_field_ids_or_none);
    tcase_add_test(cases, test_order_canonical__all_members_in_one_spelling);
    tcase_add_test(cases, test_spec_highest_field_id__unpartitioned_is_999);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
