#include <check.h>

#include "clock.h"
#include "draft_tool.h"
#include "requirement.h"
#include "update.h"
#include "uuid.h"

static struct arena *a;

static void setup(void)
{
    a = arena_new();
    clock_freeze(NOW);
}

static void teardown(void)
{
    clock_freeze(0);
    arena_free(&a);
}

/* clang-format off */
#define UUID "fa6506c3-7681-40c8-86dc-e36561f83385"
#define FIELD(id, name, type) \
    "{'id':" #id ",'name':'" name "','required':false,'type':'" type "'}"
#define SCHEMA(id, fields)     "{'type':'struct','schema-id':" #id ",'fields':[" fields "]}"
#define ADD_SCHEMA(id, fields) "{'action':'add-schema','schema':" SCHEMA(id, fields) "}"
#define N FIELD(3, "n", "long")
#define SQL(text, dialect)     "{'type':'sql','sql':'" text "','dialect':'" dialect "'}"
#define VERSION(id, schema, representations) \
    "{'version-id':" #id ",'timestamp-ms':1700000000000,'schema-id':" #schema \
    ",'summary':{'engine-name':'Trino'},'default-namespace':['a']," \
    "'representations':[" representations "]}"
#define ADD(id, schema, representations) \
    "{'action':'add-view-version','view-version':" VERSION(id, schema, representations) "}"
#define SET(id) "{'action':'set-current-view-version','view-version-id':" #id "}"
#define BOTH SQL("x", "spark") "," SQL("y", "trino")
#define PROPERTY(key, value) "{'action':'set-properties','updates':{'" key "':'" value "'}}"
/* Version 1 of the base, as a client would send it. */
#define FIRST(id, schema, summary, catalog) \
    "{'action':'add-view-version','view-version':{'version-id':" #id ",'timestamp-ms':5," \
    "'schema-id':" #schema ",'summary':{'engine-name':'" summary "'}," catalog \
    "'default-namespace':['default'],'representations':[" SQL("SELECT 1", "spark") "]}}"
/* clang-format on */

static const struct metadata *committed(const struct metadata *base, const char *updates)
{
    const struct metadata *out = NULL;
    struct err err;
    bool ok = tool_commit(a, base, updates, &out, &err);
    ck_assert_msg(ok, "%s: %s", updates, ok ? "" : err.msg);
    return out;
}

static void expect(const struct metadata *m, const char *members)
{
    tool_expect(members, tool_document(a, m), tool_json(a, members));
}

/* -- What is refused --------------------------------------------------------------------------- */

