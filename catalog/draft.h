/* The working copy of table metadata while a commit applies its updates: the head, and for each
 * long array the kept slices of the base and what was added. Finishing writes the new bytes once.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "metadata.h"
#include "str.h"

struct arena;

/* Lists of ids that grow while updates are applied. */
struct id_list {
    int64_t *v;
    size_t n, cap;
};

struct draft {
    struct arena *arena;
    const struct metadata *base; /* NULL: a table that does not exist yet */
    struct head head;            /* properties and refs: own references once changed (see below) */
    bool properties_own, refs_own;
    struct parts parts[PARTS_COUNT];
    size_t cap[PARTS_COUNT];
    bool parts_own[PARTS_COUNT]; /* false: v still borrows the base's array */
    int64_t now_ms;   /* the commit's time, taken once: max(clock, base's, its logs' tails) */
    unsigned changes; /* effective changes recorded */
    /* Registers of -1: what this request added, or named, last; PART_NONE at first. */
    int64_t last_schema, last_spec, last_order;
    struct id_list added_snapshots;
    struct id_list set_on_main; /* snapshots some set-snapshot-ref put on main */
    bool snapshots_removed;
    bool location_changed;
    const char
};

/* A working copy of base, or an empty table (format version given, everything else zero). */
struct draft *draft_begin(struct arena *a, const struct metadata *base);
struct draft *draft_begin_empty(struct arena *a, int64_t format_version);
/* Releases what the draft refers to; called by the arena (draft_begin registers it). */

/* Copy-on-write access. */
json_t *draft_properties(struct draft *d); /* own object, may be changed */
json_t *draft_refs(struct draft *d); /* own object; entries are replaced, never changed in place */
/* Appends an element with its text (in the arena) and scalars. */
struct part *draft_append(struct draft *d, enum parts_kind kind, struct part part);
struct part *draft_find(struct draft *d, enum parts_kind kind, int64_t id);
/* Removes the elements for which keep[i] is false. */
void draft_keep(struct draft *d, enum parts_kind kind, const bool *keep);
/* Own, changeable array of that kind. */
struct parts *draft_own(struct draft *d, enum parts_kind kind);
/* The tree of an element, parsed into the arena's care; borrowed. */
const json_t *draft_tree(struct draft *d, const struct part *part);
/* Serialises a tree for draft_append: compact, insertion order. Arena. */
struct str draft_dump(struct draft *d, const json_t *tree);

/* A change that counts. */
static inline void draft_record(struct draft *d)
{
    d->changes++;
}

/* Where the next metadata file goes: <metadata folder>/<NNNNN>-<uuid>[.gz].metadata.json, from the
 * draft's properties and location and the base's file name (protocol: metadata files, naming).
 * *token is the uuid. ERR_INVALID_ARGUMENT: unknown codec. */
MUST bool draft_file(
    struct draft *d, struct str *location, struct str *token, bool *gzip, struct err *err);

/* The rules at the end of a commit (logs, timestamps, validations: protocol 3.5, 3.6), then the new
 * document with its index, in one copy. The caller's reference. ERR_VALIDATION,
 * ERR_INVALID_ARGUMENT. */
MUST bool draft_finish(
    struct draft *d, struct str file_location, struct metadata **out, struct err *err);
