#include "http_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "config.h"
#include "head.h"
#include "log.h"
#include "metric.h"
#include "repeat.h"

enum {
    /* Of a connection, for the head of a request (a bearer token has up to 16 KB) and that of the
     * answer. The library wipes all of it after each request, so an idle one holds all of it. */
    POOL_BYTES = 22 * 1024,
    RESERVE_MAX = 1024 * 1024,         /* of a body that is only announced */
    READ_AWAY_MAX = 256 * 1024 * 1024, /* of a body that is refused */
    BODIES_MAX = 4,                    /* request bodies of full size held by one loop at a time */
    LOOKING_MS = 10, /* between turns: while a call is looked up the library never waits */
};

/* --- connections -------------------------------------------------------------------------------
 */

struct peer *http__peer(struct MHD_Connection *con)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(con, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info->socket_context;
}

static void count(const struct http *h, int by)
{
    if (h->service.counting == HTTP_COUNTED)
        metric_change(METRIC_connections, by);
}

void http__give(struct http *h, struct call *c)
{
    h->body_bytes -= c->body_held;
    h->calls--;
    h->service.give(h->service.owner, c);
}

/* A call without a response; one that waits is still in the hands of those who look it up. */
static void leave(struct http *h, struct call *c)
{
    if (c->state == CALL_WAITS) {
        c->connection = NULL;
        h->looking--;
        return;
    }
    if (c->state != CALL_ANSWERED)
        c->reply.status = 0;
    http__give(h, c);
}

/* The library (0.9.75) does not tell the end of a request of which it finds something wrong twice,
 * as of more parameters than it has room for; the end of the connection it tells. */
static void on_connection(
    void *cls, struct MHD_Connection *con, void **context, enum MHD_ConnectionNotificationCode code)
{
    struct http *h = cls;
    struct peer *p = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        p = peer_new(
            &h->peers, MHD_get_connection_info(con, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
        p->http = h;
        *context = p;
        count(h, 1);
        return;
    }
    if (p->call)
        leave(h, p->call);
    peer_free(&h->peers, &p);
    *context = NULL;
    h->freed = true;
    count(h, -1);
}

/* --- a request comes in ------------------------------------------------------------------------
 */

static struct call *begin(struct http *h, struct MHD_Connection *con)
{
    struct call *c = h->service.take(h->service.owner);

    h->calls++;
    c->http = h;
    c->connection = con;
    c->begun_us = clock_mono_us();
    c->state = CALL_HEAD;
    c->ran_in = LANE_FAST;
    return c;
}

/* The request line is in: a call begins. The target is still as it was sent. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *con)
{
    struct http *h = cls;
    struct call *c = begin(h, con);
    struct peer *p = http__peer(con);

    c->uri = arena_dup(c->arena, str_from(target));
    p->target = target;
    p->call = c;
    peer_wait(&h->peers, p, PATIENT_HEAD);
    return c;
}

static size_t keep_escapes(void *cls, struct MHD_Connection *con, char *s)
{
    (void)cls;
    (void)con;
    return strlen(s);
}

/* A line that ended in CR LF left two NULs behind and is followed by the next line. Anything else
 * there was a bare LF, a NUL within the line, or the next line begins with a space and continues
 * this one (obs-fold): forms in which two parsers differ (RFC 9112, 2.2 and 5.2). */
static bool line_ended_well(const char *end)
{
    return end[0] == '\0' && end[1] == '\0' && end[2] != ' ' && end[2] != '\t';
}

static bool refuse_lines(struct call *c)
{
    c->connection_after = CALL_CLOSE;
    return err_set(&c->err, ERR_BAD_REQUEST,
        "Malformed request: header lines must have a name, end in CR LF and not be continued");
}

struct lines {
    struct call *call;
    const char *end; /* of the last one that was seen */
};

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
    size_t name_n, const char *value, size_t value_n)
{
    struct lines *l = cls;

    (void)kind;
    l->end = value + value_n;
    if (!line_ended_well(l->end))
        return refuse_lines(l->call) ? MHD_YES : MHD_NO;
    struct str v = {value, value_n};
    return head_header(l->call, (struct str){name, name_n}, v) ? MHD_YES : MHD_NO;
}

static bool check_line(struct call *c, const char *target, const char *version)
{
    if (version == target + c->uri.n + 1 && line_ended_well(version + strlen(version)))
        return true;
    c->connection_after = CALL_CLOSE;
    return err_set(&c->err, ERR_BAD_REQUEST, REFUSAL_OF_LINE);
}

/* After the last line comes an empty one, CR LF both. The library also takes a line without a name
 * for the end of the head, and what follows it for the next request. */
static bool check_end(struct call *c, const char *method, const char *last)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    return (last + 4 == method + size->header_size && !last[2] && !last[3]) || refuse_lines(c);
}

/* The library's own check (STRICT_FOR_CLIENT) sends the head of its answer twice in 0.9.75. */
static bool check_host(struct call *c, const char *version)
{
    if (c->headers[HEADER_HOST].n || strcmp(version, "HTTP/1.1") != 0)
        return true;
    c->connection_after = CALL_CLOSE;
    return err_set(&c->err, ERR_BAD_REQUEST, "Malformed request: the Host header is missing");
}

