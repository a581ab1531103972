/* What is demanded of a request's head beyond what the HTTP library checks (RFC 9112: framing,
 * names, target; one Host; no foreign Origin). Pure: no connection, no library. */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "str.h"

struct call;

/* One header. Keeps it if it is one of CALL_HEADERS. ERR_BAD_REQUEST, ERR_HEADERS_TOO_LARGE; for
 * those after which the framing is unknown also c->connection_after = CALL_CLOSE. */
MUST bool head_header(struct call *c, struct str name, struct str value);
/* After the last header: takes method and uri apart into path and query, draws or accepts the id,
 * checks what needs several headers. ERR_BAD_REQUEST, ERR_URI_TOO_LONG, ERR_FORBIDDEN,
 * ERR_MEDIA_TYPE. */
MUST bool head_check(struct call *c);
/* X-Request-ID, the trace id of traceparent, or a drawn one, into c->id. */
void head_id(struct call *c);
