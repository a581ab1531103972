#include "fixture.h"

#include "sql_warehouse.h"

#include <libpq-fe.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

bool have_pg(void)
{
    const char *without = getenv("FIRN_TEST_NO_PG");

    if (without && strcmp(without, "1") == 0)
        return false;
    if (!getenv("FIRN_TEST_PG")) {
        fputs("FIRN_TEST_PG is not set: run this test through with_pg.sh, or set "
              "FIRN_TEST_NO_PG=1\n",
            stderr);
        exit(EXIT_FAILURE);
    }
    return true;
}

int engines(void)
{
    return have_pg() ? 2 : 1;
}

static void admin(const char *text, char *out, size_t size)
{
    char uri[256];

    snprintf(uri, sizeof(uri), "postgresql://firn@/postgres?host=%s", getenv("FIRN_TEST_PG"));
    PGconn *c = PQconnectdb(uri);
    ck_assert_msg(PQstatus(c) == CONNECTION_OK, "%s", PQerrorMessage(c));
    PGresult *r = PQexec(c, text);
    ExecStatusType status = PQresultStatus(r);
    ck_assert_msg(
        status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK, "%s: %s", text, PQerrorMessage(c));
    if (out)
        snprintf(out, size, "%s", PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    PQfinish(c);
}

void pg_admin(const struct fixture *f, const char *text, char *out, size_t size)
{
    char both[2048];

    snprintf(both, sizeof(both), "SET search_path = %s; %s", f->schema, text);
    admin(both, out, size);
}

int64_t pg_count(const struct fixture *f, const char *text)
{
    char out[64];
    int64_t n = -1;

    pg_admin(f, text, out, sizeof(out));
    ck_assert(str_to_i64(str_from(out), &n));
    return n;
}

void pg_restart(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execl(getenv("FIRN_TEST_PG_RESTART"), "restart", (char *)NULL);
        _exit(127);
    }
    ck_assert(waitpid(pid, &status, 0) == pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void fixture_init(struct fixture *f, int engine)
{
    static int n;

    *f = (struct fixture){.engine = engine == 0 ? ENGINE_LITE : ENGINE_PG, .a = arena_new()};
    if (f->engine == ENGINE_LITE) {
        const char *base = getenv("FIRN_TEST_TMP");
        snprintf(f->dir, sizeof(f->dir), "%.100s/firn-sql.XXXXXX", base ? base : "/tmp");
        ck_assert(mkdtemp(f->dir) != NULL);
        snprintf(f->database, sizeof(f->database), "sqlite:%s/new/folder/firn.db", f->dir);
        return;
    }
    char text[128];
    snprintf(f->schema, sizeof(f->schema), "t_%d_%d", (int)getpid(), n++);
    snprintf(text, sizeof(text), "CREATE SCHEMA %s", f->schema);
    admin(text, NULL, 0);
    snprintf(f->database, sizeof(f->database),
        "postgresql://firn@/postgres?host=%s&options=-c%%20search_path%%3D%s",
        getenv("FIRN_TEST_PG"), f->schema);
}

struct sql *fixture_sql(struct fixture *f, const char *database)
{
    struct sql_conf conf = {.database = database, .prepared = true, .pool = 8, .connect_ms = 2000};
    struct sql *s = NULL;

    ck_ok(f, sql_open(&conf, &s, &f->err));
    return s;
}

void fixture_open(struct fixture *f, int engine)
{
    struct sql_warehouse w;

    fixture_init(f, engine);
    f->s = fixture_sql(f, f->database);
    ck_ok(f, sql_migrate(f->s, &f->err));
    ck_ok(f, sql_warehouse_ensure(f->a, f->s, STR("main"), STR("s3://b/w"), NULL, &w, &f->err));
    f->warehouse = w.id;
}

void fixture_close(struct fixture *f)
{
    char text[512];

    sql_close(&f->s);
    arena_free(&f->a);
    if (f->engine == ENGINE_PG) {
        snprintf(text, sizeof(text), "SET client_min_messages = error; DROP SCHEMA %s CASCADE",
            f->schema);
        admin(text, NULL, 0);
        return;
    }
    const char *const names[] = {"/new/folder/firn.db", "/new/folder/firn.db-wal",
        "/new/folder/firn.db-shm", "/new/folder/firn.db.lock", "/new/folder", "/new", ""};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(text, sizeof(text), "%s%s", f->dir, names[i]);
        if (unlink(text) != 0)
            rmdir(text);
    }
}

struct sql_change by(struct fixture *f)
{
    char token[UUID_TEXT + 1];

    uuid_v7(token);
    return (struct sql_change){.token = arena_dup(f->a, str_from(token)),
        .principal = STR("tester"),
        .request_id = STR("r-1"),
        .at_ms = clock_ms(),
        .deadline_us = clock_mono_us() + 10000000};
}

void ns_make(struct fixture *f, const char *path)
{
    struct sql_change change = by(f);
    bool created;

    ck_ok(f,
        sql_ns_create(f->s, f->warehouse, str_from(path), STR("{}"), &change, &created, &f->err));
    ck_assert(created);
}

struct sql_new_object new_object_at(
    struct fixture *f, const char *ns, const char *name, const char *path)
{
    char uuid[UUID_TEXT + 1];

    struct sql_ns *there;

    uuid_v4(uuid);
    ck_ok(f, sql_ns_get(f->a, f->s, f->warehouse, str_from(ns), &there, &f->err));
    struct str location = arena_printf(f->a, "s3://b/%s", path);
    return (struct sql_new_object){
        .warehouse = f->warehouse,
        .ns = arena_dup(f->a, str_from(ns)),
        .ns_id = there ? there->id : 0,
        .name = arena_dup(f->a, str_from(name)),
        .kind = SQL_TABLE,
        .uuid = arena_dup(f->a, str_from(uuid)),
        .location = location,
        .metadata_location = arena_printf(f->a, "%.*s/metadata/0.json", STR_ARG(location)),
        .place = {.authority = STR("b"), .path = arena_dup(f->a, str_from(path))}
    };
}

struct sql_new_object new_object(struct fixture *f, const char *ns, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "w/%s/%s", ns, name);
    return new_object_at(f, ns, name, path);
}

