/* What is understood or answered differently for single clients, as rows; never an `if` elsewhere. */
#pragma once

#include <stdbool.h>

/* X(user-agent prefix, operation, what, why) */
#define QUIRKS(X)                                                                                  \
    X("ClickHouse", OP_DROP_TABLE, QUIRK_200_FOR_204,                                              \
        "repeats a DELETE that was answered 204 and then reports the second one's 404")            \
    X("ClickHouse", OP_DROP_NAMESPACE, QUIRK_200_FOR_204, "the same")                              \
    X("ClickHouse", OP_DROP_TABLE, QUIRK_DOTTED_LEVELS,                                            \
        "writes the levels a, b as a.b here; a level with a dot in it can be named nowhere in it") \
    X("ClickHouse", OP_CREATE_NAMESPACE, QUIRK_DOTTED_LEVELS,                                      \
        "the same, in the body; then asks for a, b, and lists nothing at all while a.b is there")

enum quirk {
    QUIRK_200_FOR_204,   /* success without a body becomes 200 with {} */
    QUIRK_DOTTED_LEVELS, /* a dot in the namespace separates two levels */
};

struct call;

/* Does a row ask for it: this client with this operation? */
bool quirk_holds(const struct call *c, enum quirk what);
/* The path's namespace, and the body's, become what the client means; before they are checked. */
void quirk_read_args(struct call *c);
void quirk_read_body(struct call *c);
