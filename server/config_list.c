/* Items of lists that could never match anything: an operator who mistyped one would learn it only
 * from those whom it shuts out. */
#include "config_priv.h"
#include "identity.h"
#include "reach.h"

/* A star is read as itself there, and as "all" by whoever wrote it. */
static bool is_place(struct arena *a, struct str item)
{
    struct location at;
    struct err ignored;
    return str_find(item, '*') == item.n && location_parse(a, item, &at, &ignored);
}

static bool is_folder(struct arena *a, struct str item)
{
    return store_is_file(item) && is_place(a, item);
}

static bool is_property(struct arena *a, struct str item)
{
    (void)a;
    return str_is_pattern(item);
}

/* What browsers never write into an Origin, and no name of a host has. */
static bool is_foreign(char c)
{
    return c <= ' ' || c >= 0x7f || (c >= 'A' && c <= 'Z') || strchr("/?#@\\*%", c);
}

/* "null" is what a page without an origin sends. */
static bool is_origin(struct arena *a, struct str item)
{
    size_t colon = str_find(item, ':');
    struct str scheme = str_sub(item, 0, colon), host = str_sub(item, colon, item.n);
    (void)a;
    if (str_eq(item, STR("null")))
        return true;
    if (scheme.n == 0 || !str_starts(host, STR("://")))
        return false;
    host = str_sub(host, 3, host.n);
    for (size_t i = 0; i < scheme.n + host.n; i++)
        if (is_foreign(i < scheme.n ? scheme.p[i] : host.p[i - scheme.n]))
            return false;
    return host.n > 0 && !str_ends(host, STR(":")) &&
           !(str_eq(scheme, STR("http")) && str_ends(host, STR(":80"))) &&
           !(str_eq(scheme, STR("https")) && str_ends(host, STR(":443")));
}

#define PLACES                                                                                     \
    "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "                                                   \
    "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
static const char endpoint[] = "HOST[:PORT], *.DOMAIN or *, or one of these behind '!'";
static const char folder[] = "file:///PATH without '*'";
static const char word[] =
    "a place (" PLACES ") without '*', a role's ARN, the beginning of one with "
    "'*' behind it, or '*' alone";
static const char place[] = "file:///PATH, " PLACES ", without '*'";
static const char property[] = "NAME, or BEGINS* with '*' at the end";
static const char origin[] = "an origin as browsers send it: SCHEME://HOST[:PORT] in lower case, "
                             "without the port that is the scheme's own, a path and '*'";

static const struct {
    size_t setting;
    bool (*is)(struct arena *a, struct str item);
    const char *expected;
} lists[] = {
    {SETTING_warehouse_endpoints, reach_is_pattern, endpoint},
    {SETTING_warehouse_folders,   is_folder,        folder  },
    {SETTING_warehouse_identity,  identity_is_word, word    },
    {SETTING_allowed_locations,   is_place,         place   },
    {SETTING_allowed_properties,  is_property,      property},
    {SETTING_cors_origins,        is_origin,        origin  },
};

bool config__check_lists(struct load *l)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct setting *s = &config__settings[lists[i].setting];
        const void *field = (const char *)l->conf + s->offset;
        for (const char *const *item = *(const char *const *const *)field; *item; item++)
            if (!lists[i].is(l->a, str_from(*item)))
                return err_set(l->err, ERR_BAD_REQUEST,
                    "Invalid value of %s: expected %s, found '%s'", s->env, lists[i].expected,
                    *item);
    }
    return true;
}
