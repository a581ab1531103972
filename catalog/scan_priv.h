/* Escapes in JSON strings, for scan.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "str.h"

/* The value of \uXXXX at p, or -1. */
int32_t scan__unit(const char *p, const char *end);
static inline bool scan__is_high(int32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}
static inline bool scan__is_low(int32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}
/* Decodes a valid string into `to`, which has room for raw.n bytes; returns the end. */
char *scan__unescape(struct str raw, char *to);
