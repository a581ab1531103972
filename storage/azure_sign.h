/* Signatures of Azure Storage: Shared Key of a request, and shared access signatures (SAS), which
 * let whoever holds them into one container or directory. No I/O, no clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fetch.h"
#include "str.h"

struct arena;

struct azure_request {
    struct str method;
    struct str account;
    struct str path;  /* as on the wire */
    struct str query; /* encoded, without '?'; may be empty */
    size_t length;    /* of the body */
    /* x-ms-… in any order, and of the others those that Azure signs; names in lower case */
    const struct fetch_header *headers;
    size_t n_headers;
};

/* What is signed; holds no secret. */
struct str azure_text(struct arena *a, const struct azure_request *rq);
/* The value of Authorization. key: the account's, in base64. ERR_INTERNAL: it is no base64. */
MUST bool azure_sign(struct arena *a, const struct azure_request *rq, struct str key,
    struct str *out, struct err *err);

/* Who vouches for a signature: a user's key that the account gave out for some hours. */
struct azure_user_key {
    struct str oid, tid, start, expiry, service, version;
    struct str value; /* base64 */
};

struct azure_sas {
    struct str account, container;
    struct str path; /* of the directory, not encoded, without slash at either end; empty: the
                      * whole container */
    struct str permissions; /* in Azure's order: "rl", "racwdl" */
    int64_t start_ms, expires_ms;
    struct str protocols;              /* "https", "https,http" */
    const struct azure_user_key *user; /* NULL: by the account's key */
};

/* The query string that lets in. key: base64, the account's or the user's; ERR_INTERNAL as above.
 */
MUST bool azure_sas_sign(
    struct arena *a, const struct azure_sas *sas, struct str key, struct str *out, struct err *err);
/* "2026-11-30T12:17:00Z" */
struct str azure_time(struct arena *a, int64_t ms);
