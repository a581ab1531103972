#include "reply.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <zlib.h>

#include "base.h"
#include "call.h"
#include "quirk.h"
#include "table.h"

static struct call *call;

static void begin(void)
{
    call = call_new(NULL);
    call->id = STR("id-1");
    call->op = &op_rows[OP_LOAD_TABLE];
}

static void end(void)
{
    call_free(&call);
}

static void release(void *json)
{
    json_decref(json);
}

static const char *header(const char *name)
{
    const char *value = NULL;
    for (unsigned i = 0; i < call->reply.n_headers; i++) {
        if (strcmp(call->reply.headers[i].name, name) != 0)
            continue;
        ck_assert_msg(!value, "%s is there twice", name);
        value = call->reply.headers[i].value;
    }
    return value;
}

static void check_header(const char *name, const char *value)
{
    const char *found = header(name);
    ck_assert_msg(!found == !value, "%s: %s", name, found ? found : "missing");
    if (value)
        ck_assert_str_eq(found, value);
}

static struct str body(void)
{
    struct buf b;
    buf_init(&b, 1 << 30);
    for (size_t i = 0; i < call->reply.n_pieces; i++)
        buf_str(&b, call->reply.pieces[i]);
    ck_assert_uint_eq(b.n, call->reply.bytes);
    return buf_take(&b, call->arena);
}

/* The body unpacked as a client would: one gzip member, checksum and size right, nothing behind. */
static struct str unpacked(size_t max)
{
    struct str packed = body();
    char *out = arena_alloc(call->arena, max);
    z_stream z = {.avail_in = (uInt)packed.n, .next_out = (Bytef *)out, .avail_out = (uInt)max};
    memcpy(&z.next_in, &packed.p, sizeof packed.p);
    ck_assert_int_eq(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    int last = inflate(&z, Z_FINISH);
    ck_assert_msg(last == Z_STREAM_END, "%d %s", last, z.msg ? z.msg : "");
    ck_assert_uint_eq(z.avail_in, 0);
    inflateEnd(&z);
    return (struct str){out, max - z.avail_out};
}

static void check_same(struct str found, struct str expected)
{
    ck_assert_msg(str_eq(found, expected), "%zu and %zu bytes: %.*s", found.n, expected.n,
        (int)(found.n < 500 ? found.n : 500), found.p);
}

static void check_common(int status, const char *cache_control)
{
    ck_assert_int_eq(call->reply.status, status);
    check_header("X-Request-ID", "id-1");
    check_header("X-Content-Type-Options", "nosniff");
    check_header("Cache-Control", cache_control);
}

static struct str repeated(char c, size_t n)
{
    char *p = arena_alloc(call->arena, n + 1);
    memset(p, c, n);
    p[n] = '\0';
    return (struct str){p, n};
}

static bool json_reply(struct str text)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_str(&b, text);
    bool ok = reply_json(call, &b);
    buf_fini(&b);
    return ok;
}

START_TEST(test_reply_json__small_ones_as_they_are)
{
    call->headers[HEADER_ACCEPT_ENCODING] = STR("gzip");
    ck_assert(json_reply(STR("{\"a\":1}")));
    check_common(200, "no-store");
    check_header("Content-Type", "application/json");
    check_header("Content-Encoding", NULL);
    check_header("ETag", NULL);
    check_same(body(), STR("{\"a\":1}"));
    ck_assert(json_reply(repeated(' ', 4095)));
    check_header("Content-Encoding", NULL);
    ck_assert_uint_eq(body().n, 4095);
}
END_TEST

START_TEST(test_reply_json__packed_from_4096_bytes_on)
{
    static const size_t sizes[] = {4096, 4097, 65536, 1000000};
    call->headers[HEADER_ACCEPT_ENCODING] = STR("gzip");
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct str text = repeated('x', sizes[i]);
        ck_assert(json_reply(text));
        check_common(200, "no-store");
        check_header("Content-Encoding", "gzip");
        check_header("Vary", "Accept-Encoding");
        ck_assert_uint_lt(call->reply.bytes, sizes[i]);
        check_same(unpacked(sizes[i] + 1), text);
    }
}
END_TEST

