#include "secrets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apart.h"
#include "arena.h"
#include "config.h"
#include "log.h"
#include "secret.h"
#include "serve.h"
#include "sql.h"
#include "sql_secret.h"
#include "sql_warehouse.h"
#include "store.h"

enum { PAGE = 100, ROUNDS = 4, LINES_MAX = 100, NAMES_MAX = 256 };

/* What there is to keep, and for which kind of storage; a further one is a row here and somebody
 * who opens it. */
static const struct kind {
    const char *name, *store, *what;
    size_t lines_min, lines_max;
} kinds[] = {
    {"s3-keys",   "s3",   "access key, secret key and perhaps a session token, one a line",          2, 3        },
    {"azure-key", "adls", "an account's key, or tenant id, client id and client secret, one a line",
     1,                                                                                                 3        },
    {"gcs-key",   "gcs",  "the JSON of a service account's key",                                     1, LINES_MAX},
};

struct secrets {
    struct sql *sql;
    struct keyring *ring; /* NULL: the settings have no key */
    int64_t warehouse;    /* the default one; 0: it is not made yet */
    struct str has;       /* the name of the secret with its keys; absent: there is none */
};

/* What is sealed with a secret, so that it opens at its own place only. */
static struct str about(struct arena *a, int64_t warehouse, struct str name)
{
    return arena_printf(a, "secret.%lld.%.*s", (long long)warehouse, STR_ARG(name));
}

/* --- for the server ----------------------------------------------------------------------------
 */

static bool check_key(const struct secrets *s, const struct sql_secret *one, struct err *err)
{
    struct str id = secret_key_id(one->sealed);
    if (keyring_has(s->ring, id))
        return true;
    return err_set(err, ERR_INTERNAL,
        "The secret %.*s of the warehouse %.*s is sealed with the key %.*s, which FIRN_SECRET_KEYS "
        "does not hold",
        STR_ARG(one->name), STR_ARG(one->warehouse_name), STR_ARG(id));
}

static bool check_keys(const struct secrets *s, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_secret *page = NULL;
    size_t n = 0;
    do {
        TRY(sql_secret_page(a, s->sql, n > 0 ? &page[n - 1] : NULL, PAGE, &page, &n, err));
        for (size_t i = 0; i < n; i++)
            TRY(check_key(s, &page[i], err));
    } while (n == PAGE);
    return true;
}

static bool unseal(struct arena *a, const struct secrets *s, const struct sql_secret *one,
    struct str *out, struct err *err)
{
    struct str with = about(a, one->warehouse, one->name);
    return secret_open(a, s->ring, with, one->sealed, out, err) ||
           err_wrap(err, "The secret %.*s of the warehouse %.*s", STR_ARG(one->name),
               STR_ARG(one->warehouse_name));
}

struct str secrets_name(const char *kind)
{
    for (size_t i = 0; kind && i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].store, kind) == 0)
            return str_from(kinds[i].name);
    return (struct str){NULL, 0};
}

/* Absent: there are none. */
static bool keys_of(struct arena *a, const struct secrets *s, int64_t warehouse, struct str name,
    struct str *out, struct err *err)
{
    struct sql_secret one = {.warehouse = warehouse, .name = name};
    *out = (struct str){NULL, 0};
    TRY(sql_secret_get(a, s->sql, one.warehouse, one.name, &one.sealed, err));
    return !one.sealed.p || unseal(a, s, &one, out, err);
}

/* What a store asks with. */
struct offer {
    struct secrets *secrets;
    int64_t warehouse;
    struct str name;
};

static bool on_keys(void *ctx, struct arena *a, struct str *out, struct err *err)
{
    const struct offer *offer = ctx;
    TRY(keys_of(a, offer->secrets, offer->warehouse, offer->name, out, err));
    return out->p ||
           err_set(err, ERR_INTERNAL, "there is no secret %.*s any more", STR_ARG(offer->name));
}

