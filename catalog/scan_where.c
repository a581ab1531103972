/* Where in a JSON text a byte is, as a pointer for messages. */
#include <stdio.h>

#include "scan.h"
#include "scan_priv.h"

enum { LEVELS_MAX = 64, KEY_SHOWN = 60, STEP_MAX = 128 /* with every character escaped */ };

/* A container that is open; of an object the member that was reached last, as it is spelled. */
struct level {
    bool object, in_value;
    struct str key;
    size_t index;
};

/* The end of the string that begins at p: its closing quote, or the end of the text. */
static const char *closing_quote(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\' && p + 1 < end;
    return p;
}

static void step(struct level *top, char c)
{
    if (c == ':')
        top->in_value = true;
    if (c != ',')
        return;
    top->in_value = false;
    top->index++;
}

/* The containers that are open at `at`; how many. */
static unsigned open_at(const char *begin, const char *at, const char *end, struct level *levels)
{
    unsigned n = 0;
    for (const char *p = begin; p <= at && p < end; p++) {
        if ((*p == '{' || *p == '[') && p < at) {
            if (n == LEVELS_MAX)
                return n;
            levels[n++] = (struct level){.object = *p == '{'};
        } else if ((*p == '}' || *p == ']') && p < at) {
            n -= n > 0;
        } else if (*p == '"') {
            const char *close = closing_quote(p, end);
            if (n > 0 && levels[n - 1].object && !levels[n - 1].in_value)
                levels[n - 1].key = str_range(p + 1, close);
            p = close;
        } else if (n > 0) {
            step(&levels[n - 1], *p);
        }
    }
    return n;
}

static size_t put_key(struct str key, char *out, size_t room)
{
    size_t n = 0;
    struct str shown = str_utf8_cut(str_is_utf8(key) ? key : STR("?"), KEY_SHOWN);
    for (size_t i = 0; i < shown.n && n + 2 < room; i++) {
        char c = shown.p[i];
        if (c == '~' || c == '/')
            out[n++] = '~';
        out[n++] = c == '~' ? '0' : c == '/' ? '1' : c;
    }
    return n;
}

void scan__where(struct str text, const char *at, char out[SCAN_WHERE])
{
    struct level levels[LEVELS_MAX];
    unsigned depth = open_at(text.p, at, text.p + text.n, levels);
    size_t n = 0;
    for (unsigned i = 0; i < depth && n + STEP_MAX < SCAN_WHERE; i++) {
        if (levels[i].object && !levels[i].key.p)
            break;
        out[n++] = '/';
        if (levels[i].object)
            n += put_key(levels[i].key, out + n, SCAN_WHERE - n);
        else
            n += (size_t)snprintf(out + n, SCAN_WHERE - n, "%zu", levels[i].index);
    }
    out[n] = '\0';
}
