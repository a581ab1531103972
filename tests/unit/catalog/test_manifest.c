#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "arena.h"
#include "avro_tool.h"
#include "base.h"
#include "manifest.h"

static struct arena *arena;
static struct err err;

static void begin(void)
{
    arena = arena_new();
    err = (struct err){.kind = ERR_NONE};
}

static void end(void)
{
    arena_free(&arena);
}

static struct str data(const char *name)
{
    const char *path = arena_printf(arena, "%s/manifests/%s", getenv("FIRN_TEST_DATA"), name).p;
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    struct buf b;
    char piece[4096];
    size_t n;
    buf_init(&b, 1 << 20);
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        buf_put(&b, piece, n);
    fclose(f);
    return buf_take(&b, arena);
}

static void same(struct str found, const char *expected)
{
    ck_assert_msg(str_eq(found, str_from(expected)), "expected \"%s\", found \"%.*s\"", expected,
        STR_ARG(found));
}

static void says(const char *words)
{
    ck_assert_msg(strstr(err.msg, words) != NULL, "expected \"…%s…\": %s", words, err.msg);
}

/* -- What others wrote --------------------------------------------------------------------------
 */

static const char *const codecs[] = {"null", "deflate", "snappy", "zstandard"};

START_TEST(test_list__every_codec)
{
    struct str bytes = data(arena_printf(arena, "list-%s.avro", codecs[_i]).p);
    AUTO(avro_close) struct avro *f = NULL;
    struct manifest_file m;
    bool more;
    ck_assert_msg(manifest_list_open(bytes, &f, &err), "%s", err.msg);
    for (int64_t i = 0; i < 3; i++) {
        ck_assert_msg(manifest_list_next(f, &m, &more, &err) && more, "%s", err.msg);
        same(m.path, arena_printf(arena, "s3://b/wh/t/metadata/m%d.avro", (int)i).p);
        ck_assert_int_eq(m.length, 7000 + i);
        ck_assert_int_eq(m.spec_id, i);
        ck_assert_int_eq(m.content, i % 2);
        ck_assert_int_eq(m.sequence_number, 10 + i);
        ck_assert_int_eq(m.min_sequence_number, i);
        ck_assert_int_eq(m.added_snapshot_id, ((int64_t)1 << 62) + i);
        ck_assert_int_eq(m.added_files, 1 + i);
        ck_assert_int_eq(m.existing_files, i);
        ck_assert_int_eq(m.deleted_files, 2 * i);
        ck_assert_int_eq(m.added_rows, 100 * i);
        ck_assert_int_eq(m.existing_rows, (int64_t)1 << 40);
        ck_assert_int_eq(m.deleted_rows, 0);
        ck_assert_int_eq(m.first_row_id, i == 0 ? MANIFEST_UNKNOWN : i * 1000);
    }
    ck_assert(manifest_list_next(f, &m, &more, &err) && !more);
    ck_assert(manifest_list_next(f, &m, &more, &err) && !more);
}
END_TEST

START_TEST(test_manifest__every_codec)
{
    struct str bytes = data(arena_printf(arena, "manifest-%s.avro", codecs[_i]).p);
    AUTO(avro_close) struct avro *f = NULL;
    struct manifest_entry e;
    bool more;
    ck_assert_msg(manifest_open(bytes, &f, &err), "%s", err.msg);
    for (int64_t i = 0; i < 3; i++) {
        ck_assert_msg(manifest_next(f, &e, &more, &err) && more, "%s", err.msg);
        ck_assert_int_eq(e.status, i);
        ck_assert_int_eq(e.snapshot_id, i == 1 ? MANIFEST_UNKNOWN : -5);
        ck_assert_int_eq(e.sequence_number, i == 1 ? MANIFEST_UNKNOWN : 3);
        ck_assert_int_eq(e.file_sequence_number, MANIFEST_UNKNOWN);
        ck_assert_int_eq(e.content, i);
        ck_assert(str_starts(e.path, STR("s3://b/wh/t/data/")));
        ck_assert(str_ends(e.path, arena_printf(arena, "f%d.parquet", (int)i)));
        ck_assert_uint_eq(e.path.n, strlen("s3://b/wh/t/data/f0.parquet") + 60 * (size_t)i);
        same(e.format, "PARQUET");
        ck_assert_int_eq(e.records, 10 * i);
        ck_assert_int_eq(e.bytes, ((int64_t)1 << 33) + i);
    }
    ck_assert(manifest_next(f, &e, &more, &err) && !more);
}
END_TEST

