/* A request to be signed: path, query and "name:value" headers, one a line. */
#include "arena.h"
#include "base.h"
#include "fuzz.h"
#include "sigv4.h"

enum { HEADERS = 16 };

static bool same(struct str a, struct str b)
{
    return str_eq(a, b) && a.p;
}

static void sign(struct arena *a, const struct sigv4_key *key, const struct sigv4_request *rq)
{
    struct fetch_header first[4], second[4];
    size_t n = 0, again = 0;
    struct err err = {0};
    FUZZ_CHECK(same(sigv4_canonical(a, key, rq), sigv4_canonical(a, key, rq)), "canonical form");
    if (!sigv4_sign(a, key, rq, first, &n, &err)) {
        FUZZ_CHECK(err.kind != ERR_NONE, "a verdict without a reason");
        return;
    }
    FUZZ_CHECK(n >= 1 && n <= 4 && sigv4_sign(a, key, rq, second, &again, &err), err.msg);
    FUZZ_CHECK(n == again, "not the same headers");
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(same(first[i].value, second[i].value), "not the same signature");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str rest = fuzz_text(data, size);
    struct fetch_header headers[HEADERS];
    size_t n = 0;
    struct str path = str_cut(&rest, '\n'), query = str_cut(&rest, '\n');
    while (rest.p && n < HEADERS) {
        struct str value = str_cut(&rest, '\n');
        struct str name = str_cut(&value, ':');
        if (name.n && value.p)
            headers[n++] = (struct fetch_header){name, value};
    }
    struct sigv4_key key = {.id = STR("AKIDEXAMPLE"),
        .secret = STR("secret"),
        .region = STR("eu-central-1"),
        .service = STR("s3")};
    struct sigv4_request rq = {.method = STR("GET"),
        .host = STR("bucket.example.com"),
        .path = sigv4_encode_path(a, path),
        .query = query,
        .headers = headers,
        .n_headers = n,
        .payload_hash = STR("UNSIGNED-PAYLOAD"),
        .now_ms = 1700000000000};
    sign(a, &key, &rq);
    rq.path = path;
    sign(a, &key, &rq);
    return 0;
}
