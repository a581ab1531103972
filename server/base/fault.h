/* Named failure points, compiled in with -Dfaults=true only. */
#pragma once

/* X(name): a place and its effect. */
#define FAULT_POINTS(X)                                                                            \
    X(STORE_PUT_FAILS)        /* the metadata file is not written: definite */                     \
    X(STORE_PUT_FULL)         /* nor then, for want of room */                                     \
    X(STORE_PUT_AFTER_WRITE)  /* the process ends after the file was written */                    \
    X(STORE_GET_STALL)        /* a read from the store takes four seconds longer */                 \
    X(STORE_DELETE_STALL)     /* a deletion takes two seconds longer */                           \
    X(STORE_DELETE_FAILS)     /* the file stays where it is */                                     \
    X(STORE_DELETE_BEFORE)    /* the process ends before the file is deleted */                    \
    X(SQL_SWAP_LATE)          /* the swap is sent after seven seconds */                           \
    X(SQL_SWAP_BEFORE)        /* the process ends before the swap is sent */                       \
    X(SQL_SWAP_REPLY_LOST)    /* the connection breaks after the swap was sent */                  \
    X(SQL_SWAP_AFTER)         /* the process ends after the swap was acknowledged */               \
    X(DB_CONNECT_REFUSED)     /* no database connection can be opened */                           \
    X(EXEC_QUEUE_FULL)        /* the slow lane refuses */

enum fault {
#define X(name) FAULT_##name,
    FAULT_POINTS(X)
#undef X
        FAULT_COUNT
};

#ifdef FIRN_FAULTS
/* Counts down FIRN_FAULT="NAME[:hits],…" from the environment; true once when a point's turn comes. */
int fault_hit(enum fault f);
/* Arms at run time; hits = 1 means the next one. Unknown names return 0. */
int fault_arm(const char *name, int hits);
#define FAULT(name) fault_hit(FAULT_##name)
#else
#define FAULT(name) 0
#endif
