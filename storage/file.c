#include "file_priv.h"

#include "arena.h"
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

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
bool file__fail(struct err *err, const char *verb, struct str uri, int e)
{
    return err_set(err, kind_of(e), "cannot %s %.*s: %s", verb, STR_ARG(uri), words_of(e));
}

/* Writing where a folder is missing is not "not found": the root went away, or a file is in the
 * way. */
bool file__fail_write(struct err *err, struct str uri, int e)
{
    if (e == ENOENT)
        return err_set(err, ERR_INTERNAL,
            "cannot write %.*s: the folder was removed while the server ran", STR_ARG(uri));
    if (e == ENOTDIR)
        return err_set(err, ERR_INTERNAL,
            "cannot write %.*s: a file stands where a folder is needed", STR_ARG(uri));
    return file__fail(err, "write", uri, e);
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

int file__open_making(const struct root *r, const char *rel)
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

const char *file__split_name(const char *rel, char folder[static URI_TEXT])
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
        return file__fail(err, "read", uri, errno);
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
            return file__fail(err, "read", uri, errno);
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
        return file__fail(err, "read", p->uri, errno);
    return read_all(fd, max, out, p->uri, err);
}

static bool file_remove(struct store *s, const struct place *p, struct err *err)
{
    (void)s;
    char folder[URI_TEXT];
    const char *name = file__split_name(p->rel, folder);
    if (!*name)
        return file__fail(err, "delete", p->uri, EISDIR);
    AUTO(fd_close) int dir = file__open(p->root, folder, O_PATH | O_DIRECTORY);
    if (dir >= 0 && unlinkat(dir, name, 0) == 0)
        return true;
    if (errno == ENOENT || errno == ENOTDIR)
        return true;
    return file__fail(err, "delete", p->uri, errno);
}

bool file__present(const struct place *p)
{
    AUTO(fd_close) int fd = file__open(p->root, p->rel, O_PATH);
    return fd >= 0;
}

static bool file_make_dir(struct store *s, const struct place *p, struct err *err)
{
    (void)s;
    AUTO(fd_close) int dir = file__open_making(p->root, p->rel);
    return dir >= 0 || file__fail_write(err, p->uri, errno);
}

static bool list_folder(int *fd, struct str uri, int depth, struct entries *out, struct err *err);

static bool list_one(
    int dir, const char *name, struct str folder, int depth, struct entries *out, struct err *err)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || file__fail(err, "list", folder, errno);
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
        return errno == ENOENT || file__fail(err, "list", uri, errno);
    return list_folder(&sub, uri, depth + 1, out, err);
}

static bool list_folder(int *fd, struct str uri, int depth, struct entries *out, struct err *err)
{
    AUTO(dir_close) DIR *d = fdopendir(*fd);
    if (!d)
        return file__fail(err, "list", uri, errno);
    *fd = -1; /* closed with d */
    while (out->n < out->limit) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e)
            return errno == 0 || file__fail(err, "list", uri, errno);
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
        return errno == ENOENT || errno == ENOTDIR || file__fail(err, "list", p->uri, errno);
    struct str uri = p->uri;
    while (str_ends(uri, STR("/")))
        uri.n--;
    return list_folder(&fd, uri, 0, out, err);
}

const struct store_ops store__file_ops = {
    .open = file_open,
    .close = file_close,
    .get = file_get,
    .put_new = file__put_new,
    .put_all = file__put_all,
    .put_first = file__put_first,
    .remove = file_remove,
    .make_dir = file_make_dir,
    .list = file_list,
};
