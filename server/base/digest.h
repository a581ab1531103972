/* SHA-256, HMAC, MD5 (for Content-MD5 only), hex and base64 forms, comparison in constant time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "str.h"

struct arena;

enum { DIGEST_SHA256 = 32, DIGEST_SHA256_HEX = 64, DIGEST_MD5 = 16 };

void digest_sha256(struct str s, uint8_t out[static DIGEST_SHA256]);
/* Over several pieces, as if joined. */
void digest_sha256_parts(const struct str *parts, size_t n, uint8_t out[static DIGEST_SHA256]);
/* The same as lower-case hex, in the arena. */
struct str digest_sha256_text(struct arena *a, const struct str *parts, size_t n);
void digest_hmac(struct str key, struct str s, uint8_t out[static DIGEST_SHA256]);
void digest_md5(struct str s, uint8_t out[static DIGEST_MD5]);
/* Fast 64-bit hash for tables and tags; not for security. */
uint64_t digest_hash64(struct str s);
/* Lower-case hex of n bytes and a NUL: out has 2n + 1 characters. */
void digest_hex(const uint8_t *p, size_t n, char *out);

struct str b64_encode(struct arena *a, struct str s);
struct str b64url_encode(struct arena *a, struct str s); /* no padding */
bool b64url_decode(struct arena *a, struct str s, struct str *out);
/* Equal, in time that depends on the lengths only. */
bool digest_equal(struct str a, struct str b);
