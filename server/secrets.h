/* Secrets that lie sealed in the database: what the server opens of them, and the commands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;
struct config;
struct secrets;
struct sql;
struct store_conf;

/* Reads the keys of the settings. ERR_BAD_REQUEST: they are wrong; ERR_INTERNAL: a secret in the
 * database is sealed with none of them, or does not open. The database must outlive the result. */
MUST bool secrets_open(
    const struct config *conf, struct sql *sql, struct secrets **out, struct err *err);
void secrets_free(struct secrets **s);
/* The name of the secret that keeps a warehouse's own keys, where its storage is of that kind
 * (store_kind); absent where there are none to keep. */
struct str secrets_name(const char *kind);
/* Tells the store of the keys that are kept for a warehouse. It asks s for them until it is closed;
 * the arena outlives it. */
void secrets_offer(struct secrets *s, struct arena *a, int64_t warehouse, struct str name,
    struct store_conf *conf);
/* The same for the default warehouse, when there are any. NULL has none. */
void secrets_offer_own(struct secrets *s, struct arena *a, struct store_conf *conf);
/* A secret to be kept for a warehouse, and what lay in its place. */
struct secret_kept {
    int64_t warehouse;
    struct str name, text;
    struct str was;
};
/* Seals it, in the place of an earlier one. ERR_INVALID_ARGUMENT: the settings have no key to seal
 * with. */
MUST bool secrets_keep(
    struct arena *a, struct secrets *s, struct secret_kept *kept, struct err *err);
/* Puts back what secrets_keep replaced. */
void secrets_restore(struct secrets *s, const struct secret_kept *kept);

/* firn secrets WORD...: the exit code. */
int secrets_command(const struct config *conf, char *const *words, struct err *err);
