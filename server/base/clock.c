#include "clock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { SLICE_US = 50000 };

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

void clock_sleep(int64_t us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        ;
}

void clock_wait(int64_t until_us, const atomic_bool *stop)
{
    for (int64_t left; !atomic_load(stop) && (left = until_us - clock_mono_us()) > 0;)
        clock_sleep(left < SLICE_US ? left : SLICE_US);
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
