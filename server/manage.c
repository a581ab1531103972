#include "manage.h"

#include <string.h>

#include "apart.h"
#include "arena.h"
#include "base.h"
#include "catalog.h"
#include "config.h"
#include "handed.h"
#include "ident.h"
#include "identity.h"
#include "json.h"
#include "log.h"
#include "profile.h"
#include "profile_keys.h"
#include "secret.h"
#include "secrets.h"
#include "sign.h"
#include "sql_warehouse.h"
#include "store.h"
#include "uuid.h"
#include "vend.h"

enum { PAGE = 100, NAME_MAX_BYTES = 128 };

/* The members of a profile, as they lie in the row. */
static const char *const members[] = {"storage", "credentials", "allowed-locations", "delegation",
    "delegation-unasked", "allow", "defaults", "overrides"};

static struct str dump(struct arena *a, const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    struct str copy = arena_dup(a, str_from(text));

    xfree(text);
    return copy;
}

static json_t *text_json(struct str s)
{
    return json_stringn(s.p, s.n);
}

/* Failures of the database are the catalog's, those of a store are about what was asked for. */
static bool db_failed(struct err *err)
{
    return catalog_read_failed(err);
}

/* --- rows and documents ------------------------------------------------------------------------
 */

/* A warehouse under way: its row, and the row's profile as JSON that the arena holds. */
struct house {
    struct sql_warehouse row;
    json_t *profile; /* NULL: the settings describe it */
    bool moved;      /* its base is another one than the row in the database has */
    bool reached;    /* its storage will be, in another way than until now */
    enum identity_named named;
    struct str keys;    /* that came with the request, as they are sealed; absent: none */
    struct str warning; /* of a trial of its storage */
};

static bool read_row(
    struct arena *a, const struct sql_warehouse *row, struct house *out, struct err *err)
{
    *out = (struct house){.row = *row};
    return profile_read(a, row, &out->profile, err);
}

static bool find(
    struct arena *a, const struct manage *m, struct str named, struct house *out, struct err *err)
{
    struct sql_warehouse *row;

    if (!sql_warehouse_find(a, m->sql, named, &row, err))
        return db_failed(err);
    if (!row)
        return err_set(
            err, ERR_NO_SUCH_WAREHOUSE, "Warehouse does not exist: %.*s", STR_ARG(named));
    return read_row(a, row, out, err);
}

/* One that has a profile, and so can be changed here. */
static bool find_described(
    struct arena *a, const struct manage *m, struct str named, struct house *out, struct err *err)
{
    TRY(find(a, m, named, out, err));
    return out->profile || err_set(err, ERR_INVALID_ARGUMENT,
                               "Warehouse %.*s is the default one, which the settings describe",
                               STR_ARG(out->row.name));
}

static json_t *document(const struct house *h)
{
    json_t *doc = json_object();

    json_object_set_new(doc, "id", text_json(h->row.uuid));
    json_object_set_new(doc, "name", text_json(h->row.name));
    json_object_set_new(doc, "default", json_boolean(!h->profile));
    json_object_set_new(doc, "active", json_boolean(h->row.active));
    json_object_set_new(doc, "base-location", text_json(h->row.base));
    if (!h->profile)
        return doc;
    json_object_set_new(doc, "version", json_integer(h->row.version));
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_t *member = json_object_get(h->profile, members[i]);
        if (member)
            json_object_set(doc, members[i], member);
    }
    if (h->warning.n > 0)
        json_object_set_new(doc, "warning", text_json(h->warning));
    return doc;
}

static struct str show(struct arena *a, const struct house *h)
{
    return dump(a, json_hold(a, document(h)));
}

bool manage_show(
    struct arena *a, const struct manage *m, struct str named, struct str *out, struct err *err)
{
    struct house h = {0};

    TRY(find(a, m, named, &h, err));
    *out = show(a, &h);
    return true;
}

/* --- all of them -------------------------------------------------------------------------------
 */

typedef bool house_fn(struct arena *a, const struct house *h, void *arg, struct err *err);

static bool each(struct arena *a, const struct manage *m, house_fn *fn, void *arg, struct err *err)
{
    struct sql_warehouse *page = NULL;
    struct house h = {0};
    size_t n = 0;

    do {
        struct str after = n > 0 ? page[n - 1].name : STR("");
        if (!sql_warehouse_page(a, m->sql, after, PAGE, &page, &n, err))
            return db_failed(err);
        for (size_t i = 0; i < n; i++) {
            TRY(read_row(a, &page[i], &h, err));
            TRY(fn(a, &h, arg, err));
        }
    } while (n == PAGE);
    return true;
}

static bool append(struct arena *a, const struct house *h, void *arg, struct err *err)
{
    (void)a;
    (void)err;
    json_array_append_new(arg, document(h));
    return true;
}

bool manage_list(struct arena *a, const struct manage *m, struct str *out, struct err *err)
{
    json_t *all = json_array(), *doc = json_hold(a, json_pack("{s:o}", "warehouses", all));

    TRY(each(a, m, append, all, err));
    *out = dump(a, doc);
    return true;
}

