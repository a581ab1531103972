/* What the files about updates share: typed access to the members of a request, and the functions
 * behind the table of actions. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "draft.h"
#include "err.h"
#include "json.h"
#include "str.h"

struct arena;

/* A value of a request and the JSON pointer that leads to it, for messages. */
struct at {
    const json_t *json;
    struct str pointer;
};

/* Members of an object. A null member counts as absent. Errors are ERR_BAD_REQUEST and name the
 * place, what was expected and what was found. */
bool at_has(struct at at, const char *name);
MUST bool at_i64(struct at at, const char *name, int64_t *out, struct err *err);
MUST bool at_i32(struct at at, const char *name, int64_t *out, struct err *err);
MUST bool at_str(struct at at, const char *name, struct str *out, struct err *err);
/* *out stays as it is when the member is absent. */
MUST bool at_i64_opt(struct at at, const char *name, int64_t *out, struct err *err);
MUST bool at_str_opt(struct at at, const char *name, struct str *out, struct err *err);
/* The member itself, with its pointer in the arena. */
MUST bool at_object(
    struct arena *a, struct at at, const char *name, struct at *out, struct err *err);
MUST bool at_array(
    struct arena *a, struct at at, const char *name, struct at *out, struct err *err);
/* An object whose members are all strings. */
MUST bool at_string_map(
    struct arena *a, struct at at, const char *name, struct at *out, struct err *err);
/* An array of integers, in the order given. */
MUST bool at_ids(
    struct arena *a, struct at at, const char *name, struct id_list *out, struct err *err);
struct at at_element(struct arena *a, struct at array, size_t i);
/* "<text> (<pointer>)", ERR_BAD_REQUEST. */
bool at_refuse(struct at at, const char *text, struct err *err);
/* Puts a member's pointer behind the message; false. */
bool at_where(struct at at, const char *member, struct err *err);
/* A size of something, 0 or more, and a text that is not empty. */
MUST bool at_size(struct at at, const char *name, int64_t *out, struct err *err);
MUST bool at_filled_str(struct at at, const char *name, struct str *out, struct err *err);

/* jansson's iterators take objects that may be changed; ours are not. */
static inline json_t *json_lend(const json_t *v)
{
    return (json_t *)(uintptr_t)v;
}
/* Copies the members of `from` that are not null and that `to` lacks. */
void json_copy_rest(json_t *to, const json_t *from);
/* Properties and statements that describe a table and are never stored as its properties. */
bool draft__reserved_property(const char *name);
/* Without trailing slashes, but not into the scheme. */
struct str draft__strip_slashes(struct str location);

/* Puts what an element says of places of files, and what a map of properties sets, on the draft's
 * list; the pointer of `at` must live as long as the list. */
void draft__note_uris(struct draft *d, enum parts_kind kind, struct at at);
void draft__note_properties(struct draft *d, struct at properties);

/* A line of the snapshot log. */
void draft__log_snapshot(struct draft *d, int64_t snapshot_id, int64_t ms);
/* What removals of snapshots and statistics named so far goes now, in one pass: expiry sends
 * thousands of them, each with one id, those of a snapshot and of its statistics by turns. */
void draft__remove_collected(struct draft *d);
void draft__remove_keys(struct draft *d); /* a part of it */
/* Each of these is compared with all that are there: a request may name so many and no more.
 * ERR_BAD_REQUEST. */
MUST bool draft__count_named(struct draft *d, enum parts_kind kind, struct err *err);
/* Ids that the client expected for what it added, and those it got. */
void draft__note_guess(struct draft *d, enum parts_kind kind, const json_t *said, int64_t is);
int64_t draft__resolve_guess(const struct draft *d, enum parts_kind kind, int64_t said);

typedef bool update_fn(struct draft *d, struct at at, struct err *err);
update_fn update__assign_uuid, update__upgrade_format_version, update__set_location,
    update__set_properties, update__remove_properties, update__add_encryption_key,
    update__remove_encryption_key;
update_fn update__add_schema, update__set_current_schema, update__add_spec,
    update__set_default_spec, update__add_sort_order, update__set_default_sort_order,
    update__remove_partition_specs, update__remove_schemas;
update_fn update__add_snapshot, update__set_snapshot_ref, update__remove_snapshots,
    update__remove_snapshot_ref, update__set_statistics, update__remove_statistics,
    update__set_partition_statistics, update__remove_partition_statistics;
update_fn update__add_view_schema, update__add_view_version, update__set_current_view_version;

/* The id an update refers to: -1 is what this request named last; false when it named none. */
bool draft__id_meant(struct draft *d, enum parts_kind kind, int64_t given, int64_t *out);
/* The id of the schema: that of an equal one, or of one that is added now; *added tells.
 * ERR_INVALID_ARGUMENT: no id is left. */
MUST bool draft__put_schema(
    struct draft *d, const json_t *schema, int64_t *id, bool *added, struct err *err);
/* The end of a view's commit: rules, version log, versions that are too many. */
MUST bool draft__end_view(struct draft *d, struct err *err);
