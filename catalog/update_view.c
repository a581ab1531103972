/* Views: their first state, their updates, and the rules at the end of a commit (protocol 4.8). */
#include <assert.h>
#include <stdlib.h>

#include "arena.h"
#include "buf.h"
#include "metadata_priv.h"
#include "schema.h"
#include "update_priv.h"

enum { DIALECTS_MAX = 64 << 10, FIRST_VERSION = 1 };

/* -- Schemas ----------------------------------------------------------------------------------- */

/* Unlike a table's, a view's schema may have types of any format version, and one that is there
 * already is not "the last one added". */
bool update__add_view_schema(struct draft *d, struct at at, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new(); /* names in full may be much */
    struct at given;
    struct schema *s;
    int64_t id;
    bool added;
    TRY(draft__count_named(d, PARTS_SCHEMAS, err));
    TRY(at_object(d->arena, at, "schema", &given, err));
    TRY(schema_read(a, given.json, given.pointer, &s, err));
    TRY(draft__put_schema(d, given.json, &id, &added, err));
    if (added) {
        d->last_schema = id;
        draft_record(d);
    }
    return true;
}

/* -- Versions ---------------------------------------------------------------------------------- */

static struct str lower(struct arena *a, struct str s)
{
    char *p = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        p[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + ('a' - 'A')) : p[i];
    return (struct str){p, s.n};
}

static bool is_sql(struct str type)
{
    return str_eq_nocase(type, STR("sql"));
}

struct dialects {
    struct str *v;
    size_t n;
    json_t *set; /* the same, to look for one */
};

static struct dialects dialects_new(struct arena *a, size_t most)
{
    return (struct dialects){ARENA_ARRAY(a, struct str, most + 1), 0, json_hold(a, json_object())};
}

static bool dialects_have(const struct dialects *all, struct str dialect)
{
    return json_object_get(all->set, dialect.p) != NULL;
}

static void dialects_add(struct dialects *all, struct str dialect)
{
    all->v[all->n++] = dialect;
    json_object_set_new(all->set, dialect.p, json_true());
}

/* In lower case, each once, in the order of the representations. */
static struct dialects dialects_of(struct arena *a, const json_t *version)
{
    const json_t *list = json_object_get(version, "representations");
    struct dialects all = dialects_new(a, json_array_size(list));
    size_t i;
    json_t *r;
    json_array_foreach(list, i, r)
    {
        const json_t *dialect = json_object_get(r, "dialect");
        if (!is_sql(json_text(json_object_get(r, "type"))) || !json_is_string(dialect))
            continue;
        struct str name = lower(a, json_text(dialect));
        if (!dialects_have(&all, name))
            dialects_add(&all, name);
    }
    return all;
}

/* Readers know representations of type sql alone and lose the content of others. */
static bool check_representations(struct draft *d, struct at version, struct err *err)
{
    struct at list;
    TRY(at_array(d->arena, version, "representations", &list, err));
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct at r = at_element(d->arena, list, i);
        struct str type, text;
        TRY(at_str(r, "type", &type, err));
        if (!is_sql(type))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Found unsupported view representations: [%.*s]", STR_ARG(type));
        TRY(at_str(r, "sql", &text, err));
        TRY(at_str(r, "dialect", &text, err));
    }
    return true;
}

static bool check_one_per_dialect(struct draft *d, const json_t *version, struct err *err)
{
    const json_t *list = json_object_get(version, "representations");
    struct dialects seen = dialects_new(d->arena, json_array_size(list));
    size_t i;
    json_t *r;
    json_array_foreach(list, i, r)
    {
        struct str dialect = lower(d->arena, json_text(json_object_get(r, "dialect")));
        if (dialects_have(&seen, dialect))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Invalid view version: Cannot add multiple queries for dialect %.*s",
                STR_ARG(dialect));
        dialects_add(&seen, dialect);
    }
    return true;
}

static bool same_member(const json_t *a, const json_t *b, const char *name)
{
    const json_t *x = json_object_get(a, name), *y = json_object_get(b, name);
    if (!x || json_is_null(x) || !y || json_is_null(y))
        return (!x || json_is_null(x)) == (!y || json_is_null(y));
    return json_equal(x, y);
}

static bool same_version(const json_t *a, const json_t *b)
{
    return same_member(a, b, "summary") && same_member(a, b, "representations") &&
           same_member(a, b, "default-catalog") && same_member(a, b, "default-namespace");
}

