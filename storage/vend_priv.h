/* Vending from the inside: what the kinds of stores share, and what the probe needs. */
#pragma once

#include "credentials.h"
#include "store_priv.h"
#include "vend.h"

#include <pthread.h>

struct vend_entry;
enum { VEND_BUCKETS = 1024, VEND_DURATION_S = 3600 };

struct vend {
    struct store *store; /* not owned */
    const struct vend_kind *kind;
    struct store_conf conf; /* its strings outlive the store */
    enum vend_way {
        VEND_NONE,
        VEND_BY_FOLDER, /* keys for one folder each, asked for and kept */
        VEND_OWN,       /* the store's own keys */
    } way;
    pthread_mutex_t lock;
    pthread_cond_t news; /* some request has ended */
    /* All under lock. */
    struct vend_entry *buckets[VEND_BUCKETS];
    struct vend_entry *newest, *oldest; /* of those that have keys */
    size_t n, bytes;
    int64_t rest_until_us; /* on clock_mono_us() */
};

/* What one kind of store does for clients. Errors as vend_get, unless said. */
struct vend_kind {
    const char *name; /* "S3" */
    /* How the configuration hands out keys. ERR_INTERNAL, ERR_STORE_BAD_URI for the operator. */
    bool (*way)(const struct store_conf *conf, enum vend_way *out, struct err *err);
    /* What can never be is told here, in any lane; nobody is asked. */
    bool (*check)(struct arena *a, const struct vend *v, const struct place *p,
        enum vend_access access, struct err *err);
    /* New keys for the folder, from whoever makes them. They expire. Caller: credentials_unref. */
    bool (*ask)(struct arena *a, const struct vend *v, const struct place *p,
        enum vend_access access, struct credentials **out, struct err *err);
    /* The store's own keys, for VEND_OWN; may be NULL where that is no way. */
    bool (*own)(const struct vend *v, struct credentials **out, struct err *err);
    /* Where and how clients use them: all but the keys and their times. ERR_WOULD_BLOCK. */
    bool (*tell)(struct arena *a, const struct vend *v, const struct place *p, struct vended *out,
        struct err *err);
    /* For the probe: the configuration of a client that has these keys and nothing else. */
    void (*lend)(struct arena *a, const struct vend *v, const struct credentials *keys,
        struct store_conf *conf);
    /* For the probe: false when keys can be had with these keys. NULL: there is no such way. */
    bool (*cannot_grow)(
        struct arena *a, const struct vend *v, const struct credentials *keys, struct err *err);
    /* For the probe: does the configuration want keys that reach beyond their folder? NULL: never.
     */
    bool (*reaches_more)(const struct vend *v);
    /* For the probe: may keys list their folder in the way that the server lists? */
    enum { VEND_LISTS_FOLDER, VEND_LISTS_NOTHING } lists;
    const char *hint; /* why keys may not work in their own folder; may be NULL */
};
extern const struct vend_kind vend__s3;
extern const struct vend_kind vend__gcs;
extern const struct vend_kind vend__adls;

/* Asks beside the cache. Errors as vend_get. Caller: credentials_unref. */
MUST bool vend__ask(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err);
/* From the cache, or asked, as vend_get does it, for VEND_BY_FOLDER. Caller: credentials_unref. */
MUST bool vend__keys(struct arena *a, struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err);
