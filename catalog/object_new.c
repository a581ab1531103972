/* How tables and views come into the catalog: created from a request, or registered from a file. */
#include "arena.h"
#include "cache.h"
#include "digest.h"
#include "folders.h"
#include "leftover.h"
#include "object_priv.h"
#include "part_text.h"
#include "sql_purge.h"
#include "sql_sweep.h"
#include "token.h"
#include "uuid.h"

#define DATA_FOLDER "data"

static bool taken(const struct act *act, const struct ident *id, enum sql_kind by,
    enum new_object as, struct err *err)
{
    struct str text = ident_text(act->a, id);
    const char *name = by == SQL_VIEW ? "View" : "Table";
    if (by != act->kind)
        return err_set(
            err, ERR_ALREADY_EXISTS, "%s with same name already exists: %.*s", name, STR_ARG(text));
    if (as == NEW_COMMIT)
        return err_set(err, ERR_COMMIT_FAILED, "Requirement failed: table already exists");
    return err_set(err, ERR_ALREADY_EXISTS, "%s already exists: %.*s", name, STR_ARG(text));
}

bool object__name_free(const struct act *act, const struct ident *id, enum new_object as,
    struct sql_ns **ns, struct err *err)
{
    struct arena *a = act->a;
    struct catalog *c = act->c;
    struct sql_room room;
    if (!sql_object_room(a, c->sql, c->warehouse.id, id->ns, id->name, &room, err))
        return ERR_FALSE(catalog__change_failed(err));
    *ns = room.ns;
    if (!room.ns)
        return catalog__no_such_namespace(a, id->ns, err);
    /* A staged create reserves no name; a view in its way is found out by the commit. */
    if (!room.taken || (as == NEW_STAGED && room.taken_by != act->kind))
        return true;
    return taken(act, id, room.taken_by, as, err);
}

void object__make_dirs(struct arena *a, struct catalog *c, struct str location)
{
    static const char *const folders[] = {"metadata", DATA_FOLDER};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        struct err ignored;
        if (!store_make_dir(
                c->store, arena_printf(a, "%.*s/%s", STR_ARG(location), folders[i]), &ignored))
            return;
    }
}

/* Nobody could load the object any more; an earlier state is still readable. */
static bool check_size(
    const struct catalog *c, const struct str *pieces, size_t n_pieces, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < n_pieces; i++)
        n += pieces[i].n;
    return n <= c->metadata_max ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "The metadata would have %zu bytes, at most %zu are allowed (FIRN_METADATA_LIMIT)",
               n, c->metadata_max);
}

/* Which file comes next, in a place where it may be. */
static bool next_file(struct arena *a, const struct catalog *c, struct draft *d, struct written *w,
    bool *gzip, struct err *err)
{
    d->warehouse = c->warehouse.uuid;
    TRY(draft_file(d, &w->location, &w->token, gzip, err));
    TRY(uris__check(a, c, d, err));
    return store_check(a, c->store, w->location, err) ||
           err_as(err, ERR_INVALID_ARGUMENT); /* write.metadata.path has led elsewhere before */
}

/* LOCATION/FOLDER/NAME, as it is unless write.metadata.path says otherwise. */
static bool lies_right_in(struct str location, struct str uri)
{
    if (!str_starts(uri, location) || uri.n == location.n || uri.p[location.n] != '/')
        return false;
    struct str rest = str_sub(uri, location.n + 1, uri.n - location.n - 1);
    (void)str_cut(&rest, '/');
    return rest.p && !memchr(rest.p, '/', rest.n);
}

bool object__finish(struct arena *a, struct catalog *c, struct draft *d, struct written *out,
    struct store_file *file, struct err *err)
{
    AUTO(metadata_unref) struct metadata *m = NULL;
    struct written w = {0};
    bool gzip;
    TRY(next_file(a, c, d, &w, &gzip, err));
    TRY(draft_finish(d, w.location, &m, err));
    struct str *pieces;
    size_t n = metadata_document(a, m, VARIANT_ALL, &pieces);
    TRY(check_size(c, pieces, n, err));
    *file = (struct store_file){w.location, pieces, n, "application/json", false};
    if (gzip) {
        struct str *packed = ARENA_NEW(a, struct str);
        *packed = metadata_gzip(a, m);
        *file = (struct store_file){w.location, packed, 1, "application/gzip", false};
    }
    w.metadata = TAKE(m);
    *out = w;
    return true;
}

bool object__write_failed(struct str location, struct err *err)
{
    err_wrap(err, "writing metadata file %.*s", STR_ARG(location));
    return ERR_FALSE(catalog__change_failed(err));
}

