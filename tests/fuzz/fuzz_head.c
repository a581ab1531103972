/* Headers, one a line, "name:value": what is demanded of them, the list of If-None-Match, and the
 * Idempotency-Key. */
#include <string.h>

#include "arena.h"
#include "base.h"
#include "call.h"
#include "config.h"
#include "fuzz.h"
#include "head.h"
#include "metadata.h"

static const char *const no_origins[] = {NULL};
static const struct config conf = {.cors_origins = no_origins, .idempotency_lifetime = 1000000};
static const struct server server = {.conf = &conf};

static bool has(struct str s, struct str part)
{
    return memmem(s.p, s.n, part.p, part.n) != NULL;
}

static bool matches(struct call *c, struct str list, struct str etag)
{
    c->headers[HEADER_IF_NONE_MATCH] = list;
    return reply_etag_matches(c, etag);
}

static void check_tags(struct call *c)
{
    struct arena *a = c->arena;
    struct str sent = c->headers[HEADER_IF_NONE_MATCH];
    if (!sent.p)
        return;
    for (int v = 0; v < 2; v++) {
        struct str etag =
            metadata_etag_of(a, STR("s3://b/t/1.metadata.json"), STR("3b5c1ea3"), (enum variant)v);
        struct str bare = str_sub(etag, 3, etag.n - 4); /* W/"…" */
        FUZZ_CHECK(str_starts(etag, STR("W/\"")) && str_ends(etag, STR("\"")), etag.p);
        bool hit = matches(c, sent, etag);
        FUZZ_CHECK(!hit || has(sent, bare) || has(sent, STR("*")), "a tag that was not sent");
        FUZZ_CHECK(matches(c, arena_printf(a, "%.*s, %.*s", STR_ARG(sent), STR_ARG(etag)), etag),
            "the last of a list");
        FUZZ_CHECK(
            matches(c, arena_printf(a, "\"%.*s\" ,%.*s", STR_ARG(bare), STR_ARG(sent)), etag),
            "the first of a list, compared weakly");
    }
}

static void check_key(struct call *c)
{
    struct str values[OP_PARAMS_MAX] = {
        {NULL, 0}
    };
    struct str sent = c->headers[HEADER_IDEMPOTENCY_KEY];
    const struct op *op = &op_rows[OP_CREATE_TABLE];
    struct err err = {0};
    unsigned at = 0;
    while (at < op->n_params && strcmp(op->params[at].name, "Idempotency-Key") != 0)
        at++;
    FUZZ_CHECK(at < op->n_params, "the operation takes a key");
    values[at] = sent;
    bool ok = op_check_params(c->arena, op, values, &err);
    FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
    FUZZ_CHECK(ok || err.kind == ERR_BAD_REQUEST, err.msg);
    if (!ok || !sent.p)
        return;
    FUZZ_CHECK(str_eq(values[at], sent), "another key");
    FUZZ_CHECK(sent.n >= 1 && sent.n <= 256 && str_is_utf8(sent), "a key that cannot be kept");
    FUZZ_CHECK(str_find(sent, '\0') == sent.n, "a key that cannot be kept");
}

static bool read_all(struct call *c, struct str rest)
{
    while (rest.p) {
        struct str value = str_cut(&rest, '\n');
        struct str name = str_cut(&value, ':');
        TRY(head_header(c, name, value.p ? value : STR("")));
    }
    return head_check(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(call_free) struct call *c = call_new(&server);
    c->method = STR("POST");
    c->uri = STR("/v1/namespaces/a/tables?x=1");
    bool ok = read_all(c, fuzz_text(data, size));
    FUZZ_CHECK(ok == (c->err.kind == ERR_NONE), "a verdict without a reason");
    FUZZ_CHECK(ok || (err_status(c->err.kind) >= 400 && err_status(c->err.kind) < 500), c->err.msg);
    head_id(c);
    FUZZ_CHECK(c->id.n > 0 && c->id.n <= 128, "an id");
    check_tags(c);
    check_key(c);
    return 0;
}
