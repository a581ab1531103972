#include "draft.h"

#include <check.h>
#include <stdlib.h>

#include "buf.h"
#include "clock.h"
#include "draft_tool.h"
#include "metric.h"
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

static int64_t counter(const char *name)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    metric_render(&b);
    struct str text = buf_take(&b, a);
    struct str line = arena_printf(a, "\nfirn_%s ", name);
    const char *at = strstr(text.p, line.p);
    ck_assert_ptr_nonnull(at);
    int64_t v;
    struct str rest = str_from(at + line.n);
    ck_assert(str_to_i64(str_cut(&rest, '\n'), &v));
    return v;
}

#define TOUCH "[{'action':'set-properties','updates':{'k':'v'}}]"
#define ROLLBACK                                                                                   \
    "[{'action':'set-snapshot-ref','ref-name':'main','type':'branch','snapshot-id':10}]"

/* -- The next file's name ---------------------------------------------------------------------- */

/* clang-format off */
static const struct name {
    const char *base, *properties, *begin, *end;
} names[] = {
    {"s3://b/t/metadata/00000-x.metadata.json", "{}", "s3://b/ns/e/metadata/00001-", ".metadata.json"},
    {"s3://b/t/metadata/00007-x.gz.metadata.json", "{}", "s3://b/ns/e/metadata/00008-", ".metadata.json"},
    {"s3://b/t/metadata/99999-x.metadata.json", "{}", "s3://b/ns/e/metadata/100000-", ".metadata.json"},
    {"s3://b/t/metadata/v3.metadata.json", "{}", "s3://b/ns/e/metadata/00000-", ".metadata.json"},
    {"s3://b/t/metadata/x-00007.metadata.json", "{}", "s3://b/ns/e/metadata/00000-", ".metadata.json"},
    {"s3://b/t/metadata/-7-x.metadata.json", "{}", "s3://b/ns/e/metadata/00000-", ".metadata.json"},
    {"s3://b/t/metadata/99999999999-x.metadata.json", "{}", "s3://b/ns/e/metadata/00000-", ".metadata.json"},
    {"00004-x.metadata.json", "{}", "s3://b/ns/e/metadata/00005-", ".metadata.json"},
    {"00000-x", "{'write.metadata.path':'s3://m/p/'}", "s3://m/p/00001-", ".metadata.json"},
    {"00000-x", "{'write.metadata.compression-codec':'GZIP'}", "s3://b/ns/e/metadata/00001-", ".gz.metadata.json"},
    {"00000-x", "{'write.metadata.compression-codec':'None'}", "s3://b/ns/e/metadata/00001-", ".metadata.json"},
};
/* clang-format on */

START_TEST(test_draft_file__name_follows_the_base)
{
    const struct name *n = &names[_i];
    struct str text = tool_text(a, tool_base(a, "empty")), location, token;
    struct draft *d = draft_begin(a, tool_metadata(a, text, n->base));
    bool gzip;
    struct err err;
    json_object_update(draft_properties(d), tool_json(a, n->properties));
    ck_assert(draft_file(d, &location, &token, &gzip, &err));
    ck_assert_msg(str_starts(location, str_from(n->begin)), "%s", location.p);
    ck_assert_msg(str_ends(location, str_from(n->end)), "%s", location.p);
    ck_assert_int_eq(gzip, strstr(n->end, ".gz") != NULL);
    ck_assert(!strstr(location.p, ".gz") == !gzip);
    ck_assert(uuid_is(token));
    ck_assert_ptr_nonnull(strstr(location.p, token.p));
}
END_TEST

START_TEST(test_draft_file__unknown_codec)
{
    struct draft *d = draft_begin(a, tool_base(a, "empty"));
    struct str location, token;
    bool gzip;
    struct err err;
    json_object_set_new(
        draft_properties(d), "write.metadata.compression-codec", json_string("zstd"));
    ck_assert(!draft_file(d, &location, &token, &gzip, &err));
    ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
    ck_assert_str_eq(err.msg, "Invalid codec name: zstd");
}
END_TEST

START_TEST(test_draft_file__a_moved_table_writes_to_its_new_place)
{
    struct draft *d = draft_begin(a, tool_base(a, "v2"));
    struct str location, token;
    bool gzip;
    struct err err;
    ck_assert(updates_apply(
        d, tool_json(a, "[{'action':'set-location','location':'s3://new/t/'}]"), &err));
    ck_assert(d->location_changed);
    ck_assert(draft_file(d, &location, &token, &gzip, &err));
    ck_assert(str_starts(location, STR("s3://new/t/metadata/00008-")));
}
END_TEST

/* -- The document ------------------------------------------------------------------------------ */

START_TEST(test_draft_finish__members_in_order_and_unknown_ones_byte_for_byte)
{
    const struct metadata *base = tool_base(a, "v2"), *m = committed(base, ROLLBACK);
    static const char *const order[] = {"format-version", "table-uuid", "location",
        "last-sequence-number", "last-updated-ms", "last-column-id", "current-schema-id", "schemas",
        "default-spec-id", "partition-specs", "last-partition-id", "default-sort-order-id",
        "sort-orders", "properties", "current-snapshot-id", "refs", "snapshots", "statistics",
        "partition-statistics", "snapshot-log", "metadata-log", "x-note"};
    const struct member_slice *members;
    ck_assert_uint_eq(metadata_members(m, &members), ARRAY_LEN(order));
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        ck_assert(str_eq(members[i].key, str_from(order[i])));
    ck_assert(str_eq(metadata_member(m, "x-note"), metadata_member(base, "x-note")));
    ck_assert(
        str_eq(metadata_member(m, "x-note"), STR("{ \"kept\" : [ 1.50, 1e2, \"\\u00e4\\/\" ] }")));
    ck_assert(str_eq(metadata_member(m, "properties"), metadata_member(base, "properties")));
    for (size_t i = 0; i < metadata_parts(m, PARTS_SNAPSHOTS)->n; i++) {
        const struct part *x = &metadata_parts(m, PARTS_SNAPSHOTS)->v[i];
        const struct part *y = &metadata_parts(base, PARTS_SNAPSHOTS)->v[i];
        ck_assert(str_eq((struct str){x->p, x->n}, (struct str){y->p, y->n}));
    }
}
END_TEST

