#include <limits.h>
#include <zlib.h>

#include "base.h"
#include "metadata_priv.h"

enum {
    RATIO = 200,              /* real metadata stays below it, a bomb reaches 1000 */
    RATIO_FREE = 1024 * 1024, /* so much is unpacked whatever the ratio */
    GZIP_FRAME = 1024
};

bool gzip__looks_like_a_bomb(size_t packed, size_t plain)
{
    return plain > RATIO_FREE && plain / RATIO > packed;
}

static void end_inflate(z_stream *z)
{
    inflateEnd(z);
}

/* Room for the next piece of output. */
static void grow(z_stream *z, char **p, size_t *cap, size_t n, size_t max)
{
    if (n == *cap) {
        *cap = *cap > max / 2 ? max + 1 : 2 * *cap;
        *p = xrealloc(*p, *cap);
    }
    z->next_out = (Bytef *)*p + n;
    z->avail_out = (uInt)(*cap - n);
}

static bool too_large(size_t max, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "the gzip file unpacks to more than %zu bytes", max);
}

static bool unpack(z_stream *z, size_t max, char **p, size_t *n, struct err *err)
{
    size_t packed = z->avail_in, cap = packed < max / 8 ? 4 * packed + 1024 : max + 1;
    *p = xmalloc(cap);
    *n = 0;
    for (int rc = Z_OK; rc != Z_STREAM_END;) {
        grow(z, p, &cap, *n, max);
        uInt room = z->avail_out;
        rc = inflate(z, Z_NO_FLUSH);
        *n += room - z->avail_out;
        if (*n > max)
            return too_large(max, err);
        if (gzip__looks_like_a_bomb(packed - z->avail_in, *n))
            return err_set(err, ERR_BAD_REQUEST,
                "the gzip file unpacks to more than %d times its size", RATIO);
        if (rc == Z_BUF_ERROR || (rc == Z_OK && !z->avail_in && z->avail_out))
            return err_set(err, ERR_BAD_REQUEST, "the gzip file ends too early");
        if (rc != Z_OK && rc != Z_STREAM_END)
            return err_set(err, ERR_BAD_REQUEST, "the gzip file is damaged: %s",
                z->msg ? z->msg : "not a plain deflate stream");
    }
    if (z->avail_in)
        return err_set(
            err, ERR_BAD_REQUEST, "%u bytes follow the gzip member", (unsigned)z->avail_in);
    return true;
}

bool gzip__unpack(struct str packed, size_t max, char **out, size_t *n_out, struct err *err)
{
    if (max > UINT_MAX / 2)
        max = UINT_MAX / 2;
    /* What does not shrink has a frame on top. */
    if (packed.n > max + max / 1000 + GZIP_FRAME)
        return err_set(
            err, ERR_TOO_LARGE, "the gzip file has %zu bytes, the limit is %zu", packed.n, max);
    AUTO(end_inflate) z_stream z = {.avail_in = (uInt)packed.n};
    memcpy(&z.next_in, &packed.p, sizeof(packed.p)); /* zlib does not write there */
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return err_set(err, ERR_INTERNAL, "zlib does not start");
    char *p = NULL;
    size_t n = 0;
    if (!unpack(&z, max, &p, &n, err)) {
        xfree(p);
        return false;
    }
    *out = xrealloc(p, n);
    *n_out = n;
    return true;
}
