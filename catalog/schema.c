/* Schemas: reading and validation. What is done with them is in schema_form.c, partition specs and
 * sort orders are in spec.c. */
#include "schema_priv.h"

#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "type.h"

enum {
    FIELDS_MAX = 100000,
    ID_MAX = INT32_MAX - 200, /* FORMAT keeps the highest ids for columns of its own */
    DEPTH_MAX = 62,           /* two levels more in a metadata file: its object, its list */
    NAMES_MAX = 64 << 20,     /* a long name above many fields is written for each of them */
    MESSAGE_MAX = 1000,
    PIECE_MAX = 200, /* of one thing in a list of problems */
    DEFAULTS_SINCE = 3
};

/* What the id, the type and the flag of a part are called where it is. */
struct spelling {
    const char *id, *type, *required;
};
static const struct spelling of_field = {"id", "type", "required"},
                             of_element = {"element-id", "element", "element-required"},
                             of_key = {"key-id", "key", "key"},
                             of_value = {"value-id", "value", "value-required"};

struct entry {
    struct schema_field field;
    const json_t *in; /* the object that it is part of */
    const struct spelling *spelling;
    const json_t *tree;    /* the field's object; NULL for elements, keys and values */
    bool parents_required; /* every ancestor is a required struct field */
};

/* Of a sorted list of fields. */
struct slot {
    const struct entry *entry;
};

/* What a walk knows about the way down to a type. */
struct above {
    struct str name;   /* of the field whose type it is; absent at the top */
    struct str prefix; /* the name and a dot, or empty */
    bool structs_only, required;
    struct str parent_type;
    const json_t *in; /* the object whose member the type is; NULL at the top */
    const char *member;
};

/* How messages call the struct that a walk is in. */
static struct str place(const struct above *above)
{
    return above->name.p ? above->name : STR("schema");
}

/* The way down from one container to another, "/fields/1/type"; every container is there once. */
static bool put_way(struct buf *b, const json_t *from, const json_t *to)
{
    size_t n = b->n, i;
    const char *key;
    json_t *part;
    if (from == to)
        return true;
    json_array_foreach(from, i, part)
    {
        b->n = n;
        buf_putf(b, "/%zu", i);
        if (put_way(b, part, to))
            return true;
    }
    json_object_foreach(tree_lend(from), key, part)
    {
        b->n = n;
        buf_putf(b, "/%.60s", key);
        if (put_way(b, part, to))
            return true;
    }
    b->n = n;
    return false;
}

/* Puts the pointer to a member behind the message; without a member to the container itself. */
static void tell_where(
    const struct schema *s, const json_t *container, const char *member, struct err *err)
{
    AUTO(buf_fini) struct buf way = {0};
    if (!s->at.p)
        return;
    buf_init(&way, 4096);
    if (container)
        put_way(&way, s->tree, container);
    err_where(err, "%.*s%.*s%s%s", STR_ARG(s->at), STR_ARG(buf_view(&way)), member ? "/" : "",
        member ? member : "");
}

#define refuse(s, container, member, err, kind, ...)                                               \
    ERR_FALSE((                                                                                    \
        (void)err_set((err), (kind), __VA_ARGS__), tell_where((s), (container), (member), (err))))

static bool too_deep(const json_t *v, unsigned left)
{
    size_t i;
    const char *key;
    json_t *part;
    if (!json_is_object(v) && !json_is_array(v))
        return false;
    if (left == 0)
        return true;
    json_array_foreach(v, i, part)
    {
        if (too_deep(part, left - 1))
            return true;
    }
    json_object_foreach(tree_lend(v), key, part)
    {
        if (too_deep(part, left - 1))
            return true;
    }
    return false;
}

static bool walk_type(
    struct schema *s, const json_t *type, const struct above *above, struct err *err);

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

/* "a.b." for what lies below; without the dot at the end it is the name itself. */
static struct str full_name(struct schema *s, struct str prefix, struct str name)
{
    size_t n = prefix.n + name.n;
    char *p = arena_alloc(s->arena, n + 2);
    memcpy(mempcpy(p, prefix.p, prefix.n), name.p, name.n);
    memcpy(p + n, ".", 2);
    s->name_bytes += n;
    return (struct str){p, n + 1};
}