START_TEST(test_reply_json__what_does_not_pack_well)
{
    uint32_t state = 1;
    char *noise = arena_alloc(call->arena, 100000);
    for (size_t i = 0; i < 100000; i++) {
        state = state * 1664525 + 1013904223;
        noise[i] = (char)(state >> 24);
    }
    call->headers[HEADER_ACCEPT_ENCODING] = STR("gzip");
    ck_assert(json_reply((struct str){noise, 100000}));
    check_same(unpacked(100001), (struct str){noise, 100000});
}
END_TEST

START_TEST(test_reply_json__accept_encoding)
{
    static const struct {
        struct str accepts;
        bool packed;
    } rows[] = {
        {{NULL, 0},                           false},
        {STR_INIT(""),                        false},
        {STR_INIT("gzip"),                    true },
        {STR_INIT("GZIP"),                    true },
        {STR_INIT("x-gzip"),                  true },
        {STR_INIT("gzip, deflate, br"),       true },
        {STR_INIT("br;q=1.0 , gzip ; q=0.8"), true },
        {STR_INIT("gzip;q=0.001"),            true },
        {STR_INIT("gzip;q=0"),                false},
        {STR_INIT("gzip; q=0.0"),             false},
        {STR_INIT("gzip;Q=0.000, deflate"),   false},
        {STR_INIT("gzip;q=0, x-gzip"),        false},
        {STR_INIT("gzip;q="),                 true },
        {STR_INIT("identity"),                false},
        {STR_INIT("gzipped"),                 false},
        {STR_INIT("deflate"),                 false},
    };
    struct str text = repeated('x', 5000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        call->headers[HEADER_ACCEPT_ENCODING] = rows[i].accepts;
        ck_assert(json_reply(text));
        ck_assert_msg((header("Content-Encoding") != NULL) == rows[i].packed, "%.*s",
            STR_ARG(rows[i].accepts));
        check_header("Vary", "Accept-Encoding");
        check_same(rows[i].packed ? unpacked(5001) : body(), text);
    }
}
END_TEST

START_TEST(test_reply_json__too_large)
{
    struct buf b;
    buf_init(&b, 10);
    buf_puts(&b, "12345678901");
    ck_assert(!reply_json(call, &b));
    ck_assert_int_eq(call->err.kind, ERR_INTERNAL);
    ck_assert_str_eq(call->err.msg, "the answer is larger than 10 bytes");
    ck_assert_ptr_null(b.p);
}
END_TEST

START_TEST(test_reply_text__as_it_is)
{
    ck_assert(reply_text(call, "application/yaml", STR("openapi: 3.1.0\n")));
    check_common(200, "no-store");
    check_header("Content-Type", "application/yaml");
    check_same(body(), STR("openapi: 3.1.0\n"));
}
END_TEST

static const char location[] = "s3://b/ns/t-\"1\"/metadata/00001-x.metadata.json";

/* A document of about so many bytes, with three snapshots of which refs name one. */
static struct str document(size_t size)
{
    struct buf b;
    buf_init(&b, 1 << 30);
    buf_puts(&b, "{\"format-version\":2,\"table-uuid\":\"7d444840-9dc0-11d1-b245-5ffdce74fad2\","
                 "\"location\":\"s3://b/ns/t\",\"last-sequence-number\":3,"
                 "\"last-updated-ms\":1700000000000,\"last-column-id\":1,\"current-schema-id\":0,"
                 "\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,"
                 "\"name\":\"id\",\"required\":false,\"type\":\"int\"}]}],\"default-spec-id\":0,"
                 "\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],\"last-partition-id\":999,"
                 "\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],"
                 "\"current-snapshot-id\":3,\"refs\":{\"main\":{\"snapshot-id\":3,"
                 "\"type\":\"branch\"}},\"snapshots\":[");
    for (int i = 1; i <= 3; i++)
        buf_putf(&b,
            "%s{\"snapshot-id\":%d,\"sequence-number\":%d,\"timestamp-ms\":170000000000%d,"
            "\"manifest-list\":\"s3://b/m%d.avro\",\"summary\":{\"operation\":\"append\"},"
            "\"schema-id\":0}",
            i > 1 ? "," : "", i, i, i, i);
    buf_puts(&b, "],\"properties\":{\"fill\":\"\xc3\xa4");
    uint32_t state = 7;
    for (int i = 1; b.n < size; i++) {
        state = state * 1664525 + 1013904223;
        buf_putf(&b, "%08x", state);
        if (i % 10000 == 0)
            buf_putf(&b, "\",\"fill%d\":\"", i);
    }
    buf_puts(&b, "\"}}");
    return buf_take(&b, call->arena);
}

