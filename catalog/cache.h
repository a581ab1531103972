/* Metadata by its location, bounded by bytes, one loader per location. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "str.h"

struct cache;
struct metadata;
struct store;

/* max: bytes of all entries together; one entry is kept only up to an eighth of it (larger
 * documents live while somebody refers to them, and are loaded once for all who wait). */
struct cache *cache_new(size_t max, struct store *store, size_t file_max);
void cache_free(struct cache **c);

/* The metadata at location, a reference for the caller. Found: at once, in any lane. Not found:
 * read from the store by one thread for all who ask; in the fast lane ERR_WOULD_BLOCK instead.
 * ERR_STORE_NOT_FOUND, ERR_STORE_DENIED, ERR_UNAVAILABLE, ERR_INTERNAL from the store;
 * ERR_BAD_REQUEST, ERR_INVALID_ARGUMENT, ERR_TOO_LARGE from reading the document. */
MUST bool cache_get(struct cache *c, struct str location, struct metadata **out, struct err *err);
/* Offers metadata that was just written; the caller keeps its reference. */
void cache_put(struct cache *c, struct metadata *m);
void cache_drop(struct cache *c, struct str location);
