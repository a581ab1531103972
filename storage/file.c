#include "store_priv.h"

#include "arena.h"
#include "base.h"
#include "uuid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FOLDER_MODE = 0777, FILE_MODE = 0666, PIECES_AT_ONCE = 64, DEPTH_MAX = 64 };

/* errno survives: the cleanup must not hide why its function failed. */
static void fd_close(int *fd)
{
    int e = errno;
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
    errno = e;
}

static int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static void dir_close(DIR **d)
{
    if (*d)
        (void)closedir(*d);
    *d = NULL;
}

static enum err_kind kind_of(int e)
{
    switch (e) {
    case ENOENT:
    case ENOTDIR:
        return ERR_STORE_NOT_FOUND;
    case EEXIST:
        return ERR_STORE_EXISTS;
    case EACCES:
    case EPERM:
    case ELOOP: /* a symbolic link on the way */
    case EXDEV: /* a way out of the root */
        return ERR_STORE_DENIED;
    case ENAMETOOLONG:
        return ERR_STORE_BAD_URI;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
    case EINTR:
        return ERR_UNAVAILABLE;
    case ENOSPC:
    case EDQUOT:
        return ERR_STORE_FULL;
    default: /* EIO, EROFS, …: an operator has to look */
        return ERR_INTERNAL;
    }
}

static const char *words_of(int e)
{
    switch (e) {
    case ELOOP:
        return "there is a symbolic link on the way, and they are not followed";
    case EXDEV:
        return "it leads out of the allowed folder";
    case ENOSPC:
        return "the disk is full";
    case EDQUOT:
        return "the disk quota is used up";
    default:
        return strerror(e);
    }
}

/* "cannot write file:/x: the disk is full" */
static bool fail(struct err *err, const char *verb, struct str uri, int e)
{
    return err_set(err, kind_of(e), "cannot %s %.*s: %s", verb, STR_ARG(uri), words_of(e));
}

/* Writing where a folder is missing is not "not found": the root went away, or a file is in the
 * way. */
static bool fail_write(struct err *err, struct str uri, int e)
{
    if (e == ENOENT)
        return err_set(err, ERR_INTERNAL,
            "cannot write %.*s: the folder was removed while the server ran", STR_ARG(uri));
    if (e == ENOTDIR)
        return err_set(err, ERR_INTERNAL,
            "cannot write %.*s: a file stands where a folder is needed", STR_ARG(uri));
    return fail(err, "write", uri, e);
}

/* Opens rel one step at a time; for kernels and sandboxes without openat2. */
static int open_walking(int root, const char *rel, int flags)
{
    AUTO(fd_close) int dir = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (dir >= 0) {
        const char *slash = strchrnul(rel, '/');
        char name[NAME_MAX + 1];
        size_t n = (size_t)(slash - rel);
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, rel, n);
        name[n] = '\0';
        int how = *slash ? O_PATH | O_DIRECTORY : flags;
        AUTO(fd_close) int next = openat(dir, n ? name : ".", how | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -1;
        struct stat st;
        if (fstat(next, &st) == 0 && S_ISLNK(st.st_mode)) { /* O_PATH opens the link itself */
            errno = ELOOP;
            return -1;
        }
        if (!*slash)
            return fd_take(&next);
        fd_close(&dir);
        dir = fd_take(&next);
        rel = slash + 1;
    }
    return -1;
}

