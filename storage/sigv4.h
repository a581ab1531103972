/* AWS Signature Version 4, in headers. No I/O, no clock: the caller gives the time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fetch.h"
#include "str.h"

struct arena;

struct sigv4_key {
    struct str id, secret, token; /* token may be absent */
    struct str region, service;   /* "s3" */
};

struct sigv4_request {
    struct str method;
    struct str host;                    /* with port unless it is the scheme's own */
    struct str path;                    /* canonical URI: encoded once, as sent on the wire */
    struct str query;                   /* as sent, without '?'; may be empty */
    const struct fetch_header *headers; /* further headers to sign, any order */
    size_t n_headers;
    struct str payload_hash; /* hex SHA-256 or UNSIGNED-PAYLOAD */
    int64_t now_ms;
};

/* Headers to add to the request (x-amz-date, x-amz-content-sha256 for s3, x-amz-security-token,
 * authorization); at most 4. */
MUST bool sigv4_sign(struct arena *a, const struct sigv4_key *key, const struct sigv4_request *rq,
    struct fetch_header *out, size_t *n_out, struct err *err);
/* The canonical request, for tests and the debug log (holds no secret). */
struct str sigv4_canonical(
    struct arena *a, const struct sigv4_key *key, const struct sigv4_request *rq);
/* Percent-encodes a key for the path of S3: once, byte-wise, '/' kept. */
struct str sigv4_encode_path(struct arena *a, struct str key);
