/* Schemas: reading, validation, equality, fresh field ids. Partition specs and orders are in
 * spec.c. */
#include "schema.h"

#include <stdlib.h>

#include "arena.h"
#include "type.h"

enum { FIELDS_MAX = 100000, NESTING_MAX = 60 };

struct entry {
    struct schema_field field;
    const json_t *tree;    /* the field's object; NULL for elements, keys and values */
    bool parents_required; /* every ancestor is a required struct field */
};

struct schema {
    const json_t *tree;
    struct arena *arena;
    struct entry *entries; /* in the order of a walk: parents before children */
    size_t n, cap;
    struct entry **by_id, **by_name; /* sorted */
};

/* What a walk knows about the way down to a type. */
struct above {
    struct str prefix; /* "a.b." */
    bool structs_only, required;
    struct str parent_type;
    unsigned depth;
};

static struct str text_of(const json_t *v)
{
    return (struct str){json_string_value(v), json_string_length(v)};
}

static bool walk_type(struct schema *s, const json_t *type, const struct above *above,
    struct str where, struct err *err);

static struct entry *entry_add(struct schema *s)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        struct entry *grown = ARENA_ARRAY(s->arena, struct entry, cap);
        if (s->n)
            memcpy(grown, s->entries, s->n * sizeof *grown);
        s->entries = grown;
        s->cap = cap;
    }
    return &s->entries[s->n++];
}

/* One field, element, key or value: its id, name and type, then what lies below it. */
static bool walk_part(struct schema *s, const json_t *tree, const json_t *id, struct str name,
    bool required, const json_t *type, const struct above *above, struct err *err)
{
    struct str full = arena_printf(s->arena, "%.*s%.*s", STR_ARG(above->prefix), STR_ARG(name));
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid schema: field %.*s needs an id, an integer from 0 to 2147483647",
            STR_ARG(full));
    if (s->n >= FIELDS_MAX)
        return err_set(err, ERR_BAD_REQUEST, "Invalid schema: more than %d fields", FIELDS_MAX);
    struct entry *e = entry_add(s);
    *e = (struct entry){
        .field = {json_integer_value(id), full, type, required, above->structs_only,
                  above->parent_type},
        .tree = tree,
        .parents_required = above->required,
    };
    struct above below = *above;
    below.prefix = arena_printf(s->arena, "%.*s.", STR_ARG(full));
    below.required = above->required && required;
    below.depth++;
    return walk_type(s, type, &below, full, err);
}

static bool walk_field(
    struct schema *s, const json_t *f, const struct above *above, struct err *err)
{
    const json_t *name = json_object_get(f, "name");
    const json_t *required = json_object_get(f, "required");
    const json_t *type = json_object_get(f, "type");
    if (!json_is_string(name))
        return err_set(err, ERR_BAD_REQUEST, "Invalid schema: a field in '%.*s' has no name",
            STR_ARG(above->prefix));
    if (required && !json_is_boolean(required))
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid schema: 'required' of field %.*s%s must be true or false",
            STR_ARG(above->prefix), json_string_value(name));
    if (!type)
        return err_set(err, ERR_BAD_REQUEST, "Invalid schema: field %.*s%s has no type",
            STR_ARG(above->prefix), json_string_value(name));
    return walk_part(
        s, f, json_object_get(f, "id"), text_of(name), json_is_true(required), type, above, err);
}

static bool walk_struct(struct schema *s, const json_t *type, const struct above *above,
    struct str where, struct err *err)
{
    const json_t *fields = json_object_get(type, "fields");
    if (!json_is_array(fields))
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid schema: the struct '%.*s' has no list of fields", STR_ARG(where));
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        if (!json_is_object(f))
            return err_set(err, ERR_BAD_REQUEST,
                "Invalid schema: field %zu of '%.*s' is not an object", i, STR_ARG(where));
        TRY(walk_field(s, f, above, err));
    }
    return true;
}

