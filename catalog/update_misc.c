/* Updates of the small members: uuid, format version, location, properties, encryption keys. */
#include "arena.h"
#include "update_priv.h"
#include "uuid.h"

bool update__assign_uuid(struct draft *d, struct at at, struct err *err)
{
    struct str given;
    TRY(at_str(at, "uuid", &given, err));
    if (d->head.uuid.p && str_eq_nocase(d->head.uuid, given))
        return true;
    if (!uuid_is(given)) {
        err_set(err, ERR_INVALID_ARGUMENT, "Invalid UUID: %.*s", STR_ARG(given));
        return at_where(at, "uuid", err);
    }
    /* Kept for life: everything that outlives a name depends on it. */
    if (d->kind == METADATA_VIEW)
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot reassign uuid");
    if (d->base && metadata_head(d->base)->uuid.p)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot assign UUID %.*s: the table has the UUID %.*s already", STR_ARG(given),
            STR_ARG(d->head.uuid));
    d->head.uuid = arena_dup(d->arena, given);
    draft_record(d);
    return true;
}

bool update__upgrade_format_version(struct draft *d, struct at at, struct err *err)
{
    bool view = d->kind == METADATA_VIEW;
    const char *word = view ? "view" : "table";
    int max = view ? VIEW_FORMAT_VERSION_MAX : FORMAT_VERSION_MAX;
    int64_t version;
    TRY(at_i32(at, "format-version", &version, err));
    if (version > max)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Cannot upgrade %s to unsupported format version: v%lld (supported: v%d)", word,
            (long long)version, max);
    if (version < d->head.format_version)
        return err_set(err, ERR_INVALID_ARGUMENT, "Cannot downgrade v%lld %s to v%lld",
            (long long)d->head.format_version, word, (long long)version);
    if (version == d->head.format_version)
        return true;
    if (version >= 3 && d->head.format_version < 3)
        d->head.next_row_id = 0;
    d->head.format_version = version;
    draft_record(d);
    return true;
}

struct str draft__strip_slashes(struct str location)
{
    while (str_ends(location, STR("/")) && !str_ends(location, STR("://")))
        location.n--;
    return location;
}

bool update__set_location(struct draft *d, struct at at, struct err *err)
{
    struct str given;
    TRY(at_str(at, "location", &given, err));
    given = draft__strip_slashes(given);
    if (!given.n) {
        err_set(err, ERR_INVALID_ARGUMENT, "Invalid %s location: it is empty",
            d->kind == METADATA_VIEW ? "view" : "table");
        return at_where(at, "location", err);
    }
    if (d->head.location.p && str_eq(given, d->head.location))
        return true;
    d->head.location = arena_dup(d->arena, given);
    d->location_changed = true;
    d->location_at = arena_printf(d->arena, "%.*s/location", STR_ARG(at.pointer));
    draft_record(d);
    return true;
}

bool draft__reserved_property(const char *name)
{
    static const char *const reserved[] = {"format-version", "uuid", "snapshot-count",
        "current-snapshot-id", "current-snapshot-summary", "current-snapshot-timestamp-ms",
        "current-schema", "default-partition-spec", "default-sort-order"};
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
        if (str_eq(str_from(name), str_from(reserved[i])))
            return true;
    }
    return false;
}

/* Older clients say "updated" and "removed". */
static const char *either(struct at at, const char *name, const char *old_name)
{
    return !at_has(at, name) && at_has(at, old_name) ? old_name : name;
}

bool update__set_properties(struct draft *d, struct at at, struct err *err)
{
    struct at map;
    const char *key;
    json_t *value;
    size_t set = 0;
    TRY(at_string_map(d->arena, at, either(at, "updates", "updated"), &map, err));
    json_object_foreach(json_lend(map.json), key, value)
    {
        if (d->kind == METADATA_TABLE && draft__reserved_property(key))
            continue;
        json_object_set(draft_properties(d), key, value);
        set++;
    }
    draft__note_properties(d, map);
    if (set)
        draft_record(d);
    return true;
}

