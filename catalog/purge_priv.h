/* What the files of purge share: the job, and the purge of one object. */
#pragma once

#include <stdatomic.h>

#include "purge.h"
#include "sql_purge.h"
#include "uuid.h"

enum {
    PURGE_LEASE_MS = 10000,
    PURGE_RENEW_US = 3000000, /* the lease, and the look at who else lies there */
};

/* An object that is not to be looked at before its time. */
struct purge_wait {
    int64_t id;
    int64_t due_us;
    unsigned tries; /* that left files behind */
};

enum { PURGE_WAITS = 1024 };

struct purge {
    struct catalog *catalog;
    int64_t rate;
    atomic_bool stopped;
    char holder[UUID_TEXT + 1]; /* of leases: this process */
    bool away;                  /* the database was, when last asked */
    struct purge_wait waits[PURGE_WAITS];
    size_t n_waits;
};

enum purge_end {
    PURGE_GOING,
    PURGE_DONE,
    PURGE_SPARED,  /* another object lies there: nothing, or nothing more, was deleted */
    PURGE_LEFT,    /* files that could not be deleted are left, and what leads to them */
    PURGE_AWAY,    /* the store or the database is */
    PURGE_LOST,    /* the lease, to another server */
    PURGE_STOPPED, /* by purge_stop */
};
enum purge_mode {
    PURGE_TRY,
    PURGE_LAST_TRY /* what cannot be deleted stays, and stops nothing */
};
struct purge_count {
    size_t deleted, failed, outside;
};

/* The lease of an object. False when another server has it, or the database is away. */
MUST bool purge__lease(struct purge *p, const struct sql_mark *mark, bool *taken, struct err *err);
/* Deletes what the object's metadata leads to beneath its registered location. The mark stays. */
enum purge_end purge__object(
    struct purge *p, const struct sql_mark *mark, enum purge_mode mode, struct purge_count *count);
