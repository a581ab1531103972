#include "arena.h"
#include "base.h"
#include "store.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Hosts have no case, an account's two interfaces and the drivers' schemes name the same objects.
 */
START_TEST(test_location_parse__azure)
{
    static const struct {
        const char *uri, *authority, *path;
    } rows[] = {
        {"abfss://cont@acct.dfs.core.windows.net/a/b",       "abfss://cont@acct.dfs.core.windows.net",
         "/a/b"                                                                                              },
        {"abfs://cont@acct.dfs.core.windows.net/a/",         "abfss://cont@acct.dfs.core.windows.net",
         "/a"                                                                                                },
        {"wasbs://cont@acct.blob.core.windows.net/a",        "abfss://cont@acct.dfs.core.windows.net",
         "/a"                                                                                                },
        {"wasb://cont@ACCT.Blob.core.windows.net",           "abfss://cont@acct.dfs.core.windows.net", "/"   },
        {"abfss://c-1@onelake.dfs.fabric.microsoft.com/x@y",
         "abfss://c-1@onelake.dfs.fabric.microsoft.com",                                               "/x@y"},
        {"abfss://cont@blob.z01.blob.storage.azure.net/a",
         "abfss://cont@blob.z01.dfs.storage.azure.net",                                                "/a"  },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct location at;
        struct err err = {0};
        ck_assert_msg(
            location_parse(a, str_from(rows[i].uri), &at, &err), "%s: %s", rows[i].uri, err.msg);
        ck_assert_str_eq(at.authority.p, rows[i].authority);
        ck_assert_str_eq(at.path.p, rows[i].path);
    }
}
END_TEST

