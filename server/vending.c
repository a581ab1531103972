#include "vending.h"

#include "call.h"
#include "digest.h"
#include "log.h"
#include "object.h"
#include "secret.h"
#include "sign.h"
#include "vend.h"

enum { TEXT_MAX = 64 * 1024, SECRET_TEXTS = 16, CONFIG_ROOM = 2048, USUAL_PATH = 256 };

static struct store *store_of(const struct call *c)
{
    return catalog_store(c->catalog);
}

/* Of the ways that are asked for the one that is offered; of two, the warehouse's first. Who names
 * none, not even one that we do not know, may still count on keys; what to do with a signer's
 * address only those know who ask for it. "client-managed", the word of clients that bring keys of
 * their own, is one that we need not know. */
static enum way {
    WAY_NONE,
    WAY_KEYS,
    WAY_KEYS_UNASKED,
    WAY_SIGNATURES
} way_of(const struct call *c)
{
    struct str rest = call_header(c, HEADER_ACCESS_DELEGATION);
    bool words = false, keys = false, signatures = false;

    while (rest.p) {
        struct str word = str_trim(str_cut(&rest, ','));
        words = words || word.n > 0;
        keys = keys || str_eq_nocase(word, STR("vended-credentials"));
        signatures = signatures || str_eq_nocase(word, STR("remote-signing"));
    }
    if (!words)
        return vend_unasked(store_of(c)) ? WAY_KEYS_UNASKED : WAY_NONE;
    keys = keys && vend_offered(store_of(c));
    signatures = signatures && sign_offered(store_of(c));
    if (signatures && (!keys || sign_preferred(store_of(c))))
        return WAY_SIGNATURES;
    return keys ? WAY_KEYS : WAY_NONE;
}

bool vending_gives(const struct call *c)
{
    return way_of(c) != WAY_NONE;
}

const char *vending_ways(const struct call *c)
{
    const struct store *s = store_of(c);

    if (vend_offered(s) && sign_offered(s))
        return sign_preferred(s) ? "remote-signing,vended-credentials"
                                 : "vended-credentials,remote-signing";
    return vend_offered(s) ? "vended-credentials" : sign_offered(s) ? "remote-signing" : NULL;
}

/* --- the words of clients ----------------------------------------------------------------------
 */

static void put(struct buf *b, const char *key, struct str value)
{
    bool first = b->n == 0 || b->p[b->n - 1] == '{';

    buf_puts(b, first ? "\"" : ",\"");
    buf_puts(b, key);
    buf_puts(b, "\":");
    buf_json_str(b, value);
}

static const char *key_for(struct call *c, const char *key, struct str host)
{
    return arena_printf(c->arena, "%s.%.*s", key, STR_ARG(host)).p;
}

/* From its base the client makes the address of it. */
static struct str table_path(struct call *c, const struct ident *id, const char *what)
{
    struct buf b;

    buf_init(&b, TEXT_MAX);
    buf_reserve(&b, USUAL_PATH);
    buf_puts(&b, "v1/");
    if (c->route.prefix.p) {
        buf_str(&b, str_pct_encode(c->arena, c->route.prefix, ""));
        buf_putc(&b, '/');
    }
    buf_puts(&b, "namespaces/");
    for (struct str rest = id->ns; rest.p;) {
        buf_str(&b, str_pct_encode(c->arena, str_cut(&rest, IDENT_SEPARATOR), ""));
        buf_puts(&b, rest.p ? "%1F" : "/tables/");
    }
    buf_str(&b, str_pct_encode(c->arena, id->name, ""));
    buf_putc(&b, '/');
    buf_puts(&b, what);
    return buf_take(&b, c->arena);
}

static void put_place(struct buf *b, struct str endpoint, struct str region, enum vend_style style)
{
    bool in_path = style == VEND_BUCKET_IN_PATH;

    put(b, "s3.endpoint", endpoint);
    put(b, "s3.region", region);
    put(b, "client.region", region);
    put(b, "s3.path-style-access", in_path ? STR("true") : STR("false"));
    put(b, "s3.force-virtual-addressing", in_path ? STR("false") : STR("true"));
}

/* Java refreshes only when it is told where.
 * Java, Go and DuckDB read s3.session-token-expires-at-ms, Go also expiration-time; Java, Rust and
 * DuckDB read path-style-access, PyIceberg and Go force-virtual-addressing; DuckDB needs a region,
 * and PyIceberg takes an endpoint from the table's properties where none is said. id: NULL where
 * there is no table yet. */