START_TEST(test_pyiceberg__both_format_versions)
{
    int version = _i;
    AUTO(avro_close) struct avro *list = NULL;
    AUTO(avro_close) struct avro *manifest = NULL;
    struct manifest_file m;
    struct manifest_entry e;
    bool more;
    struct str bytes = data(arena_printf(arena, "pyiceberg-v%d-list.avro", version).p);
    ck_assert_msg(manifest_list_open(bytes, &list, &err), "%s", err.msg);
    ck_assert_msg(manifest_list_next(list, &m, &more, &err) && more, "%s", err.msg);
    same(m.path, arena_printf(arena, "s3://b/wh/t/metadata/%d.avro", version).p);
    ck_assert_int_eq(m.added_files, 2);
    ck_assert_int_eq(m.added_rows, 11);
    ck_assert_int_eq(m.sequence_number, version == 1 ? 0 : 2);
    ck_assert(manifest_list_next(list, &m, &more, &err) && !more);

    bytes = data(arena_printf(arena, "pyiceberg-v%d-manifest.avro", version).p);
    ck_assert_msg(manifest_open(bytes, &manifest, &err), "%s", err.msg);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(manifest_next(manifest, &e, &more, &err) && more, "%s", err.msg);
        same(e.path, arena_printf(arena, "s3://b/wh/t/data/%d-%d.parquet", version, i).p);
        ck_assert_int_eq(e.status, 1);
        ck_assert_int_eq(e.records, 5 + i);
    }
    ck_assert(manifest_next(manifest, &e, &more, &err) && !more);
}
END_TEST

START_TEST(test_codec__another_is_named)
{
    struct avro *f;
    ck_assert(!manifest_list_open(data("list-bzip2.avro"), &f, &err));
    ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
    ck_assert_str_eq(
        err.msg, "packed by \"bzip2\"; what can be read is null, deflate, snappy and zstandard");
}
END_TEST

START_TEST(test_kinds__are_not_taken_for_each_other)
{
    struct avro *f;
    ck_assert(!manifest_open(data("list-null.avro"), &f, &err));
    says("\"status\" is missing");
    ck_assert(!manifest_list_open(data("manifest-null.avro"), &f, &err));
    says("\"manifest_path\" is missing");
}
END_TEST

/* -- Damage -------------------------------------------------------------------------------------
 */

/* How many entries it yields; -1: and then an error with a reason. */
static int count(struct str bytes, bool list)
{
    AUTO(avro_close) struct avro *f = NULL;
    struct manifest_file m;
    struct manifest_entry e;
    int n = 0;
    bool more = true;
    err = (struct err){.kind = ERR_NONE};
    bool ok = list ? manifest_list_open(bytes, &f, &err) : manifest_open(bytes, &f, &err);
    for (; ok && more; n++)
        ok = list ? manifest_list_next(f, &m, &more, &err) : manifest_next(f, &e, &more, &err);
    ck_assert(ok == (err.kind == ERR_NONE) && (ok || err.msg[0]));
    return ok ? n - 1 : -1;
}

/* In memory of exactly its size. */
static int count_copy(struct str bytes, bool list)
{
    char *p = xmalloc(bytes.n + 1);
    memcpy(p + 1, bytes.p, bytes.n);
    int n = count((struct str){p + 1, bytes.n}, list);
    xfree(p);
    return n;
}

/* An Avro file may end behind any block: fewer entries, never more. */
START_TEST(test_damage__a_file_cut_off_anywhere)
{
    for (int list = 0; list < 2; list++) {
        struct str bytes =
            data(arena_printf(arena, "%s-%s.avro", list ? "list" : "manifest", codecs[_i]).p);
        ck_assert_int_eq(count_copy(bytes, list), 3);
        int whole = 0;
        for (size_t n = 0; n < bytes.n; n++) {
            int found = count_copy((struct str){bytes.p, n}, list);
            ck_assert_int_lt(found, 3);
            whole += found >= 0;
        }
        ck_assert_int_le(whole, 3);
    }
}
END_TEST