/* The id of the version that says the same, else the one that was asked for, or the next. */
static int64_t version_id(struct draft *d, const json_t *version, int64_t schema, int64_t asked)
{
    const struct parts *all = &d->parts[PARTS_VERSIONS];
    int64_t id = asked < FIRST_VERSION ? FIRST_VERSION : asked;
    d->work += all->n;
    for (size_t i = 0; i < all->n; i++) {
        const struct part *v = &all->v[i];
        if (v->schema == schema && same_version(draft_tree(d, v), version))
            return v->id;
        if (v->id >= id)
            id = v->id + 1;
    }
    return id;
}

static bool append_version(
    struct draft *d, const json_t *given, int64_t id, int64_t schema, struct err *err)
{
    int64_t ms = json_integer_value(json_object_get(given, "timestamp-ms"));
    if (id > INT32_MAX)
        return err_set(
            err, ERR_INVALID_ARGUMENT, "Cannot add version: the highest version id is in use");
    if (!draft_find(d, PARTS_SCHEMAS, schema))
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot add version with unknown schema: %lld",
            (long long)schema);
    TRY(check_one_per_dialect(d, given, err));
    json_t *stored = json_pack("{s:I, s:I, s:I}", "version-id", (json_int_t)id, "timestamp-ms",
        (json_int_t)ms, "schema-id", (json_int_t)schema);
    json_copy_rest(stored, given);
    struct part part = {.id = id, .schema = schema, .ms = ms, .parent = PART_NONE};
    draft_append_tree(d, PARTS_VERSIONS, part, stored);
    id_list_add(d->arena, &d->added_versions, id);
    d->last_version = id;
    draft_record(d);
    return true;
}

/* The members that a version needs beside its representations. */
static bool check_version(struct draft *d, struct at version, struct err *err)
{
    struct at ignored;
    struct str catalog;
    int64_t number;
    TRY(at_i64(version, "timestamp-ms", &number, err));
    TRY(at_string_map(d->arena, version, "summary", &ignored, err));
    TRY(at_array(d->arena, version, "default-namespace", &ignored, err));
    TRY(at_str_opt(version, "default-catalog", &catalog, err));
    return check_representations(d, version, err);
}

bool update__add_view_version(struct draft *d, struct at at, struct err *err)
{
    struct at given;
    int64_t asked, schema;
    TRY(draft__count_named(d, PARTS_VERSIONS, err));
    TRY(at_object(d->arena, at, "view-version", &given, err));
    TRY(at_i32(given, "version-id", &asked, err));
    TRY(at_i32(given, "schema-id", &schema, err));
    TRY(check_version(d, given, err));

    int64_t id = version_id(d, given.json, schema, asked);
    if (draft_find(d, PARTS_VERSIONS, id)) {
        d->last_version = id_list_has(&d->added_versions, id) ? id : PART_NONE;
        return true;
    }
    if (!draft__id_meant(d, PARTS_SCHEMAS, schema, &schema))
        return err_set(
            err, ERR_VALIDATION, "Cannot set last added schema: no schema has been added");
    return append_version(d, given.json, id, schema, err);
}

static void set_current(struct draft *d, const struct part *version)
{
    int64_t id = version->id;
    int64_t ms = id_list_has(&d->added_versions, id) ? version->ms : d->now_ms;
    struct str text = arena_printf(
        d->arena, "{\"timestamp-ms\":%lld,\"version-id\":%lld}", (long long)ms, (long long)id);
    d->head.current_version_id = id;
    d->version_line =
        (struct part){.p = text.p, .n = (uint32_t)text.n, .id = id, .ms = ms, .parent = PART_NONE};
    draft_record(d);
}

bool update__set_current_view_version(struct draft *d, struct at at, struct err *err)
{
    int64_t given, id;
    TRY(at_i32(at, "view-version-id", &given, err));
    if (!draft__id_meant(d, PARTS_VERSIONS, given, &id))
        return err_set(
            err, ERR_VALIDATION, "Cannot set last version id: no current version id has been set");
    if (id == d->head.current_version_id)
        return true;
    const struct part *version = draft_find(d, PARTS_VERSIONS, id);
    if (!version)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot set current version to unknown version: %lld", (long long)given);
    set_current(d, version);
    return true;
}

/* -- The first state --------------------------------------------------------------------------- */

bool draft_create_view(struct arena *a, const json_t *request, struct str location,
    struct draft **out, struct err *err)
{
    struct at top = {request, STR("")}, properties, version;
    TRY(at_object(a, top, "view-version", &version, err));
    struct draft *d = draft_begin_view(a);
    d->head.location = arena_dup(a, draft__strip_slashes(location));
    if (at_has(top, "properties")) {
        TRY(at_string_map(a, top, "properties", &properties, err));
        json_copy_rest(draft_properties(d), properties.json);
        draft__note_properties(d, properties);
    }
    TRY(update__add_view_schema(d, top, err));
    TRY(check_version(d, version, err));
    TRY(append_version(d, version.json, FIRST_VERSION, d->last_schema, err));
    set_current(d, draft_find(d, PARTS_VERSIONS, FIRST_VERSION));
    *out = d;
    return true;
}

