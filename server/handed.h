/* Settings of a warehouse that /v1/config hands to clients. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"

/* May a setting of this name be handed out? Not what leads a client and its own credentials
 * elsewhere, nor what holds secrets: whoever may read the warehouse would have them. */
bool handed_out(const char *name);
/* All names in /defaults and /overrides of a body. ERR_INVALID_ARGUMENT names the first that may
 * not be. */
MUST bool handed_check(const json_t *body, struct err *err);
