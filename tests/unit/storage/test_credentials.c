#include "base.h"
#include "credentials.h"
#include "folder.h"
#include "store.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "HOME"};

static void begin(void)
{
    (void)folder_make();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(folder_path(name), "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static void check_keys(
    const struct store_conf *conf, const char *id, const char *secret, const char *token)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    struct err err = {0};
    ck_assert_msg(credentials_load(conf, &c, &err), "%s", err.msg);
    ck_assert_str_eq(c->id, id);
    ck_assert_str_eq(c->secret, secret);
    ck_assert_pstr_eq(c->token, token);
}

static void check_none(const struct store_conf *conf, const char *words)
{
    AUTO(credentials_unref) struct credentials *c = NULL;
    struct err err = {0};
    ck_assert(!credentials_load(conf, &c, &err));
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
}

START_TEST(test_credentials_load__settings_come_first)
{
    set("AWS_ACCESS_KEY_ID", "env");
    set("AWS_SECRET_ACCESS_KEY", "env-secret");
    struct store_conf conf = {.s3_access_key_id = "id", .s3_secret_access_key = "secret"};
    check_keys(&conf, "id", "secret", NULL);
    conf.s3_session_token = "token";
    check_keys(&conf, "id", "secret", "token");
}
END_TEST

START_TEST(test_credentials_load__half_a_setting_is_an_error)
{
    struct store_conf conf = {.s3_access_key_id = "id"};
    check_none(&conf, "without its secret key");
    conf = (struct store_conf){.s3_secret_access_key = "hidden"};
    check_none(&conf, "without its access key");
}
END_TEST

START_TEST(test_credentials_load__environment_before_file)
{
    write_file("credentials", "[default]\naws_access_key_id=f\naws_secret_access_key=fs\n");
    set("AWS_SHARED_CREDENTIALS_FILE", folder_path("credentials"));
    set("AWS_ACCESS_KEY_ID", "env");
    check_keys(&(struct store_conf){0}, "f", "fs", NULL); /* half an environment does not count */
    set("AWS_SECRET_ACCESS_KEY", "env-secret");
    set("AWS_SESSION_TOKEN", "t");
    check_keys(&(struct store_conf){0}, "env", "env-secret", "t");
}
END_TEST

START_TEST(test_credentials_load__profiles_of_the_file)
{
    write_file("credentials",
        "# a comment\r\n[ other ]\naws_access_key_id = o\naws_secret_access_key = os=/+\n"
        "AWS_SESSION_TOKEN\t=\tot\n\n; another\n[default]\n  aws_access_key_id=d\r\n"
        "aws_secret_access_key=ds\r\nregion = eu-central-1\n[empty]\n");
    set("AWS_SHARED_CREDENTIALS_FILE", folder_path("credentials"));
    check_keys(&(struct store_conf){0}, "d", "ds", NULL);
    set("AWS_PROFILE", "other");
    check_keys(&(struct store_conf){0}, "o", "os=/+", "ot");
    set("AWS_PROFILE", "empty");
    check_none(&(struct store_conf){0}, "the profile empty in ");
}
END_TEST

START_TEST(test_credentials_load__file_in_home)
{
    check_none(&(struct store_conf){0}, "~/.aws/credentials");
    set("HOME", folder_path(""));
    check_none(&(struct store_conf){0}, "FIRN_S3_ACCESS_KEY_ID");
    ck_assert_int_eq(mkdir(folder_path(".aws"), 0700), 0);
    write_file(".aws/credentials", "[default]\naws_access_key_id=h\naws_secret_access_key=hs");
    check_keys(&(struct store_conf){0}, "h", "hs", NULL);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("credentials");
    tcase_add_checked_fixture(tc, begin, folder_remove);
    tcase_add_test(tc, test_credentials_load__settings_come_first);
    tcase_add_test(tc, test_credentials_load__half_a_setting_is_an_error);
    tcase_add_test(tc, test_credentials_load__environment_before_file);
    tcase_add_test(tc, test_credentials_load__profiles_of_the_file);
    tcase_add_test(tc, test_credentials_load__file_in_home);
    Suite *s = suite_create("credentials");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
