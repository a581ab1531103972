/* Azure's storage against scripted answers: what it does on bad days. */
#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fetch.h"
#include "httpdate.h"
#include "lane.h"
#include "store.h"
#include "stub.h"
#include "vend.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SECRET "c2VjcmV0IG9mIHRoZSBhY2NvdW50"
#define BASE   "abfss://cont@acct.dfs.core.windows.net/wh"
#define OBJECT BASE "/t/1.json"
#define ANSWER(status, headers, body)                                                              \
    "HTTP/1.1 " status "\r\n" headers "Connection: close\r\n\r\n" body
#define FAILS(status, code)                                                                        \
    ANSWER(status, "",                                                                             \
        "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<Error><Code>" code                                  \
        "</Code><Message>words of the store\nRequestId:1\nTime:2</Message></Error>")
#define CREATED ANSWER("201 Created", "Content-Length: 0\r\n", "")
#define HELLO   ANSWER("200 OK", "Content-Length: 5\r\n", "hello")
#define TAKEN   FAILS("409 The specified blob already exists.", "BlobAlreadyExists")
#define BUSY    FAILS("503 Server Busy", "ServerBusy")
#define SILENT                                                                                     \
    {                                                                                              \
        .end = STUB_CLOSE                                                                          \
    }

static struct arena *a;
static struct store *s;
static struct err err;
static struct store_conf conf;
static char endpoint[96];

static void begin(void)
{
    static const char *const names[] = {"AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID",
        "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST", "IDENTITY_ENDPOINT",
        "IDENTITY_HEADER"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]);
    a = arena_new();
    err = (struct err){0};
    conf = (struct store_conf){.base = BASE, .azure_account_key = SECRET, .s3_deadline_ms = 5000};
    fetch_global_init();
}

static void end(void)
{
    /* Whatever was said, it was neither the secret nor a signature. */
    ck_assert_ptr_null(strstr(err.msg, SECRET));
    ck_assert_ptr_null(strstr(err.msg, "SharedKey"));
    ck_assert_ptr_null(strstr(err.msg, "sig="));
    lane_enter(LANE_SLOW);
    store_close(&s);
    stub_stop();
    arena_free(&a);
    fetch_global_fini();
}

static void open_store(void)
{
    ck_assert_msg(store_open(&conf, &s, &err), "%s", err.msg);
}

static void play(const struct stub_step *steps, size_t n)
{
    (void)snprintf(endpoint, sizeof(endpoint), "%s/acct", stub_start(steps, n));
    conf.azure_endpoint = endpoint;
    open_store();
}
#define PLAY(...)                                                                                  \
    static const struct stub_step steps_[] = {__VA_ARGS__};                                        \
    play(steps_, ARRAY_LEN(steps_))

static bool put(const char *text)
{
    struct str half[] = {str_sub(str_from(text), 0, 1), str_sub(str_from(text), 1, SIZE_MAX)};
    return store_put_new(s, STR(OBJECT), half, 2, "application/json", &err);
}

static void put_fails(enum err_kind kind)
{
    ck_assert(!put("hello"));
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
}

static void get_fails(enum err_kind kind, const char *words)
{
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(!store_get(s, STR(OBJECT), 100, &b, &err));
    ck_assert_msg(err.kind == kind, "%s: %s", err_name(err.kind), err.msg);
    ck_assert_msg(strstr(err.msg, words) != NULL, "%s", err.msg);
}

/* --- writing -----------------------------------------------------------------------------------
 */

START_TEST(test_adls_put__request_on_the_wire)
{
    PLAY({.answer = CREATED});
    ck_assert_msg(put("hello"), "%s", err.msg);
    ck_assert(stub_saw(0, "PUT /acct/cont/wh/t/1.json HTTP/1.1\r\n"));
    ck_assert(stub_saw(0, "\r\nif-none-match: *\r\n"));
    ck_assert(stub_saw(0, "\r\nx-ms-blob-type: BlockBlob\r\n"));
    ck_assert(stub_saw(0, "\r\nx-ms-version: 2021-12-02\r\n"));
    ck_assert(stub_saw(0, "\r\ncontent-type: application/json\r\n"));
    ck_assert(stub_saw(0, "\r\nauthorization: SharedKey acct:"));
    ck_assert(stub_saw(0, "\r\n\r\nhello"));
    ck_assert(!stub_saw(0, SECRET));
}
END_TEST

