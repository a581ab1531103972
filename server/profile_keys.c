#include "profile_keys.h"

#include <string.h>

#include "arena.h"
#include "base.h"
#include "json.h"
#include "secret.h"
#include "secrets.h"

static void wipe(struct str s)
{
    if (s.n > 0)
        secret_wipe(s.p, s.n);
}

/* --- the kinds ---------------------------------------------------------------------------------
 */

static bool is_line(struct str s, struct err *err)
{
    return str_find(s, '\n') == s.n ||
           err_set(err, ERR_INVALID_ARGUMENT, "/credentials: a key cannot hold a line end");
}

/* Joins the lines; the last one may be absent. */
static bool join(
    struct arena *a, const struct str *lines, size_t n, struct str *out, struct err *err)
{
    size_t room = 1;
    for (size_t i = 0; i < n; i++) {
        TRY(is_line(lines[i], err));
        room += lines[i].n + 1;
    }
    char *p = arena_alloc(a, room), *end = p;
    secret_wipe_with(a, p, room);
    for (size_t i = 0; i < n && lines[i].p; i++) {
        if (i > 0)
            *end++ = '\n';
        end = mempcpy(end, lines[i].p, lines[i].n);
    }
    *end = '\0';
    *out = str_range(p, end);
    return true;
}

static bool take_s3(struct arena *a, json_t *credentials, struct str *out, struct err *err)
{
    const struct str lines[] = {json_text_at(credentials, "access-key-id"),
        json_text_at(credentials, "secret-access-key"), json_text_at(credentials, "session-token")};

    if (!lines[0].p || !lines[1].p)
        return true;
    return join(a, lines, ARRAY_LEN(lines), out, err);
}

/* What is shown of a service account's key is its name. */
static bool take_gcs(struct arena *a, json_t *credentials, struct str *out, struct err *err)
{
    const json_t *key = json_object_get(credentials, "service-account-key");
    struct str email = json_text_at(key, "client_email");

    if (!key)
        return true;
    if (!email.p || !json_text_at(key, "private_key").p)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/credentials/service-account-key: expected the JSON of a service account's key, with "
            "client_email and private_key");
    char *text = json_dumps(key, JSON_COMPACT);
    *out = secret_dup(a, str_from(text));
    wipe(str_from(text));
    xfree(text);
    json_object_set_new(credentials, "client-email", json_stringn(email.p, email.n));
    return true;
}

/* The account's key, or the secret of an application. */
static bool take_adls(struct arena *a, json_t *credentials, struct str *out, struct err *err)
{
    struct str key = json_text_at(credentials, "account-key");
    const struct str lines[] = {json_text_at(credentials, "tenant-id"),
        json_text_at(credentials, "client-id"), json_text_at(credentials, "client-secret")};

    if (key.p && lines[2].p)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/credentials: expected an account-key or a client-secret, found both");
    if (key.p)
        return join(a, &key, 1, out, err);
    if (!lines[0].p || !lines[1].p || !lines[2].p)
        return true;
    return join(a, lines, ARRAY_LEN(lines), out, err);
}

static bool needs(const json_t *credentials, const char *member, struct err *err)
{
    return json_text_at(credentials, member).p ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "/credentials/%s: required member of static credentials is missing", member);
}

static bool check_s3(const json_t *credentials, struct err *err)
{
    return needs(credentials, "access-key-id", err);
}

/* The name is there when the key came. */
static bool check_gcs(const json_t *credentials, struct err *err)
{
    return json_text_at(credentials, "client-email").p ||
           needs(credentials, "service-account-key", err);
}

static bool check_adls(const json_t *credentials, struct err *err)
{
    if (!json_text_at(credentials, "client-id").p && !json_text_at(credentials, "tenant-id").p)
        return true;
    return needs(credentials, "tenant-id", err) && needs(credentials, "client-id", err);
}

enum { MEMBERS_MAX = 4 };

static const struct kind {
    const char *store;                /* the type of storage */
    const char *missing;              /* a secret part that must come first */
    const char *members[MEMBERS_MAX]; /* besides the type */
    bool (*take)(struct arena *a, json_t *credentials, struct str *out, struct err *err);
    bool (*check)(const json_t *credentials, struct err *err);
} kinds[] = {
    {"s3",   "secret-access-key",              {"access-key-id", "secret-access-key", "session-token"}, take_s3,
     check_s3                                                                                                                },
    {"gcs",  "service-account-key",            {"service-account-key", "client-email"},                 take_gcs,  check_gcs },
    {"adls", "account-key (or client-secret)",
     {"account-key", "tenant-id", "client-id", "client-secret"},                                        take_adls, check_adls},
};

/* In a row, never. */
static const char *const secret_members[] = {
    "secret-access-key", "session-token", "service-account-key", "account-key", "client-secret"};

static const struct kind *kind_of(const json_t *profile)
{
    struct str type = json_text_at(json_object_get(profile, "storage"), "type");

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq_nocase(type, str_from(kinds[i].store)))
            return &kinds[i];
    return NULL;
}

/* --- for others --------------------------------------------------------------------------------
 */

static bool is_static(const json_t *profile)
{
    struct str type = json_text_at(json_object_get(profile, "credentials"), "type");

    return str_eq_nocase(type, STR("static"));
}

bool profile_has_keys(const json_t *profile)
{
    return is_static(profile) && kind_of(profile);
}

struct str profile_secret(const json_t *profile)
{
    const struct kind *kind = kind_of(profile);

    return secrets_name(kind ? kind->store : NULL);
}

static void forget(json_t *credentials)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_members); i++) {
        const json_t *secret = json_object_get(credentials, secret_members[i]);
        wipe(json_text_at(credentials, secret_members[i]));
        wipe(json_text_at(secret, "private_key"));
        json_object_del(credentials, secret_members[i]);
    }
}

static bool has_member(const struct kind *kind, const char *name)
{
    for (size_t i = 0; kind && i < MEMBERS_MAX && kind->members[i]; i++)
        if (strcmp(kind->members[i], name) == 0)
            return true;
    return strcmp(name, "type") == 0;
}

/* What has no use here was meant for something else, and is no secret any more. */
static bool check_members(const struct kind *kind, json_t *credentials, struct err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(credentials, name, value)
    {
        if (!json_is_null(value) && !has_member(kind, name))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "/credentials/%s: not a member of %s credentials of this storage", name,
                kind ? "static" : "the server's");
    }
    return true;
}

bool profile_take_keys(struct arena *a, json_t *profile, struct str *out, struct err *err)
{
    json_t *credentials = json_object_get(profile, "credentials");
    const struct kind *kind = profile_has_keys(profile) ? kind_of(profile) : NULL;

    *out = (struct str){NULL, 0};
    bool ok =
        check_members(kind, credentials, err) && (!kind || kind->take(a, credentials, out, err));
    forget(credentials);
    return ok;
}

bool profile_check_keys(const json_t *profile, struct err *err)
{
    const struct kind *kind = kind_of(profile);

    if (!is_static(profile))
        return true;
    if (kind)
        return kind->check(json_object_get(profile, "credentials"), err);
    return err_set(err, ERR_INVALID_ARGUMENT,
        "/credentials/type: local files need no static credentials, expected \"server\" or "
        "nothing");
}

bool profile_keys_missing(const json_t *profile, struct err *err)
{
    return err_set(err, ERR_INVALID_ARGUMENT,
        "/credentials/%s: required member of static credentials is missing",
        kind_of(profile)->missing);
}