static void put_s3(struct call *c, struct buf *b, const struct ident *id, const struct vended *k)
{
    put(b, "s3.access-key-id", k->id);
    put(b, "s3.secret-access-key", k->secret);
    if (k->token.n > 0)
        put(b, "s3.session-token", k->token);
    if (k->expires_ms > 0) {
        struct str at = arena_printf(c->arena, "%lld", (long long)k->expires_ms);
        put(b, "s3.session-token-expires-at-ms", at);
        put(b, "expiration-time", at);
        if (id)
            put(b, "client.refresh-credentials-endpoint", table_path(c, id, "credentials"));
    }
    put_place(b, k->endpoint, k->region, k->style);
}

/* Java and Trino read the project, PyIceberg the host of an emulator; all of them the token, and
 * who refreshes its end in milliseconds. */
static void put_gcs(struct call *c, struct buf *b, const struct ident *id, const struct vended *k)
{
    struct str at = arena_printf(c->arena, "%lld", (long long)k->expires_ms);

    put(b, "gcs.oauth2.token", k->token);
    put(b, "gcs.oauth2.token-expires-at", at);
    put(b, "expiration-time", at);
    if (id)
        put(b, "gcs.oauth2.refresh-credentials-endpoint", table_path(c, id, "credentials"));
    if (k->id.n > 0)
        put(b, "gcs.project-id", k->id);
    if (k->endpoint.n > 0)
        put(b, "gcs.service.host", k->endpoint);
}

/* Java, Go, Trino and DuckDB look for the host as the location has it, PyIceberg for bare words and
 * the account; an address of its own Java reads from connection-string, PyIceberg in parts. */
static void put_adls(struct call *c, struct buf *b, const struct ident *id, const struct vended *k)
{
    struct str at = arena_printf(c->arena, "%lld", (long long)k->expires_ms);
    struct str account = str_sub(k->host, 0, str_find(k->host, '.'));

    put(b, key_for(c, "adls.sas-token", k->host), k->secret);
    put(b, "adls.sas-token", k->secret);
    put(b, "adls.account-name", account);
    put(b, key_for(c, "adls.sas-token-expires-at-ms", k->host), at);
    put(b, "expiration-time", at);
    if (id)
        put(b, "adls.refresh-credentials-endpoint", table_path(c, id, "credentials"));
    if (k->endpoint.n == 0)
        return;
    struct str rest = k->endpoint;
    struct str scheme = str_cut(&rest, ':');
    struct str host = str_sub(rest, 2, str_find(str_sub(rest, 2, rest.n), '/'));
    put(b, key_for(c, "adls.connection-string", k->host), k->endpoint);
    put(b, "adls.blob-storage-scheme", scheme);
    put(b, "adls.blob-storage-authority", host);
    put(b, "adls.dfs-storage-scheme", scheme);
    put(b, "adls.dfs-storage-authority", host);
}

/* One row for each kind of keys. */
static void (*const words[])(
    struct call *c, struct buf *b, const struct ident *id, const struct vended *k) = {
    [VENDED_S3] = put_s3,
    [VENDED_GCS] = put_gcs,
    [VENDED_ADLS] = put_adls,
};

static void put_config(
    struct call *c, struct buf *b, const struct ident *id, const struct vended *keys)
{
    buf_putc(b, '{');
    words[keys->kind](c, b, id, keys);
    buf_putc(b, '}');
}

/* Everything beneath the location, and nothing whose name begins as it does; a config follows. */
static void begin_credentials(struct call *c, struct buf *b, struct str location)
{
    while (str_ends(location, STR("/")))
        location.n--;
    buf_puts(b, "\"storage-credentials\":[{\"prefix\":");
    buf_json_str(b, arena_printf(c->arena, "%.*s/", STR_ARG(location)));
    buf_puts(b, ",\"config\":");
}

static void end_credentials(struct buf *b)
{
    buf_puts(b, "}]}");
}

/* Room for as many configs, so that no copy is left behind; Azure's has the secret twice. */
static void begin_secret(struct buf *b, const struct vended *keys, struct str location, size_t n)
{
    size_t secrets = keys->id.n + keys->secret.n + keys->token.n;

    buf_init(b, (size_t)SECRET_TEXTS * TEXT_MAX);
    buf_reserve(b, n * (CONFIG_ROOM + 2 * secrets) + 6 * location.n);
}

