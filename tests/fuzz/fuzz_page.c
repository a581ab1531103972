/* A page token and a size, one a line, as clients send them: it says where to go on, or is refused.
 */
#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct catalog c = {.warehouse.uuid = STR("11111111-1111-4111-8111-111111111111")};
    const struct page_list list = {.catalog = &c,
        .parent = STR("a\x1f"
                      "b"),
        .kind = "tables"};
    struct str rest = fuzz_text(data, size), after = {NULL, 0};
    struct page page = {.token = str_cut(&rest, '\n')};
    struct err err = {0}, bad = {0};
    size_t limit = 0;
    if (!rest.p || !str_to_i64(rest, &page.size))
        page.size = 0;
    bool ok = page__after(a, &list, &page, &after, &limit, &err);
    FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
    if (!ok) {
        FUZZ_CHECK(err.kind == ERR_BAD_REQUEST && page.token.n > 0, err.msg);
        return 0;
    }
    FUZZ_CHECK(limit >= 1 && limit <= PAGE_MAX, "a page without a size");
    FUZZ_CHECK((page.token.n == 0) == (after.p == NULL), "where to go on");
    if (!after.p)
        return 0;
    FUZZ_CHECK(ident_name_check(after, "name", &bad), bad.msg);
    page.token = page__token(a, &list, after);
    struct str again;
    FUZZ_CHECK(page__after(a, &list, &page, &again, &limit, &err), err.msg);
    FUZZ_CHECK(str_eq(again, after), "another place");
    return 0;
}
