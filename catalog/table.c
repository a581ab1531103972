#include "table.h"

#include "cache.h"
#include "object_priv.h"
#include "sql_purge.h"

bool table_load(struct arena *a, struct catalog *c, const struct ident *id,
    const struct sql_object *row, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, NULL, SQL_TABLE};
    return object__load(&act, id, row, out, err);
}

bool table_locate(
    struct arena *a, struct catalog *c, const struct ident *id, struct loaded *t, struct err *err)
{
    struct sql_object *row;
    bool ns_found;
    if (!sql_object_get(a, c->sql, c->warehouse.id, id->ns, id->name, &ns_found, &row, err))
        return catalog_read_failed(err);
    if (row && row->kind == SQL_TABLE && str_eq(row->uuid, metadata_head(t->metadata)->uuid))
        t->location = row->location;
    return true;
}

bool table_staged(struct arena *a, struct catalog *c, const struct ident *id, struct str uuid,
    struct str *location, struct err *err)
{
    struct sql_ns *ns;
    struct sql_place place;
    struct str other;
    if (!sql_ns_get(a, c->sql, c->warehouse.id, id->ns, &ns, err))
        return catalog_read_failed(err);
    if (!ns)
        return catalog__no_such_namespace(a, id->ns, err);
    TRY(place__check(a, c, place__default(a, c, ns, id->name, uuid), location, &place, err));
    if (!sql_place_live(a, c->sql, &place, &other, err))
        return catalog_read_failed(err);
    return !other.p || err_set(err, ERR_NO_SUCH_TABLE,
                           "Table does not exist: %.*s, and another lies where it was to be",
                           STR_ARG(ident_text(a, id)));
}

bool table_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__create(&act, ns, body, out, err);
}

/* NOLINTNEXTLINE(readability-function-size): a request and who sent it */
bool table_commit(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, const struct sql_object *row, const json_t *body, struct str digest,
    struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__commit(&act, id, row, body, digest, out, err);
}

bool table_register(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__register(&act, ns, body, out, err);
}

bool table_drop(struct arena *a, struct catalog *c, const struct caller *by, const struct ident *id,
    enum sql_purge purge, struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    struct sql_object *was;
    TRY(object__drop(&act, id, purge, &was, err));
    if (was)
        cache_drop(&c->cached, was->metadata_location);
    return true;
}

/* The metadata is read before the table goes: what cannot be told is not taken away. */
bool table_unregister(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, struct loaded *out, struct err *err)
{
    enum { ROUNDS = 16 };
    const struct act act = {a, c, by, SQL_TABLE};
    struct sql_change change = catalog__change(a, by, (struct str){0}, (struct str){0});
    for (unsigned round = 0; round < ROUNDS; round++) {
        enum sql_unregister_result result;
        struct current now;
        TRY(object__current(&act, id, &now, err));
        if (!sql_object_unregister(c->sql, c->warehouse.id, SQL_TABLE, id->ns, id->name,
                now.row->metadata_location, &change, &result, err))
            return catalog__change_failed(err);
        if (result == SQL_UNREGISTER_NONE)
            return object__no_such(a, SQL_TABLE, id, err);
        *out = (struct loaded){.metadata = now.metadata};
        if (result == SQL_UNREGISTERED)
            return true;
    }
    return err_set(err, ERR_BUSY, "The table is changed by others all the time, try again");
}

bool table_rename(struct arena *a, struct catalog *c, const struct caller *by, const json_t *body,
    struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__rename(&act, body, err);
}

/* NOLINTNEXTLINE(readability-function-size): a list and its page */
bool table_list(struct arena *a, struct catalog *c, struct str ns, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err)
{
    const struct act act = {a, c, NULL, SQL_TABLE};
    return object__list(&act, ns, page, names, n, next, err);
}
