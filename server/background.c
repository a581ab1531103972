#include "purger.h"

#include <errno.h>

#include "base.h"
#include "clock.h"
#include "purge.h"
#include "thread.h"

struct purger {
    struct purge *purge;
    pthread_mutex_t lock;
    pthread_cond_t news, over; /* on the monotonic clock */
    bool woken, stopped, ended;
};

static void *thread_main(void *arg)
{
    struct purger *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stopped) {
        p->woken = false;
        pthread_mutex_unlock(&p->lock);
        int64_t pause_ms = purge_run(p->purge);
        struct timespec until = thread_until(clock_mono_us() + pause_ms * 1000);
        int waited = 0;
        pthread_mutex_lock(&p->lock);
        while (!p->stopped && !p->woken && waited != ETIMEDOUT)
            waited = pthread_cond_timedwait(&p->news, &p->lock, &until);
    }
    p->ended = true;
    pthread_cond_signal(&p->over);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void purger_free(struct purger **pp)
{
    struct purger *p = *pp;
    if (!p)
        return;
    purge_free(&p->purge);
    pthread_cond_destroy(&p->news);
    pthread_cond_destroy(&p->over);
    pthread_mutex_destroy(&p->lock);
    xfree(p);
    *pp = NULL;
}

bool purger_start(struct catalog *catalog, int64_t rate, struct purger **out, struct err *err)
{
    const struct purge_conf conf = {.catalog = catalog, .rate = rate};
    AUTO(purger_free) struct purger *p = xcalloc(1, sizeof(*p));
    p->purge = purge_new(&conf);
    pthread_mutex_init(&p->lock, NULL);
    thread_cond_init(&p->news);
    thread_cond_init(&p->over);
    TRY(thread_start("firn-purge", thread_main, p, NULL, err));
    *out = TAKE(p);
    return true;
}

void purger_wake(struct purger *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->woken = true;
    pthread_cond_signal(&p->news);
    pthread_mutex_unlock(&p->lock);
}

void purger_stop(struct purger *p)
{
    if (!p)
        return;
    purge_stop(p->purge);
    pthread_mutex_lock(&p->lock);
    p->stopped = true;
    pthread_cond_signal(&p->news);
    pthread_mutex_unlock(&p->lock);
}

bool purger_join(struct purger **pp, int64_t deadline_us)
{
    struct purger *p = *pp;
    struct timespec deadline = thread_until(deadline_us);
    int waited = 0;
    if (!p)
        return true;
    pthread_mutex_lock(&p->lock);
    while (!p->ended && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&p->over, &p->lock, &deadline);
    bool ended = p->ended;
    pthread_mutex_unlock(&p->lock);
    if (ended)
        purger_free(pp);
    return ended;
}
