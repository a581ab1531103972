/* Swaps, or new objects, that several callers want to make at the same time become one statement: a
 * transaction, a flush and a round trip for all of them (PostgreSQL only).
 *
 * One caller at a time is with the database, for swaps one and for new objects another. Those who
 * come meanwhile wait in a queue, and when he is back the first of them goes for all; so batches
 * become as large as the database is slow, and who is alone waits for nobody. A caller who has
 * waited for a while goes all the same: the one before may be stuck behind a lock.
 *
 * A batch settles only what it made. Every other change is tried again by its own caller alone: one
 * whose pointer moved, whose name is taken or whose row somebody holds, that made the statement
 * fail, or whose answer was lost, of which it is then said that it may have been made. */
#include "sql_priv.h"

#include "clock.h"
#include "fault.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

enum { BATCH_MAX = 64, PATIENCE_US = 5000 };

struct waiter {
    const struct sql_write *write;
    /* Under the mutex. WAITS: in the queue. TAKEN, LEADS: out of it, and woken once, later. */
    enum { WAITS, TAKEN, LEADS } state;
    enum batch_end end; /* of one that was taken */
    sem_t woken;
    TAILQ_ENTRY(waiter) link;
};

void batch_init(struct batch *b)
{
    pthread_mutex_init(&b->mutex, NULL);
    TAILQ_INIT(&b->queue);
}

void batch_fini(struct batch *b)
{
    assert(TAILQ_EMPTY(&b->queue) && b->away == 0);
    pthread_mutex_destroy(&b->mutex);
}

static struct batch *batch_of(struct sql *s, const struct sql_write *w)
{
    return w->swap ? &s->swaps : &s->inserts;
}

static const struct sql_change *by_of(const struct sql_write *w)
{
    return w->swap ? &w->swap->by : &w->by;
}

/* With the mutex held: out of the queue. */
static struct waiter *take_first(struct batch *b)
{
    struct waiter *w = TAILQ_FIRST(&b->queue);

    if (w)
        TAILQ_REMOVE(&b->queue, w, link);
    return w;
}

void batch_leave(struct sql *s, const struct sql_write *w)
{
    struct batch *b = batch_of(s, w);

    pthread_mutex_lock(&b->mutex);
    struct waiter *next = b->away == 1 ? take_first(b) : NULL;
    if (next)
        next->state = LEADS; /* in our place */
    else
        b->away--;
    pthread_mutex_unlock(&b->mutex);
    if (next)
        sem_post(&next->woken);
}

/* --- one statement --- */

/* All are of one kind. */
static enum stmt params_of(
    struct arena *a, struct waiter *const *w, size_t n, struct param out[static STMT_PARAMS_MAX])
{
    const struct sql_write *writes[BATCH_MAX];
    const struct sql_swap *swaps[BATCH_MAX];

    for (size_t i = 0; i < n; i++) {
        writes[i] = w[i]->write;
        swaps[i] = w[i]->write->swap;
    }
    if (w[0]->write->swap) {
        swap_many_params(a, swaps, n, SWAP_WITH_KEYS, out);
        return STMT_OBJECT_SWAP_MANY;
    }
    insert_many_params(a, writes, n, out);
    return STMT_OBJECT_INSERT_MANY;
}

static bool send(struct sql *s, struct arena *a, struct waiter *const *w, size_t n, bool *unclear,
    struct rows *out)
{
    struct param p[STMT_PARAMS_MAX];
    struct request r = {.stmt = params_of(a, w, n, p),
        .params = p,
        .deadline_us = clock_mono_us() + SQL_WRITE_US,
        .effect = EFFECT_SWAP};
    struct err ignored; /* each will hear of it alone */
    struct db *db;

    for (size_t i = 0; i < n; i++) {
        int64_t until = by_of(w[i]->write)->deadline_us;
        r.deadline_us = until > 0 && until < r.deadline_us ? until : r.deadline_us;
    }
    if (!sql__take(s, DB_WRITE, &db, &ignored))
        return false;
    swap_faults_before();
    bool ok = sql__exec(a, db, &r, out, &ignored);
    *unclear = !ok && db->state == DB_LOST;
    sql__give(s, &db);
    if (ok)
        swap_faults_after();
    return ok;
}

