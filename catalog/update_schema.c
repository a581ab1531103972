/* Updates of schemas, partition specs and sort orders. */
#include "arena.h"
#include "scan.h"
#include "schema.h"
#include "update_priv.h"

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One more than the highest id, at least `from`. Readers know ids of 32 bits, and a file from
 * elsewhere may have used the last one. */
static bool next_id(
    const struct draft *d, enum parts_kind kind, int64_t from, int64_t *out, struct err *err)
{
    const struct parts *all = &d->parts[kind];
    *out = from;
    for (size_t i = 0; i < all->n; i++)
        *out = max(*out, all->v[i].id + 1);
    return *out <= INT32_MAX ||
           err_set(err, ERR_INVALID_ARGUMENT, "Cannot add to %s: the highest id, %d, is in use",
               parts_names[kind], INT32_MAX);
}

bool draft__id_meant(struct draft *d, enum parts_kind kind, int64_t given, int64_t *out)
{
    int64_t last = kind == PARTS_SCHEMAS    ? d->last_schema
                   : kind == PARTS_SPECS    ? d->last_spec
                   : kind == PARTS_VERSIONS ? d->last_version
                                            : d->last_order;
    if (given == PART_NONE) {
        *out = last;
        return last != PART_NONE;
    }
    *out = draft_find(d, kind, given) ? given : draft__resolve_guess(d, kind, given);
    return true;
}

/* Do the columns have the same ids in the same order? Says so without building a tree: of many
 * schemas nearly all differ here. */
static bool scan_same_columns(struct scan *s, const json_t *fields)
{
    bool more, member;
    struct str key;
    size_t i = 0;
    if (!scan_array(s))
        return false;
    for (;; i++) {
        if (!scan_element(s, &more))
            return false;
        if (!more)
            return i == json_array_size(fields);
        if (!scan_object(s))
            return false;
        const json_t *id = json_object_get(json_array_get(fields, i), "id");
        for (;;) {
            int64_t have = 0;
            if (!scan_member(s, &key, &member))
                return false;
            if (!member)
                break;
            bool is_id = str_eq(key, STR("id"));
            if (is_id ? !scan_i64(s, &have) || have != json_integer_value(id) : !scan_skip(s, NULL))
                return false;
        }
    }
}

static bool may_be_equal(const struct part *part, const json_t *schema)
{
    struct scan s;
    struct err ignored;
    struct str key;
    bool more, same = false;
    scan_init(&s, (struct str){part->p, part->n}, &scan_metadata_limits, &ignored);
    bool ok = scan_object(&s);
    while (ok && scan_member(&s, &key, &more) && more) {
        if (str_eq(key, STR("fields"))) {
            same = scan_same_columns(&s, json_object_get(schema, "fields"));
            break;
        }
        ok = scan_skip(&s, NULL);
    }
    scan_fini(&s);
    return same;
}

static const struct part *find_schema(struct draft *d, const json_t *schema)
{
    const struct parts *all = &d->parts[PARTS_SCHEMAS];
    d->work += 4 * all->n; /* their texts are read */
    for (size_t i = 0; i < all->n; i++) {
        if (may_be_equal(&all->v[i], schema) && schema_equal(draft_tree(d, &all->v[i]), schema))
            return &all->v[i];
    }
    return NULL;
}

bool draft__put_schema(
    struct draft *d, const json_t *schema, int64_t *id, bool *added, struct err *err)
{
    const struct part *found = find_schema(d, schema);
    *added = !found;
    if (found) {
        *id = found->id;
    } else {
        TRY(next_id(d, PARTS_SCHEMAS, d->head.current_schema_id, id, err));
        struct part part = {.id = *id, .parent = PART_NONE};
        draft_append_tree(d, PARTS_SCHEMAS, part, schema_canonical(schema, *id));
    }
    draft__note_guess(d, PARTS_SCHEMAS, json_object_get(schema, "schema-id"), *id);
    return true;
}

