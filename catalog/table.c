#include "table.h"

#include "cache.h"
#include "object_priv.h"

bool table_load(struct arena *a, struct catalog *c, const struct ident *id,
    const struct sql_object *row, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, NULL, SQL_TABLE};
    return object__load(&act, id, row, out, err);
}

bool table_create(struct arena *a, struct catalog *c, const struct caller *by, struct str ns,
    const json_t *body, struct loaded *out, struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__create(&act, ns, body, out, err);
}

/* NOLINTNEXTLINE(readability-function-size): a request and who sent it */
bool table_commit(struct arena *a, struct catalog *c, const struct caller *by,
    const struct ident *id, const json_t *body, struct str digest, struct loaded *out,
    struct err *err)
{
    const struct act act = {a, c, by, SQL_TABLE};
    return object__commit(&act, id, body, digest, out, err);
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
        cache_drop(c->cache, was->metadata_location);
    return true;
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
