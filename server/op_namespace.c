/* Namespaces: arguments in, one catalog function, one reply. */
#include "call.h"
#include "keep.h"
#include "list.h"
#include "ns.h"
#include "repeat.h"

enum { TEXT_MAX = 256 << 20 };

static bool reply_namespace(struct call *c, const struct sql_ns *ns)
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    buf_puts(&b, "{\"namespace\":");
    reply_levels(&b, ns->path);
    buf_puts(&b, ",\"properties\":");
    buf_str(&b, ns->properties);
    buf_putc(&b, '}');
    return reply_json(c, &b);
}

bool op_create_namespace(struct call *c)
{
    struct caller by = call_caller(c);
    struct sql_ns ns;
    TRY(ns_create(c->arena, c->catalog, &by, c->json, &ns, &c->err));
    return reply_namespace(c, &ns);
}

bool replay_create_namespace(struct call *c, const struct sql_answer *kept)
{
    struct sql_ns ns;
    (void)kept; /* the answer says what was asked for */
    TRY(ns_from_body(c->arena, c->json, &ns, &c->err));
    return reply_namespace(c, &ns);
}

bool op_load_namespace_metadata(struct call *c)
{
    TRY(call_need_namespace(c));
    return reply_namespace(c, &c->found.ns);
}

bool op_namespace_exists(struct call *c)
{
    TRY(call_need_namespace(c));
    return reply_empty(c);
}

bool op_drop_namespace(struct call *c)
{
    struct caller by = call_caller(c);
    TRY(ns_drop(c->arena, c->catalog, &by, call_ns(c), &c->err));
    return reply_empty(c);
}

bool replay_update_properties(struct call *c, const struct sql_answer *kept)
{
    return reply_document(c, kept->status, kept->answer);
}

static void put_keys(struct buf *b, const char *member, const json_t *keys)
{
    size_t i;
    json_t *key;
    buf_json_str(b, str_from(member));
    buf_puts(b, ":[");
    json_array_foreach(keys, i, key)
    {
        if (i > 0)
            buf_putc(b, ',');
        buf_json_str(b, json_text(key));
    }
    buf_putc(b, ']');
}

bool op_update_properties(struct call *c)
{
    struct caller by = call_caller(c);
    struct ns_changes changes;
    struct buf b;
    TRY(ns_update(c->arena, c->catalog, &by, call_ns(c), c->json, &changes, &c->err));
    buf_init(&b, TEXT_MAX);
    buf_putc(&b, '{');
    put_keys(&b, "updated", changes.updated);
    buf_putc(&b, ',');
    put_keys(&b, "removed", changes.removed);
    buf_putc(&b, ',');
    put_keys(&b, "missing", changes.missing);
    buf_putc(&b, '}');
    return reply_json(c, &b);
}

bool op_list_namespaces(struct call *c)
{
    struct str parent = call_param(c, "parent");
    if (!parent.p)
        parent = STR("");
    return list_reply(c, LIST_NAMESPACES, parent);
}
