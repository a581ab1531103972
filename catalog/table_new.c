/* How tables come into the catalog: created from a request, or registered from a file. */
#include "arena.h"
#include "cache.h"
#include "digest.h"
#include "table_priv.h"
#include "uuid.h"

bool table__taken(
    struct arena *a, const struct ident *id, enum sql_kind by, enum new_table as, struct err *err)
{
    struct str text = ident_text(a, id);
    if (by == SQL_VIEW)
        return err_set(
            err, ERR_ALREADY_EXISTS, "View with same name already exists: %.*s", STR_ARG(text));
    if (as == NEW_COMMIT)
        return err_set(err, ERR_COMMIT_FAILED, "Requirement failed: table already exists");
    return err_set(err, ERR_ALREADY_EXISTS, "Table already exists: %.*s", STR_ARG(text));
}

static bool no_such_namespace(struct arena *a, struct str ns, struct err *err)
{
    struct str text = ident_ns_text(a, ns);
    return err_set(err, ERR_NO_SUCH_NAMESPACE, "Namespace does not exist: %.*s", STR_ARG(text));
}

bool table__name_free(struct arena *a, struct catalog *c, const struct ident *id, enum new_table as,
    struct sql_ns **ns, struct err *err)
{
    if (!sql_ns_get(a, c->sql, c->warehouse.id, id->ns, ns, err))
        return catalog__change_failed(err);
    if (!*ns)
        return no_such_namespace(a, id->ns, err);
    bool ns_found;
    struct sql_object *row;
    if (!sql_object_get(a, c->sql, c->warehouse.id, id->ns, id->name, &ns_found, &row, err))
        return catalog__change_failed(err);
    return !row || table__taken(a, id, row->kind, as, err);
}

void table__make_dirs(struct arena *a, struct catalog *c, struct str location)
{
    static const char *const folders[] = {"metadata", "data"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        struct err ignored;
        if (!store_make_dir(
                c->store, arena_printf(a, "%.*s/%s", STR_ARG(location), folders[i]), &ignored))
            return;
    }
}

bool table__write(
    struct arena *a, struct catalog *c, struct draft *d, struct written *out, struct err *err)
{
    AUTO(metadata_unref) struct metadata *m = NULL;
    struct written w = {0};
    bool gzip;
    TRY(draft_file(d, &w.location, &w.token, &gzip, err));
    if (!store_check(a, c->store, w.location, err))
        return err_as(err, ERR_INVALID_ARGUMENT); /* write.metadata.path leads elsewhere */
    TRY(draft_finish(d, w.location, &m, err));
    struct str *pieces;
    size_t n = metadata_document(a, m, VARIANT_ALL, &pieces);
    struct str packed;
    if (gzip) {
        packed = metadata_gzip(a, m);
        pieces = &packed;
        n = 1;
    }
    const char *type = gzip ? "application/gzip" : "application/json";
    if (!store_put_new(c->store, w.location, pieces, n, type, err)) {
        err_wrap(err, "writing metadata file %.*s", STR_ARG(w.location));
        return catalog__change_failed(err);
    }
    w.metadata = TAKE(m);
    *out = w;
    return true;
}

void table__discard(struct catalog *c, struct written *w)
{
    /* A file that cannot be deleted now is named by nothing; the sweep finds it. */
    struct err ignored;
    if (!store_delete(c->store, w->location, &ignored))
        err_clear(&ignored);
    metadata_unref(&w->metadata);
}

void table__keep(struct arena *a, struct catalog *c, struct written *w, struct loaded *out)
{
    cache_put(c->cache, w->metadata);
    *out = (struct loaded){.metadata = metadata_hold(a, TAKE(w->metadata))};
}

bool table__insert(struct arena *a, struct catalog *c, const struct caller *by,
    const struct sql_new_object *o, struct str token, struct str digest, enum new_table as,
    struct err *err)
{
    struct sql_change change = catalog__change(a, by, token, digest);
    struct ident id = {o->ns, o->name};
    enum sql_insert_result result;
    enum sql_kind taken_by = SQL_TABLE;
    if (!sql_object_insert(c->sql, o, &change, &result, &taken_by, err))
        return catalog__change_failed(err);
    switch (result) {
    case SQL_INSERTED:
        return true;
    case SQL_NO_NAMESPACE:
        return no_such_namespace(a, o->ns, err);
    case SQL_NAME_TAKEN:
        return table__taken(a, &id, taken_by, as, err);
    case SQL_UUID_TAKEN:
        return err_set(err, ERR_ALREADY_EXISTS,
            "Another table of this warehouse has the uuid %.*s already", STR_ARG(o->uuid));
    case SQL_LOCATION_TAKEN:
    default:
        return err_set(err, ERR_ALREADY_EXISTS,
            "The location %.*s is, contains or lies in the location of another table",
            STR_ARG(o->location));
    }
}

