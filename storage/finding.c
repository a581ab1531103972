#include "finding.h"

#include "arena.h"
#include "base.h"
#include "log.h"
#include "store_priv.h"

#include <stdlib.h>

static const struct {
    const char *name, *text;
} findings[] = {
#define X(kind, name, text) {name, text},
    FINDINGS(X)
#undef X
};
_Static_assert(FINDINGS_N <= 32, "one bit each");

const char *finding_name(enum finding f)
{
    return findings[f].name;
}

const char *finding_text(enum finding f)
{
    return findings[f].text;
}

static struct str names_of(struct arena *a, uint32_t these)
{
    struct str all = {NULL, 0};
    for (size_t i = 0; i < FINDINGS_N; i++)
        if (these & UINT32_C(1) << i)
            all =
                arena_printf(a, "%.*s%s%s", STR_ARG(all), all.n > 0 ? ", " : "", findings[i].name);
    return all;
}

static bool unknown(const char *name, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    return err_set(err, ERR_INTERNAL, "allow: there is no finding %.100s, expected one of %.*s",
        name, STR_ARG(names_of(a, UINT32_MAX)));
}

void findings_log(struct str base, uint32_t allowed)
{
    AUTO(arena_free) struct arena *a = arena_new();
    if (allowed)
        log_write(LOG_WARN, "finding", "%.*s is used even though its trial may find %.*s",
            STR_ARG(base), STR_ARG(names_of(a, allowed)));
}

bool findings_named(const char *const *names, uint32_t *out, struct err *err)
{
    *out = 0;
    for (size_t n = 0; names && names[n]; n++) {
        size_t i = 0;
        while (i < FINDINGS_N && strcmp(findings[i].name, names[n]) != 0)
            i++;
        if (i == FINDINGS_N)
            return unknown(names[n], err);
        *out |= UINT32_C(1) << i;
    }
    return true;
}

void store__warn(struct store *s, const char *text)
{
    AUTO(arena_free) struct arena *a = arena_new();
    char *was = s->warning;
    s->warning = xstrdup(was ? arena_printf(a, "%s; %s", was, text).p : text);
    xfree(was);
}

bool store__found(struct store *s, enum finding f, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    uint32_t bit = UINT32_C(1) << f;
    if (!(s->allow & bit))
        return err_set(err, ERR_INTERNAL,
            "%s (%s, which a warehouse has to allow by this name to be used all the same)",
            finding_text(f), finding_name(f));
    err_clear(err);
    if (s->found & bit)
        return true;
    s->found |= bit;
    store__warn(s, arena_printf(a, "%s, which is allowed: %s", finding_name(f), finding_text(f)).p);
    log_write(LOG_WARN, "finding", "%s: %s is allowed, and so: %s", s->roots[0].uri,
        finding_name(f), finding_text(f));
    return true;
}