START_TEST(test_damage__any_byte_changed)
{
    static const char masks[] = {1, (char)0x80, (char)0xff};
    for (int list = 0; list < 2; list++) {
        struct str bytes =
            data(arena_printf(arena, "%s-%s.avro", list ? "list" : "manifest", codecs[_i]).p);
        char *p = arena_cstr(arena, bytes);
        for (size_t i = 0; i < bytes.n; i++) {
            p[i] = (char)(p[i] ^ masks[i % ARRAY_LEN(masks)]);
            ck_assert_int_le(count((struct str){p, bytes.n}, list), 3);
            p[i] = bytes.p[i];
        }
    }
}
END_TEST

/* -- Files made up ------------------------------------------------------------------------------
 */

/* The header of a list whose entries are a path and what `more` adds. */
static struct buf made_list(const char *more, const char *codec)
{
    return avro_made(
        arena_printf(arena,
            "{\"type\":\"record\",\"name\":\"manifest_file\",\"fields\":[{\"name\":\"manifest_"
            "path\",\"field-id\":500,\"type\":\"string\"}%s]}",
            more)
            .p,
        codec);
}

static int take(struct buf *b)
{
    int n = count_copy(buf_view(b), true);
    buf_fini(b);
    return n;
}

START_TEST(test_made__a_list)
{
    struct buf b = made_list("", "null");
    put_block(&b, 1, STR("\002a"));
    put_block(&b, 0, STR(""));
    put_block(&b, 2, STR("\004bb\006ccc"));
    ck_assert_int_eq(take(&b), 3);
    b = made_list("", "null");
    ck_assert_int_eq(take(&b), 0);
}
END_TEST

START_TEST(test_made__without_ids_names_decide)
{
    struct buf b =
        avro_made("{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"x\",\"type\":"
                  "\"int\"},{\"name\":\"manifest_path\",\"type\":[\"null\",\"string\"]}]}",
            "null");
    put_block(&b, 1, STR("\x0a\002\002p"));
    ck_assert_int_eq(take(&b), 1);
}
END_TEST

START_TEST(test_made__a_path_that_is_null)
{
    struct buf b =
        avro_made("{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"manifest_path\","
                  "\"field-id\":500,\"type\":[\"null\",\"string\"]}]}",
            "null");
    put_block(&b, 1, STR("\000"));
    ck_assert_int_eq(take(&b), -1);
    says("an entry without manifest_path");
}
END_TEST

START_TEST(test_made__blocks_that_lie)
{
    static const struct {
        int64_t n;
        struct str bytes;
        const char *why;
    } cases[] = {
        {1,                STR_INIT("\004a"),                                    "manifest_path: ends too early"              },
        {2,                STR_INIT("\002a"),                                    "ends too early, within a number"            },
        {1,                STR_INIT("\002abc"),                                  "2 bytes behind the last record of a block"  },
        {0,                STR_INIT("a"),                                        "1 bytes behind the last record of a block"  },
        {-1,               STR_INIT("\002a"),                                    "a block of -1 records"                      },
        {(int64_t)1 << 40, STR_INIT("\002a"),                                    "a block of 1099511627776 records in 2 bytes"},
        {1,                STR_INIT("\001"),                                     "a text of -1 bytes"                         },
        {1,                STR_INIT("\377\377\377\377\377\377\377\377\377\001"),
         "a text of -9223372036854775808 bytes"                                                                               },
        {1,                STR_INIT("\376\377\377\377\377\377\377\377\377\001"),
         "ends too early: 9223372036854775807 bytes expected"                                                                 },
        {1,                STR_INIT("\377\377\377\377\377\377\377\377\377\003"), "a number of more than 64 bits"              },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = made_list("", "null");
        put_block(&b, cases[i].n, cases[i].bytes);
        ck_assert_int_eq(take(&b), -1);
        says(cases[i].why);
    }
    struct buf b = made_list("", "null");
    put_long(&b, 1);
    put_long(&b, -3);
    buf_str(&b, STR("0123456789abcdef"));
    ck_assert_int_eq(take(&b), -1);
    says("in -3 bytes");
    b = made_list("", "null");
    put_block(&b, 1, STR("\002a"));
    b.p[b.n - 1] = 'x';
    ck_assert_int_eq(take(&b), -1);
    says("a block does not end where it should");
}
END_TEST

