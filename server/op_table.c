/* Tables: arguments in, one catalog function, one reply. */
#include "background.h"
#include "call.h"
#include "config.h"
#include "list.h"
#include "log.h"
#include "metric.h"
#include "reports.h"
#include "table.h"
#include "vending.h"

bool op_list_tables(struct call *c)
{
    return list_reply(c, LIST_TABLES, call_ns(c));
}

bool op_create_table(struct call *c)
{
    struct caller by = call_caller(c);
    struct loaded t;
    TRY(table_create(c->arena, c->catalog, &by, call_ns(c), call_room(c), c->json, &t, &c->err));
    const struct ident id = call_new_ident(c);
    return vending_reply(c, &id, &t, VARIANT_ALL);
}

static enum variant call_variant(const struct call *c)
{
    return str_eq(call_param(c, "snapshots"), STR("refs")) ? VARIANT_REFS : VARIANT_ALL;
}

bool op_load_table(struct call *c)
{
    struct catalog *catalog = c->catalog;
    const struct sql_object *row = &c->found.object;
    struct loaded t; /* held by the arena */
    struct str etag;

    TRY(call_need_object(c, SQL_TABLE));
    enum variant v = call_variant(c);
    if (vending_gives(c) ? vending_client_has(c, v, &etag) : reply_client_has(c, v, &etag)) {
        if (object_check_file(catalog, row, &c->err))
            return reply_not_modified(c, etag);
        err_clear(&c->err); /* the load says so, or finds what is there by now */
    }
    struct ident id = call_ident(c);
    TRY(table_load(c->arena, catalog, &id, row, &t, &c->err));
    return vending_reply(c, &id, &t, v);
}

bool op_load_credentials(struct call *c)
{
    TRY(call_need_object(c, SQL_TABLE));
    return vending_credentials(c);
}

bool op_table_exists(struct call *c)
{
    TRY(call_need_object(c, SQL_TABLE));
    return reply_empty(c);
}

bool op_update_table(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    struct loaded t;
    TRY(table_commit(
        c->arena, c->catalog, &by, &id, call_row(c), c->json, call_digest(c), &t, &c->err));
    return reply_commit(c, &t);
}

/* Engines ask for a purge unasked or lose the wish on the way: the operator has the last word. */
static bool purge_of(struct call *c, enum sql_purge *out)
{
    const char *policy = c->server->conf->purge;
    *out = SQL_KEEP_FILES;
    if (!str_eq(call_param(c, "purgeRequested"), STR("true")))
        return true;
    if (strcmp(policy, "refuse") == 0)
        return err_set(&c->err, ERR_FORBIDDEN,
            "This warehouse does not delete the files of tables: drop the table without purge");
    if (strcmp(policy, "allow") == 0)
        *out = SQL_PURGE_FILES;
    else
        log_write(LOG_INFO, "purge",
            "request %.*s: a drop without purge, because FIRN_PURGE=ignore", STR_ARG(c->id));
    return true;
}

bool op_drop_table(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    enum sql_purge purge;
    TRY(purge_of(c, &purge));
    TRY(table_drop(c->arena, c->catalog, &by, &id, purge, &c->err));
    if (purge == SQL_PURGE_FILES)
        background_wake(c->server->purger);
    return reply_empty(c);
}

bool op_register_table(struct call *c)
{
    struct caller by = call_caller(c);
    struct loaded t;
    TRY(table_register(c->arena, c->catalog, &by, call_ns(c), c->json, &t, &c->err));
    const struct ident id = call_new_ident(c);
    return vending_reply(c, &id, &t, VARIANT_ALL);
}

bool op_unregister_table(struct call *c)
{
    struct ident id = call_ident(c);
    struct caller by = call_caller(c);
    struct loaded t;
    TRY(table_unregister(c->arena, c->catalog, &by, &id, &t, &c->err));
    return reply_commit(c, &t);
}

bool op_rename_table(struct call *c)
{
    struct caller by = call_caller(c);
    TRY(table_rename(c->arena, c->catalog, &by, c->json, &c->err));
    return reply_empty(c);
}

static enum metric report_metric(const json_t *report)
{
    struct str type = str_from(json_string_value(json_object_get(report, "report-type")));
    if (str_eq_nocase(type, STR("scan-report")))
        return METRIC_scan_reports_total;
    return str_eq_nocase(type, STR("commit-report")) ? METRIC_commit_reports_total
                                                     : METRIC_unknown_reports_total;
}

/* Counted and kept for an administrator; nothing here is decided by them. */
bool op_report_metrics(struct call *c)
{
    TRY(call_need_object(c, SQL_TABLE));
    struct ident id = call_ident(c);
    metric_add(report_metric(c->json), 1);
    reports_keep(c->server->reports, &id, c->body);
    return reply_empty(c);
}
