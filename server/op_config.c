/* Configuration, the description of the API, and the operations that are not served. */
#include "call.h"
#include "metric.h"

bool op_get_description(struct call *c)
{
    return reply_text(c, "application/yaml", (struct str){op_description, op_description_size});
}

static void put_endpoints(struct buf *b)
{
    bool first = true;
    for (unsigned i = 0; i < OP_COUNT; i++) {
        if (!op_rows[i].served || !op_rows[i].endpoint)
            continue;
        if (!first)
            buf_putc(b, ',');
        first = false;
        buf_json_str(b, str_from(op_rows[i].endpoint));
    }
}

bool op_get_config(struct call *c)
{
    struct str named = call_param(c, "warehouse");
    struct buf b;
    if (!catalog_is_warehouse(c->server->catalog, named))
        return err_set(
            &c->err, ERR_NO_SUCH_WAREHOUSE, "Warehouse does not exist: %.*s", STR_ARG(named));
    buf_init(&b, 1 << 16);
    /* The separator is every client's default; DuckDB needs it said in its encoded form. */
    buf_puts(
        &b, "{\"defaults\":{},\"overrides\":{\"namespace-separator\":\"%1F\"},\"endpoints\":[");
    put_endpoints(&b);
    buf_puts(&b, "]}");
    return reply_json(c, &b);
}

#define UNSERVED(snake)                                                                            \
    bool op_##snake(struct call *c)                                                                \
    {                                                                                              \
        return err_set(&c->err, ERR_UNSUPPORTED, "This server does not support %s", c->op->name);  \
    }

UNSERVED(get_token)
UNSERVED(load_credentials)
UNSERVED(sign_request)
UNSERVED(plan_table_scan)
UNSERVED(fetch_planning_result)
UNSERVED(cancel_planning)
UNSERVED(fetch_scan_tasks)