/* Counts that other readers believe, or turn round in for ever. */
START_TEST(test_made__arrays_that_lie)
{
    static const int64_t counts[] = {INT64_MIN, INT64_MAX, -5, 5, 200000000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct buf b =
            made_list(",{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":\"long\"}}", "null");
        struct buf block;
        buf_init(&block, 1000);
        put_bytes(&block, STR("p"));
        put_long(&block, counts[i]);
        if (counts[i] < 0)
            put_long(&block, 1);
        put_long(&block, 7);
        put_long(&block, 0);
        put_block(&b, 1, buf_view(&block));
        buf_fini(&block);
        ck_assert_int_eq(take(&b), -1);
    }
}
END_TEST

START_TEST(test_made__arrays_maps_and_unions_are_passed_over)
{
    struct buf b = made_list(
        ",{\"name\":\"a\",\"type\":[\"null\",{\"type\":\"array\",\"items\":\"string\"}]},"
        "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"bytes\"]}},"
        "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"en\",\"symbols\":[\"A\"]}},"
        "{\"name\":\"z\",\"type\":{\"type\":\"record\",\"name\":\"empty\",\"fields\":[]}},"
        "{\"name\":\"f\",\"type\":{\"type\":\"fixed\",\"name\":\"n.four\",\"size\":4}},"
        "{\"name\":\"g\",\"type\":\"n.four\"}",
        "null");
    put_block(
        &b, 1, STR("\002p\002\003\010\002a\002b\000\004\002k\000\002l\002\002x\000\000FFFFGGGG"));
    ck_assert_msg(take(&b) == 1, "%s", err.msg);
}
END_TEST

START_TEST(test_made__schemas_that_are_refused)
{
    static const struct {
        const char *more, *why;
    } cases[] = {
        {",{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}",
         "null outside of a union"                                                                                       },
        {",{\"name\":\"a\",\"type\":\"null\"}",                                             "null outside of a union"    },
        {",{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":"
         "\"z\","
         "\"fields\":[]}}}",                                                       "take no byte"               },
        {",{\"name\":\"a\",\"type\":{\"type\":\"record\",\"name\":\"y\",\"fields\":[{\"name\":"
         "\"z\","
         "\"type\":{\"type\":\"record\",\"name\":\"z\",\"fields\":[]}}]}}",        "take no byte"               },
        {",{\"name\":\"a\",\"type\":\"manifest_file\"}",                                    "no such type"               },
        {",{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"name\":\"x\",\"size\":0}}",
         "a fixed of 0 bytes"                                                                                            },
        {",{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"name\":\"x\",\"size\":9999999}}",
         "a fixed of 9999999 bytes"                                                                                      },
        {",{\"name\":\"a\",\"type\":[]}",                                                   "a union of 0 types"         },
        {",{\"name\":\"a\",\"type\":[[\"int\"]]}",                                          "a union in a union"         },
        {",{\"name\":\"a\"}",                                                               "no text, object or array"   },
        {",{\"type\":\"int\"}",                                                             "a member without a name"    },
        {",{\"name\":\"l\",\"field-id\":501,\"type\":\"string\"}",                          "manifest_length: not of the"},
        {",{\"name\":\"l\",\"field-id\":501,\"type\":[\"null\",\"long\",\"double\"]}",
         "not of the type"                                                                                               },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = made_list(cases[i].more, "null");
        ck_assert_int_eq(take(&b), -1);
        says(cases[i].why);
    }
}
END_TEST

