/* The schema in an Avro file's header, compiled: who wrote it need not be trusted. */
#include <jansson.h>

#include "arena.h"
#include "avro_priv.h"
#include "base.h"
#include "json.h"
#include "scan.h"

enum { BRANCHES_MAX = 64, SIZE_MAX_OF = 1 << 20 /* of a fixed, and of what min counts to */ };

static const char *const primitives[AVRO_T_PRIMITIVES] = {
    [AVRO_T_NULL] = "null",
    [AVRO_T_BOOLEAN] = "boolean",
    [AVRO_T_INT] = "int",
    [AVRO_T_LONG] = "long",
    [AVRO_T_FLOAT] = "float",
    [AVRO_T_DOUBLE] = "double",
    [AVRO_T_BYTES] = "bytes",
    [AVRO_T_STRING] = "string",
};
static const size_t sizes[AVRO_T_PRIMITIVES] = {0, 1, 1, 1, 4, 8, 1, 1};

/* A record, enum or fixed that has been read to its end; later types may name it. */
struct named {
    struct str space, name;
    const struct avro_node *node;
    struct named *next;
};

struct compiler {
    struct arena *arena;
    struct named *named;
    size_t nodes;
    struct err *err;
};

static bool compile(
    struct compiler *c, const json_t *type, unsigned depth, const struct avro_node **out);

static bool bad(struct compiler *c, const char *what, struct str found)
{
    return err_set(c->err, ERR_BAD_REQUEST, "%s: \"%.*s\"", what, STR_ARG(str_utf8_cut(found, 60)));
}

static bool node_new(struct compiler *c, enum avro_type type, size_t n, struct avro_node **out)
{
    c->nodes += 1 + (type == AVRO_T_FIXED ? 0 : n);
    if (c->nodes > AVRO_NODES_MAX)
        return err_set(c->err, ERR_TOO_LARGE, "more than %d types", AVRO_NODES_MAX);
    *out = ARENA_NEW(c->arena, struct avro_node);
    (*out)->type = type;
    (*out)->n = n;
    (*out)->depth = 1;
    if (type != AVRO_T_FIXED && n > 0)
        (*out)->fields = ARENA_ARRAY(c->arena, struct avro_field, n);
    return true;
}

/* Named types may lie in each other deeper than the text is nested. */
static bool set_depth(struct compiler *c, struct avro_node *node)
{
    for (size_t i = 0; i < node->n; i++)
        if (node->fields[i].node->depth >= node->depth)
            node->depth = node->fields[i].node->depth + 1;
    return node->depth <= AVRO_DEPTH_MAX ||
           err_set(c->err, ERR_BAD_REQUEST, "types nested deeper than %d", AVRO_DEPTH_MAX);
}

static void remember(struct compiler *c, const json_t *type, const struct avro_node *node)
{
    struct named *n = ARENA_NEW(c->arena, struct named);
    *n = (struct named){arena_dup(c->arena, json_text_at(type, "namespace")),
        arena_dup(c->arena, json_text_at(type, "name")), node, c->named};
    if (n->name.p)
        c->named = n;
}

static bool is_name(const struct named *n, struct str name)
{
    if (str_eq(n->name, name))
        return true;
    size_t space = n->space.n;
    return space > 0 && name.n == space + 1 + n->name.n && str_starts(name, n->space) &&
           name.p[space] == '.' && str_ends(name, n->name);
}

static bool by_name(struct compiler *c, struct str name, const struct avro_node **out)
{
    struct avro_node *node;
    for (size_t i = 0; i < AVRO_T_PRIMITIVES; i++)
        if (str_eq(name, str_from(primitives[i]))) {
            TRY(node_new(c, (enum avro_type)i, 0, &node));
            node->min = sizes[i];
            *out = node;
            return true;
        }
    for (const struct named *n = c->named; n; n = n->next)
        if (is_name(n, name)) {
            *out = n->node;
            return true;
        }
    return bad(c, "no such type", name);
}

