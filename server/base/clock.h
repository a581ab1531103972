/* Wall time and monotonic time; the wall clock can be frozen by tests. */
#pragma once

#include <stdint.h>

/* Milliseconds since the epoch. */
int64_t clock_ms(void);
/* Monotonic microseconds; all deadlines use it. */
int64_t clock_mono_us(void);
/* From now on clock_ms() returns ms; 0 thaws. Tests only. */
void clock_freeze(int64_t ms);