/* In the only column that both statements have. */
static bool is_among(const struct rows *r, struct str token)
{
    for (size_t row = 0; row < r->n; row++)
        if (str_eq(rows_str(r, row, 0), token))
            return true;
    return false;
}

static void make_together(struct sql *s, struct waiter *const *w, size_t n)
{
    AUTO(arena_free) struct arena *a = arena_new();
    bool unclear = false;
    struct rows made;
    bool ok = send(s, a, w, n, &unclear, &made);

    for (size_t i = 0; i < n; i++) {
        const struct sql_change *by = by_of(w[i]->write);
        w[i]->end = unclear ? BATCH_UNCLEAR : BATCH_OPEN;
        if (!ok || !is_among(&made, by->token))
            continue;
        w[i]->end = BATCH_MADE;
        if (by->idem)
            by->idem->kept = true;
    }
}

/* --- taking turns --- */

/* For all who wait now, itself among them. */
static enum batch_end lead(struct sql *s, struct waiter *self)
{
    struct batch *b = batch_of(s, self->write);
    struct waiter *all[BATCH_MAX] = {self};
    size_t n = 1;

    pthread_mutex_lock(&b->mutex);
    for (struct waiter *w; n < BATCH_MAX && (w = take_first(b)); n++) {
        w->state = TAKEN;
        all[n] = w;
    }
    pthread_mutex_unlock(&b->mutex);
    if (n == 1)
        return BATCH_ALONE;
    make_together(s, all, n);
    batch_leave(s, self->write);
    for (size_t i = 1; i < n; i++)
        sem_post(&all[i]->woken); /* it may be gone after that */
    return self->end;
}

/* True: nobody has taken it so far, and now it goes itself. */
static bool go_all_the_same(struct batch *b, struct waiter *w)
{
    pthread_mutex_lock(&b->mutex);
    bool mine = w->state == WAITS;
    if (mine) {
        TAILQ_REMOVE(&b->queue, w, link);
        w->state = LEADS;
        b->away++;
    }
    pthread_mutex_unlock(&b->mutex);
    return mine;
}

/* Waits until somebody has settled it, or it is to lead. */
static void wait_for_turn(struct batch *b, struct waiter *w)
{
    struct timespec until = thread_until(clock_mono_us() + PATIENCE_US);
    int rc;

    do
        rc = sem_clockwait(&w->woken, CLOCK_MONOTONIC, &until);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 || go_all_the_same(b, w))
        return;
    while (sem_wait(&w->woken) != 0)
        ;
}

/* Who has settled it has held the mutex since. */
static bool leads(struct batch *b, const struct waiter *w)
{
    pthread_mutex_lock(&b->mutex);
    bool is = w->state == LEADS;
    pthread_mutex_unlock(&b->mutex);
    return is;
}

/* A batch is given up at the earliest deadline of those who are in it. */
bool batch_takes(const struct sql *s, const struct sql_write *w)
{
    int64_t until = by_of(w)->deadline_us;

    return sql__has(s, w->swap ? STMT_OBJECT_SWAP_MANY : STMT_OBJECT_INSERT_MANY) &&
           (until == 0 || sql__outlasts_lock(until));
}

enum batch_end batch_make(struct sql *s, const struct sql_write *w)
{
    struct batch *b = batch_of(s, w);
    struct waiter self = {.write = w};

    pthread_mutex_lock(&b->mutex);
    bool wait = b->away > 0;
    if (wait)
        TAILQ_INSERT_TAIL(&b->queue, &self, link);
    else
        b->away++;
    if (wait)
        sem_init(&self.woken, 0, 0);
    pthread_mutex_unlock(&b->mutex);
    if (!wait)
        return BATCH_ALONE;
    wait_for_turn(b, &self);
    enum batch_end end = leads(b, &self) ? lead(s, &self) : self.end;
    sem_destroy(&self.woken);
    return end;
}