/* clang-format off */
static const struct refusal {
    const char *updates;
    enum err_kind kind;
    const char *message;
} refusals[] = {
    {"[{'action':'frobnicate'}]", ERR_BAD_REQUEST,
     "Cannot convert metadata update action to json: frobnicate"},
    {"[{'action':'add-snapshot','snapshot':{}}]", ERR_VALIDATION,
     "Cannot apply update AddSnapshot to a view"},
    {"[{'action':'set-current-schema','schema-id':0}]", ERR_VALIDATION,
     "Cannot apply update SetCurrentSchema to a view"},
    {"[{'action':'add-spec','spec':{}}]", ERR_VALIDATION,
     "Cannot apply update AddPartitionSpec to a view"},
    {"[" PROPERTY("a", "b") ",{'action':'remove-schemas','schema-ids':[0]}]", ERR_VALIDATION,
     "Cannot apply update RemoveSchemas to a view"},
    {"[{'action':'assign-uuid','uuid':'x'}]", ERR_INVALID_ARGUMENT, "Invalid UUID: x (/updates/0/uuid)"},
    {"[{'action':'assign-uuid','uuid':'2df82b80-0a72-495d-9b8e-12a1ff5b1111'}]",
     ERR_INVALID_ARGUMENT, "Cannot reassign uuid"},
    {"[{'action':'upgrade-format-version','format-version':0}]", ERR_INVALID_ARGUMENT,
     "Cannot downgrade v1 view to v0"},
    {"[{'action':'upgrade-format-version','format-version':2}]", ERR_INVALID_ARGUMENT,
     "Cannot upgrade view to unsupported format version: v2 (supported: v1)"},
    {"[{'action':'set-location','location':null}]", ERR_BAD_REQUEST,
     "Missing field: location (/updates/0)"},
    {"[{'action':'set-location','location':'/'}]", ERR_INVALID_ARGUMENT,
     "Invalid view location: it is empty (/updates/0/location)"},
    {"[{'action':'add-schema','schema':{'type':'struct'}}]", ERR_BAD_REQUEST,
     "Invalid schema: the struct 'schema' has no list of fields (/updates/0/schema/fields)"},
    /* add-view-version */
    {"[{'action':'add-view-version'}]", ERR_BAD_REQUEST,
     "Missing field: view-version (/updates/0)"},
    {"[{'action':'add-view-version','view-version':{}}]", ERR_BAD_REQUEST,
     "Missing field: version-id (/updates/0/view-version)"},
    {"[" ADD(3, 7, BOTH) "]", ERR_INVALID_ARGUMENT,
     "Cannot add version with unknown schema: 7"},
    {"[" ADD(3, -1, BOTH) "]", ERR_VALIDATION,
     "Cannot set last added schema: no schema has been added"},
    /* An equal schema is not added. */
    {"[" ADD_SCHEMA(9, N) "," ADD(3, -1, BOTH) "]", ERR_VALIDATION,
     "Cannot set last added schema: no schema has been added"},
    {"[" ADD(3, 0, SQL("x", "spark") "," SQL("y", "TRINO") "," SQL("z", "Trino")) "]",
     ERR_INVALID_ARGUMENT,
     "Invalid view version: Cannot add multiple queries for dialect trino"},
    {"[" ADD(3, 0, "{'type':'plan','sql':'x','dialect':'spark'}") "]", ERR_INVALID_ARGUMENT,
     "Found unsupported view representations: [plan]"},
    {"[" ADD(3, 0, "{'type':'sql','sql':'x'}") "]", ERR_BAD_REQUEST,
     "Missing field: dialect (/updates/0/view-version/representations/0)"},
    {"[" ADD(3, 0, "1") "]", ERR_BAD_REQUEST,
     "Missing field: type (/updates/0/view-version/representations/0)"},
    {"[" ADD(2147483647, 0, BOTH) "," ADD(3, 1, BOTH) "]", ERR_INVALID_ARGUMENT,
     "Cannot add version: the highest version id is in use"},
    {"[" ADD(2147483648, 0, BOTH) "]", ERR_BAD_REQUEST,
     "Expected an integer of 32 bits, found 2147483648 (/updates/0/view-version/version-id)"},
    /* set-current-view-version */
    {"[" SET(-1) "]", ERR_VALIDATION,
     "Cannot set last version id: no current version id has been set"},
    {"[" SET(4) "]", ERR_INVALID_ARGUMENT, "Cannot set current version to unknown version: 4"},
    /* A version that was there before is not the last one added. */
    {"[" FIRST(3, 0, "Spark", "'default-catalog':'prod',") "," SET(-1) "]", ERR_VALIDATION,
     "Cannot set last version id: no current version id has been set"},
    /* The end. */
    {"[" ADD(3, 0, SQL("x", "spark")) "," SET(-1) "]", ERR_INVALID_ARGUMENT,
     "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
     "Previous dialects: [spark, trino]\nNew dialects: [spark]"},
    {"[" SET(1) "]", ERR_INVALID_ARGUMENT,
     "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
     "Previous dialects: [spark, trino]\nNew dialects: [spark]"},
    {"[" PROPERTY("replace.drop-dialect.allowed", "false") "," SET(1) "]", ERR_INVALID_ARGUMENT,
     "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
     "Previous dialects: [spark, trino]\nNew dialects: [spark]"},
    {"[" PROPERTY("version.history.num-entries", "0") "]", ERR_INVALID_ARGUMENT,
     "version.history.num-entries must be positive but was 0"},
    {"[" PROPERTY("version.history.num-entries", "-5") "]", ERR_INVALID_ARGUMENT,
     "version.history.num-entries must be positive but was -5"},
    {"[" PROPERTY("version.history.num-entries", "many") "]", ERR_INVALID_ARGUMENT,
     "version.history.num-entries must be an integer of 32 bits but was many"},
    {"[" PROPERTY("version.history.num-entries", "2147483648") "]", ERR_INVALID_ARGUMENT,
     "version.history.num-entries must be an integer of 32 bits but was 2147483648"},
};
/* clang-format on */

