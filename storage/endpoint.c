#include "endpoint.h"

#include "store.h"

#include <string.h>

/* The port is left out where it is the scheme's own: curl leaves it out of the Host header, which
 * is signed. */
bool endpoint_parse(struct str uri, const char *what, struct endpoint *out, struct err *err)
{
    struct str host = uri, own_port = STR(":443");
    out->scheme = ENDPOINT_HTTPS;
    if (str_starts(host, STR("https://"))) {
        host = str_sub(host, 8, host.n);
    } else if (str_starts(host, STR("http://"))) {
        out->scheme = ENDPOINT_HTTP;
        own_port = STR(":80");
        host = str_sub(host, 7, host.n);
    } else {
        host = STR("");
    }
    while (str_ends(host, STR("/")))
        host.n--;
    if (str_ends(host, own_port))
        host.n -= own_port.n;
    bool good = host.n > 0;
    for (size_t i = 0; i < host.n; i++)
        good = good && (unsigned char)host.p[i] > 0x20 && (unsigned char)host.p[i] < 0x7f &&
               !strchr("/?#@\\%", host.p[i]);
    /* "host." is "host" to the world and another word to a list of hosts. */
    size_t port = str_find(host, ':');
    good = good && port > 0 && host.p[port - 1] != '.';
    out->host = host;
    return good || err_set(err, ERR_STORE_BAD_URI,
                       "%s is not understood: expected http://<host>[:<port>] or the same with "
                       "https, without user, path and query",
                       what);
}

bool store_endpoint_host(struct str uri, const char *what, struct str *host, struct err *err)
{
    struct endpoint e;
    TRY(endpoint_parse(uri, what, &e, err));
    *host = e.host;
    return true;
}

const char *endpoint_word(enum endpoint_scheme scheme)
{
    return scheme == ENDPOINT_HTTPS ? "https" : "http";
}
