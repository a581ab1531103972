#include "buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "arena.h"
#include "base.h"
#include "log.h"

enum { FIRST_ROOM = 256 };

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_fini(struct buf *b)
{
    xfree(TAKE(b->p));
    b->n = b->cap = 0;
}

/* One byte more than cap is always there, for the NUL of buf_take and of vsnprintf. */
static void buf_grow(struct buf *b, size_t need)
{
    size_t cap = b->cap ? b->cap : FIRST_ROOM;
    while (cap < need)
        cap = cap > b->max / 2 ? b->max : 2 * cap;
    if (cap > b->max)
        cap = b->max;
    b->p = xrealloc(b->p, cap + 1);
    b->cap = cap;
}

void buf_reserve(struct buf *b, size_t n)
{
    if (b->over || n <= b->cap - b->n)
        return;
    if (n > b->max - b->n)
        b->over = true;
    else
        buf_grow(b, b->n + n);
}

void buf_put(struct buf *b, const void *p, size_t n)
{
    buf_reserve(b, n);
    if (b->over || !n)
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void buf_str(struct buf *b, struct str s)
{
    buf_put(b, s.p, s.n);
}

void buf_puts(struct buf *b, const char *cstr)
{
    buf_put(b, cstr, strlen(cstr));
}

void buf_putc(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_putf(struct buf *b, const char *fmt, ...)
{
    char small[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    if (n < 0)
        log_fatal("cannot format \"%s\"", fmt);
    if ((size_t)n < sizeof(small)) {
        buf_put(b, small, (size_t)n);
    } else {
        buf_reserve(b, (size_t)n);
        if (!b->over)
            b->n += (size_t)vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    }
    va_end(again);
}

void buf_field(struct buf *b, struct arena *a, const char *name, struct str value)
{
    buf_putf(b, "%s%s=", b->n > 0 ? "&" : "", name);
    buf_str(b, str_pct_encode(a, value, ""));
}

struct str buf_take(struct buf *b, struct arena *a)
{
    size_t n = b->n;
    if (b->over) {
        buf_fini(b);
        return (struct str){NULL, 0};
    }
    if (!b->p)
        return arena_dup(a, STR(""));
    b->p[n] = '\0';
    b->n = b->cap = 0;
    return (struct str){arena_hold(a, TAKE(b->p), xfree), n};
}

/* Non-zero if one of the eight bytes cannot stand in a JSON string as it is. */
static uint64_t needs_escape(uint64_t v)
{
    const uint64_t ones = 0x0101010101010101U, tops = 0x8080808080808080U;
    uint64_t quote = v ^ (ones * '"'), backslash = v ^ (ones * '\\');
    return (((v - ones * 0x20) & ~v) | ((quote - ones) & ~quote) |
               ((backslash - ones) & ~backslash)) &
           tops;
}

static size_t plain_run(const char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t v;
        memcpy(&v, p + i, 8);
        if (needs_escape(v))
            break;
    }
    while (i < n && (unsigned char)p[i] >= 0x20 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

static void put_escape(struct buf *b, char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    unsigned char u = (unsigned char)c;
    if (u >= 0x20)
        buf_put(b, (char[]){'\\', c}, 2);
    else if (shorts[u])
        buf_put(b, (char[]){'\\', shorts[u]}, 2);
    else
        buf_put(b, (char[]){'\\', 'u', '0', '0', hex[u >> 4], hex[u & 15]}, 6);
}

void buf_json_str(struct buf *b, struct str s)
{
    buf_reserve(b, s.n + 2);
    buf_putc(b, '"');
    while (s.n && !b->over) {
        size_t n = plain_run(s.p, s.n);
        buf_put(b, s.p, n);
        if (n < s.n)
            put_escape(b, s.p[n++]);
        s = (struct str){s.p + n, s.n - n};
    }
    buf_putc(b, '"');
}

void buf_json_i64(struct buf *b, int64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        digits[--at] = '-';
    buf_put(b, digits + at, sizeof(digits) - at);
}
