#include "avro_tool.h"

#define SYNC STR("0123456789abcdef")

void put_long(struct buf *b, int64_t v)
{
    uint64_t z = (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
    for (; z >= 0x80; z >>= 7)
        buf_putc(b, (char)(z | 0x80));
    buf_putc(b, (char)z);
}

void put_bytes(struct buf *b, struct str s)
{
    put_long(b, (int64_t)s.n);
    buf_str(b, s);
}

struct buf avro_made(const char *schema, const char *codec)
{
    struct buf b;
    buf_init(&b, 1 << 28);
    buf_str(&b, STR("Obj\x01"));
    put_long(&b, 2);
    put_bytes(&b, STR("avro.schema"));
    put_bytes(&b, str_from(schema));
    put_bytes(&b, STR("avro.codec"));
    put_bytes(&b, str_from(codec));
    put_long(&b, 0);
    buf_str(&b, SYNC);
    return b;
}

void put_block(struct buf *b, int64_t n, struct str bytes)
{
    put_long(b, n);
    put_bytes(b, bytes);
    buf_str(b, SYNC);
}
