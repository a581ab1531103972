#include "arena.h"
#include "base.h"
#include "xml.h"

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

static bool reads(const char *doc)
{
    struct xml x;
    enum xml_event e;
    struct err err;
    xml_init(&x, a, str_from(doc));
    do {
        if (!xml_next(&x, &e, &err))
            return false;
    } while (e != XML_DONE);
    return true;
}

START_TEST(test_xml_find__error_of_a_store)
{
    struct str doc = STR("\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<Error><Code>NoSuchKey</Code><Message>no &lt;key&gt; &amp; "
                         "&#233;&#x20AC;&#x1F600;</Message><Empty/></Error>\n");
    ck_assert_str_eq(xml_find(a, doc, "Code").p, "NoSuchKey");
    ck_assert_str_eq(
        xml_find(a, doc, "Message").p, "no <key> & \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    ck_assert_uint_eq(xml_find(a, doc, "Empty").n, 0);
    ck_assert_ptr_nonnull(xml_find(a, doc, "Empty").p);
    ck_assert_ptr_null(xml_find(a, doc, "Region").p);
}
END_TEST

START_TEST(test_xml_find__wrapped_with_namespace)
{
    struct str doc = STR("<s:ErrorResponse xmlns:s=\"https://x/\"><s:Error><s:Code >A</s:Code>"
                         "</s:Error></s:ErrorResponse>");
    ck_assert_str_eq(xml_find(a, doc, "Code").p, "A");
}
END_TEST

START_TEST(test_xml_find__cdata_and_comment)
{
    struct str doc = STR("<E><!-- <Code>no</Code> --><Code>a<![CDATA[<&>]]>b</Code></E>");
    ck_assert_str_eq(xml_find(a, doc, "Code").p, "a<&>b");
}
END_TEST

/* They are joined, which costs a copy each. */
START_TEST(test_xml_next__text_in_very_many_pieces)
{
    enum { MANY = 20000 };
    char *doc = xmalloc(16 * MANY + 64), *p = stpcpy(doc, "<E><K>");
    for (int i = 0; i < MANY; i++)
        p = stpcpy(p, "abcd<!---->");
    (void)stpcpy(p, "</K></E>");
    size_t before = arena_used(a);
    ck_assert(!reads(doc));
    ck_assert_uint_lt(arena_used(a) - before, 16 * MANY);
    p = stpcpy(doc, "<E><K>abcd");
    for (int i = 0; i < MANY; i++)
        p = stpcpy(p, "<![CDATA[]]>");
    (void)stpcpy(p, "</K></E>");
    ck_assert(reads(doc));
    ck_assert_uint_lt(arena_used(a) - before, 16 * MANY);
    xfree(doc);
    ck_assert(reads("<E>\n<K>a<!-- -->b<!-- -->c</K>\n<!-- -->\n<K/>\n<!-- -->\n</E>"));
}
END_TEST

START_TEST(test_xml_find__page_of_a_proxy)
{
    ck_assert_ptr_null(xml_find(a, STR("<!DOCTYPE html><html><Code>x</Code></html>"), "Code").p);
    ck_assert_ptr_null(xml_find(a, STR("Bad gateway"), "Code").p);
    ck_assert_ptr_null(xml_find(a, STR(""), "Code").p);
    ck_assert_ptr_null(xml_find(a, (struct str){NULL, 0}, "Code").p);
}
END_TEST

START_TEST(test_xml_next__refused)
{
    static const char *const rows[] = {
        "",
        "text",
        "<a>",
        "<a",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>text",
        "<a>&unknown;</a>",
        "<a>&#0;</a>",
        "<a>&#xD800;</a>",
        "<a>&#x110000;</a>",
        "<a>&amp</a>",
        "<a>&#99999999999;</a>",
        "<>x</>",
        "<a><!-- </a>",
        "<a><![CDATA[ </a>",
        "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
        "<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ck_assert_msg(!reads(rows[i]), "%s", rows[i]);
    ck_assert(reads("<a><b><c><d><e><f><g><h/></g></f></e></d></c></b></a>"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("xml");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_xml_find__error_of_a_store);
    tcase_add_test(tc, test_xml_find__wrapped_with_namespace);
    tcase_add_test(tc, test_xml_find__cdata_and_comment);
    tcase_add_test(tc, test_xml_next__text_in_very_many_pieces);
    tcase_add_test(tc, test_xml_find__page_of_a_proxy);
    tcase_add_test(tc, test_xml_next__refused);
    Suite *s = suite_create("xml");
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
