#include "credentials.h"

#include "base.h"
#include "digest.h"

#include <string.h>

static char *copy(struct str s)
{
    char *p = xmalloc(s.n + 1);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

struct credentials *credentials_new(
    struct str id, struct str secret, struct str token, int64_t expires_ms)
{
    struct credentials *c = xcalloc(1, sizeof(*c));
    ref_init(&c->ref);
    c->id = copy(id);
    c->secret = copy(secret);
    c->token = token.n > 0 ? copy(token) : NULL;
    c->expires_ms = expires_ms;
    return c;
}

static void wipe(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    xfree(s);
}

struct credentials *credentials_ref(struct credentials *c)
{
    ref_get(&c->ref);
    return c;
}

void credentials_unref(struct credentials **c)
{
    if (*c && ref_put(&(*c)->ref)) {
        wipe((*c)->id);
        wipe((*c)->secret);
        wipe((*c)->token);
        xfree(*c);
    }
    *c = NULL;
}

bool credentials_same(const struct credentials *a, const struct credentials *b)
{
    return str_eq(str_from(a->id), str_from(b->id)) &&
           digest_equal(str_from(a->secret), str_from(b->secret)) &&
           digest_equal(str_from(a->token), str_from(b->token));
}
