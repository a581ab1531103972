#include "op.h"

#include "buf.h"
#include "op_priv.h"

#include <inttypes.h>

/* Where in the document a value is. */
struct place {
    const struct place *up; /* NULL: the document itself */
    const char *name;       /* of a member; NULL: an element */
    size_t index;
};

static bool check(const struct body *body, json_t *json, const struct place *at, struct err *err);

static void put_pointer(struct buf *out, const struct place *at)
{
    char shown[OP_EXCERPT];

    if (!at->up)
        return;
    put_pointer(out, at->up);
    if (!at->name) {
        buf_putf(out, "/%zu", at->index);
        return;
    }
    buf_putc(out, '/');
    for (const char *c = op__excerpt(str_from(at->name), shown); *c; c++) {
        if (*c == '~' || *c == '/')
            buf_puts(out, *c == '~' ? "~0" : "~1");
        else
            buf_putc(out, *c);
    }
}

/* Puts the pointer in front of the message; the document has the empty pointer. */
static bool wrap(const struct place *at, struct err *err)
{
    AUTO(buf_fini) struct buf pointer = {0};

    if (!at->up)
        return err_wrap(err, "request body");
    buf_init(&pointer, 512);
    put_pointer(&pointer, at);
    return err_wrap(err, "%.*s", STR_ARG(buf_view(&pointer)));
}

/* text, what was found, and the pointer in parentheses: the texts that clients know come first. */
static bool refuse_tag(const struct place *at, const char *text, const char *found, struct err *err)
{
    AUTO(buf_fini) struct buf pointer = {0};

    buf_init(&pointer, 512);
    put_pointer(&pointer, at);
    return err_set(err, ERR_BAD_REQUEST, "%s%s (%.*s)", text, found, STR_ARG(buf_view(&pointer)));
}

static unsigned type_bits(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_NULL:
        return BODY_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return BODY_BOOLEAN;
    case JSON_INTEGER:
        if (json_integer_value(json) < INT32_MIN || json_integer_value(json) > INT32_MAX)
            return BODY_INT64 | BODY_NUMBER;
        return BODY_INT32 | BODY_INT64 | BODY_NUMBER;
    case JSON_REAL:
        return BODY_NUMBER;
    case JSON_STRING:
        return BODY_STRING;
    case JSON_ARRAY:
        return BODY_ARRAY;
    case JSON_OBJECT:
        return BODY_OBJECT;
    }
    return 0;
}

static const char *found_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_NULL:
        return "null";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_STRING:
        return "a string";
    case JSON_ARRAY:
        return "an array";
    case JSON_OBJECT:
        return "an object";
    }
    return "something else";
}

static void put_expected(struct buf *out, unsigned types)
{
    static const struct {
        unsigned bits;
        const char *name;
    } names[] = {
        {BODY_OBJECT,             "an object"    },
        {BODY_ARRAY,              "an array"     },
        {BODY_STRING,             "a string"     },
        {BODY_NUMBER,             "a number"     },
        {BODY_INT32 | BODY_INT64, "an integer"   },
        {BODY_BOOLEAN,            "true or false"},
        {BODY_NULL,               "null"         },
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!(types & names[i].bits))
            continue;
        if (out->n > 0)
            buf_puts(out, " or ");
        buf_puts(out, names[i].name);
    }
}

static bool check_type(
    const struct body *body, const json_t *json, const struct place *at, struct err *err)
{
    AUTO(buf_fini) struct buf expected = {0};

    if (body->types & type_bits(json))
        return true;
    if (json_is_integer(json) && body->types & BODY_INT32) {
        (void)err_set(err, ERR_BAD_REQUEST, "expected an integer of 32 bits, found %" PRId64,
            (int64_t)json_integer_value(json));
        return wrap(at, err);
    }
    buf_init(&expected, 256);
    put_expected(&expected, body->types);
    (void)err_set(err, ERR_BAD_REQUEST, "expected %.*s, found %s", STR_ARG(buf_view(&expected)),
        found_name(json));
    return wrap(at, err);
}

static bool check_value(
    const struct body *body, const json_t *json, const struct place *at, struct err *err)
{
    AUTO(buf_fini) struct buf expected = {0};
    struct str value = {json_string_value(json), json_string_length(json)};
    char shown[OP_EXCERPT];

    buf_init(&expected, 256);
    for (unsigned i = 0; body->values[i]; i++) {
        if (str_eq_nocase(value, str_from(body->values[i])))
            return true;
        buf_putf(&expected, "%s%s", i ? ", " : "", body->values[i]);
    }
    (void)err_set(err, ERR_BAD_REQUEST, "expected one of %.*s, found \"%s\"",
        STR_ARG(buf_view(&expected)), op__excerpt(value, shown));
    return wrap(at, err);
}