START_TEST(test_view__refused)
{
    const struct refusal *r = &refusals[_i];
    const struct metadata *out;
    struct err err = {0};
    bool ok = tool_commit(a, tool_base(a, "view"), r->updates, &out, &err);
    ck_assert_msg(!ok, "%s was taken", r->updates);
    ck_assert_str_eq(err.msg, r->message);
    ck_assert_str_eq(err_name(err.kind), err_name(r->kind));
}
END_TEST

/* -- What changes nothing ---------------------------------------------------------------------- */

/* clang-format off */
static const char *const noops[] = {
    "[]",
    "[{'action':'assign-uuid','uuid':'FA6506C3-7681-40C8-86DC-E36561F83385'}]",
    "[{'action':'upgrade-format-version','format-version':1}]",
    "[{'action':'set-location','location':'s3://b/ns/t/'}]",
    "[{'action':'set-properties','updates':{}}]",
    "[{'action':'remove-properties','removals':[]}]",
    "[" ADD_SCHEMA(5, N) "]",
    "[" SET(2) "]",
    "[" FIRST(3, 0, "Spark", "'default-catalog':'prod',") "]",
    "[" FIRST(1, 0, "Spark", "'default-catalog':'prod',") "," SET(2) "]",
};
/* clang-format on */

START_TEST(test_view__changes_nothing)
{
    struct draft *d = draft_begin(a, tool_base(a, "view"));
    struct err err = {0};
    bool ok = updates_apply(d, tool_json(a, noops[_i]), &err);
    ck_assert_msg(ok, "%s: %s", noops[_i], err.msg);
    ck_assert_msg(d->changes == 0, "%s", noops[_i]);
}
END_TEST

/* -- What changes ------------------------------------------------------------------------------ */

/* clang-format off */
#define OLD_LOG "{'timestamp-ms':1573518431292,'version-id':1}," \
                "{'timestamp-ms':1573518981593,'version-id':2}"
