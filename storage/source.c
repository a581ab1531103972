#include "source_priv.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "secret.h"
#include "store.h"
#include "sts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 256 * 1024, STS_US = 5000000 };

struct str source__env(const char *name)
{
    const char *v = getenv(name);
    return v && *v ? str_from(v) : (struct str){NULL, 0};
}

static struct str trimmed(struct str s)
{
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]))
        s = str_sub(s, 1, s.n);
    return s;
}

bool source__file(struct arena *a, struct str path, struct str *out, struct err *err)
{
    int fd = open(arena_cstr(a, path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot read %.*s: %s", STR_ARG(path), strerror(errno));
    char *p = arena_alloc(a, FILE_MAX + 1);
    size_t n = 0;
    ssize_t got = 1;
    while (n <= FILE_MAX && (got = read(fd, p + n, FILE_MAX + 1 - n)) > 0)
        n += (size_t)got;
    int why = errno;
    (void)close(fd);
    secret_wipe_with(a, p, n);
    if (got < 0 || n > FILE_MAX)
        return err_set(err, ERR_INTERNAL, "cannot read %.*s: %s", STR_ARG(path),
            got < 0 ? strerror(why) : "it has more than 256 KB");
    *out = trimmed((struct str){p, n});
    return true;
}

/* --- settings and environment ------------------------------------------------------------------
 */

static bool settings_given(const struct store_conf *conf)
{
    return str_from(conf->s3_access_key_id).n > 0 || str_from(conf->s3_secret_access_key).n > 0;
}

static bool settings_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct str id = str_from(conf->s3_access_key_id), secret = str_from(conf->s3_secret_access_key);
    (void)a;
    if (id.n == 0 || secret.n == 0)
        return err_set(err, ERR_INTERNAL, "an S3 %s was given without its %s",
            id.n > 0 ? "access key" : "secret key", id.n > 0 ? "secret key" : "access key");
    *out = credentials_new(id, secret, str_from(conf->s3_session_token), 0);
    return true;
}

static bool sealed_given(const struct store_conf *conf)
{
    return conf->sealed != NULL;
}

/* The id, the secret and perhaps a token, one a line. */
static bool sealed_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct str text = STR("");
    TRY(conf->sealed(conf->sealed_ctx, a, &text, err));
    struct str rest = trimmed(text);
    struct str id = str_trim(str_cut(&rest, '\n'));
    struct str secret = str_trim(str_cut(&rest, '\n'));
    if (id.n == 0 || secret.n == 0)
        return err_set(err, ERR_INTERNAL,
            "expected an access key, a secret key and perhaps a session token, one a line");
    *out = credentials_new(trimmed(id), trimmed(secret), trimmed(rest), 0);
    return true;
}

static bool environment_given(const struct store_conf *conf)
{
    (void)conf;
    return source__env("AWS_ACCESS_KEY_ID").p && source__env("AWS_SECRET_ACCESS_KEY").p;
}

static bool environment_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    (void)a;
    (void)conf;
    (void)err;
    *out = credentials_new(source__env("AWS_ACCESS_KEY_ID"), source__env("AWS_SECRET_ACCESS_KEY"),
        source__env("AWS_SESSION_TOKEN"), 0);
    return true;
}

/* --- the shared files --------------------------------------------------------------------------
 */

struct keys {
    struct str id, secret, token;
};

static void take_line(struct keys *k, struct str line)
{
    struct str value = line;
    struct str name = str_trim(str_cut(&value, '='));
    value = str_trim(value);
    if (str_eq_nocase(name, STR("aws_access_key_id")))
        k->id = value;
    else if (str_eq_nocase(name, STR("aws_secret_access_key")))
        k->secret = value;
    else if (str_eq_nocase(name, STR("aws_session_token")))
        k->token = value;
}

static struct keys find_profile(struct str text, struct str profile)
{
    struct keys k = {0};
    bool inside = false;
    while (text.p) {
        struct str line = str_cut(&text, '\n');
        if (str_ends(line, STR("\r")))
            line.n--;
        line = str_trim(line);
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
            continue;
        if (line.p[0] == '[')
            inside = str_eq(str_trim(str_sub(line, 1, str_find(line, ']') - 1)), profile);
        else if (inside)
            take_line(&k, line);
    }
    return k;
}

