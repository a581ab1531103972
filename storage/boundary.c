#include "boundary.h"

#include "arena.h"
#include "buf.h"

#include <string.h>

/* Google takes conditions of 2,048 bytes; names of buckets have 3 to 222. */
enum { CONDITION_MAX = 2048, BOUNDARY_MAX = 8 * 1024, BUCKET_MIN = 3, BUCKET_MAX = 222 };

static bool refuse(struct str key, const char *why, struct err *err)
{
    return err_set(
        err, ERR_STORE_BAD_URI, "No token can be limited to %.*s: %s", STR_ARG(key), why);
}

/* The name goes into a resource as it is. */
static bool check_bucket(struct str bucket, struct err *err)
{
    bool good = bucket.n >= BUCKET_MIN && bucket.n <= BUCKET_MAX;
    for (size_t i = 0; good && i < bucket.n; i++) {
        char c = bucket.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    }
    return good || refuse(bucket, "it is no name of a bucket", err);
}

static bool check_key(struct arena *a, struct str key, struct err *err)
{
    struct str ignored;
    if (key.n == 0)
        return refuse(key, "it is the whole bucket", err);
    if (!boundary_literal(a, key, &ignored))
        return refuse(STR("this folder"), "its name holds a control character or is no UTF-8", err);
    for (struct str rest = key; rest.p;) {
        struct str part = str_cut(&rest, '/');
        if (part.n == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return refuse(key, "a part of its path is empty, '.' or '..'", err);
    }
    return true;
}

bool boundary_literal(struct arena *a, struct str text, struct str *out)
{
    char *p = arena_alloc(a, 2 * text.n + 3), *end = p;
    if (!str_is_utf8(text))
        return false;
    *end++ = '\'';
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c == 0x7f)
            return false;
        if (strchr("'\"\\", c))
            *end++ = '\\';
        *end++ = (char)c;
    }
    *end++ = '\'';
    *end = '\0';
    *out = str_range(p, end);
    return true;
}

/* Buckets with a hierarchy call a folder's own resource "folders"; to a list, its prefix is an
 * attribute of the request. Each ends in a slash, so that names that begin alike stay outside. */
static bool condition(
    struct arena *a, const struct boundary_folder *f, struct str *out, struct err *err)
{
    struct str objects, folders, list;
    struct str at = arena_printf(a, "projects/_/buckets/%.*s", STR_ARG(f->bucket));
    struct str key = arena_printf(a, "%.*s/", STR_ARG(f->key));
    bool ok = boundary_literal(
                  a, arena_printf(a, "%.*s/objects/%.*s", STR_ARG(at), STR_ARG(key)), &objects) &&
              boundary_literal(
                  a, arena_printf(a, "%.*s/folders/%.*s", STR_ARG(at), STR_ARG(key)), &folders) &&
              boundary_literal(a, key, &list);
    if (!ok)
        return refuse(f->key, "it is no text", err);
    *out = arena_printf(a,
        "resource.name.startsWith(%.*s) || resource.name.startsWith(%.*s) || "
        "api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith(%.*s)",
        STR_ARG(objects), STR_ARG(folders), STR_ARG(list));
    return out->n <= CONDITION_MAX ||
           refuse(f->key, "its condition would have more than 2048 bytes", err);
}

bool boundary_for_folder(struct arena *a, const struct boundary_folder *folder,
    enum boundary_access access, struct str *out, struct err *err)
{
    struct str expression;
    TRY(check_bucket(folder->bucket, err));
    TRY(check_key(a, folder->key, err));
    TRY(condition(a, folder, &expression, err));
    AUTO(buf_fini) struct buf b;
    buf_init(&b, BOUNDARY_MAX);
    buf_putf(&b,
        "{\"accessBoundary\":{\"accessBoundaryRules\":[{\"availableResource\":"
        "\"//storage.googleapis.com/projects/_/buckets/%.*s\",\"availablePermissions\":"
        "[\"inRole:roles/storage.%s\"],\"availabilityCondition\":{\"expression\":",
        STR_ARG(folder->bucket), access == BOUNDARY_WRITE ? "objectUser" : "objectViewer");
    buf_json_str(&b, expression);
    buf_puts(&b, "}}]}}");
    *out = buf_take(&b, a);
    return out->p || refuse(folder->key, "its boundary would be too long", err);
}
