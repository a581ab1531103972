#include "object.h"

#include "arena.h"
#include "cache.h"
#include "lane.h"
#include "object_priv.h"

const char *object__word(enum sql_kind kind)
{
    return kind == SQL_VIEW ? "view" : "table";
}

/* At the beginning of a sentence. */
static const char *name_of(enum sql_kind kind)
{
    return kind == SQL_VIEW ? "View" : "Table";
}

bool object__no_such(struct arena *a, enum sql_kind kind, const struct ident *id, struct err *err)
{
    struct str text = ident_text(a, id);
    return err_set(err, kind == SQL_VIEW ? ERR_NO_SUCH_VIEW : ERR_NO_SUCH_TABLE,
        "%s does not exist: %.*s", name_of(kind), STR_ARG(text));
}

/* Files of this machine can be moved away under a running server; the load then has to say so, even
 * where the metadata is still in memory. Object stores are not asked. */
bool object_check_file(struct catalog *c, const struct sql_object *row, struct err *err)
{
    if (!store_is_file(row->metadata_location) ||
        store_file_present(c->store, row->metadata_location))
        return true;
    cache_drop(&c->cached, row->metadata_location);
    return err_set(err, ERR_NOT_FOUND, "Failed to open input stream for file: %.*s",
        STR_ARG(row->metadata_location));
}

bool object__metadata(struct arena *a, struct catalog *c, enum sql_kind kind, struct str location,
    const struct metadata **out, struct err *err)
{
    struct metadata *m;
    TRY(cache_get(&c->cached, location, &m, err));
    *out = metadata_hold(a, m);
    bool is_view = metadata_kind(m) == METADATA_VIEW;
    if (is_view == (kind == SQL_VIEW))
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT, "it is the metadata of a %s, not of a %s",
        is_view ? "view" : "table", object__word(kind));
}

/* A name of a file can be used again, once the object is gone that had it: by engines that number
 * their files, or by those who correct a file and register it anew, with another server. What was
 * read under it before is not what the row means. */
bool object__metadata_of(const struct act *act, const struct sql_object *row,
    const struct metadata **out, struct err *err)
{
    TRY(object__metadata(act->a, act->c, act->kind, row->metadata_location, out, err));
    if (metadata_serves(*out, row->id, row->uuid))
        return true;
    cache_drop(&act->c->cached, row->metadata_location);
    TRY(object__metadata(act->a, act->c, act->kind, row->metadata_location, out, err));
    metadata_set_read_for(*out, row->id, row->uuid);
    return true;
}

static bool load_row(
    const struct act *act, const struct sql_object *row, struct loaded *out, struct err *err)
{
    TRY(object_check_file(act->c, row, err));
    *out = (struct loaded){.location = row->location};
    return object__metadata_of(act, row, &out->metadata, err) ||
           catalog__metadata_failed(row->metadata_location, err);
}

bool object__has_moved(
    const struct act *act, const struct ident *id, const struct sql_object **row, struct err *err)
{
    const struct err why = *err;
    struct catalog *c = act->c;
    struct sql_object *now;
    bool ns_found;
    if (err->kind != ERR_NOT_FOUND)
        return false;
    if (!lane_may_block())
        return err_as(err, ERR_WOULD_BLOCK);
    err_clear(err);
    if (!sql_object_get(act->a, c->sql, c->warehouse.id, id->ns, id->name, &ns_found, &now, err))
        return catalog_read_failed(err);
    bool moved = !now || !str_eq(now->metadata_location, (*row)->metadata_location);
    if (moved)
        *row = now;
    else
        *err = why;
    return moved;
}

bool object__load(const struct act *act, const struct ident *id, const struct sql_object *row,
    struct loaded *out, struct err *err)
{
    for (unsigned round = 0;; round++) {
        if (!row || row->id == 0 || row->kind != act->kind)
            return object__no_such(act->a, act->kind, id, err);
        if (load_row(act, row, out, err))
            return true;
        if (round == LOAD_ROUNDS || !object__has_moved(act, id, &row, err))
            return false;
    }
}

