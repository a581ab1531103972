/* One HTTP exchange with deadlines; the only user of libcurl. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "store.h"
#include "str.h"

struct arena;

struct fetch_header {
    struct str name, value;
};

struct fetch_request {
    const char *method; /* "GET", "PUT", … */
    struct str url;     /* final bytes: nothing is re-encoded */
    const struct fetch_header *headers;
    size_t n_headers;
    const struct str *pieces; /* the body, joined */
    size_t n_pieces;
    size_t max_body;     /* of the answer */
    int64_t deadline_us; /* clock_mono_us() at which to give up */
    /* Which addresses a host's name may lead to (address.h). Only those who ask for the machine's
     * own identity go anywhere. */
    enum fetch_reach { FETCH_PRIVATE, FETCH_PUBLIC, FETCH_NOWHERE, FETCH_ANYWHERE } reach;
};

struct fetch_response {
    int status; /* 0 never happens on success */
    struct fetch_header *headers;
    size_t n_headers;
    struct buf body; /* caller: fetch_response_fini */
    /* Set on failure too: may a copy of the request have been acted on without an answer to it?
     * True also when a kept connection broke and the request was sent again on a new one. */
    bool may_have_arrived;
};

/* Sends once, no retries, no redirects, TLS verified. False with ERR_UNAVAILABLE (the message says
 * whether the request may have arrived), ERR_TOO_LARGE, or ERR_INTERNAL for what time will not
 * heal (a certificate that cannot be trusted, a broken URL, an address out of reach). Any HTTP
 * status is a success here; the body of one that is not 2xx is cut at max_body, or at 64 KB where
 * that is more. */
MUST bool fetch_do(
    struct arena *a, const struct fetch_request *rq, struct fetch_response *out, struct err *err);
enum fetch_reach fetch_reach_of(enum store_reach reach);
void fetch_response_fini(struct fetch_response *r);
/* Moves the body to *out. False: no length came with it, so that one which was cut off would look
 * like a whole one. */
MUST bool fetch_take_body(struct fetch_response *r, struct buf *out);
/* Header value by name without case; absent: p == NULL. */
struct str fetch_header(const struct fetch_response *r, const char *name);
/* Once at start and end of the process; from the start on SIGPIPE is ignored. */
void fetch_global_init(void);
void fetch_global_fini(void);