static bool read_head(struct http *h, struct call *c, const char *method, const char *version)
{
    const char *target = http__peer(c->connection)->target;
    struct lines l = {c, version + strlen(version)};

    MHD_get_connection_values_n(c->connection, MHD_HEADER_KIND, on_header, &l);
    head_id(c);
    if (c->err.kind)
        return false;
    TRY(check_line(c, target, version));
    TRY(check_end(c, method, l.end));
    TRY(check_host(c, version));
    TRY(head_check(c));
    return h->service.head(h->service.owner, c);
}

/* Of a head that is in (a length in it is no number) our own words come first. */
static void look_at_head(struct call *c)
{
    struct lines l = {c, NULL};

    if (MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE))
        MHD_get_connection_values_n(c->connection, MHD_HEADER_KIND, on_header, &l);
    head_id(c);
    if (l.end && !c->err.kind)
        (void)!head_check(c);
}

void refusal_answer(struct MHD_Connection *con, unsigned status)
{
    struct peer *p = http__peer(con);
    struct http *h = p->http;

    if (p->patience == PATIENT_NONE)
        return; /* there is an answer */
    struct call *c = p->call ? p->call : begin(h, con);
    if (c->state == CALL_HEAD)
        look_at_head(c);
    if (!c->err.kind)
        refusal_words(c, status);
    peer_wait(&h->peers, p, PATIENT_NONE);
    http__send_past(c, p);
    if (!p->call)
        http__give(h, c);
}

static struct str announced(const struct call *c)
{
    return c->headers[HEADER_CONTENT_LENGTH];
}

static bool fits(struct http *h, struct call *c, size_t n)
{
    if (n > c->body_limit) {
        return err_set(&c->err, ERR_TOO_LARGE,
            "Request body is too large: at most %zu bytes are accepted here", c->body_limit);
    }
    return h->body_bytes + n <= h->body_bytes_max + c->body_held ||
           err_set(&c->err, repeat_refusable(c) ? ERR_BUSY : ERR_UNAVAILABLE,
               "Too many large requests are being received, try again");
}

static enum MHD_Result on_head(
    struct http *h, struct call *c, const char *method, const char *version, void **context)
{
    struct MHD_Connection *con = c->connection;
    int64_t length = 0;

    c->state = CALL_BODY;
    c->method = arena_dup(c->arena, str_from(method));
    bool ok = read_head(h, c, method, version);
    bool has_length = announced(c).p && str_to_i64(announced(c), &length);
    ok = ok && fits(h, c, has_length || !announced(c).p ? (size_t)length : SIZE_MAX / 2);
    if ((announced(c).p && !has_length) || length > READ_AWAY_MAX)
        c->connection_after = CALL_CLOSE;
    /* The client that waits to be told to go on, and the one of whose bytes nothing can be made,
     * are answered at once; that ends the connection. The others send first (0.9.75 drops an
     * answer that is queued while a body comes in). */
    bool waits = MHD_lookup_connection_value(con, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT) != NULL;
    if (!ok && (c->connection_after == CALL_CLOSE || (waits && length > 0)))
        return http__send_error(h, c, context);
    buf_init(&c->body_buf, ok ? c->body_limit : 0);
    if (ok && length > 0)
        buf_reserve(&c->body_buf, (size_t)(length < RESERVE_MAX ? length : RESERVE_MAX));
    peer_wait(&h->peers, http__peer(con), PATIENT_BODY);
    return MHD_YES;
}

static void on_body(struct http *h, struct call *c, const char *p, size_t n)
{
    if (c->err.kind)
        return;
    if (!fits(h, c, c->body_held + n)) {
        buf_fini(&c->body_buf);
        h->body_bytes -= c->body_held;
        c->body_held = 0;
        return;
    }
    buf_put(&c->body_buf, p, n);
    h->body_bytes += n;
    c->body_held += n;
}

/* A call that is looked up waits for a turn of the loop or two: to suspend its connection costs two
 * system calls, to be asked about it again in each run costs next to nothing. */
static enum MHD_Result wait_on(struct http *h, struct call *c)
{
    if (!c->submitted_us)
        return MHD_YES;
    c->state = CALL_PARKED;
    h->looking--;
    MHD_suspend_connection(c->connection);
    return MHD_YES;
}

static enum MHD_Result on_whole(struct http *h, struct call *c, void **context)
{
    if (c->err.kind)
        return http__send_error(h, c, context);
    c->body = buf_take(&c->body_buf, c->arena);
    if (h->service.start(h->service.owner, c) == HTTP_REPLY)
        return http__send(h, c, context);
    c->state = CALL_WAITS;
    peer_wait(&h->peers, http__peer(c->connection), PATIENT_NONE);
    h->waiting++;
    h->looking++;
    return wait_on(h, c);
}

/* Called with the head, with each piece of the body, with its end, and then in each run until there
 * is an answer. */
