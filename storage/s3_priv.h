/* S3 from the inside: the open endpoint and one signed, retried request to it. */
#pragma once

#include "endpoint.h"
#include "fetch.h"
#include "keeper.h"
#include "retry.h"
#include "store_priv.h"

#include <pthread.h>
#include <stdatomic.h>

struct s3_bucket {
    struct s3_bucket *next;
    char *name;
    char region[REGION_MAX + 1]; /* under s3.lock */
    enum s3_region {
        REGION_ASSUMED, /* to be asked for before the first request */
        REGION_KNOWN,
    } state; /* under s3.lock */
};

struct s3 {
    enum endpoint_scheme scheme;
    char *endpoint; /* host and port; NULL: AWS, the host follows from the region */
    enum store_style style;
    enum fetch_reach reach;
    int64_t deadline_us; /* of one operation */
    struct s3_bucket *buckets;
    pthread_mutex_t lock;         /* of the regions */
    struct keeper *keeper;        /* of the keys */
    atomic_llong clock_offset_ms; /* the store's clock minus ours */
    atomic_bool no_condition;     /* the store knows no If-None-Match on PUT */
    struct purse purse;           /* of the retries */
};

enum { S3_CALL_HEADERS = 4 };

/* One request, and what is learned while it is sent. */
struct s3_call {
    const char *method;
    struct s3_bucket *bucket;
    struct str key;   /* absent: the bucket itself */
    struct str query; /* encoded */
    struct fetch_header headers[S3_CALL_HEADERS];
    size_t n_headers;
    const struct str *pieces;
    size_t n_pieces;
    size_t max_body;
    int64_t deadline_us;      /* on clock_mono_us(), all tries together */
    struct credentials *keys; /* that signed the last attempt; s3__send gives them back */
    struct str hash;          /* of the pieces; set by s3__send */
    bool uncertain;           /* out: an earlier attempt may have been carried out */
    bool spurious;            /* out: the answer says success and is none */
    struct str code, message; /* out: what the store's error says; absent without one */
};

/* Sends until there is an answer that further tries would not change; true with any such answer.
 * ERR_UNAVAILABLE after the last try, ERR_TOO_LARGE, ERR_INTERNAL. Caller: buf_fini(&rs->body). */
MUST bool s3__send(struct s3 *s3, struct arena *a, struct s3_call *call, struct fetch_response *rs,
    struct err *err);
/* The region of a bucket: asked of the store when nobody knows it yet. The copy is the arena's;
 * absent, in the fast lane, when it would have to be asked. */
struct str s3__region(struct s3 *s3, struct arena *a, struct s3_bucket *b);
/* Does the bucket go into the path of a URL, or into the host's name? */
bool s3__in_path(const struct s3 *s3, const struct s3_bucket *b);
/* The error for an answer that is not the hoped-for one; false. */
bool s3__fail(const struct s3_call *call, const struct fetch_response *rs, struct err *err);