static const struct effect {
    const char *updates, *expected;
} effects[] = {
    {"[" PROPERTY("owner", "you") "]",
     "{'properties':{'comment':'daily counts','owner':'you'},'current-version-id':2,"
     "'version-log':[" OLD_LOG "]}"},
    /* What describes a table is no reserved word in a view. */
    {"[" PROPERTY("format-version", "7") ",{'action':'remove-properties','removals':['owner','x']}]",
     "{'properties':{'comment':'daily counts','format-version':'7'},'format-version':1}"},
    {"[{'action':'set-location','location':'s3://b/new'}]", "{'location':'s3://b/new'}"},
    /* The next id whatever was asked for, the client's time and summary. */
    {"[" ADD(3, 1, BOTH) "," SET(-1) "]",
     "{'current-version-id':3,'version-log':[" OLD_LOG
     ",{'timestamp-ms':1700000000000,'version-id':3}]}"},
    {"[" ADD(1, 1, BOTH) "," SET(-1) "]", "{'current-version-id':3}"},
    {"[" ADD(-7, 1, BOTH) "," SET(-1) "]", "{'current-version-id':3}"},
    {"[" ADD(9, 1, BOTH) "," SET(9) "]", "{'current-version-id':9}"},
    {"[" ADD(2, 1, BOTH) "," ADD(2, 1, BOTH "," SQL("z", "duckdb")) "," SET(-1) "]",
     "{'current-version-id':4}"},
    /* Twice the same: the first of them. */
    {"[" ADD(3, 1, BOTH) "," ADD(4, 1, BOTH) "," SET(-1) "]", "{'current-version-id':3}"},
    /* A new schema by -1, by the id that the client gave it, types of any format version. */
    {"[" ADD_SCHEMA(1, FIELD(8, "t", "timestamp_ns")) "," ADD(3, -1, BOTH) "," SET(-1) "]",
     "{'current-version-id':3}"},
    {"[" ADD_SCHEMA(7, FIELD(8, "v", "variant")) "," ADD(3, 7, BOTH) "," SET(-1) "]",
     "{'current-version-id':3}"},
    /* Another summary or catalog is another version. */
    {"[" FIRST(3, 0, "Trino", "'default-catalog':'prod',") "]", "{'current-version-id':2}"},
    {"[" FIRST(3, 0, "Spark", "") "," FIRST(4, 1, "Spark", "'default-catalog':null,") "]",
     "{'current-version-id':2}"},
    /* The last one set is logged, once; a version from before with the time of the commit. */
    {"[" ADD(3, 1, BOTH) "," SET(-1) "," ADD(4, 0, BOTH) "," SET(-1) "]",
     "{'current-version-id':4,'version-log':[" OLD_LOG
     ",{'timestamp-ms':1700000000000,'version-id':4}]}"},
    {"[" PROPERTY("replace.drop-dialect.allowed", "TRUE") "," SET(1) "]",
     "{'current-version-id':1,'version-log':[" OLD_LOG
     ",{'timestamp-ms':1700000100000,'version-id':1}]}"},
    /* The dialects of the current version count, whatever was in between. */
    {"[" ADD(3, 1, SQL("x", "spark")) "," SET(-1) "," ADD(4, 1, SQL("x", "SPARK") ","
         SQL("y", "TRINO")) "," SET(-1) "]", "{'current-version-id':4}"},
};
/* clang-format on */

START_TEST(test_view__changes)
{
    expect(committed(tool_base(a, "view"), effects[_i].updates), effects[_i].expected);
}
END_TEST

START_TEST(test_view_add_version__stored_as_sent_under_its_new_ids)
{
    const struct metadata *m = committed(tool_base(a, "view"),
        "[" ADD_SCHEMA(4, FIELD(8, "x", "int")) "," ADD(1, -1, BOTH) "," SET(-1) "]");
    const struct part *v = metadata_find(m, PARTS_VERSIONS, 3);
    ck_assert_ptr_nonnull(v);
    ck_assert_int_eq(v->schema, 2);
    ck_assert_int_eq(v->ms, 1700000000000);
    json_t *tree = json_loadb(v->p, v->n, 0, NULL);
    ck_assert(json_equal(tree, tool_json(a, VERSION(3, 2, BOTH))));
    json_decref(tree);
    expect(m, "{'x-note':{'kept':[1.50,'\xc3\xa4/']}}");
    struct str note = metadata_member(m, "x-note");
    ck_assert(str_eq(note, STR("{ \"kept\" : [ 1.50, \"\\u00e4\\/\" ] }")));
    /* Slices of the base stay as they are. */
    v = metadata_find(m, PARTS_VERSIONS, 2);
    ck_assert_ptr_nonnull(strstr(arena_dup(a, (struct str){v->p, v->n}).p, "\"bytes\" : \"AAEC\""));
}
END_TEST

START_TEST(test_view__members_in_order)
{
    static const char *const order[] = {"view-uuid", "format-version", "location", "properties",
        "schemas", "current-version-id", "versions", "version-log", "x-note"};
    const struct metadata *m = committed(tool_base(a, "view"), "[" PROPERTY("k", "v") "]");
    const struct member_slice *members;
    ck_assert_uint_eq(metadata_members(m, &members), ARRAY_LEN(order));
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        ck_assert_msg(str_eq(members[i].key, str_from(order[i])), "%zu: %s", i, order[i]);
    /* Without properties the member is left out. */
    m = committed(m, "[{'action':'remove-properties','removals':['comment','owner','k']}]");
    ck_assert(!metadata_member(m, "properties").p);
    ck_assert_uint_eq(json_object_size(metadata_head(m)->properties), 0);
}
END_TEST

