#include "identity.h"

#include <string.h>

#include "arena.h"
#include "base.h"
#include "config.h"
#include "profile_keys.h"
#include "uuid.h"

static const char *text_at(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static bool is(const char *text, const char *word)
{
    return text && strcasecmp(text, word) == 0;
}

static const char *kind_of(const json_t *profile)
{
    return text_at(json_object_get(profile, "credentials"), "type");
}

bool identity_is_servers(const json_t *profile)
{
    const char *type = text_at(json_object_get(profile, "storage"), "type");

    return type && !is(type, "file") && !profile_has_keys(profile);
}

enum store_identity identity_of(const json_t *profile)
{
    if (is(kind_of(profile), "web-identity"))
        return STORE_IDENTITY_WEB;
    return is(kind_of(profile), "managed-identity") ? STORE_IDENTITY_MACHINE : STORE_IDENTITY_ANY;
}

static bool has_role(const json_t *storage)
{
    return is(text_at(storage, "type"), "s3") && str_from(text_at(storage, "role-arn")).n > 0;
}

/* --- the external id ---------------------------------------------------------------------------
 */

static bool assumes(const json_t *profile)
{
    const json_t *storage = json_object_get(profile, "storage");

    return identity_is_servers(profile) && is(text_at(storage, "type"), "s3") &&
           (has_role(storage) || str_from(text_at(storage, "vend-role-arn")).n > 0);
}

static const char *external_id(const json_t *profile)
{
    const char *id = text_at(json_object_get(profile, "storage"), "external-id");

    return id && *id ? id : NULL;
}

bool identity_name(
    struct arena *a, const json_t *was, json_t *profile, enum identity_named *out, struct err *err)
{
    const char *given = external_id(profile), *known = assumes(was) ? external_id(was) : NULL;
    char *fresh = arena_alloc(a, UUID_TEXT + 1);

    *out = IDENTITY_AS_IT_WAS;
    if (!assumes(profile))
        return true;
    if (given && (!known || strcmp(given, known) != 0))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/storage/external-id: the server makes it where it assumes a role with its own "
            "credentials: expected %s, found %s",
            known ? known : "none", given);
    if (!known) {
        uuid_v4(fresh);
        *out = IDENTITY_NEW;
    }
    json_object_set_new(
        json_object_get(profile, "storage"), "external-id", json_string(known ? known : fresh));
    return true;
}

/* --- what fits ---------------------------------------------------------------------------------
 */

bool identity_check_kind(const json_t *profile, struct err *err)
{
    const json_t *storage = json_object_get(profile, "storage");
    const char *kind = kind_of(profile);
    bool by_role = is(kind, "assume-role");

    if (!by_role && identity_of(profile) == STORE_IDENTITY_ANY)
        return true;
    if (is(text_at(storage, "type"), "file") || (by_role && !is(text_at(storage, "type"), "s3")))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/credentials/type: a storage of type %s has no %s", text_at(storage, "type"), kind);
    return !by_role || has_role(storage) ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "/storage/role-arn: required member with credentials of type assume-role is "
               "missing");
}

/* --- what the setting allows -------------------------------------------------------------------
 */

static bool is_place(struct str word)
{
    size_t colon = str_find(word, ':');

    return str_starts(str_sub(word, colon, word.n), STR("://"));
}

/* A file needs nobody's credentials, and a star in a place is no more than itself. */
bool identity_is_word(struct arena *a, struct str word)
{
    struct location at;
    struct err ignored;

    if (is_place(word))
        return !store_is_file(word) && str_find(word, '*') == word.n &&
               location_parse(a, word, &at, &ignored);
    return str_eq(word, STR("*")) ||
           (str_eq_nocase(str_sub(word, 0, 4), STR("arn:")) && str_is_pattern(word));
}

static bool has_place(struct arena *a, struct str word, const struct location *at)
{
    struct location place;
    struct err ignored;

    if (str_eq(word, STR("*")))
        return true;
    return is_place(word) && location_identity(a, word, &place, &ignored) &&
           location_within(at, &place);
}

static bool check_place(
    struct arena *a, const struct config *conf, const char *member, struct str uri, struct err *err)
{
    struct location at;

    if (!location_identity(a, uri, &at, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    for (const char *const *p = conf->warehouse_identity; *p; p++)
        if (has_place(a, str_from(*p), &at))
            return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "%s: the server's own credentials serve %.*s only if FIRN_WAREHOUSE_IDENTITY names it or a "
        "place above it; otherwise the warehouse needs /credentials of type static",
        member, STR_ARG(uri));
}

static bool check_role(const struct config *conf, const char *role, struct err *err)
{
    for (const char *const *p = conf->warehouse_identity; *p; p++)
        if (!is_place(str_from(*p)) && str_fits(str_from(role), str_from(*p)))
            return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "/storage/role-arn: with the server's own credentials %s is assumed only if "
        "FIRN_WAREHOUSE_IDENTITY names it; otherwise the warehouse needs /credentials of type "
        "static",
        role);
}

bool identity_check(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, struct err *err)
{
    const json_t *storage = json_object_get(profile, "storage");
    const json_t *allowed = json_object_get(profile, "allowed-locations");
    const char *role = text_at(storage, "role-arn");

    if (!identity_is_servers(profile))
        return true;
    if (has_role(storage))
        return check_role(conf, role, err);
    TRY(check_place(a, conf, "/base-location", base, err));
    for (size_t i = 0; i < json_array_size(allowed); i++) {
        struct str at = str_from(json_string_value(json_array_get(allowed, i)));
        struct str member = arena_printf(a, "/allowed-locations/%zu", i);
        TRY(check_place(a, conf, member.p, at, err));
    }
    return true;
}
