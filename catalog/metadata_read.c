#include <inttypes.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "metadata_priv.h"
#include "metric.h"
#include "scan.h"

enum { MEMBERS_ROOM = 32, PARTS_ROOM = 8 };

static const int64_t newest_format[METADATA_KINDS] = {[METADATA_TABLE] = 3, [METADATA_VIEW] = 1};

struct reader {
    struct scan scan;
    struct arena *arena;
    struct reading *out;
    struct err *err;
    size_t members_cap;
    uint64_t seen; /* bit i: fields[i] was there and no null */
    bool kind_told;
};

/* -- Elements of the long arrays ----------------------------------------------------------------
 */

enum part_seen {
    SEEN_ID = 1,
    SEEN_MS = 2,
    SEEN_TEXT = 4,
    SEEN_LIST = 8,
    SEEN_MANIFESTS = 16,
    SEEN_SCHEMA = 32,
    SEEN_SUMMARY = 64,
    SEEN_NAMESPACE = 128
};

/* clang-format off */
/* The members of an element that are read; all others are passed over. Absent: NULL. */
static const struct part_rule {
    const char *id;
    const char *ms;
    const char *text; /* a string */
    const char *list; /* an array */
    enum { ID_INT, ID_LONG } width;
    unsigned required; /* of enum part_seen */
} rules[PARTS_COUNT] = {
    /* A schema without an id has the id 0 (Table Metadata, format version 1). */
    [PARTS_SCHEMAS]         = {.id = "schema-id", .list = "fields", .required = SEEN_LIST},
    [PARTS_SPECS]           = {.id = "spec-id", .list = "fields", .required = SEEN_ID | SEEN_LIST},
    [PARTS_ORDERS]          = {.id = "order-id", .list = "fields", .required = SEEN_ID | SEEN_LIST},
    [PARTS_SNAPSHOTS]       = {.id = "snapshot-id", .ms = "timestamp-ms", .width = ID_LONG,
                               .required = SEEN_ID | SEEN_MS | SEEN_MANIFESTS},
    [PARTS_STATISTICS]      = {.id = "snapshot-id", .width = ID_LONG, .required = SEEN_ID},
    [PARTS_PARTITION_STATS] = {.id = "snapshot-id", .width = ID_LONG, .required = SEEN_ID},
    [PARTS_KEYS]            = {.text = "key-id", .required = SEEN_TEXT},
    [PARTS_SNAPSHOT_LOG]    = {.id = "snapshot-id", .ms = "timestamp-ms", .width = ID_LONG,
                               .required = SEEN_ID | SEEN_MS},
    [PARTS_METADATA_LOG]    = {.ms = "timestamp-ms", .text = "metadata-file",
                               .required = SEEN_MS | SEEN_TEXT},
    [PARTS_VERSIONS]        = {.id = "version-id", .ms = "timestamp-ms", .list = "representations",
                               .required = SEEN_ID | SEEN_MS | SEEN_LIST | SEEN_SCHEMA |
                                           SEEN_SUMMARY | SEEN_NAMESPACE},
    [PARTS_VERSION_LOG]     = {.id = "version-id", .ms = "timestamp-ms",
                               .required = SEEN_ID | SEEN_MS},
};
/* clang-format on */

static bool is(struct str key, const char *name)
{
    return name && str_eq(key, str_from(name));
}

/* Our names are plain ASCII, so a key that hides such characters behind escapes could mean one of
 * them to every other reader and pass unseen here. */
static bool check_key(struct str key, struct err *err)
{
    const char *p = key.p, *end = key.p + key.n;
    while (p < end && (p = memchr(p, '\\', (size_t)(end - p)))) {
        if (end - p >= 6 && p[1] == 'u' && p[2] == '0' && p[3] == '0' && p[4] < '8')
            return err_set(err, ERR_BAD_REQUEST,
                "the key \"%.*s\" spells plain characters as escapes",
                STR_ARG(str_utf8_cut(key, 100)));
        p += 2;
    }
    return true;
}

