#include "table.h"

#include "arena.h"
#include "cache.h"
#include "metric.h"
#include "table_priv.h"

bool table__no_such(struct arena *a, const struct ident *id, struct err *err)
{
    struct str text = ident_text(a, id);
    return err_set(err, ERR_NO_SUCH_TABLE, "Table does not exist: %.*s", STR_ARG(text));
}

/* Files of this machine can be moved away under a running server; the load then has to say so, even
 * where the metadata is still in memory. Object stores are not asked. */
bool table_check_file(
    struct arena *a, struct catalog *c, const struct sql_object *row, struct err *err)
{
    (void)a;
    if (!store_is_file(row->metadata_location) ||
        store_file_present(c->store, row->metadata_location))
        return true;
    cache_drop(c->cache, row->metadata_location);
    return err_set(err, ERR_NOT_FOUND, "Failed to open input stream for file: %.*s",
        STR_ARG(row->metadata_location));
}

bool table_load(struct arena *a, struct catalog *c, const struct ident *id,
    const struct sql_object *row, struct loaded *out, struct err *err)
{
    if (!row || row->id == 0 || row->kind != SQL_TABLE)
        return table__no_such(a, id, err);
    TRY(table_check_file(a, c, row, err));
    struct metadata *m;
    if (!cache_get(c->cache, row->metadata_location, &m, err))
        return catalog__metadata_failed(row->metadata_location, err);
    *out = (struct loaded){.metadata = metadata_hold(a, m)};
    return true;
}

bool table_drop(struct arena *a, struct catalog *c, const struct caller *by, const struct ident *id,
    enum sql_purge purge, struct err *err)
{
    struct sql_change change = catalog__change(a, by, (struct str){0}, (struct str){0});
    struct sql_object *was;
    bool dropped;
    if (!sql_object_drop(a, c->sql, c->warehouse.id, SQL_TABLE, id->ns, id->name, purge, &change,
            &dropped, &was, err))
        return catalog__change_failed(err);
    if (!dropped)
        return table__no_such(a, id, err);
    if (was)
        cache_drop(c->cache, was->metadata_location);
    return true;
}

static bool rename_refused(struct arena *a, const struct ident *from, const struct ident *to,
    enum sql_rename_result result, enum sql_kind taken_by, struct err *err)
{
    struct str from_text = ident_text(a, from), to_text = ident_text(a, to);
    if (result == SQL_RENAME_NO_SOURCE)
        return table__no_such(a, from, err);
    if (result == SQL_RENAME_NO_NAMESPACE) {
        struct str ns = ident_ns_text(a, to->ns);
        return err_set(err, ERR_NO_SUCH_NAMESPACE, "Namespace does not exist: %.*s", STR_ARG(ns));
    }
    if (taken_by == SQL_VIEW)
        return err_set(err, ERR_ALREADY_EXISTS, "Cannot rename %.*s to %.*s. View already exists",
            STR_ARG(from_text), STR_ARG(to_text));
    return err_set(err, ERR_ALREADY_EXISTS, "Table already exists: %.*s", STR_ARG(to_text));
}

bool table_rename(struct arena *a, struct catalog *c, const struct caller *by, const json_t *body,
    struct err *err)
{
    struct ident from, to;
    TRY(ident_from_json(a, json_object_get(body, "source"), &from, err));
    TRY(ident_from_json(a, json_object_get(body, "destination"), &to, err));
    if (str_eq(from.ns, to.ns) && str_eq(from.name, to.name))
        return true;
    struct sql_change change = catalog__change(a, by, (struct str){0}, (struct str){0});
    enum sql_rename_result result;
    enum sql_kind taken_by = SQL_TABLE;
    if (!sql_object_rename(c->sql, c->warehouse.id, SQL_TABLE, from.ns, from.name, to.ns, to.name,
            &change, &result, &taken_by, err))
        return catalog__change_failed(err);
    return result == SQL_RENAMED || rename_refused(a, &from, &to, result, taken_by, err);
}

static bool tables(struct arena *a, const struct catalog *c, struct str parent, struct str after,
    size_t limit, struct str **names, size_t *n, bool *found, struct err *err)
{
    return sql_object_page(
        a, c->sql, c->warehouse.id, parent, SQL_TABLE, after, limit, names, n, found, err);
}

bool table_list(struct arena *a, struct catalog *c, struct str ns, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err)
{
    struct page_list list = {c, ns, "tables", tables};
    struct names found;
    if (!page__read(a, &list, page, &found, err))
        return catalog__read_failed(err);
    if (!found.found) {
        struct str text = ident_ns_text(a, ns);
        return err_set(err, ERR_NO_SUCH_NAMESPACE, "Namespace does not exist: %.*s", STR_ARG(text));
    }
    *names = found.v;
    *n = found.n;
    *next = found.next;
    return true;
}
