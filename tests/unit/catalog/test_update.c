#include "update.h"

#include <check.h>
#include <stdlib.h>

#include "clock.h"
#include "draft_tool.h"
#include "metric.h"

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
#define SNAP(id, seq, parent)                                                                      \
    "{'action':'add-snapshot','snapshot':{'snapshot-id':" #id ",'sequence-number':" #seq           \
    ",'parent-snapshot-id':" #parent ",'timestamp-ms':1700000050000,'summary':{'operation':"       \
    "'append'},'manifest-list':'s3://b/m.avro'}}"
#define SNAP_IN(members)                                                                           \
    "[{'action':'add-snapshot','snapshot':{'timestamp-ms':1700000050000,'manifest-list':'m'"       \
    "," members "}}]"
#define REF(members) "[{'action':'set-snapshot-ref'," members "}]"
#define ON_MAIN(id)                                                                                \
    "{'action':'set-snapshot-ref','ref-name':'main','type':'branch','snapshot-id':" #id "}"
#define SCHEMA(id, fields)     "{'type':'struct','schema-id':" #id ",'fields':[" fields "]}"
#define ID                     "{'id':1,'name':'id','required':true,'type':'long'}"
#define ADD_SCHEMA(id, fields) "{'action':'add-schema','schema':" SCHEMA(id, fields) "}"
#define ADD_SPEC(fields)       "{'action':'add-spec','spec':{'spec-id':7,'fields':[" fields "]}}"
#define ADD_ORDER(id, fields)                                                                      \
    "{'action':'add-sort-order','sort-order':{'order-id':" #id ",'fields':[" fields "]}}"
#define ASC(source)                                                                                \
    "{'transform':'identity','source-id':" #source ",'direction':'asc','null-order':'nulls-first'" \
                                                   "}"
#define STATS(id)                                                                                  \
    "'statistics':{'snapshot-id':" #id ",'statistics-path':'p','file-size-in-bytes':1,"            \
    "'file-footer-size-in-bytes':1,'blob-metadata':[]}"
/* clang-format on */

/* -- What is refused --------------------------------------------------------------------------- */

