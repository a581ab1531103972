#include "store_priv.h"

#include "arena.h"
#include "base.h"

/* The schemes: how they are written, what stands behind the colon, and the authority under which
 * locations of different spelling are compared. */
enum authority { AUTHORITY_NONE, AUTHORITY_BUCKET, AUTHORITY_ACCOUNT };

static const struct scheme {
    const char *name;
    enum authority authority;
    const char *canonical;
} schemes[] = {
    {"file",  AUTHORITY_NONE,    "file:"   },
    {"s3",    AUTHORITY_BUCKET,  "s3://"   },
    {"s3a",   AUTHORITY_BUCKET,  "s3://"   }, /* Hadoop's word for the same objects, */
    {"s3n",   AUTHORITY_BUCKET,  "s3://"   }, /* and the one before that, still in old metadata */
    {"gs",    AUTHORITY_BUCKET,  "gs://"   },
    {"gcs",   AUTHORITY_BUCKET,  "gs://"   }, /* PyIceberg's second word */
    {"abfss", AUTHORITY_ACCOUNT, "abfss://"},
    {"abfs",  AUTHORITY_ACCOUNT, "abfss://"},
    {"wasbs", AUTHORITY_ACCOUNT, "abfss://"}, /* the older driver's */
    {"wasb",  AUTHORITY_ACCOUNT, "abfss://"},
#ifdef FIRN_BENCH
    {"null",  AUTHORITY_NONE,    "null:"   },
#endif
};

enum { BUCKET_MAX = 255, CONTAINER_MIN = 3, CONTAINER_MAX = 63 };

static const struct scheme *scheme_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_eq(name, str_from(schemes[i].name)))
            return &schemes[i];
    return NULL;
}

/* Characters that one client cuts at, another decodes and a third hides (Java cuts a key at '?' and
 * '#'): two clients would speak of two objects. */
static const char *bad_byte(unsigned char c)
{
    if (c < 0x20 || c == 0x7f)
        return "a control character";
    if (c == '?' || c == '#')
        return "'?' or '#'";
    if (c == '\\')
        return "a backslash";
    return NULL;
}

/* What nobody sees and what changes the direction of writing: control characters and those of
 * Unicode's category "format" that a path could hold unnoticed, and lines' ends. */
static const struct {
    uint32_t from, to;
} invisible[] = {
    {0x80,    0x9f   },
    {0xad,    0xad   }, /* soft hyphen */
    {0x61c,   0x61c  }, /* Arabic letter mark */
    {0x180e,  0x180e }, /* Mongolian vowel separator */
    {0x200b,  0x200f },
    {0x2028,  0x202e },
    {0x2060,  0x206f },
    {0xfeff,  0xfeff },
    {0xfff9,  0xfffb },
    {0xe0000, 0xe007f}, /* tags */
};

