#include "str.h"

#include "arena.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq((struct str){s.p, prefix.n}, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_sub(s, s.n - suffix.n, suffix.n), suffix);
}

static bool starts_nocase(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq_nocase(str_sub(s, 0, prefix.n), prefix);
}

/* What stands between the stars. */
static struct str core_of(struct str pattern, bool *before, bool *behind)
{
    *before = pattern.n > 1 && str_starts(pattern, STR("*"));
    *behind = str_ends(pattern, STR("*"));
    return str_sub(pattern, *before, pattern.n - *before - *behind);
}

bool str_is_pattern(struct str pattern)
{
    bool before, behind;
    struct str core = core_of(pattern, &before, &behind);

    return str_find(core, '*') == core.n;
}

bool str_fits(struct str s, struct str pattern)
{
    bool before, behind;
    struct str core = core_of(pattern, &before, &behind);

    if (s.n < core.n)
        return false;
    if (!before)
        return behind ? starts_nocase(s, core) : str_eq_nocase(s, core);
    for (size_t i = behind ? 0 : s.n - core.n; i + core.n <= s.n; i++)
        if (starts_nocase(str_sub(s, i, s.n), core))
            return true;
    return false;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    if (order)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

size_t str_find(struct str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
    return at ? (size_t)(at - s.p) : s.n;
}

struct str str_cut(struct str *rest, char sep)
{
    struct str all = *rest;
    size_t n = str_find(all, sep);
    *rest = n < all.n ? (struct str){all.p + n + 1, all.n - n - 1} : (struct str){NULL, 0};
    return (struct str){all.p, n};
}

struct str str_trim(struct str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

struct str str_sub(struct str s, size_t from, size_t n)
{
    if (!s.p)
        return s;
    if (from > s.n)
        from = s.n;
    if (n > s.n - from)
        n = s.n - from;
    return (struct str){s.p + from, n};
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool minus = s.n && s.p[0] == '-';
    size_t i = s.n && (minus || s.p[0] == '+');
    if (i == s.n)
        return false;
    int64_t v = 0;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        int digit = s.p[i] - '0';
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, minus ? -digit : digit, &v))
            return false;
    }
    *out = v;
    return true;
}

bool str_to_bool(struct str s, bool *out)
{
    bool yes = str_eq_nocase(s, STR("true"));
    if (!yes && !str_eq_nocase(s, STR("false")))
        return false;
    *out = yes;
    return true;
}

struct str str_behind(struct str s, char c)
{
    size_t n = s.n;
    while (n > 0 && s.p[n - 1] != c)
        n--;
    return str_sub(s, n, s.n - n);
}

struct str str_lower(struct arena *a, struct str s)
{
    char *p = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        p[i] = lower(p[i]);
    return (struct str){p, s.n};
}

int str_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of the sequence at s, or -1. */
static int pct_byte(struct str s)
{
    if (s.n < 3)
        return -1;
    int high = str_hex(s.p[1]), low = str_hex(s.p[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool str_pct_decode(struct arena *a, struct str s, enum str_plus plus, struct str *out)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i];
        if (c == '%') {
            c = pct_byte(str_sub(s, i, 3));
            i += 2;
        } else if (c == '+' && plus == STR_PLUS_SPACE) {
            c = ' ';
        }
        if (c <= 0)
            return false;
        p[n++] = (char)c;
    }
    p[n] = '\0';
    if (!str_is_utf8((struct str){p, n}))
        return false;
    *out = (struct str){p, n};
    return true;
}

static bool stays(char c, const char *keep)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~' || (c && keep && strchr(keep, c));
}

struct str str_pct_encode(struct arena *a, struct str s, const char *keep)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += stays(s.p[i], keep) ? 1 : 3;
    char *p = arena_alloc(a, n + 1), *at = p;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (stays(s.p[i], keep)) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = hex[c >> 4];
        *at++ = hex[c & 15];
    }
    *at = '\0';
    return (struct str){p, n};
}

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t str_utf8_char(struct str s)
{
    if (!s.n)
        return 0;
    const unsigned char *p = (const unsigned char *)s.p;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xe0)
        return p[0] >= 0xc2 && s.n >= 2 && is_tail(p[1]) ? 2 : 0;
    if (p[0] < 0xf0) {
        if (s.n < 3 || !is_tail(p[1]) || !is_tail(p[2]))
            return 0;
        bool overlong = p[0] == 0xe0 && p[1] < 0xa0;
        bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (p[0] > 0xf4 || s.n < 4 || !is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3]))
        return 0;
    bool overlong = p[0] == 0xf0 && p[1] < 0x90;
    bool too_large = p[0] == 0xf4 && p[1] >= 0x90;
    return overlong || too_large ? 0 : 4;
}

/* How many bytes at the start of s are ASCII, counted in eights. */
static size_t ascii_eights(struct str s)
{
    size_t n = 0;
    while (s.n - n >= 8) {
        uint64_t v;
        memcpy(&v, s.p + n, 8);
        if (v & 0x8080808080808080U)
            break;
        n += 8;
    }
    return n;
}

struct str str_from_latin1(struct arena *a, struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (unsigned char)s.p[i] < 0x80 ? 1 : 2;
    char *p = arena_alloc(a, n + 1), *at = p;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < 0x80) {
            *at++ = (char)c;
            continue;
        }
        *at++ = (char)(0xC0 | c >> 6);
        *at++ = (char)(0x80 | (c & 0x3F));
    }
    *at = '\0';
    return (struct str){p, n};
}

bool str_is_utf8(struct str s)
{
    size_t i = 0;
    while (i < s.n) {
        i += ascii_eights((struct str){s.p + i, s.n - i});
        /* The eight that stopped the fast path, or the tail. */
        for (size_t stop = i + 8; i < s.n && i < stop;) {
            size_t n = str_utf8_char((struct str){s.p + i, s.n - i});
            if (!n)
                return false;
            i += n;
        }
    }
    return true;
}

char *str_utf8_put(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

struct str str_utf8_cut(struct str s, size_t max)
{
    if (s.n <= max)
        return s;
    size_t n = max;
    while (n && max - n < 3 && is_tail((unsigned char)s.p[n]))
        n--;
    /* Not UTF-8 at all: no place is better than another. */
    if (is_tail((unsigned char)s.p[n]))
        n = max;
    return (struct str){s.p, n};
}
