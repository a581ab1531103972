#include "table.h"

#include <string.h>

#include "arena.h"
#include "cache.h"
#include "object_priv.h"
#include "sql_purge.h"
#include "sql_sweep.h"
#include "store.h"

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

/* Of what a staged table holds before its first commit; who has more there must do without. */
enum { FOLDERS_MAX = 1000, FILES_MAX = 10000 };

/* Of any writer: 00001-UUID.metadata.json, and .gz.metadata.json or .metadata.json.gz. */
static bool is_metadata(struct str uri)
{
    const char *slash = memrchr(uri.p, '/', uri.n);
    return slash && memmem(slash, str_range(slash, uri.p + uri.n).n, ".metadata.json", 14);
}

static bool holds_metadata(
    struct arena *a, struct store *s, struct str folder, bool *holds, struct err *err)
{
    struct store_entry *files;
    size_t n;
    TRY(store_list(a, s, folder, FILES_MAX, &files, &n, err));
    *holds = n >= FILES_MAX;
    for (size_t i = 0; i < n && !*holds; i++)
        *holds = is_metadata(files[i].uri);
    return true;
}

/* A table has written metadata, if it is not purged, and where it is gone it has left it. Looked
 * for wherever write.metadata.path may have led within the location, but for the data, of which
 * there may be much. */
static bool was_table(
    struct arena *a, struct catalog *c, struct str location, bool *was, struct err *err)
{
    const struct str data = arena_printf(a, "%.*s/data", STR_ARG(location));
    struct store_entry *folders;
    size_t n;
    TRY(store_list_folders(a, c->store, location, FOLDERS_MAX, &folders, &n, err));
    *was = n >= FOLDERS_MAX;
    for (size_t i = 0; i < n && !*was; i++)
        if (!str_eq(folders[i].uri, data))
            TRY(holds_metadata(a, c->store, folders[i].uri, was, err));
    return true;
}

/* Does anything lie there, or did before? Of what is being purged the metadata may be gone. */
static bool is_used(struct arena *a, struct catalog *c, const struct sql_place *place,
    struct str uuid, bool *used, struct err *err)
{
    struct str other;
    if (!sql_place_live(a, c->sql, place, &other, err))
        return catalog_read_failed(err);
    *used = other.p != NULL;
    return *used || sql_uuid_taken(c->sql, c->warehouse.id, uuid, used, err) ||
           catalog_read_failed(err);
}

bool table_staged(struct arena *a, struct catalog *c, const struct ident *id, struct str uuid,
    struct str *location, struct err *err)
{
    struct sql_ns *ns;
    struct sql_place place;
    bool used = true;
    if (!sql_ns_get(a, c->sql, c->warehouse.id, id->ns, &ns, err))
        return catalog_read_failed(err);
    if (!ns)
        return catalog__no_such_namespace(a, id->ns, err);
    TRY(place__check(a, c, place__default(a, c, ns, id->name, uuid), location, &place, err));
    TRY(is_used(a, c, &place, uuid, &used, err));
    if (!used && !was_table(a, c, *location, &used, err))
        return err->kind == ERR_STORE_DENIED && err_as(err, ERR_FORBIDDEN);
    return !used || err_set(err, ERR_NO_SUCH_TABLE,
                        "Table does not exist: %.*s, and another lies where it was to be, or did",
                        STR_ARG(ident_text(a, id)));
}

/* NOLINTNEXTLINE(readability-function-size): a request and who sent it */
bool table_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const struct sql_ns *room, const json_t *body, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__create(&act, ns, room, body, out, err);
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
