#include "head.h"

#include <check.h>

#include "call.h"
#include "config.h"
#include "uuid.h"

static struct call *begin(const char *method, const char *uri)
{
    static const char *const origins[] = {"https://ui.example", NULL};
    static const struct config conf = {.cors_origins = origins};
    static const struct server server = {.conf = &conf};
    struct call *c = call_new(&server);

    c->method = str_from(method);
    c->uri = str_from(uri);
    return c;
}

static bool header(struct call *c, const char *name, const char *value)
{
    return head_header(c, str_from(name), str_from(value));
}

/* Refused, with this kind, and whether the connection ends with it. */
static void refused(struct call *c, enum err_kind kind, int after)
{
    ck_assert_int_eq(c->err.kind, kind);
    ck_assert_int_eq(c->connection_after, after);
    call_free(&c);
}

START_TEST(test_head__path_and_query_are_taken_apart_undecoded)
{
    struct call *c = begin("GET", "/v1/namespaces/a%2Fb?parent=x%1Fy&pageToken=");

    ck_assert(header(c, "Host", "h") && head_check(c));
    ck_assert(str_eq(c->path, STR("/v1/namespaces/a%2Fb")));
    ck_assert(str_eq(c->query, STR("parent=x%1Fy&pageToken=")));
    call_free(&c);
    c = begin("GET", "/v1/config");
    ck_assert(head_check(c));
    ck_assert_ptr_null(c->query.p);
    call_free(&c);
}
END_TEST

START_TEST(test_head__absolute_form_of_the_own_host_only)
{
    struct call *c = begin("GET", "http://cat:8181/v1/config?x=1");

    ck_assert(header(c, "Host", "CAT:8181") && head_check(c));
    ck_assert(str_eq(c->path, STR("/v1/config")));
    call_free(&c);
    c = begin("GET", "http://elsewhere/v1/config");
    ck_assert(header(c, "Host", "cat:8181") && !head_check(c));
    refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
    c = begin("GET", "v1/config");
    ck_assert(!head_check(c));
    refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
}
END_TEST

START_TEST(test_head__length_and_transfer_encoding_together)
{
    struct call *c = begin("POST", "/");

    ck_assert(header(c, "Content-Length", "4") && header(c, "Transfer-Encoding", "chunked"));
    ck_assert(!head_check(c));
    refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
}
END_TEST

START_TEST(test_head__repeated_headers_that_decide)
{
    const char *const names[] = {
        "Content-Length", "host", "Authorization", "Idempotency-Key", "If-None-Match"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct call *c = begin("POST", "/");
        ck_assert(header(c, names[i], "4") && !header(c, names[i], "4"));
        refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
    }
}
END_TEST

START_TEST(test_head__repeated_lists_are_joined)
{
    struct call *c = begin("GET", "/");

    ck_assert(header(c, "Accept-Encoding", " br ") && header(c, "accept-encoding", "gzip"));
    ck_assert(str_eq(call_header(c, HEADER_ACCEPT_ENCODING), STR("br, gzip")));
    call_free(&c);
}
END_TEST

START_TEST(test_head__transfer_encoding_is_chunked_or_nothing)
{
    const char *const bad[] = {"xchunked", "gzip, chunked", "identity", ""};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct call *c = begin("POST", "/");
        ck_assert(header(c, "Transfer-Encoding", bad[i]) && !head_check(c));
        refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
    }
    struct call *c = begin("POST", "/");
    ck_assert(header(c, "Transfer-Encoding", "Chunked") && head_check(c));
    call_free(&c);
}
END_TEST

START_TEST(test_head__longer_than_we_take)
{
    char *text = xmalloc(64 * 1024);

    memset(text, 'x', 64 * 1024);
    text[0] = '/';
    text[16 * 1024] = '\0';
    struct call *c = begin("GET", text);
    ck_assert(head_check(c));
    call_free(&c);
    text[16 * 1024] = 'x';
    text[16 * 1024 + 1] = '\0';
    c = begin("GET", text);
    ck_assert(!head_check(c));
    refused(c, ERR_URI_TOO_LONG, CALL_CLOSE);
    c = begin("GET", "/");
    ck_assert(header(c, "x", text));
    ck_assert(!header(c, "x", text));
    refused(c, ERR_HEADERS_TOO_LARGE, CALL_CLOSE);
    xfree(text);
}
END_TEST

