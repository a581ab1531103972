/* A namespace and a name (the last line): what is a name survives the ways in which it travels, as
 * path segments, as JSON, and as part of a token. */
#include <jansson.h>

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "catalog_priv.h"
#include "fuzz.h"
#include "op.h"

/* Levels are separated by 0x1F or by what clients write for it. */
static void check_path(struct arena *a, const struct ident *id, const char *keep)
{
    struct str ns = str_pct_encode(a, id->ns, keep), name = str_pct_encode(a, id->name, keep);
    struct str path =
        arena_printf(a, "/v1/namespaces/%.*s/tables/%.*s", STR_ARG(ns), STR_ARG(name));
    struct route route = {0};
    struct str allow;
    struct err err = {0};
    FUZZ_CHECK(op_find(a, OP_GET, path, &route, &allow, &err), err.msg);
    FUZZ_CHECK(route.op->id == OP_LOAD_TABLE && route.n_args == 2, route.op->name);
    const struct str sent[] = {id->ns, id->name};
    for (unsigned i = 0; i < 2; i++) {
        const struct op_arg *arg = &route.args[i];
        /* A plus that was not encoded is read as a space first. */
        FUZZ_CHECK(str_eq(arg->value, sent[i]) || str_eq(arg->plus, sent[i]), arg->name);
        FUZZ_CHECK(*keep || str_eq(arg->value, sent[i]), arg->name);
    }
}

static void check_json(struct arena *a, const struct ident *id)
{
    struct buf b;
    struct err err = {0};
    struct ident back;
    buf_init(&b, SIZE_MAX / 2);
    buf_puts(&b, "{\"namespace\":[");
    for (struct str rest = id->ns; rest.p;) {
        buf_json_str(&b, str_cut(&rest, IDENT_SEPARATOR));
        buf_puts(&b, rest.p ? "," : "],\"name\":");
    }
    buf_json_str(&b, id->name);
    buf_putc(&b, '}');
    struct str text = buf_take(&b, a);
    json_t *json = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(json, "what was written can be parsed");
    FUZZ_CHECK(ident_from_json(a, json, "", &back, &err), err.msg);
    FUZZ_CHECK(str_eq(back.ns, id->ns) && str_eq(back.name, id->name), "another name");
    json_decref(json);
}

static void check_token(struct arena *a, const struct ident *id)
{
    const struct catalog c = {.warehouse.uuid = STR("11111111-1111-4111-8111-111111111111")};
    const struct page_list list = {.catalog = &c, .parent = id->ns, .kind = "tables"};
    const struct page_list other = {.catalog = &c, .parent = id->name, .kind = "views"};
    struct page page = {.token = page__token(a, &list, id->name), .size = 2};
    struct str after;
    struct err err = {0};
    size_t limit;
    FUZZ_CHECK(page__after(a, &list, &page, &after, &limit, &err), err.msg);
    FUZZ_CHECK(limit == 2 && str_eq(after, id->name), "another place");
    FUZZ_CHECK(!page__after(a, &other, &page, &after, &limit, &err), "a token of another list");
    FUZZ_CHECK(err.kind == ERR_BAD_REQUEST, err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct err err = {0}, bad = {0};
    struct ident id = {.name = fuzz_text(data, size)};
    id.ns = str_cut(&id.name, '\n');
    bool ok =
        id.name.p && ident_ns_check(id.ns, &err) && ident_name_check(id.name, "table name", &bad);
    FUZZ_CHECK(err.kind == ERR_NONE || err.kind == ERR_BAD_REQUEST, err.msg);
    FUZZ_CHECK(bad.kind == ERR_NONE || bad.kind == ERR_BAD_REQUEST, bad.msg);
    if (!ok)
        return 0;
    check_path(a, &id, "");
    check_path(a, &id, "!$&'()*+,;=:@ ");
    check_json(a, &id);
    check_token(a, &id);
    return 0;
}
