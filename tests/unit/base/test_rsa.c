#include "rsa.h"

#include <check.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

static struct arena *a;
static struct err err;

static void begin(void)
{
    a = arena_new();
    err_clear(&err);
}

static void end(void)
{
    arena_free(&a);
}

/* As PEM; password NULL: none. */
static struct str pem_of(EVP_PKEY *key, const char *password)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    ck_assert_int_eq(
        PEM_write_bio_PrivateKey(bio, key, password ? EVP_aes_128_cbc() : NULL,
            (const unsigned char *)password, password ? (int)strlen(password) : 0, NULL, NULL),
        1);
    size_t n = (size_t)BIO_get_mem_data(bio, &text);
    struct str pem = arena_dup(a, (struct str){text, n});
    BIO_free(bio);
    return pem;
}

static bool is_right(EVP_PKEY *key, struct str text, struct str signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ck_assert_int_eq(EVP_DigestVerifyInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL), 1);
    bool right = EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n,
                     (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(ctx);
    return right;
}

static void refuse(struct str pem, const char *words)
{
    struct str ignored;
    ck_assert(!rsa_sign(a, pem, STR("text"), &ignored, &err));
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
}

START_TEST(test_rsa_sign__the_public_key_verifies_it)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    struct str text = STR("head.claims"), signature = {NULL, 0};
    ck_assert_msg(rsa_sign(a, pem_of(key, NULL), text, &signature, &err), "%s", err.msg);
    ck_assert_uint_eq(signature.n, 256);
    ck_assert(is_right(key, text, signature));
    ck_assert(!is_right(key, STR("head.other"), signature));
    EVP_PKEY_free(key);
}
END_TEST

START_TEST(test_rsa_sign__nothing_at_all_can_be_signed)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    struct str signature = {NULL, 0};
    ck_assert_msg(rsa_sign(a, pem_of(key, NULL), STR(""), &signature, &err), "%s", err.msg);
    ck_assert(is_right(key, STR(""), signature));
    EVP_PKEY_free(key);
}
END_TEST

START_TEST(test_rsa_sign__other_keys_are_refused)
{
    EVP_PKEY *curve = EVP_EC_gen("P-256"), *small = EVP_RSA_gen(1024), *good = EVP_RSA_gen(2048);
    refuse(pem_of(curve, NULL), "expected an RSA key");
    refuse(pem_of(small, NULL), "of 2048");
    refuse(pem_of(good, "password"), "without a password");
    refuse(STR("hidden"), "in PEM");
    refuse(STR(""), "in PEM");
    ck_assert(!strstr(err.msg, "hidden"));
    EVP_PKEY_free(curve);
    EVP_PKEY_free(small);
    EVP_PKEY_free(good);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rsa");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_rsa_sign__the_public_key_verifies_it);
    tcase_add_test(tc, test_rsa_sign__nothing_at_all_can_be_signed);
    tcase_add_test(tc, test_rsa_sign__other_keys_are_refused);
    Suite *s = suite_create("rsa");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