static bool find_warehouse(
    struct arena *a, struct secrets *s, const struct config *conf, struct err *err)
{
    struct sql_warehouse *w = NULL;
    TRY(sql_warehouse_get(a, s->sql, str_from(conf->warehouse_name), &w, err));
    s->warehouse = w ? w->id : 0;
    return true;
}

static bool open_ring(
    const struct config *conf, struct sql *sql, struct secrets **out, struct err *err)
{
    AUTO(secrets_free) struct secrets *s = xcalloc(1, sizeof(*s));
    s->sql = sql;
    TRY(keyring_open(str_from(conf->secret_keys), &s->ring, err));
    *out = TAKE(s);
    return true;
}

bool secrets_open(const struct config *conf, struct sql *sql, struct secrets **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(secrets_free) struct secrets *s = NULL;
    struct str name = secrets_name(store_kind(str_from(conf->warehouse))), keys = {NULL, 0};
    TRY(open_ring(conf, sql, &s, err));
    TRY(check_keys(s, err));
    TRY(find_warehouse(a, s, conf, err));
    if (name.p)
        TRY(keys_of(a, s, s->warehouse, name, &keys, err));
    s->has = keys.p ? name : (struct str){NULL, 0};
    *out = TAKE(s);
    return true;
}

void secrets_free(struct secrets **s)
{
    if (*s)
        keyring_free(&(*s)->ring);
    xfree(*s);
    *s = NULL;
}

void secrets_offer(
    struct secrets *s, struct arena *a, int64_t warehouse, struct str name, struct store_conf *conf)
{
    struct offer *offer = ARENA_NEW(a, struct offer);

    *offer = (struct offer){s, warehouse, name};
    conf->sealed = on_keys;
    conf->sealed_ctx = offer;
}

void secrets_offer_own(struct secrets *s, struct arena *a, struct store_conf *conf)
{
    if (s && s->has.p)
        secrets_offer(s, a, s->warehouse, s->has, conf);
}