/* The text is wiped with the arena. */
static struct str take_secret(struct call *c, struct buf *b)
{
    struct str s = buf_take(b, c->arena);
    char *p;

    memcpy(&p, &s.p, sizeof p); /* the arena's own memory */
    secret_wipe_with(c->arena, p, s.n);
    return s;
}

/* Java reads signer.endpoint up to 1.12, s3.signer.endpoint up to 1.10, and makes the address
 * itself where it finds the operation in /v1/config; PyIceberg signs with its fsspec only, and must
 * be told so. None names a host: clients put the path behind the catalog's address. */
static bool signer_text(struct call *c, const struct ident *id, struct str staged_uuid,
    struct str location, struct str *out)
{
    struct sign_place place;
    struct str path = table_path(c, id, "sign");
    struct buf b;

    TRY(sign_where(c->arena, store_of(c), location, &place, &c->err));
    if (staged_uuid.p)
        path = arena_printf(c->arena, "%.*s?staged=%.*s", STR_ARG(path), STR_ARG(staged_uuid));
    buf_init(&b, TEXT_MAX);
    buf_puts(&b, "{\"s3.remote-signing-enabled\":\"true\"");
    put(&b, "signer.endpoint", path);
    put(&b, "s3.signer.endpoint", path);
    put(&b, "s3.signer", STR("S3V4RestSigner"));
    put(&b, "py-io-impl", STR("pyiceberg.io.fsspec.FsspecFileIO"));
    put_place(&b, place.endpoint, place.region, place.style);
    buf_putc(&b, '}');
    *out = buf_take(&b, c->arena);
    return true;
}

/* What it said is for the operator, and in the log already. */
bool vending_failed(struct err *err)
{
    return err->kind == ERR_KEYS_REFUSED &&
           err_set(
               err, ERR_FORBIDDEN, "The store's token service refuses credentials for this table");
}

/* --- loads -------------------------------------------------------------------------------------
 */

/* Nobody may do less than all to a table, so that what a client gets is for writing. */
static bool ask(struct call *c, struct str location, struct vended *out)
{
    return vend_get(c->arena, store_of(c), location, VEND_WRITE, out, &c->err) ||
           vending_failed(&c->err);
}

/* Loads that did not ask are not to fill the slow lane while the token service is away. */
static bool ask_by(struct call *c, enum way way, struct str location, struct vended *out)
{
    struct store *s = store_of(c);

    if (way == WAY_KEYS_UNASKED && vend_resting(s) &&
        !vend_at_hand(c->arena, s, location, VEND_WRITE, out))
        return err_set(&c->err, ERR_UNAVAILABLE, "the token service did not answer just now");
    return ask(c, location, out);
}

/* A place of which no policy can speak, or that is no longer the warehouse's, is the table's fate:
 * its metadata is shown all the same, and /credentials says why there are none. Nor is a load
 * refused for what it did not ask for. */
static bool goes_without(const struct call *c, enum way way)
{
    if (c->err.kind == ERR_STORE_BAD_URI || c->err.kind == ERR_STORE_DENIED)
        return true;
    return (c->op->mutates || way == WAY_KEYS_UNASKED) && c->err.kind != ERR_WOULD_BLOCK;
}

/* W/"HASH.wCONFIG": of what the client was told, keys included, of which the tag must not tell. */
static struct str tag_with_keys(struct arena *a, struct str etag, struct str config)
{
    uint8_t digest[DIGEST_SHA256];
    char hex[DIGEST_SHA256_HEX + 1];

    digest_sha256(config, digest);
    digest_hex(digest, sizeof digest / 2, hex);
    return arena_printf(a, "%.*s.w%s\"", STR_ARG(str_sub(etag, 0, etag.n - 1)), hex);
}

/* W/"HASH.sCONFIG": what clients are told does not change with the table. */
static struct str tag_signed(struct arena *a, struct str etag, struct str config)
{
    return arena_printf(a, "%.*s.s%016llx\"", STR_ARG(str_sub(etag, 0, etag.n - 1)),
        (unsigned long long)digest_hash64(config));
}

static bool reply_with_keys(
    struct call *c, enum way way, const struct ident *id, const struct loaded *t, enum variant v)
{
    struct vended keys;
    struct buf b;

