/* Remote signing: clients' requests to the store, checked against one folder and signed with the
 * warehouse's keys, so that clients need none. What is not known to be harmless is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "fetch.h"
#include "str.h"
#include "vend.h"

struct arena;
struct store;

struct sign_request {
    struct str method, uri, region;
    const struct fetch_header *headers; /* a repeated one: several rows */
    size_t n_headers;
    struct str body; /* absent: the client did not show it */
};

struct sign_answer {
    struct str uri; /* to be used in place of the one sent */
    const struct fetch_header
        *headers; /* all that are to be sent, a repeated one in several rows */
    size_t n_headers;
    /* May the signature be used again for the same method and URI? */
    enum sign_reuse { SIGN_ONCE, SIGN_AGAIN } reuse;
};

/* Where and how clients must address the folder's store. */
struct sign_place {
    struct str endpoint, region;
    enum vend_style style;
};

/* Does the store's configuration sign for clients, and rather than hand out credentials? */
bool sign_offered(const struct store *s);
bool sign_preferred(const struct store *s);
/* For a folder as vend_get takes it. Where the store hands out keys of a role, those for the folder
 * sign, so that nothing else is reached whatever was signed; else the warehouse's own.
 * ERR_STORE_BAD_URI: the request is not understood; ERR_STORE_DENIED: it is none that is signed, or
 * not for this folder; in the fast lane ERR_WOULD_BLOCK; ERR_UNAVAILABLE, ERR_KEYS_REFUSED,
 * ERR_INTERNAL: no keys. */
MUST bool sign_request(struct arena *a, struct store *s, struct str folder, enum vend_access access,
    const struct sign_request *rq, struct sign_answer *out, struct err *err);
/* Errors as sign_request. */
MUST bool sign_where(
    struct arena *a, struct store *s, struct str folder, struct sign_place *out, struct err *err);
/* Do signed requests work inside of a folder, and is all else refused: by us, and by the store what
 * was changed after the signature? As vend_probe; a store that does not sign passes. Slow lane. */
MUST bool sign_probe(struct store *s, struct err *err);
