#include "scan.h"

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "buf.h"

static const struct scan_limits small = {.bytes = 100, .tokens = 10, .string = 20, .depth = 3};

static bool valid(struct str text)
{
    struct err err = {0};
    return scan_validate(text, &scan_body_limits, &err);
}

/* The message of the refusal of text. */
static const char *refusal(struct str text, const struct scan_limits *limits)
{
    static struct err err;
    err_clear(&err);
    ck_assert_msg(!scan_validate(text, limits, &err), "accepted: %.*s", STR_ARG(text));
    return err.msg;
}

#define ck_refused(text, part)                                                                     \
    do {                                                                                           \
        const char *msg_ = refusal(STR(text), &scan_body_limits);                                  \
        ck_assert_msg(strstr(msg_, (part)), "for %s: %s", (text), msg_);                           \
    } while (0)

START_TEST(test_scan_validate__values_of_every_kind)
{
    static const char *const texts[] = {"{}", "[]", "\"\"", "0", "-0", "-1", "1.5", "1e5", "1E+5",
        "1e-999", "0e999", "0.000e400", "true", "false", "null", " \t\r\n[ 1 , 2 ] \n",
        "{\"a\":{\"b\":[{}]},\"\":null}", "9223372036854775807", "-9223372036854775808",
        "1.7976931348623157e308", "17976931348623157.0e292",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"", "\"\\ud83d\\ude00\"",
        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"", "{\"a\":1,\"b\":1,\"A\":1}",
        "[{\"a\":1},{\"a\":1}]", "{\"a\":{\"a\":{\"a\":1}}}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ck_assert_msg(valid(str_from(texts[i])), "refused: %s", texts[i]);
}
END_TEST

START_TEST(test_scan_validate__malformed_texts)
{
    ck_refused("", "byte 0: expected a value, found the end of the text");
    ck_refused("  ", "byte 2: expected a value, found the end");
    ck_refused("{", "byte 1: expected a key or '}', found the end");
    ck_refused("[", "found the end");
    ck_refused("{\"a\"}", "byte 4: expected ':' behind a key, found '}'");
    ck_refused("{\"a\":}", "byte 5: expected a value, found '}'");
    ck_refused("{\"a\":1,}", "byte 7: expected a key, found '}'");
    ck_refused("{\"a\":1 \"b\":2}", "expected ',' or '}', found '\"'");
    ck_refused("{a:1}", "expected a key or '}', found 'a'");
    ck_refused("{,}", "expected a key or '}', found ','");
    ck_refused("[1,]", "byte 3: expected a value, found ']'");
    ck_refused("[1 2]", "expected ',' or ']', found '2'");
    ck_refused("[,1]", "expected a value, found ','");
    ck_refused("[1}", "expected ',' or ']', found '}'");
    ck_refused("{\"a\":1]", "expected ',' or '}', found ']'");
    ck_refused("tru", "expected true");
    ck_refused("nul1", "expected null");
    ck_refused("NaN", "expected a value, found 'N'");
    ck_refused("Infinity", "expected a value, found 'I'");
    ck_refused("'a'", "expected a value, found '''");
    ck_refused("// x\n1", "expected a value, found '/'");
}
END_TEST

START_TEST(test_scan_validate__bytes_behind_the_value)
{
    ck_refused("{} x", "byte 3: expected the end of the text, found 'x'");
    ck_refused("{}{}", "expected the end of the text, found '{'");
    ck_refused("1 2", "expected the end");
    ck_refused("[]\0", "found the byte 0x00");
    ck_refused("[false\0]", "found the byte 0x00");
    ck_refused("[1\0]", "found the byte 0x00");
    ck_refused("truefalse", "expected the end");
}
END_TEST

START_TEST(test_scan_validate__numbers_of_other_languages)
{
    static const char *const texts[] = {"01", "-01", "+1", ".5", "1.", "1.e5", "1e", "1e+", "-",
        "--1", "0x10", "1_000", "1f", "1e999", "-1e999", "1.8e308", "17976931348623159e292",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999999", "1.5.5", "- 1"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ck_assert_msg(!valid(str_from(texts[i])), "accepted: %s", texts[i]);
    ck_refused("1e999", "beyond the range of a double");
    ck_refused("9223372036854775808", "does not fit 64 bits");
}
END_TEST

START_TEST(test_scan_validate__strings)
{
    ck_refused("\"a", "closing quote");
    ck_refused("\"a\\\"", "closing quote");
    ck_refused("\"\\", "expected an escape");
    ck_refused("\"\\x\"", "one of");
    ck_refused("\"\\u12g4\"", "four hexadecimal digits");
    ck_refused("\"\\u12", "four hexadecimal digits");
    ck_refused("\"\\u0000\"", "\\u0000 is not allowed");
    ck_refused("\"a\0b\"", "control character 0x00");
    ck_refused("\"a\nb\"", "control character 0x0a");
    ck_refused("\"12345678\x1f\"", "control character 0x1f");
    ck_refused("\"\\ud800\"", "half of a surrogate pair");
    ck_refused("\"\\ud800\\ud800\"", "half of a surrogate pair");
    ck_refused("\"\\ud800\\u0041\"", "half of a surrogate pair");
    ck_refused("\"\\udc00\"", "half of a surrogate pair");
}
END_TEST

START_TEST(test_scan_validate__invalid_utf8_at_every_alignment)
{
    static const char *const bad[] = {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xff", "\xf0\x9f\x98"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        for (int shift = 0; shift < 17; shift++) {
            char text[64];
            int n = snprintf(
                text, sizeof(text), "\"%.*s%s0123456789\"", shift, "abcdefghijklmnopq", bad[i]);
            const char *msg = refusal((struct str){text, (size_t)n}, &scan_body_limits);
            ck_assert_msg(strstr(msg, "not valid UTF-8"), "%s", msg);
        }
    ck_refused("\xef\xbb\xbf{}", "a byte order mark");
}
END_TEST

START_TEST(test_scan_validate__duplicate_keys_however_spelled)
{
    ck_refused("{\"a\":1,\"a\":2}", "the key \"a\" twice");
    ck_refused("{\"a\":1,\"b\":2,\"\\u0061\":3}", "the key \"a\" twice");
    ck_refused("{\"\\u0061\":1,\"a\":3}", "twice");
    ck_refused("{\"\\/\":1,\"/\":3}", "twice");
    ck_refused("{\"\xf0\x9f\x98\x80\":1,\"\\uD83D\\uDE00\":3}", "twice");
    ck_refused("{\"\":1,\"\":3}", "twice");
    ck_refused("[{\"x\":{\"k\":{\"z\":[1,{\"q\":1}]},\"k\":0}}]", "the key \"k\" twice");
}
END_TEST

START_TEST(test_scan_validate__duplicate_keys_in_objects_of_any_size)
{
    for (int n = 2; n < 3000; n = n * 3 / 2 + 1)
        for (int twin = 0; twin < n; twin += n / 2 + 1) {
            struct buf b;
            buf_init(&b, 1u << 20);
            buf_putc(&b, '{');
            for (int i = 0; i < n; i++)
                buf_putf(&b, "\"key-%d\":{\"key-1\":%d},", i, i);
            size_t unique = b.n - 1;
            buf_putf(&b, "\"k\\u0065y-%d\":0}", twin);
            ck_assert(!valid(buf_view(&b)));
            b.p[unique] = '}';
            ck_assert(valid((struct str){b.p, unique + 1}));
            buf_fini(&b);
        }
}
END_TEST

START_TEST(test_scan_validate__messages_end_with_the_pointer)
{
    ck_refused("{\"a\":{\"b\":[0,{\"c\":1,\"c\":2}]}}", "(/a/b/1/c)");
    ck_refused("{\"a\":[[1],[2,99999999999999999999]],\"b\":1}", "(/a/1/1)");
    ck_refused("{\"x\":{\"y\":1},\"~a/b\":1e400}", "(/~0a~1b)");
    ck_refused("{\"a\":\"}]\\\"{[\",\"b\":nul}", "(/b)");
    ck_refused("{\"a\":{},\"b\":[{}],\"b\":1}", "(/b)");
    ck_assert_str_eq(
        refusal(STR("[1,2"), &small) + strlen(refusal(STR("[1,2"), &small)) - 4, "(/1)");
    ck_assert_ptr_null(strstr(refusal(STR("nul"), &small), "("));
}
END_TEST

START_TEST(test_scan_validate__a_million_keys_are_too_many)
{
    struct err err = {0};
    struct buf b;
    buf_init(&b, 64u << 20);
    buf_putc(&b, '{');
    for (int i = 0; i < 1 << 20; i++)
        buf_putf(&b, "%s\"%d\":0", i ? "," : "", i);
    size_t many = b.n;
    buf_puts(&b, ",\"x\":0}");
    ck_assert(!scan_validate(buf_view(&b), &scan_metadata_limits, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "more than 1048576 keys in one object"));
    b.p[many] = '}';
    ck_assert(scan_validate((struct str){b.p, many + 1}, &scan_metadata_limits, &err));
    buf_fini(&b);
}
END_TEST

START_TEST(test_scan_validate__each_limit_says_its_name)
{
    struct err err = {0};
    ck_assert_ptr_nonnull(strstr(refusal(STR("[[[[]]]]"), &small), "deeper than 3 levels"));
    ck_assert(scan_validate(STR("[[[]]]"), &small, &err));
    ck_assert_ptr_nonnull(
        strstr(refusal(STR("[1,2,3,4,5,6,7,8,9,10]"), &small), "more than 10 keys and values"));
    ck_assert(scan_validate(STR("[1,2,3,4,5,6,7,8,9]"), &small, &err));
    ck_assert_ptr_nonnull(strstr(refusal(STR("\"123456789012345678901\""), &small),
        "a string of 21 bytes, the limit is 20"));
    ck_assert(scan_validate(STR("\"12345678901234567890\""), &small, &err));

    char text[101];
    memset(text, ' ', sizeof(text));
    text[0] = '0';
    ck_assert(scan_validate((struct str){text, 100}, &small, &err));
    ck_assert(!scan_validate((struct str){text, 101}, &small, &err));
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.msg, "101 bytes, the limit is 100"));
}
END_TEST