bool update__add_schema(struct draft *d, struct at at, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new(); /* names in full may be much */
    struct at given;
    struct schema *s;
    TRY(draft__count_named(d, PARTS_SCHEMAS, err));
    TRY(at_object(d->arena, at, "schema", &given, err));
    TRY(schema_read(a, given.json, given.pointer, &s, err));
    TRY(schema_check_version(a, s, d->head.format_version, err));

    /* The client's last-column-id is ignored: ids that were used once must never come back. */
    int64_t last_column_id = max(d->head.last_column_id, schema_highest_id(s));
    bool added;
    TRY(draft__put_schema(d, given.json, &d->last_schema, &added, err));
    if (added || last_column_id != d->head.last_column_id)
        draft_record(d);
    d->head.last_column_id = last_column_id;
    return true;
}

bool update__set_current_schema(struct draft *d, struct at at, struct err *err)
{
    int64_t given, id;
    TRY(at_i32(at, "schema-id", &given, err));
    if (!draft__id_meant(d, PARTS_SCHEMAS, given, &id))
        return err_set(
            err, ERR_VALIDATION, "Cannot set last added schema: no schema has been added");
    if (id == d->head.current_schema_id)
        return true;
    if (!draft_find(d, PARTS_SCHEMAS, id))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot set current schema to unknown schema: %lld", (long long)given);
    d->head.current_schema_id = id;
    d->bindings_changed = true;
    draft_record(d);
    return true;
}

static bool id_missing(const json_t *field)
{
    const json_t *id = json_object_get(field, "field-id");
    return !id || json_is_null(id);
}

/* By what a field is known again in another spec: "17 bucket[4]". */
static const char *field_key(struct arena *a, const json_t *field)
{
    struct str transform = json_text(json_object_get(field, "transform"));
    const json_t *source = json_object_get(field, "source-id");
    if (!json_is_integer(source) || !transform.p)
        return NULL;
    struct str key =
        arena_printf(a, "%lld %.*s", (long long)json_integer_value(source), STR_ARG(transform));
    char *p = arena_cstr(a, key);
    for (size_t i = 0; i < key.n; i++)
        p[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + ('a' - 'A')) : p[i];
    return p;
}

/* The fields of a spec have these ids from here on. */
static void know_fields(json_t *known, const json_t *spec)
{
    AUTO(arena_free) struct arena *scratch = arena_new();
    const json_t *fields = json_object_get(spec, "fields");
    for (size_t i = json_array_size(fields); i-- > 0;) {
        const json_t *f = json_array_get(fields, i);
        const char *key = field_key(scratch, f);
        if (key)
            json_object_set(known, key, json_object_get(f, "field-id"));
    }
}

/* The ids that fields have in the specs so far, in the newest one that has such a field. */
static const json_t *known_fields(struct draft *d)
{
    const struct parts *specs = &d->parts[PARTS_SPECS];
    if (d->known_fields)
        return d->known_fields;
    d->known_fields = json_hold(d->arena, json_object());
    for (size_t i = 0; i < specs->n; i++)
        know_fields(d->known_fields, draft_tree(d, &specs->v[i]));
    return d->known_fields;
}

/* Takes the id out of those that fields of this spec may still get. */
static bool take_id(struct arena *a, json_t *taken, int64_t id)
{
    const char *key = arena_printf(a, "%lld", (long long)id).p;
    return !json_object_get(taken, key) && json_object_set_new(taken, key, json_true()) == 0;
}

/* Field ids of a spec that came without: v1 counts from 1000, later versions keep a field's id
 * over all specs (FORMAT: partition evolution). */
static void give_field_ids(struct draft *d, json_t *fields)
{
    AUTO(arena_free) struct arena *a = arena_new();
    int64_t next = max(d->head.last_partition_id, 999);
    bool counts = d->head.format_version == 1;
    const json_t *known = counts ? NULL : known_fields(d);
    json_t *taken = json_hold(a, json_object());
    for (size_t i = 0; i < json_array_size(fields); i++) {
        json_t *f = json_array_get(fields, i);
        const char *key = counts ? NULL : field_key(a, f);
        const json_t *same = key ? json_object_get(known, key) : NULL;
        int64_t id = counts ? 1000 + (int64_t)i : same ? json_integer_value(same) : PART_NONE;
        while (id == PART_NONE || !take_id(a, taken, id))
            id = ++next;
        json_object_set_new(f, "field-id", json_integer(id));
    }
}

/* A copy of the spec in which every field has an id; ERR_INVALID_ARGUMENT for some that have and
 * some that have not. */