static struct loaded table(struct str text)
{
    struct metadata *m = NULL;
    struct err err = {.kind = ERR_NONE};
    ck_assert_msg(metadata_from_file(text, str_from(location), &m, &err), "%s", err.msg);
    return (struct loaded){.metadata = metadata_hold(call->arena, m)};
}

static struct str joined(const struct metadata *m, enum variant v)
{
    struct str *pieces, all = STR("");
    size_t n = metadata_document(call->arena, m, v, &pieces);
    for (size_t i = 0; i < n; i++)
        all = arena_printf(call->arena, "%.*s%.*s", STR_ARG(all), STR_ARG(pieces[i]));
    return all;
}

#define HEAD                                                                                       \
    "{\"metadata-location\":\"s3://b/ns/t-\\\"1\\\"/metadata/"                                     \
    "00001-x.metadata.json\",\"metadata\":"

static struct str expected(
    const struct loaded *t, enum variant v, const char *head, const char *tail)
{
    struct str text = joined(t->metadata, v);
    return arena_printf(call->arena, "%s%.*s%s", head, STR_ARG(text), tail);
}

static void check_table_headers(const struct loaded *t, enum variant v)
{
    struct str etag = metadata_etag(t->metadata, v);
    check_common(200, "private, no-cache");
    check_header("Content-Type", "application/json");
    check_header("Vary", "Accept-Encoding, X-Iceberg-Access-Delegation, Authorization");
    check_header("ETag", arena_cstr(call->arena, etag));
    ck_assert(str_starts(etag, STR("W/\"")) && str_ends(etag, STR("\"")));
}

START_TEST(test_reply_table__plain_is_head_document_tail)
{
    static const size_t sizes[] = {0, 5000, 300000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct loaded t = table(document(sizes[i]));
        for (int v = VARIANT_ALL; v <= VARIANT_REFS; v++) {
            ck_assert(reply_loaded(call, &t, (enum variant)v));
            check_table_headers(&t, (enum variant)v);
            check_header("Content-Encoding", NULL);
            struct str whole = expected(&t, (enum variant)v, HEAD, ",\"config\":{}}");
            check_same(body(), whole);
            json_t *json = json_loadb(whole.p, whole.n, JSON_REJECT_DUPLICATES, NULL);
            ck_assert_ptr_nonnull(json);
            json_t *snapshots = json_object_get(json_object_get(json, "metadata"), "snapshots");
            ck_assert_uint_eq(json_array_size(snapshots), v == VARIANT_ALL ? 3 : 1);
            json_decref(json);
        }
    }
}
END_TEST

START_TEST(test_reply_table__gzip_decodes_to_exactly_head_document_tail)
{
    static const size_t sizes[] = {4600, 5000, 70000, 300000, 3000000};
    call->headers[HEADER_ACCEPT_ENCODING] = STR("gzip");
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct str text = document(sizes[i]);
        struct loaded t = table(text);
        ck_assert(reply_commit(call, &t)); /* the first answer of a version is not packed */
        check_header("Content-Encoding", NULL);
        for (int v = VARIANT_ALL; v <= VARIANT_REFS; v++) {
            ck_assert(reply_loaded(call, &t, (enum variant)v));
            check_table_headers(&t, (enum variant)v);
            check_header("Content-Encoding", "gzip");
            ck_assert_uint_lt(call->reply.bytes, sizes[i]);
            struct str whole = expected(&t, (enum variant)v, HEAD, ",\"config\":{}}");
            check_same(unpacked(whole.n + 1), whole);
            /* The segment is kept and joined again. */
            ck_assert(reply_loaded(call, &t, (enum variant)v));
            check_same(unpacked(whole.n + 1), whole);
        }
        ck_assert(reply_commit(call, &t));
        struct str whole = expected(&t, VARIANT_ALL, HEAD, "}");
        check_same(unpacked(whole.n + 1), whole);
    }
}
END_TEST

