/* What scan.c is made of: escapes in strings, and the places of errors. */
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

/* The JSON pointer to the value, or to the member by its key, that the byte at `at` belongs to; a
 * deep one is cut. Empty for the text itself. Everything before `at` is well-formed. */
enum { SCAN_WHERE = 512 };
void scan__where(struct str text, const char *at, char out[SCAN_WHERE]);
