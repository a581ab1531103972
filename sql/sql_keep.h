/* Answers kept for requests that carry a key, leases of background jobs, and what upkeep deletes.
 * Kinds of error as in sql.h; slow lane. */
#pragma once

#include "sql.h"

struct sql_answer {
    struct str digest;
    int64_t object; /* 0: none */
    int status;
    struct str answer; /* may be absent */
};
/* What was kept under a key of a principal and has not expired; NULL: nothing. */
MUST bool sql_idem_get(struct arena *a, struct sql *s, int64_t warehouse, struct str principal,
    struct str key, struct sql_answer **out, struct err *err);
/* Keeps an answer to a request that changed nothing. by->idem->kept stays false when there is one.
 */
MUST bool sql_idem_put(
    struct sql *s, int64_t warehouse, int64_t object, const struct sql_change *by, struct err *err);

/* --- upkeep: small steps, each a statement; *n: rows that went --- */

/* Answers whose time is over. */
MUST bool sql_idem_prune(
    struct sql *s, int64_t warehouse, size_t limit, size_t *n, struct err *err);
/* Changes older than that. */
MUST bool sql_change_prune(
    struct sql *s, int64_t warehouse, int64_t keep_ms, size_t limit, size_t *n, struct err *err);
/* Leases whose time is over. */
MUST bool sql_lease_prune(
    struct sql *s, int64_t warehouse, size_t limit, size_t *n, struct err *err);
/* Takes or prolongs the right to do a job, by the database's clock. *taken false: another holder
 * has it. */
MUST bool sql_lease_take(struct sql *s, int64_t warehouse, struct str name, struct str holder,
    int64_t for_ms, bool *taken, struct err *err);
/* Takes or prolongs all of several in one transaction, waiting for another holder. Inserts that
 * need one of them free are over by then, or will be refused. */
MUST bool sql_lease_take_all(struct sql *s, int64_t warehouse, const struct str *names, size_t n,
    struct str holder, int64_t for_ms, struct err *err);
/* Before its time is over; nothing happens when it is another's. */
MUST bool sql_lease_give(
    struct sql *s, int64_t warehouse, struct str name, struct str holder, struct err *err);
