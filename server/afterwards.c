#include "afterwards.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/queue.h>

#include "arena.h"
#include "base.h"
#include "catalog.h"
#include "exec.h"
#include "leftover.h"
#include "log.h"
#include "metric.h"

enum { QUEUE_MAX = 4096, BATCH = 256 };

struct file {
    STAILQ_ENTRY(file) link;
    struct catalog *catalog; /* of its warehouse, a reference */
    struct leftover one;
    char text[];
};
STAILQ_HEAD(files, file);

struct afterwards {
    struct exec_task task;
    struct exec *exec;
    pthread_mutex_t lock; /* guards what follows */
    struct files files;
    size_t n;
    bool running; /* the task is with the lane */
    bool full;    /* and the log says so */
};

static struct afterwards *of_task(struct exec_task *t)
{
    return (struct afterwards *)(void *)((char *)t - offsetof(struct afterwards, task));
}

/* -- The task ------------------------------------------------------------------------------------
 */

/* Files of one warehouse that stand together. With the lock held. */
static size_t take_batch(struct afterwards *p, struct files *out)
{
    struct catalog *catalog = NULL;
    struct file *f;
    size_t n = 0;
    while (n < BATCH && (f = STAILQ_FIRST(&p->files)) && (!catalog || f->catalog == catalog)) {
        catalog = f->catalog;
        STAILQ_REMOVE_HEAD(&p->files, link);
        STAILQ_INSERT_TAIL(out, f, link);
        n++;
    }
    p->n -= n;
    return n;
}

static void free_files(struct files *list)
{
    struct file *f;
    while ((f = STAILQ_FIRST(list))) {
        STAILQ_REMOVE_HEAD(list, link);
        catalog_unref(&f->catalog);
        xfree(f);
    }
}

static void delete_batch(struct files *batch, size_t n)
{
    struct leftover files[BATCH];
    struct file *f;
    size_t i = 0, deleted;
    STAILQ_FOREACH(f, batch, link)
    files[i++] = f->one;
    leftovers_delete(STAILQ_FIRST(batch)->catalog, files, n, &deleted);
    free_files(batch);
}

static void run(struct exec_task *t)
{
    struct afterwards *p = of_task(t);
    struct files batch = STAILQ_HEAD_INITIALIZER(batch);
    size_t n;
    pthread_mutex_lock(&p->lock);
    while ((n = take_batch(p, &batch)) > 0) {
        pthread_mutex_unlock(&p->lock);
        delete_batch(&batch, n);
        pthread_mutex_lock(&p->lock);
    }
    p->running = p->full = false;
    pthread_mutex_unlock(&p->lock);
}

/* With the lock held. */
static void drop_all(struct afterwards *p)
{
    if (p->n == 0)
        return;
    metric_add(METRIC_leftover_dropped_total, p->n);
    log_write(LOG_WARN, "leftover", "the server stops: %zu files stay", p->n);
    free_files(&p->files);
    p->n = 0;
}

static void refuse(struct exec_task *t)
{
    struct afterwards *p = of_task(t);
    pthread_mutex_lock(&p->lock);
    p->running = false;
    drop_all(p);
    pthread_mutex_unlock(&p->lock);
}

/* -- Life ---------------------------------------------------------------------------------------
 */

struct afterwards *afterwards_new(struct exec *exec)
{
    struct afterwards *p = xcalloc(1, sizeof(*p));
    p->task = (struct exec_task){.run = run, .refuse = refuse};
    p->exec = exec;
    pthread_mutex_init(&p->lock, NULL);
    STAILQ_INIT(&p->files);
    return p;
}

void afterwards_free(struct afterwards **pp)
{
    struct afterwards *p = *pp;
    if (!p)
        return;
    free_files(&p->files);
    pthread_mutex_destroy(&p->lock);
    xfree(p);
    *pp = NULL;
}

/* -- Coming in ----------------------------------------------------------------------------------
 */

static void add_one(struct afterwards *p, struct catalog *catalog, const struct leftover *one)
{
    if (p->n == QUEUE_MAX) {
        metric_add(METRIC_leftover_dropped_total, 1);
        if (!p->full)
            log_write(
                LOG_WARN, "leftover", "%d files wait to be deleted: further ones stay", QUEUE_MAX);
        p->full = true;
        return;
    }
    struct file *f = xmalloc(sizeof(*f) + one->uri.n + 1);
    *(char *)mempcpy(f->text, one->uri.p, one->uri.n) = '\0';
    f->catalog = catalog_ref(catalog);
    f->one = *one;
    f->one.uri = (struct str){f->text, one->uri.n};
    STAILQ_INSERT_TAIL(&p->files, f, link);
    p->n++;
}

void afterwards_add(struct afterwards *p, struct catalog *catalog, const struct leftovers *left)
{
    if (!left->first)
        return;
    pthread_mutex_lock(&p->lock);
    for (const struct leftover *one = left->first; one; one = one->next)
        add_one(p, catalog, one);
    bool submit = !p->running && p->n > 0;
    p->running = p->running || submit;
    pthread_mutex_unlock(&p->lock);
    if (submit && exec_submit_upkeep(p->exec, &p->task) != EXEC_TAKEN)
        refuse(&p->task);
}

bool afterwards_idle(struct afterwards *p)
{
    pthread_mutex_lock(&p->lock);
    bool idle = !p->running && p->n == 0;
    pthread_mutex_unlock(&p->lock);
    return idle;
}
