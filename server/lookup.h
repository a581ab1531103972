/* The rows that the calls of one turn of the loop need, asked for in one statement. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "call.h"
#include "err.h"

struct lookup;
struct worker;

/* One per worker. `epoll` is the worker's: the lookup's socket is kept in it, as `tag`. `done` gets
 * every added call, in the worker's thread: with c->looked_up set, or without when the database
 * could not be asked (the slow lane then tries: lookup_now). */
struct lookup *lookup_new(struct worker *w, const struct server *server, int epoll, void *tag,
    void (*done)(struct call *c));
/* Nothing may be under way, and the executor must have been stopped. */
void lookup_free(struct lookup **l);
/* Opens the connection; blocks. Later losses are mended in the slow lane by itself. */
MUST bool lookup_open(struct lookup *l, struct err *err);

void lookup_add(struct lookup *l, struct call *c);
/* Its socket had something to read in this turn: before lookup_turn. */
void lookup_readable(struct lookup *l);
/* Sends what was added if nothing is under way; takes in answers. Once per turn. */
void lookup_turn(struct lookup *l);
/* Waits for an answer under way, not long: what else arrives meanwhile is taken in the same turn,
 * and so is in one statement again. At once when nothing is under way. */
void lookup_wait(const struct lookup *l);
/* Milliseconds until lookup_turn has something to do of its own accord; -1: nothing. */
int lookup_timeout_ms(const struct lookup *l);

/* The same for one call, blocking: slow lane. Operations without a lookup get the reading of their
 * namespace only. ERR_UNAVAILABLE, ERR_INTERNAL. */
MUST bool lookup_now(struct call *c);