static bool check_variant(
    const struct body *body, json_t *json, const struct place *at, struct err *err)
{
    static const struct body text = {.types = BODY_STRING};
    const struct place tag_at = {.up = at, .name = body->tag};
    const json_t *tag = json_object_get(json, body->tag);
    char shown[OP_EXCERPT];

    if (!tag || json_is_null(tag))
        return body->otherwise ? check(body->otherwise, json, at, err)
                               : refuse_tag(at, body->missing, "", err);
    TRY(check_type(&text, tag, &tag_at, err));
    struct str value = {json_string_value(tag), json_string_length(tag)};
    for (unsigned i = 0; i < body->n_variants; i++)
        if (str_eq_nocase(value, str_from(body->variants[i].value)))
            return check(body->variants[i].body, json, at, err);
    if (body->otherwise)
        return check(body->otherwise, json, at, err);
    return refuse_tag(&tag_at, body->unknown, op__excerpt(value, shown), err);
}

/* null stands for a member that is not there. */
static bool is_absent(const json_t *value)
{
    return !value || json_is_null(value);
}

static bool check_field(
    const struct body_field *field, const json_t *json, const struct place *at, struct err *err)
{
    struct place here = {.up = at, .name = field->name};
    json_t *value = json_object_get(json, field->name);
    json_t *other = field->alias ? json_object_get(json, field->alias) : NULL;

    if (is_absent(value) && !is_absent(other)) {
        value = other;
        here.name = field->alias;
    }
    bool counts = field->required && !field->absent ? value != NULL : !is_absent(value);
    if (counts)
        return check(field->body, value, &here, err);
    if (!field->required)
        return true;
    if (field->absent)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s", field->absent);
    (void)err_set(err, ERR_BAD_REQUEST, "required member is missing");
    return wrap(&here, err);
}

static bool is_field(const struct body *body, struct str name)
{
    for (unsigned i = 0; i < body->n_fields; i++) {
        const struct body_field *field = &body->fields[i];
        if (str_eq(name, str_from(field->name)) ||
            (field->alias && str_eq(name, str_from(field->alias))))
            return true;
    }
    return false;
}

/* A word that nobody knows may be a secret in the wrong place, or a wish that would be passed over
 * in silence. */
static bool check_others(
    const struct body *body, json_t *json, const struct place *at, struct err *err)
{
    AUTO(buf_fini) struct buf names = {0};
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        const struct place here = {.up = at, .name = key};
        if (is_field(body, str_from(key)))
            continue;
        buf_init(&names, 1024);
        for (unsigned i = 0; i < body->n_fields; i++)
            buf_putf(&names, "%s%s", i > 0 ? ", " : "", body->fields[i].name);
        (void)err_set(err, ERR_BAD_REQUEST, "there is no such member, expected one of %.*s",
            STR_ARG(buf_view(&names)));
        return wrap(&here, err);
    }
    return true;
}

static bool check_items(
    const struct body *body, json_t *json, const struct place *at, struct err *err)
{
    const char *key;
    size_t i;
    json_t *value;

    if (json_is_array(json)) {
        json_array_foreach(json, i, value)
        {
            const struct place here = {.up = at, .index = i};
            TRY(check(body->items, value, &here, err));
        }
        return true;
    }
    json_object_foreach(json, key, value)
    {
        const struct place here = {.up = at, .name = key};
        TRY(check(body->items, value, &here, err));
    }
    return true;
}

/* What an object was meant to be is told by what it has; one that has nothing is the first. */
static const struct body *meant(const struct body *const *any, const json_t *json)
{
    const struct body *likely = NULL;

    for (const struct body *const *option = any; *option; option++) {
        unsigned present = 0, missing = 0;
        for (unsigned i = 0; i < (*option)->n_fields; i++) {
            const struct body_field *field = &(*option)->fields[i];
            bool there = json_object_get(json, field->name) != NULL;
            present += field->required && there;
            missing += field->required && !there;
        }
        if (missing == 0)
            return *option;
        if (present > 0 && !likely)
            likely = *option;
    }
    return likely ? likely : any[0];
}

/* As deep as the descriptions are, which do not recurse. */
static bool check(const struct body *body, json_t *json, const struct place *at, struct err *err)
{
    TRY(check_type(body, json, at, err));
    if (body->tag)
        return check_variant(body, json, at, err);
    if (body->any)
        return check(meant(body->any, json), json, at, err);
    if (body->values && json_is_string(json))
        return check_value(body, json, at, err);
    for (unsigned i = 0; i < body->n_fields; i++)
        TRY(check_field(&body->fields[i], json, at, err));
    if (body->others == BODY_OTHERS_REFUSED && json_is_object(json))
        TRY(check_others(body, json, at, err));
    if (body->items)
        return check_items(body, json, at, err);
    return true;
}

bool op_check_body(const struct body *body, const json_t *json, struct err *err)
{
    const struct place document = {.up = NULL};

    if (!json) {
        (void)err_set(err, ERR_BAD_REQUEST, "expected a JSON document, found none");
        return wrap(&document, err);
    }
    /* jansson's iterators take a mutable value and change nothing. */
    json_t *mutable = (json_t *)(uintptr_t)json; /* NOLINT(performance-no-int-to-ptr) */
    return check(body, mutable, &document, err);
}
