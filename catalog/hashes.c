#include "hashes.h"

#include "base.h"

enum { ROOM_MIN = 256 };

/* Where it is, or would be. */
static uint64_t *slot(const struct hashes *h, uint64_t hash)
{
    size_t i = (size_t)hash & (h->room - 1);
    while (h->v[i] != 0 && h->v[i] != hash)
        i = (i + 1) & (h->room - 1);
    return &h->v[i];
}

static void grow(struct hashes *h)
{
    struct hashes more = {.n = h->n, .room = h->room ? h->room * 2 : ROOM_MIN};
    more.v = xcalloc(more.room, sizeof(uint64_t));
    for (size_t i = 0; i < h->room; i++)
        if (h->v[i] != 0)
            *slot(&more, h->v[i]) = h->v[i];
    xfree(h->v);
    *h = more;
}

bool hashes_add(struct hashes *h, uint64_t hash, size_t max)
{
    hash = hash ? hash : 1;
    if (hashes_has(h, hash))
        return true;
    if (h->n == max)
        return false;
    if (2 * h->n >= h->room)
        grow(h);
    *slot(h, hash) = hash;
    h->n++;
    return false;
}

bool hashes_has(const struct hashes *h, uint64_t hash)
{
    hash = hash ? hash : 1;
    return h->room > 0 && *slot(h, hash) == hash;
}

void hashes_fini(struct hashes *h)
{
    xfree(h->v);
    *h = (struct hashes){0};
}
