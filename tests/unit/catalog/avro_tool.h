/* Avro files made up for tests: a header, then blocks as they are given. */
#pragma once

#include "buf.h"
#include "str.h"

void put_long(struct buf *b, int64_t v);
void put_bytes(struct buf *b, struct str s);
/* The header; the caller's to free. */
struct buf avro_made(const char *schema, const char *codec);
void put_block(struct buf *b, int64_t n, struct str bytes);
