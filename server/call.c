#include "call.h"

#include <assert.h>

#include "config.h"
#include "digest.h"

struct call *call_new(const struct server *server)
{
    struct call *c = xcalloc(1, sizeof *c);
    c->arena = arena_new();
    c->server = server;
    return c;
}

void call_reset(struct call *c)
{
    struct arena *arena = c->arena;
    const struct server *server = c->server;
    struct worker *worker = c->worker;
    unsigned apis = c->apis;
    catalog_unref(&c->catalog);
    buf_fini(&c->body_buf);
    arena_reset(arena);
    memset(c, 0, sizeof *c);
    c->arena = arena;
    c->server = server;
    c->worker = worker;
    c->apis = apis;
}

void call_free(struct call **c)
{
    if (!*c)
        return;
    catalog_unref(&(*c)->catalog);
    buf_fini(&(*c)->body_buf);
    arena_free(&(*c)->arena);
    xfree(*c);
    *c = NULL;
}

/* Java writes a space in a path as a plus, others mean the plus: whichever exists was found. */
struct str call_arg(const struct call *c, const char *name)
{
    for (unsigned i = 0; i < c->route.n_args; i++)
        if (strcmp(c->route.args[i].name, name) == 0)
            return c->looked_up && c->found.reading == 1 ? c->route.args[i].plus
                                                         : c->route.args[i].value;
    return (struct str){0};
}

struct str call_param(const struct call *c, const char *name)
{
    unsigned i = 0;
    while (i < c->op->n_params && strcmp(c->op->params[i].name, name) != 0)
        i++;
    assert(i < c->op->n_params);
    return c->params[i];
}

bool call_is_head(const struct call *c)
{
    return str_eq(c->method, STR("HEAD"));
}

struct str call_header(const struct call *c, enum header h)
{
    return c->headers[h];
}

bool call_from_allowed_page(const struct call *c)
{
    struct str origin = c->headers[HEADER_ORIGIN];
    if (!origin.p)
        return false;
    for (const char *const *allowed = c->server->conf->cors_origins; *allowed; allowed++)
        if (str_eq(origin, str_from(*allowed)))
            return true;
    return false;
}

struct str call_ns(const struct call *c)
{
    return call_arg(c, "namespace");
}

struct ident call_ident(const struct call *c)
{
    struct str table = call_arg(c, "table");
    return (struct ident){call_ns(c), table.p ? table : call_arg(c, "view")};
}

struct ident call_new_ident(const struct call *c)
{
    return (struct ident){call_ns(c), json_text_at(c->json, "name")};
}

const struct sql_object *call_row(const struct call *c)
{
    return c->looked_up && !c->task.parked ? &c->found.object : NULL;
}

const struct sql_ns *call_room(const struct call *c)
{
    return c->looked_up && c->found.free ? &c->found.ns : NULL;
}

struct caller call_caller(struct call *c)
{
    return (struct caller){
        c->principal, c->id, c->deadline_us, c->idem.key.p ? &c->idem : NULL, &c->left};
}

struct str call_digest(struct call *c)
{
    if (c->idem.digest.p)
        return c->idem.digest;
    const struct str parts[] = {str_from(c->op->name), STR("\n"), c->path, STR("?"), c->query,
        STR("\n"), c->principal, STR("\n"), c->body};
    return digest_sha256_text(c->arena, parts, ARRAY_LEN(parts));
}

struct page call_page(const struct call *c)
{
    struct page page = {.token = call_param(c, "pageToken")};
    struct str size = call_param(c, "pageSize");
    if (size.p && !str_to_i64(size, &page.size))
        page.size = INT64_MAX; /* an absurd one, which means the largest page */
    return page;
}

bool call_need_namespace(struct call *c)
{
    if (c->found.ns_found)
        return true;
    struct str text = ident_ns_text(c->arena, call_ns(c));
    return err_set(&c->err, ERR_NO_SUCH_NAMESPACE, "Namespace does not exist: %.*s", STR_ARG(text));
}

bool call_need_object(struct call *c, enum sql_kind kind)
{
    if (c->found.object.id != 0 && c->found.object.kind == kind)
        return true;
    struct ident id = call_ident(c);
    struct str text = ident_text(c->arena, &id);
    if (kind == SQL_VIEW)
        return err_set(&c->err, ERR_NO_SUCH_VIEW, "View does not exist: %.*s", STR_ARG(text));
    return err_set(&c->err, ERR_NO_SUCH_TABLE, "Table does not exist: %.*s", STR_ARG(text));
}
