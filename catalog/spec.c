/* Partition specs and sort orders: checks against a schema, equality, the stored form. */
#include "arena.h"
#include "schema.h"
#include "type.h"

enum { UNPARTITIONED_LAST_ID = 999 };

static struct str text_of(const json_t *v)
{
    return (struct str){json_string_value(v), json_string_length(v)};
}

static bool is_absent(const json_t *v)
{
    return !v || json_is_null(v);
}

/* source-id, or the first of source-ids of a transform with several arguments. */
static const json_t *source_of(const json_t *field)
{
    const json_t *one = json_object_get(field, "source-id");
    return is_absent(one) ? json_array_get(json_object_get(field, "source-ids"), 0) : one;
}

static bool field_form(
    const json_t *f, const char *what, size_t i, struct transform *t, struct err *err)
{
    const json_t *transform = json_object_get(f, "transform");
    if (!json_is_object(f) || !json_is_string(transform))
        return err_set(err, ERR_BAD_REQUEST, "Invalid %s: field %zu has no transform", what, i);
    if (!json_is_integer(source_of(f)))
        return err_set(err, ERR_BAD_REQUEST, "Invalid %s: field %zu has no source-id", what, i);
    if (!transform_parse(text_of(transform), t))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid %s: the width of %s must be an integer above 0", what,
            json_string_value(transform));
    return true;
}

/* The name of a partition field may be that of a column only if the column is its source. */
static bool check_name(const struct schema *s, const json_t *fields, size_t i, struct err *err)
{
    const json_t *f = json_array_get(fields, i);
    const json_t *name = json_object_get(f, "name");
    if (!json_is_string(name))
        return err_set(err, ERR_BAD_REQUEST, "Invalid partition spec: field %zu has no name", i);
    const struct schema_field *column = schema_field_by_name(s, text_of(name));
    if (column && column->id != json_integer_value(source_of(f)))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot create identity partition sourced from different field in schema: %s",
            json_string_value(name));
    if (json_string_length(name) == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot use empty partition name: ");
    for (size_t k = 0; k < i; k++) {
        const json_t *other = json_array_get(fields, k);
        if (json_equal(json_object_get(other, "name"), name))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot use partition name more than once: %s", json_string_value(name));
        const json_t *id = json_object_get(f, "field-id");
        if (!is_absent(id) && json_equal(json_object_get(other, "field-id"), id))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot use partition field id more than once: %lld",
                (long long)json_integer_value(id));
    }
    return true;
}

static struct str partition_text(struct arena *a, const json_t *f, size_t i)
{
    const json_t *id = json_object_get(f, "field-id");
    return arena_printf(a, "%lld: %s: %s(%lld)",
        (long long)(json_is_integer(id) ? json_integer_value(id) : 1000 + (json_int_t)i),
        json_string_value(json_object_get(f, "name")),
        json_string_value(json_object_get(f, "transform")),
        (long long)json_integer_value(source_of(f)));
}

static bool check_partition_source(struct arena *a, const struct schema *s, const json_t *f,
    size_t i, const struct transform *t, struct err *err)
{
    struct str text = partition_text(a, f, i);
    const struct schema_field *source = schema_field_by_id(s, json_integer_value(source_of(f)));
    struct type type;
    if (!source)
        return err_set(err, ERR_VALIDATION, "Cannot find source column for partition field: %.*s",
            STR_ARG(text));
    if (!json_is_string(source->type) || !type_parse(text_of(source->type), &type)) {
        struct str found = type_json_text(a, source->type);
        return err_set(err, ERR_VALIDATION, "Cannot partition by non-primitive source field: %.*s",
            STR_ARG(found));
    }
    if (!transform_takes(t, type.kind)) {
        struct str found = type_text(a, &type);
        return err_set(err, ERR_VALIDATION, "Invalid source type %.*s for transform: %s",
            STR_ARG(found), json_string_value(json_object_get(f, "transform")));
    }
    if (!source->in_struct_only)
        return err_set(err, ERR_VALIDATION, "Invalid partition field parent: %.*s",
            STR_ARG(source->parent_type));
    return true;
}

