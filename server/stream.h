/* The body of an answer that is made piece by piece: each when the client has taken the one before,
 * so that an answer costs the memory of a piece, however long it is and however slow the client. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"
#include "buf.h"

struct arena;
struct call;

enum stream_end { STREAM_GOES_ON, STREAM_ENDS };
enum stream_form { STREAM_PLAIN, STREAM_GZIP };

struct stream {
    /* Writes the next piece; what is made on the way lives in `scratch`, until it is written. Slow
     * lane. False: c->err, and the answer breaks off. */
    bool (*make)(
        void *maker, struct call *c, struct arena *scratch, struct buf *text, enum stream_end *end);
    void *maker;
    enum stream_end end; /* of what is there: is it the last piece? */

    enum stream_form form;
    struct buf piece; /* as it is sent */
    size_t taken;     /* of it */
    uint32_t crc;     /* of the plain bytes so far */
    size_t plain;     /* their number */
};

/* The first piece, which is there already; `text` is empty afterwards. */
void stream_begin(struct stream *s, enum stream_form form, struct buf *text);
/* The next one, which is in c->reply.stream afterwards. Slow lane. False: c->err. */
MUST bool stream_next(struct call *c);
/* Hands out what is there, up to `max` bytes. 0: all of the piece is taken. */
size_t stream_take(struct stream *s, char *to, size_t max);
/* Is all of the last piece taken? */
bool stream_ended(const struct stream *s);
void stream_fini(struct stream *s);
