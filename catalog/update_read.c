#include "arena.h"
#include "update_priv.h"

static const char *kind_of(const json_t *v)
{
    if (!v)
        return "nothing";
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
    default:
        return "null";
    }
}

bool at_refuse(struct at at, const char *text, struct err *err)
{
    struct str where = at.pointer.n ? at.pointer : STR("/");
    return err_set(err, ERR_BAD_REQUEST, "%s (%.*s)", text, STR_ARG(where));
}

bool at_where(struct at at, const char *member, struct err *err)
{
    return err_where(err, "%.*s/%s", STR_ARG(at.pointer), member);
}

/* The member, or NULL when it is absent or null. */
static const json_t *member(struct at at, const char *name)
{
    const json_t *v = json_object_get(at.json, name);
    return json_is_null(v) ? NULL : v;
}

static bool wrong(
    struct at at, const char *name, const char *expected, const json_t *found, struct err *err)
{
    struct str where = at.pointer.n ? at.pointer : STR("/");
    if (!found)
        return err_set(err, ERR_BAD_REQUEST, "Missing field: %s (%.*s)", name, STR_ARG(where));
    return err_set(err, ERR_BAD_REQUEST, "Expected %s, found %s (%.*s/%s)", expected,
        kind_of(found), STR_ARG(at.pointer), name);
}

bool at_has(struct at at, const char *name)
{
    return member(at, name) != NULL;
}

bool at_i64(struct at at, const char *name, int64_t *out, struct err *err)
{
    const json_t *v = member(at, name);
    if (!json_is_integer(v))
        return wrong(at, name, "an integer", v, err);
    *out = json_integer_value(v);
    return true;
}

bool at_i32(struct at at, const char *name, int64_t *out, struct err *err)
{
    int64_t v = 0;
    TRY(at_i64(at, name, &v, err));
    if (v < INT32_MIN || v > INT32_MAX)
        return err_set(err, ERR_BAD_REQUEST, "Expected an integer of 32 bits, found %lld (%.*s/%s)",
            (long long)v, STR_ARG(at.pointer), name);
    *out = v;
    return true;
}

bool at_str(struct at at, const char *name, struct str *out, struct err *err)
{
    const json_t *v = member(at, name);
    if (!json_is_string(v))
        return wrong(at, name, "a string", v, err);
    *out = json_text(v);
    return true;
}

bool at_size(struct at at, const char *name, int64_t *out, struct err *err)
{
    TRY(at_i64(at, name, out, err));
    if (*out >= 0)
        return true;
    err_set(err, ERR_BAD_REQUEST, "Expected a size, found %lld", (long long)*out);
    return at_where(at, name, err);
}

bool at_filled_str(struct at at, const char *name, struct str *out, struct err *err)
{
    TRY(at_str(at, name, out, err));
    if (out->n)
        return true;
    err_set(err, ERR_BAD_REQUEST, "Expected a text, found an empty one");
    return at_where(at, name, err);
}

bool at_i64_opt(struct at at, const char *name, int64_t *out, struct err *err)
{
    return !at_has(at, name) || at_i64(at, name, out, err);
}

bool at_str_opt(struct at at, const char *name, struct str *out, struct err *err)
{
    return !at_has(at, name) || at_str(at, name, out, err);
}

static struct at child(struct arena *a, struct at at, const char *name, const json_t *v)
{
    return (struct at){v, arena_printf(a, "%.*s/%s", STR_ARG(at.pointer), name)};
}

bool at_object(struct arena *a, struct at at, const char *name, struct at *out, struct err *err)
{
    const json_t *v = member(at, name);
    if (!json_is_object(v))
        return wrong(at, name, "an object", v, err);
    *out = child(a, at, name, v);
    return true;
}

bool at_array(struct arena *a, struct at at, const char *name, struct at *out, struct err *err)
{
    const json_t *v = member(at, name);
    if (!json_is_array(v))
        return wrong(at, name, "an array", v, err);
    *out = child(a, at, name, v);
    return true;
}

bool at_string_map(struct arena *a, struct at at, const char *name, struct at *out, struct err *err)
{
    const char *key;
    json_t *v;
    TRY(at_object(a, at, name, out, err));
    json_object_foreach(json_lend(out->json), key, v)
    {
        if (!json_is_string(v))
            return wrong(*out, key, "a string", v, err);
    }
    return true;
}

struct at at_element(struct arena *a, struct at array, size_t i)
{
    return (struct at){
        json_array_get(array.json, i), arena_printf(a, "%.*s/%zu", STR_ARG(array.pointer), i)};
}

bool at_ids(struct arena *a, struct at at, const char *name, struct id_list *out, struct err *err)
{
    struct at list = {0};
    TRY(at_array(a, at, name, &list, err));
    *out = (struct id_list){.v = ARENA_ARRAY(a, int64_t, json_array_size(list.json))};
    out->cap = json_array_size(list.json);
    size_t i;
    json_t *v;
    json_array_foreach(list.json, i, v)
    {
        if (!json_is_integer(v))
            return err_set(err, ERR_BAD_REQUEST, "Expected an integer, found %s (%.*s/%zu)",
                kind_of(v), STR_ARG(list.pointer), i);
        out->v[out->n++] = json_integer_value(v);
    }
    return true;
}

void json_copy_rest(json_t *to, const json_t *from)
{
    const char *key;
    json_t *v;
    json_object_foreach(json_lend(from), key, v)
    {
        if (!json_is_null(v) && !json_object_get(to, key))
            json_object_set(to, key, v);
    }
}
