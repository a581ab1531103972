#include "schema.h"

#include <check.h>
#include <stdio.h>

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

static struct schema *read_tree(const json_t *tree)
{
    struct schema *s = NULL;
    struct err err = {.kind = ERR_NONE};
    ck_assert_msg(schema_read(arena, tree, (struct str){0}, &s, &err), "%s", err.msg);
    return s;
}

static struct schema *read_text(const char *text)
{
    return read_tree(quoted(arena, text));
}

static json_t *with_fields(const char *fields)
{
    return quotedf(arena, "{'type':'struct','fields':[%s]}", fields);
}

static void check_refused(const json_t *tree, enum err_kind kind, const char *message)
{
    struct schema *s;
    struct err err = {.kind = ERR_NONE};
    ck_assert_msg(!schema_read(arena, tree, (struct str){0}, &s, &err), "accepted: %s", message);
    ck_assert_str_eq(err.msg, message);
    ck_assert_str_eq(err_name(err.kind), err_name(kind));
}

START_TEST(test_schema_read__no_fields)
{
    struct schema *s = read_text("{'type':'struct','fields':[]}");
    ck_assert_int_eq(schema_highest_id(s), 0);
    ck_assert_ptr_null(schema_field_by_id(s, 0));
    ck_assert_ptr_null(schema_field_by_name(s, STR("")));
    read_text("{'fields':[],'type':null,'schema-id':'ignored','identifier-field-ids':null}");
}
END_TEST

static const char nested[] =
    "{'type':'struct','schema-id':3,'fields':["
    "{'id':1,'name':'id','required':true,'type':'long','doc':'row'},"
    "{'id':2,'name':'s','required':true,'type':{'type':'struct','fields':["
    "  {'id':9,'name':'x','required':false,'type':'int','initial-default':3},"
    "  {'id':4,'name':'list','type':{'type':'list','element-id':5,'element-required':false,"
    "     'element':{'type':'struct','fields':[{'id':6,'name':'y','required':true,"
    "       'type':'date'}]}}}]}},"
    "{'id':7,'name':'m','required':false,'type':{'type':'map','key-id':10,'key':'string',"
    "   'value-id':8,'value':'decimal(9,2)','value-required':true}}]}";

static void check_field(
    const struct schema *s, const char *name, int64_t id, bool required, const char *parent)
{
    const struct schema_field *f = schema_field_by_name(s, str_from(name));
    ck_assert_msg(f != NULL, "%s", name);
    ck_assert_ptr_eq(f, schema_field_by_id(s, id));
    ck_assert_int_eq(f->id, id);
    ck_assert(str_eq(f->name, str_from(name)));
    ck_assert_int_eq(f->required, required);
    ck_assert_int_eq(f->in_struct_only, parent == NULL);
    ck_assert_msg(!parent || str_eq(f->parent_type, str_from(parent)), "%s: %.*s", name,
        STR_ARG(f->parent_type));
}

START_TEST(test_schema_read__fields_by_id_and_full_name)
{
    static const char list[] = "list<struct<6: y: required date>>";
    static const char map[] = "map<string, decimal(9, 2)>";
    struct schema *s = read_text(nested);
    check_field(s, "id", 1, true, NULL);
    check_field(s, "s", 2, true, NULL);
    check_field(s, "s.x", 9, false, NULL);
    check_field(s, "s.list", 4, false, NULL);
    check_field(s, "s.list.element", 5, false, list);
    check_field(s, "s.list.element.y", 6, true, list);
    check_field(s, "m", 7, false, NULL);
    check_field(s, "m.key", 10, true, map);
    check_field(s, "m.value", 8, true, map);
    ck_assert_int_eq(schema_highest_id(s), 10);
    ck_assert_ptr_null(schema_field_by_id(s, 3));
    ck_assert_ptr_null(schema_field_by_id(s, -1));
    ck_assert_ptr_null(schema_field_by_id(s, INT64_MAX));
    ck_assert_ptr_null(schema_field_by_name(s, STR("x")));
    ck_assert_ptr_null(schema_field_by_name(s, STR("S")));
    ck_assert_ptr_null(schema_field_by_name(s, STR("s.")));
}
END_TEST

START_TEST(test_schema_read__any_name_is_a_name)
{
    struct schema *s = read_tree(with_fields("{'id':0,'name':'','required':false,'type':'int'},"
                                             "{'id':1,'name':' A.b\\n','type':'int'},"
                                             "{'id':2,'name':'a.B','type':'INT'},"
                                             "{'id':3,'name':'\xf0\x9f\x98\x80','type':'int'}"));
    ck_assert_int_eq(schema_field_by_name(s, STR(""))->id, 0);
    ck_assert_int_eq(schema_field_by_name(s, STR("\xf0\x9f\x98\x80"))->id, 3);
    ck_assert_int_eq(schema_highest_id(s), 3);
}
END_TEST

START_TEST(test_schema_read__shapes_that_are_no_schema)
{
    static const char *const no_schema[] = {"null", "1", "'struct'", "[]", "true",
        "{'type':'list','fields':[]}", "{'type':5,'fields':[]}", "{'type':[],'fields':[]}"};
    for (size_t i = 0; i < ARRAY_LEN(no_schema); i++)
        check_refused(quoted(arena, no_schema[i]), ERR_BAD_REQUEST,
            "Invalid schema: it must be an object of type struct");
    check_refused(NULL, ERR_BAD_REQUEST, "Invalid schema: it must be an object of type struct");
    static const char *const no_fields[] = {
        "{}", "{'fields':null}", "{'fields':{}}", "{'fields':'a'}", "{'type':'struct','fields':7}"};
    for (size_t i = 0; i < ARRAY_LEN(no_fields); i++)
        check_refused(quoted(arena, no_fields[i]), ERR_BAD_REQUEST,
            "Invalid schema: the struct 'schema' has no list of fields");
}
END_TEST

