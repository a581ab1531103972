/* Where the server's own tokens for Google's storage come from: the first source that is there. */
#include "gcs_priv.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "google_priv.h"
#include "source_priv.h"

enum { ASK_US = 10000000 };

/* Who gives tokens to clients needs one that may be exchanged. */
struct google_service gcs__service(const struct store_conf *conf)
{
    return (struct google_service){
        .endpoint = str_from(conf->sts_endpoint),
        .scope = conf->gcs_vend == STORE_GCS_TOKENS ? STR(GOOGLE_SCOPE_ALL) : STR(""),
        .deadline_us = clock_mono_us() + ASK_US,
        .reach = conf->sts_endpoint ? fetch_reach_of(conf->sts_reach) : FETCH_PRIVATE,
    };
}

/* Not the warehouse's: what proves who the server is would be good at Google's too. */
static struct google_service own_service(const struct store_conf *conf)
{
    struct store_conf own = *conf;
    own.sts_endpoint = conf->identity_endpoint;
    own.sts_reach = STORE_REACH_PRIVATE;
    return gcs__service(&own);
}

/* --- the sources -------------------------------------------------------------------------------
 */

static bool token_given(const struct store_conf *conf)
{
    return str_from(conf->gcs_token).n > 0;
}

static bool token_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    (void)a;
    (void)err;
    *out = credentials_new(STR(""), STR(""), str_from(conf->gcs_token), 0);
    return true;
}

static bool settings_given(const struct store_conf *conf)
{
    return str_from(conf->gcs_key).n > 0;
}

static bool settings_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct google_service service = own_service(conf);
    (void)a;
    return google_token_of_key(&service, str_from(conf->gcs_key), out, err);
}

static bool sealed_given(const struct store_conf *conf)
{
    return conf->sealed != NULL;
}

static bool sealed_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct google_service service = gcs__service(conf);
    struct str key = STR("");
    TRY(conf->sealed(conf->sealed_ctx, a, &key, err));
    return google_token_of_key(&service, key, out, err);
}

static bool file_given(const struct store_conf *conf)
{
    (void)conf;
    return source__env("GOOGLE_APPLICATION_CREDENTIALS").p;
}

static bool file_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct google_service service = own_service(conf);
    (void)a;
    return google_token_of_file(&service, source__env("GOOGLE_APPLICATION_CREDENTIALS"),
        conf->identity == STORE_IDENTITY_WEB ? GOOGLE_FILE_OF_PROVIDER : GOOGLE_FILE_ANY, out, err);
}

static bool machine_given(const struct store_conf *conf)
{
    (void)conf;
    return !str_eq_nocase(source__env("NO_GCE_CHECK"), STR("true"));
}

static bool machine_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct google_service service = gcs__service(conf);
    (void)a;
    return google_token_of_machine(&service, out, err);
}

/* In the order in which they are looked for. */
static const struct source list[] = {
    {"the client",                              token_given,    token_fetch,    SOURCE_FIXED,   SOURCE_TOLD},
    {"the settings",                            settings_given, settings_fetch, SOURCE_RENEWED, SOURCE_TOLD},
    {"the database",                            sealed_given,   sealed_fetch,   SOURCE_RENEWED, SOURCE_TOLD},
    {"the file of the environment",             file_given,     file_fetch,     SOURCE_RENEWED, SOURCE_WEB },
    {"the metadata server (no others are set)", machine_given,  machine_fetch,  SOURCE_RENEWED,
     SOURCE_MACHINE                                                                                        },
};

static bool find(const struct store_conf *conf, const struct source **out, enum source_kind *kind,
    struct err *err)
{
    *out = source__first(list, ARRAY_LEN(list), conf);
    if (*out) {
        *kind = (*out)->kind;
        return true;
    }
    if (conf->identity != STORE_IDENTITY_ANY)
        return err_set(err, ERR_INTERNAL, "no Google tokens of %s",
            conf->identity == STORE_IDENTITY_WEB
                ? "a web identity: expected GOOGLE_APPLICATION_CREDENTIALS"
                : "the machine: NO_GCE_CHECK forbids asking the metadata server");
    return err_set(err, ERR_INTERNAL,
        "no Google tokens: expected FIRN_GCS_KEY, or a secret gcs-key in the database, or "
        "GOOGLE_APPLICATION_CREDENTIALS; and NO_GCE_CHECK forbids asking the metadata server");
}

const struct sources sources_gcs = {"Google tokens", find, source__fetch};
