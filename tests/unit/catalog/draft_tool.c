#include "draft_tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "update.h"

static void release(void *json)
{
    json_decref(json);
}

json_t *tool_json(struct arena *a, const char *quoted)
{
    char *text = arena_cstr(a, str_from(quoted));
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    json_error_t e;
    json_t *v = json_loads(text, JSON_DECODE_ANY, &e);
    ck_assert_msg(v != NULL, "%s in %s", e.text, text);
    return arena_hold(a, v, release);
}

const struct metadata *tool_metadata(struct arena *a, struct str text, const char *location)
{
    struct metadata *m = NULL;
    struct err err;
    bool ok = metadata_from_file(text, str_from(location), &m, &err);
    ck_assert_msg(ok, "%s\n%.*s", ok ? "" : err.msg, STR_ARG(text));
    return metadata_hold(a, m);
}

const struct metadata *tool_base(struct arena *a, const char *name)
{
    const char *folder = getenv("FIRN_TEST_DATA");
    ck_assert_msg(folder != NULL, "FIRN_TEST_DATA is not set");
    struct str path = arena_printf(a, "%s/metadata/draft/%s.json", folder, name);
    FILE *f = fopen(path.p, "rb");
    ck_assert_msg(f != NULL, "cannot open %s", path.p);
    char *text = arena_alloc(a, 1 << 16);
    size_t n = fread(text, 1, 1 << 16, f);
    fclose(f);
    return tool_metadata(a, (struct str){text, n}, BASE_LOCATION);
}

struct str tool_text(struct arena *a, const struct metadata *m)
{
    struct str *pieces;
    size_t n = metadata_document(a, m, VARIANT_ALL, &pieces);
    struct str all = STR("");
    for (size_t i = 0; i < n; i++)
        all = n == 1 ? pieces[0] : arena_printf(a, "%.*s%.*s", STR_ARG(all), STR_ARG(pieces[i]));
    return all;
}

json_t *tool_document(struct arena *a, const struct metadata *m)
{
    struct str text = tool_text(a, m);
    json_error_t e;
    json_t *v = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &e);
    ck_assert_msg(v != NULL, "%s in %.*s", e.text, STR_ARG(text));
    return arena_hold(a, v, release);
}

static void same_part(const struct metadata *m, const struct part *x, const struct part *y)
{
    struct str text = metadata_member(m, "schemas");
    ck_assert(text.p != NULL);
    ck_assert(!x->added);
    ck_assert(str_eq((struct str){x->p, x->n}, (struct str){y->p, y->n}));
    ck_assert_int_eq(x->id, y->id);
    ck_assert_int_eq(x->seq, y->seq);
    ck_assert_int_eq(x->ms, y->ms);
    ck_assert_int_eq(x->parent, y->parent);
}

/* The index made on the way is the one a reader of the text makes. */
static void check_index(struct arena *a, const struct metadata *m)
{
    const struct metadata *again = tool_metadata(a, tool_text(a, m), BASE_LOCATION);
    const struct head *x = metadata_head(m), *y = metadata_head(again);
    ck_assert(str_eq(tool_text(a, m), tool_text(a, again)));
    for (int k = 0; k < PARTS_COUNT; k++) {
        const struct parts *p = metadata_parts(m, (enum parts_kind)k);
        const struct parts *q = metadata_parts(again, (enum parts_kind)k);
        ck_assert_uint_eq(p->n, q->n);
        for (size_t i = 0; i < p->n; i++)
            same_part(m, &p->v[i], &q->v[i]);
    }
    ck_assert_int_eq(x->format_version, y->format_version);
    ck_assert(str_eq(x->uuid, y->uuid));
    ck_assert(str_eq(x->location, y->location));
    ck_assert_int_eq(x->last_sequence_number, y->last_sequence_number);
    ck_assert_int_eq(x->last_updated_ms, y->last_updated_ms);
    ck_assert_int_eq(x->last_column_id, y->last_column_id);
    ck_assert_int_eq(x->current_schema_id, y->current_schema_id);
    ck_assert_int_eq(x->default_spec_id, y->default_spec_id);
    ck_assert_int_eq(x->last_partition_id, y->last_partition_id);
    ck_assert_int_eq(x->default_order_id, y->default_order_id);
    ck_assert_int_eq(x->current_snapshot_id, y->current_snapshot_id);
    ck_assert_int_eq(x->next_row_id, y->next_row_id);
    ck_assert_int_eq(x->current_version_id, y->current_version_id);
    ck_assert_int_eq(metadata_kind(m), metadata_kind(again));
    ck_assert(json_equal(x->properties, y->properties));
    ck_assert(json_equal(x->refs, y->refs));
    const struct member_slice *s, *t;
    size_t n = metadata_members(m, &s);
    ck_assert_uint_eq(n, metadata_members(again, &t));
    for (size_t i = 0; i < n; i++) {
        ck_assert(str_eq(s[i].key, t[i].key));
        ck_assert(str_eq(s[i].value, t[i].value));
    }
}

const struct metadata *tool_finish(struct arena *a, struct draft *d)
{
    struct metadata *m = NULL;
    struct err err;
    bool ok = draft_finish(d, STR("s3://b/ns/t/metadata/next.metadata.json"), &m, &err);
    ck_assert_msg(ok, "%s", ok ? "" : err.msg);
    check_index(a, metadata_hold(a, m));
    return m;
}

bool tool_commit(struct arena *a, const struct metadata *base, const char *updates,
    const struct metadata **out, struct err *err)
{
    struct draft *d = draft_begin(a, base);
    struct metadata *m = NULL;
    TRY(updates_apply(d, tool_json(a, updates), err));
    TRY(draft_finish(d, STR("s3://b/ns/t/metadata/next.metadata.json"), &m, err));
    *out = metadata_hold(a, m);
    check_index(a, m);
    return true;
}

void tool_expect(const char *what, json_t *actual, json_t *expected)
{
    const char *key;
    json_t *value;
    json_object_foreach(expected, key, value)
    {
        json_t *found = json_object_get(actual, key);
        if (json_equal(found, value))
            continue;
        char *have = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
        char *want = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        ck_abort_msg("%s\n%s\n  is     %s\n  not as %s", what, key, have ? have : "absent", want);
    }
}
