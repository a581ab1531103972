#include "bucket.h"

#include "buf.h"
#include "store_priv.h"

bool bucket_object(const struct place *p, const char *bucket, struct err *err)
{
    return *p->rel ||
           err_set(err, ERR_STORE_BAD_URI, "Invalid location: %.*s: %s, expected an object in it",
               STR_ARG(p->uri), bucket);
}

bool bucket_taken(const struct place *p, struct err *err)
{
    return err_set(err, ERR_STORE_EXISTS, "%.*s exists already", STR_ARG(p->uri));
}

static bool is_joined(struct str there, const struct str *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_starts(there, pieces[i]))
            return false;
        there = str_sub(there, pieces[i].n, there.n);
    }
    return there.n == 0;
}

bool bucket_wrote(const struct place *p, const struct str *pieces, size_t n,
    const struct buf *there, const struct err *why, struct err *err)
{
    if (there && is_joined(buf_view(there), pieces, n))
        return true;
    if (there || why->kind == ERR_TOO_LARGE)
        return bucket_taken(p, err);
    *err = *why;
    (void)err_as(err, ERR_UNAVAILABLE);
    return err_wrap(err, "cannot tell who wrote %.*s", STR_ARG(p->uri));
}
