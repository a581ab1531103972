/* Replays the inputs in the files and folders that are named, without a fuzzer. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "base.h"
#include "fuzz.h"

enum { INPUT_MAX = 64 << 20 };

/* The input lies in memory of exactly its size: a sanitizer sees every read beyond it. */
static bool replay_file(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st) != 0 || st.st_size > INPUT_MAX) {
        fprintf(stderr, "%s: %s\n", path, f ? "too large" : strerror(errno));
        return false;
    }
    size_t n = (size_t)st.st_size;
    uint8_t *data = xmalloc(n);
    bool ok = fread(data, 1, n, f) == n;
    fclose(f);
    fprintf(stderr, "%s\n", path); /* the last one is the culprit */
    if (ok)
        LLVMFuzzerTestOneInput(data, n);
    xfree(data);
    return ok;
}

/* How many inputs were replayed, or -1. A folder that does not exist holds none. */
static int replay_folder(struct arena *a, const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    if (!dir)
        return errno == ENOENT ? 0 : errno == ENOTDIR ? (replay_file(path) ? 1 : -1) : -1;
    for (const struct dirent *e = readdir(dir); e && n >= 0; e = readdir(dir)) {
        if (e->d_name[0] == '.')
            continue;
        n = replay_file(arena_printf(a, "%s/%s", path, e->d_name).p) ? n + 1 : -1;
    }
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    AUTO(arena_free) struct arena *a = arena_new();
    int all = 0;
    for (int i = 1; i < argc; i++) {
        int n = replay_folder(a, argv[i]);
        if (n < 0)
            return EXIT_FAILURE;
        all += n;
    }
    printf("%d inputs replayed\n", all);
    return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
