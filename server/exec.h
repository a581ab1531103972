/* The slow lane: threads that may block, behind a bounded queue. Tasks with the same key run one
 * after the other in the order of their coming; the waiting ones occupy no thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base.h"
#include "err.h"

struct exec;

/* Embedded in what is to be done. A task that was taken is run, in a thread of the lane, or
 * refused, in the thread that calls exec_stop. Either may free it, unless it has a third function:
 * what is done, in the same thread, when the next task of its key may run. */
struct exec_task {
    void (*run)(struct exec_task *t);
    void (*done)(struct exec_task *t); /* or NULL */
    void (*refuse)(struct exec_task *t);
    int64_t key; /* 0: none */
    bool parked; /* it had to wait for another one of its key */
    STAILQ_ENTRY(exec_task) link;
};

struct exec_conf {
    unsigned threads; /* at least 1 */
    unsigned queue;   /* tasks that may wait for a thread */
    unsigned per_key; /* tasks that may wait behind a running one of their key */
};

enum exec_result {
    EXEC_TAKEN,
    EXEC_FULL, /* the queue is: nothing happened to the task */
    EXEC_KEY_FULL,
    EXEC_STOPPED, /* exec_stop was called: nothing happened to the task */
};

MUST bool exec_start(const struct exec_conf *conf, struct exec **out, struct err *err);
MUST enum exec_result exec_submit(struct exec *e, struct exec_task *t);
/* For the server's own upkeep, and for what has begun and must go on: not subject to the bound of
 * the queue. */
MUST enum exec_result exec_submit_upkeep(struct exec *e, struct exec_task *t);
/* Waits until nothing waits or runs, or the deadline (clock_mono_us()) passed: false. Tasks are
 * taken meanwhile. */
bool exec_wait_idle(struct exec *e, int64_t deadline_us);
/* No task is taken any more; those that have not begun are refused. */
void exec_stop(struct exec *e);
/* After exec_stop: waits for the threads until the deadline and frees all. False: some still run,
 * nothing is freed. */
bool exec_join(struct exec **e, int64_t deadline_us);
/* Tasks that wait, with and without key. */
unsigned exec_waiting(struct exec *e);
