/* The keys in a warehouse's profile: what of them is shown, and what is sealed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"
#include "str.h"

struct arena;

/* Does the profile keep static keys of its own? Local files need none. */
bool profile_has_keys(const json_t *profile);
/* The name of the secret that they are kept under; absent where the storage has none. */
struct str profile_secret(const json_t *profile);
/* Takes the secret parts out of the profile, whether or not it has a use for them; for those that
 * it has none for it is refused. *out: the text to be sealed, wiped with the arena; absent when
 * none came. ERR_INVALID_ARGUMENT. */
MUST bool profile_take_keys(struct arena *a, json_t *profile, struct str *out, struct err *err);
/* Are the parts there that are shown, or came just now? ERR_INVALID_ARGUMENT names one that is
 * missing. */
MUST bool profile_check_keys(const json_t *profile, struct err *err);
/* ERR_INVALID_ARGUMENT: the secret parts of a profile that has keys did not come; false. */
bool profile_keys_missing(const json_t *profile, struct err *err);