bool update__remove_properties(struct draft *d, struct at at, struct err *err)
{
    struct at keys;
    size_t i;
    json_t *key;
    TRY(at_array(d->arena, at, either(at, "removals", "removed"), &keys, err));
    json_array_foreach(keys.json, i, key)
    {
        if (!json_is_string(key))
            return at_refuse(at_element(d->arena, keys, i), "Expected the name of a property", err);
    }
    if (!json_array_size(keys.json))
        return true;
    json_array_foreach(keys.json, i, key)
    {
        if (json_object_get(d->head.properties, json_string_value(key)))
            json_object_del(draft_properties(d), json_string_value(key));
    }
    draft_record(d);
    return true;
}

static struct str key_id(struct draft *d, const struct part *key)
{
    return json_text(json_object_get(draft_tree(d, key), "key-id"));
}

static bool has_key(struct draft *d, struct str id)
{
    const struct parts *keys = &d->parts[PARTS_KEYS];
    size_t i = 0;
    d->work += keys->n;
    while (i < keys->n && !str_eq(key_id(d, &keys->v[i]), id))
        i++;
    return i < keys->n;
}

/* As Java's decoder takes it, which reads the metadata file later: the usual alphabet, nothing
 * between, and equals signs to a multiple of four or none at all. */
static bool is_base64(struct str s)
{
    size_t n = 0;
    while (n < s.n && ((s.p[n] >= 'A' && s.p[n] <= 'Z') || (s.p[n] >= 'a' && s.p[n] <= 'z') ||
                          (s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == '+' || s.p[n] == '/'))
        n++;
    size_t signs = s.n - n;
    for (size_t i = n; i < s.n; i++)
        if (s.p[i] != '=')
            return false;
    return n % 4 != 1 && (signs == 0 || (signs <= 2 && s.n % 4 == 0));
}

bool update__add_encryption_key(struct draft *d, struct at at, struct err *err)
{
    struct at key, properties;
    struct str id, encrypted, by;
    TRY(draft__count_named(d, PARTS_KEYS, err));
    TRY(at_object(d->arena, at, "encryption-key", &key, err));
    TRY(at_filled_str(key, "key-id", &id, err));
    TRY(at_filled_str(key, "encrypted-key-metadata", &encrypted, err));
    if (!is_base64(encrypted)) {
        err_set(err, ERR_BAD_REQUEST, "Expected base64, found another text");
        return at_where(key, "encrypted-key-metadata", err);
    }
    TRY(at_str_opt(key, "encrypted-by-id", &by, err));
    if (at_has(key, "properties"))
        TRY(at_string_map(d->arena, key, "properties", &properties, err));
    if (has_key(d, id))
        return true;
    struct str text = draft_dump(d, key.json);
    draft_append(
        d, PARTS_KEYS, (struct part){.p = text.p, .n = (uint32_t)text.n, .parent = PART_NONE});
    draft_record(d);
    return true;
}

bool update__remove_encryption_key(struct draft *d, struct at at, struct err *err)
{
    struct str id;
    TRY(at_str(at, "key-id", &id, err));
    if (!d->collected_keys)
        d->collected_keys = json_hold(d->arena, json_object());
    json_object_set_new(d->collected_keys, id.p, json_true());
    return true;
}

void draft__remove_keys(struct draft *d)
{
    if (json_object_size(d->collected_keys) == 0)
        return;
    struct parts *keys = draft_own(d, PARTS_KEYS);
    size_t n = 0, before = keys->n;
    d->work += before;
    for (size_t i = 0; i < before; i++) {
        struct str id = key_id(d, &keys->v[i]);
        if (!id.p || !json_object_get(d->collected_keys, id.p))
            keys->v[n++] = keys->v[i];
    }
    keys->n = n;
    if (n < before)
        draft_record(d);
    json_object_clear(d->collected_keys);
}
