#include "reply.h"

#include <assert.h>

#include "call.h"
#include "metric.h"
#include "object.h"
#include "pack.h"
#include "quirk.h"
#include "stream.h"

enum {
    GZIP_FROM = 4096,
};

/* Of answers about one object. */
#define VARY "Accept-Encoding, X-Iceberg-Access-Delegation, Authorization"

void reply_header(struct call *c, const char *name, struct str value)
{
    struct reply *r = &c->reply;
    assert(r->n_headers < REPLY_HEADERS_MAX);
    r->headers[r->n_headers].name = name;
    r->headers[r->n_headers].value = arena_cstr(c->arena, value);
    r->n_headers++;
}

static void begin(struct call *c, int status, struct str cache_control)
{
    c->reply = (struct reply){.status = status};
    reply_header(c, "X-Request-ID", c->id);
    reply_header(c, "X-Content-Type-Options", STR("nosniff"));
    reply_header(c, "Cache-Control", cache_control);
    if (call_from_allowed_page(c)) {
        reply_header(c, "Access-Control-Allow-Origin", call_header(c, HEADER_ORIGIN));
        reply_header(c, "Access-Control-Expose-Headers", STR("ETag, Retry-After, X-Request-ID"));
        reply_header(c, "Vary", STR("Origin"));
    }
}

static void body(struct call *c, struct str *pieces, size_t n)
{
    c->reply.pieces = pieces;
    c->reply.n_pieces = n;
    c->reply.bytes = 0;
    for (size_t i = 0; i < n; i++)
        c->reply.bytes += pieces[i].n;
}

static void body_text(struct call *c, const char *content_type, struct str text)
{
    struct str *piece = ARENA_NEW(c->arena, struct str);
    *piece = text;
    body(c, piece, 1);
    reply_header(c, "Content-Type", str_from(content_type));
}

/* "q=0", "q=0.000": the client does not want it. */
static bool refuses(struct str parameters)
{
    struct str rest = parameters;
    while (rest.p) {
        struct str value = str_cut(&rest, ';');
        struct str name = str_trim(str_cut(&value, '='));
        value = str_trim(value);
        if (!str_eq_nocase(name, STR("q")) || value.n == 0)
            continue;
        size_t zeros = 0;
        while (zeros < value.n && (value.p[zeros] == '0' || value.p[zeros] == '.'))
            zeros++;
        return zeros == value.n;
    }
    return false;
}

/* Does one of the listed codings say gzip, without q=0? */
static bool accepts_gzip(const struct call *c)
{
    struct str rest = call_header(c, HEADER_ACCEPT_ENCODING);
    while (rest.p) {
        struct str parameters = str_cut(&rest, ',');
        struct str coding = str_trim(str_cut(&parameters, ';'));
        if (str_eq_nocase(coding, STR("gzip")) || str_eq_nocase(coding, STR("x-gzip")))
            return !refuses(parameters);
    }
    return false;
}

static void gzip_text(struct call *c, struct str text)
{
    struct str *pieces = ARENA_ARRAY(c->arena, struct str, 3);
    pieces[0] = pack_head();
    pieces[1] = pack_deflated(c->arena, text, PACK_LAST);
    pieces[2] = pack_tail(c->arena, pack_crc(0, text), (uint32_t)text.n);
    body(c, pieces, 3);
    reply_header(c, "Content-Encoding", STR("gzip"));
}

/* Head and tail belong to this answer, the document between them was packed once for all: three
 * segments of one deflate stream, their checksums combined. */
static void gzip_joined(struct call *c, struct str head, const struct deflated *d, struct str tail)
{
    struct arena *a = c->arena;
    struct str *pieces = ARENA_ARRAY(a, struct str, 5);
    size_t plain = head.n + d->plain + tail.n;
    uint32_t crc = pack_crc_joined(pack_crc(0, head), d->crc, d->plain);
    pieces[0] = pack_head();
    pieces[1] = pack_stored(a, head, PACK_MORE);
    pieces[2] = d->segment;
    pieces[3] = pack_stored(a, tail, PACK_LAST);
    pieces[4] = pack_tail(a, pack_crc(crc, tail), (uint32_t)plain);
    body(c, pieces, 5);
    reply_header(c, "Content-Encoding", STR("gzip"));
}

bool reply_json(struct call *c, struct buf *text)
{
    struct str s = buf_take(text, c->arena);
    if (!s.p)
        return err_set(&c->err, ERR_INTERNAL, "the answer is larger than %zu bytes", text->max);
    begin(c, 200, STR("no-store"));
    body_text(c, "application/json", s);
    if (s.n >= GZIP_FROM) {
        reply_header(c, "Vary", STR("Accept-Encoding"));
        if (accepts_gzip(c))
            gzip_text(c, s);
    }
    return true;
}

