#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "clock.h"

enum { GATHER = 32 * 1024 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static atomic_int open_level = LOG_INFO;
static atomic_int open_format = LOG_KEY_VALUE;

void log_open(enum log_level level, enum log_format format)
{
    atomic_store(&open_level, level);
    atomic_store(&open_format, format);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&open_level, memory_order_relaxed);
}

static bool is_json(void)
{
    return atomic_load_explicit(&open_format, memory_order_relaxed) == LOG_JSON;
}

/* What closes a line always fits: a quote, a brace, a line feed. */
static size_t room(const struct log_line *l)
{
    return l->n + 3 < sizeof(l->text) ? sizeof(l->text) - 3 - l->n : 0;
}

static void put(struct log_line *l, const char *p, size_t n)
{
    memcpy(l->text + l->n, p, n);
    l->n += n;
}

static size_t code(char out[static 8], unsigned c)
{
    static const char hex[] = "0123456789abcdef";
    memcpy(out,
        (char[]){'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]}, 6);
    return 6;
}

/* The character of n bytes, if it is one that a terminal or a reader of lines obeys: C1 controls,
 * ends of lines and paragraphs, directions of writing; else 0. */
static unsigned obeyed(const unsigned char *p, size_t n)
{
    if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
        return p[1];
    if (n != 3 || p[0] != 0xe2)
        return 0;
    unsigned c = 0x2000 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
    return (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ? c : 0;
}

/* The escaped form of what s begins with; *used is how many bytes of s it stands for. */
static size_t escape(struct str s, char out[static 8], size_t *used)
{
    unsigned char c = (unsigned char)s.p[0];
    *used = 1;
    const char *shorts = "\nn\tt\rr\"\"\\\\";
    for (const char *pair = shorts; *pair; pair += 2) {
        if (c != (unsigned char)pair[0])
            continue;
        memcpy(out, (char[]){'\\', pair[1]}, 2);
        return 2;
    }
    if (c < 0x20 || c == 0x7f)
        return code(out, c);
    size_t n = str_utf8_char(s);
    if (!n) {
        /* U+FFFD for a byte that is no UTF-8; out is no text with a NUL at its end. */
        memcpy(out, "\xef\xbf\xbd", 3); /* NOLINT(bugprone-not-null-terminated-result) */
        return 3;
    }
    *used = n;
    unsigned moves = obeyed((const unsigned char *)s.p, n);
    if (moves)
        return code(out, moves);
    memcpy(out, s.p, n);
    return n;
}

/* How many bytes at the start of s need no escaping. */
static size_t plain_run(struct str s)
{
    size_t n = 0;
    while (n < s.n && (unsigned char)s.p[n] >= ' ' && (unsigned char)s.p[n] < 0x7f &&
           s.p[n] != '"' && s.p[n] != '\\')
        n++;
    return n;
}

/* As much of s as fits; a value that was cut ends in three dots. */
static void put_escaped(struct log_line *l, struct str s)
{
    while (s.n) {
        size_t plain = plain_run(s), fits = room(l) > 3 ? room(l) - 3 : 0;
        if (plain > fits)
            plain = fits;
        if (plain) {
            put(l, s.p, plain);
            s = (struct str){s.p + plain, s.n - plain};
            continue;
        }
        char out[8];
        size_t used, n = escape(s, out, &used);
        bool last = used == s.n;
        if (n + (last ? 0 : 3) > room(l)) {
            put(l, "...", room(l) < 3 ? room(l) : 3);
            return;
        }
        put(l, out, n);
        s = (struct str){s.p + used, s.n - used};
    }
}

static bool is_bare(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c >= 0x7f)
            return false;
    }
    return s.n > 0;
}

/* Separator and key; false when the line is full: the whole field is left out then. */
static bool put_key(struct log_line *l, const char *key, size_t value)
{
    size_t n = strlen(key);
    if (n + value + 8 > room(l))
        return false;
    bool json = is_json();
    const char *between = json ? (l->n ? ",\"" : "{\"") : (l->n ? " " : "");
    put(l, between, strlen(between));
    put(l, key, n);
    put(l, json ? "\":" : "=", json ? 2 : 1);
    return true;
}

/* ISO 8601 in UTC; the seconds' text is kept, since many lines share it. */
static void put_time(struct log_line *l)
{
    static _Thread_local struct {
        int64_t second;
        char text[sizeof("2026-01-01T00:00:00.000Z")];
    } last;
    int64_t ms = clock_ms();
    time_t second = (time_t)(ms / 1000);
    if (!last.text[0] || last.second != second) {
        struct tm tm;
        if (!gmtime_r(&second, &tm) || !strftime(last.text, sizeof(last.text), "%FT%T", &tm))
            return;
        last.second = second;
    }
    char *p = last.text + sizeof("2026-01-01T00:00:00") - 1;
    p[0] = '.';
    p[1] = (char)('0' + ms % 1000 / 100);
    p[2] = (char)('0' + ms % 100 / 10);
    p[3] = (char)('0' + ms % 10);
    p[4] = 'Z';
    log_str(l, "time", (struct str){last.text, sizeof(last.text) - 1});
}

bool log_begin(struct log_line *l, enum log_level level, const char *event)
{
    if (!log_enabled(level))
        return false;
    l->n = 0;
    l->level = level;
    put_time(l);
    log_str(l, "level", str_from(level_names[level]));
    log_str(l, "event", str_from(event));
    return true;
}

void log_str(struct log_line *l, const char *key, struct str value)
{
    if (!put_key(l, key, 0))
        return;
    bool quoted = is_json() || !is_bare(value);
    if (!quoted && value.n <= room(l)) {
        put(l, value.p, value.n);
        return;
    }
    put(l, "\"", 1);
    put_escaped(l, value);
    l->text[l->n++] = '"';
}

void log_i64(struct log_line *l, const char *key, int64_t value)
{
    char text[24], *end = text + sizeof(text), *p = end;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--p = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--p = '-';
    size_t n = (size_t)(end - p);
    if (put_key(l, key, n))
        put(l, p, n);
}

/* Lines of one thread that wait for its flush. */
struct gather {
    size_t n;
    char text[GATHER];
};

static _Thread_local struct gather *gathered;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

/* A pipe takes large writes in parts; the lock keeps other threads' lines out of the middle. */
static void write_out(const char *p, size_t n)
{
    pthread_mutex_lock(&writing);
    while (n) {
        ssize_t done = write(STDERR_FILENO, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break; /* nowhere to complain */
        p += done;
        n -= (size_t)done;
    }
    pthread_mutex_unlock(&writing);
}

void log_end(struct log_line *l)
{
    if (is_json())
        l->text[l->n++] = '}';
    l->text[l->n++] = '\n';
    struct gather *g = gathered;
    if (!g) {
        write_out(l->text, l->n);
        return;
    }
    if (l->n > sizeof(g->text) - g->n)
        log_flush();
    memcpy(g->text + g->n, l->text, l->n);
    g->n += l->n;
}

void log_write(enum log_level level, const char *event, const char *fmt, ...)
{
    struct log_line l;
    if (!log_begin(&l, level, event))
        return;
    char text[sizeof(l.text)];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0)
        log_str(&l, "message", str_from(text));
    log_end(&l);
}

void log_flush(void)
{
    struct gather *g = gathered;
    if (!g || !g->n)
        return;
    write_out(g->text, g->n);
    g->n = 0;
}

static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A thread that ends leaves no line behind. */
static void thread_ends(void *g)
{
    gathered = g;
    log_gather(false);
}

static void make_key(void)
{
    if (pthread_key_create(&at_exit, thread_ends))
        log_fatal("no thread-specific data left");
}

void log_gather(bool on)
{
    if (on == (gathered != NULL))
        return;
    pthread_once(&once, make_key);
    if (on) {
        gathered = xmalloc(sizeof(*gathered));
        gathered->n = 0;
    } else {
        log_flush();
        xfree(TAKE(gathered));
    }
    pthread_setspecific(at_exit, gathered);
}

void log_fatal(const char *fmt, ...)
{
    struct log_line l;
    if (log_begin(&l, LOG_ERROR, "fatal")) {
        char text[sizeof(l.text)];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        log_str(&l, "message", str_from(text));
        log_end(&l);
    }
    log_flush();
    abort();
}