static bool check_id(
    const struct schema *s, const json_t *in, const char *member, struct str name, struct err *err)
{
    const json_t *id = json_object_get(in, member);
    if (!json_is_integer(id) || json_integer_value(id) < 0)
        return refuse(s, in, member, err, ERR_BAD_REQUEST,
            "Invalid schema: field %.*s needs an id, an integer from 0 to %d", STR_ARG(name),
            ID_MAX);
    if (json_integer_value(id) > ID_MAX)
        return refuse(s, in, member, err, ERR_INVALID_ARGUMENT,
            "Invalid schema: field %.*s has the id %lld, which is reserved: ids go up to %d",
            STR_ARG(name), (long long)json_integer_value(id), ID_MAX);
    return true;
}

/* A member that is true or false; missing or null it is false. */
static bool check_flag(
    const struct schema *s, const json_t *of, const char *member, struct str name, struct err *err)
{
    const json_t *flag = json_object_get(of, member);
    if (tree_absent(flag) || json_is_boolean(flag))
        return true;
    return refuse(s, of, member, err, ERR_BAD_REQUEST,
        "Invalid schema: '%s' of field %.*s must be true or false", member, STR_ARG(name));
}

/* One field, element, key or value: its id, name and type, then what lies below it. */
struct part {
    const json_t *in;
    const struct spelling *spelling;
    struct str name;
    bool required;
};

static bool walk_part(
    struct schema *s, const struct part *part, const struct above *above, struct err *err)
{
    if (s->n >= FIELDS_MAX)
        return refuse(s, s->tree, NULL, err, ERR_BAD_REQUEST, "Invalid schema: more than %d fields",
            FIELDS_MAX);
    if (s->name_bytes > NAMES_MAX)
        return refuse(s, s->tree, NULL, err, ERR_BAD_REQUEST,
            "Invalid schema: the names of its fields, written in full, take more than %d MiB",
            NAMES_MAX >> 20);
    struct str prefix = full_name(s, above->prefix, part->name);
    struct str name = str_sub(prefix, 0, prefix.n - 1);
    const struct spelling *as = part->spelling;
    const json_t *type = json_object_get(part->in, as->type);
    TRY(check_id(s, part->in, as->id, name, err));
    if (tree_absent(type))
        return refuse(s, part->in, as->type, err, ERR_BAD_REQUEST,
            "Invalid schema: field %.*s has no type", STR_ARG(name));
    struct entry *e = entry_add(s);
    *e = (struct entry){
        .field = {json_integer_value(json_object_get(part->in, as->id)), name, type, part->required,
                  above->structs_only, above->parent_type},
        .in = part->in,
        .spelling = as,
        .tree = as == &of_field ? part->in : NULL,
        .parents_required = above->required,
    };
    struct above below = *above;
    below.name = name;
    below.prefix = prefix;
    below.required = above->required && part->required;
    below.in = part->in;
    below.member = as->type;
    return walk_type(s, type, &below, err);
}

/* A name that is no text is as little a name as none. */
static bool walk_field(
    struct schema *s, const json_t *fields, size_t i, const struct above *above, struct err *err)
{
    const json_t *f = json_array_get(fields, i), *name = json_object_get(f, "name");
    char index[24];
    snprintf(index, sizeof index, "%zu", i);
    if (!json_is_object(f))
        return refuse(s, fields, index, err, ERR_BAD_REQUEST,
            "Invalid schema: field %zu of '%.*s' is not an object", i, STR_ARG(place(above)));
    if (!json_is_string(name))
        return refuse(s, f, "name", err, ERR_BAD_REQUEST,
            "Invalid schema: field %zu of '%.*s' has no name", i, STR_ARG(place(above)));
    TRY(check_flag(s, f, "required", json_text(name), err));
    const struct part part = {
        f, &of_field, json_text(name), json_is_true(json_object_get(f, "required"))};
    return walk_part(s, &part, above, err);
}

static bool walk_struct(
    struct schema *s, const json_t *type, const struct above *above, struct err *err)
{
    const json_t *fields = json_object_get(type, "fields");
    if (!json_is_array(fields))
        return refuse(s, type, "fields", err, ERR_BAD_REQUEST,
            "Invalid schema: the struct '%.*s' has no list of fields", STR_ARG(place(above)));
    for (size_t i = 0; i < json_array_size(fields); i++)
        TRY(walk_field(s, fields, i, above, err));
    return true;
}

