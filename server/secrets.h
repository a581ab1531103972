/* Secrets that lie sealed in the database: what the server opens of them, and the commands. */
#pragma once

#include <stdbool.h>

#include "err.h"

struct config;
struct secrets;
struct sql;
struct store_conf;

/* Reads the keys of the settings. ERR_BAD_REQUEST: they are wrong; ERR_INTERNAL: a secret in the
 * database is sealed with none of them, or does not open. The database must outlive the result. */
MUST bool secrets_open(
    const struct config *conf, struct sql *sql, struct secrets **out, struct err *err);
void secrets_free(struct secrets **s);
/* Tells the store of the default warehouse's S3 keys, when there are any. It asks s for them until
 * it is closed. NULL has none. */
void secrets_offer(struct secrets *s, struct store_conf *conf);

/* firn secrets WORD...: the exit code. */
int secrets_command(const struct config *conf, char *const *words, struct err *err);
