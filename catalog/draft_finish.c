/* The end of a commit: the rules of protocol 3.5 and 3.6, the name of the new file, and the new
 * document with its index. */
#include <assert.h>
#include <stdio.h>

#include "arena.h"
#include "buf.h"
#include "metadata_priv.h"
#include "metric.h"
#include "scan.h"
#include "schema.h"
#include "token.h"
#include "update_priv.h"
#include "uuid.h"

enum {
    TOLERANCE_MS = 60000, /* by which readers let a log run backwards */
    VERSIONS_DEFAULT = 100,
};

static struct str property(const struct draft *d, const char *name)
{
    return json_text(json_object_get(d->head.properties, name));
}

/* -- The next file ----------------------------------------------------------------------------- */

/* The number in front of the first dash of the base's name plus one; 0 for a new table and for
 * names of another make. */
static int64_t next_version(const struct draft *d)
{
    if (!d->base)
        return 0;
    struct str name = metadata_location(d->base);
    for (struct str rest = name; rest.p;)
        name = str_cut(&rest, '/');
    size_t dash = str_find(name, '-');
    int64_t version = -1;
    if (dash == name.n || !str_to_i64(str_sub(name, 0, dash), &version) || version < 0 ||
        version >= INT32_MAX || str_starts(name, STR("+")))
        return 0;
    return version + 1;
}

bool draft_file(
    struct draft *d, struct str *location, struct str *token, bool *gzip, struct err *err)
{
    struct str codec = property(d, "write.metadata.compression-codec");
    struct str folder = draft__strip_slashes(property(d, "write.metadata.path"));
    if (!codec.p)
        codec = d->kind == METADATA_VIEW ? STR("gzip") : STR("none");
    *gzip = str_eq_nocase(codec, STR("gzip"));
    if (!*gzip && !str_eq_nocase(codec, STR("none")))
        return err_set(err, ERR_INVALID_ARGUMENT, "Invalid codec name: %.*s", STR_ARG(codec));
    if (!folder.n)
        folder = arena_printf(d->arena, "%.*s/metadata", STR_ARG(d->head.location));
    char uuid[UUID_TEXT + 1];
    token_draw(d->warehouse, uuid);
    *token = arena_dup(d->arena, str_from(uuid));
    *location = arena_printf(d->arena, "%.*s/%05lld-%s%s.metadata.json", STR_ARG(folder),
        (long long)next_version(d), uuid, *gzip ? ".gz" : "");
    return true;
}

/* -- Rules ------------------------------------------------------------------------------------- */

static bool unreadable(const char *what, int64_t id, struct err *err)
{
    return err_set(err, ERR_VALIDATION, "The %s with id %lld does not exist or cannot be read",
        what, (long long)id);
}

/* Readers bind each spec to the current schema. What a spec says of columns they look at in the
 * default one alone, but at the names of fields in all: one that clashes makes the table
 * unreadable.
 */
static bool check_all_specs(struct draft *d, const struct schema *s, struct err *err)
{
    const struct parts *specs = &d->parts[PARTS_SPECS];
    for (size_t i = 0; i < specs->n; i++) {
        const json_t *spec = draft_tree(d, &specs->v[i]);
        if (spec && !spec_check_columns(s, spec, err))
            return err_where(err, "partition spec %lld", (long long)specs->v[i].id);
    }
    return true;
}

bool draft_check_bindings(struct draft *d, struct err *err)
{
    struct schema *s;
    const struct part *spec = draft_find(d, PARTS_SPECS, d->head.default_spec_id);
    const struct part *order = draft_find(d, PARTS_ORDERS, d->head.default_order_id);
    TRY(draft_schema(d, &s, err));
    if (d->kind == METADATA_VIEW)
        return true;
    if (!spec || !draft_tree(d, spec))
        return unreadable("default partition spec", d->head.default_spec_id, err);
    if (!order || !draft_tree(d, order))
        return unreadable("default sort order", d->head.default_order_id, err);
    const struct str in_no_request = {0};
    TRY(spec_check(d->arena, s, draft_tree(d, spec), in_no_request, err));
    TRY(check_all_specs(d, s, err));
    return order_check(d->arena, s, draft_tree(d, order), in_no_request, err);
}

