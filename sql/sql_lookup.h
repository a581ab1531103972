/* Lookups of the fast lane: what the calls of one turn of a worker's loop need, in one statement.
 */
#pragma once

#include "sql.h"

/* What one call needs before its handler runs. Names have two readings (a plus as a space, or
 * kept); the first that exists wins. */
struct sql_key {
    int64_t warehouse;
    enum { SQL_KEY_NAMESPACE, SQL_KEY_OBJECT, SQL_KEY_ROOM } kind;
    struct str ns[2];
    struct str name[2]; /* of the object, or what a new one is to have */
};
struct sql_found {
    bool ns_found;
    unsigned reading;         /* index of the reading that was found */
    struct sql_ns ns;         /* SQL_KEY_NAMESPACE and ns_found, or free */
    bool free;                /* SQL_KEY_ROOM: nothing has the name in the namespace */
    struct sql_object object; /* SQL_KEY_OBJECT; id 0: there is none */
};

/* The connection of one worker. Never blocks after sql_lookup_open (slow lane) returned. On SQLite
 * the answer is there when send returns and fd is -1. */
struct sql_lookup;
MUST bool sql_lookup_open(struct sql *s, struct sql_lookup **out, struct err *err);
void sql_lookup_close(struct sql_lookup **l);
/* Starts one statement for all keys; nothing may be under way. The keys must live until the answer.
 */
MUST bool sql_lookup_send(
    struct sql_lookup *l, const struct sql_key *keys, size_t n, struct err *err);
/* The socket to wait on for input (and output while sql_lookup_wants_write), or -1. */
int sql_lookup_fd(const struct sql_lookup *l);
bool sql_lookup_wants_write(const struct sql_lookup *l);
enum sql_lookup_state { SQL_LOOKUP_PENDING, SQL_LOOKUP_READY, SQL_LOOKUP_FAILED };
/* Rows in the order of the keys, in the arena. FAILED: err says why (ERR_UNAVAILABLE when the
 * connection is lost: reopen it in the slow lane). */
enum sql_lookup_state sql_lookup_recv(
    struct arena *a, struct sql_lookup *l, struct sql_found **out, struct err *err);
