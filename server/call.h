/* One request on its way through the stages: what was asked, what was found, the answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "buf.h"
#include "catalog.h"
#include "err.h"
#include "exec.h"
#include "ident.h"
#include "json.h"
#include "leftover.h"
#include "op.h"
#include "reply.h"
#include "sql_lookup.h"
#include "str.h"

struct afterwards;
struct config;
struct reports;
struct secrets;
struct sql;
struct warehouses;
struct http;
struct background;
struct worker;

/* What all calls share: made in main, alive until the last call is gone. */
struct server {
    const struct config *conf;
    struct sql *sql;
    struct secrets *secrets;
    struct warehouses *warehouses;
    struct exec *exec;
    struct background *purger, *sweeper; /* NULL until they are started */
    struct afterwards *afterwards;
    struct progress *progress; /* starting, serving, draining: see admin.h */
    struct reports *reports;
};

/* X(name, as on the wire, what to do when it is repeated). The request headers that are kept; all
 * others are read over. HEADER_ONCE: repeating it is a 400. HEADER_LIST: joined with ", ". */
enum header_repeat { HEADER_ONCE, HEADER_LIST, HEADER_FIRST };
#define CALL_HEADERS(X)                                                                            \
    X(HOST, "Host", HEADER_ONCE)                                                                   \
    X(CONTENT_LENGTH, "Content-Length", HEADER_ONCE)                                               \
    X(TRANSFER_ENCODING, "Transfer-Encoding", HEADER_ONCE)                                         \
    X(CONTENT_TYPE, "Content-Type", HEADER_ONCE)                                                   \
    X(CONTENT_ENCODING, "Content-Encoding", HEADER_LIST)                                           \
    X(AUTHORIZATION, "Authorization", HEADER_ONCE)                                                 \
    X(ORIGIN, "Origin", HEADER_ONCE)                                                               \
    X(IF_NONE_MATCH, "If-None-Match", HEADER_ONCE)                                                 \
    X(IDEMPOTENCY_KEY, "Idempotency-Key", HEADER_ONCE)                                             \
    X(ACCESS_DELEGATION, "X-Iceberg-Access-Delegation", HEADER_LIST)                               \
    X(ACCEPT_ENCODING, "Accept-Encoding", HEADER_LIST)                                             \
    X(USER_AGENT, "User-Agent", HEADER_FIRST)                                                      \
    X(REQUEST_ID, "X-Request-ID", HEADER_FIRST)                                                    \
    X(TRACEPARENT, "traceparent", HEADER_FIRST)

enum header {
#define X(name, wire, repeat) HEADER_##name,
    CALL_HEADERS(X)
#undef X
        HEADER_COUNT
};

struct call {
    struct exec_task task; /* its place in the executor's queue; key: the table's row id or 0 */
    struct arena *arena;
    struct err err;
    const struct server *server;
    struct worker *worker; /* that owns it; NULL for calls of the admin address */
    unsigned apis;         /* that are served where it came in: bits of enum op_api */

    /* Asked. Filled before any handler runs; strings live in the arena. */
    struct str id;                    /* of the request: X-Request-ID, trace id, or drawn */
    struct str method;                /* as sent */
    struct str uri;                   /* raw, with query */
    struct str path;                  /* raw, without query and without scheme and host */
    struct str query;                 /* raw; absent when there is no '?' */
    struct str headers[HEADER_COUNT]; /* absent ones have p == NULL */
    const struct op *op;              /* NULL: no operation matched */
    struct catalog
        *catalog; /* of the warehouse, a reference; NULL in the slow lane: its row is to be read */
    struct route route;
    struct str params[OP_PARAMS_MAX]; /* in the order of op->params, decoded and checked */
    struct str allow;                 /* with ERR_METHOD: what is allowed here */
    struct str principal;             /* absent: anonymous */
    int64_t deadline_us; /* clock_mono_us() until which an unclear outcome is settled */
    struct buf body_buf; /* while it comes in */
    struct str body;     /* whole */
    json_t *json;        /* body parsed and checked; NULL when op->body is NULL or no
                            body came; held by the arena */

    /* Found. */
    struct sql_idem idem; /* the key and the answer to keep; key absent: none counts */
    bool replayed;        /* the answer is a kept one */

    struct leftovers left; /* files to delete once the answer is out */

    bool looked_up;         /* found is filled (operations with a lookup) */
    struct sql_found found; /* the row, or that there is none */

    struct reply reply;

    /* For the runtime only (http.c, worker.c, stage.c). */
    struct http *http;
    void *connection;
    struct call *next;   /* in one of the worker's lists */
    unsigned lookup_key; /* which one of the batch is its own */
    int64_t begun_us, submitted_us, started_us, answered_us;
    size_t headers_bytes, body_limit, body_held;
    enum {
        CALL_HEAD,
        CALL_BODY,
        CALL_WAITS,
        CALL_PARKED,
        CALL_READY,
        CALL_ANSWERED,
        CALL_FETCHES, /* answered, and the next piece of its stream is being made */
    } state;
    enum { CALL_KEEP, CALL_CLOSE } connection_after;
    enum lane ran_in;
    bool headed;       /* the request's head is in */
    bool counted;      /* in the metrics */
    struct str detail; /* of the error, for the log, where the client gets other words */
};

/* A call with its own warm arena; free also resets. */
struct call *call_new(const struct server *server);
void call_free(struct call **c);
/* Everything of the last request goes (arena reset, body buffer freed, members zeroed), the arena
 * and `server`, `worker` stay: ready for the next. */
void call_reset(struct call *c);

/* A path argument by name ("namespace", "table", "view", "plan-id", …) in the reading that was
 * found (`+` as a space unless only the other one exists); absent when the path has none. */
struct str call_arg(const struct call *c, const char *name);
/* A query or header parameter of the operation by its name on the wire ("pageToken"); absent when
 * it was not sent. Asserts that the operation's row has it. */
struct str call_param(const struct call *c, const char *name);
struct str call_header(const struct call *c, enum header h);
/* Is the answer one without a body? No, as long as the head is not in. */
bool call_is_head(const struct call *c);
/* Does the request come from a web page of an origin that the settings allow? */
bool call_from_allowed_page(const struct call *c);

/* The namespace, and namespace and table or view, that the path names. */
struct str call_ns(const struct call *c);
struct ident call_ident(const struct call *c);
/* The object that the body names, in the path's namespace. */
struct ident call_new_ident(const struct call *c);
/* The row that was looked up; NULL if others may have changed it here since then. */
const struct sql_object *call_row(const struct call *c);
/* The namespace that was looked up, if the name in the body was free in it; NULL: not known. */
const struct sql_ns *call_room(const struct call *c);
/* Who asks, for catalog functions that change something. */
struct caller call_caller(struct call *c);
/* Hex. Two requests with this digest are one request sent twice: it covers the operation, path and
 * query as sent, the principal and the body. */
struct str call_digest(struct call *c);
/* pageToken and pageSize. */
struct page call_page(const struct call *c);
/* 404s in the words clients' tests compare: "Namespace does not exist: a.b",
 * "Table does not exist: a.b.t", "View does not exist: …". An object of the other kind is none.
 * The object's row is then c->found.object, the namespace's c->found.ns. */
MUST bool call_need_namespace(struct call *c);
MUST bool call_need_object(struct call *c, enum sql_kind kind);
