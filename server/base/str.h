/* Strings as pointer and length. Never owned: they borrow, or live in an arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena;

struct str {
    const char *p; /* may be NULL: an absent string; p != NULL with n == 0 is the empty one */
    size_t n;
};

/* A literal as a struct str. */
#define STR(lit) ((struct str){("" lit), sizeof(lit) - 1})
/* The same where a constant is wanted: in tables with static storage. */
#define STR_INIT(lit)                                                                              \
    {                                                                                              \
        ("" lit), sizeof(lit) - 1                                                                  \
    }
/* For printf: "%.*s", STR_ARG(s). */
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct str str_from(const char *cstr)
{
    return (struct str){cstr, cstr ? strlen(cstr) : 0};
}

static inline struct str str_range(const char *begin, const char *end)
{
    return (struct str){begin, (size_t)(end - begin)};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII letters compare without case. */
bool str_eq_nocase(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Is it NAME, or does it begin, end or go on as BEGINS*, *ENDS or *HOLDS* says? Without case. */
bool str_fits(struct str s, struct str pattern);
/* Does it have a '*' only where str_fits takes it for more than itself? */
bool str_is_pattern(struct str pattern);
/* Byte order, shorter first; for qsort and sorted tables. */
int str_cmp(struct str a, struct str b);
/* Position of c, or s.n. */
size_t str_find(struct str s, char c);
/* Cuts the text before the first `sep` off *rest and returns it; *rest becomes what follows the
 * separator, or absent (p == NULL) when there was none. Loop while rest.p. */
struct str str_cut(struct str *rest, char sep);
/* Without leading and trailing spaces and tabs. */
struct str str_trim(struct str s);
struct str str_sub(struct str s, size_t from, size_t n);
/* What follows the last c; all of it when there is none. */
struct str str_behind(struct str s, char c);
/* With ASCII letters in lower case, in the arena. */
struct str str_lower(struct arena *a, struct str s);

/* Whole text as a decimal integer, with or without sign; false when it is none or overflows. */
bool str_to_i64(struct str s, int64_t *out);
/* "true" or "false" in any case. */
bool str_to_bool(struct str s, bool *out);

/* The value of a hexadecimal digit, or -1. */
int str_hex(char c);

enum str_plus { STR_PLUS_LITERAL, STR_PLUS_SPACE };
/* Percent-decodes once into the arena. False on a bad sequence, on %00 and on invalid UTF-8. */
bool str_pct_decode(struct arena *a, struct str s, enum str_plus plus, struct str *out);
/* Percent-encodes all bytes but the unreserved ones of RFC 3986 and those in `keep`. */
struct str str_pct_encode(struct arena *a, struct str s, const char *keep);

/* The text that these bytes are in ISO 8859-1. */
struct str str_from_latin1(struct arena *a, struct str s);
/* Is s well-formed UTF-8 (no surrogates, no overlong forms)? */
bool str_is_utf8(struct str s);
/* Bytes of the well-formed UTF-8 character that s begins with, or 0. */
size_t str_utf8_char(struct str s);
/* Puts the character there, up to four bytes, and returns their end. */
char *str_utf8_put(char *to, uint32_t c);
/* The longest beginning of at most max bytes that splits no character. */
struct str str_utf8_cut(struct str s, size_t max);
