#include "ns.h"

#include "arena.h"
#include "catalog_priv.h"
#include "json.h"
#include "metric.h"

enum {
    ROUNDS_MAX = 64,
    PROPERTIES_MAX = 8 << 20, /* bytes of text: they are read whole with each look at a namespace */
};

/* A namespace's properties are small and read rarely; a tree is the plain way to change them. */
static struct str dump(struct arena *a, const json_t *json)
{
    metric_add(METRIC_json_dumps_total, 1);
    char *text = json_dumps(json, JSON_COMPACT);
    return str_from(arena_hold(a, text, xfree));
}

bool catalog__no_such_namespace(struct arena *a, struct str ns, struct err *err)
{
    struct str text = ident_ns_text(a, ns);
    return err_set(err, ERR_NO_SUCH_NAMESPACE, "Namespace does not exist: %.*s", STR_ARG(text));
}

bool ns_from_body(struct arena *a, const json_t *body, struct sql_ns *out, struct err *err)
{
    struct str path;
    TRY(ident_ns_from_json(a, json_object_get(body, "namespace"), "", &path, err));
    const json_t *properties = json_object_get(body, "properties");
    struct str text = json_is_object(properties) ? dump(a, properties) : STR("{}");
    *out = (struct sql_ns){.path = path, .properties = text};
    return true;
}

/* Tables get their places in it, so it has to be one. What is there already is not judged again. */
static bool check_location(struct arena *a, const struct catalog *c, const json_t *properties,
    const char *pointer, struct err *err)
{
    struct str uri = json_text_at(properties, "location");
    if (!uri.p || store_check_new(a, c->store, uri, err))
        return true;
    err_as(err, ERR_INVALID_ARGUMENT);
    return err_where(err, "%s/location", pointer);
}

/* Less than there was is always fine. */
static bool check_size(struct str after, struct str before, struct err *err)
{
    return after.n <= PROPERTIES_MAX || after.n <= before.n ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "The properties of the namespace would have %zu bytes, at most %d are allowed",
               after.n, PROPERTIES_MAX);
}

bool ns_create(struct arena *a, struct catalog *c, const struct caller *by, const json_t *body,
    struct sql_ns *out, struct err *err)
{
    struct sql_ns ns;
    TRY(ns_from_body(a, body, &ns, err));
    TRY(check_size(ns.properties, STR(""), err));
    TRY(check_location(a, c, json_object_get(body, "properties"), "/properties", err));
    struct sql_change change = catalog__change(a, by, (struct str){0}, (struct str){0});
    bool created;
    if (!sql_ns_create(c->sql, c->warehouse.id, ns.path, ns.properties, &change, &created, err))
        return catalog__change_failed(err);
    if (!created) {
        struct str shown = ident_ns_text(a, ns.path);
        return err_set(err, ERR_ALREADY_EXISTS, "Namespace already exists: %.*s", STR_ARG(shown));
    }
    *out = ns;
    return true;
}

bool ns_drop(
    struct arena *a, struct catalog *c, const struct caller *by, struct str ns, struct err *err)
{
    struct sql_change change = catalog__change(a, by, (struct str){0}, (struct str){0});
    struct sql_ns_content in = {0};
    bool dropped;
    if (!sql_ns_drop(c->sql, c->warehouse.id, ns, &change, &dropped, &in, err))
        return catalog__change_failed(err);
    if (dropped)
        return true;
    if (in.tables + in.views + in.namespaces == 0)
        return catalog__no_such_namespace(a, ns, err);
    struct str text = ident_ns_text(a, ns);
    return err_set(err, ERR_NAMESPACE_NOT_EMPTY,
        "Namespace %.*s is not empty. Contains %lld table(s), %lld view(s), %lld namespace(s).",
        STR_ARG(text), (long long)in.tables, (long long)in.views, (long long)in.namespaces);
}

/* Keys that a request both sets and removes, as "[a, b]"; empty when there are none. */
static struct str keys_in_both(struct arena *a, const json_t *removals, const json_t *updates)
{
    struct str list = {0};
    size_t i;
    json_t *key;
    json_array_foreach(removals, i, key)
    {
        if (list.n > sizeof(((struct err *)0)->msg)) /* no message holds more */
            break;
        if (!json_object_get(updates, json_string_value(key)))
            continue;
        list = list.p ? arena_printf(a, "%.*s, %s", STR_ARG(list), json_string_value(key))
                      : arena_dup(a, str_from(json_string_value(key)));
    }
    return list;
}

