#include "sign.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fetch.h"
#include "lane.h"
#include "sign_priv.h"
#include "store.h"
#include "stub.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct arena *a;
static struct store *store;
static struct err err;

/* A table in a bucket of AWS, where both forms of address are good. */
static const struct sign_folder folder = {
    .scheme = ENDPOINT_HTTPS,
    .host = STR_INIT("s3.eu-west-1.amazonaws.com"),
    .bucket = STR_INIT("wh"),
    .key = STR_INIT("ns/t1"),
    .region = STR_INIT("eu-west-1"),
    .forms = SIGN_IN_PATH | SIGN_IN_HOST,
};

#define PATH "https://s3.eu-west-1.amazonaws.com/wh"
#define HOST "https://wh.s3.eu-west-1.amazonaws.com"

static void begin(void)
{
    a = arena_new();
    fetch_global_init();
    (void)unsetenv("AWS_ENDPOINT_URL_STS");
    err = (struct err){0};
}

static void end(void)
{
    lane_enter(LANE_SLOW);
    store_close(&store);
    stub_stop();
    fetch_global_fini();
    arena_free(&a);
}

static struct sign_request request(const char *method, const char *uri)
{
    return (struct sign_request){
        .method = str_from(method), .uri = str_from(uri), .region = STR("eu-west-1")};
}

static bool check(const struct sign_request *rq, struct sign_plan *plan)
{
    err = (struct err){0};
    bool ok = sign__check(a, &folder, VEND_WRITE, rq, plan, &err);
    ck_assert(ok == (err.kind == ERR_NONE));
    return ok;
}

static struct sign_plan good(const char *method, const char *uri)
{
    struct sign_plan plan;
    struct sign_request rq = request(method, uri);
    ck_assert_msg(check(&rq, &plan), "%s %s: %s", method, uri, err.msg);
    return plan;
}

static void refused(const char *method, const char *uri, enum err_kind kind)
{
    struct sign_plan plan;
    struct sign_request rq = request(method, uri);
    rq.body = STR("<Delete><Object><Key>ns/t1/a</Key></Object></Delete>");
    ck_assert_msg(!check(&rq, &plan), "%s %s was signed", method, uri);
    ck_assert_msg(err.kind == kind, "%s %s: %s: %s", method, uri, err_name(err.kind), err.msg);
}

static void is(struct str found, const char *want)
{
    ck_assert_msg(str_eq(found, str_from(want)), "%.*s, expected %s", STR_ARG(found), want);
}

/* --- what is signed ----------------------------------------------------------------------------
 */

START_TEST(test_sign__every_shape)
{
    static const struct {
        const char *method, *rest;
        enum sign_kind kind;
    } shapes[] = {
        {"GET",    "/ns/t1/a",                                            SIGN_READS },
        {"GET",    "/ns/t1/a?x-id=GetObject",                             SIGN_READS },
        {"HEAD",   "/ns/t1/a/b",                                          SIGN_READS },
        {"HEAD",   "/ns/t1",                                              SIGN_READS },
        {"GET",    "?list-type=2&prefix=ns%2Ft1%2F",                      SIGN_READS },
        {"GET",    "/?prefix=ns/t1/a&list-type=2&max-keys=1&delimiter=/", SIGN_READS },
        {"PUT",    "/ns/t1/a",                                            SIGN_WRITES},
        {"PUT",    "/ns/t1/a?partNumber=10000&uploadId=x",                SIGN_WRITES},
        {"POST",   "/ns/t1/a?uploads",                                    SIGN_WRITES},
        {"POST",   "/ns/t1/a?uploadId=x",                                 SIGN_WRITES},
        {"DELETE", "/ns/t1/a",                                            SIGN_WRITES},
        {"DELETE", "/ns/t1/a?uploadId=x",                                 SIGN_WRITES},
    };
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        const char *bases[] = {PATH, HOST};
        for (size_t j = 0; j < ARRAY_LEN(bases); j++) {
            struct str uri = arena_printf(a, "%s%s", bases[j], shapes[i].rest);
            struct sign_plan plan = good(shapes[i].method, uri.p);
            ck_assert_int_eq(plan.kind, shapes[i].kind);
            is(plan.payload_hash, "UNSIGNED-PAYLOAD");
        }
    }
}
END_TEST

