/* What is done once an answer is out: files that the change has made useless are deleted, by a task
 * of the slow lane. The queue is bounded; what it cannot take stays. */
#pragma once

#include <stdbool.h>

struct afterwards;
struct catalog;
struct exec;
struct leftovers;

/* The lane must outlive it. */
struct afterwards *afterwards_new(struct exec *exec);
/* After exec_join, and when nobody adds any more. */
void afterwards_free(struct afterwards **p);
/* From any thread, without waiting. The files are copied. */
void afterwards_add(struct afterwards *p, struct catalog *catalog, const struct leftovers *left);
bool afterwards_idle(struct afterwards *p);