/* Each type holds the one before twice: as text it is small, as a tree it is not. */
START_TEST(test_made__types_that_double)
{
    struct buf more;
    buf_init(&more, 1 << 20);
    buf_puts(&more, ",{\"name\":\"f0\",\"type\":{\"type\":\"record\",\"name\":\"r0\",\"fields\":[{"
                    "\"name\":\"x\",\"type\":\"int\"}]}}");
    for (int i = 1; i < 100; i++)
        buf_putf(&more,
            ",{\"name\":\"f%d\",\"type\":{\"type\":\"record\",\"name\":\"r%d\",\"fields\":[{"
            "\"name\":"
            "\"x\",\"type\":\"r%d\"},{\"name\":\"y\",\"type\":\"r%d\"}]}}",
            i, i, i - 1, i - 1);
    struct buf b = made_list(buf_take(&more, arena).p, "null");
    ck_assert_int_eq(take(&b), -1);
    says("nested deeper");
}
END_TEST

static struct str deflated(size_t n)
{
    struct buf out;
    char zeros[4096] = {0};
    buf_init(&out, 1 << 24);
    buf_reserve(&out, 1 << 20);
    z_stream z = {.next_out = (Bytef *)out.p, .avail_out = 1 << 20};
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    while (n > 0) {
        size_t piece = n < sizeof(zeros) ? n : sizeof(zeros);
        n -= piece;
        z.next_in = (Bytef *)zeros;
        z.avail_in = (uInt)piece;
        ck_assert_int_eq(deflate(&z, n ? Z_NO_FLUSH : Z_FINISH), n ? Z_OK : Z_STREAM_END);
    }
    out.n = z.total_out;
    deflateEnd(&z);
    return buf_take(&out, arena);
}

START_TEST(test_made__a_small_block_that_unpacks_to_much)
{
    struct str bomb = deflated(80 << 20);
    struct buf b = made_list("", "deflate");
    put_block(&b, 1, bomb);
    ck_assert_int_eq(take(&b), -1);
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    says("a block unpacks to more than 67108864 bytes");
}
END_TEST

/* None of them too large by itself. */
START_TEST(test_made__many_blocks_that_unpack_to_much)
{
    struct str part = deflated(59 * ((1 << 20) + 1));
    struct buf b =
        made_list(",{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"x\",\"size\":1048576}}",
            "deflate");
    for (int i = 0; i < 20; i++)
        put_block(&b, 59, part);
    ck_assert_int_eq(take(&b), -1);
    ck_assert_int_eq(err.kind, ERR_TOO_LARGE);
    says("unpacks to more than 1073741824 bytes");
}
END_TEST

START_TEST(test_made__packed_blocks_that_are_none)
{
    static const struct {
        const char *codec;
        struct str bytes;
        const char *why;
    } cases[] = {
        {"deflate",   STR_INIT(""),                             "ends too early"        },
        {"deflate",   STR_INIT("\377\377\377"),                 "damaged"               },
        {"zstandard", STR_INIT(""),                             "ends too early"        },
        {"zstandard", STR_INIT("nothing"),                      "damaged"               },
        {"zstandard", STR_INIT("\x28\xb5\x2f\xfd"),             "ends too early"        },
        {"snappy",    STR_INIT("abc"),                          "ends too early"        },
        {"snappy",    STR_INIT("\002\000a1234"),                "a snappy block is dama"},
        {"snappy",    STR_INIT("\001\000a1234"),                "another checksum"      },
        {"snappy",    STR_INIT("\004\001\000\060\060\060\060"), "a snappy block is dama"},
        {"snappy",    STR_INIT("\005\000a\001\0020000"),        "a snappy block is dama"},
        {"snappy",    STR_INIT("\377\377\377\377\0170000"),     "unpacks to more"       },
        {"snappy",    STR_INIT("\377\377\377\377\377\3770000"), "a snappy block is dama"},
        {"snappy",    STR_INIT("\005\374\377\377\377\3770000"), "a snappy block is dama"},
        {"snappy",    STR_INIT("\0010000"),                     "a snappy block is dama"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = made_list("", cases[i].codec);
        put_block(&b, 1, cases[i].bytes);
        ck_assert_int_eq(take(&b), -1);
        says(cases[i].why);
    }
}
END_TEST

/* A literal, then copies that reach into themselves, in all three forms. */
START_TEST(test_made__snappy_copies)
{

    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)"\034abababababababcdcdab", 21);
    const char tail[] = {(char)(crc >> 24), (char)(crc >> 16), (char)(crc >> 8), (char)crc};
    struct buf b = made_list("", "snappy"), packed;
    buf_init(&packed, 1000);
    buf_putc(&packed, 15);
    buf_str(&packed, STR("\010\034ab")); /* a literal of 3 */
    buf_str(&packed, STR("\041\002"));   /* 12 bytes from 2 back: does not fit */
    buf_put(&packed, tail, sizeof(tail));
    put_block(&b, 1, buf_view(&packed));
    ck_assert_int_eq(take(&b), -1);
    packed.n = 0;
    crc = crc32(crc32(0, NULL, 0), (const Bytef *)"\034ababababababab", 15);
    const char good[] = {(char)(crc >> 24), (char)(crc >> 16), (char)(crc >> 8), (char)crc};
    buf_putc(&packed, 15);
    buf_str(&packed, STR("\010\034ab"));           /* a literal of 3 */
    buf_str(&packed, STR("\001\002"));             /* 4 bytes from 2 back */
    buf_str(&packed, STR("\016\004\000"));         /* 4 from 4, the offset in two bytes */
    buf_str(&packed, STR("\017\002\000\000\000")); /* 4 from 2, in four */
    buf_put(&packed, good, sizeof(good));
    b = made_list("", "snappy");
    put_block(&b, 1, buf_view(&packed));
    ck_assert_msg(take(&b) == 1, "%s", err.msg);
    buf_fini(&packed);
}
END_TEST

