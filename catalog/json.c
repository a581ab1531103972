#include "json.h"

#include "arena.h"

static void release(void *json)
{
    json_decref(json);
}

json_t *json_hold(struct arena *a, json_t *take)
{
    return arena_hold(a, take, release);
}