/* Snapshots that were current only in between: history does not know them. */
static struct id_list intermediate_snapshots(const struct draft *d)
{
    struct id_list added = {0}, between = {0};
    for (size_t i = 0; i < d->added_snapshots.n; i++)
        id_list_add(d->arena, &added, d->added_snapshots.v[i]);
    id_list_sort(&added);
    for (size_t i = 0; i < d->set_on_main.n; i++) {
        int64_t id = d->set_on_main.v[i];
        if (id != d->head.current_snapshot_id && id_list_has_sorted(&added, id))
            id_list_add(d->arena, &between, id);
    }
    id_list_sort(&between);
    return between;
}

static struct id_list snapshot_ids(struct draft *d)
{
    struct id_list ids = {0};
    for (size_t i = 0; i < d->parts[PARTS_SNAPSHOTS].n; i++)
        id_list_add(d->arena, &ids, d->parts[PARTS_SNAPSHOTS].v[i].id);
    id_list_sort(&ids);
    return ids;
}

/* A gap would make time travel wrong, so the history before a snapshot that is gone goes too. */
static void rewrite_log(struct draft *d, const struct id_list *between)
{
    struct id_list exist = snapshot_ids(d);
    struct parts *log = draft_own(d, PARTS_SNAPSHOT_LOG);
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        if (!id_list_has_sorted(&exist, log->v[i].id))
            n = d->snapshots_removed ? 0 : n;
        else if (!id_list_has_sorted(between, log->v[i].id))
            log->v[n++] = log->v[i];
    }
    log->n = n;
}

static bool correct_snapshot_log(struct draft *d, struct err *err)
{
    struct id_list between = intermediate_snapshots(d);
    const struct parts *log = &d->parts[PARTS_SNAPSHOT_LOG];
    /* A table that came without history cannot contradict it. */
    if ((!between.n && !d->snapshots_removed) || !log->n)
        return true;
    rewrite_log(d, &between);
    if (d->head.current_snapshot_id != PART_NONE &&
        (!log->n || log->v[log->n - 1].id != d->head.current_snapshot_id))
        return err_set(err, ERR_VALIDATION,
            "Cannot set invalid snapshot log: latest entry is not the current snapshot");
    return true;
}

/* Readers refuse a log that runs backwards by more than a minute. */
static bool runs_back(int64_t before, int64_t ms)
{
    int64_t least;
    return !__builtin_sub_overflow(before, TOLERANCE_MS, &least) && ms < least;
}

/* Such an entry gets the time of the one before it. */
static void order_snapshot_log(struct draft *d)
{
    if (!d->parts_own[PARTS_SNAPSHOT_LOG])
        return;
    const struct parts *log = &d->parts[PARTS_SNAPSHOT_LOG];
    for (size_t i = 1; i < log->n; i++) {
        struct part *late = &log->v[i];
        int64_t before = log->v[i - 1].ms;
        if (!runs_back(before, late->ms))
            continue;
        struct str text = arena_printf(d->arena, "{\"timestamp-ms\":%lld,\"snapshot-id\":%lld}",
            (long long)before, (long long)late->id);
        late->p = text.p;
        late->n = (uint32_t)text.n;
        late->ms = before;
    }
}

static size_t versions_max(const struct draft *d)
{
    int64_t n;
    if (!str_to_i64(property(d, "write.metadata.previous-versions-max"), &n))
        return VERSIONS_DEFAULT;
    return n < 1 ? 1 : (size_t)n;
}