static bool next_key(struct reader *r, struct str *key, bool *more)
{
    TRY(scan_member(&r->scan, key, more));
    return !*more || check_key(*key, r->err);
}

static bool null_next(struct reader *r)
{
    return scan_peek(&r->scan) == SCAN_NULL;
}

static bool read_int(struct reader *r, int64_t *out)
{
    TRY(scan_i64(&r->scan, out));
    if (*out < INT32_MIN || *out > INT32_MAX)
        return err_set(
            r->err, ERR_BAD_REQUEST, "%" PRId64 " does not fit the 32 bits of this member", *out);
    return true;
}

/* A member that must have that type, whatever is inside. */
static bool read_typed(struct reader *r, enum scan_type type, const char *what, struct str *slice)
{
    if (scan_peek(&r->scan) != type)
        return err_set(r->err, ERR_BAD_REQUEST, "expected %s at byte %zu", what,
            (size_t)(r->scan.p - r->scan.begin));
    return scan_skip(&r->scan, slice);
}

/* {"key": "text", …}; readers refuse a whole file for a number in it. */
static bool read_texts(struct reader *r, size_t *n)
{
    bool more = false;
    struct str key, value;
    TRY(scan_object(&r->scan));
    for (*n = 0;; ++*n) {
        TRY(scan_member(&r->scan, &key, &more));
        if (!more)
            return true;
        if (!scan_raw_string(&r->scan, &value))
            return err_wrap(r->err, "%.*s", STR_ARG(str_utf8_cut(key, 100)));
    }
}

static bool read_snapshot_member(
    struct reader *r, struct str key, struct part *part, unsigned *seen)
{
    size_t n = 0;
    if (is(key, "sequence-number"))
        return scan_i64(&r->scan, &part->seq);
    if (is(key, "parent-snapshot-id"))
        return scan_i64(&r->scan, &part->parent);
    if (is(key, "summary"))
        return read_texts(r, &n);
    if (is(key, "manifest-list")) {
        *seen |= SEEN_MANIFESTS;
        return read_typed(r, SCAN_STRING, "a string", NULL);
    }
    /* Nobody looks at it beside a manifest-list. */
    if (is(key, "manifests") && scan_peek(&r->scan) == SCAN_ARRAY)
        *seen |= SEEN_MANIFESTS;
    return scan_skip(&r->scan, NULL);
}

/* {"type": "sql", "sql": …, "dialect": …}; of other types nothing is known. */
struct representation {
    struct str type, sql, dialect; /* as written; absent: none, or no string */
};

static bool read_representation_member(struct reader *r, struct str key, struct representation *out)
{
    struct str *to = is(key, "type")      ? &out->type
                     : is(key, "sql")     ? &out->sql
                     : is(key, "dialect") ? &out->dialect
                                          : NULL;
    if (to && scan_peek(&r->scan) == SCAN_STRING)
        return scan_raw_string(&r->scan, to);
    return scan_skip(&r->scan, NULL);
}

/* The member that is missing, or NULL. */
static const char *lacks(const struct representation *found)
{
    if (!found->type.p)
        return "type";
    if (!str_eq_nocase(found->type, STR("sql")))
        return NULL;
    return !found->sql.p ? "sql" : !found->dialect.p ? "dialect" : NULL;
}

static bool read_representation(struct reader *r)
{
    struct representation found = {0};
    bool more = false;
    struct str key;
    TRY(scan_object(&r->scan));
    for (;;) {
        TRY(next_key(r, &key, &more));
        if (!more)
            break;
        TRY(read_representation_member(r, key, &found));
    }
    const char *missing = lacks(&found);
    return !missing ||
           err_set(r->err, ERR_BAD_REQUEST, "the member \"%s\" is missing or no string", missing);
}

