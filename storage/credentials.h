/* The server's own S3 keys: from the settings, else the environment, else the shared file. */
#pragma once

#include "err.h"
#include "ref.h"
#include "str.h"

struct store_conf;

/* Immutable; wiped with the last reference. */
struct credentials {
    struct ref ref;
    char *id, *secret;
    char *token; /* NULL for long-lived keys */
    enum credentials_from {
        CREDENTIALS_SETTINGS,
        CREDENTIALS_ENVIRONMENT,
        CREDENTIALS_FILE, /* which is read again when the store calls the keys expired */
    } from;
};

/* Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, then the section
 * AWS_PROFILE ("default") of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). ERR_INTERNAL, with
 * all the ways to give keys, when there are none. Caller: credentials_unref. */
MUST bool credentials_load(
    const struct store_conf *conf, struct credentials **out, struct err *err);
/* From the file alone. */
MUST bool credentials_reload(struct credentials **out, struct err *err);
struct credentials *credentials_ref(struct credentials *c);
void credentials_unref(struct credentials **c);
