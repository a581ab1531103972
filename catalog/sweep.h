/* Sweeps: metadata files that this warehouse wrote, and that no change ever came to name, are
 * deleted in the background: those of a process that ended between file and swap, of a swap whose
 * file could not be deleted, of a create that failed. One server does it at a time, under a lease;
 * how far it is lies in the database.
 *
 * A file goes in two steps, a round apart. First its token is forgone: from then on the change that
 * it was written for cannot be made, however late it comes, nor can the file be registered. Then it
 * is deleted, if nothing names it then. A file is judged only while every change that could have
 * named it still has its row: one that was current once is never a sweep's. */
#pragma once

#include <stdint.h>

#include "catalog.h"

struct sweep;

struct sweep_conf {
    struct catalog *catalog; /* not owned */
    int64_t grace_ms;        /* younger files are not touched, and a round follows the other in that
                                time; 0: no sweeps */
    int64_t rate;            /* requests to the store per second; 0: no sweeps */
};
struct sweep *sweep_new(const struct sweep_conf *conf);
void sweep_free(struct sweep **s);
/* Goes on with the round under way or begins one that is due; blocks as long as that takes, or
 * until sweep_stop. The result: milliseconds after which there may be more to do. */
int64_t sweep_run(struct sweep *s);
/* From any thread, for good. */
void sweep_stop(struct sweep *s);