/* clang-format off */
static const struct refusal {
    const char *base, *updates;
    enum err_kind kind;
    const char *message;
} refusals[] = {
    /* The list and its actions. */
    {"v2", "{}", ERR_BAD_REQUEST, "Expected an array of updates (/updates)"},
    {"v2", "[1]", ERR_BAD_REQUEST,
     "Cannot parse metadata update: expected an object (/updates/0)"},
    {"v2", "[{}]", ERR_BAD_REQUEST, "Cannot parse metadata update. Missing field: action"},
    {"v2", "[{'action':'frobnicate'}]", ERR_BAD_REQUEST,
     "Cannot convert metadata update action to json: frobnicate"},
    {"v2", "[{'action':'set-properties','updates':{'a':1}},{'action':'frobnicate'}]",
     ERR_BAD_REQUEST, "Cannot convert metadata update action to json: frobnicate"},
    {"v2", "[{'action':'add-view-version','view-version':{}}]", ERR_VALIDATION,
     "Cannot apply update AddViewVersion to a table"},
    {"v2", "[{'action':'set-current-view-version','view-version-id':1}]", ERR_VALIDATION,
     "Cannot apply update SetCurrentViewVersion to a table"},
    /* assign-uuid */
    {"v2", "[{'action':'assign-uuid'}]", ERR_BAD_REQUEST, "Missing field: uuid (/updates/0)"},
    {"v2", "[{'action':'assign-uuid','uuid':'x'}]", ERR_INVALID_ARGUMENT, "Invalid UUID: x (/updates/0/uuid)"},
    {"v2", "[{'action':'assign-uuid','uuid':'2df82b80-0a72-495d-9b8e-12a1ff5b1111'}]",
     ERR_INVALID_ARGUMENT,
     "Cannot assign UUID 2df82b80-0a72-495d-9b8e-12a1ff5b1111: the table has the UUID "
     "9c12d441-03fe-4693-9a96-a0705ddf69c1 already"},
    /* upgrade-format-version */
    {"v2", "[{'action':'upgrade-format-version','format-version':1}]", ERR_INVALID_ARGUMENT,
     "Cannot downgrade v2 table to v1"},
    {"v2", "[{'action':'upgrade-format-version','format-version':4}]", ERR_INVALID_ARGUMENT,
     "Cannot upgrade table to unsupported format version: v4 (supported: v3)"},
    {"v2", "[{'action':'upgrade-format-version','format-version':'3'}]", ERR_BAD_REQUEST,
     "Expected an integer, found a string (/updates/0/format-version)"},
    {"v2", "[{'action':'upgrade-format-version','format-version':99999999999}]", ERR_BAD_REQUEST,
     "Expected an integer of 32 bits, found 99999999999 (/updates/0/format-version)"},
    /* add-schema, set-current-schema */
    {"v2", "[{'action':'add-schema'}]", ERR_BAD_REQUEST, "Missing field: schema (/updates/0)"},
    {"v2", "[" ADD_SCHEMA(1, "{'id':1,'name':'data','required':false,'type':'variant'}") "]",
     ERR_INVALID_ARGUMENT,
     "Invalid schema for v2:\n- Invalid type for data: variant is not supported until v3"},
    {"v2",
     "[" ADD_SCHEMA(
         1, "{'id':1,'name':'x','required':false,'type':'int','initial-default':3}") "]",
     ERR_INVALID_ARGUMENT,
     "Invalid schema for v2:\n- Invalid initial default for x: non-null default (3) is not "
     "supported until v3"},
    {"v2", "[{'action':'set-current-schema','schema-id':-1}]", ERR_VALIDATION,
     "Cannot set last added schema: no schema has been added"},
    {"v2", "[{'action':'set-current-schema','schema-id':5}]", ERR_INVALID_ARGUMENT,
     "Cannot set current schema to unknown schema: 5"},
    {"v2", "[" ADD_SCHEMA(7, ID) ",{'action':'set-current-schema','schema-id':8}]",
     ERR_INVALID_ARGUMENT, "Cannot set current schema to unknown schema: 8"},
    /* add-spec, set-default-spec */
    {"v2", "[{'action':'add-spec','spec':{}}]", ERR_BAD_REQUEST,
     "Missing field: fields (/updates/0/spec)"},
    {"v2", "[" ADD_SPEC("{'name':'data','transform':'identity','source-id':1}") "]",
     ERR_INVALID_ARGUMENT,
     "Cannot create identity partition sourced from different field in schema: data"},
    {"v2", "[" ADD_SPEC("{'name':'','transform':'identity','source-id':1}") "]",
     ERR_INVALID_ARGUMENT, "Cannot use empty partition name: "},
    {"v2",
     "[" ADD_SPEC("{'name':'p','transform':'identity','source-id':1},"
                  "{'name':'p','transform':'identity','source-id':2}") "]",
     ERR_INVALID_ARGUMENT, "Cannot use partition name more than once: p"},
    {"v2", "[" ADD_SPEC("{'name':'x','transform':'identity','source-id':9,'field-id':1000}") "]",
     ERR_VALIDATION, "Cannot find source column for partition field: 1000: x: identity(9)"},
    {"v2", "[" ADD_SPEC("{'name':'p','transform':'identity','source-id':5}") "]", ERR_VALIDATION,
     "Cannot partition by non-primitive source field: struct<6: x: optional decimal(9, 2)>"},
    {"v2", "[" ADD_SPEC("{'name':'p','transform':'hour','source-id':2}") "]", ERR_VALIDATION,
     "Invalid source type string for transform: hour"},
    {"v2", "[" ADD_SPEC("{'name':'p','transform':'identity','source-id':4}") "]", ERR_VALIDATION,
     "Invalid partition field parent: list<int>"},
    {"v2",
     "[" ADD_SPEC("{'name':'p','transform':'identity','source-id':1,'field-id':1001},"
                  "{'name':'q','transform':'identity','source-id':2}") "]",
     ERR_INVALID_ARGUMENT, "Cannot parse spec with missing field IDs: 1 missing of 2 fields."},
    {"v2",
     "[" ADD_SPEC("{'name':'p','transform':'identity','source-id':1,'field-id':1001},"
                  "{'name':'q','transform':'identity','source-id':2,'field-id':1001}") "]",
     ERR_INVALID_ARGUMENT, "Cannot use partition field id more than once: 1001"},
    {"v1", "[" ADD_SPEC("{'name':'p','transform':'identity','source-id':1,'field-id':1001}") "]",
     ERR_VALIDATION,
     "Spec does not use sequential IDs that are required in v1: [\n  1001: p: identity(1)\n]"},
    {"v2", "[{'action':'set-default-spec','spec-id':-1}]", ERR_VALIDATION,
     "Cannot set last added spec: no spec has been added"},
    {"v2", "[{'action':'set-default-spec','spec-id':7}]", ERR_INVALID_ARGUMENT,
     "Cannot set default partition spec to unknown spec: 7"},
    /* add-sort-order, set-default-sort-order */
    {"v2", "[" ADD_ORDER(0, ASC(1)) "]", ERR_INVALID_ARGUMENT,
     "Sort order ID 0 is reserved for unsorted order"},
    {"v2", "[" ADD_ORDER(3, "") "]", ERR_INVALID_ARGUMENT, "Unsorted order ID must be 0"},
    {"v2", "[" ADD_ORDER(3, ASC(9)) "]", ERR_VALIDATION,
     "Cannot find source column for sort field: identity(9) ASC NULLS FIRST"},
    {"v2", "[" ADD_ORDER(3, ASC(5)) "]", ERR_VALIDATION,
     "Cannot sort by non-primitive source field: struct<6: x: optional decimal(9, 2)>"},
    {"v2",
     "[" ADD_ORDER(3, "{'transform':'hour','source-id':2,'direction':'asc',"
                      "'null-order':'nulls-first'}") "]",
     ERR_VALIDATION, "Invalid source type string for transform: hour"},
    {"v2", "[{'action':'set-default-sort-order','sort-order-id':-1}]", ERR_VALIDATION,
     "Cannot set last added sort order: no sort order has been added"},
    {"v2", "[{'action':'set-default-sort-order','sort-order-id':9}]", ERR_INVALID_ARGUMENT,
     "Cannot set default sort order to unknown sort order: 9"},
    /* add-snapshot */
    {"v2", "[" SNAP(20, 9, 10) "]", ERR_VALIDATION, "Snapshot already exists for id: 20"},
    {"v2", "[" SNAP(40, 4, 20) "," SNAP(40, 5, 20) "]", ERR_VALIDATION,
     "Snapshot already exists for id: 40"},
    {"v2", "[" SNAP(-1, 4, 20) "]", ERR_INVALID_ARGUMENT,
     "Invalid snapshot id: -1 (it means that there is no snapshot)"},
    {"v2", "[" SNAP(40, 3, 20) "]", ERR_COMMIT_FAILED,
     "Validation failed, please retry: Cannot add snapshot with sequence number 3 older than last "
     "sequence number 3"},
    {"v2", "[" SNAP(40, 1, 20) "]", ERR_COMMIT_FAILED,
     "Validation failed, please retry: Cannot add snapshot with sequence number 1 older than last "
     "sequence number 3"},
    {"v2", "[" SNAP(40, -4, null) "]", ERR_INVALID_ARGUMENT,
     "Invalid sequence number (cannot be negative): -4"},
    {"v1", "[" SNAP(40, 5, 10) "]", ERR_VALIDATION,
     "Invalid snapshot with sequence number 5 greater than last sequence number 0"},
    {"v2", SNAP_IN("'sequence-number':4,'summary':{}"), ERR_BAD_REQUEST,
     "Missing field: snapshot-id (/updates/0/snapshot)"},
    {"v2", SNAP_IN("'snapshot-id':4.0,'summary':{}"), ERR_BAD_REQUEST,
     "Expected an integer, found a number with a fraction (/updates/0/snapshot/snapshot-id)"},
    {"v2", SNAP_IN("'snapshot-id':4"), ERR_BAD_REQUEST,
     "Missing field: summary (/updates/0/snapshot)"},
    {"v2", SNAP_IN("'snapshot-id':4,'summary':{'operation':'append','added-records':3}"),
     ERR_BAD_REQUEST,
     "Expected a string, found an integer (/updates/0/snapshot/summary/added-records)"},
    {"v2", SNAP_IN("'snapshot-id':4,'summary':{'operation':null}"), ERR_BAD_REQUEST,
     "Expected a string, found null (/updates/0/snapshot/summary/operation)"},
    {"v2",
     "[{'action':'add-snapshot','snapshot':{'snapshot-id':4,'timestamp-ms':1,'summary':{},"
     "'manifests':['m']}}]",
     ERR_BAD_REQUEST, "Missing field: manifest-list (/updates/0/snapshot)"},
    {"v3", SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{}"), ERR_VALIDATION,
     "Cannot add a snapshot: first-row-id is null"},
    {"v3",
     SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':50,'added-rows':10"),
     ERR_COMMIT_FAILED,
     "Validation failed, please retry: Cannot add a snapshot, first-row-id is behind table "
     "next-row-id: 50 < 100"},
    {"v3", SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':100"),
     ERR_INVALID_ARGUMENT, "Invalid added-rows (required when first-row-id is set): null"},
    {"v3",
     SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':100,'added-rows':-1"),
     ERR_INVALID_ARGUMENT, "Invalid added-rows (cannot be negative): -1"},
    {"v3",
     SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':-7,'added-rows':1"),
     ERR_INVALID_ARGUMENT, "Invalid first-row-id (cannot be negative): -7"},
    {"v3",
     SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':100,"
             "'added-rows':9223372036854775807"),
     ERR_INVALID_ARGUMENT,
     "Invalid added-rows: 9223372036854775807 rows from row id 100 on exceed 64 bits"},
    /* refs */
    {"v2", REF("'ref-name':'main','type':'branch','snapshot-id':5"), ERR_VALIDATION,
     "Cannot set main to unknown snapshot: 5"},
    {"v2", REF("'ref-name':'main','type':'tag','snapshot-id':10"), ERR_VALIDATION,
     "Cannot set main to a tag, it must be a branch"},
    {"v2", REF("'ref-name':'r','type':'twig','snapshot-id':10"), ERR_INVALID_ARGUMENT,
     "Invalid snapshot ref type: twig"},
    {"v2", REF("'ref-name':'r','snapshot-id':10"), ERR_BAD_REQUEST,
     "Missing field: type (/updates/0)"},
    {"v2", REF("'ref-name':'','type':'branch','snapshot-id':10"), ERR_BAD_REQUEST,
     "A ref needs a name (/updates/0/ref-name)"},
    {"v2", REF("'ref-name':'r','type':'tag','snapshot-id':10,'min-snapshots-to-keep':2"),
     ERR_INVALID_ARGUMENT, "Tags do not support setting minSnapshotsToKeep"},
    {"v2", REF("'ref-name':'r','type':'tag','snapshot-id':10,'max-snapshot-age-ms':2"),
     ERR_INVALID_ARGUMENT, "Tags do not support setting maxSnapshotAgeMs"},
    {"v2", REF("'ref-name':'r','type':'branch','snapshot-id':10,'min-snapshots-to-keep':0"),
     ERR_INVALID_ARGUMENT, "Min snapshots to keep must be greater than 0"},
    {"v2", REF("'ref-name':'r','type':'branch','snapshot-id':10,'max-snapshot-age-ms':0"),
     ERR_INVALID_ARGUMENT, "Max snapshot age must be greater than 0 ms"},
    {"v2", REF("'ref-name':'r','type':'tag','snapshot-id':10,'max-ref-age-ms':-1"),
     ERR_INVALID_ARGUMENT, "Max reference age must be greater than 0"},
    {"v2", "[{'action':'remove-snapshots','snapshot-ids':[10,'x']}]", ERR_BAD_REQUEST,
     "Expected an integer, found a string (/updates/0/snapshot-ids/1)"},
    {"v2", "[{'action':'remove-snapshots','snapshot-id':10}]", ERR_BAD_REQUEST,
     "Missing field: snapshot-ids (/updates/0)"},
    /* the small ones */
    {"v2", "[{'action':'set-location','location':''}]", ERR_INVALID_ARGUMENT,
     "Invalid table location: it is empty (/updates/0/location)"},
    {"v2", "[{'action':'set-properties','updates':{'a':null}}]", ERR_BAD_REQUEST,
     "Expected a string, found null (/updates/0/updates/a)"},
    {"v2", "[{'action':'set-properties','updates':{'a':1}}]", ERR_BAD_REQUEST,
     "Expected a string, found an integer (/updates/0/updates/a)"},
    {"v2", "[{'action':'set-properties'}]", ERR_BAD_REQUEST,
     "Missing field: updates (/updates/0)"},
    {"v2", "[{'action':'remove-properties','removals':[1]}]", ERR_BAD_REQUEST,
     "Expected the name of a property (/updates/0/removals/0)"},
    {"v2", "[{'action':'set-statistics','snapshot-id':10," STATS(20) "}]", ERR_INVALID_ARGUMENT,
     "Invalid set-statistics: snapshot-id 10 differs from the snapshot-id 20 of the statistics (/updates/0/snapshot-id)"},
    {"v2", "[{'action':'set-statistics','statistics':{'snapshot-id':1}}]", ERR_BAD_REQUEST,
     "Missing field: statistics-path (/updates/0/statistics)"},
    {"v2",
     "[{'action':'set-statistics','statistics':{'snapshot-id':1,'statistics-path':'p',"
     "'file-size-in-bytes':1,'file-footer-size-in-bytes':1,'blob-metadata':[{'type':'t',"
     "'snapshot-id':1,'sequence-number':1,'fields':['a']}]}}]",
     ERR_BAD_REQUEST,
     "Expected an integer, found a string (/updates/0/statistics/blob-metadata/0/fields/0)"},
    {"v2", "[{'action':'remove-statistics'}]", ERR_BAD_REQUEST,
     "Missing field: snapshot-id (/updates/0)"},
    {"v2", "[{'action':'set-partition-statistics','partition-statistics':{'snapshot-id':1}}]",
     ERR_BAD_REQUEST, "Missing field: statistics-path (/updates/0/partition-statistics)"},
    {"v2", "[{'action':'remove-partition-specs','spec-ids':[1,0]}]", ERR_INVALID_ARGUMENT,
     "Cannot remove the default partition spec"},
    {"v2", "[{'action':'remove-schemas','schema-ids':[1]}]", ERR_INVALID_ARGUMENT,
     "Cannot remove the current schema"},
    {"v3", "[{'action':'add-encryption-key','encryption-key':{'key-id':'k'}}]", ERR_BAD_REQUEST,
     "Missing field: encrypted-key-metadata (/updates/0/encryption-key)"},
    /* the end of the commit */
    {"v2",
     "[{'action':'set-default-spec','spec-id':1}," ADD_SCHEMA(
         2, "{'id':2,'name':'data','required':false,'type':'string'}") ","
                                                                       "{'action':'set-current-"
                                                                       "schema','schema-id':-1}]",
     ERR_VALIDATION,
     "Cannot find source column for partition field: 1000: id_bucket: bucket[16](1)"},
    {"v2",
     "[{'action':'set-default-sort-order','sort-order-id':1}," ADD_SCHEMA(
         2, "{'id':2,'name':'data','required':false,'type':'string'}") ","
                                                                       "{'action':'set-current-"
                                                                       "schema','schema-id':-1}]",
     ERR_VALIDATION, "Cannot find source column for sort field: identity(1) ASC NULLS FIRST"},
    {"v2",
     "[" ADD_SCHEMA(2, ID ",{'id':9,'name':'id_bucket','required':false,'type':'int'}") ","
     "{'action':'set-current-schema','schema-id':-1}]", ERR_INVALID_ARGUMENT,
     "Cannot create identity partition sourced from different field in schema: id_bucket "
     "(partition spec 1)"},
};
/* clang-format on */

