/* A fresh catalog database of either engine for each test, and short forms of what tests do. */
#pragma once

#include "arena.h"
#include "clock.h"
#include "err.h"
#include "sql.h"
#include "stmt.gen.h"
#include "uuid.h"

#include <check.h>

struct fixture {
    enum engine engine;
    struct sql *s;
    struct arena *a;
    struct err err;
    int64_t warehouse;
    char database[512];
    char dir[128];   /* of SQLite's file */
    char schema[64]; /* on PostgreSQL */
};

/* SQLite, and PostgreSQL unless FIRN_TEST_NO_PG=1: a loop test runs once for each. */
int engines(void);
/* Whether there is a PostgreSQL to test: ends the process when there is none and should be. */
bool have_pg(void);

/* Not migrated yet, not opened. */
void fixture_init(struct fixture *f, int engine);
/* Migrated, with a warehouse whose base is "s3://b/w". */
void fixture_open(struct fixture *f, int engine);
void fixture_close(struct fixture *f);
/* One more handle on the same database; on SQLite only after f's was closed. */
struct sql *fixture_sql(struct fixture *f, const char *database);

/* One statement on PostgreSQL beside the catalog. The answer's first cell, or "". */
void pg_admin(const struct fixture *f, const char *text, char *out, size_t size);
int64_t pg_count(const struct fixture *f, const char *text);
void pg_restart(void);

/* Who, now, with a new token and ten seconds. The token lives in the arena. */
struct sql_change by(struct fixture *f);

/* Asserting forms. */
void ns_make(struct fixture *f, const char *path);
struct sql_new_object new_object(struct fixture *f, const char *ns, const char *name);
/* The same under a path of its own choice: "w/a/t" beneath base "w". */
struct sql_new_object new_object_at(
    struct fixture *f, const char *ns, const char *name, const char *path);
enum sql_insert_result insert(struct fixture *f, const struct sql_new_object *o);
struct sql_object *object(struct fixture *f, const char *ns, const char *name);
struct sql_swap swap_to(struct fixture *f, const struct sql_object *o, const char *file);
enum sql_swap_result swap(struct fixture *f, const struct sql_swap *swaps, size_t n);
bool drop(struct fixture *f, const char *ns, const char *name, enum sql_purge purge);

#define ck_ok(f, expr) ck_assert_msg((expr), "%s: %s", #expr, (f)->err.msg)
#define ck_str(s, lit)                                                                             \
    ck_assert_msg(str_eq((s), STR(lit)), "expected \"%s\", found \"%.*s\"", lit, STR_ARG(s))

/* Runs the suite; what main returns. */
int run(const char *name, void (*add)(TCase *tc));