bool spec_check(struct arena *a, const struct schema *s, const json_t *spec, struct err *err)
{
    const json_t *fields = json_object_get(spec, "fields");
    struct transform t;
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        TRY(field_form(f, "partition spec", i, &t, err));
        TRY(check_name(s, fields, i, err));
    }
    json_array_foreach(fields, i, f)
    {
        TRY(field_form(f, "partition spec", i, &t, err));
        if (t.kind != TRANSFORM_VOID)
            TRY(check_partition_source(a, s, f, i, &t, err));
    }
    return true;
}

static bool is_descending(const json_t *f)
{
    return str_eq_nocase(text_of(json_object_get(f, "direction")), STR("desc"));
}

/* Old files lack the null order: it then follows the direction. */
static bool nulls_last(const json_t *f)
{
    const json_t *order = json_object_get(f, "null-order");
    return json_is_string(order) ? str_eq_nocase(text_of(order), STR("nulls-last"))
                                 : is_descending(f);
}

static bool check_direction(const json_t *f, size_t i, struct err *err)
{
    const json_t *direction = json_object_get(f, "direction");
    const json_t *nulls = json_object_get(f, "null-order");
    if (!is_absent(direction) && !str_eq_nocase(text_of(direction), STR("asc")) &&
        !str_eq_nocase(text_of(direction), STR("desc")))
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid sort order: the direction of field %zu must be asc or desc", i);
    if (!is_absent(nulls) && !str_eq_nocase(text_of(nulls), STR("nulls-first")) &&
        !str_eq_nocase(text_of(nulls), STR("nulls-last")))
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid sort order: the null-order of field %zu must be nulls-first or nulls-last", i);
    return true;
}

static bool check_sort_source(struct arena *a, const struct schema *s, const json_t *f,
    const struct transform *t, struct err *err)
{
    const char *transform = json_string_value(json_object_get(f, "transform"));
    const struct schema_field *source = schema_field_by_id(s, json_integer_value(source_of(f)));
    struct type type;
    if (!source)
        return err_set(err, ERR_VALIDATION,
            "Cannot find source column for sort field: %s(%lld) %s %s", transform,
            (long long)json_integer_value(source_of(f)), is_descending(f) ? "DESC" : "ASC",
            nulls_last(f) ? "NULLS LAST" : "NULLS FIRST");
    struct str found = type_json_text(a, source->type);
    if (!json_is_string(source->type) || !type_parse(text_of(source->type), &type))
        return err_set(
            err, ERR_VALIDATION, "Cannot sort by non-primitive source field: %.*s", STR_ARG(found));
    if (!transform_takes(t, type.kind))
        return err_set(err, ERR_VALIDATION, "Invalid source type %.*s for transform: %s",
            STR_ARG(found), transform);
    return true;
}

bool order_check(struct arena *a, const struct schema *s, const json_t *order, struct err *err)
{
    const json_t *fields = json_object_get(order, "fields");
    const json_t *id = json_object_get(order, "order-id");
    if (json_is_integer(id) && json_integer_value(id) == 0 && json_array_size(fields) > 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Sort order ID 0 is reserved for unsorted order");
    if (json_is_integer(id) && json_integer_value(id) != 0 && json_array_size(fields) == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Unsorted order ID must be 0");
    struct transform t;
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        TRY(field_form(f, "sort order", i, &t, err));
        TRY(check_direction(f, i, err));
        TRY(check_sort_source(a, s, f, &t, err));
    }
    return true;
}

/* --- equality: what a field does, not its id
 * ------------------------------------------------------ */

static bool same_transform(const json_t *a, const json_t *b)
{
    struct str x = text_of(json_object_get(a, "transform"));
    struct str y = text_of(json_object_get(b, "transform"));
    struct transform t;
    bool known = transform_parse(x, &t) && t.kind != TRANSFORM_UNKNOWN;
    return known ? str_eq_nocase(x, y) : str_eq(x, y);
}

static bool same_source(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "source-ids"), *y = json_object_get(b, "source-ids");
    if (json_array_size(x) > 1 || json_array_size(y) > 1)
        return json_equal(x, y);
    return json_equal(source_of(a), source_of(b));
}