/* Told before the storage is tried; the database holds to it when the row is written. */
static bool lies_apart(struct arena *a, const struct house *other, void *arg, struct err *err)
{
    const struct house *h = arg;

    (void)a;
    return apart(&h->row, &other->row, err);
}

/* --- what was asked for ------------------------------------------------------------------------
 */

static bool check_name(struct str name, struct err *err)
{
    TRY(ident_name_check(name, "name", err));
    if (name.n > NAME_MAX_BYTES || str_find(name, '/') < name.n)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/name: expected 1 to %d bytes without a slash, found %.*s", NAME_MAX_BYTES,
            STR_ARG(name));
    if (uuid_is(name))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/name: %.*s has the form of an id, by which warehouses are found too", STR_ARG(name));
    return true;
}

static struct str without_slash(struct str base)
{
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    return base;
}

static bool touches_storage(const json_t *body)
{
    return json_object_get(body, "storage") || json_object_get(body, "credentials") ||
           json_object_get(body, "base-location") || json_object_get(body, "allowed-locations") ||
           json_object_get(body, "delegation") || json_object_get(body, "allow");
}

static void take_members(struct house *h, const json_t *body)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *member = json_object_get(body, members[i]);
        if (member && !json_is_null(member))
            json_object_set_new(h->profile, members[i], json_deep_copy(member));
    }
}

/* The members of the body take the place of those that are there. */
static bool apply(struct arena *a, struct house *h, const json_t *body, struct err *err)
{
    json_t *was = json_hold(a, json_copy(h->profile));

    TRY(handed_check(body, err));
    take_members(h, body);
    if (json_text_at(body, "name").p) {
        h->row.name = arena_dup(a, json_text_at(body, "name"));
        TRY(check_name(h->row.name, err));
    }
    struct str base = without_slash(json_text_at(body, "base-location"));
    if (base.p && !str_eq(base, h->row.base)) {
        h->moved = true;
        h->row.base = arena_dup(a, base);
    }
    const json_t *active = json_object_get(body, "active");
    bool was_active = h->row.active;
    if (json_is_boolean(active))
        h->row.active = json_is_true(active);
    h->reached = touches_storage(body) || (h->row.active && !was_active);
    TRY(profile_take_keys(a, h->profile, &h->keys, err));
    return !touches_storage(body) || identity_name(a, was, h->profile, &h->named, err);
}

/* --- the storage is tried ----------------------------------------------------------------------
 */

static bool as_refusal(struct house *h, struct err *err)
{
    if (err->kind == ERR_FORBIDDEN || err->kind == ERR_INVALID_ARGUMENT)
        return false;
    err_wrap(err, "The storage of the warehouse %.*s does not work", STR_ARG(h->row.name));
    if (h->named == IDENTITY_NEW)
        err_where(err, "a warehouse that is made with \"active\": false tells the external id that "
                       "its roles' trust policies are to ask for");
    err->file = __FILE__; /* words for the administrator, not for the log alone */
    return err_as(err, ERR_INVALID_ARGUMENT);
}

/* As if they lay in the database already. */
static bool on_new_keys(void *ctx, struct arena *a, struct str *out, struct err *err)
{
    const struct house *h = ctx;

    (void)err;
    *out = secret_dup(a, h->keys);
    return true;
}

static void store_conf_of(
    struct arena *a, const struct manage *m, struct house *h, struct store_conf *conf)
{
    if (!h->profile) {
        profile_of_settings(a, m->conf, m->secrets, conf);
        return;
    }
    profile_store(a, m->conf, h->row.base, h->profile, conf);
    if (h->keys.p) {
        conf->sealed = on_new_keys;
        conf->sealed_ctx = h;
    } else if (profile_has_keys(h->profile)) {
        secrets_offer(m->secrets, a, h->row.id, profile_secret(h->profile), conf);
    }
}

static bool try_storage(struct arena *a, const struct manage *m, struct house *h, struct err *err)
{
    AUTO(store_close) struct store *store = NULL;
    struct store_conf conf;

    store_conf_of(a, m, h, &conf);
    if (!store_open(&conf, &store, err) || !store_probe(store, err) || !vend_probe(store, err) ||
        !sign_probe(store, err))
        return as_refusal(h, err);
    h->warning = arena_dup(a, store_warning(store));
    return true;
}

/* Told before anything else that is wrong with a second warehouse of the name. */
static bool name_is_free(
    struct arena *a, const struct manage *m, const struct house *h, struct err *err)
{
    struct sql_warehouse *other;

    if (!sql_warehouse_get(a, m->sql, h->row.name, &other, err))
        return db_failed(err);
    return !other || other->id == h->row.id ||
           err_set(err, ERR_ALREADY_EXISTS, "Warehouse already exists: %.*s", STR_ARG(h->row.name));
}