static bool walk_list(
    struct schema *s, const json_t *type, const struct above *above, struct err *err)
{
    TRY(check_flag(s, type, "element-required", above->name, err));
    const struct part element = {
        type, &of_element, STR("element"), json_is_true(json_object_get(type, "element-required"))};
    return walk_part(s, &element, above, err);
}

static bool walk_map(
    struct schema *s, const json_t *type, const struct above *above, struct err *err)
{
    TRY(check_flag(s, type, "value-required", above->name, err));
    const struct part key = {type, &of_key, STR("key"), true};
    const struct part value = {
        type, &of_value, STR("value"), json_is_true(json_object_get(type, "value-required"))};
    TRY(walk_part(s, &key, above, err));
    return walk_part(s, &value, above, err);
}

static bool walk_type(
    struct schema *s, const json_t *type, const struct above *above, struct err *err)
{
    struct type primitive;
    if (json_is_string(type)) {
        if (type_parse(json_text(type), &primitive))
            return true;
        err_set(err, ERR_INVALID_ARGUMENT, "Cannot parse type string to primitive: %s",
            json_string_value(type));
        tell_where(s, above->in, above->member, err);
        return s->at.p ? false : err_where(err, "field %.*s", STR_ARG(above->name));
    }
    struct str kind = json_text_at(type, "type");
    if (str_eq_nocase(kind, STR("struct")))
        return walk_struct(s, type, above, err);
    struct above below = *above;
    if (below.structs_only)
        below.parent_type = type_json_text(s->arena, type);
    below.structs_only = false;
    below.required = false;
    if (str_eq_nocase(kind, STR("list")))
        return walk_list(s, type, &below, err);
    if (str_eq_nocase(kind, STR("map")))
        return walk_map(s, type, &below, err);
    bool object = json_is_object(type);
    return refuse(s, object ? type : above->in, object ? "type" : above->member, err,
        ERR_BAD_REQUEST,
        "Invalid schema: the type of '%.*s' is neither a type name nor a struct, list or map",
        STR_ARG(above->name));
}

static int cmp_id(const void *x, const void *y)
{
    const struct entry *a = ((const struct slot *)x)->entry, *b = ((const struct slot *)y)->entry;
    return (a->field.id > b->field.id) - (a->field.id < b->field.id);
}

static int cmp_name(const void *x, const void *y)
{
    return str_cmp(
        ((const struct slot *)x)->entry->field.name, ((const struct slot *)y)->entry->field.name);
}