static void malformed(const char *fields, const char *message)
{
    check_refused(with_fields(fields), ERR_BAD_REQUEST, message);
}

START_TEST(test_schema_read__malformed_fields)
{
    malformed("null", "Invalid schema: field 0 of 'schema' is not an object");
    malformed("[]", "Invalid schema: field 0 of 'schema' is not an object");
    malformed("{'id':1,'name':'a','type':'int'},'x'",
        "Invalid schema: field 1 of 'schema' is not an object");
    malformed("{}", "Invalid schema: field 0 of 'schema' has no name");
    malformed(
        "{'id':1,'name':null,'type':'int'}", "Invalid schema: field 0 of 'schema' has no name");
    malformed(
        "{'id':1,'name':['a'],'type':'int'}", "Invalid schema: field 0 of 'schema' has no name");
    malformed("{'id':1,'name':'a','type':'int','required':1}",
        "Invalid schema: 'required' of field a must be true or false");
    malformed("{'name':'a','type':'int'}",
        "Invalid schema: field a needs an id, an integer from 0 to 2147483447");
    malformed("{'id':'1','name':'a','type':'int'}",
        "Invalid schema: field a needs an id, an integer from 0 to 2147483447");
    malformed("{'id':1.0,'name':'a','type':'int'}",
        "Invalid schema: field a needs an id, an integer from 0 to 2147483447");
    malformed("{'id':-1,'name':'a','type':'int'}",
        "Invalid schema: field a needs an id, an integer from 0 to 2147483447");
    malformed("{'id':null,'name':'a','type':'int'}",
        "Invalid schema: field a needs an id, an integer from 0 to 2147483447");
    malformed("{'id':1,'name':'a'}", "Invalid schema: field a has no type");
    malformed("{'id':1,'name':'a','type':null}", "Invalid schema: field a has no type");
}
END_TEST

START_TEST(test_schema_read__malformed_types)
{
    malformed("{'id':1,'name':'a','type':7}",
        "Invalid schema: the type of 'a' is neither a type name nor a struct, list or map");
    malformed("{'id':1,'name':'a','type':[]}",
        "Invalid schema: the type of 'a' is neither a type name nor a struct, list or map");
    malformed("{'id':1,'name':'a','type':{'type':'set'}}",
        "Invalid schema: the type of 'a' is neither a type name nor a struct, list or map");
    malformed("{'id':1,'name':'a','type':{'type':{'type':'struct'}}}",
        "Invalid schema: the type of 'a' is neither a type name nor a struct, list or map");
    malformed("{'id':1,'name':'a','type':{'type':'struct'}}",
        "Invalid schema: the struct 'a' has no list of fields");
    malformed("{'id':1,'name':'a','type':{'type':'struct','fields':[{'id':2,'name':'b','type':"
              "{'type':'struct','fields':{}}}]}}",
        "Invalid schema: the struct 'a.b' has no list of fields");
    malformed("{'id':1,'name':'a','type':{'type':'struct','fields':[3]}}",
        "Invalid schema: field 0 of 'a' is not an object");
    malformed("{'id':1,'name':'a','type':{'type':'list'}}",
        "Invalid schema: field a.element needs an id, an integer from 0 to 2147483447");
    malformed("{'id':1,'name':'a','type':{'type':'list','element-id':2}}",
        "Invalid schema: field a.element has no type");
    malformed("{'id':1,'name':'a','type':{'type':'list','element-id':2,'element':'int',"
              "'element-required':'yes'}}",
        "Invalid schema: 'element-required' of field a must be true or false");
    malformed("{'id':1,'name':'a','type':{'type':'map','key-id':2,'key':'int'}}",
        "Invalid schema: field a.value needs an id, an integer from 0 to 2147483447");
    malformed(
        "{'id':1,'name':'a','type':{'type':'map','key-id':2,'key':'int','value-id':3,'value':{}}}",
        "Invalid schema: the type of 'a.value' is neither a type name nor a struct, list or map");
    malformed(
        "{'id':1,'name':'a','type':{'type':'map','key-id':2,'key':'int','value-id':3,'value':'int',"
        "'value-required':0}}",
        "Invalid schema: 'value-required' of field a must be true or false");
    malformed("{'id':1,'name':'a','type':'int','doc':5}",
        "Invalid schema: the doc of a must be a string");
}
END_TEST

static void invalid(const char *fields, const char *message)
{
    check_refused(with_fields(fields), ERR_INVALID_ARGUMENT, message);
}

