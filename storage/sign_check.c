#include "arena.h"
#include "base.h"
#include "sign_priv.h"

bool sign__check(struct arena *a, const struct sign_folder *f, enum vend_access access,
    const struct sign_request *rq, struct sign_plan *out, struct err *err)
{
    *out = (struct sign_plan){0};
    if (!str_eq(rq->region, f->region))
        return err_set(err, ERR_STORE_DENIED,
            "The request to be signed is refused: it is for the region %.*s, the store is in %.*s",
            STR_ARG(str_sub(rq->region, 0, 48)), STR_ARG(f->region));
    TRY(sign__uri(a, f, rq->uri, &out->at, err));
    TRY(sign__shape(a, f, access, rq->method, out, err));
    if (out->kind == SIGN_DELETES_MANY)
        TRY(sign__deletes(a, f, rq->body, err));
    TRY(sign__headers(a, rq, out, err));
    out->uri =
        arena_printf(a, "%s://%.*s%.*s%s%.*s", endpoint_word(f->scheme), STR_ARG(out->at.host),
            STR_ARG(out->at.path), out->at.query.n > 0 ? "?" : "", STR_ARG(out->at.query));
    return true;
}
