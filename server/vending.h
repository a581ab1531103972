/* How clients reach files without keys of their own, in answers: who gets credentials or has
 * requests signed, under which keys every client reads it, and how long an entity tag may speak for
 * it. */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "err.h"
#include "ident.h"
#include "metadata.h"

struct call;
struct loaded;

/* The ways that the warehouse offers, as clients ask for them, the better one first; NULL: none. */
const char *vending_ways(const struct call *c);
/* Is the client told one of them: one that it asks for, or keys where they are given unasked? */
bool vending_gives(const struct call *c);
/* What a client is told when the store gave no keys; yields false. A refusal of its token service
 * becomes ERR_FORBIDDEN without the service's words. */
bool vending_failed(struct err *err);
/* LoadTableResult: as reply_loaded, with what is asked for, by the better way, or keys unasked. A
 * change that was made, and who did not ask, is answered without them if there are none now. In the
 * fast lane ERR_WOULD_BLOCK; ERR_UNAVAILABLE, ERR_FORBIDDEN: the token service refuses,
 * ERR_INTERNAL. */
MUST bool vending_reply(
    struct call *c, const struct ident *id, const struct loaded *t, enum variant v);
/* Does If-None-Match name the state of the row that was found, given with just what an answer would
 * say now? *etag: its tag. */
bool vending_client_has(struct call *c, enum variant v, struct str *etag);
/* LoadCredentialsResponse for the row that was found. ERR_INVALID_ARGUMENT: no credentials can be
 * limited to its location; ERR_WOULD_BLOCK, ERR_UNAVAILABLE, ERR_FORBIDDEN, ERR_INTERNAL. */
MUST bool vending_credentials(struct call *c);