START_TEST(test_schema_read__fields_that_cannot_be)
{
    invalid("{'id':2147483448,'name':'a','type':'int'}",
        "Invalid schema: field a has the id 2147483448, "
        "which is reserved: ids go up to 2147483447");
    invalid("{'id':9223372036854775807,'name':'a','type':'int'}",
        "Invalid schema: field a has the id 9223372036854775807, which is reserved: ids go up to "
        "2147483447");
    invalid("{'id':1,'name':'a','type':'varchar(3)'}",
        "Cannot parse type string to primitive: varchar(3) (field a)");
    invalid("{'id':1,'name':'a','type':'struct'}",
        "Cannot parse type string to primitive: struct (field a)");
    invalid("{'id':1,'name':'a','type':'int'},{'id':1,'name':'b','type':'int'}",
        "Invalid schema: multiple fields have the id 1: a and b");
    invalid("{'id':1,'name':'a','type':{'type':'list','element-id':1,'element':'int'}}",
        "Invalid schema: multiple fields have the id 1: a and a.element");
    invalid("{'id':1,'name':'a','type':{'type':'map','key-id':2,'key':'int','value-id':2,'value':'"
            "int'}}",
        "Invalid schema: multiple fields have the id 2: a.key and a.value");
    check_refused(with_fields("{'id':1,'name':'a','type':'int'},{'id':2,'name':'a','type':'long'}"),
        ERR_VALIDATION, "Invalid schema: multiple fields for name a: 1 and 2");
    check_refused(
        with_fields("{'id':1,'name':'a','type':{'type':'struct','fields':[{'id':2,'name':'b',"
                    "'type':'int'}]}},{'id':3,'name':'a.b','type':'int'}"),
        ERR_VALIDATION, "Invalid schema: multiple fields for name a.b: 2 and 3");
}
END_TEST

START_TEST(test_schema_read__unknown_must_be_optional_and_defaults_fit)
{
    invalid("{'id':1,'name':'a','required':true,'type':'unknown'}",
        "Cannot create required field with unknown type: a");
    invalid("{'id':1,'name':'a','type':{'type':'list','element-id':2,'element':'unknown',"
            "'element-required':true}}",
        "Cannot create required field with unknown type: a.element");
    invalid("{'id':1,'name':'a','type':{'type':'map','key-id':2,'key':'unknown','value-id':3,"
            "'value':'int'}}",
        "Cannot create required field with unknown type: a.key");
    invalid("{'id':1,'name':'a','type':'unknown','write-default':1}",
        "Invalid schema: the write-default of a must be a value of type unknown, found 1");
    invalid("{'id':1,'name':'a','type':'int','write-default':'1'}",
        "Invalid schema: the write-default of a must be a value of type int, found \"1\"");
    invalid("{'id':1,'name':'a','type':'int','initial-default':{}}",
        "Invalid schema: the initial-default of a must be a value of type int, found {}");
    invalid("{'id':1,'name':'a','type':{'type':'list','element-id':2,'element':'int'},"
            "'initial-default':{}}",
        "Invalid schema: the initial-default of a must be a value of type list<int>, found {}");
    invalid("{'id':1,'name':'a','type':{'type':'struct','fields':[]},'initial-default':[]}",
        "Invalid schema: the initial-default of a must be a value of type struct<>, found []");
}
END_TEST

static void placed(const char *fields, const char *pointer)
{
    struct schema *s;
    struct err err = {.kind = ERR_NONE};
    char end[128];
    snprintf(end, sizeof end, " (/updates/0/schema%s)", pointer);
    ck_assert(!schema_read(arena, with_fields(fields), STR("/updates/0/schema"), &s, &err));
    ck_assert_msg(str_ends(str_from(err.msg), str_from(end)), "%s: %s", end, err.msg);
}

START_TEST(test_schema_read__messages_end_with_the_pointer)
{
    placed("1", "/fields/0");
    placed("{'id':1,'type':'int'}", "/fields/0/name");
    placed("{'id':-1,'name':'a','type':'int'}", "/fields/0/id");
    placed("{'id':1,'name':'a','type':'nope'}", "/fields/0/type");
    placed("{'id':1,'name':'a','type':{'type':'set'}}", "/fields/0/type/type");
    placed("{'id':1,'name':'a','type':{'type':'list','element-id':2,'element':7}}",
        "/fields/0/type/element");
    placed("{'id':1,'name':'a','type':{'type':'map','key-id':2,'key':'int','value-id':3,'value':{"
           "'type':'struct','fields':[{'id':4,'name':'b','type':'int','doc':1}]}}}",
        "/fields/0/type/value/fields/0/doc");
    placed("{'id':1,'name':'a','type':'int'},{'id':1,'name':'b','type':'int'}", "/fields/1/id");
    placed("{'id':1,'name':'a','type':'int','write-default':'x'}", "/fields/0/write-default");
}
END_TEST

START_TEST(test_schema_read__null_counts_as_absent)
{
    read_tree(with_fields("{'id':1,'name':'a','required':null,'type':'unknown','doc':null,"
                          "'initial-default':null,'write-default':null},"
                          "{'id':2,'name':'b','type':{'type':'list','element-id':3,'element':'int',"
                          "'element-required':null}}"));
}
END_TEST

START_TEST(test_schema_read__highest_id_that_is_not_reserved)
{
    struct schema *s = read_tree(with_fields("{'id':2147483447,'name':'a','type':'int'}"));
    ck_assert_int_eq(schema_highest_id(s), 2147483447);
}
END_TEST

/* a: optional long, b: required float, c: required variant, d: required long, e: required struct
 * with f, g: optional struct with h, l: required list of required long, s: required struct. */
