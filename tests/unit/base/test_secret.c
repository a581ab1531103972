#include "secret.h"

#include <check.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"

/* Bytes 0 to 31. */
#define K1    "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define K2    "k2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
#define ABOUT STR("7/s3-keys")
/* K1 over "AKIA\nsecret" with the nonce 0 to 11, made by another program (Node's crypto). */
#define FOREIGN "v1.k1.AAECAwQFBgcICQoLBkmfWs-Wp3j_JOPYtamChMW4dXivZ80B7sf3"

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

static struct keyring *ring_of(const char *text)
{
    struct keyring *ring = NULL;
    ck_assert_msg(keyring_open(str_from(text), &ring, &err), "%s", err.msg);
    return ring;
}

static void refuse_ring(const char *text, const char *words)
{
    struct keyring *ring = NULL;
    ck_assert_msg(!keyring_open(str_from(text), &ring, &err), "%s", text);
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
    ck_assert_ptr_null(ring);
    ck_assert_msg(strstr(err.msg, "AAEC") == NULL, "shows a key: %s", err.msg);
}

/* Does the text open, and to `want`? */
static void opens(const char *keys, struct str about, struct str sealed, const char *want)
{
    AUTO(keyring_free) struct keyring *ring = ring_of(keys);
    struct str out;
    ck_assert_msg(secret_open(a, ring, about, sealed, &out, &err), "%s", err.msg);
    ck_assert(str_eq(out, str_from(want)));
}

static void stays_shut(const char *keys, struct str about, struct str sealed, const char *words)
{
    AUTO(keyring_free) struct keyring *ring = ring_of(keys);
    struct str out = {NULL, 0};
    ck_assert_msg(!secret_open(a, ring, about, sealed, &out, &err), "%.*s", STR_ARG(sealed));
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
    ck_assert_ptr_null(out.p);
    ck_assert(strstr(err.msg, "secret\n") == NULL && strstr(err.msg, "AKIA") == NULL);
}

static struct str seal(const char *keys, const char *plain)
{
    AUTO(keyring_free) struct keyring *ring = ring_of(keys);
    return secret_seal(a, ring, ABOUT, str_from(plain));
}

START_TEST(test_keyring_open__words_lines_and_comments)
{
    AUTO(keyring_free)
    struct keyring *ring = ring_of("# keys, newest first\r\n" K2 ", " K1 "\r\n\t# the end");
    ck_assert(str_eq(keyring_first(ring), STR("k2")));
    ck_assert(keyring_has(ring, STR("k1")) && keyring_has(ring, STR("k2")));
    ck_assert(!keyring_has(ring, STR("k")) && !keyring_has(ring, STR("k11")));
    ck_assert(!keyring_has(NULL, STR("k1")));
    ck_assert_ptr_null(ring_of(""));
    ck_assert_ptr_null(ring_of(" \n # none\n"));
}
END_TEST

