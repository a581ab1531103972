#include "upkeep.h"

#include "call.h"
#include "config.h"
#include "keep.h"
#include "log.h"
#include "warehouses.h"

enum { SHORTEST_US = 1000000, LONGEST_US = 300000000 };

static struct upkeep *of_task(struct exec_task *t)
{
    return (struct upkeep *)(void *)((char *)t - offsetof(struct upkeep, task));
}

static void prune(struct catalog *c, void *arg)
{
    struct upkeep *u = arg;
    struct err err = {0};

    if (!keep_prune(c, str_from(u->holder), u->server->conf->change_retention / 1000, &err))
        log_write(LOG_WARN, "upkeep", "%s%s", ERR_ALL(&err));
}

/* What it did not manage is left to the next one, here or on another replica. */
static void run(struct exec_task *t)
{
    struct upkeep *u = of_task(t);

    warehouses_each(u->server->warehouses, prune, u);
    atomic_store(&u->running, false);
}

static void refuse(struct exec_task *t)
{
    atomic_store(&of_task(t)->running, false);
}

void upkeep_init(struct upkeep *u, const struct server *server)
{
    u->server = server;
    u->task = (struct exec_task){.run = run, .refuse = refuse};
    uuid_v4(u->holder);
    atomic_init(&u->running, false);
}

int64_t upkeep_interval_us(const struct server *server)
{
    int64_t lifetime = server->conf->idempotency_lifetime, us = server->conf->change_retention;

    if (lifetime > 0 && lifetime < us)
        us = lifetime;
    us /= 6;
    return us < SHORTEST_US ? SHORTEST_US : us > LONGEST_US ? LONGEST_US : us;
}

void upkeep_begin(struct upkeep *u)
{
    if (atomic_exchange(&u->running, true))
        return;
    if (exec_submit_upkeep(u->server->exec, &u->task) != EXEC_TAKEN)
        atomic_store(&u->running, false);
}
