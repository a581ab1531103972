/* What store.c and the schemes share: the open store, its roots, the functions of a scheme. */
#pragma once

#include "finding.h"
#include "store.h"

enum { URI_MAX = 1024, URI_TEXT = URI_MAX + 8, REGION_MAX = 48, PUT_AT_ONCE = 32 };

struct gcs;
struct adls;
struct s3;
struct s3_bucket;
struct sign;
struct vend;
struct vend_kind;

/* The base or an allowed location, opened. */
struct root {
    char *uri; /* as configured, without trailing slash */
    char text[URI_TEXT];
    struct location at; /* into text */
    const struct store_ops *ops;
    int fd;                                          /* file: the folder, O_PATH */
    enum root_open { ROOT_OPENAT2, ROOT_WALK } open; /* file: how to stay beneath it */
    struct s3_bucket *bucket;                        /* s3: owned by store.s3 */
};

struct store {
    struct root *roots; /* the base first */
    size_t n_roots;
    struct s3 *s3; /* NULL until a root needs it, as the next two */
    struct gcs *gcs;
    struct adls *adls;
    struct vend *vend; /* NULL: clients get no credentials */
    struct sign *sign; /* NULL: nothing is signed for them */
    char *warning;
    enum store_schemes s3_schemes;
    uint32_t allow, found; /* findings, as bits: let pass; seen by a trial and let pass */
};

/* A URI taken apart, found beneath a root. */
struct place {
    struct str uri; /* as the caller spelled it */
    char text[URI_TEXT];
    struct location at; /* into text */
    const struct root *root;
    const char *rel; /* file: path beneath the root's folder; else the key. NUL-ended, may be "" */
};

/* Growing array of entries in an arena, for list. */
struct entries {
    struct arena *a;
    struct store_entry *p;
    size_t n, cap, limit;
    enum { LIST_FILES, LIST_FOLDERS } what; /* files at any depth, or the folders right beneath */
    struct str ending;                      /* of the files' names; empty: any */
};
/* Is the file of that name or key one that was asked for? */
bool entries__wanted(const struct entries *e, struct str name);
void entries__add(struct entries *e, struct str uri, int64_t size, int64_t modified_ms);
/* Hidden from engines that list a table's folder. */
#define STORE_TMP_PREFIX ".firn-tmp-"

/* What one kind of store does; all of it as store.h promises. */
struct store_ops {
    bool (*open)(struct store *s, const struct store_conf *conf, struct root *r, struct err *err);
    void (*close)(struct root *r);
    bool (*get)(
        struct store *s, const struct place *p, size_t max, struct buf *out, struct err *err);
    bool (*put_new)(struct store *s, const struct place *p, const struct str *pieces, size_t n,
        const char *content_type, struct err *err);
    /* At most PUT_AT_ONCE of store_put_all's, with their places; NULL: one by one is as good. */
    bool (*put_all)(struct store *s, const struct place *p, struct store_file *files, size_t n,
        size_t *at, struct err *err);
    /* store_put_first's; NULL: the store has no folders. */
    bool (*put_first)(struct store *s, const struct place *p, const struct store_file *f,
        const char *beside, struct err *err);
    bool (*remove)(struct store *s, const struct place *p, struct err *err);
    bool (*make_dir)(struct store *s, const struct place *p, struct err *err);
    bool (*list)(struct store *s, const struct place *p, struct entries *out, struct err *err);
    /* From now on put_new looks first. NULL: a store that always honours the condition. */
    void (*forget_condition)(struct store *s);
    bool (*has_condition)(const struct store *s); /* false: it looks first; NULL: true */
    const struct vend_kind *vend; /* how clients get credentials; NULL: they get none */
};
extern const struct store_ops store__file_ops;
extern const struct store_ops store__s3_ops;
extern const struct store_ops store__gcs_ops;
extern const struct store_ops store__adls_ops;
extern const struct store_ops store__null_ops; /* builds for benchmarks only */

/* location_parse without an arena: the strings of *out lie in text, each NUL-ended. */
MUST bool location__split(
    struct str uri, char text[static URI_TEXT], struct location *out, struct err *err);

/* Beneath which root a URI lies. ERR_STORE_BAD_URI, ERR_STORE_DENIED. */
MUST bool store__place(const struct store *s, struct str uri, struct place *out, struct err *err);
/* vend.c. *out is NULL when conf hands out nothing. For a store whose roots are open. */
MUST bool vend__new(
    struct store *s, const struct store_conf *conf, struct vend **out, struct err *err);
void vend__free(struct vend **v);

/* finding.c. A trial has found something: a warning where it is allowed, else false and
 * ERR_INTERNAL, which names it. */
MUST bool store__found(struct store *s, enum finding f, struct err *err);
/* Adds a sentence to what store_warning says. */
void store__warn(struct store *s, const char *text);

/* file.c, for the fast lane and for the test of the way without openat2. */
bool file__present(const struct place *p);
/* The path without the links that are on it now; what does not exist yet stays as it is. */
struct str file__real(struct arena *a, struct str path);
int file__open(const struct root *r, const char *rel, int flags);
/* s3.c */
void s3__free(struct s3 **s3);
/* gcs.c */
void gcs__free(struct gcs **gcs);
/* adls.c */
void adls__free(struct adls **s);
