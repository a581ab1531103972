#include "txn.h"

#include "arena.h"
#include "cache.h"
#include "metric.h"
#include "object_priv.h"
#include "requirement.h"
#include "update.h"

/* One element of table-changes. */
struct change {
    struct ident id;
    struct str at; /* its JSON pointer */
    const json_t *requirements, *updates;
    bool create;
};

/* A table of the transaction, however many changes name it. */
struct entry {
    const struct change *first;
    struct current now; /* zero: it comes into being */
    struct draft *draft;
    bool asserted; /* something was required of it */
    struct sql_place place;
    struct written written;
    const struct store_file *file; /* it is to have; NULL: it stays as it is */
};

struct txn {
    struct act act;
    struct arena *a; /* act's */
    struct catalog *c;
    struct str digest;
    struct change *changes;
    size_t n_changes;
    /* Of one round: */
    struct sql_object **rows; /* of each change; NULL: nothing has the name */
    struct entry *entries;
    struct store_file *files;
    size_t n, n_files;
};

/* -- Reading the request ----------------------------------------------------------------------- */

static bool change_read(
    struct txn *t, const json_t *json, size_t i, struct change *out, struct err *err)
{
    out->at = arena_printf(t->a, "/table-changes/%zu", i);
    struct str at = arena_printf(t->a, "%.*s/identifier", STR_ARG(out->at));
    TRY(ident_from_json(t->a, json_object_get(json, "identifier"), at.p, &out->id, err));
    out->requirements = json_object_get(json, "requirements");
    out->updates = json_object_get(json, "updates");
    TRY(updates_known(out->updates, METADATA_TABLE, err));
    return requirements_create(out->requirements, &out->create, err);
}

static bool changes_read(struct txn *t, const json_t *list, struct err *err)
{
    t->n_changes = json_array_size(list);
    if (t->n_changes == 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "Invalid table changes: empty");
    if (t->n_changes > t->c->transaction_tables)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid table changes: at most %zu in one transaction, found %zu",
            t->c->transaction_tables, t->n_changes);
    t->changes = ARENA_ARRAY(t->a, struct change, t->n_changes);
    t->entries = ARENA_ARRAY(t->a, struct entry, t->n_changes);
    t->files = ARENA_ARRAY(t->a, struct store_file, t->n_changes);
    t->rows = ARENA_ARRAY(t->a, struct sql_object *, t->n_changes);
    for (size_t i = 0; i < t->n_changes; i++)
        TRY(change_read(t, json_array_get(list, i), i, &t->changes[i], err));
    return true;
}

/* -- Applying the changes to drafts -------------------------------------------------------------
 */

static struct entry *entry_of(struct txn *t, const struct ident *id)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct ident *there = &t->entries[i].first->id;
        if (str_eq(there->name, id->name) && str_eq(there->ns, id->ns))
            return &t->entries[i];
    }
    return NULL;
}

/* The rows of all that is named, as they are at one moment. */
static bool rows_read(struct txn *t, struct err *err)
{
    struct sql_name *names = ARENA_ARRAY(t->a, struct sql_name, t->n_changes);
    for (size_t i = 0; i < t->n_changes; i++)
        names[i] = (struct sql_name){t->changes[i].id.ns, t->changes[i].id.name};
    return sql_object_get_all(
               t->a, t->c->sql, t->c->warehouse.id, names, t->n_changes, t->rows, err) ||
           ERR_FALSE(catalog__change_failed(err));
}

static bool begin_existing(struct txn *t, struct entry *e, struct err *err)
{
    struct current *now = &e->now;
    const struct sql_object *row = t->rows[e->first - t->changes];
    if (!object__current_of(&t->act, &e->first->id, row, now, err))
        return object__has_moved(&t->act, &e->first->id, &row, err) &&
               err_set(err, ERR_CAS_LOST, "a table changed meanwhile");
    TRY(requirements_check(now->metadata, e->first->requirements, err));
    e->draft = draft_begin(t->a, now->metadata);
    return true;
}

static bool begin_new(struct txn *t, struct entry *e, struct err *err)
{
    struct sql_ns *ns;
    TRY(object__name_free(&t->act, &e->first->id, NEW_COMMIT, &ns, err));
    e->draft = draft_begin_empty(t->a, object__first_version(e->first->updates));
    return true;
}

/* A further change of a table finds what the earlier ones made of it. */
static bool begin_again(struct entry *e, const struct change *change, struct err *err)
{
    TRY(draft_next(e->draft, err));
    return requirements_check_head(&e->draft->head, change->requirements, err);
}

