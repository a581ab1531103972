/* Schemas, partition specs and sort orders as JSON trees: validation, equality, fresh ids. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;

/* A schema read once: its fields by id and by full name. Borrows the tree. */
struct schema;
/* Checks structure and types (names, ids unique, identifier fields; protocol 3.7, A.2) and indexes.
 * `at` is the JSON pointer that a request has it under, and every message then ends with the
 * pointer to what is wrong; absent for a schema from a file. ERR_BAD_REQUEST for malformed
 * structure, ERR_INVALID_ARGUMENT/ERR_VALIDATION else. */
MUST bool schema_read(
    struct arena *a, const json_t *tree, struct str at, struct schema **out, struct err *err);
/* All types and defaults allowed in that format version; all problems listed in one message. */
MUST bool schema_check_version(
    struct arena *a, const struct schema *s, int64_t format_version, struct err *err);
int64_t schema_highest_id(const struct schema *s); /* 0 when empty */
/* Same fields in the same order, recursively, and the same identifier fields; schema-id ignored. */
bool schema_equal(const json_t *a, const json_t *b);
/* The tree as it is stored: types spelled canonically, null members and unknown spellings dropped,
 * schema-id set. New reference. */
json_t *schema_canonical(const json_t *tree, int64_t schema_id);
/* A copy with all field ids assigned anew from 1 (protocol 4.1: order within a struct first). */
MUST bool schema_fresh(
    struct arena *a, const struct schema *s, json_t **out, int64_t *last_id, struct err *err);

struct schema_field {
    int64_t id;
    struct str name;    /* full, dotted */
    const json_t *type; /* string: primitive (canonical or as sent); object: nested */
    bool required;
    bool in_struct_only;    /* every ancestor is a struct */
    struct str parent_type; /* "list<…>" or "map<…>" of the first ancestor that is none */
};
const struct schema_field *schema_field_by_id(const struct schema *s, int64_t id);
const struct schema_field *schema_field_by_name(const struct schema *s, struct str full_name);

/* Checks a partition spec's fields against a schema (protocol, add-spec); `at` as for a schema. */
MUST bool spec_check(
    struct arena *a, const struct schema *s, const json_t *spec, struct str at, struct err *err);
/* Only that none of its fields has the name of a column that is not its source: of a spec that is
 * no table's default, from a file. ERR_INVALID_ARGUMENT. */
MUST bool spec_check_columns(const struct schema *s, const json_t *spec, struct err *err);
/* A sort order's fields against a schema. */
MUST bool order_check(
    struct arena *a, const struct schema *s, const json_t *order, struct str at, struct err *err);
/* Of checked ones: the format version has all that they need (protocol 3.7). ERR_VALIDATION. */
MUST bool spec_check_version(
    const json_t *spec, int64_t format_version, struct str at, struct err *err);
MUST bool order_check_version(
    const json_t *order, int64_t format_version, struct str at, struct err *err);
/* Pairwise equal source, transform and name; field ids ignored. */
bool spec_equal(const json_t *a, const json_t *b);
bool order_equal(const json_t *a, const json_t *b);
/* As stored: spec-id / order-id set, transforms as sent, nulls dropped; field ids as given or, when
 * all are missing, from `first_field_id` on. New references. ERR_INVALID_ARGUMENT for mixed field
 * ids. */
MUST bool spec_canonical(
    const json_t *spec, int64_t spec_id, int64_t first_field_id, json_t **out, struct err *err);
json_t *order_canonical(const json_t *order, int64_t order_id);
int64_t spec_highest_field_id(const json_t *spec); /* 999 when unpartitioned */
