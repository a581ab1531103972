#include "type.h"

#include <ctype.h>
#include <float.h>

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "json.h"
#include "uuid.h"

enum { MESSAGE_MAX = 2048, DECIMAL_MAX = 38 };

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
           out->a <= DECIMAL_MAX && out->b <= out->a;
}

static bool parse_geometry(struct str in, struct type *out)
{
    out->kind = TYPE_GEOMETRY;
    out->extra = str_trim(in);
    return out->extra.n > 0;
}

/* An algorithm that readers do not know makes the whole table unreadable to them. */
static bool parse_geography(struct str in, struct type *out)
{
    static const struct str known[] = {STR_INIT("spherical"), STR_INIT("vincenty"),
        STR_INIT("thomas"), STR_INIT("andoyer"), STR_INIT("karney")};
    struct str rest = in;
    out->kind = TYPE_GEOGRAPHY;
    out->extra = str_trim(str_cut(&rest, ','));
    if (!rest.p)
        return out->extra.n > 0;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq_nocase(str_trim(rest), known[i]))
            out->algorithm = known[i];
    return out->extra.n > 0 && out->algorithm.p;
}

static bool parse_parentheses(struct str name, struct str in, struct type *out)
{
    if (str_eq_nocase(name, STR("decimal")))
        return parse_decimal(in, out);
    if (str_eq_nocase(name, STR("geometry")))
        return parse_geometry(in, out);
    return str_eq_nocase(name, STR("geography")) && parse_geography(in, out);
}

static bool parse_name(struct str text, struct type *out)
{
    for (int k = 0; k < TYPE_COUNT; k++) {
        if (k == TYPE_FIXED || k == TYPE_DECIMAL || !str_eq_nocase(text, types[k].name))
            continue;
        out->kind = (enum type_kind)k;
        return true;
    }
    return false;
}

bool type_parse(struct str text, struct type *out)
{
    struct str name, in;
    struct type t = {.kind = TYPE_BOOLEAN};
    bool found;
    text = str_trim(text);
    if (inside(text, '[', ']', &name, &in))
        found = str_eq_nocase(name, STR("fixed")) && parse_fixed(in, &t);
    else if (inside(text, '(', ')', &name, &in))
        found = parse_parentheses(name, in, &t);
    else
        found = parse_name(text, &t);
    if (found)
        *out = t;
    return found;
}

struct str type_text(struct arena *a, const struct type *t)
{
    struct str name = types[t->kind].name;
    if (t->kind == TYPE_FIXED)
        return arena_printf(a, "fixed[%lld]", (long long)t->a);
    if (t->kind == TYPE_DECIMAL)
        return arena_printf(a, "decimal(%lld, %lld)", (long long)t->a, (long long)t->b);
    if (t->algorithm.p)
        return arena_printf(a, "%s(%.*s, %s)", name.p, STR_ARG(t->extra), t->algorithm.p);
    if (t->extra.p)
        return arena_printf(a, "%s(%.*s)", name.p, STR_ARG(t->extra));
    return name;
}

static struct str reference_system(const struct type *t)
{
    struct str usual = STR("OGC:CRS84");
    return !t->extra.p || str_eq_nocase(t->extra, usual) ? usual : t->extra;
}

static struct str algorithm(const struct type *t)
{
    return t->algorithm.p ? t->algorithm : STR("spherical");
}

bool type_equal(const struct type *a, const struct type *b)
{
    return a->kind == b->kind && a->a == b->a && a->b == b->b &&
           str_eq(reference_system(a), reference_system(b)) && str_eq(algorithm(a), algorithm(b));
}

static void put_type(struct arena *a, struct buf *b, const json_t *type);

static void put_struct(struct arena *a, struct buf *b, const json_t *fields)
{
    size_t i;
    json_t *f;
    buf_puts(b, "struct<");
    json_array_foreach(fields, i, f)
    {
        if (b->over)
            return;
        buf_putf(
            b, "%s%lld: ", i ? ", " : "", (long long)json_integer_value(json_object_get(f, "id")));
        buf_str(b, json_text_at(f, "name"));
        buf_puts(b, json_is_true(json_object_get(f, "required")) ? ": required " : ": optional ");
        put_type(a, b, json_object_get(f, "type"));
    }
    buf_putc(b, '>');
}

static void put_primitive(struct arena *a, struct buf *b, const json_t *type)
{
    struct type t;
    struct str text = json_text(type);
    buf_str(b, type_parse(text, &t) ? type_text(a, &t) : text);
}

static void put_type(struct arena *a, struct buf *b, const json_t *type)
{
    struct str kind = str_from(json_string_value(json_object_get(type, "type")));
    if (b->over)
        return;
    if (json_is_string(type)) {
        put_primitive(a, b, type);
    } else if (str_eq_nocase(kind, STR("list"))) {
        buf_puts(b, "list<");
        put_type(a, b, json_object_get(type, "element"));
        buf_putc(b, '>');
    } else if (str_eq_nocase(kind, STR("map"))) {
        buf_puts(b, "map<");
        put_type(a, b, json_object_get(type, "key"));
        buf_puts(b, ", ");
        put_type(a, b, json_object_get(type, "value"));
        buf_putc(b, '>');
    } else {
        put_struct(a, b, json_object_get(type, "fields"));
    }
}

struct str type_json_text(struct arena *a, const json_t *type)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, MESSAGE_MAX);
    put_type(a, &b, type);
    return arena_printf(a, "%.*s%s", STR_ARG(buf_view(&b)), b.over ? "..." : "");
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

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* -- Dates and times, as ISO 8601 writes them and readers demand: the text is kept as it was sent
 * -- */