START_TEST(test_update__refused)
{
    const struct refusal *r = &refusals[_i];
    const struct metadata *out;
    struct err err;
    bool ok = tool_commit(a, tool_base(a, r->base), r->updates, &out, &err);
    ck_assert_msg(!ok, "accepted: %s", r->updates);
    ck_assert_str_eq(err.msg, r->message);
    ck_assert_str_eq(err_name(err.kind), err_name(r->kind));
}
END_TEST

/* -- What changes nothing ---------------------------------------------------------------------- */

/* clang-format off */
static const struct noop {
    const char *base, *updates;
} noops[] = {
    {"v2", "[]"},
    {"v2", "null"},
    {"v2", "[{'action':'assign-uuid','uuid':'9c12d441-03fe-4693-9a96-a0705ddf69c1'}]"},
    {"v2", "[{'action':'Assign-UUID','uuid':'9C12D441-03FE-4693-9A96-A0705DDF69C1'}]"},
    {"v2", "[{'action':'upgrade-format-version','format-version':2}]"},
    {"v2", "[" ADD_SCHEMA(9, ID) "]"},
    {"v2", "[{'action':'set-current-schema','schema-id':1}]"},
    {"v2",
     "[" ADD_SPEC("{'name':'id_bucket','transform':'BUCKET[16]','source-id':1,'field-id':1234}") "]"},
    {"v2", "[{'action':'set-default-spec','spec-id':0}]"},
    {"v2", "[" ADD_SPEC("") ",{'action':'set-default-spec','spec-id':-1}]"},
    {"v2", "[" ADD_ORDER(5, ASC(1)) "]"},
    {"v2", "[" ADD_ORDER(0, "") ",{'action':'set-default-sort-order','sort-order-id':-1}]"},
    {"v2", "[{'action':'set-default-sort-order','sort-order-id':0}]"},
    {"v2", "[" ON_MAIN(20) "]"},
    {"v2", REF("'ref-name':'dev','type':'BRANCH','snapshot-id':30,'min-snapshots-to-keep':2,"
               "'max-snapshot-age-ms':1000,'max-ref-age-ms':null")},
    {"v2", "[{'action':'remove-snapshots','snapshot-ids':[]}]"},
    {"v2", "[{'action':'remove-snapshots','snapshot-ids':[77,78]}]"},
    {"v2", "[{'action':'remove-snapshot-ref','ref-name':'none'}]"},
    {"empty", "[{'action':'remove-snapshot-ref','ref-name':'main'}]"},
    {"v2", "[{'action':'set-location','location':'s3://b/ns/t//'}]"},
    {"v2", "[{'action':'set-properties','updates':{}}]"},
    {"v2", "[{'action':'set-properties','updates':{'uuid':'x','format-version':'3'}}]"},
    {"v2", "[{'action':'remove-properties','removals':[]}]"},
    {"v2", "[{'action':'remove-statistics','snapshot-id':30}]"},
    {"v2", "[{'action':'remove-partition-statistics','snapshot-id':30}]"},
    {"v2", "[{'action':'remove-partition-specs','spec-ids':[]}]"},
    {"v2", "[{'action':'remove-schemas','schema-ids':[]}]"},
    {"v3",
     "[{'action':'add-encryption-key','encryption-key':{'key-id':'k1','encrypted-key-metadata':'zz'}}]"},
    {"v3", "[{'action':'remove-encryption-key','key-id':'k2'}]"},
};
/* clang-format on */

