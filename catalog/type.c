#include "type.h"

#include <ctype.h>

#include "arena.h"

static const struct {
    struct str name;
    int64_t since;
} types[TYPE_COUNT] = {
#define X(kind, text, version) [TYPE_##kind] = {STR_INIT(text), (version)},
    TYPES(X)
#undef X
};

static bool number(struct str s, int64_t *out)
{
    s = str_trim(s);
    return s.n > 0 && s.p[0] >= '0' && s.p[0] <= '9' && str_to_i64(s, out);
}

/* "name<open>inside<close>": the inside, when the text has that form. */
static bool inside(struct str text, char open, char close, struct str *name, struct str *in)
{
    size_t at = str_find(text, open);
    if (at == text.n || text.p[text.n - 1] != close)
        return false;
    *name = str_trim(str_sub(text, 0, at));
    *in = str_sub(text, at + 1, text.n - at - 2);
    return true;
}

static bool parse_fixed(struct str in, struct type *out)
{
    out->kind = TYPE_FIXED;
    return number(in, &out->a) && out->a <= INT32_MAX;
}

static bool parse_decimal(struct str in, struct type *out)
{
    struct str rest = in;
    struct str precision = str_cut(&rest, ',');
    out->kind = TYPE_DECIMAL;
    return rest.p && number(precision, &out->a) && number(rest, &out->b) && out->a >= 1 &&
           out->a <= 38 && out->b <= out->a;
}

bool type_parse(struct str text, struct type *out)
{
    struct str name, in;
    struct type t = {.kind = TYPE_BOOLEAN};
    text = str_trim(text);
    bool found = false;
    if (inside(text, '[', ']', &name, &in)) {
        found = str_eq_nocase(name, STR("fixed")) && parse_fixed(in, &t);
    } else if (inside(text, '(', ')', &name, &in)) {
        t.extra = str_trim(in);
        if (str_eq_nocase(name, STR("decimal"))) {
            found = parse_decimal(in, &t);
        } else if (str_eq_nocase(name, STR("geometry"))) {
            t.kind = TYPE_GEOMETRY;
            found = t.extra.n > 0;
        } else if (str_eq_nocase(name, STR("geography"))) {
            t.kind = TYPE_GEOGRAPHY;
            found = t.extra.n > 0;
        }
    } else {
        for (int k = 0; k < TYPE_COUNT && !found; k++) {
            t.kind = (enum type_kind)k;
            found = k != TYPE_FIXED && k != TYPE_DECIMAL && str_eq_nocase(text, types[k].name);
        }
    }
    if (found)
        *out = t;
    return found;
}

struct str type_text(struct arena *a, const struct type *t)
{
    switch ((int)t->kind) {
    case TYPE_FIXED:
        return arena_printf(a, "fixed[%lld]", (long long)t->a);
    case TYPE_DECIMAL:
        return arena_printf(a, "decimal(%lld, %lld)", (long long)t->a, (long long)t->b);
    case TYPE_GEOMETRY:
    case TYPE_GEOGRAPHY:
        if (t->extra.p)
            return arena_printf(a, "%s(%.*s)", types[t->kind].name.p, STR_ARG(t->extra));
        return types[t->kind].name;
    default:
        return types[t->kind].name;
    }
}

static struct str struct_text(struct arena *a, const json_t *fields)
{
    struct str list = STR("");
    size_t i;
    json_t *f;
    json_array_foreach(fields, i, f)
    {
        struct str type = type_json_text(a, json_object_get(f, "type"));
        list = arena_printf(a, "%.*s%s%lld: %s: %s %.*s", STR_ARG(list), i ? ", " : "",
            (long long)json_integer_value(json_object_get(f, "id")),
            json_string_value(json_object_get(f, "name")),
            json_is_true(json_object_get(f, "required")) ? "required" : "optional", STR_ARG(type));
    }
    return arena_printf(a, "struct<%.*s>", STR_ARG(list));
}

struct str type_json_text(struct arena *a, const json_t *type)
{
    if (json_is_string(type)) {
        struct type t;
        struct str text = {json_string_value(type), json_string_length(type)};
        return type_parse(text, &t) ? type_text(a, &t) : text;
    }
    struct str kind = str_from(json_string_value(json_object_get(type, "type")));
    if (str_eq_nocase(kind, STR("list"))) {
        struct str element = type_json_text(a, json_object_get(type, "element"));
        return arena_printf(a, "list<%.*s>", STR_ARG(element));
    }
    if (str_eq_nocase(kind, STR("map"))) {
        struct str key = type_json_text(a, json_object_get(type, "key"));
        struct str value = type_json_text(a, json_object_get(type, "value"));
        return arena_printf(a, "map<%.*s, %.*s>", STR_ARG(key), STR_ARG(value));
    }
    return struct_text(a, json_object_get(type, "fields"));
}

int64_t type_since(enum type_kind kind)
{
    return types[kind].since;
}