static json_t *identified(const char *ids)
{
    return quotedf(arena,
        "{'type':'struct','identifier-field-ids':%s,'fields':["
        "{'id':1,'name':'a','required':false,'type':'long'},"
        "{'id':2,'name':'b','required':true,'type':'double'},"
        "{'id':3,'name':'c','required':true,'type':'variant'},"
        "{'id':4,'name':'d','required':true,'type':'long'},"
        "{'id':5,'name':'e','required':true,'type':{'type':'struct','fields':["
        "{'id':6,'name':'f','required':true,'type':'string'}]}},"
        "{'id':7,'name':'g','required':false,'type':{'type':'struct','fields':["
        "{'id':8,'name':'h','required':true,'type':'string'}]}},"
        "{'id':9,'name':'l','required':true,'type':{'type':'list','element-id':10,"
        "'element':'long','element-required':true}}]}",
        ids);
}

static void not_identifying(const char *ids, const char *message)
{
    struct str full = arena_printf(arena, "Cannot add %s", message);
    check_refused(identified(ids), ERR_INVALID_ARGUMENT, full.p);
}

START_TEST(test_schema_read__identifier_fields)
{
    read_tree(identified("[]"));
    read_tree(identified("null"));
    read_tree(identified("[4,6,4]"));
    not_identifying("[11]", "fieldId 11 as an identifier field: field does not exist");
    not_identifying("[9223372036854775807]",
        "fieldId 9223372036854775807 as an identifier field: field does not exist");
    not_identifying("[4,1]", "field a as an identifier field: not a required field");
    not_identifying("[2]", "field b as an identifier field: must not be float or double field");
    not_identifying("[3]", "field c as an identifier field: not a primitive type field");
    not_identifying("[5]", "field e as an identifier field: not a primitive type field");
    not_identifying(
        "[8]", "field g.h as an identifier field: all its parents must be required structs");
    not_identifying(
        "[10]", "field l.element as an identifier field: all its parents must be required structs");
    static const char *const no_list[] = {"4", "{}", "'4'", "true"};
    for (size_t i = 0; i < ARRAY_LEN(no_list); i++)
        check_refused(identified(no_list[i]), ERR_BAD_REQUEST,
            "Invalid schema: identifier-field-ids must be a list");
    check_refused(identified("[4,'6']"), ERR_BAD_REQUEST,
        "Invalid schema: element 1 of identifier-field-ids is not an integer");
    check_refused(identified("[null]"), ERR_BAD_REQUEST,
        "Invalid schema: element 0 of identifier-field-ids is not an integer");
}
END_TEST

/* A column of n lists one in the other. */
static json_t *lists(int n)
{
    json_t *type = json_string("int");
    for (int i = 0; i < n; i++)
        type = json_pack("{s:s,s:i,s:o,s:b}", "type", "list", "element-id", i + 2, "element", type,
            "element-required", 1);
    return held(arena, json_pack("{s:s,s:[{s:i,s:s,s:b,s:o}]}", "type", "struct", "fields", "id", 1,
                           "name", "a", "required", 1, "type", type));
}

START_TEST(test_schema_read__depth_that_a_metadata_file_can_hold)
{
    struct schema *s = read_tree(lists(59));
    ck_assert_int_eq(schema_highest_id(s), 60);
    check_refused(
        lists(60), ERR_BAD_REQUEST, "Invalid schema: it is nested more than 62 levels deep");
    check_refused(
        lists(1500), ERR_BAD_REQUEST, "Invalid schema: it is nested more than 62 levels deep");
    json_t *unread = held(arena, json_integer(1));
    for (int i = 0; i < 62; i++)
        unread = held(arena, json_pack("[O]", unread));
    json_t *tree = with_fields("{'id':1,'name':'a','type':'int'}");
    json_object_set(tree, "of-the-future", unread);
    check_refused(tree, ERR_BAD_REQUEST, "Invalid schema: it is nested more than 62 levels deep");
}
END_TEST

static json_t *wide(int n, const char *name, const char *type)
{
    json_t *fields = json_array();
    for (int i = 0; i < n; i++) {
        struct str full = arena_printf(arena, "%s%d", name, i);
        json_array_append_new(fields, json_pack("{s:i,s:s,s:b,s:s}", "id", i + 1, "name", full.p,
                                          "required", i % 2, "type", type));
    }
    return held(arena, json_pack("{s:s,s:o}", "type", "struct", "fields", fields));
}

START_TEST(test_schema_read__a_hundred_thousand_fields_and_no_more)
{
    json_t *tree = wide(100000, "column_", "long");
    size_t before = arena_used(arena);
    struct schema *s = read_tree(tree);
    ck_assert_int_eq(schema_highest_id(s), 100000);
    ck_assert_int_eq(schema_field_by_name(s, STR("column_77777"))->id, 77778);
    ck_assert_uint_lt(arena_used(arena) - before, (size_t)64 << 20);
    check_refused(
        wide(100001, "c", "int"), ERR_BAD_REQUEST, "Invalid schema: more than 100000 fields");
}
END_TEST

START_TEST(test_schema_read__a_long_name_above_many_fields)
{
    json_t *inner = wide(1000, "x", "int");
    char *name = arena_zalloc(arena, 100001);
    memset(name, 'n', 100000);
    json_t *tree = held(arena, json_pack("{s:s,s:[{s:i,s:s,s:O}]}", "type", "struct", "fields",
                                   "id", 2000, "name", name, "type", inner));
    size_t before = arena_used(arena);
    check_refused(tree, ERR_BAD_REQUEST,
        "Invalid schema: the names of its fields, written in full, take more than 64 MiB");
    ck_assert_uint_lt(arena_used(arena) - before, (size_t)72 << 20);
}
END_TEST

