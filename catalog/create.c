/* The first state of a table from the body of createTable (protocol 4.1). */
#include "arena.h"
#include "schema.h"
#include "type.h"
#include "update_priv.h"

/* The request's schema, whose ids the rest of the request speaks of, and the table's. */
struct renumbering {
    struct arena *a;
    const struct schema *asked, *fresh;
};

/* -- Properties -------------------------------------------------------------------------------- */

static bool format_version(struct at properties, int64_t *out, struct err *err)
{
    const json_t *given = json_object_get(properties.json, "format-version");
    *out = FORMAT_VERSION_DEFAULT;
    if (!given)
        return true;
    struct str text = str_trim(json_text(given));
    if (!str_to_i64(text, out))
        err_set(err, ERR_INVALID_ARGUMENT, "Invalid format-version, expected an integer: %.*s",
            STR_ARG(text));
    else if (*out < 1 || *out > FORMAT_VERSION_MAX)
        err_set(err, ERR_INVALID_ARGUMENT, "Unsupported format version: v%lld (supported: v%d)",
            (long long)*out, FORMAT_VERSION_MAX);
    else
        return true;
    return at_where(properties, "format-version", err);
}

static bool check_retry_properties(const json_t *properties, struct err *err)
{
    static const char *const names[] = {"commit.retry.num-retries", "commit.retry.min-wait-ms",
        "commit.retry.max-wait-ms", "commit.retry.total-timeout-ms"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const json_t *given = json_object_get(properties, names[i]);
        int64_t n;
        if (!given)
            continue;
        if (!str_to_i64(json_text(given), &n) || n > INT32_MAX || n < INT32_MIN)
            return err_set(
                err, ERR_VALIDATION, "Table property %s must have integer value", names[i]);
        if (n < 0)
            return err_set(err, ERR_VALIDATION,
                "Table property %s must have non negative integer value", names[i]);
    }
    return true;
}

/* "table { 1: id: required long }", one column a line. */
static struct str schema_text(struct arena *a, const json_t *schema)
{
    struct str text = STR("table {");
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(schema, "fields"), i, f)
    {
        if (text.n > sizeof(((struct err *)0)->msg)) /* no message holds more */
            break;
        text = arena_printf(a, "%.*s\n  %lld: %s: %s %.*s", STR_ARG(text),
            (long long)json_integer_value(json_object_get(f, "id")),
            json_string_value(json_object_get(f, "name")),
            json_is_true(json_object_get(f, "required")) ? "required" : "optional",
            STR_ARG(type_json_text(a, json_object_get(f, "type"))));
    }
    return arena_printf(a, "%.*s\n}", STR_ARG(text));
}

static struct str put_name(json_t *names, struct arena *a, struct str above, struct str name)
{
    struct str full = above.n ? arena_printf(a, "%.*s.%.*s", STR_ARG(above), STR_ARG(name)) : name;
    json_object_set_new(names, full.p, json_true());
    return full;
}

/* The short names of all columns: what lies in a list's or map's struct is named without the
 * "element" or "value" before it (Java's TypeUtil.indexByName). */
static void put_names(json_t *names, struct arena *a, const json_t *type, struct str above)
{
    static const char *const inner[] = {"element", "key", "value"};
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(type, "fields"), i, f)
    {
        struct str name = put_name(names, a, above, json_text_at(f, "name"));
        put_names(names, a, json_object_get(f, "type"), name);
    }
    for (i = 0; i < ARRAY_LEN(inner); i++) {
        const json_t *of = json_object_get(type, inner[i]);
        if (!of)
            continue;
        struct str name = put_name(names, a, above, str_from(inner[i]));
        bool short_of_it = json_object_get(of, "fields") && strcmp(inner[i], "key") != 0;
        put_names(names, a, of, short_of_it ? above : name);
    }
}

static const json_t *short_names(struct arena *a, const json_t *schema)
{
    json_t *names = json_hold(a, json_object());
    put_names(names, a, schema, STR(""));
    return names;
}

static bool check_metrics_columns(
    struct draft *d, const struct schema *s, const json_t *tree, struct err *err)
{
    static const char prefix[] = "write.metadata.metrics.column.";
    AUTO(arena_free) struct arena *a = arena_new();
    const json_t *names = NULL;
    const char *key;
    json_t *v;
    json_object_foreach(d->head.properties, key, v)
    {
        struct str name = str_from(key);
        if (!str_starts(name, str_from(prefix)))
            continue;
        struct str column = str_sub(name, sizeof(prefix) - 1, name.n);
        if (schema_field_by_name(s, column))
            continue;
        names = names ? names : short_names(a, tree);
        if (!json_object_get(names, column.p))
            return err_set(err, ERR_VALIDATION,
                "Invalid metrics config, could not find column %.*s from table prop %s in schema "
                "%.*s",
                STR_ARG(column), key, STR_ARG(schema_text(d->arena, tree)));
    }
    return true;
}

static void set_properties(struct draft *d, struct at given)
{
    const char *key;
    json_t *v;
    json_t *to = draft_properties(d);
    json_object_foreach(json_lend(given.json), key, v)
    {
        if (!draft__reserved_property(key))
            json_object_set(to, key, v);
    }
    draft__note_properties(d, given);
    if (!json_object_get(to, "write.parquet.compression-codec"))
        json_object_set_new(to, "write.parquet.compression-codec", json_string("zstd"));
}

