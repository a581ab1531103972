/* The warehouse that a table is in, and the metadata that its pointer leads to. */
#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "log.h"
#include "named.h"
#include "purge_priv.h"

enum { POINTER_TRIES = 5 };

void house_fini(struct house *h)
{
    catalog_unref(&h->catalog);
}

bool house_enter(
    struct house *h, struct purge *p, const struct sql_surveyed *table, struct err *err)
{
    if (h->catalog && h->id == table->warehouse)
        return true;
    catalog_unref(&h->catalog);
    h->id = table->warehouse;
    if (table->warehouse == p->catalog->warehouse.id) {
        h->catalog = catalog_ref(p->catalog);
        return true;
    }
    if (!p->houses.open)
        return err_set(err, ERR_NO_SUCH_WAREHOUSE, "only one warehouse can be opened here");
    return p->houses.open(p->houses.arg, table->warehouse_uuid, &h->catalog, err);
}

/* A file that is not there any more may have been replaced. *same: the pointer leads to it still.
 */
static bool pointer_is_same(
    struct arena *a, struct sql *sql, struct sql_surveyed *table, bool *same, struct err *err)
{
    struct str now;
    TRY(sql_object_location(a, sql, table->warehouse, table->id, &now, err));
    *same = now.p && str_eq(now, table->metadata_location);
    table->metadata_location = now;
    return true;
}

bool house_read(struct arena *a, const struct named_by *by, struct sql_surveyed *table,
    struct metadata **out, struct err *err)
{
    bool same = false;
    for (int i = 0; i < POINTER_TRIES && !same; i++) {
        enum named_end end = named_metadata(by, table->metadata_location, out, err);
        if (*out)
            return true;
        if (end != NAMED_ALL)
            return false;
        struct err why = *err;
        err_clear(err);
        TRY(pointer_is_same(a, by->catalog->sql, table, &same, err));
        if (!table->metadata_location.p)
            return true;
        if (same && named_is_lost(by->catalog->store, table->metadata_location, &why)) {
            *err = why;
            return false;
        }
        if (same)
            log_write(LOG_WARN, "purge", "nobody can tell what metadata %.*s names: %s%s",
                STR_ARG(table->metadata_location), ERR_ALL(&why));
    }
    return same || err_set(err, ERR_UNAVAILABLE, "the pointer of a table moves all the time");
}