START_TEST(test_keyring_open__what_is_no_key)
{
    refuse_ring("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "expected ID:BASE64");
    refuse_ring(":AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "expected ID:BASE64");
    refuse_ring("a.b:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "expected ID:BASE64");
    refuse_ring("k1:AAECAwQFBgcICQoLDA0ODw==", "expected 32 random bytes");
    refuse_ring("k1:AAEC!wQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "expected 32 random bytes");
    refuse_ring("k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "expected 32 random bytes");
    refuse_ring(K1 "," K2 "," K1, "Two keys for secrets have the id k1");
}
END_TEST

START_TEST(test_keyring_draw__opens_and_differs)
{
    struct str one, two;
    ck_assert(keyring_draw(a, STR("new"), &one, &err) && keyring_draw(a, STR("new"), &two, &err));
    ck_assert(!str_eq(one, two));
    AUTO(keyring_free) struct keyring *ring = ring_of(one.p);
    ck_assert(str_eq(keyring_first(ring), STR("new")));
    ck_assert(!keyring_draw(a, STR("a b"), &two, &err) && err.kind == ERR_BAD_REQUEST);
}
END_TEST

START_TEST(test_secret_open__what_another_program_sealed)
{
    opens(K1, ABOUT, STR(FOREIGN), "AKIA\nsecret");
}
END_TEST

START_TEST(test_secret_seal__opens_again_with_any_key_of_the_ring)
{
    struct str sealed = seal(K1, "hidden");
    ck_assert(str_eq(secret_key_id(sealed), STR("k1")));
    ck_assert_ptr_null(strstr(sealed.p, "hidden"));
    opens(K1, ABOUT, sealed, "hidden");
    opens(K2 " " K1, ABOUT, sealed, "hidden");
    opens(K1, ABOUT, seal(K1, ""), "");
}
END_TEST

START_TEST(test_secret_seal__never_twice_the_same)
{
    enum { TIMES = 300 };
    struct str texts[TIMES];
    for (int i = 0; i < TIMES; i++)
        texts[i] = seal(K1, "hidden");
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < i; k++) /* the nonce comes first: 16 characters */
            ck_assert(!str_eq(str_sub(texts[i], 6, 16), str_sub(texts[k], 6, 16)));
}
END_TEST

START_TEST(test_secret_open__another_about_or_key)
{
    struct str sealed = seal(K1, "hidden");
    stays_shut(K1, STR("8/s3-keys"), sealed, "moved here from elsewhere");
    stays_shut(K1, STR("7/s3-key"), sealed, "moved here from elsewhere");
    stays_shut(K1, STR(""), sealed, "moved here from elsewhere");
    stays_shut(K2, ABOUT, sealed, "the key k1, which is not among");
    /* the right id, another key */
    stays_shut("k1:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=", ABOUT, sealed, "another one");
    /* the right key, another id */
    char *p = arena_cstr(a, sealed);
    p[4] = '2';
    stays_shut("k2:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", ABOUT, (struct str){p, sealed.n},
        "damaged");
}
END_TEST

START_TEST(test_secret_open__every_bit_counts)
{
    struct str sealed = STR(FOREIGN);
    for (size_t i = 0; i < sealed.n; i++) {
        char *p = arena_cstr(a, sealed);
        p[i] = (char)(p[i] == 'A' ? 'B' : 'A');
        AUTO(keyring_free) struct keyring *ring = ring_of(K1);
        struct str out = {NULL, 0};
        ck_assert_msg(
            !secret_open(a, ring, ABOUT, (struct str){p, sealed.n}, &out, &err), "%zu", i);
    }
}
END_TEST

START_TEST(test_secret_open__cut_short_or_something_else)
{
    struct str sealed = STR(FOREIGN);
    for (size_t n = 0; n < sealed.n; n++) {
        AUTO(keyring_free) struct keyring *ring = ring_of(K1);
        struct str out = {NULL, 0};
        ck_assert(!secret_open(a, ring, ABOUT, str_sub(sealed, 0, n), &out, &err));
    }
    stays_shut(K1, ABOUT, STR("v1.k1.AAAA"), "cut short");
    stays_shut(K1, ABOUT, STR("v2.k1.AAAA"), "no sealed secret");
    stays_shut(K1, ABOUT, STR("plain"), "no sealed secret");
    stays_shut(K1, ABOUT, (struct str){NULL, 0}, "no sealed secret");
    ck_assert_ptr_null(secret_key_id(STR("v1..x")).p);
    ck_assert_ptr_null(secret_key_id(STR("v1.k1.")).p);
}
END_TEST

static void see_zeros(void *obj)
{
    static const char zeros[8];
    ck_assert_mem_eq(obj, zeros, sizeof(zeros));
    ck_assert_int_eq(setenv("SEEN", "1", 1), 0);
}

START_TEST(test_secret_dup__wiped_with_the_arena)
{
    struct arena *own = arena_new();
    /* releases run newest first: this one sees the memory after it was wiped */
    char *held = arena_alloc(own, 8);
    memcpy(held, "hiddenXX", 8);
    (void)arena_hold(own, held, see_zeros);
    secret_wipe_with(own, held, 8);
    arena_free(&own);
    ck_assert_pstr_eq(getenv("SEEN"), "1");
    struct str copy = secret_dup(a, STR("hidden"));
    ck_assert_str_eq(copy.p, "hidden");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("secret");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_keyring_open__words_lines_and_comments);
    tcase_add_test(tc, test_keyring_open__what_is_no_key);
    tcase_add_test(tc, test_keyring_draw__opens_and_differs);
    tcase_add_test(tc, test_secret_open__what_another_program_sealed);
    tcase_add_test(tc, test_secret_seal__opens_again_with_any_key_of_the_ring);
    tcase_add_test(tc, test_secret_seal__never_twice_the_same);
    tcase_add_test(tc, test_secret_open__another_about_or_key);
    tcase_add_test(tc, test_secret_open__every_bit_counts);
    tcase_add_test(tc, test_secret_open__cut_short_or_something_else);
    tcase_add_test(tc, test_secret_dup__wiped_with_the_arena);
    Suite *s = suite_create("secret");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
