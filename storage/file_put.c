#include "file_priv.h"

#include "base.h"
#include "uuid.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { FILE_MODE = 0666, PIECES_AT_ONCE = 64 };

/* Drops `done` bytes off the front of the vector; what is left of it. */
static struct iovec *advance(struct iovec *v, int *n, size_t done)
{
    while (*n > 0 && done >= v->iov_len) {
        done -= v->iov_len;
        v++;
        (*n)--;
    }
    if (*n > 0) {
        v->iov_base = (char *)v->iov_base + done;
        v->iov_len -= done;
    }
    return v;
}

static int write_vector(int fd, struct iovec *v, int n)
{
    v = advance(v, &n, 0);
    while (n > 0) {
        ssize_t done = writev(fd, v, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        v = advance(v, &n, (size_t)done);
    }
    return 0;
}

static int write_pieces(int fd, const struct str *pieces, size_t n)
{
    while (n > 0) {
        struct iovec v[PIECES_AT_ONCE];
        size_t now = n < PIECES_AT_ONCE ? n : PIECES_AT_ONCE;
        for (size_t i = 0; i < now; i++) {
            void *p = (void *)(uintptr_t)pieces[i].p; /* NOLINT(performance-no-int-to-ptr): const */
            v[i] = (struct iovec){p, pieces[i].n};
        }
        if (write_vector(fd, v, (int)now) < 0)
            return -1;
        pieces += now;
        n -= now;
    }
    return 0;
}

/* Gives the temporary file its name, if nobody has it. Some file systems have no hard links. */
static int publish(int dir, const char *tmp, const char *name)
{
    if (linkat(dir, tmp, dir, name, 0) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return -1;
    return renameat2(dir, tmp, dir, name, RENAME_NOREPLACE);
}

/* The name that is there now, and what it names, outlive a crash. 0, or an errno: it is gone. */
static int settle(int dir, int fd, const char *name)
{
    if (fsync(fd) == 0 && fsync(dir) == 0)
        return 0;
    int e = errno;
    (void)unlinkat(dir, name, 0);
    return e;
}

/* Gives the file without a name its name. 0, or an errno: EOPNOTSUPP when /proc is missing. */
static int link_unnamed(int fd, int dir, const char *name)
{
    char self[32];
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    return errno == EEXIST || errno == ENOSPC || errno == EDQUOT ? errno : EOPNOTSUPP;
}

/* A file that has no name, with all that is to be in it. 0, or an errno: EOPNOTSUPP where the file
 * system has no such files. */
static int write_unnamed(int dir, const struct str *pieces, size_t n, int *fd)
{
    *fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE);
    if (*fd < 0)
        return errno == EISDIR || errno == EINVAL ? EOPNOTSUPP : errno;
    return write_pieces(*fd, pieces, n) < 0 ? errno : 0;
}

/* Through a file that has no name until all of it is written. 0, or an errno: EOPNOTSUPP when that
 * cannot be done here. */
static int put_unnamed(int dir, const char *name, const struct str *pieces, size_t n)
{
    AUTO(fd_close) int fd = -1;
    int e = write_unnamed(dir, pieces, n, &fd);
    if (e == 0)
        e = link_unnamed(fd, dir, name);
    return e == 0 ? settle(dir, fd, name) : e;
}

/* Through a file of another name. 0, or an errno. */
static int put_renamed(int dir, const char *name, const struct str *pieces, size_t n)
{
    char id[UUID_TEXT + 1], tmp[sizeof(STORE_TMP_PREFIX) + UUID_TEXT];
    uuid_v4(id);
    *(char *)mempcpy(mempcpy(tmp, STORE_TMP_PREFIX, sizeof(STORE_TMP_PREFIX) - 1), id, UUID_TEXT) =
        '\0';
    AUTO(fd_close)
    int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return errno;
    bool there = write_pieces(fd, pieces, n) == 0 && publish(dir, tmp, name) == 0;
    int e = there ? 0 : errno;
    (void)unlinkat(dir, tmp, 0);
    return there ? settle(dir, fd, name) : e;
}

/* 0, or an errno. */
static int put_in(int dir, const char *name, const struct str *pieces, size_t n)
{
    int e = put_unnamed(dir, name, pieces, n);
    return e == EOPNOTSUPP ? put_renamed(dir, name, pieces, n) : e;
}

bool file__put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    (void)s;
    (void)content_type;
    char folder[URI_TEXT];
    const char *name = file__split_name(p->rel, folder);
    if (!*name)
        return file__fail(err, "write", p->uri, EEXIST);
    AUTO(fd_close) int dir = file__open_making(p->root, folder);
    if (dir < 0)
        return file__fail_write(err, p->uri, errno);
    int e = put_in(dir, name, pieces, n);
    return e == 0 || file__fail_write(err, p->uri, e);
}

