#include <inttypes.h>
#include <stdlib.h>

#include "base.h"
#include "json.h"
#include "metadata_priv.h"
#include "uuid.h"

enum {
    CLOCKS_APART = 60000, /* ms that writers' clocks may differ */
    VERSIONS_KEPT = 10    /* of a view that does not say */
};

struct ids {
    int64_t *v;
    size_t n;
};

static void ids_free(struct ids *ids)
{
    xfree(TAKE(ids->v));
}

static int id_order(const void *va, const void *vb)
{
    int64_t a = *(const int64_t *)va, b = *(const int64_t *)vb;
    return a < b ? -1 : a > b;
}

static struct ids ids_sorted(const struct parts *parts)
{
    struct ids ids = {xmalloc(parts->n * sizeof(int64_t)), parts->n};
    for (size_t i = 0; i < parts->n; i++)
        ids.v[i] = parts->v[i].id;
    qsort(ids.v, ids.n, sizeof(*ids.v), id_order);
    return ids;
}

static bool ids_have(const struct ids *ids, int64_t id)
{
    return ids->n && bsearch(&id, ids->v, ids->n, sizeof(id), id_order);
}

static bool unique(const struct ids *ids, const char *what, struct err *err)
{
    for (size_t i = 1; i < ids->n; i++)
        if (ids->v[i - 1] == ids->v[i])
            return err_set(
                err, ERR_INVALID_ARGUMENT, "%s: the id %" PRId64 " twice", what, ids->v[i]);
    return true;
}

/* Ids in a list are unique, and the picked one is among them. */
static bool check_list(const struct metadata_new *m, enum parts_kind kind, const char *member,
    int64_t picked, struct err *err)
{
    AUTO(ids_free) struct ids ids = ids_sorted(&m->parts[kind]);
    TRY(unique(&ids, parts_names[kind], err));
    if (!ids_have(&ids, picked))
        return err_set(err, ERR_INVALID_ARGUMENT, "%s is %" PRId64 ", which is not in %s", member,
            picked, parts_names[kind]);
    return true;
}

static bool check_refs(const struct metadata_new *m, const struct ids *snapshots, struct err *err)
{
    const char *name;
    json_t *ref;
    json_object_foreach(m->head.refs, name, ref)
    {
        int64_t id = json_integer_value(json_object_get(ref, "snapshot-id"));
        if (!ids_have(snapshots, id))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "refs: %.200s names the snapshot %" PRId64 ", which is not in snapshots", name, id);
    }
    int64_t current = m->head.current_snapshot_id;
    const json_t *main = json_object_get(m->head.refs, "main");
    int64_t tip = main ? json_integer_value(json_object_get(main, "snapshot-id")) : PART_NONE;
    if (current == PART_NONE && main)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Current snapshot is not set, but main branch exists: %" PRId64, tip);
    if (current != PART_NONE && !ids_have(snapshots, current))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "current-snapshot-id is %" PRId64 ", which is not in snapshots", current);
    if (current != tip)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Current snapshot ID does not match main branch (%" PRId64 " != %" PRId64 ")", current,
            tip);
    return true;
}

static bool check_snapshots(const struct metadata_new *m, struct err *err)
{
    const struct parts *snapshots = &m->parts[PARTS_SNAPSHOTS];
    AUTO(ids_free) struct ids ids = ids_sorted(snapshots);
    TRY(unique(&ids, "snapshots", err));
    if (ids_have(&ids, PART_NONE))
        return err_set(err, ERR_INVALID_ARGUMENT, "snapshots: the id -1 means no snapshot");
    for (size_t i = 0; i < snapshots->n; i++)
        if (snapshots->v[i].seq > m->head.last_sequence_number)
            return err_set(err, ERR_INVALID_ARGUMENT,
                "snapshots: %" PRId64 " has the sequence number %" PRId64
                ", above last-sequence-number %" PRId64,
                snapshots->v[i].id, snapshots->v[i].seq, m->head.last_sequence_number);
    return check_refs(m, &ids, err);
}

