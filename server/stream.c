#include "stream.h"

#include <string.h>

#include "arena.h"
#include "call.h"
#include "pack.h"

enum { PIECE_MAX = 64 << 20 };

static void put_packed(struct stream *s, struct arena *scratch, struct str text)
{
    if (s->plain == 0)
        buf_str(&s->piece, pack_head());
    s->crc = pack_crc(s->crc, text);
    s->plain += text.n;
    enum pack_end end = s->end == STREAM_ENDS ? PACK_LAST : PACK_MORE;
    buf_str(&s->piece, pack_deflated(scratch, text, end));
    if (end == PACK_LAST)
        buf_str(&s->piece, pack_tail(scratch, s->crc, (uint32_t)s->plain));
}

/* Plain, the piece is the text itself. */
static void put(struct stream *s, struct arena *scratch, struct buf *text)
{
    s->taken = 0;
    s->piece = *text;
    if (s->form == STREAM_GZIP) {
        buf_init(&s->piece, PIECE_MAX);
        put_packed(s, scratch, buf_view(text));
        buf_fini(text);
    }
    buf_init(text, PIECE_MAX);
}

void stream_begin(struct stream *s, enum stream_form form, struct buf *text)
{
    AUTO(arena_free) struct arena *scratch = arena_new();

    s->form = form;
    put(s, scratch, text);
}

bool stream_next(struct call *c)
{
    struct stream *s = c->reply.stream;
    AUTO(arena_free) struct arena *scratch = arena_new();
    AUTO(buf_fini) struct buf text = s->piece; /* its memory is used again */

    buf_init(&s->piece, PIECE_MAX);
    text.n = 0;
    text.max = PIECE_MAX;
    s->taken = 0;
    TRY(s->make(s->maker, c, scratch, &text, &s->end));
    if (text.over)
        return err_set(
            &c->err, ERR_INTERNAL, "a piece of the answer is larger than %zu bytes", text.max);
    put(s, scratch, &text);
    return true;
}

size_t stream_take(struct stream *s, char *to, size_t max)
{
    size_t left = s->piece.n - s->taken, n = left < max ? left : max;

    if (n > 0)
        memcpy(to, s->piece.p + s->taken, n);
    s->taken += n;
    return n;
}

bool stream_ended(const struct stream *s)
{
    return s->end == STREAM_ENDS && s->taken == s->piece.n;
}

void stream_fini(struct stream *s)
{
    buf_fini(&s->piece);
}