/* The file this commit replaces joins the log, the oldest leave. */
static void log_base(struct draft *d)
{
    if (!d->base)
        return;
    struct parts *log = draft_own(d, PARTS_METADATA_LOG);
    size_t keep = versions_max(d) - 1;
    if (log->n > keep) {
        memmove(log->v, log->v + (log->n - keep), keep * sizeof(*log->v));
        log->n = keep;
    }
    int64_t ms = metadata_head(d->base)->last_updated_ms;
    if (log->n && runs_back(log->v[log->n - 1].ms, ms))
        ms = log->v[log->n - 1].ms;
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    buf_puts(&b, "{\"timestamp-ms\":");
    buf_json_i64(&b, ms);
    buf_puts(&b, ",\"metadata-file\":");
    buf_json_str(&b, metadata_location(d->base));
    buf_putc(&b, '}');
    struct str text = buf_take(&b, d->arena);
    draft_append(d, PARTS_METADATA_LOG,
        (struct part){.p = text.p, .n = (uint32_t)text.n, .ms = ms, .parent = PART_NONE});
}

static void set_last_updated(struct draft *d)
{
    static const enum parts_kind logs[] = {PARTS_SNAPSHOT_LOG, PARTS_METADATA_LOG};
    d->head.last_updated_ms = d->now_ms;
    for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
        const struct parts *log = &d->parts[logs[i]];
        if (log->n && log->v[log->n - 1].ms > d->head.last_updated_ms)
            d->head.last_updated_ms = log->v[log->n - 1].ms;
    }
}

static void give_uuid(struct draft *d)
{
    char uuid[UUID_TEXT + 1];
    if (d->head.uuid.p)
        return;
    token_draw(d->warehouse, uuid);
    d->head.uuid = arena_dup(d->arena, str_from(uuid));
}

/* -- The document ------------------------------------------------------------------------------ */

/* A member to write: a text, or the elements of a long array. */
struct member {
    struct str key, text;
    enum parts_kind kind; /* PARTS_COUNT: text */
};

enum { KNOWN_MAX = 32 };

struct plan {
    struct draft *d;
    struct member *v;
    size_t n;
};

static void plan_text(struct plan *p, const char *key, struct str text)
{
    p->v[p->n++] = (struct member){str_from(key), text, PARTS_COUNT};
}

static void plan_number(struct plan *p, const char *key, int64_t v)
{
    plan_text(p, key, arena_printf(p->d->arena, "%lld", (long long)v));
}

static void plan_string(struct plan *p, const char *key, struct str s)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    buf_json_str(&b, s);
    plan_text(p, key, buf_take(&b, p->d->arena));
}

static void plan_parts(struct plan *p, enum parts_kind kind)
{
    p->v[p->n++] = (struct member){
        str_from(parts_names[kind]), {NULL, 0},
         kind
    };
}

/* As the base has it, unless this draft changed it or the base lacks it. */
static void plan_object(struct plan *p, const char *key, const json_t *tree, bool changed)
{
    struct str text = {NULL, 0};
    if (!changed && p->d->base)
        text = metadata_member(p->d->base, key);
    if (!text.n || text.p[0] != '{')
        text = draft_dump(p->d, tree);
    plan_text(p, key, text);
}

/* The text of a member of an element, or an empty list. */
static struct str element_member(const struct part *part, struct str name)
{
    struct scan s;
    struct err ignored;
    struct str key, value, found = STR("[]");
    bool more = true;
    scan_init(&s, (struct str){part->p, part->n}, &scan_metadata_limits, &ignored);
    bool ok = scan_object(&s);
    while (ok && scan_member(&s, &key, &more) && more && scan_skip(&s, &value)) {
        if (str_eq(key, name)) {
            found = value;
            break;
        }
    }
    scan_fini(&s);
    return found;
}

/* Old readers of format version 1 look here instead of in the lists. */
static void plan_v1_schema(struct plan *p)
{
    const struct part *schema = draft_find(p->d, PARTS_SCHEMAS, p->d->head.current_schema_id);
    if (p->d->head.format_version == 1 && schema)
        plan_text(p, "schema", (struct str){schema->p, schema->n});
}

