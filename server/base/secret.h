/* Secrets at rest: sealed with AES-256-GCM by keys that do not lie where the secrets do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "err.h"
#include "str.h"

struct arena;
struct keyring;

enum { SECRET_KEYS_MAX = 16, SECRET_KEY_ID_MAX = 32, SECRET_MAX = 64 * 1024 };

/* Keys as "ID:BASE64", 32 bytes each, separated by commas, blanks or line ends; what stands between
 * a '#' and the end of its line is read over. The first key seals, all of them open. No key at all:
 * *out is NULL. ERR_BAD_REQUEST says which one is wrong and never shows it. Caller: keyring_free.
 */
MUST bool keyring_open(struct str text, struct keyring **out, struct err *err);
/* Wipes the keys. */
void keyring_free(struct keyring **ring);
/* The id of the key that seals. */
struct str keyring_first(const struct keyring *ring);
bool keyring_has(const struct keyring *ring, struct str id);
/* A new key in the form that keyring_open reads, wiped with the arena. ERR_BAD_REQUEST: no id. */
MUST bool keyring_draw(struct arena *a, struct str id, struct str *out, struct err *err);

/* "v1.ID.TEXT": what was sealed opens again only with the same `about`, which says whose secret it
 * is. Sealing twice yields two texts. At most SECRET_MAX bytes. */
struct str secret_seal(
    struct arena *a, const struct keyring *ring, struct str about, struct str plain);
/* *out is wiped with the arena. ERR_INTERNAL: the key is missing, or the text was damaged or is
 * another's. */
MUST bool secret_open(struct arena *a, const struct keyring *ring, struct str about,
    struct str sealed, struct str *out, struct err *err);
/* The key's id; absent when the text is no sealed secret. */
struct str secret_key_id(struct str sealed);

/* Wipes memory that is never read again. */
void secret_wipe(const void *p, size_t n);
/* The n bytes at p, memory of the arena, are wiped before they are given back. */
void secret_wipe_with(struct arena *a, const void *p, size_t n);
/* A copy of that kind, with a NUL behind it. */
struct str secret_dup(struct arena *a, struct str s);
