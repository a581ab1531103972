/* Partition specs and sort orders: checks against a schema, equality, the stored form. */
#include "schema_priv.h"

#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "type.h"

enum { UNPARTITIONED_LAST_ID = 999, FIRST_FIELD_ID = 1000, MANY_SOURCES_VERSION = 3 };

/* FORMAT: source-id, or from v3 on source-ids of a transform that takes several columns. */
static bool has_many_sources(const json_t *field)
{
    return json_array_size(json_object_get(field, "source-ids")) > 1;
}

static const json_t *first_source(const json_t *field)
{
    const json_t *one = json_object_get(field, "source-id");
    return tree_absent(one) ? json_array_get(json_object_get(field, "source-ids"), 0) : one;
}

static size_t n_sources(const json_t *field)
{
    return has_many_sources(field) ? json_array_size(json_object_get(field, "source-ids")) : 1;
}

static const json_t *source_at(const json_t *field, size_t i)
{
    return has_many_sources(field) ? json_array_get(json_object_get(field, "source-ids"), i)
                                   : first_source(field);
}

static bool is_id(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= INT32_MAX;
}

/* Which of the fields of what, and where a request has it. */
struct nth {
    const char *what;
    size_t i;
    struct str at; /* of the spec or order; absent: it comes from a file */
};

static void tell_where(const struct nth *n, const char *member, struct err *err)
{
    if (n->at.p)
        err_where(err, "%.*s/fields/%zu%s%s", STR_ARG(n->at), n->i, member ? "/" : "",
            member ? member : "");
}

#define refuse(n, member, err, kind, ...)                                                          \
    ERR_FALSE(((void)err_set((err), (kind), __VA_ARGS__), tell_where((n), (member), (err))))

static bool check_sources(const json_t *f, const struct nth *n, struct err *err)
{
    const json_t *many = json_object_get(f, "source-ids");
    if (!tree_absent(many) && !json_is_array(many))
        return refuse(n, "source-ids", err, ERR_BAD_REQUEST,
            "Invalid %s: source-ids of field %zu must be a list", n->what, n->i);
    if (!first_source(f))
        return refuse(n, "source-id", err, ERR_BAD_REQUEST,
            "Invalid %s: field %zu has no source-id", n->what, n->i);
    bool ids = is_id(first_source(f));
    for (size_t k = 0; k < n_sources(f); k++)
        ids = ids && is_id(source_at(f, k));
    if (!ids)
        return refuse(n, many ? "source-ids" : "source-id", err, ERR_BAD_REQUEST,
            "Invalid %s: the source of field %zu must be the id of a column, an integer", n->what,
            n->i);
    return true;
}

static bool check_form(const json_t *f, const struct nth *n, struct transform *t, struct err *err)
{
    const json_t *transform = json_object_get(f, "transform");
    if (!json_is_object(f))
        return refuse(
            n, NULL, err, ERR_BAD_REQUEST, "Invalid %s: field %zu is not an object", n->what, n->i);
    /* Files may hold what no request brings any more. */
    if (!json_is_string(transform) || (n->at.p && json_string_length(transform) == 0))
        return refuse(n, "transform", err, ERR_BAD_REQUEST,
            "Invalid %s: field %zu has no transform", n->what, n->i);
    TRY(check_sources(f, n, err));
    if (!transform_parse(json_text(transform), t))
        return refuse(n, "transform", err, ERR_INVALID_ARGUMENT,
            "Invalid %s: the width of %s must be an integer above 0", n->what,
            json_string_value(transform));
    return true;
}

static bool fields_of(
    const json_t *tree, const struct nth *n, const json_t **fields, struct err *err)
{
    *fields = json_object_get(tree, "fields");
    if (json_is_array(*fields))
        return true;
    err_set(err, ERR_BAD_REQUEST, "Invalid %s: it has no list of fields", n->what);
    return n->at.p && err_where(err, "%.*s/fields", STR_ARG(n->at));
}

/* The name of a partition field may be that of a column only if the column is its source, or if the
 * source is gone: then a column of that name may have come back (Java's library from 1.11 on). */
