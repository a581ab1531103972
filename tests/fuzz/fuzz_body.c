/* A request body, as every operation reads it: scanned, parsed, compared with its description. */
#include <jansson.h>

#include "base.h"
#include "fuzz.h"
#include "op.h"
#include "scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_text(data, size);
    struct err err = {0};
    json_error_t why;
    if (!scan_validate(text, &scan_body_limits, &err))
        return 0;
    json_t *tree = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    FUZZ_CHECK(tree, why.text);
    for (unsigned i = 0; i < OP_COUNT; i++) {
        struct err told = {0};
        if (!op_rows[i].body)
            continue;
        bool ok = op_check_body(op_rows[i].body, tree, &told);
        FUZZ_CHECK(ok == (told.kind == ERR_NONE), op_rows[i].name);
        FUZZ_CHECK(ok || told.kind == ERR_BAD_REQUEST || told.kind == ERR_INVALID_ARGUMENT,
            op_rows[i].name);
        FUZZ_CHECK(str_is_utf8(str_from(told.msg)), "a message that is not UTF-8");
    }
    json_decref(tree);
    return 0;
}
