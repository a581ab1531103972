/* Background jobs of all warehouses: one thread each for purges and for sweeps, which takes the
 * warehouses one after the other. */
#pragma once

#include <stdbool.h>

#include "background.h"
#include "err.h"

struct config;
struct warehouses;

enum jobs { JOBS_PURGE, JOBS_SWEEP };

/* Both outlive the thread. */
MUST bool jobs_start(enum jobs kind, struct warehouses *w, const struct config *conf,
    struct background **out, struct err *err);