START_TEST(test_draft_finish__always_written_members)
{
    const struct metadata *m = committed(tool_base(a, "empty"), TOUCH);
    expect(m, "{'properties':{'k':'v'},'current-snapshot-id':-1,'refs':{},'snapshots':[],"
              "'statistics':[],'partition-statistics':[],'snapshot-log':[],"
              "'last-sequence-number':0,'last-partition-id':999}");
    ck_assert_ptr_null(metadata_member(m, "encryption-keys").p);
    ck_assert_ptr_null(metadata_member(m, "next-row-id").p);
    ck_assert_ptr_null(metadata_member(m, "schema").p);
}
END_TEST

START_TEST(test_draft_finish__v1_writes_for_old_readers_v2_does_not)
{
    const struct metadata *m = committed(tool_base(a, "v1"), TOUCH);
    expect(m, "{'partition-spec':[{'name':'ts_day','transform':'day','source-id':2,"
              "'field-id':1000}],'current-snapshot-id':10}");
    ck_assert_ptr_nonnull(metadata_member(m, "schema").p);
    ck_assert_ptr_null(metadata_member(m, "last-sequence-number").p);
    m = committed(m, "[{'action':'upgrade-format-version','format-version':2}]");
    ck_assert_ptr_null(metadata_member(m, "schema").p);
    ck_assert_ptr_null(metadata_member(m, "partition-spec").p);
    expect(m, "{'last-sequence-number':0}");
}
END_TEST

START_TEST(test_draft_finish__base_stays_as_it_was)
{
    const struct metadata *base = tool_base(a, "v2");
    struct str before = arena_dup(a, tool_text(a, base));
    json_t *properties = json_deep_copy(metadata_head(base)->properties);
    json_t *refs = json_deep_copy(metadata_head(base)->refs);
    committed(base, "[{'action':'set-properties','updates':{'owner':'x'}},"
                    "{'action':'remove-snapshots','snapshot-ids':[10,20]},"
                    "{'action':'remove-snapshot-ref','ref-name':'dev'},"
                    "{'action':'remove-schemas','schema-ids':[0]}]");
    ck_assert(str_eq(before, tool_text(a, base)));
    ck_assert(json_equal(properties, metadata_head(base)->properties));
    ck_assert(json_equal(refs, metadata_head(base)->refs));
    ck_assert_uint_eq(metadata_parts(base, PARTS_SNAPSHOTS)->n, 3);
    json_decref(properties);
    json_decref(refs);
}
END_TEST

START_TEST(test_draft_finish__work_is_counted_and_small)
{
    struct err err;
    struct draft *d = draft_begin(a, tool_base(a, "v2"));
    ck_assert(updates_apply(d, tool_json(a, ROLLBACK), &err));
    int64_t parses = counter("json_parses_total"), dumps = counter("json_dumps_total");
    int64_t copied = counter("bytes_copied_total");
    struct metadata *m;
    ck_assert(draft_finish(d, STR("s3://b/next.metadata.json"), &m, &err));
    metadata_hold(a, m);
    ck_assert_int_eq(counter("json_parses_total") - parses, 0);
    ck_assert_int_eq(counter("json_dumps_total") - dumps, 1); /* refs */
    ck_assert_int_eq(counter("bytes_copied_total") - copied, (int64_t)tool_text(a, m).n);
}
END_TEST

/* -- Time and logs ----------------------------------------------------------------------------- */

START_TEST(test_draft_finish__time_never_runs_back)
{
    clock_freeze(1600000000000);
    expect(committed(tool_base(a, "v2"), ROLLBACK),
        "{'last-updated-ms':1700000030000,'snapshot-log':[{'timestamp-ms':1700000010000,"
        "'snapshot-id':10},{'timestamp-ms':1700000020000,'snapshot-id':20},"
        "{'timestamp-ms':1700000030000,'snapshot-id':10}]}");
}
END_TEST

#define AT(ms)                                                                                     \
    "[{'action':'add-snapshot','snapshot':{'snapshot-id':40,'parent-snapshot-id':20,"              \
    "'sequence-number':4,'timestamp-ms':" #ms ",'summary':{},'manifest-list':'m'}},"               \
    "{'action':'set-snapshot-ref','ref-name':'main','type':'branch','snapshot-id':40}]"

START_TEST(test_draft_finish__a_writer_whose_clock_is_ahead)
{
    const struct metadata *m = committed(tool_base(a, "v2"), AT(1700000700000));
    expect(m, "{'last-updated-ms':1700000700000,'snapshot-log':[{'timestamp-ms':1700000010000,"
              "'snapshot-id':10},{'timestamp-ms':1700000020000,'snapshot-id':20},"
              "{'timestamp-ms':1700000700000,'snapshot-id':40}]}");
    expect(committed(m, TOUCH), "{'last-updated-ms':1700000700000}");
}
END_TEST

START_TEST(test_draft_finish__a_writer_whose_clock_is_behind)
{
    expect(committed(tool_base(a, "v2"), AT(1700000000001)),
        "{'last-updated-ms':1700000100000,'snapshot-log':[{'timestamp-ms':1700000010000,"
        "'snapshot-id':10},{'timestamp-ms':1700000020000,'snapshot-id':20},"
        "{'timestamp-ms':1700000000001,'snapshot-id':40}]}");
    expect(committed(tool_base(a, "v2"), AT(1699990000000)),
        "{'last-updated-ms':1700000100000,'snapshot-log':[{'timestamp-ms':1700000010000,"
        "'snapshot-id':10},{'timestamp-ms':1700000020000,'snapshot-id':20},"
        "{'timestamp-ms':1700000020000,'snapshot-id':40}]}");
}
END_TEST

START_TEST(test_draft_finish__time_at_the_ends_of_its_range)
{
    committed(tool_base(a, "v2"), AT(9223372036854775807));
    committed(tool_base(a, "v2"), AT(-9223372036854775807));
    committed(committed(tool_base(a, "v2"), AT(9223372036854775807)), ROLLBACK);
}
END_TEST

