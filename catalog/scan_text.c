#include "scan_priv.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int32_t scan__unit(const char *p, const char *end)
{
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    int32_t v = 0;
    for (int i = 2; i < 6; i++) {
        int h = hex_value(p[i]);
        if (h < 0)
            return -1;
        v = v * 16 + h;
    }
    return v;
}

static char *put_utf8(char *to, int32_t c)
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

char *scan__unescape(struct str raw, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *p = raw.p, *end = raw.p + raw.n;
    while (p < end) {
        if (*p != '\\') {
            *to++ = *p++;
        } else if (p[1] != 'u') {
            *to++ = values[strchr(names, p[1]) - names];
            p += 2;
        } else {
            int32_t unit = scan__unit(p, end);
            p += 6;
            if (scan__is_high(unit)) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (scan__unit(p, end) - 0xdc00);
                p += 6;
            }
            to = put_utf8(to, unit);
        }
    }
    return to;
}