/* -- Versions that are too many ---------------------------------------------------------------- */

static const struct metadata *with_versions(int64_t n, const char *property)
{
    const struct metadata *m = committed(tool_base(a, "view"), property);
    for (int64_t i = 3; i <= n; i++)
        m = committed(
            m, arena_printf(a,
                   "[{'action':'add-view-version','view-version':{'version-id':1,'timestamp-ms':%d,"
                   "'schema-id':1,'summary':{'n':'%d'},'default-namespace':[],'representations':"
                   "[" BOTH "]}},{'action':'set-current-view-version','view-version-id':-1}]",
                   (int)i, (int)i)
                   .p);
    return m;
}

static struct str ids_of(const struct metadata *m, enum parts_kind kind)
{
    const struct parts *parts = metadata_parts(m, kind);
    struct str text = STR("");
    for (size_t i = 0; i < parts->n; i++)
        text =
            arena_printf(a, "%.*s%s%lld", STR_ARG(text), i ? "," : "", (long long)parts->v[i].id);
    return text;
}

START_TEST(test_view__ten_versions_are_kept)
{
    const struct metadata *m = with_versions(13, "[]");
    ck_assert_str_eq(ids_of(m, PARTS_VERSIONS).p, "4,5,6,7,8,9,10,11,12,13");
    ck_assert_str_eq(ids_of(m, PARTS_VERSION_LOG).p, "4,5,6,7,8,9,10,11,12,13");
}
END_TEST

START_TEST(test_view__num_entries_and_the_gap_in_the_log)
{
    const struct metadata *m =
        with_versions(4, "[" PROPERTY("version.history.num-entries", "3") "]");
    ck_assert_str_eq(ids_of(m, PARTS_VERSIONS).p, "2,3,4");
    m = committed(m, "[" SET(2) "]");
    ck_assert_str_eq(ids_of(m, PARTS_VERSION_LOG).p, "2,3,4,2");
    /* The current one stays although its id is the lowest; history before a gap goes. */
    m = committed(m, "[" PROPERTY("version.history.num-entries", "2") "]");
    ck_assert_str_eq(ids_of(m, PARTS_VERSIONS).p, "2,4");
    ck_assert_str_eq(ids_of(m, PARTS_VERSION_LOG).p, "4,2");
    m = committed(m, "[" PROPERTY("version.history.num-entries", "1") "]");
    ck_assert_str_eq(ids_of(m, PARTS_VERSIONS).p, "2");
    ck_assert_str_eq(ids_of(m, PARTS_VERSION_LOG).p, "2");
}
END_TEST

START_TEST(test_view__what_a_request_adds_is_kept)
{
    const struct metadata *m =
        committed(tool_base(a, "view"), "[" PROPERTY("version.history.num-entries", "1") "," ADD(
                                            3, 0, BOTH) "," ADD(4, 1, BOTH) "]");
    ck_assert_str_eq(ids_of(m, PARTS_VERSIONS).p, "2,3,4");
    ck_assert_str_eq(ids_of(m, PARTS_VERSION_LOG).p, "2");
}
END_TEST

/* -- The first state --------------------------------------------------------------------------- */

static const struct metadata *created(const char *request)
{
    struct draft *d;
    struct err err;
    bool ok = draft_create_view(a, tool_json(a, request), STR("s3://b/ns/t"), &d, &err);
    ck_assert_msg(ok, "%s", ok ? "" : err.msg);
    return tool_finish(a, d);
}