START_TEST(test_draft_finish__metadata_log_keeps_the_newest)
{
    const struct metadata *m = tool_base(a, "v3");
    expect(committed(m, TOUCH),
        "{'metadata-log':[{'timestamp-ms':1700000003000,'metadata-file':'m3'},"
        "{'timestamp-ms':1700000020000,'metadata-file':'" BASE_LOCATION "'}]}");
    /* The limit is the one after the commit; it is at least one and may grow again. */
    m = committed(m, "[{'action':'set-properties','updates':{"
                     "'write.metadata.previous-versions-max':'0'}}]");
    expect(
        m, "{'metadata-log':[{'timestamp-ms':1700000020000,'metadata-file':'" BASE_LOCATION "'}]}");
    m = committed(m, "[{'action':'set-properties','updates':{"
                     "'write.metadata.previous-versions-max':'4'}}]");
    ck_assert_uint_eq(metadata_parts(m, PARTS_METADATA_LOG)->n, 2);
    m = committed(m, "[{'action':'set-properties','updates':{"
                     "'write.metadata.previous-versions-max':'many'}}]");
    for (int i = 0; i < 105; i++)
        m = committed(m, TOUCH);
    ck_assert_uint_eq(metadata_parts(m, PARTS_METADATA_LOG)->n, 100);
}
END_TEST

START_TEST(test_draft_finish__a_table_without_history_may_expire_snapshots)
{
    json_t *doc = json_deep_copy(tool_document(a, tool_base(a, "v2")));
    json_object_set_new(doc, "snapshot-log", json_array());
    char *text = json_dumps(doc, 0);
    json_decref(doc);
    const struct metadata *m = tool_metadata(a, str_from(text), BASE_LOCATION);
    free(text);
    expect(committed(m, "[{'action':'remove-snapshots','snapshot-ids':[10]}]"),
        "{'snapshot-log':[],'current-snapshot-id':20}");
}
END_TEST

START_TEST(test_draft_finish__a_log_that_lies_is_refused)
{
    json_t *doc = json_deep_copy(tool_document(a, tool_base(a, "v2")));
    json_array_remove(json_object_get(doc, "snapshot-log"), 1);
    char *text = json_dumps(doc, 0);
    json_decref(doc);
    const struct metadata *m = tool_metadata(a, str_from(text), BASE_LOCATION), *out;
    free(text);
    struct err err;
    ck_assert(
        !tool_commit(a, m, "[{'action':'remove-snapshots','snapshot-ids':[30]}]", &out, &err));
    ck_assert_int_eq(err.kind, ERR_VALIDATION);
    ck_assert_str_eq(
        err.msg, "Cannot set invalid snapshot log: latest entry is not the current snapshot");
    /* Without a rewrite nobody looks. */
    committed(m, TOUCH);
}
END_TEST

/* -- New tables -------------------------------------------------------------------------------- */

#define COLUMNS                                                                                    \
    "'schema':{'type':'struct','schema-id':9,'identifier-field-ids':[3],'fields':["                \
    "{'id':3,'name':'id','required':true,'type':'long','doc':'😀'},"                             \
    "{'id':4,'name':'s','required':false,'doc':null,'type':{'type':'struct','fields':["            \
    "{'id':1,'name':'x','required':false,'type':'DECIMAL(9,2)'}]}},"                               \
    "{'id':2,'name':'ts','required':false,'type':'timestamp'}]}"

static struct draft *created(const char *request)
{
    struct draft *d = NULL;
    struct err err;
    bool ok = draft_create(a, tool_json(a, request), STR("s3://b/ns/new//"), &d, &err);
    ck_assert_msg(ok, "%s: %s", request, ok ? "" : err.msg);
    return d;
}

START_TEST(test_draft_create__ids_are_given_anew)
{
    const struct metadata *m = tool_finish(a,
        created("{'name':'t'," COLUMNS ","
                "'partition-spec':{'type':'struct','spec-id':5,'fields':[{'name':'x_b','transform':"
                "'bucket[4]','source-id':1,'field-id':null},{'name':'d','transform':'day','source-"
                "id':2,"
                "'field-id':0}]},"
                "'write-order':{'order-id':0,'fields':[{'transform':'identity','source-id':3,'"
                "direction':"
                "'desc','null-order':'nulls-last'}]},"
                "'properties':{'format-version':'2','owner':'me','uuid':'drop'}}"));
    expect(m,
        "{'format-version':2,'location':'s3://b/ns/new','last-sequence-number':0,"
        "'last-updated-ms':1700000100000,'last-column-id':4,'current-schema-id':0,"
        "'schemas':[{'type':'struct','schema-id':0,'identifier-field-ids':[1],'fields':["
        "{'id':1,'name':'id','required':true,'type':'long','doc':'😀'},"
        "{'id':2,'name':'s','required':false,'type':{'type':'struct','fields':["
        "{'id':4,'name':'x','required':false,'type':'decimal(9, 2)'}]}},"
        "{'id':3,'name':'ts','required':false,'type':'timestamp'}]}],"
        "'default-spec-id':0,'partition-specs':[{'spec-id':0,'fields':["
        "{'name':'x_b','transform':'bucket[4]','source-id':4,'field-id':1000},"
        "{'name':'d','transform':'day','source-id':3,'field-id':1001}]}],"
        "'last-partition-id':1001,'default-sort-order-id':1,'sort-orders':[{'order-id':1,"
        "'fields':[{'transform':'identity','source-id':1,'direction':'desc','null-order':"
        "'nulls-last'}]}],'properties':{'owner':'me','write.parquet.compression-codec':'zstd'},"
        "'current-snapshot-id':-1,'refs':{},'snapshots':[],'statistics':[],"
        "'partition-statistics':[],'snapshot-log':[],'metadata-log':[]}");
    ck_assert(uuid_is(metadata_head(m)->uuid));
}
END_TEST

START_TEST(test_draft_create__least_of_all)
{
    const struct metadata *m =
        tool_finish(a, created("{'name':'t','schema':{'fields':[]},'location':null,"
                               "'partition-spec':null,'write-order':null,'properties':null}"));
    expect(m, "{'format-version':2,'last-column-id':0,'last-partition-id':999,"
              "'partition-specs':[{'spec-id':0,'fields':[]}],'default-sort-order-id':0,"
              "'sort-orders':[{'order-id':0,'fields':[]}],"
              "'properties':{'write.parquet.compression-codec':'zstd'}}");
}
END_TEST

