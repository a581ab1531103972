/* The address of a service, as its setting spells it. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "str.h"

struct endpoint {
    enum endpoint_scheme { ENDPOINT_HTTP, ENDPOINT_HTTPS } scheme;
    struct str host; /* with the port, unless it is the scheme's own; borrowed from the text */
};

/* "http://127.0.0.1:8333/" taken apart. ERR_STORE_BAD_URI names `what` and does not show the text,
 * which may hold a password. */
MUST bool endpoint_parse(struct str uri, const char *what, struct endpoint *out, struct err *err);
const char *endpoint_word(enum endpoint_scheme scheme);
