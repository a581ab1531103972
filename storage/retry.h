/* When a request to a store is sent again, and after how long. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fetch_response;

enum { RETRY_TRIES = 5 };

/* Is this a status of a store, or of the way to it, that is in trouble right now? */
bool retry_is_trouble(int status);
/* The pause after so many tries: anything up to a step that doubles, behind what the answer asks
 * for. An answer of status 0 asks for nothing. */
int64_t retry_wait_us(const struct fetch_response *rs, int tries);
/* Sleeps for it, and counts the request that follows. */
void retry_pause(int64_t us);

/* What retries may still cost, of all who talk to one store: an outage must not multiply what it is
 * asked. Full it is enough for about a hundred in a row; answers fill it. */
struct purse {
    atomic_int left;
};

void purse_init(struct purse *p);
/* What sending again costs after this answer: more when there was none. */
int retry_price(const struct fetch_response *rs);
/* False when there is too little in it, and nothing is taken. */
bool purse_pay(struct purse *p, int price);
/* After an answer: what the last retry had cost comes back, or a little when there was none. */
void purse_earn(struct purse *p, int price);
