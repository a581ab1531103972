/* The raw path of a request (first line) and the values of its parameters (further lines). */
#include "arena.h"
#include "base.h"
#include "fuzz.h"
#include "op.h"

static void check_route(const struct route *r)
{
    FUZZ_CHECK(r->op && r->n_args <= OP_PARAMS_MAX, "route");
    for (unsigned i = 0; i < r->n_args; i++) {
        const struct op_arg *arg = &r->args[i];
        FUZZ_CHECK(arg->name && arg->value.p && arg->plus.p, "argument");
        FUZZ_CHECK(str_is_utf8(arg->value) && str_is_utf8(arg->plus), arg->name);
        FUZZ_CHECK(str_find(arg->value, '\0') == arg->value.n, arg->name);
    }
}

/* Slashes in a row are refused, or count as one. */
static void check_slashes(
    struct arena *a, enum op_method method, struct str path, const struct route *r)
{
    char *single = arena_alloc(a, path.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] != '/' || i == 0 || path.p[i - 1] != '/')
            single[n++] = path.p[i];
    single[n] = '\0';

    struct route same = {0};
    struct str allow = {NULL, 0};
    struct err err = {0};
    FUZZ_CHECK(op_find(a, method, (struct str){single, n}, &same, &allow, &err) && same.op == r->op,
        single);
    for (unsigned i = 0; i < r->n_args; i++)
        FUZZ_CHECK(str_eq(same.args[i].value, r->args[i].value), single);
}

static void check_params(struct arena *a, const struct op *op, struct str rest)
{
    struct str values[OP_PARAMS_MAX] = {
        {NULL, 0}
    };
    struct err err = {0};
    for (unsigned i = 0; i < OP_PARAMS_MAX && rest.p; i++)
        values[i] = arena_dup(a, str_cut(&rest, '\n'));
    bool ok = op_check_params(a, op, values, &err);
    FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str rest = fuzz_text(data, size);
    struct str path = str_cut(&rest, '\n');
    for (int method = 0; method < OP_METHOD_COUNT; method++) {
        struct route route = {0};
        struct str allow = {NULL, 0};
        struct err err = {0};
        bool ok = op_find(a, (enum op_method)method, path, &route, &allow, &err);
        FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
        FUZZ_CHECK(ok || err.kind != ERR_METHOD || allow.n, "405 without Allow");
        if (ok) {
            check_route(&route);
            check_slashes(a, (enum op_method)method, path, &route);
            check_params(a, route.op, rest);
        }
    }
    return 0;
}