START_TEST(test_sign__our_spelling)
{
    static const struct {
        const char *sent, *signd;
    } uris[] = {
        {PATH "/ns/t1/a=b+c",                      PATH "/ns/t1/a%3Db%2Bc"                        },
        {PATH "/ns/t1/%7e%41%c3%a9",               PATH "/ns/t1/~A%C3%A9"                         },
        {PATH "/ns/t1/p%3Da%252Fb/x",              PATH "/ns/t1/p%3Da%252Fb/x"                    },
        {HOST "/ns/t1/a",                          HOST "/ns/t1/a"                                },
        {HOST ":443/ns/t1/a",                      HOST "/ns/t1/a"                                },
        {HOST "/ns/t1/a?",                         HOST "/ns/t1/a"                                },
        {HOST "?list-type=2&prefix=ns/t1/+%20%2B", HOST "/?list-type=2&prefix=ns%2Ft1%2F%20%20%2B"},
        {PATH "?prefix=ns/t1/&list-type=2",        PATH "?prefix=ns%2Ft1%2F&list-type=2"          },
        {PATH "/?prefix=ns/t1/&list-type=2",       PATH "/?prefix=ns%2Ft1%2F&list-type=2"         },
    };
    for (size_t i = 0; i < ARRAY_LEN(uris); i++)
        is(good("GET", uris[i].sent).uri, uris[i].signd);
    is(good("POST", PATH "/ns/t1/a?uploads").uri, PATH "/ns/t1/a?uploads=");
    is(good("GET", "https://WH.s3.eu-west-1.amazonaws.com/ns/t1/a").at.host,
        "WH.s3.eu-west-1.amazonaws.com");
}
END_TEST

/* --- what is not -------------------------------------------------------------------------------
 */

