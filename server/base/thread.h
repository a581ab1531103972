/* Threads of the server: named, with a stack of known size, and deaf to signals. And conditions
 * that wait by the monotonic clock. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base.h"
#include "err.h"

#ifdef FIRN_SANITIZE
enum { THREAD_STACK = 4 * 1024 * 1024 }; /* instrumented frames are larger */
#else
enum { THREAD_STACK = 512 * 1024 };
#endif

/* At most 15 characters of the name are shown. *id NULL: nobody joins it. ERR_INTERNAL. */
MUST bool thread_start(
    const char *name, void *(*main)(void *arg), void *arg, pthread_t *id, struct err *err);

void thread_cond_init(pthread_cond_t *c);
/* For pthread_cond_timedwait, from clock_mono_us(). */
struct timespec thread_until(int64_t mono_us);