START_TEST(test_made__headers_that_are_none)
{
    static const struct {
        struct str bytes;
        const char *why;
    } cases[] = {
        {STR_INIT(""),                                                          "no Avro file"      },
        {STR_INIT("PAR1"),                                                      "no Avro file"      },
        {STR_INIT("Obj\x01"),                                                   "ends too early"    },
        {STR_INIT("Obj\x01\000"),                                               "16 bytes expected" },
        {STR_INIT("Obj\x01\0000123456789abcdef"),                               "no avro.schema"    },
        {STR_INIT("Obj\x01\377\377\377\377\377\377\377\377\377\001\000"),       "more than 1000"    },
        {STR_INIT("Obj\x01\002\002a\001"),                                      "a text of -1 bytes"},
        {STR_INIT("Obj\x01\002\026avro.schema\002{\0000123456789abcdef"),       "avro.schema"       },
        {STR_INIT("Obj\x01\002\026avro.schema\012\"int\"\0000123456789abcdef"),
         "avro.schema: expected a record"                                                           },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ck_assert_int_eq(count_copy(cases[i].bytes, true), -1);
        says(cases[i].why);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("manifest");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, test_list__every_codec, 0, ARRAY_LEN(codecs));
    tcase_add_loop_test(tc, test_manifest__every_codec, 0, ARRAY_LEN(codecs));
    tcase_add_loop_test(tc, test_pyiceberg__both_format_versions, 1, 3);
    tcase_add_test(tc, test_codec__another_is_named);
    tcase_add_test(tc, test_kinds__are_not_taken_for_each_other);
    tcase_add_loop_test(tc, test_damage__a_file_cut_off_anywhere, 0, ARRAY_LEN(codecs));
    tcase_add_loop_test(tc, test_damage__any_byte_changed, 0, ARRAY_LEN(codecs));
    tcase_add_test(tc, test_made__a_list);
    tcase_add_test(tc, test_made__without_ids_names_decide);
    tcase_add_test(tc, test_made__a_path_that_is_null);
    tcase_add_test(tc, test_made__blocks_that_lie);
    tcase_add_test(tc, test_made__arrays_that_lie);
    tcase_add_test(tc, test_made__arrays_maps_and_unions_are_passed_over);
    tcase_add_test(tc, test_made__schemas_that_are_refused);
    tcase_add_test(tc, test_made__types_that_double);
    tcase_add_test(tc, test_made__a_small_block_that_unpacks_to_much);
    tcase_add_test(tc, test_made__many_blocks_that_unpack_to_much);
    tcase_add_test(tc, test_made__packed_blocks_that_are_none);
    tcase_add_test(tc, test_made__snappy_copies);
    tcase_add_test(tc, test_made__headers_that_are_none);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
