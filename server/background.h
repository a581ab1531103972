/* A thread that does a job of the server's own, over and over: purges, sweeps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct background;

struct background_job {
    const char *name; /* of the thread */
    void *job;        /* owned from the start of the thread on */
    /* Does what is to do now; the result: milliseconds after which there may be more. */
    int64_t (*run)(void *job);
    void (*stop)(void *job); /* from any thread: run returns soon */
    void (*free)(void *job);
};

/* What the job uses must outlive the thread. A job whose thread cannot be started is freed. */
MUST bool background_start(
    const struct background_job *job, struct background **out, struct err *err);
/* There is something to do. From any thread; NULL is nobody. */
void background_wake(struct background *b);
/* Nothing is begun any more. NULL is nobody. */
void background_stop(struct background *b);
/* After background_stop: waits for the thread until the deadline (clock_mono_us()) and frees all.
 * False: it still runs, nothing is freed. */
bool background_join(struct background **b, int64_t deadline_us);
