/* Access tokens of Google's services: by the key of a service account, by the token of another
 * identity provider, by the machine, and limited ones made of others. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "credentials.h"
#include "err.h"
#include "fetch.h"
#include "str.h"

struct arena;

struct google_service {
    struct str endpoint; /* "https://host", in place of all of Google's; absent: Google's own */
    struct str scope;    /* what a token is to be good for; absent: Google's storage */
    int64_t deadline_us; /* on clock_mono_us() */
    enum fetch_reach reach;
};

/* Of the credentials only the token is set, and id: the project, "" where nobody names it. Asked
 * once. ERR_UNAVAILABLE: the service did not answer or is in trouble; ERR_KEYS_REFUSED;
 * ERR_INTERNAL: it was not understood, or what it was to be asked with is wrong. Caller:
 * credentials_unref. */

/* json: what Google hands out as the key of a service account. Its address of the token service is
 * not trusted: it must be Google's, or the service's. */
MUST bool google_token_of_key(const struct google_service *service, struct str json,
    struct credentials **out, struct err *err);
/* The same, or the description of an identity of another provider, whose token lies in a file. */
enum google_file { GOOGLE_FILE_ANY, GOOGLE_FILE_OF_PROVIDER };
MUST bool google_token_of_file(const struct google_service *service, struct str path,
    enum google_file kind, struct credentials **out, struct err *err);
/* Of the service account that the machine or the pod runs as. */
MUST bool google_token_of_machine(
    const struct google_service *service, struct credentials **out, struct err *err);
/* What of a token's rights is left within a boundary (boundary.h), until the token's own end. */
MUST bool google_token_within(const struct google_service *service, const struct credentials *own,
    struct str boundary, struct credentials **out, struct err *err);
