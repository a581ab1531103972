/* A commit: its updates on a table with some history, and on a view. What is written reads back as
 * it was. */
#include <jansson.h>

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "draft.h"
#include "fuzz.h"
#include "metadata.h"
#include "op.h"
#include "requirement.h"
#include "scan.h"
#include "update.h"

#define PLACE "s3://b/t/metadata/00001-x.metadata.json"
#define SNAP(id)                                                                                   \
    "{\"snapshot-id\":" #id ",\"sequence-number\":" #id ",\"timestamp-ms\":1000,"                  \
    "\"summary\":{\"operation\":\"append\"},\"manifest-list\":\"s3://b/" #id                       \
    ".avro\",\"schema-id\":0}"

#define VERSION(id)                                                                                \
    "{\"version-id\":" #id ",\"timestamp-ms\":1000,\"schema-id\":0,\"summary\":{},"                \
    "\"default-namespace\":[\"a\"],\"representations\":[{\"type\":\"sql\",\"sql\":\"select " #id   \
    "\",\"dialect\":\"spark\"}]}"

/* Format version 2, with two of everything that has ids. */
static const char base_text[] =
    "{\"format-version\":2,\"table-uuid\":\"11111111-1111-4111-8111-111111111111\","
    "\"location\":\"s3://b/t\",\"last-sequence-number\":2,\"last-updated-ms\":1000,"
    "\"last-column-id\":2,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
    "{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"long\"},"
    "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]},"
    "{\"type\":\"struct\",\"schema-id\":1,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true,"
    "\"type\":\"long\"}]}],\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,"
    "\"fields\":[]},{\"spec-id\":1,\"fields\":[{\"name\":\"p\",\"transform\":\"bucket[4]\","
    "\"source-id\":1,\"field-id\":1000}]}],\"default-spec-id\":0,\"last-partition-id\":1000,"
    "\"sort-orders\":[{\"order-id\":0,\"fields\":[]},{\"order-id\":1,\"fields\":[{\"transform\":"
    "\"identity\",\"source-id\":1,\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}],"
    "\"default-sort-order-id\":0,\"properties\":{\"k\":\"v\"},\"current-snapshot-id\":2,"
    "\"refs\":{\"main\":{\"snapshot-id\":2,\"type\":\"branch\"},\"old\":{\"snapshot-id\":1,"
    "\"type\":\"tag\"}},\"snapshots\":[" SNAP(1) "," SNAP(
        2) "],\"statistics\":[],"
           "\"snapshot-log\":[{\"timestamp-ms\":1000,\"snapshot-id\":1},{\"timestamp-ms\":1000,"
           "\"snapshot-id\":2}],\"metadata-log\":[],\"kept\":[1.0]}";

static const char view_text[] =
    "{\"view-uuid\":\"11111111-1111-4111-8111-111111111111\",\"format-version\":1,"
    "\"location\":\"s3://b/t\",\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
    "{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"long\"}]}],\"current-version-id\":2,"
    "\"versions\":[" VERSION(1) "," VERSION(
        2) "],\"version-log\":[{\"timestamp-ms\":1000,\"version-id\":1},{\"timestamp-ms\":1000,"
           "\"version-id\":2}],\"properties\":{\"k\":\"v\"},\"kept\":[1.0]}";

static const struct metadata *base(struct arena *a, enum metadata_kind kind)
{
    struct metadata *m = NULL;
    struct err err = {0};
    struct str text = {base_text, sizeof(base_text) - 1};
    if (kind == METADATA_VIEW)
        text = (struct str){view_text, sizeof(view_text) - 1};
    FUZZ_CHECK(metadata_from_file(text, STR(PLACE), &m, &err), err.msg);
    return metadata_hold(a, m);
}

static void check_written(struct arena *a, const struct metadata *m, struct str place)
{
    struct metadata *again = NULL;
    struct err err = {0};
    struct str *pieces;
    size_t n = metadata_document(a, m, VARIANT_ALL, &pieces);
    FUZZ_CHECK(n == 1, "one piece");
    FUZZ_CHECK(metadata_from_file(pieces[0], place, &again, &err), err.msg);
    const struct metadata *r = metadata_hold(a, again);
    const struct head *x = metadata_head(m), *y = metadata_head(r);
    FUZZ_CHECK(x->current_snapshot_id == y->current_snapshot_id, "current snapshot");
    FUZZ_CHECK(x->last_updated_ms == y->last_updated_ms, "last update");
    FUZZ_CHECK(x->last_partition_id == y->last_partition_id, "last partition");
    FUZZ_CHECK(x->next_row_id == y->next_row_id, "next row");
    FUZZ_CHECK(x->current_version_id == y->current_version_id, "current version");
    FUZZ_CHECK(metadata_kind(m) == metadata_kind(r), "kind");
    FUZZ_CHECK(json_equal(x->properties, y->properties), "properties");
    FUZZ_CHECK(json_equal(x->refs, y->refs), "refs");
    for (int k = 0; k < PARTS_COUNT; k++) {
        const struct parts *p = metadata_parts(m, (enum parts_kind)k);
        const struct parts *q = metadata_parts(r, (enum parts_kind)k);
        FUZZ_CHECK(p->n == q->n, parts_names[k]);
        for (size_t i = 0; i < p->n; i++)
            FUZZ_CHECK(p->v[i].n == q->v[i].n && p->v[i].id == q->v[i].id &&
                           p->v[i].seq == q->v[i].seq && p->v[i].ms == q->v[i].ms &&
                           p->v[i].parent == q->v[i].parent,
                parts_names[k]);
    }
}

static bool commit(struct arena *a, const json_t *body, enum metadata_kind kind, struct err *err)
{
    bool create = false;
    struct str place, token;
    bool gzip = false;
    struct metadata *next = NULL;
    const json_t *requirements = json_object_get(body, "requirements");
    unsigned op = kind == METADATA_VIEW ? OP_REPLACE_VIEW : OP_UPDATE_TABLE;
    TRY(op_check_body(op_rows[op].body, body, err));
    TRY(requirements_create(requirements, &create, err));
    const struct metadata *m = create && kind == METADATA_TABLE ? NULL : base(a, kind);
    if (m)
        TRY(requirements_check(m, requirements, err));
    struct draft *d = m ? draft_begin(a, m) : draft_begin_empty(a, 2);
    TRY(updates_apply(d, json_object_get(body, "updates"), err));
    if (!m)
        TRY(draft_check_complete(d, err));
    else if (!d->changes)
        return true;
    TRY(draft_file(d, &place, &token, &gzip, err));
    TRY(draft_finish(d, place, &next, err));
    check_written(a, metadata_hold(a, next), place);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str text = fuzz_text(data, size);
    struct err bad = {0};
    clock_freeze(1700000000000);
    if (!scan_validate(text, &scan_body_limits, &bad))
        return 0;
    json_t *body = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    FUZZ_CHECK(body, "what was scanned can be parsed");
    for (int kind = 0; kind < METADATA_KINDS; kind++) {
        struct err err = {0};
        bool ok = commit(a, body, (enum metadata_kind)kind, &err);
        FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
        FUZZ_CHECK(ok || (err_status(err.kind) >= 400 && err_status(err.kind) < 500), err.msg);
    }
    json_decref(body);
    return 0;
}
