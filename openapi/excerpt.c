#include "op_priv.h"

enum { SHOWN = 100 };

const char *op__excerpt(struct str s, char out[static OP_EXCERPT])
{
    bool utf8 = str_is_utf8(s);
    size_t n = str_utf8_cut(s, SHOWN).n;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool shown = c >= 0x20 && c != 0x7F && (utf8 || c < 0x80);
        out[i] = shown ? s.p[i] : '?';
    }
    memcpy(out + n, n < s.n ? "..." : "", n < s.n ? 4 : 1);
    return out;
}