START_TEST(test_draft_create__versions_one_and_three)
{
    const struct metadata *m = tool_finish(
        a, created(
               "{'name':'t'," COLUMNS
               ",'properties':{'format-version':'1','write.parquet.compression-codec':'snappy'}}"));
    expect(m, "{'format-version':1,'partition-spec':[],'current-snapshot-id':-1,"
              "'properties':{'write.parquet.compression-codec':'snappy'}}");
    ck_assert_ptr_nonnull(metadata_member(m, "schema").p);
    m = tool_finish(a, created("{'name':'t','schema':{'fields':[{'id':7,'name':'a','required':true,"
                               "'type':'int','initial-default':12,'write-default':10},"
                               "{'id':8,'name':'v','required':false,'type':'variant'}]},"
                               "'properties':{'format-version':'3'}}"));
    expect(m, "{'format-version':3,'next-row-id':0,'current-snapshot-id':null,'last-column-id':2}");
}
END_TEST

/* clang-format off */
static const struct bad_create {
    const char *request;
    enum err_kind kind;
    const char *message;
} bad_creates[] = {
    {"{'name':'t'}", ERR_BAD_REQUEST, "Missing field: schema (/)"},
    {"{'name':'t'," COLUMNS ",'properties':{'a':null}}", ERR_BAD_REQUEST, "Expected a string, found null (/properties/a)"},
    {"{'name':'t'," COLUMNS ",'properties':{'format-version':'two'}}", ERR_INVALID_ARGUMENT, "Invalid format-version, expected an integer: two (/properties/format-version)"},
    {"{'name':'t'," COLUMNS ",'properties':{'format-version':'5'}}", ERR_INVALID_ARGUMENT, "Unsupported format version: v5 (supported: v3) (/properties/format-version)"},
    {"{'name':'t'," COLUMNS ",'properties':{'format-version':'0'}}", ERR_INVALID_ARGUMENT, "Unsupported format version: v0 (supported: v3) (/properties/format-version)"},
    {"{'name':'t'," COLUMNS ",'properties':{'commit.retry.num-retries':'x'}}", ERR_VALIDATION, "Table property commit.retry.num-retries must have integer value"},
    {"{'name':'t'," COLUMNS ",'properties':{'commit.retry.min-wait-ms':'-1'}}", ERR_VALIDATION, "Table property commit.retry.min-wait-ms must have non negative integer value"},
    {"{'name':'t','schema':{'fields':[{'id':1,'name':'i','required':true,'type':'int'}]},'properties':{'write.metadata.metrics.column.x':'full'}}", ERR_VALIDATION,
     "Invalid metrics config, could not find column x from table prop write.metadata.metrics.column.x in schema table {\n  1: i: required int\n}"},
    {"{'name':'t','schema':{'fields':[{'id':1,'name':'v','required':false,'type':'variant'}]}}", ERR_INVALID_ARGUMENT, "Invalid schema for v2:\n- Invalid type for v: variant is not supported until v3"},
    {"{'name':'t'," COLUMNS ",'partition-spec':{'fields':[{'name':'p','transform':'identity','source-id':9}]}}", ERR_VALIDATION, "Cannot find source column for partition field: 1000: p: identity(9)"},
    {"{'name':'t'," COLUMNS ",'partition-spec':{'fields':[7]}}", ERR_BAD_REQUEST, "Invalid partition spec: field 0 is not an object (/partition-spec/fields/0)"},
    {"{'name':'t'," COLUMNS ",'partition-spec':{}}", ERR_BAD_REQUEST, "Missing field: fields (/partition-spec)"},
    {"{'name':'t'," COLUMNS ",'write-order':{'fields':[{'transform':'identity','source-id':4,'direction':'asc','null-order':'nulls-first'}]}}", ERR_VALIDATION, "Cannot sort by non-primitive source field: struct<1: x: optional decimal(9, 2)>"},
};
/* clang-format on */

START_TEST(test_draft_create__refused)
{
    const struct bad_create *b = &bad_creates[_i];
    struct draft *d;
    struct err err;
    bool ok = draft_create(a, tool_json(a, b->request), STR("s3://b/t"), &d, &err);
    ck_assert_msg(!ok, "accepted: %s", b->request);
    ck_assert_str_eq(err.msg, b->message);
    ck_assert_str_eq(err_name(err.kind), err_name(b->kind));
}
END_TEST

START_TEST(test_draft_create__metrics_of_a_nested_column)
{
    created("{'name':'t'," COLUMNS ",'properties':{'write.metadata.metrics.column.s.x':'full',"
            "'commit.retry.num-retries':'0'}}");
}
END_TEST

/* -- Create commits ---------------------------------------------------------------------------- */

#define UUID "2df82b80-0a72-495d-9b8e-12a1ff5b1111"
#define CREATE_HEAD(version)                                                                       \
    "{'action':'assign-uuid','uuid':'" UUID "'},"                                                  \
    "{'action':'upgrade-format-version','format-version':" #version "},"                           \
    "{'action':'add-schema','schema':{'type':'struct','schema-id':3,'fields':["                    \
    "{'id':1,'name':'id','required':true,'type':'long'},"                                          \
    "{'id':7,'name':'d','required':false,'type':'date'}]}},"                                       \
    "{'action':'set-current-schema','schema-id':-1},"                                              \
    "{'action':'add-spec','spec':{'spec-id':0,'fields':[{'name':'d','transform':'identity',"       \
    "'source-id':7,'field-id':1000}]}},{'action':'set-default-spec','spec-id':-1},"
#define CREATE_TAIL                                                                                \
    "{'action':'add-sort-order','sort-order':{'order-id':0,'fields':[]}},"                         \
    "{'action':'set-default-sort-order','sort-order-id':-1},"                                      \
    "{'action':'set-location','location':'s3://b/ns/c/'},"                                         \
    "{'action':'set-properties','updates':{'a':'b'}}"