START_TEST(test_reply_table__small_ones_are_not_packed)
{
    struct loaded t = table(document(0));
    call->headers[HEADER_ACCEPT_ENCODING] = STR("gzip");
    ck_assert(reply_loaded(call, &t, VARIANT_ALL));
    check_header("Content-Encoding", NULL);
    check_same(body(), expected(&t, VARIANT_ALL, HEAD, ",\"config\":{}}"));
}
END_TEST

START_TEST(test_reply_table__staged_has_no_location_and_no_tag)
{
    struct loaded t = table(document(5000));
    t.staged = true;
    ck_assert(reply_loaded(call, &t, VARIANT_ALL));
    check_common(200, "no-store");
    check_header("ETag", NULL);
    struct str whole = expected(&t, VARIANT_ALL, "{\"metadata\":", ",\"config\":{}}");
    check_same(body(), whole);
    call->headers[HEADER_ACCEPT_ENCODING] = STR("gzip");
    ck_assert(reply_loaded(call, &t, VARIANT_ALL)); /* the first that asks is not worth packing */
    ck_assert(reply_loaded(call, &t, VARIANT_ALL));
    check_same(unpacked(whole.n + 1), whole);
}
END_TEST

START_TEST(test_reply_commit__without_config)
{
    struct loaded t = table(document(0));
    ck_assert(reply_commit(call, &t));
    check_table_headers(&t, VARIANT_ALL);
    check_same(body(), expected(&t, VARIANT_ALL, HEAD, "}"));
}
END_TEST

START_TEST(test_reply_table__variants_have_different_tags)
{
    struct loaded t = table(document(0));
    ck_assert(
        !str_eq(metadata_etag(t.metadata, VARIANT_ALL), metadata_etag(t.metadata, VARIANT_REFS)));
    struct str alone = metadata_etag_of(
        call->arena, str_from(location), metadata_head(t.metadata)->uuid, VARIANT_ALL);
    check_same(metadata_etag(t.metadata, VARIANT_ALL), alone);
}
END_TEST

START_TEST(test_reply_not_modified__tag_and_no_body)
{
    ck_assert(reply_not_modified(call, STR("W/\"abc\"")));
    check_common(304, "private, no-cache");
    check_header("ETag", "W/\"abc\"");
    check_header("Vary", "Accept-Encoding, X-Iceberg-Access-Delegation, Authorization");
    check_header("Content-Type", NULL);
    ck_assert_uint_eq(call->reply.bytes, 0);
}
END_TEST

START_TEST(test_reply_etag_matches__tolerantly)
{
    static const struct {
        struct str sent;
        bool matches;
    } rows[] = {
        {{NULL, 0},                       false},
        {STR_INIT(""),                    false},
        {STR_INIT("W/\"abc\""),           true },
        {STR_INIT("\"abc\""),             true },
        {STR_INIT("abc"),                 true },
        {STR_INIT("W/abc"),               true },
        {STR_INIT("*"),                   true },
        {STR_INIT(" \"x\" , W/\"abc\" "), true },
        {STR_INIT("\"x\",\"y\",\"abc\""), true },
        {STR_INIT("W/\"abc-gzip\""),      true },
        {STR_INIT("\"abc--gzip\""),       true },
        {STR_INIT("\"abc\"-gzip"),        true },
        {STR_INIT("\"x\", *"),            true },
        {STR_INIT("\"x\""),               false},
        {STR_INIT("\"ab\""),              false},
        {STR_INIT("\"abcd\""),            false},
        {STR_INIT("\"ABC\""),             false},
        {STR_INIT("\"abc-\""),            false},
        {STR_INIT("\"\""),                false},
        {STR_INIT("\""),                  false},
        {STR_INIT(",,"),                  false},
        {STR_INIT("-gzip"),               false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        call->headers[HEADER_IF_NONE_MATCH] = rows[i].sent;
        ck_assert_msg(reply_etag_matches(call, STR("W/\"abc\"")) == rows[i].matches, "%.*s",
            STR_ARG(rows[i].sent));
    }
}
END_TEST

START_TEST(test_reply_etag_matches__the_tags_that_are_handed_out)
{
    struct loaded t = table(document(0));
    struct str all = metadata_etag(t.metadata, VARIANT_ALL);
    call->headers[HEADER_IF_NONE_MATCH] = all;
    ck_assert(reply_etag_matches(call, all));
    ck_assert(!reply_etag_matches(call, metadata_etag(t.metadata, VARIANT_REFS)));
}
END_TEST

START_TEST(test_reply_empty__the_status_of_the_operation)
{
    static const unsigned ops[] = {OP_DROP_TABLE, OP_DROP_NAMESPACE, OP_TABLE_EXISTS,
        OP_NAMESPACE_EXISTS, OP_RENAME_TABLE, OP_REPORT_METRICS};
    call->headers[HEADER_USER_AGENT] = STR("Apache-HttpClient/5.4 (Java/17)");
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        call->op = &op_rows[ops[i]];
        ck_assert(reply_empty(call));
        check_common(204, "no-store");
        ck_assert_uint_eq(call->reply.bytes, 0);
        check_header("Content-Type", NULL);
    }
}
END_TEST

