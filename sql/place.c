/* Where objects lie. One row for each object's location and one for each folder above it; a row's
 * parent is the row of the folder it is in.
 *
 * Two transactions that want overlapping places meet in the primary key (both make the row of the
 * same folder) or in the foreign key (one removes a folder's row, the other hangs a row under it);
 * the one that comes second waits, and then sees the other's rows. */
#include "sql_priv.h"

/* The end of the folder that `path` up to `n` lies in; 0 at the top. */
static size_t folder_end(struct str path, size_t n)
{
    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

struct str place_folder(const struct sql_place *place)
{
    size_t n = folder_end(place->path, place->path.n);

    return n > 0 ? str_sub(place->path, 0, n) : (struct str){NULL, 0};
}

static bool insert_row(struct unit *u, const struct sql_place *at, struct str parent,
    struct param object, bool *inserted, struct err *err)
{
    const struct param p[] = {text_param(at->authority), text_param(at->path), text_param(parent),
        number_param(u->warehouse), object};
    struct rows rows;

    TRY(unit_exec(u, STMT_LOCATION_INSERT, p, &rows, err));
    *inserted = rows.n == 1;
    return true;
}

/* Deletes a folder's row if nothing hangs under it. *parent: what was above it. */
static bool prune(struct unit *u, struct str authority, struct str path, bool *gone,
    struct str *parent, struct err *err)
{
    const struct param p[] = {text_param(authority), text_param(path)};
    struct rows rows;

    TRY(unit_exec(u, STMT_LOCATION_HOLD, p, &rows, err));
    TRY(unit_exec(u, STMT_LOCATION_PRUNE, p, &rows, err));
    *gone = rows.n == 1;
    if (*gone)
        *parent = rows_str(&rows, 0, LOCATION_PRUNE_PARENT);
    return true;
}

/* The lowest folder above the place that has a row, most often the one that the place is in;
 * absent: none has. */
static bool lowest_folder(
    struct unit *u, const struct sql_place *place, struct str *out, struct err *err)
{
    const struct param p[] = {text_param(place->authority), text_param(place->path)};
    struct rows rows;

    TRY(unit_exec(u, STMT_LOCATION_ABOVE, p, &rows, err));
    *out = rows.n > 0 ? rows_str(&rows, 0, LOCATION_ABOVE_PATH) : (struct str){NULL, 0};
    return true;
}

/* Rows for the folders above the place that have none, top-down. *parent: the lowest, or absent.
 * From the very top, whatever the base: another warehouse may have its own base above or below. */
static bool make_folders(
    struct unit *u, const struct sql_place *place, struct str *parent, struct err *err)
{
    struct str path = place->path;
    const struct param none = text_param((struct str){NULL, 0});
    size_t last = folder_end(path, path.n);
    bool ignored;

    TRY(lowest_folder(u, place, parent, err));
    for (size_t n = parent->n + 1; n <= last; n++) {
        if (path.p[n] != '/')
            continue;
        struct sql_place folder = {.authority = place->authority, .path = str_sub(path, 0, n)};
        TRY(insert_row(u, &folder, *parent, none, &ignored, err));
        *parent = folder.path;
    }
    return true;
}

/* What lies in a folder sorts after "folder/" and before "folder0", '0' being '/' + 1. */
struct span place_span(struct arena *a, struct str path)
{
    if (path.n == 0 || str_eq(path, STR("/")))
        return (struct span){STR(""), STR(""), STR("\U0010FFFF")};
    return (struct span){
        path, arena_printf(a, "%.*s/", STR_ARG(path)), arena_printf(a, "%.*s0", STR_ARG(path))};
}

/* Anything above or below, whosever base lies between. */
static bool clashes(struct unit *u, const struct sql_place *place, bool *taken, struct err *err)
{
    struct span span = place_span(u->a, place->path);
    const struct param p[] = {text_param(place->authority), text_param(span.at),
        text_param(span.low), text_param(span.high)};
    struct rows rows;

    TRY(unit_exec(u, STMT_LOCATION_CLASH, p, &rows, err));
    *taken = rows.n > 0;
    return true;
}

/* "/" and "" are both the top. */
static struct sql_place normal(const struct sql_place *place)
{
    struct sql_place p = *place;

    if (str_eq(p.path, STR("/")) || !p.path.p)
        p.path = STR("");
    return p;
}

bool place_occupy(
    struct unit *u, const struct sql_place *place, int64_t object, bool *taken, struct err *err)
{
    struct sql_place at = normal(place);
    struct str parent, above;
    bool inserted, gone;

    *taken = true;
    TRY(make_folders(u, &at, &parent, err));
    TRY(insert_row(u, &at, parent, number_param(object), &inserted, err));
    if (!inserted) {
        TRY(prune(u, at.authority, at.path, &gone, &above, err));
        if (!gone)
            return true;
        TRY(insert_row(u, &at, parent, number_param(object), &inserted, err));
        if (!inserted)
            return err_set(err, ERR_DB_RETRY, "The location was taken meanwhile");
    }
    return clashes(u, &at, taken, err);
}

bool place_free(struct unit *u, int64_t object, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), number_param(object)};
    struct rows rows;

    TRY(unit_exec(u, STMT_LOCATION_FREE, p, &rows, err));
    if (rows.n == 0)
        return true;
    struct str authority = rows_str(&rows, 0, LOCATION_FREE_AUTHORITY);
    struct str parent = rows_str(&rows, 0, LOCATION_FREE_PARENT);
    bool gone = true;

    while (gone && parent.p)
        TRY(prune(u, authority, parent, &gone, &parent, err));
    return true;
}