#define FIRST_SNAPSHOTS                                                                            \
    ",{'action':'add-snapshot','snapshot':{'snapshot-id':1,'sequence-number':1,'timestamp-ms':"    \
    "1700000090000,'summary':{'operation':'append'},'manifest-list':'m'}},"                        \
    "{'action':'set-snapshot-ref','ref-name':'main','type':'branch','snapshot-id':1},"             \
    "{'action':'add-snapshot','snapshot':{'snapshot-id':2,'parent-snapshot-id':1,"                 \
    "'sequence-number':2,'timestamp-ms':1700000095000,'summary':{'operation':'append'},"           \
    "'manifest-list':'m'}},"                                                                       \
    "{'action':'set-snapshot-ref','ref-name':'main','type':'branch','snapshot-id':2}"

static struct draft *create_commit(int64_t version, const char *updates)
{
    struct err err;
    struct draft *d = draft_begin_empty(a, version);
    bool ok = updates_apply(d, tool_json(a, updates), &err) && draft_check_complete(d, &err);
    ck_assert_msg(ok, "%s: %s", updates, ok ? "" : err.msg);
    return d;
}

START_TEST(test_draft_begin_empty__a_whole_create_commit)
{
    const struct metadata *m =
        tool_finish(a, create_commit(2, "[" CREATE_HEAD(2) CREATE_TAIL FIRST_SNAPSHOTS "]"));
    expect(m, "{'format-version':2,'table-uuid':'" UUID "','location':'s3://b/ns/c',"
              "'last-column-id':7,'current-schema-id':0,'default-spec-id':0,"
              "'last-partition-id':1000,'default-sort-order-id':0,'last-sequence-number':2,"
              "'current-snapshot-id':2,'properties':{'a':'b'},'metadata-log':[],"
              "'snapshot-log':[{'timestamp-ms':1700000095000,'snapshot-id':2}],"
              "'refs':{'main':{'snapshot-id':2,'type':'branch'}}}");
}
END_TEST

START_TEST(test_draft_begin_empty__v1_is_no_downgrade)
{
    const struct metadata *m = tool_finish(a, create_commit(1, "[" CREATE_HEAD(1) CREATE_TAIL "]"));
    expect(m, "{'format-version':1,'table-uuid':'" UUID "','partition-spec':[{'name':'d',"
              "'transform':'identity','source-id':7,'field-id':1000}]}");
    m = tool_finish(a, create_commit(3, "[" CREATE_HEAD(3) CREATE_TAIL "]"));
    expect(m, "{'format-version':3,'next-row-id':0}");
}
END_TEST

START_TEST(test_draft_begin_empty__no_such_version)
{
    struct err err;
    struct draft *d = draft_begin_empty(a, 5);
    ck_assert(!updates_apply(d, tool_json(a, "[" CREATE_HEAD(5) CREATE_TAIL "]"), &err));
    ck_assert_str_eq(
        err.msg, "Cannot upgrade table to unsupported format version: v5 (supported: v3)");
    d = draft_begin_empty(a, 0);
    ck_assert(!updates_apply(d, tool_json(a, "[" CREATE_HEAD(0) CREATE_TAIL "]"), &err));
    ck_assert_str_eq(err.msg, "Cannot downgrade v2 table to v0");
}
END_TEST

START_TEST(test_draft_begin_empty__snapshot_needs_a_table)
{
    static const char snapshot[] =
        "{'action':'add-snapshot','snapshot':{'snapshot-id':1,'sequence-number':1,'timestamp-ms':"
        "1,'summary':{},'manifest-list':'m'}}]";
    static const char *const parts[] = {"schema", "partition spec", "sort order"};
    /* clang-format off */
    static const char *const before[] = {
        "[",
        "[{'action':'add-schema','schema':{'fields':[]}},",
        ("[{'action':'add-schema','schema':{'fields':[]}},"
         "{'action':'add-spec','spec':{'fields':[]}},"),
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct err err;
        struct str updates = arena_printf(a, "%s%s", before[i], snapshot);
        ck_assert(!updates_apply(draft_begin_empty(a, 2), tool_json(a, updates.p), &err));
        ck_assert_str_eq(err.msg,
            arena_printf(a, "Attempting to add a snapshot before a %s is added", parts[i]).p);
        ck_assert_int_eq(err.kind, ERR_VALIDATION);
    }
}
END_TEST

START_TEST(test_draft_check_complete__names_what_is_missing)
{
    /* clang-format off */
    static const char *const missing[][2] = {
        {"[]", "no schema was added"},
        {"[{'action':'add-schema','schema':{'fields':[]}}]", "no partition spec was added"},
        {"[{'action':'add-schema','schema':{'fields':[]}},{'action':'add-spec','spec':{'fields':[]}}]", "no sort order was added"},
        {"[{'action':'add-schema','schema':{'fields':[]}},{'action':'add-spec','spec':{'fields':[]}},"
         "{'action':'add-sort-order','sort-order':{'fields':[]}}]", "no location was set"},
        {"[{'action':'add-schema','schema':{'fields':[{'id':1,'name':'a','required':false,'type':'int'}]}},"
         "{'action':'add-spec','spec':{'fields':[]}},{'action':'set-location','location':'s3://b/t'},"
         "{'action':'add-sort-order','sort-order':{'order-id':1,'fields':[{'transform':'identity','source-id':1}]}}]",
         "the default sort order was not set"},
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        struct err err;
        struct draft *d = draft_begin_empty(a, 2);
        bool ok = updates_apply(d, tool_json(a, missing[i][0]), &err);
        ck_assert_msg(ok, "%s: %s", missing[i][0], ok ? "" : err.msg);
        ck_assert(!draft_check_complete(d, &err));
        ck_assert_int_eq(err.kind, ERR_INVALID_ARGUMENT);
        ck_assert_str_eq(
            err.msg, arena_printf(a, "Cannot create the table, the updates are incomplete: %s",
                         missing[i][1])
                         .p);
    }
}
END_TEST

/* -- Against an apply that knows only trees ---------------------------------------------------- */

/* The same rules, written as if cost did not matter: every update changes one whole document. */
struct naive {
    json_t *doc;
    json_t *added, *on_main; /* of this commit */
    bool removed;
    int64_t last_schema;
};

