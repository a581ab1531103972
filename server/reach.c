#include "reach.h"

#include "base.h"

static bool ends_nocase(struct str s, struct str end)
{
    return s.n >= end.n && str_eq_nocase(str_sub(s, s.n - end.n, end.n), end);
}

struct named {
    struct str whole; /* "http://host:port" */
    struct str host;  /* with the port, unless it is the scheme's own */
    struct str bare;  /* without */
};

/* "*" is all, "*.example.org" what ends so, with any port; other words themselves: HOST[:PORT],
 * perhaps with the scheme. */
static bool matches(struct str pattern, const struct named *e)
{
    size_t scheme = str_find(e->whole, '/') + 2;
    if (str_eq(pattern, STR("*")) || str_eq_nocase(pattern, e->host) ||
        str_eq_nocase(pattern, e->whole) ||
        str_eq_nocase(pattern, str_sub(e->whole, scheme, e->whole.n)))
        return true;
    return str_starts(pattern, STR("*.")) && pattern.n > 2 &&
           ends_nocase(e->bare, str_sub(pattern, 1, pattern.n));
}

/* What is not to be reached is not to be reached at any port. */
static bool denied(struct str pattern, const struct named *e)
{
    if (!str_starts(pattern, STR("!")))
        return false;
    pattern = str_sub(pattern, 1, pattern.n);
    return matches(pattern, e) || str_eq_nocase(pattern, e->bare);
}

static enum store_reach judge(const struct config *conf, const struct named *e)
{
    enum store_reach reach = STORE_REACH_NONE;
    for (const char *const *p = conf->warehouse_endpoints; *p; p++) {
        struct str pattern = str_from(*p);
        if (denied(pattern, e))
            return STORE_REACH_NONE;
        if (!matches(pattern, e))
            continue;
        if (!str_eq(pattern, STR("*")))
            reach = STORE_REACH_PRIVATE;
        else if (reach == STORE_REACH_NONE)
            reach = STORE_REACH_PUBLIC;
    }
    return reach;
}

static bool read_named(const char *endpoint, const char *member, struct named *e, struct err *err)
{
    e->whole = str_from(endpoint);
    TRY(store_endpoint_host(e->whole, member, &e->host, err));
    while (str_ends(e->whole, STR("/")))
        e->whole.n--;
    size_t end = str_starts(e->host, STR("[")) ? str_find(e->host, ']') : 0;
    e->bare = str_sub(e->host, 0, end + str_find(str_sub(e->host, end, e->host.n), ':'));
    return true;
}

enum store_reach reach_of(const struct config *conf, const char *endpoint)
{
    struct named e;
    struct err ignored;
    if (!endpoint)
        return STORE_REACH_PRIVATE; /* AWS's own, which a network may have inside */
    return read_named(endpoint, "", &e, &ignored) ? judge(conf, &e) : STORE_REACH_NONE;
}

bool reach_check(
    const struct config *conf, const char *member, const char *endpoint, struct err *err)
{
    struct named e;
    if (!endpoint)
        return true;
    if (!read_named(endpoint, member, &e, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    return judge(conf, &e) != STORE_REACH_NONE ||
           err_set(err, ERR_FORBIDDEN,
               "%s: %s is not among the endpoints that FIRN_WAREHOUSE_ENDPOINTS allows", member,
               endpoint);
}
