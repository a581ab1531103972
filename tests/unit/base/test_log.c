#include "log.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "clock.h"

/* 2024-02-29T12:34:56.007Z */
#define LEAP_DAY 1709210096007

static FILE *caught;
static int real_stderr;

/* From here on stderr is a file; the test runs in a process of its own. */
static void catch_stderr(void)
{
    caught = tmpfile();
    ck_assert_ptr_nonnull(caught);
    real_stderr = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
    clock_freeze(LEAP_DAY);
}

/* What was written since the last call. */
static const char *written(void)
{
    static char text[1 << 17];
    static long seen;
    fseek(caught, seen, SEEK_SET);
    size_t n = fread(text, 1, sizeof(text) - 1, caught);
    text[n] = '\0';
    seen += (long)n;
    return text;
}

static void one_line(const char *key, struct str value)
{
    struct log_line l;
    ck_assert(log_begin(&l, LOG_INFO, "seen"));
    log_str(&l, key, value);
    log_i64(&l, "n", -5);
    log_end(&l);
}

START_TEST(test_log_line__key_value)
{
    catch_stderr();
    one_line("path", STR("/v1/config"));
    ck_assert_str_eq(
        written(), "time=2024-02-29T12:34:56.007Z level=info event=seen path=/v1/config n=-5\n");
    one_line("k", STR(""));
    ck_assert_ptr_nonnull(strstr(written(), " k=\"\" n=-5\n"));
    one_line("k", STR("a b"));
    ck_assert_ptr_nonnull(strstr(written(), " k=\"a b\" n=-5\n"));
    one_line("k", STR("a=\"b\"\n\x01"));
    ck_assert_ptr_nonnull(strstr(written(), " k=\"a=\\\"b\\\"\\n\\u0001\" n=-5\n"));
    one_line("k", STR("\xc3\xa4\xff"));
    ck_assert_ptr_nonnull(strstr(written(), " k=\"\xc3\xa4\xef\xbf\xbd\" n=-5\n"));
}
END_TEST