static bool read_representations(struct reader *r)
{
    bool more = false;
    TRY(scan_array(&r->scan));
    for (size_t i = 0;; i++) {
        TRY(scan_element(&r->scan, &more));
        if (!more)
            return true;
        if (!read_representation(r))
            return err_wrap(r->err, "element %zu", i);
    }
}

static bool read_names(struct reader *r)
{
    bool more = false;
    struct str name;
    TRY(scan_array(&r->scan));
    for (;;) {
        TRY(scan_element(&r->scan, &more));
        if (!more)
            return true;
        TRY(scan_raw_string(&r->scan, &name));
    }
}

static bool read_version_member(struct reader *r, struct str key, struct part *part, unsigned *seen)
{
    size_t n = 0;
    if (is(key, "schema-id")) {
        *seen |= SEEN_SCHEMA;
        return read_int(r, &part->schema);
    }
    if (is(key, "summary")) {
        *seen |= SEEN_SUMMARY;
        return read_texts(r, &n);
    }
    if (is(key, "default-namespace")) {
        *seen |= SEEN_NAMESPACE;
        return read_names(r);
    }
    if (is(key, "representations")) {
        *seen |= SEEN_LIST;
        return read_representations(r);
    }
    if (is(key, "default-catalog"))
        return read_typed(r, SCAN_STRING, "a string", NULL);
    return scan_skip(&r->scan, NULL);
}

static bool read_part_member(
    struct reader *r, enum parts_kind kind, struct str key, struct part *part, unsigned *seen)
{
    const struct part_rule *rule = &rules[kind];
    if (null_next(r) && metadata__may_lack(key)) {
        r->out->fixes |= FIX_INNER_NULLS;
        return scan_skip(&r->scan, NULL);
    }
    if (is(key, rule->id)) {
        *seen |= SEEN_ID;
        return rule->width == ID_LONG ? scan_i64(&r->scan, &part->id) : read_int(r, &part->id);
    }
    if (is(key, rule->ms)) {
        *seen |= SEEN_MS;
        return scan_i64(&r->scan, &part->ms);
    }
    if (is(key, rule->text)) {
        *seen |= SEEN_TEXT;
        return read_typed(r, SCAN_STRING, "a string", NULL);
    }
    if (kind == PARTS_SNAPSHOTS)
        return read_snapshot_member(r, key, part, seen);
    if (kind == PARTS_VERSIONS)
        return read_version_member(r, key, part, seen);
    if (is(key, rule->list)) {
        struct str list;
        *seen |= SEEN_LIST;
        TRY(read_typed(r, SCAN_ARRAY, "an array", &list));
        if (kind == PARTS_SPECS)
            metadata__find_field_ids(list, &r->out->fixes);
        return true;
    }
    return scan_skip(&r->scan, NULL);
}

static bool check_part(struct reader *r, enum parts_kind kind, unsigned seen)
{
    const struct part_rule *rule = &rules[kind];
    const char *const names[] = {rule->id, rule->ms, rule->text, rule->list, "manifest-list",
        "schema-id", "summary", "default-namespace"}; /* by bit of enum part_seen */
    unsigned missing = rule->required & ~seen;
    if (!missing)
        return true;
    return err_set(
        r->err, ERR_BAD_REQUEST, "the member \"%s\" is missing", names[__builtin_ctz(missing)]);
}

static bool read_part(struct reader *r, enum parts_kind kind, struct part *part)
{
    bool more = false;
    unsigned seen = 0;
    struct str key;
    scan_peek(&r->scan);
    *part = (struct part){.p = r->scan.p, .parent = PART_NONE};
    TRY(scan_object(&r->scan));
    for (;;) {
        TRY(next_key(r, &key, &more));
        if (!more)
            break;
        if (!read_part_member(r, kind, key, part, &seen))
            return err_wrap(r->err, "%.*s", STR_ARG(str_utf8_cut(key, 100)));
    }
    part->n = (uint32_t)(r->scan.p - part->p);
    if (rules[kind].list || kind == PARTS_STATISTICS || kind == PARTS_KEYS)
        TRY(metadata__find_nulls((struct str){part->p, part->n}, &r->out->fixes, r->err));
    return check_part(r, kind, seen);
}

