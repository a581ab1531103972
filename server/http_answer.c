/* Answers: a reply becomes a response of the library's, or bytes that go past it. */
#include "http_priv.h"

#include <assert.h>
#include <sys/socket.h>

#include "admin.h"
#include "call.h"
#include "clock.h"
#include "metric.h"
#include "stream.h"

enum { SHORT_ANSWER = 16 * 1024 }; /* to copy it costs less than the call to send it apart */

/* The head of a list that would be sent piece by piece. */
static bool is_head_alone(const struct call *c)
{
    return c->reply.stream && str_eq(c->method, STR("HEAD"));
}

/* The library is done with the bytes, sent or not: the response owned the call. */
static void on_response_done(void *cls)
{
    struct call *c = cls;

    if (c->reply.stream && !stream_ended(c->reply.stream) && !c->err.kind && !is_head_alone(c))
        c->reply.status = 0; /* the client has gone */
    http__give(c->http, c);
}

static bool add_headers(const struct call *c, struct MHD_Response *r)
{
    for (unsigned i = 0; i < c->reply.n_headers; i++)
        if (MHD_add_response_header(r, c->reply.headers[i].name, c->reply.headers[i].value) !=
            MHD_YES)
            return false;
    return (c->connection_after == CALL_KEEP && !atomic_load(&c->server->progress->draining)) ||
           MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
}

/* The library sends one piece together with the head, several in a run after it. */
static struct MHD_Response *in_one(struct call *c, struct str whole)
{
    void *p = (void *)(uintptr_t)whole.p; /* NOLINT(performance-no-int-to-ptr): const */

    if (c->http->more < 1)
        c->http->more = 1;
    return MHD_create_response_from_buffer_with_free_callback_cls(whole.n, p, on_response_done, c);
}

static struct str joined(struct call *c)
{
    char *whole = arena_alloc(c->arena, c->reply.bytes), *end = whole;

    for (size_t i = 0; i < c->reply.n_pieces; i++)
        end = mempcpy(end, c->reply.pieces[i].p, c->reply.pieces[i].n);
    metric_add(METRIC_bytes_joined_total, (int64_t)c->reply.bytes);
    return (struct str){whole, c->reply.bytes};
}

/* A part of an answer must not pass for all of it, not even where the end of the connection is that
 * of the answer, as in HTTP/1.0: it is reset. */
static ssize_t break_off(const struct call *c)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

    (void)connect(http__peer(c->connection)->fd, &nobody, sizeof(nobody));
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The library has room for more of the answer. When all of a piece is taken the connection leaves
 * the loop until the next one is there. */
static ssize_t on_room(void *cls, uint64_t position, char *to, size_t max)
{
    struct call *c = cls;
    struct http *h = c->http;
    struct stream *s = c->reply.stream;

    (void)position;
    if (c->state == CALL_FETCHES) /* the library may ask again at once */
        return 0;
    if (c->err.kind)
        return break_off(c);
    size_t n = stream_take(s, to, max);
    c->reply.bytes += n;
    if (n > 0)
        return (ssize_t)n;
    if (stream_ended(s))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!h->service.more(h->service.owner, c))
        return break_off(c);
    c->state = CALL_FETCHES;
    h->waiting++;
    MHD_suspend_connection(c->connection);
    return 0;
}

static struct MHD_Response *response_of(struct call *c)
{
    const struct reply *r = &c->reply;

    if (r->stream) {
        c->http->more = 2;
        return MHD_create_response_from_callback(
            MHD_SIZE_UNKNOWN, SHORT_ANSWER, on_room, c, on_response_done);
    }
    if (r->n_pieces <= 1)
        return in_one(c, r->n_pieces ? r->pieces[0] : STR(""));
    if (r->bytes <= SHORT_ANSWER)
        return in_one(c, joined(c));
    c->http->more = 2;
    struct MHD_IoVec *iov = ARENA_ARRAY(c->arena, struct MHD_IoVec, r->n_pieces);
    for (size_t i = 0; i < r->n_pieces; i++)
        iov[i] = (struct MHD_IoVec){r->pieces[i].p, r->pieces[i].n};
    return MHD_create_response_from_iovec(iov, (unsigned)r->n_pieces, on_response_done, c);
}

static void is_answered(const struct http *h, struct call *c)
{
    c->answered_us = clock_mono_us();
    c->state = CALL_ANSWERED;
    if (h->service.answered)
        h->service.answered(h->service.owner, c);
}

enum MHD_Result http__send(struct http *h, struct call *c, void **context)
{
    struct MHD_Connection *con = c->connection;

    assert(c->reply.status);
    is_answered(h, c);
    peer_wait(&h->peers, http__peer(con), PATIENT_NONE);

    struct MHD_Response *r = response_of(c);
    if (!r)
        return MHD_NO; /* on_completed gives the call back */
    *context = NULL;
    http__peer(con)->call = NULL;
    /* The library (0.9.75) sends a last chunk after it, which would be the beginning of the next
     * answer: without chunks the connection ends. */
    if (is_head_alone(c))
        (void)MHD_set_response_options(r, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    enum MHD_Result sent = MHD_NO;
    if (add_headers(c, r))
        sent = h->queue(con, (unsigned)c->reply.status, r);
    MHD_destroy_response(r);
    return sent;
}

enum MHD_Result http__send_error(struct http *h, struct call *c, void **context)
{
    reply_error(c);
    return http__send(h, c, context);
}

void http__send_past(struct call *c, struct peer *p)
{
    struct buf b;

    reply_error(c);
    buf_init(&b, 1 << 16);
    buf_putf(&b, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n", c->reply.status,
        MHD_get_reason_phrase_for((unsigned)c->reply.status), c->reply.bytes);
    for (unsigned i = 0; i < c->reply.n_headers; i++)
        buf_putf(&b, "%s: %s\r\n", c->reply.headers[i].name, c->reply.headers[i].value);
    buf_puts(&b, "\r\n");
    for (size_t i = 0; i < c->reply.n_pieces && !call_is_head(c); i++)
        buf_put(&b, c->reply.pieces[i].p, c->reply.pieces[i].n);
    struct str whole = buf_take(&b, c->arena);
    is_answered(c->http, c);
    (void)send(p->fd, whole.p, whole.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    peers_refused(&c->http->peers, p->fd);
}
