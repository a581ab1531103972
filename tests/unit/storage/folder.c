#include "folder.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

const char *folder_make(void)
{
    (void)stpcpy(folder, "/tmp/firn-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void folder_remove(void)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *text(const char *prefix, const char *name)
{
    static char ring[8][2048];
    static unsigned turn;
    char *to = ring[turn++ % 8];
    (void)snprintf(to, sizeof(ring[0]), "%s%s%s%s", prefix, folder, *name ? "/" : "", name);
    return to;
}

const char *folder_path(const char *name)
{
    return text("", name);
}

const char *folder_uri(const char *name)
{
    return text("file://", name);
}
