/* Where tables and views lie: default locations, and what a client may ask for. */
#include <jansson.h>

#include "arena.h"
#include "catalog_priv.h"
#include "json.h"

enum { PIECE_MAX = 40, DEFAULT_MAX = 200 };

/* A location may be spelled with slashes at its end; file names are made by appending to it. */
static struct str without_slashes(struct str s)
{
    while (s.n > 0 && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}

static bool is_inside(const struct catalog *c, const struct location *at)
{
    for (size_t i = 0; i < c->n_roots; i++)
        if (location_within(at, &c->roots[i]))
            return true;
    return false;
}

bool place__check(struct arena *a, const struct catalog *c, struct str asked, struct str *location,
    struct sql_place *place, struct err *err)
{
    struct str clean = without_slashes(asked);
    struct location loc;
    if (!store_check_new(a, c->store, clean, err) || !location_identity(a, clean, &loc, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    for (size_t i = 0; i < c->n_roots; i++)
        if (location_within(&c->roots[i], &loc))
            return err_set(err, ERR_INVALID_ARGUMENT,
                "Invalid location: %.*s is or contains the base of a warehouse, a table or view "
                "must lie beneath it",
                STR_ARG(clean));
    if (is_inside(c, &loc)) {
        *location = arena_dup(a, clean);
        *place = (struct sql_place){loc.authority, loc.path};
        return true;
    }
    return err_set(err, ERR_INVALID_ARGUMENT, "Invalid location: %.*s lies outside the warehouse",
        STR_ARG(clean));
}

/* One name as a piece of a path: harmless characters only, cut to a bearable length. */
static struct str piece(struct arena *a, struct str name)
{
    size_t n = name.n < PIECE_MAX ? name.n : PIECE_MAX;
    char *p = arena_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++) {
        char c = name.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '-';
        p[i] = plain ? c : '_';
    }
    p[n] = '\0';
    return (struct str){p, n};
}

/* The namespace's own location property, when it is one that may be used. */
static struct str ns_location(struct arena *a, const struct catalog *c, const struct sql_ns *ns)
{
    json_t *properties = json_loadb(ns->properties.p, ns->properties.n, 0, NULL);
    const json_t *value = json_object_get(properties, "location");
    struct str found = {0};
    struct err ignored;
    if (json_is_string(value)) {
        struct str asked = without_slashes(arena_dup(a, json_text(value)));
        if (store_check_new(a, c->store, asked, &ignored))
            found = asked;
    }
    json_decref(properties);
    return found;
}

/* *base: without the levels. */
static struct str folder_of(
    struct arena *a, const struct catalog *c, const struct sql_ns *ns, struct str *base)
{
    *base = ns_location(a, c, ns);
    if (base->p)
        return *base;
    struct str folder = *base = store_base(c->store);
    for (struct str rest = ns->path; rest.p;) {
        struct str level = piece(a, str_cut(&rest, IDENT_SEPARATOR));
        folder = arena_printf(a, "%.*s/%.*s", STR_ARG(folder), STR_ARG(level));
    }
    return folder;
}

struct str place__folder(struct arena *a, const struct catalog *c, const struct sql_ns *ns)
{
    struct str base;
    return folder_of(a, c, ns, &base);
}

struct str place__default(struct arena *a, const struct catalog *c, const struct sql_ns *ns,
    struct str name, struct str uuid)
{
    struct str base;
    struct str folder = folder_of(a, c, ns, &base);
    struct str table = piece(a, name);
    struct str full =
        arena_printf(a, "%.*s/%.*s-%.*s", STR_ARG(folder), STR_ARG(table), STR_ARG(uuid));
    if (full.n <= DEFAULT_MAX + base.n)
        return full;
    return arena_printf(a, "%.*s/%.*s", STR_ARG(base), STR_ARG(uuid));
}
