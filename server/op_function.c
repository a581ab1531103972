/* Functions. The specification lets clients read them and has no operation that makes one, so every
 * namespace has none. */
#include "call.h"

bool op_list_functions(struct call *c)
{
    struct page page = call_page(c);
    struct buf b;
    TRY(call_need_namespace(c));
    if (page.token.n > 0)
        return err_set(&c->err, ERR_BAD_REQUEST,
            "Invalid pageToken: it is not one that this list has handed out");
    buf_init(&b, 1 << 10);
    buf_puts(&b, "{\"identifiers\":[]}");
    return reply_json(c, &b);
}

bool op_load_function(struct call *c)
{
    struct str name = call_arg(c, "function");
    TRY(call_need_namespace(c));
    struct ident id = {call_ns(c), name};
    struct str text = ident_text(c->arena, &id);
    return err_set(&c->err, ERR_NO_SUCH_FUNCTION, "Function does not exist: %.*s", STR_ARG(text));
}