static bool read_parts(struct reader *r, enum parts_kind kind)
{
    struct parts *parts = &r->out->new.parts[kind];
    size_t cap = 0;
    bool more = false;
    TRY(scan_array(&r->scan));
    for (;;) {
        TRY(scan_element(&r->scan, &more));
        if (!more)
            break;
        if (parts->n == cap) {
            cap = cap ? 2 * cap : PARTS_ROOM;
            parts->v = xrealloc(parts->v, cap * sizeof(struct part));
        }
        if (!read_part(r, kind, &parts->v[parts->n]))
            return err_wrap(r->err, "element %zu", parts->n);
        parts->n++;
    }
    if (parts->n < cap)
        parts->v = xrealloc(parts->v, parts->n * sizeof(struct part));
    return true;
}

/* -- Properties and refs ------------------------------------------------------------------------
 */

static bool to_tree(struct reader *r, struct str text, size_t n, json_t **out)
{
    json_error_t why;
    if (n > METADATA_MEMBERS_MAX)
        return err_set(
            r->err, ERR_BAD_REQUEST, "%zu members, the limit is %d", n, METADATA_MEMBERS_MAX);
    metric_add(METRIC_json_parses_total, 1);
    *out = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &why);
    return *out || err_set(r->err, ERR_BAD_REQUEST, "%s", why.text);
}

static bool read_properties(struct reader *r)
{
    size_t n = 0;
    scan_peek(&r->scan);
    const char *begin = r->scan.p;
    TRY(read_texts(r, &n));
    return to_tree(r, str_range(begin, r->scan.p), n, &r->out->new.head.properties);
}

static bool read_ref_member(struct reader *r, struct str key, bool *has_id, bool *has_type)
{
    int64_t number = 0;
    if (is(key, "snapshot-id")) {
        *has_id = true;
        return scan_i64(&r->scan, &number);
    }
    if (is(key, "type")) {
        struct str type;
        *has_type = true;
        TRY(scan_raw_string(&r->scan, &type));
        if (str_eq_nocase(type, STR("branch")) || str_eq_nocase(type, STR("tag")))
            return true;
        return err_set(r->err, ERR_BAD_REQUEST, "expected \"branch\" or \"tag\", found \"%.*s\"",
            STR_ARG(str_utf8_cut(type, 100)));
    }
    if (null_next(r) && metadata__may_lack(key))
        r->out->fixes |= FIX_INNER_NULLS;
    else if (is(key, "min-snapshots-to-keep") || is(key, "max-snapshot-age-ms") ||
             is(key, "max-ref-age-ms"))
        return scan_i64(&r->scan, &number);
    return scan_skip(&r->scan, NULL);
}

static bool read_ref(struct reader *r)
{
    bool more = false, has_id = false, has_type = false;
    struct str key;
    TRY(scan_object(&r->scan));
    for (;;) {
        TRY(next_key(r, &key, &more));
        if (!more)
            break;
        if (!read_ref_member(r, key, &has_id, &has_type))
            return err_wrap(r->err, "%.*s", STR_ARG(str_utf8_cut(key, 100)));
    }
    if (!has_id || !has_type)
        return err_set(r->err, ERR_BAD_REQUEST, "the member \"%s\" is missing",
            has_id ? "type" : "snapshot-id");
    return true;
}

static bool read_refs(struct reader *r)
{
    bool more = false;
    struct str name;
    size_t n = 0;
    scan_peek(&r->scan);
    const char *begin = r->scan.p;
    TRY(scan_object(&r->scan));
    for (;; n++) {
        TRY(scan_member(&r->scan, &name, &more));
        if (!more)
            break;
        if (!read_ref(r))
            return err_wrap(r->err, "%.*s", STR_ARG(str_utf8_cut(name, 100)));
    }
    r->out->refs = str_range(begin, r->scan.p);
    return to_tree(r, r->out->refs, n, &r->out->new.head.refs);
}