bool reply_stream(struct call *c, struct stream *s, struct buf *first)
{
    bool packed = accepts_gzip(c);
    begin(c, 200, STR("no-store"));
    reply_header(c, "Content-Type", STR("application/json"));
    reply_header(c, "Vary", STR("Accept-Encoding"));
    if (packed)
        reply_header(c, "Content-Encoding", STR("gzip"));
    stream_begin(s, packed ? STREAM_GZIP : STREAM_PLAIN, first);
    c->reply.stream = s;
    return true;
}

bool reply_document(struct call *c, int status, struct str text)
{
    begin(c, status, STR("no-store"));
    body_text(c, "application/json", text);
    return true;
}

bool reply_kept(struct call *c, struct str cache_control, struct str text)
{
    begin(c, 200, cache_control);
    body_text(c, "application/json", text);
    return true;
}

bool reply_text(struct call *c, const char *content_type, struct str text)
{
    begin(c, 200, STR("no-store"));
    body_text(c, content_type, text);
    return true;
}

static void loaded_body(struct call *c, const struct loaded *t, enum variant v, struct str tail)
{
    struct buf b;
    struct deflated packed;
    buf_init(&b, 1 << 16);
    buf_putc(&b, '{');
    if (!t->staged) {
        buf_puts(&b, "\"metadata-location\":");
        buf_json_str(&b, metadata_location(t->metadata));
        buf_putc(&b, ',');
    }
    buf_puts(&b, "\"metadata\":");
    struct str head = buf_take(&b, c->arena);
    reply_header(c, "Content-Type", STR("application/json"));
    if (accepts_gzip(c) && metadata_deflated(t->metadata, v, &packed)) {
        gzip_joined(c, head, &packed, tail);
        return;
    }
    struct str *document;
    size_t n = metadata_document(c->arena, t->metadata, v, &document);
    struct str *pieces = ARENA_ARRAY(c->arena, struct str, n + 2);
    pieces[0] = head;
    memcpy(pieces + 1, document, n * sizeof *document);
    pieces[n + 1] = tail;
    body(c, pieces, n + 2);
}

static void loaded_headers(
    struct call *c, const struct loaded *t, struct str etag, struct str cache_control)
{
    begin(c, 200, t->staged ? STR("no-store") : cache_control);
    if (!t->staged)
        reply_header(c, "ETag", etag);
    reply_header(c, "Vary", STR(VARY));
}

static bool is_at_hand(struct call *c, const struct loaded *t, enum variant v)
{
    return !accepts_gzip(c) || !metadata_pack_blocks(t->metadata, v) ||
           err_set(&c->err, ERR_WOULD_BLOCK, "the document is large and not yet packed");
}

bool reply_loaded(struct call *c, const struct loaded *t, enum variant v)
{
    TRY(is_at_hand(c, t, v));
    loaded_headers(c, t, metadata_etag(t->metadata, v), STR("private, no-cache"));
    loaded_body(c, t, v, STR(",\"config\":{}}"));
    return true;
}

bool reply_loaded_with(
    struct call *c, const struct loaded *t, enum variant v, const struct reply_more *more)
{
    TRY(is_at_hand(c, t, v));
    loaded_headers(c, t, more->etag, STR("no-store"));
    loaded_body(c, t, v, more->tail);
    return true;
}

bool reply_commit(struct call *c, const struct loaded *t)
{
    loaded_headers(c, t, metadata_etag(t->metadata, VARIANT_ALL), STR("private, no-cache"));
    loaded_body(c, t, VARIANT_ALL, STR("}"));
    return true;
}

void reply_levels(struct buf *b, struct str ns)
{
    buf_putc(b, '[');
    for (struct str rest = ns; rest.p;) {
        buf_json_str(b, str_cut(&rest, IDENT_SEPARATOR));
        if (rest.p)
            buf_putc(b, ',');
    }
    buf_putc(b, ']');
}

bool reply_page(struct call *c, struct buf *list, struct str next)
{
    buf_putc(list, ']');
    if (next.p) {
        buf_puts(list, ",\"next-page-token\":");
        buf_json_str(list, next);
    }
    buf_putc(list, '}');
    return reply_json(c, list);
}

bool reply_not_modified(struct call *c, struct str etag)
{
    begin(c, 304, STR("private, no-cache"));
    reply_header(c, "ETag", etag);
    reply_header(c, "Vary", STR(VARY));
    return true;
}

