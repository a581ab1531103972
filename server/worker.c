#include "worker.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "afterwards.h"
#include "call.h"
#include "clock.h"
#include "config.h"
#include "http.h"
#include "lane.h"
#include "log.h"
#include "lookup.h"
#include "stage.h"
#include "thread.h"

enum { SPARE_CALLS = 32, EVENTS = 4, STOP_PATIENCE_US = 5000000, STOP_TURN_MS = 10 };

struct worker {
    const struct server *server;
    unsigned apis;
    pthread_t thread;
    int epoll, event;
    char ends; /* its address is the mark of http_ends_fd in the epoll */
    struct http *http;
    struct lookup *lookup;
    struct call *spare; /* warm calls */
    unsigned n_spare;
    atomic_uint calls, headed;
    atomic_bool quiesce, stop;

    pthread_mutex_t lock; /* what other threads hand in */
    struct call *answered;
    struct worker_note *notes;
};

/* --- calls -------------------------------------------------------------------------------------
 */

static void run_slow(struct exec_task *t);
static void answer(struct exec_task *t);
static void refuse_slow(struct exec_task *t);

static struct call *take(void *owner)
{
    struct worker *w = owner;
    struct call *c = w->spare;

    atomic_fetch_add_explicit(&w->calls, 1, memory_order_relaxed);
    if (c) {
        w->spare = c->next;
        w->n_spare--;
        c->next = NULL;
        return c;
    }
    c = call_new(w->server);
    c->worker = w;
    c->apis = w->apis;
    return c;
}

/* How an answer ends that is sent piece by piece is known at its end. */
static void count_whole(void *owner, struct call *c)
{
    (void)owner;
    if (!c->reply.stream)
        stage_count(c);
}

static void give(void *owner, struct call *c)
{
    struct worker *w = owner;

    stage_account(c);
    afterwards_add(w->server->afterwards, c->catalog, &c->left);
    atomic_fetch_sub_explicit(&w->calls, 1, memory_order_release);
    if (c->headed)
        atomic_fetch_sub_explicit(&w->headed, 1, memory_order_release);
    if (w->n_spare == SPARE_CALLS) {
        call_free(&c);
        return;
    }
    call_reset(c);
    c->next = w->spare;
    w->spare = c;
    w->n_spare++;
}

static struct call *of_task(struct exec_task *t)
{
    return (struct call *)(void *)((char *)t - offsetof(struct call, task));
}

static void run_slow(struct exec_task *t)
{
    stage_slow(of_task(t));
}