static void check_version(const json_t *tree, int64_t version, const char *message)
{
    struct err err = {.kind = ERR_NONE};
    bool ok = schema_check_version(arena, read_tree(tree), version, &err);
    ck_assert_msg(ok == !message, "%s", ok ? message : err.msg);
    if (ok)
        return;
    ck_assert_str_eq(err.msg, message);
    ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
}

START_TEST(test_schema_check_version__messages)
{
    check_version(with_fields("{'id':1,'name':'data','type':'variant'}"), 2,
        "Invalid schema for v2:\n- Invalid type for data: variant is not supported until v3");
    check_version(with_fields("{'id':1,'name':'x','type':'int','initial-default':12}"), 1,
        "Invalid schema for v1:\n- Invalid initial default for x: non-null default (12) is not "
        "supported until v3");
    check_version(
        with_fields("{'id':5,'name':'t','type':'timestamp_ns'},{'id':3,'name':'m','type':{'type':"
                    "'map','key-id':4,'key':'string','value-id':1,'value':'GEOMETRY'}},"
                    "{'id':2,'name':'d','type':'string','initial-default':'x'}"),
        2,
        "Invalid schema for v2:\n- Invalid type for m.value: geometry is not supported until v3\n"
        "- Invalid initial default for d: non-null default (\"x\") is not supported until v3\n"
        "- Invalid type for t: timestamp_ns is not supported until v3");
}
END_TEST

START_TEST(test_schema_check_version__what_each_version_holds)
{
    json_t *third =
        with_fields("{'id':1,'name':'a','type':'timestamp_ns','initial-default':"
                    "'2017-11-16T22:31:08.123456789'},{'id':2,'name':'b','type':'unknown'},"
                    "{'id':3,'name':'c','type':'geography(OGC:CRS84, karney)'}");
    check_version(third, 3, NULL);
    json_t *first = with_fields("{'id':1,'name':'a','type':'int','write-default':1,"
                                "'initial-default':null},{'id':2,'name':'b','type':'fixed[3]'}");
    check_version(first, 1, NULL);
    check_version(first, 2, NULL);
}
END_TEST

START_TEST(test_schema_check_version__many_problems_stay_a_message)
{
    json_t *tree = wide(20000, "a_column_with_a_name_", "variant");
    struct schema *s = read_tree(tree);
    struct err err;
    size_t before = arena_used(arena);
    ck_assert(!schema_check_version(arena, s, 2, &err));
    ck_assert(str_starts(str_from(err.msg),
        STR("Invalid schema for v2:\n- Invalid type for a_column_with_a_name_0: variant is not "
            "supported until v3\n- Invalid type for a_column_with_a_name_1: ")));
    ck_assert_ptr_nonnull(strstr(err.msg, "\n- and 199"));
    ck_assert_uint_lt(arena_used(arena) - before, 65536);
}
END_TEST

START_TEST(test_schema_check_version__long_names_are_cut)
{
    char *name = arena_zalloc(arena, 5001);
    memset(name, 'n', 5000);
    json_t *tree = with_fields("{'id':1,'name':'x','type':'string'}");
    json_t *f = json_array_get(json_object_get(tree, "fields"), 0);
    json_object_set_new(f, "name", json_string(name));
    json_object_set_new(f, "initial-default", json_string(name));
    struct err err;
    ck_assert(!schema_check_version(arena, read_tree(tree), 2, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, ") is not supported until v3"));
}
END_TEST

static bool equal(const char *a, const char *b)
{
    bool forth = schema_equal(with_fields(a), with_fields(b));
    ck_assert(schema_equal(with_fields(b), with_fields(a)) == forth);
    return forth;
}

#define FIELD "'id':1,'name':'a','required':false,'type':'decimal(9, 2)'"

START_TEST(test_schema_equal__what_makes_a_difference)
{
    static const char *const other[] = {
        "{'id':2,'name':'a','required':false,'type':'decimal(9, 2)'}",
        "{'id':1,'name':'A','required':false,'type':'decimal(9, 2)'}",
        "{'id':1,'name':'a','required':true,'type':'decimal(9, 2)'}",
        "{'id':1,'name':'a','required':false,'type':'decimal(9, 3)'}",
        "{'id':1,'name':'a','required':false,'type':{'type':'struct','fields':[]}}",
        "{" FIELD ",'doc':'about'}", "{" FIELD ",'initial-default':'1.00'}",
        "{" FIELD ",'write-default':'1.00'}", "", "{" FIELD "},{'id':2,'name':'b','type':'int'}"};
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        ck_assert_msg(!equal("{" FIELD "}", other[i]), "%s", other[i]);
}
END_TEST