static bool apply(struct txn *t, const struct change *change, struct err *err)
{
    struct entry *e = entry_of(t, &change->id);
    if (e) {
        TRY(begin_again(e, change, err));
    } else {
        e = &t->entries[t->n++];
        *e = (struct entry){.first = change};
        TRY(change->create ? begin_new(t, e, err) : begin_existing(t, e, err));
    }
    e->asserted = e->asserted || json_array_size(change->requirements) > 0;
    e->draft->at = change->at;
    TRY(updates_apply(e->draft, change->updates, err));
    return e->now.row || draft_check_complete(e->draft, err);
}

/* Which of the tables it is about, where the text does not tell and nobody compares it. */
static bool name_table(struct txn *t, const struct change *change, struct err *err)
{
    struct str text = ident_text(t->a, &change->id);
    if (t->n_changes > 1 && (err->kind == ERR_BAD_REQUEST || err->kind == ERR_VALIDATION ||
                                err->kind == ERR_INVALID_ARGUMENT))
        err_wrap(err, "Table %.*s", STR_ARG(text));
    return false;
}

/* -- Files --------------------------------------------------------------------------------------
 */

static bool changes_something(const struct entry *e)
{
    return !e->now.row || e->draft->changes > 0;
}

static bool finish(struct txn *t, struct entry *e, struct err *err)
{
    struct draft *d = e->draft;
    struct store_file *file = &t->files[t->n_files];
    if ((!e->now.row || d->location_changed) &&
        !place__check(t->a, t->c, d->head.location, &d->head.location, &e->place, err))
        return err_where(err, "%.*s", STR_ARG(d->location_at));
    TRY(object__finish(t->a, t->c, d, &e->written, file, err));
    e->file = file;
    t->n_files++;
    return true;
}

static bool put_failed(struct txn *t, const struct store_file *file, struct err *err)
{
    (void)object__write_failed(file->uri, err);
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].file == file)
            return name_table(t, t->entries[i].first, err);
    return false;
}

/* All of them at once, and before that all that could be refused. */
static bool write_files(struct txn *t, struct err *err)
{
    size_t at;
    for (size_t i = 0; i < t->n; i++) {
        struct entry *e = &t->entries[i];
        if (changes_something(e) && !finish(t, e, err))
            return name_table(t, e->first, err);
    }
    if (!store_put_all(t->c->store, t->files, t->n_files, &at, err))
        return put_failed(t, &t->files[at], err);
    for (size_t i = 0; i < t->n; i++)
        if (!t->entries[i].now.row)
            object__make_dirs(t->a, t->c, t->entries[i].draft->head.location);
    return true;
}

/* After a failure: the files go, unless the pointers may name them. */
static void let_go(struct txn *t, const struct err *err)
{
    for (size_t i = 0; i < t->n; i++) {
        struct written *w = &t->entries[i].written;
        if (!w->metadata)
            continue;
        if (err->kind == ERR_COMMIT_UNKNOWN || !t->entries[i].file->written)
            metadata_unref(&w->metadata);
        else
            object__discard(t->c, w);
    }
}

static void keep(struct txn *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct entry *e = &t->entries[i];
        struct loaded ignored;
        if (!e->written.metadata)
            continue;
        if (e->now.row) {
            object__leave_old_files(&t->act, &e->now, e->written.metadata);
            cache_drop(&t->c->cached, e->now.row->metadata_location);
        }
        object__keep(t->a, t->c, &e->written, &ignored);
    }
}

/* -- One transaction ----------------------------------------------------------------------------
 */

static struct sql_write write_new(struct txn *t, const struct entry *e)
{
    struct sql_new_object *o = ARENA_NEW(t->a, struct sql_new_object);
    *o = (struct sql_new_object){
        .warehouse = t->c->warehouse.id,
        .ns = e->first->id.ns,
        .name = e->first->id.name,
        .kind = SQL_TABLE,
        .uuid = e->draft->head.uuid,
        .location = e->draft->head.location,
        .metadata_location = e->written.location,
        .place = e->place,
    };
    return (struct sql_write){
        .insert = o, .by = catalog__change(t->a, t->act.by, e->written.token, t->digest)};
}

/* A table that was only asserted about must not move before the others do: the swap without a new
 * location holds it. */