/* Where a new table shall lie: as asked for, or where the warehouse puts it. */
static bool new_location(struct arena *a, const struct catalog *c, const struct sql_ns *ns,
    struct str name, const json_t *body, struct draft *d, struct sql_place *place, struct err *err)
{
    const json_t *asked = json_object_get(body, "location");
    struct str location = json_is_string(asked)
                              ? (struct str){json_string_value(asked), json_string_length(asked)}
                              : place__default(a, c, ns, name, d->head.uuid);
    return place__check(a, c, location, &d->head.location, place, err);
}

static bool create_staged(
    struct arena *a, struct catalog *c, struct draft *d, struct loaded *out, struct err *err)
{
    struct metadata *m;
    TRY(draft_finish(d, (struct str){0}, &m, err));
    table__make_dirs(a, c, d->head.location);
    *out = (struct loaded){.metadata = metadata_hold(a, m), .staged = true};
    return true;
}

bool table_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err)
{
    const json_t *name = json_object_get(body, "name");
    struct ident id = {
        ns, arena_dup(a, (struct str){json_string_value(name), json_string_length(name)})};
    struct sql_ns *row;
    struct draft *d;
    struct sql_place place;
    TRY(ident_name_check(id.name, "table name", err));
    TRY(table__name_free(a, c, &id, NEW_CREATE, &row, err));
    TRY(draft_create(a, body, (struct str){0}, &d, err));
    TRY(new_location(a, c, row, id.name, body, d, &place, err));
    if (json_is_true(json_object_get(body, "stage-create")))
        return create_staged(a, c, d, out, err);

    struct written w;
    TRY(table__write(a, c, d, &w, err));
    table__make_dirs(a, c, d->head.location);
    struct sql_new_object o = {
        .warehouse = c->warehouse.id,
        .ns = ns,
        .name = id.name,
        .kind = SQL_TABLE,
        .uuid = d->head.uuid,
        .location = d->head.location,
        .metadata_location = w.location,
        .place = place,
    };
    if (!table__insert(a, c, by, &o, w.token, (struct str){0}, NEW_CREATE, err)) {
        if (err->kind == ERR_COMMIT_UNKNOWN)
            metadata_unref(&w.metadata); /* the file stays: a row may name it */
        else
            table__discard(c, &w);
        return false;
    }
    table__keep(a, c, &w, out);
    return true;
}

/* The file to register, read and found valid. */
static bool registered_metadata(struct arena *a, struct catalog *c, struct str location,
    const struct metadata **out, struct err *err)
{
    if (!store_check(a, c->store, location, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    struct metadata *m;
    if (!cache_get(c->cache, location, &m, err)) {
        if (err->kind == ERR_STORE_NOT_FOUND)
            return catalog__metadata_failed(location, err);
        err_wrap(err, "registering metadata file %.*s", STR_ARG(location));
        if (err->kind == ERR_TOO_LARGE)
            return err_as(err, ERR_BAD_REQUEST);
        return catalog__change_failed(err);
    }
    *out = metadata_hold(a, m);
    /* Reading looks at types only when a commit needs them; clients look at once. */
    return draft_check_bindings(draft_begin(a, *out), err) ||
           err_wrap(err, "registering metadata file %.*s", STR_ARG(location));
}

static bool register_location(const json_t *body, struct arena *a, struct str *out, struct err *err)
{
    const json_t *given = json_object_get(body, "metadata-location");
    struct str location = {json_string_value(given), json_string_length(given)};
    if (str_trim(location).n == 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot register an empty metadata file location as a table");
    *out = arena_dup(a, location);
    if (!strstr(out->p, ".metadata.json") && !strstr(out->p, ".gz"))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "%.*s is not a valid metadata file: its name "
            "must contain .metadata.json",
            STR_ARG(location));
    return true;
}

bool table_register(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err)
{
    const json_t *name = json_object_get(body, "name");
    struct ident id = {
        ns, arena_dup(a, (struct str){json_string_value(name), json_string_length(name)})};
    struct str location;
    struct sql_ns *row;
    const struct metadata *m = NULL;
    struct sql_new_object o = {
        .warehouse = c->warehouse.id, .ns = ns, .name = id.name, .kind = SQL_TABLE};
    TRY(ident_name_check(id.name, "table name", err));
    TRY(register_location(body, a, &location, err));
    if (json_is_true(json_object_get(body, "overwrite")))
        return err_set(err, ERR_UNSUPPORTED,
            "Registering over an existing table is not supported: drop it first");
    TRY(table__name_free(a, c, &id, NEW_REGISTER, &row, err));
    TRY(registered_metadata(a, c, location, &m, err));
    TRY(place__check(a, c, metadata_head(m)->location, &o.location, &o.place, err));
    o.location = metadata_head(m)->location;
    o.uuid = metadata_head(m)->uuid;
    o.metadata_location = location;
    TRY(table__insert(a, c, by, &o, (struct str){0}, (struct str){0}, NEW_REGISTER, err));
    *out = (struct loaded){.metadata = m};
    return true;
}
