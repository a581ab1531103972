/* One thread per core: an epoll, an HTTP daemon, a lookup; moves calls from stage to stage. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "err.h"

struct call;
struct server;
struct worker;

struct worker_conf {
    int listen_fd;
    unsigned connections; /* at most */
    unsigned apis;        /* that are served there: bits of enum op_api */
};
/* Opens the lookup's connection, starts the thread. */
MUST bool worker_start(const struct server *server, const struct worker_conf *conf,
    struct worker **out, struct err *err);
/* From any thread: runs `fn(arg)` in the worker's thread at its next turn. */
struct worker_note {
    void (*fn)(void *arg);
    void *arg;
    struct worker_note *next;
};
void worker_note(struct worker *w, struct worker_note *n);
/* No new connections, Connection: close on all answers. From any thread. */
void worker_quiesce(struct worker *w);
/* Calls in flight: all, or those whose head is in. From any thread. */
enum worker_count { WORKER_ALL, WORKER_HEADED };
unsigned worker_calls(const struct worker *w, enum worker_count which);
/* After exec_stop. Ends the thread and frees all; answers that are there are sent, requests that
 * are not in are dropped. */
void worker_stop(struct worker **w);
