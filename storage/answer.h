/* Answers of services that hold secrets, of which nothing stays in memory, or words that are not
 * for everybody. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "fetch.h"
#include "str.h"

struct arena;

/* Wipes and frees the body. */
void answer_fini(struct fetch_response *rs);
/* The tree of a body; NULL when it is no JSON. Caller: answer_free. */
json_t *answer_json(const struct fetch_response *rs);
/* Wipes the texts of an object and lets it go. */
void answer_free(json_t **json);
/* A member that is a text; absent without one. Belongs to the tree. */
struct str answer_text(const json_t *json, const char *name);
/* The same as words for the log: short, and in the arena. */
struct str answer_words(struct arena *a, const json_t *json, const char *name);
/* What is the code or the id of an error, letters, digits and little else: whoever answers cannot
 * say more with it. Absent when it is none. */
struct str answer_code(struct str text);
