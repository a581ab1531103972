/* Trees of jansson: as long as an arena, and their texts. */
#pragma once

#include <jansson.h>

#include "str.h"

struct arena;

/* The tree, borrowed: the reference is given back when the arena is reset. */
json_t *json_hold(struct arena *a, json_t *take);

/* The text of a string; absent: it is none. Belongs to the tree. */
static inline struct str json_text(const json_t *string)
{
    return (struct str){json_string_value(string), json_string_length(string)};
}
static inline struct str json_text_at(const json_t *object, const char *member)
{
    return json_text(json_object_get(object, member));
}