bool spec_equal(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "fields"), *y = json_object_get(b, "fields");
    if (json_array_size(x) != json_array_size(y))
        return false;
    for (size_t i = 0; i < json_array_size(x); i++) {
        const json_t *f = json_array_get(x, i), *g = json_array_get(y, i);
        if (!same_source(f, g) || !same_transform(f, g) ||
            !json_equal(json_object_get(f, "name"), json_object_get(g, "name")))
            return false;
    }
    return true;
}

bool order_equal(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "fields"), *y = json_object_get(b, "fields");
    if (json_array_size(x) != json_array_size(y))
        return false;
    for (size_t i = 0; i < json_array_size(x); i++) {
        const json_t *f = json_array_get(x, i), *g = json_array_get(y, i);
        if (!same_source(f, g) || !same_transform(f, g) || is_descending(f) != is_descending(g) ||
            nulls_last(f) != nulls_last(g))
            return false;
    }
    return true;
}

/* --- the stored form
 * ------------------------------------------------------------------------------ */

static json_t *stored_transform(const json_t *f)
{
    struct arena *a = arena_new();
    struct str text = transform_text(a, text_of(json_object_get(f, "transform")));
    json_t *out = json_stringn(text.p, text.n);
    arena_free(&a);
    return out;
}

static void copy_source(json_t *to, const json_t *f)
{
    const json_t *one = json_object_get(f, "source-id");
    if (!is_absent(one))
        json_object_set_new(to, "source-id", json_deep_copy(one));
    else
        json_object_set_new(to, "source-ids", json_deep_copy(json_object_get(f, "source-ids")));
}

bool spec_canonical(
    const json_t *spec, int64_t spec_id, int64_t first_field_id, json_t **out, struct err *err)
{
    const json_t *fields = json_object_get(spec, "fields");
    size_t n = json_array_size(fields), missing = 0, i;
    json_t *f;
    json_array_foreach(fields, i, f) missing += is_absent(json_object_get(f, "field-id"));
    if (missing > 0 && missing < n)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot parse spec with missing field IDs: %zu missing of %zu fields.", missing, n);
    json_t *list = json_array();
    json_array_foreach(fields, i, f)
    {
        json_t *o = json_object();
        json_object_set(o, "name", json_object_get(f, "name"));
        json_object_set_new(o, "transform", stored_transform(f));
        copy_source(o, f);
        json_object_set_new(o, "field-id",
            missing ? json_integer(first_field_id + (int64_t)i)
                    : json_deep_copy(json_object_get(f, "field-id")));
        json_array_append_new(list, o);
    }
    *out = json_object();
    json_object_set_new(*out, "spec-id", json_integer(spec_id));
    json_object_set_new(*out, "fields", list);
    return true;
}

json_t *order_canonical(const json_t *order, int64_t order_id)
{
    json_t *list = json_array();
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(order, "fields"), i, f)
    {
        json_t *o = json_object();
        json_object_set_new(o, "transform", stored_transform(f));
        copy_source(o, f);
        json_object_set_new(o, "direction", json_string(is_descending(f) ? "desc" : "asc"));
        json_object_set_new(
            o, "null-order", json_string(nulls_last(f) ? "nulls-last" : "nulls-first"));
        json_array_append_new(list, o);
    }
    json_t *out = json_object();
    json_object_set_new(out, "order-id", json_integer(order_id));
    json_object_set_new(out, "fields", list);
    return out;
}

int64_t spec_highest_field_id(const json_t *spec)
{
    int64_t highest = UNPARTITIONED_LAST_ID;
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(spec, "fields"), i, f)
    {
        int64_t id = json_integer_value(json_object_get(f, "field-id"));
        if (id > highest)
            highest = id;
    }
    return highest;
}
