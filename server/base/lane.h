/* Which lane this thread is in: workers (fast) must not block, executor threads (slow) may. */
#pragma once

#include <stdbool.h>

enum lane { LANE_SLOW, LANE_FAST };

/* Threads begin in LANE_SLOW. */
void lane_enter(enum lane lane);
bool lane_may_block(void);