static struct slot *sorted(const struct schema *s, int (*cmp)(const void *, const void *))
{
    struct slot *slots = ARENA_ARRAY(s->arena, struct slot, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        slots[i].entry = &s->entries[i];
    qsort(slots, s->n, sizeof *slots, cmp);
    return slots;
}

static bool index_fields(struct schema *s, struct err *err)
{
    s->by_id = sorted(s, cmp_id);
    s->by_name = sorted(s, cmp_name);
    for (size_t i = 1; i < s->n; i++) {
        const struct entry *a = s->by_id[i - 1].entry, *b = s->by_id[i].entry;
        if (a->field.id == b->field.id)
            return refuse(s, b->in, b->spelling->id, err, ERR_INVALID_ARGUMENT,
                "Invalid schema: multiple fields have the id %lld: %.*s and %.*s",
                (long long)b->field.id, STR_ARG(a->field.name), STR_ARG(b->field.name));
        a = s->by_name[i - 1].entry;
        b = s->by_name[i].entry;
        if (str_eq(a->field.name, b->field.name))
            return refuse(s, b->in, "name", err, ERR_VALIDATION,
                "Invalid schema: multiple fields for name %.*s: %lld and %lld",
                STR_ARG(b->field.name), (long long)a->field.id, (long long)b->field.id);
    }
    return true;
}

static const struct entry *entry_by_id(const struct schema *s, int64_t id)
{
    const struct entry key = {.field.id = id};
    const struct slot want = {&key}, *found = bsearch(&want, s->by_id, s->n, sizeof want, cmp_id);
    return found ? found->entry : NULL;
}

const struct schema_field *schema_field_by_id(const struct schema *s, int64_t id)
{
    const struct entry *e = entry_by_id(s, id);
    return e ? &e->field : NULL;
}

const struct schema_field *schema_field_by_name(const struct schema *s, struct str full_name)
{
    const struct entry key = {.field.name = full_name};
    const struct slot want = {&key};
    const struct slot *found = bsearch(&want, s->by_name, s->n, sizeof want, cmp_name);
    return found ? &found->entry->field : NULL;
}

static bool primitive_of(const struct entry *e, struct type *out)
{
    return json_is_string(e->field.type) && type_parse(json_text(e->field.type), out);
}

/* Why a field cannot identify rows, or NULL. */
static const char *not_identifying(const struct entry *e)
{
    struct type t;
    if (!primitive_of(e, &t) || t.kind == TYPE_VARIANT)
        return "not a primitive type field";
    if (!e->field.required)
        return "not a required field";
    if (t.kind == TYPE_FLOAT || t.kind == TYPE_DOUBLE)
        return "must not be float or double field";
    if (!e->field.in_struct_only || !e->parents_required)
        return "all its parents must be required structs";
    return NULL;
}

static bool check_identifier(const struct schema *s, const json_t *id, size_t i, struct err *err)
{
    if (!json_is_integer(id))
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid schema: element %zu of identifier-field-ids is not an integer", i);
    const struct entry *e = entry_by_id(s, json_integer_value(id));
    if (!e)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot add fieldId %lld as an identifier field: field does not exist",
            (long long)json_integer_value(id));
    const char *why = not_identifying(e);
    return !why ||
           err_set(err, ERR_INVALID_ARGUMENT, "Cannot add field %.*s as an identifier field: %s",
               STR_ARG(e->field.name), why);
}

static bool check_identifiers(const struct schema *s, struct err *err)
{
    static const char member[] = "identifier-field-ids";
    const json_t *ids = json_object_get(s->tree, member);
    if (!tree_absent(ids) && !json_is_array(ids))
        return refuse(s, s->tree, member, err, ERR_BAD_REQUEST,
            "Invalid schema: identifier-field-ids must be a list");
    size_t i;
    json_t *id;
    json_array_foreach(ids, i, id)
    {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        if (!check_identifier(s, id, i, err))
            return ERR_FALSE(tell_where(s, ids, index, err));
    }
    return true;
}

static bool is_nested_value(const json_t *type, const json_t *v)
{
    if (str_eq_nocase(json_text_at(type, "type"), STR("list")))
        return json_is_array(v);
    return json_is_object(v);
}

static bool check_default(
    const struct schema *s, const struct entry *e, const char *member, struct err *err)
{
    const json_t *v = json_object_get(e->tree, member);
    struct type t;
    if (tree_absent(v))
        return true;
    if (primitive_of(e, &t) ? type_accepts_default(&t, v) : is_nested_value(e->field.type, v))
        return true;
    struct str type = str_utf8_cut(type_json_text(s->arena, e->field.type), PIECE_MAX);
    char *found = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    (void)refuse(s, e->in, member, err, ERR_INVALID_ARGUMENT,
        "Invalid schema: the %s of %.*s must be a value of type %.*s, found %.*s", member,
        STR_ARG(e->field.name), STR_ARG(type), STR_ARG(str_utf8_cut(str_from(found), PIECE_MAX)));
    xfree(found);
    return false;
}

static bool check_field(const struct schema *s, const struct entry *e, struct err *err)
{
    const json_t *doc = json_object_get(e->tree, "doc");
    struct type t;
    if (!tree_absent(doc) && !json_is_string(doc))
        return refuse(s, e->in, "doc", err, ERR_BAD_REQUEST,
            "Invalid schema: the doc of %.*s must be a string", STR_ARG(e->field.name));
    if (e->field.required && primitive_of(e, &t) && t.kind == TYPE_UNKNOWN)
        return refuse(s, e->in, e->spelling->required, err, ERR_INVALID_ARGUMENT,
            "Cannot create required field with unknown type: %.*s", STR_ARG(e->field.name));
    TRY(check_default(s, e, "initial-default", err));
    return check_default(s, e, "write-default", err);
}