bool object__write(
    struct arena *a, struct catalog *c, struct draft *d, struct written *out, struct err *err)
{
    struct store_file f;
    TRY(object__finish(a, c, d, out, &f, err));
    if (store_put_new(c->store, f.uri, f.pieces, f.n, f.content_type, err))
        return true;
    metadata_unref(&out->metadata);
    return object__write_failed(f.uri, err);
}

static bool put_first(struct arena *a, struct catalog *c, struct str location, const char *beside,
    const struct store_file *f, struct err *err)
{
    if (lies_right_in(location, f->uri))
        return store_put_first(c->store, f, beside, err);
    TRY(store_put_new(c->store, f->uri, f->pieces, f->n, f->content_type, err));
    if (beside)
        object__make_dirs(a, c, location);
    return true;
}

bool object__write_first(struct arena *a, struct catalog *c, enum sql_kind kind, struct draft *d,
    struct written *out, struct err *err)
{
    struct store_file f;
    TRY(object__finish(a, c, d, out, &f, err));
    if (put_first(a, c, d->head.location, kind == SQL_TABLE ? DATA_FOLDER : NULL, &f, err))
        return true;
    metadata_unref(&out->metadata);
    return object__write_failed(f.uri, err);
}

void object__discard(struct catalog *c, struct written *w)
{
    /* A file that cannot be deleted now is named by nothing; the sweep finds it. */
    struct err ignored;
    if (!store_delete(c->store, w->location, &ignored))
        err_clear(&ignored);
    metadata_unref(&w->metadata);
}

void object__keep(struct arena *a, struct catalog *c, struct written *w, struct loaded *out)
{
    metadata_set_bound(w->metadata, uuid_row_id_bound());
    cache_put(&c->cached, w->metadata);
    *out = (struct loaded){.metadata = metadata_hold(a, TAKE(w->metadata))};
}

static bool location_taken(struct str location, struct err *err)
{
    return err_set(err, ERR_ALREADY_EXISTS,
        "The location %.*s is, contains or lies in the location of another table or view",
        STR_ARG(location));
}

bool object__insert(const struct act *act, const struct sql_new_object *o, struct str token,
    struct str digest, enum new_object as, struct err *err)
{
    struct sql_change change = catalog__change(act->a, act->by, token, digest);
    enum sql_insert_result result;
    enum sql_kind taken_by = SQL_TABLE;
    if (!sql_object_insert(act->c->sql, o, &change, &result, &taken_by, err))
        return catalog__change_failed(err);
    return object__inserted(act, o, result, taken_by, as, err);
}

bool object__inserted(const struct act *act, const struct sql_new_object *o,
    enum sql_insert_result result, enum sql_kind taken_by, enum new_object as, struct err *err)
{
    struct ident id = {o->ns, o->name};
    switch (result) {
    case SQL_INSERTED:
        return true;
    case SQL_NO_NAMESPACE:
        return catalog__no_such_namespace(act->a, o->ns, err);
    case SQL_NAME_TAKEN:
        return taken(act, &id, taken_by, as, err);
    case SQL_UUID_TAKEN:
        return err_set(err, ERR_ALREADY_EXISTS,
            "Another table or view of this warehouse, live or being purged, has the uuid %.*s "
            "already",
            STR_ARG(o->uuid));
    case SQL_LEASE_HELD:
        return err_set(err, ERR_NOT_FOUND,
            "The metadata file %.*s is being deleted, or was less than a quarter of an hour ago: "
            "what it belonged to was dropped, or needed it no more",
            STR_ARG(o->metadata_location));
    case SQL_LOCATION_TAKEN:
    default:
        return location_taken(o->location, err);
    }
}

/* --- from a request ----------------------------------------------------------------------------
 */

/* Where a new object shall lie: as asked for, or where the warehouse puts it. */
static bool new_location(const struct act *act, const struct sql_ns *ns, struct str name,
    const json_t *body, struct draft *d, struct sql_place *place, struct err *err)
{
    const json_t *asked = json_object_get(body, "location");
    struct str location = json_is_string(asked)
                              ? (struct str){json_string_value(asked), json_string_length(asked)}
                              : place__default(act->a, act->c, ns, name, d->head.uuid);
    if (place__check(act->a, act->c, location, &d->head.location, place, err))
        return true;
    return json_is_string(asked) && err_where(err, "/location");
}

/* What the commit would be refused for is refused here, as far as it can be known without taking
 * anything. */
static bool check_staged(
    const struct act *act, struct draft *d, const struct sql_place *place, struct err *err)
{
    struct written first;
    struct str other;
    bool gzip;
    TRY(next_file(act->a, act->c, d, &first, &gzip, err));
    if (!sql_place_live(act->a, act->c->sql, place, &other, err))
        return catalog__change_failed(err);
    return !other.p || location_taken(d->head.location, err);
}

