#include "token.h"

#include <string.h>

#include "digest.h"

enum { DRAWN = 26, MARK_BYTES = 5 };

static void mark(struct str drawn, struct str warehouse_uuid, char *out)
{
    const struct str parts[] = {drawn, warehouse_uuid};
    uint8_t sum[DIGEST_SHA256];
    digest_sha256_parts(parts, 2, sum);
    digest_hex(sum, MARK_BYTES, out);
}

void token_draw(struct str warehouse_uuid, char out[static UUID_TEXT + 1])
{
    uuid_v4(out);
    mark((struct str){out, DRAWN}, warehouse_uuid, out + DRAWN);
}

static bool cut_end(struct str *s, struct str end)
{
    if (!str_ends(*s, end))
        return false;
    s->n -= end.n;
    return true;
}

/* "00007-<uuid>.metadata.json", "00007-<uuid>.gz.metadata.json" */
static struct str uuid_in(struct str uri)
{
    const struct str none = {0};
    struct str name = str_behind(uri, '/');
    if (!cut_end(&name, STR(".metadata.json")))
        return none;
    (void)cut_end(&name, STR(".gz"));
    if (name.n < UUID_TEXT + 2 || name.p[name.n - UUID_TEXT - 1] != '-')
        return none;
    for (size_t i = 0; i < name.n - UUID_TEXT - 1; i++)
        if (name.p[i] < '0' || name.p[i] > '9')
            return none;
    struct str uuid = str_sub(name, name.n - UUID_TEXT, UUID_TEXT);
    return uuid_is(uuid) ? uuid : none;
}

struct str token_of_file(struct str warehouse_uuid, struct str uri)
{
    struct str uuid = uuid_in(uri);
    char expected[2 * MARK_BYTES + 1];
    if (!uuid.p)
        return uuid;
    mark(str_sub(uuid, 0, DRAWN), warehouse_uuid, expected);
    bool ours = memcmp(uuid.p + DRAWN, expected, UUID_TEXT - DRAWN) == 0;
    return ours ? uuid : (struct str){0};
}
