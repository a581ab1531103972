#include "buf.h"

#include <check.h>

#include "arena.h"
#include "base.h"

#define ck_assert_buf(b, lit) ck_assert(str_eq(buf_view(b), STR(lit)))

START_TEST(test_buf_put__pieces_are_joined)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, SIZE_MAX);
    ck_assert_buf(&b, "");
    ck_assert_ptr_nonnull(buf_view(&b).p);
    buf_puts(&b, "a");
    buf_putc(&b, '\0');
    buf_str(&b, STR("bc"));
    buf_str(&b, (struct str){NULL, 0});
    buf_put(&b, "defg", 2);
    buf_putf(&b, "-%d%%", 5);
    ck_assert_buf(&b, "a\0bcde-5%");
    ck_assert(!b.over);
}
END_TEST

START_TEST(test_buf_put__grows_far_beyond_its_first_room)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, SIZE_MAX);
    for (int i = 0; i < 100000; i++)
        buf_putc(&b, (char)('a' + i % 26));
    ck_assert_uint_eq(b.n, 100000);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(b.p[i], 'a' + i % 26);
}
END_TEST

START_TEST(test_buf_put__the_maximum_is_exact_and_over_is_sticky)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 1000);
    for (int i = 0; i < 1000; i++)
        buf_putc(&b, 'x');
    ck_assert(!b.over);
    buf_put(&b, "", 0);
    ck_assert(!b.over);
    buf_putc(&b, 'x');
    ck_assert(b.over);
    ck_assert_uint_eq(b.n, 1000);
    b.n = 10;
    buf_puts(&b, "y");
    buf_putf(&b, "%d", 1);
    buf_json_str(&b, STR("y"));
    buf_json_i64(&b, 1);
    ck_assert_uint_eq(b.n, 10);
}
END_TEST

START_TEST(test_buf_put__a_piece_beyond_the_maximum_is_not_written_in_part)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 5);
    buf_puts(&b, "abc");
    buf_puts(&b, "def");
    ck_assert(b.over);
    ck_assert_buf(&b, "abc");
}
END_TEST

START_TEST(test_buf_reserve__absurd_sizes_are_over)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "abc");
    buf_reserve(&b, SIZE_MAX);
    ck_assert(b.over);
}
END_TEST

START_TEST(test_buf_putf__long_text)
{
    for (int n = 250; n < 262; n++) {
        AUTO(buf_fini) struct buf b;
        buf_init(&b, 300);
        buf_puts(&b, "<");
        buf_putf(&b, "%0*d", n, 7);
        buf_puts(&b, ">");
        ck_assert_uint_eq(b.n, (size_t)n + 2);
        ck_assert_int_eq(b.p[n], '7');
        ck_assert_int_eq(b.p[n + 1], '>');
        buf_putf(&b, "%0*d", n, 7);
        ck_assert(b.over);
    }
}
END_TEST

START_TEST(test_buf_take__bytes_live_as_long_as_the_arena)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 100);
    buf_puts(&b, "kept");
    struct str s = buf_take(&b, a);
    ck_assert_uint_eq(b.n, 0);
    buf_puts(&b, "other");
    ck_assert_str_eq(s.p, "kept");
    ck_assert_uint_eq(s.n, 4);
    ck_assert_buf(&b, "other");
}
END_TEST

START_TEST(test_buf_take__empty_and_over)
{
    AUTO(arena_free) struct arena *a = arena_new();
    AUTO(buf_fini) struct buf b;
    buf_init(&b, 3);
    struct str s = buf_take(&b, a);
    ck_assert_ptr_nonnull(s.p);
    ck_assert_uint_eq(s.n, 0);
    buf_puts(&b, "abc");
    buf_puts(&b, "d");
    s = buf_take(&b, a);
    ck_assert_ptr_null(s.p);
    ck_assert(b.over);
}
END_TEST

START_TEST(test_buf_json_str__escapes)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_json_str(&b, STR("\"\\/\b\f\n\r\t\x01\x1f\x7f"));
    ck_assert_buf(&b, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    b.n = 0;
    buf_json_str(&b, STR("a\0b"));
    ck_assert_buf(&b, "\"a\\u0000b\"");
    b.n = 0;
    buf_json_str(&b, STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
    ck_assert_buf(&b, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    b.n = 0;
    buf_json_str(&b, (struct str){NULL, 0});
    ck_assert_buf(&b, "\"\"");
}
END_TEST

/* The slow and obvious form of the escaping. */
static void plain_json(struct buf *b, const char *p, size_t n)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        const char *at = c ? strchr("\bb\ff\nn\rr\tt", c) : NULL;
        if (c == '"' || c == '\\')
            buf_putf(b, "\\%c", c);
        else if (c < 0x20 && at)
            buf_putf(b, "\\%c", at[1]);
        else if (c < 0x20)
            buf_putf(b, "\\u%04x", c);
        else
            buf_putc(b, (char)c);
    }
    buf_putc(b, '"');
}

START_TEST(test_buf_json_str__every_byte_at_every_place)
{
    AUTO(buf_fini) struct buf fast, slow;
    buf_init(&fast, SIZE_MAX);
    buf_init(&slow, SIZE_MAX);
    char text[20];
    for (int c = 0; c < 256; c++) {
        for (size_t at = 0; at < sizeof(text); at++) {
            memset(text, c < 128 ? 'a' : '\xe2', sizeof(text));
            text[at] = (char)c;
            text[(at + 5) % sizeof(text)] = '\x80';
            fast.n = slow.n = 0;
            buf_json_str(&fast, (struct str){text, sizeof(text)});
            plain_json(&slow, text, sizeof(text));
            ck_assert(str_eq(buf_view(&fast), buf_view(&slow)));
        }
    }
}
END_TEST

START_TEST(test_buf_json_i64__extremes)
{
    AUTO(buf_fini) struct buf b;
    buf_init(&b, SIZE_MAX);
    static const int64_t values[] = {0, 7, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        buf_json_i64(&b, values[i]);
        buf_putc(&b, ' ');
    }
    ck_assert_buf(&b, "0 7 -1 10 9223372036854775807 -9223372036854775808 ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/buf");
    TCase *cases = tcase_create("base/buf");
    tcase_add_test(cases, test_buf_put__pieces_are_joined);
    tcase_add_test(cases, test_buf_put__grows_far_beyond_its_first_room);
    tcase_add_test(cases, test_buf_put__the_maximum_is_exact_and_over_is_sticky);
    tcase_add_test(cases, test_buf_put__a_piece_beyond_the_maximum_is_not_written_in_part);
    tcase_add_test(cases, test_buf_reserve__absurd_sizes_are_over);
    tcase_add_test(cases, test_buf_putf__long_text);
    tcase_add_test(cases, test_buf_take__bytes_live_as_long_as_the_arena);
    tcase_add_test(cases, test_buf_take__empty_and_over);
    tcase_add_test(cases, test_buf_json_str__escapes);
    tcase_add_test(cases, test_buf_json_str__every_byte_at_every_place);
    tcase_add_test(cases, test_buf_json_i64__extremes);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