START_TEST(test_scan_validate__ten_thousand_brackets)
{
    char text[10000];
    memset(text, '[', sizeof(text));
    const char *msg = refusal((struct str){text, sizeof(text)}, &scan_body_limits);
    ck_assert_ptr_nonnull(strstr(msg, "byte 64: nested deeper than 64 levels"));
    for (size_t i = 0; i + 5 <= sizeof(text); i += 5)
        memcpy(text + i, "{\"a\":", 5);
    ck_assert(!valid((struct str){text, sizeof(text)}));
}
END_TEST

START_TEST(test_scan_cursor__walks_members_and_elements)
{
    struct err err = {0};
    struct str key, slice;
    bool more = false;
    int64_t number = 0;
    AUTO(scan_fini) struct scan s;
    AUTO(arena_free) struct arena *a = arena_new();
    scan_init(&s,
        STR(" {\"n\": -7 , \"skip\":{\"x\":[1, 2 ]} ,\"list\":[ 1,\"t\\u00fc\\n\"], \"e\":{}}\n"),
        &scan_body_limits, &err);
    ck_assert_int_eq(scan_peek(&s), SCAN_OBJECT);
    ck_assert(scan_object(&s));
    ck_assert(scan_member(&s, &key, &more) && more && str_eq(key, STR("n")));
    ck_assert_int_eq(scan_peek(&s), SCAN_NUMBER);
    ck_assert(scan_i64(&s, &number));
    ck_assert_int_eq(number, -7);
    ck_assert(scan_member(&s, &key, &more) && more && str_eq(key, STR("skip")));
    ck_assert(scan_skip(&s, &slice));
    ck_assert(str_eq(slice, STR("{\"x\":[1, 2 ]}")));
    ck_assert(scan_member(&s, &key, &more) && more && str_eq(key, STR("list")));
    ck_assert(scan_array(&s));
    ck_assert(scan_element(&s, &more) && more);
    ck_assert(scan_skip(&s, &slice) && str_eq(slice, STR("1")));
    ck_assert(scan_element(&s, &more) && more);
    ck_assert_int_eq(scan_peek(&s), SCAN_STRING);
    ck_assert(scan_string(&s, a, &slice) && str_eq(slice, STR("t\xc3\xbc\n")));
    ck_assert(scan_element(&s, &more) && !more);
    ck_assert(scan_member(&s, &key, &more) && more && str_eq(key, STR("e")));
    ck_assert(scan_object(&s));
    ck_assert(scan_member(&s, &key, &more) && !more);
    ck_assert(scan_member(&s, &key, &more) && !more);
    ck_assert(scan_end(&s));
}
END_TEST

