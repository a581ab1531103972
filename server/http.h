/* HTTP: the only user of libmicrohttpd. Turns bytes into calls and replies into bytes; knows
 * neither routes nor lanes. One struct http is driven by one thread: wait for http_fd or
 * http_ends_fd to be readable or for http_timeout_ms, then http_run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "err.h"
#include "str.h"

struct arena;
struct call;
struct config;
struct http;

enum http_next {
    HTTP_REPLY, /* c->reply is there */
    HTTP_WAIT,  /* it will be, and then http_resume is called */
};

/* Whom the daemon serves. All run in the thread that drives it, inside http_run or http_stop. */
struct http_service {
    void *owner;
    enum { HTTP_COUNTED, HTTP_UNCOUNTED } counting; /* of connections in the metrics */
    struct call *(*take)(void *owner);              /* an empty call for a new request */
    void (*answered)(void *owner, struct call *c);  /* its answer is about to go; may be NULL */
    void (*give)(void *owner, struct call *c);      /* its answer is sent, or its client gone */
    /* The head is in, id, method, uri, path, query and headers are set and passed the checks of the
     * protocol. True: go on, with c->body_limit. False: c->err is answered once the body is read
     * away. */
    bool (*head)(void *owner, struct call *c);
    /* The body is in c->body. */
    enum http_next (*start)(void *owner, struct call *c);
    /* The client has taken what there was of c->reply.stream: http_resume is called when the next
     * piece is there, or c->err, which breaks the answer off. False: c->err, at once. NULL where
     * no answer is a stream. */
    bool (*more)(void *owner, struct call *c);
};

/* Binds an address ("127.0.0.1:8181", "[::1]:0"), without listening yet and without sharing the
 * port: a second server fails with words for the operator (ERR_INTERNAL, ERR_BAD_REQUEST). *bound
 * is the address with the real port. */
MUST bool http_bind(
    struct arena *a, const char *address, int *fd_out, const char **bound, struct err *err);
/* Connections are accepted from now on, by the daemons started on it. */
MUST bool http_listen(int fd, struct err *err);

/* A daemon on a duplicate of the listening socket. `connections`: its share of the limit. */
MUST bool http_start(int listen_fd, const struct config *conf, unsigned connections,
    const struct http_service *service, struct http **out, struct err *err);
int http_fd(const struct http *h);
/* Readable when clients have ended their side of a connection: then http_ended before http_run. */
int http_ends_fd(const struct http *h);
void http_ended(struct http *h);
/* -1: no deadline. */
int http_timeout_ms(struct http *h);
void http_run(struct http *h);
/* The reply of a call for which start said HTTP_WAIT, or the next piece that `more` was asked for,
 * is there: it is sent in the next http_run. */
void http_resume(struct call *c);
/* No new connections. */
void http_quiesce(struct http *h);
/* Calls that wait for http_resume. */
unsigned http_waiting(const struct http *h);
/* Closes the connections, also in the middle of a request. No call may wait. */
void http_stop(struct http **h);