static struct sql_write write_existing(struct txn *t, const struct entry *e)
{
    struct sql_swap *s = ARENA_NEW(t->a, struct sql_swap);
    *s = (struct sql_swap){
        .warehouse = t->c->warehouse.id,
        .object = e->now.row->id,
        .old_metadata_location = e->now.row->metadata_location,
        .metadata_location = e->written.location,
        .by = catalog__change(t->a, t->act.by, e->written.token, t->digest),
    };
    if (e->draft->location_changed) {
        s->location = e->draft->head.location;
        s->place = &e->place;
    }
    return (struct sql_write){.swap = s};
}

static bool refused(struct txn *t, const struct sql_write *w, const struct entry *e,
    const struct sql_written *r, struct err *err)
{
    if (w->insert)
        return object__inserted(&t->act, w->insert, r->insert, r->taken_by, NEW_COMMIT, err);
    if (r->swap == SQL_SWAP_LOST) {
        cache_drop(&t->c->cached, e->now.row->metadata_location);
        return err_set(err, ERR_CAS_LOST, "a table changed meanwhile");
    }
    err_set(err, ERR_INVALID_ARGUMENT,
        "Invalid location: %.*s is, contains or lies in the location of another table or view",
        STR_ARG(e->draft->head.location));
    return name_table(t, e->first, err);
}

static bool write_rows(struct txn *t, struct err *err)
{
    struct sql_write *writes = ARENA_ARRAY(t->a, struct sql_write, t->n);
    const struct entry **of = ARENA_ARRAY(t->a, const struct entry *, t->n);
    struct sql_written result;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];
        if (!changes_something(e) && !e->asserted)
            continue;
        of[n] = e;
        writes[n++] = e->now.row ? write_existing(t, e) : write_new(t, e);
    }
    if (!sql_object_write(t->c->sql, writes, n, &result, err))
        return catalog__change_failed(err);
    return result.done || refused(t, &writes[result.at], of[result.at], &result, err);
}

/* ERR_CAS_LOST: somebody was faster; nothing is left behind. */
static bool commit_once(struct txn *t, struct err *err)
{
    t->n = t->n_files = 0;
    TRY(rows_read(t, err));
    for (size_t i = 0; i < t->n_changes; i++) {
        if (!apply(t, &t->changes[i], err))
            return name_table(t, &t->changes[i], err);
    }
    bool ok = write_files(t, err);
    if (ok && t->n_files == 0) {
        metric_add(METRIC_commits_noop_total, 1);
        return true;
    }
    if (!ok || !write_rows(t, err)) {
        let_go(t, err);
        return false;
    }
    metric_add(METRIC_commits_applied_total, t->n_files);
    keep(t);
    return true;
}

static bool commit(struct txn *t, struct err *err)
{
    for (unsigned round = 0; round < COMMIT_ROUNDS; round++) {
        if (commit_once(t, err))
            return true;
        if (err->kind != ERR_CAS_LOST)
            return false;
        metric_add(METRIC_commits_lost_total, 1);
        err_clear(err);
    }
    return err_set(err, ERR_COMMIT_FAILED,
        "The tables were changed by others %d times while this transaction was tried; refresh and "
        "try again",
        COMMIT_ROUNDS);
}

/* Did an earlier copy of this very request succeed? A change of one table can tell: all or none. */
static bool applied_before(const struct txn *t)
{
    struct sql_applied then;
    struct err ignored;
    bool unique = false;
    for (size_t i = 0; i < t->n_changes && !unique; i++)
        unique = object__is_unique(SQL_TABLE, t->changes[i].updates);
    return unique &&
           sql_change_by_digest(t->a, t->c->sql, t->c->warehouse.id, t->digest, &then, &ignored) &&
           then.metadata_location.p;
}

bool txn_commit(struct arena *a, struct catalog *c, const struct caller *by, const json_t *body,
    struct str digest, struct err *err)
{
    struct txn t = {
        .act = {a, c, by, SQL_TABLE},
          .a = a, .c = c, .digest = digest
    };
    TRY(changes_read(&t, json_object_get(body, "table-changes"), err));
    if (commit(&t, err))
        return true;
    if (err->kind == ERR_COMMIT_UNKNOWN)
        metric_add(METRIC_commits_unknown_total, 1);
    if (err->kind == ERR_COMMIT_FAILED)
        metric_add(METRIC_commits_requirement_total, 1);
    if (!object__may_be_second(err) || !applied_before(&t))
        return false;
    err_clear(err);
    return true;
}