START_TEST(test_update__changes_nothing)
{
    const struct noop *n = &noops[_i];
    struct err err;
    struct draft *d = draft_begin(a, tool_base(a, n->base));
    bool ok = updates_apply(d, tool_json(a, n->updates), &err);
    ck_assert_msg(ok, "%s: %s", n->updates, ok ? "" : err.msg);
    ck_assert_msg(d->changes == 0, "%s is recorded", n->updates);
}
END_TEST

/* -- What changes what ------------------------------------------------------------------------- */

#define OLD_LOG                                                                                    \
    "{'timestamp-ms':1700000010000,'snapshot-id':10},{'timestamp-ms':1700000020000,'snapshot-id':" \
    "20}"
#define NEW_SCHEMA(id) SCHEMA(id, ID ",{'id':9,'name':'n','required':false,'type':'int'}")

/* clang-format off */
static const struct effect {
    const char *base, *updates, *expected; /* members of the result */
} effects[] = {
    {"v2", "[{'action':'upgrade-format-version','format-version':3}]",
     "{'format-version':3,'next-row-id':0,'last-sequence-number':3,"
     "'table-uuid':'9c12d441-03fe-4693-9a96-a0705ddf69c1','last-updated-ms':1700000100000,"
     "'metadata-log':[{'timestamp-ms':1700000010000,'metadata-file':'s3://b/ns/t/metadata/"
     "00006-a.metadata.json'},{'timestamp-ms':1700000030000,'metadata-file':'" BASE_LOCATION
     "'}]}"},
    {"v1", "[{'action':'upgrade-format-version','format-version':2}]",
     "{'format-version':2,'last-sequence-number':0,'current-snapshot-id':10,"
     "'snapshots':[{'snapshot-id':10,'timestamp-ms':1700000010000,'manifests':['s3://b/ns/old/"
     "m1.avro']}]}"},
    /* Schemas: ids are ours, field ids are the client's; last-column-id never falls. */
    {"v2",
     "[{'action':'add-schema','last-column-id':1,'schema':" SCHEMA(0, ID ",{'id':9,'name':'n',"
                                                                      "'required':false,'type':"
                                                                      "'INT','doc':null}") "},"
     "{'action':'set-current-schema','schema-id':-1}]",
     "{'current-schema-id':2,'last-column-id':9}"},
    {"v2", "[" ADD_SCHEMA(5, ID ",{'id':9,'name':'n','required':false,'type':{'type':'list',"
                             "'element-id':17,'element':'long','element-required':false}}") "]",
     "{'current-schema-id':1,'last-column-id':17}"},
    {"v2", "[" ADD_SCHEMA(5, ID) ",{'action':'set-current-schema','schema-id':-1}]",
     "{'current-schema-id':0,'last-column-id':6}"},
    {"v2", "[" ADD_SCHEMA(5, ID) ",{'action':'set-current-schema','schema-id':5}]",
     "{'current-schema-id':0,'last-column-id':6}"},
    {"v2",
     "[" ADD_SCHEMA(5, ID ",{'id':9,'name':'n','required':false,'type':'int'}") ","
                                                                                ADD_SCHEMA(6,
                                                                                    ID) ","
     "{'action':'set-current-schema','schema-id':5}]",
     "{'current-schema-id':2,'last-column-id':9}"},
    /* Specs. */
    {"v2",
     "[" ADD_SPEC("{'name':'id','transform':'identity','source-id':1,'field-id':1001}") ","
     "{'action':'set-default-spec','spec-id':-1}]",
     "{'default-spec-id':2,'last-partition-id':1001,'partition-specs':[{'spec-id':0,'fields':[]},"
     "{'spec-id':1,'fields':[{'name':'id_bucket','transform':'bucket[16]','source-id':1,"
     "'field-id':1000}]},{'spec-id':2,'fields':[{'name':'id','transform':'identity',"
     "'source-id':1,'field-id':1001}]}]}"},
    {"empty",
     "[" ADD_SPEC("{'name':'id','transform':'identity','source-id':1}") ","
     "{'action':'set-default-spec','spec-id':7}]",
     "{'default-spec-id':1,'last-partition-id':1000,'partition-specs':[{'spec-id':0,'fields':[]},"
     "{'spec-id':1,'fields':[{'name':'id','transform':'identity','source-id':1,"
     "'field-id':1000}]}]}"},
    {"v2",
     "[" ADD_SPEC("{'name':'d','transform':'truncate[4]','source-id':2},"
                  "{'name':'b','transform':'bucket[16]','source-id':1,'field-id':null}") "]",
     "{'default-spec-id':0,'last-partition-id':1001,'partition-specs':[{'spec-id':0,'fields':[]},"
     "{'spec-id':1,'fields':[{'name':'id_bucket','transform':'bucket[16]','source-id':1,"
     "'field-id':1000}]},{'spec-id':2,'fields':[{'name':'d','transform':'truncate[4]',"
     "'source-id':2,'field-id':1001},{'name':'b','transform':'bucket[16]','source-id':1,"
     "'field-id':1000}]}]}"},
    {"v2", "[" ADD_SPEC("{'name':'id_bucket','transform':'bucket[16]','source-id':1}") ","
           "{'action':'set-default-spec','spec-id':-1}]",
     "{'default-spec-id':1,'last-partition-id':1000}"},
    {"v1",
     "[" ADD_SPEC("{'name':'id','transform':'identity','source-id':1,'field-id':1000}") ","
     "{'action':'set-default-spec','spec-id':-1}]",
     "{'default-spec-id':1,'partition-spec':[{'name':'id','transform':'identity','source-id':1,"
     "'field-id':1000}]}"},
    /* A column may have the name of a partition field whose spec, or whose source, is gone. */
    {"v2",
     "[" ADD_SCHEMA(2, ID ",{'id':9,'name':'id_bucket','required':false,'type':'int'}") ","
     "{'action':'set-current-schema','schema-id':-1},"
     "{'action':'remove-partition-specs','spec-ids':[1]}]",
     "{'current-schema-id':2,'partition-specs':[{'spec-id':0,'fields':[]}]}"},
    {"v1",
     "[" ADD_SPEC("{'name':'ts','transform':'void','source-id':2,'field-id':1000}") ","
     "{'action':'set-default-spec','spec-id':-1},"
     ADD_SCHEMA(0, ID ",{'id':9,'name':'ts','required':false,'type':'date'},"
                      "{'id':10,'name':'ts_day','required':false,'type':'date'}") ","
     "{'action':'set-current-schema','schema-id':-1}]",
     "{'current-schema-id':1,'default-spec-id':1,'last-column-id':10}"},
    {"v2", "[{'action':'remove-partition-specs','spec-ids':[1,55]}]",
     "{'partition-specs':[{'spec-id':0,'fields':[]}],'last-partition-id':1000}"},
    {"v2", "[{'action':'remove-schemas','schema-ids':[0,55]}]", "{'current-schema-id':1}"},
    {"v1",
     "[{'action':'add-schema','schema':" SCHEMA(0, ID ",{'id':2,'name':'when','required':false,"
                                                      "'type':'timestamp'}") "},"
     "{'action':'set-current-schema','schema-id':-1}]",
     "{'current-schema-id':1,'schema':" SCHEMA(1, ID ",{'id':2,'name':'when','required':false,"
                                                     "'type':'timestamp'}") "}"},
    /* Orders. */
    {"empty", "[" ADD_ORDER(1, ASC(1)) ",{'action':'set-default-sort-order','sort-order-id':-1}]",
     "{'default-sort-order-id':1,'sort-orders':[{'order-id':0,'fields':[]},{'order-id':1,"
     "'fields':[" ASC(1) "]}]}"},
    {"v2",
     "[" ADD_ORDER(1, ASC(2)) ",{'action':'set-default-sort-order','sort-order-id':-1}]",
     "{'default-sort-order-id':2}"},
    {"v2", "[" ADD_ORDER(8, ASC(1)) ",{'action':'set-default-sort-order','sort-order-id':-1}]",
     "{'default-sort-order-id':1}"},
    /* Snapshots. */
    {"v2", "[" SNAP(4598765432109876543, 4, 20) "," ON_MAIN(4598765432109876543) "]",
     "{'last-sequence-number':4,'current-snapshot-id':4598765432109876543,'snapshot-log':[" OLD_LOG
     ",{'timestamp-ms':1700000050000,'snapshot-id':4598765432109876543}],"
     "'last-updated-ms':1700000100000}"},
    {"v2", "[" SNAP(-5, 4, 20) "]", "{'last-sequence-number':4,'current-snapshot-id':20}"},
    {"v2", "[" SNAP(40, 3, null) "]", "{'last-sequence-number':3,'current-snapshot-id':20}"},
    {"v2", "[" SNAP(40, 3, -1) "]", "{'last-sequence-number':3}"},
    {"v2", "[" SNAP(40, 2, -1) "]", "{'last-sequence-number':3}"},
    {"empty",
     "[{'action':'add-snapshot','snapshot':{'snapshot-id':7,'parent-snapshot-id':null,"
     "'sequence-number':1,'timestamp-ms':1700000050000,'x-more':{'a':[1,{'b':null}]},"
     "'summary':{'total-records':'3','operation':'append','x':'ä\\n'},'manifest-list':'m',"
     "'schema-id':0,'key-id':'k','first-row-id':null}}]",
     "{'snapshots':[{'sequence-number':1,'snapshot-id':7,'timestamp-ms':1700000050000,"
     "'summary':{'operation':'append','total-records':'3','x':'ä\\n'},'x-more':{'a':[1,{}]},"
     "'manifest-list':'m','schema-id':0,'key-id':'k'}],'current-snapshot-id':-1,'refs':{}}"},
    {"v1",
     "[{'action':'add-snapshot','snapshot':{'snapshot-id':11,'sequence-number':0,"
     "'timestamp-ms':1700000050000,'parent-snapshot-id':10,'manifests':['a','b']}}," ON_MAIN(11) "]",
     "{'current-snapshot-id':11,'snapshots':[{'snapshot-id':10,'timestamp-ms':1700000010000,"
     "'manifests':['s3://b/ns/old/m1.avro']},{'snapshot-id':11,'timestamp-ms':1700000050000,"
     "'parent-snapshot-id':10,'manifests':['a','b']}]}"},
    {"v3",
     SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':100,'added-rows':10"),
     "{'next-row-id':110,'current-snapshot-id':10}"},
    {"v3",
     SNAP_IN("'snapshot-id':4,'sequence-number':2,'summary':{},'first-row-id':200,'added-rows':10"),
     "{'next-row-id':210}"},
    /* A rollback is dated by the commit, a staged snapshot made current by itself. */
    {"v2", "[" ON_MAIN(10) "]",
     "{'current-snapshot-id':10,'snapshot-log':[" OLD_LOG
     ",{'timestamp-ms':1700000100000,'snapshot-id':10}]}"},
    /* Snapshots that were current only in between leave no trace in the log. */
    {"v2",
     "[" SNAP(40, 4, 20) "," ON_MAIN(40) "," SNAP(50, 5, 40) "," ON_MAIN(50) "]",
     "{'current-snapshot-id':50,'snapshot-log':[" OLD_LOG
     ",{'timestamp-ms':1700000050000,'snapshot-id':50}]}"},
    {"v2", REF("'ref-name':'t','type':'Tag','snapshot-id':20,'max-ref-age-ms':9,"
               "'min-snapshots-to-keep':null"),
     "{'refs':{'main':{'snapshot-id':20,'type':'branch'},'dev':{'snapshot-id':30,'type':'branch',"
     "'min-snapshots-to-keep':2,'max-snapshot-age-ms':1000},'v1':{'snapshot-id':10,'type':'tag',"
     "'max-ref-age-ms':5000},'t':{'snapshot-id':20,'type':'tag','max-ref-age-ms':9}},"
     "'snapshot-log':[" OLD_LOG "]}"},
    /* Retention is replaced as a whole; branches may become tags. */
    {"v2", REF("'ref-name':'dev','type':'tag','snapshot-id':30"),
     "{'refs':{'main':{'snapshot-id':20,'type':'branch'},'dev':{'snapshot-id':30,'type':'tag'},"
     "'v1':{'snapshot-id':10,'type':'tag','max-ref-age-ms':5000}}}"},
    {"v2", "[{'action':'remove-snapshot-ref','ref-name':'main'}]",
     "{'current-snapshot-id':-1,'snapshot-log':[" OLD_LOG "]}"},
    {"v3", "[{'action':'remove-snapshot-ref','ref-name':'main'}]",
     "{'current-snapshot-id':null,'refs':{}}"},
    /* A removed snapshot takes its statistics and refs along, and the log from the gap back. */
    {"v2", "[{'action':'remove-snapshots','snapshot-ids':[10,77]}]",
     "{'refs':{'main':{'snapshot-id':20,'type':'branch'},'dev':{'snapshot-id':30,'type':'branch',"
     "'min-snapshots-to-keep':2,'max-snapshot-age-ms':1000}},'partition-statistics':[],"
     "'snapshot-log':[{'timestamp-ms':1700000020000,'snapshot-id':20}],'current-snapshot-id':20,"
     "'statistics':[{'snapshot-id':20,'statistics-path':'s3://b/ns/t/metadata/20.puffin',"
     "'file-size-in-bytes':9,'file-footer-size-in-bytes':3,'blob-metadata':[]}]}"},
    {"v2", "[{'action':'remove-snapshots','snapshot-ids':[20]}]",
     "{'refs':{'dev':{'snapshot-id':30,'type':'branch','min-snapshots-to-keep':2,"
     "'max-snapshot-age-ms':1000},'v1':{'snapshot-id':10,'type':'tag','max-ref-age-ms':5000}},"
     "'current-snapshot-id':-1,'snapshot-log':[]}"},
    {"v2",
     "[{'action':'remove-snapshots','snapshot-ids':[10,20,30]}]",
     "{'refs':{},'snapshots':[],'statistics':[],'partition-statistics':[],'snapshot-log':[],"
     "'current-snapshot-id':-1,'last-sequence-number':3}"},
    /* Location, properties. */
    {"v2", "[{'action':'set-location','location':'s3://b/other//'}]", "{'location':'s3://b/other'}"},
    {"v2", "[{'action':'set-properties','updates':{'owner':'you','new':'\\u00e4','uuid':'x'}}]",
     "{'properties':{'owner':'you','team':'a/b','new':'ä'}}"},
    {"v2", "[{'action':'set-properties','updated':{'a':'1'}}]",
     "{'properties':{'owner':'me','team':'a/b','a':'1'}}"},
    {"v2", "[{'action':'set-properties','updated':{'a':'1'},'updates':{'b':'2'}}]",
     "{'properties':{'owner':'me','team':'a/b','b':'2'}}"},
    {"v2", "[{'action':'set-properties','updates':{'owner':'me'}}]",
     "{'properties':{'owner':'me','team':'a/b'},'last-updated-ms':1700000100000}"},
    {"v2", "[{'action':'remove-properties','removals':['team','none']}]",
     "{'properties':{'owner':'me'}}"},
    {"v2", "[{'action':'remove-properties','removed':['none']}]",
     "{'properties':{'owner':'me','team':'a/b'},'last-updated-ms':1700000100000}"},
    /* Statistics: one for each snapshot. */
    {"v2",
     "[{'action':'set-statistics','snapshot-id':10," STATS(10) "},"
     "{'action':'set-statistics'," STATS(99) "},{'action':'remove-statistics','snapshot-id':20}]",
     "{'statistics':[{'snapshot-id':10,'statistics-path':'p','file-size-in-bytes':1,"
     "'file-footer-size-in-bytes':1,'blob-metadata':[]},{'snapshot-id':99,'statistics-path':'p',"
     "'file-size-in-bytes':1,'file-footer-size-in-bytes':1,'blob-metadata':[]}]}"},
    {"v2",
     "[{'action':'remove-statistics','snapshot-id':20},"
     "{'action':'remove-partition-statistics','snapshot-id':10},"
     "{'action':'remove-snapshots','snapshot-ids':[10]},"
     "{'action':'set-statistics'," STATS(20) "},{'action':'set-statistics'," STATS(10) "}]",
     "{'partition-statistics':[],'statistics':["
     "{'snapshot-id':20,'statistics-path':'p','file-size-in-bytes':1,"
     "'file-footer-size-in-bytes':1,'blob-metadata':[]},{'snapshot-id':10,'statistics-path':'p',"
     "'file-size-in-bytes':1,'file-footer-size-in-bytes':1,'blob-metadata':[]}]}"},
    {"v2",
     "[{'action':'set-partition-statistics','partition-statistics':{'snapshot-id':20,"
     "'statistics-path':'q','file-size-in-bytes':2,'x':null}},"
     "{'action':'remove-partition-statistics','snapshot-id':10}]",
     "{'partition-statistics':[{'snapshot-id':20,'statistics-path':'q','file-size-in-bytes':2}]}"},
    {"v2", "[{'action':'remove-statistics','snapshot-id':10},{'action':'set-statistics'," STATS(10) "},"
     "{'action':'remove-statistics','snapshot-id':20},{'action':'set-statistics'," STATS(20) "},"
     "{'action':'remove-snapshots','snapshot-ids':[30]},{'action':'remove-statistics','snapshot-id':20}]",
     "{'statistics':[{'snapshot-id':10,'statistics-path':'p','file-size-in-bytes':1,"
     "'file-footer-size-in-bytes':1,'blob-metadata':[]}]}"},
    /* Keys. */
    {"v3",
     "[{'action':'add-encryption-key','encryption-key':{'key-id':'k2','encrypted-key-metadata':"
     "'AA==','encrypted-by-id':null,'properties':{'a':'b'}}},"
     "{'action':'remove-encryption-key','key-id':'k1'}]",
     "{'encryption-keys':[{'key-id':'k2','encrypted-key-metadata':'AA==','properties':{'a':'b'}}]}"},
    {"v3", "[{'action':'remove-encryption-key','key-id':'k1'},"
     "{'action':'add-encryption-key','encryption-key':{'key-id':'k1','encrypted-key-metadata':'AA=='}},"
     "{'action':'add-encryption-key','encryption-key':{'key-id':'k2','encrypted-key-metadata':'AA=='}},"
     "{'action':'remove-encryption-key','key-id':'k2'}]",
     "{'encryption-keys':[{'key-id':'k1','encrypted-key-metadata':'AA=='}]}"},
};
/* clang-format on */

