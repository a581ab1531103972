/* The second address: liveness, readiness, metrics; one thread that nothing can delay. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base.h"
#include "err.h"

struct admin;
struct server;

/* Where the process is in its life; written by main, read by all. */
struct progress {
    atomic_bool started;  /* schema current, database reached, serving */
    atomic_bool draining; /* told to stop: answers end their connections */
};

/* On a socket of http_bind. GET /health/live (200 while the thread runs), /health/ready (200 or
 * 503 with the reason), /metrics (Prometheus text), /reports (the last reports of engines). */
MUST bool admin_start(
    const struct server *server, int listen_fd, struct admin **out, struct err *err);
void admin_stop(struct admin **a);
/* Asks an address for readiness: what `firn health` does. Blocks for at most two seconds. */
MUST bool admin_ask_ready(const char *address, struct err *err);
