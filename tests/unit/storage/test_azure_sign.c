/* Against what Azure's SDK for Python (azure-storage-blob 12.12, azure-storage-file-datalake 12.7)
 * makes of the same keys, times and places. */
#include "azure_sign.h"

#include "arena.h"
#include "base.h"
#include "digest.h"
#include "httpdate.h"

#include <check.h>

enum { NOON_S = 1796040000 }; /* 2026-11-30T12:00:00Z */

static struct arena *a;
static struct err err;

static void begin(void)
{
    a = arena_new();
    err = (struct err){0};
}

static void end(void)
{
    arena_free(&a);
}

/* The bytes 0, 1, 2 … */
static struct str key(size_t n)
{
    char bytes[64];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)i;
    return b64_encode(a, (struct str){bytes, n});
}

static struct azure_user_key user(void)
{
    return (struct azure_user_key){
        .oid = STR("11111111-2222-3333-4444-555555555555"),
        .tid = STR("66666666-7777-8888-9999-000000000000"),
        .start = STR("2026-11-30T12:00:00Z"),
        .expiry = STR("2026-11-30T13:00:00Z"),
        .service = STR("b"),
        .version = STR("2020-12-06"),
        .value = key(32),
    };
}

static void signed_is(const struct azure_request *rq, const char *text, const char *signature)
{
    struct str out = STR("");
    ck_assert_str_eq(azure_text(a, rq).p, text);
    ck_assert_msg(azure_sign(a, rq, key(64), &out, &err), "%s", err.msg);
    ck_assert_str_eq(out.p, arena_printf(a, "SharedKey acct:%s", signature).p);
}

START_TEST(test_azure_sign__put_of_a_name_that_is_encoded)
{
    const struct fetch_header headers[] = {
        {STR("x-ms-version"),   STR("2021-12-02")                   },
        {STR("if-none-match"),  STR("*")                            },
        {STR("x-ms-date"),      STR("Mon, 30 Nov 2026 12:00:00 GMT")},
        {STR("content-type"),   STR("application/json")             },
        {STR("x-ms-blob-type"), STR("BlockBlob")                    },
    };
    const struct azure_request rq = {
        .method = STR("PUT"),
        .account = STR("acct"),
        .path = STR("/cont/w/a%20b/%C3%BC%25%2B.json"),
        .length = 12,
        .headers = headers,
        .n_headers = ARRAY_LEN(headers),
    };
    signed_is(&rq,
        "PUT\n\n\n12\n\napplication/json\n\n\n\n*\n\n\n"
        "x-ms-blob-type:BlockBlob\nx-ms-date:Mon, 30 Nov 2026 12:00:00 GMT\n"
        "x-ms-version:2021-12-02\n/acct/cont/w/a%20b/%C3%BC%25%2B.json",
        "09ulkycvvfrND3kl8DmEFUMK03jFQSUXlOmlhMmVl1o=");
}
END_TEST

START_TEST(test_azure_sign__query_is_sorted_and_decoded)
{
    const struct fetch_header headers[] = {
        {STR("x-ms-date"),    STR("Mon, 30 Nov 2026 12:00:00 GMT")},
        {STR("x-ms-version"), STR("2021-12-02")                   },
    };
    const struct azure_request rq = {
        .method = STR("GET"),
        .account = STR("acct"),
        .path = STR("/cont"),
        .query = STR("restype=container&comp=list&prefix=w%2Fa%20b%2F&maxresults=1000&include="
                     "metadata"),
        .headers = headers,
        .n_headers = ARRAY_LEN(headers),
    };
    signed_is(&rq,
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Mon, 30 Nov 2026 12:00:00 GMT\n"
        "x-ms-version:2021-12-02\n/acct/cont\ncomp:list\ninclude:metadata\nmaxresults:1000\n"
        "prefix:w/a b/\nrestype:container",
        "doypc2hIRMmqEk0KzV5De68gtc7ABlP1az0a7CRRW9s=");
}
END_TEST

START_TEST(test_azure_sign__key_that_is_no_base64)
{
    const struct azure_request rq = {
        .method = STR("GET"), .account = STR("acct"), .path = STR("/cont")};
    static const char *const rows[] = {"", "=", "no base64!", "a b=", "x"};
    struct str out = STR("");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ck_assert_msg(!azure_sign(a, &rq, str_from(rows[i]), &out, &err), "%s", rows[i]);
        ck_assert_int_eq(err.kind, ERR_INTERNAL);
        ck_assert(rows[i][0] == '\0' || rows[i][1] == '\0' || !strstr(err.msg, rows[i]));
    }
}
END_TEST