START_TEST(test_scan_cursor__the_first_error_stays)
{
    struct err err = {0};
    struct str key;
    bool more = false;
    int64_t number = 0;
    AUTO(scan_fini) struct scan s;
    scan_init(&s, STR("{\"a\":1.5,\"b\":2}"), &scan_body_limits, &err);
    ck_assert(scan_object(&s) && scan_member(&s, &key, &more));
    ck_assert(!scan_i64(&s, &number));
    ck_assert_ptr_nonnull(strstr(err.msg, "byte 5: expected an integer, found 1.5"));
    ck_assert(!scan_member(&s, &key, &more));
    ck_assert(!scan_skip(&s, NULL));
    ck_assert(!scan_object(&s));
    ck_assert(!scan_array(&s));
    ck_assert(!scan_end(&s));
    ck_assert_int_eq(scan_peek(&s), SCAN_BAD);
    ck_assert_ptr_nonnull(strstr(err.msg, "found 1.5"));
}
END_TEST

START_TEST(test_scan_i64__only_integers_of_64_bits)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0",                    true,  0                  },
        {"-0",                   true,  0                  },
        {"4598765432109876543",  true,  4598765432109876543},
        {"9223372036854775807",  true,  INT64_MAX          },
        {"-9223372036854775808", true,  INT64_MIN          },
        {"9223372036854775808",  false, 0                  },
        {"1.0",                  false, 0                  },
        {"1e3",                  false, 0                  },
        {"\"1\"",                false, 0                  },
        {"null",                 false, 0                  },
        {"true",                 false, 0                  },
        {"",                     false, 0                  },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        int64_t v = 0;
        AUTO(scan_fini) struct scan s;
        scan_init(&s, str_from(cases[i].text), &scan_body_limits, &err);
        ck_assert_msg(scan_i64(&s, &v) == cases[i].ok, "%s: %s", cases[i].text, err.msg);
        ck_assert_int_eq(v, cases[i].ok ? cases[i].value : v);
    }
}
END_TEST

