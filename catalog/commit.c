/* The commit: requirements against the current state, updates on a draft, a new file, and the swap
 * of the pointer. What this product exists for. */
#include "arena.h"
#include "cache.h"
#include "metric.h"
#include "object_priv.h"
#include "requirement.h"
#include "update.h"

struct commit {
    const struct act *act;
    struct arena *a; /* act's */
    struct catalog *c;
    const struct ident *id;
    const struct sql_object *row; /* as it was looked up; NULL: it has to be read */
    const json_t *requirements, *updates;
    struct str digest; /* of the request */
};

/* The result of a change that changed nothing, also for the answer to keep. */
static void show(const struct caller *by, const struct metadata *m, struct loaded *out)
{
    *out = (struct loaded){.metadata = m};
    if (by->idem)
        by->idem->answer = metadata_location(m);
}

bool object__current_of(const struct act *act, const struct ident *id, const struct sql_object *row,
    struct current *out, struct err *err)
{
    if (!row || row->id == 0 || row->kind != act->kind) {
        (void)object__no_such(act->a, act->kind, id, err);
        return false;
    }
    out->row = row;
    struct str location = row->metadata_location;
    if (object__metadata_of(act, row, &out->metadata, err))
        return true;
    catalog__metadata_failed(location, err);
    /* The change was certainly not applied: no 5xx. */
    if (err->kind == ERR_UNREADABLE)
        return err_as(err, ERR_VALIDATION);
    (void)catalog__change_failed(err);
    return false;
}

bool object__current(
    const struct act *act, const struct ident *id, struct current *out, struct err *err)
{
    struct catalog *c = act->c;
    struct sql_object *read;
    bool ns_found;
    if (!sql_object_get(act->a, c->sql, c->warehouse.id, id->ns, id->name, &ns_found, &read, err)) {
        (void)catalog__change_failed(err);
        return false;
    }
    const struct sql_object *row = read;
    for (unsigned round = 0;; round++) {
        if (object__current_of(act, id, row, out, err))
            return true;
        if (round == LOAD_ROUNDS || !object__has_moved(act, id, &row, err))
            return false;
    }
}

/* The row that was looked up for the request, as long as it serves: an older one loses the swap. */
static bool base_found(const struct commit *r, struct current *out, struct err *err)
{
    if (r->row && object__current_of(r->act, r->id, r->row, out, err))
        return true;
    if (r->row && err->kind == ERR_BUSY) /* the store has just been asked as often as is decent */
        return false;
    err_clear(err);
    return object__current(r->act, r->id, out, err);
}

/* A commit that moves the object has its new location checked like that of a new one. */
static bool moved_place(
    const struct commit *r, struct draft *d, struct sql_place *place, struct err *err)
{
    if (!d->location_changed)
        return true;
    return place__check(r->a, r->c, d->head.location, &d->head.location, place, err) ||
           err_where(err, "%.*s", STR_ARG(d->location_at));
}

/* The change failed: its file goes, unless the pointer may name it. */
static bool let_go(const struct commit *r, struct written *w, const struct err *err)
{
    if (err->kind == ERR_COMMIT_UNKNOWN)
        metadata_unref(&w->metadata);
    else
        object__discard(r->c, w);
    return false;
}

/* ERR_CAS_LOST: somebody was faster; nothing is left behind. */
static bool swap(const struct commit *r, const struct current *base, const struct draft *d,
    const struct sql_place *place, struct written *w, struct err *err)
{
    struct sql_swap s = {
        .warehouse = r->c->warehouse.id,
        .object = base->row->id,
        .old_metadata_location = base->row->metadata_location,
        .metadata_location = w->location,
        .by = catalog__change(r->a, r->act->by, w->token, r->digest),
    };
    if (d->location_changed) {
        s.location = d->head.location;
        s.place = place;
    }
    enum sql_swap_result result;
    if (!sql_object_swap(r->c->sql, &s, 1, &result, err)) {
        catalog__change_failed(err);
        return let_go(r, w, err);
    }
    if (result == SQL_SWAPPED)
        return true;
    object__discard(r->c, w);
    if (result == SQL_SWAP_LOST) {
        cache_drop(&r->c->cached, base->row->metadata_location); /* as after one that was won */
        return err_set(err, ERR_CAS_LOST, "the %s changed meanwhile", object__word(r->act->kind));
    }
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Invalid location: %.*s is, contains or lies in the location of another table or view",
        STR_ARG(d->head.location));
}

/* One attempt, the steps of the specification in their order. */
static bool commit_once(const struct commit *r, struct loaded *out, struct err *err)
{
    struct current base;
    struct sql_place place;
    struct written w;
    TRY(base_found(r, &base, err));
    TRY(requirements_check(base.metadata, r->requirements, err));

    struct draft *d = draft_begin(r->a, base.metadata);
    TRY(updates_apply(d, r->updates, err));
    if (d->changes == 0) {
        metric_add(METRIC_commits_noop_total, 1);
        show(r->act->by, base.metadata, out);
        return true;
    }
    TRY(moved_place(r, d, &place, err));
    TRY(object__write(r->a, r->c, d, &w, err));
    TRY(swap(r, &base, d, &place, &w, err));
    metric_add(METRIC_commits_applied_total, 1);
    object__leave_old_files(r->act, &base, w.metadata);
    cache_drop(&r->c->cached, base.row->metadata_location); /* no row names it any more */
    object__keep(r->a, r->c, &w, out);
    return true;
}

