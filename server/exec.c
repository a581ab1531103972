#include "exec.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>

#include "clock.h"
#include "fault.h"
#include "lane.h"
#include "log.h"
#include "metric.h"
#include "thread.h"

STAILQ_HEAD(task_queue, exec_task);

/* A key of which a task waits for a thread or runs; the others of that key are parked. */
struct key {
    int64_t value;
    struct task_queue parked;
    unsigned n_parked;
    LIST_ENTRY(key) link;
};
LIST_HEAD(key_list, key);

enum { KEY_BUCKETS = 256 };

struct exec {
    struct exec_conf conf;
    pthread_mutex_t lock;
    pthread_cond_t work, idle, ended; /* on the monotonic clock */
    struct task_queue queue;
    unsigned n_queue, n_parked, n_running, n_threads;
    struct key_list keys[KEY_BUCKETS];
    struct key_list spare; /* so that a commit allocates none */
    bool stopped;
};

static struct key_list *bucket(struct exec *e, int64_t key)
{
    uint64_t h = (uint64_t)key * 0x9e3779b97f4a7c15u;

    return &e->keys[h >> 56];
}

static struct key *key_find(struct exec *e, int64_t value)
{
    struct key *k;

    LIST_FOREACH(k, bucket(e, value), link)
    if (k->value == value)
        return k;
    return NULL;
}

static void key_add(struct exec *e, int64_t value)
{
    struct key *k = LIST_FIRST(&e->spare);

    if (k)
        LIST_REMOVE(k, link);
    else
        k = xcalloc(1, sizeof(*k));
    k->value = value;
    k->n_parked = 0;
    STAILQ_INIT(&k->parked);
    LIST_INSERT_HEAD(bucket(e, value), k, link);
}

static void enqueue(struct exec *e, struct exec_task *t)
{
    STAILQ_INSERT_TAIL(&e->queue, t, link);
    e->n_queue++;
}

/* A task of the key has ended: the next one's turn, behind what other keys have waiting. Nobody is
 * woken: the thread that ended the task takes one from the queue itself. */
static void key_pass_on(struct exec *e, int64_t value)
{
    struct key *k = key_find(e, value);

    assert(k);
    struct exec_task *next = STAILQ_FIRST(&k->parked);
    if (next) {
        STAILQ_REMOVE_HEAD(&k->parked, link);
        k->n_parked--;
        e->n_parked--;
        enqueue(e, next);
        return;
    }
    LIST_REMOVE(k, link);
    LIST_INSERT_HEAD(&e->spare, k, link);
}

static void gauge(const struct exec *e)
{
    metric_set(METRIC_lane_queue, (int64_t)e->n_queue + e->n_parked);
}

static void run_one(struct exec *e, struct exec_task *t)
{
    int64_t key = t->key; /* the task may be gone when run returns */
    void (*done)(struct exec_task *) = t->done;

    t->run(t);
    if (key) {
        pthread_mutex_lock(&e->lock);
        key_pass_on(e, key);
        pthread_mutex_unlock(&e->lock);
    }
    if (done)
        done(t);
}