/* The character that begins at p, in text that is UTF-8. */
static uint32_t character(const unsigned char *p)
{
    if (*p < 0xe0)
        return (uint32_t)(*p & 0x1f) << 6 | (p[1] & 0x3f);
    if (*p < 0xf0)
        return (uint32_t)(*p & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    return (uint32_t)(*p & 7) << 18 | (uint32_t)(p[1] & 0x3f) << 12 | (uint32_t)(p[2] & 0x3f) << 6 |
           (p[3] & 0x3f);
}

static bool is_invisible(const unsigned char *p)
{
    if (*p < 0xc0) /* ASCII, or within a character */
        return false;
    uint32_t c = character(p);
    for (size_t i = 0; i < ARRAY_LEN(invisible); i++)
        if (c >= invisible[i].from && c <= invisible[i].to)
            return true;
    return false;
}

static bool check_characters(struct str uri, struct err *err)
{
    if (!str_is_utf8(uri))
        return err_set(err, ERR_STORE_BAD_URI, "Invalid location: not UTF-8");
    for (size_t i = 0; i < uri.n; i++) {
        const unsigned char *p = (const unsigned char *)uri.p + i;
        const char *what = bad_byte(*p);
        if (!what && is_invisible(p))
            what = "an invisible character";
        if (what)
            return err_set(err, ERR_STORE_BAD_URI, "Invalid location: %s at byte %zu", what, i);
    }
    return true;
}

static bool is_bucket(struct str b)
{
    if (b.n == 0 || b.n > BUCKET_MAX)
        return false;
    for (size_t i = 0; i < b.n; i++) {
        char c = b.p[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool inner = c == '-' || c == '.' || c == '_';
        if (!alnum && !(inner && i > 0 && i + 1 < b.n))
            return false;
    }
    return true;
}

static bool is_container(struct str c)
{
    for (size_t i = 0; i < c.n; i++)
        if (!((c.p[i] >= 'a' && c.p[i] <= 'z') || (c.p[i] >= '0' && c.p[i] <= '9') ||
                (c.p[i] == '-' && i > 0 && i + 1 < c.n)))
            return false;
    return c.n >= CONTAINER_MIN && c.n <= CONTAINER_MAX;
}

/* Labels of letters, digits and hyphens, at least three, of which one says which interface of the
 * account it is. A dot at the end would be another name of the same host. */
static bool is_account_host(struct str host)
{
    bool service = false;
    size_t labels = 0;
    for (struct str rest = host; rest.p; labels++) {
        struct str label = str_cut(&rest, '.');
        if (label.n == 0)
            return false;
        for (size_t i = 0; i < label.n; i++)
            if (!((label.p[i] >= 'a' && label.p[i] <= 'z') ||
                    (label.p[i] >= 'A' && label.p[i] <= 'Z') ||
                    (label.p[i] >= '0' && label.p[i] <= '9') || label.p[i] == '-'))
                return false;
        service =
            service ||
            (labels > 0 && (str_eq_nocase(label, STR("dfs")) || str_eq_nocase(label, STR("blob"))));
    }
    return service && labels >= 3;
}

static bool check_account(const struct scheme *s, struct str authority, struct err *err)
{
    struct str host = authority;
    struct str container = str_cut(&host, '@');
    if (is_container(container) && host.p && is_account_host(host))
        return true;
    /* Not echoed: what stands before the '@' may be a password. */
    return err_set(err, ERR_STORE_BAD_URI,
        "Invalid location: expected %s://<container>@<account>.dfs.core.windows.net/<path> "
        "with lower-case letters, digits and '-' in the container",
        s->name);
}

/* Hosts have no case, and an account's two interfaces show the same objects: lower case, ".dfs.".
 * Of another kind of authority: as it is. */
static char *write_authority(const struct scheme *s, struct str host, char *end)
{
    if (s->authority != AUTHORITY_ACCOUNT)
        return mempcpy(end, host.p, host.n);
    for (struct str rest = host; rest.p;) {
        struct str label = str_cut(&rest, '.');
        if (label.p != host.p && str_eq_nocase(label, STR("blob")))
            label = STR("dfs");
        for (size_t i = 0; i < label.n; i++) {
            char c = label.p[i];
            *end++ = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        if (rest.p)
            *end++ = '.';
    }
    return end;
}

/* Cuts what stands between "//" and the next '/' off *rest. */
static struct str cut_authority(struct str *rest)
{
    struct str all = str_sub(*rest, 2, rest->n - 2);
    size_t end = str_find(all, '/');
    *rest = str_sub(all, end, all.n - end);
    return str_sub(all, 0, end);
}

static bool check_authority(
    const struct scheme *s, struct str uri, struct str *rest, struct str *host, struct err *err)
{
    bool slashes = str_starts(*rest, STR("//"));
    *host = slashes ? cut_authority(rest) : STR("");
    if (s->authority == AUTHORITY_ACCOUNT)
        return check_account(s, *host, err);
    /* Not echoed: what stands before an '@' may be a password. */
    if (str_find(*host, '@') < host->n)
        return err_set(err, ERR_STORE_BAD_URI,
            "Invalid location: a user name or password in front of the %s",
            s->authority == AUTHORITY_BUCKET ? "bucket" : "path");
    if (s->authority == AUTHORITY_BUCKET) {
        if (slashes && is_bucket(*host))
            return true;
        return err_set(err, ERR_STORE_BAD_URI,
            "Invalid location: %.*s: expected %s://<bucket>/<path> with letters, digits, '.', '-' "
            "and '_' in the bucket",
            STR_ARG(uri), s->name);
    }
    if (host->n > 0 && !str_eq(*host, STR("localhost")))
        return err_set(err, ERR_STORE_BAD_URI,
            "Invalid location: %.*s: a file: location names no host, expected file:///<path>",
            STR_ARG(uri));
    if (!slashes && !str_starts(*rest, STR("/")))
        return err_set(err, ERR_STORE_BAD_URI,
            "Invalid location: %.*s: the path must be absolute, expected file:///<path>",
            STR_ARG(uri));
    *host = STR("");
    return true;
}

static const char *bad_segment(const struct scheme *s, struct str seg)
{
    if (str_eq(seg, STR(".")) || str_eq(seg, STR("..")))
        return "a path must not hold \".\" or \"..\"";
    /* In a file system a//b is a/b; in a bucket it is another object. */
    if (seg.n == 0 && s->authority != AUTHORITY_NONE)
        return "a path must not hold empty parts (\"//\")";
    return NULL;
}

/* Writes the path in its one form behind *end. */
static bool write_path(
    const struct scheme *s, struct str uri, struct str rest, char **end, struct err *err)
{
    while (str_ends(rest, STR("/")))
        rest.n--;
    if (str_ends(rest, STR(" ")))
        return err_set(err, ERR_STORE_BAD_URI, "Invalid location: it ends in a blank");
    if (rest.n > 0 && rest.p[0] == '/')
        rest = str_sub(rest, 1, rest.n - 1);
    char *start = *end;
    while (rest.p && rest.n > 0) {
        struct str seg = str_cut(&rest, '/');
        const char *bad = bad_segment(s, seg);
        if (bad)
            return err_set(err, ERR_STORE_BAD_URI, "Invalid location: %.*s: %s", STR_ARG(uri), bad);
        if (seg.n == 0)
            continue;
        *(*end)++ = '/';
        memcpy(*end, seg.p, seg.n);
        *end += seg.n;
    }
    if (*end == start)
        *(*end)++ = '/';
    **end = '\0';
    return true;
}

bool location__split(
    struct str uri, char text[static URI_TEXT], struct location *out, struct err *err)
{
    if (uri.n == 0)
        return err_set(err, ERR_STORE_BAD_URI, "Invalid location: it is empty");
    if (uri.n > URI_MAX)
        return err_set(err, ERR_STORE_BAD_URI,
            "Invalid location: %zu bytes, more than the %d that a location may have", uri.n,
            URI_MAX);
    TRY(check_characters(uri, err));
    size_t colon = str_find(uri, ':');
    const struct scheme *s = colon < uri.n ? scheme_find(str_sub(uri, 0, colon)) : NULL;
    if (!s)
        return err_set(err, ERR_STORE_BAD_URI,
            "Invalid location: %.*s: expected s3://<bucket>/<path>, gs://<bucket>/<path>, "
            "abfss://<container>@<account>.dfs.core.windows.net/<path> or file:///<path>",
            STR_ARG(uri));
    struct str rest = str_sub(uri, colon + 1, uri.n - colon - 1);
    struct str host = STR("");
    TRY(check_authority(s, uri, &rest, &host, err));
    if (memmem(rest.p, rest.n, "://", 3))
        return err_set(
            err, ERR_STORE_BAD_URI, "Invalid location: %.*s: \"://\" twice", STR_ARG(uri));
    char *end = stpcpy(text, s->canonical);
    end = write_authority(s, host, end);
    out->authority = str_range(text, end);
    *end++ = '\0';
    char *path = end;
    TRY(write_path(s, uri, rest, &end, err));
    out->path = str_range(path, end);
    return true;
}

bool location_parse(struct arena *a, struct str uri, struct location *out, struct err *err)
{
    char text[URI_TEXT];
    struct location at = {0};
    TRY(location__split(uri, text, &at, err));
    *out = (struct location){arena_dup(a, at.authority), arena_dup(a, at.path)};
    return true;
}

bool location_within(const struct location *inner, const struct location *outer)
{
    if (!str_eq(inner->authority, outer->authority))
        return false;
    if (outer->path.n == 1)
        return true;
    return str_starts(inner->path, outer->path) &&
           (inner->path.n == outer->path.n || inner->path.p[outer->path.n] == '/');
}

bool location_identity(struct arena *a, struct str uri, struct location *out, struct err *err)
{
    TRY(location_parse(a, uri, out, err));
    if (str_eq(out->authority, STR("file:")))
        out->path = file__real(a, out->path);
    else /* host names have no other case, and some stores take a bucket for a part of one */
        out->authority = str_lower(a, out->authority);
    return true;
}

bool store_is_file(struct str uri)
{
    return str_starts(uri, STR("file:"));
}

bool store_is_region(struct str region)
{
    bool good = region.n > 0 && region.n <= REGION_MAX;
    for (size_t i = 0; good && i < region.n; i++) {
        char c = region.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_';
    }
    return good;
}
