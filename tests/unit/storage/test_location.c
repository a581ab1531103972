#include "arena.h"
#include "base.h"
#include "store.h"

#include <check.h>
#include <stdlib.h>

static struct arena *a;

static void begin(void)
{
    a = arena_new();
}

static void end(void)
{
    arena_free(&a);
}

START_TEST(test_location_parse__accepted)
{
    static const struct {
        const char *uri, *authority, *path;
    } rows[] = {
        {"s3://bucket/a/b",                          "s3://bucket",        "/a/b"         },
        {"s3://bucket/a/b/",                         "s3://bucket",        "/a/b"         },
        {"s3://bucket/a///",                         "s3://bucket",        "/a"           },
        {"s3://bucket",                              "s3://bucket",        "/"            },
        {"s3://bucket/",                             "s3://bucket",        "/"            },
        {"s3a://bucket/a",                           "s3://bucket",        "/a"           },
        {"s3n://bucket/a",                           "s3://bucket",        "/a"           },
        {"s3://my.bucket-1_x/a",                     "s3://my.bucket-1_x", "/a"           },
        {"s3://bucket/a=1/b%3Ac d",                  "s3://bucket",        "/a=1/b%3Ac d" },
        {"s3://bucket/\xc3\xa9",                     "s3://bucket",        "/\xc3\xa9"    },
        {"s3://bucket/\xe6\xbc\xa2\xf0\x9f\x98\x80", "s3://bucket",
         "/\xe6\xbc\xa2\xf0\x9f\x98\x80"                                                  },
        {"s3://bucket/a/...",                        "s3://bucket",        "/a/..."       },
        {"s3://bucket/.a/b..",                       "s3://bucket",        "/.a/b.."      },
        {"file:/srv/wh",                             "file:",              "/srv/wh"      },
        {"file:///srv/wh",                           "file:",              "/srv/wh"      },
        {"file:///srv/wh/",                          "file:",              "/srv/wh"      },
        {"file://localhost/srv/wh",                  "file:",              "/srv/wh"      },
        {"file:////srv//wh",                         "file:",              "/srv/wh"      },
        {"file:/",                                   "file:",              "/"            },
        {"file:///",                                 "file:",              "/"            },
        {"file:///a%20b/%2e%2e",                     "file:",              "/a%20b/%2e%2e"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct location at;
        struct err err = {0};
        ck_assert_msg(
            location_parse(a, str_from(rows[i].uri), &at, &err), "%s: %s", rows[i].uri, err.msg);
        ck_assert_str_eq(at.authority.p, rows[i].authority);
        ck_assert_str_eq(at.path.p, rows[i].path);
        ck_assert_uint_eq(at.path.n, strlen(rows[i].path));
    }
}
END_TEST

START_TEST(test_location_parse__refused)
{
    static const char *const rows[] = {
        "",
        "/srv/wh",
        "srv/wh",
        "s3:",
        "s3://",
        "s3:///a",
        "s3:/bucket/a",
        "S3://bucket/a",
        "gss://bucket/a",
        "http://bucket/a",
        "s3://bucket:80/a",
        "s3://user@bucket/a",
        "s3://key:secret@bucket/a",
        "s3://.bucket/a",
        "s3://bucket./a",
        "s3://../a",
        "s3://buck et/a",
        "s3://bucket//a",
        "s3://bucket/a//b",
        "s3://bucket/a/../b",
        "s3://bucket/..",
        "s3://bucket/./a",
        "s3://bucket/a?versionId=1",
        "s3://bucket/a#b",
        "s3://bucket/a\\b",
        "s3://bucket/a\nb",
        "s3://bucket/a\x7f",
        "s3://bucket/a\xff",
        "s3://bucket/a\xe2\x80\x8b",
        "s3://bucket/a\xe2\x80\xaex",
        "s3://bucket/a\xef\xbb\xbf",
        "s3://bucket/a\xc2\x85",
        "s3://bucket/a\xc2\xad",
        "s3://bucket/a\xd8\x9c",
        "s3://bucket/a\xe1\xa0\x8e",
        "s3://bucket/a\xef\xbf\xb9",
        "s3://bucket/a\xf3\xa0\x80\xa0",
        "s3://bucket/a ",
        "s3://bucket/a /",
        "file:///a// //",
        " s3://bucket/a",
        "s3://bucket/s3://other/a",
        "file:",
        "file:srv/wh",
        "file://host/srv",
        "file://user:pw@localhost/srv",
        "file:///srv/../etc/passwd",
        "file:///srv/./wh",
        "file:///srv/s3://b/x",
        "file:///srv/a?b",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct location at;
        struct err err = {0};
        ck_assert_msg(!location_parse(a, str_from(rows[i]), &at, &err), "%s", rows[i]);
        ck_assert_msg(err.kind == ERR_STORE_BAD_URI, "%s", rows[i]);
        ck_assert_msg(!strstr(err.msg, "secret") && !strstr(err.msg, "pw"), "%s", err.msg);
    }
}
END_TEST

START_TEST(test_location_parse__length)
{
    char text[1026] = "s3://bucket/";
    memset(text + 12, 'a', sizeof(text) - 12);
    struct location at;
    struct err err = {0};
    ck_assert(location_parse(a, (struct str){text, 1024}, &at, &err));
    ck_assert_uint_eq(at.path.n, 1024 - 11);
    ck_assert(!location_parse(a, (struct str){text, 1025}, &at, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
}
END_TEST

START_TEST(test_location_parse__zero_byte)
{
    struct location at;
    struct err err = {0};
    ck_assert(!location_parse(a, STR("file:///srv/wh\0/../../etc"), &at, &err));
}
END_TEST

START_TEST(test_location_within__whole_segments)
{
    static const struct {
        const char *inner, *outer;
        bool within;
    } rows[] = {
        {"s3://b/wh/t1",         "s3://b/wh",       true },
        {"s3://b/wh/t1",         "s3://b/wh/",      true },
        {"s3://b/wh",            "s3://b/wh",       true },
        {"s3://b/wh/t1",         "s3://b",          true },
        {"s3a://b/wh/t1",        "s3://b/wh",       true },
        {"file:/srv/wh/x",       "file:///srv/wh",  true },
        {"file:///srv/wh//x",    "file:/srv/wh",    true },
        {"file:/tmp/x",          "file:/",          true },
        {"s3://b/wh/t10",        "s3://b/wh/t1",    false},
        {"s3://b/wh",            "s3://b/wh/t1",    false},
        {"s3://b2/wh/t1",        "s3://b/wh",       false},
        {"s3://b/WH/t1",         "s3://b/wh",       false},
        {"file:/b/wh",           "s3://b/wh",       false},
        {"file:///srv/wh%2F",    "file:///srv/wh/", false},
        {"file:///srv/wh-other", "file:///srv/wh",  false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct location inner, outer;
        struct err err = {0};
        ck_assert(location_parse(a, str_from(rows[i].inner), &inner, &err));
        ck_assert(location_parse(a, str_from(rows[i].outer), &outer, &err));
        ck_assert_msg(location_within(&inner, &outer) == rows[i].within, "%s in %s", rows[i].inner,
            rows[i].outer);
    }
}
END_TEST

START_TEST(test_store_is_file__by_scheme)
{
    ck_assert(store_is_file(STR("file:/x")));
    ck_assert(store_is_file(STR("file:///x")));
    ck_assert(!store_is_file(STR("s3://b/file:/x")));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("location");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_location_parse__accepted);
    tcase_add_test(tc, test_location_parse__refused);
    tcase_add_test(tc, test_location_parse__length);
    tcase_add_test(tc, test_location_parse__zero_byte);
    tcase_add_test(tc, test_location_within__whole_segments);
    tcase_add_test(tc, test_store_is_file__by_scheme);
    Suite *s = suite_create("location");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