/* A place that a client named is not its own before it is registered. */
static bool create_staged(const struct act *act, const json_t *body, struct draft *d,
    const struct sql_place *place, struct loaded *out, struct err *err)
{
    struct arena *a = act->a;
    struct catalog *c = act->c;
    struct metadata *m;
    struct str *pieces;
    TRY(check_staged(act, d, place, err));
    TRY(draft_finish(d, (struct str){0}, &m, err));
    *out = (struct loaded){.metadata = metadata_hold(a, m), .staged = true};
    size_t n = metadata_document(a, m, VARIANT_ALL, &pieces);
    TRY(check_size(c, pieces, n, err));
    object__make_dirs(a, c, d->head.location);
    if (!json_is_string(json_object_get(body, "location")))
        out->location = d->head.location;
    return true;
}

/* The name that a body gives to something new. */
static bool new_ident(
    const struct act *act, struct str ns, const json_t *body, struct ident *out, struct err *err)
{
    const json_t *name = json_object_get(body, "name");
    const char *what = act->kind == SQL_VIEW ? "view name" : "table name";
    *out = (struct ident){
        ns, arena_dup(act->a, (struct str){json_string_value(name), json_string_length(name)})};
    return ident_name_check(out->name, what, err) || err_where(err, "/name");
}

static bool write_and_insert(const struct act *act, const struct ident *id, int64_t ns_id,
    struct draft *d, const struct sql_place *place, struct loaded *out, struct err *err)
{
    struct written w;
    TRY(object__write_first(act->a, act->c, act->kind, d, &w, err));
    struct sql_new_object o = {
        .warehouse = act->c->warehouse.id,
        .ns = id->ns,
        .ns_id = ns_id,
        .name = id->name,
        .kind = act->kind,
        .uuid = d->head.uuid,
        .location = d->head.location,
        .metadata_location = w.location,
        .place = *place,
    };
    if (!object__insert(act, &o, w.token, (struct str){0}, NEW_CREATE, err)) {
        if (err->kind == ERR_COMMIT_UNKNOWN)
            metadata_unref(&w.metadata); /* the file stays: a row may name it */
        else
            object__discard(act->c, &w);
        return false;
    }
    object__keep(act->a, act->c, &w, out);
    out->location = o.location;
    return true;
}

bool object__create(const struct act *act, struct str ns, const struct sql_ns *room,
    const json_t *body, struct loaded *out, struct err *err)
{
    bool staged = act->kind == SQL_TABLE && json_is_true(json_object_get(body, "stage-create"));
    struct str unknown = {0};
    struct ident id;
    struct sql_ns *row;
    struct draft *d;
    struct sql_place place;
    TRY(new_ident(act, ns, body, &id, err));
    if (!room) {
        TRY(object__name_free(act, &id, staged ? NEW_STAGED : NEW_CREATE, &row, err));
        room = row;
    }
    TRY(act->kind == SQL_VIEW ? draft_create_view(act->a, body, unknown, &d, err)
                              : draft_create(act->a, body, unknown, &d, err));
    TRY(new_location(act, room, id.name, body, d, &place, err));
    return staged ? create_staged(act, body, d, &place, out, err)
                  : write_and_insert(act, &id, room->id, d, &place, out, err);
}

/* --- from a file -------------------------------------------------------------------------------
 */

