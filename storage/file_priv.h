/* Local files: what opening and writing them share (file.c, file_put.c). */
#pragma once

#include <errno.h>
#include <unistd.h>

#include "store_priv.h"

enum { FOLDER_MODE = 0777 };

/* errno survives: the cleanup must not hide why its function failed. */
static inline void fd_close(int *fd)
{
    int e = errno;
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
    errno = e;
}

static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* err with "cannot VERB URI: ", for an errno. */
bool file__fail(struct err *err, const char *verb, struct str uri, int e);
/* The same where a missing folder is not "not found". */
bool file__fail_write(struct err *err, struct str uri, int e);
/* Splits rel into its folder, copied, and the name in it. */
const char *file__split_name(const char *rel, char folder[static URI_TEXT]);
/* Opens the folder rel for reading and makes what is missing of it; made folders are durable. -1:
 * errno. */
int file__open_making(const struct root *r, const char *rel);

/* store_ops' put_new, put_first and put_all. */
MUST bool file__put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err);
MUST bool file__put_first(struct store *s, const struct place *p, const struct store_file *file,
    const char *beside, struct err *err);
MUST bool file__put_all(struct store *s, const struct place *p, struct store_file *files, size_t n,
    size_t *at, struct err *err);