static void *thread_main(void *arg)
{
    struct exec *e = arg;

    lane_enter(LANE_SLOW);
    pthread_mutex_lock(&e->lock);
    for (;;) {
        struct exec_task *t = STAILQ_FIRST(&e->queue);
        if (!t) {
            if (e->stopped)
                break;
            pthread_cond_wait(&e->work, &e->lock);
            continue;
        }
        STAILQ_REMOVE_HEAD(&e->queue, link);
        e->n_queue--;
        e->n_running++;
        gauge(e);
        pthread_mutex_unlock(&e->lock);
        run_one(e, t);
        pthread_mutex_lock(&e->lock);
        e->n_running--;
        if (!e->n_running && !e->n_queue && !e->n_parked)
            pthread_cond_broadcast(&e->idle);
    }
    e->n_threads--;
    pthread_cond_broadcast(&e->ended);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

static bool start_threads(struct exec *e, struct err *err)
{
    bool ok = true;

    pthread_mutex_lock(&e->lock);
    while (ok && e->n_threads < e->conf.threads) {
        ok = thread_start("firn-slow", thread_main, e, NULL, err);
        if (ok)
            e->n_threads++;
    }
    pthread_mutex_unlock(&e->lock);
    return ok;
}

bool exec_start(const struct exec_conf *conf, struct exec **out, struct err *err)
{
    struct exec *e = xcalloc(1, sizeof(*e));

    e->conf = *conf;
    pthread_mutex_init(&e->lock, NULL);
    thread_cond_init(&e->work);
    thread_cond_init(&e->idle);
    thread_cond_init(&e->ended);
    STAILQ_INIT(&e->queue);
    LIST_INIT(&e->spare);
    for (unsigned i = 0; i < KEY_BUCKETS; i++)
        LIST_INIT(&e->keys[i]);
    if (!start_threads(e, err)) {
        exec_stop(e);
        exec_join(&e, INT64_MAX);
        return false;
    }
    *out = e;
    return true;
}

static enum exec_result submit_locked(struct exec *e, struct exec_task *t, unsigned bound)
{
    struct key *k = t->key ? key_find(e, t->key) : NULL;

    if (e->stopped)
        return EXEC_STOPPED;
    if (k) {
        if (k->n_parked >= e->conf.per_key)
            return EXEC_KEY_FULL;
        t->parked = true;
        STAILQ_INSERT_TAIL(&k->parked, t, link);
        k->n_parked++;
        e->n_parked++;
        return EXEC_TAKEN;
    }
    if (e->n_queue >= bound || FAULT(EXEC_QUEUE_FULL))
        return EXEC_FULL;
    if (t->key)
        key_add(e, t->key);
    enqueue(e, t);
    return EXEC_TAKEN;
}

static enum exec_result submit(struct exec *e, struct exec_task *t, unsigned bound)
{
    pthread_mutex_lock(&e->lock);
    unsigned before = e->n_queue;
    enum exec_result r = submit_locked(e, t, bound);
    bool wake = e->n_queue > before;
    gauge(e);
    pthread_mutex_unlock(&e->lock);
    if (wake) /* without the lock, which the woken thread needs first */
        pthread_cond_signal(&e->work);
    return r;
}

enum exec_result exec_submit(struct exec *e, struct exec_task *t)
{
    enum exec_result r = submit(e, t, e->conf.queue);

    if (r != EXEC_TAKEN)
        metric_add(METRIC_lane_refused_total, 1);
    return r;
}

enum exec_result exec_submit_upkeep(struct exec *e, struct exec_task *t)
{
    return submit(e, t, UINT32_MAX);
}

bool exec_wait_idle(struct exec *e, int64_t deadline_us)
{
    struct timespec deadline = thread_until(deadline_us);
    int waited = 0;

    pthread_mutex_lock(&e->lock);
    while ((e->n_running || e->n_queue || e->n_parked) && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&e->idle, &e->lock, &deadline);
    bool idle = !e->n_running && !e->n_queue && !e->n_parked;
    pthread_mutex_unlock(&e->lock);
    return idle;
}

/* NOLINTNEXTLINE(readability-function-size): the macros of sys/queue.h */
static void take_parked(struct key_list *keys, struct task_queue *to)
{
    struct key *k;

    LIST_FOREACH(k, keys, link)
    {
        STAILQ_CONCAT(to, &k->parked);
        k->n_parked = 0;
    }
}

/* The first of everything that has not begun; the keys that only waiting tasks held go. */
static struct exec_task *take_waiting(struct exec *e)
{
    struct task_queue waiting = STAILQ_HEAD_INITIALIZER(waiting);
    struct exec_task *t;

    for (unsigned i = 0; i < KEY_BUCKETS; i++)
        take_parked(&e->keys[i], &waiting);
    STAILQ_FOREACH(t, &e->queue, link)
    if (t->key)
        key_pass_on(e, t->key);
    STAILQ_CONCAT(&waiting, &e->queue);
    e->n_queue = e->n_parked = 0;
    return STAILQ_FIRST(&waiting);
}

void exec_stop(struct exec *e)
{
    struct exec_task *t, *next;

    pthread_mutex_lock(&e->lock);
    e->stopped = true;
    t = take_waiting(e);
    gauge(e);
    pthread_cond_broadcast(&e->work);
    if (!e->n_running)
        pthread_cond_broadcast(&e->idle);
    pthread_mutex_unlock(&e->lock);

    for (; t; t = next) {
        next = STAILQ_NEXT(t, link); /* the task may be gone afterwards */
        t->refuse(t);
    }
}

static void key_list_free(struct key_list *list)
{
    struct key *k;

    while ((k = LIST_FIRST(list))) {
        LIST_REMOVE(k, link);
        xfree(k);
    }
}

bool exec_join(struct exec **pe, int64_t deadline_us)
{
    struct exec *e = *pe;
    struct timespec deadline = thread_until(deadline_us);
    int waited = 0;

    if (!e)
        return true;
    pthread_mutex_lock(&e->lock);
    assert(e->stopped);
    while (e->n_threads && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&e->ended, &e->lock, &deadline);
    bool ended = !e->n_threads;
    pthread_mutex_unlock(&e->lock);
    if (!ended)
        return false;
    for (unsigned i = 0; i < KEY_BUCKETS; i++)
        key_list_free(&e->keys[i]);
    key_list_free(&e->spare);
    pthread_cond_destroy(&e->work);
    pthread_cond_destroy(&e->idle);
    pthread_cond_destroy(&e->ended);
    pthread_mutex_destroy(&e->lock);
    xfree(e);
    *pe = NULL;
    return true;
}

unsigned exec_waiting(struct exec *e)
{
    pthread_mutex_lock(&e->lock);
    unsigned n = e->n_queue + e->n_parked;
    pthread_mutex_unlock(&e->lock);
    return n;
}
