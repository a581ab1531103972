/* Administration of warehouses: arguments in, one function of manage.h, one reply. */
#include "call.h"
#include "manage.h"
#include "warehouses.h"

static struct manage managed(const struct call *c)
{
    return (struct manage){c->server->conf, c->server->sql, c->server->secrets};
}

static bool reply_made(struct call *c, struct str document)
{
    warehouses_forget(c->server->warehouses);
    return reply_document(c, 200, document);
}

bool op_list_warehouses(struct call *c)
{
    const struct manage m = managed(c);
    struct str out;
    TRY(manage_list(c->arena, &m, &out, &c->err));
    return reply_document(c, 200, out);
}

bool op_load_warehouse(struct call *c)
{
    const struct manage m = managed(c);
    struct str out;
    TRY(manage_show(c->arena, &m, call_arg(c, "warehouse"), &out, &c->err));
    return reply_document(c, 200, out);
}

bool op_create_warehouse(struct call *c)
{
    const struct manage m = managed(c);
    struct str out;
    TRY(manage_create(c->arena, &m, c->json, &out, &c->err));
    return reply_made(c, out);
}

bool op_change_warehouse(struct call *c)
{
    const struct manage m = managed(c);
    struct str out;
    TRY(manage_change(c->arena, &m, call_arg(c, "warehouse"), c->json, &out, &c->err));
    return reply_made(c, out);
}

bool op_check_warehouse(struct call *c)
{
    const struct manage m = managed(c);
    struct str out;
    TRY(manage_check(c->arena, &m, call_arg(c, "warehouse"), &out, &c->err));
    return reply_document(c, 200, out);
}

bool op_delete_warehouse(struct call *c)
{
    const struct manage m = managed(c);
    TRY(manage_delete(c->arena, &m, call_arg(c, "warehouse"), &c->err));
    warehouses_forget(c->server->warehouses);
    return reply_empty(c);
}