static struct str profile_name(void)
{
    struct str profile = source__env("AWS_PROFILE");
    return profile.p ? profile : STR("default");
}

/* The path from its variable, else below the home folder; absent without one. */
static struct str shared_file(struct arena *a, const char *variable, const char *name)
{
    struct str named = source__env(variable), home = source__env("HOME");
    if (named.p || !home.p)
        return named;
    return arena_printf(a, "%.*s/.aws/%s", STR_ARG(home), name);
}

static struct keys keys_of(struct arena *a, struct str path, struct str section)
{
    struct err ignored;
    struct str text;
    struct keys k = {0};
    if (path.p && source__file(a, path, &text, &ignored))
        k = find_profile(text, section);
    return k.id.n > 0 && k.secret.n > 0 ? k : (struct keys){0};
}

/* The credentials file calls a profile by its name, the other one "profile NAME". */
static struct keys shared_keys(struct arena *a)
{
    struct str name = profile_name();
    struct keys k = keys_of(a, shared_file(a, "AWS_SHARED_CREDENTIALS_FILE", "credentials"), name);
    if (k.id.n > 0)
        return k;
    bool is_default = str_eq(name, STR("default"));
    return keys_of(a, shared_file(a, "AWS_CONFIG_FILE", "config"),
        is_default ? name : arena_printf(a, "profile %.*s", STR_ARG(name)));
}

static bool shared_given(const struct store_conf *conf)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    (void)conf;
    return source__env("AWS_PROFILE").p || shared_keys(a).id.n > 0; /* who names one means it */
}

static bool shared_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct keys k = shared_keys(a);
    (void)conf;
    if (k.id.n == 0)
        return err_set(
            err, ERR_INTERNAL, "the profile %.*s has no keys any more", STR_ARG(profile_name()));
    *out = credentials_new(k.id, k.secret, k.token, 0);
    return true;
}

/* --- web identity ------------------------------------------------------------------------------
 */

static struct sts_service service_of(const struct store_conf *conf)
{
    struct str named = str_from(conf->sts_endpoint);
    return (struct sts_service){
        .endpoint = named.n > 0 ? named : source__env("AWS_ENDPOINT_URL_STS"),
        .region = str_from(conf->s3_region),
        .deadline_us = clock_mono_us() + STS_US,
        .reach = named.n > 0 ? fetch_reach_of(conf->sts_reach) : FETCH_PRIVATE,
    };
}

/* Not the warehouse's: whoever gets the token can be the server. */
static struct sts_service own_service(const struct store_conf *conf)
{
    struct store_conf own = *conf;
    own.sts_endpoint = conf->identity_endpoint;
    own.sts_reach = STORE_REACH_PRIVATE;
    return service_of(&own);
}

static struct str session_name(void)
{
    struct str name = source__env("AWS_ROLE_SESSION_NAME");
    return name.p ? name : STR("firn");
}

static bool token_given(const struct store_conf *conf)
{
    (void)conf;
    return source__env("AWS_WEB_IDENTITY_TOKEN_FILE").p && source__env("AWS_ROLE_ARN").p;
}

/* The file is read each time: who issues the tokens puts a new one there before the old expires. */
static bool token_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct sts_role role = {.arn = source__env("AWS_ROLE_ARN"), .session = session_name()};
    const struct sts_service service = own_service(conf);
    struct str path = source__env("AWS_WEB_IDENTITY_TOKEN_FILE"), token = STR("");
    TRY(source__file(a, path, &token, err));
    if (token.n == 0)
        return err_set(err, ERR_INTERNAL, "%.*s is empty, expected a token", STR_ARG(path));
    return sts_assume_role_by_token(&service, token, &role, out, err);
}

/* --- the table ---------------------------------------------------------------------------------
 */