static int64_t num(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static size_t naive_index(const json_t *list, const char *key, int64_t id)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (num(json_array_get(list, i), key) == id)
            return i;
    return SIZE_MAX;
}

static bool has_id(const json_t *ids, int64_t id)
{
    for (size_t i = 0; i < json_array_size(ids); i++)
        if (json_integer_value(json_array_get(ids, i)) == id)
            return true;
    return false;
}

static void naive_remove(json_t *list, const char *key, int64_t id)
{
    size_t at = naive_index(list, key, id);
    if (at != SIZE_MAX)
        json_array_remove(list, at);
}

static void naive_put(json_t *list, json_t *entry)
{
    size_t at = naive_index(list, "snapshot-id", num(entry, "snapshot-id"));
    if (at != SIZE_MAX)
        json_array_set(list, at, entry);
    else
        json_array_append(list, entry);
}

static void naive_set_current(struct naive *n, int64_t id)
{
    bool v3 = num(n->doc, "format-version") == 3;
    json_object_set_new(
        n->doc, "current-snapshot-id", id == -1 && v3 ? json_null() : json_integer(id));
}

static void naive_set_ref(struct naive *n, const json_t *u)
{
    json_t *refs = json_object_get(n->doc, "refs");
    const char *name = json_string_value(json_object_get(u, "ref-name"));
    json_t *ref = json_pack("{s:I,s:s}", "snapshot-id", num(u, "snapshot-id"), "type",
        json_string_value(json_object_get(u, "type")));
    if (json_equal(ref, json_object_get(refs, name))) {
        json_decref(ref);
        return;
    }
    json_object_set_new(refs, name, ref);
    if (strcmp(name, "main") != 0)
        return;
    int64_t id = num(u, "snapshot-id");
    json_t *snapshots = json_object_get(n->doc, "snapshots");
    const json_t *s = json_array_get(snapshots, naive_index(snapshots, "snapshot-id", id));
    int64_t ms = has_id(n->added, id) ? num(s, "timestamp-ms") : clock_ms();
    json_array_append_new(json_object_get(n->doc, "snapshot-log"),
        json_pack("{s:I,s:I}", "timestamp-ms", ms, "snapshot-id", id));
    json_array_append_new(n->on_main, json_integer(id));
    naive_set_current(n, id);
}

static void naive_drop_ref(struct naive *n, const char *name)
{
    if (strcmp(name, "main") == 0)
        naive_set_current(n, -1);
    json_object_del(json_object_get(n->doc, "refs"), name);
}

static void naive_remove_snapshot(struct naive *n, int64_t id)
{
    json_t *snapshots = json_object_get(n->doc, "snapshots");
    if (naive_index(snapshots, "snapshot-id", id) == SIZE_MAX)
        return;
    static const char *const lists[] = {"snapshots", "statistics", "partition-statistics"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        naive_remove(json_object_get(n->doc, lists[i]), "snapshot-id", id);
    n->removed = true;
    json_t *refs = json_deep_copy(json_object_get(n->doc, "refs"));
    const char *name;
    json_t *ref;
    json_object_foreach(refs, name, ref) if (num(ref, "snapshot-id") == id) naive_drop_ref(n, name);
    json_decref(refs);
}

static void naive_add_schema(struct naive *n, const json_t *schema)
{
    json_t *schemas = json_object_get(n->doc, "schemas"), *old;
    int64_t next = 0;
    size_t i;
    json_array_foreach(schemas, i, old)
    {
        if (json_equal(json_object_get(old, "fields"), json_object_get(schema, "fields"))) {
            n->last_schema = num(old, "schema-id");
            return;
        }
        next = num(old, "schema-id") >= next ? num(old, "schema-id") + 1 : next;
    }
    json_t *stored = json_deep_copy(schema), *f;
    json_object_set_new(stored, "schema-id", json_integer(next));
    json_array_append_new(schemas, stored);
    n->last_schema = next;
    json_array_foreach(
        json_object_get(schema, "fields"), i, f) if (num(f, "id") > num(n->doc, "last-column-id"))
        json_object_set(n->doc, "last-column-id", json_object_get(f, "id"));
}

static void naive_add_snapshot(struct naive *n, json_t *s)
{
    json_array_append(json_object_get(n->doc, "snapshots"), s);
    json_array_append(n->added, json_object_get(s, "snapshot-id"));
    json_object_set(n->doc, "last-sequence-number", json_object_get(s, "sequence-number"));
    if (json_object_get(n->doc, "next-row-id"))
        json_object_set_new(
            n->doc, "next-row-id", json_integer(num(s, "first-row-id") + num(s, "added-rows")));
}

static void naive_upgrade(struct naive *n)
{
    if (num(n->doc, "format-version") == 3)
        return;
    json_object_set_new(n->doc, "format-version", json_integer(3));
    json_object_set_new(n->doc, "next-row-id", json_integer(0));
    if (num(n->doc, "current-snapshot-id") == -1)
        naive_set_current(n, -1);
}

static void naive_apply(struct naive *n, const json_t *u)
{
    const char *action = json_string_value(json_object_get(u, "action"));
    size_t i;
    json_t *v;
    if (!strcmp(action, "set-properties")) {
        json_object_update(json_object_get(n->doc, "properties"), json_object_get(u, "updates"));
    } else if (!strcmp(action, "remove-properties")) {
        json_array_foreach(json_object_get(u, "removals"), i, v)
            json_object_del(json_object_get(n->doc, "properties"), json_string_value(v));
    } else if (!strcmp(action, "set-location")) {
        json_object_set(n->doc, "location", json_object_get(u, "location"));
    } else if (!strcmp(action, "add-snapshot")) {
        naive_add_snapshot(n, json_object_get(u, "snapshot"));
    } else if (!strcmp(action, "set-snapshot-ref")) {
        naive_set_ref(n, u);
    } else if (!strcmp(action, "remove-snapshot-ref")) {
        const char *name = json_string_value(json_object_get(u, "ref-name"));
        if (json_object_get(json_object_get(n->doc, "refs"), name))
            naive_drop_ref(n, name);
    } else if (!strcmp(action, "remove-snapshots")) {
        json_array_foreach(json_object_get(u, "snapshot-ids"), i, v)
            naive_remove_snapshot(n, json_integer_value(v));
    } else if (!strcmp(action, "set-statistics")) {
        naive_put(json_object_get(n->doc, "statistics"), json_object_get(u, "statistics"));
    } else if (!strcmp(action, "remove-statistics")) {
        naive_remove(json_object_get(n->doc, "statistics"), "snapshot-id", num(u, "snapshot-id"));
    } else if (!strcmp(action, "add-schema")) {
        naive_add_schema(n, json_object_get(u, "schema"));
    } else if (!strcmp(action, "set-current-schema")) {
        json_object_set_new(n->doc, "current-schema-id", json_integer(n->last_schema));
    } else if (!strcmp(action, "remove-schemas")) {
        json_array_foreach(json_object_get(u, "schema-ids"), i, v)
            naive_remove(json_object_get(n->doc, "schemas"), "schema-id", json_integer_value(v));
    } else if (!strcmp(action, "upgrade-format-version")) {
        naive_upgrade(n);
    } else {
        ck_abort_msg("the naive apply does not know %s", action);
    }
}

static json_t *naive_log(const struct naive *n)
{
    int64_t current = num(n->doc, "current-snapshot-id");
    json_t *out = json_array(), *entry;
    bool between = false;
    size_t i;
    for (i = 0; i < json_array_size(n->on_main); i++) {
        int64_t id = json_integer_value(json_array_get(n->on_main, i));
        between = between || (id != current && has_id(n->added, id));
    }
    json_array_foreach(json_object_get(n->doc, "snapshot-log"), i, entry)
    {
        int64_t id = num(entry, "snapshot-id");
        bool passing = id != current && has_id(n->added, id) && has_id(n->on_main, id);
        bool gone =
            naive_index(json_object_get(n->doc, "snapshots"), "snapshot-id", id) == SIZE_MAX;
        if (!between && !n->removed)
            json_array_append(out, entry);
        else if (gone && n->removed)
            json_array_clear(out);
        else if (!gone && !passing)
            json_array_append(out, entry);
    }
    return out;
}

static void naive_finish(struct naive *n, const struct metadata *base)
{
    struct str location = metadata_location(base);
    json_t *log = json_object_get(n->doc, "metadata-log");
    json_object_set_new(n->doc, "snapshot-log", naive_log(n));
    json_array_append_new(
        log, json_pack("{s:I,s:s%}", "timestamp-ms", metadata_head(base)->last_updated_ms,
                 "metadata-file", location.p, location.n));
    while (json_array_size(log) > 100)
        json_array_remove(log, 0);
    json_object_set_new(n->doc, "last-updated-ms", json_integer(clock_ms()));
}

/* A small generator, so that a failing seed can be run again. */
static unsigned roll(uint64_t *state, unsigned n)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*state >> 33) % n;
}

