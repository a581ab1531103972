/* Google Cloud Storage from the inside: the open service and one retried request to it. */
#pragma once

#include "endpoint.h"
#include "fetch.h"
#include "google.h"
#include "keeper.h"
#include "retry.h"
#include "source.h"
#include "store_priv.h"

struct gcs {
    enum endpoint_scheme scheme;
    char *host; /* and port */
    enum fetch_reach reach;
    int64_t deadline_us; /* of one operation */
    struct keeper *keeper;
    struct purse purse; /* of the retries */
};

/* One request, and what is learned while it is sent. */
struct gcs_call {
    const char *method;
    struct str uri;                                            /* what it is about, for messages */
    struct str path;                                           /* and query, encoded */
    enum gcs_missing { GCS_NO_OBJECT, GCS_NO_BUCKET } missing; /* when the answer is 404 */
    const char *content_type;
    const struct str *pieces;
    size_t n_pieces;
    size_t max_body;
    int64_t deadline_us;        /* on clock_mono_us(), all tries together */
    struct credentials *keys;   /* of the last attempt; gcs__send gives them back */
    bool uncertain;             /* out: an earlier attempt may have been carried out */
    struct str reason, message; /* out: what the service's error says; absent without one */
};

/* Sends until there is an answer that further tries would not change; true with any such answer.
 * ERR_UNAVAILABLE after the last try, ERR_TOO_LARGE, ERR_INTERNAL. Caller: buf_fini(&rs->body). */
MUST bool gcs__send(struct gcs *gcs, struct arena *a, struct gcs_call *call,
    struct fetch_response *rs, struct err *err);
/* The error for an answer that is not the hoped-for one; false. */
bool gcs__fail(const struct gcs_call *call, const struct fetch_response *rs, struct err *err);
/* "b/BUCKET/o" of the place, and behind it "/NAME" where it is asked for. */
struct str gcs__bucket(const struct root *r);

/* gcs_list.c */
MUST bool gcs__list(struct store *s, const struct place *p, struct entries *out, struct err *err);
/* gcs_source.c */
struct google_service gcs__service(const struct store_conf *conf);
