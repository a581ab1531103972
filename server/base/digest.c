#include "digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>

#include "arena.h"
#include "base.h"
#include "log.h"

/* Looking an algorithm up by name costs more than hashing a short text: done once. */
static EVP_MD *sha256, *md5;
static EVP_MAC *hmac;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fetch_all(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    /* Content-MD5 is a checksum here, so a FIPS configuration need not forbid it. */
    md5 = EVP_MD_fetch(NULL, "MD5", "-fips");
    if (!sha256 || !hmac)
        log_fatal("OpenSSL offers no SHA-256 or no HMAC");
}

static void digest_free(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

static void digest_run(const EVP_MD *md, const struct str *parts, size_t n, uint8_t *out)
{
    AUTO(digest_free) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && md && EVP_DigestInit_ex2(ctx, md, NULL);
    for (size_t i = 0; ok && i < n; i++)
        ok = EVP_DigestUpdate(ctx, parts[i].p, parts[i].n);
    if (!ok || !EVP_DigestFinal_ex(ctx, out, NULL))
        log_fatal("OpenSSL cannot compute a digest");
}

void digest_sha256(struct str s, uint8_t out[static DIGEST_SHA256])
{
    digest_sha256_parts(&s, 1, out);
}

void digest_sha256_parts(const struct str *parts, size_t n, uint8_t out[static DIGEST_SHA256])
{
    pthread_once(&once, fetch_all);
    digest_run(sha256, parts, n, out);
}

void digest_md5(struct str s, uint8_t out[static DIGEST_MD5])
{
    pthread_once(&once, fetch_all);
    digest_run(md5, &s, 1, out);
}

static void mac_free(EVP_MAC_CTX **ctx)
{
    EVP_MAC_CTX_free(*ctx);
}

void digest_hmac(struct str key, struct str s, uint8_t out[static DIGEST_SHA256])
{
    pthread_once(&once, fetch_all);
    AUTO(mac_free) EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);
    char name[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0), OSSL_PARAM_END};
    const unsigned char *k = (const unsigned char *)(key.p ? key.p : "");
    if (!ctx || !EVP_MAC_init(ctx, k, key.n, params) ||
        !EVP_MAC_update(ctx, (const unsigned char *)s.p, s.n) ||
        !EVP_MAC_final(ctx, out, NULL, DIGEST_SHA256))
        log_fatal("OpenSSL cannot compute an HMAC");
}

__extension__ typedef unsigned __int128 wide;

/* Both halves of the product depend on all bits of both factors. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Up to eight bytes, the same on every machine: page tokens travel between replicas. */
static uint64_t load(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* The multiply-and-fold construction; the constants are digits of pi, made odd. */
uint64_t digest_hash64(struct str s)
{
    const uint64_t k0 = 0x243f6a8885a308d3U, k1 = 0x13198a2e03707345U, k2 = 0xa4093822299f31d1U;
    uint64_t h = k0 ^ fold(s.n ^ k1, k2);
    size_t i = 0;
    for (; s.n - i > 16; i += 16)
        h = fold(load(s.p + i, 8) ^ k1, load(s.p + i + 8, 8) ^ h);
    size_t left = s.n - i;
    uint64_t a = left ? load(s.p + i, left < 8 ? left : 8) : 0;
    uint64_t b = left > 8 ? load(s.p + i + 8, left - 8) : 0;
    return fold(fold(a ^ k1, b ^ h) ^ k0, k2);
}

void digest_hex(const uint8_t *p, size_t n, char *out)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = hex[p[i] >> 4];
        *out++ = hex[p[i] & 15];
    }
    *out = '\0';
}

struct str digest_sha256_text(struct arena *a, const struct str *parts, size_t n)
{
    uint8_t sum[DIGEST_SHA256];
    char *text = arena_alloc(a, DIGEST_SHA256_HEX + 1);
    digest_sha256_parts(parts, n, sum);
    digest_hex(sum, sizeof(sum), text);
    return (struct str){text, DIGEST_SHA256_HEX};
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Without padding; returns the end. */
static char *b64_put(const char *alphabet, struct str s, char *out)
{
    const uint8_t *p = (const uint8_t *)s.p;
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        uint32_t v = (uint32_t)p[i] << 16;
        v |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        v |= left > 2 ? p[i + 2] : 0;
        *out++ = alphabet[v >> 18];
        *out++ = alphabet[v >> 12 & 63];
        if (left > 1)
            *out++ = alphabet[v >> 6 & 63];
        if (left > 2)
            *out++ = alphabet[v & 63];
    }
    return out;
}

struct str b64_encode(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, (s.n + 2) / 3 * 4 + 1);
    char *end = b64_put(base64, s, p);
    while ((end - p) % 4)
        *end++ = '=';
    *end = '\0';
    return str_range(p, end);
}

struct str b64url_encode(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, (s.n + 2) / 3 * 4 + 1);
    char *end = b64_put(base64url, s, p);
    *end = '\0';
    return str_range(p, end);
}

static int b64url_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool b64url_decode(struct arena *a, struct str s, struct str *out)
{
    if (s.n % 4 == 1)
        return false;
    char *p = arena_alloc(a, s.n / 4 * 3 + 3), *at = p;
    uint32_t bits = 0;
    int n_bits = 0;
    for (size_t i = 0; i < s.n; i++) {
        int v = b64url_value(s.p[i]);
        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            *at++ = (char)(bits >> n_bits);
            bits &= (1U << n_bits) - 1;
        }
    }
    /* One text for one value: the bits that are left over must be zero. */
    if (bits)
        return false;
    *at = '\0';
    *out = str_range(p, at);
    return true;
}

bool digest_equal(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || CRYPTO_memcmp(a.p, b.p, a.n) == 0);
}