static bool walk_list(
    struct schema *s, const json_t *type, const struct above *above, struct err *err)
{
    return walk_part(s, NULL, json_object_get(type, "element-id"), STR("element"),
        json_is_true(json_object_get(type, "element-required")), json_object_get(type, "element"),
        above, err);
}

static bool walk_map(
    struct schema *s, const json_t *type, const struct above *above, struct err *err)
{
    TRY(walk_part(s, NULL, json_object_get(type, "key-id"), STR("key"), true,
        json_object_get(type, "key"), above, err));
    return walk_part(s, NULL, json_object_get(type, "value-id"), STR("value"),
        json_is_true(json_object_get(type, "value-required")), json_object_get(type, "value"),
        above, err);
}

static bool walk_type(struct schema *s, const json_t *type, const struct above *above,
    struct str where, struct err *err)
{
    struct type primitive;
    if (json_is_string(type)) {
        if (type_parse(text_of(type), &primitive))
            return true;
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot parse type string to primitive: %s (field %.*s)", json_string_value(type),
            STR_ARG(where));
    }
    struct str kind = text_of(json_object_get(type, "type"));
    if (above->depth > NESTING_MAX)
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid schema: %.*s is nested more than %d levels deep", STR_ARG(where), NESTING_MAX);
    if (str_eq_nocase(kind, STR("struct")))
        return walk_struct(s, type, above, where, err);
    struct above below = *above;
    if (below.structs_only)
        below.parent_type = type_json_text(s->arena, type);
    below.structs_only = false;
    below.required = false;
    if (str_eq_nocase(kind, STR("list")))
        return walk_list(s, type, &below, err);
    if (str_eq_nocase(kind, STR("map")))
        return walk_map(s, type, &below, err);
    return err_set(err, ERR_BAD_REQUEST,
        "Invalid schema: the type of '%.*s' is neither a type name nor a struct, list or map",
        STR_ARG(where));
}

static int cmp_id(const void *x, const void *y)
{
    const struct entry *a = *(struct entry *const *)x, *b = *(struct entry *const *)y;
    return (a->field.id > b->field.id) - (a->field.id < b->field.id);
}

static int cmp_name(const void *x, const void *y)
{
    const struct entry *a = *(struct entry *const *)x, *b = *(struct entry *const *)y;
    return str_cmp(a->field.name, b->field.name);
}

static bool index_fields(struct schema *s, struct err *err)
{
    s->by_id = ARENA_ARRAY(s->arena, struct entry *, s->n + 1);
    s->by_name = ARENA_ARRAY(s->arena, struct entry *, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        s->by_id[i] = s->by_name[i] = &s->entries[i];
    if (s->n == 0)
        return true;
    qsort(s->by_id, s->n, sizeof *s->by_id, cmp_id);
    qsort(s->by_name, s->n, sizeof *s->by_name, cmp_name);
    for (size_t i = 1; i < s->n; i++) {
        if (s->by_id[i]->field.id == s->by_id[i - 1]->field.id)
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Invalid schema: multiple fields have the id %lld: %.*s and %.*s",
                (long long)s->by_id[i]->field.id, STR_ARG(s->by_id[i - 1]->field.name),
                STR_ARG(s->by_id[i]->field.name));
        if (str_eq(s->by_name[i]->field.name, s->by_name[i - 1]->field.name))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Invalid schema: multiple fields for name %.*s: %lld and %lld",
                STR_ARG(s->by_name[i]->field.name), (long long)s->by_name[i - 1]->field.id,
                (long long)s->by_name[i]->field.id);
    }
    return true;
}

static const struct entry *entry_by_id(const struct schema *s, int64_t id)
{
    struct entry key = {.field.id = id}, *p = &key;
    struct entry **e = s->n ? bsearch(&p, s->by_id, s->n, sizeof *s->by_id, cmp_id) : NULL;
    return e ? *e : NULL;
}

const struct schema_field *schema_field_by_id(const struct schema *s, int64_t id)
{
    const struct entry *e = entry_by_id(s, id);
    return e ? &e->field : NULL;
}

