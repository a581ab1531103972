/* Configuration, the description of the API, and the operations that are not served. */
#include "call.h"
#include "config.h"
#include "handed.h"
#include "profile.h"
#include "vending.h"
#include "warehouses.h"

bool op_get_description(struct call *c)
{
    return reply_text(c, "application/yaml",
        (struct str){op_description_of_catalog, op_description_of_catalog_size});
}

bool op_get_management_description(struct call *c)
{
    return reply_text(c, "application/yaml",
        (struct str){op_description_of_management, op_description_of_management_size});
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

/* What the warehouse's administrator wants clients to be told, without what only this server can
 * say. */
static void put_texts(struct buf *b, json_t *texts, const char *sep)
{
    const char *key;
    json_t *value;
    json_object_foreach(texts, key, value)
    {
        if (strcmp(key, "prefix") == 0 || strcmp(key, "namespace-separator") == 0 ||
            !json_is_string(value) || !handed_out(key))
            continue;
        buf_puts(b, sep);
        sep = ",";
        buf_json_str(b, str_from(key));
        buf_putc(b, ':');
        buf_json_str(b, json_text(value));
    }
}

/* Java and PyIceberg ask for what they are told to ask for. */
#define ASKS "header.X-Iceberg-Access-Delegation"

/* Paths of the default warehouse have no prefix. The separator is every client's default; DuckDB
 * needs it said in its encoded form. */
static void put_settings(struct call *c, struct buf *b, json_t *profile)
{
    json_t *defaults = json_object_get(profile, "defaults");
    const char *ways = json_object_get(defaults, ASKS) ? NULL : vending_ways(c);
    buf_puts(b, "{\"defaults\":{");
    if (ways)
        buf_putf(b, "\"" ASKS "\":\"%s\"", ways);
    put_texts(b, defaults, ways ? "," : "");
    buf_puts(b, "},\"overrides\":{\"namespace-separator\":\"%1F\"");
    if (profile) {
        buf_puts(b, ",\"prefix\":");
        buf_json_str(b, catalog_warehouse(c->catalog)->uuid);
    }
    put_texts(b, json_object_get(profile, "overrides"), ",");
    buf_puts(b, "},\"endpoints\":[");
}

bool op_get_config(struct call *c)
{
    struct str named = call_param(c, "warehouse");
    struct catalog *catalog;
    json_t *profile;
    struct buf b;
    TRY(warehouses_find(c->server->warehouses, named, &catalog, &c->err));
    catalog_unref(&c->catalog);
    c->catalog = catalog;
    TRY(profile_read(c->arena, catalog_warehouse(catalog), &profile, &c->err));
    buf_init(&b, 1 << 20);
    buf_reserve(&b, 2048); /* nearly all of it are the names of the endpoints */
    put_settings(c, &b, profile);
    buf_puts(&b, op_endpoints);
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
UNSERVED(plan_table_scan)
UNSERVED(fetch_planning_result)
UNSERVED(cancel_planning)
UNSERVED(fetch_scan_tasks)
