/* What a trial of a store may find that its operator can let pass, one by one and by name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;

/* X(kind, name, what it means). In the order in which they are tried. */
#define FINDINGS(X)                                                                                \
    X(LIST_DENIED, "list-denied",                                                                  \
        "objects cannot be listed, so that files which a dead process left behind stay")           \
    X(CONDITION_IGNORED, "condition-ignored",                                                      \
        "the store does not honour If-None-Match, so that of two writers of one name the second "  \
        "wins")                                                                                    \
    X(VENDED_LIST_DENIED, "vended-list-denied",                                                    \
        "vended credentials cannot list their own folder")                                         \
    X(VENDED_SIBLING_READ, "vended-sibling-read",                                                  \
        "vended credentials can read a folder whose name begins alike")                            \
    X(VENDED_SIBLING_WRITE, "vended-sibling-write",                                                \
        "vended credentials can write into a folder whose name begins alike")                      \
    X(VENDED_SIBLING_DELETE, "vended-sibling-delete",                                              \
        "vended credentials can delete in a folder whose name begins alike")                       \
    X(VENDED_SIBLING_LIST, "vended-sibling-list",                                                  \
        "vended credentials can list a folder whose name begins alike")                            \
    X(VENDED_OUTSIDE_WRITE, "vended-outside-write",                                                \
        "vended credentials can write into the folder above")                                      \
    X(VENDED_OUTSIDE_LIST, "vended-outside-list", "vended credentials can list the folder above")  \
    X(VENDED_ROLE_ASSUMED, "vended-role-assumed",                                                  \
        "whoever has vended credentials can get those of the whole role with them: its trust "     \
        "policy must name who may assume it, or clients need an endpoint without a token service") \
    X(VENDED_TOKEN_WIDENED, "vended-token-widened",                                                \
        "whoever has a limited token can get one with other limits for it")                        \
    X(VENDED_READER_WRITES, "vended-reader-writes",                                                \
        "vended credentials can write although they are for reading")                              \
    X(SIGNED_PATH_CHANGED, "signed-path-changed",                                                  \
        "the store takes a signed request for another object or list than was signed")             \
    X(SIGNED_LIST_CHANGED, "signed-list-changed",                                                  \
        "the store takes another list of objects to delete than was signed")                       \
    X(SIGNED_HEADER_ADDED, "signed-header-added",                                                  \
        "the store takes headers that were not signed, by which a write copies another table's "   \
        "object")

enum finding {
#define X(kind, name, text) FINDING_##kind,
    FINDINGS(X)
#undef X
        FINDINGS_N
};

const char *finding_name(enum finding f);
const char *finding_text(enum finding f);
/* The findings of these names, NULL-ended, as bits 1 << enum finding; NULL: none.
 * ERR_INTERNAL names one that is not known, and those that are. */
MUST bool findings_named(const char *const *names, uint32_t *out, struct err *err);
/* A line in the log about a store that is used although these were allowed. */
void findings_log(struct str base, uint32_t allowed);
