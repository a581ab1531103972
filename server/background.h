/* The thread that deletes the files of dropped tables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct catalog;
struct purger;

/* rate: files per second; 0: they are left to other servers. The catalog must outlive the thread.
 */
MUST bool purger_start(struct catalog *catalog, int64_t rate, struct purger **out, struct err *err);
/* A table was dropped. From any thread; NULL is nobody. */
void purger_wake(struct purger *p);
/* No file is begun any more. NULL is nobody. */
void purger_stop(struct purger *p);
/* After purger_stop: waits for the thread until the deadline (clock_mono_us()) and frees all.
 * False: it still runs, nothing is freed. */
bool purger_join(struct purger **p, int64_t deadline_us);
