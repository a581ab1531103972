/* A set of 64-bit hashes that grows. Two texts of one hash are one: for sets in which something too
 * much does no harm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashes {
    uint64_t *v; /* 0: empty */
    size_t n, room;
};

/* Was it there already? From now on it is. Beyond max members nothing is added. */
bool hashes_add(struct hashes *h, uint64_t hash, size_t max);
bool hashes_has(const struct hashes *h, uint64_t hash);
void hashes_fini(struct hashes *h);
