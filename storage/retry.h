/* When a request to a store is sent again, and after how long. */
#pragma once

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
