#include <inttypes.h>

#include "base.h"
#include "buf.h"
#include "digest.h"
#include "metadata_priv.h"
#include "scan.h"
#include "uuid.h"

enum { FIRST_FIELD_ID = 1000 }; /* of partition fields */

static void put_key(struct buf *b, const char *name)
{
    if (b->n > 1)
        buf_putc(b, ',');
    buf_json_str(b, str_from(name));
    buf_putc(b, ':');
}

static void put_number(struct buf *b, const char *name, int64_t v)
{
    put_key(b, name);
    buf_json_i64(b, v);
}

/* The same file always gets the same uuid (RFC 9562, version 8: made from a hash). */
static void put_uuid(struct buf *b, struct str location)
{
    uint8_t sum[DIGEST_SHA256];
    char hex[33];
    digest_sha256(location, sum);
    sum[6] = (uint8_t)((sum[6] & 0x0f) | 0x80);
    sum[8] = (uint8_t)((sum[8] & 0x3f) | 0x80);
    digest_hex(sum, 16, hex);
    put_key(b, "table-uuid");
    buf_putf(b, "\"%.8s-%.4s-%.4s-%.4s-%.12s\"", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* An integer member of a validated object; *found tells whether it is there. */
static bool member_number(
    struct str object, const char *name, int64_t *out, bool *found, struct err *err)
{
    AUTO(scan_fini) struct scan s;
    struct str key;
    bool more = false;
    scan_init(&s, object, &scan_metadata_limits, err);
    TRY(scan_object(&s));
    *found = false;
    for (;;) {
        TRY(scan_member(&s, &key, &more));
        if (!more)
            return true;
        if (!str_eq(key, str_from(name)) || scan_peek(&s) == SCAN_NULL) {
            TRY(scan_skip(&s, NULL));
            continue;
        }
        *found = true;
        if (!scan_i64(&s, out))
            return err_wrap(err, "%s", name);
    }
}

/* An object's text with one member more, in front. */
static void put_with_number(struct buf *b, struct str object, const char *name, int64_t v)
{
    struct str rest = {object.p + 1, object.n - 1};
    const char *p = rest.p;
    while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
        p++;
    buf_putf(b, "{\"%s\":%" PRId64 "%s", name, v, *p == '}' ? "" : ",");
    buf_str(b, rest);
}

static bool put_schemas(struct buf *b, struct str schema, struct err *err)
{
    int64_t id = 0;
    bool found = false;
    TRY(member_number(schema, "schema-id", &id, &found, err));
    put_number(b, "current-schema-id", id);
    put_key(b, "schemas");
    buf_putc(b, '[');
    if (found)
        buf_str(b, schema);
    else
        put_with_number(b, schema, "schema-id", id);
    buf_putc(b, ']');
    return true;
}

/* What is known of a list of partition fields. */
struct spec_fields {
    size_t n, with_id;
    int64_t highest;
};

static bool walk_field(struct str field, struct buf *b, struct spec_fields *out, struct err *err)
{
    int64_t id = 0;
    bool found = false;
    TRY(member_number(field, "field-id", &id, &found, err));
    if (!found)
        id = FIRST_FIELD_ID + (int64_t)out->n;
    if (b && out->n)
        buf_putc(b, ',');
    if (b && found)
        buf_str(b, field);
    else if (b)
        put_with_number(b, field, "field-id", id);
    out->n++;
    out->with_id += found;
    if (id > out->highest)
        out->highest = id;
    return true;
}

/* Walks the fields; with a buffer, copies them and gives those without an id the ids from 1000. */
static bool walk_fields(struct str fields, struct buf *b, struct spec_fields *out, struct err *err)
{
    AUTO(scan_fini) struct scan s;
    bool more = false;
    struct str field;
    *out = (struct spec_fields){.highest = FIRST_FIELD_ID - 1};
    scan_init(&s, fields, &scan_metadata_limits, err);
    TRY(scan_array(&s));
    for (;;) {
        TRY(scan_element(&s, &more));
        if (!more)
            return true;
        TRY(scan_skip(&s, &field));
        TRY(walk_field(field, b, out, err));
    }
}

void metadata__find_field_ids(struct str fields, unsigned *fixes)
{
    struct spec_fields found;
    struct err ignored;
    if (walk_fields(fields, NULL, &found, &ignored) && found.n && !found.with_id)
        *fixes |= FIX_FIELD_IDS;
}

/* A spec as it is, but for fields without ids: readers that want them count from 1000 in each. */
static bool put_spec(struct buf *b, struct str spec, struct err *err)
{
    AUTO(scan_fini) struct scan s;
    struct spec_fields found;
    struct str key, value;
    bool more = false;
    scan_init(&s, spec, &scan_metadata_limits, err);
    TRY(scan_object(&s));
    for (char separator = '{';; separator = ',') {
        TRY(scan_member(&s, &key, &more));
        if (!more)
            break;
        TRY(scan_skip(&s, &value));
        buf_putc(b, separator);
        buf_put(b, key.p - 1, key.n + 2); /* with its quotes */
        buf_putc(b, ':');
        if (!str_eq(key, STR("fields"))) {
            buf_str(b, value);
            continue;
        }
        buf_putc(b, '[');
        TRY(walk_fields(value, b, &found, err));
        buf_putc(b, ']');
    }
    buf_putc(b, '}');
    return true;
}

static bool put_spec_list(struct buf *b, const struct parts *specs, struct err *err)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < specs->n; i++) {
        if (i)
            buf_putc(b, ',');
        TRY(put_spec(b, (struct str){specs->v[i].p, specs->v[i].n}, err));
    }
    buf_putc(b, ']');
    return true;
}

