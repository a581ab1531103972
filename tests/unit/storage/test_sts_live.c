/* Roles and session policies against a real token service and store: FIRN_TEST_STS_ENDPOINT,
 * _ACCESS_KEY, _SECRET_KEY, FIRN_TEST_ROLE_ARN beside what test_s3_live.c reads. Run by the suite,
 * which starts one. */
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fetch.h"
#include "policy.h"
#include "store.h"
#include "sts.h"
#include "uuid.h"

#include <check.h>
#include <stdlib.h>

static struct arena *a;
static struct store *own;  /* with the operator's keys */
static struct store *lent; /* with those of a session */
static struct credentials *session;
static struct err err;
static struct str base, key; /* "s3://bucket/x", "x" */

static const char *setting(const char *name)
{
    const char *v = getenv(name);
    ck_assert_msg(v && *v, "%s is not set", name);
    return v;
}

static struct store_conf conf_of(const char *id, const char *secret, const char *token)
{
    return (struct store_conf){
        .base = base.p,
        .s3_endpoint = setting("FIRN_TEST_S3_ENDPOINT"),
        .s3_access_key_id = id,
        .s3_secret_access_key = secret,
        .s3_session_token = token,
    };
}

static void begin(void)
{
    char id[UUID_TEXT + 1];
    a = arena_new();
    fetch_global_init();
    uuid_v4(id);
    key = arena_printf(a, "firn-test-%s", id);
    base = arena_printf(a, "s3://%s/%s", setting("FIRN_TEST_S3_BUCKET"), key.p);
    struct store_conf conf =
        conf_of(setting("FIRN_TEST_S3_ACCESS_KEY"), setting("FIRN_TEST_S3_SECRET_KEY"), NULL);
    ck_assert_msg(store_open(&conf, &own, &err), "%s", err.msg);
}

static void end(void)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    if (store_list(a, own, base, 10000, &e, &n, &err))
        for (size_t i = 0; i < n; i++)
            (void)!store_delete(own, e[i].uri, &err);
    store_close(&own);
    store_close(&lent);
    credentials_unref(&session);
    fetch_global_fini();
    arena_free(&a);
}

static struct sts_service service(void)
{
    return (struct sts_service){.endpoint = str_from(setting("FIRN_TEST_STS_ENDPOINT")),
        .deadline_us = clock_mono_us() + 20000000};
}

static struct credentials *asking_keys(void)
{
    return credentials_new(str_from(setting("FIRN_TEST_STS_ACCESS_KEY")),
        str_from(setting("FIRN_TEST_STS_SECRET_KEY")), (struct str){NULL, 0}, 0);
}

static bool assume(struct str policy, int duration_s, struct credentials **out)
{
    AUTO(credentials_unref) struct credentials *by = asking_keys();
    const struct sts_service at = service();
    const struct sts_role role = {.arn = str_from(setting("FIRN_TEST_ROLE_ARN")),
        .session = STR("firn-test"),
        .policy = policy,
        .duration_s = duration_s};
    return sts_assume_role(&at, by, &role, out, &err);
}

/* Opens `lent` for a folder beneath the base. */
static void lend(const char *folder, enum policy_access access)
{
    const struct policy_folder f = {.bucket = str_from(setting("FIRN_TEST_S3_BUCKET")),
        .key = arena_printf(a, "%s/%s", key.p, folder)};
    struct str policy = STR("");
    store_close(&lent);
    credentials_unref(&session);
    ck_assert_msg(policy_for_folder(a, &f, access, &policy, &err), "%s", err.msg);
    ck_assert_msg(assume(policy, 900, &session), "%s", err.msg);
    struct store_conf conf = conf_of(session->id, session->secret, session->token);
    ck_assert_msg(store_open(&conf, &lent, &err), "%s", err.msg);
}

static struct str at(const char *name)
{
    return arena_printf(a, "%s/%s", base.p, name);
}

static bool put(struct store *s, const char *name)
{
    struct str text = STR("text");
    return store_put_new(s, at(name), &text, 1, "text/plain", &err);
}

static bool get(struct store *s, const char *name)
{
    AUTO(buf_fini) struct buf b = {0};
    return store_get(s, at(name), 100, &b, &err);
}

static bool list(struct store *s, const char *name)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    return store_list(a, s, at(name), 10, &e, &n, &err);
}

static void denied(bool ok)
{
    ck_assert(!ok);
    ck_assert_msg(err.kind == ERR_STORE_DENIED, "%s: %s", err_name(err.kind), err.msg);
}

START_TEST(test_sts_live__keys_of_a_session_expire)
{
    lend("t1", POLICY_WRITE);
    int64_t left_s = (session->expires_ms - clock_ms()) / 1000;
    ck_assert_ptr_nonnull(session->token);
    ck_assert_msg(left_s > 600 && left_s <= 1000, "%lld", (long long)left_s);
}
END_TEST

