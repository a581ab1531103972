#include "update.h"

#include "arena.h"
#include "update_priv.h"

enum { WORK_MAX = 300000000 };

/* clang-format off */
static const struct action {
    const char *name;
    const char *class;                /* what messages call it */
    update_fn *apply[METADATA_KINDS]; /* to a table, to a view; NULL: it has no such thing */
} actions[] = {
    {"assign-uuid",                 "AssignUUID",                {update__assign_uuid,                 update__assign_uuid}},
    {"upgrade-format-version",      "UpgradeFormatVersion",      {update__upgrade_format_version,      update__upgrade_format_version}},
    {"add-schema",                  "AddSchema",                 {update__add_schema,                  update__add_view_schema}},
    {"set-current-schema",          "SetCurrentSchema",          {update__set_current_schema,          NULL}},
    {"add-spec",                    "AddPartitionSpec",          {update__add_spec,                    NULL}},
    {"set-default-spec",            "SetDefaultPartitionSpec",   {update__set_default_spec,            NULL}},
    {"add-sort-order",              "AddSortOrder",              {update__add_sort_order,              NULL}},
    {"set-default-sort-order",      "SetDefaultSortOrder",       {update__set_default_sort_order,      NULL}},
    {"add-snapshot",                "AddSnapshot",               {update__add_snapshot,                NULL}},
    {"set-snapshot-ref",            "SetSnapshotRef",            {update__set_snapshot_ref,            NULL}},
    {"remove-snapshots",            "RemoveSnapshots",           {update__remove_snapshots,            NULL}},
    {"remove-snapshot-ref",         "RemoveSnapshotRef",         {update__remove_snapshot_ref,         NULL}},
    {"set-location",                "SetLocation",               {update__set_location,                update__set_location}},
    {"set-properties",              "SetProperties",             {update__set_properties,              update__set_properties}},
    {"remove-properties",           "RemoveProperties",          {update__remove_properties,           update__remove_properties}},
    {"set-statistics",              "SetStatistics",             {update__set_statistics,              NULL}},
    {"remove-statistics",           "RemoveStatistics",          {update__remove_statistics,           NULL}},
    {"set-partition-statistics",    "SetPartitionStatistics",    {update__set_partition_statistics,    NULL}},
    {"remove-partition-statistics", "RemovePartitionStatistics", {update__remove_partition_statistics, NULL}},
    {"remove-partition-specs",      "RemovePartitionSpecs",      {update__remove_partition_specs,      NULL}},
    {"remove-schemas",              "RemoveSchemas",             {update__remove_schemas,              NULL}},
    {"add-encryption-key",          "AddEncryptionKey",          {update__add_encryption_key,          NULL}},
    {"remove-encryption-key",       "RemoveEncryptionKey",       {update__remove_encryption_key,       NULL}},
    {"add-view-version",            "AddViewVersion",            {NULL,                                update__add_view_version}},
    {"set-current-view-version",    "SetCurrentViewVersion",     {NULL,                                update__set_current_view_version}},
};
/* clang-format on */

/* The row of an update, or NULL with the error set. An unknown action must be refused: a client
 * that is newer than we are would believe that it was applied. */
static const struct action *action_of(const json_t *update, size_t i, struct err *err)
{
    const json_t *given = json_object_get(update, "action");
    struct str name = json_text(given);
    if (!json_is_object(update)) {
        err_set(err, ERR_BAD_REQUEST,
            "Cannot parse metadata update: expected an object (/updates/%zu)", i);
        return NULL;
    }
    if (!json_is_string(given)) {
        err_set(err, ERR_BAD_REQUEST, "Cannot parse metadata update. Missing field: action");
        return NULL;
    }
    for (size_t k = 0; k < ARRAY_LEN(actions); k++) {
        if (str_eq_nocase(name, str_from(actions[k].name)))
            return &actions[k];
    }
    err_set(
        err, ERR_BAD_REQUEST, "Cannot convert metadata update action to json: %.*s", STR_ARG(name));
    return NULL;
}

bool updates_known(const json_t *updates, enum metadata_kind kind, struct err *err)
{
    if (!updates || json_is_null(updates))
        return true;
    if (!json_is_array(updates))
        return err_set(err, ERR_BAD_REQUEST, "Expected an array of updates (/updates)");
    for (size_t i = 0; i < json_array_size(updates); i++) {
        const struct action *action = action_of(json_array_get(updates, i), i, err);
        if (!action)
            return false;
        if (!action->apply[kind])
            return err_set(err, ERR_VALIDATION, "Cannot apply update %s to a %s", action->class,
                kind == METADATA_VIEW ? "view" : "table");
    }
    return true;
}

/* Of these any number is carried out at once. */
static bool collects(update_fn *apply)
{
    return apply == update__remove_snapshots || apply == update__remove_statistics ||
           apply == update__remove_partition_statistics || apply == update__remove_encryption_key;
}

/* A few thousand updates of a table with a few hundred thousand elements, whatever they are. */
static bool check_work(const struct draft *d, struct err *err)
{
    return d->work <= WORK_MAX ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "The updates of this table go through its metadata too often: send them in several "
               "requests");
}

bool updates_apply(struct draft *d, const json_t *updates, struct err *err)
{
    TRY(updates_known(updates, d->kind, err));
    struct at all = {updates, arena_printf(d->arena, "%.*s/updates", STR_ARG(d->at))};
    for (size_t i = 0; i < json_array_size(updates); i++) {
        struct at at = at_element(d->arena, all, i);
        const struct action *action = action_of(at.json, i, err);
        if (!action)
            return false;
        if (!collects(action->apply[d->kind]))
            draft__remove_collected(d);
        TRY(action->apply[d->kind](d, at, err));
        TRY(check_work(d, err));
    }
    draft__remove_collected(d);
    return true;
}