START_TEST(test_adls_put__taken)
{
    PLAY({.answer = TAKEN});
    put_fails(ERR_STORE_EXISTS);
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

START_TEST(test_adls_put__answer_lost_and_then_taken_by_us)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = HELLO});
    ck_assert_msg(put("hello"), "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 3);
}
END_TEST

START_TEST(test_adls_put__answer_lost_and_then_taken_by_another)
{
    PLAY({.answer = BUSY}, {.answer = TAKEN}, {.answer = HELLO});
    ck_assert(!put("hallo"));
    ck_assert_int_eq(err.kind, ERR_STORE_EXISTS);
}
END_TEST

START_TEST(test_adls_put__answer_lost_and_nobody_tells)
{
    PLAY(SILENT, {.answer = TAKEN}, {.answer = FAILS("403 Forbidden", "AuthorizationFailure")});
    put_fails(ERR_UNAVAILABLE);
}
END_TEST

START_TEST(test_adls_put__sent_again_until_it_is_served)
{
    PLAY({.answer = BUSY}, {.answer = FAILS("500 Internal", "OperationTimedOut")},
        {.answer = FAILS("409 Conflict", "ContainerBeingDeleted")}, {.answer = CREATED});
    ck_assert_msg(put("hello"), "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 4);
}
END_TEST

START_TEST(test_adls_put__given_up)
{
    PLAY({.answer = BUSY}, {.answer = BUSY}, {.answer = BUSY}, {.answer = BUSY}, {.answer = BUSY});
    put_fails(ERR_UNAVAILABLE);
    ck_assert(strstr(err.msg, "given up after 5 tries") && strstr(err.msg, "ServerBusy"));
}
END_TEST

START_TEST(test_adls_put__refusals)
{
    static const struct {
        const char *answer;
        enum err_kind kind;
    } rows[] = {
        {FAILS("412 Precondition", "ConditionNotMet"),                 ERR_STORE_EXISTS },
        {FAILS("404 Not Found",    "ContainerNotFound"),               ERR_INTERNAL     },
        {FAILS("403 Forbidden",    "AuthorizationPermissionMismatch"), ERR_STORE_DENIED },
        {FAILS("409 Conflict",     "BlobImmutableDueToPolicy"),        ERR_STORE_DENIED },
        {FAILS("400 Bad Request",  "InvalidUri"),                      ERR_STORE_BAD_URI},
        {FAILS("413 Too Large",    "RequestBodyTooLarge"),             ERR_TOO_LARGE    },
        {FAILS("400 Bad Request",  "InvalidHeaderValue"),              ERR_INTERNAL     },
    };
    static struct stub_step steps[ARRAY_LEN(rows)];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        steps[i] = (struct stub_step){.answer = rows[i].answer};
    play(steps, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put_fails(rows[i].kind);
        ck_assert(strstr(err.msg, "abfss://cont@acct.dfs.core.windows.net/wh/t/1.json"));
        ck_assert(!strstr(err.msg, "words of the store"));
        ck_assert_str_eq(err.said, i == 0 ? "" : ": words of the store");
    }
}
END_TEST

/* --- reading, deleting -------------------------------------------------------------------------
 */

START_TEST(test_adls_get__what_comes_back)
{
    AUTO(buf_fini) struct buf b = {0};
    PLAY({.answer = HELLO},
        {.answer = ANSWER("404 Not Found", "x-ms-error-code: BlobNotFound\r\n", "")},
        {.answer = HELLO}, {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"},
        {.answer = HELLO});
    ck_assert(store_get(s, STR(OBJECT), 100, &b, &err));
    ck_assert(str_eq(buf_view(&b), STR("hello")));
    get_fails(ERR_STORE_NOT_FOUND, "404 BlobNotFound");
    buf_fini(&b);
    ck_assert(!store_get(s, STR(OBJECT), 4, &b, &err));
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    buf_fini(&b);
    ck_assert(store_get(s, STR(OBJECT), 100, &b, &err)); /* cut off, and asked for again */
    ck_assert_uint_eq(stub_count(), 5);
}
END_TEST

START_TEST(test_adls_delete__also_what_is_gone)
{
    PLAY({.answer = ANSWER("202 Accepted", "Content-Length: 0\r\n", "")},
        {.answer = FAILS("404 Not Found", "BlobNotFound")},
        {.answer = FAILS("409 Conflict", "DirectoryIsNotEmpty")});
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert(store_delete(s, STR(OBJECT), &err));
    ck_assert(!store_delete(s, STR(OBJECT), &err));
    ck_assert(stub_saw(0, "DELETE /acct/cont/wh/t/1.json "));
    ck_assert(stub_saw(0, "x-ms-delete-snapshots: include"));
}
END_TEST

START_TEST(test_adls_get__clock_that_is_wrong)
{
    char answer[512];
    AUTO(buf_fini) struct buf b = {0};
    struct str theirs = httpdate_text(a, clock_ms() + 3600 * 1000);
    (void)snprintf(answer, sizeof(answer),
        ANSWER("403 Forbidden", "Date: %s\r\n", "<Error><Code>AuthenticationFailed</Code></Error>"),
        theirs.p);
    const struct stub_step steps[] = {{.answer = answer}, {.answer = HELLO}};
    play(steps, ARRAY_LEN(steps));
    ck_assert_msg(store_get(s, STR(OBJECT), 100, &b, &err), "%s", err.msg);
    char hour[32];
    (void)snprintf(hour, sizeof(hour), "x-ms-date: %.19s", theirs.p);
    ck_assert(!stub_saw(0, hour));
    ck_assert(stub_saw(1, hour));
}
END_TEST

/* --- lists -------------------------------------------------------------------------------------
 */

#define PAGE(blobs, marker)                                                                        \
    ANSWER("200 OK", "",                                                                           \
        "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults "               \
        "ServiceEndpoint=\"x\" ContainerName=\"cont\"><Prefix>wh/t/</Prefix><Blobs>" blobs         \
        "</Blobs><NextMarker>" marker "</NextMarker></EnumerationResults>")
#define BLOB(name, more)                                                                           \
    "<Blob><Name>" name "</Name><Properties><Last-Modified>Mon, 30 Nov 2026 12:00:00 GMT"          \
    "</Last-Modified><Content-Length>7</Content-Length>" more "</Blob>"
#define FILE_    "</Properties><Metadata><Name>other</Name></Metadata>"
#define FOLDER   "<ResourceType>directory</ResourceType></Properties>"
#define OLD_FOLD "</Properties><Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>"

START_TEST(test_adls_list__pages_without_directories)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    PLAY({.answer = PAGE(BLOB("wh/t/a&amp;b.json", FILE_) BLOB("wh/t/sub", FOLDER), "1!2=")},
        {.answer = PAGE(BLOB("wh/t/sub/c", FILE_) BLOB("wh/t/old", OLD_FOLD), "")});
    ck_assert_msg(store_list(a, s, STR(BASE "/t/"), 10, &e, &n, &err), "%s", err.msg);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(e[0].uri.p, BASE "/t/a&b.json");
    ck_assert_int_eq(e[0].size, 7);
    ck_assert_int_eq(e[0].modified_ms, 1796040000000);
    ck_assert_str_eq(e[1].uri.p, BASE "/t/sub/c");
    ck_assert(stub_saw(0, "GET /acct/cont?comp=list&include=metadata&maxresults=1000&"
                          "prefix=wh%2Ft%2F&restype=container HTTP"));
    ck_assert(stub_saw(1, "&marker=1%212%3D&"));
}
END_TEST

START_TEST(test_adls_list__folders)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    PLAY({.answer = PAGE("<BlobPrefix><Name>wh/t/</Name></BlobPrefix>" BLOB("wh/x", FILE_)
                             BLOB("wh/t", FOLDER),
              "")});
    ck_assert(store_list_folders(a, s, STR(BASE), 10, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(e[0].uri.p, BASE "/t");
    ck_assert(stub_saw(0, "&delimiter=%2F&"));
}
END_TEST

START_TEST(test_adls_list__what_is_no_list)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    PLAY({.answer = PAGE("", "again")}, {.answer = PAGE("", "again")},
        {.answer = ANSWER("200 OK", "", "<html></html>")});
    ck_assert(!store_list(a, s, STR(BASE), 10, &e, &n, &err));
    ck_assert(strstr(err.msg, "does not say how to go on"));
    ck_assert(!store_list(a, s, STR(BASE), 10, &e, &n, &err));
    ck_assert(strstr(err.msg, "expected EnumerationResults, found html"));
}
END_TEST

/* --- opening -----------------------------------------------------------------------------------
 */

START_TEST(test_adls_open__what_cannot_be)
{
    static const char *const elsewhere[] = {"abfss://cont@other.dfs.core.windows.net/x", NULL};
    conf.allowed = elsewhere;
    ck_assert(!store_open(&conf, &s, &err) && strstr(err.msg, "another storage account"));
    conf.allowed = NULL;
    conf.base = "wasbs://cont@acct.blob.core.windows.net/wh";
    ck_assert(!store_open(&conf, &s, &err) && strstr(err.msg, "with \"abfss\""));
    conf.base = BASE;
    static const char *const endpoints[] = {
        "ftp://h", "http://h/a/b", "http://h?x", "http://h/a%2f", "http://user@h"};
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        conf.azure_endpoint = endpoints[i];
        ck_assert_msg(!store_open(&conf, &s, &err), "%s", endpoints[i]);
        ck_assert(strstr(err.msg, "the Azure endpoint is not understood"));
    }
}
END_TEST

