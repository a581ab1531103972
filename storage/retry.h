/* When a request to a store is sent again, and after how long. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "err.h"
#include "str.h"

struct fetch_response;

/* Is this a status of a store, or of the way to it, that is in trouble right now? */
bool retry_is_trouble(int status);
/* What retries may still cost, of all who talk to one store: an outage must not multiply what it is
 * asked. Full it is enough for about a hundred in a row; answers fill it. */
struct purse {
    atomic_int left;
};

void purse_init(struct purse *p);

enum retry_verdict {
    RETRY_ANSWERED, /* for better or worse */
    RETRY_NOW,      /* something of ours was wrong and has been put right */
    RETRY_LATER,    /* the store or the way to it is in trouble */
};

/* One request to a store, of whichever kind. */
struct retry_by {
    void *call;
    bool (*attempt)(void *call, struct fetch_response *rs, struct err *err);
    /* Of an answer, which it reads. */
    enum retry_verdict (*judge)(void *call, const struct fetch_response *rs);
    /* There was none. */
    void (*lost)(void *call, const struct fetch_response *rs);
    /* The error for an answer that is not the hoped-for one; false. */
    bool (*fail)(void *call, const struct fetch_response *rs, struct err *err);
    struct str name; /* what it is about, for messages */
    struct purse *purse;
    int64_t deadline_us; /* on clock_mono_us(), all tries together */
};
/* Sends until there is an answer that further tries would not change; true with any such answer.
 * Between tries there is anything up to a step that doubles, behind what the answer asks for.
 * ERR_UNAVAILABLE after the last try; what else attempt says. Caller: buf_fini(&rs->body). */
MUST bool retry_send(const struct retry_by *by, struct fetch_response *rs, struct err *err);