static int64_t some_snapshot(const json_t *doc, uint64_t *r)
{
    const json_t *all = json_object_get(doc, "snapshots");
    if (!json_array_size(all))
        return -7;
    return num(json_array_get(all, roll(r, (unsigned)json_array_size(all))), "snapshot-id");
}

static json_t *random_snapshot(const json_t *doc, uint64_t *r)
{
    int64_t next = num(doc, "last-sequence-number") + 1 + roll(r, 2);
    json_t *s = json_pack("{s:I,s:I,s:I,s:{s:s,s:s},s:s,s:i}", "sequence-number", next,
        "snapshot-id", ((int64_t)roll(r, 1 << 30) << 31) + next, "timestamp-ms",
        clock_ms() - roll(r, 100), "summary", "operation", "append", "note", "ä\"\\\n",
        "manifest-list", "s3://b/m.avro", "schema-id", 0);
    if (roll(r, 4))
        json_object_set_new(s, "parent-snapshot-id", json_integer(some_snapshot(doc, r)));
    if (json_object_get(doc, "next-row-id")) {
        json_object_set(s, "first-row-id", json_object_get(doc, "next-row-id"));
        json_object_set_new(s, "added-rows", json_integer(roll(r, 1000)));
    }
    return s;
}

static json_t *random_schema(uint64_t *r)
{
    json_t *fields = json_array();
    for (int64_t i = 0, n = 1 + roll(r, 3); i < n; i++)
        json_array_append_new(
            fields, json_pack("{s:I,s:s,s:b,s:s}", "id", 10 * (i + 1) + roll(r, 3), "name",
                        i == 0   ? "a"
                        : i == 1 ? "b"
                                 : "c",
                        "required", 0, "type", "int"));
    return json_pack("{s:s,s:i,s:o}", "type", "struct", "schema-id", 99, "fields", fields);
}

static json_t *other_schemas(const json_t *doc, uint64_t *r)
{
    json_t *ids = json_array(), *s;
    size_t i;
    json_array_foreach(json_object_get(doc, "schemas"), i, s)
    {
        if (num(s, "schema-id") != num(doc, "current-schema-id") && roll(r, 2))
            json_array_append(ids, json_object_get(s, "schema-id"));
    }
    return ids;
}