/* In the order in which they are looked for. */
static const struct source sources[] = {
    {"the settings",                     settings_given,           settings_fetch,     SOURCE_FIXED,   SOURCE_TOLD   },
    {"the database",                     sealed_given,             sealed_fetch,       SOURCE_RENEWED, SOURCE_TOLD   },
    {"the environment",                  environment_given,        environment_fetch,  SOURCE_FIXED,   SOURCE_AROUND },
    {"the web identity",                 token_given,              token_fetch,        SOURCE_RENEWED, SOURCE_WEB    },
    {"the shared files",                 shared_given,             shared_fetch,       SOURCE_LOOKED,  SOURCE_AROUND },
    {"the container",                    machine__container_given, machine__container, SOURCE_RENEWED, SOURCE_MACHINE},
    {"the instance (no others are set)", machine__instance_given,  machine__instance,  SOURCE_RENEWED,
     SOURCE_MACHINE                                                                                                  },
};

static bool serves(const struct source *source, const struct store_conf *conf)
{
    static const enum source_of wanted[] = {
        [STORE_IDENTITY_WEB] = SOURCE_WEB, [STORE_IDENTITY_MACHINE] = SOURCE_MACHINE};

    if (conf->identity != STORE_IDENTITY_ANY && source->of != SOURCE_TOLD &&
        source->of != wanted[conf->identity])
        return false;
    return source->given(conf);
}

const struct source *source__first(
    const struct source *list, size_t n, const struct store_conf *conf)
{
    for (size_t i = 0; i < n; i++)
        if (serves(&list[i], conf))
            return &list[i];
    return NULL;
}

static bool none_of(enum store_identity identity, struct err *err)
{
    if (identity == STORE_IDENTITY_WEB)
        return err_set(err, ERR_INTERNAL,
            "no S3 keys of a web identity: expected AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN");
    return err_set(err, ERR_INTERNAL,
        "no S3 keys of the machine: expected AWS_CONTAINER_CREDENTIALS_FULL_URI, or an instance, "
        "which AWS_EC2_METADATA_DISABLED forbids asking");
}

bool source_find(const struct store_conf *conf, const struct source **out, struct err *err)
{
    *out = source__first(sources, ARRAY_LEN(sources), conf);
    if (*out)
        return true;
    if (conf->identity != STORE_IDENTITY_ANY)
        return none_of(conf->identity, err);
    return err_set(err, ERR_INTERNAL,
        "no S3 keys: expected FIRN_S3_ACCESS_KEY_ID and FIRN_S3_SECRET_ACCESS_KEY, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_WEB_IDENTITY_TOKEN_FILE and "
        "AWS_ROLE_ARN, or the profile %.*s in ~/.aws/credentials or ~/.aws/config, or "
        "AWS_CONTAINER_CREDENTIALS_FULL_URI; and AWS_EC2_METADATA_DISABLED forbids asking the "
        "instance",
        STR_ARG(profile_name()));
}

/* Nothing but an absence heals by itself. */
static bool fails(struct err *err)
{
    return err->kind != ERR_UNAVAILABLE ? err_as(err, ERR_INTERNAL) : false;
}

bool source__fetch(const struct source *source, const struct store_conf *conf,
    struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    return source->fetch(a, conf, out, err) || fails(err);
}

/* The keys of the role that FIRN_S3_ROLE_ARN names, by those of the source. */
static bool assume(const struct store_conf *conf, const struct credentials *by,
    struct credentials **out, struct err *err)
{
    const struct sts_service service = service_of(conf);
    const struct sts_role role = {
        .arn = str_from(conf->s3_role_arn),
        .session = session_name(),
        .external_id = str_from(conf->s3_external_id),
    };
    return sts_assume_role(&service, by, &role, out, err);
}

bool source_fetch(const struct source *source, const struct store_conf *conf,
    struct credentials **out, struct err *err)
{
    AUTO(credentials_unref) struct credentials *found = NULL;
    TRY(source__fetch(source, conf, &found, err));
    if (str_from(conf->s3_role_arn).n > 0)
        return assume(conf, found, out, err) || fails(err);
    *out = TAKE(found);
    return true;
}

static bool find(const struct store_conf *conf, const struct source **out, enum source_kind *kind,
    struct err *err)
{
    TRY(source_find(conf, out, err));
    *kind = str_from(conf->s3_role_arn).n > 0 ? SOURCE_RENEWED : (*out)->kind;
    return true;
}

const struct sources sources_s3 = {"S3 keys", find, source_fetch};
