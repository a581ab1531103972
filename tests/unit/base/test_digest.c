#include "digest.h"

#include <check.h>

#include "arena.h"
#include "base.h"

static const char *hex(const uint8_t *p, size_t n)
{
    static char text[2 * DIGEST_SHA256 + 1];
    digest_hex(p, n, text);
    return text;
}

/* FIPS 180-4 examples. */
START_TEST(test_digest_sha256__published_vectors)
{
    uint8_t d[DIGEST_SHA256];
    digest_sha256(STR(""), d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_sha256((struct str){NULL, 0}, d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_sha256(STR("abc"), d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

START_TEST(test_digest_sha256_parts__as_if_joined)
{
    struct str parts[] = {
        STR("a"), STR(""), {NULL, 0},
          STR("bc")
    };
    uint8_t joined[DIGEST_SHA256], d[DIGEST_SHA256];
    digest_sha256(STR("abc"), joined);
    digest_sha256_parts(parts, ARRAY_LEN(parts), d);
    ck_assert_mem_eq(d, joined, sizeof(d));
    AUTO(arena_free) struct arena *a = arena_new();
    ck_assert_str_eq(digest_sha256_text(a, parts, ARRAY_LEN(parts)).p,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_sha256(STR(""), joined);
    digest_sha256_parts(NULL, 0, d);
    ck_assert_mem_eq(d, joined, sizeof(d));
}
END_TEST

/* RFC 4231, cases 1, 2 and 6. */
START_TEST(test_digest_hmac__published_vectors)
{
    uint8_t d[DIGEST_SHA256];
    char key[131];
    memset(key, 0x0b, 20);
    digest_hmac((struct str){key, 20}, STR("Hi There"), d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    digest_hmac(STR("Jefe"), STR("what do ya want for nothing?"), d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    digest_hmac((struct str){key, sizeof(key)},
        STR("Test Using Larger Than Block-Size Key - Hash Key First"), d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
END_TEST

START_TEST(test_digest_hmac__empty_key_and_text)
{
    uint8_t d[DIGEST_SHA256];
    digest_hmac((struct str){NULL, 0}, (struct str){NULL, 0}, d);
    ck_assert_str_eq(
        hex(d, sizeof(d)), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}
END_TEST

/* RFC 1321. */
START_TEST(test_digest_md5__published_vectors)
{
    uint8_t d[DIGEST_MD5];
    digest_md5(STR(""), d);
    ck_assert_str_eq(hex(d, sizeof(d)), "d41d8cd98f00b204e9800998ecf8427e");
    digest_md5(STR("message digest"), d);
    ck_assert_str_eq(hex(d, sizeof(d)), "f96b697d7cb7938d525a2f31aaf161d0");
}
END_TEST

START_TEST(test_digest_hash64__single_bits_and_lengths_give_different_values)
{
    enum { N = 64 * 8 + 65 };
    uint64_t seen[N];
    size_t n = 0;
    char text[64] = {0};
    for (size_t len = 0; len <= sizeof(text); len++)
        seen[n++] = digest_hash64((struct str){text, len});
    for (size_t bit = 0; bit < 64 * 8; bit++) {
        text[bit / 8] = (char)(1U << bit % 8);
        seen[n++] = digest_hash64((struct str){text, sizeof(text)});
        text[bit / 8] = 0;
    }
    ck_assert_uint_eq(n, N);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            ck_assert_uint_ne(seen[i], seen[k]);
}
END_TEST

START_TEST(test_digest_hash64__low_bits_spread_over_a_table)
{
    unsigned slots[256] = {0};
    AUTO(arena_free) struct arena *a = arena_new();
    for (int i = 0; i < 256 * 64; i++)
        slots[digest_hash64(arena_printf(a, "s3://bucket/t%d", i)) % 256]++;
    for (size_t i = 0; i < 256; i++) {
        ck_assert_uint_gt(slots[i], 20);
        ck_assert_uint_lt(slots[i], 130);
    }
}
END_TEST

/* Page tokens and tags are compared by other replicas: the value must not change. */
START_TEST(test_digest_hash64__values_are_fixed)
{
    ck_assert_uint_eq(digest_hash64(STR("")), digest_hash64((struct str){NULL, 0}));
    ck_assert_uint_eq(digest_hash64(STR("")), 0x0dfed81790a31d18U);
    ck_assert_uint_eq(digest_hash64(STR("iceberg")), 0x8705d61250c59cceU);
    ck_assert_uint_eq(
        digest_hash64(STR("s3://bucket/warehouse/db/table/metadata")), 0xf192ec75372d7d30U);
}
END_TEST

/* RFC 4648, section 10. */
START_TEST(test_b64_encode__published_vectors)
{
    static const char *const rows[][2] = {
        {"",       ""        },
        {"f",      "Zg=="    },
        {"fo",     "Zm8="    },
        {"foo",    "Zm9v"    },
        {"foob",   "Zm9vYg=="},
        {"fooba",  "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    AUTO(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ck_assert_str_eq(b64_encode(a, str_from(rows[i][0])).p, rows[i][1]);
        struct str bare = b64url_encode(a, str_from(rows[i][0])), back;
        ck_assert_uint_eq(bare.n, strcspn(rows[i][1], "="));
        ck_assert(b64url_decode(a, bare, &back));
        ck_assert(str_eq(back, str_from(rows[i][0])));
    }
    ck_assert_str_eq(b64_encode(a, STR("\xfb\xff\xfe")).p, "+//+");
    ck_assert_str_eq(b64url_encode(a, STR("\xfb\xff\xfe")).p, "-__-");
}
END_TEST

START_TEST(test_b64url_decode__every_byte_comes_back)
{
    AUTO(arena_free) struct arena *a = arena_new();
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    for (size_t n = 0; n <= sizeof(all); n++) {
        struct str back;
        ck_assert(b64url_decode(a, b64url_encode(a, (struct str){all, n}), &back));
        ck_assert(str_eq(back, (struct str){all, n}));
    }
}
END_TEST

START_TEST(test_b64url_decode__what_is_no_canonical_text)
{
    static const char *const bad[] = {
        "A", "AAAAA", "Zg==", "Zm9v\n", "Zm+v", "Zm/v", "Zm v", "Zh", "Zm9", "\xc3\xa4"};
    AUTO(arena_free) struct arena *a = arena_new();
    struct str out;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!b64url_decode(a, str_from(bad[i]), &out), "%s", bad[i]);
}
END_TEST

START_TEST(test_digest_equal__content_and_length)
{
    ck_assert(digest_equal(STR("token"), STR("token")));
    ck_assert(!digest_equal(STR("token"), STR("tokem")));
    ck_assert(!digest_equal(STR("token"), STR("toke")));
    ck_assert(digest_equal((struct str){NULL, 0}, STR("")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/digest");
    TCase *cases = tcase_create("base/digest");
    tcase_add_test(cases, test_digest_sha256__published_vectors);
    tcase_add_test(cases, test_digest_sha256_parts__as_if_joined);
    tcase_add_test(cases, test_digest_hmac__published_vectors);
    tcase_add_test(cases, test_digest_hmac__empty_key_and_text);
    tcase_add_test(cases, test_digest_md5__published_vectors);
    tcase_add_test(cases, test_digest_hash64__single_bits_and_lengths_give_different_values);
    tcase_add_test(cases, test_digest_hash64__low_bits_spread_over_a_table);
    tcase_add_test(cases, test_digest_hash64__values_are_fixed);
    tcase_add_test(cases, test_b64_encode__published_vectors);
    tcase_add_test(cases, test_b64url_decode__every_byte_comes_back);
    tcase_add_test(cases, test_b64url_decode__what_is_no_canonical_text);
    tcase_add_test(cases, test_digest_equal__content_and_length);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
