/* Schemas: equality, the stored form, fresh field ids. Trees were read by schema_read, or come from
 * metadata files, where anything may be. */
#include "schema_priv.h"

#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "type.h"

static bool same_value(const json_t *a, const json_t *b)
{
    if (tree_absent(a) || tree_absent(b))
        return tree_absent(a) && tree_absent(b);
    /* A writer may spell the default 1 of a double as 1.0. */
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static bool same_member(const json_t *a, const json_t *b, const char *name)
{
    return same_value(json_object_get(a, name), json_object_get(b, name));
}

static bool same_flag(const json_t *a, const json_t *b, const char *name)
{
    return json_is_true(json_object_get(a, name)) == json_is_true(json_object_get(b, name));
}

static bool same_type(const json_t *a, const json_t *b);

static bool same_member_type(const json_t *a, const json_t *b, const char *name)
{
    return same_type(json_object_get(a, name), json_object_get(b, name));
}

static bool same_fields(const json_t *a, const json_t *b)
{
    static const char *const plain[] = {"id", "name", "doc", "initial-default", "write-default"};
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *x = json_array_get(a, i), *y = json_array_get(b, i);
        for (size_t k = 0; k < ARRAY_LEN(plain); k++)
            if (!same_member(x, y, plain[k]))
                return false;
        if (!same_flag(x, y, "required") || !same_member_type(x, y, "type"))
            return false;
    }
    return true;
}

static bool same_primitive(struct str a, struct str b)
{
    struct type x, y;
    if (!type_parse(a, &x) || !type_parse(b, &y))
        return str_eq(a, b);
    return type_equal(&x, &y);
}

static bool same_type(const json_t *a, const json_t *b)
{
    if (json_is_string(a) || json_is_string(b))
        return json_is_string(a) && json_is_string(b) && same_primitive(json_text(a), json_text(b));
    struct str kind = json_text_at(a, "type");
    if (!str_eq_nocase(kind, json_text_at(b, "type")))
        return false;
    if (str_eq_nocase(kind, STR("struct")))
        return same_fields(json_object_get(a, "fields"), json_object_get(b, "fields"));
    if (str_eq_nocase(kind, STR("list")))
        return same_member(a, b, "element-id") && same_flag(a, b, "element-required") &&
               same_member_type(a, b, "element");
    return str_eq_nocase(kind, STR("map")) && same_member(a, b, "key-id") &&
           same_member(a, b, "value-id") && same_flag(a, b, "value-required") &&
           same_member_type(a, b, "key") && same_member_type(a, b, "value");
}

static int cmp_id(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* The ids of a list, sorted, each once. */
static int64_t *id_set(struct arena *a, const json_t *list, size_t *n)
{
    int64_t *v = ARENA_ARRAY(a, int64_t, json_array_size(list) + 1);
    size_t i, kept = 0;
    json_t *id;
    json_array_foreach(list, i, id) v[i] = json_integer_value(id);
    qsort(v, json_array_size(list), sizeof *v, cmp_id);
    for (i = 0; i < json_array_size(list); i++)
        if (kept == 0 || v[kept - 1] != v[i])
            v[kept++] = v[i];
    *n = kept;
    return v;
}

static bool same_ids(const json_t *x, const json_t *y)
{
    if (json_array_size(x) == 0 && json_array_size(y) == 0)
        return true;
    AUTO(arena_free) struct arena *a = arena_new();
    size_t n, m;
    const int64_t *v = id_set(a, x, &n), *w = id_set(a, y, &m);
    return n == m && memcmp(v, w, n * sizeof *v) == 0;
}

bool schema_equal(const json_t *a, const json_t *b)
{
    return same_fields(json_object_get(a, "fields"), json_object_get(b, "fields")) &&
           same_ids(json_object_get(a, "identifier-field-ids"),
               json_object_get(b, "identifier-field-ids"));
}

/* How the stored form is written: with the ids as they are, or counted up from the last. */
struct form {
    struct arena *arena;
    json_t *fresh; /* old id as text -> new id; NULL: ids stay */
    int64_t last;
};

static json_t *id_json(struct form *form, const json_t *old)
{
    if (!form->fresh)
        return json_deep_copy(old);
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)json_integer_value(old));
    json_object_set_new(form->fresh, key, json_integer(++form->last));
    return json_integer(form->last);
}

static json_t *flag_json(const json_t *from, const char *name)
{
    return json_boolean(json_is_true(json_object_get(from, name)));
}

/* Members nobody here knows stay, nulls go: typed readers fail on them. */
static void copy_rest(json_t *to, const json_t *from)
{
    const char *key;
    json_t *value;
    json_object_foreach(tree_lend(from), key, value)
    {
        if (!json_is_null(value) && !json_object_get(to, key))
            json_object_set_new(to, key, json_deep_copy(value));
    }
}

static json_t *stored_type(struct form *form, const json_t *type);