static void wake(struct worker *w)
{
    uint64_t one = 1;

    while (write(w->event, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

/* From any thread: the reply of a call that was in the slow lane is there. */
static void hand_in(struct call *c)
{
    struct worker *w = c->worker;

    pthread_mutex_lock(&w->lock);
    bool first = !w->answered && !w->notes;
    c->next = w->answered;
    w->answered = c;
    pthread_mutex_unlock(&w->lock);
    if (first)
        wake(w);
}

/* Only when the next one of its key may run: a client that commits again at once must not find its
 * own last commit in the way. */
static void answer(struct exec_task *t)
{
    hand_in(of_task(t));
}

static void refuse_slow(struct exec_task *t)
{
    struct call *c = of_task(t);

    stage_refuse(c, "The server is stopping");
    hand_in(c);
}

/* Commits of one table run one after the other here rather than fight in the database. */
static int64_t key_of(const struct call *c)
{
    return c->op->mutates && c->looked_up ? c->found.object.id : 0;
}

static enum http_next submit(struct call *c)
{
    c->task = (struct exec_task){
        .run = run_slow, .done = answer, .refuse = refuse_slow, .key = key_of(c)};
    c->submitted_us = clock_mono_us();
    /* However slowly the body came in. */
    c->deadline_us = c->submitted_us + c->server->conf->request_timeout;
    switch (exec_submit(c->server->exec, &c->task)) {
    case EXEC_TAKEN:
        return HTTP_WAIT;
    case EXEC_FULL:
        stage_refuse(c, "The server is busy: too many requests are waiting");
        break;
    case EXEC_KEY_FULL:
        stage_refuse(c, "Too many changes of this object are waiting");
        break;
    case EXEC_STOPPED:
        stage_refuse(c, "The server is stopping");
        break;
    }
    return HTTP_REPLY;
}

static enum http_next proceed(struct call *c)
{
    if (c->op->lane == LANE_FAST && stage_fast(c))
        return HTTP_REPLY;
    return submit(c);
}

static void looked_up(struct call *c)
{
    if ((c->looked_up ? proceed(c) : submit(c)) == HTTP_REPLY)
        http_resume(c);
}

static bool head(void *owner, struct call *c)
{
    struct worker *w = owner;

    c->headed = true;
    atomic_fetch_add_explicit(&w->headed, 1, memory_order_relaxed);
    return stage_head(c);
}

static enum http_next start(void *owner, struct call *c)
{
    struct worker *w = owner;

    if (!c->catalog)
        return submit(c);
    switch (c->op->lookup) {
    case LOOKUP_NONE:
    case LOOKUP_WAREHOUSE:
        return proceed(c);
    case LOOKUP_NAMESPACE:
    case LOOKUP_TABLE:
    case LOOKUP_VIEW:
        break;
    case LOOKUP_ROOM:
        if (!stage_may_read(c))
            return proceed(c);
        if (!stage_read(c))
            return HTTP_REPLY;
        break;
    }
    lookup_add(w->lookup, c);
    return HTTP_WAIT;
}

static void run_more(struct exec_task *t)
{
    stage_more(of_task(t));
}

static void refuse_more(struct exec_task *t)
{
    struct call *c = of_task(t);

    stage_break(c, "The server is stopping");
    hand_in(c);
}

/* The answer has begun, so a full lane is no reason any more to refuse it. No more wait than there
 * are connections. */
static bool more(void *owner, struct call *c)
{
    (void)owner;
    c->task = (struct exec_task){.run = run_more, .done = answer, .refuse = refuse_more};
    if (exec_submit_upkeep(c->server->exec, &c->task) == EXEC_TAKEN)
        return true;
    stage_break(c, "The server is stopping");
    return false;
}

/* --- what other threads hand in ----------------------------------------------------------------
 */

void worker_note(struct worker *w, struct worker_note *n)
{
    pthread_mutex_lock(&w->lock);
    bool first = !w->answered && !w->notes;
    n->next = w->notes;
    w->notes = n;
    pthread_mutex_unlock(&w->lock);
    if (first)
        wake(w);
}

static void take_in(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    struct call *answered = TAKE(w->answered);
    struct worker_note *notes = TAKE(w->notes);
    pthread_mutex_unlock(&w->lock);

    while (answered) {
        struct call *c = answered;
        answered = c->next;
        http_resume(c);
    }
    while (notes) {
        struct worker_note *n = notes;
        notes = n->next;
        n->fn(n->arg);
    }
}

/* --- the loop ----------------------------------------------------------------------------------
 */

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void turn(struct worker *w)
{
    struct epoll_event events[EVENTS];
    uint64_t count;
    lookup_wait(w->lookup);
    int wait = sooner(http_timeout_ms(w->http), lookup_timeout_ms(w->lookup));
    if (atomic_load_explicit(&w->stop, memory_order_relaxed))
        wait = sooner(wait, STOP_TURN_MS);
    int n = epoll_wait(w->epoll, events, EVENTS, wait);

    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == &w->event)
            (void)!read(w->event, &count, sizeof(count));
        else if (events[i].data.ptr == &w->lookup && (events[i].events & ~EPOLLOUT))
            lookup_readable(w->lookup);
        else if (events[i].data.ptr == &w->ends)
            http_ended(w->http);
    }
    take_in(w);
    lookup_turn(w->lookup);
    if (atomic_load_explicit(&w->quiesce, memory_order_relaxed))
        http_quiesce(w->http);
    http_run(w->http);
    lookup_turn(w->lookup);
    log_flush();
}

static void *thread_main(void *arg)
{
    struct worker *w = arg;

    lane_enter(LANE_FAST);
    log_gather(true);
    while (!atomic_load_explicit(&w->stop, memory_order_acquire))
        turn(w);
    /* The library must not be stopped while calls wait: those whose answer is on its way get it. */
    int64_t deadline = clock_mono_us() + STOP_PATIENCE_US;
    while (http_waiting(w->http) && clock_mono_us() < deadline)
        turn(w);
    if (http_waiting(w->http))
        log_fatal("calls without an answer at the end of a worker");
    http_run(w->http);
    http_stop(&w->http);
    log_gather(false);
    return NULL;
}

/* --- life --------------------------------------------------------------------------------------
 */

static bool watch(struct worker *w, int fd, void *tag, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = tag};

    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev))
        return err_set(err, ERR_INTERNAL, "epoll_ctl: %s", strerror(errno));
    return true;
}

static void worker_free(struct worker **pw)
{
    struct worker *w = *pw;

    http_stop(&w->http);
    lookup_free(&w->lookup);
    while (w->spare) {
        struct call *c = w->spare;
        w->spare = c->next;
        call_free(&c);
    }
    if (w->epoll >= 0)
        close(w->epoll);
    if (w->event >= 0)
        close(w->event);
    pthread_mutex_destroy(&w->lock);
    xfree(w);
    *pw = NULL;
}

static bool open_parts(struct worker *w, int listen_fd, unsigned connections, struct err *err)
{
    struct http_service service = {w, HTTP_COUNTED, take, count_whole, give, head, start, more};

    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll < 0 || w->event < 0)
        return err_set(err, ERR_INTERNAL, "cannot make an event loop: %s", strerror(errno));
    w->lookup = lookup_new(w, w->server, w->epoll, &w->lookup, looked_up);
    TRY(lookup_open(w->lookup, err));
    TRY(http_start(listen_fd, w->server->conf, connections, &service, &w->http, err));
    TRY(watch(w, w->event, &w->event, err));
    TRY(watch(w, http_fd(w->http), &w->http, err));
    return watch(w, http_ends_fd(w->http), &w->ends, err);
}

bool worker_start(const struct server *server, const struct worker_conf *conf, struct worker **out,
    struct err *err)
{
    struct worker *w = xcalloc(1, sizeof(*w));

    w->server = server;
    w->apis = conf->apis;
    w->epoll = w->event = -1;
    pthread_mutex_init(&w->lock, NULL);
    if (!open_parts(w, conf->listen_fd, conf->connections, err) ||
        !thread_start("firn-loop", thread_main, w, &w->thread, err)) {
        worker_free(&w);
        return false;
    }
    *out = w;
    return true;
}

void worker_quiesce(struct worker *w)
{
    atomic_store_explicit(&w->quiesce, true, memory_order_relaxed);
    wake(w);
}

unsigned worker_calls(const struct worker *w, enum worker_count which)
{
    return atomic_load_explicit(which == WORKER_ALL ? &w->calls : &w->headed, memory_order_acquire);
}

void worker_stop(struct worker **pw)
{
    struct worker *w = *pw;

    if (!w)
        return;
    atomic_store_explicit(&w->stop, true, memory_order_release);
    wake(w);
    pthread_join(w->thread, NULL);
    take_in(w); /* a note of the lookup may have come last */
    worker_free(pw);
}
