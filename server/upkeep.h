/* What the server does for itself from time to time, in the slow lane. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec.h"
#include "uuid.h"

struct server;

struct upkeep {
    struct exec_task task;
    const struct server *server;
    char holder[UUID_TEXT + 1]; /* of leases: this process */
    atomic_bool running;
};

void upkeep_init(struct upkeep *u, const struct server *server);
/* The time from one to the next. */
int64_t upkeep_interval_us(const struct server *server);
/* Hands it to the slow lane, unless the last one still runs. */
void upkeep_begin(struct upkeep *u);
