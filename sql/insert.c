/* A new object in one statement, which is the whole transaction: where the folder that it lies in
 * has a row already, as it has for all but the first table of a namespace. */
#include "sql_priv.h"

#include "buf.h"
#include "clock.h"
#include "sql_sweep.h"
#include "uuid.h"

struct quick {
    const struct sql_new_object *o;
    struct str folder; /* that it lies in */
    bool made;
};

/* The place and all folders above it. */
static struct param upwards(struct arena *a, struct str path)
{
    struct array l;

    array_begin(&l);
    for (size_t n = 1; n < path.n; n++)
        if (path.p[n] == '/')
            array_str(&l, str_sub(path, 0, n));
    array_str(&l, path);
    return array_end(&l, a);
}

static bool send_insert(struct unit *u, const struct quick *w, struct rows *out, struct err *err)
{
    const struct sql_new_object *o = w->o;
    const struct sql_change *by = u->by;
    const struct sql_idem none = {0}, *k = by->idem ? by->idem : &none;
    const struct span span = place_span(u->a, o->place.path);
    int64_t until = clock_mono_us() + SQL_WRITE_US;
    const struct param p[] = {number_param(o->warehouse), number_param(uuid_row_id()),
        number_param(o->ns_id), text_param(o->name), number_param(o->kind), text_param(o->uuid),
        text_param(o->location), text_param(o->metadata_location), text_param(o->place.authority),
        text_param(o->place.path), text_param(w->folder), upwards(u->a, o->place.path),
        text_param(span.low), text_param(span.high), text_param(by->token),
        text_param(change_relative(o->location, o->metadata_location)), text_param(by->digest),
        text_param(by->principal), text_param(by->request_id), number_param(by->at_ms),
        text_param(k->key), text_param(k->digest), number_param(k->status),
        text_param(idem_answer(k, o->metadata_location)), number_param(k->lifetime_ms)};
    const struct request r = {.stmt = STMT_OBJECT_INSERT_ONE,
        .params = p,
        .deadline_us = until < u->deadline_us ? until : u->deadline_us,
        .effect = EFFECT_SWAP};

    return sql__exec(u->a, u->db, &r, out, err);
}

static bool insert(struct unit *u, void *work, struct err *err)
{
    struct quick *w = work;
    struct rows rows;

    swap_faults_before();
    /* It may wait for a name, a place or a key as long as for any lock. Given up before that,
     * nobody would know what became of it; of a transaction that did not come to its end one knows.
     */
    if (!sql__outlasts_lock(u->deadline_us))
        return true;
    if (!send_insert(u, w, &rows, err))
        return err->kind == ERR_DB_UNIQUE || err->kind == ERR_DB_REFERENCE;
    w->made = u->keyed = rows.n > 0;
    if (w->made)
        swap_faults_after();
    return true;
}

bool object_insert_quick(struct sql *s, const struct sql_new_object *o, const struct sql_change *by,
    bool *made, bool *unclear, struct err *err)
{
    struct quick w = {.o = o, .folder = place_folder(&o->place)};
    struct unit u = {.s = s, .by = by, .warehouse = o->warehouse, .alone = true};

    *made = *unclear = false;
    if (!sql__has(s, STMT_OBJECT_INSERT_ONE) || !o->ns_id || o->registered || !w.folder.p)
        return true;
    TRY(sql__unit(&u, insert, &w, err));
    err_clear(err);
    *made = w.made;
    *unclear = !w.made && u.unclear;
    return true;
}

/* A statement whose answer was lost may not even have begun, and find later what is in its way now
 * gone. Unless it was carried out, the token is taken from it. */
bool object_insert_settle(
    struct sql *s, const struct sql_new_object *o, const struct sql_change *by, struct err *err)
{
    struct err why = {0};
    bool forgone;

    if (sql_change_forgo(s, o->warehouse, by->token, 0, &forgone, &why) && forgone)
        return true;
    err_clear(err);
    err_clear(&why);
    return err_set(
        err, ERR_OUTCOME_UNKNOWN, "A new object was sent to the database and its answer was lost");
}
