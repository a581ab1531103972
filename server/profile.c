#include "profile.h"

#include <string.h>

#include "arena.h"
#include "base.h"
#include "config.h"
#include "identity.h"
#include "json.h"
#include "profile_keys.h"
#include "reach.h"
#include "secrets.h"

enum { VEND_MIN_S = 900, VEND_MAX_S = 43200 }; /* of AWS's roles */

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static enum store_style style_of(const char *word)
{
    bool path;

    if (!str_to_bool(str_from(word), &path))
        return STORE_STYLE_AUTO;
    return path ? STORE_STYLE_PATH : STORE_STYLE_VIRTUAL;
}

static enum store_azure_vend azure_vend_of(const char *word)
{
    if (!word || strcasecmp(word, "directory") == 0)
        return STORE_AZURE_DIRECTORY;
    return strcasecmp(word, "container") == 0 ? STORE_AZURE_CONTAINER : STORE_AZURE_NOTHING;
}

static enum store_sign signing_of(const char *word)
{
    bool yes;

    if (str_to_bool(str_from(word), &yes))
        return yes ? STORE_SIGN_ELSE : STORE_SIGN_NOTHING;
    return STORE_SIGN_ONLY;
}

static void own_keys(const struct config *conf, struct store_conf *out)
{
    out->gcs_key = or_null(conf->gcs_key);
    out->azure_account_key = or_null(conf->azure_account_key);
    out->s3_access_key_id = or_null(conf->s3_access_key_id);
    out->s3_secret_access_key = or_null(conf->s3_secret_access_key);
    out->s3_session_token = or_null(conf->s3_session_token);
}

void profile_of_settings(
    struct arena *a, const struct config *conf, struct secrets *secrets, struct store_conf *out)
{
    *out = (struct store_conf){
        .base = conf->warehouse,
        .allowed = conf->allowed_locations,
        .allow = conf->warehouse_allow,
        .s3_endpoint = or_null(conf->s3_endpoint),
        .s3_region = or_null(conf->s3_region),
        .s3_role_arn = or_null(conf->s3_role_arn),
        .s3_external_id = or_null(conf->s3_external_id),
        .sts_endpoint = or_null(conf->sts_endpoint),
        .identity_endpoint = or_null(conf->sts_endpoint),
        .vend_role_arn = or_null(conf->s3_vend_role_arn),
        .vend_duration_s = (int)(conf->s3_vend_duration / 1000000),
        .vend_static = conf->s3_vend_static ? STORE_SHARE_KEYS : STORE_SHARE_NONE,
        .client_endpoint = or_null(conf->s3_client_endpoint),
        .sign = signing_of(conf->s3_remote_signing),
        .unasked = conf->vend_unasked ? STORE_UNASKED_KEYS : STORE_UNASKED_NOTHING,
        .s3_style = style_of(conf->s3_path_style),
        .s3_schemes = conf->s3_hadoop_schemes ? STORE_SCHEMES_HADOOP : STORE_SCHEMES_OWN,
        .gcs_endpoint = or_null(conf->gcs_endpoint),
        .gcs_project = or_null(conf->gcs_project),
        .gcs_vend = conf->gcs_vend ? STORE_GCS_TOKENS : STORE_GCS_NOTHING,
        .azure_endpoint = or_null(conf->azure_endpoint),
        .azure_vend = azure_vend_of(conf->azure_vend),
        /* Who gives the key and turns it on by settings knows both. */
        .azure_signer = STORE_AZURE_ANY_KEY,
    };
    own_keys(conf, out);
    secrets_offer_own(secrets, a, out);
}

/* --- from JSON ---------------------------------------------------------------------------------
 */