START_TEST(test_update__changes_the_table)
{
    const struct effect *e = &effects[_i];
    const struct metadata *out;
    struct err err;
    bool ok = tool_commit(a, tool_base(a, e->base), e->updates, &out, &err);
    ck_assert_msg(ok, "%s: %s", e->updates, ok ? "" : err.msg);
    tool_expect(e->updates, tool_document(a, out), tool_json(a, e->expected));
}
END_TEST

START_TEST(test_update_remove_encryption_key__last_one_takes_the_member_along)
{
    const struct metadata *out;
    struct err err;
    ck_assert(tool_commit(
        a, tool_base(a, "v3"), "[{'action':'remove-encryption-key','key-id':'k1'}]", &out, &err));
    ck_assert_ptr_null(metadata_member(out, "encryption-keys").p);
}
END_TEST

START_TEST(test_update_add_schema__numbers_and_texts_as_short_as_sent)
{
    const struct metadata *out;
    struct err err;
    ck_assert(tool_commit(a, tool_base(a, "v3"),
        "[" ADD_SCHEMA(1,
            "{'id':3,'name':'d','required':false,'type':'double','write-default':0.1},"
            "{'id':4,'name':'e','required':false,'type':'double','write-default':1.0},"
            "{'id':5,'name':'t','required':false,'type':'timestamp_ns',"
            "'write-default':'2017-11-16T22:31:08.123456789'}") "]",
        &out, &err));
    struct str text = metadata_member(out, "schemas");
    text = arena_dup(a, text);
    ck_assert_ptr_nonnull(strstr(text.p, "\"write-default\":0.1}"));
    ck_assert_ptr_nonnull(strstr(text.p, "\"write-default\":1.0}"));
    ck_assert_ptr_nonnull(strstr(text.p, "2017-11-16T22:31:08.123456789\"}"));
}
END_TEST

