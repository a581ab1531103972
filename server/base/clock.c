#include "clock.h"

#include <stdatomic.h>
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
