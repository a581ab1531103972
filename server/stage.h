/* The stages of a call that need neither the connection nor the loop: routing, checks, the handler
 * and what becomes of its error. */
#pragma once

#include <stdbool.h>

#include "base.h"

struct call;

/* Route, warehouse, names, parameters, limit of the body. False: c->err. */
MUST bool stage_head(struct call *c);
/* Fast lane: runs the handler. False: it must go to the slow lane (would block). True: c->reply is
 * there, an error too. */
bool stage_fast(struct call *c);
/* May the worker read the body, ahead of the handler, for the name that is in it? */
bool stage_may_read(const struct call *c);
/* Does that. False: it is no good, and c->reply says so. */
bool stage_read(struct call *c);
/* Slow lane: lookup if it is missing, body, handler. c->reply is there afterwards. */
void stage_slow(struct call *c);
/* Slow lane: the next piece of an answer that has begun. */
void stage_more(struct call *c);
/* The answer has begun and cannot go on: c->err, and for the account its status. */
void stage_break(struct call *c, const char *why);
/* The slow lane took it not: 429 for what changes something, 503 for the rest. */
void stage_refuse(struct call *c, const char *why);
/* Renders c->err, technical kinds and unknown outcomes translated first. */
void stage_fail(struct call *c);
/* The metrics, once for a call. Before its answer goes, so that who has it finds it counted. */
void stage_count(struct call *c);
/* That, if it was not yet, and the line in the access log, once the answer was handed over. */
void stage_account(struct call *c);
