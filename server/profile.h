/* What a warehouse's storage is: from the settings, or from the JSON of its row. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"
#include "sql_warehouse.h"
#include "store.h"

struct arena;
struct config;
struct secrets;

/* The default warehouse's store. Strings are the settings' or the arena's. */
void profile_of_settings(
    struct arena *a, const struct config *conf, struct secrets *secrets, struct store_conf *out);
/* The profile of a row, held by the arena; NULL: it has none, settings describe the warehouse.
 * ERR_INTERNAL: it is not understood. */
MUST bool profile_read(
    struct arena *a, const struct sql_warehouse *row, json_t **out, struct err *err);
/* The store of a warehouse with a profile. Strings live in the arena, or are the settings'.
 * ERR_INTERNAL: the profile in the database is not understood; ERR_FORBIDDEN: the settings do not
 * let it use the server's credentials. */
MUST bool profile_of_row(struct arena *a, const struct config *conf, struct secrets *secrets,
    const struct sql_warehouse *row, struct store_conf *out, struct err *err);
/* The same from the parsed profile, which lives as long as the store. */
void profile_store(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, struct store_conf *out);
/* May a warehouse have this base and profile on this server? ERR_INVALID_ARGUMENT, ERR_FORBIDDEN
 * with words for the administrator. */
MUST bool profile_check(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, struct err *err);
