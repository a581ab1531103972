#include "folders.h"

#include "arena.h"
#include "digest.h"
#include "store.h"

void folders_init(struct folders *f, struct arena *a)
{
    f->a = a;
    f->n = 0;
    f->depth = SIZE_MAX;
    f->known = (struct hashes){0};
}

void folders_fini(struct folders *f)
{
    hashes_fini(&f->known);
}

struct sql_folder folder_of_file(const struct location *file)
{
    size_t n = file->path.n;
    while (n > 0 && file->path.p[n - 1] != '/')
        n--;
    return (struct sql_folder){file->authority, str_sub(file->path, 0, n ? n - 1 : 0)};
}

uint64_t folder_hash(struct sql_folder at)
{
    uint64_t above = digest_hash64(at.authority);
    return digest_hash64(at.path) ^ (above << 1 | above >> 63);
}

static size_t depth_of(struct str path)
{
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++)
        n += path.p[i] == '/';
    return n;
}

static struct str cut(struct str path, size_t depth)
{
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] == '/' && depth-- == 0)
            return str_sub(path, 0, i);
    return path;
}

static struct str shortened(struct str path)
{
    while (path.n > FOLDER_TEXT_MAX)
        path = folder_of_file(&(struct location){.path = path}).path;
    return path;
}

/* What was cut is in the set: its parts are where they were. */
static void keep(struct folders *f, struct sql_folder folder)
{
    if (!hashes_add(&f->known, folder_hash(folder), FOLDERS_MAX))
        f->v[f->n++] = folder;
}

static void cut_all(struct folders *f)
{
    size_t n = f->n;
    hashes_fini(&f->known);
    f->n = 0;
    for (size_t i = 0; i < n; i++)
        keep(f, (struct sql_folder){f->v[i].authority, cut(f->v[i].path, f->depth)});
}

/* Until half of the room is free; a set of very many buckets becomes "anywhere". */
static void make_room(struct folders *f)
{
    size_t deepest = 0;
    for (size_t i = 0; i < f->n; i++) {
        size_t depth = depth_of(f->v[i].path);
        deepest = depth > deepest ? depth : deepest;
    }
    for (f->depth = deepest; f->depth > 0 && f->n > FOLDERS_MAX / 2; cut_all(f))
        f->depth--;
    if (f->n <= FOLDERS_MAX / 2)
        return;
    hashes_fini(&f->known);
    f->n = 0;
    keep(f, (struct sql_folder){STR(""), STR("")});
}

static bool is_anywhere(const struct folders *f)
{
    return f->n > 0 && f->v[0].authority.n == 0;
}

/* Itself, or a folder above it, which stands for all in it. */
static bool is_covered(const struct folders *f, struct sql_folder folder)
{
    for (size_t n = folder.path.n; n > 0; n--)
        if ((n == folder.path.n || folder.path.p[n] == '/') &&
            folders_has(f, (struct sql_folder){folder.authority, str_sub(folder.path, 0, n)}))
            return true;
    return folders_has(f, (struct sql_folder){folder.authority, STR("")}) || is_anywhere(f);
}

void folders_add(struct folders *f, struct sql_folder folder)
{
    folder.path = shortened(cut(folder.path, f->depth));
    if (is_covered(f, folder))
        return;
    if (f->n == FOLDERS_MAX) {
        make_room(f);
        folders_add(f, folder);
        return;
    }
    keep(f, (struct sql_folder){arena_dup(f->a, folder.authority), arena_dup(f->a, folder.path)});
}

bool folders_has(const struct folders *f, struct sql_folder folder)
{
    return hashes_has(&f->known, folder_hash(folder));
}
