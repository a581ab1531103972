#include "azure_sign.h"

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "digest.h"
#include "secret.h"

#include <stdlib.h>
#include <time.h>

/* Later versions sign further fields of a SAS. */
#define SAS_VERSION "2020-12-06"

enum { HEADERS_MAX = 16, QUERY_MAX = 16, SAS_ROOM = 2048 };

static int by_name(const void *x, const void *y)
{
    const struct fetch_header *l = x, *r = y;
    return str_cmp(l->name, r->name);
}

/* Base64 with its usual alphabet and padding. */
static bool decode_key(struct arena *a, struct str key, struct str *out, struct err *err)
{
    char *p = arena_alloc(a, key.n + 1);
    size_t n = 0;
    for (; n < key.n && key.p[n] != '='; n++)
        p[n] = key.p[n] == '+' ? '-' : key.p[n] == '/' ? '_' : key.p[n];
    secret_wipe_with(a, p, n);
    if (n > 0 && b64url_decode(a, (struct str){p, n}, out))
        return true;
    return err_set(err, ERR_INTERNAL, "the key is no base64, as which Azure shows its keys");
}

static bool sign(struct arena *a, struct str key, struct str text, struct str *out, struct err *err)
{
    uint8_t sum[DIGEST_SHA256];
    struct str bytes = STR("");
    TRY(decode_key(a, key, &bytes, err));
    digest_hmac(bytes, text, sum);
    secret_wipe(bytes.p, bytes.n);
    *out = b64_encode(a, (struct str){(const char *)sum, sizeof(sum)});
    return true;
}

/* --- Shared Key --------------------------------------------------------------------------------
 */

static struct str header(const struct azure_request *rq, const char *name)
{
    for (size_t i = 0; i < rq->n_headers; i++)
        if (str_eq(rq->headers[i].name, str_from(name)))
            return rq->headers[i].value;
    return STR("");
}

/* Every "x-ms-" header as "name:value" and a line end, sorted by name. */
static void put_headers(struct buf *b, const struct azure_request *rq)
{
    struct fetch_header sorted[HEADERS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < rq->n_headers && n < HEADERS_MAX; i++)
        if (str_starts(rq->headers[i].name, STR("x-ms-")))
            sorted[n++] = rq->headers[i];
    qsort(sorted, n, sizeof(*sorted), by_name);
    for (size_t i = 0; i < n; i++) {
        buf_str(b, sorted[i].name);
        buf_putc(b, ':');
        buf_str(b, str_trim(sorted[i].value));
        buf_putc(b, '\n');
    }
}

/* The account, the path, and every parameter of the query, decoded, on a line of its own. */
static void put_resource(struct buf *b, struct arena *a, const struct azure_request *rq)
{
    struct fetch_header sorted[QUERY_MAX];
    size_t n = 0;
    buf_putc(b, '/');
    buf_str(b, rq->account);
    buf_str(b, rq->path);
    for (struct str rest = rq->query; rest.p && rest.n > 0 && n < QUERY_MAX;) {
        struct str value = str_cut(&rest, '&');
        struct str name = str_cut(&value, '=');
        struct str plain = STR("");
        if (!str_pct_decode(a, value, STR_PLUS_LITERAL, &plain))
            plain = value; /* not ours: we encode */
        sorted[n++] = (struct fetch_header){name, plain};
    }
    qsort(sorted, n, sizeof(*sorted), by_name);
    for (size_t i = 0; i < n; i++) {
        buf_putc(b, '\n');
        buf_str(b, sorted[i].name);
        buf_putc(b, ':');
        buf_str(b, sorted[i].value);
    }
}

struct str azure_text(struct arena *a, const struct azure_request *rq)
{
    static const char *const standard[] = {"content-md5", "content-type", "date",
        "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"};
    struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_str(&b, rq->method);
    buf_puts(&b, "\n\n\n"); /* no content encoding, no content language */
    if (rq->length > 0)
        buf_putf(&b, "%zu", rq->length);
    buf_putc(&b, '\n');
    for (size_t i = 0; i < ARRAY_LEN(standard); i++) {
        buf_str(&b, header(rq, standard[i]));
        buf_putc(&b, '\n');
    }
    put_headers(&b, rq);
    put_resource(&b, a, rq);
    return buf_take(&b, a);
}