static void plan_v1_spec(struct plan *p)
{
    const struct part *spec = draft_find(p->d, PARTS_SPECS, p->d->head.default_spec_id);
    if (p->d->head.format_version == 1 && spec)
        plan_text(p, "partition-spec", element_member(spec, STR("fields")));
}

static void plan_current_snapshot(struct plan *p)
{
    const struct head *h = &p->d->head;
    if (h->current_snapshot_id == PART_NONE && h->format_version >= 3)
        plan_text(p, "current-snapshot-id", STR("null"));
    else
        plan_number(p, "current-snapshot-id", h->current_snapshot_id);
}

static void plan_head(struct plan *p)
{
    const struct head *h = &p->d->head;
    plan_number(p, "format-version", h->format_version);
    plan_string(p, "table-uuid", h->uuid);
    plan_string(p, "location", h->location);
    if (h->format_version >= 2)
        plan_number(p, "last-sequence-number", h->last_sequence_number);
    plan_number(p, "last-updated-ms", h->last_updated_ms);
    plan_number(p, "last-column-id", h->last_column_id);
    plan_v1_schema(p);
    plan_number(p, "current-schema-id", h->current_schema_id);
    plan_parts(p, PARTS_SCHEMAS);
    plan_v1_spec(p);
    plan_number(p, "default-spec-id", h->default_spec_id);
    plan_parts(p, PARTS_SPECS);
    plan_number(p, "last-partition-id", h->last_partition_id);
    plan_number(p, "default-sort-order-id", h->default_order_id);
    plan_parts(p, PARTS_ORDERS);
}

static void plan_body(struct plan *p)
{
    const struct draft *d = p->d;
    plan_object(p, "properties", d->head.properties, d->properties_own);
    plan_current_snapshot(p);
    if (d->head.format_version >= 3)
        plan_number(p, "next-row-id", d->head.next_row_id);
    if (d->parts[PARTS_KEYS].n)
        plan_parts(p, PARTS_KEYS);
    plan_object(p, "refs", d->head.refs, d->refs_own);
    plan_parts(p, PARTS_SNAPSHOTS);
    plan_parts(p, PARTS_STATISTICS);
    plan_parts(p, PARTS_PARTITION_STATS);
    plan_parts(p, PARTS_SNAPSHOT_LOG);
    plan_parts(p, PARTS_METADATA_LOG);
}

static void plan_table(struct plan *p)
{
    plan_head(p);
    plan_body(p);
}

static void plan_view(struct plan *p)
{
    const struct draft *d = p->d;
    plan_string(p, "view-uuid", d->head.uuid);
    plan_number(p, "format-version", d->head.format_version);
    plan_string(p, "location", d->head.location);
    if (json_object_size(d->head.properties))
        plan_object(p, "properties", d->head.properties, d->properties_own);
    plan_parts(p, PARTS_SCHEMAS);
    plan_number(p, "current-version-id", d->head.current_version_id);
    plan_parts(p, PARTS_VERSIONS);
    plan_parts(p, PARTS_VERSION_LOG);
}

/* The members of its kind are written here, also those that a format version has no use for. What
 * other writers put there stays there. */
static struct plan plan_document(struct draft *d)
{
    const struct member_slice *old = NULL;
    size_t n_old = d->base ? metadata_members(d->base, &old) : 0;
    struct plan p = {.d = d, .v = ARENA_ARRAY(d->arena, struct member, KNOWN_MAX + n_old)};
    if (d->kind == METADATA_VIEW)
        plan_view(&p);
    else
        plan_table(&p);
    assert(p.n <= KNOWN_MAX);
    for (size_t i = 0; i < n_old; i++) {
        if (!metadata__knows(d->kind, old[i].key))
            p.v[p.n++] = (struct member){old[i].key, old[i].value, PARTS_COUNT};
    }
    return p;
}

/* Counts while p is NULL, writes when it is not: the same steps make size and text. */
struct out {
    char *p;
    size_t n;
};