/* The file to register, read and found valid. */
static bool registered_metadata(
    const struct act *act, struct str location, const struct metadata **out, struct err *err)
{
    if (!store_check_new(act->a, act->c->store, location, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    cache_drop(&act->c->cached, location); /* another server may have deleted the file */
    if (object__metadata(act->a, act->c, act->kind, location, out, err))
        /* Reading looks at types only when a commit needs them; clients look at once. */
        return draft_check_bindings(draft_begin(act->a, *out), err) ||
               err_wrap(err, "registering metadata file %.*s", STR_ARG(location));
    if (err->kind == ERR_STORE_NOT_FOUND)
        return catalog__metadata_failed(location, err);
    err_wrap(err, "registering metadata file %.*s", STR_ARG(location));
    if (err->kind == ERR_TOO_LARGE)
        return err_as(err, ERR_BAD_REQUEST);
    return catalog__change_failed(err);
}

/* Whoever swept it, its file is on its way out. */
static bool not_forgone(const struct act *act, struct str location, struct err *err)
{
    struct catalog *c = act->c;
    struct sql_token token = {.token = token_of_file(c->warehouse.uuid, location)};
    if (!token.token.p)
        return true;
    if (!sql_tokens_find(c->sql, c->warehouse.id, &token, 1, err))
        return catalog__change_failed(err);
    return token.fate != SQL_FATE_FORGONE ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "The metadata file %.*s was written for a change that was never made, and is being "
               "cleared away",
               STR_ARG(location));
}

static bool register_location(
    const struct act *act, const json_t *body, struct str *out, struct err *err)
{
    const json_t *given = json_object_get(body, "metadata-location");
    struct str location = {json_string_value(given), json_string_length(given)};
    if (str_trim(location).n == 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot register an empty metadata file location as a %s", object__word(act->kind));
    *out = arena_dup(act->a, location);
    if (!strstr(out->p, ".metadata.json") && !strstr(out->p, ".gz"))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "%.*s is not a valid metadata file: its name "
            "must contain .metadata.json",
            STR_ARG(location));
    return not_forgone(act, location, err);
}

/* Is the namespace there, and the name free or of its kind? */
static bool may_replace(const struct act *act, const struct ident *id, struct err *err)
{
    struct catalog *c = act->c;
    struct sql_object *row;
    bool ns_found;
    if (!sql_object_get(act->a, c->sql, c->warehouse.id, id->ns, id->name, &ns_found, &row, err))
        return catalog__change_failed(err);
    if (!ns_found)
        return catalog__no_such_namespace(act->a, id->ns, err);
    return !row || row->kind == act->kind || taken(act, id, row->kind, NEW_REGISTER, err);
}

/* Whatever the name stands for, it stands for this now; the last who says so wins. */
static bool replace(const struct act *act, const struct sql_new_object *o, struct err *err)
{
    struct sql_change change = catalog__change(act->a, act->by, (struct str){0}, (struct str){0});
    enum sql_insert_result result;
    enum sql_kind taken_by = SQL_TABLE;
    if (!sql_object_replace(act->c->sql, o, &change, &result, &taken_by, err))
        return catalog__change_failed(err);
    return object__inserted(act, o, result, taken_by, NEW_REGISTER, err);
}

/* Its log may name files of another table's, which so must not delete them. */
static void note_log(const struct act *act, const struct metadata *m, struct sql_new_object *o)
{
    const struct parts *log = metadata_parts(m, PARTS_METADATA_LOG);
    struct folders *outside = ARENA_NEW(act->a, struct folders);
    struct str uri = o->metadata_location;
    struct location at, own; /* as spelled, like what the logs of others are compared with */
    struct err ignored;
    if (!location_parse(act->a, o->location, &own, &ignored))
        return;
    folders_init(outside, act->a);
    for (size_t i = 0; i <= log->n; i++) {
        if (i > 0 && !part_text(act->a, &log->v[i - 1], "metadata-file", &uri))
            continue;
        if (location_parse(act->a, uri, &at, &ignored) && !location_within(&at, &own))
            folders_add(outside, folder_of_file(&at));
    }
    folders_fini(outside);
    struct sql_registered *registered = ARENA_NEW(act->a, struct sql_registered);
    *registered = (struct sql_registered){outside->v, outside->n};
    o->registered = registered;
}

/* Where it says that the object and its files are. */
static bool registered_place(
    const struct act *act, const struct metadata *m, struct sql_new_object *o, struct err *err)
{
    if (!place__check(act->a, act->c, metadata_head(m)->location, &o->location, &o->place, err))
        return err_wrap(err, "the \"location\" in the metadata file %.*s that is to be registered",
            STR_ARG(o->metadata_location));
    o->location = metadata_head(m)->location;
    return uris__check_all(act->a, act->c, m, err) ||
           err_wrap(err, "registering metadata file %.*s", STR_ARG(o->metadata_location));
}

bool object__register(
    const struct act *act, struct str ns, const json_t *body, struct loaded *out, struct err *err)
{
    struct ident id;
    struct str location;
    struct sql_ns *row;
    const struct metadata *m = NULL;
    const struct str none = {0};
    bool overwrite = act->kind == SQL_TABLE && json_is_true(json_object_get(body, "overwrite"));
    TRY(new_ident(act, ns, body, &id, err));
    struct sql_new_object o = {
        .warehouse = act->c->warehouse.id, .ns = ns, .name = id.name, .kind = act->kind};
    TRY(register_location(act, body, &location, err));
    TRY(overwrite ? may_replace(act, &id, err)
                  : object__name_free(act, &id, NEW_REGISTER, &row, err));
    TRY(registered_metadata(act, location, &m, err));
    o.uuid = metadata_head(m)->uuid;
    o.metadata_location = location;
    o.lease = leftover_lease(act->a, location);
    TRY(registered_place(act, m, &o, err));
    if (act->kind == SQL_TABLE)
        note_log(act, m, &o);
    TRY(overwrite ? replace(act, &o, err) : object__insert(act, &o, none, none, NEW_REGISTER, err));
    *out = (struct loaded){.metadata = m, .location = o.location};
    return true;
}
