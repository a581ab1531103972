#include "reach.h"

#include <string.h>

#include "base.h"

static bool ends_nocase(struct str s, struct str end)
{
    return s.n >= end.n && str_eq_nocase(str_sub(s, s.n - end.n, end.n), end);
}

/* An endpoint, or what a pattern says of one. */
struct named {
    struct str scheme; /* absent: of any */
    struct str host;   /* without the port; of a number the canonical form */
    int64_t port;      /* 0: none is said */
    char number[STORE_ADDRESS];
};

static bool read_port(struct str text, int64_t *out)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return str_to_i64(text, out) && *out > 0 && *out < 65536;
}

/* [SCHEME://]HOST[:PORT] */
static bool read_named(struct str text, struct named *e)
{
    size_t scheme = str_find(text, '/');
    *e = (struct named){.host = text};
    if (scheme + 2 <= text.n) {
        e->scheme = str_sub(text, 0, scheme);
        e->host = str_sub(text, scheme + 2, text.n);
    }
    while (str_ends(e->host, STR("/")))
        e->host.n--;
    if (store_address(e->host, e->number)) {
        e->host = str_from(e->number);
        return true;
    }
    size_t end = str_starts(e->host, STR("[")) ? str_find(e->host, ']') : 0;
    size_t colon = end + str_find(str_sub(e->host, end, e->host.n), ':');
    if (end > 0 && end + 1 != colon)
        return false;
    if (colon < e->host.n && !read_port(str_sub(e->host, colon + 1, e->host.n), &e->port))
        return false;
    e->host = str_sub(e->host, 0, colon);
    if (store_address(e->host, e->number))
        e->host = str_from(e->number);
    return true;
}

static int64_t own_port(struct str scheme)
{
    return str_eq_nocase(scheme, STR("https:")) ? 443 : 80;
}

enum ports { SAID_PORT, ANY_PORT };

/* "*" is all, "*.example.org" what ends so, with any port; other words themselves: HOST[:PORT],
 * perhaps with the scheme. */
static bool matches(struct str pattern, const struct named *e, enum ports unsaid)
{
    struct named p;
    if (str_eq(pattern, STR("*")))
        return true;
    if (str_starts(pattern, STR("*.")))
        return pattern.n > 2 && ends_nocase(e->host, str_sub(pattern, 1, pattern.n));
    if (!read_named(pattern, &p) || !str_eq_nocase(p.host, e->host) ||
        (p.scheme.p && !str_eq_nocase(p.scheme, e->scheme)))
        return false;
    int64_t port = p.port ? p.port : own_port(e->scheme);
    return (p.port == 0 && unsaid == ANY_PORT) || port == e->port;
}

/* What is not to be reached is not to be reached at any port. */
static bool denied(struct str pattern, const struct named *e)
{
    return str_starts(pattern, STR("!")) && matches(str_sub(pattern, 1, pattern.n), e, ANY_PORT);
}

static enum store_reach judge(const struct config *conf, const struct named *e)
{
    enum store_reach reach = STORE_REACH_NONE;
    for (const char *const *p = conf->warehouse_endpoints; *p; p++) {
        struct str pattern = str_from(*p);
        if (denied(pattern, e))
            return STORE_REACH_NONE;
        if (!matches(pattern, e, SAID_PORT))
            continue;
        if (!str_eq(pattern, STR("*")))
            reach = STORE_REACH_PRIVATE;
        else if (reach == STORE_REACH_NONE)
            reach = STORE_REACH_PUBLIC;
    }
    return reach;
}

static bool read_endpoint(
    const char *endpoint, const char *member, struct named *e, struct err *err)
{
    struct str host;
    TRY(store_endpoint_host(str_from(endpoint), member, &host, err));
    if (!read_named(str_from(endpoint), e))
        return err_set(err, ERR_INVALID_ARGUMENT, "%s: expected a port from 1 to 65535", member);
    if (e->port == 0)
        e->port = own_port(e->scheme);
    return true;
}

/* [http[s]://]HOST[:PORT] */
static bool is_endpoint(struct arena *a, struct str text)
{
    struct named e;
    struct err ignored;
    size_t slash = str_find(text, '/');
    if (str_starts(str_sub(text, slash, text.n), STR("//"))) {
        struct str scheme = str_sub(text, 0, slash);
        if (!str_eq_nocase(scheme, STR("http:")) && !str_eq_nocase(scheme, STR("https:")))
            return false;
        text = str_sub(text, slash + 2, text.n);
    }
    struct str url = arena_printf(a, "http://%.*s", STR_ARG(text));
    return store_address(text, e.number) ||
           (str_find(text, '*') == text.n && read_endpoint(url.p, "", &e, &ignored));
}

bool reach_is_pattern(struct arena *a, struct str pattern)
{
    if (str_starts(pattern, STR("!")))
        pattern = str_sub(pattern, 1, pattern.n);
    if (!str_starts(pattern, STR("*.")))
        return str_eq(pattern, STR("*")) || is_endpoint(a, pattern);
    struct str domain = str_sub(pattern, 2, pattern.n);
    return str_find(domain, ':') == domain.n && str_find(domain, '/') == domain.n &&
           is_endpoint(a, domain);
}

enum store_reach reach_of(const struct config *conf, const char *endpoint)
{
    struct named e;
    struct err ignored;
    if (!endpoint)
        return STORE_REACH_PRIVATE; /* AWS's own, which a network may have inside */
    return read_endpoint(endpoint, "", &e, &ignored) ? judge(conf, &e) : STORE_REACH_NONE;
}

bool reach_check(
    const struct config *conf, const char *member, const char *endpoint, struct err *err)
{
    struct named e;
    if (!endpoint)
        return true;
    if (!read_endpoint(endpoint, member, &e, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    return judge(conf, &e) != STORE_REACH_NONE ||
           err_set(err, ERR_FORBIDDEN,
               "%s: %s is not among the endpoints that FIRN_WAREHOUSE_ENDPOINTS allows", member,
               endpoint);
}
