#include "err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

enum { SECRET_MIN = 40 }; /* AWS's secret keys have as many */

struct kind {
    int status;
    enum log_level level;
    const char *type, *name;
};

static const struct kind kinds[] = {
#define X(kind, status, type, level) [ERR_##kind] = {status, level, type, #kind},
    ERR_KINDS(X)
#undef X
};

static const struct kind *kind_of(enum err_kind kind)
{
    assert((size_t)kind < ARRAY_LEN(kinds));
    return &kinds[kind];
}

/* The arguments may be the error's own message ("reading it: %s", err->msg): so it is built aside.
 */
struct text {
    char p[sizeof(((struct err *)NULL)->msg) + 8];
    size_t n;
};

static void text_add(struct text *t, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void text_add(struct text *t, const char *fmt, va_list ap)
{
    size_t room = sizeof(t->p) - t->n;
    int n = vsnprintf(t->p + t->n, room, fmt, ap);
    if (n > 0)
        t->n += (size_t)n < room ? (size_t)n : room - 1;
}

static void text_add_str(struct text *t, struct str s)
{
    size_t room = sizeof(t->p) - t->n - 1;
    size_t n = s.n < room ? s.n : room;
    memcpy(t->p + t->n, s.p, n);
    t->n += n;
}

static void err_store(struct err *err, const struct text *t)
{
    struct str msg = str_utf8_cut((struct str){t->p, t->n}, sizeof(err->msg) - 1);
    memcpy(err->msg, msg.p, msg.n);
    err->msg[msg.n] = '\0';
}

void err_set_at(
    struct err *err, enum err_kind kind, const char *file, int line, const char *fmt, ...)
{
    struct text t;
    t.n = 0;
    va_list ap;
    va_start(ap, fmt);
    text_add(&t, fmt, ap);
    va_end(ap);
    err_store(err, &t);
    err->kind = kind;
    err->file = file;
    err->line = line;
    err->said[0] = '\0';
}

/* Of such characters keys, tokens and signatures consist, also in a URL. */
static bool is_of_secret(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("+/=_%-", c));
}

static struct str next_run(struct str s)
{
    size_t n = 0;
    bool first = is_of_secret(s.p[0]);
    while (n < s.n && is_of_secret(s.p[n]) == first)
        n++;
    return str_sub(s, 0, n);
}

void err_quote_in(struct err *err, struct str words)
{
    struct text t = {.n = 0};
    words = str_trim(words);
    if (words.n == 0)
        return;
    text_add_str(&t, STR(": "));
    for (struct str rest = words; rest.n > 0 && t.n < sizeof(err->said);) {
        struct str run = next_run(rest);
        text_add_str(&t, run.n >= SECRET_MIN && is_of_secret(run.p[0]) ? STR("***") : run);
        rest = str_sub(rest, run.n, rest.n);
    }
    struct str said = str_utf8_cut((struct str){t.p, t.n}, sizeof(err->said) - 1);
    memcpy(err->said, said.p, said.n);
    err->said[said.n] = '\0';
    for (char *p = err->said; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
}

void err_wrap_in(struct err *err, const char *fmt, ...)
{
    struct text t;
    t.n = 0;
    va_list ap;
    va_start(ap, fmt);
    text_add(&t, fmt, ap);
    va_end(ap);
    text_add_str(&t, STR(": "));
    text_add_str(&t, str_from(err->msg));
    err_store(err, &t);
}

void err_where_in(struct err *err, const char *fmt, ...)
{
    struct text place = {.n = 0}, t = {.n = 0};
    va_list ap;
    va_start(ap, fmt);
    text_add(&place, fmt, ap);
    va_end(ap);
    struct str where = str_utf8_cut((struct str){place.p, place.n}, sizeof(err->msg) / 2);
    size_t room = sizeof(err->msg) - sizeof(" ()") - where.n;
    text_add_str(&t, str_utf8_cut((struct str){err->msg, strlen(err->msg)}, room));
    text_add_str(&t, STR(" ("));
    text_add_str(&t, where);
    text_add_str(&t, STR(")"));
    err_store(err, &t);
}

void err_as_kind(struct err *err, enum err_kind kind)
{
    err->kind = kind;
}

void err_clear(struct err *err)
{
    err->kind = ERR_NONE;
    err->file = NULL;
    err->line = 0;
    err->msg[0] = '\0';
    err->said[0] = '\0';
}

int err_status(enum err_kind kind)
{
    return kind_of(kind)->status;
}

const char *err_type(enum err_kind kind)
{
    return kind_of(kind)->type;
}

const char *err_name(enum err_kind kind)
{
    return kind_of(kind)->name;
}

enum log_level err_level(enum err_kind kind)
{
    return kind_of(kind)->level;
}