static const char *text_at(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static bool is_word(const json_t *object, const char *member, const char *word)
{
    const char *text = text_at(object, member);
    return text && strcasecmp(text, word) == 0;
}

static const char *const *texts_at(struct arena *a, const json_t *object, const char *member)
{
    const json_t *list = json_object_get(object, member);
    const char **texts = ARENA_ARRAY(a, const char *, json_array_size(list) + 1);

    for (size_t i = 0; i < json_array_size(list); i++)
        texts[i] = json_string_value(json_array_get(list, i));
    return texts;
}

/* Where the profile lists a way for clients; absent ones stand behind all others. */
static size_t delegation_at(const json_t *profile, const char *word)
{
    const json_t *ways = json_object_get(profile, "delegation");

    for (size_t i = 0; i < json_array_size(ways); i++) {
        const char *way = json_string_value(json_array_get(ways, i));
        if (way && strcmp(way, word) == 0)
            return i;
    }
    return SIZE_MAX;
}

static bool vends(const json_t *profile)
{
    return delegation_at(profile, "vended-credentials") != SIZE_MAX;
}

static bool signs(const json_t *profile)
{
    return delegation_at(profile, "remote-signing") != SIZE_MAX;
}

static void vending(const json_t *profile, struct store_conf *out)
{
    const json_t *storage = json_object_get(profile, "storage");

    if (!vends(profile) && !signs(profile))
        return;
    if (json_is_false(json_object_get(profile, "delegation-unasked")))
        out->unasked = STORE_UNASKED_NOTHING;
    if (vends(profile) && is_word(storage, "type", "gcs"))
        out->gcs_vend = STORE_GCS_TOKENS;
    if (vends(profile))
        out->azure_vend = azure_vend_of(text_at(storage, "vend-scope"));
    if (json_is_true(json_object_get(storage, "vend-by-account-key")))
        out->azure_signer = STORE_AZURE_ANY_KEY;
    out->vend_role_arn = text_at(storage, "vend-role-arn");
    out->vend_duration_s = (int)json_integer_value(json_object_get(storage, "vend-duration"));
    out->client_endpoint = text_at(storage, "client-endpoint");
    if (vends(profile) && !out->vend_role_arn &&
        json_is_true(json_object_get(storage, "vend-static")))
        out->vend_static = STORE_SHARE_KEYS;
}

/* A path behind the host, as the emulator of Azure has it, is none of the rules' business. */
static const char *without_path(struct arena *a, const char *endpoint)
{
    struct str s = str_from(endpoint);
    size_t slash = str_find(s, '/');
    size_t host = slash + 2 < s.n ? slash + 2 : s.n;

    if (!endpoint)
        return NULL;
    return arena_dup(a, str_sub(s, 0, host + str_find(str_sub(s, host, s.n), '/'))).p;
}

/* The host of a location's account. NULL: there is none, or it is one of Azure's own, which need no
 * leave. */
static const char *azure_host(struct arena *a, const struct location *at)
{
    static const char *const clouds[] = {".core.windows.net", ".core.usgovcloudapi.net",
        ".core.chinacloudapi.cn", ".storage.azure.net", ".fabric.microsoft.com"};
    struct str host = at->authority;

    (void)str_cut(&host, '@');
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++)
        if (str_ends(host, str_from(clouds[i])))
            return NULL;
    return host.p ? arena_printf(a, "https://%.*s", STR_ARG(host)).p : NULL;
}

/* Where requests go; NULL: to the cloud's own host. */
static const char *endpoint_in(
    struct arena *a, struct str base, const json_t *storage, const char *member)
{
    const char *endpoint = text_at(storage, member);
    struct location at;
    struct err ignored;

    if (!is_word(storage, "type", "adls"))
        return endpoint;
    if (!endpoint && strcmp(member, "endpoint") == 0 && location_parse(a, base, &at, &ignored))
        return azure_host(a, &at);
    return without_path(a, endpoint);
}

/* S3 sees signatures, which are good for one request. Other stores see the token, and the server's
 * own would be good for all that the server may do: it goes to hosts that are named. */
static enum store_reach reach_in(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, const char *member)
{
    const json_t *storage = json_object_get(profile, "storage");
    enum store_reach reach = reach_of(conf, endpoint_in(a, base, storage, member));
    bool own_token = !is_word(storage, "type", "s3") && !profile_has_keys(profile);

    return own_token && reach == STORE_REACH_PUBLIC ? STORE_REACH_NONE : reach;
}

static void signing(const json_t *profile, struct store_conf *out)
{
    size_t at = delegation_at(profile, "remote-signing");

    if (!signs(profile))
        return;
    if (!vends(profile))
        out->sign = STORE_SIGN_ONLY;
    else
        out->sign =
            at < delegation_at(profile, "vended-credentials") ? STORE_SIGN_FIRST : STORE_SIGN_ELSE;
}