enum sql_insert_result insert(struct fixture *f, const struct sql_new_object *o)
{
    struct sql_change change = by(f);
    enum sql_insert_result result;
    enum sql_kind taken_by;

    ck_ok(f, sql_object_insert(f->s, o, &change, &result, &taken_by, &f->err));
    return result;
}

struct sql_object *object(struct fixture *f, const char *ns, const char *name)
{
    struct sql_object *o;
    bool ns_found;

    ck_ok(f, sql_object_get(
                 f->a, f->s, f->warehouse, str_from(ns), str_from(name), &ns_found, &o, &f->err));
    return o;
}

struct sql_swap swap_to(struct fixture *f, const struct sql_object *o, const char *file)
{
    return (struct sql_swap){.warehouse = f->warehouse,
        .object = o->id,
        .old_metadata_location = o->metadata_location,
        .metadata_location = arena_printf(f->a, "%.*s/metadata/%s", STR_ARG(o->location), file),
        .by = by(f)};
}

enum sql_swap_result swap(struct fixture *f, const struct sql_swap *swaps, size_t n)
{
    enum sql_swap_result result;

    ck_ok(f, sql_object_swap(f->s, swaps, n, &result, &f->err));
    return result;
}

bool drop(struct fixture *f, const char *ns, const char *name, enum sql_purge purge)
{
    struct sql_change change = by(f);
    struct sql_object *was;
    bool dropped;

    ck_ok(f, sql_object_drop(f->a, f->s, f->warehouse, SQL_TABLE, str_from(ns), str_from(name),
                 purge, &change, &dropped, &was, &f->err));
    ck_assert(dropped == (was != NULL));
    return dropped;
}

int run(const char *name, void (*add)(TCase *tc))
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, 60);
    add(tc);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
