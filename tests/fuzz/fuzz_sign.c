/* A request to be signed: method, URI, headers as "name:value", one a line; behind an empty line
 * the body. What is signed lies in the folder, however it is read. */
#include <string.h>

#include "arena.h"
#include "base.h"
#include "fuzz.h"
#include "sign_priv.h"

enum { HEADERS = 70 };

static const struct sign_folder folder = {
    .scheme = ENDPOINT_HTTPS,
    .host = STR_INIT("s3.example:9000"),
    .bucket = STR_INIT("wh"),
    .key = STR_INIT("ns/t1"),
    .region = STR_INIT("r"),
    .forms = SIGN_IN_PATH | SIGN_IN_HOST,
};

static bool begins(struct str s, const char *with)
{
    return str_starts(s, str_from(with));
}

/* No reader finds a way up, be it that it decodes once more. */
static void check_path(struct str path)
{
    FUZZ_CHECK(!memmem(path.p, path.n, "/../", 4) && !memmem(path.p, path.n, "/./", 3), path.p);
    FUZZ_CHECK(!memmem(path.p, path.n, "//", 2) && !str_ends(path, STR("/..")), path.p);
    FUZZ_CHECK(!strcasestr(path.p, "%2f") && !strcasestr(path.p, "%00"), path.p);
    FUZZ_CHECK(!strcasestr(path.p, "%5c"), path.p);
}

static void check_place(struct arena *a, const struct sign_plan *plan)
{
    struct str at = plan->at.path, host = plan->at.host;
    bool in_path = str_eq_nocase(host, folder.host);
    FUZZ_CHECK(in_path || str_eq_nocase(host, STR("wh.s3.example:9000")), "another host");
    if (in_path) {
        FUZZ_CHECK(begins(at, "/wh"), at.p);
        at = str_sub(at, 3, at.n);
    }
    if (!plan->at.key.p) {
        FUZZ_CHECK(at.n <= 1, "an object, read as the bucket");
        FUZZ_CHECK(plan->kind != SIGN_WRITES, "the bucket is written");
        return;
    }
    check_path(arena_dup(a, at));
    bool itself = str_eq(at, STR("/ns/t1")) && plan->kind == SIGN_READS;
    FUZZ_CHECK(itself || begins(at, "/ns/t1/"), "outside of the folder");
}

static void check_headers(const struct sign_plan *plan)
{
    FUZZ_CHECK(plan->n_signs <= plan->n_sends && plan->n_sends <= SIGN_HEADERS_MAX, "counts");
    for (size_t i = 0; i < plan->n_sends; i++) {
        struct str name = plan->sends[i].name;
        FUZZ_CHECK(!str_eq_nocase(name, STR("x-amz-copy-source")), "a copy");
        FUZZ_CHECK(!str_eq_nocase(name, STR("x-amz-acl")), "rights");
        FUZZ_CHECK(!str_eq_nocase(name, STR("authorization")), "another signature");
        FUZZ_CHECK(str_find(plan->sends[i].value, '\n') == plan->sends[i].value.n, "two lines");
    }
    FUZZ_CHECK(plan->payload_hash.n > 0, "no hash");
}

/* What is signed is what was read: taken as a request of its own it is read alike. */
static void check_again(
    struct arena *a, const struct sign_request *rq, const struct sign_plan *plan)
{
    struct sign_request second = *rq;
    struct sign_plan again;
    struct err err = {0};
    second.uri = plan->uri;
    FUZZ_CHECK(sign__check(a, &folder, VEND_WRITE, &second, &again, &err), err.msg);
    FUZZ_CHECK(
        str_eq(again.uri, plan->uri) && str_eq(again.at.key, plan->at.key), "read otherwise");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct str rest = fuzz_text(data, size);
    struct fetch_header headers[HEADERS];
    struct sign_request rq = {.region = folder.region, .headers = headers};
    struct sign_plan plan;
    struct err err = {0};
    rq.method = str_cut(&rest, '\n');
    rq.uri = str_cut(&rest, '\n');
    while (rest.p && rq.n_headers < HEADERS) {
        struct str value = str_cut(&rest, '\n');
        if (value.n == 0)
            break;
        struct str name = str_cut(&value, ':');
        headers[rq.n_headers++] = (struct fetch_header){name, value.p ? value : STR("")};
    }
    rq.body = rest;
    if (!sign__check(a, &folder, VEND_WRITE, &rq, &plan, &err)) {
        FUZZ_CHECK(err.kind == ERR_STORE_BAD_URI || err.kind == ERR_STORE_DENIED, err.msg);
        return 0;
    }
    check_place(a, &plan);
    check_headers(&plan);
    check_again(a, &rq, &plan);
    return 0;
}
