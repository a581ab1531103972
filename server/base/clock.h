/* Wall time and monotonic time; the wall clock can be frozen by tests. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "str.h"

/* Milliseconds since the epoch. */
int64_t clock_ms(void);
/* Monotonic microseconds; all deadlines use it. */
int64_t clock_mono_us(void);
void clock_sleep(int64_t us);
/* Sleeps until then, on clock_mono_us(), or until somebody sets *stop: it is looked at twenty times
 * a second. */
void clock_wait(int64_t until_us, const atomic_bool *stop);
/* From now on clock_ms() returns ms; 0 thaws. Tests only. */
void clock_freeze(int64_t ms);
/* The milliseconds of "2009-10-12T17:50:30.000Z", with any fraction, in UTC; 0 when it is no such
 * time. */
int64_t clock_parse(struct str s);
