#include "lane.h"

static _Thread_local enum lane current = LANE_SLOW;

void lane_enter(enum lane lane)
{
    current = lane;
}

bool lane_may_block(void)
{
    return current == LANE_SLOW;
}
