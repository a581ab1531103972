/* What is read from a file, plain or gzip, is served as text that is valid and reads back. */
#include "arena.h"
#include "base.h"
#include "buf.h"
#include "fuzz.h"
#include "metadata.h"
#include "scan.h"

#define PLACE STR("s3://b/t/metadata/00000-x.metadata.json")
enum { UNPACKED_MAX = 4 << 20 };

static struct str joined(struct arena *a, const struct metadata *m, enum variant v)
{
    struct str *pieces;
    struct buf b;
    buf_init(&b, 2 * UNPACKED_MAX);
    size_t n = metadata_document(a, m, v, &pieces);
    for (size_t i = 0; i < n; i++)
        buf_str(&b, pieces[i]);
    return buf_take(&b, a);
}

static const struct metadata *reread(struct arena *a, struct str text)
{
    struct metadata *m = NULL;
    struct err err = {0};
    FUZZ_CHECK(metadata_from_file(text, PLACE, &m, &err), err.msg);
    return metadata_hold(a, m);
}

static void check_same_head(const struct metadata *x, const struct metadata *y)
{
    const struct head *a = metadata_head(x), *b = metadata_head(y);
    FUZZ_CHECK(a->format_version == b->format_version, "format version");
    FUZZ_CHECK(str_eq(a->uuid, b->uuid) && str_eq(a->location, b->location), "uuid, location");
    FUZZ_CHECK(a->last_sequence_number == b->last_sequence_number, "sequence number");
    FUZZ_CHECK(a->current_schema_id == b->current_schema_id, "schema");
    FUZZ_CHECK(a->default_spec_id == b->default_spec_id, "spec");
    FUZZ_CHECK(a->last_partition_id == b->last_partition_id, "partition");
    FUZZ_CHECK(a->default_order_id == b->default_order_id, "order");
    FUZZ_CHECK(a->current_snapshot_id == b->current_snapshot_id, "snapshot");
    FUZZ_CHECK(a->current_version_id == b->current_version_id, "version");
    FUZZ_CHECK(metadata_kind(x) == metadata_kind(y), "kind");
    FUZZ_CHECK(json_equal(a->properties, b->properties), "properties");
    FUZZ_CHECK(json_equal(a->refs, b->refs), "refs");
}

static void check_parts(const struct metadata *m)
{
    struct str member = {NULL, 0};
    for (int k = 0; k < PARTS_COUNT; k++) {
        const struct parts *parts = metadata_parts(m, (enum parts_kind)k);
        member = metadata_member(m, parts_names[k]);
        const char *at = member.p;
        for (size_t i = 0; i < parts->n; i++) {
            const struct part *p = &parts->v[i];
            FUZZ_CHECK(p->p > at && p->p + p->n < member.p + member.n, parts_names[k]);
            FUZZ_CHECK(p->p[0] == '{' && p->p[p->n - 1] == '}', parts_names[k]);
            at = p->p + p->n - 1;
        }
    }
}

static void check(struct arena *a, const struct metadata *m)
{
    struct err err = {0};
    struct str all = joined(a, m, VARIANT_ALL), refs = joined(a, m, VARIANT_REFS);
    FUZZ_CHECK(scan_validate(all, &scan_metadata_limits, &err), err.msg);
    FUZZ_CHECK(scan_validate(refs, &scan_metadata_limits, &err), err.msg);
    const struct metadata *again = reread(a, all);
    FUZZ_CHECK(str_eq(all, joined(a, again, VARIANT_ALL)), "not the same text again");
    FUZZ_CHECK(str_eq(refs, joined(a, again, VARIANT_REFS)), "not the same refs again");
    check_same_head(m, again);
    check_same_head(m, reread(a, refs));
    check_parts(m);
    check_same_head(m, reread(a, metadata_gzip(a, m)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct metadata *m = NULL;
    struct err err = {0};
    bool ok = metadata_from_file_max(fuzz_text(data, size), PLACE, UNPACKED_MAX, &m, &err);
    FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
    if (ok)
        check(a, metadata_hold(a, m));
    return 0;
}
