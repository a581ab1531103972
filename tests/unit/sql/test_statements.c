/* The statements themselves, the schema, opening and migrating. */
#include "fixture.h"

#include "sql_warehouse.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>

#include <stdlib.h>

static int bytes(void *unused, int an, const void *a, int bn, const void *b)
{
    int c = memcmp(a, b, (size_t)(an < bn ? an : bn));

    (void)unused;
    return c ? c : an - bn;
}

static void now_ms(sqlite3_context *call, int n, sqlite3_value **values)
{
    (void)n;
    (void)values;
    sqlite3_result_int64(call, 0);
}

START_TEST(test_statements_lite__arity_and_columns_as_declared)
{
    struct fixture f;
    sqlite3 *db;

    fixture_open(&f, 0);
    ck_assert(sqlite3_open(f.database + strlen("sqlite:"), &db) == SQLITE_OK);
    sqlite3_create_collation(db, "C", SQLITE_UTF8, NULL, bytes);
    sqlite3_create_function(db, "now_ms", 0, SQLITE_UTF8, NULL, now_ms, NULL, NULL);
    for (size_t i = 0; i < STMT_COUNT; i++) {
        const struct stmt_info *info = &stmt_info[i];
        const char *text = info->text[ENGINE_LITE];
        sqlite3_stmt *st;
        if (!text || i == STMT_SCHEMA_CREATE)
            continue;
        ck_assert_msg(sqlite3_prepare_v2(db, text, -1, &st, NULL) == SQLITE_OK, "%s: %s",
            info->name, sqlite3_errmsg(db));
        ck_assert_msg((unsigned)sqlite3_bind_parameter_count(st) == info->params, "%s", info->name);
        ck_assert_msg((unsigned)sqlite3_column_count(st) == info->columns, "%s", info->name);
        for (unsigned j = 0; j < info->columns; j++)
            ck_assert_str_eq(sqlite3_column_name(st, (int)j), info->column_names[j]);
        sqlite3_finalize(st);
    }
    sqlite3_close(db);
    fixture_close(&f);
}
END_TEST

START_TEST(test_statements_pg__arity_and_columns_as_declared)
{
    struct fixture f;

    fixture_open(&f, 1);
    PGconn *c = PQconnectdb(f.database);
    ck_assert(PQstatus(c) == CONNECTION_OK);
    for (size_t i = 0; i < STMT_COUNT; i++) {
        const struct stmt_info *info = &stmt_info[i];
        const char *text = info->text[ENGINE_PG];
        if (!text)
            continue;
        PQclear(PQprepare(c, info->name, text, 0, NULL));
        PGresult *r = PQdescribePrepared(c, info->name);
        ck_assert_msg(
            PQresultStatus(r) == PGRES_COMMAND_OK, "%s: %s", info->name, PQerrorMessage(c));
        ck_assert_msg((unsigned)PQnparams(r) == info->params, "%s", info->name);
        ck_assert_msg((unsigned)PQnfields(r) == info->columns, "%s", info->name);
        for (unsigned j = 0; j < info->columns; j++)
            ck_assert_str_eq(PQfname(r, (int)j), info->column_names[j]);
        PQclear(r);
    }
    PQfinish(c);
    fixture_close(&f);
}
END_TEST

START_TEST(test_migrate__version_goes_from_nothing_to_newest)
{
    struct fixture f;
    int64_t have, want;

    fixture_init(&f, _i);
    f.s = fixture_sql(&f, f.database);
    ck_ok(&f, sql_schema_version(f.s, &have, &want, &f.err));
    ck_assert_int_eq(have, 0);
    ck_assert_int_eq(want, schema_files[schema_files_n - 1].version);
    ck_ok(&f, sql_migrate(f.s, &f.err));
    ck_ok(&f, sql_migrate(f.s, &f.err));
    ck_ok(&f, sql_schema_version(f.s, &have, &want, &f.err));
    ck_assert_int_eq(have, want);
    ck_ok(&f, sql_ping(f.s, &f.err));
    fixture_close(&f);
}
END_TEST

static void *migrate(void *arg)
{
    struct fixture *f = arg;
    struct err err = {0};
    struct sql_conf conf = {.database = f->database, .prepared = true, .pool = 2};
    struct sql *s;
    bool ok = sql_open(&conf, &s, &err) && sql_migrate(s, &err);

    sql_close(&s);
    return ok ? NULL : strdup(err.msg);
}

START_TEST(test_migrate_pg__several_servers_at_once)
{
    struct fixture f;
    pthread_t t[6];
    void *said;

    fixture_init(&f, 1);
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        pthread_create(&t[i], NULL, migrate, &f);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        pthread_join(t[i], &said);
        ck_assert_msg(!said, "%s", (char *)said);
    }
    ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM schema_version"), (int64_t)schema_files_n);
    fixture_close(&f);
}
END_TEST

START_TEST(test_migrate__schema_newer_than_the_server_is_refused)
{
    struct fixture f;

    fixture_open(&f, 1);
    pg_admin(&f, "INSERT INTO schema_version VALUES (1000, 0)", NULL, 0);
    ck_assert(!sql_migrate(f.s, &f.err));
    ck_assert_int_eq(f.err.kind, ERR_INTERNAL);
    ck_assert_msg(
        strstr(f.err.msg, "schema 1000") && strstr(f.err.msg, "newer firn"), "%s", f.err.msg);
    fixture_close(&f);
}
END_TEST