/* Schemas that differ in their columns are told apart without a tree for each. */
START_TEST(test_update_add_schema__many_old_schemas_are_not_parsed)
{
    const struct metadata *m = tool_base(a, "empty");
    struct err err;
    for (int i = 0; i < 40; i++) {
        struct str updates = arena_printf(a,
            "[{'action':'add-schema','schema':{'type':'struct','fields':[{'id':%d,'name':'c',"
            "'required':false,'type':'int'}]}}]",
            i + 2);
        ck_assert(tool_commit(a, m, updates.p, &m, &err));
    }
    struct draft *d = draft_begin(a, m);
    ck_assert(updates_apply(d,
        tool_json(a, "[{'action':'add-schema','schema':{'fields':[{'name':'c','required':false,"
                     "'id':30,'type':'int'}]}}]"),
        &err));
    ck_assert_uint_eq(d->changes, 0);
    ck_assert_int_eq(d->last_schema, 29);
    size_t trees = 0;
    for (size_t i = 0; i < d->parts[PARTS_SCHEMAS].n; i++)
        trees += d->parts[PARTS_SCHEMAS].v[i].id == d->last_schema;
    ck_assert_uint_eq(trees, 1);
}
END_TEST

START_TEST(test_update_remove_snapshots__many_at_once)
{
    enum { MANY = 20000 };
    struct err err;
    const struct metadata *m = tool_base(a, "empty"), *out;
    json_t *updates = tool_json(a, "[]"), *removal = tool_json(a, "[]");
    for (int i = 0; i < MANY; i++) {
        json_array_append_new(updates,
            json_pack("{s:s,s:{s:i,s:i,s:i,s:{s:s},s:s}}", "action", "add-snapshot", "snapshot",
                "snapshot-id", 100 + i, "sequence-number", 1 + i, "timestamp-ms", i, "summary",
                "operation", "append", "manifest-list", "m"));
        if (i % 2)
            json_array_append_new(removal, json_integer(100 + MANY - i));
    }
    json_array_append_new(
        updates, json_pack("{s:s,s:O}", "action", "remove-snapshots", "snapshot-ids", removal));
    struct draft *d = draft_begin(a, m);
    ck_assert(updates_apply(d, updates, &err));
    out = tool_finish(a, d);
    ck_assert_uint_eq(metadata_parts(out, PARTS_SNAPSHOTS)->n, MANY / 2);
}
END_TEST

