#include "jobs.h"

#include <pthread.h>

#include "base.h"
#include "config.h"
#include "purge.h"
#include "sweep.h"
#include "warehouses.h"

enum { PAUSE_MAX_MS = 60000 }; /* after which there may be other warehouses */

/* --- the two kinds -----------------------------------------------------------------------------
 */

static bool open_house(void *arg, struct str warehouse, struct catalog **out, struct err *err)
{
    return warehouses_open_any(arg, warehouse, out, err);
}

static void *make_purge(struct catalog *c, struct warehouses *w, const struct config *conf)
{
    const struct purge_conf purges = {
        c, conf->purge_rate, {open_house, w}
    };

    return purge_new(&purges);
}

static int64_t run_purge(void *work)
{
    return purge_run(work);
}

static void stop_purge(void *work)
{
    purge_stop(work);
}

static void free_purge(void *work)
{
    struct purge *p = work;

    purge_free(&p);
}

static void *make_sweep(struct catalog *c, struct warehouses *w, const struct config *conf)
{
    (void)w;
    const struct sweep_conf sweeps = {c, conf->sweep_grace / 1000, conf->purge_rate};

    return sweep_new(&sweeps);
}

static int64_t run_sweep(void *work)
{
    return sweep_run(work);
}

static void stop_sweep(void *work)
{
    sweep_stop(work);
}

static void free_sweep(void *work)
{
    struct sweep *s = work;

    sweep_free(&s);
}

static const struct kind {
    const char *thread;
    void *(*make)(struct catalog *c, struct warehouses *w, const struct config *conf);
    int64_t (*run)(void *work);
    void (*stop)(void *work);
    void (*free)(void *work);
} kinds[] = {
    [JOBS_PURGE] = {"firn-purge", make_purge, run_purge, stop_purge, free_purge},
    [JOBS_SWEEP] = {"firn-sweep", make_sweep, run_sweep, stop_sweep, free_sweep},
};

/* --- one warehouse's ---------------------------------------------------------------------------
 */

struct one {
    struct one *next;
    struct catalog *catalog; /* a reference */
    void *work;
    bool seen; /* in this round */
};

struct all {
    const struct kind *kind;
    struct warehouses *warehouses;
    const struct config *conf;
    pthread_mutex_t lock; /* guards what follows; only the thread changes the list */
    struct one *first;
    bool stopped;
};

static void one_free(const struct kind *kind, struct one *o)
{
    kind->free(o->work);
    catalog_unref(&o->catalog);
    xfree(o);
}

/* A warehouse that was changed is another catalog, and begins anew. */
static void see(struct catalog *c, void *arg)
{
    struct all *all = arg;

    for (struct one *o = all->first; o; o = o->next)
        if (o->catalog == c) {
            o->seen = true;
            return;
        }
    struct one *o = xcalloc(1, sizeof(*o));
    *o = (struct one){
        all->first, catalog_ref(c), all->kind->make(c, all->warehouses, all->conf), true};
    pthread_mutex_lock(&all->lock);
    all->first = o;
    if (all->stopped)
        all->kind->stop(o->work);
    pthread_mutex_unlock(&all->lock);
}

static void forget_unseen(struct all *all)
{
    for (struct one **at = &all->first; *at;) {
        struct one *o = *at;
        if (o->seen) {
            at = &o->next;
            continue;
        }
        pthread_mutex_lock(&all->lock);
        *at = o->next;
        pthread_mutex_unlock(&all->lock);
        one_free(all->kind, o);
    }
}

/* --- the job of the thread ---------------------------------------------------------------------
 */

static int64_t run(void *job)
{
    struct all *all = job;
    int64_t pause = PAUSE_MAX_MS;

    for (struct one *o = all->first; o; o = o->next)
        o->seen = false;
    warehouses_each(all->warehouses, see, all);
    forget_unseen(all);
    for (struct one *o = all->first; o; o = o->next) {
        int64_t next = all->kind->run(o->work);
        pause = next < pause ? next : pause;
    }
    return pause;
}

static void stop(void *job)
{
    struct all *all = job;

    pthread_mutex_lock(&all->lock);
    all->stopped = true;
    for (struct one *o = all->first; o; o = o->next)
        all->kind->stop(o->work);
    pthread_mutex_unlock(&all->lock);
}

static void free_all(void *job)
{
    struct all *all = job;

    while (all->first) {
        struct one *o = all->first;
        all->first = o->next;
        one_free(all->kind, o);
    }
    pthread_mutex_destroy(&all->lock);
    xfree(all);
}

bool jobs_start(enum jobs kind, struct warehouses *w, const struct config *conf,
    struct background **out, struct err *err)
{
    struct all *all = xcalloc(1, sizeof(*all));

    all->kind = &kinds[kind];
    all->warehouses = w;
    all->conf = conf;
    pthread_mutex_init(&all->lock, NULL);
    const struct background_job job = {all->kind->thread, all, run, stop, free_all};
    return background_start(&job, out, err);
}