START_TEST(test_head__content_length_is_digits)
{
    const char *const bad[] = {"+4", "-1", "4,4", "0x4", ""};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct call *c = begin("POST", "/");
        ck_assert(header(c, "Content-Length", bad[i]) && !head_check(c));
        refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
    }
}
END_TEST

START_TEST(test_head__names_and_values_without_odd_bytes)
{
    const char *const names[] = {"Content-Length ", " Host", "A B", "A\tB", "", "A(B"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct call *c = begin("GET", "/");
        ck_assert(!header(c, names[i], "4"));
        refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
    }
    struct call *c = begin("GET", "/");
    ck_assert(!header(c, "User-Agent", "a\rb"));
    refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
}
END_TEST

START_TEST(test_head__target_without_spaces_and_controls)
{
    const char *const bad[] = {"/a b", "/a\tb", "/a\x01"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct call *c = begin("GET", bad[i]);
        ck_assert(!head_check(c));
        refused(c, ERR_BAD_REQUEST, CALL_CLOSE);
    }
    /* DuckDB sends the unit separator as it is. */
    struct call *c = begin("GET", "/v1/namespaces/a\x1f"
                                  "b");
    ck_assert(head_check(c));
    call_free(&c);
}
END_TEST

START_TEST(test_head__origin_and_content_encoding)
{
    struct call *c = begin("GET", "/");

    ck_assert(header(c, "Origin", "https://elsewhere.example") && !head_check(c));
    refused(c, ERR_FORBIDDEN, CALL_KEEP);
    c = begin("GET", "/");
    ck_assert(header(c, "Origin", "https://ui.example") && head_check(c));
    call_free(&c);
    c = begin("POST", "/");
    ck_assert(header(c, "Content-Encoding", "gzip") && !head_check(c));
    refused(c, ERR_MEDIA_TYPE, CALL_KEEP);
    c = begin("POST", "/");
    ck_assert(header(c, "Content-Encoding", "identity") && head_check(c));
    call_free(&c);
}
END_TEST

static void id_is(const char *id, const char *trace, const char *expected)
{
    struct call *c = begin("GET", "/");

    ck_assert(!id || header(c, "X-Request-ID", id));
    ck_assert(!trace || header(c, "traceparent", trace));
    head_id(c);
    if (expected)
        ck_assert(str_eq(c->id, str_from(expected)));
    else
        ck_assert(uuid_is(c->id));
    call_free(&c);
}

START_TEST(test_head_id__sent_traced_or_drawn)
{
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    char too_long[130] = {0};

    memset(too_long, 'x', 129);
    id_is("abc-1", trace, "abc-1");
    id_is(NULL, trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    id_is("with space", trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    id_is(too_long, NULL, NULL);
    id_is("", "00-short-1-1", NULL);
    id_is("\xc3\xa4", "nonsense", NULL);
    id_is(NULL, NULL, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server/head");
    TCase *cases = tcase_create("server/head");
    tcase_add_test(cases, test_head__path_and_query_are_taken_apart_undecoded);
    tcase_add_test(cases, test_head__absolute_form_of_the_own_host_only);
    tcase_add_test(cases, test_head__length_and_transfer_encoding_together);
    tcase_add_test(cases, test_head__repeated_headers_that_decide);
    tcase_add_test(cases, test_head__repeated_lists_are_joined);
    tcase_add_test(cases, test_head__transfer_encoding_is_chunked_or_nothing);
    tcase_add_test(cases, test_head__longer_than_we_take);
    tcase_add_test(cases, test_head__content_length_is_digits);
    tcase_add_test(cases, test_head__names_and_values_without_odd_bytes);
    tcase_add_test(cases, test_head__target_without_spaces_and_controls);
    tcase_add_test(cases, test_head__origin_and_content_encoding);
    tcase_add_test(cases, test_head_id__sent_traced_or_drawn);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
