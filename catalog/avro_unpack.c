/* The codecs of Avro blocks. */
#include <limits.h>
#include <zlib.h>
#include <zstd.h>

#include "avro_priv.h"
#include "base.h"

enum { FIRST_ROOM = 64 << 10, WINDOW_LOG_MAX = 26, CRC = 4 };

struct avro_codec {
    const char *name;
    bool (*unpack)(struct str packed, struct buf *room, struct err *err);
};

static bool too_large(struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "a block unpacks to more than %d bytes", AVRO_BLOCK_MAX);
}

/* Room for more output, twice as much each time; false when the limit is reached. */
static bool more_room(struct buf *room)
{
    size_t step = room->n < FIRST_ROOM ? FIRST_ROOM : room->n;
    if (step > room->max - room->n)
        step = room->max - room->n;
    if (step == 0)
        return false;
    buf_reserve(room, step);
    return !room->over;
}

/* -- deflate: without a header ------------------------------------------------------------------
 */

static void end_inflate(z_stream *z)
{
    inflateEnd(z);
}

static bool unpack_deflate(struct str packed, struct buf *room, struct err *err)
{
    if (packed.n > UINT_MAX)
        return too_large(err);
    AUTO(end_inflate) z_stream z = {.avail_in = (uInt)packed.n};
    memcpy(&z.next_in, &packed.p, sizeof(packed.p)); /* zlib does not write there */
    if (inflateInit2(&z, -15) != Z_OK)
        return err_set(err, ERR_INTERNAL, "zlib does not start");
    for (int rc = Z_OK; rc != Z_STREAM_END;) {
        if (room->n == room->cap && !more_room(room))
            return too_large(err);
        uInt space = (uInt)(room->cap - room->n);
        z.next_out = (Bytef *)room->p + room->n;
        z.avail_out = space;
        rc = inflate(&z, Z_NO_FLUSH);
        room->n += space - z.avail_out;
        if (rc == Z_BUF_ERROR || (rc == Z_OK && !z.avail_in && z.avail_out))
            return err_set(err, ERR_BAD_REQUEST, "a deflated block ends too early");
        if (rc != Z_OK && rc != Z_STREAM_END)
            return err_set(err, ERR_BAD_REQUEST, "a deflated block is damaged: %s",
                z.msg ? z.msg : "no plain stream");
    }
    return true;
}

/* -- zstandard ----------------------------------------------------------------------------------
 */

static void free_zstd(ZSTD_DCtx **d)
{
    ZSTD_freeDCtx(*d);
}

static bool unpack_zstd(struct str packed, struct buf *room, struct err *err)
{
    AUTO(free_zstd) ZSTD_DCtx *d = ZSTD_createDCtx();
    if (!d || ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        return err_set(err, ERR_INTERNAL, "zstd does not start");
    ZSTD_inBuffer in = {.src = packed.p, .size = packed.n};
    for (size_t left = 1; left > 0 || in.pos < in.size;) {
        if (room->n == room->cap && !more_room(room))
            return too_large(err);
        ZSTD_outBuffer out = {.dst = room->p + room->n, .size = room->cap - room->n};
        left = ZSTD_decompressStream(d, &out, &in);
        room->n += out.pos;
        if (ZSTD_isError(left))
            return err_set(
                err, ERR_BAD_REQUEST, "a zstandard block is damaged: %s", ZSTD_getErrorName(left));
        if (left > 0 && in.pos == in.size && out.pos < out.size)
            return err_set(err, ERR_BAD_REQUEST, "a zstandard block ends too early");
    }
    return true;
}

/* -- snappy: its plain format, then the CRC-32 of what it unpacks to
 * ---------------------------------
 */

struct snappy {
    const unsigned char *p, *end;
    unsigned char *out;
    size_t n, size;
};

/* A little-endian number of so many bytes. */
static bool take_number(struct snappy *s, size_t bytes, size_t *out)
{
    if ((size_t)(s->end - s->p) < bytes)
        return false;
    *out = 0;
    for (size_t i = 0; i < bytes; i++)
        *out |= (size_t)*s->p++ << (8 * i);
    return true;
}

static bool take_size(struct snappy *s)
{
    for (unsigned shift = 0; shift < 35 && s->p < s->end; shift += 7) {
        unsigned byte = *s->p++;
        s->size |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool literal(struct snappy *s, unsigned tag)
{
    size_t n = tag >> 2;
    if (n >= 60)
        TRY(take_number(s, n - 59, &n));
    n++;
    if (n > (size_t)(s->end - s->p) || n > s->size - s->n)
        return false;
    memcpy(s->out + s->n, s->p, n);
    s->p += n;
    s->n += n;
    return true;
}

/* What was written `back` bytes ago; it may reach into itself. */
static bool copy(struct snappy *s, unsigned tag)
{
    size_t n = 1 + (tag >> 2), back = 0, high = 0;
    if ((tag & 3) == 1) {
        n = 4 + (tag >> 2 & 7);
        high = (size_t)(tag >> 5) << 8;
    }
    TRY(take_number(s, (tag & 3) == 3 ? 4 : tag & 3, &back));
    back |= high;
    if (back == 0 || back > s->n || n > s->size - s->n)
        return false;
    for (; n > 0; n--, s->n++)
        s->out[s->n] = s->out[s->n - back];
    return true;
}

static bool unpack_snappy(struct str packed, struct buf *room, struct err *err)
{
    const unsigned char *p = (const unsigned char *)packed.p;
    if (packed.n < CRC)
        return err_set(err, ERR_BAD_REQUEST, "a snappy block ends too early");
    struct snappy s = {.p = p, .end = p + packed.n - CRC};
    bool ok = take_size(&s);
    if (ok && s.size > room->max)
        return too_large(err);
    buf_reserve(room, s.size + 1 > room->max ? s.size : s.size + 1);
    s.out = (unsigned char *)room->p;
    while (ok && s.p < s.end) {
        unsigned tag = *s.p++;
        ok = (tag & 3) ? copy(&s, tag) : literal(&s, tag);
    }
    if (!ok || s.n != s.size)
        return err_set(err, ERR_BAD_REQUEST, "a snappy block is damaged");
    const unsigned char *c = s.end;
    uLong want = (uLong)c[0] << 24 | (uLong)c[1] << 16 | (uLong)c[2] << 8 | c[3];
    if (crc32(crc32(0, NULL, 0), s.out, (uInt)s.n) != want)
        return err_set(err, ERR_BAD_REQUEST, "a snappy block has another checksum than it says");
    room->n = s.n;
    return true;
}

/* -- The table ----------------------------------------------------------------------------------
 */

static const struct avro_codec codecs[] = {
    {"null",      NULL          },
    {"deflate",   unpack_deflate},
    {"snappy",    unpack_snappy },
    {"zstandard", unpack_zstd   },
};

const struct avro_codec *avro__codec(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(codecs); i++)
        if (str_eq(name, str_from(codecs[i].name)))
            return &codecs[i];
    return NULL;
}

bool avro__unpack(const struct avro_codec *codec, struct str packed, struct buf *room,
    struct str *out, struct err *err)
{
    *out = packed;
    if (packed.n > AVRO_BLOCK_MAX)
        return too_large(err);
    if (!codec->unpack)
        return true;
    room->n = 0;
    TRY(codec->unpack(packed, room, err));
    *out = buf_view(room);
    return true;
}
