/* Taking a client's URI apart, on the raw bytes: cut first, then decoded once, never again. */
#include "arena.h"
#include "base.h"
#include "sign_priv.h"
#include "sigv4.h"

#include <string.h>

enum { ROUNDS = 4 }; /* of decoding too often */

static bool bad(struct err *err, const char *why)
{
    return err_set(err, ERR_STORE_BAD_URI, "The URI to be signed is not understood: %s", why);
}

static bool denied(struct err *err, const char *why)
{
    return err_set(err, ERR_STORE_DENIED, "The URI to be signed is refused: %s", why);
}

/* --- keys --------------------------------------------------------------------------------------
 */

static bool is_dots(struct str part)
{
    return str_eq(part, STR(".")) || str_eq(part, STR(".."));
}

/* What somebody reads who decodes the text although it is none to be decoded. */
static struct str decode_once_more(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? str_hex(s.p[i + 1]) : -1;
        int low = high >= 0 ? str_hex(s.p[i + 2]) : -1;
        p[n++] = low >= 0 ? (char)(high * 16 + low) : s.p[i];
        i += low >= 0 ? 2 : 0;
    }
    return (struct str){p, n};
}

static bool holds_dots(struct str path)
{
    for (struct str rest = path; rest.p;)
        if (is_dots(str_cut(&rest, '/')))
            return true;
    return false;
}

/* Names like "p=a%2Fb" are what Iceberg makes of a partition's value, and are taken. */
static bool climbs_when_decoded_again(struct arena *a, struct str path)
{
    for (int i = 0; i < ROUNDS && str_find(path, '%') < path.n; i++) {
        path = decode_once_more(a, path);
        if (holds_dots(path) || memchr(path.p, '\0', path.n) || str_find(path, '\\') < path.n)
            return true;
    }
    return false;
}

static bool is_clean(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f || s.p[i] == '\\')
            return false;
    return str_is_utf8(s);
}

bool sign__path(struct arena *a, struct str path, enum sign_path what, struct err *err)
{
    if (path.n == 0 || path.n > SIGN_KEY_BYTES)
        return bad(err, "a key has 1 to 1,024 bytes");
    if (!is_clean(path))
        return bad(err, "a key that is no UTF-8, or with a control character or a backslash");
    for (struct str rest = path; rest.p;) {
        struct str part = str_cut(&rest, '/');
        if (is_dots(part) || (part.n == 0 && (rest.p || what == SIGN_PATH_WHOLE)))
            return denied(err, "a part of the path is empty, \".\" or \"..\"");
    }
    return !climbs_when_decoded_again(a, path) ||
           denied(err, "a part of the path would be \"..\" if it were decoded twice");
}

bool sign__beneath(const struct sign_folder *f, struct str key)
{
    return str_starts(key, f->key) && key.n > f->key.n + 1 && key.p[f->key.n] == '/';
}

/* --- the URI -----------------------------------------------------------------------------------
 */

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f)
            return false;
    return true;
}

static bool cut_scheme(const struct sign_folder *f, struct str *rest, struct err *err)
{
    struct str http = STR("http://"), https = STR("https://");
    struct str want = f->scheme == ENDPOINT_HTTPS ? https : http;
    if (!str_starts(*rest, http) && !str_starts(*rest, https))
        return bad(err, "expected http://… or https://…");
    if (!str_starts(*rest, want))
        return denied(err, "it is not the scheme of the warehouse's store");
    *rest = str_sub(*rest, want.n, rest->n);
    return true;
}

/* Which of the store's two hosts it is. */
static bool read_host(
    struct arena *a, const struct sign_folder *f, struct str host, unsigned *form, struct err *err)
{
    struct str own = f->scheme == ENDPOINT_HTTPS ? STR(":443") : STR(":80");
    struct str with_bucket = arena_printf(a, "%.*s.%.*s", STR_ARG(f->bucket), STR_ARG(f->host));
    if (str_find(host, '@') < host.n)
        return bad(err, "a user name or password");
    if (str_ends(host, own))
        host.n -= own.n;
    *form = 0;
    if (str_eq_nocase(host, f->host))
        *form = f->forms & SIGN_IN_PATH;
    else if (str_eq_nocase(host, with_bucket))
        *form = f->forms & SIGN_IN_HOST;
    return *form ||
           err_set(err, ERR_STORE_DENIED,
               "The URI to be signed is refused: its host is not that of the warehouse's store, "
               "expected %.*s",
               STR_ARG(f->forms & SIGN_IN_PATH ? f->host : with_bucket));
}

static bool read_key(struct arena *a, struct str raw, struct sign_uri *out, struct err *err)
{
    char *p = arena_alloc(a, raw.n + 1);
    size_t n = 0;
    for (struct str rest = raw; rest.p;) {
        struct str part = str_cut(&rest, '/'), plain;
        if (!str_pct_decode(a, part, STR_PLUS_LITERAL, &plain))
            return bad(err, "bad percent-encoding or UTF-8 in the path");
        if (str_find(plain, '/') < plain.n)
            return denied(err, "an encoded slash in the path");
        memcpy(p + n, plain.p, plain.n);
        n += plain.n;
        if (rest.p)
            p[n++] = '/';
    }
    out->key = (struct str){p, n};
    return sign__path(a, out->key, SIGN_PATH_WHOLE, err);
}

/* "/bucket/key" or "/key", and what names the bucket alone. */
static bool read_path(struct arena *a, const struct sign_folder *f, struct str path, unsigned form,
    struct sign_uri *out, struct err *err)
{
    struct str rest = path.n > 0 ? str_sub(path, 1, path.n) : STR("");
    struct str before = STR("/");
    out->key = (struct str){NULL, 0};
    if (form == SIGN_IN_PATH) {
        if (!str_eq(str_cut(&rest, '/'), f->bucket))
            return denied(err, "it is another bucket than the table's");
        before = arena_printf(a, "/%.*s%s", STR_ARG(f->bucket), rest.p ? "/" : "");
    }
    if (rest.n == 0) {
        out->path = before;
        return true;
    }
    TRY(read_key(a, rest, out, err));
    out->path =
        arena_printf(a, "%.*s%.*s", STR_ARG(before), STR_ARG(sigv4_encode_path(a, out->key)));
    return true;
}

bool sign__uri(struct arena *a, const struct sign_folder *f, struct str uri, struct sign_uri *out,
    struct err *err)
{
    struct str rest = uri;
    unsigned form = 0;
    *out = (struct sign_uri){0};
    if (uri.n == 0 || uri.n > SIGN_URI_MAX)
        return bad(err, "it has no bytes, or more than 8,192");
    if (!is_printable(uri) || str_find(uri, '#') < uri.n || str_find(uri, '\\') < uri.n)
        return bad(err, "a character that must be encoded, or a fragment");
    TRY(cut_scheme(f, &rest, err));
    struct str query = rest;
    rest = str_cut(&query, '?');
    out->query = query;
    size_t slash = str_find(rest, '/');
    out->host = str_sub(rest, 0, slash);
    TRY(read_host(a, f, out->host, &form, err));
    struct str own = f->scheme == ENDPOINT_HTTPS ? STR(":443") : STR(":80");
    if (str_ends(out->host, own))
        out->host.n -= own.n;
    return read_path(a, f, str_sub(rest, slash, rest.n), form, out, err);
}
