#include "fetch.h"

#include "address.h"
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "lane.h"

#include <curl/curl.h>

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    KEPT_HANDLES = 32, /* each keeps its connections: about one per thread of the slow lane */
    KEPT_CONNECTIONS = 4,
    CONNECT_MS = 3000,
    STALL_BYTES_S = 1024, /* slower than this for STALL_S: given up */
    STALL_S = 8,
    IDLE_S = 30, /* kept connections older than this are not used again */
    ERROR_BODY_MAX = 64 * 1024,
    HEADERS_MAX = 64,
};

/* The one piece of state in this folder that belongs to no object: easy handles at rest. */
static struct {
    pthread_mutex_t lock;
    CURL *rest[KEPT_HANDLES];
    size_t n;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fetch_global_init(void)
{
    /* OpenSSL writes to sockets without MSG_NOSIGNAL, and curl leaves the signal to us. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

void fetch_global_fini(void)
{
    while (pool.n > 0)
        curl_easy_cleanup(pool.rest[--pool.n]);
    curl_global_cleanup();
}

/* The handle that rested last: its connection is the likeliest to be open still. */
static CURL *handle_take(void)
{
    pthread_mutex_lock(&pool.lock);
    CURL *h = pool.n > 0 ? pool.rest[--pool.n] : NULL;
    pthread_mutex_unlock(&pool.lock);
    return h ? h : curl_easy_init();
}

static void handle_give(CURL **h)
{
    if (!*h)
        return;
    curl_easy_reset(*h); /* forgets options and secrets, keeps connections */
    pthread_mutex_lock(&pool.lock);
    if (pool.n < KEPT_HANDLES)
        pool.rest[pool.n++] = TAKE(*h);
    pthread_mutex_unlock(&pool.lock);
    if (*h)
        curl_easy_cleanup(*h);
    *h = NULL;
}

/* One exchange under way. */
struct exchange {
    struct arena *a;
    const struct fetch_request *rq;
    struct fetch_response *out;
    CURL *h;
    size_t piece, offset; /* what of the body is next */
    bool over;            /* the body of the answer passed its maximum */
    bool out_of_reach;    /* the host has an address where this request must not go */
    char why[CURL_ERROR_SIZE];
};

static size_t on_read(char *to, size_t size, size_t count, void *ctx)
{
    struct exchange *x = ctx;
    size_t room = size * count, n = 0;
    while (n < room && x->piece < x->rq->n_pieces) {
        struct str s = x->rq->pieces[x->piece];
        size_t now = s.n - x->offset < room - n ? s.n - x->offset : room - n;
        if (now > 0)
            memcpy(to + n, s.p + x->offset, now);
        n += now;
        x->offset += now;
        if (x->offset == s.n) {
            x->piece++;
            x->offset = 0;
        }
    }
    return n;
}

/* curl rewinds the body when a kept connection turned out to be dead after it had sent some of it:
 * the first copy may have been received whole. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct exchange *x = ctx;
    if (offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_FAIL;
    x->piece = 0;
    x->offset = 0;
    x->out->may_have_arrived = true;
    return CURL_SEEKFUNC_OK;
}

static long status_of(const struct exchange *x)
{
    long status = 0;
    (void)curl_easy_getinfo(x->h, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_write(char *p, size_t size, size_t count, void *ctx)
{
    struct exchange *x = ctx;
    struct buf *body = &x->out->body;
    size_t n = size * count;
    bool good = status_of(x) / 100 == 2;
    size_t max = good || x->rq->max_body > ERROR_BODY_MAX ? x->rq->max_body : ERROR_BODY_MAX;
    size_t room = max - body->n;
    if (n <= room) {
        buf_put(body, p, n);
        return n;
    }
    if (!good) { /* enough to name the error */
        buf_put(body, p, room);
        return n;
    }
    x->over = true;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static size_t on_header(char *p, size_t size, size_t count, void *ctx)
{
    struct exchange *x = ctx;
    struct fetch_response *out = x->out;
    struct str line = {p, size * count};
    if (str_starts(line, STR("HTTP/"))) /* 100 Continue may come first */
        out->n_headers = 0;
    while (str_ends(line, STR("\n")) || str_ends(line, STR("\r")))
        line.n--;
    size_t colon = str_find(line, ':');
    if (colon == line.n || out->n_headers == HEADERS_MAX)
        return size * count;
    out->headers[out->n_headers++] = (struct fetch_header){
        arena_dup(x->a, str_sub(line, 0, colon)),
        arena_dup(x->a, str_trim(str_sub(line, colon + 1, line.n - colon - 1))),
    };
    return size * count;
}

static bool may_go(struct exchange *x, enum address kind)
{
    enum fetch_reach reach = x->rq->reach;
    bool may = reach == FETCH_ANYWHERE || kind == ADDRESS_PUBLIC ||
               (reach == FETCH_PRIVATE && kind == ADDRESS_PRIVATE);
    x->out_of_reach = x->out_of_reach || !may;
    return may;
}

/* The address that is connected to is looked at, after all that names, spellings and servers of
 * names can do. */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *at)
{
    (void)purpose;
    if (!may_go(ctx, address_of(&at->addr)))
        return CURL_SOCKET_BAD;
    return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

/* A kept connection was made by a request that may have had a wider reach. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static int on_connected(void *ctx, char *theirs, char *ours, int their_port, int our_port)
{
    (void)ours;
    (void)their_port;
    (void)our_port;
    return may_go(ctx, address_of_text(theirs)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/* The list lives in the arena; handle_give forgets it before the arena goes. */
static struct curl_slist *list_add(struct arena *a, struct curl_slist *next, struct str line)
{
    struct curl_slist *one = ARENA_NEW(a, struct curl_slist);
    *one = (struct curl_slist){arena_cstr(a, line), next};
    return one;
}

static bool is_line(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t')
            return false;
    return true;
}

static bool make_headers(
    struct arena *a, const struct fetch_request *rq, struct curl_slist **out, struct err *err)
{
    /* No waiting for 100 Continue, and no content type that nobody signed. */
    struct curl_slist *list = list_add(a, NULL, STR("Expect:"));
    list = list_add(a, list, STR("Content-Type:"));
    list = list_add(a, list, STR("Accept:"));
    for (size_t i = 0; i < rq->n_headers; i++) {
        struct fetch_header h = rq->headers[i];
        if (!is_line(h.name) || !is_line(h.value))
            return err_set(
                err, ERR_INTERNAL, "header %.*s: control characters in its value", STR_ARG(h.name));
        struct str line = h.value.n > 0
                              ? arena_printf(a, "%.*s: %.*s", STR_ARG(h.name), STR_ARG(h.value))
                              : arena_printf(a, "%.*s;", STR_ARG(h.name));
        list = list_add(a, list, line);
    }
    *out = list;
    return true;
}

static void set_method(CURL *h, const struct fetch_request *rq)
{
    curl_off_t size = 0;
    for (size_t i = 0; i < rq->n_pieces; i++)
        size += (curl_off_t)rq->pieces[i].n;
    if (strcmp(rq->method, "HEAD") == 0)
        curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
    if (strcmp(rq->method, "PUT") == 0 || rq->n_pieces > 0) {
        curl_easy_setopt(h, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(h, CURLOPT_INFILESIZE_LARGE, size);
    }
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, rq->method);
}

static void set_limits(CURL *h, const struct fetch_request *rq, int64_t left_ms)
{
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)left_ms);
    curl_easy_setopt(
        h, CURLOPT_CONNECTTIMEOUT_MS, (long)(left_ms < CONNECT_MS ? left_ms : CONNECT_MS));
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_S);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
    if (strcmp(rq->method, "HEAD") != 0) { /* whose length is that of a body which does not come */
        size_t max = rq->max_body > ERROR_BODY_MAX ? rq->max_body : ERROR_BODY_MAX;
        curl_easy_setopt(h, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)max);
    }
}