START_TEST(test_location_parse__azure_refused)
{
    static const char *const rows[] = {
        "abfss://acct.dfs.core.windows.net/a",
        "abfss://cont@acct.dfs.core.windows.net./a",
        "abfss://cont@acct..dfs.core.windows.net/a",
        "abfss://cont@acct.dfs.core.windows.net:443/a",
        "abfss://Cont@acct.dfs.core.windows.net/a",
        "abfss://co@acct.dfs.core.windows.net/a",
        "abfss://-cont@acct.dfs.core.windows.net/a",
        "abfss://cont@dfs.example/a",
        "abfss://cont@169.254.169.254/a",
        "abfss://cont@acct.core.windows.net/a",
        "abfss://user:pw@cont@acct.dfs.core.windows.net/a",
        "abfss://cont@acct.dfs.core.windows.net/a//b",
        "abfss://cont@acct.dfs.core.windows.net/a/../b",
        "abfss:/cont@acct.dfs.core.windows.net/a",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct location at;
        struct err err = {0};
        ck_assert_msg(!location_parse(a, str_from(rows[i]), &at, &err), "%s", rows[i]);
        ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
        ck_assert_ptr_null(strstr(err.msg, "pw"));
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

enum { WORDS = 5, DEEP = 3 };

/* The n-th path of up to DEEP words, some of which begin alike; its words in `words`. */
static size_t nth_path(unsigned n, const char *words[static DEEP], char text[static 64])
{
    static const char *const all[WORDS] = {"a", "ab", "b", "a.", "A"};
    size_t depth = n % DEEP + 1;
    n /= DEEP;
    char *end = stpcpy(text, "s3://b");
    for (size_t i = 0; i < depth; i++) {
        words[i] = all[n % WORDS];
        n /= WORDS;
        end = stpcpy(stpcpy(end, "/"), words[i]);
    }
    return depth;
}

/* Every pair of such paths, by their segments one by one: what lies in what, which way round. */
START_TEST(test_location_within__as_segments_say)
{
    const unsigned all = DEEP * WORDS * WORDS * WORDS;
    for (unsigned m = 0; m < all; m++) {
        for (unsigned n = 0; n < all; n++) {
            const char *of_inner[DEEP], *of_outer[DEEP];
            char x[64], y[64];
            struct location inner, outer;
            struct err err = {0};
            size_t deep = nth_path(m, of_inner, x), high = nth_path(n, of_outer, y);
            bool within = high <= deep;
            for (size_t i = 0; within && i < high; i++)
                within = strcmp(of_inner[i], of_outer[i]) == 0;
            ck_assert(location_parse(a, str_from(x), &inner, &err));
            ck_assert(location_parse(a, str_from(y), &outer, &err));
            ck_assert_msg(location_within(&inner, &outer) == within, "%s in %s", x, y);
        }
        arena_reset(a);
    }
}
END_TEST

/* One place has one identity, in whatever words; places that differ have two. */
START_TEST(test_location_identity__one_for_each_place)
{
    static const struct {
        const char *one, *other;
        bool same;
    } rows[] = {
        {"s3://bucket/a",     "s3a://bucket/a",          true },
        {"s3://bucket/a",     "s3n://bucket/a/",         true },
        {"s3://Bucket/a",     "s3://bucket/a",           true },
        {"s3://bucket/a",     "s3://bucket/A",           false},
        {"s3://bucket/a",     "s3://bucket/a%20",        false},
        {"s3://bucket/%61",   "s3://bucket/a",           false},
        {"file:/none/a",      "file:///none//a/",        true },
        {"file:/none/a",      "file://localhost/none/a", true },
        {"file:/none/a",      "file:/none/A",            false},
        {"file:/proc/self/x", "file:/proc/none/x",       false},
        {"file:/",            "file:///",                true },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct location one, other;
        struct err err = {0};
        ck_assert(location_identity(a, str_from(rows[i].one), &one, &err));
        ck_assert(location_identity(a, str_from(rows[i].other), &other, &err));
        bool same = str_eq(one.authority, other.authority) && str_eq(one.path, other.path);
        ck_assert_msg(same == rows[i].same, "%s and %s", rows[i].one, rows[i].other);
    }
}
END_TEST

START_TEST(test_location_identity__links)
{
    char folder[] = "/tmp/firn-link-XXXXXX", link[64], uri[80];
    struct location at;
    struct err err = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(link, sizeof(link), "%s-to", folder);
    ck_assert_int_eq(symlink(folder, link), 0);
    (void)snprintf(uri, sizeof(uri), "file:%s/new/x", link);
    ck_assert(location_identity(a, str_from(uri), &at, &err));
    ck_assert_msg(str_starts(at.path, str_from(folder)) && !str_starts(at.path, str_from(link)) &&
                      str_ends(at.path, STR("/new/x")),
        "%.*s", STR_ARG(at.path));
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(test_store_is_file__by_scheme)
{
    ck_assert(store_is_file(STR("file:/x")));
    ck_assert(store_is_file(STR("file:///x")));
    ck_assert(!store_is_file(STR("s3://b/file:/x")));
}
END_TEST

/* Do two names share a place? */
static bool share(const char *one, const char *other, const char *own)
{
    struct location at[SPELLED_MAX], with[SPELLED_MAX], home[SPELLED_MAX];
    size_t homes = own ? location_spelled(a, str_from(own), NULL, home) : 0;
    size_t n = location_spelled(a, str_from(one), NULL, at);
    size_t m = location_spelled(a, str_from(other), homes ? home : NULL, with);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            if (str_eq(at[i].authority, with[k].authority) && str_eq(at[i].path, with[k].path))
                return true;
    return false;
}

START_TEST(test_location_spelled__one_object)
{
    static const struct {
        const char *strict, *other, *own;
    } rows[] = {
        {"file:///a/b",                 "/a/b",                        NULL                         },
        {"file:///a/b",                 "//a//b",                      NULL                         },
        {"file:///a/b",                 "FILE:/a/./b",                 NULL                         },
        {"file:///a/b",                 "file:///a/c/../b",            NULL                         },
        {"file:///a/b",                 "file:///../a/b",              NULL                         },
        {"file:///a/b",                 "file://somehost/a/b",         NULL                         },
        {"file:///a/b c",               "file:///a/b%20c",             NULL                         },
        {"file:///a/b%20c",             "file:///a/b%2520c",           NULL                         },
        {"file:///a/\xc3\xbc",          "file:/a/%c3%BC",              NULL                         },
        {"s3://B-1/a/b",                "S3A://b-1//a/./b",            NULL                         },
        {"s3://b-1/a/b",                "s3n://key:secret@b-1/a/b",    NULL                         },
        {"s3://b-1/a/b",                "oss://b-1/a/%2e/b?x=1",       NULL                         },
        {"s3://b-1/a/b",                "s3://b-1/a/b#x",              NULL                         },
        {"s3://b-1/a/b",                "/a/b",                        "s3a://b-1/own"              },
        {"gs://b-1/a",                  "gcs://b-1/c/%2E%2e/a",        NULL                         },
        {"abfss://cnt@acc.dfs.x.net/a", "wasb://cnt@ACC.blob.x.net/a", NULL                         },
        {"abfss://cnt@acc.dfs.x.net/a", "abfs://acc.dfs.x.net/cnt/a",  NULL                         },
        {"abfss://cnt@acc.dfs.x.net/a", "abfs://cnt/a",                "abfss://own@acc.dfs.x.net/t"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ck_assert_msg(share(rows[i].strict, rows[i].other, rows[i].own), "%s", rows[i].other);
}
END_TEST

START_TEST(test_location_spelled__two_objects)
{
    ck_assert(!share("file:///a/b", "file:///a/bc", NULL));
    ck_assert(!share("file:///a/b", "a/b", NULL));
    ck_assert(!share("file:///a/b", "hdfs://n/a/b", NULL));
    ck_assert(!share("file:///a/b", "", NULL));
    ck_assert(!share("s3://b/a", "gs://b/a", NULL));
    ck_assert(!share("s3://b/a", "s3:/b/a", NULL));
    ck_assert(!share("s3://b/a", "s3://c/a", NULL));
    ck_assert(!share("s3://b/a", "/a", NULL));
    ck_assert(!share("abfss://cnt@acc.dfs.x.net/a", "abfs://cnt/a", NULL));
    ck_assert(!share("abfss://cnt@acc.dfs.x.net/a", "abfss://cnt@other.dfs.x.net/a", NULL));
}
END_TEST

/* Text for an index, whatever the bytes are: also half characters. */
START_TEST(test_location_spelled__ascii)
{
    struct location at[SPELLED_MAX];
    ck_assert_uint_eq(location_spelled(a, STR("s3://b/\xff%00%zz/\x01"), NULL, at), 1);
    ck_assert_int_eq((int)at[0].path.n, (int)strlen("/%FF%00%zz/%01"));
    ck_assert_int_eq(memcmp(at[0].path.p, "/%FF%00%zz/%01", at[0].path.n), 0);
}
END_TEST

START_TEST(test_location_spelled__links)
{
    char folder[] = "/tmp/spelled-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    const char *real = arena_printf(a, "%s/real", folder).p;
    const char *link = arena_printf(a, "%s/link", folder).p;
    ck_assert_int_eq(symlink("real", link), 0);
    ck_assert_int_eq(mkdir(real, 0700), 0);
    ck_assert(share(arena_printf(a, "file://%s/x", link).p, arena_printf(a, "%s/x", real).p, NULL));
    ck_assert(
        share(arena_printf(a, "file://%s/x", real).p, arena_printf(a, "%s/./x", link).p, NULL));
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(rmdir(real), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("location");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_location_parse__accepted);
    tcase_add_test(tc, test_location_parse__refused);
    tcase_add_test(tc, test_location_parse__azure);
    tcase_add_test(tc, test_location_parse__azure_refused);
    tcase_add_test(tc, test_location_parse__length);
    tcase_add_test(tc, test_location_parse__zero_byte);
    tcase_add_test(tc, test_location_within__whole_segments);
    tcase_add_test(tc, test_location_within__as_segments_say);
    tcase_add_test(tc, test_location_identity__one_for_each_place);
    tcase_add_test(tc, test_location_identity__links);
    tcase_add_test(tc, test_location_spelled__one_object);
    tcase_add_test(tc, test_location_spelled__two_objects);
    tcase_add_test(tc, test_location_spelled__ascii);
    tcase_add_test(tc, test_location_spelled__links);
    tcase_add_test(tc, test_store_is_file__by_scheme);
    Suite *s = suite_create("location");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
