#include "view.h"

#include "arena.h"
#include "cache.h"
#include "object_priv.h"

bool view_load(struct arena *a, struct catalog *c, const struct ident *id,
    const struct sql_object *row, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, NULL, SQL_VIEW};
    return object__load(&act, id, row, out, err);
}

/* NOLINTNEXTLINE(readability-function-size): a request and who sent it */
bool view_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const struct sql_ns *room, const json_t *body, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_VIEW};
    return object__create(&act, ns, room, body, out, err);
}

/* NOLINTNEXTLINE(readability-function-size): a request and who sent it */
bool view_replace(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, const struct sql_object *row, const json_t *body, struct str digest,
    struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_VIEW};
    return object__commit(&act, id, row, body, digest, out, err);
}

bool view_register(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_VIEW};
    return object__register(&act, ns, body, out, err);
}

/* May the file of a view that was dropped go? */
static bool is_garbage(const struct act *act, struct str location)
{
    const struct metadata *m;
    struct err ignored;
    bool enabled;
    if (!object__metadata(act->a, act->c, SQL_VIEW, location, &m, &ignored))
        return false;
    struct str text = json_text_at(metadata_head(m)->properties, "gc.enabled");
    return !text.p || (str_to_bool(text, &enabled) && enabled);
}

bool view_drop(struct arena *a, struct catalog *c, const struct caller *by, const struct ident *id,
    struct err *err)
{
    const struct act act = {a, c, by, SQL_VIEW};
    struct sql_object *was;
    TRY(object__drop(&act, id, SQL_KEEP_FILES, &was, err));
    if (!was)
        return true;
    if (is_garbage(&act, was->metadata_location))
        object__leave(&act, was->metadata_location);
    cache_drop(&c->cached, was->metadata_location);
    return true;
}

bool view_rename(struct arena *a, struct catalog *c, const struct caller *by, const json_t *body,
    struct err *err)
{
    const struct act act = {a, c, by, SQL_VIEW};
    return object__rename(&act, body, err);
}

/* NOLINTNEXTLINE(readability-function-size): a list and its page */
bool view_list(struct arena *a, struct catalog *c, struct str ns, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err)
{
    const struct act act = {a, c, NULL, SQL_VIEW};
    return object__list(&act, ns, page, names, n, next, err);
}
