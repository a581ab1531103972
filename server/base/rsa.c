#include "rsa.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "arena.h"

enum { BITS_MIN = 2048, BITS_MAX = 16384 };

static void bio_free(BIO **bio)
{
    BIO_free(*bio);
}

static void key_free(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void context_free(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

/* Without it OpenSSL asks the terminal for the password of a key that has one. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is OpenSSL's */
static int no_password(char *text, int size, int writing, void *ctx)
{
    (void)text;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

static bool read_key(struct str pem, EVP_PKEY **out, struct err *err)
{
    AUTO(bio_free) BIO *bio = BIO_new_mem_buf(pem.p ? pem.p : "", (int)pem.n);
    AUTO(key_free)
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
    ERR_clear_error();
    if (!key)
        return err_set(err, ERR_BAD_REQUEST, "expected a private key in PEM without a password");
    int bits = EVP_PKEY_get_bits(key);
    if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || bits < BITS_MIN || bits > BITS_MAX)
        return err_set(
            err, ERR_BAD_REQUEST, "expected an RSA key of %d to %d bits", BITS_MIN, BITS_MAX);
    *out = TAKE(key);
    return true;
}

bool rsa_sign(struct arena *a, struct str pem, struct str text, struct str *out, struct err *err)
{
    AUTO(key_free) EVP_PKEY *key = NULL;
    TRY(read_key(pem, &key, err));
    AUTO(context_free) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = (size_t)EVP_PKEY_get_size(key);
    unsigned char *signature = arena_alloc(a, n);
    const unsigned char *bytes = (const unsigned char *)(text.p ? text.p : "");
    bool ok = ctx && EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL) == 1 &&
              EVP_DigestSign(ctx, signature, &n, bytes, text.n) == 1;
    ERR_clear_error();
    *out = (struct str){(const char *)signature, n};
    return ok || err_set(err, ERR_BAD_REQUEST, "OpenSSL cannot sign with this key");
}
