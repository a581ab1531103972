/* The error object and the table of its kinds: HTTP status, Iceberg type, log level. */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "log.h"
#include "str.h"

/* X(kind, status, Iceberg type, log level). Status 0: internal, never shown to a client. */
#define ERR_KINDS(X)                                                                               \
    X(NONE, 0, "", LOG_DEBUG)                                                                      \
    X(BAD_REQUEST, 400, "BadRequestException", LOG_INFO)                                           \
    X(INVALID_ARGUMENT, 400, "IllegalArgumentException", LOG_INFO)                                 \
    X(VALIDATION, 400, "ValidationException", LOG_INFO)                                            \
    X(UNAUTHENTICATED, 401, "NotAuthorizedException", LOG_INFO)                                    \
    X(FORBIDDEN, 403, "ForbiddenException", LOG_INFO)                                              \
    X(NO_SUCH_WAREHOUSE, 404, "NoSuchWarehouseException", LOG_INFO)                                \
    X(NO_SUCH_NAMESPACE, 404, "NoSuchNamespaceException", LOG_INFO)                                \
    X(NO_SUCH_TABLE, 404, "NoSuchTableException", LOG_INFO)                                        \
    X(NO_SUCH_VIEW, 404, "NoSuchViewException", LOG_INFO)                                          \
    X(NO_SUCH_FUNCTION, 404, "NoSuchFunctionException", LOG_INFO)                                  \
    X(NO_SUCH_PLAN_ID, 404, "NoSuchPlanIdException", LOG_INFO)                                     \
    X(NO_SUCH_PLAN_TASK, 404, "NoSuchPlanTaskException", LOG_INFO)                                 \
    X(NOT_FOUND, 404, "NotFoundException", LOG_WARN)                                               \
    X(NO_ROUTE, 404, "BadRequestException", LOG_INFO)                                              \
    X(METHOD, 405, "BadRequestException", LOG_INFO)                                                \
    X(UNSUPPORTED, 406, "UnsupportedOperationException", LOG_INFO)                                 \
    X(TIMEOUT, 408, "BadRequestException", LOG_INFO)                                               \
    X(ALREADY_EXISTS, 409, "AlreadyExistsException", LOG_INFO)                                     \
    X(NAMESPACE_NOT_EMPTY, 409, "NamespaceNotEmptyException", LOG_INFO)                            \
    X(COMMIT_FAILED, 409, "CommitFailedException", LOG_INFO)                                       \
    X(CONFLICT, 409, "ConflictException", LOG_INFO)                                                \
    X(LENGTH_REQUIRED, 411, "BadRequestException", LOG_INFO)                                       \
    X(TOO_LARGE, 413, "BadRequestException", LOG_INFO)                                             \
    X(URI_TOO_LONG, 414, "BadRequestException", LOG_INFO)                                          \
    X(MEDIA_TYPE, 415, "BadRequestException", LOG_INFO)                                            \
    X(UNPROCESSABLE, 422, "UnprocessableEntityException", LOG_INFO)                                \
    X(BUSY, 429, "SlowDownException", LOG_WARN)                                                    \
    X(HEADERS_TOO_LARGE, 431, "BadRequestException", LOG_INFO)                                     \
    X(INTERNAL, 500, "InternalServerError", LOG_ERROR)                                             \
    X(UNREADABLE, 500, "UnreadableMetadataException", LOG_ERROR)                                   \
    X(COMMIT_UNKNOWN, 500, "CommitStateUnknownException", LOG_ERROR)                               \
    X(UNAVAILABLE, 503, "SlowDownException", LOG_WARN)                                             \
    X(HTTP_VERSION, 505, "UnsupportedOperationException", LOG_INFO)                                \
    /* Technical kinds of sql and storage; catalog translates them, reply.c refuses them. */       \
    X(WOULD_BLOCK, 0, "", LOG_DEBUG)                                                               \
    X(CAS_LOST, 0, "", LOG_DEBUG)                                                                  \
    X(DB_RETRY, 0, "", LOG_DEBUG)                                                                  \
    X(DB_UNIQUE, 0, "", LOG_DEBUG)                                                                 \
    X(DB_REFERENCE, 0, "", LOG_DEBUG)                                                              \
    X(OUTCOME_UNKNOWN, 0, "", LOG_ERROR)                                                           \
    X(REPEATED, 0, "", LOG_DEBUG)                                                                  \
    X(STORE_NOT_FOUND, 0, "", LOG_DEBUG)                                                           \
    X(STORE_EXISTS, 0, "", LOG_DEBUG)                                                              \
    X(STORE_DENIED, 0, "", LOG_WARN)                                                               \
    X(KEYS_REFUSED, 0, "", LOG_WARN)                                                               \
    X(STORE_BAD_URI, 0, "", LOG_INFO)                                                              \
    X(STORE_FULL, 0, "", LOG_WARN)

enum err_kind {
#define X(kind, status, type, level) ERR_##kind,
    ERR_KINDS(X)
#undef X
};

struct err {
    enum err_kind kind;
    int line;
    const char *file;
    char msg[1024]; /* cut at a UTF-8 boundary */
    /* ": " and what somebody else said of it, for the log alone; empty where nobody did. */
    char said[256];
};
/* Both, for "%s%s" in a log or at the operator's terminal. */
#define ERR_ALL(err) (err)->msg, (err)->said

/* The analyzers of callers in other files must see that these yield false. */
#define ERR_FALSE(call)                                                                            \
    __extension__({                                                                                \
        (call);                                                                                    \
        false;                                                                                     \
    })

/* Fills *err and yields false: return err_set(err, ERR_NO_SUCH_TABLE, "Table does not exist: %s",
 * n); */
#define err_set(err, kind, ...)                                                                    \
    ERR_FALSE(err_set_at((err), (kind), __FILE__, __LINE__, __VA_ARGS__))
/* Adds what a store or a service said of it: one line, and without what may be a secret. Clients
 * are not shown it, as it may speak of what is not theirs to know; yields false. */
#define err_quote(err, ...) ERR_FALSE(err_quote_in((err), __VA_ARGS__))
/* Puts context in front of the message while unwinding ("context: message"); yields false. */
#define err_wrap(err, ...) ERR_FALSE(err_wrap_in((err), __VA_ARGS__))
/* Puts the place behind the message, "message (/updates/0/schema)", which is cut to make room;
 * yields false. */
#define err_where(err, ...) ERR_FALSE(err_where_in((err), __VA_ARGS__))
/* Another kind, same message; yields false. */
#define err_as(err, kind) ERR_FALSE(err_as_kind((err), (kind)))

void err_set_at(struct err *err, enum err_kind kind, const char *file, int line, const char *fmt,
    ...) __attribute__((format(printf, 5, 6)));
void err_quote_in(struct err *err, struct str words);
void err_wrap_in(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_where_in(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_as_kind(struct err *err, enum err_kind kind);
void err_clear(struct err *err);

int err_status(enum err_kind kind);
const char *err_type(enum err_kind kind);
const char *err_name(enum err_kind kind);
enum log_level err_level(enum err_kind kind);