START_TEST(test_sign__ways_out_of_the_folder)
{
    static const char *const paths[] = {"ns/t10/a", "ns/t1/../t2/a", "ns/t1/%2e%2e/t2/a",
        "ns/t1/%2E./t2", "ns/t1%2F..%2Ft2", "ns/t1/%2F..", "ns/t1/%252e%252e/t2", "ns/t1/..%252Ft2",
        "ns/t1/%25252e%25252e/t2", "ns/t1/a/%252E", "ns/t1/./a", "ns/t1//a", "ns//t1/a", "/ns/t1/a",
        "ns/t1/a/", "ns/t1/", "ns/t2", "ns", "NS/t1/a", "ns/t1a/b", "ns/%74%31%30/a", "./ns/t1/a",
        "ns/t1/..", "ns/t1/a%252F..%252F..%252F..%252Fx", "ns/t1/..%255Ct2"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        refused("GET", arena_printf(a, PATH "/%s", paths[i]).p, ERR_STORE_DENIED);
        refused("PUT", arena_printf(a, HOST "/%s", paths[i]).p, ERR_STORE_DENIED);
    }
    refused("PUT", PATH "/ns/t1", ERR_STORE_DENIED);
    refused("DELETE", PATH "/ns/t1", ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_sign__uris_that_are_none)
{
    static const char *const uris[] = {"", "x", "ftp://s3.eu-west-1.amazonaws.com/wh/ns/t1/a",
        "//s3.eu-west-1.amazonaws.com/wh/ns/t1/a", "HTTPS://wh", PATH "/ns/t1/%", PATH "/ns/t1/%4",
        PATH "/ns/t1/%g0", PATH "/ns/t1/%00", PATH "/ns/t1/a b", PATH "/ns/t1/\x01",
        PATH "/ns/t1/%0a", PATH "/ns/t1/%7f", PATH "/ns/t1/%ff", PATH "/ns/t1/%c0%ae%c0%ae/x",
        PATH "/ns/t1/\xc3\xa9", PATH "/ns/t1/a#b", PATH "/ns/t1/a\\b", PATH "/ns/t1/a%5Cb",
        "https://u:p@s3.eu-west-1.amazonaws.com/wh/ns/t1/a", PATH "/ns/t1/a?X-Amz-Signature=x",
        PATH "/ns/t1/a?x-amz-date=x", PATH "?list-type=2&prefix=ns/t1/%ff",
        PATH "?list-type=2&prefix=%"};
    for (size_t i = 0; i < ARRAY_LEN(uris); i++)
        refused("GET", uris[i], ERR_STORE_BAD_URI);
    char *key = arena_alloc(a, SIGN_KEY_BYTES + 1);
    memset(key, 'a', SIGN_KEY_BYTES);
    key[SIGN_KEY_BYTES] = '\0';
    refused("GET", arena_printf(a, PATH "/ns/t1/%s", key).p, ERR_STORE_BAD_URI);
    refused("GET",
        arena_printf(
            a, PATH "/ns/t1/a?x-id=%s%s%s%s%s%s%s%s", key, key, key, key, key, key, key, key)
            .p,
        ERR_STORE_BAD_URI);
}
END_TEST

START_TEST(test_sign__other_hosts_and_buckets)
{
    static const char *const uris[] = {"http://s3.eu-west-1.amazonaws.com/wh/ns/t1/a",
        "https://s3.eu-west-1.amazonaws.com/wh2/ns/t1/a",
        "https://s3.eu-west-1.amazonaws.com//wh/ns/t1/a",
        "https://s3.eu-west-1.amazonaws.com:444/wh/ns/t1/a",
        "https://s3.eu-west-1.amazonaws.com:443:443/wh/ns/t1/a",
        "https://s3.eu-west-1.amazonaws.com./wh/ns/t1/a",
        "https://s3.eu-west-2.amazonaws.com/wh/ns/t1/a",
        "https://s3.eu-west-1.amazonaws.com/wh%2Fns%2Ft1%2F%2E%2E/a",
        "https://s3.eu-west-1.amazonaws.com/%77h/ns/t1/a",
        "https://wh2.s3.eu-west-1.amazonaws.com/wh/ns/t1/a",
        "https://wh2.s3.eu-west-1.amazonaws.com/ns/t1/a",
        "https://wh.s3.eu-west-1.amazonaws.com/wh/ns/t1/a",
        "https://wh.s3.eu-west-1.amazonaws.com.evil.example/ns/t1/a",
        "https://evil.example/wh/ns/t1/a",
        "https://evil.example/s3.eu-west-1.amazonaws.com/wh/ns/t1/a",
        "https://169.254.169.254/wh/ns/t1/a", "https://s3.eu-west-1.amazonaws.com", "https://",
        "https:///wh/ns/t1/a", "https://wh.wh.s3.eu-west-1.amazonaws.com/ns/t1/a"};
    for (size_t i = 0; i < ARRAY_LEN(uris); i++)
        refused("GET", uris[i], ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_sign__one_form_only_where_the_store_knows_one)
{
    struct sign_folder one = folder;
    struct sign_plan plan;
    struct sign_request path = request("GET", PATH "/ns/t1/a"),
                        host = request("GET", HOST "/ns/t1/a");
    one.forms = SIGN_IN_PATH;
    ck_assert(sign__check(a, &one, VEND_READ, &path, &plan, &err));
    ck_assert(!sign__check(a, &one, VEND_READ, &host, &plan, &err));
    one.forms = SIGN_IN_HOST;
    ck_assert(!sign__check(a, &one, VEND_READ, &path, &plan, &err));
    ck_assert(sign__check(a, &one, VEND_READ, &host, &plan, &err));
}
END_TEST

START_TEST(test_sign__other_operations)
{
    static const char *const words[] = {"acl", "policy", "tagging", "versions", "versioning",
        "location", "lifecycle", "cors", "torrent", "restore", "select", "object-lock", "retention",
        "legal-hold", "website", "logging", "replication", "encryption", "attributes",
        "versionId=1", "response-content-type=x", "Delete", "UPLOADS", "x-id=a%2Fb",
        "x-id=", "x-id=a&x-id=a", "=", "&", "a=b", "uploads=1", "partNumber=1",
        "partNumber=1&uploadId=", "partNumber=0&uploadId=x", "partNumber=10001&uploadId=x",
        "partNumber=+1&uploadId=x", "partNumber=01&uploadId=x",
        "partNumber=1&partNumber=1&uploadId=x", "uploads&uploadId=x", "delete", "x=delete",
        "list-type=2&prefix=ns/t1/"};
    static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (size_t j = 0; j < ARRAY_LEN(methods); j++)
            refused(methods[j], arena_printf(a, PATH "/ns/t1/a?%s", words[i]).p, ERR_STORE_DENIED);
    static const char *const others[] = {"PATCH", "OPTIONS", "get", "", "TRACE"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        refused(others[i], PATH "/ns/t1/a", ERR_STORE_DENIED);
    refused("POST", PATH "/ns/t1/a", ERR_STORE_DENIED);
    refused("PUT", PATH "/ns/t1/a?uploads", ERR_STORE_DENIED);
    refused("GET", PATH "/ns/t1/a?uploadId=x", ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_sign__lists)
{
    static const char *const queries[] = {"", "?", "?list-type=2", "?prefix=ns/t1/",
        "?list-type=1&prefix=ns/t1/", "?list-type=2&prefix=", "?list-type=2&prefix",
        "?list-type=2&prefix=ns/t1", "?list-type=2&prefix=ns/t10/", "?list-type=2&prefix=ns/t",
        "?list-type=2&prefix=/ns/t1/", "?list-type=2&prefix=+ns/t1/",
        "?list-type=2&prefix=ns/t1/../t2/", "?list-type=2&prefix=ns/t1//",
        "?list-type=2&prefix=ns/t1/%252e%252e/",
        "?list-type=2&prefix=ns/t1/&prefix=", "?list-type=2&prefix=&prefix=ns/t1/",
        "?list-type=1&list-type=2&prefix=ns/t1/", "?list-type=2&prefix=ns/t1/&policy",
        "?list-type=2&prefix=ns/t1/&versions", "?list-type=2&prefix=ns/t1/&max-keys=0",
        "?list-type=2&prefix=ns/t1/&max-keys=-1",
        "?list-type=2&prefix=ns/t1/&delimiter=", "?list-type=2&prefix=ns/t1/&delimiter=t",
        "?list-type=2&prefix=ns/t1/&encoding-type=x", "?list-type=2&prefix=ns/t1/&start-after=a",
        "?list-type=2&prefix=ns/t1/&continuation-token=",
        "?list-type=2&prefix=ns/t1/&continuation-token=a%0Ab", "?delete", "?uploads", "?policy"};
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        refused("GET", arena_printf(a, PATH "%s", queries[i]).p, ERR_STORE_DENIED);
        refused("GET", arena_printf(a, HOST "/%s", queries[i]).p, ERR_STORE_DENIED);
    }
    refused("HEAD", PATH "?list-type=2&prefix=ns/t1/", ERR_STORE_DENIED);
    refused("GET", PATH "/ns/t1/a?list-type=2&prefix=ns/t1/", ERR_STORE_DENIED);
    (void)good("GET", PATH "?list-type=2&prefix=ns/t1/a&start-after=ns/t1/b&fetch-owner=true"
                           "&encoding-type=url&continuation-token=a%2B%2F%3D");
}
END_TEST

START_TEST(test_sign__regions_and_rights)
{
    struct sign_plan plan;
    struct sign_request rq = request("GET", PATH "/ns/t1/a"), put = request("PUT", PATH "/ns/t1/a");
    rq.region = STR("eu-west-10");
    ck_assert(!check(&rq, &plan) && err.kind == ERR_STORE_DENIED);
    rq.region = STR("");
    ck_assert(!check(&rq, &plan) && err.kind == ERR_STORE_DENIED);
    rq.region = folder.region;
    ck_assert(sign__check(a, &folder, VEND_READ, &rq, &plan, &err));
    ck_assert(!sign__check(a, &folder, VEND_READ, &put, &plan, &err));
    ck_assert(err.kind == ERR_STORE_DENIED);
}
END_TEST

/* --- headers -----------------------------------------------------------------------------------
 */

static bool with_header(
    const char *method, const char *name, const char *value, struct sign_plan *plan)
{
    struct fetch_header *h = ARENA_NEW(a, struct fetch_header);
    struct sign_request rq = request(method, PATH "/ns/t1/a");
    *h = (struct fetch_header){str_from(name), str_from(value)};
    rq.headers = h;
    rq.n_headers = 1;
    return check(&rq, plan);
}

START_TEST(test_sign__headers)
{
    static const struct {
        const char *name, *value;
        size_t in_reads, in_writes, sent;
    } known[] = {
        {"User-Agent",                   "x",                          0, 0, 1},
        {"amz-sdk-invocation-id",        "x",                          0, 0, 1},
        {"amz-sdk-request",              "attempt=1",                  0, 0, 1},
        {"Range",                        "bytes=0-1",                  0, 0, 1},
        {"X-Amz-Date",                   "20200101T000000Z",           0, 0, 0},
        {"If-None-Match",                "*",                          0, 1, 1},
        {"Content-Type",                 "a/b",                        0, 1, 1},
        {"x-amz-meta-a",                 "b",                          1, 1, 1},
        {"X-Amz-Checksum-Mode",          "ENABLED",                    1, 1, 1},
        {"x-amz-te",                     "append-md5",                 1, 1, 1},
        {"x-amz-server-side-encryption", "AES256",                     1, 1, 1},
        {"x-amz-content-sha256",         "UNSIGNED-PAYLOAD",           0, 0, 0},
        {"host",                         "S3.eu-west-1.amazonaws.com", 0, 0, 1},
    };
    struct sign_plan plan;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        ck_assert_msg(with_header("GET", known[i].name, known[i].value, &plan), "%s", err.msg);
        ck_assert_uint_eq(plan.n_signs, known[i].in_reads);
        ck_assert_uint_eq(plan.n_sends, known[i].sent);
        ck_assert(with_header("PUT", known[i].name, known[i].value, &plan));
        ck_assert_uint_eq(plan.n_signs, known[i].in_writes);
    }
    static const char *const refuse[][2] = {
        {"x-amz-copy-source",                    "/wh/ns/t2/a"                       },
        {"X-AMZ-Copy-Source-Range",              "bytes=0-1"                         },
        {"x-amz-acl",                            "public-read"                       },
        {"x-amz-grant-full-control",             "id=1"                              },
        {"x-amz-security-token",                 "x"                                 },
        {"Authorization",                        "x"                                 },
        {"x-amz-tagging",                        "a=b"                               },
        {"x-amz-bypass-governance-retention",    "true"                              },
        {"x-amz-website-redirect-location",      "/"                                 },
        {"x-amz-server-side-encryption",         "aws:kms"                           },
        {"x-amz-server-side-encryption-context", "x"                                 },
        {"x-amz-content-sha256",                 "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"},
        {"x-amz-content-sha256",                 ""                                  },
        {"x-amz-content-sha256",                 "ABCDEF"                            },
        {"x-amz-",                               "x"                                 },
        {"x-amz-anything",                       "x"                                 },
        {"Host",                                 "wh.s3.eu-west-1.amazonaws.com"     },
        {"Host",                                 "evil.example"                      },
        {"Host",                                 ""                                  }
    };
    for (size_t i = 0; i < ARRAY_LEN(refuse); i++) {
        ck_assert_msg(!with_header("PUT", refuse[i][0], refuse[i][1], &plan), "%s", refuse[i][0]);
        ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    }
    static const char *const none[][2] = {
        {"a",             "b\r\nx-amz-acl: x"},
        {"a",             "b\n"              },
        {"a b",           "c"                },
        {"",              "x"                },
        {"a:",            "x"                },
        {"x-amz-meta-\n", "x"                },
        {"a",             "\x7f"             }
    };
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        ck_assert(!with_header("PUT", none[i][0], none[i][1], &plan));
        ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    }
}
END_TEST

START_TEST(test_sign__payload_hashes)
{
    struct sign_plan plan;
    static const char sum[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    ck_assert(with_header("PUT", "x-amz-content-sha256", sum, &plan));
    is(plan.payload_hash, sum);
    ck_assert(with_header("PUT", "X-Amz-Trailer", "x-amz-checksum-crc32", &plan));
    is(plan.payload_hash, "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
    ck_assert(!with_header("GET", "X-Amz-Trailer", "x-amz-checksum-crc32", &plan));
    ck_assert(!with_header("PUT", "X-Amz-Trailer", "x-amz-checksum-crc32,x-amz-y", &plan));
    ck_assert(!with_header("PUT", "Content-Encoding", "gzip, aws-chunked", &plan));
    ck_assert(with_header("PUT", "Content-Encoding", "gzip", &plan));
    ck_assert(!with_header("PUT", "x-amz-decoded-content-length", "1", &plan));
    ck_assert(
        !with_header("PUT", "x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", &plan));
    struct fetch_header two[] = {
        {STR("x-amz-content-sha256"), STR("UNSIGNED-PAYLOAD")},
        {STR("X-AMZ-content-sha256"), str_from(sum)          }
    };
    struct sign_request rq = request("PUT", PATH "/ns/t1/a");
    rq.headers = two;
    rq.n_headers = 2;
    ck_assert(!check(&rq, &plan) && err.kind == ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_sign__many_and_large_headers)
{
    struct sign_plan plan;
    struct fetch_header *many = ARENA_ARRAY(a, struct fetch_header, SIGN_HEADERS_MAX + 1);
    for (size_t i = 0; i <= SIGN_HEADERS_MAX; i++)
        many[i] = (struct fetch_header){STR("x-amz-meta-a"), STR("b")};
    struct sign_request rq = request("GET", PATH "/ns/t1/a");
    rq.headers = many;
    rq.n_headers = SIGN_HEADERS_MAX;
    ck_assert(check(&rq, &plan) && plan.n_signs == SIGN_HEADERS_MAX);
    rq.n_headers++;
    ck_assert(!check(&rq, &plan) && err.kind == ERR_STORE_BAD_URI);
    char *value = arena_alloc(a, SIGN_HEADERS_BYTES);
    memset(value, 'x', SIGN_HEADERS_BYTES);
    many[0].value = (struct str){value, SIGN_HEADERS_BYTES};
    rq.n_headers = 1;
    ck_assert(!check(&rq, &plan) && err.kind == ERR_STORE_BAD_URI);
}
END_TEST

/* --- deleting many -----------------------------------------------------------------------------
 */

static bool deleting(const char *body, struct sign_plan *plan)
{
    struct sign_request rq = request("POST", PATH "?delete");
    rq.body = str_from(body);
    return check(&rq, plan);
}

START_TEST(test_sign__lists_of_keys)
{
    struct sign_plan plan;
    ck_assert(deleting("<Delete><Object><Key>ns/t1/a</Key></Object></Delete>", &plan));
    ck_assert(plan.kind == SIGN_DELETES_MANY && plan.payload_hash.n == 64);
    ck_assert(deleting(
        "<?xml version='1.0' encoding='utf-8'?>\n<Delete xmlns=\"x\">\n <Quiet>true</Quiet>"
        "<Object>\n<Key>ns/t1/a&amp;b &lt;&#233;</Key></Object></Delete>",
        &plan));
    static const char *const outside[] = {"ns/t10/a", "ns/t1", "ns/t1/", "ns/t1/../t2/a",
        "/ns/t1/a", " ns/t1/a", "ns/t1//a", "ns/t1/%2e%2e/t2", "ns/t1/&#46;./t2", "ns/t1/.&#x2e;",
        ""};
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        struct str body = arena_printf(a,
            "<Delete><Object><Key>ns/t1/a</Key></Object><Object><Key>%s"
            "</Key></Object></Delete>",
            outside[i]);
        ck_assert_msg(!deleting(body.p, &plan), "%s", body.p);
    }
    ck_assert(!deleting(NULL, &plan) && err.kind == ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_sign__lists_that_two_could_read_in_two_ways)
{
#define KEY "<Key>ns/t1/a</Key>"
    static const char *const bodies[] = {"", "x", "<Delete/>", "<Delete></Delete>",
        "<Delete><Object/></Delete>", "<Delete><Object></Object></Delete>",
        "<Delete>" KEY "</Delete>", "<Object>" KEY "</Object>",
        "<Delete><Object>" KEY KEY "</Object></Delete>",
        "<Delete><Object>" KEY "<VersionId>1</VersionId></Object></Delete>",
        "<Delete><Object><Key>ns/t1/a<b/></Key></Object></Delete>",
        "<Delete><Object><Key>ns/t1/a<!-- x --></Key></Object></Delete>",
        "<Delete><Object><Key><![CDATA[ns/t1/a]]></Key></Object></Delete>",
        "<Delete><Object><Object>" KEY "</Object></Object></Delete>",
        "<Delete><Delete><Object>" KEY "</Object></Delete></Delete>",
        "<Delete><Object>" KEY "</Object></Delete><Delete/>",
        "<!DOCTYPE d><Delete><Object>" KEY "</Object></Delete>",
        "<?xml version='1.0' encoding='UTF-7'?><Delete><Object>" KEY "</Object></Delete>",
        "<?xml version='1.0' encoding='UTF-8x'?><Delete><Object>" KEY "</Object></Delete>",
        "<Delete><?x y?><Object>" KEY "</Object></Delete>",
        "<Delete a='>'><Object>" KEY "</Object></Delete>",
        "<Delete a='<Object>'>" KEY "</Object></Delete>",
        "<Delete a=\"'><Object>" KEY "</Object></Delete>", "<Delete><Object>" KEY "</Object>",
        "<Delete><Object>" KEY "</Object></Delete",
        "<Delete><Object><Key>ns/t1/&bomb;</Key></Object></Delete>",
        "<Delete><Object><Key>ns/t1/&#0;</Key></Object></Delete>",
        "<Delete><Object><Key>ns/t1/a\n</Key></Object></Delete>",
        "<delete><object><key>ns/t1/a</key></object></delete>"};
    struct sign_plan plan;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        ck_assert_msg(!deleting(bodies[i], &plan), "%s", bodies[i]);
        ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    }
}
END_TEST

START_TEST(test_sign__lists_that_are_long)
{
    struct sign_plan plan;
    struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_puts(&b, "<Delete>");
    for (int i = 0; i < SIGN_KEYS_MAX; i++)
        buf_putf(&b, "<Object><Key>ns/t1/%d</Key></Object>", i);
    struct str body = buf_take(&b, a);
    ck_assert(deleting(arena_printf(a, "%.*s</Delete>", STR_ARG(body)).p, &plan));
    ck_assert(!deleting(
        arena_printf(a, "%.*s<Object>" KEY "</Object></Delete>", STR_ARG(body)).p, &plan));
    char *blanks = arena_alloc(a, SIGN_BODY_MAX + 1);
    memset(blanks, ' ', SIGN_BODY_MAX);
    blanks[SIGN_BODY_MAX] = '\0';
    ck_assert(
        !deleting(arena_printf(a, "<Delete>%s<Object>" KEY "</Object></Delete>", blanks).p, &plan));
}
END_TEST

/* --- with a store ------------------------------------------------------------------------------
 */

static void open_store(const char *url, enum store_sign sign, const char *role)
{
    struct store_conf conf = {.base = "s3://wh/ns",
        .s3_endpoint = url,
        .s3_region = "eu-west-1",
        .s3_access_key_id = "AKIA",
        .s3_secret_access_key = "hidden",
        .vend_role_arn = role,
        .sign = sign};
    ck_assert_msg(store_open(&conf, &store, &err), "%s", err.msg);
}

static bool ask(const char *place, struct sign_request rq, struct sign_answer *out)
{
    err = (struct err){0};
    return sign_request(a, store, str_from(place), VEND_WRITE, &rq, out, &err);
}

static struct str sent(const struct sign_answer *s, const char *name)
{
    for (size_t i = 0; i < s->n_headers; i++)
        if (str_eq(s->headers[i].name, str_from(name)))
            return s->headers[i].value;
    return (struct str){NULL, 0};
}

START_TEST(test_sign__with_the_warehouses_keys)
{
    struct sign_answer s;
    struct sign_place where;
    open_store(NULL, STORE_SIGN_ELSE, NULL);
    ck_assert(sign_offered(store) && sign_preferred(store) && !vend_offered(store));
    lane_enter(LANE_FAST);
    ck_assert_msg(ask("s3://wh/ns/t1", request("GET", HOST "/ns/t1/a"), &s), "%s", err.msg);
    is(s.uri, HOST "/ns/t1/a");
    ck_assert(s.reuse == SIGN_AGAIN && s.n_headers == 3);
    ck_assert(str_starts(sent(&s, "authorization"), STR("AWS4-HMAC-SHA256 Credential=AKIA/")));
    ck_assert(
        memmem(sent(&s, "authorization").p, sent(&s, "authorization").n, "/eu-west-1/s3/", 14));
    ck_assert(!ask("s3://wh/ns/t1/", request("PUT", PATH "/ns/t1/a"), &s));
    ck_assert_int_eq(err.kind, ERR_WOULD_BLOCK);
    ck_assert(sign_where(a, store, STR("s3://wh/ns/t1"), &where, &err));
    is(where.endpoint, "https://s3.eu-west-1.amazonaws.com");
    ck_assert(where.style == VEND_BUCKET_IN_HOST);
    static const char *const places[] = {
        "s3://wh/ns", "s3://wh", "s3://wh/other/t", "s3://wh/ns2/t", "file:///ns/t"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        ck_assert(
            !ask(places[i], request("GET", PATH "/ns/t1/a"), &s) && err.kind == ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_sign__only_with_the_roles_keys)
{
    char answer[1024], when[32];
    time_t t = (time_t)(clock_ms() / 1000) + 3600;
    struct tm tm;
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    (void)snprintf(answer, sizeof(answer),
        "HTTP/1.1 200 "
        "OK\r\n\r\n<r><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        "<SessionToken>tok</SessionToken><Expiration>%s</Expiration></r>",
        when);
    const struct stub_step steps[] = {{.answer = answer}};
    struct sign_answer s;
    open_store(stub_start(steps, 1), STORE_SIGN_ONLY, "arn:r");
    ck_assert(sign_preferred(store) && !vend_offered(store));
    struct sign_place where;
    ck_assert(sign_where(a, store, STR("s3://wh/ns/t1"), &where, &err));
    struct str uri = arena_printf(a, "%.*s/wh/ns/t1/a", STR_ARG(where.endpoint));
    lane_enter(LANE_FAST);
    ck_assert(!ask("s3://wh/ns/t1", request("GET", uri.p), &s) && err.kind == ERR_WOULD_BLOCK);
    ck_assert(!ask("s3://wh/ns/t2", request("GET", uri.p), &s) && err.kind == ERR_STORE_DENIED);
    lane_enter(LANE_SLOW);
    ck_assert_msg(ask("s3://wh/ns/t1", request("GET", uri.p), &s), "%s", err.msg);
    lane_enter(LANE_FAST);
    ck_assert(ask("s3://wh/ns/t1", request("PUT", uri.p), &s));
    is(sent(&s, "x-amz-security-token"), "tok");
    ck_assert(memmem(
        sent(&s, "authorization").p, sent(&s, "authorization").n, "x-amz-security-token,", 21));
    ck_assert_uint_eq(stub_count(), 1);
}
END_TEST

static void try_writes(const char *answer, size_t requests, bool signs)
{
    const struct stub_step steps[] = {
        {.answer = answer}, {.answer = "HTTP/1.1 204 No Content\r\n\r\n"}};
    struct sign_answer s;
    struct sign_place where;
    open_store(stub_start(steps, 2), STORE_SIGN_ELSE, NULL);
    ck_assert(sign_where(a, store, STR("s3://wh/ns/t1"), &where, &err));
    struct str uri = arena_printf(a, "%.*s/wh/ns/t1/a", STR_ARG(where.endpoint));
    lane_enter(LANE_FAST);
    ck_assert(ask("s3://wh/ns/t1", request("GET", uri.p), &s));
    ck_assert(!ask("s3://wh/ns/t1", request("PUT", uri.p), &s) && err.kind == ERR_WOULD_BLOCK);
    lane_enter(LANE_SLOW);
    ck_assert_msg(ask("s3://wh/ns/t1", request("PUT", uri.p), &s) == signs, "%s", err.msg);
    ck_assert(signs || (err.kind == ERR_STORE_DENIED && strstr(err.msg, "vend-role-arn")));
    lane_enter(LANE_FAST);
    ck_assert(ask("s3://wh/ns/t1", request("PUT", uri.p), &s) == signs);
    ck_assert(ask("s3://wh/ns/t1", request("DELETE", uri.p), &s) == signs);
    ck_assert_uint_eq(stub_count(), requests);
    ck_assert(
        stub_saw(0, "x-amz-copy-source: /wh/ns/t1/t1/d") && !stub_saw(0, "x-amz-copy-source;"));
}

START_TEST(test_sign__writes_where_the_store_checks_headers)
{
    try_writes("HTTP/1.1 403 Forbidden\r\n\r\n<Error><Code>AccessDenied</Code></Error>", 1, true);
}
END_TEST

START_TEST(test_sign__writes_where_the_store_would_copy)
{
    try_writes("HTTP/1.1 404 Not Found\r\n\r\n<Error><Code>NoSuchKey</Code></Error>", 1, false);
}
END_TEST

START_TEST(test_sign__writes_where_the_store_reads_over_headers)
{
    try_writes("HTTP/1.1 200 OK\r\n\r\n", 2, false);
}
END_TEST

static void try_lists(const char *second, bool signs)
{
    const struct stub_step steps[] = {
        {.answer = "HTTP/1.1 200 OK\r\n\r\n<DeleteResult/>"}, {.answer = second}};
    struct sign_answer s;
    struct sign_place where;
    open_store(stub_start(steps, 2), STORE_SIGN_ELSE, NULL);
    ck_assert(sign_where(a, store, STR("s3://wh/ns/t1"), &where, &err));
    struct sign_request rq =
        request("POST", arena_printf(a, "%.*s/wh?delete", STR_ARG(where.endpoint)).p);
    rq.body = STR("<Delete><Object><Key>ns/t1/a</Key></Object></Delete>");
    lane_enter(LANE_FAST);
    ck_assert(!ask("s3://wh/ns/t1", rq, &s) && err.kind == ERR_WOULD_BLOCK);
    lane_enter(LANE_SLOW);
    ck_assert_msg(ask("s3://wh/ns/t1", rq, &s) == signs, "%s", err.msg);
    ck_assert(signs || err.kind == ERR_STORE_DENIED);
    lane_enter(LANE_FAST);
    ck_assert(ask("s3://wh/ns/t1", rq, &s) == signs);
    ck_assert_uint_eq(stub_count(), 2);
}

START_TEST(test_sign__lists_where_the_store_checks_them)
{
    try_lists("HTTP/1.1 403 Forbidden\r\n\r\n<Error><Code>XAmzContentSHA256Mismatch</Code></Error>",
        true);
}
END_TEST

START_TEST(test_sign__lists_where_the_store_takes_any)
{
    try_lists("HTTP/1.1 200 OK\r\n\r\n<DeleteResult/>", false);
}
END_TEST

START_TEST(test_sign__stores_that_cannot)
{
    struct store_conf conf = {.base = "file:///tmp/firn-test-sign", .sign = STORE_SIGN_ELSE};
    ck_assert(!store_open(&conf, &store, &err) && err.kind == ERR_INTERNAL);
    conf = (struct store_conf){.base = "s3://wh/ns",
        .s3_region = "r",
        .s3_access_key_id = "A",
        .s3_secret_access_key = "s"};
    ck_assert(store_open(&conf, &store, &err));
    ck_assert(!sign_offered(store) && !sign_preferred(store));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sign");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_sign__every_shape);
    tcase_add_test(tc, test_sign__our_spelling);
    tcase_add_test(tc, test_sign__ways_out_of_the_folder);
    tcase_add_test(tc, test_sign__uris_that_are_none);
    tcase_add_test(tc, test_sign__other_hosts_and_buckets);
    tcase_add_test(tc, test_sign__one_form_only_where_the_store_knows_one);
    tcase_add_test(tc, test_sign__other_operations);
    tcase_add_test(tc, test_sign__lists);
    tcase_add_test(tc, test_sign__regions_and_rights);
    tcase_add_test(tc, test_sign__headers);
    tcase_add_test(tc, test_sign__payload_hashes);
    tcase_add_test(tc, test_sign__many_and_large_headers);
    tcase_add_test(tc, test_sign__lists_of_keys);
    tcase_add_test(tc, test_sign__lists_that_two_could_read_in_two_ways);
    tcase_add_test(tc, test_sign__lists_that_are_long);
    tcase_add_test(tc, test_sign__with_the_warehouses_keys);
    tcase_add_test(tc, test_sign__only_with_the_roles_keys);
    tcase_add_test(tc, test_sign__writes_where_the_store_checks_headers);
    tcase_add_test(tc, test_sign__writes_where_the_store_would_copy);
    tcase_add_test(tc, test_sign__writes_where_the_store_reads_over_headers);
    tcase_add_test(tc, test_sign__lists_where_the_store_checks_them);
    tcase_add_test(tc, test_sign__lists_where_the_store_takes_any);
    tcase_add_test(tc, test_sign__stores_that_cannot);
    Suite *suite = suite_create("sign");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
