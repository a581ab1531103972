/* A file is read as a manifest list and as a manifest: entries whose texts lie in memory, or a
 * reason. */
#include "base.h"
#include "fuzz.h"
#include "manifest.h"

/* Reads every byte, for the sanitizers. */
static void touch(struct str s)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < s.n; i++)
        sum = (unsigned char)(sum + (unsigned char)s.p[i]);
}

static bool next_of_list(struct avro *f, bool *more, struct err *err)
{
    struct manifest_file m;
    TRY(manifest_list_next(f, &m, more, err));
    if (*more) {
        FUZZ_CHECK(m.path.p, "an entry without a path");
        touch(m.path);
    }
    return true;
}

static bool next_of_manifest(struct avro *f, bool *more, struct err *err)
{
    struct manifest_entry e;
    TRY(manifest_next(f, &e, more, err));
    if (*more) {
        FUZZ_CHECK(e.path.p, "an entry without a path");
        touch(e.path);
        touch(e.format);
    }
    return true;
}

static void read_all(struct str bytes, bool (*open)(struct str, struct avro **, struct err *),
    bool (*next)(struct avro *, bool *, struct err *))
{
    AUTO(avro_close) struct avro *f = NULL;
    struct err err = {0};
    bool more = true, ok = open(bytes, &f, &err);
    while (ok && more)
        ok = next(f, &more, &err);
    FUZZ_CHECK(ok == (err.kind == ERR_NONE), "a verdict without a reason");
    FUZZ_CHECK(ok || err.kind == ERR_BAD_REQUEST || err.kind == ERR_UNSUPPORTED ||
                   err.kind == ERR_TOO_LARGE,
        err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = fuzz_text(data, size);
    read_all(bytes, manifest_list_open, next_of_list);
    read_all(bytes, manifest_open, next_of_manifest);
    return 0;
}