START_TEST(test_schema_equal__what_does_not_matter)
{
    static const char *const same[] = {"{" FIELD "}",
        "{'type':'DECIMAL( 9 ,2)','required':false,'name':'a','id':1}",
        "{'id':1,'name':'a','type':'decimal(9,2)'}",
        "{" FIELD ",'doc':null,'initial-default':null,'of-the-future':5}"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        ck_assert_msg(equal("{" FIELD "}", same[i]), "%s", same[i]);
    ck_assert(equal("{'id':1,'name':'a','type':'double','write-default':1}",
        "{'id':1,'name':'a','type':'double','write-default':1.0}"));
    json_t *a = quoted(arena, "{'schema-id':1,'type':'struct','fields':[{" FIELD "}]}");
    json_t *b = quoted(arena, "{'schema-id':7,'fields':[{" FIELD "}],'identifier-field-ids':[]}");
    ck_assert(schema_equal(a, b));
}
END_TEST

START_TEST(test_schema_equal__order_of_fields_matters)
{
    ck_assert(!equal("{'id':1,'name':'a','type':'int'},{'id':2,'name':'b','type':'int'}",
        "{'id':2,'name':'b','type':'int'},{'id':1,'name':'a','type':'int'}"));
}
END_TEST

START_TEST(test_schema_equal__identifier_fields_are_a_set)
{
    ck_assert(schema_equal(identified("[4,6]"), identified("[6,4,6]")));
    ck_assert(schema_equal(identified("[]"), identified("null")));
    ck_assert(!schema_equal(identified("[4]"), identified("[6]")));
    ck_assert(!schema_equal(identified("[4]"), identified("[4,6]")));
    ck_assert(!schema_equal(identified("[4]"), identified("[]")));
}
END_TEST

#define LIST(id, required, element)                                                                \
    "{'id':1,'name':'a','type':{'type':'list','element-id':" id ",'element-required':" required    \
    ",'element':" element "}}"
#define MAP(key_id, key, value_id, value, required)                                                \
    "{'id':1,'name':'a','type':{'type':'map','key-id':" key_id ",'key':" key                       \
    ",'value-id':" value_id ",'value':" value ",'value-required':" required "}}"

START_TEST(test_schema_equal__nested)
{
    ck_assert(equal(LIST("2", "true", "'int'"), LIST("2", "true", "'INT'")));
    ck_assert(!equal(LIST("2", "true", "'int'"), LIST("3", "true", "'int'")));
    ck_assert(!equal(LIST("2", "true", "'int'"), LIST("2", "false", "'int'")));
    ck_assert(!equal(LIST("2", "true", "'int'"), LIST("2", "true", "'long'")));
    static const char map[] = MAP("2", "'int'", "3", "'int'", "true");
    ck_assert(equal(map, map));
    ck_assert(!equal(map, MAP("4", "'int'", "3", "'int'", "true")));
    ck_assert(!equal(map, MAP("2", "'long'", "3", "'int'", "true")));
    ck_assert(!equal(map, MAP("2", "'int'", "4", "'int'", "true")));
    ck_assert(!equal(map, MAP("2", "'int'", "3", "'long'", "true")));
    ck_assert(!equal(map, MAP("2", "'int'", "3", "'int'", "false")));
    ck_assert(!equal(map, LIST("2", "true", "'int'")));
}
END_TEST

START_TEST(test_schema_equal__trees_of_damaged_files)
{
    static const char *const damaged[] = {"null", "[]", "{}", "{'fields':3}", "{'fields':[null]}",
        "{'fields':[{'type':{}}]}", "{'fields':[{'type':{'type':7}}]}",
        "{'fields':[{'type':{'type':'map'}}]}", "{'fields':[{'type':{'type':'list'}}]}",
        "{'fields':[{'type':{'type':'struct'}}]}", "{'identifier-field-ids':{}}"};
    json_t *sound = quoted(arena, nested);
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        json_t *tree = quoted(arena, damaged[i]);
        ck_assert(!schema_equal(tree, sound));
        ck_assert(!schema_equal(sound, tree));
        bool same = schema_equal(tree, tree); /* comes back, whatever it says */
        (void)same;
    }
}
END_TEST

START_TEST(test_schema_equal__many_identifiers_and_fields)
{
    json_t *a = wide(100000, "c", "int"), *b = wide(100000, "c", "int");
    json_t *up = json_array(), *down = json_array();
    for (int i = 0; i < 50000; i++) {
        json_array_append_new(up, json_integer(2 * i + 2));
        json_array_append_new(down, json_integer(100000 - 2 * i));
    }
    json_object_set_new(a, "identifier-field-ids", up);
    json_object_set_new(b, "identifier-field-ids", down);
    read_tree(a);
    ck_assert(schema_equal(a, b));
    json_array_remove(down, 7);
    ck_assert(!schema_equal(a, b));
}
END_TEST

START_TEST(test_schema_canonical__order_spelling_nulls_and_unknown_members)
{
    json_t *tree = quoted(arena,
        "{'fields':[{'name':'a','type':'DECIMAL(9,2)','id':1,'doc':null,'collation':'de'},"
        "{'doc':'m','id':2,'name':'m','required':true,'type':{'value':{'element':'Int','type':"
        "'LIST','element-id':5,'x':1},'key':'string','type':'map','value-id':4,'key-id':3,"
        "'value-required':true,'y':null}},"
        "{'id':6,'name':'s','type':{'type':'Struct','fields':[]},'write-default':{}}],"
        "'identifier-field-ids':[2,2],'schema-id':77}");
    check_json(arena, held(arena, schema_canonical(tree, 4)),
        "{'type':'struct','schema-id':4,'identifier-field-ids':[2],'fields':["
        "{'id':1,'name':'a','required':false,'type':'decimal(9, 2)','collation':'de'},"
        "{'id':2,'name':'m','required':true,'type':{'type':'map','key-id':3,'key':'string',"
        "'value-id':4,'value':{'type':'list','element-id':5,'element':'int',"
        "'element-required':false,'x':1},'value-required':true},'doc':'m'},"
        "{'id':6,'name':'s','required':false,'type':{'type':'struct','fields':[]},"
        "'write-default':{}}]}");
}
END_TEST