START_TEST(test_adls_open__the_accounts_two_interfaces_are_one_place)
{
    open_store();
    ck_assert(store_check(a, s, STR("wasbs://cont@ACCT.blob.core.windows.net/wh/t"), &err));
    ck_assert(store_check(a, s, STR("abfs://cont@acct.dfs.core.windows.net/wh/t"), &err));
    ck_assert(!store_check(a, s, STR("abfss://cont@acct.dfs.core.windows.net/wh2"), &err));
    ck_assert(!store_check(a, s, STR("abfss://cont2@acct.dfs.core.windows.net/wh"), &err));
}
END_TEST

/* --- for clients -------------------------------------------------------------------------------
 */

#define USER_KEY                                                                                   \
    ANSWER("200 OK", "",                                                                           \
        "\xef\xbb\xbf<?xml version=\"1.0\"?><UserDelegationKey><SignedOid>o</SignedOid>"           \
        "<SignedTid>t</SignedTid><SignedStart>2026-11-30T12:00:00Z</SignedStart><SignedExpiry>"    \
        "2026-11-30T13:00:00Z</SignedExpiry><SignedService>b</SignedService><SignedVersion>"       \
        "2021-12-02</SignedVersion><Value>a2V5</Value></UserDelegationKey>")
#define TOKEN ANSWER("200 OK", "", "{\"access_token\":\"the-token\",\"expires_in\":3599}")

