/* Updates of snapshots, the refs that name them, and their statistics. */
#include "arena.h"
#include "update_priv.h"

#define MAIN "main"

/* -- add-snapshot ------------------------------------------------------------------------------ */

/* What the rules need of a snapshot. */
struct snapshot {
    struct at at;
    int64_t id, seq, ms;
    int64_t parent;                   /* PART_NONE: none */
    int64_t first_row_id, added_rows; /* PART_NONE: absent */
};

/* The client may try again on a fresh base; anything else would be refused again. */
#define retry(err, ...)                                                                            \
    err_set((err), ERR_COMMIT_FAILED, "Validation failed, please retry: " __VA_ARGS__)

/* Members that only have to be of the right type. */
static bool check_snapshot_form(struct draft *d, struct at s, struct err *err)
{
    struct at unused;
    struct str text;
    int64_t number;
    bool v1 = d->head.format_version == 1;
    if (!v1 || at_has(s, "summary"))
        TRY(at_string_map(d->arena, s, "summary", &unused, err));
    if (v1 && !at_has(s, "manifest-list"))
        TRY(at_array(d->arena, s, "manifests", &unused, err));
    else
        TRY(at_filled_str(s, "manifest-list", &text, err));
    if (at_has(s, "schema-id"))
        TRY(at_i32(s, "schema-id", &number, err));
    return at_str_opt(s, "key-id", &text, err);
}

static bool check_snapshot_numbers(const struct snapshot *s, struct err *err)
{
    if (s->id == PART_NONE)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid snapshot id: -1 (it means that there is no snapshot)");
    if (s->seq < 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid sequence number (cannot be negative): %lld", (long long)s->seq);
    if (at_has(s->at, "first-row-id") && s->first_row_id < 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Invalid first-row-id (cannot be negative): %lld",
            (long long)s->first_row_id);
    if (at_has(s->at, "added-rows") && s->added_rows < 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Invalid added-rows (cannot be negative): %lld",
            (long long)s->added_rows);
    if (s->first_row_id != PART_NONE && s->added_rows == PART_NONE)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid added-rows (required when first-row-id is set): null");
    return true;
}

static bool read_snapshot(struct draft *d, struct at at, struct snapshot *out, struct err *err)
{
    struct snapshot s = {.parent = PART_NONE, .first_row_id = PART_NONE, .added_rows = PART_NONE};
    TRY(at_object(d->arena, at, "snapshot", &s.at, err));
    TRY(at_i64(s.at, "snapshot-id", &s.id, err));
    TRY(at_i64(s.at, "timestamp-ms", &s.ms, err));
    TRY(at_i64_opt(s.at, "sequence-number", &s.seq, err));
    TRY(at_i64_opt(s.at, "parent-snapshot-id", &s.parent, err));
    TRY(at_i64_opt(s.at, "first-row-id", &s.first_row_id, err));
    TRY(at_i64_opt(s.at, "added-rows", &s.added_rows, err));
    TRY(check_snapshot_form(d, s.at, err));
    *out = s;
    return check_snapshot_numbers(out, err);
}

static bool check_sequence(const struct draft *d, const struct snapshot *s, struct err *err)
{
    const struct head *h = &d->head;
    if (h->format_version == 1 && s->seq != 0)
        return err_set(err, ERR_VALIDATION,
            "Invalid snapshot with sequence number %lld greater than last sequence number 0",
            (long long)s->seq);
    /* A snapshot without parent replaces the table: several of them may carry the same number. */
    if (h->format_version > 1 && s->parent != PART_NONE && s->seq <= h->last_sequence_number)
        return retry(err,
            "Cannot add snapshot with sequence number %lld older than last sequence number %lld",
            (long long)s->seq, (long long)h->last_sequence_number);
    return true;
}

/* Row lineage: the rows of the snapshot get ids from first-row-id on (FORMAT: snapshot row ids). */
static bool take_row_ids(struct draft *d, const struct snapshot *s, struct err *err)
{
    int64_t next;
    if (d->head.format_version < 3)
        return true;
    if (s->first_row_id == PART_NONE)
        return err_set(err, ERR_VALIDATION, "Cannot add a snapshot: first-row-id is null");
    if (s->first_row_id < d->head.next_row_id)
        return retry(err,
            "Cannot add a snapshot, first-row-id is behind table next-row-id: %lld < %lld",
            (long long)s->first_row_id, (long long)d->head.next_row_id);
    if (__builtin_add_overflow(s->first_row_id, s->added_rows, &next))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid added-rows: %lld rows from row id %lld on exceed 64 bits",
            (long long)s->added_rows, (long long)s->first_row_id);
    d->head.next_row_id = next;
    return true;
}

