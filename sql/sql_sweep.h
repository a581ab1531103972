/* What tells whether anything names a file, and rounds of background work. Kinds of error as in
 * sql.h; slow lane. */
#pragma once

#include "sql.h"

enum { SQL_BATCH = 16 };

/* *named[i]: may a pointer of any warehouse, or the mark of a purge, lead to the file uris[i], in
 * whatever spelling? n at most SQL_BATCH. */
MUST bool sql_pointed_at(
    struct sql *s, const struct str *uris, size_t n, bool *named, struct err *err);

/* What became of the change with a token. */
enum sql_fate {
    SQL_FATE_UNKNOWN, /* it has no row */
    SQL_FATE_MADE,
    SQL_FATE_FORGONE, /* it was not made, and never will be */
};
struct sql_token {
    struct str token;
    enum sql_fate fate; /* found */
    int64_t age_ms;     /* of the row, by the database's clock */
    int64_t object;     /* that was changed */
};
/* Fills in what is known of n tokens, at most SQL_BATCH. */
MUST bool sql_tokens_find(
    struct sql *s, int64_t warehouse, struct sql_token *tokens, size_t n, struct err *err);
/* The time of the oldest change that still has its row; INT64_MAX: there is none. */
MUST bool sql_change_oldest(struct sql *s, int64_t warehouse, int64_t *at_ms, struct err *err);
/* No change with this token can be made from now on; *forgone false: it was made already. */
MUST bool sql_change_forgo(struct sql *s, int64_t warehouse, struct str token, int64_t object,
    bool *forgone, struct err *err);

/* Live objects in the order of their ids, after that one, at most limit; of each its id, location
 * and metadata location. */
MUST bool sql_object_after(struct arena *a, struct sql *s, int64_t warehouse, int64_t after,
    size_t limit, struct sql_object **out, size_t *n, struct err *err);
/* The pointer of a live object, absent when there is none, and whether its metadata came, at some
 * time, from elsewhere than its own commits. */
MUST bool sql_object_origin(struct arena *a, struct sql *s, int64_t warehouse, int64_t object,
    struct str *metadata_location, bool *registered, struct err *err);
/* Is there an object of that uuid, live or being purged? */
MUST bool sql_uuid_taken(
    struct sql *s, int64_t warehouse, struct str uuid, bool *taken, struct err *err);
/* Namespaces in the order of their paths, after that one; of each its path and properties. */
MUST bool sql_ns_after(struct arena *a, struct sql *s, int64_t warehouse, struct str after,
    size_t limit, struct sql_ns **out, size_t *n, struct err *err);

struct sql_job {
    bool planned;        /* it has a row: what follows is set */
    int64_t due_ms;      /* until the next round */
    struct str position; /* of the round under way; absent: none is */
    int64_t now_ms;      /* the database's clock */
};
MUST bool sql_job_get(struct arena *a, struct sql *s, int64_t warehouse, struct str name,
    struct sql_job *out, struct err *err);
/* The next round is due in that time; position as above, of the round that begins. */
MUST bool sql_job_plan(struct sql *s, int64_t warehouse, struct str name, int64_t in_ms,
    struct str position, struct err *err);
MUST bool sql_job_note(
    struct sql *s, int64_t warehouse, struct str name, struct str position, struct err *err);
