/* Which warehouses are reached as the server itself, and which may be: FIRN_WAREHOUSE_IDENTITY. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"
#include "store.h"
#include "str.h"

struct arena;
struct config;

/* Is the storage reached with credentials that the server has, rather than the warehouse's own?
 * Local files need none. */
bool identity_is_servers(const json_t *profile);
/* Which of them serve. */
enum store_identity identity_of(const json_t *profile);
/* Where roles are assumed with the server's credentials the server says by which external id, so
 * that no warehouse is let in by the trust policy of another one's role: that of the profile as it
 * was, or a new one. ERR_INVALID_ARGUMENT: the profile brings another. */
enum identity_named { IDENTITY_AS_IT_WAS, IDENTITY_NEW };
MUST bool identity_name(
    struct arena *a, const json_t *was, json_t *profile, enum identity_named *out, struct err *err);
/* Does its kind of credentials fit its storage? ERR_INVALID_ARGUMENT. */
MUST bool identity_check_kind(const json_t *profile, struct err *err);
/* May the setting have this word: a place that is no folder, a role, the beginning of one, all? */
bool identity_is_word(struct arena *a, struct str word);
/* May it be? The role that is to be assumed must be among those of the setting, or else the base
 * and the allowed locations in its places. ERR_INVALID_ARGUMENT says what to set. */
MUST bool identity_check(struct arena *a, const struct config *conf, struct str base,
    const json_t *profile, struct err *err);
