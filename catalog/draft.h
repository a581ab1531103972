/* The working copy of metadata while a commit applies its updates: the head, and for each
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
struct schema;

enum { FORMAT_VERSION_DEFAULT = 2, FORMAT_VERSION_MAX = 3, VIEW_FORMAT_VERSION_MAX = 1 };

/* Lists of ids that grow while updates are applied. */
struct id_list {
    int64_t *v;
    size_t n, cap;
};

/* Where something that is read or written later lies, for the catalog to judge before it is; or
 * another property, by its name. */
struct draft_uri {
    struct str uri;
    struct str where; /* the JSON pointer to what holds it */
    const char *member;
    enum { DRAFT_URI_FILE, DRAFT_URI_FOLDER, DRAFT_PROPERTY } of;
};
struct draft_uris {
    struct draft_uri *v;
    size_t n, cap;
};

struct draft {
    struct arena *arena;
    enum metadata_kind kind;
    struct str at;               /* the JSON pointer to what the request says about it */
    const struct metadata *base; /* NULL: a table or view that does not exist yet */
    struct str warehouse;        /* its uuid: marks the name of the file that is written */
    struct head head;            /* properties and refs: own objects once changed (see below) */
    bool properties_own, refs_own;
    struct parts parts[PARTS_COUNT];
    size_t cap[PARTS_COUNT];
    bool parts_own[PARTS_COUNT]; /* false: v still borrows the base's array */
    int64_t now_ms;   /* the commit's time, taken once: max(clock, base's, its logs' tails) */
    unsigned changes; /* effective changes recorded */
    /* Registers of -1: what this request added, or named, last; PART_NONE at first. */
    int64_t last_schema, last_spec, last_order, last_version;
    struct draft_guess *guesses; /* ids that the client expected for what it added */
    struct id_list added_snapshots;
    struct id_list collected[PARTS_COUNT];  /* by updates that remove, not yet removed */
    json_t *collected_keys;                 /* the same of encryption keys; NULL: none */
    struct draft_index *index[PARTS_COUNT]; /* by id; NULL: none made yet */
    unsigned looks[PARTS_COUNT];            /* before there was one */
    struct id_list set_on_main;             /* snapshots some set-snapshot-ref put on main */
    bool snapshots_removed;
    struct id_list added_versions;
    struct part version_line; /* for the version log, at the end; p NULL: none */
    bool location_changed;
    struct str location_at;    /* the JSON pointer to the new location */
    bool bindings_changed;     /* current schema, default spec or default order */
    struct draft_tree **trees; /* what draft_tree parsed, by the address of the text */
    size_t n_trees, tree_chains;
    json_t *known_fields;        /* ids of partition fields so far; NULL: not gathered yet */
    unsigned named[PARTS_COUNT]; /* how many elements this request named to be added */
    struct draft_uris uris;      /* what this request named */
    const char *schema_text;     /* the text that schema was read from */
    struct schema *schema;
    struct arena *schema_arena; /* where it lies */
    uint64_t work;              /* elements of long arrays that were passed over */
};

/* A working copy of base, or an empty table (format version given, everything else zero; a version
 * that does not exist counts as the default, so that the update that asks for it is refused).
 * What the draft refers to is released with the arena. */
struct draft *draft_begin(struct arena *a, const struct metadata *base);
struct draft *draft_begin_empty(struct arena *a, int64_t format_version);
struct draft *draft_begin_view(struct arena *a); /* an empty one */
/* The first state of a table from the body of createTable: fresh ids, reserved properties consumed,
 * a new uuid. `location` may be absent and then be set in the head before the end.
 * ERR_BAD_REQUEST, ERR_INVALID_ARGUMENT, ERR_VALIDATION. */
MUST bool draft_create(struct arena *a, const json_t *request, struct str location,
    struct draft **out, struct err *err);
/* The first state of a view from the body of createView: schema 0 with its field ids as they are,
 * version 1. Otherwise as draft_create. */
MUST bool draft_create_view(struct arena *a, const json_t *request, struct str location,
    struct draft **out, struct err *err);
/* After the updates of a create commit: is a whole table there? ERR_INVALID_ARGUMENT names what is
 * missing. */
MUST bool draft_check_complete(struct draft *d, struct err *err);

/* Can the current schema be read, and do a table's default spec and order go with it?
 * ERR_VALIDATION, ERR_INVALID_ARGUMENT, ERR_BAD_REQUEST. */
MUST bool draft_check_bindings(struct draft *d, struct err *err);

/* Copy-on-write access. */
json_t *draft_properties(struct draft *d); /* own object, may be changed */
json_t *draft_refs(struct draft *d); /* own object; entries are replaced, never changed in place */
/* Appends an element with its text (in the arena) and scalars. */
struct part *draft_append(struct draft *d, enum parts_kind kind, struct part part);
struct part *draft_find(struct draft *d, enum parts_kind kind, int64_t id);
/* In the place of the element with that id, else at the end. */
void draft_put(struct draft *d, enum parts_kind kind, struct part part);
/* Removes the elements with these ids (sorted list); how many there were. */
size_t draft_remove(struct draft *d, enum parts_kind kind, const struct id_list *sorted);
/* Own, changeable array of that kind. */
struct parts *draft_own(struct draft *d, enum parts_kind kind);
/* The tree of an element, parsed once into the arena's care; borrowed. NULL: valid text that
 * jansson cannot hold (numbers beyond 64 bits). */
const json_t *draft_tree(struct draft *d, const struct part *part);
/* The current schema, of a view that of its current version, read; good until the next one is.
 * ERR_VALIDATION when there is none yet. */
MUST bool draft_schema(struct draft *d, struct schema **out, struct err *err);
/* Serialises a tree for draft_append: compact, insertion order, members that are null left out.
 * Arena. */
struct str draft_dump(struct draft *d, const json_t *tree);
/* draft_dump of a tree given over, with the scalars of `part`. */
struct part *draft_append_tree(
    struct draft *d, enum parts_kind kind, struct part part, json_t *tree_take);

void id_list_add(struct arena *a, struct id_list *l, int64_t id);
void id_list_sort(struct id_list *l);
bool id_list_has_sorted(const struct id_list *l, int64_t id);
bool id_list_has(const struct id_list *l, int64_t id); /* in any order */

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

/* The updates of one request end; those of a further one follow on their result, in the same file:
 * a table that a transaction names twice. ERR_VALIDATION. */
MUST bool draft_next(struct draft *d, struct err *err);

/* The rules at the end of a commit (logs, timestamps, validations: protocol 3.5, 3.6, 4.8), then
 * the new document with its index, in one copy. The caller's reference. Once per draft.
 * ERR_VALIDATION, ERR_INVALID_ARGUMENT. */
MUST bool draft_finish(
    struct draft *d, struct str file_location, struct metadata **out, struct err *err);
