#include "boundary.h"

#include "arena.h"
#include "base.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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

static struct str boundary_of(const char *key, enum boundary_access access)
{
    const struct boundary_folder folder = {STR("data"), str_from(key)};
    struct str text = STR("");
    ck_assert_msg(boundary_for_folder(a, &folder, access, &text, &err), "%s: %s", key, err.msg);
    return text;
}

static void refused(struct str bucket, struct str key, const char *words)
{
    const struct boundary_folder folder = {bucket, key};
    struct str text = {NULL, 0};
    ck_assert_msg(
        !boundary_for_folder(a, &folder, BOUNDARY_READ, &text, &err), "%.*s", STR_ARG(key));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
    ck_assert_ptr_null(text.p);
}

START_TEST(test_boundary_for_folder__read)
{
    ck_assert_str_eq(boundary_of("wh/t1", BOUNDARY_READ).p,
        "{\"accessBoundary\":{\"accessBoundaryRules\":[{\"availableResource\":"
        "\"//storage.googleapis.com/projects/_/buckets/data\",\"availablePermissions\":"
        "[\"inRole:roles/storage.objectViewer\"],\"availabilityCondition\":{\"expression\":"
        "\"resource.name.startsWith('projects/_/buckets/data/objects/wh/t1/') || "
        "resource.name.startsWith('projects/_/buckets/data/folders/wh/t1/') || "
        "api.getAttribute('storage.googleapis.com/objectListPrefix', "
        "'').startsWith('wh/t1/')\"}}]}}");
}
END_TEST

START_TEST(test_boundary_for_folder__writers_get_another_role)
{
    ck_assert_ptr_nonnull(
        strstr(boundary_of("t", BOUNDARY_WRITE).p, "[\"inRole:roles/storage.objectUser\"]"));
    ck_assert_ptr_null(strstr(boundary_of("t", BOUNDARY_READ).p, "objectUser"));
}
END_TEST

/* The three texts of the condition, with their escapes undone; NULL: it is none of that form. */
static const char *rest_of(const char *at, const char *before, char out[static 1024])
{
    size_t n = 0;
    if (strncmp(at, before, strlen(before)) != 0)
        return NULL;
    for (at += strlen(before); *at && *at != '\''; at++) {
        if (*at == '\\')
            at++;
        out[n++] = *at;
    }
    out[n] = '\0';
    return *at == '\'' ? at + 1 : NULL;
}

/* Odd names stay what they are: one condition of three texts that name this folder. */
START_TEST(test_boundary_for_folder__odd_keys_are_literal)
{
    static const char *const keys[] = {"a b/c", "it's", "') || true || ('", "a\"b", "a\\", "a\\'b",
        "\\", "'", "*", "${x}", "`x`", "\xc3\xa9", "x%20y", "a') || resource.name.startsWith('",
        "a#b?c"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str text = boundary_of(keys[i], BOUNDARY_WRITE);
        json_t *json = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
        const json_t *rules =
            json_object_get(json_object_get(json, "accessBoundary"), "accessBoundaryRules");
        ck_assert_uint_eq(json_array_size(rules), 1);
        const char *at = json_string_value(json_object_get(
            json_object_get(json_array_get(rules, 0), "availabilityCondition"), "expression"));
        char first[1024], second[1024], third[1024];
        ck_assert_ptr_nonnull(at);
        at = rest_of(at, "resource.name.startsWith('", first);
        ck_assert_ptr_nonnull(at);
        at = rest_of(at, ") || resource.name.startsWith('", second);
        ck_assert_ptr_nonnull(at);
        at = rest_of(at,
            ") || api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('",
            third);
        ck_assert_ptr_nonnull(at);
        ck_assert_str_eq(at, ")");
        ck_assert_str_eq(first, arena_printf(a, "projects/_/buckets/data/objects/%s/", keys[i]).p);
        ck_assert_str_eq(second, arena_printf(a, "projects/_/buckets/data/folders/%s/", keys[i]).p);
        ck_assert_str_eq(third, arena_printf(a, "%s/", keys[i]).p);
        json_decref(json);
    }
}
END_TEST

START_TEST(test_boundary_for_folder__what_would_open_more_is_refused)
{
    static const char *const paths[] = {"/t", "t/", "a//b", ".", "..", "a/../b", "a/.", "./a", "/"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        refused(STR("data"), str_from(paths[i]), "empty, '.' or '..'");
    refused(STR("data"), STR(""), "the whole bucket");
    refused(STR("data"), (struct str){NULL, 0}, "the whole bucket");
    refused(STR("data"), STR("a\nb"), "control character");
    refused(STR("data"), STR("a\0b"), "control character");
    refused(STR("data"), STR("a\x7f"), "control character");
    refused(STR("data"), STR("a\xff"), "no UTF-8");
    refused(STR("data\""), STR("t"), "no name of a bucket");
    refused(STR("data/wh"), STR("t"), "no name of a bucket");
    refused(STR("Data"), STR("t"), "no name of a bucket");
    refused(STR("da"), STR("t"), "no name of a bucket");
    refused(STR(""), STR("t"), "no name of a bucket");
}
END_TEST

START_TEST(test_boundary_for_folder__longer_than_google_takes)
{
    char key[901];
    memset(key, 'k', sizeof(key));
    refused(STR("data"), (struct str){key, 900}, "2048 bytes");
    (void)boundary_of(arena_printf(a, "%.*s", 500, key).p, BOUNDARY_READ);
}
END_TEST

START_TEST(test_boundary_literal__escapes)
{
    struct str out = {NULL, 0};
    ck_assert(boundary_literal(a, STR("a'b\"c\\d"), &out));
    ck_assert_str_eq(out.p, "'a\\'b\\\"c\\\\d'");
    ck_assert(boundary_literal(a, STR(""), &out));
    ck_assert_str_eq(out.p, "''");
    ck_assert(!boundary_literal(a, STR("a\tb"), &out));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("boundary");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_boundary_for_folder__read);
    tcase_add_test(tc, test_boundary_for_folder__writers_get_another_role);
    tcase_add_test(tc, test_boundary_for_folder__odd_keys_are_literal);
    tcase_add_test(tc, test_boundary_for_folder__what_would_open_more_is_refused);
    tcase_add_test(tc, test_boundary_for_folder__longer_than_google_takes);
    tcase_add_test(tc, test_boundary_literal__escapes);
    Suite *s = suite_create("boundary");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