bool secrets_keep(struct arena *a, struct secrets *s, struct secret_kept *k, struct err *err)
{
    if (!s->ring)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/credentials: this server cannot keep secrets: FIRN_SECRET_KEYS is not set");
    if (k->text.n > SECRET_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/credentials: a secret has at most %d bytes, found %zu", SECRET_MAX, k->text.n);
    TRY(sql_secret_get(a, s->sql, k->warehouse, k->name, &k->was, err));
    struct str sealed = secret_seal(a, s->ring, about(a, k->warehouse, k->name), k->text);
    return sql_secret_put(s->sql, k->warehouse, k->name, sealed, err);
}

void secrets_restore(struct secrets *s, const struct secret_kept *k)
{
    struct err ignored = {0};
    bool deleted;
    if (k->was.p ? !sql_secret_put(s->sql, k->warehouse, k->name, k->was, &ignored)
                 : !sql_secret_delete(s->sql, k->warehouse, k->name, &deleted, &ignored))
        log_write(LOG_WARN, "secrets", "a secret of no warehouse stays: %s", ignored.msg);
}

/* --- the commands ------------------------------------------------------------------------------
 */

static bool need_ring(const struct secrets *s, struct err *err)
{
    return s->ring ||
           err_set(err, ERR_BAD_REQUEST,
               "FIRN_SECRET_KEYS is not set: expected the key to seal with (`firn secrets key ID` "
               "draws one)");
}

static const struct kind *find_kind(const char *name, struct err *err)
{
    char names[NAMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (name && strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
        n += (size_t)snprintf(
            names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "", kinds[i].name);
    }
    (void)err_set(err, ERR_BAD_REQUEST, "Expected the name of a secret (%s), found %s", names,
        name ? name : "nothing");
    return NULL;
}

static bool read_input(struct arena *a, struct str *out, struct err *err)
{
    char *p = arena_alloc(a, SECRET_MAX + 1);
    size_t n = 0;
    ssize_t got = 1;
    while (n <= SECRET_MAX && (got = read(STDIN_FILENO, p + n, SECRET_MAX + 1 - n)) != 0) {
        if (got < 0 && errno != EINTR)
            return err_set(
                err, ERR_INTERNAL, "cannot read the standard input: %s", strerror(errno));
        n += got > 0 ? (size_t)got : 0;
    }
    while (n > 0 && (p[n - 1] == '\n' || p[n - 1] == '\r'))
        n--;
    *out = (struct str){p, n};
    return n <= SECRET_MAX ||
           err_set(err, ERR_BAD_REQUEST, "A secret has at most %d bytes", SECRET_MAX);
}

static bool check_lines(const struct kind *kind, struct str text, struct err *err)
{
    size_t lines = 0, blank = 0;
    for (struct str rest = text; rest.p; lines++)
        blank += str_trim(str_cut(&rest, '\n')).n == 0;
    if (blank == 0 && lines >= kind->lines_min && lines <= kind->lines_max)
        return true;
    return err_set(err, ERR_BAD_REQUEST, "Expected %zu to %zu lines on the standard input: %s",
        kind->lines_min, kind->lines_max, kind->what);
}

/* Made as a start of the server would make it, unless it is there. */
static bool need_warehouse(
    struct arena *a, struct secrets *s, const struct config *conf, struct err *err)
{
    struct sql_warehouse w;
    TRY(find_warehouse(a, s, conf, err));
    if (s->warehouse != 0)
        return true;
    TRY(sql_warehouse_ensure(
        a, s->sql, str_from(conf->warehouse_name), str_from(conf->warehouse), apart, &w, err));
    s->warehouse = w.id;
    return true;
}

static bool run_set(struct arena *a, struct secrets *s, const struct config *conf, const char *name,
    struct err *err)
{
    const struct kind *kind = find_kind(name, err);
    struct str text = STR("");
    TRY(kind && need_ring(s, err) && read_input(a, &text, err));
    TRY(check_lines(kind, text, err));
    TRY(need_warehouse(a, s, conf, err));
    struct str at = str_from(kind->name);
    struct str sealed = secret_seal(a, s->ring, about(a, s->warehouse, at), text);
    TRY(sql_secret_put(s->sql, s->warehouse, at, sealed, err));
    printf("%s of the warehouse %s: sealed with the key %s\n", name, conf->warehouse_name,
        keyring_first(s->ring).p);
    return true;
}

static bool run_delete(struct arena *a, struct secrets *s, const struct config *conf,
    const char *name, struct err *err)
{
    bool deleted = false;
    TRY(find_kind(name, err));
    TRY(find_warehouse(a, s, conf, err));
    TRY(sql_secret_delete(s->sql, s->warehouse, str_from(name), &deleted, err));
    printf("%s of the warehouse %s: %s\n", name, conf->warehouse_name,
        deleted ? "deleted" : "there was none");
    return true;
}

static bool run_list(struct arena *a, struct secrets *s, const struct config *conf,
    const char *name, struct err *err)
{
    struct sql_secret *page = NULL;
    size_t n = 0;
    (void)conf;
    (void)name;
    do {
        TRY(sql_secret_page(a, s->sql, n > 0 ? &page[n - 1] : NULL, PAGE, &page, &n, err));
        for (size_t i = 0; i < n; i++) {
            struct str key = secret_key_id(page[i].sealed);
            printf("warehouse=%.*s name=%.*s key=%.*s%s\n", STR_ARG(page[i].warehouse_name),
                STR_ARG(page[i].name), STR_ARG(key),
                keyring_has(s->ring, key) ? "" : " (a key that FIRN_SECRET_KEYS does not hold)");
        }
    } while (n == PAGE);
    return true;
}

/* How many there were of each. */
struct rotation {
    size_t sealed, current;
};

static bool seal_anew(struct arena *a, struct secrets *s, const struct sql_secret *one,
    bool *swapped, struct err *err)
{
    struct str text = STR("");
    TRY(unseal(a, s, one, &text, err));
    struct str fresh = secret_seal(a, s->ring, about(a, one->warehouse, one->name), text);
    return sql_secret_swap(s->sql, one, fresh, swapped, err);
}

/* What others write meanwhile is kept: only the text that was opened is replaced. */
static bool rotate_one(
    struct arena *a, struct secrets *s, struct sql_secret one, struct rotation *r, struct err *err)
{
    for (int round = 0; round < ROUNDS && one.sealed.p; round++) {
        bool swapped = false;
        if (str_eq(secret_key_id(one.sealed), keyring_first(s->ring))) {
            r->current++;
            return true;
        }
        TRY(seal_anew(a, s, &one, &swapped, err));
        r->sealed += swapped;
        if (swapped)
            return true;
        TRY(sql_secret_get(a, s->sql, one.warehouse, one.name, &one.sealed, err));
    }
    return !one.sealed.p || err_set(err, ERR_INTERNAL,
                                "The secret %.*s of the warehouse %.*s is being changed by others",
                                STR_ARG(one.name), STR_ARG(one.warehouse_name));
}

/* Each secret by itself: one that does not open holds up no other. */
static bool run_rotate(struct arena *a, struct secrets *s, const struct config *conf,
    const char *name, struct err *err)
{
    struct sql_secret *page = NULL;
    struct rotation r = {0};
    size_t n = 0, bad = 0;
    (void)conf;
    (void)name;
    TRY(need_ring(s, err));
    do {
        TRY(sql_secret_page(a, s->sql, n > 0 ? &page[n - 1] : NULL, PAGE, &page, &n, err));
        for (size_t i = 0; i < n; i++) {
            if (rotate_one(a, s, page[i], &r, err))
                continue;
            if (err->kind == ERR_UNAVAILABLE)
                return false;
            fprintf(stderr, "%s%s\n", ERR_ALL(err));
            bad++;
        }
    } while (n == PAGE);
    printf("%zu sealed anew with the key %s, %zu were already\n", r.sealed,
        keyring_first(s->ring).p, r.current);
    return bad == 0 || err_set(err, ERR_INTERNAL, "%zu secrets stay as they are", bad);
}

static bool run_key(struct arena *a, struct secrets *s, const struct config *conf, const char *name,
    struct err *err)
{
    struct str key;
    (void)s;
    (void)conf;
    TRY(keyring_draw(a, str_from(name), &key, err));
    printf("%s\n", key.p);
    return true;
}

static const struct word {
    const char *name, *more;
    bool (*run)(struct arena *a, struct secrets *s, const struct config *conf, const char *name,
        struct err *err);
    enum { WITH_DATABASE, WITHOUT_DATABASE } needs;
} commands[] = {
    {"set",    "NAME: seals what the standard input holds",                 run_set,    WITH_DATABASE   },
    {"delete", "NAME",                                                      run_delete, WITH_DATABASE   },
    {"list",   "",                                                          run_list,   WITH_DATABASE   },
    {"rotate", ": seals everything with the first key of FIRN_SECRET_KEYS", run_rotate,
     WITH_DATABASE                                                                                      },
    {"key",    "ID: draws a key",                                           run_key,    WITHOUT_DATABASE},
};

static int usage(void)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(stderr, "firn secrets %s %s\n", commands[i].name, commands[i].more);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        fprintf(stderr, "NAME %s: %s\n", kinds[i].name, kinds[i].what);
    return 2;
}

static bool run(
    const struct word *word, const struct config *conf, const char *name, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(sql_close) struct sql *sql = NULL;
    AUTO(secrets_free) struct secrets *s = NULL;
    if (word->needs == WITH_DATABASE) {
        TRY(serve_open_database(conf, SERVE_EXISTING, &sql, err));
        if (!serve_check_schema(sql, err))
            return err_wrap(err, "The schema of the database");
    }
    TRY(open_ring(conf, sql, &s, err));
    return word->run(a, s, conf, name, err);
}

int secrets_command(const struct config *conf, char *const *words, struct err *err)
{
    for (size_t i = 0; words[0] && i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, words[0]) == 0)
            return run(&commands[i], conf, words[1], err) ? 0 : 1;
    return usage();
}
