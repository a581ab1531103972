/* The scanner accepts what jansson accepts, and nothing else. */
#include <jansson.h>

#include "base.h"
#include "fuzz.h"
#include "scan.h"

/* As deep as jansson goes. */
static const struct scan_limits wide = {
    .bytes = SIZE_MAX, .tokens = SIZE_MAX, .string = UINT32_MAX, .depth = 2048};

/* Walks the top level by cursor; the same verdict as passing over all of it. */
static bool walk(struct str text, struct err *err)
{
    AUTO(scan_fini) struct scan s;
    struct str key, slice;
    bool more = true;
    scan_init(&s, text, &wide, err);
    bool object = scan_peek(&s) == SCAN_OBJECT;
    if (!object && scan_peek(&s) != SCAN_ARRAY)
        return scan_skip(&s, NULL) && scan_end(&s);
    TRY(object ? scan_object(&s) : scan_array(&s));
    for (;;) {
        TRY(object ? scan_member(&s, &key, &more) : scan_element(&s, &more));
        if (!more)
            return scan_end(&s);
        TRY(scan_skip(&s, &slice));
        FUZZ_CHECK(slice.p > text.p && slice.p + slice.n <= text.p + text.n, "slice outside");
        struct err inner = {0};
        FUZZ_CHECK(scan_validate(slice, &wide, &inner), inner.msg);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_text(data, size);
    struct err err = {0}, walk_err = {0}, body_err = {0};
    json_error_t why;
    bool ok = scan_validate(text, &wide, &err);
    json_t *tree = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    FUZZ_CHECK(!ok || tree, why.text);
    /* jansson overlooks a NUL that stands behind a word or a number. */
    FUZZ_CHECK(ok || !tree || str_find(text, '\0') < text.n, err.msg);
    json_decref(tree);
    FUZZ_CHECK(walk(text, &walk_err) == ok, ok ? walk_err.msg : err.msg);
    FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
    FUZZ_CHECK(!scan_validate(text, &scan_body_limits, &body_err) || ok, err.msg);
    return 0;
}