static bool put_specs(struct buf *b, struct str spec, struct err *err)
{
    struct spec_fields found;
    put_number(b, "default-spec-id", 0);
    put_key(b, "partition-specs");
    buf_puts(b, "[{\"spec-id\":0,\"fields\":[");
    if (spec.p) {
        if (!walk_fields(spec, b, &found, err))
            return err_wrap(err, "partition-spec");
        if (found.with_id && found.with_id < found.n)
            return err_set(err, ERR_INVALID_ARGUMENT,
                "partition-spec: %zu of %zu fields have no field-id", found.n - found.with_id,
                found.n);
    }
    buf_puts(b, "]}]");
    return true;
}

static bool spec_highest(struct str spec, int64_t *highest, struct err *err)
{
    AUTO(scan_fini) struct scan s;
    struct str key, fields;
    bool more = false;
    scan_init(&s, spec, &scan_metadata_limits, err);
    TRY(scan_object(&s));
    for (;;) {
        TRY(scan_member(&s, &key, &more));
        if (!more)
            return true;
        TRY(scan_skip(&s, &fields));
        struct spec_fields found;
        if (!str_eq(key, STR("fields")))
            continue;
        TRY(walk_fields(fields, NULL, &found, err));
        if (found.highest > *highest)
            *highest = found.highest;
    }
}

static bool put_last_partition(struct buf *b, const struct reading *r, struct err *err)
{
    const struct parts *specs = &r->new.parts[PARTS_SPECS];
    int64_t highest = FIRST_FIELD_ID - 1;
    for (size_t i = 0; i < specs->n; i++)
        if (!spec_highest((struct str){specs->v[i].p, specs->v[i].n}, &highest, err))
            return err_wrap(err, "partition-specs");
    if (!specs->n && r->spec.p) {
        struct spec_fields found;
        TRY(walk_fields(r->spec, NULL, &found, err));
        highest = found.highest;
    }
    put_number(b, "last-partition-id", highest);
    return true;
}

static void put_refs(struct buf *b, const struct reading *r)
{
    put_key(b, "refs");
    buf_putf(b, "{\"main\":{\"snapshot-id\":%" PRId64 ",\"type\":\"branch\"}",
        r->new.head.current_snapshot_id);
    if (json_object_size(r->new.head.refs)) {
        buf_putc(b, ',');
        buf_put(b, r->refs.p + 1, r->refs.n - 1);
    } else {
        buf_putc(b, '}');
    }
}

static bool one_of(struct str key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(key, str_from(names[i])))
            return true;
    return false;
}

bool metadata__may_lack(struct str key)
{
    static const char *const names[] = {"added-rows", "default-catalog", "doc", "encrypted-by-id",
        "field-id", "first-row-id", "identifier-field-ids", "initial-default", "key-id",
        "key-metadata", "manifest-list", "manifests", "max-ref-age-ms", "max-snapshot-age-ms",
        "min-snapshots-to-keep", "parent-snapshot-id", "properties", "schema-id", "sequence-number",
        "source-ids", "summary", "write-default"};
    return one_of(key, names, ARRAY_LEN(names));
}

/* Members that hold such members. What nobody here knows is copied as it is. */
static bool is_container(struct str key)
{
    static const char *const names[] = {
        "blob-metadata", "element", "fields", "key", "type", "value"};
    return one_of(key, names, ARRAY_LEN(names));
}

/* The keys of refs are their names. */
enum keys { KEYS_KNOWN, KEYS_ANY };

struct dropping {
    struct scan scan;
    struct buf *out; /* NULL: only looked for */
    bool found;
};

static void copy(struct dropping *d, struct str s)
{
    if (d->out)
        buf_str(d->out, s);
}

static bool drop_nulls(struct dropping *d, enum keys keys);

static bool drop_member(struct dropping *d, enum keys keys, struct str key, bool *first)
{
    struct str value;
    if (scan_peek(&d->scan) == SCAN_NULL && metadata__may_lack(key)) {
        d->found = true;
        return scan_skip(&d->scan, NULL);
    }
    copy(d, *first ? STR("") : STR(","));
    *first = false;
    copy(d, (struct str){key.p - 1, key.n + 2}); /* with its quotes */
    copy(d, STR(":"));
    if (keys == KEYS_ANY || is_container(key))
        return drop_nulls(d, KEYS_KNOWN);
    TRY(scan_skip(&d->scan, &value));
    copy(d, value);
    return true;
}

