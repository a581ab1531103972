/* Temporary keys from a security token service: the keys of a role. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "credentials.h"
#include "err.h"
#include "fetch.h"
#include "str.h"

struct arena;

struct sts_service {
    struct str endpoint; /* "https://host"; absent: AWS's own of the region */
    struct str region;   /* absent: us-east-1 */
    int64_t deadline_us; /* on clock_mono_us() */
    enum fetch_reach reach;
    bool *answered; /* set when an HTTP answer came, whatever it says; may be NULL */
};

struct sts_role {
    struct str arn;
    struct str session;     /* the session's name, for the records of the service */
    struct str external_id; /* absent: none */
    struct str policy;      /* JSON: what of the role's rights is left; absent: all of them */
    int duration_s;         /* 0: the service's own */
};

/* Sent once. ERR_UNAVAILABLE: the service did not answer or is in trouble; ERR_KEYS_REFUSED;
 * ERR_INTERNAL: it was not understood. The keys are those of somebody who may assume the role. */
MUST bool sts_assume_role(const struct sts_service *service, const struct credentials *keys,
    const struct sts_role *role, struct credentials **out, struct err *err);
/* By a token of an identity provider that the role trusts; nothing is signed. No external id. */
MUST bool sts_assume_role_by_token(const struct sts_service *service, struct str token,
    const struct sts_role *role, struct credentials **out, struct err *err);
