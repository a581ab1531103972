#include "secret.h"

#include <assert.h>
#include <openssl/evp.h>
#include <string.h>

#include "arena.h"
#include "digest.h"
#include "log.h"
#include "uuid.h"

enum { KEY = 32, NONCE = 12, TAG = 16 };

#define VERSION "v1"

struct key {
    char id[SECRET_KEY_ID_MAX + 1];
    unsigned char bytes[KEY];
};

struct keyring {
    size_t n;
    struct key keys[SECRET_KEYS_MAX]; /* the first one seals */
};

/* --- wiping ------------------------------------------------------------------------------------
 */

struct wiped {
    const void *p;
    size_t n;
};

/* What others may only read is still ours to wipe. */
void secret_wipe(const void *p, size_t n)
{
    void *memory;
    memcpy(&memory, &p, sizeof(memory));
    if (n > 0)
        explicit_bzero(memory, n);
}

static void wipe(void *obj)
{
    struct wiped *w = obj;
    secret_wipe(w->p, w->n);
}

void secret_wipe_with(struct arena *a, const void *p, size_t n)
{
    struct wiped *w = ARENA_NEW(a, struct wiped);
    *w = (struct wiped){p, n};
    (void)arena_hold(a, w, wipe);
}

struct str secret_dup(struct arena *a, struct str s)
{
    char *p = arena_cstr(a, s);
    secret_wipe_with(a, p, s.n);
    return (struct str){p, s.n};
}

/* --- keys --------------------------------------------------------------------------------------
 */

static bool is_id(struct str id)
{
    if (id.n == 0 || id.n > SECRET_KEY_ID_MAX)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '-' || c == '_'))
            return false;
    }
    return true;
}

static const struct key *find_key(const struct keyring *ring, struct str id)
{
    for (size_t i = 0; ring && i < ring->n; i++)
        if (str_eq(str_from(ring->keys[i].id), id))
            return &ring->keys[i];
    return NULL;
}

bool keyring_has(const struct keyring *ring, struct str id)
{
    return find_key(ring, id) != NULL;
}

struct str keyring_first(const struct keyring *ring)
{
    return str_from(ring->keys[0].id);
}

void keyring_free(struct keyring **ring)
{
    if (*ring)
        explicit_bzero(*ring, sizeof(**ring));
    xfree(*ring);
    *ring = NULL;
}

/* Both alphabets of base64, with padding or without. */
static bool decode_key(struct arena *a, struct str text, struct str *out)
{
    while (str_ends(text, STR("=")))
        text.n--;
    char *p = arena_cstr(a, text);
    for (size_t i = 0; i < text.n; i++)
        p[i] = (char)(p[i] == '+' ? '-' : p[i] == '/' ? '_' : p[i]);
    return b64url_decode(a, (struct str){p, text.n}, out) && out->n == KEY;
}

/* A key of one repeated byte is a placeholder. */
static bool is_drawn(struct str key)
{
    for (size_t i = 1; i < key.n; i++)
        if (key.p[i] != key.p[0])
            return true;
    return false;
}