/* Java's library reads no table in which a number with a fraction has none. */
START_TEST(test_schema_canonical__defaults_of_floats_have_a_fraction)
{
    json_t *tree = quoted(arena, "{'fields':["
                                 "{'id':1,'name':'a','type':'Double','initial-default':-7,"
                                 "'write-default':0.5},"
                                 "{'id':2,'name':'b','type':'float','write-default':0},"
                                 "{'id':3,'name':'c','type':'long','write-default':3},"
                                 "{'id':4,'name':'d','type':{'type':'struct','fields':["
                                 "{'id':5,'name':'e','type':'float','write-default':1}]}}]}");
    json_t *fields = json_object_get(held(arena, schema_canonical(tree, 0)), "fields");
    json_t *a = json_array_get(fields, 0), *b = json_array_get(fields, 1);
    json_t *e = json_array_get(
        json_object_get(json_object_get(json_array_get(fields, 3), "type"), "fields"), 0);
    ck_assert(json_is_real(json_object_get(a, "initial-default")));
    ck_assert(json_real_value(json_object_get(a, "initial-default")) == -7);
    ck_assert(json_real_value(json_object_get(a, "write-default")) == 0.5);
    ck_assert(json_is_real(json_object_get(b, "write-default")));
    ck_assert(json_is_integer(json_object_get(json_array_get(fields, 2), "write-default")));
    ck_assert(json_is_real(json_object_get(e, "write-default")));
}
END_TEST

START_TEST(test_schema_canonical__no_identifiers_no_member)
{
    json_t *tree = quoted(arena, "{'type':'struct','fields':[],'identifier-field-ids':[]}");
    check_json(arena, held(arena, schema_canonical(tree, 0)),
        "{'type':'struct','schema-id':0,'fields':[]}");
}
END_TEST

START_TEST(test_schema_canonical__is_equal_to_what_it_was_made_of)
{
    json_t *tree = quoted(arena, nested);
    json_t *stored = held(arena, schema_canonical(tree, 9));
    ck_assert(schema_equal(tree, stored));
    json_t *again = held(arena, schema_canonical(stored, 9));
    ck_assert(json_equal(stored, again));
    read_tree(stored);
}
END_TEST

static json_t *fresh(const json_t *tree, int64_t *last)
{
    json_t *out = NULL;
    struct err err = {.kind = ERR_NONE};
    ck_assert(schema_fresh(arena, read_tree(tree), &out, last, &err));
    return held(arena, out);
}

/* RCK testCreateTableWithVariantColumn. */
START_TEST(test_schema_fresh__fields_of_a_struct_first_then_what_they_contain)
{
    int64_t last;
    json_t *out = fresh(
        with_fields("{'id':11,'name':'id','required':true,'type':'long'},"
                    "{'id':3,'name':'data','required':false,'type':'variant'},"
                    "{'id':20,'name':'list_data','required':false,'type':{'type':'list',"
                    "'element-id':21,'element':'variant','element-required':false}},"
                    "{'id':30,'name':'map_data','required':false,'type':{'type':'map','key-id':1,"
                    "'key':'string','value-id':2,'value':'variant','value-required':false}},"
                    "{'id':40,'name':'struct_data','required':false,'type':{'type':'struct',"
                    "'fields':[{'id':5,'name':'v','required':false,'type':'variant'}]}}"),
        &last);
    ck_assert_int_eq(last, 9);
    check_json(arena, out,
        "{'type':'struct','schema-id':0,'fields':["
        "{'id':1,'name':'id','required':true,'type':'long'},"
        "{'id':2,'name':'data','required':false,'type':'variant'},"
        "{'id':3,'name':'list_data','required':false,'type':{'type':'list','element-id':6,"
        "'element':'variant','element-required':false}},"
        "{'id':4,'name':'map_data','required':false,'type':{'type':'map','key-id':7,"
        "'key':'string','value-id':8,'value':'variant','value-required':false}},"
        "{'id':5,'name':'struct_data','required':false,'type':{'type':'struct','fields':["
        "{'id':9,'name':'v','required':false,'type':'variant'}]}}]}");
}
END_TEST

START_TEST(test_schema_fresh__deeper_levels)
{
    int64_t last;
    json_t *out = fresh(
        with_fields("{'id':0,'name':'a','type':{'type':'struct','fields':["
                    "{'id':1,'name':'b','type':{'type':'list','element-id':2,'element':{'type':"
                    "'struct','fields':[{'id':3,'name':'c','type':'int'}]}}},"
                    "{'id':4,'name':'d','type':{'type':'map','key-id':5,'key':{'type':'struct',"
                    "'fields':[{'id':6,'name':'k','type':'int'}]},'value-id':7,'value':{'type':"
                    "'list','element-id':8,'element':'int'}}}]}},{'id':9,'name':'z','type':'int'}"),
        &last);
    struct schema *s = read_tree(out);
    static const char *const in_order[] = {"a", "z", "a.b", "a.d", "a.b.element", "a.b.element.c",
        "a.d.key", "a.d.value", "a.d.key.k", "a.d.value.element"};
    ck_assert_int_eq(last, (int64_t)ARRAY_LEN(in_order));
    for (size_t i = 0; i < ARRAY_LEN(in_order); i++) {
        const struct schema_field *f = schema_field_by_name(s, str_from(in_order[i]));
        ck_assert_msg(f && f->id == (int64_t)i + 1, "%s", in_order[i]);
    }
}
END_TEST