/* Contacts the host of the URL and no other, trusts nothing from the environment. */
static void set_manners(CURL *h)
{
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(h, CURLOPT_PROXY, "");
    curl_easy_setopt(h, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(h, CURLOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
    curl_easy_setopt(h, CURLOPT_MAXAGE_CONN, (long)IDLE_S);
    curl_easy_setopt(h, CURLOPT_USERAGENT, "firn/" FIRN_VERSION);
}

static void set_callbacks(struct exchange *x)
{
    curl_easy_setopt(x->h, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(x->h, CURLOPT_READDATA, x);
    curl_easy_setopt(x->h, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(x->h, CURLOPT_SEEKDATA, x);
    curl_easy_setopt(x->h, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(x->h, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(x->h, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(x->h, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(x->h, CURLOPT_ERRORBUFFER, x->why);
    curl_easy_setopt(x->h, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    curl_easy_setopt(x->h, CURLOPT_OPENSOCKETDATA, x);
    curl_easy_setopt(x->h, CURLOPT_PREREQFUNCTION, on_connected);
    curl_easy_setopt(x->h, CURLOPT_PREREQDATA, x);
    if (x->rq->reach == FETCH_ANYWHERE) /* whose connection must be nobody else's */
        curl_easy_setopt(x->h, CURLOPT_FORBID_REUSE, 1L);
}

static bool is_permanent(CURLcode code)
{
    switch ((int)code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_URL_MALFORMAT:
        return true;
    default:
        return false;
    }
}

/* Without the query: it may hold a signature. */
static struct str url_shown(struct str url)
{
    return str_sub(url, 0, str_find(url, '?'));
}

static bool explain(struct exchange *x, CURLcode code, struct err *err)
{
    const struct fetch_request *rq = x->rq;
    struct str url = url_shown(rq->url);
    if (x->over || code == CURLE_FILESIZE_EXCEEDED)
        return err_set(err, ERR_TOO_LARGE,
            "%s %.*s: the answer has more than the %zu bytes allowed", rq->method, STR_ARG(url),
            rq->max_body);
    if (x->out_of_reach)
        return err_set(err, ERR_INTERNAL,
            rq->reach == FETCH_PUBLIC
                ? "%s %.*s: the host has an address that is not public, and an endpoint that is "
                  "allowed by '*' alone may have no other (FIRN_WAREHOUSE_ENDPOINTS)"
                : "%s %.*s: the host has a link-local address or another one where only the "
                  "server's own identity is asked for",
            rq->method, STR_ARG(url));
    long sent = 0;
    (void)curl_easy_getinfo(x->h, CURLINFO_REQUEST_SIZE, &sent);
    if (sent > 0)
        x->out->may_have_arrived = true;
    const char *why = x->why[0] ? x->why : curl_easy_strerror(code);
    return err_set(err, is_permanent(code) ? ERR_INTERNAL : ERR_UNAVAILABLE, "%s %.*s: %s (%s)",
        rq->method, STR_ARG(url), why,
        x->out->may_have_arrived ? "the request may have arrived" : "the request did not arrive");
}

static bool perform(struct exchange *x, struct err *err)
{
    CURLcode code = curl_easy_perform(x->h);
    long status = status_of(x);
    /* A long page that says what is wrong is still an answer. */
    bool answered = code == CURLE_FILESIZE_EXCEEDED && status >= 300;
    if (code != CURLE_OK && !answered)
        return explain(x, code, err);
    x->out->status = (int)status;
    return true;
}

bool fetch_do(
    struct arena *a, const struct fetch_request *rq, struct fetch_response *out, struct err *err)
{
    assert(lane_may_block());
    *out = (struct fetch_response){.headers = ARENA_ARRAY(a, struct fetch_header, HEADERS_MAX)};
    buf_init(&out->body, rq->max_body > ERROR_BODY_MAX ? rq->max_body : ERROR_BODY_MAX);
    int64_t left_ms = (rq->deadline_us - clock_mono_us()) / 1000;
    if (left_ms <= 0)
        return err_set(
            err, ERR_UNAVAILABLE, "%s: no time left (the request did not arrive)", rq->method);
    if (rq->reach == FETCH_NOWHERE)
        return err_set(err, ERR_INTERNAL,
            "%s %.*s: the endpoint is not among those that FIRN_WAREHOUSE_ENDPOINTS allows",
            rq->method, STR_ARG(url_shown(rq->url)));
    struct curl_slist *headers = NULL;
    TRY(make_headers(a, rq, &headers, err));
    AUTO(handle_give) CURL *h = handle_take();
    if (!h)
        return err_set(err, ERR_UNAVAILABLE, "no memory for a connection");
    struct exchange x = {.a = a, .rq = rq, .out = out, .h = h};
    curl_easy_setopt(h, CURLOPT_URL, arena_cstr(a, rq->url));
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    set_manners(h);
    set_method(h, rq);
    set_limits(h, rq, left_ms);
    set_callbacks(&x);
    return perform(&x, err);
}

enum fetch_reach fetch_reach_of(enum store_reach reach)
{
    static const enum fetch_reach reaches[] = {
        [STORE_REACH_PRIVATE] = FETCH_PRIVATE,
        [STORE_REACH_PUBLIC] = FETCH_PUBLIC,
        [STORE_REACH_NONE] = FETCH_NOWHERE,
    };
    return reaches[reach];
}

struct str fetch_header(const struct fetch_response *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (str_eq_nocase(r->headers[i].name, str_from(name)))
            return r->headers[i].value;
    return (struct str){NULL, 0};
}

void fetch_response_fini(struct fetch_response *r)
{
    buf_fini(&r->body);
}

bool fetch_take_body(struct fetch_response *r, struct buf *out)
{
    if (!fetch_header(r, "Content-Length").p && !fetch_header(r, "Transfer-Encoding").p)
        return false;
    buf_fini(out);
    *out = r->body;
    r->body = (struct buf){0};
    return true;
}
