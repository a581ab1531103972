#include "purge.h"

#include <inttypes.h>

#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "clock.h"
#include "log.h"
#include "metric.h"
#include "purge_priv.h"
#include "sql_keep.h"

enum {
    PAGE = 100,
    POLL_MS = 30000, /* for marks of other servers */
    AWAY_MS = 20000,
    RETRY_MS = 10000, /* three times as long after each try */
    TRIES = 5,
    UNSURE_MS = 5000, /* twice as long after each time */
    UNSURE_TIMES = 8,
};

struct purge *purge_new(const struct purge_conf *conf)
{
    struct purge *p = xcalloc(1, sizeof(*p));
    p->catalog = conf->catalog;
    p->rate = conf->rate;
    p->houses = conf->houses;
    p->blind.a = arena_new();
    atomic_init(&p->stopped, false);
    uuid_v4(p->holder);
    return p;
}

void purge_free(struct purge **p)
{
    if (*p)
        arena_free(&(*p)->blind.a);
    xfree(*p);
    *p = NULL;
}

void purge_stop(struct purge *p)
{
    atomic_store(&p->stopped, true);
}

/* -- What is not due yet ------------------------------------------------------------------------
 */

static struct purge_wait *wait_of(struct purge *p, int64_t id)
{
    for (size_t i = 0; i < p->n_waits; i++)
        if (p->waits[i].id == id)
            return &p->waits[i];
    return NULL;
}

/* Where there is no room for one more, the object is looked at with every poll. */
static void put_off(struct purge *p, int64_t id, int64_t ms, unsigned tries)
{
    struct purge_wait *w = wait_of(p, id);
    if (!w && p->n_waits < PURGE_WAITS)
        w = &p->waits[p->n_waits++];
    if (w)
        *w = (struct purge_wait){id, clock_mono_us() + ms * 1000, tries, 0};
}

/* Others' files are not known, or the store is away, perhaps for this one only: looked at ever more
 * seldom, so that others get their turn, but never given up. */
static void put_off_unsure(struct purge *p, int64_t id, unsigned tries)
{
    struct purge_wait *w = wait_of(p, id);
    unsigned unsure = w ? w->unsure : 0;
    put_off(p, id, (int64_t)UNSURE_MS << unsure, tries);
    w = wait_of(p, id);
    if (w)
        w->unsure = unsure < UNSURE_TIMES ? unsure + 1 : unsure;
}

static void forget(struct purge *p, int64_t id)
{
    struct purge_wait *w = wait_of(p, id);
    if (w)
        *w = p->waits[--p->n_waits];
}

/* -- One mark -----------------------------------------------------------------------------------
 */

static struct str lease_name(struct arena *a, const struct sql_mark *mark)
{
    return arena_printf(a, "purge/%" PRId64, mark->id);
}

bool purge__lease(struct purge *p, const struct sql_mark *mark, bool *taken, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    return sql_lease_take(p->catalog->sql, p->catalog->warehouse.id, lease_name(a, mark),
        str_from(p->holder), PURGE_LEASE_MS, taken, err);
}

/* Were it kept, others would wait for its end, no more. */
static void give_lease(struct purge *p, const struct sql_mark *mark)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct err ignored = {.kind = ERR_NONE};
    if (!sql_lease_give(p->catalog->sql, p->catalog->warehouse.id, lease_name(a, mark),
            str_from(p->holder), &ignored))
        log_write(LOG_DEBUG, "purge", "%s%s", ERR_ALL(&ignored));
}

static void tell(const struct sql_mark *mark, enum purge_end end, const struct purge_count *n)
{
    static const char *const words[] = {
        [PURGE_DONE] = "done",
        [PURGE_SPARED] = "another table lies there: the files stay",
        [PURGE_UNSURE] = "what other tables name is not known, to be tried again",
        [PURGE_LEFT] = "files could not be deleted, to be tried again",
        [PURGE_AWAY] = "the store or the database is away, to be tried again",
        [PURGE_LOST] = "goes on in another server",
        [PURGE_STOPPED] = "interrupted, to be gone on with",
    };
    bool failed = n->failed > 0 || n->unread > 0 || end == PURGE_SPARED || end == PURGE_UNSURE;
    struct log_line l;
    if (!log_begin(&l, failed ? LOG_WARN : LOG_INFO, "purge"))
        return;
    log_str(&l, "location", mark->location);
    bool gave_up = end == PURGE_DONE && (n->failed > 0 || n->unread > 0);
    log_str(&l, "outcome", gave_up ? STR("given up: some files stay") : str_from(words[end]));
    log_i64(&l, "deleted", (int64_t)n->deleted);
    log_i64(&l, "failed", (int64_t)n->failed);
    log_i64(&l, "outside", (int64_t)n->outside);
    log_i64(&l, "spared", (int64_t)n->spared);
    log_i64(&l, "unread", (int64_t)n->unread);
    log_end(&l);
}

