/* What single clients need answered differently, as rows; never an `if` in a handler. */
#pragma once

/* X(user-agent prefix, operation, what, why) */
#define QUIRKS(X)                                                                                  \
    X("ClickHouse", OP_DROP_TABLE, QUIRK_200_FOR_204,                                              \
        "repeats a DELETE that was answered 204 and then reports the second one's 404")            \
    X("ClickHouse", OP_DROP_NAMESPACE, QUIRK_200_FOR_204, "the same")

enum quirk {
    QUIRK_NONE,
    QUIRK_200_FOR_204, /* success without a body becomes 200 with {} */
};