static struct str put(struct out *o, struct str s)
{
    char *at = o->p ? o->p + o->n : NULL;
    if (at && s.n)
        memcpy(at, s.p, s.n);
    o->n += s.n;
    return (struct str){at, s.n};
}

static struct str put_parts(struct out *o, const struct parts *from, struct parts *index)
{
    size_t begin = o->n;
    put(o, STR("["));
    for (size_t i = 0; i < from->n; i++) {
        if (i)
            put(o, STR(","));
        struct str text = put(o, (struct str){from->v[i].p, from->v[i].n});
        if (!o->p)
            continue;
        index->v[i] = from->v[i];
        index->v[i].p = text.p;
        index->v[i].added = false;
    }
    put(o, STR("]"));
    return (struct str){o->p ? o->p + begin : NULL, o->n - begin};
}

static void put_document(struct out *o, const struct plan *p, struct metadata_new *new)
{
    put(o, STR("{"));
    for (size_t i = 0; i < p->n; i++) {
        const struct member *m = &p->v[i];
        struct member_slice slice;
        put(o, i ? STR(",\"") : STR("\""));
        slice.key = put(o, m->key);
        put(o, STR("\":"));
        if (m->kind == PARTS_COUNT)
            slice.value = put(o, m->text);
        else
            slice.value = put_parts(o, &p->d->parts[m->kind], &new->parts[m->kind]);
        if (o->p)
            new->members[i] = slice;
    }
    put(o, STR("}"));
}

static struct metadata *write_document(struct draft *d, struct str file_location)
{
    struct plan p = plan_document(d);
    struct out size = {NULL, 0};
    struct metadata_new new = {
        .kind = d->kind, .head = d->head, .location = file_location, .n_members = p.n};
    put_document(&size, &p, &new);

    new.bytes = xmalloc(size.n);
    new.n = size.n;
    new.members = xmalloc(p.n * sizeof(*new.members));
    for (int k = 0; k < PARTS_COUNT; k++) {
        new.parts[k].n = d->parts[k].n;
        new.parts[k].v = d->parts[k].n ? xmalloc(d->parts[k].n * sizeof(struct part)) : NULL;
    }
    struct out out = {new.bytes, 0};
    put_document(&out, &p, &new);
    assert(out.n == size.n);
    metric_add(METRIC_bytes_copied_total, out.n);
    json_incref(new.head.properties);
    json_incref(new.head.refs);
    return metadata_from_draft(&new);
}

static bool end_table(struct draft *d, struct err *err)
{
    if (d->bindings_changed)
        TRY(draft_check_bindings(d, err));
    TRY(correct_snapshot_log(d, err));
    order_snapshot_log(d);
    log_base(d);
    set_last_updated(d);
    give_uuid(d);
    return true;
}

bool draft_next(struct draft *d, struct err *err)
{
    if (d->bindings_changed)
        TRY(draft_check_bindings(d, err));
    TRY(correct_snapshot_log(d, err));
    d->last_schema = d->last_spec = d->last_order = PART_NONE;
    d->guesses = NULL;
    d->added_snapshots = d->set_on_main = (struct id_list){0};
    d->snapshots_removed = false;
    return true;
}

/* What could not be read again must not be written. */
static bool check_members(const struct draft *d, struct err *err)
{
    size_t properties = json_object_size(d->head.properties), refs = json_object_size(d->head.refs);
    if (properties <= METADATA_MEMBERS_MAX && refs <= METADATA_MEMBERS_MAX)
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Too many properties or refs: %zu and %zu, at most %d of each", properties, refs,
        METADATA_MEMBERS_MAX);
}

bool draft_finish(struct draft *d, struct str file_location, struct metadata **out, struct err *err)
{
    TRY(check_members(d, err));
    TRY(d->kind == METADATA_VIEW ? draft__end_view(d, err) : end_table(d, err));
    *out = write_document(d, file_location);
    return true;
}
