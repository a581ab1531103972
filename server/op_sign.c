/* Requests to the store, signed for clients. */
#include "call.h"
#include "sign.h"
#include "table.h"
#include "vending.h"

enum { ANSWER_MAX = 256 * 1024, USUAL = 2048 };

static void read_headers(struct call *c, struct sign_request *rq)
{
    json_t *headers = json_object_get(c->json, "headers"), *values, *value;
    const char *name;
    size_t n = 0, i;

    json_object_foreach(headers, name, values)
    {
        n += json_array_size(values);
    }
    struct fetch_header *list = ARENA_ARRAY(c->arena, struct fetch_header, n + 1);
    json_object_foreach(headers, name, values)
    {
        json_array_foreach(values, i, value) list[rq->n_headers++] =
            (struct fetch_header){str_from(name), json_text(value)};
    }
    rq->headers = list;
}

static bool read_request(struct call *c, struct sign_request *rq)
{
    struct str provider = json_text_at(c->json, "provider");

    *rq = (struct sign_request){.method = json_text_at(c->json, "method"),
        .uri = json_text_at(c->json, "uri"),
        .region = json_text_at(c->json, "region"),
        .body = json_text_at(c->json, "body")};
    read_headers(c, rq);
    return !provider.p || str_eq_nocase(provider, STR("s3")) ||
           err_set(&c->err, ERR_BAD_REQUEST, "/provider: requests are signed for s3 only");
}

/* The registered location decides, not the one in the metadata. A table that was created staged has
 * none yet: as long as nothing lies where it is to be, whoever may create it there may write. */
static bool find_folder(struct call *c, struct str *folder)
{
    const struct ident id = call_ident(c);
    struct str staged = call_param(c, "staged");

    *folder = c->found.object.location;
    if (!staged.p || c->found.object.id != 0)
        return call_need_object(c, SQL_TABLE);
    if (!lane_may_block())
        return err_set(&c->err, ERR_WOULD_BLOCK, "the place has to be looked at");
    return table_staged(c->arena, c->catalog, &id, staged, folder, &c->err);
}

/* Rows of one name stand together. */
static void put_headers(struct buf *b, const struct fetch_header *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(list[i].name, list[i - 1].name)) {
            b->n--; /* its bracket */
            buf_putc(b, ',');
        } else {
            buf_puts(b, i > 0 ? "," : "");
            buf_json_str(b, list[i].name);
            buf_puts(b, ":[");
        }
        buf_json_str(b, list[i].value);
        buf_putc(b, ']');
    }
}

bool op_sign_request(struct call *c)
{
    struct store *store = catalog_store(c->catalog);
    struct sign_request rq;
    struct sign_answer signd;
    struct str folder;
    struct buf b;

    TRY(find_folder(c, &folder));
    if (!sign_offered(store))
        return err_set(&c->err, ERR_UNSUPPORTED, "This warehouse does not sign requests");
    TRY(read_request(c, &rq));
    if (!sign_request(c->arena, store, folder, VEND_WRITE, &rq, &signd, &c->err)) {
        if (c->err.kind == ERR_STORE_BAD_URI)
            return err_as(&c->err, ERR_BAD_REQUEST);
        if (c->err.kind == ERR_STORE_DENIED)
            return err_as(&c->err, ERR_FORBIDDEN);
        return vending_failed(&c->err);
    }
    buf_init(&b, ANSWER_MAX);
    buf_reserve(&b, USUAL);
    buf_puts(&b, "{\"uri\":");
    buf_json_str(&b, signd.uri);
    buf_puts(&b, ",\"headers\":{");
    put_headers(&b, signd.headers, signd.n_headers);
    buf_puts(&b, "}}");
    /* Java keeps signatures for all users of its process: only where there is but one. */
    bool again = signd.reuse == SIGN_AGAIN && !c->principal.p;
    return reply_kept(c, again ? STR("private") : STR("no-cache"), buf_take(&b, c->arena));
}