START_TEST(test_log_line__what_terminals_and_readers_of_lines_obey)
{
    static const char *const obeyed[][2] = {
        {"\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f",                         "\\u0080\\u0085\\u009b\\u009f"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae",                     "\\u2028\\u2029\\u202e"       },
        {"\xe2\x81\xa6\xe2\x81\xa9",                                 "\\u2066\\u2069"              },
        {"\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
         "\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"                                },
    };
    catch_stderr();
    for (size_t i = 0; i < ARRAY_LEN(obeyed); i++) {
        char expected[64];
        one_line("k", str_from(obeyed[i][0]));
        snprintf(expected, sizeof(expected), " k=\"%s\" n=-5\n", obeyed[i][1]);
        ck_assert_ptr_nonnull(strstr(written(), expected));
    }
}
END_TEST

START_TEST(test_log_line__json)
{
    catch_stderr();
    log_open(LOG_INFO, LOG_JSON);
    one_line("path", STR("a \"b\"\\\r\x7f\xc3"));
    ck_assert_str_eq(written(),
        "{\"time\":\"2024-02-29T12:34:56.007Z\",\"level\":\"info\",\"event\":\"seen\","
        "\"path\":\"a \\\"b\\\"\\\\\\r\\u007f\xef\xbf\xbd\",\"n\":-5}\n");
}
END_TEST

START_TEST(test_log_line__the_time_follows_the_clock)
{
    catch_stderr();
    log_write(LOG_INFO, "a", "x");
    clock_freeze(LEAP_DAY + 1);
    log_write(LOG_INFO, "b", "x");
    clock_freeze(LEAP_DAY + 60000);
    log_write(LOG_INFO, "c", "x");
    ck_assert_str_eq(written(), "time=2024-02-29T12:34:56.007Z level=info event=a message=x\n"
                                "time=2024-02-29T12:34:56.008Z level=info event=b message=x\n"
                                "time=2024-02-29T12:35:56.007Z level=info event=c message=x\n");
}
END_TEST

START_TEST(test_log_line__too_long_is_cut_and_stays_one_whole_line)
{
    catch_stderr();
    for (int format = LOG_KEY_VALUE; format <= LOG_JSON; format++) {
        log_open(LOG_INFO, (enum log_format)format);
        for (size_t n = 3950; n < 4120; n++) {
            char value[8400];
            for (size_t i = 0; i < n; i++)
                memcpy(value + 2 * i, "\xc3\xa4", 2);
            one_line("k", (struct str){value + n / 2 % 2, n});
            memset(value, 'a', n);
            one_line("k", (struct str){value, n});
            struct str rest = str_from(written());
            for (int line = 0; line < 2; line++) {
                struct str s = str_cut(&rest, '\n');
                ck_assert_uint_lt(s.n, 4096);
                ck_assert(str_is_utf8(s));
                ck_assert(format == LOG_KEY_VALUE || str_ends(s, STR("\"}")) ||
                          str_ends(s, STR("\"n\":-5}")));
                const char *end = format == LOG_JSON ? ",\"n\":-5}" : " n=-5";
                ck_assert(s.n > 4070 || str_ends(s, str_from(end)));
            }
            ck_assert_uint_eq(rest.n, 0);
        }
    }
}
END_TEST

START_TEST(test_log_line__many_fields_are_left_out_when_full)
{
    catch_stderr();
    log_open(LOG_INFO, LOG_JSON);
    struct log_line l;
    ck_assert(log_begin(&l, LOG_INFO, "many"));
    for (int i = 0; i < 2000; i++) {
        log_i64(&l, "number", i);
        log_str(&l, "text", STR("some \"text\""));
    }
    log_end(&l);
    struct str s = str_from(written());
    ck_assert_uint_le(s.n, 4096);
    ck_assert(str_ends(s, STR("}\n")));
    ck_assert_uint_eq(str_find(s, '\n'), s.n - 1);
}
END_TEST

START_TEST(test_log_open__levels)
{
    catch_stderr();
    struct log_line l;
    ck_assert(log_enabled(LOG_INFO));
    ck_assert(!log_begin(&l, LOG_DEBUG, "quiet"));
    log_open(LOG_ERROR, LOG_KEY_VALUE);
    ck_assert(!log_enabled(LOG_WARN));
    log_write(LOG_WARN, "quiet", "%d", 1);
    ck_assert_str_eq(written(), "");
    log_open(LOG_DEBUG, LOG_KEY_VALUE);
    log_write(LOG_DEBUG, "loud", "%d of %d", 1, 2);
    ck_assert_ptr_nonnull(strstr(written(), " level=debug event=loud message=\"1 of 2\"\n"));
}
END_TEST

START_TEST(test_log_gather__lines_wait_for_the_flush)
{
    catch_stderr();
    log_gather(true);
    log_write(LOG_INFO, "one", "x");
    log_write(LOG_INFO, "two", "x");
    ck_assert_str_eq(written(), "");
    log_flush();
    const char *text = written();
    ck_assert_ptr_nonnull(strstr(text, "event=one"));
    ck_assert_ptr_nonnull(strstr(text, "event=two"));
    log_write(LOG_INFO, "three", "x");
    log_gather(false);
    ck_assert_ptr_nonnull(strstr(written(), "event=three"));
    log_write(LOG_INFO, "four", "x");
    ck_assert_ptr_nonnull(strstr(written(), "event=four"));
    log_flush();
    ck_assert_str_eq(written(), "");
}
END_TEST

START_TEST(test_log_gather__a_full_buffer_is_written_in_whole_lines)
{
    catch_stderr();
    log_gather(true);
    char value[1000];
    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 40; i++)
        one_line("k", (struct str){value, sizeof(value)});
    struct str text = str_from(written());
    ck_assert_uint_gt(text.n, 30 * 1024);
    ck_assert_uint_le(text.n, 32 * 1024);
    ck_assert(str_ends(text, STR(" n=-5\n")));
    log_gather(false);
    ck_assert(str_ends(str_from(written()), STR(" n=-5\n")));
}
END_TEST

static void *log_and_end(void *arg)
{
    (void)arg;
    log_gather(true);
    log_write(LOG_INFO, "last", "words");
    return NULL;
}

START_TEST(test_log_gather__a_thread_that_ends_flushes)
{
    catch_stderr();
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, log_and_end, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_ptr_nonnull(strstr(written(), "event=last message=words\n"));
}
END_TEST

START_TEST(test_log_fatal__message_then_abort)
{
    catch_stderr();
    pid_t child = fork();
    if (child == 0) {
        log_gather(true);
        log_write(LOG_INFO, "before", "x");
        log_fatal("%d pieces are missing", 3);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    const char *text = written();
    ck_assert_ptr_nonnull(strstr(text, "event=before"));
    ck_assert_ptr_nonnull(
        strstr(text, "level=error event=fatal message=\"3 pieces are missing\"\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/log");
    TCase *cases = tcase_create("base/log");
    tcase_add_test(cases, test_log_line__key_value);
    tcase_add_test(cases, test_log_line__what_terminals_and_readers_of_lines_obey);
    tcase_add_test(cases, test_log_line__json);
    tcase_add_test(cases, test_log_line__the_time_follows_the_clock);
    tcase_add_test(cases, test_log_line__too_long_is_cut_and_stays_one_whole_line);
    tcase_add_test(cases, test_log_line__many_fields_are_left_out_when_full);
    tcase_add_test(cases, test_log_open__levels);
    tcase_add_test(cases, test_log_gather__lines_wait_for_the_flush);
    tcase_add_test(cases, test_log_gather__a_full_buffer_is_written_in_whole_lines);
    tcase_add_test(cases, test_log_gather__a_thread_that_ends_flushes);
    tcase_add_test(cases, test_log_fatal__message_then_abort);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
