/* The rows of the settings: finding one by its name, a value from its text, and back. */
#include <string.h>

#include "config_priv.h"
#include "secret.h"

enum { LIST_ITEMS_MAX = 64, NAME_MAX_BYTES = 64 };

const struct setting config__settings[SETTING_COUNT] = {
#define X(field, type, env, value, min, max, help)                                                 \
    {#field, env, value, TYPE_##type, offsetof(struct config, field), min, max, help},
    CONFIG_SETTINGS(X)
#undef X
};

/* "s3_region", "s3-region" and "S3_REGION" are one name. */
static char folded(char c)
{
    if (c == '-')
        return '_';
    return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

static bool same_name(struct str given, const char *env)
{
    const char *want = env + strlen("FIRN_");
    if (given.n != strlen(want))
        return false;
    for (size_t i = 0; i < given.n; i++)
        if (folded(given.p[i]) != want[i])
            return false;
    return true;
}

const struct setting *config__named(struct str name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (same_name(name, config__settings[i].env))
            return &config__settings[i];
    return NULL;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edit distance of two short names, case and dashes ignored. */
static unsigned distance(struct str a, const char *env)
{
    const char *b = env + strlen("FIRN_");
    size_t n = strlen(b);
    unsigned row[NAME_MAX_BYTES];
    if (n >= ARRAY_LEN(row))
        return UINT32_MAX;
    for (size_t k = 0; k <= n; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; i < a.n; i++) {
        char c = folded(a.p[i]);
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t k = 1; k <= n; k++) {
            unsigned above = row[k];
            row[k] = min3(above + 1, row[k - 1] + 1, diagonal + (c != b[k - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

/* A setting's name as a flag, without the dashes in front: "s3-region". */
static void put_flag(struct buf *b, const struct setting *s)
{
    for (const char *p = s->field; *p; p++)
        buf_putc(b, *p == '_' ? '-' : *p);
}

bool config__unknown(struct load *l, struct str name)
{
    const struct setting *best = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < SETTING_COUNT && name.n < NAME_MAX_BYTES; i++) {
        unsigned d = distance(name, config__settings[i].env);
        if (d < least) {
            least = d;
            best = &config__settings[i];
        }
    }
    if (!best || least > 1 + name.n / 4) /* of a short name little may be wrong */
        return err_set(l->err, ERR_BAD_REQUEST,
            "Unknown setting '%s%.*s' in %s. `firn --help` lists all settings", l->prefix,
            STR_ARG(name), l->source);
    AUTO(buf_fini) struct buf flag;
    buf_init(&flag, NAME_MAX_BYTES);
    put_flag(&flag, best);
    return err_set(l->err, ERR_BAD_REQUEST,
        "Unknown setting '%s%.*s' in %s. Did you mean %s (--%.*s)?", l->prefix, STR_ARG(name),
        l->source, best->env, STR_ARG(buf_view(&flag)));
}

static bool bad(struct load *l, const struct setting *s, struct str value, const char *expected)
{
    const char *shown = s->type == TYPE_SECRET ? "(secret)" : arena_cstr(l->a, value);
    return err_set(l->err, ERR_BAD_REQUEST, "Invalid value of %s in %s: expected %s, found '%s'",
        s->env, l->source, expected, shown);
}

static bool parse_bool(struct str v, bool *out)
{
    static const char *const yes[] = {"true", "on", "yes", "1"}, *const no[] = {
                                                                     "false", "off", "no", "0"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_eq_nocase(v, str_from(yes[i])) || str_eq_nocase(v, str_from(no[i]))) {
            *out = str_eq_nocase(v, str_from(yes[i]));
            return true;
        }
    }
    return false;
}

static int64_t suffix(struct str *v)
{
    static const char letters[] = "kmg";
    if (v->n == 0)
        return 1;
    const char *at = strchr(letters, v->p[v->n - 1] | 0x20);
    if (!at || !*at)
        return 1;
    v->n--;
    return (int64_t)1 << (10 * (at - letters + 1));
}

/* Decimal seconds as microseconds. */
static bool parse_seconds(struct str v, int64_t *out)
{
    struct str rest = v;
    struct str whole = str_cut(&rest, '.');
    int64_t s, fraction = 0, unit = 1000000;
    if (str_starts(v, STR("-")) || !str_to_i64(whole, &s) || s > INT32_MAX)
        return false;
    for (size_t i = 0; rest.p && i < rest.n; i++) {
        if (rest.p[i] < '0' || rest.p[i] > '9' || unit == 1)
            return false;
        unit /= 10;
        fraction += (rest.p[i] - '0') * unit;
    }
    *out = s * 1000000 + fraction;
    return true;
}

static bool set_number(struct load *l, const struct setting *s, struct str v, void *field)
{
    int64_t n = 0, scale = s->type == TYPE_SECONDS ? 1000000 : 1;
    struct str digits = v;
    int64_t unit = s->type == TYPE_BYTES ? suffix(&digits) : 1;
    bool ok = s->type == TYPE_SECONDS ? parse_seconds(digits, &n) : str_to_i64(digits, &n);
    ok = ok && !__builtin_mul_overflow(n, unit, &n);
    if (!ok || n < s->min * scale || n > s->max * scale) {
        struct str range = arena_printf(l->a, "%s from %lld to %lld",
            s->type == TYPE_SECONDS ? "seconds"
            : s->type == TYPE_BYTES ? "bytes"
                                    : "a number",
            (long long)s->min, (long long)s->max);
        return bad(l, s, v, range.p);
    }
    *(int64_t *)field = n;
    return true;
}

/* Items separated by commas, blanks or both. */
static bool set_list(struct load *l, const struct setting *s, struct str v, void *field)
{
    const char **list = ARENA_ARRAY(l->a, const char *, LIST_ITEMS_MAX + 1);
    size_t n = 0;
    struct str rest = v;
    while (rest.p) {
        struct str by_comma = str_cut(&rest, ',');
        while (by_comma.p) {
            struct str item = str_trim(str_cut(&by_comma, ' '));
            if (item.n == 0)
                continue;
            if (n == LIST_ITEMS_MAX)
                return bad(l, s, v, "at most 64 items");
            list[n++] = arena_cstr(l->a, item);
        }
    }
    *(const char *const **)field = list;
    return true;
}

bool config__set(struct load *l, const struct setting *s, struct str v)
{
    void *field = (char *)l->conf + s->offset;
    switch (s->type) {
    case TYPE_TEXT:
        *(const char **)field = arena_cstr(l->a, v);
        return true;
    case TYPE_SECRET:
        *(const char **)field = v.p ? secret_dup(l->a, v).p : "";
        return true;
    case TYPE_LIST:
        return set_list(l, s, v, field);
    case TYPE_BOOL:
        return parse_bool(v, field) || bad(l, s, v, "true or false");
    case TYPE_INT:
    case TYPE_BYTES:
    case TYPE_SECONDS:
    default:
        return set_number(l, s, v, field);
    }
}

void config_help(struct buf *out)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &config__settings[i];
        buf_puts(out, "  --");
        put_flag(out, s);
        buf_putf(out, "  (%s", s->env);
        if (*s->value)
            buf_putf(out, ", default %s", s->value);
        buf_putf(out, ")\n      %s\n", s->help);
    }
    buf_puts(out, "  --config  (FIRN_CONFIG)\n      File with lines 'name = value'\n");
}

static void put_value(struct buf *b, const struct setting *s, const void *field)
{
    switch (s->type) {
    case TYPE_SECRET:
        buf_puts(b, **(const char *const *)field ? "***" : "");
        break;
    case TYPE_TEXT:
        buf_puts(b, *(const char *const *)field);
        break;
    case TYPE_LIST:
        for (const char *const *p = *(const char *const *const *)field; *p; p++)
            buf_putf(b, "%s%s", p == *(const char *const *const *)field ? "" : ",", *p);
        break;
    case TYPE_BOOL:
        buf_puts(b, *(const bool *)field ? "true" : "false");
        break;
    case TYPE_SECONDS:
        buf_putf(b, "%g", (double)*(const int64_t *)field / 1e6);
        break;
    case TYPE_INT:
    case TYPE_BYTES:
    default:
        buf_putf(b, "%lld", (long long)*(const int64_t *)field);
    }
}

void config_print(const struct config *c, struct buf *out)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        buf_putf(out, "%s=", config__settings[i].field);
        put_value(out, &config__settings[i], (const char *)c + config__settings[i].offset);
        buf_putc(out, '\n');
    }
}