START_TEST(test_scan_cursor__wrong_type_says_what_was_found)
{
    struct err err = {0};
    struct str text;
    AUTO(scan_fini) struct scan s;
    scan_init(&s, STR("[]"), &scan_body_limits, &err);
    ck_assert(!scan_object(&s));
    ck_assert_ptr_nonnull(strstr(err.msg, "expected an object, found '['"));
    err_clear(&err);
    scan_init(&s, STR("12"), &scan_body_limits, &err);
    ck_assert(!scan_raw_string(&s, &text));
    ck_assert_ptr_nonnull(strstr(err.msg, "expected a string, found '1'"));
}
END_TEST

/* -- Against jansson ----------------------------------------------------------------------------
 */

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static unsigned pick(uint64_t *state, unsigned n)
{
    return (unsigned)(random_next(state) >> 33) % n;
}

static void gen_string(struct buf *b, uint64_t *rnd)
{
    static const char *const bits[] = {"a", "b", "key", "0123456789abcdef", "\\n", "\\u0041",
        "\\ud83d\\ude00", "\xc3\xa4", "\xf0\x9f\x98\x80", "\\\\", "\\\"", " ", "\\/"};
    buf_putc(b, '"');
    for (unsigned n = pick(rnd, 4); n; n--)
        buf_puts(b, bits[pick(rnd, ARRAY_LEN(bits))]);
    buf_putc(b, '"');
}

static void gen_scalar(struct buf *b, uint64_t *rnd)
{
    static const char *const numbers[] = {"0", "-0", "1", "-12", "1.5", "1e5", "-1.25E-3",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e308", "1e309",
        "123456789012345678", "0.1", "1e-400", "0e400", "10000000000000000000000.0"};
    static const char *const words[] = {"true", "false", "null"};
    switch (pick(rnd, 3)) {
    case 0:
        buf_puts(b, numbers[pick(rnd, ARRAY_LEN(numbers))]);
        break;
    case 1:
        buf_puts(b, words[pick(rnd, 3)]);
        break;
    default:
        gen_string(b, rnd);
    }
}

/* A text of nested values, without recursion: what is open stands in `open`. */
static void gen_text(struct buf *b, uint64_t *rnd)
{
    char open[12];
    unsigned depth = 0;
    bool first = true;
    for (unsigned steps = 2 + pick(rnd, 40); steps; steps--) {
        if (depth && (pick(rnd, 5) == 0 || steps <= depth)) {
            buf_putc(b, open[--depth]);
            first = false;
            continue;
        }
        if (depth && !first)
            buf_puts(b, pick(rnd, 4) ? "," : " ,\n");
        if (depth && open[depth - 1] == '}') {
            gen_string(b, rnd);
            buf_putc(b, ':');
        }
        first = false;
        if (depth < sizeof(open) && pick(rnd, 3)) {
            bool object = pick(rnd, 2);
            buf_putc(b, object ? '{' : '[');
            open[depth++] = object ? '}' : ']';
            first = true;
        } else {
            gen_scalar(b, rnd);
            if (!depth)
                break;
        }
    }
    while (depth)
        buf_putc(b, open[--depth]);
}