/* Passes over a number of so many digits that is in the range. */
static bool take_number(const char **s, size_t n_digits, int from, int to, int *out)
{
    *out = 0;
    if (digits(*s) < n_digits)
        return false;
    for (size_t i = 0; i < n_digits; i++)
        *out = *out * 10 + (*(*s)++ - '0');
    return *out >= from && *out <= to;
}

static bool take(const char **s, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*s, text, n) != 0)
        return false;
    *s += n;
    return true;
}

/* Four digits; one with a sign may have more, and has them after a plus. */
static bool take_year(const char **s, int *out)
{
    char sign = **s;
    bool has_sign = sign == '-' || sign == '+';
    *s += has_sign;
    size_t n = digits(*s);
    if (n < (sign == '+' ? 5 : 4) || n > (has_sign ? 6 : 4) || !take_number(s, n, 0, 999999, out))
        return false;
    *out = sign == '-' ? -*out : *out;
    return true;
}

static bool take_date(const char **s, int *year)
{
    static const char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int month, day;
    if (!take_year(s, year) || !take(s, "-") || !take_number(s, 2, 1, 12, &month) ||
        !take(s, "-") || !take_number(s, 2, 1, days[month - 1], &day))
        return false;
    bool leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
    return month != 2 || day < 29 || leap;
}

/* HH:MM, with seconds and up to nine digits of a fraction. */
static bool take_time(const char **s)
{
    int part;
    if (!take_number(s, 2, 0, 23, &part) || !take(s, ":") || !take_number(s, 2, 0, 59, &part))
        return false;
    if (!take(s, ":"))
        return true;
    if (!take_number(s, 2, 0, 59, &part))
        return false;
    if (!take(s, "."))
        return true;
    size_t n = digits(*s);
    *s += n;
    return n >= 1 && n <= 9;
}

static bool is_timestamp(enum type_kind k)
{
    return k == TYPE_TIMESTAMP || k == TYPE_TIMESTAMPTZ || k == TYPE_TIMESTAMP_NS ||
           k == TYPE_TIMESTAMPTZ_NS;
}

/* The years that 64 bits of micro- or nanoseconds reach in whole. */
static bool year_fits(enum type_kind k, int year)
{
    if (k == TYPE_TIMESTAMP_NS || k == TYPE_TIMESTAMPTZ_NS)
        return year >= 1678 && year <= 2261;
    return !is_timestamp(k) || (year > -290000 && year < 290000);
}

static bool is_temporal(enum type_kind k, const json_t *v)
{
    const char *s = json_string_value(v);
    int year = 0;
    if (!s || (k != TYPE_TIME && !(take_date(&s, &year) && year_fits(k, year))))
        return false;
    if ((is_timestamp(k) && !take(&s, "T")) || (k != TYPE_DATE && !take_time(&s)))
        return false;
    if ((k == TYPE_TIMESTAMPTZ || k == TYPE_TIMESTAMPTZ_NS) && !take(&s, "+00:00") &&
        !take(&s, "Z"))
        return false;
    return !*s;
}

/* -- Values --------------------------------------------------------------------------------------
 */

/* The digits behind the point say the scale, or the exponent does: readers demand the column's. */
static bool is_decimal(const json_t *v, int64_t scale)
{
    const char *s = json_string_value(v);
    if (!s)
        return false;
    s += *s == '-' || *s == '+';
    size_t whole = digits(s), fraction = 0;
    s += whole;
    if (*s == '.') {
        fraction = digits(++s);
        s += fraction;
    }
    int64_t exponent = 0;
    if (*s && *s != 'e' && *s != 'E')
        return false;
    if (*s && (!str_to_i64(str_from(s + 1), &exponent) || exponent < -DECIMAL_MAX ||
                  exponent > DECIMAL_MAX))
        return false;
    return whole + fraction > 0 && (int64_t)fraction - exponent == scale;
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
        return json_is_number(v) && json_number_value(v) <= (double)FLT_MAX &&
               json_number_value(v) >= -(double)FLT_MAX;
    case TYPE_DOUBLE:
        return json_is_number(v);
    case TYPE_DECIMAL:
        return is_decimal(v, t->b);
    case TYPE_DATE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMPTZ:
    case TYPE_TIMESTAMP_NS:
    case TYPE_TIMESTAMPTZ_NS:
        return is_temporal(t->kind, v);
    case TYPE_STRING:
        return json_is_string(v);
    case TYPE_UUID:
        return uuid_is(json_text(v));
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
    {STR_INIT("year"),     TRANSFORM_YEAR    },
    {STR_INIT("month"),    TRANSFORM_MONTH   },
    {STR_INIT("day"),      TRANSFORM_DAY     },
    {STR_INIT("hour"),     TRANSFORM_HOUR    },
    {STR_INIT("void"),     TRANSFORM_VOID    },
};

bool transform_parse(struct str text, struct transform *out)
{
    struct str name, in;
    *out = (struct transform){.kind = TRANSFORM_UNKNOWN};
    for (size_t i = 0; i < ARRAY_LEN(transforms); i++)
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
    if (!transform_parse(text, &t))
        return text;
    if (t.kind == TRANSFORM_BUCKET)
        return arena_printf(a, "bucket[%lld]", (long long)t.width);
    if (t.kind == TRANSFORM_TRUNCATE)
        return arena_printf(a, "truncate[%lld]", (long long)t.width);
    for (size_t i = 0; i < ARRAY_LEN(transforms); i++)
        if (transforms[i].kind == t.kind)
            return transforms[i].name;
    return text;
}

bool transform_equal(struct str a, struct str b)
{
    struct transform x, y;
    if (!transform_parse(a, &x) || !transform_parse(b, &y) || x.kind == TRANSFORM_UNKNOWN)
        return str_eq(a, b);
    return x.kind == y.kind && x.width == y.width;
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