bool object__is_unique(enum sql_kind kind, const json_t *updates)
{
    struct str adds = kind == SQL_VIEW ? STR("add-view-version") : STR("add-snapshot");
    size_t i;
    json_t *u;
    json_array_foreach(updates, i, u)
    {
        if (str_eq_nocase(str_from(json_string_value(json_object_get(u, "action"))), adds))
            return true;
    }
    return false;
}

/* Did an earlier copy of this very request succeed, its answer lost on the way? */
static bool applied_before(const struct commit *r, struct loaded *out)
{
    struct sql_applied then;
    struct err ignored;
    if (!object__is_unique(r->act->kind, r->updates) ||
        !sql_change_by_digest(r->a, r->c->sql, r->c->warehouse.id, r->digest, &then, &ignored) ||
        !then.metadata_location.p)
        return false;
    const struct metadata *m;
    if (!object__metadata(r->a, r->c, r->act->kind, then.metadata_location, &m, &ignored) &&
        !object__metadata(r->a, r->c, r->act->kind, then.current, &m, &ignored))
        return false;
    show(r->act->by, m, out);
    return true;
}

int64_t object__first_version(const json_t *updates)
{
    size_t i;
    json_t *u;
    json_array_foreach(updates, i, u)
    {
        struct str action = str_from(json_string_value(json_object_get(u, "action")));
        if (str_eq_nocase(action, STR("upgrade-format-version")))
            return json_integer_value(json_object_get(u, "format-version"));
    }
    return 2;
}

static bool commit_create(const struct commit *r, struct loaded *out, struct err *err)
{
    struct sql_ns *ns;
    struct sql_place place;
    struct written w;
    TRY(object__name_free(r->act, r->id, NEW_COMMIT, &ns, err));
    struct draft *d = draft_begin_empty(r->a, object__first_version(r->updates));
    TRY(updates_apply(d, r->updates, err));
    TRY(draft_check_complete(d, err));
    TRY(moved_place(r, d, &place, err));
    TRY(object__write_first(r->a, r->c, SQL_TABLE, d, &w, err));
    struct sql_new_object o = {
        .warehouse = r->c->warehouse.id,
        .ns = r->id->ns,
        .ns_id = ns->id,
        .name = r->id->name,
        .kind = SQL_TABLE,
        .uuid = d->head.uuid,
        .location = d->head.location,
        .metadata_location = w.location,
        .place = place,
    };
    if (!object__insert(r->act, &o, w.token, r->digest, NEW_COMMIT, err))
        return let_go(r, &w, err);
    metric_add(METRIC_commits_applied_total, 1);
    object__keep(r->a, r->c, &w, out);
    return true;
}

static bool commit_existing(struct commit *r, struct loaded *out, struct err *err)
{
    for (unsigned round = 0; round < COMMIT_ROUNDS; round++) {
        if (commit_once(r, out, err))
            return true;
        if (err->kind != ERR_CAS_LOST)
            return false;
        metric_add(METRIC_commits_lost_total, 1);
        err_clear(err);
        r->row = NULL;
    }
    return err_set(err, ERR_COMMIT_FAILED,
        "The %s was changed by others %d times while this commit was tried; refresh and try again",
        object__word(r->act->kind), COMMIT_ROUNDS);
}

/* A commit that is sent again finds its snapshot or version there, whatever its requirements say:
 * they may ask for nothing that it changed, or hold again after a rollback. Or it finds nothing,
 * since the object has another name by now; one that creates meets its own uuid and place then, or
 * whatever has the name. */
bool object__may_be_second(const struct err *err)
{
    switch ((int)err->kind) {
    case ERR_COMMIT_FAILED:
    case ERR_ALREADY_EXISTS:
    case ERR_VALIDATION:
    case ERR_INVALID_ARGUMENT:
    case ERR_NO_SUCH_TABLE:
    case ERR_NO_SUCH_VIEW:
    case ERR_NO_SUCH_NAMESPACE:
        return true;
    default:
        return false;
    }
}

bool object__commit(const struct act *act, const struct ident *id, const struct sql_object *row,
    const json_t *body, struct str digest, struct loaded *out, struct err *err)
{
    struct commit r = {
        .act = act,
        .a = act->a,
        .c = act->c,
        .id = id,
        .row = row,
        .requirements = json_object_get(body, "requirements"),
        .updates = json_object_get(body, "updates"),
        .digest = digest,
    };
    bool create = false;
    /* What no table, or no view, could take is refused before one is looked for. */
    TRY(updates_known(r.updates, act->kind == SQL_VIEW ? METADATA_VIEW : METADATA_TABLE, err));
    TRY(act->kind == SQL_VIEW ? requirements_known(r.requirements, err)
                              : requirements_create(r.requirements, &create, err));
    if (create ? commit_create(&r, out, err) : commit_existing(&r, out, err))
        return true;
    if (err->kind == ERR_COMMIT_FAILED)
        metric_add(METRIC_commits_requirement_total, 1);
    if (err->kind == ERR_COMMIT_UNKNOWN)
        metric_add(METRIC_commits_unknown_total, 1);
    if (!object__may_be_second(err) || !applied_before(&r, out))
        return false;
    err_clear(err);
    return true;
}