/* Opens rel beneath the root, never through a link and never above it. -1 with errno. */
int file__open(const struct root *r, const char *rel, int flags)
{
    if (r->open == ROOT_WALK)
        return open_walking(r->fd, rel, flags);
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = -1;
    for (int tries = 0; tries < 8; tries++) {
        fd = (int)syscall(SYS_openat2, r->fd, *rel ? rel : ".", &how, sizeof(how));
        /* EAGAIN: something was renamed on the way while the kernel walked it. */
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

/* Opens the folder rel for reading and makes what is missing of it; made folders are durable. */
static int open_making(const struct root *r, const char *rel)
{
    AUTO(fd_close) int dir = file__open(r, rel, O_RDONLY | O_DIRECTORY);
    if (dir >= 0 || errno != ENOENT)
        return fd_take(&dir);
    dir = file__open(r, "", O_RDONLY | O_DIRECTORY);
    while (dir >= 0 && *rel) {
        const char *slash = strchrnul(rel, '/');
        char name[NAME_MAX + 1];
        if ((size_t)(slash - rel) > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        *(char *)mempcpy(name, rel, (size_t)(slash - rel)) = '\0';
        int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        AUTO(fd_close) int next = openat(dir, name, how);
        if (next < 0 && errno == ENOENT) {
            if ((mkdirat(dir, name, FOLDER_MODE) < 0 && errno != EEXIST) || fsync(dir) < 0)
                return -1;
            next = openat(dir, name, how);
        }
        if (next < 0)
            return -1;
        fd_close(&dir);
        dir = fd_take(&next);
        rel = *slash ? slash + 1 : slash;
    }
    return fd_take(&dir);
}

/* What one system call can tell of a path, where realpath makes one for each folder. */
enum plain { PLAIN_THERE, PLAIN_NOT_THERE, PLAIN_UNKNOWN };

static enum plain look_at(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    AUTO(fd_close) int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    if (fd >= 0)
        return PLAIN_THERE; /* and no link is on it */
    return errno == ENOENT ? PLAIN_NOT_THERE : PLAIN_UNKNOWN;
}

/* Is a path written as realpath would write it, if there are no links? */
static bool is_straight(const char *path)
{
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/'))
        if (!p[1] || p[1] == '/' || (p[1] == '.' && (p[2] == '/' || p[2] == '.' || !p[2])))
            return false;
    return *path == '/';
}

struct str file__real(struct arena *a, struct str path)
{
    char *known = arena_cstr(a, path);
    size_t n = path.n;
    bool straight = is_straight(known);
    while (n > 0) {
        known[n] = '\0';
        char real[PATH_MAX];
        enum plain plain = straight ? look_at(known) : PLAIN_UNKNOWN;
        if (plain == PLAIN_THERE)
            return path;
        if (plain == PLAIN_UNKNOWN && realpath(known, real)) {
            const char *top = strcmp(real, "/") == 0 ? "" : real;
            struct str found =
                arena_printf(a, "%s%.*s", top, STR_ARG(str_sub(path, n, path.n - n)));
            return found.n > 0 ? found : STR("/");
        }
        while (n > 0 && known[--n] != '/')
            ;
    }
    return path;
}

/* Splits rel into its folder, copied, and the name in it. */
static const char *split_name(const char *rel, char folder[static URI_TEXT])
{
    const char *slash = strrchr(rel, '/');
    size_t n = slash ? (size_t)(slash - rel) : 0;
    *(char *)mempcpy(folder, rel, n) = '\0';
    return slash ? slash + 1 : rel;
}

/* Makes one folder of an absolute path; a new one is durable. 0, or an errno. */
static int make_one(const char *path)
{
    if (mkdir(path, FOLDER_MODE) < 0) {
        int e = errno;
        return e == EEXIST || access(path, F_OK) == 0 ? 0 : e;
    }
    char above[URI_TEXT];
    size_t n = (size_t)(strrchr(path, '/') - path);
    memcpy(above, path, n ? n : 1);
    above[n ? n : 1] = '\0';
    AUTO(fd_close) int dir = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && fsync(dir) < 0 ? errno : 0;
}

/* mkdir -p */
static bool make_base(char *path, struct err *err)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char was = *p;
        *p = '\0';
        int e = make_one(path);
        if (e != 0)
            return err_set(err, ERR_INTERNAL, "cannot make the folder %s: %s", path, words_of(e));
        *p = was;
        if (!was)
            return true;
    }
}

/* A folder in which everybody may replace everybody's files is worth a word to the operator. */
static void warn_if_open(struct store *s, const char *path, const struct stat *st)
{
    if (!(st->st_mode & S_IWOTH) || (st->st_mode & S_ISVTX))
        return;
    char text[URI_TEXT + 64];
    (void)snprintf(
        text, sizeof(text), "the folder %s may be written by every user of this machine", path);
    store__warn(s, text);
}

static bool has_openat2(const struct root *r)
{
    struct root probe = *r;
    probe.open = ROOT_OPENAT2;
    AUTO(fd_close) int fd = file__open(&probe, "", O_PATH | O_DIRECTORY);
    return fd >= 0 || (errno != ENOSYS && errno != EPERM); /* EPERM: old container sandboxes */
}

static bool file_open(
    struct store *s, const struct store_conf *conf, struct root *r, struct err *err)
{
    (void)conf;
    char path[URI_TEXT];
    *(char *)mempcpy(path, r->at.path.p, r->at.path.n) = '\0';
    TRY(make_base(path, err));
    r->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (r->fd < 0 || fstat(r->fd, &st) < 0)
        return err_set(err, ERR_INTERNAL, "cannot open the folder %s: %s", path, strerror(errno));
    r->open = has_openat2(r) ? ROOT_OPENAT2 : ROOT_WALK;
    warn_if_open(s, path, &st);
    return true;
}

static void file_close(struct root *r)
{
    fd_close(&r->fd);
}

static bool read_all(int fd, size_t max, struct buf *out, struct str uri, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail(err, "read", uri, errno);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_STORE_NOT_FOUND, "cannot read %.*s: it is %s, not a file",
            STR_ARG(uri), S_ISDIR(st.st_mode) ? "a folder" : "a device or a pipe");
    if ((uint64_t)st.st_size > max)
        return err_set(err, ERR_TOO_LARGE, "%.*s has %lld bytes, more than the %zu allowed",
            STR_ARG(uri), (long long)st.st_size, max);
    size_t want = (size_t)st.st_size;
    buf_reserve(out, want);
    while (out->n < want) {
        ssize_t n = read(fd, out->p + out->n, want - out->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(err, "read", uri, errno);
        if (n == 0)
            break;
        out->n += (size_t)n;
    }
    return true;
}

static bool file_get(
    struct store *s, const struct place *p, size_t max, struct buf *out, struct err *err)
{
    (void)s;
    /* Without O_NONBLOCK a named pipe in the folder would hold the thread for ever. */
    AUTO(fd_close) int fd = file__open(p->root, p->rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(err, "read", p->uri, errno);
    return read_all(fd, max, out, p->uri, err);
}

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

static bool file_put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    (void)s;
    (void)content_type;
    char folder[URI_TEXT];
    const char *name = split_name(p->rel, folder);
    if (!*name)
        return fail(err, "write", p->uri, EEXIST);
    AUTO(fd_close) int dir = open_making(p->root, folder);
    if (dir < 0)
        return fail_write(err, p->uri, errno);
    int e = put_in(dir, name, pieces, n);
    return e == 0 || fail_write(err, p->uri, e);
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
static bool file_put_first(struct store *s, const struct place *p, const struct store_file *file,
    const char *beside, struct err *err)
{
    (void)s;
    char folder[URI_TEXT], place[URI_TEXT], above[URI_TEXT];
    struct first f = {.beside = beside, .file = file};
    f.name = split_name(p->rel, folder);
    f.folder = split_name(folder, place);
    f.place = split_name(place, above);
    if (!*f.name || !*f.folder || !*f.place)
        return fail(err, "write", p->uri, EEXIST);
    AUTO(fd_close) int dir = open_making(p->root, above);
    if (dir < 0)
        return fail_write(err, p->uri, errno);
    int e = put_first(dir, &f);
    return e == 0 || fail_write(err, p->uri, e);
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
    const char *name = split_name(p->rel, folder);
    if (!*name)
        return EEXIST;
    f->name = name;
    f->dir = open_making(p->root, folder);
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
static bool file_put_all(struct store *s, const struct place *p, struct store_file *files, size_t n,
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
    return e == 0 || fail_write(err, p[*at].uri, e);
}

static bool file_remove(struct store *s, const struct place *p, struct err *err)
{
    (void)s;
    char folder[URI_TEXT];
    const char *name = split_name(p->rel, folder);
    if (!*name)
        return fail(err, "delete", p->uri, EISDIR);
    AUTO(fd_close) int dir = file__open(p->root, folder, O_PATH | O_DIRECTORY);
    if (dir >= 0 && unlinkat(dir, name, 0) == 0)
        return true;
    if (errno == ENOENT || errno == ENOTDIR)
        return true;
    return fail(err, "delete", p->uri, errno);
}

static bool file_exists(struct store *s, const struct place *p, bool *out, struct err *err)
{
    (void)s;
    AUTO(fd_close) int fd = file__open(p->root, p->rel, O_PATH);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        *out = S_ISREG(st.st_mode);
        return true;
    }
    if (errno != ENOENT && errno != ENOTDIR)
        return fail(err, "look for", p->uri, errno);
    *out = false;
    return true;
}

bool file__present(const struct place *p)
{
    AUTO(fd_close) int fd = file__open(p->root, p->rel, O_PATH);
    return fd >= 0;
}

static bool file_make_dir(struct store *s, const struct place *p, struct err *err)
{
    (void)s;
    AUTO(fd_close) int dir = open_making(p->root, p->rel);
    return dir >= 0 || fail_write(err, p->uri, errno);
}

static bool list_folder(int *fd, struct str uri, int depth, struct entries *out, struct err *err);

static bool list_one(
    int dir, const char *name, struct str folder, int depth, struct entries *out, struct err *err)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || fail(err, "list", folder, errno);
    if (!S_ISDIR(st.st_mode) && !(S_ISREG(st.st_mode) && entries__wanted(out, str_from(name))))
        return true;
    struct str uri = arena_printf(out->a, "%.*s/%s", STR_ARG(folder), name);
    if (S_ISREG(st.st_mode)) {
        int64_t ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
        entries__add(out, uri, st.st_size, ms);
        return true;
    }
    if (out->what == LIST_FOLDERS) {
        entries__add(out, uri, 0, 0);
        return true;
    }
    if (depth == DEPTH_MAX)
        return err_set(err, ERR_INTERNAL, "cannot list %.*s: more than %d folders deep",
            STR_ARG(uri), DEPTH_MAX);
    AUTO(fd_close)
    int sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (sub < 0)
        return errno == ENOENT || fail(err, "list", uri, errno);
    return list_folder(&sub, uri, depth + 1, out, err);
}

static bool list_folder(int *fd, struct str uri, int depth, struct entries *out, struct err *err)
{
    AUTO(dir_close) DIR *d = fdopendir(*fd);
    if (!d)
        return fail(err, "list", uri, errno);
    *fd = -1; /* closed with d */
    while (out->n < out->limit) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e)
            return errno == 0 || fail(err, "list", uri, errno);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        TRY(list_one(dirfd(d), e->d_name, uri, depth, out, err));
    }
    return true;
}

static bool file_list(struct store *s, const struct place *p, struct entries *out, struct err *err)
{
    (void)s;
    AUTO(fd_close) int fd = file__open(p->root, p->rel, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || fail(err, "list", p->uri, errno);
    struct str uri = p->uri;
    while (str_ends(uri, STR("/")))
        uri.n--;
    return list_folder(&fd, uri, 0, out, err);
}

const struct store_ops store__file_ops = {
    .open = file_open,
    .close = file_close,
    .get = file_get,
    .put_new = file_put_new,
    .put_all = file_put_all,
    .put_first = file_put_first,
    .remove = file_remove,
    .exists = file_exists,
    .make_dir = file_make_dir,
    .list = file_list,
};
