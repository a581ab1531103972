#include "answer.h"

#include "arena.h"
#include "secret.h"

#include <string.h>

enum { WORDS_MAX = 200, CODE_MAX = 64 };

void answer_fini(struct fetch_response *rs)
{
    secret_wipe(rs->body.p, rs->body.n);
    buf_fini(&rs->body);
}

json_t *answer_json(const struct fetch_response *rs)
{
    return json_loadb(rs->body.p ? rs->body.p : "", rs->body.n, 0, NULL);
}

/* Strings of the tree are copies that jansson does not wipe. */
void answer_free(json_t **json)
{
    const char *name;
    json_t *value;
    json_object_foreach(*json, name, value) if (json_is_string(value))
        secret_wipe(json_string_value(value), json_string_length(value));
    json_decref(*json);
    *json = NULL;
}

struct str answer_text(const json_t *json, const char *name)
{
    const json_t *v = json_object_get(json, name);
    return json_is_string(v) ? (struct str){json_string_value(v), json_string_length(v)}
                             : (struct str){NULL, 0};
}

struct str answer_words(struct arena *a, const json_t *json, const char *name)
{
    return arena_dup(a, str_utf8_cut(answer_text(json, name), WORDS_MAX));
}

struct str answer_code(struct str text)
{
    static const char more[] = ".-_";
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && !(c && strchr(more, c)))
            return (struct str){NULL, 0};
    }
    return text.n > 0 && text.n <= CODE_MAX ? text : (struct str){NULL, 0};
}
