#include "credentials.h"

#include "base.h"
#include "buf.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 256 * 1024, PATH_TEXT = 4096 };

static char *copy(struct str s)
{
    char *p = xmalloc(s.n + 1);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

static struct credentials *make(
    struct str id, struct str secret, struct str token, enum credentials_from from)
{
    struct credentials *c = xcalloc(1, sizeof(*c));
    ref_init(&c->ref);
    c->id = copy(id);
    c->secret = copy(secret);
    c->token = token.n > 0 ? copy(token) : NULL;
    c->from = from;
    return c;
}

static void wipe(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    xfree(s);
}

struct credentials *credentials_ref(struct credentials *c)
{
    ref_get(&c->ref);
    return c;
}

void credentials_unref(struct credentials **c)
{
    if (*c && ref_put(&(*c)->ref)) {
        wipe((*c)->id);
        wipe((*c)->secret);
        wipe((*c)->token);
        xfree(*c);
    }
    *c = NULL;
}

static struct str env(const char *name)
{
    const char *v = getenv(name);
    return v && *v ? str_from(v) : (struct str){NULL, 0};
}

static bool read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    buf_reserve(out, FILE_MAX);
    ssize_t n;
    while ((n = read(fd, out->p + out->n, FILE_MAX - out->n)) > 0)
        out->n += (size_t)n;
    (void)close(fd);
    return n == 0;
}

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

static bool file_path(char path[static PATH_TEXT])
{
    struct str named = env("AWS_SHARED_CREDENTIALS_FILE"), home = env("HOME");
    struct str tail = named.p ? STR("") : STR("/.aws/credentials");
    struct str head = named.p ? named : home;
    if (!head.p || head.n + tail.n >= PATH_TEXT)
        return false;
    memcpy(path, head.p, head.n);
    memcpy(path + head.n, tail.p, tail.n);
    path[head.n + tail.n] = '\0';
    return true;
}

bool credentials_reload(struct credentials **out, struct err *err)
{
    char path[PATH_TEXT] = "";
    struct str profile = env("AWS_PROFILE");
    profile = profile.p ? profile : STR("default");
    AUTO(buf_fini) struct buf text;
    buf_init(&text, FILE_MAX);
    struct keys k = {0};
    if (file_path(path) && read_file(path, &text))
        k = find_profile(buf_view(&text), profile);
    bool found = k.id.n > 0 && k.secret.n > 0;
    if (found)
        *out = make(k.id, k.secret, k.token, CREDENTIALS_FILE);
    if (text.p)
        explicit_bzero(text.p, text.n);
    return found ||
           err_set(err, ERR_INTERNAL,
               "no S3 keys: expected FIRN_S3_ACCESS_KEY_ID and FIRN_S3_SECRET_ACCESS_KEY, or "
               "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile %.*s in %s",
               STR_ARG(profile), *path ? path : "~/.aws/credentials");
}

bool credentials_load(const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct str id = str_from(conf->s3_access_key_id), secret = str_from(conf->s3_secret_access_key);
    if (id.n > 0 && secret.n > 0) {
        *out = make(id, secret, str_from(conf->s3_session_token), CREDENTIALS_SETTINGS);
        return true;
    }
    if (id.n > 0 || secret.n > 0)
        return err_set(err, ERR_INTERNAL, "an S3 %s was given without its %s",
            id.n > 0 ? "access key" : "secret key", id.n > 0 ? "secret key" : "access key");
    id = env("AWS_ACCESS_KEY_ID");
    secret = env("AWS_SECRET_ACCESS_KEY");
    if (id.p && secret.p) {
        *out = make(id, secret, env("AWS_SESSION_TOKEN"), CREDENTIALS_ENVIRONMENT);
        return true;
    }
    return credentials_reload(out, err);
}