static bool drop_from_object(struct dropping *d, enum keys keys)
{
    bool more = false, first = true;
    struct str key;
    TRY(scan_object(&d->scan));
    copy(d, STR("{"));
    for (;;) {
        TRY(scan_member(&d->scan, &key, &more));
        if (!more)
            break;
        TRY(drop_member(d, keys, key, &first));
    }
    copy(d, STR("}"));
    return true;
}

static bool drop_from_array(struct dropping *d)
{
    bool more = false;
    TRY(scan_array(&d->scan));
    copy(d, STR("["));
    for (bool first = true;; first = false) {
        TRY(scan_element(&d->scan, &more));
        if (!more)
            break;
        copy(d, first ? STR("") : STR(","));
        TRY(drop_nulls(d, KEYS_KNOWN));
    }
    copy(d, STR("]"));
    return true;
}

static bool drop_nulls(struct dropping *d, enum keys keys)
{
    struct str value;
    switch (scan_peek(&d->scan)) {
    case SCAN_OBJECT:
        return drop_from_object(d, keys);
    case SCAN_ARRAY:
        return drop_from_array(d);
    default:
        TRY(scan_skip(&d->scan, &value));
        copy(d, value);
        return true;
    }
}

bool metadata__find_nulls(struct str value, unsigned *fixes, struct err *err)
{
    struct dropping d = {0};
    if (!memmem(value.p, value.n, "null", strlen("null")))
        return true;
    scan_init(&d.scan, value, &scan_metadata_limits, err);
    bool ok = drop_nulls(&d, KEYS_KNOWN);
    scan_fini(&d.scan);
    if (d.found)
        *fixes |= FIX_INNER_NULLS;
    return ok;
}

/* Is the member replaced by one of ours, or dropped? */
static bool goes(const struct member_slice *m, unsigned fixes)
{
    static const struct {
        const char *name;
        unsigned fix;
    } ours[] = {
        {"current-schema-id",     FIX_SCHEMAS},
        {"default-spec-id",       FIX_SPECS  },
        {"default-sort-order-id", FIX_ORDERS },
        {"refs",                  FIX_REFS   },
    };
    if (str_eq(m->value, STR("null")) && metadata__drops_null(m->key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if ((fixes & ours[i].fix) && str_eq(m->key, str_from(ours[i].name)))
            return true;
    return false;
}

static bool put_value(
    struct buf *b, const struct reading *r, const struct member_slice *m, struct err *err)
{
    struct dropping d = {.out = b};
    if ((r->fixes & (FIX_FIELD_IDS | FIX_INNER_NULLS)) == FIX_FIELD_IDS &&
        str_eq(m->key, STR("partition-specs")))
        return put_spec_list(b, &r->new.parts[PARTS_SPECS], err);
    if (!(r->fixes & FIX_INNER_NULLS) || !metadata__knows(r->new.kind, m->key)) {
        buf_str(b, m->value);
        return true;
    }
    scan_init(&d.scan, m->value, &scan_metadata_limits, err);
    bool ok = drop_nulls(&d, str_eq(m->key, STR("refs")) ? KEYS_ANY : KEYS_KNOWN);
    scan_fini(&d.scan);
    return ok;
}

static bool put_all(struct buf *b, const struct reading *r, struct str location, struct err *err)
{
    unsigned fixes = r->fixes & FIX_INNER_NULLS ? FIX_INNER_NULLS : r->fixes;
    buf_putc(b, '{');
    for (size_t i = 0; i < r->new.n_members; i++) {
        const struct member_slice *m = &r->new.members[i];
        if (goes(m, fixes))
            continue;
        if (b->n > 1)
            buf_putc(b, ',');
        buf_put(b, m->key.p - 1, m->key.n + 2); /* with its quotes */
        buf_putc(b, ':');
        TRY(put_value(b, r, m, err));
    }
    if (fixes & FIX_UUID)
        put_uuid(b, location);
    if (fixes & FIX_SCHEMAS)
        TRY(put_schemas(b, r->schema, err));
    if (fixes & FIX_SPECS)
        TRY(put_specs(b, r->spec, err));
    if (fixes & FIX_LAST_PARTITION)
        TRY(put_last_partition(b, r, err));
    if (fixes & FIX_ORDERS) {
        put_number(b, "default-sort-order-id", 0);
        put_key(b, "sort-orders");
        buf_puts(b, "[{\"order-id\":0,\"fields\":[]}]");
    }
    if (fixes & FIX_REFS)
        put_refs(b, r);
    buf_putc(b, '}');
    return true;
}

bool metadata__fix(
    const struct reading *r, struct str location, char **out, size_t *n_out, struct err *err)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, scan_metadata_limits.bytes);
    buf_reserve(&b, r->new.n < b.max / 2 ? r->new.n + 1024 : 0);
    TRY(put_all(&b, r, location, err));
    if (b.over)
        return err_set(err, ERR_TOO_LARGE, "the document has more than %zu bytes in its list form",
            scan_metadata_limits.bytes);
    *n_out = b.n;
    *out = xrealloc(TAKE(b.p), b.n);
    return true;
}
