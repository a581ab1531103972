#include "background.h"

#include <errno.h>

#include "base.h"
#include "clock.h"
#include "thread.h"

struct background {
    struct background_job job;
    pthread_mutex_t lock;
    pthread_cond_t news, over; /* on the monotonic clock */
    bool woken, stopped, ended;
};

static void *thread_main(void *arg)
{
    struct background *b = arg;
    pthread_mutex_lock(&b->lock);
    while (!b->stopped) {
        b->woken = false;
        pthread_mutex_unlock(&b->lock);
        int64_t pause_ms = b->job.run(b->job.job);
        struct timespec until = thread_until(clock_mono_us() + pause_ms * 1000);
        int waited = 0;
        pthread_mutex_lock(&b->lock);
        while (!b->stopped && !b->woken && waited != ETIMEDOUT)
            waited = pthread_cond_timedwait(&b->news, &b->lock, &until);
    }
    b->ended = true;
    pthread_cond_signal(&b->over);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void background_free(struct background **pb)
{
    struct background *b = *pb;
    if (!b)
        return;
    b->job.free(b->job.job);
    pthread_cond_destroy(&b->news);
    pthread_cond_destroy(&b->over);
    pthread_mutex_destroy(&b->lock);
    xfree(b);
    *pb = NULL;
}

bool background_start(const struct background_job *job, struct background **out, struct err *err)
{
    AUTO(background_free) struct background *b = xcalloc(1, sizeof(*b));
    b->job = *job;
    pthread_mutex_init(&b->lock, NULL);
    thread_cond_init(&b->news);
    thread_cond_init(&b->over);
    TRY(thread_start(job->name, thread_main, b, NULL, err));
    *out = TAKE(b);
    return true;
}

void background_wake(struct background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->woken = true;
    pthread_cond_signal(&b->news);
    pthread_mutex_unlock(&b->lock);
}

void background_stop(struct background *b)
{
    if (!b)
        return;
    b->job.stop(b->job.job);
    pthread_mutex_lock(&b->lock);
    b->stopped = true;
    pthread_cond_signal(&b->news);
    pthread_mutex_unlock(&b->lock);
}

bool background_join(struct background **pb, int64_t deadline_us)
{
    struct background *b = *pb;
    struct timespec deadline = thread_until(deadline_us);
    int waited = 0;
    if (!b)
        return true;
    pthread_mutex_lock(&b->lock);
    while (!b->ended && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&b->over, &b->lock, &deadline);
    bool ended = b->ended;
    pthread_mutex_unlock(&b->lock);
    if (ended)
        background_free(pb);
    return ended;
}