/* ClickHouse repeats a DELETE that was answered 204. */
START_TEST(test_reply_empty__quirks)
{
    static const struct {
        struct str agent;
        unsigned op;
        int status;
    } rows[] = {
        {STR_INIT("ClickHouse/25.8.1.1"),  OP_DROP_TABLE,     200},
        {STR_INIT("ClickHouse"),           OP_DROP_NAMESPACE, 200},
        {STR_INIT("ClickHouse/25.8.1.1"),  OP_TABLE_EXISTS,   204},
        {STR_INIT("ClickHouse/25.8.1.1"),  OP_RENAME_TABLE,   204},
        {STR_INIT("clickhouse"),           OP_DROP_TABLE,     204},
        {STR_INIT("PyIceberg ClickHouse"), OP_DROP_TABLE,     204},
        {STR_INIT(""),                     OP_DROP_TABLE,     204},
        {{NULL, 0},                        OP_DROP_TABLE,     204},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        call->op = &op_rows[rows[i].op];
        call->headers[HEADER_USER_AGENT] = rows[i].agent;
        ck_assert(reply_empty(call));
        check_common(rows[i].status, "no-store");
        check_same(body(), rows[i].status == 200 ? STR("{}") : STR(""));
        check_header("Content-Type", rows[i].status == 200 ? "application/json" : NULL);
    }
}
END_TEST

/* The one error document that all clients read (protocol 1.1, 7). */
static void check_error(int status, const char *type, const char *message)
{
    struct str text = body();
    json_t *json = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(json != NULL, "%.*s", STR_ARG(text));
    arena_hold(call->arena, json, release);
    json_t *error = json_object_get(json, "error");
    ck_assert_uint_eq(json_object_size(json), 1);
    ck_assert_uint_eq(json_object_size(error), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(error, "code")), status);
    ck_assert_str_eq(json_string_value(json_object_get(error, "type")), type);
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")), message);
    check_common(status, "no-store");
    check_header("Content-Type", "application/json");
}

static const struct {
    enum err_kind kind;
    int status;
    const char *type;
} kinds[] = {
#define X(kind, status, type, level) {ERR_##kind, status, type},
    ERR_KINDS(X)
#undef X
};

START_TEST(test_reply_error__every_kind_a_client_may_see)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (kinds[i].status == 0)
            continue;
        const char *message = "why \"it\" failed\n";
        call->allow = STR("GET, HEAD");
        err_set(&call->err, kinds[i].kind, "%s", message);
        reply_error(call);
        if (kinds[i].kind == ERR_INTERNAL)
            message = "Internal error; the server's log has the reason under request id-1";
        if (kinds[i].kind == ERR_COMMIT_UNKNOWN)
            message = "It is unknown whether the change was applied (request id-1): why \"it\" "
                      "failed\n";
        check_error(kinds[i].status, kinds[i].type, message);
        bool later = kinds[i].kind == ERR_BUSY || kinds[i].kind == ERR_UNAVAILABLE;
        check_header("Retry-After", later ? "1" : NULL);
        check_header("Allow", kinds[i].kind == ERR_METHOD ? "GET, HEAD" : NULL);
    }
}
END_TEST

START_TEST(test_reply_error__replaces_what_was_there)
{
    struct loaded t = table(document(0));
    ck_assert(reply_loaded(call, &t, VARIANT_ALL));
    err_set(&call->err, ERR_NO_SUCH_TABLE, "Table does not exist: a.b");
    reply_error(call);
    check_error(404, "NoSuchTableException", "Table does not exist: a.b");
    check_header("ETag", NULL);
    check_header("Vary", NULL);
}
END_TEST