START_TEST(test_update_remove_snapshots__one_by_one_keeps_little)
{
    struct err err;
    json_t *updates = tool_json(a, "[]");
    for (int i = 0; i < 5000; i++)
        json_array_append_new(
            updates, json_pack("{s:s,s:{s:i,s:i,s:i,s:{},s:s}}", "action", "add-snapshot",
                         "snapshot", "snapshot-id", 100 + i, "sequence-number", 1, "timestamp-ms",
                         i, "summary", "manifest-list", "m"));
    for (int i = 0; i < 5000; i++)
        json_array_append_new(updates,
            json_pack("{s:s,s:[i]}", "action", "remove-snapshots", "snapshot-ids", 100 + i));
    struct draft *d = draft_begin(a, tool_base(a, "empty"));
    ck_assert(updates_apply(d, updates, &err));
    ck_assert_uint_eq(d->parts[PARTS_SNAPSHOTS].n, 0);
    ck_assert_uint_lt(arena_used(a), 16 << 20);
}
END_TEST

/* Java's expiry names each snapshot, and then its statistics. All of them go in one pass. */
START_TEST(test_update_remove_snapshots__with_their_statistics_by_turns)
{
    enum { MANY = 2000 };
    struct err err;
    json_t *updates = tool_json(a, "[]");
    for (int i = 0; i < MANY; i++) {
        json_array_append_new(
            updates, json_pack("{s:s,s:{s:i,s:i,s:i,s:{},s:s}}", "action", "add-snapshot",
                         "snapshot", "snapshot-id", 100 + i, "sequence-number", 1, "timestamp-ms",
                         i, "summary", "manifest-list", "m"));
        json_array_append_new(
            updates, json_pack("{s:s,s:{s:i,s:s,s:i,s:i,s:[]}}", "action", "set-statistics",
                         "statistics", "snapshot-id", 100 + i, "statistics-path", "p",
                         "file-size-in-bytes", 1, "file-footer-size-in-bytes", 1, "blob-metadata"));
    }
    const struct metadata *m = tool_base(a, "empty");
    struct draft *d = draft_begin(a, m);
    ck_assert(updates_apply(d, updates, &err));
    m = tool_finish(a, d);
    json_t *removal = tool_json(a, "[]");
    for (int i = 0; i < MANY - 1; i++) {
        json_array_append_new(removal,
            json_pack("{s:s,s:[i]}", "action", "remove-snapshots", "snapshot-ids", 100 + i));
        json_array_append_new(
            removal, json_pack("{s:s,s:i}", "action", "remove-statistics", "snapshot-id", 100 + i));
        json_array_append_new(removal,
            json_pack("{s:s,s:i}", "action", "remove-partition-statistics", "snapshot-id", i));
    }
    d = draft_begin(a, m);
    ck_assert(updates_apply(d, removal, &err));
    ck_assert_uint_le(d->changes, 2);
    m = tool_finish(a, d);
    ck_assert_uint_eq(metadata_parts(m, PARTS_SNAPSHOTS)->n, 1);
    ck_assert_uint_eq(metadata_parts(m, PARTS_STATISTICS)->n, 1);
    ck_assert_int_eq(metadata_parts(m, PARTS_STATISTICS)->v[0].id, 100 + MANY - 1);
}
END_TEST

/* Whatever a request alternates between, its memory grows with its own size. */
START_TEST(test_update_remove_snapshots__and_look_for_others_by_turns)
{
    enum { MANY = 4000 };
    struct err err;
    json_t *updates = tool_json(a, "[]");
    for (int i = 0; i < MANY; i++)
        json_array_append_new(
            updates, json_pack("{s:s,s:{s:i,s:i,s:i,s:{},s:s}}", "action", "add-snapshot",
                         "snapshot", "snapshot-id", 100 + i, "sequence-number", 1, "timestamp-ms",
                         i, "summary", "manifest-list", "m"));
    for (int i = 0; i < MANY / 2; i++) {
        json_array_append_new(updates,
            json_pack("{s:s,s:[i]}", "action", "remove-snapshots", "snapshot-ids", 100 + i));
        json_array_append_new(
            updates, json_pack("{s:s,s:s,s:s,s:i}", "action", "set-snapshot-ref", "ref-name", "b",
                         "type", "branch", "snapshot-id", 100 + MANY - 1 - i));
    }
    struct draft *d = draft_begin(a, tool_base(a, "empty"));
    ck_assert(updates_apply(d, updates, &err));
    ck_assert_uint_eq(d->parts[PARTS_SNAPSHOTS].n, MANY / 2);
    ck_assert_uint_lt(arena_used(a), 24 << 20);
}
END_TEST

