/* The places that clients may find under one name. A catalog's own spelling is strict; what files
 * are named in metadata by is up to their writers, and each client reads it its own way: Hadoop's
 * paths fold "//", "." and "..", Java's URIs end at '?' and '#', some clients decode, PyIceberg
 * takes a name without scheme for a path of this machine. */
#include "store_priv.h"

#include "arena.h"
#include "base.h"

enum { AUTHORITY_MAX = 300 };

enum kind { KIND_FILE, KIND_BUCKET, KIND_ACCOUNT };

static const struct {
    struct str name;
    enum kind kind;
    const char *canonical;
} schemes[] = {
    {STR_INIT("file"),  KIND_FILE,    "file:"   },
    {STR_INIT("s3"),    KIND_BUCKET,  "s3://"   },
    {STR_INIT("s3a"),   KIND_BUCKET,  "s3://"   },
    {STR_INIT("s3n"),   KIND_BUCKET,  "s3://"   },
    {STR_INIT("oss"),   KIND_BUCKET,  "s3://"   }, /* PyIceberg and fsspec: by the same settings */
    {STR_INIT("gs"),    KIND_BUCKET,  "gs://"   },
    {STR_INIT("gcs"),   KIND_BUCKET,  "gs://"   },
    {STR_INIT("abfss"), KIND_ACCOUNT, "abfss://"},
    {STR_INIT("abfs"),  KIND_ACCOUNT, "abfss://"},
    {STR_INIT("wasbs"), KIND_ACCOUNT, "abfss://"},
    {STR_INIT("wasb"),  KIND_ACCOUNT, "abfss://"},
};

struct spelling {
    struct arena *a;
    struct location *out;
    size_t n;
};

/* -- Paths --------------------------------------------------------------------------------------
 */

/* Without empty parts, "." and "..". */
static struct str folded(struct arena *a, struct str path)
{
    char *text = arena_alloc(a, path.n + 2);
    size_t n = 0;
    for (struct str rest = path; rest.p;) {
        struct str part = str_cut(&rest, '/');
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            while (n > 0 && text[--n] != '/')
                ;
            continue;
        }
        text[n++] = '/';
        memcpy(text + n, part.p, part.n);
        n += part.n;
    }
    if (n == 0)
        text[n++] = '/';
    return (struct str){text, n};
}

/* As often as that goes: what was encoded twice, and what it is decoded to once, are one. */
static struct str decoded(struct arena *a, struct str s)
{
    char *text = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        text[n++] = s.p[i];
        while (n >= 3 && text[n - 3] == '%' && str_hex(text[n - 2]) >= 0 &&
               str_hex(text[n - 1]) >= 0) {
            text[n - 3] = (char)(str_hex(text[n - 2]) << 4 | str_hex(text[n - 1]));
            n -= 2;
        }
    }
    return (struct str){text, n};
}

/* Text that a database takes, whatever the bytes are. */
static struct str ascii(struct arena *a, struct str s)
{
    static const char digits[] = "0123456789ABCDEF";
    char *text = arena_alloc(a, 3 * s.n + 1), *end = text;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x20 && c < 0x7f) {
            *end++ = (char)c;
            continue;
        }
        *end++ = '%';
        *end++ = digits[c >> 4];
        *end++ = digits[c & 15];
    }
    return str_range(text, end);
}

static void add(struct spelling *s, struct str authority, struct str path)
{
    struct location at = {authority, ascii(s->a, decoded(s->a, path))};
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->out[i].authority, at.authority) && str_eq(s->out[i].path, at.path))
            return;
    s->out[s->n++] = at;
}

static void add_path(struct spelling *s, struct str authority, struct str path)
{
    bool on_disk = str_eq(authority, STR("file:"));
    struct str plain = folded(s->a, path);
    struct str other = folded(s->a, decoded(s->a, path));
    add(s, authority, plain);
    add(s, authority, other);
    if (!on_disk)
        return;
    add(s, authority, file__real(s->a, plain));
    add(s, authority, file__real(s->a, other));
    if (memmem(path.p, path.n, "/..", 3)) /* the kernel goes up from where a link leads to */
        add(s, authority, file__real(s->a, path));
}

/* -- Authorities --------------------------------------------------------------------------------
 */

static bool is_authority(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= 0x20 || s.p[i] >= 0x7f)
            return false;
    return s.n > 0 && s.n <= AUTHORITY_MAX;
}

static struct str account_of(struct str host)
{
    return str_sub(host, 0, str_find(host, '.'));
}

/* container@account.…; account.…/container; or container, in the account that the reader has. An
 * account is told by its name: it has several hosts. */
static void add_in_account(
    struct spelling *s, struct str host, struct str path, const struct location *own)
{
    size_t at = str_find(host, '@');
    struct str container = str_sub(host, 0, at), account = {0};
    if (at < host.n) {
        account = account_of(str_sub(host, at + 1, host.n - at - 1));
    } else if (str_find(host, '.') < host.n) {
        account = account_of(host);
        path = str_sub(path, 1, path.n ? path.n - 1 : 0);
        size_t n = str_find(path, '/');
        container = str_sub(path, 0, n);
        path = str_sub(path, n, path.n - n);
    } else if (own && str_starts(own->authority, STR("abfss://"))) {
        account = account_of(str_behind(own->authority, '@'));
    }
    if (is_authority(container) && is_authority(account))
        add_path(s,
            str_lower(s->a,
                arena_printf(s->a, "abfss://%.*s@%.*s", STR_ARG(container), STR_ARG(account))),
            path);
}

static void add_with_scheme(
    struct spelling *s, size_t scheme, struct str rest, const struct location *own)
{
    struct str host = STR("");
    if (str_starts(rest, STR("//"))) {
        struct str all = str_sub(rest, 2, rest.n - 2);
        host = str_sub(all, 0, str_find(all, '/'));
        rest = str_sub(all, host.n, all.n - host.n);
    } else if (schemes[scheme].kind != KIND_FILE || !str_starts(rest, STR("/"))) {
        return;
    }
    switch (schemes[scheme].kind) {
    case KIND_FILE:
        add_path(s, STR("file:"), rest);
        return;
    case KIND_BUCKET:
        host = str_behind(host, '@');
        if (is_authority(host))
            add_path(s,
                str_lower(
                    s->a, arena_printf(s->a, "%s%.*s", schemes[scheme].canonical, STR_ARG(host))),
                rest);
        return;
    case KIND_ACCOUNT:
        add_in_account(s, host, rest, own);
        return;
    }
}

size_t location_spelled(struct arena *a, struct str uri, const struct location *own,
    struct location out[static SPELLED_MAX])
{
    struct spelling s = {.a = a, .out = out};
    uri = str_sub(uri, 0, str_find(str_sub(uri, 0, str_find(uri, '?')), '#'));
    if (str_starts(uri, STR("/"))) {
        add_path(&s, STR("file:"), uri);
        if (own && !str_eq(own->authority, STR("file:")))
            add_path(&s, own->authority, uri); /* Hadoop's: of the file system that it works in */
        return s.n;
    }
    size_t colon = str_find(uri, ':');
    for (size_t i = 0; colon < uri.n && i < ARRAY_LEN(schemes); i++)
        if (str_eq_nocase(str_sub(uri, 0, colon), schemes[i].name))
            add_with_scheme(&s, i, str_sub(uri, colon + 1, uri.n - colon - 1), own);
    return s.n;
}