static bool compile_union(
    struct compiler *c, const json_t *type, unsigned depth, const struct avro_node **out)
{
    size_t n = json_array_size(type);
    struct avro_node *node;
    if (n == 0 || n > BRANCHES_MAX)
        return err_set(c->err, ERR_BAD_REQUEST, "a union of %zu types", n);
    TRY(node_new(c, AVRO_T_UNION, n, &node));
    for (size_t i = 0; i < n; i++) {
        TRY(compile(c, json_array_get(type, i), depth + 1, &node->fields[i].node));
        if (node->fields[i].node->type == AVRO_T_UNION)
            return err_set(c->err, ERR_BAD_REQUEST, "a union in a union");
    }
    node->min = 1;
    *out = node;
    return set_depth(c, node);
}

/* A type where a value has to stand, which null alone is not. */
static bool compile_value(
    struct compiler *c, const json_t *type, unsigned depth, const struct avro_node **out)
{
    TRY(compile(c, type, depth, out));
    return (*out)->type != AVRO_T_NULL ||
           err_set(c->err, ERR_BAD_REQUEST, "null outside of a union");
}

static bool compile_elements(struct compiler *c, const json_t *type, enum avro_type of,
    unsigned depth, const struct avro_node **out)
{
    struct avro_node *node;
    const json_t *element = json_object_get(type, of == AVRO_T_ARRAY ? "items" : "values");
    TRY(node_new(c, of, 1, &node));
    TRY(compile_value(c, element, depth + 1, &node->fields[0].node));
    if (of == AVRO_T_ARRAY && node->fields[0].node->min == 0)
        return err_set(c->err, ERR_BAD_REQUEST, "an array of elements that take no byte");
    node->min = 1;
    *out = node;
    return set_depth(c, node);
}

static bool compile_fixed(struct compiler *c, const json_t *type, const struct avro_node **out)
{
    struct avro_node *node;
    json_int_t size = json_integer_value(json_object_get(type, "size"));
    if (size < 1 || size > SIZE_MAX_OF)
        return err_set(c->err, ERR_BAD_REQUEST, "a fixed of %lld bytes", (long long)size);
    TRY(node_new(c, AVRO_T_FIXED, 0, &node));
    node->min = (size_t)size;
    *out = node;
    remember(c, type, node);
    return true;
}

static bool compile_field(
    struct compiler *c, const json_t *from, unsigned depth, struct avro_field *to)
{
    const json_t *id = json_object_get(from, "field-id");
    to->name = arena_dup(c->arena, json_text_at(from, "name"));
    to->id = json_is_integer(id) ? json_integer_value(id) : AVRO_NO_ID;
    if (!to->name.p)
        return err_set(c->err, ERR_BAD_REQUEST, "a member without a name");
    return compile_value(c, json_object_get(from, "type"), depth + 1, &to->node) ||
           err_wrap(c->err, "%.*s", STR_ARG(str_utf8_cut(to->name, 60)));
}

static bool compile_record(
    struct compiler *c, const json_t *type, unsigned depth, const struct avro_node **out)
{
    const json_t *fields = json_object_get(type, "fields");
    size_t n = json_array_size(fields), empty = 0;
    struct avro_node *node;
    if (!json_is_array(fields))
        return err_set(c->err, ERR_BAD_REQUEST, "a record without members");
    TRY(node_new(c, AVRO_T_RECORD, n, &node));
    for (size_t i = 0; i < n; i++) {
        TRY(compile_field(c, json_array_get(fields, i), depth, &node->fields[i]));
        size_t min = node->fields[i].node->min;
        empty += min == 0;
        node->min = node->min + min > SIZE_MAX_OF ? SIZE_MAX_OF : node->min + min;
    }
    if (empty > AVRO_EMPTY_MAX || (n > 0 && node->min == 0))
        return err_set(c->err, ERR_BAD_REQUEST, "a record of members that take no byte");
    *out = node;
    remember(c, type, node);
    return set_depth(c, node);
}

