#include "thread.h"

#include <signal.h>
#include <string.h>

enum { NAME_MAX_SHOWN = 15 };

struct start {
    char name[NAME_MAX_SHOWN + 1];
    void *(*main)(void *arg);
    void *arg;
};

/* Named by itself: another could not tell whether it has ended. */
static void *begin(void *arg)
{
    struct start s = *(struct start *)arg;
    xfree(arg);
    (void)pthread_setname_np(pthread_self(), s.name);
    return s.main(s.arg);
}

static int create(struct start *s, pthread_t *id)
{
    pthread_attr_t attr;
    pthread_t unused;
    sigset_t all, before;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK);
    if (!id)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by the new thread */
    int failed = pthread_create(id ? id : &unused, &attr, begin, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed;
}

bool thread_start(
    const char *name, void *(*main)(void *arg), void *arg, pthread_t *id, struct err *err)
{
    struct start *s = xcalloc(1, sizeof(*s));
    s->main = main;
    s->arg = arg;
    memcpy(s->name, name, strnlen(name, NAME_MAX_SHOWN));
    int failed = create(s, id);
    if (!failed)
        return true;
    xfree(s);
    return err_set(err, ERR_INTERNAL, "cannot start the thread %s: %s", name, strerror(failed));
}

void thread_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

struct timespec thread_until(int64_t mono_us)
{
    return (struct timespec){.tv_sec = mono_us / 1000000, .tv_nsec = mono_us % 1000000 * 1000};
}
