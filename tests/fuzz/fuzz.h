/* What a fuzz target is made of: one function, and checks that stay in release builds. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "str.h"

/* Called by libFuzzer and by driver.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define FUZZ_CHECK(condition, why)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, (why));             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline struct str fuzz_text(const uint8_t *data, size_t size)
{
    return (struct str){size ? (const char *)data : "", size};
}
