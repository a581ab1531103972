/* A new object in one statement, which is the whole transaction: where the folder that it lies in
 * has a row already, as it has for all but the first table of a namespace. Those that several
 * callers want to make at the same time are made together (batch.c). */
#include "sql_priv.h"

#include "buf.h"
#include "clock.h"
#include "sql_sweep.h"
#include "uuid.h"

#include <stdlib.h>

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

static bool insert_alone(struct sql *s, const struct sql_new_object *o, const struct sql_change *by,
    bool *made, bool *unclear, struct err *err)
{
    struct quick w = {.o = o, .folder = place_folder(&o->place)};
    struct unit u = {.s = s, .by = by, .warehouse = o->warehouse, .alone = true};

    TRY(sql__unit(&u, insert, &w, err));
    err_clear(err);
    *made = w.made;
    *unclear = !w.made && u.unclear;
    return true;
}

static bool fits_statement(const struct sql *s, const struct sql_new_object *o)
{
    return sql__has(s, STMT_OBJECT_INSERT_ONE) && o->ns_id && !o->registered && !o->lease.p &&
           place_folder(&o->place).p;
}

bool object_insert_quick(struct sql *s, const struct sql_new_object *o, const struct sql_change *by,
    bool *made, bool *unclear, struct err *err)
{
    const struct sql_write w = {.insert = o, .by = *by};

    *made = *unclear = false;
    if (!fits_statement(s, o))
        return true;
    if (!batch_takes(s, &w))
        return insert_alone(s, o, by, made, unclear, err);
    enum batch_end end = batch_make(s, &w);
    *made = end == BATCH_MADE;
    *unclear = end == BATCH_UNCLEAR; /* the transaction will tell */
    bool ok = *made || *unclear || insert_alone(s, o, by, made, unclear, err);
    if (end == BATCH_ALONE)
        batch_leave(s, &w);
    return ok;
}

/* --- many, in one statement --- */

int insert_order(const struct sql_new_object *x, const struct sql_new_object *y)
{
    int ns = str_cmp(x->ns, y->ns);

    return ns ? ns : str_cmp(x->name, y->name);
}

static int in_order(const void *a, const void *b)
{
    return insert_order((*(const struct sql_write *const *)a)->insert,
        (*(const struct sql_write *const *)b)->insert);
}

enum { WAYS = 21, COLUMNS = WAYS + 2 };

static void add_one(struct array l[static COLUMNS], const struct sql_write *w)
{
    const struct sql_new_object *o = w->insert;
    const struct sql_change *by = &w->by;
    const struct sql_idem none = {0}, *k = by->idem ? by->idem : &none;
    const struct str texts[] = {o->uuid, o->location, o->metadata_location, o->place.authority,
        o->place.path, place_folder(&o->place), by->token, by->digest, by->principal,
        by->request_id};

    array_number(&l[0], o->warehouse);
    array_number(&l[1], uuid_row_id());
    array_number(&l[2], o->ns_id);
    array_str(&l[3], o->name);
    array_number(&l[4], o->kind);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        array_str(&l[5 + i], texts[i]);
    array_number(&l[15], by->at_ms);
    array_str(&l[16], k->key);
    array_str(&l[17], k->digest);
    array_number(&l[18], k->status);
    array_str(&l[19], idem_answer(k, o->metadata_location));
    array_number(&l[20], k->lifetime_ms);
}

/* Most lie in the folder that the last one lies in. */
static void add_ways(
    struct array l[static 2], const struct sql_place *place, const struct sql_place *last)
{
    struct str path = place->path;
    bool same = last && str_eq(place->authority, last->authority) &&
                str_eq(place_folder(place), place_folder(last));

    for (size_t n = 1; n <= path.n; n++) {
        if (n < path.n && (same || path.p[n] != '/'))
            continue;
        array_str(&l[0], place->authority);
        array_str(&l[1], str_sub(path, 0, n));
    }
}

void insert_many_params(
    struct arena *a, const struct sql_write *const *inserts, size_t n, struct param *out)
{
    const struct sql_write **sorted = ARENA_ARRAY(a, const struct sql_write *, n);
    const struct sql_place *last = NULL;
    struct array l[COLUMNS];

    for (size_t i = 0; i < n; i++)
        sorted[i] = inserts[i];
    qsort(sorted, n, sizeof(const struct sql_write *), in_order);
    for (size_t i = 0; i < COLUMNS; i++)
        array_begin(&l[i]);
    for (size_t i = 0; i < n; i++) {
        add_one(l, sorted[i]);
        add_ways(&l[WAYS], &sorted[i]->insert->place, last);
        last = &sorted[i]->insert->place;
    }
    for (size_t i = 0; i < COLUMNS; i++)
        out[i] = array_end(&l[i], a);
}

/* --- what was unclear --- */

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
