#include "ident.h"

#include "arena.h"
#include "json.h"

enum { LEVEL_MAX = 255, PATH_MAX_BYTES = 2048 };

/* U+0000 to 1F, 7F, and 80 to 9F, which terminals obey as well. */
static bool name_has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        unsigned char next = i + 1 < s.n ? (unsigned char)s.p[i + 1] : 0;
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next <= 0x9f))
            return true;
    }
    return false;
}

bool ident_name_check(struct str name, const char *what, struct err *err)
{
    if (name.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "Invalid %s: the name is empty", what);
    if (name.n > LEVEL_MAX)
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid %s: the name has %zu bytes, at most %d are allowed", what, name.n, LEVEL_MAX);
    if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
        return err_set(err, ERR_BAD_REQUEST, "Invalid %s: '%.*s' is reserved", what, STR_ARG(name));
    if (name_has_control(name))
        return err_set(
            err, ERR_BAD_REQUEST, "Invalid %s: the name contains a control character", what);
    if (!str_is_utf8(name))
        return err_set(err, ERR_BAD_REQUEST, "Invalid %s: the name is not valid UTF-8", what);
    return true;
}

bool ident_ns_check(struct str path, struct err *err)
{
    if (path.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "Invalid namespace: it has no levels");
    if (path.n > PATH_MAX_BYTES)
        return err_set(err, ERR_BAD_REQUEST,
            "Invalid namespace: its levels have %zu bytes together, at most %d are allowed", path.n,
            PATH_MAX_BYTES);
    struct str rest = path;
    while (rest.p) {
        struct str level = str_cut(&rest, IDENT_SEPARATOR);
        TRY(ident_name_check(level, "namespace level", err));
    }
    return true;
}

bool ident_ns_from_json(
    struct arena *a, const json_t *levels, const char *at, struct str *out, struct err *err)
{
    size_t n = json_array_size(levels);
    size_t bytes = n ? n - 1 : 0;
    size_t i;
    json_t *level;
    if (!json_is_array(levels))
        return err_set(err, ERR_BAD_REQUEST, "Invalid namespace: it must be a list of levels");
    json_array_foreach(levels, i, level)
    {
        if (!json_is_string(level))
            return err_set(err, ERR_BAD_REQUEST, "Invalid namespace: level %zu is not a string", i);
        struct str s = json_text(level);
        if (!ident_name_check(s, "namespace level", err))
            return err_where(err, "%s/namespace/%zu", at, i);
        bytes += s.n;
    }
    char *p = arena_alloc(a, bytes + 1);
    size_t n_path = 0;
    json_array_foreach(levels, i, level)
    {
        if (i > 0)
            p[n_path++] = IDENT_SEPARATOR;
        memcpy(p + n_path, json_string_value(level), json_string_length(level));
        n_path += json_string_length(level);
    }
    p[n_path] = '\0';
    struct str path = {p, n_path};
    if (!ident_ns_check(path, err))
        return err_where(err, "%s/namespace", at);
    *out = path;
    return true;
}

bool ident_from_json(
    struct arena *a, const json_t *id, const char *at, struct ident *out, struct err *err)
{
    struct ident found;
    TRY(ident_ns_from_json(a, json_object_get(id, "namespace"), at, &found.ns, err));
    const json_t *name = json_object_get(id, "name");
    if (!json_is_string(name))
        return err_set(err, ERR_BAD_REQUEST, "Invalid table name: it must be a string");
    found.name = arena_dup(a, json_text(name));
    if (!ident_name_check(found.name, "table name", err))
        return err_where(err, "%s/name", at);
    *out = found;
    return true;
}

struct str ident_ns_text(struct arena *a, struct str ns)
{
    char *p = arena_cstr(a, ns);
    for (size_t i = 0; i < ns.n; i++)
        if (p[i] == IDENT_SEPARATOR)
            p[i] = '.';
    return (struct str){p, ns.n};
}

struct str ident_text(struct arena *a, const struct ident *id)
{
    struct str ns = ident_ns_text(a, id->ns);
    return arena_printf(a, "%.*s.%.*s", STR_ARG(ns), STR_ARG(id->name));
}
