/* What an engine must do: connections, statements, rows. Private to sql; pg.c and lite.c fill it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

#include "stmt.gen.h"

struct arena;
struct sql_conf;

/* A text (p == NULL: the database's NULL) or a number. */
struct param {
    enum { PARAM_TEXT, PARAM_NUMBER } type;
    struct str text;
    int64_t number;
};

static inline struct param text_param(struct str s)
{
    return (struct param){.type = PARAM_TEXT, .text = s};
}

static inline struct param number_param(int64_t n)
{
    return (struct param){.type = PARAM_NUMBER, .number = n};
}

/* In the arena; a cell that is NULL in the database is absent. */
struct rows {
    size_t n, columns;
    struct str *cells;
};

enum effect {
    EFFECT_NONE,  /* may be sent again as it is */
    EFFECT_WRITE, /* changes something, or ends a transaction that does */
    EFFECT_SWAP,  /* the same, and the place of the SQL_SWAP_ fault points */
};

struct request {
    enum stmt stmt;
    const struct param *params; /* as many as the statement has */
    int64_t deadline_us;
    enum effect effect;
};

/* Reads go anywhere; on SQLite there is one writer. */
enum db_role { DB_READ, DB_WRITE, DB_ROLES };

enum db_state {
    DB_GOOD,
    DB_SPENT, /* to be closed; what became of its last statement is known */
    DB_LOST,  /* to be closed; the last statement was sent and may have been carried out */
};

/* One connection. Used by one thread at a time. */
struct db {
    const struct driver *driver;
    enum db_role role;
    enum db_state state;
    struct arena *scratch; /* emptied when the connection is given back */
};

struct driver {
    enum engine engine;
    /* Process-wide side of the handle: SQLite's lock file. *home may stay NULL. */
    bool (*open)(const struct sql_conf *conf, void **home, struct err *err);
    void (*close)(void **home);
    /* The database without secrets. */
    struct str (*name)(struct arena *a, const struct sql_conf *conf);
    bool (*connect)(
        const struct sql_conf *conf, enum db_role role, struct db **out, struct err *err);
    void (*disconnect)(struct db **db);
    /* Has an idle connection been closed by the other side? */
    bool (*alive)(struct db *db);
    bool (*exec)(
        struct arena *a, struct db *db, const struct request *r, struct rows *out, struct err *err);
    /* A statement of a schema file. */
    bool (*run)(struct db *db, const char *text, int64_t deadline_us, struct err *err);

    /* The same in three steps that do not block; NULL where exec does not wait for anybody.
     * `prepare` blocks. `poll` is DB_PENDING until the rows are there. */
    bool (*prepare)(struct db *db, enum stmt stmt, int64_t deadline_us, struct err *err);
    bool (*send)(struct db *db, const struct request *r, struct err *err);
    int (*fd)(const struct db *db);
    bool (*wants_write)(const struct db *db);
    enum db_progress {
        DB_PENDING,
        DB_READY,
        DB_FAILED
    } (*poll)(struct arena *a, struct db *db, struct rows *out, struct err *err);
};

extern const struct driver driver_pg;
extern const struct driver driver_lite;