/* Some proxies that pack a body put this behind its tag, inside or outside of the quotes. */
static struct str without_suffix(struct str tag)
{
    static const struct str suffixes[] = {STR_INIT("--gzip"), STR_INIT("-gzip")};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (str_ends(tag, suffixes[i]))
            return str_sub(tag, 0, tag.n - suffixes[i].n);
    return tag;
}

struct str reply_bare_tag(struct str tag)
{
    tag = without_suffix(str_trim(tag));
    if (str_starts(tag, STR("W/")))
        tag = str_sub(tag, 2, tag.n - 2);
    if (tag.n >= 2 && tag.p[0] == '"' && tag.p[tag.n - 1] == '"')
        tag = str_sub(tag, 1, tag.n - 2);
    return without_suffix(tag);
}

bool reply_etag_matches(const struct call *c, struct str etag)
{
    struct str rest = call_header(c, HEADER_IF_NONE_MATCH);
    struct str ours = reply_bare_tag(etag);
    while (rest.p) {
        struct str tag = str_trim(str_cut(&rest, ','));
        if (str_eq(tag, STR("*")) || str_eq(reply_bare_tag(tag), ours))
            return true;
    }
    return false;
}

bool reply_client_has(struct call *c, enum variant v, struct str *etag)
{
    if (!call_header(c, HEADER_IF_NONE_MATCH).p)
        return false;
    const struct sql_object *row = &c->found.object;
    *etag = metadata_etag_of(c->arena, row->metadata_location, row->uuid, v);
    return reply_etag_matches(c, *etag);
}

bool reply_empty(struct call *c)
{
    if (quirk_holds(c, QUIRK_200_FOR_204))
        return reply_text(c, "application/json", STR("{}"));
    begin(c, c->op->success, STR("no-store"));
    return true;
}

/* What a client may read. Internal details stay in the log, under the id of the request. */
static struct str error_message(struct call *c)
{
    const struct err *e = &c->err;
    if (e->kind == ERR_INTERNAL)
        return arena_printf(c->arena,
            "Internal error; the server's log has the reason under request %.*s", STR_ARG(c->id));
    if (e->kind == ERR_COMMIT_UNKNOWN)
        return arena_printf(c->arena,
            "It is unknown whether the change was applied (request %.*s): %s", STR_ARG(c->id),
            e->msg);
    return str_from(e->msg);
}

/* A message may quote what a client sent, a path for example; JSON takes UTF-8 only. */
static struct str readable(struct arena *a, struct str text)
{
    char *p = arena_cstr(a, text);
    for (size_t i = 0; i < text.n;) {
        size_t n = str_utf8_char(str_sub(text, i, text.n - i));
        if (n == 0)
            p[i] = '?';
        i += n ? n : 1;
    }
    return (struct str){p, text.n};
}

/* A browser asks before it lets a page's script send a request: OPTIONS, on any path that exists.
 */
static bool is_preflight(const struct call *c)
{
    return c->err.kind == ERR_METHOD && str_eq(c->method, STR("OPTIONS")) &&
           call_from_allowed_page(c);
}

static void reply_preflight(struct call *c)
{
    err_clear(&c->err);
    begin(c, 204, STR("no-store"));
    reply_header(c, "Access-Control-Allow-Methods", c->allow);
    reply_header(c, "Access-Control-Allow-Headers",
        STR("Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Client-Version, "
            "X-Iceberg-Access-Delegation, X-Request-ID"));
    reply_header(c, "Access-Control-Max-Age", STR("600"));
}

void reply_error(struct call *c)
{
    if (is_preflight(c)) {
        reply_preflight(c);
        return;
    }
    enum err_kind kind = c->err.kind;
    int status = err_status(kind);
    struct buf b;
    assert(status != 0);
    begin(c, status, STR("no-store"));
    if (kind == ERR_BUSY || kind == ERR_UNAVAILABLE)
        reply_header(c, "Retry-After", STR("1"));
    if (kind == ERR_METHOD)
        reply_header(c, "Allow", c->allow);
    buf_init(&b, 1 << 16);
    buf_puts(&b, "{\"error\":{\"message\":");
    buf_json_str(&b, readable(c->arena, error_message(c)));
    buf_puts(&b, ",\"type\":");
    buf_json_str(&b, str_from(err_type(kind)));
    buf_puts(&b, ",\"code\":");
    buf_json_i64(&b, status);
    buf_puts(&b, "}}");
    body_text(c, "application/json", buf_take(&b, c->arena));
}