static void as_application(void)
{
    conf.azure_account_key = NULL;
    conf.azure_tenant_id = "tenant";
    conf.azure_client_id = "client";
    conf.azure_client_secret = SECRET;
    conf.azure_vend = STORE_AZURE_DIRECTORY;
}

static void play_application(const struct stub_step *steps, size_t n)
{
    as_application();
    const char *url = stub_start(steps, n);
    (void)snprintf(endpoint, sizeof(endpoint), "%s/acct", url);
    (void)setenv("AZURE_AUTHORITY_HOST", url, 1);
    conf.azure_endpoint = endpoint;
    open_store();
}

START_TEST(test_adls_vend__signature_by_a_key_of_the_user)
{
    static const struct stub_step steps[] = {{.answer = TOKEN}, {.answer = USER_KEY}};
    struct vended v = {0};
    play_application(steps, ARRAY_LEN(steps));
    ck_assert(vend_offered(s));
    for (int i = 0; i < 2; i++) /* the second time from what is kept */
        ck_assert_msg(vend_get(a, s, STR(BASE "/t1"), VEND_WRITE, &v, &err), "%s", err.msg);
    ck_assert_uint_eq(stub_count(), 2);
    ck_assert(stub_saw(0, "POST /tenant/oauth2/v2.0/token "));
    ck_assert(stub_saw(0, "grant_type=client_credentials&scope=https%3A%2F%2Fstorage.azure.com%2F."
                          "default&client_id=client&client_secret="));
    ck_assert(stub_saw(1, "POST /acct/?comp=userdelegationkey&restype=service "));
    ck_assert(stub_saw(1, "\r\nauthorization: Bearer the-token\r\n"));
    ck_assert(stub_saw(1, "<KeyInfo><Start>20"));
    ck_assert_int_eq(v.kind, VENDED_ADLS);
    ck_assert_str_eq(v.host.p, "acct.dfs.core.windows.net");
    ck_assert(str_eq(v.endpoint, str_from(endpoint)));
    ck_assert(strstr(v.secret.p, "&sr=d&sp=racwdl&spr=https%2Chttp&sdd=2&skoid=o&sktid=t&"));
    ck_assert(v.expires_ms > clock_ms() + 3500 * 1000LL && v.fresh_ms < v.expires_ms);
}
END_TEST

