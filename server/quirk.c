#include "quirk.h"

#include <string.h>

#include "call.h"

bool quirk_holds(const struct call *c, enum quirk what)
{
    static const struct {
        struct str agent;
        unsigned op;
        enum quirk what;
    } rows[] = {
#define X(agent, op, what, why) {STR_INIT(agent), (op), (what)},
        QUIRKS(X)
#undef X
    };
    struct str agent = call_header(c, HEADER_USER_AGENT);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (what == rows[i].what && c->op->id == rows[i].op && str_starts(agent, rows[i].agent))
            return true;
    return false;
}

static struct str levels_of(struct arena *a, struct str dotted)
{
    char *levels = arena_cstr(a, dotted);

    for (size_t i = 0; i < dotted.n; i++)
        if (levels[i] == '.')
            levels[i] = IDENT_SEPARATOR;
    return (struct str){levels, dotted.n};
}

void quirk_read_args(struct call *c)
{
    if (!quirk_holds(c, QUIRK_DOTTED_LEVELS))
        return;
    for (unsigned i = 0; i < c->route.n_args; i++) {
        struct op_arg *arg = &c->route.args[i];

        if (strcmp(arg->name, "namespace") != 0)
            continue;
        arg->value = levels_of(c->arena, arg->value);
        arg->plus = levels_of(c->arena, arg->plus);
    }
}

void quirk_read_body(struct call *c)
{
    const json_t *sent = json_array_get(json_object_get(c->json, "namespace"), 0);

    if (!json_is_string(sent) || !quirk_holds(c, QUIRK_DOTTED_LEVELS))
        return;
    json_t *levels = json_array();
    struct str rest = json_text(sent);
    while (rest.p) {
        struct str level = str_cut(&rest, '.');
        json_array_append_new(levels, json_stringn(level.p, level.n));
    }
    json_object_set_new(c->json, "namespace", levels);
}
