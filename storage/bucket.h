/* What the stores that keep objects in buckets have in common. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "err.h"
#include "str.h"

struct buf;
struct place;

/* It must be an object, not all of its bucket, or whatever the store calls that ("a bucket").
 * ERR_STORE_BAD_URI. */
MUST bool bucket_object(const struct place *p, const char *bucket, struct err *err);
/* The name of a new object is another's. ERR_STORE_EXISTS; false. */
bool bucket_taken(const struct place *p, struct err *err);
/* The name is taken, and an attempt to write these pieces went unanswered: was it ours? `there` is
 * what lies there; NULL: it could not be read, *why tells. ERR_STORE_EXISTS: no; ERR_UNAVAILABLE:
 * nobody can tell for now. */
MUST bool bucket_wrote(const struct place *p, const struct str *pieces, size_t n,
    const struct buf *there, const struct err *why, struct err *err);