/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *con, const char *url,
    const char *method, const char *version, const char *data, size_t *size, void **context)
{
    struct http *h = cls;
    struct call *c = *context;

    (void)con;
    (void)url;
    switch (c->state) {
    case CALL_HEAD:
        return on_head(h, c, method, version, context);
    case CALL_BODY:
        if (!*size)
            return on_whole(h, c, context);
        on_body(h, c, data, *size);
        *size = 0;
        return MHD_YES;
    case CALL_WAITS:
        return wait_on(h, c);
    case CALL_READY:
        return http__send(h, c, context);
    case CALL_PARKED:
    case CALL_ANSWERED:
    case CALL_FETCHES:
        break;
    }
    return MHD_NO;
}

/* The request is over. The call is still in the context if it never got a response. */
static void on_completed(
    void *cls, struct MHD_Connection *con, void **context, enum MHD_RequestTerminationCode code)
{
    struct http *h = cls;
    struct call *c = *context;
    struct peer *p = http__peer(con);

    (void)code;
    *context = NULL;
    if (p) {
        p->call = NULL;
        peer_wait(&h->peers, p, PATIENT_IDLE);
    }
    if (c)
        leave(h, c);
}

/* --- the daemon --------------------------------------------------------------------------------
 */

static __attribute__((format(printf, 2, 0))) void on_log(void *cls, const char *fmt, va_list ap)
{
    char text[512];

    (void)cls;
    if (!log_enabled(LOG_DEBUG))
        return;
    vsnprintf(text, sizeof(text), fmt, ap);
    text[strcspn(text, "\n")] = '\0';
    log_write(LOG_DEBUG, "http", "%s", text);
}

static struct MHD_Daemon *start_daemon(
    struct http *h, int fd, const struct config *conf, unsigned connections)
{
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
        NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, on_log, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT, 0,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)((conf->idle_timeout + 999999) / 1000000), MHD_OPTION_CONNECTION_LIMIT,
        connections, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, h, MHD_OPTION_END);
}

bool http_start(int listen_fd, const struct config *conf, unsigned connections,
    const struct http_service *service, struct http **out, struct err *err)
{
    struct http *h = xcalloc(1, sizeof(*h));

    h->service = *service;
    h->queue = refusal_library();
    h->body_bytes_max = BODIES_MAX * (size_t)conf->body_limit;
    if (!peers_open(&h->peers, conf, err)) {
        xfree(h);
        return false;
    }
    int fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0 && h->queue)
        h->daemon = start_daemon(h, fd, conf, connections);
    if (!h->daemon) {
        if (fd >= 0)
            close(fd);
        peers_close(&h->peers);
        xfree(h);
        return err_set(err, ERR_INTERNAL, "cannot start an HTTP daemon: %s", strerror(errno));
    }
    *out = h;
    return true;
}

int http_fd(const struct http *h)
{
    return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int http_ends_fd(const struct http *h)
{
    return h->peers.fd;
}

void http_ended(struct http *h)
{
    peers_ended(&h->peers);
}

int http_timeout_ms(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG library = 0;
    int wait = -1;

    /* At its limit the library no longer watches the listening socket, and below it watches again
     * from the next run on. */
    if (h->resumed || h->freed)
        return 0;
    if (MHD_get_timeout(h->daemon, &library) == MHD_YES)
        wait = library > INT32_MAX ? INT32_MAX : (int)library;
    if (wait == 0 && h->looking)
        wait = LOOKING_MS;
    int peers = peers_timeout_ms(&h->peers);
    return wait < 0 || (peers >= 0 && peers < wait) ? peers : wait;
}

void http_run(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG wait = 0;

    h->resumed = h->freed = false;
    h->more = 0;
    peers_run(&h->peers);
    MHD_run(h->daemon);
    for (; h->more && MHD_get_timeout(h->daemon, &wait) == MHD_YES && wait == 0; h->more--)
        MHD_run(h->daemon);
}

void http_resume(struct call *c)
{
    struct http *h = c->http;
    bool parked = c->state == CALL_PARKED;

    h->waiting--;
    if (c->state == CALL_FETCHES) {
        h->resumed = true;
        c->state = CALL_ANSWERED;
        MHD_resume_connection(c->connection);
        return;
    }
    if (!c->connection) {
        c->reply.status = 0; /* the client has gone */
        http__give(h, c);
        return;
    }
    h->resumed = true;
    c->state = CALL_READY;
    if (parked)
        MHD_resume_connection(c->connection);
    else
        h->looking--;
}

void http_quiesce(struct http *h)
{
    if (h->quiesced)
        return;
    h->quiesced = true;
    int fd = MHD_quiesce_daemon(h->daemon);
    if (fd >= 0)
        close(fd);
}

unsigned http_waiting(const struct http *h)
{
    return h->waiting;
}

void http_stop(struct http **ph)
{
    struct http *h = *ph;

    if (!h)
        return;
    MHD_stop_daemon(h->daemon);
    assert(!h->calls);
    peers_close(&h->peers);
    xfree(h);
    *ph = NULL;
}
