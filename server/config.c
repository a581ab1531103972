#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "config_priv.h"
#include "secret.h"

enum { FILE_MAX_BYTES = 1 << 20 };

static bool set_defaults(struct load *l)
{
    l->source = "the defaults";
    for (size_t i = 0; i < SETTING_COUNT; i++)
        TRY(config__set(l, &config__settings[i], str_from(config__settings[i].value)));
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
    secret_wipe_with(l->a, p, n);
    if (got < 0 || n > FILE_MAX_BYTES)
        return err_set(l->err, ERR_BAD_REQUEST, "Cannot read the file %s (%s): %s", path, l->source,
            got < 0 ? strerror(errno) : "it is larger than 1 MiB");
    if (memchr(p, '\0', n))
        return err_set(
            l->err, ERR_BAD_REQUEST, "Cannot use the file %s (%s): it is no text", path, l->source);
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
    return config__set(l, s, text);
}

/* Which of two lines, or flags, is meant would depend on their order, and who reads one may not see
 * the other. */
static bool first_line(struct load *l, const struct setting *s)
{
    unsigned *line = &l->set_in[s - config__settings];
    if (!l->line)
        return true;
    if (*line == FLAG)
        return err_set(l->err, ERR_BAD_REQUEST, "%s: %s is set by two flags", l->source, s->env);
    if (*line)
        return err_set(
            l->err, ERR_BAD_REQUEST, "%s: %s was set in line %u already", l->source, s->env, *line);
    *line = l->line;
    return true;
}

/* A name from any source. "config" is where the file is, not a setting of the file. */
static bool set_named(struct load *l, struct str name, struct str value)
{
    const struct setting *s = config__named(name);
    if (s)
        return first_line(l, s) && config__set(l, s, value);
    struct str end = name.n > 5 ? str_sub(name, name.n - 5, 5) : (struct str){0};
    if (str_eq_nocase(end, STR("_file")) || str_eq_nocase(end, STR("-file"))) {
        s = config__named(str_sub(name, 0, name.n - 5));
        if (s && s->type == TYPE_SECRET)
            return first_line(l, s) && set_from_file(l, s, value);
    }
    return config__unknown(l, name);
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
        l->line = line;
        struct str value = text;
        struct str name = str_trim(str_cut(&value, '='));
        if (!value.p)
            return err_set(l->err, ERR_BAD_REQUEST, /* the line may hold a secret */
                "%s: expected 'name = value', found a line without '='", l->source);
        TRY(set_named(l, name, str_trim(value)));
    }
    l->line = 0;
    return true;
}

/* "PORT_8181" anywhere in the name. */
static bool has_port_number(struct str name)
{
    while (name.n > 5) {
        if (str_starts(name, STR("PORT_")) && name.p[5] >= '0' && name.p[5] <= '9')
            return true;
        name = str_sub(name, 1, name.n - 1);
    }
    return false;
}

/* Kubernetes and Docker set, in every container, for a service called firn or firn-x:
 * FIRN_X_SERVICE_HOST, FIRN_X_SERVICE_PORT, FIRN_X_PORT=tcp://…, FIRN_X_PORT_8181_TCP_ADDR and the
 * like. Names for the build and its tests are not ours to judge either. */
static bool not_ours(struct str name, struct str value)
{
    return memmem(name.p, name.n, "SERVICE_HOST", 12) ||
           memmem(name.p, name.n, "SERVICE_PORT", 12) || has_port_number(name) ||
           str_starts(value, STR("tcp://")) || str_starts(value, STR("udp://")) ||
           str_starts(value, STR("sctp://")) || str_starts(name, STR("TEST_")) ||
           str_eq(name, STR("FAULT")) || str_eq(name, STR("BIN"));
}

static const char *env_value(char *const *environ_, struct str name)
{
    for (char *const *e = environ_; *e; e++)
        if (strncmp(*e, name.p, name.n) == 0 && (*e)[name.n] == '=')
            return *e + name.n + 1;
    return NULL;
}

/* Which of the two is meant would depend on their order. */
static bool check_once(struct load *l, char *const *environ_, struct str name)
{
    if (config__named(str_sub(name, 5, name.n)) || !str_ends(name, STR("_FILE")) ||
        !env_value(environ_, str_sub(name, 0, name.n - 5)))
        return true;
    return err_set(l->err, ERR_BAD_REQUEST,
        "Both %.*s and %.*s are set in %s: expected one of them", (int)name.n - 5, name.p,
        STR_ARG(name), l->source);
}

