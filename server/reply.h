/* The only place that makes the bytes of an answer: status, headers, body as pieces.
 *
 * Every function here fills c->reply and may be called once per call (an error replaces what was
 * there). All add X-Request-ID, X-Content-Type-Options: nosniff, Cache-Control: no-store, and
 * Content-Type: application/json where there is a body. Values live in the arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "buf.h"
#include "err.h"
#include "metadata.h"
#include "str.h"

struct call;
struct loaded;
struct stream;

enum { REPLY_HEADERS_MAX = 16 };

struct reply {
    int status;         /* 0: none yet */
    struct str *pieces; /* the body, joined; alive until the arena is reset */
    size_t n_pieces;
    size_t bytes;          /* of all pieces */
    struct stream *stream; /* instead of them; then `bytes` is what was handed out so far */
    struct {
        const char *name, *value;
    } headers[REPLY_HEADERS_MAX];
    unsigned n_headers;
};

/* 200 with the text of the buffer, which is empty afterwards. False with ERR_INTERNAL when the
 * buffer had run over its maximum. Compressed from 4 KB on for clients that accept gzip. */
MUST bool reply_json(struct call *c, struct buf *body);
/* The same with the first of many pieces; the stream lives as long as the arena. */
bool reply_stream(struct call *c, struct stream *s, struct buf *first);
/* 200 with a text that lives as long as the arena or longer. */
bool reply_text(struct call *c, const char *content_type, struct str text);
/* A JSON document that lives as long as the arena, under any status. */
bool reply_document(struct call *c, int status, struct str text);
/* The same under 200, with what others may do with the answer. */
bool reply_kept(struct call *c, struct str cache_control, struct str text);
/* {"metadata-location":…,"metadata":<document>,"config":{}} around the stored bytes, ETag,
 * Cache-Control: private, no-cache, Vary: Accept-Encoding, X-Iceberg-Access-Delegation. Staged: no
 * metadata-location, no ETag. gzip, when accepted, joins the kept segment with head and tail. */
bool reply_loaded(struct call *c, const struct loaded *t, enum variant v);
/* The same with secrets at the end, not to be stored by anybody on the way. */
struct reply_more {
    struct str tail; /* what follows the metadata, to the end */
    struct str etag;
};
bool reply_loaded_with(
    struct call *c, const struct loaded *t, enum variant v, const struct reply_more *more);
/* CommitTableResponse: the same without config. */
bool reply_commit(struct call *c, const struct loaded *t);
/* Writes the levels of a namespace as a JSON array. */
void reply_levels(struct buf *b, struct str ns);
/* 200 with a list whose object and array are still open, closed here behind the token of the next
 * page where one follows. */
MUST bool reply_page(struct call *c, struct buf *list, struct str next);
/* 304 with the tag. */
bool reply_not_modified(struct call *c, struct str etag);
/* A tag as If-None-Match lists it, without W/, quotes and what proxies append. */
struct str reply_bare_tag(struct str tag);
/* Does the request's If-None-Match name the tag? Lists, "*", W/ and quotes are understood. */
bool reply_etag_matches(const struct call *c, struct str etag);
/* Does it name the state of the row that was found? *etag: its tag. */
bool reply_client_has(struct call *c, enum variant v, struct str *etag);
/* The operation's success status without a body (204; what quirk.h says for some clients). */
bool reply_empty(struct call *c);
/* The JSON error document of c->err. Asserts that the kind has a status. Texts of 5xx are generic
 * and name the request id (but those of COMMIT_UNKNOWN and UNAVAILABLE, which are for clients).
 * BUSY and UNAVAILABLE carry Retry-After: 1, METHOD carries Allow from c->allow. */
void reply_error(struct call *c);
/* One more header on the answer at hand; the value must live as long as the arena. */
void reply_header(struct call *c, const char *name, struct str value);