/* By the user's key, and by the account's. */
START_TEST(test_azure_sas__as_the_sdk)
{
    static const struct {
        const char *path, *permissions, *protocols, *scope, *by_user, *by_account;
    } rows[] = {
        {"w/\xc3\xbc b/t1", "racwdl", "https",      "sr=d",
         "VEkk0LYHzUqms8gNGYqISjUzwUnUxPuM1T%2B%2BfsGCA6E%3D",                                                    "PCdLyh8aA6XUfJW5FYNoh6hibhRlzKnXbmGWbq%2B%2BlGc%3D"},
        {"w",               "rl",     "https",      "sr=d", "2hNFidqFzn89E790FUgURD7tZPpdUZKTiOD%2B9t0V%2FYY%3D",
         "cSCfEz1dqUiMLtAR%2FHDrrxSrz3o71P4MNFXZVv6lJyg%3D"                                                                                                           },
        {"",                "racwdl", "https,http", "sr=c", "AHXdJ1l6d7YfSDLoIBEhNAal3auIP18sV7jBuF5LJrc%3D",
         "mc%2BbQDIVqOy%2BXr44oTyAecb1HxOwgiQ8BxhZE7jQ9vo%3D"                                                                                                         },
    };
    const struct azure_user_key who = user();
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        bool by_user = i % 2 == 0;
        struct str out = STR("");
        const struct azure_sas sas = {
            .account = STR("acct"),
            .container = STR("cont"),
            .path = str_from(rows[i / 2].path),
            .permissions = str_from(rows[i / 2].permissions),
            .start_ms = NOON_S * 1000LL,
            .expires_ms = (NOON_S + 3600) * 1000LL,
            .protocols = str_from(rows[i / 2].protocols),
            .user = by_user ? &who : NULL,
        };
        ck_assert(azure_sas_sign(a, &sas, by_user ? who.value : key(64), &out, &err));
        const char *want = by_user ? rows[i / 2].by_user : rows[i / 2].by_account;
        ck_assert_msg(
            str_ends(out, arena_printf(a, "&sig=%s", want)), "%s: %s", rows[i / 2].path, out.p);
        ck_assert(strstr(out.p, rows[i / 2].scope));
        ck_assert(!strstr(out.p, "skoid=") == !by_user);
    }
}
END_TEST

/* How many segments of a request's path are the directory's: "t1" is not the beginning of "t10". */
START_TEST(test_azure_sas__depth_of_a_directory)
{
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"a",     "&sdd=1&"},
        {"a/b",   "&sdd=2&"},
        {"a/b/c", "&sdd=3&"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str out = STR("");
        const struct azure_sas sas = {.account = STR("acct"),
            .container = STR("cont"),
            .path = str_from(rows[i].path),
            .permissions = STR("rl"),
            .protocols = STR("https")};
        ck_assert(azure_sas_sign(a, &sas, key(64), &out, &err));
        ck_assert_msg(strstr(out.p, rows[i].want), "%s", out.p);
    }
}
END_TEST

START_TEST(test_httpdate__there_and_back)
{
    ck_assert_str_eq(httpdate_text(a, NOON_S * 1000LL).p, "Mon, 30 Nov 2026 12:00:00 GMT");
    ck_assert_int_eq(httpdate_parse(STR("Mon, 30 Nov 2026 12:00:00 GMT")), NOON_S * 1000LL);
    ck_assert_int_eq(httpdate_parse(STR("yesterday")), 0);
    ck_assert_int_eq(httpdate_parse((struct str){NULL, 0}), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("azure_sign");
    TCase *t = tcase_create("azure_sign");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, test_azure_sign__put_of_a_name_that_is_encoded);
    tcase_add_test(t, test_azure_sign__query_is_sorted_and_decoded);
    tcase_add_test(t, test_azure_sign__key_that_is_no_base64);
    tcase_add_test(t, test_azure_sas__as_the_sdk);
    tcase_add_test(t, test_azure_sas__depth_of_a_directory);
    tcase_add_test(t, test_httpdate__there_and_back);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