static void finish(struct purge *p, const struct sql_mark *mark, enum purge_end end, unsigned tries)
{
    struct err err = {.kind = ERR_NONE};
    int64_t pause = RETRY_MS;
    switch (end) {
    case PURGE_DONE:
    case PURGE_SPARED:
        if (sql_mark_delete(p->catalog->sql, p->catalog->warehouse.id, mark->id, &err)) {
            metric_add(METRIC_purge_tables_total, 1);
            forget(p, mark->id);
            return;
        }
        put_off(p, mark->id, AWAY_MS, tries);
        return;
    case PURGE_LEFT:
        for (unsigned i = 0; i < tries; i++)
            pause *= 3;
        put_off(p, mark->id, pause, tries + 1);
        return;
    case PURGE_UNSURE:
    case PURGE_AWAY:
        put_off_unsure(p, mark->id, tries);
        return;
    case PURGE_LOST:
        put_off(p, mark->id, PURGE_LEASE_MS, tries);
        return;
    case PURGE_STOPPED:
    case PURGE_GOING:
        return;
    }
}

static enum purge_end work_off(struct purge *p, const struct sql_mark *mark)
{
    const struct purge_wait *w = wait_of(p, mark->id);
    unsigned tries = w ? w->tries : 0;
    struct err err = {.kind = ERR_NONE};
    struct purge_count count = {0};
    bool taken;
    if (!purge__lease(p, mark, &taken, &err) || !taken) {
        put_off(p, mark->id, PURGE_LEASE_MS, tries);
        return PURGE_LOST;
    }
    enum purge_end end = purge__object(p, mark, tries < TRIES ? PURGE_TRY : PURGE_LAST_TRY, &count);
    tell(mark, end, &count);
    finish(p, mark, end, tries);
    give_lease(p, mark);
    return end;
}

/* -- All marks ----------------------------------------------------------------------------------
 */

static bool next_page(struct purge *p, struct arena *a, const struct sql_mark *after,
    struct sql_mark **marks, size_t *n)
{
    struct err err = {.kind = ERR_NONE};
    bool ok =
        sql_mark_page(a, p->catalog->sql, p->catalog->warehouse.id, after, PAGE, marks, n, &err);
    if (!ok && !p->away)
        log_write(LOG_WARN, "purge", "cannot ask for purges to do: %s", err.msg);
    p->away = !ok;
    return ok;
}

/* *next: milliseconds until the mark is due again, where that is sooner. False: nothing can be done
 * now, for this mark or another. */
static bool look_at(struct purge *p, const struct sql_mark *mark, int64_t *next)
{
    const struct purge_wait *w = wait_of(p, mark->id);
    enum purge_end end = PURGE_DONE;
    if (!w || w->due_us <= clock_mono_us())
        end = work_off(p, mark);
    w = wait_of(p, mark->id);
    int64_t ms = w ? (w->due_us - clock_mono_us()) / 1000 + 1 : POLL_MS;
    if (ms < *next)
        *next = ms > 0 ? ms : 0;
    return end != PURGE_AWAY && end != PURGE_STOPPED;
}

int64_t purge_run(struct purge *p)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct sql_mark last = {0}, *marks = NULL;
    int64_t next = POLL_MS;
    size_t n = PAGE;
    if (p->rate == 0)
        return POLL_MS;
    for (bool first = true; n == PAGE; first = false) {
        arena_reset(a);
        if (!next_page(p, a, first ? NULL : &last, &marks, &n))
            return POLL_MS;
        p->good_until_us = 0; /* a survey is good for the marks that it began after */
        for (size_t i = 0; i < n; i++)
            if (atomic_load(&p->stopped) || !look_at(p, &marks[i], &next))
                return AWAY_MS;
        if (n > 0)
            last = marks[n - 1];
    }
    return next;
}
