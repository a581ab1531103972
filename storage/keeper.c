#include "keeper.h"

#include "base.h"
#include "clock.h"
#include "log.h"
#include "metric.h"
#include "source.h"
#include "store.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    WAIT_US = 6000000, /* a caller waits for keys at most that long */
    PAUSE_US = 250000, /* after the first failure; each pause twice the last */
    PAUSE_MAX_US = 30000000,
    LOOK_US = 60000000,    /* keys of unknown life are looked for that often */
    SHORTEST_US = 1000000, /* between two requests that succeed */
};

struct keeper {
    struct store_conf conf;
    const struct sources *from;
    const struct source *source;
    enum source_kind kind;
    pthread_t thread; /* of SOURCE_RENEWED */
    pthread_mutex_t lock;
    pthread_cond_t news; /* on the monotonic clock */
    /* All under lock. */
    struct credentials *now;  /* NULL: none yet */
    struct err why;           /* of the last request, when it failed */
    uint64_t answers;         /* requests that ended, either way */
    unsigned failures;        /* in a row */
    int64_t last_us, next_us; /* of the last request's end, of the next one */
    enum { KEEPER_ASKS, KEEPER_RESTS } state;
    bool hurt; /* it has been said that there are no keys */
    bool wanted, stopped;
};

/* --- what a request leads to, under lock -------------------------------------------------------
 */

static bool usable(const struct keeper *k)
{
    return k->now && (k->now->expires_ms == 0 || clock_ms() < k->now->expires_ms);
}

static int64_t until_next_us(const struct credentials *c)
{
    if (c->expires_ms == 0)
        return LOOK_US;
    int64_t half = (c->expires_ms - clock_ms()) * 1000 / 2;
    return half > SHORTEST_US ? half : SHORTEST_US;
}

static void succeed(struct keeper *k, struct credentials *fresh)
{
    if (k->failures > 0)
        log_write(LOG_INFO, "keys", "there are %s from %s again", k->from->what, k->source->name);
    credentials_unref(&k->now);
    k->now = fresh;
    k->failures = 0;
    k->hurt = false;
    err_clear(&k->why);
    k->next_us = k->last_us + until_next_us(fresh);
    metric_add(METRIC_keys_fetched_total, 1);
}

/* One line for a row of failures, and one when it begins to hurt. */
static void complain(struct keeper *k)
{
    const char *what = k->from->what, *name = k->source->name, *why = k->why.msg;
    const char *said = k->why.said;
    bool hurts = !usable(k);
    if (hurts && !k->hurt)
        log_write(LOG_ERROR, "keys", "there are no %s from %s: %s%s", what, name, why, said);
    else if (!hurts && k->failures == 1)
        log_write(LOG_WARN, "keys",
            "no new %s from %s: %s%s; the old ones are used until they expire, and new ones are "
            "asked for again",
            what, name, why, said);
    k->hurt = hurts;
}

static void fail(struct keeper *k, const struct err *why)
{
    int64_t pause = PAUSE_US;
    for (unsigned i = 0; i < k->failures && pause < PAUSE_MAX_US; i++)
        pause *= 2;
    k->failures++;
    k->why = *why;
    k->next_us = k->last_us + (pause < PAUSE_MAX_US ? pause : PAUSE_MAX_US);
    metric_add(METRIC_keys_failures_total, 1);
    complain(k);
}

/* --- the thread --------------------------------------------------------------------------------
 */

/* Under lock, which is open while the source is asked. */
static void ask(struct keeper *k)
{
    AUTO(credentials_unref) struct credentials *fresh = NULL;
    struct err why = {0};
    k->state = KEEPER_ASKS;
    pthread_mutex_unlock(&k->lock);
    bool ok = k->from->fetch(k->source, &k->conf, &fresh, &why);
    if (ok && fresh->expires_ms > 0 && fresh->expires_ms <= clock_ms())
        ok = err_set(&why, ERR_UNAVAILABLE, "the keys that came have expired");
    pthread_mutex_lock(&k->lock);
    k->state = KEEPER_RESTS;
    k->wanted = false;
    k->answers++;
    k->last_us = clock_mono_us();
    if (ok)
        succeed(k, TAKE(fresh));
    else
        fail(k, &why);
    pthread_cond_broadcast(&k->news);
}