static bool compile_object(
    struct compiler *c, const json_t *type, unsigned depth, const struct avro_node **out)
{
    const json_t *word = json_object_get(type, "type");
    struct str name = json_text(word);
    struct avro_node *node;
    if (!name.p)
        return compile(c, word, depth + 1, out);
    if (str_eq(name, STR("record")))
        return compile_record(c, type, depth, out);
    if (str_eq(name, STR("array")))
        return compile_elements(c, type, AVRO_T_ARRAY, depth, out);
    if (str_eq(name, STR("map")))
        return compile_elements(c, type, AVRO_T_MAP, depth, out);
    if (str_eq(name, STR("fixed")))
        return compile_fixed(c, type, out);
    if (!str_eq(name, STR("enum")))
        return by_name(c, name, out); /* with a logical type, say */
    TRY(node_new(c, AVRO_T_ENUM, 0, &node));
    node->min = 1;
    *out = node;
    remember(c, type, node);
    return true;
}

static bool compile(
    struct compiler *c, const json_t *type, unsigned depth, const struct avro_node **out)
{
    if (depth > AVRO_DEPTH_MAX)
        return err_set(c->err, ERR_BAD_REQUEST, "types nested deeper than %d", AVRO_DEPTH_MAX);
    if (json_is_string(type))
        return by_name(c, json_text(type), out);
    if (json_is_array(type))
        return compile_union(c, type, depth, out);
    if (json_is_object(type))
        return compile_object(c, type, depth, out);
    return err_set(c->err, ERR_BAD_REQUEST, "a type that is no text, object or array");
}

bool avro__schema(struct arena *a, struct str text, const struct avro_node **out, struct err *err)
{
    struct compiler c = {.arena = a, .err = err};
    json_error_t why;
    if (text.n > AVRO_SCHEMA_MAX)
        return err_set(err, ERR_TOO_LARGE, "%zu bytes, the limit is %d", text.n, AVRO_SCHEMA_MAX);
    TRY(scan_validate(text, &scan_body_limits, err));
    json_t *tree = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!tree)
        return err_set(err, ERR_BAD_REQUEST, "%s", why.text);
    bool ok = compile(&c, tree, 0, out);
    json_decref(tree);
    return ok;
}

/* -- What is wanted -----------------------------------------------------------------------------
 */

static bool has_ids(const struct avro_node *record)
{
    for (size_t i = 0; i < record->n; i++)
        if (record->fields[i].id != AVRO_NO_ID)
            return true;
    return false;
}

static struct avro_field *find(const struct avro_node *record, const struct avro_want *w, bool ids)
{
    for (size_t i = 0; i < record->n; i++) {
        struct avro_field *f = &record->fields[i];
        if (ids ? f->id == w->id : str_eq(f->name, str_from(w->name)))
            return f;
    }
    return NULL;
}

static bool bind_type(const struct avro_node *node, const struct avro_want *w, struct err *err)
{
    bool text = node->type == AVRO_T_STRING || node->type == AVRO_T_BYTES;
    bool number = node->type == AVRO_T_INT || node->type == AVRO_T_LONG;
    if (node->type == AVRO_T_UNION) {
        for (size_t i = 0; i < node->n; i++)
            if (node->fields[i].node->type != AVRO_T_NULL)
                TRY(bind_type(node->fields[i].node, w, err));
        return true;
    }
    if (w->kind == AVRO_INNER && node->type == AVRO_T_RECORD)
        return avro__bind(node, w->inner, w->n_inner, err);
    if ((w->kind == AVRO_TEXT && text) || (w->kind == AVRO_INTEGER && number))
        return true;
    return err_set(err, ERR_BAD_REQUEST, "not of the type that it has in Iceberg");
}

bool avro__bind(
    const struct avro_node *record, const struct avro_want *wants, size_t n, struct err *err)
{
    bool ids = has_ids(record);
    for (size_t i = 0; i < n; i++) {
        struct avro_field *f = find(record, &wants[i], ids);
        if (!f && wants[i].need == AVRO_MUST)
            return err_set(err, ERR_BAD_REQUEST, "the member \"%s\" is missing", wants[i].name);
        if (!f)
            continue;
        if (!bind_type(f->node, &wants[i], err))
            return err_wrap(err, "%s", wants[i].name);
        f->want = &wants[i];
    }
    return true;
}
