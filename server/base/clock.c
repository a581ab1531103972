#include "clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

static _Atomic int64_t frozen;

int64_t clock_ms(void)
{
    int64_t ms = atomic_load_explicit(&frozen, memory_order_relaxed);
    if (ms)
        return ms;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void clock_freeze(int64_t ms)
{
    atomic_store_explicit(&frozen, ms, memory_order_relaxed);
}

int64_t clock_parse(struct str s)
{
    char text[48] = "";
    struct tm tm = {0};
    if (s.n == 0 || s.n >= sizeof(text))
        return 0;
    memcpy(text, s.p, s.n);
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!end)
        return 0;
    int64_t ms = 0, unit = 100;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
            ms += (*end - '0') * unit;
    bool is_utc = strcmp(end, "Z") == 0 || strcmp(end, "+00:00") == 0;
    return is_utc ? (int64_t)timegm(&tm) * 1000 + ms : 0;
}
