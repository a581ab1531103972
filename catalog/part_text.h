/* Texts in the parts of metadata, read from the slices. */
#pragma once

#include <stdbool.h>

#include "str.h"

struct arena;
struct part;

/* The member of a part, unescaped into the arena; false: there is none, or it is no text. */
bool part_text(struct arena *a, const struct part *part, const char *name, struct str *out);
/* Hands out the texts of a member that is an array of them, until fn is false: then that. */
bool part_texts(struct arena *a, const struct part *part, const char *name,
    bool (*fn)(void *arg, struct str text), void *arg);
