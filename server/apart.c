#include "apart.h"

#include "arena.h"

/* A table that lies in two warehouses' bases would be each one's to delete. */
bool apart(const struct sql_warehouse *w, const struct sql_warehouse *other, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct location mine, theirs;
    bool by_settings = w->profile.n == 0;

    if (other->id == w->id || (by_settings && other->profile.n == 0) ||
        !location_identity(a, other->base, &theirs, err)) {
        err_clear(err);
        return true;
    }
    TRY(location_identity(a, w->base, &mine, err));
    if (!location_within(&mine, &theirs) && !location_within(&theirs, &mine))
        return true;
    return err_set(err, by_settings ? ERR_BAD_REQUEST : ERR_CONFLICT,
        "%s: %.*s overlaps %.*s, the base of the warehouse %.*s",
        by_settings ? "FIRN_WAREHOUSE" : "/base-location", STR_ARG(w->base), STR_ARG(other->base),
        STR_ARG(other->name));
}