START_TEST(test_update_add_spec__many_without_field_ids)
{
    enum { SPECS = 400, FIELDS = 20 };
    struct err err;
    json_t *updates = tool_json(a, "[]");
    for (int i = 0; i < SPECS; i++) {
        json_t *fields = json_array();
        for (int k = 0; k < FIELDS; k++) {
            json_t *f = json_pack("{s:i}", "source-id", 1);
            struct str name = arena_printf(a, "f%d", k);
            struct str transform = arena_printf(a, "bucket[%d]", 1 + k + (k ? 0 : i * FIELDS));
            json_object_set_new(f, "name", json_stringn(name.p, name.n));
            json_object_set_new(f, "transform", json_stringn(transform.p, transform.n));
            json_array_append_new(fields, f);
        }
        json_array_append_new(
            updates, json_pack("{s:s,s:{s:o}}", "action", "add-spec", "spec", "fields", fields));
    }
    struct draft *d = draft_begin(a, tool_base(a, "v2"));
    ck_assert(updates_apply(d, updates, &err));
    /* Nineteen fields are the same in all of them and keep their ids. */
    ck_assert_int_eq(d->head.last_partition_id, 1000 + FIELDS - 1 + SPECS - 1);
    ck_assert_uint_lt(arena_used(a), 24 << 20);
}
END_TEST

/* Full names are kept while a schema is read, and not longer. */
START_TEST(test_update_add_schema__long_names_above_many_fields)
{
    enum { SCHEMAS = 6, FIELDS = 300, NAME = 100000 };
    struct err err;
    char *name = arena_alloc(a, NAME + 1);
    memset(name, 'n', NAME);
    name[NAME] = '\0';
    json_t *updates = tool_json(a, "[]");
    for (int i = 0; i < SCHEMAS; i++) {
        json_t *inner = json_array();
        for (int k = 0; k < FIELDS; k++) {
            struct str field = arena_printf(a, "f%d", k);
            json_array_append_new(
                inner, json_pack("{s:i,s:s,s:s}", "id", 10 + k, "name", field.p, "type", "int"));
        }
        json_array_append_new(updates,
            json_pack("{s:s,s:{s:[{s:i,s:s,s:s},{s:i,s:s,s:{s:s,s:o}}]}}", "action", "add-schema",
                "schema", "fields", "id", 1, "name", "id", "type", i % 2 ? "int" : "long", "id",
                2 + i, "name", name, "type", "type", "struct", "fields", inner));
        json_array_append_new(
            updates, json_pack("{s:s,s:i}", "action", "set-current-schema", "schema-id", -1));
        json_array_append_new(updates,
            json_pack("{s:s,s:{s:[{s:s,s:s,s:i}]}}", "action", "add-spec", "spec", "fields", "name",
                "p", "transform", arena_printf(a, "bucket[%d]", 2 + i).p, "source-id", 1));
    }
    struct draft *d = draft_begin(a, tool_base(a, "empty"));
    bool ok = updates_apply(d, updates, &err);
    ck_assert_msg(ok, "%s", ok ? "" : err.msg);
    ck_assert_uint_lt(arena_used(a), 24 << 20);
}
END_TEST

/* The base with the highest ids that readers know. */
static const struct metadata *base_of_highest_ids(void)
{
    json_t *tree = json_deep_copy(tool_document(a, tool_base(a, "v2")));
    static const char *const lists[][2] = {
        {"schemas",         "schema-id"},
        {"partition-specs", "spec-id"  },
        {"sort-orders",     "order-id" }
    };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        json_object_set_new(json_array_get(json_object_get(tree, lists[i][0]), i == 0 ? 0 : 1),
            lists[i][1], json_integer(INT32_MAX));
    char *text = json_dumps(tree, JSON_COMPACT);
    const struct metadata *m = tool_metadata(a, str_from(text), BASE_LOCATION);
    free(text);
    json_decref(tree);
    return m;
}

START_TEST(test_update_add__no_id_is_left)
{
    static const char *const updates[][2] = {
  /* clang-format off */
        {"[" ADD_SCHEMA(5, "{'id':1,'name':'x','required':false,'type':'int'}") "]", "schemas"},
        {"[" ADD_SPEC("{'name':'x','transform':'identity','source-id':1}") "]", "partition-specs"},
        {"[" ADD_ORDER(5, ASC(2)) "]", "sort-orders"},
  /* clang-format on */
    };
    const struct metadata *m = base_of_highest_ids();
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(updates); i++) {
        ck_assert(!updates_apply(draft_begin(a, m), tool_json(a, updates[i][0]), &err));
        ck_assert_str_eq(
            err.msg, arena_printf(a, "Cannot add to %s: the highest id, 2147483647, is in use",
                         updates[i][1])
                         .p);
    }
    /* One that is there already needs none. */
    struct draft *d = draft_begin(a, m);
    ck_assert(
        updates_apply(d, tool_json(a, "[" ADD_SCHEMA(5, ID) "," ADD_ORDER(5, ASC(1)) "]"), &err));
    ck_assert_int_eq(d->last_schema, INT32_MAX);
    ck_assert_int_eq(d->last_order, INT32_MAX);
}
END_TEST

/* What is compared with everything that is there may not come in any number. */
START_TEST(test_update_add__a_thousand_of_a_kind)
{
    static const char *const kinds[][2] = {
        {"{'action':'add-schema','schema':{'fields':[]}}",         "schemas"        },
        {"{'action':'add-spec','spec':{'fields':[]}}",             "partition-specs"},
        {"{'action':'add-sort-order','sort-order':{'fields':[]}}", "sort-orders"    },
        {"{'action':'add-encryption-key','encryption-key':{'key-id':'k',"
         "'encrypted-key-metadata':'AA=='}}",             "encryption-keys"},
    };
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct err err;
        json_t *updates = tool_json(a, "[]"), *one = tool_json(a, kinds[k][0]);
        for (int i = 0; i < 1000; i++)
            json_array_append(updates, one);
        ck_assert(updates_apply(draft_begin(a, tool_base(a, "v3")), updates, &err));
        json_array_append(updates, one);
        ck_assert(!updates_apply(draft_begin(a, tool_base(a, "v3")), updates, &err));
        ck_assert_str_eq(err.msg,
            arena_printf(a, "More than 1000 additions to %s in one request", kinds[k][1]).p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/update");
    TCase *cases = tcase_create("catalog/update");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, test_update__refused, 0, (int)ARRAY_LEN(refusals));
    tcase_add_loop_test(cases, test_update__changes_nothing, 0, (int)ARRAY_LEN(noops));
    tcase_add_loop_test(cases, test_update__changes_the_table, 0, (int)ARRAY_LEN(effects));
    tcase_add_test(cases, test_update_remove_encryption_key__last_one_takes_the_member_along);
    tcase_add_test(cases, test_update_add_schema__numbers_and_texts_as_short_as_sent);
    tcase_add_test(cases, test_update_add_schema__many_old_schemas_are_not_parsed);
    tcase_add_test(cases, test_update_remove_snapshots__many_at_once);
    tcase_add_test(cases, test_update_remove_snapshots__one_by_one_keeps_little);
    tcase_add_test(cases, test_update_remove_snapshots__with_their_statistics_by_turns);
    tcase_add_test(cases, test_update_remove_snapshots__and_look_for_others_by_turns);
    tcase_add_test(cases, test_update_add_spec__many_without_field_ids);
    tcase_add_test(cases, test_update_add_schema__long_names_above_many_fields);
    tcase_add_test(cases, test_update_add__no_id_is_left);
    tcase_add_test(cases, test_update_add__a_thousand_of_a_kind);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