void profile_store(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, struct store_conf *out)
{
    const json_t *storage = json_object_get(profile, "storage");
    const json_t *path_style = json_object_get(storage, "path-style");

    *out = (struct store_conf){
        .base = arena_printf(a, "%.*s", STR_ARG(base)).p,
        .allowed = texts_at(a, profile, "allowed-locations"),
        .allow = texts_at(a, profile, "allow"),
        .s3_endpoint = text_at(storage, "endpoint"),
        .gcs_endpoint = text_at(storage, "endpoint"),
        .gcs_project = text_at(storage, "project-id"),
        .azure_endpoint = text_at(storage, "endpoint"),
        .s3_region = text_at(storage, "region"),
        .s3_role_arn = text_at(storage, "role-arn"),
        .s3_external_id = text_at(storage, "external-id"),
        .sts_endpoint = text_at(storage, "sts-endpoint"),
        .identity_endpoint = or_null(conf->sts_endpoint),
        .endpoint_reach = reach_in(a, conf, base, profile, "endpoint"),
        .sts_reach = reach_in(a, conf, base, profile, "sts-endpoint"),
        .client_reach = reach_in(a, conf, base, profile, "client-endpoint"),
        .s3_schemes = json_is_true(json_object_get(storage, "hadoop-schemes"))
                          ? STORE_SCHEMES_HADOOP
                          : STORE_SCHEMES_OWN,
        .s3_style = json_is_true(path_style)    ? STORE_STYLE_PATH
                    : json_is_false(path_style) ? STORE_STYLE_VIRTUAL
                                                : STORE_STYLE_AUTO,
    };
    if (!profile_has_keys(profile))
        out->identity = identity_of(profile);
    if (!profile_has_keys(profile) && out->identity == STORE_IDENTITY_ANY)
        own_keys(conf, out);
    vending(profile, out);
    signing(profile, out);
}

static bool check_object(const struct sql_warehouse *row, const json_t *profile, struct err *err)
{
    return json_is_object(profile) ||
           err_set(err, ERR_INTERNAL, "The profile of the warehouse %.*s is no JSON object",
               STR_ARG(row->name));
}

bool profile_read(struct arena *a, const struct sql_warehouse *row, json_t **out, struct err *err)
{
    *out = NULL;
    if (row->profile.n == 0)
        return true;
    *out = json_hold(a, json_loadb(row->profile.p, row->profile.n, 0, NULL));
    return check_object(row, *out, err);
}

bool profile_of_row(struct arena *a, const struct config *conf, struct secrets *secrets,
    const struct sql_warehouse *row, struct store_conf *out, struct err *err)
{
    json_t *profile;

    TRY(profile_read(a, row, &profile, err));
    TRY(check_object(row, profile, err));
    if (!identity_check(a, conf, row->base, profile, err)) {
        err_wrap(err, "Warehouse %.*s", STR_ARG(row->name));
        return err_as(err, ERR_FORBIDDEN);
    }
    profile_store(a, conf, row->base, profile, out);
    if (profile_has_keys(profile))
        secrets_offer(secrets, a, row->id, profile_secret(profile), out);
    return true;
}

/* --- what may be -------------------------------------------------------------------------------
 */

static bool check_folder(struct arena *a, const struct config *conf, const char *member,
    const struct location *at, struct err *err)
{
    struct location root;

    for (const char *const *p = conf->warehouse_folders; *p; p++)
        if (location_identity(a, str_from(*p), &root, err) && location_within(at, &root))
            return true;
    return err_set(err, ERR_FORBIDDEN,
        "%s: %.*s lies in none of the folders that FIRN_WAREHOUSE_FOLDERS allows", member,
        STR_ARG(at->path));
}

static bool check_place(struct arena *a, const struct config *conf, const char *member,
    struct str uri, const char *kind, struct err *err)
{
    struct location at;

    if (!location_identity(a, uri, &at, err)) {
        err_wrap(err, "%s", member);
        return err_as(err, ERR_INVALID_ARGUMENT);
    }
    if (strcasecmp(store_kind(uri), kind) != 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "%s: expected a location of storage type %s, found %.*s", member, kind, STR_ARG(uri));
    if (store_is_file(uri))
        return check_folder(a, conf, member, &at, err);
    return reach_check(conf, member, azure_host(a, &at), err);
}

