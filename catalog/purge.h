/* Purges: the files of dropped tables are deleted in the background. A drop leaves a mark in the
 * database; whoever works it off holds a lease, and the mark goes last. A purge that was cut off
 * anywhere is simply begun again. */
#pragma once

#include <stdint.h>

#include "catalog.h"

struct purge;

/* How the catalogs of other warehouses are had, whose tables may name the files of this one's: by
 * the warehouse's uuid, a reference, also of one that is deactivated. */
struct purge_houses {
    bool (*open)(void *arg, struct str warehouse, struct catalog **out, struct err *err);
    void *arg;
};
struct purge_conf {
    struct catalog *catalog; /* not owned */
    int64_t rate;            /* files per second; 0: marks stay for others */
    struct purge_houses houses;
};
struct purge *purge_new(const struct purge_conf *conf);
void purge_free(struct purge **p);
/* Works off the marks that are due, one after the other; blocks as long as that takes, or until
 * purge_stop. The result: milliseconds after which there may be more to do. What goes wrong is
 * logged. */
int64_t purge_run(struct purge *p);
/* From any thread, for good: purge_run returns once the request to the store at hand has ended. */
void purge_stop(struct purge *p);