/* Readers want to know the operation before anything else. */
static json_t *stored_summary(const json_t *summary)
{
    json_t *out = json_object();
    json_t *operation = json_object_get(summary, "operation");
    if (operation)
        json_object_set(out, "operation", operation);
    json_copy_rest(out, summary);
    return out;
}

/* As sent, with the members in the usual order, and without those that say nothing. */
static json_t *stored_snapshot(const struct snapshot *s)
{
    json_t *out = json_object();
    const json_t *summary = json_object_get(s->at.json, "summary");
    if (s->seq)
        json_object_set_new(out, "sequence-number", json_integer(s->seq));
    json_object_set_new(out, "snapshot-id", json_integer(s->id));
    if (s->parent != PART_NONE)
        json_object_set_new(out, "parent-snapshot-id", json_integer(s->parent));
    json_object_set_new(out, "timestamp-ms", json_integer(s->ms));
    if (json_is_object(summary))
        json_object_set_new(out, "summary", stored_summary(summary));
    const char *key;
    json_t *v;
    json_object_foreach(json_lend(s->at.json), key, v)
    {
        struct str k = str_from(key);
        if (!json_is_null(v) && !json_object_get(out, key) && !str_eq(k, STR("sequence-number")) &&
            !str_eq(k, STR("parent-snapshot-id")))
            json_object_set(out, key, v);
    }
    return out;
}

bool update__add_snapshot(struct draft *d, struct at at, struct err *err)
{
    static const struct {
        enum parts_kind kind;
        const char *what;
    } needed[] = {
        {PARTS_SCHEMAS, "schema"        },
        {PARTS_SPECS,   "partition spec"},
        {PARTS_ORDERS,  "sort order"    }
    };
    struct snapshot s = {0};
    TRY(read_snapshot(d, at, &s, err));
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (!d->parts[needed[i].kind].n)
            return err_set(err, ERR_VALIDATION, "Attempting to add a snapshot before a %s is added",
                needed[i].what);
    }
    if (draft_find(d, PARTS_SNAPSHOTS, s.id))
        return err_set(
            err, ERR_VALIDATION, "Snapshot already exists for id: %lld", (long long)s.id);
    TRY(check_sequence(d, &s, err));
    TRY(take_row_ids(d, &s, err));
    if (s.seq > d->head.last_sequence_number)
        d->head.last_sequence_number = s.seq;
    struct part part = {.id = s.id, .seq = s.seq, .ms = s.ms, .parent = s.parent};
    draft_append_tree(d, PARTS_SNAPSHOTS, part, stored_snapshot(&s));
    id_list_add(d->arena, &d->added_snapshots, s.id);
    draft__note_uris(d, PARTS_SNAPSHOTS, s.at);
    draft_record(d);
    return true;
}

/* -- refs -------------------------------------------------------------------------------------- */

struct named_ref {
    int64_t snapshot_id;
    bool tag;
    int64_t min_snapshots, max_snapshot_age, max_ref_age; /* PART_NONE: unset */
};

