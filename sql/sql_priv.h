/* Shared by the files of sql: the handle, statements on pooled connections, units of work. */
#pragma once

#include <pthread.h>
#include <sys/queue.h>

#include "arena.h"
#include "buf.h"
#include "driver.h"
#include "sql.h"
#include "sql_keep.h"
#include "sql_lookup.h"

/* Connections of one role. */
struct pool {
    struct db **idle;
    unsigned idle_n, open_n, max;
    pthread_cond_t freed; /* one of them */
};

/* batch.c: who waits to make a change together with others. */
struct batch {
    pthread_mutex_t mutex;
    TAILQ_HEAD(, waiter) queue;
    unsigned away; /* with the database */
};

struct sql {
    const struct driver *driver;
    struct sql_conf conf;
    char *database; /* conf's */
    void *home;
    struct arena *arena;
    struct str name;
    pthread_mutex_t mutex; /* guards what follows */
    struct pool pools[DB_ROLES];
    unsigned lost_n; /* closed because they broke: the next ones opened are reconnects */
    struct batch swaps, inserts;
};

/* --- time and patience --- */

enum {
    SQL_READ_US = 5000000,   /* a read may take that long */
    SQL_WRITE_US = 10000000, /* a statement of a unit of work */
    SQL_WAIT_US = 2000000,   /* for a free connection */
    SQL_LOCK_US = 5000000,   /* for another's lock, as pg.c tells the server */
    SQL_AWAY_US = 3000000,   /* a database that is away is tried again that long */
};

/* The pace of repetitions: each pause twice the last, up to half a second, never past `until`. */
struct pace {
    int64_t until_us;
    unsigned n;
};
/* False when there is no time left; otherwise the pause is over when it returns. */
bool sql__pause(struct pace *p);

/* --- connections --- */

/* A connection outside the pool; the metric of reconnects knows of it. ERR_UNAVAILABLE. */
MUST bool sql__connect(struct sql *s, enum db_role role, struct db **out, struct err *err);
void sql__disconnect(struct sql *s, struct db **db);
/* A connection for this thread alone. ERR_UNAVAILABLE; ERR_BUSY when none was free for two seconds
 * (not for callers of sql: they hear ERR_UNAVAILABLE, but waiting once more would not help). */
MUST bool sql__take(struct sql *s, enum db_role role, struct db **out, struct err *err);
/* Back into the pool, or closed when it broke. */
void sql__give(struct sql *s, struct db **db);

/* --- statements --- */

/* One statement on a connection at hand. */
MUST bool sql__exec(
    struct arena *a, struct db *db, const struct request *r, struct rows *out, struct err *err);
/* One statement on any connection, sent again while the database is away: for statements that may
 * be carried out twice. */
MUST bool sql__once(struct arena *a, struct sql *s, enum db_role role, const struct request *r,
    struct rows *out, struct err *err);
/* A read through sql__once; the parameters follow as an array. */
#define sql__read(a, s, statement, params_, out, err)                                              \
    sql__once((a), (s), DB_READ,                                                                   \
        &(struct request){.stmt = (statement),                                                     \
            .params = (params_),                                                                   \
            .deadline_us = clock_mono_us() + SQL_READ_US},                                         \
        (out), (err))

/* A change of one statement through sql__once. *n: the rows that it gives back; NULL: never mind.
 */
MUST bool sql__change(
    struct sql *s, enum stmt stmt, const struct param *params, size_t *n, struct err *err);

struct str rows_str(const struct rows *r, size_t row, size_t column);
/* 0 for NULL. */
int64_t rows_i64(const struct rows *r, size_t row, size_t column);
/* The rows of a statement with one column, in the arena that they are in. */
void rows_names(const struct rows *r, struct str **names, size_t *n);

/* An array as a parameter, for statements that PostgreSQL alone has. */
struct array {
    struct buf text;
};
void array_begin(struct array *l);
void array_number(struct array *l, int64_t n);
void array_str(struct array *l, struct str s); /* absent: NULL */
struct param array_end(struct array *l, struct arena *a);
/* Does the engine have the statement? */
bool sql__has(const struct sql *s, enum stmt stmt);

/* --- units of work: a transaction and its change row, repeated until its outcome is known --- */

enum unit_end {
    UNIT_COMMIT,
    UNIT_ABANDON, /* nothing to change: the transaction is rolled back, the result stands */
    UNIT_APPLIED, /* an earlier attempt was carried out; its result stands */
};

struct unit {
    struct sql *s;
    const struct sql_change *by;
    int64_t warehouse;
    enum effect effect; /* of the commit */
    bool alone;         /* the work is one statement that needs no transaction around it */
    struct db *db;      /* of this attempt */
    struct arena *a;    /* of this attempt */
    int64_t deadline_us;
    enum unit_end end;
    bool unclear; /* an earlier attempt's commit was sent and not answered */
    bool keyed;   /* the request's key and answer are written in this attempt */
};

/* Does the work inside the transaction. Sets u->end (UNIT_COMMIT to begin with) and returns true,
 * or fails; ERR_DB_RETRY, ERR_DB_UNIQUE and ERR_DB_REFERENCE make it run again from the start. It
 * must not write its result before it claimed the token. */
typedef bool (*unit_fn)(struct unit *u, void *work, struct err *err);

MUST bool sql__unit(struct unit *u, unit_fn fn, void *work, struct err *err);
/* A statement of the unit. */
MUST bool unit_exec(
    struct unit *u, enum stmt stmt, const struct param *params, struct rows *out, struct err *err);
