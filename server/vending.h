/* Credentials in answers: who gets them, under which keys every client reads them, and how long an
 * entity tag may speak for them. */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "err.h"
#include "ident.h"
#include "metadata.h"

struct call;
struct loaded;

/* Does the warehouse hand out credentials, and does the request ask for them? */
bool vending_asked(const struct call *c);
/* LoadTableResult: as reply_loaded, with credentials when they are asked for. A change that was
 * made is answered without them if there are none now. In the fast lane ERR_WOULD_BLOCK;
 * ERR_UNAVAILABLE, ERR_INTERNAL. */
MUST bool vending_reply(
    struct call *c, const struct ident *id, const struct loaded *t, enum variant v);
/* Does If-None-Match name the state of the row that was found, given with credentials that are
 * still fresh? *etag: its tag. */
bool vending_client_has(struct call *c, enum variant v, struct str *etag);
/* LoadCredentialsResponse for the row that was found. ERR_INVALID_ARGUMENT: no credentials can be
 * limited to its location; ERR_WOULD_BLOCK, ERR_UNAVAILABLE, ERR_INTERNAL. */
MUST bool vending_credentials(struct call *c);