static bool add_key(struct arena *a, struct keyring *ring, struct str text, struct err *err)
{
    struct str rest = text, id = str_cut(&rest, ':'), bytes;
    size_t nth = ring->n + 1;
    if (!rest.p || !is_id(id))
        return err_set(err, ERR_BAD_REQUEST,
            "Key %zu for secrets is not understood: expected ID:BASE64, the id of at most %d "
            "letters, digits, '-' and '_'",
            nth, SECRET_KEY_ID_MAX);
    if (find_key(ring, id))
        return err_set(err, ERR_BAD_REQUEST, "Two keys for secrets have the id %.*s", STR_ARG(id));
    if (ring->n == SECRET_KEYS_MAX)
        return err_set(err, ERR_BAD_REQUEST, "More than %d keys for secrets", SECRET_KEYS_MAX);
    if (!decode_key(a, rest, &bytes) || !is_drawn(bytes))
        return err_set(err, ERR_BAD_REQUEST,
            "The key %.*s for secrets is no key: expected %d random bytes as base64 (openssl rand "
            "-base64 %d)",
            STR_ARG(id), KEY, KEY);
    struct key *k = &ring->keys[ring->n++];
    memcpy(k->id, id.p, id.n);
    memcpy(k->bytes, bytes.p, KEY);
    return true;
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next word behind separators and comments; absent at the end. */
static struct str next_word(struct str *rest)
{
    while (rest->n > 0 && (rest->p[0] == '#' || is_separator(rest->p[0])))
        *rest = str_sub(*rest, rest->p[0] == '#' ? str_find(*rest, '\n') : 1, rest->n);
    size_t n = 0;
    while (n < rest->n && !is_separator(rest->p[n]))
        n++;
    struct str word = {n > 0 ? rest->p : NULL, n};
    *rest = str_sub(*rest, n, rest->n);
    return word;
}

bool keyring_open(struct str text, struct keyring **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(keyring_free) struct keyring *ring = xcalloc(1, sizeof(*ring));
    for (struct str word; (word = next_word(&text)).p;)
        TRY(add_key(a, ring, word, err));
    *out = ring->n > 0 ? TAKE(ring) : NULL;
    return true;
}

bool keyring_draw(struct arena *a, struct str id, struct str *out, struct err *err)
{
    unsigned char bytes[KEY];
    if (!is_id(id))
        return err_set(err, ERR_BAD_REQUEST,
            "A key for secrets needs an id of at most %d letters, digits, '-' and '_'",
            SECRET_KEY_ID_MAX);
    uuid_random(bytes, sizeof(bytes));
    struct str text = b64_encode(a, (struct str){(const char *)bytes, sizeof(bytes)});
    explicit_bzero(bytes, sizeof(bytes));
    secret_wipe_with(a, text.p, text.n);
    char *p = arena_alloc(a, id.n + text.n + 2);
    secret_wipe_with(a, p, id.n + text.n + 2);
    char *end = mempcpy(mempcpy(mempcpy(p, id.p, id.n), ":", 1), text.p, text.n);
    *end = '\0';
    *out = str_range(p, end);
    return true;
}

/* --- sealing -----------------------------------------------------------------------------------
 */

static void cipher_free(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

/* What is sealed with the text: the form, the key, and whose it is. */
static struct str bound(struct arena *a, struct str id, struct str about)
{
    return arena_printf(a, VERSION ".%.*s.%.*s", STR_ARG(id), STR_ARG(about));
}

static void must(bool ok)
{
    if (!ok)
        log_fatal("OpenSSL offers no AES-256-GCM");
}

struct str secret_seal(
    struct arena *a, const struct keyring *ring, struct str about, struct str plain)
{
    assert(plain.n <= SECRET_MAX);
    const struct key *k = &ring->keys[0];
    struct str with = bound(a, str_from(k->id), about);
    size_t size = NONCE + plain.n + TAG;
    unsigned char *box = arena_alloc(a, size), *text = box + NONCE;
    AUTO(cipher_free) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0;
    uuid_random(box, NONCE);
    must(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, k->bytes, box) == 1 &&
         EVP_EncryptUpdate(ctx, NULL, &n, (const unsigned char *)with.p, (int)with.n) == 1 &&
         (plain.n == 0 ||
             EVP_EncryptUpdate(ctx, text, &n, (const unsigned char *)plain.p, (int)plain.n) == 1) &&
         EVP_EncryptFinal_ex(ctx, text + plain.n, &n) == 1 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG, text + plain.n) == 1);
    struct str sealed = b64url_encode(a, (struct str){(const char *)box, size});
    return arena_printf(a, VERSION ".%s.%.*s", k->id, STR_ARG(sealed));
}

/* "v1.ID.TEXT" taken apart. */
static bool take_apart(struct str sealed, struct str *id, struct str *text)
{
    struct str version = str_cut(&sealed, '.');
    *id = str_cut(&sealed, '.');
    *text = sealed;
    return str_eq(version, STR(VERSION)) && is_id(*id) && text->n > 0;
}

struct str secret_key_id(struct str sealed)
{
    struct str id, text;
    return take_apart(sealed, &id, &text) ? id : (struct str){NULL, 0};
}

/* False when the tag does not fit what was sealed. */
static bool decrypt(const struct key *k, struct str with, struct str box, unsigned char *out)
{
    const unsigned char *p = (const unsigned char *)box.p;
    unsigned char tag[TAG];
    size_t n = box.n - NONCE - TAG;
    int done = 0;
    memcpy(tag, p + NONCE + n, TAG);
    AUTO(cipher_free) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    must(ctx && EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, k->bytes, p) == 1 &&
         EVP_DecryptUpdate(ctx, NULL, &done, (const unsigned char *)with.p, (int)with.n) == 1 &&
         (n == 0 || EVP_DecryptUpdate(ctx, out, &done, p + NONCE, (int)n) == 1) &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1);
    return EVP_DecryptFinal_ex(ctx, out + n, &done) == 1; /* compares in constant time */
}

bool secret_open(struct arena *a, const struct keyring *ring, struct str about, struct str sealed,
    struct str *out, struct err *err)
{
    struct str id, text, box;
    if (!take_apart(sealed, &id, &text))
        return err_set(err, ERR_INTERNAL, "no sealed secret: expected " VERSION ".ID.TEXT");
    const struct key *k = find_key(ring, id);
    if (!k)
        return err_set(err, ERR_INTERNAL,
            "sealed with the key %.*s, which is not among those of FIRN_SECRET_KEYS", STR_ARG(id));
    if (!b64url_decode(a, text, &box) || box.n < NONCE + TAG)
        return err_set(err, ERR_INTERNAL, "sealed with the key %.*s: cut short", STR_ARG(id));
    size_t n = box.n - NONCE - TAG;
    unsigned char *plain = arena_zalloc(a, n + 1);
    secret_wipe_with(a, plain, n);
    if (!decrypt(k, bound(a, id, about), box, plain))
        return err_set(err, ERR_INTERNAL,
            "sealed with the key %.*s: damaged, moved here from elsewhere, or the key of that id "
            "is another one",
            STR_ARG(id));
    *out = (struct str){(const char *)plain, n};
    return true;
}
