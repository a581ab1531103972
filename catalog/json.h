/* Trees of jansson that live as long as an arena. */
#pragma once

#include <jansson.h>

struct arena;

/* The tree, borrowed: the reference is given back when the arena is reset. */
json_t *json_hold(struct arena *a, json_t *take);
