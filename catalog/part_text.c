#include "part_text.h"

#include "arena.h"
#include "base.h"
#include "metadata.h"
#include "scan.h"

/* The cursor at the value of a member; false when there is none. */
static bool find_member(struct scan *s, const char *name)
{
    bool more;
    struct str key;
    TRY(scan_object(s));
    for (;;) {
        TRY(scan_member(s, &key, &more));
        if (!more)
            return false;
        if (str_eq(key, str_from(name)))
            return true;
        TRY(scan_skip(s, NULL));
    }
}

bool part_text(struct arena *a, const struct part *part, const char *name, struct str *out)
{
    AUTO(scan_fini) struct scan s;
    struct err ignored = {.kind = ERR_NONE};
    scan_init(&s, (struct str){part->p, part->n}, &scan_metadata_limits, &ignored);
    return find_member(&s, name) && scan_peek(&s) == SCAN_STRING && scan_string(&s, a, out);
}

bool part_texts(struct arena *a, const struct part *part, const char *name,
    bool (*fn)(void *arg, struct str text), void *arg)
{
    AUTO(scan_fini) struct scan s;
    struct err ignored = {.kind = ERR_NONE};
    struct str text;
    bool more;
    scan_init(&s, (struct str){part->p, part->n}, &scan_metadata_limits, &ignored);
    if (!find_member(&s, name) || scan_peek(&s) != SCAN_ARRAY || !scan_array(&s))
        return true;
    while (scan_element(&s, &more) && more && scan_string(&s, a, &text))
        TRY(fn(arg, text));
    return true;
}
