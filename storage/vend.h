/* Credentials for clients: keys that reach one folder of a store and nothing beside it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;
struct store;

enum vend_access { VEND_READ, VEND_WRITE };

struct vended {
    enum vended_kind { VENDED_S3, VENDED_GCS, VENDED_ADLS } kind; /* clients' words for them */
    /* S3: token absent: the store's own keys, as its operator wants it. GCS: a token; id: the
     * project, "" where nobody names it. Azure: the secret is the signature. */
    struct str id, secret, token;
    int64_t expires_ms;          /* on clock_ms(); 0: never */
    int64_t fresh_ms;            /* until then the same ones are given again: half their life */
    struct str endpoint, region; /* where clients find the store; absent: they know */
    struct str host;             /* Azure: the account's, as the location spells it */
    enum vend_style { VEND_BUCKET_IN_HOST, VEND_BUCKET_IN_PATH } style;
};

/* Does the store's configuration hand out credentials at all? */
bool vend_offered(const struct store *s);
/* And to clients that do not ask for them? */
bool vend_unasked(const struct store *s);
/* Has the token service just been out of reach? Who can do without keys does not wait for it. */
bool vend_resting(const struct store *s);
/* Keys for the folder uri, which must lie beneath the base or an allowed location and contain
 * neither. At once while those of an earlier call are fresh; else asked of the token service, by
 * one thread for all who want the same; in the fast lane ERR_WOULD_BLOCK instead. Strings live in
 * the arena, and are wiped with it.
 * ERR_STORE_BAD_URI, ERR_STORE_DENIED: no keys can be given for this place; ERR_UNAVAILABLE: not
 * now; ERR_KEYS_REFUSED: the token service refuses, in its words; ERR_INTERNAL. */
MUST bool vend_get(struct arena *a, struct store *s, struct str uri, enum vend_access access,
    struct vended *out, struct err *err);
/* The same without asking anybody, in any lane: those that vend_get would give now, if they are at
 * hand. They count as given before. */
bool vend_at_hand(
    struct arena *a, struct store *s, struct str uri, enum vend_access access, struct vended *out);
/* Do vended keys work inside of their folder, and nowhere else? Beneath the base two folders are
 * made and removed again. ERR_INTERNAL says what they reach that they must not. A store that hands
 * out none passes. Slow lane. */
MUST bool vend_probe(struct store *s, struct err *err);
