/* Credential access boundaries: what of a Google token's rights is left for one folder of a bucket.
 */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "err.h"
#include "str.h"

struct arena;

struct boundary_folder {
    struct str bucket, key; /* the folder's key, without slash at either end */
};

enum boundary_access { BOUNDARY_READ, BOUNDARY_WRITE };

/* JSON: objects beneath the folder, and listing it; nothing beside it and not the folder's own
 * name. ERR_STORE_BAD_URI: a folder that no condition can name, or one whose condition would be
 * longer than Google takes. */
MUST bool boundary_for_folder(struct arena *a, const struct boundary_folder *folder,
    enum boundary_access access, struct str *out, struct err *err);
/* The text as a literal of the language of conditions (CEL), in single quotes. False: it holds what
 * cannot be in one, a control character or no UTF-8. */
bool boundary_literal(struct arena *a, struct str text, struct str *out);