static bool spec_with_ids(struct draft *d, struct at spec, json_t **out, struct err *err)
{
    struct at fields;
    size_t i, missing = 0;
    json_t *f;
    TRY(at_array(d->arena, spec, "fields", &fields, err));
    json_array_foreach(fields.json, i, f)
    {
        struct at at = at_element(d->arena, fields, i);
        int64_t id;
        if (!json_is_object(f))
            return at_refuse(at, "Expected a partition field, an object", err);
        missing += id_missing(f);
        TRY(id_missing(f) || at_i32(at, "field-id", &id, err));
    }
    size_t n = json_array_size(fields.json);
    if (missing && missing < n)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot parse spec with missing field IDs: %zu missing of %zu fields.", missing, n);
    *out = json_hold(d->arena, json_deep_copy(spec.json));
    if (missing)
        give_field_ids(d, json_object_get(*out, "fields"));
    return true;
}

/* How messages show a spec: a line per field, "1000: name: transform(source)". */
static struct str spec_text(struct arena *a, const json_t *fields)
{
    struct str text = STR("[");
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        if (text.n > sizeof(((struct err *)0)->msg)) /* no message holds more */
            break;
        text = arena_printf(a, "%.*s\n  %lld: %s: %s(%lld)", STR_ARG(text),
            (long long)json_integer_value(json_object_get(f, "field-id")),
            json_string_value(json_object_get(f, "name")),
            json_string_value(json_object_get(f, "transform")),
            (long long)json_integer_value(json_object_get(f, "source-id")));
    }
    return arena_printf(a, "%.*s%s]", STR_ARG(text), json_array_size(fields) ? "\n" : "");
}

static bool check_sequential(struct draft *d, const json_t *fields, struct err *err)
{
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        if (json_integer_value(json_object_get(f, "field-id")) != 1000 + (int64_t)i)
            return err_set(err, ERR_VALIDATION,
                "Spec does not use sequential IDs that are required in v1: %.*s",
                STR_ARG(spec_text(d->arena, fields)));
    }
    return true;
}

/* The id of the spec or order that says the same, or PART_NONE. */
static int64_t find_equal(struct draft *d, enum parts_kind kind, const json_t *tree,
    bool (*equal)(const json_t *a, const json_t *b))
{
    const struct parts *all = &d->parts[kind];
    d->work += all->n;
    for (size_t i = 0; i < all->n; i++) {
        const json_t *have = draft_tree(d, &all->v[i]);
        if (have && equal(have, tree))
            return all->v[i].id;
    }
    return PART_NONE;
}

/* The current schema for what is bound to it. Without fields nothing is bound, and some clients
 * name an unpartitioned spec before a schema. */
static bool schema_for(struct draft *d, const json_t *fields, struct schema **out, struct err *err)
{
    *out = NULL;
    return json_array_size(fields) == 0 || draft_schema(d, out, err);
}

static bool append_spec(struct draft *d, const json_t *spec, int64_t *id, struct err *err)
{
    json_t *stored;
    if (d->head.format_version == 1)
        TRY(check_sequential(d, json_object_get(spec, "fields"), err));
    TRY(next_id(d, PARTS_SPECS, 0, id, err));
    TRY(spec_canonical(spec, *id, 1000, &stored, err));
    d->head.last_partition_id = max(d->head.last_partition_id, spec_highest_field_id(stored));
    if (d->known_fields)
        know_fields(d->known_fields, stored);
    struct part part = {.id = *id, .parent = PART_NONE};
    draft_append_tree(d, PARTS_SPECS, part, stored);
    draft_record(d);
    return true;
}

bool update__add_spec(struct draft *d, struct at at, struct err *err)
{
    struct at given;
    json_t *spec = NULL;
    struct schema *s;
    TRY(draft__count_named(d, PARTS_SPECS, err));
    TRY(at_object(d->arena, at, "spec", &given, err));
    TRY(spec_with_ids(d, given, &spec, err));
    const json_t *fields = json_object_get(spec, "fields");
    TRY(schema_for(d, fields, &s, err));
    TRY(!s || spec_check(d->arena, s, spec, given.pointer, err));
    TRY(spec_check_version(spec, d->head.format_version, given.pointer, err));

    int64_t id = find_equal(d, PARTS_SPECS, spec, spec_equal);
    TRY(id != PART_NONE || append_spec(d, spec, &id, err));
    d->last_spec = id;
    draft__note_guess(d, PARTS_SPECS, json_object_get(given.json, "spec-id"), id);
    return true;
}