static bool settle(struct arena *a, const struct manage *m, struct house *h, struct err *err)
{
    TRY(profile_check(a, m->conf, h->row.base, h->profile, err));
    if (h->reached)
        TRY(identity_check(a, m->conf, h->row.base, h->profile, err));
    TRY(name_is_free(a, m, h, err));
    h->row.profile = dump(a, h->profile);
    if (h->moved)
        TRY(each(a, m, lies_apart, h, err));
    return !h->reached || !h->row.active || try_storage(a, m, h, err);
}

/* --- changing rows -----------------------------------------------------------------------------
 */

static bool taken(const struct house *h, struct err *err)
{
    if (err->kind == ERR_DB_UNIQUE)
        return err_set(
            err, ERR_ALREADY_EXISTS, "Warehouse already exists: %.*s", STR_ARG(h->row.name));
    return db_failed(err);
}

/* Nothing was written, and nothing will be. */
static bool refused(const struct err *err)
{
    return err->kind == ERR_DB_UNIQUE || err->kind == ERR_CONFLICT;
}

static bool keep_keys(struct arena *a, const struct manage *m, const struct house *h,
    struct secret_kept *out, struct err *err)
{
    *out = (struct secret_kept){
        .warehouse = h->row.id, .name = profile_secret(h->profile), .text = h->keys};
    return !h->keys.p || secrets_keep(a, m->secrets, out, err) || db_failed(err);
}

bool manage_create(
    struct arena *a, const struct manage *m, const json_t *body, struct str *out, struct err *err)
{
    struct house h = {
        .row = {.id = uuid_row_id(), .version = sql_warehouse_version(), .active = true},
        .profile = json_hold(a, json_object())
    };
    char *uuid = arena_alloc(a, UUID_TEXT + 1);
    struct secret_kept kept;

    uuid_v4(uuid);
    h.row.uuid = str_from(uuid);
    TRY(apply(a, &h, body, err));
    if (profile_has_keys(h.profile) && !h.keys.p)
        return profile_keys_missing(h.profile, err);
    TRY(settle(a, m, &h, err));
    TRY(keep_keys(a, m, &h, &kept, err));
    if (sql_warehouse_insert(m->sql, &h.row, apart, err)) {
        *out = show(a, &h);
        return true;
    }
    if (h.keys.p && refused(err))
        secrets_restore(m->secrets, &kept);
    return taken(&h, err);
}

static bool check_version(const struct house *h, const json_t *body, struct err *err)
{
    const json_t *version = json_object_get(body, "version");

    if (!json_is_integer(version) || json_integer_value(version) == h->row.version)
        return true;
    return err_set(err, ERR_CONFLICT, "/version: expected %lld, the current one, found %lld",
        (long long)h->row.version, (long long)json_integer_value(version));
}

static bool swap(struct arena *a, const struct manage *m, struct house *h, struct err *err)
{
    bool swapped = false;
    struct secret_kept kept;

    TRY(keep_keys(a, m, h, &kept, err));
    bool ok = sql_warehouse_set(m->sql, &h->row, h->moved ? apart : NULL, &swapped, err);
    if (ok && swapped)
        return true;
    if (h->keys.p && (ok || refused(err)))
        secrets_restore(m->secrets, &kept);
    return ok ? err_set(
                    err, ERR_CONFLICT, "Warehouse %.*s was changed meanwhile", STR_ARG(h->row.name))
              : taken(h, err);
}

bool manage_change(struct arena *a, const struct manage *m, struct str named, const json_t *body,
    struct str *out, struct err *err)
{
    struct house h = {0};

    TRY(find_described(a, m, named, &h, err));
    TRY(check_version(&h, body, err));
    TRY(apply(a, &h, body, err));
    TRY(settle(a, m, &h, err));
    TRY(swap(a, m, &h, err));
    *out = show(a, &h);
    return true;
}

bool manage_check(
    struct arena *a, const struct manage *m, struct str named, struct str *out, struct err *err)
{
    struct house h = {0};

    TRY(find(a, m, named, &h, err));
    json_t *doc = json_hold(a, json_object());
    bool ok = (!h.profile || identity_check(a, m->conf, h.row.base, h.profile, err)) &&
              try_storage(a, m, &h, err);
    json_object_set_new(doc, "ok", json_boolean(ok));
    if (!ok) {
        log_write(LOG_WARN, "warehouse", "%s%s", ERR_ALL(err));
        json_object_set_new(doc, "message", json_string(err->msg));
    }
    if (h.warning.n > 0)
        json_object_set_new(doc, "warning", text_json(h.warning));
    err_clear(err);
    *out = dump(a, doc);
    return true;
}

bool manage_delete(struct arena *a, const struct manage *m, struct str named, struct err *err)
{
    struct sql_warehouse_content content;
    struct house h = {0};
    bool deleted;

    TRY(find_described(a, m, named, &h, err));
    if (!sql_warehouse_delete(m->sql, h.row.id, &deleted, &content, err))
        return db_failed(err);
    if (deleted)
        return true;
    return err_set(err, ERR_CONFLICT,
        "Warehouse %.*s is not empty: %lld namespaces, files of %lld dropped tables",
        STR_ARG(h.row.name), (long long)content.namespaces, (long long)content.marks);
}