/* RCK testBasicCreateTable, testCreateTableWithDefaultColumnValue. */
START_TEST(test_schema_fresh__everything_else_is_kept)
{
    int64_t last;
    json_t *tree = quoted(arena,
        "{'type':'struct','schema-id':5,'identifier-field-ids':[3,9],'fields':["
        "{'id':3,'name':'id','required':true,'type':'int','doc':'unique ID \xf0\x9f\xa4\xaa'},"
        "{'id':4,'name':'data','required':false,'type':'long','initial-default':12,"
        "'write-default':10},{'id':7,'name':'s','required':true,'type':{'type':'struct','fields':["
        "{'id':9,'name':'k','required':true,'type':'uuid'}]}}]}");
    json_t *out = fresh(tree, &last);
    ck_assert_int_eq(last, 4);
    check_json(arena, out,
        "{'type':'struct','schema-id':0,'identifier-field-ids':[1,4],'fields':["
        "{'id':1,'name':'id','required':true,'type':'int','doc':'unique ID \xf0\x9f\xa4\xaa'},"
        "{'id':2,'name':'data','required':false,'type':'long','initial-default':12,"
        "'write-default':10},{'id':3,'name':'s','required':true,'type':{'type':'struct','fields':["
        "{'id':4,'name':'k','required':true,'type':'uuid'}]}}]}");
}
END_TEST

START_TEST(test_schema_fresh__no_fields)
{
    int64_t last = 7;
    json_t *out = fresh(with_fields(""), &last);
    ck_assert_int_eq(last, 0);
    check_json(arena, out, "{'type':'struct','schema-id':0,'fields':[]}");
}
END_TEST

START_TEST(test_schema_fresh__wide)
{
    int64_t last;
    json_t *out = fresh(wide(100000, "c", "decimal(9,2)"), &last);
    ck_assert_int_eq(last, 100000);
    ck_assert_int_eq(schema_highest_id(read_tree(out)), 100000);
}
END_TEST

static void add_reading(TCase *cases)
{
    tcase_add_test(cases, test_schema_read__no_fields);
    tcase_add_test(cases, test_schema_read__fields_by_id_and_full_name);
    tcase_add_test(cases, test_schema_read__any_name_is_a_name);
    tcase_add_test(cases, test_schema_read__shapes_that_are_no_schema);
    tcase_add_test(cases, test_schema_read__malformed_fields);
    tcase_add_test(cases, test_schema_read__malformed_types);
    tcase_add_test(cases, test_schema_read__fields_that_cannot_be);
    tcase_add_test(cases, test_schema_read__unknown_must_be_optional_and_defaults_fit);
    tcase_add_test(cases, test_schema_read__messages_end_with_the_pointer);
    tcase_add_test(cases, test_schema_read__null_counts_as_absent);
    tcase_add_test(cases, test_schema_read__highest_id_that_is_not_reserved);
    tcase_add_test(cases, test_schema_read__identifier_fields);
    tcase_add_test(cases, test_schema_read__depth_that_a_metadata_file_can_hold);
    tcase_add_test(cases, test_schema_read__a_hundred_thousand_fields_and_no_more);
    tcase_add_test(cases, test_schema_read__a_long_name_above_many_fields);
    tcase_add_test(cases, test_schema_check_version__messages);
    tcase_add_test(cases, test_schema_check_version__what_each_version_holds);
    tcase_add_test(cases, test_schema_check_version__many_problems_stay_a_message);
    tcase_add_test(cases, test_schema_check_version__long_names_are_cut);
}

static void add_forms(TCase *cases)
{
    tcase_add_test(cases, test_schema_equal__what_makes_a_difference);
    tcase_add_test(cases, test_schema_equal__what_does_not_matter);
    tcase_add_test(cases, test_schema_equal__order_of_fields_matters);
    tcase_add_test(cases, test_schema_equal__identifier_fields_are_a_set);
    tcase_add_test(cases, test_schema_equal__nested);
    tcase_add_test(cases, test_schema_equal__trees_of_damaged_files);
    tcase_add_test(cases, test_schema_equal__many_identifiers_and_fields);
    tcase_add_test(cases, test_schema_canonical__order_spelling_nulls_and_unknown_members);
    tcase_add_test(cases, test_schema_canonical__defaults_of_floats_have_a_fraction);
    tcase_add_test(cases, test_schema_canonical__no_identifiers_no_member);
    tcase_add_test(cases, test_schema_canonical__is_equal_to_what_it_was_made_of);
    tcase_add_test(cases, test_schema_fresh__fields_of_a_struct_first_then_what_they_contain);
    tcase_add_test(cases, test_schema_fresh__deeper_levels);
    tcase_add_test(cases, test_schema_fresh__everything_else_is_kept);
    tcase_add_test(cases, test_schema_fresh__no_fields);
    tcase_add_test(cases, test_schema_fresh__wide);
}

int main(void)
{
    Suite *suite = suite_create("catalog/schema");
    TCase *cases = tcase_create("catalog/schema");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, begin, end);
    add_reading(cases);
    add_forms(cases);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