bool update__set_default_spec(struct draft *d, struct at at, struct err *err)
{
    int64_t given, id;
    TRY(at_i32(at, "spec-id", &given, err));
    if (!draft__id_meant(d, PARTS_SPECS, given, &id))
        return err_set(err, ERR_VALIDATION, "Cannot set last added spec: no spec has been added");
    if (id == d->head.default_spec_id)
        return true;
    if (!draft_find(d, PARTS_SPECS, id))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot set default partition spec to unknown spec: %lld", (long long)given);
    d->head.default_spec_id = id;
    d->bindings_changed = true;
    draft_record(d);
    return true;
}

static bool check_order_id(struct at order, size_t fields, struct err *err)
{
    int64_t id = fields ? 1 : 0;
    if (at_has(order, "order-id"))
        TRY(at_i32(order, "order-id", &id, err));
    if (id == 0 && fields)
        return err_set(err, ERR_INVALID_ARGUMENT, "Sort order ID 0 is reserved for unsorted order");
    if (id != 0 && !fields)
        return err_set(err, ERR_INVALID_ARGUMENT, "Unsorted order ID must be 0");
    return true;
}

/* The id of the order that says the same, or of this one, which is added then. */
static bool put_order(struct draft *d, const json_t *order, int64_t *id, struct err *err)
{
    *id = find_equal(d, PARTS_ORDERS, order, order_equal);
    if (*id != PART_NONE)
        return true;
    *id = 0;
    if (json_array_size(json_object_get(order, "fields")))
        TRY(next_id(d, PARTS_ORDERS, 1, id, err));
    struct part part = {.id = *id, .parent = PART_NONE};
    draft_append_tree(d, PARTS_ORDERS, part, order_canonical(order, *id));
    draft_record(d);
    return true;
}

bool update__add_sort_order(struct draft *d, struct at at, struct err *err)
{
    struct at given, fields;
    struct schema *s;
    TRY(draft__count_named(d, PARTS_ORDERS, err));
    TRY(at_object(d->arena, at, "sort-order", &given, err));
    TRY(at_array(d->arena, given, "fields", &fields, err));
    size_t n = json_array_size(fields.json);
    TRY(check_order_id(given, n, err));
    TRY(schema_for(d, fields.json, &s, err));
    TRY(!s || order_check(d->arena, s, given.json, given.pointer, err));
    TRY(order_check_version(given.json, d->head.format_version, given.pointer, err));

    TRY(put_order(d, given.json, &d->last_order, err));
    draft__note_guess(d, PARTS_ORDERS, json_object_get(given.json, "order-id"), d->last_order);
    return true;
}

bool update__set_default_sort_order(struct draft *d, struct at at, struct err *err)
{
    int64_t given, id;
    TRY(at_i32(at, "sort-order-id", &given, err));
    if (!draft__id_meant(d, PARTS_ORDERS, given, &id))
        return err_set(
            err, ERR_VALIDATION, "Cannot set last added sort order: no sort order has been added");
    if (id == d->head.default_order_id)
        return true;
    if (!draft_find(d, PARTS_ORDERS, id))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot set default sort order to unknown sort order: %lld", (long long)given);
    d->head.default_order_id = id;
    d->bindings_changed = true;
    draft_record(d);
    return true;
}

bool update__remove_partition_specs(struct draft *d, struct at at, struct err *err)
{
    struct id_list ids;
    TRY(at_ids(d->arena, at, "spec-ids", &ids, err));
    id_list_sort(&ids);
    if (id_list_has_sorted(&ids, d->head.default_spec_id))
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot remove the default partition spec");
    if (draft_remove(d, PARTS_SPECS, &ids))
        d->known_fields = NULL;
    /* Counts also when none of them was there. */
    if (ids.n)
        draft_record(d);
    return true;
}

bool update__remove_schemas(struct draft *d, struct at at, struct err *err)
{
    struct id_list ids;
    TRY(at_ids(d->arena, at, "schema-ids", &ids, err));
    id_list_sort(&ids);
    if (id_list_has_sorted(&ids, d->head.current_schema_id))
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot remove the current schema");
    draft_remove(d, PARTS_SCHEMAS, &ids);
    /* Counts also when none of them was there. */
    if (ids.n)
        draft_record(d);
    return true;
}
