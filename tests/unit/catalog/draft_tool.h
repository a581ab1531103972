/* What the tests of drafts, updates and requirements share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "draft.h"
#include "err.h"
#include "metadata.h"

#define NOW 1700000100000

/* Where tool_base files lie. */
#define BASE_LOCATION "s3://b/ns/t/metadata/00007-b.metadata.json"

/* JSON with single quotes for double ones; held by the arena. */
json_t *tool_json(struct arena *a, const char *quoted);
/* tests/data/metadata/draft/<name>.json as the metadata at BASE_LOCATION; held by the arena. */
const struct metadata *tool_base(struct arena *a, const char *name);
const struct metadata *tool_metadata(struct arena *a, struct str text, const char *location);
/* The document as text and as a tree. */
struct str tool_text(struct arena *a, const struct metadata *m);
json_t *tool_document(struct arena *a, const struct metadata *m);
/* A draft on the base with the updates applied, finished. The result is checked: its text reads
 * back as valid metadata with the same index. False: an update or the end was refused. */
bool tool_commit(struct arena *a, const struct metadata *base, const char *updates,
    const struct metadata **out, struct err *err);
const struct metadata *tool_finish(struct arena *a, struct draft *d);
/* Every member of expected is in actual with that value. */
void tool_expect(const char *what, json_t *actual, json_t *expected);