bool object__drop(const struct act *act, const struct ident *id, enum sql_purge purge,
    struct sql_object **was, struct err *err)
{
    struct arena *a = act->a;
    struct catalog *c = act->c;
    struct sql_change change = catalog__change(a, act->by, (struct str){0}, (struct str){0});
    bool dropped;
    if (!sql_object_drop(a, c->sql, c->warehouse.id, act->kind, id->ns, id->name, purge, &change,
            &dropped, was, err))
        return catalog__change_failed(err);
    return dropped || object__no_such(a, act->kind, id, err);
}

/* --- rename ------------------------------------------------------------------------------------
 */

struct renaming {
    struct ident from, to;
    enum sql_rename_result result;
    enum sql_kind taken_by;
};

/* Of a view that is not there the namespace it should move to is looked at first; of a table, the
 * table (protocol 4.7, 4.8). */
static bool source_missing(const struct act *act, const struct renaming *r, struct err *err)
{
    struct sql_ns *ns;
    struct catalog *c = act->c;
    if (act->kind == SQL_VIEW) {
        if (!sql_ns_get(act->a, c->sql, c->warehouse.id, r->to.ns, &ns, err))
            return catalog__change_failed(err);
        if (!ns)
            return catalog__no_such_namespace(act->a, r->to.ns, err);
    }
    return object__no_such(act->a, act->kind, &r->from, err);
}

static bool rename_refused(const struct act *act, const struct renaming *r, struct err *err)
{
    struct str from = ident_text(act->a, &r->from), to = ident_text(act->a, &r->to);
    if (r->result == SQL_RENAME_NO_SOURCE)
        return source_missing(act, r, err);
    if (r->result == SQL_RENAME_NO_NAMESPACE)
        return catalog__no_such_namespace(act->a, r->to.ns, err);
    if (act->kind == SQL_TABLE && r->taken_by == SQL_TABLE)
        return err_set(err, ERR_ALREADY_EXISTS, "Table already exists: %.*s", STR_ARG(to));
    return err_set(err, ERR_ALREADY_EXISTS, "Cannot rename %.*s to %.*s. %s already exists",
        STR_ARG(from), STR_ARG(to), name_of(r->taken_by));
}

bool object__rename(const struct act *act, const json_t *body, struct err *err)
{
    struct renaming r = {.taken_by = SQL_TABLE};
    struct arena *a = act->a;
    TRY(ident_from_json(a, json_object_get(body, "source"), "/source", &r.from, err));
    TRY(ident_from_json(a, json_object_get(body, "destination"), "/destination", &r.to, err));
    if (str_eq(r.from.ns, r.to.ns) && str_eq(r.from.name, r.to.name))
        return true;
    struct sql_change change = catalog__change(a, act->by, (struct str){0}, (struct str){0});
    if (!sql_object_rename(act->c->sql, act->c->warehouse.id, act->kind, r.from.ns, r.from.name,
            r.to.ns, r.to.name, &change, &r.result, &r.taken_by, err))
        return catalog__change_failed(err);
    return r.result == SQL_RENAMED || rename_refused(act, &r, err);
}

/* --- list --------------------------------------------------------------------------------------
 */

/* NOLINTNEXTLINE(readability-function-size): as names_fn */
static bool tables(struct arena *a, const struct catalog *c, struct str parent, struct str after,
    size_t limit, struct str **names, size_t *n, bool *found, struct err *err)
{
    return sql_object_page(
        a, c->sql, c->warehouse.id, parent, SQL_TABLE, after, limit, names, n, found, err);
}

/* NOLINTNEXTLINE(readability-function-size): as names_fn */
static bool views(struct arena *a, const struct catalog *c, struct str parent, struct str after,
    size_t limit, struct str **names, size_t *n, bool *found, struct err *err)
{
    return sql_object_page(
        a, c->sql, c->warehouse.id, parent, SQL_VIEW, after, limit, names, n, found, err);
}

bool object__list(const struct act *act, struct str ns, const struct page *page, struct str **names,
    size_t *n, struct str *next, struct err *err)
{
    struct page_list list = {act->c, ns, "tables", tables};
    struct names found;
    if (act->kind == SQL_VIEW)
        list = (struct page_list){act->c, ns, "views", views};
    if (!page__read(act->a, &list, page, &found, err))
        return catalog_read_failed(err);
    if (!found.found)
        return catalog__no_such_namespace(act->a, ns, err);
    *names = found.v;
    *n = found.n;
    *next = found.next;
    return true;
}