START_TEST(test_adls_vend__places_without_a_signature)
{
    struct vended v = {0};
    as_application();
    (void)setenv("AZURE_AUTHORITY_HOST", "http://127.0.0.1:1", 1);
    open_store();
    ck_assert(!vend_get(a, s, STR(BASE "/a%41"), VEND_WRITE, &v, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    ck_assert(!vend_get(a, s, STR(BASE), VEND_WRITE, &v, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert(
        !vend_get(a, s, STR("abfss://cont@acct.dfs.core.windows.net/x"), VEND_WRITE, &v, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    lane_enter(LANE_FAST);
    ck_assert(!vend_get(a, s, STR(BASE "/t"), VEND_WRITE, &v, &err));
    ck_assert_int_eq(err.kind, ERR_WOULD_BLOCK);
}
END_TEST

START_TEST(test_adls_vend__the_accounts_key_only_when_told)
{
    struct vended v = {0};
    conf.azure_vend = STORE_AZURE_DIRECTORY;
    open_store();
    ck_assert(!vend_get(a, s, STR(BASE "/t"), VEND_READ, &v, &err));
    ck_assert(err.kind == ERR_INTERNAL && strstr(err.msg, "vend-by-account-key"));
    store_close(&s);
    conf.azure_signer = STORE_AZURE_ANY_KEY;
    open_store();
    ck_assert_msg(vend_get(a, s, STR(BASE "/t"), VEND_READ, &v, &err), "%s", err.msg);
    ck_assert(strstr(v.secret.p, "&sr=d&sp=rl&spr=https&sdd=2&sig="));
    ck_assert_ptr_null(v.endpoint.p);
    store_close(&s);
    conf.azure_vend = STORE_AZURE_CONTAINER;
    open_store();
    ck_assert(vend_get(a, s, STR(BASE "/t"), VEND_READ, &v, &err));
    ck_assert(strstr(v.secret.p, "&sr=c&sp=rl&spr=https&sig="));
}
END_TEST

START_TEST(test_adls_vend__onelake_gives_an_hour)
{
    struct vended v = {0};
    conf.base = "abfss://space@onelake.dfs.fabric.microsoft.com/lake";
    conf.azure_vend = STORE_AZURE_DIRECTORY;
    conf.azure_signer = STORE_AZURE_ANY_KEY;
    conf.vend_duration_s = 7200;
    open_store();
    int64_t now = clock_ms();
    ck_assert_msg(vend_get(a, s, STR("abfss://space@onelake.dfs.fabric.microsoft.com/lake/t"),
                      VEND_WRITE, &v, &err),
        "%s", err.msg);
    ck_assert_int_le(v.expires_ms, now + 3600 * 1000LL);
    ck_assert_int_ge(v.expires_ms, now + 3500 * 1000LL);
}
END_TEST

START_TEST(test_adls_vend__the_service_refuses)
{
    static const struct stub_step steps[] = {{.answer = TOKEN},
        {.answer = FAILS("403 Forbidden", "AuthorizationPermissionMismatch")},
        {.answer =
                ANSWER("200 OK", "", "<UserDelegationKey><Value>x</Value></UserDelegationKey>")}};
    struct vended v = {0};
    play_application(steps, ARRAY_LEN(steps));
    ck_assert(!vend_get(a, s, STR(BASE "/t"), VEND_WRITE, &v, &err));
    ck_assert(err.kind == ERR_KEYS_REFUSED && strstr(err.msg, "AuthorizationPermissionMismatch"));
    ck_assert(!vend_get(a, s, STR(BASE "/t"), VEND_WRITE, &v, &err));
    ck_assert(err.kind == ERR_INTERNAL && strstr(err.msg, "no user delegation key"));
}
END_TEST

/* --- tokens ------------------------------------------------------------------------------------
 */

START_TEST(test_adls_token__renewed_when_it_is_refused)
{
    static const struct stub_step steps[] = {{.answer = TOKEN},
        {.answer = FAILS("401 Unauthorized", "InvalidAuthenticationInfo")},
        {.answer = ANSWER("200 OK", "", "{\"access_token\":\"second\",\"expires_in\":\"3599\"}")},
        {.answer = HELLO}};
    AUTO(buf_fini) struct buf b = {0};
    play_application(steps, ARRAY_LEN(steps));
    /* The keeper asks at most once a second. */
    ck_assert(store_get(s, STR(OBJECT), 100, &b, &err) || err.kind == ERR_STORE_DENIED);
    ck_assert(stub_saw(1, "Bearer the-token"));
    ck_assert(stub_count() == 2 || stub_saw(3, "Bearer second"));
}
END_TEST

START_TEST(test_adls_token__the_service_refuses)
{
    static const struct stub_step steps[] = {
        {.answer = ANSWER("401 Unauthorized", "",
             "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: Invalid client "
             "secret.\\r\\nTrace ID: 1\"}")},
    };
    play_application(steps, ARRAY_LEN(steps));
    get_fails(ERR_INTERNAL, "401 invalid_client");
    ck_assert_str_eq(err.said, ": AADSTS7000215: Invalid client secret.");
    ck_assert(strstr(err.msg, "no Azure keys from the application of the settings"));
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, test_adls_put__request_on_the_wire);
    tcase_add_test(t, test_adls_put__taken);
    tcase_add_test(t, test_adls_put__answer_lost_and_then_taken_by_us);
    tcase_add_test(t, test_adls_put__answer_lost_and_then_taken_by_another);
    tcase_add_test(t, test_adls_put__answer_lost_and_nobody_tells);
    tcase_add_test(t, test_adls_put__sent_again_until_it_is_served);
    tcase_add_test(t, test_adls_put__given_up);
    tcase_add_test(t, test_adls_put__refusals);
    tcase_add_test(t, test_adls_get__what_comes_back);
    tcase_add_test(t, test_adls_delete__also_what_is_gone);
    tcase_add_test(t, test_adls_get__clock_that_is_wrong);
    tcase_add_test(t, test_adls_list__pages_without_directories);
    tcase_add_test(t, test_adls_list__folders);
    tcase_add_test(t, test_adls_list__what_is_no_list);
    tcase_add_test(t, test_adls_open__what_cannot_be);
    tcase_add_test(t, test_adls_open__the_accounts_two_interfaces_are_one_place);
    tcase_add_test(t, test_adls_vend__signature_by_a_key_of_the_user);
    tcase_add_test(t, test_adls_vend__places_without_a_signature);
    tcase_add_test(t, test_adls_vend__the_accounts_key_only_when_told);
    tcase_add_test(t, test_adls_vend__onelake_gives_an_hour);
    tcase_add_test(t, test_adls_vend__the_service_refuses);
    tcase_add_test(t, test_adls_token__renewed_when_it_is_refused);
    tcase_add_test(t, test_adls_token__the_service_refuses);
}

int main(void)
{
    Suite *suite = suite_create("adls");
    TCase *t = tcase_create("adls");
    tcase_add_checked_fixture(t, begin, end);
    add_tests(t);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
