/* Keeps the server's own keys fresh, so that requests find them at hand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "credentials.h"
#include "err.h"

struct keeper;
struct sources;
struct store_conf;

/* Keys that do not expire are read here; those that do are asked for by a thread that begins now,
 * and again when half their life is over. Keeps conf's strings. ERR_INTERNAL: there are no keys. */
MUST bool keeper_new(const struct sources *from, const struct store_conf *conf, struct keeper **out,
    struct err *err);
/* Waits for a request of the thread that is under way. */
void keeper_free(struct keeper **k);
/* The keys of now, at once where there are any. Until the first ones are there, or when the last
 * ones expired, waits for a request for new ones that is under way, at most until the deadline
 * (clock_mono_us()). ERR_UNAVAILABLE, ERR_INTERNAL: why there are none. Caller:
 * credentials_unref. */
MUST bool keeper_get(
    struct keeper *k, int64_t deadline_us, struct credentials **out, struct err *err);
/* The store calls these keys expired or unknown. True when there are others now. */
bool keeper_renew(struct keeper *k, const struct credentials *refused, int64_t deadline_us);
