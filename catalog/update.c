#include "update.h"

#include "arena.h"
#include "update_priv.h"

static const struct action {
    const char *name;
    update_fn *apply;       /* NULL: only views know it */
    const char *view_class; /* what messages call it */
} actions[] = {
    {"assign-uuid",                 update__assign_uuid,                 NULL                   },
    {"upgrade-format-version",      update__upgrade_format_version,      NULL                   },
    {"add-schema",                  update__add_schema,                  NULL                   },
    {"set-current-schema",          update__set_current_schema,          NULL                   },
    {"add-spec",                    update__add_spec,                    NULL                   },
    {"set-default-spec",            update__set_default_spec,            NULL                   },
    {"add-sort-order",              update__add_sort_order,              NULL                   },
    {"set-default-sort-order",      update__set_default_sort_order,      NULL                   },
    {"add-snapshot",                update__add_snapshot,                NULL                   },
    {"set-snapshot-ref",            update__set_snapshot_ref,            NULL                   },
    {"remove-snapshots",            update__remove_snapshots,            NULL                   },
    {"remove-snapshot-ref",         update__remove_snapshot_ref,         NULL                   },
    {"set-location",                update__set_location,                NULL                   },
    {"set-properties",              update__set_properties,              NULL                   },
    {"remove-properties",           update__remove_properties,           NULL                   },
    {"set-statistics",              update__set_statistics,              NULL                   },
    {"remove-statistics",           update__remove_statistics,           NULL                   },
    {"set-partition-statistics",    update__set_partition_statistics,    NULL                   },
    {"remove-partition-statistics", update__remove_partition_statistics, NULL                   },
    {"remove-partition-specs",      update__remove_partition_specs,      NULL                   },
    {"remove-schemas",              update__remove_schemas,              NULL                   },
    {"add-encryption-key",          update__add_encryption_key,          NULL                   },
    {"remove-encryption-key",       update__remove_encryption_key,       NULL                   },
    {"add-view-version",            NULL,                                "AddViewVersion"       },
    {"set-current-view-version",    NULL,                                "SetCurrentViewVersion"},
};

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

bool updates_known(const json_t *updates, struct err *err)
{
    if (!updates || json_is_null(updates))
        return true;
    if (!json_is_array(updates))
        return err_set(err, ERR_BAD_REQUEST, "Expected an array of updates (/updates)");
    for (size_t i = 0; i < json_array_size(updates); i++) {
        const struct action *action = action_of(json_array_get(updates, i), i, err);
        if (!action)
            return false;
        if (!action->apply)
            return err_set(
                err, ERR_VALIDATION, "Cannot apply update %s to a table", action->view_class);
    }
    return true;
}

bool updates_apply(struct draft *d, const json_t *updates, struct err *err)
{
    TRY(updates_known(updates, err));
    struct at all = {updates, STR("/updates")};
    for (size_t i = 0; i < json_array_size(updates); i++) {
        struct at at = at_element(d->arena, all, i);
        const struct action *action = action_of(at.json, i, err);
        if (!action || !action->apply(d, at, err))
            return false;
    }
    return true;
}