static bool is_hex(const json_t *v)
{
    size_t n = json_string_length(v);
    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)json_string_value(v)[i]))
            return false;
    return json_is_string(v) && n % 2 == 0;
}

/* Digits and the given separators, as in dates and times: the exact text is kept as it was sent. */
static bool is_temporal(const json_t *v, size_t min)
{
    if (!json_is_string(v) || json_string_length(v) < min)
        return false;
    const char *s = json_string_value(v);
    return strspn(s, "0123456789-:.+TZ") == json_string_length(v);
}

static bool is_decimal(const json_t *v)
{
    const char *s = json_string_value(v);
    return s && *s && strspn(s, "0123456789-.") == strlen(s);
}

bool type_accepts_default(const struct type *t, const json_t *v)
{
    switch (t->kind) {
    case TYPE_BOOLEAN:
        return json_is_boolean(v);
    case TYPE_INT:
        return json_is_integer(v) && json_integer_value(v) >= INT32_MIN &&
               json_integer_value(v) <= INT32_MAX;
    case TYPE_LONG:
        return json_is_integer(v);
    case TYPE_FLOAT:
    case TYPE_DOUBLE:
        return json_is_number(v);
    case TYPE_DECIMAL:
        return is_decimal(v);
    case TYPE_DATE:
        return is_temporal(v, 10);
    case TYPE_TIME:
        return is_temporal(v, 5);
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMPTZ:
    case TYPE_TIMESTAMP_NS:
    case TYPE_TIMESTAMPTZ_NS:
        return is_temporal(v, 16);
    case TYPE_STRING:
        return json_is_string(v);
    case TYPE_UUID:
        return json_is_string(v) && json_string_length(v) == 36;
    case TYPE_FIXED:
        return is_hex(v) && (int64_t)json_string_length(v) == 2 * t->a;
    case TYPE_BINARY:
        return is_hex(v);
    case TYPE_UNKNOWN:
    case TYPE_VARIANT:
    case TYPE_GEOMETRY:
    case TYPE_GEOGRAPHY:
    case TYPE_COUNT:
    default:
        return false;
    }
}

static const struct {
    struct str name;
    enum transform_kind kind;
} transforms[] = {
    {STR_INIT("identity"), TRANSFORM_IDENTITY},
    {STR_INIT("year"), TRANSFORM_YEAR},
    {STR_INIT("month"), TRANSFORM_MONTH},
    {STR_INIT("day"), TRANSFORM_DAY},
    {STR_INIT("hour"), TRANSFORM_HOUR},
    {STR_INIT("void"), TRANSFORM_VOID},
};

bool transform_parse(struct str text, struct transform *out)
{
    struct str name, in;
    *out = (struct transform){.kind = TRANSFORM_UNKNOWN};
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++)
        if (str_eq_nocase(text, transforms[i].name))
            out->kind = transforms[i].kind;
    if (out->kind != TRANSFORM_UNKNOWN || !text.n || !inside(text, '[', ']', &name, &in))
        return true;
    if (str_eq_nocase(name, STR("bucket")))
        out->kind = TRANSFORM_BUCKET;
    else if (str_eq_nocase(name, STR("truncate")))
        out->kind = TRANSFORM_TRUNCATE;
    else
        return true;
    return number(in, &out->width) && out->width > 0 && out->width <= INT32_MAX;
}

struct str transform_text(struct arena *a, struct str text)
{
    struct transform t;
    if (!transform_parse(text, &t) || t.kind == TRANSFORM_UNKNOWN)
        return text;
    char *p = arena_cstr(a, text);
    for (size_t i = 0; i < text.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] + ('a' - 'A'));
    return (struct str){p, text.n};
}

static bool is_timestamp(enum type_kind k)
{
    return k == TYPE_TIMESTAMP || k == TYPE_TIMESTAMPTZ || k == TYPE_TIMESTAMP_NS ||
           k == TYPE_TIMESTAMPTZ_NS;
}

bool transform_takes(const struct transform *t, enum type_kind k)
{
    bool number_or_text = k == TYPE_INT || k == TYPE_LONG || k == TYPE_DECIMAL ||
                          k == TYPE_STRING || k == TYPE_BINARY;
    switch (t->kind) {
    case TRANSFORM_IDENTITY:
        return k != TYPE_GEOMETRY && k != TYPE_GEOGRAPHY && k != TYPE_VARIANT;
    case TRANSFORM_BUCKET:
        return number_or_text || k == TYPE_DATE || k == TYPE_TIME || is_timestamp(k) ||
               k == TYPE_UUID || k == TYPE_FIXED;
    case TRANSFORM_TRUNCATE:
        return number_or_text;
    case TRANSFORM_YEAR:
    case TRANSFORM_MONTH:
    case TRANSFORM_DAY:
        return k == TYPE_DATE || is_timestamp(k);
    case TRANSFORM_HOUR:
        return is_timestamp(k);
    case TRANSFORM_VOID:
    case TRANSFORM_UNKNOWN:
    default:
        return true;
    }
}
