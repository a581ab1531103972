/* Remote signing from the inside: the check, which knows neither store nor keys nor time. */
#pragma once

#include "endpoint.h"
#include "sign.h"
#include "store.h"

#include <stdatomic.h>

enum {
    SIGN_URI_MAX = 8192,
    SIGN_HEADERS_MAX = 64,
    SIGN_HEADERS_BYTES = 16 * 1024,
    SIGN_BODY_MAX = 1024 * 1024,
    SIGN_KEYS_MAX = 1000, /* of one list of objects to delete */
    SIGN_KEY_BYTES = 1024,
    SIGN_QUERY_MAX = 12,
};

struct s3;

/* What a store must look at before the warehouse's own keys may sign: that no x-amz- header came
 * that was not signed (it could make a write a copy of anything), that the body is the one that was
 * signed (another list would be deleted). */
enum sign_look { SIGN_LOOK_HEADERS, SIGN_LOOK_BODIES, SIGN_LOOKS };
enum sign_looks { SIGN_LOOKS_UNKNOWN, SIGN_LOOKS_CLOSELY, SIGN_LOOKS_AWAY };

struct sign {
    struct s3 *s3;          /* not owned */
    struct store_conf conf; /* its strings outlive the store */
    atomic_int looks[SIGN_LOOKS];
};

/* The folder, and how its store must be addressed. */
struct sign_folder {
    enum endpoint_scheme scheme;
    struct str host; /* with the port unless it is the scheme's own */
    struct str bucket, key, region;
    unsigned forms; /* that the store understands */
};
enum { SIGN_IN_PATH = 1, SIGN_IN_HOST = 2 };

/* A URI taken apart, its key decoded once. */
struct sign_uri {
    struct str host;  /* as it will stand in the Host header */
    struct str path;  /* encoded by us */
    struct str key;   /* absent: the bucket itself */
    struct str query; /* raw; absent: none */
};

/* What is to be signed. */
struct sign_plan {
    struct sign_uri at; /* its query encoded by us */
    struct str uri;
    struct fetch_header *signs; /* further headers that the signature covers */
    size_t n_signs;
    struct fetch_header *sends; /* those of the request that are to be sent, signed ones too */
    size_t n_sends;
    struct str payload_hash;
    enum sign_kind { SIGN_READS, SIGN_WRITES, SIGN_DELETES_MANY } kind;
};

/* All checks. ERR_STORE_BAD_URI, ERR_STORE_DENIED. */
MUST bool sign__check(struct arena *a, const struct sign_folder *f, enum vend_access access,
    const struct sign_request *rq, struct sign_plan *out, struct err *err);
/* Its steps, in this order. */
MUST bool sign__uri(struct arena *a, const struct sign_folder *f, struct str uri,
    struct sign_uri *out, struct err *err);
MUST bool sign__shape(struct arena *a, const struct sign_folder *f, enum vend_access access,
    struct str method, struct sign_plan *plan, struct err *err);
MUST bool sign__headers(
    struct arena *a, const struct sign_request *rq, struct sign_plan *plan, struct err *err);
MUST bool sign__deletes(
    struct arena *a, const struct sign_folder *f, struct str body, struct err *err);

/* May the path of a key be handed to a store: no part of it empty, "." or "..", also for one that
 * decodes it once too often? */
enum sign_path { SIGN_PATH_WHOLE, SIGN_PATH_BEGINNING };
MUST bool sign__path(struct arena *a, struct str path, enum sign_path what, struct err *err);
/* Does it lie beneath the folder, not being it? */
bool sign__beneath(const struct sign_folder *f, struct str key);

/* For whom it is signed, at the address that sg has for clients. */
struct sign_asker {
    struct store *store;
    struct sign *sign;
    struct str folder;
    enum vend_access access;
    enum sign_keys { SIGN_KEYS_BY_RULE, SIGN_KEYS_OWN } keys;
};
MUST bool sign__request(struct arena *a, const struct sign_asker *who,
    const struct sign_request *rq, struct sign_answer *out, struct err *err);
/* Tried once, by what changes nothing. In the fast lane ERR_WOULD_BLOCK. */
MUST bool sign__looks(struct arena *a, const struct sign_asker *who, enum sign_look at,
    enum sign_looks *out, struct err *err);
MUST bool sign__where(struct arena *a, const struct store *s, const struct sign *sg,
    struct str folder, struct sign_place *out, struct err *err);

/* store.c. *out is NULL when conf signs nothing. */
MUST bool sign__new(
    const struct store *s, const struct store_conf *conf, struct sign **out, struct err *err);
void sign__free(struct sign **s);
