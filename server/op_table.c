/* Tables: arguments in, one catalog function, one reply. */
#include "call.h"
#include "digest.h"
#include "metric.h"
#include "table.h"

enum { LIST_MAX = 256 << 20 };

bool op_list_tables(struct call *c)
{
    struct page page = call_page(c);
    struct str ns = call_ns(c), *names, next, levels;
    size_t n;
    struct buf b;
    TRY(table_list(c->arena, c->server->catalog, ns, &page, &names, &n, &next, &c->err));
    buf_init(&b, LIST_MAX);
    for (struct str rest = ns; rest.p;) {
        buf_putc(&b, b.n ? ',' : '[');
        buf_json_str(&b, str_cut(&rest, IDENT_SEPARATOR));
    }
    buf_puts(&b, "],\"name\":");
    levels = buf_take(&b, c->arena);
    buf_init(&b, LIST_MAX);
    buf_puts(&b, "{\"identifiers\":[");
    for (size_t i = 0; i < n; i++) {
        buf_puts(&b, i ? ",{\"namespace\":" : "{\"namespace\":");
        buf_str(&b, levels);
        buf_json_str(&b, names[i]);
        buf_putc(&b, '}');
    }
    buf_puts(&b, "]");
    if (next.p) {
        buf_puts(&b, ",\"next-page-token\":");
        buf_json_str(&b, next);
    }
    buf_putc(&b, '}');
    return reply_json(c, &b);
}

bool op_create_table(struct call *c)
{
    struct caller by = call_caller(c);
    struct loaded t;
    TRY(table_create(c->arena, c->server->catalog, &by, call_ns(c), c->json, &t, &c->err));
    return reply_table(c, &t, VARIANT_ALL);
}

static enum variant call_variant(const struct call *c)
{
    return str_eq(call_param(c, "snapshots"), STR("refs")) ? VARIANT_REFS : VARIANT_ALL;
}

bool op_load_table(struct call *c)
{
    struct catalog *catalog = c->server->catalog;
    const struct sql_object *row = &c->found.object;
    struct loaded t; /* held by the arena */

    TRY(call_need_object(c, SQL_TABLE));
    enum variant v = call_variant(c);
    if (call_header(c, HEADER_IF_NONE_MATCH).p) {
        struct str etag = metadata_etag_of(c->arena, row->metadata_location, v);
        if (reply_etag_matches(c, etag)) {
            TRY(table_check_file(c->arena, catalog, row, &c->err));
            return reply_not_modified(c, etag);
        }
    }
    struct ident id = call_ident(c);
    TRY(table_load(c->arena, catalog, &id, row, &t, &c->err));
    return reply_table(c, &t, v);
}

bool op_table_exists(struct call *c)
{
    TRY(call_need_object(c, SQL_TABLE));
    return reply_empty(c);
}

/* Two requests with this digest are one request sent twice. */
static struct str request_digest(struct call *c, const struct ident *id)
{
    uint8_t sum[DIGEST_SHA256];
    const struct str parts[] = {str_from(c->op->name), STR("\n"), id->ns, STR("\n"), id->name,
        STR("\n"), c->principal, STR("\n"), c->body};
    char *hex = arena_alloc(c->arena, DIGEST_SHA256_HEX + 1);
    digest_sha256_parts(parts, ARRAY_LEN(parts), sum);
    digest_hex(sum, sizeof sum, hex);
    return (struct str){hex, DIGEST_SHA256_HEX};
}

bool op_update_table(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    struct str digest = request_digest(c, &id);
    struct loaded t;
    TRY(table_commit(c->arena, c->server->catalog, &by, &id, c->json, digest, &t, &c->err));
    return reply_commit(c, &t);
}

bool op_drop_table(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    enum sql_purge purge =
        str_eq(call_param(c, "purgeRequested"), STR("true")) ? SQL_PURGE_FILES : SQL_KEEP_FILES;
    TRY(table_drop(c->arena, c->server->catalog, &by, &id, purge, &c->err));
    return reply_empty(c);
}

bool op_register_table(struct call *c)
{
    struct caller by = call_caller(c);
    struct loaded t;
    TRY(table_register(c->arena, c->server->catalog, &by, call_ns(c), c->json, &t, &c->err));
    return reply_table(c, &t, VARIANT_ALL);
}

bool op_rename_table(struct call *c)
{
    struct caller by = call_caller(c);
    TRY(table_rename(c->arena, c->server->catalog, &by, c->json, &c->err));
    return reply_empty(c);
}

/* Reports are counted; their content interests nobody who decides anything here. */
bool op_report_metrics(struct call *c)
{
    TRY(call_need_object(c, SQL_TABLE));
    metric_add(METRIC_metrics_reports_total, 1);
    return reply_empty(c);
}