/* -- The top object -----------------------------------------------------------------------------
 */

enum field_kind {
    FIELD_FORMAT,
    FIELD_INT,
    FIELD_LONG,
    FIELD_TEXT,
    FIELD_PARTS,
    FIELD_PROPERTIES,
    FIELD_REFS,
    FIELD_SCHEMA,
    FIELD_SPEC
};

/* Their positions in the table below, for what is asked of them by name. */
enum {
    F_FORMAT,
    F_UUID,
    F_LOCATION,
    F_LAST_SEQUENCE,
    F_LAST_UPDATED,
    F_LAST_COLUMN,
    F_CURRENT_SCHEMA,
    F_DEFAULT_SPEC,
    F_LAST_PARTITION,
    F_DEFAULT_ORDER,
    F_CURRENT_SNAPSHOT,
    F_NEXT_ROW,
    F_PROPERTIES,
    F_REFS,
    F_SCHEMA,
    F_SPEC,
    F_VIEW_UUID,
    F_CURRENT_VERSION,
    F_PARTS /* and the arrays, in the order of enum parts_kind */
};

#define AT(member) offsetof(struct head, member)

enum { NEVER = -1 };

/* In the order of the positions above. */
static const struct field {
    const char *name;
    size_t at; /* in struct head; FIELD_PARTS: the kind */
    enum field_kind kind;
    /* By kind of document: the format version from which on it is required; 0: it may be absent;
     * NEVER: documents of that kind have no such member. */
    int since[METADATA_KINDS];
} fields[] = {
    {"format-version",        AT(format_version),       FIELD_FORMAT,     {1, 1}    },
    {"table-uuid",            AT(uuid),                 FIELD_TEXT,       {2, NEVER}},
    {"location",              AT(location),             FIELD_TEXT,       {1, 1}    },
    {"last-sequence-number",  AT(last_sequence_number), FIELD_LONG,       {2, NEVER}},
    {"last-updated-ms",       AT(last_updated_ms),      FIELD_LONG,       {1, NEVER}},
    {"last-column-id",        AT(last_column_id),       FIELD_INT,        {1, NEVER}},
    {"current-schema-id",     AT(current_schema_id),    FIELD_INT,        {2, NEVER}},
    {"default-spec-id",       AT(default_spec_id),      FIELD_INT,        {2, NEVER}},
    {"last-partition-id",     AT(last_partition_id),    FIELD_INT,        {2, NEVER}},
    {"default-sort-order-id", AT(default_order_id),     FIELD_INT,        {2, NEVER}},
    {"current-snapshot-id",   AT(current_snapshot_id),  FIELD_LONG,       {0, NEVER}},
    {"next-row-id",           AT(next_row_id),          FIELD_LONG,       {3, NEVER}},
    {"properties",            0,                        FIELD_PROPERTIES, {0, 0}    },
    {"refs",                  0,                        FIELD_REFS,       {0, NEVER}},
    {"schema",                0,                        FIELD_SCHEMA,     {0, NEVER}},
    {"partition-spec",        0,                        FIELD_SPEC,       {0, NEVER}},
    {"view-uuid",             AT(uuid),                 FIELD_TEXT,       {NEVER, 1}},
    {"current-version-id",    AT(current_version_id),   FIELD_INT,        {NEVER, 1}},
    {"schemas",               PARTS_SCHEMAS,            FIELD_PARTS,      {2, 1}    },
    {"partition-specs",       PARTS_SPECS,              FIELD_PARTS,      {2, NEVER}},
    {"sort-orders",           PARTS_ORDERS,             FIELD_PARTS,      {2, NEVER}},
    {"snapshots",             PARTS_SNAPSHOTS,          FIELD_PARTS,      {0, NEVER}},
    {"statistics",            PARTS_STATISTICS,         FIELD_PARTS,      {0, NEVER}},
    {"partition-statistics",  PARTS_PARTITION_STATS,    FIELD_PARTS,      {0, NEVER}},
    {"encryption-keys",       PARTS_KEYS,               FIELD_PARTS,      {0, NEVER}},
    {"snapshot-log",          PARTS_SNAPSHOT_LOG,       FIELD_PARTS,      {0, NEVER}},
    {"metadata-log",          PARTS_METADATA_LOG,       FIELD_PARTS,      {0, NEVER}},
    {"versions",              PARTS_VERSIONS,           FIELD_PARTS,      {NEVER, 1}},
    {"version-log",           PARTS_VERSION_LOG,        FIELD_PARTS,      {NEVER, 1}},
};

