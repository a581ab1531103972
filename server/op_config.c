/* Configuration, the description of the API, and the operations that are not served. */
#include "call.h"
#include "config.h"
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

/* "PT1H30M", "PT0.5S" */
static void put_duration(struct buf *b, int64_t us)
{
    int64_t s = us / 1000000, fraction = us % 1000000;
    buf_puts(b, "PT");
    if (s >= 3600)
        buf_putf(b, "%lldH", (long long)(s / 3600));
    if (s % 3600 >= 60)
        buf_putf(b, "%lldM", (long long)(s % 3600 / 60));
    if (fraction)
        buf_putf(b, "%lld.%06lldS", (long long)(s % 60), (long long)fraction);
    else if (s % 60 || s == 0)
        buf_putf(b, "%lldS", (long long)(s % 60));
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
    buf_putc(&b, ']');
    if (c->server->conf->idempotency_lifetime > 0) {
        buf_puts(&b, ",\"idempotency-key-lifetime\":\"");
        put_duration(&b, c->server->conf->idempotency_lifetime);
        buf_putc(&b, '"');
    }
    buf_putc(&b, '}');
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