/* Opens a folder in another, made if it is not there and not durable then. */
static int make_in(int dir, const char *name)
{
    struct stat st;
    if (mkdirat(dir, name, FOLDER_MODE) < 0 && errno != EEXIST)
        return -1;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOTDIR)
        errno = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP
                                                                                         : ENOTDIR;
    return fd;
}

/* The first file of a new place, and the folders that are made for it. */
struct first {
    const char *place, *folder, *name, *beside;
    const struct store_file *file;
};

/* The folders of a new place are nobody else's yet. So they become durable once everything is in
 * them, from the file upwards, and not one by one. */
static int put_first(int above, const struct first *f)
{
    AUTO(fd_close) int top = make_in(above, f->place);
    AUTO(fd_close) int dir = top < 0 ? -1 : make_in(top, f->folder);
    if (dir < 0)
        return errno;
    if (f->beside)
        (void)mkdirat(top, f->beside, FOLDER_MODE); /* its absence harms only some clients */
    int e = put_in(dir, f->name, f->file->pieces, f->file->n);
    if (e != 0 || (fsync(top) == 0 && fsync(above) == 0))
        return e;
    e = errno;
    (void)unlinkat(dir, f->name, 0);
    return e;
}

/* What is above the place may be in use already, and is durable before anything is in it. */
bool file__put_first(struct store *s, const struct place *p, const struct store_file *file,
    const char *beside, struct err *err)
{
    (void)s;
    char folder[URI_TEXT], place[URI_TEXT], above[URI_TEXT];
    struct first f = {.beside = beside, .file = file};
    f.name = file__split_name(p->rel, folder);
    f.folder = file__split_name(folder, place);
    f.place = file__split_name(place, above);
    if (!*f.name || !*f.folder || !*f.place)
        return file__fail(err, "write", p->uri, EEXIST);
    AUTO(fd_close) int dir = file__open_making(p->root, above);
    if (dir < 0)
        return file__fail_write(err, p->uri, errno);
    int e = put_first(dir, &f);
    return e == 0 || file__fail_write(err, p->uri, e);
}

/* One of several: in its folder, not settled yet. */
struct putting {
    int dir, fd;
    const char *name; /* in the place's text */
    bool linked;
};

/* Until it has its name. 0, or an errno. */
static int put_begin(struct putting *f, const struct place *p, const struct store_file *file)
{
    char folder[URI_TEXT];
    const char *name = file__split_name(p->rel, folder);
    if (!*name)
        return EEXIST;
    f->name = name;
    f->dir = file__open_making(p->root, folder);
    if (f->dir < 0)
        return errno;
    int e = write_unnamed(f->dir, file->pieces, file->n, &f->fd);
    if (e == 0) {
        /* On its way to the disk already, while the next ones are written. */
        (void)sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        e = link_unnamed(f->fd, f->dir, name);
        f->linked = e == 0;
    }
    if (e != EOPNOTSUPP)
        return e;
    fd_close(&f->fd); /* the other way settles it at once */
    e = put_renamed(f->dir, name, file->pieces, file->n);
    f->linked = e == 0;
    return e;
}

/* All names, and what they name, outlive a crash. 0, or an errno, and *at. */
static int settle_all(const struct putting *f, size_t n, size_t *at)
{
    for (*at = 0; *at < n; (*at)++)
        if (f[*at].fd >= 0 && fsync(f[*at].fd) < 0)
            return errno;
    for (*at = 0; *at < n; (*at)++)
        if (f[*at].fd >= 0 && fsync(f[*at].dir) < 0)
            return errno;
    return 0;
}

/* All are written and have their names before the first is waited for: the disk, or the file
 * system's journal, is busy with them meanwhile, and one flush may be many files'. */
bool file__put_all(struct store *s, const struct place *p, struct store_file *files, size_t n,
    size_t *at, struct err *err)
{
    (void)s;
    struct putting f[PUT_AT_ONCE];
    int e = 0;
    size_t begun = 0;
    for (; begun < n && e == 0; begun++) {
        *at = begun;
        f[begun] = (struct putting){.dir = -1, .fd = -1};
        e = put_begin(&f[begun], &p[begun], &files[begun]);
    }
    if (e == 0)
        e = settle_all(f, n, at);
    for (size_t i = 0; i < begun; i++) {
        files[i].written = e == 0;
        if (e != 0 && f[i].linked)
            (void)unlinkat(f[i].dir, f[i].name, 0);
        fd_close(&f[i].fd);
        fd_close(&f[i].dir);
    }
    return e == 0 || file__fail_write(err, p[*at].uri, e);
}
