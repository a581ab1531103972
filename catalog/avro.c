#include "avro_priv.h"

#include <inttypes.h>

#include "arena.h"
#include "base.h"

enum { SYNC = 16, HEADER_MAX = 1000 /* entries */ };

#define MAGIC  STR("Obj\x01")
#define SEALED STR("AGS1") /* Iceberg's encrypted streams */

struct avro {
    struct arena *arena;
    struct avro_cursor file;  /* behind the last block that was taken */
    struct avro_cursor block; /* behind the last record */
    int64_t left;             /* records in the block */
    int64_t all;              /* bytes unpacked so far */
    struct str sync;
    const struct avro_codec *codec;
    const struct avro_node *record;
    struct buf room;
};

/* -- The header ---------------------------------------------------------------------------------
 */

struct header {
    struct str schema, codec;
};

static bool read_entry(struct avro_cursor *c, struct header *h, struct err *err)
{
    struct str key, value;
    TRY(avro__bytes(c, &key, err));
    TRY(avro__bytes(c, &value, err));
    if (str_eq(key, STR("avro.schema")))
        h->schema = value;
    else if (str_eq(key, STR("avro.codec")))
        h->codec = value;
    return true;
}

/* A map. */
static bool read_header(struct avro_cursor *c, struct header *h, struct err *err)
{
    int64_t count, all = 0;
    do {
        TRY(avro__count(c, &count, err));
        if (count > HEADER_MAX - all)
            return err_set(err, ERR_BAD_REQUEST, "more than %d entries in the header", HEADER_MAX);
        all += count;
        for (int64_t i = 0; i < count; i++)
            TRY(read_entry(c, h, err));
    } while (count > 0);
    return true;
}

static bool begin(struct avro *f, const struct avro_want *wants, size_t n, struct err *err)
{
    struct header h = {.codec = STR("null")};
    struct str magic;
    if (avro__left(&f->file) >= SEALED.n && memcmp(f->file.p, SEALED.p, SEALED.n) == 0)
        return err_set(err, ERR_UNSUPPORTED, "encrypted (it begins with \"AGS1\")");
    if (avro__left(&f->file) < MAGIC.n || memcmp(f->file.p, MAGIC.p, MAGIC.n) != 0)
        return err_set(err, ERR_BAD_REQUEST, "no Avro file: it does not begin with \"Obj\" and 1");
    TRY(avro__take(&f->file, MAGIC.n, &magic, err));
    TRY(read_header(&f->file, &h, err));
    TRY(avro__take(&f->file, SYNC, &f->sync, err));
    if (!h.schema.p)
        return err_set(err, ERR_BAD_REQUEST, "no avro.schema in the header");
    f->codec = avro__codec(h.codec);
    if (!f->codec)
        return err_set(err, ERR_UNSUPPORTED,
            "packed by \"%.*s\"; what can be read is null, deflate, snappy and zstandard",
            STR_ARG(str_utf8_cut(h.codec, 40)));
    if (!avro__schema(f->arena, h.schema, &f->record, err))
        return err_wrap(err, "avro.schema");
    if (f->record->type != AVRO_T_RECORD || f->record->min == 0)
        return err_set(err, ERR_BAD_REQUEST, "avro.schema: expected a record with members");
    return avro__bind(f->record, wants, n, err);
}

bool avro_open(
    struct str bytes, const struct avro_want *wants, size_t n, struct avro **out, struct err *err)
{
    AUTO(avro_close) struct avro *f = xcalloc(1, sizeof(*f));
    const unsigned char *p = (const unsigned char *)bytes.p;
    f->arena = arena_new();
    f->file = (struct avro_cursor){p, p + bytes.n};
    buf_init(&f->room, AVRO_BLOCK_MAX);
    TRY(begin(f, wants, n, err));
    *out = TAKE(f);
    return true;
}

void avro_close(struct avro **f)
{
    if (!*f)
        return;
    buf_fini(&(*f)->room);
    arena_free(&(*f)->arena);
    xfree(*f);
    *f = NULL;
}

/* -- Blocks -------------------------------------------------------------------------------------
 */

static bool next_block(struct avro *f, struct err *err)
{
    int64_t size;
    struct str packed, sync, bytes;
    TRY(avro__long(&f->file, &f->left, err));
    TRY(avro__long(&f->file, &size, err));
    if (f->left < 0 || size < 0)
        return err_set(err, ERR_BAD_REQUEST, "a block of %" PRId64 " records in %" PRId64 " bytes",
            f->left, size);
    TRY(avro__take(&f->file, (size_t)size, &packed, err));
    TRY(avro__take(&f->file, SYNC, &sync, err));
    if (!str_eq(sync, f->sync))
        return err_set(err, ERR_BAD_REQUEST, "a block does not end where it should");
    TRY(avro__unpack(f->codec, packed, &f->room, &bytes, err));
    f->all += (int64_t)bytes.n;
    if (f->all > AVRO_ALL_MAX)
        return err_set(err, ERR_TOO_LARGE, "unpacks to more than %" PRId64 " bytes", AVRO_ALL_MAX);
    if (f->left > (int64_t)bytes.n)
        return err_set(
            err, ERR_BAD_REQUEST, "a block of %" PRId64 " records in %zu bytes", f->left, bytes.n);
    const unsigned char *p = (const unsigned char *)bytes.p;
    f->block = (struct avro_cursor){p, p + bytes.n};
    return true;
}

bool avro_next(struct avro *f, void *out, bool *more, struct err *err)
{
    while (f->left == 0) {
        if (avro__left(&f->block) > 0)
            return err_set(err, ERR_BAD_REQUEST, "%zu bytes behind the last record of a block",
                avro__left(&f->block));
        *more = avro__left(&f->file) > 0;
        if (!*more)
            return true;
        TRY(next_block(f, err));
    }
    TRY(avro__record(&f->block, f->record, out, err));
    f->left--;
    *more = true;
    return true;
}
