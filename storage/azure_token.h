/* Tokens for Azure Storage: of an application, or of the machine that the server runs on. */
#pragma once

#include <stdint.h>

#include "credentials.h"
#include "err.h"
#include "str.h"

struct arena;

struct azure_app {
    struct str tenant, client;
    struct str secret;    /* absent: the assertion says who it is */
    struct str assertion; /* a token of an issuer that the application trusts */
};

/* Both: sent to whom the environment names, else to Azure's own; the credentials' id is "Bearer".
 * ERR_UNAVAILABLE: no answer, or the service is in trouble; ERR_INTERNAL: refused, or not
 * understood. Caller: credentials_unref. */
MUST bool azure_token_of_app(
    struct arena *a, const struct azure_app *app, struct credentials **out, struct err *err);
/* Of App Service and Container Apps where they offer one, else of the virtual machine. `client`:
 * which of its identities; absent: the one it has. */
MUST bool azure_token_of_machine(
    struct arena *a, struct str client, struct credentials **out, struct err *err);
