/* Views: arguments in, one catalog function, one reply. */
#include "call.h"
#include "list.h"
#include "view.h"

bool op_list_views(struct call *c)
{
    return list_reply(c, LIST_VIEWS, call_ns(c));
}

bool op_create_view(struct call *c)
{
    struct caller by = call_caller(c);
    struct loaded v;
    TRY(view_create(c->arena, c->catalog, &by, call_ns(c), call_room(c), c->json, &v, &c->err));
    return reply_loaded(c, &v, VARIANT_ALL);
}

bool op_load_view(struct call *c)
{
    struct catalog *catalog = c->catalog;
    const struct sql_object *row = &c->found.object;
    struct loaded v; /* held by the arena */
    struct str etag;
    TRY(call_need_object(c, SQL_VIEW));
    if (reply_client_has(c, VARIANT_ALL, &etag)) {
        if (object_check_file(catalog, row, &c->err))
            return reply_not_modified(c, etag);
        err_clear(&c->err); /* the load says so, or finds what is there by now */
    }
    struct ident id = call_ident(c);
    TRY(view_load(c->arena, catalog, &id, row, &v, &c->err));
    return reply_loaded(c, &v, VARIANT_ALL);
}

bool op_view_exists(struct call *c)
{
    TRY(call_need_object(c, SQL_VIEW));
    return reply_empty(c);
}

bool op_replace_view(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    struct loaded v;
    TRY(view_replace(
        c->arena, c->catalog, &by, &id, call_row(c), c->json, call_digest(c), &v, &c->err));
    return reply_loaded(c, &v, VARIANT_ALL);
}

bool op_drop_view(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    TRY(view_drop(c->arena, c->catalog, &by, &id, &c->err));
    return reply_empty(c);
}

bool op_rename_view(struct call *c)
{
    struct caller by = call_caller(c);
    TRY(view_rename(c->arena, c->catalog, &by, c->json, &c->err));
    return reply_empty(c);
}

bool op_register_view(struct call *c)
{
    struct caller by = call_caller(c);
    struct loaded v;
    TRY(view_register(c->arena, c->catalog, &by, call_ns(c), c->json, &v, &c->err));
    return reply_loaded(c, &v, VARIANT_ALL);
}