static bool load_environment(struct load *l, char *const *environ_)
{
    l->source = "the environment";
    l->prefix = "FIRN_";
    for (char *const *e = environ_; *e; e++) {
        struct str value = str_from(*e);
        struct str name = str_cut(&value, '=');
        if (!value.p || !str_starts(name, STR("FIRN_")))
            continue;
        struct str bare = str_sub(name, 5, name.n - 5);
        if (str_eq(bare, STR("CONFIG")) || not_ours(bare, value))
            continue;
        TRY(check_once(l, environ_, name));
        TRY(set_named(l, bare, value));
    }
    l->prefix = "";
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
    const char *path = env_value(environ_, STR("FIRN_CONFIG"));
    struct err ignored;
    struct load probe = {.a = l->a, .conf = l->conf, .err = &ignored, .source = "", .prefix = ""};
    for (int i = 0; i < argc; i++) {
        struct str name = {0}, value = {0};
        if (flag(&probe, argc, argv, &i, &name, &value) && str_eq(name, STR("config")))
            path = arena_cstr(l->a, value);
    }
    return path && *path ? path : NULL;
}

static bool load_flags(struct load *l, int argc, char *const *argv)
{
    unsigned files = 0;

    memset(l->set_in, 0, sizeof l->set_in);
    for (int i = 0; i < argc; i++) {
        struct str name, value;
        l->source = "the command line";
        l->line = FLAG;
        TRY(flag(l, argc, argv, &i, &name, &value));
        if (!str_eq(name, STR("config")))
            TRY(set_named(l, name, value));
        else if (files++)
            return err_set(l->err, ERR_BAD_REQUEST, "%s: --config is given twice", l->source);
    }
    l->line = 0;
    return true;
}

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

/* A folder named by the environment, without slashes at its end; absent when unset or empty. */
static struct str env_folder(char *const *environ_, struct str name)
{
    struct str folder = str_from(env_value(environ_, name));
    if (folder.n == 0)
        return (struct str){0};
    while (folder.n > 0 && folder.p[folder.n - 1] == '/')
        folder.n--;
    return folder;
}

static bool set_places(struct load *l, char *const *environ_)
{
    struct config *c = l->conf;
    if (*c->database && *c->warehouse)
        return true;
    struct str data = env_folder(environ_, STR("XDG_DATA_HOME"));
    struct str home = env_folder(environ_, STR("HOME"));
    if (!data.p && !home.p)
        return err_set(l->err, ERR_BAD_REQUEST,
            "Neither FIRN_DATABASE and FIRN_WAREHOUSE nor HOME or XDG_DATA_HOME is set: nowhere to "
            "keep data");
    struct str folder = data.p ? arena_printf(l->a, "%.*s/firn", STR_ARG(data))
                               : arena_printf(l->a, "%.*s/.local/share/firn", STR_ARG(home));
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
    TRY(one_of(
        l, "FIRN_PURGE", c->purge, (const char *const[]){"allow", "ignore", "refuse", NULL}));
    TRY(one_of(l, "FIRN_AUTH", c->auth, (const char *const[]){"", "none", NULL}));
    TRY(one_of(l, "FIRN_S3_REMOTE_SIGNING", c->s3_remote_signing,
        (const char *const[]){"false", "true", "only", NULL}));
    TRY(one_of(l, "FIRN_S3_PATH_STYLE", c->s3_path_style,
        (const char *const[]){"auto", "true", "false", NULL}));
    return one_of(l, "FIRN_AZURE_VEND", c->azure_vend,
        (const char *const[]){"none", "directory", "container", NULL});
}

/* What answers lead back to must be there as long as they are. */
static bool check_times(struct load *l)
{
    const struct config *c = l->conf;
    return c->change_retention >= c->idempotency_lifetime ||
           err_set(l->err, ERR_BAD_REQUEST,
               "FIRN_CHANGE_RETENTION is %g seconds, expected at least the %g of "
               "FIRN_IDEMPOTENCY_LIFETIME",
               (double)c->change_retention / 1e6, (double)c->idempotency_lifetime / 1e6);
}

static bool check_addresses(struct load *l)
{
    const struct config *c = l->conf;
    TRY(check_address(l, "FIRN_LISTEN", c->listen));
    if (*c->management_listen)
        TRY(check_address(l, "FIRN_MANAGEMENT_LISTEN", c->management_listen));
    return check_address(l, "FIRN_ADMIN_LISTEN", c->admin_listen);
}

bool config_load(struct arena *a, int argc, char *const *argv, char *const *environ_,
    struct config *out, struct err *err)
{
    struct load l = {.a = a, .conf = out, .err = err, .source = "", .prefix = ""};
    memset(out, 0, sizeof *out);
    TRY(set_defaults(&l));
    const char *path = config_path(&l, argc, argv, environ_);
    if (path)
        TRY(load_file(&l, path));
    TRY(load_environment(&l, environ_));
    TRY(load_flags(&l, argc, argv));
    TRY(check_words(&l));
    TRY(check_times(&l));
    TRY(config__check_lists(&l));
    TRY(set_places(&l, environ_));
    return check_addresses(&l);
}
