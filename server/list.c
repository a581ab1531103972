#include "list.h"

#include "call.h"
#include "ns.h"
#include "stream.h"
#include "table.h"
#include "view.h"

enum {
    TEXT_MAX = 256 << 20,
    PIECE = 256 * 1024, /* of a list that is sent piece by piece: about so many bytes of text */
    A_NAME = 64,        /* is that long, about */
};

struct list {
    enum list_of of;
    struct str parent;
    struct str before; /* each name: the levels above it */
    size_t written;
    struct stream stream;
    struct buf last; /* name that was read */
};

struct names {
    struct str *v, next;
    size_t n;
};

static bool read_names(
    struct arena *a, struct call *c, struct list *l, const struct page *page, struct names *out)
{
    struct catalog *catalog = c->catalog;

    switch (l->of) {
    case LIST_TABLES:
        return table_list(a, catalog, l->parent, page, &out->v, &out->n, &out->next, &c->err);
    case LIST_VIEWS:
        return view_list(a, catalog, l->parent, page, &out->v, &out->n, &out->next, &c->err);
    case LIST_NAMESPACES:
        break;
    }
    return ns_list(a, catalog, &l->parent, page, &out->v, &out->n, &out->next, &c->err);
}

/* {"namespace":["a","b"],"name":"t"}, or the parent's levels and the child's name: ["a","b","c"].
 */
static void prepare(struct call *c, struct list *l)
{
    struct buf b;

    buf_init(&b, TEXT_MAX);
    if (l->of != LIST_NAMESPACES) {
        buf_puts(&b, "{\"namespace\":");
        reply_levels(&b, l->parent);
        buf_puts(&b, ",\"name\":");
    } else if (l->parent.n > 0) {
        reply_levels(&b, l->parent);
        b.p[b.n - 1] = ','; /* open for one more level */
    }
    l->before = b.n > 0 ? buf_take(&b, c->arena) : STR("[");
}

static void write_names(struct list *l, struct buf *b, const struct names *names)
{
    char after = l->of == LIST_NAMESPACES ? ']' : '}';

    if (!l->written)
        buf_puts(b, l->of == LIST_NAMESPACES ? "{\"namespaces\":[" : "{\"identifiers\":[");
    for (size_t i = 0; i < names->n; i++) {
        if (l->written++)
            buf_putc(b, ',');
        buf_str(b, l->before);
        buf_json_str(b, names->v[i]);
        buf_putc(b, after);
    }
}

/* --- piece by piece ----------------------------------------------------------------------------
 */

/* How many names make a piece; the levels above them are written with each. */
static size_t piece_names(struct str parent)
{
    return PIECE / (parent.n + A_NAME);
}

static void remember(struct list *l, struct str last)
{
    l->last.n = 0;
    buf_str(&l->last, last);
}

/* A parent that was emptied and dropped took the rest of the list with it. */
static bool has_vanished(struct call *c, const struct list *l, struct str parent)
{
    if (c->err.kind != ERR_NO_SUCH_NAMESPACE)
        return !c->err.kind && !str_eq(l->parent, parent); /* another reading of its name */
    err_clear(&c->err);
    return true;
}

static bool make_piece(
    void *maker, struct call *c, struct arena *scratch, struct buf *text, enum stream_end *end)
{
    struct list *l = maker;
    struct page page = {.after = buf_view(&l->last), .most = piece_names(l->parent)};
    struct str parent = l->parent;
    struct names names = {0};
    bool read = read_names(scratch, c, l, &page, &names);

    if (has_vanished(c, l, parent)) {
        l->parent = parent;
        names = (struct names){0};
    } else if (!read) {
        return false;
    }
    write_names(l, text, &names);
    if (names.next.p) {
        remember(l, names.next);
        return true;
    }
    buf_puts(text, "]}");
    *end = STREAM_ENDS;
    return true;
}

static void release(void *obj)
{
    struct list *l = obj;

    stream_fini(&l->stream);
    buf_fini(&l->last);
}

static bool reply_in_pieces(struct call *c, struct list *l, struct buf *first, struct str last)
{
    arena_hold(c->arena, l, release);
    buf_init(&l->last, TEXT_MAX);
    remember(l, last);
    l->stream.make = make_piece;
    l->stream.maker = l;
    return reply_stream(c, &l->stream, first);
}

bool list_reply(struct call *c, enum list_of of, struct str parent)
{
    struct list *l = ARENA_NEW(c->arena, struct list);
    struct page page = call_page(c);
    struct names names;
    struct buf b;

    l->of = of;
    l->parent = parent;
    page.most = piece_names(parent);
    TRY(read_names(c->arena, c, l, &page, &names));
    prepare(c, l);
    buf_init(&b, TEXT_MAX);
    write_names(l, &b, &names);
    if (!page.token.p && names.next.p)
        return reply_in_pieces(c, l, &b, names.next);
    return reply_page(c, &b, names.next);
}
