/* JSON for tests that look at trees: written with ' for ", compared and shown as text. */
#pragma once

#include <jansson.h>

#include "str.h"

struct arena;

/* Parsed and held by the arena; fails the test when it is no JSON. */
json_t *quoted(struct arena *a, const char *text);
/* The same of printf-like text. */
json_t *quotedf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails the test unless the tree is the JSON given, with members in the same order. */
void check_json(struct arena *a, const json_t *tree, const char *expected);
/* The caller's reference goes to the arena. */
json_t *held(struct arena *a, json_t *take);
