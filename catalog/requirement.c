#include "requirement.h"

#include <stdio.h>

#include "metadata.h"
#include "update_priv.h"

typedef bool require_fn(const struct head *base, const json_t *r, struct err *err);

#define fails(err, ...) err_set((err), ERR_COMMIT_FAILED, "Requirement failed: " __VA_ARGS__)

static bool not_exists(const struct head *base, const json_t *r, struct err *err)
{
    (void)base, (void)r;
    return fails(err, "table already exists");
}

static bool table_uuid(const struct head *base, const json_t *r, struct err *err)
{
    struct str given = json_text_at(r, "uuid");
    if (base->uuid.p && str_eq_nocase(base->uuid, given))
        return true;
    struct str have = base->uuid.p ? base->uuid : STR("null");
    return fails(err, "UUID does not match: expected %.*s != %.*s", STR_ARG(have), STR_ARG(given));
}

static bool view_uuid(const struct head *base, const json_t *r, struct err *err)
{
    struct str given = json_text_at(r, "uuid");
    return str_eq_nocase(base->uuid, given) ||
           fails(err, "view UUID does not match: expected %.*s != %.*s", STR_ARG(base->uuid),
               STR_ARG(given));
}

static bool ref_snapshot_id(const struct head *base, const json_t *r, struct err *err)
{
    const char *name = json_string_value(json_object_get(r, "ref"));
    const json_t *given = json_object_get(r, "snapshot-id");
    const json_t *ref = json_object_get(base->refs, name);
    int64_t expected = json_is_integer(given) ? json_integer_value(given) : PART_NONE;
    if (!ref) {
        /* Some clients say -1 for "no snapshot yet". */
        return expected == PART_NONE ||
               fails(err, "branch or tag %s is missing, expected %lld", name, (long long)expected);
    }
    struct str type = json_text_at(ref, "type");
    const char *word = str_eq_nocase(type, STR("tag")) ? "tag" : "branch";
    int64_t actual = json_integer_value(json_object_get(ref, "snapshot-id"));
    if (!json_is_integer(given))
        return fails(err, "%s %s was created concurrently", word, name);
    return expected == actual || fails(err, "%s %s has changed: expected id %lld != %lld", word,
                                     name, (long long)expected, (long long)actual);
}

static bool same_number(
    const json_t *r, const char *member, int64_t actual, const char *what, struct err *err)
{
    int64_t given = json_integer_value(json_object_get(r, member));
    return given == actual || fails(err, "%s changed: expected id %lld != %lld", what,
                                  (long long)given, (long long)actual);
}

static bool last_field_id(const struct head *base, const json_t *r, struct err *err)
{
    return same_number(
        r, "last-assigned-field-id", base->last_column_id, "last assigned field id", err);
}

static bool current_schema_id(const struct head *base, const json_t *r, struct err *err)
{
    return same_number(r, "current-schema-id", base->current_schema_id, "current schema", err);
}

static bool last_partition_id(const struct head *base, const json_t *r, struct err *err)
{
    return same_number(r, "last-assigned-partition-id", base->last_partition_id,
        "last assigned partition id", err);
}

static bool default_spec_id(const struct head *base, const json_t *r, struct err *err)
{
    return same_number(r, "default-spec-id", base->default_spec_id, "default partition spec", err);
}

static bool default_order_id(const struct head *base, const json_t *r, struct err *err)
{
    return same_number(
        r, "default-sort-order-id", base->default_order_id, "default sort order", err);
}

/* What a requirement carries; the ref's snapshot id may be absent. */
enum carries { NOTHING, A_UUID, A_REF, A_NUMBER };

/* clang-format off */
static const struct requirement {
    const char *type;
    const char *class;                 /* what messages call it */
    require_fn *check[METADATA_KINDS]; /* of a table, of a view; NULL: it has no such thing */
    enum carries carries;
    const char *member; /* of A_NUMBER */
} table[] = {
    {"assert-create",                     "AssertTableDoesNotExist",       {not_exists,        NULL},      NOTHING,  NULL},
    {"assert-table-uuid",                 "AssertTableUUID",               {table_uuid,        NULL},      A_UUID,   NULL},
    {"assert-ref-snapshot-id",            "AssertRefSnapshotID",           {ref_snapshot_id,   NULL},      A_REF,    NULL},
    {"assert-last-assigned-field-id",     "AssertLastAssignedFieldId",     {last_field_id,     NULL},      A_NUMBER, "last-assigned-field-id"},
    {"assert-current-schema-id",          "AssertCurrentSchemaID",         {current_schema_id, NULL},      A_NUMBER, "current-schema-id"},
    {"assert-last-assigned-partition-id", "AssertLastAssignedPartitionId", {last_partition_id, NULL},      A_NUMBER, "last-assigned-partition-id"},
    {"assert-default-spec-id",            "AssertDefaultSpecID",           {default_spec_id,   NULL},      A_NUMBER, "default-spec-id"},
    {"assert-default-sort-order-id",      "AssertDefaultSortOrderID",      {default_order_id,  NULL},      A_NUMBER, "default-sort-order-id"},
    {"assert-view-uuid",                  "AssertViewUUID",                {NULL,              view_uuid}, A_UUID,   NULL},
};
/* clang-format on */