static void *thread_main(void *arg)
{
    struct keeper *k = arg;
    pthread_mutex_lock(&k->lock);
    while (!k->stopped) {
        ask(k);
        struct timespec until = thread_until(k->next_us);
        int waited = 0;
        while (!k->stopped && !k->wanted && waited != ETIMEDOUT)
            waited = pthread_cond_timedwait(&k->news, &k->lock, &until);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* --- for others --------------------------------------------------------------------------------
 */

static void init(struct keeper *k)
{
    pthread_mutex_init(&k->lock, NULL);
    thread_cond_init(&k->news);
}

static bool start(struct keeper *k, struct err *err)
{
    k->state = KEEPER_ASKS;
    if (thread_start("firn-keys", thread_main, k, &k->thread, err))
        return true;
    k->kind = SOURCE_FIXED; /* no thread to wait for */
    return false;
}

bool keeper_new(
    const struct sources *from, const struct store_conf *conf, struct keeper **out, struct err *err)
{
    AUTO(keeper_free) struct keeper *k = xcalloc(1, sizeof(*k));
    init(k);
    k->conf = *conf;
    k->from = from;
    TRY(from->find(conf, &k->source, &k->kind, err));
    if (k->kind == SOURCE_RENEWED)
        TRY(start(k, err));
    else
        TRY(from->fetch(k->source, &k->conf, &k->now, err));
    *out = TAKE(k);
    return true;
}

void keeper_free(struct keeper **kp)
{
    struct keeper *k = *kp;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->stopped = true;
    pthread_cond_broadcast(&k->news);
    pthread_mutex_unlock(&k->lock);
    if (k->kind == SOURCE_RENEWED && k->source)
        (void)pthread_join(k->thread, NULL);
    credentials_unref(&k->now);
    pthread_cond_destroy(&k->news);
    pthread_mutex_destroy(&k->lock);
    xfree(k);
    *kp = NULL;
}

/* Until a request ends that had not ended when this was called. Under lock. */
static void wait_for_answer(struct keeper *k, int64_t deadline_us)
{
    if (k->state == KEEPER_RESTS) {
        k->wanted = true;
        pthread_cond_broadcast(&k->news);
    }
    uint64_t seen = k->answers;
    int64_t most = clock_mono_us() + WAIT_US;
    struct timespec until = thread_until(deadline_us < most ? deadline_us : most);
    int waited = 0;
    while (k->answers == seen && !k->stopped && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&k->news, &k->lock, &until);
}

bool keeper_get(struct keeper *k, int64_t deadline_us, struct credentials **out, struct err *err)
{
    pthread_mutex_lock(&k->lock);
    /* After a failure nobody waits: the thread tries again in its own time. */
    if (!usable(k) && k->kind == SOURCE_RENEWED && (k->state == KEEPER_ASKS || k->failures == 0))
        wait_for_answer(k, deadline_us);
    bool found = usable(k);
    if (found)
        *out = credentials_ref(k->now);
    else if (k->why.kind != ERR_NONE)
        *err = k->why;
    else
        (void)err_set(err, ERR_UNAVAILABLE, "no answer yet");
    pthread_mutex_unlock(&k->lock);
    return found || err_wrap(err, "no %s from %s", k->from->what, k->source->name);
}

/* Of a source that is read again when need be. */
static bool look_again(struct keeper *k, const struct credentials *refused)
{
    AUTO(credentials_unref) struct credentials *fresh = NULL;
    struct err ignored = {0};
    if (!k->from->fetch(k->source, &k->conf, &fresh, &ignored) || credentials_same(fresh, refused))
        return false;
    pthread_mutex_lock(&k->lock);
    struct credentials *last = k->now;
    k->now = TAKE(fresh);
    pthread_mutex_unlock(&k->lock);
    credentials_unref(&last);
    return true;
}

static bool ask_again(struct keeper *k, const struct credentials *refused, int64_t deadline_us)
{
    pthread_mutex_lock(&k->lock);
    bool others = k->now && !credentials_same(k->now, refused);
    bool soon = clock_mono_us() < k->last_us + SHORTEST_US || k->failures > 0;
    if (!others && (k->state == KEEPER_ASKS || !soon)) {
        wait_for_answer(k, deadline_us);
        others = k->now && !credentials_same(k->now, refused);
    }
    pthread_mutex_unlock(&k->lock);
    return others;
}

bool keeper_renew(struct keeper *k, const struct credentials *refused, int64_t deadline_us)
{
    switch (k->kind) {
    case SOURCE_LOOKED:
        return look_again(k, refused);
    case SOURCE_RENEWED:
        return ask_again(k, refused, deadline_us);
    case SOURCE_FIXED:
    default:
        return false;
    }
}
