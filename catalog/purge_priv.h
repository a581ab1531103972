/* What the files of purge share: the job, and the purge of one object. */
#pragma once

#include <stdatomic.h>

#include "hashes.h"
#include "purge.h"
#include "sql_purge.h"
#include "sql_survey.h"
#include "uuid.h"

enum {
    PURGE_LEASE_MS = 10000,
    PURGE_RENEW_US = 3000000, /* the lease, and the look at who else lies there */
};

/* An object that is not to be looked at before its time. */
struct purge_wait {
    int64_t id;
    int64_t due_us;
    unsigned tries;  /* that left files behind */
    unsigned unsure; /* that had to wait for others, or for the store */
};

enum { PURGE_WAITS = 1024, PURGE_BLIND = 16 };

/* What the last survey could not learn: buckets in which tables may name files that it does not
 * know of. */
struct purge_blind {
    struct arena *a;
    struct str authorities[PURGE_BLIND];
    size_t n;
    bool all; /* there were too many */
};

struct purge {
    struct catalog *catalog;
    int64_t rate;
    struct purge_houses houses;
    atomic_bool stopped;
    char holder[UUID_TEXT + 1]; /* of leases: this process */
    bool away;                  /* the database was, when last asked */
    struct purge_wait waits[PURGE_WAITS];
    size_t n_waits;
    int64_t good_until_us; /* the last survey is; 0: there is none */
    struct purge_blind blind;
};

enum purge_end {
    PURGE_GOING,
    PURGE_DONE,
    PURGE_SPARED,  /* another object lies there: nothing, or nothing more, was deleted */
    PURGE_LEFT,    /* files that could not be deleted are left, and what leads to them */
    PURGE_UNSURE,  /* what another table names cannot be known for now: nothing more is deleted */
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
    size_t spared; /* that another table names */
    size_t unread; /* that lead to files nobody here can see: they stay, and what leads to them */
};

/* The lease of an object. False when another server has it, or the database is away. */
MUST bool purge__lease(struct purge *p, const struct sql_mark *mark, bool *taken, struct err *err);
/* Deletes what the object's metadata leads to beneath its registered location. The mark stays. */
enum purge_end purge__object(
    struct purge *p, const struct sql_mark *mark, enum purge_mode mode, struct purge_count *count);

/* --- what other tables name --- */

/* May it go on? Asked before each request to the store. */
struct purge_asker {
    bool (*go_on)(void *arg);
    void *arg;
};

/* The warehouse of a table at hand. Zero to begin with. */
struct house {
    int64_t id;
    struct catalog *catalog; /* a reference; NULL: it cannot be opened */
};
/* Enters the table's warehouse; *err: why it cannot be opened. */
MUST bool house_enter(
    struct house *h, struct purge *p, const struct sql_surveyed *table, struct err *err);
void house_fini(struct house *h);
struct named_by;
struct metadata;
/* The metadata that the table's pointer leads to, though it moves meanwhile: table's
 * metadata_location is then the one that was read, in the arena. NULL and true: nobody can read it
 * (the log says so), or the table is gone. False: *err says why it is not known, or go_on is false
 * and *err is clear. */
MUST bool house_read(struct arena *a, const struct named_by *by, struct sql_surveyed *table,
    struct metadata **out, struct err *err);

/* Brings up to date what is known of the files that tables name outside their locations: reads the
 * metadata of those that have changed, what is new in it. Good for all marks that were there before
 * it began. PURGE_GOING when it is done; PURGE_STOPPED: go_on said so. */
enum purge_end purge__survey(struct purge *p, const struct purge_asker *asker);
/* May tables name files in the bucket of this location that the survey does not know of? */
bool purge__is_blind(const struct purge *p, struct str location);

/* The files at a place that live tables name. */
struct spare {
    struct hashes files, folders;
    struct hashes tables, seen; /* what was read for that: metadata of tables; manifests, lists */
    enum { SPARE_FILES, SPARE_FOLDERS, SPARE_ALL } grain; /* coarser where there are too many */
};
/* Fills it, or adds what tables have begun to name since; PURGE_GOING when it is whole, else as
 * above, or PURGE_UNSURE. */
enum purge_end purge__spare(
    struct purge *p, const struct purge_asker *asker, struct str location, struct spare *out);
/* By whatever name. */
bool spare_has(const struct spare *s, struct arena *scratch, struct str uri);
void spare_fini(struct spare *s);
