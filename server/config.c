#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arena.h"
#include "str.h"

enum { FILE_MAX_BYTES = 1 << 20, LIST_ITEMS_MAX = 64 };

enum setting_type {
    TYPE_TEXT,
    TYPE_SECRET,
    TYPE_LIST,
    TYPE_INT,
    TYPE_BYTES,
    TYPE_SECONDS,
    TYPE_BOOL
};

struct setting {
    const char *field, *env, *value; /* value: the default's text */
    enum setting_type type;
    size_t offset;
    int64_t min, max;
    const char *help;
};

static const struct setting settings[] = {
#define X(field, type, env, value, min, max, help)                                                 \
    {#field, env, value, TYPE_##type, offsetof(struct config, field), min, max, help},
    CONFIG_SETTINGS(X)
#undef X
};

/* Where a value came from, for messages: "the environment", "line 3 of /etc/firn.conf". */
struct load {
    struct arena *a;
    struct config *conf;
    struct err *err;
    const char *source;
};

/* --- names
 * ---------------------------------------------------------------------------------------- */

/* "s3_region", "s3-region" and "S3_REGION" are one name. */
static bool same_name(struct str given, const char *env)
{
    const char *want = env + strlen("FIRN_");
    if (given.n != strlen(want))
        return false;
    for (size_t i = 0; i < given.n; i++) {
        char c = given.p[i];
        c = c == '-' ? '_' : c;
        c = c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
        if (c != want[i])
            return false;
    }
    return true;
}

static const struct setting *setting_named(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (same_name(name, settings[i].env))
            return &settings[i];
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
    unsigned row[64];
    if (n >= ARRAY_LEN(row))
        return UINT32_MAX;
    for (size_t k = 0; k <= n; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; i < a.n; i++) {
        char c = a.p[i] == '-' ? '_' : a.p[i];
        c = c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
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

static bool unknown(struct load *l, struct str name)
{
    const struct setting *best = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < ARRAY_LEN(settings) && name.n < 64; i++) {
        unsigned d = distance(name, settings[i].env);
        if (d < least) {
            least = d;
            best = &settings[i];
        }
    }
    if (best && least <= 4)
        return err_set(l->err, ERR_BAD_REQUEST,
            "Unknown setting '%.*s' in %s. Did you mean %s (--%s)?", STR_ARG(name), l->source,
            best->env, best->field);
    return err_set(l->err, ERR_BAD_REQUEST,
        "Unknown setting '%.*s' in %s. `firn --help` lists all settings", STR_ARG(name), l->source);
}

/* --- values
 * --------------------------------------------------------------------------------------- */

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
    if (!str_to_i64(whole, &s) || s < 0 || s > INT32_MAX)
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
    if (!ok || n > INT64_MAX / unit || n * unit < s->min * scale || n * unit > s->max * scale) {
        struct str range = arena_printf(l->a, "%s from %lld to %lld",
            s->type == TYPE_SECONDS ? "seconds"
            : s->type == TYPE_BYTES ? "bytes"
                                    : "a number",
            (long long)s->min, (long long)s->max);
        return bad(l, s, v, range.p);
    }
    *(int64_t *)field = n * unit;
    return true;
}

static const char *const *parse_list(struct arena *a, struct str v)
{
    const char **list = ARENA_ARRAY(a, const char *, LIST_ITEMS_MAX + 1);
    size_t n = 0;
    struct str rest = v;
    while (rest.p && n < LIST_ITEMS_MAX) {
        struct str by_comma = str_cut(&rest, ',');
        while (by_comma.p && n < LIST_ITEMS_MAX) {
            struct str item = str_trim(str_cut(&by_comma, ' '));
            if (item.n > 0)
                list[n++] = arena_cstr(a, item);
        }
    }
    return list;
}

static bool set_value(struct load *l, const struct setting *s, struct str v)
{
    void *field = (char *)l->conf + s->offset;
    switch (s->type) {
    case TYPE_TEXT:
    case TYPE_SECRET:
        *(const char **)field = arena_cstr(l->a, v);
        return true;
    case TYPE_LIST:
        *(const char *const **)field = parse_list(l->a, v);
        return true;
    case TYPE_BOOL:
        return parse_bool(v, field) || bad(l, s, v, "true or false");
    case TYPE_INT:
    case TYPE_BYTES:
    case TYPE_SECONDS:
    default:
        return set_number(l, s, v, field);
    }
}

/* --- sources
 * -------------------------------------------------------------------------------------- */

static bool set_defaults(struct load *l)
{
    l->source = "the defaults";
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        TRY(set_value(l, &settings[i], str_from(settings[i].value)));
    return true;
}

static bool read_file(struct load *l, const char *path, struct str *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(l->err, ERR_BAD_REQUEST, "Cannot read the file %s (%s): %s", path, l->source,
            strerror(errno));
    char *p = arena_alloc(l->a, FILE_MAX_BYTES + 1);
    size_t n = 0;
    ssize_t got = 1;
    while (n <= FILE_MAX_BYTES && (got = read(fd, p + n, FILE_MAX_BYTES + 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    if (got < 0 || n > FILE_MAX_BYTES)
        return err_set(l->err, ERR_BAD_REQUEST, "Cannot read the file %s (%s): %s", path, l->source,
            got < 0 ? strerror(errno) : "it is larger than 1 MiB");
    *out = (struct str){p, n};
    return true;
}

/* A secret given as the name of a file: its text without the last line end. */
static bool set_from_file(struct load *l, const struct setting *s, struct str path)
{
    struct str text;
    TRY(read_file(l, arena_cstr(l->a, path), &text));
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
        text.n--;
    return set_value(l, s, text);
}

/* A name from any source. "config" is where the file is, not a setting of the file. */
static bool set_named(struct load *l, struct str name, struct str value)
{
    const struct setting *s = setting_named(name);
    if (s)
        return set_value(l, s, value);
    if (name.n > 5 && str_eq_nocase(str_sub(name, name.n - 5, 5), STR("_file"))) {
        s = setting_named(str_sub(name, 0, name.n - 5));
        if (s && s->type == TYPE_SECRET)
            return set_from_file(l, s, value);
    }
    return unknown(l, name);
}

static bool load_file(struct load *l, const char *path)
{
    struct str rest;
    l->source = "the settings file";
    TRY(read_file(l, path, &rest));
    for (unsigned line = 1; rest.p; line++) {
        struct str text = str_cut(&rest, '\n');
        if (text.n > 0 && text.p[text.n - 1] == '\r')
            text.n--;
        text = str_trim(text);
        if (text.n == 0 || text.p[0] == '#')
            continue;
        struct str source = arena_printf(l->a, "line %u of %s", line, path);
        l->source = source.p;
        struct str value = text;
        struct str name = str_trim(str_cut(&value, '='));
        if (!value.p)
            return err_set(l->err, ERR_BAD_REQUEST, "%s: expected 'name = value', found '%.*s'",
                l->source, STR_ARG(text));
        TRY(set_named(l, name, str_trim(value)));
    }
    return true;
}

/* An orchestrator that runs a service called firn sets FIRN_SERVICE_HOST, FIRN_PORT=tcp://… and the
 * like in every container; names for the build and its tests are not ours to judge either. */
static bool not_ours(struct str name, struct str value)
{
    return str_starts(name, STR("SERVICE_")) || str_starts(name, STR("PORT_")) ||
           str_starts(name, STR("TEST_")) || str_eq(name, STR("FAULT")) ||
           str_eq(name, STR("BIN")) || str_starts(value, STR("tcp://")) ||
           str_starts(value, STR("udp://"));
}

static bool load_environment(struct load *l, char *const *environ_)
{
    l->source = "the environment";
    for (char *const *e = environ_; *e; e++) {
        struct str value = str_from(*e);
        struct str name = str_cut(&value, '=');
        if (!value.p || !str_starts(name, STR("FIRN_")))
            continue;
        struct str bare = str_sub(name, 5, name.n - 5);
        if (str_eq(bare, STR("CONFIG")) ||
            (!str_eq(bare, STR("PORT_FILE")) && not_ours(bare, value)))
            continue;
        TRY(set_named(l, bare, value));
    }
    return true;
}

/* The next flag of the command line: "--name value" or "--name=value". */
static bool flag(
    struct load *l, int argc, char *const *argv, int *i, struct str *name, struct str *value)
{
    struct str arg = str_from(argv[*i]);
    if (!str_starts(arg, STR("--")))
        return err_set(l->err, ERR_BAD_REQUEST,
            "Unexpected argument '%s': settings are given as --name value", argv[*i]);
    *value = str_sub(arg, 2, arg.n - 2);
    *name = str_cut(value, '=');
    if (value->p)
        return true;
    if (*i + 1 >= argc)
        return err_set(l->err, ERR_BAD_REQUEST, "The flag --%.*s needs a value", STR_ARG(*name));
    *value = str_from(argv[++*i]);
    return true;
}

static const char *config_path(struct load *l, int argc, char *const *argv, char *const *environ_)
{
    const char *path = NULL;
    for (char *const *e = environ_; *e; e++)
        if (strncmp(*e, "FIRN_CONFIG=", 12) == 0)
            path = *e + 12;
    struct err ignored;
    struct load probe = {l->a, l->conf, &ignored, ""};
    for (int i = 0; i < argc; i++) {
        struct str name = {0}, value = {0};
        if (flag(&probe, argc, argv, &i, &name, &value) && str_eq(name, STR("config")))
            path = arena_cstr(l->a, value);
    }
    return path && *path ? path : NULL;
}

static bool load_flags(struct load *l, int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++) {
        struct str name, value;
        l->source = "the command line";
        TRY(flag(l, argc, argv, &i, &name, &value));
        if (!str_eq(name, STR("config")))
            TRY(set_named(l, name, value));
    }
    return true;
}

/* --- what spans several settings
 * -------------------------------------------------------------------- */

static bool one_of(struct load *l, const char *env, const char *value, const char *const *words)
{
    struct str list = STR("");
    for (; *words; words++) {
        if (strcmp(value, *words) == 0)
            return true;
        list = arena_printf(
            l->a, "%.*s%s%s", STR_ARG(list), list.n ? ", " : "", **words ? *words : "nothing");
    }
    return err_set(l->err, ERR_BAD_REQUEST, "Invalid value of %s: expected one of %.*s, found '%s'",
        env, STR_ARG(list), value);
}

bool config_address(
    struct arena *a, const char *address, const char **host, uint16_t *port, struct err *err)
{
    const char *colon = strrchr(address, ':');
    int64_t n;
    if (!colon || !str_to_i64(str_from(colon + 1), &n) || n < 0 || n > UINT16_MAX)
        return err_set(err, ERR_BAD_REQUEST, "Invalid address '%s': expected HOST:PORT", address);
    struct str name = str_range(address, colon);
    if (name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
        name = str_sub(name, 1, name.n - 2);
    *host = name.n ? arena_cstr(a, name) : "0.0.0.0";
    *port = (uint16_t)n;
    return true;
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(host, "localhost") == 0;
}

/* Nobody is asked who he is, so nobody from outside may come in unless the operator says so. */
static bool check_address(struct load *l, const char *env, const char *address)
{
    const char *host;
    uint16_t port;
    if (!config_address(l->a, address, &host, &port, l->err))
        return err_wrap(l->err, "%s", env);
    if (is_loopback(host) || strcmp(l->conf->auth, "none") == 0)
        return true;
    return err_set(l->err, ERR_BAD_REQUEST,
        "%s is %s, which is not a loopback address, and no authentication is configured. Everybody "
        "who reaches it could read and change all tables. Say FIRN_AUTH=none to serve it all the "
        "same",
        env, address);
}

static const char *env_value(char *const *environ_, const char *name)
{
    size_t n = strlen(name);
    for (char *const *e = environ_; *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1])
            return *e + n + 1;
    return NULL;
}

static bool set_places(struct load *l, char *const *environ_)
{
    struct config *c = l->conf;
    if (*c->database && *c->warehouse)
        return true;
    const char *data = env_value(environ_, "XDG_DATA_HOME"), *home = env_value(environ_, "HOME");
    if (!data && !home)
        return err_set(l->err, ERR_BAD_REQUEST,
            "Neither FIRN_DATABASE and FIRN_WAREHOUSE nor HOME or XDG_DATA_HOME is set: nowhere to "
            "keep data");
    struct str folder = data ? arena_printf(l->a, "%s/firn", data)
                             : arena_printf(l->a, "%s/.local/share/firn", home);
    if (!*c->database)
        c->database = arena_printf(l->a, "sqlite:%s/firn.db", folder.p).p;
    if (!*c->warehouse)
        c->warehouse = arena_printf(l->a, "file://%s/warehouse", folder.p).p;
    return true;
}

static bool check_words(struct load *l)
{
    const struct config *c = l->conf;
    TRY(one_of(l, "FIRN_LOG_LEVEL", c->log_level,
        (const char *const[]){"error", "warn", "info", "debug", NULL}));
    TRY(one_of(l, "FIRN_LOG_FORMAT", c->log_format, (const char *const[]){"text", "json", NULL}));
    TRY(one_of(l, "FIRN_AUTH", c->auth, (const char *const[]){"", "none", NULL}));
    return one_of(l, "FIRN_S3_PATH_STYLE", c->s3_path_style,
        (const char *const[]){"auto", "true", "false", NULL});
}

bool config_load(struct arena *a, int argc, char *const *argv, char *const *environ_,
    struct config *out, struct err *err)
{
    struct load l = {a, out, err, ""};
    memset(out, 0, sizeof *out);
    TRY(set_defaults(&l));
    const char *path = config_path(&l, argc, argv, environ_);
    if (path)
        TRY(load_file(&l, path));
    TRY(load_environment(&l, environ_));
    TRY(load_flags(&l, argc, argv));
    TRY(check_words(&l));
    TRY(set_places(&l, environ_));
    TRY(check_address(&l, "FIRN_LISTEN", out->listen));
    return check_address(&l, "FIRN_ADMIN_LISTEN", out->admin_listen);
}

/* --- help and print
 * ------------------------------------------------------------------------------- */

static void put_flag(struct buf *b, const struct setting *s)
{
    buf_puts(b, "  --");
    for (const char *p = s->field; *p; p++)
        buf_putc(b, *p == '_' ? '-' : *p);
}

void config_help(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const struct setting *s = &settings[i];
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
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        buf_putf(out, "%s=", settings[i].field);
        put_value(out, &settings[i], (const char *)c + settings[i].offset);
        buf_putc(out, '\n');
    }
}