    TRY(ask_by(c, way, t->location, &keys));
    begin_secret(&b, &keys, t->location, 2);
    buf_puts(&b, ",\"config\":");
    size_t from = b.n;
    put_config(c, &b, t->staged ? NULL : id, &keys);
    size_t n = b.n - from;
    buf_putc(&b, ',');
    begin_credentials(c, &b, t->location);
    buf_reserve(&b, n);
    buf_put(&b, b.p + from, n);
    end_credentials(&b);
    const struct str tail = take_secret(c, &b);
    const struct reply_more more = {.tail = tail,
        .etag = tag_with_keys(c->arena, metadata_etag(t->metadata, v), str_sub(tail, from, n))};
    return reply_loaded_with(c, t, v, &more);
}

static bool reply_with_signer(
    struct call *c, const struct ident *id, const struct loaded *t, enum variant v)
{
    struct str config, uuid = t->staged ? metadata_head(t->metadata)->uuid : (struct str){0};

    TRY(signer_text(c, id, uuid, t->location, &config));
    const struct reply_more more = {
        .tail = arena_printf(c->arena, ",\"config\":%.*s}", STR_ARG(config)),
        .etag = tag_signed(c->arena, metadata_etag(t->metadata, v), config)};
    return reply_loaded_with(c, t, v, &more);
}

bool vending_reply(struct call *c, const struct ident *id, const struct loaded *t, enum variant v)
{
    enum way way = t->location.p ? way_of(c) : WAY_NONE;

    if (way == WAY_NONE)
        return reply_loaded(c, t, v);
    if (way == WAY_SIGNATURES ? reply_with_signer(c, id, t, v) : reply_with_keys(c, way, id, t, v))
        return true;
    if (!goes_without(c, way))
        return false;
    err_clear(&c->err);
    return reply_loaded(c, t, v);
}

/* "*" is no tag: who sends it may have keys of any age, or none. */
static bool names(struct call *c, struct str etag)
{
    struct str ours = reply_bare_tag(etag);

    for (struct str rest = call_header(c, HEADER_IF_NONE_MATCH); rest.p;)
        if (str_eq(reply_bare_tag(str_cut(&rest, ',')), ours))
            return true;
    return false;
}

static struct str plain_tag(struct call *c, enum variant v)
{
    const struct sql_object *row = &c->found.object;

    return metadata_etag_of(c->arena, row->metadata_location, row->uuid, v);
}

/* Keys, and where they lead, change without the table: nothing but the answer that would be given
 * now. */
static bool has_keys(struct call *c, enum variant v, struct str *etag)
{
    const struct ident id = call_ident(c);
    struct str plain = plain_tag(c, v);
    struct vended keys;
    struct buf b;

    if (!call_header(c, HEADER_IF_NONE_MATCH).p ||
        !vend_at_hand(c->arena, store_of(c), c->found.object.location, VEND_WRITE, &keys))
        return false;
    begin_secret(&b, &keys, c->found.object.location, 1);
    put_config(c, &b, &id, &keys);
    *etag = tag_with_keys(c->arena, plain, take_secret(c, &b));
    return names(c, *etag);
}

static bool has_signer(struct call *c, enum variant v, struct str *etag)
{
    const struct ident id = call_ident(c);
    struct str plain, config;

    if (!call_header(c, HEADER_IF_NONE_MATCH).p)
        return false;
    plain = plain_tag(c, v);
    if (!signer_text(c, &id, (struct str){0}, c->found.object.location, &config)) {
        err_clear(&c->err); /* the answer will say */
        return false;
    }
    *etag = tag_signed(c->arena, plain, config);
    return reply_etag_matches(c, *etag);
}

bool vending_client_has(struct call *c, enum variant v, struct str *etag)
{
    return way_of(c) == WAY_SIGNATURES ? has_signer(c, v, etag) : has_keys(c, v, etag);
}

/* --- the credentials alone ---------------------------------------------------------------------
 */

bool vending_credentials(struct call *c)
{
    const struct ident id = call_ident(c);
    struct str location = c->found.object.location;
    struct vended keys;
    struct buf b;

    if (!vend_offered(store_of(c)))
        return reply_document(c, 200, STR("{\"storage-credentials\":[]}"));
    if (!ask(c, location, &keys)) {
        if (c->err.kind == ERR_STORE_BAD_URI || c->err.kind == ERR_STORE_DENIED)
            return err_as(&c->err, ERR_INVALID_ARGUMENT);
        return false;
    }
    begin_secret(&b, &keys, location, 1);
    buf_putc(&b, '{');
    begin_credentials(c, &b, location);
    put_config(c, &b, &id, &keys);
    end_credentials(&b);
    return reply_document(c, 200, take_secret(c, &b));
}