bool azure_sign(struct arena *a, const struct azure_request *rq, struct str key, struct str *out,
    struct err *err)
{
    struct str signature = STR("");
    TRY(sign(a, key, azure_text(a, rq), &signature, err));
    *out = arena_printf(a, "SharedKey %.*s:%.*s", STR_ARG(rq->account), STR_ARG(signature));
    return true;
}

/* --- shared access signatures ------------------------------------------------------------------
 */

struct str azure_time(struct arena *a, int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm = {0};
    (void)gmtime_r(&t, &tm);
    return arena_printf(a, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
        tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* sr: what the signature is for. */
static const char *resource(const struct azure_sas *sas)
{
    return sas->path.n > 0 ? "d" : "c";
}

static void line(struct buf *b, struct str s)
{
    buf_str(b, s);
    buf_putc(b, '\n');
}

static void put_user(struct buf *b, const struct azure_user_key *user)
{
    line(b, user->oid);
    line(b, user->tid);
    line(b, user->start);
    line(b, user->expiry);
    line(b, user->service);
    line(b, user->version);
    buf_puts(b, "\n\n\n"); /* no authorized or unauthorized user, no correlation id */
}

/* What is signed; holds no secret. */
static struct str sas_text(struct arena *a, const struct azure_sas *sas)
{
    struct buf b;
    buf_init(&b, SIZE_MAX);
    line(&b, sas->permissions);
    line(&b, azure_time(a, sas->start_ms));
    line(&b, azure_time(a, sas->expires_ms));
    buf_putf(&b, "/blob/%.*s/%.*s%s%.*s\n", STR_ARG(sas->account), STR_ARG(sas->container),
        sas->path.n > 0 ? "/" : "", STR_ARG(sas->path));
    if (sas->user)
        put_user(&b, sas->user);
    else
        buf_putc(&b, '\n'); /* no stored policy */
    buf_putc(&b, '\n');     /* from any address */
    line(&b, sas->protocols);
    line(&b, STR(SAS_VERSION));
    line(&b, str_from(resource(sas)));
    buf_puts(&b, "\n\n\n\n\n\n"); /* no snapshot, no encryption scope, no headers of answers */
    return buf_take(&b, a);
}

static int depth(struct str path)
{
    int n = path.n > 0;
    for (size_t i = 0; i < path.n; i++)
        n += path.p[i] == '/';
    return n;
}

bool azure_sas_sign(
    struct arena *a, const struct azure_sas *sas, struct str key, struct str *out, struct err *err)
{
    struct str signature = STR("");
    struct buf b;
    TRY(sign(a, key, sas_text(a, sas), &signature, err));
    buf_init(&b, SIZE_MAX);
    buf_reserve(&b, SAS_ROOM); /* so that no copy is left behind */
    buf_field(&b, a, "sv", STR(SAS_VERSION));
    buf_field(&b, a, "st", azure_time(a, sas->start_ms));
    buf_field(&b, a, "se", azure_time(a, sas->expires_ms));
    buf_field(&b, a, "sr", str_from(resource(sas)));
    buf_field(&b, a, "sp", sas->permissions);
    buf_field(&b, a, "spr", sas->protocols);
    if (sas->path.n > 0)
        buf_field(&b, a, "sdd", arena_printf(a, "%d", depth(sas->path)));
    if (sas->user) {
        buf_field(&b, a, "skoid", sas->user->oid);
        buf_field(&b, a, "sktid", sas->user->tid);
        buf_field(&b, a, "skt", sas->user->start);
        buf_field(&b, a, "ske", sas->user->expiry);
        buf_field(&b, a, "sks", sas->user->service);
        buf_field(&b, a, "skv", sas->user->version);
    }
    buf_field(&b, a, "sig", signature);
    *out = buf_take(&b, a);
    return true;
}
