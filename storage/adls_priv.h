/* Azure Data Lake Storage from the inside: the open account and one authorized, retried request.
 * Its Blob interface is spoken, which accounts with and without directories have. */
#pragma once

#include "endpoint.h"
#include "fetch.h"
#include "keeper.h"
#include "retry.h"
#include "store_priv.h"

#include <stdatomic.h>

/* How keys are used: the id of their struct credentials; the secret is the key, token or SAS. */
#define ADLS_SHARED_KEY "SharedKey"
#define ADLS_BEARER     "Bearer"
#define ADLS_SAS        "SharedAccessSignature"

enum { ADLS_CALL_HEADERS = 8 };

struct adls {
    struct str authority; /* the first root's; its text lives as long as the store's roots */
    enum endpoint_scheme scheme;
    char *endpoint; /* host, port and path; NULL: the account's host */
    enum fetch_reach reach;
    int64_t deadline_us;
    struct keeper *keeper;
    atomic_llong clock_offset_ms; /* the store's clock minus ours */
    struct purse purse;           /* of the retries */
};

/* "abfss://container@account.dfs.core.windows.net" taken apart. */
struct adls_place {
    struct str container, account, host;
};
struct adls_place adls__place(struct str authority);

/* One request, and what is learned while it is sent. */
struct adls_call {
    const char *method;
    struct str container; /* absent: the account itself */
    struct str key;       /* absent: the container itself */
    struct str query;     /* encoded */
    struct fetch_header headers[ADLS_CALL_HEADERS];
    size_t n_headers;
    const struct str *pieces;
    size_t n_pieces;
    size_t max_body;
    int64_t deadline_us;      /* on clock_mono_us(), all tries together */
    struct credentials *keys; /* that the last attempt used; adls__send gives them back */
    bool uncertain;           /* out: an earlier attempt may have been carried out */
    struct str code, message; /* out: what the store's error says; absent without one */
};

void adls__header(struct adls_call *call, const char *name, struct str value);
/* Sends until there is an answer that further tries would not change; true with any such answer.
 * ERR_UNAVAILABLE after the last try, ERR_TOO_LARGE, ERR_INTERNAL. Caller: buf_fini(&rs->body). */
MUST bool adls__send(struct adls *s, struct arena *a, struct adls_call *call,
    struct fetch_response *rs, struct err *err);
/* The error for an answer that is not the hoped-for one; false. */
bool adls__fail(const struct adls *s, const struct adls_call *call, const struct fetch_response *rs,
    struct err *err);

/* adls_list.c */
MUST bool adls__list(struct store *s, const struct place *p, struct entries *out, struct err *err);