static json_t *stored_primitive(struct form *form, const json_t *type)
{
    struct type t;
    if (!type_parse(json_text(type), &t))
        return json_deep_copy(type);
    struct str text = type_text(form->arena, &t);
    return json_stringn(text.p, text.n);
}

/* Typed readers take no integer where they expect a number with a fraction (Java's library: of the
 * whole table), and some writers know but one kind of number. */
static void put_default(json_t *to, const json_t *f, const char *member)
{
    const json_t *type = json_object_get(f, "type"), *v = json_object_get(f, member);
    struct type t;
    if (json_is_integer(v) && json_is_string(type) && type_parse(json_text(type), &t) &&
        (t.kind == TYPE_FLOAT || t.kind == TYPE_DOUBLE))
        json_object_set_new(to, member, json_real((double)json_integer_value(v)));
}

/* All ids of a struct's own fields come before those of what the fields contain. */
static json_t *stored_fields(struct form *form, const json_t *fields)
{
    json_t *out = json_array();
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        json_t *o = json_object();
        json_object_set_new(o, "id", id_json(form, json_object_get(f, "id")));
        json_object_set(o, "name", json_object_get(f, "name"));
        json_object_set_new(o, "required", flag_json(f, "required"));
        json_array_append_new(out, o);
    }
    json_array_foreach(fields, i, f)
    {
        json_t *o = json_array_get(out, i);
        json_object_set_new(o, "type", stored_type(form, json_object_get(f, "type")));
        put_default(o, f, "initial-default");
        put_default(o, f, "write-default");
        copy_rest(o, f);
    }
    return out;
}

static json_t *stored_struct(struct form *form, const json_t *type)
{
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("struct"));
    json_object_set_new(o, "fields", stored_fields(form, json_object_get(type, "fields")));
    return o;
}

static json_t *stored_list(struct form *form, const json_t *type)
{
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("list"));
    json_object_set_new(o, "element-id", id_json(form, json_object_get(type, "element-id")));
    json_object_set_new(o, "element", stored_type(form, json_object_get(type, "element")));
    json_object_set_new(o, "element-required", flag_json(type, "element-required"));
    return o;
}

static json_t *stored_map(struct form *form, const json_t *type)
{
    json_t *o = json_object();
    json_t *key_id = id_json(form, json_object_get(type, "key-id"));
    json_t *value_id = id_json(form, json_object_get(type, "value-id"));
    json_object_set_new(o, "type", json_string("map"));
    json_object_set_new(o, "key-id", key_id);
    json_object_set_new(o, "key", stored_type(form, json_object_get(type, "key")));
    json_object_set_new(o, "value-id", value_id);
    json_object_set_new(o, "value", stored_type(form, json_object_get(type, "value")));
    json_object_set_new(o, "value-required", flag_json(type, "value-required"));
    return o;
}

static json_t *stored_type(struct form *form, const json_t *type)
{
    if (json_is_string(type))
        return stored_primitive(form, type);
    struct str kind = json_text_at(type, "type");
    json_t *o = str_eq_nocase(kind, STR("list"))  ? stored_list(form, type)
                : str_eq_nocase(kind, STR("map")) ? stored_map(form, type)
                                                  : stored_struct(form, type);
    copy_rest(o, type);
    return o;
}

/* Each id once, in the order given. */
static json_t *stored_identifiers(const struct form *form, const json_t *from)
{
    json_t *out = json_array(), *seen = json_object();
    size_t i;
    json_t *id;
    json_array_foreach(from, i, id)
    {
        char key[32];
        snprintf(key, sizeof key, "%lld", (long long)json_integer_value(id));
        if (json_object_get(seen, key))
            continue;
        json_object_set_new(seen, key, json_true());
        json_array_append(out, form->fresh ? json_object_get(form->fresh, key) : id);
    }
    json_decref(seen);
    return out;
}

static json_t *stored_schema(struct form *form, const json_t *tree, int64_t schema_id)
{
    const json_t *identifiers = json_object_get(tree, "identifier-field-ids");
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("struct"));
    json_object_set_new(o, "schema-id", json_integer(schema_id));
    json_t *fields = stored_fields(form, json_object_get(tree, "fields"));
    if (json_array_size(identifiers) > 0)
        json_object_set_new(o, "identifier-field-ids", stored_identifiers(form, identifiers));
    json_object_set_new(o, "fields", fields);
    return o;
}

json_t *schema_canonical(const json_t *tree, int64_t schema_id)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct form form = {.arena = a};
    return stored_schema(&form, tree, schema_id);
}

bool schema_fresh(
    struct arena *a, const struct schema *s, json_t **out, int64_t *last_id, struct err *err)
{
    (void)err; /* schema_read has refused whatever could go wrong here */
    struct form form = {.arena = a, .fresh = json_object()};
    *out = stored_schema(&form, s->tree, 0);
    *last_id = form.last;
    json_decref(form.fresh);
    return true;
}
