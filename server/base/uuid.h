/* UUIDs of version 4 and 7 as text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "str.h"

enum { UUID_TEXT = 36 };

/* 36 lower-case characters and a NUL. */
void uuid_v4(char out[static UUID_TEXT + 1]);
void uuid_v7(char out[static UUID_TEXT + 1]);
/* Is s a UUID in its 36-character form, in any case? */
bool uuid_is(struct str s);
/* A positive 63-bit id for a database row: 41 bits of milliseconds, 22 random ones. */
int64_t uuid_row_id(void);
/* Higher than all that were made until now, by clocks that agree. */
int64_t uuid_row_id_bound(void);
/* n random bytes from the kernel. */
void uuid_random(void *p, size_t n);
