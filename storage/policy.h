/* Session policies: what of a role's rights is left for one folder of a bucket. */
#pragma once

#include "err.h"
#include "str.h"

struct arena;

struct policy_folder {
    struct str bucket, key; /* the folder's key, without slash at either end */
    struct str region;      /* tells AWS's partition; may be absent */
};

enum policy_access { POLICY_READ, POLICY_WRITE };

/* JSON: objects beneath the folder, and listing it; nothing beside it and not the folder's own
 * name. ERR_STORE_BAD_URI: a folder that no policy can name exactly, since a character of it is a
 * pattern's, or one whose policy would be too long for some store. */
MUST bool policy_for_folder(struct arena *a, const struct policy_folder *folder,
    enum policy_access access, struct str *out, struct err *err);
