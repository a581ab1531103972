/* Signatures of JSON web tokens by RSA keys: RSASSA-PKCS1-v1_5 with SHA-256, "RS256". */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "err.h"
#include "str.h"

struct arena;

/* The signature of the text's bytes, in the arena. pem: a private key without a password, PKCS#8 or
 * the older form. ERR_BAD_REQUEST says what is wrong with the key and shows nothing of it. */
MUST bool rsa_sign(
    struct arena *a, struct str pem, struct str text, struct str *out, struct err *err);
