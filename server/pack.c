#include "pack.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "arena.h"
#include "log.h"

enum { HEAD = 10, TAIL = 8, STORED_MAX = 65535, STORED_HEAD = 5, FLUSH = 16 };

struct str pack_head(void)
{
    static const char head[HEAD] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)0xff};

    return (struct str){head, HEAD};
}

struct str pack_tail(struct arena *a, uint32_t crc, uint32_t plain)
{
    unsigned char *p = arena_alloc(a, TAIL);

    for (int i = 0; i < 4; i++) {
        p[i] = (unsigned char)(crc >> (8 * i));
        p[4 + i] = (unsigned char)(plain >> (8 * i));
    }
    return (struct str){(const char *)p, TAIL};
}

struct str pack_deflated(struct arena *a, struct str text, enum pack_end end)
{
    z_stream z = {0};

    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        log_fatal("zlib cannot start");
    size_t cap = deflateBound(&z, text.n) + FLUSH;
    char *out = arena_alloc(a, cap);
    memcpy(&z.next_in, &text.p, sizeof text.p); /* zlib does not write there */
    z.avail_in = (uInt)text.n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    int done = deflate(&z, end == PACK_LAST ? Z_FINISH : Z_SYNC_FLUSH);
    assert(done == (end == PACK_LAST ? Z_STREAM_END : Z_OK) && z.avail_in == 0 && z.avail_out > 0);
    (void)done;
    struct str segment = {out, cap - z.avail_out};
    deflateEnd(&z);
    return segment;
}

/* Blocks that are not compressed (RFC 1951, 3.2.4) begin and end on a byte. */
struct str pack_stored(struct arena *a, struct str text, enum pack_end end)
{
    size_t blocks = text.n / STORED_MAX + 1;
    unsigned char *block = arena_alloc(a, text.n + blocks * STORED_HEAD), *at = block;

    for (size_t left = text.n; blocks > 0; blocks--) {
        size_t n = left < STORED_MAX ? left : STORED_MAX;
        *at++ = end == PACK_LAST && blocks == 1;
        for (unsigned i = 0; i < 4; i++) /* the length, then its complement */
            *at++ = (unsigned char)((i < 2 ? n : ~n) >> (8 * (i % 2)));
        at = mempcpy(at, text.p + (text.n - left), n);
        left -= n;
    }
    return (struct str){(const char *)block, (size_t)(at - block)};
}

uint32_t pack_crc(uint32_t crc, struct str s)
{
    return (uint32_t)crc32_z(crc, (const Bytef *)s.p, s.n);
}

uint32_t pack_crc_joined(uint32_t first, uint32_t second, size_t n)
{
    return (uint32_t)crc32_combine(first, second, (z_off_t)n);
}