static bool check_duration(const json_t *storage, struct err *err)
{
    const json_t *duration = json_object_get(storage, "vend-duration");

    if (!json_is_integer(duration) ||
        (json_integer_value(duration) >= VEND_MIN_S && json_integer_value(duration) <= VEND_MAX_S))
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "/storage/vend-duration: expected %d to %d seconds, found %lld", VEND_MIN_S, VEND_MAX_S,
        (long long)json_integer_value(duration));
}

/* Such a signature is taken back by a new key only, which ends all others too. */
static bool check_azure_vending(const json_t *profile, struct err *err)
{
    const json_t *storage = json_object_get(profile, "storage");
    const json_t *credentials = json_object_get(profile, "credentials");
    bool by_key = profile_has_keys(profile) && !text_at(credentials, "client-id");

    if (!by_key || json_is_true(json_object_get(storage, "vend-by-account-key")))
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "/delegation/0: clients get signatures by the account's key, which are good until the key "
        "is changed, only with /storage/vend-by-account-key");
}

/* The server's own identity is never handed out, only keys that the warehouse brought along. */
static bool check_vending(const json_t *profile, struct err *err)
{
    const json_t *storage = json_object_get(profile, "storage");
    bool by_role = str_from(text_at(storage, "vend-role-arn")).n > 0;

    TRY(check_duration(storage, err));
    if (signs(profile) && !is_word(storage, "type", "s3"))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/delegation/%zu: remote-signing needs a storage of type s3",
            delegation_at(profile, "remote-signing"));
    if (!vends(profile) || by_role || is_word(storage, "type", "gcs"))
        return true;
    if (is_word(storage, "type", "adls"))
        return check_azure_vending(profile, err);
    if (!json_is_true(json_object_get(storage, "vend-static")))
        return err_set(err, ERR_INVALID_ARGUMENT,
            "/delegation/%zu: credentials can be vended by /storage/vend-role-arn, which is "
            "missing",
            delegation_at(profile, "vended-credentials"));
    if (profile_has_keys(profile) && !text_at(storage, "role-arn"))
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "/storage/vend-static: expected static keys in /credentials and no /storage/role-arn");
}

static bool check_endpoint(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, const char *member, struct err *err)
{
    const char *endpoint = endpoint_in(a, base, json_object_get(profile, "storage"), member);
    struct str pointer = arena_printf(a, "/storage/%s", member);

    TRY(reach_check(conf, pointer.p, endpoint, err));
    return reach_in(a, conf, base, profile, member) != STORE_REACH_NONE ||
           err_set(err, ERR_FORBIDDEN,
               "%s: %s would see the server's own token and is allowed by '*' alone: expected an "
               "endpoint that FIRN_WAREHOUSE_ENDPOINTS names, or credentials of the warehouse's "
               "own",
               pointer.p, endpoint);
}

/* It becomes a part of host names and of signatures. */
static bool check_region(const json_t *storage, struct err *err)
{
    struct str region = str_from(text_at(storage, "region"));

    return !region.p || store_is_region(region) ||
           err_set(err, ERR_INVALID_ARGUMENT,
               "/storage/region: expected letters, digits, '.', '-' or '_', found %.*s",
               STR_ARG(region));
}

bool profile_check(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, struct err *err)
{
    static const char *const endpoints[] = {"endpoint", "sts-endpoint", "client-endpoint"};
    const json_t *storage = json_object_get(profile, "storage");
    const json_t *allowed = json_object_get(profile, "allowed-locations");
    const char *kind = text_at(storage, "type");

    TRY(check_place(a, conf, "/base-location", base, kind, err));
    for (size_t i = 0; i < json_array_size(allowed); i++) {
        struct str at = str_from(json_string_value(json_array_get(allowed, i)));
        struct str member = arena_printf(a, "/allowed-locations/%zu", i);
        TRY(check_place(a, conf, member.p, at, kind, err));
    }
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++)
        TRY(check_endpoint(a, conf, base, profile, endpoints[i], err));
    TRY(check_region(storage, err));
    TRY(check_vending(profile, err));
    TRY(identity_check_kind(profile, err));
    return profile_check_keys(profile, err);
}
