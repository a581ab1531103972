#include "json_tool.h"

#include <check.h>

#include "arena.h"
#include "base.h"

static void release(void *json)
{
    json_decref(json);
}

json_t *held(struct arena *a, json_t *take)
{
    return arena_hold(a, take, release);
}

json_t *quoted(struct arena *a, const char *text)
{
    char *copy = arena_cstr(a, str_from(text));
    json_error_t why;
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    json_t *v = json_loads(copy, JSON_DECODE_ANY, &why);
    ck_assert_msg(v != NULL, "%s in %s", why.text, copy);
    return held(a, v);
}

json_t *quotedf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str text = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return quoted(a, text.p);
}

static const char *text_of(struct arena *a, const json_t *tree)
{
    return arena_hold(a, json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY), xfree);
}

void check_json(struct arena *a, const json_t *tree, const char *expected)
{
    ck_assert_ptr_nonnull(tree);
    ck_assert_str_eq(text_of(a, tree), text_of(a, quoted(a, expected)));
}
