/* A pair of S3 keys, with a session token where they are temporary. */
#pragma once

#include <stdint.h>

#include "ref.h"
#include "str.h"

/* Immutable; wiped with the last reference. */
struct credentials {
    struct ref ref;
    char *id, *secret;
    char *token;        /* NULL for long-lived keys */
    int64_t expires_ms; /* on clock_ms(); 0: nobody said */
};

/* Copies; an empty token is none. Caller: credentials_unref. */
struct credentials *credentials_new(
    struct str id, struct str secret, struct str token, int64_t expires_ms);
struct credentials *credentials_ref(struct credentials *c);
void credentials_unref(struct credentials **c);
/* The same keys, whenever they expire? */
bool credentials_same(const struct credentials *a, const struct credentials *b);