static bool read_retention(struct at at, struct named_ref *r, struct err *err)
{
    r->min_snapshots = r->max_snapshot_age = r->max_ref_age = PART_NONE;
    bool min = at_has(at, "min-snapshots-to-keep"), age = at_has(at, "max-snapshot-age-ms");
    if (min)
        TRY(at_i32(at, "min-snapshots-to-keep", &r->min_snapshots, err));
    TRY(at_i64_opt(at, "max-snapshot-age-ms", &r->max_snapshot_age, err));
    TRY(at_i64_opt(at, "max-ref-age-ms", &r->max_ref_age, err));
    if (min && r->tag)
        return err_set(err, ERR_INVALID_ARGUMENT, "Tags do not support setting minSnapshotsToKeep");
    if (min && r->min_snapshots <= 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Min snapshots to keep must be greater than 0");
    if (age && r->tag)
        return err_set(err, ERR_INVALID_ARGUMENT, "Tags do not support setting maxSnapshotAgeMs");
    if (age && r->max_snapshot_age <= 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Max snapshot age must be greater than 0 ms");
    if (at_has(at, "max-ref-age-ms") && r->max_ref_age <= 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Max reference age must be greater than 0");
    return true;
}

static bool read_ref(struct at at, struct named_ref *out, struct err *err)
{
    struct str type;
    TRY(at_i64(at, "snapshot-id", &out->snapshot_id, err));
    TRY(at_str(at, "type", &type, err));
    out->tag = str_eq_nocase(type, STR("tag"));
    if (!out->tag && !str_eq_nocase(type, STR("branch")))
        return err_set(err, ERR_INVALID_ARGUMENT, "Invalid snapshot ref type: %.*s", STR_ARG(type));
    return read_retention(at, out, err);
}

static bool same_ref(const json_t *stored, const struct named_ref *r)
{
    struct named_ref old;
    struct err ignored;
    return stored && read_ref((struct at){stored, STR("")}, &old, &ignored) &&
           old.snapshot_id == r->snapshot_id && old.tag == r->tag &&
           old.min_snapshots == r->min_snapshots && old.max_snapshot_age == r->max_snapshot_age &&
           old.max_ref_age == r->max_ref_age;
}

static json_t *stored_ref(const struct named_ref *r)
{
    json_t *out = json_object();
    json_object_set_new(out, "snapshot-id", json_integer(r->snapshot_id));
    json_object_set_new(out, "type", json_string(r->tag ? "tag" : "branch"));
    if (r->min_snapshots != PART_NONE)
        json_object_set_new(out, "min-snapshots-to-keep", json_integer(r->min_snapshots));
    if (r->max_snapshot_age != PART_NONE)
        json_object_set_new(out, "max-snapshot-age-ms", json_integer(r->max_snapshot_age));
    if (r->max_ref_age != PART_NONE)
        json_object_set_new(out, "max-ref-age-ms", json_integer(r->max_ref_age));
    return out;
}

/* The current snapshot changes: history gets a line, dated by the snapshot if it is new and by the
 * commit if it is an old one coming back. */
static void move_main(struct draft *d, const struct part *snapshot)
{
    int64_t id = snapshot->id;
    int64_t ms = id_list_has(&d->added_snapshots, id) ? snapshot->ms : d->now_ms;
    d->head.current_snapshot_id = id;
    id_list_add(d->arena, &d->set_on_main, id);
    draft__log_snapshot(d, id, ms);
}

bool update__set_snapshot_ref(struct draft *d, struct at at, struct err *err)
{
    struct str name;
    struct named_ref r;
    TRY(at_str(at, "ref-name", &name, err));
    TRY(read_ref(at, &r, err));
    if (!name.n)
        return err_set(
            err, ERR_BAD_REQUEST, "A ref needs a name (%.*s/ref-name)", STR_ARG(at.pointer));
    if (same_ref(json_object_get(d->head.refs, name.p), &r))
        return true;
    const struct part *snapshot = draft_find(d, PARTS_SNAPSHOTS, r.snapshot_id);
    if (!snapshot)
        return err_set(err, ERR_VALIDATION, "Cannot set %.*s to unknown snapshot: %lld",
            STR_ARG(name), (long long)r.snapshot_id);
    bool is_main = str_eq(name, STR(MAIN));
    if (is_main && r.tag)
        return err_set(err, ERR_VALIDATION, "Cannot set main to a tag, it must be a branch");
    if (is_main)
        move_main(d, snapshot);
    json_object_set_new(draft_refs(d), name.p, stored_ref(&r));
    draft_record(d);
    return true;
}

static void drop_ref(struct draft *d, const char *name)
{
    if (str_eq(str_from(name), STR(MAIN)))
        d->head.current_snapshot_id = PART_NONE;
    json_object_del(draft_refs(d), name);
}

bool update__remove_snapshot_ref(struct draft *d, struct at at, struct err *err)
{
    struct str name;
    TRY(at_str(at, "ref-name", &name, err));
    if (!json_object_get(d->head.refs, name.p))
        return true;
    drop_ref(d, name.p);
    draft_record(d);
    return true;
}

/* -- remove-snapshots -------------------------------------------------------------------------- */

static bool is_dangling(const json_t *ref, const struct id_list *gone)
{
    return id_list_has_sorted(gone, json_integer_value(json_object_get(ref, "snapshot-id")));
}

/* Refs whose snapshot is gone go too, as the Java library does it. */
static void drop_dangling_refs(struct draft *d, const struct id_list *gone)
{
    const char *name;
    json_t *ref;
    void *next;
    bool any = false;
    d->work += json_object_size(d->head.refs);
    json_object_foreach(d->head.refs, name, ref)
    {
        any = any || is_dangling(ref, gone);
    }
    if (!any)
        return;
    json_object_foreach_safe(draft_refs(d), next, name, ref)
    {
        if (is_dangling(ref, gone))
            drop_ref(d, name);
    }
}

bool update__remove_snapshots(struct draft *d, struct at at, struct err *err)
{
    struct id_list ids;
    TRY(at_ids(d->arena, at, "snapshot-ids", &ids, err));
    for (size_t i = 0; i < ids.n; i++)
        id_list_add(d->arena, &d->collected[PARTS_SNAPSHOTS], ids.v[i]);
    return true;
}

/* Those that were collected, sorted; from now on there are none. */
static struct id_list take_collected(struct draft *d, enum parts_kind kind)
{
    struct id_list ids = d->collected[kind];
    d->collected[kind].n = 0; /* its memory is used again */
    id_list_sort(&ids);
    return ids;
}

static void remove_snapshots(struct draft *d)
{
    struct id_list ids = take_collected(d, PARTS_SNAPSHOTS), gone = {0};
    const struct parts *all = &d->parts[PARTS_SNAPSHOTS];
    if (!ids.n)
        return;
    d->work += all->n;
    for (size_t i = 0; i < all->n; i++) {
        if (id_list_has_sorted(&ids, all->v[i].id))
            id_list_add(d->arena, &gone, all->v[i].id);
    }
    if (!gone.n)
        return;
    id_list_sort(&gone);
    draft_remove(d, PARTS_SNAPSHOTS, &gone);
    draft_remove(d, PARTS_STATISTICS, &gone);
    draft_remove(d, PARTS_PARTITION_STATS, &gone);
    drop_dangling_refs(d, &gone);
    d->snapshots_removed = true;
    draft_record(d);
}

void draft__remove_collected(struct draft *d)
{
    static const enum parts_kind kinds[] = {PARTS_STATISTICS, PARTS_PARTITION_STATS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct id_list ids = take_collected(d, kinds[i]);
        if (ids.n && draft_remove(d, kinds[i], &ids))
            draft_record(d);
    }
    remove_snapshots(d);
    draft__remove_keys(d);
}

/* -- statistics -------------------------------------------------------------------------------- */

/* One entry for each snapshot: a new one takes the old one's place. */
static void put_entry(struct draft *d, enum parts_kind kind, int64_t id, struct at entry)
{
    struct str text = draft_dump(d, entry.json);
    struct part part = {
        .p = text.p, .n = (uint32_t)text.n, .id = id, .parent = PART_NONE, .added = true};
    draft_put(d, kind, part);
    draft__note_uris(d, kind, entry);
    draft_record(d);
}

static bool remove_entry(struct draft *d, struct at at, enum parts_kind kind, struct err *err)
{
    int64_t id;
    TRY(at_i64(at, "snapshot-id", &id, err));
    id_list_add(d->arena, &d->collected[kind], id);
    return true;
}

static bool check_blob(struct draft *d, struct at blob, struct err *err)
{
    struct str type;
    struct id_list fields;
    struct at properties;
    int64_t number;
    if (!json_is_object(blob.json))
        return at_refuse(blob, "Expected the metadata of a blob, an object", err);
    TRY(at_str(blob, "type", &type, err));
    TRY(at_i64(blob, "snapshot-id", &number, err));
    TRY(at_i64(blob, "sequence-number", &number, err));
    TRY(at_ids(d->arena, blob, "fields", &fields, err));
    return !at_has(blob, "properties") ||
           at_string_map(d->arena, blob, "properties", &properties, err);
}

static bool check_statistics(struct draft *d, struct at file, int64_t *id, struct err *err)
{
    struct at blobs = {0};
    struct str text;
    int64_t number;
    TRY(at_i64(file, "snapshot-id", id, err));
    TRY(at_filled_str(file, "statistics-path", &text, err));
    TRY(at_size(file, "file-size-in-bytes", &number, err));
    TRY(at_size(file, "file-footer-size-in-bytes", &number, err));
    TRY(at_str_opt(file, "key-metadata", &text, err));
    TRY(at_array(d->arena, file, "blob-metadata", &blobs, err));
    for (size_t i = 0; i < json_array_size(blobs.json); i++)
        TRY(check_blob(d, at_element(d->arena, blobs, i), err));
    return true;
}

bool update__set_statistics(struct draft *d, struct at at, struct err *err)
{
    struct at file = {0};
    int64_t id = 0;
    TRY(at_object(d->arena, at, "statistics", &file, err));
    TRY(check_statistics(d, file, &id, err));
    /* The member outside is deprecated; where both are given they must agree. */
    int64_t outer = id;
    TRY(at_i64_opt(at, "snapshot-id", &outer, err));
    if (outer != id) {
        err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid set-statistics: snapshot-id %lld differs from the snapshot-id %lld of the "
            "statistics",
            (long long)outer, (long long)id);
        return at_where(at, "snapshot-id", err);
    }
    put_entry(d, PARTS_STATISTICS, id, file);
    return true;
}

bool update__remove_statistics(struct draft *d, struct at at, struct err *err)
{
    return remove_entry(d, at, PARTS_STATISTICS, err);
}

bool update__set_partition_statistics(struct draft *d, struct at at, struct err *err)
{
    struct at file;
    struct str path;
    int64_t id, size;
    TRY(at_object(d->arena, at, "partition-statistics", &file, err));
    TRY(at_i64(file, "snapshot-id", &id, err));
    TRY(at_filled_str(file, "statistics-path", &path, err));
    TRY(at_size(file, "file-size-in-bytes", &size, err));
    put_entry(d, PARTS_PARTITION_STATS, id, file);
    return true;
}

bool update__remove_partition_statistics(struct draft *d, struct at at, struct err *err)
{
    return remove_entry(d, at, PARTS_PARTITION_STATS, err);
}