/* lease.c: takes or prolongs one; *taken false: another holder has it. */
MUST bool unit_lease(struct unit *u, struct str name, struct str holder, int64_t for_ms,
    bool *taken, struct err *err);

struct claim {
    const struct sql_change *by;
    int64_t object;
    const char *kind;
    struct str location, metadata_location;
};
/* Writes the change row, and the first time the answer of the request's key. When the token is
 * there already, u->end becomes UNIT_APPLIED and the work must stop. A repetition waits here for
 * the transaction whose answer was lost. ERR_REPEATED: another request used the key. */
MUST bool unit_claim(struct unit *u, const struct claim *c, struct err *err);
/* After another statement has written the change row: what is left to do of that. */
MUST bool unit_claimed(struct unit *u, const struct claim *c, struct err *err);
/* For a unit that found nothing to change: if an earlier attempt's commit is unclear, looks whether
 * that was why; u->end becomes UNIT_APPLIED or UNIT_ABANDON. */
MUST bool unit_abandon(struct unit *u, struct err *err);

/* Does a change row of that kind say that its change will never be made? */
bool change_was_forgone(struct str kind);
/* *made: is there the row of a change that was made with this token? */
MUST bool unit_change_made(struct unit *u, struct str token, bool *made, struct err *err);

/* What follows the location in the metadata location, or all of it. */
struct str change_relative(struct str location, struct str metadata_location);
struct str change_absolute(struct arena *a, struct str location, struct str stored);

/* --- parts of units --- */

/* *ns_id: the namespace's id, 0 when there is none. */
MUST bool object_find(struct unit *u, struct str ns, struct str name, int64_t *ns_id,
    struct sql_object **out, struct err *err);
/* *kept false: the key is taken. */
MUST bool idem_keep(
    struct unit *u, int64_t object, struct str metadata_location, bool *kept, struct err *err);
/* What is kept of the answer to a request that made or moved a pointer. */
struct str idem_answer(const struct sql_idem *k, struct str metadata_location);

/* Makes the object in one statement, with those of others if there are any. *made false: something
 * is in the way, or the statement does not fit; the transaction will tell. *unclear: one was sent
 * before and its answer lost. */
MUST bool object_insert_quick(struct sql *s, const struct sql_new_object *o,
    const struct sql_change *by, bool *made, bool *unclear, struct err *err);
/* For what was unclear and then refused: it is certain that it was not made and never will be, or
 * ERR_OUTCOME_UNKNOWN. */
MUST bool object_insert_settle(
    struct sql *s, const struct sql_new_object *o, const struct sql_change *by, struct err *err);

/* Rows of changes tell where a file is by what follows the object's location, which it leaves. */
MUST bool swap_leave_location(
    struct unit *u, int64_t object, struct str from, struct str to, struct err *err);
MUST bool swap_one(
    struct unit *u, const struct sql_swap *sw, enum sql_swap_result *out, struct err *err);
/* Does only the pointer move? */
bool swap_moves_in_place(const struct sql_swap *sw);
/* Holds the rows of all, sorted by id, and moves those pointers of which only the pointer moves;
 * the others are left to do. *lost: the first whose pointer is not where it was, n: none.
 * ERR_DB_UNIQUE: a token is taken, and nothing can be done any more in this attempt. */
MUST bool swap_several_in_place(struct unit *u, const struct sql_swap *const *swaps, size_t n,
    size_t *lost, enum sql_swap_result *out, struct err *err);
/* Parameters of object_swap_many. */
enum swap_keys { SWAP_WITHOUT_KEYS, SWAP_WITH_KEYS };
void swap_many_params(struct arena *a, const struct sql_swap *const *swaps, size_t n,
    enum swap_keys keys, struct param *out);
/* Where the process may be told to stop around a swap (fault points). */
void swap_faults_before(void);
void swap_faults_after(void);
/* Is the deadline later than a wait for a lock ends? Of a statement given up before that nobody
 * would know what became of it. */
bool sql__outlasts_lock(int64_t deadline_us);

/* Everybody takes names in this order: negative, 0, positive. */
int insert_order(const struct sql_new_object *x, const struct sql_new_object *y);
/* Parameters of object_insert_many. */
void insert_many_params(
    struct arena *a, const struct sql_write *const *inserts, size_t n, struct param *out);

void batch_init(struct batch *b);
void batch_fini(struct batch *b);
enum batch_end {
    BATCH_MADE,    /* and so the request's key is kept */
    BATCH_OPEN,    /* not made so far: the caller goes on alone */
    BATCH_UNCLEAR, /* so, but it may have been made */
    BATCH_ALONE,   /* it is the caller's turn, nobody goes with him; then he calls batch_leave */
};
/* Has the engine a statement for many of these, and is there time for one? */
bool batch_takes(const struct sql *s, const struct sql_write *w);
/* Of what one statement can make. */
enum batch_end batch_make(struct sql *s, const struct sql_write *w);
void batch_leave(struct sql *s, const struct sql_write *w);

/* sql_object_write; unclear: an earlier attempt may have been carried out. */
MUST bool sql__write(struct sql *s, const struct sql_write *writes, size_t n, bool unclear,
    struct sql_written *out, struct err *err);

/* A folder and what lies in it, which sorts between low and high. The top is "". */
struct span {
    struct str at, low, high;
};
struct span place_span(struct arena *a, struct str path);
/* The folder that the place is in; absent: it is at the top. */
struct str place_folder(const struct sql_place *place);

/* Occupies a place, or finds it taken. */
MUST bool place_occupy(
    struct unit *u, const struct sql_place *place, int64_t object, bool *taken, struct err *err);
MUST bool place_free(struct unit *u, int64_t object, struct err *err);
