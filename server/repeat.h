/* Requests that carry a key (Idempotency-Key): carried out once, answered as often as they are
 * sent. The answer is kept in the transaction of the effect; nothing claims a key beforehand, so a
 * crash leaves nothing behind, and a repetition that runs at the same time waits in the database.
 */
#pragma once

#include <stdbool.h>

#include "base.h"

struct call;
struct sql_answer;

/* Does the call's key count: does the operation change something, and are keys served? */
bool repeat_keyed(const struct call *c);
/* A change that no earlier copy of the request can have made: one that is refused was not done. */
bool repeat_refusable(const struct call *c);
/* Runs the operation's handler, or gives the answer that was kept. False: c->err, to be rendered.
 */
MUST bool repeat_run(struct call *c);

/* The success of an operation once more. Those of namespaces are beside their handlers. */
typedef bool replay_fn(struct call *c, const struct sql_answer *kept);
replay_fn replay_create_namespace, replay_update_properties;