START_TEST(test_reply_error__bytes_that_are_no_text)
{
    err_set(
        &call->err, ERR_NO_ROUTE, "No route for GET /\xff\xc3\xa4\xe2\x82/\xf0\x9f\x98\x80\x01");
    reply_error(call);
    check_error(404, "BadRequestException",
        "No route for GET /?\xc3\xa4?"
        "?/\xf0\x9f\x98\x80\x01");
}
END_TEST

START_TEST(test_reply_error__the_longest_message)
{
    struct str quotes = repeated('\x01', sizeof call->err.msg + 10);
    err_set(&call->err, ERR_VALIDATION, "%s", quotes.p);
    reply_error(call);
    check_error(400, "ValidationException", repeated('\x01', sizeof call->err.msg - 1).p);
}
END_TEST

START_TEST(test_reply_error__technical_kinds_are_our_mistake)
{
    err_set(&call->err, ERR_CAS_LOST, "never shown");
    reply_error(call);
}
END_TEST

START_TEST(test_reply_header__one_more)
{
    ck_assert(reply_text(call, "text/plain", STR("x")));
    reply_header(call, "X-More", STR("value of some length, cut"));
    check_header("X-More", "value of some length, cut");
}
END_TEST

START_TEST(test_call_reset__nothing_of_the_last_request_stays)
{
    struct arena *arena = call->arena;
    call->headers[HEADER_USER_AGENT] = STR("x");
    buf_init(&call->body_buf, 100);
    buf_puts(&call->body_buf, "body");
    err_set(&call->err, ERR_BUSY, "busy");
    reply_error(call);
    call_reset(call);
    ck_assert_ptr_eq(call->arena, arena);
    ck_assert_int_eq(call->reply.status, 0);
    ck_assert_int_eq(call->err.kind, ERR_NONE);
    ck_assert_ptr_null(call_header(call, HEADER_USER_AGENT).p);
    ck_assert_ptr_null(call->body_buf.p);
    call_reset(call);
}
END_TEST

static void add_successes(TCase *cases)
{
    tcase_add_test(cases, test_reply_json__small_ones_as_they_are);
    tcase_add_test(cases, test_reply_json__packed_from_4096_bytes_on);
    tcase_add_test(cases, test_reply_json__what_does_not_pack_well);
    tcase_add_test(cases, test_reply_json__accept_encoding);
    tcase_add_test(cases, test_reply_json__too_large);
    tcase_add_test(cases, test_reply_text__as_it_is);
    tcase_add_test(cases, test_reply_table__plain_is_head_document_tail);
    tcase_add_test(cases, test_reply_table__gzip_decodes_to_exactly_head_document_tail);
    tcase_add_test(cases, test_reply_table__small_ones_are_not_packed);
    tcase_add_test(cases, test_reply_table__staged_has_no_location_and_no_tag);
    tcase_add_test(cases, test_reply_commit__without_config);
    tcase_add_test(cases, test_reply_table__variants_have_different_tags);
    tcase_add_test(cases, test_reply_not_modified__tag_and_no_body);
    tcase_add_test(cases, test_reply_etag_matches__tolerantly);
    tcase_add_test(cases, test_reply_etag_matches__the_tags_that_are_handed_out);
    tcase_add_test(cases, test_reply_empty__the_status_of_the_operation);
    tcase_add_test(cases, test_reply_empty__quirks);
    tcase_add_test(cases, test_reply_header__one_more);
    tcase_add_test(cases, test_call_reset__nothing_of_the_last_request_stays);
}

int main(void)
{
    Suite *suite = suite_create("server/reply");
    TCase *cases = tcase_create("server/reply");
    tcase_add_checked_fixture(cases, begin, end);
    add_successes(cases);
    tcase_add_test(cases, test_reply_error__every_kind_a_client_may_see);
    tcase_add_test(cases, test_reply_error__replaces_what_was_there);
    tcase_add_test(cases, test_reply_error__bytes_that_are_no_text);
    tcase_add_test(cases, test_reply_error__the_longest_message);
    tcase_add_test_raise_signal(cases, test_reply_error__technical_kinds_are_our_mistake, SIGABRT);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