static bool before(int64_t a, int64_t b)
{
    int64_t apart = 0;
    return !__builtin_sub_overflow(b, a, &apart) ? apart > CLOCKS_APART : a < b;
}

static bool check_log(
    const struct metadata_new *m, enum parts_kind kind, const char *what, struct err *err)
{
    const struct parts *log = &m->parts[kind];
    for (size_t i = 1; i < log->n; i++)
        if (before(log->v[i].ms, log->v[i - 1].ms))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "%s: entry %zu is older than the one before it (%" PRId64 " < %" PRId64 ")",
                parts_names[kind], i, log->v[i].ms, log->v[i - 1].ms);
    if (log->n && before(m->head.last_updated_ms, log->v[log->n - 1].ms))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid update timestamp %" PRId64 ": before %s %" PRId64, m->head.last_updated_ms,
            what, log->v[log->n - 1].ms);
    return true;
}

static bool check_table(const struct metadata_new *m, struct err *err)
{
    const struct head *head = &m->head;
    if (head->last_sequence_number < 0 || head->next_row_id < 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s is negative",
            head->next_row_id < 0 ? "next-row-id" : "last-sequence-number");
    TRY(check_list(m, PARTS_SCHEMAS, "current-schema-id", head->current_schema_id, err));
    TRY(check_list(m, PARTS_SPECS, "default-spec-id", head->default_spec_id, err));
    TRY(check_list(m, PARTS_ORDERS, "default-sort-order-id", head->default_order_id, err));
    TRY(check_snapshots(m, err));
    TRY(check_log(m, PARTS_SNAPSHOT_LOG, "last snapshot log entry at", err));
    return check_log(m, PARTS_METADATA_LOG, "the latest metadata log entry timestamp", err);
}

bool metadata__versions_kept(const json_t *properties, int64_t *out, struct err *err)
{
    static const char name[] = "version.history.num-entries";
    struct str text = json_text_at(properties, name);
    *out = VERSIONS_KEPT;
    if (!text.p)
        return true;
    if (!str_to_i64(text, out) || *out > INT32_MAX || *out < INT32_MIN)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s must be an integer of 32 bits but was %.*s",
            name, STR_ARG(str_utf8_cut(text, 100)));
    if (*out < 1)
        return err_set(
            err, ERR_INVALID_ARGUMENT, "%s must be positive but was %" PRId64, name, *out);
    return true;
}

static bool check_view(const struct metadata_new *m, struct err *err)
{
    const struct parts *versions = &m->parts[PARTS_VERSIONS];
    AUTO(ids_free) struct ids schemas = ids_sorted(&m->parts[PARTS_SCHEMAS]);
    int64_t current = m->head.current_version_id, kept;
    TRY(unique(&schemas, parts_names[PARTS_SCHEMAS], err));
    TRY(check_list(m, PARTS_VERSIONS, "current-version-id", current, err));
    for (size_t i = 0; i < versions->n; i++)
        if (versions->v[i].id == current && !ids_have(&schemas, versions->v[i].schema))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "versions: %" PRId64 " has the schema-id %" PRId64 ", which is not in schemas",
                current, versions->v[i].schema);
    return metadata__versions_kept(m->head.properties, &kept, err);
}

bool metadata__check(const struct metadata_new *m, struct err *err)
{
    const struct head *head = &m->head;
    bool view = m->kind == METADATA_VIEW;
    if (!head->location.n)
        return err_set(err, ERR_INVALID_ARGUMENT, "location is empty");
    if (!uuid_is(head->uuid))
        return err_set(err, ERR_INVALID_ARGUMENT, "%s-uuid is no UUID: \"%.*s\"",
            view ? "view" : "table", STR_ARG(str_utf8_cut(head->uuid, 100)));
    return view ? check_view(m, err) : check_table(m, err);
}