const struct schema_field *schema_field_by_name(const struct schema *s, struct str full_name)
{
    struct entry key = {.field.name = full_name}, *p = &key;
    struct entry **e = s->n ? bsearch(&p, s->by_name, s->n, sizeof *s->by_name, cmp_name) : NULL;
    return e ? &(*e)->field : NULL;
}

static bool check_identifiers(const struct schema *s, struct err *err)
{
    const json_t *ids = json_object_get(s->tree, "identifier-field-ids");
    if (ids && !json_is_null(ids) && !json_is_array(ids))
        return err_set(err, ERR_BAD_REQUEST, "Invalid schema: identifier-field-ids must be a list");
    size_t i;
    json_t *id;
    json_array_foreach(ids, i, id)
    {
        const struct entry *e = json_is_integer(id) ? entry_by_id(s, json_integer_value(id)) : NULL;
        struct type t;
        if (!e)
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot add fieldId %lld as an identifier field: field does not exist",
                (long long)json_integer_value(id));
        const char *why = NULL;
        if (!json_is_string(e->field.type) || !type_parse(text_of(e->field.type), &t))
            why = "not a primitive type field";
        else if (!e->field.required)
            why = "not a required field";
        else if (t.kind == TYPE_FLOAT || t.kind == TYPE_DOUBLE)
            why = "must not be float or double field";
        else if (!e->field.in_struct_only || !e->parents_required)
            why = "all its parents must be required structs";
        if (why)
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Cannot add field %.*s as an identifier field: %s", STR_ARG(e->field.name), why);
    }
    return true;
}

static bool check_default(const struct entry *e, const char *member, struct err *err)
{
    const json_t *v = json_object_get(e->tree, member);
    struct type t;
    if (!v || json_is_null(v))
        return true;
    bool fits = json_is_string(e->field.type)
                    ? type_parse(text_of(e->field.type), &t) && type_accepts_default(&t, v)
                    : json_is_object(v);
    if (fits)
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Invalid schema: the %s of %.*s is no value of its type", member, STR_ARG(e->field.name));
}

static bool check_field(const struct entry *e, struct err *err)
{
    const json_t *doc = json_object_get(e->tree, "doc");
    struct type t;
    if (!e->tree)
        return true;
    if (doc && !json_is_null(doc) && !json_is_string(doc))
        return err_set(err, ERR_BAD_REQUEST, "Invalid schema: the doc of %.*s must be a string",
            STR_ARG(e->field.name));
    if (e->field.required && json_is_string(e->field.type) &&
        type_parse(text_of(e->field.type), &t) && t.kind == TYPE_UNKNOWN)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid schema: %.*s is of type unknown and must be optional", STR_ARG(e->field.name));
    TRY(check_default(e, "initial-default", err));
    return check_default(e, "write-default", err);
}

bool schema_read(struct arena *a, const json_t *tree, struct schema **out, struct err *err)
{
    struct schema *s = ARENA_NEW(a, struct schema);
    const json_t *type = json_object_get(tree, "type");
    s->tree = tree;
    s->arena = a;
    if (!json_is_object(tree) || (type && !str_eq_nocase(text_of(type), STR("struct"))))
        return err_set(err, ERR_BAD_REQUEST, "Invalid schema: it must be an object of type struct");
    struct above top = {.prefix = STR(""), .structs_only = true, .required = true};
    TRY(walk_struct(s, tree, &top, STR("schema"), err));
    TRY(index_fields(s, err));
    TRY(check_identifiers(s, err));
    for (size_t i = 0; i < s->n; i++)
        TRY(check_field(&s->entries[i], err));
    *out = s;
    return true;
}

int64_t schema_highest_id(const struct schema *s)
{
    return s->n ? s->by_id[s->n - 1]->field.id : 0;
}

