#include "handed.h"

#include "str.h"

/* Java and PyIceberg tell the server by it which ways of access they want; it leads nowhere. */
static const char *const harmless[] = {"header.x-iceberg-access-delegation", NULL};

static const char *const refused[] = {
    /* where the catalog is, and who the client is there */
    "uri", "token", "credential", "auth", "auth.*", "oauth2-*", "rest.*", "header.*", "signer.*",
    "s3.signer*", "*.refresh-credentials-endpoint", "client.credentials-provider*",
    /* secrets */
    "*secret*", "*password*", "*access-key-id", "*access-key.id", "*session-token",
    "*session.token", "gcs.oauth2.token*", "gcs.encryption-key", "gcs.decryption-key",
    "adls.sas-token*", "adls.account-key", "adls.token", "adls.connection-string*",
    "adls.auth.shared-key.*", NULL};

static bool begins(struct str s, struct str with)
{
    return str_eq_nocase(str_sub(s, 0, with.n), with);
}

static bool contains(struct str s, struct str what)
{
    for (size_t i = 0; i + what.n <= s.n; i++)
        if (begins(str_sub(s, i, s.n), what))
            return true;
    return false;
}

/* NAME, BEGINS*, *ENDS or *HOLDS*; whatever case. */
static bool fits(struct str name, struct str pattern)
{
    bool before = str_starts(pattern, STR("*")), behind = str_ends(pattern, STR("*"));
    struct str core = str_sub(pattern, before, pattern.n - before - behind);

    if (name.n < core.n)
        return false;
    if (before && behind)
        return contains(name, core);
    if (before)
        return str_eq_nocase(str_sub(name, name.n - core.n, core.n), core);
    return behind ? begins(name, core) : str_eq_nocase(name, core);
}

static bool in(const char *const *patterns, struct str name)
{
    for (const char *const *p = patterns; *p; p++)
        if (fits(name, str_from(*p)))
            return true;
    return false;
}

bool handed_out(const char *name)
{
    struct str key = str_from(name);

    return !in(refused, key) || in(harmless, key);
}

bool handed_check(const json_t *body, struct err *err)
{
    static const char *const members[] = {"defaults", "overrides"};

    for (size_t i = 0; i < 2; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(body, members[i]), key, value)
        {
            if (!handed_out(key))
                return err_set(err, ERR_INVALID_ARGUMENT,
                    "/%s/%s: cannot be handed to clients: it would lead their own credentials "
                    "elsewhere, or show a secret to all who may read the warehouse",
                    members[i], key);
        }
    }
    return true;
}