/* The server gives the id, but a client that writes another thing there means something else. */
static bool check_schema_id(const struct schema *s, struct err *err)
{
    const json_t *id = json_object_get(s->tree, "schema-id");
    if (!s->at.p || tree_absent(id) ||
        (json_is_integer(id) && json_integer_value(id) >= INT32_MIN &&
            json_integer_value(id) <= INT32_MAX))
        return true;
    return refuse(s, s->tree, "schema-id", err, ERR_BAD_REQUEST,
        "Invalid schema: its schema-id must be an integer of 32 bits");
}

/* What can be told before any of its fields. */
static bool check_top(const struct schema *s, struct err *err)
{
    const json_t *tree = s->tree, *type = json_object_get(tree, "type");
    if (!json_is_object(tree) ||
        (!tree_absent(type) && !str_eq_nocase(json_text(type), STR("struct"))))
        return refuse(s, tree, json_is_object(tree) ? "type" : NULL, err, ERR_BAD_REQUEST,
            "Invalid schema: it must be an object of type struct");
    if (too_deep(tree, DEPTH_MAX))
        return refuse(s, tree, NULL, err, ERR_BAD_REQUEST,
            "Invalid schema: it is nested more than %d levels deep", DEPTH_MAX);
    return check_schema_id(s, err);
}

bool schema_read(
    struct arena *a, const json_t *tree, struct str at, struct schema **out, struct err *err)
{
    struct schema *s = ARENA_NEW(a, struct schema);
    s->tree = tree;
    s->arena = a;
    s->at = at;
    TRY(check_top(s, err));
    struct above top = {.prefix = STR(""), .structs_only = true, .required = true};
    TRY(walk_struct(s, tree, &top, err));
    TRY(index_fields(s, err));
    TRY(check_identifiers(s, err));
    for (size_t i = 0; i < s->n; i++)
        TRY(check_field(s, &s->entries[i], err));
    *out = s;
    return true;
}

int64_t schema_highest_id(const struct schema *s)
{
    return s->n ? s->by_id[s->n - 1].entry->field.id : 0;
}

/* A list of problems that stays a message: what does not fit is counted. */
struct problems {
    struct buf *text;
    size_t n, more;
};

static bool problem_fits(struct problems *p)
{
    p->n++;
    if (p->text->n + 3 * (size_t)PIECE_MAX < MESSAGE_MAX)
        return true;
    p->more++;
    return false;
}

static struct str shown(struct str s)
{
    return str_utf8_cut(s, PIECE_MAX);
}

static void check_entry_version(
    struct arena *a, const struct entry *e, int64_t format_version, struct problems *p)
{
    const json_t *value = json_object_get(e->tree, "initial-default");
    struct str name = shown(e->field.name);
    struct type t;
    if (primitive_of(e, &t) && type_since(t.kind) > format_version && problem_fits(p)) {
        struct str type = shown(type_text(a, &t));
        buf_putf(p->text, "\n- Invalid type for %.*s: %.*s is not supported until v%lld",
            STR_ARG(name), STR_ARG(type), (long long)type_since(t.kind));
    }
    if (!tree_absent(value) && format_version < DEFAULTS_SINCE && problem_fits(p)) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        struct str cut = shown(str_from(text));
        buf_putf(p->text,
            "\n- Invalid initial default for %.*s: non-null default (%.*s) is not supported until "
            "v%d",
            STR_ARG(name), STR_ARG(cut), DEFAULTS_SINCE);
        xfree(text);
    }
}

bool schema_check_version(
    struct arena *a, const struct schema *s, int64_t format_version, struct err *err)
{
    AUTO(buf_fini) struct buf text;
    struct problems p = {.text = &text};
    buf_init(&text, 2 * (size_t)MESSAGE_MAX);
    for (size_t i = 0; i < s->n; i++)
        check_entry_version(a, s->by_id[i].entry, format_version, &p);
    if (p.n == 0)
        return true;
    if (p.more)
        buf_putf(&text, "\n- and %zu more", p.more);
    return err_set(err, ERR_INVALID_ARGUMENT, "Invalid schema for v%lld:%.*s",
        (long long)format_version, STR_ARG(buf_view(&text)));
}