/* -- The end of a commit ----------------------------------------------------------------------- */

/* "[spark, trino]" */
static struct str dialects_text(struct arena *a, const struct dialects *all)
{
    struct buf b;
    buf_init(&b, DIALECTS_MAX);
    for (size_t i = 0; i < all->n; i++) {
        buf_puts(&b, i ? ", " : "[");
        buf_str(&b, all->v[i]);
    }
    buf_puts(&b, all->n ? "]" : "[]");
    return buf_take(&b, a);
}

static bool may_drop_dialects(const struct draft *d)
{
    const json_t *allowed = json_object_get(d->head.properties, "replace.drop-dialect.allowed");
    bool yes = false;
    return json_is_string(allowed) && str_to_bool(json_text(allowed), &yes) && yes;
}

/* An engine must not take a view away from the engines of other dialects. */
static bool check_dialects_kept(struct draft *d, struct err *err)
{
    int64_t was = d->base ? metadata_head(d->base)->current_version_id : d->head.current_version_id;
    if (was == d->head.current_version_id || may_drop_dialects(d))
        return true;
    const struct part *old = metadata_find(d->base, PARTS_VERSIONS, was);
    const struct part *new = draft_find(d, PARTS_VERSIONS, d->head.current_version_id);
    struct dialects before = dialects_of(d->arena, draft_tree(d, old));
    struct dialects after = dialects_of(d->arena, draft_tree(d, new));
    for (size_t i = 0; i < before.n; i++) {
        if (!dialects_have(&after, before.v[i]))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot replace view due to loss of view dialects "
                "(replace.drop-dialect.allowed=false):\nPrevious dialects: %.*s\nNew dialects: "
                "%.*s",
                STR_ARG(dialects_text(d->arena, &before)),
                STR_ARG(dialects_text(d->arena, &after)));
    }
    return true;
}

static int descending(const void *va, const void *vb)
{
    int64_t a = *(const int64_t *)va, b = *(const int64_t *)vb;
    return a < b ? 1 : -(a > b);
}

/* The ids that stay when there are more than `keep`: the current one and the highest. Sorted. */
static struct id_list kept_ids(const struct draft *d, size_t keep)
{
    const struct parts *all = &d->parts[PARTS_VERSIONS];
    struct id_list ids = {0}, kept = {0};
    for (size_t i = 0; i < all->n; i++)
        id_list_add(d->arena, &ids, all->v[i].id);
    qsort(ids.v, ids.n, sizeof(*ids.v), descending);
    id_list_add(d->arena, &kept, d->head.current_version_id);
    for (size_t i = 0; i < ids.n && kept.n < keep; i++) {
        if (ids.v[i] != d->head.current_version_id)
            id_list_add(d->arena, &kept, ids.v[i]);
    }
    id_list_sort(&kept);
    return kept;
}

/* What this request named is kept whatever the property says. */
static size_t named_versions(const struct draft *d)
{
    return d->added_versions.n + !id_list_has(&d->added_versions, d->head.current_version_id);
}

/* The log before an entry whose version is gone goes too: it would have a gap. */
static void trim_versions(struct draft *d, size_t keep)
{
    if (keep < named_versions(d))
        keep = named_versions(d);
    if (d->parts[PARTS_VERSIONS].n <= keep)
        return;
    struct id_list kept = kept_ids(d, keep);
    struct parts *versions = draft_own(d, PARTS_VERSIONS);
    struct parts *log = draft_own(d, PARTS_VERSION_LOG);
    size_t n = 0;
    for (size_t i = 0; i < versions->n; i++) {
        if (id_list_has_sorted(&kept, versions->v[i].id))
            versions->v[n++] = versions->v[i];
    }
    versions->n = n;
    n = 0;
    for (size_t i = 0; i < log->n; i++) {
        if (id_list_has_sorted(&kept, log->v[i].id))
            log->v[n++] = log->v[i];
        else
            n = 0;
    }
    log->n = n;
}

bool draft__end_view(struct draft *d, struct err *err)
{
    int64_t keep;
    assert(d->head.location.p && draft_find(d, PARTS_VERSIONS, d->head.current_version_id));
    TRY(check_dialects_kept(d, err));
    TRY(metadata__versions_kept(d->head.properties, &keep, err));
    if (d->version_line.p)
        draft_append(d, PARTS_VERSION_LOG, d->version_line);
    trim_versions(d, (size_t)keep);
    return true;
}