START_TEST(test_sts_live__write_reaches_one_folder)
{
    ck_assert(put(own, "t10/a") && put(own, "b") && put(own, "t1"));
    lend("t1", POLICY_WRITE);
    ck_assert_msg(put(lent, "t1/data/a"), "%s", err.msg);
    ck_assert_msg(get(lent, "t1/data/a"), "%s", err.msg);
    ck_assert_msg(list(lent, "t1"), "%s", err.msg);
    ck_assert_msg(list(lent, "t1/data"), "%s", err.msg);
    ck_assert_msg(store_delete(lent, at("t1/data/a"), &err), "%s", err.msg);
    /* a sibling that shares the beginning, the folder above, the folder's own name */
    denied(get(lent, "t10/a"));
    denied(put(lent, "t10/b"));
    denied(store_delete(lent, at("t10/a"), &err));
    denied(get(lent, "b"));
    denied(get(lent, "t1"));
    denied(put(lent, "c"));
    denied(list(lent, "t10"));
    ck_assert(get(own, "t10/a"));
}
END_TEST

START_TEST(test_sts_live__read_only)
{
    ck_assert(put(own, "t1/a") && put(own, "t10/a"));
    lend("t1", POLICY_READ);
    ck_assert_msg(get(lent, "t1/a"), "%s", err.msg);
    ck_assert_msg(list(lent, "t1"), "%s", err.msg);
    denied(put(lent, "t1/b"));
    denied(store_delete(lent, at("t1/a"), &err));
    denied(get(lent, "t10/a"));
}
END_TEST

START_TEST(test_sts_live__odd_names)
{
    static const char *const names[] = {"a b", "t+1", "\xc3\xa9=1", "x%20y", "a'b(c)!~"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *inside = arena_printf(a, "%s/x", names[i]).p;
        const char *beside = arena_printf(a, "%s2/x", names[i]).p;
        lend(names[i], POLICY_WRITE);
        ck_assert_msg(put(lent, inside), "%s: %s", names[i], err.msg);
        ck_assert_msg(get(lent, inside), "%s: %s", names[i], err.msg);
        denied(put(lent, beside));
    }
}
END_TEST

static void refused(const char *id, const char *secret, const char *arn)
{
    AUTO(credentials_unref)
    struct credentials *by =
        credentials_new(str_from(id), str_from(secret), (struct str){NULL, 0}, 0);
    AUTO(credentials_unref) struct credentials *out = NULL;
    const struct sts_service at_service = service();
    const struct sts_role role = {.arn = str_from(arn), .session = STR("firn-test")};
    ck_assert(!sts_assume_role(&at_service, by, &role, &out, &err));
    ck_assert_msg(err.kind == ERR_KEYS_REFUSED, "%s: %s", err_name(err.kind), err.msg);
    ck_assert_msg(strstr(err.msg, "when asked for the role "), "%s", err.msg);
    ck_assert(!strstr(err.msg, secret));
}

START_TEST(test_sts_live__refusals_say_why)
{
    const char *id = setting("FIRN_TEST_STS_ACCESS_KEY"), *arn = setting("FIRN_TEST_ROLE_ARN");
    refused(id, "wrong-secret-0123456789012345678901234", arn);
    refused("AKIAWRONG00000000000", "wrong-secret-0123456789012345678901234", arn);
    refused(id, setting("FIRN_TEST_STS_SECRET_KEY"), arena_printf(a, "%s-none", arn).p);
}
END_TEST

/* What `firn serve` does when FIRN_S3_ROLE_ARN is set. */
START_TEST(test_sts_live__store_by_role)
{
    struct store_conf conf =
        conf_of(setting("FIRN_TEST_STS_ACCESS_KEY"), setting("FIRN_TEST_STS_SECRET_KEY"), NULL);
    conf.s3_role_arn = setting("FIRN_TEST_ROLE_ARN");
    conf.sts_endpoint = setting("FIRN_TEST_STS_ENDPOINT");
    ck_assert_msg(store_open(&conf, &lent, &err), "%s", err.msg);
    ck_assert_msg(put(lent, "by-role"), "%s", err.msg);
    ck_assert_msg(get(lent, "by-role"), "%s", err.msg); /* on RGW the role owns it */
    store_close(&lent);
    conf.s3_role_arn = NULL; /* the keys alone may nothing */
    ck_assert_msg(store_open(&conf, &lent, &err), "%s", err.msg);
    denied(put(lent, "without-role"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sts_live");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_sts_live__keys_of_a_session_expire);
    tcase_add_test(tc, test_sts_live__write_reaches_one_folder);
    tcase_add_test(tc, test_sts_live__read_only);
    tcase_add_test(tc, test_sts_live__odd_names);
    tcase_add_test(tc, test_sts_live__refusals_say_why);
    tcase_add_test(tc, test_sts_live__store_by_role);
    Suite *suite = suite_create("sts_live");
    suite_add_tcase(suite, tc);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
