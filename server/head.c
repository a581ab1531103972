#include "head.h"

#include "call.h"
#include "uuid.h"

static const struct {
    struct str wire;
    enum header_repeat repeat;
} headers[] = {
#define X(name, wire, repeat) {STR_INIT(wire), repeat},
    CALL_HEADERS(X)
#undef X
};

enum {
    ID_MAX = 128,
    TRACE_ID = 32,
    LENGTH_DIGITS = 18,
    TARGET_MAX = 16 * 1024,
    /* With the target; less than the library holds, which refuses in HTML what it cannot. */
    HEAD_MAX = 18 * 1024,
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* A message whose end two parsers could see at different places must end the connection, or the
 * rest of it is taken for a next request. */
static bool refuse(struct call *c, const char *why)
{
    c->connection_after = CALL_CLOSE;
    return err_set(&c->err, ERR_BAD_REQUEST, "Malformed request: %s", why);
}

/* The headers that were not looked at may have said where the body ends. */
static bool refuse_long(struct call *c, enum err_kind kind, const char *what, size_t max)
{
    c->connection_after = CALL_CLOSE;
    return err_set(&c->err, kind, "%s too long: at most %zu bytes are accepted", what, max);
}

static bool keep(struct call *c, unsigned i, struct str value)
{
    struct str *kept = &c->headers[i];

    if (!kept->p) {
        *kept = arena_dup(c->arena, value);
        return true;
    }
    switch (headers[i].repeat) {
    case HEADER_FIRST:
        return true;
    case HEADER_LIST:
        *kept = arena_printf(c->arena, "%.*s, %.*s", STR_ARG(*kept), STR_ARG(value));
        return true;
    case HEADER_ONCE:
        break;
    }
    c->connection_after = CALL_CLOSE;
    return err_set(
        &c->err, ERR_BAD_REQUEST, "Malformed request: header %s is repeated", headers[i].wire.p);
}

bool head_header(struct call *c, struct str name, struct str value)
{
    size_t target = c->uri.n < TARGET_MAX ? c->uri.n : TARGET_MAX;

    c->headers_bytes += name.n + value.n + sizeof(": \r\n") - 1;
    if (target + c->headers_bytes > HEAD_MAX)
        return refuse_long(c, ERR_HEADERS_TOO_LARGE, "Target and headers are", HEAD_MAX);
    if (!name.n)
        return refuse(c, "a header has no name");
    for (size_t i = 0; i < name.n; i++)
        if (!is_name_char(name.p[i]))
            return refuse(c, "a header name contains a space or another forbidden character");
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ' && value.p[i] != '\t')
            return refuse(c, "a header value contains a control character");
    for (unsigned i = 0; i < HEADER_COUNT; i++)
        if (str_eq_nocase(name, headers[i].wire))
            return keep(c, i, str_trim(value));
    return true;
}

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0 && s.n <= LENGTH_DIGITS;
}

static bool check_framing(struct call *c)
{
    struct str length = c->headers[HEADER_CONTENT_LENGTH];
    struct str coding = c->headers[HEADER_TRANSFER_ENCODING];

    if (coding.p && length.p)
        return refuse(c, "both Content-Length and Transfer-Encoding are given");
    if (coding.p && !str_eq_nocase(coding, STR("chunked")))
        return refuse(c, "Transfer-Encoding must be \"chunked\"");
    if (length.p && !is_number(length))
        return refuse(c, "Content-Length must be a number of at most 18 digits");
    return true;
}

/* "http://host/path" is for proxies; from a client it is understood for the host it talks to. */
static bool take_authority(struct call *c, struct str *target)
{
    struct str scheme = {NULL, 0}, host;

    if (str_starts(*target, STR("http://")))
        scheme = STR("http://");
    else if (str_starts(*target, STR("https://")))
        scheme = STR("https://");
    if (!scheme.p)
        return refuse(c, "the request target must begin with '/'");
    *target = str_sub(*target, scheme.n, target->n);
    size_t n = 0;
    while (n < target->n && target->p[n] != '/' && target->p[n] != '?')
        n++;
    host = str_sub(*target, 0, n);
    if (!host.n || !str_eq_nocase(host, c->headers[HEADER_HOST]))
        return refuse(c, "the request target names another host than the Host header");
    *target = str_sub(*target, n, target->n);
    return true;
}

static bool split_target(struct call *c)
{
    struct str target = c->uri;

    if (target.n > TARGET_MAX)
        return refuse_long(c, ERR_URI_TOO_LONG, "The request target is", TARGET_MAX);
    for (size_t i = 0; i < target.n; i++)
        if ((unsigned char)target.p[i] <= ' ' && target.p[i] != IDENT_SEPARATOR)
            return refuse(c, "the request target contains a space or a control character");
    if (!target.n || target.p[0] != '/')
        TRY(take_authority(c, &target));
    size_t end = str_find(target, '?');
    c->path = str_sub(target, 0, end);
    if (end < target.n)
        c->query = str_sub(target, end + 1, target.n);
    return true;
}

/* A browser sends Origin with what scripts of other sites ask for. */
static bool check_origin(struct call *c)
{
    if (!c->headers[HEADER_ORIGIN].p || call_from_allowed_page(c))
        return true;
    return err_set(
        &c->err, ERR_FORBIDDEN, "Requests from web pages of other origins are not allowed");
}

static bool check_coding(struct call *c)
{
    struct str coding = c->headers[HEADER_CONTENT_ENCODING];

    if (!coding.n || str_eq_nocase(coding, STR("identity")))
        return true;
    return err_set(&c->err, ERR_MEDIA_TYPE, "Request bodies are taken without Content-Encoding");
}

bool head_check(struct call *c)
{
    TRY(check_framing(c));
    /* "OPTIONS *" and CONNECT have targets of their own; their methods are refused later. */
    if (str_eq(c->uri, STR("*")) || str_eq(c->method, STR("CONNECT")))
        c->path = c->uri;
    else
        TRY(split_target(c));
    TRY(check_origin(c));
    return check_coding(c);
}

static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0;
}

static bool is_trace_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    return s.n == TRACE_ID;
}

void head_id(struct call *c)
{
    struct str id = c->headers[HEADER_REQUEST_ID], trace = c->headers[HEADER_TRACEPARENT];
    char drawn[UUID_TEXT + 1];

    if (id.n <= ID_MAX && is_visible(id)) {
        c->id = id;
        return;
    }
    /* version "-" trace id "-" parent id "-" flags */
    (void)str_cut(&trace, '-');
    struct str trace_id = trace.p ? str_cut(&trace, '-') : (struct str){NULL, 0};
    if (trace_id.p && is_trace_id(trace_id)) {
        c->id = trace_id;
        return;
    }
    uuid_v7(drawn);
    c->id = arena_dup(c->arena, str_from(drawn));
}
