/* Loads from a row that was looked up before others went on, on SQLite and a local folder. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../storage/folder.h"
#include "arena.h"
#include "base.h"
#include "cache.h"
#include "lane.h"
#include "object_priv.h"
#include "sql_warehouse.h"
#include "store.h"
#include "table.h"

static struct arena *arena;
static struct err err;
static struct sql *sql;
static struct cache *cache;
static struct catalog *catalog;
static const struct ident table = {STR_INIT("a"), STR_INIT("t")};

#define must(expr) ck_assert_msg((expr), "%s: %s", #expr, err.msg)

static struct caller nobody(void)
{
    return (struct caller){.request_id = STR("test")};
}

static const json_t *body(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(json);
    return json_hold(arena, json);
}

static void begin(void)
{
    err = (struct err){.kind = ERR_NONE};
    arena = arena_new();
    folder_make();
    const char *base = arena_cstr(arena, str_from(folder_uri("wh")));
    const struct sql_conf sc = {
        .database = arena_printf(arena, "sqlite:%s", folder_path("firn.db")).p,
        .prepared = true,
        .pool = 2,
        .connect_ms = 1000};
    const struct store_conf stc = {.base = base};
    struct store *store;
    must(sql_open(&sc, &sql, &err));
    must(sql_migrate(sql, &err));
    must(store_open(&stc, &store, &err));
    cache = cache_new(1 << 20, 1 << 20);
    struct catalog_conf cc = {.sql = sql, .cache = cache, .transaction_tables = 1};
    must(sql_warehouse_ensure(
        arena, sql, STR("main"), store_base(store), NULL, &cc.warehouse, &err));
    must(catalog_new(&cc, arena_new(), store, &catalog, &err));
}

static void end(void)
{
    lane_enter(LANE_SLOW);
    catalog_unref(&catalog);
    cache_free(&cache);
    sql_close(&sql);
    folder_remove();
    arena_free(&arena);
}

/* As a request finds it at its beginning. */
static struct sql_object *looked_up(void)
{
    struct sql_object *row;
    bool ns_found;
    must(sql_object_get(
        arena, sql, catalog->warehouse.id, table.ns, table.name, &ns_found, &row, &err));
    ck_assert_ptr_nonnull(row);
    return row;
}

static struct sql_object *made(void)
{
    const struct caller by = nobody();
    const struct sql_change change = catalog__change(arena, &by, STR(""), STR(""));
    struct loaded out;
    bool created;
    must(sql_ns_create(sql, catalog->warehouse.id, table.ns, STR("{}"), &change, &created, &err));
    must(table_create(arena, catalog, &by, table.ns, NULL,
        body("{\"name\":\"t\",\"schema\":{\"type\":\"struct\",\"fields\":[]}}"), &out, &err));
    return looked_up();
}

static void commit(void)
{
    const struct caller by = nobody();
    struct loaded out;
    must(table_commit(arena, catalog, &by, &table, NULL,
        body("{\"updates\":[{\"action\":\"set-properties\",\"updates\":{\"a\":\"b\"}}]}"),
        STR("digest"), &out, &err));
}

static void lose(const struct sql_object *row)
{
    must(store_delete(catalog->store, row->metadata_location, &err));
}

START_TEST(test_object_load__finds_what_the_pointer_moved_to)
{
    struct sql_object *row = made();
    struct loaded out;
    commit();
    lose(row);
    must(table_load(arena, catalog, &table, row, &out, &err));
    ck_assert(str_eq(metadata_location(out.metadata), looked_up()->metadata_location));
    ck_assert_int_eq(err.kind, ERR_NONE);
}
END_TEST

START_TEST(test_object_load__of_a_table_that_was_dropped_since)
{
    const struct caller by = nobody();
    struct sql_object *row = made();
    struct loaded out;
    must(table_drop(arena, catalog, &by, &table, SQL_KEEP_FILES, &err));
    lose(row);
    ck_assert(!table_load(arena, catalog, &table, row, &out, &err));
    ck_assert_int_eq(err.kind, ERR_NO_SUCH_TABLE);
}
END_TEST

START_TEST(test_object_load__whose_file_is_gone)
{
    struct sql_object *row = made();
    struct loaded out;
    lose(row);
    ck_assert(!table_load(arena, catalog, &table, row, &out, &err));
    ck_assert_int_eq(err.kind, ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, arena_cstr(arena, row->metadata_location)));
}
END_TEST

START_TEST(test_object_load__asks_only_where_it_may_wait)
{
    struct sql_object *row = made();
    struct loaded out;
    commit();
    lose(row);
    lane_enter(LANE_FAST);
    ck_assert(!table_load(arena, catalog, &table, row, &out, &err));
    ck_assert_int_eq(err.kind, ERR_WOULD_BLOCK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("object");
    TCase *tc = tcase_create("load");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_object_load__finds_what_the_pointer_moved_to);
    tcase_add_test(tc, test_object_load__of_a_table_that_was_dropped_since);
    tcase_add_test(tc, test_object_load__whose_file_is_gone);
    tcase_add_test(tc, test_object_load__asks_only_where_it_may_wait);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
