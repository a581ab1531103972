/* gzip (RFC 1952) put together of segments: some made for one answer, some once for all. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "str.h"

struct arena;

/* A segment that is followed by others ends on a byte. */
enum pack_end { PACK_MORE, PACK_LAST };

/* What a file begins with: static. */
struct str pack_head(void);
/* What it ends with: the checksum and the number of all plain bytes, modulo 2^32. */
struct str pack_tail(struct arena *a, uint32_t crc, uint32_t plain);

/* Text as a segment of a raw deflate stream; refers to no other segment. */
struct str pack_deflated(struct arena *a, struct str text, enum pack_end end);
/* The same without compressing, which costs a copy. */
struct str pack_stored(struct arena *a, struct str text, enum pack_end end);

/* Of `s` behind what had the checksum `crc`; 0 is that of nothing. */
uint32_t pack_crc(uint32_t crc, struct str s);
/* Of two texts, the second of n bytes, from their checksums. */
uint32_t pack_crc_joined(uint32_t first, uint32_t second, size_t n);
