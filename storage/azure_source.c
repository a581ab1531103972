/* Where the server's own access to Azure's storage comes from: the first source that is there. */
#include "adls_priv.h"

#include "arena.h"
#include "azure_token.h"
#include "base.h"
#include "source_priv.h"
#include "store.h"

/* What does not expire by itself. */
static bool keep(const char *kind, struct str secret, struct credentials **out)
{
    *out = credentials_new(str_from(kind), secret, (struct str){NULL, 0}, 0);
    return true;
}

static bool sas_given(const struct store_conf *conf)
{
    return conf->azure_sas != NULL;
}

static bool sas_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    (void)a;
    (void)err;
    return keep(ADLS_SAS, str_from(conf->azure_sas), out);
}

static bool key_given(const struct store_conf *conf)
{
    return str_from(conf->azure_account_key).n > 0;
}

static bool key_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    (void)a;
    (void)err;
    return keep(ADLS_SHARED_KEY, str_from(conf->azure_account_key), out);
}

static bool app_given(const struct store_conf *conf)
{
    return str_from(conf->azure_client_secret).n > 0;
}

static bool by_app(
    struct arena *a, const struct azure_app *app, struct credentials **out, struct err *err)
{
    if (app->tenant.n > 0 && app->client.n > 0 && app->secret.n > 0)
        return azure_token_of_app(a, app, out, err);
    return err_set(err, ERR_INTERNAL, "expected of an application its %s",
        app->tenant.n == 0   ? "tenant id"
        : app->client.n == 0 ? "client id"
                             : "secret");
}

static bool app_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct azure_app app = {.tenant = str_from(conf->azure_tenant_id),
        .client = str_from(conf->azure_client_id),
        .secret = str_from(conf->azure_client_secret)};
    return by_app(a, &app, out, err);
}

static bool sealed_given(const struct store_conf *conf)
{
    return conf->sealed != NULL;
}

/* An account's key; or tenant, client and its secret, one a line. */
static bool sealed_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct str rest = STR("");
    TRY(conf->sealed(conf->sealed_ctx, a, &rest, err));
    struct str first = str_trim(str_cut(&rest, '\n'));
    if (!rest.p)
        return keep(ADLS_SHARED_KEY, first, out);
    struct str client = str_trim(str_cut(&rest, '\n'));
    const struct azure_app app = {.tenant = first, .client = client, .secret = str_trim(rest)};
    return by_app(a, &app, out, err);
}

static bool environment_given(const struct store_conf *conf)
{
    (void)conf;
    return source__env("AZURE_CLIENT_SECRET").p && source__env("AZURE_TENANT_ID").p &&
           source__env("AZURE_CLIENT_ID").p;
}

static bool environment_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    const struct azure_app app = {.tenant = source__env("AZURE_TENANT_ID"),
        .client = source__env("AZURE_CLIENT_ID"),
        .secret = source__env("AZURE_CLIENT_SECRET")};
    (void)conf;
    return by_app(a, &app, out, err);
}

static bool workload_given(const struct store_conf *conf)
{
    (void)conf;
    return source__env("AZURE_FEDERATED_TOKEN_FILE").p && source__env("AZURE_TENANT_ID").p &&
           source__env("AZURE_CLIENT_ID").p;
}

/* The file is read each time: who issues the tokens puts a new one there before the old expires. */
static bool workload_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct azure_app app = {
        .tenant = source__env("AZURE_TENANT_ID"), .client = source__env("AZURE_CLIENT_ID")};
    struct str path = source__env("AZURE_FEDERATED_TOKEN_FILE");
    (void)conf;
    TRY(source__file(a, path, &app.assertion, err));
    if (app.assertion.n == 0)
        return err_set(err, ERR_INTERNAL, "%.*s is empty, expected a token", STR_ARG(path));
    return azure_token_of_app(a, &app, out, err);
}

static bool machine_given(const struct store_conf *conf)
{
    (void)conf;
    return true;
}

static bool machine_fetch(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct str client = str_from(conf->azure_client_id);
    return azure_token_of_machine(
        a, client.n > 0 ? client : source__env("AZURE_CLIENT_ID"), out, err);
}

/* In the order in which they are looked for; the last one is there to be asked, unless the web
 * identity is wanted. */
static const struct source sources[] = {
    {"the client",                      sas_given,         sas_fetch,         SOURCE_FIXED,   SOURCE_TOLD  },
    {"the settings",                    key_given,         key_fetch,         SOURCE_FIXED,   SOURCE_TOLD  },
    {"the application of the settings", app_given,         app_fetch,         SOURCE_RENEWED, SOURCE_TOLD  },
    {"the database",                    sealed_given,      sealed_fetch,      SOURCE_RENEWED, SOURCE_TOLD  },
    {"the environment",                 environment_given, environment_fetch, SOURCE_RENEWED, SOURCE_AROUND},
    {"the workload identity",           workload_given,    workload_fetch,    SOURCE_RENEWED, SOURCE_WEB   },
    {"the machine (no others are set)", machine_given,     machine_fetch,     SOURCE_RENEWED,
     SOURCE_MACHINE                                                                                        },
};

static bool find(const struct store_conf *conf, const struct source **out, enum source_kind *kind,
    struct err *err)
{
    *out = source__first(sources, ARRAY_LEN(sources), conf);
    if (*out) {
        *kind = (*out)->kind;
        return true;
    }
    return err_set(err, ERR_INTERNAL,
        "no Azure tokens of a web identity: expected AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID "
        "and AZURE_CLIENT_ID");
}

const struct sources sources_azure = {"Azure keys", find, source__fetch};