static bool check_column(const struct schema *s, const json_t *f, struct err *err)
{
    const json_t *name = json_object_get(f, "name");
    int64_t source = json_integer_value(first_source(f));
    const struct schema_field *column =
        json_is_string(name) ? schema_field_by_name(s, json_text(name)) : NULL;
    if (!column || column->id == source || !schema_field_by_id(s, source))
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Cannot create identity partition sourced from different field in schema: %s",
        json_string_value(name));
}

static bool check_name(
    const struct schema *s, const json_t *f, const struct nth *n, struct err *err)
{
    const json_t *name = json_object_get(f, "name"), *id = json_object_get(f, "field-id");
    if (!json_is_string(name))
        return refuse(
            n, "name", err, ERR_BAD_REQUEST, "Invalid partition spec: field %zu has no name", n->i);
    TRY(check_column(s, f, err));
    if (json_string_length(name) == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot use empty partition name: ");
    if (!tree_absent(id) && !is_id(id))
        return refuse(n, "field-id", err, ERR_BAD_REQUEST,
            "Invalid partition spec: the field-id of %s must be an integer from 0 to %d",
            json_string_value(name), INT32_MAX);
    return true;
}

static int cmp_name(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static int cmp_id(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static bool check_unique(struct arena *a, const json_t *fields, struct err *err)
{
    size_t n = json_array_size(fields), n_ids = 0, i;
    struct str *names = ARENA_ARRAY(a, struct str, n + 1);
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        names[i] = json_text_at(f, "name");
        if (!tree_absent(json_object_get(f, "field-id")))
            ids[n_ids++] = json_integer_value(json_object_get(f, "field-id"));
    }
    qsort(names, n, sizeof *names, cmp_name);
    qsort(ids, n_ids, sizeof *ids, cmp_id);
    for (i = 1; i < n; i++)
        if (str_eq(names[i - 1], names[i]))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot use partition name more than once: %.*s", STR_ARG(names[i]));
    for (i = 1; i < n_ids; i++)
        if (ids[i - 1] == ids[i])
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot use partition field id more than once: %lld", (long long)ids[i]);
    return true;
}

static struct str partition_text(struct arena *a, const json_t *f, size_t i)
{
    const json_t *id = json_object_get(f, "field-id");
    return arena_printf(a, "%lld: %s: %s(%lld)",
        (long long)(json_is_integer(id) ? json_integer_value(id) : FIRST_FIELD_ID + (json_int_t)i),
        json_string_value(json_object_get(f, "name")),
        json_string_value(json_object_get(f, "transform")),
        (long long)json_integer_value(first_source(f)));
}

static bool is_primitive(const struct schema_field *source, struct type *out)
{
    return json_is_string(source->type) && type_parse(json_text(source->type), out) &&
           out->kind != TYPE_VARIANT;
}

static bool refuse_type(
    struct arena *a, const struct schema_field *source, const json_t *f, struct err *err)
{
    struct str found = type_json_text(a, source->type);
    return err_set(err, ERR_VALIDATION, "Invalid source type %.*s for transform: %s",
        STR_ARG(found), json_string_value(json_object_get(f, "transform")));
}

static bool check_partition_source(struct arena *a, const struct schema_field *source,
    const json_t *f, size_t i, const struct transform *t, struct err *err)
{
    struct type type;
    if (!source) {
        struct str text = partition_text(a, f, i);
        return err_set(err, ERR_VALIDATION, "Cannot find source column for partition field: %.*s",
            STR_ARG(text));
    }
    if (!is_primitive(source, &type)) {
        struct str found = type_json_text(a, source->type);
        return err_set(err, ERR_VALIDATION, "Cannot partition by non-primitive source field: %.*s",
            STR_ARG(found));
    }
    if (!transform_takes(t, type.kind))
        return refuse_type(a, source, f, err);
    if (!source->in_struct_only)
        return err_set(err, ERR_VALIDATION, "Invalid partition field parent: %.*s",
            STR_ARG(source->parent_type));
    return true;
}

static bool check_partition_sources(
    struct arena *a, const struct schema *s, const json_t *f, const struct nth *n, struct err *err)
{
    struct transform t;
    TRY(check_form(f, n, &t, err));
    if (t.kind == TRANSFORM_VOID)
        return true; /* what is left of a field that was dropped, perhaps with its column */
    for (size_t k = 0; k < n_sources(f); k++) {
        int64_t id = json_integer_value(source_at(f, k));
        TRY(check_partition_source(a, schema_field_by_id(s, id), f, n->i, &t, err));
    }
    return true;
}

bool spec_check(
    struct arena *a, const struct schema *s, const json_t *spec, struct str at, struct err *err)
{
    struct nth n = {"partition spec", 0, at};
    const json_t *fields;
    struct transform t;
    json_t *f;
    TRY(fields_of(spec, &n, &fields, err));
    json_array_foreach(fields, n.i, f)
    {
        TRY(check_form(f, &n, &t, err));
        TRY(check_name(s, f, &n, err));
    }
    TRY(check_unique(a, fields, err));
    json_array_foreach(fields, n.i, f) TRY(check_partition_sources(a, s, f, &n, err));
    return true;
}

bool spec_check_columns(const struct schema *s, const json_t *spec, struct err *err)
{
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(spec, "fields"), i, f) TRY(check_column(s, f, err));
    return true;
}

bool spec_check_version(const json_t *spec, int64_t format_version, struct str at, struct err *err)
{
    struct nth n = {"partition spec", 0, at};
    json_t *f;
    json_array_foreach(json_object_get(spec, "fields"), n.i, f)
    {
        if (has_many_sources(f) && format_version < MANY_SOURCES_VERSION)
            return refuse(&n, "source-ids", err, ERR_VALIDATION,
                "Invalid partition field %s: transforms of several columns need format version %d, "
                "the table has %lld",
                json_string_value(json_object_get(f, "name")), MANY_SOURCES_VERSION,
                (long long)format_version);
    }
    return true;
}

bool order_check_version(
    const json_t *order, int64_t format_version, struct str at, struct err *err)
{
    struct nth n = {"sort order", 0, at};
    json_t *f;
    json_array_foreach(json_object_get(order, "fields"), n.i, f)
    {
        if (has_many_sources(f) && format_version < MANY_SOURCES_VERSION)
            return refuse(&n, "source-ids", err, ERR_VALIDATION,
                "Invalid sort field %zu: transforms of several columns need format version %d, the "
                "table has %lld",
                n.i, MANY_SOURCES_VERSION, (long long)format_version);
    }
    return true;
}

static bool is_descending(const json_t *f)
{
    return str_eq_nocase(json_text_at(f, "direction"), STR("desc"));
}

/* Old files lack the null order: it then follows the direction. */
static bool nulls_last(const json_t *f)
{
    const json_t *order = json_object_get(f, "null-order");
    return json_is_string(order) ? str_eq_nocase(json_text(order), STR("nulls-last"))
                                 : is_descending(f);
}

static bool check_direction(const json_t *f, const struct nth *n, struct err *err)
{
    const json_t *direction = json_object_get(f, "direction");
    const json_t *nulls = json_object_get(f, "null-order");
    if (!tree_absent(direction) && !str_eq_nocase(json_text(direction), STR("asc")) &&
        !str_eq_nocase(json_text(direction), STR("desc")))
        return refuse(n, "direction", err, ERR_BAD_REQUEST,
            "Invalid sort order: the direction of field %zu must be asc or desc", n->i);
    if (!tree_absent(nulls) && !str_eq_nocase(json_text(nulls), STR("nulls-first")) &&
        !str_eq_nocase(json_text(nulls), STR("nulls-last")))
        return refuse(n, "null-order", err, ERR_BAD_REQUEST,
            "Invalid sort order: the null-order of field %zu must be nulls-first or nulls-last",
            n->i);
    return true;
}

static bool check_sort_source(struct arena *a, const struct schema_field *source, const json_t *f,
    const struct transform *t, struct err *err)
{
    struct type type;
    if (!source)
        return err_set(err, ERR_VALIDATION,
            "Cannot find source column for sort field: %s(%lld) %s %s",
            json_string_value(json_object_get(f, "transform")),
            (long long)json_integer_value(first_source(f)), is_descending(f) ? "DESC" : "ASC",
            nulls_last(f) ? "NULLS LAST" : "NULLS FIRST");
    if (!is_primitive(source, &type)) {
        struct str found = type_json_text(a, source->type);
        return err_set(
            err, ERR_VALIDATION, "Cannot sort by non-primitive source field: %.*s", STR_ARG(found));
    }
    return transform_takes(t, type.kind) || refuse_type(a, source, f, err);
}

static bool check_sort_field(
    struct arena *a, const struct schema *s, const json_t *f, const struct nth *n, struct err *err)
{
    struct transform t;
    TRY(check_form(f, n, &t, err));
    TRY(check_direction(f, n, err));
    for (size_t k = 0; k < n_sources(f); k++) {
        int64_t id = json_integer_value(source_at(f, k));
        TRY(check_sort_source(a, schema_field_by_id(s, id), f, &t, err));
    }
    return true;
}

bool order_check(
    struct arena *a, const struct schema *s, const json_t *order, struct str at, struct err *err)
{
    struct nth n = {"sort order", 0, at};
    const json_t *fields, *id = json_object_get(order, "order-id");
    json_t *f;
    TRY(fields_of(order, &n, &fields, err));
    if (!tree_absent(id) && !json_is_integer(id))
        return err_set(err, ERR_BAD_REQUEST, "Invalid sort order: its order-id must be an integer");
    if (json_is_integer(id) && json_integer_value(id) == 0 && json_array_size(fields) > 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Sort order ID 0 is reserved for unsorted order");
    if (json_is_integer(id) && json_integer_value(id) != 0 && json_array_size(fields) == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Unsorted order ID must be 0");
    json_array_foreach(fields, n.i, f) TRY(check_sort_field(a, s, f, &n, err));
    return true;
}

static bool same_transform(const json_t *a, const json_t *b)
{
    return transform_equal(json_text_at(a, "transform"), json_text_at(b, "transform"));
}

static bool same_source(const json_t *a, const json_t *b)
{
    if (n_sources(a) != n_sources(b))
        return false;
    for (size_t i = 0; i < n_sources(a); i++)
        if (!json_equal(source_at(a, i), source_at(b, i)))
            return false;
    return true;
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

static json_t *stored_transform(struct arena *a, const json_t *f)
{
    struct str text = transform_text(a, json_text_at(f, "transform"));
    return json_stringn(text.p, text.n);
}

static void copy_source(json_t *to, const json_t *f)
{
    const json_t *one = json_object_get(f, "source-id");
    if (!has_many_sources(f)) {
        json_object_set_new(to, "source-id", json_deep_copy(first_source(f)));
        return;
    }
    if (!tree_absent(one))
        json_object_set_new(to, "source-id", json_deep_copy(one));
    json_object_set_new(to, "source-ids", json_deep_copy(json_object_get(f, "source-ids")));
}

bool spec_canonical(
    const json_t *spec, int64_t spec_id, int64_t first_field_id, json_t **out, struct err *err)
{
    const json_t *fields = json_object_get(spec, "fields");
    size_t n = json_array_size(fields), missing = 0, i;
    json_t *f;
    json_array_foreach(fields, i, f) missing += tree_absent(json_object_get(f, "field-id"));
    if (missing > 0 && missing < n)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot parse spec with missing field IDs: %zu missing of %zu fields.", missing, n);
    AUTO(arena_free) struct arena *a = arena_new();
    json_t *list = json_array();
    json_array_foreach(fields, i, f)
    {
        json_t *o = json_object();
        json_object_set(o, "name", json_object_get(f, "name"));
        json_object_set_new(o, "transform", stored_transform(a, f));
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
    AUTO(arena_free) struct arena *a = arena_new();
    json_t *list = json_array();
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(order, "fields"), i, f)
    {
        json_t *o = json_object();
        json_object_set_new(o, "transform", stored_transform(a, f));
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