static json_t *random_update(const json_t *doc, uint64_t *r, json_t *more)
{
    static const char *const keys[] = {"k", "owner", "ä", "long.property.name"};
    static const char *const refs[] = {"main", "main", "dev", "t"};
    const char *ref = refs[roll(r, ARRAY_LEN(refs))], *key = keys[roll(r, ARRAY_LEN(keys))];
    const char *type = ref[0] == 't' ? "tag" : "branch";
    switch (roll(r, 14)) {
    case 0:
        return json_pack("{s:s,s:{s:s}}", "action", "set-properties", "updates", key, "value");
    case 1:
        return json_pack("{s:s,s:[ss]}", "action", "remove-properties", "removals", key, "none");
    case 2:
        return json_pack("{s:s,s:s}", "action", "set-location", "location",
            roll(r, 2) ? "s3://b/x" : "s3://b/ns/t");
    case 3:
    case 4:
    case 5: {
        json_t *s = random_snapshot(doc, r);
        json_array_append_new(
            more, json_pack("{s:s,s:s,s:s,s:O}", "action", "set-snapshot-ref", "ref-name", ref,
                      "type", type, "snapshot-id", json_object_get(s, "snapshot-id")));
        return json_pack("{s:s,s:o}", "action", "add-snapshot", "snapshot", s);
    }
    case 6:
        return json_pack(
            "{s:s,s:o}", "action", "add-snapshot", "snapshot", random_snapshot(doc, r));
    case 7:
        return json_pack("{s:s,s:s,s:s,s:I}", "action", "set-snapshot-ref", "ref-name", ref, "type",
            type, "snapshot-id", some_snapshot(doc, r));
    case 8:
        return json_pack("{s:s,s:s}", "action", "remove-snapshot-ref", "ref-name", ref);
    case 9:
        return json_pack("{s:s,s:[IIi]}", "action", "remove-snapshots", "snapshot-ids",
            some_snapshot(doc, r), some_snapshot(doc, r), 5);
    case 10:
        return json_pack("{s:s,s:{s:I,s:s,s:i,s:i,s:[]}}", "action", "set-statistics", "statistics",
            "snapshot-id", some_snapshot(doc, r), "statistics-path", "p", "file-size-in-bytes",
            roll(r, 99), "file-footer-size-in-bytes", 4, "blob-metadata");
    case 11:
        return json_pack(
            "{s:s,s:I}", "action", "remove-statistics", "snapshot-id", some_snapshot(doc, r));
    case 12:
        if (roll(r, 8) == 0)
            return json_pack("{s:s,s:i}", "action", "upgrade-format-version", "format-version", 3);
        return json_pack(
            "{s:s,s:o}", "action", "remove-schemas", "schema-ids", other_schemas(doc, r));
    default:
        json_array_append_new(
            more, json_pack("{s:s,s:i}", "action", "set-current-schema", "schema-id", -1));
        return json_pack("{s:s,s:o}", "action", "add-schema", "schema", random_schema(r));
    }
}

static json_t *random_updates(struct naive *n, uint64_t *r)
{
    json_t *updates = json_array();
    for (unsigned i = 0, count = 1 + roll(r, 5); i < count; i++) {
        json_t *more = json_array();
        json_t *u = random_update(n->doc, r, more);
        json_array_append_new(updates, u);
        json_array_extend(updates, more);
        /* A ref to a snapshot that is not there is for other tests. */
        if (!strcmp(json_string_value(json_object_get(u, "action")), "set-snapshot-ref") &&
            num(u, "snapshot-id") == -7)
            json_array_remove(updates, json_array_size(updates) - 1);
        else
            naive_apply(n, u);
        for (size_t k = 0; k < json_array_size(more); k++)
            naive_apply(n, json_array_get(more, k));
        json_decref(more);
    }
    return updates;
}

START_TEST(test_draft__same_as_changing_the_whole_tree)
{
    uint64_t r = 1000003U * (uint64_t)(_i + 1);
    const struct metadata *m = committed(tool_base(a, "empty"), TOUCH);
    for (int round = 0; round < 40; round++) {
        clock_freeze(NOW + 1000 * (round + 1));
        struct naive n = {.doc = json_deep_copy(tool_document(a, m)),
            .added = json_array(),
            .on_main = json_array(),
            .last_schema = -1};
        json_t *updates = random_updates(&n, &r);
        struct draft *d = draft_begin(a, m);
        struct err err;
        bool ok = updates_apply(d, updates, &err);
        char *shown = json_dumps(updates, JSON_COMPACT);
        ck_assert_msg(ok, "%s\n%s", ok ? "" : err.msg, shown);
        const struct metadata *next = tool_finish(a, d);
        naive_finish(&n, m);
        tool_expect(shown, tool_document(a, next), n.doc);
        tool_expect(shown, n.doc, tool_document(a, next));
        m = next;
        free(shown);
        json_decref(updates);
        json_decref(n.doc);
        json_decref(n.added);
        json_decref(n.on_main);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/draft");
    TCase *cases = tcase_create("catalog/draft");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_draft_file__name_follows_the_base, 0, (int)ARRAY_LEN(names));
    tcase_add_test(cases, test_draft_file__unknown_codec);
    tcase_add_test(cases, test_draft_file__a_moved_table_writes_to_its_new_place);
    tcase_add_test(cases, test_draft_finish__members_in_order_and_unknown_ones_byte_for_byte);
    tcase_add_test(cases, test_draft_finish__always_written_members);
    tcase_add_test(cases, test_draft_finish__v1_writes_for_old_readers_v2_does_not);
    tcase_add_test(cases, test_draft_finish__base_stays_as_it_was);
    tcase_add_test(cases, test_draft_finish__work_is_counted_and_small);
    tcase_add_test(cases, test_draft_finish__time_never_runs_back);
    tcase_add_test(cases, test_draft_finish__a_writer_whose_clock_is_ahead);
    tcase_add_test(cases, test_draft_finish__a_writer_whose_clock_is_behind);
    tcase_add_test(cases, test_draft_finish__time_at_the_ends_of_its_range);
    tcase_add_test(cases, test_draft_finish__metadata_log_keeps_the_newest);
    tcase_add_test(cases, test_draft_finish__a_table_without_history_may_expire_snapshots);
    tcase_add_test(cases, test_draft_finish__a_log_that_lies_is_refused);
    tcase_add_test(cases, test_draft_create__ids_are_given_anew);
    tcase_add_test(cases, test_draft_create__least_of_all);
    tcase_add_test(cases, test_draft_create__versions_one_and_three);
    tcase_add_loop_test(cases, test_draft_create__refused, 0, (int)ARRAY_LEN(bad_creates));
    tcase_add_test(cases, test_draft_create__metrics_of_a_nested_column);
    tcase_add_test(cases, test_draft_begin_empty__a_whole_create_commit);
    tcase_add_test(cases, test_draft_begin_empty__v1_is_no_downgrade);
    tcase_add_test(cases, test_draft_begin_empty__no_such_version);
    tcase_add_test(cases, test_draft_begin_empty__snapshot_needs_a_table);
    tcase_add_test(cases, test_draft_check_complete__names_what_is_missing);
    tcase_add_loop_test(cases, test_draft__same_as_changing_the_whole_tree, 0, 25);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