static void mutate(struct buf *b, uint64_t *rnd)
{
    /* No NUL: jansson overlooks one that stands behind a word or a number. */
    static const char bytes[] = "{}[]\",:\\u0019eE+-. \t\n\x80\xc3\xa4\xff\x1fntf";
    for (unsigned n = pick(rnd, 3); n && b->n; n--) {
        size_t at = pick(rnd, (unsigned)b->n);
        switch (pick(rnd, 3)) {
        case 0:
            b->p[at] = bytes[pick(rnd, sizeof(bytes) - 1)];
            break;
        case 1:
            memmove(b->p + at, b->p + at + 1, b->n - at - 1);
            b->n--;
            break;
        default:
            buf_putc(b, ' ');
            memmove(b->p + at + 1, b->p + at, b->n - at - 1);
            b->p[at] = bytes[pick(rnd, sizeof(bytes) - 1)];
        }
    }
}

START_TEST(test_scan_validate__agrees_with_jansson)
{
    uint64_t rnd = 0x5eed5eed5eed5eedu;
    size_t accepted = 0, rounds = 200000;
    for (size_t i = 0; i < rounds; i++) {
        struct buf b;
        struct err err = {0};
        json_error_t why;
        buf_init(&b, 1u << 20);
        gen_text(&b, &rnd);
        mutate(&b, &rnd);
        struct str text = buf_view(&b);
        json_t *tree = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
        bool ok = scan_validate(text, &scan_body_limits, &err);
        ck_assert_msg(ok == (tree != NULL), "%.*s\nscan: %s\njansson: %s", STR_ARG(text),
            ok ? "valid" : err.msg, tree ? "valid" : why.text);
        accepted += ok;
        json_decref(tree);
        buf_fini(&b);
    }
    /* Both outcomes must have been tried often. */
    ck_assert_uint_gt(accepted, rounds / 10);
    ck_assert_uint_lt(accepted, rounds / 10 * 9);
}
END_TEST

START_TEST(test_scan_string__decodes_as_jansson_does)
{
    uint64_t rnd = 42;
    AUTO(arena_free) struct arena *a = arena_new();
    for (int i = 0; i < 2000; i++) {
        struct buf b;
        struct err err = {0};
        struct str got;
        AUTO(scan_fini) struct scan s;
        buf_init(&b, 1u << 20);
        gen_string(&b, &rnd);
        scan_init(&s, buf_view(&b), &scan_body_limits, &err);
        ck_assert(scan_string(&s, a, &got));
        json_t *tree = json_loadb(b.p, b.n, JSON_DECODE_ANY, NULL);
        ck_assert(str_eq(got, (struct str){json_string_value(tree), json_string_length(tree)}));
        json_decref(tree);
        buf_fini(&b);
        arena_reset(a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *tc = tcase_create("scan");
    tcase_add_test(tc, test_scan_validate__values_of_every_kind);
    tcase_add_test(tc, test_scan_validate__malformed_texts);
    tcase_add_test(tc, test_scan_validate__bytes_behind_the_value);
    tcase_add_test(tc, test_scan_validate__numbers_of_other_languages);
    tcase_add_test(tc, test_scan_validate__strings);
    tcase_add_test(tc, test_scan_validate__invalid_utf8_at_every_alignment);
    tcase_add_test(tc, test_scan_validate__duplicate_keys_however_spelled);
    tcase_add_test(tc, test_scan_validate__duplicate_keys_in_objects_of_any_size);
    tcase_add_test(tc, test_scan_validate__messages_end_with_the_pointer);
    tcase_add_test(tc, test_scan_validate__a_million_keys_are_too_many);
    tcase_add_test(tc, test_scan_validate__each_limit_says_its_name);
    tcase_add_test(tc, test_scan_validate__ten_thousand_brackets);
    tcase_add_test(tc, test_scan_cursor__walks_members_and_elements);
    tcase_add_test(tc, test_scan_cursor__the_first_error_stays);
    tcase_add_test(tc, test_scan_i64__only_integers_of_64_bits);
    tcase_add_test(tc, test_scan_cursor__wrong_type_says_what_was_found);
    tcase_add_test(tc, test_scan_validate__agrees_with_jansson);
    tcase_add_test(tc, test_scan_string__decodes_as_jansson_does);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