static const struct field *field_of(struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (is(key, fields[i].name))
            return &fields[i];
    return NULL;
}

bool metadata__knows(enum metadata_kind kind, struct str key)
{
    const struct field *f = field_of(key);
    return f && f->since[kind] != NEVER;
}

bool metadata__drops_null(struct str key)
{
    const struct field *f = field_of(key);
    return f && f != &fields[F_CURRENT_SNAPSHOT];
}

static bool unsupported(struct reader *r, int64_t version)
{
    return err_set(
        r->err, ERR_INVALID_ARGUMENT, "Cannot read unsupported version %" PRId64, version);
}

static bool read_format(struct reader *r, int64_t *version)
{
    TRY(scan_i64(&r->scan, version));
    if (*version < 1 || *version > newest_format[METADATA_TABLE])
        return unsupported(r, *version);
    return true;
}

static bool read_field(struct reader *r, const struct field *f)
{
    char *head = (char *)&r->out->new.head;
    switch (f->kind) {
    case FIELD_FORMAT:
        return read_format(r, &r->out->new.head.format_version);
    case FIELD_INT:
        return read_int(r, (int64_t *)(void *)(head + f->at));
    case FIELD_LONG:
        return scan_i64(&r->scan, (int64_t *)(void *)(head + f->at));
    case FIELD_TEXT:
        return scan_string(&r->scan, r->arena, (struct str *)(void *)(head + f->at));
    case FIELD_PARTS:
        return read_parts(r, (enum parts_kind)f->at);
    case FIELD_PROPERTIES:
        return read_properties(r);
    case FIELD_REFS:
        return read_refs(r);
    case FIELD_SCHEMA:
        TRY(read_typed(r, SCAN_OBJECT, "an object", &r->out->schema));
        return metadata__find_nulls(r->out->schema, &r->out->fixes, r->err);
    case FIELD_SPEC:
        TRY(read_typed(r, SCAN_ARRAY, "an array", &r->out->spec));
        return metadata__find_nulls(r->out->spec, &r->out->fixes, r->err);
    }
    return false;
}

/* Does the document at hand have that member? The first one that only one kind has tells the kind.
 */
static bool belongs(struct reader *r, const struct field *f)
{
    enum metadata_kind *kind = &r->out->new.kind;
    bool in_table = f->since[METADATA_TABLE] != NEVER, in_view = f->since[METADATA_VIEW] != NEVER;
    if (!r->kind_told && in_table != in_view) {
        *kind = in_view ? METADATA_VIEW : METADATA_TABLE;
        r->kind_told = true;
    }
    return f->since[*kind] != NEVER;
}

static bool read_value(struct reader *r, struct str key)
{
    const struct field *f = field_of(key);
    if (!f || !belongs(r, f))
        return scan_skip(&r->scan, NULL);
    if (null_next(r)) {
        if (metadata__drops_null(key))
            r->out->fixes |= FIX_NULLS;
        return scan_skip(&r->scan, NULL);
    }
    r->seen |= UINT64_C(1) << (f - fields);
    return read_field(r, f);
}