START_TEST(test_open_lite__one_process_for_a_file)
{
    struct fixture f;
    struct sql *second = NULL;

    fixture_open(&f, 0);
    struct sql_conf conf = {.database = f.database, .prepared = true, .pool = 2};
    ck_assert(!sql_open(&conf, &second, &f.err));
    ck_assert(!second);
    ck_assert_msg(strstr(f.err.msg, "Another process"), "%s", f.err.msg);
    sql_close(&f.s);
    f.s = fixture_sql(&f, f.database);
    fixture_close(&f);
}
END_TEST

START_TEST(test_open__what_is_no_database)
{
    static const char *const bad[] = {
        "mysql://x/y", "sqlite:", "/var/lib/x.db", "postgresql://u:secret%zz@h/d"};
    struct err err = {0};
    struct sql *s = NULL;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sql_conf conf = {.database = bad[i], .prepared = true, .pool = 2};
        ck_assert(!sql_open(&conf, &s, &err));
        ck_assert_int_eq(err.kind, ERR_INTERNAL);
        ck_assert_msg(!strstr(err.msg, "secret"), "%s", err.msg);
    }
}
END_TEST

START_TEST(test_open_pg__nobody_there_is_unavailable)
{
    struct sql_conf conf = {
        .database = "postgresql://u:secret@/d?host=/tmp/firn-nowhere", .prepared = true, .pool = 2};
    struct err err = {0};
    struct sql *s = NULL;

    ck_assert(!sql_open(&conf, &s, &err));
    ck_assert_int_eq(err.kind, ERR_UNAVAILABLE);
    ck_assert_msg(!strstr(err.msg, "secret"), "%s", err.msg);
}
END_TEST

START_TEST(test_open_pg__another_encoding_is_refused)
{
    struct fixture f;
    struct sql *s = NULL;
    char uri[256];

    fixture_open(&f, 1);
    PGconn *c = PQconnectdb(f.database);
    PQclear(PQexec(c, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' "
                      "TEMPLATE template0"));
    PQfinish(c);
    snprintf(uri, sizeof(uri), "postgresql://firn@/latin?host=%s", getenv("FIRN_TEST_PG"));
    struct sql_conf conf = {.database = uri, .prepared = true, .pool = 2};
    ck_assert(!sql_open(&conf, &s, &f.err));
    ck_assert_msg(strstr(f.err.msg, "LATIN1") && strstr(f.err.msg, "UTF8"), "%s", f.err.msg);
    fixture_close(&f);
}
END_TEST

START_TEST(test_name_pg__without_the_password)
{
    struct fixture f;

    fixture_open(&f, 1);
    struct str name = sql_name(f.s);
    ck_assert_msg(str_starts(name, STR("postgresql://")) && str_ends(name, STR("/postgres")),
        "%.*s", STR_ARG(name));
    fixture_close(&f);
}
END_TEST

START_TEST(test_options_pg__session_settings_and_those_of_the_address)
{
    struct fixture f;
    char out[64];

    fixture_open(&f, 1);
    ck_assert_int_eq(pg_count(&f, "SELECT count(*) FROM warehouse"), 1);
    pg_admin(&f, "SELECT application_name FROM pg_stat_activity WHERE application_name = 'firn'",
        out, sizeof(out));
    ck_assert_str_eq(out, "firn");
    fixture_close(&f);
}
END_TEST

START_TEST(test_unprepared_pg__everything_works_without_named_statements)
{
    struct fixture f;

    fixture_open(&f, 1);
    sql_close(&f.s);
    char *options = strstr(f.database, "&options");
    struct sql_conf conf = {.database = f.database, .prepared = false, .pool = 2};
    ck_assert(options != NULL);
    ck_ok(&f, sql_open(&conf, &f.s, &f.err));
    ns_make(&f, "n");
    struct sql_new_object o = new_object(&f, "n", "t");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    struct sql_swap sw = swap_to(&f, object(&f, "n", "t"), "1.json");
    ck_assert_int_eq(swap(&f, &sw, 1), SQL_SWAPPED);
    fixture_close(&f);
}
END_TEST

START_TEST(test_warehouse_ensure__same_row_new_base)
{
    struct fixture f;
    struct sql_warehouse w, again;

    fixture_open(&f, _i);
    ck_ok(&f, sql_warehouse_ensure(f.a, f.s, STR("x"), STR("s3://b/x"), NULL, &w, &f.err));
    ck_ok(&f, sql_warehouse_ensure(f.a, f.s, STR("x"), STR("s3://b/y"), NULL, &again, &f.err));
    ck_assert_int_eq(w.id, again.id);
    ck_assert(str_eq(w.uuid, again.uuid));
    ck_str(again.base, "s3://b/y");
    ck_assert(w.id != f.warehouse);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, test_statements_lite__arity_and_columns_as_declared);
    tcase_add_loop_test(tc, test_migrate__version_goes_from_nothing_to_newest, 0, engines());
    tcase_add_test(tc, test_open_lite__one_process_for_a_file);
    tcase_add_test(tc, test_open__what_is_no_database);
    tcase_add_loop_test(tc, test_warehouse_ensure__same_row_new_base, 0, engines());
    if (!have_pg())
        return;
    tcase_add_test(tc, test_statements_pg__arity_and_columns_as_declared);
    tcase_add_test(tc, test_migrate_pg__several_servers_at_once);
    tcase_add_test(tc, test_migrate__schema_newer_than_the_server_is_refused);
    tcase_add_test(tc, test_open_pg__nobody_there_is_unavailable);
    tcase_add_test(tc, test_open_pg__another_encoding_is_refused);
    tcase_add_test(tc, test_name_pg__without_the_password);
    tcase_add_test(tc, test_options_pg__session_settings_and_those_of_the_address);
    tcase_add_test(tc, test_unprepared_pg__everything_works_without_named_statements);
}

int main(void)
{
    return run("sql/statements", add);
}
