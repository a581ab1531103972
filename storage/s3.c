#include "store_priv.h"
static bool s3_open(struct store *s, const struct store_conf *conf, struct root *r, struct err *err)
{
    (void)s;
    (void)conf;
    return err_set(err, ERR_INTERNAL, "%s: s3 is not there yet", r->uri);
}
static void s3_close(struct root *r)
{
    (void)r;
}
void s3__free(struct s3 **s3)
{
    (void)s3;
}
const struct store_ops store__s3_ops = {.open = s3_open, .close = s3_close};