START_TEST(test_view_create__ids_begin_anew_and_all_else_stays)
{
    const struct metadata *m = created("{'name':'v','schema':" SCHEMA(
        5, FIELD(3, "n", "long") "," FIELD(4, "t", "variant")) ",'view-version':" VERSION(7, 5,
        BOTH) ",'properties':{'a':'b','uuid':'kept'}}");
    expect(m,
        "{'format-version':1,'location':'s3://b/ns/t','current-version-id':1,"
        "'properties':{'a':'b','uuid':'kept'},'versions':[" VERSION(1, 0,
            BOTH) "],"
                  "'version-log':[{'timestamp-ms':1700000000000,'version-id':1}],"
                  "'schemas':[" SCHEMA(0, FIELD(3, "n", "long") "," FIELD(4, "t", "variant")) "]}");
    ck_assert(uuid_is(metadata_head(m)->uuid));
    ck_assert_int_eq(metadata_kind(m), METADATA_VIEW);
}
END_TEST

/* clang-format off */
static const struct bad_request {
    const char *request;
    enum err_kind kind;
    const char *message;
} bad_requests[] = {
    {"{'schema':" SCHEMA(0, N) "}", ERR_BAD_REQUEST, "Missing field: view-version (/)"},
    {"{'view-version':" VERSION(1, 0, BOTH) "}", ERR_BAD_REQUEST, "Missing field: schema (/)"},
    {"{'schema':" SCHEMA(0, N) ",'view-version':" VERSION(1, 0, BOTH) ",'properties':{'a':1}}",
     ERR_BAD_REQUEST, "Expected a string, found an integer (/properties/a)"},
    {"{'schema':" SCHEMA(0, N) ",'view-version':"
     VERSION(1, 0, SQL("x", "trino") "," SQL("y", "Trino")) "}", ERR_INVALID_ARGUMENT,
     "Invalid view version: Cannot add multiple queries for dialect trino"},
    {"{'schema':" SCHEMA(0, N) ",'view-version':" VERSION(1, 0, "{'type':'x','sql':'','dialect':''}")
     "}", ERR_INVALID_ARGUMENT, "Found unsupported view representations: [x]"},
};
/* clang-format on */

START_TEST(test_view_create__refused)
{
    struct draft *d;
    struct err err;
    const struct bad_request *r = &bad_requests[_i];
    ck_assert(!draft_create_view(a, tool_json(a, r->request), STR("s3://b/v"), &d, &err));
    ck_assert_str_eq(err.msg, r->message);
    ck_assert_str_eq(err_name(err.kind), err_name(r->kind));
}
END_TEST

/* -- The next file, requirements --------------------------------------------------------------- */

