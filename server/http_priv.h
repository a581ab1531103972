/* What the files of http.h share. */
#pragma once

#include <microhttpd.h>

#include "http.h"
#include "peers.h"
#include "refusal.h"

struct http {
    struct MHD_Daemon *daemon;
    refusal_queue *queue; /* the library's */
    struct http_service service;
    struct peers peers;
    size_t body_bytes, body_bytes_max; /* of all requests that are being received */
    unsigned calls, waiting;
    unsigned looking; /* of those that wait: their connections are still in the loop */
    unsigned more;    /* runs until the answers of this one are sent */
    bool resumed, quiesced;
    bool freed; /* a connection ended in the last run */
};

struct peer *http__peer(struct MHD_Connection *con);
/* The call is over. */
void http__give(struct http *h, struct call *c);

/* http_answer.c. Queues c->reply; the library's response owns the call from then on, which leaves
 * the context of the request. */
enum MHD_Result http__send(struct http *h, struct call *c, void **context);
/* So with c->err. */
enum MHD_Result http__send_error(struct http *h, struct call *c, void **context);
/* c->err in an answer that the library does not know of, and the end of the connection. */
void http__send_past(struct call *c, struct peer *p);