/* -- Schema, spec, order ----------------------------------------------------------------------- */

static bool fresh_schema(
    struct draft *d, struct at request, struct renumbering *r, const json_t **out, struct err *err)
{
    struct at given;
    struct schema *asked, *fresh;
    json_t *tree;
    TRY(at_object(d->arena, request, "schema", &given, err));
    TRY(schema_read(d->arena, given.json, given.pointer, &asked, err));
    TRY(schema_check_version(d->arena, asked, d->head.format_version, err));
    TRY(schema_fresh(d->arena, asked, &tree, &d->head.last_column_id, err));
    json_hold(d->arena, tree);
    TRY(schema_read(d->arena, tree, given.pointer, &fresh, err));
    struct str text = draft_dump(d, tree);
    draft_append(d, PARTS_SCHEMAS,
        (struct part){.p = text.p, .n = (uint32_t)text.n, .id = 0, .parent = PART_NONE});
    *r = (struct renumbering){d->arena, asked, fresh};
    *out = tree;
    return true;
}

/* A source id of the request's schema becomes the id that its column has in the table; ids that
 * name no column were refused where that matters, and are left to a void transform. */
static json_t *renumbered(const struct renumbering *r, const json_t *id)
{
    const struct schema_field *asked =
        json_is_integer(id) ? schema_field_by_id(r->asked, json_integer_value(id)) : NULL;
    const struct schema_field *fresh = asked ? schema_field_by_name(r->fresh, asked->name) : NULL;
    return fresh ? json_integer(fresh->id) : json_deep_copy(id);
}

static void renumber_sources(const struct renumbering *r, json_t *fields)
{
    size_t i, k;
    json_t *f, *id;
    json_array_foreach(fields, i, f)
    {
        json_t *many = json_object_get(f, "source-ids");
        if (json_is_integer(json_object_get(f, "source-id")))
            json_object_set_new(f, "source-id", renumbered(r, json_object_get(f, "source-id")));
        json_array_foreach(many, k, id) json_array_set_new(many, k, renumbered(r, id));
    }
}

/* The spec or order of the request, a copy to work on; NULL when there is none. */
static bool copy_of(
    struct draft *d, struct at request, const char *name, json_t **out, struct err *err)
{
    struct at given, fields;
    *out = NULL;
    if (!at_has(request, name))
        return true;
    TRY(at_object(d->arena, request, name, &given, err));
    TRY(at_array(d->arena, given, "fields", &fields, err));
    *out = json_hold(d->arena, json_deep_copy(given.json));
    return true;
}

static bool first_spec(
    struct draft *d, struct at request, const struct renumbering *r, struct err *err)
{
    json_t *spec, *stored;
    TRY(copy_of(d, request, "partition-spec", &spec, err));
    if (!spec)
        spec = json_hold(d->arena, json_pack("{s:[]}", "fields"));
    json_t *fields = json_object_get(spec, "fields");
    /* Field ids are ours to give, whatever clients put there: null, 0, or the same one twice. */
    for (size_t i = 0; i < json_array_size(fields); i++)
        json_object_set_new(
            json_array_get(fields, i), "field-id", json_integer(1000 + (json_int_t)i));
    TRY(spec_check(d->arena, r->asked, spec, STR("/partition-spec"), err));
    TRY(spec_check_version(spec, d->head.format_version, STR("/partition-spec"), err));
    renumber_sources(r, fields);
    TRY(spec_canonical(spec, 0, 1000, &stored, err));
    d->head.last_partition_id = spec_highest_field_id(stored);
    draft_append_tree(d, PARTS_SPECS, (struct part){.id = 0, .parent = PART_NONE}, stored);
    return true;
}

static bool first_order(
    struct draft *d, struct at request, const struct renumbering *r, struct err *err)
{
    json_t *order;
    TRY(copy_of(d, request, "write-order", &order, err));
    if (!order)
        order = json_hold(d->arena, json_pack("{s:[]}", "fields"));
    json_t *fields = json_object_get(order, "fields");
    int64_t id = json_array_size(fields) ? 1 : 0;
    json_object_set_new(order, "order-id", json_integer(id));
    TRY(order_check(d->arena, r->asked, order, STR("/write-order"), err));
    TRY(order_check_version(order, d->head.format_version, STR("/write-order"), err));
    renumber_sources(r, fields);
    d->head.default_order_id = id;
    draft_append_tree(
        d, PARTS_ORDERS, (struct part){.id = id, .parent = PART_NONE}, order_canonical(order, id));
    return true;
}

bool draft_create(struct arena *a, const json_t *request, struct str location, struct draft **out,
    struct err *err)
{
    struct at top = {request, STR("")}, properties = {NULL, STR("")};
    int64_t version;
    struct renumbering r;
    const json_t *schema;
    if (at_has(top, "properties"))
        TRY(at_string_map(a, top, "properties", &properties, err));
    TRY(format_version(properties, &version, err));
    struct draft *d = draft_begin_empty(a, version);
    d->head.location = arena_dup(a, draft__strip_slashes(location));
    set_properties(d, properties);
    TRY(fresh_schema(d, top, &r, &schema, err));
    TRY(first_spec(d, top, &r, err));
    TRY(first_order(d, top, &r, err));
    TRY(check_retry_properties(d->head.properties, err));
    TRY(check_metrics_columns(d, r.fresh, schema, err));
    draft_record(d);
    *out = d;
    return true;
}