/* The properties after the change; out tells what happened to each key. */
static json_t *properties_changed(struct arena *a, struct str before, const json_t *removals,
    json_t *updates, struct ns_changes *out)
{
    json_t *after = json_hold(a, json_loadb(before.p, before.n, 0, NULL));
    *out = (struct ns_changes){
        json_hold(a, json_array()), json_hold(a, json_array()), json_hold(a, json_array())};
    size_t i;
    json_t *key;
    json_array_foreach(removals, i, key)
    {
        bool there = json_object_del(after, json_string_value(key)) == 0;
        json_array_append(there ? out->removed : out->missing, key);
    }
    const char *name;
    json_t *value;
    json_object_foreach(updates, name, value)
    {
        json_object_set(after, name, value);
        json_array_append_new(out->updated, json_string(name));
    }
    return after;
}

/* What the answer will tell, for the request's key. */
static void keep_changes(struct arena *a, const struct caller *by, const struct ns_changes *changes)
{
    if (!by->idem)
        return;
    json_t *all = json_hold(a, json_pack("{s:O,s:O,s:O}", "updated", changes->updated, "removed",
                                   changes->removed, "missing", changes->missing));
    by->idem->answer = dump(a, all);
}

bool ns_update(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct ns_changes *out, struct err *err)
{
    const json_t *removals = json_object_get(body, "removals");
    json_t *updates = json_object_get(body, "updates");
    struct str both = keys_in_both(a, removals, updates);
    if (both.p)
        return err_set(err, ERR_UNPROCESSABLE,
            "Invalid namespace update, cannot simultaneously set and remove keys: [%.*s]",
            STR_ARG(both));
    TRY(check_location(a, c, updates, "/updates", err));
    struct sql_change change = catalog__change(a, by, (struct str){0}, (struct str){0});
    /* A try may take many megabytes; what the last one made is told. */
    struct arena *one = arena_within(a);
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        struct sql_ns *row;
        arena_reset(one);
        if (!sql_ns_get(one, c->sql, c->warehouse.id, ns, &row, err))
            return catalog__change_failed(err);
        if (!row)
            return catalog__no_such_namespace(a, ns, err);
        struct str after =
            dump(one, properties_changed(one, row->properties, removals, updates, out));
        bool swapped;
        TRY(check_size(after, row->properties, err));
        keep_changes(one, by, out);
        if (!sql_ns_set_properties(
                c->sql, c->warehouse.id, row->id, row->version, after, &change, &swapped, err))
            return catalog__change_failed(err);
        if (swapped)
            return true;
        /* Somebody else's change came between: both concern keys, so ours goes on top of it. */
    }
    return err_set(
        err, ERR_BUSY, "Too many changes of the namespace's properties at once, try again");
}

/* NOLINTNEXTLINE(readability-function-size): as names_fn */
static bool children(struct arena *a, const struct catalog *c, struct str parent, struct str after,
    size_t limit, struct str **names, size_t *n, bool *found, struct err *err)
{
    return sql_ns_page(a, c->sql, c->warehouse.id, parent, after, limit, names, n, found, err);
}

/* PyIceberg encodes the levels of a parent and its HTTP library encodes them once more. */
static bool second_reading(struct arena *a, struct str parent, struct str *out)
{
    struct err ignored;
    return str_find(parent, '%') < parent.n && str_pct_decode(a, parent, STR_PLUS_LITERAL, out) &&
           !str_eq(*out, parent) && ident_ns_check(*out, &ignored);
}

static bool list_in(struct arena *a, const struct catalog *c, struct str parent,
    const struct page *page, struct names *out, struct err *err)
{
    struct page_list list = {c, parent, "namespaces", children};
    if (parent.n > 0 && !ident_ns_check(parent, err))
        return err_wrap(err, "parent");
    return page__read(a, &list, page, out, err) || catalog_read_failed(err);
}

/* NOLINTNEXTLINE(readability-function-size): a list and its page */
bool ns_list(struct arena *a, struct catalog *c, struct str *parent, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err)
{
    struct names found = {0};
    struct str again;
    bool read = list_in(a, c, *parent, page, &found, err);
    /* As it is written twice a name may be too long; and a token of the second reading is none of
     * the first's. */
    bool other = read ? !found.found : err->kind == ERR_BAD_REQUEST;
    if (other && second_reading(a, *parent, &again)) {
        err_clear(err);
        *parent = again;
        read = list_in(a, c, again, page, &found, err);
    }
    if (!read)
        return false;
    if (!found.found)
        return catalog__no_such_namespace(a, *parent, err);
    *names = found.v;
    *n = found.n;
    *next = found.next;
    return true;
}
