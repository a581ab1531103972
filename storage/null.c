/* A store that keeps nothing, for builds with -Dbench=true: what is left of a commit is the
 * catalog's own work and the database's. Metadata is found in the cache, or not at all. */
#include "store_priv.h"

static bool null_open(
    struct store *s, const struct store_conf *conf, struct root *r, struct err *err)
{
    (void)s, (void)conf, (void)r, (void)err;
    return true;
}

static void null_close(struct root *r)
{
    (void)r;
}

static bool null_get(
    struct store *s, const struct place *p, size_t max, struct buf *out, struct err *err)
{
    (void)s, (void)max, (void)out;
    return err_set(
        err, ERR_STORE_NOT_FOUND, "cannot read %.*s: this store keeps nothing", STR_ARG(p->uri));
}

static bool null_put_new(struct store *s, const struct place *p, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    (void)s, (void)p, (void)pieces, (void)n, (void)content_type, (void)err;
    return true;
}

static bool null_remove(struct store *s, const struct place *p, struct err *err)
{
    (void)s, (void)p, (void)err;
    return true;
}

static bool null_list(struct store *s, const struct place *p, struct entries *out, struct err *err)
{
    (void)s, (void)p, (void)out, (void)err;
    return true;
}

const struct store_ops store__null_ops = {
    .open = null_open,
    .close = null_close,
    .get = null_get,
    .put_new = null_put_new,
    .remove = null_remove,
    .list = null_list,
};