START_TEST(test_view_file__packed_unless_told_otherwise)
{
    static const struct {
        const char *updates, *end;
    } rows[] = {
        {"[]",         ".gz.metadata.json"},
        { "[" PROPERTY("write.metadata.compression-codec", "GZIP") "]", ".gz.metadata.json"},
        { "[" PROPERTY("write.metadata.compression-codec", "none") "]",    ".metadata.json"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct draft *d = draft_begin(a, tool_base(a, "view"));
        struct str location, token;
        bool gzip;
        struct err err;
        ck_assert(updates_apply(d, tool_json(a, rows[i].updates), &err));
        ck_assert(draft_file(d, &location, &token, &gzip, &err));
        struct str want =
            arena_printf(a, "s3://b/ns/t/metadata/00008-%.*s%s", STR_ARG(token), rows[i].end);
        ck_assert_str_eq(location.p, want.p);
        ck_assert_int_eq(gzip, strstr(rows[i].end, ".gz") != NULL);
    }
}
END_TEST

/* clang-format off */
static const struct requirement_row {
    const char *base, *requirements, *message;
} requirement_rows[] = {
    {"view", "[]", NULL},
    {"view", "[{'type':'assert-view-uuid','uuid':'" UUID "'}]", NULL},
    {"view", "[{'type':'ASSERT-VIEW-UUID','uuid':'FA6506C3-7681-40C8-86DC-E36561F83385'}]", NULL},
    {"view", "[{'type':'assert-view-uuid','uuid':'x'}]",
     "Requirement failed: view UUID does not match: expected " UUID " != x"},
    {"view", "[{'type':'assert-table-uuid','uuid':'x'}]",
     "Cannot validate AssertTableUUID against a view"},
    {"view", "[{'type':'assert-create'}]",
     "Cannot validate AssertTableDoesNotExist against a view"},
    {"view", "[{'type':'assert-current-schema-id','current-schema-id':0}]",
     "Cannot validate AssertCurrentSchemaID against a view"},
    {"v2", "[{'type':'assert-view-uuid','uuid':'x'}]",
     "Cannot validate AssertViewUUID against a table"},
};
/* clang-format on */

START_TEST(test_view_requirements)
{
    const struct requirement_row *r = &requirement_rows[_i];
    struct err err = {0};
    bool ok = requirements_check(tool_base(a, r->base), tool_json(a, r->requirements), &err);
    ck_assert_msg(ok == !r->message, "%s: %s", r->requirements, err.msg);
    if (ok)
        return;
    ck_assert_str_eq(err.msg, r->message);
    ck_assert_int_eq(err.kind,
        str_starts(str_from(r->message), STR("Req")) ? ERR_COMMIT_FAILED : ERR_VALIDATION);
}
END_TEST

/* -- Files ------------------------------------------------------------------------------------- */

/* clang-format off */
#define V1 "{'version-id':1,'timestamp-ms':1,'schema-id':0,'summary':{},'default-namespace':[]," \
           "'representations':[]}"
#define FILE_OF(uuid, more, versions, log)                                                         \
    "{'format-version':1,'view-uuid':'" uuid "','location':'s3://b/v','schemas':[{'schema-id':0,"  \
    "'fields':[]}],'current-version-id':1,'versions':[" versions "],'version-log':" log more "}"
static const struct file {
    const char *text, *message; /* NULL: it is read */
} files[] = {
    {FILE_OF(UUID, "", V1, "[]"), NULL},
    {FILE_OF(UUID, ",'properties':null", V1, "[]"), NULL},
    /* A table's members mean nothing here. */
    {FILE_OF(UUID, ",'snapshots':7,'refs':[],'last-updated-ms':'x'", V1, "[]"), NULL},
    {FILE_OF("x", "", V1, "[]"), "view-uuid is no UUID: \"x\""},
    {FILE_OF(UUID, ",'properties':{'version.history.num-entries':'0'}", V1, "[]"),
     "version.history.num-entries must be positive but was 0"},
    {FILE_OF(UUID, "", "", "[]"), "current-version-id is 1, which is not in versions"},
    {FILE_OF(UUID, "", V1 "," V1, "[]"), "versions: the id 1 twice"},
    {FILE_OF(UUID, "", V1, "7"), "version-log: Invalid JSON at byte "},
    {FILE_OF(UUID, "", V1, "[{'version-id':1}]"),
     "version-log: element 0: the member \"timestamp-ms\" is missing"},
    {FILE_OF(UUID, "", "{}", "[]"), "versions: element 0: the member \"version-id\" is missing"},
    {FILE_OF(UUID, "", "{'version-id':1,'timestamp-ms':1,'representations':[]}", "[]"),
     "versions: element 0: the member \"schema-id\" is missing"},
    {FILE_OF(UUID, "", "{'version-id':1,'timestamp-ms':1,'schema-id':3,'summary':{},"
     "'default-namespace':[],'representations':[]}", "[]"),
     "versions: 1 has the schema-id 3, which is not in schemas"},
    {FILE_OF(UUID, "", "{'version-id':1,'timestamp-ms':1,'schema-id':0,'summary':{'a':1},"
     "'default-namespace':[],'representations':[]}", "[]"), "versions: element 0: summary: a: "},
    {FILE_OF(UUID, "", "{'version-id':1,'timestamp-ms':1,'schema-id':0,'summary':{},"
     "'default-namespace':[1],'representations':[]}", "[]"),
     "versions: element 0: default-namespace: "},
    {FILE_OF(UUID, "", "{'version-id':1,'timestamp-ms':1,'schema-id':0,'summary':{},"
     "'default-namespace':[],'representations':[{'type':'SQL','sql':'x'}]}", "[]"),
     "versions: element 0: representations: element 0: the member \"dialect\" is missing or no "
     "string"},
    {FILE_OF(UUID, "", "{'version-id':1,'timestamp-ms':1,'schema-id':0,'summary':{},"
     "'default-namespace':[],'representations':[{'sql':'x','dialect':'y'}]}", "[]"),
     "versions: element 0: representations: element 0: the member \"type\" is missing or no "
     "string"},
    {"{'view-uuid':'" UUID "','format-version':1}", "the member \"location\" is missing"},
    {"{'view-uuid':'" UUID "','format-version':2}", "Cannot read unsupported version 2"},
    {"{'view-uuid':'" UUID "'}", "the member \"format-version\" is missing"},
};
/* clang-format on */

START_TEST(test_view_file__read)
{
    const struct file *f = &files[_i];
    struct metadata *m = NULL;
    struct err err = {0};
    char *p = arena_cstr(a, str_from(f->text));
    for (char *c = p; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    struct str text = str_from(p);
    bool ok = metadata_from_file(text, STR("s3://b/v/1.metadata.json"), &m, &err);
    ck_assert_msg(ok == !f->message, "%s: %s", f->text, ok ? "was read" : err.msg);
    if (!ok) {
        struct str want = arena_printf(
            a, "Cannot read the view metadata s3://b/v/1.metadata.json: %s", f->message);
        ck_assert_msg(str_starts(str_from(err.msg), want), "%s\nnot %s", err.msg, want.p);
        ck_assert_int_eq(err_status(err.kind), 400);
        return;
    }
    ck_assert_int_eq(metadata_kind(m), METADATA_VIEW);
    ck_assert_uint_eq(metadata_parts(m, PARTS_SNAPSHOTS)->n, 0);
    const struct metadata *held = metadata_hold(a, m);
    committed(held, "[" PROPERTY("k", "v") "]");
}
END_TEST

/* Lists of views mean nothing in a table's file, and travel on in it. */
START_TEST(test_view_file__members_of_a_view_in_a_table)
{
    struct str text = tool_text(a, tool_base(a, "v2"));
    text =
        arena_printf(a, "%.*s,\"versions\":7,\"version-log\":{\"a\":[]}}", (int)text.n - 2, text.p);
    const struct metadata *m = tool_metadata(a, text, BASE_LOCATION);
    ck_assert_int_eq(metadata_kind(m), METADATA_TABLE);
    ck_assert_uint_eq(metadata_parts(m, PARTS_VERSIONS)->n, 0);
    expect(committed(m, "[" PROPERTY("k", "v") "]"), "{'versions':7,'version-log':{'a':[]}}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/view");
    TCase *cases = tcase_create("catalog/view");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_view__refused, 0, (int)ARRAY_LEN(refusals));
    tcase_add_loop_test(cases, test_view__changes_nothing, 0, (int)ARRAY_LEN(noops));
    tcase_add_loop_test(cases, test_view__changes, 0, (int)ARRAY_LEN(effects));
    tcase_add_test(cases, test_view_add_version__stored_as_sent_under_its_new_ids);
    tcase_add_test(cases, test_view__members_in_order);
    tcase_add_test(cases, test_view__ten_versions_are_kept);
    tcase_add_test(cases, test_view__num_entries_and_the_gap_in_the_log);
    tcase_add_test(cases, test_view__what_a_request_adds_is_kept);
    tcase_add_test(cases, test_view_create__ids_begin_anew_and_all_else_stays);
    tcase_add_loop_test(cases, test_view_create__refused, 0, (int)ARRAY_LEN(bad_requests));
    tcase_add_test(cases, test_view_file__packed_unless_told_otherwise);
    tcase_add_loop_test(cases, test_view_requirements, 0, (int)ARRAY_LEN(requirement_rows));
    tcase_add_loop_test(cases, test_view_file__read, 0, (int)ARRAY_LEN(files));
    tcase_add_test(cases, test_view_file__members_of_a_view_in_a_table);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
