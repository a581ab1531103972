/* Metadata by warehouse and location, bounded by bytes, one loader per location. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct cache;
struct metadata;
struct store;

/* max: bytes of all entries together; one entry is kept only up to an eighth of it (larger
 * documents live while somebody refers to them, and are loaded once for all who wait). */
struct cache *cache_new(size_t max, size_t file_max);
/* Bytes of the largest document that is read, unpacked. */
size_t cache_file_max(const struct cache *c);
void cache_free(struct cache **c);

/* The cache as one warehouse sees it: the same location may hold other bytes in another's store. */
struct cache_view {
    struct cache *cache;
    int64_t warehouse;
    struct store *store;
};

/* The metadata at location, a reference for the caller. Found: at once, in any lane. Not found:
 * read from the store by one thread for all who ask; in the fast lane ERR_WOULD_BLOCK instead.
 * ERR_STORE_NOT_FOUND, ERR_STORE_DENIED, ERR_UNAVAILABLE, ERR_INTERNAL from the store;
 * ERR_BAD_REQUEST, ERR_INVALID_ARGUMENT, ERR_TOO_LARGE from reading the document. */
MUST bool cache_get(
    const struct cache_view *v, struct str location, struct metadata **out, struct err *err);
/* Offers metadata that was just written; the caller keeps its reference. */
void cache_put(const struct cache_view *v, struct metadata *m);
void cache_drop(const struct cache_view *v, struct str location);
