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
/* Tells the store of the S3 keys that are kept for a warehouse. It asks s for them until it is
 * closed; the arena outlives it. */
void secrets_offer(struct secrets *s, struct arena *a, int64_t warehouse, struct store_conf *conf);
/* The same for the default warehouse, when there are any. NULL has none. */
void secrets_offer_own(struct secrets *s, struct arena *a, struct store_conf *conf);
/* Seals S3 keys for a warehouse, in the place of earlier ones: access key, secret key and perhaps a
 * session token, one a line. *was: what lay there, for secrets_restore. ERR_INVALID_ARGUMENT: the
 * settings have no key to seal with. */
MUST bool secrets_keep_s3(struct arena *a, struct secrets *s, int64_t warehouse, struct str lines,
    struct str *was, struct err *err);
/* Puts back what secrets_keep_s3 replaced. */
void secrets_restore_s3(struct secrets *s, int64_t warehouse, struct str was);

/* firn secrets WORD...: the exit code. */
int secrets_command(const struct config *conf, char *const *words, struct err *err);