static bool read_members(struct reader *r)
{
    struct metadata_new *new = &r->out->new;
    bool more = false;
    struct str key;
    TRY(scan_object(&r->scan));
    for (;;) {
        TRY(next_key(r, &key, &more));
        if (!more)
            break;
        scan_peek(&r->scan);
        const char *begin = r->scan.p;
        if (!read_value(r, key))
            return err_wrap(r->err, "%.*s", STR_ARG(str_utf8_cut(key, 100)));
        if (new->n_members == r->members_cap) {
            r->members_cap = r->members_cap ? 2 * r->members_cap : MEMBERS_ROOM;
            new->members = xrealloc(new->members, r->members_cap * sizeof(*new->members));
        }
        new->members[new->n_members++] = (struct member_slice){key, str_range(begin, r->scan.p)};
    }
    return scan_end(&r->scan);
}

/* -- What is missing ----------------------------------------------------------------------------
 */

static bool has(const struct reader *r, int field)
{
    return r->seen >> field & 1;
}

/* A list needs the member that picks one of it. */
static bool needs(struct reader *r, int list, int picked)
{
    if (!has(r, list) || has(r, picked))
        return true;
    return err_set(r->err, ERR_BAD_REQUEST, "the member \"%s\" is missing beside \"%s\"",
        fields[picked].name, fields[list].name);
}

/* Files of format version 1 may have single forms instead of lists (Table Metadata Fields). */
static bool find_fixes(struct reader *r)
{
    unsigned fixes = 0;
    if (!has(r, F_PARTS + PARTS_SCHEMAS) && !r->out->schema.p)
        return err_set(r->err, ERR_BAD_REQUEST, "neither \"schemas\" nor \"schema\" is there");
    TRY(needs(r, F_PARTS + PARTS_SCHEMAS, F_CURRENT_SCHEMA));
    TRY(needs(r, F_PARTS + PARTS_SPECS, F_DEFAULT_SPEC));
    TRY(needs(r, F_PARTS + PARTS_ORDERS, F_DEFAULT_ORDER));
    if (!has(r, F_UUID))
        fixes |= FIX_UUID;
    if (!has(r, F_PARTS + PARTS_SCHEMAS))
        fixes |= FIX_SCHEMAS;
    if (!has(r, F_PARTS + PARTS_SPECS))
        fixes |= FIX_SPECS;
    if (!has(r, F_LAST_PARTITION))
        fixes |= FIX_LAST_PARTITION;
    if (!has(r, F_PARTS + PARTS_ORDERS))
        fixes |= FIX_ORDERS;
    r->out->fixes |= fixes;
    return true;
}

static bool check_required(struct reader *r)
{
    int64_t version = r->out->new.head.format_version;
    enum metadata_kind kind = r->out->new.kind;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        int since = fields[i].since[kind];
        if (since > 0 && (version >= since || i == F_FORMAT) && !has(r, (int)i))
            return err_set(r->err, ERR_BAD_REQUEST, "the member \"%s\" is missing", fields[i].name);
    }
    return true;
}

static bool finish(struct reader *r)
{
    struct head *head = &r->out->new.head;
    if (head->format_version > newest_format[r->out->new.kind])
        return unsupported(r, head->format_version);
    TRY(check_required(r));
    if (r->out->new.kind == METADATA_VIEW) {
        head->last_partition_id = 0;
        return true;
    }
    if (head->format_version == 1) {
        TRY(find_fixes(r));
        head->last_sequence_number = 0;
    }
    if (head->format_version < 3)
        head->next_row_id = 0;
    if (head->current_snapshot_id != PART_NONE && !json_object_get(head->refs, "main"))
        r->out->fixes |= FIX_REFS;
    return true;
}

bool metadata__read(struct arena *a, struct str text, struct reading *out, struct err *err)
{
    struct reader r = {.arena = a, .out = out, .err = err};
    out->new.head = (struct head){.last_partition_id = 999, .current_snapshot_id = PART_NONE};
    metric_add(METRIC_json_scans_total, 1);
    scan_init(&r.scan, text, &scan_metadata_limits, err);
    bool ok = read_members(&r) && finish(&r);
    scan_fini(&r.scan);
    return ok;
}
