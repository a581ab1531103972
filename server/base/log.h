/* One-line structured log on stderr: key=value or JSON. Lines gather per thread until flushed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_KEY_VALUE, LOG_JSON };

void log_open(enum log_level level, enum log_format format);
bool log_enabled(enum log_level level);

/* A line is begun, given fields, and ended; all three on one thread. Values are escaped.
 *   struct log_line l;
 *   if (log_begin(&l, LOG_INFO, "listening")) { log_str(&l, "address", a); log_end(&l); } */
struct log_line {
    char text[4096];
    size_t n;
    enum log_level level;
};
bool log_begin(struct log_line *l, enum log_level level, const char *event);
void log_str(struct log_line *l, const char *key, struct str value);
void log_i64(struct log_line *l, const char *key, int64_t value);
void log_end(struct log_line *l);

/* Event with one free text. */
void log_write(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes what this thread gathered, in one write. A worker turns gathering on and flushes once per
 * turn of its loop; elsewhere each line is written at once. A thread that ends flushes. */
void log_gather(bool on);
void log_flush(void);
/* Message, flush, abort. For broken invariants and exhausted memory. */
void log_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