bool schema_check_version(
    struct arena *a, const struct schema *s, int64_t format_version, struct err *err)
{
    struct str problems = STR("");
    for (size_t i = 0; i < s->n; i++) {
        const struct entry *e = &s->entries[i];
        struct type t;
        if (json_is_string(e->field.type) && type_parse(text_of(e->field.type), &t) &&
            type_since(t.kind) > format_version) {
            struct str type = type_text(a, &t);
            problems =
                arena_printf(a, "%.*s\n- Invalid type for %.*s: %.*s is not supported until v%lld",
                    STR_ARG(problems), STR_ARG(e->field.name), STR_ARG(type),
                    (long long)type_since(t.kind));
        }
        const json_t *value = json_object_get(e->tree, "initial-default");
        if (value && !json_is_null(value) && format_version < 3) {
            char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
            problems = arena_printf(a,
                "%.*s\n- Invalid initial default for %.*s: non-null default (%s) is not supported "
                "until v3",
                STR_ARG(problems), STR_ARG(e->field.name), text);
            xfree(text);
        }
    }
    if (problems.n == 0)
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT, "Invalid schema for v%lld:%.*s",
        (long long)format_version, STR_ARG(problems));
}

/* --- equality
 * ------------------------------------------------------------------------------------- */

static bool is_absent(const json_t *v)
{
    return !v || json_is_null(v);
}

static bool same_value(const json_t *a, const json_t *b)
{
    if (is_absent(a) || is_absent(b))
        return is_absent(a) && is_absent(b);
    return json_equal(a, b);
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
            if (!same_value(json_object_get(x, plain[k]), json_object_get(y, plain[k])))
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
    return x.kind == y.kind && x.a == y.a && x.b == y.b && str_eq(x.extra, y.extra);
}

static bool same_type(const json_t *a, const json_t *b)
{
    if (json_is_string(a) || json_is_string(b))
        return json_is_string(a) && json_is_string(b) && same_primitive(text_of(a), text_of(b));
    struct str kind = text_of(json_object_get(a, "type"));
    if (!str_eq_nocase(kind, text_of(json_object_get(b, "type"))))
        return false;
    if (str_eq_nocase(kind, STR("struct")))
        return same_fields(json_object_get(a, "fields"), json_object_get(b, "fields"));
    if (str_eq_nocase(kind, STR("list")))
        return same_value(json_object_get(a, "element-id"), json_object_get(b, "element-id")) &&
               same_flag(a, b, "element-required") && same_member_type(a, b, "element");
    return same_value(json_object_get(a, "key-id"), json_object_get(b, "key-id")) &&
           same_value(json_object_get(a, "value-id"), json_object_get(b, "value-id")) &&
           same_flag(a, b, "value-required") && same_member_type(a, b, "key") &&
           same_member_type(a, b, "value");
}

static bool contains_all(const json_t *list, const json_t *of)
{
    for (size_t i = 0; i < json_array_size(of); i++) {
        bool found = false;
        for (size_t k = 0; k < json_array_size(list) && !found; k++)
            found = json_equal(json_array_get(list, k), json_array_get(of, i));
        if (!found)
            return false;
    }
    return true;
}

bool schema_equal(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "identifier-field-ids");
    const json_t *y = json_object_get(b, "identifier-field-ids");
    return same_fields(json_object_get(a, "fields"), json_object_get(b, "fields")) &&
           contains_all(x, y) && contains_all(y, x);
}

/* --- the stored form, with the given ids or fresh ones
 * -------------------------------------------- */

/* How ids are written: as they are, or counted up from the last (fresh). */
struct ids {
    bool fresh;
    int64_t last;
    json_t *map; /* old id as text → new id; fresh only */
};

static json_t *id_json(struct ids *ids, const json_t *old)
{
    if (!ids->fresh)
        return json_deep_copy(old);
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)json_integer_value(old));
    json_object_set_new(ids->map, key, json_integer(++ids->last));
    return json_integer(ids->last);
}

static json_t *stored_type(struct ids *ids, const json_t *type);

static json_t *stored_primitive(const json_t *type)
{
    struct type t;
    if (!type_parse(text_of(type), &t))
        return json_deep_copy(type);
    struct arena *a = arena_new();
    struct str text = type_text(a, &t);
    json_t *out = json_stringn(text.p, text.n);
    arena_free(&a);
    return out;
}