/* The members that the type needs. */
static bool well_formed(const struct requirement *row, struct at at, struct err *err)
{
    struct str text;
    int64_t number = 0;
    switch (row->carries) {
    case A_UUID:
        return at_str(at, "uuid", &text, err);
    case A_REF:
        return at_str(at, "ref", &text, err) && at_i64_opt(at, "snapshot-id", &number, err);
    case A_NUMBER:
        return at_i64(at, row->member, &number, err);
    case NOTHING:
    default:
        return true;
    }
}

/* The row of a well-formed requirement, or NULL with the error set. */
static const struct requirement *row_of(const json_t *r, size_t i, struct err *err)
{
    char pointer[48];
    int n = snprintf(pointer, sizeof(pointer), "/requirements/%zu", i);
    struct at at = {
        r, {pointer, (size_t)n}
    };
    const json_t *given = json_object_get(r, "type");
    struct str type = json_text(given);
    if (!json_is_object(r)) {
        at_refuse(at, "Cannot parse update requirement: expected an object", err);
        return NULL;
    }
    if (!json_is_string(given)) {
        err_set(err, ERR_BAD_REQUEST, "Cannot parse update requirement. Missing field: type");
        return NULL;
    }
    for (size_t k = 0; k < ARRAY_LEN(table); k++) {
        if (str_eq_nocase(type, str_from(table[k].type)))
            return well_formed(&table[k], at, err) ? &table[k] : NULL;
    }
    err_set(err, ERR_BAD_REQUEST, "Unrecognized update requirement. Cannot convert to json: %.*s",
        STR_ARG(type));
    return NULL;
}

bool requirements_known(const json_t *requirements, struct err *err)
{
    if (!requirements || json_is_null(requirements))
        return true;
    if (!json_is_array(requirements))
        return err_set(err, ERR_BAD_REQUEST, "Expected an array of requirements (/requirements)");
    for (size_t i = 0; i < json_array_size(requirements); i++) {
        if (!row_of(json_array_get(requirements, i), i, err))
            return false;
    }
    return true;
}

static bool check_all(
    enum metadata_kind kind, const struct head *head, const json_t *requirements, struct err *err)
{
    TRY(requirements_known(requirements, err));
    for (size_t i = 0; i < json_array_size(requirements); i++) {
        const json_t *r = json_array_get(requirements, i);
        const struct requirement *row = row_of(r, i, err);
        if (!row)
            return false;
        if (!row->check[kind])
            return err_set(err, ERR_VALIDATION, "Cannot validate %s against a %s", row->class,
                kind == METADATA_VIEW ? "view" : "table");
        TRY(row->check[kind](head, r, err));
    }
    return true;
}

bool requirements_check(const struct metadata *base, const json_t *requirements, struct err *err)
{
    return check_all(metadata_kind(base), metadata_head(base), requirements, err);
}

bool requirements_check_head(const struct head *head, const json_t *requirements, struct err *err)
{
    return check_all(METADATA_TABLE, head, requirements, err);
}

bool requirements_create(const json_t *requirements, bool *create, struct err *err)
{
    TRY(requirements_known(requirements, err));
    char others[256] = "";
    size_t n = 0;
    *create = false;
    for (size_t i = 0; i < json_array_size(requirements); i++) {
        const struct requirement *row = row_of(json_array_get(requirements, i), i, err);
        if (!row)
            return false;
        if (row->check[METADATA_TABLE] == not_exists) {
            *create = true;
        } else if (n < sizeof(others)) {
            int w = snprintf(others + n, sizeof(others) - n, "%s%s", n ? ", " : "", row->type);
            n += w > 0 ? (size_t)w : 0;
        }
    }
    if (*create && n)
        return err_set(err, ERR_INVALID_ARGUMENT, "Invalid create requirements: [%s]", others);
    return true;
}
