#include "scan_priv.h"

int32_t scan__unit(const char *p, const char *end)
{
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    int32_t v = 0;
    for (int i = 2; i < 6; i++) {
        int h = str_hex(p[i]);
        if (h < 0)
            return -1;
        v = v * 16 + h;
    }
    return v;
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
            to = str_utf8_put(to, (uint32_t)unit);
        }
    }
    return to;
}