/* Members nobody here knows stay, nulls go: typed readers fail on them. */
static void copy_rest(json_t *to, const json_t *from)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        if (!json_is_null(value) && !json_object_get(to, key))
            json_object_set_new(to, key, json_deep_copy(value));
    }
}

/* All ids of a struct's own fields come before those of what the fields contain. */
static json_t *stored_fields(struct ids *ids, const json_t *fields)
{
    json_t *out = json_array();
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        json_t *o = json_object();
        json_object_set_new(o, "id", id_json(ids, json_object_get(f, "id")));
        json_object_set(o, "name", json_object_get(f, "name"));
        json_object_set_new(
            o, "required", json_boolean(json_is_true(json_object_get(f, "required"))));
        json_array_append_new(out, o);
    }
    json_array_foreach(fields, i, f)
    {
        json_t *o = json_array_get(out, i);
        json_object_set_new(o, "type", stored_type(ids, json_object_get(f, "type")));
        copy_rest(o, f);
    }
    return out;
}

static json_t *stored_list(struct ids *ids, const json_t *type)
{
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("list"));
    json_object_set_new(o, "element-id", id_json(ids, json_object_get(type, "element-id")));
    json_object_set_new(o, "element", stored_type(ids, json_object_get(type, "element")));
    json_object_set_new(o, "element-required",
        json_boolean(json_is_true(json_object_get(type, "element-required"))));
    return o;
}

static json_t *stored_map(struct ids *ids, const json_t *type)
{
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("map"));
    json_object_set_new(o, "key-id", id_json(ids, json_object_get(type, "key-id")));
    json_object_set_new(o, "value-id", id_json(ids, json_object_get(type, "value-id")));
    json_object_set_new(o, "key", stored_type(ids, json_object_get(type, "key")));
    json_object_set_new(o, "value", stored_type(ids, json_object_get(type, "value")));
    json_object_set_new(
        o, "value-required", json_boolean(json_is_true(json_object_get(type, "value-required"))));
    return o;
}

static json_t *stored_type(struct ids *ids, const json_t *type)
{
    if (json_is_string(type))
        return stored_primitive(type);
    struct str kind = text_of(json_object_get(type, "type"));
    if (str_eq_nocase(kind, STR("list")))
        return stored_list(ids, type);
    if (str_eq_nocase(kind, STR("map")))
        return stored_map(ids, type);
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("struct"));
    json_object_set_new(o, "fields", stored_fields(ids, json_object_get(type, "fields")));
    copy_rest(o, type);
    return o;
}

static json_t *stored_identifiers(const struct ids *ids, const json_t *from)
{
    json_t *out = json_array();
    size_t i;
    json_t *id;
    json_array_foreach(from, i, id)
    {
        char key[32];
        snprintf(key, sizeof key, "%lld", (long long)json_integer_value(id));
        json_array_append(out, ids->fresh ? json_object_get(ids->map, key) : id);
    }
    return out;
}

static json_t *stored_schema(struct ids *ids, const json_t *tree, int64_t schema_id)
{
    const json_t *identifiers = json_object_get(tree, "identifier-field-ids");
    json_t *o = json_object();
    json_object_set_new(o, "type", json_string("struct"));
    json_object_set_new(o, "schema-id", json_integer(schema_id));
    json_t *fields = stored_fields(ids, json_object_get(tree, "fields"));
    if (json_array_size(identifiers) > 0)
        json_object_set_new(o, "identifier-field-ids", stored_identifiers(ids, identifiers));
    json_object_set_new(o, "fields", fields);
    return o;
}

json_t *schema_canonical(const json_t *tree, int64_t schema_id)
{
    struct ids ids = {.fresh = false};
    return stored_schema(&ids, tree, schema_id);
}

bool schema_fresh(
    struct arena *a, const struct schema *s, json_t **out, int64_t *last_id, struct err *err)
{
    (void)a;
    (void)err;
    struct ids ids = {.fresh = true, .map = json_object()};
    *out = stored_schema(&ids, s->tree, 0);
    *last_id = ids.last;
    json_decref(ids.map);
    return true;
}
