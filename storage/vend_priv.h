/* Vending from the inside: what the probe needs beside vend.h. */
#pragma once

#include "credentials.h"
#include "policy.h"
#include "s3_priv.h"
#include "sts.h"
#include "vend.h"

struct vend_entry;
enum { VEND_BUCKETS = 1024 };

struct vend {
    struct s3 *s3;          /* not owned */
    struct store_conf conf; /* its strings outlive the store */
    pthread_mutex_t lock;
    pthread_cond_t news; /* some request has ended */
    /* All under lock. */
    struct vend_entry *buckets[VEND_BUCKETS];
    struct vend_entry *newest, *oldest; /* of those that have keys */
    size_t n, bytes;
};

/* The token service, as the server reaches it. */
struct sts_service vend__service(const struct vend *v, struct str region);
/* Asks the service, beside the cache. Errors as vend_get. Caller: credentials_unref. */
MUST bool vend__ask(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err);
