/* The mark in the names of metadata files. */
#include <check.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "token.h"

static const char warehouse[] = "11111111-1111-4111-8111-111111111111";
static const char other[] = "11111111-1111-4111-8111-111111111112";

START_TEST(test_token__its_warehouse_knows_it)
{
    struct arena *a = arena_new();
    char token[UUID_TEXT + 1];
    for (int i = 0; i < 100; i++) {
        token_draw(str_from(warehouse), token);
        ck_assert(uuid_is(str_from(token)) && token[14] == '4');
        for (int gzip = 0; gzip < 2; gzip++) {
            struct str uri = arena_printf(
                a, "s3://b/t/metadata/%05d-%s%s.metadata.json", i, token, gzip ? ".gz" : "");
            ck_assert(str_eq(token_of_file(str_from(warehouse), uri), str_from(token)));
            ck_assert(!token_of_file(str_from(other), uri).p);
        }
    }
    arena_free(&a);
}
END_TEST

static const char *const strange[] = {
    "",
    ".metadata.json",
    "-.metadata.json",
    "v3.metadata.json",
    "s3://b/00001-%s",
    "s3://b/00001-%s.metadata.json.gz",
    "s3://b/%s.metadata.json",
    "s3://b/-%s.metadata.json",
    "s3://b/a-%s.metadata.json",
    "s3://b/1-%s/x.metadata.json",
    "s3://b/1-%s0.metadata.json",
    "s3://b/1-0%s.metadata.json",
    "s3://b/1-11111111-1111-4111-8111-111111111111.metadata.json",
};

START_TEST(test_token__of_no_file)
{
    struct arena *a = arena_new();
    char token[UUID_TEXT + 1];
    token_draw(str_from(warehouse), token);
    struct str form = str_from(strange[_i]);
    size_t at = 0;
    while (at < form.n && form.p[at] != '%')
        at++;
    struct str uri = form;
    if (at < form.n)
        uri = arena_printf(a, "%.*s%s%s", (int)at, form.p, token, form.p + at + 2);
    ck_assert(!token_of_file(str_from(warehouse), uri).p);
    arena_free(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/token");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_token__its_warehouse_knows_it);
    tcase_add_loop_test(cases, test_token__of_no_file, 0, (int)ARRAY_LEN(strange));
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
